"""What is kept of the blocks of a document."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from kb_app._ingest.judging.kinds import Caps
from kb_app._ingest.making import record
from kb_app._ingest.making.record import Made, Task, make
from kb_app._ingest.settings import Settings
from kb_app.testing.facade import ScriptedKnowledgeBase
from kb_core.documents import ChunkLimits, SourceFile
from kb_core.search import GrepQuery, SearchQuery

SETTINGS = Settings(
    model="none",
    cache_dir="",
    limits=ChunkLimits(target_tokens=256, overlap_tokens=32, max_tokens=400),
    window=500,
    caps=Caps(),
    allow_secrets=False,
)


def made(folder: Path, text: str, code_lang: str | None = None) -> Made:
    (folder / "a.md").write_text(text, "utf-8")
    media = "code" if code_lang else "markdown"
    size = len(text.encode())
    file = SourceFile(source_id="s", path="a.md", media=media, code_lang=code_lang, size=size)
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return make(Task(root=str(folder), file=file, raw_path=None, settings=SETTINGS, indexed_at=now))


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep four blocks at most."""
    monkeypatch.setattr(record, "_MOST_BLOCKS", 4)


@pytest.mark.usefixtures("few")
def test_of_very_many_blocks_the_headings_are_kept_and_it_is_said(tmp_path: Path) -> None:
    (document,) = made(tmp_path, "# A heading\n\n" + "a\n\n" * 5).documents

    assert [(block["kind"], block["start"]) for block in document.blocks] == [("heading", 0)]
    assert document.warnings == ("blocks: of 6, headings alone were kept, 1",)


@pytest.mark.usefixtures("few")
def test_of_very_many_headings_the_first_are_kept(tmp_path: Path) -> None:
    (document,) = made(tmp_path, "# A\n" * 5).documents

    assert len(document.blocks) == 4
    assert document.warnings == ("blocks: of 5, headings alone were kept, 4",)


@pytest.mark.usefixtures("few")
def test_all_blocks_of_an_ordinary_document_are_kept(tmp_path: Path) -> None:
    (document,) = made(tmp_path, "# A\n\nb\n\nc\n").documents

    assert [block["kind"] for block in document.blocks] == ["heading", "paragraph", "paragraph"]
    assert document.warnings == ()


FACTORY = (
    "# 앱\ndef app(name):\n" + "    work(name)\n" * 100 + "\n    def inner():\n"
    "        return name\n\n" + "    rest(name)\n" * 5 + "    return inner\n\n\ndef other(): ...\n"
)


def test_what_stands_after_a_function_within_another_is_told_to_stand_in_the_outer_one(
    tmp_path: Path,
) -> None:
    """An outline, lines that match and passages say where it ends: after all that is in it."""
    (document,) = made(tmp_path, FACTORY, "python").documents
    last = FACTORY[: FACTORY.index("    return inner")].count("\n") + 1
    with ScriptedKnowledgeBase(document) as kb:
        entries = kb.outline("a.md")["entries"]
        found = kb.grep(GrepQuery(pattern="def app|rest"))["files"][0]["lines"]
        (hit,) = kb.search(SearchQuery(text="rest", k=1, passages=True)).hits

    told = {one["name"]: (one["line_start"], one["line_end"]) for one in entries}
    assert told["app"] == (1, last)
    assert told["inner"][1] < last
    assert found[0]["unit_end"] == last
    assert {(one["unit"], one["unit_start"], one["unit_end"]) for one in found[1:]} == {
        ("app", 1, last)
    }
    assert hit.passage
    assert hit.passage.unit == (1, last)
