"""The index on Milvus: the same promises as the embedded one, kept by an engine that scales.

One ``Place`` names where it is: a directory (``milvus-lite``, in this process), a server on
loopback or a cluster. The code is the same for all of them. What differs from the embedded
engine is listed in ``CAPS``.

What ranks is ours: terms come from ``kb_search.analysis``, weights from
``kb_search.weighing``; a passage's row holds, as a sparse vector, what BM25 gives to each of
its terms, and the engine adds up products. Only ranks and scores of ours leave here.

Every row says since which sequence it is true and until when, and one control row says which
sequence is published. Replacing that row is the publication: a reader sees all of it or
nothing. See ``docs/decisions/0052-an-index-on-milvus.md``.
"""

from __future__ import annotations

from pathlib import Path

from kb_core.values import dataclass

__all__ = ["CAPS", "Place"]

CAPS: dict[str, str] = {
    "exact_scan": "meaning is searched by the engine's own index; a server's is approximate",
    "kept_snapshots": "a snapshot is good for ten minutes after it was replaced, not for ever",
    "fresh_lengths": "mean lengths in scores by words follow when they move by a quarter",
    "long_passages": "terms beyond 64 KiB of one passage are not filtered by, nor its phrases",
    "name_and_phrase_depth": "phrases and names add to the score of the best thousand only",
}
"""What the embedded engine promises and this one does not, each with what is so instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an index is. The token is never shown."""

    uri: str
    token: str = ""
    database: str = ""
    collection: str = "kebab"

    @property
    def is_directory(self) -> bool:
        """Whether the engine runs in this process, over a directory."""
        return "://" not in self.uri

    @property
    def shown(self) -> str:
        """Return it as a person may see it."""
        return f"{self.uri} ({self.collection})"

    def __repr__(self) -> str:
        """Leave the token out."""
        return f"Place({self.shown})"

    @property
    def path(self) -> Path:
        """The directory, where it is one."""
        return Path(self.uri).expanduser()
