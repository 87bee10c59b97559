"""What is wrong with an index on Milvus: rows held against what its control row says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from kb_core.errors import NotIndexed
from kb_search.milvus import Place
from kb_search.milvus.engine import Engine
from kb_search.milvus.expressions import visible
from kb_search.milvus.state import Names, State, read_state
from kb_search.statistics import PASSAGES

__all__ = ["described", "verify"]


def described(place: Place) -> str:
    """Return what answers there, and which state is published; raises where nothing does."""
    with closing(Engine(place)) as engine:
        version = engine.version()
        try:
            control = read_state(engine, place.collection).control
        except NotIndexed as error:
            return f"{version} at {place.shown}: {error}"
    return f"{version} at {place.shown}: sequence {control.sequence}"


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
