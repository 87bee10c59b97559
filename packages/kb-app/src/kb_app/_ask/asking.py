"""From a question to its answer: found, read, judged, and said or refused.

The passages that a search finds are the evidence, and the first of them are read closely. The
gate says whether they answer; if so, the answer is the sentences that say it, verbatim, each
with the place where it stands. Where a language model is configured, it writes the answer from
the passages, and what it wrote is held against them (``writing``): what they do not say is
taken out, or refused. It is never asked where the gate says no.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeAlias

from kb_app._ask.evidence import DEPTH, Evidence, evidence_of
from kb_app._ask.extract import Extract, extracts, ranked
from kb_app._ask.gate import Gate, chance_of, doubts, gate_of
from kb_app._ask.kinds import marked
from kb_app._search.channels import Channel
from kb_app._search.query import parse_query
from kb_app._search.ranking import page_of
from kb_app.shown import count
from kb_core import wire
from kb_core.answers import Answer, AskQuery, Cited, Hop, Refusal, Stage, Verification
from kb_core.citations import Citation, CodeSpan, LineSpan, citation_of
from kb_core.clock import to_epoch
from kb_core.errors import InvalidInput, KbError, ModelMissing
from kb_core.ids import content_hash
from kb_core.ports import StoredChunk, never
from kb_core.search import Hit, SearchQuery, SearchResponse
from kb_core.sentences import Unit
from kb_core.values import dataclass

if TYPE_CHECKING:
    from datetime import datetime
    from threading import Event

    from kb_app._ask.packing import Packed
    from kb_app._ask.writing import Written
    from kb_app._parts import Parts
    from kb_app._search.engine import Engine, RankedList
    from kb_app._search.ranking import Row
    from kb_app.config import Config
    from kb_core.control import EmbeddingModel
    from kb_core.language import ModelName
    from kb_core.ports import CloseReader, LanguageModel
    from kb_core.wire import types

__all__ = ["RULES", "Asking", "Step", "last", "told"]

Step: TypeAlias = "tuple[Hit, ...] | str | Answer"
"""What was found, first and once; then pieces of the answer as they come; the answer, last."""

RULES = "extractive-1"
"""The version of how sentences are chosen; part of every answer that is made of them."""

_ONE_HOP = "several hops need a language model ([ask] provider): it was asked as one question"
_NEAR = 3
"""How many passages a refusal names."""
_ID_BYTES = 8


class _Watch:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A question for which the search is done."""

    question: AskQuery
    watch: _Watch
    ranking: RankedList
    response: SearchResponse
    hops: tuple[Hop, ...] | None = None
    """``None`` where it is asked as one question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """The evidence of a question, and what the gate makes of it."""

    evidence: Evidence | None = None
    """``None`` where there is none, or where nobody waits for it any more."""
    gate: Gate | None = None
    confidence: float | None = None
    degraded: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class Asking:
    """Answers questions at the state of one engine; serves one thread, as that does."""

    def __init__(
        self, engine: Engine, config: Config, parts: Parts, stop: Event | None = None
    ) -> None:
        self._engine = engine
        self._config = config
        self._parts = parts
        self._is_stopped = never if stop is None else stop.is_set

    @property
    def now(self) -> datetime:
        """The time by the clock of the knowledge base."""
        return self._parts.clock()

    def is_stopped(self) -> bool:
        """Say whether nobody waits any more."""
        return self._is_stopped()

    def language_model(self) -> LanguageModel | None:
        """Return what writes answers, if anything does."""
        return self._parts.language_model()

    def weight_of(self, word: str) -> float:
        """Say how telling a word is among all that is indexed."""
        known = self._engine.snapshot.known_words(parse_query(word).lexical)
        return max((each.weight for each in known.words), default=0.0)

    def steps(self, question: AskQuery) -> Iterator[Step]:
        """Search now, and yield what was found, the pieces of the answer, and the answer."""
        return self._begun(self._search(question))

    def answer(self, question: AskQuery) -> Answer:
        """Return the answer, or the refusal: what the steps end in."""
        return last(self.steps(question))

    def _begun(self, asked: _Asked) -> Iterator[Step]:
        yield asked.response.hits
        yield from self._steps(asked)

    def _search(self, question: AskQuery) -> _Asked:
        watch = _Watch()
        ranking = self._engine.ranking(question.search())
        response = self._engine.answer(ranking)
        asked = _Asked(question=question, watch=watch, ranking=ranking, response=response)
        watch.note("search", _searched(question, len(response.hits), self._searched_by(asked)))
        model = self._parts.language_model() if question.multi_hop else None
        if model is not None:
            return self._hopped(asked, model)
        if question.multi_hop:
            said = replace(response, warnings=(*response.warnings, _ONE_HOP))
            return replace(asked, response=said)
        return asked

    def _hopped(self, asked: _Asked, model: LanguageModel) -> _Asked:
        """Return *asked* with what *model* had searched for it, in rounds."""
        from kb_app._ask.hopping import hop
        from kb_app._search.bulk import search_many

        def search(queries: Sequence[SearchQuery]) -> list[tuple[Hit, ...]]:
            found = search_many(self._engine, queries)
            return [() if isinstance(each, KbError) else each.hits for each in found]

        hopped = hop(model, asked.question.search(), search, stop=self._is_stopped)
        queries = sum(len(each.queries) for each in hopped.hops)
        rounds = count(len(hopped.hops), "round")
        asked.watch.note("hops", f"{rounds} of searches, {queries} in all")
        hits = hopped.hits if hopped.hops else asked.response.hits
        return replace(asked, response=replace(asked.response, hits=hits), hops=hopped.hops)

    def _steps(self, asked: _Asked) -> Iterator[str | Answer]:
        """Yield the pieces of the answer as they come, and the answer last."""
        if self._config.ask.provider == "none":
            yield self._said(asked, _Read(), "no_model")
            return
        if asked.hops is not None and not asked.hops:
            is_over = self._is_stopped()
            why: Refusal = "llm_stream_aborted" if is_over else "multi_hop_decompose_failed"
            yield self._said(asked, _Read(), why)
            return
        if not asked.response.hits:
            yield self._said(asked, _Read(confidence=0.0), "no_chunks")
            return
        model = self._parts.language_model()
        if asked.hops and model is not None:
            yield from self._written(asked, _Read(), model)  # no single passage is to answer
            return
        read = self._read(asked)
        if read.evidence is None:
            yield self._said(asked, read, "llm_stream_aborted")
        elif read.gate is not None and (read.confidence or 0.0) < read.gate.threshold:
            yield self._said(asked, read, "score_gate")
        elif model is not None:
            yield from self._written(asked, read, model)
        else:
            chosen = extracts(read.evidence)
            units = sum(len(passage.pieces) for passage in read.evidence.passages)
            asked.watch.note("choose", f"{count(len(chosen), 'quote')} out of {units:,} units")
            answer = self._said(asked, read, None if chosen else "score_gate", chosen)
            yield from answer.text.splitlines(keepends=True)
            yield answer

    def _written(self, asked: _Asked, read: _Read, model: LanguageModel) -> Iterator[str | Answer]:
        """Yield what *model* writes from the passages, and what came of it."""
        from kb_app._ask.packing import estimated_tokens, pack
        from kb_app._ask.prompts import prompt, room_of
        from kb_app._ask.writing import Judging, Written, write

        def counted(text: str) -> int:
            count = model.count(text)
            return estimated_tokens(text) if count is None else count

        ask, question = self._config.ask, asked.question.text
        room = room_of(ask.context_tokens, question, counted)
        chunks = self._evidence(asked)
        packed = pack(chunks, room.evidence, counted)
        asked.watch.note("pack", _packed(packed, len(chunks), room.evidence))
        for step in write(
            model,
            prompt(question, packed),
            packed,
            most_tokens=room.answer,
            judging=Judging(verify=ask.verify),
            stop=self._is_stopped,
        ):
            if not isinstance(step, Written):
                yield step
            elif step.error is not None and not step.said:
                raise step.error
            else:
                yield self._by_model(asked, read, model, step)

    def _by_model(
        self, asked: _Asked, read: _Read, model: LanguageModel, written: Written
    ) -> Answer:
        from kb_app._ask.prompts import HOPS_VERSION, PROMPT_VERSION

        by_id = {hit.chunk_id: hit for hit in asked.response.hits}
        cited = tuple(
            Cited(
                hit=by_id[support.chunk["chunk_id"]],
                citation=_place(support.chunk, support.start, support.end),
                quote=support.chunk["text"][support.start : support.end],
                marker=support.item,
            )
            for support in written.supports
            if support.chunk["chunk_id"] in by_id
        )
        warnings = [f"the evidence was sent to {model.name.remote}"] if model.name.remote else []
        if written.error is not None:
            warnings.append(str(written.error))
        asked.watch.note("write", _wrote(model.name, written))
        said = self._said(asked, read, written.refusal)
        checked = written.checked
        return replace(
            said,
            verification=None if checked is None else Verification(checked.score, checked.passed),
            text=written.text,
            citations=said.citations if written.refusal else cited,
            writer=model.name.id,
            provider=model.name.provider,
            rules=f"{PROMPT_VERSION}, {HOPS_VERSION}" if asked.hops else PROMPT_VERSION,
            prompt_tokens=written.usage.prompt_tokens,
            completion_tokens=written.usage.completion_tokens,
            warnings=(*said.warnings, *warnings),
        )

    def _found(self, asked: _Asked) -> list[tuple[Row, StoredChunk]]:
        """Return the rows of the hits with their chunks: nothing else is evidence."""
        renderer = self._engine.renderer
        rows = page_of(asked.ranking.rows, 0, asked.question.k, renderer.places)
        chunks = renderer.chunks([row.chunk_key for row in rows])
        return [(row, chunks[row.chunk_key]) for row in rows if row.chunk_key in chunks]

    def _evidence(self, asked: _Asked) -> list[StoredChunk]:
        """Return the chunks of the hits, best first."""
        if not asked.hops:
            return [chunk for _, chunk in self._found(asked)]
        find = self._engine.snapshot.find_chunks
        return [chunk for hit in asked.response.hits for chunk in find(hit.chunk_id, 1)]

    def _read(self, asked: _Asked) -> _Read:
        reader, remarks = self._reader()
        found = self._found(asked)[:DEPTH]
        evidence = evidence_of(
            asked.ranking.run.parsed.text,
            [chunk for _, chunk in found],
            [row.score for row, _ in found],
            self._engine.snapshot.known_words(asked.ranking.run.parsed.lexical),
            reader,
            stop=self._is_stopped,
        )
        if evidence is None:
            return _Read(degraded=remarks)
        model = self._parts.model()
        name = model.name if model else ""
        by = f"closely, by {name}" if evidence.is_read else "by words alone"
        asked.watch.note("read", f"{count(len(found), 'passage')} {by}")
        gate = gate_of(name, evidence)
        if gate is None:
            remarks = (*remarks, f"gate: {name} was not measured; no answer is refused")
        confidence = chance_of(evidence, gate) if gate else None
        asked.watch.note("gate", _judged(gate, confidence, is_foreign=evidence.is_foreign))
        return _Read(
            evidence=evidence,
            gate=gate,
            confidence=confidence,
            degraded=remarks,
            warnings=tuple(doubts(evidence, gate, confidence)),
        )

    def _reader(self) -> tuple[CloseReader | None, tuple[str, ...]]:
        """Return what reads closely, or why nothing does."""
        if self._parts.model() is None:
            return None, ("reading: no model; sentences are chosen by words alone",)
        try:
            return self._parts.close_reader(), ()
        except (InvalidInput, ModelMissing) as error:
            return None, (f"reading: {error}; sentences are chosen by words alone",)

    def _said(
        self,
        asked: _Asked,
        read: _Read,
        refusal: Refusal | None,
        chosen: Sequence[Extract] = (),
    ) -> Answer:
        hits, response = asked.response.hits, asked.response
        name = "none" if self._config.ask.provider == "none" else "extractive"
        by_id = {hit.chunk_id: hit for hit in hits}
        if refusal is None:
            cited = tuple(
                _cited(asked.question.text, number, extract, by_id)
                for number, extract in enumerate(chosen, start=1)
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
            writer=name,
            provider=name,
            rules=RULES,
            trace_id=self._trace_id(asked),
            embedding=self._searched_by(asked),
            hits=hits,
            created_at=to_epoch(self._parts.clock()),
            latency_ms=asked.watch.milliseconds,
            hops=asked.hops or (),
            stages=tuple(asked.watch.stages) if asked.question.explain else (),
            corpus_revision=response.corpus_revision,
            degraded=(*response.degraded, *read.degraded),
            warnings=(*response.warnings, *read.warnings),
        )

    def _searched_by(self, asked: _Asked) -> EmbeddingModel | None:
        ran = asked.ranking.proposals.ran
        return self._parts.model() if Channel.VECTOR in ran else None

    def _trace_id(self, asked: _Asked) -> str:
        control = self._engine.snapshot.control
        plain = replace(asked.question, explain=False)
        state = (plain, control.corpus_revision, control.vector_revision, RULES)
        return blake2b(repr(state).encode(), digest_size=_ID_BYTES).hexdigest()


def last(steps: Iterator[Step]) -> Answer:
    """Return the answer that *steps* end in."""
    *_, answer = steps
    assert isinstance(answer, Answer)  # noqa: S101 - what the steps promise
    return answer


def _searched(question: AskQuery, found: int, model: EmbeddingModel | None) -> str:
    vectors = f"vectors of {model.key}" if model else "no vectors"
    return f"{question.mode.value}, {count(found, 'passage')} found, {vectors}"


def _judged(gate: Gate | None, confidence: float | None, *, is_foreign: bool) -> str:
    if gate is None or confidence is None:
        return "no gate for this model: confidence unknown"
    foreign = ", as for a question in another language" if is_foreign else ""
    return f"confidence {confidence:.2f}, answers from {gate.threshold:.2f} on{foreign}"


def _packed(packed: Packed, chunks: int, budget: int) -> str:
    cut = f", {len(packed.left_out)} left out" if packed.left_out else ""
    items = f"{count(chunks, 'passage')} as {count(len(packed.items), 'item')}{cut}"
    return f"{items}; {packed.tokens:,} of {budget:,} tokens"


def _wrote(name: ModelName, written: Written) -> str:
    if written.checked is None:
        return f"by {name.id}: {written.refusal or 'nothing to check'}"
    stating = [each for each in written.checked.judged if each.statement.states]
    faults = [f"{kind} {text!r}" for each in stating for kind, text in each.faults]
    said = f"by {name.id}: {count(len(stating), 'statement')}, {written.checked.score:.0%} stand"
    return f"{said}; wrong: {', '.join(faults)}" if faults else said


def told(steps: Iterator[Step]) -> Iterator[types.AnswerEvent]:
    """Yield answer_event.v1 for each step; the last is the one ``final``."""
    for step in steps:
        if isinstance(step, str):
            yield wire.answer_token(step)
        elif isinstance(step, Answer):
            yield wire.answer_final(step)
        else:
            yield wire.answer_retrieved(step)


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
    likeliest: dict[str, tuple[StoredChunk, Unit]] = {}
    if evidence is not None:
        for unit in ranked(evidence):
            chunk = evidence.passages[unit.passage].chunk
            likeliest.setdefault(chunk["chunk_id"], (chunk, unit.piece.unit))
    for hit in hits:
        citation, quote = hit.citation, hit.snippet
        if hit.chunk_id in likeliest:
            chunk, best = likeliest[hit.chunk_id]
            citation = _place(chunk, best.start, best.end)
            quote = chunk["text"][best.start : best.end]
        yield Cited(hit=hit, citation=citation, quote=quote)


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
