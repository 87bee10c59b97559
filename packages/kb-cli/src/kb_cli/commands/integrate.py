"""``kebab integrate``: make a program that hosts language models start ``kebab mcp``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kb_app.shown import printable
from kb_cli._context import CliContext
from kb_cli._declared import OneOf, argument, command, completed_by, option
from kb_cli._integrate import HOSTS, Host
from kb_cli._launch import own_environment, own_program
from kb_cli._text import echo

if TYPE_CHECKING:
    from kb_cli._integrate import Change, Registration

__all__ = ["integrate"]

_EXAMPLE = """
kebab integrate claude-code
kebab integrate cursor --write
kebab integrate vscode --project . --write
kebab integrate cursor --remove --write
"""


@command("integrate", example=_EXAMPLE)
@argument("host", type=OneOf(list(HOSTS)))
@option("--write", is_flag=True, help="Write it; without this, nothing is.")
@option(
    "--project",
    metavar="DIR",
    shell_complete=completed_by("dir"),
    help="Register it for this folder alone, in files that its people can share.",
)
@option("--no-skill", is_flag=True, help="Leave out the skill file.")
@option("--remove", is_flag=True, help="Take the registration and the skill out again.")
def integrate(
    cli: CliContext, host: str, write: bool, project: str | None, no_skill: bool, remove: bool
) -> None:
    """Register the server for language models with a host.

    Shows the files that it would change and what it would put into them. Files that are
    there keep all that they hold; what cannot be read for sure is left alone.

    Hosts hand on little of their environment, so what of yours says where things are goes
    into the registration: KEBAB_ and XDG_ variables. Not into files that others share.
    """
    from kb_app import paths
    from kb_cli import _integrate as planning

    if write:
        cli.writes("integrate --write")
    folder = paths.path_given("project", project, cli.environ) if project is not None else None
    registration = _registration(cli, in_project=folder is not None)

    def locate(text: str) -> Path:
        return paths.resolve(text, base=None, environ=cli.environ)

    site = planning.Site(folder, locate, sys.platform)
    if remove:
        changes = planning.plan_removal(HOSTS[host], site)
    else:
        if cli.config_path is not None:
            _ = cli.config  # a server without it would fail at every start
        changes = planning.plan(HOSTS[host], registration, site)
    changes = [change for change in changes if not (no_skill and change.kind == "skill")]
    if write:
        planning.write(changes)
    _show(cli, host, registration, changes, written=write, is_removal=remove)


def _registration(cli: CliContext, *, in_project: bool) -> Registration:
    from kb_cli._integrate import Registration

    config = ("--config", str(cli.config_path)) if cli.config_path else ()
    program = own_program(cli.environ, in_project=in_project)
    known = {} if in_project else own_environment(cli.environ)
    return Registration(program, (*config, "mcp", "--format", "text"), known)


def _show(
    cli: CliContext,
    name: str,
    registration: Registration,
    changes: Sequence[Change],
    *,
    written: bool,
    is_removal: bool,
) -> None:
    if cli.as_json:
        from kb_core import wire

        files = [(change.kind, str(change.path), change.action) for change in changes]
        entry = registration.entry(HOSTS[name])
        cli.print_json(
            wire.integration_report(name, entry, files, written=written, removal=is_removal)
        )
        return
    for change in changes:
        verb = _verb(change, written=written, is_removal=is_removal)
        echo(f"{verb} {printable(str(change.path))}")
        if not written and not is_removal and change.action != "unchanged":
            _show_content(HOSTS[name], registration, change)
    for change in changes:
        if change.left:
            then = "" if is_removal else "; delete it and write again for that of this version"
            cli.note(change.left + then)
    if written and not is_removal:
        cli.note(f"next: {HOSTS[name].then}")
    elif not written and any(change.action != "unchanged" for change in changes):
        cli.note("nothing was written; add --write to do it")


def _show_content(host: Host, registration: Registration, change: Change) -> None:
    from kb_cli._integrate import snippet

    text = snippet(host, registration) if change.kind == "registration" else change.after or ""
    for line in text.splitlines():
        echo(f"    {printable(line.expandtabs(4))}".rstrip())


def _verb(change: Change, *, written: bool, is_removal: bool) -> str:
    if change.left:
        return "left as it is:"
    if change.action == "unchanged":
        return "nothing of ours in" if is_removal else "up to date:"
    if is_removal and change.action == "update":
        return "taken out of" if written else "would take it out of"
    verbs = {
        "create": ("would create", "created"),
        "update": ("would add to", "updated"),
        "remove": ("would remove", "removed"),
    }
    return verbs[change.action][written]
