"""Fetching within a budget: what is cut is cut where that hurts least, and told."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from kb_app.testing.facade import ScriptedKnowledgeBase
from kb_core.testing.documents import document

LINE = "Otters sleep on their backs. They hold each other's paws, and drift. "
texts = st.lists(
    st.sampled_from(("otter ", "sleeps. ", "\n", "\n\n", "바다. ", "海。", "x" * 50, "e\u0301 ")),
    min_size=1,
    max_size=80,
).map("".join)


@pytest.mark.parametrize(
    ("text", "max_tokens", "end"),
    [
        (LINE * 40, 100, "backs."),
        ((LINE + "\n") * 20, 100, "\n"),
        (LINE * 40, 25, "backs."),
        ("word " * 400, 100, "word"),
        ("海は広い。月が出る。" * 100, 100, "。"),
        ("x" * 4000, 100, "x"),
        ("one.\n" + "x" * 4000, 100, "x"),
    ],
)
def test_a_document_is_cut_at_a_line_else_a_sentence_else_a_word(
    text: str, max_tokens: int, end: str
) -> None:
    doc = document("a.txt", text, media="text")
    with ScriptedKnowledgeBase(doc) as kb:
        found = kb.fetch_doc(doc.doc_id, max_tokens=max_tokens)
        span = kb.fetch_span(doc.doc_id, 1, 10_000, max_tokens=max_tokens)

    assert found["text"] == span["text"]
    assert found["text"].endswith(end)
    assert 3 * max_tokens <= len(found["text"]) <= 4 * max_tokens
    assert found["omitted_chars"] == len(text) - len(found["text"])


@given(text=texts, start=st.integers(1, 9), max_tokens=st.integers(1, 60))
def test_a_cut_loses_at_most_a_quarter_of_the_budget(
    text: str, start: int, max_tokens: int
) -> None:
    doc = document("a.txt", text, media="text")
    with ScriptedKnowledgeBase(doc) as kb:
        whole = kb.fetch_span(doc.doc_id, start, 10_000)
        cut = kb.fetch_span(doc.doc_id, start, 10_000, max_tokens=max_tokens)

    assert whole["text"].startswith(cut["text"])
    if cut["truncated"]:
        assert 3 * max_tokens <= len(cut["text"]) <= 4 * max_tokens
        lines = cut["text"].count("\n") + (not cut["text"].endswith("\n"))
        assert cut["effective_end"] == start - 1 + lines
    else:
        assert cut == whole
