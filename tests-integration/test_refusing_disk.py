"""A disk that is full, over quota, read-only or out of descriptors: said, and healed by a run.

The system's compiler makes a library that refuses one call of a process; where there is no
compiler, or no preloading, the tests are skipped.
"""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import NoReturn

import pytest

from kb_app import KnowledgeBase
from kb_app._ingest.making import record
from kb_app._ingest.workers.executor import InlineExecutor
from kb_app._wiring import open_session, parts_of
from kb_app.config import load_config
from kb_cli.testing import KebabHere
from kb_cli.testing.installed import InstalledKebab
from kb_core.errors import IndexCorrupt, IoError
from kb_core.ingest import IngestOptions
from kb_core.records import Changes
from kb_search import sums, writer
from kb_search.sums import living
from kb_search.writer import Writer

CODES = {"io_error", "index_corrupt", "store_corrupt"}
CALLS = ("write", "fsync", "rename", "create")
ERRNOS = (
    *(errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.EROFS, errno.EIO),
    *(errno.EFBIG, errno.ESTALE),
)


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that refuses."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("there is no compiler, or nothing is preloaded here")
    made = tmp_path_factory.mktemp("shim") / "refusing_disk.so"
    source = Path(__file__).with_name("refusing_disk.c")
    line = [compiler, "-shared", "-fPIC", "-O1", "-o", str(made), str(source), "-ldl"]
    if subprocess.run(line, capture_output=True, check=False).returncode:
        pytest.skip("the compiler refuses")
    return made


def refused(
    kebab: InstalledKebab, shim: Path, call: str, number: int, nth: int, times: int
) -> subprocess.CompletedProcess[str]:
    fault = {"CALL": call, "ERRNO": number, "NTH": nth, "FOR": times, "BELOW": kebab.data_dir}
    environ = {**os.environ, "LD_PRELOAD": str(shim), "KEBAB_INGEST_WORKERS": "1"}
    environ |= {f"FAULT_{name}": str(value) for name, value in fault.items()}
    line = kebab.command("--json", "ingest")
    return subprocess.run(line, env=environ, capture_output=True, text=True, check=False)


def check_round(
    kebab: InstalledKebab, shim: Path, call: str, number: int, nth: int, times: int
) -> bool:
    """Run with one fault; say whether it was met. It is said, and the next run, here, heals."""
    done = refused(kebab, shim, call, number, nth, times)
    told = f"{call} {errno.errorcode[number]} {nth}: {done.returncode}\n{done.stderr}"
    assert "Traceback" not in done.stderr, told
    if done.returncode:
        errors = [json.loads(line) for line in done.stderr.splitlines() if '"error.v1"' in line]
        assert errors, told
        assert errors[-1]["code"] in CODES, told
        assert errors[-1]["hint"], told
    here = KebabHere(kebab.home)
    report = here.ingest()
    assert report["errors"] == 0, told
    assert len(here.json("list", "docs")["items"]) == len(list(kebab.notes.iterdir())), told
    return bool(done.returncode)


@pytest.mark.parametrize(
    ("call", "number", "nth", "times"),
    [
        ("write", errno.ENOSPC, 4, 9999),
        ("write", errno.EFBIG, 8, 9999),
        ("write", errno.ESTALE, 8, 9999),
        ("create", errno.EROFS, 1, 9999),
        ("fsync", errno.EIO, 1, 9999),
    ],
)
def test_what_the_disk_refuses_is_said_with_the_way_out(
    installed: InstalledKebab, shim: Path, call: str, number: int, nth: int, times: int
) -> None:
    installed.write("a.md", "# A\n\nA walrus.\n")

    assert check_round(installed, shim, call, number, nth, times)


@pytest.mark.slow
def test_every_refusal_anywhere_in_a_run_is_said_and_healed(
    installed: InstalledKebab, shim: Path
) -> None:
    """Slow since each round is a process; ``REFUSALS`` says how many."""
    seed = int(os.environ.get("REFUSALS_SEED", "5"))
    print("seed", seed)
    draw = random.Random(seed)
    met = 0
    for n in range(int(os.environ.get("REFUSALS", "4"))):
        installed.write(f"{n}.md", f"# {n}\n\nThe walrus with the number {n}.\n")
        fault = (draw.choice(CALLS), draw.choice(ERRNOS), draw.randint(1, 40))
        met += check_round(installed, shim, *fault, times=draw.choice((1, 9999)))
    assert met


def test_what_was_taken_back_when_the_run_ended_is_read_again(
    kebab: KebabHere, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index refuses a batch, then that it is taken back; ``storm.py`` met it with seed 7."""
    kebab.write("a.md", "# A\n\nA walrus.\n")
    kebab.ingest()
    kebab.write("a.md", "# A\n\nA second walrus.\n")
    kebab.write("b.md", "# B\n\nA bear.\n")
    with monkeypatch.context() as refused:
        refused.setattr(Writer, "publish", refuse)
        kebab.run("ingest", code=2)

    assert kebab.ingest()["errors"] == 0
    assert set(kebab.paths("walrus OR bear")) == {"a.md", "b.md"}
    assert "second" in kebab.json("fetch", "doc", "a.md")["text"]


def refuse(*_: object) -> NoReturn:
    raise ValueError("the index refuses")


def test_a_row_that_says_indexed_without_a_document_is_found(kebab: KebabHere) -> None:
    kebab.write("a.md", "# A\n\nA walrus.\n")
    kebab.ingest()
    with open_session(kebab.data_dir, lock_wait_secs=5) as session:
        (row,) = session.store.ledger("notes").values()
        session.commit(Changes(deleted_docs=(row.doc_id or "",), files=(row,)))
        assert session.store.deep_check() == [
            "file 'notes:a.md' is said to be indexed, and has no document"
        ]


def test_an_index_that_was_dropped_and_cannot_be_made_anew_is_an_error_of_the_disk(
    kebab: KebabHere, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk refuses in the middle of a rebuild; ``storm.py`` met it with seed 8."""
    kebab.write("a.md", "# A\n\nA walrus.\n")
    kebab.ingest()
    kebab.write("b.md", "# B\n\nA bear.\n")

    def corrupt(writer: Writer, *_: object) -> NoReturn:
        monkeypatch.setattr(Writer, "_open", full)
        raise IndexCorrupt("a file of it cannot be read")

    def full(_: Writer) -> NoReturn:
        raise IoError("no space left", hint="free some")

    with monkeypatch.context() as refused:
        refused.setattr(Writer, "publish", corrupt)
        refused.setattr(Writer, "rebuild", corrupt)
        told = json.loads(kebab.run("--json", "ingest", code=2).stderr.splitlines()[-1])
    monkeypatch.undo()

    assert told["code"] == "io_error"
    assert kebab.ingest()["errors"] == 0
    assert set(kebab.paths("walrus OR bear")) == {"a.md", "b.md"}


@pytest.mark.parametrize(
    ("module", "function", "number"),
    [(sums, "_crc", errno.EIO), (writer, "open_index", errno.EMFILE)],
)
def test_an_index_that_cannot_be_read_just_now_is_not_dropped(
    kebab: KebabHere,
    monkeypatch: pytest.MonkeyPatch,
    module: ModuleType,
    function: str,
    number: int,
) -> None:
    """Rounds of ``rounds.py`` that refused reads of the index left none; it was whole."""
    kebab.write("a.md", "# A\n\nA walrus.\n")
    kebab.ingest()
    before = {path: (kebab.data_dir / path).read_bytes() for path in living(kebab.data_dir)}
    kebab.write("b.md", "# B\n\nA bear.\n")

    def refuse_reading(*_: object) -> NoReturn:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as refused:
        refused.setattr(module, function, refuse_reading)
        told = json.loads(kebab.run("--json", "ingest", code=2).stderr.splitlines()[-1])

    assert told["code"] == "io_error"
    assert told["hint"]
    assert {path: (kebab.data_dir / path).read_bytes() for path in before} == before
    assert kebab.paths("walrus") == ["a.md"]
    report = kebab.ingest()
    assert (report["errors"], report["new"], report["warnings"]) == (0, 1, [])


def test_added_bytes_that_the_disk_refuses_are_read_by_the_next_run(
    kebab: KebabHere, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``rounds.py`` refused reads of assets; the document then waited for ``--retry-failed``."""
    kebab.write("a.md", "# A\n\nA walrus.\n")
    kebab.ingest()
    kebab.run("ingest-stdin", "--title", "Beluga", given="A beluga.")

    def refuse_reading(*_: object) -> NoReturn:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as refused:
        refused.setattr(record, "open_inside", refuse_reading)
        config = load_config(kebab.config)
        parts = replace(parts_of(config), executor=lambda task, _: InlineExecutor(task))
        with KnowledgeBase(config, parts) as kb:
            *_, last = kb.ingest(IngestOptions(force=True))
    assert last.report is not None
    assert last.report.counts["error"] == 2
    assert kebab.paths("beluga") == ["beluga"]
    assert kebab.paths("walrus") == ["a.md"]

    assert kebab.ingest()["errors"] == 0
    assert kebab.paths("beluga") == ["beluga"]
