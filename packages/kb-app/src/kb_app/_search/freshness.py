"""Whether a document may have changed since it was indexed (ruling R16).

A document is stale when no run has verified it for longer than the threshold, or when
the file on disk has another size or modification time now. That costs one ``stat`` per
document shown, and is outside the promise that equal questions give equal bytes. Of a
document from outside the sources the file is our asset, wherever it came from.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kb_core.clock import clamp_ns
from kb_core.filters import And, Not, OneOf, Range

if TYPE_CHECKING:
    from kb_core.ports import IndexSnapshot

__all__ = ["Freshness"]

_DAY_SECS = 86_400


class Freshness:
    """Judges the documents of one snapshot; each is looked at once."""

    def __init__(self, snapshot: IndexSnapshot, *, now: int, threshold_days: int) -> None:
        self._snapshot = snapshot
        self._now = now
        self._threshold_secs = threshold_days * _DAY_SECS
        self._known: dict[str, bool] = {}

    def is_stale(self, doc: Mapping[str, Any]) -> bool:
        """Say whether a stored document, or the document of a stored chunk, is stale."""
        doc_id = doc["doc_id"]
        if doc_id not in self._known:
            self._known[doc_id] = self.is_overdue(doc) or self._differs(doc)
        return self._known[doc_id]

    def is_overdue(self, doc: Mapping[str, Any]) -> bool:
        """Say whether no run has verified the document for too long."""
        if not self._threshold_secs:
            return False
        source = self._snapshot.control.sources.get(doc["source_id"], {})
        verified = max(doc["indexed_at"] or 0, source.get("verified_at") or 0)
        return self._now - verified > self._threshold_secs

    def count_overdue(self) -> int:
        """Return how many documents no run has verified for too long; none of them is read."""
        if not self._threshold_secs:
            return 0
        limit = self._now - self._threshold_secs
        sources = self._snapshot.control.sources
        verified = [
            source_id
            for source_id, source in sources.items()
            if (source.get("verified_at") or 0) >= limit
        ]
        old = Range("indexed_at", high=limit - 1)
        return self._snapshot.count_docs(And((old, Not(OneOf("source_id", tuple(verified))))))

    def _differs(self, doc: Mapping[str, Any]) -> bool:
        root = self._snapshot.control.sources.get(doc["source_id"], {}).get("root")
        if not root:
            return False
        if doc.get("asset"):
            return not _holds(Path(root, doc["asset"]), doc)
        if _same(Path(root, doc["path"]), doc):
            return False
        from kb_app._ingest.seeing.files import location  # only where the plain path did not do

        # The name on disk may be spelled otherwise, or the file was only touched.
        where = And((OneOf("source_id", (doc["source_id"],)), OneOf("path", (doc["path"],))))
        for file in self._snapshot.files(where):
            return not _same(Path(location(root, doc["path"], file.get("raw_path"))), file)
        return True


def _holds(asset: Path, doc: Mapping[str, Any]) -> bool:
    # An asset is called by its content and never changes; its times say nothing.
    try:
        return bool(asset.stat().st_size == doc["size"])
    except OSError:
        return False


def _same(path: Path, seen: Mapping[str, Any]) -> bool:
    try:
        status = path.stat()
    except (OSError, ValueError):
        return False
    modified = clamp_ns(status.st_mtime_ns)
    return bool(status.st_size == seen["size"] and modified == seen["mtime_ns"])
