"""One file, from bytes to the record that is stored: what a worker process does.

Pure but for reading that one file, and keyed by what the task holds: the same task
gives the same outcome in any process, any number of times. Nothing is written; what it is
at is told on the way.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.judging.kinds import (
    HEAD_BYTES,
    Caps,
    Skip,
    check_bytes,
    check_medium,
    check_size,
    check_text,
    detect_from_bytes,
)
from kb_app._ingest.judging.secrets import find_secret, flags_of
from kb_app._ingest.making.places import placed_chunks
from kb_app._ingest.seeing.files import location, open_inside, open_regular
from kb_app._ingest.settings import UNKNOWN, Settings, fingerprint_of, settings_hash
from kb_app._ingest.workers.worker import say
from kb_app._media import chunker_for, medium_of, parser_for
from kb_core.citations import stored_span
from kb_core.documents import Block, ChunkDraft, Metadata, ParsedDocument, SourceFile
from kb_core.ids import bytes_hash, chunk_ids, doc_id, text_hash
from kb_core.ingest import SkipReason
from kb_core.media import Media, TrustLevel
from kb_core.ports import Chunker, Content, TokenCounter
from kb_core.records import ChunkRecord, DocumentRecord
from kb_core.text import LineIndex
from kb_core.values import dataclass

__all__ = ["Made", "Task", "judge_bytes", "judge_text", "make", "parse"]

_MOST_CONTEXT_TOKENS = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One file to look at. ``known_fingerprint`` is what it had when last processed."""

    root: str
    file: SourceFile
    raw_path: str | None
    settings: Settings
    indexed_at: datetime
    known_fingerprint: str | None = None
    repo: str | None = None
    repo_branch: str | None = None
    repo_commit: str | None = None
    asset: str | None = None
    """Its name among the assets, which begins with the hash of its bytes."""
    trust: TrustLevel = TrustLevel.PRIMARY
    """The most that the document is trusted, whatever it says of itself."""
    title: str | None = None
    """A title that was given along with the bytes; it goes before any other."""
    follow_links: bool = False
    """Links may lead out of the root."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What came of it: a document, a reason to skip, or neither: nothing changed."""

    file: SourceFile
    bytes_hash: str | None = None
    fingerprint: str | None = None
    document: DocumentRecord | None = None
    skipped: str | None = None
    detail: str | None = None
    phases_ms: Mapping[str, float] = field(default_factory=dict)


def make(task: Task) -> Made:
    """Read, judge, parse and chunk one file."""
    started = time.perf_counter()
    path = location(task.root, task.file.path, task.raw_path)
    try:
        with open_regular(path) if task.follow_links else open_inside(path, task.root) as disk:
            data = disk.read()
    except OSError as error:
        why = Skip(SkipReason.UNREADABLE, error.strerror or str(error))
        return Made(file=task.file, skipped=why.reason, detail=why.detail)
    digest = bytes_hash(data)
    if task.asset is not None and not task.asset.startswith(digest):
        detail = f"the asset {task.asset} does not hold the bytes that were added"
        return Made(file=task.file, skipped=SkipReason.UNREADABLE, detail=detail)
    hash_now = settings_hash(task.file, task.settings)
    print_now = fingerprint_of(digest, hash_now, task.title, task.trust)
    made = Made(file=task.file, bytes_hash=digest, fingerprint=print_now)
    if print_now == task.known_fingerprint:
        return made
    file = judge_bytes(task.file, data, task.settings.caps)
    if isinstance(file, Skip):
        return replace(made, skipped=file.reason, detail=file.detail)
    read = time.perf_counter()
    return _make(task, replace(made, file=file), data, (started, read))


def judge_bytes(file: SourceFile, data: bytes, caps: Caps) -> SourceFile | Skip:
    """Return the file with its true medium, or why it is left alone."""
    if file.media == UNKNOWN:
        kind = detect_from_bytes(data[:HEAD_BYTES])
        if kind is None:
            return Skip(SkipReason.BINARY, "not text")
        file = replace(file, media=kind.media, code_lang=kind.code_lang)
    unfit = check_medium(file.media)
    # The file may have grown since it was seen.
    unfit = unfit or check_size(len(data), Media(file.media), caps)
    if unfit is None and medium_of(file.media).is_text:
        unfit = check_bytes(data)
    return unfit or file


def parse(file: SourceFile, content: Content, settings: Settings) -> ParsedDocument | Skip:
    """Parse what is in a file, or say why it is left alone; *file* has its true medium.

    A text is judged before anything looks into it, and what is no text once it is known
    what it says.
    """
    is_text = medium_of(file.media).is_text
    if is_text and (skip := judge_text(file, content.text, settings)):
        return skip
    parsed = parser_for(file.media, file.code_lang)(content, file)
    return (None if is_text else judge_text(file, parsed.text, settings)) or parsed


def judge_text(file: SourceFile, text: str, settings: Settings) -> Skip | None:
    """Say why what a file says is left alone, if it is; *file* has its true medium."""
    skip = check_text(text, file.path, Media(file.media), file.code_lang, settings.caps)
    if skip is None and not settings.allow_secrets:
        skip = find_secret(text)
    return skip


@cache
def _counter(model: str, cache_dir: str) -> TokenCounter:
    from kb_search.embed import load_token_counter  # the tokenizer: not where nothing changed

    return load_token_counter(model, cache_dir=Path(cache_dir))


def _loaded(file: SourceFile, settings: Settings) -> tuple[Chunker, TokenCounter]:
    """Load all that the first file of its kind needs; that is the time of none of them."""
    parser_for(file.media, file.code_lang)
    return chunker_for(file.media), _counter(settings.model, settings.cache_dir)


def _make(task: Task, made: Made, data: bytes, times: tuple[float, float]) -> Made:
    file, settings = made.file, task.settings
    chunker, counter = _loaded(file, settings)
    loaded = time.perf_counter()
    say("parse")
    parsed = parse(file, FileContent(data), settings)
    if isinstance(parsed, Skip):
        return replace(made, skipped=parsed.reason, detail=parsed.detail)
    if task.title is not None:
        parsed = replace(parsed, metadata=replace(parsed.metadata, title=task.title))
    parsed_at = time.perf_counter()
    say("chunk")
    drafts = list(placed_chunks(parsed, chunker, counter, settings.limits))
    known = _Provenance(
        file=file,
        bytes_hash=made.bytes_hash or "",
        fingerprint=made.fingerprint or "",
        indexed_at=task.indexed_at,
        chunker_version=chunker.version,
        byte_len=len(data),
        repo=task.repo,
        repo_branch=task.repo_branch,
        repo_commit=task.repo_commit,
        asset=task.asset,
        trust=task.trust,
    )
    document = _record(parsed, drafts, counter, settings.window, known)
    ended = time.perf_counter()
    spent = {"read": times[1] - times[0], "parse": parsed_at - loaded, "chunk": ended - parsed_at}
    phases = {name: round(secs * 1000, 3) for name, secs in spent.items()}
    return replace(made, document=document, phases_ms=phases)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Provenance:
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
    trust: TrustLevel = TrustLevel.PRIMARY


def _record(
    parsed: ParsedDocument,
    drafts: Sequence[ChunkDraft],
    counter: TokenCounter,
    window: int,
    known: _Provenance,
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
        trust_level=_trust(meta.trust_level or file.trust_level, known.trust),
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
