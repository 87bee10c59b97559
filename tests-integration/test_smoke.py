"""docs/SMOKE.md is run as it stands: commands after ``$``, what comes out below them."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kb_cli.testing.installed import KEBAB

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "SMOKE.md"
ANYTHING = "…"


def steps() -> Iterator[tuple[str, list[str]]]:
    """Yield each command with the lines that it is to print."""
    command, expected = "", list[str]()
    for block in re.findall(r"```console\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                if command:
                    yield command, expected
                command, expected = line[2:], []
            else:
                expected.append(line)
    yield command, expected


def pattern(lines: list[str]) -> str:
    """Return a regular expression for lines in which ``…`` stands for anything.

    Alone on a line, it stands for any number of lines.
    """
    parts = []
    for line in lines:
        if line == ANYTHING:
            parts.append(r"(?:[^\n]*\n)*?")
        else:
            parts.append("[^\n]*".join(map(re.escape, line.split(ANYTHING))) + "\n")
    return "".join(parts)


@pytest.mark.model
@pytest.mark.skipif(os.name != "posix", reason="the page is written for a POSIX shell")
def test_the_walkthrough_works_as_it_is_written(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    environ = {
        "COLUMNS": "80",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "NO_COLOR": "1",
        "PATH": f"{Path(KEBAB).parent}{os.pathsep}{os.environ['PATH']}",
    }
    if cache := os.environ.get("XDG_CACHE_HOME"):
        environ["XDG_CACHE_HOME"] = cache
    count = 0
    for command, expected in steps():
        done = subprocess.run(
            command,
            shell=True,
            cwd=tmp_path,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        printed = done.stdout + done.stderr
        assert re.fullmatch(pattern(expected), printed), f"$ {command}\n{printed}\n{expected}"
        count += 1
    assert count > 30
