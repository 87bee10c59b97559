"""The two themes: colours with enough contrast on a dark and on a light ground.

Colour is decoration here: whatever it says is also said by a character or a style.
"""

from __future__ import annotations

from textual.theme import Theme

__all__ = ["DARK", "LIGHT", "theme_name"]

DARK = Theme(
    name="kebab-dark",
    primary="#4fa3e3",
    secondary="#8fb7d9",
    warning="#f0b35a",
    error="#f2707f",
    success="#6fcf8a",
    accent="#f0b35a",
    foreground="#e4e4e4",
    background="#121417",
    surface="#1b1f24",
    panel="#262c33",
    dark=True,
)
LIGHT = Theme(
    name="kebab-light",
    primary="#0b5394",
    secondary="#33658a",
    warning="#8a4b00",
    error="#a1122c",
    success="#1d6b34",
    accent="#8a4b00",
    foreground="#1c1c1c",
    background="#fafaf7",
    surface="#f0f0ea",
    panel="#e2e2da",
    dark=False,
)


def theme_name(preferred: str) -> str:
    """Return the name of the theme for ``ui.theme``, which is ``dark`` or ``light``."""
    return LIGHT.name if preferred == "light" else DARK.name
