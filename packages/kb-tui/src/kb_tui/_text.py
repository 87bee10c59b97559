"""Text as a terminal may show it.

What is indexed was written by anyone: it may hold escape sequences, tabs, bytes that
were no UTF-8 and marks that turn the line around. None of that reaches the terminal.
"""

from __future__ import annotations

__all__ = ["counted", "visible"]

_TAB = 4
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
