"""How well words and meaning go together: every fusion over the same candidates.

Each judged query is asked once in both channels; then every way to fuse the two lists is
measured on them, so that nothing else differs. Printed per collection: nDCG@10 of each
channel, of both methods that the product has, and of score fusion with a fixed weight of
the words; the mean weight that the default found; what the differences are worth. The
promise is "not below the better channel - 0.005 on any collection, and better than both
on the mean".

    python tools/bench/ir.py --sets all --keep DIR         ingests, once
    python tools/bench/fusion.py DIR                       all that is kept there
    python tools/bench/fusion.py DIR --sets cisi --queries 0 --pool 500

The collections are found through ``--data`` or ``KEBAB_BENCH_DATA``, as by ``ir.py``.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from beir import Collection, load_collection
from ir import NAMES_FILE, add_data_option, config_of, open_snapshot
from machine import describe_machine, machine_line, use_private_cache
from metrics import by_best_chunk, compare, ndcg_by_query
from tables import render_table

from kb_app._search.grammar import parse_query
from kb_app._wiring import LazyEmbedder, model_of
from kb_core.errors import KbError
from kb_core.ports import Embedder, IndexSnapshot
from kb_core.search import Scored
from kb_search.fusion import Basis, Fused, convex_combination, fuse, is_lookup, weight_of_words

__all__ = ["FUSE", "Pools", "Result", "main", "measure", "render", "verdicts"]

TOLERANCE = 0.005
_WEIGHTS = (0.2, 0.35, 0.5, 0.65, 0.8)


@dataclass(frozen=True, slots=True)
class Pools:
    """What both channels propose for one query."""

    lexical: Sequence[Scored]
    vector: Sequence[Scored]
    basis: Basis


Rank: TypeAlias = Callable[[Pools], Sequence[Scored | Fused]]


def _fixed(weight: float) -> Rank:
    return lambda pools: convex_combination(pools.lexical, pools.vector, weight)


FUSE: Mapping[str, Rank] = {
    "lexical": lambda pools: pools.lexical,
    "vector": lambda pools: pools.vector,
    "rrf": lambda pools: fuse("rrf", pools.lexical, pools.vector),
    **{f"{weight:.2f}": _fixed(weight) for weight in _WEIGHTS},
    "auto": lambda pools: fuse("auto", pools.lexical, pools.vector, basis=pools.basis),
}
"""Everything that is compared; a number is the fixed weight of the words."""


@dataclass(frozen=True, slots=True)
class Result:
    """nDCG@10 of each query by method, and the weight that the default found on the mean."""

    name: str
    values: Mapping[str, Sequence[float]]
    weight: float

    def mean(self, method: str) -> float:
        """Return nDCG@10 over all queries."""
        values = self.values[method]
        return sum(values) / len(values)

    @property
    def better(self) -> str:
        """The channel that is better on this collection."""
        return max(("lexical", "vector"), key=self.mean)


def measure(
    collection: Collection, pools: Mapping[str, Pools], doc_of: Mapping[int, str]
) -> Result:
    """Rank by each method; *doc_of* is the document, as judged, of each chunk."""
    values = {}
    for method, rank in FUSE.items():
        run = {
            query: by_best_chunk(doc_of[row.chunk_key] for row in rank(found))
            for query, found in pools.items()
        }
        values[method] = list(ndcg_by_query(run, collection.qrels).values())
    weights = [
        weight_of_words(found.lexical, found.vector, found.basis) for found in pools.values()
    ]
    return Result(collection.name, values, sum(weights) / len(weights))


def render(results: Sequence[Result]) -> str:
    """Return nDCG@10 by collection and method, and paired differences of the default."""
    rows = [
        (result.name, *(f"{result.mean(method):.4f}" for method in FUSE), f"{result.weight:.2f}")
        for result in results
    ]
    means = (f"{_mean(results, method):.4f}" for method in FUSE)
    rows.append((f"mean of {len(results)}", *means, ""))
    table = render_table(("set", *FUSE, "weight"), rows)
    head = ("set", "auto minus", "mean", "95 % interval", "p")
    return f"{table}\n\n{render_table(head, [*_differences(results)])}"


def _differences(results: Sequence[Result]) -> Iterator[tuple[str, ...]]:
    for result in results:
        for other in (result.better, "rrf"):
            found = compare(result.values["auto"], result.values[other])
            interval = f"{found.low:+.4f} … {found.high:+.4f}"
            yield (result.name, other, f"{found.mean:+.4f}", interval, f"{found.p:.4f}")


def verdicts(results: Sequence[Result]) -> Iterator[str]:
    """Say of each promise about fusion whether it is kept."""
    for result in results:
        value, bar = result.mean("auto"), result.mean(result.better) - TOLERANCE
        yield _verdict(f"{result.name}: auto >= {result.better} - {TOLERANCE}", value, bar)
    bar = max(_mean(results, "lexical"), _mean(results, "vector"))
    yield _verdict("all sets: auto > both on the mean", _mean(results, "auto"), bar)


def _verdict(promise: str, value: float, bar: float) -> str:
    return f"{'kept  ' if value >= bar else 'MISSED'} {promise} ({value:.4f}, {bar:.4f})"


def _mean(results: Sequence[Result], method: str) -> float:
    return sum(result.mean(method) for result in results) / len(results)


def _pools(
    snapshot: IndexSnapshot, embedder: Embedder, model_key: str, text: str, pool: int
) -> Pools:
    parsed = parse_query(text)
    asked = embedder.embed_query(parsed.text)
    return Pools(
        snapshot.lexical(parsed.lexical, parsed.where, pool),
        snapshot.vector(asked, model_key, parsed.where, pool),
        Basis(lookup=is_lookup(text), known=snapshot.known_words(parsed.lexical)),
    )


def _measure_kept(home: Path, options: argparse.Namespace) -> Result:
    collection = load_collection(
        options.data / home.name, sample=options.queries, seed=options.seed
    )
    config = config_of(home, model=options.model)
    model = model_of(config)
    assert model is not None  # noqa: S101 - config_of names one
    snapshot, embedder = open_snapshot(config.storage.data_dir), LazyEmbedder(config)()
    pools = {
        query: _pools(snapshot, embedder, model.key, text, options.pool)
        for query, text in collection.queries.items()
    }
    names: dict[str, str] = json.loads((home / NAMES_FILE).read_text("utf-8"))
    keys = {row.chunk_key for found in pools.values() for row in (*found.lexical, *found.vector)}
    chunks = snapshot.chunks(sorted(keys))
    doc_of = {key: collection.judged_as(names[chunk["path"]]) for key, chunk in chunks.items()}
    return measure(collection, pools, doc_of)


def _parse(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("kept", type=Path, help="the folder that ir.py kept")
    parser.add_argument("--sets", default="all", help="names with commas, or 'all'")
    parser.add_argument("--queries", type=int, default=400, help="a sample per set; 0: all")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--pool", type=int, default=100, help="candidates of each channel")
    parser.add_argument("--model", help="the embedding model, if not the default")
    add_data_option(parser)
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    """Measure every wanted collection and print the figures."""
    options = _parse(words)
    homes = sorted(path.parent for path in options.kept.glob(f"*/{NAMES_FILE}"))
    homes = [home for home in homes if (options.data / home.name / "corpus.jsonl").is_file()]
    if options.sets != "all":
        homes = [home for home in homes if home.name in options.sets.split(",")]
    if not homes:
        print(
            f"no collection of '{options.data}' is kept in '{options.kept}': "
            "name their folder with --data, and run ir.py with --keep first",
            file=sys.stderr,
        )
        return 0
    use_private_cache()
    print(machine_line(describe_machine()), flush=True)
    try:
        results = [_measure_kept(home, options) for home in homes]
    except KbError as error:
        print(f"{error}; {error.hint or ''}", file=sys.stderr)
        return 2
    print("\n".join([render(results), "", *verdicts(results)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
