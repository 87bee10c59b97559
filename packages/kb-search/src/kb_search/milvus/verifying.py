"""What is wrong with an index on Milvus: rows held against what its control row says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from kb_core.errors import IndexCorrupt, NotIndexed
from kb_search.milvus import Place
from kb_search.milvus.engine import Engine
from kb_search.milvus.expressions import visible
from kb_search.milvus.lease import claims
from kb_search.milvus.state import Names, State, read_state
from kb_search.statistics import PASSAGES

__all__ = ["described", "verify"]


def described(place: Place) -> str:
    """Return what answers there, and which state is published.

    Raises where nothing does, and ``IndexCorrupt`` where a collection of that state is missing.
    """
    with closing(Engine(place)) as engine:
        version = engine.version()
        try:
            state = read_state(engine, place.collection)
        except NotIndexed as error:
            return f"{version} at {place.shown}: {error}"
        names, control = Names(place.collection, state.generation), state.control
        models = map(names.vectors, control.vectors)
        missing = [n for n in (names.chunks, names.records, *models) if not engine.has(n)]
        who = next((c.called for c in claims(engine, place.collection)), "")
    if missing:
        raise IndexCorrupt(
            f"{version} at {place.shown} lacks {', '.join(missing)}",
            hint="'kebab reset --index-only', then 'kebab ingest' makes all of it again",
        )
    passages = control.statistics.get(PASSAGES, 0)
    return (
        f"{version} at {place.shown}: revision {control.corpus_revision}, "
        f"sequence {control.sequence}, {passages:,} passages"
        + (f", published from {who}" if who else "")
    )


def verify(place: Place) -> list[str]:
    """Return what is missing or too much, collection by collection; nothing is changed."""
    with closing(Engine(place)) as engine:
        try:
            state = read_state(engine, place.collection)
        except NotIndexed:
            return []
        return list(_compared(engine, Names(place.collection, state.generation), state))


def _compared(engine: Engine, names: Names, state: State) -> Iterator[str]:
    control, now = state.control, visible(state.control.sequence)
    passages = control.statistics.get(PASSAGES, 0)
    docs = control.stats.get("doc_count", 0)
    expected = [(names.chunks, now, passages, "passages")]
    expected += [(names.records, f'{now} and kind == "{k}"', docs, k) for k in ("doc", "text")]
    expected += [
        (names.vectors(key), now, files.rows - files.dead, f"vectors of {key}")
        for key, files in control.vectors.items()
    ]
    for name, where, count, what in expected:
        if not engine.has(name):
            yield f"{name} is missing, which has {count:,} {what}"
        elif (found := engine.count(name, where)) != count:
            yield f"{name} has {found:,} {what}, not {count:,}"
