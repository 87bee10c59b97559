"""Driving the server in a test: a facade without a knowledge base, and a client in process."""

from __future__ import annotations

from kb_mcp.testing._facade import CODE, KOREAN, FakeKnowledgeBase, ingest_event
from kb_mcp.testing._run import Mode, call, client_of

__all__ = ["CODE", "KOREAN", "FakeKnowledgeBase", "Mode", "call", "client_of", "ingest_event"]
