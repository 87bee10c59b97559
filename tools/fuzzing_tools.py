"""Call the tools of the server with values that hurt, and say which answer none may give.

A call is an object by a tool's input schema, of which some values fit, some are of another
type, and some are made to hurt: halves of surrogate pairs, control characters, endless
texts, deep nesting, numbers beyond any range, patterns that backtrack, globs of many stars.
The server is the real one, over a knowledge base of this repository's documents, without a
pipe between.
"""

from __future__ import annotations

import json
import math
import random
import resource
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp import Client, MCPError

from kb_app import KnowledgeBase
from kb_app.config import load_config
from kb_core.ingest import IngestOptions
from kb_mcp._tool import Form
from kb_mcp.server import create_server
from kb_mcp.tools import allowed

__all__ = ["Called", "arguments", "calls", "make_knowledge_base", "of_answer"]

PATIENCE_SECS = 10.0
GROWTH_MB = 1000.0
_OFTEN, _SELDOM = 0.95, 0.2
_MOST_DEPTH = 3
_SETTINGS = """\
[storage]
data_dir = "data"
[log]
dir = "log"
[mcp]
feedback = true
[[sources]]
id = "docs"
root = {root}
"""
_TEXTS: Sequence[Callable[[], str]] = (
    lambda: "",
    lambda: " \t\n",
    lambda: "\ud800",
    lambda: "a\udfffb",
    lambda: "\0\x07\x1b[2J\x9b\u202e\u2066",
    lambda: "ｆｕｌｌ ﬁ \u0301" * 50,
    lambda: "word " * 40_000,
    lambda: "x" * 3_000_000,
    lambda: "(a+)+$" * 20,
    lambda: "(" * 5_000,
    lambda: "[\\Q",
    lambda: "\\" * 1_001,
    lambda: "(?i)(a|b|ab)*c{1,1000}{1,1000}",
    lambda: "**/" * 400,
    lambda: "*a" * 2_000,
    lambda: "[!" + "a-z" * 500,
    lambda: "{a,b}" * 50,
    lambda: "../" * 500 + "etc/passwd",
    lambda: "/dev/zero",
    lambda: "9999-99-99",
    lambda: "0000-00-00T00:00:00Z",
    lambda: "a.md#L999999999999-L1",
    lambda: "a.md:" + "9" * 5_000,
    lambda: "#" * 300,
    lambda: '"' * 501,
)
_OTHERS: Sequence[Callable[[], Any]] = (
    lambda: None,
    lambda: True,
    lambda: -1,
    lambda: 0,
    lambda: 2**31,
    lambda: 2**63,
    lambda: 10**400,
    lambda: -(2**64),
    lambda: 1e308,
    lambda: math.nan,
    lambda: -math.inf,
    lambda: 0.5,
    list,
    dict,
    lambda: {"a": {"b": [None]}},
    lambda: ["a"] * 2_000,
    lambda: [None, 1, "a", {}],
    lambda: _nested(60),
    lambda: _nested(190),  # deeper, a frame is refused before any tool sees it
)
_FITTING = ("search", "the writer lock", "README.md", "*.md", "docs", "hybrid", "lexical", "a")


@dataclass(frozen=True, slots=True)
class Called:
    """One call: its number, the tool, and what is wrong with what came; empty: nothing."""

    number: int
    tool: str
    given: Mapping[str, Any]
    wrong: str


def _nested(depth: int) -> object:
    inner: object = "deep"
    for _ in range(depth):
        inner = [inner]
    return inner


def arguments(schema: Mapping[str, Any], chance: random.Random) -> dict[str, Any]:
    """Return arguments for a tool with this input schema, most of them wrong."""
    made = {}
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        if chance.random() < (_OFTEN if name in required else _SELDOM):
            made[name] = _value(field, chance)
    if chance.random() > _OFTEN:  # a name that there is not, and that the client can send
        name = chance.choice(_TEXTS)()[:200_000].encode("utf-8", "replace").decode()
        made[name] = chance.choice(_OTHERS)()
    return made


def _value(field: Mapping[str, Any], chance: random.Random, depth: int = 0) -> Any:  # noqa: ANN401 - a JSON value
    hurting = chance.choice((_TEXTS, _OTHERS, None, None))
    return chance.choice(hurting)() if hurting else _fitting(field, chance, depth)


def _fitting(field: Mapping[str, Any], chance: random.Random, depth: int) -> Any:  # noqa: ANN401 - a JSON value
    options = [field, *field.get("anyOf", ()), *field.get("oneOf", ())]
    chosen = chance.choice([one for one in options if "type" in one or "enum" in one] or options)
    made: Any = chance.choice(chosen.get("enum") or _FITTING)
    match chosen.get("type"):
        case "array" if depth < _MOST_DEPTH:
            items = chosen.get("items", {})
            made = [_value(items, chance, depth + 1) for _ in range(chance.randrange(5))]
        case "object":
            made = arguments(chosen, chance)
        case "integer" | "number":
            made = chance.choice((1, 3, 10, 100))
        case "boolean":
            made = chance.choice((True, False))
    return made


def make_knowledge_base(folder: Path, root: Path) -> KnowledgeBase:
    """Return a knowledge base in *folder* over what is below *root*, by words alone."""
    (folder / "config.toml").write_text(_SETTINGS.format(root=json.dumps(str(root))), "utf-8")
    kb = KnowledgeBase.open(load_config(folder / "config.toml"))
    for _ in kb.ingest(IngestOptions(embed=False)):
        pass
    return kb


def of_answer(result: types.CallToolResult) -> str:
    """Return what is wrong with an answer: a bug of ours that reached whoever asked."""
    text = "".join(part.text for part in result.content if isinstance(part, types.TextContent))
    if "Traceback (most recent call last)" in text:
        return f"traceback: {text[-300:]}"
    is_bug = '"internal"' in text[:2_000] or text.startswith("error internal:")
    if result.is_error and is_bug:
        return f"internal: {text[:300]}"
    return ""


async def calls(
    kb: KnowledgeBase, numbers: Iterable[int], seed: int, only: str = ""
) -> AsyncIterator[Called]:
    """Make the calls of these *numbers*, tool after tool; the same seed gives the same calls.

    *only* is what the name of a tool has in it. They are answered as JSON and as text in turns,
    by two servers, of which the second remembers what it gave.
    """
    tools = allowed(kb.preferences())
    names = sorted(name for name in tools if only in name)
    async with (
        Client(create_server(kb, tools), raise_exceptions=False) as client,
        Client(
            create_server(kb, tools, form=Form.TEXT, offer=("all",), remembers=True),
            raise_exceptions=False,
        ) as reader,
    ):
        schemas = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
        before = _peak_mb()
        for number in numbers:
            chance = random.Random(f"{seed} {number}")  # noqa: S311 - repeatable, nothing secret
            name = names[number % len(names)]
            given = arguments(schemas.get(name, {}), chance)
            started = time.process_time()
            try:
                asked = reader if number // len(names) % 2 else client
                wrong = of_answer(await asked.call_tool(name, given))
            except MCPError as error:
                wrong = f"internal: {error}" if error.error.code == types.INTERNAL_ERROR else ""
            except Exception as error:  # noqa: BLE001 - whatever comes is what is looked for
                wrong = f"{type(error).__name__}: {str(error)[:300]}"
            if not wrong and time.process_time() - started > PATIENCE_SECS:
                wrong = "no answer within 10 s of processor time"
            if not wrong and _peak_mb() - before > GROWTH_MB:
                before, wrong = _peak_mb(), "the memory has grown by more than 1,000 MB"
            yield Called(number, name, given, wrong)


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
