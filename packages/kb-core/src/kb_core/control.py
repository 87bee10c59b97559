"""What a reader needs to know of the index, and of the model whose vectors it holds.

Apart from the records themselves, so that a search need not load their types.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kb_core.values import dataclass, field

__all__ = ["ADDED_SOURCE", "OLDER_STORE", "Control", "EmbeddingModel", "VectorFiles"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingModel:
    """An embedding model as it is run: two that differ in any field give other vectors."""

    name: str
    revision: str
    dimensions: int
    max_tokens: int
    """The window, special tokens included."""
    quantization: str
    pooling: str
    query_prefix: str
    passage_prefix: str
    licence: str = ""
    languages: str = ""
    provider: str = "local"

    @property
    def key(self) -> str:
        """Names a set of vectors: the model, how it is quantised and its revision."""
        return f"{self.name}.{self.quantization}.{self.revision}"


ADDED_SOURCE = "_added"
"""The source of documents that come from outside all sources (ruling R9)."""

OLDER_STORE = "it is of an older version; the next 'kebab ingest' brings it up to date"
"""What a check says of a store that is not damaged, and cannot be checked before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorFiles:
    """The published part of one model's vector files."""

    model_key: str
    dimensions: int
    generation: int
    rows: int
    dead: int
    model: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """The one control record: which state of the truth the index shows.

    Replacing it is the publication. ``sequence`` counts publications of the truth,
    ``corpus_revision`` those that changed documents, ``vector_revision`` those that
    changed embeddings, ``index_state`` those that changed only statistics (a merge).
    """

    store_id: str
    sequence: int = 0
    corpus_revision: int = 0
    vector_revision: int = 0
    index_state: int = 0
    index_version: str = ""
    records_sequence: int = 0
    """The newest sequence whose publication wrote document or file records."""
    published_at: int = 0
    vectors: Mapping[str, VectorFiles] = field(default_factory=dict)
    statistics: Mapping[str, int] = field(default_factory=dict)
    """What an engine has to know of the passages that are live to rank by words."""
    stats: Mapping[str, Any] = field(default_factory=dict)
    """Counts for ``schema.v1`` and ``stats.v1``, computed by the store."""
    sources: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Per source id: root, trust_level, source_type, verified_at (epoch seconds)."""

    def embedded(self, model_key: str) -> int:
        """Return how many chunks have a vector of the model."""
        files = self.vectors.get(model_key)
        return files.rows - files.dead if files else 0
