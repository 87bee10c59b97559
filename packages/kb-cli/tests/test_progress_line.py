"""The line that is drawn while long work goes on."""

from __future__ import annotations

from typing import Any

from kb_app.testing.facade import event
from kb_cli._follow import ProgressLine

ERASE = "\r\x1b[2K"


class Screen:
    """Collects what is written, and tells a time that the test sets."""

    def __init__(self, *, is_live: bool) -> None:
        self.written: list[str] = []
        self.now = 0.0
        self.line = ProgressLine(self.written.append, is_live=is_live, clock=lambda: self.now)

    def at(self, now: float, kind: str, **data: Any) -> str:  # noqa: ANN401 - of an event
        self.now = now
        self.line.show(event(kind, **data))
        return self.written[-1] if self.written else ""


def test_lesson_38_a_slow_file_is_named_with_its_phase_and_its_seconds() -> None:
    """One document took minutes, and ingest looked frozen."""
    screen = Screen(is_live=True)
    screen.at(0, "scan_completed", scanned=9800, candidates=9800)
    screen.at(1, "asset_finished", doc_path="a.md", done=1204, total=9800)
    screen.at(2, "asset_started", doc_path="big.pdf")
    screen.at(2.5, "asset_phase", doc_path="big.pdf", phase="ocr")
    screen.now = 45

    screen.line.refresh()

    assert screen.written[-1] == (
        ERASE + "indexing   12%  1,204/9,800 files  26.8/s  5 min 22 s left  ocr big.pdf 43 s"
    )


def test_a_scan_says_its_page_and_what_is_left() -> None:
    screen = Screen(is_live=True)
    screen.at(0, "asset_phase", doc_path="scan.pdf", phase="ocr", reached=0, whole=300, total=2)
    page = {"phase": "ocr", "reached": 11, "whole": 300, "total": 2, "eta_ms": 61_000}

    drawn = screen.at(40, "asset_phase", doc_path="scan.pdf", **page)

    assert (
        drawn
        == ERASE + "completing    0%  0/2 files  1 min 01 s left  ocr scan.pdf page 12/300 40 s"
    )


def test_a_short_line_shows_the_whole_path() -> None:
    screen = Screen(is_live=True)
    screen.at(0, "scan_completed", scanned=2, candidates=2)

    drawn = screen.at(0.5, "asset_phase", doc_path="notes/a.md", phase="parse")

    assert drawn == ERASE + "indexing  [............]    0%  0/2 files  parse notes/a.md"


def test_embedding_shows_rate_and_estimate() -> None:
    screen = Screen(is_live=True)
    screen.at(0, "embed_batch_finished", done=100, total=1000)

    drawn = screen.at(10, "embed_batch_finished", done=400, total=1000, eta_ms=61_000)

    assert drawn == (
        ERASE + "embedding  [#####.......]   40%  400/1,000 chunks  30.0/s  1 min 01 s left"
    )


def test_the_line_is_drawn_ten_times_a_second_at_most_and_taken_away() -> None:
    screen = Screen(is_live=True)
    screen.at(0, "scan_completed", scanned=1000, candidates=1000)

    for step in range(1000):
        screen.at(step / 1000, "asset_finished", doc_path="x", done=step, total=1000)
    screen.line.clear()

    assert len(screen.written) <= 12
    assert screen.written[-1] == ERASE


def test_plain_progress_is_lines_and_never_moves_the_cursor() -> None:
    screen = Screen(is_live=False)
    screen.at(0, "scan_started", root="/no\x1btes")
    screen.at(0, "scan_completed", scanned=1000, candidates=1000)

    for step in range(1000):
        screen.at(step / 50, "asset_finished", doc_path="x", done=step + 1, total=1000)

    assert screen.written[0] == "scanning /no\\x1btes\n"
    assert 4 <= len(screen.written) <= 7
    assert all(line.endswith("\n") and "\x1b" not in line for line in screen.written)


def test_events_that_are_not_known_are_let_pass() -> None:
    screen = Screen(is_live=True)

    assert screen.at(0, "something_else", x=1) == ""
