"""Text as a terminal may show it.

What is indexed was written by anyone: it may hold escape sequences, tabs, bytes that
were no UTF-8 and marks that turn the line around. None of that reaches the terminal.
"""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content

__all__ = ["columns", "counted", "fit", "lasted", "moment", "visible"]

_TAB = 4
_TENTHS_BELOW = 10
_MINUTE = 60
_CONTROL = {code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"}
_CONTROL[0x7F] = 0x2421
_REPLACED = (
    *range(0x80, 0xA0),
    *range(0x200E, 0x2010),
    *range(0x2028, 0x202F),
    *range(0x2066, 0x206A),
    *range(0xD800, 0xE000),
)
_SHOWN = _CONTROL | dict.fromkeys(_REPLACED, 0xFFFD)


def visible(text: str) -> str:
    """Return *text* with its control characters as pictures, and tabs as spaces."""
    if text.isascii() and text.isprintable():
        return text
    return text.expandtabs(_TAB).translate(_SHOWN)


def counted(n: int, noun: str) -> str:
    """Return ``1 hit``, ``2 hits``."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def fit(text: str, width: int, *, right: bool = False) -> str:
    """Return *text* in exactly *width* cells: cut with an ellipsis, or filled with spaces."""
    if width <= 0:
        return ""
    if right and len(text) < width:
        return " " * max(0, width - Content(text).cell_length) + text
    return Content(text).truncate(width, ellipsis=True, pad=True).plain


def columns(cells: Iterable[tuple[str, int]]) -> str:
    """Return one row of a table; a cell of negative width is set to the right."""
    return "  ".join(fit(visible(text), abs(width), right=width < 0) for text, width in cells)


def moment(instant: str | None) -> str:
    """Return an RFC 3339 instant as ``2026-05-31 12:00``; nothing for ``None``."""
    return instant[:16].replace("T", " ") if instant else ""


def lasted(seconds: float) -> str:
    """Return a time as precisely as it matters: ``0.4 s``, ``12 s``, ``3:05 min``, ``2:40 h``."""
    if seconds < _TENTHS_BELOW:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    minutes, rest = divmod(whole, _MINUTE)
    if minutes < _MINUTE:
        return f"{minutes}:{rest:02} min"
    return f"{minutes // _MINUTE}:{minutes % _MINUTE:02} h"
