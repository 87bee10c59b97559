"""Excerpts: the part of a passage that shows a person why it was found.

A passage is read as pieces: sentences of prose, which flow, and lines of code, of tables, of
lists, and such as say *Rent: 940*, which stand alone and whole. The excerpt is the run of
pieces in which the most different words of the query stand, as far as there is room. What says
nothing to a reader is left out: front matter, fences, rules of tables, and headings that are
shown anyway. ``…`` stands where the text was cut inside a sentence.

Pure, and for the eye only: the snippet on the wire is a slice of the text and stays one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from kb_app.shown.marks import marks
from kb_core.text import entry_lines
from kb_core.values import lazy_pattern

__all__ = ["Excerpt", "Line", "Passage", "excerpt", "front_lines"]

_FRONT_MATTER = lazy_pattern(
    r"\A(?:(---|\+\+\+)[ \t]*\n(?:.*\n)*?\1[ \t]*(?:\n|\Z)"
    r"|(?=(?:.+\n)*?(?:(?:created|modified): *\d{17}|type: *text/\S+)$)"
    r"(?:[\w.$/-]+:.*\n)+(?:\n|\Z))",
    re.MULTILINE,
)
"""That of notes, and the fields of a tiddler."""
_HEADING = lazy_pattern(r"#{1,6}[ \t]+\S")
_FENCE = lazy_pattern(r"[ \t]*(?:```|~~~)")
_ROW = lazy_pattern(r"[ \t]*\|.*\|[ \t]*$|.*\S\t+\S")
_RULE = lazy_pattern(r"[ \t|:=*_-]{3,}")
_ITEM = lazy_pattern(r"[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+\S")
_SENTENCE = lazy_pattern(r"(?<=[.!?…])[\"')\]*_`]*\s+(?=\S)|(?<=[。！？])")
_LINKS = lazy_pattern(r"!?\[([^\]\n]*)\]\([^()\s]*\)")
_LINES_ONLY = frozenset({"code", "csv", "notebook"})
_UNBROKEN = frozenset({"book", "html", "office"})
"""Media whose paragraphs and items are a line each, without marks."""
_WIDE = frozenset("WF")
_STEM = 4
_WHOLE_LINE = 600
"""Lines that stand alone are shown whole up to this length."""
_ALONE = 120
"""A paragraph of one line and sentence that is so long stands alone, as an item does."""
_RAGGED = 12
"""One column in so many is lost where a word does not fit any more."""


class Line(NamedTuple):
    """A line of an excerpt; one that *flows* may be broken where there is no more room."""

    text: str
    flows: bool


class Excerpt(NamedTuple):
    """What is shown of a passage, and on which of its lines, from 0, it first matches."""

    lines: tuple[Line, ...]
    line: int


class _Piece(NamedTuple):
    text: str
    line: int
    """Where it begins, from 0."""
    flows: bool
    starts_paragraph: bool = False


class Passage(NamedTuple):
    """A passage, and what there is to know of it."""

    text: str
    medium: str
    shown: Collection[str] = ()
    """Headings and titles that a reader sees above it."""
    starts: bool = False
    """Whether the document begins here."""


def excerpt(passage: Passage, query: str, *, columns: int = 96, rows: int = 3) -> Excerpt:
    """Return what of *passage* to show for *query* in *rows* of so many *columns*."""
    hidden = {_plain(each) for each in passage.shown} - {""}
    pieces = list(_pieces(passage.text, passage.medium, hidden))
    # On a single row, what stands alone is one after the other all the same.
    first, last = _best(pieces, query, columns * rows, columns if rows > 1 else 1)
    chosen = pieces[first:last]
    if len(chosen) == 1:
        chosen = [_cut(chosen[0], query, columns * rows)]
    if chosen and not passage.starts and _begins_inside(chosen[0]):
        chosen[0] = chosen[0]._replace(text=f"… {chosen[0].text}")
    matching = next((piece for piece in chosen if marks(piece.text, query)), None)
    at = matching or (chosen[0] if chosen else None)
    return Excerpt(tuple(_joined(chosen)), at.line if at else 0)


def front_lines(text: str) -> int:
    """Return how many lines of front matter a text begins with, those around it included."""
    front = _FRONT_MATTER.match(text)
    return text.count("\n", 0, front.end()) if front else 0


def _pieces(passage: str, medium: str, shown: set[str]) -> Iterator[_Piece]:
    """Yield what of *passage* a reader may see, in order."""
    at, lines = front_lines(passage), passage.split("\n")
    if medium in _LINES_ONLY:
        yield from _alone(lines, shown if medium == "csv" else ())
        return
    paragraph: list[str] = []
    begun = at
    for number, (line, kind) in enumerate(zip(lines[at:], _kinds(lines[at:]), strict=True), at):
        if kind != "prose" or medium in _UNBROKEN:
            yield from _sentences(paragraph, begun, shown)
            paragraph = []
        if kind in {"prose", "item"}:
            begun = begun if paragraph else number
            paragraph.append(line)
        elif kind == "heading" and _plain(line) not in shown:
            yield _Piece(_readable(line), number, flows=False)
        elif kind in {"code", "row"}:
            is_kept = kind == "code" or "\t" in line
            yield _Piece(line if is_kept else _readable(line), number, flows=False)
    yield from _sentences(paragraph, begun, shown)


def _alone(lines: Sequence[str], shown: Collection[str]) -> Iterator[_Piece]:
    for number, line in enumerate(lines):
        if line.strip() and _plain(line) not in shown:
            yield _Piece(line, number, flows=False)


def _kinds(lines: Sequence[str]) -> Iterator[str]:
    """Yield what each line is; of entries, such as *Rent: 940*, each is an item."""
    anew, is_code = entry_lines(lines), False
    for number, line in enumerate(lines):
        kind = _kind(line, is_code=is_code)
        is_code ^= kind == "fence"
        yield "item" if kind == "prose" and number in anew else kind


def _kind(line: str, *, is_code: bool) -> str:
    if _FENCE.match(line):
        return "fence"
    if not line.strip() or (_RULE.fullmatch(line) and not is_code):
        return "nothing"
    if is_code:
        return "code"
    kinds = (("heading", _HEADING), ("row", _ROW), ("item", _ITEM))
    return next((kind for kind, pattern in kinds if pattern.match(line)), "prose")


def _sentences(lines: Sequence[str], first: int, shown: set[str]) -> Iterator[_Piece]:
    """Yield the sentences of a paragraph, each with the line on which it begins.

    One that only says a heading is the heading: most media have no marks before these.
    """
    text = "\n".join(lines)
    if _plain(text) in shown:
        return
    begun = len(item[0]) if (item := _ITEM.match(text)) else 0  # "2. Wash it." is one
    ends = [match.end() for match in _SENTENCE.finditer(text, begun)]
    for number, (start, end) in enumerate(pairwise([0, *ends, len(text)])):
        sentence = text[start:end]
        if sentence.strip():
            lead = len(sentence) - len(sentence.lstrip())
            line = first + text.count("\n", 0, start + lead)
            is_alone = len(lines) == 1 and not ends and len(sentence) <= _ALONE
            yield _Piece(_readable(sentence), line, not is_alone, starts_paragraph=number == 0)


def _readable(text: str) -> str:
    """Return prose on one line; of a link, what it says."""
    return " ".join(_LINKS.sub(r"\1", text).split())


def _plain(heading: str) -> str:
    return re.sub(r"[\W_]+", "", heading).casefold()


def _best(pieces: Sequence[_Piece], query: str, room: int, columns: int) -> tuple[int, int]:
    """Return the run of pieces within *room* that says the most of *query*; the first such."""
    words = [frozenset(_words(piece.text, query)) for piece in pieces]
    sizes = [_size(piece, columns) for piece in pieces]
    most, best = (-1, False), (0, 0)
    for first in range(len(pieces)):
        taken, said, last = 0, frozenset[str](), first
        while last < len(pieces) and (last == first or taken + sizes[last] <= room):
            taken, said = taken + sizes[last], said | words[last]
            last += 1
        score = (len(said), bool(words[first]))
        if score > most:
            most, best = score, (first, last)
        if last == len(pieces):
            break  # what begins later says no more
    first, last = best
    while first and sum(sizes[first - 1 : last]) <= room:
        first -= 1
    return first, last


def _size(piece: _Piece, columns: int) -> int:
    """Return how many columns a piece takes; one that stands alone takes whole rows."""
    size = len(piece.text) + 1
    if not piece.text.isascii():
        size += sum(unicodedata.east_asian_width(letter) in _WIDE for letter in piece.text)
    return size + size // _RAGGED if piece.flows else -(-size // columns) * columns


def _words(text: str, query: str) -> Iterator[str]:
    for start, end in marks(text, query):
        yield text[start:end].casefold()[:_STEM]


def _cut(piece: _Piece, query: str, room: int) -> _Piece:
    """Return a piece that is too long as the part of it around the first match."""
    text = piece.text.strip() if piece.flows else piece.text.rstrip()
    if len(text) <= (room if piece.flows else max(room, _WHOLE_LINE)):
        return piece._replace(text=text)
    found = marks(text, query)
    start = max(0, min(found[0][0] - room // 4 if found else 0, len(text) - room))
    if start:
        space = text.find(" ", start, start + room // 4)
        start = space + 1 if space >= 0 else start
    stop = min(len(text), start + room)
    if stop < len(text):
        space = text.rfind(" ", stop - room // 4, stop)
        stop = space if space >= 0 else stop
    before, after = "… " if start else "", " …" if stop < len(text) else ""
    return piece._replace(text=f"{before}{text[start:stop].strip()}{after}")


def _begins_inside(piece: _Piece) -> bool:
    """Say whether a piece at the beginning of the passage seems to go on with a sentence."""
    return piece.flows and not piece.line and piece.text[:1].islower()


def _joined(pieces: Sequence[_Piece]) -> Iterator[Line]:
    """Yield the lines that *pieces* make: sentences of one paragraph are one line."""
    flowing: list[str] = []
    for piece in pieces:
        if flowing and (not piece.flows or piece.starts_paragraph):
            yield Line(" ".join(flowing), flows=True)
            flowing = []
        if piece.flows:
            flowing.append(piece.text)
        else:
            yield Line(piece.text.rstrip(), flows=False)
    if flowing:
        yield Line(" ".join(flowing), flows=True)
