"""Whether ``confidence`` tells an answer from the best of nothing, on test collections.

Every judged query is asked twice: as it is, and with its relevant documents taken out, so
that the best that is left answers nothing; and each collection is asked questions that were made
for another (``STRANGERS``). Printed per collection and mode: how often the
query with an answer has the higher confidence than one without (AUC; .5 is a coin), the
mean of both, and how many of each fall below the line under which a person reads "nothing
here seems to answer this". Then, over all collections, calibration: of the answers with a
confidence between two marks, how many have a relevant document first.

    python tools/bench/ir.py --sets all --keep DIR         ingests, once
    python tools/bench/confidence.py DIR                   measures what is in the product
    python tools/bench/confidence.py DIR --fit             fits the constants anew

``--fit`` prints the constants of ``kb_app/_search/confidence.py`` by logistic regression,
each collection with the same weight, and the AUC of each collection when it is left out.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from beir import Collection, load_collection, sampled
from ir import NAMES_FILE, add_data_option, config_of, open_snapshot
from machine import describe_machine, machine_line, use_private_cache
from tables import render_table

from kb_app._models import model_of
from kb_app._search.channels import Channel
from kb_app._search.confidence import confidence_of, features_of
from kb_app._search.engine import Engine
from kb_app._search.settings import search_settings
from kb_app._wiring import LazyEmbedder
from kb_app.shown import DOUBTFUL, DOUBTFUL_BY_WORDS
from kb_core.filters import Not, OneOf
from kb_core.media import SearchMode
from kb_core.search import SearchQuery

__all__ = ["Case", "area", "main", "opened"]

STRANGERS = {
    "adi": "belebele-en",
    "belebele-en": "medline",
    "cosqa-dev": "xquad-es",
    "fastapi-ja2en": "xquad-en",
    "jsquad-valid": "cmrc2018-trial",
    "medline": "cosqa-dev",
    "sec10q-pages": "cranfield",
    "xquad-de": "cisi",
    "xquad-zh": "belebele-de",
}
"""Whose questions a collection is asked that it has nothing about."""
_MARKS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


@dataclass(frozen=True, slots=True)
class Case:
    """One search: whether its answer was there, and came first, and what tells so."""

    is_there: bool
    is_first: bool
    features: tuple[float, ...]
    confidence: float


def area(high: Sequence[float], low: Sequence[float]) -> float:
    """Return how often one of *high* is above one of *low*; ties count a half."""
    above = sum((a > b) + (a == b) / 2 for a in high for b in low)
    return above / (len(high) * len(low)) if high and low else 0.5


def opened(
    home: Path, collection: Collection, model: str | None = None
) -> tuple[Engine, LazyEmbedder, dict[str, set[str]]]:
    """Return what searches an ingested collection, its model, and by query what is relevant.

    Queries of which nothing relevant was ingested are left out.
    """
    config = config_of(home, model=model)
    embedder = LazyEmbedder(config)
    snapshot = open_snapshot(config.storage.data_dir)
    engine = Engine(
        snapshot,
        search_settings(config, model_of(config)),
        embed=lambda text: embedder().embed_query(text),
        reranker=embedder.reranker,
        now=0,
    )
    names: Mapping[str, str] = json.loads((home / NAMES_FILE).read_text("utf-8"))
    by_name: dict[str, list[str]] = {}
    for doc in snapshot.docs(None):
        name = collection.judged_as(names[doc["path"]])
        by_name.setdefault(name, []).append(doc["doc_id"])
    relevant = {
        query: {
            doc_id
            for name, grade in collection.qrels[query].items()
            if grade > 0
            for doc_id in by_name.get(name, ())
        }
        for query in collection.queries
    }
    return engine, embedder, {query: ids for query, ids in relevant.items() if ids}


def cases(home: Path, collection: Collection, mode: SearchMode) -> Iterator[Case]:
    """Yield two searches per query: with what is relevant, and without."""
    engine, _, judged = opened(home, collection)
    snapshot = engine.snapshot
    for query, relevant in judged.items():
        asked = SearchQuery(text=collection.queries[query], mode=mode)
        for is_there in (True, False):
            without = None if is_there else Not(OneOf("doc_id", tuple(sorted(relevant))))
            ranked = engine.ranking(asked, without)
            best = [row.chunk_key for row in ranked.rows[:1]]
            first = [chunk["doc_id"] in relevant for chunk in snapshot.chunks(best).values()]
            if ranked.proposals.lexical or ranked.proposals.vector:
                wanted = Channel.of(mode)
                told = confidence_of(ranked.proposals, wanted, engine.settings.model_key)
                features = features_of(ranked.proposals, wanted)
                yield Case(is_there, any(first), features, told or 0.0)


def strangers(collection: Collection, folder: Path, size: int) -> Collection:
    """Return the collection with questions of another one, which nothing answers."""
    queries = sampled(load_collection(folder), size // 3).queries
    one = next(iter(next(iter(collection.qrels.values()))))
    return replace(collection, queries=queries, qrels={query: {one: 1} for query in queries})


def _table(found: Mapping[tuple[str, str], Sequence[Case]]) -> str:
    rows = []
    for (name, mode), each in found.items():
        there = [case.confidence for case in each if case.is_there]
        gone = [case.confidence for case in each if not case.is_there]
        line = DOUBTFUL_BY_WORDS if mode == SearchMode.LEXICAL else DOUBTFUL
        rows.append(
            (
                name,
                mode,
                str(len(there)),
                f"{area(there, gone):.3f}",
                f"{_mean(there):.2f}",
                f"{_mean(gone):.2f}",
                f"{_mean([x < line for x in there]):.0%}",
                f"{_mean([x < line for x in gone]):.0%}",
            )
        )
    head = ("set", "mode", "queries", "AUC", "with", "without", "with < line", "without < line")
    return render_table(head, rows)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _calibration(found: Mapping[tuple[str, str], Sequence[Case]]) -> str:
    rows = []
    for mode in sorted({mode for _, mode in found}):
        each = [case for (_, m), some in found.items() if m == mode for case in some]
        for low, high in pairwise(_MARKS):
            inside = [c for c in each if low <= c.confidence < high or c.confidence == high == 1]
            if inside:
                told = np.mean([case.confidence for case in inside])
                right = np.mean([case.is_first for case in inside])
                band = f"{low:.2f} to {high:.2f}"
                rows.append((mode, band, str(len(inside)), f"{told:.2f}", f"{right:.2f}"))
    return render_table(("mode", "confidence", "searches", "told", "right first"), rows)


def fitted(
    some: Sequence[Sequence[Case]], *, ridge: float = 1e-3
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the constants, the intercept first, by Newton's method; each set weighs the same."""
    kept = [each for each in some if each]
    x = np.array([(1.0, *case.features) for each in kept for case in each])
    y = np.array([float(case.is_first) for each in kept for case in each])
    weight = np.concatenate([np.full(len(each), 1 / len(each)) for each in kept])
    beta = np.zeros(x.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ beta))
        gradient = x.T @ (weight * (y - p)) - ridge * beta
        hessian = (x * (weight * p * (1 - p))[:, None]).T @ x + ridge * np.eye(len(beta))
        beta = beta + np.linalg.solve(hessian, gradient)
    return beta


def _fit(found: Mapping[tuple[str, str], Sequence[Case]]) -> None:
    for mode in sorted({mode for _, mode in found}):
        sets = {name: each for (name, m), each in found.items() if m == mode}
        beta = fitted(list(sets.values()))
        print(f"{mode}: {', '.join(f'{value:.2f}' for value in beta)}")
        for name, each in sets.items():
            held = fitted([other for key, other in sets.items() if key != name])
            told = [float(np.array((1.0, *case.features)) @ held) for case in each]
            there = [v for v, case in zip(told, each, strict=True) if case.is_there]
            gone = [v for v, case in zip(told, each, strict=True) if not case.is_there]
            right = [v for v, case in zip(told, each, strict=True) if case.is_first]
            wrong = [v for v, case in zip(told, each, strict=True) if not case.is_first]
            print(
                f"  {name}, left out: AUC {area(there, gone):.3f}, first {area(right, wrong):.3f}"
            )


def main(words: Sequence[str] | None = None) -> int:
    """Measure, or fit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("kept", type=Path, metavar="DIR", help="what ir.py --keep has made")
    parser.add_argument("--sets", default="", help="names with commas; all by default")
    parser.add_argument("--modes", default="lexical,vector,hybrid")
    parser.add_argument("--queries", type=int, default=100, help="a sample of so many per set")
    parser.add_argument("--fit", action="store_true", help="fit the constants anew")
    add_data_option(parser)
    options = parser.parse_args(words)
    there = {file.parent.name for file in options.kept.glob(f"*/{NAMES_FILE}")}
    if options.sets:
        there &= set(options.sets.split(","))
    print(machine_line(describe_machine()))
    found: dict[tuple[str, str], list[Case]] = {}
    use_private_cache()
    for name in sorted(there):
        collection = sampled(load_collection(options.data / name), options.queries)
        for mode in options.modes.split(","):
            found[name, mode] = list(cases(options.kept / name, collection, SearchMode(mode)))
            if name in STRANGERS:
                asked = strangers(collection, options.data / STRANGERS[name], options.queries)
                some = cases(options.kept / name, asked, SearchMode(mode))
                gone = [case for case in some if not case.is_there]
                found[f"{STRANGERS[name]} > {name}", mode] = gone
            print(f"{name} {mode}: {len(found[name, mode])} searches", file=sys.stderr)
    if options.fit:
        _fit(found)
    else:
        print(_table(found))
        print(_calibration(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
