"""The lines of a text, held one by one or made when they are asked for."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from kb_app._ingest.making import blocks
from kb_app._ingest.making.blocks import Lines

texts = st.text(alphabet="a\n\r \u2028é", max_size=40)


@pytest.fixture(params=[0, 10**6], ids=["asked for", "held"], scope="module", autouse=True)
def _many(request: pytest.FixtureRequest) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "_MANY_LINES", request.param)
        patch.setattr(blocks, "_WINDOW", 3)
        yield


@given(texts)
def test_lines_end_at_line_feeds_and_nowhere_else(text: str) -> None:
    lines, expected = Lines(text), text.split("\n")

    assert list(lines.texts) == expected
    assert len(lines) == len(expected)
    assert lines.texts[1:3] == expected[1:3]
    assert lines.texts[::-2] == expected[::-2]
    assert lines.texts[-1] == expected[-1]


@given(texts)
def test_a_line_starts_behind_the_line_feed_before_it(text: str) -> None:
    lines, expected = Lines(text), text.split("\n")

    starts = [len("".join(f"{line}\n" for line in expected[:n])) for n in range(len(expected))]
    assert [lines.start(n) for n in range(len(expected))] == starts
    assert lines.start(len(expected)) == len(text)
