"""Git's pattern language: a file of rules, compiled to be asked entry by entry.

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
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from kb_core.text import nfc

__all__ = ["Rule", "RuleSet", "parse_rules"]

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
