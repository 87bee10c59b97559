"""Golden questions made of feedback: each is looked at by a person before it is one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kb_app.shown import count, flat, printable
from kb_cli._text import echo, style
from kb_core import wire
from kb_core.errors import InvalidInput

if TYPE_CHECKING:
    from kb_app._evals.said import Proposal
    from kb_cli._context import CliContext

__all__ = ["add_proposed"]

_QUOTED = 100
"""Characters of a passage that are shown."""


def add_proposed(cli: CliContext, words: Sequence[str], cases: str | None, *, yes: bool) -> None:
    """Show what feedback speaks for, and add what a person takes, or all with *yes*."""
    if words:
        raise InvalidInput(
            "--from-feedback takes the queries of the feedback, and no QUERY",
            hint="kebab eval add --from-feedback",
            details={"field": "query", "value": " ".join(words)},
        )
    if not yes and (cli.as_json or not cli.can_ask()):
        raise InvalidInput(
            "nobody can be asked here which of them to take",
            hint="look at 'kebab feedback list', then: kebab eval add --from-feedback --yes",
            details={"field": "yes"},
        )
    with cli.open() as kb:
        proposed = kb.propose_cases(cases)
        taken = [one for one in proposed if one.case.expected_places and (yes or _asked(cli, one))]
        kb.add_cases([one.case for one in taken], cases=cases)
    for one in proposed:
        for place in one.gone:
            cli.warn(f"{place}, for {flat(one.case.query)}: not there any more, and left out")
    if cli.as_json:
        for one in taken:
            cli.print_json(wire.eval_case(one.case))
    elif not proposed:
        echo("no feedback speaks for a case that is not there yet: kebab feedback list")
    else:
        echo(f"added {count(len(taken), 'case')} of {len(proposed):,}")


def _asked(cli: CliContext, proposal: Proposal) -> bool:
    cli.note("", *_shown(proposal))
    return cli.confirm("is that a golden question?")


def _shown(proposal: Proposal) -> Iterator[str]:
    yield style(printable(flat(proposal.case.query)), bold=True)
    for place in proposal.case.expected_places:
        yield f"  answers: {printable(place.uri)}"
        yield f"    {printable(flat(place.quote or ''))[:_QUOTED]}"
    yield from (f"  does not: {printable(uri)}" for uri in proposal.bad)
    yield from (f"  note: {printable(flat(note))}" for note in proposal.notes)
