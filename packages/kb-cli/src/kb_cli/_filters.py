"""The filters of search and list: options, and the ``SearchFilters`` they make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from kb_core.filters import FILTERS, FilterSpec

__all__ = ["filter_options", "filters_of"]

_Command = TypeVar("_Command", bound=Callable[..., Any])


def filter_options(command: _Command) -> _Command:
    """Add the filters to a command; they come in as keyword arguments."""
    shown = sorted(FILTERS, key=lambda row: not row.many)
    for row in reversed(shown):
        command = _option(row)(command)
    return command


def _option(row: FilterSpec) -> Callable[[_Command], _Command]:
    return click.option(
        row.option,
        metavar=row.metavar,
        type=click.Choice([choice.value for choice in row.choices]) if row.choices else None,
        multiple=row.many,
        help=f"{row.help} (May be repeated.)" if row.many else row.help,
    )


def filters_of(given: dict[str, Any]) -> Any:  # noqa: ANN401 - SearchFilters, imported late
    """Return the filters that the options of ``filter_options`` describe."""
    from kb_core.search import SearchFilters

    media = {row.name: _parted(given[row.name]) for row in FILTERS if row.kind == "medium"}
    return SearchFilters(**given | media)


def _parted(values: tuple[str, ...]) -> tuple[str, ...]:
    words = (word.strip() for value in values for word in value.split(","))
    return tuple(word for word in words if word)
