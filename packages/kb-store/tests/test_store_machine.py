"""The store against a plain dictionary, and its publications against a rebuild."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import Phase, settings, strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from kb_core.ids import doc_id
from kb_core.ports import Store
from kb_core.records import Changes, ChunkRecord, DocumentRecord, FileState, Move
from kb_core.testing.documents import document, file_row
from kb_core.testing.fakes import HashEmbedder, MemoryIndex, fixed_clock
from kb_core.testing.store import MemoryStore
from kb_store import Store as DuckStore

PATHS = ["a.md", "b.md", "c.md", "d.md"]
MODELS = ["small", "large"]
paths = st.sampled_from(PATHS)
paragraphs = st.sampled_from(["same", "other", "more 🙂 text", "# Head", "é\0", "last"])
texts = st.lists(paragraphs, max_size=5).map("\n\n".join)
titles = st.sampled_from(["One", "Two"])
documents = st.builds(lambda path, text, title: (path, text, title), paths, texts, titles)


def identity(path: str) -> str:
    return doc_id("notes", path)


_WITHOUT_DOCUMENT = [state for state in FileState if state is not FileState.INDEXED]
"""A row that says that its file is indexed comes with the document."""


class StoreMachine(RuleBasedStateMachine):
    """Whatever is written, moved, deleted and embedded, in whatever order."""

    @initialize()
    def create(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "kebab.duckdb"
        self.store = self.open_store()
        self.docs: dict[str, DocumentRecord] = {}
        self.files: dict[str, FileState] = {}
        self.embedded: dict[str, set[str]] = {model: set() for model in MODELS}
        self.newest_key = 0
        self.index = MemoryIndex()
        self.index.publish(next(self.store.rebuild_publications()))
        self.published = 0
        self.expected: tuple[int, ...] = (0, 0, 0)

    def open_store(self) -> Store:
        return DuckStore.open(self.path, fixed_clock())

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            self.folder.cleanup()

    @rule(
        written=st.lists(documents, max_size=3, unique_by=lambda given: given[0]),
        moved=st.lists(st.tuples(paths, paths), max_size=3),
        edited=st.booleans(),
        deleted=st.lists(paths, max_size=2),
    )
    def change(
        self,
        written: list[tuple[str, str, str]],
        moved: list[tuple[str, str]],
        edited: bool,
        deleted: list[str],
    ) -> None:
        moves = self._possible(moved, {path for path, _, _ in written})
        moving = {
            old: document(new, self.docs[old].text + "\n\nedited" * edited, title="One")
            for old, new in moves.items()
        }
        writing = [document(path, text, title=title) for path, text, title in written]
        self.store.commit(
            Changes(
                documents=tuple(writing),
                moves=tuple(
                    Move(old_doc_id=identity(old), document=new) for old, new in moving.items()
                ),
                deleted_docs=tuple(map(identity, deleted)),
            )
        )
        gone = set(deleted) | set(moves)
        before, self.docs = self.docs, {p: d for p, d in self.docs.items() if p not in gone}
        self._expect(before, [(doc, doc.path) for doc in writing if doc.path not in moves])
        self._expect({}, [(doc, doc.path) for doc in writing if doc.path in moves])
        self._expect(before, [(doc, old) for old, doc in moving.items()])
        alive = [chunk.chunk_key for doc in self.docs.values() for chunk in doc.chunks]
        self.newest_key = max([self.newest_key, *alive])
        documents_touched = bool(writing or moving or set(deleted) & set(before))
        self._expect_step(corpus=documents_touched, vectors=False, any_change=documents_touched)

    def _possible(self, moved: list[tuple[str, str]], taken: set[str]) -> dict[str, str]:
        """Return moves of documents that exist to paths that nothing else claims."""
        moves: dict[str, str] = {}
        for old, new in moved:
            if old in self.docs and old not in moves and new not in taken and old != new:
                moves[old] = new
                taken.add(new)
        return moves

    def _expect(
        self, before: dict[str, DocumentRecord], given: list[tuple[DocumentRecord, str]]
    ) -> None:
        """Check every given document and its keys; *given* says under which path it was."""
        for doc, old_path in given:
            stored = self.store.document(doc.doc_id)
            assert stored is not None
            old = before.get(old_path)
            assert (stored.text, stored.title, stored.path) == (doc.text, doc.title, doc.path)
            assert [c.text for c in stored.chunks] == [c.text for c in doc.chunks]
            assert [c.chunk_id for c in stored.chunks] == [c.chunk_id for c in doc.chunks]
            assert old is None or stored.doc_key == old.doc_key
            self._check_keys(old.chunks if old else (), stored.chunks, moved=old_path != doc.path)
            self.docs[doc.path] = stored

    def _check_keys(
        self, old: tuple[ChunkRecord, ...], new: tuple[ChunkRecord, ...], *, moved: bool
    ) -> None:
        """A chunk that is the same keeps its key; every other key was never seen before."""

        def sameness(chunk: ChunkRecord) -> tuple[str, str]:
            return ("" if moved else chunk.chunk_id, chunk.passage_hash)

        old_by_key = {chunk.chunk_key: sameness(chunk) for chunk in old}
        kept = [chunk for chunk in new if chunk.chunk_key in old_by_key]
        assert all(sameness(chunk) == old_by_key[chunk.chunk_key] for chunk in kept)
        assert all(c.chunk_key > self.newest_key for c in new if c.chunk_key not in old_by_key)
        same = Counter(map(sameness, old)) & Counter(map(sameness, new))
        assert len(kept) == same.total()

    @rule(path=paths, state=st.sampled_from(_WITHOUT_DOCUMENT), forget=st.booleans())
    def see_file(self, path: str, state: FileState, forget: bool) -> None:
        if forget:
            self.store.commit(Changes(forgotten_files=(("notes", path),)))
            changed = self.files.pop(path, None) is not None
        else:
            self.store.commit(Changes(files=(file_row(path, state),)))
            changed = self.files.get(path) != state
            self.files[path] = state
        self._expect_step(corpus=False, vectors=False, any_change=changed)
        assert {p: row.state for p, row in self.store.ledger("notes").items()} == self.files

    @rule(model=st.sampled_from(MODELS), limit=st.integers(1, 5))
    def embed(self, model: str, limit: int) -> None:
        wanted = {chunk.passage_hash for doc in self.docs.values() for chunk in doc.chunks}
        missing = wanted - self.embedded[model]
        assert self.store.count_missing(model) == len(missing)
        pending = self.store.missing_passages(model, limit)
        assert len(pending) == min(limit, len(missing))
        hashes = [passage.passage_hash for passage in pending]
        vectors = HashEmbedder(4).embed_passages([passage.passage for passage in pending])
        self._commit_embeddings(model, dict(zip(hashes, vectors, strict=True)))

    @rule(model=st.sampled_from(MODELS))
    def embed_again(self, model: str) -> None:
        """An embedding that is there already, and one that nothing needs."""
        hashes = {*sorted(self.embedded[model])[:2], "a passage that nobody has"}
        self._commit_embeddings(model, dict.fromkeys(hashes, bytes(8)))

    def _commit_embeddings(self, model: str, vectors: dict[str, bytes]) -> None:
        known = {"dimensions": 2} in self.store_models(model)
        self.store.commit(Changes(embeddings={model: vectors}, models={model: {"dimensions": 2}}))
        fresh = vectors.keys() - self.embedded[model]
        self.embedded[model] |= fresh
        self._expect_step(corpus=False, vectors=bool(fresh), any_change=bool(fresh) or not known)

    def store_models(self, model: str) -> list[dict[str, int]]:
        return [{"dimensions": 2}] if model in self.store.stats()["embedded"] else []

    def _expect_step(self, *, corpus: bool, vectors: bool, any_change: bool) -> None:
        sequence, corpora, embeddings = self.expected
        self.expected = (sequence + any_change, corpora + corpus, embeddings + vectors)

    @invariant()
    def counters_count_what_changed(self) -> None:
        if hasattr(self, "store"):
            store = self.store
            found = (store.sequence, store.corpus_revision, store.vector_revision)
            assert found == self.expected

    @rule(twice=st.booleans(), prune=st.booleans())
    def publish(self, twice: bool, prune: bool) -> None:
        step = self.store.publication(self.published)
        assert (step is None) == (self.published == self.expected[0])
        if step is None:
            return
        assert step == self.store.publication(self.published)  # read, where one was in memory
        self.index.publish(step)
        if twice:
            self.index.publish(step)
        self.published = step.sequence
        if prune:
            self.store.prune_outbox(self.published)
        rebuilt = MemoryIndex()
        for part in self.store.rebuild_publications(batch_chunks=3):
            rebuilt.publish(part)
        assert self._shown(self.index) == self._shown(rebuilt)
        self._check_vectors()

    def _shown(self, index: MemoryIndex) -> object:
        snapshot = index.snapshot()
        docs = snapshot.docs(None)
        return (
            docs,
            [snapshot.doc_text(doc["doc_id"]) for doc in docs],
            [snapshot.doc_chunks(doc["doc_id"]) for doc in docs],
            snapshot.files(None),
            [snapshot.find_docs(identity(path), 9) for path in PATHS],
            [self._vectors(index, model) for model in MODELS],
            (snapshot.control.stats, snapshot.control.sources, snapshot.control.sequence),
        )

    def _vectors(self, index: MemoryIndex, model: str) -> dict[int, bytes]:
        snapshot = index.snapshot()
        chunks = [c for doc in snapshot.docs(None) for c in snapshot.doc_chunks(doc["doc_id"])]
        keys = [chunk["chunk_key"] for chunk in chunks]
        found = {key: snapshot.vectors_of([key], model).get(key) for key in keys}
        return {key: vector for key, vector in found.items() if vector is not None}

    def _check_vectors(self) -> None:
        """The invariant: a vector for every chunk whose passage is embedded, and no other."""
        chunks = [chunk for doc in self.docs.values() for chunk in doc.chunks]
        counted = self.store.stats()["embedded"]
        for model in MODELS:
            owed = {c.chunk_key for c in chunks if c.passage_hash in self.embedded[model]}
            assert set(self._vectors(self.index, model)) == owed
            assert counted.get(model, 0) == len(owed)

    @rule(compact=st.booleans())
    def reopen(self, compact: bool) -> None:
        if compact:
            self.store.compact(min_free_share=0.0)
            needed = {chunk.passage_hash for doc in self.docs.values() for chunk in doc.chunks}
            self.embedded = {model: known & needed for model, known in self.embedded.items()}
        self.store.close()
        self.store = self.open_store()

    @rule()
    def check(self) -> None:
        assert self.store.deep_check() == []
        assert self.store.doc_ids("notes") == [identity(path) for path in sorted(self.docs)]


class MemoryStoreMachine(StoreMachine):
    """The store of tests behaves as the one that it stands for."""

    def open_store(self) -> Store:
        return getattr(self, "store", None) or MemoryStore()


@pytest.mark.parametrize("machine", [StoreMachine, MemoryStoreMachine])
def test_the_store_is_a_dictionary_that_publishes_itself(machine: type[StoreMachine]) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=8,
            stateful_step_count=14,
            deadline=None,
            # A failure is a dozen readable steps; shrinking them on disk takes minutes.
            phases=(Phase.explicit, Phase.reuse, Phase.generate),
        ),
    )
