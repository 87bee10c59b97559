r"""Documents, chunks and publications for tests: real ids, one chunk per paragraph.

``document`` makes what a parser and a chunker would; a ``Corpus`` mints keys and
revisions as a store does, and works out which chunks died::

    corpus = Corpus(HashEmbedder())
    index.publish(corpus.publication(corpus.document("a.md", "One.\n\nTwo.")))
    index.publish(corpus.publication(removed=["a.md"]))
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import count
from typing import Any, cast

from kb_core import ids
from kb_core.clock import to_epoch
from kb_core.ports import Embedder, StoredChunk, StoredDoc, StoredFile
from kb_core.records import (
    ChunkRecord,
    DocumentRecord,
    FileRecord,
    FileState,
    Publication,
    VectorRecord,
)
from kb_core.stored import Ledger
from kb_core.text import LineIndex
from kb_core.values import replace

__all__ = [
    "NOW",
    "Corpus",
    "document",
    "file_row",
    "ledger_of",
    "publication",
    "stored_chunk",
    "stored_doc",
    "stored_file",
]

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
"""When everything in a test happens, unless it says otherwise."""

_PARAGRAPH = re.compile(r"\S(?:[^\n]|\n(?!\s*(?:\n|\Z)))*")
_MEDIA = {"md": "markdown", "py": "code", "rs": "code", "pdf": "pdf"}
_CODE_LANG = {"py": "python", "rs": "rust"}


def document(path: str, text: str, **fields: Any) -> DocumentRecord:  # noqa: ANN401
    """Return a document of source ``notes`` with a chunk per paragraph; *fields* override.

    Medium and language follow the suffix; the title is the first heading, else the stem.
    Keys are 0, as in a document that is not stored yet.
    """
    source = fields.get("source_id", "notes")
    suffix = path.rpartition(".")[2]
    heading = re.match(r"#+ +(.+)", text)
    data = text.encode("utf-8", "surrogatepass")
    doc = DocumentRecord(
        doc_id=ids.doc_id(source, path),
        source_id=source,
        path=path,
        title=heading[1] if heading else path.rpartition("/")[2].rpartition(".")[0] or path,
        media=_MEDIA.get(suffix, "text"),
        text=text,
        lang=None if suffix in _CODE_LANG else "en",
        code_lang=_CODE_LANG.get(suffix),
        doc_date=NOW,
        indexed_at=NOW,
        byte_len=len(data),
        size=len(data),
        mtime_ns=int(NOW.timestamp()) * 1_000_000_000,
        bytes_hash=ids.bytes_hash(data),
        parser_version="paragraphs-1",
        chunker_version="paragraphs-1",
    )
    doc = replace(doc, **fields)
    return doc if "chunks" in fields else replace(doc, chunks=tuple(_chunks(doc)))


def file_row(path: str, state: FileState = FileState.INDEXED, **fields: Any) -> FileRecord:  # noqa: ANN401
    """Return a ledger row of source ``notes``; *fields* override."""
    row = FileRecord(source_id="notes", path=path, state=state, processed_at=NOW, changed_at=NOW)
    return replace(row, **fields)


def publication(*documents: DocumentRecord, embedder: Embedder | None = None) -> Publication:
    """Return the first publication of a new corpus."""
    return Corpus(embedder).publication(*documents)


def stored_chunk(chunk: ChunkRecord, doc: DocumentRecord, **fields: Any) -> StoredChunk:  # noqa: ANN401
    """Return *chunk* of *doc* as an index shows it; *fields* override."""
    shown = _shown(doc, StoredChunk) | _shown(chunk, StoredChunk)
    return cast("StoredChunk", shown | fields)


def stored_doc(doc: DocumentRecord, **fields: Any) -> StoredDoc:  # noqa: ANN401
    """Return *doc* as an index shows it; *fields* override."""
    counts = {"chunk_count": len(doc.chunks), "text_chars": len(doc.text)}
    return cast("StoredDoc", _shown(doc, StoredDoc) | counts | fields)


def stored_file(row: FileRecord, **fields: Any) -> StoredFile:  # noqa: ANN401
    """Return a row of the ledger as an index shows it; *fields* override."""
    return cast("StoredFile", _shown(row, StoredFile) | fields)


def ledger_of(rows: Iterable[StoredFile]) -> Ledger:
    """Return rows of the ledger, summed up."""
    counts: Counter[tuple[str, str | None]] = Counter()
    changed = None
    for row in rows:
        counts[str(row["state"]), row["reason"]] += 1
        changed = max(changed or 0, row["processed_at"] or 0, row["changed_at"] or 0)
    return Ledger(counts, changed)


def _shown(record: object, row: type) -> dict[str, Any]:
    """Return what of *record* stands in a row, with instants as epoch seconds."""
    values = {name: getattr(record, name) for name in row.__annotations__ if hasattr(record, name)}
    return {n: to_epoch(v) if isinstance(v, datetime) else v for n, v in values.items()}


def _chunks(doc: DocumentRecord) -> Iterator[ChunkRecord]:
    found = list(_PARAGRAPH.finditer(doc.text))
    lines = LineIndex(doc.text)
    hashes = [ids.text_hash(match[0]) for match in found]
    identities = ids.chunk_ids(ids.DocId(doc.doc_id), hashes)
    headings: tuple[str, ...] = ()
    for ordinal, (match, identity) in enumerate(zip(found, identities, strict=True)):
        if match[0].startswith("#"):
            headings = (match[0].partition("\n")[0].lstrip("# "),)
        start, end = match.span()
        context = "\n".join((doc.title, *headings))
        first, last = lines.lines_of(start, end)
        yield ChunkRecord(
            chunk_id=identity,
            ordinal=ordinal,
            start=start,
            end=end,
            text=match[0],
            line_start=first,
            line_end=last,
            token_count=len(match[0].split()),
            heading_path=headings,
            context=context,
            passage_hash=ids.text_hash(f"{context}\n\n{match[0]}"),
        )


class Corpus:
    """Mints keys and revisions as a store does; makes one publication after another.

    A chunk whose id stays keeps its key. Given an embedder, every publication carries
    the vectors of its new chunks.
    """

    def __init__(self, embedder: Embedder | None = None, *, store_id: str = "fake") -> None:
        self.docs: dict[str, DocumentRecord] = {}
        """What has been published, by document id."""
        self._embedder = embedder
        self._store_id = store_id
        self._keys = count(1)
        self._sequence = self._corpus = self._vectors = 0

    def document(self, path: str, text: str, **fields: Any) -> DocumentRecord:  # noqa: ANN401
        """Return a document with keys; what was published under its id lends it its own."""
        return self._keyed(document(path, text, **fields))

    def moved(self, doc: DocumentRecord, path: str) -> DocumentRecord:
        """Return *doc* under another path: new ids, the same keys."""
        fresh = document(path, doc.text, source_id=doc.source_id)
        pairs = zip(fresh.chunks, doc.chunks, strict=True)
        chunks = tuple(replace(new, chunk_key=old.chunk_key) for new, old in pairs)
        return replace(doc, doc_id=fresh.doc_id, path=path, chunks=chunks)

    def publication(
        self,
        *documents: DocumentRecord,
        removed: Iterable[str] = (),
        files: Sequence[FileRecord] = (),
        forgotten: Sequence[tuple[str, str]] = (),
        aliases: Mapping[str, str] | None = None,
    ) -> Publication:
        """Return the next publication; *removed* are paths of source ``notes`` or ids."""
        before = self._chunk_keys()
        placed = [self._keyed(doc) for doc in documents]
        gone = [self._find(name) for name in removed]
        keys = {doc.doc_key for doc in (*placed, *gone)}
        self.docs = {i: d for i, d in self.docs.items() if d.doc_key not in keys}
        self.docs |= {doc.doc_id: doc for doc in placed}
        after = self._chunk_keys()
        vectors = self._embed(placed, after - before)
        self._sequence += 1
        self._corpus += bool(placed or gone)
        self._vectors += bool(vectors)
        return Publication(
            sequence=self._sequence,
            corpus_revision=self._corpus,
            vector_revision=self._vectors,
            store_id=self._store_id,
            documents=tuple(placed),
            removed_docs=tuple(doc.doc_key for doc in gone),
            files=tuple(files),
            forgotten_files=tuple(forgotten),
            aliases=dict(aliases or {}),
            dead_chunks=tuple(sorted(before - after)),
            vectors=vectors,
            models=self._models(),
            stats={"doc_count": len(self.docs), "chunk_count": len(after)},
            sources={d.source_id: {"root": f"/{d.source_id}"} for d in self.docs.values()},
        )

    def _keyed(self, doc: DocumentRecord) -> DocumentRecord:
        if doc.doc_key:
            return doc
        old = self.docs.get(doc.doc_id)
        known = {c.chunk_id: c.chunk_key for c in old.chunks} if old else {}
        chunks = tuple(
            replace(c, chunk_key=known.get(c.chunk_id) or next(self._keys)) for c in doc.chunks
        )
        return replace(doc, doc_key=old.doc_key if old else next(self._keys), chunks=chunks)

    def _chunk_keys(self) -> set[int]:
        return {chunk.chunk_key for doc in self.docs.values() for chunk in doc.chunks}

    def _find(self, name: str) -> DocumentRecord:
        return self.docs.get(name) or self.docs[ids.doc_id("notes", name)]

    def _embed(
        self, docs: Iterable[DocumentRecord], new: set[int]
    ) -> dict[str, tuple[VectorRecord, ...]]:
        chunks = [c for doc in docs for c in doc.chunks if c.chunk_key in new]
        if self._embedder is None or not chunks:
            return {}
        made = self._embedder.embed_passages([chunk.passage for chunk in chunks])
        pairs = zip(chunks, made, strict=True)
        records = tuple(VectorRecord(chunk.chunk_key, vector) for chunk, vector in pairs)
        return {self._embedder.model.key: records}

    def _models(self) -> dict[str, dict[str, Any]]:
        if self._embedder is None:
            return {}
        model = self._embedder.model
        return {model.key: {"name": model.name, "dimensions": model.dimensions}}
