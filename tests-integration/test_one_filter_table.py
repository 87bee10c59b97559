"""A filter is a row of one table: every interface takes a new one without being told."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

ADDED = """
import dataclasses
import json

import click
from click.testing import CliRunner

from kb_core import filters, search
from kb_core.values import dataclass

row = filters.FilterSpec(
    name="made_up",
    kind="word",
    field="repo",
    many=True,
    key="made",
    metavar="M",
    help="Only what is made up.",
    description="What is made up.",
)
filters.FILTERS = (*filters.FILTERS, row)
known = {field.name: field for field in dataclasses.fields(search.SearchFilters)}
body = {name: field.default for name, field in known.items()} | {"made_up": ()}
kinds = {name: field.type for name, field in known.items()} | {"made_up": "tuple[str, ...]"}
wider = type("SearchFilters", (), {**body, "__annotations__": kinds, "__module__": search.__name__})
search.SearchFilters = dataclass(frozen=True, slots=True, kw_only=True)(wider)

from kb_app._search.filtering import compile_filters
from kb_app.wire_models import SearchInput, read
from kb_cli._command import as_click
from kb_cli._declared import command
from kb_cli._options import filter_options, filters_of
from kb_cli.main import cli
from kb_mcp.tools import TOOLS
from kb_tui._filters import parse_filter

given = []


@command("asked", example="")
@filter_options
def asked(_, **options):
    given.append(filters_of(options))


words = ["--made-up", "A", "--made-up", "b"]
CliRunner().invoke(as_click(asked), words, catch_exceptions=False)
given.append(read(SearchInput, {"query": "q", "made_up": ["A", "b"]}).to_filters())
given.append(parse_filter("made:A made:b").filters)
shown = {
    "help": CliRunner().invoke(cli, ["search", "--help"]).output,
    "input": TOOLS["search"].definition.input_schema["properties"]["made_up"],
    "compiled": [repr(compile_filters(one, None)) for one in given],
}
print(json.dumps(shown))
"""


@pytest.fixture(scope="module")
def shown() -> dict[str, Any]:
    """Run a process whose table has one row more, and return what its interfaces made of it."""
    command = [sys.executable, "-c", ADDED]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    made: dict[str, Any] = json.loads(done.stdout)
    return made


def test_a_new_filter_is_an_option_with_help(shown: dict[str, Any]) -> None:
    said = " ".join(shown["help"].split())

    assert "--made-up M Only what is made up. (May be repeated.)" in said


def test_a_new_filter_is_an_input_of_tools(shown: dict[str, Any]) -> None:
    assert shown["input"]["description"] == "What is made up."
    assert {"type": "array", "items": {"type": "string"}} in shown["input"]["anyOf"]


def test_a_new_filter_narrows_the_same_from_command_tool_and_terminal(
    shown: dict[str, Any],
) -> None:
    assert shown["compiled"] == ["OneOf(field='repo', values=('a', 'b'))"] * 3
