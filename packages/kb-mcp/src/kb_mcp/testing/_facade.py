"""A facade that answers from what it was given, and remembers what it was asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from kb_app.preferences import Preferences
from kb_core import wire
from kb_core.bulk import AggregatedResponse, Outcome
from kb_core.citations import Citation, CodeSpan, LineSpan
from kb_core.errors import InvalidInput, KbError
from kb_core.ingest import IngestEvent, IngestReport
from kb_core.search import Hit, Retrieval, SearchFilters, SearchQuery, SearchResponse, Trace

__all__ = ["CODE", "KOREAN", "FakeKnowledgeBase", "ingest_event"]

KOREAN = Hit(
    rank=1,
    score=0.87,
    score_kind="rrf",
    chunk_id="a" * 32,
    doc_id="b" * 32,
    doc_path="노트/검색 기록.md",
    title="검색 기록",
    heading_path=("검색", "하이브리드 😀"),
    section_label="하이브리드 😀",
    snippet="한국어 형태소와 바이그램을 함께 찾는다.",
    snippet_full_text=True,
    citation=Citation("노트/검색 기록.md", LineSpan(3, 7, section="하이브리드 😀"), "0" * 16),
    retrieval=Retrieval(method="hybrid", fusion_score=0.87, lexical_rank=1, lexical_score=7.5),
    index_version="1",
    chunker_version="markdown-1",
    embedding_model="multilingual-e5-small",
    indexed_at=1_770_000_000,
    stale=False,
    source_id="notes",
    source_type="note",
    trust_level="primary",
    lang="ko",
    media="markdown",
)
CODE = replace(
    KOREAN,
    rank=2,
    score=0.5,
    chunk_id="c" * 32,
    doc_path="src/parse.py",
    heading_path=(),
    section_label="parse",
    snippet="def parse(text):\n    return text.split()",
    citation=Citation("src/parse.py", CodeSpan(1, 2, symbol="parse", lang="python")),
    lang=None,
    media="code",
    repo="kebab",
    code_lang="python",
    flags=("instructions",),
)


class FakeKnowledgeBase:
    """Stands in for ``kb_app.KnowledgeBase``.

    ``asked`` lists the calls but for searches, which are in ``queries``; ``before`` is
    called at the beginning of each, and may wait or raise.
    """

    def __init__(self, hits: tuple[Hit, ...] = (KOREAN, CODE), *, readonly: bool = False) -> None:
        self.hits = hits
        self.readonly = readonly
        self.queries: list[SearchQuery] = []
        self.asked: list[tuple[Any, ...]] = []
        self.threads: set[int] = set()
        self.before: Callable[[], None] = lambda: None
        self.documents = 2
        self.wishes = Preferences()
        self.work: Callable[[threading.Event], Iterator[IngestEvent]] = _done
        self.doc_path = "노트/검색 기록.md"
        self.counts: dict[str, Any] = {
            "doc_count": 1234,
            "chunk_count": 5678,
            "last_ingest_at": 1_770_000_000,
            "media_breakdown": {"markdown": 1000, "code": 234},
            "lang_breakdown": {"ko": 700, "en": 300, None: 234},
            "code_lang_breakdown": {"python": 234},
            "source_breakdown": {f"s{n}": n + 1 for n in range(10)},
        }

    def search(self, query: SearchQuery) -> SearchResponse:
        self._enter()
        self.queries.append(query)
        return self._answer(query)

    def fetch_chunk(self, chunk_id: str, *, context: int = 0) -> dict[str, Any]:
        self._enter("fetch_chunk", chunk_id, context)
        chunk = {
            "chunk_id": chunk_id,
            "doc_id": KOREAN.doc_id,
            "doc_path": self.doc_path,
            "ordinal": 3,
            "heading_path": list(KOREAN.heading_path),
            "text": KOREAN.snippet,
            "char_start": 5,
            "char_end": 5 + len(KOREAN.snippet),
            "source_spans": [wire.citation(KOREAN.citation)],
            "token_count": 9,
            "chunker_version": "markdown-1",
            "embeddings": [],
        }
        return self._fetched("chunk") | {"chunk": chunk, "context_before": [], "context_after": []}

    def fetch_doc(self, doc_id: str, *, max_tokens: int | None = None) -> dict[str, Any]:
        self._enter("fetch_doc", doc_id, max_tokens)
        return self._fetched("doc") | {"text": "# 검색\n"}

    def fetch_span(
        self, doc_id: str, start: int, end: int, *, max_tokens: int | None = None
    ) -> dict[str, Any]:
        self._enter("fetch_span", doc_id, start, end, max_tokens)
        lines = {"line_start": start, "line_end": end, "effective_end": end}
        return self._fetched("span") | {"text": "한 줄\n"} | lines

    def list_docs(
        self, filters: SearchFilters, *, limit: int = 100, offset: int = 0
    ) -> dict[str, Any]:
        self._enter("list_docs", filters, limit, offset)
        shown = range(self.documents)[offset : offset + limit]
        return wire.doc_list([], total=self.documents) | {"items": [self._doc(n) for n in shown]}

    def preferences(self) -> Preferences:
        return self.wishes

    def search_many(self, queries: Sequence[SearchQuery | KbError]) -> Iterator[Outcome]:
        self._enter("search_many", list(queries))
        for query in queries:
            yield query if isinstance(query, KbError) else self._answer(query)

    def search_aggregated(
        self,
        queries: Sequence[SearchQuery | KbError],
        *,
        k: int | None = None,
        max_tokens: int | None = None,
        asked: Sequence[Mapping[str, Any]] | None = None,
    ) -> AggregatedResponse:
        self._enter("search_aggregated", list(queries), k, max_tokens, asked)
        nothing = SearchResponse(hits=(), corpus_revision=7)
        outcomes = tuple(query if isinstance(query, KbError) else nothing for query in queries)
        return AggregatedResponse(outcomes=outcomes, hits=(_merged(KOREAN),))

    def codebase_search(self, request: Mapping[str, Any]) -> dict[str, Any]:
        if unknown := sorted(request.keys() - {"queries", "query", "path", "maxResults"}):
            raise InvalidInput(f"unknown parameter {unknown[0]!r}")
        self._enter("codebase_search", dict(request))
        return wire.codebase_search_response(
            [{"query": "parse"}],
            [_merged(hit) for hit in self.hits if hit.media == "code"],
            truncated=False,
            errors={},
            degraded=(),
            warnings=(),
        )

    def similar(self, origin: str, query: SearchQuery | None = None) -> SearchResponse:
        self._enter("similar", origin, query)
        return SearchResponse(hits=self.hits, corpus_revision=7)

    def explain_miss(self, doc: str, query: SearchQuery) -> dict[str, Any]:
        self._enter("explain_miss", doc, query)
        return {
            "schema_version": "explain_miss.v1",
            "query": query.text,
            "mode": query.mode.value,
            "k": query.k,
            "verdict": "not_in_ledger",
            "summary": f"{doc} was never seen",
            "doc_path": doc,
            "corpus_revision": 7,
        }

    def verify_citations(
        self, items: Iterable[str | Mapping[str, Any]], *, source: str | None = None
    ) -> dict[str, Any]:
        self._enter("verify_citations", list(items), source)
        return wire.citation_check(())

    def ingest_file_by_model(
        self, path: str, *, stop: threading.Event | None = None
    ) -> Iterator[IngestEvent]:
        self._enter("ingest_file", path)
        yield from self.work(stop or threading.Event())

    def ingest_text_by_model(
        self, text: str, *, stop: threading.Event | None = None, **given: str | None
    ) -> Iterator[IngestEvent]:
        self._enter("ingest_text", text, given)
        yield from self.work(stop or threading.Event())

    def status(
        self,
        path_glob: str | None = None,
        state: str | None = None,
        *,
        limit: int | None = None,
        offset: int = 0,
    ) -> dict[str, Any]:
        self._enter("status", path_glob, state, limit, offset)
        return wire.file_status([], wire.coverage([], chunks=0, embedded=0))

    def schema(self) -> dict[str, Any]:
        self._enter("schema")
        counts = wire.stats(self.counts, index_bytes={"duckdb": 1})
        models = {"index": "1"}
        return wire.schema_report(capabilities={"readonly": True}, models=models, counts=counts)

    def stats(self) -> dict[str, Any]:
        self._enter()  # not remembered: every handshake asks
        return wire.stats_report(wire.stats(self.counts, index_bytes={"duckdb": 1}))

    def doctor(self, *, deep: bool = False) -> dict[str, Any]:
        self._enter("doctor", deep)
        bad = {"name": "model", "ok": False, "detail": "missing", "hint": "run 'kebab models'"}
        return wire.doctor([{"name": "store", "ok": True, "detail": "version 1"}, bad])

    def _answer(self, query: SearchQuery) -> SearchResponse:
        trace = Trace() if query.trace else None
        return SearchResponse(hits=self.hits[: query.k], corpus_revision=7, trace=trace)

    def _enter(self, *asked: object) -> None:
        self.threads.add(threading.get_ident())
        if asked:
            self.asked.append(asked)
        self.before()

    def _fetched(self, kind: str) -> dict[str, Any]:
        return {
            "schema_version": "fetch_result.v1",
            "kind": kind,
            "doc_id": KOREAN.doc_id,
            "doc_path": self.doc_path,
            "indexed_at": "2026-05-31T12:00:00Z",
            "stale": False,
            "truncated": False,
        }

    def _doc(self, number: int) -> dict[str, Any]:
        return {
            "doc_id": f"{number:032x}",
            "doc_path": self.doc_path if number else "src/parse.py",
            "source_id": "notes",
            "title": f"Document {number}",
            "lang": None,
            "tags": [],
            "trust_level": "primary",
            "source_type": "note",
            "media": "markdown",
            "byte_len": 42,
            "chunk_count": 1,
            "created_at": None,
            "updated_at": "2026-05-31T12:00:00Z" if number else None,
            "indexed_at": "2026-05-31T12:00:00Z",
            "parser_version": "p1",
            "chunker_version": "c1",
        }


def ingest_event(kind: str, *, is_last: bool = False, **data: object) -> IngestEvent:
    """Return an event of an ingest; the last one has a report, in which nothing happened."""
    report = IngestReport(
        scope={}, items=(), counts={}, scanned=0, duration_ms=3, aborted=kind == "aborted"
    )
    at = datetime(2026, 5, 31, 12, tzinfo=UTC)
    return IngestEvent(kind=kind, at=at, data=data, report=report if is_last else None)


def _done(_: threading.Event) -> Iterator[IngestEvent]:
    yield ingest_event("completed", is_last=True)


def _merged(hit: Hit) -> Hit:
    return replace(hit, score_kind="aggregated", matched_queries=(0,), base_score=hit.score)
