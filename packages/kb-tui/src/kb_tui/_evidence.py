"""Evidence for a question, as lines: passages with their citations, and not a word besides.

What the pane Ask shows as long as nothing writes answers. A passage is the document's
own text; nothing here is generated, and the pane says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kb_core.search import Hit
from kb_tui.widgets.lines import Row

__all__ = ["NOTICE", "Turn", "transcript"]

NOTICE = (
    "Ask a question: the best passages come back, with their citations. "
    "No answer is written yet: what is shown is text of your documents and nothing else."
)
_BAR = "  ┃ "


@dataclass(frozen=True, slots=True)
class Turn:
    """A question and what came of it: ``hits``, or why there are none."""

    question: str
    hits: tuple[Hit, ...] | None = None
    """``None`` until they are there."""
    remark: str = ""


def transcript(turns: Sequence[Turn], *, explain: bool) -> list[Row]:
    """Return the whole conversation."""
    if not turns:
        return [Row(NOTICE, "note")]
    return [row for turn in turns for row in _turn(turn, explain=explain)]


def _turn(turn: Turn, *, explain: bool) -> Iterator[Row]:
    yield Row(f"> {turn.question}", "head")
    if turn.hits is None:
        yield Row(turn.remark or "searching…", "note")
    elif not turn.hits:
        yield Row("No passage speaks of this.", "note")
    else:
        yield Row("Evidence; no answer was generated.", "note")
        if turn.remark:
            yield Row(turn.remark, "note")
        for number, hit in enumerate(turn.hits, start=1):
            yield from _passage(number, hit, turn.question, explain=explain)
    yield Row("")


def _passage(number: int, hit: Hit, question: str, *, explain: bool) -> Iterator[Row]:
    yield Row("")
    stale = "  [stale]" if hit.stale else ""
    yield Row(f"[{number}] {hit.citation.uri}{stale}", "head")
    if hit.heading_path:
        yield Row(" › ".join(hit.heading_path), "note", indent="    ")
    if explain:
        yield Row(_why(hit), "note", indent="    ")
    for line in hit.snippet.strip("\n").split("\n"):
        yield Row(line, "quote", indent=_BAR, query=question)


def _why(hit: Hit) -> str:
    """Say how both channels saw the hit."""
    found = hit.retrieval
    parts = [f"why: {hit.score_kind} {hit.score:.4f}"]
    for name, rank, score in (
        ("words", found.lexical_rank, found.lexical_score),
        ("meaning", found.vector_rank, found.vector_score),
    ):
        if rank is None:
            parts.append(f"not found by {name}")
        else:
            at = f" ({score:.3f})" if score is not None else ""
            parts.append(f"by {name} at rank {rank}{at}")
    return "; ".join(parts)
