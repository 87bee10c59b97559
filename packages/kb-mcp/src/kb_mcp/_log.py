"""The log of the server: warnings and worse, on standard error.

Written on a thread of its own, and dropped when it cannot be written: hosts keep the
other end of standard error, and one that does not read it must not stop the server.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from logging.handlers import QueueHandler, QueueListener
from queue import Full, Queue
from typing import TextIO

__all__ = ["start_log"]

_KEPT = 1000
"""Records that may wait to be written."""


class _DroppingHandler(QueueHandler):
    def enqueue(self, record: logging.LogRecord) -> None:
        with suppress(Full):
            self.queue.put_nowait(record)


def start_log(root: logging.Logger, stream: TextIO) -> None:
    """Write what *root* gets to *stream*, unless the program has a log already."""
    if root.handlers:
        return
    writer = logging.StreamHandler(stream)
    writer.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    queue: Queue[logging.LogRecord] = Queue(_KEPT)
    root.addHandler(_DroppingHandler(queue))
    root.setLevel(logging.WARNING)
    QueueListener(queue, writer).start()
