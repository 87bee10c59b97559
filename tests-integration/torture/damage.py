"""Every kind of file of a data directory, damaged in every way; a table of what that does.

    python tests-integration/torture/damage.py --bits 200 --seed 1
    python tests-integration/torture/damage.py --kinds                   what kinds there are
    python tests-integration/torture/damage.py --only lexical/chunks/ journal/ --bits 200

A file has a bit flipped, a block of zeros, a piece cut off, is missing, or is an older copy of
itself. Then readers answer rightly or say what is wrong, and never that there is nothing;
``doctor --deep`` finds it, unless all that the file keeps reads back equal; and the next run
heals it or, of the truth, a repair does what can be done, without a traceback. Bits are flipped
as a disk does, with size and time as before: what readers then answer wrongly without a word is
counted. The log of the store is that of a run that was killed before it let go.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from filled import fill, kept_in_file, speak
from rounds import prepare
from trials import Fault, Outcome, import_as, preloaded, run, threads
from world import Operation, Seen, World, facade, healed, perform, whole_texts

from kb_app import Config
from kb_core.errors import KbError

__all__ = ["HARMS", "Damage", "kind_of", "main"]

_BLOCK = 512
READERS = ("right", "said", "silent", "nothing", "broke")
"""What they did; ``silent`` is an answer that was wrong."""
FINDING = ("found", "equal", "not found")
"""What ``doctor --deep`` said; ``equal``, where what is kept was not damaged."""
HEALING = ("healed", "repaired", "not healed")
COLUMNS = ("cases", *READERS, *FINDING, *HEALING)
_TRUTH = ("kebab.duckdb", "assets", "journal", "forgotten.json", "safety", "evals", "costly")
"""What no run makes again by itself: a person repairs it, or it is no part of what is indexed."""
_PASSING = ("run/", "safety/runs")
"""What tells of a run that was, and is made again by the next."""
_REMADE = ("costly/", "lexical/chunks/sums.json")
"""What is made again where it is missing, as if it had never been there."""
_LOG, _KILLED = "kebab.duckdb.wal", "killed"

Harm = Callable[[bytes, random.Random], bytes | None]
"""What a file becomes; ``None``, if it goes."""


def _flip(data: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :]


def _zero(data: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(0, len(data), _BLOCK)
    return data[:at] + bytes(min(_BLOCK, len(data) - at)) + data[at + _BLOCK :]


def _cut(data: bytes, draw: random.Random) -> bytes:
    return data[: draw.randrange(len(data))]


def _remove(data: bytes, draw: random.Random) -> None:
    return None


HARMS: dict[str, Harm] = {"bit": _flip, "zeros": _zero, "cut": _cut, "missing": _remove}


def kind_of(path: str) -> str:
    """Return the kind of the file at *path*: its folder, and what its name ends in."""
    folder, _, name = path.rpartition("/")
    if folder.startswith(("safety/", "evals/", "costly/")):
        folder = folder.partition("/")[0]
        name = name if folder == "evals" else name.rpartition(".")[2]
        return f"{folder}/{name}"
    whole = (
        name
        if name.startswith(("kebab", "forgotten", "meta", "sums", ".managed"))
        else name.split(".")[-1]
    )
    return f"{folder}/{whole}" if folder else whole


class Damage:
    """A knowledge base of two states, and what became of each file that was damaged."""

    def __init__(self, home: Path) -> None:
        self.world, self.stderr = World(home), home / "stderr"
        prepare(self.world, self.stderr)
        self.world.begin(0)
        self._do(partial(fill, self.world))
        self.older = home / "older"
        shutil.copytree(self.world.data, self.older)
        self.world.edit_some()
        self._do(self._ingest)
        self._do(partial(speak, self.world.config, "and then?"))
        self.world.save()
        import_as(partial(_looked, self.world.config), self.stderr)
        self.world.edit_some()
        killed = run(self._ingest, self.stderr, Fault(step="before kb_store.store:Store.close"))
        assert killed.ended == "killed", killed
        self.world.save(_KILLED)
        self.table: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def _do(self, job: Callable[[], object]) -> None:
        outcome = run(job, self.stderr)
        assert outcome.ended == "done", outcome

    def _ingest(self) -> None:
        perform(self.world.config, Operation("ingest"))

    def files(self) -> list[str]:
        """Return one file of each kind, the largest."""
        data, found = self.world.home / "template/data", {}
        for file in sorted(data.rglob("*"), key=lambda file: file.stat().st_size):
            path = str(file.relative_to(data))
            if file.is_file() and file.stat().st_size and not path.endswith(".lock"):
                found[kind_of(path)] = path
        return [*sorted(found.values()), _LOG]

    def case(self, path: str, harm: str, seed: int) -> Iterator[str]:
        """Damage *path* and count what follows; yield what should not have been."""
        world = self.world
        world.begin(seed, _KILLED if path == _LOG else "template")
        file = world.data / path
        before, status = file.read_bytes(), file.stat()
        older = self.older / path
        after: bytes | None = before
        if harm != "older":
            after = HARMS[harm](before, world.draw)
        elif older.exists():
            after = older.read_bytes()
        if after == before:
            return
        if after is None:
            file.unlink()
        else:
            file.write_bytes(after)
        if harm == "bit":
            os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
        yield from self._follow(path, before, f"{path}, {harm}, seed {seed}", harm)

    def _follow(self, path: str, before: bytes, name: str, harm: str) -> Iterator[str]:
        world, row = self.world, self.table[kind_of(path)]
        row["cases"] += 1
        looked = run(partial(_looked, world.config), self.stderr)
        if looked.ended != "done":
            row["broke"] += 1
            yield f"{name}: readers or doctor: {looked}"
            return
        read = self._judged(looked.value[0])
        row[read] += 1
        if read in {"nothing", "broke"} or (read == "silent" and harm not in {"bit", "zeros"}):
            yield f"{name}: readers: {read} {looked.value[0]}"
        found = self._finding(path, before, looked.value[1])
        row[found] += 1
        if found == "not found" and not path.startswith(_PASSING):
            yield f"{name}: doctor does not find it"
        yield from self._heal(path, name, row)

    def _judged(self, looked: Seen | str) -> str:
        if isinstance(looked, str):
            return "said"
        texts, problems = looked.texts, looked.problems
        if texts is None or any("told of damage" in problem for problem in problems):
            return "said"
        if not texts:
            return "nothing"
        return "silent" if problems or [*self.world.judge(looked)] else "right"

    def _finding(self, path: str, before: bytes, said: list[str]) -> str:
        if said:
            return "found"
        is_remade = path.startswith(_PASSING + _REMADE) or kind_of(path) == "evals/sums.json"
        if is_remade and not (self.world.data / path).exists():
            return "equal"
        whole = self.world.home / "whole" / path
        shutil.rmtree(self.world.home / "whole", ignore_errors=True)
        whole.parent.mkdir(parents=True)
        whole.write_bytes(before)
        if path == _LOG:
            shutil.copy(self.world.data / "kebab.duckdb", whole.with_name("kebab.duckdb"))
        same = run(partial(_are_equal, whole, self.world.data / path), self.stderr)
        return "equal" if same.ended == "done" and same.value else "not found"

    def _heal(self, path: str, name: str, row: Counter[str]) -> Iterator[str]:
        outcome: Outcome = run(partial(_healed, self.world.config), self.stderr)
        problems, repaired = [str(outcome)], False
        if outcome.ended == "done":
            seen, repaired = outcome.value
            problems = [*self.world.judge_healed(seen)]
        row["not healed" if problems else "repaired" if repaired else "healed"] += 1
        if outcome.ended in {"broke", "hung"} or (problems and not path.startswith(_TRUTH)):
            yield f"{name}: the next run: {problems}"


def _looked(config: Config) -> tuple[Seen | str, list[str]]:
    """Return what readers see, or the error that they were told, and what doctor finds wrong."""
    seen: Seen | str
    try:
        seen = whole_texts(config, closely=True)
    except KbError as error:
        seen = f"{error.code}: {error}"
    with facade(config, readonly=True) as kb:
        checks = kb.doctor(deep=True)["checks"]
        for name in [row["session_id"] for row in kb.conversations()["items"]]:
            kb.conversation(name)
        kb.feedback()
    return seen, [str(check) for check in checks if not check["ok"]]


def _healed(config: Config) -> tuple[Seen, bool]:
    """Do one run more or, where that is refused, repair before; return what is seen then."""
    with suppress(KbError):
        seen = healed(config)
        if not seen.problems:
            return seen, False
    with facade(config) as kb:
        kb.repair(dry_run=False)
    return healed(config), True


def _are_equal(whole: Path, damaged: Path) -> bool:
    """Say whether what is kept in a file reads back as it was; a name that nobody reads may not."""
    before, after = kept_in_file(whole), kept_in_file(damaged)
    if isinstance(before, dict) and isinstance(after, dict):
        return all(after.get(name) == value for name, value in before.items())
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return all(
            one == other
            or (isinstance(one, dict) and isinstance(other, dict) and one.items() <= other.items())
            for one, other in zip(before, after, strict=True)
        )
    return before == after


def _cpu_secs() -> float:
    """Return the processor time of this process and of its children so far."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def main(arguments: list[str] | None = None) -> int:
    """Damage each kind of file so often; print the seed first, and last the table."""
    parser = argparse.ArgumentParser(description="Damage every kind of file.")
    parser.add_argument("--bits", type=int, default=10, help="flipped bits for each kind")
    parser.add_argument("--others", type=int, default=3, help="of each other damage")
    parser.add_argument("--only", nargs="+", default=[""], help="kinds that begin so, alone")
    parser.add_argument("--kinds", action="store_true", help="say which there are, and end")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    given = parser.parse_args(arguments)
    home = preloaded("kebab-damage-")
    print(f"seed {given.seed}", flush=True)
    damage, problems = Damage(home), 0
    assert threads() == 1, "a process that forks runs one thread"
    chosen = [path for path in damage.files() if kind_of(path).startswith(tuple(given.only))]
    print(f"{len(chosen)} kinds: {', '.join(map(kind_of, chosen))}", flush=True)
    for path in chosen if not given.kinds else ():
        began = _cpu_secs()
        cases = [("bit", given.bits), ("zeros", given.others), ("cut", given.others)]
        for harm, count in [*cases, ("missing", 1), ("older", 1)]:
            for seed in range(given.seed, given.seed + count):
                for problem in damage.case(path, harm, seed):
                    problems += 1
                    print(problem, flush=True)
        row = damage.table[kind_of(path)]
        told = ", ".join(f"{row[name]} {name}" for name in COLUMNS if row[name])
        print(f"{kind_of(path)}: {told}; {_cpu_secs() - began:.0f} s of processor", flush=True)
    print(f"{problems} problems", flush=True)
    shutil.rmtree(home)
    return int(problems > 0)


if __name__ == "__main__":
    sys.exit(main())
