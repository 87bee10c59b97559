"""The hosts: where each keeps its servers and its skills, and in what form.

Paths are templates for ``kb_app.paths``; those of a project are relative to it. From the
documentation of the hosts: Claude Code, Cursor, Gemini CLI and Claude Desktop have
``mcpServers`` in JSON, VS Code ``servers`` in a ``mcp.json``, Zed ``context_servers`` in its
settings, Codex ``mcp_servers`` in TOML. Skills are folders with a ``SKILL.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["HOSTS", "Host"]

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
