"""What a person typed becomes words, requirements and filters, and nothing raises."""

from __future__ import annotations

import pytest
from hypothesis import example, given, strategies as st

from kb_app._search.query import parse_query
from kb_core.filters import And, Not, Tagged, Words
from kb_core.search import Clause


def must(text: str, *, phrase: bool = False) -> Clause:
    return Clause(text, phrase=phrase, kind="must")


@pytest.mark.parametrize(
    ("typed", "clauses"),
    [
        ("how are chunks cut", [Clause("how are chunks cut")]),
        ("bread and butter or not", [Clause("bread and butter or not")]),
        ('"new york"', [must("new york", phrase=True)]),
        ('museum "new york" hours', [Clause("museum hours"), must("new york", phrase=True)]),
        ("red AND apples", [must("red"), must("apples")]),
        ("sweet red AND apples", [Clause("sweet"), must("red"), must("apples")]),
        ("a AND b AND c", [must("a"), must("b"), must("c")]),
        ('"new york" AND museum', [must("new york", phrase=True), must("museum")]),
        ("red OR green", [Clause("red green")]),
        ('"new york" OR boston', [Clause("new york boston"), Clause("new york", phrase=True)]),
        (
            'how are "tuned" weights of a ranking function found for a collection',
            [
                Clause("how are tuned weights of a ranking function found for a collection"),
                Clause("tuned", phrase=True),
            ],
        ),
        ("a AND b OR c", [Clause("a b c")]),
        ("AND", [Clause("AND")]),
        ("AND red", [must("red")]),
        ("red AND", [must("red")]),
        ("OR AND NOT", [Clause("NOT")]),
        ("-AND", [Clause("-AND")]),
        ("HOW ARE RED AND GREEN APPLES TOLD", [Clause("HOW ARE RED AND GREEN APPLES TOLD")]),
        ("RED OR GREEN NOT BLUE", [Clause("RED OR GREEN NOT BLUE")]),
        ("RFC 9110 AND TLS", [Clause("RFC 9110 AND TLS")]),
        ("검색 AND 인덱스", [must("검색"), must("인덱스")]),
        ("1984 AND 2010", [must("1984"), must("2010")]),
        ('""', [Clause('""')]),
        ('"..."', [Clause("...")]),
        ("http://a.b/c?d=e", [Clause("http://a.b/c?d=e")]),
        ("well-known -- dash", [Clause("well-known -- dash")]),
    ],
)
def test_words_are_ranked_by_and_quotes_and_and_require(typed: str, clauses: list[Clause]) -> None:
    assert list(parse_query(typed).lexical.clauses) == clauses


@pytest.mark.parametrize(
    ("typed", "where"),
    [
        ("red -green", Not(Words("body", "green"))),
        ("red NOT green", Not(Words("body", "green"))),
        ('red -"dark green"', Not(Words("body", "dark green", phrase=True))),
        ("red title:green", Words("title", "green")),
        ('red path:"a b"', Words("path", "a b", phrase=True)),
        ("red tag:x", Tagged(("x",))),
        ("red -tag:x", Not(Tagged(("x",)))),
        ("red NOT title:x", Not(Words("title", "x"))),
        ("red NOT -green", Not(Words("body", "green"))),
        (
            "red tag:x -green",
            And((Tagged(("x",)), Not(Words("body", "green")))),
        ),
        ("red AND NOT green", Not(Words("body", "green"))),
        ("red", None),
        ("red NOT", None),
        ("title:", None),
    ],
)
def test_exclusions_and_fields_are_filters(typed: str, where: object) -> None:
    assert parse_query(typed).where == where


def test_a_query_of_filters_alone_is_ranked_by_its_text() -> None:
    assert parse_query("title:storage").lexical.clauses == (Clause("title:storage"),)


@pytest.mark.parametrize(
    ("typed", "spoken"),
    [
        ('museum "new york" hours', "museum new york hours"),
        ("red AND green -blue tag:x", "red green"),
        ("tag:x", "tag:x"),
    ],
)
def test_the_vector_channel_reads_the_words_once_and_in_order(typed: str, spoken: str) -> None:
    assert parse_query(typed).text == spoken


@given(st.lists(st.sampled_from(["the", "cache", "of", "and", "or", "not", "http://x", "a-b"])))
def test_18_a_plain_question_requires_nothing(words: list[str]) -> None:
    parsed = parse_query(" ".join(words))

    assert {clause.kind for clause in parsed.lexical.clauses} == {"should"}
    assert parsed.where is None


@given(
    st.text()
    | st.lists(st.sampled_from(["AND", "OR", "NOT", "-", '"', "a", "b:c", "tag:", "tag:t"])).map(
        " ".join
    )
)
@example("\x00")
@example('-"')
def test_no_text_raises_and_there_is_always_a_clause(text: str) -> None:
    parsed = parse_query(text)

    assert parsed.lexical.clauses
    assert all(clause.kind in {"should", "must"} for clause in parsed.lexical.clauses)
