"""``kebab sql`` from the outside: over a real store, beside a writer, and read-only."""

from __future__ import annotations

import json

from jsonschema import Draft202012Validator

from kb_app._wiring import open_session
from kb_cli.testing.installed import InstalledKebab
from kb_core.clock import utc_now
from kb_core.testing import closed_schema


def test_a_question_in_sql_waits_for_no_more_than_it_may(kebab: InstalledKebab) -> None:
    kebab.config.write_text(
        kebab.config.read_text("utf-8").replace("[embedding]", "lock_wait_secs = 0\n[embedding]"),
        "utf-8",
    )
    kebab.write("a.md", "---\ntags: [red]\n---\n# One\n\ntext\n")
    missing = json.loads(kebab.run("--json", "sql", "SELECT 1", code=2).stderr)
    kebab.ingest()

    told = kebab.json("--readonly", "sql", "SELECT path, tag FROM tags")
    views = kebab.json("sql")
    with open_session(kebab.data_dir, lock_wait_secs=0, clock=utc_now):
        busy = json.loads(kebab.run("--json", "sql", "SELECT 1", code=2).stderr)
    bad = json.loads(kebab.run("--json", "sql", "SELECT 1", "--limit", "0", code=2).stderr)

    Draft202012Validator(closed_schema("sql_result")).validate(told)
    assert (told["columns"], told["rows"]) == (["path", "tag"], [["a.md", "red"]])
    assert {"documents", "chunks", "files"} < {row[0] for row in views["rows"]}
    assert [said["code"] for said in (missing, busy, bad)] == [
        "not_indexed",
        "store_busy",
        "invalid_input",
    ]
