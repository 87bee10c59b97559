"""The part of the facade for what language models add, within what the person allows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from threading import Event
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from kb_app._ingest.pipeline import Run
    from kb_app._parts import Parts
    from kb_app.config import Config
    from kb_core.ingest import IngestEvent
    from kb_core.ports import IndexSnapshot
    from kb_core.wire import types

__all__ = ["ByModels"]


class ByModels:
    """Operations of ``KnowledgeBase`` that are for models; the rest of it has the parts."""

    _config: Config
    _parts: Parts

    @abstractmethod
    def _refuse_readonly(self, what: str) -> None: ...

    @abstractmethod
    def _run_for_one(self, *, embed: bool, stop: Event | None) -> AbstractContextManager[Run]: ...

    @abstractmethod
    def _now(self) -> int: ...

    @abstractmethod
    def _snapshot_or_none(self) -> IndexSnapshot | None: ...

    @abstractmethod
    def sources(self) -> list[tuple[str, str]]:
        """Return the sources as the configuration has them now, which all that follows knows.

        A server runs for days: what a person took away meanwhile is not a model's to bring back.
        """

    def wait_for_fresh(
        self, paths: Sequence[str], *, seconds: float = 10.0, stop: Event | None = None
    ) -> types.FileStatus:
        """Return file_status.v1 of files of sources when they are found as they are on disk.

        What has changed is indexed, as far as *seconds* go; what is not then is ``pending``.
        ``InvalidInput`` for a path outside ``mcp.ingest_roots``, or in no source.
        """
        self._refuse_readonly("wait-for-fresh")
        from kb_app import _waiting
        from kb_app._reading import coverage_of
        from kb_core import wire

        self.sources()
        files = _waiting.files_named(self._config, paths, self._snapshot_or_none())
        deadline = _waiting.Deadline(seconds, stop)
        rows = _waiting.wait(files, self._snapshot_or_none, self._index_named, deadline)
        return wire.file_status(rows, coverage_of(self._snapshot_or_none(), self._parts))

    def _index_named(self, paths: Sequence[str], stop: Event) -> None:
        """Index files where they are, and take away what there was of those that are gone."""
        from kb_app._ingest.single import refresh_by_model

        run = self._run_for_one(embed=True, stop=stop)
        for _ in refresh_by_model(self._config, paths, run):
            pass

    def ingest_file_by_model(
        self, path: str, *, stop: Event | None = None
    ) -> Iterator[IngestEvent]:
        """As ``ingest_file``, where a language model names the file and not a person.

        ``InvalidInput`` for one outside ``mcp.ingest_roots``, there or not; what a walk would
        leave alone is left alone.
        """
        self._refuse_readonly("ingest-file")
        from kb_app._ingest.single import add_file_by_model

        self.sources()
        run = self._run_for_one(embed=True, stop=stop)
        return add_file_by_model(self._config, path, self._parts, run)

    def ingest_text_by_model(  # noqa: PLR0913 - what a model may say of a text
        self,
        text: str,
        *,
        title: str,
        source_uri: str | None = None,
        media: str = "markdown",
        written_by: str | None = None,
        based_on: Sequence[str] = (),
        stop: Event | None = None,
    ) -> Iterator[IngestEvent]:
        """As ``ingest_text``, where a language model hands in the text.

        It is trusted as ``mcp.trust_level`` says; its front matter can only lower that.
        *written_by* and *based_on*, citations or paths, become its front matter. With
        ``mcp.notes_dir``, it is a new Markdown file of that folder, and replaces nothing; else
        ``InvalidInput`` for what would be called as a file of a source is.
        """
        self._refuse_readonly("ingest-stdin")
        from kb_app._ingest.added.offer import HandedText, key_of_text
        from kb_app._ingest.single import add_text_by_model

        self.sources()
        given = HandedText(
            text=text,
            title=title,
            source_uri=source_uri,
            media=media,
            trust=self._config.mcp.trust_level,
            written_by=written_by,
            based_on=tuple(based_on),
        )
        if not self._config.mcp.notes_dir:
            self._refuse_taken(key_of_text(given))
        run = self._run_for_one(embed=True, stop=stop)
        return add_text_by_model(self._config, given, self._now() * 1_000_000_000, run)

    def _refuse_taken(self, key: str) -> None:
        """Raise ``InvalidInput`` where *key* names a file of a source: it would pass for that."""
        from kb_app._search.lookup import taken_name
        from kb_core.errors import InvalidInput

        snapshot = self._snapshot_or_none()
        if snapshot is not None and (path := taken_name(snapshot, key)):
            raise InvalidInput(
                f"{key!r} is what a file of a source is called: {path!r}",
                hint="hand it in under another source_uri or title",
                details={"field": "source_uri", "value": key},
            )
