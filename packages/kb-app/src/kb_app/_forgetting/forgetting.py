"""Forgetting documents, sources and queries, so that no file of ours has their bytes.

What is to go is decided from what is published, shown, and then written down in
``forgetting.json``, which names files and documents and holds no text of them. From there on the
holder of the writer lock takes one step after the other, each of which can be taken again:

marks        the files are not read again, since their folders may be sources still
traces       what tells of the documents, while their texts are there to compare with
copies       the same of the safety copies, and what was added
truth        documents, ledger, aliases, sources
index        made anew from the truth: no old segment, vector or record stays
store        written anew: free blocks hold what was deleted
caches       recognised text and sound, bytes that were added

When all are done the list goes. Whatever interrupts them, the next that writes goes on.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from kb_app._costly import sweep
from kb_app._data_dir import DataDir, making_private_files
from kb_app._forgetting.copies import golden_in_copies, remove_from_copies
from kb_app._forgetting.mentions import Telling
from kb_app._forgetting.traces import (
    ALWAYS,
    KINDS,
    all_that_is_said,
    count,
    ids_in,
    traces_in,
)
from kb_app._forgotten import mark
from kb_app._ingest.added.assets import Assets
from kb_app._ingest.added.planning import record_of_row, used_assets
from kb_core.control import ADDED_SOURCE
from kb_core.disk import disk_errors
from kb_core.errors import IoError, NotIndexed
from kb_core.records import Changes
from kb_core.values import dataclass

if TYPE_CHECKING:
    from kb_app._write import WriteSession

__all__ = ["Mention", "ToForget", "finish", "forget", "mentions_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToForget:
    """What is to be forgotten, and where what tells of it may be."""

    doc_ids: tuple[str, ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    """Rows of the ledger, as source and path."""
    sources: tuple[str, ...] = ()
    """Those that go with everything of theirs."""
    queries: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ALWAYS
    """Of which traces what tells is taken away."""
    log_dir: str | None = None
    golden: str | None = None

    @property
    def has_documents(self) -> bool:
        """Whether anything of the store is to go."""
        return bool(self.doc_ids or self.files or self.sources)

    def telling(self) -> Telling:
        """Return what knows the texts that tell of it."""
        return Telling(self.doc_ids, (path for _, path in self.files), self.queries)

    @property
    def places(self) -> tuple[Path | None, Path | None]:
        """The folder of logs, and the golden questions."""
        return (
            None if self.log_dir is None else Path(self.log_dir),
            None if self.golden is None else Path(self.golden),
        )


@dataclass(frozen=True, slots=True)
class Mention:
    """How much in one trace tells of what is to be forgotten."""

    kind: str
    name: str
    count: int
    ids: tuple[str, ...] = ()
    """Those of golden questions that do."""


def mentions_of(data: DataDir, what: ToForget, texts: Iterable[str]) -> list[Mention]:
    """Return what tells of it; *texts* are those of the documents."""
    telling, traces = what.telling(), list(traces_in(data, *what.places))
    telling.look_for_quotes(texts, all_that_is_said(traces))
    found = [
        Mention(trace.kind, trace.name, count(trace, telling), tuple(ids_in(trace, telling)))
        for trace in traces
    ]
    return sorted(
        (one for one in found if one.count), key=lambda one: (KINDS.index(one.kind), one.name)
    )


def forget(session: WriteSession, what: ToForget) -> None:
    """Forget it; ``NotIndexed`` while readers are shown the index of a store that is gone."""
    if session.shows_another:
        raise NotIndexed(
            "the store is being made anew, and what it does not have yet cannot be forgotten",
            hint="run 'kebab ingest', and then this again",
        )
    _note(session.data, what)
    finish(session)


def finish(session: WriteSession) -> str | None:
    """Go on where forgetting was interrupted; say so, where it was."""
    data = session.data
    if not data.forgetting.exists():
        return None
    what = _noted(data)
    with disk_errors("forget"):
        told = session.control.sources.items()
        roots = {name: str(source["root"]) for name, source in told if name != ADDED_SOURCE}
        mark(data, (file for file in what.files if file[0] not in what.sources), roots)
        if session.shows_another:
            return None  # once the store is whole again, there is something to go on with
        _remove_traces(session, what)
        if what.has_documents:
            _remove_documents(session, what)
        data.forgetting.unlink()
    return "what was being forgotten when a process ended is forgotten now"


def _note(data: DataDir, what: ToForget) -> None:
    new = data.forgetting.with_name(f"{data.forgetting.name}.new")
    with disk_errors("note what is to be forgotten"), making_private_files():
        with new.open("w", encoding="utf-8") as file:
            json.dump(asdict(what), file)
            file.flush()
            os.fsync(file.fileno())
        new.replace(data.forgetting)


def _noted(data: DataDir) -> ToForget:
    try:
        told = json.loads(data.forgetting.read_bytes())
        lists = ("doc_ids", "sources", "queries", "kinds")
        made = {name: tuple(map(str, told[name])) for name in lists}
        files = tuple((str(source), str(path)) for source, path in told["files"])
        return ToForget(**made, files=files, log_dir=told["log_dir"], golden=told["golden"])
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise IoError(
            f"what was being forgotten cannot be told: {str(data.forgetting)!r} cannot be read: "
            f"{error}",
            hint="delete it, and give the command again that was to forget",
            details={"path": str(data.forgetting)},
        ) from error


def _remove_traces(session: WriteSession, what: ToForget) -> None:
    telling, traces = what.telling(), list(traces_in(session.data, *what.places))
    said = chain(all_that_is_said(traces), golden_in_copies(session.data))
    telling.look_for_quotes(_texts(session, what), said)
    for path in session.data.unfinished():  # which may tell of it, where the file does not yet
        path.unlink(missing_ok=True)
    for trace in traces:
        if trace.kind in what.kinds and count(trace, telling):
            trace.remove(telling.is_told_by)
    remove_from_copies(
        session.data,
        [path for source, path in what.files if source == ADDED_SOURCE],
        telling.is_told_by,
        golden=what.places[1],
        with_config=bool(what.sources),
    )


def _texts(session: WriteSession, what: ToForget) -> Iterator[str]:
    for doc_id in what.doc_ids:
        document = session.store.document(doc_id)
        if document is not None:
            yield document.text


def _remove_documents(session: WriteSession, what: ToForget) -> None:
    store, data = session.store, session.data
    assets, records, ledger = Assets(data.assets), [], store.ledger(ADDED_SOURCE)
    for key in (key for source_id, key in what.files if source_id == ADDED_SOURCE):
        record = assets.records_of(key)
        if record is None and key in ledger:  # it is damaged: the ledger has what it named
            record = record_of_row(ledger[key], None, ledger[key].mtime_ns)
        if record is not None:
            # The record goes last: without one, the next run would restore it from the store.
            assets.record(replace(record, is_removed=True))
            records.append(key)
    rows = [(source, path) for source in what.sources for path in store.ledger(source)]
    docs = [doc_id for source in what.sources for doc_id in store.doc_ids(source)]
    docs = list(dict.fromkeys((*what.doc_ids, *docs)))
    store.commit(Changes(deleted_docs=tuple(docs), forgotten_files=(*what.files, *rows)))
    session.publish()  # readers find no record at their sequence in an index that is ahead
    store.erase(docs, what.sources)
    session.rebuild()
    store.prune_outbox(store.sequence)
    store.compact(0.0)
    for log in data.logs_set_aside():
        log.unlink(missing_ok=True)
    sweep(data.costly, store.known_bytes)
    for key in records:
        assets.erase(key, unless=used_assets(store.ledger(ADDED_SOURCE)))
