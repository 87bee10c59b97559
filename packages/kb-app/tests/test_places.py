"""Places: no chunk crosses a border, and each is cited by what holds it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kb_app._ingest.making import places as placing
from kb_app._ingest.making.places import common_place, placed_chunks
from kb_app._media import chunker_for
from kb_core.citations import CaptionSpan, CellSpan, CodeSpan, PageSpan, RegionSpan, Span, TimeSpan
from kb_core.documents import Block, ChunkDraft, ChunkLimits, ParsedDocument, Place
from kb_core.media import Media
from kb_core.testing.fakes import WordCounter

LIMITS = ChunkLimits(target_tokens=12, overlap_tokens=2, max_tokens=20)
BOX = (10.0, 10.0, 20.0, 20.0)


def chunks(document: ParsedDocument) -> list[ChunkDraft]:
    return list(placed_chunks(document, chunker_for(Media.TEXT), WordCounter(), LIMITS))


def document(*paragraphs: tuple[str, Span]) -> ParsedDocument:
    """Return a document of paragraphs, each at a place of its own."""
    blocks, places, at = [], [], 0
    for text, span in paragraphs:
        blocks.append(Block("paragraph", at, at + len(text)))
        places.append(Place(at, span))
        at += len(text) + 2
    text = "\n\n".join(text for text, _ in paragraphs)
    return ParsedDocument(text=text, media="pdf", blocks=tuple(blocks), places=tuple(places))


def test_no_chunk_is_of_two_pages_and_short_paragraphs_of_one_page_are_together() -> None:
    made = document(
        ("On the first page.", PageSpan(1, bbox=(0, 0, 10, 10))),
        ("And below it.", PageSpan(1, bbox=(0, 20, 30, 40))),
        ("On the second.", PageSpan(2, bbox=(5, 5, 6, 6))),
    )

    found = [(made.text[c.start : c.end], c.span) for c in chunks(made)]

    assert found == [
        ("On the first page.\n\nAnd below it.", PageSpan(1, bbox=(0, 0, 30, 40))),
        ("On the second.", PageSpan(2, bbox=(5, 5, 6, 6))),
    ]


class Counted(tuple[Block, ...]):
    """Blocks that count how many of them were handed out one by one, or in a slice."""

    taken = 0

    def __getitem__(self, at: Any) -> Any:  # noqa: ANN401 - a block, or some
        found = super().__getitem__(at)
        Counted.taken += len(found) if isinstance(at, slice) else 1
        return found


def test_parts_take_no_blocks_but_their_own() -> None:
    made = document(*((f"Page {n} says little.", PageSpan(n)) for n in range(1, 201)))
    made = replace(made, blocks=Counted(made.blocks))

    assert len(chunks(made)) == 200
    assert Counted.taken <= 3 * 200


def test_a_paragraph_that_runs_over_a_page_is_cut_there() -> None:
    text = "It began here and it ended there."
    made = ParsedDocument(
        text=text,
        media="pdf",
        blocks=(Block("paragraph", 0, len(text)),),
        places=(Place(0, PageSpan(1)), Place(14, PageSpan(2))),
    )

    assert [(text[c.start : c.end].strip(), c.span) for c in chunks(made)] == [
        ("It began here", PageSpan(1)),
        ("and it ended there.", PageSpan(2)),
    ]


def test_text_before_the_first_place_has_none() -> None:
    text = "A foreword.\n\nThe text."
    blocks = (Block("paragraph", 0, 11), Block("paragraph", 13, 22))
    made = ParsedDocument(text=text, media="pdf", blocks=blocks, places=(Place(13, PageSpan(1)),))

    assert [c.span for c in chunks(made)] == [None, PageSpan(1)]


def test_what_two_places_have_in_common() -> None:
    assert common_place(TimeSpan(5, 10, "A"), TimeSpan(10, 30, "A")) == TimeSpan(5, 30, "A")
    assert common_place(TimeSpan(5, 10, "A"), TimeSpan(10, 30, "B")) is None
    cells = common_place(CellSpan("S", "B3:C4"), CellSpan("S", "A9"))
    assert cells == CellSpan("S", "A3:C9")
    assert common_place(CellSpan("S", "A1"), CellSpan("T", "A1")) is None
    region = common_place(RegionSpan(10, 10, 5, 5), RegionSpan(0, 12, 4, 20))
    assert region == RegionSpan(0, 10, 15, 22)
    assert common_place(PageSpan(1, bbox=BOX), PageSpan(1)) == PageSpan(1)
    assert common_place(PageSpan(1, 3, 9), PageSpan(1, 5, 20)) == PageSpan(1, 3, 20)
    assert common_place(PageSpan(1), CaptionSpan("m")) is None
    assert common_place(CaptionSpan("m"), CaptionSpan("m")) == CaptionSpan("m")


@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from(["one", "deux", "drei"]), min_size=1, max_size=40),
            st.integers(1, 4),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_chunks_cover_all_and_lie_on_the_page_that_they_are_cited_by(
    written: list[tuple[list[str], int]],
) -> None:
    made = document(*((" ".join(words), PageSpan(page)) for words, page in written))
    covered = set()
    for chunk in chunks(made):
        covered |= set(range(chunk.start, chunk.end))
        pages = {
            place.span.page
            for place, block in zip(made.places, made.blocks, strict=True)
            if isinstance(place.span, PageSpan)
            and block.start < chunk.end
            and block.end > chunk.start
        }
        assert isinstance(chunk.span, PageSpan)
        assert pages == {chunk.span.page}
    assert all(made.text[at].isspace() for at in set(range(len(made.text))) - covered)


def test_what_a_thousand_cells_have_in_common_is_not_made_of_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It names all of them: in a notebook of very many, that grows with the square of them."""
    longest = 0

    def common(one: Span, other: Span) -> Span | None:
        nonlocal longest
        found = common_place(one, other)
        longest = max(longest, len((isinstance(found, CodeSpan) and found.symbol) or ""))
        return found

    monkeypatch.setattr(placing, "common_place", common)
    made = document(*((f"x = {n}", CodeSpan(n, n, f"cell {n}")) for n in range(1, 1001)))

    assert len(chunks(made)) > 100
    assert longest < 100
