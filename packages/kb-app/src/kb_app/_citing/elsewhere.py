"""Looking for a text that is not where it was cited: other documents, new and renamed files.

A text that is known is looked for by its words, as a search would, and in files that
ingest has not seen. Of a text that is not known any more there is the hash: the chunks of
documents are hashed until one has it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from kb_app._citing.files import Files
from kb_app._citing.matching import Lines, Quote, occurrences, quoted_part
from kb_app._media import medium_of
from kb_core.citations import Citation, CodeSpan, LineSpan, citation_of
from kb_core.filters import OneOf
from kb_core.ids import content_hash
from kb_core.ports import IndexSnapshot, StoredChunk, StoredDoc
from kb_core.search import Clause, LexicalQuery

__all__ = ["Elsewhere", "Found", "at_lines"]

_LEAST_LETTERS = 20
"""Letters and digits below which a text may stand anywhere by chance."""
_MOST_CHUNKS = 50
_MOST_DOCUMENTS = 5_000
_MOST_QUERY_CHARACTERS = 4_000


@dataclass(frozen=True, slots=True)
class Found:
    """Where a text stands now, in which source."""

    citation: Citation
    source_id: str


def at_lines(path: str, lines: Lines, media: str, code_lang: str | None) -> Citation:
    """Return the citation of lines in a file of that medium."""
    if media == "code":
        return Citation(path, CodeSpan(*lines, lang=code_lang))
    return Citation(path, LineSpan(*lines))


class Elsewhere:
    """Looks in one snapshot; *digests* are all the hashes that it may be asked for."""

    def __init__(self, snapshot: IndexSnapshot, files: Files, digests: Collection[str]) -> None:
        self._snapshot = snapshot
        self._files = files
        self._digests = frozenset(digests)

    def by_text(self, quote: Quote, doc: StoredDoc) -> Found | None:
        """Return a place outside *doc* where the quote stands, the likeliest first."""
        before = self._files.before(doc)
        telling = sum(map(str.isalnum, quote.text)) >= _LEAST_LETTERS
        for file, text in self._files.unseen(doc["source_id"]):
            lines = [quote.lines] if text == before else telling and occurrences(quote, text)
            if lines and file.path != doc["path"]:
                place = at_lines(file.path, lines[0], file.media, file.code_lang)
                return Found(place, doc["source_id"])
        for other in self._alike(quote.text, doc["doc_id"]) if telling else ():
            if lines := occurrences(quote, self._files.now(other).text or ""):
                return _found(other, lines[0])
        return None

    def by_hash(self, digest: str, doc_id: str | None) -> Found | None:
        """Return where, outside of that document, a chunk stands that has the hash."""
        for chunk in self._by_digest.get(digest, ()):
            if chunk["doc_id"] == doc_id:
                continue
            doc = self._snapshot.find_docs(chunk["doc_id"], 1)[0]
            if not medium_of(doc["media"]).has_lines:
                return Found(citation_of(chunk), doc["source_id"])
            quote = quoted_part(self._files.before(doc), chunk["start"], chunk["end"])
            if lines := occurrences(quote, self._files.now(doc).text or ""):
                return _found(doc, min(lines, key=lambda at: abs(at[0] - quote.lines[0])))
        return None

    def _alike(self, text: str, doc_id: str) -> Iterator[StoredDoc]:
        """Yield documents that have chunks of the same words, the best first."""
        query = LexicalQuery((Clause(text[:_MOST_QUERY_CHARACTERS]),))
        scored = self._snapshot.lexical(query, None, _MOST_CHUNKS)
        chunks = self._snapshot.chunks([row.chunk_key for row in scored])
        ids = dict.fromkeys(
            chunks[row.chunk_key]["doc_id"] for row in scored if row.chunk_key in chunks
        )
        for other in ids:
            if other == doc_id:
                continue
            for doc in self._snapshot.docs(OneOf("doc_id", (other,))):
                if medium_of(doc["media"]).has_lines:
                    yield doc

    @cached_property
    def _by_digest(self) -> Mapping[str, list[StoredChunk]]:
        found: dict[str, list[StoredChunk]] = {}
        for doc in islice(self._snapshot.docs(None), _MOST_DOCUMENTS):
            for chunk in self._snapshot.doc_chunks(doc["doc_id"]):
                digest = content_hash(chunk["text"])
                if digest in self._digests:
                    found.setdefault(digest, []).append(chunk)
        return found


def _found(doc: StoredDoc, lines: Lines) -> Found:
    place = at_lines(doc["path"], lines, doc["media"], doc.get("code_lang"))
    return Found(place, doc["source_id"])
