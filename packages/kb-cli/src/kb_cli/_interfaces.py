"""Commands that other distributions bring: ``kebab mcp``, ``kebab tui``, yours.

An interface is an entry point in the group ``kebab.interfaces``: a function that takes
an open ``KnowledgeBase`` and runs until it is done. Its help line is its distribution's
summary. What its command takes is told by ``OPTIONS`` of the package that the function is
in, as data: by the name of the function's argument, the ``flag``, and what ``click.option``
takes under the same names, with ``choices`` for a closed set.

Help and completion list the interfaces, so finding them has to be quick: the metadata
of installed distributions are read as files here, which takes a millisecond where
importing ``importlib.metadata`` takes twenty.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import click

from kb_cli._command import KebabCommand, pass_cli
from kb_cli._context import CliContext
from kb_core.values import dataclass

__all__ = ["Interface", "installed_interfaces"]

_GROUP = "[kebab.interfaces]"
_FOLDER = "workspace"
"""The option, if there is one, that names a folder to open instead of the knowledge base."""


@dataclass(frozen=True, slots=True)
class Interface:
    """A command of another distribution."""

    name: str
    target: str
    summary: str

    def command(self) -> click.Command:
        """Return the command that opens the knowledge base and hands over."""

        def run(cli: CliContext, /, **options: Any) -> None:  # noqa: ANN401 - of the interface
            cli.folder, cli.folder_option = options.pop(_FOLDER, None), f"--{_FOLDER}"
            start = _load(self.target)
            # `mcp.readonly = true` makes `kebab mcp` read-only; so for any of that name.
            section = getattr(cli.config, self.name, None)
            if "named" in (start.__kwdefaults__ or {}):
                options["named"] = cli.named
            with cli.open(readonly=getattr(section, "readonly", False)) as kb:
                start(kb, **options)

        return KebabCommand(
            self.name,
            callback=pass_cli(run),
            params=_options(self.target),
            help=self.summary,
            example=f"kebab {self.name}",
        )


def _options(target: str) -> list[click.Parameter]:
    """Return the options of the interface in *target*, as the package around it tells them.

    Only that package is imported, not the module, which brings a large library.
    """
    from importlib import import_module

    package, _, inside = target.partition(":")[0].rpartition(".")
    declared = getattr(import_module(package), "OPTIONS", {}) if package and inside else {}
    return [_option(name, **given) for name, given in declared.items()]


def _option(
    name: str,
    *,
    flag: str,
    choices: Sequence[str] = (),
    **given: Any,  # noqa: ANN401 - as click's
) -> click.Option:
    return click.Option([flag, name], type=click.Choice(choices) if choices else None, **given)


def _load(target: str) -> Callable[..., None]:
    """Import what ``module:function`` names.

    An interface imports a large library, whose objects all stay: looking for garbage among
    them takes a tenth of that time, and would again be a pause of a long-running process.
    """
    from importlib import import_module

    module, _, function = target.partition(":")
    gc.disable()
    try:
        start: Callable[..., None] = getattr(import_module(module), function)
    finally:
        gc.freeze()
        gc.enable()
    return start


def installed_interfaces() -> dict[str, Interface]:
    """Return what is installed, by name."""
    found: dict[str, Interface] = {}
    for folder in sys.path:
        with suppress(OSError), os.scandir(folder or os.curdir) as entries:
            infos = sorted(e.path for e in entries if e.name.endswith(".dist-info"))
            for interface in (i for info in infos for i in _of_distribution(info)):
                found.setdefault(interface.name, interface)  # the first folder wins, as in imports
    return dict(sorted(found.items()))


def _of_distribution(info: str) -> Iterator[Interface]:
    lines = _lines(info, "entry_points.txt")
    if _GROUP not in lines:
        return
    heads = _lines(info, "METADATA")
    summary = next((line[9:] for line in heads if line.startswith("Summary: ")), "")
    for line in lines[lines.index(_GROUP) + 1 :]:
        if line.startswith("["):
            return
        name, equals, target = (part.strip() for part in line.partition("="))
        if equals:
            yield Interface(name, target, summary)


def _lines(info: str, name: str) -> list[str]:
    with suppress(OSError), open(f"{info}/{name}", encoding="utf-8") as file:  # noqa: PTH123
        return [line.strip() for line in file]
    return []
