"""What holds for every command: global options, exit codes, streams, help."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import click
import pytest
from jsonschema import Draft202012Validator

from kb_cli._catalog import COMMANDS
from kb_cli._command import as_click
from kb_cli.main import cli
from kb_cli.testing import CHUNK_ID, DOC_ID, knowledge_base, run
from kb_core.errors import ConfigInvalid, KbError, NotIndexed, ReadonlyMode, StoreBusy, Timeout
from kb_core.testing import closed_schema
from kb_core.version import __version__

ID = CHUNK_ID[:8]

READING = [
    ["search", "q"],
    ["fetch", "chunk", ID],
    ["fetch", "doc", DOC_ID[:8]],
    ["fetch", "span", DOC_ID[:8], "1", "2"],
    ["list", "docs"],
    ["inspect", "doc", DOC_ID[:8]],
    ["inspect", "chunk", ID],
    ["status"],
    ["schema"],
    ["doctor"],
    ["stats"],
    ["models"],
]
WRITING = [["ingest"], ["embed"], ["reset", "--all", "--yes"]]
EDITING = [["remove", "notes"], ["config", "migrate"]]
SHOWING = [["config", "show"], ["config", "path"]]


def leaves(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words of every command that is not a group."""
    if not isinstance(command, click.Group):
        yield path
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        if child := command.get_command(context, name):
            yield from leaves(child, (*path, name))


EVERY = sorted(leaves(cli))


def named(words: list[str]) -> tuple[str, ...]:
    return tuple(word for word in words if not word.startswith("-") and word.islower())[:2]


@pytest.mark.parametrize("words", [*READING, *WRITING, *EDITING, *SHOWING], ids=" ".join)
def test_lesson_37_every_command_heeds_config(words: list[str], tmp_path: Path) -> None:
    """``--config`` was ignored by half of the commands, and a missing one meant defaults."""
    file = str(tmp_path / "missing.toml")

    before = run("--config", file, "--json", *words)
    after = run(*words, "--json", "--config", file)

    for result in (before, after):
        assert (result.exit_code, result.stdout) == (2, "")
        told = json.loads(result.stderr)
        assert (told["code"], told["details"]["file"]) == ("config_not_found", file)


@pytest.mark.parametrize("option", ["--config", "--in"])
def test_an_option_that_is_empty_was_given(option: str) -> None:
    """A script whose variable is not set asked, or deleted from, the usual knowledge base."""
    told = [run("search", "x", option, ""), run("search", "x", f"{option}=")]
    if option == "--config":
        told += [run(option, "", *words) for words in (["reset", "--all", "--yes"], ["stats"])]

    assert {result.exit_code for result in told} == {2}
    assert all("'' is not a path" in result.stderr for result in told)


@pytest.mark.parametrize("words", [*READING, *WRITING], ids=" ".join)
def test_lesson_37_the_named_configuration_reaches_the_facade(
    words: list[str], tmp_path: Path
) -> None:
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb" / "c.toml").write_text('[storage]\ndata_dir = "here"\n')
    kb = knowledge_base()

    result = run("--config", "~/kb/c.toml", *words, kb=kb, home=tmp_path)

    assert result.exit_code == 0
    assert kb.config.storage.data_dir == tmp_path / "kb" / "here"


@pytest.mark.parametrize("words", [*WRITING, *EDITING, ["init"], ["add", "."]], ids=" ".join)
@pytest.mark.parametrize("how", ["before", "after", "environment"])
def test_read_only_mode_refuses_to_write_and_exits_1(words: list[str], how: str) -> None:
    kb = knowledge_base()
    environ = {"KEBAB_READONLY": "1"} if how == "environment" else {}
    front = ["--readonly"] if how == "before" else []
    back = ["--readonly"] if how == "after" else []

    result = run(*front, *words, *back, "--json", kb=kb, environ=environ)

    assert (result.exit_code, result.stdout, kb.asked) == (1, "", [])
    assert json.loads(result.stderr)["code"] == "readonly_mode"


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_reading_commands_open_read_only_when_asked(words: list[str]) -> None:
    kb = knowledge_base()

    assert run(*words, "--readonly", kb=kb).exit_code == 0
    assert kb.readonly


@pytest.mark.parametrize(
    ("error", "code", "exit_code"),
    [
        (NotIndexed("nothing here", hint="kebab ingest"), "not_indexed", 2),
        (StoreBusy("process 7 writes"), "store_busy", 2),
        (Timeout("too slow"), "timeout", 2),
        (ConfigInvalid("bad"), "config_invalid", 2),
        (ReadonlyMode("no writing"), "readonly_mode", 1),
        (KbError("odd"), "internal", 2),
        (ZeroDivisionError("division by zero"), "internal", 2),
        (PermissionError(13, "Permission denied", "/data"), "io_error", 2),
    ],
)
@pytest.mark.parametrize("words", [["search", "q"], ["ingest"], ["doctor"]], ids=" ".join)
def test_an_error_is_one_object_on_stderr_and_an_exit_code(
    words: list[str], error: Exception, code: str, exit_code: int
) -> None:
    result = run(*words, "--json", kb=knowledge_base(error=error))

    told = json.loads(result.stderr)
    assert (result.exit_code, result.stdout, told["code"]) == (exit_code, "", code)
    Draft202012Validator(closed_schema("error")).validate(told)


def test_a_bug_shows_its_traceback_only_when_asked() -> None:
    kb = knowledge_base(error=ZeroDivisionError("division\nby zero"))

    quiet, loud = run("stats", kb=kb), run("stats", "--verbose", kb=kb)

    assert quiet.stderr == (
        "error: unexpected ZeroDivisionError: division\n"
        "  hint: this is a bug in kebab: please report it, with the output of --verbose\n"
    )
    assert "Traceback" in loud.stderr
    assert "ZeroDivisionError" in loud.stderr


AFTER, INSTEAD = "it goes after the command: kebab", "it is a command: kebab"
CHUNK = "did you mean 'chunk'? or what is called so: kebab fetch at chnk"
NO_VALUE = "does not take a value"
NO_SHELL = "missing argument '{bash|zsh|fish}'"
TEXT = "a text that begins with '-' comes after '--'"


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["searhc", "q"], "no such command 'searhc'", "did you mean 'search'?"),
        (
            ["search", "q", "--tga", "x"],
            "no such option '--tga'",
            "did you mean '--tag' or '--trace'?",
        ),
        (["fetch"], "missing command", "kebab fetch --help"),
        (["fetch", "chnk"], "no such command 'chnk'", CHUNK),
        (["fetch", "doc"], "missing argument 'DOC'", "kebab fetch doc --help"),
        (["completion"], f"{NO_SHELL}. Choose from: bash, zsh, fish", "kebab completion --help"),
        (["--quite", "stats"], "no such option '--quite'", "did you mean '--quiet'?"),
        (["fetch", "--in", ".", "chunk", "0a"], "no such option '--in'", f"{AFTER} fetch at --in"),
        (["fetch", "a.md", "--outline"], "no such option '--outline'", f"{INSTEAD} fetch outline"),
        (["--mode", "vector", "search"], "no such option '--mode'", f"{AFTER} search --mode"),
        (["--status"], "no such option '--status'", f"{INSTEAD} status"),
        (["search", "-sour bread"], "no such option '-s'", f"kebab search --help; {TEXT}"),
        (["ask", "-what is it"], "no such option '-w'", f"kebab ask --help; {TEXT}"),
        (["stats", "-z"], "no such option '-z'", "kebab stats --help"),
        (["search", "x", "--k", "3"], "no such option '--k'", "did you mean '-k'?"),
        (["stats", "x"], "got unexpected extra argument (x)", "kebab stats --help"),
        (["stats", "--config"], "option '--config' requires an argument", "kebab stats --help"),
        (["--config"], "option '--config' requires an argument", "kebab --help"),
        (["ingest", "--watch=3"], f"option '--watch' {NO_VALUE}", "kebab ingest --help"),
        (["stats", "--json=3"], f"option '--json' {NO_VALUE}", "kebab stats --help"),
        (["--json=3", "stats"], f"option '--json' {NO_VALUE}", "kebab --help"),
        (["mcp", "--readonly=3"], f"option '--readonly' {NO_VALUE}", "kebab mcp --help"),
        (["eval", "run", "--ask=3"], f"option '--ask' {NO_VALUE}", "kebab eval run --help"),
    ],
)
def test_lesson_39_a_usage_error_is_invalid_input_with_the_nearest_word(
    words: list[str], message: str, hint: str
) -> None:
    text, machine = run(*words), run(*words, "--json")

    assert (text.exit_code, text.stdout) == (2, "")
    assert text.stderr == f"error: {message}\n  hint: {hint}\n"
    if words[-1] != "--config":
        told = json.loads(machine.stderr)
        assert (told["code"], told["message"], told["hint"]) == ("invalid_input", message, hint)


@pytest.mark.parametrize("interruption", [KeyboardInterrupt(), EOFError()])
def test_an_interruption_outside_of_ingest_is_130(interruption: BaseException) -> None:
    result = run("stats", kb=knowledge_base(error=interruption))

    assert (result.exit_code, result.stdout) == (130, "")
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("flag", ["-h", "--help"])
@pytest.mark.parametrize("words", [(), *EVERY], ids=" ".join)
def test_every_help_shows_an_example(words: tuple[str, ...], flag: str) -> None:
    result = run(*words, flag)

    assert (result.exit_code, result.stderr) == (0, "")
    if words:
        assert "\nExample:\n  $ kebab " in result.stdout
        assert f"$ kebab {words[0]}" in result.stdout or "$ kebab --config" in result.stdout


def test_kebab_alone_prints_its_help() -> None:
    alone, asked = run(), run("--help")

    assert (alone.exit_code, alone.stderr) == (0, "")
    assert alone.stdout == asked.stdout


@pytest.mark.parametrize("words", [["--version"], ["search", "--version"], ["fetch", "--version"]])
def test_the_version_is_printed_before_anything_else_is_looked_at(words: list[str]) -> None:
    result = run(*words)

    assert (result.exit_code, result.stdout) == (0, f"kebab {__version__}\n")


def test_alone_and_quiet_it_is_quiet() -> None:
    assert run("--quiet").output == ""
    assert "Usage:" in run().stdout


@pytest.mark.parametrize(
    ("option", "meant"), [("--explain", "--trace"), ("--limit", "-k"), ("--tags", "--tag")]
)
def test_an_option_that_others_call_otherwise_is_hinted_at(option: str, meant: str) -> None:
    result = run("search", "x", option)

    assert result.exit_code == 2
    assert f"hint: did you mean {meant!r}?" in result.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_the_catalog_has_the_first_line_of_each_commands_help(name: str) -> None:
    place, line = COMMANDS[name]
    module, _, attribute = place.partition(":")
    command = as_click(getattr(import_module(f"kb_cli.commands.{module}"), attribute))

    assert command.name == name
    assert (command.help or "").splitlines()[0] == line
    assert command.get_short_help_str(limit=1000) in {line, line.removesuffix(".")}


@pytest.mark.parametrize(
    "words",
    [["reset", "--workspace", "", "--yes"], ["integrate", "claude-code", "--project", ""]],
    ids=lambda words: words[0],
)
def test_a_path_that_is_none_is_a_refusal_that_names_its_field(words: list[str]) -> None:
    told = json.loads(run("--json", *words).stderr)

    assert (told["code"], told["message"]) == ("invalid_input", "'' is not a path")
    assert f"--{told['details']['field']}" in words


def test_a_query_may_look_like_an_option_after_two_dashes() -> None:
    kb = knowledge_base()

    run("search", "--", "--json", kb=kb)

    assert kb.asked[0][1].text == "--json"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(shell: str) -> None:
    result = run("completion", shell)

    assert (result.exit_code, result.stderr) == (0, "")
    assert "_KEBAB_COMPLETE" in result.stdout
