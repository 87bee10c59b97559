"""Characters on a page, and the lines that they make.

Boxes are in points with *y* up. Lines may run in four directions: each is looked at in a
*frame* of its own, turned so that it runs from left to right. Columns of vertical writing are
such lines, too. Lines of a script that is read from right to left are made anew from the
places of their characters. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import NamedTuple

__all__ = ["BULLET", "CELL_GAP", "ENDS", "Box", "Glyphs", "Line", "Placed", "Run"]
__all__ += ["RAISED", "SMALL", "hull", "is_wide", "lines_of", "power_or_mark", "reads_on"]

CELL_GAP = 1.2
"""From this many sizes of type on, what lies between two words is the border of a cell."""
_STRETCHED = 0.45
"""From this many sizes on, the usual gap of a line is that of a line made to fit."""
ENDS = re.compile(r"""[.!?…。！？]["'”’»)\]]*(?:\[\d{1,3}\])?$""")
"""What a line ends with where a sentence does, the mark of its note included."""
BULLET = re.compile(r"[•·▪‣◦●○■□–*-]|\(?[0-9A-Za-z]{1,3}[.)]|\[\d{1,3}\]")


class Box(NamedTuple):
    """A rectangle, by its left, lower, right and upper sides where *y* is up."""

    x0: float
    y0: float
    x1: float
    y1: float


class Run(NamedTuple):
    """Characters that were written on one line, from ``start`` up to ``end``."""

    start: int
    end: int
    turn: int
    """In which direction it runs: quarters of a circle, clockwise."""
    is_bold: bool
    is_cut: bool
    """It ends in a hyphen that only the end of the line put there."""


class Glyphs(NamedTuple):
    """The characters of a page, and the sides of their boxes."""

    text: str
    left: Sequence[float]
    bottom: Sequence[float]
    right: Sequence[float]
    top: Sequence[float]
    runs: Sequence[Run]
    is_layer: bool = False
    """None of it can be seen: it is what OCR put under a picture."""


class Placed(NamedTuple):
    """A word of a line: where in its text it begins, and its left and right side."""

    text: str
    start: int
    x0: float
    x1: float


@dataclass(slots=True)
class Line:
    """A line of text. ``box`` is in its frame; ``on_page`` says where it stands."""

    text: str
    box: Box
    size: float
    turn: int = 0
    is_bold: bool = False
    cells: int = 1
    is_cut: bool = False
    pieces: tuple[tuple[int, float, float], ...] = ()
    """Parts that a chunk may begin or end with: offset in the text, left and right side."""
    words: tuple[Placed, ...] = ()
    """Of a line that runs from left to right."""

    @property
    def whole(self) -> Box:
        """Its box on the page."""
        return _turned(self.box, -self.turn % 4)

    def on_page(self) -> Iterator[tuple[int, Box]]:
        """Yield the pieces: where each begins in the text, and its box on the page."""
        for at, x0, x1 in self.pieces or ((0, self.box.x0, self.box.x1),):
            yield at, _turned(Box(x0, self.box.y0, x1, self.box.y1), -self.turn % 4)


def hull(boxes: Iterable[Box]) -> Box:
    """Return the smallest box that holds all *boxes*, of which there is one at least."""
    x0s, y0s, x1s, y1s = zip(*boxes, strict=True)
    return Box(min(x0s), min(y0s), max(x1s), max(y1s))


def _turned(box: Box, turn: int) -> Box:
    """Return *box* in the frame of lines that run in the direction *turn*."""
    x0, y0, x1, y1 = box
    match turn:
        case 1:
            return Box(-y1, x0, -y0, x1)
        case 2:
            return Box(-x1, -y1, -x0, -y0)
        case 3:
            return Box(y0, -x1, y1, -x0)
    return box


# Lines

_WORD = re.compile(r"[^\s\x00-\x1f\x7f-\x9f。！？]+[。！？]*|[。！？]+")
_LEAST_DOTS = 4
_LEADER = re.compile(rf"\.{{{_LEAST_DOTS},}}")
_RTL = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_MAY_BE_RAISED = re.compile(r"\d(?=[-+−–]?\d)|[^\W\d][.,;:!?…”’\"'»]{0,2}\d|\d[^\W\d]")
"""Where a digit may be the power of a number, or the mark of a note at a word."""
_POWER = re.compile(r"[-+−–]?\d+")
_MARK = re.compile(r"\d{1,3}(?:[,–-]\d{1,3})*")
_UNIT = re.compile(r"(?<![^\W\d_])[^\W\d_]{1,2}")
"""What has a power rather than a note, if that is one digit: ``km2``, ``x2``."""
_BEFORE_MARK = frozenset(".,;:!?…。”’\"'»")
"""What the mark of a note may stand behind, beside letters."""
SMALL, RAISED = 0.85, 0.2
"""What is raised is smaller than so much of what it stands at, and begins so much above it."""


def lines_of(glyphs: Glyphs) -> list[Line]:
    """Return the lines of a page in the order of its content."""
    lines: list[Line] = []
    for run in glyphs.runs:
        line = _line(glyphs, run)
        if line is not None and not any(_is_again(line, before) for before in lines[-3:]):
            lines.append(line)
    return lines


def _is_again(line: Line, before: Line) -> bool:
    """Say whether a line is printed twice, a little beside itself, to look bold."""
    return line.text == before.text and all(
        abs(a - b) <= 1 for a, b in zip(line.box, before.box, strict=True)
    )


class _Word(NamedTuple):
    text: str
    start: int
    end: int
    box: Box
    """In the frame of its line."""


def _line(glyphs: Glyphs, run: Run) -> Line | None:
    turn = run.turn or _is_stacked(glyphs, run)
    words = _without_leaders(_words(glyphs, run, turn))
    if not words:
        return None
    heights = sorted(word.box.y1 - word.box.y0 for word in words)
    size = max(heights[len(heights) // 2], 0.1)
    box = hull(word.box for word in words)
    if _RTL.search(glyphs.text, run.start, run.end):
        text = _read_from_right(_clusters(glyphs, words, turn), size)
        return Line(text, box, size, turn, run.is_bold) if text else None
    parts: list[str] = []
    pieces: list[tuple[int, float, float]] = []
    placed: list[Placed] = []
    at = cells = 0
    border = _cell_border(words, size)
    before: _Word | None = None
    for word in words:
        gap = _between(before, word, border)
        cells += gap == "\t"
        at += len(gap)
        if before is None or ENDS.search(before.text):
            pieces.append((at, word.box.x0, word.box.x1))
        first, x0, x1 = pieces[-1]
        pieces[-1] = (first, min(x0, word.box.x0), max(x1, word.box.x1))
        parts += [gap, word.text]
        placed.append(Placed(word.text, at, word.box.x0, word.box.x1))
        at += len(word.text)
        before = word
    text = "".join(parts)
    if run.is_cut and not text.endswith("-"):
        text += "-"
    pieces_, words_ = tuple(pieces), tuple(placed)
    return Line(text, box, size, turn, run.is_bold, cells + 1, run.is_cut, pieces_, words_)


def _words(glyphs: Glyphs, run: Run, turn: int) -> Iterator[_Word]:
    text, left, bottom, right, top, *_ = glyphs
    for match in _WORD.finditer(text, run.start, run.end):
        a, b = match.span()
        box = Box(min(left[a:b]), min(bottom[a:b]), max(right[a:b]), max(top[a:b]))
        said = _LEADER.sub("…", match[0].replace("\xad", ""))
        if not turn and len(said) == b - a and _MAY_BE_RAISED.search(said):
            said = _with_raised(glyphs, said, a)
        if said:
            yield _Word(said, a, b, _turned(box, turn) if turn else box)


def _with_raised(glyphs: Glyphs, word: str, start: int) -> str:
    """Return a word with what is raised in it told from what is not."""
    bottoms = glyphs.bottom[start : start + len(word)]
    heights = [
        top - bottom
        for top, bottom in zip(glyphs.top[start : start + len(word)], bottoms, strict=True)
    ]
    base = max(range(len(word)), key=heights.__getitem__)
    if min(heights) >= SMALL * heights[base]:
        return word
    high = [
        height < SMALL * heights[base] and bottom - bottoms[base] > RAISED * heights[base]
        for height, bottom in zip(heights, bottoms, strict=True)
    ]
    out, at = "", 0
    for is_high, same in groupby(high):
        end = at + sum(1 for _ in same)
        said = word[at:end]
        if is_high:
            said = power_or_mark(out, said, word[end : end + 1])
        out, at = out + said, end
    return out


def power_or_mark(before: str, said: str, after: str = "") -> str:
    """Return what stands raised between *before* and *after*: a power, or the mark of a note.

    ``10^6`` is not 106, nor ``tide[1]`` a word. A note itself begins with its mark.
    """
    if before[-1:].isdecimal() and _POWER.match(said):
        return f"^{said}"
    if not _MARK.fullmatch(said) or not (before or after):
        return said
    if before and not before[-1].isalpha() and before[-1] not in _BEFORE_MARK:
        return said
    if len(said) == 1 and _UNIT.fullmatch(before, max(0, len(before) - 3)):
        return said
    return f"[{said}] " if after.isalnum() else f"[{said}]"


def _without_leaders(words: Iterable[_Word]) -> list[_Word]:
    """Return *words* with rows of single dots, as tables of contents have them, as one word."""
    out: list[_Word] = []
    for text, same in groupby(words, key=lambda word: word.text):
        row = list(same)
        if text == "." and len(row) >= _LEAST_DOTS:
            row = [_Word("…", row[0].start, row[-1].end, hull(word.box for word in row))]
        out += row
    return out


def _is_stacked(glyphs: Glyphs, run: Run) -> int:
    """Return 1 where each character stands below the one before: the frame of such a column."""
    ink = [at for at in range(run.start, run.end) if not glyphs.text[at].isspace()][:2]
    if not ink[1:]:
        return 0
    a, b = ink
    width = glyphs.right[a] - glyphs.left[a]
    height = glyphs.top[a] - glyphs.bottom[a]
    is_beside = abs(glyphs.left[a] - glyphs.left[b]) > 0.3 * width
    is_below = glyphs.bottom[a] - glyphs.bottom[b] > 0.5 * height > 0
    return int(is_below and not is_beside)


def _cell_border(words: Sequence[_Word], size: float) -> float:
    """Return from which gap on two words of a line are in two cells.

    A line that was stretched to the width of its column has wide gaps that are none.
    """
    gaps = sorted(b.box.x0 - a.box.x1 for a, b in pairwise(words))
    usual = gaps[len(gaps) // 2] / size if gaps else 0
    is_stretched = _STRETCHED < usual < CELL_GAP
    return size * (CELL_GAP if not is_stretched else max(CELL_GAP, 3 * usual))


def _between(before: _Word | None, word: _Word, border: float) -> str:
    """Return what stands between two words of a line."""
    if before is None:
        return ""
    if word.box.x0 - before.box.x1 > border:
        return " " if BULLET.fullmatch(before.text) else "\t"
    if word.start == before.end or (is_wide(before.text[-1]) and is_wide(word.text[0])):
        return ""
    return " "


def is_wide(character: str) -> bool:
    """Say whether a character is one of those that no blank parts from their like."""
    return character > "\u1100" and unicodedata.east_asian_width(character) in "WF"


def reads_on(last: str, first: str) -> bool:
    """Say whether a line may go on in mid-sentence with another one, elsewhere on the page."""
    return first[:1].islower() and not ENDS.search(last)


# Lines that are read from right to left

_MIRRORED = str.maketrans("()[]{}<>«»", ")(][}{><»«")
_LONGEST_CLUSTER = 3
_WORD_GAP = 0.18
_SAME = 0.01


class _Cluster(NamedTuple):
    """Characters that share a box, such as those of a ligature; ``word`` is its number."""

    text: str
    box: Box
    word: int


def _clusters(glyphs: Glyphs, words: Sequence[_Word], turn: int) -> list[_Cluster]:
    """Return the clusters of a line, in PDFium's order."""
    text, left, bottom, right, top, *_ = glyphs
    out: list[_Cluster] = []
    for number, word in enumerate(words):
        for at in range(word.start, word.end):
            box = _turned(Box(left[at], bottom[at], right[at], top[at]), turn)
            if out and _are_one(out[-1].box, box):
                out[-1] = out[-1]._replace(text=out[-1].text + text[at])
            else:
                out.append(_Cluster(text[at], box, number))
    return out


def _are_one(one: Box, other: Box) -> bool:
    return abs(one.x0 - other.x0) + abs(one.x1 - other.x1) < _SAME


def _read_from_right(clusters: list[_Cluster], size: float) -> str:
    """Return the text of a line in the order in which it is read."""
    clusters.sort(key=lambda cluster: cluster.box.x0 + cluster.box.x1)
    seen: list[str] = []
    before: _Cluster | None = None
    for cluster in clusters:
        if before is not None and (
            before.word != cluster.word or cluster.box.x0 - before.box.x1 > _WORD_GAP * size
        ):
            seen.append(" ")
        # What one glyph stands for comes backwards where it is a whole word.
        is_word = len(cluster.text) > _LONGEST_CLUSTER
        seen.append(cluster.text[::-1] if is_word else cluster.text)
        before = cluster
    to_right = sum(text[0].isalpha() and not _is_rtl(text) for text in seen)
    base = "R" if sum(map(_is_rtl, seen)) >= to_right else "L"
    sides = _sides(seen, base)
    runs = [
        (side, [text for text, _ in group])
        for side, group in groupby(zip(seen, sides, strict=True), key=lambda each: each[1])
    ]
    if base == "R":
        runs.reverse()
    return "".join(
        "".join(reversed(texts)).translate(_MIRRORED) if side == "R" else "".join(texts)
        for side, texts in runs
    ).strip()


def _sides(seen: Sequence[str], base: str) -> list[str]:
    """Return ``R`` or ``L`` for each: what has no direction takes that of what is around it."""
    sides = [
        "R" if _is_rtl(text) or unicodedata.combining(text[0]) else "L" if text[0].isalnum() else ""
        for text in seen
    ]
    at = 0
    while at < len(sides):
        end = at
        while end < len(sides) and not sides[end]:
            end += 1
        before, after = sides[at - 1] if at else base, sides[end] if end < len(sides) else base
        sides[at:end] = [before if before == after else base] * (end - at)
        at = end + 1
    return sides


def _is_rtl(text: str) -> bool:
    return unicodedata.bidirectional(text[0]) in {"R", "AL"}
