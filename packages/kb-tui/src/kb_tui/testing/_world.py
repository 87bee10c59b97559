"""What the terminal shows in tests: the facade over three documents in memory.

Documents, passages and the ledger are what the facade makes of them; hits and counts are
scripted, so that screens show both channels, a paper and a library of some size.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kb_app.config import Config
from kb_app.editors import FilePlace
from kb_app.jobs import Jobs, PastRun
from kb_app.testing.facade import ScriptedKnowledgeBase, event, script
from kb_core import wire
from kb_core.answers import Answer, AskQuery, Cited
from kb_core.citations import Citation, CodeSpan, LineSpan, PageSpan, stored_span
from kb_core.clock import from_epoch
from kb_core.ingest import IngestEvent, IngestItem, ItemKind
from kb_core.media import SearchMode
from kb_core.records import ChunkRecord, DocumentRecord, FileState
from kb_core.search import (
    Candidate,
    FusionInput,
    Hit,
    Retrieval,
    SearchQuery,
    SearchResponse,
    Timing,
    Trace,
)
from kb_core.testing.documents import document, file_row
from kb_core.values import replace

if TYPE_CHECKING:
    from kb_core.wire import types

__all__ = ["CODE", "HITS", "KOREAN", "PAPER", "TuiKnowledgeBase", "finished"]

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


def _document(hit: Hit, **fields: Any) -> DocumentRecord:  # noqa: ANN401 - of a document
    """Return the hit's document: what stands above its passage, that, and what stands below."""
    chunks = _chunks(hit)
    known: dict[str, Any] = {
        "doc_id": hit.doc_id,
        "title": hit.title,
        "media": hit.media,
        "lang": hit.lang,
        "doc_date": None,
        "updated_at": from_epoch(INSTANT),
        "indexed_at": from_epoch(INSTANT),
        "byte_len": 1234,
        "size": 1234,
        "mtime_ns": INSTANT * 1_000_000_000,
        "bytes_hash": "0123456789abcdef",
        "parser_version": "markdown-1",
        "chunker_version": "markdown-1",
        "metadata": {"author": "김", "draft": False},
        "blocks": (
            {"kind": "heading", "heading_path": ["검색"], "start": 0, "end": 5, "level": 1},
            {"kind": "paragraph", "heading_path": ["검색", "하이브리드"], "start": 6, "end": 80},
        ),
        "links": ({"kind": "link", "target": "다른.md", "text": "다른 노트", "start": 10},),
        "chunks": chunks,
    }
    text = "".join(chunk.text for chunk in chunks)
    return document(hit.doc_path, text, **known | fields)


def _chunks(hit: Hit) -> tuple[ChunkRecord, ...]:
    span = hit.citation.span
    made, start = list[ChunkRecord](), 0
    above = TEXTS[hit.chunk_id][0]
    at = span.start - above.count("\n") if isinstance(span, (LineSpan, CodeSpan)) else 1
    for ordinal, part in enumerate(TEXTS[hit.chunk_id]):
        if part:
            made.append(_chunk(hit, part, ordinal, start, at))
        start, at = start + len(part), at + part.count("\n")
    return tuple(made)


def _chunk(hit: Hit, text: str, ordinal: int, start: int, line: int) -> ChunkRecord:
    is_page = isinstance(hit.citation.span, PageSpan)
    return ChunkRecord(
        chunk_id=hit.chunk_id if ordinal == 1 else f"{hit.chunk_id[:31]}{ordinal}",
        ordinal=ordinal,
        start=start,
        end=start + len(text),
        text=text,
        line_start=line,
        line_end=line + max(0, text.rstrip("\n").count("\n")),
        token_count=len(text) // 4,
        heading_path=hit.heading_path,
        span=stored_span(PageSpan(13)) if is_page else None,
        context=hit.title,
        passage_hash=f"{hit.chunk_id[:31]}{ordinal}",
    )


_THEN = from_epoch(INSTANT)
_SKIPPED = FileState.SKIPPED
DOCUMENTS = (
    _document(KOREAN, tags=("검색", "한국어")),
    _document(CODE, updated_at=None, code_lang="python"),
    _document(
        PAPER,
        tags=("paper",),
        links=({"kind": "wiki", "target": KOREAN.doc_path, "text": "note", "start": 8},),
    ),
)
_FILES = (
    file_row(KOREAN.doc_path, doc_id=KOREAN.doc_id, size=1234, changed_at=_THEN),
    file_row("노트/빈.md", _SKIPPED, reason="empty", changed_at=_THEN),
    file_row("big/dump.sql", _SKIPPED, reason="too_large", size=734_003_200, changed_at=_THEN),
    file_row("bad.md", FileState.FAILED, error_code="parse_failed", size=99, changed_at=_THEN),
)


class TuiKnowledgeBase(ScriptedKnowledgeBase):
    """A facade over three documents, whose hits, counts, jobs and ingest a test sets.

    ``events`` are what an ingest yields; a callable among them is called instead.
    """

    def __init__(
        self, hits: tuple[Hit, ...] = HITS, *, theme: str = "dark", readonly: bool = False
    ) -> None:
        config = Config.inside(Path("/nonexistent"))
        super().__init__(
            config=replace(config, ui=replace(config.ui, theme=theme)), readonly=readonly
        )
        self.keep(*DOCUMENTS, files=_FILES)
        self.hits = hits
        self.more: tuple[Hit, ...] = ()
        self.counts: dict[str, Any] = {
            "doc_count": 1234,
            "chunk_count": 5678,
            "media_breakdown": {"markdown": 1000, "code": 234},
            "lang_breakdown": {"en": 900, "ko": 100, None: 234},
            "source_breakdown": {"notes": 1234},
        }
        self.revision = 1
        self.degraded: tuple[str, ...] = ()
        self.confidence: float | None = None
        self.pieces: list[str | Callable[[], object]] = []
        """What is told of an answer while it is made; a callable among them is called."""
        self.events: list[IngestEvent | Callable[[], object]] = []
        self.jobs_told = Jobs(None, (_run("completed", {"new": 12, "embedded": 96}),))
        self.answers = {
            "answer": self._told,
            "conversations": lambda: wire.session_list([(self._conversation(), 9)]),
            "conversation": lambda name: self._conversation(),  # noqa: ARG005 - as it is called
            "delete_conversations": lambda names: wire.session_list([]),  # noqa: ARG005
            "search": self._found,
            "stats": self._counted,
            "jobs": lambda: self.jobs_told,
            "locate": FilePlace("/notes/검색.md", 3),
        }
        self.runs = self._ingested

    @property
    def ingests(self) -> int:
        """How many ingests were asked for."""
        return [call[0] for call in self.asked].count("ingest_apart")

    @property
    def fetched(self) -> list[str]:
        """The passages that were read."""
        return [call[1] for call in self.asked if call[0] == "fetch_chunk"]

    def _ingested(self, stop: threading.Event) -> Iterator[IngestEvent]:
        return script(*self.events, counts={"new": 2, "error": 1}, duration_ms=1500)(stop)

    def _found(self, query: SearchQuery) -> SearchResponse:
        return SearchResponse(
            hits=self.more if query.cursor else self.hits,
            corpus_revision=self.revision,
            elapsed_ms=12.4,
            degraded=self.degraded,
            confidence=self.confidence,
            next_cursor="next" if self.more and not query.cursor else None,
            mode=query.mode,
            trace=_trace(self.hits, query.mode) if query.trace else None,
        )

    def _told(self, question: AskQuery) -> Answer:
        told = self.given["told"]
        for piece in self.pieces:
            if isinstance(piece, str):
                told(piece)
            else:
                piece()
        return self._answered(question)

    def _answered(self, question: AskQuery) -> Answer:
        quoted = enumerate(self.hits, start=1)
        return Answer(
            question=question,
            text="",
            citations=tuple(
                Cited(hit=hit, citation=hit.citation, quote=hit.snippet, marker=number)
                for number, hit in quoted
            ),
            refusal=None if self.hits else "no_chunks",
            confidence=0.87,
            threshold=0.5,
            writer="extractive",
            provider="extractive",
            rules="extractive-1",
            trace_id="0",
            embedding=None,
            hits=self.hits,
            created_at=INSTANT,
            latency_ms=12,
            corpus_revision=self.revision,
            degraded=self.degraded,
            conversation=question.conversation and "trip",
        )

    def _conversation(self) -> types.Session:
        """Return a conversation of before: a question and its follow-up."""
        first = self._answered(AskQuery(text="when was it built", conversation="trip"))
        asked = replace(first.question, text="and the bridge?")
        second = replace(first, question=asked, rewritten="when was the bridge built?")
        answers = enumerate((first, second), start=1)
        return wire.session("trip", [wire.session_turn(one, at) for at, one in answers])

    def _counted(self) -> Mapping[str, Any]:
        counts = wire.stats(self.counts, index_bytes={}, corpus_revision=self.revision)
        return wire.stats_report(counts)


def finished(path: str, done: int, total: int) -> IngestEvent:
    """Return the event of a file that is indexed."""
    item = IngestItem(kind=ItemKind.NEW, source_id="notes", doc_path=path)
    return event("asset_finished", doc_path=path, item=item, done=done, total=total)


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
