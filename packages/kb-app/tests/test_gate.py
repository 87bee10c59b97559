"""What the gate makes of evidence: its kind, what it lacks, and when an answer is weak."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import pytest
from hypothesis import given, strategies as st

from kb_app._ask.evidence import Evidence, evidence_of
from kb_app._ask.extract import extract_of, extracts, is_lacking, ranked
from kb_app._ask.facts import particulars
from kb_app._ask.gate import (
    Gate,
    Kind,
    chance_of,
    doubts,
    gate_of,
    is_measured,
    judged,
    kind_of,
)
from kb_core.ports import StoredChunk
from kb_core.search import KnownWord, KnownWords, PartReading

MODEL = "multilingual-e5-small"
REPORT = (
    "Net sales of the quarter rose by {} percent against the same quarter of the year before, "
    "which was mostly due to higher prices and to more customers in every region that we serve."
)
PROSE = "The tower was built in 1889 for a fair. It is made of iron."


class Near:
    """A close reader that finds every part equally near, but for one word of the question."""

    def __init__(self, nearness: float, farthest: float | None = None) -> None:
        self._nearness = nearness
        self._farthest = nearness if farthest is None else farthest

    def read(
        self, _query: str, passages: Sequence[Sequence[str]], /, **_: object
    ) -> list[tuple[PartReading, ...]]:
        nearest = (self._nearness, self._nearness, self._farthest)
        reading = PartReading(nearest, self._nearness)
        return [tuple(reading for _ in parts) for parts in passages]


def chunk(
    text: str, *, title: str = "Note", media: str = "markdown", lang: str = "en"
) -> StoredChunk:
    """Return what evidence looks at of a chunk."""
    over = {
        "title": title,
        "doc_id": title,
        "heading_path": (),
        "path": "n.md",
        "code_lang": None,
        "doc_date": None,
        "mtime_ns": 0,
    }
    return cast("StoredChunk", {"text": text, "lang": lang, "media": media, **over})


def evidence(
    question: str,
    chunks: Sequence[StoredChunk],
    *,
    nearness: float = 0.85,
    farthest: float | None = None,
    share: float = 1.0,
    indexed: int | None = None,
) -> Evidence:
    """Return the evidence that *chunks* are for *question*."""
    known = KnownWords(share=share, full_match=1.0, words=(KnownWord(("sale",), 1.0),))
    scores = [1 / place for place in range(1, len(chunks) + 1)]
    reader = Near(nearness, farthest)
    found = evidence_of(question, chunks, scores, known, reader, indexed=indexed)
    assert found is not None
    return found


class NearerLater(Near):
    """A close reader that finds later parts nearer."""

    def read(
        self, _query: str, passages: Sequence[Sequence[str]], /, **_: object
    ) -> list[tuple[PartReading, ...]]:
        return [
            tuple(PartReading((0.8 + at / 50,), 0.8) for at in range(len(parts)))
            for parts in passages
        ]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("# Sales\n\nIt is counted. Then it ends.\n", "It is counted."),
        ("Sales\n=====\n\nIt is counted. Then it ends.\n", "It is counted."),
        (".. data:: sales\n\n   It is counted. Then it ends.\n", "It is counted."),
        ("# Costs\n\nIt is counted. Then it ends.\n", "Then it ends."),
        ("It is counted. Then it ends.\n", "Then it ends."),
    ],
)
def test_who_asks_for_a_name_is_told_what_is_first_said_below_it(text: str, first: str) -> None:
    known = KnownWords(share=1.0, full_match=1.0, words=(KnownWord(("sale",), 1.0),))
    found = evidence_of("what are sales", [chunk(text)], [1.0], known, NearerLater(0.8))
    assert found is not None

    best = ranked(found)[0].piece.unit
    assert text[best.start : best.end] == first


TRAINS = """| Train | Platform | Leaves |
|---|---|---|
| S 1 | 3 | 12:00 |
| RE 7 | 4 | 11:15 |
"""


@pytest.mark.parametrize(
    ("question", "is_there"),
    [
        ("When does RE 7 leave?", True),
        ("When does the RE7 leave?", True),
        ("From which platform does S 1 leave?", True),
        ("Which train leaves from Platform 4?", True),
        ("Which trains did leave in May 2024?", True),
        ("Which trains leave within 9 minutes?", True),
        ("When does RE 9 leave?", False),
        ("When does RE 12 leave?", False),
        ("From which platform does S 2 leave?", False),
        ("When does ICE 4 leave?", False),
        ("When does S 7 leave?", False),
        ("Which train leaves from Platform 9?", False),
        ("Which train leaves from platform 4?", True),
        ("Which train leaves from platform 7?", False),
        ("When does the S1 leave?", True),
        ("When does the S7 leave?", False),
        ("Which trains leave before 9?", True),
    ],
)
def test_a_row_of_another_name_with_its_number_is_no_answer(question: str, is_there: bool) -> None:
    """Whatever else has that number, as shelves of other tables do."""
    sure = Gate((5.0, *[0.0] * 9), 0.35, 0.6)
    known = KnownWords(share=1.0, full_match=1.0, words=(KnownWord(("leav",), 1.0),))
    chunks = [chunk(TRAINS), chunk("Parts are on shelf 2, 9 and 12.")]
    found = evidence_of(question, chunks, [1.0, 0.5], known, NearerLater(0.8))
    assert found is not None

    assert (chance_of(found, sure) > 0.9) == is_there


@pytest.mark.parametrize(
    ("question", "is_there"),
    [
        ("Who has room 12?", True),
        ("Who has room 15?", True),
        ("Who has room 18?", True),
        ("Who has room 20?", False),
        ("Who has room 13?", False),
        ("Who has the R9?", False),
        ("Who has the R8?", True),
        ("Who has 13 keys?", True),
    ],
)
def test_an_item_of_a_list_of_others_is_no_answer(question: str, is_there: bool) -> None:
    sure = Gate((5.0, *[0.0] * 9), 0.35, 0.6)
    known = KnownWords(share=1.0, full_match=1.0, words=(KnownWord(("who",), 1.0),))
    rooms = "Who has which:\n\n- Room 12: Anna\n- Rooms 15, 17-19: Ben\n- R8: Cleo\n"
    chunks = [chunk(rooms), chunk("There are 13 rooms, and 9 keys.\n\n| 13 | keys |\n")]
    found = evidence_of(question, chunks, [1.0, 0.5], known, NearerLater(0.8))
    assert found is not None

    assert (chance_of(found, sure) > 0.9) == is_there


@pytest.mark.parametrize(
    ("question", "is_there"),
    [
        ("When does the flight to Oslo leave?", True),
        ("When does the flight to Paris leave?", False),
        ("When does Dr. Hill fly?", True),
        ("When does Dr. Wood fly?", False),
        ("Which flight leaves at 11:40?", True),
        ("Which flight leaves at 12:40?", False),
        ("Which flight leaves after 12:40?", True),
        ("Which flight leaves from gate 4?", True),
        ("Which flight leaves from gate 9?", False),  # though one leaves at 09:10
        ("What is there on 2024-05-02?", False),
        ("When does KLM fly to Oslo?", True),  # one of the names is told
    ],
)
def test_no_item_answers_for_a_name_or_a_time_that_none_of_them_has(
    question: str, is_there: bool
) -> None:
    sure = Gate((5.0, *[0.0] * 9), 0.35, 0.6)
    words = tuple(KnownWord((word,), 1.0) for word in ("flight", "oslo", "hill"))
    known = KnownWords(share=1.0, full_match=1.0, words=words)
    flights = (
        "- 2024-05-01 09:10 Oslo, gate 4, Dr. Hill\n- 2024-05-01 11:40 Bergen, gate 7\n"
        "- 2024-05-03 15:05 Rome, gate 2\n"
    )
    found = evidence_of(question, [chunk(flights)], [1.0], known, NearerLater(0.8))
    assert found is not None

    assert (chance_of(found, sure) > 0.9) == is_there


def test_a_row_of_another_time_is_no_answer() -> None:
    sure = Gate((5.0, *[0.0] * 9), 0.35, 0.6)
    known = KnownWords(share=1.0, full_match=1.0, words=(KnownWord(("train",), 1.0),))
    trains = "| Train | Leaves |\n|---|---|\n| IC 5 | 10:05 |\n| RE 7 | 11:15 |\n"

    def chance(question: str) -> float:
        found = evidence_of(question, [chunk(trains)], [1.0], known, NearerLater(0.8))
        assert found is not None
        return chance_of(found, sure)

    assert chance("Which train leaves at 11:15?") > 0.9
    assert chance("Which train leaves at 11:30?") == 0.0
    assert chance("Which is the next train at 11:30?") > 0.0


class NearBy(Near):
    """A close reader that knows how near each part is, by its words."""

    def __init__(self, **nearness: float) -> None:
        self._known = nearness

    def read(
        self, _query: str, passages: Sequence[Sequence[str]], /, **_: object
    ) -> list[tuple[PartReading, ...]]:
        near = [[self._known[part.split()[0].lower()] for part in parts] for parts in passages]
        return [tuple(PartReading((each,), each) for each in parts) for parts in near]


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("Tenant is Ann. Rent is 860. Heating is old.", ["Tenant is Ann. Rent is 860."]),
        ("Tenant is Ann. Heating is old. Rent is 860.", ["Tenant is Ann.", "Rent is 860."]),
        ("Tenant is Ann pays rent. Rent is 860.", ["Tenant is Ann pays rent."]),
    ],
)
def test_a_sentence_beside_says_what_is_asked_of_whom_the_first_names(
    text: str, quoted: list[str]
) -> None:
    words = (KnownWord(("ann",), 1.0), KnownWord(("rent",), 1.0))
    known = KnownWords(share=1.0, full_match=1.0, words=words)
    reader = NearBy(tenant=0.9, rent=0.85, heating=0.85)
    found = evidence_of("what rent does Ann pay", [chunk(text)], [1.0], known, reader)
    assert found is not None

    assert [each.text for each in extracts(found)] == quoted


class NearByEnd(NearBy):
    """The same, by their last words."""

    def read(
        self, query: str, passages: Sequence[Sequence[str]], /, **_: object
    ) -> list[tuple[PartReading, ...]]:
        return super().read(query, [[part.split()[-1][:-1] for part in each] for each in passages])


@pytest.mark.parametrize(
    ("text", "near"),
    [("None were made. Sales rose.", 0.5), ("None were made. Costs rose.", 0.9)],
    ids=["the text says it, too", "only the title says it"],
)
def test_a_title_is_read_where_it_alone_says_what_is_asked_about(text: str, near: float) -> None:
    """It is no unit: nothing of it is quoted."""
    known = KnownWords(share=1.0, full_match=1.0, words=(KnownWord(("sale",), 1.0),))
    titled = cast("StoredChunk", {**chunk(text), "title": "Annual sales"})
    reader = NearBy(none=0.4, costs=0.5, sales=0.5, annual=0.9)
    found = evidence_of("what are sales", [titled], [1.0], known, reader)
    assert found is not None

    assert found.passages[0].nearness == near
    assert [piece.reading.cosine for piece in found.passages[0].pieces] == [0.4, 0.5]


def test_the_likeliest_stands_first_and_the_others_as_they_are_written() -> None:
    known = KnownWords(share=1.0, full_match=1.0, words=(KnownWord(("sale",), 1.0),))
    chunks = [
        chunk("Costs of sale fell. Nothing rose. Prices of sale are low."),
        chunk("Sales are twelve. Shops had none."),
    ]
    reader = NearBy(costs=0.88, nothing=0.5, prices=0.87, sales=0.89, shops=0.5)
    found = evidence_of("what are sales", chunks, [1.0, 0.9], known, reader)
    assert found is not None

    assert [each.text for each in extracts(found)] == [
        "Sales are twelve.",
        "Costs of sale fell.",
        "Prices of sale are low.",
    ]


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("- Tom: 2 May\n- Sale: 3 May\n- Ann: 4 May\n", ["Sale: 3 May"]),
        ("- Tom – 2 May\n- Sale – 3 May\n- Ann – 4 May\n", ["Sale – 3 May"]),
        ("Tom: 2 May\nSale: 3 May\nAnn: 4 May\n", ["Sale: 3 May"]),
        ("- Tom: a sale\n- Bob: 3 May\n- Ann: 4 May\n", ["Tom: a sale\n- Bob: 3 May"]),
    ],
)
def test_of_a_list_of_labels_the_line_answers_whose_label_is_asked_for(
    text: str, quoted: list[str]
) -> None:
    known = KnownWords(share=1.0, full_match=1.0, words=(KnownWord(("sale",), 1.0),))
    found = evidence_of("when is the sale", [chunk(text)], [1.0], known, Near(0.85))
    assert found is not None

    assert [each.text for each in extracts(found)] == quoted


def test_a_label_answers_that_is_asked_for_below_the_name_of_what_has_it() -> None:
    words = (KnownWord(("sale",), 3.0), KnownWord(("default",), 1.0))
    known = KnownWords(share=1.0, full_match=1.0, words=words)
    text = "Told of a sale when it comes.\n\nDefault: `100`\n\nMore of sale and sale.\n"
    named = cast("StoredChunk", {**chunk(text), "heading_path": ["sale (Number)"]})
    quoted = []
    for each in (named, chunk(text)):
        found = evidence_of("the default of sale", [each], [1.0], known, Near(0.85))
        assert found is not None
        quoted.append(ranked(found)[0].piece.text)

    assert quoted == ["Default: `100`", "Told of a sale when it comes."]


def test_a_name_over_a_label_is_asked_for_by_its_parts() -> None:
    """``bodyLimit`` is the body limit; and an anchor says nothing, though it is called so."""
    words = (KnownWord(("bodi",), 1.0), KnownWord(("limit",), 1.0), KnownWord(("default",), 1.0))
    known = KnownWords(share=1.0, full_match=1.0, words=words)
    said = "The default body reader replies if a body is over this limit, and says so."
    text = f'<a id="body-limit-default"></a>\n\nDefault: `1048576`\n\n{said}\n'
    named = cast("StoredChunk", {**chunk(text), "heading_path": ["bodyLimit"], "lang": "en"})

    found = evidence_of("the default body limit", [named], [1.0], known, Near(0.85))

    assert found is not None
    quoted = extracts(found)
    assert quoted[0].text.startswith("Default: `1048576`")


@pytest.mark.parametrize(
    ("dates", "nearness", "quoted"),
    [
        ((1, 2, 3), 0.87, ["Sales come in May.", "Sales come in July."]),
        ((1, 3, 2), 0.87, ["Sales come in May.", "Sales come in June."]),
        ((3, 2, 1), 0.87, ["Sales come in May."]),
        ((None, 2, 3), 0.87, ["Sales come in May."]),
        ((1, None, None), 0.87, ["Sales come in May."]),
        ((1, 2, 3), 0.7, ["Sales come in May.", "Sales come in June."]),
    ],
)
def test_what_a_newer_note_says_of_the_same_is_said(
    dates: tuple[int | None, ...], nearness: float, quoted: list[str]
) -> None:
    known = KnownWords(share=1.0, full_match=1.0, words=(KnownWord(("sale",), 1.0),))
    texts = ["Sales come in May.", "Sales come in June.", "Sales come in July."]
    chunks = [
        cast("StoredChunk", {**chunk(text), "doc_date": date})
        for text, date in zip(texts, dates, strict=True)
    ]
    reader = NearByEnd(may=0.9, june=0.87, july=nearness)
    found = evidence_of("when are sales", chunks, [1.0, 0.5, 0.4], known, reader)
    assert found is not None

    assert [each.text for each in extracts(found)] == quoted


def test_a_value_of_front_matter_and_the_text_under_it_are_two_quotes() -> None:
    known = KnownWords(share=1.0, full_match=1.0, words=(KnownWord(("sale",), 1.0),))
    note = chunk("---\nsales: twelve\n---\nShops had sales.\n")
    found = evidence_of("what are sales", [note], [1.0], known, Near(0.85))
    assert found is not None

    assert [each.text for each in extracts(found)] == ["sales: twelve", "Shops had sales."]


HEAD = """\
#include <kill.h>
// Time to exit before we kill.
#define KILL_TIMEOUT 2000
#define OTHER 1
"""
KEPT = 'OTHER = 1\nKILL_TIMEOUT = max(\n    1, 2000\n)\n"""Before we kill."""\nLAST = 2\n'


@pytest.mark.parametrize(
    ("head", "lang", "quoted"),
    [
        (HEAD, "c", "// Time to exit before we kill.\n#define KILL_TIMEOUT 2000"),
        (KEPT, "python", KEPT.partition("\n")[2].rpartition("\nLAST")[0]),
    ],
)
def test_what_gives_a_constant_its_value_is_quoted_and_nothing_around_it(
    head: str, lang: str, quoted: str
) -> None:
    known = KnownWords(share=1.0, full_match=1.0, words=(KnownWord(("kill", "timeout"), 1.0),))
    use = "start(kill, KILL_TIMEOUT, KILL_TIMEOUT)"
    code = [cast("StoredChunk", {**chunk(one, media="code"), "code_lang": lang})
            for one in (use, head)]  # fmt: skip
    found = evidence_of("how long is KILL_TIMEOUT", code, [1.0, 0.2], known, None)
    used = evidence_of("where is KILL_TIMEOUT used", code, [1.0, 0.2], known, None)
    assert found is not None
    assert used is not None

    assert [each.text for each in extracts(found)] == [quoted]
    assert use in [each.text for each in extracts(used)]


SERVICE = """\
class Service:
    # Where keys come from.
    source = None

    # How often sales are counted, by the clock of the shop.
    interval = 12

    # The most that is kept.
    most = 4
    least = 1

    # Whether it runs.
    runs = False
    is_over = False
"""


def test_of_long_code_the_block_is_quoted_that_answers_and_judged_is_all_of_it() -> None:
    known = KnownWords(share=1.0, full_match=1.0, words=(KnownWord(("sale",), 1.0),))
    code = cast("StoredChunk", {**chunk(SERVICE, media="code"), "code_lang": "python"})
    found = evidence_of("are sales counted", [code], [1.0], known, None)
    assert found is not None

    assert [each.text for each in extracts(found)] == [
        "# How often sales are counted, by the clock of the shop.\n    interval = 12"
    ]
    assert [piece.text for piece in found.passages[0].pieces] == [SERVICE.strip()]
    parts = found.passages[0].pieces[0].parts
    assert "".join("".join(part.text.split()) for part in parts) == "".join(SERVICE.split())


@pytest.mark.parametrize(
    ("text", "is_known"),
    [
        ("kill(KILL_TIMEOUT)", True),
        ("killTimeout: 2000", True),
        ("timeout of a kill, kill_every", False),
    ],
)
def test_a_constant_that_no_passage_has_is_answered_by_none(text: str, is_known: bool) -> None:
    found = evidence("how long is KILL_TIMEOUT", [chunk(text), chunk(PROSE)])
    gate = gate_of("multilingual-e5-small", found)
    assert gate is not None

    assert (chance_of(found, gate) > 0) == is_known
    said = [*doubts(found, gate, 0.9)]
    assert said == ([] if is_known else ["not mentioned by the evidence: KILL_TIMEOUT"])


@pytest.mark.parametrize(
    ("text", "lang", "named"),
    [
        ("What did Apple earn in Q3 2022?", "en", {"Apple", "Q3", "2022"}),
        ("Does the latest 10-Q of Intel say so?", "en", {"Intel"}),
        ("¿Qué hizo Marta en Sevilla?", "es", {"Marta", "Sevilla"}),
        ("Wie viele Räume hat das Haus der NATO seit 1967?", "de", {"NATO", "1967"}),
        ("Wie viele Räume hat das Haus der NATO seit 1967?", "en", {"NATO", "1967"}),
        ("Was Tesla born in Serbia?", "en", {"Tesla", "Serbia"}),
        ("Did it happen in May, and may it march in line?", "en", {"May"}),
        ("삼성의 2023년 매출은", "ko", {"2023"}),
        ("what is told by nothing", "en", set()),
    ],
)
def test_particulars_are_names_and_figures_and_no_other_word(
    text: str, lang: str, named: set[str]
) -> None:
    assert set(particulars(text, lang).values()) == named


@pytest.mark.parametrize(
    ("kind", "chunks"),
    [
        ("prose", [chunk(PROSE), chunk("Violins are tuned in fifths.")]),
        ("series", [chunk(REPORT.format(3)), chunk(PROSE), chunk(REPORT.format(5))]),
        ("talk", [chunk("Anna: where is it?\nBen Ott: on the shelf."), chunk("Anna: thanks!")]),
        ("code", [chunk("def a(): ...", media="code"), chunk("b = 1", media="code"), chunk(PROSE)]),
    ],
)
def test_a_kind_is_told_by_what_is_read_and_not_by_where_it_lies(
    kind: Kind, chunks: Sequence[StoredChunk]
) -> None:
    assert kind_of(evidence("what is it", chunks)) == kind


def test_a_month_that_stands_in_a_date_is_not_missing() -> None:
    found = evidence("why was it sent twice in May", [chunk("It was.", title="14 May 2026")])

    assert not found.missing


@pytest.mark.parametrize(
    ("question", "missing"),
    [("What was the sale in 2022?", frozenset()), ("What was the sale in 2019?", {"2019"})],
)
def test_a_year_that_stands_in_a_date_is_not_missing(question: str, missing: set[str]) -> None:
    found = evidence(
        question, [chunk("| | 2021-03 | 2022-03-01 |\n|---|---|---|\n| Sale | 5 | 6 |")]
    )

    assert found.missing == missing


@pytest.mark.parametrize(
    ("question", "row"),
    [
        ("How much was the sale in February 2024?", "| 2024-02 | 188 |"),
        ("Wie hoch war der Sale am 5. März 2024?", "| 05.03.2024 | 140 |"),
    ],
)
def test_a_row_of_a_month_in_figures_is_asked_for_by_its_name(question: str, row: str) -> None:
    table = "| Date | Sale |\n|---|---|\n| 2024-01 | 210 |\n| 2024-02 | 188 |\n| 05.03.2024 | 140 |"
    words = (KnownWord(("sale",), 1.0), KnownWord(("februari", "märz", "marz"), 1.0))
    known = KnownWords(share=1.0, full_match=1.0, words=words)

    found = evidence_of(question, [chunk(table)], [1.0], known, Near(0.85))

    assert found is not None
    header, *told = [piece.text for piece in found.passages[0].pieces if not piece.is_outdone]
    assert (header, told) == ("| Date | Sale |", [row])
    assert not found.missing


NORA = "## Nora\n- born 2014\n- shoes 36\n- sale in May"
EMIL = "## Emil\n- born 2017\n- shoes 29"


@pytest.mark.parametrize(
    ("question", "text", "unsaid"),
    [
        ("When is Emil's sale?", f"{NORA}\n\n{EMIL}", ["born 2014", "shoes 36", "sale in May"]),
        ("When is Nora's sale?", f"{NORA}\n\n{EMIL}", ["born 2017", "shoes 29"]),
        ("Is there a sale of Nora and Emil?", f"{NORA}\n\n{EMIL}", []),
        ("When is the sale?", f"{NORA}\n\n{EMIL}", []),
        ("When is Emil's sale?", f"{NORA}\n\n#{EMIL}", []),
        ("When is Emil's sale?", f"## Nora\n- sale in May\n- hat 36\n\n{EMIL}", []),
        ("When is Emil's sale?", f"## Nora\nHer sale: May.\n- shoes 36\n\n{EMIL}", []),
        ("When is Emil's sale?", f"{NORA} with Emil\n\n{EMIL}", ["born 2014", "shoes 36"]),
    ],
)
def test_what_is_told_of_others_in_a_section_like_it_answers_nothing(
    question: str, text: str, unsaid: list[str]
) -> None:
    (passage,) = evidence(question, [chunk(text, title="Kids")]).passages
    headings = [piece.text for piece in passage.pieces if piece.unit.kind == "heading"]

    assert [said for said in headings if not said.startswith("#")] == unsaid


@pytest.mark.parametrize(
    ("year", "title", "is_refused"),
    [("2021", "Sales", False), ("2018", "Sales", True), ("2018", "Sales of 2018", False)],
)
def test_a_row_is_of_no_year_that_its_table_lacks_though_another_passage_has_it(
    year: str, title: str, is_refused: bool
) -> None:
    table = "| Date | What |\n|---|---|\n| 2019-10-12 | sale, 140 |\n| 2021-10-20 | 155 |"
    found = evidence(
        f"how much was the sale in {year}",
        [chunk(table, title=title), chunk("Miso was born in June 2018.")],
    )
    gate = gate_of(MODEL, found)

    assert gate is not None
    assert (chance_of(found, gate) < gate.threshold) == is_refused


def test_a_name_that_stands_in_the_title_is_not_missing() -> None:
    found = evidence(
        "What were sales of Zenith in Q3 2022?",
        [
            chunk(REPORT.format(3), title="Zenith, Q2 2022"),
            chunk(REPORT.format(4), title="Nadir, Q3 2022"),
        ],
    )

    assert found.named == 3
    assert list(map(set, found.unnamed)) == [{"Q3"}, {"Zenith"}]
    assert found.lacking == pytest.approx(1 / 3)
    assert not found.missing


def test_among_reports_of_a_series_the_one_that_is_meant_is_told_by_its_name() -> None:
    reports = [chunk(REPORT.format(n), title=f"Zenith, Q{n} 2022") for n in (1, 2, 3)]

    def chance(question: str) -> float:
        found = evidence(question, reports)
        gate = gate_of(MODEL, found)
        assert gate is not None
        return chance_of(found, gate)

    named, other = (
        chance("What did Zenith sell in Q3 2022?"),
        chance("What did Nadir sell in 2031?"),
    )
    assert other < 0.35 < named


@pytest.mark.parametrize("texts", [[REPORT.format(1), REPORT.format(2)], ["Anna: no.", PROSE]])
def test_what_comes_near_in_nothing_is_refused_whatever_is_read(texts: list[str]) -> None:
    found = evidence("how are violins tuned", list(map(chunk, texts)), nearness=0.3)
    gate = gate_of(MODEL, found)

    assert gate is not None
    assert chance_of(found, gate) < gate.threshold


@pytest.mark.parametrize(
    ("question", "is_asked"),
    [("????", False), ("(…)", False), ("🎈", False), ("🎉", True), ("7?", True), ("왜", True)],
)
def test_what_has_no_word_and_no_symbol_of_a_passage_asks_nothing(
    question: str, is_asked: bool
) -> None:
    found = evidence(question, [chunk("The party 🎉 starts at 19:30.")], nearness=0.95)
    gate = gate_of(MODEL, found)

    assert gate is not None
    assert (chance_of(found, gate) > 0) is is_asked


def test_a_note_of_the_thing_that_does_not_say_what_is_asked_of_it_is_refused() -> None:
    report = chunk(REPORT.format(3))
    near = evidence("what is it", [report], nearness=0.95, farthest=0.9)
    far = evidence("what is it", [report], nearness=0.95, farthest=0.5)
    gate = gate_of(MODEL, far)

    assert gate is not None
    assert chance_of(far, gate) < gate.threshold < gate.sure < chance_of(near, gate)
    assert chance_of(far, replace(gate, says=None)) > chance_of(far, gate)


@given(
    nearness=st.floats(0.5, 1),
    share=st.sampled_from([0.2, 1.0]),
    texts=st.lists(
        st.sampled_from([REPORT.format(1), REPORT.format(2), PROSE, "Anna: no."]),
        min_size=1,
        max_size=5,
    ),
    question=st.sampled_from(["what is it", "what did Nadir sell in 2031?"]),
)
def test_a_chance_is_one_and_a_verdict_has_its_lines_in_order(
    nearness: float, share: float, texts: list[str], question: str
) -> None:
    found = evidence(question, list(map(chunk, texts)), nearness=nearness, share=share)
    gate = gate_of(MODEL, found)

    assert gate is not None
    assert 0 <= chance_of(found, gate) <= 1
    assert gate.threshold <= gate.sure
    assert 0 <= found.lacking <= 1
    assert len(found.missing) <= found.named


@pytest.mark.parametrize(
    ("chance", "said"),
    [(0.34, []), (0.35, ["weak evidence: confidence 0.35"]), (0.6, []), (None, [])],
)
def test_between_the_lines_an_answer_is_weak(chance: float | None, said: list[str]) -> None:
    gate = Gate((0.0,) * 10, 0.35, 0.6)

    assert list(doubts(evidence("what is it", [chunk(PROSE)]), gate, chance)) == said


def test_what_no_passage_mentions_is_said_in_the_order_of_the_question() -> None:
    found = evidence("Did Zenith meet Nadir in 1889?", [chunk(PROSE), chunk("Nothing of it.")])

    assert list(doubts(found, None, None)) == ["not mentioned by the evidence: Zenith, Nadir"]


@pytest.mark.parametrize(
    ("lang", "said"),
    [("en", []), ("und", ["not mentioned by the evidence: 1889, NADIR"])],
)
def test_in_another_language_no_name_is_held_against_the_evidence(
    lang: str, said: list[str]
) -> None:
    """Unless nothing tells that it is in another one, as of a list of times."""
    text = PROSE if lang == "en" else "- 09:10 Oslo\n- 11:40 Rome\n"
    question = "Hat Zenith 1889 NADIR getroffen?"
    found = evidence(question, [chunk(text, lang=lang)], share=0.0, indexed=100)

    assert found.is_foreign
    assert list(doubts(found, None, None)) == said


@pytest.mark.parametrize(
    ("share", "indexed", "is_foreign"),
    [(0.3, 1, False), (0.3, 4, False), (0.3, 5, True), (0.3, None, True), (0.2, 1, True)],
)
def test_few_passages_hold_few_words_of_any_language(
    share: float, indexed: int | None, *, is_foreign: bool
) -> None:
    found = evidence("zenith tower", [chunk(PROSE)], share=share, indexed=indexed)

    assert found.is_foreign is is_foreign


@pytest.mark.parametrize(
    ("question", "lang", "is_foreign"),
    [
        ("when was it built", "en", False),
        ("when was it built", "de", True),
        ("wann wurde er gebaut", "de", False),
        ("¿cuándo se construyó?", "en", True),
        ("いつ建てられましたか", "ja", False),
        ("东京塔何时建成", "zh", False),
        ("когда её построили", "en", True),
        ("was baut Anna", "en", False),  # German, by a word that is English, too
        ("when was it built", "fi", False),  # a language that no question is told by
    ],
)
def test_a_passage_in_another_language_than_the_question_is_known(
    question: str, lang: str, *, is_foreign: bool
) -> None:
    passage = cast("StoredChunk", {**chunk(PROSE), "lang": lang})

    assert evidence(question, [passage]).passages[0].is_foreign is is_foreign
    assert evidence(question, [passage], share=0.1).is_foreign is (is_foreign or lang == "fi")


@pytest.mark.parametrize("question", ["how much is it for the sale", "wer ist denn der Sale"])
def test_what_a_question_is_asked_with_hardly_counts(question: str) -> None:
    """Few notes hold these words, so that they would tell most."""
    words = tuple(KnownWord((word.lower(),), 3.0) for word in question.split())
    known = KnownWords(share=1.0, full_match=1.0, words=words)
    found = evidence_of(question, [chunk("A sale.")], [1.0], known, Near(0.85))
    assert found is not None

    assert found.asked(found.passages[0].held) > 0.6


def test_a_passage_that_holds_the_words_of_a_question_is_in_its_language() -> None:
    """A page that was translated in part is in one language or the other, as a whole."""
    page = cast("StoredChunk", {**chunk("A sale."), "lang": "pl"})
    other = cast("StoredChunk", {**chunk("A tower."), "lang": "pl"})
    found = evidence("when was the sale", [page, other])

    assert [passage.is_foreign for passage in found.passages] == [False, True]


def test_notes_in_another_language_answer_beside_those_that_only_come_near() -> None:
    known = KnownWords(share=1.0, full_match=1.0, words=(KnownWord(("sale",), 1.0),))
    chunks = [
        chunk("Rose bushes are pruned in May."),
        cast("StoredChunk", {**chunk("Umsatz war zwölf."), "lang": "de"}),
        cast("StoredChunk", {**chunk("Nichts davon."), "lang": "de"}),
    ]
    reader = NearBy(rose=0.78, umsatz=0.81, nichts=0.75)
    found = evidence_of("what are the sales", chunks, [1.0, 0.9, 0.8], known, reader)
    assert found is not None
    at_home, (abroad, across) = gate_of(MODEL, found), judged(MODEL, found)
    assert at_home is not None
    assert across is not None

    assert chance_of(found, at_home) < at_home.threshold
    assert chance_of(abroad, across) >= across.sure
    assert [each.text for each in extracts(abroad)] == ["Umsatz war zwölf."]
    assert not judged(MODEL, replace(found, passages=found.passages[:1]))[0].is_foreign
    lacking = (frozenset[str](), frozenset({"Zenith"}), frozenset({"Zenith"}))
    assert not judged(MODEL, replace(found, unnamed=lacking))[0].is_foreign


def test_notes_in_another_language_are_judged_by_how_near_they_come_not_by_their_words() -> None:
    words = tuple(KnownWord((word,), weight) for word, weight in (("sale", 3.0), ("zenith", 1.0)))
    known = KnownWords(share=1.0, full_match=1.0, words=words)
    gates, chances = [], []
    for said in ("Umsatz war zwölf.", "Umsatz Zenith: zwölf."):
        note, other = (
            cast("StoredChunk", {**chunk(text), "lang": "de"}) for text in (said, "Nichts davon.")
        )
        reader = NearBy(umsatz=0.81, nichts=0.75)
        found = evidence_of("what are the sales", [note, other], [1.0, 0.9], known, reader)
        assert found is not None
        gate = gate_of(MODEL, found)
        assert gate is not None
        gates.append(gate)
        chances.append(chance_of(found, gate))

    assert chances[0] == chances[1] > gates[0].sure


@pytest.mark.parametrize(
    ("lang", "text", "is_held"),
    [
        ("de", "150 g Salatgurke.", True),
        ("de", "Die Schgurken.", False),
        ("de", "Der Gurkensalat.", False),
        ("de", "Die Gurken.", True),
        ("en", "A salatgurke.", False),
    ],
)
def test_a_compound_holds_what_it_is_a_kind_of(lang: str, text: str, *, is_held: bool) -> None:
    note = cast("StoredChunk", {**chunk(text), "lang": lang})
    known = KnownWords(share=1.0, full_match=1.0, words=(KnownWord(("gurken", "gurk"), 1.0),))
    found = evidence_of("gurken", [note], [1.0], known, Near(0.8))
    assert found is not None

    assert bool(found.passages[0].held) is is_held


def test_a_number_that_is_said_of_something_else_is_none_of_the_answer() -> None:
    known = KnownWords(share=1.0, full_match=1.0, words=(KnownWord(("sale",), 1.0),))
    chunks = [chunk("Sales are good."), chunk("Costs are 12."), chunk("Sales are 9.")]
    found = evidence_of("sales", chunks, [1.0, 0.9, 0.8], known, NearBy(sales=0.8, costs=0.8))
    assert found is not None
    chosen = [extract_of(found, unit) for unit in sorted(ranked(found), key=lambda u: u.passage)]

    assert is_lacking(chosen[:2], "how many sales are there")
    assert not is_lacking(chosen, "how many sales are there")


def test_a_note_alone_leads_over_nothing_which_says_nothing_against_it() -> None:
    note = chunk("Sales are twelve.")
    alone = evidence("what are sales", [note], nearness=0.72, farthest=0.68)
    beside = evidence("what are sales", [note, note], nearness=0.72, farthest=0.68)
    gate = gate_of(MODEL, alone)
    assert gate is not None

    assert chance_of(alone, gate) > gate.threshold > chance_of(beside, gate)
    assert chance_of(alone, replace(gate, leads=(0.0, 0.0))) == chance_of(beside, gate)


def test_a_passage_that_leads_the_list_by_chance_says_nothing() -> None:
    known = KnownWords(share=1.0, full_match=1.0, words=(KnownWord(("sale",), 1.0),))
    chunks = [chunk("None of it."), chunk("Sales are twelve.")]
    reader = NearBy(none=0.68, sales=0.84)
    found = evidence_of("what are sales", chunks, [1.0, 0.9], known, reader)
    assert found is not None
    gate = gate_of(MODEL, found)
    assert gate is not None

    assert chance_of(found, gate) >= gate.threshold


def test_a_model_that_nobody_measured_has_no_gate() -> None:
    assert gate_of("another", evidence("what is it", [chunk(PROSE)])) is None
    assert is_measured(MODEL)
    assert is_measured("all-MiniLM-L6-v2")
    assert not is_measured("another")
