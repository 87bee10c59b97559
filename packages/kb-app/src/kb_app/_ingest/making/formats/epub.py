"""Electronic books: EPUB, in the order in which it is read, and FictionBook.

A book is one document. Its chapters follow the spine, each under its headings; where a chapter
opens without one, it gets the title that the table of contents gives it. The contents
themselves are left out. A book is cited by lines of that text, since a file of it is an archive.

Whatever the bytes are, a document comes of it or one reason why not. A chapter that is missing
or damaged costs that chapter, and a warning says so.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import unquote

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.making.blocks import Draft
from kb_app._ingest.making.containers import Package, Refused
from kb_app._ingest.making.fictionbook import (
    is_fictionbook,
    packed_book,
    read_fictionbook,
)
from kb_app._ingest.making.markup import Element, Markup, read_markup, visible
from kb_app._ingest.making.markup_text import Shown, show, text_of_html
from kb_app._ingest.making.metadata import Hints, parse_date, text_metadata
from kb_app._ingest.making.versions import BOOK as _PARSER
from kb_core.documents import Metadata, ParsedDocument, SourceFile
from kb_core.ingest import SkipReason
from kb_core.ports import Content
from kb_core.text import nfc

__all__ = ["BookParser"]

_OTHER = "no EPUB or FictionBook; of other kinds of books, save one as such"
_CONTAINER, _LOCKS = "META-INF/container.xml", "META-INF/encryption.xml"
_OF_FONTS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
"""Ways to lock that are for fonts alone."""
_CHAPTERS = frozenset({"application/xhtml+xml", "text/html", "application/x-dtbook+xml"})
_OTHER_LISTS = frozenset({"landmarks", "page-list", "loi", "lot"})
_KEPT = {"creator": "author", "publisher": "publisher", "identifier": "identifier",
         "description": "description"}  # fmt: skip
_MOST_CHAPTERS, _LOOKED_AT, _VALUE_MAX, _DEEPEST = 10_000, 20_000, 1_000, 6
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?![A-Za-z])")


class BookParser:
    """``Parser`` of books."""

    version = _PARSER

    def __call__(self, content: Content, file: SourceFile, /) -> ParsedDocument:
        try:
            return _read(content.data, file)
        except Refused as refused:
            told = (refused.reason, refused.detail)
        return ParsedDocument(text="", media=file.media, refused=told, parser_version=_PARSER)


@dataclass(slots=True)
class _Book:
    """A book as its package document says it is."""

    package: Package
    folder: str
    items: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """What is in it, by id."""
    spine: list[str] = field(default_factory=list)
    contents: str = ""
    """The id of a table of contents of the older kind."""
    said: dict[str, list[str]] = field(default_factory=dict)

    def path(self, item: Mapping[str, str]) -> str:
        return _joined(self.folder, item.get("href", ""))


def _read(data: bytes, file: SourceFile) -> ParsedDocument:
    if is_fictionbook(data):
        return _read_fiction(data, file)
    if not data.startswith(b"PK"):
        raise Refused(SkipReason.UNSUPPORTED, _OTHER)
    package = Package(data, file.limits)
    if _CONTAINER not in package and (packed := packed_book(package)) is not None:
        return _read_fiction(packed, file)
    book = _opened(package)
    titles = _titles(book)
    draft, warnings = Draft(), list[str]()
    for path in dict.fromkeys(_chapters(book)):  # a small file may name one ten thousand times
        try:
            _add(draft, _shown(package.read(path)), titles.get(path))
        except Refused as refused:
            if not refused.is_partial:
                raise
            warnings.append(f"a chapter is not read: {refused.detail}")
    if not draft.text:
        raise Refused(SkipReason.UNREADABLE, next(iter(warnings), "there is no chapter in it"))
    return ParsedDocument(
        text=draft.text,
        media=file.media,
        metadata=_metadata(book, draft, file),
        blocks=tuple(draft.blocks),
        warnings=tuple(warnings),
        parser_version=_PARSER,
    )


def _read_fiction(data: bytes, file: SourceFile) -> ParsedDocument:
    """Return the document of a FictionBook."""
    draft = Draft()
    told = read_fictionbook(data, file.limits, draft)
    hints = Hints(
        path=file.path,
        heading=told.title or draft.opening,
        tags=tuple(told.tags),
        body=draft.text[:_LOOKED_AT],
    )
    code = _LANGUAGE.match(told.language)
    metadata, _ = text_metadata({"lang": code[0]} if code else {}, hints)
    kept = {name: nfc(value)[:_VALUE_MAX] for name, value in told.kept.items()}
    return ParsedDocument(
        text=draft.text,
        media=file.media,
        metadata=replace(
            metadata,
            created=parse_date(told.date) or metadata.created,
            user={**metadata.user, **kept},
        ),
        blocks=tuple(draft.blocks),
        parser_version=_PARSER,
    )


def _opened(package: Package) -> _Book:
    """Return the book in *package*; what is locked is refused before anything is read of it."""
    if _LOCKS in package and _is_locked(read_markup(_text(package.read(_LOCKS)))):
        raise Refused(SkipReason.ENCRYPTED, "it is locked by its seller (DRM)")
    container = read_markup(_text(package.read(_CONTAINER)))
    roots = [_given(each, "full-path") for each in _called(container, "rootfile")]
    path = next(filter(None, roots), "")
    page = read_markup(_text(package.read(unquote(path))))
    book = _Book(package, posixpath.dirname(unquote(path)))
    for element in page.elements:
        given = element.attributes
        match _local(element):
            case "item":
                book.items.setdefault(given.get("id", ""), given)
            case "itemref" if len(book.spine) < _MOST_CHAPTERS:
                book.spine.append(given.get("idref", ""))
            case "spine":
                book.contents = given.get("toc", "")
            case name if element.tag.startswith("dc:"):
                book.said.setdefault(name, []).append(page.text_of(element)[:_VALUE_MAX])
    return book


def _is_locked(page: Markup) -> bool:
    ways = [_given(each, "algorithm") for each in _called(page, "encryptionmethod")]
    return any(way not in _OF_FONTS for way in ways)


def _chapters(book: _Book) -> Iterator[str]:
    """Yield the paths of the chapters in their order; the contents are none of them."""
    for name in book.spine:
        item = book.items.get(name)
        if item is None or "nav" in item.get("properties", "").split():
            continue
        if item.get("media-type") in _CHAPTERS:
            yield book.path(item)


def _titles(book: _Book) -> Mapping[str, tuple[int, str]]:
    """Return what the table of contents calls the files of the book, and how deep each stands."""
    navs = [each for each in book.items.values() if "nav" in each.get("properties", "").split()]
    older = book.items.get(book.contents)
    found: dict[str, tuple[int, str]] = {}
    for item in [*navs, *([older] if older else [])]:
        path = book.path(item)
        try:
            page = read_markup(_text(book.package.read(path)))
        except Refused:
            continue
        for depth, target, title in _entries(page):
            place, _, _ = target.partition("#")
            if place and title:
                found.setdefault(_joined(posixpath.dirname(path), place), (depth, title))
    return found


def _entries(page: Markup) -> Iterator[tuple[int, str, str]]:
    """Yield the entries of a table of contents: depth from 1, target and title."""
    depths: list[int] = []
    label, skipped_to = "", 0
    for element in page.elements:
        depth = depths[element.parent] if element.number else 0
        name = _local(element)
        depths.append(depth + (name in {"navpoint", "li"}))
        if name == "nav" and _given(element, "epub:type") in _OTHER_LISTS:
            skipped_to = element.last
        if element.number < skipped_to:
            continue
        if name == "navlabel":
            label = page.text_of(element)
        elif name == "content" and (target := _given(element, "src")):
            yield depth, target, label
        elif name == "a" and depth and (target := _given(element, "href")):
            yield depth, target, page.text_of(element)


def _shown(data: bytes) -> Shown:
    page = read_markup(_text(data))
    return show(page, page.elements[:1], visible(page))


def _add(draft: Draft, chapter: Shown, title: tuple[int, str] | None) -> None:
    """Add a chapter, under its title in the contents if it does not open with one."""
    text, blocks = chapter.text, chapter.blocks
    if title is not None and blocks and blocks[0].kind != "heading":
        depth, name = title
        if not text[blocks[0].start : blocks[0].end].startswith(name):
            draft.add("heading", name, min(depth, _DEEPEST))
    end = 0
    for block in blocks:
        goes_on = "\n\n" not in text[end : block.start] and end > 0
        draft.add(block.kind, text[block.start : block.end], block.level, goes_on=goes_on)
        end = block.end


def _metadata(book: _Book, draft: Draft, file: SourceFile) -> Metadata:
    said = book.said
    title = next(iter(said.get("title", ())), "") or draft.opening
    hints = Hints(path=file.path, heading=title, body=draft.text[:_LOOKED_AT])
    code = _LANGUAGE.match(next(iter(said.get("language", ())), ""))
    metadata, _ = text_metadata({"lang": code[0]} if code else {}, hints)
    user = {
        ours: nfc(_plain(", ".join(dict.fromkeys(said[name]))))
        for name, ours in _KEPT.items()
        if said.get(name)
    }
    dates = filter(None, map(parse_date, said.get("date", ())))
    created = next(dates, metadata.created)
    return replace(metadata, created=created, user={**metadata.user, **user})


def _plain(value: str) -> str:
    """Return a value that may be written with tags as what these show, on one line."""
    return " ".join((text_of_html(value) if "<" in value else value).split())


def _text(data: bytes) -> str:
    return FileContent(data).text


def _local(element: Element) -> str:
    return element.tag.rpartition(":")[2]


def _called(page: Markup, name: str) -> Sequence[Element]:
    return [each for each in page.elements if _local(each) == name]


def _given(element: Element, name: str) -> str:
    return element.attributes.get(name, "")


def _joined(folder: str, target: str) -> str:
    return posixpath.normpath(posixpath.join(folder, unquote(target))).lstrip("/")
