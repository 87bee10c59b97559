"""``kebab add`` and ``kebab remove``: what the sources are."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from kb_app.shown import bytes_text, count, printable
from kb_cli._context import CliContext, Shown
from kb_cli._declared import OneOf, argument, command, completed_by, option
from kb_cli._text import echo, table
from kb_core.errors import InvalidInput
from kb_core.media import TrustLevel

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kb_app.config import Config, Source

__all__ = ["about", "add", "remove"]

_KINDS, _REASONS = 8, 8
_LARGE = 1_000_000
"""Files from this size on are named before anything is read."""

_ADDING = """
kebab add ~/notes
kebab add ~/src/kebab --id kebab --source-type code
kebab add ~/Documents --dry-run
"""


@command("add", example=_ADDING)
@argument("path", shell_complete=completed_by("dir"))
@option("--id", metavar="ID", help="Its name, instead of the folder's.")
@option("--source-type", metavar="WORD", help="A word to filter by, such as note or code.")
@option(
    "--trust",
    type=OneOf([level.value for level in TrustLevel]),
    help="How far it is to be trusted.",
)
@option("--about", metavar="TEXT", help="What it is about, in a sentence.")
@option("--dry-run", is_flag=True, help="Say what is in it; write nothing.")
def add(  # noqa: PLR0913, PLR0917 - one argument for each option
    cli: CliContext,
    path: str,
    id: str | None,  # noqa: A002 - the word that people read
    source_type: str | None,
    trust: str | None,
    about: str | None,
    dry_run: bool,
) -> None:
    """Add a folder to what is indexed.

    Writes a source into the configuration, and the configuration too if there is none. Says
    what will be read of the folder, and what will be left alone: nothing is read yet.
    """
    from kb_app.config import add_source

    if not dry_run:
        cli.writes("add")
    edit = add_source(
        path,
        path=cli.config_path,
        environ=cli.environ,
        id=id,
        source_type=source_type,
        trust_level=trust,
        about=about,
        dry_run=dry_run,
    )
    if cli.as_json:
        preview = _preview(cli, edit.config, edit.source) if dry_run else None
        cli.print_json(_source_list(edit.config, added=edit.source.id, preview=preview))
        return
    if dry_run:
        _say_what_is_in(cli, edit.config, edit.source)
        return
    if edit.is_new_file:
        echo(f"made {printable(str(edit.config.file))}")
    echo(f"source {edit.source.id!r} is {printable(str(edit.source.root))}")
    _say_what_is_in(cli, edit.config, edit.source)
    cli.note("next: kebab ingest")


_ABOUT = """
kebab about notes "Meetings and decisions at work, since 2019"
kebab about ~/notes/clients "One folder a client; the newest minutes are the truth"
kebab about notes --remove
"""


@command("about", example=_ABOUT)
@argument("place", metavar="[SOURCE_OR_FOLDER]", required=False)
@argument("text", required=False)
@option("--remove", "removes", is_flag=True, help="Take out what was said.")
def about(cli: CliContext, place: str | None, text: str | None, removes: bool) -> None:
    """Say what a source is about, or a folder or file in one.

    Without arguments, what was said is listed. The sentence is shown with hits from there
    and told to language models. It is not searched: changing it indexes nothing again.
    """
    if place is None:
        _say_about(cli, cli.config)
        return
    if (text is None) is not removes:
        raise InvalidInput(
            "TEXT and --remove contradict each other" if removes else "the sentence is missing",
            hint=f'kebab about {shlex.quote(place)} "…"',
            details={"field": "text"},
        )
    from kb_app.config import set_about

    cli.writes("about")
    edit = set_about(place, text, path=cli.config_path, environ=cli.environ)
    _say_about(cli, edit.config)


def _say_about(cli: CliContext, config: Config) -> None:
    if cli.as_json:
        cli.print_json(_source_list(config))
        return
    rows = [
        (source.id, said.path or ".", said.text)
        for source in config.sources
        for said in source.about
    ]
    if rows:
        echo("\n".join(table(("SOURCE", "FOLDER", "ABOUT"), rows)))
    else:
        cli.note('nothing is said about any source: kebab about SOURCE "…"')


@command("remove", example="kebab remove notes")
@argument("id", shell_complete=completed_by("source"))
def remove(cli: CliContext, id: str) -> None:  # noqa: A002 - the word that people read
    """Take a source out of the configuration.

    What was indexed of it stays until `kebab forget source`, or `kebab reset --orphans-only`.
    """
    from kb_app.config import remove_source

    cli.writes("remove")
    edit = remove_source(id, path=cli.config_path, environ=cli.environ)
    if cli.as_json:
        cli.print_json(_source_list(edit.config, removed=edit.source.id))
        return
    echo(f"source {edit.source.id!r}, {printable(str(edit.source.root))}, is removed")
    cli.note(
        "its documents stay; `kebab reset --orphans-only` deletes them, "
        f"`kebab forget source {shlex.quote(edit.source.id)}` takes them out of the files, too"
    )


def _say_what_is_in(cli: CliContext, config: Config, source: Source) -> None:
    echo("\n".join(_held(_preview(cli, config, source))))


def _preview(cli: CliContext, config: Config, source: Source) -> Mapping[str, Any]:
    """Return what is in a folder, as far as names and sizes tell."""
    with cli.open_kb(config, True) as kb:
        return kb.preview_source(
            str(source.root),
            include=source.include,
            exclude=source.exclude,
            follow_links=source.follow_links,
        )


def _held(found: Shown) -> Iterator[str]:
    more = "" if found["complete"] else "at least "
    amount = f"{more}{count(found['files'], 'file')}, {bytes_text(found['bytes'])}"
    yield f"to be read: {amount}" if found["files"] else "nothing in it can be read"
    yield from _indented(
        ("KIND", "FILES", "SIZE"),
        [
            (row["code_lang"] or row["media"], row["files"], bytes_text(row["bytes"]))
            for row in found["kinds"][:_KINDS]
        ],
    )
    if len(found["kinds"]) > _KINDS:
        yield f"  and {count(len(found['kinds']) - _KINDS, 'more kind')}"
    large = [row for row in found["largest"] if row["bytes"] >= _LARGE]
    if large:
        yield "largest"
        yield from _indented(
            ("SIZE", "PATH"), [(bytes_text(row["bytes"]), row["path"]) for row in large]
        )
    if found["left_alone"]:
        yield "left alone"
        rows = found["left_alone"][:_REASONS]
        yield from _indented(("ENTRIES", "WHY", "SUCH AS"), map(_left, rows))


def _left(row: Shown) -> tuple[object, ...]:
    why = ": ".join(filter(None, (row["reason"], row["detail"])))
    slash = "/" if row["folders"] and not row["files"] else ""
    return row["files"] + row["folders"], why, row["example"] + slash


def _indented(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    found = list(rows)
    if found:
        yield from ("  " + line for line in table(head, found))


def _source_list(
    config: Config,
    *,
    added: str | None = None,
    removed: str | None = None,
    preview: Mapping[str, Any] | None = None,
) -> Mapping[str, Any]:
    """Return source_list.v1 of a configuration that was changed."""
    from kb_core import wire

    sources = map(asdict, config.sources)
    return wire.source_list(
        sources, str(config.file), added=added, removed=removed, preview=preview
    )
