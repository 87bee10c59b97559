"""Lines on a page to rows and blocks, in the order in which they are read.

The order of the content is kept, since those who wrote the file knew what follows what; only
where blocks jump up the page time and again are they ordered by where they stand. Pure.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise

from kb_app._ingest.making.glyphs import (
    BULLET,
    CELL_GAP,
    RAISED,
    SMALL,
    Box,
    Line,
    hull,
    is_wide,
    power_or_mark,
    reads_on,
)
from kb_app._ingest.making.grids import placed_in_columns

__all__ = ["TextBlock", "as_code", "blocks_of", "joined", "pitch_of"]

_WIDEST_GAP = 3.0
"""What is further apart on one baseline belongs together only in a table."""
_SMALL, _RAISED_GAP = 0.85, 0.35
_LEADING = (0.2, 1.65)
_ROW_LEADING = 3.2
_INDENT = 0.9
_DISORDER = 0.12
_LEAST_GUTTER = 3.0
_SLACK, _SLACK_OF_ROWS = 0.25, 0.8
"""So many sizes of type a cell may stand above those beside it, and one of a row below others."""
_LEAST_CELLS, _MOST_BROKEN = 3, 8
"""A row that can have others below it, with cells of so many lines at most."""
_DEEPEST_CUT = 12


@dataclass(slots=True)
class TextBlock:
    """Lines that belong together. ``kind`` is that of a ``Block``."""

    lines: list[Line]
    kind: str = "paragraph"
    level: int = 0

    @property
    def box(self) -> Box:
        """Where it stands, in the frame of its lines."""
        return hull(line.box for line in self.lines)

    @property
    def size(self) -> float:
        """The size of most of its type."""
        sizes: Counter[float] = Counter()
        for line in self.lines:
            sizes[line.size] += len(line.text)
        return sizes.most_common(1)[0][0]


def _rows(lines: Iterable[Line]) -> list[Line]:
    """Return *lines* with neighbours on one baseline, each right of the other, as one."""
    out: list[Line] = []
    for line in lines:
        if out and _is_beside(out[-1], line):
            out[-1] = _beside(out[-1], line)
        elif (at := _broken_cell(out, line)) is not None:
            out[at:] = [_with_cell(out[at:], line)]
        else:
            out.append(line)
    return out


def _broken_cell(out: Sequence[Line], line: Line) -> int | None:
    """Return which of the last lines begins a row that *line* is a cell of, if one does.

    A cell of several lines comes before the next one of its row, which stands beside it. So do
    columns of text, so it has to be a row already, or to stand below one.
    """
    for at in range(len(out) - 1, max(-1, len(out) - 1 - _MOST_BROKEN), -1):
        first, below = out[at], out[at + 1 :]
        if first.box.x1 >= line.box.x0 or first.turn != line.turn:
            return None
        is_below = at > 0 and _is_below_row(out[at - 1], first, line)
        slack = (_SLACK_OF_ROWS if is_below else _SLACK) * line.size
        stack = hull(each.box for each in out[at:])
        if line.box.y1 > stack.y1 + slack or line.box.y0 < stack.y0 - slack:
            continue
        left = _last_cell(first) - _SLACK * line.size
        is_cell = all(each.cells == 1 and each.box.x0 >= left for each in below)
        if is_cell and (is_below or first.cells > 1):
            return at
    return None


def _last_cell(row: Line) -> float:
    """Return where the last cell of a row begins."""
    at = row.text.rfind("\t") + 1
    return next((word.x0 for word in row.words if word.start == at), row.box.x0)


def _is_below_row(above: Line, first: Line, line: Line) -> bool:
    """Say whether right below a row of some cells, which reach over *line*, *first* begins."""
    gap = (above.box.y0 - first.box.y1) / line.size
    is_near = above.turn == line.turn and -_SLACK < gap < _ROW_LEADING
    return is_near and above.cells >= _LEAST_CELLS and above.box.x1 > line.box.x0


def _with_cell(broken: Sequence[Line], line: Line) -> Line:
    """Return a row, the last cell of which is *broken* into several lines, and its next cell."""
    row = reduce(_under, broken)
    apart = row.box._replace(x1=line.box.x0 - _WIDEST_GAP * line.size)
    return replace(_beside(replace(row, box=apart), line), box=hull((row.box, line.box)))


def _under(row: Line, line: Line) -> Line:
    """Return *row* with what goes on under its last cell."""
    at = len(row.text) + 1
    words = tuple(word._replace(start=at + word.start) for word in line.words)
    return replace(
        row,
        text=f"{row.text} {line.text}",
        box=hull((row.box, line.box)),
        words=(*row.words, *words) if row.words and words else (),
    )


def _is_beside(left: Line, right: Line) -> bool:
    if left.turn != right.turn or left.is_cut:
        return False
    large, small = max(left.size, right.size), min(left.size, right.size)
    gap = right.box.x0 - left.box.x1
    if gap <= -0.3 * right.size:
        return False
    if abs(left.box.y0 - right.box.y0) < 0.25 * large:
        return gap < _WIDEST_GAP * right.size or left.cells > 1 or right.cells > 1
    # What is raised or lowered, in smaller type, right beside what it belongs to.
    shared = min(left.box.y1, right.box.y1) - max(left.box.y0, right.box.y0)
    return small < _SMALL * large and gap < _RAISED_GAP * large and shared > 0.4 * small


def _beside(left: Line, right: Line) -> Line:
    gap = right.box.x0 - left.box.x1
    is_cell = gap > CELL_GAP * right.size and not BULLET.fullmatch(left.text)
    between = "\t" if is_cell else "" if gap < 0.1 * right.size else " "
    if not is_cell:
        left, right, between = _with_mark(left, right, between)
    at = len(left.text) + len(between)
    moved = tuple((at + offset, x0, x1) for offset, x0, x1 in right.pieces)
    main = left if left.size >= right.size else right
    return Line(
        left.text + between + right.text,
        Box(left.box.x0, main.box.y0, max(left.box.x1, right.box.x1), main.box.y1),
        main.size,
        left.turn,
        left.is_bold and right.is_bold,
        left.cells + right.cells - (not is_cell),
        right.is_cut,
        (*left.pieces, *moved) if left.pieces and right.pieces else (),
        (*left.words, *(word._replace(start=at + word.start) for word in right.words))
        if left.words and right.words
        else (),
    )


def _with_mark(left: Line, right: Line, between: str) -> tuple[Line, Line, str]:
    """Return what stands beside each other with the one told that is raised, and what parts it."""
    high, low = (left, right) if left.size < right.size else (right, left)
    if high.size >= SMALL * low.size or high.box.y0 - low.box.y0 <= RAISED * low.size:
        return left, right, between
    if high is right:
        return left, replace(right, text=power_or_mark(left.text, right.text)), between
    mark = power_or_mark("", left.text, right.text[:1])
    return replace(left, text=mark.rstrip()), right, " " if mark != left.text else between


def blocks_of(lines: Iterable[Line]) -> list[TextBlock]:
    """Return the lines of a page as blocks, in the order in which they are read."""
    open_: list[_Open] = []
    for line in _rows(lines):
        if open_ and _goes_on(open_[-1], line):
            open_[-1].take(line)
        else:
            open_.append(_Open([line], line.box))
    is_one_way = len({line.turn for block in open_ for line in block.lines}) == 1
    if is_one_way and _disorder(open_) > _DISORDER:
        open_ = _cut(open_)
    return [_block(block.lines) for block in _over_columns(open_)]


def _block(lines: list[Line]) -> TextBlock:
    kind = _kind(lines)
    return TextBlock(placed_in_columns(lines) if kind == "table" else lines, kind)


@dataclass(slots=True)
class _Open:
    """Lines that are becoming a block, and their box."""

    lines: list[Line]
    box: Box

    def take(self, line: Line) -> None:
        self.lines.append(line)
        self.box = hull((self.box, line.box))


def _kind(lines: Sequence[Line]) -> str:
    rows = sum(line.cells > 1 for line in lines)
    return "table" if rows > 1 and rows * 2 >= len(lines) else "paragraph"


def _over_columns(blocks: Iterable[_Open]) -> Iterator[_Open]:
    """Yield *blocks*, where a paragraph goes on at the top of the next column as one."""
    held: _Open | None = None
    for block in blocks:
        if held is not None and _goes_over(held, block):
            held.lines += block.lines
            held.box = block.box
            continue
        if held is not None:
            yield held
        held = block
    if held is not None:
        yield held


def _goes_over(left: _Open, right: _Open) -> bool:
    last, first = left.lines[-1], right.lines[0]
    return (
        len(left.lines) > 1
        and reads_on(last.text, first.text)
        and last.turn == first.turn
        and last.cells == first.cells == 1
        and abs(last.size - first.size) < 0.1 * last.size
        and right.box.x0 >= left.box.x1
        and first.box.y0 > last.box.y0 + 0.5 * last.size
    )


def _goes_on(block: _Open, line: Line) -> bool:
    """Say whether *line* goes on with *block*."""
    last = block.lines[-1]
    if last.turn != line.turn or abs(last.size - line.size) >= 0.2 * max(last.size, line.size):
        return False
    rows = last.cells > 1 and line.cells > 1
    most = _ROW_LEADING if rows else _LEADING[1]
    # Of a row that is broken into several, the first line is as far away as others are.
    places = (line.box.y0, line.box.y1 - line.size) if rows else (line.box.y0,)
    leadings = ((last.box.y0 - place) / line.size for place in places)
    if not any(_LEADING[0] < leading < most for leading in leadings):
        return False
    shared = min(block.box.x1, line.box.x1) - max(block.box.x0, line.box.x0)
    narrower = min(block.box.x1 - block.box.x0, line.box.x1 - line.box.x0)
    return shared > 0.3 * narrower and not _is_indented(block, last, line)


def _is_indented(block: _Open, last: Line, line: Line) -> bool:
    """Say whether a line begins a paragraph, by its indentation after a full line."""
    return (
        len(block.lines) > 1
        and last.cells == line.cells == 1
        and line.box.x0 > last.box.x0 + _INDENT * line.size
        and last.box.x0 <= block.box.x0 + 0.5 * line.size
        and last.box.x1 > line.box.x1 - 3 * line.size
    )


def _disorder(blocks: Sequence[_Open]) -> float:
    """Return the share of steps that go up the page without going to another column."""
    up = 0
    for a, b in pairwise(block.box for block in blocks):
        is_beside = min(a.x1, b.x1) <= max(a.x0, b.x0)
        up += b.y0 > a.y1 and not is_beside and b.x0 < a.x0 + 0.25 * (a.x1 - a.x0)
    return up / max(1, len(blocks) - 1)


def _cut(blocks: list[_Open], depth: int = 0) -> list[_Open]:
    """Order blocks by cutting the page at gutters, then at gaps, again and again."""
    if not blocks[1:] or depth > _DEEPEST_CUT:
        return blocks
    gutter = _gap((block.box.x0, block.box.x1) for block in blocks)
    if gutter is not None:
        first = [block for block in blocks if block.box.x1 <= gutter]
        second = [block for block in blocks if block.box.x0 >= gutter]
        return _cut(first, depth + 1) + _cut(second, depth + 1)
    gap = _gap((block.box.y0, block.box.y1) for block in blocks)
    if gap is not None:
        first = [block for block in blocks if block.box.y0 >= gap]
        second = [block for block in blocks if block.box.y1 <= gap]
        return _cut(first, depth + 1) + _cut(second, depth + 1)
    return sorted(blocks, key=lambda block: (-round(block.box.y1), block.box.x0))


def _gap(sides: Iterable[tuple[float, float]]) -> float | None:
    """Return the middle of the widest gap between intervals, if there is one."""
    ordered = sorted(sides)
    end, widest, middle = ordered[0][1], 0.0, 0.0
    for low, high in ordered[1:]:
        if low - end > widest:
            widest, middle = low - end, (low + end) / 2
        end = max(end, high)
    return middle if widest >= _LEAST_GUTTER else None


# Text

_ROOM = 1.0
"""So many sizes of type have to be left beside a word that would have had room."""
_ENTRY = re.compile(r"…\s?[\divxlc]{1,6}$", re.IGNORECASE)
"""How an entry of the contents ends: with dots, and the page."""
_LAST_WORD = re.compile(r"[^\W\d_]+-$")
_FIRST_WORD = re.compile(r"[^\W\d_]+")


def joined(lines: Sequence[Line], hyphenated: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield each line's text as it stands in its block, and what parts it from the next.

    A hyphen at the end of a line is dropped where the word goes on in small letters, unless
    *hyphenated*, the words of the document in small letters, has the word with it. A line ends
    where somebody ended it: at a row of a table, before an item of a list, and where there was
    room for the next word.
    """
    for line, after in pairwise([*lines, None]):
        text = line.text if line is not None else ""
        if line is None or after is None:
            yield text, ""
        elif line.is_cut and after.text[:1].islower():
            begun, ended = _LAST_WORD.search(text), _FIRST_WORD.match(after.text)
            whole = f"{begun[0]}{ended[0]}".lower() if begun and ended else ""
            yield (text if whole in hyphenated else text[:-1]), ""
        elif line.is_cut:
            yield text, ""
        elif after.cells > 1 or not _goes_on_below(line, after, lines):
            yield text, "\n"
        else:
            yield text, "" if is_wide(text[-1]) and is_wide(after.text[0]) else " "


def _goes_on_below(line: Line, after: Line, lines: Sequence[Line]) -> bool:
    """Say whether the line *after* goes on with *line*, or with the last cell of that row."""
    if line.cells == 1:
        return not _ends_here(line, after, lines)
    is_below = abs(_last_cell(line) - after.box.x0) < _SLACK * line.size
    return is_below and reads_on(line.text, after.text)


def _ends_here(line: Line, after: Line, lines: Sequence[Line]) -> bool:
    """Say whether *line* is an entry, or what comes after begins with a bullet, or had room."""
    word = after.text.partition(" ")[0]
    if (BULLET.fullmatch(word) and word != after.text) or _ENTRY.search(line.text):
        return True
    if after.box.y0 > line.box.y0:  # at the top of the next column
        return False
    if is_wide(word[0]):
        word = word[0]
    width = (after.box.x1 - after.box.x0) * len(word) / len(after.text)
    edge = max(each.box.x1 for each in lines if each.box.x0 < line.box.x1)
    return line.box.x1 + width + _ROOM * line.size < edge


# Code

_SAME_PITCH, _LEAST_WORDS, _DEEPEST = 0.02, 3, 40


def pitch_of(lines: Sequence[Line]) -> float | None:
    """Return how wide each character of some lines is, where all are as wide as each other."""
    narrow, wide, words, is_text = math.inf, 0.0, 0, False
    for line in lines:
        for word in line.words:
            width = (word.x1 - word.x0) / len(word.text)
            narrow, wide = min(narrow, width), max(wide, width)
            # Figures are as wide as each other in most types.
            is_text = is_text or word.text.isalpha()
        words += len(line.words)
        if not line.words or narrow < wide * (1 - _SAME_PITCH):
            return None
    return wide if is_text and words >= _LEAST_WORDS and wide > 0 else None


def as_code(lines: Sequence[Line]) -> Iterator[tuple[str, str]]:
    """Yield each line's text, and what parts it from the next: a new line, set in as it stands."""
    pitch, margin = pitch_of(lines) or 1.0, min(line.box.x0 for line in lines)
    for line, after in pairwise([*lines, None]):
        depth = round((after.box.x0 - margin) / pitch) if after is not None else 0
        if line is not None:
            yield line.text, "\n" + " " * min(depth, _DEEPEST) if after is not None else ""
