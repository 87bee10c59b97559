"""The two themes: colours with enough contrast on a dark and on a light ground.

Colour is decoration here: whatever it says is also said by a character or a style.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from textual.style import Style
from textual.theme import Theme

if TYPE_CHECKING:
    from textual.app import App

__all__ = ["DARK", "LIGHT", "Inks", "theme_name"]

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


_INKS: Final = {
    "score": "$accent",
    "faint": "$foreground 40%",
    "dim": "$foreground 65%",
    "label": "bold $secondary",
    "title": "bold $foreground",
    "kind": "$success",
    "source": "$primary",
    "remark": "bold $warning",
    "match": "bold underline $warning",
    "heading": "bold $primary",
    "strong": "bold",
    "emph": "italic",
    "code": "$success",
    "link": "underline $secondary",
    "sign": "$foreground 60%",
    "keyword": "bold $primary",
    "string": "$success",
    "comment": "italic $foreground 60%",
    "number": "$accent",
    "name": "bold $secondary",
}


def theme_name(preferred: str) -> str:
    """Return the name of the theme for ``ui.theme``, which is ``dark`` or ``light``."""
    return LIGHT.name if preferred == "light" else DARK.name


class Inks:
    """Styles of parts of a line, by name, in the colours of the theme of the day.

    They have no ground: that of the row is seen through them. Component classes would do,
    but every one of them is worked out for every widget before the first screen is drawn.
    """

    def __init__(self, app: App[Any]) -> None:
        self._app = app
        self._known: dict[tuple[str, str], Style] = {}

    def __call__(self, name: str) -> Style:
        """Return the style of that name."""
        key = (self._app.theme, name)
        if key not in self._known:
            self._known[key] = Style.parse(_INKS[name], self._app.theme_variables)
        return self._known[key]
