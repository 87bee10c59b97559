"""Vectors of several queries, asked for in one call (ruling R12).

Each text is one run of the model, so that its vector is that of a single search. They are
computed in order on a thread of their own, while earlier queries search and read: the
model does not hold the interpreter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from threading import Event, Thread
from types import TracebackType
from typing import Self

from kb_core.errors import KbError

__all__ = ["EmbeddingAhead"]


class EmbeddingAhead:
    """Embeds *texts*, each once; a context manager that waits for its thread at the end.

    Called like what it wraps. Where the model cannot be loaded, that is tried once.
    """

    def __init__(self, embed: Callable[[str], bytes], texts: Sequence[str]) -> None:
        self._embed = embed
        self._vectors: dict[str, Future[bytes]] = {text: Future() for text in texts}
        self._stop = Event()
        self._thread = Thread(target=self._work, name="kebab-queries")

    def __call__(self, text: str) -> bytes:
        """Return the vector of *text*, waiting for it."""
        return self._vectors[text].result()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()
        for vector in self._vectors.values():
            vector.cancel()

    def _work(self) -> None:
        failure: KbError | None = None
        for text, vector in self._vectors.items():
            if self._stop.is_set():
                return
            if failure is not None:
                vector.set_exception(failure)
                continue
            try:
                vector.set_result(self._embed(text))
            except BaseException as error:  # noqa: BLE001 - raised again where it is asked for
                vector.set_exception(error)
                failure = error if isinstance(error, KbError) else None
