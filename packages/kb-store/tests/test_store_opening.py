"""Opening: migrations, foreign files, damaged files, two processes."""

from __future__ import annotations

import random
import struct
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from kb_core.errors import IoError, KbError, StoreBusy, StoreCorrupt, StoreNewer
from kb_core.quantization import quantize
from kb_core.records import Changes
from kb_core.testing.documents import document
from kb_store import Store
from kb_store._migrate import migrations

# Released migrations are never edited: stores that were made by them are out there.
# A new file is a new line here; a changed line is a mistake.
_RELEASED = {
    "m0001_initial.sql": "26c2f8fabff1080bbaf02b2af03ed9d4",
    "m0002_enclosures.sql": "15d925bffd0ad805d7bd77881d659c1f",
    "m0003_sums.sql": "a2bee8a422bcc378af6aa0a3c17960fc",
    "m0004_quantised.sql": "3672f32b22dfc773e7fb014768e46d01",
}


def sql(path: Path, statement: str) -> None:
    with duckdb.connect(path) as connection:
        connection.execute(statement)


def test_a_released_migration_is_never_edited() -> None:
    assert {migration.name: migration.hash for migration in migrations()} == _RELEASED


def test_migrations_are_numbered_without_a_gap() -> None:
    numbers = [migration.number for migration in migrations()]

    assert numbers == list(range(1, len(numbers) + 1))


def test_a_new_store_has_an_identity_that_it_keeps(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "kebab.duckdb"
    with Store.open(path) as store:
        first = store.store_id
        assert (store.sequence, store.corpus_revision, store.vector_revision) == (0, 0, 0)

    with Store.open(path) as store:
        assert store.store_id == first
    with Store.open(tmp_path / "other.duckdb") as other:
        assert other.store_id != first


def test_a_store_of_the_first_migration_keeps_all_that_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "kebab.duckdb"
    made = tuple(document(f"{name}.md", f"The {name}.") for name in ("walrus", "auk"))
    with Store.open(path) as store:
        store.commit(Changes(documents=made))
        before = [store.document(doc.doc_id) for doc in made]
    sql(
        path,
        "ALTER TABLE documents DROP COLUMN container;"
        "ALTER TABLE documents DROP COLUMN has_lines;"
        "ALTER TABLE documents DROP COLUMN sum;"
        "DELETE FROM migrations WHERE number >= 2",
    )

    with Store.open(path) as store:
        assert [store.document(doc.doc_id) for doc in made] == before
        assert store.deep_check() == []
        assert (store.complete_sums(), store.complete_sums()) == (2, 0)
        assert store.deep_check() == []
        assert store.unaccounted_docs()
        store.commit(Changes(documents=made[:1], deleted_docs=(made[1].doc_id,)))
        assert store.stats()["doc_count"] == 1


def test_vectors_of_a_store_from_before_they_were_quantised_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "kebab.duckdb"
    chance = random.Random(5)
    given = {f"{n:032x}": [chance.uniform(-1, 1) for _ in range(32)] for n in range(2050)}
    halves = {digest: struct.pack("<32e", *vector) for digest, vector in given.items()}
    with Store.open(path) as store:
        store.commit(Changes(embeddings={"m": halves}, models={"m": {"dimensions": 32}}))
    sql(path, "DELETE FROM migrations WHERE number >= 4")

    Store.open(path).close()

    with duckdb.connect(path) as connection:
        found = connection.execute("SELECT passage_hash, vector FROM embeddings").fetchall()
    assert len(found) == len(given)
    for digest, vector in found:
        assert vector == quantize(struct.unpack("<32e", halves[digest]))


def test_a_store_of_a_newer_kebab_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "kebab.duckdb"
    Store.open(path).close()
    sql(path, "INSERT INTO migrations VALUES (999, 'm0999_later.sql', 'x', now())")

    with pytest.raises(StoreNewer, match="it has migration 'm0999_later") as caught:
        Store.open(path)

    assert caught.value.hint == "upgrade kebab"
    with duckdb.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM migrations").fetchall() == [
            (len(_RELEASED) + 1,)
        ]


def test_a_store_of_an_edited_migration_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "kebab.duckdb"
    Store.open(path).close()
    sql(path, "UPDATE migrations SET hash = 'other'")

    with pytest.raises(StoreCorrupt, match="another version of migration 'm0001_initial") as caught:
        Store.open(path)

    assert "'kebab doctor --repair' shows what it would do" in (caught.value.hint or "")


def test_a_store_that_lost_its_counters_gives_no_key_a_second_time(tmp_path: Path) -> None:
    path = tmp_path / "kebab.duckdb"
    with Store.open(path) as store:
        store.commit(Changes(documents=(document("a.md", "A walrus."),)))
    sql(path, "DELETE FROM meta")

    with Store.open(path) as store, pytest.raises(StoreCorrupt, match="counters") as caught:
        store.commit(Changes(documents=(document("b.md", "A seal."),)))

    assert "'kebab doctor --repair' shows what it would do" in (caught.value.hint or "")
    with pytest.raises(StoreCorrupt, match="counters"):
        Store.examine(path)


def test_a_migration_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    """A table of ours that is there already stands for any failure half-way."""
    path = tmp_path / "kebab.duckdb"
    sql(
        path,
        "CREATE TABLE migrations (number BIGINT, name VARCHAR, hash VARCHAR);"
        "CREATE TABLE settings (name VARCHAR)",
    )

    with pytest.raises(KbError, match="settings"):
        Store.open(path)

    with duckdb.connect(path) as connection:
        names = connection.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall()
    assert names == [("migrations",), ("settings",)]


def test_a_database_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "kebab.duckdb"
    sql(path, "CREATE TABLE holidays (day DATE)")

    with pytest.raises(StoreCorrupt, match="not a store of kebab"):
        Store.open(path)


@pytest.mark.parametrize("content", [b"hello, " * 5000, b"\0" * 20_000, b""])
def test_a_file_that_is_no_database_is_corrupt_and_the_hint_says_what_to_do(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "kebab.duckdb"
    path.write_bytes(content)

    with pytest.raises(StoreCorrupt) as caught:
        Store.open(path)

    assert "'kebab doctor --repair' shows what it would do" in (caught.value.hint or "")
    assert isinstance(caught.value.__cause__, duckdb.Error)
    assert path.read_bytes() == content


def test_a_damaged_file_is_corrupt(tmp_path: Path) -> None:
    path = tmp_path / "kebab.duckdb"
    with Store.open(path) as store:
        store.commit(Changes(documents=(document("a.md", "text " * 5000),)))
    whole = path.read_bytes()

    path.write_bytes(whole[:16_384])
    with pytest.raises(StoreCorrupt):
        Store.open(path)
    path.write_bytes(whole[:4096] + b"\xff" * 8192 + whole[12288:])
    with pytest.raises(StoreCorrupt):
        Store.open(path)


def test_what_was_left_by_a_process_that_died_making_the_store_is_swept_away(
    tmp_path: Path,
) -> None:
    """The file is made beside its place, so half a file is never in it."""
    path = tmp_path / "kebab.duckdb"
    (tmp_path / "kebab.duckdb.unfinished").write_bytes(b"half a")
    (tmp_path / "kebab.duckdb.unfinished.wal").touch()

    with Store.open(path) as store:
        assert store.sequence == 0

    assert [file.name for file in tmp_path.iterdir()] == ["kebab.duckdb"]


def test_a_place_that_cannot_be_written_is_an_error_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(IoError):
        Store.open(tmp_path / "file" / "kebab.duckdb")


def test_lesson_50_a_second_process_is_told_that_the_store_is_busy(tmp_path: Path) -> None:
    path = tmp_path / "kebab.duckdb"
    program = (
        "import pathlib, sys\n"
        "from kb_store import Store\n"
        "store = Store.open(pathlib.Path(sys.argv[1]))\n"
        "print('open', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"

        with pytest.raises(StoreBusy, match=f"process {process.pid} has the store open") as caught:
            Store.open(path)
        process.kill()

    assert caught.value.details == {"pid": process.pid}
    assert isinstance(caught.value.__cause__, duckdb.Error)
    Store.open(path).close()


def test_lesson_50_measuring_an_open_store_keeps_others_out(tmp_path: Path) -> None:
    """Closing any descriptor of the file would drop DuckDB's lock."""
    path = tmp_path / "kebab.duckdb"
    program = "import duckdb, sys; duckdb.connect(sys.argv[1])"
    with Store.open(path) as store:
        store.commit(Changes(documents=(document("a.md", "text"),)))
        store.sizes()
        store.checkpoint_if_large(0)
        store.compact(min_free_share=0.0)
        store.deep_check()

        other = subprocess.run(
            [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False
        )

    assert "Could not set lock" in other.stderr


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "kebab.duckdb")
    store.close()
    store.close()

    with pytest.raises(KbError, match="the store is closed"):
        store.stats()
