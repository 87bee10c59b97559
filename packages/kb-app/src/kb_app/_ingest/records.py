"""From what a parser and a chunker gave to the record that is stored. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from kb_app._ingest.assets import given_trust
from kb_app._ingest.judging.secrets import flags_of
from kb_core.documents import Block, ChunkDraft, Metadata, ParsedDocument, SourceFile
from kb_core.ids import chunk_ids, doc_id, text_hash
from kb_core.media import TrustLevel
from kb_core.places import stored_span
from kb_core.ports import TokenCounter
from kb_core.records import ChunkRecord, DocumentRecord
from kb_core.text import LineIndex

__all__ = ["Provenance", "build_record"]

_MOST_CONTEXT_TOKENS = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """What is known of a document beside its text."""

    file: SourceFile
    bytes_hash: str
    fingerprint: str
    indexed_at: datetime
    chunker_version: str
    byte_len: int
    repo: str | None = None
    repo_branch: str | None = None
    repo_commit: str | None = None
    asset: str | None = None


def build_record(
    parsed: ParsedDocument,
    drafts: Sequence[ChunkDraft],
    counter: TokenCounter,
    window: int,
    known: Provenance,
) -> DocumentRecord:
    """Return the document with its chunks; *window* is how many tokens a passage may have."""
    file, meta = known.file, parsed.metadata
    identity = doc_id(file.source_id, file.path)
    modified = datetime.fromtimestamp(file.mtime_ns // 1_000_000_000, UTC)
    return DocumentRecord(
        doc_id=identity,
        source_id=file.source_id,
        path=file.path,
        title=meta.title or file.path.rpartition("/")[2],
        media=parsed.media,
        text=parsed.text,
        lang=None if parsed.media == "code" else (meta.lang or "und"),
        code_lang=parsed.code_lang,
        repo=known.repo,
        repo_branch=known.repo_branch,
        repo_commit=known.repo_commit,
        tags=meta.tags,
        aliases=meta.aliases,
        source_type=meta.source_type or file.source_type,
        trust_level=_trust(meta.trust_level or file.trust_level, given_trust(known.asset)),
        doc_date=meta.updated or meta.created or meta.name_date or modified,
        created_at=meta.created or meta.name_date,
        updated_at=meta.updated or modified,
        indexed_at=known.indexed_at,
        byte_len=known.byte_len,
        size=file.size,
        mtime_ns=file.mtime_ns,
        bytes_hash=known.bytes_hash,
        fingerprint=known.fingerprint,
        parser_version=parsed.parser_version,
        chunker_version=known.chunker_version,
        metadata=_metadata(meta, modified),
        blocks=tuple(_block(block) for block in parsed.blocks if block.kind != "gap"),
        links=tuple(
            {"kind": link.kind, "target": link.target, "text": link.text, "start": link.start}
            for link in parsed.links
        ),
        warnings=parsed.warnings,
        asset=known.asset,
        chunks=_chunks(parsed, drafts, counter, window, file),
    )


def _chunks(
    parsed: ParsedDocument,
    drafts: Sequence[ChunkDraft],
    counter: TokenCounter,
    window: int,
    file: SourceFile,
) -> tuple[ChunkRecord, ...]:
    texts = [parsed.text[draft.start : draft.end] for draft in drafts]
    hashes = [text_hash(text) for text in texts]
    ids = chunk_ids(doc_id(file.source_id, file.path), hashes)
    lines = LineIndex(parsed.text)
    made = []
    for ordinal, (draft, text) in enumerate(zip(drafts, texts, strict=True)):
        first, last = lines.lines_of(draft.start, draft.end)
        context = _context(parsed, draft, text, file, counter, window - draft.token_count)
        made.append(
            ChunkRecord(
                chunk_id=ids[ordinal],
                ordinal=ordinal,
                start=draft.start,
                end=draft.end,
                text=text,
                line_start=first,
                line_end=last,
                token_count=draft.token_count,
                heading_path=draft.heading_path,
                symbol=draft.symbol,
                part=draft.part,
                span=stored_span(draft.span) if draft.span is not None else None,
                context=context,
                passage_hash=text_hash(f"{context}\n\n{text}" if context else text),
                flags=flags_of(text),
            )
        )
    return tuple(made)


def _context(
    parsed: ParsedDocument,
    draft: ChunkDraft,
    text: str,
    file: SourceFile,
    counter: TokenCounter,
    room: int,
) -> str:
    """Return what the models should know of where the text stands: title and headings.

    Nothing is repeated that the text itself begins with.
    """
    if parsed.media == "code":
        steps = [file.path, *([draft.symbol] if draft.symbol else [])]
    else:
        steps = [parsed.metadata.title, *draft.heading_path]
    beginning = text[:400]
    steps = [step for step in dict.fromkeys(steps) if step and step not in beginning]
    context = " › ".join(steps)
    limit = min(_MOST_CONTEXT_TOKENS, room - 2)
    while context and counter.count(context) > limit:
        # The steps nearest to the text say most; a single long one is cut from its end.
        steps = steps[1:] if len(steps) > 1 else [context[: len(context) * 2 // 3]]
        context = " › ".join(steps).strip() if limit > 0 else ""
    return context


def _trust(level: str, most: TrustLevel) -> str:
    return min(TrustLevel(level), most, key=lambda each: each.rank).value


def _metadata(meta: Metadata, modified: datetime) -> dict[str, object]:
    dates = {
        "created": meta.created,
        "updated": meta.updated,
        "name_date": meta.name_date,
        "modified": modified,
    }
    return {
        "dates": {name: date.isoformat() for name, date in dates.items() if date is not None},
        "user": dict(meta.user),
    }


def _block(block: Block) -> dict[str, object]:
    fields: dict[str, object] = {"kind": block.kind, "start": block.start, "end": block.end}
    if block.heading_path:
        fields["heading_path"] = list(block.heading_path)
    if block.level:
        fields["level"] = block.level
    if block.symbol:
        fields["symbol"] = block.symbol
        fields["symbol_kind"] = block.symbol_kind
    return fields
