"""Citations over real folders: which file is meant, and what is said after every change."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kb_app import KnowledgeBase
from kb_app.config import Chunking, Config, Embedding, Source
from kb_app.editors import FilePlace
from kb_app.testing.parts import open_here
from kb_cli.testing.installed import InstalledKebab
from kb_core import wire
from kb_core.citations import Citation, PageSpan, TimeSpan, stored_span
from kb_core.errors import DocNotFound, InvalidInput, IoError, KbError, SpanNotSupported
from kb_core.ids import content_hash
from kb_core.ingest import IngestOptions
from kb_core.media import SearchMode
from kb_core.search import SearchFilters, SearchQuery
from kb_core.testing import closed_schema
from kb_core.testing.documents import Corpus, document
from kb_search.writer import Writer

ROBOTS = "The robots of the harbour unload marmalade at night, when the cranes are still."
WHALES = "Whales sing in the bay, and the old keeper writes down every song he hears."


@dataclass
class World:
    """Two folders, ``notes`` and ``code``, and the knowledge base over them."""

    home: Path
    config: Config

    def write(self, path: str, text: str) -> Path:
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        return file

    def kb(self) -> KnowledgeBase:
        return open_here(self.config)

    def ingest(self) -> None:
        with self.kb() as kb:
            *_, last = kb.ingest(IngestOptions(embed=False))
        assert last.report is not None
        assert not last.report.counts.get("errors")

    def hit(self, text: str) -> Mapping[str, Any]:
        with self.kb() as kb:
            found = kb.search(SearchQuery(text=text, mode=SearchMode.LEXICAL)).hits
        return wire.hit(found[0])

    def verify(self, *items: Any, source: str | None = None) -> Sequence[Mapping[str, Any]]:  # noqa: ANN401
        with self.kb() as kb:
            found = kb.verify_citations(items, source=source)
        Draft202012Validator(closed_schema("citation_check")).validate(found)
        return found["checks"]

    def story(self, *items: Any) -> list[str]:  # noqa: ANN401
        """Return ``status``, or ``status → URI``, of each item."""
        return [
            check["status"] + (f" → {check['now']['uri']}" if "now" in check else "")
            for check in self.verify(*items)
        ]


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> tuple[World, Path]:
    """Return two folders with a few files, indexed, and a copy of it all."""
    home = tmp_path_factory.mktemp("cited") / "home"
    sources = [Source(id=name, root=home / name) for name in ("notes", "code")]
    config = replace(Config.inside(home, *sources), embedding=Embedding(model="none"))
    world = World(home, config)
    world.write("notes/port.md", f"# Port\n\n{ROBOTS}\n\n# Bay\n\n{WHALES}\n")
    world.write("notes/README.md", "# Notes\n\nAbout the harbour.\n")
    world.write("code/README.md", "# Code\n\nAbout the programs.\n")
    world.write("code/crane.py", "def lift(load):\n    return load + 1\n")
    world.ingest()
    shutil.copytree(home, home.with_name("copy"))
    return world, home.with_name("copy")


@pytest.fixture
def world(indexed: tuple[World, Path]) -> World:
    """Return the two folders as they were: to put them back is quicker than to index them."""
    world, copy = indexed
    shutil.rmtree(world.home)
    shutil.copytree(copy, world.home)
    return replace(world)


# -------------------------------------------------------------------- resolving


def test_a_citation_is_the_span_that_it_names(world: World) -> None:
    with world.kb() as kb:
        found = kb.cite("port.md#L3")

        assert found["text"] == ROBOTS + "\n"
        assert found == kb.fetch_span(found["doc_id"], 3, 3)
        assert kb.cite("./port.md#L3") == found
        assert kb.cite("port.md#L3-L999")["effective_end"] == 7
        assert kb.cite("port.md#L99")["text"] == ""


def test_a_man_page_is_cited_by_the_lines_of_its_source(world: World) -> None:
    page = ".TH OTTER 1\n.SH OPTIONS\n.TP\n.BI \\-\\-depth= N\nHow \\fBdeep\\fP the otter digs.\n"
    file = world.write("code/otter.1", page)
    (world.home / "code" / "holt.1.gz").write_bytes(gzip.compress(page.encode()))
    world.ingest()

    with world.kb() as kb:
        assert kb.cite("otter.1#L4-L5")["text"] == "--depth=N\nHow deep the otter digs.\n"
        # A file that is packed alone is read as what is in it, by its own path.
        packed = kb.fetch("holt.1.gz:5")
        assert (packed["doc_path"], packed["effective_end"]) == ("holt.1.gz!/holt.1", 5)
        assert kb.fetch("holt.1.gz")["text"] == kb.fetch("otter.1")["text"]
        assert kb.fetch("holt.1.gz#--depth")["line_start"] == 4
        assert kb.outline("holt.1.gz")["entries"] == kb.outline("otter.1")["entries"]
    uri = "otter.1#L5"
    assert world.story(uri) == ["unchanged"]
    file.write_text(page.replace(".TP", ".PP\nFirst.\n.TP"), "utf-8")
    assert world.story(uri) == ["moved → otter.1#L7"]


def test_a_path_in_two_sources_has_to_be_told_apart(world: World) -> None:
    with world.kb() as kb:
        with pytest.raises(InvalidInput, match="in several sources: code, notes") as caught:
            kb.cite("README.md#L1")
        with pytest.raises(InvalidInput, match="in several sources"):
            kb.verify_citations(["README.md#L1"])

        assert caught.value.details["sources"] == ["code", "notes"]
        assert kb.cite("README.md#L1", source="code")["text"] == "# Code\n"
        assert kb.cite("README.md#L1", source="notes")["text"] == "# Notes\n"
        assert kb.locate("README.md#L1", source="code").path == str(world.home / "code/README.md")


def test_a_hit_says_itself_which_source_it_is_of(world: World) -> None:
    hit = world.hit("programs")

    assert world.story(hit) == ["unchanged"]
    assert world.story(hit["citation"]) == ["unchanged"], "its hash fits one source only"
    (check,) = world.verify(hit)
    assert check["source_id"] == "code"


def test_a_citation_is_verified_as_answers_to_models_print_it(world: World) -> None:
    hit = world.hit("programs")
    place = hit["citation"]
    first, last = (
        place.get("line_start", place.get("start")),
        place.get("line_end", place.get("end")),
    )

    assert (
        world.verify(f"{hit['doc_path']}:{first}-{last}", source="code")[0]["status"] == "unchanged"
    )
    assert world.story("nothing.md:3") == ["gone"]
    assert world.story("C# of old.md:3") == ["gone"], "its name is no place in a file called C"


@pytest.mark.parametrize("path", ["nothing.md", "../notes/port.md", "/etc/passwd", "port.md/x"])
def test_what_is_not_indexed_is_not_found(world: World, path: str) -> None:
    with world.kb() as kb:
        with pytest.raises(DocNotFound, match="no document at"):
            kb.cite(f"{path}#L1")
        with pytest.raises(DocNotFound):
            kb.locate(f"{path}#L1")

    assert world.story(f"{path}#L1") == ["gone"]


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("port.md", "has no path or no fragment"),
        ("port.md#L0", "lines 0-0 are not a span"),
        ("port.md#x", "unknown fragment"),
        ("port.md:9-3", "ends before it begins"),
        ({"uri": 3}, "uri 3 is not the URI"),
        ({"path": "port.md"}, "is not a URI, a citation, a hit"),
        ({"uri": "port.md#L1", "content_hash": "abc"}, "content_hash 'abc' is not 16 hex digits"),
        (["port.md#L1"], "is not a URI"),
    ],
)
def test_what_is_no_citation_is_refused_with_its_number(
    world: World,
    item: Any,  # noqa: ANN401
    message: str,
) -> None:
    with world.kb() as kb, pytest.raises(InvalidInput, match=message) as caught:
        kb.verify_citations(["port.md#L1", item])

    assert str(caught.value).startswith("item 2: ")
    assert caught.value.details["number"] == 2


def test_the_path_a_file_was_moved_from_leads_to_it(world: World) -> None:
    cited = world.hit("robots marmalade")
    (world.home / "notes/port.md").rename(world.home / "notes/old port.md")
    world.ingest()

    with world.kb() as kb:
        assert kb.cite("port.md#L3")["doc_path"] == "old port.md"
        assert kb.locate("port.md#L3").path == str(world.home / "notes/old port.md")
    moved = "moved → old%20port.md#L"
    assert world.story("port.md#L3", cited) == [f"{moved}3", f"{moved}1-L7"]


def test_a_place_is_where_the_text_is_now(world: World) -> None:
    file = world.write("notes/port.md", f"New.\n\n# Port\n\n{ROBOTS}\n")

    with world.kb() as kb:
        assert kb.locate("port.md#L3") == FilePlace(str(file), line=5)
        assert kb.locate("port.md#L7").line == 7, "nothing is there: the line as cited"
        file.unlink()
        with pytest.raises(IoError, match="the file of 'port\\.md' is not there"):
            kb.locate("port.md#L3")


def test_a_moment_of_subtitles_is_opened_in_the_recording_beside_them(world: World) -> None:
    cues = "WEBVTT\n\n01:04.500 --> 01:09.000\nWalruses\n\n01:09.000 --> 01:12.000\nsing.\n"
    file = world.write("notes/talk.en.vtt", cues)
    world.ingest()
    place = world.hit("walruses")["citation"]
    assert place["uri"].startswith("talk.en.vtt#t=1:04.500,1:12.000")
    assert world.story(place) == ["unchanged"]

    with world.kb() as kb:
        assert kb.locate(place["uri"]) == FilePlace(str(file), line=3)
        world.write("notes/talk.de.vtt", cues)
        world.write("notes/talk.md", "Not a recording.")
        film = world.write("notes/talk.mp4", "")
        assert kb.locate(place["uri"]) == FilePlace(
            str(film), is_text=False, media="video", start_ms=64_500
        )
    file.write_text(cues.replace("Walruses", "Whales"), "utf-8")
    assert world.story(place) == ["changed"]


# -------------------------------------------------------------------- verifying


def test_each_kind_of_change_before_and_after_it_is_ingested(world: World) -> None:
    cited = [world.hit("robots marmalade"), "port.md#L3", "port.md#L7", "crane.py#L1-L2"]
    assert world.story(*cited) == ["unchanged"] * 4
    world.write("notes/port.md", f"# Port\n\nHm.\n\n{ROBOTS}\n\n# Bay\n\n{WHALES.lower()}\n")
    (world.home / "code/crane.py").unlink()

    before = world.story(*cited)
    world.ingest()
    after = world.story(*cited)

    assert before == [
        "changed → port.md#L1-L9",
        "moved → port.md#L5",
        "changed → port.md#L9",
        "gone",
    ]
    # Without a hash, a citation means what the index has at its lines now.
    assert after == ["changed → port.md#L1-L7", "unchanged", "unchanged", "gone"]


def test_a_change_is_told_by_lines_until_it_is_ingested(world: World) -> None:
    hit = world.hit("whales keeper")
    world.write("notes/port.md", f"x\n# Port\n\n{ROBOTS}\n\n# Bay\n\n{WHALES[:-1]}, and more.\n")

    (check,) = world.verify("port.md#L7")
    assert check["diff"] == (
        f"--- port.md#L7\n+++ port.md\n@@ -7 +8 @@\n-{WHALES}\n+{WHALES[:-1]}, and more.\n"
    )
    assert check["checked"] == "file"
    world.ingest()
    (check,) = world.verify(hit)
    assert check["status"] == "changed"
    assert "diff" not in check
    assert check["detail"] == "what was cited is not known any more, but for its hash"


def test_a_text_that_was_cut_out_is_found_where_it_was_pasted(world: World) -> None:
    """In a file that ingest knows, in one that it does not know yet, and by its hash alone."""
    world.write("notes/long.md", f"# Long\n\n{ROBOTS}\n\n## Two\n\n{'word ' * 300}\n\n{WHALES}\n")
    world.ingest()
    world.write("notes/long.md", f"# Long\n\n{ROBOTS}\n\n## Two\n\n{'word ' * 300}\n")
    world.write("notes/new.md", f"Pasted:\n\n{WHALES}\n")
    (world.home / "notes/port.md").unlink()

    assert world.story("port.md#L3", "port.md#L7", "long.md#L9") == [
        "moved → long.md#L3",
        "moved → new.md#L3",
        "moved → new.md#L3",
    ]


def test_a_hash_alone_finds_the_chunk_in_another_document(world: World) -> None:
    cited = world.hit("programs")["citation"]
    text = (world.home / "code/README.md").read_text("utf-8")
    (world.home / "code/README.md").unlink()
    world.write("code/manual.md", text)
    (world.home / "code/manual.md").touch()
    world.write("code/README.md", "Nothing here any more, not a word of what it was.\n")
    world.ingest()

    assert world.story(cited) == ["moved → manual.md#L1-L3"]


def test_an_edit_in_place_is_a_change_whatever_stands_elsewhere(world: World) -> None:
    world.write("notes/staging.md", f"# Staging\n\n{ROBOTS}\n")
    world.ingest()
    world.write("notes/port.md", f"# Port\n\n{ROBOTS.replace('night', 'noon')}\n")

    assert world.story("port.md#L3") == ["changed → port.md#L3"]


def test_a_citation_made_with_other_chunks_is_still_verified(world: World) -> None:
    """Lines, and a part of one long line, of which no chunk is left: there is the hash."""
    sentences = [
        f"Sentence number {n} tells of the number {n * n} in its own way." for n in range(90)
    ]
    world.write("notes/long.md", f"# Long\n\n{' '.join(sentences)}\n\nThe end.\n")
    world.ingest()
    hits = [world.hit(f'"number {n} tells"') for n in (2, 40, 80)]
    assert len({hit["chunk_id"] for hit in hits}) == 3
    assert {hit["citation"]["uri"] for hit in hits} >= {"long.md#L3"}

    chunking = Chunking(target_tokens=80, overlap_tokens=0, max_tokens=120)
    world.config = replace(world.config, chunking=chunking)
    world.ingest()

    assert not {hit["chunk_id"] for hit in hits} & {
        world.hit(f'"number {n} tells"')["chunk_id"] for n in (2, 40, 80)
    }
    assert world.story(*hits) == ["unchanged"] * 3


def test_the_index_is_asked_where_the_folder_is_away(world: World) -> None:
    cited = world.hit("robots marmalade")
    shutil.rmtree(world.home / "notes")

    checks = world.verify(cited, "port.md#L3", "port.md#L99")

    assert [check["status"] for check in checks] == ["unchanged", "unchanged", "gone"]
    assert {check["checked"] for check in checks} == {"index"}
    assert checks[0]["detail"] == "the folder of source 'notes' cannot be reached"
    (world.home / "notes").mkdir()  # a mount point
    assert world.story(cited) == ["unchanged"]


def test_the_end_of_a_line_and_the_encoding_say_nothing(world: World) -> None:
    file = world.home / "notes/port.md"
    text = file.read_text("utf-8")
    file.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert world.story("port.md#L1-L7") == ["unchanged"]

    file.write_bytes(b"\xff\xfe" + text.encode("utf-16-le"))
    assert world.story("port.md#L1-L7", world.hit("whales")) == ["unchanged", "unchanged"]


def test_what_is_no_text_any_more_is_gone(world: World) -> None:
    (world.home / "notes/port.md").write_bytes(bytes(range(256)) * 9)

    (check,) = world.verify("port.md#L3")

    assert (check["status"], check["detail"]) == ("gone", "the file is not text any more")


def test_a_link_that_was_put_in_a_files_place_is_not_followed_out(world: World) -> None:
    secret = world.write("secret.txt", f"# Port\n\n{ROBOTS}\npassword\n")
    (world.home / "notes/port.md").unlink()
    (world.home / "notes/port.md").symlink_to(secret)

    (check,) = world.verify("port.md#L3")

    assert (check["status"], "diff" in check) == ("gone", False)
    assert "password" not in json.dumps(world.verify("port.md#L1-L4"))


def test_a_pipe_in_a_files_place_is_not_waited_for(world: World) -> None:
    (world.home / "notes/port.md").unlink()
    os.mkfifo(world.home / "notes/port.md")

    assert world.verify("port.md#L3")[0]["detail"] == "it is not a regular file now"


def test_files_with_names_that_are_no_text_are_found(world: World) -> None:
    name = os.fsdecode(b"caf\xe9 #1.md")
    file = world.home / "notes" / name
    file.write_text(f"# Name\n\n{WHALES[::-1]}\n", "utf-8")
    world.ingest()
    cited = world.hit(WHALES[::-1].split()[1])

    assert world.story(cited) == ["unchanged"]
    with world.kb() as kb:
        assert kb.locate(cited["citation"]["uri"]).path == str(file)


def test_lines_of_what_was_taken_out_of_a_file_are_those_of_the_file_as_it_was(
    world: World,
) -> None:
    config = replace(world.config, ingest=replace(world.config.ingest, archives=True))
    world = replace(world, config=config)
    letter = "Subject: Plan\nContent-Type: multipart/mixed; boundary=B\n\n--B\n\n{}\n--B\n"
    letter += "Content-Disposition: attachment; filename=rep.md\n\n{}\n--B--\n"
    chat = "[12.03.24, 18:05:11] Ann: {}\n[13.03.24, 18:06:11] Bob: Later.\n"
    mail = world.write("notes/m.eml", letter.format(ROBOTS, WHALES))
    rent = world.write("notes/a.rtf", rf"{{\rtf1\ansi {ROBOTS}\par}}")
    talk = world.write("notes/_chat.txt", chat.format(WHALES))
    with zipfile.ZipFile(world.home / "notes" / "q.zip", "w") as packed:
        packed.writestr("plan.md", ROBOTS)
    world.ingest()
    with world.kb() as kb:
        paths = [doc["doc_path"] for doc in kb.list_docs(SearchFilters())["items"]]
    within = [path for path in paths if path.startswith(("m.eml", "a.rtf", "_chat.txt!", "q.zip!"))]
    cited = [f"{path}#L1" for path in within]

    assert len(cited) == 5
    assert world.story(*cited) == ["unchanged"] * 5
    os.utime(mail, ns=(0, 0))
    assert world.story("m.eml#L1") == ["unchanged"]
    mail.write_text(letter.format(WHALES, ROBOTS), "utf-8")
    talk.write_text(chat.format(ROBOTS), "utf-8")
    with zipfile.ZipFile(world.home / "notes" / "q.zip", "w") as packed:
        packed.writestr("other.md", ROBOTS)
    rent.unlink()

    for uri, check in zip(cited, world.verify(*cited), strict=True):
        expected = "gone" if uri.startswith("a.rtf") else "changed"
        assert (uri, check["status"], check["checked"]) == (uri, expected, "file")


# --------------------------------------------------------- places without lines


@pytest.fixture
def media(tmp_path: Path) -> World:
    """Return an index with a PDF of two pages and a recording, made by hand."""
    corpus, text = Corpus(), "First page.\n\nStill the first.\n\nSecond page.\n"
    paper = document("paper.pdf", text)
    pages = [PageSpan(1, 0, 11), PageSpan(1, 13, 29), PageSpan(2)]
    pairs = zip(paper.chunks, pages, strict=True)
    chunks = tuple(replace(chunk, span=stored_span(page)) for chunk, page in pairs)
    paper = replace(paper, chunks=chunks)
    talk = document("talk.mp3", "Hello.\n", media="audio")
    span = stored_span(TimeSpan(1000, 2000))
    talk = replace(talk, chunks=(replace(talk.chunks[0], span=span),))
    config = Config.inside(tmp_path, Source(id="notes", root=tmp_path / "notes"))
    writer = Writer(config.storage.data_dir)
    writer.publish(corpus.publication(paper, talk))
    writer.close()
    return World(tmp_path, replace(config, embedding=Embedding(model="none")))


def test_a_page_is_its_chunks(media: World) -> None:
    with media.kb() as kb:
        first, second = kb.cite("paper.pdf#page=1"), kb.cite("paper.pdf#page=2")
        talk = kb.cite("talk.mp3#t=0:01.000,0:02.000")
        part = kb.cite("talk.mp3#t=0:01.500,0:09.000")
        with pytest.raises(SpanNotSupported, match="has no text at 't="):
            kb.cite("talk.mp3#t=0:02.000,0:09.000")
        with pytest.raises(SpanNotSupported, match="has no text at 'page=9'"):
            kb.cite("paper.pdf#page=9")
        with pytest.raises(SpanNotSupported, match="has no lines"):
            kb.cite("paper.pdf#L1")

    Draft202012Validator(closed_schema("fetch_result")).validate(first)
    assert first["chunk"]["text"] == "First page."
    assert [chunk["text"] for chunk in first["context_after"]] == ["Still the first."]
    assert (second["chunk"]["text"], second["context_after"]) == ("Second page.", [])
    assert talk["chunk"]["text"] == part["chunk"]["text"] == "Hello."


def test_a_page_is_verified_against_the_index(media: World) -> None:
    here = Citation("paper.pdf", PageSpan(1), content_hash("Still the first."))
    there = replace(here, span=PageSpan(2))
    other = replace(here, content_hash="0" * 16)
    past = replace(other, span=PageSpan(9))

    assert media.story(*map(wire.citation, (here, there, other, past))) == [
        "unchanged", "moved → paper.pdf#page=1", "changed", "gone"
    ]  # fmt: skip
    assert media.story("paper.pdf#page=1", "paper.pdf#page=9") == ["unchanged", "gone"]
    assert {check["checked"] for check in media.verify("paper.pdf#page=1")} == {"index"}


# --------------------------------------------------------- the installed command


def test_a_response_of_a_search_is_verified_from_standard_input(kebab: InstalledKebab) -> None:
    kebab.write("a.md", f"# A\n\n{ROBOTS}\n")
    kebab.write("b.md", f"# B\n\n{WHALES}\n")
    kebab.ingest()
    found = kebab.run("--json", "search", "robots whales").stdout

    same = kebab.run("cite", "verify", "-", "--json", given=found)
    (kebab.notes / "a.md").write_text("# A\n\nNobody.\n", "utf-8")
    (kebab.notes / "b.md").rename(kebab.notes / "c.md")
    other = kebab.run("cite", "verify", "-", given=found, code=3)

    assert json.loads(same.stdout)["summary"]["unchanged"] == 2
    assert same.stderr == other.stderr == ""
    lines = sorted(line for line in other.stdout.splitlines() if not line.startswith("    "))
    assert lines == [
        "2 verified: 1 moved, 1 changed",
        "changed    a.md#L1-L3",
        "moved      b.md#L1-L3 → c.md#L1-L3",
    ]


def test_a_page_whose_file_changed_or_went_is_not_unchanged(kebab: InstalledKebab) -> None:
    page = kebab.write("page.html", "<html><body><p>The walrus sleeps.</p></body></html>")
    kebab.write("other.md", "# Other\n\nSomething else.\n")
    kebab.ingest()
    (hit,) = kebab.json("search", "walrus")["hits"]

    def verified(code: int = 0) -> tuple[str, str]:
        given = json.dumps(hit["citation"])
        (check,) = kebab.json("cite", "verify", "-", given=given, code=code)["checks"]
        return check["status"], check["checked"]

    assert verified() == ("unchanged", "index")
    os.utime(page, ns=(0, 0))
    assert verified() == ("unchanged", "index")
    page.write_text("<html><body><p>The otter wakes.</p></body></html>", "utf-8")
    assert verified(3) == ("changed", "file")
    page.unlink()
    assert verified(3) == ("gone", "file")


def test_nothing_is_written_by_citing(kebab: InstalledKebab) -> None:
    kebab.write("a.md", f"# A\n\n{ROBOTS}\n")
    assert (
        json.loads(kebab.run("cite", "a.md#L1", "--json", code=2).stderr)["code"] == "not_indexed"
    )
    kebab.ingest()
    (kebab.notes / "a.md").rename(kebab.notes / "b.md")
    before = state_of(kebab.data_dir)

    kebab.run("--readonly", "cite", "verify", "a.md#L3", "x.md#L1", code=3)
    kebab.run("--readonly", "cite", "a.md#L3")

    assert state_of(kebab.data_dir) == before


def state_of(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        file.relative_to(folder).as_posix(): (file.stat().st_mtime_ns, file.read_bytes())
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def test_errors_are_all_of_ours(world: World) -> None:
    """Whatever stands behind the path and before the place, the answer is ours."""
    for uri in ("%00#L1", "%FF.md#L1", "a%2F..%2Fb#L1", "#L1", "port.md#L1#L2", "p" * 5000 + "#L1"):
        with world.kb() as kb:
            for ask in (kb.cite, kb.locate):
                with pytest.raises(KbError):
                    ask(uri)


def test_lines_beyond_reason_are_clamped(world: World) -> None:
    huge = 10**30
    assert world.story(f"port.md#L1-L{huge}", f"port.md#L{huge}") == ["unchanged", "gone"]
    assert world.story({"uri": f"port.md#L1-L{huge}", "content_hash": "0" * 16}) == [
        "changed → port.md#L1-L7"
    ]
