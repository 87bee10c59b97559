"""The table of tests of the design of verbatim fetch, row by row.

Rows of kebab-app are asked of the facade, rows of kebab-cli of the installed command, rows
of kebab-mcp of the server over a real knowledge base. The design's serialised Markdown is
the verbatim text of the file here, and a cut is at a line end.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

import mcp_types as types
import pytest
from jsonschema import Draft202012Validator

from kb_app import KnowledgeBase
from kb_app._wiring import parts_of
from kb_app.config import Config, Embedding, load_config
from kb_app.testing.parts import open_here
from kb_cli.testing import KebabHere
from kb_cli.testing.installed import InstalledKebab
from kb_core.clock import utc_now
from kb_core.errors import ChunkNotFound, DocNotFound, InvalidInput, SpanNotSupported
from kb_core.search import SearchFilters
from kb_core.testing import closed_schema
from kb_core.testing.documents import Corpus, document
from kb_mcp.testing import call
from kb_search.writer import Writer

CHUNKING = "[chunking]\ntarget_tokens = 32\noverlap_tokens = 0\nmax_tokens = 64\n"
SECTIONS = [
    f"## Part {n}\n\nThis is what part {n} says: " + " ".join(f"w{n}x{i}" for i in range(8)) + ".\n"
    for n in range(1, 10)
]
TEXT = "# Whole\n\n" + "\n".join(SECTIONS)
UNKNOWN = "f" * 32


@pytest.fixture(scope="module")
def kebab(tmp_path_factory: pytest.TempPathFactory) -> InstalledKebab:
    """Return the installed command over one Markdown file of many chunks."""
    kebab = KebabHere(tmp_path_factory.mktemp("seed"))
    kebab.configure(extra=CHUNKING)
    kebab.write("guide/whole.md", TEXT)
    kebab.ingest()
    return kebab


@pytest.fixture
def kb(kebab: InstalledKebab) -> Iterator[KnowledgeBase]:
    """Return the facade over the same knowledge base."""
    with open_here(load_config(kebab.config, os.environ)) as kb:
        yield kb


@pytest.fixture
def doc_id(kb: KnowledgeBase) -> str:
    """Return the id of the one document."""
    (doc,) = kb.list_docs(SearchFilters())["items"]
    return str(doc["doc_id"])


@pytest.fixture
def chunks(kb: KnowledgeBase, doc_id: str) -> Sequence[Mapping[str, Any]]:
    """Return its chunks, in order."""
    found = kb.chunks_of(doc_id)
    assert len(found) > 6
    return found


def texts(chunks: Sequence[Mapping[str, Any]]) -> list[str]:
    return [chunk["text"] for chunk in chunks]


# --------------------------------------------------------- unit: kebab-app


def test_seed_verbatim_fetch_01_chunk_without_context(
    kb: KnowledgeBase, chunks: Sequence[Mapping[str, Any]]
) -> None:
    found = kb.fetch_chunk(chunks[3]["chunk_id"])

    assert (found["kind"], found["chunk"]) == ("chunk", chunks[3])
    assert (found["context_before"], found["context_after"]) == ([], [])
    assert found["truncated"] is False


def test_seed_verbatim_fetch_02_chunk_with_context_2(
    kb: KnowledgeBase, chunks: Sequence[Mapping[str, Any]]
) -> None:
    found = kb.fetch_chunk(chunks[3]["chunk_id"], context=2)

    assert texts(found["context_before"]) == texts(chunks[1:3])
    assert texts(found["context_after"]) == texts(chunks[4:6])
    ordinals = [chunk["ordinal"] for chunk in (*found["context_before"], *found["context_after"])]
    assert ordinals == [1, 2, 4, 5]


@pytest.mark.parametrize("context", [99, 2**32 - 1, 2**63])
def test_seed_verbatim_fetch_03_context_is_clamped_at_both_ends(
    kb: KnowledgeBase, chunks: Sequence[Mapping[str, Any]], context: int
) -> None:
    found = kb.fetch_chunk(chunks[1]["chunk_id"], context=context)

    assert texts(found["context_before"]) == texts(chunks[:1])
    assert texts(found["context_after"]) == texts(chunks[2:])
    first = kb.fetch_chunk(chunks[0]["chunk_id"], context=1)
    assert (first["context_before"], len(first["context_after"])) == ([], 1)


def test_seed_verbatim_fetch_04_doc_is_the_file_itself(kb: KnowledgeBase, doc_id: str) -> None:
    found = kb.fetch_doc(doc_id)

    assert (found["kind"], found["text"], found["truncated"]) == ("doc", TEXT, False)
    assert "omitted_chars" not in found


def test_seed_verbatim_fetch_05_doc_with_a_budget_is_cut(kb: KnowledgeBase, doc_id: str) -> None:
    found = kb.fetch_doc(doc_id, max_tokens=50)

    assert found["truncated"] is True
    assert len(found["text"]) <= 200
    assert TEXT.startswith(found["text"])
    assert found["text"].endswith("\n"), "at the last line end inside the budget"
    assert found["omitted_chars"] == len(TEXT) - len(found["text"])
    assert kb.fetch_doc(doc_id, max_tokens=len(TEXT))["truncated"] is False


def test_seed_verbatim_fetch_06_span_is_those_lines(kb: KnowledgeBase, doc_id: str) -> None:
    found = kb.fetch_span(doc_id, 3, 5)

    assert found["text"] == "".join(TEXT.splitlines(keepends=True)[2:5])
    assert (found["line_start"], found["line_end"], found["effective_end"]) == (3, 5, 5)
    assert found["truncated"] is False


def test_seed_verbatim_fetch_07_span_past_the_end_is_clamped(
    kb: KnowledgeBase, doc_id: str
) -> None:
    total = TEXT.count("\n")

    found = kb.fetch_span(doc_id, total - 1, total + 100)
    past = kb.fetch_span(doc_id, total + 1, total + 2)

    assert found["text"] == "".join(TEXT.splitlines(keepends=True)[-2:])
    assert (found["line_end"], found["effective_end"]) == (total + 100, total)
    assert (past["text"], past["effective_end"]) == ("", total)
    assert (found["truncated"], past["truncated"]) == (False, False)


@pytest.fixture
def media(tmp_path: Path) -> Iterator[KnowledgeBase]:
    """Return an index with a PDF and a recording, made by hand."""
    writer = Writer(tmp_path / "data")
    paper, talk = document("a.pdf", "One.\n"), document("b.mp3", "Two.\n", media="audio")
    writer.publish(Corpus().publication(paper, talk))
    writer.close()
    with KnowledgeBase.open(
        replace(Config.inside(tmp_path), embedding=Embedding(model="none"))
    ) as kb:
        yield kb


@pytest.mark.parametrize(
    ("path", "text"),
    [
        pytest.param("a.pdf", "One.\n", id="08_pdf"),
        pytest.param("b.mp3", "Two.\n", id="09_audio"),
    ],
)
def test_seed_verbatim_fetch_span_of_what_has_no_lines(
    media: KnowledgeBase, path: str, text: str
) -> None:
    (doc,) = media.list_docs(SearchFilters(path_glob=(path,)))["items"]

    with pytest.raises(SpanNotSupported) as caught:
        media.fetch_span(doc["doc_id"], 1, 2)

    assert caught.value.code == "span_not_supported"
    assert "fetch the chunk" in str(caught.value.hint)
    assert media.fetch_doc(doc["doc_id"])["text"] == text


def test_seed_verbatim_fetch_10_unknown_chunk(kb: KnowledgeBase) -> None:
    with pytest.raises(ChunkNotFound) as caught:
        kb.fetch_chunk(UNKNOWN)

    assert caught.value.code == "chunk_not_found"


def test_seed_verbatim_fetch_11_unknown_doc(kb: KnowledgeBase) -> None:
    for ask in (kb.fetch_doc, lambda doc: kb.fetch_span(doc, 1, 2)):
        with pytest.raises(DocNotFound) as caught:
            ask(UNKNOWN)

        assert caught.value.code == "doc_not_found"


def test_seed_verbatim_fetch_12_indexed_at_and_stale(kebab: InstalledKebab, doc_id: str) -> None:
    config = load_config(kebab.config, os.environ)
    days = config.search.stale_threshold_days

    def at(moment: datetime) -> Sequence[Mapping[str, Any]]:
        kb = KnowledgeBase(config, parts_of(config, clock=lambda: moment))
        with kb:
            chunk = kb.chunks_of(doc_id)[0]["chunk_id"]
            return [kb.fetch_chunk(chunk), kb.fetch_doc(doc_id), kb.fetch_span(doc_id, 1, 2)]

    now = utc_now()
    fresh, old = at(now), at(now + timedelta(days=days + 1))

    assert len({found["indexed_at"] for found in fresh}) == 1
    indexed = datetime.fromisoformat(fresh[0]["indexed_at"])
    assert now - timedelta(hours=1) < indexed <= now
    assert [found["stale"] for found in fresh] == [False] * 3
    assert [found["stale"] for found in old] == [True] * 3
    file, times = kebab.notes / "guide/whole.md", (kebab.notes / "guide/whole.md").stat()
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns + 1))
    try:
        assert [found["stale"] for found in at(now)] == [True] * 3, "the file is not as indexed"
    finally:
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


# -------------------------------------------------- integration: kebab-cli


def test_seed_verbatim_fetch_13_cli_chunk(
    kebab: InstalledKebab, chunks: Sequence[Mapping[str, Any]]
) -> None:
    found = kebab.json("fetch", "chunk", chunks[3]["chunk_id"], "--context", "1")

    Draft202012Validator(closed_schema("fetch_result")).validate(found)
    assert texts(found["context_before"]) == texts(chunks[2:3])
    assert texts(found["context_after"]) == texts(chunks[4:5])


def test_seed_verbatim_fetch_14_cli_doc(kebab: InstalledKebab, doc_id: str) -> None:
    found = kebab.json("fetch", "doc", doc_id[:8], "--max-tokens", "100")

    Draft202012Validator(closed_schema("fetch_result")).validate(found)
    assert found["truncated"] is True
    assert len(found["text"]) <= 400


def test_seed_verbatim_fetch_15_cli_span(kebab: InstalledKebab, doc_id: str) -> None:
    found = kebab.json("fetch", "span", doc_id, "1", "5")

    Draft202012Validator(closed_schema("fetch_result")).validate(found)
    assert found["text"] == "".join(TEXT.splitlines(keepends=True)[:5])


def test_seed_verbatim_fetch_16_cli_unknown_chunk(kebab: InstalledKebab) -> None:
    done = kebab.run("--json", "fetch", "chunk", UNKNOWN, code=2)

    told = json.loads(done.stderr)
    Draft202012Validator(closed_schema("error")).validate(told)
    assert (done.stdout, told["code"]) == ("", "chunk_not_found")


def test_seed_verbatim_fetch_17_cli_plain_chunk(
    kebab: InstalledKebab, chunks: Sequence[Mapping[str, Any]]
) -> None:
    chunk = chunks[3]
    heading = " › ".join(chunk["heading_path"])

    plain = kebab.run("fetch", "chunk", chunk["chunk_id"]).stdout
    around = kebab.run("fetch", "chunk", chunk["chunk_id"], "--context", "1").stdout

    head = f"[guide/whole.md § {heading}]\n"
    before, target, after = texts(chunks[2:5])
    assert heading.startswith("Whole › Part ")
    assert plain == f"{head}{target}\n"
    assert around == (
        f"{head}=== before ===\n{before}\n=== target ===\n{target}\n=== after ===\n{after}\n"
    )


# -------------------------------------------------- integration: kebab-mcp


async def fetched(kb: KnowledgeBase, **arguments: Any) -> tuple[bool, dict[str, Any]]:  # noqa: ANN401
    result = await call(cast("Any", kb), "fetch", arguments)
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    body: dict[str, Any] = json.loads(block.text)
    return bool(result.is_error), body


async def test_seed_verbatim_fetch_18_mcp_in_three_modes(
    kb: KnowledgeBase, doc_id: str, chunks: Sequence[Mapping[str, Any]]
) -> None:
    chunk_id = chunks[3]["chunk_id"]

    chunk = await fetched(kb, kind="chunk", chunk_id=chunk_id, context=1)
    doc = await fetched(kb, kind="doc", doc_id=doc_id)
    span = await fetched(kb, kind="span", doc_id=doc_id, line_start=1, line_end=5)

    assert chunk == (False, kb.fetch_chunk(chunk_id, context=1))
    assert doc == (False, kb.fetch_doc(doc_id))
    assert span == (False, kb.fetch_span(doc_id, 1, 5))


@pytest.mark.parametrize(
    "arguments",
    [
        {"kind": "chunk", "chunk_id": None},
        {"kind": "chunk"},
        {"kind": "doc"},
        {"kind": "span", "doc_id": UNKNOWN, "line_start": 1},
    ],
)
async def test_seed_verbatim_fetch_19_mcp_without_what_the_mode_needs(
    kb: KnowledgeBase, arguments: dict[str, Any]
) -> None:
    is_error, body = await fetched(kb, **arguments)

    Draft202012Validator(closed_schema("error")).validate(body)
    assert (is_error, body["code"]) == (True, "invalid_input")


# ------------------------------------------------ integration: wire-schema


def test_seed_verbatim_fetch_20_three_modes_are_of_the_schema(
    kb: KnowledgeBase, doc_id: str, chunks: Sequence[Mapping[str, Any]]
) -> None:
    validator = Draft202012Validator(closed_schema("fetch_result"))

    for found in (
        kb.fetch_chunk(chunks[3]["chunk_id"], context=1),
        kb.fetch_doc(doc_id, max_tokens=10),
        kb.fetch_span(doc_id, 1, 2),
    ):
        validator.validate(found)
        for needed in ("schema_version", "kind", "doc_id", "doc_path", "indexed_at", "stale"):
            assert not validator.is_valid({k: v for k, v in found.items() if k != needed})


# -------------------------------------------------- what the design says besides


@pytest.mark.parametrize("lines", [(0, 1), (-1, 3), (5, 4)])
def test_seed_verbatim_fetch_a_span_has_a_start_and_an_end(
    kb: KnowledgeBase, doc_id: str, lines: tuple[int, int]
) -> None:
    with pytest.raises(InvalidInput):
        kb.fetch_span(doc_id, *lines)


def test_seed_verbatim_fetch_a_span_with_a_budget_is_cut_where_it_hurts_least(
    kb: KnowledgeBase, doc_id: str
) -> None:
    cut, none = (
        kb.fetch_span(doc_id, 1, 9, max_tokens=6),
        kb.fetch_span(doc_id, 5, 9, max_tokens=1),
    )

    assert (cut["text"], cut["effective_end"]) == ("# Whole\n\n## Part 1\n\n", 4)
    assert (none["truncated"], none["effective_end"]) == (True, 5)
    assert 3 <= len(none["text"]) <= 4
    assert cut["omitted_chars"] > 0
