"""How often the right passage reaches a model within a number of tokens.

A search is asked as a model asks it, within a budget, and counts where the answer holds the
text of a relevant document: all of a short one, at least ``ENOUGH`` characters of a long one.
Compared are objects as they are by default (snippets of 220 characters), objects with whole
passages, text as a server of MCP gives it for that budget, as much of what it gives by default
(the lines that tell), and files read whole in the order in which ``rg`` finds them, whose own
lines cost nothing here. The collections are those of ``ir.py``.

With ``--answers``, of collections whose answers are known, a question counts where one of its
answers stands in what is delivered of a right document. That is the fairer measure of a part of
a passage, and of scripts of which 600 characters are no part of 500 tokens.

    python tools/bench/delivered.py
    python tools/bench/delivered.py --sets xquad-en,belebele-en --mode hybrid --budgets 500,2000
    python tools/bench/delivered.py --sets korquad1-dev,cmrc2018-trial --answers
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from anyio.from_thread import start_blocking_portal
from beir import Collection, load_collection
from ir import NAMES_FILE, SOURCE, add_data_option, config_of, prepare
from machine import ROOT, use_private_cache
from mcp import Client
from peers import GrepThenRead
from tables import render_table

from kb_app import KnowledgeBase
from kb_core.errors import InvalidInput
from kb_core.media import SearchMode
from kb_core.search import SearchQuery
from kb_mcp._tool import Form
from kb_mcp.server import create_server
from kb_mcp.text import tokens_of

__all__ = ["TEXT", "answers_of", "as_text", "main", "reading_files", "shares"]

DEFAULT_SETS = "cranfield,medline,belebele-en,xquad-en,xquad-zh"
ENOUGH = 600
SHARE = 0.8
"""Of a short document: heads and blank lines are not told again."""
WHOLE = 10_000
HEAD = re.compile(r"(\S+\.md)(?=:\d|#| ·)")
SAID = re.compile(r"(?:\d+ |  )(.*)")
"""A line that a document wrote: with its number, or indented."""
ALSO = "\nalso:\n"
TEXT, LINES = "text", "text, by default"
READ = "files read"

Delivered: TypeAlias = Mapping[str, str]
"""Text by the path of its document."""
Ask: TypeAlias = Callable[[SearchQuery, int], Delivered]


def as_objects(kb: KnowledgeBase, query: SearchQuery, budget: int) -> Delivered:
    """Return what reaches a model that reads objects; nothing where not even one fits."""
    found = defaultdict[str, str](str)
    with suppress(InvalidInput):
        for hit in kb.search(replace(query, max_tokens=budget)).hits:
            found[hit.doc_path] += hit.snippet
    return found


@contextmanager
def as_text(kb: KnowledgeBase, *, by_default: bool = False) -> Iterator[Ask]:
    """Yield what asks *kb* for text over MCP, within a budget, or for that much of the default."""
    server = create_server(kb, form=Form.TEXT)
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(server)) as client,
    ):

        def ask(query: SearchQuery, budget: int) -> Delivered:
            asked: dict[str, str | int] = {"query": query.text, "mode": str(query.mode)}
            if not by_default:
                asked["max_tokens"] = budget
            result = portal.call(client.call_tool, "search", asked)
            return _told(getattr(result.content[0], "text", ""), budget)

        yield ask


def _told(text: str, budget: int) -> Delivered:
    """Return what the answer *text* shows of each document, as far as *budget* reaches."""
    found = defaultdict[str, str](str)
    path = ""
    left = budget
    for line in text.partition(ALSO)[0].splitlines():
        left -= tokens_of(f"{line}\n")
        if left < 0:
            break
        if path and (said := SAID.match(line)):
            found[path] += f"{said[1]}\n"
        elif head := HEAD.match(line):
            path = head[1]
    return found


def reading_files(folder: Path, names: Iterable[str]) -> Ask:
    """Return how a model fares that greps below *folder* and reads the files that it finds."""
    texts = {name: (folder / name).read_text("utf-8") for name in names}
    grep = GrepThenRead(texts)

    def ask(query: SearchQuery, budget: int) -> Delivered:
        found = dict[str, str]()
        left = budget
        for path in grep.files(query.text):
            cost = tokens_of(texts[path])
            found[path] = texts[path][: len(texts[path]) * min(left, cost) // max(cost, 1)]
            left -= cost
            if left <= 0:
                break
        return found

    return ask


def shares(
    collection: Collection,
    names: Mapping[str, str],
    forms: Mapping[str, Ask],
    *,
    mode: SearchMode,
    budgets: Sequence[int],
    answers: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> dict[tuple[str, int], float]:
    """Return by form and budget for which share of the queries a right passage is delivered.

    With *answers*, for which share of the questions that have some one of these is.
    """
    size = {doc.doc_id: len(doc.text) for doc in collection.docs}
    hits = Counter({(form, budget): 0 for form in forms for budget in budgets})
    queries = collection.queries.items()
    asked = {query: text for query, text in queries if not answers or query in answers}

    def is_enough(query: str, path: str, text: str) -> bool:
        if answers:
            return any(_flat(answer) in _flat(text) for answer in answers[query])
        return len(text) >= min(ENOUGH, SHARE * size[names[path]])

    for query, text in asked.items():
        right = {doc for doc, score in collection.qrels[query].items() if score > 0}
        search = SearchQuery(text=text, mode=mode)
        for form, budget in hits:
            hits[form, budget] += any(
                collection.judged_as(names[path]) in right and is_enough(query, path, told)
                for path, told in forms[form](search, budget).items()
            )
    return {key: times / len(asked) for key, times in hits.items()}


def _flat(text: str) -> str:
    return "".join(text.split()).casefold()


def answers_of(folder: Path) -> dict[str, list[str]]:
    """Return the answers of the questions of a collection, as they stand in its documents."""
    file = folder / "answers.jsonl"
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    rows = (json.loads(line) for line in lines)
    return {row["_id"]: row["answers"] for row in rows if row.get("answers")}


def measure(collection: Collection, options: argparse.Namespace) -> dict[tuple[str, int], float]:
    """Ingest the collection, unless that was done, and return the shares of all forms."""
    config = config_of(ROOT / ".cache" / "bench" / "delivered" / collection.name)
    mode = SearchMode(options.mode)
    prepare(collection, config, suffix=".md", embed=mode != SearchMode.LEXICAL, refresh=False)
    home = config.storage.data_dir.parent
    names: dict[str, str] = json.loads((home / NAMES_FILE).read_text("utf-8"))
    known = answers_of(options.data / collection.name) if options.answers else {}
    asked = {"mode": mode, "budgets": options.budgets, "answers": known}
    with (
        KnowledgeBase.open(config, readonly=True) as kb,
        as_text(kb) as text,
        as_text(kb, by_default=True) as lines,
    ):

        def whole(query: SearchQuery, budget: int) -> Delivered:
            return as_objects(kb, replace(query, snippet_chars=WHOLE), budget)

        forms: dict[str, Ask] = {
            "objects": lambda query, budget: as_objects(kb, query, budget),
            "objects, whole": whole,
            TEXT: text,
            LINES: lines,
            READ: reading_files(home / SOURCE, names),
        }
        return shares(collection, names, forms, **asked)


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sets", default=DEFAULT_SETS, help="names with commas")
    parser.add_argument("--mode", default="lexical", choices=[str(mode) for mode in SearchMode])
    parser.add_argument("--queries", type=int, default=100, help="a sample of so many per set")
    parser.add_argument("--budgets", default="500,1000,2000", help="tokens, with commas")
    parser.add_argument("--answers", action="store_true", help="count answers, where known")
    add_data_option(parser)
    options = parser.parse_args(words)
    use_private_cache()
    options.budgets = [int(budget) for budget in options.budgets.split(",")]
    found = {
        name: measure(load_collection(options.data / name, sample=options.queries), options)
        for name in options.sets.split(",")
    }
    first = next(iter(found.values()))
    columns = sorted(first, key=lambda column: column[1])
    rows = [(name, *(f"{each[column]:.3f}" for column in columns)) for name, each in found.items()]
    print(render_table(("set", *(f"{form} {budget}" for form, budget in columns)), rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
