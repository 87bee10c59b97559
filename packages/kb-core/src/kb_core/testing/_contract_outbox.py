"""Promises of a store about publications: what the index is told, in steps or from the start."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from kb_core.errors import KbError, NotIndexed
from kb_core.ids import doc_id
from kb_core.ports import Store
from kb_core.records import PASSAGES_AT_A_TURN, Changes, DocumentRecord, Move, Publication
from kb_core.testing._contract_store import StoreOfTest, refused
from kb_core.testing.documents import document, file_row
from kb_core.testing.fakes import fixed_clock

__all__ = ["OutboxContract"]


def _published(store: Store, since: int) -> Publication:
    step = store.publication(since)
    assert step is not None
    assert step.sequence == store.sequence
    assert step.store_id == store.store_id
    return step


def _embed(store: Store, *models: str, limit: int = 1000) -> None:
    for model in models:
        pending = store.missing_passages(model, limit)
        vectors = {passage.passage_hash: b"\1\2\3\4" for passage in pending}
        store.commit(Changes(embeddings={model: vectors}, models={model: {"dimensions": 2}}))


def _owed(step: Publication) -> dict[str, list[int]]:
    return {model: [record.chunk_key for record in step.vectors[model]] for model in step.vectors}


def _keys(*docs: DocumentRecord | None) -> list[int]:
    return [chunk.chunk_key for doc in docs if doc for chunk in doc.chunks]


class OutboxContract(StoreOfTest):
    """``publication``, ``rebuild_publications``, ``missing_passages``."""

    def test_a_store_without_news_has_no_publication(self) -> None:
        store = self.make_store()
        assert store.publication(0) is None

        store.commit(Changes(documents=(document("a.md", "one"),)))

        assert store.publication(1) is None

    def test_a_publication_carries_documents_whole(self) -> None:
        store = self.make_store()
        doc = document("a.md", "# One\n\nzwei 🙂\n\ndrei")
        store.commit(Changes(documents=(doc,), files=(file_row("a.md"),)))

        step = _published(store, 0)

        assert step.documents == (store.document(doc.doc_id),)
        assert [chunk.text for chunk in step.documents[0].chunks] == ["# One", "zwei 🙂", "drei"]
        assert step.files == (file_row("a.md"),)
        assert step.removed_docs == step.dead_chunks == ()
        assert step.forgotten_files == ()
        assert step.stats["doc_count"] == 1

    def test_news_of_many_commits_fold_into_one_publication(self) -> None:
        store = self.make_store()
        for text in ["one", "two", "three"]:
            store.commit(Changes(documents=(document("a.md", text),), files=(file_row("a.md"),)))
        store.commit(Changes(documents=(document("b.md", "bee"),)))
        store.commit(
            Changes(deleted_docs=(doc_id("notes", "b.md"),), forgotten_files=(("notes", "a.md"),))
        )

        step = _published(store, 0)

        assert [doc.text for doc in step.documents] == ["three"]
        assert step.removed_docs == (2,)
        assert step.dead_chunks == (1, 2, 4)
        assert step.forgotten_files == (("notes", "a.md"),)
        assert (step.sequence, step.corpus_revision) == (5, 5)

    def test_a_document_that_was_deleted_and_came_back_is_one_more_and_one_less(self) -> None:
        store = self.make_store()
        store.commit(Changes(documents=(document("a.md", "one"),)))
        store.commit(Changes(deleted_docs=(doc_id("notes", "a.md"),)))
        store.commit(Changes(documents=(document("a.md", "one"),)))

        step = _published(store, 1)

        assert [doc.doc_key for doc in step.documents] == [2]
        assert step.removed_docs == (1,)
        assert step.dead_chunks == (1,)

    def test_a_new_embedding_owes_a_vector_to_every_chunk_of_its_passage(self) -> None:
        store = self.make_store()
        docs = tuple(document(path, "same\n\nsame", title="T") for path in ("a.md", "b.md"))
        store.commit(Changes(documents=docs))

        _embed(store, "m")

        stored = [store.document(doc.doc_id) for doc in docs]
        assert _owed(_published(store, 1)) == {"m": _keys(*stored)}
        assert _published(store, 1).models == {"m": {"dimensions": 2}}
        assert store.stats()["embedded"] == {"m": 4}

    def test_lesson_4_a_forced_ingest_calls_no_model_and_loses_no_vector(self) -> None:
        """The chunks are born anew, since their documents were gone; their passages were not."""
        store = self.make_store()
        doc = document("a.md", "one\n\ntwo")
        store.commit(Changes(documents=(doc,)))
        _embed(store, "small", "large")
        store.commit(Changes(deleted_docs=(doc.doc_id,)))
        assert store.stats()["embedded"] == {"large": 0, "small": 0}
        before = store.sequence

        store.commit(Changes(documents=(doc,)))

        assert store.count_missing("small") == store.count_missing("large") == 0
        alive = _keys(store.document(doc.doc_id))
        assert _owed(_published(store, before)) == {"large": alive, "small": alive}

    def test_lesson_4_an_edit_that_is_taken_back_has_its_vectors_at_once(self) -> None:
        store = self.make_store()
        store.commit(Changes(documents=(document("a.md", "one\n\ntwo"),)))
        _embed(store, "m")
        store.commit(Changes(documents=(document("a.md", "one\n\nTWO"),)))
        before = store.sequence

        store.commit(Changes(documents=(document("a.md", "one\n\ntwo"),)))

        step = _published(store, before)
        (one, two) = step.documents[0].chunks
        assert _owed(step) == {"m": [two.chunk_key]}
        assert one.chunk_key not in step.dead_chunks

    def test_lesson_4_what_was_not_embedded_stays_missing_until_it_is(self) -> None:
        """Also after the text was seen again and found unchanged, and for every new model."""
        store = self.make_store()
        docs = (document("a.md", "one\n\ntwo\n\nthree"),)
        store.commit(Changes(documents=docs))
        _embed(store, "m", limit=2)

        store.commit(Changes(documents=docs))

        assert store.count_missing("m") == 1
        assert [p.passage for p in store.missing_passages("m", 10)] == ["a\n\nthree"]
        assert store.count_missing("another") == 3

    def test_a_moved_document_owes_no_vectors(self) -> None:
        store = self.make_store()
        store.commit(Changes(documents=(document("a.md", "one", title="T"),)))
        _embed(store, "m")
        moved = document("b.md", "one", title="T")

        store.commit(Changes(moves=(Move(old_doc_id=doc_id("notes", "a.md"), document=moved),)))

        step = _published(store, 2)
        assert step.vectors == {}
        assert (step.dead_chunks, step.removed_docs) == ((), ())
        assert [doc.doc_id for doc in step.documents] == [moved.doc_id]
        assert step.aliases == {doc_id("notes", "a.md"): moved.doc_id}

    def test_a_vector_of_a_chunk_that_died_since_is_not_published(self) -> None:
        store = self.make_store()
        store.commit(Changes(documents=(document("a.md", "one"),)))
        _embed(store, "m")
        store.commit(Changes(documents=(document("a.md", "two"),)))

        step = _published(store, 0)

        assert step.vectors == {}
        assert step.dead_chunks == (1,)

    def test_aliases_lead_to_where_a_document_is_now(self) -> None:
        store = self.make_store()
        a, b, c = (doc_id("notes", path) for path in ("a.md", "b.md", "c.md"))
        store.commit(Changes(documents=(document("a.md", "one"),)))
        store.commit(Changes(moves=(Move(old_doc_id=a, document=document("b.md", "one")),)))
        store.commit(Changes(moves=(Move(old_doc_id=b, document=document("c.md", "one")),)))

        assert _published(store, 0).aliases == {a: c, b: c}

    def test_an_id_that_names_a_document_again_is_no_alias_any_more(self) -> None:
        """It is published as leading to itself, so that an index forgets what it led to."""
        store = self.make_store()
        a, b = doc_id("notes", "a.md"), doc_id("notes", "b.md")
        store.commit(Changes(documents=(document("a.md", "one"),)))
        store.commit(Changes(moves=(Move(old_doc_id=a, document=document("b.md", "one")),)))

        store.commit(Changes(moves=(Move(old_doc_id=b, document=document("a.md", "one")),)))

        assert _published(store, 2).aliases == {a: a, b: a}
        rebuilt = list(store.rebuild_publications())
        assert rebuilt[0].aliases == {b: a}

    def test_a_pruned_outbox_says_that_the_index_must_be_rebuilt(self) -> None:
        store = self.make_store()
        for text in ["one", "two", "three"]:
            store.commit(Changes(documents=(document("a.md", text),)))
        store.prune_outbox(2)
        store.prune_outbox(1)

        assert [doc.text for doc in _published(store, 2).documents] == ["three"]
        with refused(NotIndexed, r"an index at 1 cannot follow a store that replays 2 to 3"):
            store.publication(1)

    def test_an_index_that_is_ahead_must_be_rebuilt(self) -> None:
        """The store was restored from a backup."""
        store = self.make_store()
        with refused(NotIndexed, "cannot follow"):
            store.publication(7)

    def test_an_empty_store_is_rebuilt_as_one_empty_publication(self) -> None:
        store = self.make_store()
        (step,) = store.rebuild_publications()

        assert (step.sequence, step.documents, step.stats["doc_count"]) == (0, (), 0)

    def test_a_rebuild_comes_in_batches_that_add_up(self) -> None:
        store = self.make_store()
        docs = tuple(document(f"{n}.md", f"one {n}\n\ntwo {n}") for n in range(7))
        files = tuple(file_row(f"{n}.md") for n in range(7))
        store.commit(Changes(documents=docs, files=files))
        _embed(store, "small", "large")

        steps = list(store.rebuild_publications(batch_chunks=4))

        assert [len(s.documents) for s in steps if s.documents] == [2, 2, 2, 1]
        assert tuple(file for step in steps for file in step.files) == files
        for model in ("small", "large"):
            vectors = [r.chunk_key for step in steps for r in step.vectors.get(model, ())]
            assert sorted(vectors) == list(range(1, 15))
        assert all(len(r) <= 4 for step in steps for r in step.vectors.values())
        assert {step.sequence for step in steps} == {store.sequence}
        assert all(step.models.keys() == step.vectors.keys() for step in steps)

    def test_a_rebuild_stops_when_the_store_changes_under_it(self) -> None:
        store = self.make_store()
        store.commit(Changes(documents=(document("a.md", "one"), document("b.md", "two"))))
        steps = store.rebuild_publications(batch_chunks=1)
        next(steps)
        store.commit(Changes(documents=(document("c.md", "three"),)))

        with refused(KbError, r"the store changed while an index was rebuilt"):
            next(steps)

    def test_a_rebuild_that_is_given_up_lets_the_store_go_on(self) -> None:
        store = self.make_store()
        store.commit(Changes(documents=(document("a.md", "one\n\ntwo\n\nthree"),)))
        _embed(store, "m")
        steps = store.rebuild_publications(batch_chunks=1)
        while not next(steps).vectors:
            pass

        del steps
        store.commit(Changes(documents=(document("b.md", "one"),)))
        store.checkpoint()

        assert store.sequence == 3

    def test_a_rebuild_keeps_no_other_thread_out_between_its_steps(self) -> None:
        store = self.make_store()
        for missing in (0, 2):
            steps = store.rebuild_publications()
            next(steps)
            with ThreadPoolExecutor(1) as others:
                assert others.submit(store.count_missing, "m").result(60) == missing
                others.submit(list, steps).result(60)

            store.commit(Changes(documents=(document("a.md", "one\n\ntwo"),)))

    def test_missing_passages_come_newest_document_first_and_once(self) -> None:
        store = self.make_store()

        def dated(path: str, day: str, text: str) -> DocumentRecord:
            at = fixed_clock(f"2026-01-{day}")()
            return document(path, text, doc_date=at, title="T")

        store.commit(
            Changes(
                documents=(
                    dated("old.md", "01", "same\n\nold"),
                    dated("new.md", "03", "new\n\nsame"),
                    dated("middle.md", "02", "\n\n".join(["same"] * 9)),
                )
            )
        )

        pending = store.missing_passages("m", 10)

        assert [p.passage.partition("\n\n")[2] for p in pending] == ["new", "same", "old"]
        assert [p.passage_hash for p in pending[:2]] == [
            p.passage_hash for p in store.missing_passages("m", 2)
        ]
        assert store.count_missing("m") == 3

    def test_a_long_document_does_not_keep_older_ones_waiting(self) -> None:
        store = self.make_store()
        long = document(
            "long.md",
            "\n\n".join(map(str, range(PASSAGES_AT_A_TURN + 2))),
            doc_date=fixed_clock("2026-01-02")(),
        )
        old = document("old.md", "old\n\nolder", doc_date=fixed_clock("2026-01-01")())
        store.commit(Changes(documents=(long, old)))

        pending = store.missing_passages("m", 99)

        told = [passage.passage.rpartition("\n\n")[2] for passage in pending]
        turn = [str(number) for number in range(PASSAGES_AT_A_TURN + 2)]
        assert told == [
            *turn[:PASSAGES_AT_A_TURN],
            *("old", "older"),
            *turn[PASSAGES_AT_A_TURN:],
        ]

    def test_missing_passages_of_named_chunks_come_in_the_order_asked(self) -> None:
        store = self.make_store()
        doc = document("a.md", "one\n\ntwo\n\nthree")
        store.commit(Changes(documents=(doc,)))
        one, two, three = keys = _keys(store.document(doc.doc_id))
        done = store.missing_passages("m", 1, [two])[0].passage_hash
        models = {"m": {"dimensions": 2}}
        store.commit(Changes(embeddings={"m": {done: b"\1\2\3\4"}}, models=models))

        pending = store.missing_passages("m", 9, [three, two, one, three, 999_999])

        assert [passage.chunk_key for passage in pending] == [three, one]
        assert len(store.missing_passages("m", 1, keys)) == 1
        assert store.missing_passages("m", 9, []) == []

    def test_sources_and_counts_travel_with_every_publication(self) -> None:
        store = self.make_store()
        store.commit(Changes(sources={"notes": {"root": "/notes", "verified_at": 5}}))
        store.commit(Changes(documents=(document("a.py", "code", tags=("x",)),)))

        step = _published(store, 1)

        assert step.sources == {"notes": {"root": "/notes", "verified_at": 5}}
        assert step.stats["lang_breakdown"] == {"null": 1}
        assert step.stats["tags"] == {"x": 1}
