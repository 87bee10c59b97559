"""``kebab completion``: the script that makes a shell complete our commands."""

from __future__ import annotations

from kb_cli._context import CliContext
from kb_cli._declared import OneOf, argument, command
from kb_cli._text import echo

__all__ = ["completion"]

_EXAMPLE = """
kebab completion bash >> ~/.bashrc
kebab completion zsh >> ~/.zshrc
kebab completion fish > ~/.config/fish/completions/kebab.fish
"""


@command("completion", example=_EXAMPLE)
@argument("shell", type=OneOf(["bash", "zsh", "fish"]))
def completion(_cli: CliContext, /, shell: str) -> None:
    """Print the completion script for a shell.

    It completes commands, options, files, sources, media, languages, tags and documents, for
    kebab and for kb. zsh needs compinit before it.
    """
    from kb_cli._completing import SCRIPTS

    echo(SCRIPTS[shell], nl=False)
