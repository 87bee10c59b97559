"""``kebab ingest`` and ``kebab embed``: events, reports, interruptions."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from kb_app.testing.facade import ScriptedKnowledgeBase, event, report
from kb_cli.testing import knowledge_base, run
from kb_core.ingest import IngestItem, IngestOptions, ItemKind
from kb_core.testing import closed_schema

NEW = IngestItem(
    kind=ItemKind.NEW, source_id="notes", doc_path="a.md", media="markdown", chunk_count=3
)
FAILED = IngestItem(
    kind=ItemKind.ERROR,
    source_id="notes",
    doc_path="b\x1b.md",
    error={"code": "internal", "message": "cannot\nparse"},
)
DONE = report(
    items=(NEW, FAILED),
    counts={"new": 1, "unchanged": 1240, "skipped": 3, "error": 1},
    scanned=1245,
    duration_ms=3210,
    skipped_by_reason={"too_large": 1, "unsupported": 2},
    skip_examples={"unsupported": ("x.bin", "y.bin"), "too_large": ("z.md",)},
    slowest=({"doc_path": "a.md", "duration_ms": 2400}, {"doc_path": "c.md", "duration_ms": 9}),
    phases_ms={"scan": 210, "index": 2900},
    embedded=3,
    embeddings_missing=12,
    warnings=("source 'old' is not there: nothing of it was deleted",),
)
RUN = [
    event("scan_started", source_id="notes", root="/notes"),
    event("scan_completed", source_id="notes", scanned=1245, candidates=2),
    event("asset_started", source_id="notes", doc_path="a.md", total=2),
    event("asset_phase", source_id="notes", doc_path="a.md", phase="parse"),
    event("asset_finished", source_id="notes", doc_path="a.md", item=NEW, done=1, total=2),
    event("committed", revision=8, documents=1, chunks=3),
    event("embed_batch_finished", done=3, total=15, eta_ms=900),
    event("completed", report=DONE),
]


def options_of(kb: ScriptedKnowledgeBase) -> IngestOptions:
    name, options = kb.asked[0]
    assert name == "ingest"
    assert isinstance(options, IngestOptions)
    return options


def test_the_report_says_what_was_done_what_was_not_and_what_next() -> None:
    result = run("ingest", kb=knowledge_base(events=[*RUN]))

    assert result.exit_code == 0
    assert result.stdout == (
        "1,245 files in 3.2 s: 1 new, 1,240 unchanged, 3 skipped, 1 failed\n"
        "skipped\n"
        "  FILES  REASON       SUCH AS\n"
        "      2  unsupported  x.bin, y.bin\n"
        "      1  too_large    z.md\n"
        "failed\n"
        "  b\\x1b.md: cannot parse\n"
        "slowest\n"
        "  TIME   PATH\n"
        "  2.4 s  a.md\n"
        "3 chunks, 3 embeddings, 12 still without an embedding\n"
        "time: scan 210 ms, index 2.9 s\n"
    )
    assert result.stderr == (
        "warning: source 'old' is not there: nothing of it was deleted\n"
        "next: kebab status --state failed\n"
    )


def test_what_is_counted_and_what_it_took_add_up() -> None:
    counts = {"new": 60, "skipped": 4, "deleted": 2}
    usual = {"counts": counts, "scanned": 63, "duration_ms": 3400}
    whole = report(**usual, phases_ms={"scan": 10, "parse": 2000})
    beside = report(**usual, phases_ms={"scan": 10, "parse": 4000})

    first, second = (
        run("ingest", kb=knowledge_base(events=[event("completed", report=each)])).stdout
        for each in (whole, beside)
    )

    assert first == (
        "63 files and 1 ignored folder in 3.4 s: 60 new, 4 skipped, 2 deleted\n"
        "time: scan 10 ms, parse 2.0 s, other 1.4 s\n"
    )
    assert second.endswith("time: scan 10 ms, parse 4.0 s, some of it at once\n")


def test_json_is_progress_lines_and_the_report_last() -> None:
    result = run("ingest", "--json", kb=knowledge_base(events=[*RUN]))

    *events, last = map(json.loads, result.stdout.splitlines())
    progress = Draft202012Validator(closed_schema("ingest_progress"))
    for line in events:
        progress.validate(line)
    Draft202012Validator(closed_schema("ingest_report")).validate(last)
    assert [line["kind"] for line in events] == [happened.kind for happened in RUN]
    assert events[-1]["counts"] == last_counts(last)
    assert result.stderr == ""


def last_counts(line: dict[str, int]) -> dict[str, int]:
    names = {"new": "new", "unchanged": "unchanged", "skipped": "skipped", "errors": "error"}
    return {kind: line[name] for name, kind in names.items()}


def test_failed_files_are_counted_and_the_run_is_a_success() -> None:
    assert run("ingest", "--json", kb=knowledge_base(events=[*RUN])).exit_code == 0


def test_every_flag_reaches_the_run(tmp_path: Path) -> None:
    kb = knowledge_base()

    result = run(
        "ingest",
        str(tmp_path / "x" / ".." / "a"),
        "~/b",
        *("--force-reingest", "--summary-only", "--dry-run", "--no-embed"),
        *("--retry-failed", "--allow-empty"),
        kb=kb,
        home=tmp_path,
    )

    assert result.exit_code == 0
    assert options_of(kb) == IngestOptions(
        paths=(str(tmp_path / "a"), str(tmp_path / "b")),
        force=True,
        dry_run=True,
        embed=False,
        retry_failed=True,
        allow_empty=True,
        summary_only=True,
    )
    assert result.stdout.startswith("dry run: ")
    assert "next:" not in result.output


def test_without_flags_everything_new_is_indexed_and_embedded() -> None:
    kb = knowledge_base()

    run("ingest", kb=kb)

    assert options_of(kb) == IngestOptions()


def test_the_configuration_can_switch_embedding_off() -> None:
    kb = knowledge_base()

    run("ingest", kb=kb, environ={"KEBAB_INGEST_EMBED": "no"})

    assert options_of(kb).embed is False


def test_a_first_interrupt_finishes_the_batch_and_reports() -> None:
    kb = knowledge_base(events=[RUN[0], lambda: signal.raise_signal(signal.SIGINT), RUN[1]])
    before = signal.getsignal(signal.SIGINT)

    result = run("ingest", kb=kb)

    assert result.exit_code == 0
    assert "finishing the batch" in result.stderr
    assert result.stdout.startswith("aborted: nothing to do in 12 ms")
    assert "next: the same command goes on where this one stopped" in result.stderr
    assert signal.getsignal(signal.SIGINT) is before
    assert not kb.is_open


def test_an_aborted_run_ends_its_json_with_one_terminal_event_and_the_report() -> None:
    kb = knowledge_base(events=[RUN[0], lambda: signal.raise_signal(signal.SIGINT), RUN[1]])

    lines = list(map(json.loads, run("ingest", "--json", kb=kb).stdout.splitlines()))

    assert [line.get("kind") for line in lines] == ["scan_started", "aborted", None]
    assert lines[-1]["aborted"] is True


def test_a_second_interrupt_ends_at_once() -> None:
    def twice() -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    kb = knowledge_base(events=[twice])

    result = run("ingest", kb=kb)

    assert (result.exit_code, result.stdout) == (130, "")
    assert not kb.is_open
    assert kb.ended_open


def test_lesson_38_plain_progress_names_what_is_done_how_far_it_is_and_what_is_left() -> None:
    kb = knowledge_base(events=[*RUN])

    plain = run("ingest", kb=kb, environ={"KEBAB_PROGRESS": "plain"})
    quiet = run("ingest", "--quiet", kb=kb, environ={"KEBAB_PROGRESS": "plain"})

    assert plain.stderr.splitlines()[:3] == [
        "scanning /notes",
        "indexing    0%  0/2 files",
        "embedding   20%  3/15 chunks",
    ]
    assert quiet.stderr == ""
    assert quiet.stdout == plain.stdout


@pytest.mark.parametrize(
    ("command", "phases", "said"),
    [
        ("embed", {"embed": 14}, 'kebab search "..."'),
        ("ingest", {"scan": 3, "embed": 14}, "kebab add PATH, if a folder is missing"),
    ],
)
def test_a_folder_is_missing_only_where_folders_were_looked_at(
    command: str, phases: dict[str, int], said: str
) -> None:
    nothing = report(counts={}, duration_ms=20, phases_ms=phases)

    result = run(command, kb=knowledge_base(events=[event("completed", report=nothing)]))

    assert result.stderr.endswith(f"next: {said}\n")


def test_embed_follows_its_events_the_same_way() -> None:
    embedded = report(embedded=15, counts={}, duration_ms=800)
    kb = knowledge_base(events=[RUN[6], event("completed", report=embedded)])

    text, lines = run("embed", kb=kb), run("embed", "--json", kb=kb).stdout.splitlines()

    assert kb.asked == [("embed",)] * 2
    assert text.stdout == "15 embeddings in 800 ms\n"
    assert text.stderr == 'next: kebab search "..."\n'
    assert [json.loads(line)["schema_version"] for line in lines] == [
        "ingest_progress.v1",
        "ingest_progress.v1",
        "ingest_report.v1",
    ]
