"""Keys: one table a pane, from which its bindings, hint line, cheat sheet and palette are made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from textual.binding import Binding, BindingType

__all__ = ["Key", "Typing", "bindings", "cheat_sheet", "hint"]

Typing: TypeAlias = Literal["INSERT", "NORMAL"]
"""Whether keys write into a field, or do something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key, what it does, and in which mode.

    ``names`` are textual's, comma separated; ``shown`` is what a person reads, empty for
    the second of a pair; ``hint`` is what the hint line says, empty where it says nothing.
    A key without an action is one that something else handles. ``command`` names the
    action in the palette, for those that make sense without the key.
    """

    names: str
    shown: str = ""
    does: str = ""
    action: str | None = None
    insert: bool = False
    normal: bool = True
    hint: str = ""
    command: str = ""

    def works_in(self, mode: Typing) -> bool:
        """Say whether the key does this in *mode*."""
        return self.insert if mode == "INSERT" else self.normal


def bindings(keys: Iterable[Key]) -> list[BindingType]:
    """Return the bindings of a screen."""
    return [
        Binding(key.names, key.action, key.does, show=False)
        for key in keys
        if key.action is not None
    ]


def hint(keys: Iterable[Key], mode: Typing) -> str:
    """Return the keys that work now, in one line."""
    return "  ".join(key.hint for key in keys if key.hint and key.works_in(mode))


def cheat_sheet(keys: Iterable[Key], *, has_modes: bool = True) -> str:
    """Return all keys, one a line, with the mode where it matters."""
    rows = [(key.shown, key.does, _where(key) if has_modes else "") for key in keys if key.shown]
    width = max(len(shown) for shown, _, _ in rows)
    return "\n".join(f"{shown:<{width}}  {does}{where}" for shown, does, where in rows)


def _where(key: Key) -> str:
    if key.insert and key.normal:
        return ""
    return "  (INSERT)" if key.insert else "  (NORMAL)"
