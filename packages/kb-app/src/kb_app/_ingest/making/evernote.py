"""Notes as Evernote exports them (ENEX), and what other programs import and export as that.

The file is XML with a note after the other; what one says is a page of its own kind of HTML
(ENML), and its attachments are base64. Each note is read as Markdown with its title, tags and
dates in front, each attachment as the file that it was. Pure.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator
from datetime import UTC, datetime
from xml.parsers import expat

from kb_app._ingest.making.markup import read_markup, visible
from kb_app._ingest.making.markup_text import show
from kb_app._ingest.making.noted import NoExportError, noted
from kb_core.documents import Block, Enclosure

__all__ = ["is_export", "notes_of"]

_FIELDS = frozenset({"title", "content", "created", "updated", "tag", "data", "mime", "file-name"})
_TODO = re.compile(r"<en-todo\b([^<>]{0,200})>", re.IGNORECASE)
_LOCKED = re.compile(r"<en-crypt\b[^<>]*>[^<>]*</en-crypt\s*>", re.IGNORECASE)
_IS_LOCKED = "(encrypted)"
_DONE = re.compile(r"checked\s*=\s*[\"']?true", re.IGNORECASE)
_BASE64_NOISE = re.compile(r"[^A-Za-z0-9+/]+")
_UNTITLED = "Untitled"
_PIECE_BYTES = 1 << 16


class _Reader:
    """What is being read: one note, and one attachment of it; both are handed on when whole."""

    def __init__(self) -> None:
        self.ready: list[Enclosure] = []
        self._note: dict[str, str] = {}
        self._tags: list[str] = []
        self._attachment: dict[str, str] | None = None
        self._attached: list[Enclosure] = []
        self._parts: list[str] | None = None

    def begin(self, name: str, _: object) -> None:
        if name == "note":
            self._note, self._tags, self._attached = {}, [], []
        elif name == "resource":
            self._attachment = {}
        self._parts = [] if name in _FIELDS else None

    def say(self, text: str) -> None:
        if self._parts is not None:
            self._parts.append(text)

    def end(self, name: str) -> None:
        said, self._parts = "".join(self._parts or ()), None
        if name == "note":
            self.ready += [_note(self._note, self._tags), *self._attached]
        elif name == "resource":
            if self._attachment and self._attachment.get("data"):
                self._attached.append(self._attached_file(self._attachment))
            self._attachment = None
        elif name == "tag":
            self._tags += [said.strip()] if said.strip() else []
        elif name in _FIELDS:
            (self._note if self._attachment is None else self._attachment).setdefault(name, said)

    def refuse(self, *_: object) -> None:
        raise NoExportError("it declares entities, which no export needs")

    def _attached_file(self, given: dict[str, str]) -> Enclosure:
        from mimetypes import guess_extension  # hardly any note has one

        extension = guess_extension(given.get("mime", "").strip()) or ""
        title = self._note.get("title", "").strip() or _UNTITLED
        name = given.get("file-name", "").strip() or f"{title} {len(self._attached) + 1}{extension}"
        data = _BASE64_NOISE.sub("", given["data"])
        data = data[: len(data) - (len(data) % 4 == 1)]  # cut off in the middle of a byte
        whole = b64decode(data + "=" * (-len(data) % 4))
        return Enclosure(name=name, data=whole, created=_moment(self._note.get("created", "")))


def is_export(path: str) -> bool:
    """Say whether a file of this name holds notes of Evernote."""
    return path.lower().endswith(".enex")


def notes_of(data: bytes) -> Iterator[Enclosure]:
    """Yield each note, and after it its attachments.

    Raise ``NoExportError`` where the file is no export, or is damaged from there on.
    """
    parser, reader = expat.ParserCreate(), _Reader()
    parser.StartElementHandler, parser.EndElementHandler = reader.begin, reader.end
    parser.CharacterDataHandler, parser.EntityDeclHandler = reader.say, reader.refuse
    parser.buffer_text = True
    try:
        for at in range(0, len(data) + 1, _PIECE_BYTES):
            piece = data[at : at + _PIECE_BYTES]
            parser.Parse(piece, at + _PIECE_BYTES > len(data))
            yield from reader.ready
            reader.ready.clear()
    except (expat.ExpatError, LookupError, ValueError) as error:
        yield from reader.ready
        raise NoExportError(str(error)) from error


def _note(given: dict[str, str], tags: list[str]) -> Enclosure:
    title = given.get("title", "")
    page = _TODO.sub(
        lambda each: "[x] " if _DONE.search(each[1]) else "[ ] ", given.get("content", "")
    )
    text = _markdown(_LOCKED.sub(_IS_LOCKED, page))
    created, updated = (_moment(given.get(name, "")) for name in ("created", "updated"))
    return noted(title, text, tags=tags, created=created, updated=updated)


def _markdown(source: str) -> str:
    """Return what a page shows, its headings, tables and code marked as Markdown has them."""
    page = read_markup(source)
    text, blocks, _, _ = show(page, page.elements[:1], visible(page))
    pieces, at = list[str](), 0
    for block in blocks:
        pieces += [text[at : block.start], _marked(block, text[block.start : block.end])]
        at = block.end
    return "".join([*pieces, text[at:]])


def _marked(block: Block, text: str) -> str:
    match block.kind:
        case "heading":
            return f"{'#' * block.level} {' '.join(text.split())}"
        case "code":
            return f"```\n{text}\n```"
        case "table":
            rows = [row.replace("|", r"\|").split("\t") for row in text.split("\n")]
            wide = max(map(len, rows))
            lines = [f"| {' | '.join([*row, *[''] * (wide - len(row))])} |" for row in rows]
            return "\n".join([lines[0], f"|{'---|' * wide}", *lines[1:]])
    return text


def _moment(text: str) -> datetime | None:
    """Return a date such as ``20250131T235900Z``."""
    try:
        return datetime.strptime(text.strip(), "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        return None
