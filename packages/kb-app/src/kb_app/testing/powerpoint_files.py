"""Slides of PowerPoint 97 to 2003 for tests, made of their records."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from kb_app.testing.compound_files import Tree, compound

__all__ = ["S", "ppt", "ppt_tree", "record", "shape", "table", "text"]


@dataclass
class S:
    """A slide: its shapes, what the outline has of it, notes, a comment."""

    shapes: Sequence[bytes] = ()
    outline: Sequence[bytes] = ()
    notes: str = ""
    comment: tuple[str, str] | None = None
    is_hidden: bool = False


def record(kind: int, *inside: bytes, instance: int = 0) -> bytes:
    """Return a record; one with further records in it, where *kind* is such a one."""
    holds = kind in {0x03E8, 0x03EE, 0x03F0, 0x040C, 0x0FF0, 0x1388, 0x138A, 0x2EE0, 0xF002,
                     0xF003, 0xF004, 0xF00D, 0xF011}  # fmt: skip
    data = b"".join(inside)
    return struct.pack("<HHI", instance << 4 | (0xF if holds else 0), kind, len(data)) + data


def text(kind: int, said: str, *, narrow: bool = False) -> bytes:
    """Return a text: 0 is a title, 1 a body, 2 notes, 4 another one."""
    told = record(0x0FA8, said.encode("latin-1")) if narrow else None
    return record(0x0F9F, struct.pack("<I", kind)) + (
        told or record(0x0FA0, said.encode("utf-16-le"))
    )


def shape(
    said: bytes | int, *, placeholder: int | None = None, corner: tuple[int, int] | None = None
) -> bytes:
    """Return a shape with a text, or with that of the outline that has a number."""
    inside = record(0x0F9E, struct.pack("<I", said)) if isinstance(said, int) else said
    parts = [record(0xF00A, bytes(8))]
    if corner is not None:
        parts.append(record(0xF00F, struct.pack("<4i", *corner, 0, 0)))
    if placeholder is not None:
        parts.append(record(0xF011, record(0x0BC3, struct.pack("<iBBH", 0, placeholder, 0, 0))))
    return record(0xF004, *parts, record(0xF00D, inside))


def table(*rows: Sequence[str | None]) -> bytes:
    """Return a table, its cells in an order that is none; there is none where another lies."""
    mark = record(0xF122, struct.pack("<HI", 0x039F, 1), instance=1)
    cells = [
        shape(text(4, cell), corner=(1000 * left, 300 * top))
        for top, row in enumerate(rows)
        for left, cell in enumerate(row)
        if cell is not None
    ]
    return record(0xF003, record(0xF004, mark), *reversed(cells))


def ppt(slides: Sequence[S], *, locked: bool = False) -> bytes:
    """Return a file of slides."""
    return compound(ppt_tree(slides, locked=locked))


def ppt_tree(
    slides: Sequence[S], *, locked: bool = False, earlier: Sequence[Sequence[S]] = ()
) -> dict[str, bytes | Tree]:
    """Return the streams of a file that was saved before with *earlier* slides."""
    stream, edit = b"", 0
    for each in (*earlier, slides):
        stream, edit = _saved(stream, edit, each)
    token = 0xF3D1C4DF if locked else 0xE391C05F
    user = record(0x0FF6, struct.pack("<III", 20, token, edit))
    return {"PowerPoint Document": stream.ljust(4096, b"\0"), "Current User": user}


def _saved(stream: bytes, before: int, slides: Sequence[S]) -> tuple[bytes, int]:
    places: list[int] = []
    listed, noted = b"", b""
    for number, each in enumerate(slides):
        listed += record(0x03F3, struct.pack("<IIIII", 2 + number, 0, 0, 256 + number, 0))
        listed += b"".join(each.outline)
        places.append(len(stream))
        stream += _slide(each)
    for number, each in enumerate(slides):
        if each.notes:
            noted += record(0x03F3, struct.pack("<5I", 2 + len(places), 0, 0, 900 + number, 0))
            places.append(len(stream))
            body = shape(text(2, each.notes)) + shape(text(4, "7"), placeholder=8)
            about = record(0x03F1, struct.pack("<II", 256 + number, 0))
            stream += record(0x03F0, about, _drawing(body))
    lists = [record(0x0FF0, listed), record(0x0FF0, noted, instance=2)]
    places.insert(0, len(stream))
    stream += record(0x03E8, *lists)
    directory = len(stream)
    told = struct.pack("<I", len(places) << 20 | 1) + struct.pack(f"<{len(places)}I", *places)
    stream += record(0x1772, told)
    edit = len(stream)
    return stream + record(0x0FF5, struct.pack("<7I", 0, 0, before, directory, 1, 0, 0)), edit


def _drawing(shapes: bytes) -> bytes:
    return record(0x040C, record(0xF002, record(0xF003, shapes)))


def _slide(slide: S) -> bytes:
    parts = [record(0x03EF, bytes(24)), _drawing(b"".join(slide.shapes))]
    if slide.is_hidden:
        parts.append(record(0x03F9, struct.pack("<IIBBHI", 0, 0, 0, 0, 4, 0)))
    if slide.comment:
        strings = [
            record(0x0FBA, said.encode("utf-16-le"), instance=number)
            for number, said in enumerate(slide.comment)
        ]
        parts.append(record(0x1388, record(0x138A, record(0x138B, record(0x2EE0, *strings)))))
    return record(0x03EE, *parts)
