"""Putting an entry into files that people keep by hand: what was there stays, to the letter."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from kb_app.config import TomlError, drop_table, put_table
from kb_cli._integrate import jsonc

ENTRY = {"command": "kebab", "args": ["mcp"]}
PATH = ("mcpServers", "kebab")

keys = st.sampled_from(["a", "mcpServers", "b/*c*/", "//", 'q"', "한", ""])
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from(["", "x // y", "/* z */", "},", "\\"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)
notes = st.sampled_from(["", " ", "\n", "// note\n", "/* a\n b */", "\t", "/*{*/"])


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Draw JSON with comments and trailing commas anywhere; its top is an object."""
    held = draw(st.dictionaries(keys, values, max_size=4))
    if not isinstance(held.get("mcpServers", {}), dict):
        del held["mcpServers"]
    return draw(notes) + write(draw, held) + draw(notes)


def write(draw: st.DrawFn, value: Any) -> str:  # noqa: ANN401 - a JSON value
    if isinstance(value, dict):
        members = [
            f"{note(draw)}{json.dumps(k)}{note(draw)}:{note(draw)}{write(draw, v)}{note(draw)}"
            for k, v in value.items()
        ]
        return "{" + joined(draw, members) + "}"
    if isinstance(value, list):
        return (
            "["
            + joined(draw, [note(draw) + write(draw, item) + note(draw) for item in value])
            + "]"
        )
    return json.dumps(value, ensure_ascii=False)


def joined(draw: st.DrawFn, parts: list[str]) -> str:
    tail = draw(st.sampled_from(["", ","])) if parts else ""
    return ",".join(parts) + tail + note(draw)


def note(draw: st.DrawFn) -> str:
    return draw(notes)


def is_within(old: str, new: str) -> bool:
    """Say whether *new* is *old* with something put in: nothing lost, nothing moved."""
    rest = iter(new)
    return all(letter in rest for letter in old)


@given(documents())
def test_a_value_is_put_in_and_nothing_else_changes(text: str) -> None:
    before = jsonc.read(text)
    edited = jsonc.put(text, PATH, ENTRY)

    after = jsonc.read(edited)
    expected = {**before, "mcpServers": {**before.get("mcpServers", {}), "kebab": ENTRY}}
    assert after == expected
    if "kebab" not in before.get("mcpServers", {}):
        assert is_within(text, edited)


@example('{"a":null,"mcpServers":{/*{*/}/*{*/\n}')
@given(documents())
def test_putting_in_what_is_there_changes_nothing(text: str) -> None:
    once = jsonc.put(text, PATH, ENTRY)

    assert jsonc.put(once, PATH, ENTRY) == once


@given(documents())
def test_what_was_put_in_is_taken_out_and_nothing_else(text: str) -> None:
    before = jsonc.read(text)
    dropped = jsonc.drop(jsonc.put(text, PATH, ENTRY), PATH)

    others = {key: value for key, value in before.get("mcpServers", {}).items() if key != "kebab"}
    assert jsonc.read(dropped) == {**before, "mcpServers": others}
    assert jsonc.drop(dropped, PATH) == dropped


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"k": 1}', "{}"),
        ('{"a": 2, "k": 1}', '{"a": 2 }'),
        ('{"k": 1, "a": 2}', '{"a": 2}'),
        ('{\n  "a": 2, // two\n  "k": 1 // ours\n}\n', '{\n  "a": 2 // two\n}\n'),
        ('{\n  "k": 1,\n  // two\n  "a": 2,\n}\n', '{\n  // two\n  "a": 2,\n}\n'),
        ('{\r\n  "a": 2,\r\n  "k": 1\r\n}\r\n', '{\r\n  "a": 2\r\n}\r\n'),
        ('{"b": 3}', '{"b": 3}'),
    ],
)
def test_a_member_is_taken_out_with_its_line(text: str, expected: str) -> None:
    assert jsonc.drop(text, ("k",)) == expected


@given(st.dictionaries(keys, values, max_size=4), st.sampled_from([None, 2, 4, "\t"]))
def test_plain_json_stays_plain_json(held: dict[str, Any], indent: int | str | None) -> None:
    held.pop("mcpServers", None)
    text = json.dumps(held, indent=indent)

    assert json.loads(jsonc.put(text, PATH, ENTRY)) == {**held, "mcpServers": {"kebab": ENTRY}}


@given(st.text(alphabet='{}[]",:/*\n 1atrue\\', max_size=30))
def test_whatever_is_read_is_what_json_reads(text: str) -> None:
    try:
        expected = json.loads(text)
    except ValueError:
        return

    assert jsonc.read(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", '{\n  "k": 1\n}\n'),
        ("// mine\n", '// mine\n{\n  "k": 1\n}\n'),
        ("{}", '{\n  "k": 1\n}'),
        ('{"a": 2}', '{"a": 2,\n  "k": 1\n}'),
        ('{\n\t"a": 2\n}\n', '{\n\t"a": 2,\n\t"k": 1\n}\n'),
        ('{\n    "a": 2, // two\n}\n', '{\n    "a": 2, // two\n    "k": 1,\n}\n'),
        ('{\n    "a": 2 // two\n}\n', '{\n    "a": 2, // two\n    "k": 1\n}\n'),
        ('{\r\n  "a": 2\r\n}\r\n', '{\r\n  "a": 2,\r\n  "k": 1\r\n}\r\n'),
        ("{ // none yet\n}\n", '{ // none yet\n  "k": 1\n}\n'),
        ('{"k": 0, "a": 2}', '{"k": 1, "a": 2}'),
        ("\ufeff{}", '\ufeff{\n  "k": 1\n}'),
    ],
)
def test_it_looks_as_if_a_person_had_written_it(text: str, expected: str) -> None:
    assert jsonc.put(text, ("k",), 1) == expected


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("{", "line 1, column 2"),
        ('{"a": 1,\n "b" 2}', "line 2, column 2"),
        ('{"a": tru}', "line 1, column 7"),
        ('{"a": 01}', "line 1, column 8"),
        ('{} {"a": 1}', "line 1, column 4"),
        ("{'a': 1}", "line 1, column 2"),
        ('{"a": "\\x"}', "line 1, column 7"),
        ('{"a": 1, /* }', "line 1, column 10"),
    ],
)
def test_what_is_not_json_is_told_with_its_place(text: str, where: str) -> None:
    with pytest.raises(jsonc.JsoncError, match=where):
        jsonc.put(text, ("k",), 1)


def test_comments_in_a_value_are_not_replaced() -> None:
    with pytest.raises(jsonc.JsoncError, match="comments inside"):
        jsonc.put('{"k": [1, // one\n 2]}', ("k",), [3])


def test_depth_has_an_end_and_it_is_an_error() -> None:
    with pytest.raises(jsonc.JsoncError, match="too deeply"):
        jsonc.read("[" * 100_000)


TABLE = ("mcp_servers", "kebab")

lines = st.sampled_from(
    [
        "# a note\n",
        "\n",
        'model = "x" # fast\n',
        "[tools]\nweb = true\n",
        '[mcp_servers.other]\ncommand = "[mcp_servers.kebab]"\nargs = [\n  "a", # one\n]\n',
        '[mcp_servers.kebab.env]\nA = "1"\n',
        '[[list]]\nx = """\n[mcp_servers.kebab]\n"""\n',
        '[mcp_servers.kebab] # ours\nenabled = true\ncommand = "old" # mine\n',
        '[mcp_servers."kebab"]\nargs = [\n  "a",\n  "b",\n]\n',
    ]
)


@given(st.lists(lines, max_size=6, unique=True))
def test_a_table_is_put_in_and_nothing_else_changes(parts: list[str]) -> None:
    text = "".join(parts)
    try:
        before = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        with pytest.raises(TomlError):
            put_table(text, TABLE, ENTRY)
        return
    edited = put_table(text, TABLE, ENTRY)

    servers = before.get("mcp_servers", {})
    kebab = {**servers.get("kebab", {}), **ENTRY}
    assert tomllib.loads(edited) == {**before, "mcp_servers": {**servers, "kebab": kebab}}
    assert put_table(edited, TABLE, ENTRY) == edited
    dropped = tomllib.loads(drop_table(edited, TABLE))
    assert dropped.get("mcp_servers", {}) == {k: v for k, v in servers.items() if k != "kebab"}
    assert all(
        f"# {word}" in edited
        for word in ("a note", "fast", "one", "ours", "mine")
        if f"# {word}" in text
    )
    if not {"command", "args"} & servers.get("kebab", {}).keys():
        assert is_within(text, edited)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", '[mcp_servers.kebab]\ncommand = "kebab"\nargs = ["mcp"]\n'),
        ("a = 1", 'a = 1\n\n[mcp_servers.kebab]\ncommand = "kebab"\nargs = ["mcp"]\n'),
        (
            '[mcp_servers.kebab]\nargs = ["x"] # old\r\ncommand = "kebab"',
            '[mcp_servers.kebab]\nargs = ["mcp"] # old\r\ncommand = "kebab"',
        ),
        (
            "mcp_servers.kebab.command = 'x'",
            'mcp_servers.kebab.command = "kebab"\nmcp_servers.kebab.args = ["mcp"]\n',
        ),
        (
            "[mcp_servers]\nkebab = { command = 'a#b' } # c",
            '[mcp_servers]\nkebab = { command = "kebab", args = ["mcp"]} # c',
        ),
        ("[mcp_servers.kebab]", '[mcp_servers.kebab]\ncommand = "kebab"\nargs = ["mcp"]\n'),
    ],
)
def test_a_table_looks_as_if_a_person_had_written_it(text: str, expected: str) -> None:
    assert put_table(text, TABLE, ENTRY) == expected


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("a = = 1", "line 1, column 5"),
        ('a = "x\n\t"', "line 1, column 7"),
        ("a = [1", "end of document"),
    ],
)
def test_what_is_not_toml_is_told_with_its_place(text: str, where: str) -> None:
    with pytest.raises(TomlError, match=f"^{where} is not TOML$"):
        put_table(text, TABLE, ENTRY)


@pytest.mark.parametrize(
    "text",
    [
        "mcp_servers = {}",
        "[mcp_servers.kebab]\nargs = [ # mine\n]",
    ],
)
def test_a_table_that_cannot_be_changed_alone_is_refused(text: str) -> None:
    with pytest.raises(TomlError):
        put_table(text, TABLE, ENTRY)
