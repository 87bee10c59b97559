"""A damaged index, from outside: said with the way out, answered around, healed by the next run."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from kb_app._data_dir import DataDir
from kb_app._write import WriteSession
from kb_app.config import load_config
from kb_app.testing.parts import open_here
from kb_cli.testing import KebabHere
from kb_cli.testing.installed import InstalledKebab
from kb_core.errors import IndexCorrupt, NotIndexed
from kb_core.records import Changes, Control, Publication
from kb_core.search import SearchQuery
from kb_core.testing.documents import document
from kb_core.testing.fakes import MemoryIndex
from kb_core.testing.packed import put_instead
from kb_core.testing.store import MemoryStore
from kb_search import reader
from kb_search.sums import living

Harm = Callable[[Path], None]


def zero(file: Path) -> None:
    data = file.read_bytes()
    put_instead(file, bytes(min(512, len(data))) + data[512:])


def remove(file: Path) -> None:
    file.unlink()


def rot(file: Path) -> None:
    """Flip one bit, as a disk does: the file's time tells nothing."""
    status, data = file.stat(), bytearray(file.read_bytes())
    data[len(data) // 2] ^= 4
    put_instead(file, bytes(data))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def harm(kebab: InstalledKebab, kinds: Iterable[str], how: Harm) -> list[str]:
    paths = [path for path in living(kebab.data_dir) if path.endswith(tuple(kinds))]
    for path in paths[:1]:
        how(kebab.data_dir / path)
    return paths[:1]


def three_notes(home: Path) -> None:
    kebab = KebabHere(home)
    for name in ("walrus", "otter", "seal"):
        kebab.write(f"{name}.md", f"# {name}\n\nThe {name} swims in the sea.\n")
    assert kebab.ingest()["new"] == 3


@pytest.fixture
def filled(again: Callable[..., Path]) -> InstalledKebab:
    return KebabHere(again(three_notes))


@pytest.fixture
def sealed(filled: InstalledKebab) -> InstalledKebab:
    """Return it after a run that seals it: one that has nothing to do would open no store."""
    filled.ingest()
    return filled


def failed(checks: dict[str, Any]) -> dict[str, str]:
    return {check["name"]: check["detail"] for check in checks["checks"] if not check["ok"]}


READERS = [["status"], ["list", "docs"], ["stats"], ["search", "walrus"], ["schema"]]


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("meta.json", zero),
        ("meta.json", remove),
        (".idx", zero),
        (".term", remove),
        (".store", zero),
    ],
)
def test_every_reader_says_so_and_the_next_run_rebuilds_it(
    sealed: InstalledKebab, kind: str, how: Harm
) -> None:
    (path,) = harm(sealed, [kind], how)
    for words in READERS:
        error = sealed.run("--json", *words, code=2).stderr
        assert '"code":"index_corrupt"' in error, (words, error)
        assert "ingest'" in error
        assert "panicked" not in error
        assert "Traceback" not in error
    assert path in failed(sealed.json("doctor", code=3))["index"]
    assert path in failed(sealed.json("doctor", "--deep", code=3))["files of the index"]

    report = sealed.ingest()

    assert any("rebuilt" in said and path in said for said in report["warnings"])
    assert report["new"] == 0
    assert sealed.paths("walrus") == ["walrus.md"]
    assert not failed(sealed.json("doctor", "--deep"))
    assert sealed.json("stats")["doc_count"] == 3


def test_documents_are_found_by_words_where_only_the_records_are_damaged(
    sealed: InstalledKebab,
) -> None:
    paths = [path for path in living(sealed.data_dir) if path.startswith("lexical/records")]
    remove(sealed.data_dir / next(path for path in paths if path.endswith(".idx")))

    assert sealed.paths("walrus") == ["walrus.md"]
    assert '"code":"index_corrupt"' in sealed.run("--json", "list", "docs", code=2).stderr
    assert any("rebuilt" in said for said in sealed.ingest()["warnings"])
    assert len(sealed.json("list", "docs")["items"]) == 3


def test_what_rots_unseen_is_found_by_the_deep_check_and_healed_by_a_run_that_writes(
    filled: InstalledKebab,
) -> None:
    (path,) = harm(filled, [".fieldnorm"], rot)
    assert path in failed(filled.json("doctor", "--deep", code=3))["files of the index"]
    filled.write("whale.md", "A whale.\n")

    assert any(path in said for said in filled.ingest()["warnings"])
    assert not failed(filled.json("doctor", "--deep"))


def test_what_may_not_be_read_is_said_with_the_way_out(
    filled: KebabHere, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a source and of the index: neither is well, and neither is damaged."""
    meta, stat, access = filled.data_dir / "lexical/chunks/meta.json", os.stat, os.access

    def no_stat(path: str | Path, *, follow_symlinks: bool = True) -> os.stat_result:
        if str(path) == str(meta):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return stat(path, follow_symlinks=follow_symlinks)

    with monkeypatch.context() as refusing:
        refusing.setattr(
            os, "access", lambda path, mode: path != filled.notes and access(path, mode)
        )
        refusing.setattr(os, "stat", no_stat)
        refused = json.loads(filled.run("--json", "search", "walrus", code=2).stderr)
        checks = {each["name"]: each for each in filled.json("doctor", code=3)["checks"]}

    assert refused["code"] == "io_error"
    for hint in (refused["hint"], checks["index"]["hint"], checks["source notes"]["hint"]):
        assert "the right to read" in hint
    assert not checks["source notes"]["ok"]


def test_the_doctor_says_what_it_cannot_read_and_goes_on(filled: InstalledKebab) -> None:
    """Each byte of where a file of positions says what is where: the engine panics at some."""
    chunks = [filled.data_dir / path for path in living(filled.data_dir) if "/chunks/" in path]
    file = max((f for f in chunks if f.suffix == ".pos"), key=lambda file: file.stat().st_size)
    status, data, told = file.stat(), file.read_bytes(), set()
    for at in range(max(0, len(data) - 160), len(data)):
        put_instead(file, data[:at] + bytes([data[at] ^ 64]) + data[at + 1 :])
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
        with open_here(load_config(filled.config)) as kb:
            told |= {check["name"] for check in kb.doctor()["checks"] if not check["ok"]}

    assert "index" in told


def test_a_store_that_is_older_than_what_was_indexed_is_told(filled: InstalledKebab) -> None:
    store = filled.data_dir / "kebab.duckdb"
    older = store.read_bytes()
    filled.write("whale.md", "A whale.\n")
    filled.ingest()
    store.write_bytes(older)

    assert "older than what was indexed" in failed(filled.json("doctor", "--deep", code=3))["store"]
    assert any("older copy" in said for said in filled.ingest()["warnings"])
    assert not failed(filled.json("doctor", "--deep"))


def test_sums_that_are_damaged_are_told_and_drop_nothing(filled: InstalledKebab) -> None:
    rot(filled.data_dir / "lexical/chunks/sums.json")
    said = failed(filled.json("doctor", "--deep", code=3))["files of the index"]
    assert said.startswith("lexical/chunks/sums.json is not what was written")
    filled.write("whale.md", "A whale.\n")

    assert filled.ingest()["warnings"] == []
    assert not failed(filled.json("doctor", "--deep"))


def test_a_deleted_index_is_not_an_empty_knowledge_base(sealed: InstalledKebab) -> None:
    sealed.run("reset", "--index-only", "--yes")
    for words in READERS[:4]:
        error = sealed.run("--json", *words, code=2).stderr
        assert '"code":"not_indexed"' in error, (words, error)
        assert "it rebuilds it" in error

    assert any("rebuilt" in said for said in sealed.ingest()["warnings"])
    assert sealed.json("stats")["doc_count"] == 3


def test_an_index_of_another_version_is_neither_empty_nor_deleted(
    filled: InstalledKebab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "INDEX_VERSION", "i999-a1")

    with open_here(load_config(filled.config)) as kb:
        asked = (kb.stats, kb.status, kb.schema, lambda: kb.search(SearchQuery(text="otter")))
        for ask in asked:
            with pytest.raises(
                NotIndexed, match=r"is of version 'i\d.*, this is 'i999-a1'"
            ) as told:
                ask()
            assert "nothing is parsed or embedded again" in str(told.value.hint)


def test_assets_that_are_damaged_or_gone_are_named(filled: InstalledKebab) -> None:
    for words in ("A narwhal.", "A beluga."):
        filled.run("ingest-stdin", "--title", words, given=words)
    folder = filled.data_dir / "assets"
    first, second = sorted(folder.glob("*.md"))
    record = min(folder.glob("*.json"))
    assert not failed(filled.json("doctor", "--deep"))
    rot(first)
    assert first.name in failed(filled.json("doctor", "--deep", code=3))["assets"]
    rot(first)
    second.unlink()
    rot(record)
    said = failed(filled.json("doctor", "--deep", code=3))["assets"]

    assert record.name in said or second.name in said
    assert "cannot be read" in said


class _BreaksOnce(MemoryIndex):
    """An index that turns out to be damaged when it is next told something."""

    broken = wiped = 0

    def publish(self, publication: Publication, /) -> Control:
        if self.broken > self.wiped:
            raise IndexCorrupt("the index is damaged: a panic")
        return super().publish(publication)

    def wipe(self) -> None:
        self.wiped += 1
        super().wipe()

    def rebuild(self, publications: Iterable[Publication], /) -> Control:
        if self.broken > self.wiped:
            raise IndexCorrupt("the index is damaged: another panic")
        return super().rebuild(publications)


def test_damage_that_shows_in_the_middle_of_a_run_is_healed_by_that_run(tmp_path: Path) -> None:
    store, index = MemoryStore(), _BreaksOnce()
    session = WriteSession(
        DataDir(tmp_path), lock=nullcontext(), store=lambda: store, index=lambda: index
    )
    session.commit(Changes(documents=(document("a.md", "A walrus."),)))
    index.broken = 1
    control = session.commit(Changes(documents=(document("b.md", "An otter."),)))

    assert index.wiped == 1
    assert control.sequence == store.sequence
    assert len(index.snapshot().docs(None)) == 2


@pytest.mark.parametrize("how", [zero, remove])
def test_a_server_survives_a_damaged_index(sealed: InstalledKebab, how: Harm) -> None:
    harm(sealed, [".idx"], how)
    with open_here(load_config(sealed.config)) as kb:
        for _ in range(2):
            with pytest.raises(IndexCorrupt) as caught:
                kb.search(SearchQuery(text="walrus"))
            assert "ingest'" in str(caught.value.hint)
        sealed.ingest()  # by another process
        assert kb.search(SearchQuery(text="walrus")).hits


def test_vectors_that_a_reset_deleted_come_back_by_the_command_that_is_named(
    kebab: InstalledKebab,
) -> None:
    kebab.configure(model="multilingual-e5-small")
    kebab.write("walrus.md", "The walrus is in the garage.")
    kebab.ingest()
    kebab.run("reset", "--vector-only", "--yes")

    none = kebab.json("search", "walrus")
    said = f"no embeddings for this model yet (run 'kebab --config {kebab.config} embed')"
    assert none["degraded"] == [f"vector: {said}"]
    kebab.json("doctor")
    report = kebab.json("embed")
    assert report["embedded"] == 0  # they are in the store
    assert report["warnings"] == ["the index was rebuilt from the store"]  # it was not damaged
    assert not kebab.json("search", "walrus").get("degraded")


def test_a_dry_run_without_an_index_says_that_its_figures_are_of_none(
    filled: InstalledKebab,
) -> None:
    first = filled.ingest("--dry-run")
    filled.run("reset", "--index-only", "--yes")

    (warning,) = filled.ingest("--dry-run")["warnings"]

    assert (first["unchanged"], first["warnings"]) == (3, [])
    assert "there is no index of what is stored" in warning
    assert "reads what has changed alone" in warning
