"""What a small ingest costs: a vault of notes, one changed note, and nothing changed.

A vault is made of sentences of this project's documentation: notes with front matter,
headings, lists, links between notes, tags and code. The installed command indexes it by
words alone; then one note is changed; then nothing is. Processor time is what the kernel says
that a process and all its children used, user and system.

    python tools/bench/small_ingest.py                        kebab alone
    python tools/bench/small_ingest.py --recoll               and recollindex, if it is on PATH
    python tools/bench/small_ingest.py --qmd "bun qmd.js"     and qmd, by the command that runs it

Everyone gets the same notes in turn, with a first, unmeasured round for the page cache and
compiled modules. A walk that asks for the size and time of each file, and does nothing else,
is the floor of whatever Python program looks for changes. Medians are printed, and each
peer's as the ratio of kebab to it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shlex
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from machine import ROOT, describe_machine, machine_line, use_private_cache
from startup import KEBAB, SETTINGS, Usage, run_process
from tables import quantile, render_table

__all__ = ["Indexer", "main", "make_vault"]

STEPS = ("all new", "one changed", "nothing changed")
_FOLDERS = ("daily", "projects", "projects/garden", "reading", "people", "reference")
_SENTENCE = re.compile(r"^[A-Z][^|`#]{30,220}\.$")


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


def _qmd(runner: Sequence[str]) -> Indexer:
    def prepare(vault: Path, home: Path) -> Mapping[str, str]:
        environ = {
            "XDG_CACHE_HOME": str(home / "cache"),
            "QMD_CONFIG_DIR": str(home / "config"),
            "QMD_FORCE_CPU": "1",
        }
        (home / "config").mkdir()
        (home / "config" / "index.yml").write_text(
            f'collections:\n  notes:\n    path: {json.dumps(str(vault))}\n    pattern: "**/*.md"\n',
            "utf-8",
        )
        return environ

    return Indexer(lambda _vault, _home: [*runner, "update"], prepare)


def measure(
    indexers: Mapping[str, Indexer], notes: int, rounds: int
) -> dict[str, dict[str, list[Usage]]]:
    """Return what each step cost each of *indexers*, round by round."""
    taken: dict[str, dict[str, list[Usage]]] = {name: defaultdict(list) for name in indexers}
    for number in range(rounds + 1):
        for name, indexer in indexers.items():
            with tempfile.TemporaryDirectory(prefix="kebab-bench-") as folder:
                vault, home = Path(folder) / "vault", Path(folder) / "home"
                home.mkdir()
                paths = make_vault(vault, notes)
                environ = {**os.environ, **indexer.prepare(vault, home)}
                for step in STEPS:
                    if step == "one changed":
                        with paths[notes // 2].open("a", encoding="utf-8") as file:
                            file.write("\nA line that was not there before.\n")
                    usage = run_process(indexer.command(vault, home), environ)
                    if number:
                        taken[name][step].append(usage)
    return taken


def render(taken: Mapping[str, Mapping[str, Sequence[Usage]]]) -> str:
    """Return the table: processor seconds, elapsed seconds and peak memory of each step."""
    rows, ours = [], {step: _cpu(usages) for step, usages in taken["kebab"].items()}
    for name, steps in taken.items():
        for step, usages in steps.items():
            wall = quantile([usage.wall for usage in usages], 0.5)
            peak = max(usage.peak_bytes for usage in usages) / 1e6
            ratio = f"{ours[step] / max(_cpu(usages), 0.001):.1f}"
            rows.append(
                (f"{name}: {step}", f"{_cpu(usages):.2f}", f"{wall:.2f}", f"{peak:.0f}", ratio)
            )
    return render_table(("", "CPU s", "wall s", "peak MB", "kebab / it"), rows)


def _cpu(usages: Sequence[Usage]) -> float:
    return quantile([usage.cpu for usage in usages], 0.5)


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--notes", type=int, default=540)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--recoll", action="store_true", help="measure recollindex, too")
    parser.add_argument("--qmd", help="measure qmd, too: the command that runs it")
    options = parser.parse_args(words)
    indexers = {"kebab": _kebab(), "walk and stat": _bare_walk()}
    if options.recoll:
        if shutil.which("recollindex") is None:
            parser.error("recollindex is not on PATH")
        indexers["recoll"] = _recoll()
    if options.qmd:
        indexers["qmd"] = _qmd(shlex.split(options.qmd))
    use_private_cache()
    machine = describe_machine()
    print(f"{machine_line(machine)}\n\n{render(measure(indexers, options.notes, options.rounds))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
