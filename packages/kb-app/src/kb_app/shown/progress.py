"""How far long work is: its events, folded into one value that an interface draws.

``advance`` is the whole state machine. It is pure and the value immutable, so one thread
may follow the work while another draws. Times are those of any monotonic clock, in seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from kb_core.values import dataclass, field, replace

if TYPE_CHECKING:
    from kb_core.ingest import IngestEvent

__all__ = ["Progress", "Running", "Speed", "Stage", "advance", "bar"]

Stage: TypeAlias = Literal["starting", "scanning", "scanned", "indexing", "completing", "embedding"]
"""What is completed has been indexed as far as it was known without a later phase."""

_SETTLED_S = 1.0
"""Before that, a rate says nothing."""


@dataclass(frozen=True, slots=True)
class Running:
    """A file that is being worked on."""

    path: str
    phase: str
    since: float
    reached: float = 0.0
    whole: float = 0.0
    """How much of the phase is done, of how much, where that takes long; else 0."""

    @property
    def how_far(self) -> str:
        """How far it is: a page of so many, a time of so much; nothing where it is quick."""
        if not self.whole:
            return ""
        if self.phase == "transcribe":
            return f"{_clock(self.reached)}/{_clock(self.whole)}"
        at = min(int(self.reached) + 1, int(self.whole))
        return f"page {at:,}/{int(self.whole):,}" if self.whole > 1 else ""


class Speed(NamedTuple):
    """How many are done in a second, and in how many seconds the rest will be.

    Where none is done yet, and the run says what is left, the rate is 0.
    """

    rate: float
    left_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run is."""

    began: float
    stage: Stage = "starting"
    stage_began: float = 0.0
    """When the work of this stage began; that of indexing does when all is scanned."""
    root: str = ""
    """The folder that is being scanned, or its source."""
    running: Mapping[str, Running] = field(default_factory=dict)
    done: int = 0
    total: int = 0
    """Files, or chunks while embedding; what several scans find adds up."""
    before: int = 0
    """How many were done when the stage began to be watched; not part of its speed."""
    told_left_s: float | None = None
    """What the run itself expects, if it says so."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """What became of the files, by kind."""
    documents: int = 0
    chunks: int = 0
    """What is committed and can be searched."""
    is_stopping: bool = False

    @property
    def noun(self) -> str:
        """What is counted."""
        return "chunk" if self.stage == "embedding" else "file"

    @property
    def share(self) -> float | None:
        """Which part of a stage with a known end is done."""
        if self.stage not in {"indexing", "completing", "embedding"} or not self.total:
            return None
        return min(1.0, self.done / self.total)

    @property
    def slowest(self) -> Running | None:
        """The file that has been worked on the longest."""
        return min(self.running.values(), key=lambda each: each.since, default=None)

    def speed(self, now: float) -> Speed | None:
        """Return how fast this stage is; ``None`` while it is too early to say."""
        spent, fresh = now - self.stage_began, self.done - self.before
        if spent < _SETTLED_S or (fresh <= 0 and self.told_left_s is None):
            return None
        if fresh <= 0:
            return Speed(0.0, self.told_left_s or 0.0)
        left = max(0, self.total - self.done) * spent / fresh
        return Speed(fresh / spent, left if self.told_left_s is None else self.told_left_s)


def advance(  # noqa: PLR0911 - one return a kind of event
    progress: Progress, event: IngestEvent, now: float
) -> Progress:
    """Return *progress* after *event*; a kind that is not known changes nothing."""
    data, path = event.data, str(event.data.get("doc_path", ""))
    match event.kind:
        case "scan_started":
            root = str(data.get("root") or data.get("source_id") or "")
            return replace(progress, stage="scanning", stage_began=now, root=root)
        case "scan_completed":
            total = progress.total + int(data.get("candidates", 0))
            fresh = replace(progress, stage="scanned", stage_began=now, root="", total=total)
            return replace(fresh, done=0, before=0)
        case "asset_started" | "asset_phase":
            return _under_way(progress, path, data, now)
        case "asset_finished":
            left = {name: each for name, each in progress.running.items() if name != path}
            if "phase" in data:  # it was counted when it was indexed
                return replace(_counted(progress, "completing", data, now), running=left)
            kind = str(getattr(data.get("item"), "kind", "done"))
            counts = {**progress.counts, kind: progress.counts.get(kind, 0) + 1}
            return replace(_counted(progress, "indexing", data, now), counts=counts, running=left)
        case "embed_batch_finished":
            return replace(_counted(progress, "embedding", data, now), running={})
        case "committed":
            documents = progress.documents + int(data.get("documents", 0))
            chunks = progress.chunks + int(data.get("chunks", 0))
            return replace(progress, documents=documents, chunks=chunks)
        case _:
            return progress


def _under_way(progress: Progress, path: str, data: Mapping[str, Any], now: float) -> Progress:
    """Take in what a file is at; one that takes long is of the stage that completes."""
    begun = progress.running.get(path)
    far = float(data.get("reached", 0)), float(data.get("whole", 0))
    each = Running(path, str(data.get("phase", "")), begun.since if begun else now, *far)
    if each.whole and progress.stage != "completing":
        progress = _counted(progress, "completing", {**data, "done": 0}, now)
    told = data["eta_ms"] / 1000 if "eta_ms" in data else progress.told_left_s
    return replace(progress, running={**progress.running, path: each}, told_left_s=told)


def _counted(progress: Progress, stage: Stage, data: Mapping[str, Any], now: float) -> Progress:
    done = int(data.get("done", progress.done + 1))
    is_going_on = progress.stage == stage or (progress.stage, stage) == ("scanned", "indexing")
    if not is_going_on:
        progress = replace(progress, stage_began=now, before=done, root="")
    return replace(
        progress,
        stage=stage,
        done=done,
        total=int(data.get("total", progress.total)),
        told_left_s=data["eta_ms"] / 1000 if "eta_ms" in data else None,
    )


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02}"


def bar(share: float, cells: int) -> str:
    """Return *share* as a bar: ``[#####.......]``."""
    full = round(share * cells)
    return f"[{'#' * full}{'.' * (cells - full)}]"
