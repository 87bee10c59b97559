"""Rows of a ranking as hits that can be shown: text, place, provenance, freshness.

A document is stale when no run has verified it for longer than the threshold, or when
the file on disk has another size or modification time now (ruling R16). That costs one
``stat`` per document shown, and is outside the promise that equal questions give equal
bytes. Of a document from outside the sources the file is our asset, wherever it came from.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kb_app._media import medium_of
from kb_app._search.ranking import Place, Row
from kb_core.citations import citation_of
from kb_core.clock import clamp_ns
from kb_core.filters import And, Not, OneOf, Range
from kb_core.media import Media
from kb_core.search import Hit, Passage, Retrieval
from kb_core.text import LineIndex
from kb_core.values import replace
from kb_search.snippets import Highlighter

if TYPE_CHECKING:
    from kb_core.ports import IndexSnapshot, StoredChunk, StoredDoc, StoredFile

__all__ = ["Freshness", "Renderer", "file_of"]

_DAY_SECS = 86_400


class Freshness:
    """Judges the documents of one snapshot; each is looked at once, and several at a time."""

    def __init__(self, snapshot: IndexSnapshot, *, now: int, threshold_days: int) -> None:
        self._snapshot = snapshot
        self._now = now
        self._threshold_secs = threshold_days * _DAY_SECS
        self._known: dict[str, bool] = {}

    def is_stale(self, doc: StoredChunk | StoredDoc) -> bool:
        """Say whether a stored document, or the document of a stored chunk, is stale."""
        if doc["doc_id"] not in self._known:
            self.look_at((doc,))
        return self._known[doc["doc_id"]]

    def look_at(self, docs: Iterable[StoredChunk | StoredDoc]) -> None:
        """Judge documents together: what the ledger has to tell is asked for once a source."""
        unsure: dict[str, list[StoredChunk | StoredDoc]] = {}
        for doc in docs:
            if doc["doc_id"] in self._known:
                continue
            differs = self.is_overdue(doc) or self._differs(doc)
            if differs is None:
                unsure.setdefault(doc["source_id"], []).append(doc)
            else:
                self._known[doc["doc_id"]] = differs
        for source_id, asked in unsure.items():
            self._ask_ledger(source_id, asked)

    def is_overdue(self, doc: StoredChunk | StoredDoc) -> bool:
        """Say whether no run has verified the document for too long."""
        if not self._threshold_secs:
            return False
        limit = self._now - self._threshold_secs
        if (doc["indexed_at"] or 0) >= limit:
            return False
        source = self._snapshot.control.sources.get(doc["source_id"], {})
        return (source.get("verified_at") or 0) < limit

    def count_overdue(self) -> int:
        """Return how many documents no run has verified for too long; none of them is read."""
        if not self._threshold_secs:
            return 0
        limit = self._now - self._threshold_secs
        sources = self._snapshot.control.sources
        verified = [
            source_id
            for source_id, source in sources.items()
            if (source.get("verified_at") or 0) >= limit
        ]
        old = Range("indexed_at", high=limit - 1)
        return self._snapshot.count_docs(And((old, Not(OneOf("source_id", tuple(verified))))))

    def _differs(self, doc: StoredChunk | StoredDoc) -> bool | None:
        """Say whether a file is another than was read; ``None``, where the ledger has to tell."""
        root = self._snapshot.control.sources.get(doc["source_id"], {}).get("root")
        if not root:
            return False
        if asset := doc["asset"]:
            return not _holds(_below(root, asset), doc)
        return False if _same(_below(root, file_of(doc)), doc) else None

    def _ask_ledger(self, source_id: str, docs: Sequence[StoredChunk | StoredDoc]) -> None:
        # The name on disk may be spelled otherwise, or the file was only touched.
        from kb_app._ingest.seeing.files import location  # only where the plain path did not do

        root = self._snapshot.control.sources[source_id]["root"]
        paths = OneOf("path", tuple({file_of(doc) for doc in docs}))
        rows = self._snapshot.files(And((OneOf("source_id", (source_id,)), paths)))
        same = {
            row["path"] for row in rows if _same(location(root, row["path"], row["raw_path"]), row)
        }
        self._known |= {doc["doc_id"]: file_of(doc) not in same for doc in docs}


def file_of(doc: StoredChunk | StoredDoc) -> str:
    """Return the path of the file that a document, or that of a chunk, is or is within."""
    return doc.get("container") or doc["path"]


def _below(root: str, path: str) -> str:
    return os.path.join(root, path)  # noqa: PTH118 - a Path for each hit takes longer than its stat


def _holds(asset: str, doc: StoredChunk | StoredDoc) -> bool:
    # An asset is called by its content and never changes; its times say nothing.
    try:
        return bool(os.stat(asset).st_size == doc["size"])  # noqa: PTH116 - as above
    except OSError:
        return False


def _same(path: str, seen: StoredChunk | StoredDoc | StoredFile) -> bool:
    try:
        status = os.stat(path)  # noqa: PTH116 - as above
    except (OSError, ValueError):
        return False
    if status.st_size != seen["size"]:
        return False
    then, modified = seen["mtime_ns"], status.st_mtime_ns
    return bool(modified == then or clamp_ns(modified) == then)


class _Document:
    """The text around passages, as far as it tells where they lie."""

    def __init__(self, snapshot: IndexSnapshot, chunk: StoredChunk) -> None:
        self.text = snapshot.doc_text(chunk["doc_id"]) or ""
        self._index = LineIndex(self.text)
        has_lines = medium_of(chunk["media"]).has_lines and not chunk["span"]
        self.lines = len(self._index) if has_lines else None
        self._units: list[tuple[int, int]] = []
        if chunk["media"] == Media.CODE.value:
            blocks = (
                block for doc in snapshot.find_docs(chunk["doc_id"], 1) for block in doc["blocks"]
            )
            units = (b for b in blocks if b["kind"] == "unit")
            self._units = [(b["start"], b.get("until", b["end"])) for b in units]

    def unit_around(self, end: int) -> tuple[int, int] | None:
        """Return the lines of the innermost unit that a passage ends in, *end* not included."""
        around = next(
            (unit for unit in reversed(self._units) if unit[0] <= end - 1 < unit[1]), None
        )
        return None if around is None else self._index.lines_of(*around)


class Renderer:
    """Reads chunks of one snapshot, each once, and makes hits of them.

    Shared by all queries of one call; not by threads.
    """

    def __init__(
        self, snapshot: IndexSnapshot, *, now: int, stale_days: int, model_key: str | None
    ) -> None:
        self._snapshot = snapshot
        self._fresh = Freshness(snapshot, now=now, threshold_days=stale_days)
        self._model_key = model_key
        self._chunks: dict[int, StoredChunk] = {}
        self._documents: dict[str, _Document] = {}

    def chunks(self, keys: Sequence[int]) -> dict[int, StoredChunk]:
        """Return those chunks that exist, by key."""
        missing = [key for key in keys if key not in self._chunks]
        if missing:
            self._chunks.update(self._snapshot.chunks(missing))
        return {key: self._chunks[key] for key in keys if key in self._chunks}

    def places(self, keys: Sequence[int]) -> dict[int, Place]:
        """Return what orders chunks of equal score."""
        return {
            key: (chunk["source_id"], chunk["path"], chunk["ordinal"])
            for key, chunk in self.chunks(keys).items()
        }

    def highlighter(self, text: str) -> Highlighter:
        """Return what finds the words of *text*."""
        return Highlighter(text, self._snapshot.languages)

    def hits(
        self,
        rows: Sequence[Row],
        *,
        first_rank: int,
        method: str,
        highlighter: Highlighter,
        snippet_chars: int,
        passages: bool = False,
    ) -> list[Hit]:
        """Return the hits of a page, ranks counting from *first_rank*; perhaps with passages."""
        chunks = self.chunks([row.chunk_key for row in rows])
        shown = [row for row in rows if row.chunk_key in chunks]
        self._fresh.look_at(chunks[row.chunk_key] for row in shown)
        hits = [
            self._hit(
                rank,
                row,
                chunks[row.chunk_key],
                method,
                highlighter.snippet(chunks[row.chunk_key]["text"], snippet_chars),
            )
            for rank, row in enumerate(shown, start=first_rank)
        ]
        if not passages:
            return hits
        found = (self._passage(chunks[row.chunk_key]) for row in shown)
        return [replace(hit, passage=passage) for hit, passage in zip(hits, found, strict=True)]

    def _passage(self, chunk: StoredChunk) -> Passage:
        """Return the whole chunk, and where it lies; reads its document, once for all chunks."""
        doc = self._documents.get(chunk["doc_id"])
        if doc is None:
            doc = self._documents[chunk["doc_id"]] = _Document(self._snapshot, chunk)
        text, start, end = chunk["text"], chunk["start"], chunk["end"]
        margin = doc.text[doc.text.rfind("\n", 0, start) + 1 : start]
        if margin.isspace():  # of code, it tells how deep the first line is
            text, start = margin + text, start - len(margin)
        return Passage(text=text, start=start, end=end, lines=doc.lines, unit=doc.unit_around(end))

    def _hit(
        self,
        rank: int,
        row: Row,
        chunk: StoredChunk,
        method: str,
        snippet: tuple[str, bool],
    ) -> Hit:
        headings = tuple(chunk["heading_path"])
        text, whole = snippet
        return Hit(
            rank=rank,
            score=row.score,
            score_kind=row.kind,
            chunk_id=chunk["chunk_id"],
            doc_id=chunk["doc_id"],
            doc_path=chunk["path"],
            title=chunk["title"],
            heading_path=headings,
            section_label=chunk["symbol"] or (headings[-1] if headings else None),
            snippet=text,
            snippet_full_text=whole,
            citation=citation_of(chunk),
            retrieval=_retrieval(row, method),
            index_version=self._snapshot.control.index_version,
            chunker_version=chunk["chunker_version"],
            embedding_model=None if row.fused.vector_rank is None else self._model_key,
            indexed_at=chunk["indexed_at"],
            stale=self._fresh.is_stale(chunk),
            source_id=chunk["source_id"],
            source_type=chunk["source_type"],
            trust_level=chunk["trust_level"],
            lang=chunk["lang"],
            media=chunk["media"],
            repo=chunk["repo"],
            code_lang=chunk["code_lang"],
            flags=tuple(chunk["flags"]),
        )


def _retrieval(row: Row, method: str) -> Retrieval:
    fused = row.fused
    return Retrieval(
        method=method,
        fusion_score=fused.score,
        lexical_score=fused.lexical_score,
        vector_score=fused.vector_score,
        lexical_rank=fused.lexical_rank,
        vector_rank=fused.vector_rank,
        rerank_score=row.rerank_score,
    )
