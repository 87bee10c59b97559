"""The fakes keep the promises of the ports, and are what tests take them for."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, strategies as st

from kb_core.ports import IndexReader, IndexWriter, Store
from kb_core.quantization import dequantize
from kb_core.testing._memory import dot
from kb_core.testing.contracts import IndexContract, StoreContract
from kb_core.testing.documents import Corpus, document
from kb_core.testing.fakes import HashEmbedder, MemoryIndex, WordCounter
from kb_core.testing.store import MemoryStore


class TestMemoryIndex(IndexContract):
    def setup_method(self) -> None:
        self.index = MemoryIndex()

    def make_writer(self) -> IndexWriter:
        return self.index

    def make_reader(self) -> IndexReader:
        return self.index


class TestMemoryStore(StoreContract):
    def make_store(self) -> Store:
        return MemoryStore()


@pytest.mark.parametrize("contract", [IndexContract, StoreContract])
def test_no_promise_hides_another(contract: type) -> None:
    """A contract is put together from parts; an equal name would silence one of them."""
    parts = [vars(part) for part in contract.__mro__]
    names = [name for part in parts for name in part if name.startswith("test_")]

    assert len(names) == len(set(names))


def cosine(left: bytes, right: bytes) -> float:
    return dot(dequantize(left), dequantize(right))


def test_texts_that_share_words_are_near() -> None:
    same, again, similar, other, blank = HashEmbedder().embed_passages(
        ["red apples fall", "fall apples, RED!", "red apples rise", "green bananas", " "]
    )

    assert same == again
    assert cosine(same, similar) > 0.4 > abs(cosine(same, other))
    assert abs(cosine(blank, blank) - 1) < 1e-3


@given(st.lists(st.text(max_size=8), min_size=1, max_size=4))
def test_a_vector_does_not_depend_on_its_company(texts: list[str]) -> None:
    embedder = HashEmbedder(100)

    together = embedder.embed_passages(texts)

    assert together == [vector for text in texts for vector in embedder.embed_passages([text])]
    for vector in together:
        assert len(vector) == 4 + 100
        assert abs(cosine(vector, vector) - 1) < 1e-2
    assert len(embedder.embed_query(texts[0])) == 400


def test_words_are_counted_and_long_ones_count_more() -> None:
    counter = WordCounter()

    assert counter.count_many(["", " \n", "two words", "a" * 17]) == [0, 0, 2, 3]


paragraphs = st.lists(st.text("ab \n\r\t#한", max_size=12), max_size=6).map("\n\n".join)


@given(paragraphs)
def test_chunks_of_a_made_document_are_ranges_that_cover_all_but_white_space(text: str) -> None:
    doc = document("a.md", text)
    lines = text.split("\n")

    at = 0
    for chunk in doc.chunks:
        assert chunk.text == text[chunk.start : chunk.end]
        assert not text[at : chunk.start].strip()
        assert chunk.text.strip() in "\n".join(lines[chunk.line_start - 1 : chunk.line_end])
        at = chunk.end
    assert not text[at:].strip()
    assert len({chunk.chunk_id for chunk in doc.chunks}) == len(doc.chunks)


def test_a_corpus_mints_keys_as_a_store_does() -> None:
    corpus = Corpus(HashEmbedder(8))
    first = corpus.publication(corpus.document("a.md", "one\n\ntwo"))
    second = corpus.publication(corpus.document("a.md", "one\n\nthree"))
    third = corpus.publication(removed=["a.md"])

    (before,), (after,) = first.documents, second.documents
    assert (before.doc_key, before.chunks[0].chunk_key) == (
        after.doc_key,
        after.chunks[0].chunk_key,
    )
    assert second.dead_chunks == (before.chunks[1].chunk_key,)
    assert third.removed_docs == (after.doc_key,)
    assert [step.corpus_revision for step in (first, second, third)] == [1, 2, 3]
    assert [step.vector_revision for step in (first, second, third)] == [1, 2, 2]
    ((_model, vectors),) = second.vectors.items()
    assert [vector.chunk_key for vector in vectors] == [after.chunks[1].chunk_key]


def test_nothing_in_testing_needs_pytest() -> None:
    """Contracts are imported by distributions whose environment may lack it."""
    script = (
        "import sys, kb_core.testing.contracts, kb_core.testing.fakes\n"
        "print({'pytest', 'hypothesis', 'jsonschema'} & sys.modules.keys())"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert run.stdout.strip() == "set()"


def test_the_wire_imports_no_more_than_it_emits() -> None:
    """A cold search on the command line waits for this import."""
    script = "import sys, kb_core.wire\nprint(*sorted(m for m in sys.modules if 'kb_core' in m))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    unwanted = {"kb_core.ingest", "kb_core.ports", "kb_core.schemas", "kb_core.testing"}
    assert unwanted.isdisjoint(run.stdout.split())
