"""Nothing leaves the machine: a search by meaning opens no socket and leaves no device id."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from kb_cli.testing.installed import InstalledKebab


@pytest.fixture
def searched(kebab: InstalledKebab, tmp_path: Path) -> tuple[InstalledKebab, dict[str, str]]:
    """Return a small knowledge base with vectors, and an environment with a cache of its own."""
    kebab.configure(model="all-MiniLM-L6-v2")
    kebab.write("a.md", "# Walrus\n\nA walrus sleeps on the ice.\n")
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    for words in (("ingest",), ("search", "an animal that sleeps")):
        subprocess.run(kebab.command(*words), env=environment, check=True, capture_output=True)
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
