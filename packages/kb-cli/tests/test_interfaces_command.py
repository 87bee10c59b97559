"""Commands that other distributions bring, found without being imported."""

from __future__ import annotations

import gc
import json
import re
import sys
from pathlib import Path

import pytest

from kb_cli.testing import knowledge_base, run

MODULE = """
import gc
import click

collected_while_imported = gc.isenabled()

def start(kb):
    click.echo(f"open: {kb.is_open}, read-only: {kb.readonly}")

def naming(kb, *, named=str):
    click.echo(named("run 'kebab ingest'"))

def broken(kb):
    raise RuntimeError("oh")
"""
ENTRY_POINTS = """
[console_scripts]
x = y:z

[kebab.interfaces]
demo = kb_demo_interface:start
naming = kb_demo_interface:naming
broken=kb_demo_interface:broken

[other]
nope = a:b
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    info = tmp_path / "kb_demo-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.4\nName: kb-demo\nSummary: Show a demo.\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    (tmp_path / "kb_demo_interface.py").write_text(MODULE)
    (tmp_path / "no-entry-points.dist-info").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "kb_demo_interface", raising=False)
    return tmp_path


@pytest.mark.usefixtures("installed")
def test_help_lists_them_by_their_summary_and_imports_none() -> None:
    result = run("--help")

    assert re.search(r"^  demo +Show a demo\.$", result.stdout, re.MULTILINE)
    assert "nope" not in result.stdout
    assert "kb_demo_interface" not in sys.modules
    assert "Show a demo." in run("demo", "--help").stdout
    assert "kb_demo_interface" not in sys.modules


@pytest.mark.usefixtures("installed")
def test_they_get_the_open_knowledge_base_and_the_global_options() -> None:
    kb = knowledge_base()

    result = run("demo", "--readonly", kb=kb)

    assert (result.exit_code, result.stdout) == (0, "open: True, read-only: True\n")
    assert not kb.is_open


@pytest.mark.usefixtures("installed")
def test_one_that_names_commands_names_them_for_the_knowledge_base_it_has(tmp_path: Path) -> None:
    (file := tmp_path / "c.toml").touch()

    assert run("naming").stdout == "run 'kebab ingest'\n"
    assert run("--config", str(file), "naming").stdout == f"run 'kebab --config {file} ingest'\n"


@pytest.mark.usefixtures("installed")
def test_no_garbage_is_looked_for_while_one_is_imported() -> None:
    run("demo")

    assert not sys.modules["kb_demo_interface"].collected_while_imported
    assert gc.isenabled()


@pytest.mark.usefixtures("installed")
def test_what_goes_wrong_in_them_is_shown_as_everywhere() -> None:
    result = run("--json", "broken")

    assert (result.exit_code, json.loads(result.stderr)["code"]) == (2, "internal")


def test_one_that_is_not_installed_says_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", [])

    result = run("tui", "--json")

    told = json.loads(result.stderr)
    assert (result.exit_code, told["code"]) == (2, "missing_extra")
    assert "kb-tui" in told["message"]


def test_their_package_tells_their_options_and_no_other_module_of_theirs_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "kb_told-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Summary: Told.\n")
    (info / "entry_points.txt").write_text("[kebab.interfaces]\ntold = kb_told.door:start\n")
    package = tmp_path / "kb_told"
    package.mkdir()
    (package / "__init__.py").write_text(
        'OPTIONS = {"pace": {"flag": "--speed", "choices": ("slow", "fast"), "help": "How."}}'
    )
    (package / "door.py").write_text("def start(kb, *, pace):\n    print(pace)\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    assert "--speed [slow|fast]" in run("told", "--help").stdout
    assert "kb_told.door" not in sys.modules
    assert run("told", "--speed", "fast").stdout == "fast\n"
    refused = run("told", "--speed", "lame", "--json")
    assert (refused.exit_code, json.loads(refused.stderr)["code"]) == (2, "invalid_input")
