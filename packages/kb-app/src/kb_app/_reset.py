"""Deleting what kebab made, and nothing else.

Only what lies in the configured directories is ever touched: the named parts of the data
directory, and the configuration file. A directory is removed when it is empty afterwards.
``index-only`` also drops the collections of an index on an engine, if this store made them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kb_app._data_dir import INDEX_PARTS, PARTS, DataDir
from kb_core import wire
from kb_core.control import ADDED_SOURCE
from kb_core.disk import remove_folder
from kb_core.errors import InvalidInput, NotIndexed
from kb_core.filters import Not, OneOf
from kb_core.records import Changes

if TYPE_CHECKING:
    from kb_app._parts import Parts
    from kb_app._write import WriteSession
    from kb_app.config import Config
    from kb_core.wire import types

__all__ = ["SCOPES", "paths_of", "reset"]

_PARTS = {
    "all": PARTS,
    "data-only": PARTS,
    "index-only": INDEX_PARTS,
    "vector-only": ("vectors",),
}
SCOPES = ("all", "data-only", "index-only", "vector-only", "config-only", "orphans-only")


def reset(config: Config, parts: Parts, scope: str, *, dry_run: bool) -> types.ResetReport:
    """Delete what *scope* names; return reset_report.v1. A dry run only says what."""
    if scope == "orphans-only":
        return _reset_orphans(config, parts, dry_run=dry_run)
    paths = paths_of(config, scope)
    removed = [(str(path), _size_of(path)) for path in paths]
    conversations = _conversations(config, paths)
    named = parts.collections() if scope == "index-only" else ()
    if not dry_run and (paths or named):
        if config.storage.data_dir.is_dir():
            with parts.lock():
                if named:
                    parts.drop_index()
                _delete(config, paths)
        else:
            _delete(config, paths)
    return wire.reset_report(
        scope.removesuffix("-only"),
        removed,
        dry_run=dry_run,
        conversations=conversations,
        collections=named,
        left=[str(path) for path in _left(config, scope)],
    )


def _left(config: Config, scope: str) -> list[Path]:
    """Return what a person put where *scope* deletes: it stays."""
    data, names = DataDir(config.storage.data_dir), _PARTS.get(scope, ())
    is_all = set(names) >= set(PARTS)
    return [path for path in data.not_ours() if is_all or path.parent.name in names]


def _conversations(config: Config, paths: Sequence[Path]) -> int | None:
    """Return how many conversations are below *paths*; ``None`` where none can be."""
    from kb_app._ask.journals import Journals

    journal = DataDir(config.storage.data_dir).journal
    is_among = any(journal in (path, path.parent) for path in paths)
    return len(Journals(journal).names()) if is_among else None


def paths_of(config: Config, scope: str) -> list[Path]:
    """Return what a reset of *scope* deletes and what of it exists."""
    if scope not in SCOPES:
        raise InvalidInput(
            f"scope {scope!r} is not one of {', '.join(SCOPES)}",
            details={"field": "scope", "value": scope},
        )
    data = DataDir(config.storage.data_dir)
    also = (data.token.name, data.forgotten.name) if scope == "all" else ()
    paths = data.ours(*_PARTS.get(scope, ()), *also)
    with_file = scope in {"all", "config-only"} and _is_there(config.file)
    return [*paths, config.file] if with_file else paths


def _is_there(path: Path) -> bool:
    return path.exists() or path.is_symlink()


def _size_of(path: Path) -> int:
    """Return the bytes of a file, or of everything below a folder."""
    if not path.is_dir() or path.is_symlink():
        return path.lstat().st_size
    return sum(p.lstat().st_size for p in path.rglob("*") if p.is_symlink() or p.is_file())


def _delete(config: Config, paths: list[Path]) -> None:
    """Delete *paths*, then the data directory if nothing is left in it but the lock."""
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            remove_folder(path)
        else:
            path.unlink(missing_ok=True)
    data = DataDir(config.storage.data_dir)
    if data.root.is_dir() and {p.name for p in data.root.iterdir()} <= {data.lock.name}:
        data.lock.unlink(missing_ok=True)
        data.root.rmdir()


def _reset_orphans(config: Config, parts: Parts, *, dry_run: bool) -> types.ResetReport:
    known = [ADDED_SOURCE, *(source.id for source in config.sources)]
    reader = parts.reader()
    try:
        snapshot, orphaned = reader.snapshot(), Not(OneOf("source_id", tuple(known)))
        documents = snapshot.count_docs(orphaned)
        names = {row["source_id"] for row in snapshot.files(orphaned)}  # skipped ones, too
        names.update(doc["source_id"] for doc in snapshot.docs(orphaned))
    except NotIndexed as error:
        if lost := DataDir(config.storage.data_dir).lost_index():
            raise lost from error
        documents, names = 0, set()
    finally:
        reader.close()
    if names and not dry_run:
        with parts.session() as session:
            _remove_orphans(session, sorted(names))
    return wire.reset_report("orphans", [], dry_run=dry_run, documents=documents)


def _remove_orphans(session: WriteSession, sources: Sequence[str]) -> None:
    """Remove the documents and ledger rows of *sources*."""
    for source_id in sources:
        rows = session.store.ledger(source_id)
        session.commit(
            Changes(
                deleted_docs=tuple(session.store.doc_ids(source_id)),
                forgotten_files=tuple((source_id, path) for path in rows),
            )
        )
