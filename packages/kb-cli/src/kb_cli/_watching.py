"""What a watch tells while it goes on: a line for each run that found something, or JSON lines."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from kb_app.shown import count, duration, flat, local_time, printable
from kb_cli._context import CliContext
from kb_cli._follow import stopped_by_interrupt
from kb_cli._text import echo

if TYPE_CHECKING:
    from kb_core.ingest import IngestEvent, IngestReport

__all__ = ["change_service", "show_watch"]

_NAMED = 5
_NEWS = ("new", "updated", "moved", "deleted", "error")


def show_watch(cli: CliContext, *, embed: bool, poll_secs: float | None) -> None:
    """Follow the sources until Ctrl-C or SIGTERM, and tell what is indexed."""
    with _stopped(cli) as stop, cli.open() as kb:
        if not kb.sources():
            cli.note("there is no source yet: 'kebab add PATH' adds one, and it is followed then")
        else:
            cli.note("following the sources; Ctrl-C ends it")
        with closing(kb.watch(stop=stop, embed=embed, poll_secs=poll_secs)) as happenings:
            for happening in happenings:
                _tell(cli, happening)


@contextmanager
def _stopped(cli: CliContext) -> Generator[threading.Event]:
    """Give what Ctrl-C sets, and SIGTERM, by which services are ended."""
    with stopped_by_interrupt(cli, "ending") as stop:
        try:
            before = signal.signal(signal.SIGTERM, lambda *_: stop.set())
        except ValueError:  # not the main thread, which alone hears signals
            yield stop
            return
        try:
            yield stop
        finally:
            signal.signal(signal.SIGTERM, before)


def _tell(cli: CliContext, happening: IngestEvent | str) -> None:
    if isinstance(happening, str):
        cli.note(printable(happening))
    elif cli.as_json:
        from kb_core import wire

        cli.print_json(wire.ingest_event(happening))
        if happening.report is not None:
            cli.print_json(wire.ingest_report(happening.report))
    elif happening.report is not None:
        echo("\n".join(_lines(happening, happening.report)))


def _lines(event: IngestEvent, report: IngestReport) -> Iterator[str]:
    """Yield what was done and when, then the names of a few files."""
    names = {"error": "failed"}
    counts = {kind: report.counts.get(kind, 0) for kind in _NEWS}
    done = [f"{n:,} {names.get(kind, kind)}" for kind, n in counts.items() if n]
    if report.embedded:
        done.append(count(report.embedded, "embedding"))
    mark = "aborted: " if report.aborted else ""
    spent = duration(report.duration_ms / 1000)
    yield f"{local_time(event.at.isoformat())}  {mark}{', '.join(done) or 'nothing'} in {spent}"
    changed = [item for item in report.items or () if item.kind in _NEWS]
    for item in changed[:_NAMED]:
        why = f": {flat(str((item.error or {}).get('message', '')))}" if item.error else ""
        yield f"  {names.get(item.kind, item.kind)} {printable(item.doc_path)}{why}"
    if len(changed) > _NAMED:
        yield f"  and {len(changed) - _NAMED:,} more"


def change_service(cli: CliContext, options: Sequence[str], *, is_removal: bool) -> None:
    """Write, or remove, the service that runs ``kebab watch`` with *options*; say what to run."""
    from kb_cli._launch import own_environment, own_program
    from kb_cli._service import install, service_of, uninstall

    config = cli.config_path
    named = ("--config", str(config)) if config else ()
    command = (own_program(cli.environ), *named, "watch", *options)
    known = own_environment(cli.environ)
    service = service_of(command, known, cli.environ, config, sys.platform)
    done = uninstall(service) if is_removal else install(service)
    if cli.as_json:
        from kb_core import wire

        entry = {"command": command[0], "args": [*command[1:]], **({"env": known} if known else {})}
        files = [("registration", str(service.path), done)]
        cli.print_json(
            wire.integration_report(service.manager, entry, files, written=True, removal=is_removal)
        )
        return
    words = {"create": "wrote", "update": "wrote", "remove": "removed", "unchanged": "up to date:"}
    word = "there is no" if is_removal and done == "unchanged" else words[done]
    echo(f"{word} {printable(str(service.path))}")
    if done != "unchanged" or not is_removal:
        lines = service.end if is_removal else service.start
        cli.note("to end it, run:" if is_removal else "to start it, run:")
        cli.note(*(f"  {printable(line)}" for line in lines))
