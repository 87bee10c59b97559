"""``kebab status``: what became of every file, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from kb_app.shown import bytes_text, count, local_time
from kb_cli._command import command as make
from kb_cli._context import CliContext, pass_cli
from kb_cli._text import table

__all__ = ["command"]

_STATES = ("indexed", "skipped", "failed", "pending", "deleted")


@make("status", example="kebab status 'notes/**' --state failed")
@click.argument("path_glob", metavar="[PATH_GLOB]", required=False)
@click.option("--state", type=click.Choice(_STATES), help="Only files in this state.")
@pass_cli
def command(cli: CliContext, path_glob: str | None, state: str | None) -> None:
    """Show what became of every file, and why.

    Every file that a run of ingest saw is here, the skipped and the failed ones too.
    """
    with cli.open() as kb:
        found = kb.status(path_glob, state)
    if cli.as_json:
        cli.print_json(found)
    else:
        click.echo("\n".join(_lines(found)))


def _lines(status: Mapping[str, Any]) -> Iterator[str]:
    if rows := [_row(file) for file in status["files"]]:
        yield from table(("STATE", "CHANGED", "SIZE", "SOURCE", "PATH", "WHY"), rows)
    yield from _coverage(status["coverage"])


def _row(file: Mapping[str, Any]) -> tuple[object, ...]:
    why = ": ".join(filter(None, (file.get("reason"), file.get("detail"))))
    when = file.get("changed_at") or file.get("indexed_at") or file["mtime"]
    place = (file["source_id"], file["doc_path"])
    return file["state"], local_time(when), bytes_text(file["size"]), *place, why


def _coverage(totals: Mapping[str, Any]) -> Iterator[str]:
    states = ", ".join(f"{totals[state]:,} {state}" for state in _STATES if totals.get(state))
    yield f"{count(totals['files'], 'file')}{f': {states}' if states else ''}"
    if reasons := totals.get("by_reason"):
        yield "skipped: " + ", ".join(f"{n:,} {reason}" for reason, n in sorted(reasons.items()))
    if "chunks" in totals and "embedded" in totals:
        yield f"{count(totals['chunks'], 'chunk')}, {totals['embedded']:,} embedded"
