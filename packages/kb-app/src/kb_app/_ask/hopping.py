"""Several hops: a question that no single passage answers, searched as smaller ones in rounds.

A language model says which questions to search, five at most, and sees what they found before
it says which are next, or that this is enough; three rounds at most. What is found is put into
one pool of a bounded size, in which a passage stands the higher the more of the questions found
it, and the nearer to their top. The question itself is searched, too. What the model asks for
decides what is searched, and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from kb_app._ask.prompts import ENOUGH, planning
from kb_core.answers import Hop
from kb_core.errors import InvalidInput
from kb_core.ports import LanguageModel, never
from kb_core.search import Hit, SearchQuery
from kb_core.values import dataclass, replace

__all__ = ["MOST_FOUND", "Hopped", "Search", "hop"]

Search = Callable[[Sequence[SearchQuery]], Sequence[Sequence[Hit]]]
"""Searches all queries in one call, and returns what each found, best first."""

MOST_FOUND = 20
"""Passages of the pool."""
_MOST_ROUNDS = 3
_MOST_QUERIES = 5
_MOST_TOKENS = 256
_MOST_CHARS = 300
_RRF_K = 60
_MARK = re.compile(r"^\s*(?:[-*•]|\(?\d{1,2}[.)])\s*")
_EDGE = " \t\"'*_`"


@dataclass(frozen=True, slots=True)
class Hopped:
    """What was searched, and the pool of what was found, best first."""

    hops: tuple[Hop, ...]
    """Empty where the model named nothing that can be searched."""
    hits: tuple[Hit, ...]


def hop(
    model: LanguageModel,
    question: SearchQuery,
    search: Search,
    *,
    stop: Callable[[], bool] = never,
) -> Hopped:
    """Search what *model* asks for, until it has enough; raises what the model raises."""
    hops: list[Hop] = []
    lists: list[Sequence[Hit]] = []
    while len(hops) < _MOST_ROUNDS and not stop():
        pool = _pool(lists)
        asked = [query for each in hops for query in each.queries]
        wanted = list(_queries(_said(model, question.text, pool, stop), asked))
        if not wanted:
            break
        if not hops and question.text not in wanted:
            wanted = [question.text, *wanted[: _MOST_QUERIES - 1]]
        found = search([replace(question, text=text) for text in wanted])
        known = {hit.chunk_id for hits in lists for hit in hits}
        lists += found
        new = (hit.chunk_id for hits in found for hit in hits if hit.chunk_id not in known)
        hops.append(Hop(len(hops) + 1, tuple(wanted), tuple(dict.fromkeys(new))))
    return Hopped(tuple(hops), tuple(_pool(lists)))


def _said(
    model: LanguageModel, question: str, pool: Sequence[Hit], stop: Callable[[], bool]
) -> str:
    told = planning(question, [(hit.citation.uri, hit.snippet) for hit in pool], _MOST_QUERIES)
    return "".join(delta.text for delta in model.generate(told, max_tokens=_MOST_TOKENS, stop=stop))


def _queries(said: str, asked: Sequence[str]) -> Iterator[str]:
    """Yield the questions in what a model said, each that can be searched once, if not *asked*."""
    seen = set(asked)
    for line in said.splitlines():
        text = _MARK.sub("", line).strip(_EDGE)
        if text.upper().startswith(ENOUGH):
            return
        if not text or text in seen or len(text) > _MOST_CHARS or text.endswith(":"):
            continue
        try:
            SearchQuery(text=text)
        except InvalidInput:
            continue
        seen.add(text)
        yield text
        if len(seen) - len(set(asked)) == _MOST_QUERIES:
            return


def _pool(lists: Sequence[Sequence[Hit]]) -> list[Hit]:
    """Return the best of all lists by reciprocal rank, each passage once."""
    scores: dict[str, float] = {}
    hits: dict[str, Hit] = {}
    for found in lists:
        for rank, hit in enumerate(found, start=1):
            hits.setdefault(hit.chunk_id, hit)
            scores[hit.chunk_id] = scores.get(hit.chunk_id, 0.0) + 1 / (_RRF_K + rank)
    best = sorted(hits, key=lambda chunk_id: (-scores[chunk_id], chunk_id))
    return [hits[chunk_id] for chunk_id in best[:MOST_FOUND]]
