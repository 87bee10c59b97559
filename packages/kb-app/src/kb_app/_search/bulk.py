"""Several searches in one call: over one snapshot, with one call for all vectors.

Results come in the order asked, each as soon as it is there. A failure stays with its
query; what comes of a query is what the single search would give. Each text is one run of
the model, so that its vector is that of a single search (ruling R12). Vectors are computed
in order on a thread of their own, while earlier queries search and read: the model does not
hold the interpreter.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Event, Thread
from types import TracebackType
from typing import Self, TypeVar

from kb_app._search.channels import Channel
from kb_app._search.engine import Engine
from kb_core.errors import InvalidInput, KbError
from kb_core.search import MAX_QUERIES, MAX_TRACED, Outcome, SearchQuery

__all__ = ["Asked", "EmbeddingAhead", "checked", "each", "search_many"]

Asked = SearchQuery | KbError
"""A query, or why it is none."""

_Answer = TypeVar("_Answer")


def checked(queries: Sequence[Asked]) -> list[Asked]:
    """Return the queries, those with a trace too many as errors.

    ``InvalidInput`` for more than ``MAX_QUERIES``.
    """
    if len(queries) > MAX_QUERIES:
        raise InvalidInput(
            f"queries: max {MAX_QUERIES} items",
            hint="ask in several calls",
            details={"field": "queries", "value": len(queries), "max": MAX_QUERIES},
        )
    found: list[Asked] = []
    traced = 0
    for query in queries:
        wants_trace = isinstance(query, SearchQuery) and query.trace
        traced += wants_trace
        found.append(_too_many_traces() if wants_trace and traced > MAX_TRACED else query)
    return found


def search_many(engine: Engine, queries: Sequence[Asked]) -> Generator[Outcome, None, None]:
    """Yield what becomes of each query, in order; nothing is asked before it is waited for."""
    return each(engine, checked(queries), lambda _, query: engine.search(query))


def each(
    engine: Engine, queries: Sequence[Asked], answer: Callable[[int, SearchQuery], _Answer]
) -> Generator[_Answer | KbError, None, None]:
    """Yield what *answer* makes of each position and query with *engine*, or why it is none."""
    with _ahead(engine, queries):
        for position, query in enumerate(queries):
            try:
                if isinstance(query, KbError):
                    raise query
                outcome: _Answer | KbError = answer(position, query)
            except KbError as error:
                outcome = error
            yield outcome


def _ahead(engine: Engine, queries: Sequence[Asked]) -> AbstractContextManager[None]:
    texts = list(dict.fromkeys(_embedded(engine, queries))) if _has_vectors(engine) else []
    return _embedding(engine, texts) if len(texts) > 1 else nullcontext()


@contextmanager
def _embedding(engine: Engine, texts: Sequence[str]) -> Iterator[None]:
    one_by_one = engine.embed
    with EmbeddingAhead(one_by_one, texts) as ahead:
        engine.embed = ahead
        try:
            yield
        finally:
            engine.embed = one_by_one


def _embedded(engine: Engine, queries: Sequence[Asked]) -> Iterator[str]:
    """Yield the texts that the vector channel is asked about."""
    for query in queries:
        if isinstance(query, SearchQuery) and Channel.VECTOR in Channel.of(query.mode):
            yield engine.meant(query)


def _has_vectors(engine: Engine) -> bool:
    files = engine.snapshot.control.vectors.get(engine.settings.model_key or "")
    return files is not None and files.rows > files.dead


def _too_many_traces() -> InvalidInput:
    return InvalidInput(
        f"trace: at most {MAX_TRACED} queries of one call may be traced",
        hint="ask for this trace in a call of its own",
        details={"field": "trace", "max": MAX_TRACED},
    )


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
