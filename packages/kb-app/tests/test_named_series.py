"""Documents that a question names: which they are, and what is asked of them."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from kb_app._ask.narrowing import Titled, named


def report(company: str, quarter: int, year: int, lang: str = "en") -> Titled:
    """Return a report that is called by its letters, and names its company on its cover."""
    path = f"{year} Q{quarter} {company[:3].upper()}.pdf"
    over = f"{path.removesuffix('.pdf')} Form 10-Q Quarterly report {company} Inc. of Delaware"
    return Titled(path, path, over, lang)


REPORTS = [report(name, n, 2022) for name in ("Zenith", "Nadirsoft") for n in (1, 2, 3)]


@pytest.mark.parametrize(
    ("question", "paths", "rest"),
    [
        (
            "What was Zenith's gross margin in Q2 2022?",
            ["2022 Q2 ZEN.pdf"],
            "What was gross margin in ?",
        ),
        (
            "How have inventories of Nadirsoft changed?",
            ["2022 Q1 NAD.pdf", "2022 Q2 NAD.pdf", "2022 Q3 NAD.pdf"],
            "How have inventories of changed?",
        ),
        (
            "In the third quarter of 2022, what did Zenith spend on research?",
            ["2022 Q3 ZEN.pdf"],
            "In the of , what did spend on research?",
        ),
        (
            "What was the gross margin in the latest report of Zenith?",
            ["2022 Q3 ZEN.pdf"],
            "What was the gross margin in the of ?",
        ),
    ],
    ids=["name and quarter", "name alone", "quarter in words", "the latest"],
)
def test_a_question_is_narrowed_to_the_documents_that_it_names_best(
    question: str, paths: list[str], rest: str
) -> None:
    found = named(question, REPORTS)

    assert found is not None
    assert sorted(found.doc_ids) == paths
    assert found.rest == rest


def test_a_name_tells_before_any_number_of_figures() -> None:
    found = named("What were sales of Zenith in Q4 2022?", [*REPORTS, report("Other", 4, 2022)])

    assert found is not None
    assert {path[-7:-4] for path in found.doc_ids} == {"ZEN"}
    assert found.by == ("Zenith", "2022")


@pytest.mark.parametrize(
    "question",
    ["what was the gross margin", "What did Umbra earn?", "and of Zenith in Q2 2022?", ""],
    ids=["names nothing", "names another", "asks nothing", "empty"],
)
def test_what_names_no_document_or_asks_nothing_of_it_stays_as_it_was(question: str) -> None:
    assert named(question, REPORTS) is None


def test_the_latest_is_told_by_numbers_alone_and_not_by_other_words() -> None:
    both = [report("Zenith", 1, 2021), Titled("b", "zenith/notes 9.pdf", "Zenith", "en")]

    found = named("what does the latest note of Zenith say of rent", both)

    assert found is not None
    assert len(found.doc_ids) == 2


@given(st.text(max_size=80), st.lists(st.sampled_from(REPORTS), max_size=4, unique=True))
def test_nothing_is_made_up(question: str, documents: list[Titled]) -> None:
    found = named(question, documents)

    if found is not None:
        assert set(found.doc_ids) <= {document.doc_id for document in documents}
        assert len(found.rest) <= len(question)
        assert found.by
