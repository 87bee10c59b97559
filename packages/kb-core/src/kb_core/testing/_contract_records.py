"""Promises about what is stored: chunks, documents, texts, files, old ids, and vectors.

Vectors are exact, of living chunks only, one set per model.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import timedelta

from kb_core.clock import to_epoch
from kb_core.filters import Glob, OneOf
from kb_core.ports import StoredChunk, StoredDoc, StoredFile
from kb_core.quantization import dequantize, quantize
from kb_core.records import FileState, VectorRecord
from kb_core.search import Clause, LexicalQuery
from kb_core.testing._contract import EMBEDDER, MODEL, Contract, World
from kb_core.testing._memory import dot, floats, normalized, pack_floats
from kb_core.testing.documents import NOW, Corpus, file_row
from kb_core.testing.fakes import HashEmbedder
from kb_core.values import replace

__all__ = ["RecordsContract", "VectorContract"]

_OF_CHUNK = (
    *("chunk_id", "chunk_key", "ordinal", "start", "end", "text", "line_start", "line_end"),
    *("token_count", "symbol", "part", "span"),
)
_OF_DOC = (
    *("doc_id", "source_id", "path", "title", "media", "lang", "code_lang", "repo"),
    *("source_type", "trust_level", "size", "mtime_ns", "chunker_version"),
)


class RecordsContract(Contract):
    """``chunks``, ``find_*``, ``doc_*``, ``docs``, ``files``."""

    def test_a_chunk_comes_back_with_what_its_document_lends_it(self) -> None:
        world = self.world()
        doc = world.corpus.document("a/b.md", "# Heading\n\nText, ünïcode 한국어.", tags=("x", "y"))
        span = {"kind": "page", "page": 3, "bbox": [0.5, 1.0, 2.0, 3.0]}
        odd = replace(doc.chunks[1], symbol="A.b", part=2, span=span, flags=("odd",))
        doc = replace(doc, chunks=(doc.chunks[0], odd), repo="kebab", source_type="paper")
        world.put(doc)

        (shown,) = world.snapshot().chunks([odd.chunk_key]).values()

        assert {key: value for key, value in shown.items() if key in _OF_CHUNK} == {
            k: getattr(odd, k) for k in _OF_CHUNK
        }
        assert {key: value for key, value in shown.items() if key in _OF_DOC} == {
            k: getattr(doc, k) for k in _OF_DOC
        }
        assert tuple(shown["heading_path"]) == ("Heading",)
        assert (tuple(shown["tags"]), tuple(shown["flags"])) == (("x", "y"), ("odd",))
        assert shown["indexed_at"] == shown["doc_date"] == to_epoch(NOW)

    def test_a_row_has_the_keys_of_its_type_and_no_other(self) -> None:
        world = self.world()
        world.put(world.corpus.document("a.md", "Text.", asset="a1"), files=[file_row("a.md")])
        snapshot = world.snapshot()

        (doc,), (file,) = snapshot.docs(None), snapshot.files(None)
        (chunk,) = snapshot.doc_chunks(doc["doc_id"])

        assert chunk.keys() == StoredChunk.__annotations__.keys()
        assert doc.keys() == StoredDoc.__annotations__.keys()
        assert file.keys() == StoredFile.__annotations__.keys()
        assert chunk["asset"] == doc["asset"] == "a1"

    def test_unknown_keys_are_absent_not_an_error(self) -> None:
        world = self.filled("text")
        (key,) = (c["chunk_key"] for c in world.snapshot().find_chunks("", 10))

        assert list(world.snapshot().chunks([key, 10**12, -1])) == [key]
        assert dict(world.snapshot().chunks([])) == {}

    def test_a_document_comes_back_without_text_and_with_a_count(self) -> None:
        world = self.world()
        doc = world.write(
            "a.md",
            "One.\n\nTwo.",
            aliases=("an alias",),
            created_at=NOW,
            metadata={"title": "T", "user": {"k": [1, "é"]}},
            blocks=({"kind": "paragraph", "start": 0, "end": 4},),
            warnings=("odd date",),
        )

        (shown,) = world.snapshot().docs(None)

        assert {"text", "chunks"}.isdisjoint(shown)
        assert {key: value for key, value in shown.items() if key in _OF_DOC} == {
            k: getattr(doc, k) for k in _OF_DOC
        }
        assert (shown["chunk_count"], shown["byte_len"]) == (2, doc.byte_len)
        assert (shown["created_at"], shown["updated_at"]) == (to_epoch(NOW), None)
        assert shown["metadata"] == {"title": "T", "user": {"k": [1, "é"]}}
        assert [dict(block) for block in shown["blocks"]] == list(doc.blocks)
        assert (tuple(shown["aliases"]), tuple(shown["warnings"])) == (doc.aliases, doc.warnings)

    def test_documents_are_found_by_what_they_and_what_links_call_them(self) -> None:
        world = self.world()
        wiki = {"kind": "wiki", "target": "Kiln Log#Firing", "text": "log", "start": 0}
        path = {"kind": "markdown", "target": "../logs/Kiln%20Log.md", "text": "", "start": 0}
        known = {"aliases": ("The  Kiln", "e\u0301tude"), "metadata": {"user": {"ID": 20_240_312}}}
        world.write("logs/Kiln Log.md", "Text.", **known)
        world.write("guide/README.md", "Text.", links=(path,))
        world.write("b.md", "Text.", links=(wiki, {**wiki, "target": "x" * 200}))

        def paths(docs: Sequence[StoredDoc]) -> list[str]:
            return [doc["path"] for doc in docs]

        seen = world.snapshot()
        for name in ("kiln log", "kiln log.md", "the kiln", "\xe9tude", "20240312"):
            assert paths(seen.docs_called([name])) == ["logs/Kiln Log.md"]
        assert paths(seen.docs_called(["nothing", "guide", "b"])) == ["b.md", "guide/README.md"]
        assert paths(seen.docs_linking(["kiln log"])) == ["b.md", "guide/README.md"]
        assert paths(seen.docs_linking(["x" * 200])) == ["b.md"]
        assert [*seen.docs_linking([]), *seen.docs_called([]), *seen.docs_called(["log"])] == []

        world.write("b.md", "Text.", links=())
        world.write("c.md", "Text.", links=(wiki,))
        assert paths(world.snapshot().docs_linking(["kiln log"])) == ["c.md", "guide/README.md"]

    def test_the_text_of_a_document_comes_back_verbatim(self) -> None:
        world = self.world()
        text = "a\r b\n\n\t한국어 e\u0301 \u2028 \x0c 😀\n\n" + "long " * 20_000
        doc = world.write("a.md", text)

        assert world.snapshot().doc_text(doc.doc_id) == text
        assert world.snapshot().doc_text("0" * 32) is None

    def test_texts_come_as_they_are_now_and_none_is_left_out_that_may_hold_a_need(self) -> None:
        world = self.world()
        old = world.write("a.md", "the walrus_sleeps here\n")
        world.write("b.md", "prefetched: 한국어와 Straße\n", lang="de")
        world.write("c.md", "x" * 400 + " nothing\n")
        new = world.write("a.md", "the otter_swims there\n")

        for need, path in (
            (("otter_sw",), "a.md"),
            (("OTTER",), "a.md"),
            (("refet", "zzz"), "b.md"),
            (("국어",), "b.md"),
            (("Stra",), "b.md"),
            (("x" * 300,), "c.md"),
            (("-", "zzz"), "c.md"),
        ):
            found = world.texts(None, [need])
            docs = world.snapshot().docs(OneOf("doc_key", tuple(text.doc_key for text in found)))
            assert path in {doc["path"] for doc in docs}, need
        assert old.doc_id == new.doc_id
        everything = {text.data.decode() for text in world.texts(None, [])}
        assert len(everything) == 3
        assert "the otter_swims there\n" in everything
        (one,) = world.texts(OneOf("path", ("b.md",)), [("fetched",), ("한국",)])
        assert (one.data.decode(), one.form != "ascii") == ("prefetched: 한국어와 Straße\n", True)
        assert world.texts(OneOf("path", ("no.md",)), []) == []
        # From the second time on they may be in memory, side by side.
        assert {text.data.decode() for text in world.texts(None, [])} == everything

    def test_a_document_without_chunks_is_a_document(self) -> None:
        world = self.world()
        doc = world.write("blank.md", " \n")

        (shown,) = world.snapshot().docs(None)

        assert (shown["doc_id"], shown["chunk_count"]) == (doc.doc_id, 0)
        assert world.snapshot().doc_text(doc.doc_id) == " \n"
        assert world.snapshot().count(None) == 0

    def test_replacing_a_document_forgets_what_it_no_longer_has(self) -> None:
        world = self.world()
        old = world.write("a.md", "stays\n\ngoes")
        new = world.write("a.md", "stays\n\ncomes")
        snapshot = world.snapshot()

        assert [c["text"] for c in snapshot.doc_chunks(new.doc_id)] == ["stays", "comes"]
        assert new.chunks[0].chunk_key == old.chunks[0].chunk_key
        assert not snapshot.chunks([old.chunks[1].chunk_key])
        assert not snapshot.find_chunks(old.chunks[1].chunk_id, 5)
        assert world.search("goes") == []
        assert world.search("comes") == world.search("stays") == ["a.md"]
        assert len(snapshot.docs(None)) == 1

    def test_a_removed_document_leaves_nothing_behind(self) -> None:
        world = self.filled("one here", "two here")
        doc = next(d for d in world.corpus.docs.values() if d.path == "0.md")

        world.put(removed=["0.md"])

        snapshot = world.snapshot()
        assert world.search("here") == ["1.md"]
        assert world.nearest("one here") == ["1.md"]
        assert snapshot.doc_text(doc.doc_id) is None
        assert not snapshot.doc_chunks(doc.doc_id)
        assert not snapshot.find_docs(doc.doc_id, 5)
        assert [d["path"] for d in snapshot.docs(None)] == ["1.md"]

    def test_one_step_replaces_removes_and_adds(self) -> None:
        world = self.filled("old zero", "old one", "old two")

        fresh = [world.corpus.document(f"{n}.md", f"new {n}") for n in (1, 3)]
        world.put(*fresh, removed=["0.md"])

        assert sorted(world.search("old")) == ["2.md"]
        assert sorted(world.search("new")) == ["1.md", "3.md"]

    def test_chunks_are_found_by_the_beginning_of_their_id(self) -> None:
        world = self.filled("one", "two", "three")
        chunk = world.corpus.docs[world.corpus.document("1.md", "").doc_id].chunks[0]
        snapshot = world.snapshot()

        assert [c["text"] for c in snapshot.find_chunks(chunk.chunk_id, 5)] == ["two"]
        assert [c["text"] for c in snapshot.find_chunks(chunk.chunk_id[:12], 5)] == ["two"]
        assert not snapshot.find_chunks("f" * 32, 5)
        assert len(snapshot.find_chunks("", 2)) == 2

    def test_a_document_lists_its_chunks_by_ordinal(self) -> None:
        world = self.world()
        doc = world.write("a.md", "\n\n".join(f"part {n}" for n in range(12)))

        chunks = world.snapshot().doc_chunks(doc.doc_id)

        assert [chunk["ordinal"] for chunk in chunks] == list(range(12))
        assert [chunk["text"] for chunk in chunks] == [f"part {n}" for n in range(12)]
        assert not world.snapshot().doc_chunks("0" * 32)

    def test_a_passage_names_its_document_and_how_many_passages_that_has(self) -> None:
        world = self.world()
        for path, text in {"a.md": "one\n\ntwo", "b.md": "three", "c.md": "four\n\nfive"}.items():
            world.write(path, text)
        world.write("a.md", "one\n\ntwo\n\nsix")
        world.put(removed=["c.md"])
        expected = {
            chunk.chunk_key: (doc.doc_key, len(doc.chunks), to_epoch(doc.doc_date or NOW))
            for doc in world.corpus.docs.values()
            for chunk in doc.chunks
        }

        snapshot = world.snapshot()

        assert sorted(n for _, n, _ in expected.values()) == [1, 3, 3, 3]
        assert snapshot.parents(range(100)) == expected
        words = LexicalQuery((Clause("three"),))
        key = next(row.chunk_key for row in snapshot.lexical(words, None, 1))
        assert snapshot.parents([10**9, key]) == {key: expected[key]}
        assert snapshot.parents([]) == {}

    def test_a_moved_document_keeps_its_keys_and_answers_to_its_old_id(self) -> None:
        world = self.world()
        old = world.write("old.md", "wandering text")
        new = world.corpus.moved(old, "sub/new.md")

        world.put(new, aliases={old.doc_id: new.doc_id})

        snapshot = world.snapshot()
        assert world.search("wandering") == world.nearest("wandering") == ["sub/new.md"]
        assert (
            snapshot.vectors_of([old.chunks[0].chunk_key], MODEL).get(old.chunks[0].chunk_key)
            is not None
        )
        for known in (old.doc_id, old.doc_id[:10], new.doc_id):
            assert [d["path"] for d in snapshot.find_docs(known, 5)] == ["sub/new.md"]
        assert not snapshot.find_chunks(old.chunks[0].chunk_id, 5)

    def test_an_old_id_leads_through_several_moves(self) -> None:
        world = self.world()
        first = world.write("1.md", "wandering text")
        second = world.corpus.moved(first, "2.md")
        world.put(second, aliases={first.doc_id: second.doc_id})
        third = world.corpus.moved(second, "3.md")
        world.put(third, aliases={second.doc_id: third.doc_id})

        found = world.snapshot().find_docs(first.doc_id, 5)

        assert [doc["path"] for doc in found] == ["3.md"]

    def test_a_document_hides_the_alias_that_its_id_once_was(self) -> None:
        world = self.world()
        old = world.write("a.md", "first")
        new = world.corpus.moved(old, "b.md")
        world.put(new, aliases={old.doc_id: new.doc_id})
        world.write("a.md", "second")

        assert [d["path"] for d in world.snapshot().find_docs(old.doc_id, 5)] == ["a.md"]

    def test_documents_come_by_source_and_path(self) -> None:
        world = self.world()
        places = [("b", "a.md"), ("a", "z.md"), ("a", "b/c.md"), ("a", "b.md"), ("a", "é.md")]
        world.put(*(world.corpus.document(path, "x", source_id=s) for s, path in places))

        shown = [(doc["source_id"], doc["path"]) for doc in world.snapshot().docs(None)]

        assert shown == sorted(places)

    def test_files_are_replaced_forgotten_and_come_by_source_and_path(self) -> None:
        world = self.world()
        rows = [file_row("b.md"), file_row("a.md"), file_row("z.md", source_id="a")]
        world.put(files=[*rows, file_row("gone.md")])

        failed = file_row("b.md", FileState.FAILED, reason="unreadable", size=7)
        world.put(files=[failed], forgotten=[("notes", "gone.md")])

        shown = world.snapshot().files(None)
        places = [(row["source_id"], row["path"]) for row in shown]
        assert places == [("a", "z.md"), ("notes", "a.md"), ("notes", "b.md")]
        assert (shown[2]["state"], shown[2]["reason"], shown[2]["size"]) == (
            "failed",
            "unreadable",
            7,
        )
        assert shown[2]["processed_at"] == to_epoch(NOW)

    def test_files_are_counted_by_state_and_reason_as_they_are_now(self) -> None:
        world = self.world()
        later = NOW + timedelta(hours=2)
        world.put(files=[file_row("a.md"), file_row("b.md"), file_row("gone.md")])
        empty = file_row("b.md", FileState.SKIPPED, reason="empty", changed_at=later)
        world.put(files=[empty, file_row("c.md")], forgotten=[("notes", "gone.md")])

        everything = world.snapshot().ledger(None)
        below = world.snapshot().ledger(Glob("a.md"))

        assert everything.counts == {("indexed", None): 2, ("skipped", "empty"): 1}
        assert everything.changed == to_epoch(later)
        assert below == ({("indexed", None): 1}, to_epoch(NOW))
        assert world.snapshot().ledger(Glob("none/**")) == ({}, None)

    def test_a_page_of_documents_is_that_of_all_of_them(self) -> None:
        world = self.world()
        world.put(*(world.corpus.document(f"{n % 7}/{n}.md", "text") for n in range(30)))
        world.put(world.corpus.document("3/3.md", "newer"))

        found = world.snapshot().docs(None)

        paths = [doc["path"] for doc in found]
        assert len(found) == 30
        assert paths == sorted(paths)
        assert [doc["path"] for doc in found[10:14]] == paths[10:14]
        assert found[-1] == list(found)[-1]


_TOLERANCE = 2e-3
"""What a score may be off by: passages are quantised, and engines may round again."""


class VectorContract(Contract):
    """``vector`` and ``vectors_of``."""

    def test_the_nearest_chunks_come_first(self) -> None:
        world = self.filled("red apples", "green pears", "red pears and apples")

        assert world.nearest("red apples") == ["0.md", "2.md", "1.md"]

    def test_a_chunk_is_at_cosine_one_from_itself(self) -> None:
        world = self.filled("some words to embed", "others")
        snapshot = world.snapshot()
        key = snapshot.find_chunks("", 1)[0]["chunk_key"]
        own = snapshot.vectors_of([key], MODEL).get(key)
        assert own is not None

        best = snapshot.vector(own, MODEL, None, 1)[0]

        assert best.chunk_key == key
        assert abs(best.score - 1) < _TOLERANCE

    def test_the_scan_is_exact(self) -> None:
        world = self._random(300)
        snapshot = world.snapshot()
        chance = random.Random(7)  # noqa: S311 - vectors, not secrets

        for _ in range(5):
            asked = pack_floats(normalized([chance.gauss(0, 1) for _ in range(32)]))
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

        found = world.snapshot().vector(EMBEDDER.embed_query("twin text"), MODEL, None, 10)

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

    def test_what_is_to_be_added_to_cosines_is_added(self) -> None:
        world = self._random(40)
        asked = EMBEDDER.embed_query("anything")
        snapshot = world.snapshot()

        plain = snapshot.vector(asked, MODEL, None, 20)
        lifted = snapshot.vector(asked, MODEL, None, 20, above=0.25)

        assert [scored.chunk_key for scored in lifted] == [scored.chunk_key for scored in plain]
        for before, after in zip(plain, lifted, strict=True):
            assert abs(after.score - before.score - 0.25) < _TOLERANCE

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

        back = world.snapshot().vectors_of([chunk.chunk_key], MODEL).get(chunk.chunk_key)

        assert back is not None
        pairs = zip(floats(back), dequantize(sent), strict=True)
        assert all(abs(a - b) < _TOLERANCE for a, b in pairs)
        assert world.snapshot().vectors_of([10**9], MODEL).get(10**9) is None

    def test_chunks_without_a_vector_are_found_by_words_only(self) -> None:
        world = World(self, Corpus())
        world.write("a.md", "not embedded yet")
        snapshot = world.snapshot()
        key = snapshot.find_chunks("", 1)[0]["chunk_key"]

        assert list(snapshot.vector(EMBEDDER.embed_query("embedded"), MODEL, None, 10)) == []
        assert snapshot.vectors_of([key], MODEL).get(key) is None
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
        assert snapshot.vectors_of([*keys, 10**9], MODEL).keys() == embedded
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
                quantize(normalized([chance.gauss(0, 1) for _ in range(32)])),
            )
            for doc in step.documents
        )
        models = {MODEL: {"name": "hash", "dimensions": 32}}
        world.publish(replace(step, vector_revision=1, vectors={MODEL: vectors}, models=models))
        return world

    def _by_hand(self, world: World, asked: bytes) -> list[tuple[float, int]]:
        snapshot = world.snapshot()
        wanted = floats(asked)
        scored = []
        for chunk in snapshot.find_chunks("", 10_000):
            vector = snapshot.vectors_of([chunk["chunk_key"]], MODEL).get(chunk["chunk_key"])
            assert vector is not None
            scored.append((dot(wanted, floats(vector)), chunk["chunk_key"]))
        return sorted(scored, key=lambda pair: (-pair[0], pair[1]))
