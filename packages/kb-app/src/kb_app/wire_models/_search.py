"""The input of a search: one set of names for the command line, bulk and MCP (ruling R20)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field, create_model

from kb_app.wire_models._strict import (
    Flag,
    Input,
    MaybeFlag,
    MaybeWhole,
    OneOrMore,
    Text,
    choice,
    read,
    whole,
)
from kb_core.errors import InvalidInput
from kb_core.filters import FILTERS, FilterSpec
from kb_core.media import SearchMode
from kb_core.search import MAX_K, MIN_SNIPPET_CHARS, SearchFilters, SearchQuery

__all__ = ["FilteredInput", "SearchInput", "read_queries"]


def _field(row: FilterSpec) -> tuple[Any, Any]:
    """Return how a filter is given: one value or a list, one of a closed set, or a text."""
    if row.many:
        return OneOrMore, Field(default=(), description=row.description)
    kind = Annotated[row.choices | None, choice(row.choices)] if row.choices else Text
    return kind, Field(default=None, description=row.description)


if TYPE_CHECKING:
    _Filters = Input
else:
    _Filters = create_model(
        "_Filters", __base__=Input, **{row.name: _field(row) for row in FILTERS}
    )


class FilteredInput(_Filters):
    """The filters: one value or a list; OR within a list, AND between names.

    What a value means, and whether it is one, is decided behind the facade.
    """

    def to_filters(self) -> SearchFilters:
        """Return the filters as the facade takes them."""
        return SearchFilters(**{row.name: getattr(self, row.name) for row in FILTERS})


class SearchInput(FilteredInput):
    """A search; names and meanings are those of ``kebab search``."""

    synonyms: ClassVar[Mapping[str, str]] = {
        "filter_tags": "tag",
        "folder": "path_glob",
        "limit": "k",
        "max_results": "k",
        "path": "path_glob",
        "q": "query",
        "text": "query",
        "top_k": "k",
    }

    query: str = Field(
        description="What to look for: a question, key words, or an identifier, in any language. "
        'Understands "a phrase", -without, title:word, path:word, tag:word.',
    )
    mode: Annotated[SearchMode, choice(SearchMode)] = Field(
        default=SearchMode.HYBRID,
        description="lexical matches words (names, identifiers, quotes), vector matches meaning, "
        "hybrid does both.",
    )
    k: Annotated[MaybeWhole, whole(1, MAX_K)] = Field(default=None, description="How many hits.")
    snippet_chars: Annotated[MaybeWhole, whole(MIN_SNIPPET_CHARS, 10_000)] = Field(
        default=None, description="Longest snippet of a hit."
    )
    max_tokens: Annotated[MaybeWhole, whole(1, 10_000_000)] = Field(
        default=None, description="Make the whole response fit this many tokens."
    )
    cursor: Text = Field(
        default=None, description="next_cursor of an earlier response to the same query."
    )
    rerank: MaybeFlag = Field(default=None, description="Read the first hits again, closely.")
    deadline_ms: Annotated[MaybeWhole, whole(1, 3_600_000)] = Field(
        default=None, description="Answer with what is ready after so many milliseconds."
    )
    trace: Flag = Field(default=False, description="Add how the answer came about; long.")

    def to_query(self, *, k: int = 10, snippet_chars: int = 220) -> SearchQuery:
        """Return the search as the facade takes it, or raise ``InvalidInput``.

        *k* and *snippet_chars* are for those that leave them out.
        """
        return SearchQuery(
            text=self.query,
            mode=self.mode,
            k=k if self.k is None else self.k,
            filters=self.to_filters(),
            snippet_chars=snippet_chars if self.snippet_chars is None else self.snippet_chars,
            max_tokens=self.max_tokens,
            cursor=self.cursor,
            rerank=self.rerank,
            deadline_ms=self.deadline_ms,
            trace=self.trace,
        )


def read_queries(
    given: Sequence[Mapping[str, Any]], *, k: int = 10, snippet_chars: int = 220
) -> list[SearchQuery | InvalidInput]:
    """Return each query, or what is wrong with it (ruling R17)."""
    return [_read_query(one, k, snippet_chars) for one in given]


def _read_query(given: Mapping[str, Any], k: int, snippet_chars: int) -> SearchQuery | InvalidInput:
    try:
        return read(SearchInput, given).to_query(k=k, snippet_chars=snippet_chars)
    except InvalidInput as error:
        return error
