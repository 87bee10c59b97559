"""From a question to its answer: found, read, judged, and said or refused.

The passages that a search finds are the evidence, and the first of them are read closely. The
gate says whether they answer; if so, the answer is the sentences that say it, verbatim, each
with the place where it stands. Where a language model is configured, it writes the answer from
the passages, and what it wrote is held against them (``writing``): what they do not say is
taken out, or refused. It is never asked where the gate says no.

Where no model writes and a question names its thing by a phrase, the phrase is searched first,
and then the question with what it names (``chaining``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

from kb_app._ask.evidence import DEPTH, Evidence, constants_of, evidence_of, has_name
from kb_app._ask.extract import Extract, extracts, is_lacking
from kb_app._ask.gate import Gate, chance_of, doubts, judged
from kb_app._ask.languages import is_courtesy
from kb_app._ask.narrowing import narrow, of_the_date
from kb_app._ask.rows import asked_rows, with_rows
from kb_app._ask.telling import (
    Step,
    Watch,
    cited_of,
    judged_line,
    narrowed_line,
    near_misses,
    packed_line,
    place_of,
    rows_line,
    searched_line,
    text_of,
    wrote_line,
)
from kb_app._search.channels import Channel
from kb_app._search.query import parse_query
from kb_app._search.ranking import page_of
from kb_app.shown import count
from kb_core.answers import Answer, AskQuery, Cited, Hop, Refusal, Verification
from kb_core.clock import to_epoch
from kb_core.errors import InvalidInput, KbError, ModelMissing
from kb_core.ports import StoredChunk, never
from kb_core.search import Hit, SearchQuery, SearchResponse
from kb_core.values import dataclass, replace

if TYPE_CHECKING:
    from datetime import datetime
    from threading import Event

    from kb_app._ask.chaining import Link, Looked
    from kb_app._ask.narrowing import Named, Narrowed
    from kb_app._ask.rows import Told
    from kb_app._ask.writing import Written
    from kb_app._parts import Parts
    from kb_app._search.engine import Engine, RankedList
    from kb_app._search.ranking import Row
    from kb_app.config import Config
    from kb_core.control import EmbeddingModel
    from kb_core.ports import CloseReader, LanguageModel

__all__ = ["RULES", "Asking"]

RULES = "extractive-1"
"""The version of how sentences are chosen; part of every answer that is made of them."""

_ONE_HOP = (
    "asked as one question: no phrase of it leads to a second fact; "
    "a language model ([ask] provider) may find other ways"
)
_NO_FIGURE = "what comes nearest has no number or date, which the question asks for"
_NOTHING_ASKED = "nothing is asked: nothing was read"
_LACKING = 0.1
"""The confidence then; of 334 right answers on development collections, none was of the kind."""
_OF_THE_DATE = 0.5
"""Of 109 questions with a date, 96 are answered then and 58 by a right passage; with the usual
threshold 81 and 49, and 71 and 38 where documents of other dates answer as well."""
_NEAR = 3
"""How many passages a refusal names."""
_ID_BYTES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A question for which the search is done."""

    question: AskQuery
    watch: Watch
    ranking: RankedList
    response: SearchResponse
    named: Named | None = None
    """The documents that the question names, where it was narrowed to these."""
    rows: Told | None = None
    """What rows of tables say in these documents."""
    read: _Read | None = None
    """What was read before it was sure that this is what answers."""
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

    @property
    def is_refused(self) -> bool:
        """Whether the gate says that nothing of it answers."""
        return self.gate is not None and (self.confidence or 0.0) < self.gate.threshold


class Asking:
    """Answers questions at the state of one engine; serves one thread, as that does.

    *told* adds what is to be said of what was found, such as that passages wait.
    """

    def __init__(
        self,
        engine: Engine,
        config: Config,
        parts: Parts,
        stop: Event | None = None,
        told: Callable[[SearchResponse], SearchResponse] = lambda found: found,
    ) -> None:
        self._engine = engine
        self._config = config
        self._parts = parts
        self._is_stopped = never if stop is None else stop.is_set
        self._told = told

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
        """Search now, and yield what was found, the pieces of the answer, and the answer.

        No passage answers what asks nothing.
        """
        if is_courtesy(question.text):
            return self._unasked(question)
        asked = self._search(question)
        return self._begun(replace(asked, response=self._told(asked.response)))

    def _unasked(self, question: AskQuery) -> Iterator[Step]:
        asked = self._found_first(question, Watch())
        response = replace(asked.response, hits=(), warnings=(_NOTHING_ASKED,))
        return self._begun(replace(asked, response=response))

    def _begun(self, asked: _Asked) -> Iterator[Step]:
        yield asked.response.hits
        yield from self._steps(asked)

    def _search(self, question: AskQuery) -> _Asked:
        watch = Watch()
        asked = self._found_first(question, watch)
        watch.note(
            "search", searched_line(question, len(asked.response.hits), self._searched_by(asked))
        )
        # The words of a constant name no documents.
        named = constants_of(question.text)
        narrowed = None if named else narrow(self._engine, asked.ranking)
        if dated := self._dated(asked, in_series=narrowed is not None):
            return dated
        if narrowed is not None:
            asked = self._narrowed(asked, narrowed)
        model = self._parts.language_model() if question.multi_hop else None
        return asked if model is None else self._hopped(asked, model)

    def _dated(self, asked: _Asked, *, in_series: bool) -> _Asked | None:
        """Return *asked* of the documents of the date that it names, where these answer."""
        found = of_the_date(self._engine, asked.ranking, in_series=in_series)
        if found is None or asked.question.multi_hop:
            return None
        asked.watch.note("narrow", narrowed_line(found.named))
        response = self._engine.answer(found.ranking)
        asked = replace(asked, ranking=found.ranking, response=response)
        read = self._read(asked, _OF_THE_DATE)
        if read.is_refused or not read.evidence:
            return None
        is_none = is_lacking(extracts(read.evidence), asked.question.text)
        return None if is_none else replace(asked, read=read)

    def _narrowed(self, asked: _Asked, narrowed: Narrowed) -> _Asked:
        """Return *asked* with what the documents have that it names, rows of tables among it."""
        rows = asked_rows(self._engine, narrowed, asked.question.text)
        if not narrowed.is_sure and not rows.chance:
            return asked
        asked.watch.note("narrow", f"{narrowed_line(narrowed.named)}; {rows_line(rows)}")
        response = self._engine.answer(narrowed.ranking)
        found = {hit.chunk_id: hit for hit in (*response.hits, *rows.hits)}
        response = replace(response, hits=tuple(found.values()))
        asked = replace(asked, ranking=narrowed.ranking, response=response)
        return replace(asked, named=narrowed.named, rows=rows)

    def _found_first(self, question: AskQuery, watch: Watch) -> _Asked:
        ranking = self._engine.ranking(question.search())
        response = self._engine.answer(ranking)
        asked = _Asked(question=question, watch=watch, ranking=ranking, response=response)
        return self._with_constant(asked) or asked

    def _with_constant(self, asked: _Asked) -> _Asked | None:
        """Return *asked* of passages with a constant that it names, where no first one has any.

        Of a name in several words, others may say each more often.
        """
        names = constants_of(asked.question.text)
        first = [chunk for _, chunk in self._found(asked)[:DEPTH]] if names else []
        if not names or any(has_name(chunk, name) for chunk in first for name in names):
            return None
        for name in sorted(names, key=asked.question.text.find):
            text = asked.question.text.replace(name, f'"{name}"')
            ranking = self._engine.ranking(replace(asked.question, text=text).search())
            response = self._engine.answer(ranking)
            if response.hits:
                return replace(asked, ranking=ranking, response=response)
        return None

    def _hopped(self, asked: _Asked, model: LanguageModel) -> _Asked:
        """Return *asked* with what *model* had searched for it, in rounds."""
        from kb_app._ask.hopping import hop
        from kb_app._search.bulk import search_many

        def search(queries: Sequence[SearchQuery]) -> list[tuple[Hit, ...]]:
            found = search_many(self._engine, queries)
            return [() if isinstance(each, KbError) else each.hits for each in found]

        hopped = hop(model, asked.question.search(), search, stop=self._is_stopped)
        queries = sum(len(each.queries) for each in hopped.hops)
        said = f"{count(len(hopped.hops), 'round')} of searches, {queries} in all"
        asked.watch.note("hops", said)
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
        read = asked.read or self._read(asked)
        if read.evidence is None:
            yield self._said(asked, read, "llm_stream_aborted")
        elif model is None:
            answer = self._quoted(asked, read, read.evidence)
            yield from answer.text.splitlines(keepends=True)
            yield answer
        elif read.is_refused:
            yield self._said(asked, read, "score_gate")
        else:
            yield from self._written(asked, read, model)

    def _quoted(self, asked: _Asked, read: _Read, evidence: Evidence) -> Answer:
        """Return what the documents say to the question, in one place or in two, or the refusal."""
        if links := self._chained(asked, read, evidence):
            return self._joined(asked, links)
        if asked.question.multi_hop:
            read = replace(read, warnings=(*read.warnings, _ONE_HOP))
        if read.is_refused:
            return self._said(asked, read, "score_gate")
        chosen = with_rows(asked.rows, extracts(evidence))
        units = sum(len(passage.pieces) for passage in evidence.passages)
        asked.watch.note("choose", f"{count(len(chosen), 'quote')} out of {units:,} units")
        if is_lacking(chosen, asked.question.text):
            read = replace(read, confidence=_LACKING, warnings=(*read.warnings, _NO_FIGURE))
            return self._said(asked, read, "score_gate")
        return self._said(asked, read, None if chosen else "score_gate", chosen)

    def _chained(self, asked: _Asked, read: _Read, evidence: Evidence) -> Sequence[Link]:
        """Return the searches that answer together where no passage does; mostly none."""
        from kb_app._ask.chaining import chain

        if asked.named is not None:  # where one document is like the next, no name leads on
            return ()

        def look(text: str) -> Looked | None:
            return self._looked(asked, text)

        return chain(_looked_at(asked.response, read, evidence), look)

    def _looked(self, asked: _Asked, text: str) -> Looked | None:
        """Return what *text* finds, searched as the question was; ``None`` where nothing."""
        again = self._found_first(replace(asked.question, text=text), Watch())
        response = again.response
        read = self._read(again) if response.hits and not self._is_stopped() else _Read()
        sure = "nothing" if read.confidence is None else f"confidence {read.confidence:.2f}"
        asked.watch.note("hop", f"{text}: {sure}")
        return _looked_at(response, read, read.evidence) if read.evidence else None

    def _joined(self, asked: _Asked, links: Sequence[Link]) -> Answer:
        """Return the answer that the last of *links* gives, with what led there before it."""
        cited: list[Cited] = []
        hops: list[Hop] = []
        hits: dict[str, Hit] = {}
        for number, link in enumerate(links, start=1):
            of_link = {hit.chunk_id: hit for hit in link.looked.hits}
            new = tuple(chunk_id for chunk_id in of_link if chunk_id not in hits)
            hops.append(Hop(number, (link.looked.question,), new))
            hits |= {chunk_id: of_link[chunk_id] for chunk_id in new}
            for extract in link.chosen:
                one = cited_of(link.looked.question, len(cited) + 1, extract, of_link)
                cited.append(replace(one, hop=number, span=link.name or one.span))
        last = links[-1].looked
        read = _Read(evidence=last.evidence, gate=last.gate, degraded=last.degraded)
        read = replace(read, confidence=min(link.looked.confidence for link in links))
        read = replace(read, warnings=tuple(doubts(last.evidence, last.gate, read.confidence)))
        found = replace(asked.response, hits=tuple(hits.values()))
        asked = replace(asked, response=found, hops=tuple(hops))
        said = self._said(asked, read, None)
        return replace(said, text=text_of(cited), citations=tuple(cited))

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
        asked.watch.note("pack", packed_line(packed, len(chunks), room.evidence))
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
                citation=place_of(support.chunk, support.start, support.end),
                quote=support.chunk["text"][support.start : support.end],
                marker=support.item,
            )
            for support in written.supports
            if support.chunk["chunk_id"] in by_id
        )
        warnings = [f"the evidence was sent to {model.name.remote}"] if model.name.remote else []
        if written.error is not None:
            warnings.append(str(written.error))
        asked.watch.note("write", wrote_line(model.name, written))
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
            found = [chunk for _, chunk in self._found(asked)]
            return [*(asked.rows.chunks if asked.rows else ()), *found]
        find = self._engine.snapshot.find_chunks
        return [chunk for hit in asked.response.hits for chunk in find(hit.chunk_id, 1)]

    def _read(self, asked: _Asked, least: float = 1.0) -> _Read:
        """Read the evidence; *least* is the share of the usual confidence that is enough."""
        reader, remarks = self._reader()
        found, named = self._found(asked)[:DEPTH], asked.named
        text = asked.question.text if named else asked.ranking.run.query.text
        evidence = evidence_of(
            parse_query(text).text,
            [chunk for _, chunk in found],
            [row.score for row, _ in found],
            self._engine.snapshot.known_words(asked.ranking.run.parsed.lexical),
            reader,
            rest=named.rest if named else None,
            indexed=self._engine.snapshot.control.stats.get("chunk_count"),
            stop=self._is_stopped,
        )
        if evidence is None:
            return _Read(degraded=remarks)
        model, _ = self._parts.model_or_absence()
        name = model.name if model else ""
        by = f"closely, by {name}" if evidence.is_read else "by words alone"
        asked.watch.note("read", f"{count(len(found), 'passage')} {by}")
        evidence, gate = judged(name, evidence)
        if gate is None:
            remarks = (*remarks, f"gate: {name} was not measured; no answer is refused")
        else:
            gate = gate if evidence.is_foreign else replace(gate, threshold=gate.threshold * least)
        confidence = chance_of(evidence, gate) if gate else None
        if confidence is not None and asked.rows is not None:
            confidence = max(confidence, asked.rows.chance)
        asked.watch.note("gate", judged_line(gate, confidence, is_foreign=evidence.is_foreign))
        return _Read(
            evidence=evidence,
            gate=gate,
            confidence=confidence,
            degraded=remarks,
            warnings=tuple(doubts(evidence, gate, confidence, named.written if named else ())),
        )

    def _reader(self) -> tuple[CloseReader | None, tuple[str, ...]]:
        """Return what reads closely, or why nothing does."""
        why: str | KbError = "no model"
        try:
            if self._parts.model() is not None:
                return self._parts.close_reader(), ()
        except (InvalidInput, ModelMissing) as error:
            why = error
        return None, (f"reading: {why}; sentences are chosen by words alone",)

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
                cited_of(asked.question.text, number, extract, by_id)
                for number, extract in enumerate(chosen, start=1)
            )
        else:
            cited = tuple(near_misses(read.evidence, hits[:_NEAR]))
        return Answer(
            question=asked.question,
            text=text_of(cited) if refusal is None else "",
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
        return self._parts.model() if Channel.VECTOR in asked.ranking.proposals.ran else None

    def _trace_id(self, asked: _Asked) -> str:
        control = self._engine.snapshot.control
        plain = replace(asked.question, explain=False)
        state = (plain, control.corpus_revision, control.vector_revision, RULES)
        return blake2b(repr(state).encode(), digest_size=_ID_BYTES).hexdigest()


def _looked_at(response: SearchResponse, read: _Read, evidence: Evidence) -> Looked:
    from kb_app._ask.chaining import Looked

    return Looked(
        question=evidence.question,
        hits=response.hits,
        evidence=evidence,
        gate=read.gate,
        confidence=read.confidence or 0.0,
        degraded=read.degraded,
    )
