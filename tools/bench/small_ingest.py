"""What an ingest costs: a vault of notes or a real tree, some of it changed, and nothing changed.

A vault is made of sentences of this project's documentation: notes with front matter,
headings, lists, links between notes, tags and code. The installed command indexes it by
words alone; then one note is changed; then nothing is. Processor time is what the kernel says
that a process and all its children used, user and system.

    python tools/bench/small_ingest.py                        kebab alone
    python tools/bench/small_ingest.py --recoll               and recollindex, if it is on PATH
    python tools/bench/small_ingest.py --qmd "bun qmd.js"     and qmd, by the command that runs it
    python tools/bench/small_ingest.py --tree DIR --recoll    copies of DIR; one of a hundred files
                                                              is changed

Everyone gets the same files in turn; of notes with a first, unmeasured round for the page cache
and compiled modules. A walk that asks for the size and time of each file, and does nothing else,
is the floor of whatever Python program looks for changes; beside a tree stand ``git status`` of
all of it, committed before, and ``rg --files``, which make no index. Medians are printed, and
each peer's as the ratio of kebab to it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from machine import ROOT, describe_machine, machine_line, use_private_cache
from startup import KEBAB, SETTINGS, Usage, run_process
from tables import quantile, render_table

__all__ = ["Indexer", "main", "make_vault"]

STEPS = ("all new", "some changed", "nothing changed")
_CHANGED = 100
"""Of a tree every so manieth file is changed, of notes one."""
_FOLDERS = ("daily", "projects", "projects/garden", "reading", "people", "reference")
_SENTENCE = re.compile(r"^[A-Z][^|`#]{30,220}\.$")
_GIT_AUTHOR = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")


@dataclass(frozen=True, slots=True)
class Indexer:
    """A program that indexes a folder, as of a fresh start or again."""

    command: Callable[[Path, Path], Sequence[str]]
    """Its command for a vault and a folder of its own."""
    prepare: Callable[[Path, Path], Mapping[str, str]]
    """Set it up for a vault, in a folder of its own; return what is added to the environment."""


def make_vault(folder: Path, notes: int, seed: int = 13) -> list[Path]:
    """Write *notes* notes of a few kilobytes each, the same for the same seed."""
    chance = random.Random(seed)  # noqa: S311 - repeatable, nothing secret
    sentences = [
        line.strip()
        for page in sorted((ROOT / "docs").rglob("*.md"))
        for line in page.read_text("utf-8").splitlines()
        if _SENTENCE.match(line.strip())
    ]
    words = sorted({w for s in sentences for w in re.findall(r"[a-z]{4,}", s)})
    names = [f"{' '.join(chance.sample(words, 2))} {number}" for number in range(notes)]
    paths = []
    for name in names:
        path = folder / chance.choice(_FOLDERS) / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_note(chance, name, names, sentences, words), "utf-8")
        paths.append(path)
    return paths


def _note(
    chance: random.Random,
    name: str,
    names: Sequence[str],
    sentences: Sequence[str],
    words: Sequence[str],
) -> str:
    tags = ", ".join(chance.sample(words, 2))
    date = f"20{chance.randint(15, 25)}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
    parts = [f"---\ntitle: {name}\ntags: [{tags}]\ncreated: {date}\n---\n\n# {name.title()}\n"]
    for _ in range(chance.randint(2, 7)):
        parts.append(f"## {' '.join(chance.sample(words, 3)).capitalize()}\n")
        parts += [
            " ".join(chance.choices(sentences, k=chance.randint(2, 5))) + "\n"
            for _ in range(chance.randint(1, 3))
        ]
        items = chance.choices(sentences, k=chance.randint(0, 4))
        parts.append("\n".join(f"- [[{chance.choice(names)}]] {item}" for item in items) + "\n")
    parts.append(f"```python\n{chance.choice(words)} = {chance.randint(1, 99)}\n```\n")
    parts.append(f"#{chance.choice(words)} see [here](<{chance.choice(names)}.md>)\n")
    return "\n".join(parts)


def _kebab() -> Indexer:
    def prepare(vault: Path, home: Path) -> Mapping[str, str]:
        settings = SETTINGS.format(root=json.dumps(str(vault)))
        (home / "config.toml").write_text(settings, "utf-8")
        return {}

    def command(_: Path, home: Path) -> Sequence[str]:
        return [str(KEBAB), "--config", str(home / "config.toml"), "ingest", "--no-embed"]

    return Indexer(command, prepare)


def _bare_walk() -> Indexer:
    program = (
        "import os, sys\n"
        "for folder, _, names in os.walk(sys.argv[1]):\n"
        "    for name in names: os.stat(os.path.join(folder, name))\n"
    )
    return Indexer(lambda vault, _: [sys.executable, "-c", program, str(vault)], lambda *_: {})


def _recoll() -> Indexer:
    def prepare(vault: Path, home: Path) -> Mapping[str, str]:
        (home / "recoll.conf").write_text(f"topdirs = {vault}\n", "utf-8")
        return {"HOME": str(home)}

    return Indexer(lambda _, home: ["recollindex", "-c", str(home)], prepare)


def _git() -> Indexer:
    def prepare(vault: Path, _: Path) -> Mapping[str, str]:
        for words in (["init", "-q"], ["add", "-A"], [*_GIT_AUTHOR, "commit", "-qm", "all"]):
            subprocess.run(["git", *words], cwd=vault, check=True)  # noqa: S607 - that of PATH
        return {}

    return Indexer(lambda vault, _: ["git", "-C", str(vault), "status", "--short"], prepare)


def _ripgrep() -> Indexer:
    return Indexer(lambda vault, _: ["rg", "--files", str(vault)], lambda *_: {})


def _qmd(runner: Sequence[str], pattern: str) -> Indexer:
    def prepare(vault: Path, home: Path) -> Mapping[str, str]:
        environ = {
            "XDG_CACHE_HOME": str(home / "cache"),
            "QMD_CONFIG_DIR": str(home / "config"),
            "QMD_FORCE_CPU": "1",
        }
        (home / "config").mkdir()
        (home / "config" / "index.yml").write_text(
            f"collections:\n  notes:\n    path: {json.dumps(str(vault))}\n"
            f"    pattern: {json.dumps(pattern)}\n",
            "utf-8",
        )
        return environ

    return Indexer(lambda _vault, _home: [*runner, "update"], prepare)


Make = Callable[[Path], Sequence[Path]]
"""Makes what is indexed, in a folder; returns its files."""


def copied(tree: Path) -> Make:
    """Return what makes copies of *tree*."""

    def make(folder: Path) -> Sequence[Path]:
        shutil.copytree(tree, folder, symlinks=True)
        return sorted(path for path in folder.rglob("*") if path.is_file())

    return make


def measure(
    indexers: Mapping[str, Indexer], make: Make, rounds: int, *, changed: int | None, warm: bool
) -> dict[str, dict[str, list[Usage]]]:
    """Return what each step cost each of *indexers*, round by round.

    Every *changed*-th file is changed, or one in the middle; a *warm* first round counts not.
    """
    taken: dict[str, dict[str, list[Usage]]] = {name: defaultdict(list) for name in indexers}
    for number in range(rounds + warm):
        for name, indexer in indexers.items():
            with tempfile.TemporaryDirectory(prefix="kebab-bench-") as folder:
                vault, home = Path(folder) / "vault", Path(folder) / "home"
                home.mkdir()
                paths = make(vault)
                environ = {**os.environ, **indexer.prepare(vault, home)}
                for step in STEPS:
                    if step == "some changed":
                        _change(paths[::changed] if changed else [paths[len(paths) // 2]])
                    usage = run_process(indexer.command(vault, home), environ)
                    if number >= warm:
                        taken[name][step].append(usage)
    return taken


def _change(paths: Sequence[Path]) -> None:
    for path in paths:
        with path.open("a", encoding="utf-8") as file:
            file.write("\nA line that was not there before.\n")


def render(taken: Mapping[str, Mapping[str, Sequence[Usage]]], files: int) -> str:
    """Return the table: seconds, peak memory and files a second of each step."""
    rows, ours = [], {step: _cpu(usages) for step, usages in taken["kebab"].items()}
    for name, steps in taken.items():
        for step, usages in steps.items():
            cpu, wall = _cpu(usages), quantile([usage.wall for usage in usages], 0.5)
            peak = max(usage.peak_bytes for usage in usages) / 1e6
            told = (f"{cpu:.2f}", f"{wall:.2f}", f"{peak:.0f}", f"{files / max(cpu, 0.001):,.0f}")
            rows.append((f"{name}: {step}", *told, f"{ours[step] / max(cpu, 0.001):.1f}"))
    columns = ("", "CPU s", "wall s", "peak MB", "files a CPU s", "kebab / it")
    return render_table(columns, rows)


def _cpu(usages: Sequence[Usage]) -> float:
    return quantile([usage.cpu for usage in usages], 0.5)


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--notes", type=int, default=540)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--recoll", action="store_true", help="measure recollindex, too")
    parser.add_argument("--qmd", help="measure qmd, too: the command that runs it")
    parser.add_argument("--tree", type=Path, help="a folder, of which copies are indexed")
    options = parser.parse_args(words)
    indexers = {"kebab": _kebab(), "walk and stat": _bare_walk()}
    if options.tree:
        indexers |= {"git status": _git(), "rg --files": _ripgrep()}
    if options.recoll:
        if shutil.which("recollindex") is None:
            parser.error("recollindex is not on PATH")
        indexers["recoll"] = _recoll()
    if options.qmd:
        pattern = "**/*" if options.tree else "**/*.md"
        indexers["qmd"] = _qmd(shlex.split(options.qmd), pattern)
    use_private_cache()
    make = copied(options.tree) if options.tree else partial(make_vault, notes=options.notes)
    many = sum(path.is_file() for path in options.tree.rglob("*")) if options.tree else 0
    changed, is_warm = (_CHANGED, False) if options.tree else (None, True)
    taken = measure(indexers, make, options.rounds, changed=changed, warm=is_warm)
    print(f"{machine_line(describe_machine())}\n\n{render(taken, many or options.notes)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
