"""The rows of a recognised page in the order in which they are read.

Recognition takes neighbouring columns for one where they are short. Rows that lie under each
other and have a wide gap in the same place, with several words on both sides, are columns;
those of a table have a word or a number in each cell.

What stands between two columns of prose, or between the halves of a paragraph, is an *insert*:
a caption, a headline, the foot of the page. It is told before the paragraph under it, else
after everything else. The row that holds a large first letter comes before those beside that
letter. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kb_app._ingest.making.glyphs import reads_on

__all__ = ["Row", "Word", "in_columns", "in_reading_order", "initials"]

Edges = tuple[int, int, int, int]
"""Left, top, right and bottom."""

_WIDE = 1.5
"""How wide a gap between columns is, in heights of a line."""
_LEAST_ROWS = 3
_LEAST_WORDS = 3.0
"""How many words stand on either side of the gap, on average."""
_OTHER_SIZE = 0.15
"""By how much of its size the type of an insert differs from that of the prose."""
_MOST_INSERTED = 12
_LEAST_LETTERS = 12
"""Rows of fewer letters are no prose that an insert could cut."""
_TALL = 1.8
"""From this many sizes of its type on, a row holds a large first letter."""
_INDENTED = (2, 5)
"""How many rows stand beside a large first letter."""
_INDENT = (0.8, 4.0)
"""How wide it is, in sizes of the type beside it."""


class Word(NamedTuple):
    """A word as it was recognised."""

    text: str
    box: Edges
    confidence: float


class Row(NamedTuple):
    """Words beside each other; it may begin a paragraph."""

    words: tuple[Word, ...]
    opens: bool
    spaced: str | None = None
    """Its text, where that is not its words with blanks between them."""
    whole: Edges | None = None
    """Its edges, where those of its words are less exact."""
    type_size: float | None = None
    """How high its type is, from the lowest to the highest letters that there are."""

    @property
    def text(self) -> str:
        return self.spaced or " ".join(word.text for word in self.words)

    @property
    def box(self) -> Edges:
        if self.whole is not None:
            return self.whole
        lefts, tops, rights, bottoms = zip(*(word.box for word in self.words), strict=True)
        return min(lefts), min(tops), max(rights), max(bottoms)

    @property
    def size(self) -> float:
        return self.type_size or float(self.box[3] - self.box[1])

    def behind(self, letter: Word) -> Row:
        """Return the row with a large first letter as the beginning of its first word."""
        first, *others = self.words
        left, top, right, bottom = letter.box
        _, top_of_word, right_of_word, _ = first.box
        box = left, min(top, top_of_word), max(right, right_of_word), bottom
        sure = min(letter.confidence, first.confidence)
        whole = Word(letter.text + first.text, box, sure)
        return self._replace(words=(whole, *others), opens=True, whole=None)


def in_columns(rows: Sequence[Row]) -> list[Row]:
    """Return *rows* in the order of reading; those across two columns are two rows."""
    ordered: list[Row] = []
    at = 0
    while at < len(rows):
        end, gap = _run(rows, at)
        if gap is None:
            ordered.append(rows[at])
            at += 1
            continue
        cut = [_cut(row, gap) for row in rows[at:end]]
        ordered += [left for left, _ in cut]
        ordered += [right._replace(opens=n == 0) for n, (_, right) in enumerate(cut)]
        at = end
    return ordered


def _run(rows: Sequence[Row], at: int) -> tuple[int, tuple[int, int] | None]:
    """Return where the rows end that share a gap with that *at*, and the gap, if there is one."""
    for gap in _gaps(rows[at]):
        end, shared = at + 1, gap
        while end < len(rows) and (inner := _shared(rows[end], shared)):
            end, shared = end + 1, inner
        if end - at >= _LEAST_ROWS and _is_prose([_cut(row, shared) for row in rows[at:end]]):
            return end, shared
    return at + 1, None


def _gaps(row: Row) -> Iterator[tuple[int, int]]:
    _, top, _, bottom = row.box
    for left, right in zip(row.words, row.words[1:], strict=False):
        if right.box[0] - left.box[2] >= _WIDE * (bottom - top) and row.spaced is None:
            yield left.box[2], right.box[0]


def _shared(row: Row, gap: tuple[int, int]) -> tuple[int, int] | None:
    _, top, _, bottom = row.box
    for left, right in _gaps(row):
        inner = max(left, gap[0]), min(right, gap[1])
        if inner[1] - inner[0] >= (bottom - top) / 2:
            return inner
    return None


def _cut(row: Row, gap: tuple[int, int]) -> tuple[Row, Row]:
    left = tuple(word for word in row.words if word.box[2] <= gap[0])
    right = row.words[len(left) :]
    return row._replace(words=left, whole=None), row._replace(words=right, whole=None)


def _is_prose(cut: Sequence[tuple[Row, Row]]) -> bool:
    words = [(len(left.words), len(right.words)) for left, right in cut]
    return min(map(sum, zip(*words, strict=True))) >= _LEAST_WORDS * len(cut)


# Order


def in_reading_order(rows: Sequence[Row]) -> list[Row]:
    """Return *rows*, each recognised column by column, in the order in which they are read."""
    ordered = in_columns(rows)
    if _are_sideways(ordered):
        return ordered
    return _after_inserts(_from_the_top(ordered))


def _are_sideways(rows: Sequence[Row]) -> bool:
    tall = sum(row.box[3] - row.box[1] > row.box[2] - row.box[0] for row in rows)
    return tall * 2 > len(rows)


def _from_the_top(rows: Sequence[Row]) -> list[Row]:
    """Put each row that a large first letter makes tall before those beside that letter."""
    ordered: list[Row] = []
    for row in rows:
        first = _beside_letter(ordered, row)
        if first == len(ordered):
            ordered.append(row)
            continue
        beside = [each._replace(opens=False) if _share_height(each, row) else each
                  for each in ordered[first:]]  # fmt: skip
        ordered[first:] = [row._replace(opens=True), *beside]
    return ordered


def _beside_letter(rows: Sequence[Row], tall: Row) -> int:
    """Return where the rows begin that stand under *tall*, right of its first letter."""
    first = len(rows)
    left, top, right, bottom = tall.box
    if bottom - top < _TALL * tall.size:
        return first
    for at in range(len(rows) - 1, -1, -1):
        box = rows[at].box
        if box[1] < top or box[0] >= right or box[2] <= left:
            break
        if _share_height(rows[at], tall) and box[0] > left:
            first = at
    return first


def _share_height(one: Row, other: Row) -> bool:
    return min(one.box[3], other.box[3]) > max(one.box[1], other.box[1])


def _after_inserts(rows: Sequence[Row]) -> list[Row]:
    """Put what cuts a paragraph or parts two columns of prose behind what it interrupts."""
    usual = _usual_size(rows)
    kept: list[Row] = []
    inserts: list[tuple[int, list[Row]]] = []
    at = 0
    while at < len(rows):
        kept.append(rows[at])
        count = _inserted(rows, at, usual)
        following = rows[at + 1 + count] if count is not None else None
        if count is None or following is None:
            at += 1
            continue
        if count:
            inserts.append((len(kept), list(rows[at + 1 : at + 1 + count])))
        goes_on = reads_on(rows[at].text, following.text)
        kept.append(following._replace(opens=following.opens and not goes_on))
        at += count + 2
    told: dict[int, list[Row]] = {}
    for since, insert in inserts:
        insert[0] = insert[0]._replace(opens=True)
        told.setdefault(_place_of(kept, since, insert), []).extend(insert)
    return [row for n, kept_row in enumerate([*kept, None])
            for row in (*told.get(n, ()), kept_row) if row is not None]  # fmt: skip


def _usual_size(rows: Sequence[Row]) -> float:
    """Return the size that the type of half the letters has, or less."""
    sized = sorted((row.size, len(row.text)) for row in rows)
    half, so_far = sum(letters for _, letters in sized) / 2, 0
    for size, letters in sized:
        so_far += letters
        if so_far >= half:
            return size
    return 0.0


def _inserted(rows: Sequence[Row], at: int, usual: float) -> int | None:
    """Return how many rows stand between the prose *at* and that which follows it.

    None where there is nothing to mend: what follows does not go on with it, and is no
    column of its own.
    """
    last, titles = rows[at], 0
    if not _is_prose_of(last, usual):
        return None
    for count, row in enumerate(rows[at + 1 : at + 2 + _MOST_INSERTED]):
        if not _is_prose_of(row, usual):
            continue
        if not row.opens or titles > 1:
            return None
        is_over = row.box[1] < last.box[1] and row.box[0] >= last.box[0] + usual
        if not last.opens and reads_on(last.text, row.text) and (is_over or count):
            return count
        if count and not titles:
            return count if is_over else None
        titles += 1
    return None


def _is_prose_of(row: Row, usual: float) -> bool:
    return abs(row.size - usual) <= _OTHER_SIZE * usual and len(row.text) >= _LEAST_LETTERS


def _place_of(rows: Sequence[Row], since: int, insert: Sequence[Row]) -> int:
    """Return before which of *rows* an insert is told: the first paragraph under it."""
    left = min(row.box[0] for row in insert)
    right = max(row.box[2] for row in insert)
    bottom = max(row.box[3] for row in insert)
    for at in range(since, len(rows)):
        row = rows[at]
        is_under = row.box[1] >= bottom and row.box[0] <= left + row.size and row.box[2] >= right
        if row.opens and is_under:
            return at
    return len(rows)


# Large first letters


def initials(rows: Sequence[Row]) -> Iterator[tuple[int, Edges]]:
    """Yield where a large first letter may stand: the row that it belongs to, and its edges.

    Recognition takes such a letter for a picture: what is left is a paragraph whose first rows
    stand further to the right than the others, all by the same, and nothing before them.
    """
    for at, row in enumerate(rows):
        under = at + 1
        while under < len(rows) and _is_below(rows[under - 1], rows[under]) == 0:
            under += 1
        least, most = _INDENTED
        if not least <= under - at <= most or under == len(rows):
            continue
        full, left = rows[under], min(each.box[0] for each in rows[at:under])
        indent = left - full.box[0]
        if _is_below(rows[under - 1], full) is None or not (
            _INDENT[0] * row.size <= indent <= _INDENT[1] * row.size
        ):
            continue
        edges = full.box[0], row.box[1], left, rows[under - 1].box[3]
        if not any(_overlap(edges, each.box) for each in rows):
            yield at, edges


def _is_below(upper: Row, lower: Row) -> int | None:
    """Return to which side *lower* begins, right under *upper*: 0 where at the same place."""
    size = upper.size
    leading = lower.box[1] - upper.box[1]
    if abs(lower.size - size) > _OTHER_SIZE * size or not 0.5 * size < leading < 2 * size:
        return None
    moved = lower.box[0] - upper.box[0]
    return 0 if abs(moved) < size / 3 else (1 if moved > 0 else -1)


def _overlap(one: Edges, other: Edges) -> bool:
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return width > 1 and height > 1
