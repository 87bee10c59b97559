"""What hostile files cost: processor time and memory of indexing each, beside the limits.

Each file of ``hostile_files`` is written into a folder of its own and indexed by the installed
command, by words alone. Processor time is what the command and its workers used together,
less that of an empty note; memory is the largest that one of these processes had. A file may
take 10 s and a second for each of its megabytes, and 300 MB and six times its size.

    python tools/bench/hostile.py                     all of them
    python tools/bench/hostile.py headings YAML       those whose names have one of these words

Printed for each: what it took, what it may, and what became of it. The command exits 1 if one
is above a limit, or ends in anything but a document or a reason.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hostile_files import FILES, Hostile
from machine import describe_machine, machine_line, use_private_cache
from startup import KEBAB, SETTINGS
from tables import render_table

__all__ = ["Cost", "main", "measure"]

SECS, SECS_PER_MB = 10.0, 1.0
MEMORY_MB, TIMES_ITS_SIZE = 300.0, 6.0


@dataclass(frozen=True, slots=True)
class Cost:
    """What indexing one file took, and what became of it."""

    size_mb: float
    cpu: float
    peak_mb: float
    fate: str
    is_told: bool
    """It is a document, or there is a reason why not; no traceback, no ``internal``."""

    @property
    def is_within(self) -> bool:
        """Say whether it kept to both limits."""
        most = MEMORY_MB + TIMES_ITS_SIZE * self.size_mb
        return self.cpu <= SECS + SECS_PER_MB * self.size_mb and self.peak_mb <= most


def measure(hostile: Hostile) -> Cost:
    """Write one file, index it, and return what that took."""
    name, write = hostile
    with tempfile.TemporaryDirectory(prefix="kebab-bench-") as folder:
        home, root = Path(folder), Path(folder) / "root"
        root.mkdir()
        write(root / name)
        size = (root / name).stat().st_size / 1e6
        (home / "config.toml").write_text(SETTINGS.format(root=json.dumps(str(root))), "utf-8")
        out, err = home / "out", home / "err"
        command = [str(KEBAB), "--config", str(home / "config.toml"), "--json", "ingest"]
        with out.open("wb") as stdout, err.open("wb") as stderr:
            process = subprocess.Popen([*command, "--no-embed"], stdout=stdout, stderr=stderr)
            # Of this child, and of the workers that it waited for.
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        fate, is_told = _fate(out.read_text("utf-8"), err.read_text("utf-8"), process.returncode)
        cpu = usage.ru_utime + usage.ru_stime
        return Cost(size, cpu, usage.ru_maxrss * 1024 / 1e6, fate, is_told)


def _fate(out: str, err: str, code: int) -> tuple[str, bool]:
    """Return what became of the only file, and whether it was told as it should."""
    if "Traceback" in out + err or code != 0 or not out.strip():
        return f"exit {code}: {err.strip()[-200:]}", False
    report = json.loads(out.strip().rpartition("\n")[2])
    item = report["items"][0] if report["items"] else {}
    if (error := item.get("error")) is not None:
        return f"error {error['code']}: {error['message'][:100]}", True
    if "chunk_count" in item:
        return f"{item['chunk_count']:,} chunks", True
    reason = item.get("skip_reason") or item.get("reason") or "?"
    return f"{reason}: {item.get('detail') or ''}"[:100], True


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("words", nargs="*", help="words of the names to measure; none: all")
    options = parser.parse_args(words)
    use_private_cache()
    print(machine_line(describe_machine()), flush=True)
    measure(("a.md", lambda path: path.write_text("A note.\n", "utf-8")))  # prepares the model
    empty = measure(("a.md", lambda path: path.write_text("A note.\n", "utf-8")))
    rows, all_well = [], True
    for called, hostile in FILES.items():
        if options.words and not any(word in called for word in options.words):
            continue
        cost = measure(hostile)
        is_well = cost.is_within and cost.is_told
        all_well &= is_well
        most_secs = SECS + SECS_PER_MB * cost.size_mb
        most_mb = MEMORY_MB + TIMES_ITS_SIZE * cost.size_mb
        rows.append((
            f"{'' if is_well else '! '}{called}", f"{cost.size_mb:.1f}",
            f"{cost.cpu - empty.cpu:.1f}", f"{most_secs:.0f}",
            f"{cost.peak_mb:.0f}", f"{most_mb:.0f}", cost.fate,
        ))  # fmt: skip
        print(*rows[-1], sep="\t", flush=True)
    print(f"\nan empty note: {empty.cpu:.1f} s, {empty.peak_mb:.0f} MB\n")
    print(render_table(("file", "MB", "CPU s", "may", "peak MB", "may", "became"), rows))
    return 0 if all_well else 1


if __name__ == "__main__":
    sys.exit(main())
