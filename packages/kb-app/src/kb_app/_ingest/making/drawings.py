"""Drawings (SVG): the texts that are in them, each with the lines of the file it stands in.

What is drawn as a path is no text here. A drawing may be compressed. Entities are refused: no
drawing needs them, and a few lines of them can stand for gigabytes.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass, field
from xml.parsers import expat

__all__ = ["NoDrawingError", "is_drawing", "texts_of"]

_GZIP = b"\x1f\x8b"
_MOST_BYTES = 50_000_000
_TEXTS = frozenset({"title", "desc", "text"})
_HIDDEN = frozenset({"defs", "script", "style", "metadata"})
_BEGINS = re.compile(rb"(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?\s{0,200}<")


class NoDrawingError(ValueError):
    """It is no drawing, or none that is safe to read; the message says why."""


def is_drawing(data: bytes) -> bool:
    """Say whether *data* begins as XML, or is compressed: no other picture does."""
    return data.startswith(_GZIP) or _BEGINS.match(data) is not None


@dataclass(slots=True)
class _Reader:
    """Collects texts while the file is read: its first line, its last one, and what it says."""

    parser: expat.XMLParserType
    texts: list[tuple[int, int, str]] = field(default_factory=list)
    inside: int = 0
    hidden: int = 0
    first: int = 0
    parts: list[str] = field(default_factory=list)

    def begin(self, name: str, _: object) -> None:
        name = name.rpartition(":")[2]
        if name in _HIDDEN:
            self.hidden += 1
        elif name in _TEXTS:
            self.inside += 1
            if self.inside == 1:
                self.first, self.parts = self.parser.CurrentLineNumber, []
        elif self.inside and name == "tspan":
            self.parts.append(" ")

    def end(self, name: str) -> None:
        name = name.rpartition(":")[2]
        if name in _HIDDEN:
            self.hidden -= 1
        elif name in _TEXTS:
            self.inside -= 1
            text = " ".join("".join(self.parts).split())
            if not self.inside and text and not self.hidden:
                self.texts.append((self.first, self.parser.CurrentLineNumber, text))

    def say(self, text: str) -> None:
        if self.inside:
            self.parts.append(text)

    def refuse(self, *_: object) -> None:
        raise NoDrawingError("it declares entities, which no drawing needs")


def texts_of(data: bytes) -> list[tuple[int, int, str]]:
    """Return the texts, each with its first and last line; raise ``NoDrawingError``."""
    parser = expat.ParserCreate()
    reader = _Reader(parser)
    parser.StartElementHandler, parser.EndElementHandler = reader.begin, reader.end
    parser.CharacterDataHandler, parser.EntityDeclHandler = reader.say, reader.refuse
    try:
        parser.Parse(_unpacked(data), True)  # noqa: FBT003 - expat takes no names
    except (expat.ExpatError, zlib.error, LookupError, ValueError) as error:
        if isinstance(error, NoDrawingError):
            raise
        raise NoDrawingError(f"it is no SVG: {error}") from error
    return reader.texts


def _unpacked(data: bytes) -> bytes:
    if not data.startswith(_GZIP):
        return data
    inflater = zlib.decompressobj(zlib.MAX_WBITS | 16)
    unpacked = inflater.decompress(data, _MOST_BYTES)
    if inflater.unconsumed_tail:
        raise NoDrawingError(f"unpacked it has more than {_MOST_BYTES // 1_000_000} MB")
    return unpacked
