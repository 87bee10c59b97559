"""Answers as people read them: why there is none, and a conversation as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from kb_app.shown import flat, local_time, printable

__all__ = ["answer_markdown", "refusal_text", "session_markdown"]

_Json: TypeAlias = Mapping[str, Any]

_REFUSED = {
    "no_chunks": "No passage was found for this question.",
    "score_gate": "Nothing here answers this question.",
    "llm_stream_aborted": "The answer was stopped.",
    "llm_self_judge": "The evidence is not enough to answer this, says the model.",
    "multi_hop_decompose_failed": "The model made no questions of this one that can be searched.",
    "verification_failed": "What the model wrote is not what the evidence says.",
    "verifier_unavailable": "What the model wrote could not be checked.",
    "no_model": "Answers are switched off ([ask] provider is none).",
}


def refusal_text(reason: str) -> str:
    """Return why there is no answer, as one sentence; of a reason nobody knows, itself."""
    return _REFUSED.get(reason, reason)


def session_markdown(session: _Json) -> str:
    """Return session.v1 as Markdown: questions as headings, answers, and where they stand."""
    lines = [f"# Conversation {session['session_id']}"]
    lines += [f"\n> {flat(warning)}" for warning in session.get("warnings", ())]
    for turn in session["turns"]:
        lines += ["", *_turn(turn["answer"])]
    return "\n".join(lines) + "\n"


def answer_markdown(answer: _Json) -> str:
    """Return answer.v1 as Markdown: the question as a heading, the answer, and its sources."""
    return "\n".join(_turn(answer)) + "\n"


def _turn(answer: _Json) -> Iterator[str]:
    yield f"## {flat(answer['question'])}\n"
    if rewritten := answer.get("rewritten_question"):
        yield f"*Asked as: {flat(rewritten)}*\n"
    reason = answer.get("refusal_reason")
    if reason is not None:
        yield f"*{refusal_text(reason)}*\n"
    if answer["answer"]:
        yield printable(answer["answer"], keep="\n\t") + "\n"
    if reason is not None and answer["citations"]:
        yield "What comes nearest:\n"
    for number, cited in enumerate(answer["citations"], start=1):
        yield f"{number}. {_place(cited)}"
    if answer["citations"]:
        yield ""
    yield f"<!-- {local_time(answer['created_at'])}, {flat(answer['model']['id'])} -->"


def _place(cited: _Json) -> str:
    label = flat(cited.get("section_label") or cited.get("title") or "")
    return f"`{flat(cited['citation']['uri'])}`" + (f" · {label}" if label else "")
