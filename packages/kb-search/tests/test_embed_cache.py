"""What is derived from a model's weights: made once, whole, and again when damaged."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Semaphore

import pytest

from kb_search.embed.prepare import load_artefact

FILES = {"weights.bin": bytes(range(256)) * 64, "note": b"hello"}


class Builder:
    """Makes ``FILES`` and counts how often it had to."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> Mapping[str, bytes]:
        self.calls += 1
        return FILES


@pytest.fixture
def build() -> Builder:
    return Builder()


def test_an_artefact_is_built_once(tmp_path: Path, build: Builder) -> None:
    artefacts = [load_artefact(tmp_path, "key", build) for _ in range(3)]

    assert build.calls == 1
    for artefact in artefacts:
        assert {name: bytes(artefact.read(name)) for name in FILES} == FILES


def test_nothing_is_left_over_from_writing(tmp_path: Path, build: Builder) -> None:
    load_artefact(tmp_path, "key", build)

    assert sorted(file.name for file in (tmp_path / "key").iterdir()) == [
        "note",
        "prepared.json",
        "weights.bin",
    ]


def test_who_comes_while_it_is_built_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two workers of a first run unpacked the same model side by side."""
    asked, go = Semaphore(0), Event()
    lock = fcntl.flock
    builds = []

    def flock(descriptor: int, kind: int) -> None:
        asked.release()
        lock(descriptor, kind)

    def build() -> Mapping[str, bytes]:
        builds.append(1)
        asked.release()
        assert go.wait(60)
        return FILES

    monkeypatch.setattr(fcntl, "flock", flock)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(load_artefact, tmp_path, "key", build)
        asked.acquire()
        asked.acquire()  # it has the lock, and builds
        second = pool.submit(load_artefact, tmp_path, "key", build)
        asked.acquire()  # it asks for the lock, or else builds, too
        go.set()
        made = [first.result(), second.result()]

    assert len(builds) == 1
    assert [bytes(one.read("note")) for one in made] == [b"hello", b"hello"]


def test_what_goes_wrong_while_it_is_built_is_told(tmp_path: Path, build: Builder) -> None:
    def fail() -> Mapping[str, bytes]:
        raise FileNotFoundError("no weights")

    with pytest.raises(FileNotFoundError, match="no weights"):
        load_artefact(tmp_path, "key", fail)
    assert not list(tmp_path.iterdir())
    load_artefact(tmp_path, "key", build)

    assert build.calls == 1


def truncate(file: Path) -> None:
    os.truncate(file, 100)


def overwrite(file: Path) -> None:
    with file.open("r+b") as stream:
        stream.seek(5000)
        stream.write(b"\0\0\0\0")
    os.utime(file, ns=(1, 1))


def scribble_record(file: Path) -> None:
    file.with_name("prepared.json").write_text('{"weights.bin": ["a", 1]}')


def empty_record(file: Path) -> None:
    file.with_name("prepared.json").write_bytes(b"")


@pytest.mark.parametrize(
    "damage", [truncate, overwrite, scribble_record, empty_record, Path.unlink]
)
def test_a_damaged_artefact_is_built_again(
    tmp_path: Path, build: Builder, damage: Callable[[Path], None]
) -> None:
    load_artefact(tmp_path, "key", build)

    damage(tmp_path / "key" / "weights.bin")
    healed = load_artefact(tmp_path, "key", build)

    assert build.calls == 2
    assert bytes(healed.read("weights.bin")) == FILES["weights.bin"]
    load_artefact(tmp_path, "key", build)
    assert build.calls == 2


def test_a_copied_cache_is_still_sound(tmp_path: Path, build: Builder) -> None:
    """Other times, same bytes: hashed once, then trusted again."""
    load_artefact(tmp_path / "old", "key", build)
    shutil.copytree(tmp_path / "old", tmp_path / "new", copy_function=shutil.copyfile)

    load_artefact(tmp_path / "new", "key", build)

    assert build.calls == 1
    for name in FILES:
        old, new = ((tmp_path / which / "key" / name).stat() for which in ("old", "new"))
        assert old.st_mtime_ns == new.st_mtime_ns


def test_a_cache_that_cannot_be_written_leaves_the_files_in_memory(
    tmp_path: Path, build: Builder, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("a file, where a directory would have to be")

    artefact = load_artefact(tmp_path / "file" / "cache", "key", build)

    assert artefact.directory is None
    assert bytes(artefact.read("note")) == b"hello"
    assert "cannot be written" in caplog.text


def test_a_writer_that_stopped_half_way_is_not_believed(tmp_path: Path, build: Builder) -> None:
    """Without the record, which comes last, there is no artefact."""
    load_artefact(tmp_path, "key", build)
    (tmp_path / "key" / "prepared.json").unlink()
    (tmp_path / "key" / ".weights.bin.99.abcd").write_bytes(b"half")

    load_artefact(tmp_path, "key", build)

    assert build.calls == 2
