"""What identifies a model: part of every index built with it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EmbeddingModel"]


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
