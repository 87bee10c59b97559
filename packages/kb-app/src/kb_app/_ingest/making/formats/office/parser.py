"""Files of office programs: which reader a file gets, told by what is in it, not by its name.

Whatever the bytes are, a document comes of it or one reason why not: locked, too large when
unpacked, of an old format, damaged. What is damaged in part is read without that part, with a
warning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kb_app._ingest.making.blocks import Draft
from kb_app._ingest.making.containers import Package, Refused
from kb_app._ingest.making.formats.office.opc import Parts
from kb_app._ingest.making.formats.office.properties import Properties
from kb_app._ingest.making.formats.office.words import read_words
from kb_core.documents import Link, ParsedDocument, SourceFile
from kb_core.ingest import SkipReason
from kb_core.ports import Content

__all__ = ["OfficeParser"]

_PARSER = "office-1"
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_STREAMS = {
    "EncryptedPackage": (SkipReason.ENCRYPTED, "it is locked with a password"),
    "WordDocument": (SkipReason.UNSUPPORTED, "a text of Word before 2007; save it as .docx"),
    "PowerPoint Document": (SkipReason.UNSUPPORTED, "slides of before 2007; save them as .pptx"),
}
"""Names of streams that tell what an old file, or a locked one, is."""
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
    if data.startswith(_OLE):
        raise _old(data)
    parts = Parts(Package(data, file.limits))
    reader = _READERS.get(parts.family)
    if reader is None:
        raise Refused(SkipReason.UNSUPPORTED, "no file of an office program that is read here")
    draft = Draft()
    links = reader(parts, draft)
    return _document(file, draft, parts.properties(), parts.warnings, links)


_READERS: Mapping[str, Callable[[Parts, Draft], Sequence[Link]]] = {
    "word": read_words,
}
"""By the family of the main part."""


def _old(data: bytes) -> Refused:
    """Say what a file is that is of the kind that came before, or that is locked."""
    for name, (reason, detail) in _STREAMS.items():
        if name.encode("utf-16-le") in data:
            return Refused(reason, detail)
    return Refused(SkipReason.UNSUPPORTED, "no file of an office program that is read here")


def _document(
    file: SourceFile,
    draft: Draft,
    properties: Properties,
    warnings: Sequence[str],
    links: Sequence[Link] = (),
) -> ParsedDocument:
    text = draft.text
    if not text and warnings:
        raise Refused(SkipReason.UNREADABLE, warnings[0])
    return ParsedDocument(
        text=text,
        media=file.media,
        metadata=properties.metadata(file.path, draft.opening, text[:_LOOKED_AT]),
        blocks=tuple(draft.blocks),
        places=tuple(draft.places),
        links=tuple(links),
        has_lines=not draft.places,
        warnings=tuple(dict.fromkeys(warnings)),
        parser_version=_PARSER,
    )
