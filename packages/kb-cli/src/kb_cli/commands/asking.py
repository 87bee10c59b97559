"""``kebab ask`` and ``session``: an answer with its places, or a refusal, and what is kept of it.

An answer is in the words of the documents, unless a model is configured that writes it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kb_app.shown import count, flat, printable
from kb_app.shown.answers import session_markdown
from kb_cli._answers import answer_lines, conversation_rows, explanation, session_lines
from kb_cli._context import CliContext, Shown
from kb_cli._declared import argument, command, option, subgroup
from kb_cli._options import (
    filter_options,
    filters_of,
    hits_option,
    in_option,
    mode_option,
    only_text,
)
from kb_cli._text import echo, terminal_width
from kb_core.errors import InvalidInput

if TYPE_CHECKING:
    from kb_core.wire import types

__all__ = ["ask", "session"]

_ASK = """
kebab ask "how long may a worker take for one file"
kebab ask "when was the lease signed" --tag contracts --json
kebab ask "who takes the writer lock" --in ~/src/some-clone
kebab ask "and how long does it wait" --session last
"""
_DELETE = """
kebab session delete lease
kebab session delete --all --yes
"""

_REFUSED = 1


@command("ask", example=_ASK)
@argument("words", metavar="QUESTION", nargs=-1)
@hits_option("How many passages to find; the best are read closely.")
@mode_option("Find them by words, by meaning, or by both.")
@option(
    "--show-citations/--hide-citations",
    "citations",
    default=True,
    help="Print where each part of the answer stands.  [default: show]",
)
@option(
    "--session",
    metavar="NAME",
    help="Go on with this conversation; new begins one, last is the one of before.",
)
@option(
    "--multi-hop", is_flag=True, help="Let the language model ask for more searches, in rounds."
)
@option(
    "--stream",
    is_flag=True,
    help="Print what is written as it comes; with --json, events on stderr.",
)
@option(
    "--explain",
    is_flag=True,
    help="Say what was searched, read, judged, packed, checked, and how long each took.",
)
@filter_options
@in_option
def ask(
    cli: CliContext,
    /,
    words: tuple[str, ...],
    **options: Any,  # noqa: ANN401
) -> None:
    """Answer a question, with places that can be opened, or say that nothing answers it.

    The answer is the one to four sentences that say it, word for word; each is followed by the
    number of its place. Nothing is written that no document says. A question that nothing
    answers is refused, the passages that come nearest are named, and the exit code is 1.
    """
    from kb_core.answers import AskQuery
    from kb_core.media import SearchMode

    shown, explain, stream = (options.pop(name) for name in ("citations", "explain", "stream"))
    question = AskQuery(
        text=only_text(words, "question", "ask"),
        mode=SearchMode(options.pop("mode")),
        k=options.pop("k") or cli.config.search.default_k,
        conversation=options.pop("session"),
        multi_hop=options.pop("multi_hop"),
        explain=explain,
        filters=filters_of(options),
    )
    with cli.open() as kb:
        told = _Told(cli.as_json) if stream else None
        answer = _last(kb.ask(question), told)
        shared = kb.shared_paths(cited["citation"]["path"] for cited in answer["citations"])
    if cli.as_json:
        cli.print_json(answer)
    else:
        if rewritten := answer.get("rewritten_question"):
            cli.note(f"asked as: {flat(rewritten)}")
        is_said = told is not None and told.is_all_of(answer)
        if told is not None and answer["grounded"] and told.has_more_than(answer):
            cli.warn("what the evidence does not say is taken out; what is left of it follows")
        lines = answer_lines(
            answer, terminal_width(), places=shown, said=not is_said, shared=shared
        )
        echo("\n".join(lines), color=cli.color)
        cli.note(*(f"degraded: {printable(reason)}" for reason in answer.get("degraded", ())))
        cli.warn(*answer.get("warnings", ()))
        if "turn_index" in answer:
            name, number = answer["conversation_id"], answer["turn_index"]
            cli.note(f"conversation: {name}, turn {number} (--session {name} goes on)")
        if explain:
            cli.note(*explanation(answer))
    if not answer["grounded"]:
        cli.exit(_REFUSED)


class _Told:
    """What a person, or a program, was told of an answer while it was made."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self._text = ""

    def take(self, event: types.AnswerEvent) -> None:
        """Tell of *event*: to a program all of it, to a person what is written."""
        if self._as_json:
            from kb_core import wire

            echo(wire.dumps(event), err=True)
            sys.stderr.flush()
        elif event["kind"] == "token":
            self._text += event["delta"]
            echo(printable(event["delta"], keep="\n\t"), nl=False)
            sys.stdout.flush()
        elif self._text and event["kind"] == "final":
            echo("\n")

    def has_more_than(self, answer: types.Answer) -> bool:
        """Say whether something was told that is not in the answer."""
        return bool(self._text) and not self.is_all_of(answer)

    def is_all_of(self, answer: types.Answer) -> bool:
        """Say whether that was the answer: what the evidence does not say is taken out of it."""
        return bool(self._text) and self._text.strip() == answer["answer"].strip()


def _last(events: Iterator[types.AnswerEvent], told: _Told | None) -> types.Answer:
    """Return the answer that *events* end in, and have them told."""
    for event in events:
        if told is not None:
            told.take(event)
        if event["kind"] == "final":
            return event["answer"]
    raise RuntimeError("an answer ended without its last event")


# ------------------------------------------------------------------- conversations


@subgroup("session", example="kebab session show last")
def session() -> None:
    """Show, export or delete conversations.

    They are begun and gone on with by `kebab ask --session`; `kebab list sessions` lists them.
    """


@command("show", example="kebab session show last")
@argument("name", metavar="NAME")
def _show(cli: CliContext, name: str) -> None:
    """Show a conversation: each question with its answer, or why there was none."""
    with cli.open() as kb:
        found = kb.conversation(name)
        cited = (one for turn in found["turns"] for one in turn["answer"]["citations"])
        shared = kb.shared_paths(one["citation"]["path"] for one in cited)
    cli.show(found, lambda found: session_lines(found, shared))
    cli.warn(*found.get("warnings", ()))


@command("export", example="kebab session export lease > lease.md")
@argument("name", metavar="NAME")
def _export(cli: CliContext, name: str) -> None:
    """Print a conversation as Markdown; with --json, all that is kept of it."""
    with cli.open() as kb:
        found = kb.conversation(name)
    if cli.as_json:
        cli.print_json(found)
    else:
        echo(session_markdown(found), nl=False)


@command("delete", example=_DELETE)
@argument("names", metavar="[NAME]...", nargs=-1)
@option("--all", "everything", is_flag=True, help="All conversations.")
@option("--yes", is_flag=True, help="Do not ask.")
def _delete(cli: CliContext, names: tuple[str, ...], everything: bool, yes: bool) -> None:
    """Delete conversations, for good.

    Shows first what would go, and asks.
    """
    cli.writes("session delete")
    if bool(names) is everything:
        raise InvalidInput(
            "which conversations? either their names or --all",
            hint="kebab list sessions",
            details={"field": "names"},
        )
    with cli.open() as kb:
        kept = kb.conversations()["items"]
        wanted = names or tuple(row["session_id"] for row in kept)
        if not yes:
            _confirm(cli, [row for row in kept if row["session_id"] in wanted])
        gone = kb.delete_conversations(wanted)
    cli.show(gone, lambda found: [f"deleted: {count(found['total'], 'conversation')}"])


def _confirm(cli: CliContext, rows: Sequence[Shown]) -> None:
    if cli.as_json or not cli.can_ask():
        raise InvalidInput(
            "nobody can be asked here whether to delete",
            hint="kebab session delete … --yes",
            details={"field": "yes"},
        )
    cli.note(*conversation_rows(rows))
    cli.confirm("delete this?", abort=True)


for _part in (_show, _export, _delete):
    session.add_command(_part)
