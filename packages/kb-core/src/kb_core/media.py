"""Kinds of media, trust and modes: the closed sets that people type."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["MEDIA_ALIASES", "MEDIA_ALWAYS_COUNTED", "Media", "SearchMode", "TrustLevel"]


class Media(StrEnum):
    """What a document is made of (ruling R10)."""

    MARKDOWN = "markdown"
    TEXT = "text"
    CODE = "code"
    NOTEBOOK = "notebook"
    HTML = "html"
    CSV = "csv"
    PDF = "pdf"
    OFFICE = "office"
    MAIL = "mail"
    BOOK = "book"
    IMAGE = "image"
    AUDIO = "audio"
    VIDEO = "video"
    ARCHIVE = "archive"


MEDIA_ALIASES = {"md": "markdown", "txt": "text"}
"""Short names accepted wherever a medium is."""

MEDIA_ALWAYS_COUNTED = ("markdown", "pdf", "image", "audio", "code", "other")
"""Keys that ``media_breakdown`` always has, zero included."""


class TrustLevel(StrEnum):
    """How far a source is to be trusted: ``primary`` over ``secondary`` over ``generated``."""

    PRIMARY = "primary"
    SECONDARY = "secondary"
    GENERATED = "generated"

    @property
    def rank(self) -> int:
        """2 for primary, 1 for secondary, 0 for generated."""
        return {"primary": 2, "secondary": 1, "generated": 0}[self.value]


class SearchMode(StrEnum):
    """By words, by meaning, or by both."""

    HYBRID = "hybrid"
    LEXICAL = "lexical"
    VECTOR = "vector"
