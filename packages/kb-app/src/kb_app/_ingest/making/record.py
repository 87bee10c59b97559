"""One file, from bytes to the record that is stored: what a worker process does.

Pure but for reading that one file, and keyed by what the task holds: the same task
gives the same outcome in any process, any number of times. Nothing is written; what it is
at is told on the way.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from kb_app._data_dir import DataDir
from kb_app._ingest.judging.kinds import Skip
from kb_app._ingest.judging.secrets import flags_of, words_of_orders
from kb_app._ingest.seeing.files import location, open_inside, open_regular
from kb_app._ingest.settings import Settings, fingerprint_of, locked_hash, remembering_hashes
from kb_app._ingest.workers.worker import say
from kb_app._media import PHASES, chunker_for, chunker_version, medium_of, parser_for
from kb_app._models import models_dir
from kb_core.citations import CodeSpan, LineSpan, stored_span
from kb_core.dates import date_of_title
from kb_core.documents import Block, ChunkDraft, Metadata, ParsedDocument, SourceFile
from kb_core.ids import DocId, bytes_hash, chunk_ids, doc_id, text_hash
from kb_core.ingest import SkipReason
from kb_core.media import TrustLevel
from kb_core.records import ChunkRecord, DocumentRecord
from kb_core.text import LineIndex
from kb_core.values import dataclass, field, replace

if TYPE_CHECKING:
    from kb_app._costly import Costly
    from kb_app._ingest.making.parsing import Read
    from kb_core.ports import TokenCounter

__all__ = ["Made", "Task", "bytes_of", "make"]

HashOf: TypeAlias = Callable[[SourceFile, Settings], str]

_MOST_CONTEXT_TOKENS = 48
_QUICK_BYTES = 100_000
"""A text up to here is done before anybody could read what it is at; telling costs as much."""
_MOST_BLOCKS = 20_000
"""How many blocks are kept with a document, which each reader of it has to load."""


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
    phases: tuple[str, ...] = ()
    """The later phases that it may go through."""
    known_enclosed: Mapping[str, str] = field(default_factory=dict)
    """Hashes of what is within it, as it is stored, by path in there."""
    costly: str | None = None
    """The folder where costly results are kept."""
    sent: Sent | None = None
    """What goes along with it to a machine that may not see its file."""

    def packed(self) -> Task:
        """Return it with what its file holds, for another machine."""
        known_as = _known_as(self.costly) if self.costly else ()
        return replace(self, sent=Sent(data=bytes_of(self), data_dir=known_as))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What of this machine a task takes along."""

    data: bytes | Skip
    """What its file holds, or why that cannot be read."""
    data_dir: tuple[int, ...] = ()
    """What the data directory is known by, where it can be seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What came of it: documents, a reason to skip, or neither: nothing changed."""

    file: SourceFile
    bytes_hash: str | None = None
    fingerprint: str | None = None
    documents: tuple[DocumentRecord, ...] = ()
    """That of the file, and those of the files within it."""
    kept: tuple[str, ...] = ()
    """Ids of documents within it that are as they are stored."""
    waits_for: str | None = None
    """The first of the later phases that would give more."""
    skipped: str | None = None
    detail: str | None = None
    phases_ms: Mapping[str, float] = field(default_factory=dict)


def make(task: Task) -> Made:
    """Read, judge, parse and chunk one file."""
    from kb_app._ingest.making.parsing import judge_bytes  # who hands out tasks needs none of it

    started, task = time.perf_counter(), _at_home(task)
    data = bytes_of(task)
    if isinstance(data, Skip):
        return Made(file=task.file, skipped=data.reason, detail=data.detail)
    digest = bytes_hash(data)
    if task.asset is not None and not task.asset.startswith(digest):
        detail = f"the asset {task.asset} does not hold the bytes that were added"
        return Made(file=task.file, skipped=SkipReason.UNREADABLE, detail=detail)
    hash_now = _hashes.of(task.file, task.settings)
    print_now = fingerprint_of(digest, hash_now, task.title, task.trust)
    made = Made(file=task.file, bytes_hash=digest, fingerprint=print_now)
    if print_now == task.known_fingerprint:
        return made
    file = judge_bytes(task.file, data, task.settings.caps)
    if isinstance(file, Skip):
        return replace(made, skipped=file.reason, detail=file.detail)
    read = time.perf_counter()
    return _make(task, replace(made, file=file), data, (started, read))


class _Hashes:
    """``settings_hash`` of the settings that came last: each task brings the same ones along."""

    def __init__(self) -> None:
        self._known: tuple[Settings | None, HashOf] = (None, remembering_hashes())

    def of(self, file: SourceFile, settings: Settings) -> str:
        known, hash_of = self._known
        if known != settings:
            hash_of = remembering_hashes()
            self._known = (settings, hash_of)
        return hash_of(file, settings)


_hashes = _Hashes()


def bytes_of(task: Task) -> bytes | Skip:
    """Return what the file of a task holds, or why it cannot be read."""
    if task.sent is not None:
        return task.sent.data
    path = location(task.root, task.file.path, task.raw_path)
    try:
        with open_regular(path) if task.follow_links else open_inside(path, task.root) as disk:
            return disk.read()
    except OSError as error:
        return Skip(SkipReason.UNREADABLE, error.strerror or str(error))


def _known_as(costly: str) -> tuple[int, ...]:
    """Return what the data directory with this folder is known by; nothing if it is not seen."""
    data = DataDir(Path(costly).parent)
    try:
        return (data.root.stat().st_ino, data.store.stat().st_ino)
    except OSError:
        return ()


def _at_home(task: Task) -> Task:
    """Return a task that was sent with the folders of this machine.

    Costly results are kept where the data directory is seen, and nowhere else.
    """
    if task.sent is None:
        return task
    is_seen = task.costly is not None and _known_as(task.costly) == task.sent.data_dir != ()
    settings = replace(task.settings, cache_dir=str(models_dir()))
    return replace(task, settings=settings, costly=task.costly if is_seen else None)


@cache
def _counter(model: str, cache_dir: str) -> TokenCounter:
    from kb_search.embed import load_token_counter  # the tokenizer: not where nothing changed

    return load_token_counter(model, cache_dir=Path(cache_dir))


def _loaded(file: SourceFile, settings: Settings) -> TokenCounter:
    """Load all that the first file of its kind needs; that is the time of none of them."""
    parser_for(file.media, file.code_lang)
    chunker_for(file.media)
    return _counter(settings.model, settings.cache_dir)


def _make(task: Task, made: Made, data: bytes, times: tuple[float, float]) -> Made:
    from kb_app._ingest.making.parsing import parse_whole

    file, settings = made.file, task.settings
    counter = _loaded(file, settings)
    loaded = time.perf_counter()
    takes_long = len(data) > _QUICK_BYTES or not medium_of(file.media).is_text
    if takes_long:
        say("parse")
    costly = _costly(task, made)
    whole = parse_whole(file, data, settings, task.phases, task.known_enclosed, costly)
    if isinstance(whole, Skip):
        if whole.reason == SkipReason.ENCRYPTED:
            hash_now = locked_hash(task.file, settings)
            print_now = fingerprint_of(made.bytes_hash or "", hash_now, task.title, task.trust)
            made = replace(made, fingerprint=print_now)
        return replace(made, skipped=whole.reason, detail=whole.detail)
    found = whole.documents
    if task.title is not None:
        found[0] = _called(found[0], task.title)
    parsed_at = time.perf_counter()
    if takes_long:
        say("chunk")
    documents = tuple(_document(task, made, read, counter) for read in found)
    ended = time.perf_counter()
    spent = {"read": times[1] - times[0], "parse": parsed_at - loaded, "chunk": ended - parsed_at}
    phases = {name: round(secs * 1000, 3) for name, secs in spent.items()}
    waiting = {read.parsed.waits_for for read in found}
    waits_for = next((phase for phase in PHASES if phase in waiting), None)
    kept = tuple(doc_id(file.source_id, file.path, within) for within in whole.kept)
    return replace(made, documents=documents, kept=kept, waits_for=waits_for, phases_ms=phases)


def _costly(task: Task, made: Made) -> Costly | None:
    if task.costly is None:
        return None
    from kb_app._costly import Costly  # a later phase has results to keep

    return Costly(Path(task.costly), made.bytes_hash or "")


def _day_of(title: str, media: str) -> datetime | None:
    """Return the day that a note is of by its title; code is of none."""
    day = None if media == "code" else date_of_title(title)
    return None if day is None else datetime(day.year, day.month, day.day, tzinfo=UTC)


def _called(read: Read, title: str) -> Read:
    parsed = read.parsed
    return replace(read, parsed=replace(parsed, metadata=replace(parsed.metadata, title=title)))


def _document(task: Task, made: Made, read: Read, counter: TokenCounter) -> DocumentRecord:
    from kb_app._ingest.making.places import placed_chunks

    settings, chunker = task.settings, chunker_for(read.file.media)
    drafts = list(placed_chunks(read.parsed, chunker, counter, settings.limits))
    return _record(task, made, read, drafts, counter)


def _record(
    task: Task, made: Made, read: Read, drafts: Sequence[ChunkDraft], counter: TokenCounter
) -> DocumentRecord:
    """Return the document with its chunks."""
    file, parsed, meta = read.file, read.parsed, read.parsed.metadata
    identity = doc_id(file.source_id, made.file.path, read.within)
    modified = datetime.fromtimestamp(file.mtime_ns // 1_000_000_000, UTC)
    is_file = read.within is None
    of_day = meta.name_date or _day_of(meta.title, parsed.media)
    blocks, fewer = _kept_blocks(parsed.blocks)
    return DocumentRecord(
        doc_id=identity,
        source_id=file.source_id,
        path=file.path,
        title=meta.title or file.path.rpartition("/")[2],
        media=parsed.media,
        text=parsed.text,
        lang=None if parsed.media == "code" else (meta.lang or "und"),
        code_lang=parsed.code_lang,
        repo=task.repo,
        repo_branch=task.repo_branch,
        repo_commit=task.repo_commit,
        tags=meta.tags,
        aliases=meta.aliases,
        source_type=meta.source_type or file.source_type,
        trust_level=_trust(meta.trust_level or file.trust_level, task.trust),
        doc_date=meta.updated or meta.created or of_day or modified,
        created_at=meta.created or of_day,
        updated_at=meta.updated or modified,
        indexed_at=task.indexed_at,
        byte_len=len(read.data),
        size=file.size,
        mtime_ns=file.mtime_ns,
        bytes_hash=made.bytes_hash or "" if is_file else bytes_hash(read.data),
        fingerprint=made.fingerprint or "",
        parser_version=parsed.parser_version,
        chunker_version=chunker_version(file.media),
        metadata=_metadata(meta, modified),
        blocks=blocks,
        links=tuple(
            {"kind": link.kind, "target": link.target, "text": link.text, "start": link.start}
            for link in parsed.links
        ),
        warnings=(*parsed.warnings, *fewer),
        asset=task.asset,
        container=None if is_file else made.file.path,
        has_lines=parsed.has_lines,
        chunks=_chunks(identity, read, drafts, counter, task.settings.window),
    )


def _chunks(
    identity: DocId, read: Read, drafts: Sequence[ChunkDraft], counter: TokenCounter, window: int
) -> tuple[ChunkRecord, ...]:
    """Return the chunks; *window* is how many tokens a passage may have."""
    parsed = read.parsed
    texts = [parsed.text[draft.start : draft.end] for draft in drafts]
    ids = chunk_ids(identity, [text_hash(text) for text in texts])
    lines, orders = LineIndex(parsed.text), words_of_orders(parsed.text)
    made = []
    for ordinal, (draft, text) in enumerate(zip(drafts, texts, strict=True)):
        first, last = _lines(draft) or lines.lines_of(draft.start, draft.end)
        context = _context(parsed, draft, text, read.file, counter, window - draft.token_count)
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
                flags=flags_of(text, orders),
            )
        )
    return tuple(made)


def _lines(draft: ChunkDraft) -> tuple[int, int] | None:
    """Return the lines of the file that a chunk says it stands in, if it does."""
    match draft.span:
        case LineSpan(start, end) | CodeSpan(start, end):
            return start, end
        case _:
            return None


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


def _kept_blocks(
    blocks: Sequence[Block],
) -> tuple[tuple[Mapping[str, object], ...], tuple[str, ...]]:
    """Return what is kept of *blocks*, and a warning where that is not all of them.

    Of very many, those that an outline is made of are kept, and the first of those.
    """
    there = [block for block in blocks if block.kind != "gap"]
    ends = _ends(blocks)
    if len(there) <= _MOST_BLOCKS:
        return tuple(_block(block, ends) for block in there), ()
    heads = [block for block in there if block.kind == "heading" or block.symbol]
    kept = tuple(_block(block, ends) for block in heads[:_MOST_BLOCKS])
    return kept, (f"blocks: of {len(there):,}, headings alone were kept, {len(kept):,}",)


def _ends(blocks: Iterable[Block]) -> dict[int, int]:
    """Return where units end with all that is in them, by where their heads begin."""
    ends: dict[int, int] = {}
    around: list[Block] = []
    for block in blocks:
        is_unit = block.kind == "unit"
        if not is_unit and block.kind != "gap":
            continue
        # A gap has the level of the unit that it is a part of.
        while around and around[-1].level >= block.level + (not is_unit):
            around.pop()
        ends.update((unit.start, block.end) for unit in around)
        if is_unit:
            around.append(block)
    return ends


def _block(block: Block, ends: Mapping[int, int]) -> dict[str, object]:
    fields: dict[str, object] = {"kind": block.kind, "start": block.start, "end": block.end}
    if block.start in ends:
        fields["until"] = ends[block.start]
    if block.heading_path:
        fields["heading_path"] = list(block.heading_path)
    if block.level:
        fields["level"] = block.level
    if block.symbol:
        fields["symbol"] = block.symbol
        fields["symbol_kind"] = block.symbol_kind
    return fields
