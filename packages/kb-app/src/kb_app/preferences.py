"""What an interface needs of the configuration, and nothing more of it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Preferences"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preferences:
    """Wishes of the person, as configured."""

    theme: str = "dark"
    """``dark`` or ``light``."""
    default_k: int = 10
    """Hits to a page."""
    snippet_chars: int = 220
    """Longest snippet of a hit."""
