"""Talking to the engine: the one module that imports pymilvus.

Its errors become ours here, once. What is asked says ``Strong``: a server's default may be
seconds old. A collection that a restarted server has let go of is loaded again, and the
question asked again.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from kb_core.errors import (
    ConfigInvalid,
    IndexCorrupt,
    IoError,
    KbError,
    MissingExtra,
    NotIndexed,
    StoreBusy,
)
from kb_search.milvus import Place
from kb_search.milvus.expressions import Expression
from kb_search.milvus.rows import Field, Row

if TYPE_CHECKING:
    from pymilvus import MilvusClient

__all__ = ["MOST_FOUND", "Engine", "Found"]

T = TypeVar("T")

MOST_FOUND = 16_384
"""What one search or question returns at most."""

_MOST_ROWS = 1000
_MOST_BYTES = 8_000_000
"""Of rows that are sent at once; a server takes 64 MB."""
_SECONDS = 60.0
_RELEASED = 101
_MISSING = 100
_TEXT_BYTES = 65_535

Found = tuple[float, Row]


class Engine:
    """A connection to one database of an engine; it is made when it is first needed."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._client: MilvusClient | None = None
        self._known: set[str] = set()
        _silence()  # before the libraries are loaded, which read it then

    # ------------------------------------------------------------ collections

    def make(self, name: str, fields: Iterable[Field]) -> None:
        """Make a collection, ready to be asked; one that is there already is left alone."""
        if self.has(name):
            return
        with _translated(self._place):
            from pymilvus import DataType, MilvusClient

            schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
            schema.add_field("pk", DataType.VARCHAR, is_primary=True, max_length=128)
            index = MilvusClient.prepare_index_params()
            for field in fields:
                _add(schema, index, field)
            client = self._connected()
            client.create_collection(name, schema=schema, consistency_level="Strong")
            client.create_index(name, index, sync=False)
            client.load_collection(name)
        self._known.add(name)

    def has(self, name: str) -> bool:
        """Say whether there is a collection of that name."""
        if name not in self._known and self._ask(lambda c: c.has_collection(name)):
            self._known.add(name)
        return name in self._known

    def names(self) -> list[str]:
        """Return the names of all collections of the database."""
        return list(self._ask(lambda client: client.list_collections()))

    def drop(self, name: str) -> None:
        """Drop a collection, if it is there."""
        self._known.discard(name)
        self._ask(lambda client: client.drop_collection(name))

    def flush(self, name: str) -> None:
        """Have what was written sealed and indexed; where that is refused, it comes by itself."""
        with contextlib.suppress(KbError):
            self._ask(lambda client: client.flush(name))

    def version(self) -> str:
        """Return what the engine says of itself."""
        return str(self._ask(lambda client: client.get_server_version()))

    # ------------------------------------------------------------------- rows

    def upsert(self, name: str, rows: Iterable[Row], *, partial: bool = False) -> None:
        """Write whole rows, or with *partial* some fields of rows that are there."""
        for batch in _batches(rows):
            self._ask(_upserting(name, batch, partial=partial), name)

    def delete(self, name: str, where: Expression) -> None:
        """Delete the rows of a condition."""
        if isinstance(where, str):
            self._ask(lambda client: client.delete(name, filter=where), name)

    def get(self, name: str, keys: Sequence[str], fields: Sequence[str]) -> list[Row]:
        """Return the rows of these primary keys that exist, in no order."""
        found: list[Row] = []
        for at in range(0, len(keys), _MOST_ROWS):
            part = list(keys[at : at + _MOST_ROWS])
            found += self._ask(_getting(name, part, [*fields]), name)
        return found

    def rows(self, name: str, where: Expression, fields: Sequence[str]) -> list[Row]:
        """Return all rows of a condition, in no order."""
        if not isinstance(where, str):
            where = "born >= 0" if where else ""
        if not where:
            return []
        first = self._query(name, where, fields, MOST_FOUND)
        return first if len(first) < MOST_FOUND else list(self._all(name, where, fields))

    def some(self, name: str, where: str, fields: Sequence[str], limit: int) -> list[Row]:
        """Return *limit* rows of a condition at most, in no order."""
        return self._query(name, where, fields, min(limit, MOST_FOUND))

    def count(self, name: str, where: str) -> int:
        """Return how many rows a condition holds for."""
        found: list[Row] = self._ask(
            lambda client: client.query(
                name, filter=where, output_fields=["count(*)"], consistency_level="Strong"
            ),
            name,
        )
        return int(found[0]["count(*)"])

    def search(
        self,
        name: str,
        field: str,
        vector: Mapping[int, float] | Sequence[float],
        where: str,
        limit: int,
        fields: Sequence[str],
    ) -> list[Found]:
        """Return the rows of the largest inner product with *vector*, best first."""
        found: Any = self._ask(
            lambda client: client.search(
                name,
                data=[vector],
                anns_field=field,
                filter=where,
                limit=min(limit, MOST_FOUND),
                search_params={"metric_type": "IP", "params": {"drop_ratio_search": 0.0}}
                if isinstance(vector, Mapping)
                else {"metric_type": "IP"},
                output_fields=[*fields],
                consistency_level="Strong",
            ),
            name,
        )
        return [(float(hit["distance"]), {**hit["entity"], "pk": hit["pk"]}) for hit in found[0]]

    def close(self) -> None:
        """Let go of the connection."""
        if self._client is not None:
            self._client.close()
            self._client = None

    # ---------------------------------------------------------------- private

    def _query(self, name: str, where: str, fields: Sequence[str], limit: int) -> list[Row]:
        return list(
            self._ask(
                lambda client: client.query(
                    name,
                    filter=where,
                    output_fields=[*fields],
                    limit=limit,
                    consistency_level="Strong",
                ),
                name,
            )
        )

    def _all(self, name: str, where: str, fields: Sequence[str]) -> Iterator[Row]:
        with _translated(self._place):
            pages = self._connected().query_iterator(
                name,
                filter=where,
                output_fields=[*fields],
                batch_size=_MOST_ROWS,
                consistency_level="Strong",
            )
            try:
                while page := pages.next():
                    yield from page
            finally:
                pages.close()

    def _ask(self, ask: Callable[[MilvusClient], T], name: str | None = None) -> T:
        with _translated(self._place):
            from pymilvus import MilvusException

            client = self._connected()
            try:
                return ask(client)
            except MilvusException as error:
                if name is None or error.code != _RELEASED:
                    raise
            client.load_collection(name)
            return ask(client)

    def _connected(self) -> MilvusClient:
        if self._client is None:
            _check(self._place)
            from pymilvus import MilvusClient

            place = self._place
            if place.is_directory:
                place.path.parent.mkdir(parents=True, exist_ok=True)
            self._client = MilvusClient(
                uri=str(place.path) if place.is_directory else place.uri,
                token=place.token,
                db_name=place.database,
                timeout=_SECONDS,
            )
        return self._client


def _upserting(name: str, rows: list[Row], *, partial: bool) -> Callable[[MilvusClient], object]:
    return lambda client: client.upsert(name, rows, partial_update=partial)


def _getting(
    name: str, keys: list[str], fields: list[str]
) -> Callable[[MilvusClient], Iterable[Row]]:
    return lambda client: client.get(name, keys, output_fields=fields, consistency_level="Strong")


def _add(schema: Any, index: Any, field: Field) -> None:  # noqa: ANN401 - pymilvus' own
    from pymilvus import DataType

    if field.kind == "text":
        schema.add_field(field.name, DataType.VARCHAR, max_length=_TEXT_BYTES)
    elif field.kind == "number":
        schema.add_field(field.name, DataType.INT64)
    elif field.kind == "sparse":
        schema.add_field(field.name, DataType.SPARSE_FLOAT_VECTOR)
        index.add_index(field.name, index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
    else:
        schema.add_field(field.name, DataType.FLOAT_VECTOR, dim=field.size)
        kind = "FLAT" if field.name == "pad" else "HNSW"
        params = {} if field.name == "pad" else {"M": 16, "efConstruction": 200}
        index.add_index(field.name, index_type=kind, metric_type="IP", params=params)
    if field.name in _LOOKED_UP:
        index.add_index(field.name, index_type="INVERTED")


_LOOKED_UP = {"chunk_key", "doc_key", "doc_id", "key", "kind", "source_id", "path"}


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    batch: list[Row] = []
    size = 0
    for row in rows:
        weight = sum(len(value) * 4 for value in row.values() if isinstance(value, str | list))
        if batch and (len(batch) >= _MOST_ROWS or size + weight > _MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += weight
    if batch:
        yield batch


def _check(place: Place) -> None:
    """Refuse what would send a token, or texts, over a network as they are."""
    if place.is_directory:
        if place.path.suffix != ".db":
            raise ConfigInvalid(
                f"index.uri {place.uri!r} is a directory whose name does not end in .db",
                hint="name it like milvus.db, or give a server: https://HOST:19530",
                details={"field": "index.uri", "value": place.uri},
            )
        return
    parts = urlsplit(place.uri)
    is_here = parts.hostname in {"localhost", "127.0.0.1", "::1"}
    if parts.scheme not in {"http", "https", "tcp", "grpc"} or not parts.hostname:
        problem, way = "is no address of a server", "https://HOST:19530"
    elif not is_here and parts.scheme != "https":
        problem, way = "would send all texts over the network as they are", "an https:// address"
    elif not is_here and not place.token:
        problem = "is not on this machine, and there is no token"
        way = "a token in KEBAB_INDEX_TOKEN, or in the file that index.token_file names"
    else:
        return
    raise ConfigInvalid(
        f"index.uri {place.uri!r} {problem}",
        hint=f"give {way}",
        details={"field": "index.uri", "value": place.uri},
    )


def _silence() -> None:
    """Keep the library from logging every error that it raises, with what was sent."""
    for name in ("pymilvus", "milvus_lite"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")


@contextlib.contextmanager
def _translated(place: Place) -> Iterator[None]:
    """Raise what the library raises as errors of ours, without the token."""
    try:
        from pymilvus import MilvusException
    except ImportError as error:
        raise MissingExtra(
            "the extra 'milvus' is not installed",
            hint="in kebab's folder pip install 'packages/kb-cli[milvus]', "
            "or set index.engine to embedded",
            details={"extra": "milvus"},
        ) from error
    try:
        yield
    except MilvusException as error:
        raise _ours(place, int(error.code), str(error.message)) from error
    except (OSError, ValueError, RuntimeError) as error:
        raise _ours(place, 0, str(error)) from error


def _ours(place: Place, code: int, message: str) -> KbError:
    said = message.replace(place.token, "…") if place.token else message
    said = said.split("\n", 1)[0][:300]
    lowered = said.lower()
    if code == _MISSING or "collection not found" in lowered or "can't find collection" in lowered:
        return NotIndexed(
            f"there is no index at {place.shown}", hint="run 'kebab ingest' to make it"
        )
    if "open local milvus failed" in lowered or "lock" in lowered.split():
        return StoreBusy(
            f"another process has {place.uri} open",
            hint="a directory is for one process; 'milvus-lite server' serves several",
        )
    if any(
        word in lowered for word in ("unauthenticated", "permission", "auth check", "privilege")
    ):
        return IoError(
            f"the index at {place.shown} refused: {said}",
            hint="check index.token, and what its user may do",
        )
    if any(word in lowered for word in _UNREACHABLE):
        return IoError(
            f"the index at {place.shown} cannot be reached: {said}",
            hint="check that the server runs and that index.uri names it; 'kebab doctor' looks",
        )
    if "data corrupt" in lowered or "checksum" in lowered:
        return IndexCorrupt(f"the index at {place.shown} is damaged: {said}")
    return IoError(f"the index at {place.shown} did not answer: {said}", hint="run 'kebab doctor'")


_REFUSED = ("unauthenticated", "permission", "auth check", "privilege")
_UNREACHABLE = ("unavailable", "connect", "deadline", "timeout", "refused", "unreachable", "closed")
