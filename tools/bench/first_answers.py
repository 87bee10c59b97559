"""How good the first answers are: search by both from the first ingest on, as vectors come.

A collection is ingested by words, and then embedded batch by batch; between batches all questions
are asked as a reader would, and quality is told over the processor time since the ingest began.
Then, in a knowledge base that has hardly any vectors yet, each question is asked, the run goes on
for the passages that this asked for, and the question is asked again.

    python tools/bench/first_answers.py                          cisi, 60 questions
    python tools/bench/first_answers.py --set locomo-turns
    python tools/bench/first_answers.py --draw docs/first-answers.svg

By words alone is where a program stands that embeds nothing before it was told to.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from beir import Collection, load_collection
from ir import DEFAULT_DATA, NAMES_FILE, config_of, prepare, run_facade
from machine import describe_machine, machine_line, use_private_cache
from metrics import ndcg_by_query
from pictures import standalone
from tables import render_table

from kb_app import KnowledgeBase
from kb_app._evals.charts import Series, lines
from kb_app.config import Config
from kb_core.ingest import IngestEvent

__all__ = ["main"]

_SHARES = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 1.0)
_WAITS = 2
"""Batches of a run that a question waits for: what it asked for is in them."""


@dataclass(frozen=True, slots=True)
class Point:
    """The mean nDCG@10 of all questions at one moment of a run."""

    seconds: float
    """Of processor time since the ingest began."""
    share: float
    """Of the passages that have a vector."""
    ndcg: float


class _Asking:
    """Asks the questions of a collection, and changes nothing by it."""

    def __init__(self, config: Config, collection: Collection) -> None:
        names = config.storage.data_dir.parent / NAMES_FILE
        self._names = json.loads(names.read_text("utf-8"))
        self._config, self._collection = config, collection

    def mean(self, mode: str) -> float:
        """Return the mean over all questions, of a reader that asks for nothing."""
        with KnowledgeBase.open(self._config, readonly=True) as kb:
            searched = run_facade(kb, self._collection, self._names, mode)
        each = ndcg_by_query(searched.run, self._collection.qrels)
        return sum(each.values()) / len(each)

    def one(self, kb: KnowledgeBase, query: str) -> float:
        """Return the figure of one question, asked as anybody does."""
        texts, qrels = self._collection.queries, self._collection.qrels
        alone = replace(
            self._collection, queries={query: texts[query]}, qrels={query: qrels[query]}
        )
        searched = run_facade(kb, alone, self._names, "hybrid")
        return ndcg_by_query(searched.run, alone.qrels)[query]


def curve(config: Config, asking: _Asking, spent: float) -> Iterator[Point]:
    """Embed all passages; yield what questions get at some moments of it."""
    yield Point(spent, 0.0, asking.mean("hybrid"))
    left = [*_SHARES]
    with KnowledgeBase.open(config) as kb:
        events = kb.embed()
        done = total = 0
        while left:
            if total and done / total >= left[0] - 1e-9:
                left = [share for share in left if done / total < share - 1e-9]
                yield Point(spent, done / total, asking.mean("hybrid"))
                continue
            begun = _spent()
            event = next(events, None)
            spent += _spent() - begun
            if event is None:
                return
            done, total = _progress(event, done, total)


def _spent() -> float:
    """Return the processor seconds of this process and of those that it waited for."""
    return sum(os.times()[:4])


def _progress(event: IngestEvent, done: int, total: int) -> tuple[int, int]:
    if event.kind != "embed_batch_finished":
        return done, total
    return int(event.data["done"]), int(event.data["total"])


def asked_twice(
    config: Config, asking: _Asking, queries: Sequence[str]
) -> list[tuple[float, float]]:
    """Return of each question what it got at once, and after the run had gone on for it."""
    pairs = []
    with KnowledgeBase.open(config) as kb:
        events = kb.embed()
        _batches(events, 1)
        for query in queries:
            first = asking.one(kb, query)
            _batches(events, _WAITS)
            pairs.append((first, asking.one(kb, query)))
    return pairs


def _batches(events: Iterator[IngestEvent], number: int) -> None:
    while number:
        event = next(events, None)
        if event is None:
            return
        number -= event.kind == "embed_batch_finished"


def draw(points: Sequence[Point], words: float, name: str) -> str:
    """Return the curve as a picture."""
    most = points[-1].seconds
    chart = lines(
        f"nDCG@10 on {name} since the first ingest began: by words, and by both as vectors come",
        "CPU seconds since the ingest began (blue: by both; brown, dashed: by words alone)",
        [
            Series("by both", 0, [(point.seconds, point.ndcg) for point in points]),
            Series("by words alone", 1, [(points[0].seconds, words), (most, words)]),
        ],
    )
    return standalone(chart)


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print, and draw where asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA)
    parser.add_argument("--set", default="cisi")
    parser.add_argument("--queries", type=int, default=60)
    parser.add_argument("--twice", type=int, default=20, help="questions that are asked twice")
    parser.add_argument("--draw", type=Path)
    options = parser.parse_args(words)
    use_private_cache()
    collection = load_collection(options.data / options.set, sample=options.queries)
    with tempfile.TemporaryDirectory(prefix="kebab-bench-") as folder:
        first, second = (config_of(Path(folder) / name) for name in ("first", "second"))
        begun = _spent()
        prepare(collection, first, suffix=".md", embed=False, refresh=True)
        spent = _spent() - begun
        prepare(collection, second, suffix=".md", embed=False, refresh=True)
        asking = _Asking(first, collection)
        by_words = asking.mean("lexical")
        points = list(curve(first, asking, spent))
        twice = asked_twice(
            second, _Asking(second, collection), sorted(collection.queries)[: options.twice]
        )
        queries = sorted(collection.queries)[: options.twice]
        with KnowledgeBase.open(first, readonly=True) as kb:
            whole = [asking.one(kb, query) for query in queries]
    rows = [(f"{p.seconds:.1f}", f"{p.share:.0%}", f"{p.ndcg:.4f}") for p in points]
    table = render_table(("CPU s since the ingest began", "have a vector", "nDCG@10"), rows)
    means = [sum(column) / len(twice) for column in (*zip(*twice, strict=True), whole)]
    print(
        f"{machine_line(describe_machine())}\n\n{options.set}, {len(collection.queries)} questions"
    )
    print(f"\nby words alone {by_words:.4f}\n\n{table}\n")
    print(f"{len(twice)} questions in a row, each asked twice in the first seconds of a run:")
    print(f"at once {means[0]:.4f}, again {means[1]:.4f}, with all vectors {means[2]:.4f}")
    if options.draw:
        options.draw.write_text(draw(points, by_words, options.set), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
