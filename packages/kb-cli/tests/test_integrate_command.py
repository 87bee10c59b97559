"""Registering the server with hosts: what is shown, what is written, what is left alone."""

from __future__ import annotations

import json
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from kb_cli._integrate import HOSTS, skill_text
from kb_cli.testing import run
from kb_core.testing import closed_schema

ROOT = Path(__file__).resolve().parents[3]
ARGS = ["mcp", "--format", "text"]
FILES = {
    "claude-code": (".claude.json", ".mcp.json"),
    "cursor": (".cursor/mcp.json", ".cursor/mcp.json"),
    "vscode": (".config/Code/User/mcp.json", ".vscode/mcp.json"),
    "codex": (".codex/config.toml", ".codex/config.toml"),
    "claude-desktop": (".config/Claude/claude_desktop_config.json", None),
    "zed": (".config/zed/settings.json", ".zed/settings.json"),
    "gemini": (".gemini/settings.json", ".gemini/settings.json"),
}
SKILLS = {
    "claude-code": ".claude/skills",
    "cursor": ".cursor/skills",
    "vscode": ".agents/skills",
    "codex": ".agents/skills",
    "gemini": ".gemini/skills",
}


@pytest.fixture(autouse=True)
def _on_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")


def servers(file: Path, host: str) -> Any:  # noqa: ANN401 - a JSON value
    text = file.read_text("utf-8")
    data = tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)
    return data[HOSTS[host].table]


def tree(folder: Path) -> dict[str, str]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in files}


def test_every_host_is_tested() -> None:
    assert FILES.keys() == HOSTS.keys()


@pytest.mark.parametrize("host", HOSTS)
def test_without_write_nothing_is_written(host: str, tmp_path: Path) -> None:
    result = run("integrate", host, home=tmp_path)

    assert result.exit_code == 0, result.output
    assert f"would create {tmp_path / FILES[host][0]}\n" in result.stdout
    assert '"mcp"' in result.stdout
    assert result.stderr == "nothing was written; add --write to do it\n"
    assert tree(tmp_path) == {}


@pytest.mark.parametrize("host", HOSTS)
def test_write_registers_the_server_and_the_skill(host: str, tmp_path: Path) -> None:
    result = run("integrate", host, "--write", home=tmp_path)

    assert result.exit_code == 0, result.output
    assert result.stderr == f"next: {HOSTS[host].then}\n"
    entry = servers(tmp_path / FILES[host][0], host)["kebab"]
    assert entry["args"] == ARGS
    assert entry.get("type") == ("stdio" if HOSTS[host].is_typed else None)
    assert entry.keys() <= {"type", "command", "args"}
    skill = f"{SKILLS[host]}/kebab/SKILL.md" if host in SKILLS else None
    assert tree(tmp_path).keys() == {FILES[host][0], skill} - {None}


@pytest.mark.parametrize("host", HOSTS)
def test_writing_twice_is_writing_once(host: str, tmp_path: Path) -> None:
    run("integrate", host, "--write", home=tmp_path)
    before = tree(tmp_path)
    result = run("integrate", host, "--write", home=tmp_path)

    assert tree(tmp_path) == before
    assert f"up to date: {tmp_path / FILES[host][0]}\n" in result.stdout


@pytest.mark.parametrize("host", [host for host, (_, project) in FILES.items() if project])
def test_a_project_gets_files_of_its_own(host: str, tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    run("integrate", host, "--write", "--project", str(project), home=home)

    assert tree(home) == {}
    assert servers(project / str(FILES[host][1]), host)["kebab"]["args"] == [
        "mcp",
        "--format",
        "text",
    ]


def test_a_host_without_projects_says_so(tmp_path: Path) -> None:
    result = run("integrate", "claude-desktop", "--project", str(tmp_path), home=tmp_path)

    assert result.exit_code == 2
    assert "Claude Desktop has no files of a project" in result.stderr


def test_on_a_mac_the_files_are_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    run("integrate", "vscode", "--write", "--no-skill", home=tmp_path)

    assert list(tree(tmp_path)) == ["Library/Application Support/Code/User/mcp.json"]


@pytest.mark.parametrize(
    ("host", "variable", "file"),
    [
        ("codex", "CODEX_HOME", "config.toml"),
        ("claude-code", "CLAUDE_CONFIG_DIR", ".claude.json"),
        ("zed", "XDG_CONFIG_HOME", "zed/settings.json"),
    ],
)
def test_the_variables_of_the_hosts_count(
    host: str, variable: str, file: str, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    words = ("integrate", host, "--write", "--no-skill")
    run(*words, home=tmp_path / "home", environ={variable: str(elsewhere)})

    assert list(tree(tmp_path)) == [f"elsewhere/{file}"]


def test_the_configuration_that_was_named_is_registered(tmp_path: Path) -> None:
    file = tmp_path / "my.toml"
    file.touch()
    run("--config", str(file), "integrate", "cursor", "--write", home=tmp_path)

    entry = servers(tmp_path / ".cursor/mcp.json", "cursor")["kebab"]
    assert entry["args"] == ["--config", str(file), *ARGS]


@pytest.mark.parametrize("text", [None, "[mcp]\nnothing = 1\n"])
def test_a_configuration_that_no_server_starts_with_is_not_registered(
    text: str | None, tmp_path: Path
) -> None:
    file = tmp_path / "my.toml"
    if text is not None:
        file.write_text(text)
    words = ("--config", str(file), "integrate", "cursor")

    result = run(*words, "--write", home=tmp_path / "home")
    removed = run(*words, "--remove", "--write", home=tmp_path / "home")

    assert (result.exit_code, removed.exit_code) == (2, 0)
    assert str(file) in result.stderr
    assert tree(tmp_path / "home") == {}


def test_the_command_is_named_in_full_and_in_a_project_as_a_shell_finds_it(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "kebab"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    environ = {"PATH": str(program.parent)}
    run("integrate", "cursor", "--write", "--no-skill", home=tmp_path, environ=environ)
    words = ("integrate", "cursor", "--write", "--project", str(tmp_path / "p"))
    run(*words, home=tmp_path, environ=environ)

    own = servers(tmp_path / ".cursor/mcp.json", "cursor")["kebab"]
    shared = servers(tmp_path / "p/.cursor/mcp.json", "cursor")["kebab"]
    assert (own["command"], shared["command"]) == (str(program), "kebab")


def test_what_a_file_held_it_still_holds(tmp_path: Path) -> None:
    file = tmp_path / ".config" / "zed" / "settings.json"
    file.parent.mkdir(parents=True)
    file.write_text(
        "// my settings\n"
        "{\n"
        '  "theme": "One Dark", // dark\n'
        '  "context_servers": {\n'
        '    "other": { "command": "x" }, // mine\n'
        "  },\n"
        "}\n"
    )
    result = run("integrate", "zed", "--write", home=tmp_path, environ={"PATH": ""})

    assert result.stdout == f"updated {file}\n"
    command = json.dumps(program_of(file))
    assert file.read_text() == (
        "// my settings\n"
        "{\n"
        '  "theme": "One Dark", // dark\n'
        '  "context_servers": {\n'
        '    "other": { "command": "x" }, // mine\n'
        '    "kebab": {\n'
        f'      "command": {command},\n'
        '      "args": [\n'
        '        "mcp",\n'
        '        "--format",\n'
        '        "text"\n'
        "      ]\n"
        "    },\n"
        "  },\n"
        "}\n"
    )


def program_of(file: Path) -> str:
    """Return the command that was put last."""
    lines = [line.strip() for line in file.read_text().splitlines()]
    found = [line for line in lines if line.startswith('"command": ')]
    command: str = json.loads(found[-1].partition(": ")[2].rstrip(","))
    return command


def test_what_a_person_added_to_the_entry_stays(tmp_path: Path) -> None:
    file = tmp_path / ".cursor" / "mcp.json"
    file.parent.mkdir()
    entry = {"command": "/old/kebab", "args": ["mcp", "-x"], "env": {"A": "1"}, "disabled": True}
    file.write_text(json.dumps({"mcpServers": {"kebab": entry, "b": {"url": "u"}}}))
    run("integrate", "cursor", "--write", home=tmp_path)

    found = servers(file, "cursor")
    assert found["b"] == {"url": "u"}
    assert (found["kebab"]["env"], found["kebab"]["disabled"]) == ({"A": "1"}, True)
    assert found["kebab"]["args"] == ARGS


@pytest.mark.parametrize(
    ("host", "text"),
    [
        ("cursor", "{ not json"),
        ("cursor", "[]"),
        ("cursor", '{"mcpServers": []}'),
        ("cursor", '{"mcpServers": {"kebab": 7}}'),
        ("codex", "a = = 1"),
        ("codex", 'mcp_servers = { other = { command = "x" } }'),
        ("codex", "mcp_servers = 1"),
    ],
)
def test_what_cannot_be_read_for_sure_is_left_alone(host: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / FILES[host][0]
    file.parent.mkdir(parents=True)
    file.write_text(text)
    result = run("integrate", host, "--write", home=tmp_path)

    if text == '{"mcpServers": {"kebab": 7}}':
        assert servers(file, host)["kebab"]["args"] == [
            "mcp",
            "--format",
            "text",
        ]  # a number is no registration
        return
    assert result.exit_code == 2
    assert f"{file} is left as it is" in result.stderr
    assert f"put {HOSTS[host].table}.kebab into it by hand" in result.stderr
    assert tree(tmp_path) == {FILES[host][0]: text}


def test_bytes_that_are_not_utf8_are_left_alone(tmp_path: Path) -> None:
    file = tmp_path / ".claude.json"
    file.write_bytes(b'{"a": "\xff"}')
    result = run("integrate", "claude-code", "--write", home=tmp_path)

    assert (result.exit_code, file.read_bytes()) == (2, b'{"a": "\xff"}')


def test_a_link_stays_a_link_and_permissions_stay(tmp_path: Path) -> None:
    real, link = tmp_path / "dotfiles.json", tmp_path / ".claude.json"
    real.write_text("{}")
    real.chmod(0o600)
    link.symlink_to(real)
    run("integrate", "claude-code", "--write", "--no-skill", home=tmp_path)

    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    assert servers(real, "claude-code")["kebab"]["args"] == ARGS


def test_read_only_shows_and_writes_nothing(tmp_path: Path) -> None:
    shown = run("--readonly", "integrate", "cursor", home=tmp_path)
    refused = run("--readonly", "integrate", "cursor", "--write", home=tmp_path)

    assert (shown.exit_code, refused.exit_code) == (0, 1)
    assert tree(tmp_path) == {}


def test_json_says_what_changes(tmp_path: Path) -> None:
    first = run("--json", "integrate", "codex", home=tmp_path)
    second = run("--json", "integrate", "codex", "--write", home=tmp_path)
    third = run("--json", "integrate", "codex", home=tmp_path)

    reports = [json.loads(result.stdout) for result in (first, second, third)]
    for report in reports:
        Draft202012Validator(closed_schema("integration_report")).validate(report)
    actions = [[file["action"] for file in report["files"]] for report in reports]
    assert actions == [["create"] * 2, ["create"] * 2, ["unchanged"] * 2]
    assert [report["written"] for report in reports] == [False, True, False]
    assert reports[0]["entry"]["args"] == ARGS


def test_the_skill_is_published_as_it_is() -> None:
    """One home, in the package; the documentation has a copy that people can take."""
    assert (ROOT / "docs/integrations/SKILL.md").read_text("utf-8") == skill_text()


def test_a_skill_is_written_with_its_digest_as_the_format_has_it(tmp_path: Path) -> None:
    run("integrate", "cursor", "--write", home=tmp_path)
    _, head, body = (tmp_path / SKILLS["cursor"] / "kebab/SKILL.md").read_text().split("---\n", 2)

    fields = yaml.safe_load(head)
    assert fields.keys() == {"name", "description", "metadata"}
    assert [type(value) for value in fields["metadata"].values()] == [str]
    assert skill_text().endswith(body)


def test_the_skill_has_what_hosts_look_for() -> None:
    """The open format: a name like its folder, and a description of at most 1,024 characters."""
    _, head, body = skill_text().split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in head.splitlines())

    assert fields["name"] == "kebab"
    assert len(fields["description"]) <= 1024
    assert body.startswith("\n# ")


SECRETS = ("KEBAB_ASK_API_KEY", "KEBAB_CAPTION_API_KEY", "KEBAB_INDEX_TOKEN", "KEBAB_MCP_TOKEN")
PLACES = {"XDG_DATA_HOME": "/data", "XDG_CONFIG_HOME": "", "KEBAB_SEARCH_DEFAULT_K": "4"}


@pytest.mark.parametrize("host", HOSTS)
def test_the_server_is_told_what_hosts_do_not_hand_on(host: str, tmp_path: Path) -> None:
    environ = PLACES | {"KEBAB_PROGRESS": "plain", "LANG": "C"} | dict.fromkeys(SECRETS, "sk-1")
    run("integrate", host, "--write", home=tmp_path, environ=environ)

    entry = servers(tmp_path / FILES[host][0], host)["kebab"]
    assert entry["env"] == {"XDG_DATA_HOME": "/data", "KEBAB_SEARCH_DEFAULT_K": "4"}


def test_what_others_share_has_no_environment_of_one_person(tmp_path: Path) -> None:
    words = ("integrate", "cursor", "--write", "--project", str(tmp_path))
    run(*words, home=tmp_path / "home", environ=PLACES)

    assert "env" not in servers(tmp_path / ".cursor/mcp.json", "cursor")["kebab"]


@pytest.mark.parametrize("host", ["cursor", "codex"])
def test_what_a_person_added_to_the_environment_stays(host: str, tmp_path: Path) -> None:
    run("integrate", host, "--write", home=tmp_path, environ={"XDG_DATA_HOME": "/old"})
    file = tmp_path / FILES[host][0]
    mine = {
        "cursor": ('"env": {', '"env": {"A": "1",'),
        "codex": ("[mcp_servers.kebab.env]\n",) * 2,
    }
    before, after = mine[host]
    after += 'A = "1"\n' if host == "codex" else ""
    file.write_text(file.read_text().replace(before, after))

    run("integrate", host, "--write", home=tmp_path, environ={"XDG_DATA_HOME": "/new"})

    assert servers(file, host)["kebab"]["env"] == {"A": "1", "XDG_DATA_HOME": "/new"}


@pytest.mark.parametrize("host", HOSTS)
def test_what_was_registered_is_removed_and_nothing_else(host: str, tmp_path: Path) -> None:
    file = tmp_path / FILES[host][0]
    file.parent.mkdir(parents=True, exist_ok=True)
    table = HOSTS[host].table
    held = f'# mine\n[{table}.other]\ncommand = "x"\n'
    if file.suffix == ".json":
        held = (
            f'// mine\n{{\n  "{table}": {{\n    "other": {{ "command": "x" }} // mine\n  }}\n}}\n'
        )
    file.write_text(held)
    run("integrate", host, "--write", home=tmp_path, environ=PLACES)

    shown = run("integrate", host, "--remove", home=tmp_path)
    assert shown.stderr == "nothing was written; add --write to do it\n"
    assert "kebab" in file.read_text()
    done = run("integrate", host, "--remove", "--write", home=tmp_path)

    assert (done.exit_code, done.stderr) == (0, "")
    assert f"taken out of {file}\n" in done.stdout
    assert {name: text.rstrip("\n") + "\n" for name, text in tree(tmp_path).items()} == {
        FILES[host][0]: held
    }
    again = run("integrate", host, "--remove", "--write", home=tmp_path)
    assert f"nothing of ours in {file}\n" in again.stdout


@pytest.mark.parametrize("words", [("--write",), ("--remove", "--write")])
def test_a_skill_that_was_edited_is_left(words: tuple[str, ...], tmp_path: Path) -> None:
    run("integrate", "cursor", "--write", home=tmp_path)
    skill = tmp_path / SKILLS["cursor"] / "kebab/SKILL.md"
    skill.write_text(skill.read_text() + "and mine\n")

    result = run("integrate", "cursor", *words, home=tmp_path)

    assert "the skill has been edited, and is left" in result.stderr
    assert f"left as it is: {skill}\n" in result.stdout
    assert skill.read_text().endswith("and mine\n")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("words", [("--write",), ("--remove", "--write")])
def test_a_skill_of_another_version_is_ours(
    words: tuple[str, ...], newline: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = skill_text().replace("# Answer", "# Once, answer")
    with monkeypatch.context() as before:
        before.setattr("kb_cli._integrate.skill_text", lambda: older)
        run("integrate", "cursor", "--write", home=tmp_path)
    skill = tmp_path / SKILLS["cursor"] / "kebab/SKILL.md"
    skill.write_text(skill.read_text(), newline=newline)
    assert "# Once, answer" in skill.read_text()

    run("integrate", "cursor", *words, home=tmp_path)

    assert "--remove" not in words or not skill.exists()
    assert "--remove" in words or "# Once, answer" not in skill.read_text()


def test_a_skill_that_another_host_reads_goes_with_the_last_of_them(tmp_path: Path) -> None:
    skill = tmp_path / SKILLS["codex"] / "kebab/SKILL.md"
    for host in ("vscode", "codex"):
        run("integrate", host, "--write", home=tmp_path)

    first = run("integrate", "vscode", "--remove", "--write", home=tmp_path)
    assert "the skill is left: Codex reads it, too" in first.stderr
    assert skill.exists()
    run("integrate", "codex", "--remove", "--write", home=tmp_path)
    assert not skill.exists()


def test_a_removal_is_told_in_json(tmp_path: Path) -> None:
    run("integrate", "codex", "--write", home=tmp_path)

    result = run("--json", "integrate", "codex", "--remove", "--write", home=tmp_path)

    report = json.loads(result.stdout)
    Draft202012Validator(closed_schema("integration_report")).validate(report)
    assert report["removal"] is True
    assert [file.get("removed", False) for file in report["files"]] == [False, True]
