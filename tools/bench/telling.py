"""How many characters a model reads until the line that answers is among them.

Questions with a known line: of each collection, a knowledge base, the words of a query, the end
of a path, and an expression that the line matches. Each is asked as text, by itself and six at
once, and counts where an answer shows such a line of such a file. Printed are the questions
that count, and the characters of all answers.

    python tools/bench/telling.py --config config.toml
    python tools/bench/telling.py --questions questions.json
    python tools/bench/telling.py --config config.toml --ranks

Without ``--questions``, the questions are about this repository, which the configuration has
to index: those of ``telling_questions.jsonl``. Of its ``weak`` ones, whose file was found too
late, ``--ranks`` prints where it is now. A file of other questions is
``{"config.toml": [["query", "end of path", "expression"], …]}``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from mcp import Client
from tables import render_table

from kb_app import KnowledgeBase
from kb_app.config import load_config
from kb_core.media import SearchMode
from kb_core.search import MAX_K, SearchQuery
from kb_mcp._tool import Form
from kb_mcp.server import create_server

__all__ = ["main"]

Question: TypeAlias = Sequence[str]
"""What is asked, the end of a path, and an expression for a line of it."""

QUESTIONS = Path(__file__).with_name("telling_questions.jsonl")
"""About this repository, which leaves it out of its own index: it answers none of them."""
_AT_ONCE = 6
_PLACE = re.compile(r"(?:  )?(\S[^:·\n]*\.\w+)(?=:\d+(?![\d:])|#| ·|, page)")
"""The head of what follows; a line of another file, ``limits.py:12: MOST = 40``, is none."""
_PART = re.compile(r"^# \d+\. ", re.MULTILINE)


def about_ourselves(kind: str) -> list[Question]:
    """Return the questions of one kind about this repository: ``told`` or ``weak``."""
    rows = map(json.loads, QUESTIONS.read_text("utf-8").splitlines())
    return [tuple(row.values())[1:] for row in rows if row["kind"] == kind]


def answers(text: str, question: Question) -> bool:
    """Say whether *text* shows a line that answers."""
    _, end, expression = question
    path = ""
    for line in text.split("\n"):
        if place := _PLACE.match(line):
            path = place[1]
        if path.endswith(end) and re.search(expression, line):
            return True
    return False


async def measure(kb: KnowledgeBase, questions: Sequence[Question]) -> Mapping[str, Counter[str]]:
    """Return, by the way of asking, how many questions are answered, and the characters."""
    found: dict[str, Counter[str]] = {}

    def count(way: str, text: str, asked: Sequence[Question], parts: Sequence[str]) -> None:
        held = sum(answers(part, one) for part, one in zip(parts, asked, strict=False))
        found.setdefault(way, Counter()).update(held=held, characters=len(text), of=len(asked))

    async with Client(create_server(kb, form=Form.TEXT), raise_exceptions=False) as client:

        async def ask(tool: str, **arguments: Any) -> str:  # noqa: ANN401 - JSON
            result = await client.call_tool(tool, arguments)
            return str(getattr(result.content[0], "text", ""))

        for question in questions:
            for way, tool, more in (
                ("search", "search", {}),
                ("search, k 3", "search", {"k": 3}),
                ("search, whole", "search", {"max_tokens": 2000}),
                ("codebase_search", "codebase_search", {}),
            ):
                text = await ask(tool, query=question[0], **more)
                count(way, text, [question], [text])
        for at in range(0, len(questions), _AT_ONCE):
            asked = questions[at : at + _AT_ONCE]
            queries = [one[0] for one in asked]
            text = await ask("search", queries=queries)
            count("search, at once", text, asked, _PART.split(text)[1:])
            text = await ask("ask", queries=queries)
            count("ask, at once", text, asked, _PART.split(text)[1:])
            text = await ask("codebase_search", queries=queries, group=True)
            count("codebase_search, apart", text, asked, _PART.split(text)[1:])
    return found


def ranks(kb: KnowledgeBase, weak: Sequence[Question]) -> list[tuple[str, ...]]:
    """Return, of each question, the rank of the first hit of its file by each way, or none."""
    rows = []
    for text, end in weak:
        row = [text]
        for mode in SearchMode:
            hits = kb.search(SearchQuery(text=text, mode=mode, k=MAX_K)).hits
            row.append(next((str(hit.rank) for hit in hits if hit.doc_path.endswith(end)), "-"))
        found = kb.codebase_search({"query": text, "maxResults": MAX_K})["hits"]
        paths = enumerate((hit["doc_path"] for hit in found), start=1)
        row.append(next((str(at) for at, path in paths if path.endswith(end)), "-"))
        rows.append(tuple(row))
    return rows


def main(words: Sequence[str] | None = None) -> int:
    """Ask, count and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--config", type=Path, help="of a knowledge base of this repository")
    parser.add_argument("--questions", type=Path, help="a file of other questions")
    parser.add_argument("--ranks", action="store_true", help="only ranks of files found too late")
    options = parser.parse_args(words)
    if (options.config is None) == (options.questions is None):
        parser.error("give --config or --questions")
    if options.ranks and options.config:
        with KnowledgeBase.open(load_config(options.config), readonly=True) as kb:
            heads = ("query", *map(str, SearchMode), "codebase_search")
            print(render_table(heads, ranks(kb, about_ourselves("weak"))))
        return 0
    asked: Mapping[str, Sequence[Question]] = {str(options.config): about_ourselves("told")}
    if options.questions:
        asked = json.loads(options.questions.read_text("utf-8"))
    total: dict[str, Counter[str]] = {}
    for config, questions in asked.items():
        with KnowledgeBase.open(load_config(Path(config)), readonly=True) as kb:
            for way, counts in asyncio.run(measure(kb, questions)).items():
                total.setdefault(way, Counter()).update(counts)
    rows = [
        (
            way,
            f"{n['held']} of {n['of']}",
            f"{n['characters']:,}",
            f"{n['characters'] / n['of']:,.0f}",
        )
        for way, n in total.items()
    ]
    print(render_table(("asked by", "answered", "characters", "a question"), rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
