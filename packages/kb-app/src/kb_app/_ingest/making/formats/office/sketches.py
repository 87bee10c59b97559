"""Sketches: what is written in drawings of Excalidraw (JSON) and of draw.io (XML, pages packed).

Pages and frames are headings, texts are paragraphs. What stands at an arrow is said as what it
leads from and to. Nothing is read of shapes, colours and embedded pictures.
"""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import unquote_to_bytes

from kb_app._ingest.making.blocks import Draft
from kb_app._ingest.making.containers import Element, Flat, Refused
from kb_app._ingest.making.counting import objects_in, text_of
from kb_app._ingest.making.formats.office.items import Item, write_items
from kb_app._ingest.making.markup_text import text_of_html
from kb_core.documents import Link, ReadingLimits
from kb_core.ingest import SkipReason

__all__ = ["is_diagram", "is_sketch", "read_diagram", "read_sketch"]

_BEGINS = re.compile(
    rb"(?:\xef\xbb\xbf)?\s{0,200}(?:<[?!][^>]{0,400}>\s{0,200}){0,8}<(?:mxfile|mxGraphModel)\b"
)
_PART = "the diagram"
_MARKED_UP = re.compile(r"<\w[^<>]*>|&#?\w+;")
_LABEL = 80


def is_sketch(path: str) -> bool:
    """Say whether a file of this name is one of Excalidraw."""
    return path.lower().endswith(".excalidraw")


def is_diagram(data: bytes) -> bool:
    """Say whether a file is one of draw.io, by how it begins."""
    return _BEGINS.match(data) is not None


def read_sketch(data: bytes, draft: Draft) -> Sequence[Link]:
    """Write down a drawing of Excalidraw; return its links."""
    try:
        sketch = json.loads(data.decode("utf-8-sig", "replace"))
    except ValueError as error:
        raise Refused(SkipReason.UNREADABLE, f"it is no drawing: {error}") from error
    told = objects_in(sketch.get("elements") if isinstance(sketch, dict) else None)
    drawn = [each for each in told if each.get("isDeleted") is not True]
    framed: dict[str, list[Mapping[str, object]]] = {"": []}
    names = {"": ""}
    for each in drawn:
        if each.get("type") in {"frame", "magicframe"} and (own := text_of(each.get("id"))):
            framed[own], names[own] = [], _line(text_of(each.get("name")))
    arrows = {text_of(each.get("id")): each for each in drawn if each.get("type") == "arrow"}
    for each in drawn:
        if each.get("type") == "text" and text_of(each.get("containerId")) not in arrows:
            framed.get(text_of(each.get("frameId")), framed[""]).append(each)
    items = []
    for frame, texts in framed.items():
        items += [Item("heading", names[frame], 1)] if names[frame] else []
        items += map(_written, texts)
    return write_items(draft, [*items, *_arrows(drawn, arrows)], ())


def _written(element: Mapping[str, object]) -> Item:
    text, target = _words(element), text_of(element.get("link"))
    return Item("paragraph", text, links=[(0, text, target)] if "://" in target else [])


def _words(element: Mapping[str, object]) -> str:
    """Return a text without the breaks that its width gave it."""
    return text_of(element.get("originalText")) or text_of(element.get("text"))


def _arrows(
    drawn: Sequence[Mapping[str, object]], arrows: Mapping[str, Mapping[str, object]]
) -> Iterator[Item]:
    """Yield what stands at arrows."""
    texts = [each for each in drawn if each.get("type") == "text"]
    called = {text_of(each.get(of)): _words(each) for of in ("id", "containerId") for each in texts}
    called.pop("", None)
    for each in texts:
        if (arrow := arrows.get(text_of(each.get("containerId")))) is not None:
            ends = (arrow.get("startBinding"), arrow.get("endBinding"))
            ids = [text_of(end.get("elementId")) if isinstance(end, dict) else "" for end in ends]
            yield _leading(_words(each), *(called.get(end, "") for end in ids))


def _leading(label: str, start: str, end: str) -> Item:
    """Return what stands at an arrow, with what it leads from and to, where both say something."""
    if not (start and end):
        return Item("paragraph", label)
    first, last = (_line(text)[:_LABEL] for text in (start, end))
    return Item("list_item", f"{first} – {_line(label)} → {last}", 1)


def read_diagram(
    data: bytes, limits: ReadingLimits, draft: Draft
) -> tuple[Sequence[Link], Sequence[str]]:
    """Write down a file of draw.io; return its links, and what of it cannot be read."""
    root = Flat(data, {_PART}, limits).tree(_PART)
    items: list[Item] = []
    warnings: list[str] = []
    left = limits.unpacked_mb * 1_000_000
    for number, page in enumerate(root.iter("diagram"), 1):
        name = _line(page.get("name", ""))
        items += [Item("heading", name, 1)] if name else []
        try:
            packed = page.text or ""
            if page.find("mxGraphModel") is None and packed.strip():
                model = _unpacked(packed, left)
                left -= len(model)
                items += _cells(Flat(model, {_PART}, limits).tree(_PART))
            else:
                items += _cells(page)
        except Refused as error:
            warnings.append(f"page {number} is not read: {error.detail}")
    items += _cells(root) if root.tag == "mxGraphModel" else []
    return write_items(draft, items, ()), warnings


def _unpacked(text: str, most: int) -> bytes:
    """Return the XML of a page that is deflated."""
    try:
        inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        model = inflater.decompress(b64decode(text), max(1, most))
    except (zlib.error, ValueError) as error:
        raise Refused(SkipReason.UNREADABLE, f"it is damaged: {error}") from error
    if inflater.unconsumed_tail:
        raise Refused(SkipReason.TOO_LARGE, "it unpacks to more than [limits] unpacked_mb")
    return unquote_to_bytes(model)


def _cells(page: Element) -> Iterator[Item]:
    """Yield what the cells of a page say, then what stands at arrows."""
    said: dict[str, tuple[str, str]] = {}
    arrows: list[tuple[str, Element]] = []
    for outer in page.iter():
        cell = outer.find("mxCell") if outer.tag in {"UserObject", "object"} else outer
        is_own = outer.tag == "mxCell" and "value" not in outer.attrib
        if cell is None or cell.tag != "mxCell" or is_own:
            continue
        label = _shown(outer.get("value", "") or outer.get("label", ""))
        own = outer.get("id", "") or cell.get("id", "")
        if label and cell.get("edge") == "1":
            arrows.append((label, cell))
        elif label or outer.get("tooltip"):
            said[own] = label, _shown(outer.get("tooltip", ""))
            yield Item("paragraph", "\n".join(filter(None, said[own])))
    for label, cell in arrows:
        ends = (said.get(cell.get(end, ""), ("",))[0] for end in ("source", "target"))
        yield _leading(label, *ends)


def _shown(text: str) -> str:
    """Return a label without the markup that it may have."""
    plain = text_of_html(text) if _MARKED_UP.search(text) else text
    return "\n".join(filter(None, map(_line, plain.split("\n"))))


def _line(text: str) -> str:
    return " ".join(text.split())
