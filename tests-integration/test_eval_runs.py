"""Runs over golden questions: measured, kept, stopped and gone on with."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kb_app import KnowledgeBase, load_config
from kb_app.paths import environment
from kb_cli.testing import KebabHere
from kb_cli.testing.installed import InstalledKebab
from kb_core.evals import EvalOptions, EvalVariant
from kb_core.media import SearchMode
from kb_core.testing import closed_schema
from kb_search import lexical, weighing

COLOURS = ("red", "blue", "green", "black")
TOPICS = ("lock", "reader", "index", "chunk", "query")


@pytest.fixture(scope="module")
def kebab(tmp_path_factory: pytest.TempPathFactory) -> InstalledKebab:
    kebab = KebabHere(tmp_path_factory.mktemp("runs"))
    for topic in TOPICS:
        kebab.write(
            f"{topic}.md",
            f"# The {topic}\n\nThis page says what a {topic} is, and what it does for all.\n",
        )
    kebab.ingest()
    for topic in TOPICS:
        kebab.run("eval", "add", f"what does a {topic} do", "--hit", "1", "--group", "what")
    kebab.run("eval", "add", "price of tea", "--nothing")
    return kebab


def opened(kebab: InstalledKebab, *, readonly: bool = False) -> KnowledgeBase:
    return KnowledgeBase.open(load_config(kebab.config, environment()), readonly=readonly)


def lines(run: dict[str, Any]) -> list[dict[str, Any]]:
    text = Path(run["path"], "queries.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def figures(run: dict[str, Any], variant: int = 0) -> dict[str, float]:
    return {each["name"]: each["mean"] for each in run["variants"][variant]["figures"]}


def test_a_run_tells_figures_with_intervals_and_is_kept(kebab: InstalledKebab) -> None:
    run = kebab.json("eval", "run", "--mode", "lexical", "--ask", "--name", "first")

    asked = Path(run["path"], "queries.jsonl")
    whole = asked.read_bytes()
    asked.write_bytes(whole.replace(b'"rank":1', b'"rank":3', 1))
    checks = json.loads(kebab.run("--json", "doctor", "--deep", code=3).stdout)["checks"]
    (row,) = [row for row in checks if row["name"] == "runs over questions"]
    assert "queries.jsonl is not what was written" in row["detail"]
    asked.write_bytes(whole)
    Draft202012Validator(closed_schema("eval_run")).validate(run)
    assert (run["state"], run["name"]) == ("completed", "first")
    assert run["cases"]["total"] == 6
    assert (run["cases"]["judged"], run["cases"]["unanswerable"]) == (5, 1)
    assert figures(run)["ndcg@10"] == 1
    assert figures(run)["hit@1"] == 1
    assert set(figures(run)) >= {"doubt", "refusal", "consistency", "recall@500t", "recall@20"}
    assert json.loads(Path(run["path"], "run.json").read_text("utf-8")) == run
    assert [line["case"] for line in lines(run)][-1] == "price-of-tea"
    listed = kebab.json("eval", "list")
    Draft202012Validator(closed_schema("eval_run_list")).validate(listed)
    assert run in listed["items"]


def test_what_is_kept_is_private_and_says_why_each_hit_stands_where_it_does(
    kebab: InstalledKebab,
) -> None:
    run = kebab.json("eval", "run", "--mode", "lexical")

    folder = Path(run["path"])
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}
    first = lines(run)[0]
    assert first["ranks"] == {first["hits"][0]["uri"]: 1}
    assert first["hits"][0]["lexical_rank"] == 1
    assert first["hits"][0]["met"]


def test_people_read_a_table_with_bars(kebab: InstalledKebab) -> None:
    told = kebab.run("eval", "run", "--mode", "lexical", "--variant", "lexical,per_doc=1").stdout

    assert "lexical · 6 asked · p50" in told
    assert "lexical,per_doc=1 · 6 asked" in told
    assert "  ndcg@10       1.00  ██████████  1.00 … 1.00  of 5\n" in told


def test_a_run_that_was_stopped_goes_on_and_ends_as_one_that_was_not(
    kebab: InstalledKebab,
) -> None:
    options = EvalOptions(
        variants=(EvalVariant(mode=SearchMode.LEXICAL), EvalVariant()), name="stopped"
    )
    with opened(kebab) as kb:
        events = kb.evaluate(options)
        for _ in range(4):
            next(events)
        events.close()  # type: ignore[attr-defined]
    half = kebab.json("eval", "list")["items"][0]
    assert half["state"] == "stopped"
    assert len(lines(half)) == 4
    with Path(half["path"], "queries.jsonl").open("a", encoding="utf-8") as stream:
        stream.write('{"case": "cut o')  # as a process that died would leave it

    whole = kebab.json("eval", "run", "--resume", "stopped")
    straight = kebab.json("eval", "run", "--mode", "lexical", "--mode", "hybrid")

    assert (whole["run_id"], whole["state"]) == (half["run_id"], "completed")
    assert len(lines(whole)) == 12
    for variant in (0, 1):
        assert figures(whole, variant) == figures(straight, variant)


def test_read_only_measures_and_keeps_nothing(kebab: InstalledKebab, tmp_path: Path) -> None:
    before = kebab.json("eval", "list")["total"]

    run = kebab.json("--readonly", "eval", "run", "--mode", "lexical")
    told = kebab.run(
        "--readonly", "eval", "run", "--mode", "lexical", "--into", str(tmp_path / "a"), code=1
    )

    assert "path" not in run
    assert figures(run)["ndcg@10"] == 1
    assert "open for reading only" in told.stderr
    assert kebab.json("eval", "list")["total"] == before


def test_a_run_can_be_kept_in_a_folder_that_is_not_there_yet(
    kebab: InstalledKebab, tmp_path: Path
) -> None:
    folder = tmp_path / "build" / "eval"

    kebab.run("eval", "run", "--mode", "lexical", "--into", str(folder))
    again = kebab.run("eval", "run", "--mode", "lexical", "--into", str(folder), code=2)

    names = {"run.json", "cases.jsonl", "queries.jsonl", "sums.json"}
    assert {file.name for file in folder.iterdir()} == names
    assert "is not empty" in again.stderr


def test_a_case_of_which_nothing_is_left_takes_no_part_and_is_named(
    kebab: InstalledKebab, tmp_path: Path
) -> None:
    golden = tmp_path / "golden.yaml"
    golden.write_text("- {id: a, query: lock, expected_docs: gone.md}\n- {id: b, query: tea}\n")

    run = kebab.json("eval", "run", "--mode", "lexical", "--cases", str(golden))

    assert (run["cases"]["broken"], run["cases"]["gone"]) == (["a"], 1)
    assert run["variants"][0]["asked"] == 1
    golden.write_text("- {id: a, query: lock, expected_docs: [gone.md, lock.md]}\n")
    half = kebab.run("eval", "run", "--mode", "lexical", "--cases", str(golden))
    golden.write_text("- {id: a, query: lock, expected_docs: gone.md}\n")
    told = kebab.run("eval", "run", "--cases", str(golden), code=2)
    check = f"kebab --config {kebab.config} eval check"
    assert f"1 thing that a case expects is gone, and left out: {check}" in half.stderr
    assert "has no case that can be asked" in told.stderr


def test_a_question_that_ends_in_an_error_has_found_nothing(
    kebab: InstalledKebab, tmp_path: Path
) -> None:
    golden = tmp_path / "golden.yaml"
    golden.write_text(
        "- {id: a, query: '-lock', expected_docs: lock.md}\n"
        "- {id: b, query: the lock, expected_docs: lock.md}\n"
    )

    run = kebab.json("eval", "run", "--mode", "lexical", "--cases", str(golden))

    assert run["variants"][0]["failed"] == 1
    assert figures(run)["ndcg@10"] == 0.5


def test_a_run_of_another_state_does_not_go_on(kebab: InstalledKebab) -> None:
    with opened(kebab) as kb:
        events = kb.evaluate(EvalOptions(variants=(EvalVariant(mode=SearchMode.LEXICAL),)))
        next(events)
        events.close()  # type: ignore[attr-defined]
    kebab.write("new.md", "# New\n\nSomething new.\n")
    kebab.ingest()

    told = kebab.run("eval", "run", "--resume", "last", code=2)
    unknown = kebab.run("eval", "run", "--resume", "never", code=2)

    assert "cannot go on: its index changed since" in told.stderr
    assert "'never' names no run" in unknown.stderr


def test_a_weight_that_is_set_to_nothing_is_caught_and_a_harmless_change_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What notes are called decides here: their texts are like each other."""
    kebab = KebabHere(tmp_path)
    names = [f"{one}-{other}" for one in ("amber", "birch", "cedar") for other in COLOURS]
    for day, name in enumerate(names):
        words = " ".join(name.split("-"))
        kebab.write(f"{name}.md", "How it is made, and what it is for.\n")
        kebab.write(f"diary/{day}.md", f"Somebody spoke of {words}, and of {words} again.\n")
    kebab.ingest()
    rows = [{"id": n, "query": n.replace("-", " "), "expected_docs": [f"{n}.md"]} for n in names]
    golden = tmp_path / "golden.jsonl"
    golden.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    run = ("eval", "run", "--mode", "lexical", "--cases", str(golden), "--name")
    kebab.run(*run, "before")

    kebab.write("news.md", "# News\n\nSomething else altogether.\n")
    kebab.ingest()
    kebab.run(*run, "harmless")
    nothing = weighing.Weights(head=0.0, called=0.0, phrase=0.0)
    monkeypatch.setattr(lexical.build_ranking, "__defaults__", (nothing,))
    kebab.run(*run, "harmful")

    harmless = kebab.json("eval", "compare", "before", "harmless")
    harmful = kebab.json("eval", "compare", "before", "harmful", code=3)
    told = kebab.run("eval", "compare", "before", "harmful", code=3).stdout

    assert not harmless["regressed"]
    assert {"index.corpus_revision", "index.documents"} <= {r["name"] for r in harmless["changed"]}
    assert harmful["regressed"]
    assert len(harmful["lost"]) == 5
    assert "regressed" in told
    assert "lost amber-" in told


def test_without_golden_questions_documents_are_asked_for_in_their_own_words(
    kebab: InstalledKebab,
) -> None:
    kebab.write("twin.md", (kebab.notes / "lock.md").read_text("utf-8"))
    says = (
        "swim quickly beneath frozen rivers, hunting crayfish, molluscs, frogs while herons watch"
    )
    kebab.write("otter.md", f"# Otter\n\nAnimals that {says}.\n")
    kebab.ingest()

    found = kebab.json("eval", "self", "--documents", "20")
    told = kebab.run("eval", "self", "--documents", "20").stdout

    Draft202012Validator(closed_schema("eval_self")).validate(found)
    assert found["complete"]
    assert "upper bounds" in found["note"]
    assert "find their document among the first ten; " in " ".join(told.split())
    assert {"duplicate", "same_title"} <= {row["kind"] for row in found["findings"]}
    assert {row["difficulty"] for row in found["figures"]} >= {"title", "hard"}
    assert "by a sentence without its rarest words" in told
    assert "also twin.md" in told
    assert "leave the others out by .kebabignore" in " ".join(told.split())


def test_a_run_that_was_killed_as_it_began_is_no_damage(kebab: InstalledKebab) -> None:
    begun = kebab.data_dir / "evals" / "20260101T000000000-dead"
    begun.mkdir(parents=True)

    checks = {check["name"]: check for check in kebab.json("doctor", "--deep")["checks"]}

    assert checks["runs over questions"]["ok"]
    assert begun.name not in kebab.run("eval", "list").stdout
    begun.rmdir()
