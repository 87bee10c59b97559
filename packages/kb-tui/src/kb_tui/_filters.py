"""The filter line ``media:code lang:ko tag:x parser``, and the popup to write it in.

One syntax for both panes that filter. A word without a key belongs to the pane: the
library looks for it in titles and paths, the search in names of files.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from kb_app.shown import visible
from kb_core.errors import InvalidInput, KbError
from kb_core.filters import FILTERS, as_value
from kb_core.search import SearchFilters
from kb_core.values import dataclass, field, replace
from kb_tui.widgets.bars import Field
from kb_tui.widgets.lists import ChoiceList, Column, RowTable

__all__ = [
    "Facet",
    "FilterPopup",
    "Filtered",
    "counted",
    "facets_of",
    "parse_filter",
    "tally",
    "toggled",
]

_KEYS = {row.key: row for row in sorted(FILTERS, key=lambda row: row.place) if row.key}
_STATE = "state"
_TOKEN = re.compile(r'(?:(\w+):)?(?:"([^"]*)"|(\S+))')
_COUNTED = ("media", "lang", "code", "source", "repo")
"""Keys of what stats.v1 counts by value, in the order of the popup."""


@dataclass(frozen=True, slots=True)
class Filtered:
    """What a filter line says."""

    text: str = ""
    filters: SearchFilters = field(default_factory=SearchFilters)
    words: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    """States of files, for the ledger."""

    def as_search(self) -> SearchFilters:
        """Return the filters of a search, where words are parts of file names."""
        names = tuple(word if set(word) & set("*?/[") else f"*{word}*" for word in self.words)
        return replace(self.filters, path_glob=(*self.filters.path_glob, *names))

    def admits(self, *texts: str) -> bool:
        """Say whether every word occurs in one of *texts*, whatever its case."""
        folded = [text.casefold() for text in texts]
        return all(any(word.casefold() in text for text in folded) for word in self.words)


@dataclass(frozen=True, slots=True)
class Facet:
    """A value that can be filtered by, and how many documents have it."""

    key: str
    value: str
    count: int

    @property
    def token(self) -> str:
        """How it stands in a filter line."""
        value = as_value(self.value)
        quoted = f'"{value}"' if re.search(r"\s", value) else value
        return f"{self.key}:{quoted}"


def parse_filter(text: str) -> Filtered:
    """Read a filter line, or raise ``InvalidInput`` naming the key that is none."""
    given: dict[str, Any] = {}
    words: list[str] = []
    states: list[str] = []
    for key, value in _tokens(text):
        if not key:
            words.append(value)
        elif row := _KEYS.get(key):
            given[row.name] = (*given.get(row.name, ()), value) if row.many else value
        elif key == _STATE:
            states.append(value)
        else:
            known = ", ".join([*_KEYS, _STATE])
            raise InvalidInput(
                f"filter key {key!r} is unknown",
                hint=f"keys are {known}",
                details={"field": "filter", "value": key},
            )
    return Filtered(text.strip(), SearchFilters(**given), tuple(words), tuple(states))


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    for match in _TOKEN.finditer(text):
        key, quoted, plain = match.groups()
        yield key or "", quoted if quoted is not None else plain


def facets_of(stats: Mapping[str, Any]) -> list[Facet]:
    """Return the facets of stats.v1, the most frequent value of each first."""
    found = []
    for key in _COUNTED:
        counts = stats.get(f"{_KEYS[key].name}_breakdown") or {}
        rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
        found += [Facet(key, value, count) for value, count in rows if count and value != "null"]
    return found


def counted(found: Mapping[str, Mapping[str, int]]) -> list[Facet]:
    """Return the facets of what ``facets`` of the facade counted, the most frequent first."""
    shown = []
    for key in _COUNTED:
        rows = found.get(_KEYS[key].name) or {}
        ordered = sorted(rows.items(), key=lambda row: (-row[1], row[0]))
        shown += [Facet(key, value, number) for value, number in ordered]
    return shown


def tally(values: Iterable[str]) -> str:
    """Return how often each value occurs, the most frequent first."""
    counts = Counter(value for value in values if value)
    return ", ".join(f"{value} {n}" for value, n in counts.most_common())


def toggled(text: str, facet: Facet) -> str:
    """Return the filter line with the facet put in, or taken out if it is there."""
    tokens = [match[0] for match in _TOKEN.finditer(text)]
    if facet.token in tokens:
        tokens.remove(facet.token)
    else:
        tokens.append(facet.token)
    return " ".join(tokens)


class FacetTable(RowTable[Facet]):
    """Values to filter by; a tick before those that are in the filter."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - textual's name for it
        super().__init__(id=id)
        self.ticked: frozenset[str] = frozenset()

    def columns_for(self, width: int) -> list[Column[Facet]]:  # noqa: ARG002
        return [
            Column("", 3, lambda facet: "[x]" if facet.token in self.ticked else "[ ]"),
            Column("value", 0, lambda facet: facet.token),
            Column("documents", -9, lambda facet: f"{facet.count:,}"),
        ]


class FilterPopup(ModalScreen[str | None]):
    """Returns the new filter line, or ``None`` for Esc: the filter stays what it was."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", show=False),
        Binding("down", "move(1)", show=False),
        Binding("up", "move(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("tab", "toggle_facet", show=False),
    ]
    DEFAULT_CSS = """
    FilterPopup { align: center middle; background: $background 60%; }
    FilterPopup > Vertical {
        width: 70; max-width: 100%; height: 80%;
        border: heavy $primary; padding: 0 1; background: $surface;
    }
    FilterPopup Input { height: 1; }
    FilterPopup #keys { height: auto; color: $foreground 75%; }
    FilterPopup #problem { height: auto; color: $error; text-style: bold; }
    FilterPopup FacetTable { height: 1fr; }
    """

    def __init__(self, text: str, facets: Sequence[Facet], words: str) -> None:
        super().__init__()
        self._text = text
        self._facets = facets
        self._words = words

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Filter"
            box.border_subtitle = "Enter applies, Esc leaves it, ↓ ↑ choose, Tab toggles"
            yield Field(
                self._text,
                placeholder="media:code lang:ko tag:x path:docs/** since:2026-01-01",
                compact=True,
                select_on_focus=False,
            )
            yield Static(f"words: {self._words}", id="keys")
            yield Static("", id="problem")
            yield FacetTable()

    def on_mount(self) -> None:
        table = self.query_one(FacetTable)
        table.can_focus = False
        table.show(self._facets, "nothing is indexed yet")
        self._tick()

    @on(Input.Changed)
    def _tick(self) -> None:
        text = self.query_one(Input).value
        table = self.query_one(FacetTable)
        table.ticked = frozenset(facet.token for facet in self._facets if facet.token in text)
        table.refresh()
        self.query_one("#problem", Static).update(Content(_problem(text)))

    @on(Input.Submitted)
    def _apply(self) -> None:
        text = self.query_one(Input).value
        if not _problem(text):
            self.dismiss(text)

    @on(ChoiceList.Opened)
    def action_toggle_facet(self) -> None:
        """Put the chosen value into the line, or take it out."""
        facet = self.query_one(FacetTable).row
        if facet is not None:
            field = self.query_one(Input)
            field.value = toggled(field.value, facet)
            field.cursor_position = len(field.value)

    def action_cancel(self) -> None:
        self.dismiss(None)

    def action_move(self, by: int) -> None:
        self.query_one(FacetTable).chosen += by

    def action_page(self, pages: int) -> None:
        self.query_one(FacetTable).page(pages)


def _problem(text: str) -> str:
    try:
        parse_filter(text)
    except KbError as error:
        return visible(f"{error}: {error.hint}" if error.hint else str(error))
    return ""
