"""How everyday work grows with the number of documents: ten thousand, a hundred thousand.

Two knowledge bases of short files (``grown``) are built once and kept. Each operation is taken
in a process that is open, over the facade, as servers and terminals have it; and commands as
processes of their own, from their start to their end. Processor time is user and system, of a
process and its children; wall time says little where other programs want the cores.

    python tools/bench/growth.py --home DIR                          build or reuse, then measure
    python tools/bench/growth.py --home DIR --sizes 1000,10000       other sizes
    python tools/bench/growth.py --home DIR --sizes 1000,10000,100000 --sections 10
                                                                     a million passages at last
    python tools/bench/growth.py --home DIR --only "list docs"       what has this in its name

The exponent of a row is that of its cost from the smallest to the largest: 0 is flat, 1 linear.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from grown import COMMON, file_of, grow, rare_word, write_file
from machine import describe_machine, machine_line, use_private_cache
from mcp_load import Server
from pictures import growing
from startup import KEBAB, run_process
from tables import milliseconds, quantile, render_table

from kb_app import KnowledgeBase
from kb_app.config import load_config
from kb_core.media import SearchMode
from kb_core.search import SearchFilters, SearchQuery

__all__ = ["Cost", "exponent", "main"]

PAGE = 100
FAR = 50
"""The page that is far down a list."""
FIRST_LIST = 200
"""How many documents, and rows of the ledger, a terminal asks for when it opens."""
BULK = 100
ROUND_TRIPS = 50
"""The kernel tells a process's time in hundredths of a second."""
_FILTERS: Mapping[str, Mapping[str, Any]] = {
    "tag": {"tag": ("tag7",)},
    "lang": {"lang": ("en",)},
    "media": {"media": ("text",)},
    "since": {"since": "2022-01-01"},
    "trust": {"trust_min": "primary"},
}

_DRAWN = (
    *("search by words, common words", "search by both, common words", "fetch doc"),
    *("list docs, first page", "$ ingest, nothing changed", "$ ingest, 1 % changed"),
)
"""The rows of the picture."""

Work = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds of one operation, medians, and the memory at the peak of a process."""

    cpu: float
    wall: float
    peak_mb: float | None = None


@dataclass(frozen=True, slots=True)
class _Subject:
    """A knowledge base, the number of its documents, and one in the middle of them."""

    home: Path
    documents: int
    sections: int

    @property
    def config(self) -> Path:
        return self.home / "config.toml"

    @property
    def middle(self) -> int:
        """An odd number, so a note with two passages and the common word."""
        return self.documents // 2 + 1

    @property
    def path(self) -> str:
        """The path of that document in its source."""
        return file_of(self.home, self.middle).relative_to(self.home / "files").as_posix()

    @property
    def folder(self) -> str:
        """The folder of that document."""
        return self.path.partition("/")[0]

    def passages(self) -> int:
        """Return how many there are."""
        with KnowledgeBase.open(load_config(self.config), readonly=True) as kb:
            return kb.stats()["chunk_count"]


def exponent(small: float, large: float, factor: float) -> float:
    """Return the exponent of a cost that grew from *small* to *large* while all grew *factor*.

    Not a number where nothing grew.
    """
    if factor <= 1:
        return math.nan
    return math.log(max(large, 1e-9) / max(small, 1e-9)) / math.log(factor)


def warm(subject: _Subject, rounds: int, only: str) -> dict[str, Cost]:
    """Return what each operation costs a process that is open."""
    with KnowledgeBase.open(load_config(subject.config), readonly=True) as kb:
        return {
            name: _timed(work, rounds) for name, work in _works(kb, subject).items() if only in name
        }


def _timed(work: Work, rounds: int) -> Cost:
    work()
    cpu, wall = [], []
    for _ in range(rounds):
        began, used = time.perf_counter(), time.process_time()
        work()
        cpu.append(time.process_time() - used)
        wall.append(time.perf_counter() - began)
    return Cost(quantile(cpu, 0.5) * 1000, quantile(wall, 0.5) * 1000)


def _works(kb: KnowledgeBase, subject: _Subject) -> dict[str, Work]:
    rare = rare_word(subject.middle)
    doc = kb.list_docs(SearchFilters(), limit=1, offset=subject.middle)["items"][0]["doc_id"]
    chunk = kb.chunks_of(doc)[0]["chunk_id"]
    asked = SearchQuery(text=f"{COMMON} of the buffer", mode=SearchMode.LEXICAL, k=10)
    alike = [f"{COMMON} {rare_word(number)}" for number in range(BULK)]
    many = [SearchQuery(text=text, mode=SearchMode.LEXICAL) for text in alike]
    return {
        **_searches(kb, rare, subject.folder),
        "fetch chunk": lambda: kb.fetch_chunk(chunk, context=1),
        "fetch doc": lambda: kb.fetch_doc(doc),
        "inspect doc": lambda: kb.inspect_doc(doc),
        "inspect chunk": lambda: kb.inspect_chunk(chunk),
        "similar": lambda: kb.similar(doc),
        "list docs, first page": lambda: kb.list_docs(SearchFilters(), limit=PAGE),
        "list docs, page 50": partial(
            kb.list_docs, SearchFilters(), limit=PAGE, offset=FAR * PAGE - PAGE
        ),
        "list docs, one tag": lambda: kb.list_docs(SearchFilters(tag=("tag7",)), limit=PAGE),
        "first list of a terminal": lambda: (
            kb.list_docs(SearchFilters(), limit=FIRST_LIST),
            kb.status(limit=FIRST_LIST),
        ),
        "status": lambda: kb.status(limit=200),
        "status GLOB": lambda: kb.status(f"{subject.folder}/*"),
        "status of a file": lambda: kb.status(subject.path),
        "status, failed": lambda: kb.status(state="failed"),
        "schema": kb.schema,
        "stats": kb.stats,
        f"bulk of {BULK}, by words": lambda: list(kb.search_many(many)),
        "explain-miss": lambda: kb.explain_miss(doc, asked),
        "facets": lambda: kb.facets(asked),
    }


def _searches(kb: KnowledgeBase, rare: str, folder: str) -> dict[str, Work]:
    # A question that was asked is remembered by its words, so each is another one.
    number = count()

    def search(mode: SearchMode, text: str, **filters: Any) -> object:  # noqa: ANN401 - of filters
        asked = SearchQuery(text=text, mode=mode, filters=SearchFilters(**filters))
        return kb.search(asked)

    def anew(mode: SearchMode) -> object:
        return search(mode, f"{COMMON} of the buffer {rare_word(next(number))}")

    modes = {"words": SearchMode.LEXICAL, "meaning": SearchMode.VECTOR, "both": SearchMode.HYBRID}
    works: dict[str, Work] = {}
    for name, mode in modes.items():
        works[f"search by {name}, rare word"] = partial(search, mode, rare)
        works[f"search by {name}, common words"] = partial(anew, mode)
    for name, filters in {**_FILTERS, "path": {"path_glob": (f"{folder}/**",)}}.items():
        for channel in ("words", "meaning"):
            works[f"search by {channel}, {name}"] = partial(
                search, modes[channel], f"{COMMON} of the buffer", **filters
            )
    return works


def processes(subject: _Subject, rounds: int, only: str) -> dict[str, Cost]:
    """Return what commands cost as processes of their own."""
    return {
        name: _started(subject, words, rounds)
        for name, words in _commands(subject).items()
        if only in name
    }


def _commands(subject: _Subject) -> dict[str, list[str]]:
    words = ["search", "--mode", "lexical"]
    return {
        "$ search, rare word": [*words, rare_word(subject.middle)],
        "$ search, common words": [*words, f"{COMMON} of the buffer"],
        "$ search, both": ["search", f"{COMMON} of the buffer"],
        "$ search, one tag": [*words, "--tag", "tag7", COMMON],
        "$ fetch doc": ["fetch", "doc", subject.path],
        "$ inspect doc": ["inspect", "doc", subject.path],
        "$ list docs": ["list", "docs"],
        "$ list docs, page 50": ["list", "docs", "--offset", str(FAR * PAGE - PAGE)],
        "$ status": ["status"],
        "$ status GLOB": ["status", f"{subject.folder}/*"],
        "$ schema": ["schema"],
        "$ stats": ["stats"],
        "$ similar": ["similar", subject.path],
        "$ explain-miss": [
            *("explain-miss", "--mode", "lexical", f"{COMMON} of the buffer"),
            *("--doc", subject.path),
        ],
        "$ ingest, nothing changed": ["ingest", "--no-embed"],
    }


def _started(subject: _Subject, words: Sequence[str], rounds: int) -> Cost:
    command = [str(KEBAB), "--config", str(subject.config), *words]
    taken = [run_process(command) for _ in range(rounds + 1)][1:]
    return Cost(
        quantile([usage.cpu for usage in taken], 0.5) * 1000,
        quantile([usage.wall for usage in taken], 0.5) * 1000,
        max(usage.peak_bytes for usage in taken) / 1e6,
    )


def changes(subject: _Subject, rounds: int, only: str) -> dict[str, Cost]:
    """Return what it costs to follow changes, and what comes right after."""
    found: dict[str, list[Cost]] = {}
    for number in range(rounds + 1):
        for name, taken in _changed(subject, f"round {number} at {time.time_ns()}"):
            if number and only in name:
                found.setdefault(name, []).append(taken)
    return {name: _middle(costs) for name, costs in found.items()}


def _changed(subject: _Subject, added: str) -> list[tuple[str, Cost]]:
    ingest = ["ingest", "--no-embed"]
    config = load_config(subject.config)
    with KnowledgeBase.open(config, readonly=True) as kb:
        asked = SearchQuery(text=f"{COMMON} of the buffer", mode=SearchMode.LEXICAL)
        kb.search(asked)
        write_file(subject.home, subject.middle, added, sections=subject.sections)
        one = _once(subject, ingest)
        first = _timed_once(lambda: kb.search(asked))
        listed = _timed_once(lambda: kb.list_docs(SearchFilters(), limit=PAGE))
    share = range(0, subject.documents, 100)
    for number in share:
        write_file(subject.home, number, added, sections=subject.sections)
    return [
        ("$ ingest, one file changed", one),
        ("first search after that", first),
        ("first list after that", listed),
        ("$ ingest, 1 % changed", _once(subject, ingest)),
    ]


def _once(subject: _Subject, words: Sequence[str]) -> Cost:
    usage = run_process([str(KEBAB), "--config", str(subject.config), *words])
    return Cost(usage.cpu * 1000, usage.wall * 1000, usage.peak_bytes / 1e6)


def _timed_once(work: Work) -> Cost:
    began, used = time.perf_counter(), time.process_time()
    work()
    return Cost((time.process_time() - used) * 1000, (time.perf_counter() - began) * 1000)


def _middle(costs: Sequence[Cost]) -> Cost:
    peaks = [cost.peak_mb for cost in costs if cost.peak_mb is not None]
    cpu, wall = (quantile([getattr(c, name) for c in costs], 0.5) for name in ("cpu", "wall"))
    return Cost(cpu, wall, max(peaks, default=None))


def served(subject: _Subject, only: str) -> dict[str, Cost]:
    """Return what a call of the MCP server costs; its processor time is the server's."""
    name = "MCP search, round trip"
    if only not in name:
        return {}
    server, wall, used = Server(subject.config), [], 0.0
    for number in range(ROUND_TRIPS + 1):
        if number == 1:  # the first one opens everything
            used = server.cpu_seconds()
        began = time.perf_counter()
        text = f"{COMMON} of the buffer {rare_word(number)}"
        server.search(SearchQuery(text=text, mode=SearchMode.LEXICAL))
        wall.append(time.perf_counter() - began)
    cpu = (server.cpu_seconds() - used) / ROUND_TRIPS
    memory = server.memory_mb()
    server.close()
    return {name: Cost(cpu * 1000, quantile(wall[1:], 0.5) * 1000, memory)}


def measure(
    subjects: Sequence[_Subject], options: argparse.Namespace
) -> dict[int, dict[str, Cost]]:
    """Return every row of every size."""
    rounds, only = options.rounds, options.only
    # Before this process is large: a child is said to have been as large as what started it.
    started = [processes(subject, rounds, only) for subject in subjects]
    return {
        subject.documents: {
            **warm(subject, rounds, only),
            **served(subject, only),
            **commands,
            **({} if options.still else changes(subject, rounds, only)),
        }
        for subject, commands in zip(subjects, started, strict=True)
    }


def render(found: Mapping[int, Mapping[str, Cost]]) -> str:
    """Return the table, with the exponents from the smallest size to the largest."""
    sizes = sorted(found)
    smallest, largest = sizes[0], sizes[-1]
    rows = []
    for name in found[largest]:
        costs = [found[size][name] for size in sizes]
        cells = [milliseconds(taken) for cost in costs for taken in (cost.cpu, cost.wall)]
        peak = costs[-1].peak_mb
        grown = exponent(costs[0].cpu, costs[-1].cpu, largest / smallest)
        rows.append(
            (
                name,
                *cells,
                f"{peak:.0f}" if peak else "",
                "-" if math.isnan(grown) else f"{grown:.2f}",
            )
        )
    columns = [cell for size in sizes for cell in (f"{size:,} CPU ms", "wall")]
    return render_table(("documents", *columns, "peak MB", "exponent"), rows)


def draw(found: Mapping[int, Mapping[str, Cost]], passages: Mapping[int, int]) -> str:
    """Return the processor time of a few rows over the number of passages, as a picture."""
    return growing(
        "Processor time of everyday work from the smallest knowledge base to the largest",
        "passages",
        "milliseconds of processor time",
        {
            name: [(passages[size], found[size][name].cpu) for size in sorted(found)]
            for name in _DRAWN
            if all(name in rows for rows in found.values())
        },
    )


def main(words: Sequence[str] | None = None) -> int:
    """Build, measure, print, and draw where asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--home", type=Path, required=True, help="where they are kept")
    parser.add_argument("--sizes", default="10000,100000", help="numbers of documents")
    parser.add_argument(
        "--sections", type=int, default=1, help="of a file; above 1, a passage each"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="operations that have this in their name")
    parser.add_argument("--still", action="store_true", help="leave the files as they are")
    parser.add_argument("--draw", type=Path, metavar="SVG", help="some of the rows, as a picture")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args(words)
    use_private_cache()
    subjects = [
        _Subject(options.home / n, int(n), options.sections) for n in options.sizes.split(",")
    ]
    for subject in subjects:
        grow(subject.home, subject.documents, sections=subject.sections)
    found = measure(subjects, options)
    if options.json:
        told = {n: {name: asdict(c) for name, c in rows.items()} for n, rows in found.items()}
        print(json.dumps({"machine": describe_machine(), "costs": told}, indent=2))
    else:
        print(f"{machine_line(describe_machine())}\n\n{render(found)}")
    if options.draw:
        passages = {subject.documents: subject.passages() for subject in subjects}
        options.draw.write_text(draw(found, passages), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
