"""Every kind of file of a data directory, damaged in every way; a table of what that does.

    python tests-integration/torture/damage.py --bits 200 --seed 1

A file has a bit flipped, a block of zeros, a piece cut off, is missing, or is an older copy of
itself. Then readers answer rightly or say what is wrong, and never that there is nothing;
``doctor --deep`` finds it; and the next run heals it, where it is not the truth itself. Bits
are flipped as a disk does, with size and time as before: what readers then answer wrongly
without a word is counted.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from rounds import prepare
from trials import Outcome, preloaded, run, threads
from world import Operation, World, facade, healed, perform, whole_texts

from kb_app import Config

__all__ = ["HARMS", "Damage", "kind_of", "main"]

_BLOCK = 512
COLUMNS = ("cases", "right", "said", "silent", "nothing", "broke", "found", "healed", "not healed")
"""``right`` to ``broke`` is what readers did; ``silent`` is an answer that was wrong."""
_TRUTH = ("kebab.duckdb", "assets")
"""What no run can make again by itself: a person repairs it."""

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
    whole = name if name.startswith(("kebab", "meta", "sums", ".managed")) else name.split(".")[-1]
    return f"{folder}/{whole}" if folder else whole


class Damage:
    """A knowledge base of two states, and what became of each file that was damaged."""

    def __init__(self, home: Path) -> None:
        self.world, self.stderr = World(home), home / "stderr"
        prepare(self.world, self.stderr)
        self.world.begin(0)
        self.older = home / "older"
        shutil.copytree(self.world.data, self.older)
        self.world.edit_some()
        assert run(self._ingest, self.stderr).ended == "done"
        shutil.rmtree(home / "template")
        self.world.save()
        self.table: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def _ingest(self) -> None:
        perform(self.world.config, Operation("ingest"))

    def files(self) -> list[str]:
        """Return one file of each kind, the largest."""
        data, found = self.world.data, {}
        for file in sorted(data.rglob("*"), key=lambda file: file.stat().st_size):
            path = str(file.relative_to(data))
            if file.is_file() and file.stat().st_size and not path.endswith(".lock"):
                found[kind_of(path)] = path
        return sorted(found.values())

    def case(self, path: str, harm: str, seed: int) -> Iterator[str]:
        """Damage *path* and count what follows; yield what should not have been."""
        world = self.world
        world.begin(seed)
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
        row, name = self.table[kind_of(path)], f"{path}, {harm}, seed {seed}"
        row["cases"] += 1
        read = self._read()
        row[read] += 1
        if read in {"nothing", "broke"} or (read == "silent" and harm not in {"bit", "zeros"}):
            yield f"{name}: readers: {read}"
        deep = run(partial(_found, world.config), self.stderr)
        if deep.ended in {"broke", "hung"}:
            yield f"{name}: doctor: {deep}"
        row["found"] += deep.ended == "said" or bool(deep.value)
        yield from self._heal(path, name, row)

    def _read(self) -> str:
        looked = run(partial(whole_texts, self.world.config, closely=True), self.stderr)
        if looked.ended != "done":
            return "said" if looked.ended == "said" else "broke"
        texts, problems = looked.value.texts, looked.value.problems
        if texts is None or any("told of damage" in problem for problem in problems):
            return "said"
        if not texts:
            return "nothing"
        return "silent" if problems or [*self.world.judge(looked.value)] else "right"

    def _heal(self, path: str, name: str, row: Counter[str]) -> Iterator[str]:
        outcome: Outcome = run(partial(healed, self.world.config), self.stderr)
        problems = [str(outcome)]
        if outcome.ended == "done":
            problems = [*self.world.judge_healed(outcome.value)]
        row["not healed" if problems else "healed"] += 1
        if outcome.ended in {"broke", "hung"} or (problems and not path.startswith(_TRUTH)):
            yield f"{name}: the next run: {problems}"


def _found(config: Config) -> list[str]:
    """Return what ``doctor --deep`` says is wrong."""
    with facade(config, readonly=True) as kb:
        return [str(check) for check in kb.doctor(deep=True)["checks"] if not check["ok"]]


def main(arguments: list[str] | None = None) -> int:
    """Damage each kind of file so often; print the seed first, and last the table."""
    parser = argparse.ArgumentParser(description="Damage every kind of file.")
    parser.add_argument("--bits", type=int, default=10, help="flipped bits for each kind")
    parser.add_argument("--others", type=int, default=3, help="of each other damage")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    given = parser.parse_args(arguments)
    home = preloaded("kebab-damage-")
    print(f"seed {given.seed}", flush=True)
    damage, problems = Damage(home), 0
    assert threads() == 1, "a process that forks runs one thread"
    for path in damage.files():
        cases = [("bit", given.bits), ("zeros", given.others), ("cut", given.others)]
        for harm, count in [*cases, ("missing", 1), ("older", 1)]:
            for seed in range(given.seed, given.seed + count):
                for problem in damage.case(path, harm, seed):
                    problems += 1
                    print(problem, flush=True)
        row = damage.table[kind_of(path)]
        told = ", ".join(f"{row[name]} {name}" for name in COLUMNS if row[name])
        print(f"{kind_of(path)}: {told}", flush=True)
    print(f"{problems} problems", flush=True)
    shutil.rmtree(home)
    return int(problems > 0)


if __name__ == "__main__":
    sys.exit(main())
