"""Ranking gives what is stored, question by question; a weight that is lost shows, noise does not.

A change of ranking that is wanted is stored by ``python tools/yardstick.py``.
"""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kb_app import Config, KnowledgeBase
from kb_app.testing.parts import open_here
from kb_search import fusion, lexical, weighing

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import yardstick  # noqa: E402


def by_words(config: Config) -> KnowledgeBase:
    return open_here(replace(config, embedding=replace(config.embedding, model="none")))


def told(lines: list[str]) -> str:
    return "\n".join(lines) + "\n(python tools/yardstick.py stores what is wanted)"


def test_ranking_by_words_is_what_is_stored_and_a_weight_that_is_lost_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = list(
        yardstick.moved(yardstick.stored(), yardstick.measure(tmp_path, "words", opened=by_words))
    )
    monkeypatch.setattr(lexical.build_ranking, "__defaults__", (weighing.Weights(head=0.0),))
    lost = yardstick.measure(tmp_path, "words", opened=by_words)

    assert not now, told(now)
    assert list(yardstick.moved(yardstick.stored(), lost)) == [
        "english: how much oil for each link of a bicycle: words 1.000 -> 0.631",
    ]


@pytest.mark.model
def test_ranking_by_meaning_and_by_both_is_what_is_stored_and_a_lost_channel_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = yardstick.measure(tmp_path, "meaning", "both", opened=open_here)
    now = list(yardstick.moved(yardstick.stored(), found))
    monkeypatch.setattr(fusion, "weight_of_words", lambda *_, **__: 1.0)
    lost = yardstick.measure(tmp_path, "both", opened=open_here)

    assert not now, told(now)
    assert found.keys() == yardstick.stored().keys()
    assert any(": both " in line for line in yardstick.moved(yardstick.stored(), lost))


def test_how_processors_round_is_not_named_and_what_is_more_is() -> None:
    before = yardstick.stored()
    chance = random.Random(7)

    def shaken(by: float) -> dict[str, dict[str, float]]:
        return {
            asked: {n: v if n == "words" else v + chance.uniform(-by, by) for n, v in row.items()}
            for asked, row in before.items()
        }

    assert not list(yardstick.moved(before, shaken(0.0019)))
    assert len(list(yardstick.moved(before, shaken(0.02)))) > len(before)
    assert next(iter(yardstick.moved({}, before))).endswith("is not stored")
