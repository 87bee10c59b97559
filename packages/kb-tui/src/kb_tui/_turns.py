"""Turns of a conversation as the pane Ask shows them: quoted, written, refused, or kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from kb_app.shown.answers import refusal_text
from kb_core import wire
from kb_core.answers import Answer
from kb_core.search import Hit, Retrieval
from kb_core.values import dataclass, replace
from kb_tui._passage import Line, plain
from kb_tui._rendering import rendered
from kb_tui.widgets.hit_list import place_of
from kb_tui.widgets.lines import Row

if TYPE_CHECKING:
    from kb_core.wire import types

__all__ = ["NOTICE", "Turn", "kept_turn", "transcript", "turn_of"]

NOTICE = (
    "Ask a question: the sentences that answer it come back, with their places. "
    "What is shown is text of your documents and nothing else."
)
_ANSWER = "Answer, word for word:"
_KEPT = "kept"
"""How a passage was found, of which a journal says no more."""
_BAR = "  ┃ "


@dataclass(frozen=True, slots=True)
class Turn:
    """A question and what came of it: what is quoted, or why nothing is."""

    question: str
    hits: tuple[Hit, ...] | None = None
    """What is quoted; ``None`` until it is there."""
    answer: types.Answer | None = None
    """All that there is to say of it."""
    remark: str = ""
    said: str = ""
    """What has come of the answer before it is there."""


def transcript(
    turns: Sequence[Turn], *, explain: bool, chosen: tuple[int, int] | None = None
) -> list[Row]:
    """Return the whole conversation; *chosen* is a turn and a passage of it."""
    if not turns:
        return [Row(NOTICE, "note")]
    at, passage = chosen or (-1, -1)
    return [
        row
        for number, turn in enumerate(turns)
        for row in _turn(turn, explain=explain, chosen=passage if number == at else None)
    ]


def _turn(turn: Turn, *, explain: bool, chosen: int | None) -> Iterator[Row]:
    yield Row(f"> {turn.question}", "head")
    if turn.hits is None:
        yield from _written(turn.said)
        yield Row(turn.remark or ("writing…" if turn.said else "searching…"), "note")
    else:
        yield from _said(turn.answer)
        if turn.remark:
            yield Row(turn.remark, "note")
        for number, hit in enumerate(turn.hits, start=1):
            sign = "▌" if number - 1 == chosen else " "
            yield from _passage(f"{sign}[{number}]", hit, turn.question, explain=explain)
    yield Row("")


def _said(answer: types.Answer | None) -> Iterator[Row]:
    """Yield what the question was asked as, and what a model wrote, or why there is no answer."""
    if answer is None:
        return
    if rewritten := answer.get("rewritten_question"):
        yield Row(f"asked as: {rewritten}", "note")
    reason, model = answer["refusal_reason"], answer["model"]
    if reason is not None:
        yield Row(refusal_text(reason), "note")
    is_quoted = model["provider"] in {"extractive", "none"}
    if reason is None:
        yield Row(_ANSWER if is_quoted else f"Written by {model['id']}, from:", "note")
    if not is_quoted:
        yield from _written(answer["answer"])


def _written(text: str) -> Iterator[Row]:
    """Yield what is written, as Markdown; nothing for nothing."""
    for line in _read(text, "markdown", None) if text else ():
        yield Row(line.text, indent="  ", spans=line.spans)


def _passage(sign: str, hit: Hit, question: str, *, explain: bool) -> Iterator[Row]:
    yield Row("")
    stale = "  [stale]" if hit.stale else ""
    yield Row(f"{sign} {hit.title or hit.doc_path}{stale}", "head")
    headings = hit.heading_path[hit.heading_path[:1] == (hit.title,) :]
    above = f"  {' › '.join(headings)}" if headings else ""
    yield Row(f"{hit.doc_path}{place_of(hit)}{above}", "note", indent="    ")
    if explain:
        yield Row(_why(hit), "note", indent="    ")
    for line in _read(hit.snippet.strip("\n"), hit.media, hit.code_lang):
        yield Row(line.text, "quote", indent=_BAR, query=question, spans=line.spans)


@lru_cache(maxsize=256)
def _read(text: str, media: str, code_lang: str | None) -> tuple[Line, ...]:
    """Return the lines of a passage as they are read: a conversation is drawn again and again."""
    return tuple(rendered(plain(text), media, code_lang))


def _why(hit: Hit) -> str:
    """Say how both channels saw the hit."""
    found = hit.retrieval
    if found.method == _KEPT:
        return "why: of a conversation of before, which does not keep how it was found"
    parts = [f"why: score {hit.score:.2f}"]
    for name, rank, score in (
        ("words", found.lexical_rank, found.lexical_score),
        ("meaning", found.vector_rank, found.vector_score),
    ):
        if rank is None:
            parts.append(f"not found by {name}")
        else:
            at = f" ({score:.2f})" if score is not None else ""
            parts.append(f"place {rank} by {name}{at}")
    return "; ".join(parts)


def turn_of(answer: Answer) -> Turn:
    """Return the turn that an answer makes."""
    quoted = tuple(
        replace(cited.hit, citation=cited.citation, snippet=cited.quote)
        for cited in answer.citations
    )
    remark = "; ".join([*answer.degraded, *answer.warnings])
    return Turn(answer.question.text, quoted, wire.answer(answer), remark)


def kept_turn(answer: types.Answer) -> Turn:
    """Return the turn that a journal has kept."""
    quoted = tuple(_hit(number, cited) for number, cited in enumerate(answer["citations"], 1))
    remarks = [*answer.get("degraded", ()), *answer.get("warnings", ())]
    return Turn(answer["question"], quoted, answer, "; ".join(remarks))


def _hit(rank: int, cited: types.AnswerCited) -> Hit:
    place, label = cited["citation"], cited.get("section_label")
    is_prose = cited["doc_path"].lower().endswith((".md", ".markdown"))
    media = "code" if place["kind"] == "code" else "markdown" if is_prose else "text"
    return Hit(
        rank=rank,
        score=0.0,
        score_kind=_KEPT,
        chunk_id=cited["chunk_id"],
        doc_id=cited["doc_id"],
        doc_path=cited["doc_path"],
        title=cited.get("title", ""),
        heading_path=(label,) if label and media != "code" else (),
        section_label=label,
        snippet=cited.get("quote", ""),
        snippet_full_text=False,
        citation=wire.read_citation(place),
        retrieval=Retrieval(method=_KEPT),
        index_version="",
        chunker_version="",
        embedding_model=None,
        indexed_at=0,
        stale=cited["stale"],
        source_id=cited["source_id"],
        source_type="",
        trust_level=cited.get("trust_level", ""),
        lang=None,
        media=media,
        code_lang=place.get("lang"),
    )
