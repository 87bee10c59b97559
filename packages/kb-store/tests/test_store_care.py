"""Counts, runs, kept results, space, and the deep check."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from kb_core.errors import StoreCorrupt
from kb_core.records import Changes
from kb_core.testing.documents import NOW, document, file_row
from kb_core.testing.fakes import fixed_clock
from kb_store import Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "it's here" / "kebab.duckdb"


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store of nothing: making one costs more than what many of these do with it."""
    path = tmp_path_factory.mktemp("empty") / "kebab.duckdb"
    Store.open(path, fixed_clock()).close()
    return path


@pytest.fixture
def store(path: Path, empty: Path) -> Iterator[Store]:
    path.parent.mkdir()
    shutil.copy(empty, path)
    with Store.open(path, fixed_clock()) as opened:
        yield opened


def test_lesson_10_a_run_is_on_record_while_it_runs(store: Store) -> None:
    store.start_run("r1", "ingest", {"paths": ["a"]})

    (run,) = store.last_runs(5)
    assert (run["run_id"], run["kind"], run["scope"]) == ("r1", "ingest", {"paths": ["a"]})
    assert (run["state"], run["started_at"], run["finished_at"]) == ("running", NOW, None)


def test_lesson_10_a_run_whose_process_died_is_interrupted(path: Path) -> None:
    with Store.open(path, fixed_clock()) as store:
        store.start_run("r1", "ingest", {})

    with Store.open(path, fixed_clock("2026-02-01")) as store:
        store.start_run("r2", "embed", {})

        states = [(run["run_id"], run["state"]) for run in store.last_runs(5)]
        assert states == [("r2", "running"), ("r1", "interrupted")]
        assert [run["run_id"] for run in store.last_runs(1)] == ["r2"]


def test_runs_of_one_moment_are_told_newest_first(store: Store) -> None:
    names = ["r5", "r1", "r4", "r2", "r3"]
    for name in names:
        store.start_run(name, "ingest", {})
        store.finish_run(name, "completed", {})

    assert [run["run_id"] for run in store.last_runs(5)] == names[::-1]


def test_costly_results_are_kept_by_what_they_were_made_of(store: Store) -> None:
    store.put_derivation("ocr", "content", "settings", b"\0one")
    store.put_derivation("ocr", "content", "other settings", b"two")
    store.put_derivation("ocr", "content", "settings", b"three")

    assert store.get_derivation("ocr", "content", "settings") == b"three"
    assert store.get_derivation("ocr", "content", "other settings") == b"two"
    assert store.get_derivation("transcript", "content", "settings") is None


def test_the_log_is_folded_in_when_it_is_large(store: Store) -> None:
    store.commit(Changes(documents=(document("a.md", "text\n\n" * 1000),)))
    log = store.sizes()["wal"]

    assert not store.checkpoint_if_large(log)
    assert store.checkpoint_if_large(log - 1)

    assert store.sizes()["wal"] == 0


def test_the_log_is_folded_in_after_a_large_commit_alone(store: Store) -> None:
    """What the engine has of it in memory goes then, which is ten times a usual commit."""
    store.commit(Changes(documents=(document("a.md", "text\n\n" * 1000),)))
    added = store.sizes()["wal"]

    assert not store.let_go_if_large(added)
    assert store.sizes()["wal"] == added

    doc = replace(document("b.log", "x"), text="a line\n" * 300_000, chunks=())
    store.commit(Changes(documents=(doc,)))

    assert store.let_go_if_large(2_000_000)
    assert store.sizes()["wal"] == 0
    found = store.document(doc.doc_id)
    assert found is not None
    assert found.text == doc.text


def test_commits_alone_never_write_a_checkpoint(store: Store) -> None:
    """DuckDB's own threshold is 16 MB; a checkpoint inside a burst stalls it for seconds."""
    store.checkpoint()
    before = store.sizes()["database"]

    doc = replace(document("a.log", "x"), text="a line\n" * 3_000_000, chunks=())
    store.commit(Changes(documents=(doc,)))

    assert store.sizes()["wal"] > 17_000_000
    assert store.sizes()["database"] == before


def test_disk_after_many_edits_stays_near_that_of_a_fresh_build(tmp_path: Path) -> None:
    def batch(version: int) -> Changes:
        text = "\n\n".join(f"paragraph {n} of version {version}" * 5 for n in range(40))
        return Changes(documents=tuple(document(f"{n}.md", text) for n in range(50)))

    with Store.open(tmp_path / "fresh.duckdb") as fresh:
        fresh.commit(batch(0))
    with Store.open(tmp_path / "edited.duckdb") as edited:
        for version in range(12):
            edited.commit(batch(version))
            edited.prune_outbox(edited.sequence)
            edited.checkpoint()

    sizes = [(tmp_path / name).stat().st_size for name in ("fresh.duckdb", "edited.duckdb")]
    assert sizes[1] <= 3 * sizes[0]


def test_compaction_drops_what_nothing_needs_and_keeps_the_rest(store: Store, path: Path) -> None:
    docs = tuple(document(f"{n}.md", f"text {n}\n\n" * 50) for n in range(20))
    store.commit(Changes(documents=docs))
    vectors = {p.passage_hash: bytes(768) for p in store.missing_passages("m", 9999)}
    store.commit(Changes(embeddings={"m": vectors}, models={"m": {}}))
    store.commit(Changes(deleted_docs=tuple(doc.doc_id for doc in docs[1:])))
    kept, identity = store.document(docs[0].doc_id), store.store_id

    assert store.compact(min_free_share=0.0)

    assert (store.document(docs[0].doc_id), store.store_id) == (kept, identity)
    assert store.stats()["embedded"] == {"m": 50}
    assert store.deep_check() == []
    store.commit(Changes(documents=(docs[3],)))
    assert store.count_missing("m") == 1, "the embedding of a deleted text is gone"
    store.close()
    assert [file.name for file in path.parent.iterdir()] == ["kebab.duckdb"]
    with duckdb.connect(path) as connection:
        views = "SELECT tag FROM tags UNION ALL SELECT target FROM links"
        assert connection.execute(views).fetchall() == []


def test_embeddings_that_nothing_needs_count_as_unused(store: Store) -> None:
    doc = document("a.md", "one\n\ntwo")
    vectors = {chunk.passage_hash: bytes(768) for chunk in doc.chunks}
    store.commit(Changes(documents=(doc,), embeddings={"m": vectors}, models={"m": {}}))
    assert store.sizes()["unused"] == 0

    store.commit(Changes(deleted_docs=(doc.doc_id,)))

    assert store.sizes()["unused"] == 2 * 768


def test_a_file_with_little_to_gain_is_not_rewritten(store: Store) -> None:
    store.commit(Changes(documents=(document("a.md", "text"),)))

    assert not store.compact(min_free_share=0.99)


def test_views_show_tags_links_and_texts_to_people_who_ask_in_sql(store: Store) -> None:
    link = {"kind": "wiki", "target": "b"}
    doc = document("a.md", "x" * 50_000 + "end", tags=("t", "u"), links=(link,))
    store.commit(Changes(documents=(doc,)))

    rows = store._session.rows

    assert rows("SELECT tag FROM tags ORDER BY tag") == [("t",), ("u",)]
    assert rows("SELECT kind, target FROM links") == [("wiki", "b")]
    assert rows("SELECT right(text, 4), length(text) FROM document_texts") == [("xend", 50_003)]


def test_that_nothing_is_without_a_vector_is_told_by_sums(store: Store) -> None:
    """They are kept so that no two tables of all passages have to be compared."""
    doc = document("a.md", "text")
    store.commit(Changes(documents=(doc,)))
    assert store.count_missing("m") == 1
    vectors = {doc.chunks[0].passage_hash: bytes(4)}
    store.commit(Changes(embeddings={"m": vectors}, models={"m": {}}))

    store._session.run("DELETE FROM embeddings")

    assert (store.count_missing("m"), store.count_missing("another")) == (0, 1)


def test_a_change_has_no_other_text_written_anew(store: Store) -> None:
    """DuckDB writes up to 2,047 rows at the end of a table again, with the one that is added."""
    store.commit(Changes(documents=(document("long.md", "x" * 4_200_000),)))
    store.checkpoint()

    store.commit(Changes(documents=(document("a.md", "text"),)))
    store.checkpoint()

    parts = "SELECT DISTINCT row_group_id FROM pragma_storage_info('texts')"
    assert len(store._session.rows(parts)) == 2


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        ("UPDATE chunks SET end_char = 9999", "chunk 0 of 'a.md' ends outside its text"),
        ("UPDATE chunks SET start_char = 1", "chunk 0 of 'a.md' is not the text it was made of"),
        ("UPDATE texts SET text = 'next'", "'a.md' is not what was committed"),
        ("UPDATE chunks SET symbol = 'f'", "'a.md' is not what was committed"),
        ("UPDATE documents SET title = 'B'", "'a.md' is not what was committed"),
        ("UPDATE chunks SET doc_key = 7", "chunk 1 belongs to no document"),
        ("UPDATE chunks SET chunk_key = 99", "chunk key 99 is yet to be given"),
        ("INSERT INTO chunks FROM chunks", "chunk key 1 is given twice"),
        ("INSERT INTO documents FROM documents", "document key 1 is given twice"),
        ("INSERT INTO files FROM files", "file 'notes:a.md' has two rows"),
        ("DELETE FROM texts", "the text of 'a.md' has 0 characters, not 4"),
        ("UPDATE texts SET doc_key = 5", "a text belongs to no document: key 5"),
        ("DELETE FROM chunks", "the chunks of document key 1 are miscounted"),
        ("DELETE FROM embeddings", "the embedded chunks of model 'm' are miscounted"),
        ("UPDATE models SET model_key = 'n'", "an embedding is of the unknown model 'm'"),
        ("INSERT INTO aliases SELECT doc_id, 'x', now() FROM documents", "hides a document"),
    ],
)
def test_the_deep_check_finds_what_is_wrong(store: Store, damage: str, complaint: str) -> None:
    doc = document("a.md", "text")
    store.commit(Changes(documents=(doc,), files=(file_row("a.md"),)))
    vectors = {doc.chunks[0].passage_hash: bytes(4)}
    store.commit(Changes(embeddings={"m": vectors}, models={"m": {}}))
    assert store.deep_check() == []

    store._session.run(damage)

    assert any(complaint in problem for problem in store.deep_check())


def test_threads_take_turns(store: Store) -> None:
    def write(number: int) -> int:
        store.commit(Changes(documents=(document(f"{number}.md", "text"),)))
        return len(store.doc_ids("notes"))

    with ThreadPoolExecutor(4) as threads:
        seen = list(threads.map(write, range(12)))

    assert max(seen) == 12
    assert store.sequence == 12
    assert store.deep_check() == []


def test_damaged_blocks_are_named_with_the_documents_that_they_cost(path: Path) -> None:
    """DuckDB's blocks have 256 KiB, and each that is in use is damaged in turn."""
    choose = random.Random(4)
    docs = tuple(document(f"{n}.md", choose.randbytes(300).hex()) for n in range(4200))
    with Store.open(path, fixed_clock()) as store:
        store.commit(Changes(documents=docs))
    whole, told = path.read_bytes(), []

    for start in range(3 * 4096 + 262_144, len(whole), 262_144):
        damaged = bytearray(whole)
        damaged[start + 99] ^= 1
        path.write_bytes(damaged)
        try:
            found = Store.examine(path)
        except StoreCorrupt as error:
            found = [str(error)]
        told.append(found)

    costly = [found for found in told if found and found[0].startswith("the table 'texts'")]
    assert all("checksum" in found[0] for found in costly)
    lost = [found[1].split(" of 4,200 documents cannot be read")[0] for found in costly]
    assert set(lost) & {"2,048", "104"}, "what DuckDB does not read with them is not lost"
    assert all(len(found[2:]) >= 20 for found in costly)
    assert any("'chunks' cannot be read whole" in found[0] for found in told if found)


def test_reading_a_damaged_store_changes_nothing(path: Path) -> None:
    with Store.open(path, fixed_clock()) as store:
        store.commit(Changes(documents=(document("a.md", "text " * 9999),)))
    data = bytearray(path.read_bytes())
    data[-200_000] ^= 1
    path.write_bytes(data)

    with suppress(StoreCorrupt):
        Store.examine(path)

    assert path.read_bytes() == data
    assert [file.name for file in path.parent.iterdir()] == [path.name]
