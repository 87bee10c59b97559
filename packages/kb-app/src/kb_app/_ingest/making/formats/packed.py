"""Files that gzip, bzip2 or xz packed: one file, which is within them; and archives.

Their document says nothing itself. What is in one is called as it is without the last part of
its name: ``mail.mbox.gz`` holds ``mail.mbox``. It is unpacked block by block, and counted.
An archive comes here where archives are opened (``judging.archives``).
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Sequence

from kb_app._ingest.judging.archives import is_archive
from kb_app._ingest.judging.kinds import HEAD_BYTES, detect, detect_from_bytes, is_message, not_text
from kb_app._ingest.making.archives import unpack
from kb_app._ingest.making.containers import Refused, check_unpacked
from kb_app._ingest.making.metadata import Hints, text_metadata
from kb_app._ingest.making.versions import PACKED as _PARSER
from kb_core.documents import Enclosure, ParsedDocument, ReadingLimits, SourceFile
from kb_core.ingest import SkipReason
from kb_core.ports import Content

__all__ = ["PackedParser"]

_BLOCK = 1 << 18
_BROKEN = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError)


class PackedParser:
    """``Parser`` of single files that are compressed."""

    version = _PARSER

    def __call__(self, content: Content, file: SourceFile, /) -> ParsedDocument:
        if is_archive(file.path, content.data):
            return _opened_archive(content.data, file)
        name = file.path.rpartition("/")[2].rpartition(".")[0]
        try:
            data, damage = _unpacked(content.data, file.limits)
        except Refused as refused:
            return _refused(file, refused.reason, refused.detail)
        if damage and not data:
            return _refused(file, SkipReason.UNREADABLE, f"it cannot be unpacked: {damage}")
        if not _is_known(name, data):
            skip = not_text(data)
            return _refused(file, skip.reason, skip.detail)
        warnings = [f"it is damaged, and read as far as it is whole: {damage}"] * bool(damage)
        return _holding(file, [Enclosure(name=name, data=data)], warnings)


def _opened_archive(data: bytes, file: SourceFile) -> ParsedDocument:
    try:
        return _holding(file, *unpack(data, file.limits))
    except Refused as refused:
        return _refused(file, refused.reason, refused.detail)


def _holding(
    file: SourceFile, files: Sequence[Enclosure], warnings: Sequence[str]
) -> ParsedDocument:
    """Return a document that says nothing itself and holds *files*."""
    metadata, _ = text_metadata({}, Hints(path=file.path))
    return ParsedDocument(
        text="",
        media=file.media,
        metadata=metadata,
        enclosures=files,
        warnings=tuple(warnings),
        parser_version=_PARSER,
    )


def _refused(file: SourceFile, reason: str, detail: str) -> ParsedDocument:
    return ParsedDocument(text="", media=file.media, refused=(reason, detail))


def _is_known(name: str, data: bytes) -> bool:
    kind = detect(name) or detect_from_bytes(data[:HEAD_BYTES], name)
    return kind is not None or is_message(data)


def _unpacked(packed: bytes, limits: ReadingLimits) -> tuple[bytes, str]:
    """Return what is in a file, and what is wrong with the rest of it, if anything."""
    blocks: list[bytes] = []
    size, damage = 0, ""
    try:
        with _opened(packed) as file:
            while block := file.read(_BLOCK):
                size += len(block)
                check_unpacked("it", size, len(packed), limits)
                blocks.append(block)
    except _BROKEN as error:
        damage = " ".join(str(error).split())
    return b"".join(blocks), damage


def _opened(packed: bytes) -> io.BufferedIOBase:
    """Open a file by how it begins, whatever it is called."""
    if packed.startswith(b"BZh"):
        return bz2.BZ2File(io.BytesIO(packed))
    if packed.startswith(b"\xfd7zXZ"):
        return lzma.LZMAFile(io.BytesIO(packed))
    return gzip.GzipFile(fileobj=io.BytesIO(packed))
