"""What an interface needs of the configuration, and nothing more of it."""

from __future__ import annotations

from pathlib import Path

from kb_app._data_dir import DataDir
from kb_app._pinned import is_pinned
from kb_app.config import Config
from kb_core.values import dataclass

__all__ = ["Preferences", "preferences_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preferences:
    """Wishes of the person, as configured."""

    theme: str = "dark"
    """``dark`` or ``light``."""
    default_k: int = 10
    """Hits to a page."""
    snippet_chars: int = 220
    """Longest snippet of a hit."""
    scope: str = ""
    """What is searched, where that is not the whole knowledge base: "the folder '/src/x'"."""
    about: tuple[tuple[str, str], ...] = ()
    """What the person says of sources and of folders in them, by ``source`` or ``source/path``."""
    follows_roots: bool = False
    """Whether the folders that a host of models announces may be asked."""
    feedback: bool = False
    """Whether a model may say what it thinks of hits."""
    tools: tuple[str, ...] = ()
    """Names of the tools that a host of models is shown; none: the usual ones."""
    token_file: Path
    """Where the token is that hosts send over HTTP; there or not."""


def preferences_of(config: Config) -> Preferences:
    """Return what an interface needs of *config*."""
    search = config.search
    return Preferences(
        theme=config.ui.theme,
        default_k=search.default_k,
        snippet_chars=search.snippet_chars,
        about=tuple(
            ("/".join(filter(None, (source.id, said.path))), said.text)
            for source in config.sources
            for said in source.about
        ),
        follows_roots=config.mcp.workspace_roots and not is_pinned(config),
        feedback=config.mcp.feedback,
        tools=config.mcp.tools,
        token_file=DataDir(config.storage.data_dir).token,
    )
