"""OpenDocument: texts, sheets and slides of LibreOffice and its kin.

What is taken, and how it is written down, is as in the formats of Microsoft: notes and
comments after what refers to them, tracked deletions left out, cells with their places, a
slide a page, hidden ones flagged.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from xml.etree.ElementTree import SubElement

from kb_app._ingest.making.blocks import Draft
from kb_app._ingest.making.containers import LOCKED, Element, Flat, Package, Refused
from kb_app._ingest.making.counting import whole
from kb_app._ingest.making.formats.office.drawings import number
from kb_app._ingest.making.formats.office.embedded import file_within
from kb_app._ingest.making.formats.office.grid import Book, Cell, Grid, Taller, cell_name
from kb_app._ingest.making.formats.office.items import (
    ASIDE,
    SOFT_HYPHEN,
    Item,
    numbered,
    table_items,
    write_items,
)
from kb_app._ingest.making.formats.office.opendocument_styles import LABEL, RAISED, mark_styles
from kb_app._ingest.making.formats.office.properties import Properties
from kb_app._ingest.making.formulas import mathml, raised
from kb_app._ingest.making.markup import described
from kb_core.citations import PageSpan
from kb_core.documents import Enclosure, Link, ReadingLimits
from kb_core.ingest import SkipReason

__all__ = ["FLAT", "OpenDocument", "flat"]

FLAT = re.compile(
    rb"(?:\xef\xbb\xbf)?\s{0,200}(?:<\?[^>]{0,400}>\s{0,200}){0,4}"
    rb"(?:<!--.{0,2000}?-->\s{0,200}){0,4}<(?:\w+:)?document\s[^>]{0,8000}?"
    rb"urn:oasis:names:tc:opendocument:xmlns:office:",
    re.DOTALL,
)
"""How a file begins that is one XML, and no archive."""
_PARTS = ("content.xml", "styles.xml", "meta.xml")

_UNSEEN = frozenset({"tracked-changes", "forms", "ruby-text", "note-citation", "page-number"})
_UNSEEN |= {"page-count", "title", "desc", "sequence-decls", "shapes"}
_SHAPES = frozenset({"custom-shape", "rect", "ellipse", "circle", "line", "connector", "measure",
                     "polygon", "polyline", "path", "caption", "g"})  # fmt: skip
_ANCHORED = _SHAPES | {"note", "annotation", "frame", "text-box"}
_SPACES = re.compile(r"[ \t\r\n]+")
_ROWS = frozenset({"table-rows", "table-header-rows", "table-row-group", "table-columns"})
_MARGINS = frozenset({"header", "footer", "header-left", "footer-left", "header-first",
                      "footer-first"})  # fmt: skip
_ON_EVERY_SLIDE = frozenset({"page-number", "date-time", "footer", "header", "page"})
_LAST_COLUMN, _LAST_ROW = 16_384, 1_048_576
_LEVELS = 9
_PLAIN_NUMBER = re.compile(r"\(?[-+−]?(?:0|[1-9][\d.,'’\s]*)?(?:[.,]\d*)?(?:E[-+]?\d+)?\)?|#+")
"""A number that shows nothing but its digits, however these are parted and rounded."""
_MOST_BLANKS = 1_000
_MOST_ROWS = 5_000
"""A chart of more is a picture of a table that is elsewhere."""
_FORMULA = "is-formula"
_LONGEST_COUNT, _MOST_EMPTY = 7, 63
"""As many empty cells beside each other are believed in a text."""
_META = {"initial-creator": "creator", "creation-date": "created", "date": "modified",
         "title": "title", "subject": "subject", "description": "description",
         "language": "language", "creator": "lastModifiedBy"}  # fmt: skip


def flat(data: bytes, limits: ReadingLimits) -> OpenDocument:
    """Return a file that is one XML, with all that an archive has in parts."""
    return OpenDocument(Flat(data, _PARTS, limits), limits)


class OpenDocument:
    """One file; ``warnings`` says what of it could not be read."""

    def __init__(self, package: Package | Flat, limits: ReadingLimits) -> None:
        self._package = package
        self._limits = limits
        self.warnings: list[str] = []
        self.known: dict[str, object] = {}
        self.files: list[Enclosure] = []
        if "META-INF/manifest.xml" in package and b"encryption-data" in self._manifest():
            detail = f"{LOCKED}, and no password opens OpenDocument here; save it without one"
            raise Refused(SkipReason.ENCRYPTED, detail)

    def read(self, draft: Draft) -> Sequence[Link]:
        """Write down all that it says, and return its links."""
        root = self._package.tree("content.xml")
        mark_styles(root, self._tree("styles.xml"))
        self._take_in_objects(root)
        body = next(root.iter("body"), None)
        for content in body if body is not None else ():
            match content.tag:
                case "text":
                    return write_items(draft, _blocks(content), self._margins())
                case "spreadsheet":
                    self._sheets(content, _hidden(root, "table-properties", "display"), draft)
                    return ()
                case "presentation" | "drawing":
                    hidden = _hidden(root, "drawing-page-properties", "visibility")
                    self._slides(content, hidden, draft)
                    return ()
        raise Refused(SkipReason.UNSUPPORTED, "an OpenDocument file of a kind that is not read")

    def _take_in_objects(self, root: Element) -> None:
        """Put what formulas and charts say, which are files of their own, where they stand."""
        is_sheet = root.find("body/spreadsheet") is not None
        for held in list(root.iter("object")):
            name = held.get("href", "").removeprefix("./").rstrip("/")
            found = self._tree(f"{name}/content.xml") if name else _within(held)
            if found is None or found.find("body/chart") is not None:
                held.extend(_of_chart(found, with_values=not is_sheet))
            elif (inner := _content(found)) is not None:
                held.extend(inner)
            elif found.tag == "math":
                said = SubElement(held, "p", {_FORMULA: "true"})
                said.text = mathml(found)

        for held in root.iter("object-ole"):
            name = held.get("href", "").removeprefix("./")
            data = self._part(name) if name in self._package else _unpacked(held)
            within = file_within(data, name or "object") if data else None
            self.files += [within] if within is not None else []

    def properties(self) -> Properties:
        """Return what the file says of itself."""
        root = self._tree("meta.xml")
        meta = next(root.iter("meta"), None) if root is not None else None
        values: dict[str, str] = {}
        keywords = []
        for each in meta if meta is not None else ():
            if each.tag in _META:
                values.setdefault(_META[each.tag], each.text or "")
            elif each.tag == "keyword":
                keywords.append(each.text or "")
        return Properties({**values, "keywords": ", ".join(keywords)})

    def _manifest(self) -> bytes:
        return self._part("META-INF/manifest.xml")

    def _part(self, name: str) -> bytes:
        try:
            return self._package.read(name)
        except Refused as refused:
            if not refused.is_partial:
                raise
            return b""

    def _tree(self, name: str) -> Element | None:
        if name not in self._package:
            return None
        try:
            return self._package.tree(name)
        except Refused as refused:
            if not refused.is_partial:
                raise
            self.warnings.append(refused.detail)
            return None

    def _margins(self) -> Iterator[str]:
        root = self._tree("styles.xml")
        for page in root.iter("master-page") if root is not None else ():
            for each in page:
                if each.tag in _MARGINS:
                    yield "\n".join(item.text for item in _blocks(each))

    def _sheets(self, content: Element, hidden: frozenset[str], draft: Draft) -> None:
        book = Book(draft, self._limits.cells)
        for table in content.findall("table"):
            is_hidden = table.get("style-name", "") in hidden
            _Sheet(Grid(book, table.get("name", ""), is_hidden=is_hidden)).read(table)
        draft.opening, self.known = "", book.known()

    def _slides(self, content: Element, hidden: frozenset[str], draft: Draft) -> None:
        pages, most = content.findall("page"), self._limits.pages
        if len(pages) > most:
            detail = f"{len(pages):,} slides; [limits] pages is {most:,}"
            raise Refused(SkipReason.TOO_LARGE, detail)
        flagged = []
        for count, page in enumerate(pages, 1):
            is_hidden = page.get("style-name", "") in hidden
            flagged += [count] if is_hidden else []
            _write_slide(page, count, draft, is_hidden=is_hidden)
        self.known = {"hidden_slides": flagged} if flagged else {}


def _within(held: Element) -> Element | None:
    """Return what stands within a flat file in place of an object, taken out of there."""
    found = next((each for each in held if each.tag in {"document", "math"}), None)
    if found is not None:
        held.remove(found)
    return found


def _unpacked(held: Element) -> bytes:
    """Return the bytes that a flat file holds as text."""
    try:
        return b64decode(held.findtext("binary-data") or "")
    except ValueError:
        return b""


def _hidden(root: Element, properties: str, name: str) -> frozenset[str]:
    """Return the names of the styles that hide what has them."""
    styles = (each for each in root.iter("style") if each.find(properties) is not None)
    said = {each.get("name", ""): each.find(properties) for each in styles}
    return frozenset(
        style
        for style, found in said.items()
        if found is not None and found.get(name) in {"false", "hidden"}
    )


def _content(root: Element) -> Element | None:
    """Return what a text or a sheet within another file says, if it is one."""
    found = (root.find(f"body/{kind}") for kind in ("spreadsheet", "text"))
    return next((each for each in found if each is not None), None)


def _of_chart(root: Element | None, *, with_values: bool) -> Iterator[Element]:
    """Yield the titles of a chart, and its values as a table."""
    chart = root.find("body/chart/chart") if root is not None else None
    for each in chart if chart is not None else ():
        if each.tag in {"title", "subtitle"}:
            yield from each.findall("p")
        elif each.tag == "table" and with_values and len(list(each.iter("table-row"))) < _MOST_ROWS:
            yield each


@dataclass(slots=True)
class _Paragraph:
    """A paragraph while it is read."""

    pieces: list[str] = field(default_factory=list)
    after: list[Item] = field(default_factory=list)
    """What is anchored in it: text boxes, notes, comments."""
    links: list[tuple[int, str, str]] = field(default_factory=list)


def _blocks(element: Iterable[Element], depth: int = 0) -> Iterator[Item]:
    """Yield what is in *element*, in reading order; *depth* is that of lists around it."""
    for child in element:
        match child.tag:
            case "h" | "p":
                yield from _paragraph(child, depth)
            case "list":
                yield from _blocks(child, depth + 1)
            case "table":
                yield from table_items([list(_cells_of(row)) for row in _rows(child)])
            case "annotation":
                yield from _comment(child)
            case "desc" if said := described(child.text or ""):
                yield Item("paragraph", said)
            case tag if tag not in _UNSEEN:
                yield from _blocks(child, depth)


def _paragraph(element: Element, depth: int) -> Iterator[Item]:
    found = _Paragraph()
    _walk(element, found)
    level = element.get("outline-level", "1")
    item = Item("paragraph", "".join(found.pieces), links=found.links)
    if element.tag == "h":
        item.kind = "heading"
        item.level = min(whole(level, 1), _LEVELS) or 1
    elif depth:
        item.kind, item.level = "list_item", depth
    numbered(item, element.get(LABEL, ""))
    if item.text.strip():
        yield item
    yield from found.after


def _walk(element: Element, into: _Paragraph) -> None:
    into.pieces.append(_said(element.text))
    for child in element:
        match child.tag:
            case "s" | "tab" | "line-break":
                into.pieces.append(_blank(child))
            case "a":
                _walk_link(child, into)
            case "span" if child.get(RAISED):
                before, first = "".join(into.pieces[-1:]), len(into.pieces)
                _walk(child, into)
                into.pieces[first] = raised(before, into.pieces[first])
            case "frame" if (formula := child.find(f"object/p[@{_FORMULA}]")) is not None:
                into.pieces.append(formula.text or "")
            case tag if tag in _ANCHORED:
                into.after += _anchored(child)
            case tag if tag not in _UNSEEN:
                _walk(child, into)
        into.pieces.append(_said(child.tail))


def _said(text: str | None) -> str:
    return _SPACES.sub(" ", text or "").replace(SOFT_HYPHEN, "")


def _blank(element: Element) -> str:
    blanks = " " * min(whole(element.get("c", ""), 1), _MOST_BLANKS)
    return {"tab": "\t", "line-break": "\n"}.get(element.tag, blanks)


def _anchored(element: Element) -> Iterator[Item]:
    """Yield what stands beside a paragraph: a note, a comment, or what is in a box."""
    if element.tag == "note":
        body = element.find("note-body")
        yield Item("note", "\n".join(i.text for i in _blocks(body if body is not None else ())))
    elif element.tag == "annotation":
        yield from _comment(element)
    else:
        yield from _blocks(element)


def _walk_link(element: Element, into: _Paragraph) -> None:
    first, at = len(into.pieces), sum(map(len, into.pieces))
    _walk(element, into)
    target = element.get("href", "")
    if "://" in target or target.startswith("mailto:"):
        into.links.append((at, " ".join("".join(into.pieces[first:]).split()), target))


def _comment(element: Element) -> Iterator[Item]:
    text = "\n".join(item.text for item in _blocks(element))
    author = element.findtext("creator") or ""
    if text.strip():
        yield Item("comment", f"{author}: {text}" if author else text)


def _rows(table: Element) -> Iterator[Element]:
    for child in table:
        if child.tag == "table-row":
            yield child
        elif child.tag in _ROWS:
            yield from _rows(child)


def _cells(row: Element) -> Iterator[Element]:
    return (each for each in row if each.tag in {"table-cell", "covered-table-cell"})


def _cells_of(row: Element) -> Iterator[list[Item]]:
    """Yield the cells of a row of a text, an empty one as often as it is there."""
    for cell in _cells(row):
        items = list(_blocks(cell))
        times = 1 if items else min(_repeated(cell, "number-columns-repeated"), _MOST_EMPTY)
        yield from [items] * times


class _Sheet:
    """Gives the rows of one sheet to a grid."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid

    def read(self, table: Element) -> None:
        """Write down all rows; comments, boxes and charts stand at their cells, after them."""
        at, taller = 0, Taller()
        beside = [("A1", item) for item in _blocks(table.find("shapes") or ())]
        for row in _rows(table):
            times = _repeated(row, "number-rows-repeated")
            cells, told, tall = _row(row, at + 1)
            filled = taller.filled(at + 1, cells)
            for again in range(times if cells else 0):
                if at + again < _LAST_ROW:
                    self._grid.row(at + again + 1, filled)
            for tall_cell, count in tall:
                taller.reach(tall_cell, at + count)
            at = min(at + times, _LAST_ROW)
            beside += told
        for cell, item in beside:
            self._grid.aside("comment" if item.kind == "comment" else "paragraph", cell, item.text)
        self._grid.end()


def _row(
    row: Element, number_of_row: int
) -> tuple[list[Cell], list[tuple[str, Item]], list[tuple[Cell, int]]]:
    """Return the cells of a row that show something, and what stands beside them.

    And those that reach over several rows, with how many.
    """
    column, found, beside = 0, list[Cell](), list[tuple[str, Item]]()
    tall: list[tuple[Cell, int]] = []
    for cell in _cells(row):
        times = _repeated(cell, "number-columns-repeated")
        items = list(_blocks(each for each in cell if each.tag not in _ANCHORED))
        shown, is_text = _shown(cell, " ".join(i.text for i in items if i.kind not in ASIDE))
        last = min(column + times, _LAST_COLUMN)
        if shown and not shown.isspace():
            found += (Cell(each, shown, is_text) for each in range(column + 1, last + 1))
            if (rows := _repeated(cell, "number-rows-spanned")) > 1:
                tall.append((Cell(column + 1, shown, is_text), rows))
        name = cell_name(min(column, _LAST_COLUMN - 1) + 1, min(number_of_row, _LAST_ROW))
        told = _blocks(each for each in cell if each.tag in _ANCHORED)
        beside += ((name, item) for item in (*(i for i in items if i.kind in ASIDE), *told))
        column = last
    return found, beside, tall


def _shown(cell: Element, text: str) -> tuple[str, bool]:
    """Return what a cell shows, and whether it is a text."""
    value = cell.get("value", "")
    match cell.get("value-type", ""):
        case "float" if value:
            is_plain = not text.strip() or _PLAIN_NUMBER.fullmatch(text.strip()) is not None
            return (number(value) if is_plain else text.strip()), False
        case "date":
            return cell.get("date-value", text).replace("T", " "), False
        case "percentage" | "currency" | "time" | "boolean" | "float":
            return text or value, False
    return text, True


def _repeated(element: Element, name: str) -> int:
    return max(1, min(whole(element.get(name, ""), 1, digits=_LONGEST_COUNT), _LAST_ROW))


def _write_slide(page: Element, count: int, draft: Draft, *, is_hidden: bool) -> None:
    """Write down a slide: its title, its shapes, and its notes."""
    title, blocks = "", list[Item]()
    for shape in page:
        kind, items = shape.get("class", ""), list(_blocks([shape]))
        if shape.tag == "notes":
            notes = (each for each in shape if each.get("class", "") not in _ON_EVERY_SLIDE)
            blocks += (Item("note", item.text) for each in notes for item in _blocks([each]))
        elif kind == "title" and items and not title:
            title = " ".join(" ".join(item.text for item in items).split())
        elif kind not in _ON_EVERY_SLIDE:
            blocks += items
    section = f"{title} (hidden)".strip() if is_hidden else title
    draft.headings.leave()
    draft.stand_at(PageSpan(count, section=section or None))
    write_items(draft, [*([Item("heading", title, 1)] if title else []), *blocks], ())
