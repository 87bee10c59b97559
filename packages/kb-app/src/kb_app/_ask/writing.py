"""Writing: a language model answers from packed evidence, and what it wrote is judged.

``write`` yields what may be shown as it comes, and then one ``Written``, whatever happens: the
model ends, declines, breaks off, is too slow, or somebody says stop. It raises nothing that a
model raises. What a model said before it broke off is kept, as an answer that was aborted.

``Draft`` is the state between: pure, fed with one delta at a time. It holds back what may
become the words that a model declines with, so that nobody reads half of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from kb_app._ask.checking import Checked, Nearness, Support, check, settled, supports
from kb_app._ask.packing import Packed
from kb_app._ask.prompts import NOT_ENOUGH, rewriting, says_not_enough
from kb_core.errors import KbError
from kb_core.language import Delta, End, Message, Usage
from kb_core.ports import LanguageModel, never
from kb_core.values import dataclass

__all__ = ["Draft", "Failing", "Judging", "Written", "rewrite", "write"]

Failing = Literal["llm_self_judge", "llm_stream_aborted", "verification_failed"]
"""Those of ``kb_core.answers.Refusal`` that are decided here."""
_DECORATION = " \t\n\"'*_`"
_REWRITTEN_TOKENS = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a model made of a question, and what came of that."""

    text: str
    """What is given: without what is not supported, or what there was when it was aborted."""
    said: str
    """All that the model wrote."""
    refusal: Failing | None = None
    checked: Checked | None = None
    """``None`` where there was nothing to check."""
    supports: tuple[Support, ...] = ()
    """Where the given text stands in the evidence, by number and place."""
    usage: Usage = Usage()
    is_cut: bool = False
    """Whether a limit of tokens, or its provider, ended it rather than the model."""
    error: KbError | None = None
    """Why it was aborted, unless somebody said stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """How what a model wrote is held against the evidence."""

    verify: bool | Literal["auto"] = "auto"
    """``[ask] verify``."""
    near: Nearness | None = None
    """What may vouch for words, where there is a model that reads closely."""


_BY_DEFAULT = Judging()


class Draft:
    """What a model has written so far."""

    def __init__(self) -> None:
        self.said = ""
        self.end: End | None = None
        self._shown = 0

    def take(self, delta: Delta) -> str:
        """Add what came; return what may be shown now, perhaps nothing."""
        self.said += delta.text
        self.end = delta.end or self.end
        begun = self.said.lstrip(_DECORATION)
        if NOT_ENOUGH.startswith(begun[: len(NOT_ENOUGH)].upper()):
            return ""
        shown = self.said[self._shown :]
        self._shown = len(self.said)
        return shown

    def rest(self) -> str:
        """Return what was held back and declines nothing, now that nothing follows."""
        is_whole = self._shown == len(self.said)
        if is_whole or not self.said.strip() or says_not_enough(self.said):
            return ""
        shown = self.said[self._shown :]
        self._shown = len(self.said)
        return shown


def write(
    model: LanguageModel,
    told: Sequence[Message],
    packed: Packed,
    *,
    most_tokens: int,
    judging: Judging = _BY_DEFAULT,
    stop: Callable[[], bool] = never,
) -> Iterator[str | Written]:
    """Yield the pieces of an answer as they come, then what came of it, exactly once.

    *told* is what ``prompt`` makes of the question and of *packed*. Pieces are what the model
    says; what is given in the end may be less.
    """
    draft, error = Draft(), None
    try:
        for delta in model.generate(told, max_tokens=most_tokens, stop=stop):
            if shown := draft.take(delta):
                yield shown
    except KbError as failed:
        error = failed
    if shown := draft.rest():
        yield shown
    yield _written(draft, packed, error, judging)


def rewrite(
    model: LanguageModel,
    history: Sequence[tuple[str, str]],
    question: str,
    stop: Callable[[], bool] = never,
) -> str:
    """Return *question* as it stands alone after *history*; empty where the model gave none.

    Raises what the model raises.
    """
    told = rewriting(question, history)
    draft = Draft()
    for delta in model.generate(told, max_tokens=_REWRITTEN_TOKENS, stop=stop):
        draft.take(delta)
    if draft.end is None or says_not_enough(draft.said):
        return ""
    lines = (line.strip(_DECORATION) for line in draft.said.splitlines())
    return next(filter(None, lines), "")


def _written(draft: Draft, packed: Packed, error: KbError | None, judging: Judging) -> Written:
    said = draft.said
    if draft.end is None or error is not None:
        return Written(text=said.strip(), said=said, refusal="llm_stream_aborted", error=error)
    usage, is_cut = draft.end.usage, draft.end.reason != "stop"
    if not said.strip() or says_not_enough(said):
        return Written(text="", said=said, refusal="llm_self_judge", usage=usage, is_cut=is_cut)
    checked = check(said, packed.items, near=judging.near)
    text = settled(checked, judging.verify)
    return Written(
        text=text or "",
        said=said,
        refusal="verification_failed" if text is None else None,
        checked=checked,
        supports=supports(checked, judging.verify) if text is not None else (),
        usage=usage,
        is_cut=is_cut,
    )
