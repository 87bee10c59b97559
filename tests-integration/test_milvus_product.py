"""The whole product over Milvus says what it says over the embedded engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from kb_app.config import Config, Embedding, Index, Source, Storage
from kb_app.knowledge_base import KnowledgeBase
from kb_app.testing.parts import open_here
from kb_core import wire
from kb_core.errors import (
    ConfigInvalid,
    IndexCorrupt,
    InvalidInput,
    IoError,
    KbError,
    NotIndexed,
)
from kb_core.ingest import IngestOptions
from kb_core.search import GrepQuery, SearchFilters, SearchQuery
from kb_search.milvus.rows import Field

pytestmark = [
    pytest.mark.skipif(find_spec("pymilvus") is None, reason="the extra 'milvus' is not installed"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

_NOTES = {
    "guide/install.md": "# Installation\n\nRun the installer, then restart the machine.\n",
    "guide/cutting.md": "---\ntags: [howto/deep]\n---\n# Cutting\n\nHow chunks are cut.\n",
    "code/cutter.py": 'def chunk_cutter(size):\n    """Cut chunks."""\n    return size\n',
    "한국.md": "# 검색\n\n한국어형태소분석기는 어렵다\n",
}
_QUESTIONS = ("how are chunks cut", "chunk_cutter", '"restart the machine" -size', "분석")
_FILTERS = (
    SearchFilters(),
    SearchFilters(path_glob=("guide/**",)),
    SearchFilters(path_glob=("**/c?tt*.*",), media=("code", "markdown")),
    SearchFilters(tag=("howto",), lang=("en",)),
)

Pair = tuple[KnowledgeBase, KnowledgeBase]


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    root = tmp_path / "vault"
    for name, text in _NOTES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    return root


def _config(folder: Path, vault: Path, index: Index) -> Config:
    made = Config.inside(folder, Source(id="notes", root=vault))
    return replace(made, index=index, embedding=Embedding(model="none"))


@pytest.fixture
def both(tmp_path: Path, vault: Path) -> Iterator[Pair]:
    milvus = Index(engine="milvus", uri=str(tmp_path / "milvus.db"))
    with ExitStack() as stack:
        pair = tuple(
            stack.enter_context(open_here(_config(tmp_path / name, vault, index)))
            for name, index in (("one", Index()), ("other", milvus))
        )
        yield pair[0], pair[1]


def _ingest(both: Pair) -> None:
    for kb in both:
        assert [*kb.ingest(IngestOptions())][-1].kind == "completed"


def _hits(kb: KnowledgeBase) -> list[Any]:
    found = (kb.search(SearchQuery(text=text)).hits for text in _QUESTIONS)
    return [[(hit.citation.uri, hit.snippet) for hit in hits] for hits in found]


def _answers(kb: KnowledgeBase) -> list[Any]:
    found: list[Any] = []
    for text in _QUESTIONS:
        for filters in _FILTERS:
            response = kb.search(SearchQuery(text=text, filters=filters))
            hits = [(h.citation.uri, h.snippet, round(h.score, 3)) for h in response.hits]
            found.append((text, filters, hits, response.warnings))
    listed = kb.list_docs(SearchFilters())["items"]
    found += [{k: v for k, v in row.items() if k != "indexed_at"} for row in listed]
    found += [kb.fetch_doc(row["doc_id"])["text"] for row in listed]
    return found


def test_search_list_and_fetch_say_the_same_after_every_change(both: Pair, vault: Path) -> None:
    _ingest(both)
    assert _answers(both[0]) == _answers(both[1])

    (vault / "code" / "cutter.py").write_text("def walrus(size):\n    return size\n")
    (vault / "guide" / "install.md").unlink()
    (vault / "guide" / "cutting.md").rename(vault / "moved.md")
    _ingest(both)

    assert _answers(both[0]) == _answers(both[1])
    found = both[1].search(SearchQuery(text="walrus")).hits
    assert [hit.citation.uri for hit in found] == ["code/cutter.py#L1-L2"]


def test_all_that_asks_says_the_same(both: Pair, vault: Path) -> None:
    """Traces, several queries at once, lists of code, citations, neighbours, names and misses."""
    (vault / "code" / "sizes.py").write_text("CHUNK_SIZE = 480\n")
    _ingest(both)

    here, there = map(_asked_otherwise, both)

    assert here == there
    assert here[-2] == {"CHUNK_SIZE": ["code/sizes.py", 1, "CHUNK_SIZE = 480"]}


def _asked_otherwise(kb: KnowledgeBase) -> list[Any]:
    queries = [SearchQuery(text=text, k=4, trace=True) for text in _QUESTIONS]
    found: list[Any] = []
    for one in kb.search_many(queries):
        assert not isinstance(one, KbError)
        found.append(wire.search_response(one))
    aggregated = kb.search_aggregated([replace(query, trace=False) for query in queries])
    found.append([(hit.citation.uri, hit.rank) for hit in aggregated.hits])
    code = {"queries": ["chunk cutter", {"query": "size", "path": "code"}]}
    found += [kb.codebase_search(code), kb.cite("code/cutter.py#L1-L3")]
    found += [kb.fetch("guide/install.md"), wire.search_response(kb.similar("guide/cutting.md"))]
    found.append(kb.explain_miss("guide/install.md", SearchQuery(text="chunk_cutter")))
    found += kb.fetch_many(["chunk_cutter", "code/cutter.py#nowhere"])["results"]
    found.append(dict(kb.constants("code/other.py", ["CHUNK_SIZE", "NOT_GIVEN"])))
    return [*map(_comparable, found), _comparable(kb.grep(GrepQuery(pattern="chunk")))]


def _comparable(told: Any) -> Any:  # noqa: ANN401 - of a wire object
    """Return it without times and versions, and with scores as far as engines agree on them."""
    match told:
        case Mapping():
            ours = (n for n in told if not n.endswith(("_ms", "_at", "_version", "_revision")))
            return {name: _comparable(told[name]) for name in ours}
        case list() | tuple():
            return [_comparable(each) for each in told]
        case float():
            return round(told, 2)
        case _:
            return told


def test_doctor_names_the_engine_and_looks_at_its_rows(both: Pair) -> None:
    _ingest(both)

    checks = {check["name"]: check for check in both[1].doctor(deep=True)["checks"]}

    assert checks["engine"]["ok"]
    assert "milvus_lite" in checks["engine"]["detail"]
    assert "revision 1, sequence" in checks["engine"]["detail"]
    assert "4 passages" in checks["engine"]["detail"]
    assert checks["files of the index"]["ok"]
    assert "engine" not in {check["name"] for check in both[0].doctor()["checks"]}


def test_rows_that_are_gone_are_told_and_made_again(both: Pair, tmp_path: Path) -> None:
    from kb_search.milvus import Place
    from kb_search.milvus.engine import Engine

    _ingest(both)
    engine = Engine(Place(uri=str(tmp_path / "milvus.db")))
    chunks = next(name for name in engine.names() if name.endswith("_chunks"))
    engine.delete(chunks, "doc_key > 1")

    checks = {check["name"]: check for check in both[1].doctor(deep=True)["checks"]}
    assert not checks["files of the index"]["ok"]
    assert "passages, not" in checks["files of the index"]["detail"]

    engine.drop("kebab")
    _ingest(both)
    assert _answers(both[0]) == _answers(both[1])


def test_a_reader_elsewhere_needs_the_configuration_and_the_engine_alone(
    both: Pair, tmp_path: Path
) -> None:
    _ingest(both)
    index = Index(engine="milvus", uri=str(tmp_path / "milvus.db"))
    config = _config(tmp_path / "elsewhere", tmp_path / "no such folder", index)

    with open_here(config, readonly=True) as reader:
        assert _hits(reader) == _hits(both[1])
        assert reader.list_docs(SearchFilters())["total"] == len(_NOTES)
    assert not (tmp_path / "elsewhere" / "data").exists()


def test_a_collection_that_is_gone_is_named_with_the_way_back(both: Pair, tmp_path: Path) -> None:
    from kb_search.milvus import Place
    from kb_search.milvus.engine import Engine

    _ingest(both)
    engine = Engine(Place(uri=str(tmp_path / "milvus.db")))
    (name,) = (name for name in engine.names() if name.endswith("_records"))
    engine.drop(name)

    checks = {check["name"]: check for check in both[1].doctor()["checks"]}
    assert not checks["engine"]["ok"]
    assert f"lacks {name}" in checks["engine"]["detail"]
    assert "--index-only" in checks["engine"]["hint"]

    both[1].reset("index-only", dry_run=False)
    _ingest(both)
    assert _answers(both[0]) == _answers(both[1])


def test_sources_are_pinned_elsewhere_too(both: Pair, tmp_path: Path) -> None:
    _ingest(both)
    index = Index(engine="milvus", uri=str(tmp_path / "milvus.db"))
    config = _config(tmp_path / "elsewhere", tmp_path / "no such folder", index)
    doc = both[1].list_docs(SearchFilters())["items"][0]["doc_id"]

    for allowed, is_seen in (("notes", True), ("other", False)):
        search = replace(config.search, allowed_sources=(allowed,))
        with open_here(replace(config, search=search)) as reader:
            assert _hits(reader) == (_hits(both[1]) if is_seen else [[]] * len(_QUESTIONS))
            assert reader.stats()["doc_count"] == len(_NOTES) * is_seen
            with nullcontext() if is_seen else pytest.raises(KbError):
                reader.fetch_doc(doc)


def test_a_reset_of_the_index_drops_its_collections_and_no_others(
    both: Pair, tmp_path: Path, vault: Path
) -> None:
    from kb_search.milvus import Place
    from kb_search.milvus.engine import Engine

    _ingest(both)
    before = _hits(both[1])
    place = Place(uri=str(tmp_path / "milvus.db"))
    Engine(place).make("kebab_of_others", [Field("pad", "dense", 2)])
    third = replace(both[1]._config, storage=Storage(data_dir=tmp_path / "one" / "data"))
    with open_here(third) as kb, pytest.raises(ConfigInvalid, match="not of this store"):
        kb.reset("index-only", dry_run=False)
    reader = open_here(_config(tmp_path / "no store", vault, third.index))
    with reader, pytest.raises(NotIndexed, match="no store"):
        reader.reset("index-only", dry_run=False)
    planned = both[1].reset("index-only", dry_run=True)
    assert _hits(both[1]) == before

    done = both[1].reset("index-only", dry_run=False)

    assert planned["collections"] == done["collections"]
    assert done["collections"][0] == "kebab"
    assert Engine(place).names() == ["kebab_of_others"]
    with pytest.raises(NotIndexed):
        both[1].search(SearchQuery(text="chunks"))
    _ingest(both)
    assert _hits(both[1]) == before


def test_an_index_of_another_store_is_not_replaced(both: Pair, tmp_path: Path, vault: Path) -> None:
    _ingest(both)
    before = _hits(both[1])
    (vault / "more.md").write_text("More.\n")
    index = Index(engine="milvus", uri=str(tmp_path / "milvus.db"))

    third = open_here(_config(tmp_path / "third", vault, index))
    with third, pytest.raises(ConfigInvalid, match="of another store") as raised:
        list(third.ingest(IngestOptions()))

    assert raised.value.details["field"] == "index.collection"
    assert _hits(both[1]) == before


@pytest.mark.parametrize(
    ("index", "error", "field"),
    [
        (Index(engine="milvus"), ConfigInvalid, "index.uri"),
        (Index(engine="milvus", uri="/tmp/milvus"), ConfigInvalid, "index.uri"),
        (Index(engine="milvus", uri="http://far.example:19530"), ConfigInvalid, "index.uri"),
        (Index(engine="milvus", uri="https://far.example:19530"), ConfigInvalid, "index.uri"),
        (Index(engine="milvus", uri="x.db", collection="a-b"), ConfigInvalid, "index.collection"),
        (Index(engine="milvus", uri="http://127.0.0.1:1"), IoError, None),
    ],
)
def test_what_cannot_be_asked_is_refused_by_name(
    tmp_path: Path, vault: Path, index: Index, error: type[KbError], field: str | None
) -> None:
    with open_here(_config(tmp_path / "kb", vault, index)) as kb:
        with pytest.raises(error) as raised:
            kb.search(SearchQuery(text="anything"))
        if field:
            assert raised.value.details["field"] == field
        assert raised.value.hint


def test_a_token_is_in_no_message(
    tmp_path: Path, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEBAB_INDEX_TOKEN", "root:s3cret-word")
    index = Index(engine="milvus", uri="http://127.0.0.1:1")

    with open_here(_config(tmp_path / "kb", vault, index)) as kb:
        with pytest.raises(IoError) as raised:
            kb.search(SearchQuery(text="anything"))
        said = f"{raised.value} {raised.value.hint} {raised.value.details} {kb.doctor()}"

    assert "s3cret" not in said


def test_before_the_first_run_nothing_is_indexed(both: Pair) -> None:
    with pytest.raises(NotIndexed):
        both[1].search(SearchQuery(text="anything"))


def test_the_index_is_moved_there_and_back_and_says_the_same(tmp_path: Path, vault: Path) -> None:
    there = Index(uri=str(tmp_path / "milvus.db"))
    config = _config(tmp_path / "one", vault, there)
    with open_here(config) as kb:
        assert [*kb.ingest(IngestOptions())][-1].kind == "completed"
        before = _answers(kb)
        heard: list[int] = []
        report = kb.copy_index("milvus", hear=heard.append)
        assert (report["engine"], report["made"], heard[-1]) == ("milvus", True, 4)
        assert (report["doc_count"], report["chunk_count"]) == (4, 4)
        assert (report["asked"], report["found"]) == (4, 4)
        assert report["in_common"]["words"] == 1
        assert not kb.copy_index("milvus")["made"], "there is nothing to do"
        with pytest.raises(InvalidInput, match="cannot be copied to 'embedded'"):
            kb.copy_index("embedded")

    with open_here(replace(config, index=replace(there, engine="milvus"))) as moved:
        assert _answers(moved) == before
        (vault / "guide" / "install.md").write_text("# Installation\n\nUnpack the walrus.\n")
        assert [*moved.ingest(IngestOptions())][-1].kind == "completed"
        now = _answers(moved)
        assert moved.copy_index("embedded")["in_common"]["words"] == 1
    with open_here(config) as back:
        assert _answers(back) == now != before


def test_a_copy_that_is_not_what_the_store_says_is_told(tmp_path: Path, vault: Path) -> None:
    from kb_search.milvus import Place
    from kb_search.milvus.engine import Engine

    config = _config(tmp_path / "one", vault, Index(uri=str(tmp_path / "milvus.db")))
    with open_here(config) as kb:
        assert [*kb.ingest(IngestOptions())][-1].kind == "completed"
        kb.copy_index("milvus")
        engine = Engine(Place(uri=str(tmp_path / "milvus.db")))
        (records,) = (name for name in engine.names() if name.endswith("_records"))
        row = engine.rows(records, 'kind == "text"', ["doc_id"])[0]
        engine.upsert(records, [{"pk": row["pk"], "payload": '{"text": "other"}'}], partial=True)
        engine.close()

        with pytest.raises(IndexCorrupt, match="texts that differ: 1"):
            kb.copy_index("milvus")
