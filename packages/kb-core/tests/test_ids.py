"""Ids: the same everywhere, different for different things."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from kb_core import ids
from kb_core.errors import InvalidInput

texts = st.lists(st.text(max_size=3), max_size=30)
DOC = ids.doc_id("notes", "a.md")


@given(texts)
def test_chunks_of_a_document_have_ids_of_their_own(found: list[str]) -> None:
    made = ids.chunk_ids(DOC, map(ids.text_hash, found))

    assert len(set(made)) == len(made) == len(found)


@given(texts, st.text())
def test_many_ids_are_those_that_are_made_one_by_one(found: list[str], doc: str) -> None:
    hashes = [*map(ids.text_hash, found)]
    one_by_one = [
        ids.chunk_id(ids.DocId(doc), digest, hashes[:at].count(digest))
        for at, digest in enumerate(hashes)
    ]

    assert ids.chunk_ids(ids.DocId(doc), hashes) == one_by_one


@given(texts, st.data())
def test_an_edit_changes_only_ids_of_what_it_changes_and_of_later_repetitions(
    found: list[str], data: st.DataObject
) -> None:
    """Ruling R7."""
    at = data.draw(st.integers(0, len(found)))
    before = ids.chunk_ids(DOC, map(ids.text_hash, found))
    after = ids.chunk_ids(DOC, map(ids.text_hash, [*found[:at], "new text", *found[at:]]))

    assert after[:at] == before[:at]
    assert after[at + 1 :] == before[at:]


def test_ids_are_what_they_have_always_been() -> None:
    """Stores of every release hold these."""
    assert DOC == "b52ce61bd7454205351e6c8359f5f0c4"
    assert ids.chunk_id(DOC, ids.text_hash("text"), 0) == "2d4764ee73c299c941e5ae35b4f30078"
    assert ids.text_hash("text") == "d732c6be860e019351f99173fa6ae612"
    assert ids.content_hash("text") == ids.text_hash("text")[:16]


@given(st.text(), st.text(), st.text(), st.text())
def test_other_source_or_path_other_id(s1: str, p1: str, s2: str, p2: str) -> None:
    assert (ids.doc_id(s1, p1) == ids.doc_id(s2, p2)) == ((s1, p1) == (s2, p2))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), json_values, max_size=4))
def test_canonical_json_does_not_depend_on_the_order_of_keys(value: dict[str, object]) -> None:
    backwards = dict(reversed(value.items()))

    assert ids.canonical_json(value) == ids.canonical_json(backwards)
    assert json.loads(ids.canonical_json(value)) == value


def test_half_a_surrogate_pair_has_a_hash() -> None:
    assert len(ids.text_hash("\udce9")) == 32
    assert ids.doc_id("notes", "caf\udce9") != ids.doc_id("notes", "café")


@pytest.mark.parametrize("text", ["0123abcd", " 0123ABCD\n", "a" * 32])
def test_an_id_or_its_beginning_is_accepted(text: str) -> None:
    assert ids.parse_id_prefix(text, what="chunk id") == text.strip().lower()


@pytest.mark.parametrize("text", ["", "0123abc", "a" * 33, "0123abcg", "٠١٢٣٤٥٦٧", "../../etc"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="8 to 32 hex digits"):
        ids.parse_id_prefix(text, what="chunk id")
