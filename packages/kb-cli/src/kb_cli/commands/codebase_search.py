"""``kebab codebase-search``: several questions about code, one list for a language model."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from kb_cli._command import command as make
from kb_cli._context import CliContext, pass_cli
from kb_core.errors import InvalidInput

__all__ = ["command"]

_EXAMPLE = """
kebab codebase-search "error handling" "exception handling" --path src
echo '{"queries": ["error handling", "try catch"], "maxResults": 5}' | kebab codebase-search
"""


@make("codebase-search", example=_EXAMPLE)
@click.argument("queries", metavar="[QUERY]...", nargs=-1)
@click.option("--path", metavar="DIR", help="Only below this folder of its source.")
@click.option("--max-results", type=click.IntRange(1, 100), help="How many results in all.")
@pass_cli
def command(
    cli: CliContext, /, queries: tuple[str, ...], path: str | None, max_results: int | None
) -> None:
    """Search code for a language model, in one call.

    Each QUERY is searched for; what several of them find stands higher. Without any, the
    request is read from standard input, as one JSON object with query or queries; options
    then fill in what it leaves out.
    """
    request: dict[str, Any] = {"path": path, "maxResults": max_results}
    if queries:
        request["queries"] = list(queries)
    else:
        given = _request()
        request |= {name: value for name, value in given.items() if value is not None}
    with cli.open() as kb:
        response = kb.codebase_search(request)
    if cli.as_json:
        cli.print_json(response)
        return
    from kb_app.shown import printable
    from kb_core import wire

    click.echo(printable(wire.codebase_search_text(response), keep="\n\t"))


def _request() -> dict[str, Any]:
    """Return the object on standard input; without one, nothing is asked."""
    if sys.stdin is None or sys.stdin.isatty():
        return {}
    text = sys.stdin.buffer.read().decode("utf-8-sig", "replace")
    if not text.strip():
        return {}
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _bad(f"is not JSON: {error}") from None
    if not isinstance(given, dict):
        raise _bad("is not a JSON object")
    return given


def _bad(why: str) -> InvalidInput:
    return InvalidInput(
        f"the request on standard input {why}",
        hint='write {"query": "authentication validation", "path": "src/auth"}',
        details={"field": "stdin"},
    )
