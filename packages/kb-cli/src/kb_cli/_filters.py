"""The filters of search and list: options, and the ``SearchFilters`` they make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from kb_core.media import TrustLevel

__all__ = ["filter_options", "filters_of"]

_Command = TypeVar("_Command", bound=Callable[..., Any])

_MANY = {
    "--tag": ("T", "Only documents with this tag."),
    "--lang": ("L", "Only documents in this language, such as en or ko."),
    "--path-glob": ("GLOB", "Only paths like this: 'notes/**/*.md'."),
    "--media": ("A,B", "Only these media: markdown, code, pdf, ..."),
    "--repo": ("NAME", "Only code of this repository."),
    "--code-lang": ("L", "Only code in this programming language."),
    "--source": ("ID", "Only this source."),
    "--source-type": ("WORD", "Only sources of this type."),
}
_ONE = {
    "--ingested-after": ("TIME", "Only documents indexed after this time or date."),
    "--since": ("DATE", "Only documents dated on or after this."),
    "--until": ("DATE", "Only documents dated on or before this."),
    "--doc-id": ("ID", "Only this document."),
}


def filter_options(command: _Command) -> _Command:
    """Add the filters to a command; they come in as keyword arguments."""
    options = [
        click.option(flag, metavar=metavar, help=f"{text} (May be repeated.)", multiple=True)
        for flag, (metavar, text) in _MANY.items()
    ]
    options.append(
        click.option(
            "--trust-min",
            type=click.Choice([level.value for level in TrustLevel]),
            help="Only documents trusted at least this far.",
        )
    )
    options += [
        click.option(flag, metavar=metavar, help=text) for flag, (metavar, text) in _ONE.items()
    ]
    for option in reversed(options):
        command = option(command)
    return command


def filters_of(given: dict[str, Any]) -> Any:  # noqa: ANN401 - SearchFilters, imported late
    """Return the filters that the options of ``filter_options`` describe."""
    from kb_core.search import SearchFilters

    words = [word.strip() for value in given["media"] for word in value.split(",")]
    return SearchFilters(**given | {"media": tuple(word for word in words if word)})
