"""Long work: its events on the terminal or as JSON lines, then its report.

On a terminal that is one line, drawn over; elsewhere plain lines now and then. It says
what a person needs to see that nothing is stuck: how far, how fast, how long still; and,
while one file takes long, which one, what is being done to it and for how many seconds
(lesson 38).

Ctrl-C once lets the batch at hand finish and reports what was done; twice ends at once.
The work itself decides when it can stop: it is told by an event.

The report says what was done, what was not, and what next; of one document that came in,
its name as well and what became of it.
"""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from kb_app.shown import bytes_text, count, duration, flat, printable
from kb_app.shown.progress import Progress, advance, bar
from kb_cli._context import CliContext
from kb_cli._text import echo, shorten, table, terminal_width

if TYPE_CHECKING:
    from kb_app.knowledge_base import KnowledgeBase
    from kb_app.workspaces import Place
    from kb_core.ingest import IngestEvent, IngestReport

__all__ = [
    "ProgressLine",
    "Start",
    "open_place",
    "passages_taken",
    "show_document",
    "show_work",
    "stopped_by_interrupt",
]

Start: TypeAlias = "Callable[[KnowledgeBase, threading.Event], Iterator[IngestEvent]]"

_REFRESH_S = 0.5
_ERASE = "\r\x1b[2K"
_CELLS = 12
_PATH_COLUMNS = 36
_PLAIN_EVERY_S = 5.0
_DRAW_EVERY_S = 0.1
_MINUTE = 60
_LEAST_RATE = 0.05
"""What is slower has no rate that one can read."""
_VERBS = {
    "scanned": "indexing",
    "indexing": "indexing",
    "completing": "completing",
    "embedding": "embedding",
}


def show_work(cli: CliContext, start: Start, *, is_dry_run: bool = False) -> None:
    """Do the work that *start* starts, and say what was done."""
    report = _follow(cli, start)
    _show(cli, report, lambda report: _report(report, is_dry_run=is_dry_run))
    if not is_dry_run:
        cli.note(f"next: {_next_step(report)}")


def show_document(cli: CliContext, start: Start) -> None:
    """Do the work that *start* starts, and say what became of the one document."""

    def lines(report: IngestReport) -> Iterator[str]:
        yield from _documents(report)
        if report.scanned:  # of a removal the name is all
            yield from _report(report)

    report = _follow(cli, start)
    _show(cli, report, lines)
    if any(report.counts.get(kind) for kind in ("new", "updated", "error")):
        cli.note(f"next: {_next_step(report)}")


def _show(
    cli: CliContext, report: IngestReport, lines: Callable[[IngestReport], Iterator[str]]
) -> None:
    if not cli.as_json:
        echo("\n".join(lines(report)))
        cli.warn(*report.warnings)


def _follow(cli: CliContext, start: Start) -> IngestReport:
    """Run the work that *start* starts, show its events, and return its report."""
    with (
        stopped_by_interrupt(cli) as stop,
        cli.open() as kb,
        # Whatever ends the loop, a closed pipe too, the work ends before its stores close.
        _ended(start(kb, stop)) as events,
    ):
        return _print_json(cli, events) if cli.as_json else _draw(cli, events)


@contextmanager
def _ended(events: Iterator[IngestEvent]) -> Generator[Iterator[IngestEvent]]:
    try:
        yield events
    finally:
        if isinstance(events, Generator):
            events.close()


@contextmanager
def stopped_by_interrupt(
    cli: CliContext, saying: str = "finishing the batch"
) -> Generator[threading.Event]:
    """Give what the first Ctrl-C sets; the second one ends at once."""
    stop = threading.Event()

    def ask(*_: object) -> None:
        stop.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)  # the second one is at once
        # Not click.echo: the interrupt may have come in the middle of one.
        if not cli.quiet and not cli.as_json:
            sys.stderr.write(f"\n{saying}...\n")

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


def _print_json(cli: CliContext, events: Iterator[IngestEvent]) -> IngestReport:
    from kb_core import wire

    report = None
    for event in events:
        report = event.report or report
        cli.print_json(wire.ingest_event(event))
    known = _given(report)
    cli.print_json(wire.ingest_report(known))
    return known


def _draw(cli: CliContext, events: Iterator[IngestEvent]) -> IngestReport:
    report = None
    with _line(cli) as line:
        for event in events:
            report = event.report or report
            line.show(event)
    return _given(report)


class ProgressLine:
    """Turns events into what ``write`` puts on stderr. Any thread may ``refresh``."""

    def __init__(
        self,
        write: Callable[[str], None],
        *,
        is_live: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._write = write
        self._is_live = is_live
        self._clock = clock
        self._lock = threading.Lock()
        self._progress = Progress(began=clock())
        self._drawn_at = float("-inf")
        self._is_drawn = False

    def show(self, event: IngestEvent) -> None:
        """Take an event in; draw if there is something new and it is time to."""
        with self._lock:
            now, before = self._clock(), self._progress
            self._progress = advance(before, event, now)
            pause = _DRAW_EVERY_S if self._is_live else _PLAIN_EVERY_S
            if _is_news(before, self._progress) or now - self._drawn_at >= pause:
                self._draw()

    def refresh(self) -> None:
        """Draw the line again, with the time that has passed."""
        with self._lock:
            self._draw()

    def clear(self) -> None:
        """Take the line away."""
        with self._lock:
            if self._is_live and self._is_drawn:
                self._write(_ERASE)
                self._is_drawn = False

    def _draw(self) -> None:
        self._drawn_at = self._clock()
        columns = terminal_width() - 1
        line = self._line(columns)
        if line and self._is_live:
            self._write(_ERASE + shorten(line, columns))
            self._is_drawn = True
        elif line:
            self._write(line + "\n")

    def _line(self, columns: int) -> str:
        progress, now = self._progress, self._clock()
        if progress.root:
            return f"scanning {printable(progress.root)}"
        if progress.stage not in _VERBS or not progress.total:
            return ""
        share = progress.share or 0.0
        drawn = bar(share, _CELLS)
        amount = f"{progress.done:,}/{count(progress.total, progress.noun)}"
        parts = [_VERBS[progress.stage], drawn, f"{share:4.0%}", amount, *_speed(progress, now)]
        room = columns - len("  ".join(parts)) - 2
        if not self._is_live or (progress.running and room < _PATH_COLUMNS):
            parts.remove(drawn)  # it says what the percentage says; the file matters more
            room += len(drawn) + 2
        return "  ".join([*parts, *_file(progress, now, room)])


def _is_news(before: Progress, after: Progress) -> bool:
    """Say whether a folder is begun, or something with an end that was not seen coming."""
    if after.root:
        return after.root != before.root
    if after.stage == "scanned":
        return after.total > before.total
    return _VERBS.get(after.stage) != _VERBS.get(before.stage)


def _speed(progress: Progress, now: float) -> list[str]:
    speed = progress.speed(now)
    if speed is None:
        return []
    rate = [f"{speed.rate:,.1f}/s"] if speed.rate >= _LEAST_RATE else []
    return [*rate, f"{_estimate(speed.left_s)} left"]


def _file(progress: Progress, now: float, room: int) -> list[str]:
    """Name the file that has been worked on the longest, within *room* columns."""
    slow = progress.slowest
    if slow is None:
        return []
    spent = now - slow.since
    words = [slow.phase, "", slow.how_far, f"{spent:.0f} s" if spent >= 1 else ""]
    taken = len(" ".join(filter(None, words))) + 1
    words[1] = shorten(printable(slow.path), max(8, room - taken), front=True)
    return [" ".join(filter(None, words))]


def _estimate(seconds: float) -> str:
    """Return a time as precisely as it is known."""
    whole = math.ceil(seconds)
    return f"{whole} s" if whole < _MINUTE else duration(whole)


def open_place(cli: CliContext, place: Place, *, readonly: bool) -> KnowledgeBase:
    """Open a folder that is asked; what its first index is at is drawn on stderr.

    *readonly* is of the knowledge base: a cache is written unless the person forbids it.
    """
    if place.source is not None:
        cli.note(f"searching {printable(place.told)}")
        return place.open(readonly=readonly)
    write, is_live = _stderr(cli)
    line = ProgressLine(write, is_live=is_live)

    def hear(event: IngestEvent | str) -> None:
        if isinstance(event, str):
            cli.note(event)
        elif event.report is not None:
            line.clear()
            _say_indexed(cli, event.report)
        else:
            line.show(event)

    return place.open(readonly=cli.is_readonly, hear=hear)


def _say_indexed(cli: CliContext, report: IngestReport) -> None:
    """Say what was read of a folder, where a person may have waited for it."""
    changed = sum(report.counts.get(kind, 0) for kind in ("new", "updated", "deleted", "moved"))
    if changed:
        cli.note(
            f"read {count(changed, 'new or changed file')}, {duration(report.duration_ms / 1000)}"
        )


@contextmanager
def _line(cli: CliContext) -> Generator[ProgressLine]:
    """Draw on stderr as far as that is wanted; the seconds go on while a file takes long."""
    write, is_live = _stderr(cli)
    line = ProgressLine(write, is_live=is_live)
    finished = threading.Event()
    ticker = threading.Thread(target=_tick, args=(line, finished), daemon=True)
    if is_live:
        ticker.start()
    try:
        yield line
    finally:
        finished.set()
        if is_live:
            ticker.join()
        line.clear()


@contextmanager
def passages_taken(cli: CliContext) -> Generator[Callable[[int], None]]:
    """Draw on stderr how many passages were taken, where somebody looks."""
    write, is_live = _stderr(cli)

    def hear(taken: int) -> None:
        write(f"{_ERASE}{taken:,} passages" if is_live else f"{taken:,} passages\n")

    try:
        yield hear
    finally:
        if is_live:
            write(_ERASE)


def _stderr(cli: CliContext) -> tuple[Callable[[str], None], bool]:
    """Return what draws on stderr as far as that is wanted, and whether lines are drawn over."""
    is_plain = cli.environ.get("KEBAB_PROGRESS", "").strip().lower() == "plain"
    is_live = sys.stderr.isatty() and not is_plain and not cli.quiet

    def write(text: str) -> None:
        if not cli.quiet and (is_live or is_plain):
            echo(text, err=True, nl=False, color=cli.color)

    return write, is_live


def _tick(line: ProgressLine, finished: threading.Event) -> None:
    while not finished.wait(_REFRESH_S):
        line.refresh()


def _given(report: IngestReport | None) -> IngestReport:
    assert report is not None, "the last event of long work has its report"  # noqa: S101
    return report


_KINDS = {
    "new": "new",
    "updated": "updated",
    "moved": "moved",
    "unchanged": "unchanged",
    "skipped": "skipped",
    "deleted": "deleted",
    "error": "failed",
}
_FAILURES = 5
_SLOW_MS = 1000
_OTHER_SHARE = 0.1
"""Less than that is not worth a name."""


def _report(report: IngestReport, *, is_dry_run: bool = False) -> Iterator[str]:
    yield _headline(report, is_dry_run=is_dry_run)
    yield from _expected(report)
    yield from _skips(report)
    yield from _failures(report)
    yield from _slowest(report)
    yield from _embeddings(report)
    yield from _time(report)


def _documents(report: IngestReport) -> Iterator[str]:
    for item in report.items or ():
        named = f" ({item.doc_id})" if item.doc_id else ""
        yield f"{item.kind}: {printable(item.doc_path)}{named}"


def _headline(report: IngestReport, *, is_dry_run: bool) -> str:
    mark = "aborted: " if report.aborted else "dry run: " if is_dry_run else ""
    spent = duration(report.duration_ms / 1000)
    counts = {word: report.counts.get(kind, 0) for kind, word in _KINDS.items()}
    if not report.scanned and not any(counts.values()):  # embed, or no source has a file
        done = count(report.embedded, "embedding") if report.embedded else "nothing to do"
        return f"{mark}{done} in {spent}"
    done = ", ".join(f"{n:,} {word}" for word, n in counts.items() if n) or "nothing to do"
    seen = count(report.scanned, "file")
    # An ignored folder is one row, and no file.
    folders = sum(counts.values()) - counts["deleted"] - report.scanned
    if folders > 0:
        seen += f" and {count(folders, 'ignored folder')}"
    return f"{mark}{seen} in {spent}: {done}"


def _time(report: IngestReport) -> Iterator[str]:
    """Yield how long each phase took; what several workers did at once is more than the whole."""
    if not report.phases_ms:
        return
    phases = dict(report.phases_ms)
    rest = report.duration_ms - sum(phases.values())
    if rest > report.duration_ms * _OTHER_SHARE:
        phases["other"] = rest
    spent = ", ".join(f"{name} {duration(ms / 1000)}" for name, ms in phases.items())
    yield f"time: {spent}{', some of it at once' if rest < 0 else ''}"


def _expected(report: IngestReport) -> Iterator[str]:
    """Yield what a run would read, by what, and about how long that takes."""
    if not report.expected:
        return
    rows = [
        (
            row["files"],
            row["media"],
            bytes_text(row["bytes"]),
            row["parser"],
            duration(row["seconds"]),
        )
        for row in report.expected
    ]
    yield "to read"
    yield from ("  " + line for line in table(("FILES", "MEDIUM", "SIZE", "BY", "ABOUT"), rows))
    yield f"about {duration(sum(row['seconds'] for row in report.expected))} in all"


def _skips(report: IngestReport) -> Iterator[str]:
    by_size = sorted(report.skipped_by_reason.items(), key=lambda pair: (-pair[1], pair[0]))
    rows = [
        (n, reason, ", ".join(map(printable, report.skip_examples.get(reason, ()))))
        for reason, n in by_size
    ]
    if rows:
        yield "skipped"
        yield from ("  " + line for line in table(("FILES", "REASON", "SUCH AS"), rows))


def _failures(report: IngestReport) -> Iterator[str]:
    failed = [item for item in report.items or () if item.kind == "error"]
    if failed:
        yield "failed"
    for item in failed[:_FAILURES]:
        yield f"  {printable(item.doc_path)}: {flat(str((item.error or {}).get('message', '')))}"
    if len(failed) > _FAILURES:
        yield f"  and {len(failed) - _FAILURES:,} more"


def _slowest(report: IngestReport) -> Iterator[str]:
    slow = [row for row in report.slowest if row["duration_ms"] >= _SLOW_MS]
    if slow:
        yield "slowest"
        rows = [(duration(row["duration_ms"] / 1000), row["doc_path"]) for row in slow]
        yield from ("  " + line for line in table(("TIME", "PATH"), rows))


def _embeddings(report: IngestReport) -> Iterator[str]:
    chunks = sum(item.chunk_count or 0 for item in report.items or () if item.kind != "unchanged")
    parts = [count(chunks, "chunk")] if chunks else []
    if report.embedded and report.scanned:
        parts.append(count(report.embedded, "embedding"))
    if report.embeddings_missing:
        parts.append(f"{report.embeddings_missing:,} still without an embedding")
    if parts:
        yield ", ".join(parts)


def _next_step(report: IngestReport) -> str:
    if report.aborted:
        return "the same command goes on where this one stopped"
    if report.counts.get("error"):
        return "kebab status --state failed"
    if "scan" in report.phases_ms and not report.scanned and not report.warnings:
        return "kebab add PATH, if a folder is missing"
    if report.embeddings_missing:
        return "kebab embed, so that search finds by meaning, too"
    return 'kebab search "..."'
