"""SQL over the store: reading, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kb_core.errors import InvalidInput, NotIndexed, StoreBusy
from kb_core.records import Changes
from kb_core.testing.documents import NOW, document
from kb_core.testing.fakes import fixed_clock
from kb_store import Store, query


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "kebab.duckdb"
    with Store.open(path, fixed_clock()) as store:
        docs = tuple(document(f"{n}.md", "text\0", tags=("t",)) for n in range(5))
        store.commit(Changes(documents=docs))
    return path


def test_rows_come_under_their_columns(path: Path) -> None:
    found = query(path, "SELECT path, indexed_at, tags FROM documents ORDER BY path", limit=2)

    assert found.columns == ("path", "indexed_at", "tags")
    assert found.rows == (("0.md", NOW, ["t"]), ("1.md", NOW, ["t"]))
    assert found.truncated


def test_instants_inside_of_others_are_text(path: Path) -> None:
    found = query(path, "SELECT [indexed_at] FROM documents", limit=1)

    assert found.rows == (("['2026-01-02 03:04:05+00']",),)


def test_columns_of_one_name_stay_apart(path: Path) -> None:
    found = query(path, "SELECT 1 AS n, 2 AS n", limit=1)

    assert (found.columns, found.rows, found.truncated) == (("n", "n"), ((1, 2),), False)


def test_no_rows_have_columns_all_the_same(path: Path) -> None:
    found = query(path, "SELECT path FROM documents WHERE false", limit=10)

    assert (found.columns, found.rows, found.truncated) == (("path",), (), False)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE meta SET sequence = 9",
        "DROP TABLE documents",
        "SELECT * FROM read_text('/etc/hostname')",
        "COPY documents TO '/tmp/documents.csv'",
        "ATTACH '/tmp/other.duckdb' AS other",
        "INSTALL httpfs",
        "SET memory_limit = '64GB'",
        "SELEC 1",
        "SELECT missing FROM documents",
        "SELECT CAST('x' AS INTEGER)",
        "",
        "SELECT '\ud800'",
    ],
)
def test_what_is_not_a_good_question_is_refused(path: Path, statement: str) -> None:
    with pytest.raises(InvalidInput):
        query(path, statement, limit=10)


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(NotIndexed):
        query(tmp_path / "kebab.duckdb", "SELECT 1", limit=1)

    assert list(tmp_path.iterdir()) == []


def test_a_writer_at_work_keeps_questions_out(path: Path) -> None:
    program = (
        "import pathlib, sys\n"
        "from kb_core.errors import StoreBusy\n"
        "from kb_store import query\n"
        "try:\n"
        "    query(pathlib.Path(sys.argv[1]), 'SELECT 1', limit=1)\n"
        "except StoreBusy:\n"
        "    print('busy')\n"
    )
    with Store.open(path):
        other = subprocess.run(
            [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True
        )

    assert other.stdout == "busy\n"
    assert StoreBusy.code == "store_busy"
