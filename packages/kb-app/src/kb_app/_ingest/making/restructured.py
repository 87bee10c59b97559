"""Headings of reStructuredText: titles of sections, and the things that directives describe.

A title is underlined, or between two equal lines, over its full width; the first style that
comes is the outermost. What ``.. function:: name(…)`` and its like describe, of Sphinx's
domains, stands indented below them, and is a section within the section: most reference
documentation has no other. It ends with its indentation. What lies in literal blocks and in
directives that show code describes nothing. Targets and index entries right before a title
belong to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kb_app._ingest.making.blocks import Lines, Region
from kb_core.directives import DIRECTIVE, describes, name_of, shows_code
from kb_core.text import indent_of

__all__ = ["find_headings", "is_restructured"]

_OF_RST = re.compile(
    r"^\.\. (?:[a-z][\w:-]*::(?:[ \t]|$)|_[^\s:`][^\n:]*:(?:[ \t]|$))", re.MULTILINE
)
"""A line that means something in reStructuredText, and in no other text."""
_ADORNMENT = re.compile(r"""([!-/:-@[-`{-~])\1{1,200}[ \t]*""")
_ADORNED_MAX = 200
_DEEPEST = 20
_MOST_SIGNATURES = 20

_ITEM = re.compile(r"[ \t]*(?:[*+-]|\w{1,3}[.)]|#\.)[ \t]+")
_LEADS = re.compile(r"\.\. (?:_[^\s:`][^\n:]*:|[a-z][\w:-]*::[ \t]+\S)")
"""A target, or a directive with an argument, that may lead to a title."""
_ROLE = re.compile(r":[\w:+.-]+:`([^`]*)`|``([^`]+)``|`([^`]+)`_{0,2}|(\*{1,2})([^*\s][^*]*)\4")
_TARGET = re.compile(r"(.*\S)\s*<[^<>]*>")
_ESCAPED = re.compile(r"\\(.)")


def is_restructured(text: str) -> bool:
    """Say whether a text has a directive or a target of reStructuredText."""
    return _OF_RST.search(text) is not None


def find_headings(lines: Lines) -> Iterator[tuple[Region, str]]:
    """Yield the headings with their names; an empty region of the kind *leave* ends some.

    Titles are levels from 1 on, as they come; what is described is deeper than the last of them.
    """
    reader = _Reader(lines)
    for number in range(len(lines)):
        if not lines.is_blank(number):
            yield from reader.read(number)


class _Reader:
    """What is open while a text is read line by line."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._styles: dict[tuple[str, bool], int] = {}
        self._described: list[int] = []
        """How far what is being described is indented."""
        self._section = 0
        """The level of the last title."""
        self._title_end = 0
        self._shown = -1
        """What is indented deeper than this is code; -1: nothing is."""
        self._taken = 0
        """What is above this line is part of what was yielded."""

    def read(self, number: int) -> Iterator[tuple[Region, str]]:
        line = self._lines.texts[number]
        indent = indent_of(line)
        if number < self._taken or 0 <= self._shown < indent:
            return
        self._shown = -1
        if self._described and self._described[-1] >= indent:
            self._described = [each for each in self._described if each < indent]
            yield Region(number, number, "leave", self._level), ""
        if title := _title(self._lines, number, self._title_end):
            yield self._enter(number, *title)
        elif ".. " in line and (directive := DIRECTIVE.fullmatch(line)):
            yield from self._directive(number, indent, directive)
        elif line.rstrip().endswith("::"):
            item = _ITEM.match(line)
            self._shown = item.end() if item else indent

    @property
    def _level(self) -> int:
        return self._section + 1 + len(self._described)

    def _enter(self, number: int, over: bool, mark: str) -> tuple[Region, str]:  # noqa: FBT001 - of a style
        level = self._styles.setdefault((mark, over), len(self._styles) + 1)
        self._section = level
        first = _lead(self._lines, number - 1 - over, self._title_end)
        self._title_end = number + 1
        name = " ".join(self._lines.texts[number - 1].split())
        return Region(first, number + 1, "heading", level), _plain(name)

    def _directive(
        self, number: int, indent: int, directive: re.Match[str]
    ) -> Iterator[tuple[Region, str]]:
        end = _signatures_end(self._lines, number, indent)
        if shows_code(directive):
            self._shown = indent
        elif describes(directive) and _has_body(self._lines, end, indent):
            yield Region(number, end, "heading", self._level), _plain(name_of(directive))
            self._taken = end
            if len(self._described) < _DEEPEST:
                self._described.append(indent)


def _title(lines: Lines, number: int, previous_end: int) -> tuple[bool, str] | None:
    """Return how the line before *number* is a title: with a line above it, and by which sign."""
    mark = _adornment(lines.texts[number])
    if mark is None or number == 0 or number - 1 < previous_end:
        return None
    title = lines.texts[number - 1]
    if not _fits(title, lines.texts[number]):
        return None
    above = lines.texts[number - 2] if number >= previous_end + 2 else ""
    over = _adornment(above) == mark and len(above.rstrip()) == len(lines.texts[number].rstrip())
    # Without a line above, a title starts at the margin and after a blank line.
    if not over and (title[0].isspace() or not _starts_here(lines, number - 1, previous_end)):
        return None
    return over, mark


def _adornment(line: str) -> str | None:
    return line[0] if len(line) > 1 and _ADORNMENT.fullmatch(line) else None


def _fits(title: str, underline: str) -> bool:
    words = title.strip()
    return (
        bool(words)
        and len(title.rstrip()) <= min(len(underline.rstrip()), _ADORNED_MAX)
        and any(map(str.isalnum, words))
    )


def _starts_here(lines: Lines, line: int, previous_end: int) -> bool:
    return line in {0, previous_end} or lines.is_blank(line - 1)


def _lead(lines: Lines, first: int, previous_end: int) -> int:
    """Return where the title at the line *first* begins, what leads to it included."""
    line = first - 1
    while line >= previous_end and (lines.is_blank(line) or _LEADS.match(lines.texts[line])):
        if not lines.is_blank(line):
            first = line
        line -= 1
    return first


def _signatures_end(lines: Lines, number: int, indent: int) -> int:
    """Return where the signatures and options right below a directive end."""
    end = number + 1
    while (
        end < min(len(lines), number + _MOST_SIGNATURES)
        and not lines.is_blank(end)
        and indent_of(lines.texts[end]) > indent
        and not DIRECTIVE.fullmatch(lines.texts[end])
    ):
        end += 1
    return end


def _has_body(lines: Lines, end: int, indent: int) -> bool:
    while end < len(lines) and lines.is_blank(end):
        end += 1
    return end < len(lines) and indent_of(lines.texts[end]) > indent


def _plain(title: str) -> str:
    """Return a title without its inline markup."""
    return _ESCAPED.sub(lambda match: match[1].strip(), _ROLE.sub(_words, title)) or title


def _words(match: re.Match[str]) -> str:
    role, literal, link, _, emphasised = match.groups()
    if role is not None:
        named = _TARGET.fullmatch(role)
        return named[1] if named else (role[1:].split(".")[-1] if role[:1] == "~" else role)
    if link is not None and (named := _TARGET.fullmatch(link)):
        return named[1]
    return literal or link or emphasised or ""
