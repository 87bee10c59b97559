"""Fakes of the ports: an index, an embedder and a counter in a few lines each.

They keep the promises of ``kb_core.testing.contracts`` by the plainest means, so that
a test over them says something about the code that uses a port, and a difference
between them and an engine says something about the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from hashlib import blake2b
from threading import Lock
from typing import Literal

from kb_core.clock import parse_rfc3339, to_epoch
from kb_core.control import EmbeddingModel
from kb_core.errors import ModelNotPulled, ModelUnreachable, NotIndexed, Timeout
from kb_core.language import Delta, End, Message, ModelName, Usage
from kb_core.ports import Clock, never
from kb_core.quantization import dequantize, quantize
from kb_core.records import Control, Publication, VectorFiles
from kb_core.testing._memory import (
    Entry,
    MemorySnapshot,
    State,
    normalized,
    pack_floats,
    words,
)
from kb_core.testing.documents import NOW
from kb_core.values import dataclass, replace

__all__ = ["HashEmbedder", "MemoryIndex", "Script", "ScriptedModel"]
__all__ += ["WholeTextCounter", "WordCounter", "fixed_clock"]

_FIRST = State(control=Control(store_id=""), docs={}, entries={}, files={}, aliases={}, vectors={})


class MemoryIndex:
    """``IndexWriter`` and ``IndexReader`` at once, over one immutable state.

    A publication builds the next state and then replaces the old one, so readers in
    other threads see all of it or nothing.
    """

    def __init__(self) -> None:
        self._state: State | None = None
        self._writing = Lock()

    @property
    def control(self) -> Control | None:
        return self._state.control if self._state else None

    def snapshot(self) -> MemorySnapshot:
        if self._state is None:
            raise NotIndexed("there is no index here", hint="run 'kebab ingest'")
        return MemorySnapshot(self._state)

    def publish(self, publication: Publication, /) -> Control:
        with self._writing:
            self._state = _follow(self._state or _FIRST, publication)
            return self._state.control

    def prepare(self, publication: Publication, /) -> Callable[[], Control]:
        return partial(self.publish, publication)

    @property
    def is_mostly_dead(self) -> bool:
        return False  # what is replaced is gone at once

    @property
    def damage(self) -> Sequence[str]:
        return ()

    def wipe(self) -> None:
        """Forget everything; readers keep the snapshots that they have."""
        self._state = None

    def rebuild(self, publications: Iterable[Publication], /) -> Control:
        with self._writing:
            state = _FIRST
            for publication in publications:
                state = _follow(state, publication)
            self._state = state
            return state.control

    def close(self) -> None:
        """Keep everything: whoever holds the index may go on."""


def _follow(state: State, step: Publication) -> State:
    replaced = {doc.doc_key for doc in step.documents} | set(step.removed_docs)
    docs = {key: doc for key, doc in state.docs.items() if key not in replaced}
    docs |= {doc.doc_key: doc for doc in step.documents}
    entries = {key: e for key, e in state.entries.items() if e.doc.doc_key not in replaced}
    entries |= {c.chunk_key: Entry(doc, c) for doc in step.documents for c in doc.chunks}
    rows = {key: row for key, row in state.files.items() if key not in set(step.forgotten_files)}
    rows |= {(row.source_id, row.path): row for row in step.files}
    vectors = _vectors(state, step, entries.keys() - set(step.dead_chunks))
    return State(
        control=_control(state.control, step, vectors),
        docs=docs,
        entries=entries,
        files=rows,
        aliases={**state.aliases, **step.aliases},
        vectors=vectors,
    )


def _vectors(
    state: State, step: Publication, alive: set[int]
) -> dict[str, dict[int, Sequence[float]]]:
    vectors = {}
    for model in state.vectors.keys() | step.vectors.keys():
        rows = dict(state.vectors.get(model, {}))
        rows |= {r.chunk_key: dequantize(r.vector) for r in step.vectors.get(model, ())}
        vectors[model] = {key: rows[key] for key in sorted(rows) if key in alive}
    return vectors


def _control(
    before: Control, step: Publication, vectors: Mapping[str, Mapping[int, Sequence[float]]]
) -> Control:
    files = {}
    for model, rows in sorted(vectors.items()):
        old = before.vectors.get(model)
        size = len(next(iter(rows.values()), ())) or (old.dimensions if old else 0)
        files[model] = VectorFiles(
            model_key=model,
            dimensions=size,
            generation=1,
            rows=len(rows),
            dead=0,
            model=step.models.get(model) or (old.model if old else {}),
        )
    return replace(
        before,
        store_id=step.store_id,
        sequence=step.sequence,
        corpus_revision=step.corpus_revision,
        vector_revision=step.vector_revision,
        index_version="memory-1",
        published_at=to_epoch(NOW),
        vectors=files,
        stats=step.stats or before.stats,
        sources=step.sources or before.sources,
    )


class HashEmbedder:
    """``Embedder`` that adds up one pseudo-random direction per word.

    Texts that share words are near, equal bags of words are equal; a text without
    words is a direction of its own.
    """

    def __init__(self, dimensions: int = 64, *, name: str = "hash") -> None:
        self._model = EmbeddingModel(
            name=name,
            revision="1",
            dimensions=dimensions,
            max_tokens=512,
            quantization="none",
            pooling="sum",
            query_prefix="",
            passage_prefix="",
            provider="fake",
        )

    @property
    def model(self) -> EmbeddingModel:
        return self._model

    def embed_query(self, text: str, /) -> bytes:
        return pack_floats(self._embed(text))

    def embed_passages(self, texts: Sequence[str], /) -> list[bytes]:
        return [quantize(self._embed(text)) for text in texts]

    def _embed(self, text: str) -> list[float]:
        total = [0.0] * self._model.dimensions
        for word in words(text):
            for at, part in enumerate(self._direction(word)):
                total[at] += part
        return normalized(total)

    def _direction(self, word: str) -> list[float]:
        data = b"".join(
            blake2b(word.encode(), digest_size=64, salt=block.to_bytes(2)).digest()
            for block in range(-(-self._model.dimensions // 64))
        )
        return [byte - 127.5 for byte in data[: self._model.dimensions]]


class WordCounter:
    """``TokenCounter``: a token per word, and one more for every further eight characters."""

    adds_up = True

    def count(self, text: str, /) -> int:
        return sum(-(-len(word) // 8) for word in text.split())

    def count_many(self, texts: Sequence[str], /) -> list[int]:
        return [self.count(text) for text in texts]


class WholeTextCounter:
    """``TokenCounter``: a token per word, and none that could be summed up over parts of a text."""

    adds_up = False

    def count(self, text: str, /) -> int:
        return len(text.split())

    def count_many(self, texts: Sequence[str], /) -> list[int]:
        return [self.count(text) for text in texts]


@dataclass(frozen=True, slots=True)
class Script:
    """What a language model says, and what goes wrong with it, if anything."""

    pieces: tuple[str, ...] = ()
    fault: Literal["", "unreachable", "missing", "cut_off", "silent"] = ""
    """Nobody is there; it lacks the model; it breaks off, or falls silent, after the pieces."""


class ScriptedModel:
    """``LanguageModel`` that says the same whatever it is told, a token per word.

    ``told`` keeps what it was told.
    """

    def __init__(self, script: Script) -> None:
        self._script = script
        self.told: list[tuple[Message, ...]] = []

    @property
    def name(self) -> ModelName:
        return ModelName("scripted", "fake")

    def check(self, *, stop: Callable[[], bool] = never) -> None:  # noqa: ARG002 - the port's
        if self._script.fault == "unreachable":
            raise ModelUnreachable("nobody is there", hint="start it")
        if self._script.fault == "missing":
            raise ModelNotPulled("it has no model 'scripted'", hint="pull scripted")

    def count(self, text: str, /) -> int | None:
        return len(text.split())

    def generate(
        self,
        messages: Sequence[Message],
        /,
        *,
        max_tokens: int,  # noqa: ARG002 - the port's
        stop: Callable[[], bool] = never,
    ) -> Generator[Delta]:
        if stop():
            return
        self.check()
        self.told.append(tuple(messages))
        for piece in self._script.pieces:
            if stop():
                return
            yield Delta(piece)
        if self._script.fault == "cut_off":
            raise ModelUnreachable("it broke off", hint="ask again")
        if self._script.fault == "silent":
            raise Timeout("it fell silent", hint="wait longer")
        if not stop():
            said = "".join(self._script.pieces)
            yield Delta(end=End("stop", Usage(None, self.count(said))))


def fixed_clock(at: datetime | str = NOW) -> Clock:
    """Return a clock that stands still at *at*, an instant or RFC 3339."""
    instant = parse_rfc3339(at) if isinstance(at, str) else at
    return lambda: instant
