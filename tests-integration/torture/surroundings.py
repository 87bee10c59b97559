"""Rounds of what is around a data directory: disks, locks, clocks, copies, versions.

    python tests-integration/torture/surroundings.py --rounds 200 --seed 1
    python tests-integration/torture/surroundings.py --kinds full,locks

full        the file system is small, and gets full at any write; a real one, where that can be
            mounted, else files have a limit
readonly    the file system is read-only: searched as before, and nothing is written
locks       the file system has no locks: searched as before, and a run says so
clock       the time of day is days off, in either direction
writers     two ingests and a document that is added, all at once
copied      the data directory is copied while it is written, and the copy is used
moved       the data directory gets another name
migration   a store of an earlier version is brought up to date, and that is killed at any step

Everything runs in children of one process, and the oracle of ``world`` says what must be true.
"""

from __future__ import annotations

import argparse
import errno
import json
import random
import shutil
import subprocess
import sys
import tarfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from rounds import CODES, prepare
from trials import Fault, Outcome, Trial, has_shim, import_as, preloaded, run, threads
from world import Operation, Seen, World, facade, healed, perform, whole_texts

from kb_app import Config
from kb_core.search import SearchFilters

__all__ = ["KINDS", "Surroundings", "main"]

_RELEASED = Path(__file__).parents[1] / "released"
_ROOM = 64 * 1024
"""How much more than there is fits on a small file system, at most of it."""
_DAY = 86_400
_MIGRATING = (
    "kb_store._migrate:_apply",
    "kb_store.store:create_meta",
    "kb_store.store:Store.open",
    "kb_search.writer:Writer.rebuild",
)


class Surroundings:
    """A knowledge base, and what happens around it."""

    def __init__(self, home: Path) -> None:
        self.world, self.home = World(home), home
        self.stderr = home / "stderr"
        self.counts: Counter[str] = Counter()
        prepare(self.world, self.stderr)

    def round(self, kind: str, seed: int) -> list[str]:
        """Let *kind* happen once; return what should not have been."""
        self.world.begin(seed)
        self.world.edit_some()
        problems = [*KINDS[kind](self)]
        if kind != "migration":
            problems += [*self._look(), *self._heal()]
        self.counts[kind] += 1
        return problems

    def full(self) -> Iterator[str]:
        """Fill the disk in the middle of a run."""
        room = self.world.draw.randrange(_ROOM)
        with self._small(room) as fault:
            operation = self.world.operation(self.world.draw.choice(("ingest", "force", "add")))
            outcome = self._run(operation, fault)
            yield from self._told(operation, outcome)
            yield from self._look()

    def readonly(self) -> Iterator[str]:
        """Search and write where nothing can be written."""
        with self._mounted(0, is_small=False) as is_mounted:
            if not is_mounted:
                return
            _mount("-o", "remount,ro", str(self.world.data))
            outcome = self._run(Operation("ingest"))
            if outcome.ended != "said" or outcome.told not in CODES:
                yield f"a run on a read-only disk: {outcome}"
            yield from self._look()
            _mount("-o", "remount,rw", str(self.world.data))

    def locks(self) -> Iterator[str]:
        """Search and write where there are no locks."""
        if not has_shim():
            return
        fault = Fault(environ={"FAULT_LOCKS": str(errno.ENOLCK)})
        operation = Operation("ingest")
        outcome = self._run(operation, fault)
        if outcome.ended != "said" or outcome.told != "io_error":
            yield f"a run without locks: {outcome}"
        looked = run(partial(whole_texts, self.world.config, closely=True), self.stderr, fault)
        yield from self._judged(looked)

    def clock(self) -> Iterator[str]:
        """Set the clock forward or back for one run."""
        days = self.world.draw.choice((-1, 1)) * self.world.draw.randrange(1, 40)
        operation = self.world.operation(self.world.draw.choice(("ingest", "add", "safe")))
        outcome = self._run(operation, Fault(environ={"FAULT_CLOCK": str(days * _DAY)}))
        if outcome.ended != "done":
            yield f"{operation.kind}, {days} days off: {outcome}"
        else:
            self.world.acknowledge(operation)

    def writers(self) -> Iterator[str]:
        """Let three write at once; the lock lets one after the other."""
        operations = [Operation("ingest"), self.world.operation("add"), Operation("force")]
        trials = [
            Trial(partial(perform, self.world.config, each), Fault(), self.stderr)
            for each in operations
        ]
        for operation, trial in zip(operations, trials, strict=True):
            outcome = trial.wait()
            if outcome.ended != "done":
                yield f"{operation.kind} beside others: {outcome}"
            else:
                self.world.acknowledge(operation)

    def copied(self) -> Iterator[str]:
        """Copy the data directory while it is written, and go on with the copy."""
        job = partial(perform, self.world.config, Operation("force"))
        trial, there = Trial(job, Fault(), self.stderr), self.world.data.with_name("copy")
        time.sleep(self.world.draw.uniform(0, 0.3))
        with suppress(shutil.Error):  # of files that went meanwhile
            shutil.copytree(self.world.data, there, copy_function=_copy)
        outcome = trial.wait()
        if outcome.ended != "done":
            yield f"a run that was copied: {outcome}"
        shutil.rmtree(self.world.data)
        there.rename(self.world.data)
        # A copy may hold files of several moments, of which the store is healed from what is whole.
        self.world.truth.may_have_no_index = True
        outcome = run(partial(_repaired, self.world.config), self.stderr)
        if outcome.ended != "done":
            yield f"a copy: {outcome}"

    def moved(self) -> Iterator[str]:
        """Give the data directory another name, and that back."""
        there = self.world.data.with_name("moved")
        self.world.data.rename(there)
        self.world.data.symlink_to(there)
        yield from self._look()
        outcome = self._run(Operation("ingest"))
        if outcome.ended != "done":
            yield f"by a link: {outcome}"
        self.world.data.unlink()
        there.rename(self.world.data)

    def migration(self) -> Iterator[str]:
        """Bring a released store up to date, killed at a step of that; then again."""
        archive = self.world.draw.choice(sorted(_RELEASED.glob("*.kebab")))
        shutil.rmtree(self.world.data)
        for path in list(self.world.notes.iterdir()):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        with tarfile.open(archive) as tar:
            tar.extractall(self.world.home / "released", filter="data")
        shutil.move(self.world.home / "released/data", self.world.data)
        shutil.rmtree(self.world.home / "released")
        when, step = self.world.draw.choice(("before", "after")), self.world.draw.choice(_MIGRATING)
        fault = Fault(step=f"{when} {step}", nth=self.world.draw.choice((1, 2)))
        facts = json.loads(archive.with_suffix(".json").read_text("utf-8"))
        job = partial(_added, self.world.config, frozenset(facts["docs"]))
        outcome = run(job, self.stderr, fault)
        self.counts[f"migration {outcome.ended} {when} {step}"] += 1
        again = run(job, self.stderr)
        if again.ended != "done" or again.value:
            yield f"an interrupted migration at {fault}: {again}"

    # ---------------------------------------------------------------- around it

    @contextmanager
    def _small(self, room: int) -> Iterator[Fault]:
        """Have only *room* bytes more than there is."""
        with self._mounted(room, is_small=True) as is_mounted:
            self.counts["full, mounted" if is_mounted else "full, by limit"] += 1
            files = [path for path in self.world.data.rglob("*") if path.is_file()]
            largest = max(path.stat().st_size for path in files)
            yield Fault() if is_mounted else Fault(file_bytes=largest + room)

    @contextmanager
    def _mounted(self, room: int, *, is_small: bool) -> Iterator[bool]:
        """Have the data directory on a file system of its own, if this process may mount one."""
        data, aside = self.world.data, self.world.data.with_name("aside")
        used = sum(-path.stat().st_size // 4096 * -4096 for path in data.rglob("*")) + 65_536
        size = used + room if is_small else 4 * used
        data.rename(aside)
        data.mkdir()
        if not _mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(data)):
            data.rmdir()
            aside.rename(data)
            yield False
            return
        try:
            shutil.copytree(aside, data, dirs_exist_ok=True)
            shutil.rmtree(aside)
            yield True
        finally:
            shutil.copytree(data, aside, dirs_exist_ok=True)
            subprocess.run(["umount", str(data)], check=True)
            data.rmdir()
            aside.rename(data)

    # ---------------------------------------------------------------- the oracle

    def _run(self, operation: Operation, fault: Fault | None = None) -> Outcome:
        return run(partial(perform, self.world.config, operation), self.stderr, fault)

    def _told(self, operation: Operation, outcome: Outcome) -> Iterator[str]:
        self.counts[f"{operation.kind} {outcome.ended} {outcome.told[:20]}"] += 1
        if outcome.ended == "done" and not outcome.value.get("errors"):
            self.world.acknowledge(operation)
        elif outcome.ended != "done" and outcome.told not in CODES:
            yield f"{operation.kind}: {outcome}"

    def _look(self) -> Iterator[str]:
        yield from self._judged(
            run(partial(whole_texts, self.world.config, closely=False), self.stderr)
        )

    def _judged(self, looked: Outcome) -> Iterator[str]:
        if looked.ended != "done":
            yield f"a reader: {looked}"
            return
        yield from self.world.judge(looked.value)

    def _heal(self) -> Iterator[str]:
        outcome = run(partial(healed, self.world.config), self.stderr)
        if outcome.ended != "done":
            yield f"the next run: {outcome}"
            return
        yield from self.world.judge_healed(outcome.value)
        yield from self.world.judge_copies(is_newest_whole=False)


KINDS: dict[str, Callable[[Surroundings], Iterator[str]]] = {
    "full": Surroundings.full,
    "readonly": Surroundings.readonly,
    "locks": Surroundings.locks,
    "clock": Surroundings.clock,
    "writers": Surroundings.writers,
    "copied": Surroundings.copied,
    "moved": Surroundings.moved,
    "migration": Surroundings.migration,
}


def _mount(*words: str) -> bool:
    if sys.platform != "linux":
        return False
    try:
        return not subprocess.run(["mount", *words], capture_output=True, check=False).returncode
    except FileNotFoundError:
        return False


def _copy(source: str, target: str) -> None:
    """Copy a file that may go meanwhile, as a person's copy does."""
    with suppress(FileNotFoundError):
        shutil.copy2(source, target)


def _repaired(config: Config) -> Seen:
    """Go on with a copy: a repair mends what of its files was written in between."""
    with facade(config) as kb:
        kb.repair(dry_run=False)
    return healed(config)


def _added(config: Config, before: frozenset[str]) -> list[str]:
    """Write to a store of an earlier version that had *before*; return what is wrong with it."""
    perform(config, Operation("add", "late", "# Late\n\nA late marmot.\n"))
    with facade(config, readonly=True) as kb:
        lost = before - {row["doc_path"] for row in kb.list_docs(SearchFilters())["items"]}
        checks = kb.doctor(deep=True)["checks"]
    names = {"store", "files of the index", "assets", "journals"}
    wrong = [str(row) for row in checks if not row["ok"] and row["name"] in names]
    return [*(f"{path} is lost" for path in lost), *wrong]


def main(arguments: list[str] | None = None) -> int:
    """Go through the kinds again and again; print the seed first, and last what happened."""
    parser = argparse.ArgumentParser(description="What is around a data directory.")
    parser.add_argument("--rounds", type=int, default=80)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--kinds", default=",".join(KINDS), help="which rounds, by comma")
    given = parser.parse_args(arguments)
    home = preloaded("kebab-around-")
    print(f"seed {given.seed}", flush=True)
    around, failed, kinds = Surroundings(home), 0, given.kinds.split(",")
    import_as(partial(_added, around.world.config, frozenset()), around.stderr)
    assert threads() == 1, "a process that forks runs one thread"
    for n in range(given.rounds):
        kind, seed = kinds[n % len(kinds)], given.seed + n
        if problems := around.round(kind, seed):
            failed += 1
            print(f"--kinds {kind} --seed {seed}:", *problems, sep="\n    ", flush=True)
    for what, count in sorted(around.counts.items()):
        print(f"{count:9,} {what}", flush=True)
    print(f"{failed} rounds failed", flush=True)
    shutil.rmtree(home)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
