"""``kebab watch``: what it prints, what it refuses, and how it ends."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial

from jsonschema import Draft202012Validator

from kb_app.testing.facade import event, report
from kb_cli.testing import knowledge_base, run
from kb_core.errors import StoreBusy
from kb_core.ingest import IngestEvent, IngestItem, ItemKind
from kb_core.testing import closed_schema


def item(kind: ItemKind, path: str, message: str = "") -> IngestItem:
    error = {"code": "internal", "message": message} if message else None
    return IngestItem(kind=kind, source_id="notes", doc_path=path, error=error)


ITEMS = (
    item(ItemKind.UNCHANGED, "same.md"),
    item(ItemKind.NEW, "new\x1b.md"),
    item(ItemKind.ERROR, "bad.md", "cannot\nparse"),
)
DONE = report(
    items=ITEMS,
    counts={"new": 1, "error": 1, "unchanged": 1},
    scanned=3,
    duration_ms=2100,
    embedded=2,
)
RUN = [
    event("scan_started", source_id="notes", root="/notes"),
    event("completed", report=DONE),
]


def happen(*happenings: IngestEvent | str) -> Iterator[IngestEvent | str]:
    yield from happenings


def test_a_run_is_a_line_with_its_time_and_the_files_that_it_was_about() -> None:
    kb = knowledge_base(answers={"watch": happen(*RUN, "/notes is gone\x1b[2J")})
    result = run("watch", kb=kb)

    head, *rest = result.stdout.splitlines()
    assert head[16:] == "  1 new, 1 failed, 2 embeddings in 2.1 s"
    assert datetime.fromisoformat(head[:16]) > datetime(2026, 1, 1)  # noqa: DTZ001
    assert rest == ["  new new\\x1b.md", "  failed bad.md: cannot parse"]
    assert "/notes is gone\\x1b[2J\n" in result.stderr


def test_of_many_files_a_few_are_named() -> None:
    many = tuple(item(ItemKind.NEW, f"{n}.md") for n in range(9))
    done = replace(DONE, items=many, counts={"new": 9}, embedded=0)
    kb = knowledge_base(answers={"watch": happen(event("completed", report=done))})

    lines = run("watch", kb=kb).stdout.splitlines()
    assert (len(lines), lines[-1]) == (7, "  and 4 more")


def test_as_json_every_run_is_its_events_and_its_report() -> None:
    result = run("--json", "watch", kb=knowledge_base(answers={"watch": happen(*RUN, "gone")}))

    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [line["schema_version"] for line in lines] == [
        *("ingest_progress.v1", "ingest_progress.v1", "ingest_report.v1")
    ]
    for line in lines:
        name = line["schema_version"].removesuffix(".v1")
        Draft202012Validator(closed_schema(name)).validate(line)
    assert result.stderr == ""


def test_what_it_is_asked_for_is_handed_on() -> None:
    kb = knowledge_base(answers={"watch": happen()})
    run("watch", "--poll", "60", "--no-embed", kb=kb)

    assert kb.asked[-1] == ("watch", False, 60.0)


def test_it_writes_and_says_who_follows_already() -> None:
    assert run("--readonly", "watch").exit_code == 1
    busy = run("watch", kb=knowledge_base(error=StoreBusy("process 7 follows already")))
    assert busy.exit_code == 2
    assert "process 7 follows already" in busy.stderr


def test_sigterm_ends_it_like_ctrl_c() -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        kb = knowledge_base(events=[partial(os.kill, os.getpid(), number), *RUN])
        result = run("watch", kb=kb)

        assert result.exit_code == 0
        assert kb.stop.is_set()
        assert kb.ended_open


def test_an_ingest_may_go_on_and_follow_what_changes() -> None:
    kb = knowledge_base(answers={"ingest": happen(*RUN), "watch": happen(*RUN)})

    result = run("ingest", "--watch", kb=kb)

    assert [call[0] for call in kb.asked if call[0] != "sources"] == ["ingest", "watch"]
    assert "3 files in 2.1 s: 1 new" in result.stdout
    assert "  1 new, 1 failed, 2 embeddings in 2.1 s" in result.stdout
    for words in (["notes"], ["--dry-run"]):
        refused = run("ingest", "--watch", *words, kb=knowledge_base())
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert "--watch follows all sources" in refused.stderr
