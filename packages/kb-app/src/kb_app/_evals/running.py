"""A run over golden questions: each is asked under every variant, judged, and kept.

All of it is asked of one published state, one question after the other, each by an engine of
its own, as a search would be. What is asked is written at once, so a run that was stopped, or
whose process died, goes on where it was: at the same state, with the same cases and variants.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from kb_app._ask.asking import Asking
from kb_app._ask.telling import last
from kb_app._data_dir import DataDir
from kb_app._evals.binding import Bound, bind
from kb_app._evals.cases import read_cases
from kb_app._evals.judging import Found, judge, judge_answer, summed
from kb_app._evals.stored import Asked, RunFolder, find_run, fresh_run_id
from kb_app._search.engine import open_engine
from kb_core import wire
from kb_core.answers import AskQuery
from kb_core.errors import InvalidInput, KbError
from kb_core.evals import EvalEvent, EvalOptions, EvalVariant
from kb_core.ids import fingerprint
from kb_core.ports import never
from kb_core.search import SearchQuery, SearchResponse
from kb_core.values import replace
from kb_core.version import __version__

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path
    from threading import Event

    from kb_app._parts import Parts
    from kb_app._search.engine import Engine
    from kb_app.config import Config
    from kb_core.ports import IndexSnapshot
    from kb_core.wire import types

__all__ = ["Running", "read_variant", "resumed"]

_SETTINGS = ("search.", "embedding.", "chunking.", "ask.provider", "ask.model")
"""Settings that a run tells; none of them is a secret."""
_ENDS: dict[str, Literal["completed", "stopped"]] = {
    "completed": "completed",
    "stopped": "stopped",
}
_NOTHING = SearchResponse(hits=(), corpus_revision=0)
_KEYS: dict[str, Callable[[str], Any]] = {
    "mode": str,
    "fusion": str,
    "rrf_k": int,
    "rerank": lambda word: {"true": True, "false": False}[word],
    "per_doc": int,
}


def read_variant(text: str) -> EvalVariant:
    """Read a variant as its name has it: ``hybrid,rerank=true``, ``mode=lexical,per_doc=1``."""
    from kb_core.media import SearchMode

    given: dict[str, Any] = {}
    for number, part in enumerate(text.split(",")):
        name, _, word = part.strip().partition("=")
        if not number and not word:
            name, word = "mode", name
        try:
            given[name] = _KEYS[name](word)
        except (KeyError, ValueError):
            raise _no_variant(text, f"{part.strip()!r} is not one of {', '.join(_KEYS)}") from None
    modes = [mode.value for mode in SearchMode]
    if given.get("mode", modes[0]) not in modes:
        raise _no_variant(text, f"mode {given['mode']!r} is not one of {', '.join(modes)}")
    if given.get("fusion", "auto") not in {"auto", "rrf"}:
        raise _no_variant(text, f"fusion {given['fusion']!r} is not auto or rrf")
    return EvalVariant(**given | {"mode": SearchMode(given.get("mode", "hybrid"))})


def _no_variant(text: str, why: str) -> InvalidInput:
    details = {"field": "variant", "value": text}
    return InvalidInput(f"variant {text!r}: {why}", hint="hybrid,rerank=true", details=details)


def resumed(data_dir: Path, options: EvalOptions) -> EvalOptions:
    """Return *options* as the run had them that is to go on; as they are if none is."""
    if options.resume is None:
        return options
    folder = find_run(data_dir, options.resume)
    run = folder.run()
    return replace(
        options,
        cases=str(folder.path / "cases.jsonl"),
        variants=tuple(read_variant(each["name"]) for each in run["variants"]),
        depth=run["depth"],
        ask=run["ask"],
        name=run.get("name"),
        resume=str(folder.path),
    )


class Running:
    """One run, from its first question to what all of them come to."""

    def __init__(
        self,
        snapshot: IndexSnapshot,
        config: Config,
        parts: Parts,
        options: EvalOptions,
        cases: Path,
    ) -> None:
        self._snapshot = snapshot
        self._config = config
        self._parts = parts
        self._options = options
        self._cases = cases
        self._bound = [bind(snapshot, case) for case in read_cases(cases)]
        self._started: datetime = parts.clock()
        self._clock = time.perf_counter()

    def events(self, *, keep: bool, stop: Event | None = None) -> Iterator[EvalEvent]:
        """Ask everything; the last event carries the run, completed or stopped."""
        if not self._asking:
            raise InvalidInput(
                f"{self._cases.name} has no case that can be asked",
                hint="kebab eval check",
                details={"field": "cases", "value": str(self._cases)},
            )
        folder = self._folder() if keep else None
        asked = self._begun(folder)
        todo, is_stopped = list(self._todo(asked)), never if stop is None else stop.is_set
        total = len(todo) + len(asked)
        try:
            for variant, bound in todo:
                if is_stopped():
                    break
                asked.append(self._ask(variant, bound, stop))
                if folder is not None:
                    folder.add(asked[-1])
                yield EvalEvent(kind="asked", done=len(asked), total=total, case=bound.case.id)
        finally:
            run = self._told(asked, folder, is_whole=len(asked) == total)
            if folder is not None:
                folder.finish(run)
        yield EvalEvent(kind=_ENDS[run["state"]], done=len(asked), total=total, run=run)

    @cached_property
    def _asking(self) -> list[Bound]:
        """What takes part: cases of which something is left, or that nothing answers."""
        return [bound for bound in self._bound if not bound.is_broken]

    @cached_property
    def _run_id(self) -> str:
        return fresh_run_id(self._started)

    def _folder(self) -> RunFolder:
        data_dir, options = self._config.storage.data_dir, self._options
        if options.resume is not None:
            return self._same(find_run(data_dir, options.resume))
        if options.into is None:
            return RunFolder(DataDir(data_dir).evals / self._run_id)
        from pathlib import Path

        folder = Path(options.into)
        if folder.exists() and any(folder.iterdir()):
            raise InvalidInput(
                f"{options.into!r} is not empty",
                hint="name a folder that is not there yet, or go on with --resume",
                details={"field": "into", "value": options.into},
            )
        return RunFolder(folder)

    def _same(self, folder: RunFolder) -> RunFolder:
        """Return the folder of a run to go on with, if that would still be the same run."""
        before = folder.run()
        now = {"index": self._index(), "settings": self._settings()}
        for what, value in now.items():
            told: Any = before[what]  # type: ignore[literal-required]
            if told != value:
                raise InvalidInput(
                    f"run {before['run_id']} cannot go on: its {what} changed since",
                    hint="begin a new run",
                    details={"field": "resume", "value": before["run_id"], "changed": what},
                )
        self.__dict__["_run_id"] = before["run_id"]
        return folder

    def _begun(self, folder: RunFolder | None) -> list[Asked]:
        """Return what an earlier part of the run has asked; make its folder if there is none."""
        if folder is None:
            return []
        if self._options.resume is not None:
            return folder.asked_whole()
        folder.begin([bound.case for bound in self._bound])
        folder.finish(self._told([], folder, is_whole=False))
        return []

    def _todo(self, asked: Sequence[Asked]) -> Iterator[tuple[EvalVariant, Bound]]:
        done = {(one["variant"], one["case"]) for one in asked}
        for variant in self._options.variants:
            for bound in self._asking:
                if (variant.name, bound.case.id) not in done:
                    yield variant, bound

    def _ask(self, variant: EvalVariant, bound: Bound, stop: Event | None) -> Asked:
        """Ask one question; an error is what came of it, and ends nothing."""
        case = bound.case
        asked: Asked = {"case": case.id, "variant": variant.name, "query": case.query}
        try:
            engine = self._engine(variant, stop)
            found, millis = self._searched(engine, variant, bound)
            asked.update(judge(bound, found, self._options.depth))
            asked["ms"] = round(millis, 3)
            if found.response.degraded:
                asked["degraded"] = list(found.response.degraded)
            if self._options.ask:
                query = AskQuery(text=case.query, mode=variant.mode, filters=case.filters)
                asking = Asking(engine, self._configured(variant), self._parts, stop)
                told, asked["answer"] = judge_answer(bound, last(asking.steps(query)))
                asked["figures"] |= told
        except KbError as error:
            asked["error"] = f"{error.code}: {error}"
            asked.setdefault("figures", {})
            # What could not be asked has found nothing: left out, it would flatter.
            if bound.grades:
                asked["figures"] = dict.fromkeys(_judged(bound, self._options.depth), 0.0)
        return asked

    def _searched(self, engine: Engine, variant: EvalVariant, bound: Bound) -> tuple[Found, float]:
        case, depth = bound.case, self._options.depth
        query = SearchQuery(
            text=case.query,
            mode=variant.mode,
            k=depth,
            filters=case.filters,
            rerank=variant.rerank,
            per_doc=variant.per_doc,
        )
        started = time.perf_counter()
        ranking = engine.ranking(query)
        response = engine.answer(ranking)
        millis = (time.perf_counter() - started) * 1000
        chunks = engine.renderer.chunks([row.chunk_key for row in ranking.rows])
        shown = {hit.chunk_id for hit in response.hits}
        chars = {c["chunk_id"]: len(c["text"]) for c in chunks.values() if c["chunk_id"] in shown}
        return Found(response, chars), millis

    def _engine(self, variant: EvalVariant, stop: Event | None) -> Engine:
        return open_engine(self._snapshot, self._configured(variant), self._parts, stop)

    def _configured(self, variant: EvalVariant) -> Config:
        search = self._config.search
        changed = replace(
            search, fusion=variant.fusion or search.fusion, rrf_k=variant.rrf_k or search.rrf_k
        )
        return replace(self._config, search=changed)

    def _told(
        self, asked: Sequence[Asked], folder: RunFolder | None, *, is_whole: bool
    ) -> types.EvalRun:
        """Return eval_run.v1 of what was asked so far."""
        options = self._options
        groups = Counter(each.case.group for each in self._asking if each.case.group)
        grouped = {
            bound.case.id: bound.case.group
            for bound in self._asking
            if bound.case.group and groups[bound.case.group] > 1
        }
        variants = [
            {
                "name": variant.name,
                "mode": variant.mode.value,
                **summed([one for one in asked if one["variant"] == variant.name], grouped),
            }
            for variant in options.variants
        ]
        return wire.eval_run(
            {
                "run_id": self._run_id,
                "name": options.name,
                "path": str(folder.path) if folder else None,
                "state": "completed" if is_whole else "stopped",
                "started_at": self._started,
                "duration_ms": round((time.perf_counter() - self._clock) * 1000),
                "depth": options.depth,
                "ask": options.ask,
                "cases": self._counted(),
                "variants": variants,
                "kebab_version": __version__,
                "index": self._index(),
                "settings": self._settings(),
                "machine": _machine(),
            }
        )

    def _counted(self) -> dict[str, Any]:
        cases = [bound.case for bound in self._bound]
        return {
            "path": str(self._cases),
            "digest": fingerprint([wire.eval_case(case) for case in cases]),
            "total": len(cases),
            "judged": sum(bool(bound.grades) for bound in self._bound),
            "unanswerable": sum(case.wants_refusal for case in cases),
            "broken": [bound.case.id for bound in self._bound if bound.is_broken],
            "gone": sum(one.status == "gone" for bound in self._bound for one in bound.targets),
        }

    def _index(self) -> dict[str, Any]:
        control, model = self._snapshot.control, self._parts.model()
        told = {
            "store_id": control.store_id,
            "corpus_revision": control.corpus_revision,
            "vector_revision": control.vector_revision,
            "index_version": control.index_version,
            "documents": control.stats.get("doc_count", 0),
            "chunks": control.stats.get("chunk_count", 0),
            "model": model.key if model else None,
        }
        return {name: value for name, value in told.items() if value is not None}

    def _settings(self) -> dict[str, Any]:
        found = {n: value for n, value, _ in self._config.settings() if n.startswith(_SETTINGS)}
        told: dict[str, Any] = json.loads(wire.dumps(found))
        return told


def _judged(bound: Bound, depth: int) -> list[str]:
    """Return the names of the figures that a case with targets has."""
    nothing = judge(bound, Found(_NOTHING, {}), depth)
    return list(nothing["figures"])


def _machine() -> dict[str, str]:
    """Return what matters of where it ran, and nothing that tells whose it is."""
    return {
        "cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0),
        "python": platform.python_version(),
        "system": platform.system(),
        "processor": platform.machine(),
    }
