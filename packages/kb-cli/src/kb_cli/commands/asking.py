"""``kebab ask``: an answer in the words of the documents, with its places, or a refusal."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from kb_app.shown import count, flat, printable
from kb_cli._command import command
from kb_cli._context import CliContext, pass_cli
from kb_cli._options import (
    filter_options,
    filters_of,
    hits_option,
    in_option,
    mode_option,
    only_text,
)
from kb_cli._text import terminal_width, wrap

if TYPE_CHECKING:
    from kb_core.wire import types

__all__ = ["ask"]

_ASK = """
kebab ask "how long may a worker take for one file"
kebab ask "when was the lease signed" --tag contracts --json
kebab ask "who takes the writer lock" --in ~/src/some-clone
"""

_REFUSED = 1
_REASONS = {
    "no_chunks": "No passage was found for this question.",
    "score_gate": "Nothing here answers this question.",
    "llm_stream_aborted": "The answer was stopped.",
    "llm_self_judge": "The evidence is not enough to answer this, says the model.",
    "verification_failed": "What the model wrote is not what the evidence says.",
    "no_model": "Answers are switched off ([ask] provider is none).",
}
_HINTS = {
    "no_chunks": 'search more widely: fewer filters, other words; or kebab search "…"',
    "score_gate": "the passages that come nearest are below",
    "no_model": "kebab config: set [ask] provider to extractive",
}
_INDENT = "    "
_FENCES = ("```", "~~~")
_LINED = ("\t", "|", *_FENCES)
"""What has one of these is read line by line."""


@command("ask", example=_ASK)
@click.argument("words", metavar="QUESTION", nargs=-1)
@hits_option("How many passages to find; the best are read closely.")
@mode_option("Find them by words, by meaning, or by both.")
@click.option(
    "--show-citations/--hide-citations",
    "citations",
    default=True,
    help="Print where each part of the answer stands.  [default: show]",
)
@click.option("--stream", is_flag=True, help="With --json: print events on stderr as they happen.")
@click.option("--explain", is_flag=True, help="Say what was searched, read and decided.")
@filter_options
@in_option
@click.pass_context
@pass_cli
def ask(
    cli: CliContext,
    ctx: click.Context,
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
        filters=filters_of(options),
    )
    with cli.open() as kb:
        answer = _last(kb.ask(question), stream=stream and cli.as_json)
    if cli.as_json:
        cli.print_json(answer)
    else:
        columns = terminal_width()
        click.echo("\n".join(_lines(answer, columns, places=shown)), color=cli.color)
        cli.note(*(f"degraded: {printable(reason)}" for reason in answer.get("degraded", ())))
        cli.warn(*answer.get("warnings", ()))
        if explain:
            cli.note(*_explained(answer))
    if not answer["grounded"]:
        ctx.exit(_REFUSED)


def _last(events: Iterator[types.AnswerEvent], *, stream: bool) -> types.Answer:
    """Return the answer that *events* end in, perhaps telling each of them."""
    from kb_core import wire

    for event in events:
        if stream:
            click.echo(wire.dumps(event), err=True)
            sys.stderr.flush()
        if event["kind"] == "final":
            return event["answer"]
    raise RuntimeError("an answer ended without its last event")


def _lines(answer: types.Answer, columns: int, *, places: bool) -> Iterator[str]:
    reason = answer["refusal_reason"]
    if reason is None:
        for cited in answer["citations"]:
            yield from _said(cited, columns)
        yield ""
    else:
        yield click.style(_REASONS.get(reason, reason), fg="yellow")
        if hint := _HINTS.get(reason):
            yield click.style(f"hint: {hint}", dim=True)
    for number, cited in enumerate(answer["citations"] if places else (), start=1):
        yield from _place(number, cited, columns, near=reason is not None)


def _said(cited: Mapping[str, Any], columns: int) -> Iterator[str]:
    marker = click.style(f" {cited['marker']}", fg="cyan")
    if lead := cited.get("lead"):
        yield from (click.style(part, dim=True) for part in wrap(printable(flat(lead)), columns))
    *before, last = _quoted(cited, columns)
    yield from before
    yield last + marker


def _quoted(cited: Mapping[str, Any], columns: int) -> list[str]:
    """Return the quote in lines: prose flows, rows and code keep theirs, without fences."""
    quote, span = cited["quote"], cited.get("span")
    is_flowing = cited["citation"]["kind"] != "code" and not any(sign in quote for sign in _LINED)
    lines = [flat(quote)]
    if not is_flowing:
        kept = printable(quote, keep="\n\t").splitlines()
        lines = [line for line in kept if not line.lstrip().startswith(_FENCES)]
    parts = [part for line in lines for part in wrap(line.expandtabs(4), columns - 5)] or [""]
    if not span:
        return parts
    strong = click.style(printable(span), bold=True)
    return [part.replace(printable(span), strong, 1) for part in parts]


def _place(number: int, cited: Mapping[str, Any], columns: int, *, near: bool) -> Iterator[str]:
    from kb_cli._hits import place_of
    from kb_core.citations import parse_citation

    path, where, line = place_of(parse_citation(cited["citation"]["uri"]))
    head = click.style(path, fg="cyan") + (
        where if line is None else ":" + click.style(str(line), fg="green")
    )
    heading = flat(cited.get("section_label") or cited.get("title") or "")
    marks = [mark for mark in ("stale" if cited["stale"] else "", *cited.get("flags", ())) if mark]
    marked = "".join(f"  [{flat(mark)}]" for mark in marks)
    label = f"{number:>2}. " if near else f"[{number}] "
    yield f"{label}{head}" + (click.style(f" · {heading}", dim=True) if heading else "") + marked
    if near and cited.get("quote"):
        yield from (_INDENT + part for part in wrap(flat(cited["quote"]), columns - len(_INDENT)))


def _explained(answer: types.Answer) -> Iterator[str]:
    found, usage, model = answer["retrieval"], answer["usage"], answer["model"]
    vectors = answer["embedding"]
    yield (
        f"searched: {found['mode']}, {count(found['chunks_returned'], 'passage')} found"
        + (f", vectors of {vectors['id']}" if vectors else ", no vectors")
    )
    gate, sure = found["score_gate"], answer.get("confidence")
    judged = "no gate for this model" if gate is None else f"answers from {gate:.2f} on"
    yield f"judged: {'confidence unknown' if sure is None else f'confidence {sure:.2f}'}, {judged}"
    yield f"written by: {model['id']} ({answer['prompt_template_version']})"
    yield f"took: {usage['latency_ms']} ms"
