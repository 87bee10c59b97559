"""Answers as text: each sentence under the place where it stands, or why there is none.

What is quoted of code, a whole function or class, is shown by its lines that tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from kb_app.shown import count
from kb_app.shown.answers import refusal_text
from kb_mcp.text import (
    BUDGET,
    error_text,
    indented,
    joined,
    marks_of,
    named,
    numbered_head,
    short,
    tokens_of,
)
from kb_mcp.text.telling import LookUp, code_lines

__all__ = ["answer_text", "answers_text"]

_Json: TypeAlias = Mapping[str, Any]

_ALONE, _EACH = 900, 360
"""Characters of each quotation of code, in the answer to one question and to several."""
_LAST = 20
"""Tokens of the line that says what was left out."""
_NEXT = {
    "no_chunks": "Search with other words or fewer filters.",
    "score_gate": "What comes nearest:",
}


def answer_text(answer: _Json, question: str, look_up: LookUp | None = None) -> str:
    """Return answer.v1 as text."""
    head = [] if answer["refusal_reason"] else [f"answer, {_whose(answer['model'])}:"]
    said = _said(answer, question, _ALONE, look_up)
    return "\n".join([*_asked(answer), *head, *said])


def answers_text(
    answers: Sequence[tuple[str, _Json]],
    max_tokens: int | None = None,
    look_up: LookUp | None = None,
) -> str:
    """Return answers, or errors, each under its question, as many as the budget holds."""
    left = max_tokens or BUDGET
    parts: list[str] = []
    for at, (question, answer) in enumerate(answers, start=1):
        if "code" in answer:
            said = [error_text(answer)]
        else:
            said = [*_asked(answer), *_said(answer, question, _EACH, look_up)]
        part = "\n".join([numbered_head(at, question), *said])
        left -= tokens_of(part) + 1
        if left < _LAST:
            rest = len(answers) - at + 1
            parts.append(f"… {count(rest, 'question')} left out: give max_tokens")
            break
        parts.append(part)
    return "\n".join(parts)


def _asked(answer: _Json) -> list[str]:
    asked = answer.get("rewritten_question")
    return [f"asked as: {short(asked, 400)}"] if asked else []


def _said(answer: _Json, question: str, of_code: int, look_up: LookUp | None) -> Iterator[str]:
    if reason := answer["refusal_reason"]:
        yield " ".join(filter(None, ("no answer:", refusal_text(reason), _NEXT.get(reason))))
    if answer["model"]["provider"] != "extractive":
        yield from indented(answer["answer"])
    for one in answer["citations"]:
        yield from _quoted(one, question, of_code, look_up)
    if "turn_index" in answer:
        yield f"session: {answer['conversation_id']}"
    yield from (f"warning: {short(one, 300)}" for one in answer.get("warnings", ()))


def _whose(model: _Json) -> str:
    is_quoted = model["provider"] == "extractive"
    return "verbatim" if is_quoted else f"written by {short(model['id'])}, with what it cites"


def _quoted(cited: _Json, question: str, of_code: int, look_up: LookUp | None) -> Iterator[str]:
    yield joined(_where(cited), short(cited.get("section_label") or ""), *marks_of(cited))
    if lead := cited.get("lead"):
        yield from indented(lead)
    if cited["citation"]["kind"] == "code":
        yield from code_lines(cited, question, of_code, look_up)
    else:
        yield from indented(cited["quote"])


def _where(cited: _Json) -> str:
    """Return the place as it can be asked for: a path with lines, else with what is no line."""
    place, path = cited["citation"], named(cited["doc_path"])
    if place["kind"] in {"line", "code"}:
        first = place.get("line_start", place.get("start"))
        last = place.get("line_end", place.get("end"))
        return f"{path}:{first}" + (f"-{last}" if last != first else "")
    return f"{path}#{short(place['uri'].rpartition('#')[2])}"
