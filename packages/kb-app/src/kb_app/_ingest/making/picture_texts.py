"""What people wrote into a picture: its title, what it shows, keywords, and who is in it.

Programs keep it as XMP, as IPTC, as EXIF or in chunks of PNG, mostly as several of these, and
each cuts or spells it in its way: of a kind of text, the first of them in this order that has
any counts; keywords and persons are those of all. Left out is what nobody wrote: what cameras
and programs put there, and the file's own name. Pure, on any bytes whatever.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple
from xml.parsers import expat

from kb_app._ingest.judging.decode import FileContent
from kb_core.text import nfc
from kb_core.values import dataclass, lazy_pattern

__all__ = ["EXIF_TAGS", "Sources", "Wording", "exif_bytes", "wording_of"]

_MOST_TEXT, _MOST_NAMES = 20_000, 500
_DC = "http://purl.org/dc/elements/1.1/"
_PHOTOSHOP = "http://ns.adobe.com/photoshop/1.0/"
_XMP = {
    f"{_DC} title": "title",
    f"{_PHOTOSHOP} Headline": "headline",
    f"{_DC} description": "description",
    "http://ns.adobe.com/tiff/1.0/ ImageDescription": "description",
    "http://ns.adobe.com/exif/1.0/ UserComment": "comment",
    f"{_DC} subject": "keywords",
    "http://iptc.org/std/Iptc4xmpExt/2008-02-29/ PersonInImage": "persons",
    "http://www.metadataworkinggroup.com/schemas/regions/ Name": "persons",
    "http://ns.microsoft.com/photo/1.2/t/Region# PersonDisplayName": "persons",
    "http://iptc.org/std/Iptc4xmpCore/1.0/xmlns/ Location": "place",
    f"{_PHOTOSHOP} City": "place",
    f"{_PHOTOSHOP} State": "place",
    f"{_PHOTOSHOP} Country": "place",
}
_IPTC = {
    5: "title",
    25: "keywords",
    90: "place",
    92: "place",
    95: "place",
    101: "place",
    105: "headline",
    120: "description",
}
"""Data sets of its second record."""
EXIF_TAGS = {0x9C9B: "title", 0x9C9F: "headline", 0x010E: "description", 0x9286: "comment"}
EXIF_TAGS |= {0x9C9C: "comment", 0x9C9E: "keywords"}
"""Tags of EXIF that have texts."""
_OF_WINDOWS = range(0x9C9B, 0x9CA0)
"""Tags in UTF-16."""
_USER_COMMENT = 0x9286
_PNG = {"Title": "title", "Description": "description"}
_TEXTS = ("title", "headline", "description", "comment")
_LISTS = ("keywords", "persons", "place")

_UNPRINTABLE = lazy_pattern(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff\ud800-\udfff]+")
_OF_NOBODY = lazy_pattern(
    r"(?-i:(?:[A-Z]{2,} |Minolta |Konica ){0,3})(?-i:DIGITAL CAMERA|Digital (?:Still )?Camera|DSC)"
    r"|samsung camera pictures|exif[_ ]jpeg[\w ]*|applemark|lead technologies.*|creator: gd-jpeg.*"
    r"|ascii|binary comment|dcim|default|digimax|image|image description|jpeg|photo|picture|title"
    r"|screenshot|unknown|untitled|<[^<>]*/[^<>]*>"
    r"|(?:cof|dav|edf|fbt|hdr|hdrpl|mde|mtr|nor|ptr|rbt|rhdr|rpt|sdr|tbt|vtr|ybr)(?:_\w+)?"
    r"|op(?:po|lus)_\d+"
    r"|(?:created|processed|edited|made) (?:with|by|in|using) (?:the )?(?:gimp|vsco|snapseed"
    r"|picasa|photoshop|lightroom|imagemagick|inkscape|canva|paint)\b.*"
    r"|[\W\d_]*",
    re.IGNORECASE | re.DOTALL,
)
"""What cameras, telephones and programs write by themselves, or nothing that could be read."""
_CAMERAS_NAME = lazy_pattern(
    r"(?:.*[/\\])?_?(?:(?:cimg|dji|dsc[cfn]?|gopr|hpim|image|imgp?|mg|mvi|p|photo|pict?|pxl|s|sam"
    r"|vid|wp)[ _-]?)?e?\d{3,}[\d_-]*[ ()\d]*(?:\.[a-z]{3,4})?",
    re.IGNORECASE,
)
_DATA = lazy_pattern(r'\{.*\}|\[[{"\d].*\]|<\?.*>|(?!https?:)[\x21-\x7e]{40,}', re.DOTALL)
_LONGEST_NAME = 120


@dataclass(frozen=True, slots=True)
class Sources:
    """What a picture has of each way to keep texts, as it is read from the file."""

    xmp: bytes = b""
    iptc: Mapping[tuple[int, int], bytes | list[bytes]] | None = None
    exif: Mapping[int, object] | None = None
    """By tag of ``EXIF_TAGS``."""
    is_big_endian: bool = False
    """Of the EXIF."""
    chunks: Mapping[Any, Any] | None = None
    """Of a PNG, by keyword."""


class Wording(NamedTuple):
    """What somebody wrote; empty, where nobody did."""

    title: str = ""
    paragraphs: Sequence[str] = ()
    """Headline, description and comment that are not the title."""
    keywords: Sequence[str] = ()
    persons: Sequence[str] = ()
    place: Sequence[str] = ()
    """City, state, country."""

    def lines(self) -> Iterator[str]:
        """Yield what is read, a line or more each."""
        yield from filter(None, (self.title, *self.paragraphs))
        named = (("Shows", self.persons), ("Place", self.place), ("Keywords", self.keywords))
        yield from (f"{name}: {', '.join(words)}" for name, words in named if words)


def wording_of(sources: Sources, names: Iterable[str] = ()) -> Wording:
    """Return what people wrote into a picture.

    *names* are what nobody wrote who says it here: those of its file, its camera, its program.
    """
    known = {_folded(name) for name in names}
    found: dict[str, list[str]] = {}
    for told in (_of_xmp(sources.xmp), _of_iptc(sources), _of_exif(sources), _of_png(sources)):
        texts: dict[str, list[str]] = {}
        for kind, value in told:
            text = _clean(value)
            if text and (kind in _LISTS or not _is_of_nobody(text, known)):
                texts.setdefault(kind, []).append(text)
        for kind, said in texts.items():
            found[kind] = found.get(kind, []) + said if kind in _LISTS else found.get(kind, said)
    title = next((each for kind in ("title", "headline") for each in found.get(kind, ())), "")
    said = [text for kind in _TEXTS for text in found.get(kind, ())]
    paragraphs = [text for text in _distinct(said) if _folded(text) != _folded(title)]
    words = {kind: _distinct(found.get(kind, ()))[:_MOST_NAMES] for kind in _LISTS}
    return Wording(title, paragraphs, words["keywords"], words["persons"], words["place"])


def _distinct(texts: Iterable[str]) -> list[str]:
    """Return *texts* without repetitions, whatever their case."""
    found: dict[str, str] = {}
    for text in texts:
        found.setdefault(_folded(text), text)
    return [*found.values()]


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _clean(text: str) -> str:
    lines = _UNPRINTABLE.sub(" ", nfc(text[:_MOST_TEXT]).replace("\r\n", "\n")).split("\n")
    return "\n".join(filter(None, (" ".join(line.split()) for line in lines)))


def _is_of_nobody(text: str, known: set[str]) -> bool:
    if _folded(text) in known or _DATA.fullmatch(text):
        return True
    may_be = len(text) <= _LONGEST_NAME
    return may_be and any(each.fullmatch(text) for each in (_OF_NOBODY, _CAMERAS_NAME))


class _Packet:
    """Collects properties while an XMP packet is read."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []
        self._kinds: list[str | None] = []
        """Of the elements that are open: what is told in each, by itself or around it."""
        self._parts: list[str] = []

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        around = self._kinds[-1] if self._kinds else None
        self._kinds.append(_XMP.get(name) or around)
        self._parts.clear()
        self.told += [(_XMP[key], value) for key, value in attributes.items() if key in _XMP]

    def say(self, text: str) -> None:
        if self._kinds and self._kinds[-1]:
            self._parts.append(text)

    def end(self, _: str) -> None:
        kind = self._kinds.pop()
        if kind and (said := "".join(self._parts).strip()):
            self.told.append((kind, said))
        self._parts.clear()

    def refuse(self, *_: object) -> None:
        raise ValueError("entities")  # a few lines of them can stand for gigabytes


def _of_xmp(data: bytes) -> list[tuple[str, str]]:
    """Return what a packet tells; one that breaks off is read up to there."""
    packet, parser = _Packet(), expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler, parser.EndElementHandler = packet.begin, packet.end
    parser.CharacterDataHandler, parser.EntityDeclHandler = packet.say, packet.refuse
    with suppress(expat.ExpatError, LookupError, ValueError):
        parser.Parse(data.strip(b"\0 \r\n"), True)  # noqa: FBT003 - expat takes no names
    return packet.told


def _of_iptc(sources: Sources) -> Iterator[tuple[str, str]]:
    for (record, dataset), values in (sources.iptc or {}).items():
        if record == 2 and dataset in _IPTC:  # noqa: PLR2004 - of the application
            for value in values if isinstance(values, list) else [values]:
                yield _IPTC[dataset], FileContent(value).text


def _of_exif(sources: Sources) -> Iterator[tuple[str, str]]:
    for tag, kind in EXIF_TAGS.items():
        data = exif_bytes((sources.exif or {}).get(tag))
        if tag in _OF_WINDOWS:
            text = data.decode("utf-16-le", "replace")
        elif tag == _USER_COMMENT:
            text = _comment(data, is_big_endian=sources.is_big_endian)
        else:
            text = FileContent(data.rstrip(b"\0 ")).text
        for part in text.split(";") if kind == "keywords" else [text]:
            yield kind, part.strip("\0")


def exif_bytes(value: object) -> bytes:
    """Return the bytes of a value of EXIF; texts are decoded by the letter there.

    A number has none, where ``bytes`` makes as many zeros.
    """
    if isinstance(value, str):
        return value.encode("latin-1", "replace")
    with suppress(TypeError, ValueError):
        return bytes(value) if isinstance(value, Sequence) else b""
    return b""


def _comment(data: bytes, *, is_big_endian: bool) -> str:
    """Return a comment of EXIF, which says its encoding in its first eight bytes."""
    code, said = data[:8].strip(b"\0 "), data[8:]
    if code != b"UNICODE":
        return FileContent(said.rstrip(b"\0 ")).text if code in {b"", b"ASCII"} else ""
    highs = said[::2].count(0) - said[1::2].count(0)  # some write it against what EXIF says
    is_big = highs > 0 if highs else is_big_endian
    return said.decode("utf-16-be" if is_big else "utf-16-le", "replace").lstrip("\ufeff")


def _of_png(sources: Sources) -> Iterator[tuple[str, str]]:
    chunks = sources.chunks or {}
    yield from ((kind, str(chunks[key])) for key, kind in _PNG.items() if key in chunks)
