"""Text messages, as telephones keep them in XML: the files of SMS Backup & Restore.

A message has the number of who it is from or to, and the name where that was known. Of one with
pictures, what is written is read. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import NamedTuple
from xml.parsers import expat

from kb_app._ingest.making.counting import whole
from kb_app._ingest.making.noted import NoExportError, moment_of_json
from kb_core.values import lazy_pattern

__all__ = ["TextMessage", "is_texts", "texts_of"]

_BEGINS = lazy_pattern(rb"(?:\xef\xbb\xbf)?\s{0,99}(?:<[?!][^<>]{0,999}>\s{0,99}){0,9}<smses\b")
_HALVES = lazy_pattern(rb"&#(5[56]\d{3});&#(5[67]\d{3});")
"""Signs beyond 65,535 as the program writes them, which XML does not allow."""
_SENT = "2"
_ME = "Me"
_NOBODY = ("", "null", "(Unknown)")
_PIECE_BYTES = 1 << 16


class TextMessage(NamedTuple):
    """A message: with whom, who wrote it, what, and when."""

    number: str
    name: str
    who: str
    text: str
    when: datetime | None


def is_texts(data: bytes) -> bool:
    """Say whether a file holds text messages, by how it begins."""
    return _BEGINS.match(data) is not None


def texts_of(data: bytes) -> Iterator[TextMessage]:
    """Yield each message that says something, in the order of the file.

    Raise ``NoExportError`` where the file is damaged from there on.
    """
    parser, reader = expat.ParserCreate(), _Reader()
    parser.StartElementHandler, parser.EndElementHandler = reader.begin, reader.end
    parser.EntityDeclHandler = reader.refuse
    text = _HALVES.sub(_sign, data)
    try:
        for at in range(0, len(text) + 1, _PIECE_BYTES):
            parser.Parse(text[at : at + _PIECE_BYTES], at + _PIECE_BYTES > len(text))
            yield from reader.ready
            reader.ready.clear()
    except (expat.ExpatError, LookupError) as error:
        yield from reader.ready
        raise NoExportError(str(error)) from error


def _sign(match: re.Match[bytes]) -> bytes:
    units = chr(int(match[1])) + chr(int(match[2]))
    sign = units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return "".join(f"&#{ord(each)};" for each in sign).encode()


class _Reader:
    """What is being read: messages are handed on when whole."""

    def __init__(self) -> None:
        self.ready: list[TextMessage] = []
        self._parts: list[str] = []
        self._given: Mapping[str, str] = {}

    def begin(self, name: str, given: Mapping[str, str]) -> None:
        if name == "sms":
            self._take(given, given.get("body", ""), given.get("type", ""))
        elif name == "mms":
            self._parts, self._given = [], given
        elif name == "part" and given.get("ct") == "text/plain":
            self._parts.append(given.get("text", ""))

    def end(self, name: str) -> None:
        if name == "mms":
            self._take(self._given, "\n".join(self._parts), self._given.get("msg_box", ""))

    def refuse(self, *_: object) -> None:
        raise NoExportError("it declares entities, which no such file needs")

    def _take(self, given: Mapping[str, str], text: str, box: str) -> None:
        number = given.get("address", "")
        name = given.get("contact_name", "")
        name = number if name in _NOBODY else name
        millis = whole(given.get("date", ""), 0, digits=15)
        if text.strip() not in _NOBODY:
            who = _ME if box == _SENT else name
            self.ready.append(
                TextMessage(number, name, who, text.strip(), moment_of_json(millis / 1000))
            )
