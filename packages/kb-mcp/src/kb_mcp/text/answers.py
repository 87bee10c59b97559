"""Answers as text: each sentence under the place where it stands, or why there is none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from kb_app.shown import count
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

__all__ = ["answer_text", "answers_text"]

_Json: TypeAlias = Mapping[str, Any]

_REASONS = {
    "no_chunks": "no answer: no passage was found; search with other words or fewer filters",
    "score_gate": "no answer: nothing here answers this; what comes nearest:",
    "llm_stream_aborted": "no answer: it was stopped",
    "no_model": "no answer: the person has switched answers off",
}


def answer_text(answer: _Json) -> str:
    """Return answer.v1 as text."""
    return "\n".join([*([] if answer["refusal_reason"] else ["answer, verbatim:"]), *_said(answer)])


def answers_text(answers: Sequence[tuple[str, _Json]], max_tokens: int | None = None) -> str:
    """Return answers, or errors, each under its question, as many as the budget holds."""
    left = max_tokens or BUDGET
    parts: list[str] = []
    for at, (question, answer) in enumerate(answers, start=1):
        said = [error_text(answer)] if "code" in answer else _said(answer)
        part = "\n".join([numbered_head(at, question), *said])
        left -= tokens_of(part) + 1
        if left < _LAST:
            rest = len(answers) - at + 1
            parts.append(f"… {count(rest, 'question')} left out: give max_tokens")
            break
        parts.append(part)
    return "\n".join(parts)


_LAST = 20
"""Tokens of the line that says what was left out."""


def _said(answer: _Json) -> list[str]:
    reason = answer["refusal_reason"]
    lines = [_REASONS.get(reason, f"no answer: {reason}")] if reason else []
    for one in answer["citations"]:
        lines += _quoted(one)
    return [*lines, *(f"warning: {short(one, 300)}" for one in answer.get("warnings", ()))]


def _quoted(cited: _Json) -> Iterator[str]:
    yield joined(_where(cited), short(cited.get("section_label") or ""), *marks_of(cited))
    if lead := cited.get("lead"):
        yield from indented(lead)
    yield from indented(cited["quote"])


def _where(cited: _Json) -> str:
    """Return the place as it can be asked for: a path with lines, else with what is no line."""
    place, path = cited["citation"], named(cited["doc_path"])
    if place["kind"] in {"line", "code"}:
        first = place.get("line_start", place.get("start"))
        last = place.get("line_end", place.get("end"))
        return f"{path}:{first}" + (f"-{last}" if last != first else "")
    return f"{path}#{short(place['uri'].rpartition('#')[2])}"
