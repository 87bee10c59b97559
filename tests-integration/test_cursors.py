"""Cursors walked to the end of their lists while the knowledge base goes on changing.

Everything is real but the embedding model, for which words are hashed.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path

import pytest

from kb_app import Config, KnowledgeBase
from kb_app._ingest.workers.executor import InlineExecutor
from kb_app._wiring import parts_of
from kb_app.config import Source
from kb_core.errors import StaleCursor
from kb_core.ingest import IngestOptions
from kb_core.media import SearchMode
from kb_core.search import SearchQuery
from kb_core.testing.fakes import HashEmbedder
from kb_tui.app import KbTui
from kb_tui.screens.search import SearchPane
from kb_tui.testing import idle, search, shown
from kb_tui.widgets.hit_list import HitList

_WORDS = ("vector", "anchor", "window", "harbour", "lamp", "stone", "river", "sand")
_OTHERS = ("quince", "marmalade", "saffron", "vinegar", "pepper", "thyme", "barley", "fennel")
_NOTES, _ELSEWHERE = 80, 24
IDLE, FORCED, REBUILD = "an idle ingest", "a forced ingest", "a rebuild"
EMBEDDINGS, EDIT = "embeddings", "an edit of a hit"
_QUERY = SearchQuery(text="ledger", k=12)


@dataclass(frozen=True)
class Notes:
    """A knowledge base over a folder, and what happens to both."""

    kb: KnowledgeBase
    folder: Path

    def write(self, path: str, text: str) -> None:
        (self.folder / path).write_text(text, "utf-8")

    def ingest(self, *, embed: bool = False, force: bool = False) -> None:
        list(self.kb.ingest(IngestOptions(embed=embed, force=force)))

    def embed_a_batch(self) -> None:
        for event in (events := self.kb.embed()):
            if event.kind == "embed_batch_finished":
                break
        events.close()  # type: ignore[attr-defined] # they come from a generator

    def rebuild(self) -> None:
        self.kb.reset("index-only", dry_run=False)
        self.ingest()

    def list_now(self, query: SearchQuery) -> list[str]:
        """Return the whole list as it is now."""
        found = self.kb.search(query)
        ids = [hit.chunk_id for hit in found.hits]
        while found.next_cursor is not None:
            found = self.kb.search(replace(query, k=100, cursor=found.next_cursor))
            ids += [hit.chunk_id for hit in found.hits]
        return ids


def notes_in(home: Path) -> Notes:
    """Return the knowledge base of a home; who opens it closes it."""
    embedder = HashEmbedder(32)
    folder = home / "notes"
    config = Config.inside(home, Source(id="notes", root=folder))
    config = replace(config, embedding=replace(config.embedding, model="none"))
    parts = replace(
        parts_of(config),
        model=lambda: embedder.model,
        embedder=lambda: embedder,
        executor=lambda task, _wanted: InlineExecutor(task),
    )
    return Notes(KnowledgeBase(config, parts), folder)


def by_words(home: Path) -> None:
    """Index some more notes than a list holds, and others that share no word with them."""
    made, chance = notes_in(home), random.Random(7)
    made.folder.mkdir()
    for n in range(_NOTES):
        made.write(f"note-{n:03}.md", f"ledger {' '.join(chance.choices(_WORDS, k=1 + n))}")
    for n in range(_ELSEWHERE):
        made.write(f"other-{n:02}.md", " ".join(chance.choices(_OTHERS, k=12)))
    with made.kb:
        made.ingest()


@pytest.fixture
def notes(again: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[Notes]:
    """The notes, found by words, of which none is embedded."""
    monkeypatch.setattr("kb_app._ingest.embedding._FIRST_BATCH", 8)
    made = notes_in(again(by_words))
    with made.kb:
        yield made


@pytest.fixture
def meant(notes: Notes) -> Notes:
    """The notes, all of them embedded."""
    notes.ingest(embed=True)
    return notes


def happenings(notes: Notes) -> dict[str, Callable[[], None]]:
    """Return what may happen between two pages, by name."""
    numbers = iter(range(10, _ELSEWHERE))

    def edit_elsewhere() -> None:
        notes.write(f"other-{next(numbers)}.md", " ".join(reversed(_OTHERS)))
        notes.ingest()

    def remove_elsewhere() -> None:
        (notes.folder / f"other-{next(numbers)}.md").unlink()
        notes.ingest()

    def edit_in_the_list() -> None:
        notes.write(f"note-0{next(numbers)}.md", "ledger ledger")
        notes.ingest()

    return {
        IDLE: notes.ingest,
        REBUILD: notes.rebuild,
        EMBEDDINGS: notes.embed_a_batch,
        "an edit elsewhere": edit_elsewhere,
        "a removal elsewhere": remove_elsewhere,
        EDIT: edit_in_the_list,
        FORCED: lambda: notes.ingest(force=True),
    }


@dataclass(frozen=True)
class Walk:
    """What came of a list that was walked while things happened."""

    expected: list[str]
    """The list as it was when the walk began."""
    found: list[str]
    survived: list[str]
    ended_by: str | None
    """What its cursor did not survive; ``None`` where the walk came to the end."""


def walk(
    notes: Notes, query: SearchQuery, coming: Iterator[tuple[str, Callable[[], None]]]
) -> Walk:
    """Go through a list, page by page, with something happening before each of them."""
    expected, found, survived = notes.list_now(query), list[str](), list[str]()
    page = notes.kb.search(query)
    while True:
        found += [hit.chunk_id for hit in page.hits]
        if page.next_cursor is None:
            return Walk(expected, found, survived, None)
        name, happen = next(coming, ("nothing", lambda: None))
        happen()
        following = replace(query, cursor=page.next_cursor)
        if notes.list_now(query) != expected:
            with pytest.raises(StaleCursor, match="is from before"):
                notes.kb.search(following)
            return Walk(expected, found, survived, name)
        page = notes.kb.search(following)
        survived.append(name)


@pytest.mark.parametrize("mode", SearchMode)
def test_an_ingest_that_changes_nothing_ends_no_list(meant: Notes, mode: SearchMode) -> None:
    notes = meant
    query = replace(_QUERY, mode=mode)

    done = walk(notes, query, repeat((IDLE, notes.ingest)))

    assert done.ended_by is None
    assert done.found == done.expected
    assert len(done.survived) >= _NOTES // _QUERY.k


@pytest.mark.slow
@pytest.mark.parametrize("mode", SearchMode)
def test_a_walk_ends_early_only_where_its_list_did_change(notes: Notes, mode: SearchMode) -> None:
    """A walk that is refused begins again, until one comes to the end."""
    notes.ingest(embed=mode is not SearchMode.LEXICAL)
    for n in range(12):  # to be embedded while walks go on
        notes.write(f"later-{n:02}.md", f"{' '.join(_OTHERS)} {n}")
    notes.ingest()
    coming = iter([*happenings(notes).items()] * 2)
    walks = list[Walk]()
    while not walks or walks[-1].ended_by:
        walks.append(walk(notes, replace(_QUERY, mode=mode), coming))

    for one in walks:
        assert one.found == one.expected[: len(one.found)]
        assert len(set(one.found)) == len(one.found)
    assert walks[-1].found == walks[-1].expected
    assert len(walks[-1].found) >= _NOTES - 10
    survived = [name for one in walks for name in one.survived]
    ended = [one.ended_by for one in walks]
    assert {IDLE, FORCED, REBUILD} <= {*survived}
    assert EDIT in ended
    if mode is SearchMode.LEXICAL:
        assert EMBEDDINGS in survived
        assert EMBEDDINGS not in ended


# -------------------------------------------------------------- in the terminal


def hits_of(app: KbTui) -> HitList:
    return app.pane.query_one(HitList)


def ids_of(app: KbTui) -> list[str]:
    return [hit.chunk_id for hit in hits_of(app).hits]


async def test_n_starts_a_list_that_changed_again_where_the_person_stands(notes: Notes) -> None:
    """Twice, as embedding goes on; and what is shown is never more than one list."""
    app = KbTui(notes.kb)
    query = replace(_QUERY, k=notes.kb.preferences().default_k)
    async with app.run_test(size=(100, 30)) as pilot:
        await search(pilot, query.text)
        await pilot.press("escape", "n")
        await idle(pilot)
        assert ids_of(app) == notes.list_now(query)[:20]

        for loaded in (30, 40):
            await pilot.press("k", "k", "k")
            chosen, place = hits_of(app).hit, hits_of(app).chosen
            await asyncio.to_thread(notes.embed_a_batch)
            await pilot.press("n")
            await idle(pilot)

            assert isinstance(app.screen, SearchPane)
            assert shown(app, "#state") == f"the list changed; shown anew: {loaded}+ hits"
            assert ids_of(app) == notes.list_now(query)[:loaded]
            assert chosen is not None
            still_there = chosen.chunk_id in ids_of(app)
            now = hits_of(app).hit
            assert now is not None
            assert now.chunk_id == chosen.chunk_id if still_there else hits_of(app).chosen == place

        await pilot.press("n")
        await idle(pilot)
        assert shown(app, "#state") == "50+ hits"
        assert ids_of(app) == notes.list_now(query)[:50]


async def test_n_goes_to_the_end_while_nothing_of_the_list_changes(notes: Notes) -> None:
    app = KbTui(notes.kb)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("escape", "m")
        assert shown(app, "#mode") == "lexical:"
        await pilot.press("i")
        await search(pilot, _QUERY.text)
        await pilot.press("escape")
        for happen in (notes.ingest, notes.embed_a_batch) * 5:
            await asyncio.to_thread(happen)
            await pilot.press("n")
            await idle(pilot)
            assert "anew" not in shown(app, "#state")
        query = replace(_QUERY, mode=SearchMode.LEXICAL, k=10)
        assert ids_of(app) == notes.list_now(query)
        await pilot.press("n")

        assert shown(app, "#state") == "no more hits"


async def test_where_the_chosen_hit_is_gone_its_place_is_kept(notes: Notes) -> None:
    app = KbTui(notes.kb)
    async with app.run_test(size=(100, 30)) as pilot:
        await search(pilot, _QUERY.text)
        await pilot.press("escape", "j", "j", "j")
        chosen = hits_of(app).hit
        assert chosen is not None
        (notes.folder / chosen.doc_path).unlink()
        await asyncio.to_thread(notes.ingest)
        await pilot.press("n")
        await idle(pilot)

        assert chosen.chunk_id not in ids_of(app)
        assert (hits_of(app).chosen, hits_of(app).count) == (3, 20)
        assert len(set(ids_of(app))) == 20
