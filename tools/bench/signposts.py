"""What lists of links, tables of contents and bare headings do to a ranking.

Test collections hold passages and no pages that only lead to them, so this makes one that
does: projects as people keep them, each with a README that lists its pages as links, a
manual that begins with a table of contents, a plan of nothing but headings, and the pages
themselves, which say something under those headings. Every page is asked for by words of its
heading and of what it says (``made``). Beside it stand this project's own pages under
``docs/`` with questions that a person wrote (``docs``), each judged with the page that
answers it.

    python tools/bench/signposts.py                     both, in a temporary folder
    python tools/bench/signposts.py --keep DIR          a second run only searches

Printed per mode: nDCG@10 and MRR@10 of the pages, and how often the first hit, and how many
of the first five hits, are passages that only name what stands elsewhere.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from beir import Collection, Doc
from ir import MODES, NAMES_FILE, config_of, keep_in, prepare
from machine import ROOT, describe_machine, machine_line, use_private_cache
from metrics import by_best_chunk, evaluate
from tables import render_table
from words import Words

from kb_app import Config, KnowledgeBase
from kb_core.media import SearchMode
from kb_core.search import SearchQuery
from kb_search.signposts import is_signpost

__all__ = ["made", "main", "own_pages"]

PROJECTS = 30
PAGES = 8
DEPTH = 20

QUESTIONS = {
    "how does a cursor know that its list has changed": "decisions/0013-one-list-many-pages.md",
    "which weight do words get when both channels are put together": "decisions/0011-fusion.md",
    "why do deleted notes no longer influence the scores": "decisions/0015-ranking-forgets.md",
    "several queries one list bonus for each match": (
        "decisions/0014-one-list-for-several-queries.md"
    ),
    "read the first twenty again with token vectors": "decisions/0012-reranking.md",
    "why is there no approximate nearest neighbour index": "decisions/0003-exact-int8-scan.md",
    "which embedding model is the default and why": "decisions/0004-multilingual-e5-small.md",
    "what happens when a parser process crashes": "decisions/0008-fresh-worker-processes.md",
    "a moved file keeps its vectors": "decisions/0006-keys-of-chunks-and-documents.md",
    "stop words or frequencies in ranking by words": "decisions/0010-lexical-ranking.md",
    "how are identifiers like parseHTTPDate found": "guide/searching.md",
    "search only in files changed since a date": "guide/searching.md",
    "how do I leave folders out of the index": "guide/sources-and-ingest.md",
    "are passwords and keys indexed": "guide/sources-and-ingest.md",
    "install it and index a first folder": "guide/getting-started.md",
    "exit codes of the command line for scripts": "guide/json-and-agents.md",
    "use the knowledge base from my own Python program": "guide/python.md",
    "which tools does a language model get over MCP": "guide/agents.md",
    "keys to move between panes in the terminal": "reference/keys.md",
    "where is the configuration file and what wins over it": "guide/configuration.md",
    "nothing is found although the file is there": "guide/troubleshooting.md",
    "how much disk does an installation take": "reference/sizes.md",
    "read a passage exactly as it stands in the file": "guide/fetching.md",
    "run the tests and the checks before a commit": "guide/contributing.md",
}
"""Questions and the pages under ``docs/`` that answer them, written before any was asked."""


def made(seed: int = 5) -> Collection:
    """Return projects whose pages are led to by lists, with two questions for each page."""
    words, chance = Words(seed), random.Random(seed)  # noqa: S311 - not for secrets
    docs: list[Doc] = []
    queries: dict[str, str] = {}
    qrels: dict[str, dict[str, int]] = {}
    for project in range(PROJECTS):
        name = words.title()
        pages = [(words.title(), words.passage(80), words.passage(80)) for _ in range(PAGES)]
        docs += _leading(f"p{project}", name, [title for title, *_ in pages], words)
        for number, (title, first, second) in enumerate(pages):
            page = f"p{project}/page{number}"
            docs.append(Doc(page, name, f"## {title}\n\n{first}\n\n{second}"))
            for half, text in enumerate((first, second)):
                about = [*title.split()[half:][:4], *_run(chance, text.split(), 3)]
                queries[f"{page}/{half}"] = " ".join(about)
                qrels[f"{page}/{half}"] = {page: 1}
    return Collection("made", tuple(docs), queries, qrels)


def _leading(project: str, name: str, titles: Sequence[str], words: Words) -> Iterator[Doc]:
    links = "\n".join(f"- [{title}](page{number}.md)" for number, title in enumerate(titles))
    intro = words.passage(60)
    yield Doc(f"{project}/readme", name, f"{intro}\n\n## Documentation\n\n{links}")
    leaders = "\n".join(
        f"{1 + number // 4}.{1 + number % 4} {title} {'.' * 20} {7 * number + 3}"
        for number, title in enumerate(titles)
    )
    yield Doc(f"{project}/manual", name, f"## Contents\n\n{leaders}\n\n## Preface\n\n{intro}")
    yield Doc(f"{project}/plan", name, "\n\n".join(f"## {title}" for title in titles))


def _run(chance: random.Random, words: Sequence[str], size: int) -> Sequence[str]:
    start = chance.randrange(max(1, len(words) - size))
    return words[start : start + size]


def own_pages() -> Collection:
    """Return this project's pages for people, with questions that they answer."""
    folder = ROOT / "docs"
    pages = sorted(folder.rglob("*.md"))
    docs = [Doc(str(page.relative_to(folder)), "", page.read_text("utf-8")) for page in pages]
    qrels = {f"q{number}": {page: 1} for number, page in enumerate(QUESTIONS.values())}
    return Collection(
        "docs", tuple(docs), {f"q{n}": text for n, text in enumerate(QUESTIONS)}, qrels
    )


def measure(collection: Collection, config: Config) -> list[tuple[str, ...]]:
    """Ask every question in every mode; return the rows of the table."""
    prepare(collection, config, suffix=".md", embed=True, refresh=False)
    names = json.loads((config.storage.data_dir.parent / NAMES_FILE).read_text("utf-8"))
    rows: list[tuple[str, ...]] = []
    with closing(KnowledgeBase.open(config)) as kb:
        for mode in MODES:
            run, first, early = {}, 0, 0
            for query, text in collection.queries.items():
                asked = SearchQuery(text=text, mode=SearchMode(mode), k=DEPTH, snippet_chars=10_000)
                hits = kb.search(asked).hits
                run[query] = by_best_chunk(names[hit.doc_path] for hit in hits)
                leads = [is_signpost(hit.snippet, hit.media) for hit in hits[:5]]
                first, early = first + sum(leads[:1]), early + sum(leads)
            found = evaluate(run, collection.qrels)
            size = len(collection.queries)
            rows.append(
                (
                    collection.name,
                    mode,
                    f"{found['ndcg@10']:.4f}",
                    f"{found['mrr@10']:.4f}",
                    f"{first / size:.1%}",
                    f"{early / size:.2f}",
                )
            )
    return rows


def main(words: Sequence[str] | None = None) -> int:
    """Measure both collections and print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--keep", type=Path, metavar="DIR", help="what is ingested stays here")
    options = parser.parse_args(words)
    use_private_cache()
    rows: list[tuple[str, ...]] = []
    with keep_in(options.keep) as place:
        for collection in (made(), own_pages()):
            rows += measure(collection, config_of(place / collection.name))
    print(machine_line(describe_machine()))
    head = ("set", "mode", "nDCG@10", "MRR@10", "signpost first", "signposts in 5")
    print(render_table(head, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
