"""``kebab feedback``: what a person says of hits, shown, exported and deleted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kb_app.shown import count, flat, printable
from kb_cli._context import CliContext
from kb_cli._declared import Declared, Whole, argument, command, option, subgroup
from kb_cli._text import table
from kb_core.errors import InvalidInput

if TYPE_CHECKING:
    from kb_core.evals import Verdict
    from kb_core.wire import types

__all__ = ["feedback"]

_MOST = 10_000
_FEEDBACK = """
kebab search "who takes the writer lock"
kebab feedback good 1
kebab feedback bad 2 3 --note "only names it"
kebab eval add --from-feedback
"""


@subgroup("feedback", example=_FEEDBACK)
def feedback() -> None:
    """Say whether a hit of the last search answers it.

    What is said is kept in a journal of the data directory. It changes no ranking; golden
    questions can be made of it.
    """


def _says(verdict: Verdict, help_text: str) -> Declared:
    @command(verdict, example=f"kebab feedback {verdict} 1")
    @argument("ranks", metavar="N...", nargs=-1, type=Whole(1, _MOST))
    @option("--note", metavar="TEXT", help="Why, in your own words.")
    def say(cli: CliContext, ranks: tuple[int, ...], note: str | None) -> None:
        cli.writes(f"feedback {verdict}")
        if not ranks:
            raise InvalidInput(
                "which hit? the number that it was shown with is missing",
                hint=f"kebab feedback {verdict} 1",
                details={"field": "hit"},
            )
        with cli.open() as kb:
            said = kb.judge_last(cli.terminal(), verdict, ranks, note=note)
        cli.show(said, lambda _: _told(said))

    say.help = help_text
    return say


def _told(said: types.FeedbackList) -> Iterator[str]:
    for row in said["items"]:
        place = f"{row['feedback_id']}  {row['verdict']}: {printable(row['citation'])}"
        yield f"{place}, for {printable(flat(row['query']))}"


def _rows(said: types.FeedbackList) -> Iterator[str]:
    rows = [
        (
            row["feedback_id"],
            row["verdict"],
            row["citation"],
            flat(row["query"]),
            row["created_at"][:10],
            flat(row.get("note", "")),
        )
        for row in said["items"]
    ]
    head = ("ID", "SAID", "PASSAGE", "QUERY", "ON", "NOTE")
    limit = {"PASSAGE": 44, "QUERY": 40, "NOTE": 40}
    yield from table(head, rows, limit=limit) if rows else ["nothing was said yet"]


@command("list", example="kebab feedback list")
def _list(cli: CliContext) -> None:
    """List what was said, the newest first."""
    with cli.open() as kb:
        said = kb.feedback()
    cli.show(said, lambda _: _rows(said))
    cli.warn(*said.get("warnings", ()))


@command("export", example="kebab feedback export > feedback.jsonl")
def _export(cli: CliContext) -> None:
    """Print all that was said: with --json one object, else one a line."""
    from kb_core import wire

    with cli.open() as kb:
        said = kb.feedback()
    cli.show(said, lambda _: map(wire.dumps, said["items"]))
    cli.warn(*said.get("warnings", ()))


_DELETE = """
kebab feedback delete 3f2a91c0
kebab feedback delete --all --yes
"""


@command("delete", example=_DELETE)
@argument("ids", metavar="[ID]...", nargs=-1)
@option("--all", "everything", is_flag=True, help="All of it.")
@option("--yes", is_flag=True, help="Do not ask.")
def _delete(cli: CliContext, ids: tuple[str, ...], everything: bool, yes: bool) -> None:
    """Delete what was said, for good.

    All of it is shown first, and you are asked.
    """
    cli.writes("feedback delete")
    if bool(ids) is everything:
        raise InvalidInput(
            "what? either ids or --all",
            hint="kebab feedback list",
            details={"field": "id"},
        )
    with cli.open() as kb:
        if everything and not yes:
            _confirm(cli, kb.feedback())
        gone = kb.delete_feedback(None if everything else ids)
    cli.show(gone, lambda _: [f"deleted: {count(gone['total'], 'line')} of feedback"])


def _confirm(cli: CliContext, said: types.FeedbackList) -> None:
    if cli.as_json or not cli.can_ask():
        raise InvalidInput(
            "nobody can be asked here whether to delete",
            hint="kebab feedback delete --all --yes",
            details={"field": "yes"},
        )
    cli.note(*_rows(said))
    cli.confirm("delete this?", abort=True)


_good = _says("good", "Say that hits of the last search answer it.")
_bad = _says("bad", "Say that hits of the last search do not answer it.")
for _part in (_good, _bad, _list, _export, _delete):
    feedback.add_command(_part)
