"""Moving the index to another engine: made from the store, and compared before it is used."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import closing
from hashlib import blake2b
from typing import TYPE_CHECKING

from kb_core import wire
from kb_core.errors import IndexCorrupt, InvalidInput, KbError
from kb_core.search import Clause, LexicalQuery
from kb_core.values import dataclass

if TYPE_CHECKING:
    from kb_app._parts import Parts
    from kb_app.config import Config
    from kb_core.ports import IndexSnapshot, Store
    from kb_core.wire import types

__all__ = ["ENGINES", "copy_index"]

ENGINES = ("embedded", "milvus")
_ASKED = 100
_DEPTH = 10
_WORDS = 8
_MOST_NAMED = 3


@dataclass(slots=True)
class _Truth:
    """What the store has: digests of texts by document, and passages drawn for questions."""

    texts: dict[int, bytes]
    chunks: int
    files: int
    vectors: dict[str, int]
    drawn: list[tuple[int, str]]


def copy_index(
    config: Config, parts: Parts, engine: str, hear: Callable[[int], object]
) -> types.EngineReport:
    """Make the index of *engine* from the store, compare the two, and return engine_report.v1.

    The configuration goes on naming the engine of before. What is there already and of this
    store is brought up to date; an index that is made is shown whole or not at all, so what is
    interrupted begins anew. ``IndexCorrupt`` where it is not what the store says.
    """
    if engine not in ENGINES or engine == config.index.engine:
        other = next(name for name in ENGINES if name != config.index.engine)
        raise InvalidInput(
            f"index.engine is {config.index.engine!r}, and it cannot be copied to {engine!r}",
            hint=f"kebab engine copy --to {other}",
            details={"field": "to", "value": engine},
        )
    there = parts.over(engine, hear)
    with there.session() as session:
        truth, is_made = _truth_of(session.store), session.healed is not None
    with closing(there.reader()) as reader:
        snapshot = reader.snapshot()
        if problems := list(_differences(truth, snapshot)):
            raise IndexCorrupt(
                f"the index over {engine} is not what the store says: "
                + "; ".join(problems[:_MOST_NAMED]),
                hint=f"with index.engine = {engine!r}: 'kebab reset --index-only', then copy again",
                details={"problems": problems},
            )
        found, same = _asked(truth, snapshot, parts)
    return wire.engine_report(
        engine,
        control=snapshot.control,
        made=is_made,
        counts=(len(truth.texts), truth.chunks, sum(truth.vectors.values())),
        asked=(len(truth.drawn), found, same),
    )


def _truth_of(store: Store) -> _Truth:
    """Read the store once; passages are drawn evenly (reservoir sampling, Vitter 1985)."""
    draw = random.Random(_ASKED)  # noqa: S311 - no secret, and the same each time
    found = _Truth(texts={}, chunks=0, files=0, vectors={}, drawn=[])
    for publication in store.rebuild_publications():
        found.files += len(publication.files)
        for key, vectors in publication.vectors.items():
            found.vectors[key] = found.vectors.get(key, 0) + len(vectors)
        for doc in publication.documents:
            found.texts[doc.doc_key] = _digest(doc.text.encode("utf-8", "replace"))
            for chunk in doc.chunks:
                found.chunks += 1
                at = draw.randrange(found.chunks)
                if len(found.drawn) < _ASKED:
                    found.drawn.append((chunk.chunk_key, chunk.text))
                elif at < _ASKED:
                    found.drawn[at] = (chunk.chunk_key, chunk.text)
    return found


def _differences(truth: _Truth, snapshot: IndexSnapshot) -> Iterator[str]:
    batches = snapshot.texts(None, ())
    texts = {text.doc_key: _digest(text.data) for batch in batches for text in batch.texts()}
    if lost := truth.texts.keys() - texts.keys():
        yield f"texts that are missing: {len(lost):,}"
    if more := texts.keys() - truth.texts.keys():
        yield f"texts that the store does not have: {len(more):,}"
    if other := sum(texts[key] != truth.texts[key] for key in texts.keys() & truth.texts.keys()):
        yield f"texts that differ: {other:,}"
    counts = [("passages", truth.chunks, snapshot.count(None))]
    counts += [("files", truth.files, sum(snapshot.ledger(None).counts.values()))]
    for key, count in truth.vectors.items():
        counts.append((f"vectors of {key}", count, snapshot.control.embedded(key)))
    for what, count, there in counts:
        if count != there:
            yield f"{what}: {there:,} of {count:,}"


def _asked(
    truth: _Truth, snapshot: IndexSnapshot, parts: Parts
) -> tuple[int, dict[str, float] | None]:
    """Ask for the drawn passages by their words; return how many are found among the first.

    And how much of the first ten both engines have in common, by words and by meaning, where
    the engine of before has an index.
    """
    found, shares = 0, dict[str, list[float]]()
    with closing(parts.reader()) as reader:
        try:
            here = reader.snapshot()
        except KbError:
            here = None
        for key, text in truth.drawn:
            query = LexicalQuery((Clause(" ".join(text.split()[:_WORDS])),))
            there = [scored.chunk_key for scored in snapshot.lexical(query, None, _DEPTH)]
            found += key in there
            if here is not None:
                known = [scored.chunk_key for scored in here.lexical(query, None, _DEPTH)]
                shares.setdefault("words", []).append(_common(known, there))
                for model in truth.vectors:
                    near = [_near(engine, key, model) for engine in (here, snapshot)]
                    shares.setdefault("meaning", []).append(_common(*near))
    means = {what: round(sum(each) / len(each), 4) for what, each in shares.items()}
    return found, means or None


def _near(snapshot: IndexSnapshot, key: int, model: str) -> list[int]:
    vector = snapshot.vectors_of([key], model).get(key)
    if vector is None:
        return []
    return [scored.chunk_key for scored in snapshot.vector(vector, model, None, _DEPTH)]


def _common(ours: list[int], theirs: list[int]) -> float:
    return len({*ours} & {*theirs}) / max(len(ours), len(theirs), 1)


def _digest(text: bytes) -> bytes:
    return blake2b(text, digest_size=16).digest()
