"""The log of the server: where the program logs anyway, and never in the way of an answer.

``kebab`` has chosen the handlers: a file a day in ``log.dir``, with ``--verbose`` standard
error as well. Here they move to a thread of their own behind a queue that drops what it
cannot hold: hosts keep the other end of standard error, disks get stuck, and neither must
stop the server.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from logging.handlers import QueueHandler
from queue import Full, Queue
from threading import Thread
from typing import TypeAlias

__all__ = ["LogAside"]

_KEPT = 1000
"""Records that may wait to be written."""

_PATIENCE_S = 1.0
"""How long the end of the server waits for the last ones."""

_Records: TypeAlias = "Queue[logging.LogRecord | None]"


class _DroppingHandler(QueueHandler):
    def enqueue(self, record: logging.LogRecord) -> None:
        with suppress(Full):
            self.queue.put_nowait(record)


class LogAside:
    """Has the handlers of *root* work on a thread of their own until it is closed."""

    def __init__(self, root: logging.Logger) -> None:
        self._root = root
        self._handlers = list(root.handlers)
        self._queue: _Records = Queue(_KEPT)
        # A daemon: a handler that is stuck cannot keep the process.
        self._thread = Thread(target=self._write, name="log", daemon=True)
        self._thread.start()
        root.handlers[:] = [_DroppingHandler(self._queue)]

    def close(self) -> None:
        """Put the handlers back, once they wrote what waits or took too long."""
        self._root.handlers[:] = self._handlers
        with suppress(Full):
            self._queue.put(None, timeout=_PATIENCE_S)
            self._thread.join(_PATIENCE_S)

    def _write(self) -> None:
        for record in iter(self._queue.get, None):
            for handler in self._handlers:
                if record.levelno >= handler.level:
                    handler.handle(record)
