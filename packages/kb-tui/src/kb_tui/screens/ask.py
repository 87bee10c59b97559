"""The ask pane: a conversation of questions and the evidence for each.

Nothing writes answers yet, and nothing here pretends to: a turn is the best passages
with their citations, word for word.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Input

from kb_app.shown import count
from kb_core.search import Hit, SearchQuery, SearchResponse
from kb_tui._evidence import Turn, transcript
from kb_tui._keymaps import ASK
from kb_tui._keys import Key, bindings
from kb_tui._pane import Pane
from kb_tui._screen import Failed, Reply
from kb_tui._shared import Shared
from kb_tui.widgets.lines import Lines

__all__ = ["AskPane"]

_PASSAGES = 5
_PASSAGE_CHARS = 600


class Answered(Reply[SearchResponse]):
    """The evidence for the last question."""


class AskPane(Pane):
    """Asks one question at a time; Esc stops waiting for it."""

    NAME: ClassVar[str] = "ask"
    KEYS: ClassVar[tuple[Key, ...]] = ASK
    IS_TYPING: ClassVar[bool] = True
    BINDINGS: ClassVar[list[BindingType]] = bindings(ASK)

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self._turns: list[Turn] = []
        self._is_waiting = False
        self._explain = False

    def body(self) -> ComposeResult:
        yield Lines(follow=True, id="transcript")
        yield Input(placeholder="ask your documents", compact=True, select_on_focus=False)

    def on_mount(self) -> None:
        self.query_one(Lines).border_title = "Ask: evidence only"
        self._draw()

    def leave_insert(self) -> None:
        self.query_one(Lines).focus()

    @on(Input.Submitted)
    def action_submit(self) -> None:
        """Ask what is in the field, and empty it."""
        field = self.query_one(Input)
        question = field.value.strip()
        if not question:
            self.state("type a question first")
            return
        if self._is_waiting:
            self._stop()
        field.value = ""
        self.forget_error()
        self._is_waiting = True
        self._turns.append(Turn(question))
        self.query_one(Lines).follow = True
        self._draw()
        self.state("searching…")
        query = SearchQuery(text=question, k=_PASSAGES, snippet_chars=_PASSAGE_CHARS)
        self.ask(Answered, lambda: self.kb.search(query))

    @on(Answered)
    def show_answered(self, reply: Answered) -> None:
        if self.is_stale(reply):
            return
        found = reply.value
        remark = "; ".join([*found.degraded, *found.warnings])
        self._end(hits=found.hits, remark=remark)
        self.state(f"{count(len(found.hits), 'passage')} in {found.elapsed_ms:.0f} ms")

    def failed(self, reply: Failed) -> None:
        if reply.kind is Answered:
            self._end(hits=None, remark=f"failed: {reply.error}")

    def action_escape(self) -> None:
        """Stop waiting for the question, and leave INSERT."""
        if self._is_waiting:
            self._stop()
        self.leave_insert()

    def _stop(self) -> None:
        self.forget(Answered)
        self._end(hits=None, remark="stopped")
        self.state("stopped")

    def _end(self, *, hits: tuple[Hit, ...] | None, remark: str) -> None:
        self._is_waiting = False
        self._turns[-1] = replace(self._turns[-1], hits=hits, remark=remark)
        self._draw()

    def action_explain(self) -> None:
        """Say why each passage is there, or no longer."""
        self._explain = not self._explain
        self._draw()
        self.state("explained" if self._explain else "not explained")

    def action_forget(self) -> None:
        """Begin a new conversation."""
        self.forget(Answered)
        self._is_waiting = False
        self._turns = []
        self._draw()
        self.state("new conversation")

    def action_move(self, by: int) -> None:
        self.query_one(Lines).move(by)

    def action_page(self, pages: int) -> None:
        self.query_one(Lines).page(pages)

    def action_first(self) -> None:
        self.query_one(Lines).first()

    def action_last(self) -> None:
        self.query_one(Lines).last()
        self.state("following the tail")

    def _draw(self) -> None:
        rows = transcript(self._turns, explain=self._explain)
        before = transcript(self._turns[:-1], explain=self._explain) if self._turns[1:] else []
        # The best passage comes first: who waits for the evidence sees the turn from its top.
        self.query_one(Lines).show(rows, anchor=len(before))
