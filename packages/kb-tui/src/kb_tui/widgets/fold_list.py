"""Sections that fold: a header line each, and below it the lines while it is open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from textual.content import Content

from kb_app.shown import visible
from kb_tui.widgets.choice_list import ChoiceList

__all__ = ["Entry", "FoldList", "Section"]

T = TypeVar("T")

_OPEN, _FOLDED = "▾", "▸"
_INDENT = "  "
_LEAST = 8


@dataclass(frozen=True, slots=True)
class Entry(Generic[T]):
    """A line of a section; ``target`` is what it leads to, if anything."""

    text: str
    target: T | None = None


@dataclass(frozen=True, slots=True)
class Section(Generic[T]):
    """A titled part; ``is_open`` is how it is first shown."""

    title: str
    entries: tuple[Entry[T], ...]
    is_open: bool = True


@dataclass(frozen=True, slots=True)
class _Row:
    section: int
    entry: int | None
    text: str


class FoldList(ChoiceList, Generic[T]):
    """Shows sections. What was folded stays folded when sections of that title come again."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - textual's name for it
        super().__init__(id=id)
        self._sections: tuple[Section[T], ...] = ()
        self._is_open: dict[str, bool] = {}
        self._rows: list[_Row] = []

    @property
    def target(self) -> T | None:
        """What the chosen row leads to."""
        row = self._chosen_row()
        if row is None or row.entry is None:
            return None
        return self._sections[row.section].entries[row.entry].target

    def show(self, sections: Sequence[Section[T]], note: str = "") -> None:
        """Replace the sections and choose the first row."""
        self._sections = tuple(sections)
        self._lay_out(note, chosen=0)

    def fold(self) -> None:
        """Fold or unfold the section of the chosen row, and choose its header."""
        row = self._chosen_row()
        if row is None:
            return
        title = self._sections[row.section].title
        self._is_open[title] = not self._opened(self._sections[row.section])
        self._lay_out("", chosen=None)
        headers = (at for at, r in enumerate(self._rows) if r.section == row.section)
        self.chosen = next(headers)

    def on_resize(self) -> None:
        self._lay_out(self._note, chosen=None)

    def line(self, index: int, row: int, width: int) -> tuple[str, str]:  # noqa: ARG002
        shown = self._rows[index]
        return shown.text, "head" if shown.entry is None else "main"

    def _chosen_row(self) -> _Row | None:
        return self._rows[self.chosen] if self._rows else None

    def _opened(self, section: Section[T]) -> bool:
        return self._is_open.get(section.title, section.is_open)

    def _lay_out(self, note: str, *, chosen: int | None) -> None:
        room = max(_LEAST, self.scrollable_content_region.width - 1 - len(_INDENT))
        self._rows = []
        for number, section in enumerate(self._sections):
            is_open = self._opened(section)
            sign = _OPEN if is_open else _FOLDED
            title = f"{sign} {section.title} ({len(section.entries)})"
            self._rows.append(_Row(number, None, title))
            if is_open:
                for at, entry in enumerate(section.entries):
                    lines = Content(visible(entry.text, keep="\n")).wrap(room) or [Content("")]
                    self._rows += [_Row(number, at, f"{_INDENT}{line.plain}") for line in lines]
        self.replace_rows(len(self._rows), note, chosen=chosen)
