"""Queries that a person typed, kept from one session to the next in the data directory.

The newest come last in a private file, which is replaced in one step and bounded, and which
`kebab reset` deletes with the data. Keeping them is a comfort: what cannot be read counts as
none, and what cannot be written is left.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kb_app._data_dir import DataDir
from kb_app.paths import make_private_folder

if TYPE_CHECKING:
    from kb_app.config import Config

__all__ = ["keep", "recent"]

logger = logging.getLogger(__name__)

_LONGEST = 1000
"""A longer text is no query that somebody takes again."""


def recent(config: Config) -> tuple[str, ...]:
    """Return what is kept, the newest first."""
    data = DataDir(config.storage.data_dir)
    try:
        texts = json.loads(data.queries.read_bytes())
    except (OSError, ValueError):
        return ()
    kept = [text for text in texts if isinstance(text, str)] if isinstance(texts, list) else []
    return tuple(kept[::-1][: config.ui.query_history])


def keep(config: Config, queries: Sequence[str]) -> None:
    """Add *queries*, the newest last, and drop the oldest beyond what is wished for."""
    data, most = DataDir(config.storage.data_dir), config.ui.query_history
    if not data.root.is_dir():
        return  # nothing was indexed, and looking at it makes no folder
    try:
        if most < 1:
            data.queries.unlink(missing_ok=True)
            return
        added = [text for text in queries if len(text) <= _LONGEST]
        older = [text for text in reversed(recent(config)) if text not in added]
        make_private_folder(data.queries.parent)
        new = data.queries.with_name(f"{data.queries.name}.{os.getpid()}")
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            json.dump([*older, *added][-most:], stream)
        new.replace(data.queries)
    except OSError as error:
        logger.info("queries are not kept: %s", error)
