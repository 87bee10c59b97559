"""Whether citations still say the same: ``unchanged``, ``moved``, ``changed`` or ``gone``.

What counts is the file as it is now, where it is text that can be reached; else the index.
The cited text is the chunk that has the citation's ``content_hash``; without a hash it is
what the index has at the cited lines. A text that was taken out, or replaced by something
that is not like it, is looked for elsewhere; one that was edited in its place is changed,
whatever stands elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from kb_app._citing.asking import Asked, Item, asked
from kb_app._citing.disk import Now
from kb_app._citing.elsewhere import Elsewhere, Found, at_lines
from kb_app._citing.files import Files
from kb_app._citing.hashes import find_by_hash, quote_by_hash
from kb_app._citing.matching import Lines, Quote, Status, Verdict, judge, quoted_lines, quoted_part
from kb_app._citing.resolving import ambiguous, chunks_at
from kb_app._media import medium_of
from kb_app._search.lookup import documents_at, spellings
from kb_app.config import Config
from kb_core import wire
from kb_core.citations import Citation, CodeSpan, LineSpan, citation_of
from kb_core.ids import content_hash
from kb_core.ports import IndexSnapshot, StoredChunk, StoredDoc
from kb_core.wire import Json

__all__ = ["verify"]

_BETTER: dict[Status, int] = {"unchanged": 0, "moved": 1, "changed": 2, "gone": 3}


@dataclass(frozen=True, slots=True)
class _Check:
    """What became of one citation."""

    status: Status
    doc: StoredDoc | None = None
    now: Citation | None = None
    source_now: str | None = None
    diff: str | None = None
    is_file: bool = False
    detail: str | None = None


def verify(
    snapshot: IndexSnapshot, config: Config, items: Iterable[Item], source: str | None
) -> Json:
    """Return citation_check.v1 of all citations that *items* name, in order."""
    wanted = asked(items, source)
    files = Files(snapshot, config)
    digests = {each.content_hash for each in wanted if each.content_hash}
    verifier = _Verifier(snapshot, files, Elsewhere(snapshot, files, digests))
    return wire.citation_check(_shown(each, verifier.check(each)) for each in wanted)


def _shown(given: Asked, check: _Check) -> Json:
    now = check.now and replace(check.now, content_hash=given.content_hash)
    return {
        "uri": given.uri,
        "content_hash": given.content_hash,
        "status": check.status,
        "checked": "file" if check.is_file else "index",
        "source_id": check.doc["source_id"] if check.doc else given.source,
        "doc_id": check.doc["doc_id"] if check.doc else None,
        "now": wire.citation(now) if now else None,
        "now_source_id": check.source_now,
        "diff": check.diff,
        "detail": check.detail,
    }


class _Verifier:
    """Judges citations by one snapshot and the files beside it."""

    def __init__(self, snapshot: IndexSnapshot, files: Files, elsewhere: Elsewhere) -> None:
        self._snapshot = snapshot
        self._files = files
        self._elsewhere = elsewhere

    def check(self, given: Asked) -> _Check:
        """Judge one citation; of several documents at its path, by the one it fits best."""
        docs = documents_at(self._snapshot, given.citation.path, given.source)
        if not docs:
            return self._unknown(given)
        if len(docs) > 1 and given.content_hash is None:
            raise ambiguous(given.citation, docs)
        return min((self._judged(given, doc) for doc in docs), key=lambda c: _BETTER[c.status])

    def _unknown(self, given: Asked) -> _Check:
        check = _Check("gone", detail="no such document is indexed")
        return self._by_hash(given, check)

    def _judged(self, given: Asked, doc: StoredDoc) -> _Check:
        span = given.citation.span
        if isinstance(span, LineSpan | CodeSpan) and medium_of(doc["media"]).has_lines:
            return self._lines(given, doc, (span.start, span.end))
        chunks: Sequence[StoredChunk] = chunks_at(self._snapshot, doc, given.citation)
        if given.content_hash is None:
            return _Check("unchanged" if chunks else "gone", doc)
        if any(content_hash(chunk["text"]) == given.content_hash for chunk in chunks):
            return _in_path(_Check("unchanged", doc, citation_of(chunks[0])), given)
        if chunk := self._chunk(doc, given.content_hash, None):
            return _Check("moved", doc, citation_of(chunk))
        return self._by_hash(given, _Check("changed" if chunks else "gone", doc))

    def _lines(self, given: Asked, doc: StoredDoc, cited: Lines) -> _Check:
        now, before = self._files.now(doc), self._files.before(doc)
        quote = self._quote(given, doc, cited, before)
        if now.text is None:
            return self._elsewhere_or(given, quote, _check(Verdict("gone"), doc, now))
        if quote is not None:
            names = (given.uri, doc["path"])
            verdict = judge(quote, cited, before, now.text, names)
        elif given.content_hash is not None:
            verdict = _by_hash_alone(now.text, cited, given.content_hash)
        else:
            detail = f"the indexed text has no line {cited[0]}"
            return replace(_check(Verdict("gone"), doc, now), detail=detail)
        check = _in_path(_check(verdict, doc, now), given)
        if quote is None and check.status in {"changed", "gone"}:
            check = replace(check, detail="what was cited is not known any more, but for its hash")
        if check.status in {"unchanged", "moved"} or verdict.is_edited:
            return check
        return self._elsewhere_or(given, quote, check)

    def _quote(self, given: Asked, doc: StoredDoc, cited: Lines, before: str) -> Quote | None:
        """Return the cited text, as far as it is known."""
        if given.content_hash is None:
            return quoted_lines(before, cited)
        chunk = self._chunk(doc, given.content_hash, cited)
        if chunk is not None:
            return quoted_part(before, chunk["start"], chunk["end"])
        return quote_by_hash(before, cited, given.content_hash)

    def _chunk(self, doc: StoredDoc, digest: str, cited: Lines | None) -> StoredChunk | None:
        """Return the chunk of *doc* with the hash, the one nearest to the cited lines."""
        chunks = [
            chunk for chunk in self._files.chunks(doc) if content_hash(chunk["text"]) == digest
        ]
        near = cited[0] if cited else 0
        return min(chunks, key=lambda chunk: abs(chunk["line_start"] - near), default=None)

    def _elsewhere_or(self, given: Asked, quote: Quote | None, check: _Check) -> _Check:
        """Return the place outside the document where the text is, else *check*."""
        if quote is not None and check.doc is not None:
            found = self._elsewhere.by_text(quote, check.doc)
            return _moved(check, found) if found else check
        return self._by_hash(given, check)

    def _by_hash(self, given: Asked, check: _Check) -> _Check:
        if given.content_hash is None:
            return check
        doc_id = check.doc["doc_id"] if check.doc else None
        found = self._elsewhere.by_hash(given.content_hash, doc_id)
        return _moved(check, found) if found else check


def _by_hash_alone(text: str, cited: Lines, digest: str) -> Verdict:
    """Judge a text of which nothing but the hash is known any more."""
    if quote_by_hash(text, cited, digest):
        return Verdict("unchanged", cited)
    if quote := find_by_hash(text, cited, digest):
        return Verdict("moved", quote.lines)
    stands = quoted_lines(text, cited)
    if stands is None or not stands.text.strip():
        return Verdict("gone")
    return Verdict("changed", stands.lines)


def _check(verdict: Verdict, doc: StoredDoc, now: Now) -> _Check:
    place = verdict.lines and at_lines(
        doc["path"], verdict.lines, doc["media"], doc.get("code_lang")
    )
    return _Check(verdict.status, doc, place, None, verdict.diff, now.is_file, now.detail)


def _in_path(check: _Check, given: Asked) -> _Check:
    """Return *check* as ``moved`` if its document stands at another path than was cited."""
    if check.status != "unchanged":
        return check
    if check.doc is None or check.doc["path"] in spellings(given.citation.path):
        return replace(check, now=None)
    return replace(check, status="moved")


def _moved(check: _Check, found: Found) -> _Check:
    elsewhere = found.source_id if check.doc and found.source_id != check.doc["source_id"] else None
    return replace(
        check, status="moved", now=found.citation, source_now=elsewhere, diff=None, detail=None
    )
