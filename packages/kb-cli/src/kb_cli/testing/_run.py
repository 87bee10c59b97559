"""One run of ``kebab``, in this process, with streams of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from click.testing import CliRunner, Result

from kb_app.testing.facade import ScriptedKnowledgeBase
from kb_cli._context import CliContext
from kb_cli.main import cli
from kb_cli.testing._world import knowledge_base

__all__ = ["run"]


def run(
    *words: str,
    kb: ScriptedKnowledgeBase | None = None,
    home: Path | None = None,
    environ: Mapping[str, str] | None = None,
    answer: str | None = None,
) -> Result:
    """Run ``kebab WORDS`` over *kb*; *answer* is what a person types, if there is one.

    Without *home* there is no configuration anywhere.
    """
    context = CliContext(
        open_kb=(kb or knowledge_base()).reopened,
        environ={"HOME": str(home or "/nonexistent"), **(environ or {})},
        configure_logs=lambda _: None,  # the process belongs to the test
        can_ask=lambda: answer is not None,
    )
    return CliRunner().invoke(cli, words, prog_name="kebab", obj=context, input=answer)
