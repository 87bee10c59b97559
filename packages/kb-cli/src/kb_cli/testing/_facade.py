"""A facade that answers what it was told to, and remembers what it was asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Self

from kb_app.editors import FilePlace
from kb_core import wire
from kb_core.bulk import AggregatedResponse, Outcome
from kb_core.citations import Citation, CodeSpan, LineSpan
from kb_core.errors import KbError
from kb_core.ingest import IngestEvent, IngestOptions, IngestReport
from kb_core.search import Hit, Retrieval, SearchFilters, SearchQuery, SearchResponse

__all__ = ["FakeKnowledgeBase", "event", "hit", "report", "response"]

NOW = datetime(2026, 5, 31, 12, 0, tzinfo=UTC)
CHUNK_ID, DOC_ID = "5669ef1867462f246ba69791918ea713", "1c0ffee5000000000000000000000001"


class FakeKnowledgeBase:
    """Stands in for ``kb_app.KnowledgeBase``.

    ``answers`` maps a method to what it returns; ``events`` are what ingest and embed
    yield; ``asked`` lists the calls. With ``error``, every call raises it.
    """

    def __init__(
        self,
        answers: dict[str, Any] | None = None,
        *,
        events: list[IngestEvent | Callable[[], object]] | None = None,
        error: Exception | None = None,
    ) -> None:
        self.answers = answers or {}
        self.events = events or [event("completed", report=report())]
        self.error = error
        self.asked: list[tuple[str, Any]] = []
        self.config: Any = None
        self.readonly = False
        self.is_open = False
        self.ended_open = False
        """True if the events ended while the knowledge base was open."""

    def __enter__(self) -> Self:
        self.is_open = True
        return self

    def __exit__(self, *_: object) -> None:
        self.is_open = False

    def _answer(self, name: str, given: object, otherwise: object = None) -> Any:  # noqa: ANN401
        assert self.is_open, "a command uses the knowledge base only while it is open"
        self.asked.append((name, given))
        if self.error:
            raise self.error
        return self.answers.get(name, otherwise)

    def search(self, query: SearchQuery) -> SearchResponse:
        found: SearchResponse = self._answer("search", query, response())
        return replace(found, mode=query.mode)

    def search_many(
        self, queries: Sequence[SearchQuery | KbError]
    ) -> Generator[Outcome, None, None]:
        outcomes = self._answer("search_many", queries, [response()] * len(queries))
        for query, outcome in zip(queries, outcomes, strict=True):
            yield query if isinstance(query, KbError) else outcome

    def search_aggregated(
        self, queries: Sequence[SearchQuery | KbError], **options: int | Sequence[Any] | None
    ) -> AggregatedResponse:
        outcomes = tuple(q if isinstance(q, KbError) else response() for q in queries)
        nothing = AggregatedResponse(outcomes=outcomes, hits=())
        found: AggregatedResponse = self._answer("search_aggregated", (queries, options), nothing)
        return replace(found, outcomes=outcomes)

    def codebase_search(self, request: Mapping[str, Any]) -> Any:  # noqa: ANN401
        nothing = wire.codebase_search_response(
            [{"query": "x"}], (), truncated=False, errors={}, degraded=(), warnings=()
        )
        return self._answer("codebase_search", request, nothing)

    def fetch_chunk(self, chunk_id: str, *, context: int = 0) -> Any:  # noqa: ANN401
        return self._answer("fetch_chunk", (chunk_id, context), _fetched_chunk())

    def fetch_doc(self, doc_id: str, *, max_tokens: int | None = None) -> Any:  # noqa: ANN401
        return self._answer("fetch_doc", (doc_id, max_tokens), _fetched("doc"))

    def fetch_span(
        self, doc_id: str, start: int, end: int, *, max_tokens: int | None = None
    ) -> Any:  # noqa: ANN401
        lines = {"line_start": start, "line_end": end, "effective_end": end}
        asked = (doc_id, start, end, max_tokens)
        return self._answer("fetch_span", asked, _fetched("span") | lines)

    def cite(self, uri: str, *, source: str | None = None) -> Any:  # noqa: ANN401
        lines = {"line_start": 3, "line_end": 3, "effective_end": 3}
        return self._answer("cite", (uri, source), _fetched("span") | lines)

    def verify_citations(self, items: Iterable[Any], *, source: str | None = None) -> Any:  # noqa: ANN401
        return self._answer("verify_citations", (list(items), source), wire.citation_check([]))

    def locate(self, uri: str, *, source: str | None = None) -> Any:  # noqa: ANN401
        return self._answer("locate", (uri, source), FilePlace("/notes/a.md", line=3))

    def list_docs(self, filters: SearchFilters, *, limit: int = 100, offset: int = 0) -> Any:  # noqa: ANN401
        nothing = wire.doc_list([], total=0)
        return self._answer("list_docs", (filters, limit, offset), nothing)

    def inspect_doc(self, doc_id: str) -> Any:  # noqa: ANN401
        return self._answer("inspect_doc", doc_id, _inspected_doc())

    def inspect_chunk(self, chunk_id: str) -> Any:  # noqa: ANN401
        return self._answer("inspect_chunk", chunk_id, _chunk("text\n", version=True))

    def status(self, path_glob: str | None = None, state: str | None = None) -> Any:  # noqa: ANN401
        nothing = wire.file_status([], wire.coverage([], chunks=0, embedded=0))
        return self._answer("status", (path_glob, state), nothing)

    def schema(self) -> Any:  # noqa: ANN401
        counts = wire.stats({}, index_bytes={})
        able = {"json_mode": True, "readonly": True}
        models = {"parser": "p1", "chunker": "c1"}
        return self._answer(
            "schema", None, wire.schema_report(capabilities=able, models=models, counts=counts)
        )

    def stats(self) -> Any:  # noqa: ANN401
        return self._answer("stats", None, wire.stats_report(wire.stats({}, index_bytes={})))

    def doctor(self, *, deep: bool = False) -> Any:  # noqa: ANN401
        checks = [{"name": "configuration", "ok": True, "detail": "it loads"}]
        return self._answer("doctor", deep, wire.doctor(checks))

    def models(self) -> Any:  # noqa: ANN401
        return self._answer("models", None, wire.model_list([]))

    def ingest(
        self, options: IngestOptions, *, stop: threading.Event | None = None
    ) -> Iterator[IngestEvent]:
        self._answer("ingest", options)
        yield from self._events(stop)

    def embed(self, *, stop: threading.Event | None = None) -> Iterator[IngestEvent]:
        self._answer("embed", None)
        yield from self._events(stop)

    def ingest_file(
        self, path: str, *, embed: bool = True, stop: threading.Event | None = None
    ) -> Iterator[IngestEvent]:
        self._answer("ingest_file", (path, embed))
        yield from self._events(stop)

    def ingest_text(
        self, text: str, *, stop: threading.Event | None = None, **given: str | bool | None
    ) -> Iterator[IngestEvent]:
        self._answer("ingest_text", {"text": text, **given})
        yield from self._events(stop)

    def remove_added(
        self, key: str, *, stop: threading.Event | None = None
    ) -> Iterator[IngestEvent]:
        self._answer("remove_added", key)
        yield from self._events(stop)

    def _events(self, stop: threading.Event | None) -> Iterator[IngestEvent]:
        """Yield the events; call what is callable instead; stop as the real one does."""
        try:
            for happens in self.events:
                if stop is not None and stop.is_set():
                    yield event("aborted", report=report(aborted=True))
                    return
                if isinstance(happens, IngestEvent):
                    yield happens
                else:
                    happens()
        finally:
            self.ended_open = self.is_open

    def reset(self, scope: str, *, dry_run: bool) -> Any:  # noqa: ANN401
        gone = [("/data/kebab/truth.duckdb", 4096), ("/data/kebab/lexical", 1_200_000)]
        word = scope.removesuffix("-only")
        return self._answer(
            "reset", (scope, dry_run), wire.reset_report(word, gone, dry_run=dry_run)
        )


def event(kind: str, *, report: IngestReport | None = None, **data: Any) -> IngestEvent:  # noqa: ANN401
    """Return an event; with *report*, the last one of a run."""
    if report is not None:
        data |= {"counts": dict(report.counts), "duration_ms": report.duration_ms}
    return IngestEvent(kind=kind, at=NOW, data=data, report=report)


def report(**fields: Any) -> IngestReport:  # noqa: ANN401 - of IngestReport
    """Return a report of a run in which nothing happened, but for *fields*."""
    nothing: dict[str, Any] = {
        "scope": {"sources": ["notes"]},
        "items": (),
        "counts": {},
        "scanned": 0,
        "duration_ms": 12,
    }
    return IngestReport(**nothing | fields)


def hit(**fields: Any) -> Hit:  # noqa: ANN401 - of Hit
    """Return a hit in a note, but for *fields*; ``lines`` are those of its citation."""
    first, last = fields.pop("lines", (661, 672))
    path = fields.setdefault("doc_path", "notes/rust/architecture.md")
    span = CodeSpan if fields.get("media") == "code" else LineSpan
    usual: dict[str, Any] = {
        "rank": 1,
        "score": 0.8234,
        "score_kind": "rrf",
        "chunk_id": CHUNK_ID,
        "doc_id": DOC_ID,
        "title": "Architecture",
        "heading_path": ("Architecture", "Chunking"),
        "section_label": "Chunking",
        "snippet": "heading boundaries first; a code block\nis never cut in two",
        "snippet_full_text": False,
        "citation": Citation(path, span(first, last)),
        "retrieval": Retrieval(method="hybrid", fusion_score=0.8234, lexical_rank=1),
        "index_version": "i1",
        "chunker_version": "c1",
        "embedding_model": None,
        "indexed_at": 1_780_000_000,
        "stale": False,
        "source_id": "notes",
        "source_type": "note",
        "trust_level": "primary",
        "lang": "en",
        "media": "markdown",
    }
    return Hit(**usual | fields)


def response(*hits: Hit, **fields: Any) -> SearchResponse:  # noqa: ANN401 - of SearchResponse
    """Return a response over 12 documents and 1,204 chunks."""
    usual: dict[str, Any] = {
        "hits": hits,
        "corpus_revision": 7,
        "elapsed_ms": 8.4,
        "index_size": {"documents": 12, "chunks": 1204},
    }
    return SearchResponse(**usual | fields)


def _fetched(kind: str) -> dict[str, Any]:
    return {
        "schema_version": "fetch_result.v1",
        "kind": kind,
        "doc_id": DOC_ID,
        "doc_path": "notes/a.md",
        "indexed_at": "2026-05-31T12:00:00Z",
        "stale": False,
        "truncated": False,
        "text": "# A\n\none\n",
    }


def _fetched_chunk() -> dict[str, Any]:
    result = {key: value for key, value in _fetched("chunk").items() if key != "text"}
    return result | {"chunk": _chunk("one\n"), "context_before": [], "context_after": []}


def _chunk(text: str, *, version: bool = False) -> dict[str, Any]:
    head = {"schema_version": "chunk_inspection.v1"} if version else {}
    return head | {
        "chunk_id": CHUNK_ID,
        "doc_id": DOC_ID,
        "doc_path": "notes/a.md",
        "ordinal": 0,
        "heading_path": ["A", "B"],
        "text": text,
        "char_start": 5,
        "char_end": 5 + len(text),
        "source_spans": [wire.citation(Citation("notes/a.md", LineSpan(3, 3)))],
        "token_count": 1,
        "chunker_version": "c1",
        "embeddings": [{"model": "e5.int8.1", "dimensions": 384}],
    }


def _inspected_doc() -> dict[str, Any]:
    return {
        "schema_version": "doc_inspection.v1",
        "doc_id": DOC_ID,
        "doc_path": "notes/a.md",
        "source_id": "notes",
        "title": "A",
        "lang": "en",
        "tags": ["x", "y"],
        "trust_level": "primary",
        "source_type": "note",
        "media": "markdown",
        "byte_len": 9,
        "chunk_count": 1,
        "created_at": None,
        "updated_at": None,
        "indexed_at": "2026-05-31T12:00:00Z",
        "parser_version": "p1",
        "chunker_version": "c1",
        "metadata": {"aliases": ["Alpha"]},
        "blocks": [
            {"kind": "heading", "heading_path": ["A"], "char_start": 0, "char_end": 4},
            {"kind": "paragraph", "heading_path": ["A"], "char_start": 5, "char_end": 9},
        ],
        "provenance": [],
        "warnings": ["tags: 7 is not a text"],
    }
