"""``kebab models``: embedding models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from kb_app.shown import flat
from kb_cli._command import command as make
from kb_cli._context import CliContext, pass_cli
from kb_cli._text import table

__all__ = ["command"]

_HEAD = (
    "",
    "MODEL",
    "STATE",
    "DIMENSIONS",
    "TOKENS",
    "QUALITY",
    "EMBEDDED",
    "LANGUAGES",
    "LICENCE",
)


@make("models", example="kebab models")
@pass_cli
def command(cli: CliContext) -> None:
    """List embedding models: present, selectable, active.

    `model` in the section `embedding` of the configuration chooses one.
    """
    with cli.open() as kb:
        found = kb.models()
    if cli.as_json:
        cli.print_json(found)
    else:
        click.echo("\n".join(_lines(found["items"])))


def _lines(models: list[Mapping[str, Any]]) -> Iterator[str]:
    if not models:
        yield "there are no embedding models"
        return
    rows = [
        (
            "*" if model["active"] else "",
            model["name"],
            _state(model),
            model.get("dimensions"),
            model.get("max_tokens"),
            model.get("quantization"),
            model.get("embedded"),
            model.get("languages"),
            model.get("licence"),
        )
        for model in models
    ]
    yield from table(_HEAD, rows, limit={"LANGUAGES": 24})
    for model in models:
        if model.get("hint") and not model["selectable"]:
            yield f"{model['name']}: {flat(model.get('detail', 'not selectable'))}"
            yield f"  hint: {flat(model['hint'])}"


def _state(model: Mapping[str, Any]) -> str:
    if model["active"]:
        return "active" if model["present"] else "active, missing"
    if model["selectable"]:
        return "selectable"
    return "present" if model["present"] else "missing"
