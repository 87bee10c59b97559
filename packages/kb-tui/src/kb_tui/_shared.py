"""What every pane is given: the knowledge base, a person's preferences, the running ingest."""

from __future__ import annotations

from dataclasses import dataclass

from kb_app import KnowledgeBase
from kb_app.preferences import Preferences
from kb_tui._runner import IngestRunner

__all__ = ["Shared", "Target"]


@dataclass(frozen=True, slots=True)
class Shared:
    """Handed to every pane by the application."""

    kb: KnowledgeBase
    preferences: Preferences
    runner: IngestRunner


@dataclass(frozen=True, slots=True)
class Target:
    """A document, or with ``chunk_id`` a chunk, to inspect."""

    doc_id: str
    chunk_id: str | None = None
