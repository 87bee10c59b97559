"""``kebab forget``: no byte of what was forgotten is left, whatever interrupts it."""

from __future__ import annotations

import errno
import json
import os
import shlex
import shutil
from dataclasses import replace
from pathlib import Path
from random import random
from typing import Any

import pytest
import tantivy
from jsonschema import Draft202012Validator

from kb_app._data_dir import DataDir
from kb_app._forgetting import forgetting
from kb_app._forgetting.forgetting import ToForget
from kb_app._wiring import open_session
from kb_app.config import load_config
from kb_app.testing.parts import open_here
from kb_cli.testing import KebabHere
from kb_core.clock import utc_now
from kb_core.errors import ConfigInvalid, InvalidInput
from kb_core.quantization import quantize
from kb_core.records import Changes
from kb_core.testing import closed_schema
from kb_core.testing.documents import document
from kb_core.testing.packed import everything_in
from kb_search.schema import chunks_schema, records_schema
from kb_store import Store

MARK = "zyxomarkerium"
SECRET = (
    f"# The {MARK}\n\nThe {MARK} lies under the third stone behind the old northern garden wall.\n"
)
GARDEN = "# Gardens\n\nRoses want sun, and water in the morning of a dry day.\n"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return where a knowledge base of two notes was made, and a copy of it."""
    home = tmp_path_factory.mktemp("forgetting") / "home"
    home.mkdir()
    made = KebabHere(home)
    made.configure(extra=f'[log]\ndir = "{home / "logs"}"\n')
    made.write("garden.md", GARDEN)
    made.write("secret.md", SECRET)
    made.ingest()
    return home, Path(shutil.copytree(home, home.with_name("copy")))


@pytest.fixture
def kebab(built: tuple[Path, Path]) -> KebabHere:
    """Return the knowledge base of two notes, as it was made."""
    home, copy = built
    shutil.rmtree(home)
    shutil.copytree(copy, home)
    return KebabHere(home)


def files_with(mark: str, *folders: Path) -> list[str]:
    """Return the files whose bytes, or what is packed in them, hold *mark*."""
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    sought = mark.encode()
    return sorted(
        path.name
        for path in files
        if any(sought in one for one in everything_in(path.read_bytes()))
    )


def stored_by_the_engine(folder: Path) -> str:
    """Return all that the index stores, read record by record, deleted ones not left out."""
    told = []
    for part, schema in (("chunks", chunks_schema()), ("records", records_schema())):
        index = tantivy.Index(schema, str(folder / part))
        searcher = index.searcher()
        hits = searcher.search(tantivy.Query.all_query(), max(1, searcher.num_docs)).hits
        told += [json.dumps(searcher.doc(at).to_dict(), default=str) for _, at in hits]
    return "\n".join(told)


def unnamed_files(folder: Path) -> set[str]:
    """Return the files of an index that belong to no segment it has."""
    meta = json.loads((folder / "meta.json").read_text("utf-8"))
    segments = {segment["segment_id"].replace("-", "") for segment in meta["segments"]}
    there = {path.stem.partition(".")[0] for path in folder.iterdir() if len(path.stem) >= 32}
    return {name for name in there if name not in segments}


def test_no_byte_of_a_forgotten_document_is_left(kebab: KebabHere) -> None:
    kebab.run("ask", "--session", "new", f"where does the {MARK} lie?")
    for version in range(3):
        kebab.write("secret.md", f"{SECRET}\nVersion {version} of the {MARK}.\n" * 30)
        kebab.ingest()
    kebab.run("search", MARK)
    quoted = json.dumps([f"the {MARK} lies under the third stone behind"])
    DataDir(kebab.data_dir).queries.write_text(quoted, "utf-8")
    kebab.run("ingest-stdin", "--title", "Stones", given=SECRET.replace("The", "Our"))
    kebab.run("export", "--safety")
    with_it = set(files_with(MARK, kebab.data_dir))
    assert {"kebab.duckdb", "queries.json"} < with_it, "or nothing is shown"
    assert any(name.endswith(".gz") for name in with_it)
    before = {path.name for path in kebab.data_dir.rglob("*.store")}

    kebab.run("forget", "doc", "secret.md", "stones", "--mentions", "--yes")

    assert files_with(MARK, kebab.data_dir, kebab.home / "logs") == []
    assert MARK not in stored_by_the_engine(kebab.data_dir / "lexical")
    assert not before & {path.name for path in kebab.data_dir.rglob("*.store")}
    for part in ("chunks", "records"):
        assert unnamed_files(kebab.data_dir / "lexical" / part) == set()
    with Store.open(DataDir(kebab.data_dir).store) as store:
        assert store.deep_check() == []
        assert store.sizes()["free"] == 0
    assert kebab.paths("roses in the sun") == ["garden.md"]
    assert kebab.json("doctor", "--deep")["ok"]


def test_the_report_tells_what_would_go_and_a_dry_run_changes_nothing(kebab: KebabHere) -> None:
    kebab.run("ask", "--session", "new", f"where does the {MARK} lie?")
    kebab.write("copy.md", SECRET)
    kebab.ingest()
    golden = "- id: q1\n  query: Where is the stone?\n  expected_docs: secret.md\n"
    (kebab.home / "golden.yaml").write_text(golden, "utf-8")
    before = sorted((p, p.stat().st_mtime_ns) for p in kebab.data_dir.rglob("*"))

    told = kebab.json("forget", "doc", "secret.md", "--dry-run")

    Draft202012Validator(closed_schema("forget_report")).validate(told)
    assert (told["documents"], told["chunks"], told["paths"]) == (1, 1, ["secret.md"])
    assert [(one["kind"], one["count"], one["goes"]) for one in told["mentions"]] == [
        ("conversation", 1, False),
        ("golden_question", 1, False),
    ]
    golden_file = kebab.home / "golden.yaml"
    assert told["left"] == [
        "documents of the same bytes: copy.md",
        f"golden questions in {golden_file} that tell of it, which you can change: q1",
    ]
    assert sorted((p, p.stat().st_mtime_ns) for p in kebab.data_dir.rglob("*")) == before


def test_a_forgotten_file_is_not_read_again_until_a_person_names_it(kebab: KebabHere) -> None:
    kebab.run("forget", "doc", "secret.md", "--yes")

    again, forced = kebab.ingest(), kebab.ingest("--force-reingest")
    kebab.run("reset", "--data-only", "--yes")
    anew = kebab.ingest()

    for report in (again, forced, anew):
        assert report["skipped_by_reason"] == {"forgotten": 1}
    assert files_with(MARK, kebab.data_dir) == []
    assert files_with("secret.md", kebab.data_dir) == [], "nor is its name anywhere"
    kebab.run("ingest-file", str(kebab.notes / "secret.md"))
    assert kebab.paths(MARK) == ["secret.md"]
    assert kebab.ingest()["unchanged"] == 2


def test_given_again_it_takes_no_other_document_whose_path_ends_so(kebab: KebabHere) -> None:
    kebab.write("old/secret.md", GARDEN)
    kebab.ingest()
    kebab.run("forget", "doc", "secret.md", "--yes")

    again = kebab.run("--json", "forget", "doc", "secret.md", "--yes", code=2)

    assert json.loads(again.stderr)["hint"].endswith("forget doc old/secret.md'?")
    assert sorted(kebab.paths("roses")) == ["garden.md", "old/secret.md"]


@pytest.mark.parametrize("before", ["", "\0\1\2"], ids=["gone", "no text"])
def test_a_file_that_is_no_document_is_no_other_one_whose_path_ends_so(
    kebab: KebabHere, before: str
) -> None:
    kebab.write("plan.md", before or GARDEN)
    kebab.write("old/plan.md", SECRET)
    kebab.ingest()
    if not before:
        (kebab.notes / "plan.md").unlink()
        kebab.ingest()

    told = kebab.json("forget", "doc", "plan.md", "--yes")

    assert (told["paths"], told["documents"]) == (["plan.md"], 0)
    assert "old/plan.md" in kebab.paths(MARK)


@pytest.mark.parametrize("is_text", [True, False])
def test_of_two_files_that_differ_by_their_accents_the_one_that_is_named_goes(
    kebab: KebabHere, *, is_text: bool
) -> None:
    apart, whole = "e\u0301te\u0301.md", "\xe9t\xe9.md"
    there = kebab.write(apart, SECRET if is_text else "\0\1\2")
    kebab.write(whole, GARDEN)
    if len(list(kebab.notes.glob("*t*.md"))) < 2:
        pytest.skip("one name for both, on this file system")
    kebab.ingest()

    shown = kebab.json("status", str(there))
    told = kebab.json("forget", "doc", str(there), "--yes")

    assert [row["doc_path"] for row in shown["files"]] == [apart]
    assert told["paths"] == [apart]
    assert whole in kebab.paths("roses")


def test_a_forgotten_file_stays_so_under_a_source_of_another_name(kebab: KebabHere) -> None:
    """A source is renamed, divided, or taken out and given to a model: the file is the same."""
    kebab.run("forget", "doc", "secret.md", "--yes")
    config = kebab.config.read_text("utf-8")
    renamed = config.replace('id = "notes"', 'id = "other"')
    kebab.config.write_text(renamed, "utf-8")

    report = kebab.ingest()

    assert report["skipped_by_reason"] == {"forgotten": 1}
    kebab.config.write_text(config.partition("[[sources]]")[0], "utf-8")
    allowed = f"[mcp]\ningest_roots = [{str(kebab.notes)!r}]\n"
    kebab.config.write_text(f"{kebab.config.read_text('utf-8')}{allowed}", "utf-8")
    secret = str(kebab.notes / "secret.md")
    with open_here(load_config(kebab.config, {})) as kb:
        with pytest.raises(InvalidInput, match="forgotten"):
            list(kb.ingest_file_by_model(secret))
        list(kb.ingest_file(secret))
    kebab.config.write_text(renamed, "utf-8")
    assert kebab.ingest()["new"] == 1, "it was named"


def test_a_model_does_not_take_back_what_a_person_had_forgotten(kebab: KebabHere) -> None:
    kebab.run("forget", "doc", "secret.md", "--yes")

    with open_here(load_config(kebab.config, {})) as kb:
        *_, last = kb.ingest_file_by_model(str(kebab.notes / "secret.md"))

    assert last.report is not None
    warning = last.report.warnings[0]
    assert "was forgotten" in warning
    assert kebab.json("list", "docs")["total"] == 1
    kebab.run(*shlex.split(warning.partition("'kebab ")[2][:-1]))
    assert kebab.json("list", "docs")["total"] == 2, "what it names takes it back, from anywhere"
    kebab.run("forget", "doc", "secret.md", "--yes")

    kebab.run("ingest-stdin", "--title", "Plan", given=SECRET)
    kebab.run("forget", "doc", "plan", "--yes")
    with open_here(load_config(kebab.config, {})) as kb:
        with pytest.raises(InvalidInput, match="had 'plan' forgotten"):
            list(kb.ingest_text_by_model(SECRET, title="Plan"))
        list(kb.ingest_text(SECRET, title="Plan"))
    assert kebab.json("list", "docs")["total"] == 2


def test_what_was_added_goes_with_its_bytes_and_its_record(kebab: KebabHere) -> None:
    kebab.run("ingest-stdin", "--title", f"About the {MARK}", given=SECRET)
    kebab.run("ingest-stdin", "--title", "Kept", given=GARDEN)
    (added,) = kebab.json("list", "docs", "--source", "_added", "--path-glob", "about*")["items"]

    kebab.run("forget", "doc", added["doc_id"], "secret.md", "--yes")

    assert files_with(MARK, kebab.data_dir) == []
    assert len(list((kebab.data_dir / "assets").iterdir())) == 2, "the other's bytes and record"
    assert kebab.ingest()["warnings"] == []


def test_a_record_that_the_disk_refuses_meanwhile_is_not_taken_for_none(kebab: KebabHere) -> None:
    """It would bring the document back as soon as it can be read again."""
    kebab.run("ingest-stdin", "--title", "Added", given=SECRET)
    (added,) = kebab.json("list", "docs", "--source", "_added")["items"]
    (record,) = (kebab.data_dir / "assets").glob("*.json")
    aside = record.rename(record.with_suffix(".aside"))
    record.mkdir()  # what cannot be read, whoever asks

    done = kebab.run("--json", "forget", "doc", added["doc_id"], "--yes", code=2)
    assert json.loads(done.stderr)["code"] == "io_error"

    record.rmdir()
    aside.rename(record)
    assert "is forgotten now" in kebab.ingest()["warnings"][0]
    assert kebab.json("list", "docs", "--source", "_added")["items"] == []
    assert not record.exists()


@pytest.mark.parametrize("damage", [b"", b"{", b"\0" * 200], ids=["empty", "cut", "zeroed"])
def test_what_was_added_goes_though_its_record_is_damaged(kebab: KebabHere, damage: bytes) -> None:
    kebab.run("ingest-stdin", "--title", f"About the {MARK}", given=SECRET)
    kebab.run("ingest-stdin", "--title", "Kept", given=GARDEN)
    (added,) = kebab.json("list", "docs", "--source", "_added", "--path-glob", "about*")["items"]
    assets = kebab.data_dir / "assets"
    (record,) = (path for path in assets.glob("*.json") if MARK in path.read_text("utf-8"))
    record.write_bytes(damage)

    kebab.run("forget", "doc", added["doc_id"], "secret.md", "--yes")

    assert files_with(MARK, kebab.data_dir) == []
    assert not record.exists()
    assert len(list(assets.iterdir())) == 2, "the other's bytes and record"
    kebab.ingest()
    (kept,) = kebab.json("list", "docs", "--source", "_added")["items"]
    assert kept["title"] == "Kept"


def test_a_source_goes_with_its_configuration_and_doctor_tells_what_is_left(
    kebab: KebabHere,
) -> None:
    other = kebab.home / "other"
    other.mkdir()
    (other / "plan.md").write_text(SECRET.replace(MARK, "quuxomark"), "utf-8")
    kebab.run("add", str(other))
    kebab.ingest()
    kebab.run("remove", "other")

    (left,) = [c for c in kebab.json("doctor")["checks"] if c["name"] == "removed source"]
    kebab.run("forget", "source", "other", "--yes")
    kebab.run("forget", "source", "notes", "--yes")

    assert left["detail"].startswith("other: 1 documents")
    assert f"kebab --config {kebab.config} forget source other" in left["hint"]
    names = {check["name"] for check in kebab.json("doctor")["checks"]}
    assert "removed source" not in names
    assert "[[sources]]" not in kebab.config.read_text("utf-8")
    assert files_with("quuxomark", kebab.data_dir) == files_with(MARK, kebab.data_dir) == []
    assert kebab.json("list", "docs")["total"] == 0


def test_where_another_writes_the_source_stays_in_the_configuration(kebab: KebabHere) -> None:
    text = kebab.config.read_text("utf-8").replace("[storage]", "[storage]\nlock_wait_secs = 0")
    kebab.config.write_text(text, "utf-8")

    with open_session(kebab.data_dir, lock_wait_secs=0):
        told = kebab.run("--json", "forget", "source", "notes", "--yes", code=2)

    assert json.loads(told.stderr)["code"] == "store_busy"
    assert kebab.config.read_text("utf-8") == text


def test_a_server_that_began_before_knows_which_sources_there_are(kebab: KebabHere) -> None:
    """A model does not bring back one that is gone, and one that was added is none that is left."""
    other = kebab.home / "other"
    other.mkdir()
    (other / "plan.md").write_text("# A plan\n", "utf-8")
    config = load_config(kebab.config, {})
    config = replace(config, mcp=replace(config.mcp, notes_dir=str(kebab.notes)))
    with open_here(config) as kb:
        kebab.run("add", str(other))
        kebab.ingest()
        assert "removed source" not in {check["name"] for check in kb.doctor()["checks"]}
        (added,) = kb.wait_for_fresh([str(other / "plan.md")])["files"]
        assert added["state"] == "indexed"

        kebab.run("forget", "source", "notes", "--yes")
        for ask in (kb.ingest_file_by_model, lambda path: iter([kb.wait_for_fresh([path])])):
            with pytest.raises(InvalidInput, match="in no folder that a model may add files from"):
                list(ask(str(kebab.notes / "secret.md")))
        with pytest.raises(ConfigInvalid, match="notes_dir"):
            list(kb.ingest_text_by_model("A note.", title="A note"))
    assert files_with(MARK, kebab.data_dir) == []


def test_a_query_goes_from_conversations_the_terminal_and_logs(kebab: KebabHere) -> None:
    kebab.run("ask", "--session", "talk", "When do roses want water?")
    kebab.run("ask", "--session", "talk", "Which embarrassing rash do I have?", code=1)
    data = DataDir(kebab.data_dir)
    data.queries.write_text(json.dumps(["roses", "embarrassing RASH"]), "utf-8")
    # Of a search that was killed before the file itself had it.
    data.searched.with_name(f"{data.searched.name}.77").write_text('{"query": "rash"}', "utf-8")
    log = kebab.home / "logs" / "kebab-2026-01-01.log"
    log.parent.mkdir(exist_ok=True)
    log.write_text("INFO started\nDEBUG asked: embarrassing rash\n", "utf-8")

    kebab.run("forget", "query", "embarrassing rash", "--yes")

    assert files_with("rash", kebab.data_dir, kebab.home / "logs") == []
    assert files_with("RASH", kebab.data_dir) == []
    assert log.read_text("utf-8") == "INFO started\n"
    (turn,) = kebab.json("session", "show", "talk")["turns"]
    assert turn["answer"]["question"] == "When do roses want water?"


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("doc", "nothing.md"), "doc_not_found", "no document is 'nothing.md'"),
        (("doc",), "invalid_input", "the document is missing"),
        (("source", "nowhere"), "invalid_input", "there is no source 'nowhere'"),
        (("query", " ?"), "invalid_input", "the query is blank"),
    ],
)
def test_what_names_nothing_is_said(
    kebab: KebabHere, words: tuple[str, ...], code: str, message: str
) -> None:
    done = kebab.run("--json", "forget", *words, "--yes", code=2)

    told = json.loads(done.stderr)
    assert (told["code"], told["message"]) == (code, message)


def test_nobody_is_asked_off_a_terminal_and_nothing_goes_read_only(kebab: KebabHere) -> None:
    refused = kebab.run("forget", "doc", "secret.md", code=2)
    readonly = kebab.run("--readonly", "forget", "doc", "secret.md", "--yes", code=1)

    way_out = f"kebab --config {kebab.config} forget doc secret.md --yes"
    assert f"hint: {way_out}" in refused.stderr
    assert "read-only" in readonly.stderr
    assert kebab.json("list", "docs")["total"] == 2


STEPS = {
    "the list": (forgetting, "mark"),
    "the marks": (forgetting, "_remove_traces"),
    "the truth": (Store, "erase"),
    "the index": (Store, "prune_outbox"),
    "the store": (forgetting, "sweep"),
}
"""What a process is killed after, and where."""


def test_whatever_kills_it_the_next_run_goes_on(kebab: KebabHere, tmp_path: Path) -> None:
    kebab.run("ask", "--session", "new", f"where does the {MARK} lie?")
    kebab.run("ingest-stdin", "--title", "Added", given=SECRET)
    whole = tmp_path / "whole"
    shutil.copytree(kebab.data_dir, whole)
    for after, (owner, step) in STEPS.items():
        shutil.rmtree(kebab.data_dir)
        shutil.copytree(whole, kebab.data_dir)
        killed(kebab, owner, step)

        with open_session(kebab.data_dir, lock_wait_secs=0, clock=utc_now) as session:
            assert "is forgotten now" in (session.healed or ""), after

        assert files_with(MARK, kebab.data_dir) == [], after
        assert kebab.paths("roses in the sun") == ["garden.md"], after


def test_that_something_is_being_forgotten_still_is_said(kebab: KebabHere) -> None:
    """By the doctor, to who gives the command again, when what it named is not there any more,
    and to who would have it in an archive.
    """
    killed(kebab, forgetting, "mark")

    told = kebab.json("doctor", code=3)["checks"]

    (said,) = [check for check in told if check["name"] == "forgetting"]
    command = f"'kebab --config {kebab.config} ingest'"
    assert (said["ok"], said["hint"]) == (False, f"run {command}: it goes on with that first")
    for named in (("doc", "secrets.md"), ("source", "secrets")):
        error = json.loads(kebab.run("--json", "forget", *named, "--yes", code=2).stderr)
        assert "ingest', which goes on with that first" in error["hint"], named
    archive = kebab.home / "archive"
    assert "something is half forgotten" in kebab.run("export", str(archive), code=2).stderr
    assert not archive.exists()
    assert "is forgotten now" in kebab.ingest()["warnings"][0]
    kebab.run("export", str(archive))


def test_vectors_go_unless_another_document_has_the_passage(tmp_path: Path) -> None:
    docs = [document(name, text) for name, text in (("a.md", "one"), ("b.md", "two"))]
    docs.append(document("b.md", "two", source_id="other"))
    hashes = [doc.chunks[0].passage_hash for doc in docs]
    vectors = {digest: quantize([random() for _ in range(32)]) for digest in hashes}
    with open_session(tmp_path, lock_wait_secs=0, clock=utc_now) as session:
        described = {"m": {"dimensions": 32}}
        made = Changes(documents=tuple(docs), embeddings={"m": vectors}, models=described)
        session.commit(made)

        gone = ToForget(doc_ids=tuple(d.doc_id for d in docs[:2]), files=(("notes", "a.md"),))
        forgetting.forget(session, gone)

    def bearing(vector: bytes) -> set[str]:
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        return {path.suffix for path in files if vector[4:] in path.read_bytes()}

    assert bearing(vectors[hashes[0]]) == set()
    assert bearing(vectors[hashes[1]]) == {".duckdb", ".i8"}


def killed(kebab: KebabHere, owner: Any, step: str) -> None:  # noqa: ANN401 - a module or class
    """Forget in a child that dies where *step* begins."""
    child = os.fork()
    if child == 0:
        try:
            setattr(owner, step, lambda *_, **__: os._exit(9))
            added = "added" if (kebab.data_dir / "assets").exists() else "secret.md"
            kebab.run("forget", "doc", "secret.md", added, "--mentions", "--yes")
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 9


def test_the_lists_of_what_is_forgotten_are_private_and_name_nothing(kebab: KebabHere) -> None:
    kebab.run("forget", "doc", "secret.md", "--yes")
    data = DataDir(kebab.data_dir)

    assert data.forgotten.stat().st_mode & 0o777 == 0o600
    assert not data.forgetting.exists()
    assert set(json.loads(data.forgotten.read_text("utf-8"))) == {"secret", "marks", "crc32"}


def test_a_list_that_cannot_be_read_stops_a_run_and_says_what_to_do(kebab: KebabHere) -> None:
    kebab.run("forget", "doc", "secret.md", "--yes")
    DataDir(kebab.data_dir).forgotten.write_text("{", "utf-8")

    done = kebab.run("--json", "ingest", code=2)

    told = json.loads(done.stderr)
    assert told["code"] == "io_error"
    assert "forgotten.json" in told["message"]
    assert files_with(MARK, kebab.data_dir) == []


def test_a_list_that_may_not_be_read_is_not_to_be_deleted(
    kebab: KebabHere, monkeypatch: pytest.MonkeyPatch
) -> None:
    kebab.run("forget", "doc", "secret.md", "--yes")
    there, read = DataDir(kebab.data_dir).forgotten, Path.read_bytes

    def refuses(path: Path) -> bytes:
        if path == there:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return read(path)

    with monkeypatch.context() as refusing:
        refusing.setattr(Path, "read_bytes", refuses)
        told = json.loads(kebab.run("--json", "ingest", code=2).stderr)

    assert "delete" not in told["hint"]
    assert "the right to read" in told["hint"]
    assert kebab.ingest()["skipped_by_reason"] == {"forgotten": 1}


def test_an_older_copy_of_the_store_brings_nothing_back(kebab: KebabHere) -> None:
    data = DataDir(kebab.data_dir)
    older = data.store.read_bytes()
    kebab.run("forget", "doc", "secret.md", "--yes")
    data.store.write_bytes(older)

    kebab.ingest()

    assert kebab.paths(MARK) == []
    with open_session(kebab.data_dir, lock_wait_secs=0, clock=utc_now) as session:
        assert len(session.store.doc_ids("notes")) == 1


def test_copies_that_were_set_aside_are_named_and_stay(kebab: KebabHere) -> None:
    copy = kebab.data_dir / "kebab.duckdb.damaged-1"
    shutil.copy(kebab.data_dir / "kebab.duckdb", copy)
    before = kebab.data_dir.with_name(f"{kebab.data_dir.name}.replaced-1")
    before.mkdir()

    report = kebab.json("forget", "doc", "secret.md", "--yes")

    assert [path.partition(",")[0] for path in report["left"]] == [str(copy), str(before)]
    assert copy.is_file()
    before.rmdir()
