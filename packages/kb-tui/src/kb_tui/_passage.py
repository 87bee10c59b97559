"""A passage: the lines of a chunk in their place, between the lines around it.

Made from ``fetch_result.v1`` of a chunk with context. Neighbours may overlap the chunk
and may leave blank lines out; here every line stands once, under its own number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from kb_app.shown import first_line, visible
from kb_core.values import dataclass, replace

__all__ = ["Line", "Span", "passage", "plain"]

Chunk: TypeAlias = Mapping[str, Any]


class Span(NamedTuple):
    """A part of a line, and the name of how it is shown."""

    start: int
    end: int
    style: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line to show; ``number`` only where the source has lines."""

    text: str
    number: int | None
    inside: bool
    """Part of the chunk, and not of what is around it."""
    spans: tuple[Span, ...] = ()


def plain(text: str) -> list[Line]:
    """Return a text of unknown place, such as a snippet."""
    return [Line(visible(line), None, inside=True) for line in text.split("\n")]


def passage(fetched: Mapping[str, Any]) -> list[Line]:
    """Return the lines of a fetched chunk and of its context, in document order."""
    chunk = fetched["chunk"]
    before = [line for near in fetched["context_before"] for line in _before(near, chunk)]
    after = [line for near in fetched["context_after"] for line in _after(near, chunk)]
    return list(_joined([*before, *_lines(chunk["text"], _first(chunk)), *after]))


def _before(near: Chunk, chunk: Chunk) -> list[Line]:
    text = near["text"][: max(0, chunk["char_start"] - near["char_start"])]
    return _outside(_lines(text, _first(near)))


def _after(near: Chunk, chunk: Chunk) -> list[Line]:
    skipped = max(0, chunk["char_end"] - near["char_start"])
    first = _first(near)
    if first is not None:
        first += near["text"].count("\n", 0, skipped)
    return _outside(_lines(near["text"][skipped:], first))


def _outside(lines: Iterable[Line]) -> list[Line]:
    return [replace(line, inside=False) for line in lines]


def _first(chunk: Chunk) -> int | None:
    """Return the number of a chunk's first line, if its lines are those of its source."""
    places = chunk["source_spans"]
    return first_line(places[0], chunk["text"]) if places else None


def _lines(text: str, first: int | None) -> list[Line]:
    if not text:
        return []
    lines = text.removesuffix("\n").split("\n")
    return [
        Line(visible(line), None if first is None else first + offset, inside=True)
        for offset, line in enumerate(lines)
    ]


def _joined(lines: Iterable[Line]) -> Iterator[Line]:
    """Put the halves of a cut line together, and blank lines back where they were."""
    held: Line | None = None
    for line in lines:
        if held is None:
            held = line
        elif line.number is not None and line.number == held.number:
            held = Line(held.text + line.text, held.number, held.inside or line.inside)
        else:
            yield held
            yield from _blanks(held, line)
            held = line
    if held is not None:
        yield held


def _blanks(above: Line, below: Line) -> Iterator[Line]:
    if above.number is not None and below.number is not None:
        for number in range(above.number + 1, below.number):
            yield Line("", number, inside=above.inside and below.inside)
