"""What is printed is accepted: one resolver, in every operation that takes a document."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kb_app import Config, KnowledgeBase
from kb_app._parts import Parts
from kb_app.testing.parts import memory_parts
from kb_core.errors import ChunkNotFound, DocNotFound, InvalidInput
from kb_core.media import SearchMode
from kb_core.records import FileState
from kb_core.search import GrepQuery, SearchFilters, SearchQuery
from kb_core.testing.documents import Corpus, file_row
from kb_core.testing.fakes import HashEmbedder, MemoryIndex

PATH = "deep/My Notes/Callouts.md"
TEXT = "# Callouts\n\nThe walrus sleeps.\n\n## Late\n\nThe otter does not.\n"
Ask = Callable[[KnowledgeBase, str], Any]
EVERYTHING = SearchFilters()
QUERY = SearchQuery(text="walrus")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Config, Parts]:
    """Return a source's folder, and a knowledge base of what is said to be in it."""
    root = tmp_path_factory.mktemp("notes").resolve()
    (root / "deep" / "My Notes").mkdir(parents=True)
    (root / PATH).write_text(TEXT, "utf-8")
    embedder = HashEmbedder()
    corpus = Corpus(embedder)
    step = corpus.publication(
        corpus.document(PATH, TEXT),
        corpus.document("a/twin.md", "# Twin\n\nof a\n"),
        corpus.document("b/twin.md", "# Twin\n\nof b\n"),
        corpus.document("same.md", "one\n"),
        corpus.document("same.md", "other\n", source_id="work"),
        corpus.document("odd #1: 50%.md", "odd\n"),
        corpus.document("two\nlines.md", "lines\n"),
        corpus.document("a/locked.pdf", "another\n"),
        corpus.document("\xe9t\xe9.md", "whole\n"),
        corpus.document("e\u0301te\u0301.md", "apart\n"),
        files=[
            file_row("bad file.pdf", FileState.FAILED, reason="encrypted"),
            file_row(PATH),
            file_row("locked.pdf", FileState.SKIPPED, reason="locked"),
            file_row(".ci", FileState.SKIPPED, reason="ignored", detail=".gitignore:1: .ci/"),
        ],
    )
    index = MemoryIndex()
    index.publish(replace(step, sources={"notes": {"root": str(root)}, "work": {}}))
    return root, Config.inside(root / "nowhere"), memory_parts(index, embedder)


@pytest.fixture
def kb(world: tuple[Path, Config, Parts]) -> KnowledgeBase:
    _, config, parts = world
    return KnowledgeBase(config, parts)


def ids(kb: KnowledgeBase) -> tuple[str, str]:
    doc = next(d["doc_id"] for d in kb.list_docs(EVERYTHING)["items"] if d["doc_path"] == PATH)
    chunk = kb.chunks_of(doc)[-1]["chunk_id"]
    return doc, chunk


def spelled(kb: KnowledgeBase, root: Path) -> dict[str, str]:
    """Return every way in which the document is printed or typed."""
    doc, chunk = ids(kb)
    return {
        "path": PATH,
        "dotted": f"./{PATH}",
        "percent": "deep/My%20Notes/Callouts.md",
        "absolute": str(root / PATH),
        "file uri": (root / PATH).as_uri(),
        "citation": "deep/My%20Notes/Callouts.md#L7",
        "line": f"{PATH}:7",
        "line and column": f"{PATH}:7:2",
        "lines of a link": f"{PATH}:L7-L7",
        "absolute line": f"{root / PATH}:7",
        "end": "Callouts.md",
        "end of two": "My Notes/Callouts.md",
        "end and line": "Callouts.md:7",
        "as on Windows": ".\\deep\\My Notes\\Callouts.md",
        "document id": doc,
        "eight digits": doc[:8].upper(),
        "chunk id": chunk,
    }


DOCUMENT: dict[str, Ask] = {
    "fetch_doc": lambda kb, text: kb.fetch_doc(text)["doc_path"],
    "fetch_span": lambda kb, text: kb.fetch_span(text, 1, 2)["doc_path"],
    "inspect_doc": lambda kb, text: kb.inspect_doc(text)["doc_path"],
    "chunks_of": lambda kb, text: kb.chunks_of(text)[0]["doc_path"],
    "explain_miss": lambda kb, text: kb.explain_miss(text, QUERY)["doc_path"],
    "similar": lambda kb, text: PATH if kb.similar(text).hits else "",
    "locate": lambda kb, text: str(kb.locate(text).path).removeprefix("/")[-len(PATH) :],
    "status": lambda kb, text: "".join(row["doc_path"] for row in kb.status(text)["files"]),
}


@pytest.mark.parametrize("operation", DOCUMENT)
def test_a_document_is_named_by_whatever_is_printed_of_it(
    kb: KnowledgeBase, world: tuple[Path, Config, Parts], operation: str
) -> None:
    named = {how: DOCUMENT[operation](kb, text) for how, text in spelled(kb, world[0]).items()}

    assert named == dict.fromkeys(named, PATH)


@pytest.mark.parametrize("how", ["citation", "line", "absolute line", "end and line", "chunk id"])
def test_a_passage_is_named_by_its_place(
    kb: KnowledgeBase, world: tuple[Path, Config, Parts], how: str
) -> None:
    text = spelled(kb, world[0])[how]

    assert kb.fetch_chunk(text)["chunk"]["chunk_id"] == ids(kb)[1]
    assert kb.inspect_chunk(text)["chunk_id"] == ids(kb)[1]
    assert "otter" in str(kb.cite(text))


def test_a_path_alone_cites_all_of_its_document(kb: KnowledgeBase) -> None:
    assert (kb.cite("Callouts.md")["kind"], kb.cite("Callouts.md")["text"]) == ("doc", TEXT)


def test_from_where_one_stands_a_path_leads_to_the_file_there(
    kb: KnowledgeBase, world: tuple[Path, Config, Parts], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world[0] / "deep")

    assert kb.inspect_doc("My Notes/Callouts.md")["doc_path"] == PATH
    assert kb.status("My Notes")["total"] == 1


@pytest.mark.parametrize("text", ["twin.md", "same.md", "twin.md:1"])
def test_what_several_are_called_lists_them(kb: KnowledgeBase, text: str) -> None:
    asking: tuple[Callable[[str], Any], ...]
    asking = (kb.fetch_doc, kb.inspect_chunk, kb.similar, kb.cite)
    for ask in asking:
        with pytest.raises(InvalidInput) as refused:
            ask(text)

        candidates: Any = refused.value.details["candidates"]
        assert len(candidates) == 2
        said = f"{refused.value} {refused.value.hint}"
        assert all(one in said for one in candidates) or "several sources: notes, work" in said


def test_a_name_that_looks_like_a_place_is_a_name_first(kb: KnowledgeBase) -> None:
    for text in ("odd #1: 50%.md", "odd%20%231:%2050%25.md", "odd #1: 50%.md:1"):
        assert kb.inspect_doc(text)["doc_path"] == "odd #1: 50%.md"


def test_a_name_of_two_lines_has_lines_too(kb: KnowledgeBase) -> None:
    for text in ("two\nlines.md", "two\nlines.md:1", "two%0Alines.md#L1"):
        assert kb.fetch(text)["doc_path"] == "two\nlines.md"


def test_a_source_says_which_of_two_is_cited(kb: KnowledgeBase) -> None:
    assert kb.cite("same.md#L1", source="work")["text"] == "other\n"


def test_a_document_is_no_passage_unless_it_has_just_one(kb: KnowledgeBase) -> None:
    assert kb.fetch_chunk("odd #1: 50%.md")["chunk"]["text"] == "odd"
    with pytest.raises(InvalidInput, match="names no passage") as refused:
        kb.fetch_chunk(PATH)

    assert f"{PATH}:12" in str(refused.value.hint)


@pytest.mark.parametrize(
    "text", ["nowhere.md", "zz", "0" * 32, "a.md#L3", "\0", "a\udcff", "x" * 9999]
)
def test_what_names_nothing_is_said_to(kb: KnowledgeBase, text: str) -> None:
    with pytest.raises(DocNotFound):
        kb.fetch_doc(text)
    with pytest.raises(ChunkNotFound):
        kb.fetch_chunk(text)
    assert kb.explain_miss(text, QUERY)["verdict"] == "not_in_ledger"


def test_a_file_of_another_folder_is_named_by_its_name(kb: KnowledgeBase) -> None:
    name = PATH.rpartition("/")[2]
    nearly = "deep/My Notes/Callout.md"
    for place in (f"nowhere/{name}", f"nowhere/{name}:3-4", f"nowhere/{name}#L3", nearly):
        with pytest.raises(DocNotFound) as refused:
            kb.fetch(place)
        assert refused.value.hint == f"did you mean {PATH}?"


def test_of_many_files_of_a_name_those_are_named_that_share_most_of_the_path(
    tmp_path: Path,
) -> None:
    corpus, index = Corpus(), MemoryIndex()
    paths = ["src/utils.js", *(f"lib/{n}/utils.js" for n in range(9))]
    index.publish(corpus.publication(*(corpus.document(path, "x = 1\n") for path in paths)))
    with KnowledgeBase(Config.inside(tmp_path), memory_parts(index, HashEmbedder())) as kb:
        for place in ("app/src/utils.js:3", "app\\src\\utils.js"):
            with pytest.raises(DocNotFound) as refused:
                kb.fetch(place)
            assert str(refused.value.hint).startswith("did you mean src/utils.js, lib/0/utils.js")


def test_code_is_searched_below_an_absolute_path_of_a_source(
    kb: KnowledgeBase, world: tuple[Path, Config, Parts]
) -> None:
    found = kb.codebase_search({"query": "otter", "path": str(world[0] / "deep")})
    whole = kb.codebase_search({"query": "otter", "path": str(world[0])})

    assert {hit["doc_path"] for hit in found["hits"]} == {PATH}
    assert found["queries"] == [{"query": "otter", "path": "deep"}]
    assert PATH in {hit["doc_path"] for hit in whole["hits"]}


def test_an_absolute_pattern_is_told_with_the_one_that_is_meant(
    kb: KnowledgeBase, world: tuple[Path, Config, Parts]
) -> None:
    narrow = SearchFilters(path_glob=(str(world[0] / "deep"),))
    found = kb.search(SearchQuery(text="otter", mode=SearchMode.LEXICAL, filters=narrow))

    (said,) = found.warnings
    assert said.endswith("matches no path; did you mean 'deep'?")


@pytest.mark.parametrize("text", ["deep", "deep/", "./deep/My Notes", "My Notes/"])
def test_a_folder_is_no_document_and_says_how_many_it_has(kb: KnowledgeBase, text: str) -> None:
    with pytest.raises(DocNotFound) as refused:
        kb.fetch(text)

    glob = {"deep": "deep", "deep/": "deep", "My Notes/": "**/My Notes"}.get(text, "deep/My Notes")
    hint = f"1 document in '{glob}/**': 'kebab list docs' shows them by this path glob"
    assert refused.value.hint == hint


def test_a_file_that_became_no_document_is_named_so_too(
    kb: KnowledgeBase, world: tuple[Path, Config, Parts]
) -> None:
    for text in ("bad file.pdf", "bad%20file.pdf", str(world[0] / "bad file.pdf")):
        assert kb.explain_miss(text, QUERY)["verdict"] == "not_indexed"
        assert [row["doc_path"] for row in kb.status(text)["files"]] == ["bad file.pdf"]


def test_neighbours_are_compared_as_they_are_and_questions_without_what_any_question_says(
    tmp_path: Path,
) -> None:
    """Of the default model plain questions are known: a passage is none."""
    texts = ["what is the walrus", "the walrus sleeps here", "what is it that sleeps", "an otter"]
    near: dict[str, list[float]] = {}
    asked: dict[str, list[float]] = {}
    for name in ("multilingual-e5-small", "hash"):
        embedder = HashEmbedder(384, name=name)
        corpus, index = Corpus(embedder), MemoryIndex()
        index.publish(
            corpus.publication(*(corpus.document(f"{n}.md", t) for n, t in enumerate(texts)))
        )
        with KnowledgeBase(Config.inside(tmp_path), memory_parts(index, embedder)) as kb:
            near[name] = [hit.score for hit in kb.similar("0.md").hits]
            found = kb.search(SearchQuery(text=texts[0], mode=SearchMode.VECTOR))
            asked[name] = [hit.score for hit in found.hits]

    assert near["multilingual-e5-small"] == near["hash"]
    assert len(near["hash"]) == 3
    assert asked["multilingual-e5-small"] != asked["hash"]


def test_a_file_that_became_no_document_is_told_where_a_search_is_narrowed_to_it(
    kb: KnowledgeBase,
) -> None:
    lines = kb.grep(GrepQuery(pattern="walrus", paths=("bad file.pdf",)))
    narrow = SearchFilters(path_glob=("bad file.pdf",))
    found = kb.search(SearchQuery(text="walrus", mode=SearchMode.LEXICAL, filters=narrow))

    why = "failed: encrypted"
    assert lines["warnings"] == [f"path 'bad file.pdf' holds nothing that is indexed: it is {why}"]
    (said,) = found.warnings
    assert said.endswith(f"matches no path that is indexed: bad file.pdf is {why}")


def test_what_lies_in_a_folder_that_is_left_alone_is_told_with_the_rule(
    kb: KnowledgeBase,
) -> None:
    """The ledger has that folder, and nothing in it."""
    filters = SearchFilters(path_glob=(".ci/**/*.yml",))
    found = kb.search(SearchQuery(text="walrus", mode=SearchMode.LEXICAL, filters=filters))
    lines = kb.grep(GrepQuery(pattern="walrus", paths=(".ci/jobs",)))
    missed = kb.explain_miss(".ci/jobs/b.yml", QUERY)
    with pytest.raises(DocNotFound) as refused:
        kb.fetch(".ci/jobs/b.yml")

    why = ".ci is skipped: ignored: .gitignore:1: .ci/"
    assert found.warnings == (f"path_glob '.ci/**/*.yml' matches no path that is indexed: {why}",)
    assert lines["warnings"] == [f"path '.ci/jobs' holds nothing that is indexed: {why}"]
    assert missed["summary"] == why.replace(".ci is", "'.ci' is")
    assert str(refused.value) == f"'.ci/jobs/b.yml' is no document: {why}"


def test_a_file_that_is_no_document_is_none_below_that_is_called_so(kb: KnowledgeBase) -> None:
    for text in ("locked.pdf", "./locked.pdf", "locked.pdf:3"):
        with pytest.raises(DocNotFound, match=r"is no document: .*skipped: locked"):
            kb.fetch(text)


@pytest.mark.parametrize("path", ["\xe9t\xe9.md", "e\u0301te\u0301.md"])
def test_of_two_files_that_differ_by_their_accents_it_is_the_one_that_is_named(
    world: tuple[Path, Config, Parts], kb: KnowledgeBase, path: str
) -> None:
    assert kb.cite(f"{path}#L1")["doc_path"] == path
    for text in (path, str(world[0] / path)):
        assert kb.cite(text)["doc_path"] == path
        assert kb.grep(GrepQuery(pattern=".", paths=(text,)))["files"][0]["doc_path"] == path
    narrow = SearchFilters(path_glob=(path,))
    assert [doc["doc_path"] for doc in kb.list_docs(narrow)["items"]] == [path]


def test_what_was_handed_in_takes_the_name_of_no_file(tmp_path: Path) -> None:
    embedder = HashEmbedder()
    corpus = Corpus(embedder)
    file = str(tmp_path / "plan.md")
    step = corpus.publication(
        corpus.document("plan.md", "in May\n"),
        *(corpus.document(key, "cancelled\n", source_id="_added") for key in ("plan.md", file)),
    )
    index = MemoryIndex()
    sources = {"notes": {"root": str(tmp_path)}, "_added": {}}
    index.publish(replace(step, sources=sources))
    kb = KnowledgeBase(Config.inside(tmp_path / "kb"), memory_parts(index, embedder))
    (own,) = [doc["doc_id"] for doc in kb.list_docs(SearchFilters(source=("notes",)))["items"]]
    added = [doc["doc_id"] for doc in kb.list_docs(SearchFilters(source=("_added",)))["items"]]

    for text in ("plan.md", "plan.md:1", file, f"{file}#L1", f"file://{file}"):
        assert kb.fetch(text)["text"] == "in May\n"
        assert kb.cite(text)["doc_id"] == own
    (checked,) = kb.verify_citations(["plan.md#L1"])["checks"]
    assert checked["source_id"] == "notes"
    assert [kb.fetch(doc)["text"] for doc in added] == ["cancelled\n"] * 2
    assert kb.cite("plan.md", source="_added")["doc_id"] in added
