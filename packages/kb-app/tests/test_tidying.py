"""What a session gives back at the end of a run: nothing, where there is little."""

from __future__ import annotations

import platform
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import Mock

import pytest

from kb_app._data_dir import DataDir
from kb_app._write import WriteSession
from kb_core.records import Changes
from kb_core.testing.documents import document
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


@pytest.mark.parametrize(("sizes", "expected"), [([900, 99], 0), ([900, 100, 900], 1)])
def test_memory_is_given_back_once_in_a_while_and_never_for_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sizes: list[int], expected: int
) -> None:
    """The engines' threads end with each commit, and what they had stays with areas of theirs."""
    given_back = Mock()
    monkeypatch.setattr("kb_app._write.give_back", given_back)
    monkeypatch.setattr("kb_app._write._WORTH_GIVING_BACK", 1000)
    with WriteSession(
        DataDir(tmp_path), lock=nullcontext(), store=MemoryStore, index=MemoryIndex
    ) as session:
        for number, size in enumerate(sizes):
            text = "\n\n".join(f"passage {n}" for n in range(size))
            session.commit(Changes(documents=(document(f"{number}.md", text),)))
        assert given_back.call_count == expected

        session.rebuild()
        assert given_back.call_count == expected + 1


def test_what_lies_free_between_what_is_used_is_given_back() -> None:
    script = """
import threading
from pathlib import Path
from kb_app._allocator import give_back
def own():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
def hold():
    blocks = [b"x" * (2000 + n % 9) for n in range(20_000)]
    last = b"x" * (3000 + len(blocks))  # what lies free at the end is given back in any case
    kept.append((blocks[0], last))
kept = []
thread = threading.Thread(target=hold)
thread.start()
thread.join()
before = own()
give_back()
print(before - own())
"""
    if platform.libc_ver()[0] != "glibc":
        pytest.skip("another C library gives back by itself, or not at all")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)

    assert int(done.stdout) > 20_000_000
