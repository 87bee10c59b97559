"""Judged queries of others come in, runs go out, and both say the same to other tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kb_app._evals import figures
from kb_app._evals.exchange import read_beir, read_trec
from kb_cli.testing.installed import InstalledKebab
from kb_core.errors import InvalidInput, IoError
from kb_core.testing import closed_schema

TEXTS = {"d 1": "the walrus sleeps", "a/2": "the otter swims", "d3": "walrus and otter at sea"}
JUDGED = ("q1\td 1\t2", "q1\td3\t1", "q1\ta/2\t0", "q2\ta/2\t1", "gone\td3\t1")


@pytest.fixture
def beir(tmp_path: Path) -> Path:
    folder = tmp_path / "beir"
    (folder / "qrels").mkdir(parents=True)
    corpus = [{"_id": name, "title": "", "text": text} for name, text in TEXTS.items()]
    queries = [{"_id": "q1", "text": "walrus"}, {"_id": "q2", "text": "otter"}]
    for name, rows in (("corpus", corpus), ("queries", queries)):
        lines = "".join(f"{json.dumps(row)}\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines, "utf-8")
    head = "query-id\tcorpus-id\tscore"
    (folder / "qrels" / "test.tsv").write_text("\n".join((head, *JUDGED)) + "\n", "utf-8")
    return folder


def lines(path: Path) -> list[list[str]]:
    return [line.split() for line in path.read_text("utf-8").splitlines()]


def test_a_collection_comes_in_is_searched_and_its_run_goes_out(
    kebab: InstalledKebab, beir: Path, tmp_path: Path
) -> None:
    told = kebab.run("eval", "import", "--beir", str(beir), "--documents", str(kebab.notes))
    kebab.ingest()
    run = kebab.json("eval", "run", "--mode", "lexical")
    kebab.run("eval", "export", "last", str(tmp_path / "trec"))

    assert told.stdout == "added 2 cases\n"
    assert sorted(path.name for path in kebab.notes.iterdir()) == ["a%2F2.md", "d%201.md", "d3.md"]
    assert run["cases"]["broken"] == []
    grades: dict[str, dict[str, int]] = {}
    for query, _, doc, grade in lines(tmp_path / "trec" / "qrels.txt"):
        grades.setdefault(query, {})[doc] = int(grade)
    scores: dict[str, dict[str, float]] = {}
    for query, _, doc, _, score, _ in lines(tmp_path / "trec" / "lexical.run"):
        scores.setdefault(query, {})[doc] = float(score)
    values = [figures.ndcg(figures.trec_order(scores[one]), grades[one]) for one in grades]
    ours: dict[str, Any] = {row["name"]: row["mean"] for row in run["variants"][0]["figures"]}
    assert sum(values) / len(values) == pytest.approx(ours["ndcg@10"], abs=1e-6)
    assert grades["q1"] == {"d%25201.md": 2, "d3.md": 1}


def test_trec_judgements_come_in_and_what_is_not_relevant_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_text("1\twhat is it\n2\tnobody judged this\n", "utf-8")
    (tmp_path / "qrels").write_text("1 0 a.md 2\n1 0 b.md 0\n\n3 0 c.md 1\n", "utf-8")

    (case,) = read_trec(tmp_path / "q.tsv", tmp_path / "qrels")

    assert (case.id, case.query, case.expected_docs) == ("1", "what is it", {"a.md": 2})


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("queries.jsonl", '{"id": 1}\n', "line 1 has no _id and text"),
        ("queries.jsonl", "[1]\n", "line 1 has no _id and text"),
        ("qrels/test.tsv", "q1\td3\t1\n", "does not begin with its header"),
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1 d3 1\n", "line 2 has not 3 fields"),
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td3\tmuch\n", "grade 'much'"),
    ],
)
def test_what_is_not_the_format_is_told_with_its_line(
    beir: Path, name: str, text: str, said: str
) -> None:
    (beir / name).write_text(text, "utf-8")

    with pytest.raises(InvalidInput) as caught:
        read_beir(beir)

    assert said in str(caught.value)


def test_a_file_that_is_missing_and_an_input_that_is_half_are_told(
    kebab: InstalledKebab, tmp_path: Path
) -> None:
    half = kebab.run("eval", "import", "--queries", "q.tsv", code=2)

    assert "--queries and --qrels" in half.stderr
    with pytest.raises(IoError, match="No such file"):
        read_beir(tmp_path / "nowhere")


def test_an_exported_run_comes_in_again_with_the_same_figures_and_is_compared(
    kebab: InstalledKebab, beir: Path, tmp_path: Path
) -> None:
    kebab.run("eval", "import", "--beir", str(beir), "--documents", str(kebab.notes))
    kebab.ingest()
    ours = kebab.json("eval", "run", "--mode", "lexical", "--name", "ours")
    kebab.run("eval", "export", "ours", str(tmp_path / "trec"))
    theirs = tmp_path / "theirs.run"
    theirs.write_text("q1 Q0 d3 1 9 bm25\nq1 Q0 d%201 1 9.5 bm25\nq2 Q0 d3 1 .5 bm25\n", "utf-8")

    run = str(tmp_path / "trec" / "lexical.run")
    again = kebab.json("eval", "import", "--run", run, "--name", "again")
    other = kebab.json("eval", "import", "--run", str(theirs), "--name", "other")
    same = kebab.json("eval", "compare", "ours", "again")
    lost = kebab.json("eval", "compare", "ours", "other:bm25", "--strict", code=3)

    Draft202012Validator(closed_schema("eval_run")).validate(again)
    told = {row["name"]: row["mean"] for row in ours["variants"][0]["figures"]}
    for row in again["variants"][0]["figures"]:
        assert row["mean"] == pytest.approx(told.get(row["name"], row["mean"]), abs=1e-6)
    assert {row["verdict"] for row in same["figures"]} == {"same"}
    assert [row["case"] for row in lost["lost"]] == ["q2"]
    assert other["variants"][0]["name"] == "bm25"
    assert "other" in kebab.run("eval", "report", "other", "--text").stdout


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("q1 Q0 d3 1 9\n", "line 1 is not 'query Q0 document rank score run'"),
        ("q1 Q0 d3 1 best a\n", "line 1 is not 'query Q0 document rank score run'"),
        ("\n", "it is empty"),
        ("q7 Q0 d3 1 9 a\n", "no query of it is a case of golden.yaml"),
    ],
)
def test_a_run_that_is_none_is_refused_and_nothing_is_kept(
    kebab: InstalledKebab, beir: Path, tmp_path: Path, text: str, complaint: str
) -> None:
    kebab.run("eval", "import", "--beir", str(beir))
    (tmp_path / "a.run").write_text(text, "utf-8")

    told = kebab.run("eval", "import", "--run", str(tmp_path / "a.run"), code=2)
    both = ("--run", str(tmp_path / "a.run"), "--beir", str(beir))

    assert complaint in told.stderr
    assert "takes --name and --cases alone" in kebab.run("eval", "import", *both, code=2).stderr
    assert kebab.json("eval", "list")["items"] == []
