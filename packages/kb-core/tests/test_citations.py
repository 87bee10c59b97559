"""Citations print and parse back; places store and load."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from kb_core.citations import (
    CaptionSpan,
    CellSpan,
    Citation,
    CodeSpan,
    LineSpan,
    PageSpan,
    RegionSpan,
    Span,
    TimeSpan,
    citation_of,
    column_name,
    column_number,
    kind_of,
    parse_citation,
    quote_path,
    span_of,
    stored_span,
    unquote_path,
)
from kb_core.errors import InvalidInput
from kb_core.ids import content_hash
from kb_core.testing.documents import document, stored_chunk

numbers = st.integers(min_value=1, max_value=10**9)
naturals = st.integers(min_value=0, max_value=10**9)
words = st.none() | st.text(min_size=1, max_size=8)
pairs = st.tuples(numbers, numbers).map(lambda pair: (min(pair), max(pair)))
boxes = st.none() | st.tuples(*[st.floats(-1e4, 1e4)] * 4)
columns = st.integers(1, 16_384)
rows = st.integers(1, 1_048_576)
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
spans: st.SearchStrategy[Span] = st.one_of(
    st.builds(lambda pair, section: LineSpan(pair[0], pair[1], section), pairs, words),
    st.builds(
        lambda pair, symbol, lang: CodeSpan(pair[0], pair[1], symbol, lang), pairs, words, words
    ),
    st.builds(PageSpan, numbers, st.none() | naturals, st.none() | naturals, boxes, words),
    st.builds(CellSpan.of, names, columns, rows, columns, rows),
    st.builds(RegionSpan, naturals, naturals, naturals, naturals),
    st.builds(CaptionSpan, words),
    st.builds(lambda pair, speaker: TimeSpan(pair[0], pair[1], speaker), pairs, words),
)
# What a path can be: text, or bytes that are no text, as the file system gives them.
paths = st.text(min_size=1) | st.binary(min_size=1).map(
    lambda b: b.decode(errors="surrogateescape")
)
paths = paths.filter(
    lambda p: not any(0xD800 <= ord(c) < 0xDC80 or 0xDCFF < ord(c) < 0xE000 for c in p)
)
citations = st.builds(Citation, paths, spans, st.none() | st.text("0123456789abcdef", min_size=16))


@given(citations)
def test_parsing_is_the_exact_inverse_of_printing(citation: Citation) -> None:
    """The module's invariant, over paths nobody would think to type."""
    parsed = parse_citation(citation.uri)

    assert parsed == citation.bare()
    assert parsed.uri == citation.uri


@given(paths)
def test_a_quoted_path_is_one_word_and_comes_back(path: str) -> None:
    quoted = quote_path(path)

    assert unquote_path(quoted) == path
    assert not re.search(r"[\s#?\x00-\x1f\"<>\\^`{|}]", quoted)
    assert quoted.encode()


@pytest.mark.parametrize(
    ("path", "span", "uri"),
    [
        ("notes/search.md", LineSpan(12, 34, "S"), "notes/search.md#L12-L34"),
        ("a.md", LineSpan(7, 7), "a.md#L7"),
        ("src/a.py", CodeSpan(10, 42, "A.b", "python"), "src/a.py#L10-L42"),
        ("p/rrf.pdf", PageSpan(13, bbox=(0, 0, 1, 1)), "p/rrf.pdf#page=13"),
        ("b.xlsx", CellSpan("Sales 2025", "A4:F9"), "b.xlsx#sheet=Sales%202025&range=A4:F9"),
        ("b.xlsx", CellSpan("a&b#=매출", "B2"), "b.xlsx#sheet=a%26b%23%3D매출&range=B2"),
        ("r.png", RegionSpan(10, 20, 300, 40), "r.png#xywh=10,20,300,40"),
        ("cat.jpg", CaptionSpan("m"), "cat.jpg#caption"),
        ("i.mp3", TimeSpan(822_000, 850_000), "i.mp3#t=13:42.000,14:10.000"),
        ("i.mp3", TimeSpan(0, 3_600_001), "i.mp3#t=0:00.000,1:00:00.001"),
        ("c# notes/100%.md", LineSpan(1, 1), "c%23%20notes/100%25.md#L1"),
        ("노트/한국어.md", LineSpan(1, 1), "노트/한국어.md#L1"),
        ("caf\udce9.md", LineSpan(1, 1), "caf%E9.md#L1"),
    ],
)
def test_citations_print_as_documented(path: str, span: Span, uri: str) -> None:
    assert Citation(path, span).uri == uri


@pytest.mark.parametrize(
    ("fragment", "span"),
    [
        ("13:42,13:50", TimeSpan(822_000, 830_000)),
        ("822,830.5", TimeSpan(822_000, 830_500)),
        ("1:00:02.25,1:00:03", TimeSpan(3_602_250, 3_603_000)),
    ],
)
def test_a_time_is_read_as_people_write_it(fragment: str, span: Span) -> None:
    assert parse_citation(f"i.mp3#t={fragment}").span == span


@pytest.mark.parametrize(
    ("uri", "complaint"),
    [
        ("notes/a.md", "no path or no fragment"),
        ("#L1-L2", "no path or no fragment"),
        ("a.md#", "unknown fragment ''"),
        ("a.md#section", "unknown fragment 'section'"),
        ("a.md#L9-L3", "lines 9-3 are not a span"),
        ("a.md#L0", "lines 0-0 are not a span"),
        ("a.md#L١", "unknown fragment"),
        ("a.md#L1-L2-L3", "unknown fragment"),
        ("a.pdf#page=0", "page 0 is not a page"),
        ("a.png#xywh=1,2,3", "unknown fragment"),
        ("a.mp3#t=0:09.000,0:05.000", "not a span"),
    ],
)
def test_a_broken_citation_says_what_is_broken(uri: str, complaint: str) -> None:
    with pytest.raises(InvalidInput, match=complaint):
        parse_citation(uri)


@pytest.mark.parametrize(
    "build",
    [
        lambda: LineSpan(0, 1),
        lambda: CodeSpan(3, 2),
        lambda: PageSpan(0),
        lambda: RegionSpan(0, 0, -1, 0),
        lambda: CellSpan("S", "A0"),
        lambda: CellSpan("S", "a1:b2"),
        lambda: TimeSpan(-1, 0),
        lambda: Citation("", LineSpan(1, 1)),
    ],
)
def test_nonsense_cannot_be_built(build: object) -> None:
    assert callable(build)
    with pytest.raises(InvalidInput):
        build()


@given(spans)
def test_a_stored_span_comes_back(span: Span) -> None:
    stored = stored_span(span)

    assert span_of(stored) == span
    assert stored["kind"] == kind_of(span)


def test_a_span_of_no_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="'verse' is none of ours"):
        span_of({"kind": "verse"})


def test_a_chunk_is_cited_by_what_it_is() -> None:
    doc = document("a", "t", media="markdown", code_lang="python")
    chunk = stored_chunk(
        doc.chunks[0], doc, line_start=2, line_end=3, heading_path=("A", "B"), symbol="f"
    )
    digest = content_hash("t")

    assert citation_of(chunk) == Citation("a", LineSpan(2, 3, "B"), digest)
    assert citation_of({**chunk, "heading_path": []}) == Citation("a", LineSpan(2, 3), digest)
    assert citation_of({**chunk, "media": "code"}) == Citation(
        "a", CodeSpan(2, 3, "f", "python"), digest
    )
    assert citation_of({**chunk, "span": {"kind": "page", "page": 4}}).uri == "a#page=4"


@given(columns)
def test_a_column_has_one_name(number: int) -> None:
    assert column_number(column_name(number)) == number


def test_a_range_says_its_edges() -> None:
    named = [column_name(number) for number in (1, 26, 27, 702, 703, 16_384)]
    assert named == ["A", "Z", "AA", "ZZ", "AAA", "XFD"]
    assert CellSpan("S", "B3:XFD9").edges == (2, 3, 16_384, 9)
    assert CellSpan("S", "B3").edges == (2, 3, 2, 3)
    assert parse_citation("b.xlsx#sheet=S&range=b2:c3").span == CellSpan("S", "B2:C3")
