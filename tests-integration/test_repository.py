"""Promises about the repository as a whole, which no single package can keep alone."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = sorted(path.parent.name for path in ROOT.glob("packages/*/pyproject.toml"))
SEVEN = ["kb-app", "kb-cli", "kb-core", "kb-mcp", "kb-search", "kb-store", "kb-tui"]


def project(name: str) -> dict[str, Any]:
    """Return the ``[project]`` table of one distribution."""
    text = (ROOT / "packages" / name / "pyproject.toml").read_text("utf-8")
    table: dict[str, Any] = tomllib.loads(text)["project"]
    return table


def requirements(name: str) -> list[str]:
    """Return everything that a distribution asks for, extras included."""
    table = project(name)
    extras = table.get("optional-dependencies", {}).values()
    return [*table["dependencies"], *(r for extra in extras for r in extra)]


def tool(name: str) -> ModuleType:
    """Load one of the project's own tools, which are scripts and not a package."""
    spec = importlib.util.spec_from_file_location(f"tool_{name}", ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tracked_files() -> list[Path]:
    """Return every file that is, or is about to be, under version control."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    words = [git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    out = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    files = (ROOT / name for name in out.split("\0") if name)
    return [file for file in files if file.is_file() and not file.is_symlink()]


def texts() -> Iterator[tuple[Path, str]]:
    """Yield every tracked file that is text."""
    for file in tracked_files():
        try:
            yield file.relative_to(ROOT), file.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            continue


def test_files_that_are_no_text_are_graphs_questions_and_a_released_store() -> None:
    """Anything else is what a program left beside them, or comes from somebody else."""
    known = {path for path, _ in texts()}
    others = {file.relative_to(ROOT) for file in tracked_files()} - known

    homes = ("packages/kb-search/src/kb_search/embed", "tests-integration/released")
    assert others
    assert [path for path in others if not any(map(path.is_relative_to, homes))] == []


def test_there_are_seven_distributions() -> None:
    assert PACKAGES == SEVEN


def test_versions_pins_licences_and_changelog_are_in_step() -> None:
    assert list(tool("version").problems()) == []


@pytest.mark.parametrize("name", SEVEN)
def test_siblings_are_pinned_exactly(name: str) -> None:
    """One version, everywhere: no mixture is ever installed."""
    version = project("kb-core")["version"]
    siblings = [wanted for wanted in requirements(name) if wanted.startswith("kb-")]

    assert project(name)["version"] == version
    assert all(wanted.endswith(f"=={version}") for wanted in siblings)


def test_the_core_requires_nothing() -> None:
    assert requirements("kb-core") == []


def test_the_command_offers_every_extra_of_the_application() -> None:
    offered = project("kb-cli").get("optional-dependencies", {})

    assert offered.keys() == project("kb-app").get("optional-dependencies", {}).keys()


@pytest.mark.parametrize("name", SEVEN)
def test_a_distribution_is_complete(name: str) -> None:
    """A wheel carries its types and its licence; a reader finds a page about it."""
    folder = ROOT / "packages" / name
    table = project(name)

    assert table["name"] == name
    assert table["license"] == "Apache-2.0"
    assert table["requires-python"] == ">=3.11"
    assert {"Private :: Do Not Upload", "Typing :: Typed"} <= set(table["classifiers"])
    assert (folder / "LICENSE").is_file()
    assert (folder / "src" / name.replace("-", "_") / "py.typed").is_file()
    assert (folder / "README.md").read_text("utf-8").startswith(f"# {name}\n")


@pytest.mark.parametrize("name", SEVEN)
def test_public_names_exist_once_and_are_sorted(name: str) -> None:
    """In the order that the formatter keeps: constants, then classes, then the rest."""
    module = importlib.import_module(name.replace("-", "_"))
    public: list[str] = getattr(module, "__all__", [])

    assert public == sorted(set(public), key=lambda n: (not n.isupper(), not n[0].isupper(), n))
    assert [exported for exported in public if not hasattr(module, exported)] == []


@pytest.mark.parametrize("name", SEVEN)
def test_every_module_says_what_it_is_for(name: str) -> None:
    silent = [
        str(file.relative_to(ROOT))
        for file in (ROOT / "packages" / name / "src").rglob("*.py")
        if not re.match(r'(#.*\n)*r?"""\S', file.read_text("utf-8"))
    ]

    assert silent == []


def test_test_files_have_unique_names() -> None:
    """Two of one name make mypy refuse the whole run, whatever pytest says."""
    files = [*ROOT.glob("packages/*/tests/**/*.py"), *ROOT.glob("tests-integration/**/*.py")]
    names = Counter(file.name for file in files)

    assert [name for name, count in names.items() if count > 1] == []


def test_constraints_are_names_and_versions_only() -> None:
    lines = (ROOT / "tools" / "constraints.txt").read_text("utf-8").splitlines()

    assert lines
    assert [
        line for line in lines if not re.fullmatch(r"[a-z0-9._-]+==[A-Za-z0-9.+!]+", line)
    ] == []


def test_the_text_of_schemas_is_published_as_it_is() -> None:
    assert tool("schemas").main(["check"]) == 0


def places_of_this_machine() -> list[str]:
    """Return the paths that mean something here and nowhere else."""
    deep = {place for place in (ROOT, Path(sys.prefix), Path(sys.base_prefix)) if place.parts[2:]}
    return sorted(map(str, deep | {Path.home()}))


def test_no_path_of_a_machine_is_committed() -> None:
    places = "|".join(re.escape(place) for place in places_of_this_machine())
    mentioned = re.compile(rf"(?<![\w.~</-])({places})(?![\w.-])")

    assert [str(file) for file, text in texts() if mentioned.search(text)] == []


def test_no_package_index_is_committed() -> None:
    """Where packages come from is each machine's business. The names are spelt apart here."""
    hosts = ["py" + "pi.org", "python" + "hosted.org", "npm" + "js.org", "deb." + "debian.org"]
    configured = [os.environ.get(name, "") for name in ("PIP_INDEX_URL", "UV_DEFAULT_INDEX")]
    hosts += [match[1] for url in configured if (match := re.match(r"\w+://([^/]+)", url))]
    mentioned = re.compile("|".join(map(re.escape, hosts)), re.IGNORECASE)

    assert [str(file) for file, text in texts() if mentioned.search(text)] == []


def test_the_scripts_can_be_run() -> None:
    for script in (ROOT / "tools" / "dev", ROOT / ".ci" / "run"):
        assert os.access(script, os.X_OK)
        assert script.read_bytes().startswith(b"#!")


def test_ci_runs_the_command_that_people_run() -> None:
    lines = (ROOT / ".ci" / "run").read_text("utf-8").splitlines()

    assert [line for line in lines if line and not line.startswith("#")] == [
        "set -euo pipefail",
        'cd "$(dirname "${BASH_SOURCE[0]}")/.."',
        "tools/dev test",
    ]
