"""Progress of an ingest: its events, folded into one small value that a pane can draw.

Pure: ``advance`` is called on the thread of the ingest, ``summary`` and ``details`` on
the screen's; what goes between them is immutable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kb_core.ingest import IngestEvent, IngestReport
from kb_tui._text import counted, lasted, visible

__all__ = ["Progress", "advance", "details", "outcome", "summary"]

_COUNTED = ("indexing", "embedding")
"""Stages with an end that is known."""
_CELLS = 20
_SETTLED_S = 0.5
"""Before that, a rate says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far an ingest is. Times are those of a monotonic clock, in seconds."""

    stage: str = "starting"
    """``starting``, ``scanning``, ``scanned``, ``indexing``, ``embedding``."""
    began: float
    stage_began: float = 0.0
    path: str = ""
    phase: str = ""
    done: int = 0
    total: int = 0
    before: int = 0
    """How many were done when the stage began to be watched; not part of its rate."""
    counts: Mapping[str, int] = field(default_factory=dict)
    documents: int = 0
    chunks: int = 0
    is_stopping: bool = False


def advance(  # noqa: PLR0911 - one return a kind of event
    progress: Progress, event: IngestEvent, now: float
) -> Progress:
    """Return *progress* after *event*."""
    data = event.data
    match event.kind:
        case "scan_started":
            return _stage(progress, "scanning", now, path=str(data.get("root", "")))
        case "scan_completed":
            total = progress.total + int(data.get("candidates", 0))
            return replace(progress, stage="scanned", total=total, path="")
        case "asset_started":
            return replace(progress, path=str(data.get("doc_path", "")), phase="")
        case "asset_phase":
            path, phase = str(data.get("doc_path", "")), str(data.get("phase", ""))
            return replace(progress, path=path, phase=phase)
        case "asset_finished":
            return _finished(progress, event, now)
        case "embed_batch_finished":
            moved = _stage(progress, "embedding", now, before=int(data.get("done", 0)))
            return replace(moved, done=data["done"], total=data["total"], path="", phase="")
        case "committed":
            documents = progress.documents + int(data.get("documents", 0))
            chunks = progress.chunks + int(data.get("chunks", 0))
            return replace(progress, documents=documents, chunks=chunks)
        case _:
            return progress


def _finished(progress: Progress, event: IngestEvent, now: float) -> Progress:
    data = event.data
    kind = str(getattr(data.get("item"), "kind", "done"))
    counts = {**progress.counts, kind: progress.counts.get(kind, 0) + 1}
    moved = _stage(progress, "indexing", now)
    done, total = int(data.get("done", moved.done + 1)), int(data.get("total", moved.total))
    return replace(moved, done=done, total=total, counts=counts)


def _stage(
    progress: Progress, stage: str, now: float, *, before: int = 0, path: str = ""
) -> Progress:
    if progress.stage == stage:
        return replace(progress, path=path) if path else progress
    return replace(
        progress, stage=stage, stage_began=now, before=before, done=0, path=path, phase=""
    )


def summary(progress: Progress) -> str:
    """Return a few words for the status line."""
    if progress.is_stopping:
        return "ingest: finishing the batch"
    if progress.stage not in _COUNTED or not progress.total:
        return f"ingest: {progress.stage}"
    share = min(1.0, progress.done / progress.total)
    return f"ingest: {progress.stage} {share:.0%}"


def details(progress: Progress, now: float) -> list[str]:
    """Return what the pane of jobs shows: phase, how far, how fast, which file, what came out."""
    stage = "finishing the batch" if progress.is_stopping else progress.stage
    lines = [f"{stage}, {lasted(now - progress.began)}", _bar(progress, now)]
    working = " ".join(filter(None, (progress.phase, progress.path)))
    lines.append(visible(working) or "-")
    counts = ", ".join(f"{n:,} {kind}" for kind, n in sorted(progress.counts.items()))
    committed = f"{counted(progress.documents, 'document')}, {counted(progress.chunks, 'chunk')}"
    lines.append(f"{counts or 'nothing yet'}; searchable: {committed}")
    return lines


def _bar(progress: Progress, now: float) -> str:
    if progress.stage not in _COUNTED or not progress.total:
        return f"[{'.' * _CELLS}]"
    share = min(1.0, progress.done / progress.total)
    full = round(share * _CELLS)
    noun = "chunk" if progress.stage == "embedding" else "file"
    amount = f"{progress.done:,}/{counted(progress.total, noun)}"
    bar = f"[{'#' * full}{'.' * (_CELLS - full)}] {share:4.0%}  {amount}"
    spent, fresh = now - progress.stage_began, progress.done - progress.before
    if spent < _SETTLED_S or fresh <= 0:
        return bar
    rate = fresh / spent
    return f"{bar}  {rate:,.1f}/s  {lasted((progress.total - progress.done) / rate)} left"


def outcome(report: IngestReport) -> str:
    """Return in one line what came of a run."""
    counts = ", ".join(f"{n:,} {kind}" for kind, n in report.counts.items() if n) or "no files"
    embedded = f", {counted(report.embedded, 'chunk')} embedded" if report.embedded else ""
    ended = "cancelled" if report.aborted else "done"
    return f"ingest {ended} in {lasted(report.duration_ms / 1000)}: {counts}{embedded}"
