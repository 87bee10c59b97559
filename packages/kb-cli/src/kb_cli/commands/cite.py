"""``kebab cite``: what a citation points at, and whether it still says the same."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from kb_app.shown import flat, printable
from kb_cli._command import command as make
from kb_cli._context import CliContext, pass_cli
from kb_cli._fetched import show
from kb_cli._text import shorten
from kb_core.errors import InvalidInput, IoError

if TYPE_CHECKING:
    from kb_app.editors import FilePlace

__all__ = ["command"]

_EXAMPLE = """
kebab cite 'notes/search.md#L12-L34'
kebab cite 'notes/search.md#L12-L34' --open
kebab cite verify 'notes/search.md#L12-L34' 'src/app.py#L3'
kebab --json search "how are chunks cut" | kebab cite verify -
"""
_NOT_THE_SAME = 3
_VERIFY = "verify"
_COLORS = {"unchanged": "green", "moved": "cyan", "changed": "yellow", "gone": "red"}


@make("cite", example=_EXAMPLE)
@click.argument("words", metavar="[verify] URI...", nargs=-1)
@click.option(
    "--open", "opens", is_flag=True, help="Open the file at the place: $VISUAL, $EDITOR, a viewer."
)
@click.option("--source", metavar="ID", help="The source, where several have the same path.")
@pass_cli
@click.pass_context
def command(
    ctx: click.Context, cli: CliContext, words: tuple[str, ...], opens: bool, source: str | None
) -> None:
    """Print what a citation points at, or verify that it still says the same.

    A URI is a path, relative to its source, and a place: notes/a.md#L12-L34. What is
    printed is the text as it was indexed.

    'verify' compares with the files as they are now and says of each citation: unchanged,
    moved, changed or gone. With - they are read from standard input, one a line: URIs, or
    JSON with a content_hash, as citations, hits and responses of a search have it. Exits 3 if
    anything is changed or gone.
    """
    if words[:1] == (_VERIFY,):
        _refuse(opens=opens)
        _verify(ctx, cli, words[1:], source)
    elif opens:
        with cli.open() as kb:
            place = kb.locate(_only(words), source=source)
        _open(cli, place)
    else:
        with cli.open() as kb:
            found = kb.cite(_only(words), source=source)
        show(cli, found)
        if "effective_end" in found and found["effective_end"] < found["line_start"]:
            cli.warn(f"{found['doc_path']} has no line {found['line_start']}")


def _only(words: tuple[str, ...]) -> str:
    if len(words) == 1:
        return words[0]
    raise InvalidInput(
        f"one URI is expected, not {len(words)}" if words else "the URI of a citation is missing",
        hint="kebab cite 'notes/a.md#L12-L34'",
        details={"field": "uri"},
    )


def _refuse(*, opens: bool) -> None:
    if opens:
        raise InvalidInput(
            "verify opens nothing: --open goes with one URI",
            hint="kebab cite 'notes/a.md#L12-L34' --open",
            details={"field": "open"},
        )


def _verify(
    ctx: click.Context, cli: CliContext, words: tuple[str, ...], source: str | None
) -> None:
    if not words:
        raise InvalidInput(
            "no citation to verify",
            hint="kebab cite verify 'notes/a.md#L12-L34', or - for standard input",
            details={"field": "uri"},
        )
    items = list(_items(words))
    with cli.open() as kb:
        found = kb.verify_citations(items, source=source)
    if cli.as_json:
        cli.print_json(found)
    else:
        click.echo("\n".join(_lines(found)), color=cli.color)
    if not found["ok"]:
        ctx.exit(_NOT_THE_SAME)


def _items(words: Iterable[str]) -> Iterator[str | dict[str, Any]]:
    for word in words:
        if word == "-":
            yield from map(_item, _stdin_lines())
        else:
            yield word


def _stdin_lines() -> list[str]:
    data = b"" if sys.stdin is None else sys.stdin.buffer.read()
    try:
        lines = data.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise InvalidInput("standard input is not UTF-8", details={"field": "stdin"}) from error
    return [line.strip() for line in lines if line.strip()]


def _item(line: str) -> str | dict[str, Any]:
    if not line.startswith("{"):
        return line
    try:
        found: dict[str, Any] = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"{shorten(line, 40)!r} is not JSON in one line",
            hint="write one URI, one citation or one search response a line",
            details={"field": "stdin", "error": str(error)},
        ) from error
    return found


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    longest = max(map(len, _COLORS))
    for check in found["checks"]:
        status = check["status"]
        word = click.style(f"{status:<{longest}}", fg=_COLORS[status])
        now = check.get("now", {}).get("uri", check["uri"])
        moved = f" → {flat(now)}" if now != check["uri"] else ""
        detail = f"  ({flat(check['detail'])})" if check.get("detail") else ""
        yield f"{word}  {flat(check['uri'])}{moved}{detail}"
        yield from ("    " + printable(line, keep="\t") for line in _diff_lines(check))
    summary = found["summary"]
    parts = ", ".join(f"{summary[name]:,} {name}" for name in _COLORS if summary[name])
    yield f"{summary['total']:,} verified{f': {parts}' if parts else ''}"


def _diff_lines(check: Mapping[str, Any]) -> list[str]:
    return str(check.get("diff", "")).removesuffix("\n").split("\n") if "diff" in check else []


def _open(cli: CliContext, place: FilePlace) -> None:
    from kb_app.editors import open_command

    words = open_command(place, cli.environ)
    sys.stdout.flush()
    try:
        done = subprocess.run(words, check=False)  # noqa: S603 - words, no shell; the person's own
    except OSError as error:
        raise IoError(
            f"cannot run {words[0]!r}: {(error.strerror or str(error)).lower()}",
            hint="set VISUAL or EDITOR to the command of an editor",
            details={"command": words},
        ) from error
    if done.returncode:
        raise IoError(f"{words[0]!r} ended with {done.returncode}", details={"command": words})
