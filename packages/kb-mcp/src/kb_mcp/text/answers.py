"""Answers as text: each sentence under the place where it stands, or why there is none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from kb_app.shown.answers import refusal_text
from kb_mcp.text import indented, joined, marks_of, named, short

__all__ = ["answer_text"]

_Json: TypeAlias = Mapping[str, Any]

_NEXT = {
    "no_chunks": "Search with other words or fewer filters.",
    "score_gate": "What comes nearest:",
}


def answer_text(answer: _Json) -> str:
    """Return answer.v1 as text."""
    reason = answer["refusal_reason"]
    asked = answer.get("rewritten_question")
    lines = [f"asked as: {short(asked, 400)}"] if asked else []
    lines += [_refused(reason)] if reason else [f"answer, {_whose(answer['model'])}:"]
    if answer["model"]["provider"] != "extractive":
        lines += indented(answer["answer"])
    for one in answer["citations"]:
        lines += _quoted(one)
    if "turn_index" in answer:
        lines.append(f"session: {answer['conversation_id']}")
    lines += [f"warning: {short(one, 300)}" for one in answer.get("warnings", ())]
    return "\n".join(lines)


def _refused(reason: str) -> str:
    return " ".join(filter(None, ("no answer:", refusal_text(reason), _NEXT.get(reason))))


def _whose(model: _Json) -> str:
    is_quoted = model["provider"] == "extractive"
    return "verbatim" if is_quoted else f"written by {short(model['id'])}, with what it cites"


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
