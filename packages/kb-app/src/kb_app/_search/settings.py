"""What a search needs of the configuration, and of the model that it names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kb_core.search import SaidAbout
from kb_core.values import dataclass

if TYPE_CHECKING:
    from kb_app.config import Config
    from kb_core.control import EmbeddingModel
    from kb_core.errors import ModelMissing

__all__ = ["SearchSettings", "search_settings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """What a search needs of the configuration."""

    fusion: str = "auto"
    rrf_k: int = 60
    rerank: bool = False
    stale_threshold_days: int = 30
    model_key: str | None = None
    """Names the vectors to search; ``None`` where embedding is switched off, or *absent*."""
    absent: ModelMissing | None = None
    """Says of a model that is not there which it is, and what helps."""
    about: tuple[SaidAbout, ...] = ()
    """What the person says of sources and folders."""


def search_settings(
    config: Config, model: EmbeddingModel | None, absent: ModelMissing | None = None
) -> SearchSettings:
    """Return what a search among the vectors of *model* needs to know."""
    return SearchSettings(
        fusion=config.search.fusion,
        rrf_k=config.search.rrf_k,
        rerank=config.search.rerank,
        stale_threshold_days=config.search.stale_threshold_days,
        model_key=model.key if model else None,
        absent=absent,
        about=tuple(
            SaidAbout(source.id, about.path, about.text)
            for source in config.sources
            for about in source.about
        ),
    )
