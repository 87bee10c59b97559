"""The composition root: where configuration becomes plain values, and parts are chosen.

Nobody else reads ``Config`` to build a part. What is heavy is loaded when it is first
needed, and once.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from kb_app._search.service import SearchSettings
from kb_app.config import Config
from kb_app.paths import cache_dir, environment
from kb_search.embed import describe, load_embedder

if TYPE_CHECKING:
    from kb_core.models_info import EmbeddingModel
    from kb_core.ports import Embedder, Reranker

__all__ = [
    "LazyEmbedder",
    "model_of",
    "models_dir",
    "quality_of",
    "search_settings",
]


def models_dir() -> Path:
    """Return where prepared models are kept."""
    return cache_dir(environment()) / "models"


def model_of(config: Config) -> EmbeddingModel | None:
    """Return the configured embedding model, or ``None`` where that is switched off."""
    if config.embedding.model == "none":
        return None
    return describe(config.embedding.model, quality_of(config))


def quality_of(config: Config) -> str | None:
    """Return the quality that was asked for; ``None`` leaves it to the model."""
    return config.embedding.quality if "embedding.quality" in config.origins else None


def search_settings(config: Config) -> SearchSettings:
    """Return what a search needs to know."""
    model = model_of(config)
    return SearchSettings(
        fusion=config.search.fusion,
        rrf_k=config.search.rrf_k,
        rerank=config.search.rerank,
        stale_threshold_days=config.search.stale_threshold_days,
        model_key=model.key if model else None,
    )


class LazyEmbedder:
    """Gives the configured embedder; loads it at the first call, in whichever thread."""

    def __init__(self, config: Config) -> None:
        self._config = config.embedding
        self._quality = quality_of(config)
        self._lock = threading.Lock()
        self._embedder: Embedder | None = None

    def __call__(self) -> Embedder:
        with self._lock:
            if self._embedder is None:
                self._embedder = load_embedder(
                    self._config.model,
                    quality=self._quality,
                    cache_dir=models_dir(),
                    threads=self._config.threads or None,
                )
            return self._embedder

    def reranker(self) -> Reranker:
        """Give what reorders the first hits: the same model, loaded once."""
        from kb_search.rerank import MaxSimReranker

        return MaxSimReranker(self())
