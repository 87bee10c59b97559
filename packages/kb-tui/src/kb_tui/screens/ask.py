"""The ask pane: a conversation of questions, each with its answer or the refusal.

An answer is sentences of the documents, word for word, each with its place; of a refusal, what
comes near stands there. What is chosen among them can be opened.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Input

from kb_app.shown import NO_ANSWER, count
from kb_core.answers import Answer, AskQuery
from kb_core.search import Hit
from kb_core.values import dataclass
from kb_tui._keys import ASK, Key, bindings
from kb_tui._pane import Failed, HitPane, Reply, Shared
from kb_tui._passage import Line, plain
from kb_tui._rendering import rendered
from kb_tui.widgets.hit_list import place_of
from kb_tui.widgets.lines import Lines, Row

__all__ = ["NOTICE", "AskPane", "Turn", "transcript"]

NOTICE = (
    "Ask a question: the sentences that answer it come back, with their places. "
    "What is shown is text of your documents and nothing else."
)
_ANSWER = "Answer, word for word:"
_REFUSED = {
    "no_chunks": "No passage speaks of this.",
    "no_model": "Answers are switched off: [ask] provider is none.",
}
_BAR = "  ┃ "


@dataclass(frozen=True, slots=True)
class Turn:
    """A question and what came of it: what is quoted, or why nothing is."""

    question: str
    hits: tuple[Hit, ...] | None = None
    """What is quoted; ``None`` until it is there."""
    refusal: str | None = None
    remark: str = ""


def transcript(
    turns: Sequence[Turn], *, explain: bool, chosen: tuple[int, int] | None = None
) -> list[Row]:
    """Return the whole conversation; *chosen* is a turn and a passage of it."""
    if not turns:
        return [Row(NOTICE, "note")]
    at, passage = chosen or (-1, -1)
    return [
        row
        for number, turn in enumerate(turns)
        for row in _turn(turn, explain=explain, chosen=passage if number == at else None)
    ]


def _turn(turn: Turn, *, explain: bool, chosen: int | None) -> Iterator[Row]:
    yield Row(f"> {turn.question}", "head")
    if turn.hits is None:
        yield Row(turn.remark or "searching…", "note")
    else:
        said = _REFUSED.get(turn.refusal, NO_ANSWER) if turn.refusal else _ANSWER
        yield Row(said, "note")
        if turn.remark:
            yield Row(turn.remark, "note")
        for number, hit in enumerate(turn.hits, start=1):
            sign = "▌" if number - 1 == chosen else " "
            yield from _passage(f"{sign}[{number}]", hit, turn.question, explain=explain)
    yield Row("")


def _passage(sign: str, hit: Hit, question: str, *, explain: bool) -> Iterator[Row]:
    yield Row("")
    stale = "  [stale]" if hit.stale else ""
    yield Row(f"{sign} {hit.title or hit.doc_path}{stale}", "head")
    above = f"  {' › '.join(hit.heading_path)}" if hit.heading_path else ""
    yield Row(f"{hit.doc_path}{place_of(hit)}{above}", "note", indent="    ")
    if explain:
        yield Row(_why(hit), "note", indent="    ")
    for line in _read(hit.snippet.strip("\n"), hit.media, hit.code_lang):
        yield Row(line.text, "quote", indent=_BAR, query=question, spans=line.spans)


@lru_cache(maxsize=256)
def _read(text: str, media: str, code_lang: str | None) -> tuple[Line, ...]:
    """Return the lines of a passage as they are read: a conversation is drawn again and again."""
    return tuple(rendered(plain(text), media, code_lang))


def _why(hit: Hit) -> str:
    """Say how both channels saw the hit."""
    found = hit.retrieval
    parts = [f"why: score {hit.score:.2f}"]
    for name, rank, score in (
        ("words", found.lexical_rank, found.lexical_score),
        ("meaning", found.vector_rank, found.vector_score),
    ):
        if rank is None:
            parts.append(f"not found by {name}")
        else:
            at = f" ({score:.2f})" if score is not None else ""
            parts.append(f"place {rank} by {name}{at}")
    return "; ".join(parts)


class Answered(Reply[Answer]):
    """The answer to the last question."""


class AskPane(HitPane):
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
        self._chosen: tuple[int, int] | None = None
        """The turn and its passage that o, g and y are about."""

    def body(self) -> ComposeResult:
        yield Lines(follow=True, id="transcript")
        yield Input(placeholder="ask your documents", compact=True, select_on_focus=False)

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
        if self._is_waiting:
            self._stop()
        field.value = ""
        self.forget_error()
        self._is_waiting = True
        self._turns.append(Turn(question))
        self.query_one(Lines).follow = True
        self._draw()
        self.state("searching…")
        self.ask(Answered, lambda: self.kb.answer(AskQuery(text=question)))

    @on(Answered)
    def show_answered(self, reply: Answered) -> None:
        if self.is_stale(reply):
            return
        answer = reply.value
        quoted = tuple(
            replace(cited.hit, citation=cited.citation, snippet=cited.quote)
            for cited in answer.citations
        )
        remark = "; ".join([*answer.degraded, *answer.warnings])
        self._chosen = (len(self._turns) - 1, 0) if quoted else self._chosen
        self._end(hits=quoted, remark=remark, refusal=answer.refusal)
        what = "refused" if answer.refusal else count(len(quoted), "quote")
        sure = "" if answer.confidence is None else f", confidence {answer.confidence:.2f}"
        self.state(f"{what}{sure}, in {answer.latency_ms:.0f} ms")

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

    def _end(
        self, *, hits: tuple[Hit, ...] | None, remark: str, refusal: str | None = None
    ) -> None:
        self._is_waiting = False
        last = self._turns[-1]
        self._turns[-1] = replace(last, hits=hits, remark=remark, refusal=refusal)
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
        self._turns, self._chosen = [], None
        self._draw()
        self.state("new conversation")

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
