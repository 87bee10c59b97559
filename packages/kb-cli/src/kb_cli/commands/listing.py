"""``kebab list``, ``inspect`` and ``status``: what there is, and what became of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any

from kb_app.shown import as_given, bytes_text, count, flat, local_time, printable
from kb_cli._answers import conversation_rows
from kb_cli._context import CliContext, Shown
from kb_cli._declared import OneOf, Whole, argument, command, completed_by, option, subgroup
from kb_cli._options import filter_options, filters_of, in_option
from kb_cli._text import echo, pairs, shorten, table

__all__ = ["inspect", "list_", "status"]

_MOST_FILES = 200
"""Nobody reads as many lines: who names no files is told how many more there are."""
_LINK = 60
"""Columns of a link that are shown beside where it leads."""
_MOST_BLOCKS = 200
"""Blocks of a document on a terminal, unless all are asked for."""


@subgroup("list", example="kebab list docs --media code")
def list_() -> None:
    """List what is indexed."""


def _paged(function: Callable[..., None]) -> Callable[..., None]:
    """Add what says which page of a list is wanted."""
    skipped = option(
        "--offset", metavar="N", type=Whole(0), default=0, help="How many to leave out before."
    )
    most = option(
        "--limit",
        metavar="N",
        type=Whole(1, 10_000),
        default=100,
        show_default=True,
        help="How many.",
    )
    return most(skipped(function))


@command("docs", example="kebab list docs --tag rust --limit 20")
@_paged
@filter_options
@in_option
def _docs(cli: CliContext, /, limit: int, offset: int, **filters: Any) -> None:  # noqa: ANN401
    """List documents, by source and path."""
    with cli.open() as kb:
        found = kb.list_docs(filters_of(filters), limit=limit, offset=offset)
    if cli.as_json:
        cli.print_json(found)
        return
    docs = found["items"]
    rows = [
        (
            doc["doc_id"][:8],
            doc["media"],
            doc.get("code_lang") or doc["lang"],
            doc["chunk_count"],
            bytes_text(doc["byte_len"]),
            doc["source_id"],
            doc["doc_path"],
        )
        for doc in docs
    ]
    if rows:
        head = ("ID", "MEDIA", "LANG", "CHUNKS", "SIZE", "SOURCE", "PATH")
        echo("\n".join(table(head, rows)))
    shown = f"{offset + 1:,}-{offset + len(docs):,} of " if len(docs) < found["total"] else ""
    echo(f"{shown if docs else ''}{count(found['total'], 'document')}")
    cli.warn(*found.get("warnings", ()))


@command("workspaces", example="kebab list workspaces")
def _workspaces(cli: CliContext) -> None:
    """List the folders that were asked with --in, and what their caches take.

    One that is not used for long is deleted when another one is used, and comes back when
    it is asked again: `kebab reset --workspace FOLDER` deletes it at once.
    """
    from kb_app.workspaces import workspace_list

    found = workspace_list(cli.environ)
    if cli.as_json:
        cli.print_json(found)
        return
    rows = [
        (
            local_time(row["used_at"]),
            bytes_text(row["bytes"]),
            ", ".join(row["folders"]) or row["cache"],
            "" if row["complete"] else "not read whole yet",
        )
        for row in found["items"]
    ]
    if rows:
        echo("\n".join(table(("USED", "CACHE", "FOLDER", ""), rows)))
    echo(count(found["total"], "workspace"))


@command("sessions", example="kebab list sessions")
def _sessions(cli: CliContext) -> None:
    """List conversations, the one that was used last first."""
    with cli.open() as kb:
        cli.show(kb.conversations(), _session_lines)


def _session_lines(found: Shown) -> Iterator[str]:
    yield from conversation_rows(found["items"])
    yield count(found["total"], "conversation")


@command("links", example="kebab list links notes/kiln.md")
@argument("doc", metavar="DOC", shell_complete=completed_by("document"))
@_paged
@in_option
def _links(cli: CliContext, doc: str, limit: int, offset: int) -> None:
    """List the links of a document to others, and where they lead.

    Of Markdown, wikis and HTML, but for those to the web. A link that leads to nothing that is
    indexed has `-` for a document.
    """
    with cli.open() as kb:
        cli.show(kb.links(doc, limit=limit, offset=offset), partial(_link_lines, offset=offset))


@command("backlinks", example="kebab list backlinks notes/kiln.md")
@argument("doc", metavar="DOC", shell_complete=completed_by("document"))
@_paged
@in_option
def _backlinks(cli: CliContext, doc: str, limit: int, offset: int) -> None:
    """List the links of other documents that lead to one, and where they stand."""
    with cli.open() as kb:
        found = kb.links(doc, backlinks=True, limit=limit, offset=offset)
        cli.show(found, partial(_link_lines, offset=offset))


def _link_lines(found: Shown, offset: int) -> Iterator[str]:
    links = found["items"]
    rows: list[tuple[str, ...]]
    if found["direction"] == "out":
        head: tuple[str, ...] = ("PLACE", "LINK", "DOCUMENT")
        rows = [
            (
                _place_of(link, found),
                shorten(flat(link["target"]), _LINK),
                link.get("doc_path", "-"),
            )
            for link in links
        ]
    else:
        head = ("PLACE", "SOURCE", "TEXT")
        rows = [
            (_place_of(link, link), link["source_id"], link.get("excerpt", "")) for link in links
        ]
    if rows:
        # Several links on a line of text are one line here.
        yield from table(head, [tuple(map(flat, row)) for row in dict.fromkeys(rows)])
    shown = f"{offset + 1:,}-{offset + len(links):,} of " if len(links) < found["total"] else ""
    yield f"{shown if links else ''}{count(found['total'], 'link')}"


def _place_of(link: Shown, holder: Shown) -> str:
    """Return where a link of *holder* stands: its line, or how its place is cited."""
    place = link.get("citation")
    if place is None:
        return str(holder["doc_path"])
    is_line = place["kind"] == "line"
    return f"{holder['doc_path']}:{place['start']}" if is_line else str(place["uri"])


for _part in (_docs, _links, _backlinks, _sessions, _workspaces):
    list_.add_command(_part)


@subgroup("inspect", example="kebab inspect doc 1c0ffee5")
def inspect() -> None:
    """Show all that is known of one thing.

    By its id, its path, or a path and a line.
    """


@command("doc", example="kebab inspect doc notes/a.md")
@argument("doc_id", metavar="DOC", shell_complete=completed_by("document"))
@option("--all", "is_all", is_flag=True, help="Show every block on a terminal.")
@in_option
def _inspect_doc(cli: CliContext, doc_id: str, is_all: bool) -> None:
    """Show what a parser found in a document; on a terminal, its first blocks."""
    is_bounded = sys.stdout.isatty() and not is_all
    with cli.open() as kb:
        cli.show(
            kb.inspect_doc(doc_id), partial(_document, most=_MOST_BLOCKS if is_bounded else None)
        )


@command("chunk", example="kebab inspect chunk 5669ef18")
@argument("chunk_id", metavar="CHUNK")
@in_option
def _inspect_chunk(cli: CliContext, chunk_id: str) -> None:
    """Show where a chunk stands, and which models know it."""
    with cli.open() as kb:
        cli.show(kb.inspect_chunk(chunk_id), _chunk_lines)


inspect.add_command(_inspect_doc)
inspect.add_command(_inspect_chunk)


def _document(doc: Shown, most: int | None) -> Iterator[str]:
    yield from pairs(
        [
            ("document", doc["doc_id"]),
            ("path", doc["doc_path"]),
            *([("within", doc["container"])] if doc.get("container") else []),
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
            "  " + line
            for line in table(("KIND", "START", "END", "HEADING"), islice(_blocks(doc), most))
        )
        if most is not None and len(doc["blocks"]) > most:
            yield f"  {len(doc['blocks']) - most:,} more: give --all"
    yield from (f"within it: {flat(path)}" for path in doc.get("enclosed", ()))
    yield from (f"warning: {flat(text)}" for text in doc.get("warnings", ()))


def _values(metadata: Shown) -> Iterator[tuple[str, object]]:
    for key, value in sorted(metadata.items()):
        yield flat(str(key)), _value(value)


def _value(value: object) -> object:
    """Return a value of front matter as a person would write it."""
    if isinstance(value, (str, int)):
        return value
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ", ".join(value)
    return as_given(value)


def _blocks(doc: Shown) -> Iterator[tuple[object, ...]]:
    for block in doc["blocks"]:
        name = block.get("symbol") or " › ".join(block["heading_path"])
        yield block["kind"], block["char_start"], block["char_end"], name


def _chunk_lines(chunk: Shown) -> Iterator[str]:
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


_STATES = ("indexed", "skipped", "failed", "pending", "deleted")


@command("status", example="kebab status 'notes/**' --state failed")
@argument(
    "path_glob",
    metavar="[PATH_GLOB]",
    required=False,
    shell_complete=completed_by("document"),
)
@option("--state", type=OneOf(_STATES), help="Only files in this state.")
@option(
    "--changed-since", metavar="TIME", help="Only files that changed at or after this time or date."
)
@in_option
def status(
    cli: CliContext, path_glob: str | None, state: str | None, changed_since: str | None
) -> None:
    """Show what became of every file, and why.

    Every file that a run of ingest saw is here, the skipped and the failed ones too.
    """
    is_narrowed = not (path_glob is state is changed_since is None)
    limit = None if cli.as_json or is_narrowed else _MOST_FILES
    with cli.open() as kb:
        found = kb.status(path_glob, state, changed_since=changed_since, limit=limit)
    cli.show(found, _status_lines)
    if not found["files"] and path_glob is not None:
        cli.note(f"no file that was seen matches '{printable(path_glob)}'")


def _status_lines(status: Shown) -> Iterator[str]:
    if rows := [_row(file) for file in status["files"]]:
        yield from table(("STATE", "CHANGED", "SIZE", "SOURCE", "PATH", "WHY"), rows)
        if more := status.get("total", len(rows)) - len(rows):
            yield f"and {count(more, 'more file')}: name some, or a --state"
    yield from _coverage(status["coverage"])
    yield from _freshness(status.get("freshness", {}))


def _freshness(fresh: Shown) -> Iterator[str]:
    if fresh.get("followed"):
        yield f"followed by a watch{', which is taking in a change' * bool(fresh.get('pending'))}"
    elif "seen_at" in fresh:
        yield f"as the sources were at {local_time(fresh['seen_at'])}"


def _row(file: Shown) -> tuple[object, ...]:
    why = ": ".join(filter(None, (file.get("reason"), file.get("detail"))))
    when = file.get("changed_at") or file.get("indexed_at") or file["mtime"]
    place = (file["source_id"], file["doc_path"])
    return file["state"], local_time(when), bytes_text(file["size"]), *place, why


def _coverage(totals: Shown) -> Iterator[str]:
    states = ", ".join(f"{totals[state]:,} {state}" for state in _STATES if totals.get(state))
    yield f"{count(totals['files'], 'file')}{f': {states}' if states else ''}"
    if reasons := totals.get("by_reason"):
        yield "skipped: " + ", ".join(f"{n:,} {reason}" for reason, n in sorted(reasons.items()))
    if "chunks" in totals and "embedded" in totals:
        yield f"{count(totals['chunks'], 'chunk')}, {totals['embedded']:,} embedded"
