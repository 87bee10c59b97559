"""Files that somebody put into a text, a slide or a sheet: each becomes a document, too.

Office files are kept as they are, or in a compound file of their own (OLE), where a file of any
kind is packed with its name ([MS-OLEDS] 2.3.6, ``Ole10Native``). What only draws a chart or a
formula is no such file. Pure.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator

from kb_app._ingest.judging.kinds import detect
from kb_app._ingest.making.compound import COMPOUND, NoCompoundError, Storage, read_compound
from kb_app._ingest.making.compound_writing import tree_of, write_compound
from kb_app._ingest.making.containers import Package, Refused
from kb_core.documents import Enclosure

__all__ = ["embedded_files", "file_within", "pooled_files"]

_EMBEDDED = re.compile(r"(?:^|/)embeddings/[^/]+$", re.IGNORECASE)
_CHARTS = re.compile(r"/charts/_rels/[^/]+\.rels$", re.IGNORECASE)
_NATIVE, _PACKED, _CONTENTS = "\x01Ole10Native", "Package", "CONTENTS"
_KINDS = (("WordDocument", "doc"), ("Workbook", "xls"), ("Book", "xls"),
          ("PowerPoint Document", "ppt"))  # fmt: skip
_INSIDE = (("word", b"word/"), ("ppt", b"ppt/"), ("xl", b"xl/"))
_EXTENSIONS = {"word": "docx", "ppt": "pptx", "xl": "xlsx"}
_POOL = "ObjectPool"
_MOST = 1_000
_FORMULA = "Equation Native"


def embedded_files(
    package: Package, chunks: Collection[str], warnings: list[str]
) -> Iterator[Enclosure]:
    """Yield the files in a docx, pptx or xlsx, by their names in there.

    *chunks* are those that a text has for parts of itself, such as web pages that a program
    made a docx of.
    """
    named = sorted(name for name in package.names if _EMBEDDED.search(name))
    named = [*chunks, *named]
    of_charts = _of_charts(package) if named else frozenset()
    for name in named[:_MOST]:
        base = posixpath.basename(name)
        if base.lower() in of_charts:
            continue
        try:
            found = file_within(package.read(name), base)
        except Refused as refused:
            if not refused.is_partial:
                raise
            warnings.append(refused.detail)
            continue
        if found is not None:
            yield found


def _of_charts(package: Package) -> Collection[str]:
    """Return the names of the books that only hold what charts show."""
    found: set[str] = set()
    for name in package.names:
        if _CHARTS.search(name):
            try:
                root = package.tree(name)
            except Refused:
                continue
            found |= {posixpath.basename(each.get("Target", "")).lower() for each in root}
    return found


def file_within(data: bytes, name: str) -> Enclosure | None:
    """Return the file that is kept in *data*; ``None`` where it is none that could be read."""
    if data.startswith(COMPOUND):
        try:
            root = read_compound(data)
        except NoCompoundError:
            return None
        return _in_storage(root, name, data)
    return Enclosure(name=_named(name, data), data=data) if data else None


def pooled_files(root: Storage) -> Iterator[Enclosure]:
    """Yield the files in a text of Word 97 to 2003."""
    pool = root.storage(_POOL)
    for number, each in enumerate(pool.storages()[:_MOST] if pool else (), 1):
        if (found := _in_storage(each, f"object {number}")) is not None:
            yield found


def _in_storage(storage: Storage, name: str, whole: bytes = b"") -> Enclosure | None:
    """Return the file that a storage keeps; *whole* is that storage as a file of its own."""
    if _FORMULA in storage:
        return None
    if _NATIVE in storage:
        return _native(storage.stream(_NATIVE), name)
    for stream in (_PACKED, _CONTENTS):
        if stream in storage and (data := storage.stream(stream)):
            return Enclosure(name=_named(name, data), data=data)
    for stream, extension in _KINDS:
        if stream in storage:
            data = whole or write_compound(tree_of(storage))
            return Enclosure(name=f"{posixpath.splitext(name)[0]}.{extension}", data=data)
    return None


def _native(data: bytes, name: str) -> Enclosure | None:
    """Return a file that is packed with its name, behind what it is called and where it was."""
    label, _, rest = data[6:].partition(b"\0")
    _path, _, rest = rest.partition(b"\0")
    at = 8 + int.from_bytes(rest[4:8], "little")
    size = int.from_bytes(rest[at : at + 4], "little")
    content = rest[at + 4 : at + 4 + size]
    called = label.decode("utf-8" if _is_utf8(label) else "cp1252", "replace")
    called = re.split(r"[/\\]", called)[-1].strip() or name
    return Enclosure(name=called, data=content) if content else None


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _named(name: str, data: bytes) -> str:
    """Return the name of a file, with an extension that says what it is, where it has none."""
    kind = detect(name)
    if kind is not None:
        return name
    stem = posixpath.splitext(name)[0]
    if data.startswith(b"PK"):
        family = next((family for family, mark in _INSIDE if mark in data), "")
        return f"{stem}.{_EXTENSIONS[family]}" if family else name
    return f"{stem}.pdf" if data.startswith(b"%PDF-") else stem
