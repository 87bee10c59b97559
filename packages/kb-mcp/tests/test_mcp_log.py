"""The log is written where a host may look, and never in the way of an answer."""

from __future__ import annotations

import io
import logging
import threading

from kb_mcp._log import start_log


class Stream(io.StringIO):
    """A stream whose reader may be away, and that tells when it was written to."""

    def __init__(self) -> None:
        super().__init__()
        self.reader = threading.Event()
        self.written = threading.Event()

    def write(self, text: str) -> int:
        self.reader.wait(10)
        count = super().write(text)
        self.written.set()
        return count


def test_warnings_are_written() -> None:
    stream, root = Stream(), logging.RootLogger(logging.NOTSET)
    stream.reader.set()
    start_log(root, stream)

    root.info("no")
    root.warning("index %d", 7)

    assert stream.written.wait(10)
    assert stream.getvalue().startswith("WARNING root: index 7")


def test_a_reader_that_is_away_stops_nothing() -> None:
    stream, root = Stream(), logging.RootLogger(logging.NOTSET)
    start_log(root, stream)

    for number in range(5000):
        root.warning("record %d", number)

    assert not stream.written.is_set()
    stream.reader.set()
    assert stream.written.wait(10)


def test_a_log_that_is_there_is_kept() -> None:
    root, handler = logging.RootLogger(logging.NOTSET), logging.NullHandler()
    root.addHandler(handler)

    start_log(root, Stream())

    assert root.handlers == [handler]
