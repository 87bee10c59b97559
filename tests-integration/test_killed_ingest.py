"""Ingest killed at random moments while readers run.

Every document says its own version in every paragraph. Whatever is killed and whenever,
a reader sees whole documents of one version, from one revision, and never an error; the
next ingest heals by itself; and in the end the truth, the words and the vectors agree.

``KEBAB_TEST_KILLS`` sets how often (the suite does a few; 200 take some ten minutes);
``torture/rounds.py`` has kills by the thousand, at named steps, without readers beside them.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from kb_app._wiring import open_session
from kb_cli.testing.installed import InstalledKebab
from kb_core.clock import utc_now
from kb_search.reader import Reader

KILLS = int(os.environ.get("KEBAB_TEST_KILLS", "5"))
FILES = 40
MODEL = "all-MiniLM-L6-v2"

READER = """
import re, sys, time
from pathlib import Path
from kb_core.search import Clause, LexicalQuery
from kb_search.reader import Reader

data_dir, stop = Path(sys.argv[1]), Path(sys.argv[2])
reader, last, reads, at = Reader(data_dir), -1, 0, 0
while not stop.exists():
    snapshot = reader.snapshot()
    assert snapshot.control.sequence >= last, "the sequence went back"
    last = snapshot.control.sequence
    docs = snapshot.docs(None)
    at += 7
    for doc in docs[at % max(1, len(docs)):][:3]:
        text = snapshot.doc_text(doc["doc_id"])
        assert text is not None, ("a document without a text", doc["path"])
        chunks = snapshot.doc_chunks(doc["doc_id"])
        assert len(chunks) == doc["chunk_count"], ("chunks", doc["path"], len(chunks))
        versions = set(re.findall(r"version\\d+x", text))
        assert len(versions) == 1, ("a torn text", versions)
        for chunk in chunks:
            assert text[chunk["start"]:chunk["end"]] == chunk["text"], "not a slice"
        (version,) = versions
        word = re.search(r"file\\d+y", text)[0]
        found = snapshot.lexical(LexicalQuery((Clause(version),)), None, 1000)
        keys = {scored.chunk_key for scored in found}
        assert keys >= {chunk["chunk_key"] for chunk in chunks}, ("words", doc["path"], word)
        for key in snapshot.control.vectors:
            for chunk in chunks:
                vector = snapshot.vectors_of([chunk["chunk_key"]], key).get(chunk["chunk_key"])
                if vector is not None:
                    near = snapshot.vector(vector, key, None, 5)
                    known = snapshot.chunks([scored.chunk_key for scored in near])
                    assert len(known) == len(near), "a vector of a dead chunk"
    reads += 1
    time.sleep(0.4)
print("reads", reads, "sequence", last)
"""


def paragraphs(name: str, version: int) -> str:
    body = [
        f"Paragraph {n} of file{name}y in version{version}x. "
        + f"filler{n} that is with the others when you are there " * 7
        for n in range(4)
    ]
    return f"# file{name}y\n\n" + "\n\n".join(body) + "\n"


def change_some(kebab: InstalledKebab, choose: random.Random, version: int) -> None:
    for _ in range(6):
        name = str(choose.randrange(FILES))
        here = kebab.notes / f"{name}.md"
        action = choose.random()
        if action < 0.15 and here.exists():
            here.unlink()
        elif action < 0.3 and here.exists():
            (kebab.notes / "moved").mkdir(exist_ok=True)
            here.rename(kebab.notes / "moved" / f"{name}.md")
        else:
            kebab.write(f"{name}.md", paragraphs(name, version))


def assert_all_agree(kebab: InstalledKebab) -> None:
    """Compare the truth with what readers see, to the key."""
    with open_session(kebab.data_dir, lock_wait_secs=5, clock=utc_now) as session:
        assert session.healed is None
        problems = session.store.deep_check()
        truth: dict[int, str] = {}
        owed: defaultdict[str, set[int]] = defaultdict(set)
        for publication in session.store.rebuild_publications():
            for doc in publication.documents:
                truth |= {chunk.chunk_key: chunk.text for chunk in doc.chunks}
            for key, vectors in publication.vectors.items():
                owed[key] |= {vector.chunk_key for vector in vectors}
    snapshot = Reader(kebab.data_dir).snapshot()
    shown = {
        chunk["chunk_key"]: chunk["text"]
        for doc in snapshot.docs(None)
        for chunk in snapshot.doc_chunks(doc["doc_id"])
    }
    assert problems == []
    assert shown == truth
    assert snapshot.count(None) == len(truth)
    for key, files in snapshot.control.vectors.items():
        view = snapshot._vectors[key]._whole
        assert len(view) == files.rows - files.dead
        assert {k for k in truth if snapshot.vectors_of([k], key).get(k)} == owed[key] == set(truth)


def names_on_disk(kebab: InstalledKebab) -> set[str]:
    return {str(p.relative_to(kebab.notes)) for p in kebab.notes.rglob("*.md")}


@pytest.mark.slow
@pytest.mark.model
def test_a_killed_ingest_heals_and_no_reader_notices(installed: InstalledKebab) -> None:
    seed = int(os.environ.get("KEBAB_TEST_SEED", "0")) or random.randrange(10**6)
    choose = random.Random(seed)
    kebab = installed
    kebab.configure(model=MODEL, extra="[ingest]\nbatch_docs = 4\nbatch_secs = 0.05\nworkers = 1\n")
    for n in range(FILES):
        kebab.write(f"{n}.md", paragraphs(str(n), 0))
    kebab.ingest()
    killed = 0
    with running_readers(kebab) as finish:
        for round_ in range(1, KILLS + 1):
            change_some(kebab, choose, round_)
            killed += ingest_and_kill(kebab, after_secs=choose.uniform(0.15, 1.6))
            if round_ % 4 == 0:
                kebab.ingest()
                assert_all_agree(kebab)
        kebab.ingest()
        assert_all_agree(kebab)
        for reads, errors in finish():
            assert not errors, f"seed {seed}: {errors}"
            assert reads > 0
    assert _listed(kebab) == names_on_disk(kebab)
    print(f"seed {seed}: {killed} of {KILLS} killed while running")


def ingest_and_kill(kebab: InstalledKebab, *, after_secs: float) -> bool:
    """Start an ingest, kill it, and say whether it was still running."""
    with subprocess.Popen(
        kebab.command("--quiet", "ingest"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as ingest:
        time.sleep(after_secs)
        ingest.send_signal(signal.SIGKILL)
        _, errors = ingest.communicate()
    assert b"Traceback" not in errors, errors.decode()
    return ingest.returncode == -signal.SIGKILL


@contextmanager
def running_readers(kebab: InstalledKebab) -> Iterator[Callable[[], list[tuple[int, str]]]]:
    """Run two readers; the function given ends them and returns reads and errors of each."""
    stop = kebab.home / "stop"
    command = [sys.executable, "-c", READER, str(kebab.data_dir), str(stop)]
    pipe = subprocess.PIPE
    with ExitStack() as running:
        readers = [
            running.enter_context(subprocess.Popen(command, text=True, stdout=pipe, stderr=pipe))
            for _ in range(2)
        ]
        running.callback(stop.touch)

        def finish() -> list[tuple[int, str]]:
            stop.touch()
            ended = [reader.communicate(timeout=120) for reader in readers]
            return [(int(re.findall(r"\d+", out + " 0")[0]), err) for out, err in ended]

        yield finish


def _listed(kebab: InstalledKebab) -> set[str]:
    return {doc["doc_path"] for doc in kebab.json("list", "docs", "--limit", "1000")["items"]}


def test_two_writers_exclude_each_other_with_a_clear_message(installed: InstalledKebab) -> None:
    config = installed.config.read_text("utf-8")
    waiting = config.replace("[storage]", "[storage]\nlock_wait_secs = 0.2")
    installed.config.write_text(waiting, "utf-8")
    installed.write("a.md", "text")
    with open_session(installed.data_dir, lock_wait_secs=0, clock=utc_now):
        done = installed.run("ingest", code=2)

    assert str(os.getpid()) in done.stderr
    assert "Traceback" not in done.stderr


def test_a_data_directory_that_cannot_be_written_can_be_searched(
    kebab: InstalledKebab, tmp_path: Path
) -> None:
    kebab.write("a.md", "a walrus")
    kebab.ingest()
    frozen = tmp_path / "frozen"
    frozen.mkdir()
    mounted = subprocess.run(
        [
            "unshare",
            "-m",
            "sh",
            "-c",
            _READ_ONLY.format(data=kebab.data_dir),
            "sh",
            *kebab.command("--json", "search", "walrus"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if "permission" in mounted.stderr.lower() and "mount" in mounted.stderr.lower():
        pytest.skip("mounting is not permitted here")

    assert '"doc_path":"a.md"' in mounted.stdout, mounted.stderr


_READ_ONLY = 'mount --bind {data} {data} && mount -o remount,bind,ro {data} && exec "$@"'
