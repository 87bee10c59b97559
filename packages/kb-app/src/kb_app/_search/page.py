"""A page of a ranking as a response: hits within a budget, and where the list goes on.

To fit a budget, snippets become shorter first, then hits fewer. What counts is the compact
JSON of the whole response without its trace, in characters, ``CHARS_PER_TOKEN`` to a token
(ruling R15). It is measured, not estimated.

A cursor names a place in the list of one query, so that page two continues page one. It
is opaque: base64url of a fixed record with a checksum. It carries the size of the
candidate pool, the most hits of one document and the channels that took part, so that every
page is cut from the same list, and digests of the question and of the list itself: what
happens to the knowledge base does not matter to a cursor as long as the list comes out the
same.
"""

from __future__ import annotations

import base64
import binascii
import json
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Self, TypeVar

from kb_app._search.channels import Channel
from kb_app._search.hits import Renderer
from kb_app._search.ranking import LeftOut, Row, as_ranked, page_of, with_more
from kb_core.control import Control
from kb_core.errors import InvalidInput, StaleCursor
from kb_core.ids import blake2b, enclosed_path
from kb_core.media import SearchMode
from kb_core.search import (
    CHARS_PER_TOKEN,
    MIN_SNIPPET_CHARS,
    Hit,
    Missing,
    SaidAbout,
    SearchFilters,
    SearchQuery,
    SearchResponse,
)
from kb_core.values import as_dict, dataclass, replace

__all__ = [
    "Cursor",
    "Delivery",
    "Question",
    "State",
    "about_of",
    "asked_beside",
    "deliver",
    "fit",
    "size_of",
    "with_about",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A whole ranking, and which part of it is wanted."""

    query: SearchQuery
    rows: Sequence[Row]
    offset: int
    left_out: Sequence[LeftOut] = ()
    """What is not among *rows* since its document has enough there."""
    highlight: str
    """The text whose words a snippet shows."""
    cursor_at: Callable[[int], str]
    """Gives the cursor of the place after so many hits."""
    remarks_at_end: Callable[[], tuple[str, ...]]
    """Gives the warnings of a page that ends the list."""
    degraded: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    stages: tuple[str, ...] | None = None
    confidence: float | None = None
    missing: Missing | None = None


def deliver(delivery: Delivery, renderer: Renderer, control: Control) -> SearchResponse:
    """Return the response, within the budget of its query if that has one."""
    query, offset = delivery.query, delivery.offset
    shown = page_of(delivery.rows, offset, query.k, renderer.places)
    ranked = [as_ranked(row, query.mode, rank) for rank, row in enumerate(shown, offset + 1)]
    highlighter = renderer.highlighter(delivery.highlight)
    plain = _without_hits(delivery, control)
    remarks = delivery.remarks_at_end() if offset + len(ranked) >= len(delivery.rows) else ()

    def render(snippet_chars: int) -> list[Hit]:
        return renderer.hits(
            ranked,
            first_rank=offset + 1,
            method=query.mode.value,
            highlighter=highlighter,
            snippet_chars=snippet_chars,
            passages=query.passages,
        )

    def assemble(hits: Sequence[Hit], omitted: dict[str, int] | None) -> SearchResponse:
        after = offset + len(hits)
        is_end = after >= len(delivery.rows)
        return replace(
            plain,
            hits=tuple(with_more(hits, delivery.left_out, None if is_end else after)),
            next_cursor=None if is_end else delivery.cursor_at(after),
            truncated=omitted is not None,
            omitted=omitted,
            warnings=plain.warnings + remarks if is_end else plain.warnings,
        )

    if query.max_tokens is None:
        return assemble(render(query.snippet_chars), None)
    return fit(render, assemble, query.snippet_chars, query.max_tokens, size_of)


def _without_hits(delivery: Delivery, control: Control) -> SearchResponse:
    stats = control.stats
    return SearchResponse(
        hits=(),
        corpus_revision=control.corpus_revision,
        degraded=delivery.degraded,
        warnings=delivery.warnings,
        stages=delivery.stages,
        confidence=delivery.confidence,
        missing=delivery.missing,
        mode=SearchMode(delivery.query.mode),
        index_size={"documents": stats.get("doc_count", 0), "chunks": stats.get("chunk_count", 0)},
    )


Render = Callable[[int], Sequence[Hit]]
"""Gives the hits of the page with snippets of at most so many characters."""

Response = TypeVar("Response")

Assemble = Callable[[Sequence[Hit], dict[str, int] | None], Response]
"""Makes a response, without a trace, of the first hits of the page and what was left out."""


def size_of(response: SearchResponse) -> int:
    """Return the characters of a response as it is sent."""
    from kb_core import wire  # only where it is measured

    return len(wire.dumps(wire.search_response(response)))


def fit(
    render: Render,
    assemble: Assemble[Response],
    snippet_chars: int,
    max_tokens: int,
    size: Callable[[Response], int],
) -> Response:
    """Return the fullest response of at most *max_tokens*, as *size* measures it.

    As many hits as fit with snippets of ``MIN_SNIPPET_CHARS``; what is left over then goes
    to the snippets, all under one limit. ``InvalidInput`` names the least budget when not
    even the first hit fits.
    """
    budget = max_tokens * CHARS_PER_TOKEN
    full = render(snippet_chars)
    response = assemble(full, None)
    if size(response) <= budget:
        return response

    def of(count: int, limit: int) -> Response:
        hits = render(limit)[:count]
        shortened = sum(a.snippet != b.snippet for a, b in zip(full, hits, strict=False))
        return assemble(hits, {"hits": len(full) - count, "snippets_shortened": shortened})

    def fits(count: int, limit: int) -> bool:
        return size(of(count, limit)) <= budget

    count = _largest(1, len(full), lambda count: fits(count, MIN_SNIPPET_CHARS))
    if count is None:
        smallest = min(size(of(min(1, len(full)), MIN_SNIPPET_CHARS)), size(response))
        least = -(-smallest // CHARS_PER_TOKEN)
        raise InvalidInput(
            f"max_tokens {max_tokens} is too small for this answer",
            hint=f"give at least {least}, or ask without a budget",
            details={"field": "max_tokens", "value": max_tokens, "min_tokens": least},
        )
    limit = _largest(MIN_SNIPPET_CHARS, snippet_chars, lambda limit: fits(count, limit))
    return of(count, limit or MIN_SNIPPET_CHARS)


def _largest(low: int, high: int, fits: Callable[[int], bool]) -> int | None:
    """Return the largest number that fits; ``None`` if none does."""
    found = None
    while low <= high:
        middle = (low + high) // 2
        if fits(middle):
            found, low = middle, middle + 1
        else:
            high = middle - 1
    return found


_VERSION = 3
_RECORD = struct.Struct(">BHHBB8s8s4sIII")
_CHECK_BYTES = 4
_LONGEST = 200
_AGAIN = "search again without a cursor"


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, with all settings that rank, and of which knowledge base."""

    asked: bytes
    """Eight bytes of a digest of the query, mode, filters and ranking settings."""
    store: bytes
    """Four bytes of a digest of the knowledge base's identity and index version."""

    @classmethod
    def of(cls, question: Mapping[str, Any], control: Control) -> Self:
        """Describe a *question* (JSON values) to the knowledge base of *control*."""
        return cls(
            asked=_digest(json.dumps(dict(question)), 8),
            store=_digest(f"{control.store_id} {control.index_version}", 4),
        )


@lru_cache(maxsize=64)
def asked_beside(
    mode: str, filters: SearchFilters, wanted: int, fusion: str, rrf_k: int, model: str | None
) -> Mapping[str, Any]:
    """Return all that a question is beside its text, as JSON values; the same for many."""
    given = as_dict(filters).items()
    return {
        "mode": mode,
        "filters": {name: sorted(set(v)) if isinstance(v, tuple) else v for name, v in given},
        "channels": wanted,
        "fusion": [fusion, rrf_k],
        "model": model,
    }


@dataclass(frozen=True, slots=True)
class State:
    """The published state that a list was made at.

    It decides nothing; when a list changed, it tells a person why.
    """

    corpus_revision: int
    vector_revision: int
    """0 for a ranking by words alone, which embeddings do not change."""
    index_state: int
    """0 for a ranking by meaning alone, which BM25's statistics do not change."""

    @classmethod
    def of(cls, control: Control, channels: Channel) -> Self:
        """Return what of *control* a ranking by these *channels* depends on."""
        return cls(
            corpus_revision=control.corpus_revision % 2**32,
            vector_revision=control.vector_revision % 2**32 if Channel.VECTOR in channels else 0,
            index_state=control.index_state % 2**32 if Channel.LEXICAL in channels else 0,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """A place in a list: so many hits were delivered before."""

    offset: int
    pool: int
    """How many candidates each channel gives."""
    per_doc: int
    """How many hits one document has at most; 0 is no limit."""
    channels: Channel
    """Which channels take part."""
    hits: bytes
    """Eight bytes of a digest of the list, cut at this place: ``ranking.list_digest``."""
    question: Question
    state: State

    def encode(self) -> str:
        """Return the cursor as text."""
        question, state = self.question, self.state
        record = _RECORD.pack(
            _VERSION,
            self.offset,
            self.pool,
            self.per_doc,
            self.channels,
            self.hits,
            question.asked,
            question.store,
            state.corpus_revision,
            state.vector_revision,
            state.index_state,
        )
        return _text(record)

    @classmethod
    def decode(cls, text: str, question: Question, per_doc: int | None = None) -> Self:
        """Read a cursor back; raise ``StaleCursor`` unless it goes on with this *question*.

        Nor may *per_doc* be another, where it is given.
        """
        offset, pool, most, channels, hits, asked, store, *state = _fields(text)
        if asked != question.asked:
            raise _stale(text, "query", "belongs to another query, mode, filter or setting")
        if store != question.store:
            what = "belongs to another knowledge base, or to one rebuilt since"
            raise _stale(text, "store", what)
        if per_doc is not None and per_doc != most:
            raise _stale(text, "query", f"is of a list with per_doc {most}")
        return cls(
            offset=offset,
            pool=pool,
            per_doc=most,
            channels=Channel(channels),
            hits=hits,
            question=question,
            state=State(*state),
        )

    def check(self, hits: bytes, state: State, degraded: Sequence[str]) -> None:
        """Raise ``StaleCursor`` unless the list is still the same: its digest is *hits*.

        *state* and *degraded* are those of the list as it is now.
        """
        if hits == self.hits:
            return
        text = self.encode()
        if state.corpus_revision != self.state.corpus_revision:
            change = f"(revision {self.state.corpus_revision}, now {state.corpus_revision})"
            raise _stale(text, "revision", f"is from before documents changed {change}")
        if state.vector_revision != self.state.vector_revision:
            raise _stale(text, "revision", "is from before embeddings were added")
        if state.index_state != self.state.index_state:
            raise _stale(text, "revision", "is from before the index was reorganised")
        now = f" (now {'; '.join(degraded)})" if degraded else ""
        raise _stale(text, "channels", f"is of a list that other channels made{now}")


def _fields(text: str) -> tuple[Any, ...]:
    """Return what the record of *text* holds after its version."""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        raw = b""
    record = raw[:-_CHECK_BYTES]
    # Written again, so that the spare bits of the last letter count, too.
    if not record or _text(record) != text:
        raise _stale(text, "malformed", "is not one that kebab gave out, or was changed")
    if record[0] != _VERSION or len(record) != _RECORD.size:
        raise _stale(text, "malformed", "was made by another version of kebab")
    return _RECORD.unpack(record)[1:]


def _text(record: bytes) -> str:
    check = blake2b(record, digest_size=_CHECK_BYTES, person=b"kebab cursor").digest()
    return base64.urlsafe_b64encode(record + check).rstrip(b"=").decode()


def _stale(text: str, reason: str, what: str) -> StaleCursor:
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return StaleCursor(
        f"the cursor {what}",
        hint=_AGAIN,
        details={"field": "cursor", "value": shown, "reason": reason},
    )


def _digest(text: str, size: int) -> bytes:
    return blake2b(text.encode(), digest_size=size).digest()


def about_of(hits: Sequence[Hit], said: Sequence[SaidAbout]) -> tuple[SaidAbout, ...]:
    """Return what is *said* of where *hits* are from, each once, in their order."""
    found: dict[SaidAbout, None] = {}
    for hit in hits:
        for about in said:
            below = (f"{about.path}/", enclosed_path(about.path, ""))
            is_below = not about.path or f"{hit.doc_path}/".startswith(below)
            if hit.source_id == about.source_id and is_below:
                found[about] = None
    return tuple(found)


def with_about(
    response: SearchResponse, said: Sequence[SaidAbout], max_tokens: int | None
) -> SearchResponse:
    """Return *response* with what is *said* of where its hits are from, if its budget has room."""
    found = about_of(response.hits, said)
    fuller = replace(response, about=found) if found else response
    fits = max_tokens is None or size_of(fuller) <= max_tokens * CHARS_PER_TOKEN
    return fuller if fits else response
