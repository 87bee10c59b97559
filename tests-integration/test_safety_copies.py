"""Safety copies: what cannot be read again comes back, and what is forgotten does not."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from kb_app._data_dir import INDEX_PARTS, PARTS, DataDir
from kb_app._ingest.added.assets import Assets
from kb_app._safety import KEPT, SafetyCopies
from kb_cli.testing import KebabHere
from kb_core.disk import remove_folder
from kb_core.testing import closed_schema

MARK = "zyxomarkerium"
SAID = f"A {MARK} lies under the third stone behind the old northern garden wall.\n"
GOLDEN = "- id: q1\n  query: Where do roses stand?\n  expected_docs: garden.md\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> KebabHere:
    """Return a knowledge base of all that cannot be read again, with a copy of it."""
    kebab = KebabHere(tmp_path_factory.mktemp("safety"))
    kebab.write("garden.md", "# Gardens\n\nRoses want sun, and water in the morning.\n")
    kebab.ingest()
    kebab.run("ingest-stdin", "--title", "Weasels", given="A weasel runs along the wall.\n")
    kebab.run("ask", "--session", "roses", "what do roses want?")
    kebab.run("search", "roses")
    (kebab.home / "golden.yaml").write_text(GOLDEN, "utf-8")
    kebab.run("export", "--safety")
    return kebab


@pytest.fixture
def kebab(made: KebabHere, tmp_path: Path) -> KebabHere:
    """Return a copy of it that a test may change."""
    shutil.copytree(made.home, tmp_path, dirs_exist_ok=True)
    kebab = KebabHere(tmp_path)
    kebab.configure()
    return kebab


def copies(kebab: KebabHere) -> SafetyCopies:
    return SafetyCopies(DataDir(kebab.data_dir).safety)


def members(kebab: KebabHere) -> set[str]:
    newest = copies(kebab).newest()
    return set() if newest is None else {*newest.members()}


def texts(kebab: KebabHere) -> dict[str, str]:
    docs = kebab.json("list", "docs")["items"]
    return {doc["doc_path"]: kebab.run("fetch", "doc", doc["doc_id"]).stdout for doc in docs}


def told_by(kebab: KebabHere, *names: str, deep: bool = False) -> list[str]:
    """Return what doctor says in the checks of these names that fail."""
    how = ["--deep"] if deep else []
    checks = json.loads(kebab.run("--json", "doctor", *how, code=3).stdout)["checks"]
    return [row["detail"] for row in checks if row["name"] in names and not row["ok"]]


def everything_in(folder: Path) -> Iterator[bytes]:
    """Yield every name below *folder*, the bytes of every file, and what is packed in them."""
    for path in folder.rglob("*"):
        yield os.fsencode(path.name)
        if path.is_file():
            yield path.read_bytes()
            if path.suffix == ".gz":
                yield gzip.decompress(path.read_bytes())


def test_all_but_the_safety_copies_destroyed_a_repair_and_a_run_bring_it_back(
    kebab: KebabHere,
) -> None:
    before, said = texts(kebab), kebab.json("session", "show", "roses")
    for path in kebab.data_dir.iterdir():
        if path.name != "safety":
            remove_folder(path) if path.is_dir() else path.unlink()
    (kebab.home / "golden.yaml").unlink()
    kebab.run("doctor", "--repair", "--readonly", code=1)

    report = kebab.json("doctor", "--repair", "--yes")
    kebab.ingest()

    Draft202012Validator(closed_schema("repair_report")).validate(report)
    assert {(row["kind"], Path(row["name"]).name) for row in report["brought_back"]} == {
        ("added", "weasels"),
        ("conversation", "roses"),
        ("golden_questions", "golden.yaml"),
    }
    assert texts(kebab) == before
    assert kebab.json("session", "show", "roses") == said
    assert (kebab.home / "golden.yaml").read_text("utf-8") == GOLDEN
    assert kebab.json("doctor", "--deep")["ok"]


def test_what_was_to_be_replaced_is_kept_where_the_new_bytes_never_arrived(
    kebab: KebabHere,
) -> None:
    before, assets = texts(kebab), Assets(kebab.data_dir / "assets")
    record = assets.records_of("weasels")
    assert record is not None
    assets.record(replace(record, asset=f"{'0' * 32}.md", size=5, title="Later"))  # and was cut off
    kebab.run("export", "--safety")
    for path in kebab.data_dir.iterdir():
        if path.name != "safety":
            remove_folder(path) if path.is_dir() else path.unlink()

    report = kebab.json("doctor", "--repair", "--yes")
    kebab.ingest()

    assert "weasels" in {Path(row["name"]).name for row in report["brought_back"]}
    assert texts(kebab) == before
    assert kebab.json("doctor", "--deep")["ok"]


def test_a_store_of_noise_is_made_anew_and_nothing_is_lost(kebab: KebabHere) -> None:
    before = texts(kebab)
    (kebab.data_dir / "kebab.duckdb").write_bytes(b"\1noise" * 9_000)
    remove_folder(kebab.data_dir / "lexical")
    shutil.rmtree(kebab.data_dir / "assets")

    report = kebab.json("doctor", "--repair", "--yes")
    kebab.ingest()

    assert Path(report["copy"]).read_bytes().startswith(b"\1noise")
    assert texts(kebab) == before


def test_what_was_lost_is_said_and_what_is_whole_is_not_written_over(kebab: KebabHere) -> None:
    journal = kebab.data_dir / "journal" / "roses.jsonl"
    first = journal.read_bytes()
    kebab.run("ask", "--session", "roses", "and when do they want water?")
    later = journal.read_bytes().removeprefix(first)
    journal.write_bytes(later)  # its first turn is gone
    asset = next(p for p in (kebab.data_dir / "assets").iterdir() if p.suffix != ".json")
    asset.write_bytes(b"cut")

    assert "weasels" in told_by(kebab, "safety copy")[0]
    kebab.run("doctor", "--repair", "--yes")

    assert journal.read_bytes() == first + later
    assert asset.read_text("utf-8") == "A weasel runs along the wall.\n"
    assert "nothing to repair" in kebab.run("doctor", "--repair").stdout


@pytest.mark.parametrize(
    "damaged",
    [
        lambda first, second: first + second[:-40],
        lambda first, second: first.replace(b"roses", b"rosas") + second,
    ],
    ids=["cut off", "changed"],
)
def test_a_damaged_line_that_was_brought_back_is_none_any_more_and_others_stay(
    kebab: KebabHere, damaged: Callable[[bytes, bytes], bytes]
) -> None:
    journal = kebab.data_dir / "journal" / "roses.jsonl"
    kebab.run("ask", "--session", "roses", "and when do they want water?")
    kebab.run("export", "--safety")
    whole = journal.read_bytes()
    journal.write_bytes(damaged(*whole.splitlines(keepends=True)))

    kebab.run("doctor", "--repair", "--yes")
    assert journal.read_bytes() == whole
    assert kebab.json("doctor", "--deep")["ok"]

    later = b'{"written": "after the copy"\n'
    journal.write_bytes(damaged(*whole.splitlines(keepends=True)).rstrip() + b"\n" + later)
    kebab.run("doctor", "--repair", "--yes")
    assert journal.read_bytes() == whole + later


def test_a_damaged_copy_is_named_and_an_older_one_takes_its_place(kebab: KebabHere) -> None:
    kebab.run("ingest-stdin", "--title", "Otters", given="An otter dives.\n")
    kebab.run("ask", "--session", "roses", "and when do they want water?")
    kebab.run("export", "--safety")
    newest = copies(kebab).newest()
    assert newest is not None
    journal = newest.place_of("journal/roses.jsonl")
    data = bytearray(journal.read_bytes())
    data[len(data) // 2] ^= 0xFF
    journal.write_bytes(data)

    assert told_by(kebab, "safety copy", deep=True) == [f"damaged: {journal}"]

    (kebab.data_dir / "journal" / "roses.jsonl").unlink()
    kebab.run("doctor", "--repair", "--yes")
    assert [turn["turn_index"] for turn in kebab.json("session", "show", "roses")["turns"]] == [1]


def test_files_of_a_copy_that_have_no_bytes_are_damaged_and_bring_nothing_back(
    kebab: KebabHere,
) -> None:
    """As a power cut leaves them; they were read as whole files of nothing."""
    newest = copies(kebab).newest()
    assert newest is not None
    record = next(name for name in newest.members() if name.endswith(".json"))
    for path in newest.folder.rglob("*.gz"):
        path.write_bytes(b"")

    (said,) = told_by(kebab, "safety copy", deep=True)
    assert said.count(".gz") == sum(1 for _ in newest.folder.rglob("*.gz"))
    for name in ("assets", "journal"):
        remove_folder(kebab.data_dir / name)

    lost = str(kebab.data_dir / record)
    assert told_by(kebab, "safety copy") == [f"lost, and in the safety copy: {lost}, roses"]
    report = kebab.json("doctor", "--repair", "--yes")
    assert report["brought_back"] == []
    told = " ".join(report["unreadable"])
    assert f"{lost}: damaged in the safety copies, too" in told
    assert "roses: damaged in the safety copies, too" in told


def test_where_the_copy_is_damaged_nothing_is_lost_and_the_next_one_is_whole(
    kebab: KebabHere,
) -> None:
    newest = copies(kebab).newest()
    assert newest is not None
    asset = next(n for n in newest.members() if n.startswith("assets/") and "json" not in n)
    for name in ("journal/roses.jsonl", asset):
        path = newest.place_of(name)
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    assert kebab.json("doctor")["ok"]
    kebab.run("ingest-stdin", "--title", "Otters", given="An otter dives.\n")
    kebab.run("export", "--safety")
    latest = copies(kebab).newest()
    assert latest is not None
    assert latest.damaged() == []
    assert {"journal/roses.jsonl", asset} <= latest.members().keys()


def test_a_file_that_is_missing_from_a_copy_is_named_and_one_that_was_deleted_is_not(
    kebab: KebabHere,
) -> None:
    kebab.run("ask", "--session", "tulips", "what do roses want?")
    kebab.run("export", "--safety")
    kebab.run("session", "delete", "tulips", "--yes")
    assert kebab.json("doctor")["ok"]
    newest = copies(kebab).newest()
    assert newest is not None
    assert b"tulips" not in b"".join(everything_in(newest.folder))

    gone = newest.place_of("journal/roses.jsonl")
    gone.unlink()

    assert told_by(kebab, "safety copy") == [f"missing: {gone}"]
    kebab.run("export", "--safety")
    shutil.rmtree(newest.folder)
    assert kebab.json("doctor")["ok"]


def test_every_so_many_runs_with_changes_make_a_copy_and_only_the_last_ones_stay(
    kebab: KebabHere,
) -> None:
    config = kebab.config.read_text("utf-8").replace("[storage]", "[storage]\nsafety_runs = 2")
    kebab.config.write_text(config, "utf-8")
    first = copies(kebab).all()
    kebab.ingest()  # nothing to do, and not counted
    for version in range(2 * KEPT):
        kebab.run("ingest-stdin", "--title", f"Note {version}", given=f"Note {version}.\n")
        assert len(copies(kebab).all()) <= KEPT
        assert copies(kebab).runs() == (version + 1) % 2
    every = copies(kebab).all()
    assert len(every) == KEPT
    assert not {copy.folder.name for copy in first} & {copy.folder.name for copy in every}
    with_notes = [sum(name.endswith(".json") for name in copy.members()) for copy in every]
    assert with_notes == [1 + 2 * KEPT, 1 + 2 * KEPT - 2, 1 + 2 * KEPT - 4]


def test_what_did_not_change_is_kept_once_and_nobody_else_can_read_it(kebab: KebabHere) -> None:
    asset = next(
        name for name in members(kebab) if name.startswith("assets/") and "json" not in name
    )
    kebab.run("export", "--safety")
    before = copies(kebab).all()
    first = before[0].place_of(asset).stat().st_ino

    kebab.run("export", "--safety")  # nothing changed: the same copy, of now
    assert len(copies(kebab).all()) == len(before)
    kebab.run("ingest-stdin", "--title", "Otters", given="An otter dives.\n")
    report = kebab.json("export", "--safety")

    Draft202012Validator(closed_schema("safety_report")).validate(report)
    assert report["copies"] == len(before) + 1
    assert Path(report["path"], f"{asset}.gz").stat().st_ino == first
    for path in (kebab.data_dir / "safety").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_what_was_lost_stays_in_the_copies_and_what_was_removed_does_not(kebab: KebabHere) -> None:
    asset = next(
        name for name in members(kebab) if name.startswith("assets/") and "json" not in name
    )
    shutil.rmtree(kebab.data_dir / "journal")
    kebab.run("ingest-file", "--remove", "weasels")
    for version in range(KEPT):
        kebab.run("ingest-stdin", "--title", "Otters", given=f"Otter {version} dives.\n")
        kebab.run("export", "--safety")

    assert "journal/roses.jsonl" in members(kebab)
    assert asset not in members(kebab)
    assert told_by(kebab, "safety copy") == ["lost, and in the safety copy: roses"]
    kebab.run("doctor", "--repair", "--yes")
    assert texts(kebab).keys() == {"garden.md", "otters"}


def test_a_conversation_that_a_person_deletes_is_deleted_in_the_copies(kebab: KebabHere) -> None:
    (kebab.data_dir / "journal" / "roses.jsonl").unlink()  # lost before that, even

    kebab.run("session", "delete", "roses", "--yes")

    assert "journal/roses.jsonl" not in members(kebab)
    assert kebab.json("doctor")["ok"]
    assert "nothing to repair" in kebab.run("doctor", "--repair").stdout


def test_no_byte_of_what_is_forgotten_is_in_a_copy(kebab: KebabHere) -> None:
    kebab.run("ingest-stdin", "--title", MARK, given=SAID)
    kebab.write("secret.md", f"# Secret\n\n{SAID}")
    kebab.ingest()
    kebab.run("ask", "--session", "roses", f"where does the {MARK} lie?")
    kebab.run("export", "--safety")
    kebab.run("ingest-stdin", "--title", MARK, given=f"{SAID}Indeed.\n")
    kebab.run("export", "--safety")
    sought = MARK.encode()
    assert any(sought in data for data in everything_in(kebab.data_dir / "safety"))

    kebab.run("forget", "doc", MARK, "secret.md", "--mentions", "--yes")

    assert not any(sought in data for data in everything_in(kebab.data_dir))
    assert [turn["turn_index"] for turn in kebab.json("session", "show", "roses")["turns"]] == [1]
    assert texts(kebab).keys() == {"garden.md", "weasels"}
    assert "nothing to repair" in kebab.run("doctor", "--repair").stdout


def test_a_reset_counts_the_copies_and_an_archive_has_none(
    kebab: KebabHere, tmp_path: Path
) -> None:
    archive = tmp_path / "kb.kebab"
    kebab.run("export", str(archive))
    with gzip.open(archive) as file:
        assert b"data/safety" not in file.read()
    kebab.run("export", str(archive), "--safety", code=2)
    kebab.run("export", code=2)

    gone = kebab.json("reset", "--data-only", "--yes")

    row = next(row for row in gone["removed"] if row["path"].endswith("/safety"))
    assert row["bytes"] > 0
    assert not kebab.data_dir.exists()


def test_a_reset_leaves_what_a_person_put_where_kebab_keeps_its_own_and_names_it(
    kebab: KebabHere,
) -> None:
    """All of ``assets`` went, a folder of photographs that was there first among it."""
    kebab.run("eval", "run")
    for name in ("vectors/otter.int8.0.1.i8", "costly/" + "0" * 32 + "/ocr.0.jsonl"):
        (kebab.data_dir / name).parent.mkdir(parents=True, exist_ok=True)
        (kebab.data_dir / name).touch()
    parts = sorted(path for path in kebab.data_dir.iterdir() if path.is_dir())
    mine = [kebab.data_dir / "letter.txt", *(part / "my own" / "photo.jpg" for part in parts)]
    for path in mine:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"mine")
    named = [str(mine[0]), *(str(path.parent) for path in mine[1:])]
    assert (
        f"{named[1]}, which kebab did not make"
        in kebab.json("forget", "doc", "weasels", "--dry-run")["left"]
    )

    told = kebab.json("reset", "--index-only", "--yes")
    shown = kebab.run("reset", "--data-only", "--yes").stdout
    again = kebab.json("reset", "--data-only", "--yes")

    assert told["left"] == [str(kebab.data_dir / part / "my own") for part in INDEX_PARTS]
    said = [line.partition("make it: ")[2] for line in shown.splitlines() if "stays" in line]
    assert sorted(said) == sorted(named)
    assert (again["removed"], sorted(again["left"])) == ([], sorted(named))
    left = {path for path in kebab.data_dir.rglob("*") if path.is_file()}
    assert left - {kebab.data_dir / "writer.lock"} == {*mine}
    assert len(parts) == len([name for name in PARTS if "." not in name])


def test_a_copy_that_cannot_be_made_is_said_and_costs_no_run(kebab: KebabHere) -> None:
    config = kebab.config.read_text("utf-8").replace("[storage]", "[storage]\nsafety_runs = 1")
    kebab.config.write_text(config, "utf-8")
    shutil.rmtree(kebab.data_dir / "safety")
    (kebab.data_dir / "safety").write_text("no folder", "utf-8")
    kebab.write("late.md", "# Late\n\nA late marmot.\n")

    report = kebab.ingest()

    assert report["new"] == 1
    assert "no safety copy could be made" in " ".join(report["warnings"])


def test_what_a_copy_left_that_was_killed_is_forgotten_too(kebab: KebabHere) -> None:
    kebab.run("ingest-stdin", "--title", MARK, given=SAID)
    kebab.run("ask", "--session", "roses", f"where does the {MARK} lie?")
    kebab.run("export", "--safety")
    folder, newest = kebab.data_dir / "safety", copies(kebab).newest()
    assert newest is not None
    shutil.copytree(newest.folder, folder / ".new")
    journal = newest.place_of("journal/roses.jsonl")
    shutil.copy(journal, journal.with_name(f"{journal.name}.new"))

    kebab.run("forget", "doc", MARK, "--mentions", "--yes")

    assert not any(MARK.encode() in data for data in everything_in(kebab.data_dir))
    assert not list(folder.rglob("*.new"))


def test_a_conversation_is_deleted_in_what_a_copy_left_that_was_killed(kebab: KebabHere) -> None:
    folder, newest = kebab.data_dir / "safety", copies(kebab).newest()
    assert newest is not None
    shutil.copytree(newest.folder, folder / ".new")
    journal = newest.place_of("journal/roses.jsonl")
    shutil.copy(journal, journal.with_name(f"{journal.name}.new"))

    kebab.run("session", "delete", "roses", "--yes")

    assert not list(folder.rglob("roses*"))


def test_what_was_lost_and_is_in_copies_alone_is_listed_and_can_be_forgotten(
    kebab: KebabHere,
) -> None:
    shutil.rmtree(kebab.data_dir / "assets")
    for path in kebab.data_dir.glob("kebab.duckdb*"):
        path.unlink()
    kebab.ingest()
    assert texts(kebab).keys() == {"garden.md"}

    told = kebab.json("forget", "doc", "weasels", "--dry-run")
    assert (told["documents"], told["paths"]) == (0, ["weasels"])
    kebab.run("forget", "doc", "weasels", "--yes")

    assert not any(b"weasel runs" in data for data in everything_in(kebab.data_dir))
    assert "nothing to repair" in kebab.run("doctor", "--repair").stdout


def test_marks_of_what_was_forgotten_that_are_damaged_stop_runs_until_a_repair(
    kebab: KebabHere,
) -> None:
    marks = DataDir(kebab.data_dir).forgotten
    for name in ("first", "second"):
        kebab.write(f"{name}.md", f"# Secret\n\n{SAID}")
    kebab.ingest()
    kebab.run("forget", "doc", "first.md", "--yes")
    kebab.run("export", "--safety")
    mark, _ = json.loads(marks.read_bytes())["marks"]  # by its source, and by its place
    kebab.run("forget", "doc", "second.md", "--yes")
    other = "b" if mark[0] != "b" else "c"
    marks.write_text(marks.read_text("utf-8").replace(mark, other + mark[1:]), "utf-8")

    told = json.loads(kebab.run("--json", "ingest", code=2).stderr.splitlines()[-1])
    assert "not what was written" in told["message"]
    checks = json.loads(kebab.run("--json", "doctor", "--deep", code=3).stdout)["checks"]
    assert "marks of what was forgotten" in {row["name"] for row in checks if not row["ok"]}
    kebab.run("doctor", "--repair", "--yes")

    assert kebab.ingest()["skipped_by_reason"] == {"forgotten": 2}
    assert kebab.json("doctor", "--deep")["ok"]
