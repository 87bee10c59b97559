"""Commits: what is stored comes back, keys stay, and nothing is half done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn

import duckdb
import pytest

from kb_core.errors import InvalidInput, KbError
from kb_core.ids import doc_id
from kb_core.records import Changes, DocumentRecord, FileRecord, FileState, Move
from kb_core.testing.documents import NOW, document, file_row
from kb_core.testing.fakes import fixed_clock
from kb_store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "kebab.duckdb", fixed_clock()) as opened:
        yield opened
        assert opened.deep_check() == []


def put(store: Store, path: str, text: str, **fields: Any) -> DocumentRecord:  # noqa: ANN401
    """Commit one document and return it as it is stored."""
    doc = document(path, text, **fields)
    store.commit(Changes(documents=(doc,)))
    stored = store.document(doc.doc_id)
    assert stored is not None
    return stored


def move(store: Store, old: str, new: str, text: str, **fields: Any) -> DocumentRecord:  # noqa: ANN401
    doc = document(new, text, **fields)
    store.commit(Changes(moves=(Move(old_doc_id=doc_id("notes", old), document=doc),)))
    stored = store.document(doc.doc_id)
    assert stored is not None
    return stored


def keys(doc: DocumentRecord) -> dict[str, int]:
    return {chunk.text: chunk.chunk_key for chunk in doc.chunks}


def unkeyed(doc: DocumentRecord) -> DocumentRecord:
    chunks = tuple(replace(chunk, chunk_key=0) for chunk in doc.chunks)
    return replace(doc, doc_key=0, chunks=chunks)


def test_a_document_comes_back_as_it_went_in(store: Store) -> None:
    span = {"kind": "page", "page": 3, "bbox": [0.5, 1.0, 2.0, 3.0]}
    doc = document(
        "notes/naïve.md",
        "# Tïtle\n\nSome text 🙂 here.\n\nMore\0of it.",
        code_lang="rust",
        repo="kebab",
        repo_branch="main",
        repo_commit="abc",
        tags=("a", "b"),
        aliases=("other name",),
        source_type="paper",
        trust_level="secondary",
        created_at=datetime(1969, 7, 20, 20, 17, 40, 123456, tzinfo=UTC),
        updated_at=NOW,
        fingerprint="f",
        metadata={"user": {"n": [1, 2.5, None, "x\0y"]}},
        blocks=({"kind": "heading", "start": 0},),
        links=({"kind": "wiki", "target": "b"},),
        warnings=("looks like instructions",),
        asset="ab/cd",
    )
    first = replace(
        doc.chunks[0], span=span, symbol="fn main", part=2, flags=("x",), heading_path=("A", "B")
    )
    doc = replace(doc, chunks=(first, *doc.chunks[1:]))

    store.commit(Changes(documents=(doc,)))

    stored = store.document(doc.doc_id)
    assert stored is not None
    assert unkeyed(stored) == doc
    assert stored.doc_key > 0


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


def test_a_ledger_row_comes_back_as_it_went_in(store: Store) -> None:
    row = FileRecord(
        source_id="notes",
        path="dir/file",
        raw_path="646972",
        state=FileState.FAILED,
        reason="unreadable",
        detail="no",
        media="pdf",
        size=2**40,
        mtime_ns=2**62,
        bytes_hash="h",
        fingerprint="f",
        doc_id="d",
        error_code="io_error",
        processed_at=NOW,
        changed_at=None,
    )

    store.commit(Changes(files=(row, file_row("b"))))

    assert store.ledger("notes") == {"dir/file": row, "b": file_row("b")}
    assert store.ledger("other") == {}


def test_lesson_2_a_document_can_be_edited_again_and_again(store: Store) -> None:
    """Also twice within a checkpoint, and back to what it was."""
    for text in ["one\n\ntwo", "one\n\nthree", "one\n\ntwo", "", "one\n\ntwo"]:
        put(store, "a.md", text, parser_version=text)
        put(store, "a.md", text, parser_version="again")
        store.checkpoint()

    assert store.stats()["doc_count"] == 1
    assert store.deep_check() == []


def test_lesson_3_equal_files_at_two_paths_are_two_documents(store: Store) -> None:
    first = put(store, "a.md", "the same")
    second = put(store, "b.py", "the same")

    found = store.documents_by_hash(first.bytes_hash)

    assert [(doc.path, doc.media) for doc in found] == [("a.md", "markdown"), ("b.py", "code")]
    assert first.doc_key != second.doc_key
    assert not set(keys(first).values()) & set(keys(second).values())


def test_lesson_9_chunks_come_in_the_order_of_the_text(store: Store) -> None:
    text = "\n\n".join(f"paragraph {number}" for number in range(300))

    stored = put(store, "a.md", text)

    assert [chunk.ordinal for chunk in stored.chunks] == list(range(300))
    assert [chunk.text for chunk in stored.chunks] == text.split("\n\n")


def test_a_chunk_that_stays_the_same_keeps_its_key(store: Store) -> None:
    before = keys(put(store, "a.md", "one\n\ntwo\n\nthree"))

    after = keys(put(store, "a.md", "new\n\none\n\nTWO\n\nthree"))

    assert (after["one"], after["three"]) == (before["one"], before["three"])
    assert min(after["new"], after["TWO"]) > max(before.values())


def test_a_chunk_whose_passage_changed_has_another_key(store: Store) -> None:
    """Its id stays, since its text does; what was embedded for it no longer fits."""
    before = put(store, "a.md", "one", title="Old")

    after = put(store, "a.md", "one", title="New")

    assert after.chunks[0].chunk_id == before.chunks[0].chunk_id
    assert after.chunks[0].chunk_key > before.chunks[0].chunk_key


def test_a_key_of_the_dead_is_never_given_again(store: Store) -> None:
    dead = put(store, "a.md", "one\n\ntwo")
    store.commit(Changes(deleted_docs=(dead.doc_id,)))

    back = put(store, "a.md", "one\n\ntwo")

    assert back.doc_key > dead.doc_key
    assert min(keys(back).values()) > max(keys(dead).values())


def test_a_moved_document_keeps_its_keys_and_gets_new_ids(store: Store) -> None:
    before = put(store, "a.md", "one\n\nsame\n\nsame", title="T")

    after = move(store, "a.md", "b.md", "one\n\nsame\n\nsame", title="T")

    assert after.doc_key == before.doc_key
    assert [c.chunk_key for c in after.chunks] == [c.chunk_key for c in before.chunks]
    assert not {c.chunk_id for c in after.chunks} & {c.chunk_id for c in before.chunks}
    assert store.document(before.doc_id) is None


def test_files_that_swap_their_names_swap_their_keys(store: Store) -> None:
    first, second = put(store, "a.md", "one"), put(store, "b.md", "two")

    store.commit(
        Changes(
            moves=(
                Move(old_doc_id=first.doc_id, document=document("b.md", "one")),
                Move(old_doc_id=second.doc_id, document=document("a.md", "two")),
            )
        )
    )

    at_a, at_b = store.document(first.doc_id), store.document(second.doc_id)
    assert at_a is not None
    assert at_b is not None
    assert (at_a.doc_key, at_a.text) == (second.doc_key, "two")
    assert (at_b.doc_key, at_b.text) == (first.doc_key, "one")


def test_a_file_that_moves_over_another_replaces_it(store: Store) -> None:
    mover, victim = put(store, "a.md", "one"), put(store, "b.md", "two")

    after = move(store, "a.md", "b.md", "one")

    assert (after.doc_id, after.doc_key) == (victim.doc_id, mover.doc_key)
    assert store.stats()["doc_count"] == 1


def test_a_move_of_a_document_that_is_not_here_is_a_new_document(store: Store) -> None:
    stored = move(store, "never.md", "b.md", "text")

    assert stored.text == "text"


def test_the_old_path_of_a_move_may_hold_a_new_document_at_once(store: Store) -> None:
    before = put(store, "a.md", "one")

    store.commit(
        Changes(
            documents=(document("a.md", "fresh"),),
            moves=(Move(old_doc_id=before.doc_id, document=document("b.md", "one")),),
            deleted_docs=(before.doc_id,),
        )
    )

    at_a, at_b = (store.document(doc_id("notes", path)) for path in ("a.md", "b.md"))
    assert at_a is not None
    assert at_b is not None
    assert (at_a.text, at_b.text) == ("fresh", "one")
    assert at_b.doc_key == before.doc_key


def test_a_batch_that_changes_nothing_leaves_the_sequence(store: Store) -> None:
    changes = Changes(
        files=(file_row("a.md"),),
        sources={"notes": {"root": "/notes", "verified_at": 7}},
        models={"m": {"dimensions": 2}},
        embeddings={"m": {"h": b"1234"}},
    )
    assert store.commit(changes) == 1

    assert store.commit(changes) == 1
    assert store.commit(Changes()) == 1
    assert store.commit(Changes(deleted_docs=("0" * 32,), forgotten_files=(("x", "y"),))) == 1
    assert store.commit(Changes(sources={"notes": {"root": "/notes", "verified_at": 8}})) == 2
    assert (store.corpus_revision, store.vector_revision) == (0, 1)


def test_a_failed_batch_leaves_nothing_behind(store: Store) -> None:
    put(store, "a.md", "one")
    good, bad = document("b.md", "two"), document("c.md", "three", metadata={"f": float("nan")})

    with pytest.raises(InvalidInput, match=r"metadata of document 'c\.md' has no JSON form"):
        store.commit(Changes(documents=(good, bad), files=(file_row("b.md"),)))

    assert store.sequence == 1
    assert store.ledger("notes") == {}
    assert store.document(good.doc_id) is None
    assert put(store, "d.md", "four").chunks[0].chunk_key == 2, "no key was spent"


def test_an_interrupted_batch_leaves_nothing_behind(store: Store) -> None:
    class Interrupted(dict[str, dict[str, str]]):
        def items(self) -> NoReturn:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.commit(Changes(documents=(document("a.md", "one"),), sources=Interrupted(notes={})))

    assert store.sequence == 0
    assert store.stats()["doc_count"] == 0
    assert put(store, "a.md", "two").text == "two"


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


def test_lesson_1_chunks_that_share_an_id_are_refused(store: Store) -> None:
    doc = document("a.md", "one\n\ntwo")
    twin = replace(doc.chunks[1], chunk_id=doc.chunks[0].chunk_id)

    with pytest.raises(KbError, match=r"two chunks of 'a.md' have one id"):
        store.commit(Changes(documents=(replace(doc, chunks=(doc.chunks[0], twin)),)))


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


def test_a_document_twice_in_one_batch_is_refused(store: Store) -> None:
    with pytest.raises(KbError, match="is 2 times in one batch"):
        store.commit(Changes(documents=(document("a.md", "one"), document("a.md", "two"))))


def test_embeddings_of_a_model_that_nobody_described_are_refused(store: Store) -> None:
    with pytest.raises(KbError, match=r"models without a description: \['m'\]"):
        store.commit(Changes(embeddings={"m": {"h": b""}}))


def test_the_driver_error_is_the_cause_and_never_the_face(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "kebab.duckdb")
    store._session.run("DROP TABLE settings")

    with pytest.raises(KbError, match="could not read a setting") as caught:
        store.get_setting("x")

    assert isinstance(caught.value.__cause__, duckdb.Error)
    store.close()


def test_a_chunk_without_a_passage_hash_is_given_one(store: Store) -> None:
    doc = document("a.md", "one")
    bare = replace(doc, chunks=(replace(doc.chunks[0], passage_hash=""),))

    store.commit(Changes(documents=(bare,)))

    stored = store.document(doc.doc_id)
    assert stored is not None
    assert stored.chunks[0].passage_hash == doc.chunks[0].passage_hash


def test_what_expired_is_forgotten(store: Store) -> None:
    long_ago = NOW - timedelta(days=91)
    store.commit(
        Changes(
            documents=(document("a.md", "one"),),
            files=(
                file_row("gone.md", FileState.DELETED, changed_at=long_ago),
                file_row("fresh.md", FileState.DELETED, changed_at=NOW),
                file_row("there.md", FileState.INDEXED, changed_at=long_ago),
            ),
        )
    )
    moved = move(store, "a.md", "b.md", "one")

    assert store.forget_expired(NOW) == 1
    assert store.forget_expired(NOW + timedelta(days=91)) == 2
    assert store.forget_expired(NOW + timedelta(days=91)) == 0

    assert list(store.ledger("notes")) == ["there.md"]
    step = store.publication(2)
    assert step is not None
    assert set(step.forgotten_files) == {("notes", "gone.md"), ("notes", "fresh.md")}
    assert step.aliases == {doc_id("notes", "a.md"): doc_id("notes", "a.md")}
    assert moved.doc_id in store.doc_ids("notes")
