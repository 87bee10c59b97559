"""What one list for several wordings of a question is worth, and how to make it.

Nobody wrote paraphrases for the test collections, so each question is asked in several
forms: over the English passages of xquad the parallel questions in English, Spanish, German
and Chinese; elsewhere the question itself, its words without those that carry nothing, and
these in another order. Every form is searched alone; then the lists are put together:

    best form          the one form that is best on average, which nobody knows beforehand
    first + 5 %        the score of whichever query came first, and 5 % for each further one
    last + 5 %         the same, asked in the opposite order
    best + 5 %         the product: the best score, and 5 % for each further query
    best + 0 %         the best score alone
    rrf                reciprocal rank fusion of the queries' lists, with 60
    sum                all scores added up
    raw + 5 %          by words only: as the product, but BM25 as it is, not as a share of the
                       query's best

Printed per collection and mode: nDCG@10 of documents, and what each way loses or gains
against the product's, with a 95 % interval.

    python tools/bench/aggregate.py --keep DIR                  xquad-en, cranfield, cosqa-dev
    python tools/bench/aggregate.py --keep DIR --queries 100    a sample of each

DIR is what ``ir.py --keep`` left: collections that are ingested and embedded.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from beir import Collection, load_collection
from ir import NAMES_FILE, add_data_option, config_of
from machine import describe_machine, machine_line, use_private_cache
from metrics import by_best_chunk, compare, ndcg_by_query
from tables import render_table

from kb_app import KnowledgeBase
from kb_core.media import SearchMode
from kb_core.search import Hit, SearchQuery

__all__ = ["main"]

SETS = "xquad-en,cranfield,cosqa-dev"
MODES = "lexical,vector,hybrid"
LANGUAGES = ("en", "es", "de", "zh")
DEPTH = 50
BONUS = 0.05
OURS = "best + 5 %"
_EMPTY = frozenset(  # words that carry nothing
    re.findall(
        r"\w+",
        "a an and are as at be been by can could did do does for from get had has have how i if in "
        "is it its my of on or so such than that the their them there these they this to use used "
        "using was we were what when where which who why will with would you your",
    )
)

Listed = Mapping[str, float]
"""Chunks and their scores, best first."""


def forms_of(collection: Collection, data: Path) -> dict[str, list[str]]:
    """Return the forms of every question, the same number for each."""
    if not collection.name.startswith("xquad-"):
        return {query: _ruled(text) for query, text in collection.queries.items()}
    parallel = [load_collection(data / f"xquad-{lang}").queries for lang in LANGUAGES]
    return {
        query: [questions[query] for questions in parallel]
        for query in collection.queries
        if all(query in questions for questions in parallel)
    }


def _ruled(text: str) -> list[str]:
    words = [word for word in text.split() if word.strip("?.,").lower() not in _EMPTY]
    words = words or text.split()
    half = len(words) // 2
    return [text, " ".join(words), " ".join([*words[half:], *words[:half]])]


def _first(lists: Sequence[Listed]) -> Listed:
    scores: dict[str, float] = {}
    for one in lists:
        for chunk, score in one.items():
            scores.setdefault(chunk, score)
    return {chunk: score * _bonus(chunk, lists) for chunk, score in scores.items()}


def _last(lists: Sequence[Listed]) -> Listed:
    return _first(lists[::-1])


def _raised(lists: Sequence[Listed]) -> Listed:
    return {chunk: score * _bonus(chunk, lists) for chunk, score in _best(lists).items()}


def _best(lists: Sequence[Listed]) -> Listed:
    return {chunk: max(_scores(chunk, lists)) for chunk in _chunks(lists)}


def _sum(lists: Sequence[Listed]) -> Listed:
    return {chunk: sum(_scores(chunk, lists)) for chunk in _chunks(lists)}


def _rrf(lists: Sequence[Listed]) -> Listed:
    ranks = [{chunk: rank for rank, chunk in enumerate(one, start=1)} for one in lists]
    return {
        chunk: sum(1 / (60 + at[chunk]) for at in ranks if chunk in at) for chunk in _chunks(lists)
    }


def _ranked(scores: Listed) -> list[str]:
    """Return chunks by score, equal ones in an order that no query has a part in."""
    return sorted(scores, key=lambda chunk: (-round(scores[chunk], 6), chunk))


def _bonus(chunk: str, lists: Sequence[Listed]) -> float:
    return 1 + BONUS * (len(_scores(chunk, lists)) - 1)


def _scores(chunk: str, lists: Sequence[Listed]) -> list[float]:
    return [one[chunk] for one in lists if chunk in one]


def _chunks(lists: Sequence[Listed]) -> Iterable[str]:
    return dict.fromkeys(chunk for one in lists for chunk in one)


WAYS: Mapping[str, Callable[[Sequence[Listed]], Listed]] = {
    "first + 5 %": _first,
    "last + 5 %": _last,
    "best + 0 %": _best,
    "rrf": _rrf,
    "sum": _sum,
}


def measure(
    kb: KnowledgeBase,
    collection: Collection,
    names: Mapping[str, str],
    forms: Mapping[str, Sequence[str]],
    mode: SearchMode,
) -> dict[str, list[float]]:
    """Return nDCG@10 of every question, by the way that its forms were put together.

    *names* gives the documents of files.
    """
    runs: dict[str, dict[str, list[str]]] = {}

    def add(way: str, query: str, paths: Iterable[str]) -> None:
        documents = (collection.judged_as(names[path]) for path in paths)
        runs.setdefault(way, {})[query] = by_best_chunk(documents)

    for query, texts in forms.items():
        asked = [SearchQuery(text=text, mode=mode, k=DEPTH, snippet_chars=60) for text in texts]
        answers = [kb.search(one).hits for one in asked]
        for number, hits in enumerate(answers):
            add(f"form {number + 1}", query, (hit.doc_path for hit in hits))
        path_of = {hit.chunk_id: hit.doc_path for hits in answers for hit in hits}
        lists = [_listed(hits, mode) for hits in answers]
        found = {way: together(lists) for way, together in WAYS.items()}
        if mode is SearchMode.LEXICAL:
            found["raw + 5 %"] = _raised([_listed(hits) for hits in answers])
        for way, scores in found.items():
            add(way, query, (path_of[chunk] for chunk in _ranked(scores)))
        add(OURS, query, (hit.doc_path for hit in kb.search_aggregated(asked).hits))
    return {
        way: list(ndcg_by_query(run, {query: collection.qrels[query] for query in run}).values())
        for way, run in runs.items()
    }


def _listed(hits: Sequence[Hit], mode: SearchMode | None = None) -> Listed:
    """Return scores as the product compares them: BM25 as a share of the query's best."""
    top = hits[0].score if hits and mode is SearchMode.LEXICAL else 1.0
    return {hit.chunk_id: hit.score / top for hit in hits}


def _rows(name: str, mode: str, values: Mapping[str, Sequence[float]]) -> list[tuple[str, ...]]:
    forms = sorted(way for way in values if way.startswith("form"))
    best = max(forms, key=lambda way: sum(values[way]))
    shown = {way: values[way] for way in forms}
    shown |= {f"best form ({best.removeprefix('form ')})": values[best]}
    shown |= {way: values[way] for way in (OURS, *WAYS, "raw + 5 %") if way in values}
    rows: list[tuple[str, ...]] = []
    for way, found in shown.items():
        difference = compare(found, values[OURS])
        against = (
            ("", "")
            if way == OURS
            else (f"{difference.mean:+.4f}", f"{difference.low:+.4f} … {difference.high:+.4f}")
        )
        rows.append((name, mode, way, f"{sum(found) / len(found):.4f}", *against))
    return rows


def _parse(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--keep", type=Path, required=True, metavar="DIR", help="what is ingested")
    parser.add_argument("--sets", default=SETS, help="names with commas")
    parser.add_argument("--modes", default=MODES, help="names with commas")
    parser.add_argument("--fusion", default="auto", help="of words and meaning: auto or rrf")
    parser.add_argument("--queries", type=int, default=0, help="a sample of so many per set")
    add_data_option(parser)
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    """Measure every wanted collection and print the figures."""
    options = _parse(words)
    use_private_cache()
    rows: list[tuple[str, ...]] = []
    for name in options.sets.split(","):
        home = options.keep / name
        if not (home / NAMES_FILE).is_file() or not (options.data / name).is_dir():
            print(f"{name}: not there; ir.py --keep ingests it", file=sys.stderr)
            continue
        collection = load_collection(options.data / name, sample=options.queries)
        names = json.loads((home / NAMES_FILE).read_text("utf-8"))
        forms = forms_of(collection, options.data)
        config = config_of(home.resolve())
        config = replace(config, search=replace(config.search, fusion=options.fusion))
        with KnowledgeBase.open(config) as kb:
            for mode in options.modes.split(","):
                values = measure(kb, collection, names, forms, SearchMode(mode))
                rows += _rows(f"{name} ({len(forms)})", mode, values)
                print(f"{name} {mode} done", file=sys.stderr)
    print(machine_line(describe_machine()))
    print(render_table(("set", "mode", "way", "nDCG@10", f"- {OURS}", "95 % interval"), rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
