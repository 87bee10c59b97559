"""Import: a knowledge base made of an archive, whole or not at all.

Everything is unpacked beside the data directory and held against the manifest; the store is
brought up to date and the index built from it where the archive brings none, or one that does
not fit. Only then does it take the place of the data directory, which has to be empty, or is
set aside and stays. Whatever stops an import before that leaves everything as it was; the next
one clears away what lies beside.

Between two renames at the very end there is no data directory for a moment. Who is killed just
then finds all that was imported in the folder beside; whatever writes next puts it there.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from kb_app._data_dir import FORGOTTEN, PARTS, DataDir, making_private_files
from kb_app._keep.archive import ArchiveReader, Member
from kb_app._keep.exporting import CONFIG, DATA, GOLDEN, SETTINGS, SOURCES
from kb_app.paths import environment, make_private_folder
from kb_core import wire
from kb_core.disk import disk_errors
from kb_core.errors import InvalidInput, IoError, KbError
from kb_core.text import quoted
from kb_core.values import dataclass

if TYPE_CHECKING:
    from kb_app._parts import Parts
    from kb_app.config import Config
    from kb_core.wire import types

__all__ = ["import_from"]

_UNPACKED = "importing"
_ASIDE = "replaced"
_NOT_DATA = {"run", "safety", "forgetting.json"}
"""Parts that are of one machine, and in no archive of ours: a list of what is to be forgotten
names files outside the data directory, which the next writer would rewrite."""
_KEPT_IN_MEMORY = 16 * 1024 * 1024
_COMMANDS = "viewers"
_KEY_FILES = (
    ("ask", "api_key_file"),
    ("audio", "api_key_file"),
    ("index", "token_file"),
    ("ocr", "caption_api_key_file"),
)
"""Settings that run a program, and those that have a file sent to a server: whoever made an
archive would say which."""


@dataclass(frozen=True, slots=True)
class _Target:
    """Where what is imported goes."""

    data: DataDir
    sources_to: Path | None

    @property
    def unpacked(self) -> Path:
        """Where it is made."""
        return self.data.beside(_UNPACKED)

    @property
    def ready(self) -> Path:
        """Where it waits once it is whole, for as long as a rename takes."""
        return self.data.imported

    def aside(self) -> Path:
        """Return a free name for the data directory of before."""
        names = (self.data.beside(f"{_ASIDE}-{number}") for number in count(1))
        return next(path for path in names if not path.exists())


def import_from(
    origin: str | BinaryIO,
    config: Config,
    parts: Parts,
    *,
    replace: bool = False,
    dry_run: bool = False,
    sources_to: str | None = None,
) -> types.ImportReport:
    """Make the knowledge base that the archive *origin* holds; return import_report.v1.

    *origin* is a path or an open stream. A data directory that holds anything is refused, or set
    aside to *replace* it. Original files go to the new folder *sources_to*, one folder for each
    source; without it they stay in the archive. A dry run verifies the archive, and writes
    nothing. ``InvalidInput`` for an archive that is damaged or not ours, with the member.
    """
    with ExitStack() as stack, disk_errors("import"):
        stream = origin
        if isinstance(stream, str):
            stream = stack.enter_context(_archive(Path(stream)).open("rb"))
        if dry_run:
            return _verified(ArchiveReader(stream), config)
        root = Path(os.path.realpath(config.storage.data_dir))
        target = _Target(DataDir(root), _new_folder(sources_to))
        target.data.take_imported()
        _refuse_data(target.data, replace=replace)  # before anything is made
        stack.enter_context(making_private_files())
        stack.enter_context(parts.lock())
        _refuse_data(target.data, replace=replace)
        return _imported(ArchiveReader(stream), config, parts, target)


def _archive(path: Path) -> Path:
    if not path.exists():
        raise InvalidInput(
            f"there is no {quoted(str(path))}",
            hint="name the file that an export has written, or - for standard input",
            details={"field": "file", "value": str(path)},
        )
    if path.is_dir():
        raise InvalidInput(
            f"{quoted(str(path))} is a folder, and an archive is a file",
            hint="name the file that an export has written",
            details={"field": "file", "value": str(path)},
        )
    return path


def _verified(archive: ArchiveReader, config: Config) -> types.ImportReport:
    _check_places(archive.members)
    for _, blocks in archive.walk():
        _pass_over(blocks)
    there = {member.name for member in archive.members}
    fields = {
        "settings": _state(f"{SETTINGS}/{CONFIG}" in there, is_there=True),
        "golden_questions": _state(f"{SETTINGS}/{GOLDEN}" in there, is_there=True),
    }
    data_dir = str(config.storage.data_dir)
    return wire.import_report(archive.manifest, data_dir, fields, dry_run=True)


def _imported(
    archive: ArchiveReader, config: Config, parts: Parts, target: _Target
) -> types.ImportReport:
    _check_places(archive.members)
    _check_room(archive.members, target)
    shutil.rmtree(target.unpacked, ignore_errors=True)
    make_private_folder(target.unpacked)
    try:
        given, counted = _unpack(archive, target)
        fields: dict[str, Any] = {"index": _made_whole(archive.manifest, parts, target)}
        fields |= _settings(given, config, target)
        fields |= counted
    except BaseException:
        shutil.rmtree(target.unpacked, ignore_errors=True)
        if target.sources_to is not None:  # it was empty, so all of it is from here
            shutil.rmtree(target.sources_to, ignore_errors=True)
        raise
    fields["kept_aside"] = _take_place(target)
    return wire.import_report(archive.manifest, str(target.data.root), fields, dry_run=False)


def _new_folder(named: str | None) -> Path | None:
    if named is None:
        return None
    folder = Path(os.path.realpath(named))
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidInput(
            f"'{folder}' is not a new or empty folder",
            hint="name one: nothing that lies there is written over",
            details={"field": "sources_to", "value": str(folder)},
        )
    return folder


def _refuse_data(data: DataDir, *, replace: bool) -> None:
    there = data.parts(*PARTS)
    if there and not replace:
        raise InvalidInput(
            f"there is a knowledge base in '{data.root}' already",
            hint="--replace sets it aside and keeps it; or import into another storage.data_dir",
            details={"field": "replace", "value": str(data.root)},
        )


def _check_places(members: Sequence[Member]) -> None:
    """Refuse what no export of ours puts into an archive."""
    known = {f"{SETTINGS}/{CONFIG}", f"{SETTINGS}/{GOLDEN}", f"{DATA}/{FORGOTTEN}"}
    for member in members:
        part, _, rest = member.name.partition("/")
        top = rest.partition("/")[0]
        is_data = part == DATA and top in PARTS and top not in _NOT_DATA
        if not (is_data or member.name in known or (part == SOURCES and "/" in rest)):
            raise InvalidInput(
                f"the archive holds {member.name!r}, which is no part of a knowledge base",
                hint="only what an export has written can be imported",
                details={"field": "file", "member": member.name},
            )


def _check_room(members: Sequence[Member], target: _Target) -> None:
    needed = sum(member.bytes for member in members)
    free = shutil.disk_usage(target.data.root.parent).free
    if needed > free:
        raise IoError(
            f"the archive holds {needed:,} bytes, and {free:,} are free",
            hint="free some space and run it again",
            details={"needed": needed, "free": free},
        )


def _unpack(archive: ArchiveReader, target: _Target) -> tuple[dict[str, bytes], dict[str, int]]:
    """Write every member to its place; return those of the settings, and what was counted."""
    settings: dict[str, bytes] = {}
    written = left = 0
    for member, blocks in archive.walk():
        part, _, rest = member.name.partition("/")
        if part == DATA:
            _write(target.unpacked / rest, member, blocks, is_durable=True)
        elif part == SETTINGS:
            settings[rest] = _small(member, blocks)
        elif target.sources_to is not None:
            _write(target.sources_to / rest, member, blocks, is_durable=False)
            written += 1
        else:
            _pass_over(blocks)
            left += 1
    counted = {"source_files": written, "source_files_left": left}
    return settings, {name: n for name, n in counted.items() if n}


def _pass_over(blocks: Iterator[bytes]) -> None:
    """Read what is verified, and not wanted."""
    for _ in blocks:
        pass


def _small(member: Member, blocks: Iterator[bytes]) -> bytes:
    if member.bytes > _KEPT_IN_MEMORY:
        raise InvalidInput(
            f"{member.name!r} of the archive has {member.bytes:,} bytes",
            hint="settings and golden questions are texts of a few pages",
            details={"field": "file", "member": member.name},
        )
    return b"".join(blocks)


def _write(path: Path, member: Member, blocks: Iterator[bytes], *, is_durable: bool) -> None:
    make_private_folder(path.parent)
    with path.open("xb") as file:
        for block in blocks:
            file.write(block)
        if is_durable:
            file.flush()
            os.fsync(file.fileno())
    os.utime(path, ns=(member.mtime_ns, member.mtime_ns))


def _made_whole(manifest: types.ArchiveManifest, parts: Parts, target: _Target) -> str:
    """Bring what was unpacked up to date, index included; say where the index is from."""
    data = DataDir(target.unpacked)
    if not data.store.is_file():
        raise InvalidInput(
            "the archive holds no store",
            hint="only what an export has written can be imported",
            details={"field": "file", "member": f"{DATA}/{data.store.name}"},
        )
    brought = (data.root / "lexical").is_dir()
    with parts.session_in(data.root) as session:
        control, healed = session.control, session.healed
    counted = {name: control.stats.get(name, 0) for name in ("doc_count", "chunk_count")}
    told = {"doc_count": manifest["doc_count"], "chunk_count": manifest["chunk_count"]}
    if control.store_id != manifest["store_id"] or counted != told:
        raise InvalidInput(
            f"the store of the archive holds {counted}, and its list says {told}",
            hint="export it again where it was made",
            details={"field": "file", "found": counted, "expected": told},
        )
    return "imported" if brought and healed is None else "rebuilt"


def _settings(given: Mapping[str, bytes], config: Config, target: _Target) -> dict[str, Any]:
    """Write the configuration and the golden questions where there are none; say what became."""
    golden = config.file.parent / GOLDEN
    fields: dict[str, Any] = {
        "settings": _state(CONFIG in given, is_there=config.is_found),
        "golden_questions": _state(GOLDEN in given, is_there=golden.exists()),
    }
    if CONFIG in given:
        text, left = _here(given[CONFIG], config, target)
        if not config.is_found and text is not None:
            _put(config.file, text)
            fields |= {"settings_left": left} if left else {}
        elif text is None:
            fields["settings"] = "kept"
        is_taken = fields["settings"] == "written"
        fields["sources"] = _sources_of(given[CONFIG], config, target, is_taken=is_taken)
    if fields["golden_questions"] == "written":
        _put(golden, given[GOLDEN].decode("utf-8", "replace"))
    return fields


def _state(given: bool, *, is_there: bool) -> str:  # noqa: FBT001 - whether it was given
    return "absent" if not given else "kept" if is_there else "written"


def _put(file: Path, text: str) -> None:
    from kb_app.config._files import write_text

    write_text(file, text)


def _here(data: bytes, config: Config, target: _Target) -> tuple[str | None, list[str]]:
    """Return the configuration as it has to be here, or ``None`` if this version refuses it.

    The data directory is the one that is imported into, and sources that were written are where
    they were written to. Beside it stand the settings that were left out.
    """
    from kb_app.config import parse_config
    from kb_app.config._tables import edited

    try:
        text = data.decode("utf-8")
        read = parse_config(text, config.file, _plain_environment())
        document: Any = edited(text)
        if read.storage.data_dir != config.storage.data_dir:
            document.setdefault("storage", {})["data_dir"] = _as_path(config.storage.data_dir)
        for source in document.get("sources", ()):
            if target.sources_to is not None and (target.sources_to / source["id"]).is_dir():
                source["root"] = _as_path(target.sources_to / source["id"])
        left = _leave_out(document)
        changed: str = document.as_string()
        parse_config(changed, config.file, _plain_environment())
    except (ValueError, KeyError, TypeError, AttributeError, KbError):
        return None, []
    return changed, left


def _leave_out(document: MutableMapping[str, MutableMapping[str, object]]) -> list[str]:
    """Take out what the person has to say, and name it."""
    left = [(_COMMANDS, key) for key in document.get(_COMMANDS, ())]
    left += [(section, key) for section, key in _KEY_FILES if key in document.get(section, ())]
    for section, key in left:
        del document[section][key]
    return [f"{section}.{key}" for section, key in left]


def _plain_environment() -> dict[str, str]:
    """Return the environment without settings of ours: what a file says by itself."""
    return {name: value for name, value in environment().items() if not name.startswith("KEBAB_")}


def _as_path(path: Path) -> str:
    return str(path).replace("$", "$$")


def _sources_of(
    data: bytes, config: Config, target: _Target, *, is_taken: bool
) -> list[dict[str, Any]]:
    """Return the sources of the archive, each with the folder that the next run reads."""
    from kb_app.config import parse_config

    try:
        named = parse_config(data.decode("utf-8"), config.file, _plain_environment()).sources
    except (ValueError, KbError):
        return []
    known = {} if is_taken else {source.id: source.root for source in config.sources}
    found = []
    for source in named:
        moved = target.sources_to / source.id if target.sources_to is not None else None
        brought = moved if moved is not None and moved.is_dir() else source.root
        root = known.get(source.id, brought)
        is_here = is_taken or source.id in known
        found.append(
            {"id": source.id, "root": str(root), "configured": is_here, "present": root.is_dir()}
        )
    return found


def _take_place(target: _Target) -> str | None:
    """Put what was made in the place of the data directory; return where that is now, if kept."""
    data = target.data
    if data.token.is_file():
        shutil.copy2(data.token, target.unpacked / data.token.name)
    shutil.rmtree(target.ready, ignore_errors=True)
    aside, is_worth_keeping = target.aside(), bool(data.parts(*PARTS))
    target.unpacked.rename(target.ready)
    data.root.rename(aside)
    try:
        target.ready.rename(data.root)
    except OSError:
        if target.ready.exists() or not data.parts(*PARTS):
            aside.rename(data.root)
            raise  # else a writer that began just now has put it there
    _sync(data.root.parent)
    if is_worth_keeping:
        return str(aside)
    shutil.rmtree(aside, ignore_errors=True)
    return None


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
