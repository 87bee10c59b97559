"""Following the sources while a server runs: ``kebab mcp --watch``.

Hosts start a server each, and one process follows a knowledge base: the others wait until it
ends, and take its place then. What goes wrong is in the log; answers go on meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager

from kb_app import KnowledgeBase
from kb_core import logs
from kb_core.errors import InvalidInput, KbError, StoreBusy

__all__ = ["following"]

logger = logs.logger(__name__)

_AGAIN_SECS = 15.0
"""How often it is tried to take the place of another one that follows."""
_GRACE_SECS = 10.0
"""How long the end of the server waits for the batch at hand."""


@contextmanager
def following(kb: KnowledgeBase, *, is_wanted: bool) -> Generator[None]:
    """Follow the sources of *kb* on a thread meanwhile, if that is wanted.

    Raises ``InvalidInput`` where nothing may be written.
    """
    if not is_wanted:
        yield
        return
    if kb.readonly:
        raise InvalidInput(
            "--watch writes, and this server is read-only",
            hint="leave out --watch, and let 'kebab watch' follow the sources",
            details={"field": "--watch"},
        )
    stop = threading.Event()
    thread = threading.Thread(target=_follow, args=(kb, stop), name="kebab-watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(_GRACE_SECS)


def _follow(kb: KnowledgeBase, stop: threading.Event) -> None:
    while not stop.is_set():
        try:
            for happening in kb.watch(stop=stop):
                if isinstance(happening, str):
                    logger.warning("%s", happening)
        except StoreBusy:
            logger.debug("another process follows the sources")
        except KbError as error:
            logger.warning("following the sources: %s", error)
        except Exception:
            logger.exception("following the sources failed")
        stop.wait(_AGAIN_SECS)
