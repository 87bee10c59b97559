"""``kebab export`` and ``import``: the whole knowledge base as one file; and ``engine``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from kb_app.shown import bytes_text, count, flat, printable, shell_word
from kb_cli._context import CliContext, Shown
from kb_cli._declared import OneOf, argument, command, completed_by, option, subgroup
from kb_cli._follow import passages_taken
from kb_cli._stdin import stream
from kb_cli._text import echo, pairs
from kb_core.errors import InvalidInput

__all__ = ["engine", "export", "import_"]

_STREAM = "-"


_EXPORT = """
kebab export kb.kebab
kebab export --safety
kebab export - | age -r age1… > kb.kebab.age
"""


@command("export", example=_EXPORT)
@argument("file", required=False, shell_complete=completed_by("file"))
@option("--with-index", is_flag=True, help="The index, too: the import need not build it.")
@option("--sources", is_flag=True, help="The original files, too.")
@option("--force", is_flag=True, help="Write over a file that is there.")
@option("--safety", is_flag=True, help="No file: a safety copy in the data directory.")
def export(
    cli: CliContext, file: str | None, with_index: bool, sources: bool, force: bool, safety: bool
) -> None:
    """Write all that kebab keeps into one file.

    The texts and embeddings of all documents, what was added by itself, conversations, golden
    questions and settings: what `kebab import` makes the same knowledge base of, on any machine
    and without the original files. `-` writes to standard output.

    With --safety, only what could not be read again is copied, within the data directory;
    `kebab doctor --repair` brings it back.
    """
    options = {"with_index": with_index, "with_sources": sources, "force": force}
    if safety:
        _safety_copy(cli, alone=file is None and not any(options.values()))
        return
    if file is None:
        raise InvalidInput(
            "the file is missing", hint="kebab export kb.kebab", details={"field": "file"}
        )
    if file != _STREAM:
        with cli.open() as kb:
            cli.show(kb.export_archive(file, **options), _export_lines)
        return
    if cli.has_terminal:
        raise InvalidInput(
            "an archive is no text for a terminal",
            hint="name a file, or pass it on: kebab export - | age …",
            details={"field": "file"},
        )
    with cli.open() as kb:
        report = kb.export_archive(sys.stdout.buffer, **options)
    if cli.as_json:
        from kb_core import wire

        echo(wire.dumps(report), err=True)
    else:
        cli.note(*_export_lines(report))


def _safety_copy(cli: CliContext, *, alone: bool) -> None:
    if not alone:
        raise InvalidInput(
            "a safety copy lies in the data directory, and is always of the same things",
            hint="'kebab export --safety', without a file or other options",
            details={"field": "safety"},
        )
    cli.writes("export --safety")
    with cli.open() as kb:
        cli.show(kb.make_safety_copy(), _safety_lines)


def _safety_lines(report: Shown) -> Iterator[str]:
    held = f"{count(report['members'], 'file')}, {bytes_text(report['bytes'])}"
    yield from pairs(
        [("written", printable(report["path"])), ("holds", held), ("copies", report["copies"])]
    )


def _export_lines(report: Shown) -> Iterator[str]:
    kept = ", ".join(f"{part} {bytes_text(size)}" for part, size in report["parts"].items())
    yield from pairs(
        [
            ("written", printable(report["path"]) if report["path"] else "to standard output"),
            ("documents", report["doc_count"]),
            ("chunks", report["chunk_count"]),
            ("holds", f"{count(report['members'], 'file')}, {bytes_text(report['bytes'])}: {kept}"),
        ]
    )
    if missing := report.get("missing_count"):
        named = ", ".join(flat(path) for path in report["missing"])
        yield f"{count(missing, 'original file')} could not be read, and are not in it: {named}"


_IMPORT = """
kebab import kb.kebab
age -d -i key.txt kb.kebab.age | kebab import -
"""


@command("import", example=_IMPORT)
@argument("file", shell_complete=completed_by("file"))
@option("--replace", is_flag=True, help="Set aside the knowledge base that is there.")
@option(
    "--sources-to",
    metavar="FOLDER",
    help="Write the original files there, if they are in it.",
    shell_complete=completed_by("dir"),
)
@option("--dry-run", is_flag=True, help="Verify the archive, and write nothing.")
def import_(
    cli: CliContext, file: str, replace: bool, sources_to: str | None, dry_run: bool
) -> None:
    """Make the knowledge base that an archive holds.

    Every file of it is verified, and the index is built from it; then it takes its place in one
    step, or nothing changes. The original files are not needed to search, fetch and ask. `-`
    reads from standard input.
    """
    if not dry_run:
        cli.writes("import")
    cli.may_be_new = True  # the archive has one, mostly
    origin = stream() if file == _STREAM else file
    with cli.open() as kb:
        report = kb.import_archive(origin, replace=replace, dry_run=dry_run, sources_to=sources_to)
    cli.show(report, lambda report: map(cli.named, _import_lines(report, sources_to)))


_BECAME = {
    "written": "taken from the archive",
    "kept": "as they were: those of the archive are left in it",
    "absent": "none in the archive",
}


def _import_lines(report: Shown, sources_to: str | None) -> Iterator[str]:
    is_dry = report["dry_run"]
    whose = f"by kebab {flat(report['kebab_version'])}, {flat(report['created_at'])}"
    held = f"{count(report['members'], 'file')}, {bytes_text(report['bytes'])}, {whose}"
    rows = [
        ("archive", f"{held}; every sum is right" if is_dry else held),
        ("documents", report["doc_count"]),
        ("chunks", report["chunk_count"]),
    ]
    if not is_dry:
        rows += [
            ("imported into", printable(report["data_dir"])),
            ("index", report["index"]),
            ("settings", _BECAME[report["settings"]]),
            ("golden questions", _BECAME[report["golden_questions"]]),
            ("source files", report.get("source_files")),
            ("set aside", printable(report["kept_aside"]) if "kept_aside" in report else None),
        ]
    yield from pairs((name, value) for name, value in rows if value is not None)
    if named := report.get("settings_left"):
        yield f"left out of the settings, to be looked at and set by you: {', '.join(named)}"
    if left := report.get("source_files_left"):
        yield f"{count(left, 'original file')} stay in the archive: --sources-to writes them"
    for source in report.get("sources", ()):
        yield from _source_lines(source, sources_to if "source_files" in report else None)
    is_read = sources_to is None or any(
        Path(source["root"]).is_relative_to(Path(sources_to).resolve())
        for source in report.get("sources", ())
    )
    if not is_read and "source_files" in report:
        yield f"the configuration here reads none of {printable(str(sources_to))}: kebab add FOLDER"


def _source_lines(source: Shown, files_in: str | None) -> Iterator[str]:
    name, root = flat(source["id"]), printable(source["root"])
    if not source["present"]:
        yield f"source {name}: {root} is not here; its documents stay as they are"
    if not source["configured"]:
        to = str(Path(files_in, source["id"])) if files_in else "FOLDER"
        yield f"source {name} is not configured here: kebab add {shell_word(to)} --id {name}"


@subgroup("engine", example="kebab engine copy --to milvus")
def engine() -> None:
    """Move the index to another engine."""


@command("copy", example="kebab engine copy --to milvus")
@option(
    "--to",
    required=True,
    type=OneOf(["embedded", "milvus"]),
    help="The engine, at the place that [index] names.",
)
def _copy(cli: CliContext, to: str) -> None:
    """Make the index of another engine, from the store.

    Nothing is parsed or embedded again. Every text is compared with the store, and what 100
    passages find there with what they find here. The configuration stays as it is: set `engine` of
    [index] to use the copy.
    """
    cli.writes("engine copy")
    with cli.open() as kb, passages_taken(cli) as hear:
        report = kb.copy_index(to, hear=hear)
    cli.show(report, _copy_lines)


engine.add_command(_copy)


def _copy_lines(report: Shown) -> Iterator[str]:
    shares = report.get("in_common", {})
    common = ", ".join(f"{share:.0%} by {what}" for what, share in shares.items())
    rows = [
        ("engine", report["engine"] if report["made"] else f"{report['engine']}, as it was"),
        ("documents", f"{report['doc_count']:,}, every text as in the store"),
        ("chunks", f"{report['chunk_count']:,}"),
        ("vectors", f"{report['vector_count']:,}"),
        ("found", f"{report['found']} of {report['asked']} passages by their first words"),
        ("in common", f"{common} of the first ten, with the engine of before" if common else None),
        ("next", f'engine = "{report["engine"]}" in [index]'),
    ]
    yield from pairs((name, value) for name, value in rows if value is not None)
