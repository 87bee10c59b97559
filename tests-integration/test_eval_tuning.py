"""Settings tried on golden questions: what is recommended, what is luck, and what is written."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kb_app import KnowledgeBase, load_config
from kb_app._evals.judging import summed
from kb_app._evals.stored import RunFolder
from kb_app._evals.tuning import candidates, tuned
from kb_app.paths import environment
from kb_cli.testing.installed import InstalledKebab
from kb_core import wire
from kb_core.errors import InvalidInput
from kb_core.evals import EvalCase, EvalVariant
from kb_core.media import SearchMode
from kb_core.testing import closed_schema

VARIANTS = ("hybrid", "hybrid,fusion=rrf,rrf_k=10", "hybrid,rerank=true")
RRF = VARIANTS[1]
Value = Callable[[str, int], float]
"""The figure of a question under a variant."""


def run_of(folder: Path, value: Value, *, questions: int = 40, group: int = 1) -> RunFolder:
    """Keep a run over three variants, its questions in groups of so many."""
    numbers = range(questions)
    rows: Sequence[Any] = [
        {"case": str(n), "variant": name, "query": str(n), "ms": 1.0, "ranks": {}, "hits": []}
        | {"figures": {"ndcg@10": value(name, n)}}
        for name in VARIANTS
        for n in numbers
    ]
    told = [
        {"name": name, "mode": "hybrid", **summed([r for r in rows if r["variant"] == name], {})}
        for name in VARIANTS
    ]
    run = {
        "run_id": folder.name,
        "state": "completed",
        "started_at": datetime(2025, 6, 30, tzinfo=UTC),
        "duration_ms": 1,
        "depth": 20,
        "ask": False,
        "cases": {"path": "g", "digest": "d", "total": 1, "judged": 1}
        | {"unanswerable": 0, "broken": []},
        "variants": told,
        "kebab_version": "0",
        "index": {"store_id": "s", "corpus_revision": 1},
        "settings": {},
        "machine": {},
    }
    made = RunFolder(folder)
    made.begin([EvalCase(id=str(n), query=str(n), group=f"g{n // group}") for n in numbers])
    for row in rows:
        made.add(row)
    made.finish(wire.eval_run(run))
    return made


def verdicts(found: Any) -> dict[str, str]:  # noqa: ANN401
    Draft202012Validator(closed_schema("eval_tune")).validate(found)
    return {row["name"]: row["verdict"] for row in found["variants"]}


def gained(name: str, number: int) -> float:
    return 0.5 + 0.001 * number + (0.1 if name == RRF else 0.0)


def test_what_gains_on_every_question_is_recommended(tmp_path: Path) -> None:
    found = tuned(run_of(tmp_path / "r", gained))

    assert verdicts(found) == {"hybrid": "now", RRF: "better", "hybrid,rerank=true": "same"}
    assert found["recommended"] == RRF
    assert found["held_out"]["mean"] == pytest.approx(0.1)
    assert [row["chosen"] for row in found["variants"]] == [0, 1, 0]
    assert found["variants"][1]["settings"] == {"search.fusion": "rrf", "search.rrf_k": 10}


def test_the_best_of_several_that_only_had_luck_is_not_recommended(tmp_path: Path) -> None:
    told = []
    for seed in range(5):
        chance = random.Random(seed)
        found = tuned(run_of(tmp_path / str(seed), lambda *_, c=chance: c.random()))
        told.append(found["recommended"])
        best = max(row["mean"] for row in found["variants"]) - found["variants"][0]["mean"]
        assert found["held_out"]["mean"] <= best + 1e-9

    assert told == [None] * 5


def test_what_loses_is_said_to_be_worse_and_is_never_chosen(tmp_path: Path) -> None:
    found = tuned(run_of(tmp_path / "r", lambda name, n: 1 - gained(name, n)))

    assert verdicts(found)[RRF] == "worse"
    assert found["recommended"] is None
    assert found["held_out"] == {"mean": 0, "low": 0, "high": 0, "p": 1}


def test_questions_of_one_group_count_once_for_whether_there_are_enough(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="40 questions with an answer: too few") as told:
        tuned(run_of(tmp_path / "r", gained, group=5))

    assert "kebab eval add" in (told.value.hint or "")


def test_what_is_tried_leaves_out_the_settings_as_they_are_and_modes(
    kebab: InstalledKebab,
) -> None:
    kebab.configure(extra='[search]\nfusion = "rrf"\nrrf_k = 30\n')
    names = [each.name for each in candidates(load_config(kebab.config, environment()))]

    assert names[:2] == ["hybrid", "hybrid,fusion=auto"]
    assert "hybrid,fusion=rrf,rrf_k=30" not in names
    assert names[-1] == "hybrid,rerank=true"
    lexical = EvalVariant(mode=SearchMode.LEXICAL)
    with pytest.raises(InvalidInput, match="'lexical' is not one that settings can make"):
        candidates(load_config(kebab.config, environment()), (lexical,))


def test_only_apply_writes_and_keeps_what_the_person_wrote(
    kebab: InstalledKebab, tmp_path: Path
) -> None:
    kebab.configure(extra='[search]\n# mine\nfusion = "auto"  # for now\n')
    config = load_config(kebab.config, environment())
    before = kebab.config.read_text("utf-8")
    folder = str(run_of(tmp_path / "r", gained).path)
    luck = str(run_of(tmp_path / "l", lambda *_: 0.5).path)

    with KnowledgeBase.open(config) as kb:
        assert not kb.tune(folder)["applied"]
        assert not kb.tune(luck, apply=True)["applied"]
        assert kebab.config.read_text("utf-8") == before
        assert kb.tune(folder, apply=True)["applied"]

    search = load_config(kebab.config, environment()).search
    assert (search.fusion, search.rrf_k) == ("rrf", 10)
    assert "# mine" in kebab.config.read_text("utf-8")


def test_the_command_asks_all_of_them_and_says_what_may_be_luck(kebab: InstalledKebab) -> None:
    topics = ("lock", "reader", "index", "chunk", "query", "page", "table", "row", "key", "sum")
    for topic in topics:
        kebab.write(f"{topic}.md", f"# The {topic}\n\nWhat a {topic} is, and what it does.\n")
    kebab.ingest()
    rows = (f"- {{id: {t}, query: what is a {t}, expected_docs: {t}.md}}\n" for t in topics)
    golden = kebab.config.parent / "golden.yaml"
    golden.write_text("".join(rows), "utf-8")
    before = kebab.config.read_text("utf-8")

    told = kebab.run("eval", "tune", "--variant", "hybrid,fusion=rrf", "--apply").stdout
    found = kebab.json("eval", "tune", "--variant", "hybrid,fusion=rrf")
    wrong = kebab.run("eval", "tune", "--variant", "lexical", code=2).stderr
    golden.write_text("- {id: a, query: lock, expected_docs: lock.md}\n", "utf-8")
    few = kebab.run("eval", "tune", "--variant", "hybrid,fusion=rrf", code=2).stderr

    assert verdicts(found) == {"hybrid": "now", "hybrid,fusion=rrf": "same"}
    assert "hybrid, as it is" in told
    assert "the settings stay as they are" in told
    assert kebab.config.read_text("utf-8") == before
    assert "is not one that settings can make" in wrong
    assert "1 question with an answer: too few" in few
    runs = kebab.json("eval", "list")["items"]
    assert [run["name"] for run in runs] == ["tune", "tune"], "too few is told before any is asked"
