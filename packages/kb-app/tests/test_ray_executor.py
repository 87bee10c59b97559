"""Actors of a Ray cluster of two nodes, here: they keep what processes keep, and outlive a node."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import sys
import tempfile
import warnings
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from kb_app._ingest.workers.cluster.executor import RayExecutor
from kb_app.testing import chores
from kb_app.testing.executors import CHORES, ApartContract, message, values
from kb_core.errors import InvalidInput, IoError, KbError
from kb_core.execution import Executor, Notice, Outcome

pytestmark = [
    # Not importorskip: what Ray is told, it reads when it is imported.
    pytest.mark.skipif(find_spec("ray") is None, reason="the extra 'ray' is not installed"),
    pytest.mark.slow,  # a cluster takes seconds to start; all of these share one
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


PATIENCE_SECS = 600.0
"""What a run waits for a processor here: a busy machine starts a worker of Ray in minutes."""

_OF_LOST = ":info_message: Attempting to recover"
"""What Ray's core says, without a switch, where a killed node held what came of a file."""


@pytest.fixture(scope="module")
def nodes() -> Generator[Any]:
    """A head node with one processor, and another node with one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parents[3] / "tools" / "bench"))
        bench = importlib.import_module("ray_ingest")
    with bench.Nodes.started(1) as started:
        started.add(1)
        yield started
    with warnings.catch_warnings():  # Ray leaves its processes to the collector
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def executor(task: str = "do", **how: Any) -> RayExecutor[Any, Any]:  # noqa: ANN401
    given = {"actors": 1, "slot_secs": PATIENCE_SECS, **how}
    return RayExecutor[Any, Any](f"{CHORES}:{task}", **given)


def listening() -> set[str]:
    """Return the addresses at which this process and those that it started listen, in hex."""
    parents = {int(each.name): parent_of(each) for each in Path("/proc").glob("[0-9]*")}
    ours = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    sockets = set()
    for pid in ours:
        for descriptor in Path(f"/proc/{pid}/fd").glob("*"):
            with contextlib.suppress(OSError):
                sockets.add(str(descriptor.readlink()))
    lines = [
        line.split()
        for table in ("tcp", "tcp6")
        for line in Path("/proc/net", table).read_text("ascii").splitlines()[1:]
    ]
    return {
        line[1].partition(":")[0]
        for line in lines
        if line[3] == "0A" and f"socket:[{line[9]}]" in sockets
    }


def parent_of(process: Path) -> int:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def test_a_cluster_of_its_own_listens_on_loopback_and_leaves_nothing(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as room, pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", room)
        patch.setattr(tempfile, "tempdir", room)
        with executor(expected=3) as made:
            assert values(made.run(["a", "print", "b"])) == ["a", "print", "b"]
            assert listening() <= {"0100007F", f"{0:016}FFFF00000100007F", f"{1 << 24:032X}"}
            assert listening()
        assert list(Path(room).iterdir()) == []

    assert tuple(capfd.readouterr()) == ("", "")
    assert caplog.records == []
    assert "RAY_AUTH_TOKEN" not in os.environ


@pytest.mark.usefixtures("nodes")
class TestRay(ApartContract):
    def make(self, task: str, **limits: Any) -> Executor[Any, Any]:  # noqa: ANN401
        return executor(task, **limits)


@pytest.mark.usefixtures("nodes")
def test_all_actors_do_their_share() -> None:
    """One that starts late has its share of what is left then."""
    pids: set[object] = set()
    until = monotonic() + 120
    with executor(actors=2, expected=400) as made:
        while len(pids) < 2 and monotonic() < until:
            pids |= {outcome.value for outcome in made.run(["pid"] * 400)}

    assert len(pids) == 2


@pytest.mark.usefixtures("nodes")
def test_large_tasks_and_values_pass() -> None:
    with executor("size") as made:
        assert values(made.run([b"x" * 20_000_000])) == [20_000_000]


@pytest.mark.usefixtures("nodes")
def test_who_gets_no_processor_says_so() -> None:
    with executor(actors=2) as busy, executor(slot_secs=2) as made:
        assert values(busy.run(["a"])) == ["a"]  # and holds both processors from now on
        assert values(busy.run(["a", "b"])) == ["a", "b"]

        with pytest.raises(KbError, match="had a free processor within 2 seconds") as raised:
            list(made.run(["a"]))

    assert "leave --workers ray out" in str(raised.value.hint)


@pytest.mark.usefixtures("nodes")
def test_a_node_that_has_something_else_installed_is_refused() -> None:
    with (
        executor(versions=chores.whose) as made,
        pytest.raises(
            InvalidInput, match=rf"has process '\d+'; this one, '{os.getpid()}'"
        ) as raised,
    ):
        list(made.run(["a"]))

    assert raised.value.details["field"] == "process"


@pytest.mark.usefixtures("nodes")
def test_what_is_lost_is_done_again_and_what_ends_actors_is_an_error_of_its_own() -> None:
    with executor(actors=2, expected=40) as made:
        told = list(made.follow(["a", "end actor", *(str(n) for n in range(38))]))

    outcomes = sorted((one for one in told if isinstance(one, Outcome)), key=lambda o: o.index)
    assert [outcome.index for outcome in outcomes] == list(range(40))
    assert message(outcomes[1]) == "the Ray actors that did it were lost 3 times"
    assert [outcome.task for outcome in outcomes if outcome.error] == ["end actor"]
    begun = [one.index for one in told if isinstance(one, Notice) and not one.phase]
    assert sorted(set(begun)) == sorted(begun)


def test_what_comes_of_files_is_the_same_and_a_node_that_is_killed_is_made_up_for(
    nodes: Any,  # noqa: ANN401 - a class of the benchmark
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    bench = sys.modules["ray_ingest"]
    vault = tmp_path / "vault"
    bench.make_vault(vault, 100)
    third = nodes.add(1)
    inline = bench.config_of(vault, tmp_path / "inline")
    ray = bench.config_of(vault, tmp_path / "ray", executor="ray", ray_address=nodes.address)

    bench.ingest(inline, is_inline=True)
    bench.ingest(ray, at=lambda done: nodes.kill(third) if done == 20 else None)

    stored = bench.content_of(ray)
    assert len(stored) == 100
    assert stored == bench.content_of(inline)
    out, err = capfd.readouterr()
    assert out == ""  # a report of the killed node, above all
    assert [line for line in err.splitlines() if _OF_LOST not in line] == []


@pytest.mark.parametrize("address", ["ray://head:10001", "head", "head:port", "head:0", ":6379"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with (
        executor(address=address) as made,
        pytest.raises(InvalidInput, match=r"expected HOST:PORT of a head node") as raised,
    ):
        list(made.run(["a"]))

    assert raised.value.details == {"field": "ingest.ray_address", "value": address}


def test_where_nobody_answers_there_is_no_cluster() -> None:
    with (
        executor(address="127.0.0.1:1") as made,
        pytest.raises(IoError, match=r"cannot join the Ray cluster at '127\.0\.0\.1:1'"),
    ):
        list(made.run(["a"]))
