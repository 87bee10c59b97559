"""explain_miss.v1: why a document is not among the hits, or where it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kb_core.wire._json import Json, decimal, given

__all__ = ["explain_miss"]

_FIELDS = (
    *("query", "mode", "k", "verdict", "summary", "doc_path", "source_id", "doc_id", "title"),
    *("file", "chunks", "filters", "words", "pool", "lexical", "vector", "fused", "nearest"),
    "suggestion",
)
_STANDINGS = frozenset({"lexical", "vector", "fused"})


def explain_miss(case: Mapping[str, Any], *, corpus_revision: int) -> Json:
    """Return explain_miss.v1; fields as the schema names them, absent ones left out."""
    out: Json = {"schema_version": "explain_miss.v1"}
    for name in _FIELDS:
        if name in case:
            out[name] = _standing(case[name]) if name in _STANDINGS else case[name]
    if "file" in out:
        out["file"] = given(out["file"])
    return out | {"corpus_revision": corpus_revision}


def _standing(found: Mapping[str, Any] | None) -> Json | None:
    return None if found is None else {**found, "score": decimal(found["score"])}
