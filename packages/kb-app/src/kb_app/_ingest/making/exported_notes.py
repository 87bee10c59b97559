"""Notes, as programs export them in JSON: Google Keep, Day One, Simplenote, TiddlyWiki.

A file is told by what is in it. Each note is read as Markdown with its title, tags and dates in
front; a tiddler, of an export or of a wiki that is one page (``wiki.html``), as the file
``.tid`` that it would be; what TiddlyWiki keeps for itself is no note. Pure.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TypeAlias

from kb_app._ingest.making.counting import json_objects, objects_in, text_of
from kb_app._ingest.making.noted import NoExportError, moment_of_json, noted
from kb_core.documents import Enclosure
from kb_core.values import lazy_pattern

__all__ = ["is_exported_notes", "is_wiki", "notes_in"]

_LOOKED_AT = 65_536
_MARKS = (
    (b'"isTrashed"', b'"userEditedTimestampUsec"'),
    (b'"activeNotes"', b'"content"'),
    (b'"entries"', b'"creationDate"', b'"uuid"'),
)
"""What stands in the beginning of an export, all of one line: Keep, Simplenote, Day One."""
_TIDDLER = (b'"title"', b'"text"')
_STAMP = lazy_pattern(rb'"(?:created|modified)"\s{0,9}:\s{0,9}"\d{17}"')
"""A date as TiddlyWiki has it, which nothing else does."""
_WIKI = re.compile(rb'<meta name="(?:application-name|generator)" content="TiddlyWiki"')
_STORE = re.compile(
    r'<script class="tiddlywiki-tiddler-store" type="application/json">([^<]*+)</script>'
)
_STORED = re.compile(
    r"<div((?:\s++[\w.$/-]++=\"[^\"]*+\")++)\s*+>\s*+<pre>([^<]*+)</pre>\s*+</div>"
)
_ATTRIBUTE = re.compile(r"([\w.$/-]+)=\"([^\"]*)\"")
_OWN = "$:/"
_TEXTS = ("", "text/vnd.tiddlywiki", "text/x-tiddlywiki", "text/plain")
_MARKDOWN = ("text/markdown", "text/x-markdown")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_MOMENT = re.compile(r"!\[[^\]]*\]\(dayone-moment:[^)]*\)")
_TITLE_MAX = 80

_Json: TypeAlias = "Mapping[str, object]"


def is_exported_notes(path: str, data: bytes) -> bool:
    """Say whether a file of JSON holds notes, by how it begins."""
    if not path.lower().endswith(".json"):
        return False
    head = data[:_LOOKED_AT]
    if any(all(mark in head for mark in marks) for marks in _MARKS):
        return True
    return all(mark in head for mark in _TIDDLER) and _STAMP.search(head) is not None


def is_wiki(data: bytes) -> bool:
    """Say whether a page is a wiki of TiddlyWiki, by its head."""
    return _WIKI.search(data, 0, _LOOKED_AT) is not None


def notes_in(data: bytes) -> Iterator[Enclosure]:
    """Yield each note of an export.

    Raise ``NoExportError`` where the file is no export, or is damaged from there on.
    """
    text = data.decode("utf-8-sig", "replace")
    try:
        if is_wiki(data):
            yield from _of_wiki(text)
            return
        for each in json_objects(text):
            yield from _notes(each)
    except (ValueError, RecursionError) as error:
        raise NoExportError(str(error)) from error


def _notes(found: _Json) -> Iterator[Enclosure]:
    """Yield the notes of an object: one, or all that somebody had."""
    if "userEditedTimestampUsec" in found:
        yield _of_keep(found)
    elif isinstance(found.get("entries"), list):
        yield from map(_of_day_one, objects_in(found["entries"]))
    elif isinstance(found.get("activeNotes"), list):
        yield from map(_of_simplenote, objects_in(found["activeNotes"]))
    elif isinstance(found.get("title"), str) and isinstance(found.get("text"), str):
        yield from _tiddlers([found])


def _of_keep(found: _Json) -> Enclosure:
    items = [
        f"- [{'x' if item.get('isChecked') is True else ' '}] {text_of(item.get('text'))}"
        for item in objects_in(found.get("listContent"))
    ]
    links = [
        f"- {' · '.join(filter(None, (text_of(item.get(key)) for key in ('title', 'url'))))}"
        for item in objects_in(found.get("annotations"))
    ]
    parts = (text_of(found.get("textContent")), "\n".join(items), "\n".join(links))
    labels = [text_of(label.get("name")) for label in objects_in(found.get("labels"))]
    return noted(
        _title(text_of(found.get("title")), *parts),
        "\n\n".join(filter(None, parts)),
        tags=[*labels, *(["trash"] if found.get("isTrashed") is True else [])],
        created=_micro(found.get("createdTimestampUsec")),
        updated=_micro(found.get("userEditedTimestampUsec")),
    )


def _micro(value: object) -> datetime | None:
    """Return a date of microseconds since 1970."""
    return moment_of_json(value / 1e6) if isinstance(value, int) else None


def _of_day_one(found: _Json) -> Enclosure:
    said = _MOMENT.sub("", text_of(found.get("text")))
    text = _ESCAPED.sub(r"\1", said).strip()
    place = found.get("location")
    names = ("placeName", "localityName", "country")
    told = [text_of(place.get(name)) for name in names] if isinstance(place, dict) else []
    return noted(
        _title("", text),
        text,
        tags=_texts(found.get("tags")),
        created=moment_of_json(found.get("creationDate")),
        updated=moment_of_json(found.get("modifiedDate")),
        more={"place": ", ".join(filter(None, told))},
    )


def _of_simplenote(found: _Json) -> Enclosure:
    text = text_of(found.get("content")).replace("\r\n", "\n")
    return noted(
        _title("", text),
        text,
        tags=_texts(found.get("tags")),
        created=moment_of_json(found.get("creationDate")),
        updated=moment_of_json(found.get("lastModified")),
    )


def _texts(value: object) -> list[str]:
    """Return the texts of a list of JSON; of anything else none."""
    return [*filter(None, map(text_of, value))] if isinstance(value, list) else []


def _title(given: str, *parts: str) -> str:
    """Return what a note is called, or its first line."""
    lines = (line.strip("# \t-[]") for part in parts for line in part.split("\n"))
    return given or next(filter(None, lines), "")[:_TITLE_MAX]


def _of_wiki(page: str) -> Iterator[Enclosure]:
    """Yield the tiddlers of a wiki that is one page: in JSON, or in HTML as until 2021."""
    for store in _STORE.finditer(page):
        yield from _tiddlers(json_objects(store[1]))
    for stored in _STORED.finditer(page):
        fields = {name: html.unescape(value) for name, value in _ATTRIBUTE.findall(stored[1])}
        yield from _tiddlers([{**fields, "text": html.unescape(stored[2])}])


def _tiddlers(found: Iterable[_Json]) -> Iterator[Enclosure]:
    """Yield the tiddlers that somebody wrote, and that are texts."""
    for each in found:
        title, text, kind = (text_of(each.get(name)) for name in ("title", "text", "type"))
        if not title or not text or title.startswith(_OWN):
            continue
        told = ((name, " ".join(value.split())) for name, value in each.items()
                if name != "text" and isinstance(value, str) and ":" not in name)  # fmt: skip
        if kind in _TEXTS:
            head = "\n".join(f"{name}: {value}" for name, value in told)
            data = f"{head}\n\n{text}\n".encode("utf-8", "replace")
            yield Enclosure(name=f"{title}.tid", data=data, media="text")
        elif kind in _MARKDOWN:
            yield noted(
                title, text, created=_stamp(each, "created"), updated=_stamp(each, "modified")
            )


def _stamp(found: _Json, name: str) -> datetime | None:
    """Return a date such as ``20250131235900000``."""
    try:
        return datetime.strptime(text_of(found.get(name))[:14], "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None
