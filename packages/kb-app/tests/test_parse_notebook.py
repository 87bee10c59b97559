"""Notebooks: cells in order, outputs cut short, and lines of the file that hold what is cited."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.making.places import placed_chunks
from kb_app._media import chunker_for, parser_for
from kb_core.citations import CodeSpan
from kb_core.documents import ChunkLimits, ParsedDocument, SourceFile
from kb_core.testing.fakes import WholeTextCounter

SAMPLES = Path(__file__).parents[4] / "shared" / "data" / "formats" / "notebook"
LIMITS = ChunkLimits(target_tokens=40, overlap_tokens=4, max_tokens=60)


def parse(data: bytes) -> ParsedDocument:
    file = SourceFile(source_id="notes", path="analysis.ipynb", media="notebook")
    document = parser_for("notebook")(FileContent(data), file)
    text, end = document.text, 0
    for block in document.blocks:
        assert text[end : block.start].strip() == ""
        end = block.end
    assert text[end:].strip() == ""
    text.encode()
    return document


def book(*cells: dict[str, Any], indent: int | None = 1, **metadata: object) -> bytes:
    made = {"metadata": metadata, "nbformat": 4, "cells": list(cells)}
    return json.dumps(made, indent=indent, ensure_ascii=False).encode()


def cell(kind: str, source: str, *outputs: dict[str, Any]) -> dict[str, Any]:
    lines = source.splitlines(keepends=True)
    more = {"outputs": list(outputs)} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, "source": lines, **more}


def test_a_notebook_is_its_cells_and_what_they_printed() -> None:
    document = parse(
        book(
            cell("markdown", "# Analysis\nThe mean."),
            cell(
                "code",
                "mean([4, 5])",
                {"output_type": "stream", "text": ["\x1b[31m4.5\x1b[0m\n"]},
                {"output_type": "display_data", "data": {"image/png": "iVBOR", "text/plain": "F"}},
                {"output_type": "display_data", "data": {"image/png": "iVBOR"}},
                {"output_type": "error", "ename": "KeyError", "traceback": ["…"]},
            ),
            cell("raw", "As it is."),
            kernelspec={"language": "python"},
        )
    )

    expected = "# Analysis\nThe mean.\n\nmean([4, 5])\n\n4.5\n\nF\n\nKeyError\n\nAs it is."
    assert document.text == expected
    assert document.metadata.title == "Analysis"
    assert document.code_lang == "python"
    assert {b.heading_path for b in document.blocks} == {("Analysis",)}


def test_a_long_output_is_cut_short() -> None:
    output = {"output_type": "stream", "text": [f"line {number}\n" for number in range(5000)]}
    document = parse(book(cell("code", "loop()", output)))

    assert len(document.text) < 2_100
    assert document.text.endswith("…")


def test_a_line_that_looks_like_a_heading_in_a_fence_is_none() -> None:
    document = parse(book(cell("markdown", "# One\n```\n# not\n```\n## Two\nx")))

    headings = [b.heading_path for b in document.blocks if b.kind == "heading"]
    assert headings == [("One",), ("One", "Two")]


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["markdown", "code", "raw", "heading"]),
            st.text(alphabet=st.sampled_from('ab "\\\n#é한😀'), max_size=60),
        ),
        max_size=8,
    ),
    st.sampled_from([1, None]),
)
def test_chunks_hold_everything_and_the_lines_that_they_are_cited_by_hold_them(
    cells: list[tuple[str, str]], indent: int | None
) -> None:
    data = book(*(cell(kind, source) for kind, source in cells), indent=indent)
    document = parse(data)
    lines = data.decode().split("\n")
    left = [*document.text]

    for chunk in placed_chunks(document, chunker_for("notebook"), WholeTextCounter(), LIMITS):
        assert isinstance(chunk.span, CodeSpan)
        cited = "\n".join(lines[chunk.span.start - 1 : chunk.span.end])
        for line in filter(str.strip, document.text[chunk.start : chunk.end].split("\n")):
            assert json.dumps(line, ensure_ascii=False)[1:-1] in cited
        assert (chunk.span.symbol or "").startswith("cell ")
        left[chunk.start : chunk.end] = " " * (chunk.end - chunk.start)
    assert not "".join(left).strip()


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b"[]", b'{"cells": 1}', b'{"cells": [1, {"source": [2]}]}', b'{"cells": [{'],
)
def test_what_is_no_notebook_is_a_document_all_the_same(data: bytes) -> None:
    document = parse(data)

    assert document.has_lines
    assert (document.text == data.decode()) == bool(document.warnings)


def test_json_without_an_end_to_its_depth_is_no_notebook() -> None:
    assert parse(b'{"cells":' + b"[" * 100_000).warnings


def test_half_a_character_is_replaced() -> None:
    assert parse(rb'{"cells": [{"cell_type": "raw", "source": "a \ud800 b"}]}').text == "a ? b"


@settings(deadline=None)
@given(st.binary(max_size=300), st.integers(0, 200))
def test_any_bytes_are_some_document(noise: bytes, at: int) -> None:
    whole = book(cell("code", "x = 1\ny", {"output_type": "stream", "text": "z"}))

    parse(whole[:at] + noise + whole[at + len(noise) :])


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples are not there")
def test_the_samples_say_what_is_known_of_them() -> None:
    four = parse((SAMPLES / "v4.ipynb").read_bytes())
    three = parse((SAMPLES / "v3.ipynb").read_bytes())

    assert four.text.startswith("# Analysis\nMean of the *sample*.\n\nimport statistics")
    assert "mean = 4.5" in four.text
    assert "iVBOR" not in four.text
    assert (three.metadata.title, three.text) == ("Old heading", "Old heading\n\nprint('v3')\n\nv3")
