"""The composition root: where configuration becomes plain values, and parts are chosen.

Nobody else reads ``Config`` to build a part. What is heavy is loaded when it is first
needed, and once.
"""

from __future__ import annotations

import os
import shlex
import threading
from collections.abc import Sequence
from pathlib import Path

from kb_app._ingest.plan import SourceSpec
from kb_app._ingest.settings import Settings
from kb_app._ingest.sniff import Caps
from kb_app._search.service import SearchSettings
from kb_app.config import Config
from kb_app.paths import cache_dir, environment
from kb_core.documents import ChunkLimits
from kb_core.errors import InvalidInput
from kb_core.models_info import EmbeddingModel
from kb_core.ports import Embedder
from kb_search.embed import describe, load_embedder

__all__ = [
    "LazyEmbedder",
    "chunk_limits",
    "ingest_settings",
    "model_of",
    "models_dir",
    "passage_window",
    "quality_of",
    "search_settings",
    "source_specs",
]

_SPECIAL_TOKENS = 2
_PREFIX_TOKENS = 4
"""Tokens that the prefix of a passage takes, at most."""
_NO_MODEL_WINDOW = 512


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


def passage_window(config: Config) -> int:
    """Return how many tokens a passage, context included, may have."""
    model = model_of(config)
    window = model.max_tokens if model else _NO_MODEL_WINDOW
    return window - _SPECIAL_TOKENS - _PREFIX_TOKENS


def chunk_limits(config: Config) -> ChunkLimits:
    """Return the sizes of chunks; the configured maximum, or the window if that is less."""
    window = passage_window(config)
    maximum = min(config.chunking.max_tokens, window)
    target = min(config.chunking.target_tokens, maximum)
    return ChunkLimits(
        target_tokens=target,
        overlap_tokens=min(config.chunking.overlap_tokens, (target - 1) // 2),
        max_tokens=maximum,
    )


def ingest_settings(config: Config) -> Settings:
    """Return what shapes the output of an ingest."""
    return Settings(
        model=config.embedding.model,
        cache_dir=str(models_dir()),
        limits=chunk_limits(config),
        window=passage_window(config),
        caps=Caps(
            max_file_mb=config.ingest.max_file_mb,
            max_code_kb=config.code.max_file_kb,
            max_code_lines=config.code.max_file_lines,
            skip_generated=config.code.skip_generated,
        ),
        allow_secrets=config.ingest.allow_secrets,
    )


def source_specs(config: Config, paths: Sequence[str]) -> list[SourceSpec]:
    """Return the sources of a run; *paths* narrow it to absolute files or folders inside them."""
    narrow = _narrowed(config, paths)
    return [
        SourceSpec(
            source_id=source.id,
            root=str(source.root),
            include=source.include,
            exclude=source.exclude,
            trust_level=source.trust_level,
            source_type=source.source_type,
            follow_links=source.follow_links,
            narrow=narrow.get(source.id, ()),
        )
        for source in config.sources
        if not paths or source.id in narrow
    ]


def _narrowed(config: Config, paths: Sequence[str]) -> dict[str, tuple[str, ...]]:
    narrow: dict[str, tuple[str, ...]] = {}
    for path in paths:
        real = os.path.realpath(path)
        inside = [s for s in config.sources if _below(real, os.path.realpath(s.root)) is not None]
        if not inside:
            raise InvalidInput(
                f"path {path!r} is in none of the configured sources",
                hint=f"kebab add {shlex.quote(str(path))}",
                details={"field": "path", "value": str(path)},
            )
        for source in inside:
            below = _below(real, os.path.realpath(source.root)) or ""
            narrow[source.id] = (*narrow.get(source.id, ()), *([below] if below != "." else []))
    return narrow


def _below(path: str, root: str) -> str | None:
    relative = os.path.relpath(path, root)
    return None if relative == ".." or relative.startswith("../") else relative


def search_settings(config: Config) -> SearchSettings:
    """Return what a search needs to know."""
    model = model_of(config)
    return SearchSettings(
        rrf_k=config.search.rrf_k,
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
