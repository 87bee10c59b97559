"""What has to be the same on every machine that reads for a run, by name.

Parsers, chunkers, libraries and models decide what comes of a file; a node that has others
would give other passages, and nobody would see it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from kb_app._ingest.settings import Settings
from kb_app._media import MEDIA, versions_of
from kb_app._trained import find_trained
from kb_app.paths import environment
from kb_core.errors import KbError
from kb_core.media import Media

__all__ = ["installed"]

_OURS = ("kb-core", "kb-store", "kb-search", "kb-app")


def installed(settings: Settings) -> Mapping[str, str]:
    """Return what is installed here of all that shapes the output of an ingest."""
    found = {"Python": f"{sys.version_info.major}.{sys.version_info.minor}"}
    found |= {name: each for name in sorted(_distributions()) if (each := _version(name))}
    found |= {f"the parser of {medium}": " ".join(versions_of(medium)) for medium in MEDIA}
    found["the embedding model"] = _model(settings.model)
    found["the trained data"] = " ".join(sorted(_trained(settings)))
    return found


def _distributions() -> Iterator[str]:
    """Yield the names of what kebab is made of and what it may be given, once or more."""
    for ours in _OURS:
        yield ours
        try:
            lines = requires(ours) or []
        except PackageNotFoundError:  # sources that were never installed
            continue
        for line in lines:
            name = line.partition(";")[0]
            end = next((i for i, c in enumerate(name) if not (c.isalnum() or c in "-_.")), None)
            yield name[:end].strip().lower()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _model(name: str) -> str:
    if name == "none":
        return name
    from kb_search.embed import describe

    try:
        return describe(name).key
    except KbError as error:
        return f"not installed ({error})"


def _trained(settings: Settings) -> Iterator[str]:
    told = settings.options.get(Media.IMAGE, {}).get("tessdata")
    folders = [Path(str(folder)) for folder in told] if isinstance(told, list) else []
    return (each.version for each in find_trained(folders, environment()) if each.is_language)
