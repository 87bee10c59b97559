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
    python tools/bench/code_search.py FOLDER --kinds kept      only those whose kind begins so
    python tools/bench/code_search.py FOLDER --words           embeds nothing; with another DIR

``decides_questions.jsonl`` has 82 questions that a function or a constant of celery, werkzeug,
fastify, scrapy, aiohttp and pino decides, in the words of somebody who does not know it, and 37
that a page of their documentation answers, all written before any was asked. Their
distributions come with tests and pages, which say the same words. Those of the last three are
``kept``: nothing was chosen by them.

Printed by kind of question, for ``codebase_search`` and for ``search`` by words and in hybrid:
the mean reciprocal rank of the first right place among ten hits, how often it is among the first
ones, and what stands above it, by role (of hits of the same file, ``file``), as hits a question.
Of the text that a model reads over MCP by default, in how many answers the place is named, and
after how many characters, where an answer that does not name it counts whole.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
from ir import keep_in
from machine import describe_machine, machine_line, use_private_cache
from mcp import Client
from tables import render_table

from kb_app import Config, KnowledgeBase
from kb_app._search.roles import role_of
from kb_app.config import Source
from kb_core.citations import span_fields
from kb_core.ingest import IngestOptions
from kb_core.media import SearchMode
from kb_core.search import FileRole, SearchQuery
from kb_mcp._tool import Form
from kb_mcp.server import create_server

__all__ = [
    "QUESTIONS",
    "Answer",
    "Question",
    "Shown",
    "lines_of",
    "main",
    "places_of",
    "questions",
    "ranks",
    "read_until",
]

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


@dataclass(frozen=True, slots=True)
class Shown:
    """A hit: where it is, and what its file is to somebody who looks for code."""

    path: str
    first: int
    last: int
    role: FileRole

    def meets(self, place: Found) -> bool:
        """Say whether it has a line of *place*."""
        wanted, start, end = place
        return self.path == wanted and self.first <= end and start <= self.last


Ask = Callable[[KnowledgeBase, str], list[Shown]]


def _codebase_search(kb: KnowledgeBase, text: str) -> list[Shown]:
    hits = kb.codebase_search({"query": text, "maxResults": DEPTH})["hits"]
    return [_shown(hit["doc_path"], hit, hit["citation"]) for hit in hits]


def _search(mode: SearchMode) -> Ask:
    def ask(kb: KnowledgeBase, text: str) -> list[Shown]:
        hits = kb.search(SearchQuery(text=text, mode=mode, k=DEPTH)).hits
        return [
            _shown(
                hit.doc_path,
                {"media": hit.media, "code_lang": hit.code_lang},
                span_fields(hit.citation.span),
            )
            for hit in hits
        ]

    return ask


def _shown(path: str, hit: Mapping[str, Any], place: Mapping[str, Any]) -> Shown:
    """Return a hit by its lines, which code and other text have under different names."""
    first, last = ("line_start", "line_end") if "line_start" in place else ("start", "end")
    known: Any = {"path": path, "media": hit["media"], "code_lang": hit.get("code_lang")}
    return Shown(path, place.get(first, 1), place.get(last, 0), role_of(known))


ASKED: Mapping[str, Ask] = {
    "codebase_search": _codebase_search,
    "search, hybrid": _search(SearchMode.HYBRID),
    "search, words": _search(SearchMode.LEXICAL),
}
"""Everything that is measured by its hits."""
TOLD: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "codebase_search": ("codebase_search", {}),
    "search, hybrid": ("search", {"mode": SearchMode.HYBRID.value}),
    "search, words": ("search", {"mode": SearchMode.LEXICAL.value}),
}
"""The same, as a model asks a server that answers with text."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a question, asked in one way."""

    rank: int
    """The first hit that meets one of its places, 0 for none of ten."""
    above: tuple[str, ...] = ()
    """What each hit before it is: its role, or ``file`` for other lines of a right file."""
    characters: int = 0
    """Of the text that a model reads, up to where a place is named, or all of it."""
    is_told: bool = False


def ranks(kb: KnowledgeBase, root: Path, asked: Sequence[Question], ask: Ask) -> list[int]:
    """Return at which hit each question meets one of its places, 0 for none of ten."""
    return [_answer(ask(kb, one.query), places_of(root, one)).rank for one in asked]


def places_of(root: Path, question: Question) -> list[Found]:
    """Return the lines of all places that answer a question."""
    return [found for place in question.places for found in _lines_of(root, place)]


def _answer(hits: Sequence[Shown], places: Sequence[Found]) -> Answer:
    met = (any(map(hit.meets, places)) for hit in hits)
    rank = next((rank for rank, is_met in enumerate(met, 1) if is_met), 0)
    right = {path for path, *_ in places}
    before = hits[: rank - 1] if rank else hits
    return Answer(rank, tuple("file" if hit.path in right else hit.role.value for hit in before))


def read_until(text: str, places: Sequence[Found]) -> tuple[int, bool]:
    """Return after how many characters *text* names one of *places*, and whether it does."""
    path, read = "", 0
    for line in text.splitlines(keepends=True):
        for named in _NAMED.finditer(line):
            path, first = named["path"] or path, int(named["first"])
            last = int(named["last"] or first)
            if any(path == file and first <= e and s <= last for file, s, e in places):
                return read + named.end(), True
        read += len(line)
    return len(text), False


_NAMED = re.compile(
    r"(?:^|(?<=, )|(?<=^also: )|(?<=^  ))(?P<path>[\w./+-]+)?:(?P<first>\d+)(?:-(?P<last>\d+))?"
)
"""A place in a head, in a line of its own, or among others."""


def _measure(
    folder: Path, place: Path, asked: Sequence[Question], *, embed: bool
) -> dict[str, list[Answer]]:
    found: dict[str, list[Answer]] = {name: [] for name in ASKED}
    for repo in dict.fromkeys(question.repo for question in asked):
        roots = sorted(path for path in folder.glob(f"{repo}*") if path.is_dir())
        if not roots:
            raise ValueError(f"{folder} has no folder whose name begins with {repo!r}")
        config = Config.inside(place / repo, Source(id=repo, root=roots[-1]))
        own = [question for question in asked if question.repo == repo]
        places = [places_of(roots[-1], question) for question in own]
        with KnowledgeBase.open(config) as kb:
            for _ in kb.ingest(IngestOptions(summary_only=True, embed=embed)):
                pass
            texts = anyio.run(_texts, kb, own)
            for name, ask in ASKED.items():
                for question, right, text in zip(own, places, texts[name], strict=True):
                    answer = _answer(ask(kb, question.query), right)
                    read, is_told = read_until(text, right)
                    found[name].append(replace(answer, characters=read, is_told=is_told))
    return found


async def _texts(kb: KnowledgeBase, asked: Sequence[Question]) -> dict[str, list[str]]:
    """Return what a model reads of each question, by what is asked."""
    told: dict[str, list[str]] = {name: [] for name in TOLD}
    async with Client(create_server(kb, form=Form.TEXT), raise_exceptions=True) as client:
        for name, (tool, arguments) in TOLD.items():
            for question in asked:
                result = await client.call_tool(tool, {"query": question.query, **arguments})
                told[name].append(getattr(result.content[0], "text", ""))
    return told


_LIMITS = (1, 3, 5, 10)
_ABOVE = (*(role.value for role in FileRole), "file")


def render(asked: Sequence[Question], found: Mapping[str, Sequence[Answer]]) -> str:
    """Return the figures of each way to ask, by kind and of all."""
    kinds = [*dict.fromkeys(question.kind for question in asked), "all"]
    rows = []
    for name, row in found.items():
        for kind in kinds:
            pairs = zip(asked, row, strict=True)
            own = [answer for question, answer in pairs if kind in {question.kind, "all"}]
            rows.append((name, kind, str(len(own)), *_figures(own)))
    first = (f"first {limit}" for limit in _LIMITS)
    above = (f"{role} above" for role in _ABOVE)
    return render_table(
        ("asked by", "kind", "questions", "MRR@10", *first, *above, "told", "characters"), rows
    )


def _figures(own: Sequence[Answer]) -> Iterator[str]:
    yield f"{sum(1 / answer.rank for answer in own if answer.rank) / len(own):.3f}"
    for limit in _LIMITS:
        yield str(sum(0 < answer.rank <= limit for answer in own))
    for role in _ABOVE:
        yield f"{sum(answer.above.count(role) for answer in own) / len(own):.1f}"
    yield str(sum(answer.is_told for answer in own))
    yield str(round(sum(answer.characters for answer in own) / len(own)))


def main(words: Sequence[str] | None = None) -> int:
    """Ingest the repositories, ask all questions, and print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="it holds the repositories")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="what is ingested stays here")
    parser.add_argument("--each", action="store_true", help="print the ranks of each question")
    parser.add_argument("--questions", type=Path, default=QUESTIONS, help="a file of others")
    parser.add_argument("--kinds", default="", metavar="BEGIN", help="those whose kind begins so")
    parser.add_argument("--words", action="store_true", help="without vectors")
    options = parser.parse_args(words)
    use_private_cache()
    asked = [one for one in questions(options.questions) if one.kind.startswith(options.kinds)]
    asked.sort(key=lambda question: question.repo)
    try:
        with keep_in(options.keep) as place:
            found = _measure(options.folder.resolve(), place, asked, embed=not options.words)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    print(machine_line(describe_machine()))
    print(render(asked, found))
    if options.each:
        rows = [
            (question.query, question.repo, question.kind, *(str(one.rank) for one in row))
            for question, *row in zip(asked, *found.values(), strict=True)
        ]
        print(render_table(("question", "repository", "kind", *found), rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
