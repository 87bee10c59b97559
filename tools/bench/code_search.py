"""How well code is found: questions about three repositories, in the folder that holds them.

Sixty questions about click, starlette and jinja2, written from what their users ask in issues
before any was tried: in prose, by ``where``, by the name of a symbol, and by a name with a
typing error. ``code_questions.jsonl`` holds them, each with the places that answer it, a file
and a symbol (or a page of the documentation). It holds nothing of the repositories, and
nothing is downloaded: FOLDER has a source distribution of each, unpacked. Others are those of
``code_later_questions.jsonl``: 79 about httpx, rich, anyio, pydantic and fastify, of which
nothing was chosen by those that are ``kept``.

    python tools/bench/code_search.py FOLDER                   in a temporary folder
    python tools/bench/code_search.py FOLDER --keep DIR        a second run only asks
    python tools/bench/code_search.py FOLDER --each            and the rank of each question
    python tools/bench/code_search.py FOLDER --questions FILE  asks others

Printed by kind of question, for ``codebase_search`` and for ``search`` by words and in hybrid:
the mean reciprocal rank of the first right place among ten hits, and how often it is the
first, and one of the first five.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ir import keep_in
from machine import describe_machine, machine_line, use_private_cache
from tables import render_table

from kb_app import Config, KnowledgeBase
from kb_app.config import Source
from kb_core.citations import span_fields
from kb_core.ingest import IngestOptions
from kb_core.media import SearchMode
from kb_core.search import SearchQuery

__all__ = ["QUESTIONS", "Question", "lines_of", "main", "questions", "ranks"]

QUESTIONS = Path(__file__).with_name("code_questions.jsonl")
DEPTH = 10

Found = tuple[str, int, int]
"""The path of a hit, its first line and its last one."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a repository, and the places that answer it.

    They are ``path#symbol`` in Python, and in any language a path alone, or ``path~expression``
    for the lines that match one.
    """

    repo: str
    kind: str
    query: str
    places: tuple[str, ...]


def questions(path: Path = QUESTIONS) -> list[Question]:
    """Return all questions of a file."""
    rows = map(json.loads, path.read_text("utf-8").splitlines())
    return [Question(**{**row, "places": tuple(row["places"])}) for row in rows]


def lines_of(root: Path, place: str) -> Found:
    """Return where a place is: the lines of its symbol's definition, or all of its file.

    ``ValueError`` where the file, or a definition of the symbol in it, is not there.
    """
    path, _, symbol = place.partition("#")
    if not (root / path).is_file():
        raise ValueError(f"{place}: there is no file {path!r} in {root.name!r}")
    text = (root / path).read_text("utf-8")
    if not symbol:
        return path, 1, text.count("\n") + 1
    nodes: list[ast.stmt] = ast.parse(text).body
    first = last = 0
    for name in symbol.split("."):
        found = [n for n in _definitions(nodes) if n.name == name]
        if not found:
            raise ValueError(f"{place}: {path} does not define {name!r}")
        # Overloads come one after the other; what is in it is in the last one.
        first, last, nodes = found[0].lineno, found[-1].end_lineno or 0, found[-1].body
    return path, first, last


def _definitions(
    nodes: Sequence[ast.stmt],
) -> Iterator[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in nodes:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
        elif isinstance(node, ast.If | ast.Try):
            yield from _definitions([*node.body, *node.orelse])


def _lines_of(root: Path, place: str) -> list[Found]:
    path, is_expression, expression = place.partition("~")
    if not is_expression:
        return [lines_of(root, place)]
    _, _, last = lines_of(root, path)
    lines = (root / path).read_text("utf-8").split("\n")
    found = [at for at, line in enumerate(lines, 1) if re.search(expression, line)]
    if not found:
        raise ValueError(f"{place}: none of {last} lines matches")
    return [(path, at, at) for at in found]


Ask = Callable[[KnowledgeBase, str], list[Found]]


def _codebase_search(kb: KnowledgeBase, text: str) -> list[Found]:
    hits = kb.codebase_search({"query": text, "maxResults": DEPTH})["hits"]
    return [_found(hit["doc_path"], hit["citation"]) for hit in hits]


def _search(mode: SearchMode) -> Ask:
    def ask(kb: KnowledgeBase, text: str) -> list[Found]:
        hits = kb.search(SearchQuery(text=text, mode=mode, k=DEPTH)).hits
        return [_found(hit.doc_path, span_fields(hit.citation.span)) for hit in hits]

    return ask


def _found(path: str, place: Mapping[str, Any]) -> Found:
    """Return a hit by its lines, which code and other text have under different names."""
    first, last = ("line_start", "line_end") if "line_start" in place else ("start", "end")
    return path, place.get(first, 1), place.get(last, 0)


ASKED: Mapping[str, Ask] = {
    "codebase_search": _codebase_search,
    "search, hybrid": _search(SearchMode.HYBRID),
    "search, words": _search(SearchMode.LEXICAL),
}
"""Everything that is measured."""


def ranks(kb: KnowledgeBase, root: Path, asked: Sequence[Question], ask: Ask) -> list[int]:
    """Return at which hit each question meets one of its places, 0 for none of ten."""
    found = []
    for question in asked:
        places = [found for place in question.places for found in _lines_of(root, place)]
        hits = ask(kb, question.query)
        met = (any(_meets(hit, place) for place in places) for hit in hits)
        found.append(next((rank for rank, is_met in enumerate(met, 1) if is_met), 0))
    return found


def _meets(hit: Found, place: Found) -> bool:
    path, first, last = hit
    wanted, start, end = place
    return path == wanted and first <= end and start <= last


def _measure(folder: Path, place: Path, asked: Sequence[Question]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {name: [] for name in ASKED}
    for repo in dict.fromkeys(question.repo for question in asked):
        roots = sorted(path for path in folder.glob(f"{repo}*") if path.is_dir())
        if not roots:
            raise ValueError(f"{folder} has no folder whose name begins with {repo!r}")
        config = Config.inside(place / repo, Source(id=repo, root=roots[-1]))
        own = [question for question in asked if question.repo == repo]
        with KnowledgeBase.open(config) as kb:
            for _ in kb.ingest(IngestOptions(summary_only=True)):
                pass
            for name, ask in ASKED.items():
                found[name] += ranks(kb, roots[-1], own, ask)
    return found


def render(asked: Sequence[Question], found: Mapping[str, Sequence[int]]) -> str:
    """Return the figures of each way to ask, by kind and of all."""
    kinds = [*dict.fromkeys(question.kind for question in asked), "all"]
    rows = []
    for name, row in found.items():
        for kind in kinds:
            pairs = zip(asked, row, strict=True)
            own = [rank for question, rank in pairs if kind in {question.kind, "all"}]
            mean = sum(1 / rank for rank in own if rank) / len(own)
            rows.append((name, kind, str(len(own)), f"{mean:.3f}", *_within(own, (1, 5))))
    return render_table(("asked by", "kind", "questions", "MRR@10", "first", "first 5"), rows)


def _within(found: Sequence[int], limits: Sequence[int]) -> list[str]:
    return [str(sum(0 < rank <= limit for rank in found)) for limit in limits]


def main(words: Sequence[str] | None = None) -> int:
    """Ingest the repositories, ask all questions, and print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="it holds the repositories")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="what is ingested stays here")
    parser.add_argument("--each", action="store_true", help="print the ranks of each question")
    parser.add_argument("--questions", type=Path, default=QUESTIONS, help="a file of others")
    options = parser.parse_args(words)
    use_private_cache()
    asked = sorted(questions(options.questions), key=lambda question: question.repo)
    try:
        with keep_in(options.keep) as place:
            found = _measure(options.folder.resolve(), place, asked)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    print(machine_line(describe_machine()))
    print(render(asked, found))
    if options.each:
        rows = [
            (question.query, question.repo, question.kind, *map(str, row))
            for question, *row in zip(asked, *found.values(), strict=True)
        ]
        print(render_table(("question", "repository", "kind", *found), rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
