"""What Outlook packs into a mail as ``winmail.dat`` ([MS-OXTNEF]), as the message that it was.

Attributes follow each other, of the message first and then of each attachment; most of them are
properties as a message of Outlook has them. So such a message is made of them, and read as one.
What is damaged ends the list. Pure.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from kb_app._ingest.making.compound_writing import Tree, write_compound
from kb_app._ingest.making.outlook.properties import NAMED, PROPERTIES

__all__ = ["TNEF", "message_of_tnef"]

TNEF = b"\x78\x9f\x3e\x22"
"""How it begins."""
_ATTRIBUTE = struct.Struct("<BII")
_MESSAGE = 1
_PROPERTIES, _RECEIVERS, _OF_ATTACHMENT = 0x9003, 0x9004, 0x9005
_BEGINS, _CONTENT, _TITLE = 0x9002, 0x800F, 0x8010
_SUBJECT, _BODY, _CLASS, _CODEPAGE = 0x8004, 0x800C, 0x8008, 0x9007
_OLD = {_SUBJECT: 0x0037, _BODY: 0x1000, _CLASS: 0x001A}
"""Attributes of the message that are texts, and the properties that say the same."""
_DATA, _LONG_NAME, _SHORT_NAME, _NAME, _MESSAGE_CODEPAGE = 0x3701, 0x3707, 0x3704, 0x3001, 0x3FFD
_NARROW, _WIDE, _BINARY, _OBJECT = 0x001E, 0x001F, 0x0102, 0x000D
_STREAMS = frozenset({_NARROW, _WIDE, _BINARY, _OBJECT})
_SIZES = {0x0002: 4, 0x0003: 4, 0x0004: 4, 0x0005: 8, 0x0006: 8, 0x0007: 8, 0x000A: 4, 0x000B: 4,
          0x0014: 8, 0x0040: 8, 0x0048: 16}  # fmt: skip
_MANY, _FIRST_NAMED, _OWN_SETS = 0x1000, 0x8000, 3
_MOST = 20_000
"""So many attributes, properties or receivers are read."""


_Values = dict[tuple[int, int], bytes]
"""Properties by their numbers and types."""
_Named = dict[tuple[bytes, int], int]
"""Numbers that were given to properties with names, each of a set."""


class _Property(NamedTuple):
    kind: int
    number: int
    value: bytes
    name: tuple[bytes, int] | None
    """Of one with a name that is a number: its set, and that."""


class _EndedError(ValueError):
    """There is less than was said."""


class _Bytes:
    """Reads on from where it is."""

    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)
        self._at = 0

    def __len__(self) -> int:
        return len(self._data) - self._at

    def take(self, size: int) -> bytes:
        if size > len(self):
            raise _EndedError
        found = bytes(self._data[self._at : self._at + size])
        self._at += size
        return found

    def number(self) -> int:
        return int.from_bytes(self.take(4), "little")

    def padded(self) -> bytes:
        """Return what stands behind its size, and is filled up to four bytes."""
        found = self.take(self.number())
        self.take(min(-len(found) % 4, len(self)))
        return found


def message_of_tnef(data: bytes) -> bytes:
    """Return the message as a file of Outlook."""
    message, attached, receivers = _Values(), list[_Values](), list[Tree]()
    named = _Named()
    for level, number, value in _attributes(data):
        if level != _MESSAGE and number == _BEGINS:
            attached.append({})
        elif level == _MESSAGE:
            _take(number, value, message, receivers, named)
        elif attached:
            _attach(number, value, attached[-1], named)
    tree: dict[str, bytes | Tree] = dict(_storage(message, 32))
    for count, each in enumerate(receivers):
        tree[f"__recip_version1.0_#{count:08X}"] = each
    for count, found in enumerate(attached):
        tree[f"__attach_version1.0_#{count:08X}"] = _storage(_as_file(found), 8)
    tree[NAMED] = _names(named)
    return write_compound(tree)


def _attributes(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield level, number and value of each attribute."""
    rest = _Bytes(data[len(TNEF) + 2 :])
    for _ in range(_MOST):
        if len(rest) < _ATTRIBUTE.size:
            return
        level, number, size = _ATTRIBUTE.unpack(rest.take(_ATTRIBUTE.size))
        value = rest.take(min(size, len(rest)))
        yield level, number & 0xFFFF, value
        rest.take(min(2, len(rest)))  # its sum, which some programs get wrong


def _take(
    number: int,
    value: bytes,
    message: _Values,
    receivers: list[Tree],
    named: _Named,
) -> None:
    """Take in an attribute of the message; its properties go before what is older."""
    if number == _PROPERTIES:
        message.update(_properties(_Bytes(value), named))
    elif number == _RECEIVERS:
        rows = _Bytes(value)
        for _ in range(min(_MOST, rows.number() if len(rows) else 0)):
            if not (found := dict(_properties(rows, named))):
                return
            receivers.append(_storage(found, 8))
    elif number == _CODEPAGE:
        message.setdefault((_MESSAGE_CODEPAGE, 0x0003), value[:4].ljust(8, b"\0"))
    elif number in _OLD:
        said = value.rstrip(b"\0")
        message.setdefault((_OLD[number], _NARROW), said.removeprefix(b"IPM.Microsoft Mail."))


def _attach(
    number: int,
    value: bytes,
    found: _Values,
    named: _Named,
) -> None:
    """Take in an attribute of an attachment."""
    if number == _OF_ATTACHMENT:
        found.update(_properties(_Bytes(value), named))
    elif number == _CONTENT:
        found[_DATA, _BINARY] = value
    elif number == _TITLE:
        found.setdefault((_SHORT_NAME, _NARROW), value.rstrip(b"\0"))


def _as_file(found: _Values) -> _Values:
    """Return an attachment as a file: a message that is one is packed as this is."""
    inner = found.pop((_DATA, _OBJECT), b"")[16:]
    if inner.startswith(TNEF):
        found[_DATA, _BINARY] = inner
        names = (
            (number, kind) for number in (_LONG_NAME, _SHORT_NAME) for kind in (_NARROW, _WIDE)
        )
        for key in names:
            found.pop(key, None)
        for kind, end in ((_NARROW, b".tnef"), (_WIDE, ".tnef".encode("utf-16-le"))):
            if said := _said(kind, found.get((_NAME, kind), b"")):
                found[_LONG_NAME, kind] = said + end
    return found


def _properties(rest: _Bytes, named: _Named) -> Iterator[tuple[tuple[int, int], bytes]]:
    """Yield number, type and value of properties, as far as they are whole."""
    try:
        for _ in range(min(rest.number(), _MOST)):
            each = _property(rest)
            number = each.number
            if each.name is not None:
                number = named.setdefault(each.name, _FIRST_NAMED + len(named))
            if number < _FIRST_NAMED or each.name is not None:
                yield (number, each.kind), each.value
    except _EndedError:
        return


def _property(rest: _Bytes) -> _Property:
    kind, number = struct.unpack("<HH", rest.take(4))
    name = None
    if number >= _FIRST_NAMED:
        of, is_text = rest.take(16), rest.number()
        if is_text:
            rest.padded()
        else:
            name = (of, rest.number())
    own = kind & ~_MANY
    count = rest.number() if kind & _MANY or own in _STREAMS else 1
    values = [_value(rest, own) for _ in range(min(count, _MOST))]
    return _Property(own, number, values[0] if values else b"", name)


def _value(rest: _Bytes, kind: int) -> bytes:
    if kind in _STREAMS:
        return rest.padded()
    if kind not in _SIZES:
        raise _EndedError
    return rest.take(_SIZES[kind])


def _storage(values: _Values, head: int) -> Tree:
    """Return properties as a file of Outlook has them, with a *head* before those of one size."""
    tree: dict[str, bytes | Tree] = {}
    fixed = bytearray(head)
    for (number, kind), value in values.items():
        if kind in _STREAMS:
            tree[f"__substg1.0_{number:04X}{kind:04X}"] = _said(kind, value)
        else:
            fixed += struct.pack("<HHI", kind, number, 0) + value[:8].ljust(8, b"\0")
    tree[PROPERTIES] = bytes(fixed)
    return tree


def _said(kind: int, value: bytes) -> bytes:
    """Return a text without the zero that ends it, and anything else as it is."""
    return value.removesuffix({_NARROW: b"\0", _WIDE: b"\0\0"}.get(kind, b""))


def _names(named: _Named) -> Tree:
    """Return which numbers properties with names have: [MS-OXMSG] 2.2.3."""
    sets = list(dict.fromkeys(of for of, _ in named))
    places = {of: at for at, of in enumerate(sets)}
    entries = [
        struct.pack("<IHH", name, (places[of] + _OWN_SETS) << 1, number - _FIRST_NAMED)
        for (of, name), number in named.items()
    ]
    return {"__substg1.0_00020102": b"".join(sets), "__substg1.0_00030102": b"".join(entries)}
