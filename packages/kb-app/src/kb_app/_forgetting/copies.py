"""Forgetting in the safety copies: files of ours that go as a whole.

Lines of journals are traces like those of the journals themselves. What was added goes with its
record; a copy of the golden questions goes where it tells of what is forgotten, since the file
that it was taken of is the person's, and stays; the configuration goes with a source, which it
names; what is damaged cannot be judged, and is of no use either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from kb_app._data_dir import DataDir
from kb_app._ingest.added.assets import Assets
from kb_app._keep.exporting import CONFIG, GOLDEN, SETTINGS
from kb_app._keep.safety import ASSETS, JOURNAL, records_in
from kb_app._safety import SafetyCopies, SafetyCopy

__all__ = ["added_in_copies", "golden_in_copies", "remove_from_copies"]

_GOLDEN, _CONFIG = f"{SETTINGS}/{GOLDEN}", f"{SETTINGS}/{CONFIG}"


def added_in_copies(data: DataDir) -> set[str]:
    """Return the keys of the added documents that safety copies have."""
    return {
        record.key
        for copy in SafetyCopies(data.safety).all()
        for record in records_in(copy).values()
        if not record.is_removed
    }


def golden_in_copies(data: DataDir) -> Iterator[str]:
    """Yield the golden questions of each copy, as they stand in the file."""
    return (_text(copy.read(_GOLDEN)) for copy in SafetyCopies(data.safety).all())


def remove_from_copies(
    data: DataDir,
    keys: Iterable[str],
    tells: Callable[[object], bool],
    *,
    golden: Path | None,
    with_config: bool,
) -> None:
    """Take out of every copy what was added under *keys*, and what else has to go.

    *golden* is the file of golden questions, without which a copy of it stays. May be done again.
    """
    places = [f"{ASSETS}{Assets(data.assets).place_of(key).name}" for key in keys]
    copies = SafetyCopies(data.safety)
    copies.sweep()
    for copy in copies.all():
        _remove_added(copy, places)
        for name in copy.members():
            if name.startswith((JOURNAL, SETTINGS)) and copy.read(name) is None:
                copy.drop(name)
        if with_config:
            copy.drop(_CONFIG)
        if golden is not None and golden.exists() and tells(_text(copy.read(_GOLDEN))):
            copy.drop(_GOLDEN)


def _remove_added(copy: SafetyCopy, places: Iterable[str]) -> None:
    """Take out records, and bytes that no other record names."""
    records = records_in(copy)
    gone = {place: records.pop(place) for place in places if place in records}
    named = {record.asset for record in records.values()}
    assets = {asset for one in gone.values() for asset in (one.asset, *one.replaces)} - named
    copy.drop(*places)  # also those that cannot be read
    copy.drop(*(f"{ASSETS}{asset}" for asset in assets))


def _text(content: bytes | None) -> str:
    return (content or b"").decode("utf-8", "replace")
