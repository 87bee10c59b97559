"""Readers while a writer writes: does anyone ever see an error, or a lock?

Some reader processes search, fetch and list through the facade in a loop, as long-lived
servers do; each has opened the knowledge base once. First they run alone. Then
``kebab ingest`` indexes two thousand made-up documents in a process of its own, and they
go on. Counted are errors of any kind, and printed is what each operation took with and
without the ingest, and how many published states the readers saw. Any error, and any word
of a lock from the ingest, makes the exit code 1.

    python tools/bench/load.py
    python tools/bench/load.py --docs 200 --alone 3      a quick one
    python tools/bench/load.py --mode hybrid --embed     with vectors

More readers than cores means that they wait for each other; ``--pause-ms`` lets them rest
between operations, as people do.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

from machine import describe_machine, machine_line, use_private_cache
from tables import milliseconds, render_table, summarize
from words import Words

from kb_app import KnowledgeBase
from kb_app.config import load_config
from kb_core.media import SearchMode
from kb_core.search import Hit, SearchFilters, SearchQuery

__all__ = ["Step", "main", "read_for_a_while"]

KEBAB = Path(sys.executable).with_name("kebab")
SETTINGS = """\
[storage]
data_dir = "data"

[[sources]]
id = "made-up"
root = "files"

[log]
dir = "log"
"""
LOCK_WORDS = re.compile(r"\b(lock|locked|busy|StoreBusy)\b", re.IGNORECASE)
GRACE_SECS = 120.0
QUESTIONS = 500
SHOWN_ERRORS = 10


@dataclass(frozen=True, slots=True)
class Step:
    """One operation of a reader: when it began (monotonic), how long it took, what it saw."""

    operation: str
    began: float
    seconds: float
    revision: int | None = None
    error: str | None = None


class _Reader:
    """Asks, remembers the best hit, and looks closer at that."""

    def __init__(self, kb: KnowledgeBase, mode: SearchMode, seed: int) -> None:
        self._kb = kb
        self._mode = mode
        words = Words(seed)
        self._questions = cycle([words.query(1 + at % 5) for at in range(QUESTIONS)])
        self._hit: Hit | None = None

    def search(self) -> int:
        """Ask something; return the revision that answered."""
        query = SearchQuery(text=next(self._questions), mode=self._mode)
        answer = self._kb.search(query)
        self._hit = answer.hits[0] if answer.hits else self._hit
        return answer.corpus_revision

    def fetch_chunk(self) -> None:
        """Fetch the last best hit with its neighbours."""
        if self._hit is not None:
            self._kb.fetch_chunk(self._hit.chunk_id, context=1)

    def fetch_doc(self) -> None:
        """Fetch its document."""
        if self._hit is not None:
            self._kb.fetch_doc(self._hit.doc_id)

    def fetch_span(self) -> None:
        """Fetch a few lines of it."""
        if self._hit is not None:
            self._kb.fetch_span(self._hit.doc_id, 1, 5)

    def list_docs(self) -> None:
        """List a hundred documents."""
        self._kb.list_docs(SearchFilters(), limit=100)


def read_for_a_while(
    kb: KnowledgeBase, mode: SearchMode, seed: int, home: Path, pause_secs: float
) -> Iterator[Step]:
    """Search, fetch what was found, list; again and again until ``home/stop`` exists.

    The first search, which opens everything, comes before ``home/ready<seed>`` is written.
    """
    reader = _Reader(kb, mode, seed)
    operations: Mapping[str, Callable[[], int | None]] = {
        "search": reader.search,
        "fetch chunk": reader.fetch_chunk,
        "fetch doc": reader.fetch_doc,
        "fetch span": reader.fetch_span,
        "list docs": reader.list_docs,
    }
    yield _step("first search", reader.search)
    (home / f"ready{seed}").touch()
    stop = home / "stop"
    for name, operation in cycle(operations.items()):
        if stop.exists():
            return
        yield _step(name, operation)
        time.sleep(pause_secs)


def _step(name: str, operation: Callable[[], int | None]) -> Step:
    began = time.monotonic()
    try:
        revision = operation()
    except Exception as error:  # noqa: BLE001 - any exception is what is looked for
        problem = f"{type(error).__name__}: {error}"
        return Step(name, began, time.monotonic() - began, error=problem)
    return Step(name, began, time.monotonic() - began, revision)


def _be_reader(options: argparse.Namespace) -> int:
    """Be a reader process: print every step as a line of JSON when it is over."""
    kb = KnowledgeBase.open(load_config(options.reader), readonly=True)
    pause_secs = options.pause_ms / 1000
    mode = SearchMode(options.mode)
    home = options.reader.parent
    steps = list(read_for_a_while(kb, mode, options.seed, home, pause_secs))
    print(json.dumps({"peak_kb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))
    for step in steps:
        print(json.dumps(asdict(step)))
    return 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the readers did, what the ingest said, and when it ran (monotonic)."""

    steps: Sequence[Step]
    peaks_mb: Sequence[float]
    began: float
    ended: float
    ingest_code: int
    ingest_stderr: str


def conduct(home: Path, options: argparse.Namespace) -> Outcome:
    """Ingest a first part, start the readers, ingest the rest while they read."""
    config = home / "config.toml"
    config.write_text(SETTINGS, "utf-8")
    _write_files(home / "files", range(options.start_docs))
    first = _ingest(config, options)
    if first.returncode:
        raise SystemExit(f"the first ingest failed: {first.stderr.strip()}")
    with ExitStack() as resources:
        outputs = [
            resources.enter_context((home / f"reader{number}.out").open("w+", encoding="utf-8"))
            for number in range(options.readers)
        ]
        readers = [
            subprocess.Popen(_reader_command(config, options, seed), stdout=output)
            for seed, output in enumerate(outputs)
        ]
        resources.callback((home / "stop").touch)
        _wait_for([home / f"ready{seed}" for seed in range(options.readers)])
        time.sleep(options.alone)
        _write_files(home / "files", range(options.start_docs, options.start_docs + options.docs))
        began = time.monotonic()
        done = _ingest(config, options)
        ended = time.monotonic()
        (home / "stop").touch()
        codes = [reader.wait(GRACE_SECS) for reader in readers]
        steps, peaks = _collect(output.name for output in outputs)
    steps += [Step("process", ended, 0.0, error=f"exit code {code}") for code in codes if code]
    return Outcome(steps, peaks, began, ended, done.returncode, done.stderr)


def _wait_for(files: Sequence[Path]) -> None:
    """Wait until all *files* exist, or for so long that something must be wrong."""
    deadline = time.monotonic() + GRACE_SECS
    while not all(file.exists() for file in files) and time.monotonic() < deadline:
        time.sleep(0.05)


def _write_files(folder: Path, numbers: range) -> None:
    for number in numbers:
        file = folder / f"{number // 100:03}" / f"{number:06}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(Words(number).markdown(), "utf-8")


def _ingest(config: Path, options: argparse.Namespace) -> subprocess.CompletedProcess[str]:
    words = [str(KEBAB), "--config", str(config), "ingest", "--summary-only"]
    words += [] if options.embed else ["--no-embed"]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def _reader_command(config: Path, options: argparse.Namespace, seed: int) -> list[str]:
    words = [sys.executable, __file__, "--reader", str(config), "--seed", str(seed)]
    return [*words, "--mode", options.mode, "--pause-ms", str(options.pause_ms)]


def _collect(names: Iterator[str]) -> tuple[list[Step], list[float]]:
    steps, peaks = [], []
    for name in names:
        head, *lines = Path(name).read_text("utf-8").splitlines() or ["{}"]
        peaks.append(json.loads(head).get("peak_kb", 0) / 1000)
        steps += [Step(**json.loads(line)) for line in lines]
    return steps, peaks


def summarize_outcome(outcome: Outcome) -> dict[str, Any]:
    """Return the figures of both phases, and everything that went wrong."""
    errors = [f"{step.operation}: {step.error}" for step in outcome.steps if step.error]
    if outcome.ingest_code:
        errors.append(f"ingest ended with {outcome.ingest_code}: {outcome.ingest_stderr.strip()}")
    elif LOCK_WORDS.search(outcome.ingest_stderr):
        errors.append(f"ingest spoke of a lock: {outcome.ingest_stderr.strip()}")
    if not outcome.steps:
        errors.append("no reader did anything")
    seen = {step.revision for step in outcome.steps if step.revision is not None}
    return {
        "alone": _phase(outcome.steps, 0.0, outcome.began),
        "during": _phase(outcome.steps, outcome.began, outcome.ended),
        "ingest_seconds": outcome.ended - outcome.began,
        "revisions_seen": len(seen),
        "operations": len(outcome.steps),
        "errors": errors,
        "peak_mb": list(outcome.peaks_mb),
    }


def _phase(steps: Sequence[Step], began: float, ended: float) -> dict[str, dict[str, float]]:
    taken: defaultdict[str, list[float]] = defaultdict(list)
    for step in steps:
        if step.error is None and began <= step.began < ended:
            taken[step.operation].append(step.seconds)
    return {name: summarize(seconds) for name, seconds in sorted(taken.items())}


def render(found: Mapping[str, Any]) -> str:
    """Return the table and the verdict."""
    rows = []
    for name in sorted({*found["alone"], *found["during"]}):
        cells = [name]
        for phase in ("alone", "during"):
            taken = found[phase].get(name)
            columns = ("p50_ms", "p99_ms", "max_ms")
            cells += [milliseconds(taken[c]) for c in columns] if taken else ["-"] * 3
            cells.append(f"{taken['count']:.0f}" if taken else "0")
        rows.append(tuple(cells))
    head = ("operation", *("alone p50", "p99", "max", "n"), *("ingest p50", "p99", "max", "n"))
    peaks = ", ".join(f"{peak:.0f}" for peak in found["peak_mb"])
    errors = found["errors"]
    lines = [
        render_table(head, rows),
        f"ingest {found['ingest_seconds']:.1f} s, {found['revisions_seen']} revisions seen",
        f"{found['operations']:,} operations, {len(errors)} errors; readers' peak MB: {peaks}",
        *(f"ERROR {error}" for error in errors[:SHOWN_ERRORS]),
    ]
    return "\n".join(lines)


def _parse(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--readers", type=int, default=4)
    parser.add_argument("--docs", type=int, default=2000, help="documents ingested meanwhile")
    parser.add_argument("--start-docs", type=int, default=500, help="documents there before")
    parser.add_argument("--alone", type=float, default=15.0, help="seconds without an ingest")
    parser.add_argument("--mode", default="lexical", choices=[str(mode) for mode in SearchMode])
    parser.add_argument("--pause-ms", type=float, default=0.0, help="rest between operations")
    parser.add_argument("--embed", action="store_true", help="compute embeddings, too")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--reader", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=0, help=argparse.SUPPRESS)
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    """Conduct, print, and return 1 if anything went wrong."""
    options = _parse(words)
    if options.reader:
        return _be_reader(options)
    use_private_cache()
    machine = describe_machine()
    with tempfile.TemporaryDirectory(prefix="kebab-bench-") as folder:
        found = summarize_outcome(conduct(Path(folder), options))
    if options.json:
        print(json.dumps({"machine": machine, **found}, indent=2))
    else:
        print(f"{machine_line(machine)}\n\n{render(found)}")
    return 1 if found["errors"] else 0


if __name__ == "__main__":
    sys.exit(main())
