"""Filters become queries that mean what the filter means."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import example, given, strategies as st

from kb_core.filters import Tagged, Words
from kb_core.testing.documents import Corpus
from kb_core.testing.fakes import MemoryIndex
from kb_core.values import replace
from kb_search.narrowing import build_filter, glob_regex
from kb_search.reader import Reader
from kb_search.schema import records_schema
from kb_search.writer import Writer


def test_passages_are_found_by_the_names_that_they_define(tmp_path: Path) -> None:
    corpus, fake = Corpus(), MemoryIndex()
    symbols = {"a.py": "Holt.dig, Holt.fill", "b.py": "Dig", "c.py": "dig.Holt", "d.py": None}
    docs = []
    for path, symbol in symbols.items():
        made = corpus.document(path, "dig dig", media="code")
        docs.append(replace(made, chunks=tuple(replace(c, symbol=symbol) for c in made.chunks)))
    publication = corpus.publication(*docs)
    with closing(Writer(tmp_path)) as writer:
        writer.publish(publication)
    fake.publish(publication)

    for snapshot in (Reader(tmp_path).snapshot(), fake.snapshot()):
        for name, paths in (("dig", 2), ("FILL", 1), ("holt", 1), ("otter", 0)):
            assert snapshot.count(Words("name", name)) == paths, name


@pytest.mark.parametrize(
    ("pattern", "matches", "misses"),
    [
        ("*.md", ["a.md", "x/y/a.md"], ["a.mdx", "md"]),
        ("docs/*.md", ["docs/a.md"], ["docs/x/a.md", "a/docs/b.md"]),
        ("docs/**", ["docs/a.md", "docs/x/y"], ["doc/a", "docs"]),
        ("**/test_*.py", ["test_a.py", "x/y/test_b.py"], ["tests.py"]),
        ("docs/", ["docs/a", "docs/x/y", "a/docs/x"], ["docs", "docsx/a"]),
        ("./src/*", ["src/a"], ["a"]),
        ("/README*", ["README.md"], ["x/README.md"]),
        ("a?c", ["abc", "x/abc"], ["a/c", "ac"]),
        ("[ab].py", ["a.py", "x/b.py"], ["c.py"]),
        ("[!ab].py", ["c.py"], ["a.py"]),
        ("a[b", ["a[b"], ["ab"]),
        ("a[!]", ["a[!]"], ["ab"]),
        ("a[!]]", ["ab"], ["a]"]),
        ("x.(y)|z+", ["x.(y)|z+"], ["xy", "z"]),
        ("\\*.md", ["*.md", "x/*.md"], ["a.md", "\\a.md"]),
        ("a\\[b\\].\\?", ["a[b].?"], ["ab.?", "a[b].x"]),
        ("a\\\\b\\", ["a\\b\\"], ["ab", "ab\\"]),
    ],
)
def test_a_glob_is_gitignore_like(pattern: str, matches: list[str], misses: list[str]) -> None:
    found = re.compile(glob_regex(pattern))

    assert [path for path in matches if not found.fullmatch(path)] == []
    assert [path for path in misses if found.fullmatch(path)] == []


@given(st.text(alphabet="ab/.*?[]!^\\(+)", min_size=1))
@example("[!]")
def test_any_glob_compiles(pattern: str) -> None:
    re.compile(glob_regex(pattern))


def test_no_automaton_is_made_of_a_tag_that_no_document_has() -> None:
    """One of three megabytes took a gigabyte until the engine refused it."""
    short, long = (
        repr(build_filter(records_schema(), Tagged((tag,)))) for tag in ("bird", "x" * 2_000)
    )

    assert "Regex" in short
    assert "Regex" not in long
