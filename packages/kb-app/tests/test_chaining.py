"""Two facts in a row: what is searched, how often, and what of it is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pytest

from kb_app._ask.chaining import Looked, chain
from kb_app._ask.evidence import evidence_of
from kb_app._ask.gate import Gate
from kb_core.ports import StoredChunk
from kb_core.search import KnownWords

SURE = Gate((0.0,), threshold=0.3, sure=0.6)
QUESTION = "who wrote the library that Kestrel uses"
USES = "Kestrel draws with the library Pellucid."
WROTE = "Pellucid was written by Ingrid Solheim."


def looked(question: str, *texts: str, confidence: float = 0.9) -> Looked:
    """Return what a search found that gave *texts*, each a passage."""
    over = {"lang": "en", "media": "markdown", "title": "", "heading_path": (), "path": "n.md"}
    chunks = [cast("StoredChunk", {"chunk_id": text, "text": text, **over}) for text in texts]
    scores = [1.0] * len(texts)
    known = KnownWords(share=1.0, full_match=1.0)
    evidence = evidence_of(question, chunks, scores, known, None)
    assert evidence is not None
    return Looked(question=question, hits=(), evidence=evidence, gate=SURE, confidence=confidence)


def found(second: Looked | None) -> tuple[list[str], Callable[[str], Looked | None]]:
    """Return a search that knows what Kestrel uses, and then *second*; and what it was asked."""
    searched: list[str] = []

    def look(text: str) -> Looked | None:
        searched.append(text)
        return looked(text, USES) if "Kestrel" in text else second

    return searched, look


def said(asked: Looked, second: Looked | None) -> list[list[str]]:
    _, look = found(second)
    return [[part.text for part in link.chosen] for link in chain(asked, look)]


def test_the_second_search_asks_of_the_name_and_says_nothing_twice() -> None:
    searched, look = found(looked("who wrote Pellucid", WROTE, USES))

    links = chain(looked(QUESTION, USES), look)

    assert searched == ["the library that Kestrel uses", "who wrote Pellucid"]
    assert [link.name for link in links] == ["Pellucid", None]
    assert [[part.text for part in link.chosen] for link in links] == [[USES], [WROTE]]


@pytest.mark.parametrize(
    "second",
    [
        None,
        looked("who wrote Pellucid", WROTE, confidence=0.5),
        looked("who wrote Pellucid", "Bo Ek wrote it."),
        looked("who wrote Pellucid", USES),
    ],
    ids=["nothing", "weak", "without the name", "the same sentence"],
)
def test_what_does_not_go_on_from_the_name_is_no_answer(second: Looked | None) -> None:
    assert said(looked(QUESTION, USES), second) == []


def test_what_the_question_found_by_itself_is_not_searched_for() -> None:
    both = looked(QUESTION, USES, WROTE)
    whole = looked(QUESTION, "Ingrid Solheim wrote what Kestrel uses.")

    assert said(both, looked("who wrote Pellucid", WROTE)) == []
    assert chain(whole, lambda _: pytest.fail("searched")) == ()
    assert chain(looked("who wrote Pellucid", WROTE), lambda _: pytest.fail("searched")) == ()


def test_no_more_than_five_searches_are_made() -> None:
    searched: list[str] = []

    def look(text: str) -> Looked:
        searched.append(text)
        return looked(text, "Anna Lind met Bo Ek, then Cy Dahl, then Di Falk, at home.")

    assert chain(looked("who leads the group of the maker of Tern", "Tern."), look) == ()
    assert len(searched) == 5
