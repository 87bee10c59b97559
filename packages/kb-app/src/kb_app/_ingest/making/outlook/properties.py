"""Properties of a message of Outlook, of who gets it, and of what is attached ([MS-OXMSG] 2).

A property has a number and a type. What has one size stands in a stream of all of them; what
has not is a stream of its own, called by both. Properties with names, as those of appointments
are, have other numbers in every file, which one storage tells. Pure.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cached_property
from uuid import UUID

from kb_app._ingest.making.compound import Storage
from kb_app._ingest.making.mail_texts import decoded_text

__all__ = ["NAMED", "PROPERTIES", "Names", "Values", "charset_of", "decoded", "moment_of"]

PROPERTIES = "__properties_version1.0"
NAMED = "__nameid_version1.0"
_OF_ONE_SIZE = struct.Struct("<HHI8s")
_HEAD_BYTES = {"message": 32, "part": 8}
"""What the stream of properties begins with: that of a message, of a receiver, an attachment."""
_WIDE, _NARROW, _BINARY, _MOMENT = "001F", "001E", "0102", 0x0040
_FLAG, _SHORT = 0x000B, 0x0002
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)
_TICKS_IN_MICROSECOND = 10
_UNKNOWN_MOMENT = 0x0CB34557A3DD4000
"""1 January 4501, which stands for none."""
_MESSAGE_CODEPAGE, _INTERNET_CODEPAGE = 0x3FFD, 0x3FDE
_CODEPAGES = {
    1200: "utf-16-le", 1201: "utf-16-be", 65000: "utf-7", 65001: "utf-8", 20127: "utf-8",
    936: "gb18030", 52936: "hz", 54936: "gb18030", 20936: "gb18030", 874: "cp874",
    50220: "iso2022_jp", 50221: "iso2022_jp", 50222: "iso2022_jp", 50225: "iso2022_kr",
    51932: "euc_jp", 51949: "cp949", 20866: "koi8-r", 21866: "koi8-u", 10000: "mac-roman",
    28591: "cp1252", 28599: "cp1254", 28605: "iso8859-15",
}  # fmt: skip
_ISO = range(28592, 28604)
_FIRST_NAMED, _OWN_SETS = 0x8000, 3


def charset_of(codepage: int | None) -> str | None:
    """Return what Python calls a code page of Windows; ``None`` for one that nobody named."""
    if not codepage:
        return None
    if codepage in _ISO:
        return f"iso8859-{codepage - 28590}"
    return _CODEPAGES.get(codepage, f"cp{codepage}")


def decoded(data: bytes, charset: str | None) -> str:
    """Return a text in *charset*, or in what its bytes tell, with line ends of one kind."""
    text = decoded_text(data, charset)
    return text.encode("utf-8", "replace").decode()  # half a surrogate pair cannot be stored


def moment_of(ticks: int) -> datetime | None:
    """Return a moment that is counted as Windows does it; ``None`` for none."""
    if not 0 < ticks < _UNKNOWN_MOMENT:
        return None
    return _EPOCH + timedelta(microseconds=ticks // _TICKS_IN_MICROSECOND)


class Values:
    """The properties in one storage; what is missing or damaged is nothing."""

    def __init__(self, storage: Storage, kind: str, charset: str | None = None) -> None:
        self._storage = storage
        self._head = _HEAD_BYTES[kind]
        self._charset = charset

    @cached_property
    def charset(self) -> str | None:
        """What texts of eight bits are in."""
        if self._charset is not None:
            return self._charset
        codepage = self.number(_MESSAGE_CODEPAGE) or self.number(_INTERNET_CODEPAGE)
        return charset_of(codepage)

    @property
    def internet_charset(self) -> str | None:
        """What the HTML is in."""
        return charset_of(self.number(_INTERNET_CODEPAGE))

    @cached_property
    def _fixed(self) -> Mapping[int, tuple[int, bytes]]:
        stream = self._storage.stream(PROPERTIES)[self._head :]
        whole = stream[: len(stream) // _OF_ONE_SIZE.size * _OF_ONE_SIZE.size]
        entries = _OF_ONE_SIZE.iter_unpack(whole)
        return {number: (kind, value) for kind, number, _, value in entries}

    def text(self, *numbers: int) -> str:
        """Return the first of these texts that says anything."""
        found = (self._text(number) for number in numbers)
        return next((text for text in found if text.strip()), "")

    def _text(self, number: int) -> str:
        if wide := self._stream(number, _WIDE):
            return decoded(wide.decode("utf-16-le", "replace").encode("utf-8", "replace"), "utf-8")
        return decoded(self._stream(number, _NARROW), self.charset)

    def binary(self, number: int) -> bytes:
        return self._stream(number, _BINARY)

    def _stream(self, number: int, kind: str) -> bytes:
        return self._storage.stream(f"__substg1.0_{number:04X}{kind}")

    def number(self, number: int) -> int | None:
        kind, value = self._fixed.get(number, (0, b""))
        if not value or kind == _MOMENT:
            return None
        size = 2 if kind in {_FLAG, _SHORT} else 4
        return int.from_bytes(value[:size], "little")

    def moment(self, *numbers: int) -> datetime | None:
        """Return the first of these moments that is one."""
        for number in numbers:
            kind, value = self._fixed.get(number, (0, b""))
            moment = moment_of(int.from_bytes(value, "little")) if kind == _MOMENT else None
            if moment is not None:
                return moment
        return None


class Names:
    """Which numbers properties with names have in one file: [MS-OXMSG] 2.2.3."""

    def __init__(self, storage: Storage | None) -> None:
        self._numbers: dict[tuple[UUID, int], int] = {}
        if storage is None:
            return
        sets, entries = (storage.stream(f"__substg1.0_{which}0102") for which in ("0002", "0003"))
        for name, about, place in struct.iter_unpack("<IHH", entries[: len(entries) // 8 * 8]):
            at = ((about >> 1) - _OWN_SETS) * 16
            is_number = not about & 1
            if is_number and 0 <= at <= len(sets) - 16:
                of = UUID(bytes_le=sets[at : at + 16])
                self._numbers.setdefault((of, name), _FIRST_NAMED + place)

    def number(self, of: UUID, name: int) -> int:
        """Return the number of a property of a set; one that no property has, if there is none."""
        return self._numbers.get((of, name), 0)
