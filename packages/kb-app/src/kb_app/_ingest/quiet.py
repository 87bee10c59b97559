"""A run that finds nothing to do, without opening the store.

When a run has seen everything and lets go, it leaves a seal: what the store and the index
look like on disk, and how many passages had no embedding. As long as they look like that,
the index shows all that the store knows, and nothing waits to be finished. Then what is
published is the ledger; where the walk beside it finds every file as it was, there is nothing
to do, and nothing is loaded that could do it.

**Invariant:** whatever differs, is missing or cannot be read leads to a run that opens the
store. So does the time: once an hour a run notes in the store that sources were seen, so
they may have been verified an hour later than they are said to be, and never earlier.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kb_app._data_dir import DataDir
from kb_app._ingest.added.assets import Assets
from kb_app._ingest.added.planning import plan_added, unrecorded, used_assets
from kb_app._ingest.plan import Known, Plan, source_row
from kb_app._ingest.settings import Settings, SourceSpec
from kb_app._parts import Parts
from kb_app.config import Config
from kb_core.clock import from_epoch, to_epoch
from kb_core.control import ADDED_SOURCE
from kb_core.disk import disk_errors
from kb_core.errors import IndexCorrupt, KbError
from kb_core.filters import And, Filter, Glob, OneOf, Or, literal_glob
from kb_core.ingest import IngestOptions
from kb_core.records import FileRecord, FileState
from kb_core.values import dataclass

if TYPE_CHECKING:
    from datetime import datetime

__all__ = ["Sealed", "is_sealed", "nothing_to_do", "published", "seal", "sealed", "sealed_by"]

_NOTED_EVERY_SECS = 3600


@dataclass(frozen=True, slots=True)
class Sealed:
    """What is known without the store; and how many passages have no embedding."""

    known: Known
    missing: int
    marks: Sequence[Any]


def published(parts: Parts, specs: Sequence[SourceSpec] = ()) -> Known:
    """Read the published ledger, of narrowed *specs* what they may look at, and what was added.

    Raises ``NotIndexed`` where there is none.

    ``IndexCorrupt`` if anything of the index is damaged: a run has something to do then.
    """
    with closing(parts.reader()) as reader:
        snapshot = reader.snapshot()
        for wrong in snapshot.damage.values():
            raise IndexCorrupt(f"the index is damaged: {wrong}")
        ledgers: defaultdict[str, dict[str, FileRecord]] = defaultdict(dict)
        for row in snapshot.files(_narrowed(specs)):
            ledgers[row["source_id"]][row["path"]] = _file_record(row)
        control = snapshot.control
    return Known(
        ledger=lambda source_id: ledgers.get(source_id, {}),
        sources=control.sources,
        sequence=control.sequence,
        corpus_revision=control.corpus_revision,
    )


def _narrowed(specs: Sequence[SourceSpec]) -> Filter | None:
    if not (specs and all(spec.narrow for spec in specs)):
        return None
    added: Filter = OneOf("source_id", (ADDED_SOURCE,))
    return Or((added, *map(_of_spec, specs)))


def _of_spec(spec: SourceSpec) -> Filter:
    at = [f"/{literal_glob(path)}" for path in spec.narrow]
    globs = tuple(Glob(pattern) for path in at for pattern in (path, f"{path}/**"))
    return And((OneOf("source_id", (spec.source_id,)), Or(globs)))


def sealed(
    config: Config, options: IngestOptions, parts: Parts, specs: Sequence[SourceSpec] = ()
) -> Sealed | None:
    """Return what is known without the store; ``None`` where a run has to open it.

    The ledger is that of ``published``.
    """
    data, model = DataDir(config.storage.data_dir), parts.model()
    found = _read(data)
    if config.index.engine != "embedded":  # the marks are of files
        return None
    if options.force or options.retry_failed or found is None:
        return None
    missing = found["missing"].get(model.key) if model is not None else 0
    if missing is None or (missing and options.embed and config.ingest.embed):
        return None
    try:
        known = published(parts, specs)
    except KbError:
        return None
    now = to_epoch(parts.clock())
    if not all(_is_recent(known.sources.get(source.id, {}), now) for source in config.sources):
        return None
    return Sealed(known, missing, found["marks"])


def nothing_to_do(
    plans: Sequence[Plan], state: Sealed, data: DataDir, settings: Settings
) -> Sequence[Plan] | None:
    """Return all plans, if those of the walks and of what was added ask for nothing."""
    for plan in plans:
        is_whole = plan.verified or bool(plan.source.narrow)
        before = {**state.known.sources[plan.source.source_id], "verified_at": None}
        if plan.asks or not is_whole or before != {**source_row(plan), "verified_at": None}:
            return None
    added = _look_at_added(state.known, data, settings)
    if added is None or _marks(data) != state.marks:  # somebody has written meanwhile
        return None
    return [*plans, *added]


def _look_at_added(known: Known, data: DataDir, settings: Settings) -> list[Plan] | None:
    """Return the plan of what was added, ``None`` if there is anything to do, or to delete."""
    ledger, assets = known.ledger(ADDED_SOURCE), Assets(data.assets)
    if not ledger and not assets.folder.exists():
        return []
    records = assets.records()
    plan = plan_added(ledger, records, assets, settings, IngestOptions())
    if plan.asks or plan.warnings or unrecorded(ledger, records, assets):
        return None
    if not assets.are_settled(used_assets(ledger)):
        return None
    return [plan] if plan.scanned else []


def seal(data: DataDir, missing: Mapping[str, int], by: str = "") -> None:
    """Leave the seal: the run saw everything, and what it wrote is complete.

    *by* tells by which settings that was; where nothing but vectors was written, it stays.
    """
    try:
        marks = _marks(data)
    except FileNotFoundError:  # a store or an index that is no file shows no change, either
        return
    text = json.dumps({"marks": marks, "missing": missing, "by": by})
    new = data.seal.with_name(f"{data.seal.name}.new")
    with disk_errors("note that all was seen"):
        new.write_text(text, "utf-8")
        new.chmod(0o600)
        new.replace(data.seal)


def is_sealed(data: DataDir) -> bool:
    """Say whether the store and the index are as a run left them that had seen everything."""
    return _read(data) is not None


def sealed_by(data: DataDir) -> str | None:
    """Return by which settings the run saw everything that left the seal; ``None`` without one."""
    found = _read(data)
    return None if found is None else str(found.get("by", ""))


def _read(data: DataDir) -> dict[str, Any] | None:
    try:
        found = json.loads(data.seal.read_bytes())
        return found if found["marks"] == _marks(data) and found["missing"] is not None else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _marks(data: DataDir) -> list[list[Any]]:
    """Return what tells the store and the index from any other state of theirs."""
    files = [*data.parts(data.store.name), *sorted((data.root / "vectors").glob("*"))]
    files += [data.root / "lexical" / part / "meta.json" for part in ("chunks", "records")]
    return [list(_mark(path)) for path in files]


def _mark(path: Path) -> Iterator[Any]:
    status = path.stat()
    yield from (path.name, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _is_recent(source: Mapping[str, Any], now: int) -> bool:
    return 0 <= now - (source.get("verified_at") or 0) < _NOTED_EVERY_SECS


_STATES = {state.value: state for state in FileState}


def _file_record(row: Mapping[str, Any]) -> FileRecord:
    times = {name: _moment(row.get(name)) for name in ("processed_at", "changed_at")}
    return FileRecord(**{**row, "state": _STATES[row["state"]], **times})


@lru_cache
def _moment(epoch: int | None) -> datetime | None:
    """Return a time of the ledger; files that one run looked at share a few of them."""
    return from_epoch(epoch) if epoch else None
