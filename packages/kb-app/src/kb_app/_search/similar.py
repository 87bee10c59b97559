"""Neighbours: passages of other documents that mean the same as a chunk or a document.

By vectors where there are some: those of the chunk, or the mean of the document's.
Otherwise by the words that tell the passage from others, as Lucene's "more like this"
does: its terms by tf × idf.
"""

from __future__ import annotations

import math
import struct
from collections import Counter
from collections.abc import Sequence

from kb_app._search.channels import Channel, Proposals
from kb_app._search.engine import Engine, pool_size
from kb_app._search.filtering import compile_filters, filter_warnings
from kb_app._search.lookup import Origin
from kb_app._search.page import Cursor, Delivery, State, deliver, with_about
from kb_app._search.query import words_of
from kb_app._search.ranking import list_digest
from kb_core.filters import Filter, Not, OneOf, all_of
from kb_core.media import SearchMode
from kb_core.ports import IndexSnapshot, StoredChunk
from kb_core.search import Clause, LexicalQuery, SearchQuery, SearchResponse
from kb_core.values import replace

__all__ = ["similar", "telling_words"]

_TERMS = 25
"""As many query terms as Lucene's MoreLikeThis takes."""
_LOOKED_AT, _TO_MARK = 8, 2
"""Of so many times as many words, the most frequent ones, it is looked up how many passages hold
them: where neighbours are found by words, and where these are only marked."""


def similar(engine: Engine, origin: Origin, query: SearchQuery) -> SearchResponse:
    """Return neighbours of *origin* outside its own document, nearest first.

    Of *query* the page counts: ``k``, ``per_doc``, filters, budget, cursor and snippets.
    """
    snapshot = engine.snapshot
    others = Not(OneOf("doc_id", (origin.doc_id,)))
    where = all_of([others, compile_filters(query.filters, snapshot)])
    vector = _mean(snapshot, origin.chunks, engine.settings.model_key)
    # Whether there is a vector yet is no part of the question: the list tells.
    channels = Channel.of(SearchMode.HYBRID)
    question = engine.question(
        replace(query, mode=SearchMode.HYBRID), channels, similar_to=origin.id
    )
    state = State.of(snapshot.control, channels)
    query = replace(query, mode=SearchMode.LEXICAL if vector is None else SearchMode.VECTOR)
    cursor, pool, offset, most = None, pool_size(query.k), 0, query.per_doc or 0
    if query.cursor is not None:
        cursor = Cursor.decode(query.cursor, question, query.per_doc)
        pool, offset, most = cursor.pool, cursor.offset, cursor.per_doc
    among = _TERMS * (_LOOKED_AT if vector is None else _TO_MARK)
    words, places = " ".join(telling_words(snapshot, origin.chunks, among)), engine.renderer.places
    proposals = _propose(engine, words, vector, where, pool)
    rows, left_out = engine.limited(engine.rank(proposals, query), most)
    if cursor is not None:
        cursor.check(list_digest(rows, offset, places), state, proposals.degraded)

    def cursor_at(after: int) -> str:
        return Cursor(
            offset=after,
            pool=pool,
            per_doc=most,
            channels=channels,
            hits=list_digest(rows, after, places),
            question=question,
            state=state,
        ).encode()

    delivery = Delivery(
        query=query,
        rows=rows,
        offset=offset,
        left_out=left_out,
        highlight=words,
        cursor_at=cursor_at,
        remarks_at_end=tuple,
        degraded=tuple(proposals.degraded),
        warnings=filter_warnings(query.filters, snapshot, found=bool(rows)),
    )
    response = deliver(delivery, engine.renderer, snapshot.control)
    return with_about(response, engine.settings.about, query.max_tokens)


def _propose(
    engine: Engine, words: str, vector: bytes | None, where: Filter | None, pool: int
) -> Proposals:
    proposals = Proposals()
    snapshot = engine.snapshot
    if vector is not None:
        key = str(engine.settings.model_key)
        proposals.vector = snapshot.vector(vector, key, where, pool)
        return proposals
    why = engine.settings.absent or "no embedding of this text yet"
    proposals.degraded.append(f"vector: {why}; found by its words")
    if words:
        proposals.lexical = snapshot.lexical(LexicalQuery((Clause(words),)), where, pool)
    return proposals


def _mean(
    snapshot: IndexSnapshot, chunks: Sequence[StoredChunk], model_key: str | None
) -> bytes | None:
    """Return the mean of the chunks' vectors at length 1, as float32; ``None`` without any."""
    if model_key is None:
        return None
    found = snapshot.vectors_of([chunk["chunk_key"] for chunk in chunks], model_key)
    vectors = [memoryview(vector).cast("f") for vector in found.values()]
    if not vectors:
        return None
    total = [math.fsum(column) for column in zip(*vectors, strict=True)]
    length = math.hypot(*total) or 1.0
    return struct.pack(f"<{len(total)}f", *(value / length for value in total))


def telling_words(
    snapshot: IndexSnapshot, chunks: Sequence[StoredChunk], among: int = _LOOKED_AT * _TERMS
) -> list[str]:
    """Return the words of *chunks* that few others have, the most telling first.

    They are of the *among* words that stand there most often.
    """
    counts = Counter(word.lower() for chunk in chunks for word in words_of(chunk["text"]))
    often = [word for word, _ in counts.most_common(among)]
    rough = snapshot.roughly()

    def weight(word: str) -> float:
        known = rough.known_words(LexicalQuery((Clause(word),)))
        return counts[word] * max((one.weight for one in known.words), default=0.0)

    return sorted(often, key=lambda word: (-weight(word), word))[:_TERMS]
