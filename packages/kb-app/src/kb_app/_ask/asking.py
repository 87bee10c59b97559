"""From a question to its answer: found, read, judged, and said or refused.

The passages that a search finds are the evidence, and the first of them are read closely. The
gate says whether they answer; if so, the answer is the sentences that say it, verbatim, each
with the place where it stands. Nothing is written that no document says.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from hashlib import blake2b
from typing import TYPE_CHECKING

from kb_app._ask.evidence import DEPTH, Evidence, evidence_of
from kb_app._ask.extract import Extract, extracts, ranked
from kb_app._ask.gate import Gate, chance_of, gate_of
from kb_app._ask.kinds import marked
from kb_app._search.channels import Channel
from kb_app._search.ranking import page_of
from kb_core import wire
from kb_core.answers import Answer, AskQuery, Cited, Refusal
from kb_core.citations import Citation, CodeSpan, LineSpan, citation_of
from kb_core.clock import to_epoch
from kb_core.errors import InvalidInput, ModelMissing
from kb_core.ids import content_hash
from kb_core.ports import StoredChunk, never
from kb_core.search import Hit, SearchResponse
from kb_core.values import dataclass

if TYPE_CHECKING:
    from threading import Event

    from kb_app._parts import Parts
    from kb_app._search.engine import Engine, RankedList
    from kb_app.config import Config
    from kb_core.control import EmbeddingModel
    from kb_core.ports import CloseReader
    from kb_core.wire import types

__all__ = ["RULES", "Asking"]

RULES = "extractive-1"
"""The version of how sentences are chosen; part of every answer that is made of them."""

_NEAR = 3
"""How many passages a refusal names."""
_ID_BYTES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A question for which the search is done."""

    question: AskQuery
    started: float
    ranking: RankedList
    response: SearchResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """The evidence of a question, and what the gate makes of it."""

    evidence: Evidence | None = None
    """``None`` where there is none, or where nobody waits for it any more."""
    gate: Gate | None = None
    confidence: float | None = None
    degraded: tuple[str, ...] = ()
    extracts: tuple[Extract, ...] = field(default_factory=tuple)


class Asking:
    """Answers questions at the state of one engine; serves one thread, as that does."""

    def __init__(
        self, engine: Engine, config: Config, parts: Parts, stop: Event | None = None
    ) -> None:
        self._engine = engine
        self._config = config
        self._parts = parts
        self._is_stopped = never if stop is None else stop.is_set

    def events(self, question: AskQuery) -> Iterator[types.AnswerEvent]:
        """Search now, and yield answer_event.v1: what was found, the answer, one ``final``."""
        return self._told(self._search(question))

    def answer(self, question: AskQuery) -> Answer:
        """Return the answer, or the refusal."""
        return self._finished(self._search(question))

    def _told(self, asked: _Asked) -> Iterator[types.AnswerEvent]:
        yield wire.answer_retrieved(asked.response.hits)
        answer = self._finished(asked)
        for line in answer.text.splitlines(keepends=True):
            yield wire.answer_token(line)
        yield wire.answer_final(answer)

    def _search(self, question: AskQuery) -> _Asked:
        started = time.perf_counter()
        ranking = self._engine.ranking(question.search())
        response = self._engine.answer(ranking)
        return _Asked(question=question, started=started, ranking=ranking, response=response)

    def _finished(self, asked: _Asked) -> Answer:
        if self._config.ask.provider == "none":
            return self._said(asked, _Read(), "no_model")
        if not asked.response.hits:
            return self._said(asked, _Read(confidence=0.0), "no_chunks")
        read = self._read(asked)
        if read.evidence is None:
            return self._said(asked, read, "llm_stream_aborted")
        if read.gate is not None and (read.confidence or 0.0) < read.gate.threshold:
            return self._said(asked, read, "score_gate")
        read = replace(read, extracts=tuple(extracts(read.evidence)))
        return self._said(asked, read, None if read.extracts else "score_gate")

    def _read(self, asked: _Asked) -> _Read:
        reader, remarks = self._reader()
        rows = page_of(asked.ranking.rows, 0, DEPTH, self._engine.renderer.places)
        chunks = self._engine.renderer.chunks([row.chunk_key for row in rows])
        rows = [row for row in rows if row.chunk_key in chunks]
        evidence = evidence_of(
            asked.ranking.run.parsed.text,
            [chunks[row.chunk_key] for row in rows],
            [row.score for row in rows],
            self._engine.snapshot.known_words(asked.ranking.run.parsed.lexical),
            reader,
            stop=self._is_stopped,
        )
        if evidence is None:
            return _Read(degraded=remarks)
        model = self._parts.model()
        gate = gate_of(model.name if model else "", evidence)
        confidence = chance_of(evidence, gate) if gate else None
        return _Read(evidence=evidence, gate=gate, confidence=confidence, degraded=remarks)

    def _reader(self) -> tuple[CloseReader | None, tuple[str, ...]]:
        """Return what reads closely, or why nothing does."""
        if self._parts.model() is None:
            return None, ("reading: no model; sentences are chosen by words alone",)
        try:
            return self._parts.close_reader(), ()
        except (InvalidInput, ModelMissing) as error:
            return None, (f"reading: {error}; sentences are chosen by words alone",)

    def _said(self, asked: _Asked, read: _Read, refusal: Refusal | None) -> Answer:
        hits, response = asked.response.hits, asked.response
        by_id = {hit.chunk_id: hit for hit in hits}
        if refusal is None:
            cited = tuple(
                _cited(asked.question.text, number, extract, by_id)
                for number, extract in enumerate(read.extracts, start=1)
            )
        else:
            cited = tuple(_near(read.evidence, hits[:_NEAR]))
        return Answer(
            question=asked.question,
            text=_text(cited) if refusal is None else "",
            citations=cited,
            refusal=refusal,
            confidence=read.confidence,
            threshold=read.gate.threshold if read.gate else None,
            writer="extractive" if self._config.ask.provider != "none" else "none",
            provider=self._config.ask.provider,
            rules=RULES,
            trace_id=self._trace_id(asked),
            embedding=self._searched_by(asked),
            hits=hits,
            created_at=to_epoch(self._parts.clock()),
            latency_ms=round((time.perf_counter() - asked.started) * 1000),
            corpus_revision=response.corpus_revision,
            degraded=(*response.degraded, *read.degraded),
            warnings=response.warnings,
        )

    def _searched_by(self, asked: _Asked) -> EmbeddingModel | None:
        ran = asked.ranking.proposals.ran
        return self._parts.model() if Channel.VECTOR in ran else None

    def _trace_id(self, asked: _Asked) -> str:
        control = self._engine.snapshot.control
        state = (asked.question, control.corpus_revision, control.vector_revision, RULES)
        return blake2b(repr(state).encode(), digest_size=_ID_BYTES).hexdigest()


def _text(cited: Sequence[Cited]) -> str:
    """Return the answer: each quote with its marker, what leads into it before it."""
    return "\n".join(
        f"{one.lead}\n{one.quote} [{one.marker}]" if one.lead else f"{one.quote} [{one.marker}]"
        for one in cited
    )


def _cited(question: str, number: int, extract: Extract, hits: dict[str, Hit]) -> Cited:
    chunk = extract.passage.chunk
    span = marked(extract.text, question)
    return Cited(
        hit=hits[chunk["chunk_id"]],
        citation=_place(chunk, extract.start, extract.end),
        quote=extract.text,
        marker=number,
        lead=None if extract.lead is None else chunk["text"][slice(*extract.lead)],
        span=None if span is None else extract.text[slice(*span)],
    )


def _near(evidence: Evidence | None, hits: Sequence[Hit]) -> Iterator[Cited]:
    """Yield what comes near an answer: of each of the first passages, the likeliest words."""
    best: dict[str, tuple[int, int]] = {}
    chunks: dict[str, StoredChunk] = {}
    for unit in ranked(evidence) if evidence is not None else ():
        chunk = evidence.passages[unit.passage].chunk if evidence else None
        if chunk is not None and chunk["chunk_id"] not in best:
            best[chunk["chunk_id"]] = (unit.piece.unit.start, unit.piece.unit.end)
            chunks[chunk["chunk_id"]] = chunk
    for hit in hits:
        if hit.chunk_id in best:
            chunk, (start, end) = chunks[hit.chunk_id], best[hit.chunk_id]
            yield Cited(hit=hit, citation=_place(chunk, start, end), quote=chunk["text"][start:end])
        else:
            yield Cited(hit=hit, citation=hit.citation, quote=hit.snippet)


def _place(chunk: StoredChunk, start: int, end: int) -> Citation:
    """Return the citation of a range of a chunk's text: its own lines, where it has lines."""
    whole, text = citation_of(chunk), chunk["text"]
    if chunk["span"] or chunk["line_end"] - chunk["line_start"] != text.count("\n"):
        return whole  # a page, or lines that are not those of the text
    first = chunk["line_start"] + text.count("\n", 0, start)
    last = first + text.count("\n", start, end)
    match whole.span:
        case LineSpan(section=section):
            span: LineSpan | CodeSpan = LineSpan(first, last, section)
        case CodeSpan(symbol=symbol, lang=lang):
            span = CodeSpan(first, last, symbol, lang)
        case _:
            return whole
    return Citation(whole.path, span, content_hash(text[start:end]))
