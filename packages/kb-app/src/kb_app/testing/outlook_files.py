"""Messages of Outlook for tests, made of their properties."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TypeAlias
from uuid import UUID

from kb_app.testing.compound_files import Tree, compound

__all__ = ["Values", "message_tree", "msg", "packed_rtf", "tnef"]

Values: TypeAlias = "Mapping[int, str | bytes | datetime | int | Tree]"
"""Properties by their numbers: texts, bytes, moments, numbers, and messages that are attached."""


def msg(
    values: Values,
    *,
    receivers: Sequence[Values] = (),
    attached: Sequence[Values] = (),
    named: Mapping[tuple[UUID, int], int] | None = None,
    charset: str | None = None,
) -> bytes:
    """Return a message; *named* gives the numbers that properties with names have in it."""
    return compound(
        message_tree(
            values, receivers=receivers, attached=attached, named=named, charset=charset, head=32
        )
    )


def message_tree(
    values: Values,
    *,
    receivers: Sequence[Values] = (),
    attached: Sequence[Values] = (),
    named: Mapping[tuple[UUID, int], int] | None = None,
    charset: str | None = None,
    head: int = 24,
) -> Tree:
    """Return what is in a message; one that is attached to another has a *head* of 24 bytes."""
    tree: dict[str, bytes | Tree] = dict(_properties(values, head, charset))
    tree["__nameid_version1.0"] = _names(named or {})
    for number, each in enumerate(receivers):
        tree[f"__recip_version1.0_#{number:08X}"] = _properties(each, 8, charset)
    for number, each in enumerate(attached):
        tree[f"__attach_version1.0_#{number:08X}"] = _properties(each, 8, charset)
    return tree


def _properties(values: Values, head: int, charset: str | None) -> Tree:
    tree: dict[str, bytes | Tree] = {}
    fixed = bytes(head)
    for number, value in values.items():
        match value:
            case str():
                kind = "001E" if charset else "001F"
                tree[f"__substg1.0_{number:04X}{kind}"] = value.encode(charset or "utf-16-le")
            case bytes():
                tree[f"__substg1.0_{number:04X}0102"] = value
            case datetime():
                since = value - datetime(1601, 1, 1, tzinfo=UTC)
                ticks = int(since.total_seconds()) * 10_000_000
                fixed += struct.pack("<HHIQ", 0x40, number, 6, ticks)
            case int():
                fixed += struct.pack("<HHIII", 3, number, 6, value, 0)
            case _:
                tree[f"__substg1.0_{number:04X}000D"] = value
    return {"__properties_version1.0": fixed, **tree}


def _names(named: Mapping[tuple[UUID, int], int]) -> Tree:
    sets = list(dict.fromkeys(of for of, _ in named))
    entries = [
        struct.pack("<IHH", name, (sets.index(of) + 3) << 1, number - 0x8000)
        for (of, name), number in named.items()
    ]
    return {
        "__substg1.0_00020102": b"".join(each.bytes_le for each in sets),
        "__substg1.0_00030102": b"".join(entries),
        "__substg1.0_00040102": b"",
    }


def packed_rtf(text: bytes) -> bytes:
    """Return RTF as Outlook packs it, without making it shorter."""
    made = bytearray()
    for at in range(0, len(text), 8):
        made += b"\0" + text[at : at + 8]
    return struct.pack("<II4sI", len(made) + 12, len(text), b"LZFu", 0) + bytes(made)


def tnef(
    values: Mapping[int, str | bytes | int],
    *,
    attached: Sequence[tuple[str, bytes]] = (),
    inner: Sequence[tuple[str, bytes]] = (),
    named: Mapping[tuple[UUID, int], str] | None = None,
) -> bytes:
    """Return a message as it is packed into a mail; *inner* are messages that are packed, too."""
    said = [_packed(number, value) for number, value in values.items()]
    for (of, own), text in (named or {}).items():
        content = f"{text}\0".encode("utf-16-le")
        head = struct.pack("<HH", 0x001F, 0x8000) + of.bytes_le + struct.pack("<II", 0, own)
        said.append(head + struct.pack("<I", 1) + _filled(content))
    parts = [_attribute(1, 0x9003, struct.pack("<I", len(said)) + b"".join(said))]
    for name, data in attached:
        parts += [_attribute(2, 0x9002, bytes(14)), _attribute(2, 0x8010, f"{name}\0".encode())]
        parts.append(_attribute(2, 0x800F, data))
    for name, data in inner:
        held = struct.pack("<HHI", 0x000D, 0x3701, 1) + _filled(bytes(16) + data)
        told = struct.pack("<I", 2) + held + _packed(0x3001, name)
        parts += [_attribute(2, 0x9002, bytes(14)), _attribute(2, 0x9005, told)]
    return b"\x78\x9f\x3e\x22\x01\x00" + b"".join(parts)


def _attribute(level: int, number: int, data: bytes) -> bytes:
    total = struct.pack("<H", sum(data) & 0xFFFF)
    return struct.pack("<BII", level, 0x60000 | number, len(data)) + data + total


def _packed(number: int, value: str | bytes | int) -> bytes:
    match value:
        case int():
            return struct.pack("<HHI", 0x0003, number, value)
        case bytes():
            return struct.pack("<HHI", 0x0102, number, 1) + _filled(value)
    return struct.pack("<HHI", 0x001F, number, 1) + _filled(f"{value}\0".encode("utf-16-le"))


def _filled(data: bytes) -> bytes:
    return struct.pack("<I", len(data)) + data + bytes(-len(data) % 4)
