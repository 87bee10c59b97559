r"""``kebab grep`` beside ripgrep, or GNU grep: the same lines, and how long both take.

    python tools/bench/grep.py --config CONFIG FOLDER [--program rg] [--rounds 9]

CONFIG is of a knowledge base whose one source is FOLDER, indexed. Forty patterns (words,
phrases, classes, anchors, look-alikes of catastrophic ones, letters of other scripts) are
asked of both in turn, over the files that are indexed; both tell upper and lower case apart.
Printed are lines that only one of them has, and milliseconds: wall time, its median and its
least, and the least processor time; of the program, and of the facade in one process, which has
read its texts. The program is started for each pattern, which the facade is not; the facade
counts all lines, orders files and says what a hundred lines are, which the program does not.
"""

from __future__ import annotations

import argparse
import re
import resource
import statistics
import subprocess
import time
from pathlib import Path

from machine import describe_machine, machine_line

from kb_app import KnowledgeBase
from kb_app.config import load_config
from kb_app.paths import environment
from kb_core.search import MAX_GREP_LINES, GrepQuery, SearchFilters

PATTERNS = (
    *("fetch_span", "walrus", "Invariant", "TODO", "import", "kebab", "zzqx_nowhere"),
    *("nothing is lost", "best first", "the person's own", "def test_a", "from __future__"),
    *(r"\bwalk\b", r"\bis_\w+\b", r"\w+_named\(", r"[A-Z]{4,}", r"[0-9]{3}-[0-9]{4}"),
    *(r"0x[0-9a-f]+", r"^def ", r"^import re$", r":$", r"^$", r"^\s+return$", r"^#+ \w+"),
    *(r"\d+\.\d+\.\d+", r"(foo|bar|otter)s?\b", r"def \w+\(self\) -> \w+:"),
    *(r"raise \w+Error\(", r"""["']utf-8["']""", r"(a+)+$", r"(x+x+)+y", r"(\w+\s?)*!$"),
    *(r"(.*)*,(.*)*,(.*)*z{3}", r"^(([a-z])+.)+[A-Z]([a-z])+$"),
    *("한국어", "검색", "検索", "文档", r"[가-힣]+을 ", r"[\p{Han}]{2,}"),
)
SHOWN = 100
"""Lines of an answer, as for a model; to compare them, all are asked for once."""
_ROW = re.compile(rb"([^\0\n]+)\0(\d+)[:\0]")


class Program:
    """The other program, over a list of files."""

    def __init__(self, name: str, folder: Path, files: list[str]) -> None:
        self._folder = folder
        self._files = files
        self._words = [name, "-n", "-H", "--null", "--no-messages", "--text"]
        if "grep" in Path(name).name and "rg" not in Path(name).name.split("-"):
            self._words.append("-P")
        else:
            self._words += ["--no-config", "--no-heading", "--color=never", "--case-sensitive"]

    def lines(self, pattern: str) -> tuple[set[tuple[str, int]], float, float]:
        """Return where the pattern matches, and wall and processor time in milliseconds."""
        before, began = _spent(), time.perf_counter()
        done = subprocess.run(
            [*self._words, "-e", pattern, "--", *self._files],
            cwd=self._folder,
            capture_output=True,
            check=False,
        )
        wall, spent = time.perf_counter() - began, _spent() - before
        found = {(path.decode(), int(line)) for path, line in _ROW.findall(done.stdout)}
        return found, wall * 1000, spent * 1000


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _facade(
    kb: KnowledgeBase, pattern: str, most: int
) -> tuple[set[tuple[str, int]], float, float]:
    query = GrepQuery(pattern=pattern, case="exact", max_lines=most)
    before, began = time.process_time(), time.perf_counter()
    found = kb.grep(query)
    wall, spent = time.perf_counter() - began, time.process_time() - before
    rows = {(f["doc_path"], line["line"]) for f in found["files"] for line in f["lines"]}
    return rows, wall * 1000, spent * 1000


def _compare(kb: KnowledgeBase, program: Program, pattern: str, rounds: int) -> tuple[bool, ...]:
    """Print one pattern; say whether lines differ, whether it is slower, and whether dearer."""
    times, expected = [], set[tuple[str, int]]()
    for _ in range(rounds):
        expected, *program_times = program.lines(pattern)
        _, *own_times = _facade(kb, pattern, SHOWN)
        times.append((*program_times, *own_times))
    walls, spents, own_walls, own_spents = zip(*times, strict=True)
    wall, own = statistics.median(walls), statistics.median(own_walls)
    spent, own_spent = min(spents), min(own_spents)
    found, *_ = _facade(kb, pattern, MAX_GREP_LINES)
    # Of more lines than can be shown, those that are shown have to be right.
    apart = expected ^ found if len(expected) <= len(found) else found - expected
    note = f"  DIFFERENT: {sorted(apart)[:3]}" if apart else ""
    theirs, ours = f"{min(walls):7.1f} {spent:7.1f}", f"{min(own_walls):7.1f} {own_spent:7.1f}"
    figures = f"{wall:7.1f} {theirs} {own:8.1f} {ours}"
    print(f"{len(expected):>7,} lines {figures}  {pattern}{note}")
    return bool(apart), own > wall, own_spent > spent


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--program", default="rg")
    parser.add_argument("--rounds", type=int, default=9)
    asked = parser.parse_args()
    print(machine_line(describe_machine()))
    with KnowledgeBase.open(load_config(asked.config, environment()), readonly=True) as kb:
        listed = kb.list_docs(SearchFilters(), limit=1_000_000)["items"]
        files = sorted(doc["doc_path"] for doc in listed)
        size = sum(doc["byte_len"] for doc in listed)
        name = Path(asked.program).name
        print(
            f"{len(files):,} files, {size / 1e6:.1f} MB; {name} and kebab: wall, least, processor"
        )
        print(f"first call {_facade(kb, PATTERNS[0], SHOWN)[1]:.0f} ms")
        program = Program(asked.program, asked.folder, files)
        rows = [_compare(kb, program, pattern, asked.rounds) for pattern in PATTERNS]
    different, slower, dearer = (sum(column) for column in zip(*rows, strict=True))
    print(
        f"{len(PATTERNS)} patterns: {different} with other lines; than {name}, {slower} are slower "
        f"and {dearer} take more processor time"
    )


if __name__ == "__main__":
    main()
