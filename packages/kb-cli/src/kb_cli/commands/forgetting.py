"""``kebab forget``: documents, sources and queries, out of the files."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kb_app.shown import count, flat, printable
from kb_cli._context import CliContext, Shown
from kb_cli._declared import argument, command, completed_by, option, subgroup
from kb_core.errors import InvalidInput

if TYPE_CHECKING:
    from kb_app import KnowledgeBase
    from kb_core.wire import types

__all__ = ["forget"]

_MOST_PATHS = 20

_EXAMPLES = """
kebab forget doc notes/old-contract.md
kebab forget source scratch
kebab forget query "what was asked"
"""

_NAMES = {
    "conversation": ("turn", "turns", "of conversation"),
    "feedback": ("line", "lines", "of"),
    "golden_question": ("golden question", "golden questions", "in"),
    "log": ("line", "lines", "of"),
    "query": ("query", "queries", "of the"),
    "run": ("run", "runs", "over golden questions"),
}
"""By kind of trace: one of what is in it, several, and how it is named."""


@subgroup("forget", example=_EXAMPLES)
def forget() -> None:
    """Forget documents, sources or queries, so that no file has them.

    Your own files are never touched. One that a source still has is not read again, unless
    `kebab ingest-file` names it.
    """


_mentions = option(
    "--mentions",
    is_flag=True,
    help="Also turns of conversations, feedback, and runs over golden questions, that tell of it.",
)
_dry_run = option("--dry-run", is_flag=True, help="Say what would go; forget nothing.")
_yes = option("--yes", is_flag=True, help="Do not ask.")


@command("doc", example="kebab forget doc notes/old-contract.md --mentions")
@argument("docs", metavar="DOC...", nargs=-1, shell_complete=completed_by("document"))
@_mentions
@_dry_run
@_yes
def doc(cli: CliContext, docs: tuple[str, ...], mentions: bool, dry_run: bool, yes: bool) -> None:
    """Forget documents, each by its path or id."""
    if not docs:
        raise InvalidInput(
            "the document is missing",
            hint="kebab forget doc PATH",
            details={"field": "target"},
        )
    _forget(cli, "doc", docs, mentions=mentions, dry_run=dry_run, yes=yes)


@command("source", example="kebab forget source scratch")
@argument("id", shell_complete=completed_by("source"))
@_mentions
@_dry_run
@_yes
def source(
    cli: CliContext,
    id: str,  # noqa: A002 - the word that people read
    mentions: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Forget all of a source, and take it out of the configuration."""
    _forget(cli, "source", (id,), mentions=mentions, dry_run=dry_run, yes=yes)


@command("query", example='kebab forget query "what was asked"')
@argument("query")
@_mentions
@_dry_run
@_yes
def query(cli: CliContext, query: str, mentions: bool, dry_run: bool, yes: bool) -> None:
    """Forget that something was asked: in conversations, the terminal, and logs."""
    _forget(cli, "query", (query,), mentions=mentions, dry_run=dry_run, yes=yes)


for _command in (doc, source, query):
    forget.add_command(_command)


def _forget(
    cli: CliContext,
    kind: str,
    targets: Sequence[str],
    *,
    mentions: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Say what would go, ask, and have it go."""
    if not dry_run:
        cli.writes("forget")
    if not (yes or dry_run) and (cli.as_json or not cli.can_ask()):
        also = " --mentions" if mentions else ""
        raise InvalidInput(
            "nobody can be asked here whether to forget",
            hint=f"kebab forget {kind} {shlex.join(targets)}{also} --yes",
            details={"field": "yes"},
        )
    with cli.open() as kb:
        caches = _Caches(kb, cli.environ)
        if not (yes or dry_run):
            would = kb.forget(kind, targets, dry_run=True, mentions=mentions)
            cli.note(*_lines(caches.named_in(would)))
            if not cli.confirm("forget this, without a way back?"):
                cli.note("nothing was forgotten")
                return
        report = kb.forget(kind, targets, dry_run=dry_run, mentions=mentions)
        cli.show(caches.named_in(report), _lines)


class _Caches:
    """The folders that were asked with ``--in``, whose caches may hold what is forgotten."""

    def __init__(self, kb: KnowledgeBase, environ: Mapping[str, str]) -> None:
        from kb_app.workspaces import cached_folders

        self._folders = [Path(folder) for folder in cached_folders(environ)]
        # One that is forgotten is no source any more.
        roots = [root for _, root in kb.sources()] if self._folders else []
        self._roots = [Path(os.path.realpath(root)) for root in roots]

    def named_in(self, report: types.ForgetReport) -> types.ForgetReport:
        """Return *report* with those among what is left that a file of it lies in."""
        files = [root / path for root in self._roots for path in report["paths"]]
        named = (
            f"the cache of {folder}, which was asked with --in: "
            f"'kebab reset --workspace {shlex.quote(str(folder))}' deletes it"
            for folder in self._folders
            if any(file.is_relative_to(folder) for file in files)
        )
        return {**report, "left": [*report["left"], *named]}


def _lines(report: Shown) -> Iterator[str]:
    paths = report["paths"]
    yield from (f"  {printable(path)}" for path in paths[:_MOST_PATHS])
    if len(paths) > _MOST_PATHS:
        yield f"  and {count(len(paths) - _MOST_PATHS, 'more file')}"
    for mention in report["mentions"]:
        one, several, where = _NAMES[mention["kind"]]
        stays = "" if mention["goes"] else _stays(mention["kind"])
        yield f"  {count(mention['count'], one, several)} {where} {flat(mention['name'])}{stays}"
    for left in report["left"]:
        yield f"  not touched: {flat(left)}"
    verb = "would forget" if report["dry_run"] else "forgot"
    amount = f"{count(report['documents'], 'document')}, {count(report['chunks'], 'chunk')}"
    yield (
        f"{verb} {flat(report['targets'][0])}" if report["kind"] == "query" else f"{verb} {amount}"
    )


def _stays(kind: str) -> str:
    return ": yours to change" if kind == "golden_question" else ": stays without --mentions"
