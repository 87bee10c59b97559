"""``kebab doctor``: is everything well, and what to do if not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from kb_app.shown import flat
from kb_cli._command import command as make
from kb_cli._context import CliContext, pass_cli
from kb_cli._text import pad, width

__all__ = ["command"]

_UNHEALTHY = 3


@make("doctor", example="kebab doctor")
@click.option("--deep", is_flag=True, help="Open the store, too, and compare it with the index.")
@pass_cli
@click.pass_context
def command(ctx: click.Context, cli: CliContext, deep: bool) -> None:
    """Check that everything is well, and say what to do.

    Exits 3 if something is not.
    """
    with cli.open() as kb:
        found = kb.doctor(deep=deep)
    if cli.as_json:
        cli.print_json(found)
    else:
        click.echo("\n".join(_lines(found)))
    if not found["ok"]:
        ctx.exit(_UNHEALTHY)


def _lines(doctor: Mapping[str, Any]) -> Iterator[str]:
    checks = doctor["checks"]
    longest = max((width(check["name"]) for check in checks), default=0)
    for check in checks:
        mark = click.style(" ok ", fg="green") if check["ok"] else click.style("FAIL", fg="red")
        yield f"{mark}  {pad(check['name'], longest)}  {flat(check['detail'])}"
        if check.get("hint"):
            yield f"{' ' * (longest + 8)}hint: {flat(check['hint'])}"
    bad = sum(not check["ok"] for check in checks)
    yield f"{bad} of {len(checks)} checks failed" if bad else "everything is well"
