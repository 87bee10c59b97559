"""Driving the server in a test: the facade over parts in memory, and a client in process."""

from __future__ import annotations

from kb_mcp.testing._run import Mode, call, client_of
from kb_mcp.testing._world import CODE, KOREAN, knowledge_base

__all__ = ["CODE", "KOREAN", "Mode", "call", "client_of", "knowledge_base"]
