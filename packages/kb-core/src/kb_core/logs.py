"""Loggers, and when they are set up: with the first one that is asked for.

The library of logging, with all that it imports, takes a twentieth of a cold search, which has
nothing to log.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import logging

__all__ = ["logger", "set_up"]

_waiting = list[Callable[[], None]]()


def set_up(act: Callable[[], None]) -> None:
    """Have *act* say where lines go: now, if anything may have a logger, else before that.

    What was to be done before is done no more.
    """
    _waiting.clear()
    if "logging" in sys.modules:
        act()
    else:
        _waiting.append(act)


def logger(name: str) -> logging.Logger:
    """Return the logger of a module, with everything set up."""
    import logging

    while _waiting:
        _waiting.pop()()
    return logging.getLogger(name)
