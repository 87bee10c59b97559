"""Several searches in one call, on the wire: items, summaries, aggregated and code search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kb_core.errors import KbError
from kb_core.wire._errors import error
from kb_core.wire._json import Json
from kb_core.wire._search import hit, search_response

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kb_core.bulk import AggregatedResponse, Outcome
    from kb_core.search import Hit

__all__ = [
    "aggregated_search_response",
    "bulk_search_item",
    "bulk_search_response",
    "bulk_search_summary",
    "codebase_search_response",
]


def bulk_search_item(asked: Mapping[str, Any], outcome: Outcome) -> Json:
    """Return bulk_search_item.v1; *asked* is the input as it came."""
    failure = outcome if isinstance(outcome, KbError) else None
    return {
        "schema_version": "bulk_search_item.v1",
        "query": {name: value for name, value in asked.items() if value is not None},
        "response": None if isinstance(outcome, KbError) else search_response(outcome),
        "error": None if failure is None else error(failure),
    }


def bulk_search_summary(outcomes: Iterable[Outcome]) -> Json:
    """Return bulk_search_summary.v1."""
    return {"schema_version": "bulk_search_summary.v1", **_counts(outcomes)}


def bulk_search_response(asked: Sequence[Mapping[str, Any]], outcomes: Sequence[Outcome]) -> Json:
    """Return bulk_search_response.v1: each query with what became of it."""
    items = zip(asked, outcomes, strict=True)
    return {
        "schema_version": "bulk_search_response.v1",
        "results": [bulk_search_item(query, outcome) for query, outcome in items],
        "summary": _counts(outcomes),
    }


def aggregated_search_response(
    asked: Sequence[Mapping[str, Any]], found: AggregatedResponse
) -> Json:
    """Return bulk_search_response.v1 whose hits are in one list."""
    out = bulk_search_response(asked, found.outcomes)
    out["aggregated"] = [hit(one) for one in found.hits]
    out["truncated"] = found.truncated
    if found.omitted is not None:
        out["omitted"] = dict(found.omitted)
    return out


def codebase_search_response(
    queries: Iterable[Mapping[str, Any]],
    hits: Iterable[Hit],
    *,
    truncated: bool,
    errors: Mapping[int, KbError],
    degraded: Sequence[str],
    warnings: Sequence[str],
) -> Json:
    """Return codebase_search_response.v1; *errors* are by the position of their query."""
    out: Json = {
        "schema_version": "codebase_search_response.v1",
        "queries": [dict(query) for query in queries],
        "hits": [hit(found) for found in hits],
        "truncated": truncated,
    }
    if errors:
        out["errors"] = [{"query": at, "error": error(why)} for at, why in errors.items()]
    if degraded:
        out["degraded"] = list(degraded)
    if warnings:
        out["warnings"] = list(warnings)
    return out


def _counts(outcomes: Iterable[Outcome]) -> Json:
    failures = [isinstance(outcome, KbError) for outcome in outcomes]
    failed = sum(failures)
    return {"total": len(failures), "succeeded": len(failures) - failed, "failed": failed}
