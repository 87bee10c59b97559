"""Text in cells: cut or filled to a width, as the screen measures it."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content

from kb_app.shown import visible

__all__ = ["columns", "fit", "visible"]


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
