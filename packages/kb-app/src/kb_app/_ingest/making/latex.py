"""Headings of LaTeX, and what a text in it says of itself.

A heading is a command that begins a line; the highest that a text uses is its first level. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from kb_app._ingest.making.blocks import Lines, Region

__all__ = ["latex_headings", "latex_says"]

_LEVELS = {name: level for level, name in enumerate(
    ("part", "chapter", "section", "subsection", "subsubsection", "paragraph", "subparagraph"), 1
)}  # fmt: skip
_HEADING = re.compile(
    r"[ \t]*\\(part|chapter|(?:sub){0,2}section|(?:sub)?paragraph)\*?[ \t]*(?:\[[^\]\n]*\])?\{"
)
_SAID = re.compile(r"^[ \t]*\\(title|date)(?:\[[^\]\n]*\])?\{", re.MULTILINE)
_MOST_LINES, _LONGEST = 5, 1_000
_HEAD = 20_000
_DROPPED = re.compile(
    r"\\(?:label|footnote|thanks|vspace|hspace|index|cite)\*?\{[^{}]*\}|(?<!\\)%[^\n]*\n?"
)
_COMMAND = re.compile(r"\\(?:[a-zA-Z]+\*?[ \t]*|[,;:! /])")
_BREAK = re.compile(r"\\\\(?:\[[^\]]*\])?|~|\s+")
_ESCAPED = re.compile(r"\\([&%$#_{}])")


def latex_headings(lines: Lines) -> Iterator[tuple[Region, str]]:
    """Yield the headings of a text, each with its name."""
    found = list(_headings(lines))
    highest = min((level for _, _, level, _ in found), default=1)
    for first, end, level, name in found:
        yield Region(first, end, "heading", level - highest + 1), name


def latex_says(text: str) -> dict[str, str]:
    """Return what a text says of itself at its head: its title, and a date."""
    said: dict[str, str] = {}
    for match in islice(_SAID.finditer(text, 0, _HEAD), 20):
        if name := _plain(_group(text[match.end() : match.end() + _LONGEST])):
            said.setdefault(match[1], name)
    return said


def _headings(lines: Lines) -> Iterator[tuple[int, int, int, str]]:
    behind = 0
    for number in range(len(lines)):
        line = lines.texts[number]
        if number < behind or "\\" not in line or (match := _HEADING.match(line)) is None:
            continue
        end = number + 1
        said = line[match.end() :]
        while not _is_closed(said) and end < min(number + _MOST_LINES, len(lines)):
            said += "\n" + lines.texts[end]
            end += 1
        if not _is_closed(said):
            said, end = line[match.end() :], number + 1
        if name := _plain(_group(said[:_LONGEST])):
            yield number, end, _LEVELS[match[1]], name
            behind = end


def _end_of_group(text: str) -> int | None:
    """Return where the group ends that is open at the beginning of *text*."""
    depth, at = 1, 0
    while at < len(text):
        match text[at]:
            case "\\":
                at += 1
            case "{":
                depth += 1
            case "}":
                depth -= 1
                if not depth:
                    return at
        at += 1
    return None


def _is_closed(text: str) -> bool:
    return _end_of_group(text[:_LONGEST]) is not None


def _group(text: str) -> str:
    return text[: _end_of_group(text)]


def _plain(text: str) -> str:
    """Return a name as a reader sees it, as far as that is told without TeX."""
    text = _BREAK.sub(" ", _DROPPED.sub("", text))
    text = _ESCAPED.sub(lambda each: f"\0{each[1]}", text)
    text = _COMMAND.sub("", text).replace("{", "").replace("}", "").replace("$", "")
    for mark in "&%$#_{}":
        text = text.replace(f"\0{mark}", mark)
    return " ".join(text.replace("\0", "").split())
