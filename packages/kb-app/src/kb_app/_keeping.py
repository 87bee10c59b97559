"""The part of the facade that keeps a knowledge base safe, and moves it."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from kb_app._parts import Parts
    from kb_app.config import Config
    from kb_core.ports import IndexSnapshot
    from kb_core.wire import types

__all__ = ["Keeping"]


class Keeping:
    """Operations of ``KnowledgeBase`` on all that it keeps; the rest of it has the index."""

    _config: Config
    _parts: Parts

    @abstractmethod
    def _snapshot_or_none(self) -> IndexSnapshot | None: ...

    @abstractmethod
    def _refuse_readonly(self, what: str) -> None: ...

    @abstractmethod
    def close(self) -> None: ...

    def export_archive(
        self,
        target: str | BinaryIO,
        *,
        with_index: bool = False,
        with_sources: bool = False,
        force: bool = False,
    ) -> types.ExportReport:
        """Write all that is kept into an archive, a path or a stream; return export_report.v1.

        *with_index* spares the import a rebuild, *with_sources* adds the original files. A path
        that is taken is refused, unless *force*.
        """
        from kb_app._keep.exporting import export_to

        return export_to(
            target,
            self._config,
            self._parts,
            self._snapshot_or_none if with_sources else None,
            with_index=with_index,
            force=force,
        )

    def import_archive(
        self,
        origin: str | BinaryIO,
        *,
        replace: bool = False,
        dry_run: bool = False,
        sources_to: str | None = None,
    ) -> types.ImportReport:
        """Make this the knowledge base that an archive holds; return import_report.v1.

        It is that of before or the new one, whatever happens meanwhile. A knowledge base that is
        there is refused, or set aside to *replace* it. Original files go to the folder
        *sources_to*. A dry run verifies the archive, and writes nothing.
        """
        if not dry_run:
            self._refuse_readonly("import")
        from kb_app._keep.importing import import_from

        options = {"replace": replace, "dry_run": dry_run}
        report = import_from(origin, self._config, self._parts, sources_to=sources_to, **options)
        if not dry_run:
            self.close()
        return report
