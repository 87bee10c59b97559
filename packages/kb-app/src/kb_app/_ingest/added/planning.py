"""Documents from outside the sources: what a run does with what was added.

They are rows of the source ``_added``, whose files are assets. No walk sees them, so none
can miss them: they are indexed again when settings or versions change, and go only when
somebody removes them. What was added is what the records beside the assets say; a ledger
that says otherwise is of a store that was lost, or is older, or of a run that was
killed, and is brought in line. Pure but for looking whether an asset is there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kb_app._ingest.added.assets import Added, Assets, given_medium, given_trust
from kb_app._ingest.judging.kinds import Kind, detect
from kb_app._ingest.plan import (
    Plan,
    Wanted,
    failed_item,
    has_these_settings,
    skipped_item,
    unchanged_item,
)
from kb_app._ingest.settings import (
    UNKNOWN,
    Settings,
    SourceSpec,
    fingerprint_of,
    settings_hash,
    unjudging,
)
from kb_core.control import ADDED_SOURCE
from kb_core.documents import SourceFile
from kb_core.ids import bytes_hash
from kb_core.ingest import IngestOptions
from kb_core.records import FileRecord, FileState
from kb_core.values import replace

if TYPE_CHECKING:
    from kb_app._ingest.added.offer import Offer

__all__ = [
    "asset_of",
    "find_added",
    "plan_added",
    "plan_offer",
    "plan_removal",
    "record_of",
    "record_of_row",
    "row_of_record",
    "unrecorded",
    "used_assets",
]

Ledger = Mapping[str, FileRecord]


def plan_added(
    ledger: Ledger,
    records: Mapping[str, Added],
    assets: Assets,
    settings: Settings,
    options: IngestOptions,
) -> Plan:
    """Return what a run does with all that was added."""
    plan = Plan(_spec(assets), verified=True)
    for row in ledger.values():
        if row.state is FileState.DELETED:
            continue
        record = records.get(row.path)
        if record is not None and record.is_removed:
            plan.scanned += 1
            plan.gone.append(replace(row, reason=None))
        elif record is not None and asset_of(row) != record.asset and _is_there(record, assets):
            plan.scanned += 1
            plan.wanted.append(_wanted(record, row))
        else:
            _consider(plan, row, record, assets, settings, options)
    known = {row.path for row in ledger.values() if row.state is not FileState.DELETED}
    for record in records.values():
        if record.key not in known and not record.is_removed:
            _restore(plan, record, assets)
    return plan


def unrecorded(ledger: Ledger, records: Mapping[str, Added], assets: Assets) -> list[FileRecord]:
    """Return the rows whose records are missing, or are of bytes that never arrived."""
    return [
        row
        for row in ledger.values()
        if row.state is not FileState.DELETED
        and (
            (record := records.get(row.path)) is None
            or not (record.is_removed or record.asset == asset_of(row) or _is_there(record, assets))
        )
    ]


def record_of_row(row: FileRecord, title: str | None, now_ns: int) -> Added:
    """Return the record of what the ledger says was added."""
    return Added(
        key=row.path,
        asset=asset_of(row),
        title=title if given_medium(asset_of(row)) is not None else None,
        size=row.size,
        mtime_ns=row.mtime_ns,
        recorded_ns=now_ns,
    )


def row_of_record(record: Added) -> FileRecord:
    """Return the row of what was added and never came into the ledger."""
    return FileRecord(
        source_id=ADDED_SOURCE,
        path=record.key,
        raw_path=os.fsencode(record.asset).hex(),
        state=FileState.PENDING,
        size=record.size,
        mtime_ns=record.mtime_ns,
    )


def record_of(offer: Offer, now_ns: int) -> Added:
    """Return the record of what is being added."""
    file = offer.file
    return Added(
        key=file.path,
        asset=offer.asset,
        title=offer.title,
        size=file.size,
        mtime_ns=file.mtime_ns,
        recorded_ns=now_ns,
    )


def plan_offer(offer: Offer, known: FileRecord | None, assets: Assets, settings: Settings) -> Plan:
    """Return what is to be done to add one document."""
    file, plan = offer.file, Plan(_spec(assets), scanned=1)
    there = {FileState.INDEXED, FileState.PENDING}
    indexed = known if known is not None and known.state in there else None
    if offer.refused is not None:
        plan.items.append(skipped_item(file, offer.refused.reason))
        kept = "; what was added before is kept" if indexed else ""
        plan.warnings.append(f"{file.path} was not added: {offer.refused.detail}{kept}")
        return plan
    digest = bytes_hash(offer.data)
    hash_now, trust = settings_hash(file, unjudging(settings)), given_trust(offer.asset)
    print_now = fingerprint_of(digest, hash_now, offer.title, trust)
    if indexed is not None and indexed.fingerprint == print_now:
        plan.items.append(unchanged_item(file, indexed.doc_id))
    else:
        raw = os.fsencode(offer.asset).hex()
        plan.wanted.append(Wanted(file, raw, known, offer.asset, offer.title))
    return plan


def plan_removal(row: FileRecord, assets: Assets) -> Plan:
    """Return what is to be done to remove a document that was added."""
    return Plan(_spec(assets), gone=[replace(row, reason=None)])


def find_added(ledger: Ledger, *keys: str) -> FileRecord | None:
    """Return the row that one of *keys* names: by its path, or by the id of its document."""
    rows = [row for row in ledger.values() if row.state is not FileState.DELETED]
    for key in keys:
        for row in rows:
            if key in {row.path, row.doc_id}:
                return row
    return None


def used_assets(ledger: Ledger) -> set[str]:
    """Return the names of the assets that something in *ledger* is made of."""
    return {asset_of(row) for row in ledger.values() if row.state is not FileState.DELETED}


def asset_of(row: FileRecord) -> str:
    """Return the name of the asset that holds the bytes of a row of ``_added``."""
    return os.fsdecode(bytes.fromhex(row.raw_path or ""))


def _spec(assets: Assets) -> SourceSpec:
    return SourceSpec(source_id=ADDED_SOURCE, root=str(assets.folder))


def _consider(
    plan: Plan,
    row: FileRecord,
    record: Added | None,
    assets: Assets,
    settings: Settings,
    options: IngestOptions,
) -> None:
    plan.scanned += 1
    asset, file = asset_of(row), _file_of(row)
    if not assets.has(asset, row.size):
        plan.warnings.append(
            f"the bytes of {row.path} are not in {assets.folder} any more; it can be found as "
            "before, but not indexed again: add it again, or remove it"
        )
    if not options.force and has_these_settings(file, row, unjudging(settings)):
        if row.state is FileState.INDEXED:
            plan.unchanged += 1
            plan.items.append(unchanged_item(file, row.doc_id))
            return
        if row.state is FileState.PENDING:
            title = record.title if record is not None else None
            plan.await_more(Wanted(file, row.raw_path, row, asset, title), options)
            return
        if not options.retry_failed:
            plan.items.append(failed_item(file, row))
            return
    title = record.title if record is not None else None
    plan.wanted.append(Wanted(file, row.raw_path, row, asset, title))


def _restore(plan: Plan, record: Added, assets: Assets) -> None:
    """Have a document built again that the ledger does not know, if its bytes are there."""
    plan.scanned += 1
    if _is_there(record, assets):
        plan.wanted.append(_wanted(record, None))
        plan.warnings.append(f"{record.key} is built again from its asset")
    else:
        plan.warnings.append(
            f"{record.key} cannot be built, since its bytes are not in {assets.folder}: "
            "add it again, or remove it"
        )


def _wanted(record: Added, known: FileRecord | None) -> Wanted:
    file = _file(record.key, record.asset, record.size, record.mtime_ns)
    return Wanted(file, os.fsencode(record.asset).hex(), known, record.asset, record.title)


def _is_there(record: Added, assets: Assets) -> bool:
    return assets.has(record.asset, record.size)


def _file_of(row: FileRecord) -> SourceFile:
    """Return the file of a row, as it was when it was added: as its name tells."""
    return _file(row.path, asset_of(row), row.size, row.mtime_ns)


def _file(key: str, asset: str, size: int, mtime_ns: int) -> SourceFile:
    given = given_medium(asset)
    kind = Kind(given) if given is not None else detect(key)
    return SourceFile(
        source_id=ADDED_SOURCE,
        path=key,
        media=kind.media if kind else UNKNOWN,
        code_lang=kind.code_lang if kind else None,
        size=size,
        mtime_ns=mtime_ns,
    )
