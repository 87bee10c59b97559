"""Promises of a store about documents within files: they live, move and die with their file."""

from __future__ import annotations

from typing import Any

from kb_core.ids import DocId, doc_id, enclosed_path
from kb_core.ports import Store
from kb_core.records import Changes, DocumentRecord, Move
from kb_core.testing._contract_store import StoreOfTest
from kb_core.testing.documents import document, file_row

__all__ = ["EnclosureContract"]


def _within(file: str, name: str, text: str, **fields: Any) -> DocumentRecord:  # noqa: ANN401
    identity = doc_id("notes", file, name)
    path = enclosed_path(file, name)
    return document(path, text, doc_id=identity, container=file, **fields)


def _mail(path: str, **enclosed: str) -> tuple[DocumentRecord, ...]:
    """Return a file and the documents within it, by name and text."""
    return document(path, "A mail."), *(_within(path, *each) for each in enclosed.items())


def _paths(store: Store) -> list[str]:
    found = (store.document(doc) for doc in store.doc_ids("notes"))
    return [doc.path for doc in found if doc is not None]


def _stored(store: Store, doc: DocId) -> DocumentRecord:
    found = store.document(doc)
    assert found is not None
    return found


class EnclosureContract(StoreOfTest):
    """Documents that have a ``container``."""

    def test_a_document_within_a_file_comes_back_as_it_went_in(self) -> None:
        store = self.make_store()
        store.commit(Changes(documents=_mail("a.eml", one="The walrus.")))

        found = _stored(store, doc_id("notes", "a.eml", "one"))

        assert (found.container, found.path, found.text) == ("a.eml", "a.eml!/one", "The walrus.")
        assert store.stats()["doc_count"] == 2
        assert store.deep_check() == []

    def test_a_file_that_is_replaced_is_replaced_whole(self) -> None:
        store = self.make_store()
        store.commit(Changes(documents=_mail("a.eml", one="The walrus.", two="Marmalade.")))
        before = _stored(store, doc_id("notes", "a.eml", "two"))
        since = store.sequence

        store.commit(Changes(documents=_mail("a.eml", two="Marmalade.", three="Oranges.")))

        after = _stored(store, doc_id("notes", "a.eml", "two"))
        assert _paths(store) == ["a.eml", "a.eml!/three", "a.eml!/two"]
        assert (after.doc_key, after.chunks[0].chunk_key) == (
            before.doc_key,
            before.chunks[0].chunk_key,
        )
        step = store.publication(since)
        assert step is not None
        assert len(step.removed_docs) == len(step.dead_chunks) == 1

    def test_a_file_that_is_deleted_is_deleted_whole_and_no_other(self) -> None:
        store = self.make_store()
        store.commit(Changes(documents=_mail("a.eml", one="1") + _mail("b.eml", one="1")))
        store.commit(Changes(documents=(document("a.eml", "Another.", source_id="other"),)))

        store.commit(Changes(deleted_docs=(doc_id("notes", "a.eml"),)))

        assert _paths(store) == ["b.eml", "b.eml!/one"]
        assert store.document(doc_id("other", "a.eml")) is not None
        assert store.deep_check() == []

    def test_what_is_within_a_file_moves_with_it_and_keeps_its_keys(self) -> None:
        store = self.make_store()
        store.commit(Changes(documents=_mail("a.eml", one="The walrus.", two="Marmalade.")))
        before = _stored(store, doc_id("notes", "a.eml", "one"))
        file, one = _mail("b.eml", one="The walrus.")

        store.commit(
            Changes(
                moves=(
                    Move(old_doc_id=doc_id("notes", "a.eml"), document=file),
                    Move(old_doc_id=doc_id("notes", "a.eml", "one"), document=one),
                )
            )
        )

        after = _stored(store, doc_id("notes", "b.eml", "one"))
        assert _paths(store) == ["b.eml", "b.eml!/one"]
        assert after.doc_key == before.doc_key
        assert store.deep_check() == []

    def test_files_that_swap_their_names_swap_what_is_in_them(self) -> None:
        store = self.make_store()
        store.commit(Changes(documents=_mail("a.eml", x="1") + _mail("b.eml", x="2")))
        keys = [_stored(store, doc_id("notes", f, "x")).doc_key for f in ("a.eml", "b.eml")]
        swapped = [("a.eml", _mail("b.eml", x="1")), ("b.eml", _mail("a.eml", x="2"))]

        store.commit(
            Changes(
                moves=tuple(
                    move
                    for old, (file, x) in swapped
                    for move in (
                        Move(old_doc_id=doc_id("notes", old), document=file),
                        Move(old_doc_id=doc_id("notes", old, "x"), document=x),
                    )
                )
            )
        )

        after = [_stored(store, doc_id("notes", f, "x")).doc_key for f in ("b.eml", "a.eml")]
        assert after == keys
        assert store.stats()["doc_count"] == 4

    def test_a_row_of_the_ledger_accounts_for_all_that_is_in_its_file(self) -> None:
        store = self.make_store()
        both = _mail("a.eml", one="1") + _mail("b.eml", one="1")
        row = file_row("a.eml", doc_id=doc_id("notes", "a.eml"))

        store.commit(Changes(documents=both, files=(row,)))

        expected = {doc_id("notes", "b.eml"), doc_id("notes", "b.eml", "one")}
        assert set(store.unaccounted_docs()) == expected

    def test_a_folder_called_like_a_file_with_documents_is_another_place(self) -> None:
        store = self.make_store()
        store.commit(Changes(documents=_mail("a.eml", **{"one.md": "Enclosed."})))
        store.commit(Changes(documents=(document("a.eml!/one.md", "In a folder."),)))

        store.commit(Changes(deleted_docs=(doc_id("notes", "a.eml"),)))

        assert _stored(store, doc_id("notes", "a.eml!/one.md")).text == "In a folder."
        assert store.stats()["doc_count"] == 1

    def test_what_is_kept_stays_as_it_is_while_its_file_is_replaced(self) -> None:
        store = self.make_store()
        store.commit(Changes(documents=_mail("a.eml", one="1", two="2", three="3")))
        kept = doc_id("notes", "a.eml", "two")
        before, since = _stored(store, kept), store.sequence
        assert store.enclosed("notes", "a.eml") == {
            f"a.eml!/{name}": _stored(store, doc_id("notes", "a.eml", name)).bytes_hash
            for name in ("one", "two", "three")
        }

        store.commit(Changes(documents=_mail("a.eml", one="1"), kept=(kept,)))

        step = store.publication(since)
        assert step is not None
        assert _paths(store) == ["a.eml", "a.eml!/one", "a.eml!/two"]
        assert _stored(store, kept) == before
        assert store.count_chunks([kept, "none"]) == len(before.chunks) > 0
        assert store.count_chunks([]) == 0
        assert before.doc_key not in {doc.doc_key for doc in step.documents}
        assert store.deep_check() == []

    def test_nothing_is_kept_of_a_file_that_is_deleted(self) -> None:
        store = self.make_store()
        store.commit(Changes(documents=_mail("a.eml", one="1")))

        store.commit(Changes(deleted_docs=(doc_id("notes", "a.eml"),)))

        assert store.stats()["doc_count"] == 0
        assert store.enclosed("notes", "a.eml") == {}
