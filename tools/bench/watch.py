"""What moved since a release: the watched figures beside those of an earlier commit, in pairs.

Both commits are built into wheels by their own ``tools/build.py`` and unpacked, so what is
compared is what would be installed. Each has notes and an index of its own, and every command
is started as a process: the present one, the earlier one and the present one again, in turns.
Processor time, user and system, is what the kernel says.

    python tools/bench/watch.py                      against the tag of the last release
    python tools/bench/watch.py --against COMMIT     against another one
    python tools/bench/watch.py --rounds 30          finer

The present one beside itself is the noise: nothing in it differs, so whatever its pairs show
is the machine. A figure **moved** where the whole interval of its ratio (95 %, by ranks) lies
outside of that of the noise. The exit code is 1 where one got dearer.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from machine import ROOT, describe_machine, machine_line, use_private_cache
from small_ingest import make_vault
from startup import QUESTION, SETTINGS, run_process
from tables import milliseconds, quantile, render_table

__all__ = ["Moved", "Side", "interval", "last_release", "main", "median_interval_ranks", "moved"]

_START = """\
import sys
sys.stdin = open(sys.argv.pop(1))
from kb_cli.main import main
sys.argv[0] = "kebab"
sys.exit(main())
"""
_BULK = 100
_SURE = 0.95
_FEWEST = 6
"""Fewer pairs have no interval that is as sure."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of both versions: its unpacked wheels, and a folder with notes and an index."""

    site: Path
    home: Path

    def command(self, *words: str) -> list[str]:
        """Return the command that starts this version; what it reads are questions."""
        config = ("--config", str(self.home / "config.toml"))
        return [sys.executable, "-c", _START, str(self.home / "questions"), *config, *words]

    def environ(self) -> dict[str, str]:
        """Return an environment in which this version is found before any other."""
        return {**os.environ, "PYTHONPATH": str(self.site)}

    def cpu(self, *words: str) -> float:
        """Return the seconds that a command takes."""
        return run_process(self.command(*words), self.environ()).cpu


Step = Callable[[Side, int], float]
"""Take a figure of a side, in a round; return seconds."""


def _started(*words: str) -> Step:
    return lambda side, _: side.cpu(*words)


def _after_an_edit(side: Side, number: int) -> float:
    note = min((side.home / "notes").rglob("*.md"))
    note.write_text(f"{note.read_text('utf-8')}\nA line of round {number}.\n", "utf-8")
    return side.cpu("ingest", "--no-embed")


def _anew(side: Side, _: int) -> float:
    fresh = Side(side.site, side.home / "anew")
    shutil.rmtree(fresh.home, ignore_errors=True)
    _settle(fresh, side.home / "notes")
    return fresh.cpu("ingest", "--no-embed")


WATCHED: Mapping[str, Step] = {
    "--help": _started("--help"),
    "search, by words": _started("search", "--mode", "lexical", QUESTION),
    f"search --bulk, {_BULK} questions by words": _started("search", "--bulk"),
    "grep": _started("grep", "reader"),
    "list docs": _started("list", "docs"),
    "status": _started("status"),
    "ingest, nothing changed": _started("ingest", "--no-embed"),
    "ingest, one note changed": _after_an_edit,
    "ingest, all new": _anew,
}


@dataclass(frozen=True, slots=True)
class Moved:
    """A figure of both versions: seconds, their ratio and the noise as intervals, the verdict."""

    now: float
    before: float
    ratio: float
    interval: tuple[float, float]
    noise: tuple[float, float]
    verdict: str


def last_release(changelog: str) -> str | None:
    """Return the tag of the newest release that a changelog has a heading of."""
    found = re.search(r"^## (\d+\.\d+\.\d+)", changelog, re.MULTILINE)
    return f"v{found[1]}" if found else None


def median_interval_ranks(count: int) -> tuple[int, int]:
    """Return between which of *count* ordered values the median lies, 95 times of 100.

    By the sign test: how many lie below the median is binomial. All of them where they are few.
    """
    low, tail = 0, 0.5**count
    while low < count // 2 and 2 * (tail + math.comb(count, low + 1) * 0.5**count) <= 1 - _SURE:
        low += 1
        tail += math.comb(count, low) * 0.5**count
    return low, count - 1 - low


def interval(ratios: Sequence[float]) -> tuple[float, float]:
    """Return the interval of the median of *ratios*."""
    low, high = median_interval_ranks(len(ratios))
    ordered = sorted(ratios)
    return ordered[low], ordered[high]


def moved(now: Sequence[float], before: Sequence[float], again: Sequence[float]) -> Moved:
    """Hold figures of rounds against each other: of now, of before, and of now again."""
    ratios = _quotients(now, before)
    low, high = interval(ratios)
    widest = max(max(edge, 1 / edge) for edge in interval(_quotients(now, again)))
    noise = (1 / widest, widest)
    verdict = "dearer" if low > noise[1] else "cheaper" if high < noise[0] else ""
    middle = quantile(ratios, 0.5)
    return Moved(quantile(now, 0.5), quantile(before, 0.5), middle, (low, high), noise, verdict)


def _quotients(over: Sequence[float], under: Sequence[float]) -> list[float]:
    return [a / b for a, b in zip(over, under, strict=True)]


def build(commit: str, place: Path) -> Path:
    """Build *commit* into wheels below *place*; return where they are unpacked."""
    tree, site = place / "tree", place / "site"
    command = ["git", "archive", commit]
    packed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    with tarfile.open(fileobj=BytesIO(packed.stdout)) as archive:
        archive.extractall(tree, filter="data")
    subprocess.run([sys.executable, "tools/build.py"], cwd=tree, check=True, stdout=sys.stderr)
    for wheel in sorted((tree / "dist").glob("*.whl")):
        with zipfile.ZipFile(wheel) as file:
            file.extractall(site)  # noqa: S202 - a wheel that was just built
    return site


def _settle(side: Side, notes: Path) -> None:
    side.home.mkdir(parents=True, exist_ok=True)
    (side.home / "config.toml").write_text(SETTINGS.format(root=json.dumps(str(notes))), "utf-8")
    names = [path.stem for path in sorted(notes.rglob("*.md"))]
    asked = [{"query": names[n % len(names)], "mode": "lexical"} for n in range(_BULK)]
    (side.home / "questions").write_text("".join(f"{json.dumps(a)}\n" for a in asked), "utf-8")


def prepare(commit: str, place: Path, notes: int) -> Side:
    """Build *commit* and let it index notes of its own."""
    side = Side(build(commit, place), place / "home")
    make_vault(side.home / "notes", notes)
    _settle(side, side.home / "notes")
    side.cpu("ingest", "--no-embed")
    return side


def measure(now: Side, before: Side, rounds: int) -> dict[str, Moved]:
    """Take every watched figure so many times, in turns, after a round that is not counted."""
    found = {}
    for name, step in WATCHED.items():
        taken: dict[str, list[float]] = {"now": [], "before": [], "again": []}
        for number in range(rounds + 1):
            for turn, side in (("now", now), ("before", before), ("again", now)):
                seconds = step(side, number)
                if number:
                    taken[turn].append(seconds)
        found[name] = moved(taken["now"], taken["before"], taken["again"])
    return found


def render(found: Mapping[str, Moved]) -> str:
    """Return the table."""
    rows = [
        (
            name,
            milliseconds(figure.before * 1000),
            milliseconds(figure.now * 1000),
            f"{figure.ratio:.3f}",
            "{:.3f} to {:.3f}".format(*figure.interval),
            "{:.3f} to {:.3f}".format(*figure.noise),
            figure.verdict,
        )
        for name, figure in found.items()
    ]
    head = ("CPU ms of a process", "before", "now", "ratio", "between", "noise", "moved")
    return render_table(head, rows)


def _commit_of(name: str | None) -> str:
    wanted = name or last_release((ROOT / "CHANGELOG.md").read_text("utf-8")) or ""
    command = ["git", "rev-parse", "--verify", "--quiet", f"{wanted}^{{commit}}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"there is no commit {wanted!r}: name one with --against COMMIT")
    return done.stdout.strip()


def main(words: Sequence[str] | None = None) -> int:
    """Build, measure and print; return 1 where a figure got dearer."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--against", metavar="COMMIT", help="default: the tag of the last release")
    parser.add_argument("--rounds", type=int, default=15, help=f"of each; at least {_FEWEST}")
    parser.add_argument("--notes", type=int, default=300, help="how many are indexed")
    options = parser.parse_args(words)
    if options.rounds < _FEWEST:
        parser.error(f"--rounds {options.rounds}: at least {_FEWEST}, or there is no interval")
    against = _commit_of(options.against)
    use_private_cache()
    with tempfile.TemporaryDirectory(prefix="kebab-bench-") as folder:
        before = prepare(against, Path(folder) / "before", options.notes)
        now = prepare("HEAD", Path(folder) / "now", options.notes)
        found = measure(now, before, options.rounds)
    print(f"{machine_line(describe_machine())}\nbefore: {against}; now: HEAD, as committed\n")
    print(render(found))
    return int(any(figure.verdict == "dearer" for figure in found.values()))


if __name__ == "__main__":
    sys.exit(main())
