"""The input of a search: one set of names for the command line, bulk and MCP (ruling R20)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Annotated, Any, ClassVar

from pydantic import Field

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
from kb_core.media import Media, SearchMode, TrustLevel
from kb_core.search import MAX_K, MIN_SNIPPET_CHARS, SearchFilters, SearchQuery

__all__ = ["FilteredInput", "SearchInput", "read_queries"]


class FilteredInput(Input):
    """The filters: one value or a list; OR within a list, AND between names.

    What a value means, and whether it is one, is decided behind the facade.
    """

    tag: OneOrMore = Field(default=(), description="Only documents with one of these tags.")
    lang: OneOrMore = Field(default=(), description="Language of the document, such as en or ko.")
    path_glob: OneOrMore = Field(
        default=(), description="Path pattern as in .gitignore: notes/**, *.md."
    )
    trust_min: Annotated[TrustLevel | None, choice(TrustLevel)] = Field(
        default=None, description="Least trusted source that counts; primary is the strictest."
    )
    media: OneOrMore = Field(default=(), description=f"Kind of file: {', '.join(Media)}.")
    ingested_after: Text = Field(
        default=None, description="Indexed after this moment: a date or an RFC 3339 time."
    )
    since: Text = Field(default=None, description="Document dated on or after this day.")
    until: Text = Field(default=None, description="Document dated on or before this day.")
    doc_id: Text = Field(default=None, description="Only this document, by doc_id of a hit.")
    repo: OneOrMore = Field(default=(), description="Name of a code repository.")
    code_lang: OneOrMore = Field(default=(), description="Programming language, such as python.")
    source: OneOrMore = Field(default=(), description="Id of a source; schema lists them.")
    source_type: OneOrMore = Field(default=(), description="Type of a source, such as note.")

    def to_filters(self) -> SearchFilters:
        """Return the filters as the facade takes them."""
        return SearchFilters(**{name: getattr(self, name) for name in _FILTERS})


_FILTERS = [field.name for field in fields(SearchFilters)]


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
