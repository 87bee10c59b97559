"""``kebab export`` and ``import``: what they pass on, and what they say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kb_cli.testing import knowledge_base, run
from kb_core import wire
from kb_core.testing import closed_schema

MANIFEST = wire.archive_manifest(
    {
        "store_id": "5" * 32,
        "schema": 2,
        "corpus_revision": 3,
        "stats": {"doc_count": 2, "chunk_count": 4, "embedded": {}, "source_breakdown": {}},
    },
    [{"name": "data/kebab.duckdb", "bytes": 4096, "sha256": "0" * 64}],
    "2026-01-02T03:04:05Z",
)


def exported(path: str | None, missing: tuple[str, ...] = ()) -> Any:  # noqa: ANN401 - JSON
    return wire.export_report(MANIFEST, path=path, parts={"store": 4096}, missing=missing)


def imported(**fields: Any) -> Any:  # noqa: ANN401 - JSON
    given = {"settings": "kept", "golden_questions": "absent", "index": "rebuilt", **fields}
    return wire.import_report(MANIFEST, "/data", given, dry_run=False)


def test_export_says_what_is_in_the_file_and_what_is_not() -> None:
    kb = knowledge_base({"export_archive": exported("/kb.kebab", ("notes/a.md",))})

    result = run("export", "kb.kebab", "--sources", kb=kb)

    assert result.stdout == (
        "written    /kb.kebab\n"
        "documents  2\n"
        "chunks     4\n"
        "holds      1 file, 4.1 kB: store 4.1 kB\n"
        "1 original file could not be read, and are not in it: notes/a.md\n"
    )


def test_on_standard_output_is_the_archive_alone() -> None:
    kb = knowledge_base({"export_archive": exported(None)})

    said, as_json = run("export", "-", kb=kb), run("export", "-", "--json", kb=kb)

    assert (said.stdout, as_json.stdout) == ("", "")
    assert said.stderr.startswith("written    to standard output\n")
    Draft202012Validator(closed_schema("export_report")).validate(json.loads(as_json.stderr))


def test_import_says_what_became_of_each_part() -> None:
    away = {"id": "notes", "root": "/home/else/notes", "configured": False, "present": False}
    kept = {"sources": [away], "kept_aside": "/data.replaced-1", "source_files_left": 3}
    kb = knowledge_base({"import_archive": imported(**kept)})

    result = run("import", "kb.kebab", "--replace", kb=kb)

    assert result.stdout == (
        f"archive           1 file, 4.1 kB, by kebab {MANIFEST['kebab_version']}, "
        "2026-01-02T03:04:05Z\n"
        "documents         2\n"
        "chunks            4\n"
        "imported into     /data\n"
        "index             rebuilt\n"
        "settings          as they were: those of the archive are left in it\n"
        "golden questions  none in the archive\n"
        "set aside         /data.replaced-1\n"
        "3 original files stay in the archive: --sources-to writes them\n"
        "source notes: /home/else/notes is not here; its documents stay as they are\n"
        "source notes is not configured here: kebab add FOLDER --id notes\n"
    )


def test_import_says_how_what_it_wrote_is_configured_here(tmp_path: Path) -> None:
    (file := tmp_path / "c.toml").touch()
    new = {"id": "notes", "root": "/new one/notes", "configured": False, "present": True}
    kb = knowledge_base({"import_archive": imported(sources=[new], source_files=3)})

    result = run("--config", str(file), "import", "a.kebab", "--sources-to", "/new one", kb=kb)

    command = f"kebab --config {file} add '/new one/notes' --id notes"
    assert result.stdout.endswith(f"source notes is not configured here: {command}\n")


@pytest.mark.parametrize(("root", "is_said"), [("/old/notes", True), ("/new/notes", False)])
def test_files_that_no_run_reads_are_said_to_be_so(root: str, is_said: bool) -> None:
    """The configuration that was here stays, and with it the folders of its sources."""
    here = {"id": "notes", "root": root, "configured": True, "present": True}
    kb = knowledge_base({"import_archive": imported(sources=[here], source_files=3)})

    result = run("import", "kb.kebab", "--replace", "--sources-to", "/new", kb=kb)

    said = "the configuration here reads none of /new: kebab add FOLDER\n"
    assert result.stdout.endswith(said) is is_said


def test_json_is_of_the_published_shape() -> None:
    kb = knowledge_base({"import_archive": imported()})

    result = run("import", "kb.kebab", "--json", kb=kb)

    Draft202012Validator(closed_schema("import_report")).validate(json.loads(result.stdout))


def test_import_is_refused_read_only_but_for_a_dry_run() -> None:
    kb = knowledge_base({"import_archive": imported()})

    assert run("import", "kb.kebab", "--readonly", kb=kb).exit_code == 1
    assert run("import", "kb.kebab", "--readonly", "--dry-run", kb=kb).exit_code == 0


def test_read_only_an_archive_is_written_and_a_safety_copy_is_not() -> None:
    """A file that a person names is none of what is kept."""
    kb = knowledge_base({"export_archive": exported("/kb.kebab")})

    assert run("--readonly", "export", "kb.kebab", kb=kb).exit_code == 0
    assert run("--readonly", "export", "--safety", kb=kb).exit_code == 1


@pytest.mark.parametrize("command", ["export", "import"])
def test_a_file_has_to_be_named(command: str) -> None:
    assert run(command).exit_code == 2


def repairing(dry_run: bool) -> Any:  # noqa: ANN401 - JSON
    became = {"copy": "/data/kebab.duckdb.damaged-1", "saved": 3, "unreadable": ["a table"]}
    lists = {"restored": ["a.md"], "again": [], "gone": [f"{n}.md" for n in range(21)]}
    return wire.repair_report(
        "/data/kebab.duckdb", ["a block"], dry_run=dry_run, **({} if dry_run else became | lists)
    )


def test_repair_says_what_is_wrong_and_asks_and_then_what_became_of_it() -> None:
    kb = knowledge_base({"repair": repairing})

    result = run("doctor", "--repair", kb=kb, answer="y\n")

    assert kb.asked == [("repair", True), ("repair", False)]
    assert result.stderr.startswith("a block\na copy of /data/kebab.duckdb is kept, ")
    assert result.stdout.endswith(
        "a table\n"
        "kept as it was: /data/kebab.duckdb.damaged-1\n"
        "read from it: 3 documents\n"
        "restored from the index: 1 document\n"
        "  a.md\n"
        "to be read again, by 'kebab ingest': 0 documents\n"
        "gone: 21 documents\n"
        + "".join(f"  {n}.md\n" for n in range(20))
        + "  and 1 more: --json names all\n"
    )


@pytest.mark.parametrize("answer", ["n\n", "\n"])
def test_anything_but_yes_repairs_nothing(answer: str) -> None:
    kb = knowledge_base({"repair": repairing})

    result = run("doctor", "--repair", kb=kb, answer=answer)

    assert kb.asked == [("repair", True)]
    assert "nothing was changed" in result.stderr
