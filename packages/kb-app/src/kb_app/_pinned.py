"""Pinned sources: a configuration that sees some sources of a knowledge base, and only reads.

``[search] allowed_sources`` names them. The pin stands between the index and everything that
reads it, and narrows what an id names as well as what is found, so that no query, citation,
chunk or path leads past it. What would answer from elsewhere (the store, conversations, runs,
safety copies) is refused.

**Invariant:** nothing of a snapshot is handed through unseen: a method that the port grows has
to be written here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set as AbstractSet
from typing import TYPE_CHECKING, Any, TypeVar

from kb_core.errors import ReadonlyMode
from kb_core.filters import OneOf, all_of
from kb_core.values import replace

if TYPE_CHECKING:
    from kb_app.config import Config
    from kb_core.control import Control, VectorFiles
    from kb_core.filters import Filter
    from kb_core.ports import (
        IndexReader,
        IndexSnapshot,
        StoredChunk,
        StoredDoc,
        StoredFile,
        TextBatch,
    )
    from kb_core.search import KnownWords, LexicalQuery, Parent, Relaxation, Sampling, Scored
    from kb_core.stored import Ledger

__all__ = ["PinnedReader", "is_pinned", "refuse_pinned", "seen_sources"]

V = TypeVar("V")
S = TypeVar("S", "StoredChunk", "StoredDoc")

_COUNTED = {
    "media_breakdown": "media",
    "lang_breakdown": "lang",
    "code_lang_breakdown": "code_lang",
    "repo_breakdown": "repo",
}
_TAGS_SHOWN = 50


def is_pinned(config: Config) -> bool:
    """Say whether *config* sees some sources alone."""
    return bool(config.search.allowed_sources)


def refuse_pinned(config: Config, what: str) -> None:
    """Raise ``ReadonlyMode`` where *config* is pinned: *what* writes, or asks past the pin."""
    if is_pinned(config):
        raise ReadonlyMode(
            f"{what} is refused: search.allowed_sources pins this configuration to reading "
            f"{', '.join(config.search.allowed_sources)}",
            hint="run it with the configuration of the knowledge base itself",
            details={"operation": what, "field": "search.allowed_sources"},
        )


def seen_sources(config: Config) -> Config:
    """Return *config* without the sources that it may not see."""
    if not is_pinned(config):
        return config
    allowed = config.search.allowed_sources
    return replace(config, sources=tuple(s for s in config.sources if s.id in allowed))


class PinnedReader:
    """Hands out snapshots of which only *sources* are seen."""

    def __init__(self, reader: IndexReader, sources: Collection[str]) -> None:
        self._reader, self._sources = reader, tuple(sources)
        self._last: PinnedSnapshot | None = None

    def snapshot(self) -> IndexSnapshot:
        whole = self._reader.snapshot()
        if self._last is None or self._last.whole is not whole:
            self._last = PinnedSnapshot(whole, self._sources)
        return self._last

    def close(self) -> None:
        self._last = None
        self._reader.close()


class PinnedSnapshot:
    """A snapshot of some sources, and of nothing else: by filters, by ids and in its counts.

    What words weigh follows from the whole index, as for every filter (ruling R13).
    """

    def __init__(self, whole: IndexSnapshot, sources: tuple[str, ...]) -> None:
        self.whole = whole
        self._sources = sources
        self._allowed = frozenset(sources)
        self._where = OneOf("source_id", sources)
        self._control = _control(self)

    @property
    def control(self) -> Control:
        return self._control

    @property
    def damage(self) -> Mapping[str, str]:
        return self.whole.damage

    @property
    def languages(self) -> Sequence[str]:
        return self.whole.languages

    def known_words(self, query: LexicalQuery, /) -> KnownWords:
        return self.whole.known_words(query)

    def relaxation(self, query: LexicalQuery, /) -> Relaxation | None:
        return self.whole.relaxation(query)

    def roughly(self) -> PinnedSnapshot:
        return PinnedSnapshot(self.whole.roughly(), self._sources)

    def sampled(self, sampling: Sampling, /) -> PinnedSnapshot:
        return PinnedSnapshot(self.whole.sampled(sampling), self._sources)

    def drift(self) -> float:
        return self.whole.drift()

    # By filters

    def lexical(self, query: LexicalQuery, where: Filter | None, limit: int, /) -> Sequence[Scored]:
        return self.whole.lexical(query, self._both(where), limit)

    def vector(
        self,
        query: bytes,
        model_key: str,
        where: Filter | None,
        limit: int,
        /,
        *,
        above: float = 0.0,
    ) -> Sequence[Scored]:
        return self.whole.vector(query, model_key, self._both(where), limit, above=above)

    def count(self, where: Filter | None, /) -> int:
        return self.whole.count(self._both(where))

    def count_docs(self, where: Filter | None, /) -> int:
        return self.whole.count_docs(self._both(where))

    def docs(self, where: Filter | None, /) -> Sequence[StoredDoc]:
        return self.whole.docs(self._both(where))

    def files(self, where: Filter | None, /) -> Sequence[StoredFile]:
        return self.whole.files(self._both(where))

    def ledger(self, where: Filter | None, /) -> Ledger:
        return self.whole.ledger(self._both(where))

    def texts(self, where: Filter | None, needs: Sequence[Sequence[str]], /) -> Iterator[TextBatch]:
        return self.whole.texts(self._both(where), needs)

    def _both(self, where: Filter | None) -> Filter | None:
        return all_of([self._where, where])

    # By ids

    def chunks(self, keys: Sequence[int], /) -> Mapping[int, StoredChunk]:
        return self._allowed_of(self.whole.chunks(keys))

    def parents(self, keys: Sequence[int], /) -> Mapping[int, Parent]:
        return self.whole.parents(list(self.chunks(keys)))

    def docs_of(self, keys: Sequence[int], /) -> Mapping[int, StoredDoc]:
        return self._allowed_of(self.whole.docs_of(keys))

    def docs_called(self, names: Sequence[str], /) -> Sequence[StoredDoc]:
        return self._seen(self.whole.docs_called(names))

    def docs_linking(self, names: Sequence[str], /) -> Sequence[StoredDoc]:
        return self._seen(self.whole.docs_linking(names))

    def find_chunks(self, id_prefix: str, limit: int, /) -> Sequence[StoredChunk]:
        return self._first(self.whole.find_chunks, id_prefix, limit)

    def find_docs(self, id_prefix: str, limit: int, /) -> Sequence[StoredDoc]:
        return self._first(self.whole.find_docs, id_prefix, limit)

    def doc_chunks(self, doc_id: str, /) -> Sequence[StoredChunk]:
        chunks = self.whole.doc_chunks(doc_id)
        return [chunk for chunk in chunks if chunk["source_id"] in self._allowed]

    def doc_text(self, doc_id: str, /) -> str | None:
        is_seen = self.count_docs(OneOf("doc_id", (doc_id,)))
        return self.whole.doc_text(doc_id) if is_seen else None

    def vectors_of(self, keys: Sequence[int], model_key: str, /) -> Mapping[int, bytes]:
        return self.whole.vectors_of(list(self.chunks(keys)), model_key)

    def with_vector(self, keys: Sequence[int], model_key: str, /) -> AbstractSet[int]:
        return self.whole.with_vector(list(self.chunks(keys)), model_key)

    def elsewhere(
        self, keys: Sequence[int], than: int, model_key: str, /
    ) -> AbstractSet[int] | None:
        return self.whole.elsewhere(keys, than, model_key)

    def _seen(self, docs: Sequence[StoredDoc]) -> list[StoredDoc]:
        return [doc for doc in docs if doc["source_id"] in self._allowed]

    def _allowed_of(self, rows: Mapping[int, S]) -> dict[int, S]:
        return {key: row for key, row in rows.items() if row["source_id"] in self._allowed}

    def _first(self, find: Callable[[str, int], Sequence[S]], prefix: str, limit: int) -> list[S]:
        """Return the first *limit* that are seen, however many others come before them."""
        asked = limit
        while True:
            rows = find(prefix, asked)
            seen = [row for row in rows if row["source_id"] in self._allowed]
            if len(seen) >= limit or len(rows) < asked:
                return seen[:limit]
            asked *= 4


class _Told(Mapping[str, V]):
    """A mapping whose values are found out when they are asked for, each once."""

    def __init__(self, makers: Mapping[str, Callable[[], V]]) -> None:
        self._makers = makers
        self._made: dict[str, V] = {}

    def __getitem__(self, name: str) -> V:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


def _control(seen: PinnedSnapshot) -> Control:
    """Return the control record of the whole, with what it tells of the sources that are seen."""
    whole = seen.whole.control
    vectors: Mapping[str, VectorFiles] = _Told(
        {key: lambda key=key: _vectors(seen, key) for key in whole.vectors}  # type: ignore[misc]
    )
    allowed = seen._allowed  # noqa: SLF001 - made for its snapshot
    return replace(
        whole,
        vectors=vectors,
        statistics={},
        stats=_stats(seen, whole.stats),
        sources={name: row for name, row in whole.sources.items() if name in allowed},
    )


def _vectors(seen: PinnedSnapshot, key: str) -> VectorFiles:
    return replace(seen.whole.control.vectors[key], rows=_embedded(seen, key), dead=0)


def _embedded(seen: PinnedSnapshot, key: str) -> int:
    """Return how many passages have a vector; only of an index in part embedded all are read."""
    stats = seen.whole.control.stats
    if stats.get("embedded", {}).get(key, 0) >= stats.get("chunk_count", 0):
        return seen.count(None)
    keys = [c["chunk_key"] for d in seen.docs(None) for c in seen.doc_chunks(d["doc_id"])]
    return len(seen.whole.with_vector(keys, key))


def _stats(seen: PinnedSnapshot, whole: Mapping[str, Any]) -> Mapping[str, Any]:
    makers: dict[str, Callable[[], Any]] = {
        "doc_count": lambda: seen.count_docs(None),
        "chunk_count": lambda: seen.count(None),
        "asset_count": lambda: sum(bool(d["asset"] or d["bytes_hash"]) for d in seen.docs(None)),
        "source_breakdown": lambda: dict(Counter(d["source_id"] for d in seen.docs(None))),
        "file_states": lambda: _states(seen.ledger(None)),
        "tags": lambda: _tags(seen),
        "embedded": lambda: {key: _embedded(seen, key) for key in seen.whole.control.vectors},
        "last_ingest_at": lambda: whole.get("last_ingest_at"),
        "runs": list,
    }
    for name, field in _COUNTED.items():
        makers[name] = lambda field=field: _values(seen, field)  # type: ignore[misc]
    return _Told({name: make for name, make in makers.items() if name in whole})


def _values(seen: PinnedSnapshot, field: str) -> dict[str, int]:
    values = Counter(doc[field] for doc in seen.docs(None))  # type: ignore[literal-required]
    unsaid = values.pop(None, 0)
    named = {"null": unsaid} if unsaid and field == "lang" else {}
    return dict(sorted({**values, **named}.items()))


def _states(ledger: Ledger) -> dict[str, int]:
    states: Counter[str] = Counter()
    for (state, _), count in ledger.counts.items():
        states[state] += count
    return dict(states)


def _tags(seen: PinnedSnapshot) -> dict[str, int]:
    tags = Counter(tag for doc in seen.docs(None) for tag in doc["tags"])
    ordered = sorted(tags.items(), key=lambda each: (-each[1], each[0]))
    return dict(ordered[:_TAGS_SHOWN])
