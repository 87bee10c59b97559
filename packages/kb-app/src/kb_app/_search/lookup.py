"""The one resolver: a document, or a place in it, by whatever is at hand.

What is printed anywhere is understood: an id or its first eight digits, of a document or of
a chunk; a path, relative to its source or to here, or absolute; a citation; ``path:12``;
``path p. 3``; any of these with ``%20`` for a space; and the end of a path that only one
document has. A file that is called exactly so comes first. What several documents are called
lists them; of a file that became no document it is said why.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote

from kb_app._ingest.seeing.files import is_utf8, meant_inside
from kb_app._media import has_lines
from kb_app._search.filtering import left_out, nearest_of, told_of
from kb_app.shown import count
from kb_core.citations import (
    CellSpan,
    Citation,
    CodeSpan,
    LineSpan,
    PageSpan,
    RegionSpan,
    Span,
    TimeSpan,
    citation_of,
    parse_citation,
)
from kb_core.control import ADDED_SOURCE
from kb_core.errors import ChunkNotFound, DocNotFound, InvalidInput
from kb_core.filters import And, Glob, OneOf, Or, all_of, literal_glob
from kb_core.ids import doc_ids_at, enclosed_path, is_id_prefix
from kb_core.media import Media
from kb_core.ports import IndexSnapshot, StoredChunk, StoredDoc, StoredFile
from kb_core.records import FileState
from kb_core.text import LineIndex, nfc
from kb_core.values import dataclass

__all__ = [
    "Named",
    "Origin",
    "chunk_named",
    "chunks_at",
    "chunks_meeting",
    "did_you_mean",
    "document_named",
    "documents_at",
    "file_named",
    "files_first",
    "files_named",
    "find",
    "in_several_sources",
    "is_span",
    "named_in_full",
    "no_document",
    "no_span",
    "origin_of",
    "paths_named",
    "paths_read",
    "places_of",
    "shared_paths",
    "slashed_path",
    "spellings",
    "taken_name",
    "unpacked",
]

_AT_LINE = re.compile(
    r"(?P<path>.+?):L?(?P<first>\d{1,9})(?:-L?(?P<last>\d{1,9})|:\d{1,9})?:?", re.DOTALL
)
"""What ends in a line; a name may have line ends."""
_AT_PAGE = re.compile(r"(?P<path>.+?)(?:,? page |,? p\. ?|[ :,]page=)(?P<page>\d{1,6})", re.DOTALL)
"""What ends in a page, as people write it, and as hits are shown."""
_ESCAPE = re.compile(
    r"\\x([0-9a-f]{2})|\\u([0-9a-f]{4})|\\U(000[0-9a-f]{5}|0010[0-9a-f]{4})|\\[nrt]"
)
"""How a hidden character of a name is shown."""
_NAMED_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_Lines: TypeAlias = tuple[int, int]
"""The first and the last, as somebody typed them."""
_LISTED, _FEW = 5, 3
_LONGEST_END = 200
"""A longer text is no end of a path that somebody typed."""
_LONGEST_MEANT = 500
"""Nor is a longer path nearly one that is there."""


@dataclass(frozen=True, slots=True)
class Named:
    """What a text names: a document, and perhaps a chunk or a place in it."""

    doc: StoredDoc
    chunk: StoredChunk | None = None
    citation: Citation | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """What neighbours are wanted of: chunks of one document."""

    id: str
    doc_id: str
    chunks: Sequence[StoredChunk]


def find(
    snapshot: IndexSnapshot, text: str, source: str | None = None, *, field: str = "doc"
) -> Named | None:
    """Return what *text* names, in *source* if that is given; ``None`` for nothing.

    ``InvalidInput`` where that is several documents, or *text* is blank. A file that is
    called so and became no document is no other one, whose path ends so.
    """
    if named := named_in_full(snapshot, text, source, field=field):
        return named
    if not is_utf8(source or ""):
        return None  # no source is called so
    if _is_left_out(snapshot, text, source):
        return None
    for place, path in _places_read(text):
        if docs := _ending_so(snapshot, path, source):
            return _named(snapshot, _only(docs, text, field), place, field)
    return None


def named_in_full(
    snapshot: IndexSnapshot, text: str, source: str | None = None, *, field: str = "doc"
) -> Named | None:
    """As ``find``, without what is named by the end of its path alone."""
    if not text.strip():
        raise InvalidInput(
            "the document is missing",
            hint="give its path, or its id from a hit or from 'kebab list docs'",
            details={"field": field, "value": text},
        )
    if is_id_prefix(text) and (named := _by_id(snapshot, text, field)):
        return named
    if not is_utf8(source or ""):
        return None
    for place, path in _places_read(text):
        if docs := _documents(snapshot, path, source):
            return _named(snapshot, _only(docs, text, field), place, field)
    return None


def _places_read(text: str) -> list[tuple[Span | _Lines | None, str]]:
    return [(place, path) for path, place in _readings(text) if is_utf8(path)]


def paths_read(text: str) -> list[str]:
    """Return the paths that *text* may be read as, itself first: places are printed with them."""
    return list(dict.fromkeys(path for _, path in _places_read(text)))


def _is_left_out(snapshot: IndexSnapshot, text: str, source: str | None) -> bool:
    """Say whether a file is called *text* in full that is there, and no document."""
    rows = (row for row in files_named(snapshot, text) if source in {None, row["source_id"]})
    return any(row["state"] not in {FileState.INDEXED, FileState.DELETED} for row in rows)


def unpacked(snapshot: IndexSnapshot, doc: StoredDoc) -> StoredDoc:
    """Return the document that is read for one: of a packed file the one file that is in it."""
    if doc["media"] != Media.ARCHIVE:
        return doc
    inside = Glob(f"/{enclosed_path(literal_glob(doc['path']), '**')}")
    held = snapshot.docs(all_of([inside, _within(doc["source_id"])]))
    first = next(iter(held), doc)
    further = (each["path"] for each in held if each["doc_id"] != first["doc_id"])
    is_one = all(path.startswith(enclosed_path(first["path"], "")) for path in further)
    return first if is_one else doc


def document_named(
    snapshot: IndexSnapshot, text: str, *, field: str = "doc_id", source: str | None = None
) -> StoredDoc:
    """Return the document that *text* names, or that of the chunk; else ``DocNotFound``."""
    named = find(snapshot, text, source, field=field)
    if named is None:
        raise no_document(
            snapshot,
            text,
            f"no document is {text!r}",
            hint="'kebab list docs' shows the ids and paths of all documents",
            details={field: text, "field": field, "value": text},
        )
    return named.doc


def chunk_named(
    snapshot: IndexSnapshot, text: str, *, field: str = "chunk_id", source: str | None = None
) -> StoredChunk:
    """Return the chunk that *text* names: by its id, or by where it stands in a document."""
    named = find(snapshot, text, source, field=field)
    if named is None:
        raise ChunkNotFound(
            f"no chunk is {text!r}",
            hint="chunks get new ids when their text changes or their file moves: search again",
            details={field: text, "field": field, "value": text},
        )
    if named.chunk is not None:
        return named.chunk
    chunks = snapshot.doc_chunks(named.doc["doc_id"])
    there: Sequence[StoredChunk] = chunks
    if named.citation is not None:
        there = chunks_at(snapshot, named.doc, named.citation)
    if not there and named.citation is not None:
        there = _over(chunks, named.citation)
    if len(there) == 1 or (there and named.citation is not None):
        return there[0]
    raise InvalidInput(
        f"{text!r} names no passage of {named.doc['path']!r}, which has {len(chunks):,}",
        hint=f"add a line, such as {named.doc['path']}:12, or give the id of a hit",
        details={"field": field, "value": text, "doc_id": named.doc["doc_id"]},
    )


def origin_of(snapshot: IndexSnapshot, text: str) -> Origin:
    """Return the chunks that *text* names: one by its id or its place, or a document's."""
    named = find(snapshot, text, field="id")
    if named is None:
        raise no_document(
            snapshot,
            text,
            f"no chunk or document is {text!r}",
            hint="'kebab list docs' shows the ids and paths of all documents",
            details={"field": "id", "value": text},
        )
    if named.chunk is None and named.citation is None:
        doc_id = named.doc["doc_id"]
        return Origin(doc_id, doc_id, snapshot.doc_chunks(doc_id))
    chunk = named.chunk or chunk_named(snapshot, text, field="id")
    return Origin(chunk["chunk_id"], chunk["doc_id"], [chunk])


def no_document(
    snapshot: IndexSnapshot, text: str, said: str, *, hint: str, details: Mapping[str, object]
) -> DocNotFound:
    """Return the error for what names no document: of a file that was seen, why; else *said*.

    Then the documents of a folder are told, or files that are called so in other folders.
    """
    file = file_named(snapshot, text) or _file_ending_so(snapshot, text)
    file = file or left_out(snapshot, paths_named(snapshot, text))
    if file is None or file["state"] == FileState.INDEXED:
        if inside := _inside(snapshot, text):
            hint = f"{inside}: 'kebab list docs' shows them by this path glob"
        elif alike := _called_alike(snapshot, text):
            hint = f"did you mean {', '.join(alike)}?"
        return DocNotFound(said, hint=hint, details=details)
    is_above = not file["path"].endswith(nfc(text).rstrip("/"))
    said = (
        f"{text!r} is no document: {file['path']} is"
        if is_above
        else f"{file['path']!r} is no document:"
    )
    return DocNotFound(
        f"{said} {told_of(file)}",
        hint="what is not indexed has no text here; 'kebab status' says the same of all files",
        details={**details, "state": file["state"], "reason": file.get("reason")},
    )


def _inside(snapshot: IndexSnapshot, text: str) -> str:
    """Return how many documents are in the folder that *text* names, with the glob of them."""
    name = nfc(text).removeprefix("./").rstrip("/")
    if not name.strip("./ ") or len(name) > _LONGEST_END or not is_utf8(name):
        return ""
    glob = f"{literal_glob(name)}/**"
    for each in (glob, f"**/{glob.lstrip('/')}"):
        if inside := snapshot.count_docs(Glob(each)):
            return f"{count(inside, 'document')} in {each!r}"
    return ""


def _called_alike(snapshot: IndexSnapshot, text: str) -> list[str]:
    """Return a few documents that *text*, which names none, may mean, as they can be opened."""
    for path in (path for path, _ in _readings(text) if "/" in path):
        meant = _called_as(snapshot, path)
        if docs := [doc for one in meant for doc in snapshot.docs(OneOf("path", (one,)))]:
            is_plain = len({doc["path"] for doc in docs}) == len(docs)
            return [doc["path"] if is_plain else _shown(doc) for doc in docs[:_FEW]]
    return []


def did_you_mean(snapshot: IndexSnapshot, path: str) -> str:
    """Return the end of a sentence that names what *path* may mean, if there is anything."""
    alike = _called_as(snapshot, path)
    return f"; did you mean {' or '.join(map(repr, alike))}?" if alike else ""


def _called_as(snapshot: IndexSnapshot, path: str) -> list[str]:
    """Return a few folders and files that *path*, at which nothing is, may mean.

    They are called as it is, those first that share most of it; else it is what is nearly called
    so in the folder above that is there, or that folder.
    """
    parts = [part for part in slashed_path(nfc(path)).split("/") if part not in {"", "."}]
    if not parts or len(path) > _LONGEST_MEANT or not is_utf8(path):
        return []
    name = literal_glob(parts[-1])
    held = snapshot.docs(Or((Glob(f"**/{name}"), Glob(f"**/{name}/**"))))
    paths = (doc["path"].split("/") for doc in held)
    if alike := {tuple(each[: each.index(parts[-1]) + 1]) for each in paths if parts[-1] in each}:
        best = sorted(alike, key=lambda each: (-len({*each} & {*parts}), len(each), each))
        return ["/".join(each) for each in best[:_FEW]]
    for depth in range(len(parts) - 1, 0, -1):
        folder = "/".join(parts[:depth])
        if inside := snapshot.docs(Glob(f"/{literal_glob(folder)}/**")):
            near = nearest_of(parts[depth], {doc["path"].split("/")[depth] for doc in inside})
            return [f"{folder}/{near}" if near else folder]
    return []


def file_named(snapshot: IndexSnapshot, text: str) -> StoredFile | None:
    """Return what the ledger says of the file that *text* may mean, if it has seen one."""
    return next(iter(files_named(snapshot, text)), None)


def files_named(snapshot: IndexSnapshot, text: str) -> Sequence[StoredFile]:
    """Return what the ledger says of the files, one of each source, that *text* names likeliest."""
    for source, path in _places_named(snapshot, text):
        where = all_of([OneOf("path", (path,)), _within(source)])
        if rows := snapshot.files(where):
            return rows
    return ()


def taken_name(snapshot: IndexSnapshot, text: str) -> str | None:
    """Return the path of a file of a source that *text* names, in full or by its end, if any."""
    read = paths_read(text)
    endings = [where for path in read if (where := _ending(path))]
    roots = [(id_, of["root"]) for id_, of in snapshot.control.sources.items() if of.get("root")]
    above = [
        And((OneOf("source_id", (source,)), OneOf("path", tuple(meant))))
        for source, root in roots
        for path in read
        if (meant := [*meant_inside(root, nfc(path))])
    ]
    named = Or((OneOf("path", tuple(paths_named(snapshot, text))), *endings, *above))
    there = [row for row in snapshot.files(named) if row["state"] != FileState.DELETED]
    found = (each for each in (*there, *snapshot.docs(named)) if each["source_id"] != ADDED_SOURCE)
    return next((each["path"] for each in found), None)


def _file_ending_so(snapshot: IndexSnapshot, text: str) -> StoredFile | None:
    """Return the file that *text* is the end of the path of, if that became no document."""
    ends = (path for path, _ in _readings(text) if is_utf8(path) and "." in path)
    for where in filter(None, (_ending(path) for path in ends)):
        for file in snapshot.files(where):
            if file["state"] != FileState.INDEXED:
                return file
    return None


def paths_named(snapshot: IndexSnapshot, text: str) -> list[str]:
    """Return the paths that *text* may mean in the ledger, the likeliest first.

    The ledger has files that became no document; of those, too, what is printed is meant.
    """
    return list(dict.fromkeys(path for _, path in _places_named(snapshot, text)))


def _places_named(snapshot: IndexSnapshot, text: str) -> list[tuple[str | None, str]]:
    """Return the paths that *text* may mean, each with its source where that is known."""
    if is_id_prefix(text) and (named := _by_id(snapshot, text, "doc")):
        return [(named.doc["source_id"], named.doc["path"])]
    readings = (path for path, _ in _readings(text) if is_utf8(path))
    places = (at for path in readings for at in places_of(snapshot, path, None))
    return [(source, name) for source, path in places for name in spellings(path)]


def documents_at(snapshot: IndexSnapshot, path: str, source: str | None) -> list[StoredDoc]:
    """Return the documents at *path*, one of each source, else those that were moved from it."""
    if not is_utf8(path + (source or "")):
        return []  # nothing in here is called so
    names = spellings(path)
    for name in names:
        where = all_of([OneOf("path", (name,)), _within(source)])
        if found := snapshot.docs(where):
            return list(found)
        if name != names[-1] and snapshot.files(where):
            return []  # a file of its own without text, and not that of the other spelling
    sources = [source] if source else sorted(snapshot.control.sources)
    ids = [one for each in sources for name in names for one in doc_ids_at(each, name)]
    moved = {doc["doc_id"]: doc for old in ids for doc in snapshot.find_docs(old, 1)}
    # An id is read wherever its document lies, and these were made of a path: what is beside a
    # folder that is asked alone is not meant.
    seen = snapshot.docs(OneOf("doc_id", tuple(moved))) if moved else ()
    return [doc for doc in seen if doc["doc_id"] in moved]


def shared_paths(snapshot: IndexSnapshot, paths: Iterable[str]) -> frozenset[str]:
    """Return those of *paths* that documents of several sources have."""
    counted = ((path, snapshot.count_docs(OneOf("path", (path,)))) for path in {*paths})
    return frozenset(path for path, count in counted if count > 1)


def spellings(path: str) -> list[str]:
    """Return what a path that a person typed may be called in the index."""
    return list(dict.fromkeys((path, nfc(path).removeprefix("./"))))


def slashed_path(path: str) -> str:
    """Return a path as the index has it that was typed with the separators of Windows."""
    return path.replace("\\", "/")


def chunks_at(snapshot: IndexSnapshot, doc: StoredDoc, citation: Citation) -> Sequence[StoredChunk]:
    """Return the chunks of *doc* at the place of *citation*, as far as its URI tells.

    Cells, times and parts of a picture may be any: where no chunk is of these, it is those that
    have some of them.
    """
    span = citation.bare().span
    cited = [(c, citation_of(c).bare().span) for c in snapshot.doc_chunks(doc["doc_id"])]
    found = [chunk for chunk, there in cited if there == span]
    return found or [chunk for chunk, there in cited if _meet(there, span)]


def chunks_meeting(
    snapshot: IndexSnapshot, doc: StoredDoc, citation: Citation
) -> Sequence[StoredChunk]:
    """Return all chunks of *doc* that have anything of the place of *citation*, lines too."""
    span = citation.bare().span
    cited = [(c, citation_of(c).bare().span) for c in snapshot.doc_chunks(doc["doc_id"])]
    return [c for c, there in cited if there == span or _meet(there, span) or _share(there, span)]


def _share(one: Span, other: Span) -> bool:
    """Say whether two places are lines, some of which they have in common."""
    if not isinstance(one, LineSpan | CodeSpan) or not isinstance(other, LineSpan | CodeSpan):
        return False
    return max(one.start, other.start) <= min(one.end, other.end)


def _meet(one: Span, other: Span) -> bool:
    """Say whether two places of one kind have something in common."""
    match one, other:
        case CellSpan(sheet), CellSpan(other_sheet):
            return sheet == other_sheet and _overlap(one.edges, other.edges)
        case RegionSpan(x, y, w, h), RegionSpan(x_b, y_b, w_b, h_b):
            box, box_b = (x, y, x + w - 1, y + h - 1), (x_b, y_b, x_b + w_b - 1, y_b + h_b - 1)
            return _overlap(box, box_b)
        case TimeSpan(start, end), TimeSpan(start_b, end_b):
            return max(start, start_b) < min(end, end_b)
        case _:
            return False


def _overlap(one: tuple[int, int, int, int], other: tuple[int, int, int, int]) -> bool:
    """Say whether two rectangles, as first and last column and row, have a cell in common."""
    (left, top, right, bottom), (left_b, top_b, right_b, bottom_b) = one, other
    return max(left, left_b) <= min(right, right_b) and max(top, top_b) <= min(bottom, bottom_b)


def _over(chunks: Sequence[StoredChunk], citation: Citation) -> Sequence[StoredChunk]:
    """Return the chunks that have the first of the cited lines."""
    match citation.span:
        case LineSpan(start, _) | CodeSpan(start, _):
            return [c for c in chunks if c["line_start"] <= start <= c["line_end"]]
        case _:
            return []


def _by_id(snapshot: IndexSnapshot, text: str, field: str) -> Named | None:
    prefix = text.strip().lower()
    docs = {doc["doc_id"]: doc for doc in snapshot.find_docs(prefix, _LISTED)}
    chunks = snapshot.find_chunks(prefix, _LISTED)
    if len(docs) + len(chunks) > 1:
        shown = [_shown(doc) for doc in docs.values()]
        shown += [f"{chunk['path']} (chunk {chunk['chunk_id']})" for chunk in chunks]
        raise _several(text, shown, "give more digits of the id", field)
    for doc in docs.values():
        return Named(doc)
    for chunk in chunks:
        for doc in snapshot.find_docs(chunk["doc_id"], 1):
            return Named(doc, chunk)
    return None


def _readings(text: str) -> Iterator[tuple[str, Span | _Lines | None]]:
    """Yield the ways to read a text: as a path, and as a place in one, as they are shown, too."""
    yield from _read(text)
    if (meant := _ESCAPE.sub(_unescaped, text)) != text:
        yield from _read(meant)
    if (slashed := slashed_path(text)) != text:
        yield from _read(slashed)


def _unescaped(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2] or escape[3]
    return chr(int(code, 16)) if code else _NAMED_ESCAPES[escape[0][1]]


def _read(text: str) -> Iterator[tuple[str, Span | _Lines | None]]:
    spelled = unquote(text.removeprefix("file://")) if text.startswith("file://") else text
    yield spelled, None
    if "#" in text:
        with suppress(InvalidInput):
            citation = parse_citation(text)
            yield citation.path, citation.span
    at_line = _AT_LINE.fullmatch(spelled)
    if at_line is not None:
        lines = int(at_line["first"]), int(at_line["last"] or at_line["first"])
        for path in dict.fromkeys((at_line["path"], unquote(at_line["path"]))):
            yield path, lines
    at_page = _AT_PAGE.fullmatch(spelled)
    if at_page is not None and int(at_page["page"]):
        yield at_page["path"], PageSpan(int(at_page["page"]))
    if "%" in text:
        yield unquote(text), None


def _documents(snapshot: IndexSnapshot, path: str, source: str | None) -> list[StoredDoc]:
    """Return the documents that are called *path*: a file before what was handed in."""
    places = places_of(snapshot, path, source)
    found = filter(None, (documents_at(snapshot, name, within) for within, name in places))
    handed_in: list[StoredDoc] = []
    for docs in found:
        if any(doc["source_id"] != ADDED_SOURCE for doc in docs):
            return docs
        handed_in = handed_in or docs
    return handed_in


def places_of(
    snapshot: IndexSnapshot, path: str, source: str | None, *, around: bool = False
) -> Iterator[tuple[str | None, str]]:
    """Yield where a path may lie: as it is, and in the sources whose folder holds it.

    Each is a source, ``None`` for any, and a path in it, with the accents that were typed: of
    two files whose names differ by these alone, it is the one that was named. What is in no
    source, and called by an absolute path, comes after the file that is there. *around* yields
    the whole of sources, too, that a folder holds.
    """
    as_it_is = (source, path)
    if is_relative := not path.startswith(("/", "~")):
        yield as_it_is
    with suppress(ValueError, OSError):  # a null character, a folder that is gone
        full = Path(os.path.expanduser(path)).absolute()  # noqa: PTH111 - leaves an unknown user alone
        for within, known in snapshot.control.sources.items():
            root = known.get("root")
            if root and source in {None, within}:
                for folder in dict.fromkeys((root, os.path.realpath(root))):
                    plain = Path(os.path.normpath(full))
                    if plain.is_relative_to(folder):
                        yield within, plain.relative_to(folder).as_posix()
                    elif around and Path(folder).is_relative_to(plain):
                        yield within, "."
    if not is_relative:
        yield as_it_is


def _ending_so(snapshot: IndexSnapshot, path: str, source: str | None) -> list[StoredDoc]:
    where = _ending(path)
    return list(snapshot.docs(all_of([where, _within(source)]))) if where else []


def _ending(path: str) -> Glob | None:
    """Return the filter of paths that end with one, if that can be the end of any."""
    name = nfc(path).removeprefix("./").lstrip("/")
    if not name.strip() or len(name) > _LONGEST_END or name.endswith("/"):
        return None
    return Glob(f"**/{literal_glob(name)}")


def _within(source: str | None) -> OneOf | None:
    return OneOf("source_id", (source,)) if source else None


def _named(
    snapshot: IndexSnapshot, doc: StoredDoc, place: Span | _Lines | None, field: str
) -> Named:
    if isinstance(place, tuple):
        if not is_span(*place):
            text = snapshot.doc_text(doc["doc_id"]) if has_lines(doc) else None
            raise no_span(doc, place, text, field)
        place = LineSpan(*place)
    return Named(doc, None, None if place is None else Citation(doc["path"], place))


def is_span(first: int, last: int) -> bool:
    """Say whether there can be such lines."""
    return 1 <= first <= last


def no_span(doc: StoredDoc, asked: tuple[int, int], text: str | None, field: str) -> InvalidInput:
    """Return the error for lines that there cannot be, with those that there are in *text*."""
    first, last = asked
    there = f"; {doc['path']!r} has {count(len(LineIndex(text)), 'line')}" if text else ""
    return InvalidInput(
        f"lines {first} to {last} are not a span",
        hint=f"lines count from 1, and the last is not before the first{there}",
        details={"field": field, "value": [first, last]},
    )


def _only(docs: Sequence[StoredDoc], text: str, field: str) -> StoredDoc:
    if len({doc["path"] for doc in docs}) > 1:
        raise _several(
            text, [_shown(doc) for doc in docs], "give more of its path, or its id", field
        )
    docs = files_first(docs)
    if len(docs) == 1:
        return docs[0]
    raise in_several_sources(docs, text, field)


def files_first(docs: Sequence[StoredDoc]) -> list[StoredDoc]:
    """Return those *docs* of one path that are files of sources, else all.

    What was handed in may be called anything, and takes no file's name.
    """
    return [doc for doc in docs if doc["source_id"] != ADDED_SOURCE] or [*docs]


def in_several_sources(docs: Sequence[StoredDoc], text: str, field: str) -> InvalidInput:
    """Return the error for a *text* that is the path of all *docs*, each of another source."""
    sources = [doc["source_id"] for doc in docs]
    known = ", ".join(f"{doc['doc_id'][:8]} ({doc['source_id']})" for doc in docs[:_LISTED])
    return InvalidInput(
        f"{docs[0]['path']!r} is in several sources: {', '.join(sources)}",
        hint=f"give an id: {known}; or, to cite, name the source, such as {sources[0]!r}",
        details={
            "field": field,
            "value": text,
            "sources": sources,
            "candidates": [_shown(doc) for doc in docs[:_LISTED]],
        },
    )


def _shown(doc: Mapping[str, object]) -> str:
    return f"{doc['path']} ({doc['source_id']}, {str(doc['doc_id'])[:8]})"


def _several(text: str, candidates: Sequence[str], hint: str, field: str) -> InvalidInput:
    some = ", ".join(candidates[:_LISTED])
    more = ", …" if len(candidates) > _LISTED else ""
    return InvalidInput(
        f"{text!r} names several: {some}{more}",
        hint=hint,
        details={"field": field, "value": text, "candidates": list(candidates[:_LISTED])},
    )
