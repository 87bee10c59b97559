"""Rounds of kills and faults, thousands of them: each of its own seed, over the same small start.

    python tests-integration/torture/rounds.py --rounds 7000 --seed 1
    python tests-integration/torture/rounds.py --only 4711

A round edits files and lets one to three operations be killed or refused, one after another:

step     killed before or after a named step of the write protocol
call     killed at a system call of a kind, on a part of the data directory
moment   killed after so much processor time
fault    such a call fails, once or from then on, with any error

After each, what readers see is held against the oracle: whole documents as they once were,
what was acknowledged, and no error. Then one run more ends well, and files, store, words and
vectors are the same. A run that said that all was well has to have been right.
"""

from __future__ import annotations

import argparse
import errno
import random
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from steps import CALLS, FUNCTIONS, PLACES, STEPS
from trials import Fault, Outcome, has_shim, import_as, preloaded, run, threads
from world import Operation, World, healed, perform, warm, whole_texts

__all__ = ["Rounds", "main", "prepare"]

ERRNOS = (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.EROFS, errno.EIO, errno.EACCES)
CODES = {"io_error", "index_corrupt", "store_corrupt", "store_busy", "config_invalid"}
KINDS = {"step": 7, "call": 5, "moment": 3, "fault": 7}
OPERATIONS = {
    "ingest": 6,
    "force": 2,
    "add": 3,
    "remove": 1,
    "forget": 2,
    "rebuild": 2,
    "safe": 2,
}
_MOST_CALLS = 12
"""Of a kind, on a part, as first guess; what was counted is better."""
_CPU_SECS = 0.5
_TELL_EVERY = 100


def prepare(world: World, stderr: Path) -> None:
    """Fill *world* and save it; import and load here what children would."""
    for _ in range(12):
        world.edit()
    for n, kind in enumerate(("ingest", "add", "add", "safe")):
        operation = world.operation(kind, f"added {n}")
        outcome = run(partial(perform, world.config, operation), stderr)
        assert outcome.ended == "done", outcome
        world.acknowledge(operation)
    world.save()
    import_as(partial(perform, world.config, Operation("forget", "added 1")), stderr)
    import_as(partial(healed, world.config), stderr)
    warm()


class Rounds:
    """A knowledge base, what goes wrong with it, and what has been counted."""

    def __init__(self, home: Path, *, has_shim: bool) -> None:
        self.world, self.stderr = World(home), home / "stderr"
        self.kinds = KINDS if has_shim else {"step": 7, "moment": 3}
        self.counts: Counter[str] = Counter()
        self.points: Counter[str] = Counter()
        self.problems: list[str] = []
        self.story: list[str] = []
        """What the round has done."""
        self._most: dict[tuple[str, str, str], int] = {}
        self._cpu: dict[str, float] = {}
        prepare(self.world, self.stderr)

    def round(self, seed: int, step: str = "") -> list[str]:
        """Let go wrong what *seed* says, perhaps at *step*; return what should not have been."""
        world = self.world
        world.begin(seed)
        self.problems, self.story, forgotten = [], [], set[str]()
        for n in range(1 if step else world.draw.choices((1, 2, 3, 4), (3, 3, 2, 1))[0]):
            world.edit_some()
            operation, fault = self._draw_step(step) if step and not n else self._draw()
            outcome = run(partial(perform, world.config, operation), self.stderr, fault)
            self._note(operation, fault, outcome)
            self.story.append(f"{operation} at {fault}: {outcome.ended} {outcome.told}")
            if outcome.ended == "done" and not outcome.value.get("errors"):
                world.acknowledge(operation)
            if outcome.ended == "done" and operation.kind == "safe":
                self.problems += world.judge_copies(is_newest_whole=True)
                forgotten |= {operation.key} if operation.kind == "forget" else set()
            forgotten -= {operation.key} if operation.kind == "add" else set()
            self._look(operation, outcome)
        self._heal(forgotten)
        return self.problems

    def _draw(self) -> tuple[Operation, Fault]:
        draw = self.world.draw
        kind = draw.choices(list(self.kinds), list(self.kinds.values()))[0]
        if kind == "step":
            return self._draw_step(draw.choice(STEPS))
        operation = self.world.operation(draw.choices([*OPERATIONS], [*OPERATIONS.values()])[0])
        if kind == "moment":
            most = self._cpu.get(operation.kind, _CPU_SECS)
            return operation, Fault(cpu_secs=draw.uniform(0.01, most))
        call, place = draw.choice(CALLS), draw.choice(PLACES)
        most = self._most.get((operation.kind, call, place), _MOST_CALLS)
        environ = {
            "FAULT_CALL": call,
            "FAULT_AT": place,
            "FAULT_NTH": str(draw.randint(1, max(1, most))),
            "FAULT_FOR": "1" if kind == "call" else draw.choice(("1", "1", "3", "9999")),
            "FAULT_ERRNO": "0" if kind == "call" else str(draw.choice(ERRNOS)),
            "FAULT_BELOW": str(self.world.data),
        }
        return operation, Fault(environ=environ)

    def _draw_step(self, step: str) -> tuple[Operation, Fault]:
        draw, function = self.world.draw, step.partition(" ")[2]
        operation = self.world.operation(draw.choice(FUNCTIONS[function]))
        return operation, Fault(step=step, nth=draw.choice((1, 1, 1, 1, 2, 3)))

    def _note(self, operation: Operation, fault: Fault, outcome: Outcome) -> None:
        """Count what happened, and learn how many calls there are to be met."""
        point = fault.step or "a moment"
        was_refused = False
        if told := fault.environ:
            point = f"{told['FAULT_CALL']} {told['FAULT_AT']}"
            was_refused = outcome.calls >= int(told["FAULT_NTH"])
            if outcome.calls and not was_refused:
                learned = (operation.kind, told["FAULT_CALL"], told["FAULT_AT"])
                self._most[learned] = outcome.calls
            if told["FAULT_ERRNO"] != "0" and was_refused:
                self.points[f"refused: {point}"] += 1
                self.counts["faults"] += 1
                self.counts[f"faults: {outcome.ended} {outcome.told[:20]}"] += 1
        if outcome.ended == "killed":
            self.points[f"killed: {point}"] += 1
            self.counts["kills"] += 1
        elif fault.cpu_secs:
            self._cpu[operation.kind] = outcome.cpu_secs
        is_allowed = not outcome.told or outcome.told in CODES
        if outcome.told == "not_indexed" and self.world.truth.may_have_no_index:
            is_allowed = True
        if outcome.ended in {"broke", "hung"} or not is_allowed:
            self.problems.append(f"{operation.kind} at {fault}: {outcome}")

    def _look(self, operation: Operation, outcome: Outcome) -> None:
        """Hold what readers see against the oracle, and what a run said against the files."""
        looked = run(partial(whole_texts, self.world.config, closely=False), self.stderr)
        if looked.ended != "done":
            self.problems.append(f"a reader: {looked}")
            return
        self.problems += self.world.judge(looked.value)
        ran = operation.kind in {"ingest", "force", "rebuild"}
        if ran and outcome.ended == "done" and outcome.value["clean"]:
            texts = looked.value.texts or {}
            files = self.world.truth.files
            if {path: text for path, text in texts.items() if "/" in path} != files:
                self.problems.append(f"{operation.kind} said that all was well, and it was not")

    def _heal(self, forgotten: set[str]) -> None:
        outcome = run(partial(healed, self.world.config), self.stderr)
        if outcome.ended != "done":
            self.problems.append(f"the next run: {outcome}")
            self.counts["not healed"] += 1
            return
        self.problems += self.world.judge_healed(outcome.value)
        self.problems += self.world.judge_copies(is_newest_whole=False)
        for key in sorted(forgotten):
            self.problems += self.world.judge_forgotten(key)
        self.counts["healed"] += 1

    def tell(self, rounds: int) -> None:
        """Print what has been counted so far."""
        print(f"after {rounds:,} rounds", flush=True)
        for counted in (self.points, self.counts):
            for what, count in sorted(counted.items()):
                print(f"{count:9,} {what}", flush=True)
        unmet = [step for step in STEPS if not self.points[f"killed: {step}"]]
        print(f"steps at which nothing was killed: {unmet}", flush=True)

    def rarest(self) -> str:
        """Return the step of the write protocol at which fewest were killed."""
        return min(STEPS, key=lambda step: self.points[f"killed: {step}"])


def _seeds(given: argparse.Namespace, rounds: Rounds) -> Iterator[tuple[int, str]]:
    """Yield the seed of each round, and at every fourth the step at which it has to end."""
    if given.only is not None:
        yield given.only, given.at
        return
    draw, until = random.Random(given.seed), time.monotonic() + 60 * given.minutes
    for n in range(given.rounds):
        if time.monotonic() > until:
            return
        yield draw.randrange(10**9), "" if n % 4 or "step" not in rounds.kinds else rounds.rarest()


def main(arguments: list[str] | None = None) -> int:
    """Let so many rounds go wrong; print the seed first, and last what happened."""
    parser = argparse.ArgumentParser(description="Kill and refuse what writes, round after round.")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=600)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--kinds", default="", help="what may go wrong, by comma; empty: all")
    parser.add_argument("--only", type=int, help="one round alone, by its own seed")
    parser.add_argument("--at", default="", help="with --only, the step it was killed at")
    parser.add_argument("--keep-going", action="store_true", help="go on after a problem")
    given = parser.parse_args(arguments)
    home = preloaded("kebab-rounds-")
    print(f"seed {given.seed}", flush=True)
    rounds, failed = Rounds(home, has_shim=has_shim()), 0
    if kinds := given.kinds.split(",") if given.kinds else []:
        rounds.kinds = {kind: rounds.kinds[kind] for kind in kinds}
    assert threads() == 1, "a process that forks runs one thread"
    try:
        for n, (seed, step) in enumerate(_seeds(given, rounds), 1):
            if problems := rounds.round(seed, step):
                failed += 1
                again = f"--only {seed}" + (f" --at {step!r}" if step else "")
                print(f"{again}: ", *rounds.story, *problems, sep="\n    ", flush=True)
                if not given.keep_going:
                    break
            if n % _TELL_EVERY == 0:
                rounds.tell(n)
    finally:
        rounds.tell(sum(rounds.counts[name] for name in ("healed", "not healed")))
    if not failed or given.keep_going:
        shutil.rmtree(home)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
