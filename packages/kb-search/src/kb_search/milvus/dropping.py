"""Dropping an index on Milvus: all collections of it, and of one store's alone."""

from __future__ import annotations

from contextlib import closing

from kb_core.clock import utc_now
from kb_core.errors import ConfigInvalid, NotIndexed
from kb_core.ports import Clock
from kb_search.milvus import Place
from kb_search.milvus.engine import Engine
from kb_search.milvus.lease import Publisher, refuse_while_published
from kb_search.milvus.state import collections_of, read_state

__all__ = ["drop"]


def drop(
    place: Place, store_id: str, *, who: Publisher, clock: Clock = utc_now, dry_run: bool
) -> list[str]:
    """Drop the collections of the index that *store_id* published; return their names.

    ``ConfigInvalid`` where another store did, or a version that this one cannot read, and
    ``StoreBusy`` while a publisher over a copy of the store has its turn. The
    control row goes first: readers say that nothing is indexed, and never read a part. What
    has no control row was begun, or dropped in part, and goes.
    """
    with closing(Engine(place)) as engine:
        names = sorted(collections_of(place.collection, engine.names()), key=len)
        try:
            known = read_state(engine, place.collection).control.store_id
        except NotIndexed as error:
            known = "" if "index_version" in error.details else store_id
        if known != store_id:
            raise ConfigInvalid(
                f"the index {place.collection!r} is not of this store, or of another version",
                hint="drop it where its store is; 'kebab doctor' says what is there",
                details={"field": "index.collection", "value": place.collection},
            )
        refuse_while_published(engine, place.collection, who, clock)
        for name in () if dry_run else names:
            engine.drop(name)
        return names
