"""Texts to look through: none is left out that holds what is looked for, none is read twice."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from weakref import ref

import pytest
import tantivy
from hypothesis import example, given, settings, strategies as st

from kb_core import ids
from kb_core.filters import Filter, OneOf
from kb_core.records import ChunkRecord, DocumentRecord
from kb_core.stored import StoredText, TextBatch
from kb_core.testing.documents import Corpus, document
from kb_search import opening
from kb_search.narrowing import inside
from kb_search.reader import Reader
from kb_search.snapshot import Snapshot
from kb_search.texts import Shelf, TextId, Word, is_whole, words_of
from kb_search.writer import Writer

WORDS = (
    "fetch_span(x)",
    "Straße",
    "don't",
    "O’Neil's",
    "été",
    "e\u0301te\u0301",
    "검색은",
    "全文検索",
)
ODD = (
    "x" * 70,
    "z" * 300,
    "y'" * 40,
    "\u017ftop",
    "ﬁsh",
    "\u212aelvin",
    "a\u0301b",
    "l\u200bl",
    "ﾃｽﾄ",
    "Привет",
)
texts = st.lists(
    st.sampled_from((*WORDS, *ODD, " ", " ", ".", "\n", "-", "_", "1")), min_size=1, max_size=14
).map("".join)
cuts = st.lists(st.integers(1, 30), max_size=4)


def cut(text: str, at: Iterable[int], overlap: int = 0) -> DocumentRecord:
    """Return a document of *text* whose chunks end where it is said, words or not."""
    ends = sorted({end for end in at if end < len(text)} | {len(text)})
    ranges = list(pairwise([0, *ends]))
    chunks = []
    for ordinal, (start, end) in enumerate(ranges):
        start = max(0, start - overlap)  # noqa: PLW2901
        chunks.append(
            ChunkRecord(
                chunk_id=ids.text_hash(f"{ordinal} {at} {text}"),
                ordinal=ordinal,
                start=start,
                end=end,
                text=text[start:end],
                line_start=1,
                line_end=1,
                token_count=1,
                context="",
                passage_hash=ids.text_hash(text[start:end]),
            )
        )
    return document("a.txt", text, media="text", chunks=tuple(chunks))


def data_of(batches: Iterable[TextBatch]) -> set[bytes]:
    """Return what the texts of *batches* hold."""
    return {text.data for batch in batches for text in batch.texts()}


def published(folder: Path, docs: Iterable[DocumentRecord]) -> Reader:
    writer = Writer(folder)
    unique = []
    for at, doc in enumerate(docs):
        chunks = tuple(
            replace(chunk, chunk_id=ids.text_hash(f"{at} {chunk.chunk_id}")) for chunk in doc.chunks
        )
        unique.append(replace(doc, path=f"{at}.txt", doc_id=f"{at:032x}", chunks=chunks))
    writer.publish(Corpus().publication(*unique))
    writer.close()
    return Reader(folder)


@given(
    docs=st.lists(st.builds(cut, texts, cuts, st.sampled_from([0, 0, 3])), min_size=1, max_size=3),
    data=st.data(),
)
@settings(max_examples=40, deadline=None)
def test_no_text_is_left_out_that_holds_a_literal(
    docs: list[DocumentRecord], data: st.DataObject
) -> None:
    doc = data.draw(st.sampled_from(docs))
    # Where a chunk ends, words are in two of them.
    near = data.draw(st.sampled_from([chunk.end for chunk in doc.chunks]))
    start = max(0, near - data.draw(st.integers(1, 6)))
    literal = doc.text[start : near + data.draw(st.integers(1, 6))]
    if not literal:
        return
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("kb_search.snapshot._FEW_DOCS", data.draw(st.sampled_from([0, 1, 200])))
        reader = published(Path(folder), docs)
        found = data_of(reader.snapshot().texts(None, [(literal, "zzz")]))
        reader.close()

    holding = {doc.text.encode() for doc in docs if literal in doc.text}
    assert holding <= found


def test_a_text_without_the_words_is_left_out_until_it_is_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = [cut("an otter sleepy", []), cut("검색은 walrus_sleeps()", []), cut("x" * 300, [])]
    published(tmp_path, docs)
    reader = Reader(tmp_path)

    def looked_at(*literals: str, reader: Reader | None = None) -> set[str]:
        snapshot = (reader or Reader(tmp_path)).snapshot()
        return {data.decode()[:8] for data in data_of(snapshot.texts(None, [literals]))}

    assert looked_at("rus_SLEEPS(") == {"검색은 walr", "xxxxxxxx"}
    assert looked_at("rus_SLEEP") == {"an otter", "검색은 walr", "xxxxxxxx"}  # few enough
    monkeypatch.setattr("kb_search.snapshot._FEW_DOCS", 0)
    assert looked_at("rus_SLEEP") == {"검색은 walr", "xxxxxxxx"}
    assert looked_at("otter") == {"an otter", "xxxxxxxx"}
    assert looked_at("검색") == {"검색은 walr", "xxxxxxxx"}
    assert looked_at("otter", "검색") == {"an otter", "검색은 walr", "xxxxxxxx"}
    everything = {"an otter", "검색은 walr", "xxxxxxxx"}
    assert looked_at("!!", "nowhere", reader=reader) == everything
    assert looked_at("otter", reader=reader) == everything


@given(text=texts, at=cuts)
@example(text="a b" + "c" * 59, at=[])
@example(text="one two", at=[3])
@example(text="one two", at=[5])
def test_a_text_is_whole_if_every_word_is_in_one_chunk(text: str, at: list[int]) -> None:
    if is_whole(cut(text, at)):
        for end in (each for each in at if each < len(text)):
            assert not (text[end - 1].isalnum() and text[end].isalnum())
        assert "x" * 256 not in text


@pytest.mark.parametrize(
    ("text", "at", "whole"),
    [
        ("e\u0301te\u0301 a\u0301b \u212aelvin", [], True),
        ("e\u0301te\u0301 검색은", [], False),
        ("e\u0301te\u0301 \u1100\u1161", [], False),
        ("ete\u0301 to", [3], False),
        ("ete\u0301 to", [4], True),
    ],
)
def test_a_text_in_no_normal_form_is_whole_unless_a_mark_is_apart(
    text: str, at: list[int], *, whole: bool
) -> None:
    """A file of 64 MB with a few such letters was looked through for each pattern."""
    assert is_whole(cut(text, at)) is whole


def test_texts_for_which_there_is_no_room_leave_those_that_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = Corpus()
    with closing(Writer(tmp_path)) as writer:
        texts = ["four"] * 5 + ["sixteen letters."]
        made = (corpus.document(f"{n}.md", text) for n, text in enumerate(texts))
        writer.publish(corpus.publication(*made))
    read: list[int] = []
    plainly = Snapshot._read_text

    def counted(self: Snapshot, key: int) -> StoredText:
        read.append(key)
        return plainly(self, key)

    monkeypatch.setattr(Snapshot, "_read_text", counted)
    reader = Reader(tmp_path)
    with closing(reader):
        snapshot = reader.snapshot()
        monkeypatch.setattr(snapshot, "_shelf", Shelf(room=20, filled=4))
        for _ in range(3):
            assert data_of(snapshot.texts(None, [])) == {text.encode() for text in texts}

    assert len(read) == 6 + 1 + 1


def test_a_word_that_is_cut_is_whole_where_chunks_overlap() -> None:
    assert not is_whole(cut("one two three", [5]))
    assert is_whole(cut("one two three", [5], overlap=3))
    assert not is_whole(cut("one twooo three", [7], overlap=2))


def test_words_of_a_literal_are_parts_of_words_of_any_text_that_has_it() -> None:
    fetch, span = Word("fetch", False, True), Word("span", True, True)
    assert words_of("fetch_span(") == ([[fetch, span]], [])
    assert words_of("a def span") == ([[Word("def", True, True)], [Word("span", True, False)]], [])
    assert words_of("'span' É1 全文検") == (
        [[Word("span", False, False)], [Word("e1", True, True)]],
        ["全文", "文検"],
    )
    assert words_of(".*") == ([], [])


@pytest.fixture
def walked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what words are walked for from now on."""
    parts: list[str] = []

    def counted(schema: tantivy.Schema, part: str) -> tantivy.Query:
        parts.append(part)
        return inside(schema, part)

    monkeypatch.setattr("kb_search.snapshot.inside", counted)
    return parts


def test_words_that_a_literal_shows_the_beginning_of_are_looked_up_and_not_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, walked: list[str]
) -> None:
    """To walk all words of 22,000 files of code took 70 milliseconds for each part of a name."""
    published(tmp_path, [cut(f"def walrus_sleeps{n}(): otter", []) for n in range(9)]).close()

    def looked_at(*literals: str) -> int:
        with closing(Reader(tmp_path)) as reader:
            return len(data_of(reader.snapshot().texts(None, [literals])))

    assert [looked_at("walrus_sleeps3"), looked_at("rus_sleeps5()", "def walrus_nowhere")] == [1, 1]
    assert looked_at("alrus") == 9
    assert not walked
    monkeypatch.setattr("kb_search.snapshot._FEW_DOCS", 0)
    assert looked_at("alrus") == 9
    assert walked == ["alrus"]


@pytest.mark.parametrize(("holding", "walks"), [(2, []), (3, ["def"])])
def test_words_are_walked_where_that_takes_less_than_reading_what_is_left(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    walked: list[str],
    holding: int,
    walks: list[str],
) -> None:
    """Over 32,000 files *def* within words took 200 milliseconds and left out 4 % of 3,800."""
    monkeypatch.setattr("kb_search.snapshot._FEW_DOCS", 0)
    docs = [f"undef walrus{n}" if n < holding else f"otter{n}" for n in range(12)]
    published(tmp_path, [cut(text, []) for text in docs]).close()

    with closing(Reader(tmp_path)) as reader:
        found = data_of(reader.snapshot().texts(None, [["def walrus"]]))

    assert len(found) == holding
    assert walked == walks


def test_texts_are_read_once_and_anew_after_an_edit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = Corpus()
    writer, reader = Writer(tmp_path), Reader(tmp_path)
    writer.publish(
        corpus.publication(corpus.document("a.md", "old\n"), corpus.document("b.md", "b\n"))
    )
    reads: list[int] = []
    read = Snapshot._read_text

    def counted(self: Snapshot, key: int) -> StoredText:
        reads.append(key)
        return read(self, key)

    monkeypatch.setattr(Snapshot, "_read_text", counted)

    def looked_at(where: Filter | None = None) -> tuple[set[bytes], int]:
        reads.clear()
        return data_of(reader.snapshot().texts(where, [])), len(reads)

    assert looked_at() == ({b"old\n", b"b\n"}, 2)
    assert looked_at() == ({b"old\n", b"b\n"}, 0)
    writer.publish(corpus.publication(corpus.document("a.md", "new\n")))
    assert looked_at() == ({b"new\n", b"b\n"}, 1)
    assert looked_at(OneOf("path", ("a.md",))) == ({b"new\n"}, 0)
    writer.close()
    reader.close()


def test_a_shelf_holds_no_more_than_there_is_room_for() -> None:
    shelf = Shelf(room=10)
    for key in range(4):
        shelf.put((key, 1), StoredText(key, b"four", "ascii"))

    everything = {(key, 1) for key in range(4)}
    assert shelf.lacks(everything) == {(2, 1), (3, 1)}
    assert [batch.spans for batch in shelf.batches(everything)] == [[(0, 0, 4), (1, 5, 9)]]
    shelf.keep_only([(1, 1)])
    assert [batch.spans for batch in shelf.batches(everything)] == [[(1, 0, 4)]]
    shelf.put((3, 1), StoredText(3, b"four", "ascii"))
    assert shelf.lacks({(1, 1), (0, 1), (3, 1)}) == {(0, 1)}


@given(data=st.data())
def test_whatever_is_put_and_let_go_batches_hold_the_texts_that_are_asked_for(
    data: st.DataObject,
) -> None:
    shelf, known = Shelf(filled=40), dict[TextId, StoredText]()
    ids = st.tuples(st.integers(0, 9), st.integers(1, 2))
    for step in data.draw(st.lists(st.sampled_from(["put", "put", "put", "keep", "ask"]))):
        some = data.draw(st.sets(ids, max_size=8))
        if step == "put":
            for at in some - known.keys():
                said = data.draw(st.sampled_from(["", "\n", "one", "two\n", "é\né", "long " * 12]))
                form = "ascii" if said.isascii() else "nfc"
                known[at] = StoredText(at[0], said.encode(), form)
                shelf.put(at, known[at])
        elif step == "keep":
            shelf.keep_only(some)
            known = {at: text for at, text in known.items() if at in some}
        asked = {at: text for at, text in known.items() if at in some}
        batches = shelf.batches(some)
        assert sorted(text for batch in batches for text in batch.texts()) == sorted(asked.values())
        assert sorted(shelf.lacks(some)) == sorted(some - known.keys())


def test_a_text_takes_the_place_of_those_that_were_put_first() -> None:
    shelf = Shelf(room=10, filled=4)
    for key in range(3):
        shelf.put((key, 1), StoredText(key, b"four", "ascii"), instead=True)
        shelf.batches({(key, 1)})

    everything = {(key, 1) for key in range(3)}
    assert shelf.lacks(everything) == {(0, 1)}
    shelf.put((3, 1), StoredText(3, b"x" * 11, "ascii"), instead=True)
    assert shelf.lacks(everything | {(3, 1)}) == {(0, 1), (3, 1)}
    shelf.put((0, 1), StoredText(0, b"four", "ascii"))
    assert shelf.lacks(everything) == {(0, 1)}


def test_from_the_second_time_on_texts_are_read_in_advance_while_there_is_room() -> None:
    shelf, missing = Shelf(room=10), [(key, 1) for key in range(1000)]

    assert shelf.worth_reading(missing, 0.01) == ()
    part = shelf.worth_reading(missing, 0.01)
    assert 0 < len(part) < 1000
    assert list(part) == missing[: len(part)]
    for key in range(2):
        shelf.put((key, 1), StoredText(key, b"four", "ascii"))
    assert shelf.worth_reading(missing[2:], 0.1) == ()
    assert shelf.worth_reading(missing[2:4], 1.0), "those that are here may be longer than most"
    assert not shelf.worth_reading(missing[2:5], 1.0)
    shelf.keep_only([(0, 1)])
    assert shelf.worth_reading(missing[2:5], 1.0)


def test_a_shelf_with_nothing_on_it_goes_through_no_keys() -> None:
    keys = iter([(1, 1), (2, 1)])

    Shelf().keep_only(keys)

    assert [*keys] == [(1, 1), (2, 1)]


def test_who_asks_again_for_other_words_has_all_texts_and_looks_nothing_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kb_search.snapshot._FEW_DOCS", 0)
    corpus = Corpus()
    writer, reader = Writer(tmp_path), Reader(tmp_path)
    documents = [corpus.document(f"{n}.md", f"otter{n}\n") for n in range(9)]
    writer.publish(corpus.publication(*documents))
    snapshot = reader.snapshot()
    one = data_of(snapshot.texts(None, [["otter1"]]))
    other = data_of(snapshot.texts(None, [["otter2"]]))
    monkeypatch.setattr(snapshot, "_holding", None)  # calling it fails
    again = data_of(snapshot.texts(None, [["otter3"]]))
    writer.close()
    reader.close()

    assert one == {b"otter1\n"}
    assert other >= {b"otter2\n"}
    assert len(again) == 9


@pytest.mark.parametrize("around", ["a b ", "a\n", "語。", "x" * 59 + "\n"])
def test_a_long_word_is_seen_wherever_it_stands(around: str) -> None:
    for at in range(0, 130, 3):
        before = (around * at)[:at]
        assert not is_whole(cut(f"{before} {'y' * 256} end", []))
        assert is_whole(cut(f"{before} {'y' * 255} end", []))
        assert not is_whole(cut(f"{before}.{'й' * 60}. {around * 9}", []))
        assert is_whole(cut(f"{before}.{'й' * 59}. {around * 9}", []))


def test_a_text_is_taken_out_of_what_holds_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of 64 MB was in memory four times while a command looked for a word."""

    class Stored:
        def get_first(self, _field: str) -> bytes:
            return b"aotter"

    class Forms(dict[bytes, str]):
        def get(self, form: bytes, default: object = None) -> Any:  # noqa: ANN401
            held.append(record())
            return self[form]

    held: list[Stored | None] = []
    monkeypatch.setattr(opening, "FORMS", Forms(opening.FORMS))
    made: list[Any] = [Stored()]
    record = ref(made[0])

    told = opening.text_of(made.pop())

    assert told == ("ascii", b"otter")
    assert held == [None]
