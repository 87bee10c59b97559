"""Driving the terminal interface in a test: the facade over parts in memory, and a pilot's hands.

The facade comes in where the real one does, and nothing of ours is patched; of textual, how
its pilot finds out that a key is dealt with.
"""

from __future__ import annotations

from kb_tui.testing._drive import (
    app_of,
    check_golden,
    comes_true,
    has_drawn,
    idle,
    on_screen,
    search,
    shown,
    until,
)
from kb_tui.testing._world import CODE, HITS, KOREAN, PAPER, TuiKnowledgeBase, finished

__all__ = [
    "CODE",
    "HITS",
    "KOREAN",
    "PAPER",
    "TuiKnowledgeBase",
    "app_of",
    "check_golden",
    "comes_true",
    "finished",
    "has_drawn",
    "idle",
    "on_screen",
    "search",
    "shown",
    "until",
]
