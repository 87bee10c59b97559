"""The house's own board: how well it ranks, on every collection, as a page of the documentation.

    python tools/bench/board.py --keep DIR                    measures, and writes docs/quality.md
    python tools/bench/board.py --keep DIR --queries 50       quicker, and less sure
    python tools/bench/board.py --keep DIR --render           writes the page of what was measured

Every collection is ingested as a user's files would be, and a sample of its questions is asked
by words, by meaning, by both, and a smaller one with close reading. Beside that stands BM25 over
whole documents, of the same questions and terms, with nothing else that the product knows; what
a reference implementation and the same model reach on all questions is quoted from ``beir``.
How often a right passage reaches a model within a number of tokens is as ``delivered.py`` has it.

What was measured of a collection is written to DIR at once, and a run that was stopped goes on
with the next one, as long as the product has the same version. The page keeps the rows of its
history that are of other versions.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from beir import Collection, load_collection, sampled
from board_page import BUDGETS, QUESTIONS, READ_CLOSELY, Figures, Row, history_of, interval, render
from delivered import as_text, reading_files, shares
from ir import (
    DEPTH,
    MODES,
    NAMES_FILE,
    SOURCE,
    add_data_option,
    config_of,
    open_snapshot,
    prepare,
    run_facade,
)
from machine import ROOT, describe_machine, use_private_cache
from metrics import Difference, Run, compare, evaluate, ndcg_by_query
from peers import PlainBM25

from kb_app import KnowledgeBase
from kb_app._evals.figures import Mean, mean_of
from kb_core.clock import utc_now
from kb_core.errors import KbError
from kb_core.media import SearchMode
from kb_core.version import __version__

__all__ = ["main", "measure"]

PAGE = ROOT / "docs" / "quality.md"
CLOSE = "hybrid+rerank"


def measure(folder: Path, place: Path, *, queries: int, closely: int) -> Row:
    """Ingest the collection in *folder* below *place* unless it is there, and ask it."""
    whole = load_collection(folder)
    collection = sampled(whole, queries)
    config = config_of(place / folder.name)
    prepare(collection, config, suffix=".md", embed=True, refresh=False)
    names: dict[str, str] = json.loads((place / folder.name / NAMES_FILE).read_text("utf-8"))
    few = sampled(collection, closely)
    with KnowledgeBase.open(config) as kb:
        runs = {mode: run_facade(kb, collection, names, mode).run for mode in MODES}
        closely_read = run_facade(kb, few, names, CLOSE).run if closely else {}
        delivered = _delivered(kb, collection, names, place / folder.name / SOURCE)
    told = {mode: _values(run, collection) for mode, run in runs.items()}
    better = max(("lexical", "vector"), key=lambda mode: sum(told[mode]))
    kept = {query: runs["hybrid"].get(query, ()) for query in few.queries}
    languages = open_snapshot(config.storage.data_dir).control.stats.get("lang_breakdown", {})
    return Row(
        name=folder.name,
        version=__version__,
        documents=len(collection.docs),
        questions=len(collection.queries),
        judged=len(whole.queries),
        words=_bounded(told["lexical"]),
        meaning=_bounded(told["vector"]),
        hybrid=_bounded(told["hybrid"]),
        bm25=_bounded(_values(_by_bm25(collection, languages), collection)),
        gain=_different(compare(told["hybrid"], told[better])),
        close=_different(compare(_values(closely_read, few), _values(kept, few)))
        if closely
        else {},
        found=_found(runs["hybrid"], collection),
        empty=sum(not ranking for run in runs.values() for ranking in run.values()),
        **delivered,
    )


def _delivered(
    kb: KnowledgeBase, collection: Collection, names: Mapping[str, str], folder: Path
) -> dict[str, dict[str, float]]:
    with as_text(kb) as text:
        forms = {"delivered": text, "read": reading_files(folder, names)}
        found = shares(collection, names, forms, mode=SearchMode.HYBRID, budgets=BUDGETS)
    return {form: {str(budget): found[form, budget] for budget in BUDGETS} for form in forms}


def _values(run: Run, collection: Collection) -> list[float]:
    return list(ndcg_by_query(run, collection.qrels).values())


def _found(run: Run, collection: Collection) -> float:
    return evaluate(run, collection.qrels)["recall@100"]


def _by_bm25(collection: Collection, languages: Mapping[str, int]) -> dict[str, list[str]]:
    known = {lang: count for lang, count in languages.items() if lang not in {"und", "null"}}
    language = max(known, key=lambda lang: known[lang], default=None)
    texts = [f"{doc.title}\n{doc.text}" for doc in collection.docs]
    plain = PlainBM25(texts, language)
    run = {}
    for query, text in collection.queries.items():
        found = (collection.docs[row].doc_id for row in plain.search(text, DEPTH))
        run[query] = list(dict.fromkeys(map(collection.judged_as, found)))
    return run


def _bounded(values: Sequence[float]) -> Figures:
    mean = mean_of(values) or Mean(0.0, 0.0, 0.0, 0)
    return {"mean": mean.mean, "low": mean.low, "high": mean.high}


def _different(difference: Difference) -> Figures:
    return {name: getattr(difference, name) for name in ("mean", "low", "high", "p")}


# ------------------------------------------------------------------ the command


def _measured(options: argparse.Namespace) -> Iterator[Row]:
    """Yield the row of each collection, as it was measured before or is now."""
    for folder in sorted(path.parent for path in options.data.glob("*/corpus.jsonl")):
        file = options.keep / folder.name / "board.json"
        row = _kept(file)
        if row is None and not options.render:
            row = measure(folder, options.keep, queries=options.queries, closely=options.closely)
            file.write_text(json.dumps(asdict(row)), "utf-8")
            print(f"{row.name}: {interval(row.hybrid)}", file=sys.stderr, flush=True)
        if row is not None:
            yield row


def _kept(file: Path) -> Row | None:
    if not file.exists():
        return None
    told: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return Row(**told) if told["version"] == __version__ else None


def _parse(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--keep", type=Path, metavar="DIR", required=True, help="kept there")
    parser.add_argument("--queries", type=int, default=QUESTIONS, help="a sample of so many a set")
    parser.add_argument("--closely", type=int, default=READ_CLOSELY, help="of them, read closely")
    parser.add_argument("--render", action="store_true", help="only write the page")
    parser.add_argument("--page", type=Path, default=PAGE)
    add_data_option(parser)
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    """Measure every collection and write the page."""
    options = _parse(words)
    use_private_cache()
    options.keep.mkdir(parents=True, exist_ok=True)
    try:
        rows = list(_measured(options))
    except KbError as error:
        print(f"{error}; {error.hint or ''}", file=sys.stderr)
        return 2
    if not rows:
        print(f"nothing is measured of '{options.data}': --data names a folder", file=sys.stderr)
        return 0
    before = options.page.read_text("utf-8") if options.page.exists() else ""
    options.page.write_text(
        render(rows, history_of(before), describe_machine(), f"{utc_now():%Y-%m-%d}"), "utf-8"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
