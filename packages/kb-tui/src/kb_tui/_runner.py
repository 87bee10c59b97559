"""The ingest in the background: one thread that follows the run, and a value that tells of it.

Events come by the thousand in a second, so they are not messages: each is folded into
``progress`` on the run's own thread, and the screen looks at it a few times a second.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Generator
from dataclasses import replace

from kb_app import KnowledgeBase
from kb_app.shown.progress import Progress, advance
from kb_core.errors import KbError
from kb_core.ingest import IngestOptions, IngestReport

__all__ = ["IngestRunner"]

logger = logging.getLogger(__name__)


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
