"""Tracks and places: GPX, as devices and programs for walks save them, and KML of maps.

What has a name or says something is read, and when a track was walked; its points are figures
that nobody looks for. Folders of a map and tracks are headings, places are items.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kb_app._ingest.making.blocks import Draft
from kb_app._ingest.making.containers import Element, Flat
from kb_app._ingest.making.formats.office.items import Item, write_items
from kb_app._ingest.making.formats.office.properties import Properties
from kb_app._ingest.making.markup_text import text_of_html
from kb_core.documents import Link, ReadingLimits

__all__ = ["is_route", "read_route"]

_BEGINS = re.compile(
    rb"(?:\xef\xbb\xbf)?\s{0,200}(?:<[?!][^>]{0,400}>\s{0,200}){0,8}<(?:gpx|kml)\b"
)
_PART = "the track"
_SAID = ("type", "sym", "address", "phoneNumber", "cmt", "desc", "description")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)")
_MARKED_UP = re.compile(r"<\w[^<>]*>|&\w+;")
_FOLDERS = ("kml", "Document", "Folder")


def is_route(data: bytes) -> bool:
    """Say whether a file is a track or a map, by how it begins."""
    return _BEGINS.match(data) is not None


def read_route(
    data: bytes, limits: ReadingLimits, draft: Draft
) -> tuple[Properties, Sequence[Link]]:
    """Write down a track or a map; return what it says of itself, and its links."""
    root = Flat(data, {_PART}, limits).tree(_PART)
    inner = root.find("metadata" if root.tag == "gpx" else "Document")
    about = root if inner is None else inner
    found = _of_map(root, 0) if root.tag == "kml" else _of_track(root)
    links = write_items(draft, found, ())
    times = sorted(each.text or "" for each in root.iter("time"))
    author = about.find("author")
    values = {
        "title": _text(about, "name")
        or next((_text(each, "name") for each in root.iter("trk")), ""),
        "description": _text(about, "desc") or _text(about, "description"),
        "creator": _text(author, "name") if author is not None else "",
        "keywords": _text(about, "keywords"),
        "created": times[0] if times else "",
    }
    return Properties(values), links


def _text(element: Element, name: str) -> str:
    """Return what a child says, on one line, without the markup that maps have in it."""
    text = (element.findtext(name) or "").strip()
    return " ".join((text_of_html(text) if _MARKED_UP.search(text) else text).split())


def _of_track(root: Element) -> Iterator[Item]:
    for element in root:
        if element.tag == "wpt":
            yield _place(element)
        elif element.tag in {"trk", "rte"}:
            yield Item("heading", _text(element, "name"), 1)
            facts = [*filter(None, (_text(element, name) for name in _SAID)), *_walked(element)]
            yield Item("paragraph", " · ".join(facts))
            yield from map(_place, element.iter("rtept"))


def _walked(element: Element) -> Iterator[str]:
    """Yield from when to when a track was walked."""
    times = sorted(filter(None, (_TIME.match(each.text or "") for each in element.iter("time"))),
                   key=lambda match: match.groups())  # fmt: skip
    if times:
        (day, begins), (last, ends) = times[0].groups(), times[-1].groups()
        yield f"{day} {begins} – {ends if day == last else f'{last} {ends}'} (UTC)"


def _place(element: Element) -> Item:
    """Return a place as an item of a list."""
    link = element.find("link")
    address = link.get("href", "") if link is not None else ""
    told = [_text(element, name) for name in ("name", *_SAID)]
    extended = element.find("ExtendedData")
    for each in extended.iter("Data") if extended is not None else ():
        told += [f"{each.get('name', '')}: {value}"] if (value := _text(each, "value")) else []
    return Item("list_item", " · ".join(dict.fromkeys(filter(None, (*told, address)))))


def _of_map(element: Element, depth: int) -> Iterator[Item]:
    for each in element:
        if each.tag in _FOLDERS:
            yield Item("heading", _text(each, "name"), depth + 1)
            yield Item("paragraph", _text(each, "description"))
            yield from _of_map(each, depth + 1)
        elif each.tag == "Placemark":
            yield _place(each)
