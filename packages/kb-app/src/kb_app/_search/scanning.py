"""Scanning texts for a pattern, on two cores where it hardly matches.

RE2 holds no lock of the interpreter. So texts are looked through from the first one on, and beside
that, on a thread, from the last one on, until both meet. What the thread does is nothing but RE2,
and of a text with many lines that match it finds the first ones: for each of these it has to wait
for the interpreter, which takes longer than to find it. Where that is so of a few texts one after
the other, it looks at no more of them.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING

from kb_app._search.defining import Found
from kb_core.ports import TextBatch

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from kb_core.search import GrepQuery
    from kb_search.patterns import Form, Pattern

__all__ = ["Scan"]

_KEPT = 2_000
"""Lines of a file of which it is known where they are, at least: those that define come first."""
_FORMS: dict[str, Form] = {"ascii": "ascii", "nfc": "nfc", "other": "other"}
_TURNS = 1_000
"""Lines between two looks at the clock."""
_STRETCH = 16 << 20
"""Bytes of texts that are looked through from both ends."""
_WORTH_A_THREAD = 2 << 20
"""Fewer take less than a thread needs to begin."""
_LONG_ENOUGH = 100_000
"""Bytes of texts that take longer to be looked through than a thread waits for the interpreter."""
_SLOW = 0.5e-9
"""Seconds for a byte from which on a thread gains time: a call for a batch of texts then takes
longer than to wait for the interpreter behind it, and no memory is waited for."""
_FIRST_LINES = 32
"""Of a text, so many lines that match are looked for beside."""
_TOO_MANY = 4
"""So many texts one after the other that have more."""


class Scan:
    """One look through texts, which ends when its time is up."""

    def __init__(
        self, pattern: Pattern, query: GrepQuery, until: float, stop: Event | None
    ) -> None:
        self._pattern = pattern
        self._query = query
        self._most = max(query.max_lines, _KEPT)
        self._until = until
        self._stop = stop
        self.seen = 0
        self.complete = True
        self.saw_more_than_ascii = False

    def of(self, pattern: Pattern) -> Scan:
        """Return a look for another pattern, which ends when this one does."""
        return Scan(pattern, self._query, self._until, self._stop)

    def again(self, found: Found) -> Found | None:
        """Return what matches in a text in which another pattern does."""
        return self._look(found.around, found.form, (found.doc_key, found.begin, found.end))

    def through(self, batches: Iterable[TextBatch]) -> Generator[Found, None, None]:
        """Yield the texts that match."""
        look = self._by_lines if self._pattern.is_of_lines else self._by_texts
        for batch, found in look(batches):
            self.saw_more_than_ascii = self.saw_more_than_ascii or batch.form != "ascii"
            yield from found
            if not self.complete or self._is_late():
                return
            self.seen += len(batch.spans)

    def _by_texts(
        self, batches: Iterable[TextBatch]
    ) -> Iterator[tuple[TextBatch, Iterable[Found]]]:
        for batch in batches:
            form = _FORMS[batch.form]
            yield batch, filter(None, (self._look(batch.data, form, span) for span in batch.spans))

    def _by_lines(
        self, batches: Iterable[TextBatch]
    ) -> Iterator[tuple[TextBatch, Iterable[Found]]]:
        pace = _Pace()
        for stretch in _stretches(batches):
            if len(stretch) == 1:
                (batch,) = stretch
                form = _FORMS[batch.form]
                yield batch, self._apart(batch, form, self._starts(batch.data, form, 0))
                continue
            with _Beside(self._pattern, stretch) as beside:
                for number, batch in enumerate(stretch):
                    form = _FORMS[batch.form]
                    starts, at = beside.found(number)
                    if not at and pace.is_unknown and self._pattern.is_lockless:
                        starts, at = pace.measured(self._pattern, batch)
                    if pace.is_slow:
                        beside.start(number + 1)
                    starts += self._starts(batch.data, form, at)
                    yield batch, self._apart(batch, form, starts)

    def _starts(self, data: bytes, form: Form, at: int) -> list[int]:
        """Return where the lines begin that match, from one on; if time is up those until then."""
        step, size = self._pattern.step(form), len(data)
        found: list[int] = []
        while at < size and not self._is_late():
            stop = data.find(b"\n", at + step) + 1 or size
            found += self._pattern.starts(data, form, at, stop)
            at = stop
        return found

    def _apart(self, batch: TextBatch, form: Form, starts: Sequence[int]) -> Iterator[Found]:
        """Yield the texts of a batch in which these lines begin."""
        last = 0
        for span in batch.spans if starts else ():
            first = bisect_left(starts, span[1], last)
            last = bisect_left(starts, span[2], first)
            if first < last:
                lines = starts[first : min(last, first + self._most)]
                yield Found(batch.data, form, span, lines, last - first)

    def _look(self, around: bytes, form: Form, span: tuple[int, int, int]) -> Found | None:
        key, begin, end = span
        data = around[begin:end]
        if not self._pattern.is_multiline:
            every = self._pattern.starts(data, form)
            starts, count = every[: self._most], len(every)
        else:
            starts, count = self._over_lines(data, form)
        return Found(data, form, (key, 0, len(data)), starts, count) if count else None

    def _over_lines(self, data: bytes, form: Form) -> tuple[list[int], int]:
        starts: list[int] = []
        count = 0
        for turn, (first, last) in enumerate(self._pattern.lines(data, form)):
            if turn % _TURNS == 0 and self._is_late():
                break
            over = data.count(b"\n", first, last)
            if len(starts) < self._most:
                starts.append(first)
                for _ in range(over):
                    first = data.find(b"\n", first) + 1  # noqa: PLW2901
                    starts.append(first)
            count += over + 1
        return starts, count

    def _is_late(self) -> bool:
        if time.monotonic() > self._until or (self._stop is not None and self._stop.is_set()):
            self.complete = False
        return not self.complete


def _stretches(batches: Iterable[TextBatch]) -> Iterator[list[TextBatch]]:
    """Yield batches as they come: long ones together, and one that is short alone.

    That is of one text mostly, which is read from the index while nobody waits for others.
    """
    stretch, size = list[TextBatch](), 0
    for batch in batches:
        is_long = len(batch.data) >= _LONG_ENOUGH
        if stretch and (not is_long or size >= _STRETCH):
            yield stretch
            stretch, size = [], 0
        if not is_long:
            yield [batch]
            continue
        stretch.append(batch)
        size += len(batch.data)
    if stretch:
        yield stretch


def _first_lines(
    pattern: Pattern, batch: TextBatch, goes_on: Callable[[], bool] = lambda: True
) -> tuple[list[int], int]:
    """Return where the first lines of a batch begin that match, and from where on others may."""
    data, form = batch.data, _FORMS[batch.form]
    step, at, size = pattern.step(form), 0, len(data)
    found: list[int] = []
    while at < size and goes_on():
        stop = data.find(b"\n", at + step) + 1 or size
        at = pattern.first_starts(data, form, (at, stop), found, _FIRST_LINES)
        if at < stop:
            break
    return found, at


class _Pace:
    """How long RE2 takes for a byte, of the first texts."""

    def __init__(self) -> None:
        self.is_slow = False
        """Whether it takes so long that a thread beside it gains time."""
        self.is_unknown = True
        self._too_many = 0

    def measured(self, pattern: Pattern, batch: TextBatch) -> tuple[list[int], int]:
        """Return ``_first_lines`` of a batch, from which the pace is known if these are all."""
        began, size = time.thread_time(), len(batch.data)
        found, at = _first_lines(pattern, batch)
        if at < size:
            self._too_many += 1
            self.is_unknown = self._too_many < _TOO_MANY
        else:
            self.is_unknown = False
            self.is_slow = time.thread_time() - began > size * _SLOW
        return found, at


class _Beside:
    """What looks through some texts from the last one on, until who begins with the first meets it.

    It lives as long as the look that it is beside, and ends with it.
    """

    def __init__(self, pattern: Pattern, batches: Sequence[TextBatch]) -> None:
        self._pattern = pattern
        self._batches = batches
        self._lock = Lock()
        self._front, self._back = 0, len(batches)
        self._found: dict[int, tuple[list[int], int]] = {}
        self._thread: Thread | None = None
        self._is_asked = False

    def __enter__(self) -> Self:
        return self

    def start(self, front: int) -> None:
        """Begin with the last text, if there is enough behind *front*; only the first time."""
        if self._is_asked:
            return
        self._is_asked, self._front = True, front
        if sum(len(batch.data) for batch in self._batches[front:]) >= _WORTH_A_THREAD:
            self._thread = Thread(target=self._look, name="kebab-grep")
            self._thread.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        self._front = len(self._batches)
        if self._thread is not None:
            self._thread.join()

    def found(self, number: int) -> tuple[list[int], int]:
        """Return where lines begin that match in a text, and from where on others are to be found.

        The texts before it are not looked through any more by anyone but who asks.
        """
        with self._lock:
            self._front = max(self._front, number + 1)
            is_met = number >= self._back
        if is_met and self._thread is not None:
            self._thread.join()
        return self._found.get(number, ([], 0))

    def _look(self) -> None:
        too_many = 0
        with suppress(Exception):  # whoever looks at that text meets it, too
            while too_many < _TOO_MANY:
                with self._lock:
                    if self._back <= self._front:
                        return
                    self._back -= 1
                    number = self._back
                batch = self._batches[number]
                starts, at = _first_lines(self._pattern, batch, self._goes_on)
                self._found[number] = starts, at
                too_many = too_many + 1 if at < len(batch.data) else 0

    def _goes_on(self) -> bool:
        return self._front < len(self._batches)
