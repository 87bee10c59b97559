"""The part of the facade that keeps what is said of hits; no ranking ever looks at it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from kb_core.errors import InvalidInput

if TYPE_CHECKING:
    from pathlib import Path

    from kb_app._evals.said import Said
    from kb_app._parts import Parts
    from kb_app._queries import SearchedHit
    from kb_app.config import Config
    from kb_core.search import Hit, SearchQuery
    from kb_core.wire import types

__all__ = ["Judging", "Verdict"]

Verdict: TypeAlias = Literal["good", "bad"]
"""Whether a passage answers what was asked."""


class Judging:
    """Operations of ``KnowledgeBase`` for feedback; the rest of it has the parts.

    A *terminal* is any text that tells one from the others.
    """

    _config: Config
    _parts: Parts

    @abstractmethod
    def _refuse_readonly(self, what: str) -> None: ...

    @property
    @abstractmethod
    def _data_dir(self) -> Path: ...

    @property
    @abstractmethod
    def _keeps(self) -> bool: ...

    def keep_search(self, terminal: str, query: SearchQuery, hits: Sequence[Hit]) -> None:
        """Keep what *terminal* was shown, for ``judge_last``; read-only, and unwanted, nothing."""
        from kb_app._queries import keep_searched

        if self._keeps:
            wanted = self._config.ui.query_history > 0
            keep_searched(self._data_dir, terminal, query, hits, wanted=wanted)

    def judge_last(
        self, terminal: str, verdict: Verdict, ranks: Sequence[int], *, note: str | None = None
    ) -> types.FeedbackList:
        """Keep what is said of hits of the last search of *terminal*; return feedback_list.v1.

        ``InvalidInput`` where there is no such search or hit; then nothing is kept.
        """
        self._refuse_readonly("feedback")
        from kb_app._queries import last_searched
        from kb_core import wire

        searched = last_searched(self._data_dir, terminal)
        if searched is None:
            raise InvalidInput(
                "there is no search of this terminal to speak of",
                hint="kebab search QUERY, then kebab feedback good 1",
                details={"field": "hit"},
            )
        known = {hit["rank"]: hit for hit in searched["hits"]}
        for rank in ranks:
            if rank not in known:
                told = f"the last search, {searched['query']!r}, has no hit {rank}"
                shown = f"hits 1 to {max(known)}" if known else "it found nothing"
                details = {"field": "hit", "value": rank}
                raise InvalidInput(told, hint=shown, details=details)
        asked = {name: searched[name] for name in ("query", "mode", "filters")}
        said = [self._say(known[rank], asked, verdict, note) for rank in dict.fromkeys(ranks)]
        return wire.feedback_list(said)

    def judge(
        self, query: SearchQuery, hit: Hit, verdict: Verdict, *, note: str | None = None
    ) -> types.Feedback:
        """Keep what is said of a hit of *query*; return feedback.v1."""
        self._refuse_readonly("feedback")
        from kb_app._queries import shown
        from kb_core.wire import filters_given

        asked = {
            "query": query.text,
            "mode": query.mode.value,
            "filters": filters_given(query.filters),
        }
        return self._say(shown(hit), asked, verdict, note)

    def feedback(self) -> types.FeedbackList:
        """Return feedback_list.v1: what was said, the newest first."""
        return self._said().kept()

    def delete_feedback(self, ids: Sequence[str] | None) -> types.FeedbackList:
        """Delete what has these ids, all of which have to be there; ``None``: all there is."""
        self._refuse_readonly("feedback delete")
        return self._said().delete(ids)

    def _say(
        self,
        hit: SearchedHit,
        asked: Mapping[str, Any],
        verdict: Verdict,
        note: str | None,
        said_by: str = "person",
    ) -> types.Feedback:
        from kb_app._evals.said import said_of

        now = self._parts.clock()
        said = said_of(hit, **asked, verdict=verdict, note=note, said_by=said_by, now=now)
        return self._said().add(said)

    def _said(self) -> Said:
        from kb_app._data_dir import DataDir
        from kb_app._evals.said import Said

        return Said(DataDir(self._data_dir).journal)
