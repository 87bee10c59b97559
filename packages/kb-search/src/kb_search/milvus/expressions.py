"""Filters as expressions of the engine, in which no value can be anything but a value.

Text is put into an alphabet of its own before it is stored or asked for: letters, digits,
space and ``. - /`` are themselves, every other character is its number between tildes. So
there is no quote, no backslash and no wildcard in any value, and nothing to escape. What is
looked for inside a text (tags, terms, paths) is stored as one string and asked for by
``like``, which every form of the engine reads alike.

A missing text is ``MISSING`` and a missing number ``NEVER``, rather than null, so that "not"
means what it says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import re2

from kb_core.filters import And, Filter, Glob, Not, OneOf, Or, Range, Tagged, Words
from kb_search.analysis import analyze
from kb_search.narrowing import glob_regex, refuse_glob

__all__ = [
    "ALL",
    "FAR",
    "MISSING",
    "NEVER",
    "Expression",
    "all_of",
    "any_of",
    "built",
    "folded",
    "holds",
    "in_order",
    "inside",
    "listed",
    "matcher",
    "negated",
    "raw_listed",
    "safe",
    "spaced",
    "visible",
]

Expression = str | bool
"""A condition; ``True`` always holds, ``False`` never."""

ALL = True
"""The condition that always holds."""
MISSING = "~"
NEVER = -(2**62)
FAR = 2**62
"""The sequence until which what nothing has replaced is true."""

_STRANGE = re.compile(r"[^\w /.\-]|_")
_NUMBERS = {"trust", "indexed_at", "doc_date", "doc_key", "chunk_key"}
_MOST_LISTED = 2000
"""Values of one ``in``: an expression of more is told apart into several."""


def safe(text: str) -> str:
    """Return *text* in the alphabet of values."""
    return _STRANGE.sub(lambda found: f"~{ord(found[0]):x}~", text)


def folded(tag: str) -> str:
    """Return a tag as it is compared: upper and lower case are the same."""
    return safe(tag.casefold())


def spaced(terms: Iterable[str]) -> str:
    """Return terms as they are stored: each between two spaces."""
    joined = " ".join(map(safe, terms))
    return f" {joined} " if joined else ""


def visible(sequence: int) -> str:
    """Return the condition for what is true at *sequence*."""
    return f"born <= {sequence} and died > {sequence}"


def holds(field: str, term: str) -> str:
    """Return the condition that a field of terms holds one."""
    return f'{field} like "% {safe(term)} %"'


def in_order(field: str, terms: Sequence[str]) -> str:
    """Return the condition that a field of terms holds these side by side."""
    return f'{field} like "% {" ".join(map(safe, terms))} %"'


def inside(field: str, part: str) -> str:
    """Return the condition that a field holds *part* anywhere."""
    return f'{field} like "%{safe(part)}%"'


def listed(field: str, values: Iterable[str | int]) -> Expression:
    """Return the condition that a field is one of *values*."""
    return raw_listed(field, (v if isinstance(v, int) else safe(v) for v in values))


def raw_listed(field: str, values: Iterable[str | int]) -> Expression:
    """Return the same for values that are ours, such as keys, and stand as they are."""
    shown = [str(v) if isinstance(v, int) else f'"{v}"' for v in dict.fromkeys(values)]
    parts = [shown[at : at + _MOST_LISTED] for at in range(0, len(shown), _MOST_LISTED)]
    return any_of(f"{field} in [{', '.join(part)}]" for part in parts)


def all_of(parts: Iterable[Expression]) -> Expression:
    """Return the conjunction; of no parts, ``True``."""
    given = [part for part in parts if part is not True]
    if False in given:
        return False
    return " and ".join(f"({part})" for part in given) or True


def any_of(parts: Iterable[Expression]) -> Expression:
    """Return the disjunction; of no parts, ``False``."""
    given = [part for part in parts if part is not False]
    if True in given:
        return True
    return " or ".join(f"({part})" for part in given) or False


def negated(part: Expression) -> Expression:
    """Return the opposite."""
    return not part if isinstance(part, bool) else f"not ({part})"


def built(where: Filter, resolve: Callable[[Expression, str], Expression]) -> Expression:  # noqa: C901, PLR0911 - one per node
    """Return *where* as a condition.

    A pattern of paths that ``like`` cannot say exactly is *resolve*d: it is given what holds
    of all paths that match, and the pattern, and returns the condition for those that do.
    """
    match where:
        case Tagged(tags):
            return any_of(f'tag_tree like "%|{folded(tag)}|%"' for tag in tags)
        case OneOf(field, values):
            return _one_of(field, values)
        case Range(field, low, high):
            return _range(field, low, high)
        case Glob(pattern):
            return _path(pattern, resolve)
        case Words(field, text, phrase):
            return _words(field, text, phrase=phrase)
        case And(parts):
            return all_of(built(part, resolve) for part in parts)
        case Or(parts):
            return any_of(built(part, resolve) for part in parts)
        case Not(part):
            return negated(built(part, resolve))


def _one_of(field: str, values: Sequence[str | int]) -> Expression:
    if field == "tag":
        return any_of(f'tags like "%|{safe(str(value))}|%"' for value in values)
    kind = int if field in _NUMBERS else str
    return listed(field, (value for value in values if isinstance(value, kind)))


def _range(field: str, low: int | None, high: int | None) -> Expression:
    parts: list[Expression] = [f"{field} > {NEVER}" if low is None else f"{field} >= {low}"]
    return all_of([*parts, True if high is None else f"{field} <= {high}"])


def _words(field: str, text: str, *, phrase: bool) -> Expression:
    if field == "name":
        return False  # no field tells it
    streams = analyze(text)
    exact, cjk = streams.exact.split(), streams.cjk.split()
    if field != "body":
        inside = {"title": "title_words", "path": "path_words"}[field]
        wanted = [holds(inside, term) for term in (*streams.stem.split(), *cjk)]
    elif phrase:
        wanted = [in_order(f, terms) for f, terms in (("exact", exact), ("cjk", cjk)) if terms]
    else:
        wanted = [holds("exact", term) for term in exact] + [holds("cjk", term) for term in cjk]
    return all_of(wanted) if wanted else False


def matcher(pattern: str) -> Callable[[str], bool]:
    """Return what says whether a path matches a gitignore-like pattern, in linear time."""
    options = re2.Options()
    options.log_errors = False
    try:
        regex = re2.compile(f"(?s:{glob_regex(pattern)})", options)
    except (re2.error, UnicodeEncodeError) as error:
        raise refuse_glob(pattern, str(error)) from error
    return lambda path: regex.fullmatch(path.encode("utf-8", "replace").decode()) is not None


def _path(pattern: str, resolve: Callable[[Expression, str], Expression]) -> Expression:
    bare = pattern.removeprefix("./")
    anchored = "/" in bare.rstrip("/")
    bare = (bare + "**" if bare.endswith("/") else bare).removeprefix("/")
    plain, wild = safe(bare), set("*?[") & set(bare)
    if bare in {"*", "**"} and not anchored:
        return True
    if not wild:
        same = f'path == "{plain}"'
        return same if anchored else any_of([same, f'path like "%/{plain}"'])
    if bare.endswith("/**") and not set("*?[") & set(bare[:-3]):
        below = f'path like "{safe(bare[:-3])}/%"'
        return below if anchored else any_of([below, f'path like "%/{safe(bare[:-3])}/%"'])
    if not anchored and bare[0] == "*" and not set("*?[/") & set(bare[1:]):
        return f'path like "%{safe(bare[1:])}"'
    like = f'path like "{_loosely(bare, anchored=anchored)}"'
    if anchored and wild == {"*"} and "**" not in bare:
        return all_of([like, f"depth == {bare.count('/')}"])
    return resolve(like, pattern)


def _loosely(pattern: str, *, anchored: bool) -> str:
    """Return what is ``like`` every path that matches, and perhaps others."""
    known, bracket, _ = pattern.replace("**/", "*").partition("[")
    found = "%".join(map(safe, re.split(r"[*?]+", known + ("*" if bracket else ""))))
    return found if anchored else f"%{found}"
