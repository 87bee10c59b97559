"""Completion in real shells: each is started, told our script, and asked with the Tab key.

What there is to complete is that of a knowledge base with one note.
"""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kb_cli.testing.installed import KEBAB, InstalledKebab

pty = pytest.importorskip("pty")

PATIENCE_S = 120
ESCAPES = re.compile(
    r"\x1b(?:\[[0-9;?<>=]*[a-zA-Z]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()].|[=>])|[\x07\x0f]"
)

SHELLS = {
    "bash": ["bash", "--noprofile", "--norc", "-i"],
    "zsh": ["zsh", "-f", "-i"],
}
START = {
    "bash": "bind 'set bell-style none'; bind 'set show-all-if-ambiguous on'",
    "zsh": "autoload -U compinit && compinit -u -D",
}


class Shell:
    """An interactive shell at the other end of a terminal."""

    def __init__(self, words: list[str], home: Path) -> None:
        self.name = words[0]
        self._ours, theirs = pty.openpty()
        environ = {
            "COLUMNS": "200",
            "HOME": str(home),
            "LINES": "50",
            "PATH": f"{Path(KEBAB).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "TERM": "xterm",
        }
        self._process = subprocess.Popen(
            words,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environ,
            cwd=home,
            start_new_session=True,
        )
        os.close(theirs)
        self._said = ""

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def wait_for(self, expected: str) -> None:
        """Read until *expected* is on the screen."""
        limit = time.monotonic() + PATIENCE_S
        while expected not in ESCAPES.sub("", self._said):
            ready, _, _ = select.select([self._ours], [], [], 1)
            if ready:
                self._said += os.read(self._ours, 65536).decode("utf-8", "replace")
            assert time.monotonic() < limit, f"no {expected!r} in {self._said!r}"
        self._said = ""

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._ours)


@pytest.fixture(scope="module")
def kebab(tmp_path_factory: pytest.TempPathFactory) -> InstalledKebab:
    made = InstalledKebab(tmp_path_factory.mktemp("completion"))
    made.write("deep/first-note.md", "---\ntags: [gardening]\n---\n# One\n\nA note in English.\n")
    made.write("my own note.md", "# Two\n\nAnother.\n")
    made.write('a$b"c\\d`e.md', "# Four\n\nAnother.\n")
    made.write("it's.md", "# Three\n\nAnother.\n")
    made.ingest()
    return made


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest, kebab: InstalledKebab) -> Iterator[Shell]:
    name: str = request.param
    if shutil.which(name) is None:
        pytest.skip(f"there is no {name} here")
    script = kebab.home / f"completion.{name}"
    script.write_text(kebab.run("completion", name).stdout, "utf-8")
    opened = Shell(SHELLS[name], kebab.home)
    opened.type(f"{START[name]}\n")
    opened.type(f"source {script}\n")
    opened.type("echo rea''dy\n")
    opened.wait_for("ready")
    yield opened
    opened.close()


WORDS = (
    ("kebab codeb", "kebab codebase-search"),
    ("kb explain-m", "kb explain-miss"),
    ("kb ingest no", "kb ingest notes/"),
    ("kb CONFIG search --source no", "--source notes"),
    ("kb CONFIG search --tag gar", "--tag gardening"),
    ("kb CONFIG fetch doc de", "fetch doc deep/first-note.md"),
    ("kb CONFIG fetch de", "fetch deep/first-note.md"),
    ("kb CONFIG fetch ou", "fetch outline"),
)
QUOTED = (
    ("cite my", r"cite my\ own\ note.md"),
    (r"cite my\ o", r"cite my\ own\ note.md"),
    ('cite "my o', 'cite "my own note.md"'),
    ("cite 'my o", "cite 'my own note.md'"),
    ("cite it", r"cite it\'s.md"),
    ("cite a", r"cite a\$b\"c\\d\`e.md"),
    ('cite "a', r'''cite "a\$b\"c\\d\`e.md"'''),
    ("cite 'a", r"""cite 'a$b"c\d`e.md'"""),
    ('cite "it', 'cite "it\'s.md"'),
)


def test_commands_files_and_what_there_is_are_completed_for_both_names(
    shell: Shell, kebab: InstalledKebab
) -> None:
    quoted = [(f"kb CONFIG {begun}", completed) for begun, completed in QUOTED]
    for begun, completed in (*WORDS, *(quoted if shell.name == "bash" else ())):
        shell.type(begun.replace("CONFIG", f"--config {kebab.config}") + "\t")
        shell.wait_for(completed)
        shell.type("\x15")  # away with the line


def test_fish_completes_the_same(kebab: InstalledKebab) -> None:
    fish = shutil.which("fish")
    if fish is None:
        pytest.skip("there is no fish here")
    (kebab.home / "completion.fish").write_text(kebab.run("completion", "fish").stdout, "utf-8")
    path = f"{Path(KEBAB).parent}{os.pathsep}{os.environ['PATH']}"
    for begun, completed in WORDS:
        line = begun.replace("CONFIG", f"--config {kebab.config}")
        done = subprocess.run(
            [fish, "--no-config", "-c", f"source completion.fish; complete -C'{line}'"],
            capture_output=True,
            text=True,
            cwd=kebab.home,
            env=os.environ | {"PATH": path},
            check=True,
        )
        assert done.stdout.split()[0] == completed.split()[-1]


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX")
def test_a_completion_that_cannot_be_made_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "broken.toml").write_text("[", "utf-8")
    asked = f"kebab --config {tmp_path}/broken.toml search --source "
    environ = {"_KEBAB_COMPLETE": "bash_complete", "COMP_WORDS": asked, "COMP_CWORD": "5"}

    done = subprocess.run(
        [KEBAB], capture_output=True, text=True, env=os.environ | environ, check=False
    )

    assert (done.stdout.strip(), done.stderr) == ("", "")
