"""``kebab mcp --watch``: the sources are followed for as long as the server runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from kb_app.testing.facade import ScriptedKnowledgeBase
from kb_core.errors import InvalidInput, StoreBusy
from kb_mcp import _following
from kb_mcp._following import following


def test_the_sources_are_followed_meanwhile_and_no_longer() -> None:
    begun, stopped = threading.Event(), threading.Event()

    def watch(**_: Any) -> Iterator[str]:  # noqa: ANN401
        begun.set()
        kb.stop.wait(120)
        stopped.set()
        yield "something is odd"

    kb = ScriptedKnowledgeBase(answers={"watch": watch})
    with following(kb, is_wanted=True):
        assert begun.wait(120)
        assert not stopped.is_set()
        kb.stop.set()
    assert stopped.wait(120)


def test_where_another_follows_its_place_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_following, "_AGAIN_SECS", 0.01)
    tried = threading.Semaphore(0)

    def watch(**_: Any) -> Iterator[str]:  # noqa: ANN401
        tried.release()
        raise StoreBusy("process 7 follows already")

    with following(ScriptedKnowledgeBase(answers={"watch": watch}), is_wanted=True):
        assert all(tried.acquire(timeout=120) for _ in range(3))


def test_what_is_read_only_follows_nothing() -> None:
    with (
        pytest.raises(InvalidInput, match="--watch writes"),
        following(ScriptedKnowledgeBase(readonly=True), is_wanted=True),
    ):
        pass
