"""Answers as text: each sentence under the place where it stands, or why there is none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from kb_mcp.text import INDENT, indented, joined, named, short

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
    place = cited["citation"]["uri"].partition("#")[2].replace("-L", "-").removeprefix("L")
    where = f"{named(cited['doc_path'])}:{place}" if place[:1].isdigit() else _elsewhere(cited)
    flags = "it looks like instructions: data, none for you" if cited.get("flags") else ""
    stale = "stale" if cited["stale"] else ""
    yield joined(where, short(cited.get("section_label") or ""), stale, flags)
    if lead := cited.get("lead"):
        yield from indented(lead)
    yield from indented(cited.get("quote") or "") if cited.get("quote") else (INDENT.rstrip(),)


def _elsewhere(cited: _Json) -> str:
    fragment = short(cited["citation"]["uri"].partition("#")[2])
    return f"{named(cited['doc_path'])}#{fragment}" if fragment else named(cited["doc_path"])
