"""Which settings of search answer golden questions best, and whether that is more than luck.

Every setting is a variant of one run over the questions. What differs from the settings as they
are is tested as in ``comparing``, with Holm's adjustment over the variants. The best of several
looks better than it is on the questions that it was chosen by, so the choice is made again
without each fifth of the questions, and judged on that fifth alone: what is left of the gain is
what may be hoped for with other questions (Stone 1974). Questions of one group stay together.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kb_app._evals import figures
from kb_app._evals.running import read_variant
from kb_app.shown import count
from kb_core import wire
from kb_core.errors import InvalidInput
from kb_core.evals import EvalVariant
from kb_core.media import SearchMode

if TYPE_CHECKING:
    from kb_app._evals.stored import Asked, RunFolder
    from kb_app.config import Config
    from kb_core.wire import types

__all__ = ["candidates", "refuse_few", "tuned"]

_FIGURE = "ndcg@10"
_FOLDS = 5
_FEWEST = 10
"""Questions with which a choice is made at all: two in each fold."""
_SURE = 0.05
_SAME = 1e-9
_CONSTANTS = (10, 30, 60, 100)


def candidates(config: Config, wanted: Sequence[EvalVariant] = ()) -> tuple[EvalVariant, ...]:
    """Return what is tried: the settings as they are, then *wanted*, or the usual ones.

    ``InvalidInput`` for a variant that no setting can make the usual way to search.
    """
    search = config.search
    for variant in wanted:
        if variant.mode is not SearchMode.HYBRID or variant.per_doc is not None:
            raise InvalidInput(
                f"variant {variant.name!r} is not one that settings can make",
                hint="hybrid,fusion=rrf,rrf_k=30 or hybrid,rerank=true",
                details={"field": "variant", "value": variant.name},
            )
    usual = [EvalVariant(fusion="auto")] if search.fusion != "auto" else []
    usual += [
        EvalVariant(fusion="rrf", rrf_k=constant)
        for constant in _CONSTANTS
        if (search.fusion, search.rrf_k) != ("rrf", constant)
    ]
    usual.append(EvalVariant(rerank=not search.rerank))
    return tuple(dict.fromkeys((EvalVariant(), *(wanted or usual))))


def refuse_few(questions: int, groups: Collection[str]) -> None:
    """Raise ``InvalidInput`` where so many questions, of these groups, are too few to choose by."""
    if len(groups) < _FEWEST:
        raise InvalidInput(
            f"{count(questions, 'question')} with an answer: too few to choose by",
            hint=f"it takes {_FEWEST} that are not of one group: kebab eval add",
            details={"field": "cases", "value": questions, "min": _FEWEST},
        )


def tuned(folder: RunFolder, *, seed: int = 1) -> types.EvalTune:
    """Return eval_tune.v1 of a run over ``candidates``; ``InvalidInput`` for too few questions."""
    run = folder.run()
    if run["state"] != "completed":
        raise InvalidInput(
            f"run {run['run_id']} was stopped",
            hint="'kebab eval tune' begins anew",
            details={"field": "run", "value": run["run_id"]},
        )
    names = [each["name"] for each in run["variants"]]
    values = _values(folder.asked(), names)
    groups = {case.id: case.group or case.id for case in folder.cases()}
    cases = list(values[names[0]])
    refuse_few(len(cases), {groups[case] for case in cases})
    picked = _held_out(values, _folds(cases, groups, seed))
    held = figures.compare(
        [values[picked[case]][case] for case in cases], [values[names[0]][case] for case in cases]
    )
    rows = _rows(values, picked)
    better = [row for row in rows if row["verdict"] == "better"]
    best = max(better, key=lambda row: row["mean"], default=None)
    return wire.eval_tune(
        {
            "run_id": run["run_id"],
            "figure": _FIGURE,
            "questions": len(cases),
            "folds": _FOLDS,
            "variants": rows,
            "held_out": {name: getattr(held, name) for name in ("mean", "low", "high", "p")},
            "recommended": best["name"] if best and held.mean > _SAME and held.p < _SURE else None,
            "applied": False,
        }
    )


def _values(asked: Sequence[Asked], names: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return the figure by variant and case, of the cases that every variant has it of."""
    found: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for one in asked:
        if _FIGURE in one["figures"]:
            found[one["variant"]][one["case"]] = one["figures"][_FIGURE]
    shared = [case for case in found[names[0]] if all(case in found[name] for name in names)]
    return {name: {case: found[name][case] for case in shared} for name in names}


def _folds(cases: Sequence[str], groups: Mapping[str, str], seed: int) -> list[set[str]]:
    """Deal the groups of *cases* out, in an order drawn by *seed*."""
    order = sorted({groups[case] for case in cases})
    random.Random(seed).shuffle(order)  # noqa: S311 - repeatable, nothing secret
    place = {group: number % _FOLDS for number, group in enumerate(order)}
    return [{case for case in cases if place[groups[case]] == fold} for fold in range(_FOLDS)]


def _held_out(
    values: Mapping[str, Mapping[str, float]], folds: Sequence[set[str]]
) -> dict[str, str]:
    """Return, of each case, the variant that is best on the folds without it."""
    picked: dict[str, str] = {}
    for fold in folds:
        sums = {
            name: sum(value for case, value in found.items() if case not in fold)
            for name, found in values.items()
        }
        # Of equal ones the first, which is the settings as they are.
        best = max(sums, key=lambda name: round(sums[name], 9))
        picked |= dict.fromkeys(fold, best)
    return picked


def _rows(
    values: Mapping[str, Mapping[str, float]], picked: Mapping[str, str]
) -> list[dict[str, Any]]:
    (now, base), *others = values.items()
    found = {
        name: figures.compare(list(told.values()), list(base.values())) for name, told in others
    }
    adjusted = figures.holm({name: each.p for name, each in found.items()})
    number = len(base)
    rows: list[dict[str, Any]] = [
        {"name": now, "mean": sum(base.values()) / number, "verdict": "now", "settings": {}}
    ]
    for name, told in others:
        each, sure = found[name], adjusted[name] < _SURE
        rows.append(
            {
                "name": name,
                "mean": sum(told.values()) / number,
                "difference": each.mean,
                "low": each.low,
                "high": each.high,
                "p": each.p,
                "p_holm": adjusted[name],
                "verdict": _verdict(each.mean, sure=sure),
                "settings": _settings_of(read_variant(name)),
            }
        )
    for row in rows:
        row["chosen"] = sum(name == row["name"] for name in picked.values()) / number
    return rows


def _settings_of(variant: EvalVariant) -> dict[str, str | int | bool]:
    """Return the settings that make a variant the usual way to search."""
    told = {name: getattr(variant, name) for name in ("fusion", "rrf_k", "rerank")}
    return {f"search.{name}": value for name, value in told.items() if value is not None}


def _verdict(mean: float, *, sure: bool) -> str:
    if abs(mean) < _SAME:
        return "same"
    return ("better" if mean > 0 else "worse") if sure else "unclear"
