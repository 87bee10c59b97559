"""What golden questions expect, found again in the index as it is now.

A document is found by its path or id, also after it has moved. A place is found, in this
order, by the hash of its passage in its document; by its quote there, which finds what was
cut into chunks anew; in other documents; and by the chunk that has most of the quote's words,
which is then ``changed`` and still counts. Only what none of these finds is ``gone``. Without
hash and quote, the lines or the page are taken as they are.

What is expected is told apart by *target*: ``units`` turns hits into the ids that
``figures`` rank, those of the targets that they meet and, of what meets none, their own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kb_app._citing.matching import Status, find_by_hash
from kb_app._search.lookup import chunks_at, documents_at, find
from kb_core import wire
from kb_core.citations import Citation, CodeSpan, LineSpan, citation_of, parse_citation
from kb_core.errors import InvalidInput
from kb_core.evals import EvalCase, ExpectedPlace
from kb_core.ids import content_hash
from kb_core.search import Clause, LexicalQuery
from kb_core.text import LineIndex
from kb_core.values import dataclass

if TYPE_CHECKING:
    from pathlib import Path

    from kb_core.ports import IndexSnapshot, StoredChunk, StoredDoc
    from kb_core.search import Hit
    from kb_core.wire import types

__all__ = ["Bound", "Target", "bind", "check", "place_of"]

_ALIKE = 0.6
"""The share of a quote's words from which a chunk is an edit of it."""
_QUOTED = 240
"""Characters of a passage that a case keeps: enough to be its own, short enough to be read."""
_LOOKED_AT = 20
"""Chunks of other documents whose text is compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One thing that is expected, and the document or the chunks that it is now."""

    expected: str
    """As the case has it."""
    kind: str
    grade: int
    status: Status
    doc_id: str | None = None
    chunk_ids: frozenset[str] = frozenset()
    now: Citation | None = None
    detail: str | None = None

    def is_met_by(self, chunk_id: str, doc_id: str) -> bool:
        """Say whether a hit is, or is in, what is expected."""
        return doc_id == self.doc_id if self.kind == "doc" else chunk_id in self.chunk_ids


@dataclass(frozen=True, slots=True)
class Bound:
    """A case with its targets."""

    case: EvalCase
    targets: tuple[Target, ...]

    @property
    def is_broken(self) -> bool:
        """Whether it expects something, and nothing of that is left."""
        return self.case.is_judged and not self.grades

    @property
    def grades(self) -> dict[str, int]:
        """The grade of every target that is there."""
        return {one.expected: one.grade for one in self.targets if one.status != "gone"}

    def units(self, chunk_id: str, doc_id: str) -> list[str]:
        """Return what a hit counts as: the targets that it meets, the best first, else itself.

        Where only documents are expected, that is its document.
        """
        met = [one for one in self.targets if one.is_met_by(chunk_id, doc_id)]
        if met:
            return [one.expected for one in sorted(met, key=lambda one: -one.grade)]
        of_documents = all(one.kind == "doc" for one in self.targets)
        return [f"doc:{doc_id}" if of_documents else f"chunk:{chunk_id}"]


def check(snapshot: IndexSnapshot, cases: Sequence[EvalCase], path: Path) -> types.EvalCheck:
    """Return eval_check.v1: what became of all that *cases* expect."""
    bound = [bind(snapshot, case) for case in cases]
    rows = [(each.case.id, target) for each in bound for target in each.targets]
    counts = Counter(target.status for _, target in rows)
    states: tuple[Status, ...] = ("unchanged", "moved", "changed", "gone")
    return wire.eval_check(
        str(path),
        len(bound),
        broken=[each.case.id for each in bound if each.is_broken],
        counts={state: counts[state] for state in states},
        items=[
            {
                "case": case,
                "expected": target.expected,
                "kind": target.kind,
                "status": target.status,
                "now": target.now and target.now.uri,
                "detail": target.detail,
            }
            for case, target in rows
        ],
        corpus_revision=snapshot.control.corpus_revision,
    )


def place_of(snapshot: IndexSnapshot, hit: Hit) -> ExpectedPlace:
    """Return what a case has to keep of a hit, so that its passage is found again."""
    chunk = next(iter(snapshot.find_chunks(hit.chunk_id, 1)), None)
    text = chunk["text"].strip() if chunk else hit.snippet.strip()
    quote = text if len(text) <= _QUOTED else text[:_QUOTED].rpartition(" ")[0] or text[:_QUOTED]
    return ExpectedPlace(
        uri=hit.citation.uri,
        source=hit.source_id,
        content_hash=hit.citation.content_hash,
        quote=quote,
    )


def bind(snapshot: IndexSnapshot, case: EvalCase) -> Bound:
    """Return *case* with all that it expects, found in *snapshot*; raises nothing."""
    targets = [
        *(_document(snapshot, name, grade) for name, grade in case.expected_docs.items()),
        *(_chunk(snapshot, name, grade) for name, grade in case.expected_chunks.items()),
        *(_passage(snapshot, place) for place in case.expected_places),
    ]
    return Bound(case, tuple(targets))


def _document(snapshot: IndexSnapshot, name: str, grade: int) -> Target:
    try:
        named, detail = find(snapshot, name, field="expected_docs"), "no such document is indexed"
    except InvalidInput as error:
        named, detail = None, str(error)
    if named is None:
        return Target(expected=name, kind="doc", grade=grade, status="gone", detail=detail)
    return Target(
        expected=name, kind="doc", grade=grade, status="unchanged", doc_id=named.doc["doc_id"]
    )


def _chunk(snapshot: IndexSnapshot, name: str, grade: int) -> Target:
    found = snapshot.find_chunks(name, 2)
    if len(found) != 1:
        detail = "several chunks begin so" if found else "no such chunk: its text has changed"
        return Target(expected=name, kind="chunk", grade=grade, status="gone", detail=detail)
    ids = frozenset({found[0]["chunk_id"]})
    return Target(expected=name, kind="chunk", grade=grade, status="unchanged", chunk_ids=ids)


def _passage(snapshot: IndexSnapshot, place: ExpectedPlace) -> Target:
    try:
        cited = parse_citation(place.uri)
    except InvalidInput as error:
        return _lost(place, str(error))
    return _Place(snapshot, place, cited).target()


def _lost(place: ExpectedPlace, detail: str) -> Target:
    return Target(expected=place.uri, kind="place", grade=place.grade, status="gone", detail=detail)


class _Place:
    """Looks for one expected place in one snapshot."""

    def __init__(self, snapshot: IndexSnapshot, place: ExpectedPlace, cited: Citation) -> None:
        self._snapshot = snapshot
        self._place = place
        self._cited = cited

    def target(self) -> Target:
        """Return what the place is now."""
        docs = documents_at(self._snapshot, self._cited.path, self._place.source)
        for look in (self._by_hash, self._by_quote, self._by_lines_of_hash):
            for doc in docs:
                if chunks := look(doc):
                    return self._found(chunks)
        if found := self._elsewhere():
            return self._found(found)
        if self._place.content_hash is None and self._place.quote is None:
            return self._as_it_stands(docs)
        likely = [found for doc in docs if (found := self._edited(doc))]
        if likely:
            return self._found(likely[0], status="changed")
        why = "nothing here says it any more" if docs else "no such document is indexed"
        return self._gone(why)

    def _found(self, chunks: Sequence[StoredChunk], status: Status | None = None) -> Target:
        now = citation_of(chunks[0])
        stays = any(citation_of(chunk).bare() == self._cited for chunk in chunks)
        place = self._place
        return Target(
            expected=place.uri,
            kind="place",
            grade=place.grade,
            status=status or ("unchanged" if stays else "moved"),
            chunk_ids=frozenset(chunk["chunk_id"] for chunk in chunks),
            now=None if stays else now,
        )

    def _gone(self, detail: str) -> Target:
        return _lost(self._place, detail)

    def _as_it_stands(self, docs: Sequence[StoredDoc]) -> Target:
        if not docs:
            return self._gone("no such document is indexed")
        if len(docs) > 1:
            return self._gone("several sources have that path: name one")
        exactly = list(chunks_at(self._snapshot, docs[0], self._cited))
        chunks = exactly or self._over(docs[0], self._lines)
        if not chunks:
            return self._gone("no passage stands there")
        return self._found(chunks, status="unchanged")

    def _by_hash(self, doc: StoredDoc) -> list[StoredChunk]:
        """Return the chunk whose text has the hash; of several, the nearest."""
        same = [c for c in self._chunks(doc) if content_hash(c["text"]) == self._place.content_hash]
        first = self._lines[0] if self._lines else 0
        return sorted(same, key=lambda chunk: abs(chunk["line_start"] - first))[:1]

    def _by_quote(self, doc: StoredDoc) -> list[StoredChunk]:
        """Return the chunks in which the quote stands, where that is nearest."""
        quote = (self._place.quote or "").strip()
        text = (self._snapshot.doc_text(doc["doc_id"]) or "") if quote else ""
        places = [found.start() for found in re.finditer(re.escape(quote), text)] if text else []
        if not places:
            return []
        lines, near = LineIndex(text), self._lines[0] if self._lines else 1
        start = min(places, key=lambda at: abs(lines.line_at(at) - near))
        end = start + len(quote)
        return [c for c in self._chunks(doc) if c["start"] < end and start < c["end"]]

    def _by_lines_of_hash(self, doc: StoredDoc) -> list[StoredChunk]:
        """Return the chunks over as many whole lines as have the hash, wherever they stand."""
        digest = self._place.content_hash
        text = self._snapshot.doc_text(doc["doc_id"]) if digest and self._lines else None
        if text is None or digest is None or self._lines is None:
            return []
        found = find_by_hash(text, self._lines, digest)
        return self._over(doc, found.lines) if found else []

    def _elsewhere(self) -> list[StoredChunk]:
        """Return a chunk of any document that has the hash, or holds the quote."""
        quote = (self._place.quote or "").strip()
        if not quote:
            return []
        scored = self._snapshot.lexical(LexicalQuery((Clause(quote),)), None, _LOOKED_AT)
        chunks = self._snapshot.chunks([row.chunk_key for row in scored])
        for row in scored:
            chunk = chunks.get(row.chunk_key)
            if chunk and (
                content_hash(chunk["text"]) == self._place.content_hash or quote in chunk["text"]
            ):
                return [chunk]
        return []

    def _edited(self, doc: StoredDoc) -> list[StoredChunk]:
        """Return the chunk that has most of the quote's words, if that is most of them."""
        words = Counter((self._place.quote or "").split())
        if not words:
            return []
        shares = [
            ((words & Counter(chunk["text"].split())).total() / words.total(), chunk)
            for chunk in self._chunks(doc)
        ]
        best = max(shares, key=lambda row: row[0], default=None)
        return [best[1]] if best and best[0] >= _ALIKE else []

    def _over(self, doc: StoredDoc, lines: tuple[int, int] | None) -> list[StoredChunk]:
        if lines is None:
            return []
        first, last = lines
        return [c for c in self._chunks(doc) if c["line_start"] <= last and first <= c["line_end"]]

    def _chunks(self, doc: StoredDoc) -> Sequence[StoredChunk]:
        return self._snapshot.doc_chunks(doc["doc_id"])

    @property
    def _lines(self) -> tuple[int, int] | None:
        match self._cited.span:
            case LineSpan(start, end) | CodeSpan(start, end):
                return start, end
            case _:
                return None
