"""The statements of an answer: its sentences, each with the evidence that it cites.

A marker is ``[1]``, ``[1, 2]`` or several in a row, in a sentence or right behind its stop.
A sentence without one is taken to go with the next of its paragraph that has one, or else
with the one before: models cite once for what they say in two sentences. What states nothing,
such as a heading, a question, or what leads into a list, needs none. A block of code goes with
what is around it; markers in code are text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from kb_core.sentences import Unit, units
from kb_core.values import dataclass, replace

__all__ = ["Statement", "quotes_in", "statements", "unmarked"]

_MARKERS = re.compile(r"[ \t]*\[([1-9]\d{0,3}(?:\s*[,;、–-]\s*[1-9]\d{0,3})*)\]")
_LEADING = re.compile(r"(?:[ \t]*\[[1-9]\d{0,3}(?:\s*[,;、–-]\s*[1-9]\d{0,3})*\])+[ \t]*[.!?。]?")
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_QUOTED = re.compile(
    r"\"([^\"\n]+)\"|“([^“”\n]+)”|„([^„“”\n]+)[“”]|«([^«»\n]+)»|「([^「」\n]+)」|『([^『』\n]+)』"
)
_EDGE = " \t.,;:!?。，、…"
_ELLIPSIS = re.compile(r"\s*(?:\[?…\]?|\[?\.\.\.\]?)\s*")
_ASKS_OR_LEADS = ("?", "？", ":", "：")


@dataclass(frozen=True, slots=True)
class Statement:
    """A half-open range of an answer that says something, or nothing that needs evidence."""

    start: int
    end: int
    """With its markers."""
    text: str
    """Without them."""
    cites: tuple[int, ...] = ()
    """The numbers of its markers, or those that it goes with."""
    is_marked: bool = True
    """Whether the markers are its own."""
    states: bool = True
    """Whether it says something that evidence has to say, too."""
    is_code: bool = False
    """Whether it is a block of code, of which evidence has to hold every line."""


def statements(answer: str) -> list[Statement]:
    """Return the statements of *answer*, in order; together they are all but white space."""
    code = [match.span() for match in _CODE.finditer(answer)]
    found = [_statement(answer, unit, code) for unit in _with_markers_behind(answer)]
    paragraphs = groupby(found, key=lambda each: answer.count("\n\n", 0, each.start))
    cited = [each for _, paragraph in paragraphs for each in _inherited(list(paragraph))]
    around = _inherited(cited)
    return [other if each.is_code else each for each, other in zip(cited, around, strict=True)]


def unmarked(text: str) -> str:
    """Return *text* without its markers."""
    return _MARKERS.sub("", text)


def quotes_in(text: str) -> list[str]:
    """Return what *text* quotes, part by part where it leaves something out."""
    whole = [next(filter(None, match.groups())) for match in _QUOTED.finditer(text)]
    parts = (part.strip(_EDGE) for quote in whole for part in _ELLIPSIS.split(quote))
    return [part for part in parts if part]


def _with_markers_behind(answer: str) -> Iterator[Unit]:
    """Yield the units of an answer; markers behind a stop belong to what it ends."""
    at = 0
    for unit in units(answer):
        start = max(unit.start, at)
        behind = _LEADING.match(answer, unit.end)
        at = behind.end() if behind else unit.end
        if start < at and answer[start:at].strip():
            yield replace(unit, start=start, end=at)


def _statement(answer: str, unit: Unit, code: Sequence[tuple[int, int]]) -> Statement:
    text = answer[unit.start : unit.end]
    if unit.kind == "code":
        return Statement(unit.start, unit.end, text, is_code=True, is_marked=False)
    if unit.kind == "heading":
        return Statement(unit.start, unit.end, text, states=False)
    markers = [
        match
        for match in _MARKERS.finditer(answer, unit.start, unit.end)
        if not any(start <= match.start() < end for start, end in code)
    ]
    plain = text
    for match in reversed(markers):
        plain = plain[: match.start() - unit.start] + plain[match.end() - unit.start :]
    numbers = dict.fromkeys(number for match in markers for number in _numbers(match.group(1)))
    states = not plain.rstrip(" *_").endswith(_ASKS_OR_LEADS) and any(map(str.isalnum, plain))
    return Statement(unit.start, unit.end, plain.strip(), tuple(numbers), bool(numbers), states)


def _numbers(inside: str) -> list[int]:
    """Return the numbers of one marker; ``1-3`` are three."""
    ends = [int(number) for number in re.findall(r"\d+", inside)]
    if len(ends) == 2 and re.search(r"[–-]", inside) and ends[0] < ends[1] <= ends[0] + 20:  # noqa: PLR2004 - a range
        return list(range(ends[0], ends[1] + 1))
    return ends


def _inherited(paragraph: Sequence[Statement]) -> list[Statement]:
    cites: tuple[int, ...] = ()
    backwards = []
    for each in reversed(paragraph):
        cites = each.cites or cites
        backwards.append(each if each.cites else replace(each, cites=cites))
    cites, forwards = (), []
    for each in reversed(backwards):
        cites = each.cites or cites
        forwards.append(each if each.cites else replace(each, cites=cites))
    return forwards
