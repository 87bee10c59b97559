"""A process that commits is killed at random moments; the next one finds whole batches."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kb_core.ids import doc_id
from kb_core.testing.fakes import MemoryIndex
from kb_store import Store

# Every batch takes all its documents from one version to the next, moves one of them,
# and says so when it is committed. In between it does what else writers do.
_WRITER = """
import pathlib, sys
from kb_core.records import Changes, Move
from kb_core.ids import doc_id
from kb_core.testing.documents import document, file_row
from kb_store import Store

compacts = sys.argv[2] == "compacts"
with Store.open(pathlib.Path(sys.argv[1])) as store:
    while True:
        version = store.corpus_revision + 1
        text = f"version {version}\\n\\nalways the same\\n\\n" + f"{version} filler\\n" * 3000
        docs = [document(f"{n}.md", text, title="T") for n in range(5)]
        moved = Move(
            old_doc_id=doc_id("notes", f"moving {version - 1}.md"),
            document=document(f"moving {version}.md", text, title="T"),
        )
        files = tuple(file_row(doc.path, bytes_hash=str(version)) for doc in docs)
        store.commit(Changes(documents=tuple(docs), moves=(moved,), files=files))
        print(version, flush=True)
        pending = store.missing_passages("m", 2)
        vectors = {passage.passage_hash: bytes(8) for passage in pending}
        store.commit(Changes(embeddings={"m": vectors}, models={"m": {"dimensions": 4}}))
        if version % 3 == 0:
            store.publication(store.sequence - 1)
            store.prune_outbox(store.sequence - 1)
        if version % 4 == 0:
            store.checkpoint()
        if compacts and version % 5 == 0:
            store.compact(min_free_share=0.0)
"""


def kill_at_random(path: Path, chance: random.Random, *, compacts: bool) -> int:
    """Run a writer, kill it, and return the last version it said it had committed."""
    writer = subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(path), "compacts" if compacts else "plain"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert writer.stdout is not None
    first = writer.stdout.readline()
    time.sleep(chance.uniform(0, 0.25))
    writer.send_signal(signal.SIGKILL)
    rest, _ = writer.communicate(timeout=30)
    assert writer.returncode == -signal.SIGKILL
    lines = [line for line in (first + rest).split("\n")[:-1] if line]
    return int(lines[-1])


def check_whole(path: Path, acknowledged: int) -> None:
    """Look at a store after a kill: every batch is in it whole, or not at all."""
    with Store.open(path) as store:
        version = store.corpus_revision
        assert version >= acknowledged, "a committed batch was lost"
        assert store.deep_check() == []
        expected = [f"{n}.md" for n in range(5)] + [f"moving {version}.md"]
        assert store.doc_ids("notes") == [doc_id("notes", name) for name in expected]
        docs = [store.document(doc_id("notes", name)) for name in expected]
        assert {doc.chunks[0].text for doc in docs if doc} == {f"version {version}"}
        assert {row.bytes_hash for row in store.ledger("notes").values()} == {str(version)}
        index = MemoryIndex()
        for step in store.rebuild_publications():
            index.publish(step)
        control = index.snapshot().control
        rows = {model: files.rows for model, files in control.vectors.items()}
        assert rows == {model: n for model, n in control.stats["embedded"].items() if n}


def survive(path: Path, *, kills: int, seed: int, compacts: bool) -> None:
    chance = random.Random(seed)
    for _ in range(kills):
        check_whole(path, kill_at_random(path, chance, compacts=compacts))


def test_twenty_killed_writers_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "kebab.duckdb"

    survive(path, kills=14, seed=1, compacts=False)
    survive(path, kills=6, seed=2, compacts=True)


@pytest.mark.slow
def test_two_hundred_killed_writers_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "kebab.duckdb"

    survive(path, kills=100, seed=3, compacts=False)
    survive(path, kills=100, seed=4, compacts=True)


@pytest.mark.slow
def test_a_writer_killed_while_it_makes_the_store_leaves_a_place_for_the_next(
    tmp_path: Path,
) -> None:
    """Killed after a few milliseconds more each time, from the start to well past it."""
    program = (
        "import pathlib, sys\n"
        "from kb_store import Store\n"
        "print('ready', flush=True)\n"
        "Store.open(pathlib.Path(sys.argv[1]))\n"
    )
    for step in range(40):
        path = tmp_path / f"{step}" / "kebab.duckdb"
        process = subprocess.Popen(
            [sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(step * 0.003)
        process.kill()
        process.communicate(timeout=30)

        with Store.open(path) as store:
            assert store.sequence == 0
