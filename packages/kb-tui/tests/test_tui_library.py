"""The library: what a filter narrows, and the folder that is added."""

from __future__ import annotations

from pathlib import Path
from threading import Event

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from kb_core.errors import InvalidInput
from kb_core.records import FileState
from kb_core.search import SearchFilters
from kb_core.testing.documents import document, file_row
from kb_tui import popups
from kb_tui.app import KbTui
from kb_tui.popups import AddFolder, folders_below
from kb_tui.testing import TuiKnowledgeBase, app_of, has_drawn, idle, on_screen, until
from kb_tui.widgets.lists import PagedTable, RowTable


@pytest.mark.parametrize(
    ("line", "paths"),
    [
        ("source:notes", {"노트/검색.md", "노트/빈.md", "big/dump.sql", "bad.md"}),
        ("path:big/**", {"big/dump.sql"}),
        ("path:big/** path:bad.md", {"big/dump.sql", "bad.md"}),
        ("media:markdown", {"노트/검색.md"}),
        ("media:code", set()),
        ("state:skipped path:노트/**", {"노트/빈.md"}),
    ],
)
async def test_the_ledger_obeys_its_filter(line: str, paths: set[str]) -> None:
    """What became no document has a path and a source, and no kind, language or tag."""
    app = app_of(TuiKnowledgeBase())
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot)
        await pilot.press("escape", "1", "l", "f")
        app.screen.query_one(Input).value = line
        await pilot.press("enter")
        await idle(pilot)
        table = app.pane.query_one("#ledger", RowTable)

        assert {row["doc_path"] for row in table.rows} == paths


async def test_column_heads_stand_over_their_columns_at_every_width() -> None:
    app = app_of(TuiKnowledgeBase())
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot)
        await pilot.press("escape", "1", "l")
        for width in (40, 77, 80, 109, 110, 111, 140, 200):
            await pilot.resize_terminal(width, 24)
            await until(pilot, lambda: has_drawn(app, (width, 24)))  # noqa: B023 - waited for
            rows = on_screen(app).splitlines()
            head = next(row for row in rows if " state " in row)
            row = next(row for row in rows if "big/dump.sql" in row)

            assert head.index("path") == row.index("big/dump.sql"), width
            assert ("size" in head) == (width > 60)
            assert "size" not in head or head.index("size") + 4 == row.index(" MB") + 3, width


async def test_an_empty_knowledge_base_offers_to_add_a_folder_and_ingests_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "my notes").mkdir()
    (tmp_path / "my notes" / "a.md").write_text("# A\n", "utf-8")
    (tmp_path / "other").mkdir()
    kb = TuiKnowledgeBase()
    kb.counts = {}
    kb.answers |= {"sources": [], "add_source": "my-notes"}
    app = app_of(kb)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, AddFolder))
        app.screen.query_one(Input).value = f"{tmp_path}/m"
        await until(pilot, lambda: "my notes/" in on_screen(app))
        assert "other/" not in on_screen(app)
        await pilot.press("tab", "enter")
        await until(pilot, lambda: "1 file (1 markdown)" in on_screen(app))
        await pilot.press("enter")
        await until(pilot, lambda: kb.ingests == 1)

    assert ("add_source", f"{tmp_path}/my notes") in kb.asked


async def asked_for_a_folder(app: KbTui, pilot: Pilot[None]) -> Input:
    await idle(pilot)
    await pilot.press("escape", "1", "a")
    await until(pilot, lambda: isinstance(app.screen, AddFolder))
    return app.screen.query_one(Input)


async def test_a_folder_that_is_none_is_refused_in_place() -> None:
    app = app_of(TuiKnowledgeBase())
    async with app.run_test(size=(80, 24)) as pilot:
        field = await asked_for_a_folder(app, pilot)
        field.value = "/nowhere"
        for _ in range(2):
            await pilot.press("enter")
            await until(pilot, lambda: "no folder '/nowhere'" in on_screen(app))

        assert isinstance(app.screen, AddFolder)


async def test_a_folder_that_answers_after_its_popup_was_left_breaks_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked, left = Event(), Event()

    def slowly(root: str) -> object:
        looked.set()
        assert left.wait(30)
        raise InvalidInput(f"no folder '{root}'")

    kb = TuiKnowledgeBase()
    monkeypatch.setattr(kb, "preview_source", slowly)
    app = app_of(kb)
    async with app.run_test(size=(80, 24)) as pilot:
        field = await asked_for_a_folder(app, pilot)
        field.value = "/nowhere"
        await pilot.press("enter")
        await until(pilot, looked.is_set)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.pane)
        left.set()
        await idle(pilot)

        assert app.screen is app.pane


async def test_reading_only_offers_nothing() -> None:
    kb = TuiKnowledgeBase(readonly=True)
    kb.counts = {}
    kb.answers["sources"] = []
    app = app_of(kb)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot)

        assert app.screen is app.pane
        assert "open for reading only" in on_screen(app)


def crowded(monkeypatch: pytest.MonkeyPatch) -> tuple[TuiKnowledgeBase, list[tuple[int, int]]]:
    """Return a facade over 1,500 documents, and what pages of them it will have been asked for."""
    kb, asked = TuiKnowledgeBase(), list[tuple[int, int]]()
    made = [document(f"{n:04}.md", f"note {n}", doc_key=n + 1) for n in range(1500)]
    kb.keep(*made, files=[file_row(doc.path, doc_id=doc.doc_id) for doc in made])
    read = kb.list_docs

    def listed(filters: SearchFilters, *, limit: int = 100, offset: int = 0) -> object:
        asked.append((offset, limit))
        return read(filters, limit=limit, offset=offset)

    monkeypatch.setattr(kb, "list_docs", listed)
    return kb, asked


async def test_of_many_documents_those_in_sight_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    kb, asked = crowded(monkeypatch)
    app = app_of(kb)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot)
        await pilot.press("escape", "1")
        await until(pilot, lambda: "0000" in on_screen(app))
        assert "Documents: 1,500" in on_screen(app)
        assert asked == [(0, 200)]

        await pilot.press("G")
        await until(pilot, lambda: "1499.md" in on_screen(app))

        assert asked == [(0, 200), (1400, 200)]
        await pilot.press("g", "g")
        await until(pilot, lambda: "0000" in on_screen(app))
        assert len(asked) == 2

        await pilot.press("l", "G")
        await until(pilot, lambda: "bad.md" in on_screen(app))
        assert "Ledger: 1,504 (1,501 indexed, 2 skipped, 1 failed)" in on_screen(app)


async def test_words_of_a_filter_are_looked_for_in_all_documents(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kb, asked = crowded(monkeypatch)
    app = app_of(kb)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot)
        await pilot.press("escape", "1", "f")
        app.screen.query_one(Input).value = "99"
        await pilot.press("enter")
        await until(pilot, lambda: "Documents: 24 of 1,500" in on_screen(app))
        table = app.pane.query_one("#documents", PagedTable)

        assert [row["doc_path"] for row in table.rows][-2:] == ["1399.md", "1499.md"]
        assert asked[1:] == [(0, 1000), (1000, 1000)]


async def test_tab_waits_for_the_folders_of_what_stands_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list of the text before is in sight until then, and names other folders."""
    for name in ("alpha", "beta"):
        (tmp_path / name).mkdir()
    release = Event()

    def slowly(text: str) -> list[str]:
        assert not text.endswith("/b") or release.wait(30)
        return folders_below(text)

    monkeypatch.setattr(popups, "folders_below", slowly)
    app = app_of(TuiKnowledgeBase())
    async with app.run_test(size=(80, 24)) as pilot:
        field = await asked_for_a_folder(app, pilot)
        field.value = f"{tmp_path}/"
        field.cursor_position = len(field.value)
        await until(pilot, lambda: "alpha/" in on_screen(app))
        await pilot.press("b", "tab", "enter")
        assert field.value == f"{tmp_path}/b"
        release.set()
        await until(pilot, lambda: "0 files" in on_screen(app))

        assert field.value == f"{tmp_path}/beta/"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("/tmp/x", "/tmp/x"), ("~/x", "~/x"), ("x", "~/x"), ("/", "/")],
)
async def test_a_whole_path_takes_the_place_of_the_home_that_stands_there(
    typed: str, meant: str
) -> None:
    app = app_of(TuiKnowledgeBase())
    async with app.run_test(size=(80, 24)) as pilot:
        field = await asked_for_a_folder(app, pilot)
        field.insert_text_at_cursor(typed)
        await until(pilot, lambda: field.value == meant)

        assert field.cursor_position == len(meant)


def test_folders_are_written_as_they_were_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("Notes", "news", ".hidden", "x"):
        (tmp_path / name).mkdir()
    (tmp_path / "note.md").touch()
    monkeypatch.setenv("HOME", str(tmp_path))

    assert folders_below("~/n") == ["~/news/", "~/Notes/"]
    assert folders_below("~/.") == ["~/.hidden/"]
    assert folders_below(f"{tmp_path}/x/") == []
    assert folders_below("~/gone/x") == []


async def test_enter_says_why_a_file_became_no_document() -> None:
    """All of it: the columns have room for the beginning, and a line says one word."""
    kb = TuiKnowledgeBase()
    why = "it is locked with a password; name it in [[passwords]] or KEBAB_PASSWORDS_FILE"
    kb.keep(files=[file_row("aa/locked.pdf", FileState.SKIPPED, reason="encrypted", detail=why)])
    app = app_of(kb)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot)
        await pilot.press("escape", "1", "l", "enter")
        await idle(pilot)
        text = " ".join(on_screen(app).replace("┃", " ").split())

        assert "Not indexed" in text
        assert f"skipped: encrypted: {why}" in text
