"""Serve the knowledge base to language models over MCP.

``kb_mcp.server.serve`` is the door. Importing this package imports neither the SDK
nor pydantic, so that a program may look at what is installed without paying for it.

**Invariant:** a tool asks the facade, once, and shows what it said. It never ranks or
filters anything itself, and lets no model write where that is refused.
**Invariant:** an answer has one form. As text it is made of the wire object, and of what the
facade says besides of the same documents, by the pure functions of ``kb_mcp.text``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["HTTP_PLACE", "OPTIONS"]

HTTP_PLACE = "127.0.0.1:8808"
"""Where ``kebab mcp --http`` listens unless told otherwise."""

OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "form": {
        "flag": "--format",
        "choices": ("json", "text"),
        "default": "json",
        "show_default": True,
        "help": "How tools answer: wire objects, or text for a model to read.",
    },
    "offer": {
        "flag": "--tools",
        "metavar": "NAMES",
        "help": "Which tools are listed: names, or all, or reading (the default as text).",
    },
    "workspace": {
        "flag": "--workspace",
        "metavar": "[DIR]",
        "is_flag": False,
        "flag_value": ".",
        "help": "Answer from this folder (from the current one) as it is now; read-only.",
    },
    "remember": {
        "flag": "--remember",
        "is_flag": True,
        "help": "With --format text: give no passage twice, for a host of one conversation.",
    },
    "watch": {
        "flag": "--watch",
        "is_flag": True,
        "help": "Follow the sources meanwhile, as 'kebab watch' does.",
    },
    "http": {
        "flag": "--http",
        "metavar": "[HOST:PORT]",
        "is_flag": False,
        "flag_value": HTTP_PLACE,
        "help": f"Serve over HTTP, at {HTTP_PLACE} unless you say where; read-only.",
    },
    "allow_writing": {
        "flag": "--allow-writing",
        "is_flag": True,
        "help": "With --http: let hosts add documents.",
    },
    "allow_remote": {
        "flag": "--allow-remote",
        "is_flag": True,
        "help": "With --http: let other machines ask, where HOST is not this one alone.",
    },
}
"""What ``kebab mcp`` takes, by the name of the argument of ``serve``; click's own words."""
