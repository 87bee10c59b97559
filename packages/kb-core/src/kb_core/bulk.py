"""Several searches in one call: their limits, and the one list that they can make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from kb_core.errors import KbError
from kb_core.search import Hit, SearchResponse

__all__ = ["MAX_QUERIES", "MAX_TRACED", "AggregatedResponse", "Outcome"]

MAX_QUERIES = 100
"""How many queries one call may have."""

MAX_TRACED = 10
"""How many of them may ask for a trace: traces are long (ruling R29)."""

Outcome: TypeAlias = SearchResponse | KbError
"""What became of one query of several: a failure stays with its query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregatedResponse:
    """One list for several queries, read at one revision."""

    outcomes: tuple[Outcome, ...]
    """Of each query, in the order asked; responses have no hits of their own (ruling R19)."""
    hits: tuple[Hit, ...]
    truncated: bool = False
    omitted: Mapping[str, int] | None = None
