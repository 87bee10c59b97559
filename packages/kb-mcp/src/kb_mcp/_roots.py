"""Roots: the folders that a host works in, and says so, once the person allowed it.

With ``[mcp] workspace_roots`` a server over pipes asks its host for them at the first call, and
again when the host says that they changed. Where there are any, tools answer from these
folders, as ``kebab mcp --workspace`` does; else from the knowledge base. Hosts announce
roots in the versions of the protocol that have a handshake.
"""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError

from kb_app import KnowledgeBase
from kb_core import logs
from kb_mcp._calls import Context

__all__ = ["Roots"]

logger = logs.logger(__name__)

_PATIENCE_S = 5.0
"""How long a host may take to name its roots."""


class Roots:
    """Says which knowledge base answers a call: *kb*, or one over the roots of the host."""

    def __init__(self, kb: KnowledgeBase, *, is_wanted: bool) -> None:
        self._kb = kb
        self.is_wanted = is_wanted
        self._over: KnowledgeBase | None = None
        self._named: list[str] = []
        self._is_asked = False
        self._turn = anyio.Lock()

    @property
    def scope(self) -> str:
        """What answers, where that is not the whole knowledge base."""
        return "the folders that its host names" if self.is_wanted else self._kb.preferences().scope

    async def knowledge_base(self, context: Context) -> KnowledgeBase:
        """Return what answers; the host is asked if it has not been, or said that they changed.

        ``InvalidInput`` for roots that are not there, until it names others.
        """
        if not self.is_wanted:
            return self._kb
        async with self._turn:
            if not self._is_asked:
                self._settle(await _folders(context))
                self._is_asked = True
        return self._over or self._kb

    async def changed(self, _context: Context, _params: types.NotificationParams) -> None:
        """Ask again at the next call."""
        self._is_asked = False

    def leave(self) -> None:
        """Say that no call will come."""
        for kb in self._both:
            kb.leave()

    @property
    def is_working(self) -> bool:
        """Whether work that nobody waits for still runs on a thread."""
        return any(kb.is_working for kb in self._both)

    @property
    def _both(self) -> list[KnowledgeBase]:
        return [self._kb, *([self._over] if self._over is not None else [])]

    def close(self) -> None:
        """Let go of what was opened over roots."""
        if self._over is not None:
            self._over.close()
            self._over = None

    def _settle(self, folders: list[str]) -> None:
        from kb_app.workspaces import over_folders

        if folders == self._named:
            return
        over = over_folders(self._kb, folders) if folders else None
        if over is not None:
            over.stay()
        self.close()
        self._named, self._over = folders, over


async def _folders(context: Context) -> list[str]:
    """Return the folders that the host names; none where it names none, or does not answer."""
    session = context.session
    able = session.client_capabilities
    if able is None or able.roots is None or not session.can_send_request:
        return []
    try:
        found = await session.send_request(
            types.ListRootsRequest(),
            types.ListRootsResult,
            request_read_timeout_seconds=_PATIENCE_S,
        )
    except MCPError as error:
        logger.warning("the host did not name its roots: %s", error)
        return []
    parts = [urlsplit(str(root.uri)) for root in found.roots]
    return [unquote(part.path) for part in parts if part.scheme == "file" and part.path]
