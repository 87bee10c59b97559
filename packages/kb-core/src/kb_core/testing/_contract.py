"""The world of a contract test: one index, and a corpus that publishes into it.

And the first promises, about publishing: atomic, visible at once, repeatable, isolated.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from threading import Thread
from typing import Any

from kb_core.errors import NotIndexed
from kb_core.filters import Filter
from kb_core.ports import IndexReader, IndexSnapshot, IndexWriter, StoredText
from kb_core.records import Control, DocumentRecord, Publication
from kb_core.search import Clause, LexicalQuery, Scored
from kb_core.testing.documents import Corpus, file_row
from kb_core.testing.fakes import HashEmbedder

__all__ = ["Contract", "PublishingContract", "World", "near", "query"]

EMBEDDER = HashEmbedder(32)
MODEL = EMBEDDER.model.key


class Contract(ABC):
    """Opens the index of one test."""

    @abstractmethod
    def make_writer(self) -> IndexWriter:
        """Return a writer of this test's index, which is empty at first."""

    @abstractmethod
    def make_reader(self) -> IndexReader:
        """Return a reader of this test's index."""

    def world(self) -> World:
        """Return the test's index with a corpus to fill it from."""
        return World(self)

    def filled(self, *texts: str) -> World:
        """Return a world with one published document per text, ``0.md`` and on."""
        world = self.world()
        world.put(*(world.corpus.document(f"{n}.md", text) for n, text in enumerate(texts)))
        return world


class World:
    """Publishes through writers that come and go, and looks through fresh snapshots."""

    def __init__(self, contract: Contract, corpus: Corpus | None = None) -> None:
        self._contract = contract
        self.corpus = corpus or Corpus(EMBEDDER)

    def put(self, *documents: DocumentRecord, **changes: Any) -> Publication:  # noqa: ANN401
        """Publish the next step; *changes* as ``Corpus.publication`` takes them."""
        step = self.corpus.publication(*documents, **changes)
        self.publish(step)
        return step

    def write(self, path: str, text: str, **fields: Any) -> DocumentRecord:  # noqa: ANN401
        """Publish one document."""
        return self.put(self.corpus.document(path, text, **fields)).documents[0]

    def publish(self, *steps: Publication) -> Control:
        """Publish steps through one writer and return what the last one gave back."""
        with closing(self._contract.make_writer()) as writer:
            return [writer.publish(step) for step in steps][-1]

    def snapshot(self) -> IndexSnapshot:
        """Return the newest state."""
        return self._contract.make_reader().snapshot()

    def texts(self, where: Filter | None, needs: Sequence[Sequence[str]]) -> list[StoredText]:
        """Return the texts of documents as they are looked through, one by one."""
        found: list[StoredText] = []
        for batch in self.snapshot().texts(where, needs):
            ends = [0, *(end for _, _, end in batch.spans)]
            for (_, start, end), before in zip(batch.spans, ends, strict=False):
                assert before <= start <= end <= len(batch.data)
                is_closed = start == end or b"\n" in batch.data[end - 1 : end + 1]
                assert is_closed or len(batch.spans) == 1
            found += batch.texts()
        return found

    def paths(self, found: Iterable[Scored]) -> list[str]:
        """Return the paths of scored chunks, in their order."""
        keys = [scored.chunk_key for scored in found]
        chunks = self.snapshot().chunks(keys)
        return [chunks[key]["path"] for key in keys]

    def search(self, wanted: str | LexicalQuery, where: Filter | None = None) -> list[str]:
        """Return the paths that a lexical search finds, best first."""
        asked = query(wanted) if isinstance(wanted, str) else wanted
        return self.paths(self.snapshot().lexical(asked, where, 100))

    def nearest(self, text: str, where: Filter | None = None) -> list[str]:
        """Return the paths that a vector search finds, best first."""
        vector = EMBEDDER.embed_query(text)
        return self.paths(self.snapshot().vector(vector, MODEL, where, 100))


def query(*clauses: str | Clause) -> LexicalQuery:
    """Return a query; a plain text is a clause that should match."""
    return LexicalQuery(tuple(Clause(c) if isinstance(c, str) else c for c in clauses))


def near(left: Sequence[Scored], right: Sequence[Scored], *, tolerance: float = 1e-6) -> bool:
    """Say whether two lists hold the same chunks in the same order with equal scores."""
    return [s.chunk_key for s in left] == [s.chunk_key for s in right] and all(
        abs(a.score - b.score) <= tolerance * max(1.0, abs(a.score))
        for a, b in zip(left, right, strict=True)
    )


class PublishingContract(Contract):
    """``publish``, ``control``, ``snapshot``."""

    def test_before_the_first_publication_there_is_nothing_to_read(self) -> None:
        with closing(self.make_writer()) as writer:
            assert writer.control is None
        try:
            self.make_reader().snapshot()
        except NotIndexed:
            return
        raise AssertionError("a reader of an empty place must raise NotIndexed")

    def test_publishing_returns_the_control_record_that_readers_then_see(self) -> None:
        world = self.world()
        step = world.corpus.publication(world.corpus.document("a.md", "One.\n\nTwo."))

        with closing(self.make_writer()) as writer:
            control = writer.publish(step)
            assert writer.control == control

        assert (control.sequence, control.corpus_revision) == (1, 1)
        assert (control.vector_revision, control.store_id) == (1, "fake")
        assert dict(control.stats) == {"doc_count": 1, "chunk_count": 2}
        assert dict(control.sources) == {"notes": {"root": "/notes"}}
        assert world.snapshot().control == control

    def test_a_writer_goes_on_where_the_last_one_stopped(self) -> None:
        world = self.filled("one")
        with closing(self.make_writer()) as writer:
            assert writer.control is not None
            assert writer.control.sequence == 1

        world.write("b.md", "two")

        assert world.snapshot().control.sequence == 2
        assert world.search("one two") in (["0.md", "b.md"], ["b.md", "0.md"])

    def test_an_open_reader_sees_the_next_publication_at_once(self) -> None:
        world = self.filled("one")
        reader = self.make_reader()
        assert reader.snapshot().count(None) == 1

        world.write("b.md", "two")

        assert reader.snapshot().count(None) == 2

    def test_an_open_writer_publishes_again_and_again(self) -> None:
        world = self.world()
        reader = self.make_reader()
        with closing(self.make_writer()) as writer:
            for number in range(1, 4):
                doc = world.corpus.document(f"{number}.md", f"text {number}")
                writer.publish(world.corpus.publication(doc))
                assert reader.snapshot().count(None) == number

    def test_an_empty_publication_changes_nothing_but_the_control_record(self) -> None:
        world = self.filled("some words")

        world.put()

        snapshot = world.snapshot()
        assert snapshot.control.sequence == 2
        assert snapshot.control.corpus_revision == 1
        assert world.search("words") == world.nearest("words") == ["0.md"]

    def test_an_index_can_begin_with_an_empty_publication(self) -> None:
        world = self.world()

        world.put()

        snapshot = world.snapshot()
        assert snapshot.count(None) == 0
        assert not [*snapshot.docs(None), *snapshot.files(None)]
        assert list(snapshot.lexical(query("word"), None, 10)) == []
        assert list(snapshot.vector(EMBEDDER.embed_query("word"), MODEL, None, 10)) == []

    def test_a_rebuild_replaces_everything_in_one_step(self) -> None:
        world = self.filled("old one", "old two")
        corpus = Corpus(EMBEDDER)
        new = [corpus.document(path, f"new {path}") for path in ("a.md", "b.md")]
        steps = [corpus.publication(doc) for doc in new]
        seen = []

        def watched() -> Iterator[Publication]:
            for step in steps:
                yield step
                seen.append(world.search("old new"))

        with closing(self.make_writer()) as writer:
            control = writer.rebuild(watched())
            assert writer.control == control
            assert not writer.is_mostly_dead

        assert [sorted(paths) for paths in seen] == [["0.md", "1.md"]] * 2
        assert world.snapshot().control == control
        assert sorted(world.search("old new")) == ["a.md", "b.md"]
        assert sorted(world.nearest("new a.md")) == ["a.md", "b.md"]
        assert [doc["path"] for doc in world.snapshot().docs(None)] == ["a.md", "b.md"]

    def test_a_rebuild_that_fails_leaves_all_as_it_was(self) -> None:
        world = self.filled("old one")
        before = _everything(world.snapshot())
        step = Corpus(EMBEDDER).publication(world.corpus.document("a.md", "new"))

        def broken() -> Iterator[Publication]:
            yield step
            raise NotIndexed("the truth is gone")

        with closing(self.make_writer()) as writer:
            try:
                writer.rebuild(broken())
            except NotIndexed:
                pass
            else:
                raise AssertionError("the error of the publications must come through")

        assert _everything(world.snapshot()) == before
        world.write("b.md", "old two")
        assert sorted(world.search("old")) == ["0.md", "b.md"]

    def test_english_is_a_language_of_every_index(self) -> None:
        assert "en" in self.filled("text").snapshot().languages

    def test_publishing_the_same_step_twice_is_publishing_it_once(self) -> None:
        """After a crash the store replays the last step, not knowing how far it came."""
        world = self.filled("first text", "second text")
        gone = world.corpus.docs[world.corpus.document("1.md", "").doc_id].doc_id
        step = world.corpus.publication(
            world.corpus.document("0.md", "first text\n\nand more"),
            removed=[gone],
            files=[file_row("0.md")],
        )
        world.publish(step)
        once = _everything(world.snapshot())

        control = world.publish(step, step)

        assert _everything(world.snapshot()) == once
        assert control.sequence == 2

    def test_what_is_prepared_before_another_publication_is_published_after_it(self) -> None:
        world = self.filled("first text", "second text")
        steps = (
            world.corpus.publication(world.corpus.document("0.md", "apples\n\nfirst text")),
            world.corpus.publication(world.corpus.document("0.md", "plums"), removed=["1.md"]),
        )

        with closing(self.make_writer()) as writer:
            one, two = map(writer.prepare, steps)
            assert world.search("text") == ["0.md", "1.md"]
            assert one().sequence == 2
            assert (world.search("apples"), world.search("plums")) == (["0.md"], [])
            assert two() == writer.control

        assert world.search("apples") == world.search("text") == []
        assert world.search("plums") == ["0.md"]
        assert world.snapshot().control.sequence == 3

    def test_a_snapshot_answers_from_its_own_state_whatever_is_published_since(self) -> None:
        world = self.filled("apples and pears", "nuts")
        old = world.snapshot()
        before = _everything(old)

        for number in range(4):
            world.write("0.md", f"plums {number}\n\nand cherries")
        world.put(removed=["1.md"], files=[file_row("2.md")])

        assert _everything(old) == before
        assert world.search("apples") == []
        assert world.search("cherries") == ["0.md"]

    def test_readers_never_see_half_a_publication(self) -> None:
        world = self.world()
        _pair(world, 0)
        torn: list[object] = []
        ended: list[int] = []

        def look() -> None:
            reader = self.make_reader()
            last = 0
            while last < 8:
                snapshot = reader.snapshot()
                last = snapshot.control.sequence
                texts = {doc["title"] for doc in snapshot.docs(None)}
                hits = snapshot.lexical(query("number"), None, 10)
                shown = {c["text"] for c in snapshot.chunks([h.chunk_key for h in hits]).values()}
                if len(texts) != 1 or shown != {f"number {last}"}:
                    torn.append((last, texts, shown))
            ended.append(last)

        thread = Thread(target=look)
        thread.start()
        for number in range(1, 8):
            _pair(world, number)
        thread.join(timeout=120)

        assert not torn
        assert ended == [8], "the reader failed, or never saw the last publication"


def _pair(world: World, number: int) -> None:
    text = f"number {number + 1}"
    docs = [world.corpus.document(path, text, title=text) for path in ("a.md", "b.md")]
    world.put(*docs)


def _everything(snapshot: IndexSnapshot) -> object:
    """Return all that a snapshot says, in a form that compares."""
    docs = list(snapshot.docs(None))
    keys = [doc["doc_key"] for doc in docs]
    assert snapshot.docs_of([*keys, max(keys, default=0) + 1]) == dict(zip(keys, docs, strict=True))
    words = snapshot.lexical(query("text apples pears nuts"), None, 100)
    vectors = snapshot.vector(EMBEDDER.embed_query("text apples"), MODEL, None, 100)
    chunks = [snapshot.doc_chunks(doc["doc_id"]) for doc in docs]
    keys = [chunk["chunk_key"] for row in chunks for chunk in row]
    return (
        [(doc["doc_id"], doc["path"], doc["chunk_count"]) for doc in docs],
        [snapshot.doc_text(doc["doc_id"]) for doc in docs],
        [(row["path"], str(row["state"])) for row in snapshot.files(None)],
        [(chunk["chunk_id"], chunk["text"]) for row in chunks for chunk in row],
        [snapshot.vectors_of([key], MODEL).get(key) for key in keys],
        [(found.chunk_key, round(found.score, 4)) for found in (*words, *vectors)],
        snapshot.count(None),
    )
