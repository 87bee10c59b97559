"""In how many live passages common words stand, left by a writer that lets go.

The engine counts deleted passages, too, and to count those that are live it looks at each that
holds a word: six milliseconds for one that a million hold, and a question asks for thirty such
lists (``kb_search.statistics``). Going through a whole dictionary it needs a third of that for
each, so a writer of a large index counts all common words at once and leaves the counts in
``lexical/chunks/common.json``, with the state of the index that they are of. A writer of few
documents counts in what it replaces and in what it adds alone, a fifth of the time. Of another
state, after a kill, or where the file is missing or damaged, readers count by themselves.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import tantivy
from tantivy import Occur, Query

from kb_search.narrowing import only

__all__ = [
    "FEW",
    "FEW_TIMES",
    "LARGE",
    "CommonWords",
    "Counts",
    "changed",
    "count",
    "count_among",
    "leave",
]

NAME = "common.json"
LARGE = 200_000
"""From so many passages on words are counted ahead, at .4 microseconds for each passage."""
FEW, FEW_TIMES = 100, 2
"""So many documents of a publication, and so many publications of a writer, are counted in by
themselves: it takes a fifth of counting in all, twice."""
_COMMON = 20_000
"""Words that fewer passages hold are counted in a tenth of a millisecond."""
_FIELDS = ("stem", "exact", "again")
"""Where words of every passage stand, and where its dictionary is gone through."""
_NAMED = ("head", "called", "ident")
"""Fields with few common words and many rare ones: of those that are common in ``_FIELDS``, each
that is so common here that it takes half a millisecond is looked for by itself."""
_SO_COMMON = 5
"""How many times as many passages those have."""
_MOST = 2_000

Counts = Mapping[str, Mapping[str, int]]
"""By field and term."""


class CommonWords:
    """What a writer left of an index in *folder*, read when it is first asked for."""

    def __init__(self, folder: Path, state: int) -> None:
        self._folder, self._state = folder, state

    def get(self, field: str, term: str) -> int | None:
        """Return how many live passages hold *term* in *field*; ``None`` if that is not told."""
        return self.counts.get(field, {}).get(term)

    @cached_property
    def counts(self) -> Counts:
        """All that is told of this state of the index; empty where nothing is."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            crc, _, body = (self._folder / NAME).read_bytes().partition(b"\n")
            told: dict[str, Any] = json.loads(body) if int(crc) == zlib.crc32(body) else {}
            if told["state"] == self._state:
                return dict(told["counts"])
        return {}


def count(index: tantivy.Index) -> Counts:
    """Return in how many live passages the common words of *index* stand, as it is committed."""
    from threading import Thread  # readers count nothing

    searcher, live = index.searcher(), only("chunk", index.schema)
    found = {}

    def look(*fields: str) -> None:
        for field in fields:
            terms = searcher.terms_with_prefix(field, "", filter_query=live, limit=_MOST)
            found[field] = {term: passages for term, passages in terms if passages >= _COMMON}

    first, *others = _FIELDS
    beside = Thread(target=look, args=(first,))  # the engine lets go of the interpreter
    beside.start()
    look(*others)
    beside.join()
    words, least = {*found["stem"], *found["exact"]}, _SO_COMMON * _COMMON
    for field in _NAMED:
        often = [word for word in words if searcher.doc_freq(field, word) >= least]
        found[field] = {word: _held(index, searcher, field, word) for word in often}
    return found


def _held(
    index: tantivy.Index, searcher: tantivy.Searcher, field: str, word: str, *among: Query
) -> int:
    """Return how many live passages hold *word* in *field*, of those that all of *among* find."""
    query = Query.term_query(index.schema, field, word, "basic")
    if among:
        query = Query.boolean_query([(Occur.Must, each) for each in (query, *among)])
    told: Any = searcher.search(query, 1, count=True)
    return int(told.count)


def count_among(counts: Counts, index: tantivy.Index, docs: list[int]) -> Counts:
    """Return in how many passages of *docs*, keys, the words stand that *counts* are of."""
    found, searcher = {}, index.searcher()
    among = Query.term_set_query(index.schema, "doc_key", docs)
    for field, words in counts.items() if docs else ():
        if field in _NAMED:
            held = ((word, _held(index, searcher, field, word, among)) for word in words)
            found[field] = {word: passages for word, passages in held if passages}
            continue
        terms = searcher.terms_with_prefix(field, "", filter_query=among)
        found[field] = {term: passages for term, passages in terms if term in words}
    return found


def changed(counts: Counts, lost: Counts, gained: Counts) -> Counts:
    """Return *counts* without passages that hold what is *lost*, and with those that *gained*."""
    return {
        field: {
            term: passages - lost.get(field, {}).get(term, 0) + gained.get(field, {}).get(term, 0)
            for term, passages in words.items()
        }
        for field, words in counts.items()
    }


def leave(folder: Path, state: int, counts: Counts) -> None:
    """Leave *counts* of the index in *folder*, which is in *state*; nothing if there are none."""
    if not counts:
        (folder / NAME).unlink(missing_ok=True)
        return
    body = json.dumps({"state": state, "counts": counts}, separators=(",", ":")).encode()
    new = folder / f"{NAME}.new"
    new.write_bytes(b"%d\n%b" % (zlib.crc32(body), body))
    new.replace(folder / NAME)
