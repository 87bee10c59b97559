"""Settings of a run that change what comes of a file; plain values, for any process."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kb_app._ingest.judging.kinds import Caps
from kb_core.documents import ChunkLimits

__all__ = ["Settings", "unjudging"]

_NO_CAPS = Caps(max_file_mb=10**9, max_code_kb=10**9, max_code_lines=10**9, skip_generated=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a worker has to know. ``window`` is how many tokens a passage may have."""

    model: str
    cache_dir: str
    limits: ChunkLimits
    window: int
    caps: Caps
    allow_secrets: bool


def unjudging(settings: Settings) -> Settings:
    """Return *settings* for what was judged when it was added, and is not judged again.

    So a cap that is lowered later takes nothing away that exists nowhere else, and does not
    change its fingerprint either.
    """
    return replace(settings, caps=_NO_CAPS, allow_secrets=True)
