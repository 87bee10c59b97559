"""``kebab eval import`` and ``export``: questions, judgements and runs of other programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kb_app.shown import count, printable
from kb_cli._context import CliContext
from kb_cli._declared import argument, command, completed_by, option
from kb_cli._evals import measured
from kb_cli._options import cases_option
from kb_cli._text import echo
from kb_core.errors import InvalidInput

__all__ = ["export", "import_"]

_IMPORT = """
kebab eval import --beir cranfield --documents ~/collections/cranfield
kebab eval import --queries topics.tsv --qrels qrels.txt --cases golden.jsonl
kebab eval import --run other.run --name other
"""


@command("import", example=_IMPORT)
@option(
    "--beir",
    metavar="FOLDER",
    shell_complete=completed_by("dir"),
    help="A collection in BEIR layout.",
)
@option(
    "--split", metavar="NAME", default="test", show_default=True, help="Which of its judgements."
)
@option(
    "--documents",
    metavar="FOLDER",
    shell_complete=completed_by("dir"),
    help="Write its documents there, to be added as a source.",
)
@option(
    "--queries",
    metavar="FILE",
    shell_complete=completed_by("file"),
    help="Queries, an id and a text a line, parted by a tab.",
)
@option(
    "--qrels",
    metavar="FILE",
    shell_complete=completed_by("file"),
    help="Their judgements, as TREC has them.",
)
@option(
    "--run",
    "run_file",
    metavar="FILE",
    shell_complete=completed_by("file"),
    help="A TREC run of another program over the golden questions, to compare with.",
)
@option("--name", metavar="NAME", help="With --run: what it is called later.")
@cases_option
def import_(cli: CliContext, /, **options: Any) -> None:  # noqa: ANN401
    """Add judged queries of others to the golden questions, or keep a run of another program.

    Documents are expected by the ids that the judgements have, which have to be paths here;
    with --documents, by the names of the files that are written. A run names queries by the
    ids of golden questions, and documents as these expect them.
    """
    cli.writes("eval import")
    run_file, name = options.pop("run_file"), options.pop("name")
    if run_file is not None:
        _import_run(cli, run_file, name, options)
        return
    if (options["beir"] is None) == (None in {options["queries"], options["qrels"]}):
        raise InvalidInput(
            "give a folder with --beir, two files with --queries and --qrels, or one with --run",
            hint="kebab eval import --help",
            details={"field": "beir"},
        )
    with cli.open() as kb:
        number = kb.import_cases(**options)
    echo(f"added {count(number, 'case')}")


def _import_run(cli: CliContext, file: str, name: str | None, options: Mapping[str, Any]) -> None:
    if any(options[one] is not None for one in ("beir", "queries", "qrels", "documents")):
        raise InvalidInput(
            "--run is of golden questions that are there, and takes --name and --cases alone",
            hint="import the queries and their judgements before",
            details={"field": "run", "value": file},
        )
    with cli.open() as kb:
        found = kb.import_run(file, name=name, cases=options["cases"])
    cli.show(found, lambda _: measured(found))


@command("export", example="kebab eval export last trec")
@argument("run")
@argument("folder", shell_complete=completed_by("dir"))
def export(cli: CliContext, run: str, folder: str) -> None:
    """Write a run as TREC files: a run for each variant, judgements, and queries."""
    cli.writes("eval export")
    with cli.open() as kb:
        files = kb.export_run(run, folder)
    echo("\n".join(map(printable, files)))
