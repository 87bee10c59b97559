"""``kebab fetch`` and ``kebab cite``: text as it stands in a source."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from kb_app.shown import count, flat, printable
from kb_cli._command import command, completed_by, subgroup
from kb_cli._context import CliContext, Shown, pass_cli
from kb_cli._options import in_option
from kb_cli._text import shorten
from kb_core.errors import InvalidInput, IoError

if TYPE_CHECKING:
    from kb_app.editors import FilePlace

__all__ = ["cite", "fetch"]

_TOKENS = click.option(
    "--max-tokens",
    metavar="N",
    type=click.IntRange(min=1),
    help="Print at most about this many tokens.",
)


@subgroup("fetch", example="kebab fetch span notes/search.md 12 34")
def fetch() -> None:
    """Print text exactly as it stands in a source.

    What is printed is taken: an id or its first eight characters, a path or its end, a path
    and a line (notes/a.md:12), a citation. What names several lists them.
    """


@command("chunk", example="kebab fetch chunk 5669ef18 --context 1\nkebab fetch chunk notes/a.md:12")
@click.argument("chunk_id", metavar="CHUNK", shell_complete=completed_by("document"))
@click.option(
    "--context",
    metavar="N",
    type=click.IntRange(min=0),
    default=0,
    help="Also print up to N chunks before and after it.",
)
@in_option
@pass_cli
def _chunk(cli: CliContext, chunk_id: str, context: int) -> None:
    """Print a chunk, perhaps with its neighbours."""
    with cli.open() as kb:
        result = kb.fetch_chunk(chunk_id, context=context)
    _show(cli, result)


@command("doc", example="kebab fetch doc notes/search.md --max-tokens 2000")
@click.argument("doc_id", metavar="DOC", shell_complete=completed_by("document"))
@_TOKENS
@in_option
@pass_cli
def _doc(cli: CliContext, doc_id: str, max_tokens: int | None) -> None:
    """Print the text of a document."""
    with cli.open() as kb:
        result = kb.fetch_doc(doc_id, max_tokens=max_tokens)
    _show(cli, result)


@command("span", example="kebab fetch span notes/search.md 12 34")
@click.argument("doc_id", metavar="DOC", shell_complete=completed_by("document"))
@click.argument("start", type=int)
@click.argument("end", type=int)
@_TOKENS
@in_option
@pass_cli
def _span(cli: CliContext, doc_id: str, start: int, end: int, max_tokens: int | None) -> None:
    """Print lines START to END of a document, both included, from 1."""
    with cli.open() as kb:
        result = kb.fetch_span(doc_id, start, end, max_tokens=max_tokens)
    _show(cli, result)


for _sub in (_chunk, _doc, _span):
    fetch.add_command(_sub)


_EXAMPLE = """
kebab cite 'notes/search.md#L12-L34'
kebab cite 'notes/search.md#L12-L34' --open
kebab cite verify 'notes/search.md#L12-L34' 'src/app.py#L3'
kebab --json search "how are chunks cut" | kebab cite verify -
"""
_NOT_THE_SAME = 3
_VERIFY = "verify"
_COLORS = {"unchanged": "green", "moved": "cyan", "changed": "yellow", "gone": "red"}


@command("cite", example=_EXAMPLE)
@click.argument(
    "words", metavar="[verify] URI...", nargs=-1, shell_complete=completed_by("document")
)
@click.option(
    "--open", "opens", is_flag=True, help="Open the file at the place: $VISUAL, $EDITOR, a viewer."
)
@click.option(
    "--source",
    metavar="ID",
    help="The source, where several have the same path.",
    shell_complete=completed_by("source"),
)
@in_option
@pass_cli
@click.pass_context
def cite(
    ctx: click.Context, cli: CliContext, words: tuple[str, ...], opens: bool, source: str | None
) -> None:
    """Print what a citation points at, or verify that it still says the same.

    A URI is a path, relative to its source, and a place: notes/a.md#L12-L34, or as hits are
    printed, notes/a.md:12. What is printed is the text as it was indexed.

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
        _show(cli, found)
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
    cli.show(found, _check_lines)
    if not found["ok"]:
        ctx.exit(_NOT_THE_SAME)


def _items(words: Iterable[str]) -> Iterator[str | dict[str, Any]]:
    for word in words:
        if word == "-":
            yield from map(_item, _stdin_lines())
        else:
            yield word


def _stdin_lines() -> list[str]:
    from kb_cli._stdin import binary

    try:
        lines = binary().decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise InvalidInput("standard input is not UTF-8", details={"field": "stdin"}) from error
    return [line.strip() for line in lines if line.strip()]


def _item(line: str) -> str | dict[str, Any]:
    if not line.startswith("{"):
        return line
    from kb_cli._stdin import NotJson, parsed

    try:
        found = parsed(line.encode("utf-8", "surrogateescape"))
    except NotJson as error:
        raise InvalidInput(
            f"{shorten(line, 40)!r} is not JSON in one line",
            hint="write one URI, one citation or one search response a line",
            details={"field": "stdin", "error": str(error)},
        ) from error
    return found if isinstance(found, dict) else line


def _check_lines(found: Shown) -> Iterator[str]:
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


def _diff_lines(check: Shown) -> list[str]:
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


def _show(cli: CliContext, result: Shown) -> None:
    """Print fetch_result.v1; what was cut or is stale is told on stderr."""
    if cli.as_json:
        cli.print_json(result)
        return
    for text in _parts(result):
        # Verbatim into a file or a pipe; a terminal must not obey what a document says.
        click.echo(printable(text, keep="\n\t") if sys.stdout.isatty() else text)
    if result["truncated"]:
        cli.note(
            f"cut: {count(result.get('omitted_chars', 0), 'character')} left out; "
            "raise --max-tokens for more"
        )
    flags = result.get("flags") or result.get("chunk", {}).get("flags")
    if flags:
        cli.note(f"flags: {', '.join(map(flat, flags))}")
    if result["stale"]:
        cli.note("stale: the file has changed since, or was not checked for long")


def _parts(result: Shown) -> Iterator[str]:
    if result["kind"] != "chunk":
        lines = (
            f" § L{result['line_start']}-L{result['line_end']}" if "line_start" in result else ""
        )
        yield f"[{printable(result['doc_path'])}{lines}]"
        yield result["text"].removesuffix("\n")
        return
    chunk = result["chunk"]
    heading = " › ".join(map(flat, chunk["heading_path"]))
    yield f"[{printable(result['doc_path'])}{f' § {heading}' if heading else ''}]"
    before, after = result["context_before"], result["context_after"]
    if not before and not after:
        yield chunk["text"].removesuffix("\n")
        return
    for name, chunks in (("before", before), ("target", [chunk]), ("after", after)):
        yield f"=== {name} ==="
        yield from (each["text"].removesuffix("\n") for each in chunks)
