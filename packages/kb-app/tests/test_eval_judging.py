"""What the hits of a question are worth: as targets, as documents, within a budget, in groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kb_app._evals import figures
from kb_app._evals.binding import Bound, Target
from kb_app._evals.judging import Found, judge, summed
from kb_app._evals.running import read_variant
from kb_app.testing.facade import hit, response
from kb_core.errors import InvalidInput
from kb_core.evals import EvalCase, EvalOptions, EvalVariant
from kb_core.media import SearchMode


def target(expected: str, **fields: Any) -> Target:  # noqa: ANN401 - of Target
    usual: dict[str, Any] = {"kind": "place", "grade": 1, "status": "unchanged"}
    return Target(expected=expected, **usual | fields)


def bound(*targets: Target, **fields: Any) -> Bound:  # noqa: ANN401 - of EvalCase
    grades = {one.expected: one.grade for one in targets}
    return Bound(EvalCase(id="a", query="b", expected_docs=grades, **fields), targets)


def found(*chunks: tuple[str, str], chars: int = 400, **fields: Any) -> Found:  # noqa: ANN401
    hits = [
        hit(rank=rank, chunk_id=chunk, doc_id=doc) for rank, (chunk, doc) in enumerate(chunks, 1)
    ]
    return Found(response(*hits, **fields), dict.fromkeys((chunk for chunk, _ in chunks), chars))


def test_a_passage_is_found_at_the_first_chunk_that_has_it() -> None:
    case = bound(target("a.md#L1", chunk_ids=frozenset({"c2", "c3"})))

    asked = judge(case, found(("c1", "d1"), ("c2", "d1"), ("c3", "d1")), 10)

    assert asked["ranks"] == {"a.md#L1": 2}
    assert asked["figures"]["mrr@10"] == 0.5
    assert [one["met"] for one in asked["hits"]] == [[], ["a.md#L1"], ["a.md#L1"]]


def test_documents_rank_by_their_best_chunk_where_only_documents_are_expected() -> None:
    case = bound(target("b.md", kind="doc", doc_id="d2"))

    asked = judge(case, found(("c1", "d1"), ("c2", "d1"), ("c3", "d2")), 10)

    assert asked["ranks"] == {"b.md": 2}


def test_a_document_and_a_passage_may_be_expected_together() -> None:
    case = bound(
        target("a.md", kind="doc", doc_id="d1"),
        target("a.md#L9", chunk_ids=frozenset({"c2"}), grade=2),
    )

    asked = judge(case, found(("c1", "d1"), ("c2", "d1")), 10)

    assert asked["ranks"] == {"a.md": 1, "a.md#L9": 2}
    assert asked["figures"]["recall@10"] == 1


@given(st.lists(st.sampled_from("abcdef"), max_size=12), st.sets(st.sampled_from("abcdef")))
def test_of_documents_the_figures_are_those_of_the_ranking_by_best_chunk(
    docs: Sequence[str], relevant: set[str]
) -> None:
    case = bound(*(target(doc, kind="doc", doc_id=doc) for doc in sorted(relevant)))

    asked = judge(case, found(*((f"c{n}", doc) for n, doc in enumerate(docs))), 10)

    ranking = list(dict.fromkeys(docs))
    grades = dict.fromkeys(relevant, 1)
    if relevant:
        assert asked["figures"]["ndcg@10"] == figures.ndcg(ranking, grades)
        assert asked["figures"]["precision@5"] == figures.precision(ranking, grades, 5)
    assert "ndcg@10" in asked["figures"] or not relevant


def test_a_budget_counts_whole_passages_up_to_the_one_that_answers() -> None:
    case = bound(target("x", chunk_ids=frozenset({"c3"})))

    asked = judge(case, found(("c1", "d"), ("c2", "d"), ("c3", "d"), chars=1600), 10)

    told = {name: value for name, value in asked["figures"].items() if name.endswith("t")}
    assert told == {"recall@500t": 0, "recall@1000t": 0, "recall@2000t": 1}


@pytest.mark.parametrize(("confidence", "right"), [(0.01, 1.0), (0.9, 0.0)])
def test_a_question_that_nothing_answers_is_judged_by_whether_that_is_said(
    confidence: float, right: float
) -> None:
    case = Bound(EvalCase(id="a", query="b"), ())

    asked = judge(case, found(("c1", "d"), confidence=confidence), 10)

    assert asked["figures"] == {"doubt": right}


def test_a_group_is_as_consistent_as_its_questions_share_hits() -> None:
    def asked(case: str, *chunks: str) -> Any:  # noqa: ANN401 - Asked
        return {"case": case, "hits": [{"chunk_id": one} for one in chunks], "ms": 1.0}

    told = summed(
        [asked("a", "1", "2"), asked("b", "2", "3"), asked("c", "9")], {"a": "g", "b": "g"}
    )

    (consistency,) = told["figures"]
    assert (consistency["name"], consistency["count"]) == ("consistency", 1)
    assert consistency["mean"] == pytest.approx(1 / 3)


def test_a_variant_is_read_as_its_name_says_it() -> None:
    told = EvalVariant(mode=SearchMode.LEXICAL, rerank=True, per_doc=2)

    assert read_variant(told.name) == told
    assert read_variant("rerank=false") == EvalVariant(rerank=False)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fast", "mode 'fast' is not one of"),
        ("hybrid,pool=3", "'pool=3' is not one of"),
        ("hybrid,rerank=maybe", "'rerank=maybe'"),
        ("fusion=sum", "fusion 'sum' is not auto or rrf"),
    ],
)
def test_a_variant_that_is_none_is_refused(text: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        read_variant(text)


def test_a_variant_is_measured_once() -> None:
    with pytest.raises(InvalidInput, match="each is measured once"):
        EvalOptions(variants=(EvalVariant(), EvalVariant()))
