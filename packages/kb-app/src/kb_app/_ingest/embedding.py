"""The second phase of ingest: vectors for passages that have none, newest documents first.

What somebody searches for meanwhile comes before them: the passages that its words find.

Each batch is committed to the truth and published before the next, so cancelling or
crashing loses nothing and the next run goes on where this one stopped.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from datetime import datetime
from threading import Event
from typing import TYPE_CHECKING

from kb_app.jobs import take_wishes
from kb_core.ingest import IngestEvent
from kb_core.records import Changes, PendingPassage
from kb_core.values import as_dict

if TYPE_CHECKING:
    from kb_app._write import WriteSession
    from kb_core.ports import Embedder

__all__ = ["embed_batch", "embed_missing"]

_FIRST_BATCH = 32
_BATCH_SECS = 2.0
_LARGEST_BATCH = 1024
_WISHED_BATCH = 32
"""Passages that a search asked for are published together: a second or two after it."""
_ASKED = 2048
"""Passages that the store is asked for at once: in which order they come, it finds by looking
at all, among a million for a sixth of a second."""


def embed_missing(
    session: WriteSession,
    embedder: Callable[[], Embedder],
    model_key: str,
    clock: Callable[[], datetime],
    stop: Event,
    most: int | None = None,
) -> Generator[IngestEvent, None, tuple[int, int]]:
    """Embed what has no vector of the model; return how many were done and are left.

    With *most*, only so many passages. The model is loaded only if something is missing.
    """
    missing = session.store.count_missing(model_key)
    total = missing if most is None else min(most, missing)
    done = 0
    size = _FIRST_BATCH
    waiting = _Waiting(session, model_key)
    started = time.perf_counter()
    while done < total and not stop.is_set():
        pending = waiting.next(min(size, total - done))
        if not pending:
            break
        begun = time.perf_counter()
        model = embedder()
        embed_batch(session, model, model_key, pending)
        done += len(pending)
        spent = time.perf_counter() - begun
        # Batches as long as a person is willing to wait for a sign of life.
        size = max(8, min(_LARGEST_BATCH, round(len(pending) * _BATCH_SECS / max(spent, 0.01))))
        elapsed = time.perf_counter() - started
        yield IngestEvent(
            kind="embed_batch_finished",
            at=clock(),
            data={
                "done": done,
                "total": max(total, done),
                "eta_ms": round(elapsed / done * max(0, total - done) * 1000),
            },
        )
    return done, session.store.count_missing(model_key)


class _Waiting:
    """What is to be embedded: what somebody searches for, then the next of what has no vector."""

    def __init__(self, session: WriteSession, model_key: str) -> None:
        self._session = session
        self._model_key = model_key
        self._wished: list[int] = []
        self._asked: deque[PendingPassage] = deque()
        self._done: set[str] = set()
        """Hashes of what somebody searched for since the store was asked."""

    def next(self, room: int) -> Sequence[PendingPassage]:
        """Return passages, at most *room*, each once, if those before are committed."""
        store = self._session.store
        self._wished = [*take_wishes(self._session.data), *self._wished]
        now, self._wished = self._wished[:_WISHED_BATCH], self._wished[_WISHED_BATCH:]
        if now and (wished := store.missing_passages(self._model_key, room, now)):
            self._done |= {one.passage_hash for one in wished}
            return wished
        found: list[PendingPassage] = []
        while len(found) < room and self._asked:
            one = self._asked.popleft()
            if one.passage_hash not in self._done:
                found.append(one)
        if found:
            return found
        self._done.clear()
        self._asked.extend(store.missing_passages(self._model_key, max(room, _ASKED)))
        return [self._asked.popleft() for _ in range(min(room, len(self._asked)))]


def embed_batch(
    session: WriteSession, model: Embedder, model_key: str, pending: Sequence[PendingPassage]
) -> None:
    """Embed passages, and commit and publish their vectors."""
    vectors = model.embed_passages([passage.passage for passage in pending])
    hashes = [passage.passage_hash for passage in pending]
    session.commit(
        Changes(
            embeddings={model_key: dict(zip(hashes, vectors, strict=True))},
            models={model_key: as_dict(model.model)},
        )
    )
