"""Cursors: what they carry, and that they live exactly as long as their list."""

from __future__ import annotations

import base64
import dataclasses
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from kb_app._search.channels import Channel
from kb_app._search.lookup import origin_of
from kb_app._search.page import Cursor, Question, State
from kb_app._search.ranking import Place, Row, list_digest
from kb_app._search.similar import similar
from kb_app.testing import SearchWorld
from kb_core.errors import ModelMissing, StaleCursor
from kb_core.media import SearchMode
from kb_core.records import DocumentRecord
from kb_core.search import SearchQuery, SearchResponse
from kb_core.testing.documents import Corpus
from kb_search.fusion import Fused
from kb_search.writer import Writer

# ------------------------------------------------------------------- the record

numbers = st.integers(0, 2**32 - 1)
states = st.builds(State, numbers, numbers, numbers)
questions = st.builds(
    Question, st.binary(min_size=8, max_size=8), st.binary(min_size=4, max_size=4)
)
cursors = st.builds(
    Cursor,
    offset=st.integers(0, 2**16 - 1),
    pool=st.integers(0, 2**16 - 1),
    per_doc=st.integers(0, 100),
    channels=st.sampled_from([Channel(bits) for bits in range(8)]),
    hits=st.binary(min_size=8, max_size=8),
    question=questions,
    state=states,
)


@given(cursor=cursors)
def test_a_cursor_is_read_back_as_it_was_and_is_short(cursor: Cursor) -> None:
    text = cursor.encode()

    assert Cursor.decode(text, cursor.question) == cursor
    assert len(text) == 58
    assert text.isascii()


@given(cursor=cursors, per_doc=st.integers(0, 100))
def test_a_cursor_brings_its_per_doc_and_goes_on_with_no_other(
    cursor: Cursor, per_doc: int
) -> None:
    text = cursor.encode()

    assert Cursor.decode(text, cursor.question, cursor.per_doc) == cursor
    if per_doc != cursor.per_doc:
        with pytest.raises(StaleCursor, match=f"with per_doc {cursor.per_doc}"):
            Cursor.decode(text, cursor.question, per_doc)


@given(cursor=cursors, other=questions)
def test_a_cursor_goes_on_with_its_own_question_only(cursor: Cursor, other: Question) -> None:
    if other == cursor.question:
        return
    with pytest.raises(StaleCursor) as caught:
        Cursor.decode(cursor.encode(), other)

    expected = "store" if other.asked == cursor.question.asked else "query"
    assert caught.value.details["reason"] == expected


@given(cursor=cursors, data=st.data())
def test_a_cursor_that_was_changed_anywhere_is_refused(cursor: Cursor, data: st.DataObject) -> None:
    text = cursor.encode()
    at = data.draw(st.integers(0, len(text) - 1))
    letter = data.draw(st.characters(codec="ascii").filter(lambda one: one != text[at]))

    with pytest.raises(StaleCursor, match="or was changed") as caught:
        Cursor.decode(text[:at] + letter + text[at + 1 :], cursor.question)

    assert caught.value.details["reason"] == "malformed"


@given(version=st.integers(0, 255), rest=st.binary(max_size=60), question=questions)
def test_a_cursor_of_another_version_is_told_from_one_that_was_changed(
    version: int, rest: bytes, question: Question
) -> None:
    """Also where a record of that version is longer or shorter."""
    if version == 2:
        return
    record = bytes([version]) + rest
    check = blake2b(record, digest_size=4, person=b"kebab cursor").digest()
    text = base64.urlsafe_b64encode(record + check).rstrip(b"=").decode()

    with pytest.raises(StaleCursor, match="made by another version of kebab"):
        Cursor.decode(text, question)


@given(cursor=cursors, now=states, hits=st.binary(min_size=8, max_size=8))
def test_only_another_list_is_stale_and_the_state_says_why(
    cursor: Cursor, now: State, hits: bytes
) -> None:
    cursor.check(cursor.hits, now, ())
    if hits == cursor.hits:
        return
    with pytest.raises(StaleCursor) as caught:
        cursor.check(hits, now, ("vector: out of order",))

    then, message = cursor.state, str(caught.value)
    if now.corpus_revision != then.corpus_revision:
        change = f"(revision {then.corpus_revision}, now {now.corpus_revision})"
        assert f"before documents changed {change}" in message
    elif now.vector_revision != then.vector_revision:
        assert "before embeddings were added" in message
    elif now.index_state != then.index_state:
        assert "before the index was reorganised" in message
    else:
        assert "that other channels made (now vector: out of order)" in message
    assert caught.value.details["value"] == cursor.encode()


# ------------------------------------------------------------- the digest of a list

Groups = Sequence[Sequence[int]]
"""Keys of equal score together, best first."""

keys_in_groups = st.lists(st.integers(1, 2**62), unique=True, max_size=40).flatmap(
    lambda keys: st.builds(_grouped, st.just(keys), st.sets(st.integers(1, max(1, len(keys) - 1))))
)


def _grouped(keys: Sequence[int], borders: set[int]) -> list[list[int]]:
    cuts = [0, *sorted(border for border in borders if border < len(keys)), len(keys)]
    return [list(keys[a:b]) for a, b in pairwise(cuts) if a < b]


def rows_of(groups: Groups, score: Callable[[int], float]) -> list[Row]:
    return [
        Row(Fused(key, 0.0), score(at), "fused") for at, group in enumerate(groups) for key in group
    ]


def falling(at: int) -> float:
    return 10.0 - at / 1000


def nowhere(keys: Sequence[int]) -> dict[int, Place]:
    raise AssertionError(f"{len(keys)} rows were looked up")


def placed(order: Mapping[int, int]) -> Callable[[Sequence[int]], dict[int, Place]]:
    return lambda keys: {key: ("notes", f"{order[key]:09}.md", 0) for key in keys}


def digest(groups: Groups, score: Callable[[int], float] = falling) -> bytes:
    return list_digest(rows_of(groups, score), 0, nowhere)


@given(groups=keys_in_groups, chance=st.randoms(use_true_random=False))
def test_scores_and_the_order_of_equals_do_not_matter(
    groups: Groups, chance: random.Random
) -> None:
    shuffled = [chance.sample(group, len(group)) for group in groups]

    assert digest(shuffled) == digest(groups)
    assert digest(groups, lambda at: 0.5 / (1 + at)) == digest(groups)
    # Less than half a millionth is a tie all the same.
    assert digest(groups, lambda at: falling(at) + 1e-9 * (at % 3)) == digest(groups)


@given(groups=keys_in_groups, data=st.data())
def test_any_other_list_has_another_digest(groups: Groups, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(groups)))
    others = [[*groups[:at], [2**62 + 1], *groups[at:]]]
    if groups:
        at = data.draw(st.integers(0, len(groups) - 1))
        group = groups[at]
        others += [
            [*groups[:at], group[1:], *groups[at + 1 :]],
            [*groups[:at], [*group, 2**62 + 1], *groups[at + 1 :]],
            [*groups[:at], [2**62 + 1, *group[1:]], *groups[at + 1 :]],
        ]
    if len(groups) > 1:
        at = data.draw(st.integers(0, len(groups) - 2))
        first, second = groups[at], groups[at + 1]
        swapped = [second[0], *first[1:]], [first[0], *second[1:]]
        others += [
            [*groups[:at], *swapped, *groups[at + 2 :]],
            [*groups[:at], second, first, *groups[at + 2 :]],
        ]
    digests = {digest(other) for other in others}

    assert digest(groups) not in digests


@given(groups=keys_in_groups, data=st.data())
def test_where_the_cut_goes_through_equals_their_places_decide(
    groups: Groups, data: st.DataObject
) -> None:
    """The digest is the same if and only if the same hits were delivered before the cut."""
    keys = [key for group in groups for key in group]
    offset = data.draw(st.integers(0, len(keys)))
    orders = [
        dict(zip(keys, data.draw(st.permutations(range(len(keys)))), strict=True)) for _ in "ab"
    ]

    def delivered(order: Mapping[int, int]) -> set[int]:
        ordered = [key for group in groups for key in sorted(group, key=order.__getitem__)]
        return set(ordered[:offset])

    one, other = (list_digest(rows_of(groups, falling), offset, placed(order)) for order in orders)

    assert (one == other) == (delivered(orders[0]) == delivered(orders[1]))


@given(groups=keys_in_groups, data=st.data())
def test_no_more_is_looked_up_than_the_equals_that_are_cut(
    groups: Groups, data: st.DataObject
) -> None:
    borders = [sum(map(len, groups[:n])) for n in range(len(groups) + 1)]
    between = data.draw(st.sampled_from(borders))

    assert list_digest(rows_of(groups, falling), between, nowhere) == digest(groups)


# ------------------------------------------------------------ a list and its index

QUERY = SearchQuery(text="searching index", k=3)


@pytest.fixture
def world(tmp_path: Path) -> SearchWorld:
    world = SearchWorld(tmp_path)
    world.write(*(f"searching index number {n} {'index ' * (n % 4)}" for n in range(9)))
    return world


def ids(world: SearchWorld, query: SearchQuery) -> list[str]:
    """Return the whole list as it is now."""
    return [hit.chunk_id for hit in world.engine().search(dataclasses.replace(query, k=100)).hits]


def page_after(
    world: SearchWorld, mode: SearchMode, change: Callable[[], None]
) -> tuple[list[str], list[str]]:
    """Return two pages with a change between them, and the first two of the list as it was."""
    query = dataclasses.replace(QUERY, mode=mode)
    before = ids(world, query)
    first = world.engine().search(query)
    change()
    second = world.engine().search(dataclasses.replace(query, cursor=first.next_cursor))
    return [hit.chunk_id for hit in (*first.hits, *second.hits)], before[:6]


@pytest.mark.parametrize("mode", SearchMode)
def test_a_publication_that_changes_no_document_leaves_every_cursor_alone(
    world: SearchWorld, mode: SearchMode
) -> None:
    state = world.snapshot().control.index_state

    pages, expected = page_after(world, mode, world.put)

    assert world.snapshot().control.index_state != state
    assert pages == expected


@pytest.mark.parametrize("mode", SearchMode)
def test_documents_outside_the_list_may_come_and_go(tmp_path: Path, mode: SearchMode) -> None:
    """More passages are near than a list has, so that others are outside all lists."""
    world = SearchWorld(tmp_path)
    made = [
        world.corpus.document(f"{n:03}.md", f"{'searching index ' * (1 + n % 7)}number {n}")
        for n in range(150)
    ]
    world.put(*made, world.corpus.document("other.md", "something else"))

    def edit() -> None:
        world.put(world.corpus.document("new.md", "stones and sand"), removed=["other.md"])

    pages, expected = page_after(world, mode, edit)

    assert pages == expected


@pytest.mark.parametrize("mode", SearchMode)
def test_a_list_that_changed_is_told_with_its_revisions(
    world: SearchWorld, mode: SearchMode
) -> None:
    query = dataclasses.replace(QUERY, mode=mode)
    cursor = world.engine().search(query).next_cursor
    world.put(world.corpus.document("new.md", "searching index"))

    with pytest.raises(StaleCursor, match=r"before documents changed \(revision 1, now 2\)"):
        world.engine().search(dataclasses.replace(query, cursor=cursor))


def embed_now(world: SearchWorld, folder: Path) -> None:
    """Publish the vectors of all documents that are there, and nothing else."""
    made = list(world.corpus.docs.values())
    later = world.corpus.publication()
    chunks = [chunk for doc in made for chunk in doc.chunks]
    fresh = Corpus(world.embedder).publication(*made)
    assert fresh.vectors
    with closing(Writer(folder)) as writer:
        writer.publish(
            dataclasses.replace(
                later,
                vector_revision=1,
                vectors=fresh.vectors,
                models=fresh.models,
                stats={"doc_count": len(made), "chunk_count": len(chunks)},
            )
        )


def test_embeddings_end_the_lists_that_they_change_and_no_others(tmp_path: Path) -> None:
    world = SearchWorld(tmp_path)
    world.corpus = Corpus()
    world.write(*(f"searching index number {n} {'index ' * (n % 4)}" for n in range(9)))
    by_words = dataclasses.replace(QUERY, mode=SearchMode.LEXICAL)
    words = world.engine().search(by_words)
    both = world.engine().search(QUERY)
    engine = world.engine()
    near = similar(engine, origin_of(engine.snapshot, "0.md"), QUERY)
    list_before = ids(world, QUERY)

    embed_now(world, tmp_path)

    assert world.engine().search(dataclasses.replace(by_words, cursor=words.next_cursor)).hits
    assert ids(world, QUERY) != list_before
    with pytest.raises(StaleCursor, match="before embeddings were added"):
        world.engine().search(dataclasses.replace(QUERY, cursor=both.next_cursor))
    engine = world.engine()
    with pytest.raises(StaleCursor, match="before embeddings were added"):
        similar(
            engine,
            origin_of(engine.snapshot, "0.md"),
            dataclasses.replace(QUERY, cursor=near.next_cursor),
        )


def test_neighbours_go_on_while_documents_elsewhere_change(world: SearchWorld) -> None:
    def neighbours(query: SearchQuery) -> SearchResponse:
        engine = world.engine()
        return similar(engine, origin_of(engine.snapshot, "0.md"), query)

    expected = neighbours(dataclasses.replace(QUERY, k=8)).hits
    first = neighbours(QUERY)
    world.put()
    second = neighbours(dataclasses.replace(QUERY, cursor=first.next_cursor))

    ids = [hit.chunk_id for hit in (*first.hits, *second.hits)]
    assert ids == [hit.chunk_id for hit in expected[:6]]
    world.put(world.corpus.document("1.md", "something else"))
    with pytest.raises(StaleCursor, match="before documents changed"):
        neighbours(dataclasses.replace(QUERY, cursor=second.next_cursor))


def test_a_channel_that_fails_on_a_later_page_is_no_other_list_in_silence(
    world: SearchWorld,
) -> None:
    engine = world.engine()
    first = engine.search(QUERY)

    def missing(text: str) -> bytes:
        raise ModelMissing(f"no weights for {text!r}")

    engine.embed = missing
    with pytest.raises(StaleCursor, match=r"other channels made \(now vector: no") as caught:
        engine.search(dataclasses.replace(QUERY, cursor=first.next_cursor))

    assert caught.value.details["reason"] == "channels"


def test_a_file_that_moves_among_equals_ends_the_list_only_where_a_page_parts_them(
    tmp_path: Path,
) -> None:
    """Equals stand by path: a moved one may come to stand before what was delivered."""
    world = SearchWorld(tmp_path)
    world.write(*["one word here"] * 4, "a word that is longer than the others are here")
    query = SearchQuery(text="word", mode=SearchMode.LEXICAL, k=2)

    def move(old: str, new: str) -> None:
        (doc,) = (doc for doc in world.corpus.docs.values() if doc.path == old)
        moved: DocumentRecord = world.corpus.moved(doc, new)
        world.put(moved)

    parted, whole = (
        world.engine().search(dataclasses.replace(query, k=k)).next_cursor for k in (2, 4)
    )
    move("2.md", "0-first.md")

    with pytest.raises(StaleCursor, match="before documents changed"):
        world.engine().search(dataclasses.replace(query, cursor=parted))
    rest = world.engine().search(dataclasses.replace(query, cursor=whole)).hits
    assert [hit.doc_path for hit in rest] == ["4.md"]
