"""The shortest query of a document's own words that finds it.

Words of the question that the document has come first, then its rarest ones; one word
is tried before two, two before three.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from kb_app._search.service import Engine
from kb_core.filters import Words
from kb_core.ports import StoredChunk
from kb_core.search import SearchFilters, SearchQuery

__all__ = ["shortest_query", "words_of"]

_WORD = re.compile(r"[^\W_][\w.\-]*[^\W_]|[^\W_]")
_MIN_CHARS = 3
_EXAMINED = 60
"""Words whose rarity is looked up."""
_TRIED = 6
"""Words that are combined, by twos and threes."""
_SINGLE = 12


def words_of(text: str) -> list[str]:
    """Return the words of a text, each once, in order; joined identifiers stay whole."""
    return list(dict.fromkeys(_WORD.findall(text)))


def shortest_query(
    engine: Engine, query: SearchQuery, chunks: Sequence[StoredChunk], shared: Sequence[str]
) -> dict[str, Any] | None:
    """Return ``{query, rank}`` of a query that finds a document, or ``None``.

    *chunks* are those of the document, *shared* the words of the question that it has. The
    query is tried without filters, in the mode and for the number of hits that were asked
    for.
    """
    keys = {chunk["chunk_key"] for chunk in chunks}
    shared = sorted(shared, key=lambda word: engine.snapshot.count(Words("body", word)))
    words = list(dict.fromkeys([*shared, *_rarest(engine, chunks)]))
    for text in _texts(words, shared):
        asked = replace(query, text=text, filters=SearchFilters(), max_tokens=None)
        rows = engine.ranking(asked).rows[: query.k]
        rank = next((n for n, row in enumerate(rows, 1) if row.chunk_key in keys), None)
        if rank is not None:
            return {"query": text, "rank": rank}
    return None


def _texts(words: Sequence[str], shared: Sequence[str]) -> Iterator[str]:
    yield from words[:_SINGLE]
    few = [*shared[: _TRIED // 2], *[w for w in words if w not in shared][: _TRIED // 2]]
    for count in (2, 3):
        for chosen in combinations(few, count):
            yield " ".join(chosen)


def _rarest(engine: Engine, chunks: Sequence[StoredChunk]) -> list[str]:
    """Return the document's words by the number of chunks that have them, rarest first."""
    counted = Counter(word.lower() for chunk in chunks for word in words_of(chunk["text"]))
    long_enough = [word for word in counted if len(word) >= _MIN_CHARS or not word.isascii()]
    # Long words and words that return in the document are likelier to be its own.
    examined = sorted(long_enough, key=lambda w: (-counted[w] * len(w), w))[:_EXAMINED]
    spread = {word: engine.snapshot.count(Words("body", word)) for word in examined}
    return sorted((w for w in examined if spread[w]), key=lambda w: (spread[w], -counted[w], w))
