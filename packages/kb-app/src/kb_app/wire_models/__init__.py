"""What comes in as JSON, checked: the input of a search, alone or one of many.

The only part of kb-app that imports pydantic (ruling R26): several queries in one call and
MCP load it, a search on the command line does not. Nothing is guessed or dropped: an
unknown name is refused together with the nearest one that exists.

* ``SearchInput``   the options of a search, under the names that they have everywhere
* ``read``          arguments as a model, or ``InvalidInput`` that names every fault
* ``read_queries``  the queries of a bulk search; a fault stays with its query
* the other names are what further inputs are made of
"""

from __future__ import annotations

from kb_app.wire_models._search import FilteredInput, SearchInput, read_queries
from kb_app.wire_models._strict import (
    Flag,
    Input,
    MaybeFlag,
    MaybeWhole,
    OneOrMore,
    Text,
    Whole,
    choice,
    read,
    whole,
)

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
    "read",
    "read_queries",
    "whole",
]
