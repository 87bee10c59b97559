"""Texts of word processors (docx): what a reader sees, and what stands beside it.

Tracked changes are as if they were accepted: what was inserted is there, what was deleted is
not. A text box comes after the paragraph that it is anchored in, and so does a footnote, an
endnote or a comment after what refers to it, under the same headings. Headers and footers
come once, at the end. A row of a table is a line, its cells parted by tabs; a table that only
lays out a page is what is in its cells.

Headings are told by their style, whatever it is called in the language of its author: one
that is based on a style *named* "heading n", or that has an outline level.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate

from kb_app._ingest.making.blocks import Draft
from kb_app._ingest.making.containers import Element
from kb_app._ingest.making.counting import whole
from kb_app._ingest.making.formats.office.drawings import chart_text, choice, diagram_text
from kb_app._ingest.making.formats.office.items import (
    LEVELS,
    SOFT_HYPHEN,
    Item,
    heading_level,
    inherited,
    numbered,
    table_items,
    write_items,
)
from kb_app._ingest.making.formats.office.numbering import Numbering
from kb_app._ingest.making.formats.office.opc import Parts
from kb_app._ingest.making.formulas import formula_of_field, office_math, raised
from kb_app._ingest.making.markup import described
from kb_core.documents import Link

__all__ = ["read_words"]

_UNSEEN = frozenset({
    *("del", "moveFrom", "delText"),  # what a reader does not see
    *("rPr", "sdtPr", "sectPr", "trPr", "tblPr", "tcPr", "tblGrid", "tabs"),  # what is no text
    *("bookmarkStart", "bookmarkEnd", "proofErr", "lastRenderedPageBreak"),  # what holds nothing
    "rt",  # how a word is read, beside it
})  # fmt: skip
_WRITTEN = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_HOLDERS = frozenset({"sdt", "sdtContent", "customXml", "ins", "moveTo", "smartTag"})
_PICTURES = {"docPr": "descr", "shape": "alt"}
"""Where it is said what a picture shows."""
_NOTES = {"footnoteReference": "footnote", "endnoteReference": "endnote",
          "commentReference": "comment"}  # fmt: skip
_SYMBOL = "•"
"""For what only a font of symbols says."""
_NO_LIST, _LONGEST_COUNT = "0", 9
_LONGEST_WIDTH = 2
"""In digits; a table has 63 columns at most."""
_PRIVATE = range(0xE000, 0xF900)


def read_words(parts: Parts, draft: Draft) -> list[Link]:
    """Write down what the main part says, and what belongs to it; return its links."""
    reader = _Reader(parts)
    return write_items(draft, reader.items(parts.root), reader.margins())


@dataclass(slots=True)
class _Paragraph:
    """A paragraph while it is read."""

    pieces: list[str] = field(default_factory=list)
    boxes: list[Element] = field(default_factory=list)
    drawn: list[str] = field(default_factory=list)
    """What charts and diagrams in it say."""
    notes: list[tuple[str, str]] = field(default_factory=list)
    links: list[tuple[int, str, str]] = field(default_factory=list)
    style: str = ""
    outline: int = 0
    list_level: int | None = None
    list_name: str = ""
    order: list[str] = field(default_factory=list)
    """What the field that is open is to show."""


class _Reader:
    """Reads the parts of one file."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._relations = parts.relations(parts.main)
        self._levels: dict[str, int] = {}
        self._lists: set[str] = set()
        self._list_names: dict[str, int] = {}
        self._list_levels: dict[str, int] = {}
        numbering = (root for _, root in parts.of_kind(parts.main, "numbering"))
        self._numbering = Numbering(next(numbering, None))
        self._notes: dict[tuple[str, str], Element] = {}
        for _, root in parts.of_kind(parts.main, "styles"):
            self._take_styles(root)
        for kind, root in parts.of_kind(parts.main, "footnotes", "endnotes", "comments"):
            for note in root:
                if note.get("type", "normal") == "normal":
                    self._notes[kind[:-1], note.get("id", "")] = note

    def items(self, root: Element) -> Iterator[Item]:
        """Yield what a tree says, in reading order, and then the notes that nothing refers to."""
        body = next((each for each in root if each.tag == "body"), root)
        yield from self._blocks(body)
        for key in list(self._notes):
            yield from self._note(*key)

    def margins(self) -> Iterator[str]:
        """Yield what headers and footers say."""
        for _, root in self._parts.of_kind(self._parts.main, "header", "footer"):
            yield "\n".join(item.text for item in self._blocks(root))

    def _take_styles(self, root: Element) -> None:
        """Learn which styles are headings, and of which level, or items of lists."""
        styles = {each.get("styleId", ""): each for each in root if each.tag == "style"}
        bases = {name: _value(style.find("basedOn")) for name, style in styles.items()}
        self._levels = inherited({name: _level_of(each) for name, each in styles.items()}, bases)
        lists = {name: int(each.find("pPr/numPr") is not None) for name, each in styles.items()}
        self._lists = {name for name, is_list in inherited(lists, bases).items() if is_list}
        numbers = {name: style.find("pPr/numPr") for name, style in styles.items()}
        told = {name: each for name, each in numbers.items() if each is not None}
        own = {name: _count(_value(told[name].find("numId"))) if name in told else 0
               for name in styles}  # fmt: skip
        self._list_names = inherited(own, bases)
        levels = {name: _value(each.find("ilvl")) for name, each in told.items()}
        self._list_levels = {name: _count(level) for name, level in levels.items() if level}

    def _blocks(self, element: Iterable[Element]) -> Iterator[Item]:
        for child in element:
            match child.tag:
                case "p":
                    yield from self._paragraph(child)
                case "tbl":
                    yield from self._table(child)
                case "AlternateContent":
                    yield from self._blocks(choice(child))
                case tag if tag not in _UNSEEN:
                    yield from self._blocks(child)

    def _paragraph(self, element: Element) -> Iterator[Item]:
        found = _Paragraph()
        self._walk(element, found)
        level = found.outline or self._levels.get(found.style, 0)
        item = Item("paragraph", "".join(found.pieces), links=found.links)
        is_listed = found.list_level is not None or found.style in self._lists
        in_list = self._level_in_list(found)
        if 0 < level <= LEVELS:
            item.kind, item.level = "heading", level
        elif is_listed and found.list_name != _NO_LIST:
            item.kind, item.level = "list_item", in_list + 1
        numbered(item, self._label(found, in_list))
        if item.text.strip():
            yield item
        for box in found.boxes:
            yield from self._blocks(box)
        yield from (Item("table", text) for text in found.drawn if text.strip())
        for kind, number in found.notes:
            yield from self._note(kind, number)

    def _level_in_list(self, found: _Paragraph) -> int:
        if found.list_level is not None:
            return found.list_level
        if (level := self._list_levels.get(found.style)) is not None:
            return min(level, LEVELS - 1)
        return self._numbering.level_of(self._list_of(found), found.style)

    def _list_of(self, found: _Paragraph) -> str:
        return found.list_name or str(self._list_names.get(found.style, 0))

    def _label(self, found: _Paragraph, level: int) -> str:
        """Return the number that stands before a paragraph, if one does."""
        name = self._list_of(found)
        return "" if name == _NO_LIST else self._numbering.label(name, level)

    def _drawn(self, element: Element) -> str:
        """Return what is drawn by another part: a chart, or a diagram."""
        is_chart = element.tag == "chart"
        relation = self._relations.get(element.get("r:id" if is_chart else "r:dm", ""))
        root = self._parts.tree(relation.target, is_expected=False) if relation else None
        if root is None:
            return ""
        return chart_text(root) if is_chart else diagram_text(root)

    def _walk(self, element: Iterable[Element], into: _Paragraph) -> None:
        for child in element:
            tag = child.tag
            if tag == "t":
                into.pieces.append((child.text or "").replace(SOFT_HYPHEN, ""))
            elif tag in _WRITTEN:
                into.pieces.append(_WRITTEN[tag])
            elif tag in _NOTES:
                into.notes.append((_NOTES[tag], child.get("id", "")))
            elif tag == "r":
                self._walk_run(child, into)
            elif tag not in _UNSEEN:
                self._walk_into(child, into)

    def _walk_run(self, run: Element, into: _Paragraph) -> None:
        pieces = into.pieces
        first = len(pieces)
        self._walk(run, into)
        if first < len(pieces) and _is_raised(run):
            pieces[first] = raised(pieces[first - 1] if first else "", pieces[first])

    def _walk_into(self, child: Element, into: _Paragraph) -> None:
        into.pieces.append(described(child.get(_PICTURES.get(child.tag, ""), "")))
        match child.tag:
            case "pPr":
                _take_format(child, into)
            case "oMath" | "sym":
                is_symbol = child.tag == "sym"
                into.pieces.append(
                    _symbol(child.get("char", "")) if is_symbol else office_math(child)
                )
            case "AlternateContent":
                self._walk(choice(child), into)
            case "txbxContent":
                into.boxes.append(child)
            case "fldChar" | "instrText" | "fldSimple":
                self._walk_field(child, into)
            case "hyperlink":
                self._walk_link(child, into)
            case "chart" | "relIds":
                into.drawn.append(self._drawn(child))
            case _:
                self._walk(child, into)

    def _walk_field(self, child: Element, into: _Paragraph) -> None:
        """Take in a field, which shows what stands behind its order, unless it is a formula."""
        if child.tag == "instrText":
            into.order.append(child.text or "")
            return
        before = len(into.pieces)
        self._walk(child, into)
        is_whole = child.tag == "fldSimple" or child.get("fldCharType") == "end"
        if is_whole and len(into.pieces) == before:
            order = child.get("instr") or "".join(into.order)
            into.pieces.append(formula_of_field(order) or "")
        into.order.clear()

    def _walk_link(self, element: Element, into: _Paragraph) -> None:
        first, at = len(into.pieces), sum(map(len, into.pieces))
        self._walk(element, into)
        relation = self._relations.get(element.get("r:id", ""))
        if relation is not None and relation.is_external:
            text = " ".join("".join(into.pieces[first:]).split())
            into.links.append((at, text, relation.target))

    def _note(self, kind: str, number: str) -> Iterator[Item]:
        """Yield a note at the first place that refers to it."""
        note = self._notes.pop((kind, number), None)
        if note is None:
            return
        items = list(self._blocks(note))
        text = "\n".join(item.text for item in items)
        if kind != "comment":
            yield Item("note", text)
        elif text.strip():
            author = note.get("author", "")
            yield Item("comment", f"{author}: {text}" if author else text)

    def _table(self, element: Element) -> Iterator[Item]:
        rows = [row for row in _inside(element, "tr") if row.find("trPr/del") is None]
        cells = [list(_inside(row, "tc")) for row in rows]
        read = [[list(self._blocks(cell)) for cell in row] for row in cells]
        return table_items(read, [_starts(*each) for each in zip(rows, cells, strict=True)])


def _inside(element: Element, tag: str) -> Iterator[Element]:
    """Yield what is called *tag* in *element*, also where content controls hold it."""
    for child in element:
        if child.tag == tag:
            yield child
        elif child.tag in _HOLDERS:
            yield from _inside(child, tag)


def _starts(row: Element, cells: Iterable[Element]) -> list[int]:
    """Return the columns of the grid of a table in which the cells of a row begin."""
    widths = [_width(cell.find("tcPr/gridSpan"), 1) for cell in cells]
    return list(accumulate(widths, initial=_width(row.find("trPr/gridBefore"), 0)))[:-1]


def _width(element: Element | None, usual: int) -> int:
    """Return as how many columns wide something is said to be."""
    return whole(_value(element), usual, digits=_LONGEST_WIDTH)


def _value(element: Element | None) -> str:
    return "" if element is None else element.get("val", "")


def _level_of(style: Element) -> int:
    """Return the level that a style itself gives to a heading; 0 where it gives none."""
    name = _value(style.find("name")).strip()
    return heading_level(name, _outline(style.find("pPr/outlineLvl")))


def _outline(element: Element | None) -> int:
    """Return a level of an outline, counted from 1; 0 for that of the text."""
    level = whole(_value(element), LEVELS, digits=_LONGEST_COUNT)
    return level + 1 if level < LEVELS else 0


def _is_raised(run: Element) -> bool:
    """Say whether a run stands above its line, as its format says, which comes first in it."""
    said = run[0] if len(run) and run[0].tag == "rPr" else ()
    return any(each.tag == "vertAlign" and _value(each) == "superscript" for each in said)


def _take_format(element: Element, into: _Paragraph) -> None:
    """Take in the style of a paragraph, its level in an outline, and in a list."""
    into.style = _value(element.find("pStyle"))
    into.outline = _outline(element.find("outlineLvl"))
    if (numbers := element.find("numPr")) is None:
        return
    into.list_name = _value(numbers.find("numId"))
    if into.list_name != _NO_LIST:
        into.list_level = min(_count(_value(numbers.find("ilvl"))), LEVELS - 1)


def _count(said: str) -> int:
    return whole(said, 0, digits=_LONGEST_COUNT)


def _symbol(code: str) -> str:
    try:
        point = int(code, 16)
        return _SYMBOL if point in _PRIVATE else chr(point).encode("utf-8", "ignore").decode()
    except (ValueError, OverflowError):
        return ""
