"""Export: a knowledge base as one archive, from which it can be made again anywhere.

The files of the truth go into it as they are, while no writer can change them: the store, the
assets, what was read at a price, conversations, runs over golden questions, the configuration
and the golden questions beside it; if wanted, the index and the original files. What names a
person's machine or lets somebody in stays out: locks, logs, the token of the server, and the
queries of the terminal.

A file at the end of the path is there whole or not at all.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from kb_app._data_dir import INDEX_PARTS, DataDir, making_private_files
from kb_app._ingest.seeing.files import location, open_inside, open_regular
from kb_app._keep.archive import ArchiveWriter, Member, measured
from kb_core import wire
from kb_core.clock import to_rfc3339
from kb_core.disk import disk_errors
from kb_core.errors import InvalidInput, IoError, StoreBusy
from kb_core.filters import OneOf
from kb_core.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from kb_app._parts import Parts
    from kb_app.config import Config, Source
    from kb_core.ports import IndexSnapshot
    from kb_core.wire import types

__all__ = ["DATA", "GOLDEN", "SETTINGS", "SOURCES", "export_to"]

DATA, SETTINGS, SOURCES = "data", "settings", "sources"
GOLDEN = "golden.yaml"
CONFIG = "config.toml"

_TRUTH = ("assets", "costly", "evals", "journal")
_UNFINISHED = ".exporting"


@dataclass(frozen=True, slots=True)
class _Planned:
    """A file that is to be a member, and how it is opened."""

    name: str
    part: str
    open: Callable[[], BinaryIO]


def export_to(
    target: str | BinaryIO,
    config: Config,
    parts: Parts,
    sources_of: Callable[[], IndexSnapshot | None] | None,
    *,
    with_index: bool = False,
    force: bool = False,
) -> types.ExportReport:
    """Write an archive to *target*, a path or an open stream; return export_report.v1.

    *sources_of* gives the index, whose original files go into it; ``None``: they stay out.
    ``NotIndexed`` where nothing is kept yet; ``StoreBusy`` while something is written, or not
    all that was to be forgotten is gone.
    ``InvalidInput`` for a path that is taken, unless *force*. ``BrokenPipeError`` where nobody
    reads the stream on.
    """
    path = _free(target, force=force) if isinstance(target, str) else None
    data = DataDir(config.storage.data_dir)
    with parts.calm(), disk_errors("export", but=(BrokenPipeError,)):
        described = parts.describe()
        if data.forgetting.exists():
            raise StoreBusy(
                "something is half forgotten, and would be in the archive",
                hint="run 'kebab ingest', which goes on with that first, and then this again",
            )
        planned = [*_data(data, with_index=with_index)]
        planned += _settings(config)
        planned += _sources(config, sources_of()) if sources_of else ()
        missing: list[str] = []
        found = list(_measured(planned, missing))
        told = (_told(member) for member, _ in found)
        manifest = wire.archive_manifest(described, told, to_rfc3339(parts.clock()))
        with _whole(path) if path else _stream(target) as out:
            _write(out, manifest, found)
    sizes: Counter[str] = Counter()
    for member, each in found:
        sizes[each.part] += member.bytes
    shown = str(path) if path else None
    return wire.export_report(manifest, path=shown, parts=sizes, missing=missing)


def _write(
    out: BinaryIO, manifest: types.ArchiveManifest, found: Iterable[tuple[Member, _Planned]]
) -> None:
    writer = ArchiveWriter(out)
    writer.begin(manifest)
    for member, each in found:
        with each.open() as file:
            writer.add(member, file)
    writer.end()


def _free(target: str, *, force: bool) -> Path:
    path = Path(os.path.abspath(target))  # noqa: PTH100 - a link stays as its owner wrote it
    if path.is_dir():
        problem, hint = f"'{path}' is a folder", "name a file in it"
    elif path.exists() and not force:
        problem, hint = f"there is a file '{path}' already", "another name, or --force"
    elif not path.parent.is_dir():
        problem, hint = f"there is no folder '{path.parent}'", "make it first"
    else:
        return path
    raise InvalidInput(problem, hint=hint, details={"field": "file", "value": str(path)})


def _data(data: DataDir, *, with_index: bool) -> Iterator[_Planned]:
    yield _planned(data.store, f"{DATA}/{data.store.name}", "store")
    log = data.store.with_name(f"{data.store.name}.wal")
    if log.is_file():
        yield _planned(log, f"{DATA}/{log.name}", "store")
    if data.forgotten.is_file():
        yield _planned(data.forgotten, f"{DATA}/{data.forgotten.name}", "forgotten")
    for part in (*_TRUTH, *(INDEX_PARTS if with_index else ())):
        for path in _files_below(data.root / part):
            name = f"{DATA}/{path.relative_to(data.root).as_posix()}"
            yield _planned(path, name, "index" if part in INDEX_PARTS else part)


def _settings(config: Config) -> Iterator[_Planned]:
    if config.is_found:
        yield _planned(config.file, f"{SETTINGS}/{CONFIG}", SETTINGS)
    golden = config.file.parent / GOLDEN
    if golden.is_file():
        yield _planned(golden, f"{SETTINGS}/{GOLDEN}", SETTINGS)


def _planned(path: Path, name: str, part: str) -> _Planned:
    return _Planned(name, part, partial(open_regular, str(path)))


def _files_below(folder: Path) -> Iterator[Path]:
    for here, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(here, name)
            if path.is_file() and not path.is_symlink():
                yield path


def _sources(config: Config, snapshot: IndexSnapshot | None) -> Iterator[_Planned]:
    roots = {source.id: source for source in config.sources}
    if snapshot is None:
        return
    for row in snapshot.files(OneOf("state", ("indexed",))):
        source = roots.get(row["source_id"])
        if source is not None:
            name = f"{SOURCES}/{source.id}/{row['path']}"
            yield _Planned(name, SOURCES, partial(_open, source, row["path"], row["raw_path"]))


def _open(source: Source, path: str, raw_path: str | None) -> BinaryIO:
    place = location(str(source.root), path, raw_path)
    return open_regular(place) if source.follow_links else open_inside(place, str(source.root))


def _measured(planned: Iterable[_Planned], missing: list[str]) -> Iterator[tuple[Member, _Planned]]:
    """Yield the members with sizes and sums; original files that are gone go to *missing*."""
    for each in planned:
        try:
            with each.open() as file:
                size, digest = measured(file)
                mtime_ns = os.fstat(file.fileno()).st_mtime_ns
        except OSError as error:
            if each.part != SOURCES:
                raise IoError(
                    f"cannot read {each.name!r}: {error.strerror or error}",
                    details={"member": each.name},
                ) from error
            missing.append(each.name.removeprefix(f"{SOURCES}/"))
        else:
            yield Member(each.name, size, digest, mtime_ns), each


def _told(member: Member) -> dict[str, object]:
    return {
        "name": member.name,
        "bytes": member.bytes,
        "sha256": member.sha256,
        "mtime_ns": member.mtime_ns,
    }


@contextmanager
def _stream(target: str | BinaryIO) -> Generator[BinaryIO]:
    assert not isinstance(target, str)  # noqa: S101 - a path is no stream
    yield target
    target.flush()


@contextmanager
def _whole(path: Path) -> Generator[BinaryIO]:
    """Open a new private file, and put it at *path* in one step once it is whole."""
    with making_private_files():
        handle, name = tempfile.mkstemp(
            dir=path.parent, prefix=f".{path.name}-", suffix=_UNFINISHED
        )
    try:
        with os.fdopen(handle, "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
