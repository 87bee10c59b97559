"""What an office file of before 2007 says of itself: sets of properties ([MS-OLEPS]). Pure."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from kb_app._ingest.making.compound import Storage
from kb_app._ingest.making.formats.office.properties import Properties
from kb_app._ingest.making.outlook.properties import charset_of, decoded, moment_of

__all__ = ["summary_of"]

_STREAM = "\x05SummaryInformation"
_NAMES = {2: "title", 3: "subject", 4: "creator", 5: "keywords", 6: "description",
          8: "lastModifiedBy", 12: "created", 13: "modified"}  # fmt: skip
_CODEPAGE = 1
_SET_AT, _MOST = 44, 200


def summary_of(root: Storage) -> Properties:
    """Return the properties of a file; none, where it has none that can be read."""
    data = root.stream(_STREAM)
    told = dict(_told(data))
    codepage = _value(data, told.get(_CODEPAGE, 0), None)
    charset = charset_of(int(codepage)) if codepage.isdecimal() else None
    values = {name: _value(data, told.get(number, 0), charset) for number, name in _NAMES.items()}
    return Properties({name: value for name, value in values.items() if value})


def _told(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the numbers of properties, and where they stand."""
    first = int.from_bytes(data[_SET_AT : _SET_AT + 4], "little")
    count = int.from_bytes(data[first + 4 : first + 8], "little")
    told = data[first + 8 : first + 8 + 8 * min(count, _MOST)]
    for number, at in struct.iter_unpack("<II", told[: len(told) // 8 * 8]):
        yield number, first + at


def _value(data: bytes, at: int, charset: str | None) -> str:
    if not at or at + 8 > len(data):
        return ""
    kind, size = struct.unpack_from("<II", data, at)
    said = data[at + 8 : at + 8 + size]
    match kind & 0xFFFF:
        case 0x02:
            return str(size & 0xFFFF)
        case 0x1E:
            is_wide = charset == "utf-16-le"
            return decoded(said if is_wide else said.partition(b"\0")[0], charset)
        case 0x1F:
            return decoded(data[at + 8 : at + 8 + 2 * size], "utf-16-le")
        case 0x40:
            moment = moment_of(int.from_bytes(data[at + 4 : at + 12], "little"))
            return f"{moment:%Y-%m-%dT%H:%M:%SZ}" if moment else ""
    return ""
