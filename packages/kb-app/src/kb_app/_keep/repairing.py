"""Repair: a damaged store is made whole of what can be read, and what is lost is named.

In this order: of the safety copies, what was lost beside the store; a copy of the store as it is;
a new store of every row that can be read; of the index, every document that the store lost and
the index still has whole; the new store in the old one's place; the index, built from it. What
none of them has is read again by the next run, where its file or its asset is there; the rest is
gone, and is told by its path.

The new store is made beside the old one and takes its place in one step, so a repair that is
interrupted has changed nothing but the number of copies.
"""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kb_app._data_dir import INDEX_PARTS, DataDir
from kb_app._ingest.added.assets import Assets
from kb_app._ingest.seeing.files import location
from kb_app._keep.bringing_back import bring_back, lost
from kb_core import wire
from kb_core.clock import from_epoch
from kb_core.control import ADDED_SOURCE, OLDER_STORE
from kb_core.disk import disk_errors
from kb_core.errors import IndexCorrupt, KbError, NotIndexed
from kb_core.quantization import quantize
from kb_core.records import Changes, ChunkRecord, DocumentRecord, FileRecord, FileState

if TYPE_CHECKING:
    from kb_app._parts import Parts
    from kb_app.config import Config
    from kb_core.ports import IndexReader, IndexSnapshot, Store
    from kb_core.stored import StoredChunk, StoredDoc, StoredFile
    from kb_core.wire import types

__all__ = ["repair", "restore_from_index"]

_TIMES = ("doc_date", "created_at", "updated_at", "indexed_at")
_BATCH = 64

_Place = tuple[str, str]
"""A source and a path in it."""


def repair(config: Config, parts: Parts, *, dry_run: bool) -> types.RepairReport:
    """Mend the store if it is damaged; return repair_report.v1. A dry run only looks."""
    data, missing = DataDir(config.storage.data_dir), lost(config, thorough=True)
    problems = _problems(parts, data, is_kept=bool(missing))
    told = [f"{one.name}: lost, and in the safety copy" for one in missing]
    if dry_run or not (problems or missing):
        return wire.repair_report(str(data.store), [*problems, *told], dry_run=dry_run)
    with disk_errors("repair the store"), data.writing(), parts.lock():
        back = bring_back(config, missing)  # first, so that it counts as there
        report = _remade(config, parts, data) if problems else {}
    if report.get("saved") or report.get("restored"):
        with parts.session() as session:
            session.rebuild()
    if missing:
        left = [
            f"{one.name}: damaged in the safety copies, too" for one in missing if one not in back
        ]
        report["unreadable"] = [*report.get("unreadable", ()), *left]
        report["brought_back"] = [{"kind": one.kind, "name": one.name} for one in back]
    return wire.repair_report(str(data.store), [*problems, *told], dry_run=False, **report)


def _remade(config: Config, parts: Parts, data: DataDir) -> dict[str, Any]:
    """Keep the store under another name and make it anew; return what became of it."""
    is_there = data.store.exists() or _log_of(data.store).exists()
    copy = {"copy": str(_copied(data.store))} if is_there else {}
    with closing(parts.reader()) as reader:
        return {**copy, **_mended(config, parts, data, _snapshot(reader))}


def restore_from_index(reader: IndexReader, store: Store) -> int:
    """Commit to *store* the documents that only the index has, whole; return how many.

    What the next run finds changed or gone in the files follows them, as ever.
    """
    with closing(reader):
        snapshot = _snapshot(reader)
        if snapshot is None:
            return 0
        try:
            return sum(1 for _ in _restored(snapshot, store, _only_in(snapshot, store)))
        except IndexCorrupt:
            return 0


def _problems(parts: Parts, data: DataDir, *, is_kept: bool) -> list[str]:
    try:
        return [problem for problem in parts.examine() if problem != OLDER_STORE]
    except NotIndexed:
        if not (is_kept or data.parts(*INDEX_PARTS, "assets")):
            raise
        return [f"{data.store} is not there"]
    except KbError as error:
        if error.code != "store_corrupt":
            raise
        return [str(error)]


def _copied(store: Path) -> Path:
    """Keep the store as it is, with its log, under a name of their own."""
    names = (store.with_name(f"{store.name}.damaged-{number}") for number in count(1))
    copy = next(path for path in names if not path.exists())
    try:
        copy.hardlink_to(store)  # the file is never written again: another takes its name
    except FileNotFoundError:
        copy.touch()  # there is only a log
    except OSError:
        shutil.copy2(store, copy)
    log = _log_of(store)
    if log.exists():
        shutil.copy2(log, _log_of(copy))
    return copy


def _log_of(store: Path) -> Path:
    return store.with_name(f"{store.name}.wal")


def _snapshot(reader: IndexReader) -> IndexSnapshot | None:
    with suppress(KbError):
        return reader.snapshot()
    return None


def _mended(
    config: Config, parts: Parts, data: DataDir, snapshot: IndexSnapshot | None
) -> dict[str, Any]:
    """Make the new store and put it there; return what became of the documents."""
    new = data.store.with_name(f"{data.store.name}.repaired")
    store, lost_rows = parts.salvage(data.store, new)
    with closing(store):
        saved = store.stats()["doc_count"]
        left: dict[_Place, StoredDoc] = {}
        restored: list[_Place] = []
        try:
            left = {} if snapshot is None else _only_in(snapshot, store)
            restored += [] if snapshot is None else _restored(snapshot, store, left)
        except IndexCorrupt as error:
            lost_rows.append(f"the index is damaged, too: {error}")
        store.checkpoint()
    _log_of(data.store).unlink(missing_ok=True)
    new.replace(data.store)
    if snapshot is None:
        lost_rows.append("the index cannot be read either, so documents that are lost have no name")
    lost = [place for place in left if place not in set(restored)]
    there = {place for place in lost if _is_there(config, data, place)}
    return {
        "saved": saved,
        "unreadable": lost_rows,
        "restored": [path for _, path in restored],
        "again": [path for source, path in lost if (source, path) in there],
        "gone": [path for source, path in lost if (source, path) not in there],
    }


def _only_in(snapshot: IndexSnapshot, store: Store) -> dict[_Place, StoredDoc]:
    """Return what the index has and the store has not, files before what is in them."""
    sources = {doc["source_id"] for doc in snapshot.docs(None)}
    known = {doc_id for source in sources for doc_id in store.doc_ids(source)}
    found = [doc for doc in snapshot.docs(None) if doc["doc_id"] not in known]
    found.sort(key=lambda doc: (doc.get("container") is not None, doc["source_id"], doc["path"]))
    return {(doc["source_id"], doc["path"]): doc for doc in found}


def _restored(
    snapshot: IndexSnapshot, store: Store, left: Mapping[_Place, StoredDoc]
) -> Iterator[_Place]:
    """Commit what the index has whole of these, and yield where it belongs.

    A file and the documents within it are one batch: what is stored of a file is replaced whole.
    """
    rows = {(row["source_id"], row["path"]): row for row in snapshot.files(None)}
    models = store.stats()["embedded"].keys() & snapshot.control.vectors.keys()
    groups: dict[_Place, list[_Place]] = {}
    for place, doc in left.items():
        groups.setdefault((place[0], doc.get("container") or place[1]), []).append(place)
    for file, places in groups.items():
        try:
            documents = [_record(snapshot, left[place]) for place in places]
        except KbError:
            continue  # the index is damaged here, too
        whole = tuple(document for document in documents if document is not None)
        if len(whole) != len(places) or file not in left:
            continue
        ledger = (_row(rows[file]),) if file in rows else ()
        vectors = {model: _vectors(snapshot, whole, model) for model in models}
        store.commit(Changes(documents=whole, files=ledger, embeddings=vectors))
        yield from places


def _record(snapshot: IndexSnapshot, doc: StoredDoc) -> DocumentRecord | None:
    """Return a document as the index has it; ``None`` where its text or a chunk is not whole.

    The index does not keep what chunks were embedded with; their vectors stay those of before.
    """
    text = snapshot.doc_text(doc["doc_id"])
    chunks = snapshot.doc_chunks(doc["doc_id"])
    if text is None or len(text) != doc["text_chars"] or len(chunks) != doc["chunk_count"]:
        return None
    if any(text[chunk["start"] : chunk["end"]] != chunk["text"] for chunk in chunks):
        return None
    given: dict[str, Any] = {
        name: value
        for name, value in doc.items()
        if name not in {"doc_key", "chunk_count", "text_chars", *_TIMES}
    }
    given |= {name: _instant(doc.get(name)) for name in _TIMES}
    given |= {name: tuple(given[name]) for name in ("tags", "aliases", "warnings")}
    given |= {name: tuple(given[name]) for name in ("blocks", "links")}
    return DocumentRecord(**given, text=text, chunks=tuple(map(_chunk, chunks)))


def _instant(seconds: object) -> Any:  # noqa: ANN401 - a datetime, or nothing
    return from_epoch(seconds) if isinstance(seconds, int) else None


def _chunk(chunk: StoredChunk) -> ChunkRecord:
    return ChunkRecord(
        chunk_id=chunk["chunk_id"],
        ordinal=chunk["ordinal"],
        start=chunk["start"],
        end=chunk["end"],
        text=chunk["text"],
        line_start=chunk["line_start"],
        line_end=chunk["line_end"],
        token_count=chunk["token_count"],
        heading_path=tuple(chunk["heading_path"]),
        symbol=chunk["symbol"],
        part=chunk["part"],
        span=chunk["span"],
        passage_hash=chunk["chunk_id"],
        flags=tuple(chunk["flags"]),
    )


def _row(row: StoredFile) -> FileRecord:
    given: dict[str, Any] = {**row, "state": FileState(row["state"])}
    given |= {name: _instant(row[name]) for name in ("processed_at", "changed_at")}
    return FileRecord(**given)


def _vectors(
    snapshot: IndexSnapshot, documents: tuple[DocumentRecord, ...], model: str
) -> dict[str, bytes]:
    """Return the vectors of these documents' chunks as they are stored."""
    found = {}
    for document in documents:
        chunks = {chunk["chunk_key"]: chunk for chunk in snapshot.doc_chunks(document.doc_id)}
        for key, vector in snapshot.vectors_of(list(chunks), model).items():
            components = struct.unpack(f"<{len(vector) // 4}f", vector)
            found[chunks[key]["chunk_id"]] = quantize(components)
    return found


def _is_there(config: Config, data: DataDir, place: _Place) -> bool:
    """Say whether a run will find what a document is made of."""
    source_id, path = place
    if source_id == ADDED_SOURCE:
        record = Assets(data.assets).records().get(path)
        return record is not None and Assets(data.assets).has(record.asset, record.size)
    for source in config.sources:
        if source.id == source_id:
            return os.path.exists(location(str(source.root), path.partition("!/")[0], None))  # noqa: PTH110 - as it is spelt
    return False
