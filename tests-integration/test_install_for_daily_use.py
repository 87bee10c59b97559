"""``tools/dev install`` and ``uninstall``, as a person runs them in a home of their own.

What the seven need from others is lent by the environment of the tests, so that nothing is
fetched; ours are built and installed.
"""

from __future__ import annotations

import os
import subprocess
import sysconfig
from collections.abc import Mapping
from pathlib import Path

import pytest

from kb_core.version import __version__

ROOT = Path(__file__).resolve().parent.parent
DEV = ROOT / "tools" / "dev"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="the script is for a POSIX shell"),
]


def environ(home: Path) -> dict[str, str]:
    return {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "PIP_NO_BUILD_ISOLATION": "0",  # pip reads it the other way around
        "PIP_NO_CACHE_DIR": "1",
        "PIP_NO_DEPS": "1",
        "PIP_NO_INDEX": "1",
        "PYTHONPATH": sysconfig.get_path("purelib"),
        "SHELL": "/bin/bash",
    }


def dev(word: str, home: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [DEV, word], capture_output=True, text=True, env=environ(home), check=False
    )


def in_a_new_shell(command: str, env: Mapping[str, str]) -> str:
    """Return what an interactive bash prints that knows no PATH of ours yet."""
    done = subprocess.run(
        ["bash", "--rcfile", f"{env['HOME']}/.bashrc", "-ic", command],
        capture_output=True,
        text=True,
        env={**env, "PATH": "/usr/bin:/bin"},
        check=False,
    )
    return done.stdout


def files(home: Path) -> dict[str, bytes]:
    """Return what is in *home*, but for what the tools of others keep there."""
    ours = [home / ".bashrc", *home.glob(".local/**/*"), *home.glob(".config/**/*")]
    found = [path for path in sorted(ours) if path.is_file() or path.is_symlink()]
    return {path.relative_to(home).as_posix(): path.read_bytes() for path in found}


def test_one_command_installs_it_for_new_shells_and_one_takes_it_away(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".bashrc").write_text("alias ll='ls -l'\n")
    before = files(home)

    done = dev("install", home)

    assert done.returncode == 0, done.stdout + done.stderr
    said = [in_a_new_shell(f"{name} --version", environ(home)) for name in ("kebab", "kb")]
    assert said == [f"kebab {__version__}\n"] * 2
    libraries = next(home.glob(".local/share/kebab-app/lib/python*/site-packages"))
    assert not list(libraries.glob("pip*"))
    assert list(libraries.glob("kb_core/__pycache__/ids.*.pyc"))
    completions = ".local/share/bash-completion/completions"
    loaded = f"source ~/{completions}/kb; complete -p kb"
    assert "_kebab_completion kb" in in_a_new_shell(loaded, environ(home))
    assert dev("uninstall", home).returncode == 0
    assert files(home) == before
    assert not list(home.glob(".cache/**/*")), "a library that is compiled may not leave an id"


def test_a_command_that_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    other = tmp_path / ".local" / "bin" / "kb"
    other.parent.mkdir(parents=True)
    other.write_text("#!/bin/sh\n")

    installed, removed = dev("install", tmp_path), dev("uninstall", tmp_path)

    assert (installed.returncode, removed.returncode) == (1, 0)
    assert "kb is there already, and is not ours" in installed.stderr
    assert files(tmp_path) == {".local/bin/kb": b"#!/bin/sh\n"}
