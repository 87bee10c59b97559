"""A response that fits a budget: shorter snippets first, then fewer hits.

What counts is the compact JSON of the whole response without its trace, in characters,
``CHARS_PER_TOKEN`` to a token (ruling R15). It is measured, not estimated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from kb_core import wire
from kb_core.errors import InvalidInput
from kb_core.search import CHARS_PER_TOKEN, MIN_SNIPPET_CHARS, Hit, SearchResponse

__all__ = ["fit", "size_of"]

Render = Callable[[int], Sequence[Hit]]
"""Gives the hits of the page with snippets of at most so many characters."""

Response = TypeVar("Response")

Assemble = Callable[[Sequence[Hit], dict[str, int] | None], Response]
"""Makes a response, without a trace, of the first hits of the page and what was left out."""


def size_of(response: SearchResponse) -> int:
    """Return the characters of a response as it is sent."""
    return len(wire.dumps(wire.search_response(response)))


def fit(
    render: Render,
    assemble: Assemble[Response],
    snippet_chars: int,
    max_tokens: int,
    size: Callable[[Response], int],
) -> Response:
    """Return the fullest response of at most *max_tokens*, as *size* measures it.

    Snippets are as long as fits, all under one limit, but not below
    ``MIN_SNIPPET_CHARS``; then hits go from the end. ``InvalidInput`` names the least
    budget when not even the first hit fits.
    """
    budget = max_tokens * CHARS_PER_TOKEN
    full = render(snippet_chars)
    response = assemble(full, None)
    if size(response) <= budget:
        return response

    def at(limit: int) -> Response:
        hits = render(limit)
        return assemble(hits, {"hits": 0, "snippets_shortened": _shortened(full, hits)})

    shortest = render(MIN_SNIPPET_CHARS)

    def first(count: int) -> Response:
        hits = shortest[:count]
        left_out = {"hits": len(full) - count, "snippets_shortened": _shortened(full, hits)}
        return assemble(hits, left_out)

    def fits(response: Response) -> bool:
        return size(response) <= budget

    fitting = _largest(MIN_SNIPPET_CHARS, snippet_chars, at, fits)
    fitting = fitting or _largest(1, len(full), first, fits)
    if fitting is None:
        smallest = min(size(first(min(1, len(full)))), size(response))
        least = -(-smallest // CHARS_PER_TOKEN)
        raise InvalidInput(
            f"max_tokens {max_tokens} is too small for this answer",
            hint=f"give at least {least}, or ask without a budget",
            details={"field": "max_tokens", "value": max_tokens, "min_tokens": least},
        )
    return fitting


def _largest(
    low: int, high: int, make: Callable[[int], Response], fits: Callable[[Response], bool]
) -> Response | None:
    """Return what *make* gives for the largest number that fits; ``None`` if none does."""
    found = None
    while low <= high:
        middle = (low + high) // 2
        response = make(middle)
        if fits(response):
            found, low = response, middle + 1
        else:
            high = middle - 1
    return found


def _shortened(full: Sequence[Hit], hits: Sequence[Hit]) -> int:
    return sum(a.snippet != b.snippet for a, b in zip(full, hits, strict=False))
