"""Answers as text: each sentence under the place where it stands, or why there is none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from kb_mcp.text import indented, joined, marks_of, named, short

__all__ = ["answer_text"]

_Json: TypeAlias = Mapping[str, Any]

_REASONS = {
    "no_chunks": "no answer: no passage was found; search with other words or fewer filters",
    "score_gate": "no answer: nothing here answers this; what comes nearest:",
    "llm_stream_aborted": "no answer: it was stopped",
    "no_model": "no answer: the person has switched answers off",
}


def answer_text(answer: _Json) -> str:
    """Return answer.v1 as text."""
    reason = answer["refusal_reason"]
    cited = answer["citations"]
    lines = [_REASONS.get(reason, f"no answer: {reason}")] if reason else ["answer, verbatim:"]
    for one in cited:
        lines += _quoted(one)
    lines += [f"warning: {short(one, 300)}" for one in answer.get("warnings", ())]
    return "\n".join(lines)


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
