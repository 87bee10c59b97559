"""``kebab schema``: what this installation speaks, can do and holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from kb_cli._command import command as make
from kb_cli._context import CliContext, pass_cli
from kb_cli._text import pairs

__all__ = ["command"]


@make("schema", example="kebab schema --json")
@pass_cli
def command(cli: CliContext) -> None:
    """Show what this installation speaks, can do and holds."""
    with cli.open() as kb:
        found = kb.schema()
    if cli.as_json:
        cli.print_json(found)
    else:
        click.echo("\n".join(_lines(found)))


def _lines(schema: Mapping[str, Any]) -> Iterator[str]:
    stats = schema["stats"]
    able = sorted(name for name, can in schema["capabilities"].items() if can)
    unable = sorted(name for name, can in schema["capabilities"].items() if not can)
    yield f"kebab {schema['kebab_version']}"
    yield from pairs(
        [
            ("documents", stats["doc_count"]),
            ("chunks", stats["chunk_count"]),
            ("can", ", ".join(able) or None),
            ("cannot", ", ".join(unable) or None),
            *((f"{name} version", version) for name, version in schema["models"].items()),
            ("speaks", ", ".join(schema["wire"]["schemas"])),
        ]
    )
