"""Settings of a run that change what comes of a file; plain values, for any process."""

from __future__ import annotations

from dataclasses import dataclass

from kb_app._ingest.sniff import Caps
from kb_core.documents import ChunkLimits

__all__ = ["Settings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a worker has to know. ``window`` is how many tokens a passage may have."""

    model: str
    cache_dir: str
    limits: ChunkLimits
    window: int
    caps: Caps
    allow_secrets: bool
