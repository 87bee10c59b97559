"""The second phase of ingest: vectors for passages that have none, newest documents first.

What somebody searches for meanwhile comes before them: the passages that its words find.

Each batch is committed to the truth and published before the next, so cancelling or
crashing loses nothing and the next run goes on where this one stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import asdict
from datetime import datetime
from threading import Event
from typing import TYPE_CHECKING

from kb_app.jobs import take_wishes
from kb_core.ingest import IngestEvent
from kb_core.ports import Embedder
from kb_core.records import Changes, PendingPassage

if TYPE_CHECKING:
    from kb_app._write import WriteSession

__all__ = ["embed_batch", "embed_missing"]

_FIRST_BATCH = 32
_BATCH_SECS = 2.0
_LARGEST_BATCH = 1024
_WISHED_BATCH = 32
"""Passages that a search asked for are published together: a second or two after it."""


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
    wished: list[int] = []
    started = time.perf_counter()
    while done < total and not stop.is_set():
        wished = [*take_wishes(session.data), *wished]
        now, wished = wished[:_WISHED_BATCH], wished[_WISHED_BATCH:]
        room = min(size, total - done)
        pending = session.store.missing_passages(model_key, room, now) if now else ()
        pending = pending or session.store.missing_passages(model_key, room)
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


def embed_batch(
    session: WriteSession, model: Embedder, model_key: str, pending: Sequence[PendingPassage]
) -> None:
    """Embed passages, and commit and publish their vectors."""
    vectors = model.embed_passages([passage.passage for passage in pending])
    hashes = [passage.passage_hash for passage in pending]
    session.commit(
        Changes(
            embeddings={model_key: dict(zip(hashes, vectors, strict=True))},
            models={model_key: asdict(model.model)},
        )
    )
