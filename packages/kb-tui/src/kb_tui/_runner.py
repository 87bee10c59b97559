"""The ingest in the background, asked for or found by following the sources, and how it is told.

Events come by the thousand in a second, so they are not messages: each is folded into
``progress`` on the run's own thread, and the screen looks at it a few times a second.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator

from kb_app import KnowledgeBase
from kb_app.shown import brief_duration, count, visible
from kb_app.shown.progress import Progress, advance, bar
from kb_core import logs
from kb_core.errors import KbError
from kb_core.ingest import IngestEvent, IngestOptions, IngestReport, ItemKind
from kb_core.values import replace

__all__ = ["IngestRunner", "SourceFollower", "brief_outcome", "details", "outcome", "summary"]

logger = logs.logger(__name__)


class IngestRunner:
    """Runs one ingest at a time. Methods are called by the screen and never wait.

    *ended* is called on the run's thread when a run is over, with its report, or with
    what went wrong, or with neither when it was abandoned.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        ended: Callable[[IngestReport | None, Exception | None], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._kb = kb
        self._ended = ended
        self._clock = clock
        self._stop = threading.Event()
        self._is_abandoned = False
        self._thread: threading.Thread | None = None
        self._progress: Progress | None = None
        self.told = ""
        """What came of the last run, in a few words, until it was taken note of."""
        self.last: tuple[str, ...] = ()
        """What came of the last run, in lines."""

    @property
    def progress(self) -> Progress | None:
        """How far the run is; ``None`` when none is running."""
        progress = self._progress
        if progress is not None and self._stop.is_set():
            return replace(progress, is_stopping=True)
        return progress

    @property
    def is_running(self) -> bool:
        """Whether a run has begun and not ended."""
        return self._progress is not None

    def now(self) -> float:
        """Return the time by the clock that ``progress`` is told by."""
        return self._clock()

    def start(self) -> bool:
        """Begin a run; say whether it was begun: one that is running goes on."""
        if self.is_running:
            return False
        self._stop = threading.Event()
        self.told, self.last = "", ()
        self._progress = Progress(began=self._clock())
        self._thread = threading.Thread(target=self._run, name="kebab-ingest", daemon=True)
        self._thread.start()
        return True

    def stop(self) -> bool:
        """Ask the run to end after its batch; say whether there was one to ask."""
        self._stop.set()
        return self.is_running

    def abandon(self) -> None:
        """End the run at its next event; what is committed stays, the rest is done again."""
        self._is_abandoned = True
        self._stop.set()

    def wait(self, seconds: float | None = None) -> None:
        """Wait for the run to end; for when the screen is gone."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _run(self) -> None:
        report: IngestReport | None = None
        error: Exception | None = None
        try:
            report = self._follow()
        except KbError as failure:
            error = failure
        except Exception as failure:
            logger.exception("ingest failed")
            error = failure
        self._progress = None
        self._ended(report, error)

    def _follow(self) -> IngestReport | None:
        events = self._kb.ingest_apart(IngestOptions(summary_only=True), stop=self._stop)
        try:
            for event in events:
                assert self._progress is not None  # noqa: S101 - set before the thread began
                self._progress = advance(self._progress, event, self._clock())
                if event.report is not None:
                    return event.report
                if self._is_abandoned:
                    return None
            return None
        finally:
            if isinstance(events, Generator):
                events.close()


class SourceFollower:
    """Follows the sources on a thread, as ``kebab watch`` does, once it is asked to.

    *happened* is called on that thread with the report of each run that found something,
    and with what following ended by: an error, or neither.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        happened: Callable[[IngestReport | None, Exception | None], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._kb = kb
        self._happened = happened
        self._clock = clock
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.progress: Progress | None = None
        """How far the run is that is going on; ``None`` between runs."""
        self.said = ""
        """What a person should know besides, as it was said last."""

    @property
    def is_following(self) -> bool:
        """Whether it follows, and was not told to end."""
        return self._thread is not None and self._thread.is_alive() and not self._stop.is_set()

    def start(self) -> bool:
        """Begin; say whether it was begun: not while it follows, or is ending still."""
        if self._thread is not None and self._thread.is_alive():
            return False
        self._stop, self.said = threading.Event(), ""
        self._thread = threading.Thread(target=self._follow, name="kebab-watch", daemon=True)
        self._thread.start()
        return True

    def stop(self) -> None:
        """Ask it to end after the batch at hand."""
        self._stop.set()

    def wait(self, seconds: float | None = None) -> None:
        """Wait for its end; for when the screen is gone."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _follow(self) -> None:
        error: Exception | None = None
        try:
            for happening in self._kb.watch(stop=self._stop):
                if isinstance(happening, str):
                    self.said, self.progress = happening, None  # perhaps a run that failed
                else:
                    self._take_in(happening)
        except KbError as failure:
            error = failure
        except Exception as failure:
            logger.exception("following the sources failed")
            error = failure
        self.progress = None
        self._stop.set()
        self._happened(None, error)

    def _take_in(self, event: IngestEvent) -> None:
        now = self._clock()
        self.progress = advance(self.progress or Progress(began=now), event, now)
        if event.report is not None:
            self.progress = None
            self._happened(event.report, None)


_CELLS = 20
_LEAST_RATE = 0.05


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
    working = (
        " ".join(filter(None, (slow.phase, slow.path, slow.how_far))) if slow else progress.root
    )
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
    if speed is None:
        return line
    rate = f"  {speed.rate:,.1f}/s" if speed.rate >= _LEAST_RATE else ""
    return f"{line}{rate}  {brief_duration(speed.left_s)} left"


def brief_outcome(report: IngestReport) -> str:
    """Return in a few words what came of a run, for the status line."""
    return f"ingest {_ended(report)}: {_counts(report)}"


def outcome(report: IngestReport) -> tuple[str, ...]:
    """Return what came of a run, in lines for the pane of jobs."""
    took = brief_duration(report.duration_ms / 1000)
    embedded = f", {count(report.embedded, 'chunk')} embedded" if report.embedded else ""
    reasons = ", ".join(f"{n:,} {visible(why)}" for why, n in report.skipped_by_reason.items())
    failed = [item for item in report.items or () if item.kind == ItemKind.ERROR]
    return (
        f"ingest {_ended(report)} in {took}: {_counts(report)}{embedded}",
        *([f"left out: {reasons}"] if reasons else []),
        *(visible(f"failed: {item.doc_path}") for item in failed[:2]),
        *(visible(warning) for warning in report.warnings[:2]),
    )


def _ended(report: IngestReport) -> str:
    return "cancelled" if report.aborted else "done"


def _counts(report: IngestReport) -> str:
    return ", ".join(f"{n:,} {kind}" for kind, n in report.counts.items() if n) or "no files"
