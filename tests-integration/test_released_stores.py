"""What earlier states kept is read: archives that ``tools/released_store.py`` wrote with them."""

from __future__ import annotations

import json
import tarfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from kb_app._wiring import open_session
from kb_cli.testing import KebabHere
from kb_core.clock import utc_now

ARCHIVES = sorted((Path(__file__).parent / "released").glob("*.kebab"))
LARGEST = 300_000


def facts_of(archive: Path) -> dict[str, Any]:
    """Return what has to be found in it."""
    found: dict[str, Any] = json.loads(archive.with_suffix(".json").read_text("utf-8"))
    return found


def assert_all_is_there(kebab: KebabHere, facts: dict[str, Any]) -> None:
    docs = {doc["doc_path"]: doc for doc in kebab.json("list", "docs")["items"]}
    assert docs.keys() == facts["docs"].keys()
    for path, doc in facts["docs"].items():
        text = kebab.run("fetch", "doc", doc["doc_id"]).stdout
        told = (docs[path]["doc_id"], docs[path]["chunk_count"], sha256(text.encode()).hexdigest())
        assert told == (doc["doc_id"], doc["chunks"], doc["text"])
    first = {query: kebab.paths(query, "--mode", "lexical")[0] for query in facts["first_hits"]}
    assert first == facts["first_hits"]
    turns = kebab.json("session", "show", "animals")["turns"]
    assert turns[0]["answer"]["answer"] == facts["conversation"]
    assert kebab.json("doctor", "--deep")["ok"]


def test_there_is_at_least_one_and_none_is_large() -> None:
    assert ARCHIVES
    assert {archive.name for archive in ARCHIVES if archive.stat().st_size > LARGEST} == set()


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda archive: archive.stem)
def test_its_archive_is_imported(archive: Path, tmp_path: Path) -> None:
    kebab = KebabHere(tmp_path)

    kebab.run("import", str(archive))

    assert_all_is_there(kebab, facts_of(archive))


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda archive: archive.stem)
def test_its_data_directory_is_opened_and_its_embeddings_are_kept(
    archive: Path, tmp_path: Path
) -> None:
    kebab, facts = KebabHere(tmp_path), facts_of(archive)
    with tarfile.open(archive) as tar:
        data = [member for member in tar if member.name.startswith("data/")]
        tar.extractall(tmp_path, data, filter="data")

    checks = json.loads(kebab.run("--json", "doctor", "--deep", code=3).stdout)["checks"]
    store = next(check for check in checks if check["name"] == "store")
    assert "older version" in store["detail"]
    assert "'kebab" in store["hint"]
    assert "--repair" not in store["hint"], "it is whole"

    with open_session(kebab.data_dir, lock_wait_secs=0, clock=utc_now) as session:
        embedded = sum(session.store.stats()["embedded"].values())

    assert embedded == facts["embedded"]
    assert_all_is_there(kebab, facts)
