"""Following long work: its events on the terminal or as JSON lines, then its report.

Ctrl-C once lets the batch at hand finish and reports what was done; twice ends at once.
The work itself decides when it can stop: it is told by an event.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

import click

from kb_cli._context import CliContext
from kb_cli._progress import Progress

if TYPE_CHECKING:
    from kb_app.knowledge_base import KnowledgeBase
    from kb_core.ingest import IngestEvent, IngestReport

__all__ = ["Start", "follow"]

Start: TypeAlias = "Callable[[KnowledgeBase, threading.Event], Iterator[IngestEvent]]"

_REFRESH_S = 0.5


def follow(cli: CliContext, start: Start) -> IngestReport:
    """Run the work that *start* starts, show its events, and return its report."""
    with (
        _stopped_by_interrupt(cli) as stop,
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
def _stopped_by_interrupt(cli: CliContext) -> Generator[threading.Event]:
    stop = threading.Event()

    def ask(*_: object) -> None:
        stop.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)  # the second one is at once
        # Not click.echo: the interrupt may have come in the middle of one.
        if not cli.quiet and not cli.as_json:
            sys.stderr.write("\nfinishing the batch...\n")

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
    with _progress(cli) as progress:
        for event in events:
            report = event.report or report
            progress.show(event)
    return _given(report)


@contextmanager
def _progress(cli: CliContext) -> Generator[Progress]:
    """Draw on stderr as far as that is wanted; the seconds go on while a file takes long."""
    is_plain = cli.environ.get("KEBAB_PROGRESS", "").strip().lower() == "plain"
    is_live = sys.stderr.isatty() and not is_plain and not cli.quiet

    def write(text: str) -> None:
        if not cli.quiet and (is_live or is_plain):
            click.echo(text, err=True, nl=False, color=cli.color)

    progress = Progress(write, is_live=is_live)
    finished = threading.Event()
    ticker = threading.Thread(target=_tick, args=(progress, finished), daemon=True)
    if is_live:
        ticker.start()
    try:
        yield progress
    finally:
        finished.set()
        if is_live:
            ticker.join()
        progress.clear()


def _tick(progress: Progress, finished: threading.Event) -> None:
    while not finished.wait(_REFRESH_S):
        progress.refresh()


def _given(report: IngestReport | None) -> IngestReport:
    assert report is not None, "the last event of long work has its report"  # noqa: S101
    return report
