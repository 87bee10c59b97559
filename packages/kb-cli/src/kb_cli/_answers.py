"""Answers as a person reads them: what is quoted with its places, or why there is no answer."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from kb_app.shown import count, flat, local_time, printable
from kb_app.shown.answers import refusal_text
from kb_cli._context import Shown
from kb_cli._text import shorten, style, table, terminal_width, wrap

if TYPE_CHECKING:
    from kb_core.wire import types

__all__ = ["answer_lines", "conversation_rows", "explanation", "session_lines"]

_HINTS = {
    "no_chunks": "search more widely: fewer filters, other words",
    "score_gate": "what comes nearest is below, and may say it in other words",
    "no_model": 'set [ask] provider = "extractive" in the configuration, or KEBAB_ASK_PROVIDER',
}
_INDENT = "    "
_FENCES = ("```", "~~~")
_LINED = ("\t", "|", *_FENCES)
"""What has one of these is read line by line."""
_ITEM = re.compile(r"\n(?=[ ]{0,12}(?:[-*+•]|\d{1,3}[.)])[ ])")
"""What parts the items of a list, which do not flow into each other."""
_QUESTION_COLUMNS = 60


def answer_lines(
    answer: types.Answer,
    columns: int,
    *,
    places: bool,
    said: bool = True,
    shared: Collection[str] = (),
) -> Iterator[str]:
    """Yield what a person reads of answer.v1, with its *places* if they are wanted.

    Without *said*, the answer itself was read while it came. *shared* are paths that several
    sources have.
    """
    reason = answer["refusal_reason"]
    yield from _answered(answer, columns) if said else ()
    if reason is None:
        yield from [""] if said else []
    else:
        yield style(refusal_text(reason), fg="yellow")
        if hint := _HINTS.get(reason):
            yield style(f"hint: {hint}", dim=True)
    shown = answer["citations"] if places else ()
    for number, cited in enumerate(shown, start=1):
        source = cited.get("source_id", "") if cited["citation"]["path"] in shared else ""
        yield from _place(number, cited, source, near=reason is not None)
        if reason is not None and cited.get("quote"):
            yield from _excerpt(cited, answer["question"], columns - len(_INDENT))


def _answered(answer: types.Answer, columns: int) -> Iterator[str]:
    reason = answer["refusal_reason"]
    if answer["model"]["provider"] == "extractive":
        for cited in answer["citations"] if reason is None else ():
            yield from _said(cited, columns)
    else:
        for line in printable(answer["answer"], keep="\n").splitlines():
            yield from wrap(line, columns) or [""]


def _said(cited: Mapping[str, Any], columns: int) -> Iterator[str]:
    marker = style(f" {cited['marker']}", fg="cyan")
    if lead := cited.get("lead"):
        yield from (style(part, dim=True) for part in wrap(printable(flat(lead)), columns))
    *before, last = _quoted(cited, columns)
    yield from before
    yield last + marker


def _quoted(cited: Mapping[str, Any], columns: int) -> list[str]:
    """Return the quote in lines: prose flows, rows and code keep theirs, without fences."""
    quote, span = cited["quote"], cited.get("span")
    is_flowing = cited["citation"]["kind"] != "code" and not any(sign in quote for sign in _LINED)
    lines = [line for part in _ITEM.split(quote) for line in _laid_out(part) or [flat(part)]]
    if not is_flowing:
        kept = printable(quote, keep="\n\t").splitlines()
        lines = [line for line in kept if not line.lstrip().startswith(_FENCES)]
    parts = [part for line in lines for part in wrap(line.expandtabs(4), columns - 5)] or [""]
    if not span:
        return parts
    strong = style(printable(span), bold=True)
    return [part.replace(printable(span), strong, 1) for part in parts]


def _laid_out(text: str) -> list[str]:
    """Return the lines of *text* where a block in it has several indents, as code has; else none.

    The first line is quoted from its first letter on, so that its own indent is not known.
    """
    first, *rest = printable(text, keep="\n\t").expandtabs(4).rstrip().splitlines() or [""]
    indents = [len(line) - len(line.lstrip()) if line.strip() else None for line in rest]
    blocks = groupby(indents, key=lambda indent: indent is None)
    if all(is_blank or len(set(block)) == 1 for is_blank, block in blocks):
        return []
    least = min(indent for indent in indents if indent is not None)
    is_opened = first.endswith((":", "{", "(", "[")) and indents[0] == least
    cut = least - min(least, len(_INDENT) if is_opened else 0)
    return [first, *(line[cut:] for line in rest)]


def _place(number: int, cited: Mapping[str, Any], source: str, *, near: bool) -> Iterator[str]:
    from kb_cli._hits import place_of
    from kb_core.citations import parse_citation

    path, where, line = place_of(parse_citation(cited["citation"]["uri"]))
    head = style(path, fg="cyan") + (where if line is None else ":" + style(str(line), fg="green"))
    heading = flat(cited.get("section_label") or cited.get("title") or "")
    given = (source, "stale" if cited["stale"] else "", *cited.get("flags", ()))
    marks = [mark for mark in given if mark]
    marked = "".join(f"  [{flat(mark)}]" for mark in marks)
    label = f"{number:>2}. " if near else f"[{number}] "
    yield f"{label}{head}" + (style(f" · {heading}", dim=True) if heading else "") + marked


def _excerpt(cited: Mapping[str, Any], question: str, columns: int) -> Iterator[str]:
    """Yield what a passage that comes near says of the question, as a search shows it."""
    from kb_app.shown.excerpts import Passage, excerpt

    medium = "code" if cited["citation"]["kind"] == "code" else "text"
    headings = cited.get("section_label") or "", cited.get("title") or ""
    passage = Passage(cited["quote"], medium, headings, starts=True)
    for line in excerpt(passage, question, columns=columns).lines:
        text = printable(line.text.expandtabs(4).rstrip())
        yield from (_INDENT + part for part in wrap(text, columns))


def explanation(answer: types.Answer) -> Iterator[str]:
    """Yield how the answer came about, step by step, and how long each step took."""
    stages = answer.get("stages", ())
    longest = max((len(stage["name"]) for stage in stages), default=0)
    for stage in stages:
        yield f"{stage['name']:<{longest}}  {stage['took_ms']:>6} ms  {flat(stage['said'])}"
    model, usage = answer["model"], answer["usage"]
    used = answer["retrieval"]["chunks_used"]
    by = f"{flat(model['id'])} ({answer['prompt_template_version']})"
    yield f"cited: {count(used, 'passage')}; by {by}; all in {usage['latency_ms']} ms"


def session_lines(found: Shown, shared: Collection[str]) -> Iterator[str]:
    """Yield session.v1: each question with what came of it; *shared* as for ``answer_lines``."""
    columns = terminal_width()
    for turn in found["turns"]:
        answer = turn["answer"]
        yield style(f"{turn['turn_index']}. {flat(answer['question'])}", bold=True)
        if rewritten := answer.get("rewritten_question"):
            yield style(f"asked as: {flat(rewritten)}", dim=True)
        yield from answer_lines(answer, columns, places=True, shared=shared)
        yield ""
    yield count(len(found["turns"]), "turn")


def conversation_rows(items: Sequence[Shown]) -> list[str]:
    """Return the items of session_list.v1 as a table; no line for none."""
    if not items:
        return []
    rows = [
        (
            row["session_id"],
            local_time(row["used_at"]),
            row["turns"],
            shorten(flat(row["question"] or "-"), _QUESTION_COLUMNS),
        )
        for row in items
    ]
    return list(table(("NAME", "USED", "TURNS", "FIRST QUESTION"), rows))
