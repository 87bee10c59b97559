"""How long the terminal interface keeps a person waiting, while it works.

    python tools/bench/tui.py                         over documents that it makes
    python tools/bench/tui.py --documents 4000 --keys 200

Two figures, for each of three situations: nothing runs, an ingest indexes, an ingest
embeds; searches go on in all of them, since typing starts them.

key to frame   `kebab tui` in a terminal of 80 by 24 that this program plays: from the
               byte of a key to the bytes that draw what the key does. A letter typed
               into the query, and Tab, which draws a whole other pane.
loop lag       the application in this process, headless: how much later than asked for
               a sleep of 5 ms ends. Nothing can be drawn sooner than that.

The promise is 100 ms for a key.
"""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import os
import pty
import random
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from machine import describe_machine, machine_line, use_private_cache
from tables import quantile, render_table
from textual.widgets import Input

from kb_app import KnowledgeBase, load_config
from kb_tui.app import KbTui

__all__ = ["Screen", "loop_lag", "main", "make_notes", "summary_row"]

KEBAB = Path(sys.executable).with_name("kebab")
WORDS = (
    *("lock", "writer", "reader", "index", "chunk", "passage", "vector", "search", "ingest"),
    *("batch", "commit", "publish", "crash", "replay", "outbox", "truth", "snapshot", "merge"),
    *("token", "model", "window", "overlap", "heading", "symbol", "citation"),
)
LETTERS = [chr(code) for code in range(0x3B1, 0x3C9)]
PANES = ("1 Library", "2 Search", "3 Ask", "4 Inspect", "5 Jobs")
PROMISED_MS = 100.0
TIMEOUT_S = 10.0
CLOSING_S = 60.0
SITUATIONS = ("nothing runs", "indexing", "embedding")


def make_notes(folder: Path, first: int, last: int) -> None:
    """Write notes *first* to *last*; the same ones for the same numbers."""
    for number in range(first, last):
        rng = random.Random(number)  # noqa: S311 - the same notes each time
        lines = [" ".join(rng.choices(WORDS, k=rng.randint(6, 16))) + "." for _ in range(60)]
        sections = [f"## {rng.choice(WORDS)} {at}\n\n" + "\n".join(lines[at::6]) for at in range(6)]
        path = folder / f"{number // 100:03}" / f"note-{number:05}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Note {number}\n\n" + "\n\n".join(sections) + "\n", "utf-8")


class Screen:
    """``kebab tui`` in a terminal of 80 by 24, and what it writes there."""

    def __init__(self, config: Path) -> None:
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            os.environ["TERM"] = "xterm-256color"
            os.execv(KEBAB, [str(KEBAB), "--config", str(config), "tui"])  # noqa: S606 - ours
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))

    def press(self, key: str, drawn: str) -> float:
        """Press *key*, and return the seconds until *drawn* is drawn."""
        self.drain()
        started = time.perf_counter()
        os.write(self._terminal, key.encode())
        self.wait_for(drawn)
        return time.perf_counter() - started

    def wait_for(self, *texts: str, timeout: float = TIMEOUT_S) -> str:
        """Read until one of *texts* is drawn, and return it."""
        seen = b""
        deadline = time.perf_counter() + timeout
        while (left := deadline - time.perf_counter()) > 0:
            if select.select([self._terminal], [], [], left)[0]:
                seen += os.read(self._terminal, 65536)
                for text in texts:
                    if text.encode() in seen:
                        return text
        raise SystemExit(f"none of {texts} was drawn within {timeout} s")

    def drain(self, seconds: float = 0.0) -> bytes:
        """Read what is there, and for *seconds* what comes."""
        seen, deadline = b"", time.perf_counter() + seconds
        while select.select([self._terminal], [], [], max(0, deadline - time.perf_counter()))[0]:
            seen += os.read(self._terminal, 65536)
        return seen

    def close(self) -> None:
        """Hang up, as closing the window does."""
        os.close(self._terminal)
        deadline = time.perf_counter() + CLOSING_S
        while time.perf_counter() < deadline:
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                return
            time.sleep(0.05)
        os.kill(self.pid, signal.SIGUSR1)
        time.sleep(1)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        raise SystemExit("the interface outlived its terminal")


def keys_to_frames(screen: Screen, keys: int, over: bytes) -> tuple[list[float], list[float]]:
    """Return seconds of letters and of Tabs, until *keys* letters are typed or *over* is drawn."""
    rng = random.Random(5)  # noqa: S311 - the same pauses each time
    letters: list[float] = []
    tabs: list[float] = []
    pane = 1
    screen.press("2", f"[{PANES[pane]}]")
    for number in range(keys):
        if number % 20 == 0:
            os.write(screen._terminal, b"\x15")  # noqa: SLF001 - Ctrl-U, another query
            screen.drain(0.3)
        letters.append(screen.press(LETTERS[number % len(LETTERS)], LETTERS[number % len(LETTERS)]))
        # Now and then longer than the 200 ms after which a search begins.
        if over in screen.drain(rng.choice((0.03, 0.1, 0.35))):
            break
    for _ in range(keys // 4):
        pane = (pane + 1) % len(PANES)
        tabs.append(screen.press("\t", f"[{PANES[pane]}]"))
        if over in screen.drain(0.15):
            break
    return letters, tabs


async def loop_lag(config: Path, seconds: float, situation: str) -> list[float]:
    """Return how late sleeps of 5 ms ended while *situation* lasted, at most *seconds*."""
    late = []
    with KnowledgeBase.open(load_config(config)) as kb:
        app = KbTui(kb)
        async with app.run_test(size=(80, 24)) as pilot:
            if situation != SITUATIONS[0]:
                app.runner.start()
                await _until_stage(app, situation)
            deadline = time.perf_counter() + seconds
            asked = 0
            while time.perf_counter() < deadline and _is_stage(app, situation):
                started = time.perf_counter()
                await asyncio.sleep(0.005)
                late.append(time.perf_counter() - started - 0.005)
                asked += 1
                if asked % 60 == 0:
                    app.pane.query_one(Input).insert_text_at_cursor(WORDS[asked % 25] + " ")
            app.runner.abandon()
            await asyncio.to_thread(app.runner.wait, 60)
            await pilot.pause()
    return late


def _is_stage(app: KbTui, situation: str) -> bool:
    progress = app.runner.progress
    return situation == SITUATIONS[0] or (progress is not None and progress.stage == situation)


async def _until_stage(app: KbTui, situation: str) -> None:
    while app.runner.is_running and not _is_stage(app, situation):
        await asyncio.sleep(0.02)


def summary_row(name: str, seconds: list[float]) -> list[str]:
    """Return a row of the table: how many, median, 95 and 99 of 100, the worst, in ms."""
    if not seconds:
        return [name, "0", "-", "-", "-", "-"]
    figures = [quantile(seconds, q) * 1000 for q in (0.5, 0.95, 0.99)] + [max(seconds) * 1000]
    return [name, str(len(seconds)), *(f"{ms:.1f}" for ms in figures)]


@contextmanager
def _knowledge_base(documents: int) -> Iterator[tuple[Path, Path]]:
    """Yield a configuration over *documents* that are indexed, and the folder for more."""
    with tempfile.TemporaryDirectory(prefix="kebab-tui-") as name:
        folder = Path(name)
        make_notes(folder / "notes", 0, documents)
        config = folder / "config.toml"
        config.write_text(
            f'[storage]\ndata_dir = "data"\n[log]\ndir = "log"\n'
            f'[[sources]]\nid = "notes"\nroot = "{folder / "notes"}"\n',
            "utf-8",
        )
        subprocess.run([KEBAB, "--config", config, "--quiet", "ingest", "--no-embed"], check=True)
        # Prepares the model, so that no measured process does.
        subprocess.run([KEBAB, "--config", config, "--quiet", "doctor"], check=True)
        yield config, folder / "notes"


def measure(config: Path, notes: Path, documents: int, keys: int) -> list[list[str]]:
    """Return the rows of the table."""
    rows, made = [], documents
    for situation in SITUATIONS:
        if situation == "indexing":
            make_notes(notes, made, made := made + documents)
        screen = Screen(config)
        try:
            screen.wait_for("documents")
            screen.drain(0.5)
            screen.press("\x1b", "NORMAL")
            time.sleep(0.3)
            screen.press("1", f"[{PANES[0]}]")
            if situation != SITUATIONS[0]:
                os.write(screen._terminal, b"r")  # noqa: SLF001
                screen.wait_for(f"ingest: {situation}", timeout=300)
            over = b"ingest: embedding" if situation == "indexing" else b"ingest done"
            letters, tabs = keys_to_frames(screen, keys, over)
        finally:
            screen.close()
        rows.append(summary_row(f"letter to frame, {situation}", letters))
        rows.append(summary_row(f"Tab to frame, {situation}", tabs))
        if situation == "indexing":
            make_notes(notes, made, made := made + documents)
        late = asyncio.run(loop_lag(config, 20.0, situation))
        rows.append(summary_row(f"loop lag, {situation}", late))
    return rows


def main(words: list[str] | None = None) -> int:
    """Measure, print, and fail where a key took longer than promised."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--keys", type=int, default=120)
    asked = parser.parse_args(words)
    use_private_cache()
    print(machine_line(describe_machine()))
    with _knowledge_base(asked.documents) as (config, notes):
        rows = measure(config, notes, asked.documents, asked.keys)
    print(render_table(["milliseconds", "n", "median", "p95", "p99", "worst"], rows))
    late = [row for row in rows if "frame" in row[0] and row[5] != "-"]
    with suppress(ValueError):
        worst = max(float(row[5]) for row in late)
        print(f"worst key: {worst:.0f} ms, promised {PROMISED_MS:.0f} ms")
        return int(worst > PROMISED_MS)
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
