"""The truth in memory, by the plainest means: every answer is looked up anew.

What a batch means is decided by ``kb_core.changes``, as for any store; what is kept here by
counting before and after, an engine has to keep up to date.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from threading import RLock
from typing import Any, TypeVar

from kb_core.changes import (
    Decided,
    Kept,
    Outbox,
    check_changes,
    decide,
    keep_keys,
    named_ids,
    passage_hash,
)
from kb_core.clock import to_epoch
from kb_core.errors import KbError, NotIndexed
from kb_core.media import MEDIA_ALWAYS_COUNTED
from kb_core.ports import Clock
from kb_core.records import (
    PASSAGES_AT_A_TURN,
    Changes,
    ChunkRecord,
    DocumentRecord,
    FileRecord,
    FileState,
    PendingPassage,
    Publication,
    VectorRecord,
)
from kb_core.testing.fakes import fixed_clock

__all__ = ["MemoryStore"]

_TAGS_SHOWN, _RUNS_SHOWN = 50, 30
_T = TypeVar("_T")
_Json = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class _Truth:
    """All that is stored; a commit changes a copy, which then takes its place."""

    store_id: str = "memory"
    sequence: int = 0
    corpus_revision: int = 0
    vector_revision: int = 0
    pruned: int = 0
    last_doc_key: int = 0
    last_chunk_key: int = 0
    docs: dict[int, DocumentRecord] = field(default_factory=dict)
    files: dict[tuple[str, str], FileRecord] = field(default_factory=dict)
    sources: dict[str, _Json] = field(default_factory=dict)
    models: dict[str, _Json] = field(default_factory=dict)
    embeddings: dict[tuple[str, str], bytes] = field(default_factory=dict)
    """By model key and passage hash."""
    aliases: dict[str, tuple[str, datetime]] = field(default_factory=dict)
    runs: dict[str, _Json] = field(default_factory=dict)
    settings: _Json = field(default_factory=dict)
    outbox: tuple[tuple[int, Outbox], ...] = ()

    def copy(self) -> _Truth:
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        own: dict[str, Any] = {n: dict(v) for n, v in values.items() if isinstance(v, dict)}
        return replace(self, **own)

    def chunks(self) -> dict[int, ChunkRecord]:
        return {chunk.chunk_key: chunk for doc in self.docs.values() for chunk in doc.chunks}

    def owed(self) -> set[tuple[str, int]]:
        """Return model key and chunk key of every chunk whose passage is embedded."""
        pairs = ((m, c) for m in self.models for c in self.chunks().values())
        return {(m, c.chunk_key) for m, c in pairs if (m, c.passage_hash) in self.embeddings}

    def keys_of(self, ids: Iterable[str]) -> dict[str, int]:
        wanted = set(ids)
        return {d.doc_id: d.doc_key for d in self.docs.values() if d.doc_id in wanted}

    def enclosed_in(self, keys: Iterable[int]) -> dict[str, int]:
        files = {(doc.source_id, doc.path) for doc in map(self.docs.__getitem__, keys)}
        docs = (d for d in self.docs.values() if (d.source_id, d.container) in files)
        return {doc.doc_id: doc.doc_key for doc in docs}

    def mint_doc(self) -> int:
        self.last_doc_key += 1
        return self.last_doc_key

    def mint_chunk(self) -> int:
        self.last_chunk_key += 1
        return self.last_chunk_key

    def put(self, decided: Decided) -> None:
        old = {key: self.docs.pop(key, None) for key in decided.touched}
        for write in decided.writes:
            before = old[write.doc_key]
            kept = [
                Kept(c.chunk_key, c.chunk_id, c.passage_hash)
                for c in (before.chunks if before else ())
            ]
            moved = write.moved_from is not None
            keys = keep_keys(kept, write.document.chunks, self.mint_chunk, moved=moved)
            chunks = tuple(
                replace(chunk, chunk_key=key, passage_hash=passage_hash(chunk))
                for key, chunk in zip(keys, write.document.chunks, strict=True)
            )
            self.docs[write.doc_key] = replace(write.document, doc_key=write.doc_key, chunks=chunks)

    def follow(self, moves: Mapping[str, str], written: set[str], now: datetime) -> set[str]:
        """Record moves; return the old ids whose alias changed."""
        led = {old: moves[new] for old, (new, _) in self.aliases.items() if new in moves}
        kept = {old: new for old, new in {**led, **moves}.items() if old not in written}
        touched = led.keys() | (self.aliases.keys() & written) | kept.keys()
        left = {old: alias for old, alias in self.aliases.items() if old not in touched}
        self.aliases = left | {old: (new, now) for old, new in kept.items()}
        return set(touched)


class MemoryStore:
    """``Store`` in a few dictionaries, which are gone with it."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or fixed_clock()
        self._truth = _Truth()
        self._lock = RLock()

    @property
    def store_id(self) -> str:
        return self._truth.store_id

    @property
    def sequence(self) -> int:
        return self._truth.sequence

    @property
    def corpus_revision(self) -> int:
        return self._truth.corpus_revision

    @property
    def vector_revision(self) -> int:
        return self._truth.vector_revision

    def ledger(self, source_id: str) -> dict[str, FileRecord]:
        return {row.path: row for row in self._truth.files.values() if row.source_id == source_id}

    def document(self, doc_id: str) -> DocumentRecord | None:
        return next((d for d in self._truth.docs.values() if d.doc_id == doc_id), None)

    def enclosed(self, source_id: str, path: str) -> dict[str, str]:
        docs = self._truth.docs.values()
        return {
            d.path: d.bytes_hash for d in docs if (d.source_id, d.container) == (source_id, path)
        }

    def count_chunks(self, doc_ids: Sequence[str]) -> int:
        wanted = set(doc_ids)
        return sum(len(d.chunks) for d in self._truth.docs.values() if d.doc_id in wanted)

    def known_bytes(self, hashes: Sequence[str]) -> set[str]:
        rows = (row for row in self._truth.files.values() if row.state is not FileState.DELETED)
        return {row.bytes_hash for row in rows if row.bytes_hash} & set(hashes)

    def doc_ids(self, source_id: str) -> list[str]:
        found = [(d.path, d.doc_id) for d in self._truth.docs.values() if d.source_id == source_id]
        return [doc_id for _, doc_id in sorted(found)]

    def unaccounted_docs(self) -> list[str]:
        rows = self._truth.files.values()
        named = {row.doc_id for row in rows}
        files = {(row.source_id, row.path) for row in rows if row.doc_id}
        return [
            doc.doc_id
            for doc in self._truth.docs.values()
            if doc.doc_id not in named and (doc.source_id, doc.container) not in files
        ]

    def stats(self) -> _Json:
        return _stats(self._truth)

    def commit(self, changes: Changes) -> int:
        check_changes(changes)
        with self._lock:
            before, after = self._truth, self._truth.copy()
            named = after.keys_of(named_ids(changes))
            enclosed = after.enclosed_in(named.values())
            decided = decide(changes, named, after.mint_doc, enclosed)
            after.put(decided)
            outbox = Outbox(documents=set(decided.touched))
            written = {write.document.doc_id for write in decided.writes}
            outbox.aliases = after.follow(decided.moves, written, self._clock())
            after.models |= {key: dict(value) for key, value in changes.models.items()}
            embedded = _embed(after, changes)
            outbox.files = _list(after, changes)
            after.sources |= {key: dict(value) for key, value in changes.sources.items()}
            outbox.vectors = after.owed() - before.owed()
            outbox.dead_chunks = before.chunks().keys() - after.chunks().keys()
            described = (before.models, before.sources) != (after.models, after.sources)
            if decided.touched or embedded or outbox.files or described:
                after.corpus_revision += bool(decided.touched)
                after.vector_revision += embedded
                self._follow(after, outbox)
            return self._truth.sequence

    def _follow(self, after: _Truth, outbox: Outbox | None = None) -> None:
        after.sequence += 1
        after.outbox += ((after.sequence, outbox or Outbox()),)
        self._truth = after

    def forget_expired(self, now: datetime, days: int = 90) -> int:
        limit = now - timedelta(days=days)
        with self._lock:
            after = self._truth.copy()
            files = {
                key
                for key, row in after.files.items()
                if row.state is FileState.DELETED and row.changed_at and row.changed_at < limit
            }
            aliases = {old for old, (_, moved_at) in after.aliases.items() if moved_at < limit}
            after.files = {key: row for key, row in after.files.items() if key not in files}
            after.aliases = {old: new for old, new in after.aliases.items() if old not in aliases}
            if files or aliases:
                self._follow(after, Outbox(files=files, aliases=aliases))
        return len(files) + len(aliases)

    def erase(self, doc_ids: Sequence[str], source_ids: Sequence[str]) -> None:
        with self._lock:
            truth, gone = self._truth, set(doc_ids)
            led = {old: led for old, led in truth.aliases.items() if not gone & {old, led[0]}}
            truth.aliases = led
            truth.sources = {s: v for s, v in truth.sources.items() if s not in source_ids}
            truth.runs = {key: run | {"scope": {}} for key, run in truth.runs.items()}

    def publication(self, since: int) -> Publication | None:
        truth = self._truth
        if since == truth.sequence:
            return None
        if not truth.pruned <= since < truth.sequence:
            raise NotIndexed(
                f"an index at {since} cannot follow a store that replays "
                f"{truth.pruned} to {truth.sequence}"
            )
        news = [outbox for sequence, outbox in truth.outbox if sequence > since]
        documents = {key for outbox in news for key in outbox.documents}
        files = {key for outbox in news for key in outbox.files}
        aliases = {old for outbox in news for old in outbox.aliases}
        vectors = _vectors(truth, sorted({v for outbox in news for v in outbox.vectors}))
        return _publication(
            truth,
            documents=tuple(truth.docs[key] for key in sorted(documents & truth.docs.keys())),
            removed_docs=tuple(sorted(documents - truth.docs.keys())),
            files=tuple(truth.files[key] for key in sorted(files & truth.files.keys())),
            forgotten_files=tuple(sorted(files - truth.files.keys())),
            aliases={old: truth.aliases.get(old, (old, None))[0] for old in sorted(aliases)},
            dead_chunks=tuple(sorted({key for outbox in news for key in outbox.dead_chunks})),
            vectors=vectors,
            models={model: truth.models[model] for model in vectors},
        )

    def prune_outbox(self, published: int) -> None:
        with self._lock:
            truth = self._truth
            truth.outbox = tuple(news for news in truth.outbox if news[0] > published)
            truth.pruned = max(truth.pruned, published)

    def rebuild_publications(self, batch_chunks: int = 4000) -> Iterator[Publication]:
        truth = self._truth
        yield _publication(truth, aliases={old: new for old, (new, _) in truth.aliases.items()})
        for step in _steps(truth, batch_chunks):
            if self._truth.sequence != truth.sequence:
                raise KbError("the store changed while an index was rebuilt from it")
            yield step

    def missing_passages(
        self, model_key: str, limit: int, only: Sequence[int] | None = None
    ) -> list[PendingPassage]:
        def newest_first(doc: DocumentRecord) -> tuple[datetime, int]:
            return doc.doc_date or doc.indexed_at, doc.doc_key

        docs = sorted(self._truth.docs.values(), key=newest_first, reverse=True)
        chunks = (chunk for doc in docs for chunk in doc.chunks)
        missing: dict[str, PendingPassage] = {}
        for chunk in sorted(chunks, key=lambda chunk: chunk.ordinal // PASSAGES_AT_A_TURN):
            if (model_key, chunk.passage_hash) not in self._truth.embeddings:
                pending = PendingPassage(chunk.chunk_key, chunk.passage_hash, chunk.passage)
                missing.setdefault(chunk.passage_hash, pending)
        if only is None:
            return list(missing.values())[:limit]
        known = self._truth.chunks()
        asked = dict.fromkeys(known[key].passage_hash for key in only if key in known)
        return [missing[digest] for digest in asked if digest in missing][:limit]

    def count_missing(self, model_key: str) -> int:
        hashes = {chunk.passage_hash for chunk in self._truth.chunks().values()}
        return sum((model_key, digest) not in self._truth.embeddings for digest in hashes)

    def start_run(self, run_id: str, kind: str, scope: Mapping[str, Any]) -> None:
        run = {"kind": kind, "scope": dict(scope), "state": "running", "finished_at": None}
        self._truth.runs[run_id] = run | {"started_at": self._clock(), "report": {}}

    def finish_run(self, run_id: str, state: str, report: Mapping[str, Any]) -> None:
        if run_id not in self._truth.runs:
            raise KbError(f"run {run_id!r} was never started")
        with self._lock:
            after = self._truth.copy()
            ended = {"state": state, "report": dict(report), "finished_at": self._clock()}
            after.runs[run_id] = after.runs[run_id] | ended
            self._follow(after)

    def get_setting(self, name: str) -> Any:  # noqa: ANN401 - JSON
        return self._truth.settings.get(name)

    def put_setting(self, name: str, value: object) -> None:
        self._truth.settings[name] = value

    def sizes(self) -> dict[str, int]:
        return {"database": 0, "wal": 0, "free": 0, "unused": 0}

    def checkpoint(self) -> None:
        """Do nothing: there is no log."""

    def checkpoint_if_large(self, max_wal_bytes: int) -> bool:
        return max_wal_bytes < 0

    def let_go_if_large(self, max_commit_bytes: int) -> bool:
        return max_commit_bytes < 0

    def compact(self, min_free_share: float = 0.25) -> bool:
        with self._lock:
            needed = {chunk.passage_hash for chunk in self._truth.chunks().values()}
            known = self._truth.embeddings
            self._truth.embeddings = {key: v for key, v in known.items() if key[1] in needed}
        return min_free_share <= 0

    def complete_sums(self) -> int:
        return 0

    def deep_check(self) -> list[str]:
        return []

    def close(self) -> None:
        """Keep everything: whoever holds the store may go on."""


def _embed(truth: _Truth, changes: Changes) -> bool:
    """Keep embeddings that are not there; return whether there were any."""
    if unknown := changes.embeddings.keys() - truth.models.keys():
        raise KbError(f"embeddings of models without a description: {sorted(unknown)}")
    given = {
        (model, digest): vector
        for model, vectors in changes.embeddings.items()
        for digest, vector in vectors.items()
    }
    fresh = {key: vector for key, vector in given.items() if key not in truth.embeddings}
    truth.embeddings |= fresh
    return bool(fresh)


def _list(truth: _Truth, changes: Changes) -> set[tuple[str, str]]:
    """Change the ledger; return the keys of the rows that are different."""
    before = truth.files
    truth.files = before | {(row.source_id, row.path): row for row in changes.files}
    for key in changes.forgotten_files:
        truth.files.pop(key, None)
    keys = before.keys() | truth.files.keys()
    return {key for key in keys if before.get(key) != truth.files.get(key)}


def _publication(truth: _Truth, **parts: Any) -> Publication:  # noqa: ANN401 - its fields
    return Publication(
        sequence=truth.sequence,
        corpus_revision=truth.corpus_revision,
        vector_revision=truth.vector_revision,
        store_id=truth.store_id,
        stats=_stats(truth),
        sources=dict(truth.sources),
        **parts,
    )


def _vectors(truth: _Truth, owed: Iterable[tuple[str, int]]) -> dict[str, tuple[VectorRecord, ...]]:
    chunks = truth.chunks()
    found: dict[str, tuple[VectorRecord, ...]] = {}
    for model, key in owed:
        if key in chunks and (model, chunks[key].passage_hash) in truth.embeddings:
            vector = truth.embeddings[model, chunks[key].passage_hash]
            found[model] = (*found.get(model, ()), VectorRecord(key, vector))
    return found


def _steps(truth: _Truth, batch_chunks: int) -> Iterator[Publication]:
    docs = [truth.docs[key] for key in sorted(truth.docs)]
    for batch in _batches(docs, batch_chunks, lambda doc: len(doc.chunks)):
        yield _publication(truth, documents=batch)
    for rows in _batches([truth.files[key] for key in sorted(truth.files)], batch_chunks):
        yield _publication(truth, files=rows)
    for owed in _batches(sorted(truth.owed()), batch_chunks):
        vectors = _vectors(truth, owed)
        described = {model: truth.models[model] for model in vectors}
        yield _publication(truth, vectors=vectors, models=described)


def _batches(
    rows: Sequence[_T], size: int, weight: Callable[[_T], int] = lambda _: 1
) -> Iterator[tuple[_T, ...]]:
    batch: list[_T] = []
    for row in rows:
        if batch and sum(map(weight, batch)) + weight(row) > size:
            yield tuple(batch)
            batch = []
        batch.append(row)
    if batch:
        yield tuple(batch)


def _stats(truth: _Truth) -> _Json:
    docs = truth.docs.values()
    tags = Counter(tag for doc in docs for tag in doc.tags)
    runs = [run for run in truth.runs.values() if run["state"] != "running"]
    finished = [to_epoch(run["finished_at"]) for run in runs]
    embedded = Counter(model for model, _ in truth.owed())
    return {
        "doc_count": len(docs),
        "chunk_count": len(truth.chunks()),
        "asset_count": sum(bool(doc.asset or doc.bytes_hash) for doc in docs),
        "text_chars": sum(len(doc.text) for doc in docs),
        "token_count": sum(chunk.token_count for doc in docs for chunk in doc.chunks),
        "last_ingest_at": max(finished, default=None),
        "media_breakdown": dict.fromkeys(MEDIA_ALWAYS_COUNTED, 0) | _count(d.media for d in docs),
        "lang_breakdown": _count(doc.lang or "null" for doc in docs),
        "code_lang_breakdown": _count(doc.code_lang for doc in docs if doc.code_lang),
        "repo_breakdown": _count(doc.repo for doc in docs if doc.repo),
        "source_breakdown": _count(doc.source_id for doc in docs),
        "file_states": _count(str(row.state) for row in truth.files.values()),
        "tags": dict(sorted(tags.items(), key=lambda tag: (-tag[1], tag[0]))[:_TAGS_SHOWN]),
        "embedded": {model: embedded[model] for model in sorted(truth.models)},
        "runs": [_run(run) for run in reversed(runs)][:_RUNS_SHOWN],
    }


def _count(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))


def _run(run: _Json) -> _Json:
    counts = run["report"].get("counts", {})
    return {
        "kind": run["kind"],
        "state": run["state"],
        "started_at": to_epoch(run["started_at"]),
        "finished_at": to_epoch(run["finished_at"]),
        "counts": {name: n for name, n in counts.items() if n},
    }
