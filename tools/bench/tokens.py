"""What answers cost a model, as objects and as text: the table of tokens.

Asks the server, in process, for what a model is given before it asks anything (the list of
tools, the instructions) and for typical answers, in both forms. Counted are characters, the
tokens of the project's own rule (``kb_mcp.text.tokens_of``) and, with ``--counter``, those of
any program that reads texts as a JSON list on standard input and prints a JSON list of
numbers, such as a public tokenizer of a model.

    python tools/bench/tokens.py --config config.toml
    python tools/bench/tokens.py --config config.toml --counter "node o200k.mjs"
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mcp import Client

from kb_app import KnowledgeBase
from kb_app.config import load_config
from kb_core import wire
from kb_mcp._tool import Form
from kb_mcp.server import create_server
from kb_mcp.text import tokens_of

__all__ = ["main"]


def calls(options: argparse.Namespace) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return what is asked, by what it is called in the table."""
    file = options.file
    return {
        "ten hits": ("search", {"query": options.query, "k": 10}),
        "ten hits, all whole": ("search", {"query": options.query, "k": 10, "max_tokens": 2000}),
        "five functions": ("codebase_search", {"query": options.code, "maxResults": 5}),
        "outline of a file": ("fetch", {"path": file, "outline": True}),
        "forty lines": ("fetch", {"path": file, "lines": "1-40"}),
        "nothing found": ("search", {"query": "qqxzv wvkjq", "mode": "lexical"}),
        "an error": ("search", {"query": "x", "path": "src"}),
        "list_docs": ("list_docs", {}),
        "status": ("status", {}),
        "schema": ("schema", {}),
        "doctor": ("doctor", {}),
    }


async def answers(kb: KnowledgeBase, form: Form, options: argparse.Namespace) -> dict[str, str]:
    """Return what a model is given in one form."""
    asked = calls(options)
    async with Client(create_server(kb, form=form), raise_exceptions=False) as client:
        tools = await client.list_tools()
        given = {
            "tools/list": wire.dumps(
                [tool.model_dump(by_alias=True, exclude_none=True) for tool in tools.tools]
            ),
            "instructions": client.instructions or "",
        }
        for name, (tool, arguments) in asked.items():
            kept = dict(arguments)
            if form is Form.JSON and tool == "search" and "max_tokens" in kept:
                kept = {**kept, "snippet_chars": 10_000}
                del kept["max_tokens"]
            result = await client.call_tool(tool, kept)
            given[name] = getattr(result.content[0], "text", "")
            if result.structured_content is not None:  # of both, a host hands on the object
                given[name] = wire.dumps(result.structured_content)
    return given


def counted_by(program: str, texts: Sequence[str]) -> list[int]:
    """Count by a program."""
    done = subprocess.run(
        shlex.split(program),
        input=json.dumps(list(texts)),
        capture_output=True,
        text=True,
        check=True,
    )
    numbers: list[int] = json.loads(done.stdout)
    return numbers


def render(given: Mapping[Form, Mapping[str, str]], program: str | None) -> str:
    """Return the table, as Markdown."""
    names = list(given[Form.JSON])
    columns: dict[str, dict[Form, list[int]]] = {"characters": {}, "tokens": {}}
    for form, texts in given.items():
        every = [texts[name] for name in names]
        columns["characters"][form] = [len(text) for text in every]
        columns["tokens"][form] = [tokens_of(text) for text in every]
        if program:
            columns.setdefault("counted", {})[form] = counted_by(program, every)
    heads = ["", *(f"{name}, {form.value}" for name in columns for form in given)]
    rows = [
        [name, *(f"{columns[column][form][at]:,}" for column in columns for form in given)]
        for at, name in enumerate(names)
    ]
    lines = [heads, ["---"] + ["---:"] * (len(heads) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main(words: Sequence[str] | None = None) -> int:
    """Ask, count and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--config", type=Path, required=True, help="of an indexed knowledge base")
    parser.add_argument("--query", default="how are chunks cut", help="what is searched for")
    parser.add_argument("--code", default="cut a text where that loses least", help="of code")
    parser.add_argument("--file", default="packages/kb-mcp/src/kb_mcp/server.py", help="to read")
    parser.add_argument("--counter", help="a program that counts")
    options = parser.parse_args(words)
    with KnowledgeBase.open(load_config(options.config), readonly=True) as kb:
        given = {form: asyncio.run(answers(kb, form, options)) for form in Form}
    print(render(given, options.counter))
    return 0


if __name__ == "__main__":
    sys.exit(main())
