"""How well the whole product ranks: test collections through ingest and the facade.

Each document of a collection in BEIR layout becomes a Markdown file, all of them are
ingested as a user's would be, and every judged query is asked through
``KnowledgeBase.search``. Documents rank by their best chunk. Printed per mode: nDCG@10,
recall@100, MRR@10 and how many queries got nothing, beside BM25 of a reference
implementation and published figures of the same model; then whether the differences
between modes are more than luck.

    python tools/bench/ir.py                         the four default sets
    python tools/bench/ir.py --sets all --keep DIR   all of them; a second run only searches
    python tools/bench/ir.py --sets cranfield --modes lexical --no-embed
    python tools/bench/ir.py --modes hybrid,hybrid+rerank --queries 100

A search gives at most 100 chunks, and several may be of one document: recall@100 is of
the documents among 100 chunks, fewer than 100 where documents are long. The column
``docs`` says how many there were.

The collections are found through ``--data`` or ``KEBAB_BENCH_DATA`` and are no part of the
project; where there are none, that is said and nothing is measured. For experiments,
``beir.load_collection``, ``open_snapshot``, ``run_snapshot`` and ``metrics.evaluate`` can
be imported: any function from a question to chunks is then a run.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from beir import (
    BM25,
    PUBLISHED,
    Collection,
    by_title,
    load_collection,
    mistyped,
    sampled,
    write_documents,
)
from machine import ROOT, describe_machine, machine_line, use_private_cache
from metrics import by_best_chunk, compare, evaluate, ndcg_by_query
from tables import milliseconds, quantile, render_table

from kb_app import Config, KnowledgeBase
from kb_app.config import Ingest, Source
from kb_core.errors import KbError, NotIndexed
from kb_core.ingest import IngestOptions
from kb_core.media import SearchMode
from kb_core.ports import IndexSnapshot
from kb_core.search import Scored, SearchQuery
from kb_search.reader import Reader

__all__ = [
    "NAMES_FILE",
    "SOURCE",
    "Result",
    "Searched",
    "add_data_option",
    "config_of",
    "keep_in",
    "main",
    "measure",
    "open_snapshot",
    "prepare",
    "run_facade",
    "run_snapshot",
]

DEFAULT_DATA = ROOT.parent / "shared" / "data" / "ir"
DEFAULT_SETS = "cranfield,medline,belebele-en,xquad-zh"
MODES = ("lexical", "vector", "hybrid")
RERANKED = "+rerank"
"""Written after a mode: its first hits are read again. Ten times slower than all else."""
SOURCE = "docs"
DEPTH = 100
NAMES_FILE = "names.json"


def config_of(home: Path, *, model: str | None = None, quality: str | None = None) -> Config:
    """Return the configuration of a collection's knowledge base below *home*."""
    config = Config.inside(home, Source(id=SOURCE, root=home / SOURCE))
    embedding = config.embedding
    return replace(
        config,
        # A collection is no one's secret; all of it has to be searchable.
        ingest=Ingest(allow_secrets=True),
        embedding=replace(
            embedding, model=model or embedding.model, quality=quality or embedding.quality
        ),
    )


def prepare(
    collection: Collection,
    config: Config,
    *,
    suffix: str,
    embed: bool,
    refresh: bool,
    titles: str = "heading",
) -> dict[str, float]:
    """Write and ingest a collection unless that was done before; return what it took."""
    home = config.storage.data_dir.parent
    names_file = home / NAMES_FILE
    if names_file.exists() and not refresh and _is_ready(config, embed=embed):
        return {}
    names = write_documents(collection.docs, home / SOURCE, suffix=suffix, titles=titles)
    started = time.perf_counter()
    counts, phases = _ingest(config, embed=embed)
    names_file.write_text(json.dumps(names), "utf-8")
    return {"seconds": time.perf_counter() - started, **phases, **counts}


def _is_ready(config: Config, *, embed: bool) -> bool:
    try:
        control = open_snapshot(config.storage.data_dir).control
    except NotIndexed:
        return False
    return bool(control.vectors) or not embed


def _ingest(config: Config, *, embed: bool) -> tuple[dict[str, float], dict[str, float]]:
    report = None
    with KnowledgeBase.open(config) as kb:
        for event in kb.ingest(IngestOptions(embed=embed, summary_only=True)):
            report = event.report
            _progress(f"{event.kind} {event.data.get('done', '')}/{event.data.get('total', '')}")
    _progress("")
    assert report is not None  # noqa: S101 - the last event carries it
    counts = {name: float(count) for name, count in report.counts.items() if count}
    counts |= {f"skipped {name}": float(n) for name, n in report.skipped_by_reason.items()}
    phases = {f"{name} s": millis / 1000 for name, millis in report.phases_ms.items()}
    return {**counts, "embedded": float(report.embedded)}, phases


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def open_snapshot(data_dir: Path) -> IndexSnapshot:
    """Return the published state of a knowledge base, for experiments below the facade."""
    return Reader(data_dir).snapshot()


@dataclass(frozen=True, slots=True)
class Searched:
    """The rankings of one mode, how long each took, and what went wrong."""

    run: Mapping[str, Sequence[str]]
    seconds: Sequence[float]
    failures: Sequence[str]
    degraded: Sequence[str]


def run_facade(
    kb: KnowledgeBase, collection: Collection, names: Mapping[str, str], mode: str
) -> Searched:
    """Ask every query through the facade, in a mode that may end in ``+rerank``."""
    run, seconds, failures, degraded = {}, [], [], []
    rerank = mode.endswith(RERANKED)
    searched = SearchMode(mode.removesuffix(RERANKED))
    for query, text in collection.queries.items():
        started = time.perf_counter()
        try:
            answer = kb.search(SearchQuery(text=text, mode=searched, k=DEPTH, rerank=rerank))
        except KbError as error:
            failures.append(f"{query}: {error}")
            continue
        seconds.append(time.perf_counter() - started)
        degraded += [reason for reason in answer.degraded if reason not in degraded]
        found = (names[hit.doc_path] for hit in answer.hits)
        run[query] = by_best_chunk(collection.judged_as(doc) for doc in found)
    return Searched(run, seconds, failures, degraded)


def run_snapshot(
    snapshot: IndexSnapshot,
    collection: Collection,
    names: Mapping[str, str],
    rank: Callable[[str], Sequence[Scored]],
) -> dict[str, list[str]]:
    """Return the run of any function from a question to chunks, best first."""
    path_of: dict[int, str] = {}
    run = {}
    for query, text in collection.queries.items():
        keys = [scored.chunk_key for scored in rank(text)]
        unknown = [key for key in keys if key not in path_of]
        path_of |= {key: chunk["path"] for key, chunk in snapshot.chunks(unknown).items()}
        run[query] = by_best_chunk(collection.judged_as(names[path_of[key]]) for key in keys)
    return run


@dataclass(frozen=True, slots=True)
class Result:
    """What was measured of one collection."""

    name: str
    sizes: Mapping[str, float]
    prepared: Mapping[str, float]
    modes: Mapping[str, Mapping[str, float]]
    differences: Mapping[str, Mapping[str, float]]
    notes: Sequence[str]


def measure(collection: Collection, config: Config, options: argparse.Namespace) -> Result:
    """Ingest a collection, search it in every mode, compare the modes."""
    prepared = prepare(
        collection,
        config,
        suffix=options.suffix,
        titles=options.titles,
        embed=not options.no_embed,
        refresh=options.refresh,
    )
    home = config.storage.data_dir.parent
    names: dict[str, str] = json.loads((home / NAMES_FILE).read_text("utf-8"))
    stats = open_snapshot(config.storage.data_dir).control.stats
    modes, values, notes = {}, {}, []
    with KnowledgeBase.open(config) as kb:
        for mode in options.modes:
            found = run_facade(kb, collection, names, mode)
            values[mode] = list(ndcg_by_query(found.run, collection.qrels).values())
            modes[mode] = {
                **evaluate(found.run, collection.qrels),
                "failed": len(found.failures),
                "p50_ms": quantile(found.seconds, 0.5) * 1000,
            }
            notes += [f"{mode}: {what}" for what in (*found.degraded, *found.failures[:3])]
    indexed = float(stats.get("doc_count", 0))
    if indexed != len(collection.docs):
        notes.append(f"{len(collection.docs) - indexed:.0f} documents are not in the index")
    return Result(
        name=collection.name,
        sizes={
            "documents": len(collection.docs),
            "chunks": float(stats.get("chunk_count", 0)),
            "queries": len(collection.queries),
        },
        prepared=prepared,
        modes=modes,
        differences=_differences(values),
        notes=notes,
    )


def _differences(values: Mapping[str, Sequence[float]]) -> dict[str, Mapping[str, float]]:
    pairs = [("hybrid", "lexical"), ("hybrid", "vector"), ("vector", "lexical")]
    pairs.append((f"hybrid{RERANKED}", "hybrid"))
    found: dict[str, Mapping[str, float]] = {}
    for first, second in pairs:
        if first in values and second in values:
            difference = compare(values[first], values[second])
            found[f"{first} - {second}"] = {
                name: getattr(difference, name) for name in ("mean", "low", "high", "p")
            }
    return found


def render(results: Sequence[Result]) -> str:
    """Return everything that a person wants to read of *results*."""
    parts = [_mode_table(results), _difference_table(results), *_promises(results)]
    parts += [f"{result.name}: {_took(result)}" for result in results]
    parts += [f"{result.name}: note: {note}" for result in results for note in result.notes]
    return "\n".join(part for part in parts if part)


def _mode_table(results: Sequence[Result]) -> str:
    head = ("set", "mode", "nDCG@10", "R@100", "MRR@10", "empty", "docs", "p50 ms")
    rows = []
    for result in results:
        name = result.name
        for mode, found in result.modes.items():
            rows.append(
                (
                    name,
                    mode,
                    *(f"{found[measure]:.4f}" for measure in ("ndcg@10", "recall@100", "mrr@10")),
                    f"{found['empty']:.0f}",
                    f"{found['docs']:.0f}",
                    milliseconds(found["p50_ms"]),
                )
            )
        rows += _reference_rows(name)
    rows += _mean_rows(results)
    return render_table(head, rows)


def _reference_rows(name: str) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    if name in BM25:
        for label, figures in zip(("BM25 .9/.4", "BM25 1.2/.75"), BM25[name], strict=True):
            if figures is None:
                continue
            ndcg, recall = figures
            share = "-" if recall is None else f"{recall:.4f}"
            rows.append((name, label, f"{ndcg:.4f}", share, "", "", "", ""))
    if name in PUBLISHED:
        figure, model = PUBLISHED[name]
        rows.append((name, f"published {model}", f"{figure:.4f}", "", "", "", "", ""))
    return rows


def _mean_rows(results: Sequence[Result]) -> list[tuple[str, ...]]:
    if len(results) == 1:
        return []
    return [
        (
            f"mean of {len(results)}",
            mode,
            *(f"{mean:.4f}" for mean in _means(results, mode)),
            f"{sum(result.modes[mode]['empty'] for result in results):.0f}",
            "",
            "",
        )
        for mode in results[0].modes
    ]


def _means(results: Sequence[Result], mode: str) -> list[float]:
    measures = ("ndcg@10", "recall@100", "mrr@10")
    return [sum(r.modes[mode][m] for r in results) / len(results) for m in measures]


def _difference_table(results: Sequence[Result]) -> str:
    rows = [
        (
            result.name,
            pair,
            f"{found['mean']:+.4f}",
            f"{found['low']:+.4f} … {found['high']:+.4f}",
            f"{found['p']:.4f}",
        )
        for result in results
        for pair, found in result.differences.items()
    ]
    head = ("set", "difference in nDCG@10", "mean", "95 % interval", "p")
    return "\n" + render_table(head, rows) + "\n" if rows else ""


def _promises(results: Sequence[Result]) -> Iterator[str]:
    """Say of each promise about ranking whether it is kept."""
    for result in results:
        found = {mode: values["ndcg@10"] for mode, values in result.modes.items()}
        if "lexical" in found and result.name in BM25:
            bar = max(figures[0] for figures in BM25[result.name] if figures) - 0.01
            yield _verdict(result.name, "lexical >= better BM25 - 0.01", found["lexical"], bar)
        figure, model = PUBLISHED.get(result.name, (0.0, ""))
        if "vector" in found and model.startswith("e5-small"):
            yield _verdict(
                result.name, "vector >= published - 0.015", found["vector"], figure - 0.015
            )
        if found.keys() >= {"lexical", "vector", "hybrid"}:
            bar = max(found["lexical"], found["vector"]) - 0.005
            yield _verdict(result.name, "hybrid >= best channel - 0.005", found["hybrid"], bar)
        empty = sum(values["empty"] for values in result.modes.values())
        yield f"{_kept(not empty)} {result.name}: no query gets nothing ({empty:.0f} did)"
    if len(results) > 1 and results[0].modes.keys() >= {"lexical", "vector", "hybrid"}:
        mean = {mode: _means(results, mode)[0] for mode in MODES}
        bar = max(mean["lexical"], mean["vector"])
        yield _verdict("all sets", "hybrid > both on the mean", mean["hybrid"], bar)


def _verdict(name: str, promise: str, value: float, bar: float) -> str:
    return f"{_kept(value >= bar)} {name}: {promise} ({value:.4f}, {bar:.4f})"


def _kept(is_kept: bool) -> str:  # noqa: FBT001 - the one thing that it is about
    return "kept  " if is_kept else "MISSED"


def _took(result: Result) -> str:
    sizes = ", ".join(f"{value:.0f} {name}" for name, value in result.sizes.items())
    if not result.prepared:
        return f"{sizes}; ingested before"
    return f"{sizes}; ingest " + ", ".join(f"{k} {v:.4g}" for k, v in result.prepared.items())


def add_data_option(parser: argparse.ArgumentParser) -> None:
    """Add where the collections are: by option, by environment, or beside the project."""
    there = Path(os.environ.get("KEBAB_BENCH_DATA", DEFAULT_DATA))
    parser.add_argument("--data", type=Path, default=there, help="the folder of the collections")


def _parse(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sets", default=DEFAULT_SETS, help="names with commas, or 'all'")
    parser.add_argument(
        "--modes", default=",".join(MODES), help="names with commas, perhaps hybrid+rerank"
    )
    parser.add_argument("--queries", type=int, default=0, help="a sample of so many per set")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--typos", action="store_true", help="a typing error in each question")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep what is ingested there")
    parser.add_argument("--refresh", action="store_true", help="ingest again into what was kept")
    parser.add_argument("--no-embed", action="store_true", help="for lexical runs: no vectors")
    parser.add_argument("--model", help="another embedding model")
    parser.add_argument("--quality", help="int8 or fp32")
    parser.add_argument(
        "--titles",
        choices=["heading", "name", "none"],
        default="heading",
        help="where titles stand: in a heading, in the file's name, nowhere",
    )
    parser.add_argument(
        "--ask-titles", action="store_true", help="ask for documents by their titles instead"
    )
    parser.add_argument("--suffix", default=".md", help="of the files written, such as .py")
    add_data_option(parser)
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    options = parser.parse_args(words)
    options.modes = options.modes.split(",")
    for mode in options.modes:
        SearchMode(mode.removesuffix(RERANKED))
    return options


def _folders(options: argparse.Namespace) -> list[Path]:
    there = sorted(path.parent for path in options.data.glob("*/corpus.jsonl"))
    if options.sets == "all":
        return there
    wanted = options.sets.split(",")
    missing = [name for name in wanted if not (options.data / name / "corpus.jsonl").is_file()]
    if there and missing:
        print(f"no such collection: {', '.join(missing)}", file=sys.stderr)
    return [options.data / name for name in wanted if name not in missing]


@contextmanager
def keep_in(keep: Path | None) -> Iterator[Path]:
    """Give the folder that is kept, or one that is gone afterwards."""
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="kebab-bench-") as folder:
        yield Path(folder)


def main(words: Sequence[str] | None = None) -> int:
    """Measure every wanted collection and print the figures."""
    options = _parse(words)
    folders = _folders(options)
    if not folders:
        print(f"no collections in '{options.data}': name their folder with --data", file=sys.stderr)
        return 0
    use_private_cache()
    machine = describe_machine()
    results = []
    with keep_in(options.keep) as place:
        for folder in folders:
            collection = load_collection(folder)
            if options.ask_titles:
                collection = by_title(collection)
            collection = sampled(collection, options.queries, options.seed)
            if options.typos:
                collection = mistyped(collection, options.seed)
            config = config_of(place / folder.name, model=options.model, quality=options.quality)
            try:
                results.append(measure(collection, config, options))
            except KbError as error:
                print(f"{folder.name}: {error}; {error.hint or ''}", file=sys.stderr)
                return 2
            if not options.json:
                print(_mode_table(results[-1:]), flush=True)
    if options.json:
        sets = [{name: getattr(r, name) for name in Result.__dataclass_fields__} for r in results]
        print(json.dumps({"machine": machine, "sets": sets}, indent=2))
        return 0
    print(f"\n{machine_line(machine)}\n{render(results)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
