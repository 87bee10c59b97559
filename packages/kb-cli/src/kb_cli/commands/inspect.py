"""``kebab inspect``: all that is known of one thing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from kb_app.shown import bytes_text, flat, local_time, printable
from kb_cli._command import command as make, subgroup
from kb_cli._context import CliContext, pass_cli
from kb_cli._text import pairs, table

__all__ = ["command"]


@subgroup("inspect", example="kebab inspect doc 1c0ffee5")
def command() -> None:
    """Show all that is known of one thing."""


@make("doc", example="kebab inspect doc 1c0ffee5")
@click.argument("doc_id", metavar="ID")
@pass_cli
def _doc(cli: CliContext, doc_id: str) -> None:
    """Show what a parser found in a document."""
    with cli.open() as kb:
        found = kb.inspect_doc(doc_id)
    if cli.as_json:
        cli.print_json(found)
    else:
        click.echo("\n".join(_document(found)))


@make("chunk", example="kebab inspect chunk 5669ef18")
@click.argument("chunk_id", metavar="ID")
@pass_cli
def _chunk(cli: CliContext, chunk_id: str) -> None:
    """Show where a chunk stands, and which models know it."""
    with cli.open() as kb:
        found = kb.inspect_chunk(chunk_id)
    if cli.as_json:
        cli.print_json(found)
    else:
        click.echo("\n".join(_chunk_lines(found)))


command.add_command(_doc)
command.add_command(_chunk)


def _document(doc: Mapping[str, Any]) -> Iterator[str]:
    yield from pairs(
        [
            ("document", doc["doc_id"]),
            ("path", doc["doc_path"]),
            ("source", f"{doc['source_id']} ({doc['source_type']}, {doc['trust_level']})"),
            ("title", doc["title"]),
            ("media", doc["media"]),
            ("language", doc.get("code_lang") or doc["lang"]),
            ("tags", ", ".join(doc["tags"]) or None),
            ("size", bytes_text(doc["byte_len"])),
            ("chunks", doc["chunk_count"]),
            ("created", local_time(doc["created_at"])),
            ("updated", local_time(doc["updated_at"])),
            ("indexed", local_time(doc["indexed_at"])),
            ("made by", f"{doc['parser_version']}, {doc['chunker_version']}"),
        ]
    )
    if doc["metadata"]:
        yield "metadata"
        yield from pairs(_values(doc["metadata"]), indent="  ")
    if doc["blocks"]:
        yield f"blocks: {len(doc['blocks']):,}"
        yield from (
            "  " + line for line in table(("KIND", "START", "END", "HEADING"), _blocks(doc))
        )
    yield from (f"warning: {flat(text)}" for text in doc.get("warnings", ()))


def _values(metadata: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    for key, value in sorted(metadata.items()):
        yield flat(str(key)), value if isinstance(value, (str, int)) else str(value)


def _blocks(doc: Mapping[str, Any]) -> Iterator[tuple[object, ...]]:
    for block in doc["blocks"]:
        name = block.get("symbol") or " › ".join(block["heading_path"])
        yield block["kind"], block["char_start"], block["char_end"], name


def _chunk_lines(chunk: Mapping[str, Any]) -> Iterator[str]:
    models = ", ".join(f"{e['model']} ({e['dimensions']})" for e in chunk["embeddings"])
    yield from pairs(
        [
            ("chunk", chunk["chunk_id"]),
            ("document", chunk["doc_id"]),
            ("place", ", ".join(span["uri"] for span in chunk["source_spans"])),
            ("heading", " › ".join(chunk["heading_path"]) or None),
            ("symbol", chunk.get("symbol")),
            ("ordinal", chunk["ordinal"]),
            ("characters", f"{chunk['char_start']:,}-{chunk['char_end']:,}"),
            ("tokens", chunk["token_count"]),
            ("made by", chunk["chunker_version"]),
            ("embeddings", models or "none"),
        ]
    )
    yield ""
    yield printable(chunk["text"].expandtabs(4).rstrip("\n"), keep="\n")
