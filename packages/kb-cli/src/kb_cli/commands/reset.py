"""``kebab reset``: delete what kebab keeps, or a part of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from kb_app.shown import bytes_text, count, printable
from kb_cli._command import command as make
from kb_cli._context import CliContext, pass_cli
from kb_cli._text import pad
from kb_core.errors import InvalidInput

__all__ = ["command"]

_SCOPES = {
    "all": "Everything: data, indexes, and the configuration.",
    "data-only": "Documents, indexes and vectors; not the configuration.",
    "index-only": "Indexes and vectors; they are rebuilt from the documents.",
    "vector-only": "Vector files; `kebab embed` restores them from the store.",
    "config-only": "The configuration file.",
    "orphans-only": "Documents of sources that are not configured any more.",
}


@make("reset", example="kebab reset --index-only")
@click.option("--yes", is_flag=True, help="Do not ask.")
@pass_cli
def command(cli: CliContext, /, yes: bool, **flags: bool) -> None:
    """Delete what kebab keeps, or a part of it.

    Shows first what would go, and asks. Your own files are never touched.
    """
    cli.writes("reset")
    scope = _scope([name.replace("_", "-") for name, given in flags.items() if given])
    if not yes and (cli.as_json or not cli.can_ask()):
        raise InvalidInput(
            "nobody can be asked here whether to delete",
            hint=f"kebab reset --{scope} --yes",
            details={"field": "yes"},
        )
    with cli.open() as kb:
        if not yes:
            cli.note(*_lines(kb.reset(scope, dry_run=True)))
            if not click.confirm("delete this?", err=True):
                cli.note("nothing was deleted")
                return
        done = kb.reset(scope, dry_run=False)
    if cli.as_json:
        cli.print_json(done)
    else:
        click.echo("\n".join(_lines(done)))


for _name, _help in reversed(_SCOPES.items()):
    command.params.insert(0, click.Option([f"--{_name}"], is_flag=True, help=_help))


def _scope(given: list[str]) -> str:
    if len(given) == 1:
        return given[0]
    scopes = ", ".join(f"--{name}" for name in _SCOPES)
    raise InvalidInput(
        f"{' and '.join(f'--{name}' for name in given) or 'no scope'} given, one expected",
        hint=f"one of {scopes}",
        details={"field": "scope", "given": given, "known": list(_SCOPES)},
    )


def _lines(report: Mapping[str, Any]) -> Iterator[str]:
    gone = report["removed"]
    verb = "would delete" if report["dry_run"] else "deleted"
    for row in gone:
        yield f"{pad(bytes_text(row['bytes']), 10, right=True)}  {printable(row['path'])}"
    documents = f", {count(report['documents'], 'document')}" if "documents" in report else ""
    total = bytes_text(sum(row["bytes"] for row in gone))
    yield f"{verb} {count(len(gone), 'file or folder', 'files and folders')}, {total}{documents}"
