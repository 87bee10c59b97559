"""The inspect pane: all that is known of a document or a chunk, in sections that fold."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message

from kb_app.shown import visible
from kb_tui._inspection import chunk_sections, document_sections
from kb_tui._keymaps import INSPECT
from kb_tui._keys import Key, bindings
from kb_tui._pane import Pane
from kb_tui._screen import Reply
from kb_tui._shared import Shared, Target
from kb_tui.widgets.choice_list import ChoiceList
from kb_tui.widgets.fold_list import FoldList, Section

__all__ = ["InspectPane", "LeaveInspect"]

_NOTHING = "nothing to inspect yet: Enter on a document, or o on a hit"
_CONTEXT = 2
"""Chunks to list as neighbours, on either side."""


class LeaveInspect(Message):
    """Go back to where the target came from."""


class Inspected(Reply[tuple[str, list[Section[Target]]]]):
    """A title and the sections."""


class InspectPane(Pane):
    """Shows one target at a time; those it was reached through are gone back to with Esc."""

    NAME: ClassVar[str] = "inspect"
    KEYS: ClassVar[tuple[Key, ...]] = INSPECT
    BINDINGS: ClassVar[list[BindingType]] = bindings(INSPECT)

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self._trail: list[Target] = []

    def body(self) -> ComposeResult:
        yield FoldList[Target](id="sections")

    @property
    def _list(self) -> FoldList[Target]:
        return self.query_one("#sections", FoldList)

    def on_mount(self) -> None:
        self._list.border_title = "Inspect"
        self._list.show((), _NOTHING)

    def leave_insert(self) -> None:
        self._list.focus()

    def inspect(self, target: Target) -> None:
        """Show *target*, which another pane leads to."""
        self._trail = [target]
        self._ask()

    def _ask(self) -> None:
        target = self._trail[-1]
        self.state("reading…")
        self.ask(Inspected, lambda: self._inspected(target))

    def _inspected(self, target: Target) -> tuple[str, list[Section[Target]]]:
        doc = self.kb.inspect_doc(target.doc_id)
        if target.chunk_id is None:
            sections = document_sections(doc, self.kb.chunks_of(target.doc_id))
            return f"Document {doc['doc_path']}", sections
        fetched = self.kb.fetch_chunk(target.chunk_id, context=_CONTEXT)
        number = fetched["chunk"]["ordinal"]
        return f"Chunk {number} of {doc['doc_path']}", chunk_sections(fetched, doc)

    @on(Inspected)
    def show_inspected(self, reply: Inspected) -> None:
        if self.is_stale(reply):
            return
        title, sections = reply.value
        self._list.border_title = Content(visible(title))
        self._list.show(sections)
        self.state("ready")

    def action_escape(self) -> None:
        """Go back to the last target, or to the pane that led here."""
        if len(self._trail) > 1:
            self._trail.pop()
            self._ask()
        else:
            self.post_message(LeaveInspect())

    @on(ChoiceList.Opened)
    def action_follow(self) -> None:
        target = self._list.target
        if target is None:
            self.state("this row leads nowhere")
        else:
            self._trail.append(target)
            self._ask()

    def action_fold(self) -> None:
        self._list.fold()

    def action_move(self, by: int) -> None:
        self._list.chosen += by

    def action_first(self) -> None:
        self._list.chosen = 0

    def action_last(self) -> None:
        self._list.chosen = self._list.count - 1

    def action_page(self, pages: int) -> None:
        self._list.page(pages)
