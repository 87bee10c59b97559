"""``rounds.py`` and ``surroundings.py`` in short; oracle and points are worth something."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

import crowd
import damage
from steps import FUNCTIONS
from surroundings import KINDS
from world import Operation, Seen, World


@pytest.mark.slow
def test_whatever_is_killed_or_refused_the_next_run_heals() -> None:
    """Slow since each round is some ten processes; ``rounds.py --rounds`` is the long form."""
    seed = os.environ.get("KEBAB_TEST_SEED", "0")
    seed = seed if seed != "0" else str(random.randrange(10**6))
    line = [sys.executable, str(Path(__file__).with_name("rounds.py")), "--rounds", "2"]

    done = subprocess.run(
        [*line, "--seed", seed], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )

    assert done.returncode == 0, done.stdout.decode()
    assert b"2 healed" in done.stdout


@pytest.mark.slow
def test_disks_locks_copies_and_older_versions_lose_nothing() -> None:
    """Slow since it is a program with many children; ``--rounds`` is the long form, all kinds."""
    seed = os.environ.get("KEBAB_TEST_SEED", "0")
    seed = seed if seed != "0" else str(random.randrange(10**6))
    line = [sys.executable, str(Path(__file__).with_name("surroundings.py"))]
    kinds = ("locks", random.Random(seed).choice(("full", "readonly", "copied", "migration")))
    assert set(kinds) <= set(KINDS)
    line += ["--rounds", str(len(kinds)), "--kinds", ",".join(kinds), "--seed", seed]

    done = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)

    assert done.returncode == 0, done.stdout.decode()
    assert b"0 rounds failed" in done.stdout


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_named_step_is_still_there(name: str) -> None:
    module, _, path = name.partition(":")
    found: object = import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    assert callable(found)


CHILDREN = """
import sys
from importlib import import_module
from pathlib import Path
from trials import Fault, run

def fail():
    raise ZeroDivisionError

def burn():
    while True:
        pass

stderr = Path(sys.argv[1])
step = Fault(step="before trials:threads", nth=1)
print(run(lambda: 7, stderr).value)
print(run(lambda: import_module("trials").threads(), stderr, step).ended)
print(run(burn, stderr, Fault(cpu_secs=0.01)).ended)
broken = run(fail, stderr)
print(broken.ended, "ZeroDivisionError" in broken.told)
"""


def test_a_child_ends_as_it_was_told_to(tmp_path: Path) -> None:
    """In a process of its own: one that forks runs one thread."""
    line = [sys.executable, "-c", CHILDREN, str(tmp_path / "stderr")]

    done = subprocess.run(line, capture_output=True, check=True, cwd=Path(__file__).parent)

    assert done.stdout.decode().splitlines() == ["7", "killed", "killed", "broke True"]


def added(tmp_path: Path) -> tuple[World, str]:
    """Return a world that one document was added to, and its text."""
    world = World(tmp_path)
    operation = world.operation("add", "added 1")
    world.acknowledge(operation)
    return world, operation.text


def test_the_oracle_notices_what_is_lost_stale_or_made_up(tmp_path: Path) -> None:
    world, text = added(tmp_path)

    assert list(world.judge(Seen({"added-1": text}))) == []
    assert list(world.judge(Seen({}))) == ["added-1: what was acknowledged is not what is there"]
    assert list(world.judge(Seen(None))) == ["there is no index any more"]
    made_up = Seen({"added-1": text, "0/1.md": "mark x"})
    assert list(world.judge(made_up)) == ["0/1.md: a text that never was: 'mark x'"]
    assert list(world.judge_healed(Seen({"added-1": text}))) == []
    assert len(list(world.judge_healed(made_up))) == 1


def test_what_was_not_acknowledged_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    world, text = added(tmp_path)
    newer = world.operation("add", "added 1").text

    for seen in (text, newer):
        assert list(world.judge(Seen({"added-1": seen}))) == []
    assert list(world.judge_healed(Seen({"added-1": newer}))) == []
    assert list(world.judge(Seen({"added-1": text}))) != []


def test_what_was_forgotten_is_looked_for_in_every_byte(tmp_path: Path) -> None:
    world, text = added(tmp_path)
    world.acknowledge(Operation("forget", "added 1"))
    world.data.mkdir()

    assert list(world.judge_forgotten("added-1")) == []
    (world.data / "left").write_text(text)
    assert list(world.judge_forgotten("added-1")) == ["added-1 was forgotten, and is in left"]


def test_readers_that_differ_at_one_sequence_are_told() -> None:
    assert crowd.compare([{1: 11, 2: 12}, {2: 12, 3: 13}]) == []
    assert crowd.compare([{1: 11}, {1: 12}]) == ["at sequence 1 readers differ"]


def test_files_of_a_kind_are_one_row_and_no_harm_leaves_them_as_they_were() -> None:
    kinds = map(damage.kind_of, ("lexical/chunks/ab12.fast", "lexical/chunks/meta.json", "a.md"))
    assert list(kinds) == ["lexical/chunks/fast", "lexical/chunks/meta.json", "md"]
    for harm in damage.HARMS.values():
        assert harm(b"walrus" * 400, random.Random(1)) != b"walrus" * 400
