"""What words weigh: by what is held, whichever engine adds it up."""

from __future__ import annotations

from collections.abc import Iterable

from kb_search.analysis import Term, query_terms
from kb_search.weighing import WEIGHTS, is_held, weigh

HELD = {
    ("stem", "error"): 40,
    ("exact", "error"): 38,
    ("ident", "error"): 5,
    ("stem", "colour"): 9,
    ("stem", "color"): 30,
    ("exact", "color"): 28,
}


class Counted:
    """Frequencies of a few words among a thousand passages."""

    total, documents = 1000, 100

    def frequency(self, field: str, term: str, /) -> int:
        return HELD.get((field, term), 0)

    def held(self, places: Iterable[tuple[str, str]], /) -> dict[tuple[str, str], int]:
        return {place: HELD[place] for place in places if place in HELD}


def test_a_form_that_nothing_holds_raises_no_weight() -> None:
    """The *errour* of *error* would be the rarest of all words."""
    alone = Term("word", "error", ("error",))
    other = Term("word", "error", ("error", "errour"))

    assert weigh([other], Counted(), WEIGHTS).terms == weigh([alone], Counted(), WEIGHTS).terms


def test_both_spellings_of_a_word_are_asked_for() -> None:
    asked = weigh(query_terms("colour", ("en",)), Counted(), WEIGHTS).terms

    assert {(term.field, term.text) for term in asked} == {("stem", "colour"), ("stem", "color")}


def test_no_more_is_asked_of_a_word_than_whether_anything_holds_it() -> None:
    class Asked(Counted):
        def frequency(self, field: str, term: str, /) -> int:
            asked.append((field, term))
            return super().frequency(field, term)

    asked: list[tuple[str, str]] = []

    assert is_held(Asked(), Term("word", "error", ("error",)))
    assert asked == [("stem", "error")]
    assert not is_held(Asked(), Term("word", "zebra", ("zebra",)))
