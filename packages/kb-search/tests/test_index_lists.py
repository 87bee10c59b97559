"""Lists read by the page are those of all rows, whichever way the engine orders them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing, contextmanager
from copy import copy
from pathlib import Path
from unittest.mock import Mock

import pytest
from hypothesis import given, settings, strategies as st

from kb_core.errors import IoError
from kb_core.filters import Glob
from kb_core.records import FileState
from kb_core.testing.documents import Corpus, file_row
from kb_search import records, snapshot
from kb_search.opening import payload_of
from kb_search.reader import Reader
from kb_search.snapshot import Snapshot
from kb_search.writer import Writer

FOLDERS = ("a", "a-b", "a/b", "é", "z")


@contextmanager
def few_are_near(near: int, few_of_all: int = 16) -> Iterator[None]:
    """Let the engine order no more than *near* rows, and look up three at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "_NEAR", near)
        patch.setattr(records, "_FEW_OF_ALL", few_of_all)
        patch.setattr(records, "_AT_ONCE", 3)
        yield


def with_a_history(place: Path) -> Snapshot:
    """Return a state whose newest batch replaces, forgets and removes what is there."""
    corpus, chance = Corpus(), random.Random(3)
    paths = [f"{chance.choice(FOLDERS)}/{number}.md" for number in range(40)]
    with closing(Writer(place)) as writer:
        for part in (paths[:25], paths[25:], paths[5:9]):
            docs = [corpus.document(path, f"text of {path} {len(part)}") for path in part]
            writer.publish(corpus.publication(*docs, files=[file_row(path) for path in part]))
        skipped = file_row(paths[3], FileState.SKIPPED, reason="empty")
        gone = [corpus.document(path, "x") for path in paths[10:14]]
        writer.publish(
            corpus.publication(
                removed=[doc.path for doc in gone],
                files=[skipped],
                forgotten=[("notes", path) for path in paths[10:14]],
            )
        )
    return Reader(place).snapshot()


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return with_a_history(tmp_path_factory.mktemp("lists"))


def _noting(state: Snapshot) -> Mock:
    searcher = state._records._searcher
    return Mock(wraps=searcher, num_docs=searcher.num_docs)


@settings(max_examples=40)
@given(
    start=st.integers(-45, 45),
    stop=st.integers(-45, 45),
    near=st.integers(0, 40),
    few_of_all=st.sampled_from([1, 16]),
)
def test_a_page_is_a_slice_of_the_whole_list(
    state: Snapshot, start: int, stop: int, near: int, few_of_all: int
) -> None:
    whole = list(state.docs(None))
    state._records._order = None
    with few_are_near(near, few_of_all):
        assert state.docs(None)[start:stop] == whole[start:stop]
        assert state.files(Glob("a/**"))[start:stop] == list(state.files(Glob("a/**")))[start:stop]


@pytest.mark.parametrize("near", [0, 1000])
def test_a_list_has_what_is_newest_once_and_in_order(state: Snapshot, near: int) -> None:
    with few_are_near(near):
        docs, files = list(state.docs(None)), list(state.files(None))

    assert len(docs) == len(state.docs(None)) == state.count_docs(None) == 36
    assert [doc["path"] for doc in docs] == sorted({doc["path"] for doc in docs})
    assert [row["path"] for row in files] == [doc["path"] for doc in docs]
    assert sum(doc["bytes_hash"] != docs[0]["bytes_hash"] for doc in docs) == 35
    assert state.ledger(None).counts == {("indexed", None): 35, ("skipped", "empty"): 1}


def test_a_page_far_down_takes_few_places_beyond_it(
    state: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, searcher = list(state.docs(None)), _noting(state)
    monkeypatch.setattr(state._records, "_searcher", searcher)
    monkeypatch.setattr(state._records, "_order", None)

    with few_are_near(2):
        pages = [state.docs(None)[at : at + 3] for at in (3, 6, 12)]

    assert pages == [whole[3:6], whole[6:9], whole[12:15]]
    asked = searcher.terms_with_prefix.call_args_list
    assert [each.kwargs["limit"] for each in asked] == [12, 30]


def test_of_many_places_those_are_walked_that_begin_like_the_first(
    state: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, searcher = list(state.docs(None)), _noting(state)
    monkeypatch.setattr(state._records, "_searcher", searcher)
    monkeypatch.setattr(state._records, "_order", None)

    with few_are_near(1, few_of_all=1):
        assert state.docs(None)[2:4] == whole[2:4]

    walked = [
        each for each in searcher.terms_with_prefix.call_args_list if each.kwargs.keys() > {"limit"}
    ]
    assert [each.args for each in walked] == [("place", "notes\0a-b/")]


def test_one_row_is_taken_from_either_end(state: Snapshot) -> None:
    whole = list(state.docs(None))

    with few_are_near(2):
        assert [state.docs(None)[at] for at in (0, 30, -1, -36)] == [
            whole[0],
            whole[30],
            whole[-1],
            whole[0],
        ]
        assert state.docs(None)[::-2] == whole[::-2]
        with pytest.raises(IndexError):
            state.docs(None)[36]


@settings(max_examples=40)
@given(asked=st.lists(st.lists(st.integers(1, 45), max_size=6), max_size=8), kept=st.integers(0, 8))
def test_chunks_are_the_same_whichever_were_read_before(
    state: Snapshot, asked: list[list[int]], kept: int
) -> None:
    whole = state.chunks(range(1, 46))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(snapshot, "_CHUNKS_KEPT", kept)
        told = [state.chunks(keys) for keys in asked]

    assert told == [{key: whole[key] for key in keys if key in whole} for keys in asked]
    assert 0 < len(whole) < 45  # some are gone


def test_the_chunks_that_were_asked_for_last_are_not_read_again(
    state: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, three = list(state.chunks(range(1, 46)))[:3]
    fresh, read = copy(state), Mock(wraps=payload_of)
    monkeypatch.setattr(fresh, "_chunks_kept", {})
    monkeypatch.setattr(snapshot, "_CHUNKS_KEPT", 2)
    monkeypatch.setattr(snapshot, "payload_of", read)

    for keys in ([one, two], [two, one], [two, three], [three]):
        fresh.chunks(keys)
    assert read.call_count == 3
    fresh.chunks([one])
    assert read.call_count == 4
    fresh.chunks([one, two, three])
    fresh.chunks([two])
    assert read.call_count == 4 + 2 + 1  # more than are kept were asked for, and nothing is


def test_an_older_state_lists_what_it_held(tmp_path: Path) -> None:
    before = with_a_history(tmp_path)
    paths = [doc["path"] for doc in before.docs(None)]
    corpus = Corpus()
    with closing(Writer(tmp_path)) as writer:
        writer.rebuild([corpus.publication(corpus.document("other.md", "anything"))])

    with few_are_near(0):
        assert [doc["path"] for doc in before.docs(None)] == paths
        assert [doc["path"] for doc in Reader(tmp_path).snapshot().docs(None)] == ["other.md"]


def test_rows_that_are_not_published_yet_are_not_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = Corpus()

    def refuse(*_: object) -> None:
        raise OSError("no room")

    with closing(Writer(tmp_path)) as writer:
        writer.publish(corpus.publication(*(corpus.document(f"{n}.md", "x") for n in range(4))))
        monkeypatch.setattr(writer, "_write_chunks", refuse)
        with pytest.raises(IoError):
            writer.publish(corpus.publication(corpus.document("new.md", "y")))

    for near in (0, 1000):
        with few_are_near(near):
            found = Reader(tmp_path).snapshot().docs(None)
            assert [doc["path"] for doc in found] == [f"{n}.md" for n in range(4)]
            assert len(found) == 4
