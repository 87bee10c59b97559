"""The ask pane: a conversation of questions, each with its answer or the refusal.

An answer is sentences of the documents, word for word, each with its place, unless a model is
configured that writes it, which is shown while it comes; of a refusal, what comes near stands
there. What is chosen among them can be opened. Conversations are kept, and can be gone on with.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.message import Message
from textual.widgets import Input

from kb_app.shown import count, flat, local_time
from kb_app.shown.answers import answer_markdown
from kb_core.answers import Answer, AskQuery
from kb_core.search import Hit
from kb_core.values import replace
from kb_tui._keys import ASK, Key, bindings
from kb_tui._pane import Failed, HitPane, Reply, Shared
from kb_tui._turns import Turn, kept_turn, transcript, turn_of
from kb_tui.popups import Chooser
from kb_tui.widgets.bars import Field
from kb_tui.widgets.lines import Lines, Row

if TYPE_CHECKING:
    from kb_core.wire import types

__all__ = ["AskPane"]

_NEW = "new"


class Answered(Reply[Answer]):
    """The answer to the last question."""


class Said(Message):
    """A piece of an answer that is being made, of the question that *stopping* stops."""

    def __init__(self, stopping: Event, piece: str) -> None:
        super().__init__()
        self.stopping = stopping
        self.piece = piece


class Listed(Reply["types.SessionList"]):
    """The conversations that are kept."""


class Recalled(Reply["types.Session"]):
    """A conversation to go on with."""


class Deleted(Reply["types.SessionList"]):
    """The conversation that was deleted."""


class AskPane(HitPane):
    """Asks one question at a time; Esc stops waiting for it."""

    NAME: ClassVar[str] = "ask"
    KEYS: ClassVar[tuple[Key, ...]] = ASK
    IS_TYPING: ClassVar[bool] = True
    BINDINGS: ClassVar[list[BindingType]] = bindings(ASK)

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self._turns: list[Turn] = []
        self._conversation: str | None = None
        """Its name; ``None`` before its first answer."""
        self._is_sure = False
        """Whether the next key that deletes is meant."""
        self._stopping: Event | None = None
        """Stops the question that is waited for; ``None`` where none is."""
        self._explain = False
        self._chosen: tuple[int, int] | None = None
        """The turn and its passage that o, g and y are about."""

    def body(self) -> ComposeResult:
        yield Lines(follow=True, id="transcript")
        yield Field(placeholder="ask your documents", compact=True, select_on_focus=False)

    def on_mount(self) -> None:
        self.query_one(Lines).border_title = "Ask"
        self._draw()

    def leave_insert(self) -> None:
        self.set_focus(self.query_one(Lines))

    @on(Input.Submitted)
    def action_submit(self) -> None:
        """Ask what is in the field, and empty it."""
        field = self.query_one(Input)
        question = field.value.strip()
        if not question:
            self.state("type a question first")
            return
        self._stop()
        field.value = ""
        self._is_sure = False
        self.forget_error()
        self._turns.append(Turn(question))
        self.query_one(Lines).follow = True
        self._draw()
        self.state("searching…")
        name = self._conversation or (None if self.kb.readonly else _NEW)
        query = AskQuery(text=question, conversation=name)
        stop = self._stopping = Event()

        def tell(piece: str) -> None:
            self.post_message(Said(stop, piece))

        self.ask(Answered, lambda: self.kb.answer(query, stop=stop, told=tell))

    @on(Said)
    def show_said(self, message: Said) -> None:
        """Show what was written meanwhile, if it is still waited for."""
        if message.stopping is self._stopping:
            turn = self._turns[-1]
            self._turns[-1] = replace(turn, said=turn.said + message.piece)
            self._draw()
            self.state("writing…")

    @on(Answered)
    def show_answered(self, reply: Answered) -> None:
        if self.is_stale(reply):
            return
        answer = reply.value
        self._conversation = answer.conversation
        turn = self._named(turn_of(answer))
        quoted = turn.hits or ()
        self._chosen = (len(self._turns) - 1, 0) if quoted else self._chosen
        self._end(turn)
        what = "refused" if answer.refusal else count(len(quoted), "quote")
        sure = "" if answer.confidence is None else f", confidence {answer.confidence:.2f}"
        self.state(f"{what}{sure}, in {answer.latency_ms:.0f} ms")

    def failed(self, reply: Failed) -> None:
        if reply.kind is Answered:
            self._end(self._named(replace(self._turns[-1], remark=f"failed: {reply.error}")))

    def _named(self, turn: Turn) -> Turn:
        """Return *turn*, the commands in its remark as they are for what is open."""
        return replace(turn, remark=self.shared.named(turn.remark))

    def action_escape(self) -> None:
        """Stop the question that is waited for, and leave INSERT."""
        self._stop()
        self.leave_insert()

    def _stop(self) -> None:
        if self._stopping is not None:
            self._forget_question()
            self._end(replace(self._turns[-1], remark="stopped"))
            self.state("stopped")

    def _forget_question(self) -> None:
        """End what is being searched, read or written; nothing of it is shown any more."""
        self.forget(Answered)
        if self._stopping is not None:
            self._stopping.set()
            self._stopping = None

    def _end(self, turn: Turn) -> None:
        self._stopping = None
        self._turns[-1] = turn
        self._draw()

    def action_explain(self) -> None:
        """Say why each passage is there, or no longer."""
        self._explain = not self._explain
        self._draw()
        self.state("explained" if self._explain else "not explained")

    def action_forget(self) -> None:
        """Begin a new conversation."""
        self._forget_question()
        self._show(None, [])
        self.state("new conversation")

    # ---------------------------------------------------------------- conversations

    def action_conversations(self) -> None:
        """Ask for the conversations that are kept."""
        self.ask(Listed, self.kb.conversations)

    @on(Listed)
    def show_listed(self, reply: Listed) -> None:
        """Let one of them be chosen."""
        if self.is_stale(reply):
            return
        items = reply.value["items"]
        names = [_named(item) for item in items]
        chooser = Chooser("Conversations", names, "no conversation is kept yet")

        def take(chosen: str | None) -> None:
            if chosen is not None:
                name = items[names.index(chosen)]["session_id"]
                self.ask(Recalled, lambda: self.kb.conversation(name))

        self.app.push_screen(chooser, take)

    @on(Recalled)
    def show_recalled(self, reply: Recalled) -> None:
        if self.is_stale(reply):
            return
        self._forget_question()
        turns = [self._named(kept_turn(turn["answer"])) for turn in reply.value["turns"]]
        self._show(reply.value["session_id"], turns)
        self.state("; ".join(reply.value.get("warnings", ())) or count(len(turns), "turn"))

    def action_delete(self) -> None:
        """Delete the conversation, where the key is pressed twice."""
        name = self._conversation
        if name is None:
            self.state("this conversation is not kept")
        elif not self._is_sure:
            self._is_sure = True
            self.state("press d again to delete this conversation")
        else:
            self.ask(Deleted, lambda: self.kb.delete_conversations([name]))

    @on(Deleted)
    def show_deleted(self, reply: Deleted) -> None:
        if not self.is_stale(reply):
            self.action_forget()
            self.state("the conversation is deleted")

    def _show(self, name: str | None, turns: Sequence[Turn]) -> None:
        self._conversation, self._turns = name, list(turns)
        places = [(n, 0) for n, turn in enumerate(turns) if turn.hits]
        self._chosen = places[-1] if places else None
        self._is_sure = False
        self.query_one(Lines).follow = True
        self._draw()

    def action_copy_answer(self) -> None:
        """Copy the answer of the chosen turn, or of the last one, with its sources."""
        at = self._chosen[0] if self._chosen is not None else len(self._turns) - 1
        answer = self._turns[at].answer if self._turns else None
        if answer is None:
            self.state("there is no answer to copy")
            return
        self.app.copy_to_clipboard(answer_markdown(answer))
        self.state("copied the answer with its sources")

    # ---------------------------------------------------------------- passages

    def action_choose(self, by: int) -> None:
        """Choose the next passage, or the one before, over all turns."""
        places = [(t, n) for t, turn in enumerate(self._turns) for n in range(len(turn.hits or ()))]
        if self._chosen not in places:
            self.state("no passage to choose")
            return
        at = max(0, min(places.index(self._chosen) + by, len(places) - 1))
        self._chosen = places[at]
        self._draw()
        rows = self._rows()
        self.query_one(Lines).reveal(next(n for n, row in enumerate(rows) if row.text[:1] == "▌"))

    def chosen_hit(self) -> Hit | None:
        if self._chosen is None:
            self.state("no passage is chosen")
            return None
        turn, number = self._chosen
        return (self._turns[turn].hits or ())[number]

    def action_move(self, by: int) -> None:
        self.query_one(Lines).move(by)

    def action_page(self, pages: int) -> None:
        self.query_one(Lines).page(pages)

    def action_first(self) -> None:
        self.query_one(Lines).first()

    def action_last(self) -> None:
        self.query_one(Lines).last()
        self.state("following the tail")

    def _rows(self) -> list[Row]:
        return transcript(self._turns, explain=self._explain, chosen=self._chosen)

    def _draw(self) -> None:
        before = transcript(self._turns[:-1], explain=self._explain) if self._turns[1:] else []
        # The best passage comes first: who waits for the evidence sees the turn from its top.
        self.query_one(Lines).show(self._rows(), anchor=len(before))


def _named(item: types.SessionListItems) -> str:
    """Return a conversation in one line, as it is chosen by; its name tells it from others."""
    when = local_time(item["used_at"])
    return f"{when}  {flat(item['question'] or '')} ({item['turns']})  {item['session_id']}"
