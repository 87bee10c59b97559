"""Golden questions, runs over them and what differs, on the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from kb_core.values import as_dict
from kb_core.wire._json import decimal, given, timestamp

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kb_core.evals import EvalCase, ExpectedPlace
    from kb_core.wire import types

__all__ = [
    "eval_case",
    "eval_check",
    "eval_compare",
    "eval_run",
    "eval_run_list",
    "eval_self",
    "eval_tune",
    "feedback",
    "feedback_list",
]


def eval_case(case: EvalCase) -> types.EvalCase:
    """Return eval_case.v1, as short as it says the same."""
    fields = {
        "expected_docs": _graded(case.expected_docs),
        "expected_chunks": _graded(case.expected_chunks),
        "expected_places": list(map(_place, case.expected_places)),
        "answer": case.answer,
        "must_contain": list(case.must_contain),
        "forbidden": list(case.forbidden),
        "filters": case.filters.given(),
        "group": case.group,
        "tags": list(case.tags),
    }
    told = {"id": case.id, "query": case.query, **{n: v for n, v in fields.items() if v}}
    return cast("types.EvalCase", told)


def _graded(grades: Mapping[str, int]) -> list[str] | dict[str, int]:
    return list(grades) if set(grades.values()) == {1} else dict(grades)


def _place(place: ExpectedPlace) -> str | dict[str, Any]:
    fields = given(as_dict(place))
    if place.grade == 1:
        del fields["grade"]
    return place.uri if set(fields) == {"uri"} else fields


def eval_check(
    path: str,
    cases: int,
    *,
    broken: Sequence[str],
    counts: Mapping[str, int],
    items: Iterable[Mapping[str, Any]],
    corpus_revision: int,
) -> types.EvalCheck:
    """Return eval_check.v1; an item has ``case``, ``expected``, ``kind``, ``status`` and more."""
    return {
        "schema_version": "eval_check.v1",
        "path": path,
        "cases": cases,
        "broken": list(broken),
        "counts": dict(counts),
        "items": [cast("types.EvalCheckItems", given(item)) for item in items],
        "corpus_revision": corpus_revision,
    }


def eval_run(run: Mapping[str, Any]) -> types.EvalRun:
    """Return eval_run.v1; fields as the schema names them, ``started_at`` an instant."""
    index = cast("types.EvalRunIndex", given(run["index"]))
    told = {**run, "index": index, "started_at": timestamp(run["started_at"])}
    told["variants"] = [_variant(variant) for variant in run["variants"]]
    return cast("types.EvalRun", {"schema_version": "eval_run.v1", **given(told)})


def _variant(variant: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**variant, "figures": [_rounded(figure) for figure in variant["figures"]]}


def eval_run_list(runs: Iterable[types.EvalRun]) -> types.EvalRunList:
    """Return eval_run_list.v1."""
    items = list(runs)
    return {
        "schema_version": "eval_run_list.v1",
        "items": items,
        "total": len(items),
        "next_cursor": None,
    }


def eval_compare(found: Mapping[str, Any]) -> types.EvalCompare:
    """Return eval_compare.v1; fields as the schema names them."""
    told = {
        **found,
        "before": given(found["before"]),
        "after": given(found["after"]),
        "figures": [_rounded(row) for row in found["figures"]],
        "lost": [_rounded(row) for row in found["lost"]],
        "won": [_rounded(row) for row in found["won"]],
    }
    return cast("types.EvalCompare", {"schema_version": "eval_compare.v1", **told})


def _rounded(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: decimal(v) if isinstance(v, float) else v for name, v in row.items()}


def eval_tune(found: Mapping[str, Any]) -> types.EvalTune:
    """Return eval_tune.v1; fields as the schema names them."""
    told = {
        **found,
        "variants": [_rounded(row) for row in found["variants"]],
        "held_out": _rounded(found["held_out"]),
    }
    return cast("types.EvalTune", {"schema_version": "eval_tune.v1", **told})


def eval_self(found: Mapping[str, Any]) -> types.EvalSelf:
    """Return eval_self.v1; fields as the schema names them."""
    rounded = {name: list(map(_rounded, found[name])) for name in ("figures", "breakdown")}
    return cast("types.EvalSelf", {"schema_version": "eval_self.v1", **found, **rounded})


def feedback(said: Mapping[str, Any]) -> types.Feedback:
    """Return feedback.v1; fields as the schema names them, ``created_at`` an instant."""
    told = {**given(said), "created_at": timestamp(said["created_at"])}
    return cast("types.Feedback", {"schema_version": "feedback.v1", **told})


def feedback_list(
    said: Iterable[types.Feedback], warnings: Sequence[str] = ()
) -> types.FeedbackList:
    """Return feedback_list.v1."""
    items = list(said)
    out: types.FeedbackList = {
        "schema_version": "feedback_list.v1",
        "items": items,
        "total": len(items),
        "next_cursor": None,
    }
    if warnings:
        out["warnings"] = list(warnings)
    return out
