"""What following a folder costs, and whether it misses anything: real saves, a real process.

A vault of notes is followed by the installed ``kebab watch``, by words alone. Then every note
changes at once, as a checkout changes a tree; then notes are saved a thousand times a minute,
as editors save them, one file put in the place of another; and, in between and after, single
notes come, change, move and go, as in days of work. After each step all that is on disk has to
be indexed as it is, within two minutes of the last change and so long before the look that is
taken now and then: what is found only by that was missed.

    python tools/bench/watching.py                            10,000 notes
    python tools/bench/watching.py --notes 1000 --minutes 1   in a few minutes

Printed for each step: seconds from the last change until all of it was indexed, processor time
of the follower and of its runs, and the memory (proportional set size) of the follower after
it. The command exits 1 if anything was missed, or if the follower grew by more than 10 MB
between the first of its steps of single notes and the last.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from machine import describe_machine, machine_line, use_private_cache
from small_ingest import make_vault
from startup import KEBAB, SETTINGS
from tables import render_table

from kb_app import KnowledgeBase
from kb_app.config import load_config
from kb_core.search import SearchFilters

__all__ = ["Step", "main", "measure"]

_PATIENCE_SECS = 120.0
_GROWTH_MB = 10.0
_SINGLE = "single notes"


@dataclass(frozen=True, slots=True)
class Step:
    """What was done, and what following it took."""

    name: str
    changes: int
    secs: float
    """From the last change until all was indexed; infinite, if something was missed."""
    cpu: float
    pss_mb: float


class Vault:
    """Notes on disk, which only ever get longer: a length tells a state."""

    def __init__(self, home: Path, notes: int) -> None:
        self.root = home / "vault"
        self.notes = make_vault(self.root, notes)
        (home / "config.toml").write_text(SETTINGS.format(root=json.dumps(str(self.root))), "utf-8")
        self.config = load_config(home / "config.toml")
        self.draw = random.Random(5)  # noqa: S311 - repeatable, nothing secret

    def save(self, note: Path) -> None:
        """Put a longer note in the place of *note*, as an editor does."""
        beside = note.with_name(f".{note.name}.tmp-7")
        before = note.read_text("utf-8") if note.exists() else "# A new note\n"
        beside.write_text(f"{before}\nOne more line, number {self.draw.random()}.\n", "utf-8")
        beside.replace(note)

    def change_all(self) -> int:
        """Change every note where it is."""
        for note in self.notes:
            with note.open("a", encoding="utf-8") as file:
                file.write("\nAnother branch says so.\n")
        return len(self.notes)

    def save_quickly(self, minutes: float) -> int:
        """Save forty notes again and again, a thousand times a minute."""
        few, count = self.notes[:40], int(1000 * minutes)
        began = time.monotonic()
        for number in range(count):
            self.save(self.draw.choice(few))
            time.sleep(max(0.0, began + (number + 1) * 0.06 - time.monotonic()))
        return count

    def work(self, changes: int) -> int:
        """Let single notes come, change, move and go, in groups with a pause after each."""
        for _ in range(changes):
            note = self.draw.choice(self.notes)
            kind, name = self.draw.choice("sssssssnmd"), f"{self.draw.random()}.md"
            if kind == "s":
                self.save(note)
            elif kind == "n":
                self.notes.append(self.root / "daily" / name)
                self.save(self.notes[-1])
            elif kind == "m":
                self.notes.remove(note)
                self.notes.append(note.rename(note.with_name(name)))
            else:
                self.notes.remove(note)
                note.unlink()
            time.sleep(self.draw.choice((0, 0, self.draw.random())))
        return changes

    def is_indexed(self, kb: KnowledgeBase) -> bool:
        """Say whether the knowledge base has each note as long as it is on disk, and no other."""
        found: dict[str, int] = {}
        while page := kb.list_docs(SearchFilters(), limit=1000, offset=len(found))["items"]:
            found |= {row["doc_path"]: row["byte_len"] for row in page}
        there = {str(n.relative_to(self.root)): n.stat().st_size for n in self.notes}
        return found == there


def measure(home: Path, notes: int, minutes: float, days: int) -> Iterator[Step]:
    """Follow a vault of *notes* in *home* through all steps; yield each when it is over."""
    vault = Vault(home, notes)
    with following(home) as process:
        yield _taken("all new", process, vault, lambda: notes)
        yield _taken("all changed", process, vault, vault.change_all)
        for day in range(1, days + 1):
            yield _taken(f"{_SINGLE}, {day}", process, vault, lambda: vault.work(300))
            if day == 1:
                quickly = lambda: vault.save_quickly(minutes)  # noqa: E731 - named for its line
                yield _taken("1,000 saves a minute", process, vault, quickly)
                yield _taken("all changed again", process, vault, vault.change_all)


@contextmanager
def following(home: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run the installed command until the block is left; then it has to end well."""
    command = [str(KEBAB), "--config", str(home / "config.toml"), "--json", "watch"]
    with (home / "told").open("wb") as told:
        environ = {**os.environ, "KEBAB_EMBEDDING_MODEL": "none"}
        process = subprocess.Popen(command, stdout=told, stderr=told, env=environ)
    try:
        yield process
        process.send_signal(signal.SIGTERM)
        if process.wait(_PATIENCE_SECS) != 0:
            raise subprocess.CalledProcessError(process.returncode, command)
    finally:
        process.kill()


def _taken(
    name: str, process: subprocess.Popen[bytes], vault: Vault, change: Callable[[], int]
) -> Step:
    before = _cpu_secs(process.pid)
    changes = change()
    since = time.monotonic()
    patience = _PATIENCE_SECS + changes / 50
    is_there = False
    while not is_there and time.monotonic() - since < patience:
        time.sleep(0.2)
        with KnowledgeBase.open(vault.config, readonly=True) as kb:
            told = kb.followed()
            is_there = told is not None and not told.pending and vault.is_indexed(kb)
    secs = time.monotonic() - since if is_there else float("inf")
    time.sleep(1)  # The follower counts what a run took once it has waited for it.
    return Step(name, changes, secs, _cpu_secs(process.pid) - before, _pss_mb(process.pid))


def _cpu_secs(pid: int) -> float:
    """Return the processor time of a process and of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _pss_mb(pid: int) -> float:
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text("utf-8")
    return next(int(line.split()[1]) / 1e3 for line in rollup.splitlines() if line[:4] == "Pss:")


def main(words: Sequence[str] | None = None) -> int:
    """Follow, print each step, and say whether all was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--minutes", type=float, default=3.0, help="of a thousand saves each")
    parser.add_argument("--days", type=int, default=6, help="steps of 300 single changes")
    given = parser.parse_args(words)
    use_private_cache()
    print(machine_line(describe_machine()), flush=True)
    rows, steps = [], []
    with tempfile.TemporaryDirectory(prefix="kebab-bench-") as folder:
        for step in measure(Path(folder), given.notes, given.minutes, given.days):
            steps.append(step)
            figures = (f"{step.secs:.1f}", f"{step.cpu:.1f}", f"{step.pss_mb:.0f}")
            rows.append((step.name, f"{step.changes:,}", *figures))
    print(render_table(("", "changes", "until indexed, s", "CPU s", "PSS MB"), rows))
    single = [step.pss_mb for step in steps if step.name.startswith(_SINGLE)]
    missed = [step.name for step in steps if step.secs == float("inf")]
    grew = single[-1] - single[0]
    print(f"missed: {', '.join(missed) or 'nothing'}; grew by {grew:.1f} MB")
    return int(bool(missed) or grew > _GROWTH_MB)


if __name__ == "__main__":
    sys.exit(main())
