"""The part of the facade that gives texts as they stand."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from threading import Event

    from kb_app._parts import Parts
    from kb_app._search.hits import Freshness
    from kb_app.config import Config
    from kb_app.drawing import Picture
    from kb_core.ports import IndexSnapshot
    from kb_core.search import Constant, GrepQuery
    from kb_core.wire import types

__all__ = ["Texts"]


class Texts:
    """Operations of ``KnowledgeBase`` that give texts; the rest of it has the index."""

    _config: Config
    _parts: Parts

    @abstractmethod
    def _snapshot(self) -> IndexSnapshot: ...

    @abstractmethod
    def _freshness(self, snapshot: IndexSnapshot) -> Freshness: ...

    def fetch(
        self, place: str | Mapping[str, Any], *, max_tokens: int | None = None
    ) -> types.FetchResult:
        """Return fetch_result.v1 of a place, cut to ``4 * max_tokens`` characters.

        *place* is a text as it is printed anywhere, such as ``notes/a.md:12-30``, or an
        object: ``path`` and perhaps ``lines``, a ``citation``, or a ``chunk`` and perhaps
        ``context``, how many of its neighbours; with ``source`` where several have the path.
        """
        from kb_app import _fetching

        snapshot, asked = self._snapshot(), _fetching.read_place(place)
        return _fetching.fetch_place(snapshot, asked, max_tokens, self._freshness(snapshot))

    def fetch_many(
        self, places: Sequence[str | Mapping[str, Any]], *, max_tokens: int | None = None
    ) -> types.FetchResults:
        """Return fetch_results.v1: of each place what ``fetch`` returns, or its error.

        All share the budget; what needs less than its part is whole.
        """
        from kb_app import _fetching

        snapshot = self._snapshot()
        return _fetching.fetch_many(snapshot, places, max_tokens, self._freshness(snapshot))

    def outline(self, path: str | Mapping[str, Any]) -> types.Outline:
        """Return outline.v1: headings or symbols of a document (a path, or an id), with lines.

        Of a place as ``fetch`` takes it, those in its lines.
        """
        from kb_app import _fetching

        snapshot = self._snapshot()
        return _fetching.outline(snapshot, path, self._freshness(snapshot))

    def grep(self, query: GrepQuery, *, stop: Event | None = None) -> types.GrepResponse:
        """Return grep_response.v1: the lines that match a pattern, by file; ten seconds at most.

        *stop* says that nobody waits.
        """
        from kb_app._search.grep import grep

        snapshot = self._snapshot()
        return grep(snapshot, query, self._freshness(snapshot), stop=stop)

    def constants(self, path: str, names: Collection[str]) -> Mapping[str, Constant]:
        """Return the lines that give *names* their values for who reads the code at *path*.

        In that document, else where one document of code alone gives such a name a value.
        """
        return self._constants(self._snapshot(), path, names)

    def _constants(
        self, snapshot: IndexSnapshot, path: str, names: Collection[str]
    ) -> Mapping[str, Constant]:
        from kb_app._search.constants import constants

        return constants(snapshot, path, names, self._freshness(snapshot))

    def fetch_chunk(self, chunk_id: str, *, context: int = 0) -> types.FetchResult:
        """Return fetch_result.v1 of a chunk and its neighbours; a unique id prefix will do."""
        from kb_app import _reading

        snapshot = self._snapshot()
        return _reading.fetch_chunk(snapshot, chunk_id, context, self._freshness(snapshot))

    def fetch_doc(self, doc_id: str, *, max_tokens: int | None = None) -> types.FetchResult:
        """Return fetch_result.v1 of a document's text, cut to ``4 * max_tokens`` characters."""
        from kb_app import _reading

        snapshot = self._snapshot()
        return _reading.fetch_doc(snapshot, doc_id, max_tokens, self._freshness(snapshot))

    def draw(self, uri: str, *, source: str | None = None, dpi: float = 150) -> Picture:
        """Return the page or picture that a citation, or a chunk by its id, is on, marked.

        ``SpanNotSupported`` for what looks like nothing, ``IoError`` where the file is not there.
        """
        from kb_app._citing.files import Files
        from kb_app._citing.showing import draw

        snapshot, config = self._snapshot(), self._config
        return draw(
            snapshot, uri, source, Files(snapshot, config), config, self._parts.executor, dpi=dpi
        )

    def fetch_span(
        self, doc_id: str, start: int, end: int, *, max_tokens: int | None = None
    ) -> types.FetchResult:
        """Return fetch_result.v1 of lines *start* to *end*, from 1 and inclusive."""
        from kb_app import _reading

        snapshot = self._snapshot()
        fresh = self._freshness(snapshot)
        return _reading.fetch_span(snapshot, doc_id, (start, end), max_tokens, fresh)
