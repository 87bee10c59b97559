"""An interface whose section of the configuration says ``readonly`` gets a read-only facade."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kb_cli.testing import knowledge_base, run

MODULE = """
import click

def start(kb):
    click.echo(f"read-only: {kb.readonly}")
"""


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "kb_planted-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Summary: Planted.\n")
    names = ("mcp", "other")
    lines = "".join(f"{name} = kb_planted_interface:start\n" for name in names)
    (info / "entry_points.txt").write_text(f"[kebab.interfaces]\n{lines}")
    (tmp_path / "kb_planted_interface.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "kb_planted_interface", raising=False)


@pytest.mark.parametrize(
    ("setting", "words", "expected"),
    [
        ("readonly = true", ["mcp"], True),
        ("readonly = false", ["mcp"], False),
        ("readonly = false", ["mcp", "--readonly"], True),
        ("readonly = true", ["other"], False),
    ],
)
def test_the_configuration_or_the_option_makes_it_read_only(
    setting: str, words: list[str], expected: bool, tmp_path: Path
) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f"[mcp]\n{setting}\n")

    result = run("--config", str(config), *words, kb=knowledge_base(), home=tmp_path)

    assert result.stdout == f"read-only: {expected}\n"
