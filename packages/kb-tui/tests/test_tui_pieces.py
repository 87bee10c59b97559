"""Pure parts of the panes: filters, progress, columns, sections, themes."""

from __future__ import annotations

import sys
from dataclasses import replace
from io import BytesIO, TextIOWrapper
from queue import Queue

import pytest
from hypothesis import given, strategies as st
from textual.color import Color
from textual.content import Content
from textual.theme import Theme

from kb_app.shown.progress import Progress, advance
from kb_core.clock import from_epoch
from kb_core.errors import InvalidInput, StaleCursor
from kb_core.ingest import IngestEvent, IngestItem, ItemKind
from kb_core.search import SearchFilters, SearchQuery, SearchResponse
from kb_tui._filters import Facet, facets_of, parse_filter, toggled
from kb_tui._pane import next_page
from kb_tui._runner import details, summary
from kb_tui._terminal import run_beside
from kb_tui._themes import DARK, LIGHT, theme_name
from kb_tui.app import run
from kb_tui.testing import KOREAN, TuiKnowledgeBase
from kb_tui.widgets.lists import columns, fit

KINDS = (
    "scan_started",
    "scan_completed",
    "asset_started",
    "asset_phase",
    "asset_finished",
    "embed_batch_finished",
    "committed",
    "completed",
    "unheard_of",
)


def event(kind: str, **data: object) -> IngestEvent:
    return IngestEvent(kind=kind, at=from_epoch(0), data=data)


# -------------------------------------------------------------------- filters


def test_a_filter_line_is_read_into_filters_words_and_states() -> None:
    read = parse_filter('media:code media:pdf tag:"to do" since:2026-01-01 state:failed parser')

    assert read.filters == SearchFilters(media=("code", "pdf"), tag=("to do",), since="2026-01-01")
    assert read.words == ("parser",)
    assert read.states == ("failed",)


def test_words_are_parts_of_file_names_in_a_search() -> None:
    assert parse_filter("lock path:docs/** *.md").as_search().path_glob == (
        "docs/**",
        "*lock*",
        "*.md",
    )


def test_words_are_looked_for_in_any_text_whatever_their_case() -> None:
    read = parse_filter("Lock notes")

    assert read.admits("Deadlock", "/notes/a.md")
    assert not read.admits("Deadlock", "/other/a.md")


def test_an_unknown_key_is_named_with_those_that_are_known() -> None:
    with pytest.raises(InvalidInput, match="'colour'") as refused:
        parse_filter("colour:red")

    assert "media" in str(refused.value.hint)


def test_facets_come_with_counts_and_the_most_frequent_first() -> None:
    facets = facets_of(
        {"media_breakdown": {"code": 2, "markdown": 9, "pdf": 0}, "lang_breakdown": {"null": 3}}
    )

    assert [(facet.token, facet.count) for facet in facets] == [
        ("media:markdown", 9),
        ("media:code", 2),
    ]


@given(
    st.lists(st.sampled_from(["media:code", "lang:ko", "word", 'tag:"a b"'])),
    st.sampled_from(["code", "a b", "ü"]),
)
def test_toggling_a_facet_twice_changes_nothing_but_spaces(tokens: list[str], value: str) -> None:
    text, facet = " ".join(dict.fromkeys(tokens)), Facet("repo", value, 1)
    once = toggled(text, facet)

    assert parse_filter(once).filters.repo == (value,)
    assert toggled(once, facet) == text


@given(st.text())
def test_no_text_breaks_the_filter(text: str) -> None:
    try:
        parse_filter(text)
    except InvalidInput as refused:
        hint = refused.hint
    else:
        hint = "none is needed"

    assert hint


# -------------------------------------------------------------------- progress


def test_progress_tells_stage_rate_file_and_counts() -> None:
    item = IngestItem(kind=ItemKind.NEW, source_id="notes", doc_path="a")
    progress = Progress(began=0.0)
    for now, happened in enumerate(
        [
            event("scan_started", root="/notes"),
            event("scan_completed", candidates=10),
            event("asset_finished", item=item, done=1, total=10),
            event("asset_finished", item=item, done=5, total=10),
            event("asset_phase", doc_path="b.md", phase="chunk"),
        ]
    ):
        progress = advance(progress, happened, float(now))

    assert summary(progress) == "ingest: indexing 50%"
    assert details(progress, 4.5) == [
        "indexing, 4.5 s",
        "[##########..........]  50%  5/10 files  1.4/s  3.5 s left",
        "chunk b.md",
        "2 new; searchable: 0 documents, 0 chunks",
    ]


def test_the_rate_of_embedding_leaves_out_what_was_done_before_it_was_watched() -> None:
    progress = Progress(began=0.0)
    for now, done in ((10.0, 100), (12.0, 120)):
        happened = event("embed_batch_finished", done=done, total=200)
        progress = advance(progress, happened, now)

    assert details(progress, 12.0)[1].endswith("120/200 chunks  10.0/s  8.0 s left")


@given(
    st.lists(
        st.tuples(
            st.sampled_from(KINDS),
            st.integers(0, 50),
            st.integers(0, 50),
        )
    )
)
def test_no_order_of_events_breaks_the_progress(happened: list[tuple[str, int, int]]) -> None:
    progress = Progress(began=0.0)
    for now, (kind, done, total) in enumerate(happened):
        told = event(kind, doc_path="a", done=done, total=total, candidates=total)
        progress = advance(progress, told, float(now))

        assert summary(progress).startswith("ingest: ")
        assert len(details(progress, now + 1.0)) == 4


# -------------------------------------------------------------------- text


@given(st.text(), st.integers(0, 40), st.booleans())
def test_what_is_fitted_has_exactly_that_many_cells(text: str, width: int, right: bool) -> None:
    printable = "".join(c for c in text if c.isprintable())
    fitted = fit(printable, width, right=right and len(printable) <= width // 2)

    assert Content(fitted).cell_length == width


def test_columns_are_set_in_cells() -> None:
    assert columns([("검색 색인", 6), ("12", -4), ("x", 2)]) == "검색 …    12  x "


def test_a_cell_is_one_line_and_hides_nothing() -> None:
    assert columns([("a\nb", 4), ("c\u200b\u202ed", 4)]) == "a␊b   c\ufffd\ufffdd"


# -------------------------------------------------------------------- themes


def _luminance(color: Color) -> float:
    """Relative luminance, as WCAG 2.1 defines it."""
    parts = (part / 255 for part in color.rgb)
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
@pytest.mark.parametrize("ground", ["background", "surface", "panel"])
@pytest.mark.parametrize("ink", ["foreground", "primary", "warning", "error"])
def test_every_ink_can_be_read_on_every_ground(theme: Theme, ground: str, ink: str) -> None:
    """At least 4.5 to 1, which WCAG asks for text of this size."""
    shades = [_luminance(Color.parse(getattr(theme, name))) for name in (ground, ink)]

    assert (max(shades) + 0.05) / (min(shades) + 0.05) >= 4.5


@pytest.mark.parametrize(
    ("wish", "theme"), [("dark", DARK), ("light", LIGHT), ("anything else", DARK)]
)
def test_the_configured_theme_is_taken(wish: str, theme: Theme) -> None:
    assert theme_name(wish) == theme.name


# --------------------------------------------------------------------- paging


class Lists:
    """Answers from numbered lists; the next one is taken at each of the searches *changes*."""

    def __init__(self, size: int, changes: set[int]) -> None:
        self.size = size
        self.changes = changes
        self.asked: list[SearchQuery] = []
        self.version = 0

    def search(self, query: SearchQuery) -> SearchResponse:
        self.version += len(self.asked) in self.changes
        self.asked.append(query)
        version, start = map(int, (query.cursor or f"{self.version} 0").split())
        if version != self.version:
            raise StaleCursor("the list changed")
        end = min(start + query.k, self.size)
        hits = tuple(replace(KOREAN, chunk_id=f"{version} {at}") for at in range(start, end))
        cursor = f"{version} {end}" if end < self.size else None
        return SearchResponse(hits=hits, corpus_revision=1, next_cursor=cursor)


@given(
    size=st.integers(0, 400),
    loaded=st.integers(1, 300),
    k=st.integers(1, 100),
    changes=st.sets(st.integers(0, 9)),
)
def test_a_page_is_of_the_list_that_is_shown_or_the_list_is_begun_again(
    size: int, loaded: int, k: int, changes: set[int]
) -> None:
    lists = Lists(size, changes)

    more = next_page(lists.search, SearchQuery(text="x", k=k), f"0 {loaded}", loaded)

    found = [tuple(map(int, hit.chunk_id.split())) for hit in more.found.hits]
    versions = {version for version, _ in found}
    first = 0 if more.is_anew else loaded
    assert [at for _, at in found] == list(range(first, first + len(found)))
    assert len(versions) <= 1
    assert more.is_anew == (0 in changes)
    if not more.is_anew:
        assert len(found) == max(0, min(k, size - loaded))
    elif len(changes) == 1:
        assert len(found) == min(size, loaded + k)
    else:
        assert len(found) >= min(size, loaded + k, 100)
    assert (more.found.next_cursor is None) == (first + len(found) >= size)


# ------------------------------------------------------------------- terminal


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_without_a_terminal_it_ends_before_anything_is_drawn(
    missing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.isatty", lambda stream: stream != missing)
    monkeypatch.setenv("TERM", "xterm")
    with pytest.raises(InvalidInput, match="needs a terminal") as refusal:
        run(TuiKnowledgeBase())

    assert "kebab search" in str(refusal.value.hint)


@pytest.mark.parametrize(
    ("term", "encoding", "field", "way_out"),
    [("dumb", "utf-8", "TERM", "xterm-256color"), ("xterm", "latin-1", "LC_ALL", "C.UTF-8")],
)
def test_a_terminal_that_cannot_be_drawn_on_says_what_to_set(
    term: str, encoding: str, field: str, way_out: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.isatty", lambda _stream: True)
    monkeypatch.setattr("sys.__stderr__", TextIOWrapper(BytesIO(), encoding))
    monkeypatch.setenv("TERM", term)
    with pytest.raises(InvalidInput) as refusal:
        run(TuiKnowledgeBase())

    assert refusal.value.details["field"] == field
    assert way_out in str(refusal.value.hint)


def test_what_a_viewer_that_ends_at_once_ended_with_is_told() -> None:
    """As of what opens files on a desktop, on a machine that has none."""
    told: Queue[int] = Queue()

    run_beside([sys.executable, "-c", "raise SystemExit(3)"], told.put)

    assert told.get(timeout=60) == 3
