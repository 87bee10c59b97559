"""Promises about vectors: exact, of living chunks only, one set per model."""

from __future__ import annotations

import random
from dataclasses import replace

from kb_core.filters import Glob
from kb_core.records import VectorRecord
from kb_core.testing._contract import EMBEDDER, MODEL, Contract, World
from kb_core.testing._vectors import dot, floats, normalized, pack_floats
from kb_core.testing.documents import Corpus
from kb_core.testing.fakes import HashEmbedder

__all__ = ["VectorContract"]

_TOLERANCE = 2e-3
"""What a score may be off by: passages are float16, and engines may round again."""


class VectorContract(Contract):
    """``vector`` and ``vector_of``."""

    def test_the_nearest_chunks_come_first(self) -> None:
        world = self.filled("red apples", "green pears", "red pears and apples")

        assert world.nearest("red apples") == ["0.md", "2.md", "1.md"]

    def test_a_chunk_is_at_cosine_one_from_itself(self) -> None:
        world = self.filled("some words to embed", "others")
        snapshot = world.snapshot()
        key = snapshot.find_chunks("", 1)[0]["chunk_key"]
        own = snapshot.vector_of(key, MODEL)
        assert own is not None

        best = snapshot.vector(own, MODEL, None, 1)[0]

        assert best.chunk_key == key
        assert abs(best.score - 1) < _TOLERANCE

    def test_the_scan_is_exact(self) -> None:
        world = self._random(300)
        snapshot = world.snapshot()
        chance = random.Random(7)  # noqa: S311 - vectors, not secrets

        for _ in range(5):
            asked = pack_floats(normalized([chance.gauss(0, 1) for _ in range(32)]), "f")
            expected = self._by_hand(world, asked)[:20]
            found = snapshot.vector(asked, MODEL, None, 20)
            assert len(found) == 20
            for (score, _key), scored in zip(expected, found, strict=True):
                assert abs(score - scored.score) < _TOLERANCE
            clear = {key for score, key in expected if score > expected[-1][0] + _TOLERANCE}
            assert clear <= {scored.chunk_key for scored in found}

    def test_scores_fall_and_equal_ones_go_by_chunk_key(self) -> None:
        world = self.filled("twin text", "lone wolf")
        for path in ("z.md", "y.md"):
            world.write(path, "twin text", title="0")
        asked = EMBEDDER.embed_query("twin text")

        found = world.snapshot().vector(asked, MODEL, None, 10)

        scores = [scored.score for scored in found]
        assert scores == sorted(scores, reverse=True)
        twins = [scored.chunk_key for scored in found if scored.score == scores[0]]
        assert twins == sorted(twins)

    def test_the_limit_cuts_the_same_list_of_neighbours(self) -> None:
        world = self._random(40)
        asked = EMBEDDER.embed_query("anything")
        snapshot = world.snapshot()
        whole = list(snapshot.vector(asked, MODEL, None, 1000))

        assert len(whole) == 40
        for limit in (1, 7, 40):
            assert list(snapshot.vector(asked, MODEL, None, limit)) == whole[:limit]

    def test_dead_chunks_are_never_returned(self) -> None:
        world = self.filled(*(f"text {n}" for n in range(6)))
        for number in range(3):
            world.write("0.md", f"rewritten {number}")
        world.put(removed=["1.md", "2.md"])

        snapshot = world.snapshot()
        found = snapshot.vector(EMBEDDER.embed_query("text rewritten"), MODEL, None, 100)

        assert sorted(world.paths(found)) == ["0.md", "3.md", "4.md", "5.md"]
        assert len(snapshot.chunks([scored.chunk_key for scored in found])) == len(found)
        keys = {scored.chunk_key for scored in found}
        assert snapshot.with_vector(range(100), MODEL) == keys

    def test_the_control_record_counts_living_vectors(self) -> None:
        world = self.filled(*(f"text {n}" for n in range(4)))
        world.write("0.md", "rewritten\n\nand longer")
        world.put(removed=["1.md"])

        files = world.snapshot().control.vectors[MODEL]

        assert (files.model_key, files.dimensions) == (MODEL, 32)
        assert files.rows - files.dead == 4
        assert files.model["name"] == EMBEDDER.model.name

    def test_a_stored_vector_comes_back(self) -> None:
        world = self.filled("some words")
        chunk = next(iter(world.corpus.docs.values())).chunks[0]
        (sent,) = EMBEDDER.embed_passages([chunk.passage])

        back = world.snapshot().vector_of(chunk.chunk_key, MODEL)

        assert back is not None
        pairs = zip(floats(back, "f"), floats(sent, "e"), strict=True)
        assert all(abs(a - b) < _TOLERANCE for a, b in pairs)
        assert world.snapshot().vector_of(10**9, MODEL) is None

    def test_chunks_without_a_vector_are_found_by_words_only(self) -> None:
        world = World(self, Corpus())
        world.write("a.md", "not embedded yet")
        snapshot = world.snapshot()
        key = snapshot.find_chunks("", 1)[0]["chunk_key"]

        assert list(snapshot.vector(EMBEDDER.embed_query("embedded"), MODEL, None, 10)) == []
        assert snapshot.vector_of(key, MODEL) is None
        assert snapshot.with_vector([key], MODEL) == set()
        assert world.search("embedded") == ["a.md"]

    def test_vectors_may_follow_later_and_alone(self) -> None:
        world = World(self, Corpus())
        docs = [world.write(f"{n}.md", f"text number{n}") for n in range(3)]
        step = world.corpus.publication()
        chunks = [doc.chunks[0] for doc in docs[:2]]
        made = EMBEDDER.embed_passages([chunk.passage for chunk in chunks])
        records = tuple(VectorRecord(c.chunk_key, v) for c, v in zip(chunks, made, strict=True))

        control = world.publish(
            replace(
                step,
                vector_revision=1,
                vectors={MODEL: records},
                models={MODEL: {"name": "hash", "dimensions": 32}},
            )
        )

        assert (control.corpus_revision, control.vector_revision) == (3, 1)
        assert sorted(world.nearest("number1")) == ["0.md", "1.md"]
        assert world.nearest("number1", Glob("1.*")) == ["1.md"]
        assert sorted(world.search("text")) == ["0.md", "1.md", "2.md"]
        snapshot = world.snapshot()
        keys = [chunk["chunk_key"] for chunk in snapshot.find_chunks("", 10)]
        embedded = {chunk.chunk_key for chunk in chunks}
        assert snapshot.with_vector([*keys, 10**9], MODEL) == embedded
        assert snapshot.with_vector([], MODEL) == snapshot.with_vector(keys, "unknown") == set()

    def test_models_do_not_see_each_other(self) -> None:
        world = self.filled("first text", "second text")
        other = HashEmbedder(16, name="other")
        step = world.corpus.publication()
        chunk = next(d.chunks[0] for d in world.corpus.docs.values() if d.path == "1.md")
        (vector,) = other.embed_passages([chunk.passage])
        world.publish(
            replace(
                step,
                vector_revision=2,
                vectors={other.model.key: (VectorRecord(chunk.chunk_key, vector),)},
                models={other.model.key: {"name": "other", "dimensions": 16}},
            )
        )
        snapshot = world.snapshot()

        found = snapshot.vector(other.embed_query("text"), other.model.key, None, 10)

        assert world.paths(found) == ["1.md"]
        assert sorted(world.nearest("text")) == ["0.md", "1.md"]
        assert list(snapshot.vector(EMBEDDER.embed_query("text"), "unknown", None, 10)) == []
        assert snapshot.control.vectors.keys() == {MODEL, other.model.key}

    def _random(self, size: int) -> World:
        """Return *size* one-chunk documents with random vectors."""
        world = World(self, Corpus())
        docs = [world.corpus.document(f"{n}.txt", f"text {n}") for n in range(size)]
        chance = random.Random(3)  # noqa: S311 - vectors, not secrets
        step = world.corpus.publication(*docs)
        vectors = tuple(
            VectorRecord(
                doc.chunks[0].chunk_key,
                pack_floats(normalized([chance.gauss(0, 1) for _ in range(32)]), "e"),
            )
            for doc in step.documents
        )
        models = {MODEL: {"name": "hash", "dimensions": 32}}
        world.publish(replace(step, vector_revision=1, vectors={MODEL: vectors}, models=models))
        return world

    def _by_hand(self, world: World, asked: bytes) -> list[tuple[float, int]]:
        snapshot = world.snapshot()
        wanted = floats(asked, "f")
        scored = []
        for chunk in snapshot.find_chunks("", 10_000):
            vector = snapshot.vector_of(chunk["chunk_key"], MODEL)
            assert vector is not None
            scored.append((dot(wanted, floats(vector, "f")), chunk["chunk_key"]))
        return sorted(scored, key=lambda pair: (-pair[0], pair[1]))
