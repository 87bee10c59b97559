"""The part of the facade that says how good its answers are, and keeps what people say of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kb_app._pinned import refuse_pinned
from kb_core.errors import InvalidInput

if TYPE_CHECKING:
    from threading import Event

    from kb_app._evals.reporting import Report
    from kb_app._evals.said import Proposal, Said
    from kb_app._parts import Parts
    from kb_app._queries import SearchedHit
    from kb_app.config import Config
    from kb_core.evals import (
        EvalCase,
        EvalEvent,
        EvalOptions,
        EvalVariant,
        SelfOptions,
        Verdict,
    )
    from kb_core.ports import IndexSnapshot
    from kb_core.search import Hit, SearchQuery
    from kb_core.wire import types

__all__ = ["Measuring"]


class Measuring:
    """Operations of ``KnowledgeBase`` that measure it; the rest of it has the index.

    *cases* is a file of golden questions; left out, it is ``golden.yaml`` beside the
    configuration. A *terminal* is any text that tells one from the others. No ranking ever
    looks at feedback.
    """

    _config: Config
    _parts: Parts
    _readonly: bool

    @abstractmethod
    def _snapshot(self) -> IndexSnapshot: ...

    @abstractmethod
    def _refuse_readonly(self, what: str) -> None: ...

    @property
    @abstractmethod
    def _data_dir(self) -> Path:
        """Where what a person says is kept."""

    @property
    @abstractmethod
    def _keeps(self) -> bool:
        """Whether what a person says may be written."""

    def check_cases(self, cases: str | None = None) -> types.EvalCheck:
        """Return eval_check.v1: whether golden questions still stand in what is indexed."""
        refuse_pinned(self._config, "eval check")
        from kb_app._evals.binding import check
        from kb_app._evals.cases import read_cases

        path = self._cases_file(cases)
        return check(self._snapshot(), read_cases(path), path)

    def add_case(  # noqa: PLR0913 - what a case has
        self,
        query: SearchQuery,
        hits: Sequence[Hit],
        *,
        id: str | None = None,  # noqa: A002 - the word that people read
        group: str | None = None,
        tags: Sequence[str] = (),
        must_contain: Sequence[str] = (),
        cases: str | None = None,
    ) -> EvalCase:
        """Add a golden question that *hits* answer, or without any that nothing answers.

        An *id* that is left out is made of the query; the filters of that are kept, too.
        """
        self._refuse_readonly("eval add")
        from kb_app._evals.binding import place_of
        from kb_app._evals.cases import add_case, fresh_id, read_cases
        from kb_core.evals import EvalCase

        path, snapshot = self._cases_file(cases), self._snapshot()
        known = [case.id for case in read_cases(path)] if path.exists() else []
        case = EvalCase(
            id=id or fresh_id(query.text, known),
            query=query.text,
            filters=query.filters,
            expected_places=tuple(place_of(snapshot, hit) for hit in hits),
            must_contain=tuple(must_contain),
            group=group,
            tags=tuple(tags),
        )
        add_case(path, case)
        return case

    def propose_cases(self, cases: str | None = None) -> list[Proposal]:
        """Return the golden questions that feedback speaks for, and *cases* does not have."""
        refuse_pinned(self._config, "eval add --from-feedback")
        from kb_app._evals.cases import read_cases

        path = self._cases_file(cases)
        known = read_cases(path) if path.exists() else []
        return list(self._said().proposals(self._snapshot(), known))

    def add_cases(self, found: Sequence[EvalCase], *, cases: str | None = None) -> None:
        """Add golden questions as they are, such as those of ``propose_cases``."""
        self._refuse_readonly("eval add")
        from kb_app._evals.cases import add_cases

        if found:
            add_cases(self._cases_file(cases), found)

    def evaluate(self, options: EvalOptions, *, stop: Event | None = None) -> Iterator[EvalEvent]:
        """Ask all golden questions under every variant; the last event carries eval_run.v1.

        The run is kept in a folder, but where nothing may be written. Setting *stop*, or closing
        the iterator, leaves a run that ``EvalOptions.resume`` goes on with.
        """
        refuse_pinned(self._config, "eval run")
        from kb_app._evals.running import Running, resumed

        if options.into or options.resume:
            self._refuse_readonly("eval run into a folder")
        options = resumed(self._config.storage.data_dir, options)
        cases = self._cases_file(options.cases)
        running = Running(self._snapshot(), self._config, self._parts, options, cases)
        return running.events(keep=not self._readonly, stop=stop)

    def compare_runs(
        self, before: str, after: str, *, tolerance: float = 0.01, strict: bool = False
    ) -> types.EvalCompare:
        """Return eval_compare.v1: what differs between two runs, and whether that is luck.

        A run is named by its id or the beginning of that, its name, ``last`` or ``last~1``, or
        its folder; ``RUN:VARIANT`` names another than its first variant.
        """
        refuse_pinned(self._config, "eval compare")
        from kb_app._evals.comparing import compare_runs

        data_dir = self._config.storage.data_dir
        return compare_runs(data_dir, before, after, tolerance=tolerance, strict=strict)

    def tuning(
        self, wanted: Sequence[EvalVariant] = (), *, cases: str | None = None
    ) -> tuple[EvalVariant, ...]:
        """Return the variants that a run for ``tune`` asks: settings as they are, then others.

        ``InvalidInput`` where there are too few golden questions to choose by.
        """
        from kb_app._evals.cases import read_cases
        from kb_app._evals.tuning import candidates, refuse_few

        judged = [case for case in read_cases(self._cases_file(cases)) if case.is_judged]
        refuse_few(len(judged), {case.group or case.id for case in judged})
        return candidates(self._config, wanted)

    def tune(self, run: str, *, apply: bool = False) -> types.EvalTune:
        """Return eval_tune.v1 of a run over ``tuning``: which settings are better, and how surely.

        With *apply*, those that it recommends are written into the configuration, for whoever
        opens it next.
        """
        refuse_pinned(self._config, "eval tune")
        from kb_app._evals.stored import find_run
        from kb_app._evals.tuning import tuned

        if apply:
            self._refuse_readonly("eval tune --apply")
        found = tuned(find_run(self._config.storage.data_dir, run))
        better = [row for row in found["variants"] if row["name"] == found["recommended"]]
        if apply and better:
            from kb_app.config import change_settings

            change_settings(better[0]["settings"], path=self._config.file)
            found["applied"] = True
        return found

    def report(self, runs: Sequence[str]) -> Report:
        """Return what runs over golden questions show; *runs* are named as in ``compare_runs``."""
        refuse_pinned(self._config, "eval report")
        from kb_app._evals.reporting import report_of

        return report_of(self._config.storage.data_dir, runs)

    def import_cases(
        self,
        *,
        beir: str | None = None,
        split: str = "test",
        queries: str | None = None,
        qrels: str | None = None,
        documents: str | None = None,
        cases: str | None = None,
    ) -> int:
        """Add the judged queries of a BEIR folder, or of TREC files, to the golden questions.

        With *documents*, those of the folder are written there as Markdown files, to be made a
        source. Return how many cases were added.
        """
        self._refuse_readonly("eval import")
        from kb_app._evals import exchange

        if beir is not None:
            into = Path(documents) if documents else None
            if into is not None:
                exchange.write_documents(Path(beir), into)
            found = exchange.read_beir(Path(beir), split=split, are_written=into is not None)
        else:
            found = exchange.read_trec(Path(queries or ""), Path(qrels or ""))
        self.add_cases(found, cases=cases)
        return len(found)

    def import_run(
        self, file: str, *, name: str | None = None, cases: str | None = None
    ) -> types.EvalRun:
        """Keep a TREC run of another program as a run over golden questions; return eval_run.v1.

        Its queries have the ids of cases, and its documents the names that cases expect.
        """
        self._refuse_readonly("eval import")
        from kb_app._data_dir import DataDir
        from kb_app._evals.exchange import import_run
        from kb_app._evals.stored import RunFolder, fresh_run_id

        now = self._parts.clock()
        folder = RunFolder(DataDir(self._config.storage.data_dir).evals / fresh_run_id(now))
        return import_run(Path(file), self._cases_file(cases), folder, name=name, now=now)

    def export_run(self, run: str, into: str) -> list[str]:
        """Write a run as TREC files: a run for each variant, judgements and queries."""
        refuse_pinned(self._config, "eval export")
        from kb_app._evals.exchange import export_run
        from kb_app._evals.stored import find_run

        folder = find_run(self._config.storage.data_dir, run)
        return [str(path) for path in export_run(folder, Path(into))]

    def examine(self, options: SelfOptions, *, stop: Event | None = None) -> Iterator[EvalEvent]:
        """Ask for documents in their own words; the last event carries eval_self.v1.

        It needs no golden questions, and keeps nothing.
        """
        from kb_app._evals.examining import Examining

        examining = Examining(self._snapshot(), self._config, self._parts, options)
        return examining.events(stop=stop)

    def eval_runs(self) -> types.EvalRunList:
        """Return eval_run_list.v1: the runs that are kept, the newest first."""
        refuse_pinned(self._config, "eval list")
        from kb_app._evals.stored import runs_in
        from kb_core import wire

        return wire.eval_run_list(run.run() for run in runs_in(self._config.storage.data_dir))

    # ---------------------------------------------------------------- feedback

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

        asked = {
            "query": query.text,
            "mode": query.mode.value,
            "filters": query.filters.given(),
        }
        return self._say(shown(hit), asked, verdict, note)

    def judge_by_model(
        self, query: str, passage: str, verdict: Verdict, *, note: str | None = None
    ) -> types.Feedback:
        """Keep what a language model says of a passage; return feedback.v1.

        *passage* is an id, a citation or ``path:line``. ``InvalidInput`` unless ``mcp.feedback``
        allows it.
        """
        self._refuse_readonly("feedback")
        if not self._config.mcp.feedback:
            raise InvalidInput(
                "a model may say nothing of hits here",
                hint="the person can allow it: feedback = true in [mcp]",
                details={"setting": "mcp.feedback"},
            )
        if not query.strip():
            raise InvalidInput("the query is empty", details={"field": "query", "value": query})
        from kb_app._queries import shown_chunk
        from kb_app._search.lookup import chunk_named

        hit = shown_chunk(chunk_named(self._snapshot(), passage, field="passage"))
        asked = {"query": query, "mode": "hybrid", "filters": {}}
        return self._say(hit, asked, verdict, note, "model")

    def feedback(self) -> types.FeedbackList:
        """Return feedback_list.v1: what was said, the newest first."""
        refuse_pinned(self._config, "feedback list")
        return self._said().kept()

    def delete_feedback(self, ids: Sequence[str] | None) -> types.FeedbackList:
        """Delete what has these ids, all of which have to be there; ``None``: all there is."""
        self._refuse_readonly("feedback delete")
        from kb_app._data_dir import DataDir
        from kb_app._safety import SafetyCopies
        from kb_core.disk import disk_errors

        data, said = DataDir(self._data_dir), self._said()
        gone, name = said.delete(ids), data.feedback.relative_to(data.root).as_posix()
        with disk_errors("delete feedback in the safety copies"):
            SafetyCopies(data.safety).change(
                name, lambda line: ids is not None and not said.has_id(line, ids)
            )
        return gone

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

        return Said(DataDir(self._data_dir).feedback)

    def _cases_file(self, given: str | None) -> Path:
        return Path(given) if given else self._config.file.parent / "golden.yaml"
