"""Texts are looked through from both ends, and found is what one look finds."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from threading import Event
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from kb_app._search import scanning
from kb_app._search.scanning import Scan
from kb_core.ports import TextBatch
from kb_core.search import GrepQuery
from kb_core.stored import StoredText
from kb_search.patterns import Pattern, compile_pattern, form_of
from kb_search.texts import batch_of

LATER = time.monotonic() + 1e6


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a thread begin with any text, however short and quick."""
    always_beside(monkeypatch)


def always_beside(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(scanning, "_WORTH_A_THREAD", 0)
    patch.setattr(scanning, "_LONG_ENOUGH", 0)
    patch.setattr(scanning, "_SLOW", -1.0)


def batches(*texts: str) -> list[TextBatch]:
    return [
        batch_of([StoredText(at, text.encode(), form_of(text))]) for at, text in enumerate(texts)
    ]


def look(pattern: str, texts: Sequence[TextBatch], stop: Event | None = None) -> Scan:
    return Scan(compile_pattern(pattern), GrepQuery(pattern=pattern), LATER, stop)


def found(pattern: str, texts: Sequence[TextBatch]) -> list[tuple[int, list[int], int]]:
    each = look(pattern, texts).through(texts)
    return [(one.doc_key, [*one.lines], one.count) for one in each]


@given(
    pattern=st.sampled_from(["ab?", r"\w\d", "^$", "b$", "^a", "a|1", "[b1]{2}", "ab"]),
    texts=st.lists(st.text("ab1 \n\u00e9", max_size=30), max_size=12),
    stretch=st.sampled_from([1, 40, 1_000]),
    first=st.sampled_from([1, 2, 32]),
)
@settings(max_examples=150)
def test_what_two_find_is_what_one_finds(
    pattern: str, texts: list[str], stretch: int, first: int
) -> None:
    apart = batches(*texts)
    alone = found(pattern, apart)

    with pytest.MonkeyPatch.context() as patch:
        always_beside(patch)
        patch.setattr(scanning, "_STRETCH", stretch)
        patch.setattr(scanning, "_FIRST_LINES", first)
        assert found(pattern, apart) == alone


def whom(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return who looked for the first lines of texts, as they are looked through."""
    who, first_starts = list[str](), Pattern.first_starts

    def noted(self: Pattern, *part: Any) -> int:  # noqa: ANN401 - as it is
        who.append(threading.current_thread().name)
        return first_starts(self, *part)

    monkeypatch.setattr(Pattern, "first_starts", noted)
    return who


@pytest.mark.usefixtures("always")
def test_the_last_text_is_looked_through_beside_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = batches(*["none of it\n"] * 9, "a1\n")
    who, at_the_end = whom(monkeypatch), Event()
    starts = Pattern.starts

    def waiting(self: Pattern, *text: Any) -> list[int]:  # noqa: ANN401 - as it is
        if threading.current_thread() is threading.main_thread():
            assert at_the_end.wait(30)
        return starts(self, *text)

    first_lines = scanning._first_lines

    def until_the_end(*part: Any) -> Any:  # noqa: ANN401 - as it is
        told = first_lines(*part)
        if part[1] is texts[2]:  # while the second one is looked through here
            at_the_end.set()
        return told

    monkeypatch.setattr(Pattern, "starts", waiting)
    monkeypatch.setattr(scanning, "_first_lines", until_the_end)

    assert found(r"[a-z]\d", texts) == [(9, [0], 1)]
    assert who.count("kebab-grep") in {8, 9}


def test_what_is_quick_is_looked_through_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "_WORTH_A_THREAD", 0)
    monkeypatch.setattr(scanning, "_LONG_ENOUGH", 0)
    monkeypatch.setattr(scanning, "_SLOW", 1.0)
    who = whom(monkeypatch)

    assert found(r"[a-z]\d", batches(*["none of it\n"] * 9, "a1\n")) == [(9, [0], 1)]
    assert set(who) == {threading.current_thread().name}
    assert len(who) == 1, "the first text tells"


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("pattern", [r"a$", r"\Aa", r"\w+_named\("])
def test_what_holds_the_interpreter_is_looked_for_by_one(
    monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    who = whom(monkeypatch)

    found(pattern, batches(*["a\n"] * 9))

    assert who == []


@pytest.mark.usefixtures("always")
def test_where_texts_have_many_lines_the_thread_leaves_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scanning, "_FIRST_LINES", 1)
    texts = batches("none\n", *["a1\n" * 5] * 60)
    who = whom(monkeypatch)

    assert [count for _, _, count in found(r"[a-z]\d", texts)] == [5] * 60
    assert who.count("kebab-grep") <= scanning._TOO_MANY


@pytest.mark.usefixtures("always")
def test_who_stops_looking_leaves_no_thread_behind() -> None:
    before, stop = threading.active_count(), Event()
    texts = batches(*["none of it\n", "a1\n"] * 40)

    with closing(look(r"[a-z]\d", texts).through(texts)) as each:
        assert next(each).doc_key == 1
    assert threading.active_count() == before

    looked = look(r"[a-z]\d", texts, stop)

    def until_told() -> Iterator[TextBatch]:
        for number, text in enumerate(texts):
            if number == 3:
                stop.set()
            yield text

    list(looked.through(until_told()))
    assert not looked.complete
    assert threading.active_count() == before


@pytest.mark.usefixtures("always")
def test_what_fails_beside_fails_where_it_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    first_starts = Pattern.first_starts

    def failing(self: Pattern, *part: Any) -> int:  # noqa: ANN401 - as it is
        if threading.current_thread().name == "kebab-grep":
            raise MemoryError
        return first_starts(self, *part)

    texts = batches(*["none of it\n"] * 9, "a1\n")
    alone = found(r"[a-z]\d", texts)
    monkeypatch.setattr(Pattern, "first_starts", failing)

    assert found(r"[a-z]\d", texts) == alone
