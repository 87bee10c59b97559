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
    python tools/bench/fusion.py DIR --cross               questions in another language
    python tools/bench/fusion.py DIR --coverage            with a part of the vectors

``--cross`` makes collections of parallel ones (``derived.py``), whose passages may be in
another language than the question. ``--coverage`` leaves out vectors: the promise is "not
below words - 0.005 with any part of them, and no worse with more of them"; questions are
shown apart whose answer has no vector yet.

The collections are found through ``--data`` or ``KEBAB_BENCH_DATA``, as by ``ir.py``.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

from beir import Collection, load_collection, sampled
from derived import CROSSED, MIXED, ORDERS, SHARES, crossed, first_embedded, mixed
from ir import NAMES_FILE, add_data_option, config_of, open_snapshot, prepare
from machine import describe_machine, machine_line, use_private_cache
from metrics import by_best_chunk, compare, ndcg_by_query
from tables import render_table

from kb_app._models import model_of
from kb_app._search.query import parse_query
from kb_app._wiring import LazyEmbedder
from kb_core.errors import KbError
from kb_core.ports import Embedder, IndexSnapshot, StoredChunk
from kb_core.search import Scored
from kb_search.fusion import Basis, Fused, convex_combination, fuse, is_lookup, weight_of_words

__all__ = [
    "FUSE",
    "Covered",
    "Pools",
    "Result",
    "main",
    "measure",
    "measure_covered",
    "render",
    "render_covered",
    "verdicts",
    "verdicts_covered",
]

TOLERANCE = 0.005
POOL = 100
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


@dataclass(frozen=True, slots=True)
class Covered:
    """What a part of the vectors does: nDCG@10 by order of embedding and share embedded."""

    name: str
    words: float
    hybrid: Mapping[tuple[str, float], float]
    waiting: Mapping[tuple[str, float], float]
    """Hybrid minus words of the questions whose answer has no vector, 0 where there are none."""


def measure_covered(
    collection: Collection,
    pools: Mapping[str, Pools],
    doc_of: Mapping[int, str],
    newest_first: Sequence[int],
) -> Covered:
    """Fuse with a part of the vectors; *pools* hold the cosines of all chunks."""
    words = _ndcg(collection, doc_of, {q: found.lexical for q, found in pools.items()})
    mean = sum(words) / len(words)
    hybrid, waiting = {}, {}
    for order in ORDERS:
        for share in SHARES:
            embedded = first_embedded(newest_first, order, share)
            values = _ndcg(
                collection,
                doc_of,
                {q: _covered(found, embedded, share) for q, found in pools.items()},
            )
            hybrid[order, share] = sum(values) / len(values)
            docs = {doc_of[key] for key in embedded}
            differences = [
                value - word
                for (_, grades), value, word in zip(
                    sorted(collection.qrels.items()), values, words, strict=True
                )
                if docs.isdisjoint(doc for doc, grade in grades.items() if grade > 0)
            ]
            waiting[order, share] = sum(differences) / max(1, len(differences))
    return Covered(collection.name, mean, hybrid, waiting)


def _covered(found: Pools, embedded: set[int], share: float) -> Sequence[Fused]:
    vector = [row for row in found.vector if row.chunk_key in embedded][:POOL]
    without = {row.chunk_key for row in found.lexical} - embedded
    basis = replace(found.basis, coverage=share, without_vector=without)
    return fuse("auto", found.lexical, vector, basis=basis)


def _ndcg(
    collection: Collection,
    doc_of: Mapping[int, str],
    rows: Mapping[str, Sequence[Scored | Fused]],
) -> list[float]:
    run = {q: by_best_chunk(doc_of[row.chunk_key] for row in found) for q, found in rows.items()}
    return list(ndcg_by_query(run, collection.qrels).values())


def render_covered(results: Sequence[Covered]) -> str:
    """Return, by order of embedding, what hybrid gains over words with each share of vectors."""
    head = ("hybrid - words", "words", *(f"{share:.0%}" for share in SHARES))
    tables = []
    for order in ORDERS:
        rows = [
            (result.name, f"{result.words:.4f}", *_gains(result.hybrid, order, result.words))
            for result in results
        ]
        for name, gains in (
            ("mean", [_mean_gain(results, order, share) for share in SHARES]),
            ("answer not embedded", [_mean_waiting(results, order, share) for share in SHARES]),
        ):
            rows.append((name, "", *(f"{gain:+.4f}" for gain in gains)))
        tables.append(f"embedded in order: {order}\n{render_table(head, rows)}")
    return "\n\n".join(tables)


def _gains(hybrid: Mapping[tuple[str, float], float], order: str, words: float) -> Iterator[str]:
    return (f"{hybrid[order, share] - words:+.4f}" for share in SHARES)


def _mean_gain(results: Sequence[Covered], order: str, share: float) -> float:
    return sum(one.hybrid[order, share] - one.words for one in results) / len(results)


def _mean_waiting(results: Sequence[Covered], order: str, share: float) -> float:
    return sum(one.waiting[order, share] for one in results) / len(results)


def verdicts_covered(results: Sequence[Covered]) -> Iterator[str]:
    """Say of each promise about a part of the vectors whether it is kept."""
    for result in results:
        (order, share), value = min(result.hybrid.items(), key=lambda item: item[1])
        where = f"{result.name}, {share:.0%} {order}"
        yield _verdict(f"{where}: auto >= words - {TOLERANCE}", value, result.words - TOLERANCE)
    for order in ORDERS:
        gains = [_mean_gain(results, order, share) for share in SHARES]
        falls = max(before - after for before, after in pairwise(gains))
        yield _verdict(f"{order}: no worse with more vectors", -falls, -TOLERANCE)
        least = min(_mean_waiting(results, order, share) for share in SHARES)
        yield _verdict(f"{order}: answers without a vector are found", least, -2 * TOLERANCE)


def _pools(
    snapshot: IndexSnapshot,
    embedder: Embedder,
    model_key: str,
    text: str,
    options: argparse.Namespace,
) -> Pools:
    parsed = parse_query(text)
    asked = embedder.embed_query(parsed.text)
    near = snapshot.count(None) if options.coverage else options.pool
    return Pools(
        snapshot.lexical(parsed.lexical, parsed.where, options.pool),
        snapshot.vector(asked, model_key, parsed.where, near),
        Basis(lookup=is_lookup(text), known=snapshot.known_words(parsed.lexical)),
    )


Measured: TypeAlias = Result | Covered


def _measure(collection: Collection, home: Path, options: argparse.Namespace) -> Measured:
    """Ask the questions of *collection* at the knowledge base kept in *home*."""
    collection = sampled(collection, options.queries, options.seed)
    config = config_of(home, model=options.model)
    model = model_of(config)
    assert model is not None  # noqa: S101 - config_of names one
    snapshot, embedder = open_snapshot(config.storage.data_dir), LazyEmbedder(config)()
    pools = {
        query: _pools(snapshot, embedder, model.key, text, options)
        for query, text in collection.queries.items()
    }
    names: dict[str, str] = json.loads((home / NAMES_FILE).read_text("utf-8"))
    keys = {row.chunk_key for found in pools.values() for row in (*found.lexical, *found.vector)}
    chunks = snapshot.chunks(sorted(keys))
    doc_of = {key: collection.judged_as(names[chunk["path"]]) for key, chunk in chunks.items()}
    if options.coverage:
        return measure_covered(collection, pools, doc_of, sorted(chunks, key=_newest_first(chunks)))
    return measure(collection, pools, doc_of)


def _newest_first(chunks: Mapping[int, StoredChunk]) -> Callable[[int], tuple[int, int, int]]:
    """Return the order in which the product embeds; files are numbered in order of ingest."""

    def place(key: int) -> tuple[int, int, int]:
        chunk = chunks[key]
        newest = chunk["doc_date"] or chunk["indexed_at"]
        return -newest, -int(Path(chunk["path"]).stem[1:]), chunk["ordinal"]

    return place


def _kept(options: argparse.Namespace) -> Iterator[tuple[Collection, Path]]:
    """Yield the collections to measure, and where each is kept."""
    homes = {path.parent.name: path.parent for path in options.kept.glob(f"*/{NAMES_FILE}")}
    there = {name for name in homes if (options.data / name / "corpus.jsonl").is_file()}
    if options.sets != "all":
        there &= set(options.sets.split(","))
    if not options.cross:
        for name in sorted(there):
            yield load_collection(options.data / name), homes[name]
        return
    for first, second in CROSSED:
        if {first, second} <= there:
            asked, passages = (load_collection(options.data / name) for name in (first, second))
            yield crossed(asked, passages), homes[second]
    for first, second in MIXED:
        if {first, second} <= there:
            made = mixed(*(load_collection(options.data / name) for name in (first, second)))
            config = config_of(options.kept / made.name, model=options.model)
            prepare(made, config, suffix=".md", embed=True, refresh=False)
            yield made, options.kept / made.name


def _parse(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("kept", type=Path, help="the folder that ir.py kept")
    parser.add_argument("--sets", default="all", help="names with commas, or 'all'")
    parser.add_argument("--queries", type=int, default=400, help="a sample per set; 0: all")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--pool", type=int, default=POOL, help="candidates of each channel")
    parser.add_argument("--model", help="the embedding model, if not the default")
    parser.add_argument(
        "--cross", action="store_true", help="questions in another language than the passages"
    )
    parser.add_argument("--coverage", action="store_true", help="with a part of the vectors")
    add_data_option(parser)
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    """Measure every wanted collection and print the figures."""
    options = _parse(words)
    use_private_cache()
    try:
        found = [_measure(collection, home, options) for collection, home in _kept(options)]
    except KbError as error:
        print(f"{error}; {error.hint or ''}", file=sys.stderr)
        return 2
    if not found:
        print(
            f"no collection of '{options.data}' is kept in '{options.kept}': "
            "name their folder with --data, and run ir.py with --keep first",
            file=sys.stderr,
        )
        return 0
    print(machine_line(describe_machine()))
    results = [one for one in found if isinstance(one, Result)]
    covered = [one for one in found if isinstance(one, Covered)]
    if results:
        print("\n".join([render(results), "", *verdicts(results)]))
    if covered:
        print("\n".join([render_covered(covered), "", *verdicts_covered(covered)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
