"""Whether citations still say the same: ``unchanged``, ``moved``, ``changed`` or ``gone``.

A caller hands in URIs, citations, hits or whole responses. What counts is the file as it is
now, where it is text that can be reached; else the index. The cited text is the chunk that
has the citation's ``content_hash``; without a hash it is what the index has at the cited
lines. A text that was taken out, or replaced by something that is not like it, is looked for
elsewhere, by its words in other documents and in files that ingest has not seen, or where
only its hash is known by that; one that was edited in its place is changed, whatever stands
elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

from kb_app._citing.files import Files, Now, is_decoded
from kb_app._citing.matching import (
    Lines,
    Quote,
    Status,
    Verdict,
    find_by_hash,
    has_part,
    judge,
    occurrences,
    quote_by_hash,
    quoted_lines,
    quoted_part,
)
from kb_app._media import has_lines
from kb_app._search.lookup import (
    chunks_at,
    chunks_meeting,
    documents_at,
    files_first,
    in_several_sources,
    spellings,
)
from kb_app.config import Config
from kb_core import wire
from kb_core.citations import Citation, CodeSpan, LineSpan, citation_of, parse_citation
from kb_core.errors import InvalidInput
from kb_core.filters import OneOf
from kb_core.ids import content_hash
from kb_core.ports import IndexSnapshot, StoredChunk, StoredDoc
from kb_core.search import Clause, LexicalQuery
from kb_core.values import dataclass, replace
from kb_core.wire import Json

if TYPE_CHECKING:
    from kb_core.wire import types

__all__ = ["Cited", "Elsewhere", "Found", "Item", "asked", "at_lines", "verify"]

Item: TypeAlias = "str | Mapping[str, Any]"
"""A URI, or an object of the wire that is, has, or lists citations."""

_HASH = re.compile(r"[0-9a-f]{16}", re.ASCII)
_AT_LINES = re.compile(r"(.+):([1-9][0-9]{0,8})(?:-([1-9][0-9]{0,8}))?", re.DOTALL)
"""A citation as answers to models print it: ``notes/a.md:12-34``."""
_LISTS = ("hits", "citations")


@dataclass(frozen=True, slots=True)
class Cited:
    """One citation to verify. ``uri`` is as it was given."""

    uri: str
    citation: Citation
    content_hash: str | None = None
    source: str | None = None


def asked(items: Iterable[Item], source: str | None) -> list[Cited]:
    """Return what *items* name, in order; *source* is that of items which name none.

    Raises ``InvalidInput``, with the item's number from 1, for what is no citation.
    """
    found = []
    for number, item in enumerate(items, 1):
        for citation, of in _flat(item, number, source):
            found.append(_one(citation, of, number))
    return found


def _flat(
    item: object, number: int, source: str | None
) -> Iterator[tuple[Mapping[str, Any], str | None]]:
    """Yield the citations in *item*, each with the source it is from, if that is known."""
    if isinstance(item, str):
        yield {"uri": item}, source
    elif isinstance(item, Mapping) and "uri" in item:
        yield item, source
    elif isinstance(item, Mapping) and "citation" in item:
        own = item.get("source_id")
        yield from _flat(item["citation"], number, own if isinstance(own, str) else source)
    elif isinstance(item, Mapping) and any(isinstance(item.get(name), list) for name in _LISTS):
        for name in _LISTS:
            for part in item.get(name) or ():
                yield from _flat(part, number, source)
    else:
        raise _bad(number, "uri", item, "a URI, a citation, a hit or a search response")


def _one(citation: Mapping[str, Any], source: str | None, number: int) -> Cited:
    uri, digest = citation["uri"], citation.get("content_hash")
    if not isinstance(uri, str):
        raise _bad(number, "uri", uri, "the URI of a citation")
    if digest is not None and not (isinstance(digest, str) and _HASH.fullmatch(digest)):
        raise _bad(number, "content_hash", digest, "16 hex digits")
    try:
        place = _place(uri)
    except InvalidInput as error:
        details = {**error.details, "number": number}
        raise InvalidInput(f"item {number}: {error}", hint=error.hint, details=details) from error
    return Cited(uri, place, digest, source)


def _place(uri: str) -> Citation:
    at = _AT_LINES.fullmatch(uri)
    if at is None or "#" in uri:
        try:
            return parse_citation(uri)
        except InvalidInput:
            if at is None:  # else a file whose name has the sign in it, as C#.md
                raise
    first, last = int(at[2]), int(at[3] or at[2])
    if last < first:
        raise InvalidInput(
            f"citation {uri!r} ends before it begins",
            hint="a citation looks like 'notes/a.md:12-34'",
            details={"field": "citation", "value": uri},
        )
    return Citation(at[1], LineSpan(first, last))


def _bad(number: int, field: str, value: object, expected: str) -> InvalidInput:
    shown = repr(value)
    shown = shown if len(shown) <= 80 else f"{shown[:79]}…"  # noqa: PLR2004 - a line of an error
    return InvalidInput(
        f"item {number}: {field} {shown} is not {expected}",
        hint="an item looks like 'notes/a.md#L12-L34' or like \"citation\" of a search hit",
        details={"field": field, "number": number, "expected": expected},
    )


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
            if not has_lines(doc):
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
                if has_lines(doc):
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


_READ_AGAIN = "the file has changed since it was indexed, and 'kebab ingest' reads it again"
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
) -> types.CitationCheck:
    """Return citation_check.v1 of all citations that *items* name, in order."""
    wanted = asked(items, source)
    files = Files(snapshot, config)
    digests = {each.content_hash for each in wanted if each.content_hash}
    verifier = _Verifier(snapshot, files, Elsewhere(snapshot, files, digests))
    return wire.citation_check(_shown(each, verifier.check(each)) for each in wanted)


def _shown(given: Cited, check: _Check) -> Json:
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

    def check(self, given: Cited) -> _Check:
        """Judge one citation; of several documents at its path, by the one it fits best."""
        docs = documents_at(self._snapshot, given.citation.path, given.source)
        if not docs:
            return self._unknown(given)
        if given.content_hash is None and len(docs := files_first(docs)) > 1:
            raise in_several_sources(docs, given.uri, "uri")
        return min((self._judged(given, doc) for doc in docs), key=lambda c: _BETTER[c.status])

    def _unknown(self, given: Cited) -> _Check:
        check = _Check("gone", detail="no such document is indexed")
        return self._by_hash(given, check)

    def _judged(self, given: Cited, doc: StoredDoc) -> _Check:
        span = given.citation.span
        lines: Lines | None = None
        if isinstance(span, LineSpan | CodeSpan) and has_lines(doc):
            lines = span.start, span.end
        became = None if lines and is_decoded(doc) else self._files.became_of(doc)
        if became == "gone":
            check = _Check("gone", doc, is_file=True, detail="the file is not there any more")
            return self._by_hash(given, check)
        check = self._lines(given, doc, lines) if lines else self._indexed(given, doc)
        if became is None or check.status == "gone":
            return check
        return replace(check, status="changed", now=None, is_file=True, detail=_READ_AGAIN)

    def _indexed(self, given: Cited, doc: StoredDoc) -> _Check:
        """Judge what is cited of a document that has no lines, by what is indexed of it."""
        meeting = chunks_meeting(self._snapshot, doc, given.citation)
        chunks = chunks_at(self._snapshot, doc, given.citation) or meeting
        if given.content_hash is None:
            return _Check("unchanged" if chunks else "gone", doc)
        if any(content_hash(chunk["text"]) == given.content_hash for chunk in chunks):
            return _in_path(_Check("unchanged", doc, citation_of(chunks[0])), given)
        if meeting and self._stands_among(meeting, doc, given.content_hash):
            return _in_path(_Check("unchanged", doc, citation_of(chunks[0])), given)
        if chunk := self._chunk(doc, given.content_hash, None):
            return _Check("moved", doc, citation_of(chunk))
        return self._by_hash(given, _Check("changed" if chunks else "gone", doc))

    def _stands_among(self, chunks: Sequence[StoredChunk], doc: StoredDoc, digest: str) -> bool:
        """Say whether a text stands there that was a passage, and is cut otherwise by now."""
        start = min(chunk["start"] for chunk in chunks)
        end = max(chunk["end"] for chunk in chunks)
        return has_part(self._files.before(doc)[start:end], digest)

    def _lines(self, given: Cited, doc: StoredDoc, cited: Lines) -> _Check:
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

    def _quote(self, given: Cited, doc: StoredDoc, cited: Lines, before: str) -> Quote | None:
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

    def _elsewhere_or(self, given: Cited, quote: Quote | None, check: _Check) -> _Check:
        """Return the place outside the document where the text is, else *check*."""
        if quote is not None and check.doc is not None:
            found = self._elsewhere.by_text(quote, check.doc)
            return _moved(check, found) if found else check
        return self._by_hash(given, check)

    def _by_hash(self, given: Cited, check: _Check) -> _Check:
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


def _in_path(check: _Check, given: Cited) -> _Check:
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
