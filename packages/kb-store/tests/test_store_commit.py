"""Commits: what is stored comes back, keys stay, and nothing is half done."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import duckdb
import pytest

from kb_core.errors import InvalidInput, KbError
from kb_core.records import Changes, DocumentRecord, FileState
from kb_core.testing.documents import document, file_row
from kb_core.testing.fakes import fixed_clock
from kb_store import Store


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store of nothing: making one costs more than what many of these do with it."""
    path = tmp_path_factory.mktemp("empty") / "kebab.duckdb"
    Store.open(path, fixed_clock()).close()
    return path


@pytest.fixture
def store(tmp_path: Path, empty: Path) -> Iterator[Store]:
    path = Path(shutil.copy(empty, tmp_path))
    with Store.open(path, fixed_clock()) as opened:
        yield opened
        assert opened.deep_check() == []


def put(store: Store, path: str, text: str, **fields: Any) -> DocumentRecord:  # noqa: ANN401
    """Commit one document and return it as it is stored."""
    doc = document(path, text, **fields)
    store.commit(Changes(documents=(doc,)))
    stored = store.document(doc.doc_id)
    assert stored is not None
    return stored


@pytest.mark.parametrize("text", ["", "\n", "\0", "x" * 40_000, "é🙂\n" * 20_000])
def test_any_text_comes_back(store: Store, text: str) -> None:
    assert put(store, "a.md", text).text == text


def test_a_document_of_fifty_megabytes_comes_back(store: Store) -> None:
    text = "a line of a log that nobody reads\n" * 1_500_000
    doc = replace(document("log.txt", "x"), text=text, chunks=())

    store.commit(Changes(documents=(doc,)))

    stored = store.document(doc.doc_id)
    assert stored is not None
    assert stored.text == text


def test_instants_of_any_zone_are_kept_as_instants(store: Store) -> None:
    zoned = datetime.fromisoformat("2026-05-10T23:30:00+09:00")

    stored = put(store, "a.md", "text", doc_date=zoned)

    assert stored.doc_date == zoned
    assert stored.doc_date.tzinfo is UTC


def test_a_failed_batch_leaves_nothing_behind(store: Store) -> None:
    put(store, "a.md", "one")
    good, bad = document("b.md", "two"), document("c.md", "three", metadata={"f": float("nan")})

    with pytest.raises(InvalidInput, match=r"metadata of document 'c\.md' has no JSON form"):
        store.commit(Changes(documents=(good, bad), files=(file_row("b.md"),)))

    assert store.sequence == 1
    assert store.ledger("notes") == {}
    assert store.document(good.doc_id) is None
    assert put(store, "d.md", "four").chunks[0].chunk_key == 2, "no key was spent"


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"text": "ab\ud800"}, r"the text of 'a.md' has a lone surrogate at character 2"),
        ({"title": "\ud800"}, r"character 0 of a text is a lone surrogate \('\\ud800'\)"),
        ({"metadata": {"k": "\udfff"}}, r"is a lone surrogate"),
        ({"metadata": {"k": object()}}, r"metadata of document 'a.md' has no JSON form"),
    ],
)
def test_what_is_not_text_is_refused_in_words(
    store: Store, fields: dict[str, Any], complaint: str
) -> None:
    doc = replace(document("a.md", "text"), chunks=(), **fields)

    with pytest.raises(InvalidInput, match=complaint):
        store.commit(Changes(documents=(doc,)))

    assert store.sequence == 0


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"end": 2}, "chunk 0 of 'a.md' is not the text of its range"),
        ({"start": -3}, "chunk 0 of 'a.md' is not the text of its range"),
        ({"ordinal": 1}, "chunk 0 of 'a.md' has ordinal 1"),
    ],
)
def test_a_chunk_that_is_not_its_range_is_refused(
    store: Store, fields: dict[str, Any], complaint: str
) -> None:
    doc = document("a.md", "one")
    chunk = replace(doc.chunks[0], **fields)

    with pytest.raises(KbError, match=complaint):
        store.commit(Changes(documents=(replace(doc, chunks=(chunk,)),)))


def test_the_driver_error_is_the_cause_and_never_the_face(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "kebab.duckdb")
    store._session.run("DROP TABLE settings")

    with pytest.raises(KbError, match="could not read a setting") as caught:
        store.get_setting("x")

    assert isinstance(caught.value.__cause__, duckdb.Error)
    store.close()


def test_what_is_published_is_not_in_memory_twice(store: Store) -> None:
    doc = document("a.md", "One paragraph.\n\nAnother one.\n" * 10)
    store.commit(Changes(documents=(doc,)))

    publication = store.publication(0)

    assert publication is not None
    (told,) = publication.documents
    assert told.text is doc.text
    own = {id(chunk.text) for chunk in doc.chunks}
    assert {id(chunk.text) for chunk in told.chunks} <= own


@pytest.fixture
def read(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the statements that *store* is asked from here on."""
    asked: list[str] = []
    fetch = store._session._fetch

    def noted(sql: str, parameters: Any) -> Any:  # noqa: ANN401
        asked.append(" ".join(sql.split()))
        return fetch(sql, parameters)

    monkeypatch.setattr(store._session, "_fetch", noted)
    return asked


def embedded(*documents: DocumentRecord) -> Changes:
    """Return what commits documents, with a row of the ledger and a vector for each passage."""
    hashes = [chunk.passage_hash for doc in documents for chunk in doc.chunks]
    return Changes(
        documents=documents,
        files=tuple(file_row(doc.path) for doc in documents),
        embeddings={"model": {each: each.encode() for each in hashes}},
        models={"model": {"dimensions": 2}},
    )


def test_what_was_just_committed_is_published_as_it_is_read(store: Store) -> None:
    given = document(
        "a.md",
        "One.\n\nTwo.\n",
        doc_date=datetime(2026, 1, 2, tzinfo=timezone(timedelta(hours=5))),
        metadata={"pair": (1, 2)},
        blocks=({"kind": "heading", "at": (0, 4)},),
        links=({"target": "b.md", "at": (1,)},),
        tags=("x",),
    )
    first, second = given.chunks
    chunks = (replace(first, span={"pages": (1, 2)}), replace(second, passage_hash=""))
    store.commit(embedded(replace(given, chunks=chunks), document("gone.md", "It goes.\n")))
    store.commit(Changes())  # changes nothing

    from_memory = store.publication(0)

    assert from_memory == store.publication(0)
    assert from_memory is not None
    told = from_memory.documents[0]
    assert told.metadata == {"pair": [1, 2]}
    assert told.chunks[0].span == {"pages": [1, 2]}
    assert told.chunks[1].passage_hash == given.chunks[1].passage_hash


def test_what_was_just_committed_is_not_read_to_publish_it(store: Store, read: list[str]) -> None:
    store.commit(embedded(document("a.md", "One.\n")))
    read.clear()

    publication = store.publication(0)

    assert publication is not None
    assert [doc.text for doc in publication.documents] == ["One.\n"]
    of_what = ("FROM chunks", "FROM texts", "FROM embeddings", "source_id, path, raw_path")
    assert not [sql for sql in read if any(each in sql for each in of_what)]


def test_what_an_earlier_commit_wrote_is_read(store: Store) -> None:
    store.commit(embedded(document("a.md", "Before.\n"), document("b.md", "Stays.\n")))
    expired = file_row("old.md", FileState.DELETED)
    store.commit(replace(embedded(document("a.md", "After.\n")), files=(expired,)))
    store.forget_expired(datetime(2036, 1, 1, tzinfo=UTC))

    publication = store.publication(0)

    assert publication is not None
    assert publication == store.publication(0)
    assert [doc.text for doc in publication.documents] == ["After.\n", "Stays.\n"]
    assert publication.forgotten_files == (("notes", "old.md"),)


def test_chunks_of_new_embeddings_are_sought_where_some_have_none(
    store: Store, read: list[str]
) -> None:
    twin = document("twin.md", "The same.\n", title="a")

    def sought(changes: Changes) -> bool:
        read.clear()
        store.commit(changes)
        return any("FROM chunks WHERE passage_hash IN" in sql for sql in read)

    assert not sought(embedded(document("first.md", "One.\n")))
    assert not sought(embedded(document("first.md", "Another.\n"), document("b.md", "Two.\n")))
    assert not sought(Changes(documents=(twin,)))
    assert sought(embedded(document("a.md", "The same.\n")))
    assert not sought(embedded(document("c.md", "Three.\n")))
    publication = store.publication(0)
    assert publication is not None
    assert len(publication.vectors["model"]) == 5


def test_a_document_that_is_inserted_in_parts_comes_back_whole(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kb_store._documents._CHUNKS_AT_ONCE", 3)
    monkeypatch.setattr("kb_store._documents._PIECES_AT_ONCE", 1)
    text = "\n\n".join(f"Paragraph {n} of many." for n in range(10)) + "\n" * 40_000

    stored = put(store, "a.md", text)

    assert stored.text == text
    assert [chunk.ordinal for chunk in stored.chunks] == list(range(10))
