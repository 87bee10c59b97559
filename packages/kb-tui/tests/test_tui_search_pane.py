"""The search pane, headless: what is drawn, asked and dropped, and what is never waited for.

The facade has its parts in memory, and remembers which thread asked it what.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import cast

import pytest
from textual import events
from textual.widgets import Input

from kb_app._evals.said import said_of
from kb_app._queries import shown as shown_hit
from kb_app.drawing import Picture, png
from kb_app.shown import NO_ANSWER, PER_DOC
from kb_core.citations import Citation, LineSpan
from kb_core.errors import ChunkNotFound, NotIndexed, SpanNotSupported, StaleCursor
from kb_core.search import Hit, SearchQuery
from kb_tui._passage import Line
from kb_tui.app import KbTui
from kb_tui.popups import CheatSheet, ErrorPopup
from kb_tui.screens.search import SearchPane
from kb_tui.testing import (
    HITS,
    KOREAN,
    PAPER,
    TuiKnowledgeBase,
    app_of,
    has_drawn,
    idle,
    on_screen,
    search,
    shown,
    until,
)
from kb_tui.widgets.bars import HintLine
from kb_tui.widgets.hit_list import HitList
from kb_tui.widgets.preview import Preview


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the keys of one word come slowly: no search of half a word."""
    monkeypatch.setattr(SearchPane, "DELAY_S", 1.0)


MANY = HITS * 3
"""More hits than fit, so that no page is asked for before somebody wants it."""


def hits_of(app: KbTui) -> HitList:
    return app.pane.query_one(HitList)


def fail(error: Exception, _call: str) -> None:
    raise error


async def test_a_search_starts_by_itself_after_the_last_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Long enough that a busy machine presses all six keys within it.
    monkeypatch.setattr(SearchPane, "DELAY_S", 2.0)
    kb = TuiKnowledgeBase()
    app = app_of(kb)
    async with app.run_test() as pilot:
        await pilot.press(*"fusion")
        during = list(kb.queries)
        await idle(pilot)

    assert during == []
    assert kb.queries == [SearchQuery(text="fusion", per_doc=PER_DOC)]


async def test_enter_searches_at_once_and_only_once() -> None:
    kb = TuiKnowledgeBase()
    app = app_of(kb)
    async with app.run_test() as pilot:
        await search(pilot, "fusion")
        await pilot.press("escape", "enter")
        await idle(pilot)

    assert kb.queries == [SearchQuery(text="fusion", per_doc=PER_DOC)] * 2


async def test_a_few_hits_of_a_document_say_how_many_more_there_are_and_a_path_shows_all() -> None:
    kb = TuiKnowledgeBase()
    kb.hits = (replace(HITS[0], more_in_doc=1204), *HITS[1:])
    app = app_of(kb)
    async with app.run_test(size=(100, 24)) as pilot:
        await search(pilot, "fusion")
        (told,) = [line for line in on_screen(app).splitlines() if "more]" in line]
        await pilot.press("escape", "f", *"path:notes/**", "enter")
        await until(pilot, lambda: len(kb.queries) == 2)

    assert "[+1,204 more]" in told
    assert [query.per_doc for query in kb.queries] == [PER_DOC, None]


@pytest.mark.parametrize("width", [80, 140])
async def test_hits_that_answer_nothing_are_told_from_those_that_do(width: int) -> None:
    kb = TuiKnowledgeBase()
    kb.confidence = 0.01
    app = app_of(kb)
    async with app.run_test(size=(width, 24)) as pilot:
        await search(pilot, "fusion")
        doubted = NO_ANSWER in on_screen(app)
        kb.confidence = 0.9
        await pilot.press("enter")
        await until(pilot, lambda: len(kb.queries) == 2)
        await idle(pilot)
        believed = NO_ANSWER in on_screen(app)
        kb.confidence = 0.01
        await pilot.press("3", *"why", "enter")
        await idle(pilot)
        asked = NO_ANSWER in on_screen(app)

    assert (doubted, believed, asked) == (True, False, True)


@pytest.mark.parametrize("is_there", [True, False], ids=["drawn", "not to be drawn"])
async def test_a_page_is_shown_as_it_looks_and_again_as_what_it_says(is_there: bool) -> None:
    kb, drawn = TuiKnowledgeBase(), list[str]()
    page = Picture(png(b"\xff" * 3 * 8 * 9, (8, 9)), 8, 9, "p", 0, is_as_indexed=True)

    def draw(uri: str, source: str | None, dpi: float) -> Picture:
        drawn.append(uri)
        if not is_there:
            raise SpanNotSupported("nothing to see")
        return page

    kb.answers["draw"] = draw
    app = app_of(kb)
    async with app.run_test(size=(100, 24)) as pilot:
        await search(pilot, "fusion")
        await pilot.press("escape", "v")
        await idle(pilot)
        of_a_note = list(drawn)
        await pilot.press("end")
        await until(pilot, lambda: bool(drawn))
        await idle(pilot)
        looks = "▀▀▀▀▀▀▀▀" in on_screen(app)
        await pilot.press("v")
        await idle(pilot)
        says = "▀" not in on_screen(app)

    assert of_a_note == []
    assert drawn == [PAPER.chunk_id]
    assert (looks, says) == (is_there, True)


async def test_queries_of_earlier_sessions_are_offered_and_this_one_s_are_kept() -> None:
    kb, kept = TuiKnowledgeBase(), list[tuple[str, ...]]()
    kb.answers["recent_queries"] = ("older", "fusion")
    kb.answers["keep_queries"] = lambda queries: kept.append(tuple(queries))
    app = app_of(kb)
    async with app.run_test() as pilot:
        await search(pilot, "fusion")
        await pilot.press("ctrl+r")
        await until(pilot, lambda: "older" in on_screen(app))
        await pilot.press("j", "enter")
        await until(pilot, lambda: [query.text for query in kb.queries] == ["fusion", "older"])

    assert kept == [("fusion",)]


async def test_a_key_says_whether_the_chosen_hit_answers_the_query() -> None:
    kb, said = TuiKnowledgeBase(), list[tuple[str, int, str]]()

    def judge(query: SearchQuery, hit: Hit, verdict: str, note: str | None) -> object:
        said.append((query.text, hit.rank, verdict))
        return said_of(
            shown_hit(hit),
            query=query.text,
            mode=query.mode.value,
            filters={},
            verdict=verdict,
            note=note,
            said_by="person",
            now=datetime(2026, 5, 31, tzinfo=UTC),
        )

    kb.answers["judge"] = judge
    app = app_of(kb)
    async with app.run_test() as pilot:
        await search(pilot, "fusion")
        await pilot.press("escape", "plus")
        await until(pilot, lambda: "feedback kept: " in on_screen(app))
        await pilot.press("j", "minus")
        await until(pilot, lambda: len(said) == 2)

    assert said == [("fusion", HITS[0].rank, "good"), ("fusion", HITS[1].rank, "bad")]


async def test_an_older_answer_never_replaces_a_newer_one() -> None:
    """The first search hangs; the second, asked later, answers first."""
    kb, release = TuiKnowledgeBase(), threading.Event()
    app = app_of(kb)

    def wait_for_old(call: str) -> None:
        if call == "search" and kb.queries[-1].text == "old":
            release.wait(120)
            kb.hits = ()

    kb.before = wait_for_old
    try:
        async with app.run_test() as pilot:
            await pilot.press(*"old", "enter")
            await until(pilot, lambda: len(kb.queries) == 1)
            await pilot.press("home", "delete", "delete", "delete", *"new", "enter")
            await until(pilot, lambda: hits_of(app).count == 3)
            release.set()
            await idle(pilot)

            assert [query.text for query in kb.queries] == ["old", "new"]
            assert hits_of(app).count == 3
            assert shown(app, "#state") == "3 hits in 12 ms"
    finally:
        release.set()


async def test_keys_are_answered_while_a_search_hangs() -> None:
    kb, release = TuiKnowledgeBase(), threading.Event()
    kb.before = lambda call: cast("None", call.startswith("search") and release.wait(120))
    app = app_of(kb)
    try:
        async with app.run_test() as pilot:
            await pilot.press(*"slow", "enter")
            await until(pilot, lambda: len(kb.queries) == 1)
            await pilot.press("escape", "m", "i", "e", "r")

            assert app.screen.query_one(Input).value == "slower"
            assert shown(app, "#mode") == "lexical:"
            assert shown(app, "#state") == "searching…"
            release.set()
            await idle(pilot)
    finally:
        release.set()


async def test_the_facade_is_never_called_on_the_thread_of_the_screen() -> None:
    kb = TuiKnowledgeBase()
    app = app_of(kb)
    async with app.run_test() as pilot:
        await search(pilot, "fusion")
        await pilot.press("escape", "j", "k", "G", "m", "enter")
        await idle(pilot)

    assert kb.queries
    assert kb.fetched
    assert threading.get_ident() not in kb.threads


async def test_emptying_the_query_empties_the_screen_without_a_search() -> None:
    kb = TuiKnowledgeBase()
    app = app_of(kb)
    async with app.run_test() as pilot:
        await search(pilot, "x")
        await pilot.press("backspace", "space", "enter")
        await idle(pilot)

        assert len(kb.queries) == 1
        assert hits_of(app).count == 0
        assert "type to search" in on_screen(app)
        assert "하이브리드" not in on_screen(app)


async def test_no_hits_is_said_and_is_no_error() -> None:
    app = app_of(TuiKnowledgeBase(()))
    async with app.run_test() as pilot:
        await search(pilot, "zzz")

        assert "no hits for zzz" in on_screen(app)
        assert shown(app, "#state") == "0 hits in 12 ms"
        assert isinstance(app.screen, SearchPane)


async def test_an_empty_knowledge_base_says_what_to_do() -> None:
    kb = TuiKnowledgeBase()
    kb.counts = {}
    kb.answers["sources"] = [("notes", "/notes")]
    app = app_of(kb)
    async with app.run_test() as pilot:
        await idle(pilot)

        assert "nothing is indexed yet: Esc, then r ingests" in on_screen(app)
        assert "0 documents, 0 chunks" in on_screen(app)


async def test_a_degraded_answer_says_so() -> None:
    kb = TuiKnowledgeBase()
    kb.degraded = ("vector: no embeddings for this model yet",)
    app = app_of(kb)
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "x")

        assert "vector: no embeddings for this model yet" in on_screen(app)


async def test_commands_are_named_for_the_knowledge_base_that_is_open() -> None:
    """Who runs ``kebab embed`` without ``--config`` changes another knowledge base."""
    kb = TuiKnowledgeBase()
    kb.degraded = ("no embeddings (run 'kebab embed')",)
    app = app_of(kb, lambda text: text.replace("kebab ", "kebab --config C "))
    async with app.run_test(size=(90, 30)) as pilot:
        await search(pilot, "x")
        assert "run 'kebab --config C embed'" in on_screen(app)
        await pilot.press("escape", "t")
        await idle(pilot)
        assert "run 'kebab --config C embed'" in on_screen(app)
        await pilot.press("escape")

        kb.before = partial(fail, NotIndexed("nothing", hint="run 'kebab ingest'"))
        await search(pilot, "y")
        assert isinstance(app.screen, ErrorPopup)
        assert "run 'kebab --config C ingest'" in on_screen(app)


async def test_counts_are_read_again_when_the_revision_moves() -> None:
    kb = TuiKnowledgeBase()
    app = app_of(kb)
    async with app.run_test() as pilot:
        await search(pilot, "x")
        kb.revision, kb.counts = 2, {"doc_count": 1, "chunk_count": 2}
        await pilot.press("enter")
        await idle(pilot)

        assert "1 document, 2 chunks" in shown(app, "#about")


async def test_read_only_is_said_and_no_key_that_writes_is_offered() -> None:
    app = app_of(TuiKnowledgeBase(readonly=True))
    async with app.run_test(size=(100, 40)) as pilot:
        await idle(pilot)
        assert "Search (read-only)" in shown(app, "#about")
        await pilot.press("escape", "1", "f1")
        await idle(pilot)
        screen = on_screen(app)

    assert "r ingest" not in screen
    assert "ingest in the background" not in screen
    assert "add a folder" not in screen


async def test_the_next_hits_come_as_soon_as_the_last_one_is_in_sight() -> None:
    kb = TuiKnowledgeBase()
    kb.more = (replace(KOREAN, chunk_id="9" * 32),)
    app = app_of(kb)
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "x")
        await until(pilot, lambda: hits_of(app).count == 4)

        assert hits_of(app).chosen == 0
        assert [query.cursor for query in kb.queries] == [None, "next"]


async def test_hits_of_several_sources_say_theirs() -> None:
    kb = TuiKnowledgeBase((KOREAN, replace(KOREAN, chunk_id="9" * 32, source_id="diary")))
    app = app_of(kb)
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "x")
        rows = [row for row in on_screen(app).splitlines() if "검색 › " in row]

    assert [row.split()[-2] for row in rows] == ["notes", "diary"]


async def test_a_click_on_a_facet_filters_by_it() -> None:
    kb = TuiKnowledgeBase()
    app = app_of(kb)
    async with app.run_test(size=(140, 40)) as pilot:
        await search(pilot, "x")
        await until(pilot, lambda: "Kind" in on_screen(app))
        await pilot.click("#facet-bar", offset=(6, 2))
        await idle(pilot)

        assert len(kb.queries[-1].filters.media) == 1
        assert "✓ " in on_screen(app)


async def test_m_goes_through_the_modes_and_searches_again() -> None:
    kb = TuiKnowledgeBase()
    app = app_of(kb)
    async with app.run_test() as pilot:
        await search(pilot, "x")
        await pilot.press("escape")
        for mode in ("lexical", "vector", "hybrid"):
            await pilot.press("m")
            await idle(pilot)
            assert shown(app, "#mode") == f"{mode}:"
            assert kb.queries[-1].mode == mode


async def test_keys_that_choose_a_hit() -> None:
    kb = TuiKnowledgeBase()
    app = app_of(kb)
    walk = {"j": 1, "down": 2, "k": 1, "up": 0, "G": 2, "home": 0, "end": 2}
    async with app.run_test(size=(80, 14)) as pilot:
        await search(pilot, "x")
        await pilot.press("escape")
        for key, chosen in walk.items():
            await pilot.press(key)
            await idle(pilot)

            assert hits_of(app).chosen == chosen, key
            assert kb.fetched[-1] == kb.hits[chosen].chunk_id
            assert f"▌  {chosen + 1} ━" in on_screen(app)


async def test_the_choice_stops_at_both_ends() -> None:
    app = app_of(TuiKnowledgeBase())
    async with app.run_test() as pilot:
        await search(pilot, "x")
        await pilot.press("escape", "k")
        assert hits_of(app).chosen == 0
        await pilot.press("j", "j", "j", "j")
        assert hits_of(app).chosen == 2


async def test_arrows_choose_a_hit_while_typing() -> None:
    app = app_of(TuiKnowledgeBase())
    async with app.run_test() as pilot:
        await search(pilot, "x")
        await pilot.press("down", "y")

        assert hits_of(app).chosen == 1
        assert app.screen.query_one(Input).value == "xy"


async def test_keys_do_no_harm_where_there_are_no_hits() -> None:
    kb = TuiKnowledgeBase()
    app = app_of(kb)
    async with app.run_test() as pilot:
        await pilot.press("escape", *"jkGgoytnm", "enter", "pagedown", "pageup")
        await idle(pilot)

        assert hits_of(app).count == 0
        assert kb.queries == []


async def test_a_click_chooses_a_hit() -> None:
    app = app_of(TuiKnowledgeBase())
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "x")
        await pilot.click("#hits", offset=(10, 5))

        assert hits_of(app).chosen == 2


async def test_page_keys_scroll_the_preview_and_back() -> None:
    app = app_of(TuiKnowledgeBase())
    async with app.run_test(size=(80, 18)) as pilot:
        await search(pilot, "x")
        preview = app.screen.query_one("#preview")
        start = preview.scroll_offset.y
        await pilot.press("pagedown")
        await pilot.pause()
        down = preview.scroll_offset.y
        await pilot.press("pageup")
        await pilot.pause()

        assert down > start
        assert preview.scroll_offset.y <= start


async def test_the_preview_begins_at_the_match_of_a_line_that_fills_many_rows() -> None:
    """Such as that of a text without line ends; it began at the beginning of the line."""
    said = f"{'lorem ipsum ' * 400}otter {'dolor sit ' * 400}"
    app = app_of(TuiKnowledgeBase())
    async with app.run_test(size=(80, 24)) as pilot:
        preview = app.screen.query_one("#preview", Preview)
        preview.show([Line(said, 3, inside=True)], "otter")
        await pilot.pause()

        assert " otter " in on_screen(app)


@pytest.mark.parametrize(
    ("pasted", "query"),
    [
        ("where are\n  the otters?\n", "where are the otters?"),
        ("\n\notters", "otters"),
        (" as it is ", " as it is "),
        ("\n", ""),
    ],
)
async def test_all_lines_of_what_is_pasted_are_the_query(pasted: str, query: str) -> None:
    """Of several lines the first one was taken, and the others were dropped."""
    app = app_of(TuiKnowledgeBase())
    async with app.run_test() as pilot:
        await idle(pilot)
        app.post_message(events.Paste(pasted))
        await pilot.pause()
        await idle(pilot)

        assert app.screen.query_one(Input).value == query


async def test_pictures_of_several_characters_move_no_cursor() -> None:
    """Terminals differ in how wide they are; the value keeps them."""
    said = "❤\ufe0f 👩\u200d💻 👍\U0001f3fd"
    app = app_of(TuiKnowledgeBase())
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot)
        field = app.screen.query_one(Input)
        field.insert_text_at_cursor(said)
        await pilot.pause()
        after_pictures = field.cursor_screen_offset
        assert field.value == said

        # A heart of one cell, three pictures of two, two spaces.
        field.value = "x" * 9
        await pilot.pause()
        assert field.cursor_screen_offset == after_pictures


async def test_a_search_that_fails_leaves_no_hits_of_another_query() -> None:
    kb = TuiKnowledgeBase()
    app = app_of(kb)
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "x")
        assert hits_of(app).count == 3
        kb.before = partial(fail, NotIndexed("the index is gone"))
        await search(pilot, "y")
        await pilot.press("escape")
        await pilot.pause()

        assert hits_of(app).count == 0
        assert "not searched: the index is gone" in on_screen(app)


async def test_a_remark_that_has_no_room_says_where_it_is_told() -> None:
    app = app_of(TuiKnowledgeBase())
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "x")
        hits_of(app).remark("vector: the folder of the model is not there " * 3)
        await pilot.pause()
        assert " (t: in full) ─" in on_screen(app)

        await pilot.resize_terminal(200, 24)
        await pilot.pause()
        hits_of(app).remark("vector: no embeddings")
        await pilot.pause()
        assert " vector: no embeddings ─" in on_screen(app)


async def test_letters_are_text_in_insert_mode_and_commands_in_normal_mode() -> None:
    """Every key of NORMAL, typed into the field, is just a letter."""
    app = app_of(TuiKnowledgeBase())
    async with app.run_test() as pilot:
        await pilot.press(*"jkgGmiq?notyf15")
        await pilot.pause()

        assert app.screen.query_one(Input).value == "jkgGmiq?notyf15"
        assert shown(app, "#typing") == "INSERT"
        assert isinstance(app.screen, SearchPane)

        await pilot.press("escape", "m")
        assert shown(app, "#typing") == "NORMAL"
        assert app.screen.query_one(Input).value == "jkgGmiq?notyf15"

        await pilot.press("i", "end", "!")
        assert shown(app, "#typing") == "INSERT"
        assert app.screen.query_one(Input).value == "jkgGmiq?notyf15!"
        await idle(pilot)


async def test_the_hint_line_follows_the_mode_and_begins_with_help() -> None:
    app = app_of(TuiKnowledgeBase())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        typing = str(app.screen.query_one(HintLine).content)
        await pilot.press("escape")
        normal = str(app.screen.query_one(HintLine).content)

    assert typing == "F1 help  Esc stop typing  Enter search now  ↓ ↑ hits"
    assert normal == (
        "F1 help  i type  m mode  f filter  o inspect  g open  y copy  t trace  q quit"
    )


@pytest.mark.parametrize("keys", [["f1"], ["escape", "f1"], ["escape", "question_mark"]])
async def test_help_opens_in_either_mode_and_gives_the_screen_back(keys: list[str]) -> None:
    app = app_of(TuiKnowledgeBase())
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "fusion")
        await pilot.press(*keys[:-1])
        await pilot.pause()
        before = on_screen(app)
        await pilot.press(keys[-1])
        await pilot.pause()
        assert isinstance(app.screen, CheatSheet)
        await pilot.press("q", "m", "j", "escape")
        await until(pilot, lambda: on_screen(app) == before)


async def test_q_quits_in_normal_mode() -> None:
    app = app_of(TuiKnowledgeBase())
    async with app.run_test() as pilot:
        await pilot.press("escape", "q")
        await pilot.pause()

        assert not app.is_running
    assert app.return_code == 0


async def test_one_failure_opens_one_popup_however_much_is_typed_on() -> None:
    kb = TuiKnowledgeBase()
    app = app_of(kb)
    async with app.run_test() as pilot:
        await idle(pilot)
        kb.before = partial(fail, NotIndexed("no"))
        await pilot.press("a")
        await idle(pilot)
        assert isinstance(app.screen, ErrorPopup)
        await pilot.press("escape", "b")
        await idle(pilot)
        assert isinstance(app.screen, SearchPane)
        assert shown(app, "#state") == "error: not_indexed"

        await pilot.press("enter")
        await idle(pilot)
        assert isinstance(app.screen, ErrorPopup)

        kb.before = lambda _call: None
        await pilot.press("escape", "enter")
        await idle(pilot)
        assert hits_of(app).count == 3


async def test_a_bug_is_shown_and_the_screen_lives() -> None:
    kb = TuiKnowledgeBase()
    app = app_of(kb)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot)
        kb.before = partial(fail, RuntimeError("boom \x1b[2J"))
        await search(pilot, "x")

        assert "Error: internal" in on_screen(app)
        assert "boom ␛[2J" in on_screen(app)
        kb.before = lambda _call: None
        await pilot.press("escape", "enter")
        await idle(pilot)
        assert hits_of(app).count == 3


async def test_a_hit_that_is_gone_is_told_and_its_snippet_stays() -> None:
    kb = TuiKnowledgeBase()

    def gone(call: str) -> None:
        if call == "fetch_chunk":
            raise ChunkNotFound("no chunk aaaa", hint="search again")

    kb.before = gone
    app = app_of(kb)
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "x")
        assert isinstance(app.screen, ErrorPopup)
        await pilot.press("escape")
        await until(pilot, lambda: " ┃ 한국어 형태소와" in on_screen(app))


async def test_what_was_indexed_cannot_reach_the_terminal() -> None:
    """Escape sequences, tabs, half characters and markup are shown, not obeyed."""
    evil = replace(
        KOREAN,
        snippet="\x1b]0;owned\x07\ttab [red]x[/red] \udcff \u202egnp.exe",
        heading_path=("[bold]h",),
        citation=Citation("odd-\udcff[/b].md", LineSpan(1, 1)),
    )
    app = app_of(TuiKnowledgeBase((evil,)))
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "tab")
        screen = on_screen(app)

    screen.encode()
    assert "␛]0;owned␇" in screen
    assert "[red]x[/red]" in screen
    assert "[bold]h" in screen
    assert not {"\x1b", "\x07", "\t", "\u202e"} & set(screen)


async def test_no_row_is_wider_than_the_terminal() -> None:
    """Wide characters are cut in cells, not in characters; a resize lays out anew."""
    app = app_of(TuiKnowledgeBase())
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "검색")
        for size in [(80, 24), (40, 8), (21, 5), (120, 30), (200, 60)]:
            await pilot.resize_terminal(*size)
            await until(pilot, lambda: has_drawn(app, size))  # noqa: B023 - waited for


async def test_a_page_that_failed_is_asked_for_again() -> None:
    """Whatever went wrong, there are more hits: that there are none is never said."""
    kb = TuiKnowledgeBase(MANY)
    kb.more = (KOREAN,)
    app = app_of(kb)
    async with app.run_test() as pilot:
        await search(pilot, "x")
        await pilot.press("escape")
        kb.before = partial(fail, NotIndexed("no"))
        for _ in range(2):
            await pilot.press("n")
            await idle(pilot)
            assert isinstance(app.screen, ErrorPopup)
            await pilot.press("escape")
        kb.before = lambda _call: None
        await pilot.press("n")
        await idle(pilot)

        assert hits_of(app).count == 10
        assert shown(app, "#state") == "10 hits"
        await pilot.press("n")
        assert shown(app, "#state") == "no more hits"


async def test_a_list_that_has_become_empty_says_so() -> None:
    kb = TuiKnowledgeBase(MANY)
    kb.more = (KOREAN,)
    app = app_of(kb)
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "x")
        kb.hits = kb.more = ()

        def refuse_cursors(_call: str) -> None:
            if kb.queries[-1].cursor:
                raise StaleCursor("the list changed")

        kb.before = refuse_cursors
        await pilot.press("escape", "n")
        await idle(pilot)

        assert shown(app, "#state") == "the list changed; shown anew: 0 hits"
        assert "no hits for x" in on_screen(app)
