"""What a person wants forgotten: the documents, rows and texts that a name stands for.

Decided from what is published, and told before anything goes; nothing is written here.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from kb_app._data_dir import DataDir
from kb_app._forgetting.copies import added_in_copies
from kb_app._forgetting.forgetting import Mention, ToForget, mentions_of
from kb_app._forgetting.traces import ALWAYS, GOLDEN, KINDS
from kb_app._search.lookup import files_named, find, named_in_full
from kb_core import wire
from kb_core.control import ADDED_SOURCE
from kb_core.errors import DocNotFound, InvalidInput
from kb_core.filters import And, Glob, OneOf, literal_glob
from kb_core.ids import enclosed_path
from kb_core.ports import IndexSnapshot, StoredDoc
from kb_core.values import dataclass, replace

if TYPE_CHECKING:
    from kb_app.config import Config
    from kb_core.wire import types

__all__ = ["Found", "found", "report_of"]

_FIELD = "target"
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What goes, with the documents as readers see them."""

    kind: str
    targets: Sequence[str]
    to_forget: ToForget
    docs: Sequence[StoredDoc] = ()
    twins: Sequence[StoredDoc] = ()
    """Documents that stay, of the same bytes."""


def found(
    kind: str,
    targets: Sequence[str],
    snapshot: Callable[[], IndexSnapshot],
    config: Config,
    *,
    mentions: bool,
) -> Found:
    """Return what *targets* stand for: documents, one source, or one query.

    ``DocNotFound`` or ``InvalidInput`` for what names nothing.
    """
    base = ToForget(
        kinds=KINDS if mentions else ALWAYS,
        log_dir=str(config.log.dir),
        golden=str(config.file.parent / "golden.yaml"),
    )
    match kind, targets:
        case "doc", [_, *_]:
            return _documents(snapshot(), base, targets, DataDir(config.storage.data_dir))
        case "source", [name]:
            configured = [source.id for source in config.sources]
            return _source(snapshot(), base, name, configured, DataDir(config.storage.data_dir))
        case "query", [query]:
            return _query(base, query)
    raise InvalidInput(
        f"there is nothing to forget of kind {kind!r} and {len(targets)} names",
        hint="kind is doc, source or query; a source or a query is named by itself",
        details={"field": "kind", "value": kind},
    )


def report_of(
    found: Found, snapshot: IndexSnapshot | None, config: Config, *, dry_run: bool
) -> types.ForgetReport:
    """Return forget_report.v1; *snapshot* has the texts of the documents, if there are any."""
    data = DataDir(config.storage.data_dir)
    texts = (snapshot.doc_text(doc["doc_id"]) or "" for doc in found.docs) if snapshot else ()
    kinds = {*found.to_forget.kinds} - {GOLDEN}
    told = mentions_of(data, found.to_forget, texts)
    return wire.forget_report(
        found.kind,
        found.targets,
        dry_run=dry_run,
        documents=len(found.docs),
        chunks=sum(doc["chunk_count"] for doc in found.docs),
        paths=[path for _, path in found.to_forget.files],
        mentions=(
            {"kind": one.kind, "name": one.name, "count": one.count, "goes": one.kind in kinds}
            for one in told
        ),
        left=[*_left(found), *_left_to_the_person(told), *_left_in(data)],
    )


def _left(found: Found) -> Iterator[str]:
    if found.twins:
        named = ", ".join(doc["path"] for doc in found.twins[:_MOST_NAMED])
        more = ", …" if len(found.twins) > _MOST_NAMED else ""
        yield f"documents of the same bytes: {named}{more}"


def _left_to_the_person(told: Iterable[Mention]) -> Iterator[str]:
    for one in told:
        if one.kind == GOLDEN:
            named = ", ".join(one.ids[:_MOST_NAMED])
            more = ", …" if len(one.ids) > _MOST_NAMED else ""
            which = f": {named}{more}" if named else ""
            yield f"golden questions in {one.name} that tell of it, which you can change{which}"


def _left_in(data: DataDir) -> Iterator[str]:
    for path in data.copies():
        yield f"{path}, a copy that was set aside: delete it if it holds it"
    for path in data.not_ours():
        yield f"{path}, which kebab did not make"


def _documents(
    snapshot: IndexSnapshot, base: ToForget, names: Sequence[str], data: DataDir
) -> Found:
    """Return what *names* stand for, each a document's id or path, or a path of the ledger.

    Or of what was added and lost, and is in safety copies alone.
    """
    docs: dict[str, StoredDoc] = {}
    files: dict[tuple[str, str], None] = {}
    for name in names:
        doc = _document(snapshot, name)
        rows = [(doc["source_id"], doc["path"])] if doc else [*_rows(snapshot, name)]
        if not rows and name in added_in_copies(data):
            rows = [(ADDED_SOURCE, name)]
        docs |= {doc["doc_id"]: doc} if doc else {}
        files |= dict.fromkeys(rows)
        if not rows:
            raise DocNotFound(
                f"no document is {name!r}",
                hint=_begun(data) or _or_another(snapshot, name),
                details={"field": _FIELD, "value": name},
            )
    within = [doc for file in files for doc in _within(snapshot, *file)]
    docs |= {doc["doc_id"]: doc for doc in within}
    what = replace(base, doc_ids=tuple(docs), files=tuple(files))
    return _found("doc", names, what, snapshot, list(docs.values()))


def _source(
    snapshot: IndexSnapshot,
    base: ToForget,
    name: str,
    configured: Sequence[str],
    data: DataDir,
) -> Found:
    """Return all of the source *name*, configured or not."""
    where = OneOf("source_id", (name,))
    docs, rows = list(snapshot.docs(where)), list(snapshot.files(where))
    known = sorted({*snapshot.control.sources, *configured})
    if name not in known and not docs and not rows:
        hint = f"the sources are {', '.join(known)}" if known else "there are none"
        raise InvalidInput(
            f"there is no source {name!r}",
            hint=_begun(data) or hint,
            details={"field": _FIELD, "value": name, "known": known},
        )
    files = dict.fromkeys((row["source_id"], row["path"]) for row in rows)
    files |= dict.fromkeys((doc["source_id"], doc["path"]) for doc in docs)
    if name == ADDED_SOURCE:
        files |= dict.fromkeys((name, key) for key in sorted(added_in_copies(data)))
    ids = tuple(doc["doc_id"] for doc in docs)
    what = replace(base, doc_ids=ids, files=tuple(files), sources=(name,))
    return _found("source", [name], what, snapshot, docs)


def _begun(data: DataDir) -> str | None:
    """Return what to do where a name may be of what is half forgotten, given once more."""
    if not data.forgetting.exists():
        return None
    return (
        "perhaps it is what a process ended while it forgot, of which not all is gone: run "
        "'kebab ingest', which goes on with that first"
    )


def _found(
    kind: str,
    targets: Sequence[str],
    what: ToForget,
    snapshot: IndexSnapshot,
    docs: Sequence[StoredDoc],
) -> Found:
    twins = _twins(snapshot, docs)
    return Found(kind=kind, targets=targets, to_forget=what, docs=docs, twins=twins)


def _query(base: ToForget, query: str) -> Found:
    """Return what a question that was asked stands for."""
    if not any(character.isalnum() for character in query):
        raise InvalidInput(
            "the query is blank",
            hint='kebab forget query "what was asked"',
            details={"field": _FIELD, "value": query},
        )
    kinds = tuple(dict.fromkeys((*base.kinds, "conversation")))
    what = replace(base, queries=(query,), kinds=kinds)
    return Found(kind="query", targets=[query], to_forget=what)


def _document(snapshot: IndexSnapshot, name: str) -> StoredDoc | None:
    named = named_in_full(snapshot, name, field=_FIELD)
    if named is None:
        return None
    doc = named.doc
    if container := doc.get("container"):
        raise InvalidInput(
            f"{doc['path']!r} is in the file {container!r}, and goes with it",
            hint=f"kebab forget doc {shlex.quote(container)}",
            details={"field": _FIELD, "value": name},
        )
    return doc


def _or_another(snapshot: IndexSnapshot, name: str) -> str:
    """Return what to do where nothing is called *name* in full.

    The end of a path is not enough: what was forgotten is called so no more, and the same
    command, given once more, would take another document whose path ends so.
    """
    ending = find(snapshot, name, field=_FIELD)
    if ending is not None:
        return f"is it 'kebab forget doc {shlex.quote(ending.doc['path'])}'?"
    return "'kebab list docs' shows the ids and paths of all documents"


def _rows(snapshot: IndexSnapshot, name: str) -> Iterator[tuple[str, str]]:
    for row in files_named(snapshot, name):
        yield row["source_id"], row["path"]


def _within(snapshot: IndexSnapshot, source_id: str, path: str) -> Iterator[StoredDoc]:
    inside = Glob(f"{literal_glob(enclosed_path(path, ''))}**")
    yield from snapshot.docs(And((OneOf("source_id", (source_id,)), inside)))


def _twins(snapshot: IndexSnapshot, docs: Iterable[StoredDoc]) -> list[StoredDoc]:
    """Return the documents of the same bytes that are not among *docs*."""
    gone = {doc["doc_id"]: doc["bytes_hash"] for doc in docs}
    hashes = {digest for digest in gone.values() if digest}
    if not hashes:
        return []
    return [d for d in snapshot.docs(None) if d["bytes_hash"] in hashes and d["doc_id"] not in gone]
