"""Documents from outside the sources: what a run does with what was added.

They are rows of the source ``_added``, whose files are assets. No walk sees them, so none
can miss them: they are indexed again when settings or versions change, and go only when
somebody removes them. Pure but for looking whether an asset is there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace

from kb_app._ingest.addition import Addition
from kb_app._ingest.assets import Assets, given_medium, given_trust
from kb_app._ingest.detect import Kind, detect
from kb_app._ingest.fingerprint import UNKNOWN, fingerprint_of, settings_hash
from kb_app._ingest.plan import (
    Plan,
    SourceSpec,
    Wanted,
    failed_item,
    has_these_settings,
    skipped_item,
    unchanged_item,
)
from kb_app._ingest.settings import Settings, unjudging
from kb_core.control import ADDED_SOURCE
from kb_core.documents import SourceFile
from kb_core.ids import bytes_hash
from kb_core.ingest import IngestOptions
from kb_core.records import FileRecord, FileState

__all__ = [
    "asset_of",
    "find_added",
    "plan_added",
    "plan_addition",
    "plan_removal",
    "wanted_assets",
]

Ledger = Mapping[str, FileRecord]


def plan_added(
    ledger: Ledger,
    assets: Assets,
    settings: Settings,
    options: IngestOptions,
    title_of: Callable[[FileRecord], str | None],
) -> Plan:
    """Return what a run does with all that was added; *title_of* tells the title of a row."""
    plan = Plan(_spec(assets), verified=True)
    for row in ledger.values():
        if row.state is not FileState.DELETED:
            _consider(plan, row, assets, settings, options, title_of)
    return plan


def plan_addition(
    addition: Addition, known: FileRecord | None, assets: Assets, settings: Settings
) -> Plan:
    """Return what is to be done to add one document."""
    file, plan = addition.file, Plan(_spec(assets), scanned=1)
    indexed = known if known is not None and known.state is FileState.INDEXED else None
    if addition.refused is not None:
        plan.items.append(skipped_item(file, addition.refused.reason))
        kept = "; what was added before is kept" if indexed else ""
        plan.warnings.append(f"{file.path} was not added: {addition.refused.detail}{kept}")
        return plan
    digest = bytes_hash(addition.data)
    hash_now, trust = settings_hash(file, unjudging(settings)), given_trust(addition.asset)
    print_now = fingerprint_of(digest, hash_now, addition.title, trust)
    if indexed is not None and indexed.fingerprint == print_now:
        plan.items.append(unchanged_item(file, indexed.doc_id))
    else:
        raw = os.fsencode(addition.asset).hex()
        plan.wanted.append(Wanted(file, raw, known, addition.asset, addition.title))
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


def wanted_assets(ledger: Ledger) -> set[str]:
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
    assets: Assets,
    settings: Settings,
    options: IngestOptions,
    title_of: Callable[[FileRecord], str | None],
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
        if not options.retry_failed:
            plan.items.append(failed_item(file, row))
            return
    title = title_of(row) if given_medium(asset) is not None else None
    plan.wanted.append(Wanted(file, row.raw_path, row, asset, title))


def _file_of(row: FileRecord) -> SourceFile:
    """Return the file of a row, as it was when it was added: as its name tells."""
    given = given_medium(asset_of(row))
    kind = Kind(given) if given is not None else detect(row.path)
    return SourceFile(
        source_id=ADDED_SOURCE,
        path=row.path,
        media=kind.media if kind else UNKNOWN,
        code_lang=kind.code_lang if kind else None,
        size=row.size,
        mtime_ns=row.mtime_ns,
    )
