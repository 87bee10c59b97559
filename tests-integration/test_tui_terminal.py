"""``kebab tui`` in a real terminal, which tmux plays: a tour of every pane, and its bad days.

The tour runs over some sixty documents. ``KEBAB_TEST_TOUR`` names the configuration of a
large knowledge base to take it over, too; its screens are then written beside that file.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kb_cli.testing.installed import KEBAB, InstalledKebab

TMUX = shutil.which("tmux")
TOUR = os.environ.get("KEBAB_TEST_TOUR", "")
PATIENCE_SECS = 120
"""How long a busy machine may take to show what it should; a quiet one takes none of it."""
NEW = 700
"""Files that an ingest takes some seconds for."""
STILL = 4
"""So many equal screens in a row are one that has settled."""

pytestmark = [
    pytest.mark.skipif(TMUX is None, reason="tmux is not installed"),
    pytest.mark.slow,
]


class Terminal:
    """A terminal of 80 by 24 with a shell in it."""

    def __init__(self, socket: str) -> None:
        self._socket = socket
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "sh")

    def type(self, *keys: str) -> None:
        """Press keys; a word that is no key's name is typed letter by letter."""
        self._tmux("send-keys", *keys)

    def escape(self, text: str, *, shown: bool = True) -> str:
        """Press Escape, and return the screen as soon as it shows *text*, or no longer does.

        An escape and a letter that come as one are Alt and the letter.
        """
        self.type("Escape")
        return self.wait_for(text, shown=shown)

    def screen(self) -> str:
        """Return what is on the screen."""
        return self._tmux("capture-pane", "-p")

    def wait_for(self, text: str, *, shown: bool = True) -> str:
        """Return the screen as soon as it shows *text*, or no longer does."""
        return self.wait_until(lambda screen: (text in screen) is shown)

    def wait_until(self, is_so: Callable[[str], bool]) -> str:
        """Return the screen as soon as something is so of it."""
        deadline = time.monotonic() + PATIENCE_SECS
        while not is_so(screen := self.screen()):
            assert time.monotonic() < deadline, f"the screen is not as expected:\n{screen}"
            time.sleep(0.05)
        return screen

    def settled(self) -> str:
        """Return the screen once it no longer changes."""
        seen = [""]
        while len(seen) < STILL or len(set(seen[-STILL:])) > 1:
            time.sleep(0.1)
            seen.append(self.screen())
        return seen[-1]

    def wait_for_body(self, expected: str) -> None:
        """Wait until all but the last two lines, which tell the state, are as *expected*."""
        wanted = expected.splitlines()[:22]
        self.wait_until(lambda screen: screen.splitlines()[:22] == wanted)

    def resize(self, width: int, height: int) -> None:
        self._tmux("resize-window", "-x", str(width), "-y", str(height))

    def erase(self) -> None:
        """Erase what is on the screen behind the program's back, as a terminal may."""
        Path(self._tmux("display-message", "-p", "#{pane_tty}").strip()).write_text(
            "\x1b[2J", "utf-8"
        )

    def send(self, data: bytes, beside: Path) -> None:
        """Have the terminal send bytes as they are, from a file that is written *beside*."""
        beside.write_bytes(data)
        self._tmux("load-buffer", str(beside))
        self._tmux("paste-buffer")

    def program(self) -> int:
        """Return the process that the shell runs."""
        shell = self._tmux("display-message", "-p", "#{pane_pid}").strip()
        found = subprocess.run(["pgrep", "-P", shell], check=True, capture_output=True, text=True)
        return int(found.stdout.split()[0])

    def close(self) -> None:
        subprocess.run(
            [str(TMUX), "-S", self._socket, "kill-server"], check=False, capture_output=True
        )

    def _tmux(self, *words: str) -> str:
        command = [str(TMUX), "-u", "-S", self._socket, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    # A socket's path may have about a hundred characters only.
    terminal = Terminal(str(tmp_path_factory.mktemp("t") / "s"))
    yield terminal
    terminal.close()


@pytest.fixture
def notes(kebab: InstalledKebab) -> InstalledKebab:
    """Some sixty documents, two of which are not what they should be."""
    for number in range(60):
        text = (
            f"# Note {number}\n\nA search stays readable to you while the ingest {number} runs.\n"
        )
        kebab.write(f"many/note-{number:02}.md", text)
    kebab.write("locks.md", "---\ntags: [storage]\n---\n\n# Locks\n\nOne writer, many readers.\n")
    kebab.write("검색.md", "# 검색 기록\n\n한국어 형태소와 바이그램을 함께 찾는다.\n")
    kebab.write("empty.md", "")
    kebab.ingest()
    return kebab


def start(terminal: Terminal, command: str, **environ: str) -> None:
    settings = " ".join(f"{name}={shlex.quote(value)}" for name, value in environ.items())
    terminal.type(f"{settings} {command}; echo left with $?", "Enter")
    terminal.wait_for("documents")


def tui(kebab: InstalledKebab) -> str:
    return shlex.join(kebab.command("tui"))


def test_a_search_in_a_real_terminal(kebab: InstalledKebab, terminal: Terminal) -> None:
    kebab.write("locks.md", "# Locks\n\nA search stays readable to you while the ingest runs.\n")
    kebab.write("검색.md", "# 검색 기록\n\n한국어 형태소와 바이그램을 함께 찾는다.\n")
    kebab.ingest()

    start(terminal, tui(kebab))
    terminal.type("형태소")
    whole = ("1 hit in", "▌  1 ━", ">3 ┃ 한국어 형태소와 바이그램을 함께 찾는다.")
    found = terminal.wait_until(lambda screen: all(part in screen for part in whole))
    terminal.escape("NORMAL")
    terminal.type("?")
    terminal.wait_for("Keys of Search")
    terminal.escape("Keys of Search", shown=False)
    terminal.type("q")
    left = terminal.wait_for("left with 0")

    assert all(len(line) <= 80 for line in found.splitlines())
    assert "┃" not in left


def take_the_tour(terminal: Terminal, words: str, keep: Callable[[str, str], None]) -> None:
    """Visit every pane and popup; *keep* is given the name and the text of each screen."""
    keep("start", terminal.settled())
    terminal.type(words)
    terminal.wait_for(" in ")
    keep("search", terminal.settled())
    terminal.escape("NORMAL")
    terminal.type("j")
    pane = terminal.settled()
    keep("search-normal", pane)
    terminal.type("t")
    terminal.wait_for("[Why this hit]")
    keep("trace", terminal.settled())
    terminal.escape("[Why this hit]", shown=False)
    terminal.wait_for_body(pane)
    terminal.type("f")
    terminal.wait_for("Enter applies")
    keep("filter", terminal.settled())
    terminal.escape("Enter applies", shown=False)
    terminal.type("o")
    terminal.wait_for("▾ Text")
    keep("inspect-chunk", terminal.settled())
    terminal.escape("▾ Text", shown=False)
    terminal.type("1")
    terminal.wait_for("Documents: ")
    keep("library", terminal.settled())
    terminal.type("l")
    terminal.wait_for("reason")
    keep("ledger", terminal.settled())
    terminal.type("l")
    terminal.type("Enter")
    terminal.wait_for("▾ About")
    keep("inspect-document", terminal.settled())
    terminal.type("3")
    terminal.wait_for("Ask a question")
    terminal.type(words, "Enter")
    terminal.wait_for("Answer, word for word:")
    keep("ask", terminal.settled())
    terminal.escape("NORMAL")
    terminal.type("5")
    terminal.wait_for("Past runs")
    keep("jobs", terminal.settled())
    terminal.type("C-p")
    terminal.wait_for("Search for commands")
    keep("palette", terminal.settled())
    terminal.escape("Search for commands", shown=False)
    terminal.type("q")
    terminal.wait_for("left with 0")


def test_a_tour_of_every_pane(notes: InstalledKebab, terminal: Terminal) -> None:
    screens: dict[str, str] = {}
    start(terminal, tui(notes))
    take_the_tour(terminal, "readable search", screens.__setitem__)

    assert len(screens) == 12
    assert "62 documents" in screens["start"]
    assert "1 skipped" in screens["ledger"]
    assert "ingest  completed" in screens["jobs"]
    for name, screen in screens.items():
        assert all(len(line) <= 80 for line in screen.splitlines()), name


@pytest.mark.skipif(not TOUR, reason="KEBAB_TEST_TOUR names no configuration")
def test_a_tour_over_a_large_knowledge_base(terminal: Terminal) -> None:
    def keep(name: str, screen: str) -> None:
        Path(TOUR).with_name(f"tour-{name}.txt").write_text(screen, "utf-8")

    start(terminal, shlex.join([KEBAB, "--config", TOUR, "tui"]))
    take_the_tour(terminal, "dead lock writer", keep)


def test_the_screen_is_whole_after_the_editor(notes: InstalledKebab, terminal: Terminal) -> None:
    """The editor gets the file and the line, the whole terminal, and Ctrl-C."""
    editor = notes.home / "vi"
    editor.write_text('#!/bin/sh\ntrap "" INT\nclear\necho "EDITING $*"\nread _\n', "utf-8")
    editor.chmod(0o755)

    start(terminal, tui(notes), EDITOR=str(editor))
    terminal.type("형태소")
    terminal.wait_for("1 hit in")
    terminal.escape("NORMAL")
    before = terminal.settled()
    terminal.type("g")
    editing = terminal.wait_for("EDITING")
    terminal.type("C-c")
    terminal.type("Enter")
    terminal.wait_for("back from")

    assert f"EDITING +1 {notes.notes}/검색.md" in editing.replace("\n", "")
    assert "NORMAL" not in editing
    terminal.wait_for_body(before)
    terminal.type("q")
    terminal.wait_for("left with 0")


def test_the_first_minute_leads_from_nothing_to_a_hit(
    kebab: InstalledKebab, terminal: Terminal
) -> None:
    """No sources, no documents: a folder is offered, completed, looked into and ingested."""
    kebab.write("locks.md", "# Locks\n\nA search stays readable to you while the ingest runs.\n")
    text = kebab.config.read_text("utf-8")
    kebab.config.write_text(text[: text.index("[[sources]]")], "utf-8")

    terminal.type(f"{tui(kebab)}; echo left with $?", "Enter")
    terminal.wait_for("Add a folder")
    terminal.type("C-u")
    terminal.type(f"{kebab.notes}"[:-2])
    terminal.wait_for("notes/")
    terminal.type("Tab")
    terminal.type("Enter")
    terminal.wait_for("1 file (1 markdown)")
    terminal.type("Enter")
    terminal.wait_for("ingest done: 1 new")
    terminal.wait_for("1 document, ")
    terminal.type("readable")
    terminal.wait_for("1 hit in")
    terminal.type("C-c")
    terminal.wait_for("left with 0")


def test_an_editor_that_is_not_there_is_an_error(notes: InstalledKebab, terminal: Terminal) -> None:
    start(terminal, tui(notes), EDITOR="/no/such/editor")
    terminal.type("형태소")
    terminal.wait_for("1 hit in")
    terminal.escape("NORMAL")
    terminal.type("g")
    terminal.wait_for("Error: io_error")
    terminal.escape("Error: io_error", shown=False)
    terminal.type("q")
    terminal.wait_for("left with 0")


def test_a_resized_terminal_is_drawn_anew(notes: InstalledKebab, terminal: Terminal) -> None:
    """At every size all of it is there, from the first line to the hints in the last.

    Whoever exports COLUMNS and LINES has those of the terminal that was.
    """
    start(terminal, tui(notes), COLUMNS="80", LINES="24")
    terminal.type("형태소")
    terminal.wait_for("1 hit in")
    first = terminal.settled()
    for width, height in ((140, 40), (40, 10), (80, 24)):
        terminal.resize(width, height)

        def is_whole(screen: str, height: int = height) -> bool:
            rows = screen.splitlines()
            return (
                len(rows) == height
                and rows[0].startswith(" INSERT")
                and rows[1].startswith(" hybrid: 형태소")
                and rows[-2].startswith(" kebab ")
                and rows[-1].startswith(" F1 help")
                and any("  1 ━" in row and "검색" in row for row in rows)
            )

        screen = terminal.wait_until(is_whole)
        assert all(len(line) <= width for line in screen.splitlines())

    terminal.wait_until(lambda screen: screen == first)


def test_a_resize_that_comes_back_to_the_old_size_draws_everything(
    kebab: InstalledKebab, terminal: Terminal
) -> None:
    """Smaller and large again while the machine is busy: the size is the old one, the text gone."""
    kebab.ingest()
    start(terminal, tui(kebab))
    first = terminal.settled()
    terminal.erase()
    terminal.wait_for("documents", shown=False)
    os.kill(terminal.program(), signal.SIGWINCH)

    terminal.wait_until(lambda screen: screen == first)


def test_ctrl_z_leads_to_the_shell_and_fg_back(notes: InstalledKebab, terminal: Terminal) -> None:
    start(terminal, tui(notes))
    terminal.type("형태소")
    terminal.wait_for("1 hit in")
    before = terminal.settled()
    terminal.type("C-z")
    terminal.wait_for("left with")
    assert "hybrid:" not in terminal.screen()
    terminal.type("fg", "Enter")
    terminal.wait_for_body(before)
    terminal.escape("NORMAL")
    terminal.type("q")
    terminal.wait_for("hybrid:", shown=False)


def test_bytes_that_are_no_utf_8_end_nothing(notes: InstalledKebab, terminal: Terminal) -> None:
    """A terminal may speak Latin 1, or tell of clicks by bytes."""
    start(terminal, tui(notes))
    terminal.send(b"\x1b[M \xc8!", notes.home / "sent")
    terminal.settled()
    terminal.type("형태소")
    terminal.wait_for("1 hit in")
    terminal.type("C-c")
    terminal.wait_for("left with 0")


def ended(process: int) -> bool:
    """Say whether a process is gone, waiting for it for a while."""
    deadline = time.monotonic() + PATIENCE_SECS
    while time.monotonic() < deadline:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def begin_an_ingest(kebab: InstalledKebab, terminal: Terminal) -> int:
    """Start an ingest of many new files in the interface, and return its process."""
    for number in range(NEW):
        kebab.write(
            f"new/note-{number:04}.md",
            f"# New {number}\n\n" + "This is one more of the lines that are in it.\n" * 40,
        )
    start(terminal, tui(kebab))
    process = terminal.program()
    terminal.escape("NORMAL")
    terminal.type("5")
    terminal.wait_for("Past runs")
    terminal.type("r")
    terminal.wait_until(lambda screen: bool(re.search("searchable: [1-9]", screen)))
    return process


def check_whole(kebab: InstalledKebab) -> None:
    """Nothing is broken: the next ingest goes on, and the deep check passes."""
    kebab.ingest()
    assert kebab.json("doctor", "--deep")["ok"]
    states = {file["state"] for file in kebab.json("status")["files"]}
    assert states == {"indexed", "skipped"}
    assert kebab.json("stats")["doc_count"] == 62 + NEW


def test_a_closed_terminal_ends_the_ingest_cleanly(
    notes: InstalledKebab, terminal: Terminal
) -> None:
    process = begin_an_ingest(notes, terminal)
    terminal.close()

    assert ended(process)
    assert not (notes.data_dir / "run" / "job.json").exists()
    check_whole(notes)


def test_a_killed_interface_leaves_no_broken_state(
    notes: InstalledKebab, terminal: Terminal
) -> None:
    process = begin_an_ingest(notes, terminal)
    os.kill(process, 9)
    terminal.wait_for("left with 137")

    check_whole(notes)


def test_esc_cancels_and_the_next_run_goes_on(notes: InstalledKebab, terminal: Terminal) -> None:
    begin_an_ingest(notes, terminal)
    terminal.escape("ingest cancelled")
    cancelled = terminal.wait_for("aborted")
    terminal.type("q")
    terminal.wait_for("left with 0")

    assert "ingest" in cancelled
    check_whole(notes)
