"""The part of the facade that says what is kept, and takes it away."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kb_app._parts import Parts
    from kb_app.config import Config
    from kb_core.ports import IndexSnapshot
    from kb_core.wire import types

__all__ = ["Keeping"]


class Keeping:
    """Operations of ``KnowledgeBase`` on what it keeps; the rest of it has the index."""

    _config: Config
    _parts: Parts

    @abstractmethod
    def _snapshot(self) -> IndexSnapshot: ...

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
        from kb_app._sql import asked
        from kb_core import wire

        return wire.sql_result(asked(self._parts.query, statement, limit, seconds))

    def reset(self, scope: str, *, dry_run: bool) -> types.ResetReport:
        """Delete what *scope* names; return reset_report.v1. A dry run only says what."""
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
