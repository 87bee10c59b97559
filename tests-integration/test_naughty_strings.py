"""No input string can raise: as a query, a file name, a title and content.

The list is the public big list of naughty strings where it is at hand; the strings of
our own below always run.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from kb_app import Config, KnowledgeBase
from kb_app.config import Embedding, Source
from kb_app.testing.parts import open_here
from kb_core import wire
from kb_core.errors import InvalidInput
from kb_core.ingest import IngestOptions, IngestReport
from kb_core.media import SearchMode
from kb_core.search import SearchFilters, SearchQuery

LIST = Path(__file__).parents[2] / "shared/data/suites/naughty-strings/blns.json"
OURS = [
    "(" * 20_000,
    '"',
    '"unclosed',
    "-",
    "--flag",
    "-foo",
    "NOT",
    "AND OR NOT",
    "title:",
    'tag:"',
    "path:*",
    "http://example.org/a?b=c#d",
    "a:b:c",
    "[a TO b]",
    "{1}",
    "x:*",
    "/re/",
    ">5",
    "\\",
    "\0",
    "a\0b",
    "\u200b",
    "\u202egnp.exe",
    "👨‍👩‍👧‍👦🇰🇷",
    "\ufeffbom",
    "é" * 5000,
    "한",
    "_",
    "...",
    "C++ C# .NET",
]


def naughty() -> list[str]:
    listed = json.loads(LIST.read_text("utf-8")) if LIST.is_file() else []
    return [*OURS, *listed]


def run(kb: KnowledgeBase) -> IngestReport:
    *_, last = kb.ingest(IngestOptions())
    assert last.report is not None
    return last.report


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """Return a knowledge base whose titles, contents and file names are the strings."""
    with over(tmp_path_factory.mktemp("naughty"), naughty()) as opened:
        yield opened


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """Return a knowledge base of a few of the strings, which is asked much more quickly."""
    with over(tmp_path_factory.mktemp("few"), naughty()[::50]) as opened:
        yield opened


@contextlib.contextmanager
def over(folder: Path, strings: Sequence[str]) -> Iterator[KnowledgeBase]:
    notes = folder / "notes"
    notes.mkdir()
    for n, text in enumerate(strings):
        safe = text.encode("utf-8", "replace").decode("utf-8")
        quoted = json.dumps(safe)
        (notes / f"title{n}.md").write_text(
            f"---\ntitle: {quoted}\ntags: {quoted}\n---\nbody\n", "utf-8"
        )
        (notes / f"content{n}.md").write_text(f"word {safe} word\n", "utf-8")
        (notes / f"raw{n}.md").write_text(safe, "utf-8")
        _write_named(notes, safe)
    source = Source(id="notes", root=notes)
    config = Config.inside(folder, source)
    with open_here(replace(config, embedding=Embedding(model="none"))) as opened:
        report = run(opened)
        assert report.counts["error"] == 0, report.items
        yield opened


def _write_named(notes: Path, name: str) -> None:
    try:
        (notes / f"{name}.txt").write_text("named file\n", "utf-8")
    except (OSError, ValueError):
        return  # the file system does not allow it


def test_every_string_is_a_query(kb: KnowledgeBase) -> None:
    for text in naughty():
        try:
            query = SearchQuery(text=text, mode=SearchMode.LEXICAL, trace=True)
        except InvalidInput:
            assert not text.strip()
            continue
        try:
            response = kb.search(query)
        except InvalidInput:
            assert text.startswith("-"), text  # it only excludes
            continue
        json.loads(wire.dumps(wire.search_response(response)))


def test_every_string_is_a_filter_or_a_clear_error(small: KnowledgeBase) -> None:
    for text in naughty():
        # An automaton for each pattern that one may mean takes .1 ms a character.
        globs = [SearchFilters(path_glob=(text,))] if len(text) < 60 or text in OURS else []
        for filters in (
            *globs,
            SearchFilters(tag=(text,)),
            SearchFilters(media=(text,)),
            SearchFilters(since=text),
            SearchFilters(trust_min=text),
        ):
            with contextlib.suppress(InvalidInput):
                small.search(SearchQuery(text="word", mode=SearchMode.LEXICAL, filters=filters))


def test_every_file_was_indexed_under_its_own_name(kb: KnowledgeBase) -> None:
    docs = kb.list_docs(SearchFilters(), limit=10_000)
    paths = {doc["doc_path"] for doc in docs["items"]}
    skipped = {f["doc_path"]: f["reason"] for f in kb.status()["files"] if f["state"] != "indexed"}

    assert set(skipped.values()) <= {"empty", "binary", "ignored", "secret_suspected"}
    assert {f"title{n}.md" for n in range(len(naughty()))} <= paths
    for doc in docs["items"]:
        assert kb.fetch_doc(doc["doc_id"])["doc_path"] == doc["doc_path"]


def test_an_unchanged_folder_of_naughty_names_stays_unchanged(kb: KnowledgeBase) -> None:
    report = run(kb)

    assert report.counts["unchanged"] > 0
    changed = {
        kind: n for kind, n in report.counts.items() if n and kind not in {"unchanged", "skipped"}
    }
    assert changed == {}


def test_citations_of_every_file_lead_back_to_it(kb: KnowledgeBase) -> None:
    from kb_core.citations import parse_citation

    hits = kb.search(SearchQuery(text="named file", mode=SearchMode.LEXICAL, k=100)).hits
    assert hits
    for hit in hits:
        assert parse_citation(hit.citation.uri).path == hit.doc_path


@pytest.mark.skipif(os.name != "posix", reason="file names are bytes on POSIX only")
def test_a_name_that_is_not_utf8_is_indexed(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    Path(os.fsdecode(os.fsencode(notes) + b"/caf\xe9.md")).write_text("latin walrus\n", "utf-8")
    config = Config.inside(tmp_path, Source(id="notes", root=notes))
    with open_here(replace(config, embedding=Embedding(model="none"))) as opened:
        run(opened)
        hits = opened.search(SearchQuery(text="walrus", mode=SearchMode.LEXICAL)).hits

        assert [hit.doc_path for hit in hits] == ["caf%E9.md"]
        assert not hits[0].stale
