"""What many queries in one call cost, beside as many calls, and as many processes.

Over one collection that ``ir.py --keep`` left, with its own questions: single searches of
one open knowledge base, ``search_many`` of the same, the installed command with ``--bulk``,
and the command once for each query. The first two are warm and take turns; each figure is
the median of the rounds. ``first`` is when the first answer of the bulk was there.

    python tools/bench/bulk.py --keep DIR                       1, 10 and 100 queries
    python tools/bench/bulk.py --keep DIR --processes 10        at most so many processes
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from beir import load_collection
from ir import SOURCE, add_data_option, config_of
from machine import describe_machine, machine_line, use_private_cache
from tables import milliseconds, quantile, render_table

from kb_app import KnowledgeBase
from kb_core.media import SearchMode
from kb_core.search import SearchQuery

__all__ = ["main"]

KEBAB = Path(sys.executable).with_name("kebab")
ROUNDS = 5


def in_process(kb: KnowledgeBase, queries: Sequence[SearchQuery]) -> dict[str, float]:
    """Return median seconds of single searches, of the same in bulk, and to the first answer."""
    single, bulk, first = [], [], []
    for _ in range(ROUNDS):
        single.append(_seconds(lambda: [kb.search(query) for query in queries]))
        started = time.perf_counter()
        answers = kb.search_many(queries)
        next(answers)
        first.append(time.perf_counter() - started)
        list(answers)
        bulk.append(time.perf_counter() - started)
    taken = {"single": single, "bulk": bulk, "first": first}
    return {name: quantile(seconds, 0.5) for name, seconds in taken.items()}


def in_processes(config: Path, queries: Sequence[SearchQuery], most: int) -> dict[str, float]:
    """Return seconds of one process for all queries, and of a process for each of them.

    Of more than *most* queries, the first *most* are run and the rest is added in proportion.
    """
    command = [str(KEBAB), "--config", str(config), "--json", "search"]
    lines = "".join(
        f"{json.dumps({'query': query.text, 'mode': query.mode})}\n" for query in queries
    )
    bulk = _seconds(lambda: _run([*command, "--bulk"], lines))
    few = queries[:most]

    def one_by_one() -> None:
        for query in few:
            _run([*command, "--mode", query.mode, "--", query.text], "")

    each = _seconds(one_by_one)
    return {"bulk process": bulk, "processes": each / len(few) * len(queries)}


def _run(words: Sequence[str], given: str) -> None:
    nowhere = subprocess.DEVNULL
    subprocess.run(words, input=given, text=True, stdout=nowhere, stderr=nowhere, check=True)


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _write_config(file: Path, home: Path) -> Path:
    data_dir = config_of(home).storage.data_dir
    file.write_text(
        f'[storage]\ndata_dir = "{data_dir}"\n[[sources]]\nid = "{SOURCE}"\n'
        f'root = "{home / SOURCE}"\n',
        "utf-8",
    )
    return file


def _parse(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--keep", type=Path, required=True, metavar="DIR", help="what is ingested")
    parser.add_argument("--set", default="cosqa-dev", help="the collection")
    parser.add_argument("--counts", default="1,10,100", help="numbers with commas")
    parser.add_argument("--modes", default="lexical,vector,hybrid", help="names with commas")
    parser.add_argument("--processes", type=int, default=100, help="how many are really run")
    add_data_option(parser)
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    """Measure every count in every mode and print the figures."""
    options = _parse(words)
    home = (options.keep / options.set).resolve()
    if not (options.data / options.set).is_dir() or not (home / "data").is_dir():
        print(f"{options.set}: not there; ir.py --keep ingests it", file=sys.stderr)
        return 0
    use_private_cache()
    machine = machine_line(describe_machine())
    texts = list(load_collection(options.data / options.set).queries.values())
    columns = ("single", "bulk", "first", "bulk process", "processes")
    rows = []
    with tempfile.TemporaryDirectory() as folder, KnowledgeBase.open(config_of(home)) as kb:
        config = _write_config(Path(folder, "config.toml"), home)
        kb.search(SearchQuery(text=texts[-1]))  # loads the model
        for mode in options.modes.split(","):
            for count in map(int, options.counts.split(",")):
                queries = [SearchQuery(text=text, mode=SearchMode(mode)) for text in texts[:count]]
                found = in_process(kb, queries) | in_processes(config, queries, options.processes)
                shown = [milliseconds(found[name] * 1000) for name in columns]
                rows.append((f"{mode}, {count}", *shown))
    print(machine)
    print(render_table((f"{options.set}: ms for", *columns), rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
