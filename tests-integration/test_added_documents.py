"""Documents from outside the sources, by the command: added, kept, removed."""

from __future__ import annotations

import base64
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kb_app._wiring import open_session
from kb_cli.testing import KebabHere
from kb_cli.testing.installed import InstalledKebab
from kb_core.clock import utc_now
from kb_core.ids import bytes_hash
from kb_core.testing import closed_schema
from kb_search.reader import Reader

COUNTS = ("new", "updated", "moved", "unchanged", "skipped", "deleted", "errors")
SMALL_CHUNKS = "[chunking]\ntarget_tokens = 64\noverlap_tokens = 8\nmax_tokens = 128\n"

KILLED = """
import os, signal, sys
from kb_app import KnowledgeBase
from kb_app._wiring import open_session
from kb_app._write import WriteSession
from kb_app.config import load_config
from pathlib import Path

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

WriteSession.commit = WriteSession.commit_ahead = die
with KnowledgeBase.open(load_config(Path(sys.argv[1]), os.environ)) as kb:
    for _ in kb.ingest_text("A penguin swims.\\n", title="Penguins"):
        pass
"""


def counts(report: dict[str, Any]) -> dict[str, int]:
    """Return the counts of a report that are not zero."""
    return {name: report[name] for name in COUNTS if report[name]}


def hand_in(kebab: InstalledKebab, text: str | bytes, *words: str, code: int = 0) -> dict[str, Any]:
    """Add *text* on standard input; return the report, or the error."""
    done = kebab.run("--json", "ingest-stdin", *words, given=text, code=code)
    told: dict[str, Any] = json.loads((done.stderr if code else done.stdout).splitlines()[-1])
    return told


def add(kebab: InstalledKebab, file: Path, *words: str) -> dict[str, Any]:
    report: dict[str, Any] = kebab.json("ingest-file", str(file), *words)
    return report


def remove(kebab: InstalledKebab, key: str) -> dict[str, Any]:
    report: dict[str, Any] = kebab.json("ingest-file", "--remove", key)
    return report


def assets(kebab: InstalledKebab) -> set[str]:
    """Return the names of the assets; beside them stands a record of each document."""
    files = (kebab.data_dir / "assets").glob("*")
    return {path.name for path in files if path.suffix != ".json"}


def only_hit(kebab: InstalledKebab, query: str) -> dict[str, Any]:
    hits: list[dict[str, Any]] = kebab.json("search", query)["hits"]
    assert len({hit["doc_id"] for hit in hits}) == 1, hits
    return hits[0]


def one_note(home: Path) -> None:
    kebab = KebabHere(home)
    kebab.write("note.md", "# Note\n\nA walrus sleeps.\n")
    kebab.ingest()


@pytest.fixture
def kebab(again: Callable[..., Path]) -> KebabHere:
    """Return the command over one indexed note."""
    return KebabHere(again(one_note))


@pytest.fixture
def outside(kebab: InstalledKebab) -> Path:
    """Return a file beside the one source."""
    file = kebab.home / "outside" / "visitor.md"
    file.parent.mkdir()
    file.write_text("---\ntags: [zoo]\n---\n# Kangaroo\n\nA kangaroo hops.\n", "utf-8")
    return file


def test_r9_a_file_is_a_document_of_added_in_every_answer(
    kebab: InstalledKebab, outside: Path
) -> None:
    report = add(kebab, outside)

    Draft202012Validator(closed_schema("ingest_report")).validate(report)
    assert counts(report) == {"new": 1}
    hit = only_hit(kebab, "kangaroo")
    assert (hit["source_id"], hit["doc_path"], hit["title"]) == ("_added", str(outside), "Kangaroo")
    assert not hit["stale"]
    doc = kebab.json("fetch", "doc", hit["doc_id"])
    assert doc["text"] == outside.read_text("utf-8")
    assert kebab.json("inspect", "doc", hit["doc_id"])["tags"] == ["zoo"]
    listed = kebab.json("list", "docs", "--source", "_added")["items"]
    assert [item["doc_path"] for item in listed] == [str(outside)]
    states = {(f["source_id"], f["doc_path"]): f["state"] for f in kebab.json("status")["files"]}
    assert states["_added", str(outside)] == "indexed"
    assert assets(kebab) == {bytes_hash(outside.read_bytes())}
    assert kebab.json("schema")["capabilities"]["single_file_ingest"]


def test_7_neither_the_file_s_end_nor_any_run_takes_it_away(
    kebab: InstalledKebab, outside: Path
) -> None:
    add(kebab, outside)
    text = outside.read_text("utf-8")
    outside.write_text("something else", "utf-8")
    changed = only_hit(kebab, "kangaroo")
    outside.unlink()

    report = kebab.ingest()
    orphans = kebab.json("reset", "--orphans-only", "--yes")

    assert counts(report) == {"unchanged": 2}
    assert Reader(kebab.data_dir).snapshot().control.sources["_added"]["verified_at"]
    assert orphans["documents"] == 0
    hit = only_hit(kebab, "kangaroo")
    assert (changed["stale"], hit["stale"]) == (False, False)
    assert kebab.json("fetch", "doc", hit["doc_id"])["text"] == text


def test_orphans_go_and_added_documents_stay(kebab: InstalledKebab, outside: Path) -> None:
    add(kebab, outside)
    kebab.config.write_text(kebab.config.read_text("utf-8").partition("[[sources]]")[0], "utf-8")

    assert kebab.json("reset", "--orphans-only", "--yes")["documents"] == 1
    assert [doc["source_id"] for doc in kebab.json("list", "docs")["items"]] == ["_added"]


def test_orphans_go_with_the_rows_of_files_that_were_skipped(kebab: InstalledKebab) -> None:
    kebab.write(".env", "TOKEN=1\n")
    kebab.ingest()
    kebab.run("remove", "notes")
    kebab.run("reset", "--index-only", "--yes")
    told = kebab.run("reset", "--orphans-only", "--yes", code=2)
    kebab.ingest()

    kebab.run("reset", "--orphans-only", "--yes")

    assert "there is no index of what is stored" in told.stderr
    assert kebab.json("status")["files"] == []


def test_the_same_key_replaces_and_the_same_bytes_change_nothing(
    kebab: InstalledKebab, outside: Path
) -> None:
    first = add(kebab, outside)
    again = add(kebab, outside)
    outside.write_text("A seal dives.\n", "utf-8")
    third = add(kebab, outside)

    assert [counts(r) for r in (first, again, third)] == [
        {"new": 1},
        {"unchanged": 1},
        {"updated": 1},
    ]
    assert first["corpus_revision"] == again["corpus_revision"]
    assert first["items"][0]["doc_id"] == third["items"][0]["doc_id"]
    assert kebab.paths("kangaroo") == []
    assert kebab.paths("seal") == [str(outside)]
    assert assets(kebab) == {bytes_hash(b"A seal dives.\n")}


def test_a_file_without_a_telling_name_and_one_of_code_are_read_as_what_they_are(
    kebab: InstalledKebab, outside: Path
) -> None:
    script = outside.with_name("deploy")
    script.write_text("#!/bin/bash\nlaunch_penguin() {\n  echo swims\n}\n", "utf-8")
    module = outside.with_name("zoo.py")
    module.write_text("def feed_penguin(fish):\n    return fish\n", "utf-8")

    add(kebab, script)
    add(kebab, module)

    hits = {hit["doc_path"]: hit for hit in kebab.json("search", "penguin")["hits"]}
    assert {path: hit["code_lang"] for path, hit in hits.items()} == {
        str(script): "shell",
        str(module): "python",
    }
    assert hits[str(module)]["citation"]["symbol"] == "feed_penguin"
    assert counts(kebab.ingest()) == {"unchanged": 3}


def test_standard_input_is_called_by_its_title_or_its_uri(kebab: InstalledKebab) -> None:
    hand_in(kebab, "A penguin swims.\n", "--title", "On Penguins")
    hand_in(
        kebab, "A puffin flies.\n", "--title", "Puffins", "--source-uri", "https://e.org/p.html#x"
    )

    penguin, puffin = only_hit(kebab, "penguin"), only_hit(kebab, "puffin")

    assert (penguin["doc_path"], penguin["title"]) == ("on-penguins", "On Penguins")
    assert (puffin["doc_path"], puffin["title"]) == ("https://e.org/p.html#x", "Puffins")
    assert penguin["media"] == puffin["media"] == "markdown"
    assert puffin["citation"]["uri"] == "https://e.org/p.html%23x#L1"
    assert counts(hand_in(kebab, "A penguin swims.\n", "--title", "On penguins")) == {"updated": 1}
    assert counts(kebab.ingest()) == {"unchanged": 3}


def test_5_an_added_document_is_made_anew_from_our_bytes_with_its_title_and_medium(
    kebab: InstalledKebab, outside: Path
) -> None:
    add(kebab, outside)
    outside.unlink()
    hand_in(
        kebab, "# Not a heading\n\nA puffin flies.\n", "--title", "Puffins", "--media", "text",
        "--source-uri", "https://e.org/puffin.html",
    )  # fmt: skip
    kebab.configure(extra=SMALL_CHUNKS)

    rehearsed, done, again = kebab.ingest("--dry-run"), kebab.ingest(), kebab.ingest()
    forced = kebab.ingest("--force-reingest")

    assert counts(rehearsed) == counts(done) == counts(forced) == {"updated": 3}
    assert counts(again) == {"unchanged": 3}
    hit = only_hit(kebab, "puffin")
    assert (hit["title"], hit["media"], hit["heading_path"]) == ("Puffins", "text", [])
    assert only_hit(kebab, "kangaroo")["title"] == "Kangaroo"


def test_a_narrowed_run_leaves_them_alone(kebab: InstalledKebab, outside: Path) -> None:
    add(kebab, outside)

    assert counts(kebab.ingest(str(kebab.notes))) == {"unchanged": 1}
    error = json.loads(kebab.run("--json", "ingest", str(outside), code=2).stderr)
    assert error["hint"] == f"kebab --config {kebab.config} ingest-file {outside}"


def test_the_index_comes_back_with_them(kebab: InstalledKebab, outside: Path) -> None:
    add(kebab, outside)
    kebab.run("reset", "--index-only", "--yes")

    kebab.ingest()

    assert only_hit(kebab, "kangaroo")["doc_path"] == str(outside)


def test_what_is_removed_is_gone_with_its_bytes(kebab: InstalledKebab, outside: Path) -> None:
    by_id = hand_in(kebab, "A puffin flies.\n", "--title", "Puffins")["items"][0]["doc_id"]
    hand_in(kebab, "A penguin swims.\n", "--title", "Penguins", "--source-uri", "urn:x")
    add(kebab, outside)

    for key in (by_id, "urn:x", os.path.relpath(outside)):
        assert counts(remove(kebab, key)) == {"deleted": 1}

    assert kebab.paths("puffin penguin kangaroo") == []
    assert assets(kebab) == set()
    assert [doc["doc_path"] for doc in kebab.json("list", "docs")["items"]] == ["note.md"]
    error = json.loads(kebab.run("--json", "ingest-file", "--remove", "urn:x", code=2).stderr)
    assert (error["code"], error["details"]["value"]) == ("doc_not_found", "urn:x")
    assert counts(add(kebab, outside)) == {"new": 1}


def test_nothing_but_what_was_added_can_be_removed_this_way(
    kebab: InstalledKebab, outside: Path
) -> None:
    note = only_hit(kebab, "walrus")

    for key in ("note.md", str(kebab.notes / "note.md"), note["doc_id"]):
        kebab.run("ingest-file", "--remove", key, code=2)

    assert outside.exists()
    assert only_hit(kebab, "walrus") == note


def test_what_cannot_be_indexed_is_skipped_and_changes_nothing(
    kebab: InstalledKebab, outside: Path
) -> None:
    body = base64.b64encode(random.Random(1).randbytes(600)).decode()
    secret = f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n"
    add(kebab, outside)
    before = assets(kebab)
    paper = outside.with_name("paper.pdf")
    paper.write_bytes(b"%PDF-1.4\n")
    outside.write_text(secret, "utf-8")

    reports = [add(kebab, paper), add(kebab, outside), hand_in(kebab, secret, "--title", "Key")]

    assert [r["items"][0]["reason"] for r in reports] == [
        "unreadable",
        "secret_suspected",
        "secret_suspected",
    ]
    assert "what was added before is kept" in reports[1]["warnings"][0]
    assert assets(kebab) == before
    assert only_hit(kebab, "kangaroo")["doc_path"] == str(outside)
    assert len(kebab.json("status")["files"]) == 2
    kebab.configure(extra="[ingest]\nallow_secrets = true\n")
    assert counts(add(kebab, outside)) == {"updated": 1}
    kebab.configure()
    assert counts(kebab.ingest())["unchanged"] >= 1
    assert kebab.paths("rsa private key") == [str(outside)]


def test_a_file_of_a_source_is_indexed_in_place(kebab: InstalledKebab, outside: Path) -> None:
    kebab.write("other.md", "A gecko climbs.\n")
    kebab.write("새/notes.md", "A heron waits.\n")

    unchanged = add(kebab, kebab.notes / "note.md")
    new = add(kebab, kebab.notes / "새" / "notes.md")
    kebab.write("note.md", "# Note\n\nA walrus wakes.\n")
    changed = add(kebab, kebab.notes / "note.md")

    Draft202012Validator(closed_schema("ingest_report")).validate(new)
    assert [counts(r) for r in (unchanged, new, changed)] == [
        {"unchanged": 1},
        {"new": 1},
        {"updated": 1},
    ]
    assert (new["scanned"], new["warnings"]) == (1, [])
    assert new["scope"] == {"sources": ["notes"], "paths": [f"{kebab.notes}/새/notes.md"]}
    hit = only_hit(kebab, "heron")
    assert (hit["source_id"], hit["doc_path"]) == ("notes", "새/notes.md")
    assert kebab.paths("gecko") == []  # nobody asked for that one
    assert assets(kebab) == set()
    assert kebab.json("list", "docs", "--source", "_added")["items"] == []


def test_a_file_that_its_source_leaves_alone_is_kept_as_a_copy_when_a_person_names_it(
    kebab: InstalledKebab, outside: Path
) -> None:
    kebab.write(".kebabignore", "private.md\n")
    private = kebab.write("private.md", "A platypus hides.\n")

    report = add(kebab, private)
    kebab.ingest()

    assert counts(report) == {"new": 1}
    (warning,) = report["warnings"]
    assert "left alone in its source 'notes'" in warning
    assert ".kebabignore" in warning
    hit = only_hit(kebab, "platypus")
    assert (hit["source_id"], hit["doc_path"]) == ("_added", str(private))


def test_a_copy_from_before_there_was_a_source_is_told_and_not_taken_away(
    kebab: InstalledKebab, outside: Path
) -> None:
    add(kebab, outside)
    with kebab.config.open("a", encoding="utf-8") as config:
        config.write(f'[[sources]]\nid = "more"\nroot = "{outside.parent}"\n')

    report = add(kebab, outside)
    remove(kebab, str(outside))

    assert counts(report) == {"new": 1}
    command = f"'kebab --config {kebab.config} ingest-file --remove'"
    assert f"{command} takes that copy away" in report["warnings"][0]
    assert only_hit(kebab, "kangaroo")["source_id"] == "more"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b"caf\xe9", "standard input is not UTF-8: byte 3 is 0xe9"),
    ],
)
def test_standard_input_has_to_be_text(kebab: InstalledKebab, data: bytes, says: str) -> None:
    error = hand_in(kebab, data, "--title", "T", code=2)

    assert error["code"] == "invalid_input"
    assert says in error["message"]


def test_a_name_that_leads_elsewhere_leads_nowhere(kebab: InstalledKebab, outside: Path) -> None:
    before = outside.read_bytes()
    for uri in (str(outside), f"../../{outside.name}", "../../../../../etc/passwd", "/etc/passwd"):
        report = hand_in(kebab, "A puffin flies.\n", "--title", "P", "--source-uri", uri)
        fetched = kebab.json("fetch", "doc", report["items"][0]["doc_id"])
        assert (fetched["text"], fetched["stale"]) == ("A puffin flies.\n", False)
        kebab.ingest("--force-reingest")

    assert outside.read_bytes() == before
    assert assets(kebab) == {f"{bytes_hash(b'A puffin flies.' + bytes([10]))}.md"}
    assert set(kebab.home.iterdir()) == {kebab.config, kebab.data_dir, kebab.notes, outside.parent}


def test_41_read_only_mode_refuses(kebab: InstalledKebab, outside: Path) -> None:
    for words in (("ingest-file", str(outside)), ("ingest-stdin", "--title", "T")):
        error = json.loads(kebab.run("--json", "--readonly", *words, code=1).stderr)
        assert error["code"] == "readonly_mode"

    assert kebab.paths("kangaroo") == []


def test_a_busy_store_says_who_writes(kebab: InstalledKebab, outside: Path) -> None:
    config = kebab.config.read_text("utf-8")
    kebab.config.write_text(config.replace("[storage]", "[storage]\nlock_wait_secs = 0.2"), "utf-8")
    another = InstalledKebab(kebab.home)  # a process of its own
    with open_session(kebab.data_dir, lock_wait_secs=0, clock=utc_now):
        done = another.run("--json", "ingest-file", str(outside), code=2)

    error = json.loads(done.stderr)
    assert error["code"] == "store_busy"
    assert str(os.getpid()) in error["message"]


def test_a_lost_asset_is_told_takes_nothing_away_and_comes_back(
    kebab: InstalledKebab, outside: Path
) -> None:
    add(kebab, outside)
    (name,) = assets(kebab)
    asset = kebab.data_dir / "assets" / name
    asset.unlink()

    told, forced = kebab.ingest(), kebab.ingest("--force-reingest")

    assert counts(told) == {"unchanged": 2}
    assert "not in" in told["warnings"][0]
    assert counts(forced) == {"updated": 1, "errors": 1}
    assert only_hit(kebab, "kangaroo")["stale"]
    assert counts(add(kebab, outside)) == {"updated": 1}
    assert not only_hit(kebab, "kangaroo")["stale"]
    assert assets(kebab) == {asset.name}


def test_damaged_bytes_are_never_indexed(kebab: InstalledKebab, outside: Path) -> None:
    add(kebab, outside)
    (name,) = assets(kebab)
    asset = kebab.data_dir / "assets" / name
    asset.write_bytes(asset.read_bytes().replace(b"kangaroo", b"wallaby!"))

    forced = kebab.ingest("--force-reingest")

    failed = [item for item in forced["items"] if item["kind"] == "error"]
    assert "does not hold the bytes that were added" in failed[0]["error"]["message"]
    assert kebab.paths("wallaby") == []
    assert kebab.paths("kangaroo") == [str(outside)]


def test_killed_before_the_commit_is_finished_by_the_next_run(
    kebab: InstalledKebab, outside: Path
) -> None:
    add(kebab, outside)
    kept = assets(kebab)
    command = [sys.executable, "-c", KILLED, str(kebab.config)]
    killed = subprocess.run(command, capture_output=True, check=False)

    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert len(assets(kebab) - kept) == 1
    assert kebab.paths("penguin") == []
    finished = kebab.ingest()
    assert finished["warnings"] == ["penguins is built again from its asset"]
    assert kebab.paths("penguin") == ["penguins"]
    assert counts(hand_in(kebab, "A penguin swims.\n", "--title", "Penguins")) == {"unchanged": 1}
    assert kebab.json("doctor", "--deep")["ok"]


@pytest.mark.model
def test_an_addition_embeds_no_more_than_its_own_size(kebab: InstalledKebab, outside: Path) -> None:
    kebab.configure(model="all-MiniLM-L6-v2")
    for n in range(5):
        kebab.write(f"{n}.md", f"Sentence {n} about something else.\n")
    waiting = kebab.ingest("--no-embed")["embeddings_missing"]

    report = hand_in(kebab, "A puffin flies.\n", "--title", "Puffins")

    assert (report["embedded"], report["embeddings_missing"]) == (1, waiting)
    assert only_first(kebab, "a bird in the air") == "puffins"
    # Passages that are all the same are one to embed, and leave no room for those of others.
    again = hand_in(kebab, "x" * 20_000, "--title", "Letters")
    assert again["embeddings_missing"] == waiting
    assert add(kebab, outside, "--no-embed")["embedded"] == 0


def only_first(kebab: InstalledKebab, query: str) -> str:
    path: str = kebab.json("search", query, "--mode", "vector")["hits"][0]["doc_path"]
    return path
