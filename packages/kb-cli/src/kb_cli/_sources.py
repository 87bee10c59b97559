"""What ``add`` and ``remove`` print."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from kb_core import wire

if TYPE_CHECKING:
    from kb_app.config import Config

__all__ = ["source_list"]


def source_list(
    config: Config, *, added: str | None = None, removed: str | None = None
) -> dict[str, Any]:
    """Return source_list.v1 of a configuration that was changed."""
    sources = map(asdict, config.sources)
    return wire.source_list(sources, str(config.file), added=added, removed=removed)
