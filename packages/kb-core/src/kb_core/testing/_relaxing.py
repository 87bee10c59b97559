"""Which requirements of a query are let go, in the fake index."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from kb_core.search import Clause, Relaxation

__all__ = ["Analysed", "relax", "relaxation_of"]

Analysed: TypeAlias = tuple[Clause, list[str]]
"""A clause and its words."""


def relax(
    clauses: Sequence[Analysed], is_met: Callable[[Sequence[Analysed]], bool]
) -> list[Analysed]:
    """Turn what cannot be met into words that only rank; *is_met* asks about several at once."""
    kept: list[Analysed] = []
    relaxed: list[Analysed] = []
    for clause, found in clauses:
        if clause.kind == "must" and is_met([*kept, (clause, found)]):
            kept.append((clause, found))
        elif clause.kind == "must":
            clause = replace(clause, kind="should", phrase=False)  # noqa: PLW2901 - the same one
        relaxed.append((clause, found))
    return relaxed


def relaxation_of(
    asked: Sequence[Analysed],
    relaxed: Sequence[Analysed],
    frequency: Mapping[str, int],
    total: int,
) -> Relaxation | None:
    """Say what became of *asked*; *frequency* is of every word, in *total* chunks."""
    made = Relaxation(
        asked=_required(asked),
        required=_required(relaxed),
        common=tuple(word for word, n in frequency.items() if n > total / 2),
        unknown=tuple(word for word, n in frequency.items() if not n),
    )
    return made if made.let_go or made.common or made.unknown else None


def _required(clauses: Sequence[Analysed]) -> tuple[str, ...]:
    musts = (clause for clause, _ in clauses if clause.kind == "must")
    return tuple(f'"{clause.text}"' if clause.phrase else clause.text for clause in musts)
