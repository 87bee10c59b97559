"""Actors of a Ray cluster of two nodes, here: they keep what processes keep, and outlive a node."""

from __future__ import annotations

import gc
import os
import warnings
from collections.abc import Generator
from importlib.util import find_spec
from typing import Any

import pytest

from kb_app._ingest.workers.cluster.executor import RayExecutor
from kb_app._ingest.workers.cluster.joining import joined
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


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Generator[None]:
    with joined("", 2):
        yield
    with warnings.catch_warnings():  # Ray leaves its processes to the collector
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


class TestRay(ApartContract):
    def make(self, task: str, **limits: Any) -> Executor[Any, Any]:  # noqa: ANN401
        return RayExecutor[Any, Any](f"{CHORES}:{task}", actors=1, **limits)


def executor(task: str = "do", **how: Any) -> RayExecutor[Any, Any]:  # noqa: ANN401
    return RayExecutor[Any, Any](f"{CHORES}:{task}", **{"actors": 1, **how})


def test_all_actors_do_their_share() -> None:
    with executor(actors=2, expected=400) as made:
        pids = {outcome.value for outcome in made.run(["pid"] * 400)}

    assert len(pids) == 2


def test_large_tasks_and_values_pass() -> None:
    with executor("size") as made:
        assert values(made.run([b"x" * 20_000_000])) == [20_000_000]


def test_who_gets_no_processor_says_so() -> None:
    with executor(actors=2) as busy, executor(slot_secs=2) as made:
        assert values(busy.run(["a"])) == ["a"]  # and holds both processors from now on
        assert values(busy.run(["a", "b"])) == ["a", "b"]

        with pytest.raises(KbError, match="had a free processor within 2 seconds") as raised:
            list(made.run(["a"]))

    assert "leave --workers ray out" in str(raised.value.hint)


def test_a_node_that_has_something_else_installed_is_refused() -> None:
    with (
        executor(versions=chores.whose) as made,
        pytest.raises(
            InvalidInput, match=rf"has process '\d+'; this one, '{os.getpid()}'"
        ) as raised,
    ):
        list(made.run(["a"]))

    assert raised.value.details["field"] == "process"


def test_what_is_lost_is_done_again_and_what_ends_actors_is_an_error_of_its_own() -> None:
    with executor(actors=2, expected=40) as made:
        told = list(made.follow(["a", "end actor", *(str(n) for n in range(38))]))

    outcomes = sorted((one for one in told if isinstance(one, Outcome)), key=lambda o: o.index)
    assert [outcome.index for outcome in outcomes] == list(range(40))
    assert message(outcomes[1]) == "the Ray actors that did it were lost 3 times"
    assert [outcome.task for outcome in outcomes if outcome.error] == ["end actor"]
    begun = [one.index for one in told if isinstance(one, Notice) and not one.phase]
    assert sorted(set(begun)) == sorted(begun)


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
