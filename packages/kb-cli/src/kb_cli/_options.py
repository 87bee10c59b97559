"""Options that several commands have under one name, with one meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from kb_cli._declared import OneOf, Whole, completed_by, option
from kb_core.errors import InvalidInput
from kb_core.filters import FILTERS, FilterSpec

__all__ = [
    "cases_option",
    "filter_options",
    "filters_of",
    "hits_option",
    "in_option",
    "mode_option",
    "only_text",
    "page_options",
    "per_doc_option",
]

_Command = TypeVar("_Command", bound=Callable[..., Any])


_COMPLETED = frozenset({"source", "media", "lang", "code_lang", "repo", "tag"})


def only_text(words: tuple[str, ...], what: str, command: str) -> str:
    """Return the one argument of a command that takes one, or say how it is written."""
    if len(words) == 1:
        return words[0]
    example = " ".join(words) or "how are chunks cut"
    raise InvalidInput(
        f"one {what} is expected, not {len(words)} arguments"
        if words
        else f"the {what} is missing",
        hint=f'kebab {command} "{example}"',
        details={"field": "query"},
    )


def hits_option(help_text: str) -> Callable[[_Command], _Command]:
    """Return the option for the number of hits."""
    return option("-k", metavar="N", type=Whole(1, 100), help=help_text)


def per_doc_option(command: _Command) -> _Command:
    """Add the option for how many hits one document may have."""
    return option(
        "--per-doc",
        metavar="N",
        type=Whole(0, 100),
        help="Most hits of one document; 0: no limit. 3 by default, without limit with --json.",
    )(command)


def in_option(command: _Command) -> _Command:
    """Add ``--in``, the folder that is asked; it goes to the context, which opens that."""
    return option(
        "--in",
        sets="folder",
        metavar="FOLDER",
        shell_complete=completed_by("dir"),
        help="Ask this folder as it is now, a source or not.",
    )(command)


def mode_option(help_text: str) -> Callable[[_Command], _Command]:
    """Return the option for the channels that are asked."""
    return option(
        "--mode",
        type=OneOf(["hybrid", "lexical", "vector"]),
        default="hybrid",
        show_default=True,
        help=help_text,
    )


def page_options(command: _Command) -> _Command:
    """Add what a page of hits may be like; they come in as keyword arguments."""
    for each in (
        option("--cursor", metavar="C", help="Go on where an earlier page stopped."),
        option(
            "--max-tokens",
            metavar="N",
            type=Whole(1),
            help="Make the whole answer fit this budget.",
        ),
        option(
            "--snippet-chars",
            metavar="N",
            type=Whole(60, 10_000),
            help="Length of a snippet.",
        ),
    ):
        command = each(command)
    return command


def filter_options(command: _Command) -> _Command:
    """Add the filters to a command; they come in as keyword arguments."""
    shown = sorted(FILTERS, key=lambda row: not row.many)
    for row in reversed(shown):
        command = _option(row)(command)
    return command


def _option(row: FilterSpec) -> Callable[[_Command], _Command]:
    return option(
        row.option,
        metavar=row.metavar,
        type=OneOf([choice.value for choice in row.choices]) if row.choices else None,
        multiple=row.many,
        shell_complete=completed_by(row.name) if row.name in _COMPLETED else None,
        help=f"{row.help} (May be repeated.)" if row.many else row.help,
    )


def filters_of(given: dict[str, Any]) -> Any:  # noqa: ANN401 - SearchFilters, imported late
    """Return the filters that the options of ``filter_options`` describe."""
    from kb_core.search import SearchFilters

    media = {row.name: _parted(given[row.name]) for row in FILTERS if row.kind == "medium"}
    return SearchFilters(**given | media)


def _parted(values: tuple[str, ...]) -> tuple[str, ...]:
    parts = ([word.strip() for word in value.split(",") if word.strip()] for value in values)
    # One that names nothing stays as it is: the filter refuses it.
    pairs = zip(values, parts, strict=True)
    return tuple(word for value, words in pairs for word in words or [value.strip(", ")])


def cases_option(function: Callable[..., None]) -> Callable[..., None]:
    """Add the file of golden questions."""
    return option(
        "--cases",
        metavar="FILE",
        shell_complete=completed_by("file"),
        help="The golden questions, YAML or JSON lines.  [default: golden.yaml]",
    )(function)
