"""When a safety copy is made, and of what.

In a copy is what neither a source nor the index gives back: documents that were added, with
their records; conversations and feedback; golden questions; the configuration; marks of what
was forgotten. What the copy before had and is lost by now is in the next one, too, so no
number of runs does away with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

from kb_app._data_dir import DataDir
from kb_app._safety import Kept, SafetyCopies, SafetyCopy
from kb_core.clock import to_rfc3339
from kb_core.disk import disk_errors
from kb_core.errors import NotIndexed

if TYPE_CHECKING:
    from kb_app._ingest.added.assets import Added, Assets
    from kb_app._parts import Parts
    from kb_app.config import Config
    from kb_core.ports import Clock
    from kb_core.wire import types

__all__ = ["ASSETS", "FORGOTTEN", "JOURNAL", "is_record", "keep_safe", "make_copy", "records_in"]

ASSETS, JOURNAL = "assets/", "journal/"
FORGOTTEN = "forgotten.json"

_RECORD = ".json"
_DIGITS = 32
_AT_THE_LATEST = timedelta(days=30)
"""Records of removed documents go after 90 days: until then a copy has to know of the removal."""


def keep_safe(config: Config, clock: Clock, *, has_changes: bool) -> str | None:
    """Make a safety copy where one is due; return what to say where that cannot be done.

    For the holder of the writer lock, at the end of a run; *has_changes* says that it counts.
    """
    most = config.storage.safety_runs
    if not most:
        return None
    copies = SafetyCopies(DataDir(config.storage.data_dir).safety)
    try:
        runs = copies.count_run() if has_changes else copies.runs()
        newest = copies.newest() if runs else None
        is_old = newest is not None and clock() - newest.made_at > _AT_THE_LATEST
        if runs >= most or is_old:
            _made(config, copies, clock)
    except OSError as error:
        return f"no safety copy could be made: {error}"
    return None


def make_copy(config: Config, parts: Parts) -> types.SafetyReport:
    """Make a safety copy now; return safety_report.v1. ``NotIndexed`` without a data directory."""
    data = DataDir(config.storage.data_dir)
    if not data.root.is_dir():
        raise NotIndexed(f"there is nothing in {str(data.root)!r}", hint="run 'kebab ingest'")
    from kb_core import wire  # here, and where a run makes none, nothing of what follows

    with disk_errors("make a safety copy"), data.writing(), parts.lock():
        copies = SafetyCopies(data.safety)
        made = _made(config, copies, parts.clock)
        members = made.members()
        return wire.safety_report(
            str(made.folder),
            to_rfc3339(made.made_at),
            members=len(members),
            size=sum(path.stat().st_size for path in members.values()),
            copies=len(copies.all()),
        )


def is_record(name: str) -> bool:
    """Say whether a file of a copy is the record of an added document."""
    return name.startswith(ASSETS) and name.endswith(_RECORD)


def records_in(copy: SafetyCopy) -> dict[str, Added]:
    """Return the records of added documents in a copy, by the names of their files."""
    from kb_app._ingest.added.assets import read_record

    names = filter(is_record, copy.members())
    found = {name: read_record(copy.read(name) or b"") for name in names}
    return {name: record for name, record in found.items() if record is not None}


def _made(config: Config, copies: SafetyCopies, clock: Clock) -> SafetyCopy:
    data, before = DataDir(config.storage.data_dir), copies.newest()
    wanted = {each.name: each for each in _there(config, data)}
    wanted |= {each.name: each for each in _added(data, before)}
    if before is not None:
        for name, path in before.members().items():
            if name not in wanted and not name.startswith(ASSETS):
                wanted[name] = Kept(name, path, is_packed=True)  # it was lost: nobody deleted it
    made = copies.make([wanted[name] for name in sorted(wanted)], clock())
    _follow_deletions(wanted.values(), made)
    return made


def _there(config: Config, data: DataDir) -> Iterator[Kept]:
    """Yield all but what was added: settings, golden questions, marks, journals."""
    from kb_app._keep.exporting import CONFIG, GOLDEN, SETTINGS

    if config.is_found:
        yield Kept(f"{SETTINGS}/{CONFIG}", config.file.resolve())
    golden = config.file.parent / GOLDEN
    if golden.is_file():
        yield Kept(f"{SETTINGS}/{GOLDEN}", golden.resolve())
    if data.forgotten.is_file():
        yield Kept(FORGOTTEN, data.forgotten)
    for path in sorted(data.journal.glob("*.jsonl")):
        if path.is_file() and not path.is_symlink() and not path.name.startswith("."):
            yield Kept(f"{JOURNAL}{path.name}", path)


def _added(data: DataDir, before: SafetyCopy | None) -> Iterator[Kept]:
    """Yield the records of what was added, those that are lost, too, and the bytes of all."""
    from kb_app._ingest.added.assets import Assets

    assets, records = Assets(data.assets), {}
    for key, record in assets.records().items():
        path = assets.place_of(key)
        records[f"{ASSETS}{path.name}"] = record
        yield Kept(f"{ASSETS}{path.name}", path)
    if before is not None:
        lost = {name: one for name, one in records_in(before).items() if name not in records}
        records |= lost
        for name in lost:
            yield Kept(name, before.place_of(name), is_packed=True)
    for record in records.values():
        for asset in record.assets:
            if kept := _bytes_of(asset, assets, before):
                yield kept
                break


def _bytes_of(asset: str, assets: Assets, before: SafetyCopy | None) -> Kept | None:
    name, path = f"{ASSETS}{asset}", assets.folder / asset
    if before is not None and before.place_of(name).is_file():  # its bytes never change
        is_cut_off = not assets.has(asset, before.size_of(name))
        if not (is_cut_off and assets.is_whole(asset)):
            return Kept(name, before.place_of(name), is_packed=True)
    return Kept(name, path, digest=asset[:_DIGITS]) if path.is_file() else None


def _follow_deletions(wanted: Iterable[Kept], made: SafetyCopy) -> None:
    """Take out of a copy what was deleted of the journals while it was made."""
    for each in wanted:
        if not each.name.startswith(JOURNAL) or each.is_packed:
            continue
        try:
            if not made.is_same(each.name, each.origin.stat()):
                lines = set(each.origin.read_bytes().split(b"\n"))
                made.change(each.name, lines.__contains__)
        except FileNotFoundError:
            made.drop(each.name)
