"""``kebab watch`` as a service: its file, what is said of it, and what is left alone."""

from __future__ import annotations

import json
import plistlib
import re
import stat
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from jsonschema import Draft202012Validator

from kb_cli._service import install, service_of, uninstall
from kb_cli.testing import run
from kb_core.errors import InvalidInput
from kb_core.testing import closed_schema

UNIT = ".config/systemd/user/kebab-watch.service"


@pytest.fixture(autouse=True)
def _on_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")


def test_it_is_written_and_what_starts_it_is_said(tmp_path: Path) -> None:
    result = run("watch", "--install", "--poll", "60", home=tmp_path)

    unit = tmp_path / UNIT
    assert result.stdout == f"wrote {unit}\n"
    assert "systemctl --user enable --now kebab-watch.service" in result.stderr
    assert stat.S_IMODE(unit.stat().st_mode) == 0o644
    text = unit.read_text("utf-8")
    assert re.search(r"^ExecStart=\S+ watch --poll 60$", text, re.MULTILINE)
    assert "WantedBy=default.target" in text
    assert run("watch", "--install", "--poll", "60", home=tmp_path).stdout.startswith("up to date")


def test_it_is_removed_and_what_ends_it_is_said(tmp_path: Path) -> None:
    run("watch", "--install", home=tmp_path)
    result = run("watch", "--uninstall", home=tmp_path)

    assert not (tmp_path / UNIT).exists()
    assert "systemctl --user disable --now kebab-watch.service" in result.stderr
    again = run("watch", "--uninstall", home=tmp_path)
    assert (again.exit_code, again.stdout.split("/")[0]) == (0, "there is no ")


def test_a_file_of_somebody_else_is_left(tmp_path: Path) -> None:
    unit = tmp_path / UNIT
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\nExecStart=/bin/true\n", "utf-8")

    for option in ("--install", "--uninstall"):
        assert run("watch", option, home=tmp_path).exit_code == 2
    assert "/bin/true" in unit.read_text("utf-8")


def test_each_configuration_has_a_service_of_its_own(tmp_path: Path) -> None:
    words = ("--config", str(tmp_path / "with space.toml"), "watch", "--install")
    assert run("--json", *words, home=tmp_path).exit_code == 2, "there is no such file yet"
    (tmp_path / "with space.toml").write_text("", "utf-8")
    report = json.loads(run("--json", *words, home=tmp_path).stdout)

    Draft202012Validator(closed_schema("integration_report")).validate(report)
    (file,) = report["files"]
    assert re.search(r"kebab-watch-[0-9a-f]{8}\.service$", file["path"])
    assert f'--config "{tmp_path}/with space.toml" watch' in Path(file["path"]).read_text("utf-8")


SECRETS = ("KEBAB_ASK_API_KEY", "KEBAB_CAPTION_API_KEY", "KEBAB_INDEX_TOKEN", "KEBAB_MCP_TOKEN")


def test_the_environment_comes_along_without_its_secrets(tmp_path: Path) -> None:
    environ = {"XDG_DATA_HOME": "/d %h", "SHELL": "sh"} | dict.fromkeys(SECRETS, "secret")
    run("watch", "--install", home=tmp_path, environ=environ)

    text = (tmp_path / UNIT).read_text("utf-8")
    assert 'Environment="XDG_DATA_HOME=/d %%h"' in text
    assert "secret" not in text


def test_read_only_installs_nothing(tmp_path: Path) -> None:
    assert run("--readonly", "watch", "--install", home=tmp_path).exit_code == 1
    assert not (tmp_path / ".config").exists()


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1)))
def test_systemd_reads_every_word_as_it_was(words: list[str]) -> None:
    service = service_of(["kebab", *words], {}, {"HOME": "/h"}, None, "linux")
    (line,) = [line for line in service.text.split("\n") if line.startswith("ExecStart=")]

    found = re.findall(r'"((?:\\.|[^"\\])*)"|(\S+)', line.removeprefix("ExecStart="))
    read = [plain or re.sub(r"\\(.)", r"\1", quoted) for quoted, plain in found]
    assert [word.replace("%%", "%").replace("$$", "$") for word in read] == ["kebab", *words]


def test_a_mac_gets_an_agent(tmp_path: Path) -> None:
    command, known = ["/usr/local/bin/kebab", "watch"], {"XDG_DATA_HOME": "/d & <d>"}
    service = service_of(command, known, {"HOME": str(tmp_path)}, None, "darwin")

    assert install(service) == "create"
    assert service.path == tmp_path / "Library/LaunchAgents/org.kebab.watch.plist"
    agent = plistlib.loads(service.path.read_bytes())
    assert (agent["ProgramArguments"], agent["EnvironmentVariables"]) == (command, known)
    assert service.end == ("launchctl bootout gui/$(id -u)/org.kebab.watch",)
    assert uninstall(service) == "remove"


def test_elsewhere_there_is_no_service() -> None:
    with pytest.raises(InvalidInput, match="no service to install on 'plan9'"):
        service_of(["kebab"], {}, {"HOME": "/h"}, None, "plan9")
