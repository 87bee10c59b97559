"""Registering ``kebab mcp`` with the programs that host language models.

The hosts: where each keeps its servers and its skills, and in what form; then what would
change, and writing it. ``jsonc`` and ``kb_app.config`` put an entry into a file that people
keep by hand. Only ``write`` touches a disk.

Paths are templates for ``kb_app.paths``; those of a project are relative to it. From the
documentation of the hosts: Claude Code, Cursor, Gemini CLI and Claude Desktop have
``mcpServers`` in JSON, VS Code ``servers`` in a ``mcp.json``, Zed ``context_servers`` in its
settings, Codex ``mcp_servers`` in TOML. Skills are folders with a ``SKILL.md``.

A skill is written with its own digest in its front matter, so that one which a person has
edited is told from one of an older version.

**Invariant:** whatever a person put into a file, it holds afterwards, comments included; what
cannot be read for sure is not written.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

from kb_app.config import TomlError, drop_table, put_table
from kb_cli._integrate import jsonc
from kb_core.errors import ConfigInvalid, InvalidInput, IoError
from kb_core.ids import text_hash
from kb_core.values import dataclass, field

__all__ = [
    "HOSTS",
    "Change",
    "Host",
    "Registration",
    "plan",
    "plan_removal",
    "skill_text",
    "snippet",
    "write",
]

_MAC = "~/Library/Application Support"
_CONFIG = "${XDG_CONFIG_HOME:-~/.config}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """One program that starts MCP servers."""

    title: str
    user_file: str
    mac_file: str | None = None
    """Where a Mac has it, if elsewhere."""
    project_file: str | None = None
    table: str = "mcpServers"
    """The key that holds all servers."""
    is_typed: bool = False
    """Whether an entry says ``"type": "stdio"`` beside ``command`` and ``args``."""
    user_skills: str | None = None
    project_skills: str | None = None
    then: str
    """What the person does next."""

    def file_for(self, platform: str) -> str:
        """Return the template of the file for everything that this person does."""
        return self.mac_file if platform == "darwin" and self.mac_file else self.user_file


HOSTS: Mapping[str, Host] = {
    "claude-code": Host(
        title="Claude Code",
        user_file="${CLAUDE_CONFIG_DIR:-~}/.claude.json",
        project_file=".mcp.json",
        is_typed=True,
        user_skills="${CLAUDE_CONFIG_DIR:-~/.claude}/skills",
        project_skills=".claude/skills",
        then="start a new session; /mcp shows the server",
    ),
    "cursor": Host(
        title="Cursor",
        user_file="~/.cursor/mcp.json",
        project_file=".cursor/mcp.json",
        is_typed=True,
        user_skills="~/.cursor/skills",
        project_skills=".cursor/skills",
        then="switch the server on in Cursor's settings, under MCP",
    ),
    "vscode": Host(
        title="VS Code",
        user_file=f"{_CONFIG}/Code/User/mcp.json",
        mac_file=f"{_MAC}/Code/User/mcp.json",
        project_file=".vscode/mcp.json",
        table="servers",
        is_typed=True,
        user_skills="~/.agents/skills",
        project_skills=".agents/skills",
        then="run 'MCP: List Servers' and start it",
    ),
    "codex": Host(
        title="Codex",
        user_file="${CODEX_HOME:-~/.codex}/config.toml",
        project_file=".codex/config.toml",
        table="mcp_servers",
        user_skills="~/.agents/skills",
        project_skills=".agents/skills",
        then="start a new session; /mcp shows the server",
    ),
    "claude-desktop": Host(
        title="Claude Desktop",
        user_file=f"{_CONFIG}/Claude/claude_desktop_config.json",
        mac_file=f"{_MAC}/Claude/claude_desktop_config.json",
        then="quit Claude and start it again",
    ),
    "zed": Host(
        title="Zed",
        user_file=f"{_CONFIG}/zed/settings.json",
        mac_file="~/.config/zed/settings.json",
        project_file=".zed/settings.json",
        table="context_servers",
        then="the agent panel's settings show the server",
    ),
    "gemini": Host(
        title="Gemini CLI",
        user_file="~/.gemini/settings.json",
        project_file=".gemini/settings.json",
        user_skills="~/.gemini/skills",
        project_skills=".gemini/skills",
        then="start a new session; /mcp shows the server",
    ),
}
"""By the name on the command line."""


NAME = "kebab"
"""What the server is called; hosts show its tools as ``mcp__kebab__search`` and so on."""


@dataclass(frozen=True, slots=True)
class Registration:
    """How a host is to start the server."""

    command: str
    args: tuple[str, ...]
    environ: Mapping[str, str] = field(default_factory=dict)
    """What the server has to know of this environment: hosts hand on little of theirs."""

    def entry(self, host: Host) -> dict[str, object]:
        """Return the entry as *host* has it."""
        kind = {"type": "stdio"} if host.is_typed else {}
        known = {"env": dict(self.environ)} if self.environ else {}
        return {**kind, "command": self.command, "args": list(self.args), **known}


@dataclass(frozen=True, slots=True)
class Change:
    """A file as it is, ``None`` if it is not there, and as it would be."""

    kind: str
    """``registration`` or ``skill``."""
    path: Path
    before: str | None
    after: str | None
    left: str = ""
    """Why a skill is left as it is."""

    @property
    def action(self) -> str:
        """``create``, ``update``, ``remove`` or ``unchanged``."""
        if self.before is None:
            return "unchanged" if self.after is None else "create"
        if self.after is None:
            return "remove"
        return "unchanged" if self.before == self.after else "update"


@dataclass(frozen=True, slots=True)
class Site:
    """Where a host's files are looked for: a project, or what is the person's alone."""

    project: Path | None
    locate: Callable[[str], Path]
    """Makes a path of a template."""
    platform: str

    def files_of(self, host: Host) -> tuple[Path, Path | None]:
        """Return the files of the registration and of the skill, if *host* has skills."""
        if self.project is None:
            file = self.locate(host.file_for(self.platform))
            skills = self.locate(host.user_skills) if host.user_skills else None
        elif host.project_file is None:
            message = f"{host.title} has no files of a project"
            raise InvalidInput(message, hint="leave out --project")
        else:
            file = self.project / host.project_file
            skills = self.project / host.project_skills if host.project_skills else None
        return file, skills / NAME / "SKILL.md" if skills else None


def plan(host: Host, registration: Registration, site: Site) -> list[Change]:
    """Return what registering would change."""
    file, skill = site.files_of(host)
    changes = [_registered(host, registration, file)]
    if skill is not None:
        changes.append(_skill(skill, _marked(skill_text())))
    return changes


def plan_removal(host: Host, site: Site) -> list[Change]:
    """Return what taking it out again would change.

    A skill stays that a person edited, or that another host which is registered reads, too.
    """
    file, skill = site.files_of(host)
    before = _text(file)
    try:
        after = before and _drop(host, before, is_toml=file.suffix == ".toml")
    except (jsonc.JsoncError, TomlError) as error:
        raise ConfigInvalid(
            f"{file} is left as it is: {error}",
            hint=f"take {host.table}.{NAME} out of it by hand",
            details={"path": str(file)},
        ) from error
    changes = [Change("registration", file, before, after)]
    if skill is not None:
        changes.append(_skill(skill, None, reader=_other_reader(host, skill, site)))
    return changes


def snippet(host: Host, registration: Registration) -> str:
    """Return the registration alone, as it would read in an empty file."""
    return _put(host, registration, "", is_toml=host.user_file.endswith(".toml"))


def skill_text() -> str:
    """Return the skill: how a model is to use the tools."""
    return files(__package__).joinpath("skill", "SKILL.md").read_text("utf-8")


def write(changes: Sequence[Change]) -> None:
    """Write what is not there yet and remove what goes; each file wholly or not at all."""
    for change in changes:
        if change.action == "remove":
            _remove(change.path)
        elif change.after is not None and change.action != "unchanged":
            _write(change.path, change.after)


def _registered(host: Host, registration: Registration, file: Path) -> Change:
    before = _text(file)
    try:
        after = _put(host, registration, before or "", is_toml=file.suffix == ".toml")
    except (jsonc.JsoncError, TomlError) as error:
        entry = json.dumps(registration.entry(host), ensure_ascii=False)
        raise ConfigInvalid(
            f"{file} is left as it is: {error}",
            hint=f"put {host.table}.{NAME} into it by hand: {entry}",
            details={"path": str(file)},
        ) from error
    return Change("registration", file, before, after)


_MARK = re.compile(r'^metadata:\n  written-as: "(\w+)"\n', re.MULTILINE)


def _marked(skill: str) -> str:
    """Return *skill* with its digest as the last field of its front matter."""
    end = skill.index("\n---\n") + 1
    return f'{skill[:end]}metadata:\n  written-as: "{text_hash(skill)}"\n{skill[end:]}'


def _is_as_written(skill: str) -> bool:
    """Say whether nobody has changed *skill* since it was written, by any version."""
    text = skill.replace("\r\n", "\n")  # as some systems check files out
    mark = _MARK.search(text)
    bare = _MARK.sub("", text, count=1)
    return text_hash(bare) == mark[1] if mark else text == skill_text()


def _skill(file: Path, wanted: str | None, *, reader: str | None = None) -> Change:
    """Return how the skill becomes *wanted*; as it is, if edited or read by *reader*, too."""
    held = _text(file)
    left = ""
    if held is not None and not _is_as_written(held):
        left = "the skill has been edited, and is left"
    elif held is not None and reader is not None:
        left = f"the skill is left: {reader} reads it, too"
    return Change("skill", file, held, held if left else wanted, left)


def _other_reader(host: Host, skill: Path, site: Site) -> str | None:
    """Return the title of another host with this *skill* that may start the server."""
    for other in HOSTS.values():
        if other is host or (site.project is not None and other.project_file is None):
            continue
        file, its_skill = site.files_of(other)
        if its_skill == skill and _may_hold_entry(other, file):
            return other.title
    return None


def _may_hold_entry(host: Host, file: Path) -> bool:
    """Say whether *file* registers the server, or cannot be read for sure."""
    try:
        text = _text(file) or ""
        held = tomllib.loads(text) if file.suffix == ".toml" else jsonc.read(text)
    except (ConfigInvalid, IoError, ValueError):
        return True
    return _has_entry(held, host.table)


def _put(host: Host, registration: Registration, text: str, *, is_toml: bool) -> str:
    entry = registration.entry(host)
    held = _toml(text) if is_toml else jsonc.read(text)
    own = held[host.table][NAME] if _has_entry(held, host.table) else {}
    # What a person has added to the entry, to its environment, too, stays.
    known = own.get("env")
    if isinstance(known, Mapping) and "env" in entry:
        entry["env"] = {**known, **registration.environ}
    if is_toml:
        return put_table(text, (host.table, NAME), entry)
    if not own:
        return jsonc.put(text, (host.table, NAME), entry)
    for key, value in entry.items():
        if own.get(key) != value:
            text = jsonc.put(text, (host.table, NAME, key), value)
    return text


def _toml(text: str) -> Mapping[str, Any]:
    with suppress(tomllib.TOMLDecodeError):  # whoever edits it says what is wrong
        return tomllib.loads(text)
    return {}


def _drop(host: Host, text: str, *, is_toml: bool) -> str:
    path = (host.table, NAME)
    return drop_table(text, path) if is_toml else jsonc.drop(text, path)


def _has_entry(held: object, table: str) -> bool:
    servers = held.get(table) if isinstance(held, Mapping) else None
    return isinstance(servers, Mapping) and isinstance(servers.get(NAME), Mapping)


def _text(file: Path) -> str | None:
    """Return what a file holds, with the ends of its lines; ``None`` if there is none."""
    try:
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise ConfigInvalid(
            f"{file} is left as it is: it is not UTF-8", details={"path": str(file)}
        ) from error
    except OSError as error:
        raise IoError(f"{file} cannot be read: {error.strerror}") from error


def _remove(file: Path) -> None:
    try:
        file.unlink(missing_ok=True)
        with suppress(OSError):
            file.parent.rmdir()  # only where nothing else is in it
    except OSError as error:
        raise IoError(f"{file} cannot be removed: {error.strerror}") from error


def _write(file: Path, text: str) -> None:
    target = file.resolve()  # a link stays one
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o644
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".kebab-", delete=False) as new:
            try:
                new.write(text.encode("utf-8"))
                new.flush()
                os.fchmod(new.fileno(), mode)
                Path(new.name).replace(target)
            except BaseException:
                Path(new.name).unlink(missing_ok=True)
                raise
    except OSError as error:
        raise IoError(f"{file} cannot be written: {error.strerror}") from error
