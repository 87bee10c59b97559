"""What of a mail is signed or encrypted: by S/MIME ([RFC 5652]) or by PGP ([RFC 4880]).

What is signed can be read by anybody, and is; nothing is verified. What is encrypted stays so,
and is not taken for text. Pure, and nothing is believed: a length that is not true ends what is
read there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["SEALED", "is_encrypted", "signed_content", "without_armour"]

SEALED = frozenset({"application/pkcs7-mime", "application/x-pkcs7-mime"})
"""What a part is called that S/MIME signed or encrypted as a whole."""
_SIGNED = bytes.fromhex("2a864886f70d010702")
_ENCRYPTED = (
    bytes.fromhex("2a864886f70d010703"),
    bytes.fromhex("2a864886f70d0109100117"),
)
_SEQUENCE, _OBJECT, _WITHIN = 0x30, 0x06, 0xA0
_OCTETS, _PIECES = 0x04, 0x24
_LONG, _OPEN_END = 0x80, 0x80
_DEEPEST = 16

_ARMOUR = re.compile(
    r"^-----(BEGIN|END) PGP (MESSAGE|SIGNATURE|PUBLIC KEY BLOCK)-----[ \t]*$\n?", re.MULTILINE
)
_SIGNED_TEXT = re.compile(
    r"^-----BEGIN PGP SIGNED MESSAGE-----[ \t]*\n(?:[A-Za-z]+:[^\n]*\n)*\n?", re.MULTILINE
)
_DASHED = re.compile(r"^- (?=-)", re.MULTILINE)


def without_armour(text: str) -> tuple[str, bool]:
    """Return a text without the letters that only PGP reads, and whether any were encrypted."""
    if "-----BEGIN PGP " not in text:
        return text, False
    pieces, at, is_locked = list[str](), 0, False
    begun: re.Match[str] | None = None
    for mark in _ARMOUR.finditer(text):
        if mark[1] == "BEGIN":
            begun = mark
        elif begun is not None and begun[2] == mark[2]:
            is_locked = is_locked or mark[2] == "MESSAGE"
            pieces.append(text[at : begun.start()])
            at, begun = mark.end(), None
    text, count = _SIGNED_TEXT.subn("", "".join([*pieces, text[at:]]))
    return (_DASHED.sub("", text) if count else text), is_locked


def is_encrypted(data: bytes) -> bool:
    """Say whether what S/MIME made is encrypted."""
    kind, _ = _opened(data)
    return kind in _ENCRYPTED


def signed_content(data: bytes) -> bytes | None:
    """Return what S/MIME signed, which is a mail without its head; ``None`` where it is not so."""
    kind, inside = _opened(data)
    if kind != _SIGNED or inside is None:
        return None
    for signed in _in(data, inside, _SEQUENCE):
        for content in _in(data, signed, _SEQUENCE):
            for holder in _in(data, content, _WITHIN):
                return b"".join(_octets(data, holder))
    return None


class _Value(NamedTuple):
    """A value: its kind, where what is in it begins and ends, and where what follows does."""

    tag: int
    start: int
    end: int
    after: int


def _opened(data: bytes) -> tuple[bytes, _Value | None]:
    """Return what the whole is, and where it is."""
    whole = next(_values(data, 0, len(data)), None)
    if whole is None or whole.tag != _SEQUENCE:
        return b"", None
    inside = list(_values(data, whole.start, whole.end))[:2]
    if [each.tag for each in inside] != [_OBJECT, _WITHIN]:
        return b"", None
    kind, content = inside
    return data[kind.start : kind.end], content


def _in(data: bytes, value: _Value, tag: int) -> Iterator[_Value]:
    return (each for each in _values(data, value.start, value.end) if each.tag == tag)


def _octets(data: bytes, holder: _Value, depth: int = 0) -> Iterator[bytes]:
    for each in _values(data, holder.start, holder.end):
        if each.tag == _OCTETS:
            yield data[each.start : each.end]
        elif each.tag == _PIECES and depth < _DEEPEST:
            yield from _octets(data, each, depth + 1)


def _values(data: bytes, at: int, end: int, depth: int = 0) -> Iterator[_Value]:
    """Yield the values that stand one after the other, as far as they are whole."""
    while at + 2 <= end and (data[at] or data[at + 1]):
        tag, length = data[at], data[at + 1]
        start = at + 2
        if length == _OPEN_END:
            if depth >= _DEEPEST:
                return
            inner = [each.after for each in _values(data, start, end, depth + 1)]
            stop = inner[-1] if inner else start
            value = _Value(tag, start, stop, min(stop + 2, end))
        else:
            if length > _LONG:
                width = length - _LONG
                length = int.from_bytes(data[start : start + width], "big")
                start += width
            value = _Value(tag, start, min(start + length, end), min(start + length, end))
        yield value
        at = value.after
