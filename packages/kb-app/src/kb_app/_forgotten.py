"""Files that are not read again: what was forgotten, by marks that name nothing.

``forgotten.json`` in the data directory has a secret and, for each file that a person had
forgotten while its source stayed, a hash of the secret with the source and the path. So a walk
that sees the file knows it, and who reads only the list learns no name and no content. A mark
goes when a person names the file again.

A list that cannot be read, or is not what was written, is an error: going on would read again
what was to be forgotten.
Only the holder of the writer lock writes here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from kb_app._data_dir import DataDir, making_private_files
from kb_app._sealed import sealed, unsealed
from kb_core.disk import LOOK_AT_THE_DISK, disk_errors, disk_hint
from kb_core.errors import IoError
from kb_core.ids import blake2b
from kb_core.values import dataclass, field, lazy_pattern

__all__ = [
    "NOTHING_FORGOTTEN",
    "Forgotten",
    "bring_back",
    "mark",
    "read_forgotten",
    "take_back",
]

_NO_ROOTS: Mapping[str, str] = MappingProxyType({})
_DIGEST_BYTES = 16
_MARK = lazy_pattern(rb'"([0-9a-f]{32})"')


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The marks, and the secret that they are made with."""

    secret: bytes = b""
    marks: frozenset[str] = frozenset()
    reals: dict[str, str] = field(default_factory=dict, compare=False)
    """Where folders of sources lead to, as far as that was asked."""

    def has(self, source_id: str, path: str, root: str = "") -> bool:
        """Say whether the file at *path* of a source was forgotten; *root* is its folder."""
        return bool(self.marks) and not self.marks.isdisjoint(self.marks_of(source_id, path, root))

    def marks_of(self, source_id: str, path: str, root: str = "") -> set[str]:
        """Return the marks of a file: of its path in the source and, with *root*, of its place."""
        places = [(source_id, path)]
        if root:
            real = self.reals.get(root) or self.reals.setdefault(root, os.path.realpath(root))
            places.append(("", os.path.join(real, path)))  # noqa: PTH118 - no Path
        named = (f"{of}\0{at}".encode("utf-8", "surrogatepass") for of, at in places)
        made = (blake2b(name, key=self.secret, digest_size=_DIGEST_BYTES) for name in named)
        return {each.hexdigest() for each in made}


NOTHING_FORGOTTEN = Forgotten()


def read_forgotten(data: DataDir) -> Forgotten:
    """Return the marks of a data directory; ``IoError`` for a list that cannot be read."""
    try:
        told = unsealed(data.forgotten.read_bytes())
        return Forgotten(bytes.fromhex(told["secret"]), frozenset(map(str, told["marks"])))
    except (FileNotFoundError, NotADirectoryError):
        return NOTHING_FORGOTTEN
    except OSError as error:
        # The list may be whole: whoever deleted it would have all of that read again.
        raise IoError(
            f"what was forgotten cannot be told: {str(data.forgotten)!r}: {error.strerror}",
            hint=disk_hint(error.errno) or LOOK_AT_THE_DISK,
            details={"path": str(data.forgotten)},
        ) from error
    except (ValueError, TypeError, KeyError) as error:
        raise IoError(
            f"what was forgotten cannot be told: {str(data.forgotten)!r} cannot be read: {error}",
            hint="'kebab doctor --repair' takes it from a safety copy; or delete it, and what was "
            "forgotten in folders that are sources is read again",
            details={"path": str(data.forgotten)},
        ) from error


def mark(
    data: DataDir, files: Iterable[tuple[str, str]], roots: Mapping[str, str] = _NO_ROOTS
) -> None:
    """Mark files, each a source and a path, as forgotten; those that are marked stay so.

    *roots* are the folders of the sources, by their ids.
    """
    known = read_forgotten(data)
    kept = known if known.secret else Forgotten(os.urandom(32), known.marks)
    marks = (kept.marks_of(*file, root=roots.get(file[0], "")) for file in files)
    fresh = {each for of_file in marks for each in of_file} - kept.marks
    if fresh:
        _write(data, Forgotten(kept.secret, kept.marks | fresh))


def take_back(data: DataDir, source_id: str, path: str, root: str) -> bool:
    """Let a file be read again; return whether it was forgotten. *root* is as in ``has``."""
    known = read_forgotten(data)
    if not known.has(source_id, path, root):
        return False
    _write(data, Forgotten(known.secret, known.marks - known.marks_of(source_id, path, root)))
    return True


def bring_back(data: DataDir, kept: bytes) -> None:
    """Put the list of a copy in place of one that is gone or damaged, whose marks stay with it.

    A mark that a turned bit made another one marks nothing, and is in the copy if it is older.
    May raise ``OSError`` or ``ValueError``.
    """
    told = unsealed(kept)
    there = data.forgotten.read_bytes() if data.forgotten.exists() else b""
    marks = frozenset(each.decode() for each in _MARK.findall(there))
    _write(data, Forgotten(bytes.fromhex(told["secret"]), marks | frozenset(told["marks"])))


def _write(data: DataDir, forgotten: Forgotten) -> None:
    told = {"secret": forgotten.secret.hex(), "marks": sorted(forgotten.marks)}
    new = data.forgotten.with_name(f"{data.forgotten.name}.new")
    with disk_errors("note what was forgotten"), making_private_files():
        with new.open("wb") as file:
            file.write(sealed(json.dumps(told).encode()))
            file.flush()
            os.fsync(file.fileno())
        new.replace(data.forgotten)
