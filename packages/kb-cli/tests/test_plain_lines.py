"""A plain command line is read without click, and as click reads it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import click
import pytest
from click.testing import CliRunner
from hypothesis import given, settings, strategies as st

from kb_cli import _text
from kb_cli._catalog import COMMANDS
from kb_cli._context import CliContext, Ended
from kb_cli._declared import GLOBAL, Declared, DeclaredGroup, OneOf, Parameter, Whole, read
from kb_cli.main import cli

_SETTINGS = [each.sets for each in GLOBAL] + ["folder"]


def _leaves() -> Iterator[tuple[tuple[str, ...], Declared]]:
    for name, (place, _) in COMMANDS.items():
        module, _, attribute = place.partition(":")
        found: Declared = getattr(import_module(f"kb_cli.commands.{module}"), attribute)
        if isinstance(found, DeclaredGroup):
            yield from (((name, under), each) for under, each in found.commands.items())
        else:
            yield (name,), found


LEAVES = dict(_leaves())


@pytest.fixture(scope="module")
def heard() -> Iterator[list[Any]]:
    """Have every command say only what it was given."""
    told: list[Any] = []

    def hear(context: CliContext, /, **values: object) -> None:
        told.append((values, {name: getattr(context, name) for name in _SETTINGS}))

    functions = {each: each.function for each in LEAVES.values()}
    for each in functions:
        each.function = hear
    yield told
    for each, function in functions.items():
        each.function = function


def _by_click(words: list[str], heard: list[Any]) -> object:
    """Return what click has a command hear; nothing where it refuses the line."""
    heard.clear()
    CliRunner().invoke(cli, words, prog_name="kebab", obj=CliContext(environ={}))
    return heard.pop() if heard else None


def _plainly(words: list[str], heard: list[Any]) -> object:
    heard.clear()
    line = read(words)
    if line is None:
        return None
    context = CliContext(environ={})
    for name, value in line.settings.items():
        setattr(context, name, value)
    line.function(context, **line.values)
    return heard.pop()


PLAIN = [
    ["search", "how are chunks cut"],
    ["search", "how are chunks cut", "-k", "5", "--mode", "lexical", "--json"],
    ["--config", "c.toml", "--json", "search", "-k5", "a", "--tag", "x", "--tag=y", "--no-rerank"],
    ["search", "a", "--in", "src", "--media", "code,pdf", "--trace", "--config=c.toml"],
    ["grep", "-w", "walk", "packages", "docs", "-C", "2", "--code-lang", "python"],
    ["fetch", "notes/a.md:12-34", "src/app.py#Server", "--max-tokens", "200"],
    ["fetch", "doc", "1c0ffee5"],
    ["fetch", "span", "1c0ffee5", "1", "2"],
    ["fetch", "Server.start"],
    ["fetch", "letter-to-the-council"],
    ["list", "docs", "--limit", "20", "--json"],
    ["list", "workspaces"],
    ["inspect", "chunk", "5669ef18"],
    ["cite", "verify", "-"],
    ["status"],
    ["status", "notes/**", "--state", "failed", "--quiet"],
    ["codebase-search", "error handling", "exception", "--path", "src", "--group"],
    ["explain-miss", "--doc", "a.md", "write-ahead log"],
    ["ask", "what is it"],
    ["ingest", "--no-embed"],
    ["doctor"],
]


@pytest.mark.parametrize("words", PLAIN, ids=" ".join)
def test_a_plain_line_is_read_as_click_reads_it(words: list[str], heard: list[Any]) -> None:
    plainly = _plainly(words, heard)

    assert plainly is not None
    assert plainly == _by_click(words, heard)


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--help"],
        ["--version"],
        ["--config"],
        ["nothing"],
        ["mcp"],
        ["search", "-h"],
        ["search", "a", "--help"],
        ["search", "--", "--json"],
        ["search", "a", "-k", "0"],
        ["search", "a", "-k"],
        ["search", "a", "-k", "5", "-k", "6"],
        ["search", "a", "--mode", "words"],
        ["search", "a", "--limit", "3"],
        ["search", "a", "--trace=yes"],
        ["search", ""],
        ["fetch"],
        ["fetch", "chnk"],
        ["fetch", "doc"],
        ["fetch", "doc", "a", "b"],
        ["explain-miss", "words"],
        ["completion", "tcsh"],
    ],
    ids=" ".join,
)
def test_help_and_whatever_is_wrong_are_left_to_click(words: list[str]) -> None:
    assert read(words) is None


_TEXTS = st.sampled_from(
    ["a", "x y", "notes/a.md:3", "5", "doc", "at", "-", "-5", "--", "é", "a=b"]
)


def _values(parameter: Parameter) -> st.SearchStrategy[str]:
    match parameter.given.get("type"):
        case OneOf(choices):
            return st.sampled_from([*choices, "else"])
        case Whole(least, most):
            near = [bound + by for bound in (least or 0, most or 9) for by in (-1, 0, 1)]
            return st.sampled_from([*map(str, near), "x", "1_0", " 3"])
        case _:
            return _TEXTS


@st.composite
def lines(draw: st.DrawFn) -> list[str]:
    """Draw a line of a command: what it takes, mostly as it should be."""
    path = draw(st.sampled_from(sorted(LEAVES)))
    taken = [*LEAVES[path].parameters, *GLOBAL]
    parts: list[list[str]] = []
    for parameter in draw(st.lists(st.sampled_from(taken), max_size=6)):
        if not parameter.is_option:
            parts.append([draw(_values(parameter))])
            continue
        named = [word for word in parameter.words if word.startswith("-")]
        name = draw(st.sampled_from([part for word in named for part in word.split("/")]))
        if parameter.is_flag:
            parts.append([name])
        elif draw(st.booleans()) and name.startswith("--"):
            parts.append([f"{name}={draw(_values(parameter))}"])
        else:
            parts.append([name, draw(_values(parameter))])
    before = draw(st.sampled_from([[], ["--json"], ["--config", "c.toml", "--quiet"]]))
    return [*before, *path, *(word for part in draw(st.permutations(parts)) for word in part)]


@settings(max_examples=400)
@given(words=lines())
def test_what_is_read_of_any_line_is_what_click_reads(words: list[str], heard: list[Any]) -> None:
    plainly = _plainly(words, heard)

    if plainly is not None:
        assert plainly == _by_click(words, heard)


@pytest.mark.parametrize("path", sorted(LEAVES), ids=" ".join)
def test_every_command_has_a_line_that_is_plain(path: tuple[str, ...], heard: list[Any]) -> None:
    """But for what is told with words that only click knows."""
    words = [*path]
    for parameter in LEAVES[path].parameters:
        kind = parameter.given.get("type")
        value = kind.choices[0] if isinstance(kind, OneOf) else "7"
        if not parameter.is_option and not parameter.is_many:
            words.append(value)
        elif parameter.is_required:
            words += [value] if not parameter.is_option else [parameter.words[0], value]

    assert (_plainly(words, heard) is None) == (path == ("watch",))


@given(
    text=st.text("ab \n", max_size=8),
    fg=st.sampled_from([None, "red", "green", "yellow", "cyan"]),
    bold=st.booleans(),
    dim=st.booleans(),
)
def test_a_style_is_that_of_click(text: str, fg: str | None, bold: bool, dim: bool) -> None:
    theirs = click.style(text, fg=fg, bold=bold or None, dim=dim or None)

    assert _text.style(text, fg=fg, bold=bold, dim=dim) == theirs


ECHO = """
import json, sys
from kb_cli._text import echo
if sys.argv[1] == "click":
    import click
for text, named in json.loads(sys.argv[2]):
    echo(text, **named)
assert ("click" in sys.modules) == (sys.argv[1] != "plain")
"""


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_what_is_written_without_click_is_what_click_writes(encoding: str) -> None:
    lines = [
        ("a line", {}),
        ("", {}),
        ("\x1b[31mred\x1b[0m and é", {}),
        ("\x1b[31mkept\x1b[0m", {"color": True}),
        ("\x1b[1mtaken\x1b[0m out", {"color": False}),
        ("no end", {"nl": False}),
        ("to the other", {"err": True}),
    ]

    def written(how: str) -> tuple[bytes, bytes]:
        command = [sys.executable, "-c", ECHO, how, json.dumps(lines)]
        env = {"PYTHONIOENCODING": f"{encoding}:backslashreplace"}
        done = subprocess.run(command, capture_output=True, check=True, env=env)
        return done.stdout, done.stderr

    plainly = written("plain" if encoding == "utf-8" else "narrow")

    assert plainly == written("click")
    assert b"kept" in plainly[0]


def test_a_command_may_end_with_a_code_of_its_own() -> None:
    with pytest.raises(Ended) as ended:
        CliContext(environ={}).exit(3)

    assert ended.value.code == 3


def test_streams_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)

    _text.echo("nobody reads it")
