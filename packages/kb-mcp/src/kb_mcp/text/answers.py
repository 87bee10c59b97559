"""Answers as text: each sentence under the place where it stands, or why there is none.

What is quoted of code, a whole function or class, is shown by its lines that tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from kb_app.shown import count, first_line
from kb_app.shown.answers import refusal_text
from kb_core.answers import WEAK_EVIDENCE
from kb_mcp.text import (
    BUDGET,
    error_text,
    indented,
    joined,
    marks_of,
    named,
    numbered,
    numbered_head,
    short,
    tokens_of,
)
from kb_mcp.text.telling import LookUp, code_lines

__all__ = ["answer_text", "answers_text"]

_Json: TypeAlias = Mapping[str, Any]

_ALONE, _EACH = 900, 360
"""Characters of each quotation of code, in the answer to one question and to several."""
_LAST = 20
"""Tokens of the line that says what was left out."""
_NEXT = {
    "no_chunks": ("Search with other words or fewer filters.",),
    "score_gate": ("What comes nearest:",),
}
_BRIEFLY = {"no_chunks": "no answer: nothing found", "score_gate": "no sure answer; nearest:"}
"""What several say of a refusal that many of them may have."""


@dataclass(frozen=True, slots=True)
class _Part:
    """The answer to one question: what is always shown of it, and what it quotes."""

    head: Sequence[str]
    quoted: Sequence[Sequence[str]]
    tail: Sequence[str]

    def lines(self, quotations: int) -> Iterator[str]:
        """Yield it with so many of its quotations."""
        yield from self.head
        for lines in self.quoted[:quotations]:
            yield from lines
        yield from self.tail


def answer_text(
    answer: _Json,
    question: str,
    max_tokens: int | None = None,
    look_up: LookUp | None = None,
) -> str:
    """Return answer.v1 as text, with as many quotations as the budget holds."""
    head = [*_asked(answer)]
    if reason := answer["refusal_reason"]:
        head.append(" ".join(["no answer:", refusal_text(reason), *_NEXT.get(reason, ())]))
    else:
        head.append(f"answer, {_whose(answer['model'])}:")
    part = _part(answer, head, question, _ALONE, look_up)
    shown = next(iter(_fitting([part], max_tokens or BUDGET)), 0)
    further = _left_out([(len(part.quoted) - shown, "passage")])
    return "\n".join([*part.lines(shown), *further])


def answers_text(
    answers: Sequence[tuple[str, _Json]],
    max_tokens: int | None = None,
    look_up: LookUp | None = None,
) -> str:
    """Return answers, or errors, each under its question, as many as the budget holds.

    Every question has its first quotation before one has its second. What all answers warn of
    is said once, at the end.
    """
    warnings = [answer.get("warnings", ()) for _, answer in answers if "code" not in answer]
    every = set.intersection(*map(set, warnings)) if len(warnings) > 1 else set[str]()
    common = sorted(said for said in every if not said.startswith(WEAK_EVIDENCE))
    parts = []
    for at, (question, answer) in enumerate(answers, start=1):
        head = [numbered_head(at, question)]
        if "code" in answer:
            parts.append(_Part([*head, error_text(answer)], (), ()))
            continue
        head += _asked(answer)
        if reason := answer["refusal_reason"]:
            head.append(_BRIEFLY.get(reason) or f"no answer: {refusal_text(reason)}")
        own = [said for said in answer.get("warnings", ()) if said not in common]
        parts.append(_part({**answer, "warnings": own}, head, question, _EACH, look_up))
    last = list(_warned(common))
    counts = _fitting(parts, (max_tokens or BUDGET) - _cost(last))
    told = ["\n".join(part.lines(n)) for part, n in zip(parts, counts, strict=False)]
    further = sum(len(part.quoted) - n for part, n in zip(parts, counts, strict=False))
    told += _left_out([(len(parts) - len(counts), "question"), (further, "passage")])
    return "\n".join([*told, *last])


def _left_out(numbers: Iterable[tuple[int, str]]) -> list[str]:
    """Return the line that says how many of what had no room, if any had none."""
    missing = [count(number, what) for number, what in numbers if number]
    return [f"… {' and '.join(missing)} left out: ask fewer at once"] if missing else []


def _fitting(parts: Sequence[_Part], budget: int) -> list[int]:
    """Return how many quotations each shows, of the first parts that fit *budget* with one.

    A line that says what was left out fits, too.
    """
    left, counts = budget - _LAST, []
    for part in parts:
        left -= _cost(part.lines(1))
        if left < 0:
            break
        counts.append(min(1, len(part.quoted)))
    for nth in range(1, max((len(part.quoted) for part in parts), default=0)):
        for at, shown in enumerate(counts):
            quoted = parts[at].quoted
            if shown == nth < len(quoted) and (cost := _cost(quoted[nth])) <= left:
                counts[at] += 1
                left -= cost
    return counts


def _cost(lines: Iterable[str]) -> int:
    return tokens_of("\n".join(lines)) + 1


def _part(
    answer: _Json, head: Sequence[str], question: str, of_code: int, look_up: LookUp | None
) -> _Part:
    written = answer["model"]["provider"] != "extractive"
    quoted = [list(_quoted(one, question, of_code, look_up)) for one in answer["citations"]]
    tail = [f"session: {answer['conversation_id']}"] if "turn_index" in answer else []
    tail += _warned(answer.get("warnings", ()))
    return _Part([*head, *(indented(answer["answer"]) if written else ())], quoted, tail)


def _warned(said: Iterable[str]) -> Iterator[str]:
    return (f"warning: {short(one, 300)}" for one in said)


def _asked(answer: _Json) -> list[str]:
    asked = answer.get("rewritten_question")
    return [f"asked as: {short(asked, 400)}"] if asked else []


def _whose(model: _Json) -> str:
    is_quoted = model["provider"] == "extractive"
    return "verbatim" if is_quoted else f"written by {short(model['id'])}, with what it cites"


def _quoted(cited: _Json, question: str, of_code: int, look_up: LookUp | None) -> Iterator[str]:
    source = f"source {short(cited['source_id'])}" if cited.get("in_several") else ""
    yield joined(_where(cited), short(cited.get("section_label") or ""), source, *marks_of(cited))
    if lead := cited.get("lead"):
        yield from indented(lead)
    first = first_line(cited["citation"], cited["quote"])
    if first is None:
        yield from indented(cited["quote"])
    elif cited["citation"]["kind"] == "code":
        yield from code_lines(cited, question, of_code, look_up)
    elif "\n" in cited["quote"]:
        yield from numbered(cited["quote"], first)
    else:
        yield from indented(cited["quote"])


def _where(cited: _Json) -> str:
    """Return the place as it can be asked for: a path with lines, else with what is no line."""
    place, path = cited["citation"], named(cited["doc_path"])
    if place["kind"] in {"line", "code"}:
        first = place.get("line_start", place.get("start"))
        last = place.get("line_end", place.get("end"))
        return f"{path}:{first}" + (f"-{last}" if last != first else "")
    return f"{path}#{short(place['uri'].rpartition('#')[2])}"
