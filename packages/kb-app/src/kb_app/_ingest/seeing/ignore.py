"""Ignore rules: git's pattern language, and which file of rules decides about an entry.

From strong to weak: the source's ``exclude``, ``.kebabignore``, ``.gitignore``,
``.git/info/exclude``, built-ins. Within one kind a deeper folder decides over one above
it, and within a file a later line over an earlier one, as in git. ``!pattern`` takes
back what weaker rules ignore, built-ins included (``!target/``). Nothing takes back
``.git``, nor anything below an ignored folder, because a walk does not enter it.

Rules above a source's root do not apply, nor does git's global file: a folder that was
named as a source is wanted.

``pathspec`` knows the language and matches a path together with everything below it; a
walk asks about one entry at a time, where only a match of the whole entry counts, and
where pathspec's handling of brackets, escapes and trailing white space is not git's.
So those are held back behind private-use characters, pathspec translates the rest,
and what it returns is matched in full. A line that git discards is discarded.

Where this is not git: ``?`` and ``[…]`` stand for a character, not for a byte, and two
Unicode normal forms of a name are one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from kb_core.text import nfc

__all__ = ["IGNORE_FILES", "IncludeRules", "Rule", "RuleSet", "Scope", "parse_rules", "root_scope"]

IGNORE_FILES = (".gitignore", ".kebabignore")
"""Names of the files of rules that any folder may have, weaker first."""

_BUILT_IN = """\
node_modules/
target/
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
.DS_Store
._*
"""
# Any folder with a `pyvenv.cfg` is a virtual environment; only the walk can see that.

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


def root_scope(exclude: Sequence[str]) -> Scope:
    """Return what applies before any folder is read: built-ins, and *exclude*."""
    excluded = parse_rules("\n".join(exclude), "exclude")
    return _scope(
        exclude=((0, excluded),) if excluded else (),
        built_in=((0, parse_rules(_BUILT_IN, "built-in")),),
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


_HELD = 0xF0000
"""First of the private-use characters that stand for what pathspec shall not see."""

_ANY_FOLDERS = "^(?:.+/)?"
"""How pathspec begins a pattern without a slash: at any depth."""

_BRACKET = re.compile(r"\[([!^]?)(\]?(?:\[:[a-z]*:\]|\\.|[^\]\\])*)\]", re.DOTALL)
_BRACKET_ITEM = re.compile(
    r"\[:(?P<kind>[a-z]*):\]|(?P<low>\\.|.)-(?P<high>\\.|[^\]\\])|(?P<one>\\.|.)", re.DOTALL
)
_TOKEN = re.compile(rf"\\(?P<escaped>.)|(?P<set>{_BRACKET.pattern})|(?P<space>\s)", re.DOTALL)

_BETWEEN_STARS = re.compile(
    r"\[\^/\]\*((?:\\.|\[\^/\](?!\*)|[^\\\[\](){}|?*+./^$])+)(?=\[\^/\]\*)", re.DOTALL
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
        return f"{self.origin}:{self.line}: {self.pattern}"


class RuleSet:
    """The rules of one file.

    A rule without an inner slash is matched against names, the others against paths
    relative to the file's folder; a folder's name and path end in ``/``.
    """

    __slots__ = ("_names", "_paths", "_rules")

    def __init__(self, rules: tuple[tuple[Rule, str], ...]) -> None:
        self._rules = tuple(rule for rule, _ in rules)
        compiled = [_compile(pattern) for _, pattern in rules]
        self._names = _Matcher(
            [(at, regex) for at, (is_path, regex) in enumerate(compiled) if regex and not is_path]
        )
        self._paths = _Matcher(
            [(at, regex) for at, (is_path, regex) in enumerate(compiled) if regex and is_path]
        )

    def __bool__(self) -> bool:
        return bool(self._names or self._paths)

    def match(self, name: str, path: str) -> Rule | None:
        """Return the last rule that matches the entry *name* at *path*."""
        at = self._names.last(name) if self._names else -1
        if self._paths:
            at = max(at, self._paths.last(path))
        return self._rules[at] if at >= 0 else None


class _Matcher:
    """Regexes asked at once: names without wildcards in a table, the rest in one regex."""

    __slots__ = ("_literals", "_numbers", "_regex")

    def __init__(self, rules: list[tuple[int, str]]) -> None:
        self._literals: dict[str, int] = {}
        # The first alternative that matches wins, so the last rule comes first.
        wild = [(at, regex) for at, regex in reversed(rules) if not self._is_literal(at, regex)]
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

    def _is_literal(self, at: int, regex: str) -> bool:
        stem = regex.removesuffix("/?").removesuffix("/")
        text = re.sub(r"\\(.)", r"\1", stem, flags=re.DOTALL)
        if re.escape(text) != stem:
            return False
        for subject in (text + "/", text) if regex.endswith("/?") else (text + "/",):
            self._literals[subject] = max(at, self._literals.get(subject, -1))
        return True


@lru_cache(maxsize=512)
def parse_rules(text: str, origin: str) -> RuleSet:
    """Compile a file of rules; *origin* is what its rules are called in messages."""
    return RuleSet(tuple(_lines(nfc(text.removeprefix("\ufeff")), origin)))


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


def _compile(pattern: str) -> tuple[bool, str]:
    """Return whether *pattern* speaks of paths, and its regex; ``""`` matches nothing."""
    only_folders = pattern.endswith("/")
    core = pattern.removesuffix("/")
    is_path = "/" in core
    core = core.removeprefix("/")
    if not core or core.endswith("/"):
        return is_path, ""
    tail = "/" if only_folders else "/?"
    held: list[str] = []
    plain = _hold_back(core, held)
    if "\\" in plain or "[" in plain:
        return is_path, ""  # ends in a backslash, or a bracket is never closed: git's "no match"
    return is_path, _release(_translate(plain, is_path=is_path), held) + tail


def _translate(plain: str, *, is_path: bool) -> str:
    """Have pathspec translate; return the regex of the entry itself, without an end."""
    segments = ["**" if len(s) > 1 and not s.strip("*") else s for s in plain.split("/")]
    if set(segments) <= {"**", "*"}:  # pathspec has shortcuts for these, which match in part
        folders = ("(?:.+/)?" if s == "**" else "[^/]+/" for s in segments[:-1])
        return "".join(folders) + (".+" if segments[-1] == "**" else "[^/]+")
    if segments[-1] == "**":
        segments.append("*")  # "x/**" is what lies below x; pathspec would match x
    anchor = "/" if is_path else ""
    regex = GitIgnoreSpecPattern.pattern_to_regex(anchor + "/".join(segments))[0] or "(?!)"
    stem = regex.removesuffix("(?:(?P<ps_d>/)|$)")
    stem = stem.removeprefix("^") if is_path else stem.removeprefix(_ANY_FOLDERS)
    # The first place where the text between two stars fits is as good as any other, and
    # not to try the others keeps a hostile `*a*a*a*b` from taking for ever.
    return _BETWEEN_STARS.sub(r"(?>[^/]*?\1)", re.sub(r"(?:\[\^/\]\*)+", "[^/]*", stem))


def _hold_back(text: str, held: list[str]) -> str:
    def hold(match: re.Match[str]) -> str:
        if match["escaped"] == "/":
            return "/"
        bracket = match["set"]
        held.append(_bracket(bracket) if bracket else re.escape(match["escaped"] or match["space"]))
        return chr(_HELD + len(held) - 1)

    return _TOKEN.sub(hold, text)


def _release(regex: str, held: list[str]) -> str:
    for at, piece in enumerate(held):
        regex = regex.replace(chr(_HELD + at), piece)
    return regex


def _bracket(text: str) -> str:
    """Return the regex of a bracket expression."""
    match = _BRACKET.fullmatch(text)
    if match is None:
        return "(?!)"
    items = "".join(_bracket_item(item) for item in _BRACKET_ITEM.finditer(match[2]))
    if match[1]:
        return f"[^/{items}]"
    return f"(?!/)[{items}]" if items else "(?!)"


def _bracket_item(item: re.Match[str]) -> str:
    if item["kind"] is not None:
        return _POSIX.get(item["kind"], "")
    if item["one"] is not None:
        return re.escape(item["one"][-1])
    low, high = item["low"][-1], item["high"][-1]
    # To git, a range that runs backwards is its first character.
    return f"{re.escape(low)}-{re.escape(high)}" if low <= high else re.escape(low)
