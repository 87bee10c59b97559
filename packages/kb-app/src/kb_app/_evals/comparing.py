"""Two runs side by side: figures over the questions that both asked, and who lost and won.

A figure differs by more than luck where the paired randomisation test says so in 5 of 100,
with Holm's adjustment over the figures: they are close to each other, so that errs on the
side of silence. It has *regressed* where it lost more than the tolerance, and that is more
than luck; with ``strict``, any loss beyond the tolerance counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kb_app._evals import figures
from kb_app._evals.judging import GATED
from kb_app._evals.stored import Asked, RunFolder, find_run
from kb_core import wire
from kb_core.errors import InvalidInput
from kb_core.values import dataclass

if TYPE_CHECKING:
    from pathlib import Path

    from kb_core.wire import types

__all__ = ["compare_runs"]

_SURE = 0.05
_SAME = 1e-9
_NAMED = 5
"""How many questions that lost or won are told."""
_SHOWN = 3
"""How many hits of each side."""
_LEADING = ("ndcg@10", "refusal", "doubt")
"""The figure that a question is told by: the first that it has."""
_SIDES = ("kebab_version", "index", "settings", "machine", "depth", "ask")


@dataclass(frozen=True, slots=True)
class _Side:
    """One variant of one run."""

    run: types.EvalRun
    variant: str
    asked: Mapping[str, Asked]


def compare_runs(
    data_dir: Path, before: str, after: str, *, tolerance: float, strict: bool
) -> types.EvalCompare:
    """Return eval_compare.v1; a side is a run, as ``find_run`` knows it, or ``RUN:VARIANT``."""
    old, new = _side(data_dir, before), _side(data_dir, after)
    shared = [
        (old.asked[case], new.asked[case])
        for case in old.asked
        if case in new.asked and old.asked[case]["query"] == new.asked[case]["query"]
    ]
    if not shared:
        raise InvalidInput(
            f"{before!r} and {after!r} have no question in common",
            hint="runs are compared over cases of the same id and query",
            details={"field": "run", "value": [before, after]},
        )
    rows = list(_figures(shared, tolerance, strict=strict))
    paired = {one["case"] for one, _ in shared}
    moved = sorted(filter(None, map(_query, shared)), key=lambda row: row["after"] - row["before"])
    return wire.eval_compare(
        {
            "before": _named(old),
            "after": _named(new),
            "tolerance": tolerance,
            "strict": strict,
            "regressed": any(row["verdict"] == "regressed" for row in rows),
            "paired": len(shared),
            "only_before": [case for case in old.asked if case not in paired],
            "only_after": [case for case in new.asked if case not in paired],
            "figures": rows,
            "lost": [row for row in moved if row["after"] < row["before"]][:_NAMED],
            "won": [row for row in moved[::-1] if row["after"] > row["before"]][:_NAMED],
            "changed": list(_changed(old, new)),
        }
    )


def _side(data_dir: Path, text: str) -> _Side:
    """Return what *text* names: the first variant of a run, if none is named."""
    name, _, wanted = text.rpartition(":")
    try:
        folder, variant = find_run(data_dir, text), ""
    except InvalidInput:
        if not name:
            raise
        folder, variant = find_run(data_dir, name), wanted
    run = folder.run()
    known = [each["name"] for each in run["variants"]]
    if variant and variant not in known:
        raise InvalidInput(
            f"run {name!r} has no variant {variant!r}; it has {', '.join(known)}",
            details={"field": "run", "value": text},
        )
    if run["state"] != "completed":
        raise InvalidInput(
            f"run {run['run_id']} was stopped",
            hint=f"kebab eval run --resume {run['run_id']}",
            details={"field": "run", "value": text},
        )
    return _Side(run, variant or known[0], _asked(folder, variant or known[0]))


def _asked(folder: RunFolder, variant: str) -> dict[str, Asked]:
    return {one["case"]: one for one in folder.asked() if one["variant"] == variant}


def _named(side: _Side) -> dict[str, Any]:
    return {
        "run_id": side.run["run_id"],
        "name": side.run.get("name"),
        "variant": side.variant,
    }


def _figures(
    shared: Sequence[tuple[Asked, Asked]], tolerance: float, *, strict: bool
) -> Iterator[dict[str, Any]]:
    """Yield every figure that decides, with what became of it."""
    paired = {name: _values(shared, name) for name in GATED}
    found = {
        name: (values, figures.compare([b for _, b in values], [a for a, _ in values]))
        for name, values in paired.items()
        if values
    }
    adjusted = figures.holm({name: difference.p for name, (_, difference) in found.items()})
    for name, (values, difference) in found.items():
        mean = difference.mean
        sure = adjusted[name] < _SURE
        yield {
            "name": name,
            "count": len(values),
            "before": sum(a for a, _ in values) / len(values),
            "after": sum(b for _, b in values) / len(values),
            "difference": mean,
            "low": difference.low,
            "high": difference.high,
            "p": difference.p,
            "p_holm": adjusted[name],
            "verdict": _verdict(mean, sure=sure, counts=mean < -tolerance and (sure or strict)),
        }


def _values(shared: Iterable[tuple[Asked, Asked]], name: str) -> list[tuple[float, float]]:
    pairs = ((one["figures"].get(name), other["figures"].get(name)) for one, other in shared)
    return [(a, b) for a, b in pairs if a is not None and b is not None]


def _verdict(mean: float, *, sure: bool, counts: bool) -> str:
    if abs(mean) < _SAME:
        return "same"
    if counts:
        return "regressed"
    if not sure:
        return "unclear"
    return "better" if mean > 0 else "worse"


def _query(pair: tuple[Asked, Asked]) -> dict[str, Any] | None:
    """Return one question of both runs, told by the figure that leads; ``None`` if it has none."""
    old, new = pair
    name = next((n for n in _LEADING if n in old["figures"] and n in new["figures"]), None)
    if name is None:
        return None
    targets = dict.fromkeys((*old.get("ranks", {}), *new.get("ranks", {})))
    return {
        "case": old["case"],
        "query": old["query"],
        "figure": name,
        "before": old["figures"][name],
        "after": new["figures"][name],
        "targets": [
            {"expected": one, "before": _standing(old, one), "after": _standing(new, one)}
            for one in targets
        ],
        "hits_before": [hit["uri"] for hit in old.get("hits", ())[:_SHOWN]],
        "hits_after": [hit["uri"] for hit in new.get("hits", ())[:_SHOWN]],
    }


def _standing(asked: Asked, target: str) -> dict[str, int | None] | None:
    """Return where a target stood, and how both channels ranked the hit that met it."""
    rank = asked.get("ranks", {}).get(target)
    met = next((hit for hit in asked.get("hits", ()) if target in hit["met"]), None)
    if rank is None or met is None:
        return None
    return {"rank": rank, "lexical_rank": met["lexical_rank"], "vector_rank": met["vector_rank"]}


def _changed(old: _Side, new: _Side) -> Iterator[dict[str, Any]]:
    """Yield what is not the same of both sides, a row for each name below."""
    if old.variant != new.variant:
        yield {"name": "variant", "before": old.variant, "after": new.variant}
    before, after = _flat(old.run), _flat(new.run)
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            yield {"name": name, "before": before.get(name), "after": after.get(name)}


def _flat(run: Mapping[str, Any]) -> dict[str, Any]:
    flat = {"cases.digest": run["cases"]["digest"]}
    for name in _SIDES:
        value = run[name]
        inner = value.items() if isinstance(value, Mapping) else ()
        flat |= {f"{name}.{key}": each for key, each in inner}
        if not isinstance(value, Mapping):
            flat[name] = value
    return flat
