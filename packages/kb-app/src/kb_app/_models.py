"""The configured embedding model, described: no library of one is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kb_app.paths import cache_dir, environment

if TYPE_CHECKING:
    from kb_app.config import Config
    from kb_core.control import EmbeddingModel

__all__ = ["model_of", "models_dir", "quality_of"]


def models_dir() -> Path:
    """Return where prepared models are kept."""
    return cache_dir(environment()) / "models"


def model_of(config: Config) -> EmbeddingModel | None:
    """Return the configured embedding model, or ``None`` where that is switched off."""
    if config.embedding.model == "none":
        return None
    from kb_search.embed import describe  # a search by words needs no model

    return describe(config.embedding.model, quality_of(config))


def quality_of(config: Config) -> str | None:
    """Return the quality that was asked for; ``None`` leaves it to the model."""
    return config.embedding.quality if "embedding.quality" in config.origins else None
