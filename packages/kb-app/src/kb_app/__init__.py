"""The application: facade, configuration, ingest and wire objects of the kebab knowledge base.

What an interface needs first is here, and each name loads its module when it is
asked for: importing this package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kb_app.config import Config, load_config
    from kb_app.knowledge_base import KnowledgeBase

__all__ = ["Config", "KnowledgeBase", "load_config"]

_HOMES = {
    "Config": "kb_app.config",
    "KnowledgeBase": "kb_app.knowledge_base",
    "load_config": "kb_app.config",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
