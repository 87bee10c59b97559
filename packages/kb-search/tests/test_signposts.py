"""Passages that only name what stands elsewhere: which ones they are, and where they rank."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kb_core.filters import Glob
from kb_core.quantization import dequantize, quantize
from kb_core.records import VectorRecord
from kb_core.search import Clause, LexicalQuery
from kb_core.testing.documents import Corpus
from kb_core.testing.fakes import HashEmbedder
from kb_search import signposts
from kb_search.reader import Reader
from kb_search.signposts import is_signpost
from kb_search.small_view import SmallView
from kb_search.snapshot import Snapshot
from kb_search.vector_files import map_files, start
from kb_search.vectors import VectorView, append
from kb_search.writer import Writer

LINKS = "## Contents\n- [Search and replace](#search)\n- [Selected lines](lines.md)\n- [Undo](u)\n"


@pytest.mark.parametrize(
    "text",
    [
        LINKS,
        "* [[Search and replace]]\n* [[Selected lines|the lines]]\n* [[Undo]]",
        "1. <https://a.example/search>\n2. https://b.example\n3. [c][1]\n\n[1]: https://c.example",
        '<ul>\n<li><a href="a">Search</a>\n<li><a href="b">Undo</a>\n<li><a href="c">Go</a></ul>',
        "[![Build](a.svg)](b) [![Coverage](c.svg)](d)\n[![Docs](e.svg)](f)\n[![Chat](g)](h)",
        "Contents\n1 Search ........ 3\n1.1 Selected lines . . . . . 4\n2 Undo …… 17",
        "1.1 Search and replace   17\n1.2 Selected lines 18\n1.3 Undo xi",
        "# Search and replace\n\n## Selected lines",
        "Search and replace\n==================\n",
    ],
)
def test_lists_of_links_contents_and_bare_headings_are_signposts(text: str) -> None:
    assert is_signpost(text)


@pytest.mark.parametrize(
    ("text", "media"),
    [
        ("## How do I install the plugin on Windows\nWith scoop.", "markdown"),
        ("- [Search](a) looks through all lines\n- [Undo](b) takes one change back\n" * 3, "text"),
        ("The manual is [here](https://a.example).", "markdown"),
        ("[manual](https://a.example)", "markdown"),
        ("```\n# a comment\n# another\n```", "markdown"),
        ("# a comment\n# another", "text"),
        ("| a | 1.2 | 3 |\n| b | 1.3 | 4 |\n1.2 3.4 5\n1.3 3.5 6\n1.4 3.6 7", "markdown"),
        ("- buy milk\n- call the bank\n- water the plants", "markdown"),
        ("[a](b)\n[c](d)\n[e](f)", "code"),
        ("---", "markdown"),
        ("", "markdown"),
    ],
)
def test_what_says_something_of_its_own_is_none(text: str, media: str) -> None:
    assert not is_signpost(text, media)


@pytest.mark.parametrize(
    "text",
    [
        "from __future__ import annotations\n\nimport json\nfrom a.b import (\n    C as D,\n)",
        "if TYPE_CHECKING:\n    from pathlib import Path\n\n__all__ = [\n    'a',\n]",
        "/* Copyright 2024 A. Body\n * Licensed under the terms of the day. */",
        '#include <stdio.h>\n#include "a.h"',
        '#ifndef A_H\n#define A_H\n\n#include <a>\n\nnamespace a {\nextern "C" {\n}  // extern\n',
        "use std::fmt;\npub use crate::log::Log;\n// shown",
        'package main\n\nimport (\n\t"fmt"\n)',
        "const fs = require('fs');\nimport { a } from './a';",
        '"use strict";\n\nconst\n    fs = require("fs"),\n    { a, b: c } = require("./a"),',
        "module.exports = {\n  get A() {\n    return require('./a')\n      .default;\n  },\n};",
        'const std = @import("std");\npub const Row = @import("row.zig").Row;',
        "pub mod rows;\nmod tests;\nuse rows::Row;",
        'local rows = require "rows"\nlocal a = require("a").b',
    ],
)
def test_a_head_of_code_that_only_imports_is_a_signpost(text: str) -> None:
    assert is_signpost(text, "code")


@pytest.mark.parametrize(
    "text",
    [
        '"""What this is for."""\n\nimport json',
        "import json\n\nMOST = 40",
        "#ifndef A_H\n#define A_H\n#define MOST 40\n#include <a>",
        "# if it is late: a remark\nimport json",
        "import json\n\nlog = getLogger(__name__)",
        "# We import late: a short command would pay for it.\nimport json",
        "# import what is needed, and no more",
        "import json\n\ndef read():\n    return 1",
        "",
    ],
)
def test_a_head_of_code_that_says_more_is_none(text: str) -> None:
    assert not is_signpost(text, "code")


def test_text_without_a_link_is_not_parted_into_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Millions of short lines would cost more than all else that is done with them."""
    monkeypatch.setattr(signposts, "_parts", None)
    monkeypatch.setattr(signposts, "_lines", None)

    assert not is_signpost("a,b\n1,2 and more\n" * 50, "table")
    assert not is_signpost("Words, and the number 3 in a line. v\n" * 2 + "More.\n" * 50)


def test_code_that_says_something_in_its_first_line_is_not_looked_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Most of code does, and to look for an import in all of it costs more than its terms."""
    monkeypatch.setattr(signposts, "_TELLS_HEAD", None)

    assert not is_signpost("def read():\n" + "    import json\n" * 50, "code")


@pytest.mark.parametrize("is_before", [True, False])
def test_words_of_its_own_are_a_third_of_a_list_at_most(*, is_before: bool) -> None:
    links = "".join(f"[{letter * 20}](x)\n" for letter in "abc")

    def with_own(letters: int) -> str:
        return "w" * letters + "\n" + links if is_before else links + "w" * letters

    assert is_signpost(with_own(20))
    assert not is_signpost(with_own(21))


@pytest.mark.parametrize("part", ["[", "](", "<a ", "![[", "<", ". ", "1.", "https://", "·", "\n#"])
def test_no_text_takes_long_to_judge(part: str) -> None:
    started = time.process_time()

    is_signpost(part * 100_000)

    assert time.process_time() - started < 2


@pytest.mark.parametrize("text", ["{" + " " * 20_000 + "x{", "{" + "\n" * 20_000 + "}"])
def test_no_code_takes_long_to_judge(text: str) -> None:
    started = time.process_time()

    assert not is_signpost(text, "code")

    assert time.process_time() - started < 1


def snapshot_of(folder: Path, *texts: str) -> Snapshot:
    corpus = Corpus(HashEmbedder(32))
    documents = [corpus.document(f"{n}.md", text, title="x") for n, text in enumerate(texts)]
    with closing(Writer(folder)) as writer:
        writer.publish(corpus.publication(*documents))
    return Reader(folder).snapshot()


def test_what_a_list_leads_to_ranks_above_the_list(tmp_path: Path) -> None:
    answer = "To search and replace in selected lines only, mark the lines and type the command."
    filler = [f"other words of passage {n}, and a few more of them" for n in range(40)]
    snapshot = snapshot_of(tmp_path, LINKS, answer, *filler)
    asked = LexicalQuery((Clause("search and replace only in selected lines"),))

    rows = snapshot.lexical(asked, None, 10)

    paths = [snapshot.chunks([row.chunk_key])[row.chunk_key]["path"] for row in rows]
    assert paths[:2] == ["1.md", "0.md"]


def test_a_list_alone_is_found_by_words_and_by_meaning(tmp_path: Path) -> None:
    snapshot = snapshot_of(tmp_path, LINKS, "something else")
    embedder = HashEmbedder(32)

    by_words = snapshot.lexical(LexicalQuery((Clause("replace"),)), None, 10)
    by_meaning = snapshot.vector(embedder.embed_query("replace"), embedder.model.key, None, 10)

    assert len(by_words) == 1
    assert len(by_meaning) == 2


def test_a_list_is_a_fifth_farther_away_with_a_filter_or_without(tmp_path: Path) -> None:
    snapshot = snapshot_of(tmp_path, LINKS, "something else", "and more")
    embedder = HashEmbedder(32)
    key = embedder.model.key
    (chunk,) = [c for d in snapshot.docs(Glob("0.md")) for c in snapshot.doc_chunks(d["doc_id"])]
    stored = np.frombuffer(
        snapshot.vectors_of([chunk["chunk_key"]], key).get(chunk["chunk_key"]) or b"", "<f4"
    )
    asked = embedder.embed_query("search")
    cosine = float(stored @ np.frombuffer(asked, "<f4"))

    whole = {row.chunk_key: row.score for row in snapshot.vector(asked, key, None, 10)}
    narrowed = snapshot.vector(asked, key, Glob("0.md"), 10)

    assert whole[chunk["chunk_key"]] == pytest.approx(1 - 1.2 * (1 - cosine), abs=1e-6)
    assert [row.score for row in narrowed] == [whole[chunk["chunk_key"]]]


def test_no_row_is_looked_up_of_what_is_farther_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among a million vectors that takes as long as looking through them."""
    snapshot, embedder = snapshot_of(tmp_path, LINKS, "something else"), HashEmbedder(32)
    looked_up: list[object] = []
    for view in (SmallView, VectorView):
        monkeypatch.setattr(view, "rows_of", lambda *asked: looked_up.append(asked))

    found = snapshot.vector(embedder.embed_query("replace"), embedder.model.key, None, 10)

    assert len(found) == 2
    assert looked_up == []


@given(seed=st.integers(0, 1000), rows=st.sampled_from([40, 700]), limit=st.integers(1, 30))
def test_a_scan_with_rows_that_are_farther_is_exact(
    tmp_path_factory: pytest.TempPathFactory, seed: int, rows: int, limit: int
) -> None:
    chance = np.random.default_rng(seed)
    vectors = chance.standard_normal((rows, 16)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    root = tmp_path_factory.mktemp("vectors")
    made = [VectorRecord(n, quantize(v.tolist())) for n, v in enumerate(vectors)]
    files = append(root, start(root, "m", {}, 16), made, [])
    view = VectorView(map_files(root, files), files)
    marked = sorted(chance.choice(rows, rows // 3, replace=False).tolist())
    exact = np.array([dequantize(record.vector) for record in made]) @ vectors[0]
    exact[marked] -= 0.2 * (1 - exact[marked])
    expected = sorted(range(rows), key=lambda key: (-exact[key], key))

    farther = frozenset(marked)
    asked = vectors[0].tobytes()
    found = [row.chunk_key for row in view.nearest(asked, limit, farther=farther)]
    even = view.deepening(asked, limit, lambda keys: {k for k in keys if not k % 2}, 8, farther)

    assert found == expected[:limit]
    assert [row.chunk_key for row in even] == [key for key in expected if not key % 2][:limit]
