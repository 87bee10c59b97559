"""Torture: round after round something goes wrong, and an oracle in memory says what must be true.

    python tests-integration/torture/storm.py --minutes 20 --seed 7

A round edits files, lets one thing go wrong while they are ingested, looks at what readers
see, lets the next run heal, and compares everything with the oracle:

kill          the process is killed at the n-th write, fsync, rename, create, unlink or read
moment        the process is killed at any moment
fault         the system refuses the n-th such call, once or from then on, with any error
writers       two ingests and a document that is added, all at once
clock         the time of day is days off, in either direction
copy          the data directory is copied while it is written, and the copy is used
move          the data directory is moved
crowd         eight readers while three ingests run

Whatever happens, a reader sees whole documents as they once were, and no error; what was
acknowledged stays; the next run ends well, and then files and index are the same.
"""

from __future__ import annotations

import argparse
import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from kb_app import Config, KnowledgeBase
from kb_app._wiring import open_session
from kb_app.config import load_config
from kb_cli.testing.installed import InstalledKebab
from kb_core.clock import utc_now
from kb_core.errors import IndexCorrupt, NotIndexed
from kb_core.search import SearchFilters, SearchQuery

__all__ = ["ROUNDS", "Storm", "build_shim", "main"]

FILES = 14
CALLS = ("write", "fsync", "rename", "create", "unlink", "read")
ERRNOS = (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.EROFS, errno.EIO, errno.EACCES)
CODES = {"io_error", "index_corrupt", "store_corrupt", "store_busy", "config_invalid"}
READERS = 8

READER = """
import sys
from pathlib import Path
from kb_search.reader import Reader

data_dir, stop, reader, reads = Path(sys.argv[1]), Path(sys.argv[2]), None, 0
reader, last = Reader(data_dir), -1
while not stop.exists():
    snapshot = reader.snapshot()
    assert snapshot.control.sequence >= last, "the sequence went back"
    last = snapshot.control.sequence
    for doc in snapshot.docs(None):
        text = snapshot.doc_text(doc["doc_id"])
        marks = {line.split()[-1] for line in text.splitlines() if line.startswith("mark ")}
        assert len(marks) == 1, ("a torn text", doc["path"], marks)
        for chunk in snapshot.doc_chunks(doc["doc_id"]):
            assert text[chunk["start"]:chunk["end"]] == chunk["text"], "not a slice"
        reads += 1
print(reads)
"""


def build_shim(folder: Path) -> Path | None:
    """Build the library that refuses calls; ``None`` where there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not sys.platform.startswith("linux"):
        return None
    made = folder / "refusing_disk.so"
    source = Path(__file__).resolve().parents[1] / "refusing_disk.c"
    line = [compiler, "-shared", "-fPIC", "-O1", "-o", str(made), str(source), "-ldl"]
    return None if subprocess.run(line, capture_output=True, check=False).returncode else made


class Storm:
    """A knowledge base, what goes wrong with it, and the oracle."""

    def __init__(self, home: Path, seed: int, shim: Path | None) -> None:
        self.draw, self.shim = random.Random(seed), shim
        home.mkdir(parents=True, exist_ok=True)
        self.kebab = InstalledKebab(home)
        self.files: dict[str, str] = {}
        self.added: dict[str, str] = {}
        self.unsure: dict[str, str] = {}
        """What was handed in, and not acknowledged: there whole, or not at all."""
        self.once: dict[str, set[str]] = {}
        """Every text that a path ever had."""
        self.marks = 0
        self.counts: Counter[str] = Counter()
        self.is_copy = False
        self.configure()
        for _ in range(FILES):
            self.edit()
        self.heal()

    def configure(self) -> None:
        self.kebab.configure(extra="[ingest]\nworkers = 1\nbatch_docs = 3\nbatch_secs = 0.02\n")

    # ---------------------------------------------------------------- the person

    def text(self, name: str) -> str:
        self.marks += 1
        body = "\n\n".join(
            f"mark {name} m{self.marks}m\n" + "a walrus fell down " * self.draw.randrange(2, 60)
            for _ in range(self.draw.randrange(1, 5))
        )
        return f"# {name}\n\n{body}\n"

    def edit(self) -> None:
        """Write, delete or move one file."""
        name = f"{self.draw.randrange(3)}/{self.draw.randrange(FILES)}.md"
        kind, there = self.draw.random(), sorted(self.files)
        if kind < 0.15 and len(there) > FILES // 2:
            gone = self.draw.choice(there)
            del self.files[gone]
            (self.kebab.notes / gone).unlink()
        elif kind < 0.3 and len(there) > FILES // 2:
            gone = self.draw.choice(there)
            text = self.files.pop(gone)
            (self.kebab.notes / gone).unlink()
            self.put(name, text)
        else:
            self.put(name, self.text(name))

    def put(self, name: str, text: str) -> None:
        self.files[name] = text
        self.once.setdefault(name, set()).add(text)
        self.kebab.write(name, text)

    def edit_some(self) -> None:
        for _ in range(self.draw.randrange(1, 6)):
            self.edit()

    # ---------------------------------------------------------------- what goes wrong

    def start(self, *words: str, given: str = "", **fault: object) -> subprocess.Popen[str]:
        environ = dict(os.environ)
        if self.shim is not None and fault:
            environ |= {f"FAULT_{name}": str(value) for name, value in fault.items()}
            environ |= {"LD_PRELOAD": str(self.shim), "FAULT_BELOW": str(self.kebab.data_dir)}
        pipe = subprocess.PIPE
        line = self.kebab.command("--json", *words)
        process = subprocess.Popen(
            line, env=environ, stdin=pipe, stdout=pipe, stderr=pipe, text=True
        )
        assert process.stdin is not None
        if given:
            process.stdin.write(given)
        process.stdin.close()
        process.stdin = None
        return process

    def end(self, process: subprocess.Popen[str], *codes: int) -> int:
        """Wait for the end; what it says has to be an error that is one of ours."""
        _, errors = process.communicate(timeout=300)
        code = process.returncode
        assert "Traceback" not in errors, errors
        assert code in {0, *codes}, (code, errors)
        if code > 0:
            told = [json.loads(line) for line in errors.splitlines() if '"error.v1"' in line]
            assert told, errors
            assert told[-1]["code"] in CODES, errors
        return code

    def kill(self) -> None:
        """Kill at a named point; so many calls of a kind are made by a run of this size."""
        call = self.draw.choice(CALLS)
        nth = self.draw.randint(1, {"write": 80, "read": 80, "create": 50}.get(call, 20))
        process = self.start("ingest", CALL=call, ERRNO=0, NTH=nth, FOR=1)
        if self.end(process, -signal.SIGKILL):
            self.counts[f"killed at {call}"] += 1

    def moment(self) -> None:
        process = self.start(*self.some_command())
        time.sleep(self.draw.uniform(0.1, 1.6))
        process.kill()
        if self.end(process, -signal.SIGKILL):
            self.counts["killed at a moment"] += 1

    def some_command(self) -> tuple[str, ...]:
        return self.draw.choice([("ingest",), ("ingest",), ("ingest", "--force-reingest")])

    def fault(self) -> None:
        call, number = self.draw.choice(CALLS), self.draw.choice(ERRNOS)
        nth, times = self.draw.randint(1, 50), self.draw.choice((1, 1, 3, 9999))
        process = self.start("ingest", CALL=call, ERRNO=number, NTH=nth, FOR=times)
        self.counts[f"refused {call}"] += 1
        if self.end(process, 2):
            self.counts["said"] += 1

    def writers(self) -> None:
        text, title = self.text("added"), f"added {self.draw.randrange(5)}"
        key = title.replace(" ", "-")
        self.once.setdefault(key, set()).add(text)
        first = self.start("ingest")
        second = self.start("ingest-stdin", "--title", title, given=text)
        third = self.start("ingest")
        self.end(first, 2)
        if self.draw.random() < 0.3:
            second.kill()
            if self.end(second, -signal.SIGKILL):
                self.unsure[key] = text
            else:
                self.added[key] = text
        elif self.end(second, 2) == 0:
            self.added[key] = text
        self.end(third, 2)

    def clock(self) -> None:
        off = self.draw.choice((-1, 1)) * self.draw.randrange(3600, 40 * 86_400)
        self.end(self.start("ingest", CLOCK=off))

    def copy(self) -> None:
        process = self.start("ingest", "--force-reingest")
        time.sleep(self.draw.uniform(0.2, 1.2))
        before = self.kebab.data_dir
        # Two in a row may have no text written between them.
        there = before.with_name("copy-b" if before.name == "copy-a" else "copy-a")
        shutil.copytree(before, there, ignore_dangling_symlinks=True, copy_function=_copy)
        self.end(process)
        self.look()
        self.use(there)
        self.is_copy = True
        shutil.rmtree(before)

    def move(self) -> None:
        there = self.kebab.data_dir.with_name(f"moved-{self.marks}")
        self.kebab.data_dir.rename(there)
        self.use(there)

    def use(self, data_dir: Path) -> None:
        self.kebab.data_dir = data_dir
        self.configure()

    def crowd(self) -> None:
        stop = self.kebab.home / "stop"
        line = [sys.executable, "-c", READER, str(self.kebab.data_dir), str(stop)]
        pipe = subprocess.PIPE
        readers = [
            subprocess.Popen(line, text=True, stdout=pipe, stderr=pipe) for _ in range(READERS)
        ]
        for _ in range(3):
            self.end(self.start("ingest"))
            self.edit_some()
        stop.touch()
        for reader in readers:
            told, errors = reader.communicate(timeout=300)
            assert not errors, errors
            self.counts["reads of eight"] += int(told)
        stop.unlink()

    # ---------------------------------------------------------------- the oracle

    def open(self) -> KnowledgeBase:
        config: Config = load_config(self.kebab.config)
        return KnowledgeBase.open(config, readonly=True)

    def texts(self) -> dict[str, str]:
        """What readers are told, by path; every document is found by its own words."""
        with self.open() as kb:
            found = {}
            for row in kb.list_docs(SearchFilters(), limit=1000)["items"]:
                path = row["doc_path"]
                found[path] = kb.fetch({"path": path, "source": row["source_id"]})["text"]
            if found:
                path = self.draw.choice(sorted(found))
                mark = found[path].split("mark ")[1].split()[1]
                hits = kb.search(SearchQuery(text=mark, k=50)).hits
                assert path in {hit.doc_path for hit in hits}, (path, mark)
            return found

    def look(self) -> None:
        """What readers see meanwhile: whole documents, each as it once was."""
        try:
            seen = self.texts()
        except NotIndexed:
            return  # a copy may have been begun before there was anything
        except IndexCorrupt as error:
            # A file may have gone between its name and itself; the next run makes it anew.
            if not (self.is_copy and error.hint):
                raise
            self.counts["copies that were torn"] += 1
            return
        for path, text in seen.items():
            assert text in self.once[path], ("a text that never was", path, text)
        for path, text in self.added.items():
            assert path in seen, ("what was acknowledged is gone", path)
            assert seen[path] in {text, self.unsure.get(path)}, path
        self.counts["looks"] += 1

    def heal(self) -> None:
        """One run more, and everything is as the files are."""
        report = self.kebab.ingest()
        assert report["errors"] == 0, report
        self.is_copy = False
        seen = self.texts()
        for path, text in list(self.unsure.items()):
            if seen.get(path) == text:
                self.added[path] = text
            del self.unsure[path]
        wanted = {**self.files, **self.added}
        assert seen == wanted, {
            path: (seen.get(path), wanted.get(path))
            for path in seen.keys() | wanted.keys()
            if seen.get(path) != wanted.get(path)
        }
        self.counts["healed"] += 1

    def check_deep(self) -> None:
        """The truth, the words and every file of the index agree."""
        with open_session(self.kebab.data_dir, lock_wait_secs=30, clock=utc_now) as session:
            assert session.healed is None, session.healed
            assert session.store.deep_check() == []
        with self.open() as kb:
            wrong = [check for check in kb.doctor(deep=True)["checks"] if not check["ok"]]
        assert wrong == []
        self.counts["deep checks"] += 1

    def round(self, kind: str) -> None:
        """Let *kind* happen once, and hold what came of it against the oracle."""
        self.edit_some()
        ROUNDS[kind](self)
        self.counts[kind] += 1
        self.look()
        self.heal()


ROUNDS: dict[str, Callable[[Storm], None]] = {
    "kill": Storm.kill,
    "moment": Storm.moment,
    "fault": Storm.fault,
    "writers": Storm.writers,
    "clock": Storm.clock,
    "copy": Storm.copy,
    "move": Storm.move,
    "crowd": Storm.crowd,
}
_WEIGHTS = {"kill": 8, "moment": 3, "fault": 8, "writers": 2, "clock": 1, "copy": 1, "move": 1}
_DEEP_EVERY = 10


def _copy(source: str, target: str) -> None:
    """Copy a file that may go meanwhile, as a person's copy does."""
    try:
        shutil.copy2(source, target)
    except FileNotFoundError:
        return


def main(arguments: list[str] | None = None) -> int:
    """Let it storm for some minutes; print the seed first, what happened last."""
    parser = argparse.ArgumentParser(description="Torture a knowledge base.")
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--kinds", default=",".join(_WEIGHTS), help="which rounds, by comma")
    given = parser.parse_args(arguments)
    kinds = given.kinds.split(",")
    print(f"seed {given.seed}", flush=True)
    home = Path(tempfile.mkdtemp(prefix="kebab-torture-"))
    storm = Storm(home / "home", given.seed, build_shim(home))
    until, n, last = time.monotonic() + 60 * given.minutes, 0, ""
    try:
        while time.monotonic() < until:
            n += 1
            last = storm.draw.choices(kinds, [_WEIGHTS.get(kind, 1) for kind in kinds])[0]
            storm.round(last)
            if n % _DEEP_EVERY == 0:
                storm.check_deep()
    except BaseException:
        print(f"seed {given.seed}, round {n}, {last}; all of it is in {home}", flush=True)
        raise
    finally:
        for what, count in sorted(storm.counts.items()):
            print(f"{count:9,} {what}", flush=True)
    shutil.rmtree(home)
    return 0


if __name__ == "__main__":
    sys.exit(main())
