"""What is told of an answer: each step of the way in a line, and its places.

Pure: what was searched, read and chosen is given.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from kb_app._ask.evidence import heading_in
from kb_app._ask.extract import Extract, extract_of, ranked
from kb_app._ask.kinds import marked
from kb_app._ask.rows import asked_cell
from kb_app.shown import count
from kb_core import wire
from kb_core.answers import Answer, AskQuery, Cited, Stage
from kb_core.citations import Citation, CodeSpan, LineSpan, citation_of
from kb_core.ids import content_hash
from kb_core.ports import StoredChunk
from kb_core.search import Hit

if TYPE_CHECKING:
    from kb_app._ask.evidence import Evidence
    from kb_app._ask.gate import Gate
    from kb_app._ask.narrowing import Named
    from kb_app._ask.packing import Packed
    from kb_app._ask.rows import Told
    from kb_app._ask.writing import Written
    from kb_core.control import EmbeddingModel
    from kb_core.language import ModelName
    from kb_core.wire import types

__all__ = [
    "Step",
    "Watch",
    "cited_of",
    "judged_line",
    "last",
    "narrowed_line",
    "near_misses",
    "packed_line",
    "place_of",
    "rows_line",
    "searched_line",
    "text_of",
    "told",
    "wrote_line",
]


Step: TypeAlias = "tuple[Hit, ...] | str | Answer"
"""What was found, first and once; then pieces of the answer as they come; the answer, last."""


class Watch:
    """Notes what each part of the way came to, and how long it took."""

    def __init__(self) -> None:
        self.started = self._last = time.perf_counter()
        self.stages: list[Stage] = []

    def note(self, name: str, said: str) -> None:
        """Note that a part is done, which began when the one before was noted."""
        now = time.perf_counter()
        self.stages.append(Stage(name, round((now - self._last) * 1000), said))
        self._last = now

    @property
    def milliseconds(self) -> int:
        """Since the beginning."""
        return round((time.perf_counter() - self.started) * 1000)


def searched_line(question: AskQuery, found: int, model: EmbeddingModel | None) -> str:
    """Say what a search came to."""
    vectors = f"vectors of {model.key}" if model else "no vectors"
    return f"{question.mode.value}, {count(found, 'passage')} found, {vectors}"


def narrowed_line(named: Named) -> str:
    """Say to which documents a question was narrowed."""
    by = ", ".join(named.by)
    return f"to {count(len(named.doc_ids), 'document')} by {by}; asked of them: {named.rest}"


def rows_line(rows: Told) -> str:
    """Say which rows of tables are labelled as is asked."""
    labels = dict.fromkeys(extract.passage.pieces[0].text for extract in rows.extracts)
    return ", ".join(labels) or "no row has a label that is asked for"


def judged_line(gate: Gate | None, confidence: float | None, *, is_foreign: bool) -> str:
    """Say what the gate came to."""
    if gate is None or confidence is None:
        return "no gate for this model: confidence unknown"
    foreign = ", as for a question in another language" if is_foreign else ""
    return f"confidence {confidence:.2f}, answers from {gate.threshold:.2f} on{foreign}"


def packed_line(packed: Packed, chunks: int, budget: int) -> str:
    """Say what a model is given."""
    cut = f", {len(packed.left_out)} left out" if packed.left_out else ""
    items = f"{count(chunks, 'passage')} as {count(len(packed.items), 'item')}{cut}"
    return f"{items}; {packed.tokens:,} of {budget:,} tokens"


def wrote_line(name: ModelName, written: Written) -> str:
    """Say what a model wrote."""
    if written.checked is None:
        return f"by {name.id}: {written.refusal or 'nothing to check'}"
    stating = [each for each in written.checked.judged if each.statement.states]
    faults = [f"{kind} {text!r}" for each in stating for kind, text in each.faults]
    said = f"by {name.id}: {count(len(stating), 'statement')}, {written.checked.score:.0%} stand"
    return f"{said}; wrong: {', '.join(faults)}" if faults else said


def text_of(cited: Sequence[Cited]) -> str:
    """Return the answer: each quote with its marker, what leads into it before it."""
    return "\n".join(
        f"{one.lead}\n{one.quote} [{one.marker}]" if one.lead else f"{one.quote} [{one.marker}]"
        for one in cited
    )


def cited_of(question: str, number: int, extract: Extract, hits: Mapping[str, Hit]) -> Cited:
    """Return *extract* as what *question* is answered by, under its *number*."""
    chunk = extract.passage.chunk
    span = asked_cell(extract, question) or marked(extract.text, question)
    return Cited(
        hit=hits[chunk["chunk_id"]],
        citation=_place_of(extract),
        quote=extract.text,
        marker=number,
        lead=extract.lead_text,
        span=None if span is None else extract.text[slice(*span)],
    )


def near_misses(evidence: Evidence | None, hits: Sequence[Hit]) -> Iterator[Cited]:
    """Yield what comes near an answer: of each of the first passages, the likeliest words.

    They are quoted as an answer would be, with what they lead into and what leads into them.
    """
    likeliest: dict[str, Extract] = {}
    if evidence is not None:
        for unit in ranked(evidence):
            chunk = evidence.passages[unit.passage].chunk
            if chunk["chunk_id"] not in likeliest:
                likeliest[chunk["chunk_id"]] = extract_of(evidence, unit)
    for hit in hits:
        if near := likeliest.get(hit.chunk_id):
            yield Cited(hit=hit, citation=_place_of(near), quote=near.text, lead=near.lead_text)
        else:
            yield Cited(hit=hit, citation=hit.citation, quote=hit.snippet)


def _place_of(extract: Extract) -> Citation:
    """Return the citation of what is quoted, with the heading of Markdown that is next above it."""
    above = (piece for piece in extract.passage.pieces if piece.unit.end <= extract.start)
    headings = [heading for piece in above if (heading := heading_in(piece))]
    section = headings[-1][1] if headings else None
    return place_of(extract.passage.chunk, extract.start, extract.end, section)


def place_of(chunk: StoredChunk, start: int, end: int, section: str | None = None) -> Citation:
    """Return the citation of a range of a chunk's text: its own lines, where it has lines.

    *section* is what it stands under, where that is told better than by its chunk.
    """
    whole, text = citation_of(chunk), chunk["text"]
    if chunk["span"] or chunk["line_end"] - chunk["line_start"] != text.count("\n"):
        return whole  # a page, or lines that are not those of the text
    first = chunk["line_start"] + text.count("\n", 0, start)
    last = first + text.count("\n", start, end)
    match whole.span:
        case LineSpan(section=whole_section):
            span: LineSpan | CodeSpan = LineSpan(first, last, section or whole_section)
        case CodeSpan(symbol=symbol, lang=lang):
            span = CodeSpan(first, last, symbol, lang)
        case _:
            return whole
    return Citation(whole.path, span, content_hash(text[start:end]))


def last(steps: Iterator[Step], told: Callable[[str], object] | None = None) -> Answer:
    """Return the answer that *steps* end in; *told* gets each piece of it as it comes."""
    answer: Step = ""
    for answer in steps:
        if told is not None and isinstance(answer, str):
            told(answer)
    assert isinstance(answer, Answer)  # noqa: S101 - what the steps promise
    return answer


def told(steps: Iterator[Step]) -> Iterator[types.AnswerEvent]:
    """Yield answer_event.v1 for each step; the last is the one ``final``."""
    for step in steps:
        if isinstance(step, str):
            yield wire.answer_token(step)
        elif isinstance(step, Answer):
            yield wire.answer_final(step)
        else:
            yield wire.answer_retrieved(step)
