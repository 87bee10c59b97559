"""Adding one document from outside the sources, and removing one.

What is added is recorded first, then its bytes are kept as an asset, then the store commits
what is made of them; a removal is recorded first, too. So whatever a job is killed at, the
next run finishes it, or there was nothing yet. A refused document changes nothing.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from kb_app._ingest.added import (
    find_added,
    plan_addition,
    plan_removal,
    record_of,
    record_of_row,
    row_of_record,
)
from kb_app._ingest.addition import Addition, HandedText, from_file, from_text, key_of_file
from kb_app._ingest.assets import Assets
from kb_app._ingest.configured import ingest_settings, sources_around
from kb_app._ingest.job import Job, embed_if_wanted, now_ns, recorded, run_of, sweep_assets
from kb_app._ingest.outcomes import deleted_item
from kb_app._ingest.pipeline import process
from kb_app.config import Config
from kb_app.paths import environment, from_argument
from kb_core.control import ADDED_SOURCE
from kb_core.errors import DocNotFound, InvalidInput
from kb_core.ids import doc_id
from kb_core.ingest import IngestEvent
from kb_core.records import FileRecord

__all__ = ["add_file", "add_text", "remove"]

OpenJob: TypeAlias = AbstractContextManager[Job]
"""A job that begins when it is entered."""


def add_file(config: Config, path: str, open_job: OpenJob) -> Generator[IngestEvent]:
    """Add the file at *path*; the last event carries the report."""
    where = _absolute(path)
    addition = from_file(where, ingest_settings(config))
    with open_job as job:
        job.tally.warnings += [
            f"{addition.file.path} is in source {source_id!r}, too; what 'kebab ingest' indexes "
            "there is found twice"
            for source_id in sources_around(config, str(where))
        ]
        yield from _recorded(job, "ingest_file", addition)


def add_text(
    config: Config, given: HandedText, now_ns: int, open_job: OpenJob
) -> Generator[IngestEvent]:
    """Add a text; the last event carries the report."""
    addition = from_text(given, ingest_settings(config), now_ns)
    with open_job as job:
        yield from _recorded(job, "ingest_text", addition)


def remove(key: str, open_job: OpenJob) -> Generator[IngestEvent]:
    """Remove what was added as *key*: a source URI, a path, a slug, or a document's id."""
    with open_job as job:
        ledger = job.session.store.ledger(ADDED_SOURCE)
        keys = [key, *_as_path(key)]
        row = find_added(ledger, *keys) or _recorded_row(job, keys)
        if row is None:
            raise DocNotFound(
                f"nothing was added as {key!r}",
                hint=f"'kebab list docs --source {ADDED_SOURCE}' shows what was",
                details={"field": "key", "value": key},
            )
        yield from recorded(job, "remove", _scope(row.path), lambda job: _remove(job, row))


def _recorded(job: Job, kind: str, addition: Addition) -> Generator[IngestEvent]:
    return recorded(job, kind, _scope(addition.file.path), lambda job: _add(job, addition))


def _scope(key: str) -> dict[str, object]:
    return {"sources": [ADDED_SOURCE], "paths": [key]}


def _add(job: Job, addition: Addition) -> Generator[IngestEvent]:
    store, assets = job.session.store, Assets(job.session.data.assets)
    settings = ingest_settings(job.config)
    known = store.ledger(ADDED_SOURCE).get(addition.file.path)
    plan = plan_addition(addition, known, assets, settings)
    if addition.refused is not None:
        job.tally.add_plan(plan.items, plan.scanned, plan.warnings)
        return
    assets.record(record_of(addition, now_ns(job)))
    assets.keep(addition.asset, addition.data)
    yield from process(run_of(job, settings, len(plan.wanted)), [plan])
    sweep_assets(job)
    made = store.document(doc_id(ADDED_SOURCE, addition.file.path))
    # Not what else may be waiting: that can take hours, and nobody asked for it.
    yield from embed_if_wanted(job, most=len(made.chunks) if made is not None else 0)


def _remove(job: Job, row: FileRecord) -> Generator[IngestEvent]:
    assets = Assets(job.session.data.assets)
    assets.record(replace(record_of_row(row, None, now_ns(job)), is_removed=True))
    plan = plan_removal(row, assets)
    if row.doc_id is None:  # it never became a document, and is gone all the same
        plan.items.append(deleted_item(row))
    yield from process(run_of(job, ingest_settings(job.config), 0), [plan])
    sweep_assets(job)


def _recorded_row(job: Job, keys: Sequence[str]) -> FileRecord | None:
    """Return the row of a document that was added and never came into the store."""
    found = map(Assets(job.session.data.assets).records_of, keys)
    return next((row_of_record(one) for one in found if one and not one.is_removed), None)


def _absolute(path: str) -> Path:
    try:
        return from_argument(path, environment())
    except ValueError as error:
        raise InvalidInput(str(error), details={"field": "path", "value": path}) from error


def _as_path(key: str) -> list[str]:
    try:
        return [key_of_file(from_argument(key, environment()))]
    except ValueError:
        return []  # it is no path, but may name something all the same
