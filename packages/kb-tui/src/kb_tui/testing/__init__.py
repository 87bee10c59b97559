"""Driving the terminal interface in a test: a facade without a knowledge base, and a pilot's hands.

Nothing is patched: the facade comes in where the real one does.
"""

from __future__ import annotations

from kb_tui.testing._drive import app_of, check_golden, idle, on_screen, search, shown, until
from kb_tui.testing._facade import CODE, DOCUMENTS, HITS, KOREAN, PAPER, FakeKnowledgeBase

__all__ = [
    "CODE",
    "DOCUMENTS",
    "HITS",
    "KOREAN",
    "PAPER",
    "FakeKnowledgeBase",
    "app_of",
    "check_golden",
    "idle",
    "on_screen",
    "search",
    "shown",
    "until",
]
