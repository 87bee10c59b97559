"""Answers on the wire, and what happens while one is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kb_core.version import __version__
from kb_core.wire._json import decimal, timestamp
from kb_core.wire._search import citation, hit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kb_core.answers import Answer, Cited
    from kb_core.search import Hit
    from kb_core.wire import types

__all__ = [
    "answer",
    "answer_final",
    "answer_retrieved",
    "answer_token",
    "session",
    "session_list",
    "session_turn",
]


def answer(given: Answer) -> types.Answer:
    """Return answer.v1."""
    question, best = given.question, next(iter(given.hits), None)
    used = {cited.hit.chunk_id for cited in given.citations if cited.marker is not None}
    out: types.Answer = {
        "schema_version": "answer.v1",
        "question": question.text,
        "answer": given.text,
        "citations": list(map(_cited, given.citations)),
        "grounded": given.refusal is None,
        "refusal_reason": given.refusal,
        "model": {"id": given.writer, "provider": given.provider},
        "embedding": None,
        "prompt_template_version": given.rules,
        "retrieval": {
            "trace_id": given.trace_id,
            "mode": question.mode.value,
            "k": question.k,
            "score_gate": given.threshold,
            "top_score": decimal(best.score) if best else None,
            "chunks_returned": len(given.hits),
            "chunks_used": len(used),
        },
        "usage": {
            "prompt_tokens": given.prompt_tokens,
            "completion_tokens": given.completion_tokens,
            "latency_ms": given.latency_ms,
        },
        "created_at": timestamp(given.created_at),
        "corpus_revision": given.corpus_revision,
    }
    if given.embedding is not None:
        model = given.embedding
        out["embedding"] = {
            "id": model.key,
            "provider": model.provider,
            "dimensions": model.dimensions,
        }
    _add_what_there_is(out, given)
    return out


def _add_what_there_is(out: types.Answer, given: Answer) -> None:
    _add_conversation(out, given)
    if given.hops:
        out["hops"] = [
            {"hop": hop.number, "queries": list(hop.queries), "found": list(hop.found)}
            for hop in given.hops
        ]
    if given.verification is not None:
        score, passed = decimal(given.verification.score), given.verification.passed
        out["verification"] = {"score": score, "threshold": 1.0, "passed": passed}
    if given.stages:
        out["stages"] = [
            {"name": stage.name, "took_ms": stage.milliseconds, "said": stage.said}
            for stage in given.stages
        ]
    if given.confidence is not None:
        out["confidence"] = given.confidence
    if given.degraded:
        out["degraded"] = list(given.degraded)
    if given.warnings:
        out["warnings"] = list(given.warnings)


def _add_conversation(out: types.Answer, given: Answer) -> None:
    if given.rewritten is not None:
        out["rewritten_question"] = given.rewritten
    if given.conversation is not None:
        out["conversation_id"] = given.conversation
    if given.turn is not None:
        out["turn_index"] = given.turn


def _cited(given: Cited) -> types.AnswerCited:
    found = given.hit
    out: types.AnswerCited = {
        "marker": None if given.marker is None else f"[{given.marker}]",
        "quote": given.quote,
        "citation": citation(given.citation),
        "chunk_id": found.chunk_id,
        "doc_id": found.doc_id,
        "doc_path": found.doc_path,
        "source_id": found.source_id,
        "title": found.title,
        "section_label": getattr(given.citation.span, "section", None) or found.section_label,
        "trust_level": found.trust_level,
        "indexed_at": timestamp(found.indexed_at),
        "stale": found.stale,
    }
    if given.lead is not None:
        out["lead"] = given.lead
    if given.span is not None:
        out["span"] = given.span
    if given.hop is not None:
        out["hop"] = given.hop
    if found.flags:
        out["flags"] = list(found.flags)
    return out


def answer_retrieved(hits: Sequence[Hit]) -> types.AnswerEvent:
    """Return answer_event.v1: what was found, before anything is made of it."""
    found = list(map(hit, hits))
    return {"schema_version": "answer_event.v1", "kind": "retrieval_done", "hits": found}


def answer_token(delta: str) -> types.AnswerEvent:
    """Return answer_event.v1: what the answer goes on with."""
    return {"schema_version": "answer_event.v1", "kind": "token", "delta": delta}


def answer_final(given: Answer) -> types.AnswerEvent:
    """Return answer_event.v1: the end."""
    return {"schema_version": "answer_event.v1", "kind": "final", "answer": answer(given)}


def session_turn(given: Answer, number: int) -> types.SessionTurn:
    """Return session_turn.v1 of the answer that has this number in its conversation."""
    return {
        "schema_version": "session_turn.v1",
        "turn_index": number,
        "kebab_version": __version__,
        "evidence": [hit.chunk_id for hit in given.hits],
        "answer": answer(given),
    }


def session(
    name: str, turns: Sequence[types.SessionTurn], warnings: Sequence[str] = ()
) -> types.Session:
    """Return session.v1."""
    out: types.Session = {
        "schema_version": "session.v1",
        "session_id": name,
        "turns": list(turns),
    }
    if warnings:
        out["warnings"] = list(warnings)
    return out


def session_list(kept: Sequence[tuple[types.Session, int]]) -> types.SessionList:
    """Return session_list.v1 of conversations with the bytes of their journals."""
    items = [_listed(one, size) for one, size in kept]
    items.sort(key=lambda item: (item["used_at"] or "", item["session_id"]), reverse=True)
    return {
        "schema_version": "session_list.v1",
        "items": items,
        "total": len(items),
        "next_cursor": None,
    }


def _listed(kept: types.Session, size: int) -> types.SessionListItems:
    answers = [turn["answer"] for turn in kept["turns"]]
    return {
        "session_id": kept["session_id"],
        "question": answers[0]["question"] if answers else None,
        "turns": len(answers),
        "started_at": answers[0]["created_at"] if answers else None,
        "used_at": answers[-1]["created_at"] if answers else None,
        "bytes": size,
    }
