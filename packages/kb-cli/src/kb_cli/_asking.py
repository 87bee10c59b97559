"""Options that all commands that ask something have under one name, with one meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

__all__ = ["hits_option", "mode_option", "page_options"]

_Command = TypeVar("_Command", bound=Callable[..., Any])


def hits_option(help_text: str) -> Callable[[_Command], _Command]:
    """Return the option for the number of hits."""
    return click.option("-k", type=click.IntRange(1, 100), help=help_text)


def mode_option(help_text: str) -> Callable[[_Command], _Command]:
    """Return the option for the channels that are asked."""
    return click.option(
        "--mode",
        type=click.Choice(["hybrid", "lexical", "vector"]),
        default="hybrid",
        show_default=True,
        help=help_text,
    )


def page_options(command: _Command) -> _Command:
    """Add what a page of hits may be like; they come in as keyword arguments."""
    for option in (
        click.option("--cursor", metavar="C", help="Go on where an earlier page stopped."),
        click.option(
            "--max-tokens", type=click.IntRange(1), help="Make the whole answer fit this budget."
        ),
        click.option(
            "--snippet-chars", type=click.IntRange(60, 10_000), help="Length of a snippet."
        ),
    ):
        command = option(command)
    return command
