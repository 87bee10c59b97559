"""What is asked is met as it was meant, or refused by name: the same in every operation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kb_app import Config, KnowledgeBase
from kb_app.testing import SearchWorld
from kb_app.testing.parts import memory_parts
from kb_core.errors import InvalidInput
from kb_core.filters import FILTERS
from kb_core.media import SearchMode
from kb_core.search import SearchFilters, SearchQuery
from kb_search.reader import Reader

MODES = list(SearchMode)


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """Return the facade over a real index of a few notes in two languages."""
    folder = tmp_path_factory.mktemp("kb")
    world = SearchWorld(folder)
    make = world.corpus.document
    world.put(
        make("notes/locks.md", "# Locks\n\nThe writer takes a lock.\n", tags=("Rust", "storage")),
        make("notes/bread.md", "# Bread\n\nFlour and water. Not a lock.\n", tags=("kitchen",)),
        make("ko/search.md", "# 검색\n\n한국어 문서 검색.\n", lang="ko"),
    )
    parts = replace(memory_parts(Reader(folder), world.embedder), reader=lambda: Reader(folder))
    with KnowledgeBase(Config.inside(folder / "config"), parts) as opened:
        yield opened


def globbing(pattern: str) -> dict[str, Callable[[KnowledgeBase], Any]]:
    """Return every operation that takes a path pattern, with this one."""
    filters = SearchFilters(path_glob=(pattern,))

    def asking(mode: SearchMode) -> Callable[[KnowledgeBase], Any]:
        return lambda kb: kb.search(SearchQuery(text="lock", mode=mode, filters=filters))

    return {
        **{mode.value: asking(mode) for mode in MODES},
        "list": lambda kb: kb.list_docs(filters),
        "status": lambda kb: kb.status(pattern),
        "similar": lambda kb: kb.similar(
            "notes/locks.md", SearchQuery(text="lock", filters=filters)
        ),
        "explain_miss": lambda kb: kb.explain_miss(
            "notes/locks.md", SearchQuery(text="lock", filters=filters)
        ),
    }


@pytest.mark.parametrize("pattern", ["[z-a]", "*a" * 40, "[!a]" * 20, "a\udcff", "[a", " "])
@pytest.mark.parametrize("operation", globbing(""))
def test_a_path_pattern_that_is_none_is_refused_by_name(
    kb: KnowledgeBase, operation: str, pattern: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        globbing(pattern)[operation](kb)

    assert refused.value.details["field"] == "path_glob"
    assert "regex" not in str(refused.value).lower()


@given(st.text(st.sampled_from("a-z[]!^*?/\\.{}()|+$#&~한é\n"), max_size=40))
def test_no_path_pattern_is_anything_but_a_filter_or_refused(
    kb: KnowledgeBase, pattern: str
) -> None:
    for operation in ("lexical", "status"):
        try:
            globbing(pattern)[operation](kb)
        except InvalidInput as refused:
            assert refused.details["field"] == "path_glob"  # noqa: PT017 - either is right


def test_every_filter_that_is_a_pattern_is_tried_here() -> None:
    assert [row.name for row in FILTERS if row.kind == "glob"] == ["path_glob"]
