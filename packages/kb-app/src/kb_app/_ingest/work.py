"""One file, from bytes to a document record: what a worker process does.

Pure but for reading that one file, and keyed by what the task holds: the same task
gives the same outcome in any process, any number of times. Nothing is written; what it is
at is told on the way.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from pathlib import Path

from kb_app._ingest.assets import given_trust
from kb_app._ingest.fingerprint import UNKNOWN, fingerprint_of, settings_hash
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
from kb_app._ingest.judging.secrets import find_secret
from kb_app._ingest.names import location
from kb_app._ingest.opening import open_inside, open_regular
from kb_app._ingest.records import Provenance, build_record
from kb_app._ingest.settings import Settings
from kb_app._ingest.worker import say
from kb_app._media import chunker_for, medium_of, parser_for
from kb_core.documents import ParsedDocument, SourceFile
from kb_core.ids import bytes_hash
from kb_core.ingest import SkipReason
from kb_core.media import Media
from kb_core.ports import Content, TokenCounter
from kb_core.records import DocumentRecord

__all__ = ["Made", "Task", "judge_bytes", "judge_text", "parse", "work"]


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


def work(task: Task) -> Made:
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
    hash_now, trust = settings_hash(task.file, task.settings), given_trust(task.asset)
    print_now = fingerprint_of(digest, hash_now, task.title, trust)
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


def _make(task: Task, made: Made, data: bytes, times: tuple[float, float]) -> Made:
    file, settings = made.file, task.settings
    say("parse")
    parsed = parse(file, FileContent(data), settings)
    if isinstance(parsed, Skip):
        return replace(made, skipped=parsed.reason, detail=parsed.detail)
    counter = _counter(settings.model, settings.cache_dir)
    if task.title is not None:
        parsed = replace(parsed, metadata=replace(parsed.metadata, title=task.title))
    parsed_at = time.perf_counter()
    say("chunk")
    chunker = chunker_for(file.media)
    drafts = list(chunker(parsed, counter, settings.limits))
    known = Provenance(
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
    )
    document = build_record(parsed, drafts, counter, settings.window, known)
    ended = time.perf_counter()
    spent = {"read": times[1] - times[0], "parse": parsed_at - times[1], "chunk": ended - parsed_at}
    phases = {name: round(secs * 1000, 3) for name, secs in spent.items()}
    return replace(made, document=document, phases_ms=phases)
