"""Vectors of text, made in this process from packaged weights, without a download.

``load_embedder`` and ``load_token_counter`` are what callers need; ``list_packs`` and
``describe`` tell what there is, and import no library. A model is prepared at its first
use, under *cache_dir*; every later start maps the prepared files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kb_search.embed.packs import PackStatus, find_pack, list_packs

if TYPE_CHECKING:
    from pathlib import Path

    from kb_core.control import EmbeddingModel
    from kb_core.ports import Embedder, TokenCounter

__all__ = ["PackStatus", "describe", "list_packs", "load_embedder", "load_token_counter"]


def describe(name: str, quality: str | None = None) -> EmbeddingModel:
    """Return the identity of the model *name* at *quality*, present or not."""
    return find_pack(name).describe(quality)


def load_embedder(
    name: str,
    *,
    quality: str | None = None,
    cache_dir: Path,
    threads: int | None = None,
) -> Embedder:
    """Return the embedder of the model *name*, or of the directory of that name.

    Raises ``ModelMissing`` if the weights are not installed or not the pinned ones.
    """
    # These take some milliseconds that a lexical search does without.
    from kb_search.embed.onnx import OnnxEmbedder
    from kb_search.embed.prepare import prepare

    pack = find_pack(name)
    return OnnxEmbedder(prepare(pack, pack.quality(quality), cache_dir), threads=threads)


def load_token_counter(name: str, *, cache_dir: Path) -> TokenCounter:
    """Return an exact counter for the model *name*; for ``none``, an estimate."""
    from kb_search.embed.tokenize import EstimatingCounter, counter_of

    if name == "none":
        return EstimatingCounter()
    from kb_search.embed.prepare import load_tokenizer

    return counter_of(load_tokenizer(find_pack(name), cache_dir))
