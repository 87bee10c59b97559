"""The tool for exact text: lines that match a pattern."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar

import mcp_types as types
from pydantic import Field

from kb_app.wire_models import FilteredInput, Flag, OneOrMore, Whole, choice, read
from kb_core.search import MAX_GREP_CONTEXT, MAX_GREP_LINES, GrepQuery, SearchFilters
from kb_mcp._tool import READ_ONLY, TEXTS, Answer, Call, Tool, input_schema, outline
from kb_mcp._values import mark_shared
from kb_mcp.text.lines import grep_text

__all__ = ["GREP", "GrepInput"]


class Case(StrEnum):
    """Whether upper and lower case are told apart."""

    SMART = "smart"
    EXACT = "exact"
    IGNORE = "ignore"


class GrepInput(FilteredInput):
    """What is looked for, and where."""

    synonyms: ClassVar[Mapping[str, str]] = {
        "-A": "context",
        "-B": "context",
        "-C": "context",
        "files_with_matches": "files_only",
        "fixed_strings": "fixed",
        "glob": "path_glob",
        "head_limit": "max_lines",
        "limit": "max_lines",
        "q": "pattern",
        "query": "pattern",
        "regex": "pattern",
    }

    pattern: str = Field(description="RE2 syntax: no look-around, no back-references.")
    path: Annotated[OneOrMore, TEXTS] = Field(
        default=(), description="Only these folders or files."
    )
    fixed: Flag = Field(default=False, description="Take the pattern as it stands.")
    word: Flag = Field(default=False, description="Whole words only.")
    case: Annotated[Case, choice(Case)] = Field(
        default=Case.SMART, description="smart: exact where the pattern has a capital."
    )
    multiline: Flag = Field(default=False, description="Matches may go on over lines.")
    context: Whole = Field(
        default=0, ge=0, le=MAX_GREP_CONTEXT, description="Lines around each match."
    )
    files_only: Flag = Field(default=False, description="Paths and counts alone.")
    max_lines: Whole = Field(
        default=100, ge=1, le=MAX_GREP_LINES, description="Lines shown; all are counted."
    )


def _grep(call: Call) -> Answer:
    asked = read(GrepInput, call.arguments)
    given: dict[str, Any] = {
        name: getattr(asked, name) for name in GrepInput.__annotations__ if name != "synonyms"
    }
    paths = tuple(path for path in given.pop("path") if path.strip("./ "))
    case = given.pop("case").value
    query = GrepQuery(paths=paths, case=case, filters=asked.to_filters(), **given)
    return call.kb.grep(query, stop=call.stop)


def _tell_grep(call: Call) -> str:
    asked = read(GrepInput, call.arguments)
    is_all = not asked.path and asked.to_filters() == SearchFilters()
    found = _grep(call)
    mark_shared(call.kb, found["files"])
    return grep_text(found, call.max_tokens, is_all=is_all)


GREP = Tool(
    definition=types.Tool(
        name="grep",
        title="Find exact text",
        description=(
            "Lines that match a pattern, in all that is indexed; the "
            "file that defines it first. Use it for a name, a setting, an error message: where is "
            "it defined, called, read. Do not use it for a question or other words than the "
            "text's; that is search. Filters are those of search."
        ),
        input_schema=input_schema(GrepInput, brief=True),
        output_schema=outline("grep_response"),
        annotations=READ_ONLY,
    ),
    call=_grep,
    tell=_tell_grep,
    brief=(
        "Lines that match a pattern (RE2), definitions first: where names, settings, messages "
        "are defined, called, read; several at once as a|b|c."
    ),
    shown={
        "pattern": "",
        "path": "",
        "path_glob": "",
        "fixed": "",
        "context": "",
        "files_only": "",
        "max_tokens": "",
    },
)
