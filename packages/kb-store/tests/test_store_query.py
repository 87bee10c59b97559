"""SQL over the store: reading, and nothing else."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

import pytest

from kb_core.errors import InvalidInput, NotIndexed, StoreBusy, Timeout
from kb_core.records import Changes
from kb_core.testing.documents import document, file_row
from kb_core.testing.fakes import fixed_clock
from kb_store import Store, query
from kb_store._errors import translate_errors
from kb_store.asked import answer, connected, told

INSTANT = "2026-01-02T03:04:05Z"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("it's here") / "kebab.duckdb"
    link = {"kind": "wiki", "target": "b"}
    with Store.open(path, fixed_clock()) as store:
        docs = [document(f"{n}.md", f"text\0 {n}", tags=("t",), links=(link,)) for n in range(5)]
        rows = {"notes": {"root": "/notes", "trust_level": "primary"}}
        files = tuple(file_row(doc.path, doc_id=doc.doc_id) for doc in docs)
        store.commit(Changes(documents=tuple(docs), files=files, sources=rows))
        store.start_run("r1", "ingest", {})
        store.finish_run("r1", "completed", {"counts": {"new": 5}})
    return path


def rows(path: Path, sql: str, limit: int = 100, seconds: float = 30) -> list[list[object]]:
    """Return what *sql* finds, asked in this process."""
    told = answer(path, sql, limit, seconds, 256)
    found: list[list[object]] = told["rows"]
    return found


def test_a_process_of_its_own_tells_rows_under_their_columns(path: Path) -> None:
    found = query(path, "SELECT path, indexed_at, tags FROM documents ORDER BY path", limit=2)

    assert found.columns == ("path", "indexed_at", "tags")
    assert found.rows == (("0.md", INSTANT, ["t"]), ("1.md", INSTANT, ["t"]))
    assert found.truncated


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT count(*) FROM kebab.documents", [[5]]),
        ("SELECT text FROM texts ORDER BY path LIMIT 1", [["text\0 0"]]),
        ("SELECT path, ordinal, text FROM passages WHERE path = '3.md'", [["3.md", 0, "text\0 3"]]),
        ("SELECT DISTINCT source, line_start FROM chunks", [["notes", 1]]),
        ("SELECT DISTINCT state, source FROM files", [["indexed", "notes"]]),
        ("SELECT source, root, trust_level FROM sources", [["notes", "/notes", "primary"]]),
        ("SELECT DISTINCT tag FROM tags", [["t"]]),
        ("SELECT DISTINCT kind, target FROM links", [["wiki", "b"]]),
        ("SELECT kind, state, counts ->> 'new' FROM runs", [["ingest", "completed", "5"]]),
        ("SELECT count(*) FROM moves", [[0]]),
        ("SELECT count(*) FROM models", [[0]]),
    ],
)
def test_every_view_answers(path: Path, sql: str, expected: list[list[object]]) -> None:
    assert rows(path, sql) == expected


def test_what_json_has_no_form_for_is_told_as_text(path: Path) -> None:
    sql = """
        SELECT DATE '2026-01-02', TIME '03:04:05', 1.5::DECIMAL(4, 1), 'nan'::DOUBLE,
               '\\xAA'::BLOB, INTERVAL 1 DAY, {'a': [1, NULL]}, MAP {1: 'x'}, true,
               170141183460469231731687303715884105727, [TIMESTAMPTZ '2026-01-02 03:04:05+00']
    """
    huge = 170141183460469231731687303715884105727

    assert rows(path, sql) == [
        [
            *("2026-01-02", "03:04:05", 1.5, "nan", "aa", "1 day, 0:00:00"),
            *({"a": [1, None]}, {"1": "x"}, True, huge, "['2026-01-02 03:04:05+00']"),
        ]
    ]


def test_columns_of_one_name_stay_apart_and_no_rows_have_columns(path: Path) -> None:
    assert answer(path, "SELECT 1 AS n, 2 AS n", 1, 9, 256)["rows"] == [[1, 2]]
    assert answer(path, "SELECT path FROM documents WHERE false", 1, 9, 256) == {
        "columns": ["path"],
        "rows": [],
        "truncated": False,
    }


REFUSED = [
    "UPDATE meta SET sequence = 9",
    "DELETE FROM store.main.documents",
    "DROP TABLE store.main.documents",
    "DROP VIEW kebab.documents",
    "CREATE TABLE x AS SELECT 1",
    "CREATE TEMP TABLE x AS SELECT 1",
    "CREATE MACRO f() AS 1",
    "WITH x AS (SELECT 1) INSERT INTO store.main.settings SELECT 'a', '1'",
    "SELECT 1; SELECT 2",
    "SELECT 1; DROP TABLE store.main.documents",
    "/* SELECT */ COPY documents TO '/tmp/documents.csv'",
    "COPY (SELECT 1) TO PROGRAM 'id'",
    "EXPORT DATABASE '/tmp/x'",
    "IMPORT DATABASE '/tmp/x'",
    "ATTACH '/tmp/other.duckdb' AS other",
    "DETACH store",
    "USE store",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET memory_limit = '64GB'",
    "RESET lock_configuration",
    "PRAGMA database_size",
    "CALL pragma_version()",
    "CHECKPOINT store",
    "VACUUM",
    "BEGIN TRANSACTION",
    "PREPARE p AS SELECT 1",
    "EXECUTE p",
    "EXPLAIN SELECT 1",
    "SELECT * FROM read_text('/etc/hostname')",
    "SELECT * FROM read_csv('/etc/hostname')",
    "SELECT * FROM read_blob('/proc/self/environ')",
    "SELECT * FROM '/etc/hostname'",
    "SELECT * FROM 'https://example.org/x.csv'",
    "SELECT * FROM glob('/*')",
    "SELECT * FROM sniff_csv('/etc/hostname')",
    "SELECT * FROM parquet_scan('/tmp/x')",
    "SELECT * FROM query('DROP VIEW kebab.documents')",
    "SELECT * FROM query_table('/etc/hostname')",
    "SELECT * FROM duckdb_secrets()",
    "SELECT getenv('HOME')",
    "SELECT * FROM connection",
    "SELECT * FROM rows",
    "SELECT * FROM arrow_scan(1, 1, 1)",
    "SELEC 1",
    "SELECT missing FROM documents",
    "SELECT CAST('x' AS INTEGER)",
    "",
    "-- nothing",
    "SELECT '\ud800'",
]


def test_what_is_no_question_is_refused_and_changes_nothing(path: Path) -> None:
    before = path.read_bytes()
    with closing(connected(path, 256)) as connection:
        for statement in REFUSED:
            with pytest.raises(InvalidInput), translate_errors("ask"):
                told(connection, statement, 10, 30)
        assert told(connection, "SELECT count(*) FROM documents", 1, 30)["rows"] == [[5]]

    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["kebab.duckdb"]


def test_time_memory_and_rows_are_bounded(path: Path) -> None:
    with pytest.raises(Timeout, match=r"not done in 0\.3 seconds"):
        rows(path, "SELECT count(*) FROM range(100000000000) a, range(1000) b", seconds=0.3)
    with pytest.raises(InvalidInput, match="Out of Memory"):
        answer(path, "SELECT list(i) FROM range(500000000) r(i)", 9, 30, 64)
    wide = answer(path, "SELECT repeat('x', 1000000) FROM range(100)", 100, 30, 256)
    assert (len(wide["rows"]), wide["truncated"]) == (33, True)
    assert answer(path, "FROM range(1000000000)", 3, 30, 256)["truncated"]


def test_nothing_is_drawn_into_the_answer_of_a_statement_that_takes_long(path: Path) -> None:
    """After two seconds DuckDB draws how far it is, on the standard output of the process."""
    assert rows(path, "SELECT current_setting('enable_progress_bar')") == [[False]]


def test_a_statement_that_ends_its_process_is_an_error_and_no_more(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = [sys.executable, "-c", "import os; os.abort()"]
    monkeypatch.setattr(sys.modules["kb_store.query"], "_PROGRAM", killed)

    with pytest.raises(InvalidInput, match="ended the process"):
        query(path, "SELECT 1", limit=1)


def test_no_module_of_the_folder_one_is_in_is_run(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "duckdb.py").write_text("raise SystemExit('mine')", "utf-8")
    monkeypatch.chdir(tmp_path)

    assert query(path, "SELECT 1", limit=1).rows == ((1,),)


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(NotIndexed):
        query(tmp_path / "kebab.duckdb", "SELECT 1", limit=1)

    assert list(tmp_path.iterdir()) == []


def test_a_writer_at_work_keeps_questions_out(tmp_path: Path) -> None:
    with Store.open(tmp_path / "kebab.duckdb"), pytest.raises(StoreBusy):
        query(tmp_path / "kebab.duckdb", "SELECT 1", limit=1)
