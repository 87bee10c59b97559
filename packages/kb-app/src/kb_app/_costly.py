"""Costly results: what OCR or speech made of a page or a region, kept so that it is made once.

Below ``costly/`` of the data directory there is a folder for each content, called by the hash
of its bytes, and in it a file for each maker, ``<kind>.<hash of what makes it>.jsonl``, with a
line for each part. A worker adds a line with one write as soon as a part is made, with a sum
(``_sealed``). So whatever is killed and whenever, every part that was kept is there, and a line
that was torn, or is not what was written, counts as none. Two that make the same at once write
it twice, which harms nothing.

What has no file of its own, such as an attachment, is needed by the file that it is in:
``of`` names these, by the hashes of their bytes. What nothing in the ledger needs any more
goes with ``sweep``, which only the holder of the writer lock calls; so does what another
maker of the same kind has made anew. Nothing here is the only copy of anything.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from kb_app._sealed import sealed, unsealed
from kb_core.disk import disk_hint
from kb_core.errors import IoError
from kb_core.ids import bytes_hash, fingerprint
from kb_core.ports import Results
from kb_core.values import dataclass

__all__ = ["Costly", "Kept", "KeptResults", "UnkeptResults", "damaged_in", "kept_in", "sweep"]

_OF = "of"
_SUFFIX = ".jsonl"
_MAKER_DIGITS = 16


class Kept(NamedTuple):
    """What is kept: of how many contents, and how many bytes."""

    contents: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Costly:
    """Where costly results are kept of one file, and of what is in it: in *folder*.

    *owner* is the hash of the bytes of that file.
    """

    folder: Path
    owner: str

    def results(self, data: bytes, kind: str, maker: Mapping[str, object]) -> Results:
        """Return what *maker* made of *data*, which is the file or something in it.

        *kind* is the later phase; *maker* is all that can change what comes of it.
        """
        content = bytes_hash(data)
        name = f"{kind}.{fingerprint(dict(maker))[:_MAKER_DIGITS]}{_SUFFIX}"
        owner = None if content == self.owner else self.owner
        return KeptResults(self.folder / content / name, owner)


class UnkeptResults:
    """``Results`` that are forgotten with this object."""

    def __init__(self) -> None:
        self._parts: dict[str, object] = {}

    def get(self, part: str) -> object | None:
        return self._parts.get(part)

    def put(self, part: str, value: object) -> None:
        self._parts[part] = value


class KeptResults:
    """``Results`` in a file, needed by *owner* too, if there is one; any process may have it."""

    def __init__(self, file: Path, owner: str | None = None) -> None:
        self._file = file
        self._owner = owner
        self._parts: dict[str, object] | None = None
        self._is_torn = False

    def get(self, part: str) -> object | None:
        """Return what was made of *part*, or ``None``; what cannot be read was not made."""
        if self._parts is None:
            self._parts = self._read()
            if self._parts:
                self._own()
        return self._parts.get(part)

    def put(self, part: str, value: object) -> None:
        """Keep *value*, which JSON can hold; raise ``IoError`` where the disk refuses."""
        if self.get(part) is None and self._parts is not None:
            self._own()
            line = sealed(json.dumps([part, value], separators=(",", ":")).encode()) + b"\n"
            self._append(self._file, (b"\n" if self._is_torn else b"") + line)
            self._parts[part], self._is_torn = value, False

    def _read(self) -> dict[str, object]:
        try:
            data = self._file.read_bytes()
        except OSError:
            return {}
        self._is_torn = not data.endswith(b"\n")
        return dict(_parts_in(data))

    def _own(self) -> None:
        """Note who needs this; once is enough."""
        if self._owner is not None and self._owner not in _owners(self._file.parent):
            self._append(self._file.parent / _OF, f"{self._owner}\n".encode())
        self._owner = None

    def _append(self, file: Path, data: bytes) -> None:
        try:
            for folder in (file.parent.parent, file.parent):
                folder.mkdir(mode=0o700, exist_ok=True)
            descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with os.fdopen(descriptor, "ab", buffering=0) as stream:
                stream.write(data)
        except OSError as error:
            reason = error.strerror or str(error)
            raise IoError(
                f"cannot keep a costly result in {str(file)!r}: {reason}",
                hint=disk_hint(error.errno),
            ) from error


def kept_in(folder: Path) -> Kept:
    """Return how much is kept below *folder*, which need not be there."""
    sizes = [path.lstat().st_size for path in _files(folder)]
    return Kept(len({path.parent for path in _files(folder)}), sum(sizes))


def damaged_in(folder: Path) -> list[str]:
    """Return which files below *folder* have lines that are not what was written."""
    return [
        f"{path.relative_to(folder)} has parts that cannot be read"
        for path in _files(folder)
        if path.suffix == _SUFFIX and not _is_whole(path.read_bytes())
    ]


def sweep(folder: Path, known: Callable[[Sequence[str]], Collection[str]]) -> None:
    """Delete what nothing needs; *known* gives those hashes of bytes that some file has."""
    needed_by = {path: {path.name, *_owners(path)} for path in _folders(folder)}
    hashes = {name for names in needed_by.values() for name in names}
    there = set(known(sorted(hashes))) if hashes else set()
    for path, names in needed_by.items():
        if names & there:
            _sweep_makers(path)
        else:
            from shutil import rmtree  # compressors come with it: not where all is needed

            rmtree(path, ignore_errors=True)  # the next run tries again


def _sweep_makers(folder: Path) -> None:
    """Keep of each kind what was made last."""
    kinds: defaultdict[str, list[tuple[int, Path]]] = defaultdict(list)
    for path in folder.glob(f"*{_SUFFIX}"):
        with suppress(OSError):
            kinds[path.name.partition(".")[0]].append((path.stat().st_mtime_ns, path))
    for made in kinds.values():
        newest, _ = max(made)
        for at, path in made:
            if at < newest:
                path.unlink(missing_ok=True)


def _folders(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*") if path.is_dir())


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.glob("*/*") if path.is_file()]


def _owners(folder: Path) -> set[str]:
    try:
        return set((folder / _OF).read_text("ascii", "replace").split())
    except OSError:
        return set()


def _is_whole(data: bytes) -> bool:
    lines = [line for line in data.split(b"\n") if line]
    return len(lines) == len([*_parts_in(data)])


def _parts_in(data: bytes) -> Iterator[tuple[str, object]]:
    for line in data.split(b"\n"):
        with suppress(ValueError, TypeError):
            part, value = unsealed(line)
            yield str(part), value
