"""The log is written where the program logs anyway, and never in the way of an answer."""

from __future__ import annotations

import io
import logging
import threading

from kb_mcp._log import LogAside


class Stream(io.StringIO):
    """A stream whose reader may be away."""

    def __init__(self) -> None:
        super().__init__()
        self.reader = threading.Event()

    def write(self, text: str) -> int:
        self.reader.wait(120)
        return super().write(text)


def logger_to(stream: io.StringIO, level: int = logging.NOTSET) -> logging.Logger:
    root, handler = logging.RootLogger(logging.NOTSET), logging.StreamHandler(stream)
    handler.setLevel(level)
    root.addHandler(handler)
    return root


def test_what_is_logged_reaches_the_handlers_that_were_there() -> None:
    stream = io.StringIO()
    root = logger_to(stream, logging.INFO)
    log = LogAside(root)

    root.debug("no")
    root.info("index %d", 7)
    log.close()

    assert stream.getvalue() == "index 7\n"


def test_a_reader_that_is_away_stops_nothing_and_too_much_is_dropped() -> None:
    stream = Stream()
    root = logger_to(stream)
    log = LogAside(root)

    for number in range(5000):
        root.warning("record %d", number)
    stream.reader.set()
    log.close()

    assert 1000 <= stream.getvalue().count("\n") < 5000


def test_afterwards_the_handlers_are_what_they_were() -> None:
    root = logger_to(io.StringIO())
    before = list(root.handlers)

    log = LogAside(root)
    during = list(root.handlers)
    log.close()

    assert during != before
    assert root.handlers == before
