"""Damage to any file of the index: noticed, named, answered around, and healed by a writer."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

import pytest
import tantivy
from hypothesis import given, strategies as st

from kb_core.errors import IndexCorrupt, IoError, KbError
from kb_core.records import ChunkRecord, Control, Publication
from kb_core.search import Clause, LexicalQuery
from kb_core.stored import StoredChunk, StoredDoc, StoredFile
from kb_core.testing.documents import Corpus, document
from kb_core.testing.fakes import HashEmbedder
from kb_core.testing.packed import put_instead
from kb_search.opening import ROWS, control_of, payload_of, translate_errors
from kb_search.reader import Reader
from kb_search.schema import Terms, chunk_document, chunk_payload, doc_shared
from kb_search.statistics import Counted
from kb_search.sums import NAME, begin, leave, living, look, read_sums, verify
from kb_search.writer import Writer

WORDS = LexicalQuery((Clause("walrus"),))
BITS = 12
"""How many flipped bits of each file are tried."""

World: TypeAlias = tuple[Path, list[Publication]]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> World:
    """An index of two publications, with vectors and something deleted, and what made it."""
    corpus = Corpus(HashEmbedder())
    texts = [f"The walrus number {n} sleeps.\n\nIt dreams of {n} fish." for n in range(12)]
    documents = [corpus.document(f"{n}.md", text) for n, text in enumerate(texts)]
    publications = [corpus.publication(*documents)]
    publications.append(corpus.publication(corpus.document("3.md", "A walrus wakes.")))
    folder = tmp_path_factory.mktemp("good")
    with closing(Writer(folder)) as writer:
        for publication in publications:
            writer.publish(publication)
    return folder, publications


@pytest.fixture
def copied(good: World, tmp_path: Path) -> Iterator[Path]:
    """A copy of the index whose files have the times of the original."""
    shutil.copytree(good[0], tmp_path / "copy")
    yield tmp_path / "copy"
    shutil.rmtree(tmp_path / "copy")


def flip(data: bytes) -> bytes:
    at = len(data) // 2
    return data[:at] + bytes([data[at] ^ 16]) + data[at + 1 :]


def zero(data: bytes) -> bytes:
    return bytes(min(512, len(data))) + data[512:]


def cut(data: bytes) -> bytes:
    return data[: len(data) * 2 // 3]


def always(data: bytes, _: bytes) -> bytes:
    return data


def rot(file: Path, harm: Callable[[bytes], bytes]) -> None:
    """Damage a file as a disk does: its time and its size tell nothing."""
    status = file.stat()
    put_instead(file, harm(file.read_bytes()))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def one_of_each_kind(data_dir: Path) -> list[str]:
    kinds = {}
    for path in living(data_dir):
        folder, _, name = path.rpartition("/")
        if (data_dir / path).stat().st_size:
            kinds[folder, name.rpartition(".")[2]] = path
    return sorted(kinds.values())


def ask(data_dir: Path) -> str:
    """Ask everything of a reader; return what it says, or an error's code. Nothing else escapes."""
    try:
        with closing(Reader(data_dir)) as reader:
            snapshot = reader.snapshot()
            said = [f"damaged {what}" for what in sorted(snapshot.damage)]
            found = snapshot.lexical(WORDS, None, 100)
            read = snapshot.chunks([one.chunk_key for one in found])
            said += [f"{len(found)} by words, {len(read)} read"]
            said += [f"{len(snapshot.docs(None))} documents, {snapshot.count(None)} chunks"]
            return ", ".join(said)
    except KbError as error:
        return error.code if error.hint else f"{error.code} without a hint"


def test_every_file_of_an_index_is_known_and_a_whole_one_passes(good: World) -> None:
    folder, _ = good
    sums = read_sums(folder)
    assert sums is not None
    there = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and path.name != NAME and path.suffix != ".lock"
    }

    assert set(sums) == set(living(folder)) == there
    assert verify(folder) == look(folder, sums) == {}
    assert ask(folder) == "12 by words, 12 read, 12 documents, 23 chunks"


@pytest.mark.parametrize("harm", [flip, zero, cut, None])
def test_a_reader_notices_damage_and_never_says_that_there_is_nothing(
    copied: Path, harm: Callable[[bytes], bytes] | None
) -> None:
    for path in one_of_each_kind(copied):
        file = copied / path
        data, status = file.read_bytes(), file.stat()
        if harm is None:
            file.unlink()
        else:
            put_instead(file, harm(data))

        said = ask(copied)
        assert "damaged" in said or said == "index_corrupt", (path, said)
        assert path in verify(copied)

        put_instead(file, data)
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert verify(copied) == {}


def test_whatever_rots_unseen_costs_an_error_at_most_and_no_panic_escapes(copied: Path) -> None:
    draw = random.Random(7)
    for path in one_of_each_kind(copied):
        file = copied / path
        data = file.read_bytes()
        for _ in range(3):
            at = draw.randrange(len(data))
            block = bytes(len(data[at : at + 64]))
            rot(file, partial(always, data[:at] + block + data[at + 64 :]))
            ask(copied)
            rot(file, partial(always, data))


def test_reading_everything_finds_every_flipped_bit(copied: Path) -> None:
    draw = random.Random(11)
    for path in one_of_each_kind(copied):
        file = copied / path
        data = bytearray(file.read_bytes())
        for bit in draw.sample(range(8 * len(data)), min(BITS, 8 * len(data))):
            data[bit // 8] ^= 1 << bit % 8
            rot(file, partial(always, bytes(data)))
            assert verify(copied) == {path: "is not what was written"}
            data[bit // 8] ^= 1 << bit % 8
        rot(file, partial(always, bytes(data)))


def test_the_next_writer_drops_what_is_damaged_and_says_what_it_was(
    good: World, copied: Path, tmp_path: Path
) -> None:
    harms = [flip, zero, cut]
    for n, path in enumerate(one_of_each_kind(copied)):
        broken = tmp_path / str(n)
        shutil.copytree(copied, broken)
        rot(broken / path, harms[n % 3])
        with closing(Writer(broken)) as writer:
            assert writer.control is None
            assert any(path in said for said in writer.damage)
            writer.rebuild(good[1][:1])

        assert ask(broken) == "12 by words, 12 read, 12 documents, 24 chunks"
        assert verify(broken) == {}
        shutil.rmtree(broken)


def test_meaning_goes_without_words_and_words_go_without_meaning(copied: Path) -> None:
    embedder = HashEmbedder()
    key, question = embedder.model.key, embedder.embed_query("walrus")
    positions = next(p for p in living(copied) if p.startswith("lexical/chunks") and "pos" in p)
    data = (copied / positions).read_bytes()
    put_instead(copied / positions, data[:40] + flip(data[40:]))
    snapshot = Reader(copied).snapshot()
    if snapshot.damage:  # where the engine opens it at all
        assert len(snapshot.vector(question, key, None, 5)) == 5
        with pytest.raises(IndexCorrupt, match="is not what was written"):
            snapshot.lexical(WORDS, None, 5)
    put_instead(copied / positions, data)
    scales = next(p for p in living(copied) if p.endswith(".scale"))
    (copied / scales).unlink()
    snapshot = Reader(copied).snapshot()

    assert snapshot.damage == {key: f"{scales} is missing"}
    assert len(snapshot.lexical(WORDS, None, 5)) == 5
    assert key not in snapshot.control.vectors


def test_vectors_that_were_all_taken_away_are_none_and_no_damage(copied: Path) -> None:
    shutil.rmtree(copied / "vectors")

    snapshot = Reader(copied).snapshot()

    assert (snapshot.damage, snapshot.control.vectors) == ({}, {})
    assert len(snapshot.lexical(WORDS, None, 5)) == 5


def test_an_older_copy_of_a_file_that_changes_is_damage(good: World, tmp_path: Path) -> None:
    corpus = Corpus(HashEmbedder())
    documents = [corpus.document(f"{n}.md", f"A walrus, {n}.") for n in range(3)]
    first, second = corpus.publication(*documents), corpus.publication(removed=["1.md"])
    with closing(Writer(tmp_path)) as writer:
        writer.publish(first)
    older = {path: (tmp_path / path).read_bytes() for path in living(tmp_path)}
    with closing(Writer(tmp_path)) as writer:
        writer.publish(second)
    newer = {path: (tmp_path / path).read_bytes() for path in living(tmp_path)}
    changed = [path for path in older if path in newer and older[path] != newer[path]]
    assert {path.rpartition("/")[2] for path in changed} >= {"meta.json", ".managed.json"}
    for path in changed:
        put_instead(tmp_path / path, older[path])

        assert "damaged" in ask(tmp_path) or ask(tmp_path) == "index_corrupt"
        assert path in verify(tmp_path)
        put_instead(tmp_path / path, newer[path])


def test_a_copy_of_the_folder_whose_times_differ_is_no_damage(copied: Path) -> None:
    for path in living(copied):
        os.utime(copied / path)

    assert "damaged" not in ask(copied)
    assert verify(copied) == {}
    with closing(Writer(copied)) as writer:
        assert writer.control is not None
        assert not writer.damage


def test_after_a_kill_what_never_changes_is_still_verified(copied: Path) -> None:
    begin(copied)  # and then it was killed
    assert read_sums(copied) is None
    assert verify(copied) == {}
    assert "damaged" not in ask(copied)
    for path in one_of_each_kind(copied):
        if path.endswith((".json", ".dead")):
            continue
        data = (copied / path).read_bytes()
        rot(copied / path, flip)
        assert list(verify(copied)) == [path]
        rot(copied / path, partial(always, data))
    (copied / "lexical/chunks/sums.begun.json").unlink()
    path = next(path for path in living(copied) if path.endswith(".term"))
    rot(copied / path, flip)

    assert list(verify(copied)) == [path]  # by the engine's own footer


def test_sums_go_on_from_those_of_before(copied: Path) -> None:
    begun = read_sums(copied)
    begin(copied)
    file = next(copied / path for path in living(copied) if path.endswith(".keys"))
    put_instead(file, file.read_bytes() + bytes(8))
    leave(copied)
    grown, verified = read_sums(copied), verify(copied)

    assert begun is not None
    assert grown is not None
    assert {path for path in grown if grown[path] != begun[path]} == {f"vectors/{file.name}"}
    assert verified == {}


def test_sums_that_are_damaged_themselves_count_as_none(copied: Path) -> None:
    file = copied / "lexical/chunks" / NAME
    text = file.read_bytes()
    for harmed in (flip(text), cut(text), b"", b"1\n", json.dumps({}).encode()):
        put_instead(file, harmed)
        assert read_sums(copied) is None
        assert "damaged" not in ask(copied)


SAID = st.none() | st.text(max_size=5)


@given(
    st.builds(
        ChunkRecord,
        chunk_id=st.just("a" * 32),
        ordinal=st.integers(0, 9),
        start=st.integers(0, 9),
        end=st.integers(0, 12),
        text=st.text("aé\n\U0001f9ad\ud800", max_size=4),
        line_start=st.integers(1, 3),
        line_end=st.integers(1, 5),
        token_count=st.just(1),
        symbol=SAID,
        part=st.none() | st.integers(1, 2),
        span=st.none() | st.just({"kind": "page", "page": 1}),
        flags=st.just(()) | st.just(("instructions",)),
    ),
    SAID,
    SAID,
)
def test_what_is_not_stored_of_a_passage_is_told_all_the_same(
    chunk: ChunkRecord, lang: str | None, repo: str | None
) -> None:
    doc = document("a.md", "text", lang=lang, repo=repo)
    shared = doc_shared(doc, keep_absent=False)

    made = chunk_document(chunk, {}, shared, Terms({"stem": ""}, {}, ""))

    whole = chunk_payload(chunk, doc_shared(doc)).decode("utf-8", "surrogatepass")
    assert payload_of(made, "chunk") == json.loads(whole)


def test_postings_that_lead_to_another_record_are_damage() -> None:
    """A flipped bit finds a record without content, or a passage as the control record."""
    with pytest.raises(IndexCorrupt, match="not the one that was looked for"):
        payload_of(tantivy.Document(), "chunk")
    for stored in ("a text", 7, b"[]"):
        made = tantivy.Document(payload=[stored])
        with pytest.raises(IndexCorrupt, match=r"no record|lacks a field"):
            payload_of(made, "chunk")
    for kind, row in ROWS.items():
        made = tantivy.Document()
        made.add_bytes("payload", json.dumps(dict.fromkeys(sorted(row)[:-1])).encode())
        with pytest.raises(IndexCorrupt, match="lacks a field") if row else nullcontext():
            payload_of(made, kind)
    for payload in ({"text": "The walrus sleeps.", "ordinal": 1}, {"vectors": {"a": {"b": 1}}}):
        with pytest.raises(IndexCorrupt, match="control record is another one"):
            control_of(payload)


def test_a_record_has_the_fields_that_readers_are_promised() -> None:
    assert ROWS["chunk"] == StoredChunk.__required_keys__
    assert ROWS["doc"] == StoredDoc.__required_keys__
    assert ROWS["file"] == StoredFile.__required_keys__


def test_a_panic_of_the_engine_is_an_index_that_is_damaged() -> None:
    class PanicException(BaseException):
        """As the engine raises it."""

    with (
        pytest.raises(IndexCorrupt, match="index out of bounds") as caught,
        translate_errors("ask"),
    ):
        raise PanicException("index out of bounds")
    assert "kebab ingest" in str(caught.value.hint)
    with pytest.raises(KeyboardInterrupt), translate_errors("ask"):
        raise KeyboardInterrupt


def test_a_disk_that_refuses_a_thread_of_the_engine_is_no_damage() -> None:
    """Else an index that is whole would be dropped because the disk is full."""
    said = "An error occurred in a thread: 'An index writer was killed.. A worker thread ...'"

    with pytest.raises(IoError, match="the disk refused") as told, translate_errors("publish"):
        raise ValueError(said)
    assert "kebab ingest" in str(told.value.hint)


def test_readers_see_all_documents_while_an_index_is_replaced(
    copied: Path, good: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records are committed first: at that moment a kill leaves them to readers of the old."""
    before = {doc["path"] for doc in Reader(copied).snapshot().docs(None)}
    newer = [replace(good[1][0], sequence=good[1][1].sequence + 7)]
    seen: list[str] = []

    with closing(Writer(copied)) as writer:
        commit = writer._commit_chunks

        def look_first(control: Control, counted: Counted) -> None:
            seen.extend(doc["path"] for doc in Reader(copied).snapshot().docs(None))
            commit(control, counted)

        monkeypatch.setattr(writer, "_commit_chunks", look_first)
        writer.rebuild(newer)

    assert sorted(seen) == sorted(before)
    assert {doc["path"] for doc in Reader(copied).snapshot().docs(None)} == before
