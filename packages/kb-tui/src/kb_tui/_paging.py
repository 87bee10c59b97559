"""The next page of a list; where the list has changed, its beginning anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from kb_core.errors import StaleCursor
from kb_core.search import MAX_K, SearchQuery, SearchResponse

__all__ = ["More", "next_page"]

_TRIES = 3

Search = Callable[[SearchQuery], SearchResponse]


@dataclass(frozen=True, slots=True)
class More:
    """What comes after the hits that are shown, or instead of them."""

    found: SearchResponse
    is_anew: bool
    """Whether the hits are the list from its beginning, since it is another one now."""


def next_page(search: Search, query: SearchQuery, cursor: str, loaded: int) -> More:
    """Return the page at *cursor* of the list of *query*, of which *loaded* hits are shown.

    Where that list is no more, return as many hits of the one there is now as were shown,
    and a page besides.
    """
    try:
        return More(search(replace(query, cursor=cursor)), is_anew=False)
    except StaleCursor:
        return More(_anew(search, query, loaded + query.k), is_anew=True)


def _anew(search: Search, query: SearchQuery, count: int) -> SearchResponse:
    for _ in range(_TRIES):
        try:
            return _beginning(search, query, count)
        except StaleCursor:  # it changed between two pages
            continue
    # A single page cannot be of two lists.
    return search(replace(query, k=min(count, MAX_K)))


def _beginning(search: Search, query: SearchQuery, count: int) -> SearchResponse:
    """Return the first *count* hits: page by page, so that the list is that of *query*."""
    found = search(query)
    while found.next_cursor is not None and len(found.hits) < count:
        size = min(count - len(found.hits), MAX_K)
        page = search(replace(query, k=size, cursor=found.next_cursor))
        found = replace(page, hits=found.hits + page.hits)
    return found
