"""What every executor keeps, whoever does the work: subclass a contract, and say how to make one.

``ExecutorContract`` is kept by all; ``ApartContract`` by those whose tasks are done elsewhere,
so that nothing a task does can harm who asked for it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from typing import Any

from kb_core.errors import KbError
from kb_core.execution import Executor, Notice, Outcome

__all__ = ["CHORES", "ApartContract", "ExecutorContract", "kind", "message", "values"]

CHORES = "kb_app.testing.chores"


def values(outcomes: Iterable[Outcome[Any, Any]]) -> list[Any]:
    """Return the values, in the order of their tasks."""
    return [outcome.value for outcome in sorted(outcomes, key=lambda outcome: outcome.index)]


def message(outcome: Outcome[Any, Any]) -> str:
    """Return what its error says, if it has one."""
    return "" if outcome.error is None else str(outcome.error["message"])


def kind(outcome: Outcome[Any, Any]) -> str:
    """Return which kind of error it has, if it has one."""
    return "" if outcome.error is None else str(outcome.error["details"]["kind"])


def _raised(kind_of_error: type[Exception], outcomes: Iterable[object]) -> Exception:
    """Return the error that *outcomes* end with."""
    try:
        list(outcomes)
    except kind_of_error as error:
        return error
    raise AssertionError(f"no {kind_of_error.__name__} was raised")


class ExecutorContract(ABC):
    """``Executor``."""

    @abstractmethod
    def make(self, task: str, **limits: Any) -> Executor[Any, Any]:  # noqa: ANN401
        """Return one that does the *task* of ``chores``, with these limits if it knows any."""

    def done(self, task: str, tasks: Iterable[object], **limits: Any) -> list[Outcome[Any, Any]]:  # noqa: ANN401
        """Return what comes of *tasks*, in their order."""
        with closing(self.make(task, **limits)) as made:
            return sorted(made.run(tasks), key=lambda outcome: outcome.index)

    def test_every_task_has_an_outcome_with_its_number(self) -> None:
        outcomes = self.done("double", range(50))

        assert [outcome.value for outcome in outcomes] == [2 * n for n in range(50)]
        assert [outcome.task for outcome in outcomes] == list(range(50))
        assert [outcome.index for outcome in outcomes] == list(range(50))

    def test_a_task_tells_what_it_is_at_in_order_and_before_its_outcome(self) -> None:
        told: dict[int, list[str | int | None]] = {n: [] for n in range(20)}
        with closing(self.make("stroll")) as made:
            for one in made.follow(range(20)):
                told[one.task].append(one.phase if isinstance(one, Notice) else one.value)

        assert told == {n: ["", "left", "right", n] for n in range(20)}

    def test_an_exception_is_an_outcome_in_the_form_of_error_v1(self) -> None:
        plain, own = self.done("do", ["raise", "kb"])

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

    def test_an_error_in_the_source_of_tasks_is_the_callers(self) -> None:
        def source() -> Iterator[str]:
            yield "a"
            raise OSError("the disk")

        with closing(self.make("do")) as made:
            assert str(_raised(OSError, made.run(source()))) == "the disk"

    def test_it_can_run_again_and_nothing_to_do_is_nothing(self) -> None:
        with closing(self.make("do")) as made:
            assert list(made.run([])) == []
            assert values(made.run(["a", "b"])) == ["a", "b"]
            assert values(made.run(["c"])) == ["c"]

    def test_a_run_that_is_given_up_leaves_nothing_to_the_next(self) -> None:
        with closing(self.make("do")) as made:
            outcomes = made.run(["a", "b", "c", "d"])
            next(outcomes)
            assert isinstance(outcomes, Generator)
            outcomes.close()

            assert values(made.run(["e"])) == ["e"]


class ApartContract(ExecutorContract):
    """An executor whose tasks are done in other processes, on whatever machine."""

    def test_a_crash_is_the_outcome_of_its_task_alone(self) -> None:
        ways = {
            "exit": "ended itself with status 3",
            "kill": "ended by SIGKILL",
            "segfault": "ended by SIGSEGV",
        }
        before, *crashed, after = self.done("do", ["a", *ways, "b"])

        assert (before.value, after.value) == ("a", "b")
        assert [kind(outcome) for outcome in crashed] == ["crash"] * len(ways)
        for outcome in crashed:
            assert ways[outcome.task] in message(outcome)

    def test_a_task_over_its_time_is_ended(self) -> None:
        *over, after = self.done("do", ["hang", "regex", "b"], timeout_secs=0.5)

        for hung in over:
            assert message(hung) == "took longer than 0.5 seconds; [limits] wall_secs"
            assert (kind(hung), hung.error and hung.error["code"]) == ("timeout", "timeout")
            assert 0.4 < hung.seconds < 120
        assert after.value == "b"

    def test_what_says_how_far_it_is_has_the_time_of_a_task_for_each_step(self) -> None:
        with closing(self.make("climb", timeout_secs=1.0)) as made:
            *told, last = made.follow([6])

        assert isinstance(last, Outcome)
        assert (last.value, last.error) == (6, None)
        steps = [(one.phase, one.reached, one.whole) for one in told if isinstance(one, Notice)]
        assert steps == [("", 0, 0), *(("climbing", n, 6) for n in range(1, 7))]

    def test_processor_time_is_limited_task_by_task(self) -> None:
        first, second, busy, after = self.done(
            "do", ["work 0.7", "work 0.7", "work 600", "a"], cpu_secs=1
        )

        assert first.value == second.value == "work 0.7"  # each has as much, whatever came before
        assert after.value == "a"
        assert message(busy) == "took more than 1 seconds of processor time; [limits] cpu_secs is 1"
        assert (kind(busy), busy.error and busy.error["code"]) == ("timeout", "timeout")

    def test_memory_is_limited(self) -> None:
        greedy, gave_up, after = self.done("do", ["memory", "abort", "a"], memory_mb=1000)

        assert message(greedy) == "needs more than 1,000 MB of memory; [limits] memory_mb is 1000"
        assert kind(greedy) == "memory"
        wanted = "ended by SIGABRT; perhaps it needed more memory than [limits]"
        assert wanted in message(gave_up)
        assert after.value == "a"

    def test_a_step_that_takes_too_much_memory_is_left_out(self) -> None:
        few, after = self.done("hoard", [6, 1])

        assert (few.value, few.error) == ([0, 2, 4], None)
        assert after.value == [0]

    def test_a_task_of_which_too_many_steps_take_too_much_memory_ends(self) -> None:
        many, after = self.done("hoard", [30, 1])

        assert message(many) == "9 parts of it need more memory than a part may"
        assert kind(many) == "memory"
        assert after.value == [0]

    def test_a_child_survives_what_is_no_crash(self) -> None:
        first, *others, last = self.done(
            "do", ["pid", "sys.exit", "lambda", "print", "raise", "pid"]
        )

        assert first.value == last.value
        assert [bool(outcome.error) for outcome in others] == [True, True, False, True]

    def test_a_task_that_cannot_be_pickled_is_its_own_error(self) -> None:
        bad, good = self.done("do", [lambda: 0, "a"])

        assert kind(bad) == "exception"
        assert good.value == "a"

    def test_a_child_that_cannot_start_ends_the_run(self) -> None:
        with closing(self.make("do", init=f"{CHORES}:bad_init")) as made:
            error = _raised(KbError, made.run(["a"]))

        assert "did not start: RuntimeError: no grammar" in str(error)

    def test_closing_while_a_run_is_open_ends_that_run(self) -> None:
        made = self.make("do")
        outcomes = made.run(["a", "hang", "hang"])
        next(outcomes)
        made.close()

        assert "closed while it ran" in str(_raised(RuntimeError, outcomes))
