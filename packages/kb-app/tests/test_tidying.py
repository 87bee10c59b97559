"""What a session gives back at the end of a run: nothing, where there is little."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest

from kb_app._data_dir import DataDir
from kb_app._write import WriteSession
from kb_core.testing.fakes import MemoryIndex
from kb_core.testing.store import MemoryStore

MB = 1024 * 1024


class Measured(MemoryStore):
    """A store of some size, part of it free, which notes what is done to it."""

    def __init__(self, database: int, free: int, unused: int = 0) -> None:
        super().__init__()
        self.done: list[str] = []
        self._sizes = {"database": database, "wal": 0, "free": free, "unused": unused}

    def sizes(self) -> dict[str, int]:
        return self._sizes

    def checkpoint(self) -> None:
        self.done.append("checkpoint")

    def compact(self, min_free_share: float = 0.25) -> bool:
        self.done.append("compact")
        return True


@pytest.mark.parametrize(
    ("database", "free", "unused", "expected"),
    [
        (2 * MB, 1 * MB, 0, []),
        (4 * MB, 3 * MB, 0, ["compact"]),
        (10 * MB, 4 * MB, 1 * MB, ["compact"]),
        (20 * MB, 3 * MB, 2 * MB, []),
        (100 * MB, 20 * MB, 0, ["checkpoint"]),
        (100 * MB, 20 * MB, 20 * MB, ["checkpoint", "compact"]),
        (1000 * MB, 200 * MB, 0, ["checkpoint"]),
    ],
)
def test_a_store_is_folded_and_rewritten_where_that_gives_something_back(
    tmp_path: Path, database: int, free: int, unused: int, expected: list[str]
) -> None:
    store = Measured(database, free, unused)
    session = WriteSession(
        DataDir(tmp_path), lock=nullcontext(), store=lambda: store, index=MemoryIndex
    )

    with session:
        session.tidy()

    assert store.done == expected
