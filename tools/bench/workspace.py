"""From nothing to hits: a folder that nobody set up, with ``kebab search --in``.

The folder is copied first, since one file of it is edited. Every round begins with an empty
cache; only the prepared model stays, as on any machine that has run kebab once. Medians of
whole processes are printed, wall time and processor time, workers included; beside them
what else was named, run over the same copy.

    python tools/bench/workspace.py ~/src/some-clone
    python tools/bench/workspace.py ~/src/some-clone --beside 'rg -n {word} {folder}'
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from machine import describe_machine, machine_line, use_private_cache
from startup import KEBAB, Usage, run_process
from tables import quantile, render_table

__all__ = ["main"]

_MODELS = "models"
_TEXTS = {".go", ".js", ".md", ".py", ".rs", ".ts", ".txt"}
"""One of these is edited; where there is none, a new one is written."""


class _Bench:
    """A copy of a folder, and a home whose caches can be emptied."""

    def __init__(self, folder: Path, room: Path, most: int | None) -> None:
        self.folder = room / "folder"
        self.home = room / "home"
        self._models = Path(os.environ["XDG_CACHE_HOME"], "kebab", _MODELS)
        self._environ = {
            **os.environ,
            "HOME": str(self.home),
            "XDG_CACHE_HOME": str(room / "cache"),
        }
        self._cache = room / "cache/kebab"
        _copy(folder, self.folder, most)
        self.edited = _largest_text(self.folder)

    def forget(self) -> None:
        """Empty the caches; the prepared model is linked into them."""
        shutil.rmtree(self._cache, ignore_errors=True)
        self._cache.mkdir(parents=True)
        self._models.mkdir(parents=True, exist_ok=True)
        (self._cache / _MODELS).symlink_to(self._models)

    def search(self, question: str, mode: str) -> Usage:
        return self._run("search", question, "--mode", mode)

    def read_all(self) -> Usage:
        return self._run("status")

    def _run(self, command: str, *words: str) -> Usage:
        return run_process([str(KEBAB), command, *words, "--in", str(self.folder)], self._environ)

    def counts(self) -> dict[str, int]:
        """Return what the folder holds, as the index counts."""
        words = [str(KEBAB), "--json", "stats", "--in", str(self.folder)]
        done = subprocess.run(words, env=self._environ, capture_output=True, text=True, check=True)
        found: dict[str, int] = json.loads(done.stdout)
        return found


def _copy(folder: Path, target: Path, most: int | None) -> None:
    left = sys.maxsize if most is None else most
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if left and path.is_file() and not path.is_symlink() and ".git" not in inside.parts:
            (target / inside).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target / inside)
            left -= 1


def _largest_text(folder: Path) -> Path:
    texts = [path for path in folder.rglob("*") if path.suffix in _TEXTS]
    return max(texts, key=lambda path: path.stat().st_size, default=folder / "new.txt")


def _round(bench: _Bench, given: argparse.Namespace, taken: dict[str, list[Usage]]) -> None:
    question = given.question
    bench.forget()
    taken["first, by words"].append(bench.search(question, "lexical"))
    taken["again, by words"].append(bench.search(question, "lexical"))
    taken["another question, by words"].append(bench.search(given.another, "lexical"))
    taken["all that is left"].append(bench.read_all())
    taken["again, all read"].append(bench.search(question, "lexical"))
    with bench.edited.open("a", encoding="utf-8") as file:
        file.write("\n")
    taken["after one edit, by words"].append(bench.search(question, "lexical"))
    taken["first time by meaning, too"].append(bench.search(question, "hybrid"))
    taken["again, by meaning, too"].append(bench.search(question, "hybrid"))


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--question", default="where is the configuration read")
    parser.add_argument("--another", default="who may write at the same time")
    parser.add_argument("--word", default="configuration", help="what tools for words look for")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--most", type=int, help="copy so many files at most")
    parser.add_argument("--beside", action="append", default=[], help="a command to compare with")
    given = parser.parse_args()
    use_private_cache()
    print(machine_line(describe_machine()))
    taken: dict[str, list[Usage]] = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="kebab-workspace-") as room:
        bench = _Bench(given.folder, Path(room), given.most)
        bench.forget()
        bench.search(given.question, "hybrid")  # compiles modules, prepares the model
        counts = bench.counts()
        for _ in range(given.rounds):
            _round(bench, given, taken)
            for command in given.beside:
                known = {"folder": bench.folder, "word": given.word, "question": given.question}
                words = [part.format_map(known) for part in shlex.split(command)]
                taken[Path(words[0]).name].append(run_process(words))
        size = sum(path.stat().st_size for path in bench.folder.rglob("*") if path.is_file())
    print(
        f"{counts['doc_count']:,} documents, {counts['chunk_count']:,} chunks, {size / 1e6:.1f} MB"
    )
    rows = [
        (
            name,
            f"{quantile([usage.wall for usage in found], 0.5):.2f}",
            f"{quantile([usage.cpu for usage in found], 0.5):.2f}",
            f"{max(usage.peak_bytes for usage in found) / 1e6:.0f}",
        )
        for name, found in taken.items()
    ]
    print(render_table(("", "wall s", "cpu s", "peak MB"), rows))


if __name__ == "__main__":
    main()
