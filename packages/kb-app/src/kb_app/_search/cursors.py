"""Cursors: where a list of hits goes on, and of which list.

A cursor names a place in the ranking of one query at one published state, so that page
two continues page one. It is opaque: base64url of a fixed record with a checksum. It
carries the size of the candidate pool and the channels that took part, so that every
page is cut from the same list, and digests of all else that decides the order.
"""

from __future__ import annotations

import base64
import binascii
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Self

from kb_core.control import Control
from kb_core.errors import StaleCursor

__all__ = ["Cursor", "Listing"]

_VERSION = 1
_RECORD = struct.Struct(">BHHB8s4sIIQ")
_CHECK_BYTES = 4
_LONGEST = 200
_AGAIN = "search again without a cursor"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What a ranking depends on: the question with its settings, and the published state."""

    query: bytes
    """Eight bytes of a digest of the query, mode, filters and ranking settings."""
    store: bytes
    """Four bytes of a digest of the knowledge base's identity and index version."""
    corpus_revision: int
    vector_revision: int
    """0 for a ranking by words alone, which embeddings do not change."""
    index_state: int
    """0 for a ranking by meaning alone, which BM25's statistics do not change."""

    @classmethod
    def of(
        cls, question: Mapping[str, Any], control: Control, *, lexical: bool, vector: bool
    ) -> Self:
        """Describe the ranking of *question* (JSON values) at a state."""
        return cls(
            query=_digest(json.dumps(dict(question)), 8),
            store=_digest(f"{control.store_id} {control.index_version}", 4),
            corpus_revision=control.corpus_revision % 2**32,
            vector_revision=control.vector_revision % 2**32 if vector else 0,
            index_state=control.index_state % 2**64 if lexical else 0,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """A place in a ranking: so many hits were delivered before."""

    offset: int
    pool: int
    """How many candidates each channel gives."""
    channels: int
    """Which channels take part, as the service numbers them."""

    def encode(self, listing: Listing) -> str:
        """Return the cursor as text, bound to *listing*."""
        record = _RECORD.pack(
            _VERSION,
            self.offset,
            self.pool,
            self.channels,
            listing.query,
            listing.store,
            listing.corpus_revision,
            listing.vector_revision,
            listing.index_state,
        )
        return _text(record)

    @classmethod
    def decode(cls, text: str, listing: Listing) -> Self:
        """Read a cursor back; raise ``StaleCursor`` unless it is one of *listing*."""
        record = _record(text)
        version, offset, pool, channels, *bound = _RECORD.unpack(record)
        if version != _VERSION:
            raise _stale(text, "malformed", "was made by another version of kebab")
        _check_listing(text, Listing(**dict(zip(Listing.__slots__, bound, strict=True))), listing)
        return cls(offset=offset, pool=pool, channels=channels)


def _check_listing(text: str, theirs: Listing, ours: Listing) -> None:
    if theirs.query != ours.query:
        raise _stale(text, "query", "belongs to another query, mode, filter or setting")
    if theirs.store != ours.store:
        raise _stale(text, "store", "belongs to another knowledge base, or to one rebuilt since")
    if theirs.corpus_revision != ours.corpus_revision:
        change = f"(revision {theirs.corpus_revision}, now {ours.corpus_revision})"
        raise _stale(text, "revision", f"is from before documents changed {change}")
    if theirs.vector_revision != ours.vector_revision:
        raise _stale(text, "revision", "is from before embeddings were added")
    if theirs.index_state != ours.index_state:
        raise _stale(text, "revision", "is from before the index was reorganised")


def _record(text: str) -> bytes:
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        raw = b""
    record = raw[: _RECORD.size]
    # Written again, so that the spare bits of the last letter count, too.
    if len(record) != _RECORD.size or _text(record) != text:
        raise _stale(text, "malformed", "is not one that kebab gave out, or was changed")
    return record


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
