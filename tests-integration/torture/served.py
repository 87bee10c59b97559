"""The index on a server: publishers are killed, the server is killed, and readers go on.

    python tests-integration/torture/served.py kills --rounds 50 --seed 1
    python tests-integration/torture/served.py crowd --minutes 5 --seed 1

``kills`` ends a publisher at a random question that it asks the engine, or at a random moment;
the next run has to heal, and store and engine to agree. ``crowd`` has four processes read
while a fifth writes and the server (``milvus-lite server``, on loopback) is killed and begun
again: what readers may be told is that it does not answer, and nothing else.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from crowd import ASKED, Views, compare, look
from trials import Fault, Trial, import_as, preloaded, run, threads
from world import Operation, Seen, World, facade, perform, warm, whole_texts

from kb_app._wiring import parts_of
from kb_app.config import load_config
from kb_core.errors import IoError

__all__ = ["main"]

READERS = 4
OPERATIONS = {"ingest": 8, "force": 1, "add": 3, "remove": 1}
ENGINE = "kb_search.milvus.engine:Engine"
ASKS = {"upsert": 12, "delete": 4, "rows": 20, "make": 3, "flush": 1, "close": 1}
"""What a publisher asks the engine, and how often at most in such a small world."""
_THREADED = ("pymilvus", "milvus_lite", "grpc", "pandas", "pyarrow", "google")
_AWAY_SECS = (2.0, 6.0)
_UP_SECS = (15.0, 30.0)
_GRACE_SECS = 90.0
"""How long after the server is back a question that it did not answer may still end."""


class Server:
    """``milvus-lite server`` on loopback, over a folder of its own."""

    def __init__(self, home: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self._home = home
        self.away = home / "away"
        self.uri = f"http://127.0.0.1:{self._port}"

    def begin(self) -> None:
        """Start it, and wait until it answers."""
        words = ["server", "--data-dir", str(self._home / "served"), "--host", "127.0.0.1"]
        command = [sys.executable, "-m", "milvus_lite", *words, "--port", str(self._port)]
        with (self._home / "server.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        while self._process.poll() is None and not self._answers():
            time.sleep(0.05)
        assert self._process.poll() is None, "the server ended"
        self.away.unlink(missing_ok=True)

    def kill(self) -> None:
        """End it, wherever it is."""
        self.away.touch()
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def _answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._port)) == 0


def begun(world: World, server: Server) -> None:
    """Point *world* at the server, and fill it."""
    there = f'[index]\nengine = "milvus"\nuri = "{server.uri}"\n'
    world.config_file.write_text(world.config_file.read_text("utf-8") + there, "utf-8")
    world.config = load_config(world.config_file)
    for _ in range(12):
        world.edit()
    stderr = world.home / "stderr"
    for n, kind in enumerate(("ingest", "add", "add")):
        operation = world.operation(kind, f"added {n}")
        outcome = run(partial(perform, world.config, operation), stderr)
        assert outcome.ended == "done", outcome
        world.acknowledge(operation)
    import_as(partial(healed, world.config), stderr, but=_THREADED)
    warm()
    assert threads() == 1, "a process that forks runs one thread"


def healed(config: Any) -> Seen:  # noqa: ANN401 - a Config, pickled by nobody
    """Do one run more; return what readers see then, and where store and engine differ."""
    told = perform(config, Operation("ingest"))
    problems = [f"the next run had errors: {told}"] if told["errors"] else []
    seen = whole_texts(config, closely=True)
    with facade(config) as kb:
        checks = kb.doctor(deep=True)["checks"]
        problems += [f"{c['name']}: {c['detail']}" for c in checks if not c["ok"]]
    with closing(parts_of(config).session()) as session:
        if session.control.sequence != session.store.sequence:
            problems.append("store and engine are not at the same sequence")
        truth = {d.path: d.text for p in session.store.rebuild_publications() for d in p.documents}
        problems += [f"{p}: the store has another text" for p in truth.keys() & (seen.texts or {})
                     if truth[p] != (seen.texts or {})[p]]  # fmt: skip
    return Seen(seen.texts, seen.problems + problems)


def kills(world: World, rounds: int, counts: Counter[str]) -> list[str]:
    """Kill publishers, and heal; return what went wrong."""
    problems: list[str] = []
    stderr = world.home / "stderr"
    for _ in range(rounds):
        world.edit_some()
        kind = world.draw.choices([*OPERATIONS], [*OPERATIONS.values()])[0]
        operation, fault = world.operation(kind), _fault(world.draw)
        outcome = run(partial(perform, world.config, operation), stderr, fault)
        counts[f"{outcome.ended}: {fault.step.partition(ENGINE)[2] or 'at a moment'}"] += 1
        counts["kills"] += outcome.ended == "killed"
        if outcome.ended == "done":
            world.acknowledge(operation)
        elif outcome.ended != "killed":
            problems.append(f"{operation.kind}, {fault}: {outcome}")
        outcome = run(partial(healed, world.config), stderr)
        said = world.judge_healed(outcome.value) if outcome.ended == "done" else [str(outcome)]
        problems += [f"after {fault}: {what}" for what in said]
    return problems


def _fault(draw: random.Random) -> Fault:
    if draw.random() < 0.2:
        return Fault(cpu_secs=draw.uniform(0.05, 0.8))
    name = draw.choice([*ASKS])
    when = draw.choice(("before", "after"))
    return Fault(step=f"{when} {ENGINE}.{name}", nth=draw.randint(1, ASKS[name]))


def read(
    world: World, server: Server, stop: Path, seed: int
) -> tuple[Counter[str], Views, list[str]]:
    """Read until *stop* is there; return how often, what was seen, and what was wrong with it."""
    draw, counts, views = random.Random(seed), Counter[str](), Views()
    problems: list[str] = []
    last, was_away = -1, float("-inf")
    with facade(world.config, readonly=True) as kb, closing(parts_of(world.config).reader()) as it:
        while not stop.exists():
            if server.away.exists():
                was_away = time.monotonic()
            try:
                last = look(it, last, views, counts, problems)
                draw.choice(ASKED)(kb, draw, problems)
                counts["operations of the facade"] += 1
            except IoError as error:
                if time.monotonic() > was_away + _GRACE_SECS and not server.away.exists():
                    problems.append(f"with the server there: {error}")
                counts["told that it does not answer"] += 1
                time.sleep(0.2)
    return counts, views, problems


def write(world: World, server: Server, until: float, counts: Counter[str]) -> list[str]:
    """Edit and write until then, while the server comes and goes; return what went wrong."""
    problems: list[str] = []
    stderr = world.home / "stderr"
    turn = time.monotonic() + world.draw.uniform(*_UP_SECS)
    while time.monotonic() < until:
        world.edit_some()
        operation = world.operation(world.draw.choices([*OPERATIONS], [*OPERATIONS.values()])[0])
        trial = Trial(partial(perform, world.config, operation), Fault(), stderr)
        if is_killed := time.monotonic() > turn:
            time.sleep(world.draw.uniform(0.0, 1.0))
            server.kill()
            counts["kills of the server"] += 1
            time.sleep(world.draw.uniform(*_AWAY_SECS))
            server.begin()
            turn = time.monotonic() + world.draw.uniform(*_UP_SECS)
        outcome = trial.wait()
        counts[f"writes: {outcome.ended}"] += 1
        if outcome.ended == "done":
            world.acknowledge(operation)
        elif outcome.ended != "said" or not is_killed:
            problems.append(f"{operation.kind}: {outcome}")
    outcome = run(partial(healed, world.config), stderr)
    return [*problems, *(world.judge_healed(outcome.value) if outcome.value else [str(outcome)])]


def crowd(
    world: World, server: Server, minutes: float, seed: int, counts: Counter[str]
) -> list[str]:
    """Let four read while one writes; return what went wrong."""
    stop = world.home / "stop"
    readers = [
        Trial(partial(read, world, server, stop, seed + n), Fault(), world.home / f"stderr-{n}")
        for n in range(READERS)
    ]
    problems = write(world, server, time.monotonic() + 60 * minutes, counts)
    stop.touch()
    views: list[Views] = []
    for outcome in [reader.wait() for reader in readers]:
        if outcome.ended != "done":
            problems.append(str(outcome))
            continue
        counts.update(outcome.value[0])
        views.append(outcome.value[1])
        problems += outcome.value[2][:20]
    counts["sequences that were seen"] = len({at for seen in views for at in seen})
    return [*problems, *compare(views)]


def main(arguments: list[str] | None = None) -> int:
    """Do what is asked; print the seed first, and last what happened."""
    parser = argparse.ArgumentParser(description="Kill publishers, or the server, over a server.")
    parser.add_argument("what", choices=("kills", "crowd"))
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    given = parser.parse_args(arguments)
    home = preloaded("kebab-served-")
    print(f"seed {given.seed}", flush=True)
    world, server, counts = World(home), Server(home), Counter[str]()
    world.draw = random.Random(given.seed)
    server.begin()
    try:
        begun(world, server)
        does: Callable[[], list[str]] = partial(kills, world, given.rounds, counts)
        if given.what == "crowd":
            does = partial(crowd, world, server, given.minutes, given.seed, counts)
        problems = does()
    finally:
        server.kill()
    for what, count in sorted(counts.items()):
        print(f"{count:9,} {what}", flush=True)
    print(*problems, f"{len(problems)} problems", sep="\n", flush=True)
    shutil.rmtree(home)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
