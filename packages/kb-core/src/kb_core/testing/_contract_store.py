"""Promises of a store about commits: what is stored comes back, keys stay, nothing is half done."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Generator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn

from kb_core.clock import to_epoch
from kb_core.errors import KbError
from kb_core.ids import doc_id
from kb_core.ports import Store
from kb_core.records import Changes, DocumentRecord, FileRecord, FileState, Move
from kb_core.testing.documents import NOW, document, file_row
from kb_core.values import replace

__all__ = ["CommitContract", "StoreOfTest", "put", "refused"]


class StoreOfTest(ABC):
    """Opens the store of one test."""

    @abstractmethod
    def make_store(self) -> Store:
        """Return this test's store, which is new, and has ``fixed_clock``."""


@contextmanager
def refused(kind: type[KbError], words: str) -> Generator[None]:
    """Expect an error of a *kind* that says *words*, a regular expression."""
    said = "nothing"
    try:
        yield
    except kind as error:
        said = str(error)
    assert re.search(words, said), said


def stored(store: Store, path: str) -> DocumentRecord:
    """Return the document of source ``notes`` at *path*."""
    found = store.document(doc_id("notes", path))
    assert found is not None
    return found


def put(store: Store, path: str, text: str, **fields: Any) -> DocumentRecord:  # noqa: ANN401
    """Commit one document and return it as it is stored."""
    store.commit(Changes(documents=(document(path, text, **fields),)))
    return stored(store, path)


def _move(store: Store, old: str, new: str, text: str, **fields: Any) -> DocumentRecord:  # noqa: ANN401
    doc = document(new, text, **fields)
    store.commit(Changes(moves=(Move(old_doc_id=doc_id("notes", old), document=doc),)))
    return stored(store, new)


def _keys(doc: DocumentRecord) -> dict[str, int]:
    return {chunk.text: chunk.chunk_key for chunk in doc.chunks}


def _unkeyed(doc: DocumentRecord) -> DocumentRecord:
    chunks = tuple(replace(chunk, chunk_key=0) for chunk in doc.chunks)
    return replace(doc, doc_key=0, chunks=chunks)


class CommitContract(StoreOfTest):
    """``commit``, and what is stored and counted after it."""

    def test_a_document_comes_back_as_it_went_in(self) -> None:
        store = self.make_store()
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
            has_lines=False,
        )
        first = replace(
            doc.chunks[0],
            span=span,
            symbol="fn main",
            part=2,
            flags=("x",),
            heading_path=("A", "B"),
        )
        doc = replace(doc, chunks=(first, *doc.chunks[1:]))

        store.commit(Changes(documents=(doc,)))

        stored = store.document(doc.doc_id)
        assert stored is not None
        assert _unkeyed(stored) == doc
        assert stored.doc_key > 0

    def test_a_ledger_row_comes_back_as_it_went_in(self) -> None:
        store = self.make_store()
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

        other = file_row("b", FileState.SKIPPED)
        store.commit(Changes(files=(row, other)))

        assert store.ledger("notes") == {"dir/file": row, "b": other}
        assert store.ledger("other") == {}

    def test_lesson_2_a_document_can_be_edited_again_and_again(self) -> None:
        """Also twice within a checkpoint, and back to what it was."""
        store = self.make_store()
        for text in ["one\n\ntwo", "one\n\nthree", "one\n\ntwo", "", "one\n\ntwo"]:
            put(store, "a.md", text, parser_version=text)
            put(store, "a.md", text, parser_version="again")
            store.checkpoint()

        assert store.stats()["doc_count"] == 1
        assert store.deep_check() == []

    def test_lesson_3_equal_files_at_two_paths_are_two_documents(self) -> None:
        store = self.make_store()
        first = put(store, "a.md", "the same")
        second = put(store, "b.py", "the same")

        assert first.bytes_hash == second.bytes_hash
        assert (first.media, second.media) == ("markdown", "code")
        assert first.doc_key != second.doc_key
        assert not set(_keys(first).values()) & set(_keys(second).values())

    def test_lesson_9_chunks_come_in_the_order_of_the_text(self) -> None:
        store = self.make_store()
        text = "\n\n".join(f"paragraph {number}" for number in range(300))

        stored = put(store, "a.md", text)

        assert [chunk.ordinal for chunk in stored.chunks] == list(range(300))
        assert [chunk.text for chunk in stored.chunks] == text.split("\n\n")

    def test_a_chunk_that_stays_the_same_keeps_its_key(self) -> None:
        store = self.make_store()
        before = _keys(put(store, "a.md", "one\n\ntwo\n\nthree"))

        after = _keys(put(store, "a.md", "new\n\none\n\nTWO\n\nthree"))

        assert (after["one"], after["three"]) == (before["one"], before["three"])
        assert min(after["new"], after["TWO"]) > max(before.values())

    def test_a_chunk_whose_passage_changed_has_another_key(self) -> None:
        """Its id stays, since its text does; what was embedded for it no longer fits."""
        store = self.make_store()
        before = put(store, "a.md", "one", title="Old")

        after = put(store, "a.md", "one", title="New")

        assert after.chunks[0].chunk_id == before.chunks[0].chunk_id
        assert after.chunks[0].chunk_key > before.chunks[0].chunk_key

    def test_a_key_of_the_dead_is_never_given_again(self) -> None:
        store = self.make_store()
        dead = put(store, "a.md", "one\n\ntwo")
        store.commit(Changes(deleted_docs=(dead.doc_id,)))

        back = put(store, "a.md", "one\n\ntwo")

        assert back.doc_key > dead.doc_key
        assert min(_keys(back).values()) > max(_keys(dead).values())

    def test_a_moved_document_keeps_its_keys_and_gets_new_ids(self) -> None:
        store = self.make_store()
        before = put(store, "a.md", "one\n\nsame\n\nsame", title="T")

        after = _move(store, "a.md", "b.md", "one\n\nsame\n\nsame", title="T")

        assert after.doc_key == before.doc_key
        assert [c.chunk_key for c in after.chunks] == [c.chunk_key for c in before.chunks]
        assert not {c.chunk_id for c in after.chunks} & {c.chunk_id for c in before.chunks}
        assert store.document(before.doc_id) is None

    def test_files_that_swap_their_names_swap_their_keys(self) -> None:
        store = self.make_store()
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

    def test_a_file_that_moves_over_another_replaces_it(self) -> None:
        store = self.make_store()
        mover, victim = put(store, "a.md", "one"), put(store, "b.md", "two")

        after = _move(store, "a.md", "b.md", "one")

        assert (after.doc_id, after.doc_key) == (victim.doc_id, mover.doc_key)
        assert store.stats()["doc_count"] == 1

    def test_a_move_of_a_document_that_is_not_here_is_a_new_document(self) -> None:
        store = self.make_store()
        stored = _move(store, "never.md", "b.md", "text")

        assert stored.text == "text"

    def test_the_old_path_of_a_move_may_hold_a_new_document_at_once(self) -> None:
        store = self.make_store()
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

    def test_a_batch_that_changes_nothing_leaves_the_sequence(self) -> None:
        store = self.make_store()
        changes = Changes(
            files=(file_row("a.md", FileState.SKIPPED),),
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

    def test_an_interrupted_batch_leaves_nothing_behind(self) -> None:
        store = self.make_store()

        class Interrupted(dict[str, dict[str, str]]):
            def items(self) -> NoReturn:
                raise KeyboardInterrupt

        with suppress(KeyboardInterrupt):
            store.commit(
                Changes(documents=(document("a.md", "one"),), sources=Interrupted(notes={}))
            )

        assert store.sequence == 0
        assert store.stats()["doc_count"] == 0
        assert put(store, "a.md", "two").text == "two"

    def test_lesson_1_chunks_that_share_an_id_are_refused(self) -> None:
        store = self.make_store()
        doc = document("a.md", "one\n\ntwo")
        twin = replace(doc.chunks[1], chunk_id=doc.chunks[0].chunk_id)

        with refused(KbError, r"two chunks of 'a.md' have one id"):
            store.commit(Changes(documents=(replace(doc, chunks=(doc.chunks[0], twin)),)))

    def test_a_document_twice_in_one_batch_is_refused(self) -> None:
        store = self.make_store()
        with refused(KbError, r"is 2 times in one batch"):
            store.commit(Changes(documents=(document("a.md", "one"), document("a.md", "two"))))

    def test_embeddings_of_a_model_that_nobody_described_are_refused(self) -> None:
        store = self.make_store()
        with refused(KbError, r"models without a description: \['m'\]"):
            store.commit(Changes(embeddings={"m": {"h": b""}}))

    def test_a_chunk_without_a_passage_hash_is_given_one(self) -> None:
        store = self.make_store()
        doc = document("a.md", "one")
        bare = replace(doc, chunks=(replace(doc.chunks[0], passage_hash=""),))

        store.commit(Changes(documents=(bare,)))

        stored = store.document(doc.doc_id)
        assert stored is not None
        assert stored.chunks[0].passage_hash == doc.chunks[0].passage_hash

    def test_what_expired_is_forgotten(self) -> None:
        store = self.make_store()
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
        moved = _move(store, "a.md", "b.md", "one")

        assert store.forget_expired(NOW) == 1
        assert store.forget_expired(NOW + timedelta(days=91)) == 2
        assert store.forget_expired(NOW + timedelta(days=91)) == 0

        assert list(store.ledger("notes")) == ["there.md"]
        step = store.publication(2)
        assert step is not None
        assert set(step.forgotten_files) == {("notes", "gone.md"), ("notes", "fresh.md")}
        assert step.aliases == {doc_id("notes", "a.md"): doc_id("notes", "a.md")}
        assert moved.doc_id in store.doc_ids("notes")

    def test_an_empty_store_counts_zeros(self) -> None:
        store = self.make_store()
        counted = store.stats()

        assert (counted["doc_count"], counted["chunk_count"], counted["asset_count"]) == (0, 0, 0)
        assert (counted["text_chars"], counted["token_count"]) == (0, 0)
        assert counted["last_ingest_at"] is None
        assert counted["media_breakdown"] == {
            "markdown": 0,
            "pdf": 0,
            "image": 0,
            "audio": 0,
            "code": 0,
            "other": 0,
        }
        assert counted["embedded"] == counted["file_states"] == counted["tags"] == {}

    def test_everything_is_counted(self) -> None:
        store = self.make_store()
        store.commit(
            Changes(
                documents=(
                    document("a.md", "one two\n\nthree", tags=("x", "y")),
                    document("b.py", "print", repo="kebab", tags=("x",)),
                    document("c.csv", "1,2", media="csv", source_id="data", bytes_hash=""),
                ),
                files=(file_row("a.md"), file_row("z.bin", FileState.SKIPPED)),
            )
        )

        counted = store.stats()

        assert (counted["doc_count"], counted["chunk_count"], counted["asset_count"]) == (3, 4, 2)
        assert (counted["text_chars"], counted["token_count"]) == (14 + 5 + 3, 3 + 1 + 1)
        assert counted["media_breakdown"]["code"] == counted["media_breakdown"]["csv"] == 1
        assert counted["lang_breakdown"] == {"en": 2, "null": 1}
        assert counted["code_lang_breakdown"] == {"python": 1}
        assert counted["repo_breakdown"] == {"kebab": 1}
        assert counted["source_breakdown"] == {"data": 1, "notes": 2}
        assert counted["file_states"] == {"indexed": 1, "skipped": 1}
        assert list(counted["tags"].items()) == [("x", 2), ("y", 1)]

    def test_lesson_10_a_run_ends_as_it_ended(self) -> None:
        store = self.make_store()
        store.start_run("r1", "ingest", {})
        before = store.sequence

        store.finish_run("r1", "failed", {"counts": {"errors": 3, "new": 0}})

        (run,) = store.stats()["runs"]
        assert (run["kind"], run["state"], run["counts"]) == ("ingest", "failed", {"errors": 3})
        assert run["started_at"] == run["finished_at"] == to_epoch(NOW)
        assert store.stats()["last_ingest_at"] == to_epoch(NOW)
        step = store.publication(before)
        assert step is not None
        assert step.stats["last_ingest_at"] == to_epoch(NOW)
        assert (step.documents, step.corpus_revision) == ((), 0)

    def test_a_run_that_never_started_cannot_end(self) -> None:
        store = self.make_store()
        with refused(KbError, r"run 'r9' was never started"):
            store.finish_run("r9", "done", {})

    def test_bytes_are_known_by_the_files_that_are_there(self) -> None:
        store = self.make_store()
        there = FileState.SKIPPED
        rows = [file_row(f"{name}.md", there, bytes_hash="one") for name in "ab"]
        rows.append(file_row("c.md", FileState.FAILED, bytes_hash="two"))
        rows += [file_row("d.md", FileState.DELETED, bytes_hash="three"), file_row("e.md", there)]
        store.commit(Changes(files=tuple(rows)))

        assert store.known_bytes(["one", "two", "three", "four"]) == {"one", "two"}
        assert store.known_bytes([]) == set()

    def test_nothing_is_said_any_more_of_what_was_erased(self) -> None:
        store = self.make_store()
        rows = {"notes": {"root": "/notes"}, "gone": {"root": "/gone"}}
        store.commit(Changes(documents=(document("a.md", "one"),), sources=rows))
        moved = _move(store, "a.md", "b.md", "one")
        store.start_run("r1", "ingest", {"paths": ["/gone/a.md"]})

        store.erase([moved.doc_id], ["gone"])

        steps = list(store.rebuild_publications())
        assert all(not step.aliases for step in steps)
        assert set(steps[0].sources) == {"notes"}

    def test_settings_are_kept_by_name(self) -> None:
        store = self.make_store()
        assert store.get_setting("x") is None

        store.put_setting("x", {"n": 1})
        store.put_setting("x", [2])

        assert store.get_setting("x") == [2]

    def test_a_failed_batch_leaves_nothing_behind(self) -> None:
        store = self.make_store()
        put(store, "a.md", "one")
        good, bad = document("b.md", "two"), document("c.md", "three")
        bad = replace(bad, chunks=(replace(bad.chunks[0], end=2),))

        with refused(KbError, r"chunk 0 of 'c\.md' is not the text of its range"):
            store.commit(Changes(documents=(good, bad), files=(file_row("b.md"),)))

        assert store.sequence == 1
        assert store.ledger("notes") == {}
        assert store.document(good.doc_id) is None
        assert put(store, "d.md", "four").chunks[0].chunk_key == 2, "no key was spent"
