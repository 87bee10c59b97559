"""Two facts in a row: what a phrase of the question names is searched, and then the rest.

*Who wrote the library that Kestrel uses* is answered by no passage where one says which library
that is, and another who wrote it. The first of them comes so near to the question that it would
be taken for the answer; what tells is that it does not say what is asked of the thing. Then the
phrase is searched by itself (``nesting``), the names in its best sentence take the place of the
phrase, one after the other, and what the question with the name finds has to be sure, to speak
of the name, and to be a sentence that the question itself did not find. Else the question stays
as it was asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kb_app._ask.evidence import Evidence
from kb_app._ask.extract import Extract, extract_of, extracts, ranked
from kb_app._ask.gate import Gate
from kb_app._ask.nesting import Nesting, has_kind, mentions, names_in, nestings, says
from kb_core.ports import StoredChunk
from kb_core.search import Hit
from kb_core.values import dataclass

__all__ = ["Link", "Looked", "chain"]

_MOST_PHRASES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What a search found, read and judged."""

    question: str
    hits: tuple[Hit, ...]
    evidence: Evidence
    gate: Gate | None
    confidence: float
    degraded: tuple[str, ...] = ()

    @property
    def is_sure(self) -> bool:
        """Whether it is let in as more than weak."""
        return self.gate is not None and self.confidence >= self.gate.sure


@dataclass(frozen=True, slots=True)
class Link:
    """A search of a chain, and what of it is said."""

    looked: Looked
    chosen: tuple[Extract, ...]
    name: str | None = None
    """What the next search took from it."""


def chain(asked: Looked, look: Callable[[str], Looked | None]) -> Sequence[Link]:
    """Return the searches that answer what was *asked* together, in order; mostly none.

    *look* searches, reads and judges a question; ``None`` where it finds nothing.
    """
    found = nestings(asked.question)
    said = extracts(asked.evidence) if found else []
    if any(_is_whole(part, nesting) for part in said for nesting in found):
        return ()
    for nesting in found[:_MOST_PHRASES]:
        inner = look(nesting.inner)
        for link in _bridges(inner, nesting, asked.question) if inner and inner.is_sure else ():
            outer = look(nesting.outer(link.name or ""))
            answer = _answer(outer, nesting, link) if outer and outer.is_sure else None
            if outer is not None and answer is not None:
                is_known = any(_is_within(answer, part) for part in said)
                return () if is_known else (link, Link(outer, tuple(extracts(outer.evidence))))
    return ()


def _is_whole(part: Extract, nesting: Nesting) -> bool:
    """Say whether *part* has what is asked, and its passage what it is asked of."""
    chunk = part.passage.chunk
    return says(part.text, nesting.rest, chunk["lang"]) and says(
        _all_of(chunk), nesting.said_of, chunk["lang"]
    )


def _bridges(inner: Looked, nesting: Nesting, question: str) -> Sequence[Link]:
    """Return the best sentence of *inner* with each name that it has, the likeliest first."""
    best = _best(inner.evidence)
    names = names_in(best.text, nesting, question) if best else ()
    return [Link(inner, (best,), name) for name in names if best]


def _answer(outer: Looked, nesting: Nesting, link: Link) -> Extract | None:
    """Return the best sentence of *outer*, where it goes on from *link*.

    It is another one, has a number or a date where one is asked for, and its passage speaks of
    the name.
    """
    best = _best(outer.evidence)
    if best is None or _is_within(best, link.chosen[0]) or not has_kind(best.text, nesting.rest):
        return None
    return best if mentions(_all_of(best.passage.chunk), link.name or "") else None


def _best(evidence: Evidence) -> Extract | None:
    best = next(iter(ranked(evidence)), None)
    return None if best is None else extract_of(evidence, best)


def _is_within(one: Extract, other: Extract) -> bool:
    """Say whether a quote is part of another one."""
    is_same = one.passage.chunk["chunk_id"] == other.passage.chunk["chunk_id"]
    return is_same and one.start < other.end and other.start < one.end


def _all_of(chunk: StoredChunk) -> str:
    return " ".join((chunk["title"], *chunk["heading_path"], chunk["text"]))
