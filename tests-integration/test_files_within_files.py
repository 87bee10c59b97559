"""Files within files, documents without lines, and later phases: by the command, and within.

Parcels (``kb_app.testing.parcels``) have all of it. What runs leave behind when they are
stopped, abandoned or killed is in ``test_histories``.
"""

from __future__ import annotations

import json
import os
import zipfile
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any, NoReturn

import pytest

from kb_app import Config, KnowledgeBase
from kb_app._ingest.making import parsing
from kb_app._ingest.workers.executor import InlineExecutor
from kb_app._wiring import parts_of
from kb_app.config import About, Embedding, Source
from kb_app.testing import parcels as parcels_module
from kb_app.testing.parcels import OpeningParser, parcel, use_parcels
from kb_app.workspaces import place_of
from kb_cli.testing.installed import InstalledKebab
from kb_core.documents import ParsedDocument, SourceFile
from kb_core.ids import doc_id
from kb_core.ingest import IngestOptions, IngestReport
from kb_core.media import SearchMode
from kb_core.ports import Content
from kb_core.search import GrepQuery, SearchFilters, SearchQuery

INNER = parcel("Within, the narwhal.", [("deep.md", "# Deep\n\nThe octopus.\n")])
LETTER = parcel(
    "Dear reader, the walrus.",
    [
        ("notes.md", "# Notes\n\nMarmalade is made of oranges.\n"),
        ("notes.md", "The second of that name: quince.\n"),
        ("inner.epub", INNER),
        ("archive.zip", b"PK\3\4"),
        ("../../../etc/passwd", "Nothing leads out: gooseberry.\n"),
    ],
)


@pytest.fixture
def parcels(installed: InstalledKebab, monkeypatch: pytest.MonkeyPatch) -> InstalledKebab:
    """Return the command, to which parcels are known."""
    folder = installed.home / "installed"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(
        "from kb_app._media import MEDIA\n"
        "from kb_app.testing.parcels import ROW\n"
        "MEDIA['book'] = ROW\n",
        "utf-8",
    )
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    monkeypatch.setenv("PYTHONPATH", path)
    return installed


def paths_of(kebab: InstalledKebab) -> list[str]:
    return [doc["doc_path"] for doc in kebab.json("list", "docs")["items"]]


def test_what_is_within_a_file_is_found_listed_and_cited_as_any_other(
    parcels: InstalledKebab,
) -> None:
    kebab = parcels
    (kebab.notes / "p.epub").write_bytes(LETTER)
    report = kebab.ingest()
    hit = kebab.json("search", "oranges")["hits"][0]
    uri = hit["citation"]["uri"]

    assert (report["new"], report["items"][0]["enclosed_count"]) == (1, 5)
    assert paths_of(kebab) == [
        "p.epub",
        "p.epub!/.._.._.._etc_passwd",
        "p.epub!/inner.epub",
        "p.epub!/inner.epub!/deep.md",
        "p.epub!/notes (2).md",
        "p.epub!/notes.md",
    ]
    assert (hit["doc_path"], uri) == ("p.epub!/notes.md", "p.epub!/notes.md#L1-L3")
    assert hit["stale"] is False
    assert "Marmalade" in kebab.json("cite", uri)["text"]
    assert kebab.json("cite", "verify", uri)["summary"]["unchanged"] == 1
    assert "octopus" in kebab.json("fetch", "doc", "deep.md")["text"]
    inspected = kebab.json("inspect", "doc", "p.epub")
    assert inspected["enclosed"] == paths_of(kebab)[1:]
    assert "archive.zip is not indexed" in inspected["warnings"][0]
    assert kebab.json("inspect", "doc", "p.epub!/inner.epub")["container"] == "p.epub"
    rows = kebab.json("status", "p.epub!/notes.md")["files"]
    assert [(row["doc_path"], row["state"]) for row in rows] == [("p.epub", "indexed")]
    assert kebab.ingest()["unchanged"] == 1
    assert kebab.json("doctor", "--deep")["ok"]


def test_a_document_of_a_medium_with_lines_may_have_none(parcels: InstalledKebab) -> None:
    (parcels.notes / "lines.epub").write_bytes(parcel("Two\nlines."))
    (parcels.notes / "pages.epub").write_bytes(parcel("One page.", sealed="A dodo."))
    report = parcels.ingest()

    assert parcels.json("fetch", "span", "lines.epub", "2", "2")["text"].strip() == "lines."
    told = parcels.run("--json", "fetch", "span", "pages.epub", "1", "1", code=2).stderr
    assert json.loads(told)["code"] == "span_not_supported"
    assert "a place of it as hits cite it, such as 'pages.epub#L1'" in json.loads(told)["hint"]
    hit = parcels.json("search", "dodo")["hits"][0]
    assert hit["citation"]["uri"] == "pages.epub#page=2"
    assert "dodo" in json.dumps(parcels.json("fetch", "pages.epub#page=2"))
    assert (report["new"], report["updated"]) == (2, 0)


class Notes:
    """A knowledge base in this process over a folder of parcels."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "notes"
        self.folder.mkdir()
        base = Config.inside(home / "kb", Source(id="notes", root=self.folder))
        self.config = replace(base, embedding=Embedding(model="none"))

    def open(self) -> KnowledgeBase:
        parts = replace(parts_of(self.config), executor=lambda task, _: InlineExecutor(task))
        return KnowledgeBase(self.config, parts)

    def ingest(self, *without: str, stop_at: int = 0, **options: Any) -> IngestReport:  # noqa: ANN401
        stop, finished = Event(), 0
        with self.open() as kb:
            for event in kb.ingest(IngestOptions(without=without, **options), stop=stop):
                finished += event.kind == "asset_finished"
                if stop_at and finished >= stop_at:
                    stop.set()
        assert event.report is not None
        return event.report

    def found(self, words: str) -> list[str]:
        with self.open() as kb:
            hits = kb.search(SearchQuery(text=words, mode=SearchMode.LEXICAL)).hits
        return [hit.citation.uri for hit in hits]

    def states(self) -> dict[str, str]:
        with self.open() as kb:
            rows = kb.status()["files"]
        return {row["doc_path"]: f"{row['state']} {row.get('reason', '')}".strip() for row in rows}

    def chunks(self) -> int:
        with self.open() as kb:
            return kb.stats()["chunk_count"]

    def docs(self) -> dict[str, str]:
        with self.open() as kb:
            items = kb.list_docs(SearchFilters(), limit=1000)["items"]
        return {item["doc_path"]: item["doc_id"] for item in items}


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Notes:
    use_parcels(monkeypatch)
    return Notes(tmp_path)


def test_an_edit_keeps_what_stays_and_takes_away_what_went_in_one_step(notes: Notes) -> None:
    file = notes.folder / "p.epub"
    file.write_bytes(parcel("L", [("a.md", "apple"), ("b.md", "banana"), ("c.md", "cherry")]))
    notes.ingest()
    before = notes.docs()

    file.write_bytes(parcel("L", [("a.md", "apple"), ("c.md", "cranberry")]))
    report = notes.ingest()

    after = notes.docs()
    assert report.counts["updated"] == 1
    assert after == {path: before[path] for path in ("p.epub", "p.epub!/a.md", "p.epub!/c.md")}
    assert notes.found("banana") == notes.found("cherry") == []
    assert notes.found("cranberry") == ["p.epub!/c.md#L1"]


def test_a_file_that_moves_takes_what_is_in_it_along(notes: Notes) -> None:
    (notes.folder / "p.epub").write_bytes(parcel("L", [("a.md", "apple")]))
    notes.ingest()

    (notes.folder / "p.epub").rename(notes.folder / "q.epub")
    report = notes.ingest()

    assert report.counts["moved"] == 1
    assert notes.docs() == {
        "q.epub": doc_id("notes", "q.epub"),
        "q.epub!/a.md": doc_id("notes", "q.epub", "a.md"),
    }
    assert notes.found("apple") == ["q.epub!/a.md#L1"]
    with notes.open() as kb:
        assert kb.cite("p.epub!/a.md#L1")["doc_path"] == "q.epub!/a.md"
        assert kb.verify_citations(["p.epub!/a.md#L1"])["summary"]["moved"] == 1


@pytest.fixture
def packed(notes: Notes) -> Notes:
    """Return a knowledge base of two archives and a chat, which are nothing but what they hold."""
    notes.config = replace(notes.config, ingest=replace(notes.config.ingest, archives=True))
    for path in ("q.zip", "sub/a[1].zip"):
        (notes.folder / path).parent.mkdir(exist_ok=True)
        with zipfile.ZipFile(notes.folder / path, "w") as archive:
            archive.writestr("docs/plan.md", "The okapi.")
            archive.writestr("o.md", "The okapi and the tapir.")
    talk = "[12.03.24, 18:05:11] Ann: The okapi is here.\n[13.03.24, 18:06:11] Bob: Later.\n"
    (notes.folder / "_chat.txt").write_text(talk)
    notes.ingest()
    return notes


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("q.zip", {"q.zip"}),
        ("/q.zip", {"q.zip"}),
        ("q.zip/**", {"q.zip"}),
        ("q.zip!/docs", {"q.zip"}),
        ("*.zip", {"q.zip", "sub/a[1].zip"}),
        ("sub/*", {"sub/a[1].zip"}),
        ("sub/a[1].zip", {"sub/a[1].zip"}),
        ("_chat.txt", {"_chat.txt"}),
        ("*.md", {"q.zip", "sub/a[1].zip", "_chat.txt"}),
        ("{q.zip,*.txt}", {"q.zip", "_chat.txt"}),
    ],
)
def test_a_pattern_that_names_a_file_finds_what_is_in_it(
    packed: Notes, pattern: str, found: set[str]
) -> None:
    filters = SearchFilters(path_glob=(pattern,))
    with packed.open() as kb:
        hits = kb.search(SearchQuery(text="okapi", mode=SearchMode.LEXICAL, filters=filters)).hits

    assert {hit.doc_path.partition("!/")[0] for hit in hits} == found


@pytest.mark.parametrize("path", ["q.zip", "sub/a[1].zip", "_chat.txt"])
def test_what_is_narrowed_to_a_file_by_its_path_or_id_finds_what_is_in_it(
    packed: Notes, path: str
) -> None:
    whole, id_ = str(packed.folder / path), packed.docs()[path]
    query = SearchQuery(text="okapi", mode=SearchMode.LEXICAL)
    by_id = replace(query, filters=SearchFilters(doc_id=id_))
    about = About(path, "What came.")
    told = replace(packed.config.sources[0], about=(about,))
    packed.config = replace(packed.config, sources=(told,))
    with packed.open() as kb:
        response = kb.search(by_id)
        found = [hit.doc_path for hit in response.hits]
        lines = [
            {
                file["doc_path"]
                for file in kb.grep(GrepQuery(pattern="okapi", paths=(given,)))["files"]
            }
            for given in (path, whole, Path(path).name)
        ]
        code = kb.codebase_search({"query": "okapi", "path": path})["hits"]
    with place_of(packed.config, whole).open() as kb:
        narrowed = [hit.doc_path for hit in kb.search(query).hits]

    assert found
    assert all(each.startswith(f"{path}!/") for each in found)
    assert [said.text for said in response.about] == ["What came."]
    assert lines == [{*found}] * 3
    assert {each["doc_path"] for each in code} == {*narrowed} == {*found}


@pytest.mark.parametrize(
    ("things", "read"),
    [
        ({"docs/plan.md": "P", "o.md": "O", "z/long.md": "L"}, "x.zip"),
        ({"docs/deep/a.md": "A", "docs/b.md": "B"}, "x.zip"),
        ({"a.epub": INNER, "b.md": "B"}, "x.zip"),
        ({"docs/plan.md": "P"}, "x.zip!/docs/plan.md"),
        ({"a.epub": INNER}, "x.zip!/a.epub"),
    ],
)
def test_a_packed_file_is_read_for_its_archive_only_where_it_is_all_of_it(
    notes: Notes, things: dict[str, str | bytes], read: str
) -> None:
    notes.config = replace(notes.config, ingest=replace(notes.config.ingest, archives=True))
    with zipfile.ZipFile(notes.folder / "x.zip", "w") as archive:
        for name, thing in things.items():
            archive.writestr(name, thing)
    notes.ingest()

    with notes.open() as kb:
        asked = kb.fetch("x.zip"), kb.fetch(notes.docs()["x.zip"]), kb.fetch("x.zip:1")
        outline = kb.outline("x.zip")
    assert {found["doc_path"] for found in (*asked, outline)} == {read}


@pytest.mark.parametrize("way", ["delete", "ignore"])
def test_a_file_that_goes_takes_what_is_in_it_along(notes: Notes, way: str) -> None:
    (notes.folder / "p.epub").write_bytes(parcel("L", [("a.md", "apple")]))
    (notes.folder / "other.md").write_text("pear")
    notes.ingest()

    if way == "delete":
        (notes.folder / "p.epub").unlink()
    else:
        (notes.folder / ".kebabignore").write_text("p.epub\n")
    report = notes.ingest()

    assert report.counts["deleted"] == 1
    assert "p.epub" not in " ".join(notes.docs())
    assert notes.found("apple") == []


def test_what_is_added_by_itself_may_hold_files_too(notes: Notes, tmp_path: Path) -> None:
    file = tmp_path / "p.epub"
    file.write_bytes(parcel("L", [("a.md", "apple")]))
    with notes.open() as kb:
        list(kb.ingest_file(str(file)))
        (hit,) = kb.search(SearchQuery(text="apple", mode=SearchMode.LEXICAL)).hits
        assert (hit.doc_path, hit.stale) == (f"{file}!/a.md", False)
        list(kb.remove_added(str(file)))
    assert notes.docs() == {}


def test_what_cannot_be_read_within_a_file_costs_that_alone(notes: Notes) -> None:
    bad = b"PARCEL\0\0L\0\0name\0not hex"
    things: list[tuple[str, str | bytes]] = [("bad.epub", bad), ("a.md", "apple"), (".env", "A=1")]
    (notes.folder / "p.epub").write_bytes(parcel("L", things))
    report = notes.ingest()

    (item,) = report.items or ()
    assert sorted(notes.docs()) == ["p.epub", "p.epub!/a.md"]
    assert [warning.split(":")[0] for warning in item.warnings] == [
        "bad.epub is not indexed",
        ".env is not indexed",
    ]


def test_files_too_deep_within_files_are_named_and_left_out(notes: Notes) -> None:
    data = parcel("The bottom.")
    for depth in range(6):
        data = parcel(f"Level {depth}", [("in.epub", data)])
    (notes.folder / "p.epub").write_bytes(data)
    notes.ingest()

    docs = notes.docs()
    deepest = max(docs, key=lambda path: path.count("!/"))
    assert deepest.count("!/") == 3
    with notes.open() as kb:
        (warning,) = kb.inspect_doc(docs[deepest])["warnings"]
    assert warning == "in.epub is not indexed: it is more than 3 files deep"


def parsed_files(patch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that the path of each file is added to that is parsed from now on."""
    parsed, parse = list[str](), parsing.parse

    def told(source: SourceFile, *rest: Any) -> Any:  # noqa: ANN401 - as it is defined
        parsed.append(source.path)
        return parse(source, *rest)

    patch.setattr(parsing, "parse", told)
    return parsed


def test_what_is_as_it_was_within_a_file_is_not_made_again(
    notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = parcel("Inner.", [("deep.md", "walrus")])
    file = notes.folder / "p.epub"
    file.write_bytes(parcel("L", [("a.md", "apple"), ("in.epub", inner), ("b.md", "banana")]))
    notes.ingest()
    before = notes.docs()
    parsed = parsed_files(monkeypatch)
    file.write_bytes(parcel("L", [("a.md", "apple"), ("in.epub", inner), ("c.md", "cherry")]))
    (item,) = notes.ingest().items or ()

    assert parsed == ["p.epub", "p.epub!/c.md"]
    assert item.enclosed_count == 4
    assert item.chunk_count == notes.chunks()
    assert notes.found("walrus") == ["p.epub!/in.epub!/deep.md#L1"]
    assert notes.found("banana") == []
    kept = {path: before[path] for path in before if path != "p.epub!/b.md"}
    assert notes.docs() == kept | {"p.epub!/c.md": doc_id("notes", "p.epub", "c.md")}
    with notes.open() as kb:
        assert not any(hit.stale for hit in kb.search(SearchQuery(text="apple")).hits)
    notes.ingest(force=True)
    assert len(parsed) == 2 + 5


def test_nor_is_it_within_a_file_that_only_its_bytes_tell_to_hold_files(
    packed: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = [{"id": str(n), "content": f"Note {n}\r\nof the lemur."} for n in range(3)]
    exported = packed.folder / "notes.json"
    exported.write_text(json.dumps({"activeNotes": notes[:2], "trashedNotes": []}))
    packed.ingest()
    before = packed.docs()
    parsed = parsed_files(monkeypatch)

    with zipfile.ZipFile(packed.folder / "q.zip", "a") as archive:
        archive.writestr("new.md", "The okapi, again.")
    exported.write_text(json.dumps({"activeNotes": notes, "trashedNotes": []}))
    packed.ingest()

    assert parsed == ["notes.json", "notes.json!/Note 2.md", "q.zip", "q.zip!/new.md"]
    assert before.items() < packed.docs().items()
    assert len(packed.found("okapi")) == 6


def test_what_waits_for_a_later_phase_is_found_before_as_far_as_it_is_known(notes: Notes) -> None:
    file = notes.folder / "p.epub"
    file.write_bytes(parcel("Plain emu.", [("in.epub", parcel("In.", sealed="An auk."))]))
    first = notes.ingest("ocr")

    assert notes.found("emu")
    assert not notes.found("auk")
    assert notes.states()["p.epub"] == "pending ocr"
    with notes.open() as kb:
        missed = kb.explain_miss(
            "p.epub!/in.epub", SearchQuery(text="auk", mode=SearchMode.LEXICAL)
        )
    assert (missed["verdict"], missed["file"]["state"]) == ("no_match", "pending")
    assert missed["summary"].endswith(
        "it is pending: waits for ocr; what is known without is indexed"
    )
    assert notes.ingest("ocr").counts["unchanged"] == 1
    ids = notes.docs()

    second = notes.ingest()

    assert (first.counts["new"], second.counts["updated"]) == (1, 1)
    assert notes.found("auk") == ["p.epub!/in.epub#page=2"]
    assert notes.states()["p.epub"] == "indexed"
    assert notes.docs() == ids
    assert notes.ingest().counts["unchanged"] == 1


def test_a_later_phase_that_is_stopped_goes_on_with_what_is_left(notes: Notes) -> None:
    words = ["auk", "dodo", "emu", "kiwi"]
    for number, word in enumerate(words):
        file = notes.folder / f"{word}.epub"
        file.write_bytes(parcel("L", sealed=f"The {word}ling."))
        os.utime(file, (10**9 + number, 10**9 + number))

    notes.ingest(stop_at=len(words) + 1)  # one of the later phase

    assert [word for word in words if notes.found(f"{word}ling")] == ["kiwi"], "newest first"
    left = notes.ingest()
    assert left.counts["updated"] == len(words) - 1
    assert all(notes.found(f"{word}ling") for word in words)
    assert set(notes.states().values()) == {"indexed"}


def test_what_cannot_be_made_in_the_later_phase_keeps_what_is_known(
    notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> NoReturn:
        raise OSError("the seal holds")

    (notes.folder / "p.epub").write_bytes(parcel("Plain emu.", sealed="An auk."))
    with monkeypatch.context() as patch:
        patch.setattr(OpeningParser, "__call__", fail)
        report = notes.ingest()

    assert report.counts["error"] == 1
    assert notes.found("emu")
    assert notes.states()["p.epub"] == "failed"
    assert notes.ingest(retry_failed=True).counts["updated"] == 1
    assert notes.found("auk")


def count_openings(patch: pytest.MonkeyPatch) -> list[str]:
    """Return what grows by one whenever a seal is opened."""
    made: list[str] = []

    def opening() -> str:
        made.append("open")
        return made[-1]

    patch.setattr(parcels_module, "opening", opening)
    return made


def test_what_took_long_is_made_once_and_goes_with_the_last_file_that_needs_it(
    notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = count_openings(monkeypatch)
    scan = parcel("Within.", sealed="An auk.")
    (notes.folder / "p.epub").write_bytes(parcel("L", [("in.epub", scan)]))
    (notes.folder / "q.epub").write_bytes(scan)

    notes.ingest()
    notes.ingest(force=True)
    (notes.folder / "q.epub").unlink()
    notes.ingest()
    notes.ingest(force=True)

    assert made == ["open"]
    with notes.open() as kb:
        assert kb.stats()["index_bytes"]["costly"] > 0
    (notes.folder / "p.epub").unlink()
    (notes.folder / "other.md").write_text("pear")
    notes.ingest()
    with notes.open() as kb:
        assert kb.stats()["index_bytes"]["costly"] == 0


@pytest.mark.parametrize("leaves_a_folder", [False, True])
def test_what_took_long_is_kept_until_a_store_that_is_made_anew_has_seen_every_source(
    notes: Notes, monkeypatch: pytest.MonkeyPatch, *, leaves_a_folder: bool
) -> None:
    made = count_openings(monkeypatch)
    (notes.folder / "p.epub").write_bytes(parcel("Dear reader.", sealed="An auk."))
    notes.ingest()
    away = notes.folder.rename(notes.folder.with_name("away"))
    for part in notes.config.storage.data_dir.glob("kebab.duckdb*"):
        part.unlink()

    if leaves_a_folder:
        notes.folder.mkdir()
    notes.ingest()
    assert notes.found("auk")
    away.rename(notes.folder)
    notes.ingest()

    assert notes.found("auk")
    assert made == ["open"]


def test_what_was_made_before_a_failure_is_there_when_it_is_tried_again(
    notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = count_openings(monkeypatch)
    (notes.folder / "p.epub").write_bytes(parcel("L", sealed="An auk."))
    (notes.folder / "other.md").write_text("pear")
    with monkeypatch.context() as patch:
        patch.setattr(parcels_module, "_parsed", _failing_when_opened)
        assert notes.ingest().counts["error"] == 1
    (notes.folder / "other.md").write_text("a ripe pear")
    notes.ingest()  # sweeps

    assert notes.ingest(retry_failed=True).counts["error"] == 0
    assert notes.found("auk")
    assert made == ["open"]


_as_ever = parcels_module._parsed


def _failing_when_opened(content: Content, file: SourceFile, *, opened: bool) -> ParsedDocument:
    if opened:
        raise OSError("the lights went out")
    return _as_ever(content, file, opened=False)


def test_a_file_that_changes_or_goes_while_it_waits(notes: Notes) -> None:
    for name in ("edited", "moved", "gone"):
        (notes.folder / f"{name}.epub").write_bytes(parcel(f"A {name}.", sealed=f"Old {name}ish."))
    notes.ingest("ocr")

    (notes.folder / "edited.epub").write_bytes(parcel("A new one.", sealed="New editedish."))
    (notes.folder / "moved.epub").rename(notes.folder / "there.epub")
    (notes.folder / "gone.epub").unlink()
    counts = notes.ingest().counts

    assert (counts["moved"], counts["updated"], counts["deleted"]) == (1, 1, 1)
    assert notes.found("movedish") == ["there.epub#page=2"]
    assert notes.found("editedish") == ["edited.epub#page=2"]
    assert notes.found("goneish") == []
    assert notes.states() == {
        "edited.epub": "indexed",
        "gone.epub": "deleted",
        "moved.epub": "deleted moved",
        "there.epub": "indexed",
    }
