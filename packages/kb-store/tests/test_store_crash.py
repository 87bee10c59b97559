"""A process that commits is killed at random moments; the next one finds whole batches.

``KEBAB_TEST_KILLS`` sets how often.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from kb_core.ids import doc_id
from kb_core.testing.fakes import MemoryIndex
from kb_store import Store

KILLS = int(os.environ.get("KEBAB_TEST_KILLS", "14"))

# Begins writers without a start of Python for each: it loads what they need, and forks.
_NURSERY = """
import os, pathlib, sys
import duckdb
from kb_core.records import Changes, Move
from kb_core.ids import doc_id
from kb_core.testing.documents import document, file_row
from kb_store import Store

def say(word):
    os.write(1, f"{word}\\n".encode())

def write(path, compacts):
    # Every batch takes all its documents from one version to the next, moves one of them,
    # and says so when it is committed. In between it does what else writers do.
    with Store.open(path) as store:
        while True:
            version = store.corpus_revision + 1
            text = f"version {version}\\n\\nalways the same\\n\\n" + f"{version} filler\\n" * 1000
            docs = [document(f"{n}.md", text, title="T") for n in range(5)]
            moved = Move(
                old_doc_id=doc_id("notes", f"moving {version - 1}.md"),
                document=document(f"moving {version}.md", text, title="T"),
            )
            files = tuple(file_row(doc.path, bytes_hash=str(version)) for doc in docs)
            store.commit(Changes(documents=tuple(docs), moves=(moved,), files=files))
            say(version)
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

for line in sys.stdin:
    does, path = line.rstrip("\\n").split(" ", 1)
    if not (child := os.fork()):
        say(os.getpid())
        if does == "opens":
            say("ready")
            Store.open(pathlib.Path(path))
            os._exit(0)
        write(pathlib.Path(path), does == "compacts")
    say(f"ended {os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}")
"""


class Nursery:
    """Where writers come from."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _NURSERY],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def kill_one(self, does: str, path: Path, *, after_secs: float) -> list[str]:
        """Begin a writer, kill it so long after its first word, and return all its words."""
        process = self._process
        assert process.stdin is not None
        process.stdin.write(f"{does} {path}\n")
        process.stdin.flush()
        number = int(self._word())
        words = [self._word()]
        time.sleep(after_secs)
        with suppress(ProcessLookupError):  # a process that only opens may have ended
            os.kill(number, signal.SIGKILL)
        while not words[-1].startswith("ended"):
            words.append(self._word())
        assert does == "opens" or words[-1] == f"ended {-signal.SIGKILL}"
        return words[:-1]

    def _word(self) -> str:
        assert self._process.stdout is not None
        word = self._process.stdout.readline()
        assert word, "the nursery is gone"
        return word.strip()

    def close(self) -> None:
        self._process.communicate(timeout=120)


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    with closing(Nursery()) as nursery:
        yield nursery


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


@pytest.mark.slow
@pytest.mark.parametrize("does", ["writes", "compacts"])
def test_killed_writers_lose_nothing(tmp_path: Path, nursery: Nursery, does: str) -> None:
    path = tmp_path / "kebab.duckdb"
    chance = random.Random(does)

    for _ in range(KILLS):
        words = nursery.kill_one(does, path, after_secs=chance.uniform(0, 0.25))
        check_whole(path, int(words[-1]))


@pytest.mark.slow
def test_a_writer_killed_while_it_makes_the_store_leaves_a_place_for_the_next(
    tmp_path: Path, nursery: Nursery
) -> None:
    """Killed after a few milliseconds more each time, from the start to well past it."""
    for step in range(28):
        path = tmp_path / f"{step}" / "kebab.duckdb"
        nursery.kill_one("opens", path, after_secs=step * 0.0045)

        with Store.open(path) as store:
            assert store.sequence == 0
