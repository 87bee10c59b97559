"""One run of ``kebab``, in this process, with streams of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from click.testing import CliRunner, Result

from kb_cli._context import CliContext
from kb_cli.main import cli
from kb_cli.testing._facade import FakeKnowledgeBase

__all__ = ["run"]


def run(
    *words: str,
    kb: FakeKnowledgeBase | None = None,
    home: Path | None = None,
    environ: Mapping[str, str] | None = None,
    answer: str | None = None,
) -> Result:
    """Run ``kebab WORDS`` over *kb*; *answer* is what a person types, if there is one.

    Without *home* there is no configuration anywhere.
    """
    fake = kb or FakeKnowledgeBase()

    def open_fake(config: Any, readonly: bool) -> Any:  # noqa: ANN401 - stands in for the facade
        fake.config, fake.readonly = config, readonly
        return fake

    context = CliContext(
        open_kb=cast("Any", open_fake),
        environ={"HOME": str(home or "/nonexistent"), **(environ or {})},
        configure_logs=lambda _: None,  # the process belongs to the test
        can_ask=lambda: answer is not None,
    )
    return CliRunner().invoke(cli, words, prog_name="kebab", obj=context, input=answer)
