"""Configuration as plain values for a run: sources, limits, caps."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from kb_app._ingest.judging.kinds import Caps
from kb_app._ingest.names import path_of
from kb_app._ingest.opening import inside
from kb_app._ingest.plan import SourceSpec
from kb_app._ingest.settings import Settings
from kb_app._models import model_of, models_dir
from kb_app.config import Config
from kb_core.documents import ChunkLimits
from kb_core.errors import InvalidInput

__all__ = ["chunk_limits", "ingest_settings", "passage_window", "source_specs"]

_SPECIAL_TOKENS = 2
_PREFIX_TOKENS = 4
"""Tokens that the prefix of a passage takes, at most."""
_NO_MODEL_WINDOW = 512


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
        tops = {source.id: os.path.realpath(source.root) for source in config.sources}
        below = {id_: inside(real, top) for id_, top in tops.items()}
        if all(relative is None for relative in below.values()):
            command = "ingest-file" if Path(real).is_file() else "add"
            raise InvalidInput(
                f"path {path!r} is in none of the configured sources",
                hint=f"kebab {command} {shlex.quote(str(path))}",
                details={"field": "path", "value": str(path)},
            )
        for id_, relative in below.items():
            if relative is not None:
                more = [path_of(tops[id_], relative)] if relative else []
                narrow[id_] = (*narrow.get(id_, ()), *more)
    return narrow
