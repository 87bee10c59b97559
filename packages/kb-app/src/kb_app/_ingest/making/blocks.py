"""Lines to blocks: what every parser of text needs.

Blocks follow each other and do not overlap; each starts at the beginning of a line and ends
at the end of one, without the blank lines around it. Whatever no rule claims becomes a
plain block, so that together they hold everything but white space. A heading path is the
titles from the outermost heading to the nearest.
"""

from __future__ import annotations

from array import array
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import accumulate, islice
from typing import NamedTuple, overload

from kb_core.citations import Span
from kb_core.documents import Block, Place
from kb_core.values import lazy_pattern

__all__ = ["Draft", "Headings", "Lines", "Region", "flatten", "paragraphs", "settled"]


_LONGEST_HEADING = 200
_MANY_LINES = 200_000
"""From here on, lines are not held one by one: a short one takes ten times its length."""
_WINDOW = 1 << 20


class Region(NamedTuple):
    """Lines ``first`` up to, not including, ``end``, from 0; may hold further regions."""

    first: int
    end: int
    kind: str
    level: int = 0
    symbol: str | None = None
    symbol_kind: str | None = None
    number: int = -1
    """Tells the parts of one region, and regions of one name, apart."""

    def within(self, first: int, end: int) -> Region:
        """Return what lies within these lines of it; ``_replace`` takes five times as long."""
        _, _, kind, level, symbol, symbol_kind, number = self
        return Region(first, end, kind, level, symbol, symbol_kind, number)


class Lines:
    """The lines of a text, and where they start."""

    __slots__ = ("_starts", "text", "texts")

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = array("q", [0])
        at = 0
        while at <= len(text):
            end = text.find("\n", at + _WINDOW) + 1 or len(text) + 1
            lengths = (len(line) + 1 for line in text[at : end - 1].split("\n"))
            self._starts.extend(islice(accumulate(lengths, initial=at), 1, None))
            at = end
        self._starts[-1] = len(text)
        is_large = len(self._starts) > _MANY_LINES
        self.texts: Sequence[str] = _Parts(text, self._starts) if is_large else text.split("\n")

    def __len__(self) -> int:
        return len(self.texts)

    def start(self, line: int) -> int:
        """Return the offset at which *line* starts; the text's length after the last one."""
        return self._starts[line]

    def is_blank(self, line: int) -> bool:
        text = self.texts[line]
        return not text or text.isspace()

    def block(self, region: Region, path: tuple[str, ...] = ()) -> Block | None:
        """Return *region* as a block, without blank lines around it; ``None`` if all are."""
        first, end, kind, level, symbol, symbol_kind, _ = region
        while first < end and self.is_blank(first):
            first += 1
        while first < end and self.is_blank(end - 1):
            end -= 1
        if first == end:
            return None
        last = self._starts[end - 1] + len(self.texts[end - 1])
        return Block(kind, self._starts[first], last, path, level, symbol, symbol_kind)


class _Parts(Sequence[str]):
    """The lines of a text of very many, each made when it is asked for."""

    __slots__ = ("_starts", "_text")

    def __init__(self, text: str, starts: Sequence[int]) -> None:
        self._text = text
        self._starts = starts

    def __len__(self) -> int:
        return len(self._starts) - 1

    @overload
    def __getitem__(self, at: int) -> str: ...

    @overload
    def __getitem__(self, at: slice) -> list[str]: ...

    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return list(self._through(range(*at.indices(len(self)))))
        starts, last = self._starts, len(self._starts) - 2
        line = at if at >= 0 else at + last + 1
        if not 0 <= line <= last:
            raise IndexError(at)
        return self._text[starts[line] : starts[line + 1] - (line < last)]

    def __iter__(self) -> Iterator[str]:
        return self._through(range(len(self)))

    def _through(self, lines: Iterable[int]) -> Iterator[str]:
        """Yield these lines; to ask for each by its number takes three times as long."""
        text, starts, last = self._text, self._starts, len(self) - 1
        for line in lines:
            yield text[starts[line] : starts[line + 1] - (line < last)]


class Headings:
    """The headings that are open while a document is read from top to bottom."""

    __slots__ = ("_open", "path")

    def __init__(self) -> None:
        self._open: list[tuple[int, str]] = []
        self.path: tuple[str, ...] = ()

    def enter(self, level: int, title: str) -> tuple[str, ...]:
        """Close what *level* closes, open *title*, and return the path to it."""
        self.close(level)
        self._open.append((level, title))
        self.path = tuple(name for _, name in self._open)
        return self.path

    def close(self, level: int) -> None:
        """Close what a heading of *level* would close."""
        while self._open and self._open[-1][0] >= level:
            self._open.pop()
        self.path = tuple(name for _, name in self._open)

    def leave(self) -> None:
        """Close all of them."""
        self._open, self.path = [], ()


class Draft:
    """A text that is put together block by block, where the file itself is none.

    Blocks are parted by a blank line, or, where one goes on with a list or a table, by a line.
    """

    def __init__(self) -> None:
        self.headings = Headings()
        self.blocks: list[Block] = []
        self.places: list[Place] = []
        self.opening = ""
        """The heading that opens the text, if one does."""
        self._pieces: list[str] = []
        self._length = 0
        self._standing: Span | None = None

    @property
    def text(self) -> str:
        """All that was added."""
        return "".join(self._pieces)

    def add(self, kind: str, text: str, level: int = 0, *, goes_on: bool = False) -> int | None:
        """Add a block, and return where it starts; ``None`` where there is nothing in it."""
        text = text.rstrip() if kind in {"table", "code"} else text.strip()
        if not text.strip():
            return None
        gap = "\n" if goes_on else "\n\n"
        self._pieces += [gap, text] if self._length else [text]
        start = self._length + len(gap) if self._length else 0
        self._length = start + len(text)
        if self._standing is not None:
            self.places.append(Place(start, self._standing))
            self._standing = None
        if kind == "heading":
            name = " ".join(text.split())[:_LONGEST_HEADING]
            self.opening = self.opening or ("" if self.blocks else name)
            self.headings.enter(level, name)
        self.blocks.append(Block(kind, start, self._length, self.headings.path, level))
        return start

    def stand_at(self, span: Span) -> None:
        """Say where in the source stands what is added from now on."""
        self._standing = span


def flatten(regions: Iterable[Region], lines: int, plain: str) -> Iterator[Region]:
    """Yield *regions* so that none holds another: what lies around the inner ones is cut off.

    *regions* come in the order of their first lines, outer before inner. Lines that belong
    to none come as regions of the kind *plain*.
    """
    open_: list[Region] = [Region(0, lines, plain)]
    at = 0
    for region in regions:
        first = max(region.first, at)
        top = open_[-1]
        if region.number >= 0 and top.number >= 0 and region.level <= top.level:
            first = max(first, top.end)  # siblings that share a line: it is the first one's
        end = min(region.end, lines)
        if first >= end:
            continue
        at = yield from _advance(open_, at, first)
        open_.append(region.within(first, min(end, open_[-1].end)))
    yield from _advance(open_, at, lines)


def _advance(open_: list[Region], at: int, line: int) -> Generator[Region, None, int]:
    """Yield the rest of what ends before *line*, and the open region's part up to it."""
    while open_[-1].end <= line and len(open_) > 1:
        region = open_.pop()
        if at < region.end:
            yield region.within(at, region.end)
            at = region.end
    if at < line:
        yield open_[-1].within(at, line)
        at = line
    return at


def paragraphs(lines: Lines, first: int, end: int, kind: str) -> Iterator[Region]:
    """Yield the runs of lines between *first* and *end* that no blank line parts."""
    start: int | None = None
    for line in range(first, end):
        if lines.is_blank(line):
            if start is not None:
                yield Region(start, line, kind)
            start = None
        elif start is None:
            start = line
    if start is not None:
        yield Region(start, end, kind)


_CLOSING_MAX = 200
_CLOSERS = lazy_pattern(
    r"(?:[\s})\]>;,]|\([\w$., ]{0,60}\)|</[\w.:-]+>|---(?=\n)"  # ``})(jQuery);``
    r"|(?://|(?i:end)(?:if|for|foreach|while|switch)?\b|done\b|fi\b|esac\b|#endif\b)[^\n]*(?:\n|\Z))*"
)


def settled(lines: Lines, regions: Iterable[Region]) -> Iterator[Region]:
    """Yield heads once, their later parts as gaps, and closing lines with what they close."""
    seen: set[int] = set()
    held: Region | None = None
    for region in regions:
        part = region
        if region.number in seen:
            part = region._replace(kind="gap", symbol_kind=None)
        elif region.number >= 0:
            seen.add(region.number)
        if held is not None and part.kind == "gap" and _only_closes(lines, part):
            held = held._replace(end=part.end)
            continue
        if held is not None:
            yield held
        held = part
    if held is not None:
        yield held


def _only_closes(lines: Lines, region: Region) -> bool:
    start, end = lines.start(region.first), lines.start(region.end)
    return end - start < _CLOSING_MAX and _CLOSERS.fullmatch(lines.text, start, end) is not None
