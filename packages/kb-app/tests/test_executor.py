"""Real processes that crash, hang and are told to stop."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from kb_app._ingest.workers.executor import InlineExecutor, ProcessExecutor
from kb_core.errors import KbError
from kb_core.execution import Executor, Notice, Outcome

TASKS = """
import ctypes, os, re, signal, sys, time

from kb_app._ingest.workers.worker import say
from kb_core.errors import InvalidInput

started = []

def init():
    started.append(os.environ["TOKENIZERS_PARALLELISM"] + os.environ["OMP_NUM_THREADS"])

def noted():
    open(os.environ["STARTED"], "x").close()

def bad_init():
    raise RuntimeError("no grammar")

def double(n):
    return 2 * n

def do(what):
    match what:
        case "exit": os._exit(3)
        case "sys.exit": sys.exit(4)
        case "kill": os.kill(os.getpid(), signal.SIGKILL)
        case "segfault": ctypes.string_at(0)
        case "hang": time.sleep(600)
        case "regex": re.match("(a*)*b", "a" * 60)
        case "raise": raise ValueError("no good")
        case "kb": raise InvalidInput("not like this", hint="like that", details={"a": 1})
        case "lambda": return lambda: 0
        case "print": print("noise" * 100_000, flush=True); os.write(1, b"noise")
        case "started": return started
        case "pid": return os.getpid()
        case "big": return b"x" * 50_000_000
        case "memory": return len(b"x" * 2_000_000_000)
        case "abort": os.abort()
        case _ if what.startswith("work "): work(float(what[5:]))
        case _ if what.startswith("wait "): wait_for(what[5:])
    return what

def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass

def steps(n):
    for step in range(n):
        say("ocr", step + 1, n)
        work(0.7)
    return n

def size(data):
    return len(data)

def stroll(n):
    say("left")
    say("right")
    return n

def climb(steps):
    for n in range(steps):
        say("climbing", n + 1, steps)
        time.sleep(0.2)
    return steps

def wait_for(path):
    say("waiting")
    while not os.path.exists(path):
        time.sleep(0.01)
    return path
"""


@pytest.fixture(autouse=True)
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "executor_tasks.py").write_text(TASKS)
    monkeypatch.syspath_prepend(tmp_path)


@contextlib.contextmanager
def executor(
    task: str = "do",
    *,
    workers: int = 1,
    init: str | None = None,
    timeout_secs: float = 0,
    cpu_secs: float = 0,
    memory_mb: int = 0,
) -> Generator[ProcessExecutor[Any, Any]]:
    with ProcessExecutor[Any, Any](
        f"executor_tasks:{task}",
        workers=workers,
        init=init,
        timeout_secs=timeout_secs,
        cpu_secs=cpu_secs,
        memory_mb=memory_mb,
    ) as made:
        yield made


def values(outcomes: Iterator[Outcome[Any, Any]]) -> list[Any]:
    return [outcome.value for outcome in sorted(outcomes, key=lambda outcome: outcome.index)]


def message(outcome: Outcome[Any, Any]) -> str:
    return "" if outcome.error is None else str(outcome.error["message"])


def kind(outcome: Outcome[Any, Any]) -> str:
    return "" if outcome.error is None else str(outcome.error["details"]["kind"])


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


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_what_comes_of_tasks_does_not_depend_on_the_number_of_workers(workers: int) -> None:
    made: Executor[int, int]
    if workers:
        made = ProcessExecutor[int, int]("executor_tasks:double", workers=workers)
    else:
        made = InlineExecutor[int, int]("executor_tasks:double")

    outcomes = sorted(made.run(range(50)), key=lambda outcome: outcome.index)
    made.close()

    assert [outcome.value for outcome in outcomes] == [2 * n for n in range(50)]
    assert [outcome.task for outcome in outcomes] == list(range(50))


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_a_task_tells_what_it_is_at_in_order_and_before_its_outcome(workers: int) -> None:
    made: Executor[int, int] = InlineExecutor[int, int]("executor_tasks:stroll")
    if workers:
        made = ProcessExecutor[int, int]("executor_tasks:stroll", workers=workers)

    told: dict[int, list[str | int | None]] = {n: [] for n in range(20)}
    for one in made.follow(range(20)):
        told[one.task].append(one.phase if isinstance(one, Notice) else one.value)
    made.close()

    assert told == {n: ["", "left", "right", n] for n in range(20)}


def test_what_says_how_far_it_is_has_the_time_of_a_task_for_each_step() -> None:
    with executor("climb", timeout_secs=1.0) as made:
        *told, last = made.follow([6])

    assert isinstance(last, Outcome)
    assert (last.value, last.error) == (6, None)
    steps = [(one.phase, one.reached, one.whole) for one in told if isinstance(one, Notice)]
    assert steps == [("", 0, 0), *(("climbing", n, 6) for n in range(1, 7))]


def test_what_a_task_is_at_is_known_while_it_is_at_it(tmp_path: Path) -> None:
    awaited = tmp_path / "awaited"
    with executor("wait_for") as made:
        told = made.follow([str(awaited)])
        phases = [one.phase for one in (next(told), next(told)) if isinstance(one, Notice)]
        awaited.touch()
        (last,) = told

    assert phases == ["", "waiting"]
    assert isinstance(last, Outcome)
    assert last.value == str(awaited)


def test_the_start_of_a_child_is_no_tasks_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = tmp_path / "started"
    monkeypatch.setenv("STARTED", str(started))
    with executor("double", init="executor_tasks:noted") as made:
        begun = next(made.follow([1]))

        assert isinstance(begun, Notice)
        assert started.exists()


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("exit", "ended itself with status 3"),
        ("kill", "ended by SIGKILL"),
        ("segfault", "ended by SIGSEGV"),
    ],
)
def test_a_crash_is_the_outcome_of_its_task_alone(task: str, expected: str) -> None:
    with executor() as made:
        before, crashed, after = sorted(made.run(["a", task, "b"]), key=lambda o: o.index)

    assert (before.value, after.value) == ("a", "b")
    assert expected in message(crashed)
    assert kind(crashed) == "crash"


@pytest.mark.parametrize("task", ["hang", "regex"])
def test_a_task_over_its_time_is_ended(task: str) -> None:
    with executor(timeout_secs=0.5) as made:
        hung, after = sorted(made.run([task, "b"]), key=lambda o: o.index)

    assert message(hung) == "took longer than 0.5 seconds; [limits] wall_secs"
    assert (kind(hung), hung.error and hung.error["code"]) == ("timeout", "timeout")
    assert 0.4 < hung.seconds < 120
    assert after.value == "b"


@pytest.mark.parametrize("in_children", [True, False])
def test_an_exception_is_an_outcome_in_the_form_of_error_v1(in_children: bool) -> None:
    with executor() as children:
        made = children if in_children else InlineExecutor[Any, Any]("executor_tasks:do")
        plain, own = made.run(["raise", "kb"])

    assert plain.error == {
        "code": "internal",
        "message": "ValueError: no good",
        "hint": None,
        "details": {"kind": "exception", "type": "ValueError"},
    }
    assert own.error == {
        "code": "invalid_input",
        "message": "not like this",
        "hint": "like that",
        "details": {"a": 1, "kind": "exception", "type": "InvalidInput"},
    }


def test_a_child_survives_what_is_no_crash() -> None:
    with executor() as made:
        first, *others, last = made.run(["pid", "sys.exit", "lambda", "print", "raise", "pid"])

    assert first.value == last.value
    assert [bool(outcome.error) for outcome in others] == [True, True, False, True]


def test_a_task_that_cannot_be_pickled_is_its_own_error() -> None:
    with executor() as made:
        bad, good = made.run([lambda: 0, "a"])

    assert kind(bad) == "exception"
    assert good.value == "a"


def test_memory_is_limited() -> None:
    with executor(memory_mb=1000) as made:
        before, greedy, after = made.run(["pid", "memory", "pid"])

    assert message(greedy) == "needs more than 1,000 MB of memory; [limits] memory_mb is 1000"
    assert kind(greedy) == "memory"
    assert before.value != after.value  # what is left of such a heap is not used again


def test_a_library_that_gives_up_for_want_of_memory_is_its_tasks_error() -> None:
    with executor(memory_mb=1000) as made:
        gave_up, after = made.run(["abort", "a"])

    assert "ended by SIGABRT; perhaps it needed more memory than [limits]" in message(gave_up)
    assert after.value == "a"


def test_processor_time_is_limited_task_by_task() -> None:
    with executor(cpu_secs=1) as made:
        first, second, busy, after = made.run(["work 0.7", "work 0.7", "work 600", "a"])

    assert first.value == second.value == "work 0.7"  # each has as much, whatever came before
    assert after.value == "a"
    assert message(busy) == "took more than 1 seconds of processor time; [limits] cpu_secs is 1"
    assert (kind(busy), busy.error and busy.error["code"]) == ("timeout", "timeout")


def test_who_says_how_far_it_is_has_its_processor_time_for_each_step() -> None:
    with executor("steps", cpu_secs=1) as made:
        (done,) = made.run([2])

    assert done.value == 2


def test_init_runs_once_in_each_child_with_quiet_libraries() -> None:
    with executor(init="executor_tasks:init") as made:
        assert values(made.run(["started", "started"])) == [["false1"], ["false1"]]


def test_a_child_that_cannot_start_ends_the_run() -> None:
    with (
        executor(init="executor_tasks:bad_init") as made,
        pytest.raises(KbError, match="did not start: RuntimeError: no grammar"),
    ):
        list(made.run(["a"]))


def test_children_start_with_the_tasks_and_only_as_many() -> None:
    with executor(workers=4) as made:
        assert made.pids == []
        assert list(made.run([])) == []
        assert made.pids == []
        list(made.run(["a"]))
        assert len(made.pids) == 1


def test_one_worker_does_what_another_would_not_pay_for() -> None:
    made = ProcessExecutor[str, Any]("executor_tasks:do", workers=4, expected=40, worth_secs=60)
    with made:
        pids = {outcome.value for outcome in made.run(["pid"] * 40)}
        assert len(pids) == len(made.pids) == 1


def test_more_workers_join_where_the_rest_takes_long() -> None:
    made = ProcessExecutor[str, Any](
        "executor_tasks:do", workers=2, expected=400, worth_secs=0.000001
    )
    with made:
        pids = {outcome.value for outcome in made.run(["pid"] * 400)}
        assert len(made.pids) == 2
        assert len(pids) == 2


def test_a_slow_task_does_not_hold_up_the_others(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    made = ProcessExecutor[str, Any]("executor_tasks:do", workers=2, expected=3, worth_secs=0.2)
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


def test_giving_up_ends_children_at_once_and_the_next_run_is_clean() -> None:
    with executor(workers=2) as made:
        outcomes = made.run(["a", "hang", "hang", "hang"])
        next(outcomes)
        pids = made.pids
        outcomes.close()

        assert all_gone(pids)
        assert values(made.run(["b"])) == ["b"]


def test_closing_while_a_run_is_open_ends_that_run() -> None:
    with executor() as made:
        outcomes = made.run(["a", "hang", "hang"])
        next(outcomes)
        made.close()

        with pytest.raises(RuntimeError, match="closed while it ran"):
            next(outcomes)


def test_an_error_in_the_source_of_tasks_is_the_callers() -> None:
    def source() -> Iterator[str]:
        yield "hang"
        raise OSError("the disk")

    with executor() as made, pytest.raises(OSError, match="the disk"):
        list(made.run(source()))


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
made = ProcessExecutor("executor_tasks:do", workers=2, ahead=1)
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
