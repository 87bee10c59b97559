"""``kebab completion``: the script that makes a shell complete our commands."""

from __future__ import annotations

import click

from kb_cli._command import command

__all__ = ["completion"]

_EXAMPLE = """
kebab completion bash >> ~/.bashrc
kebab completion fish > ~/.config/fish/completions/kebab.fish
"""


@command("completion", example=_EXAMPLE)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script for a shell."""
    from click.shell_completion import get_completion_class

    root = ctx.find_root()
    name = root.info_name or "kebab"
    variable = f"_{name.upper().replace('-', '_')}_COMPLETE"
    kind = get_completion_class(shell)
    assert kind is not None, "click knows these three"  # noqa: S101 - narrows a type
    made = kind(root.command, {}, name, variable)
    # Not made.source(): for bash that starts one, to complain about its version.
    click.echo(made.source_template % made.source_vars())
