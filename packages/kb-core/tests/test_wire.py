"""What the emitters make is what the schemas say, field by field."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from jsonschema import Draft202012Validator

from kb_core import errors, schemas, wire
from kb_core.citations import (
    CaptionSpan,
    CellSpan,
    Citation,
    CodeSpan,
    LineSpan,
    PageSpan,
    RegionSpan,
    Span,
    TimeSpan,
    stored_span,
)
from kb_core.errors import KbError
from kb_core.ingest import IngestEvent, IngestItem, IngestReport, ItemKind
from kb_core.ports import StoredChunk, StoredDoc
from kb_core.records import FileState
from kb_core.search import (
    Candidate,
    FusionInput,
    Hit,
    Retrieval,
    SearchResponse,
    Timing,
    Trace,
)
from kb_core.testing import closed_schema
from kb_core.testing.documents import NOW, Corpus, file_row, publication
from kb_core.testing.fakes import HashEmbedder, MemoryIndex

quick = settings(max_examples=40)


@cache
def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(closed_schema(name))


def check(name: str, value: object) -> None:
    """See that *value* is of the schema and survives the trip through JSON."""
    line = wire.dumps(value)
    validator(name).validate(json.loads(line))
    line.encode()
    assert "\n" not in line


short = st.text(max_size=4)
maybe = st.none() | short
naturals = st.integers(0, 2**40)
positive = st.integers(1, 10**6)
numbers = st.floats(-1e9, 1e9)
hexes = st.text("0123456789abcdef", min_size=32, max_size=32)
texts = st.lists(short, max_size=2).map(tuple)
trust = st.sampled_from(["primary", "secondary", "generated"])
counts = st.dictionaries(short, naturals, max_size=2)
epochs = st.integers(-(10**10), 10**11)
pairs = st.tuples(positive, positive).map(sorted)
spans = st.one_of(
    pairs.flatmap(lambda p: st.builds(LineSpan, st.just(p[0]), st.just(p[1]), maybe)),
    pairs.flatmap(lambda p: st.builds(CodeSpan, st.just(p[0]), st.just(p[1]), maybe, maybe)),
    st.builds(PageSpan, positive, naturals, naturals, st.none() | st.tuples(*[numbers] * 4), maybe),
    st.builds(CellSpan, short, st.sampled_from(["A1", "B2:XFD9"])),
    st.builds(RegionSpan, naturals, naturals, naturals, naturals),
    st.builds(CaptionSpan, maybe),
    pairs.flatmap(lambda p: st.builds(TimeSpan, st.just(p[0]), st.just(p[1]), maybe)),
)
digests = st.text("0123456789abcdef", min_size=16, max_size=16)
citations = st.builds(
    Citation, st.text(min_size=1, max_size=6), spans, content_hash=st.none() | digests
)
ranks = st.none() | positive
retrievals = st.builds(
    Retrieval,
    method=st.sampled_from(["lexical", "vector", "hybrid"]),
    fusion_score=st.none() | numbers,
    lexical_score=st.none() | numbers,
    vector_score=st.none() | numbers,
    lexical_rank=ranks,
    vector_rank=ranks,
)
hits = st.builds(
    Hit,
    rank=positive,
    score=numbers,
    score_kind=st.sampled_from(["rrf", "bm25"]),
    chunk_id=hexes,
    doc_id=hexes,
    doc_path=short,
    title=short,
    heading_path=texts,
    section_label=maybe,
    snippet=short,
    snippet_full_text=st.booleans(),
    citation=citations,
    retrieval=retrievals,
    index_version=short,
    chunker_version=short,
    embedding_model=maybe,
    indexed_at=epochs,
    stale=st.booleans(),
    source_id=short,
    source_type=short,
    trust_level=trust,
    lang=maybe,
    media=short,
    repo=maybe,
    code_lang=maybe,
    flags=texts,
)
candidates = st.builds(
    Candidate, chunk_id=hexes, doc_id=hexes, doc_path=short, rank=positive, score=numbers
)
inputs = st.builds(FusionInput, hexes, ranks, ranks, numbers)
timings = st.builds(
    Timing,
    lexical_ms=naturals,
    vector_ms=naturals,
    fusion_ms=naturals,
    total_ms=naturals,
    embed_ms=st.none() | naturals,
    hydrate_ms=st.none() | naturals,
)
traces = st.builds(
    Trace,
    lexical=st.lists(candidates, max_size=1).map(tuple),
    vector=st.lists(candidates, max_size=1).map(tuple),
    fused=st.lists(inputs, max_size=1).map(tuple),
    timing=timings,
)
omitted = st.fixed_dictionaries({"hits": naturals, "snippets_shortened": naturals})
responses = st.builds(
    SearchResponse,
    hits=st.lists(hits, max_size=2).map(tuple),
    corpus_revision=naturals,
    next_cursor=maybe,
    truncated=st.booleans(),
    omitted=st.none() | omitted,
    degraded=texts,
    warnings=texts,
    trace=st.none() | traces,
)


@quick
@given(citations)
def test_citations(citation: Citation) -> None:
    out = wire.citation(citation)

    check("citation", out)
    assert (out["path"], out["uri"]) == (citation.path, citation.uri)


@quick
@given(responses)
def test_search_responses(response: SearchResponse) -> None:
    out = wire.search_response(response)

    check("search_response", out)
    assert ("trace" in out) == (response.trace is not None)
    assert "schema_version" not in str(out["hits"])


@quick
@given(responses)
def test_a_response_is_read_back_into_what_it_shows(response: SearchResponse) -> None:
    out = json.loads(wire.dumps(wire.search_response(response)))

    read = wire.read_search_response({**out, "from_a_later_version": 1})

    assert wire.search_response(read) == out
    spans = [[type(hit.citation.span) for hit in found.hits] for found in (read, response)]
    assert spans[0] == spans[1]


PREVIEW = {
    "root": "/notes",
    "files": 1,
    "bytes": 4,
    "kinds": [{"media": "markdown", "code_lang": None, "files": 1, "bytes": 4}],
    "largest": [{"path": "a.md", "bytes": 4}],
    "left_alone": [
        {
            "reason": "ignored",
            "detail": None,
            "files": 0,
            "folders": 1,
            "bytes": 0,
            "example": ".git",
        }
    ],
    "complete": True,
}


def test_remarks_are_reworded_and_documents_are_not() -> None:
    body = {
        "warnings": ["a"],
        "results": [{"response": {"degraded": ["a"], "hits": [{"warnings": ["a"], "hint": "a"}]}}],
        "checks": [{"name": "a", "hint": "a"}, {"hint": None}],
        "error": {"code": "a", "message": "a", "hint": "a"},
        "items": ["a"],
        "hits": [{"snippet": "a"}],
        "files": [{"doc_path": "a", "detail": "a"}],
        "file": {"reason": "a", "detail": "a"},
        "summary": "a",
    }
    kept = copy.deepcopy(body)

    assert wire.reworded(body, str.upper) == {
        "warnings": ["A"],
        "results": [{"response": {"degraded": ["A"], "hits": [{"warnings": ["a"], "hint": "a"}]}}],
        "checks": [{"name": "a", "hint": "A"}, {"hint": None}],
        "error": {"code": "a", "message": "A", "hint": "A"},
        "items": ["a"],
        "hits": [{"snippet": "a"}],
        "files": [{"doc_path": "a", "detail": "A"}],
        "file": {"reason": "a", "detail": "A"},
        "summary": "A",
    }
    assert body == kept


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "schema_version None is not 'search_response.v1'"),
        ({"schema_version": "stats.v1"}, "schema_version 'stats.v1' is not"),
        ({"schema_version": "search_response.v1"}, "not of its schema: 'hits'"),
        ({"schema_version": "search_response.v1", "hits": [{}]}, "not of its schema"),
        ({"schema_version": "search_response.v1", "hits": [7]}, "not of its schema"),
    ],
)
def test_what_is_no_response_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(errors.InvalidInput, match=said):
        wire.read_search_response(given)


def test_a_response_holds_no_more_than_it_must() -> None:
    """Readers pay by the token: optional fields without a value do not travel."""
    out = wire.search_response(SearchResponse(hits=(), corpus_revision=7))

    assert out == {
        "schema_version": "search_response.v1",
        "hits": [],
        "next_cursor": None,
        "truncated": False,
        "corpus_revision": 7,
    }


def test_numbers_have_six_decimals_and_no_negative_zero() -> None:
    place = Citation("a.pdf", PageSpan(1, bbox=(0.1 + 0.2, -0.0, 1e-9, 2)))

    assert wire.dumps(wire.citation(place)["bbox"]) == "[0.3,0.0,0.0,2.0]"


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_json_lacks_are_refused(number: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        wire.dumps({"score": number})


@quick
@given(st.recursive(st.text() | st.integers(), lambda v: st.dictionaries(st.text(), v)))
def test_a_line_is_compact_json_that_can_be_encoded(value: object) -> None:
    line = wire.dumps(value)

    assert json.loads(line) == value
    assert "\n" not in line


def test_scripts_stay_and_halves_of_surrogate_pairs_go() -> None:
    assert wire.dumps({"한": "é\u2028"}) == '{"한":"é\\u2028"}'
    assert wire.dumps(["caf\udce9", "😀"]) == '["caf\ufffd","😀"]'


def all_errors(cls: type[KbError] = KbError) -> list[type[KbError]]:
    return [cls, *(found for sub in cls.__subclasses__() for found in all_errors(sub))]


@pytest.mark.parametrize("cls", all_errors(), ids=lambda cls: cls.__name__)
def test_errors_keep_their_code_hint_and_details(cls: type[KbError]) -> None:
    out = wire.error(cls("k 0 is out of range", hint="try 10", details={"field": "k", "n": [1]}))

    check("error", out)
    assert out == {
        "schema_version": "error.v1",
        "code": cls.code,
        "message": "k 0 is out of range",
        "hint": "try 10",
        "details": {"field": "k", "n": [1]},
    }


def test_anything_else_that_is_raised_is_a_bug_and_asks_for_a_report() -> None:
    out = wire.error(ZeroDivisionError('division by zero\n  File "secret.py", line 3'))

    check("error", out)
    assert (out["code"], out["message"]) == (
        "internal",
        "unexpected ZeroDivisionError: division by zero",
    )
    assert "report" in str(out["hint"])
    assert "secret" not in wire.dumps(out)
    assert wire.error(KeyError())["message"] == "unexpected KeyError"
    assert "report" in str(wire.error(KbError("impossible"))["hint"])
    assert wire.error(errors.IoError("disk full"))["hint"] is None


def test_details_that_are_not_json_are_shown_as_text() -> None:
    """Reporting an error must not fail."""
    out = wire.error(errors.IoError("no", details={"at": NOW, "score": float("nan")}))

    check("error", out)
    assert out["details"]["at"] == str(NOW)


items = st.builds(
    IngestItem,
    kind=st.sampled_from(ItemKind),
    source_id=short,
    doc_path=short,
    doc_id=st.none() | hexes,
    media=maybe,
    byte_len=st.none() | naturals,
    chunk_count=st.none() | naturals,
    parser_version=maybe,
    chunker_version=maybe,
    reason=maybe,
    moved_from=maybe,
    warnings=texts,
    error=st.none() | st.just({"code": "io_error", "message": "m", "hint": None, "details": {}}),
    duration_ms=naturals,
)
reports = st.builds(
    IngestReport,
    scope=st.dictionaries(short, texts, max_size=2),
    items=st.none() | st.lists(items, max_size=2).map(tuple),
    counts=st.dictionaries(st.sampled_from(ItemKind), naturals),
    scanned=naturals,
    duration_ms=naturals,
    aborted=st.booleans(),
    corpus_revision=naturals,
    embedded=naturals,
    embeddings_missing=naturals,
    skipped_by_reason=counts,
    skipped_by_extension=counts,
    skip_examples=st.dictionaries(short, texts, max_size=2),
    slowest=st.lists(
        st.fixed_dictionaries({"doc_path": short, "duration_ms": naturals}), max_size=2
    ).map(tuple),
    phases_ms=counts,
    warnings=texts,
)


@quick
@given(reports)
def test_ingest_reports(report: IngestReport) -> None:
    out = wire.ingest_report(report)

    check("ingest_report", out)
    assert out["errors"] == report.counts.get(ItemKind.ERROR, 0)
    assert (out["items"] is None) == (report.items is None)


EVENTS: list[tuple[str, dict[str, Any]]] = [
    ("scan_started", {"source_id": "notes", "root": "/notes"}),
    ("scan_completed", {"source_id": "notes", "scanned": 9, "candidates": 3}),
    ("asset_started", {"source_id": "notes", "doc_path": "a.md", "total": 3}),
    ("asset_phase", {"source_id": "notes", "doc_path": "a.md", "phase": "embed"}),
    ("asset_finished", {"item": IngestItem(kind=ItemKind.NEW, source_id="n", doc_path="a")}),
    ("embed_batch_finished", {"done": 10, "total": 100, "eta_ms": 900}),
    ("committed", {"revision": 3, "documents": 2, "chunks": 8}),
    ("completed", {"counts": {"new": 3}, "duration_ms": 12}),
    ("aborted", {"counts": {}, "duration_ms": 12, "message": "interrupted"}),
]


@pytest.mark.parametrize(("kind", "data"), EVENTS, ids=[kind for kind, _ in EVENTS])
def test_ingest_events(kind: str, data: dict[str, Any]) -> None:
    out = wire.ingest_event(IngestEvent(kind=kind, at=NOW, data=data))

    check("ingest_progress", out)
    assert out["at"] == "2026-01-02T03:04:05Z"


def test_every_kind_of_event_is_shown_above() -> None:
    known = schemas.load("ingest_progress")["properties"]["kind"]["enum"]

    assert [kind for kind, _ in EVENTS] == known


def test_an_items_absent_fields_do_not_travel() -> None:
    item = IngestItem(kind=ItemKind.SKIPPED, source_id="n", doc_path="a", reason="ignored")

    assert wire.ingest_item(item) == {
        "kind": "skipped",
        "source_id": "n",
        "doc_path": "a",
        "reason": "ignored",
        "warnings": [],
        "duration_ms": 0,
    }


def test_the_ledger() -> None:
    index = MemoryIndex()
    states = {
        "a.md": file_row("a.md", media="markdown", size=3, doc_id="a" * 32, mtime_ns=10**18),
        "b.md": file_row("b.md", FileState.SKIPPED, reason="too_large", detail="9 GB"),
        "c.md": file_row("c.md", FileState.FAILED, error_code="io_error"),
        "d.md": file_row("d.md", FileState.PENDING, processed_at=None, changed_at=None),
        "e.md": file_row("e.md", FileState.DELETED, reason="ignored"),
    }
    index.publish(Corpus().publication(files=list(states.values())))
    rows = index.snapshot().files(None)

    out = wire.file_status(
        rows[:4], wire.coverage(index.snapshot().ledger(None).counts, chunks=7, embedded=5)
    )

    check("file_status", out)
    assert out["files"][0] == {
        "source_id": "notes",
        "doc_path": "a.md",
        "state": "indexed",
        "doc_id": "a" * 32,
        "media": "markdown",
        "indexed_at": "2026-01-02T03:04:05Z",
        "changed_at": "2026-01-02T03:04:05Z",
        "mtime": "2001-09-09T01:46:40Z",
        "size": 3,
    }
    assert "indexed_at" not in out["files"][1]
    assert out["coverage"] == {
        "files": 5,
        "indexed": 1,
        "skipped": 1,
        "failed": 1,
        "pending": 1,
        "deleted": 1,
        "by_reason": {"too_large": 1},
        "chunks": 7,
        "embedded": 5,
    }
    check("file_status", wire.file_status([], wire.coverage({})))


def shown() -> tuple[Sequence[StoredChunk], StoredDoc, str]:
    """Return the chunks, the document and the text of a small knowledge base."""
    embedder = HashEmbedder(16)
    doc = Corpus().document(
        "a.md",
        "# One\n\nTwo.\n\nThree.",
        aliases=("x",),
        tags=("t",),
        repo="r",
        repo_commit="abc",
        created_at=datetime(850, 1, 1, tzinfo=UTC),
        metadata={"user": {"k": 1}},
        blocks=({"kind": "heading", "start": 0, "end": 5, "level": 1, "heading_path": ()},),
        links=({"kind": "wiki", "target": "b", "text": "b", "start": 3},),
    )
    index = MemoryIndex()
    index.publish(publication(doc, embedder=embedder))
    snapshot = index.snapshot()
    (stored,) = snapshot.docs(None)
    return snapshot.doc_chunks(doc.doc_id), stored, doc.text


def test_chunks_and_what_is_fetched() -> None:
    chunks, doc, text = shown()
    sizes = {"hash.none.1": 16}
    before, target, after = (wire.chunk(chunk, sizes) for chunk in chunks)
    moment = doc["indexed_at"]

    check("chunk_inspection", wire.chunk_inspection(chunks[0], sizes))
    fetched = wire.fetch_chunk(target, [before], [after], indexed_at=moment, stale=False)
    check("fetch_result", fetched)
    check("fetch_result", wire.fetch_doc(doc, text, stale=True))
    check("fetch_result", wire.fetch_doc(doc, text[:3], stale=True, omitted_chars=9))
    check("fetch_result", wire.fetch_span(doc, text, (1, 99), 5, stale=False))
    cut = wire.fetch_span(doc, "", (3, 3), 2, stale=False, omitted_chars=4)
    check("fetch_result", cut)

    assert target["text"] == "Two."
    assert target["source_spans"][0]["uri"] == "a.md#L3"
    assert target["embeddings"] == [{"model": "hash.none.1", "dimensions": 16}]
    assert (fetched["truncated"], cut["truncated"], cut["omitted_chars"]) == (False, True, 4)


@quick
@given(spans, st.lists(short, max_size=2), maybe)
def test_chunks_of_every_kind(span: Span, headings: list[str], symbol: str | None) -> None:
    chunks, _doc, _text = shown()
    odd: StoredChunk = {
        **chunks[0],
        "span": stored_span(span),
        "heading_path": headings,
        "symbol": symbol,
        "part": 2,
        "flags": ("f",),
    }

    check("chunk_inspection", wire.chunk_inspection(odd, {}))
    check("chunk_inspection", wire.chunk_inspection({**chunks[0], "media": "code"}, {}))


def test_documents() -> None:
    _chunks, doc, _text = shown()
    bare: StoredDoc = {
        **doc,
        "lang": None,
        "code_lang": "python",
        "repo": None,
        "created_at": None,
    }
    undated: StoredDoc = {**doc, "doc_date": None}

    for stored in (doc, bare, undated):
        check("doc_summary", wire.doc_summary(stored))
        check("doc_inspection", wire.doc_inspection(stored))
    check("doc_summary_list", wire.doc_list([doc, bare], total=9, next_cursor="c"))
    out = wire.doc_inspection(doc)
    assert out["created_at"] == "0850-01-01T00:00:00Z"
    assert [event["kind"] for event in out["provenance"]] == ["modified", "parsed", "chunked"]
    assert out["blocks"] == [
        {"kind": "heading", "heading_path": [], "char_start": 0, "char_end": 5, "level": 1}
    ]


def test_counts_are_whole_and_zero_where_there_is_nothing() -> None:
    nothing = wire.stats({}, index_bytes={})

    check("stats", wire.stats_report(nothing))
    assert nothing == {
        "doc_count": 0,
        "chunk_count": 0,
        "asset_count": 0,
        "last_ingest_at": None,
        "media_breakdown": dict.fromkeys(("markdown", "pdf", "image", "audio", "code", "other"), 0),
        "lang_breakdown": {},
        "code_lang_breakdown": {},
        "repo_breakdown": {},
        "source_breakdown": {},
        "index_bytes": {"duckdb": 0, "tantivy": 0, "vectors": 0, "assets": 0, "costly": 0},
        "stale_doc_count": 0,
        "corpus_revision": 0,
    }
    full = wire.stats(
        {
            "doc_count": 3,
            "last_ingest_at": 0,
            "media_breakdown": {"html": 1, "code": 2},
            "lang_breakdown": {None: 2, "en": 1},
        },
        index_bytes={"duckdb": 5},
        stale_doc_count=1,
        corpus_revision=9,
    )
    check("stats", wire.stats_report(full))
    assert (full["last_ingest_at"], full["media_breakdown"]["html"]) == ("1970-01-01T00:00:00Z", 1)
    assert full["lang_breakdown"] == {"en": 1, "null": 2}


def test_the_schema_report_lists_every_schema() -> None:
    out = wire.schema_report(
        capabilities={"json_mode": True},
        models={"parser": "p1", "embedding": None},
        counts=wire.stats({}, index_bytes={}),
    )

    check("schema", out)
    assert out["wire"]["schemas"] == [f"{name}.v1" for name in schemas.names()]
    assert [name for name, can in out["capabilities"].items() if can] == ["json_mode"]
    assert out["models"]["chunker"] is None


SOURCE = {
    "id": "notes",
    "root": "/notes",
    "include": (),
    "exclude": ("*.log",),
    "trust_level": "primary",
    "source_type": "note",
    "follow_links": False,
}


GONE = {
    "uri": "a.md#L1",
    "content_hash": None,
    "status": "gone",
    "checked": "file",
    "source_id": "notes",
    "doc_id": "a" * 32,
    "now": wire.citation(Citation("b.md", LineSpan(2, 3), "0" * 16)),
    "now_source_id": "other",
    "diff": None,
    "detail": "the file is not there any more",
}


MANIFEST = wire.archive_manifest(
    {
        "store_id": "5" * 32,
        "schema": 2,
        "corpus_revision": 3,
        "stats": {
            "doc_count": 2,
            "chunk_count": 4,
            "embedded": {"m.1": 4},
            "source_breakdown": {"notes": 2},
        },
    },
    [{"name": "data/kebab.duckdb", "bytes": 7, "sha256": "0" * 64, "mtime_ns": 1}],
    "2026-01-02T03:04:05Z",
)
IMPORTED = {
    "index": "rebuilt",
    "settings": "written",
    "golden_questions": "absent",
    "kept_aside": None,
    "sources": [{"id": "notes", "root": "/notes", "configured": True, "present": False}],
    "source_files_left": 2,
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("citation_check", wire.citation_check([])),
        ("citation_check", wire.citation_check([GONE, GONE | {"diff": "-a\n+b\n"}])),
        ("doctor", wire.doctor([])),
        ("doctor", wire.doctor([{"name": "n", "ok": False, "detail": "d", "hint": None}])),
        (
            "model_list",
            wire.model_list(
                [
                    {
                        "name": "e5",
                        "provider": "local",
                        "present": True,
                        "selectable": True,
                        "active": True,
                        "dimensions": 384,
                        "detail": None,
                    }
                ]
            ),
        ),
        ("source_list", wire.source_list([SOURCE], "/c.toml", added="notes")),
        ("source_list", wire.source_list([], "/c.toml", removed="notes")),
        ("source_list", wire.source_list([SOURCE], "/c.toml", added="notes", preview=PREVIEW)),
        (
            "config_report",
            wire.config_report(
                None,
                [
                    {"key": "ask.model", "value": None, "origin": "default", "detail": None},
                    {"key": "a.b", "value": [1], "origin": "environment", "detail": "KEBAB_A_B"},
                ],
                [SOURCE],
            ),
        ),
        ("config_migration", wire.config_migration("/c.toml", (1, 1), added=[])),
        (
            "config_migration",
            wire.config_migration(
                "/c.toml", (1, 2), added=["a.b"], removed=["c.d"], backup_path="/c.toml.bak"
            ),
        ),
        ("archive_manifest", MANIFEST),
        ("export_report", wire.export_report(MANIFEST, path=None, parts={"store": 7})),
        (
            "export_report",
            wire.export_report(MANIFEST, path="/x", parts={}, missing=["notes/a.md"]),
        ),
        ("repair_report", wire.repair_report("/data/kebab.duckdb", [], dry_run=True)),
        (
            "repair_report",
            wire.repair_report("/d", ["x"], dry_run=False, copy="/c", saved=1, gone=["a.md"]),
        ),
        ("import_report", wire.import_report(MANIFEST, "/data", IMPORTED, dry_run=False)),
        ("reset_report", wire.reset_report("all", [("/data", 7), ("/c.toml", 1)])),
        ("reset_report", wire.reset_report("orphans", [], dry_run=True, documents=3)),
        ("init_report", wire.init_report("/c.toml", "/data", created=["/data"], existing=["/c"])),
    ],
)
def test_operations(name: str, value: object) -> None:
    check(name, value)


def test_what_operations_add_up() -> None:
    failing = {"name": "n", "ok": False, "detail": "d"}

    assert wire.citation_check([GONE | {"status": "moved"}])["ok"]
    assert not wire.citation_check([GONE | {"status": "changed"}])["ok"]
    checked = wire.citation_check([GONE, GONE | {"status": "moved"}])
    assert checked["summary"] == {"total": 2, "unchanged": 0, "moved": 1, "changed": 0, "gone": 1}
    assert wire.doctor([failing | {"ok": True}])["ok"]
    assert not wire.doctor([failing | {"ok": True}, failing])["ok"]
    assert wire.reset_report("all", [("/data", 7), ("/c.toml", 1)])["bytes"] == 8
    exported = wire.export_report(MANIFEST, path=None, parts={}, missing=["a"] * 12)
    assert (exported["bytes"], exported["missing_count"], len(exported["missing"])) == (7, 12, 10)
    assert not wire.config_migration("/c", (1, 1), added=[])["changed"]
    assert wire.config_migration("/c", (1, 1), added=["a"])["changed"]
    settings_of = wire.config_report(None, [{"key": "k", "value": None, "origin": "default"}], [])
    assert settings_of["settings"] == [{"key": "k", "value": None, "origin": "default"}]
