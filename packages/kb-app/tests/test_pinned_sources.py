"""``allowed_sources``: what another source holds reaches nobody, whatever is asked and however."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from inspect import getmembers, isfunction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from kb_app import Config, KnowledgeBase
from kb_app._narrowed import _NarrowSnapshot
from kb_app._pinned import PinnedReader, PinnedSnapshot
from kb_app.config import Source, load_config
from kb_app.testing import SearchWorld, random_documents
from kb_app.testing.parts import open_here
from kb_app.workspaces import place_of_folders
from kb_core.answers import AskQuery
from kb_core.errors import KbError, ReadonlyMode
from kb_core.evals import EvalOptions, SelfOptions
from kb_core.filters import OneOf
from kb_core.ingest import IngestOptions
from kb_core.ports import IndexSnapshot
from kb_core.search import GrepQuery, SearchFilters, SearchQuery
from kb_search.reader import Reader

TOLD = "# Otters\n\nThe otter sleeps in the reeds, and dives at noon.\n"
KEPT = "# Vault\n\nThe walrus otter sleeps under zanzibar, says agent tapioca ([[open]]).\n"
SECRETS = ("zanzibar", "tapioca", "Vault", "kept_tag")
"""What only the other source says; nobody who asks has typed it."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Config, Mapping[str, str]]:
    """Two sources, and what the unpinned facade knows of the one that is not allowed."""
    folder = tmp_path_factory.mktemp("pinned")
    sources = []
    for name, text in (("open", TOLD), ("shut", f"---\ntags: [kept_tag]\n---\n{KEPT}")):
        (folder / name).mkdir()
        (folder / name / f"{name}.md").write_text(text, "utf-8")
        sources.append(Source(id=name, root=folder / name))
    (folder / "shut" / "shut.py").write_text("OTTER_PLACE = 'zanzibar'\n", "utf-8")
    config = Config.inside(folder, *sources)
    config = replace(config, embedding=replace(config.embedding, model="none"))
    with open_here(config) as kb:
        list(kb.ingest(IngestOptions()))
        doc = kb.list_docs(SearchFilters(source=("shut",)))["items"][0]["doc_id"]
        chunk = kb.chunks_of(doc)[0]["chunk_id"]
    return config, {"doc": doc, "chunk": chunk, "folder": str(folder)}


@pytest.fixture
def pinned(world: tuple[Config, Mapping[str, str]]) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(_pinned(world[0])) as kb:
        yield kb


def _pinned(config: Config, *names: str) -> Config:
    return replace(config, search=replace(config.search, allowed_sources=names or ("open",)))


def _asked(known: Mapping[str, str]) -> dict[str, list[tuple[Any, ...]]]:
    """Return every operation that answers, with what an asker who knows names would try."""
    doc, chunk, root = known["doc"], known["chunk"], known["folder"]
    path, cited = f"{root}/shut/shut.md", f"{root}/shut/shut.md#L3-L4"
    wide = SearchQuery(text="otter walrus", filters=SearchFilters(source=("shut",)))
    plain = SearchQuery(text="otter walrus")
    prefixes = [doc, doc[:4], chunk, chunk[:4]]
    places = [path, "shut.md", "shut.md:1-9", cited, doc, chunk, "shut/shut.md"]
    return {
        "search": [(plain,), (wide,)],
        "facets": [(plain,), (wide,)],
        "search_many": [([plain, wide],)],
        "search_aggregated": [([plain, wide],)],
        "codebase_search": [({"query": "otter"},), ({"query": "otter", "path": "shut"},)],
        "cite": [(cited,), ("shut.md#L3",)],
        "verify_citations": [([cited, "shut.md#L3"],)],
        "locate": [(cited,), ("shut.md#L3",)],
        "draw": [(cited,), (chunk,)],
        "similar": [(name,) for name in (*prefixes, "shut.md")],
        "explain_miss": [(name, plain) for name in (doc, "shut.md", path)],
        "list_docs": [(SearchFilters(),), (SearchFilters(source=("shut",)),)],
        "inspect_doc": [(doc,), (doc[:4],)],
        "shared_paths": [(["shut.md", "open.md"],)],
        "links": [(doc,), (path,), ("open.md",), ("shut.md",)],
        "inspect_chunk": [(chunk,), (chunk[:4],)],
        "chunks_of": [(doc,)],
        "status": [(), ("shut.md",), (path,), (None, "indexed")],
        "schema": [()],
        "stats": [()],
        "models": [()],
        "doctor": [()],
        "sources": [()],
        "jobs": [()],
        "followed": [()],
        "preferences": [()],
        "recent_queries": [()],
        "fetch": [(place,) for place in places],
        "fetch_many": [(places,)],
        "outline": [("shut.md",), (doc,)],
        "grep": [(GrepQuery(pattern="zan.ibar"),), (GrepQuery(pattern="w"),)],
        "constants": [("open.md", ["OTTER_PLACE"])],
        "fetch_chunk": [(chunk,), (chunk[:4],)],
        "fetch_doc": [(doc,)],
        "fetch_span": [(doc, 1, 3)],
        "ask": [(AskQuery(text="where does the walrus otter sleep?"),)],
        "answer": [(AskQuery(text="where does the walrus otter sleep?"),)],
        "examine": [(SelfOptions(),)],
        "tuning": [()],
        "expect": [(plain,)],
        "stay": [()],
        "leave": [()],
        "keep_queries": [(["otter"],)],
        "keep_search": [("terminal", plain, [])],
        "close": [()],
    }


REFUSED: dict[str, tuple[Any, ...]] = {
    "sql": ("SELECT * FROM kebab.documents",),
    "export_archive": ("/nonexistent/a.tar",),
    "make_safety_copy": (),
    "import_archive": ("/nonexistent/a.tar",),
    "conversations": (),
    "conversation": ("last",),
    "delete_conversations": (["a"],),
    "check_cases": (),
    "propose_cases": (),
    "evaluate": (EvalOptions(),),
    "compare_runs": ("last", "last~1"),
    "tune": ("last",),
    "report": (["last"],),
    "export_run": ("last", "/nonexistent"),
    "eval_runs": (),
    "feedback": (),
    "delete_feedback": (None,),
    "preview_source": ("/",),
    "ingest": (IngestOptions(),),
    "ingest_apart": (IngestOptions(),),
    "ingest_file": ("/a.md",),
    "ingest_file_by_model": ("/a.md",),
    "remove_added": ("/a.md",),
    "add_source": ("/",),
    "embed": (),
    "wait_for_fresh": (["shut.md"],),
    "copy_index": ("milvus",),
    "judge_by_model": ("otter", "shut.md#L3", "good"),
}
SHAPED = {"add_case", "add_cases", "import_cases", "import_run", "judge", "judge_last"}
SHAPED |= {"watch", "ingest_text", "ingest_text_by_model", "reset", "forget", "repair"}
"""What writes, and is refused by the same line; ``reset`` and others also where they only look."""


def test_every_operation_of_the_facade_is_asked_or_refused_here() -> None:
    members = {name for name, _ in getmembers(KnowledgeBase, isfunction) if name[0] != "_"}

    assert members == _asked(dict.fromkeys(("doc", "chunk", "folder"), "x")).keys() | {
        *REFUSED,
        *SHAPED,
    }


def test_nothing_that_answers_tells_of_a_source_that_is_not_allowed(
    world: tuple[Config, Mapping[str, str]], pinned: KnowledgeBase
) -> None:
    for name, calls in _asked(world[1]).items():
        for arguments in calls:
            told = _told(pinned, name, arguments)
            assert not [word for word in SECRETS if word in told], (name, arguments, told)


def test_without_the_pin_the_same_questions_tell_all_of_it(
    world: tuple[Config, Mapping[str, str]],
) -> None:
    asked = _asked(world[1])
    with KnowledgeBase.open(world[0]) as kb:
        for name in ("search", "cite", "inspect_doc", "fetch", "grep", "fetch_chunk", "constants"):
            told = "".join(_told(kb, name, arguments) for arguments in asked[name])
            assert [word for word in SECRETS if word in told], (name, told)


def test_who_links_to_a_document_from_elsewhere_is_not_told(
    world: tuple[Config, Mapping[str, str]], pinned: KnowledgeBase
) -> None:
    with KnowledgeBase.open(world[0]) as kb:
        assert [link["title"] for link in kb.links("open.md", backlinks=True)["items"]] == ["Vault"]
    assert pinned.links("open.md", backlinks=True)["items"] == []


def _told(kb: KnowledgeBase, name: str, arguments: tuple[Any, ...]) -> str:
    """Return all that an operation says, of its error too."""
    try:
        found = getattr(kb, name)(*arguments)
        found = list(found) if isinstance(found, Iterator) else found
    except KbError as error:
        return f"{error} {error.hint} {json.dumps(error.details)}"
    return repr(found)


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_answer_from_elsewhere_is_refused_with_the_setting(
    pinned: KnowledgeBase, name: str
) -> None:
    with pytest.raises(ReadonlyMode, match="allowed_sources pins"):
        list(getattr(pinned, name)(*REFUSED[name]) or ())


@pytest.mark.parametrize("name", ["reset", "forget", "repair"])
def test_a_dry_run_is_refused_too(pinned: KnowledgeBase, name: str) -> None:
    given = {"reset": ("all",), "forget": ("doc", ["shut.md"]), "repair": ()}[name]

    with pytest.raises(ReadonlyMode, match="allowed_sources pins"):
        getattr(pinned, name)(*given, dry_run=True)


def test_a_conversation_and_a_deep_check_are_refused(pinned: KnowledgeBase) -> None:
    with pytest.raises(ReadonlyMode, match="allowed_sources pins"):
        pinned.ask(AskQuery(text="otter?", conversation="new"))
    with pytest.raises(ReadonlyMode, match="allowed_sources pins"):
        pinned.doctor(deep=True)


def test_what_is_allowed_is_answered_as_ever(pinned: KnowledgeBase) -> None:
    (hit,) = pinned.search(SearchQuery(text="otter")).hits
    counts = pinned.stats()

    assert (hit.doc_path, pinned.cite(hit.citation.uri)["doc_path"]) == ("open.md", "open.md")
    assert (counts["doc_count"], counts["source_breakdown"]) == (1, {"open": 1})
    assert [row["doc_path"] for row in pinned.status()["files"]] == ["open.md"]
    assert [name for name, _ in pinned.sources()] == ["open"]


def test_a_folder_outside_is_no_way_around(world: tuple[Config, Mapping[str, str]]) -> None:
    config, known = _pinned(world[0]), world[1]

    with place_of_folders(config, [Path(known["folder"]) / "open"], environ={}).open() as kb:
        assert len(kb.search(SearchQuery(text="otter")).hits) == 1
    for folder in ("shut", "."):
        with pytest.raises(ReadonlyMode, match="none of its sources"):
            place_of_folders(config, [Path(known["folder"]) / folder], environ={})


def test_a_source_within_one_that_is_allowed_is_none_of_its_folders(
    world: tuple[Config, Mapping[str, str]],
) -> None:
    folder = Path(world[1]["folder"])
    outer = Source(id="open", root=folder, exclude=("/shut/",))
    config = _pinned(replace(world[0], sources=(outer, world[0].sources[1])))

    with pytest.raises(ReadonlyMode, match="none of its sources"):
        place_of_folders(config, [folder / "shut"], environ={})
    assert place_of_folders(config, [folder], environ={}).within == ()


def test_a_name_that_the_index_does_not_have_is_said(
    world: tuple[Config, Mapping[str, str]],
) -> None:
    with KnowledgeBase.open(_pinned(world[0], "opne")) as kb:
        checks = [each for each in kb.doctor()["checks"] if each["name"] == "allowed source"]

        assert not kb.search(SearchQuery(text="otter")).hits
    assert ["'opne'" in each["detail"] and not each["ok"] for each in checks] == [True]


def test_the_setting_is_read_from_the_file(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[search]\nallowed_sources = ["open"]\n', "utf-8")

    assert load_config(file).search.allowed_sources == ("open",)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> SearchWorld:
    """Documents of two sources, of which some are embedded."""
    world = SearchWorld(tmp_path_factory.mktemp("large"))
    world.put(*random_documents(world.corpus, 7, 40))
    return world


@pytest.fixture(scope="module")
def whole(large: SearchWorld) -> IndexSnapshot:
    return large.snapshot()


@given(st.integers(0, 10**6), st.sampled_from(["notes", "work"]))
@settings(max_examples=10, deadline=None)
def test_of_ids_and_keys_only_what_is_allowed_is_read(
    large: SearchWorld, whole: IndexSnapshot, chance: int, allowed: str
) -> None:
    seen = PinnedSnapshot(whole, (allowed,))
    docs = list(whole.docs(None))
    doc = docs[chance % len(docs)]
    chunks = list(whole.doc_chunks(doc["doc_id"]))
    keys = [chunk["chunk_key"] for chunk in chunks]
    model = large.embedder.model.key
    is_seen = doc["source_id"] == allowed

    assert bool(seen.doc_text(doc["doc_id"])) == is_seen
    assert len(seen.doc_chunks(doc["doc_id"])) == len(chunks) * is_seen
    assert len(seen.chunks(keys)) == len(keys) * is_seen
    assert len(seen.docs_of([doc["doc_key"]])) == is_seen
    assert len(seen.find_docs(doc["doc_id"], 2)) == is_seen
    assert bool(seen.find_chunks(chunks[0]["chunk_id"], 2)) == is_seen
    assert seen.with_vector(keys, model) == (whole.with_vector(keys, model) if is_seen else set())
    assert seen.roughly().count(None) == seen.count(None)
    assert bool(seen.vectors_of([keys[0]], model).get(keys[0])) <= is_seen
    assert {d["source_id"] for d in seen.find_docs("", 5)} == {allowed}
    query = large.embedder.embed_query("alpha search")
    found = seen.chunks([s.chunk_key for s in seen.vector(query, model, None, 9)])
    assert {chunk["source_id"] for chunk in found.values()} <= {allowed}


def test_what_is_narrowed_stays_so_where_words_are_told_roughly(whole: IndexSnapshot) -> None:
    (doc, *_) = whole.docs(None)
    narrowed = _NarrowSnapshot(whole, OneOf("doc_id", (doc["doc_id"],)))

    assert narrowed.roughly().count(None) == doc["chunk_count"] < whole.count(None)


def test_counts_are_those_of_an_index_of_what_is_allowed(whole: IndexSnapshot) -> None:
    control = PinnedSnapshot(whole, ("notes",)).control
    where = OneOf("source_id", ("notes",))

    assert set(control.sources) == {"notes"}
    for name in control.stats:
        assert control.stats[name] is not None or name == "last_ingest_at"
    assert control.stats["doc_count"] == whole.count_docs(where)
    assert control.stats["chunk_count"] == whole.count(where)
    for files in control.vectors.values():
        assert files.rows == whole.count(where)


def test_a_reader_gives_the_same_snapshot_until_there_is_another(tmp_path: Path) -> None:
    world = SearchWorld(tmp_path)
    world.write("otter")
    reader = PinnedReader(Reader(tmp_path), ("notes",))
    first = reader.snapshot()
    assert reader.snapshot() is first
    world.write("otter", "walrus")
    assert reader.snapshot() is not first
    reader.close()
