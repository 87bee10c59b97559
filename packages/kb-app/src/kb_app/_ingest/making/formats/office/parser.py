"""Files of office programs: which reader a file gets, told by what is in it, not by its name.

Whatever the bytes are, a document comes of it or one reason why not: locked, too large when
unpacked, of an old format, damaged. What is damaged in part is read without that part, with a
warning.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

from kb_app._ingest.judging.decode import looks_binary
from kb_app._ingest.judging.feeds import is_feed
from kb_app._ingest.judging.kinds import HEAD_BYTES, begins_like
from kb_app._ingest.making.blocks import Draft
from kb_app._ingest.making.compound import COMPOUND, NoCompoundError, Storage, read_compound
from kb_app._ingest.making.containers import LOCKED, Package, Refused
from kb_app._ingest.making.formats.office.embedded import embedded_files, pooled_files
from kb_app._ingest.making.formats.office.feeds import read_feed
from kb_app._ingest.making.formats.office.grid import Book
from kb_app._ingest.making.formats.office.locked import passwords_for, unlocked
from kb_app._ingest.making.formats.office.old import read_old_sheets
from kb_app._ingest.making.formats.office.old_slides import SLIDES, read_old_slides
from kb_app._ingest.making.formats.office.old_words import read_old_words
from kb_app._ingest.making.formats.office.opc import Parts
from kb_app._ingest.making.formats.office.opendocument import FLAT, OpenDocument, flat
from kb_app._ingest.making.formats.office.outlines import (
    is_board,
    is_outline,
    read_board,
    read_outline,
)
from kb_app._ingest.making.formats.office.properties import Properties
from kb_app._ingest.making.formats.office.routes import is_route, read_route
from kb_app._ingest.making.formats.office.rtf import BEGINS, Rtf
from kb_app._ingest.making.formats.office.sheets import read_sheets
from kb_app._ingest.making.formats.office.sidecars import is_sidecar, read_sidecar
from kb_app._ingest.making.formats.office.sketches import (
    is_diagram,
    is_sketch,
    read_diagram,
    read_sketch,
)
from kb_app._ingest.making.formats.office.slides import read_slides
from kb_app._ingest.making.formats.office.statements import is_statement, read_statement
from kb_app._ingest.making.formats.office.summary import summary_of
from kb_app._ingest.making.formats.office.words import read_words
from kb_app._ingest.making.versions import OFFICE as _PARSER
from kb_core.documents import Enclosure, Link, ParsedDocument, ReadingLimits, SourceFile
from kb_core.ingest import SkipReason
from kb_core.ports import Content
from kb_core.values import replace

__all__ = ["OfficeParser"]

_UNKNOWN = "no file of an office program that is read here"
_ZIP = b"PK"
_PROGRAMS = {"d": "Word", "p": "PowerPoint", "x": "Excel", "o": "OpenDocument"}
_PROGRAMS |= {"drawio": "draw.io", "dio": "draw.io", "ofx": "OFX"}
"""By the extension, or its first letter."""
_LOCK = "EncryptedPackage"
_TEXT = "WordDocument"
_BOOKS = ("Workbook", "Book")
_LOOKED_AT = 20_000
"""So many characters tell the language of a text."""


class OfficeParser:
    """``Parser`` of office files."""

    version = _PARSER

    def __call__(self, content: Content, file: SourceFile, /) -> ParsedDocument:
        try:
            return _read(content.data, file)
        except Refused as refused:
            reason, detail = refused.reason, refused.detail
        except RecursionError:
            reason, detail = SkipReason.UNREADABLE, "what is in it is nested too deeply"
        return ParsedDocument(
            text="", media=file.media, refused=(reason, detail), parser_version=_PARSER
        )


def _read(data: bytes, file: SourceFile) -> ParsedDocument:
    """Return the document, or raise ``Refused``."""
    if data.startswith(COMPOUND):
        return _read_old(data, file)
    if data.startswith(BEGINS):
        return _read_rtf(Rtf(data), file)
    if FLAT.match(data[:HEAD_BYTES]):
        return _read_opened(flat(data, file.limits), file)
    if (outlined := _read_outlined(data, file)) is not None:
        return outlined
    if not data.startswith(_ZIP):
        raise _misnamed(data, file.path.rpartition(".")[2].lower())
    package, draft = Package(data, file.limits), Draft()
    if "content.xml" in package:
        return _read_opened(OpenDocument(package, file.limits), file)
    parts = Parts(package)
    beside = _read_parts(parts, draft, data, file.limits)
    warnings = list(beside.warnings)
    files = list(embedded_files(package, parts.targets("aFChunk"), warnings))
    return _document(file, draft, beside._replace(files=files, warnings=warnings))


def _read_outlined(data: bytes, file: SourceFile) -> ParsedDocument | None:
    """Return the document of what is read into headings, items and rows; ``None`` of others."""
    draft = Draft()
    beside = _read_as_begun(data, file.limits, draft) or _read_as_named(data, file, draft)
    draft.opening = ""  # a part of it is no title of the whole
    return beside and _document(file, draft, beside)


def _read_as_begun(data: bytes, limits: ReadingLimits, draft: Draft) -> _Beside | None:
    """Write down what is told by how it begins."""
    properties = Properties({})
    links: Sequence[Link] = ()
    warnings: Sequence[str] = ()
    if is_outline(data):
        properties, links = read_outline(data, limits, draft)
    elif is_route(data):
        properties, links = read_route(data, limits, draft)
    elif is_feed(data):
        properties, links = read_feed(data, limits, draft)
    elif is_statement(data):
        read_statement(data, draft)
    elif is_diagram(data):
        links, warnings = read_diagram(data, limits, draft)
    else:
        return None
    return _Beside(properties, {}, links, warnings)


def _read_as_named(data: bytes, file: SourceFile, draft: Draft) -> _Beside | None:
    """Write down what is told by its name."""
    path = file.path
    if is_board(path):
        return _Beside(Properties({}), {}, read_board(data, draft), ())
    if is_sketch(path):
        return _Beside(Properties({}), {}, read_sketch(data, draft), ())
    if is_sidecar(path):
        return _Beside(read_sidecar(data, path, file.limits, draft), {}, (), ())
    return None


def _read_opened(opened: OpenDocument, file: SourceFile) -> ParsedDocument:
    """Return the document of a file of OpenDocument."""
    draft = Draft()
    links = opened.read(draft)
    beside = _Beside(opened.properties(), opened.known, links, opened.warnings, opened.files)
    return _document(file, draft, beside)


def _misnamed(data: bytes, extension: str) -> Refused:
    """Return what a file is that is no archive, as files of office programs are."""
    is_text = not looks_binary(data[:HEAD_BYTES])
    is_sheet = extension.startswith("xl")
    if like := begins_like(data) or ("text" if is_text and is_sheet else ""):
        return Refused(SkipReason.UNSUPPORTED, f"it is {like}, called .{extension}; rename it")
    detail = f"it is no {_PROGRAMS.get(extension, _PROGRAMS.get(extension[:1], 'office'))} file"
    return Refused(SkipReason.UNREADABLE, f"{detail}, but text" if is_text else detail)


class _Beside(NamedTuple):
    """What is known of a file beside its text."""

    properties: Properties
    known: Mapping[str, object]
    links: Sequence[Link]
    warnings: Sequence[str]
    files: Sequence[Enclosure] = ()
    """Those that somebody put into it."""


def _read_parts(parts: Parts, draft: Draft, data: bytes, limits: ReadingLimits) -> _Beside:
    """Write down what a docx, pptx or xlsx says, or an xlsb, which is *data*."""
    links: Sequence[Link] = ()
    known: Mapping[str, object] = {}
    match parts.family:
        case "word":
            links = read_words(parts, draft)
        case "ppt":
            known = read_slides(parts, draft, limits.pages)
        case "xl":
            book = Book(draft, limits.cells)
            if parts.main.endswith(".bin"):
                read_old_sheets(data, book)
            else:
                read_sheets(parts, book)
            draft.opening, known = "", book.known()  # the name of a sheet is no title
        case _:
            raise Refused(SkipReason.UNSUPPORTED, _UNKNOWN)
    return _Beside(parts.properties(), known, links, parts.warnings)


def _read_rtf(rtf: Rtf, file: SourceFile) -> ParsedDocument:
    """Return the document of a file that is no archive, but text with marks."""
    draft = Draft()
    links = rtf.read(draft)
    return _document(file, draft, _Beside(rtf.properties(), {}, links, rtf.warnings))


def _read_old(data: bytes, file: SourceFile) -> ParsedDocument:
    """Return the document of a file of the kind that came before, or of a locked one."""
    try:
        root: Container[str] = read_compound(data)
    except NoCompoundError as error:
        if not any(map(_Bytes(data).__contains__, (_LOCK, *_BOOKS))):
            raise Refused(SkipReason.UNREADABLE, str(error)) from None
        root = _Bytes(data)  # others may read it
    if _LOCK in root:
        plain = unlocked(data, passwords_for(file))
        if plain.startswith(COMPOUND):
            raise Refused(SkipReason.ENCRYPTED, LOCKED)
        return _read(plain, file)
    if isinstance(root, Storage) and _TEXT in root:
        draft = Draft()
        words = read_old_words(data, root, draft, passwords_for(file))
        files = list(pooled_files(root))
        beside = _Beside(words.properties, {}, words.links, words.warnings, files)
        return _document(file, draft, beside)
    if isinstance(root, Storage) and SLIDES in root:
        draft = Draft()
        known, warnings = read_old_slides(root, draft, file.limits.pages)
        return _document(file, draft, _Beside(summary_of(root), known, (), warnings))
    if not any(name in root for name in _BOOKS):
        raise Refused(SkipReason.UNSUPPORTED, _UNKNOWN)
    book = Book(Draft(), file.limits.cells)
    read_old_sheets(data, book, passwords_for(file))
    book.draft.opening = ""
    properties = summary_of(root) if isinstance(root, Storage) else Properties({})
    return _document(file, book.draft, _Beside(properties, book.known(), (), ()))


class _Bytes:
    """Names that may be those of streams of a file whose directory cannot be read."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __contains__(self, name: object) -> bool:
        return str(name).encode("utf-16-le") in self._data


def _document(file: SourceFile, draft: Draft, beside: _Beside) -> ParsedDocument:
    text = draft.text
    if not text and beside.warnings and not beside.files:
        raise Refused(SkipReason.UNREADABLE, beside.warnings[0])
    metadata = beside.properties.metadata(file.path, draft.opening, text[:_LOOKED_AT])
    return ParsedDocument(
        text=text,
        media=file.media,
        metadata=replace(metadata, user={**metadata.user, **beside.known}),
        blocks=tuple(draft.blocks),
        places=tuple(draft.places),
        links=tuple(beside.links),
        has_lines=not draft.places,
        enclosures=tuple(beside.files),
        warnings=tuple(dict.fromkeys(beside.warnings)),
        parser_version=_PARSER,
    )
