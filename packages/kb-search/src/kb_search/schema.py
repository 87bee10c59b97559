"""The two tantivy indexes: their fields, and records as tantivy documents.

``chunks`` holds one document per chunk and the control record; ``records`` holds the
documents, their texts, the ledger's rows and the aliases of moved documents. They are
two, because tantivy counts every document of an index in BM25, also those without the
field (ruling R1).

What an interface shows travels as one payload per record, JSON but for texts; the other
fields exist to be searched and filtered by. Every text field splits at white space or not
at all: ``kb_search.analysis`` has made the terms.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import tantivy

from kb_core.clock import to_epoch
from kb_core.ids import blake2b
from kb_core.linking import called, given_names, names_meant
from kb_core.media import Media, TrustLevel
from kb_core.records import (
    ChunkRecord,
    Control,
    DocumentRecord,
    FileRecord,
    Publication,
)
from kb_core.values import as_dict, field_names, lazy_pattern
from kb_search.analysis import Streams, analyze, fold, unescaped
from kb_search.opening import CONTROL, FORMS, SIGNPOST, TERMS
from kb_search.patterns import form_of
from kb_search.signposts import is_signpost
from kb_search.statistics import SCORED_FIELDS, pivots
from kb_search.texts import WHOLE, is_whole
from kb_search.weighing import AGAIN, FILLING

if TYPE_CHECKING:
    from kb_search.terms import Asked, Passage

__all__ = [
    "CHUNK_FIELDS",
    "CHUNK_STREAMS",
    "NAMES",
    "RAW_FIELDS",
    "Terms",
    "alias_document",
    "changed_of",
    "chunk_document",
    "chunk_payload",
    "chunks_schema",
    "control_document",
    "control_payload",
    "doc_document",
    "doc_fields",
    "doc_payload",
    "doc_shared",
    "file_document",
    "file_payload",
    "filler_document",
    "has_records",
    "key_of",
    "length_field",
    "lengths_of",
    "names_by_field",
    "place_of",
    "record_keys",
    "records_schema",
    "scored_texts",
    "standing_of",
    "streams_of",
    "text_document",
    "told_again",
    "tombstone",
]

CHUNK_STREAMS = (*SCORED_FIELDS, "title", "path_words")
RAW_FIELDS = (
    "chunk_id",
    "code_lang",
    "doc_id",
    "lang",
    "media",
    "path",
    "repo",
    "source_id",
    "source_type",
    "tag",
)
NAMES = ("called", "links_to")
"""What a document is called, and what its links call others, as ``kb_core.linking`` spells it."""
_NUMBERS = ("trust", "indexed_at", "doc_date")

_PADDING = " ".join([FILLING] * 12)
"""Stands before the terms that a chunk is ranked by, and is found by no query.

BM25 prefers short passages; among very short ones (turns of a chat, one-line notes) length
tells next to nothing. With c terms more in each, ``b`` acts as ``b * mean / (mean + c)``:
it adapts to how long passages are in this index. No word holds the character.
"""

_SIGNPOST_PADDING = " ".join([FILLING] * 200)
"""Stands before the terms of a chunk that only names what stands elsewhere.

It is ranked as if it had a page of other words, whatever its own length, and so comes after
what it leads to.
"""


_CAMEL_NAME = lazy_pattern(r"\b[a-z]++[A-Z][A-Za-z0-9]*+\b")
_CAMEL_SIGN = lazy_pattern(r"[A-Z](?<=[a-z][A-Z])")
"""Is in each of these names, and looked for in a fifth of the time: half of code has none."""


Fields: TypeAlias = dict[str, Any]
"""Values of a record by the names of its fields, several as a list."""


class Terms(NamedTuple):
    """What a chunk is ranked by."""

    texts: Mapping[str, str]
    """The ``scored_texts``."""
    lengths: Mapping[str, int]
    """Their ``lengths_of``."""
    again: str
    """What it was ``told_again``."""


_MOST_SEEN = 100_000
"""Terms of a document that are known again. No book has half as many; a dump of numbers has a
million of them, and says nothing by any."""


def chunks_schema() -> tantivy.Schema:
    """Return the schema of ``lexical/chunks``."""
    builder = tantivy.SchemaBuilder()
    for name in ("chunk_key", "doc_key", *_NUMBERS):
        builder.add_integer_field(name, indexed=True, fast=True)
    for name in ("chunk_count", *map(length_field, SCORED_FIELDS)):
        builder.add_integer_field(name, fast=True)
    for name in ("kind", *RAW_FIELDS):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    builder.add_text_field(AGAIN, tokenizer_name=TERMS, index_option="basic")
    for name in CHUNK_STREAMS:
        option = "position" if name in {"exact", "cjk"} else "freq"
        builder.add_text_field(name, tokenizer_name=TERMS, index_option=option)
    builder.add_bytes_field("payload", stored=True)
    return builder.build()


def records_schema() -> tantivy.Schema:
    """Return the schema of ``lexical/records``."""
    builder = tantivy.SchemaBuilder()
    for name in ("key", "rev", "dead", "doc_key", *_NUMBERS):
        builder.add_integer_field(name, indexed=True, fast=True)
    for name in ("kind", "state", *RAW_FIELDS, *NAMES):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    for name in ("title", "path_words"):
        builder.add_text_field(name, tokenizer_name=TERMS, index_option="basic")
    builder.add_integer_field("changed", fast=True)
    for name in ("place", "standing"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic", fast=True)
    builder.add_bytes_field("payload", stored=True)
    return builder.build()


def place_of(source_id: str, path: str) -> str:
    """Return what documents and files are listed by, so that a page reads no other."""
    return f"{source_id}\0{path}"


def standing_of(state: str, reason: str | None) -> str:
    """Return what files are counted by, without reading them: a state, perhaps with a reason."""
    return f"{state}\0{reason or ''}"


def key_of(kind: str, *parts: str) -> int:
    """Return the integer key of a record that has none of its own."""
    digest = blake2b("\0".join((kind, *parts)).encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest(), "big", signed=True)


def length_field(name: str) -> str:
    """Return the fast field that says how many terms a chunk has in a scored field."""
    return f"{name}_terms"


_LENGTH_FIELDS = {name: length_field(name) for name in SCORED_FIELDS}


def streams_of(chunk: ChunkRecord | Passage, doc: DocumentRecord | Asked) -> Streams:
    """Return the terms of what a chunk says: of JSON, of what its escapes stand for."""
    return analyze(unescaped(chunk.text) if doc.code_lang == "json" else chunk.text, doc.lang)


def scored_texts(
    chunk: ChunkRecord | Passage, doc: DocumentRecord | Asked, streams: Streams
) -> dict[str, str]:
    """Return the terms of a chunk by scored field, parted by spaces."""
    symbol, names = _symbol(chunk.symbol) if chunk.symbol else ("", "")
    padding = _SIGNPOST_PADDING if is_signpost(chunk.text, doc.media) else _PADDING
    return {
        # Pairs of characters rank beside stems: one field has one idea of how long a chunk is.
        "stem": _joined((padding, streams.stem, _name_parts(chunk, doc), streams.cjk)),
        "exact": streams.exact,
        "ident": streams.ident,
        "cjk": streams.cjk,
        "head": _head(doc.title, tuple(chunk.heading_path), doc.path, doc.lang),
        "called": _called(doc.title, doc.path, doc.lang),
        "symbol": symbol,
        "name": names,
    }


def _name_parts(chunk: ChunkRecord | Passage, doc: DocumentRecord | Asked) -> str:
    """Return the stems of the parts of names such as ``takeLease`` in code.

    Languages that write ``take_lease`` have them as words. In prose such a word is a name whose
    parts say little, and so is ``LeasePool`` in code: what uses a class says it more often than
    what defines it.
    """
    is_code = doc.media == Media.CODE and _CAMEL_SIGN.search(chunk.text) is not None
    if not is_code or not (names := _CAMEL_NAME.findall(chunk.text)):
        return ""
    return analyze(analyze(" ".join(names), doc.lang).ident, doc.lang).stem


def told_again(stems: str, seen: set[str]) -> str:
    """Return those of a passage's terms that earlier passages of its document hold, too.

    *seen* are theirs, and those of this passage from here on. Every passage but the first one
    has what stands before the terms of all, so that documents can be counted.
    """
    terms = stems.split()
    again = seen.intersection(terms)
    if len(seen) < _MOST_SEEN:
        seen.update(terms)
    return " ".join(again)


def lengths_of(texts: Mapping[str, str]) -> dict[str, int]:
    """Return how many terms ``scored_texts`` have, by field."""
    return {field: text.count(" ") + 1 if text else 0 for field, text in texts.items()}


def _joined(terms: Iterable[str]) -> str:
    return " ".join(filter(None, terms))


def chunk_document(
    chunk: ChunkRecord, fields: Fields, shared: bytes, terms: Terms
) -> tantivy.Document:
    """Return a chunk as tantivy indexes it.

    *fields* are the ``doc_fields`` of its document, *shared* is what it shares of ``doc_shared``
    without what is absent.
    """
    texts, lengths, again = terms
    is_signpost = texts["stem"].startswith(_SIGNPOST_PADDING)
    # In one call: forty of the engine's take twice as long.
    return tantivy.Document.from_dict(
        {
            **fields,
            "kind": ["chunk", SIGNPOST] if is_signpost else "chunk",
            "chunk_key": chunk.chunk_key,
            "chunk_id": chunk.chunk_id,
            **texts,
            **{_LENGTH_FIELDS[field]: length for field, length in lengths.items()},
            AGAIN: again,
            "payload": _stored(chunk, shared),
        }
    )


def chunk_payload(chunk: ChunkRecord, shared: bytes) -> bytes:
    """Return what an index shows of a chunk, as JSON; *shared* is ``doc_shared(doc)``."""
    own = dict(zip(CHUNK_FIELDS, _own_fields(chunk), strict=True))
    return b"%b,%b" % (shared[:-1], _json(own)[1:])


def _stored(chunk: ChunkRecord, shared: bytes) -> bytes:
    """Return ``chunk_payload`` without what ``opening.payload_of`` knows: nulls and ends."""
    fields = zip(CHUNK_FIELDS, _own_fields(chunk), strict=True)
    own = {name: value for name, value in fields if value is not None}
    if chunk.end == chunk.start + len(chunk.text):
        del own["end"]
    if chunk.line_end == chunk.line_start + chunk.text.count("\n"):
        del own["line_end"]
    return b"%b,%b" % (shared[:-1], _json(own)[1:])


def filler_document(lengths: Mapping[str, int], kind: str = "filler") -> tantivy.Document:
    """Return a record of these lengths by field, which no query finds."""
    made = tantivy.Document()
    made.add_text("kind", kind)
    for field, length in lengths.items():
        made.add_text(field, f"{FILLING} " * length)
    return made


def control_document(control: Control) -> tantivy.Document:
    """Return the control record; it is as long as the average, and changes no score."""
    made = filler_document(pivots(control.statistics), CONTROL)
    made.add_bytes("payload", control_payload(control))
    return made


def control_payload(control: Control) -> bytes:
    """Return a control record as JSON; ``opening.control_of`` reads it back."""
    fields = as_dict(control)
    fields["vectors"] = {key: as_dict(files) for key, files in control.vectors.items()}
    return _json(fields)


def doc_document(doc: DocumentRecord, rev: int) -> tantivy.Document:
    """Return a document's metadata as a record."""
    made = _record("doc", doc.doc_key, rev)
    made.add_integer("doc_key", doc.doc_key)
    made.add_text("place", place_of(doc.source_id, doc.path))
    made.extend(_filters(doc), None)
    for field, names in names_by_field(doc).items():
        for name in names:
            made.add_text(field, name)
    made.add_bytes("payload", doc_payload(doc))
    return made


def names_by_field(doc: DocumentRecord) -> dict[str, list[str]]:
    """Return the ``NAMES`` of a document."""
    own = called(doc.path, given_names(doc.aliases, doc.metadata))
    return dict(zip(NAMES, (own, names_meant(doc.path, doc.links)), strict=True))


_SIGNS = {form: sign for sign, form in FORMS.items()}


def text_document(doc: DocumentRecord, rev: int) -> tantivy.Document:
    """Return a document's text as a record of its own: lists need not read it."""
    made = _record("text", doc.doc_key, rev)
    made.add_text("doc_id", doc.doc_id)
    if is_whole(doc):
        made.add_text("state", WHOLE)
    made.add_bytes("payload", _SIGNS[form_of(doc.text)] + doc.text.encode("utf-8", "surrogatepass"))
    return made


def file_document(file: FileRecord, rev: int) -> tantivy.Document:
    """Return a row of the ledger as a record."""
    made = _record("file", key_of("file", file.source_id, file.path), rev)
    made.add_text("source_id", file.source_id)
    made.add_text("path", file.path)
    made.add_text("state", file.state)
    made.add_text("place", place_of(file.source_id, file.path))
    made.add_text("standing", standing_of(file.state, file.reason))
    made.add_integer("changed", changed_of(file))
    made.add_bytes("payload", file_payload(file))
    return made


def changed_of(file: FileRecord) -> int:
    """Return when a file was processed or came into another state, in epoch seconds."""
    return max((to_epoch(at) for at in (file.processed_at, file.changed_at) if at), default=0)


def file_payload(file: FileRecord) -> bytes:
    """Return what an index shows of a row of the ledger, as JSON."""
    fields = as_dict(file)
    for name in ("processed_at", "changed_at"):
        fields[name] = to_epoch(fields[name]) if fields[name] else None
    return _json(fields)


def alias_document(old_id: str, new_id: str, rev: int) -> tantivy.Document:
    """Return the record that leads from a moved document's old id to its new one."""
    made = _record("alias", key_of("alias", old_id), rev)
    made.add_text("doc_id", old_id)
    made.add_bytes("payload", _json({"old": old_id, "new": new_id}))
    return made


def tombstone(kind: str, key: int, rev: int) -> tantivy.Document:
    """Return a record that says: from *rev* on there is none."""
    made = tantivy.Document()
    made.add_text("kind", kind)
    made.add_integer("key", key)
    made.add_integer("rev", rev)
    made.add_integer("dead", 1)
    made.add_bytes("payload", b"{}")
    return made


def doc_shared(doc: DocumentRecord, *, keep_absent: bool = True) -> bytes:
    """Return what every chunk's payload says of its document, as JSON."""
    fields = {
        "doc_id": doc.doc_id,
        "source_id": doc.source_id,
        "path": doc.path,
        "title": doc.title,
        "media": doc.media,
        "lang": doc.lang,
        "code_lang": doc.code_lang,
        "repo": doc.repo,
        "tags": list(doc.tags),
        "source_type": doc.source_type,
        "trust_level": doc.trust_level,
        "indexed_at": to_epoch(doc.indexed_at),
        "doc_date": to_epoch(doc.doc_date) if doc.doc_date else None,
        "size": doc.size,
        "mtime_ns": doc.mtime_ns,
        "chunker_version": doc.chunker_version,
        "asset": doc.asset,
        "container": doc.container,
    }
    if not keep_absent:
        fields = {name: value for name, value in fields.items() if value is not None}
    return _json(fields)


def has_records(publication: Publication) -> bool:
    """Say whether a publication has anything that is no chunk and no vector."""
    return bool(
        publication.documents
        or publication.removed_docs
        or publication.files
        or publication.forgotten_files
        or publication.aliases
    )


def record_keys(publication: Publication) -> Iterator[int]:
    """Yield the keys of all records of a publication, of what is gone as well."""
    for doc in publication.documents:
        yield doc.doc_key
    yield from publication.removed_docs
    for file in publication.files:
        yield key_of("file", file.source_id, file.path)
    for source_id, path in publication.forgotten_files:
        yield key_of("file", source_id, path)
    for old_id in publication.aliases:
        yield key_of("alias", old_id)


def _record(kind: str, key: int, rev: int) -> tantivy.Document:
    made = tantivy.Document()
    made.add_text("kind", kind)
    made.add_integer("key", key)
    made.add_integer("rev", rev)
    made.add_integer("dead", 0)
    return made


def doc_fields(doc: DocumentRecord) -> Fields:
    """Return the fields that every chunk of a document has of it."""
    return {"doc_key": doc.doc_key, "chunk_count": len(doc.chunks), **_filters(doc)}


def _filters(doc: DocumentRecord) -> Fields:
    found: Fields = {
        "doc_id": doc.doc_id,
        "source_id": doc.source_id,
        "source_type": doc.source_type,
        "path": doc.path,
        "media": doc.media,
        "lang": doc.lang or "",
        "trust": TrustLevel(doc.trust_level).rank,
        "indexed_at": to_epoch(doc.indexed_at),
        "title": _terms(doc.title, doc.lang),
        "path_words": _terms(doc.path, None),
    }
    optional = {"code_lang": doc.code_lang, "repo": doc.repo, "tag": list(doc.tags)}
    found |= {name: value for name, value in optional.items() if value}
    if doc.doc_date is not None:
        found["doc_date"] = to_epoch(doc.doc_date)
    return found


CHUNK_FIELDS = tuple(
    name for name in field_names(ChunkRecord) if name not in {"context", "passage_hash"}
)
_own_fields = attrgetter(*CHUNK_FIELDS)
_DOC_FIELDS = tuple(name for name in field_names(DocumentRecord) if name not in {"text", "chunks"})
_DOC_TIMES = ("doc_date", "created_at", "updated_at", "indexed_at")


def doc_payload(doc: DocumentRecord) -> bytes:
    """Return what an index shows of a document, as JSON."""
    fields = {name: getattr(doc, name) for name in _DOC_FIELDS}
    for name in _DOC_TIMES:
        fields[name] = to_epoch(fields[name]) if fields[name] else None
    fields["chunk_count"] = len(doc.chunks)
    fields["text_chars"] = len(doc.text)
    return _json(fields)


@lru_cache(maxsize=64)
def _symbol(symbol: str) -> tuple[str, str]:
    """Return the terms of what a chunk of code defines, and the names without what holds them."""
    names = (each.rpartition(".")[2] for each in symbol.split(", "))
    return _terms(symbol, None), _joined(fold(" ".join(names)).split())


@lru_cache(maxsize=64)
def _head(title: str, heading_path: tuple[str, ...], path: str, lang: str | None) -> str:
    return _joined(_terms(part, lang) for part in (title, *heading_path, path) if part)


@lru_cache(maxsize=64)
def _called(title: str, path: str, lang: str | None) -> str:
    """Return the terms of what a document is called: its title and its file's name, each once."""
    name = path.rpartition("/")[2]
    stem = name.rpartition(".")[0] or name
    terms = (term for part in (title, stem) for term in _terms(part, lang).split())
    return " ".join(dict.fromkeys(terms))


@lru_cache(maxsize=8192)
def _terms(text: str, lang: str | None) -> str:
    """Return the terms of a short text; the chunks of a document share most of theirs."""
    streams = analyze(text, lang)
    return _joined((streams.stem, streams.ident, streams.cjk))


_to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode


def _json(value: object) -> bytes:
    return _to_json(value).encode("utf-8", "surrogatepass")
