"""Ignore rules: git's pattern language, and which file of rules decides about an entry.

From strong to weak: the source's ``exclude``, ``.kebabignore``, ``.gitignore``,
``.git/info/exclude``, built-ins. Within one kind a deeper folder decides over one above
it, and within a file a later line over an earlier one, as in git. ``!pattern`` takes
back what weaker rules ignore, built-ins included (``!node_modules/``). Nothing takes back
``.git``, nor anything below an ignored folder, because a walk does not enter it.

Rules above a source's root do not apply, nor does git's global file: a folder that was
named as a source is wanted.

A rule is compiled to a regex that never takes back what it has matched: between two stars
the first place that fits is as good as any other, and so it is between two ``**``. So no
rule, however hostile, takes more than the square of the path's length. A line that git
discards is discarded.

Where this is not git: ``?`` and ``[…]`` stand for a character, not for a byte, and two
Unicode normal forms of a name are one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from kb_core.text import nfc
from kb_core.values import dataclass

__all__ = [
    "BUILDS",
    "IGNORE_FILES",
    "IncludeRules",
    "Rule",
    "RuleSet",
    "Scope",
    "parse_rules",
    "root_scope",
]

IGNORE_FILES = (".gitignore", ".kebabignore")
"""Names of the files of rules that any folder may have, weaker first."""

_OURS = "built-in"
_BUILT_IN = """\
node_modules/
__pycache__/
.venv/
.obsidian/
.svn/
.hg/
.tox/
.nox/
.mypy_cache/
.pytest_cache/
.ruff_cache/
.ipynb_checkpoints/
.DS_Store
._*
desktop.ini

.trash/
.Trash*/
$RECYCLE.BIN/
.recycle/
.stversions/
logseq/bak/

*~
*.sw[nop]
*.kate-swp
.#*
\\#*#
.~lock.*#
~$*
*.bak
*.orig

Thumbs.db
ehthumbs*.db
.thumbnails/
@eaDir/
"""
# Any folder with a `pyvenv.cfg` is a virtual environment; only the walk can see that, and what
# a folder called `target` is: what was built, or sources of that name.
BUILDS = frozenset({"Cargo.toml", "pom.xml", "build.sbt", "project.clj"})
"""Files of builds that leave what they make in a folder ``target`` beside them."""
_BUILT = "target/"

_Level: TypeAlias = "tuple[int, RuleSet]"
"""Rules, and the length of what to cut from a path to make it relative to their folder."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The rules in force in one folder, strongest first."""

    exclude: tuple[_Level, ...] = ()
    kebab: tuple[_Level, ...] = ()
    git: tuple[_Level, ...] = ()
    git_local: tuple[_Level, ...] = ()
    built_in: tuple[_Level, ...] = ()
    levels: tuple[_Level, ...] = ()

    def decide(self, name: str, path: str) -> Rule | None:
        """Return the rule that decides about an entry, if there is one.

        *name* and *path*, relative to the source's root, are NFC and end in ``/`` for
        a folder. The rule may be one that takes back (``ignores`` is false).
        """
        for cut, rules in self.levels:
            rule = rules.match(name, path[cut:] if cut else path)
            if rule is not None:
                return rule
        return None

    def enter(self, folder: str, texts: dict[str, str]) -> Scope:
        """Return the scope of *folder*, which has files of rules with these texts.

        *folder* is ``""`` or ends in ``/``; the keys are names: of ``IGNORE_FILES``, or
        ``.git/info/exclude``.
        """
        level = {
            name: ((len(folder), rules),)
            for name, text in texts.items()
            if (rules := parse_rules(text, folder + name))
        }
        if not level:
            return self
        return _scope(
            exclude=self.exclude,
            kebab=level.get(".kebabignore", ()) + self.kebab,
            git=level.get(".gitignore", ()) + self.git,
            git_local=level.get(".git/info/exclude", ()) + self.git_local,
            built_in=self.built_in,
        )

    def beside_a_build(self, folder: str) -> Scope:
        """Return the scope of *folder*, which has a file of ``BUILDS``: what that makes is left."""
        level = ((len(folder), parse_rules(f"/{_BUILT}", _OURS)),)
        return _scope(
            exclude=self.exclude,
            kebab=self.kebab,
            git=self.git,
            git_local=self.git_local,
            built_in=level + self.built_in,
        )


def root_scope(exclude: Sequence[str]) -> Scope:
    """Return what applies before any folder is read: built-ins, and *exclude*."""
    excluded = parse_rules("\n".join(exclude), "exclude")
    return _scope(
        exclude=((0, excluded),) if excluded else (),
        built_in=((0, parse_rules(_BUILT_IN, _OURS)),),
    )


def _scope(**parts: tuple[_Level, ...]) -> Scope:
    order = ("exclude", "kebab", "git", "git_local", "built_in")
    return Scope(**parts, levels=sum((parts.get(part, ()) for part in order), ()))


class IncludeRules:
    """A source's ``include``: which files are wanted; none given means all.

    The language is that of ignore files, the sense is turned round: a folder that
    matches is wanted with all that is below it, ``!pattern`` takes out again.
    """

    __slots__ = ("_prefixes", "_rules")

    def __init__(self, include: Sequence[str]) -> None:
        self._rules = parse_rules("\n".join(include), "include") if include else None
        wanted = [line for line in include if line.strip() and not line.startswith("!")]
        prefixes = [_literal_prefix(nfc(line)) for line in wanted]
        self._prefixes = None if None in prefixes else [p for p in prefixes if p is not None]

    def wanted(self, name: str, path: str, *, parent: bool) -> bool:
        """Say whether an entry is wanted, in a folder of which *parent* says the same."""
        if self._rules is None:
            return True
        rule = self._rules.match(name, path)
        return parent if rule is None else rule.ignores

    def may_hold(self, folder: str) -> bool:
        """Say whether wanted files may lie below *folder*, which ends in ``/``."""
        if self._rules is None or self._prefixes is None:
            return True
        return any(folder.startswith(p) or p.startswith(folder) for p in self._prefixes)


def _literal_prefix(pattern: str) -> str | None:
    """Return the folders, ``a/b/``, that *pattern* is bound to; ``None`` if to none."""
    if "/" not in pattern.removesuffix("/"):
        return None
    segments = pattern.removeprefix("/").removesuffix("/").split("/")
    plain = next((at for at, s in enumerate(segments) if re.search(r"[*?\[\\]", s)), len(segments))
    return "".join(segment + "/" for segment in segments[:plain]) or None


_TOKEN = re.compile(
    r"\\(?P<escaped>.)|(?P<stars>\*+)|(?P<any>\?)|(?P<plain>[^\\\[])"
    r"|\[(?P<negated>[!^]?+)(?P<set>\]?+(?:\[:[^\]]{0,30}:\]|\\.|[^\]\\])*+)\]",
    re.DOTALL,
)
_IN_SET = re.compile(
    r"\[:(?P<kind>[^\]]{0,30}):\]|(?P<low>\\.|[^\\])-(?P<high>\\.|[^\]\\])|(?P<one>\\.|.)",
    re.DOTALL,
)
_POSIX = {
    "alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "blank": r" \t", "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": " -~",
    "punct": r"!-/:-@\[-`{-\~", "space": r"\s", "upper": "A-Z", "xdigit": "0-9a-fA-F",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a file of rules; prints as ``docs/.gitignore:3: *.log``."""

    origin: str
    line: int
    pattern: str
    ignores: bool
    """False for ``!pattern``, which takes back what weaker rules ignore."""

    def __str__(self) -> str:
        where = "" if self.origin == _OURS else f":{self.line}"
        return f"{self.origin}{where}: {self.pattern}"


class RuleSet:
    """The rules of one file.

    A rule without an inner slash is matched against names, the others against paths
    relative to the file's folder; a folder's name and path end in ``/``.
    """

    __slots__ = ("_names", "_paths", "_rules")

    def __init__(self, rules: Sequence[tuple[Rule, str]]) -> None:
        self._rules = [rule for rule, _ in rules]
        compiled = [_compile(pattern) for _, pattern in rules]
        self._names = _Matcher([(at, rule) for at, rule in enumerate(compiled) if not rule.is_path])
        self._paths = _Matcher([(at, rule) for at, rule in enumerate(compiled) if rule.is_path])

    def __bool__(self) -> bool:
        return bool(self._names or self._paths)

    def match(self, name: str, path: str) -> Rule | None:
        """Return the last rule that matches the entry *name* at *path*."""
        at = self._names.last(name) if self._names else -1
        if self._paths:
            at = max(at, self._paths.last(path))
        return self._rules[at] if at >= 0 else None


class _Matcher:
    """Rules asked at once: those without wildcards in a table, the rest in one regex."""

    __slots__ = ("_literals", "_numbers", "_regex")

    def __init__(self, rules: Sequence[tuple[int, _Compiled]]) -> None:
        self._literals = {subject: at for at, rule in rules for subject in rule.literals}
        # The first alternative that matches wins, so the last rule comes first.
        wild = [(at, rule.regex) for at, rule in reversed(rules) if rule.regex]
        self._numbers = [at for at, _ in wild]
        together = "|".join(f"({regex})" for _, regex in wild)
        self._regex = re.compile(together, re.DOTALL) if wild else None

    def __bool__(self) -> bool:
        return bool(self._literals) or self._regex is not None

    def last(self, subject: str) -> int:
        """Return the number of the last rule that matches, or -1."""
        at = self._literals.get(subject, -1)
        if self._regex is not None and (match := self._regex.fullmatch(subject)):
            at = max(at, self._numbers[(match.lastindex or 1) - 1])
        return at


@lru_cache(maxsize=512)
def parse_rules(text: str, origin: str) -> RuleSet:
    """Compile a file of rules; *origin* is what its rules are called in messages."""
    return RuleSet(list(_lines(nfc(text.removeprefix("\ufeff")), origin)))


def _lines(text: str, origin: str) -> Iterator[tuple[Rule, str]]:
    for number, line in enumerate(text.split("\n"), start=1):
        shown = line.removesuffix("\r")
        if not shown or shown.startswith("#"):
            continue
        pattern = _without_trailing_spaces(shown)
        negated = pattern.startswith("!")
        yield Rule(origin, number, pattern, not negated), pattern[negated:]


def _without_trailing_spaces(line: str) -> str:
    bare = line.rstrip(" ")
    escaped = (len(bare) - len(bare.rstrip("\\"))) % 2 == 1
    return bare + " " if escaped and len(bare) < len(line) else bare


class _Compiled(NamedTuple):
    """A pattern: the subjects that it is equal to, or the regex of them, or neither."""

    is_path: bool
    literals: tuple[str, ...] = ()
    regex: str = ""


def _compile(pattern: str) -> _Compiled:
    core = pattern.removesuffix("/")
    is_path = "/" in core
    segments = _segments(core.removeprefix("/"))
    if not all(segments):
        return _Compiled(is_path)
    if all(token.is_plain for segment in segments for token in segment):
        text = "/".join("".join(token.text for token in segment) for segment in segments)
        return _Compiled(is_path, (text + "/",) if pattern.endswith("/") else (text + "/", text))
    regex = _regex(segments, is_glued=is_path and _is_glued(segments))
    return _Compiled(is_path, (), regex + ("/" if pattern.endswith("/") else "/?"))


_ANYTHING = "[^/]+"


class _Token(NamedTuple):
    """A character, a run of stars, or the regex of one character."""

    text: str
    is_plain: bool = False
    is_stars: bool = False


def _segments(core: str) -> list[list[_Token]]:
    """Return the tokens of each segment. Nothing is matched by a segment without any.

    Where git finds no match whatever the subject, the only segment has none: the pattern ends
    in a backslash, or a bracket is never closed or holds what is not known.
    """
    segments: list[list[_Token]] = [[]]
    at = 0
    while at < len(core):
        match = _TOKEN.match(core, at)
        if match is None:
            return [[]]
        at = match.end()
        if "/" in {match["plain"], match["escaped"]}:
            segments.append([])
        elif match["set"] is not None:
            regex = _set(match["set"], is_negated=bool(match["negated"]))
            if regex is None:
                return [[]]
            segments[-1].append(_Token(regex))
        elif match["plain"] or match["stars"]:
            token = _Token(match[0], bool(match["plain"]), bool(match["stars"]))
            segments[-1].append(token)
        else:
            segments[-1].append(_Token(re.escape(match["escaped"]) if match["escaped"] else "[^/]"))
    return segments


def _is_glued(segments: Sequence[Sequence[_Token]]) -> bool:
    """Say whether ``**`` comes right after characters that nothing wild stands before.

    To git, the ``**`` of ``foo**/bar`` is any folders, so that this matches ``foobar``.
    """
    wild = next(segment for segment in segments if not all(token.is_plain for token in segment))
    *before, last = wild
    return bool(before) and last.text[:2] == "**" and all(token.is_plain for token in before)


def _regex(segments: Sequence[Sequence[_Token]], *, is_glued: bool) -> str:
    """Return the regex of the entry itself, without an end."""
    groups: list[list[str]] = [[]]
    for segment in segments:
        first_wild = len(groups) == 1 and is_glued and segment[-1].is_stars
        if first_wild and len(segment) > 1:
            groups[-1].append(_segment(segment[:-1]))
            groups.append([])
        elif len(segment) == 1 and segment[0].text[:2] == "**":
            groups.append([])
        else:
            groups[-1].append(_segment(segment))
    groups[1:-1] = [group for group in groups[1:-1] if group]
    if is_glued and groups[1][:1] == [_ANYTHING]:
        groups[1][0] = "[^/]*"  # it may be nothing, right after what it is glued to
    first, *others = ["/".join(group) for group in groups]
    if not others:
        return first
    *between, last = others
    start = first + "/" if first and not is_glued else first
    middle = "".join(f"(?>(?:[^/]*/)*?{group}/)" for group in between)
    if last:
        return f"{start}{middle}(?:.*/)?{last}"
    return start + middle + (".*" if is_glued and not middle else ".+")


def _segment(tokens: Sequence[_Token]) -> str:
    pieces = [""]
    for token in tokens:
        if token.is_stars:
            pieces.append("")
        else:
            pieces[-1] += re.escape(token.text) if token.is_plain else token.text
    if not any(pieces):
        return _ANYTHING
    first, *others = pieces
    if not others:
        return first
    *between, last = others
    return first + "".join(f"(?>[^/]*?{piece})" for piece in between) + "[^/]*" + last


def _set(items: str, *, is_negated: bool) -> str | None:
    """Return the regex of a bracket expression; ``None`` if a class in it is not known."""
    parts: list[str] = []
    for item in _IN_SET.finditer(items):
        if (kind := item["kind"]) is not None:
            if kind not in _POSIX:
                return None
            parts.append(_POSIX[kind])
        elif item["one"] is not None:
            parts.append(re.escape(item["one"][-1]))
        else:
            low, high = item["low"][-1], item["high"][-1]
            # To git, a range that runs backwards is its first character.
            parts.append(re.escape(low) + (f"-{re.escape(high)}" if low <= high else ""))
    joined = "".join(parts)
    return f"[^/{joined}]" if is_negated else f"(?!/)[{joined}]"
