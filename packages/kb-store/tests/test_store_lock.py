"""The writer lock, between processes."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kb_core.errors import IoError, StoreBusy
from kb_core.testing.fakes import fixed_clock
from kb_store import WriterLock

_HOLD = """
import sys, pathlib
from kb_store.lock import WriterLock
lock = WriterLock(pathlib.Path(sys.argv[1])).acquire()
print("held", flush=True)
sys.stdin.read()
"""
# A worker that was forked while the lock was held, and outlives its parent.
_FORK = """
import os, sys, pathlib
from kb_store.lock import WriterLock
lock = WriterLock(pathlib.Path(sys.argv[1])).acquire()
if os.fork() == 0:
    print(os.getpid(), flush=True)
    sys.stdin.read()
    os._exit(0)
os._exit(9)
"""


def holder(path: Path, program: str = _HOLD) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def end(process: subprocess.Popen[str]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe:
            pipe.close()
    process.wait(timeout=120)


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_a_second_writer_is_told_who_the_first_one_is(tmp_path: Path) -> None:
    path = tmp_path / "writer.lock"
    process = holder(path)
    assert first_line(process) == "held"

    with pytest.raises(StoreBusy, match=f"process {process.pid} on .*, since 20") as caught:
        WriterLock(path, wait_secs=0.1).acquire()

    assert caught.value.details["pid"] == process.pid
    assert set(caught.value.details) == {"pid", "host", "started"}
    end(process)


def test_a_killed_writer_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "writer.lock"
    process = holder(path)
    assert first_line(process) == "held"

    process.send_signal(signal.SIGKILL)
    end(process)

    with WriterLock(path):
        pass


def test_a_waiting_writer_gets_the_lock_when_it_is_free(tmp_path: Path) -> None:
    path = tmp_path / "writer.lock"
    process = holder(path)
    assert first_line(process) == "held"
    assert process.stdin is not None
    process.stdin.close()

    with WriterLock(path, wait_secs=10):
        assert json.loads(path.read_text())["pid"] == os.getpid()
    end(process)


def test_a_forked_worker_does_not_keep_the_lock_of_a_dead_parent(tmp_path: Path) -> None:
    path = tmp_path / "writer.lock"
    process = holder(path, _FORK)
    worker = int(first_line(process))
    process.wait(timeout=120)

    with WriterLock(path, wait_secs=1):
        os.kill(worker, 0)  # it is still there

    end(process)


def test_the_file_says_who_holds_it_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "writer.lock"

    with WriterLock(path, clock=fixed_clock()):
        assert json.loads(path.read_text())["started"] == "2026-01-02T03:04:05Z"

    assert path.exists()


def test_one_process_can_hold_it_once_only(tmp_path: Path) -> None:
    path = tmp_path / "writer.lock"
    first = WriterLock(path).acquire()

    with pytest.raises(StoreBusy, match="this process is writing already, since 20") as caught:
        WriterLock(path).acquire()
    assert caught.value.hint == "wait until it is done", "nobody is to stop it"

    first.release()
    first.release()
    with WriterLock(path):
        pass


@pytest.mark.parametrize("content", ["", "not json", "[1, 2]"])
def test_a_lock_whose_holder_has_not_signed_is_busy_all_the_same(
    tmp_path: Path, content: str
) -> None:
    path = tmp_path / "writer.lock"
    with WriterLock(path):
        path.write_text(content)

        with pytest.raises(StoreBusy, match="another kebab is writing: a process"):
            WriterLock(path).acquire()


def test_a_place_that_cannot_be_written_is_an_error_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(IoError, match="could not open the writer lock"):
        WriterLock(tmp_path).acquire()


@pytest.mark.parametrize("take", [WriterLock.acquire, lambda lock: lock.shared().__enter__()])
def test_a_file_system_without_locks_is_said_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, take: Callable[[WriterLock], object]
) -> None:
    (tmp_path / "writer.lock").touch()

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)

    with pytest.raises(IoError, match="gives no lock") as told:
        take(WriterLock(tmp_path / "writer.lock"))
    assert "data_dir" in str(told.value.hint)


def test_a_lock_is_held_where_the_disk_has_no_room_for_its_holder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    with WriterLock(tmp_path / "writer.lock"), pytest.raises(StoreBusy):
        WriterLock(tmp_path / "writer.lock").acquire()
