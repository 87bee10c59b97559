"""What a run has done so far: items become counts, and in the end a report."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from kb_core.ingest import IngestItem, IngestReport, ItemKind

__all__ = ["Tally"]

_EXAMPLES = 5
_SLOWEST = 5


@dataclass(slots=True)
class Tally:
    """Collects the items of a run. Counters of the report derive from the items alone."""

    items: list[IngestItem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    scanned: int = 0
    embedded: int = 0
    embeddings_missing: int = 0
    corpus_revision: int = 0
    phase_secs: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    started: float = field(default_factory=time.perf_counter)

    def add(self, item: IngestItem) -> None:
        """Count one file's outcome."""
        self.items.append(item)

    def replace(self, item: IngestItem) -> None:
        """Correct the outcome of the file that *item* is about."""
        where = (item.source_id, item.doc_path)
        self.items = [one for one in self.items if (one.source_id, one.doc_path) != where]
        self.items.append(item)

    def add_plan(self, items: Iterable[IngestItem], scanned: int, warnings: Iterable[str]) -> None:
        """Count what a plan decided without reading anything."""
        self.items += items
        self.scanned += scanned
        self.warnings += warnings

    def counts(self) -> dict[str, int]:
        """Return how many files came out how."""
        seen = Counter(item.kind for item in self.items)
        return {kind.value: seen[kind] for kind in ItemKind}

    @property
    def has_changes(self) -> bool:
        """Whether anything was done that changed the store."""
        still = {ItemKind.UNCHANGED, ItemKind.SKIPPED, ItemKind.ERROR}
        return bool(self.embedded) or any(item.kind not in still for item in self.items)

    @contextmanager
    def phase(self, name: str) -> Generator[None]:
        """Add the time spent inside to a phase."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.phase_secs[name] += time.perf_counter() - started

    @property
    def duration_ms(self) -> int:
        """Milliseconds since the run began."""
        return round((time.perf_counter() - self.started) * 1000)

    def report(
        self, scope: Mapping[str, Any], *, aborted: bool, summary_only: bool
    ) -> IngestReport:
        """Return the report of the run as it stands."""
        skipped = [item for item in self.items if item.kind is ItemKind.SKIPPED]
        examples: defaultdict[str, list[str]] = defaultdict(list)
        for item in skipped:
            if len(examples[item.reason or ""]) < _EXAMPLES:
                examples[item.reason or ""].append(item.doc_path)
        slowest = sorted(self.items, key=lambda item: -item.duration_ms)[:_SLOWEST]
        return IngestReport(
            scope=dict(scope),
            items=None if summary_only else tuple(self.items),
            counts=self.counts(),
            scanned=self.scanned,
            duration_ms=self.duration_ms,
            aborted=aborted,
            corpus_revision=self.corpus_revision,
            embedded=self.embedded,
            embeddings_missing=self.embeddings_missing,
            skipped_by_reason=Counter(item.reason or "" for item in skipped),
            skipped_by_extension=Counter(_extension(item.doc_path) for item in skipped),
            skip_examples={reason: tuple(paths) for reason, paths in examples.items()},
            slowest=tuple(
                {"doc_path": item.doc_path, "duration_ms": item.duration_ms}
                for item in slowest
                if item.duration_ms
            ),
            phases_ms={name: round(secs * 1000) for name, secs in self.phase_secs.items()},
            warnings=tuple(self.warnings),
        )


def _extension(path: str) -> str:
    name = path.rpartition("/")[2]
    stem, dot, extension = name.rpartition(".")
    return f".{extension.lower()}" if dot and stem else ""
