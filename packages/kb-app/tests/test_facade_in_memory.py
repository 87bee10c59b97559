"""The facade is given its parts: over parts in memory it is the same facade, and scriptable."""

from __future__ import annotations

import threading
from inspect import getmembers, isfunction, signature
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from jsonschema import ValidationError

from kb_app import Config, KnowledgeBase
from kb_app.config import Source
from kb_app.testing.facade import ScriptedKnowledgeBase, event, report, script
from kb_app.testing.parts import writable_parts
from kb_core.answers import AskQuery
from kb_core.errors import ReadonlyMode
from kb_core.evals import SelfOptions
from kb_core.ingest import IngestOptions
from kb_core.search import GrepQuery, SearchFilters, SearchQuery
from kb_core.testing.documents import document
from kb_core.testing.fakes import HashEmbedder, MemoryIndex
from kb_core.testing.store import MemoryStore

WALRUS = document("a.md", "# A\n\nThe walrus sleeps.\n")
OTHER = document("b.md", "# B\n\nThe otter does not.\n")
CHUNK = WALRUS.chunks[1]
QUERY = SearchQuery(text="walrus")

READING: dict[str, tuple[Any, ...]] = {
    "chunks_of": (WALRUS.doc_id,),
    "cite": ("a.md#L3",),
    "codebase_search": ({"query": "walrus"},),
    "constants": ("a.md", ["WALRUS_DEPTH"]),
    "doctor": (),
    "eval_runs": (),
    "examine": (SelfOptions(),),
    "explain_miss": ("a.md", QUERY),
    "facets": (QUERY,),
    "fetch": ("a.md:3",),
    "shared_paths": (["a.md"],),
    "fetch_chunk": (CHUNK.chunk_id,),
    "fetch_doc": (WALRUS.doc_id,),
    "fetch_many": (["a.md:3"],),
    "fetch_span": (WALRUS.doc_id, 1, 3),
    "grep": (GrepQuery(pattern="walrus"),),
    "inspect_chunk": (CHUNK.chunk_id,),
    "inspect_doc": (WALRUS.doc_id,),
    "jobs": (),
    "links": ("a.md",),
    "list_docs": (SearchFilters(),),
    "models": (),
    "outline": ("a.md",),
    "preferences": (),
    "schema": (),
    "answer": (AskQuery(text="walrus"),),
    "ask": (AskQuery(text="walrus"),),
    "search": (QUERY,),
    "search_aggregated": ([QUERY],),
    "search_many": ([QUERY],),
    "similar": ("a.md",),
    "sources": (),
    "stats": (),
    "status": (),
    "verify_citations": (["a.md#L3"],),
}
RUNS: dict[str, tuple[Any, ...]] = {
    "embed": (),
    "ingest": (IngestOptions(),),
    "ingest_apart": (IngestOptions(),),
    "ingest_file": ("/a.md",),
    "ingest_file_by_model": ("/a.md",),
    "ingest_text": ("text",),
    "ingest_text_by_model": ("text",),
    "remove_added": ("/a.md",),
}
TITLED = {"ingest_text", "ingest_text_by_model"}


def operations() -> dict[str, Any]:
    members = getmembers(KnowledgeBase, isfunction)
    return {name: one for name, one in members if not name.startswith("_")}


def test_every_operation_is_tried_here() -> None:
    of_files = {"add_source", "close", "draw", "locate", "preview_source", "reset", "forget", "sql"}
    of_files |= {"expect", "keep_queries", "recent_queries", "wait_for_fresh", "stay", "leave"}
    of_files |= {"conversation", "conversations", "delete_conversations"}
    of_files |= {"add_case", "check_cases", "compare_runs", "evaluate"}
    of_files |= {"export_run", "import_cases", "export_archive", "import_archive", "repair"}
    of_files |= {"import_run", "make_safety_copy", "tune", "tuning", "watch", "followed"}
    of_files |= {
        "add_cases",
        "copy_index",
        "delete_feedback",
        "feedback",
        "judge",
        "judge_by_model",
        "judge_last",
        "keep_search",
        "propose_cases",
        "report",
    }

    assert operations().keys() - of_files == READING.keys() | RUNS.keys()


@pytest.mark.parametrize("name", READING)
def test_what_reads_answers_without_a_file(name: str) -> None:
    with ScriptedKnowledgeBase(WALRUS, OTHER) as kb:
        answer = getattr(kb, name)(*READING[name])

    assert answer is not None
    assert not Path("/nonexistent").exists()


def test_it_finds_what_it_keeps() -> None:
    with ScriptedKnowledgeBase(WALRUS, OTHER) as kb:
        first = kb.search(QUERY).hits[0]
        kb.keep(document("c.md", "# C\n\nwalrus walrus\n"))

        assert (first.citation.uri, first.stale) == ("a.md#L3", False)
        assert "c.md" in {hit.doc_path for hit in kb.search(QUERY).hits}


@pytest.mark.parametrize("name", operations())
def test_it_is_called_as_the_facade_is(name: str) -> None:
    assert signature(getattr(ScriptedKnowledgeBase, name)) == signature(operations()[name])


@pytest.mark.parametrize("name", RUNS)
def test_what_writes_does_what_was_scripted(name: str) -> None:
    begun = event("scan_started", source_id="notes", root="/notes")
    done = event("completed", report=report(scanned=3))
    kb = ScriptedKnowledgeBase(runs=script(begun, done))
    options = {"title": "A"} if name in TITLED else {}

    assert list(getattr(kb, name)(*RUNS[name], **options)) == [begun, done]
    assert kb.asked[0][0] == name
    reading = ScriptedKnowledgeBase(readonly=True)
    with pytest.raises(ReadonlyMode):
        list(getattr(reading, name)(*RUNS[name], **options))


@given(st.integers(0, 5), st.integers(0, 5))
def test_a_scripted_run_stops_as_a_real_one_does(steps: int, stopped_at: int) -> None:
    stop = threading.Event()
    events = [event("committed", revision=n) for n in range(steps)]
    run = list(script(*events[:stopped_at], stop.set, *events[stopped_at:])(stop))

    assert [one.report is not None for one in run[-1:]] == [True]
    assert run[-1].kind == "aborted"
    assert run[:-1] == events[:stopped_at]


def test_of_a_model_that_nobody_measured_the_doctor_says_that_no_answer_is_judged() -> None:
    with ScriptedKnowledgeBase(WALRUS) as kb:
        checks = {each["name"]: each["detail"] for each in kb.doctor()["checks"]}

    assert "was not measured: kebab ask refuses nothing" in checks["answers"]


@pytest.mark.parametrize(
    ("programs", "said", "is_hint"),
    [
        ([], "pdf by nothing, html by nothing, audio by nothing, video by nothing", True),
        (["mpv"], "pdf by nothing, html by nothing, audio by mpv, video by mpv", True),
        (["xdg-open", "mpv"], "pdf by the desktop, html by the desktop, audio by mpv", False),
    ],
)
def test_the_doctor_says_where_nothing_opens_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, programs: list[str], said: str, is_hint: bool
) -> None:
    """It said that the desktop does, whatever there was."""
    for name in programs:
        (tmp_path / name).touch(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))

    with ScriptedKnowledgeBase(WALRUS) as kb:
        (check,) = (each for each in kb.doctor()["checks"] if each["name"] == "viewers")

    assert check["detail"].startswith(said)
    assert (check["ok"], "[viewers]" in check.get("hint", "")) == (True, is_hint)


def test_the_doctor_tells_of_mean_lengths_that_wait_for_the_end_of_a_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kb_core.testing._memory.MemorySnapshot.drift", lambda _: 0.03)

    with ScriptedKnowledgeBase(WALRUS) as kb:
        (said,) = (each for each in kb.doctor()["checks"] if each["name"] == "ranking")

    assert said["detail"].startswith("mean lengths are off by 3.0e-02, and scores with them: a run")
    assert said["hint"] == "run 'kebab ingest': its end mends that"


def test_an_answer_that_is_no_wire_object_of_ours_is_refused() -> None:
    kb = ScriptedKnowledgeBase(answers={"stats": {"schema_version": "stats.v1", "docs": 1}})

    with pytest.raises(ValidationError):
        kb.stats()


def test_the_parts_come_from_the_configuration_when_it_is_opened(tmp_path: Path) -> None:
    config = Config.inside(tmp_path)

    with KnowledgeBase.open(config) as kb:
        assert kb.list_docs(SearchFilters())["items"] == []
    assert not config.storage.data_dir.exists()


def test_a_folder_is_ingested_into_a_store_and_an_index_that_are_no_files(tmp_path: Path) -> None:
    """Nothing above the ports asks for more than they promise."""
    notes, data = tmp_path / "notes", tmp_path / "data"
    notes.mkdir()
    note = notes / "a.md"
    note.write_text("# A\n\nThe walrus sleeps.\n", "utf-8")
    (notes / "b.md").write_text("# B\n\nThe otter does not.\n", "utf-8")
    config = Config.inside(data, Source(id="notes", root=notes))
    store, index = MemoryStore(), MemoryIndex()
    parts = writable_parts(store, index, HashEmbedder(), data)

    with KnowledgeBase(config, parts) as kb:
        first = [*kb.ingest(IngestOptions())][-1].report
        note.write_text("# A\n\nThe walrus wakes.\n", "utf-8")
        (notes / "b.md").unlink()
        second = [*kb.ingest(IngestOptions())][-1].report
        found = kb.search(QUERY).hits

    assert first is not None
    assert second is not None
    assert (first.counts["new"], second.counts["updated"], second.counts["deleted"]) == (2, 1, 1)
    assert [(hit.doc_path, "wakes" in hit.snippet) for hit in found] == [("a.md", True)]
    assert store.count_missing(HashEmbedder().model.key) == 0
    assert not list(data.glob("*.duckdb*"))
    assert not (data / "lexical").exists()
