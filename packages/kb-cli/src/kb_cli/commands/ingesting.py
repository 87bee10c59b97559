"""``kebab ingest`` and its kin: what comes into the index, and what goes."""

from __future__ import annotations

from collections.abc import Mapping

from kb_cli._context import CliContext
from kb_cli._declared import OneOf, Real, Whole, argument, command, completed_by, option
from kb_cli._options import in_option
from kb_cli._stdin import stream
from kb_core.errors import InvalidInput

__all__ = ["embed", "ingest", "ingest_file", "ingest_stdin", "watch"]

_INGEST = """
kebab ingest
kebab ingest ~/notes/rust --no-embed
"""


@command("ingest", example=_INGEST)
@argument("paths", metavar="[PATH]...", nargs=-1, shell_complete=completed_by("file"))
@option("--force-reingest", is_flag=True, help="Process files again that did not change.")
@option("--summary-only", is_flag=True, help="Report counts, not every file.")
@option("--dry-run", is_flag=True, help="Say what would be done; write nothing.")
@option("--no-embed", is_flag=True, help="Stop before computing embeddings.")
@option("--no-ocr", is_flag=True, help="Leave reading pictures for another run.")
@option("--no-audio", is_flag=True, help="Leave listening to recordings for another run.")
@option("--retry-failed", is_flag=True, help="Try files again that failed.")
@option("--allow-empty", is_flag=True, help="Believe it when a whole source is gone.")
@option("--watch", "follows", is_flag=True, help="Go on with what changes, as 'kebab watch' does.")
@option(
    "--workers",
    type=OneOf(["processes", "ray"]),
    help="Who reads: processes here, or a Ray cluster. [default: [ingest] executor]",
)
@option(
    "--ray-address", metavar="HOST:PORT", help="The Ray cluster, or `auto`; else one of its own."
)
@option("--actors", type=Whole(0, 10_000), metavar="N", help="Actors of the Ray cluster.")
def ingest(  # noqa: PLR0913, PLR0917 - one argument for each option
    cli: CliContext,
    paths: tuple[str, ...],
    force_reingest: bool,
    summary_only: bool,
    dry_run: bool,
    no_embed: bool,
    no_ocr: bool,
    no_audio: bool,
    retry_failed: bool,
    allow_empty: bool,
    follows: bool,
    workers: str | None,
    ray_address: str | None,
    actors: int | None,
) -> None:
    """Index everything that is new or changed.

    PATHs narrow the run to files and folders inside the sources. Pictures and recordings come
    last, the newest first. Ctrl-C once finishes the batch at hand and reports; twice ends at
    once. What was done is kept either way.
    """
    from kb_cli._follow import show_work
    from kb_core.ingest import IngestOptions

    cli.writes("ingest")
    if follows and (paths or dry_run):
        raise InvalidInput(
            f"--watch follows all sources, and goes with no {'PATH' if paths else '--dry-run'}",
            hint="leave one of them out",
            details={"field": "watch"},
        )
    _set_workers(cli, {"executor": workers, "ray_address": ray_address, "actors": actors})
    options = IngestOptions(
        paths=tuple(_absolute(cli, path, field="paths") for path in paths),
        force=force_reingest,
        dry_run=dry_run,
        embed=not no_embed and cli.config.ingest.embed,
        retry_failed=retry_failed,
        allow_empty=allow_empty,
        summary_only=summary_only,
        without=(*(["ocr"] if no_ocr else []), *(["transcribe"] if no_audio else [])),
    )

    show_work(cli, lambda kb, stop: kb.ingest(options, stop=stop), is_dry_run=dry_run)
    if follows:
        from kb_cli._watching import show_watch

        show_watch(cli, embed=options.embed, poll_secs=None)


def _set_workers(cli: CliContext, options: Mapping[str, str | int | None]) -> None:
    """Have this run use the workers that were named, whatever the configuration says."""
    given = {name: value for name, value in options.items() if value is not None}
    executor = given.get("executor", cli.config.ingest.executor)
    of_ray = [name for name in ("ray_address", "actors") if name in given]
    if executor != "ray" and of_ray:
        option = "--" + of_ray[0].replace("_", "-")
        raise InvalidInput(
            f"{option} is {given[of_ray[0]]!r}, and there is no Ray cluster to read with",
            hint=f"add --workers ray, or leave {option} out",
            details={"field": of_ray[0], "value": given[of_ray[0]]},
        )
    cli.set_ingest(given)


_INGEST_FILE = """
kebab ingest-file ~/Downloads/minutes.md
kebab ingest-file --remove ~/Downloads/minutes.md
"""


@command("ingest-file", example=_INGEST_FILE)
@argument("path", shell_complete=completed_by("file"))
@option("--remove", is_flag=True, help="Remove what was added: by path, source URI or id.")
@option("--no-embed", is_flag=True, help="Stop before computing embeddings.")
def ingest_file(cli: CliContext, path: str, remove: bool, no_embed: bool) -> None:
    """Add one file, wherever it is.

    A file of a source is indexed in place. Of any other, and of one that its source ignores,
    the bytes are kept, so the file itself may go. Adding it again replaces it. It belongs to
    the source `_added`, and only --remove takes it away.
    """
    from kb_cli._follow import show_document

    cli.writes("ingest-file")
    embed = not no_embed and cli.config.ingest.embed
    if remove:
        show_document(cli, lambda kb, stop: kb.remove_added(path, stop=stop))
        return
    file = _absolute(cli, path, field="path")
    show_document(cli, lambda kb, stop: kb.ingest_file(file, embed=embed, stop=stop))


def _absolute(cli: CliContext, path: str, *, field: str) -> str:
    from kb_app.paths import path_given

    return str(path_given(field, path, cli.environ))


_INGEST_STDIN = """
kebab ingest-stdin --title "Minutes of May" < minutes.md
kebab ingest-stdin --title Locks --source-uri https://example.org/locks.md < locks.md
"""


@command("ingest-stdin", example=_INGEST_STDIN)
@option("--title", required=True, metavar="TEXT", help="The title of the document.")
@option("--source-uri", metavar="URI", help="Where it comes from; its name from then on.")
@option(
    "--media",
    type=OneOf(["markdown", "text"]),
    default="markdown",
    show_default=True,
    help="What the text is written in.",
)
@option("--no-embed", is_flag=True, help="Stop before computing embeddings.")
def ingest_stdin(
    cli: CliContext, title: str, source_uri: str | None, media: str, no_embed: bool
) -> None:
    """Add the text on standard input as a document.

    It is kept under its source URI, else under a slug of its title; the same one replaces
    it. It belongs to the source `_added`, until `kebab ingest-file --remove` takes it away.
    """
    from kb_cli._follow import show_document

    cli.writes("ingest-stdin")
    embed = not no_embed and cli.config.ingest.embed
    text = _read_stdin(cli, cli.config.ingest.max_file_mb)

    show_document(
        cli,
        lambda kb, stop: kb.ingest_text(
            text, title=title, source_uri=source_uri, media=media, embed=embed, stop=stop
        ),
    )


def _read_stdin(cli: CliContext, max_mb: int) -> str:
    """Return the text on standard input, of which no more is read than may be indexed."""
    if cli.can_ask():
        cli.note("reading from the terminal; Ctrl-D on a line of its own ends the text")
    most = max_mb * 1_000_000
    data = stream().read(most + 1)
    if len(data) > most:
        raise InvalidInput(
            f"standard input holds more than {max_mb:,} MB",
            hint="[ingest] max_file_mb is the limit",
            details={"field": "text", "max_file_mb": max_mb},
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"standard input is not UTF-8: byte {error.start:,} is {data[error.start]:#04x}",
            hint="iconv -t UTF-8, or save it as a file for 'kebab ingest-file'",
            details={"field": "text", "byte": error.start},
        ) from error


@command("embed", example="kebab embed\nkebab embed --in ~/src/some-clone")
@in_option
def embed(cli: CliContext) -> None:
    """Compute the embeddings that are missing.

    Newest documents come first, and every batch can be searched at once. Ctrl-C loses
    nothing: the next run goes on.
    """
    from kb_cli._follow import show_work

    cli.writes("embed")
    show_work(cli, lambda kb, stop: kb.embed(stop=stop))


_WATCH = """
kebab watch
kebab watch --poll 60
kebab watch --install
"""


@command("watch", example=_WATCH)
@option("--no-embed", is_flag=True, help="Index words only; 'kebab embed' does the rest.")
@option(
    "--poll",
    "poll_secs",
    type=Real(1),
    metavar="SECS",
    help="Look every so often instead of being told: for folders of other machines.",
)
@option("--install", "change", flag_value="install", help="Write a service that does it.")
@option("--uninstall", "change", flag_value="uninstall", help="Remove that service's file.")
def watch(cli: CliContext, no_embed: bool, poll_secs: float | None, change: str | None) -> None:
    """Follow the sources: index what changes, until Ctrl-C.

    A change is found a second or two after it was written. What the system does not tell of is
    found by a look at everything every ten minutes. Only one process follows a knowledge base;
    others may search and write meanwhile.

    As a service it starts with you: --install writes a user unit of systemd, or an agent of
    launchd, with these options, and says what to run; nothing is started by itself.
    """
    from kb_cli._watching import change_service, show_watch

    cli.writes("watch")
    if change is not None:
        if change == "install":
            _ = cli.config  # a service without it would fail every half minute
        options = [*(["--no-embed"] if no_embed else [])]
        options += ["--poll", f"{poll_secs:g}"] if poll_secs is not None else []
        change_service(cli, options, is_removal=change == "uninstall")
        return
    show_watch(cli, embed=not no_embed and cli.config.ingest.embed, poll_secs=poll_secs)
