"""Pages of one document: which lines run along their heads and feet, and what is a heading.

Both are seen only by looking at all pages. Pure.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kb_app._ingest.making.glyphs import Line
from kb_app._ingest.making.layout import TextBlock, pitch_of
from kb_app._ingest.making.pdfium import Bookmark, View

__all__ = ["Sheet", "name_code", "name_headings", "title_of", "without_running_lines"]

_NUMBERED = re.compile(r"(?:[A-Z]|[IVXLC]+|\d+)(?:\.\d+)*[.)]?\s+")
_EDGE = 0.08
"""Which part of a page's height is its head, and which its foot."""
_LEAST_RUNNING = 3
_LARGER = 1.15
_LONGEST_HEADING = 150
_MOST_HEADING_LINES = 3
_DEEPEST = 6
_NEAR_TITLE = 8
"""How many characters, such as a number, may stand before a title of the outline."""
_PAGE_NUMBER = "\0"
_HYPHENATED = re.compile(r"[^\W\d_]+-[^\W\d_]+")


@dataclass(slots=True, kw_only=True)
class Sheet:
    """A page: its number, counted from 1, and its blocks in the order of reading."""

    number: int
    label: str
    view: View
    blocks: list[TextBlock] = field(default_factory=list)
    entered: dict[int, list[tuple[int, str]]] = field(default_factory=dict)
    """By number of a block: headings that begin with it without being a block, with levels."""
    over: list[TextBlock] = field(default_factory=list)
    """What lies over it: the values of a form, and comments."""
    is_layer: bool = False
    """Its text cannot be seen: it is what somebody's OCR put under a picture."""
    waits: bool = False
    """It is a picture that was not read yet."""

    @property
    def other_label(self) -> str | None:
        """What the page calls itself, where that is not its number."""
        return self.label if self.label and self.label != str(self.number) else None

    @property
    def hyphenated(self) -> Iterator[str]:
        """The words with a hyphen in them, in small letters; none that a line's end cut."""
        for block in self.blocks:
            for line in block.lines:
                for word in _HYPHENATED.findall(line.text):
                    yield word.lower()


# Lines that run along pages


class _Seen(NamedTuple):
    sheet: Sheet
    line: Line
    numbers: tuple[int, ...]
    is_number: bool


def without_running_lines(sheets: Sequence[Sheet]) -> None:
    """Take lines out of *sheets* that stand on several of them but for the page's number.

    One that says more than a number stays on the first of them.
    """
    groups: defaultdict[tuple[bool, str], list[_Seen]] = defaultdict(list)
    for sheet in sheets:
        for is_head, line in _edges(sheet):
            seen = _template(sheet, line)
            groups[is_head, seen[0]].append(seen[1])
    gone: set[int] = set()
    for group in groups.values():
        if len({seen.sheet.number for seen in group}) < _LEAST_RUNNING:
            continue
        usual = _usual(group)
        running = [seen for seen in group if _fits(seen, usual)]
        if len({seen.sheet.number for seen in running}) >= _LEAST_RUNNING:
            gone |= {id(seen.line) for seen in (running if running[0].is_number else running[1:])}
    for sheet in sheets:
        for block in sheet.blocks if gone else ():
            block.lines = [line for line in block.lines if id(line) not in gone]
        sheet.blocks = [block for block in sheet.blocks if block.lines]


def _edges(sheet: Sheet) -> Iterator[tuple[bool, Line]]:
    """Yield the lines in the head and in the foot of a page."""
    edge = sheet.view.height * _EDGE
    for block in sheet.blocks:
        for line in block.lines:
            _, upper, _, lower = sheet.view.shown(line.whole)
            if lower <= edge or upper >= sheet.view.height - edge:
                yield lower <= edge, line


def _template(sheet: Sheet, line: Line) -> tuple[str, _Seen]:
    """Return a line without its numbers, and these."""
    text = " ".join(line.text.split()).casefold()
    numbers = tuple(int(number[:9]) for number in re.findall(r"\d+", text))
    is_number = text.strip("-–— []()") in {sheet.label.casefold(), str(sheet.number)}
    if is_number:
        return _PAGE_NUMBER, _Seen(sheet, line, (), is_number)
    plain = re.sub(r"\d+", "#", text)
    is_number = not any(map(str.isalpha, plain.replace("page", "")))
    return plain, _Seen(sheet, line, numbers, is_number)


def _usual(group: Sequence[_Seen]) -> list[tuple[bool, int]]:
    """Return what each number of most lines is: always the same, or so far from the page's."""
    usual = []
    for values in zip(*(seen.numbers for seen in group), strict=True):
        pages = [seen.sheet.number for seen in group]
        counts = Counter((False, value) for value in values)
        counts += Counter((True, value - page) for value, page in zip(values, pages, strict=True))
        usual.append(counts.most_common(1)[0][0])
    return usual


def _fits(seen: _Seen, usual: Sequence[tuple[bool, int]]) -> bool:
    return all(
        value - (seen.sheet.number if counts_pages else 0) == offset
        for value, (counts_pages, offset) in zip(seen.numbers, usual, strict=True)
    )


# Headings


def name_headings(sheets: Sequence[Sheet], outline: Sequence[Bookmark]) -> None:
    """Tell which blocks of *sheets* are headings, and of which level."""
    by_number = {sheet.number: sheet for sheet in sheets if sheet.blocks}
    placed = [mark for mark in outline if mark.page is not None and mark.title]
    if placed:
        for mark in placed:
            if (sheet := by_number.get((mark.page or 0) + 1)) is not None:
                _place(sheet, mark)
        return
    _by_type(sheets)


def name_code(sheets: Sequence[Sheet]) -> None:
    """Tell which blocks of *sheets* are code: those in type of one width, where not most is."""
    blocks = [block for sheet in sheets for block in sheet.blocks]
    typed = [block for block in blocks if block.kind == "paragraph" and pitch_of(block.lines)]
    if 2 * _ink(typed) < _ink(blocks):
        for block in typed:
            block.kind = "code" if len(block.lines) > 1 else block.kind


def _ink(blocks: Iterable[TextBlock]) -> int:
    return sum(len(line.text) for block in blocks for line in block.lines)


def _place(sheet: Sheet, mark: Bookmark) -> None:
    """Make the lines that say the title of *mark* a heading; else begin a section there."""
    level = mark.level + 1
    wanted = {letters for title in (mark.title, _NUMBERED.sub("", mark.title, count=1))
              if (letters := _letters(title))}  # fmt: skip
    y = mark.y if mark.y is not None else sheet.view.height
    best: tuple[float, int, int] | None = None
    for number, block in enumerate(sheet.blocks):
        lines = _titled(block, wanted) if block.kind != "heading" else 0
        if lines:
            away = abs(block.lines[0].whole.y1 - y)
            best = min(best or (away, number, lines), (away, number, lines))
    if best is None:
        below = (n for n, block in enumerate(sheet.blocks) if block.lines[0].whole.y0 <= y)
        first = next(below, None)
        if first is not None:
            sheet.entered.setdefault(first, []).append((level, mark.title))
        return
    _, number, lines = best
    block = sheet.blocks[number]
    heading = TextBlock(block.lines[:lines], "heading", level)
    rest = [TextBlock(block.lines[lines:], block.kind)] if block.lines[lines:] else []
    sheet.blocks[number : number + 1] = [heading, *rest]
    if rest:
        moved = {n + (n > number): held for n, held in sheet.entered.items()}
        sheet.entered = moved


def _titled(block: TextBlock, wanted: Collection[str]) -> int:
    """Return how many lines at the start of a block say a title, in one of its forms."""
    said = ""
    for count, line in enumerate(block.lines[:_MOST_HEADING_LINES], 1):
        said += _letters(line.text)
        for title in wanted:
            if said.endswith(title) and len(said) <= len(title) + _NEAR_TITLE:
                return count
    return 0


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()


def _by_type(sheets: Sequence[Sheet]) -> None:
    """Take short blocks in larger or bolder type than the rest for headings."""
    usual, is_bold = _usual_type(sheets)
    found: list[tuple[float, TextBlock]] = []
    for sheet in sheets:
        for block in sheet.blocks:
            size = block.size
            if _may_head(block) and (
                size > _LARGER * usual
                or (not is_bold and size > 0.9 * usual and _is_bold_alone(block))
            ):
                found.append((max(round(size, 0), usual), block))
    ranks = sorted({size for size, _ in found}, reverse=True)
    for size, block in found:
        block.kind, block.level = "heading", min(ranks.index(size) + 1, _DEEPEST)


def _usual_type(sheets: Sequence[Sheet]) -> tuple[float, bool]:
    """Return the size of most characters, and whether most are bold."""
    sizes: Counter[float] = Counter()
    bold = total = 0
    for sheet in sheets:
        for block in sheet.blocks:
            for line in block.lines:
                sizes[round(line.size * 2) / 2] += len(line.text)
                total += len(line.text)
                bold += len(line.text) * line.is_bold
    return (sizes.most_common(1)[0][0] if sizes else 0.0), bold * 2 > total


def _may_head(block: TextBlock) -> bool:
    text = " ".join(line.text for line in block.lines)
    return (
        block.kind == "paragraph"
        and len(block.lines) <= _MOST_HEADING_LINES
        and len(text) <= _LONGEST_HEADING
        and sum(map(str.isalpha, text)) > 1
        and all(line.cells == 1 for line in block.lines)
    )


def _is_bold_alone(block: TextBlock) -> bool:
    text = block.lines[-1].text
    return all(line.is_bold for line in block.lines) and text[-1] not in ".,;:…。"


_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_NO_TITLE = re.compile(
    r"(?i)untitled.*|\(?(?:anonymous|unspecified)\)?|.*\.(?:docx?|pdf|pptx?|xlsx?|tex|dvi|indd|qxd|rtf|odt|ps|html?)"
    r"|(?:microsoft (?:word|powerpoint|excel)|powerpoint|slide|document|presentation)\b.{0,80}"
    r"|\W*|.{0,2}|[\w-]+:[/\\].*"
)


def title_of(said: str, sheets: Sequence[Sheet]) -> str:
    """Return the title that a file gives itself, else what is largest on its first page."""
    title = " ".join(_CONTROLS.sub(" ", said).split())
    if title and not _NO_TITLE.fullmatch(title):
        return title
    usual, _ = _usual_type(sheets)
    first = [block for sheet in sheets[:1] for block in sheet.blocks if _may_title(block)]
    largest = max(first, key=lambda block: block.size, default=None)
    if largest is None or largest.size <= _LARGER * usual:
        return ""
    return " ".join(" ".join(line.text for line in largest.lines).split())


def _may_title(block: TextBlock) -> bool:
    return block.kind == "heading" or _may_head(block)
