"""Verbatim text as a person sees it: of ``fetch`` and of ``cite``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

import click

from kb_app.shown import count, flat, printable
from kb_cli._context import CliContext

__all__ = ["show"]


def show(cli: CliContext, result: Mapping[str, Any]) -> None:
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
    if result["stale"]:
        cli.note("stale: the file has changed since, or was not checked for long")


def _parts(result: Mapping[str, Any]) -> Iterator[str]:
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
