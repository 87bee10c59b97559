"""What a cold start costs: whole processes, in turns, with what each of them imports.

Each command is started again and again, one after the other and then from the beginning;
wall time is from the start of a process to its end, CPU time is what the kernel says that
it used. Medians are printed. The floor is what Python itself needs, and what click needs
on top of that.

    python tools/bench/startup.py                      over the repository's own docs/
    python tools/bench/startup.py --config FILE        over a knowledge base that is there

"Cold" means a process that has loaded nothing; the files that it reads are in the page
cache. The first, unmeasured round sees to that, and to compiled modules and a prepared
model.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from machine import ROOT, describe_machine, machine_line, use_private_cache
from tables import milliseconds, quantile, render_table

__all__ = ["ImportCost", "Usage", "main", "read_import_times", "run_process"]

KEBAB = Path(sys.executable).with_name("kebab")
QUESTION = "how does a search stay readable while ingest runs"
SHOWN_IMPORTS = 8
SETTINGS = """\
[storage]
data_dir = "data"

[[sources]]
id = "docs"
root = {root}

[log]
dir = "log"
"""


@dataclass(frozen=True, slots=True)
class Usage:
    """What one process took, in seconds and bytes."""

    wall: float
    cpu: float
    peak_bytes: int


@dataclass(frozen=True, slots=True)
class ImportCost:
    """A top-level module and the milliseconds spent in it and what lies below it."""

    name: str
    ms: float


def run_process(
    command: Sequence[str],
    environ: Mapping[str, str] | None = None,
    codes: Sequence[int] = (0,),
) -> Usage:
    """Run a command to its end, and refuse one that ends with none of *codes*."""
    started = time.perf_counter()
    process = subprocess.Popen(
        command,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    # Of this child alone, which the sums of getrusage would not be.
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in codes:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Usage(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def read_import_times(report: str) -> list[ImportCost]:
    """Read what ``-X importtime`` wrote: what each module took itself, by top-level name.

    The standard library is summed up under one name; the dearest come first.
    """
    spent: defaultdict[str, int] = defaultdict(int)
    for line in report.splitlines():
        fields = line.removeprefix("import time:").split("|")
        if not line.startswith("import time:") or not fields[0].strip().isdigit():
            continue
        top = fields[2].strip().partition(".")[0]
        spent["(standard library)" if top in sys.stdlib_module_names else top] += int(fields[0])
    ranked = sorted(spent.items(), key=lambda item: (-item[1], item[0]))
    return [ImportCost(name, micros / 1000) for name, micros in ranked]


def imports_of(command: Sequence[str]) -> list[ImportCost]:
    """Return what a command imports, and how long that took under observation."""
    observed = {**os.environ, "PYTHONPROFILEIMPORTTIME": "1"}
    done = subprocess.run(command, env=observed, capture_output=True, text=True, check=True)
    return read_import_times(done.stderr)


def commands(config: Path) -> dict[str, list[str]]:
    """Return what is measured, by name."""
    kebab = [str(KEBAB), "--config", str(config)]
    python = [sys.executable, "-c"]
    return {
        "python -c pass": [*python, "pass"],
        "python -c 'import click'": [*python, "import click"],
        "kebab --help": [*kebab, "--help"],
        "kebab search --mode lexical": [*kebab, "search", "--mode", "lexical", QUESTION],
        "kebab search --mode hybrid": [*kebab, "search", "--mode", "hybrid", QUESTION],
        "kebab --json search --mode lexical": [
            *(*kebab, "--json", "search", "--mode", "lexical", QUESTION)
        ],
        "kebab list docs": [*kebab, "list", "docs"],
    }


def measure(config: Path, rounds: int) -> dict[str, dict[str, Any]]:
    """Return medians and imports of every command."""
    wanted = commands(config)
    taken: dict[str, list[Usage]] = {name: [] for name in wanted}
    for number in range(rounds + 1):
        for name, command in wanted.items():
            usage = run_process(command)
            if number:
                taken[name].append(usage)
    return {
        name: {
            "wall_ms": quantile([usage.wall for usage in usages], 0.5) * 1000,
            "wall_p90_ms": quantile([usage.wall for usage in usages], 0.9) * 1000,
            "cpu_ms": quantile([usage.cpu for usage in usages], 0.5) * 1000,
            "peak_mb": quantile([usage.peak_bytes for usage in usages], 0.5) / 1e6,
            "imports": {cost.name: cost.ms for cost in imports_of(wanted[name])},
        }
        for name, usages in taken.items()
    }


def render(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the table, and below it what is imported."""
    rows = [
        (
            name,
            *(milliseconds(taken[column]) for column in ("wall_ms", "wall_p90_ms", "cpu_ms")),
            f"{taken['peak_mb']:.0f}",
        )
        for name, taken in found.items()
    ]
    head = ("process", "wall ms", "p90", "CPU ms", "peak MB")
    lines = [render_table(head, rows), "", "imports, in ms under -X importtime:"]
    for name, taken in found.items():
        dearest = list(taken["imports"].items())[:SHOWN_IMPORTS]
        lines.append(f"  {name}: " + ", ".join(f"{module} {ms:.1f}" for module, ms in dearest))
        third = [m for m in taken["imports"] if not m.startswith(("kb_", "_", "("))]
        lines.append(f"    third party: {', '.join(sorted(third)) or 'nothing'}")
    return "\n".join(lines)


@contextmanager
def _knowledge_base(config: Path | None) -> Iterator[Path]:
    """Give the configuration that was named, or one of a knowledge base of ``docs/``."""
    if config is not None:
        yield config
        return
    with tempfile.TemporaryDirectory(prefix="kebab-bench-") as folder:
        file = Path(folder) / "config.toml"
        file.write_text(SETTINGS.format(root=json.dumps(str(ROOT / "docs"))), "utf-8")
        run_process([str(KEBAB), "--config", str(file), "ingest"])
        yield file


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--config", type=Path, help="the configuration of a knowledge base")
    parser.add_argument("--rounds", type=int, default=11, help="starts of each command")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    options = parser.parse_args(words)
    use_private_cache()
    machine = describe_machine()
    with _knowledge_base(options.config) as config:
        found = measure(config, options.rounds)
    if options.json:
        print(json.dumps({"machine": machine, "processes": found}, indent=2))
        return 0
    print(f"{machine_line(machine)}\n\n{render(found)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
