"""Following the sources: what is told of changes says when to look, and the walk says at what.

A look walks the sources beside what is published. Where it finds something, a run is made, in
a process of its own; so the writer lock is held only while something is written, and a run
that is killed, or eats its memory, is one run. Since every look sees everything, nothing is
missed where a notice was: the next one, or the look now and then, makes up for it.

**Invariant:** what changes after a look began leads to another look. Folders that a look finds
are followed before the next one begins, so what came into them unseen is found by that.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from threading import Event
from typing import TYPE_CHECKING, TypeAlias

from kb_app._watching.agenda import SCAN_SECS, Agenda
from kb_core import logs
from kb_core.errors import KbError, StoreBusy
from kb_core.values import dataclass

if TYPE_CHECKING:
    from kb_app._presence import Presence
    from kb_app._watching.notices import Notices, Told
    from kb_core.ingest import IngestEvent, IngestReport
    from kb_core.ports import Clock

__all__ = ["Follower", "Happening", "Look", "Sources"]

logger = logs.logger(__name__)

Happening: TypeAlias = "IngestEvent | str"
"""What a run tells, or in words what else happens."""

_ROOTS_SECS = 5.0
"""How often it is looked whether the folders of sources, and the index, are where they were."""
_POLL_SECS = 5.0
"""Between two looks at everything where changes are not told."""
_BUSY_SECS, _AGAIN_SECS = 5.0, 300.0
"""The longest pauses before a look is tried again that met another writer, or an error."""
_MANY = 4096
"""So many changes at once may be more than the system keeps."""
_SCANS = frozenset({"scan_started", "scan_completed"})
_NEWS = ("new", "updated", "moved", "deleted")


@dataclass(frozen=True, slots=True)
class Look:
    """What a walk over all sources found."""

    is_quiet: bool
    """There is nothing to do."""
    folders: frozenset[str]
    """The folders that it looked into, as absolute paths."""


class Sources:
    """What is followed: asked anew each time, since a person may add a source meanwhile."""

    def __init__(
        self,
        *,
        roots: Callable[[], Sequence[str]],
        look: Callable[[], Look],
        touches: Callable[[Collection[str]], bool],
        run: Callable[[Event], Iterator[IngestEvent]],
    ) -> None:
        self.roots = roots
        """Gives the folders of the sources, there or not."""
        self.look = look
        self.touches = touches
        """Says whether changes of these paths can matter to an index."""
        self.run = run


class Follower:
    """Follows *sources* until it is told to stop; iterate ``events`` once.

    *clock* is the time of day, *monotonic* the one that changes are timed by. With
    *poll_secs* nothing is asked to tell: everything is looked at so often.
    """

    def __init__(
        self,
        sources: Sources,
        notices: Notices,
        presence: Presence,
        *,
        clock: Clock,
        monotonic: Callable[[], float],
        poll_secs: float | None = None,
    ) -> None:
        self._sources, self._notices, self._presence = sources, notices, presence
        self._clock, self._now = clock, monotonic
        self._poll_secs = poll_secs
        self._agenda = Agenda(monotonic(), self._wall(), scan_secs=poll_secs or SCAN_SECS)
        self._folders: frozenset[str] = frozenset()
        self._is_lost = True
        """Whether what is followed may be other folders than those that are there."""
        self._places: dict[str, tuple[int, int] | None] = {}
        self._roots_at = float("-inf")
        self._follow_at = float("-inf")
        self._untold = ""
        """Why changes are not told, if they are not."""
        self._said: frozenset[str] = frozenset()
        """What was wrong at the last look: it is said once."""

    def events(self, stop: Event) -> Generator[Happening, None, None]:
        """Yield what runs tell that find something, and what a person should know."""
        self._presence.begin(self._clock())
        self._places = {root: _place(root) for root in self._sources.roots()}
        try:
            while not stop.is_set():
                if self._agenda.is_due(self._now()):
                    yield from self._look(stop)
                else:
                    yield from self._listen(stop)
        finally:
            self._notices.close()
            self._presence.end()

    def _wall(self) -> float:
        return self._clock().timestamp()

    # ---------------------------------------------------------------- listening

    def _listen(self, stop: Event) -> Iterator[Happening]:
        told = self._notices.wait(self._agenda.wait_secs(self._now()), stop)
        if told.paths:
            yield from self._take_in(told)
        if jump := self._agenda.jumped(self._now(), self._wall()):
            self._is_lost = True
            yield f"the clock went {abs(jump):,.0f} s {_way(jump)}: all is looked at again"
        if self._now() >= self._roots_at:
            yield from self._look_at_the_index()
            yield from self._look_at_roots()

    def _take_in(self, told: Told) -> Iterator[str]:
        if len(told.paths) >= _MANY:
            self._is_lost = True
            yield f"{len(told.paths):,} changes at once: all is looked at again"
        elif told.renewed & self._folders:
            self._is_lost = True
        elif not self._sources.touches(told.paths):
            return
        self._agenda.changed(self._now())
        self._presence.pending()

    def _look_at_the_index(self) -> Iterator[str]:
        """Notice that another index took the place of the one that was kept fresh."""
        if self._presence.keep():
            self._agenda.changed(self._now())
            yield "the knowledge base was replaced: all is looked at again"

    def _look_at_roots(self) -> Iterator[str]:
        """Notice a folder that went, or came, or is another one under the same name."""
        self._roots_at = self._now() + _ROOTS_SECS
        before = self._places
        self._places = {root: _place(root) for root in self._sources.roots()}
        if before == self._places or self._is_lost:
            return
        self._is_lost = True
        self._agenda.changed(self._now())
        for root, place in self._places.items():
            if root not in before:
                yield f"{root} is followed, too"
            elif place != before[root]:
                yield f"{root} is {'another folder now' if place else 'gone'}"

    # ---------------------------------------------------------------- looking

    def _look(self, stop: Event) -> Iterator[Happening]:
        began, at = self._now(), self._clock()
        self._is_lost = self._is_lost or self._agenda.is_of_itself(began)
        self._agenda.begin(began)
        try:
            look = self._sources.look()
            yield from self._follow(look.folders)
            if not look.is_quiet:
                yield from self._run(stop)
        except StoreBusy as error:
            yield from self._fail(f"{error}; waiting for it", _BUSY_SECS)
            return
        except KbError as error:
            yield from self._fail(f"{error}; {error.hint or 'it is tried again'}", _AGAIN_SECS)
            return
        except Exception as error:
            logger.exception("a run failed")
            yield from self._fail(f"a run failed, and is tried again: {error}", _AGAIN_SECS)
            return
        if not stop.is_set():
            self._presence.seen(at)
        self._agenda.done(self._now(), self._now() - began)

    def _fail(self, why: str, most_secs: float) -> Iterator[str]:
        yield from self._say({why})
        self._agenda.failed(self._now(), most_secs)

    def _follow(self, folders: frozenset[str]) -> Iterator[str]:
        """Follow *folders*; where they are others than before, another look is due."""
        now, before = self._now(), self._untold
        if self._poll_secs is not None or (before and now < self._follow_at):
            return
        if not self._is_lost and folders <= self._folders:
            return
        self._untold = self._notices.follow(list(self._places), folders)
        self._is_lost, self._folders, self._follow_at = False, folders, now + SCAN_SECS
        if not self._untold:
            self._agenda.scan_secs = SCAN_SECS
            self._agenda.changed(now)
            if before:
                yield "changes are told again"
            return
        self._agenda.scan_secs = _POLL_SECS
        if not before:
            every = f"all is looked at every {_POLL_SECS:.0f} s"
            yield f"changes are not told here ({self._untold}): {every}"

    def _run(self, stop: Event) -> Iterator[Happening]:
        """Run; of a run that finds nothing new, nothing is told."""
        held: list[IngestEvent] = []
        is_told = False
        for event in self._sources.run(stop):
            if event.report is not None:
                yield from self._say(event.report.warnings)
                is_told = is_told or _has_news(event.report)
            elif event.kind not in _SCANS:
                is_told = True
            held.append(event)
            if is_told:
                yield from held
                held.clear()

    def _say(self, wrong: Collection[str]) -> Iterator[str]:
        """Say what is *wrong* now and was not at the last look."""
        before, self._said = self._said, frozenset(wrong)
        yield from (what for what in wrong if what not in before)


def _has_news(report: IngestReport) -> bool:
    return bool(report.embedded or any(report.counts.get(kind) for kind in _NEWS))


def _place(root: str) -> tuple[int, int] | None:
    """Return what tells a folder from another one of its name, ``None`` if there is none."""
    try:
        found = os.stat(root)  # noqa: PTH116 - a text
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _way(jump: float) -> str:
    return "ahead, or the machine slept" if jump > 0 else "back"
