"""A folder that lives: what a run reports, and what a search finds, after every change."""

from __future__ import annotations

import base64
import json
import os
import random
import re
import shutil
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import pytest
from jsonschema import Draft202012Validator

from kb_app._wiring import open_session
from kb_app.testing.papers import paper, plain_page
from kb_cli.testing import KebabHere
from kb_cli.testing.installed import KEBAB, InstalledKebab
from kb_core.disk import remove_folder
from kb_core.records import Control, Publication
from kb_core.testing import closed_schema
from kb_search.writer import Writer

COUNTS = ("new", "updated", "moved", "unchanged", "skipped", "deleted", "errors")


def counts(report: dict[str, Any]) -> dict[str, int]:
    """Return the counts of a report that are not zero."""
    return {name: report[name] for name in COUNTS if report[name]}


def four_files(home: Path) -> None:
    kebab = KebabHere(home)
    kebab.write("search.md", "# Search\n\nReciprocal rank fusion adds up reciprocal ranks.\n")
    kebab.write("store.md", "# Store\n\nThe store is the truth, indexes are derived.\n")
    kebab.write("deep/er/note.md", "---\ntags: [attic]\n---\n# Attic\n\nOld marmalade recipes.\n")
    kebab.write("tool.py", "def parse_http_date(text):\n    return text.strip()\n")
    assert counts(kebab.ingest()) == {"new": 4}


@pytest.fixture
def library(again: Callable[..., Path]) -> InstalledKebab:
    """Return a small indexed folder."""
    kebab = KebabHere(again(four_files))
    kebab.ingest()  # which seals what was put back: a run that has nothing to do opens no store
    return kebab


def test_without_a_model_the_doctor_speaks_of_words_alone(library: InstalledKebab) -> None:
    said = library.run("doctor").stdout

    assert "embeddings none: search is by words alone" in " ".join(said.split())
    assert "None" not in said


def test_the_doctor_says_which_extras_and_which_viewers_are_there(
    library: InstalledKebab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEBAB_VIEWERS_AUDIO", "no-such-player --at {seconds} {path}")
    monkeypatch.setenv("KEBAB_VIEWERS_VIDEO", f"'{sys.executable}' {{path}}")

    checks = {each["name"]: each for each in library.json("doctor", code=3)["checks"]}

    viewers = checks["viewers"]
    assert "audio by no-such-player, which is not found" in viewers["detail"]
    assert viewers["detail"].endswith(f"video by {sys.executable}")
    assert (viewers["ok"], "install no-such-player, or" in viewers["hint"]) == (False, True)
    assert checks["extras"]["detail"].startswith(("installed: ", "not installed: "))
    assert {"audio", "ocr", "office", "video"} <= set(
        re.findall(r"\w+", checks["extras"]["detail"])
    )
    assert checks["extras"]["ok"]


def test_a_second_run_reads_no_file_and_loads_no_model(library: InstalledKebab) -> None:
    library.configure(model="multilingual-e5-small")
    library.ingest()
    for file in library.notes.rglob("*"):
        if file.is_file():
            os.utime(file, ns=(0, file.stat().st_mtime_ns))  # never read, as far as atime tells
    script = (
        f"import sys\nsys.argv = {library.command('--json', 'ingest')!r}\n"
        "from kb_cli.main import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(*sys.modules, file=sys.stderr)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert '"unchanged":4' in done.stdout
    loaded = set(done.stderr.split())
    assert loaded.isdisjoint({"onnxruntime", "tokenizers", "tree_sitter", "markdown_it"})
    assert {f.stat().st_atime_ns for f in library.notes.rglob("*") if f.is_file()} == {0}


def test_an_edit_replaces_what_is_found(library: InstalledKebab) -> None:
    library.write("store.md", "# Store\n\nA walrus sleeps here now.\n")

    assert counts(library.ingest()) == {"updated": 1, "unchanged": 3}
    assert library.paths("walrus") == ["store.md"]
    assert library.paths("truth derived") == []


def test_a_run_after_an_edit_is_published_in_one_step_with_its_end(
    library: KebabHere, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish, published = Writer.publish, list[Mapping[str, Any]]()

    def noting(writer: Writer, publication: Publication) -> Control:
        published.append(publication.stats)
        return publish(writer, publication)

    monkeypatch.setattr(Writer, "publish", noting)
    library.write("store.md", "# Store\n\nA walrus sleeps here now.\n")
    library.ingest()

    (stats,) = published
    assert stats["runs"][0]["counts"] == {"updated": 1, "unchanged": 3}
    assert stats["runs"][0]["state"] == "completed"
    assert library.json("stats")["last_ingest_at"] is not None


def test_every_file_that_is_read_tells_what_it_is_at(library: InstalledKebab) -> None:
    """Of a short text nobody could read in time whether it is parsed or cut."""
    library.write("store.md", "# Store\n\n" + "A walrus sleeps here now.\n\n" * 5_000)
    library.write("short.md", "# Short\n\nA walrus wakes up.\n")
    library.write("bad.md", "\0")

    printed = library.run("--json", "ingest").stdout.splitlines()

    *events, report = map(json.loads, printed)
    validator = Draft202012Validator(closed_schema("ingest_progress"))
    told: dict[str, list[str]] = {}
    for event in events:
        validator.validate(event)
        if "doc_path" in event:
            told.setdefault(event["doc_path"], []).append(event.get("phase", event["kind"]))
            assert (event["source_id"], event["total"]) == ("notes", 3)
    assert told == {
        "store.md": ["asset_started", "parse", "chunk", "asset_finished"],
        "short.md": ["asset_started", "asset_finished"],
        "bad.md": ["asset_started", "asset_finished"],
    }
    assert report["schema_version"] == "ingest_report.v1"


def test_a_touched_file_is_unchanged(library: InstalledKebab) -> None:
    os.utime(library.notes / "store.md")

    assert counts(library.ingest()) == {"unchanged": 4}
    assert not library.json("search", "truth")["hits"][0]["stale"]


def test_a_moved_file_keeps_its_text_and_its_old_id_leads_to_it(library: InstalledKebab) -> None:
    old = library.json("search", "marmalade")["hits"][0]["doc_id"]
    (library.notes / "deep/er/note.md").rename(library.notes / "kitchen.md")

    report = library.ingest()

    assert counts(report) == {"moved": 1, "unchanged": 3}
    moved = next(item for item in report["items"] if item["kind"] == "moved")
    assert (moved["moved_from"], moved["doc_path"]) == ("deep/er/note.md", "kitchen.md")
    assert library.paths("marmalade") == ["kitchen.md"]
    assert library.json("fetch", "doc", old)["doc_path"] == "kitchen.md"


@pytest.mark.model
def test_a_moved_file_keeps_its_vectors_whatever_its_new_name(library: InstalledKebab) -> None:
    library.configure(model="all-MiniLM-L6-v2")
    assert library.ingest()["embedded"] > 0
    (library.notes / "tool.py").rename(library.notes / "renamed.py")
    (library.notes / "store.md").rename(library.notes / "deep/other.md")

    report = library.ingest()

    assert (report["moved"], report["embedded"], report["embeddings_missing"]) == (2, 0, 0)
    assert library.paths("truth derived", "--mode", "vector")[0] == "deep/other.md"


def test_a_renamed_folder_is_so_many_moves(library: InstalledKebab) -> None:
    for n in range(5):
        library.write(f"trip/day{n}.md", f"# Day {n}\n\nThe kangaroo of day {n}.\n")
    library.ingest()
    (library.notes / "trip").rename(library.notes / "journey")

    assert counts(library.ingest()) == {"moved": 5, "unchanged": 4}
    assert set(library.paths("kangaroo")) == {f"journey/day{n}.md" for n in range(5)}


def test_a_deleted_file_is_gone_from_every_answer(library: InstalledKebab) -> None:
    (library.notes / "search.md").unlink()

    assert counts(library.ingest()) == {"deleted": 1, "unchanged": 3}
    assert library.paths("reciprocal rank fusion") == []
    assert len(library.json("list", "docs")["items"]) == 3
    states = {f["doc_path"]: f["state"] for f in library.json("status")["files"]}
    assert states["search.md"] == "deleted"


def test_a_file_that_became_ignored_is_deleted(library: InstalledKebab) -> None:
    library.write(".gitignore", "store.md\n")

    report = library.ingest()

    assert report["deleted"] == 1
    assert library.paths("truth") == []


def test_3_equal_files_are_two_documents_and_stay_unchanged(library: InstalledKebab) -> None:
    shutil.copy(library.notes / "store.md", library.notes / "copy.md")

    assert counts(library.ingest()) == {"new": 1, "unchanged": 4}
    assert counts(library.ingest()) == {"unchanged": 5}
    assert set(library.paths("truth")) == {"store.md", "copy.md"}


def test_5_a_setting_that_matters_makes_documents_anew(library: InstalledKebab) -> None:
    library.configure(
        extra="[chunking]\ntarget_tokens = 64\noverlap_tokens = 8\nmax_tokens = 128\n"
    )

    assert counts(library.ingest()) == {"updated": 4}
    assert counts(library.ingest()) == {"unchanged": 4}


def test_7_an_unmounted_root_deletes_nothing(library: InstalledKebab) -> None:
    library.notes.rename(library.home / "elsewhere")

    gone = library.ingest()
    library.notes.mkdir()
    empty = library.ingest()

    assert gone["deleted"] == empty["deleted"] == 0
    assert gone["warnings"]
    assert library.paths("truth") == ["store.md"]
    named = empty["warnings"][0].rpartition(" ingest ")[2].removesuffix("'")
    assert named == f"{library.notes} --allow-empty"
    assert library.ingest(*named.split(" "))["deleted"] == 4


def test_a_narrowed_run_touches_nothing_else(library: InstalledKebab) -> None:
    library.write("store.md", "# Store\n\nwalrus\n")
    (library.notes / "search.md").unlink()

    report = library.ingest(str(library.notes / "store.md"))

    assert counts(report) == {"updated": 1}
    assert library.paths("reciprocal") == ["search.md"]


def test_what_cannot_be_indexed_is_reported_with_a_reason(library: InstalledKebab) -> None:
    (library.notes / "blob").write_bytes(bytes(range(256)) * 40)
    (library.notes / "paper.pdf").write_bytes(b"%PDF-1.4\n")
    library.write("empty.md", "")
    key = base64.b64encode(random.Random(1).randbytes(600)).decode()
    library.write("key.pem", f"-----BEGIN RSA PRIVATE KEY-----\n{key}\n")

    report = library.ingest()

    reasons = {i["doc_path"]: i["reason"] for i in report["items"] if i["kind"] == "skipped"}
    assert reasons == {
        "blob": "binary",
        "paper.pdf": "unreadable",
        "empty.md": "empty",
        "key.pem": "secret_suspected",
    }
    again = library.ingest()
    assert counts(again) == {"unchanged": 4, "skipped": 4}


def test_a_dry_run_says_what_would_happen_and_changes_nothing(library: InstalledKebab) -> None:
    library.write("new.md", "fresh")
    (library.notes / "search.md").unlink()

    rehearsed = library.ingest("--dry-run")
    assert counts(rehearsed) == {"new": 1, "deleted": 1, "unchanged": 3}
    (row,) = rehearsed["expected"]
    assert (row["media"], row["files"], row["parser"]) == ("markdown", 1, "markdown-3")
    assert 0 <= row["seconds"] < 1
    said = library.run("ingest", "--dry-run").stdout
    assert "to read\n" in said
    assert "about " in said
    assert library.paths("reciprocal") == ["search.md"]


def test_every_citation_is_the_lines_of_the_file(library: InstalledKebab) -> None:
    for hit in library.json("search", "store truth parse recipes fusion", "-k", "20")["hits"]:
        citation = hit["citation"]
        first = citation.get("start") or citation["line_start"]
        last = citation.get("end") or citation["line_end"]
        lines = Path(library.notes, citation["path"]).read_text("utf-8").split("\n")
        cited = "\n".join(lines[first - 1 : last])
        chunk = library.json("fetch", "chunk", hit["chunk_id"])["chunk"]["text"]
        assert chunk.strip() in cited
        span = library.json("fetch", "span", hit["doc_id"], str(first), str(last))["text"]
        assert span.rstrip("\n") == cited.rstrip("\n")


def test_an_index_that_was_deleted_comes_back_without_parsing(library: InstalledKebab) -> None:
    remove_folder(library.data_dir / "lexical")
    done = subprocess.run([KEBAB, "--config", library.config, "search", "truth"], check=False)
    assert done.returncode == 2

    assert counts(library.ingest()) == {"unchanged": 4}
    assert library.paths("truth") == ["store.md"]


def test_what_the_disk_refuses_stays_as_it_was_indexed(
    library: InstalledKebab, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    tool = (library.notes / "tool.py").read_text("utf-8")
    library.write("store.md", "# Store\n\nA walrus sleeps here now.\n")
    (library.notes / "tool.py").unlink()
    (library.notes / "tool.py").symlink_to("x" * 300)  # which cannot even be looked at
    with monkeypatch.context() as patched:
        patched.setattr("kb_app._ingest.making.record.open_inside", refuse)
        report = library.ingest()

    assert counts(report) == {"unchanged": 2, "errors": 2}
    assert library.paths("truth derived") == ["store.md"]
    assert library.paths("parse_http_date") == ["tool.py"]

    (library.notes / "tool.py").unlink()
    library.write("tool.py", tool)
    assert counts(library.ingest()) == {"updated": 2, "unchanged": 2}
    assert library.paths("walrus") == ["store.md"]
    assert library.paths("parse_http_date") == ["tool.py"]


def test_what_kebab_writes_itself_is_no_note(
    library: InstalledKebab, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = library.notes / "kebab-data"
    config = library.notes / "kebab.toml"
    words = library.notes / "words.txt"
    words.write_text("walrus-tusk\n", "utf-8")
    monkeypatch.setenv("KEBAB_PASSWORDS_FILE", str(words))
    config.write_text(
        f'[[sources]]\nid = "n"\nroot = "{library.notes}"\n[storage]\ndata_dir = "{data}"\n'
        '[embedding]\nmodel = "none"\n[[passwords]]\nvalue = "walrus-tooth"\n',
        "utf-8",
    )

    def run(*words: str) -> Any:  # noqa: ANN401 - JSON
        told = library.run("--config", str(config), "--json", *words).stdout
        return json.loads(told.splitlines()[-1])

    first, again = run("ingest"), run("ingest")

    assert counts(first) == {"new": 4, "skipped": 3}
    assert counts(again) == {"unchanged": 4, "skipped": 3}
    assert run("search", "walrus")["hits"] == []


def test_a_run_that_only_removes_says_what_it_removed(library: InstalledKebab) -> None:
    (library.notes / "store.md").unlink()

    told = library.run("ingest", str(library.notes / "store.md")).stdout

    assert re.match(r"0 files in .*: 1 (?:deleted|removed)", told), told
    assert "kebab add" not in told


def test_before_a_first_run_has_finished_nothing_is_indexed(tmp_path: Path) -> None:
    kebab = KebabHere(tmp_path)
    kebab.write("store.md", "# Store\n\nThe store is the truth.\n")
    with open_session(kebab.data_dir, lock_wait_secs=1):
        pass  # as a run that was killed before it stored anything

    for words in (("search", "store"), ("fetch", "store.md"), ("ask", "what is the store?")):
        told = kebab.run("--json", *words, code=2)
        assert json.loads(told.stderr)["code"] == "not_indexed"
    assert kebab.json("stats")["doc_count"] == 0

    (kebab.notes / "store.md").unlink()
    kebab.ingest()
    assert kebab.paths("store") == []


def test_a_name_that_is_normalised_on_disk_leads_to_its_file(library: InstalledKebab) -> None:
    """As a copy from a Mac and back does: neither size nor time tells of it."""
    old, new = (unicodedata.normalize(form, "größe.md") for form in ("NFD", "NFC"))
    library.write(old, "# Size\n\nThe giraffe is tall.\n")
    library.ingest()
    (library.notes / old).rename(library.notes / new)

    assert counts(library.ingest()) == {"unchanged": 5}
    hit = library.json("search", "giraffe")["hits"][0]
    assert not hit["stale"]
    checked = library.json("cite", "verify", hit["citation"]["uri"])["checks"]
    assert [check["status"] for check in checked] == ["unchanged"]


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("written", ["NFC", "NFD"])
def test_values_are_filtered_by_in_either_of_their_spellings(
    library: InstalledKebab, written: Literal["NFC", "NFD"], form: Literal["NFC", "NFD"]
) -> None:
    """A folder that came from a Mac is called otherwise on disk than in here."""
    on_disk = unicodedata.normalize(written, "größe/노트.md")
    tag = unicodedata.normalize(written, "höhe")
    library.write(on_disk, f"---\ntags: [{tag}]\n---\n# 노트\n\nA walrus sleeps.\n")
    git = library.notes / unicodedata.normalize(written, "größe") / ".git"
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    library.ingest()

    def found(*words: str) -> list[str]:
        return library.paths(*(unicodedata.normalize(form, word) for word in words))

    path = "größe/노트.md"
    assert found("walrus", "--path-glob", path) == [path]
    assert found("walrus", "--tag", "Höhe") == found("walrus tag:höhe") == [path]
    assert found("walrus", "--repo", "größe") == [path]


def test_files_are_in_the_repository_that_they_are_in_now(library: InstalledKebab) -> None:
    """``git init`` in a folder that was indexed; a checkout that is renamed; one in another."""

    def init(folder: Path) -> None:
        (folder / ".git").mkdir()
        (folder / ".git/HEAD").write_text("ref: refs/heads/main\n")

    def known() -> dict[str, int]:
        library.ingest()
        found: dict[str, int] = library.json("stats")["repo_breakdown"]
        return found

    assert known() == {}
    init(library.notes)
    assert known() == {"notes": 4}
    init(library.notes / "deep/er")
    assert known() == {"notes": 3, "er": 1}
    library.ingest(str(library.notes / "deep"), "--force-reingest")  # knows no more than it sees
    assert counts(library.ingest()) == {"unchanged": 4, "skipped": 2}
    (library.notes / "deep/er").rename(library.notes / "deep/est")
    shutil.rmtree(library.notes / ".git")
    assert known() == {"est": 1}
    library.write("deep/est/note.md", "Edited.\n")
    shutil.rmtree(library.notes / "deep/est/.git")
    library.ingest(str(library.notes / "deep/est"))
    init(library.notes / "deep/est")
    assert known() == {"est": 1}, (
        "a part that was seen in between is no reason to take it for known"
    )
    shutil.rmtree(library.notes / "deep/est/.git")
    assert known() == {}


def test_the_status_counts_the_embeddings_of_the_active_model(library: InstalledKebab) -> None:
    library.configure(model="multilingual-e5-small")
    library.ingest()
    active = library.json("status")["coverage"]
    library.configure(model="multilingual-e5-small", extra='quality = "fp32"\n')
    other = library.json("status")["coverage"]
    library.configure(model="none")

    assert active["embedded"] == active["chunks"] > 0
    assert (other["embedded"], library.json("status")["coverage"]["embedded"]) == (0, 0)


@pytest.mark.parametrize("media", ["", " , "])
def test_a_filter_by_nothing_is_refused(library: InstalledKebab, media: str) -> None:
    told = library.run("search", "store", "--media", media, code=2)

    assert "media '' is not a value" in told.stderr


def test_bytes_that_are_no_text_are_no_damage(library: InstalledKebab) -> None:
    strange = os.fsdecode(b"x\xff.md")

    missed = library.json("explain-miss", "foo", "--doc", strange)
    cited = library.run("--json", "cite", "store.md#L1", "--source", strange, code=2)

    assert missed["verdict"] == "not_in_ledger"
    assert json.loads(cited.stderr)["code"] == "doc_not_found"


def test_a_picture_of_a_place_is_written_over_no_file_of_the_person(
    library: InstalledKebab,
) -> None:
    store = library.notes / "store.md"
    text = store.read_text("utf-8")

    told = library.run("cite", "store.md#L1", "--image", str(store), code=2)

    assert "is there already, and no picture that kebab drew" in told.stderr
    assert store.read_text("utf-8") == text


def test_what_is_fetched_is_as_it_stands(library: InstalledKebab) -> None:
    library.write("log.md", "# Log\n\n\x1b[31mred\x1b[0m walrus\n")
    library.ingest()

    told = library.run("fetch", "span", "log.md", "3", "99").stdout

    assert told == "[log.md § L3-L3]\n\x1b[31mred\x1b[0m walrus\n"


def test_bookmarks_of_a_pdf_are_its_outline_though_no_page_says_their_names(
    library: InstalledKebab,
) -> None:
    first, second = plain_page("Cumin and salt."), plain_page("Onions and leeks.")
    book = paper(first, second, outline=[("Spice", 0), ("Vegetables", 1)])
    (library.notes / "book.pdf").write_bytes(book)
    library.ingest()

    entries = library.json("fetch", "outline", "book.pdf")["entries"]

    assert [(entry["name"], entry["uri"]) for entry in entries] == [
        ("Spice", "book.pdf#page=1"),
        ("Vegetables", "book.pdf#page=2"),
    ]
    assert "Onions" in library.run("fetch", "book.pdf#Vegetables").stdout
