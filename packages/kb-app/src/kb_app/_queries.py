"""Queries that a person typed, kept from one session to the next in the data directory.

The newest come last in a private file, which is replaced in one step and bounded, and which
`kebab reset` deletes with the data. Beside it is what each terminal searched for last, with
the hits that it was shown, so that they can be spoken of. Keeping both is a comfort: what
cannot be read counts as none, and what cannot be written is left.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from kb_app._data_dir import DataDir
from kb_app.paths import make_private_folder
from kb_core import logs
from kb_core.citations import citation_of

if TYPE_CHECKING:
    from kb_app.config import Config
    from kb_core.search import Hit, SearchQuery
    from kb_core.stored import StoredChunk

__all__ = ["Searched", "SearchedHit", "keep", "keep_searched", "last_searched", "recent", "shown"]


_LONGEST = 1000
"""A longer text is no query that somebody takes again."""

_TERMINALS = 8
"""Of how many terminals the last search is kept."""
_QUOTED = 240
"""Characters of a passage that are kept."""


class SearchedHit(TypedDict):
    """A hit as it was shown: where it stood, and what finds its passage again."""

    rank: int
    uri: str
    source_id: str
    doc_id: str
    chunk_id: str
    content_hash: str | None
    quote: str


class Searched(TypedDict):
    """What a terminal searched for last."""

    query: str
    mode: str
    filters: dict[str, Any]
    hits: list[SearchedHit]


def recent(config: Config) -> tuple[str, ...]:
    """Return what is kept, the newest first."""
    data = DataDir(config.storage.data_dir)
    try:
        texts = json.loads(data.queries.read_bytes())
    except (OSError, ValueError):
        return ()
    kept = [text for text in texts if isinstance(text, str)] if isinstance(texts, list) else []
    return tuple(kept[::-1][: config.ui.query_history])


def keep(config: Config, queries: Sequence[str]) -> None:
    """Add *queries*, the newest last, and drop the oldest beyond what is wished for."""
    data, most = DataDir(config.storage.data_dir), config.ui.query_history
    if not data.root.is_dir():
        return  # nothing was indexed, and looking at it makes no folder
    try:
        if most < 1:
            data.queries.unlink(missing_ok=True)
            return
        added = [text for text in queries if len(text) <= _LONGEST]
        older = [text for text in reversed(recent(config)) if text not in added]
        _put(data.queries, [*older, *added][-most:])
    except OSError as error:
        logs.logger(__name__).info("queries are not kept: %s", error)


def shown(hit: Hit) -> SearchedHit:
    """Return what is kept of a hit."""
    return {
        "rank": hit.rank,
        "uri": hit.citation.uri,
        "source_id": hit.source_id,
        "doc_id": hit.doc_id,
        "chunk_id": hit.chunk_id,
        "content_hash": hit.citation.content_hash,
        "quote": hit.snippet.strip()[:_QUOTED],
    }


def shown_chunk(chunk: StoredChunk) -> SearchedHit:
    """Return the same of a passage that is no hit of a search here."""
    cited = citation_of(chunk)
    return {
        "rank": 0,
        "uri": cited.uri,
        "source_id": chunk["source_id"],
        "doc_id": chunk["doc_id"],
        "chunk_id": chunk["chunk_id"],
        "content_hash": cited.content_hash,
        "quote": chunk["text"].strip()[:_QUOTED],
    }


def last_searched(data_dir: Path, terminal: str) -> Searched | None:
    """Return what *terminal* searched for last, if that was kept."""
    return _searched(DataDir(data_dir).searched).get(terminal)


def keep_searched(
    data_dir: Path, terminal: str, query: SearchQuery, hits: Sequence[Hit], *, wanted: bool
) -> None:
    """Keep what *terminal* has searched for, in place of what it did before; else nothing of it.

    A later page of a list goes to those before it.
    """
    data = DataDir(data_dir)
    if not data.root.is_dir():
        return
    try:
        if not wanted or len(query.text) > _LONGEST:
            data.searched.unlink(missing_ok=True)
            return
        kept = _searched(data.searched)
        before = kept.pop(terminal, None)
        now: Searched = {
            "query": query.text,
            "mode": query.mode.value,
            "filters": query.filters.given(),
            "hits": [],
        }
        goes_on = query.cursor and before and before["query"] == now["query"]
        earlier = before["hits"] if before and goes_on else []
        now["hits"] = [*earlier, *map(shown, hits)]
        _put(data.searched, dict([*kept.items(), (terminal, now)][-_TERMINALS:]))
    except OSError as error:
        logs.logger(__name__).info("the search is not kept: %s", error)


def _searched(path: Path) -> dict[str, Searched]:
    try:
        kept = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return kept if isinstance(kept, dict) else {}


def _put(path: Path, value: object) -> None:
    """Put *value* in place of what the file at *path* holds, in one step, for the person alone."""
    make_private_folder(path.parent)
    new = path.with_name(f"{path.name}.{os.getpid()}")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(json.dumps(value))  # json.dump does it piece by piece, in Python
        new.replace(path)
    except OSError:  # a disk that is full, say
        new.unlink(missing_ok=True)
        raise
