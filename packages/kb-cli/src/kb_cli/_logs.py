"""Logging of the command line: a file a day, and stderr with ``--verbose``.

Nothing is created before there is something to log, nothing is written in read-only
mode, and a log that cannot be written never stops the command.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from kb_app.paths import make_private_folder
from kb_core.clock import from_epoch

if TYPE_CHECKING:
    from kb_app.config import Config

__all__ = ["DailyFile", "configure_logs"]

_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_DAY_S = 86_400
_NAME = "kebab-{day}.log"


class DailyFile(logging.Handler):
    """Appends to ``kebab-2026-05-31.log``; deletes files that are older than *keep_days*."""

    def __init__(self, folder: Path, keep_days: int) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter(_FORMAT))
        self._folder = folder
        self._keep_days = keep_days
        self._is_ready = False

    def emit(self, record: logging.LogRecord) -> None:
        now = int(record.created)
        with suppress(OSError):
            if not self._is_ready:
                make_private_folder(self._folder)
                self._delete_old(now)
                self._is_ready = True
            line = self.format(record).encode("utf-8", "backslashreplace")
            file = self._folder / _NAME.format(day=_day(now))
            with open(file, "ab", opener=_private) as log:
                log.write(line + b"\n")

    def _delete_old(self, now: int) -> None:
        oldest = _NAME.format(day=_day(now - self._keep_days * _DAY_S))
        for file in self._folder.glob(_NAME.format(day="????-??-??")):
            if file.name < oldest:
                file.unlink()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def configure_logs(config: Config, *, verbose: bool, readonly: bool) -> None:
    """Send what is logged where the configuration says; with *verbose*, all to stderr, too."""
    handlers: list[logging.Handler] = [logging.NullHandler()]  # else warnings go to stderr
    if not readonly:
        file = DailyFile(config.log.dir, config.log.keep_days)
        file.setLevel(config.log.level.upper())
        handlers.append(file)
    if verbose:
        stream = logging.StreamHandler()
        stream.setFormatter(logging.Formatter("%(levelname).1s %(name)s: %(message)s"))
        handlers.append(stream)
    level = "DEBUG" if verbose else config.log.level.upper()
    logging.basicConfig(level="WARNING", handlers=handlers, force=True)
    for name in ("kb_app", "kb_core", "kb_mcp", "kb_search", "kb_store"):
        logging.getLogger(name).setLevel(level)


def _day(seconds: int) -> str:
    return from_epoch(seconds).strftime("%Y-%m-%d")
