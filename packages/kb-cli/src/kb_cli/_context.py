"""What every command shares: the global options, the configuration, the open door.

Tests hand in their own ``CliContext`` as click's ``obj``, with a facade of their own and
an environment of their own; nothing has to be patched.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from kb_cli._text import echo
from kb_core.errors import ReadonlyMode
from kb_core.logs import set_up
from kb_core.values import dataclass, field, lazy_pattern, replace

if TYPE_CHECKING:
    from pathlib import Path

    from kb_app.config import Config
    from kb_app.knowledge_base import KnowledgeBase
    from kb_app.workspaces import Place

__all__ = ["CliContext", "Ended", "OpenKb", "Shown", "leave_at_once"]

Shown: TypeAlias = "Mapping[str, Any]"
"""A wire object, to be printed."""

OpenKb: TypeAlias = "Callable[[Config, bool], KnowledgeBase]"
"""Opens the knowledge base that a configuration describes, read-only or not."""


class Ended(Exception):
    """The command is done, and ends with this exit code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def _open_kb(config: Config, readonly: bool) -> KnowledgeBase:
    from kb_app import KnowledgeBase

    return KnowledgeBase.open(config, readonly=readonly)


def _configure_logs(cli: CliContext) -> None:
    def configure() -> None:
        from kb_cli._logs import configure_logs

        configure_logs(cli.config, verbose=cli.verbose, readonly=cli.is_readonly)

    set_up(configure)


def _can_ask() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _terminal() -> str:
    """Return what tells this terminal from others; without one, all are the same."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            # A terminal's name is given again when its window is closed, its session is not.
            return f"{os.ttyname(stream.fileno())} {os.getsid(0)}"
    return "none"


def _environment() -> Mapping[str, str]:
    from kb_app import paths

    return paths.environment()


@dataclass(slots=True)
class CliContext:
    """One run of the command line. The global options are filled in while it is parsed."""

    open_kb: OpenKb = _open_kb
    environ: Mapping[str, str] = field(default_factory=_environment)
    configure_logs: Callable[[CliContext], None] = _configure_logs
    can_ask: Callable[[], bool] = _can_ask
    """True if there is a person at the other end of stdin."""
    terminal: Callable[[], str] = _terminal
    """What tells one terminal from the others."""
    config_option: str | None = None
    folder: str | None = None
    """The folder that is asked instead of the knowledge base."""
    folder_option: str = "--in"
    """What it was named by."""
    as_json: bool = False
    readonly: bool = False
    quiet: bool = False
    verbose: bool = False
    may_be_new: bool = False
    """The file that was named need not be there: it will be made."""
    _config: Config | None = None
    _place: Place | None = None
    _opened: KnowledgeBase | None = None
    """What was opened last, so that it lasts as long as this."""

    @property
    def config_path(self) -> Path | None:
        """The file that was named on the command line, if one was."""
        if self.config_option is None:
            return None
        from kb_app import paths
        from kb_core.errors import InvalidInput

        try:
            return paths.from_argument(self.config_option, self.environ)
        except ValueError as error:
            raise InvalidInput(f"--config: {error}", details={"field": "config"}) from error

    @property
    def config(self) -> Config:
        """The effective configuration, of what is asked; read when it is first asked for."""
        if self._config is None:
            if self.may_be_new:
                from kb_app.config import config_or_new as read
            else:
                from kb_app.config import load_config as read

            self._config = read(self.config_path, self.environ)
            self.warn(*self._config.warnings)
            if self.folder is not None:
                from kb_app.workspaces import place_of

                self._place = place_of(
                    self._config, self.folder, environ=self.environ, named_by=self.folder_option
                )
                self._config = self._place.config
        return self._config

    def set_ingest(self, values: Mapping[str, Any]) -> None:
        """Go on with these values of ``[ingest]``, which were given on the command line."""
        if values:
            config = self.config
            self._config = replace(config, ingest=replace(config.ingest, **values))

    @property
    def is_readonly(self) -> bool:
        """True if nothing may be written, by option or by ``KEBAB_READONLY``."""
        word = self.environ.get("KEBAB_READONLY", "").strip().lower()
        return self.readonly or word not in {"", "0", "false", "no", "off"}

    @property
    def color(self) -> bool | None:
        """False where colour is unwanted; ``None`` lets click look at the stream."""
        return False if self.environ.get("NO_COLOR") else None

    @property
    def has_terminal(self) -> bool:
        """True if results go to a terminal that may be drawn on."""
        is_dumb = self.color is False or self.environ.get("TERM") == "dumb"
        return not is_dumb and sys.stdout is not None and sys.stdout.isatty()

    def open(self, *, readonly: bool = False) -> KnowledgeBase:
        """Open the knowledge base, read-only if asked here or by the person; a context manager."""
        self.configure_logs(self)
        config = self.config
        if self._place is None:
            self._opened = self.open_kb(config, readonly or self.is_readonly)
            return self._opened
        from kb_cli._follow import open_place

        return open_place(self, self._place, readonly=readonly or self.is_readonly)

    def writes(self, command: str) -> None:
        """Refuse *command*, which writes, in read-only mode."""
        if self.is_readonly:
            raise ReadonlyMode(
                f"{command!r} writes, and this is read-only mode",
                hint="leave out --readonly, and unset KEBAB_READONLY",
                details={"command": command},
            )

    def exit(self, code: int) -> NoReturn:
        """End the command with *code*; what is open is closed on the way."""
        raise Ended(code)

    def confirm(self, question: str, *, abort: bool = False) -> bool:
        """Ask the person for a yes; with *abort*, anything else ends the command."""
        import click

        return click.confirm(question, err=True, abort=abort)

    def prompt(self, question: str) -> str:
        """Ask the person for some words."""
        import click

        told: str = click.prompt(question, err=True)
        return told

    def print_json(self, obj: Shown) -> None:
        """Print one wire object as one line, at once."""
        from kb_core import wire

        echo(wire.dumps(wire.reworded(obj, self.named)))

    def show(self, found: Shown, lines: Callable[[Shown], Iterable[str]]) -> None:
        """Print a wire object: as JSON if that is wanted, else the lines made of it."""
        from kb_core import wire

        if self.as_json:
            self.print_json(found)
        else:
            echo("\n".join(lines(wire.reworded(found, self.named))), color=self.color)

    def note(self, *lines: str) -> None:
        """Tell a person something that is not the result; programs read the result only."""
        if not self.quiet and not self.as_json:
            for line in lines:
                echo(self.named(line), err=True, color=self.color)

    def budget(self, max_tokens: int | None, answers: int) -> int | None:
        """Return what of a budget is left for so many *answers*, where JSON names commands in full.

        They are made one by one, and what ``named`` adds to each is about that of its remarks.
        """
        if max_tokens is None or not self.as_json:
            return max_tokens
        from kb_core.search import CHARS_PER_TOKEN

        longer = len(self.named(_REMARKED)) - len(_REMARKED)
        return max(1, max_tokens - answers * -(-longer // CHARS_PER_TOKEN))

    def named(self, text: str) -> str:
        """Return *text* whose commands are for what is asked: each with its ``--config``.

        Copied without it, a command that deletes would delete from another one. What shows what
        there is gets the folder that is asked.
        """
        if (self.config_option or self.folder) is None or "kebab " not in text:
            return text
        import re
        import shlex

        from kb_cli._catalog import COMMANDS

        if self.folder is not None and self.folder_option == "--in":
            here = f" --in {shlex.quote(self.folder)}"
            text = _SHOWING.sub(lambda match: match[0] + here, text)
        if self.config_option is None:
            return text
        command = rf"\bkebab (?=(?:{'|'.join(COMMANDS)}|mcp|tui)\b)"
        ours = f"kebab --config {shlex.quote(self.config_option)} "
        return re.sub(command, lambda _: ours, text)

    def warn(self, *lines: str) -> None:
        """Tell a person what is not as it should be."""
        from kb_app.shown import printable

        self.note(*(f"warning: {printable(line)}" for line in lines))


_REMARKED = "'kebab embed' 'kebab ingest'"
"""The commands that an answer has, about."""
_SHOWING = lazy_pattern(
    r"\bkebab (?:status|stats|search|codebase-search|ask|grep|similar|explain-miss|cite verify|cite"
    r"|fetch (?:at|outline|chunk|doc|span)|list docs|inspect (?:doc|chunk))\b(?!.* --in )"
)
"""Commands that messages name, and that a folder can be asked with, unless they say so."""


def leave_at_once() -> NoReturn:
    """End the process with what was printed, while a model still works on a thread.

    An ordinary end would wait for it, or take its memory away while it runs.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
