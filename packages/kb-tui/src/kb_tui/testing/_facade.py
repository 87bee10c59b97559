"""A facade that answers from what it was given, and remembers which thread asked what."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from kb_app.editors import FilePlace
from kb_app.jobs import Jobs, PastRun
from kb_app.preferences import Preferences
from kb_core import wire
from kb_core.citations import Citation, CodeSpan, LineSpan, PageSpan
from kb_core.clock import from_epoch
from kb_core.ingest import IngestEvent, IngestItem, IngestOptions, IngestReport, ItemKind
from kb_core.media import SearchMode
from kb_core.search import (
    Candidate,
    FusionInput,
    Hit,
    Retrieval,
    SearchFilters,
    SearchQuery,
    SearchResponse,
    Timing,
    Trace,
)

__all__ = ["CODE", "DOCUMENTS", "HITS", "KOREAN", "PAPER", "FakeKnowledgeBase"]

INSTANT = 1_770_000_000
KOREAN_TEXT = """\
## 하이브리드 😀

한국어 형태소와 바이그램을 함께 찾는다. 검색은 두 갈래로 나뉘고, 순위만으로 하나가 된다.

- 단어: 正確な語、漢字も
"""
KOREAN = Hit(
    rank=1,
    score=0.87,
    score_kind="rrf",
    chunk_id="a" * 32,
    doc_id="b" * 32,
    doc_path="노트/검색.md",
    title="검색",
    heading_path=("검색", "하이브리드 😀"),
    section_label="하이브리드 😀",
    snippet="한국어 형태소와 바이그램을 함께 찾는다. 검색은 두 갈래로 나뉘고",
    snippet_full_text=False,
    citation=Citation("노트/검색.md", LineSpan(3, 7)),
    retrieval=Retrieval(
        method="hybrid",
        fusion_score=0.87,
        lexical_score=12.5,
        lexical_rank=1,
        vector_score=0.81,
        vector_rank=2,
    ),
    index_version="1",
    chunker_version="markdown-1",
    embedding_model=None,
    indexed_at=INSTANT,
    stale=True,
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
    doc_id="e" * 32,
    doc_path="src/parse.py",
    title="parse.py",
    heading_path=(),
    section_label="parse",
    snippet="def parse(text):\n\treturn text.split()",
    citation=Citation("src/parse.py", CodeSpan(1, 2, symbol="parse", lang="python")),
    retrieval=Retrieval(method="hybrid", fusion_score=0.5, lexical_score=3.2, lexical_rank=2),
    stale=False,
    lang=None,
    code_lang="python",
    media="code",
    flags=("instructions",),
)
PAPER = replace(
    KOREAN,
    rank=3,
    score=0.25,
    chunk_id="d" * 32,
    doc_id="f" * 32,
    doc_path="papers/[rrf].pdf",
    title="Reciprocal Rank Fusion",
    heading_path=("Fusion",),
    snippet="Reciprocal rank fusion outperforms any individual system " * 3,
    citation=Citation("papers/[rrf].pdf", PageSpan(13)),
    retrieval=Retrieval(method="hybrid", fusion_score=0.25, vector_score=0.78, vector_rank=1),
    stale=False,
    lang="en",
    media="pdf",
)
HITS = (KOREAN, CODE, PAPER)
TEXTS = {
    KOREAN.chunk_id: ("# 검색\n\n", KOREAN_TEXT, "\n다음 문단이다.\n"),
    CODE.chunk_id: ("", "def parse(text):\n\treturn text.split()\n", "\n\x1b[31mred\n"),
    PAPER.chunk_id: ("Before. ", PAPER.snippet, " After."),
}


def _stored_doc(hit: Hit, **fields: Any) -> dict[str, Any]:  # noqa: ANN401 - of a document
    known: dict[str, Any] = {
        "doc_id": hit.doc_id,
        "path": hit.doc_path,
        "source_id": hit.source_id,
        "title": hit.title,
        "lang": hit.lang,
        "code_lang": hit.code_lang,
        "tags": [],
        "trust_level": hit.trust_level,
        "source_type": hit.source_type,
        "media": hit.media,
        "byte_len": 1234,
        "chunk_count": 3,
        "created_at": None,
        "updated_at": INSTANT,
        "indexed_at": INSTANT,
        "mtime_ns": INSTANT * 1_000_000_000,
        "bytes_hash": "0123456789abcdef",
        "parser_version": "markdown-1",
        "chunker_version": "markdown-1",
        "metadata": {"author": "김", "draft": False},
        "blocks": [
            {"kind": "heading", "heading_path": ["검색"], "start": 0, "end": 5, "level": 1},
            {"kind": "paragraph", "heading_path": ["검색", "하이브리드"], "start": 6, "end": 80},
        ],
        "links": [{"kind": "link", "target": "다른.md", "text": "다른 노트", "start": 10}],
        "warnings": [],
    }
    return known | fields


DOCUMENTS = (
    _stored_doc(KOREAN, tags=["검색", "한국어"]),
    _stored_doc(CODE, updated_at=None),
    _stored_doc(PAPER, tags=["paper"], chunk_count=1234),
)
_FILES = (
    {"path": KOREAN.doc_path, "state": "indexed", "doc_id": KOREAN.doc_id, "size": 1234},
    {"path": "노트/빈.md", "state": "skipped", "reason": "empty", "size": 0},
    {"path": "big/dump.sql", "state": "skipped", "reason": "too_large", "size": 734_003_200},
    {"path": "bad.md", "state": "failed", "error_code": "parse_failed", "size": 99},
)


class FakeKnowledgeBase:
    """Answers from what it was given; ``before`` runs first, on the caller's thread.

    ``events`` are what an ingest yields; a callable among them is called instead.
    """

    def __init__(self, hits: tuple[Hit, ...] = HITS) -> None:
        self.readonly = False
        self.hits = hits
        self.more: tuple[Hit, ...] = ()
        self.queries: list[SearchQuery] = []
        self.fetched: list[str] = []
        self.listed: list[SearchFilters] = []
        self.threads: set[int] = set()
        self.before: Callable[[str], None] = lambda _call: None
        self.counts: dict[str, Any] = {
            "doc_count": 1234,
            "chunk_count": 5678,
            "media_breakdown": {"markdown": 1000, "code": 234},
            "lang_breakdown": {"en": 900, "ko": 100, None: 234},
            "source_breakdown": {"notes": 1234},
        }
        self.revision = 1
        self.degraded: tuple[str, ...] = ()
        self.documents = DOCUMENTS
        self.events: list[IngestEvent | Callable[[], object]] = []
        self.ingests = 0
        self.stop = threading.Event()
        self.is_closed = False
        self.jobs_told = Jobs(None, (_run("completed", {"new": 12, "embedded": 96}),))
        self.wishes = Preferences()
        self.place = FilePlace("/notes/검색.md", 3)

    def preferences(self) -> Preferences:
        return self.wishes

    def search(self, query: SearchQuery) -> SearchResponse:
        self.queries.append(query)
        self._enter(f"search {query.text}")
        return SearchResponse(
            hits=self.more if query.cursor else self.hits,
            corpus_revision=self.revision,
            elapsed_ms=12.4,
            degraded=self.degraded,
            next_cursor="next" if self.more and not query.cursor else None,
            mode=query.mode,
            trace=_trace(self.hits, query.mode) if query.trace else None,
        )

    def stats(self) -> dict[str, Any]:
        self._enter("stats")
        counts = wire.stats(self.counts, index_bytes={}, corpus_revision=self.revision)
        return wire.stats_report(counts)

    def list_docs(
        self, filters: SearchFilters, *, limit: int = 100, offset: int = 0
    ) -> dict[str, Any]:
        self.listed.append(filters)
        self._enter("list")
        return wire.doc_list(self.documents[offset : offset + limit], total=len(self.documents))

    def status(self, path_glob: str | None = None, state: str | None = None) -> dict[str, Any]:
        assert path_glob is None
        assert state is None
        self._enter("status")
        rows = [
            {"source_id": "notes", "mtime_ns": 0, "changed_at": INSTANT} | row for row in _FILES
        ]
        return wire.file_status(rows, wire.coverage(rows, chunks=5678, embedded=0))

    def inspect_doc(self, doc_id: str) -> dict[str, Any]:
        self._enter("inspect")
        return wire.doc_inspection(next(d for d in self.documents if d["doc_id"] == doc_id))

    def chunks_of(self, doc_id: str) -> list[dict[str, Any]]:
        self._enter("chunks")
        hit = next(hit for hit in self.hits if hit.doc_id == doc_id)
        before, chunk, after = _chunks(hit)
        return [*before, chunk, *after]

    def fetch_chunk(self, chunk_id: str, *, context: int = 0) -> dict[str, Any]:
        self.fetched.append(chunk_id)
        self._enter("fetch")
        assert context
        hit = next(hit for hit in self.hits if chunk_id.startswith(hit.chunk_id[:31]))
        before, chunk, after = _chunks(hit)
        if chunk["chunk_id"] != chunk_id:
            chunk = next(c for c in (*before, *after) if c["chunk_id"] == chunk_id)
            before, after = [], []
        return wire.fetch_chunk(chunk, before, after, indexed_at=hit.indexed_at, stale=hit.stale)

    def locate(self, uri: str, *, source: str | None = None) -> FilePlace:
        self._enter(f"locate {uri} {source}")
        return self.place

    def jobs(self) -> Jobs:
        self._enter("jobs")
        return self.jobs_told

    def ingest_apart(
        self, options: IngestOptions, *, stop: threading.Event | None = None
    ) -> Iterator[IngestEvent]:
        assert not options.paths
        self.ingests += 1
        self.stop = stop or threading.Event()
        self._enter("ingest")
        return self._run()

    def _run(self) -> Iterator[IngestEvent]:
        try:
            for event in self.events:
                if isinstance(event, IngestEvent):
                    yield event
                else:
                    event()
            aborted = self.stop.is_set()
            report = IngestReport(
                scope={},
                items=None,
                counts={"new": 2, "error": 1},
                scanned=3,
                duration_ms=1500,
                aborted=aborted,
            )
            yield self.event("aborted" if aborted else "completed", report=report)
        finally:
            self.is_closed = True

    @staticmethod
    def event(kind: str, *, report: IngestReport | None = None, **data: Any) -> IngestEvent:  # noqa: ANN401
        """Return an event of an ingest."""
        return IngestEvent(kind=kind, at=from_epoch(INSTANT), data=data, report=report)

    def finished(self, path: str, done: int, total: int) -> IngestEvent:
        """Return the event of a file that is indexed."""
        item = IngestItem(kind=ItemKind.NEW, source_id="notes", doc_path=path)
        return self.event("asset_finished", doc_path=path, item=item, done=done, total=total)

    def _enter(self, call: str) -> None:
        self.threads.add(threading.get_ident())
        self.before(call)


def _run(state: str, counts: dict[str, int]) -> PastRun:
    return PastRun(
        kind="ingest", state=state, started_at=INSTANT, finished_at=INSTANT + 75, counts=counts
    )


def _trace(hits: tuple[Hit, ...], mode: SearchMode) -> Trace:
    def listed(channel: str) -> tuple[Candidate, ...]:
        if mode not in {SearchMode.HYBRID, channel}:
            return ()
        found = [hit for hit in hits if getattr(hit.retrieval, f"{channel}_rank")]
        found.sort(key=lambda hit: getattr(hit.retrieval, f"{channel}_rank"))
        return tuple(
            Candidate(h.chunk_id, h.doc_id, h.doc_path, n, getattr(h.retrieval, f"{channel}_score"))
            for n, h in enumerate(found, start=1)
        )

    fused = tuple(
        FusionInput(h.chunk_id, h.retrieval.lexical_rank, h.retrieval.vector_rank, h.score)
        for h in hits
    )
    timing = Timing(lexical_ms=3, vector_ms=5, fusion_ms=1, total_ms=21, embed_ms=9)
    return Trace(lexical=listed("lexical"), vector=listed("vector"), fused=fused, timing=timing)


def _chunks(hit: Hit) -> tuple[list[dict[str, Any]], dict[str, Any], list[dict[str, Any]]]:
    """Return what stands before the hit's chunk in its document, the chunk, what stands after."""
    above, text, below = TEXTS[hit.chunk_id]
    span = hit.citation.span
    at = span.start if isinstance(span, (LineSpan, CodeSpan)) else 1
    before = [_stored(hit, above, 0, at - above.count("\n"), 0)] if above else []
    after = [_stored(hit, below, len(above) + len(text), at + text.count("\n"), 2)]
    return before, _stored(hit, text, len(above), at, 1), after


def _stored(hit: Hit, text: str, start: int, line: int, ordinal: int) -> dict[str, Any]:
    """Return a chunk of the hit's document, as a fetch result has it."""
    is_page = isinstance(hit.citation.span, PageSpan)
    last = line + max(0, text.rstrip("\n").count("\n"))
    span = PageSpan(13) if is_page else LineSpan(line, last)
    return {
        "chunk_id": hit.chunk_id if ordinal == 1 else f"{hit.chunk_id[:31]}{ordinal}",
        "doc_id": hit.doc_id,
        "text": text,
        "doc_path": hit.doc_path,
        "ordinal": ordinal,
        "heading_path": list(hit.heading_path),
        "token_count": len(text) // 4,
        "char_start": start,
        "char_end": start + len(text),
        "chunker_version": hit.chunker_version,
        "embeddings": [{"model": "e5-small", "dimensions": 384}] if ordinal else [],
        "source_spans": [wire.citation(Citation(hit.doc_path, span))],
    }
