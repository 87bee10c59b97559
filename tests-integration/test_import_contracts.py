"""The import contracts hold, and each of them breaks when it should.

A contract that cannot fail is worth nothing: each gets a violation planted in a copy of the
sources, and must be the one that names it.
"""

from __future__ import annotations

import configparser
import os
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CONFIG = ROOT / ".importlinter"
LINT = Path(sys.executable).with_name("lint-imports")


@dataclass(frozen=True)
class Planted:
    """A module, written into the copy, that breaks one contract."""

    contract: str
    module: str
    statement: str

    def is_told_in(self, section: str) -> bool:
        """Say whether a chain of imports in *section* is this one; libraries have one name."""
        found = re.search(r"(?:from|import) ([\w.]+)", self.statement)
        assert found
        target = found[1] if found[1].startswith("kb_") else found[1].split(".")[0]
        return bool(re.search(rf"- +{re.escape(self.module)} -> {re.escape(target)} \(", section))


FORMATS = "kb_app._ingest.making.formats"

PLANTED = [
    Planted("layers", "kb_core.planted", "import kb_app"),
    Planted("layers", "kb_store.planted", "def later() -> None:\n    import kb_search"),
    Planted("layers", "kb_search.planted", "import kb_store"),
    Planted("layers", "kb_mcp.planted", "import kb_cli"),
    Planted("layers", "kb_cli.planted", "import kb_tui"),
    Planted("composition-root", "kb_app._ingest.planted", "import kb_app._wiring"),
    Planted("composition-root", "kb_app._search.planted", "import kb_app.knowledge_base"),
    Planted("the-way-of-a-file", "kb_app._ingest.seeing.planted", "import kb_app._ingest.plan"),
    Planted("search", "kb_app._search.query", "import kb_app._search.engine"),
    Planted("search", "kb_app._search.similar", "import kb_app._search.explaining"),
    Planted("citing", "kb_app._citing.matching", "import kb_app._citing.verifying"),
    Planted("asking", "kb_app._ask.facts", "import kb_app._ask.checking"),
    Planted("config", "kb_app.config._rules", "import kb_app.config._files"),
    Planted("following", "kb_app._watching.agenda", "import kb_app._watching.following"),
    Planted("home-of-notices", "kb_cli.planted", "import watchfiles"),
    Planted("adapters", "kb_cli.planted", "from kb_store import __doc__"),
    Planted("adapters", "kb_tui.planted", "import kb_search"),
    Planted("composition", "kb_app._ingest.planted", "from kb_store import Store"),
    Planted("pure-core", "kb_core.planted", "import numpy"),
    Planted("home-of-the-truth", "kb_app.planted", "import duckdb"),
    Planted("home-of-the-truth", "kb_search.planted", "from duckdb import sql"),
    Planted("home-of-the-index", "kb_app.planted", "import tantivy"),
    Planted("home-of-the-index", "kb_store.planted", "import numpy as np"),
    Planted("home-of-milvus", "kb_search.planted", "import pymilvus"),
    Planted("home-of-click", "kb_app.planted", "from click import echo"),
    Planted("home-of-mcp", "kb_app.planted", "import mcp.types"),
    Planted("home-of-textual", "kb_cli.planted", "from textual.app import App"),
    Planted("home-of-pydantic", "kb_cli.planted", "from pydantic import BaseModel"),
    Planted("home-of-schemas-and-settings", "kb_cli.planted", "import tomlkit"),
    Planted("home-of-the-parsers", "kb_app.planted", "import yaml"),
    Planted("home-of-the-parsers", "kb_search.planted", "import tree_sitter"),
    Planted("the-way-of-a-file", "kb_app._ingest.seeing.planted", "import kb_app._ingest.judging"),
    Planted("the-way-of-a-file", "kb_app._ingest.judging.planted", "import kb_app._ingest.making"),
    Planted("measuring", "kb_app._evals.figures", "import kb_app._evals.cases"),
    Planted("formats", f"{FORMATS}.planted", f"import {FORMATS}.sibling"),
    Planted("commands", "kb_cli.commands.planted", "import kb_cli.commands.sibling"),
    Planted("tools", "kb_mcp.tools.planted", "import kb_mcp.tools.sibling"),
    Planted("screens", "kb_tui.screens.planted", "import kb_tui.screens.sibling"),
]


def contracts() -> dict[str, str]:
    """Return the name of each contract by its key."""
    config = configparser.ConfigParser()
    config.read(CONFIG, "utf-8")
    prefix = "importlinter:contract:"
    keys = [section for section in config.sections() if section.startswith(prefix)]
    return {key.removeprefix(prefix): config[key]["name"] for key in keys}


def setting(section: str, key: str) -> list[str]:
    """Return the words of one setting."""
    config = configparser.ConfigParser()
    config.read(CONFIG, "utf-8")
    return config[section][key].split()


def lint(sources: Path) -> subprocess.CompletedProcess[str]:
    """Run import-linter over a copy of the sources."""
    words = [str(LINT), "--no-cache", "--no-logo", "--config", str(CONFIG)]
    env = {**os.environ, "PYTHONPATH": str(sources), "COLUMNS": "200", "NO_COLOR": "1"}
    return subprocess.run(words, cwd=sources, env=env, capture_output=True, text=True, check=False)


def plant(sources: Path, planted: Planted) -> None:
    """Write the module, an innocent sibling, and whatever packages it takes to hold them."""
    *packages, name = planted.module.split(".")
    folder = sources.joinpath(*packages)
    folder.mkdir(parents=True, exist_ok=True)
    for depth in range(1, len(packages) + 1):
        sources.joinpath(*packages[:depth], "__init__.py").touch()
    (folder / "sibling.py").touch()
    with (folder / f"{name}.py").open("a", encoding="utf-8") as module:
        module.write(f"{planted.statement}\n")


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """Return a folder with a copy of every import package."""
    for package in ROOT.glob("packages/kb-*/src/kb_*"):
        shutil.copytree(
            package, tmp_path / package.name, ignore=shutil.ignore_patterns("__pycache__")
        )
    return tmp_path


def test_every_contract_is_kept(sources: Path) -> None:
    run = lint(sources)

    assert run.returncode == 0, run.stdout
    assert run.stdout.count("KEPT") == len(contracts())


def test_every_package_is_under_contract() -> None:
    packages = sorted(path.name for path in ROOT.glob("packages/kb-*/src/kb_*"))

    assert sorted(setting("importlinter", "root_packages")) == packages


def test_every_contract_has_a_planted_violation() -> None:
    assert {planted.contract for planted in PLANTED} == set(contracts())


def test_the_core_is_kept_from_every_library_the_others_use() -> None:
    forbidden = setting("importlinter:contract:pure-core", "forbidden_modules")
    modules_of: dict[str, set[str]] = {}
    for module, names in packages_distributions().items():
        for name in names:
            modules_of.setdefault(re.sub(r"[-_.]+", "-", name).lower(), set()).add(module)

    unknown = []
    for file in ROOT.glob("packages/kb-*/pyproject.toml"):
        for requirement in tomllib.loads(file.read_text("utf-8"))["project"]["dependencies"]:
            name = re.split(r"[^A-Za-z0-9._-]", requirement)[0]
            # Grammars are found by name through tree_sitter, and never imported.
            if not name.startswith(("kb-", "tree-sitter-")):
                unknown += [name] if modules_of[name].isdisjoint(forbidden) else []

    assert unknown == []


def test_every_violation_is_caught_by_its_contract(sources: Path) -> None:
    """All are planted at once: the section of each broken contract names each of its own."""
    for planted in PLANTED:
        plant(sources, planted)

    run = lint(sources)

    assert run.returncode == 1
    _, _, told = run.stdout.partition("Broken contracts\n")
    at = {told.index(f"\n{name}\n----"): key for key, name in contracts().items()}
    ends = [*sorted(at)[1:], len(told)]
    said = {at[start]: told[start:end] for start, end in zip(sorted(at), ends, strict=True)}
    missed = [one for one in PLANTED if not one.is_told_in(said[one.contract])]
    assert missed == []
