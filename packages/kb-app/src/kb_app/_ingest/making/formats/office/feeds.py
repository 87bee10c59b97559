"""Feeds: RSS and Atom, as sites publish and readers save them.

An entry is a heading with its title, then when it is from, whose it is, what it is about and
where it leads, then its text without markup: the whole, where the feed has it, else the summary.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from xml.etree.ElementTree import tostring

from kb_app._ingest.making.blocks import Draft
from kb_app._ingest.making.containers import Element, Flat
from kb_app._ingest.making.formats.office.items import Item, write_items
from kb_app._ingest.making.formats.office.properties import Properties
from kb_app._ingest.making.mailboxes import moment_of
from kb_app._ingest.making.markup_text import text_of_html
from kb_app._ingest.making.metadata import parse_date
from kb_core.documents import Link, ReadingLimits

__all__ = ["read_feed"]

_PART = "the feed"
_TEXTS = ("encoded", "content", "description", "summary")
"""Where an entry has its text, the fullest first."""
_DATES = ("pubDate", "published", "date", "updated", "modified", "lastBuildDate")
_AUTHORS = ("creator", "author")
_BLANK_LINES = re.compile(r"\n\s*\n")


def read_feed(
    data: bytes, limits: ReadingLimits, draft: Draft
) -> tuple[Properties, Sequence[Link]]:
    """Write down a feed; return what it says of itself, and its links."""
    root = Flat(data, {_PART}, limits).tree(_PART)
    found = root.find("channel")
    about = root if found is None else found
    links = write_items(draft, _entries(root), ())
    values = {
        "title": _text(about, ("title",)),
        "description": _text(about, ("description", "subtitle")),
        "creator": _author(about),
        "language": _text(about, ("language",)),
        "modified": _date(about),
    }
    return Properties(values), links


def _entries(root: Element) -> Iterator[Item]:
    for entry in root.iter():
        if entry.tag not in {"item", "entry"}:
            continue
        yield Item("heading", _text(entry, ("title",)), 1)
        target = _target(entry)
        subjects = dict.fromkeys(
            _line(each.text or "") or each.get("term", "") for each in entry.iterfind("category")
        )
        facts = filter(None, (_date(entry), _author(entry), ", ".join(filter(None, subjects))))
        line = " · ".join([*facts, *([target] if target else [])])
        yield Item("paragraph", line, links=[(0, line, target)] if target else [])
        for paragraph in _BLANK_LINES.split(_told(entry)):
            yield Item("paragraph", paragraph)


def _told(entry: Element) -> str:
    """Return the text of an entry."""
    return next(filter(None, (_shown(entry.find(name)) for name in _TEXTS)), "")


def _shown(element: Element | None) -> str:
    """Return what an element says, of which the markup may be text or elements."""
    if element is None:
        return ""
    inner = "".join(tostring(each, "unicode") for each in element)
    return text_of_html(f"{element.text or ''}{inner}").strip()


def _text(element: Element, names: Sequence[str]) -> str:
    """Return the first of the children of these names that says anything, on one line."""
    return next(filter(None, (_line(_shown(element.find(name))) for name in names)), "")


def _author(element: Element) -> str:
    """Return whose an element is: a text of RSS, a person with a name in Atom."""
    said = (element.findtext(f"{each}{name}") for each in _AUTHORS for name in ("", "/name"))
    return next(filter(None, (_line(each or "") for each in said)), "")


def _date(element: Element) -> str:
    """Return the day that an element is of, as ISO 8601 has it."""
    for name in _DATES:
        written = (element.findtext(name) or "").strip()
        if moment := parse_date(written) or moment_of(written):
            return f"{moment:%Y-%m-%d}"
    return ""


def _target(entry: Element) -> str:
    """Return where an entry leads: a text of RSS, an attribute of Atom."""
    for link in entry.iterfind("link"):
        target = (link.text or "").strip() or link.get("href", "")
        if target and link.get("rel", "alternate") == "alternate":
            return target
    return ""


def _line(text: str) -> str:
    return " ".join(text.split())
