"""``kebab config``: show, path, migrate."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from jsonschema import Draft202012Validator

from kb_cli.testing import run
from kb_core.testing import closed_schema


def write(home: Path, text: str) -> Path:
    file = home / ".config" / "kebab" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    return file


def test_show_prints_values_in_effect_and_where_each_came_from(tmp_path: Path) -> None:
    write(tmp_path, "[search]\ndefault_k = 7\n")

    result = run("config", "show", home=tmp_path, environ={"KEBAB_SEARCH_SNIPPET_CHARS": "99"})

    lines = result.stdout.splitlines()
    assert "default_k = 7                           # file" in lines
    assert "snippet_chars = 99                      # KEBAB_SEARCH_SNIPPET_CHARS" in lines
    assert "rrf_k = 60                              # default" in lines
    assert tomllib.loads(result.stdout)["search"]["default_k"] == 7


def test_show_as_json_is_of_the_published_shape(tmp_path: Path) -> None:
    write(tmp_path, "[search]\ndefault_k = 7\n")

    result = run("config", "show", "--json", home=tmp_path, environ={"KEBAB_LOG_LEVEL": "info"})

    report = json.loads(result.stdout)
    Draft202012Validator(closed_schema("config_report")).validate(report)
    by_key = {setting["key"]: setting for setting in report["settings"]}
    assert by_key["search.default_k"] == {
        "key": "search.default_k",
        "value": 7,
        "origin": "file",
    }
    assert by_key["log.level"]["detail"] == "KEBAB_LOG_LEVEL"
    assert by_key["ui.theme"]["origin"] == "default"


def test_show_prints_paths_as_they_are_in_effect(tmp_path: Path) -> None:
    write(tmp_path, "[mcp]\ningest_roots = ['~/in', '/srv']\n")

    text = run("config", "show", home=tmp_path).stdout
    report = json.loads(run("config", "show", "--json", home=tmp_path).stdout)

    roots = [f"{tmp_path}/in", "/srv"]
    assert tomllib.loads(text)["mcp"]["ingest_roots"] == roots
    values = {setting["key"]: setting["value"] for setting in report["settings"]}
    assert values["mcp.ingest_roots"] == roots


def test_show_works_without_a_file(tmp_path: Path) -> None:
    result = run("config", "show", home=tmp_path)

    assert result.exit_code == 0
    assert result.stdout.startswith(f"# {tmp_path}/.config/kebab/config.toml (no such file)\n")


def test_path_prints_the_path_even_if_the_file_is_broken(tmp_path: Path) -> None:
    file = write(tmp_path, "[broken")

    result = run("config", "path", home=tmp_path)

    assert (result.exit_code, result.stdout) == (0, f"{file}\n")


def test_migrate_adds_what_is_missing_once_and_keeps_the_rest(tmp_path: Path) -> None:
    file = write(tmp_path, "# mine\n[search]\ndefault_k = 7  # lucky\n")

    preview = run("config", "migrate", "--dry-run", home=tmp_path)
    untouched = file.read_text()
    first = run("config", "migrate", "--json", home=tmp_path)
    second = run("config", "migrate", home=tmp_path)

    assert "would add search.rrf_k\n" in preview.stdout
    assert untouched == "# mine\n[search]\ndefault_k = 7  # lucky\n"
    report = json.loads(first.stdout)
    Draft202012Validator(closed_schema("config_migration")).validate(report)
    assert Path(report["backup_path"]).read_text() == untouched
    assert second.stdout == "nothing is missing\n"
    assert "# mine\n[search]\ndefault_k = 7  # lucky\n" in file.read_text()


def test_a_variable_that_means_nothing_is_a_warning(tmp_path: Path) -> None:
    result = run("config", "show", home=tmp_path, environ={"KEBAB_SEARCH_DEFAULTK": "3"})

    assert result.exit_code == 0
    assert result.stderr == (
        "warning: the variable KEBAB_SEARCH_DEFAULTK means nothing to kebab; "
        "did you mean KEBAB_SEARCH_DEFAULT_K?\n"
    )
