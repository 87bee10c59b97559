"""``kebab completion``: the script that makes a shell complete our commands."""

from __future__ import annotations

import click

from kb_cli._command import command

__all__ = ["completion"]

_EXAMPLE = """
kebab completion bash >> ~/.bashrc
kebab completion zsh >> ~/.zshrc
kebab completion fish > ~/.config/fish/completions/kebab.fish
"""


@command("completion", example=_EXAMPLE)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script for a shell.

    It completes commands, options, files, sources, media, languages, tags and documents, for
    kebab and for kb. zsh needs compinit before it.
    """
    from kb_cli._completing import SCRIPTS

    click.echo(SCRIPTS[shell], nl=False)
