"""Progress as a state machine: what is told of a run after which events."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from kb_app._ingest.pace import Pace
from kb_app.shown.progress import Progress, Running, Speed, advance
from kb_core.clock import from_epoch
from kb_core.ingest import IngestEvent, IngestItem, ItemKind

KINDS = (
    "scan_started",
    "scan_completed",
    "asset_started",
    "asset_phase",
    "asset_finished",
    "embed_batch_finished",
    "committed",
    "completed",
    "unheard_of",
)
NEW = IngestItem(kind=ItemKind.NEW, source_id="notes", doc_path="a.md")


def event(kind: str, **data: object) -> IngestEvent:
    return IngestEvent(kind=kind, at=from_epoch(0), data=data)


def after(*events: tuple[float, IngestEvent]) -> Progress:
    progress = Progress(began=0.0)
    for now, happened in events:
        progress = advance(progress, happened, now)
    return progress


def test_the_stages_follow_each_other_and_what_scans_find_adds_up() -> None:
    progress, stages = Progress(began=0.0), []
    for happened in (
        event("scan_started", root="/notes"),
        event("scan_completed", candidates=3),
        event("scan_started", source_id="code"),
        event("scan_completed", candidates=4),
        event("asset_finished", item=NEW, done=1),
        event("embed_batch_finished", done=10, total=20),
    ):
        progress = advance(progress, happened, 0.0)
        stages.append((progress.stage, progress.root, progress.done, progress.total))

    assert stages == [
        ("scanning", "/notes", 0, 0),
        ("scanned", "", 0, 3),
        ("scanning", "code", 0, 3),
        ("scanned", "", 0, 7),
        ("indexing", "", 1, 7),
        ("embedding", "", 10, 20),
    ]


def test_a_later_phase_is_a_stage_of_its_own_and_counts_no_file_twice() -> None:
    progress = after(
        (0.0, event("asset_finished", item=NEW, done=1, total=1)),
        (1.0, event("asset_started", doc_path="a.md", total=4)),
        (1.0, event("asset_finished", doc_path="a.md", item=NEW, phase="ocr", done=1, total=4)),
    )

    assert (progress.stage, progress.share, progress.noun) == ("completing", 0.25, "file")
    assert (dict(progress.counts), dict(progress.running)) == ({"new": 1}, {})


def test_indexing_is_timed_from_the_end_of_the_scan() -> None:
    """What the first file cost is part of the speed, whoever looks."""
    progress = after(
        (1.0, event("scan_completed", candidates=10)),
        (3.0, event("asset_finished", item=NEW, done=1, total=10)),
        (4.0, event("asset_finished", item=NEW, done=5, total=10)),
    )

    assert progress.speed(6.0) == Speed(rate=1.0, left_s=5.0)
    assert progress.share == 0.5


def test_what_was_done_before_it_was_watched_is_no_part_of_the_speed() -> None:
    watched = [
        (at, event(kind, done=done, total=200))
        for kind in ("asset_finished", "embed_batch_finished")
        for at, done in ((10.0, 100), (12.0, 120))
    ]

    for events in (watched[:2], watched[2:], watched):
        assert after(*events).speed(12.0) == Speed(rate=10.0, left_s=8.0)


def test_a_run_that_says_what_is_left_is_believed_and_too_early_nothing_is_said() -> None:
    first = (0.0, event("embed_batch_finished", done=100, total=1000))
    told = (10.0, event("embed_batch_finished", done=400, total=1000, eta_ms=61_000))

    assert after(first, told).speed(10.0) == Speed(rate=30.0, left_s=61.0)
    assert after(first).speed(10.0) is None
    assert after(first, (0.5, told[1])).speed(0.5) is None


def test_the_file_that_is_named_is_the_one_that_takes_longest() -> None:
    events = [
        (1.0, event("asset_started", doc_path="big.pdf")),
        (2.0, event("asset_started", doc_path="b.md")),
        (3.0, event("asset_phase", doc_path="big.pdf", phase="ocr")),
        (4.0, event("asset_finished", doc_path="b.md", item=NEW, done=1, total=2)),
    ]
    both = after(*events)

    assert both.slowest == Running("big.pdf", "ocr", 1.0)
    done = advance(both, event("asset_finished", doc_path="big.pdf", done=2, total=2), 5.0)
    assert done.slowest is None
    assert done.counts == {"new": 1, "done": 1}
    embedding = event("embed_batch_finished", done=1, total=2)
    assert advance(both, embedding, 5.0).slowest is None


def test_what_is_committed_adds_up() -> None:
    batch = (0.0, event("committed", documents=2, chunks=7))

    progress = after(batch, batch)

    assert (progress.documents, progress.chunks) == (4, 14)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(KINDS),
            st.sampled_from(["a", "b"]),
            st.integers(0, 50),
            st.integers(0, 50),
        )
    )
)
def test_no_order_of_events_breaks_the_progress(
    happened: list[tuple[str, str, int, int]],
) -> None:
    progress = Progress(began=0.0)
    for now, (kind, path, done, total) in enumerate(happened):
        before = progress
        told = event(kind, doc_path=path, root=path, done=done, total=total, candidates=total)
        progress = advance(before, told, float(now))
        speed = progress.speed(now + 1.0)

        assert progress.share is None or 0 <= progress.share <= 1
        assert speed is None or (speed.rate > 0 and speed.left_s >= 0)
        assert bool(progress.root) == (progress.stage == "scanning")
        assert kind in KINDS[:7] or progress is before


@pytest.mark.parametrize(
    ("phase", "reached", "whole", "expected"),
    [
        ("ocr", 0, 12, "page 1/12"),
        ("ocr", 11, 12, "page 12/12"),
        ("ocr", 0, 1, ""),
        ("transcribe", 65.5, 3_600, "1:05/60:00"),
        ("parse", 0, 0, ""),
    ],
)
def test_what_takes_long_says_how_far_it_is(
    phase: str, reached: float, whole: float, expected: str
) -> None:
    far = {"reached": reached, "whole": whole} if whole else {}
    progress = after((0.0, event("asset_phase", doc_path="a", phase=phase, **far)))

    assert progress.slowest is not None
    assert progress.slowest.how_far == expected


def test_a_file_under_way_corrects_what_is_left() -> None:
    finished = event("asset_finished", doc_path="b", item=NEW, phase="ocr", done=1, total=4)
    page = event("asset_phase", doc_path="a", phase="ocr", reached=5, whole=9, eta_ms=61_000)

    assert after((0.0, finished), (10.0, page)).speed(10.0) == Speed(rate=0.0, left_s=61.0)


def test_one_file_that_takes_long_is_a_stage_of_its_own_from_its_first_page_on() -> None:
    page = event("asset_phase", doc_path="a", phase="ocr", reached=0, whole=9, total=1)
    progress = after((0.0, event("asset_finished", item=NEW, done=5, total=5)), (1.0, page))

    assert (progress.stage, progress.done, progress.total) == ("completing", 0, 1)


def test_the_pace_of_a_later_phase_counts_bytes_and_what_is_under_way() -> None:
    now = [0.0]
    pace = Pace({"large": 800, "small": 200}, clock=lambda: now[0])
    pace.reached("large", 1, 4)
    assert pace.expected() == {}, "too early"

    now[0] = 10.0
    assert pace.expected() == {"eta_ms": 40_000}
    pace.finished("large")
    assert pace.expected() == {"eta_ms": 2_500}
    pace.reached("unknown", 1, 2)
    pace.finished("small")
    assert pace.expected() == {"eta_ms": 0}
