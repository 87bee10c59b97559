"""What comes in as JSON, checked: the input of a search, alone or one of many.

The only part of kb-app that imports pydantic (ruling R26): several queries in one call and
MCP load it, a search on the command line does not. Nothing is guessed or dropped: an
unknown name is refused together with the nearest one that exists.

* ``SearchInput``   the options of a search, under the names that they have everywhere
* ``read``          arguments as a model, or ``InvalidInput`` that names every fault
* ``invalid``       that error, of faults that are known
* ``read_queries``  the queries of a bulk search; a fault stays with its query
* the other names are what further inputs are made of
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    ValidationError,
    WithJsonSchema,
    create_model,
)

from kb_app.shown import as_given
from kb_core.errors import InvalidInput
from kb_core.filters import FILTERS, FilterSpec
from kb_core.media import SearchMode
from kb_core.search import MAX_K, MIN_SNIPPET_CHARS, SearchFilters, SearchQuery
from kb_core.values import replace

__all__ = [
    "FilteredInput",
    "Flag",
    "Input",
    "MaybeFlag",
    "MaybeWhole",
    "OneOrMore",
    "SearchInput",
    "Text",
    "Whole",
    "choice",
    "invalid",
    "read",
    "read_queries",
    "sharing",
    "whole",
]

_SHOWN = 80
"""Characters of a bad value that are worth repeating."""


def _as_list(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def _as_whole(value: object) -> object:
    """JSON does not tell 10 from 10.0; Python does."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Flag = StrictBool
MaybeFlag = Annotated[StrictBool | None, WithJsonSchema({"type": "boolean"})]
Whole = Annotated[StrictInt, BeforeValidator(_as_whole)]
MaybeWhole = Annotated[
    StrictInt | None, BeforeValidator(_as_whole), WithJsonSchema({"type": "integer"})
]
Text = Annotated[str | None, WithJsonSchema({"type": "string"})]
OneOrMore = Annotated[
    tuple[str, ...],
    BeforeValidator(_as_list),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]


def choice(kind: type[StrEnum]) -> WithJsonSchema:
    """Show a closed set in place; hosts differ in how they follow references."""
    return WithJsonSchema({"type": "string", "enum": [member.value for member in kind]})


def whole(low: int, high: int) -> WithJsonSchema:
    """Show the bounds of a number that the core checks."""
    return WithJsonSchema({"type": "integer", "minimum": low, "maximum": high})


class Input(BaseModel):
    """Base of all inputs: frozen, and closed to names that it does not have."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    synonyms: ClassVar[Mapping[str, str]] = {}
    """Names that people use elsewhere for one of ours."""


_UNKNOWN = "unknown parameter"
_EXPECTED = {
    "bool_type": "true or false",
    "dict_type": "an object",
    "int_type": "a whole number",
    "list_type": "a list",
    "string_type": "a text",
    "tuple_type": "a text or a list of texts",
}
InputT = TypeVar("InputT", bound=Input)


def read(model: type[InputT], arguments: Mapping[str, Any]) -> InputT:
    """Check arguments, or raise ``InvalidInput`` that names everything wrong with them.

    An argument that is null counts as absent.
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise _invalid(model, error) from None


def _invalid(model: type[Input], error: ValidationError) -> InvalidInput:
    """Say all of it at once: who sees one fault at a time needs as many calls."""
    faults = error.errors(include_url=False)
    return invalid([_problem(model, fault) for fault in faults], model.model_fields)


def invalid(problems: Sequence[Mapping[str, str]], names: Iterable[str]) -> InvalidInput:
    """Return the error that tells *problems* of an input whose parameters have these *names*."""
    nearest = [problem["nearest"] for problem in problems if "nearest" in problem]
    unknown = any(problem["message"].startswith(_UNKNOWN) for problem in problems)
    hint = f"parameters are {', '.join(names) or 'none'}" if unknown else None
    if nearest:
        hint = f"did you mean {', '.join(map(repr, nearest))}?"
    return InvalidInput(
        "; ".join(problem["message"] for problem in problems),
        hint=hint,
        details={"problems": [*problems]},
    )


def _problem(model: type[Input], fault: Mapping[str, Any]) -> dict[str, str]:
    """Return one fault: its ``field``, a ``message``, perhaps the ``nearest`` valid word."""
    field = ".".join(map(str, fault["loc"]))
    nearest = None
    match fault["type"]:
        case "extra_forbidden":
            message = f"{_UNKNOWN} {_shown(field)}"
            nearest = model.synonyms.get(field) or _nearest(field, model.model_fields)
        case "missing":
            message = f"parameter {field!r} is missing"
        case "enum":
            expected = str(fault["ctx"]["expected"])
            message = f"{field} {_shown(fault['input'])} is not {expected}"
            nearest = _nearest(str(fault["input"]), re.findall(r"'([^']+)'", expected))
        case _:
            message = f"{field} {_shown(fault['input'])} {_said(fault)}"
    problem = {"field": field, "message": message}
    return {**problem, "nearest": nearest} if nearest else problem


def _said(fault: Mapping[str, Any]) -> str:
    """Return what is wrong with a value, in words that are no library's."""
    match fault["type"]:
        case "greater_than_equal":
            return f"is less than {fault['ctx']['ge']}"
        case "less_than_equal":
            return f"is more than {fault['ctx']['le']}"
        case kind if kind in _EXPECTED:
            return f"is not {_EXPECTED[kind]}"
        case _:
            return f"does not fit: {fault['msg'][:1].lower()}{fault['msg'][1:]}"


def _nearest(word: str, words: Iterable[str]) -> str | None:
    """Return the word that was meant: one that begins so, holds it or is within it."""
    said = word.lower()
    close = get_close_matches(said, list(words), n=3, cutoff=0.5)
    return next((one for one in close if one[:1] == said[:1] or one in said or said in one), None)


def _shown(value: object) -> str:
    text = as_given(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


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
    per_doc: Annotated[MaybeWhole, whole(0, MAX_K)] = Field(
        default=None, description="Most hits of one document; no limit by default."
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
            per_doc=self.per_doc,
        )


def sharing(
    queries: Sequence[SearchQuery | InvalidInput], max_tokens: int
) -> list[SearchQuery | InvalidInput]:
    """Return the queries with an equal share of *max_tokens* each, or their own if that is less.

    Equal, since answers come one by one: nobody can know what later ones would leave over.
    """
    share = max(1, max_tokens // max(1, len(queries)))
    return [
        replace(query, max_tokens=min(share, query.max_tokens or share))
        if isinstance(query, SearchQuery)
        else query
        for query in queries
    ]


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
