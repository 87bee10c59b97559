"""Collections made of parallel ones: questions and passages in different languages. Pure.

The passages of one text in several languages have the same ids, and so have the questions.
So the questions of one language can be asked about the passages of another, where words
match by accident only; and a collection can be *mixed*, half of the passages in either
language, asked in both languages about both halves.

Beside that, which chunks have a vector while embedding goes on.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from beir import Collection

__all__ = ["CROSSED", "MIXED", "ORDERS", "SHARES", "crossed", "first_embedded", "mixed"]

T = TypeVar("T")

CROSSED = (
    ("xquad-en", "xquad-zh"),
    ("xquad-en", "xquad-de"),
    ("xquad-en", "xquad-es"),
    ("xquad-zh", "xquad-en"),
    ("xquad-de", "xquad-en"),
    ("xquad-es", "xquad-en"),
    ("xquad-es", "xquad-zh"),
    ("belebele-en", "belebele-de"),
    ("belebele-de", "belebele-en"),
)
"""The collection of the questions, and that of the passages."""

MIXED = (
    ("xquad-en", "xquad-zh"),
    ("xquad-en", "xquad-de"),
    ("xquad-en", "xquad-es"),
    ("belebele-en", "belebele-de"),
)

SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
"""Of all chunks, how many have a vector."""

ORDERS = ("random", "newest", "ingest")
"""In which chunks get their vectors; the product embeds the newest first."""


def crossed(questions: Collection, passages: Collection) -> Collection:
    """Return the passages of one collection with the questions of a parallel one."""
    name = f"{questions.name} > {passages.name}"
    return replace(passages, name=name, queries=questions.queries, qrels=questions.qrels)


def mixed(first: Collection, second: Collection, *, seed: int = 7) -> Collection:
    """Return half of the passages in each language, with the questions of both languages."""
    theirs = {doc.doc_id: doc for doc in second.docs}
    half = set(random.Random(seed).sample(sorted(theirs), len(theirs) // 2))  # noqa: S311
    return Collection(
        name=f"{first.name}+{second.name}",
        docs=tuple(theirs[doc.doc_id] if doc.doc_id in half else doc for doc in first.docs),
        queries=_named(first, first.queries) | _named(second, second.queries),
        qrels=_named(first, first.qrels) | _named(second, second.qrels),
    )


def _named(collection: Collection, by_query: Mapping[str, T]) -> dict[str, T]:
    return {f"{collection.name}:{query}": value for query, value in by_query.items()}


def first_embedded(newest_first: Sequence[int], order: str, share: float) -> set[int]:
    """Return which chunks have a vector when *share* of them were embedded in *order*."""
    keys = list(newest_first)
    if order == "random":
        random.Random(5).shuffle(keys)  # noqa: S311 - a sample, not a secret
    elif order == "ingest":
        keys.reverse()
    return set(keys[: round(share * len(keys))])
