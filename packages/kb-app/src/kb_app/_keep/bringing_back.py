"""What a safety copy has and the data directory lost, and how it comes back.

What a person deleted or had forgotten is in no copy, so whatever a copy has and the data
directory has not was lost. The newest copy says what there should be; what of it is damaged is
taken of an older one. Nothing that is there and whole is written over.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kb_app._data_dir import DataDir, making_private_files
from kb_app._forgotten import (
    NOTHING_FORGOTTEN,
    Forgotten,
    bring_back as bring_marks_back,
    read_forgotten,
)
from kb_app._ingest.added.assets import Assets, read_record
from kb_app._keep.exporting import CONFIG, GOLDEN, SETTINGS
from kb_app._keep.safety import ASSETS, FORGOTTEN, JOURNAL, is_record
from kb_app._lines import LinesFile
from kb_app._pinned import is_pinned
from kb_app._safety import KEPT, SafetyCopies, SafetyCopy
from kb_app.paths import make_private_folder
from kb_core.control import ADDED_SOURCE
from kb_core.errors import IoError
from kb_core.values import dataclass, replace

if TYPE_CHECKING:
    from kb_app.config import Config
    from kb_core.ports import Clock

__all__ = ["Lost", "bring_back", "checks", "lost"]

_FEEDBACK = "_feedback"
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Lost:
    """One thing that a copy has: its kind, what a person knows it by, and the file in the copy."""

    kind: str
    name: str
    member: str


def lost(config: Config, *, thorough: bool) -> list[Lost]:
    """Return what was lost; *thorough* reads everything, else names and sizes are compared."""
    data = DataDir(config.storage.data_dir)
    copies = SafetyCopies(data.safety).all()
    if not copies:
        return []
    return [
        *_lost_documents(data, copies, thorough=thorough),
        *_lost_journals(data, copies, thorough=thorough),
        *_lost_files(config, data, copies[0]),
    ]


def bring_back(config: Config, what: list[Lost]) -> list[Lost]:
    """Put what was lost where it was; return what of it could be read in a copy.

    For the holder of the writer lock. May raise ``OSError``.
    """
    data = DataDir(config.storage.data_dir)
    copies = SafetyCopies(data.safety).all()
    with making_private_files():
        return [one for one in what if _is_back(config, data, copies, one)]


def checks(config: Config, clock: Clock, *, deep: bool) -> Iterator[dict[str, Any]]:
    """Yield what ``doctor`` says of the copies, and of what was lost; *deep* reads all of them."""
    if is_pinned(config):  # they have documents of every source
        return
    data = DataDir(config.storage.data_dir)
    copies, row = SafetyCopies(data.safety), {"name": "safety copy", "ok": True, "hint": None}
    every = copies.all()
    if not every:
        if data.root.is_dir():
            hint = "'kebab export --safety' makes one"
            yield {**row, "detail": "there is none yet", "hint": hint}
        return
    age = max(0, (clock() - every[0].made_at).days)
    told = f"{age:,} days old" if age else "less than a day old"
    told += f", {len(every)} of at most {KEPT}; runs with changes since: {copies.runs():,}"
    yield {**row, "detail": f"{every[0].folder}: {told}"}
    damaged = [one.place_of(name) for one in every for name in one.damaged()] if deep else []
    if damaged:
        named, hint = ", ".join(map(str, damaged)), "delete that, then 'kebab export --safety'"
        yield {**row, "ok": False, "detail": f"damaged: {named}", "hint": hint}
    yield from _incomplete(row, every)
    if gone := lost(config, thorough=deep):
        named = _named([one.name for one in gone])
        hint = "'kebab doctor --repair' brings it back"
        yield {**row, "ok": False, "detail": f"lost, and in the safety copy: {named}", "hint": hint}


def _incomplete(row: dict[str, Any], copies: Iterable[SafetyCopy]) -> Iterator[dict[str, Any]]:
    if gone := [str(one.place_of(name)) for one in copies for name in one.missing()]:
        hint = "'kebab export --safety' makes a whole one; newer ones take the place of this"
        yield {**row, "ok": False, "detail": f"missing: {_named(gone)}", "hint": hint}


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def _lost_documents(data: DataDir, copies: list[SafetyCopy], *, thorough: bool) -> Iterator[Lost]:
    assets, there = Assets(data.assets), copies[0].members()
    current, forgotten = assets.records(), _forgotten(data)
    for member in filter(is_record, there):
        kept = read_record(_read(copies, member) or b"")
        if kept is None:
            if not (data.root / member).exists():  # what it was called, nobody knows any more
                yield Lost("added", str(data.root / member), member)
            continue
        record = current.get(kept.key, kept)
        if record.is_removed or forgotten.has(ADDED_SOURCE, record.key):
            continue
        is_whole = assets.has(record.asset, record.size)
        is_whole = is_whole and (not thorough or assets.is_whole(record.asset))
        is_known = record.key in current
        is_kept = any(f"{ASSETS}{asset}" in there for asset in record.assets)
        if not (is_known and is_whole) and (is_whole or is_kept):
            yield Lost("added", record.key, member)


def _forgotten(data: DataDir) -> Forgotten:
    try:
        return read_forgotten(data)
    except IoError:
        return NOTHING_FORGOTTEN


def _can_be_read(data: DataDir) -> bool:
    try:
        read_forgotten(data)
    except IoError:
        return False
    return True


def _lost_journals(data: DataDir, copies: list[SafetyCopy], *, thorough: bool) -> Iterator[Lost]:
    for member in copies[0].members():
        if not member.startswith(JOURNAL):
            continue
        path, stem = data.root / member, member.removeprefix(JOURNAL).removesuffix(".jsonl")
        if is_there := path.is_file():
            if not thorough and path.stat().st_size >= copies[0].size_of(member):
                continue
            lines = set(_lines(path.read_bytes()))
            is_there = lines.issuperset(_lines(_read(copies, member) or b""))
        if not is_there:
            yield Lost("feedback" if stem == _FEEDBACK else "conversation", stem, member)


def _lost_files(config: Config, data: DataDir, copy: SafetyCopy) -> Iterator[Lost]:
    there = copy.members()
    for kind, member, path in _files(config, data):
        is_there = path.exists() and (kind != "forgotten" or _can_be_read(data))
        if member in there and not is_there:
            yield Lost(kind, str(path), member)


def _files(config: Config, data: DataDir) -> Iterator[tuple[str, str, Path]]:
    yield "settings", f"{SETTINGS}/{CONFIG}", config.file
    yield "golden_questions", f"{SETTINGS}/{GOLDEN}", config.file.parent / GOLDEN
    yield "forgotten", FORGOTTEN, data.forgotten


def _is_back(config: Config, data: DataDir, copies: list[SafetyCopy], one: Lost) -> bool:
    found = _read(copies, one.member)
    if one.kind == "added":
        return found is not None and _document_is_back(Assets(data.assets), copies, one, found)
    if found is None:
        return False
    if one.kind == "forgotten":
        bring_marks_back(data, found)
    elif one.member.startswith(JOURNAL):
        LinesFile(data.root / one.member, lambda row: row).bring_back(_lines(found))
    else:
        places = {member: path for _, member, path in _files(config, data)}
        _put(places[one.member], found)
    return True


def _document_is_back(assets: Assets, copies: list[SafetyCopy], one: Lost, told: bytes) -> bool:
    record = assets.records_of(one.name) or read_record(told)
    if record is None:
        return False
    if assets.records_of(one.name) is None:
        assets.keep(assets.place_of(one.name).name, told)
    for asset in record.assets:
        data = None if assets.is_whole(asset) else _read(copies, f"{ASSETS}{asset}")
        if data is not None:
            assets.keep(asset, data)
        if assets.is_whole(asset):
            if asset != record.asset:  # the bytes that were to replace it never arrived
                size = (assets.folder / asset).stat().st_size
                assets.record(replace(record, asset=asset, size=size))
            return True
    return False


def _read(copies: list[SafetyCopy], member: str) -> bytes | None:
    """Return a file of the newest copy that has it whole."""
    found = (copy.read(member) for copy in copies)
    return next((content for content in found if content is not None), None)


def _lines(content: bytes) -> list[bytes]:
    return [line for line in content.split(b"\n") if line]


def _put(path: Path, content: bytes) -> None:
    """Write a file that is not there, whole or not at all."""
    make_private_folder(path.parent)
    new = path.with_name(f".{path.name}.new")
    with new.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
