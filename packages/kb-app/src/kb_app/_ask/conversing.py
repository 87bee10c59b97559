"""Conversations: a question is asked as what it means after those before it, and kept.

The journal is read before the search, and the turn is written when its answer is there and
before anybody sees the end of it. What is found, read, judged and written is that of one
question, as always (``asking``): earlier answers are no evidence.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kb_app._ask.asking import Asking
from kb_app._ask.journals import LAST, NEW, Journal, Journals
from kb_app._ask.kinds import expected
from kb_app._ask.languages import is_courtesy
from kb_app._ask.telling import Step
from kb_core import wire
from kb_core.answers import Answer, AskQuery, Stage
from kb_core.errors import InvalidInput, IoError, KbError
from kb_core.values import dataclass, replace

if TYPE_CHECKING:
    from kb_core.ports import LanguageModel
    from kb_core.wire import types

__all__ = ["Conversing"]

_BY_RULES = "follow-up-1"
"""The version of how a follow-up is made to stand alone; part of every answer to one."""
_SUFFIX_BYTES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    """A question of a conversation, before it is answered."""

    question: AskQuery
    journal: Journal
    rewritten: str | None = None
    rules: str = _BY_RULES
    warnings: tuple[str, ...] = ()
    milliseconds: int = 0
    """That reading the journal and rewriting took."""

    @property
    def stage(self) -> Stage:
        """What was made of the question."""
        before = f"turn {self.journal.next_number} of {self.journal.name}"
        said = f"asked as: {self.rewritten} ({self.rules})" if self.rewritten else "stands alone"
        return Stage("rewrite", self.milliseconds, f"{before}; {said}")


class Conversing:
    """Answers questions as ``Asking`` does, each after those of its conversation.

    Where *keeps* is false, nothing is written, and each answer says so.
    """

    def __init__(self, asking: Asking, journals: Journals, *, keeps: bool) -> None:
        self._asking = asking
        self._journals = journals
        self._keeps = keeps

    def steps(self, question: AskQuery) -> Iterator[Step]:
        """Search now, and yield what was found, the pieces of the answer, and the answer.

        ``InvalidInput`` for a conversation that cannot be.
        """
        if question.conversation is None:
            return self._asking.steps(question)
        started = time.perf_counter()
        turn = self._turn(question, question.conversation)
        turn = replace(turn, milliseconds=round((time.perf_counter() - started) * 1000))
        asked = replace(question, conversation=None, text=turn.rewritten or question.text)
        return self._ended(turn, self._asking.steps(asked))

    def _ended(self, turn: _Turn, steps: Iterator[Step]) -> Iterator[Step]:
        for step in steps:
            yield self._kept(turn, step) if isinstance(step, Answer) else step

    def _turn(self, question: AskQuery, named: str) -> _Turn:
        name = self._journals.last() if named == LAST else named
        if named == NEW:
            day = self._asking.now.date().isoformat()
            name = f"{day}-{secrets.token_hex(_SUFFIX_BYTES)}"
        journal = self._journals.read(name)
        turn = _Turn(question=question, journal=journal, warnings=journal.remarks)
        stands_alone = not journal.turns or is_courtesy(question.text)
        return turn if stands_alone else self._rewritten(turn)

    def _rewritten(self, turn: _Turn) -> _Turn:
        """Return *turn* with what its question means: by the model that writes, else by rules."""
        model = self._asking.language_model()
        if model is not None:
            return self._by_model(turn, model)
        return replace(turn, rewritten=self._by_rules(turn))

    def _by_rules(self, turn: _Turn) -> str | None:
        from kb_app._ask.followups import standalone

        answers, name = [each["answer"] for each in turn.journal.turns], None
        answers = [one for one in answers if not is_courtesy(one["question"])]
        if not answers:
            return None
        before = [(one["question"], _meant(one)) for one in answers]
        if expected(before[-1][1])[2] is not None:
            spans = (cited.get("span") for cited in answers[-1]["citations"])
            name = next(filter(None, spans), None)
        return standalone(turn.question.text, before, self._asking.weight_of, name)

    def _by_model(self, turn: _Turn, model: LanguageModel) -> _Turn:
        from kb_app._ask.prompts import REWRITE_VERSION
        from kb_app._ask.writing import rewrite

        asked = turn.question
        warnings = turn.warnings
        if model.name.remote:
            warnings += (f"the conversation was sent to {model.name.remote}",)
        try:
            text = rewrite(model, _history(turn.journal), asked.text, self._asking.is_stopped)
            replace(asked, text=text)  # refuses what no search takes
        except InvalidInput:
            text = ""
        except KbError as error:
            warnings += (f"the question was put into context by rules: {error}",)
            text = ""
        if not text:
            return replace(turn, rewritten=self._by_rules(turn), warnings=warnings)
        rewritten = None if text == asked.text.strip() else text
        return replace(turn, rewritten=rewritten, rules=REWRITE_VERSION, warnings=warnings)

    def _kept(self, turn: _Turn, answer: Answer) -> Answer:
        """Return the answer as a turn of its conversation, written to the journal."""
        rules = answer.rules if turn.rewritten is None else f"{answer.rules}, {turn.rules}"
        said = replace(
            answer,
            question=turn.question,
            rewritten=turn.rewritten,
            conversation=turn.journal.name,
            rules=rules,
            stages=(turn.stage, *answer.stages) if turn.question.explain else (),
            warnings=(*turn.warnings, *answer.warnings),
        )
        if not self._keeps:
            return _unkept(said, "the knowledge base is open for reading only")
        try:
            return replace(said, turn=self._append(turn.journal.name, said)["turn_index"])
        except IoError as error:
            return _unkept(said, str(error))

    def _append(self, name: str, said: Answer) -> types.SessionTurn:
        return self._journals.append(
            name, lambda number: wire.session_turn(replace(said, turn=number), number)
        )


def _unkept(answer: Answer, why: str) -> Answer:
    return replace(answer, warnings=(*answer.warnings, f"this turn is not kept: {why}"))


def _history(journal: Journal) -> list[tuple[str, str]]:
    """Return what was asked and answered, in order."""
    answers = [turn["answer"] for turn in journal.turns]
    return [(_meant(one), one["answer"]) for one in answers]


def _meant(answer: types.Answer) -> str:
    return answer.get("rewritten_question", answer["question"])
