"""``kebab doctor --repair``: a damaged store is made whole, and what is lost is named."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest
from jsonschema import Draft202012Validator

from kb_app._wiring import open_session
from kb_app.config import load_config
from kb_app.testing.parts import open_here
from kb_cli.testing import KebabHere
from kb_cli.testing.installed import InstalledKebab
from kb_core.ports import IndexReader
from kb_core.search import SearchFilters
from kb_core.testing import closed_schema

BLOCK = 262_144
HEAD = 3 * 4096
NOTES = 30


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> InstalledKebab:
    """Return a knowledge base of notes and of a text that was handed in; no test changes it."""
    kebab = KebabHere(tmp_path_factory.mktemp("whole"))
    for number in range(NOTES):
        kebab.write(f"{number}.md", f"# Note {number}\n\nOtter{number} sleeps. " + "word " * 80)
    kebab.ingest()
    kebab.run("ingest-stdin", "--title", "Weasels", given="A weasel runs.\n")
    return kebab


@pytest.fixture
def kebab(example: InstalledKebab, tmp_path: Path) -> InstalledKebab:
    """Return a copy of it that a test may damage."""
    shutil.copytree(example.home, tmp_path, dirs_exist_ok=True)
    kebab = KebabHere(tmp_path)
    kebab.configure()
    return kebab


def answers(kebab: InstalledKebab) -> dict[str, Any]:
    with open_here(load_config(kebab.config)) as kb:
        docs = kb.list_docs(SearchFilters(), limit=100)["items"]
        texts = {doc["doc_path"]: kb.fetch_doc(doc["doc_id"])["text"] for doc in docs}
    return {"ids": {doc["doc_path"]: doc["doc_id"] for doc in docs}, "texts": texts}


def damage(kebab: InstalledKebab, block: int) -> bytes:
    """Turn a bit in a block of the store; return what it is like then."""
    store = kebab.data_dir / "kebab.duckdb"
    data = bytearray(store.read_bytes())
    data[HEAD + block * BLOCK + 99] ^= 1
    store.write_bytes(data)
    return bytes(data)


def blocks(kebab: InstalledKebab) -> range:
    return range(((kebab.data_dir / "kebab.duckdb").stat().st_size - HEAD) // BLOCK)


def assert_all_is_back(kebab: InstalledKebab, block: int) -> None:
    before, damaged = answers(kebab), damage(kebab, block)

    report = kebab.json("doctor", "--repair", "--yes")

    if report["problems"]:  # else the block was free
        Draft202012Validator(closed_schema("repair_report")).validate(report)
        assert Path(report["copy"]).read_bytes() == damaged
        assert (report["gone"], report["again"]) == ([], [])
        kebab.ingest()
    assert answers(kebab) == before
    assert kebab.json("doctor", "--deep")["ok"]
    assert kebab.json("doctor", "--repair")["problems"] == []


def test_damage_at_either_end_of_the_store_loses_nothing(kebab: InstalledKebab) -> None:
    assert_all_is_back(kebab, 0)
    assert_all_is_back(kebab, blocks(kebab)[-1])


@pytest.mark.parametrize("size", [0, 1_000_000])
def test_a_store_that_was_cut_off_is_told_at_a_first_look_and_nothing_is_lost(
    kebab: InstalledKebab, size: int
) -> None:
    before, store = answers(kebab), kebab.data_dir / "kebab.duckdb"
    os.truncate(store, size)

    checks = json.loads(kebab.run("--json", "doctor", code=3).stdout)["checks"]
    kebab.run("doctor", "--repair", "--yes")
    kebab.ingest()

    said = f"{store} is damaged: no store has {size:,} bytes"
    assert [row["detail"] for row in checks if not row["ok"]] == [said]
    assert answers(kebab) == before
    assert kebab.json("doctor", "--deep")["ok"]


@pytest.mark.slow
def test_whatever_block_is_damaged_nothing_is_lost(example: InstalledKebab, tmp_path: Path) -> None:
    """Slow since each block is a repair and a run; ``REPAIRED_BLOCKS`` says how many."""
    there = blocks(example)
    some = min(len(there), int(os.environ.get("REPAIRED_BLOCKS", "4")))
    seed = int(os.environ.get("KEBAB_TEST_SEED", "0")) or random.randrange(10**6)
    print("seed", seed)
    for block in random.Random(seed).sample(there, some):
        home = tmp_path / str(block)
        shutil.copytree(example.home, home)
        kebab = KebabHere(home)
        kebab.configure()
        assert_all_is_back(kebab, block)


def test_a_document_that_is_not_what_was_committed_is_restored(kebab: InstalledKebab) -> None:
    before = answers(kebab)
    with duckdb.connect(kebab.data_dir / "kebab.duckdb") as connection:
        connection.execute("UPDATE texts SET text = replace(text, 'Otter7 ', 'Stoat7 ')")

    report = kebab.json("doctor", "--repair", "--yes")

    assert (report["saved"], report["restored"]) == (NOTES, ["7.md"])
    assert answers(kebab) == before


@pytest.mark.parametrize(
    "harm", ["DELETE FROM meta", "UPDATE migrations SET hash = 'other' WHERE number = 1"]
)
def test_a_store_that_cannot_be_gone_on_with_is_made_anew_as_the_error_says(
    kebab: InstalledKebab, harm: str
) -> None:
    before = answers(kebab)
    with duckdb.connect(kebab.data_dir / "kebab.duckdb") as connection:
        connection.execute(harm)
    kebab.write("new.md", "A walrus.")

    failed = kebab.run("ingest", code=2).stderr
    assert f"hint: 'kebab --config {kebab.config} doctor --repair' shows" in failed
    assert kebab.json("doctor", "--repair", "--yes")["saved"] == NOTES + 1

    assert kebab.ingest()["new"] == 1
    (kebab.notes / "new.md").unlink()
    kebab.ingest()
    assert answers(kebab) == before
    assert kebab.json("doctor", "--deep")["ok"]


def test_what_the_index_lost_too_is_read_again_or_named(kebab: InstalledKebab) -> None:
    before = answers(kebab)
    (kebab.notes / "3.md").unlink()
    damage(kebab, blocks(kebab)[-1])

    with open_here(load_config(kebab.config)) as kb:
        kb._parts = replace(kb._parts, reader=partial(Forgetful, kb._parts.reader, before["ids"]))
        report = kb.repair(dry_run=False)
    kebab.ingest()

    assert (report["again"], report["gone"]) == (["weasels", "5.md"], ["3.md"])
    assert len(report["restored"]) == NOTES - 2
    assert answers(kebab)["texts"].keys() == before["texts"].keys() - {"3.md"}


class Forgetful:
    """A reader of an index that has lost three texts."""

    def __init__(self, reader: Callable[[], IndexReader], ids: dict[str, str]) -> None:
        self._reader = reader()
        self._lost = {ids[path] for path in ("3.md", "5.md", "weasels")}

    def snapshot(self) -> Any:  # noqa: ANN401 - a snapshot, but for its texts
        snapshot = self._reader.snapshot()
        text = snapshot.doc_text
        found = SimpleNamespace(
            **{name: getattr(snapshot, name) for name in dir(snapshot) if name[0] != "_"}
        )
        found.doc_text = lambda doc_id: None if doc_id in self._lost else text(doc_id)
        return found

    def close(self) -> None:
        self._reader.close()


def test_without_an_index_files_and_assets_are_read_again(kebab: InstalledKebab) -> None:
    before = answers(kebab)
    damage(kebab, blocks(kebab)[-1])
    kebab.run("reset", "--index-only", "--yes")

    report = kebab.json("doctor", "--repair", "--yes")
    kebab.ingest()

    assert "have no name" in report["unreadable"][-1]
    assert answers(kebab) == before
    kebab.run("reset", "--data-only", "--yes")
    assert not kebab.data_dir.exists(), "the copy goes with the data"


def test_what_is_restored_of_a_removed_source_can_be_deleted(kebab: InstalledKebab) -> None:
    kebab.run("remove", "notes")
    for part in kebab.data_dir.glob("kebab.duckdb*"):
        part.unlink()
    kebab.run("doctor", "--repair", "--yes")

    told = kebab.json("reset", "--orphans-only", "--yes")

    assert told["documents"] == NOTES
    assert [doc["source_id"] for doc in kebab.json("list", "docs")["items"]] == ["_added"]


def test_nothing_is_repaired_that_is_whole_or_that_nobody_wants(kebab: InstalledKebab) -> None:
    store = kebab.data_dir / "kebab.duckdb"
    whole = store.read_bytes()
    assert "nothing to repair" in kebab.run("doctor", "--repair").stdout
    assert store.read_bytes() == whole

    damaged = damage(kebab, blocks(kebab)[-1])
    assert "--yes" in kebab.run("doctor", "--repair", code=2).stderr
    kebab.run("doctor", "--repair", "--readonly", code=1)

    assert store.read_bytes() == damaged
    assert not list(kebab.data_dir.glob("*.damaged-*"))


def test_an_older_copy_of_the_store_is_said_and_loses_no_document(
    kebab: InstalledKebab, tmp_path: Path
) -> None:
    store = kebab.data_dir / "kebab.duckdb"
    older = store.read_bytes()
    kebab.write("late.md", "# Late\n\nA late marmot.\n")
    kebab.ingest()
    before = answers(kebab)
    store.write_bytes(older)
    (tmp_path / "notes").rename(tmp_path / "away")  # a disk that is not mounted

    with open_session(kebab.data_dir, lock_wait_secs=0) as session:
        told = session.healed

    assert told is not None
    assert "an older copy" in told
    assert told.endswith("kept: 1")
    assert answers(kebab) == before
    (tmp_path / "away").rename(tmp_path / "notes")
    assert kebab.ingest()["new"] == 0
    assert kebab.json("doctor", "--deep")["ok"]
