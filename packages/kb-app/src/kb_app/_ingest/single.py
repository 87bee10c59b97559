"""Adding one document by itself, and removing one.

A file that a source takes is indexed in place, as a run narrowed to it would. Any other, and
a text, is recorded first, then its bytes are kept as an asset, then the store commits what is
made of them; a removal is recorded first, too. So whatever a run is killed at, the next run
finishes it, or there was nothing yet. A refused document changes nothing.

A person may add any file, also one that its source ignores. A language model may add what
lies in a folder that the person allowed, and what a walk of that folder would take.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeAlias

from kb_app._forgotten import NOTHING_FORGOTTEN, read_forgotten, take_back
from kb_app._ingest.added.assets import Assets, given_trust
from kb_app._ingest.added.notes import (
    as_note,
    notes_folder,
    with_provenance,
    write_note,
)
from kb_app._ingest.added.offer import (
    HandedText,
    Offer,
    check_file,
    check_text,
    from_file,
    from_text,
    key_of_file,
    refusal,
)
from kb_app._ingest.added.placing import Place, allowed_folders, not_allowed, place_in
from kb_app._ingest.added.planning import (
    find_added,
    plan_offer,
    plan_removal,
    record_of,
    record_of_row,
    row_of_record,
)
from kb_app._ingest.judging.secrets import check_secret_name
from kb_app._ingest.outcomes import deleted_item
from kb_app._ingest.pipeline import Run, process
from kb_app._ingest.plan import Known, plan_sources
from kb_app._ingest.run import embed_if_wanted, now_ns, recorded, sweep_assets
from kb_app._ingest.seeing.files import inside, meant_inside, open_below, path_of
from kb_app._ingest.settings import SourceSpec, ingest_settings, source_specs
from kb_app._parts import Parts
from kb_app.config import Config
from kb_app.paths import environment, from_argument, path_given
from kb_core.control import ADDED_SOURCE
from kb_core.errors import ConfigInvalid, DocNotFound, InvalidInput
from kb_core.ids import doc_id, enclosing_paths
from kb_core.ingest import IngestEvent, ItemKind, SkipReason
from kb_core.records import FileRecord
from kb_core.text import nfc
from kb_core.values import replace

__all__ = [
    "add_file",
    "add_file_by_model",
    "add_text",
    "add_text_by_model",
    "refresh_by_model",
    "remove",
]

OpenRun: TypeAlias = AbstractContextManager[Run]
"""A run that begins when it is entered."""


def add_file(config: Config, path: str, parts: Parts, open_run: OpenRun) -> Generator[IngestEvent]:
    """Add the file at *path* that a person named; the last event carries the report."""
    where = path_given("path", path, environment())
    check_file(where)
    place = place_in(source_specs(config, ()), os.path.realpath(where))
    if place is not None and place.refused is None:
        yield from _indexed(place, where, open_run, by_person=True)
        return
    offer = from_file(where, ingest_settings(config), parts.executor)
    with open_run as run:
        take_back(run.session.data, ADDED_SOURCE, offer.file.path, "/")
        if place is not None and place.refused is not None and offer.refused is None:
            run.tally.warnings.append(
                f"{offer.file.path} is left alone in its source {place.spec.source_id!r} "
                f"({place.refused.detail}); a copy is kept in {ADDED_SOURCE!r}"
            )
        yield from _recorded(run, "ingest_file", offer)


def add_file_by_model(
    config: Config, path: str, parts: Parts, open_run: OpenRun
) -> Generator[IngestEvent]:
    """Add the file at *path* that a language model named; the last event carries the report.

    Raises ``InvalidInput`` for a path outside the folders that the person allowed, in the
    same words whether there is such a file or not.
    """
    try:
        where = from_argument(path, environment())
        real = os.path.realpath(where)
    except (OSError, ValueError):  # no path at all
        raise not_allowed(path) from None
    folders = allowed_folders(config, real, path)
    check_file(where)
    place = place_in(source_specs(config, ()), real)
    if place is not None:
        yield from _indexed(place, where, open_run)
        return
    offer = _from_folder(config, where, parts, place_in(folders, real))
    with open_run as run:
        _refuse_forgotten(run, offer.file.path, [(ADDED_SOURCE, "/", offer.file.path)])
        yield from _recorded(run, "ingest_file", offer)


def refresh_by_model(
    config: Config, paths: Sequence[str], open_run: OpenRun
) -> Generator[IngestEvent]:
    """Index the files of sources at *paths*, absolute ones, in one run: what moved is seen to.

    What is not there any more is taken away. ``InvalidInput`` as of ``add_file_by_model``.
    """
    for path in paths:
        allowed_folders(config, os.path.realpath(path), path)
    specs, named = source_specs(config, paths), [key_of_file(Path(path)) for path in paths]
    scope = {"sources": [spec.source_id for spec in specs], "paths": named}
    with open_run as run:
        yield from recorded(run, "ingest", scope, lambda run: _index(run, specs))


def add_text(
    config: Config, given: HandedText, now_ns: int, open_run: OpenRun
) -> Generator[IngestEvent]:
    """Add a text of a person; the last event carries the report."""
    yield from _add_text(config, given, now_ns, open_run, by_person=True)


def _add_text(
    config: Config,
    given: HandedText,
    now_ns: int,
    open_run: OpenRun,
    *,
    by_person: bool = False,
) -> Generator[IngestEvent]:
    offer = from_text(given, ingest_settings(config), now_ns)
    with open_run as run:
        _refuse_less_trusted(run, offer)
        if by_person:
            take_back(run.session.data, ADDED_SOURCE, offer.file.path, "/")
        else:
            key = offer.file.path
            _refuse_forgotten(run, key, _files_meant(source_specs(config, ()), key))
        yield from _recorded(run, "ingest_text", offer)


def add_text_by_model(
    config: Config, given: HandedText, now_ns: int, open_run: OpenRun
) -> Generator[IngestEvent]:
    """Add a text of a language model: a note of a source, where the person named a folder.

    Raises ``ConfigInvalid`` for a folder whose files no source takes.
    """
    check_text(given)  # before what is said of it makes a text of nothing
    if not config.mcp.notes_dir:
        yield from _add_text(config, with_provenance(given), now_ns, open_run)
        return
    folder = notes_folder(config)
    offer = from_text(as_note(given, now_ns), ingest_settings(config), now_ns)
    with open_run as run:
        if offer.refused is not None:
            yield from _recorded(run, "ingest_text", offer)
            return
        specs = source_specs(config, ())
        where = write_note(folder, given.title, offer.data, lambda file: _is_forgotten(specs, file))
        place = place_in(specs, os.fspath(where))
        if place is None or place.refused is not None:
            where.unlink()
            raise _left_alone(config.mcp.notes_dir, place)
        scope = {"sources": [place.spec.source_id], "paths": [key_of_file(where)]}
        yield from recorded(run, "ingest_text", scope, lambda run: _index_one(run, place, where))


def _is_forgotten(specs: Iterable[SourceSpec], file: Path) -> bool:
    """Say whether a person had what was at *file* forgotten: nothing there is found again."""
    tops = ((spec, os.path.realpath(spec.root)) for spec in specs)
    below = ((spec, top, inside(os.fspath(file), top)) for spec, top in tops)
    return any(
        spec.forgotten.has(spec.source_id, path_of(top, path), spec.root)
        for spec, top, path in below
        if path
    )


def _left_alone(folder: str, place: Place | None) -> ConfigInvalid:
    why = place.refused.detail if place is not None and place.refused else "it is in no source"
    return ConfigInvalid(
        f"mcp.notes_dir {folder!r}: its source would leave the note alone ({why})",
        hint="name a folder whose Markdown files are indexed",
        details={"setting": "mcp.notes_dir", "value": folder},
    )


def remove(key: str, open_run: OpenRun) -> Generator[IngestEvent]:
    """Remove what was added as *key*: a source URI, a path, a slug, or a document's id."""
    with open_run as run:
        ledger = run.session.store.ledger(ADDED_SOURCE)
        keys = [key, *_as_path(key)]
        row = find_added(ledger, *keys) or _recorded_row(run, keys)
        if row is None:
            raise DocNotFound(
                f"nothing was added as {key!r}",
                hint=f"'kebab list docs --source {ADDED_SOURCE}' shows what was",
                details={"field": "key", "value": key},
            )
        yield from recorded(run, "remove", _scope(row.path), lambda run: _remove(run, row))


def _from_folder(config: Config, where: Path, parts: Parts, place: Place | None) -> Offer:
    """Read the file as what it was when it was looked at; a walk's rules hold for it, too."""
    if place is None:  # the folder itself, which was none when it was looked at
        raise not_allowed(str(where))
    settings = ingest_settings(config)
    refused = place.refused
    if refused is None and not settings.allow_secrets:
        refused = check_secret_name(f"{place.top}/{place.below}")
    if refused is not None:
        return refusal(where, refused)
    return from_file(where, settings, parts.executor, lambda _: open_below(place.below, place.top))


def _indexed(
    place: Place, where: Path, open_run: OpenRun, *, by_person: bool = False
) -> Generator[IngestEvent]:
    """Index a file of a source, where it is; one that was forgotten, if a person names it."""
    scope = {"sources": [place.spec.source_id], "paths": [key_of_file(where)]}
    with open_run as run:
        if by_person:
            (path,) = place.spec.narrow
            take_back(run.session.data, place.spec.source_id, path, place.spec.root)
            place = replace(place, spec=replace(place.spec, forgotten=NOTHING_FORGOTTEN))
        yield from recorded(run, "ingest_file", scope, lambda run: _index_one(run, place, where))


def _index(run: Run, specs: Sequence[SourceSpec]) -> Generator[IngestEvent]:
    """Index what *specs* are narrowed to, and give it vectors."""
    known = Known(ledger=run.session.store.ledger, sources=run.session.control.sources)
    yield from process(run, [*plan_sources(specs, known, run.settings, run.options)])
    yield from _embed(run, [doc_id(spec.source_id, path) for spec in specs for path in spec.narrow])


def _index_one(run: Run, place: Place, where: Path) -> Generator[IngestEvent]:
    """Index one file, and say why where it is not indexed."""
    store, spec = run.session.store, place.spec
    yield from _index(run, [spec])
    if any(item.kind in {ItemKind.SKIPPED, ItemKind.DELETED} for item in run.tally.items):
        rows, left = store.ledger(spec.source_id), [item.doc_path for item in run.tally.items]
        details = {path: rows[path].detail for path in left if path in rows}
        run.tally.warnings += [f"{path} is not indexed: {why}" for path, why in details.items()]
        run.tally.warnings += [
            f"{item.doc_path} was forgotten, and is read again when a person names it: "
            f"'kebab ingest-file {shlex.quote(key_of_file(where))}'"
            for item in run.tally.items
            if item.reason == SkipReason.FORGOTTEN
        ]
    if find_added(store.ledger(ADDED_SOURCE), key_of_file(where)):
        run.tally.warnings.append(
            f"{key_of_file(where)} was added by itself before, and is found twice; "
            "'kebab ingest-file --remove' takes that copy away"
        )


def _recorded(run: Run, kind: str, offer: Offer) -> Generator[IngestEvent]:
    return recorded(run, kind, _scope(offer.file.path), lambda run: _add(run, offer))


def _scope(key: str) -> dict[str, object]:
    return {"sources": [ADDED_SOURCE], "paths": [key]}


def _add(run: Run, offer: Offer) -> Generator[IngestEvent]:
    store, assets = run.session.store, Assets(run.session.data.assets)
    settings = ingest_settings(run.config)
    known = store.ledger(ADDED_SOURCE).get(offer.file.path)
    plan = plan_offer(offer, known, assets, settings)
    if offer.refused is not None:
        run.tally.add_plan(plan.items, plan.scanned, plan.warnings)
        return
    assets.record(record_of(offer, now_ns(run)))
    assets.keep(offer.asset, offer.data)
    yield from process(run, [plan])
    sweep_assets(run)
    yield from _embed(run, [doc_id(ADDED_SOURCE, offer.file.path)])


def _embed(run: Run, docs: Sequence[str]) -> Generator[IngestEvent]:
    made = filter(None, map(run.session.store.document, docs))
    # Not what else may be waiting: that can take hours, and nobody asked for it.
    own = len({chunk.passage_hash for document in made for chunk in document.chunks})
    counts = [item.chunk_count or 0 for item in run.tally.items]
    # Of a file with others within it, what all of them have.
    yield from embed_if_wanted(run, most=own if len(counts) <= len(docs) else max(own, sum(counts)))


def _remove(run: Run, row: FileRecord) -> Generator[IngestEvent]:
    assets = Assets(run.session.data.assets)
    assets.record(replace(record_of_row(row, None, now_ns(run)), is_removed=True))
    plan = plan_removal(row, assets)
    if row.doc_id is None:  # it never became a document, and is gone all the same
        plan.items.append(deleted_item(row))
    yield from process(run, [plan])
    sweep_assets(run)


def _refuse_less_trusted(run: Run, offer: Offer) -> None:
    """Raise ``InvalidInput`` where a text would replace one that is trusted more.

    So what a model writes never takes the place of what a person kept, and its bytes.
    """
    key = offer.file.path
    before = Assets(run.session.data.assets).records_of(key)
    if before is None or before.is_removed or offer.refused is not None:
        return
    ours, theirs = given_trust(offer.asset), given_trust(before.asset)
    if ours.rank < theirs.rank:
        raise InvalidInput(
            f"{key!r} was added with trust {theirs.value!r}, and one with {ours.value!r} does not "
            "replace it",
            hint="add it under another source_uri or title; only a person can remove the other",
            details={"field": "source_uri", "value": key},
        )


def _refuse_forgotten(run: Run, key: str, files: Iterable[tuple[str, str, str]]) -> None:
    """Raise ``InvalidInput`` for what a person had forgotten: only a person takes that back.

    *key* names *files*, each a source, its folder and a path in there; they are forgotten with
    the file that they are within.
    """
    forgotten = read_forgotten(run.session.data)
    places = ((source, root, at) for source, root, path in files for at in enclosing_paths(path))
    if any(forgotten.has(source, path, root) for source, root, path in places):
        raise InvalidInput(
            f"the person had {key!r} forgotten",
            hint="only the person can add it again, with 'kebab ingest-file' or 'ingest-stdin'",
            details={"field": "path", "value": key},
        )


def _files_meant(specs: Sequence[SourceSpec], key: str) -> Iterator[tuple[str, str, str]]:
    """Yield the files, of those that were added and of *specs*, that whoever types *key* means."""
    from kb_app._search.lookup import paths_read

    for path in map(nfc, paths_read(key)):
        yield ADDED_SOURCE, "/", path
        meant = os.path.expanduser(path)  # noqa: PTH111 - leaves an unknown user alone
        for spec in specs:
            for below in meant_inside(spec.root, meant):
                yield spec.source_id, spec.root, below


def _recorded_row(run: Run, keys: Sequence[str]) -> FileRecord | None:
    """Return the row of a document that was added and never came into the store."""
    found = map(Assets(run.session.data.assets).records_of, keys)
    return next((row_of_record(one) for one in found if one and not one.is_removed), None)


def _as_path(key: str) -> list[str]:
    try:
        return [key_of_file(from_argument(key, environment()))]
    except ValueError:
        return []  # it is no path, but may name something all the same
