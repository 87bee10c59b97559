"""Nothing leaves the machine: a search by meaning opens no socket and leaves no device id."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from kb_cli.testing.installed import InstalledKebab


@pytest.fixture(scope="module")
def searched(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[InstalledKebab, dict[str, str]]:
    """Return a small knowledge base with vectors, and an environment with a cache of its own."""
    tmp_path = tmp_path_factory.mktemp("searched")
    kebab = InstalledKebab(tmp_path)
    kebab.configure(model="all-MiniLM-L6-v2")
    kebab.write("a.md", "# Walrus\n\nA walrus sleeps on the ice.\n")
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    telling = environment | {"PYTHONPROFILEIMPORTTIME": "1"}
    with (tmp_path / "imported").open("w") as imported:
        for words, env in ((("ingest",), environment), (("search", "an animal"), telling)):
            subprocess.run(
                kebab.command(*words),
                env=env,
                check=True,
                stdout=subprocess.DEVNULL,
                stderr=imported,
            )
    return kebab, environment


@pytest.mark.model
def test_only_kebab_writes_to_the_cache(
    searched: tuple[InstalledKebab, dict[str, str]],
) -> None:
    """onnxruntime would keep a device id and a database of events there."""
    _, environment = searched

    written = Path(environment["XDG_CACHE_HOME"]).iterdir()
    assert [path.name for path in written] == ["kebab"]


@pytest.mark.model
def test_a_first_search_by_meaning_imports_neither_numpy_nor_what_needs_it(
    searched: tuple[InstalledKebab, dict[str, str]],
) -> None:
    """Together they took two fifths of it."""
    _, environment = searched
    imported = Path(environment["XDG_CACHE_HOME"]).with_name("imported")
    lines = imported.read_text().splitlines()
    names = {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}

    assert names >= {"kb_search.embed.native", "kb_search.small_view", "simsimd", "tantivy"}
    assert names.isdisjoint({"numpy", "onnxruntime", "inspect", "pickle", "platform"})


@pytest.mark.model
def test_a_search_by_meaning_opens_no_internet_socket(
    searched: tuple[InstalledKebab, dict[str, str]],
) -> None:
    kebab, environment = searched
    tracer = shutil.which("strace")
    if tracer is None:
        pytest.skip("strace is not installed")
    command = [tracer, "-f", "-qq", "-e", "trace=socket,connect", *kebab.command("search", "ice")]

    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if "ptrace" in done.stderr.lower():
        pytest.skip("tracing is not permitted here")

    assert done.returncode == 0
    assert "AF_INET" not in done.stderr
