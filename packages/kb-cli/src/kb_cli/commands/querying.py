"""``kebab sql``: questions in SQL over the store."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence

from kb_app.shown import count, printable
from kb_cli._context import CliContext, Shown
from kb_cli._declared import Real, Whole, argument, command, option
from kb_cli._stdin import binary
from kb_cli._text import echo, table
from kb_core.errors import InvalidInput

__all__ = ["sql"]

_WIDEST = 60

_EXAMPLES = """
kebab sql
kebab sql "SELECT media, count(*) AS documents FROM documents GROUP BY ALL"
kebab sql "SELECT path, reason FROM files WHERE state = 'skipped'" --csv
kebab sql "FROM tags" --jsonl --limit 100000
"""


@command("sql", example=_EXAMPLES)
@argument("statement", required=False, default="")
@option("--csv", "as_csv", is_flag=True, help="Print CSV, with a line of names.")
@option("--jsonl", is_flag=True, help="Print an object a line.")
@option("--limit", type=Whole(), default=1000, show_default=True, help="The most rows.")
@option(
    "--timeout", type=Real(), default=30.0, show_default=True, help="The most seconds it may take."
)
def sql(
    cli: CliContext, statement: str, as_csv: bool, jsonl: bool, limit: int, timeout: float
) -> None:
    """Ask the store in SQL, for reading alone.

    One SELECT, over the views that are listed without a STATEMENT. It reaches no file, no
    network and no setting. A command that writes is waited for.
    """
    if as_csv + jsonl + cli.as_json > 1:
        raise InvalidInput(
            "of --csv, --jsonl and --json, one can be had",
            hint="leave out the others",
            details={"field": "csv"},
        )
    if statement == "-":
        statement = binary().decode("utf-8", "replace")
    with cli.open(readonly=True) as kb:
        found = kb.sql(statement, limit=limit, seconds=timeout)
    if jsonl:
        for line in _objects(found):
            echo(line)
    elif as_csv:
        # As it is: click would take out what may be a colour.
        echo(_csv(found, is_safe=cli.has_terminal), nl=False, color=True)
    else:
        cli.show(found, _lines)
    if found["truncated"] and not cli.as_json:
        shown = len(found["rows"])
        why = "--limit" if shown >= limit else "ask for less of each, an answer has 32 MB at most"
        cli.note(f"there are more than these {count(shown, 'row')}: {why}")


def _lines(found: Shown) -> Iterator[str]:
    rows = [[_cell(value) for value in row] for row in found["rows"]]
    names = [printable(name) for name in found["columns"]]
    yield from table(names, rows, limit=dict.fromkeys(names, _WIDEST))
    yield count(len(rows), "row")


def _cell(value: object) -> object:
    """Return a value as a cell shows it; what is made of others as JSON."""
    return _json(value) if isinstance(value, list | dict) else value


def _csv(found: Shown, *, is_safe: bool) -> str:
    """Return CSV, of which no character commands a terminal where it goes to one."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    for row in [found["columns"], *found["rows"]]:
        values = [_json(v) if isinstance(v, list | dict | bool) else v for v in row]
        writer.writerow([printable(v) if is_safe and isinstance(v, str) else v for v in values])
    return written.getvalue()


def _objects(found: Shown) -> Iterator[str]:
    from kb_core import wire

    names = _apart(found["columns"])
    for row in found["rows"]:
        yield wire.dumps(dict(zip(names, row, strict=True)))


def _apart(names: Sequence[str]) -> list[str]:
    """Return names of which each is there once, as an object needs them."""
    made: list[str] = []
    for name in names:
        number, fresh = 1, name
        while fresh in made:
            number += 1
            fresh = f"{name}_{number}"
        made.append(fresh)
    return made


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
