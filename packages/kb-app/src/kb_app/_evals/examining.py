"""How well documents are found by their own words, and which are not: no labels needed.

Documents are drawn by a seed; of each, questions of several difficulties are asked in every
mode, until the time is up. What is measured so is an upper bound, since people ask in other
words: what is *not* found so is the finding. Each finding says what can be done.
"""

from __future__ import annotations

import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from kb_app._evals import figures
from kb_app._evals.blind_spots import Examined, findings
from kb_app._evals.known_items import (
    DIFFICULTIES,
    KnownItem,
    Others,
    known_items,
    paraphrase,
    plain_title,
    translations,
)
from kb_app._search.engine import open_engine
from kb_core import wire
from kb_core.clock import from_epoch
from kb_core.errors import InvalidInput, KbError
from kb_core.evals import EvalEvent, SelfOptions
from kb_core.filters import Words
from kb_core.media import SearchMode
from kb_core.ports import never
from kb_core.search import SearchQuery
from kb_core.values import replace

if TYPE_CHECKING:
    from threading import Event

    from kb_app._parts import Parts
    from kb_app.config import Config
    from kb_core.ports import IndexSnapshot, StoredDoc

__all__ = ["Examining"]

NOTE = (
    "questions made of the documents' own words are easier than real ones: "
    "these figures are upper bounds, and what is missed even so is worth a look"
)
_FIRST = 10
_COMMON = 20
"""A word that one passage in so many holds tells nothing,"""
_RARE = 5
"""but in a small index one that fewer than these do."""
_LENGTHS = ((1, "1 passage"), (5, "2 to 5 passages"), (20, "6 to 20"))
_LONGER = "21 and more"
_BY_LENGTH = [*(name for _, name in _LENGTHS), _LONGER]


class Examining:
    """One examination of a published state."""

    def __init__(
        self, snapshot: IndexSnapshot, config: Config, parts: Parts, options: SelfOptions
    ) -> None:
        self._snapshot = snapshot
        self._config = config
        self._parts = parts
        self._options = options
        self._started = time.perf_counter()
        self._writer = parts.language_model() if options.paraphrase else None
        if options.paraphrase and self._writer is None:
            raise InvalidInput(
                "no language model is configured that could ask in other words",
                hint="set provider and model of [ask], or leave out --paraphrase",
                details={"field": "paraphrase", "value": True},
            )

    def events(self, *, stop: Event | None = None) -> Iterator[EvalEvent]:
        """Ask; the last event carries eval_self.v1."""
        drawn, is_stopped = self._drawn(), never if stop is None else stop.is_set
        examined, total = Examined(self._snapshot, self._docs, self._modes), len(drawn)
        for done, doc in enumerate(drawn, start=1):
            if is_stopped() or self._spent() > self._options.seconds:
                break
            self._examine(doc, examined, is_stopped)
            yield EvalEvent(kind="asked", done=done, total=total, case=doc["path"])
        is_whole = len(examined.sampled) == total
        told = self._told(examined, is_whole=is_whole)
        ends: dict[str, Any] = {"done": len(examined.sampled), "total": total, "examined": told}
        yield EvalEvent(kind="completed" if is_whole else "stopped", **ends)

    @cached_property
    def _docs(self) -> Sequence[StoredDoc]:
        return self._snapshot.docs(None)

    @cached_property
    def _modes(self) -> tuple[SearchMode, ...]:
        """The modes that can be asked: by meaning only where there are vectors."""
        model = self._parts.model()
        if model is None or model.key not in self._snapshot.control.vectors:
            return (SearchMode.LEXICAL,)
        return (SearchMode.HYBRID, SearchMode.LEXICAL, SearchMode.VECTOR)

    def _drawn(self) -> list[StoredDoc]:
        with_text = [doc for doc in self._docs if doc["chunk_count"]]
        chance = random.Random(self._options.seed)  # noqa: S311 - repeatable, nothing secret
        return chance.sample(with_text, min(self._options.documents, len(with_text)))

    def _examine(self, doc: StoredDoc, examined: Examined, is_stopped: Callable[[], bool]) -> None:
        chance = random.Random(f"{self._options.seed} {doc['doc_id']}")  # noqa: S311 - as above
        chunks = self._snapshot.doc_chunks(doc["doc_id"])
        is_own = self._titles[doc["title"].casefold()] == 1
        examined.sampled.append(doc)
        items = known_items(doc, chunks, chance, self._others, is_title_its_own=is_own)
        if self._writer is not None:
            sentences = [item for item in items if item.difficulty == "sentence"]
            asked = (paraphrase(item, self._writer, is_stopped) for item in sentences)
            items += [item for item in asked if item.query]
        items += self._translated(doc, chance)
        for item in items:
            for mode in self._modes:
                self._ask(item, mode, examined)

    def _translated(self, doc: StoredDoc, chance: random.Random) -> Iterator[KnownItem]:
        """Yield a sentence of the same document in another language, where meaning is asked."""
        other = self._translations.get(doc["doc_id"])
        if other is None or SearchMode.VECTOR not in self._modes:
            return
        chunks = self._snapshot.doc_chunks(other["doc_id"])
        made = known_items(other, chunks, chance, self._others, is_title_its_own=False)
        for item in made:
            if item.difficulty == "sentence":
                yield replace(item, difficulty="translated", doc=doc)

    @cached_property
    def _translations(self) -> Mapping[str, StoredDoc]:
        return translations(self._docs)

    @cached_property
    def _titles(self) -> Counter[str]:
        return Counter(doc["title"].casefold() for doc in self._docs)

    @cached_property
    def _others(self) -> Others:
        passages = sum(doc["chunk_count"] for doc in self._docs)
        count = lru_cache(maxsize=10_000)(lambda word: self._snapshot.count(Words("body", word)))
        return Others(
            spread=count,
            common=max(_RARE, passages // _COMMON),
            titles=frozenset(plain_title(doc["title"]) for doc in self._docs),
        )

    def _ask(self, item: KnownItem, mode: SearchMode, examined: Examined) -> None:
        engine = open_engine(self._snapshot, self._config, self._parts)
        # Ten documents, each by its best passage: ten passages may be of one.
        asked = SearchQuery(text=item.query, mode=mode, k=_FIRST, per_doc=1)
        try:
            hits = engine.search(asked).hits
        except KbError:  # a sentence of nothing that can be asked is no question
            return
        docs = [hit.doc_id for hit in hits]
        if item.difficulty == "translated":  # where it was taken from is no other document
            docs = [doc for doc in docs if doc != self._translations[item.doc["doc_id"]]["doc_id"]]
        mrr = figures.mrr(docs, {item.doc["doc_id"]: 1})
        examined.add(item, mode, mrr, hits)

    def _spent(self) -> float:
        return time.perf_counter() - self._started

    def _told(self, examined: Examined, *, is_whole: bool) -> Any:  # noqa: ANN401 - eval_self.v1
        return wire.eval_self(
            {
                "documents": len(self._docs),
                "sampled": len(examined.sampled),
                "questions": len(
                    {(a.item.doc["doc_id"], a.item.difficulty) for a in examined.asked}
                ),
                "seed": self._options.seed,
                "complete": is_whole,
                "duration_ms": round(self._spent() * 1000),
                "modes": [mode.value for mode in self._modes],
                "figures": list(_figures(examined)),
                "breakdown": list(_breakdown(examined)),
                "findings": findings(examined, self._parts.model()),
                "note": NOTE,
                "corpus_revision": self._snapshot.control.corpus_revision,
            }
        )


def _figures(examined: Examined) -> Iterator[dict[str, Any]]:
    for difficulty in DIFFICULTIES:
        for mode in examined.modes:
            found = [
                asked.mrr
                for asked in examined.asked
                if asked.item.difficulty == difficulty and asked.mode is mode
            ]
            head = {"difficulty": difficulty, "mode": mode.value}
            yield from _mean({**head, "name": "hit@10"}, [float(mrr > 0) for mrr in found])
            yield from _mean({**head, "name": "mrr@10"}, found)


def _mean(head: dict[str, Any], values: Sequence[float]) -> Iterator[dict[str, Any]]:
    mean = figures.mean_of(values)
    if mean is not None:
        told = {"mean": mean.mean, "low": mean.low, "high": mean.high, "count": mean.count}
        yield {**head, **told}


def _breakdown(examined: Examined) -> Iterator[dict[str, Any]]:
    """Yield the shares that are found, by what is known of documents, in the first mode."""
    values: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for asked in examined.asked:
        if asked.mode is examined.modes[0]:
            for key in _kinds_of(asked.item.doc):
                values[key].append(float(asked.mrr > 0))

    def in_order(key: tuple[str, str]) -> tuple[str, int, str]:
        by, value = key
        return by, _BY_LENGTH.index(value) if by == "length" else 0, value

    for by, value in sorted(values, key=in_order):
        found = values[by, value]
        yield from _mean({"by": by, "value": value}, found)


def _kinds_of(doc: StoredDoc) -> Iterable[tuple[str, str]]:
    dated = doc["doc_date"]
    passages = doc["chunk_count"]
    yield "medium", doc["media"]
    yield "source", doc["source_id"]
    yield "language", doc["lang"] or doc["code_lang"] or "-"
    yield "length", next((name for most, name in _LENGTHS if passages <= most), _LONGER)
    if dated is not None:
        yield "year", str(from_epoch(dated).year)
