"""The part of the facade that keeps a knowledge base safe, moves it, and takes it away."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, BinaryIO

from kb_app._pinned import refuse_pinned
from kb_core.values import replace

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
    def _snapshot(self) -> IndexSnapshot: ...

    @abstractmethod
    def _snapshot_or_none(self) -> IndexSnapshot | None: ...

    @abstractmethod
    def _refuse_readonly(self, what: str) -> None: ...

    @abstractmethod
    def close(self) -> None:
        """Let go of the index."""

    def sql(self, statement: str, *, limit: int = 1000, seconds: float = 30.0) -> types.SqlResult:
        """Return sql_result.v1: at most *limit* rows that one SELECT finds in the store.

        It reads the views of the schema ``kebab``, and no file; it ends after *seconds*. A blank
        one lists the views and their columns. Waits for a writer for a bounded time, and then
        raises ``StoreBusy``; ``InvalidInput`` for what is no question, ``Timeout`` for one that
        takes too long.
        """
        refuse_pinned(self._config, "sql")
        from kb_app._sql import asked
        from kb_core import wire

        return wire.sql_result(asked(self._parts.query, statement, limit, seconds))

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
        refuse_pinned(self._config, "export")
        from kb_app._keep.exporting import export_to

        return export_to(
            target,
            self._config,
            self._parts,
            self._snapshot_or_none if with_sources else None,
            with_index=with_index,
            force=force,
        )

    def make_safety_copy(self) -> types.SafetyReport:
        """Make a safety copy in the data directory; return safety_report.v1.

        It has what neither a source nor the index gives back, and ``repair`` takes it from there.
        """
        self._refuse_readonly("export --safety")
        from kb_app._keep.safety import make_copy

        return make_copy(self._config, self._parts)

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
        refuse_pinned(self._config, "import")
        if not dry_run:
            self._refuse_readonly("import")
        from kb_app._keep.importing import import_from

        options = {"replace": replace, "dry_run": dry_run}
        report = import_from(origin, self._config, self._parts, sources_to=sources_to, **options)
        if not dry_run:
            self.close()
        return report

    def copy_index(
        self, engine: str, *, hear: Callable[[int], object] = lambda _: None
    ) -> types.EngineReport:
        """Make the index of another *engine* from the store; return engine_report.v1.

        It is compared with the store, and with the engine that is configured, which stays so.
        *hear* is told how many passages were taken. ``IndexCorrupt`` where they differ.
        """
        self._refuse_readonly("engine copy")
        from kb_app._keep.copying import copy_index

        return copy_index(self._config, self._parts, engine, hear)

    def reset(self, scope: str, *, dry_run: bool) -> types.ResetReport:
        """Delete what *scope* names; return reset_report.v1. A dry run only says what."""
        refuse_pinned(self._config, "reset")
        if not dry_run:
            self._refuse_readonly("reset")
        from kb_app._reset import reset

        report = reset(self._config, self._parts, scope, dry_run=dry_run)
        if not dry_run:
            self.close()
        return report

    def forget(
        self, kind: str, targets: Sequence[str], *, dry_run: bool, mentions: bool = False
    ) -> types.ForgetReport:
        """Forget documents, a source or queries; return forget_report.v1.

        *kind* is ``doc``, ``source`` or ``query``. What goes is gone from the bytes of the data
        directory, not only from answers; of a source that is configured, the configuration, too.
        With *mentions*, so are turns of conversations and runs over golden questions that name
        or quote it; the report says which there are. A dry run only says what.
        """
        refuse_pinned(self._config, "forget")
        if not dry_run:
            self._refuse_readonly("forget")
        from kb_app._forgetting.finding import found, report_of
        from kb_app._forgetting.forgetting import forget

        what = found(kind, targets, self._snapshot, self._config, mentions=mentions)
        snapshot = self._snapshot() if what.docs else None
        report = report_of(what, snapshot, self._config, dry_run=dry_run)
        if dry_run:
            return report
        for name in what.to_forget.sources:
            with self._parts.lock():  # a store that is busy leaves the configuration as it is
                self._leave_out(name)
        with self._parts.session() as session:
            forget(session, what.to_forget)
        self.close()
        return report

    def _leave_out(self, source_id: str) -> None:
        """Take a source out of the configuration, so that it is not read again."""
        from kb_app.config import remove_source

        if any(source.id == source_id for source in self._config.sources):
            edit = remove_source(source_id, path=self._config.file)
            self._config = replace(self._config, sources=edit.config.sources)

    def repair(self, *, dry_run: bool) -> types.RepairReport:
        """Make a damaged store whole of what can be read; return repair_report.v1.

        A copy of it is kept. What was lost beside it comes back from the safety copies. A dry
        run only says what is wrong.
        """
        refuse_pinned(self._config, "doctor --repair")
        if not dry_run:
            self._refuse_readonly("doctor --repair")
        from kb_app._keep.repairing import repair

        report = repair(self._config, self._parts, dry_run=dry_run)
        if not dry_run:
            self.close()
        return report
