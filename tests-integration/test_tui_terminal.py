"""``kebab tui`` in a real terminal, which tmux plays: drawn, typed into, and left whole."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator

import pytest

from kb_cli.testing.installed import InstalledKebab

TMUX = shutil.which("tmux")

pytestmark = pytest.mark.skipif(TMUX is None, reason="tmux is not installed")


class Terminal:
    """A terminal of 80 by 24 with a shell in it."""

    def __init__(self, socket: str) -> None:
        self._socket = socket
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "sh")

    def type(self, *keys: str) -> None:
        """Press keys; a word that is no key's name is typed letter by letter."""
        self._tmux("send-keys", *keys)

    def screen(self) -> str:
        """Return what is on the screen."""
        return self._tmux("capture-pane", "-p")

    def wait_for(self, text: str, *, shown: bool = True) -> str:
        """Return the screen as soon as it shows *text*, or no longer does."""
        deadline = time.monotonic() + 30
        while (text in (screen := self.screen())) is not shown:
            assert time.monotonic() < deadline, f"{text!r} is not as expected:\n{screen}"
            time.sleep(0.05)
        return screen

    def close(self) -> None:
        self._tmux("kill-server")

    def _tmux(self, *words: str) -> str:
        command = [str(TMUX), "-u", "-S", self._socket, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    # A socket's path may have about a hundred characters only.
    terminal = Terminal(str(tmp_path_factory.mktemp("t") / "s"))
    yield terminal
    terminal.close()


def test_a_search_in_a_real_terminal(kebab: InstalledKebab, terminal: Terminal) -> None:
    kebab.write("locks.md", "# Locks\n\nA search stays readable while ingest runs.\n")
    kebab.write("검색.md", "# 검색 기록\n\n한국어 형태소와 바이그램을 함께 찾는다.\n")
    kebab.ingest()

    terminal.type(f"{shlex.join(kebab.command('tui'))}; echo left with $?", "Enter")
    terminal.wait_for("2 documents")
    terminal.type("형태소")
    found = terminal.wait_for("1 hit in")
    terminal.type("Escape")
    terminal.wait_for("NORMAL")
    terminal.type("?")
    terminal.wait_for("Keys of Search")
    terminal.type("Escape")
    terminal.wait_for("Keys of Search", shown=False)
    terminal.type("q")
    left = terminal.wait_for("left with 0")

    assert "▌  1." in found
    assert ">3 ┃ 한국어 형태소와 바이그램을 함께 찾는다." in found
    assert all(len(line) <= 80 for line in found.splitlines())
    assert "┃" not in left
