"""Documents that a question names: which they are, what is asked of them, and their rows."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from kb_app._ask.narrowing import Titled, named
from kb_app._ask.rows import label_of
from kb_app.testing.facade import ScriptedKnowledgeBase
from kb_core.answers import AskQuery
from kb_core.media import SearchMode
from kb_core.records import DocumentRecord
from kb_core.testing.documents import document


def report(company: str, quarter: int, year: int, lang: str = "en") -> Titled:
    """Return a report that is called by its letters, and names its company on its cover."""
    path = f"{year} Q{quarter} {company[:3].upper()}.pdf"
    over = f"{path.removesuffix('.pdf')} Form 10-Q Quarterly report {company} Inc. of Delaware"
    return Titled(path, path, over, lang)


REPORTS = [report(name, n, 2022) for name in ("Zenith", "Nadirsoft") for n in (1, 2, 3)]
REPORTS.append(Titled("c", "c.md", "Part 2 of the three tales", "en"))


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
    [
        "what was the gross margin",
        "What did Umbra earn?",
        "and of Zenith in Q2 2022?",
        "how do I compare two margins, or 3",
        "",
    ],
    ids=["names nothing", "names another", "asks nothing", "small numbers", "empty"],
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


# Rows


def filing(quarter: int, sales: int) -> DocumentRecord:
    """Return a report with a table whose lines were lost, as text of a page has it."""
    text = (
        f"# {quarter}\n\nUnited States Securities and Exchange Commission, quarterly report"
        f" on Form 10-Q of Zenith Inc. of Delaware for Q{quarter} 2022, by its officers\n\n"
        "Operations of three months (in millions): Products $ 6,000 $ 5,000"
        f" Services 1,100 1,090 Total net sales $ {sales} $ 5,901 Cost of sales 2,001 1,901"
        " Research and development 6,111 5,710 Net income $ 8,810 $ 7,710\n\n"
        "Net sales are what we were paid. Total demand may change over time, and so may sales.\n\n"
        + "The sea was calm. "
        * 500
    )
    return document(f"2022 Q{quarter} ZEN.md", text)


@pytest.fixture(scope="module")
def filings() -> ScriptedKnowledgeBase:
    return ScriptedKnowledgeBase(*(filing(quarter, 1000 + quarter) for quarter in (1, 2, 3)))


@pytest.mark.parametrize(
    ("row", "label"),
    [
        ("Total net sales 82,959 81,434", "Total net sales"),
        ("Total net sales\t82,959\t81,434\t2 %", "Total net sales"),
        ("| Gross margin | 40,215 | 16% |", "Gross margin"),
        ("Level 2 : Equity securities 1,527 — (564) 963 —", "Level 2 : Equity securities"),
        ("iPhone $ 39,669 $ 40,665 (2)% $ 156,778", "iPhone"),
        ("Repurchased (3,425) (4,399)", "Repurchased"),
        ("Tax 12,000 n/a", "Tax"),
        ("売上高 1,234 2,345", "売上高"),
        ("| Cats | 3 |", "Cats"),
        ("NOTE 16 —", ""),
        ("Statements for the Three Months Ended September 30, 2022 and 2021 6", ""),
        ("| rent | due monthly |", ""),
        ("2023 12 14", ""),
        ("", ""),
    ],
)
def test_a_label_is_what_stands_before_the_figures_of_a_row(row: str, label: str) -> None:
    assert label_of(row) == label


@given(st.text(max_size=60), st.text(alphabet="09,.%$()—| \txE年", max_size=30))
def test_a_label_is_a_part_of_its_row_and_found_in_time_that_grows_with_it(
    name: str, cells: str
) -> None:
    row = f"{name} {cells * 50}"

    assert label_of(row) in row


@pytest.mark.parametrize(
    ("question", "quotes"),
    [
        (
            "How have total net sales of Zenith changed?",
            [f"Total net sales $ {sales} $ 5,901" for sales in (1001, 1002, 1003)],
        ),
        ("What were total net sales of Zenith in Q2 2022?", ["Total net sales $ 1002 $ 5,901"]),
        ("How did R&D of Zenith go in Q3 2022?", ["Research and development 6,111 5,710"]),
        (
            "How do cost of sales of Zenith in Q1 2022 compare to net income?",
            ["Cost of sales 2,001 1,901", "Net income $ 8,810 $ 7,710"],
        ),
    ],
    ids=["in each of a series", "of one", "abbreviated", "two labels"],
)
def test_a_figure_of_a_series_is_answered_by_the_rows_of_its_name(
    filings: ScriptedKnowledgeBase, question: str, quotes: list[str]
) -> None:
    answer = filings.answer(AskQuery(text=question))

    assert answer.refusal is None
    shown = [one.quote for one in answer.citations]
    assert [quote for quote in shown if quote in quotes] == quotes
    assert shown[: len(quotes)] == quotes or set(shown[: len(quotes)]) == set(quotes)
    assert {one.hit.chunk_id for one in answer.citations} <= {hit.chunk_id for hit in answer.hits}


def manual(name: str) -> DocumentRecord:
    cover = "This manual tells how to use what you have bought, and how to be safe with it."
    parts = (
        f"## {name}{n}\n\nThe pump " + " ".join(f"{name}{n}x{word}" for word in range(80))
        for n in range(12)
    )
    return document(f"{name}.md", f"# Of {name}\n\n{cover * 12}\n\n" + "\n\n".join(parts))


def test_manuals_that_begin_alike_are_no_series_unless_a_row_answers() -> None:
    kb = ScriptedKnowledgeBase(manual("Zenith"), manual("Nadirsoft"))

    answer = kb.answer(AskQuery(text="pump of Zenith", mode=SearchMode.LEXICAL, explain=True))

    assert "narrow" not in {stage.name for stage in answer.stages}


@pytest.mark.parametrize("text", ["thanks", "Thank you!", "ok"])
def test_what_asks_nothing_is_not_searched(filings: ScriptedKnowledgeBase, text: str) -> None:
    answer = filings.answer(AskQuery(text=text))

    assert (answer.refusal, answer.citations) == ("no_chunks", ())
    assert answer.warnings == ("nothing is asked: nothing was read",)


def test_a_row_that_nobody_asks_for_is_no_answer(filings: ScriptedKnowledgeBase) -> None:
    answer = filings.answer(AskQuery(text="who wrote the sailing manual of Zenith in Q2 2022?"))

    assert not any("$" in one.quote for one in answer.citations)
