"""Reordering the first rows of a list by a model that reads question and passage together."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from kb_app._search.candidates import Channel, Proposals
from kb_app._search.deadline import Deadline, Late
from kb_app._search.ranking import Row, page_of
from kb_app._search.rendering import Renderer
from kb_core.errors import KbError

if TYPE_CHECKING:
    from kb_core.ports import Reranker

__all__ = ["rerank"]


def rerank(
    rows: list[Row],
    text: str,
    renderer: Renderer,
    reranker: Callable[[], Reranker],
    proposals: Proposals,
    deadline: Deadline,
) -> list[Row]:
    """Return *rows* with the first of them reordered, or as they are if that is too late.

    All first rows are read or none: half a list in a new order is no order at all.
    """
    from kb_search.rerank import DEPTH, below, blend

    started = time.perf_counter()
    head = page_of(rows, 0, DEPTH, renderer.places)
    chunks = renderer.chunks([row.chunk_key for row in head])
    passages = [chunks[row.chunk_key]["text"] for row in head]
    work = deadline.start(lambda: reranker().rerank(text, passages, stop=deadline.is_over))
    try:
        scores = work()
    except Late:
        scores = None
    except KbError as error:
        proposals.degraded.append(f"rerank: {error}")
        return rows
    finally:
        proposals.rerank_secs = time.perf_counter() - started
    if scores is None:
        proposals.leave_out(Channel.RERANK, deadline)
        return rows
    proposals.ran |= Channel.RERANK
    fused = [row.score for row in head]
    order = [
        replace(row, score=score, kind="rerank", rerank_score=read)
        for row, score, read in zip(head, blend(fused, scores), scores, strict=True)
    ]
    rest = [replace(row, score=below(row.score), kind="rerank") for row in rows[len(head) :]]
    return sorted(order, key=lambda row: (-round(row.score, 6), row.chunk_key)) + rest
