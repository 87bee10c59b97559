"""FictionBook: an electronic book that is one XML, by itself or alone in an archive.

Its parts are sections within each other, each under its title, poems and quotations in between;
notes have a body of their own at the end, and pictures are base64, which is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from kb_app._ingest.judging.kinds import NO_TEXT
from kb_app._ingest.making.blocks import Draft
from kb_app._ingest.making.containers import Element, Flat, Package, Refused
from kb_app._ingest.making.formulas import raised
from kb_core.documents import ReadingLimits
from kb_core.ingest import SkipReason

__all__ = ["Told", "is_fictionbook", "packed_book", "read_fictionbook"]

_BEGINS = re.compile(rb"(?:\xef\xbb\xbf)?\s{0,200}<.{0,4000}?<?\bFictionBook\b", re.DOTALL)
_SUFFIX = ".fb2"
_PART = "the book"
_DEEPEST = 6
_KINDS = {"cite": "quote", "epigraph": "quote"}
_NAMES = ("first-name", "middle-name", "last-name")

_Block: TypeAlias = tuple[str, str, int]
"""Its kind, its text, and the level of a heading."""


class Told(NamedTuple):
    """What a book says of itself; empty where it says nothing."""

    title: str
    language: str
    date: str
    tags: Sequence[str]
    kept: Mapping[str, str]
    """Author, publisher and the like, by what they are called here."""


def is_fictionbook(data: bytes) -> bool:
    """Say whether a file is such a book, by how it begins."""
    return _BEGINS.match(data) is not None


def packed_book(package: Package) -> bytes | None:
    """Return the book that an archive holds, where it is of this kind."""
    name = next((name for name in package.names if name.lower().endswith(_SUFFIX)), None)
    return None if name is None else package.read(name)


def read_fictionbook(data: bytes, limits: ReadingLimits, draft: Draft) -> Told:
    """Write down what a book says, and return what it says of itself."""
    root = Flat(data, {_PART}, limits).tree(_PART)
    for body in root.findall("body"):
        is_notes = body.get("name", "") in {"notes", "comments"}
        for kind, text, level in _notes(body) if is_notes else _blocks(body, 1):
            draft.add(kind, text, level)
    if not draft.text:
        raise Refused(SkipReason.EMPTY, NO_TEXT)
    return _told(root)


def _blocks(element: Iterable[Element], depth: int, kind: str = "paragraph") -> Iterator[_Block]:
    """Yield what is in *element*, in order; *depth* is the level of its title."""
    for child in element:
        match child.tag:
            case "section":
                yield from _blocks(child, depth + 1, kind)
            case "title" | "subtitle" | "p" | "v" | "text-author" | "date" | "stanza" | "table":
                if (found := _block(child, depth, kind))[1]:
                    yield found
            case tag:
                yield from _blocks(child, depth, _KINDS.get(tag, kind))


def _block(element: Element, depth: int, kind: str) -> _Block:
    """Return a title, a paragraph, or lines that belong together."""
    match element.tag:
        case "title":
            return "heading", " ".join(filter(None, map(_text, element))), min(depth, _DEEPEST)
        case "subtitle":
            return "heading", _text(element), min(depth + 1, _DEEPEST)
        case "stanza":
            return kind, "\n".join(filter(None, map(_text, element))), 0
        case "table":
            rows = ("\t".join(map(_text, row)).rstrip() for row in element.iter("tr"))
            return "table", "\n".join(filter(None, rows)), 0
    return kind, _text(element), 0


def _notes(body: Element) -> Iterator[_Block]:
    """Yield the notes of a book, each with its mark before it."""
    for section in body.iter("section"):
        if section.find("section") is not None:
            continue
        said = list(_blocks(section, 1))
        mark = next((text for kind, text, _ in said if kind == "heading"), "")
        text = "\n".join(text for kind, text, _ in said if kind != "heading")
        if text:
            yield "note", f"[{mark.strip('[]')}] {text}" if mark else text, 0


def _text(element: Element) -> str:
    """Return what a paragraph says, on one line."""
    pieces = list[str]()
    _walk(element, pieces)
    return " ".join("".join(pieces).replace("\xad", "").split())


def _walk(element: Element, pieces: list[str]) -> None:
    pieces.append(element.text or "")
    for child in element:
        inner = list[str]()
        _walk(child, inner)
        said = "".join(inner)
        if child.tag == "a" and child.get("type") == "note" and said.strip():
            said = f"[{said.strip().strip('[]')}]"
        elif child.tag == "sup":
            said = raised("".join(pieces[-1:]), said)
        pieces += [said, child.tail or ""]


def _told(root: Element) -> Told:
    info = root.find("description/title-info")
    published = root.find("description/publish-info")
    kept = {
        "author": ", ".join(filter(None, map(_name, _all(info, "author")))),
        "translator": ", ".join(filter(None, map(_name, _all(info, "translator")))),
        "description": " ".join(filter(None, map(_text, _all(info, "annotation/p")))),
        "series": ", ".join(filter(None, (e.get("name", "") for e in _all(info, "sequence")))),
        "publisher": _first(published, "publisher"),
        "identifier": _first(published, "isbn"),
    }
    day = next(iter(_all(info, "date")), None)
    return Told(
        title=_first(info, "book-title"),
        language=_first(info, "lang"),
        date="" if day is None else day.get("value", "") or _text(day),
        tags=[word for each in _first(info, "keywords").split(",") if (word := each.strip())],
        kept={name: value for name, value in kept.items() if value},
    )


def _all(element: Element | None, path: str) -> Sequence[Element]:
    return [] if element is None else element.findall(path)


def _first(element: Element | None, path: str) -> str:
    return next((_text(each) for each in _all(element, path)), "")


def _name(person: Element) -> str:
    parts = (_first(person, name) for name in _NAMES)
    return " ".join(filter(None, parts)) or _first(person, "nickname")
