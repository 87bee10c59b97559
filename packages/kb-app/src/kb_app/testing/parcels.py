"""Parcels: a made-up format for tests that has all that a format may have.

A parcel is a letter and any number of named things, each of them a file of its own. Where the
letter has a sealed line, that is read in a later phase only, and is a page of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kb_app._ingest.workers.worker import say
from kb_app._media import MEDIA, Later, Medium
from kb_core.citations import LineSpan, PageSpan
from kb_core.documents import Block, Enclosure, Metadata, ParsedDocument, Place, SourceFile
from kb_core.media import Media
from kb_core.ports import Content

if TYPE_CHECKING:
    import pytest

__all__ = ["ROW", "SUFFIX", "OpeningParser", "ParcelParser", "opening", "parcel", "use_parcels"]

SUFFIX = ".epub"
VERSION = "parcel-1"
_BORDER, _NAMED = b"\0\0", b"\0"
_SEALED = "sealed: "


def parcel(
    letter: str, things: Iterable[tuple[str, str | bytes]] = (), *, sealed: str = ""
) -> bytes:
    """Return a parcel; *things* are names and what is in them."""
    text = f"{letter}\n{_SEALED}{sealed}\n" if sealed else f"{letter}\n"
    parts = [text.encode()]
    for name, thing in things:
        data = thing.encode() if isinstance(thing, str) else thing
        parts.append(name.encode() + _NAMED + data.hex().encode())
    return b"PARCEL" + _BORDER + _BORDER.join(parts)


class ParcelParser:
    """``Parser`` of parcels: what is sealed waits."""

    version = VERSION

    def __call__(self, content: Content, file: SourceFile, /) -> ParsedDocument:
        return _parsed(content, file, opened=False)


class OpeningParser:
    """``Parser`` of parcels in the later phase: it opens what is sealed."""

    version = f"{VERSION}-opened"

    def __call__(self, content: Content, file: SourceFile, /) -> ParsedDocument:
        results = content.results("ocr", {"opener": self.version})
        if _SEALED.encode() in content.data and results.get("1") is None:
            say("ocr", 0, 1)
            results.put("1", opening())
        return _parsed(content, file, opened=True)


def opening() -> str:
    """Do what takes long before a seal is open; a test can count that."""
    return "open"


ROW = Medium(
    parser=f"{__name__}:ParcelParser",
    holds_files=True,
    later={"ocr": Later(f"{__name__}:OpeningParser")},
)


def use_parcels(patch: pytest.MonkeyPatch) -> None:
    """Have files called ``*.epub`` be parcels, in this process."""
    patch.setitem(MEDIA, Media.BOOK, ROW)


def _parsed(content: Content, file: SourceFile, *, opened: bool) -> ParsedDocument:
    letter, *things = content.data.removeprefix(b"PARCEL" + _BORDER).split(_BORDER)
    said, _, sealed = letter.decode().rstrip("\n").partition(f"\n{_SEALED}")
    text = f"{said}\n{sealed}" if opened and sealed else said
    cut = len(said) + 1
    blocks = [Block("paragraph", 0, len(said))]
    blocks += [Block("paragraph", cut, len(text))] if len(text) > cut else []
    places = [Place(0, LineSpan(1, said.count("\n") + 1))]
    places += [Place(cut, PageSpan(2))] if len(text) > cut else []
    return ParsedDocument(
        text=text,
        media=file.media,
        metadata=Metadata(title=file.path.rpartition("/")[2]),
        blocks=tuple(blocks),
        places=tuple(places) if sealed else (),
        has_lines=not sealed,
        enclosures=[
            Enclosure(name=name.decode(), data=bytes.fromhex(data.decode()))
            for name, _, data in (thing.partition(_NAMED) for thing in things)
        ],
        waits_for="ocr" if sealed and not opened else None,
        parser_version=VERSION,
    )
