"""``kebab ingest-file`` and ``kebab ingest-stdin``: what reaches the facade, what is printed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kb_app.testing.facade import ScriptedKnowledgeBase, event, report
from kb_cli.testing import knowledge_base, run
from kb_core.errors import DocNotFound
from kb_core.ingest import IngestItem, ItemKind

DOC_ID = "1c0ffee5000000000000000000000001"


def one(kind: ItemKind, **fields: object) -> ScriptedKnowledgeBase:
    """Return a facade that does one thing with one document."""
    item = IngestItem(kind=kind, source_id="_added", doc_path="/x/a\x1b.md", doc_id=DOC_ID)
    usual = {"items": (item,), "counts": {kind: 1}, "scanned": 1}
    return knowledge_base(events=[event("completed", report=report(**usual | fields))])


def test_a_file_is_added_by_its_absolute_path_and_its_document_is_named(tmp_path: Path) -> None:
    kb = one(ItemKind.NEW)

    result = run("ingest-file", "~/a.md", "--no-embed", kb=kb, home=tmp_path)

    assert (result.exit_code, kb.asked) == (0, [("ingest_file", f"{tmp_path}/a.md", False)])
    assert result.stdout == f"new: /x/a\\x1b.md ({DOC_ID})\n1 file in 12 ms: 1 new\n"
    assert result.stderr == 'next: kebab search "..."\n'


def test_what_was_not_added_is_explained() -> None:
    kb = one(ItemKind.SKIPPED, warnings=("a.pdf was not added: pdf is not indexed yet",))

    result = run("ingest-file", "/x/a.pdf", kb=kb)

    assert result.exit_code == 0
    assert result.stdout.startswith("skipped: /x/a")
    assert result.stderr == "warning: a.pdf was not added: pdf is not indexed yet\n"


def test_what_is_removed_is_named_as_it_was_given(tmp_path: Path) -> None:
    kb = one(ItemKind.DELETED, scanned=0)

    result = run("ingest-file", "--remove", "https://example.org/a", kb=kb, home=tmp_path)

    assert kb.asked == [("remove_added", "https://example.org/a")]
    assert result.stdout == f"deleted: /x/a\\x1b.md ({DOC_ID})\n"


def test_a_document_that_is_not_there_cannot_be_removed() -> None:
    kb = knowledge_base(error=DocNotFound("nothing was added as 'x'", hint="look"))

    result = run("ingest-file", "--remove", "x", kb=kb)

    assert result.exit_code == 2
    assert "nothing was added as 'x'" in result.stderr


def test_standard_input_reaches_the_facade_as_it_is() -> None:
    kb = one(ItemKind.NEW)

    result = run(
        *("ingest-stdin", "--title", "A", "--source-uri", "https://example.org/a"),
        *("--media", "text"),
        kb=kb,
        answer="\r\n  walrus é \n",
    )

    assert result.exit_code == 0
    assert kb.asked == [
        ("ingest_text", "\r\n  walrus é \n", "A", "https://example.org/a", "text", True)
    ]


def test_a_text_is_markdown_and_has_no_uri_unless_somebody_says_so() -> None:
    kb = one(ItemKind.NEW)

    run("ingest-stdin", "--title", "A", kb=kb, answer="x")

    assert kb.asked == [("ingest_text", "x", "A", None, "markdown", True)]


def test_somebody_at_a_terminal_is_told_how_to_end() -> None:
    result = run("ingest-stdin", "--title", "A", kb=one(ItemKind.NEW), answer="x")

    assert result.stderr.startswith("reading from the terminal; Ctrl-D")


def test_standard_input_is_read_no_further_than_may_be_indexed() -> None:
    kb = knowledge_base()
    environ = {"KEBAB_INGEST_MAX_FILE_MB": "1"}

    most = run("ingest-stdin", "--title", "A", kb=kb, environ=environ, answer="x" * 1_000_000)
    more = run("ingest-stdin", "--title", "A", kb=kb, environ=environ, answer="x" * 1_000_001)

    assert (most.exit_code, more.exit_code, len(kb.asked)) == (0, 2, 1)
    assert "standard input holds more than 1 MB" in more.stderr
    assert "max_file_mb" in more.stderr


def test_a_title_is_required() -> None:
    kb = knowledge_base()

    result = run("--json", "ingest-stdin", kb=kb, answer="x")

    assert (result.exit_code, kb.asked) == (2, [])
    assert json.loads(result.stderr)["code"] == "invalid_input"


@pytest.mark.parametrize("words", [("ingest-file", "/x/a.md"), ("ingest-stdin", "--title", "A")])
def test_41_nothing_is_added_in_read_only_mode(words: tuple[str, ...]) -> None:
    kb = knowledge_base()

    result = run("--readonly", *words, kb=kb, answer="x")

    assert (result.exit_code, kb.asked) == (1, [])
    assert words[0] in result.stderr


def test_json_is_progress_lines_and_the_report_last() -> None:
    lines = run("--json", "ingest-file", "/x/a.md", kb=one(ItemKind.NEW)).stdout.splitlines()

    assert [json.loads(line)["schema_version"] for line in lines] == [
        "ingest_progress.v1",
        "ingest_report.v1",
    ]
