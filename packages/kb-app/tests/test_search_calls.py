"""What a search that is warm does beside asking the engine: counted in calls, not timed."""

from __future__ import annotations

import sys
from types import FrameType

from kb_app.testing.facade import ScriptedKnowledgeBase
from kb_core.media import SearchMode
from kb_core.search import SearchQuery
from kb_core.testing.documents import document

CALLS_A_HIT = 60
"""Of functions, ours and of the standard library, by which one hit is made and ordered."""


def calls_of(kb: ScriptedKnowledgeBase, k: int) -> int:
    """Return how many functions a search for *k* hits calls above the index."""
    count = 0

    def seen(frame: FrameType, event: str, _: object) -> None:
        nonlocal count
        count += event == "call" and "kb_core/testing" not in frame.f_code.co_filename

    kb.search(query := SearchQuery(text="locks", mode=SearchMode.LEXICAL, k=k))
    sys.setprofile(seen)
    try:
        assert len(kb.search(query).hits) == k
    finally:
        sys.setprofile(None)
    return count


def test_a_hit_more_costs_few_calls() -> None:
    kb = ScriptedKnowledgeBase(*(document(f"{n}.md", "locks " * (n + 1)) for n in range(30)))

    assert (calls_of(kb, 20) - calls_of(kb, 10)) / 10 < CALLS_A_HIT
