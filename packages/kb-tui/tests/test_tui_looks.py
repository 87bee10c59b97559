"""How text is drawn: Markdown and code line by line, paths, bars, the place of a match."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from textual.app import App, ComposeResult
from textual.content import Content

from kb_tui._passage import Line, plain
from kb_tui._rendering import STYLES, rendered
from kb_tui.testing import until
from kb_tui.widgets.hit_list import score_bar
from kb_tui.widgets.lists import middle
from kb_tui.widgets.preview import Preview


def read(text: str, media: str = "markdown", lang: str | None = None) -> list[Line]:
    return rendered(plain(text), media, lang)


def told(line: Line) -> list[tuple[str, str]]:
    """Return the parts of a line that are not plain text, and how they are shown."""
    return [(line.text[start:end], style) for start, end, style in line.spans]


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("## Why *this* matters ##", "Why this matters"),
        ("- **bold** and `code`", "• bold and code"),
        ("  - [x] done, [ ] not", "  ☑ done, [ ] not"),
        ("> said", "▎ said"),
        ("[a link](http://x.org 't'), [[page|name]], ![[a.png]]", "a link, name, a.png"),
        ("snake_case_name, 2*3*4 and a * b", "snake_case_name, 2*3*4 and a * b"),
        ("#tag is no heading", "#tag is no heading"),
    ],
)
def test_markdown_is_read_without_its_signs(source: str, shown: str) -> None:
    assert read(source)[0].text == shown


def test_a_table_gets_its_columns_in_cells() -> None:
    lines = read("| 이름 | n |\n|---|--:|\n| x | `10` |")

    assert [line.text for line in lines] == ["이름 │ n", "─────┼───", "x    │ 10"]


def test_a_block_of_code_is_coloured_in_its_language_and_keeps_its_text() -> None:
    lines = read("text\n\n```python\n# why\ndef f(): return 'x'\n```\nafter **it**")

    assert [line.text for line in lines][3:5] == ["# why", "def f(): return 'x'"]
    assert told(lines[3]) == [("# why", "comment")]
    assert {("def", "keyword"), ("f", "name"), ("return", "keyword")} <= set(told(lines[4]))
    assert lines[6].text == "after it"


def test_code_of_a_language_that_nobody_knows_is_text() -> None:
    assert read("some (words)", "code", "klingon")[0].spans == ()


@given(st.text(), st.sampled_from(["markdown", "code", "text"]))
def test_every_line_stays_one_line_under_its_number(text: str, media: str) -> None:
    source = [Line(line.text, n, inside=True) for n, line in enumerate(plain(text), start=1)]
    lines = rendered(source, media, "python")

    assert [line.number for line in lines] == [line.number for line in source]
    for line in lines:
        assert all(0 <= start <= end <= len(line.text) for start, end, _ in line.spans)
        assert {style for _, _, style in line.spans} <= set(STYLES)


@given(st.text(alphabet="ab/검索.", max_size=60), st.integers(0, 70))
def test_a_path_is_cut_in_its_middle(path: str, width: int) -> None:
    cut = middle(path, width)

    assert Content(cut).cell_length <= width
    if cut != path and width > 1:
        before, _, after = cut.partition("…")
        assert path.startswith(before)
        assert path.endswith(after)


@given(st.floats(-1, 2))
def test_a_bar_has_five_cells(share: float) -> None:
    assert len("".join(score_bar(share))) == 5


class _Bare(App[None]):
    def compose(self) -> ComposeResult:
        yield Preview()


async def test_the_match_stands_at_a_third_of_the_height_and_comes_back_there() -> None:
    app = _Bare()
    async with app.run_test(size=(60, 24)) as pilot:
        preview = app.query_one(Preview)
        preview.show(plain("\n".join(["other"] * 50 + ["needle"] + ["other"] * 50)), "needle")
        await pilot.pause()
        assert preview.scroll_offset.y == 50 - 24 // 3
        await pilot.resize_terminal(60, 9)
        await until(pilot, lambda: preview.scroll_offset.y == 50 - 9 // 3)
