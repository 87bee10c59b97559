"""How an ingest is told on the screen: in the status line, in the pane of jobs, at its end."""

from __future__ import annotations

from kb_app.shown import brief_duration, count, visible
from kb_app.shown.progress import Progress, bar
from kb_core.ingest import IngestReport

__all__ = ["details", "outcome", "summary"]

_CELLS = 20


def summary(progress: Progress) -> str:
    """Return a few words for the status line."""
    if progress.is_stopping:
        return "ingest: finishing the batch"
    share = progress.share
    return f"ingest: {progress.stage}" + ("" if share is None else f" {share:.0%}")


def details(progress: Progress, now: float) -> list[str]:
    """Return what the pane of jobs shows: phase, how far, how fast, which file, what came out."""
    stage = "finishing the batch" if progress.is_stopping else progress.stage
    slow = progress.slowest
    working = " ".join(filter(None, (slow.phase, slow.path))) if slow else progress.root
    counts = ", ".join(f"{n:,} {kind}" for kind, n in sorted(progress.counts.items()))
    committed = f"{count(progress.documents, 'document')}, {count(progress.chunks, 'chunk')}"
    return [
        f"{stage}, {brief_duration(now - progress.began)}",
        _how_far(progress, now),
        visible(working) or "-",
        f"{counts or 'nothing yet'}; searchable: {committed}",
    ]


def _how_far(progress: Progress, now: float) -> str:
    share, speed = progress.share, progress.speed(now)
    if share is None:
        return bar(0.0, _CELLS)
    amount = f"{progress.done:,}/{count(progress.total, progress.noun)}"
    line = f"{bar(share, _CELLS)} {share:4.0%}  {amount}"
    return f"{line}  {speed.rate:,.1f}/s  {brief_duration(speed.left_s)} left" if speed else line


def outcome(report: IngestReport) -> str:
    """Return in one line what came of a run."""
    counts = ", ".join(f"{n:,} {kind}" for kind, n in report.counts.items() if n) or "no files"
    embedded = f", {count(report.embedded, 'chunk')} embedded" if report.embedded else ""
    ended = "cancelled" if report.aborted else "done"
    return f"ingest {ended} in {brief_duration(report.duration_ms / 1000)}: {counts}{embedded}"
