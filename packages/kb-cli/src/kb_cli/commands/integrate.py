"""``kebab integrate``: make a program that hosts language models start ``kebab mcp``."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kb_app.shown import printable
from kb_cli._command import command, completed_by
from kb_cli._context import CliContext, pass_cli
from kb_cli._integrate import HOSTS, Host

if TYPE_CHECKING:
    from kb_cli._integrate import Change, Registration

__all__ = ["integrate"]

_EXAMPLE = """
kebab integrate claude-code
kebab integrate cursor --write
kebab integrate vscode --project . --write
"""


@command("integrate", example=_EXAMPLE)
@click.argument("host", type=click.Choice(list(HOSTS)))
@click.option("--write", is_flag=True, help="Write it; without this, nothing is.")
@click.option(
    "--project",
    metavar="DIR",
    shell_complete=completed_by("dir"),
    help="Register it for this folder alone, in files that its people can share.",
)
@click.option("--no-skill", is_flag=True, help="Leave out the skill file.")
@pass_cli
def integrate(cli: CliContext, host: str, write: bool, project: str | None, no_skill: bool) -> None:
    """Register the server for language models with a host.

    Shows the files that it would change and what it would put into them. Files that are
    there keep all that they hold; what cannot be read for sure is left alone.
    """
    from kb_app import paths
    from kb_cli import _integrate as planning

    if write:
        cli.writes("integrate --write")
    folder = paths.from_argument(project, cli.environ) if project is not None else None
    registration = _registration(cli, in_project=folder is not None)
    changes = planning.plan(
        HOSTS[host],
        registration,
        project=folder,
        locate=lambda text: paths.resolve(text, base=None, environ=cli.environ),
        platform=sys.platform,
    )
    changes = [change for change in changes if not (no_skill and change.kind == "skill")]
    if write:
        planning.write(changes)
    _show(cli, host, registration, changes, written=write)


def _registration(cli: CliContext, *, in_project: bool) -> Registration:
    from kb_cli._integrate import Registration

    config = ("--config", str(cli.config_path)) if cli.config_path else ()
    return Registration(_program(cli.environ, in_project=in_project), (*config, "mcp"))


def _program(environ: Mapping[str, str], *, in_project: bool) -> str:
    """Return how a host starts us: in full, since a desktop's PATH is not a shell's.

    A file that people share names the command alone, if a shell finds it.
    """
    found = shutil.which("kebab", path=environ.get("PATH"))
    if found and in_project:
        return "kebab"
    own = Path(sys.argv[0])
    return str(own.resolve()) if own.name in {"kebab", "kb"} and own.is_file() else found or "kebab"


def _show(
    cli: CliContext,
    name: str,
    registration: Registration,
    changes: Sequence[Change],
    *,
    written: bool,
) -> None:
    if cli.as_json:
        from kb_core import wire

        files = [(change.kind, str(change.path), change.action) for change in changes]
        entry = registration.entry(HOSTS[name])
        cli.print_json(wire.integration_report(name, entry, files, written=written))
        return
    for change in changes:
        click.echo(f"{_verb(change, written=written)} {printable(str(change.path))}")
        if not written and change.action != "unchanged":
            _show_content(HOSTS[name], registration, change)
    if written:
        cli.note(f"next: {HOSTS[name].then}")
    elif any(change.action != "unchanged" for change in changes):
        cli.note("nothing was written; add --write to do it")


def _show_content(host: Host, registration: Registration, change: Change) -> None:
    from kb_cli._integrate import snippet

    text = snippet(host, registration) if change.kind == "registration" else change.after
    click.echo("".join(f"    {printable(line)}".rstrip() + "\n" for line in text.splitlines()))


def _verb(change: Change, *, written: bool) -> str:
    if change.action == "unchanged":
        return "up to date:"
    verbs = {"create": ("would create", "created"), "update": ("would add to", "updated")}
    return verbs[change.action][written]
