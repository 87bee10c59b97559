"""The search screen, headless: every key, what is drawn, and what is never waited for.

The facade is a fake that remembers which thread asked it what. Whole screens are
compared with committed text, 80 by 24; KEBAB_UPDATE_GOLDEN=1 writes it anew.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Static

from kb_core import wire
from kb_core.citations import Citation, CodeSpan, LineSpan, PageSpan
from kb_core.errors import ChunkNotFound, NotIndexed
from kb_core.search import Hit, Retrieval, SearchQuery, SearchResponse
from kb_tui.app import KbTui
from kb_tui.popups import CheatSheet, ErrorPopup
from kb_tui.screens.search import SearchScreen
from kb_tui.widgets.hit_list import HitList
from kb_tui.widgets.status_bar import HintLine

if TYPE_CHECKING:
    from kb_app import KnowledgeBase

GOLDEN = Path(__file__).with_name("golden")

KOREAN_TEXT = """\
## 하이브리드 😀

한국어 형태소와 바이그램을 함께 찾는다. 검색은 두 갈래로 나뉘고, 순위만으로 하나가 된다.

- 단어: 正確な語、漢字も
"""
KOREAN = Hit(
    rank=1,
    score=0.87,
    score_kind="rrf",
    chunk_id="a" * 32,
    doc_id="b" * 32,
    doc_path="노트/검색.md",
    title="검색",
    heading_path=("검색", "하이브리드 😀"),
    section_label="하이브리드 😀",
    snippet="한국어 형태소와 바이그램을 함께 찾는다. 검색은 두 갈래로 나뉘고",
    snippet_full_text=False,
    citation=Citation("노트/검색.md", LineSpan(3, 7)),
    retrieval=Retrieval(method="hybrid", fusion_score=0.87),
    index_version="1",
    chunker_version="markdown-1",
    embedding_model=None,
    indexed_at=1_770_000_000,
    stale=True,
    source_id="notes",
    source_type="note",
    trust_level="primary",
    lang="ko",
    media="markdown",
)
CODE = replace(
    KOREAN,
    rank=2,
    score=0.5,
    chunk_id="c" * 32,
    doc_path="src/parse.py",
    heading_path=(),
    section_label="parse",
    snippet="def parse(text):\n\treturn text.split()",
    citation=Citation("src/parse.py", CodeSpan(1, 2, symbol="parse", lang="python")),
    stale=False,
    flags=("instructions",),
)
PAPER = replace(
    KOREAN,
    rank=3,
    score=0.25,
    chunk_id="d" * 32,
    doc_path="papers/[rrf].pdf",
    heading_path=("Fusion",),
    snippet="Reciprocal rank fusion outperforms any individual system " * 3,
    citation=Citation("papers/[rrf].pdf", PageSpan(13)),
    stale=False,
)
TEXTS = {
    KOREAN.chunk_id: ("# 검색\n\n", KOREAN_TEXT, "\n다음 문단이다.\n"),
    CODE.chunk_id: ("", "def parse(text):\n\treturn text.split()\n", "\n\x1b[31mred\n"),
    PAPER.chunk_id: ("Before. ", PAPER.snippet, " After."),
}


class FakeKnowledgeBase:
    """Answers from what it was given; ``before`` runs first, on the caller's thread."""

    readonly = False

    def __init__(self, hits: tuple[Hit, ...] = (KOREAN, CODE, PAPER)) -> None:
        self.hits = hits
        self.queries: list[SearchQuery] = []
        self.fetched: list[str] = []
        self.threads: set[int] = set()
        self.before: Callable[[str], None] = lambda _call: None
        self.counts = {"doc_count": 1234, "chunk_count": 5678}
        self.revision = 1
        self.degraded: tuple[str, ...] = ()

    def search(self, query: SearchQuery) -> SearchResponse:
        self.queries.append(query)
        self._enter(f"search {query.text}")
        return SearchResponse(
            hits=self.hits, corpus_revision=self.revision, elapsed_ms=12.4, degraded=self.degraded
        )

    def stats(self) -> dict[str, Any]:
        self._enter("stats")
        return wire.stats_report(wire.stats(self.counts, index_bytes={}))

    def fetch_chunk(self, chunk_id: str, *, context: int = 0) -> dict[str, Any]:
        self.fetched.append(chunk_id)
        self._enter("fetch")
        hit = next(hit for hit in self.hits if hit.chunk_id == chunk_id)
        above, text, below = TEXTS[chunk_id]
        span = hit.citation.span
        at = span.start if isinstance(span, (LineSpan, CodeSpan)) else 1
        chunk = stored(hit, text, len(above), at)
        before = [stored(hit, above, 0, at - above.count("\n"))] if above else []
        after = [stored(hit, below, len(above) + len(text), at + text.count("\n"))]
        return wire.fetch_chunk(chunk, before, after, indexed_at=hit.indexed_at, stale=hit.stale)

    def _enter(self, call: str) -> None:
        self.threads.add(threading.get_ident())
        self.before(call)


def stored(hit: Hit, text: str, start: int, line: int) -> dict[str, Any]:
    """Return a chunk of the hit's document, as a fetch result has it."""
    is_page = isinstance(hit.citation.span, PageSpan)
    last = line + max(0, text.rstrip("\n").count("\n"))
    span = PageSpan(13) if is_page else LineSpan(line, last)
    return {
        "chunk_id": hit.chunk_id,
        "doc_id": hit.doc_id,
        "text": text,
        "doc_path": hit.doc_path,
        "char_start": start,
        "char_end": start + len(text),
        "source_spans": [wire.citation(Citation(hit.doc_path, span))],
    }


def app_of(kb: FakeKnowledgeBase) -> KbTui:
    return KbTui(cast("KnowledgeBase", kb))


def text_of(app: KbTui) -> str:
    """Return what is on the screen, one line a row."""
    rows = app.screen._compositor.render_strips()
    return "\n".join(row.text.rstrip() for row in rows) + "\n"


def check_golden(name: str, app: KbTui) -> None:
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("KEBAB_UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text_of(app), "utf-8")
    assert text_of(app) == path.read_text("utf-8")


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the keys of one word come slowly: no search of half a word."""
    monkeypatch.setattr(SearchScreen, "DELAY_S", 1.0)


async def until(pilot: Pilot[None], happened: Callable[[], bool]) -> None:
    """Let the application run until something is so."""
    async with asyncio.timeout(30):
        while not happened():
            await asyncio.sleep(0.005)
    await pilot.pause()


async def idle(pilot: Pilot[None]) -> None:
    """Wait for the timer of the query, the workers and their messages."""
    search = next(s for s in pilot.app.screen_stack if isinstance(s, SearchScreen))
    async with asyncio.timeout(30):
        while search._timer is not None:
            await asyncio.sleep(0.005)
    asked = None
    while asked != (asked := dict(search._tickets)):  # a reply may ask the next question
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()


async def search(pilot: Pilot[None], text: str) -> None:
    write(pilot, text)
    await pilot.press("enter")
    await idle(pilot)


def write(pilot: Pilot[None], text: str) -> None:
    """Put *text* into the query as one paste does; a key press takes 50 ms here."""
    pilot.app.screen.query_one(Input).insert_text_at_cursor(text)


def shown(app: KbTui, selector: str) -> str:
    return str(app.screen_stack[1].query_one(selector, Static).content)


def hits_of(app: KbTui) -> HitList:
    return app.screen_stack[1].query_one(HitList)


async def test_the_screen_before_anything_was_typed() -> None:
    app = app_of(FakeKnowledgeBase())
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot)

        check_golden("search_start", app)


async def test_hits_and_the_first_in_its_place() -> None:
    app = app_of(FakeKnowledgeBase())
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "검색은 어떻게 되나")

        check_golden("search_hits", app)


async def test_another_hit_is_chosen_in_normal_mode() -> None:
    app = app_of(FakeKnowledgeBase())
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "parser")
        await pilot.press("escape", "j")
        await idle(pilot)

        check_golden("search_normal", app)


async def test_the_cheat_sheet_lists_every_key() -> None:
    app = app_of(FakeKnowledgeBase())
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot)
        await pilot.press("f1")
        await pilot.pause()

        check_golden("search_help", app)


async def test_an_error_is_a_popup_with_its_code_and_hint() -> None:
    kb = FakeKnowledgeBase()
    error = NotIndexed("there is no knowledge base here yet", hint="run 'kebab ingest'")
    app = app_of(kb)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot)
        kb.before = partial(fail, error)
        await search(pilot, "x")

        check_golden("search_error", app)
        assert shown(app, "#state") == "error: not_indexed"


async def test_a_wide_terminal_shows_both_side_by_side() -> None:
    app = app_of(FakeKnowledgeBase())
    async with app.run_test(size=(140, 12)) as pilot:
        await search(pilot, "fusion")

        check_golden("search_wide", app)


def fail(error: Exception, _call: str) -> None:
    raise error


async def test_a_search_starts_by_itself_after_the_last_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Long enough that a busy machine presses all six keys within it.
    monkeypatch.setattr(SearchScreen, "DELAY_S", 2.0)
    kb = FakeKnowledgeBase()
    app = app_of(kb)
    async with app.run_test() as pilot:
        await pilot.press(*"fusion")
        during = list(kb.queries)
        await idle(pilot)

    assert during == []
    assert kb.queries == [SearchQuery(text="fusion")]


async def test_enter_searches_at_once_and_only_once() -> None:
    kb = FakeKnowledgeBase()
    app = app_of(kb)
    async with app.run_test() as pilot:
        await search(pilot, "fusion")
        await pilot.press("escape", "enter")
        await idle(pilot)

    assert kb.queries == [SearchQuery(text="fusion")] * 2


async def test_an_older_answer_never_replaces_a_newer_one() -> None:
    """The first search hangs; the second, asked later, answers first."""
    kb, release = FakeKnowledgeBase(), threading.Event()
    app = app_of(kb)

    def wait_for_old(call: str) -> None:
        if call == "search old":
            release.wait(30)
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
    kb, release = FakeKnowledgeBase(), threading.Event()
    kb.before = lambda call: cast("None", call.startswith("search") and release.wait(30))
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
    kb = FakeKnowledgeBase()
    app = app_of(kb)
    async with app.run_test() as pilot:
        await search(pilot, "fusion")
        await pilot.press("escape", "j", "k", "G", "m", "enter")
        await idle(pilot)

    assert kb.queries
    assert kb.fetched
    assert threading.get_ident() not in kb.threads


async def test_emptying_the_query_empties_the_screen_without_a_search() -> None:
    kb = FakeKnowledgeBase()
    app = app_of(kb)
    async with app.run_test() as pilot:
        await search(pilot, "x")
        await pilot.press("backspace", "space", "enter")
        await idle(pilot)

        assert len(kb.queries) == 1
        assert hits_of(app).count == 0
        assert "type to search" in text_of(app)
        assert "하이브리드" not in text_of(app)


async def test_no_hits_is_said_and_is_no_error() -> None:
    app = app_of(FakeKnowledgeBase(()))
    async with app.run_test() as pilot:
        await search(pilot, "zzz")

        assert "no hits for zzz" in text_of(app)
        assert shown(app, "#state") == "0 hits in 12 ms"
        assert isinstance(app.screen, SearchScreen)


async def test_an_empty_knowledge_base_says_what_to_do() -> None:
    kb = FakeKnowledgeBase()
    kb.counts = {}
    app = app_of(kb)
    async with app.run_test() as pilot:
        await idle(pilot)

        assert "nothing is indexed yet: run 'kebab add FOLDER'" in text_of(app)
        assert "0 documents, 0 chunks" in text_of(app)


async def test_a_degraded_answer_says_so() -> None:
    kb = FakeKnowledgeBase()
    kb.degraded = ("vector: no embeddings for this model yet",)
    app = app_of(kb)
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "x")

        assert "vector: no embeddings for this model yet" in text_of(app)


async def test_counts_are_read_again_when_the_revision_moves() -> None:
    kb = FakeKnowledgeBase()
    app = app_of(kb)
    async with app.run_test() as pilot:
        await search(pilot, "x")
        kb.revision, kb.counts = 2, {"doc_count": 1, "chunk_count": 2}
        await pilot.press("enter")
        await idle(pilot)

        assert "1 document, 2 chunks" in shown(app, "#about")


async def test_read_only_is_said() -> None:
    kb = FakeKnowledgeBase()
    kb.readonly = True
    app = app_of(kb)
    async with app.run_test() as pilot:
        await pilot.pause()

        assert "Search (read-only)" in shown(app, "#about")


async def test_m_goes_through_the_modes_and_searches_again() -> None:
    kb = FakeKnowledgeBase()
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
    kb = FakeKnowledgeBase()
    app = app_of(kb)
    walk = {"j": 1, "down": 2, "k": 1, "up": 0, "G": 2, "g": 0, "end": 2, "home": 0}
    async with app.run_test(size=(80, 10)) as pilot:
        await search(pilot, "x")
        await pilot.press("escape")
        for key, chosen in walk.items():
            await pilot.press(key)
            await idle(pilot)

            assert hits_of(app).chosen == chosen, key
            assert kb.fetched[-1] == kb.hits[chosen].chunk_id
            assert f"▌  {chosen + 1}." in text_of(app)


async def test_the_choice_stops_at_both_ends() -> None:
    app = app_of(FakeKnowledgeBase())
    async with app.run_test() as pilot:
        await search(pilot, "x")
        await pilot.press("escape", "k")
        assert hits_of(app).chosen == 0
        await pilot.press("j", "j", "j", "j")
        assert hits_of(app).chosen == 2


async def test_arrows_choose_a_hit_while_typing() -> None:
    app = app_of(FakeKnowledgeBase())
    async with app.run_test() as pilot:
        await search(pilot, "x")
        await pilot.press("down", "y")

        assert hits_of(app).chosen == 1
        assert app.screen.query_one(Input).value == "xy"


async def test_keys_do_no_harm_where_there_are_no_hits() -> None:
    kb = FakeKnowledgeBase()
    app = app_of(kb)
    async with app.run_test() as pilot:
        await pilot.press("escape", "j", "k", "G", "g", "enter", "m", "pagedown", "pageup")
        await idle(pilot)

        assert hits_of(app).count == 0
        assert kb.queries == []


async def test_a_click_chooses_a_hit() -> None:
    app = app_of(FakeKnowledgeBase())
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "x")
        await pilot.click("#hits", offset=(10, 5))

        assert hits_of(app).chosen == 2


async def test_page_keys_scroll_the_preview_and_back() -> None:
    app = app_of(FakeKnowledgeBase())
    async with app.run_test(size=(80, 12)) as pilot:
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


async def test_letters_are_text_in_insert_mode_and_commands_in_normal_mode() -> None:
    """Every key of NORMAL, typed into the field, is just a letter."""
    app = app_of(FakeKnowledgeBase())
    async with app.run_test() as pilot:
        await pilot.press(*"jkgGmiq?")
        await pilot.pause()

        assert app.screen.query_one(Input).value == "jkgGmiq?"
        assert shown(app, "#typing") == "INSERT"
        assert isinstance(app.screen, SearchScreen)

        await pilot.press("escape", "m")
        assert shown(app, "#typing") == "NORMAL"
        assert app.screen.query_one(Input).value == "jkgGmiq?"

        await pilot.press("i", "end", "!")
        assert shown(app, "#typing") == "INSERT"
        assert app.screen.query_one(Input).value == "jkgGmiq?!"
        await idle(pilot)


async def test_the_hint_line_follows_the_mode_and_begins_with_help() -> None:
    app = app_of(FakeKnowledgeBase())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        typing = str(app.screen.query_one(HintLine).content)
        await pilot.press("escape")
        normal = str(app.screen.query_one(HintLine).content)

    assert typing == "F1 help  Esc stop typing  Enter search now  ↓ ↑ hits"
    assert normal == "F1 help  i type  Enter search now  m hybrid/lexical/vector  ↓ ↑ hits  q quit"


@pytest.mark.parametrize("keys", [["f1"], ["escape", "f1"], ["escape", "question_mark"]])
async def test_help_opens_in_either_mode_and_gives_the_screen_back(keys: list[str]) -> None:
    app = app_of(FakeKnowledgeBase())
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "fusion")
        await pilot.press(*keys[:-1])
        await pilot.pause()
        before = text_of(app)
        await pilot.press(keys[-1])
        await pilot.pause()
        assert isinstance(app.screen, CheatSheet)
        await pilot.press("q", "m", "j", "escape")
        await pilot.pause()

        assert text_of(app) == before


async def test_q_quits_in_normal_mode() -> None:
    app = app_of(FakeKnowledgeBase())
    async with app.run_test() as pilot:
        await pilot.press("escape", "q")
        await pilot.pause()

        assert not app.is_running
    assert app.return_code == 0


async def test_one_failure_opens_one_popup_however_much_is_typed_on() -> None:
    kb = FakeKnowledgeBase()
    app = app_of(kb)
    async with app.run_test() as pilot:
        await idle(pilot)
        kb.before = partial(fail, NotIndexed("no"))
        await pilot.press("a")
        await idle(pilot)
        assert isinstance(app.screen, ErrorPopup)
        await pilot.press("escape", "b")
        await idle(pilot)
        assert isinstance(app.screen, SearchScreen)
        assert shown(app, "#state") == "error: not_indexed"

        await pilot.press("enter")
        await idle(pilot)
        assert isinstance(app.screen, ErrorPopup)

        kb.before = lambda _call: None
        await pilot.press("escape", "enter")
        await idle(pilot)
        assert hits_of(app).count == 3


async def test_a_bug_is_shown_and_the_screen_lives() -> None:
    kb = FakeKnowledgeBase()
    app = app_of(kb)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot)
        kb.before = partial(fail, RuntimeError("boom \x1b[2J"))
        await search(pilot, "x")

        assert "Error: internal" in text_of(app)
        assert "boom ␛[2J" in text_of(app)
        kb.before = lambda _call: None
        await pilot.press("escape", "enter")
        await idle(pilot)
        assert hits_of(app).count == 3


async def test_a_hit_that_is_gone_is_told_and_its_snippet_stays() -> None:
    kb = FakeKnowledgeBase()

    def gone(call: str) -> None:
        if call == "fetch":
            raise ChunkNotFound("no chunk aaaa", hint="search again")

    kb.before = gone
    app = app_of(kb)
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "x")
        assert isinstance(app.screen, ErrorPopup)
        await pilot.press("escape")
        await pilot.pause()

        assert " ┃ 한국어 형태소와" in text_of(app)


async def test_what_was_indexed_cannot_reach_the_terminal() -> None:
    """Escape sequences, tabs, half characters and markup are shown, not obeyed."""
    evil = replace(
        KOREAN,
        snippet="\x1b]0;owned\x07\ttab [red]x[/red] \udcff \u202egnp.exe",
        heading_path=("[bold]h",),
        citation=Citation("odd-\udcff[/b].md", LineSpan(1, 1)),
    )
    app = app_of(FakeKnowledgeBase((evil,)))
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "tab")
        screen = text_of(app)

    screen.encode()
    assert "␛]0;owned␇" in screen
    assert "[red]x[/red]" in screen
    assert "[bold]h" in screen
    assert not {"\x1b", "\x07", "\t", "\u202e"} & set(screen)


async def test_no_row_is_wider_than_the_terminal() -> None:
    """Wide characters are cut in cells, not in characters; a resize lays out anew."""
    app = app_of(FakeKnowledgeBase())
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "검색")
        for size in [(80, 24), (40, 8), (21, 5), (120, 30), (200, 60)]:
            await pilot.resize_terminal(*size)
            await pilot.pause()
            rows = app.screen._compositor.render_strips()

            assert len(rows) == size[1]
            assert {row.cell_length for row in rows} == {size[0]}
