"""A document or a chunk as sections that fold, made of its wire objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from kb_app.shown import utc_time
from kb_tui._shared import Target
from kb_tui.widgets.fold_list import Entry, Section

__all__ = ["chunk_sections", "document_sections"]

Json: TypeAlias = Mapping[str, Any]
Sections: TypeAlias = list[Section[Target]]

_METADATA = (
    "doc_path",
    "title",
    "source_id",
    "source_type",
    "trust_level",
    "media",
    "lang",
    "code_lang",
    "repo",
    "repo_branch",
    "repo_commit",
    "tags",
    "aliases",
    "byte_len",
    "chunk_count",
    "doc_date",
    "created_at",
    "updated_at",
    "indexed_at",
    "doc_id",
    "bytes_hash",
)
_TIMES = {"doc_date", "created_at", "updated_at", "indexed_at"}
_CHUNK = ("doc_path", "ordinal", "heading_path", "symbol", "part", "token_count", "chunk_id")
_FIRST_LINE = 60


def document_sections(doc: Json, chunks: Iterable[Json]) -> Sections:
    """Return the sections of ``doc_inspection.v1`` and its chunks."""
    rows = list(chunks)
    return [
        Section("Metadata", tuple(_metadata(doc))),
        Section("Provenance", tuple(_provenance(doc))),
        *_optional("Warnings", (Entry(warning) for warning in doc["warnings"])),
        Section("Chunks", tuple(_chunk_entry(chunk) for chunk in rows)),
        Section("Embeddings", tuple(_coverage(rows))),
        Section("Blocks", tuple(_block(block) for block in doc["blocks"]), is_open=False),
        *_optional("Links", (_link(link) for link in doc.get("links", ()))),
    ]


def chunk_sections(fetched: Json, doc: Json) -> Sections:
    """Return the sections of a chunk: ``fetch_result.v1`` with context, and its document."""
    chunk = fetched["chunk"]
    near = [*fetched["context_before"], *fetched["context_after"]]
    document = Entry(f"{doc['title']}  {doc['doc_path']}", Target(doc["doc_id"]))
    lines = chunk["text"].removesuffix("\n").split("\n")
    return [
        Section("Chunk", tuple(_fields(chunk, _CHUNK, citation=_uri(chunk)))),
        Section("Text", tuple(Entry(line) for line in lines)),
        Section("Embeddings", tuple(_embeddings(chunk))),
        Section("Neighbours", tuple(_chunk_entry(other) for other in near)),
        Section("Document", (document, *_metadata(doc)), is_open=False),
        Section("Provenance", tuple(_provenance(doc)), is_open=False),
    ]


def _optional(title: str, entries: Iterable[Entry[Target]]) -> Iterator[Section[Target]]:
    rows = tuple(entries)
    if rows:
        yield Section(title, rows)


def _metadata(doc: Json) -> Iterator[Entry[Target]]:
    yield from _fields(doc, _METADATA)
    for key, value in _flat(doc.get("metadata") or {}):
        yield Entry(f"{'· ' + key:<14} {_shown(value)}")


def _flat(metadata: Json, above: str = "") -> Iterator[tuple[str, object]]:
    """Yield metadata with the names of nested ones joined, as in ``dates.modified``."""
    for key, value in metadata.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def _fields(found: Json, names: Iterable[str], **more: str) -> Iterator[Entry[Target]]:
    for name, text in more.items():
        yield Entry(f"{name:<14} {text}")
    for name in names:
        value = found.get(name)
        if value in (None, [], ""):
            continue
        yield Entry(f"{name:<14} {utc_time(value) if name in _TIMES else _shown(value)}")


def _shown(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(str(part) for part in value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _provenance(doc: Json) -> Iterator[Entry[Target]]:
    for step in doc["provenance"]:
        detail = step.get("detail") or ""
        yield Entry(f"{utc_time(step['at'])}  {step['kind']:<9} {detail}")


def _block(block: Json) -> Entry[Target]:
    what = " ".join(filter(None, (block["kind"], block.get("symbol_kind"), block.get("symbol"))))
    path = " › ".join(block["heading_path"])
    return Entry(f"{block['char_start']:>7}-{block['char_end']:<7} {what:<12} {path}")


def _link(link: Json) -> Entry[Target]:
    return Entry(f"{link.get('kind', 'link')}: {link.get('target', '')}  {link.get('text', '')}")


def _chunk_entry(chunk: Json) -> Entry[Target]:
    first = next((line for line in chunk["text"].split("\n") if line.strip()), "").strip()
    place = _uri(chunk).rpartition("#")[2]
    target = Target(chunk["doc_id"], chunk["chunk_id"])
    return Entry(f"{chunk['ordinal']:>4}  {place:<12} {first[:_FIRST_LINE]}", target)


def _uri(chunk: Json) -> str:
    return next((str(span["uri"]) for span in chunk["source_spans"]), str(chunk["doc_path"]))


def _embeddings(chunk: Json) -> Iterator[Entry[Target]]:
    for row in chunk["embeddings"]:
        yield Entry(f"{row['model']}, {row['dimensions']} dimensions")


def _coverage(chunks: list[Json]) -> Iterator[Entry[Target]]:
    models = sorted({row["model"] for chunk in chunks for row in chunk["embeddings"]})
    for model in models:
        having = sum(any(r["model"] == model for r in chunk["embeddings"]) for chunk in chunks)
        yield Entry(f"{model}: {having:,} of {len(chunks):,} chunks")
