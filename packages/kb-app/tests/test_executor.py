"""Real processes that crash, hang and are told to stop."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from kb_app._ingest.workers.executor import InlineExecutor, ProcessExecutor
from kb_app._ingest.workers.process import Spare
from kb_app.testing.executors import CHORES, ApartContract, ExecutorContract, values
from kb_core.execution import Executor, Notice, Outcome


@contextlib.contextmanager
def executor(  # noqa: PLR0913 - each is a limit of its own
    task: str = "do",
    *,
    workers: int = 1,
    init: str | None = None,
    timeout_secs: float = 0,
    cpu_secs: float = 0,
    memory_mb: int = 0,
    weigh: Callable[[Any], int] | None = None,
) -> Generator[ProcessExecutor[Any, Any]]:
    with ProcessExecutor[Any, Any](
        f"{CHORES}:{task}",
        workers=workers,
        init=init,
        timeout_secs=timeout_secs,
        cpu_secs=cpu_secs,
        memory_mb=memory_mb,
        weigh=weigh,
    ) as made:
        yield made


class TestInline(ExecutorContract):
    def make(self, task: str, **_: Any) -> Executor[Any, Any]:  # noqa: ANN401
        return InlineExecutor[Any, Any](f"{CHORES}:{task}")


class TestProcess(ApartContract):
    def make(self, task: str, **limits: Any) -> Executor[Any, Any]:  # noqa: ANN401
        return ProcessExecutor[Any, Any](f"{CHORES}:{task}", workers=1, **limits)


class TestSeveralProcesses(ExecutorContract):
    def make(self, task: str, **limits: Any) -> Executor[Any, Any]:  # noqa: ANN401
        return ProcessExecutor[Any, Any](f"{CHORES}:{task}", workers=3, **limits)


def is_alive(pid: int) -> bool:
    """Say whether *pid* runs; one that is dead and not reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def all_gone(pids: list[int], seconds: float = 120) -> bool:
    end = time.monotonic() + seconds
    while any(map(is_alive, pids)) and time.monotonic() < end:
        time.sleep(0.01)
    return not any(map(is_alive, pids))


def test_what_a_task_is_at_is_known_while_it_is_at_it(tmp_path: Path) -> None:
    awaited = tmp_path / "awaited"
    with executor() as made:
        told = made.follow([f"wait {awaited}"])
        phases = [one.phase for one in (next(told), next(told)) if isinstance(one, Notice)]
        awaited.touch()
        (last,) = told

    assert phases == ["", "waiting"]
    assert isinstance(last, Outcome)
    assert last.value == f"wait {awaited}"


def test_the_start_of_a_child_is_no_tasks_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = tmp_path / "started"
    monkeypatch.setenv("STARTED", str(started))
    with executor("double", init=f"{CHORES}:noted") as made:
        begun = next(made.follow([1]))

        assert isinstance(begun, Notice)
        assert started.exists()


def test_who_says_how_far_it_is_has_its_processor_time_for_each_step() -> None:
    with executor("steps", cpu_secs=1) as made:
        (done,) = made.run([2])

    assert done.value == 2


def test_init_runs_once_in_each_child_with_quiet_libraries() -> None:
    with executor(init=f"{CHORES}:init") as made:
        assert values(made.run(["started", "started"])) == [["false1"], ["false1"]]


def test_children_start_with_the_tasks_and_only_as_many() -> None:
    with executor(workers=4) as made:
        assert made.pids == []
        assert list(made.run([])) == []
        assert made.pids == []
        list(made.run(["a"]))
        assert len(made.pids) == 1


def test_the_first_task_begins_before_anything_is_asked_for() -> None:
    with executor("double") as made:
        following = made.follow([4])
        while not made.pids:
            time.sleep(0.001)

        assert [one.value for one in following if isinstance(one, Outcome)] == [8]


def test_one_worker_does_what_another_would_not_pay_for() -> None:
    made = ProcessExecutor[str, Any](f"{CHORES}:do", workers=4, expected=40, worth_secs=60)
    with made:
        pids = {outcome.value for outcome in made.run(["pid"] * 40)}
        assert len(pids) == len(made.pids) == 1


def test_more_workers_join_where_the_rest_takes_long() -> None:
    made = ProcessExecutor[str, Any](f"{CHORES}:do", workers=2, expected=400, worth_secs=0.000001)
    with made:
        pids = {outcome.value for outcome in made.run(["pid"] * 400)}
        assert len(made.pids) == 2
        assert len(pids) == 2


def test_a_slow_task_does_not_hold_up_the_others(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    made = ProcessExecutor[str, Any](f"{CHORES}:do", workers=2, expected=3, worth_secs=0.2)
    with made:
        outcomes = made.run([f"wait {gate}", "pid", "pid"])
        first = next(outcomes)
        assert first.task == "pid"
        gate.touch()
        assert {outcome.task for outcome in outcomes} == {f"wait {gate}", "pid"}


def test_children_are_kept_from_run_to_run() -> None:
    with executor() as made:
        assert values(made.run(["pid"])) == values(made.run(["pid"]))


def test_few_tasks_are_taken_ahead() -> None:
    taken = 0

    def source() -> Iterator[int]:
        nonlocal taken
        for number in range(1000):
            taken = number + 1
            yield number

    with executor("double", workers=2) as made:
        outcomes = made.run(source())
        next(outcomes)
        time.sleep(0.2)

        assert taken <= 7


@pytest.mark.parametrize(("weight", "most"), [(1, 200), (9 << 20, 6)])
def test_where_tasks_are_weighed_workers_have_more_to_do_while_the_caller_is_busy(
    weight: int, most: int
) -> None:
    taken = seen = ahead = 0

    def source() -> Iterator[str]:
        nonlocal taken
        for _ in range(400):
            yield "work 0.002"
            taken += 1

    with executor(workers=2, weigh=lambda _: weight) as made:
        for _ in made.run(source()):
            seen += 1
            ahead = max(ahead, taken - seen)

    assert seen == 400
    assert most // 4 <= ahead <= most


def test_giving_up_ends_children_at_once_and_the_next_run_is_clean() -> None:
    with executor(workers=2) as made:
        outcomes = made.run(["a", "hang", "hang", "hang"])
        next(outcomes)
        pids = made.pids
        outcomes.close()

        assert all_gone(pids)
        assert values(made.run(["b"])) == ["b"]


@pytest.fixture
def spare() -> Iterator[Spare]:
    kept = Spare(3600)
    yield kept
    kept.close()


def with_spare(spare: Spare, task: str = "do", workers: int = 1) -> ProcessExecutor[Any, Any]:
    return ProcessExecutor[Any, Any](f"{CHORES}:{task}", workers=workers, spare=spare)


def test_a_child_that_is_idle_at_the_end_is_the_next_executors(spare: Spare) -> None:
    with with_spare(spare) as made:
        (pid,) = values(made.run(["pid"]))
    with with_spare(spare) as made:
        assert values(made.run(["pid"])) == [pid]
        assert values(made.run(["exit"])) != [pid]  # it is killed as any other
    with with_spare(spare) as made:
        assert values(made.run(["pid"])) != [pid]


def test_one_child_is_kept_and_only_for_the_same_work(spare: Spare) -> None:
    with with_spare(spare, workers=2) as made:
        list(made.run(["work 0.01"] * 9))
        pids = made.pids
    assert len(pids) == 2
    assert sum(map(is_alive, pids)) == 1

    with with_spare(spare, "double") as made:
        assert values(made.run([1])) == [2]
    assert all_gone(pids)


def test_a_child_that_died_while_it_was_kept_is_nobodys(spare: Spare) -> None:
    with with_spare(spare) as made:
        (pid,) = values(made.run(["pid"]))
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)

    with with_spare(spare) as made:
        assert values(made.run(["a"])) == ["a"]


def test_what_is_under_way_is_not_kept(spare: Spare) -> None:
    with with_spare(spare) as made:
        outcomes = made.run(["a", "hang"])
        next(outcomes)
        pids = made.pids
    assert all_gone(pids)


def test_a_spare_child_is_kept_for_a_while_and_by_nobody_who_has_closed() -> None:
    brief, closed = Spare(0.01), Spare(3600)
    closed.close()
    for kept in (brief, closed):
        with with_spare(kept) as made:
            (pid,) = values(made.run(["pid"]))
        assert all_gone([pid])


def test_what_the_main_module_defines_is_refused() -> None:
    def function(task: int) -> int:
        return task

    function.__module__ = "__main__"
    with pytest.raises(ValueError, match="a module of its own"):
        ProcessExecutor(function, workers=1)


PARENT = """
import signal, sys
# A shell that starts something in the background has it ignore the key.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path[:0] = {path!r}
from kb_app._ingest.workers.executor import InlineExecutor, ProcessExecutor
made = ProcessExecutor("kb_app.testing.chores:do", workers=2, ahead=1)
outcomes = made.run(["pid", "{task}", "pid", "{task}", "{task}"])
first, second = next(outcomes), next(outcomes)
print(*made.pids, flush=True)
try:
    next(outcomes)
except KeyboardInterrupt:
    made.close()
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("task", ["hang", "regex"])
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_children_end_with_their_parent_without_a_word(
    tmp_path: Path, task: str, end: signal.Signals
) -> None:
    """``regex`` never lets go of the interpreter's lock, so only the kernel can end it."""
    program = textwrap.dedent(PARENT).format(path=sys.path, task=task)
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    ) as parent:
        assert parent.stdout is not None
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        time.sleep(0.1)
        os.killpg(parent.pid, end)  # as a terminal does it: everybody in the group
        output, errors = parent.communicate(timeout=120)

    assert len(pids) == 2
    assert all_gone(pids)
    assert errors == ""
    assert output == ("interrupted\n" if end is signal.SIGINT else "")


def test_large_tasks_and_values_pass() -> None:
    with executor() as made, executor("size") as sizes:
        (big,) = values(made.run(["big"]))

        assert len(big) == 50_000_000
        assert values(sizes.run([big])) == [50_000_000]


def test_ten_thousand_small_tasks() -> None:
    with executor("double", workers=2) as made:
        assert sum(values(made.run(range(10_000)))) == 9_999 * 10_000
