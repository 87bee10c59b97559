"""Figures as people read them: plain tables, medians, and fair rounds.

Pure but for ``run_rounds``, which runs what it is given and reads the clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

__all__ = ["Taken", "milliseconds", "quantile", "render_table", "run_rounds", "summarize"]

T = TypeVar("T")

_DIGITS = 3


@dataclass(frozen=True, slots=True)
class Taken:
    """Seconds of one subject, input by input.

    ``cpu`` is of all threads of the process; unlike ``wall`` it does not grow when other
    programs want the cores, too.
    """

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


def render_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table with aligned columns: the first to the left, the others to the right."""
    widths = [max(len(row[at]) for row in (head, *rows)) for at in range(len(head))]
    lines = []
    for row in (head, ["-" * width for width in widths], *rows):
        first, *others = row
        cells = [first.ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value that *share* of the others do not exceed, between neighbours linearly."""
    if not values:
        return float("nan")
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def summarize(seconds: Sequence[float]) -> dict[str, float]:
    """Return p50, p95, p99 and the maximum in milliseconds, and how many there were."""
    named = {"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99, "max_ms": 1.0}
    found = {name: quantile(seconds, share) * 1000 for name, share in named.items()}
    return {**found, "count": float(len(seconds))}


def milliseconds(value: float) -> str:
    """Return a duration in milliseconds with three digits."""
    if value != value:  # noqa: PLR0124 - not a number: nothing was measured
        return "-"
    return f"{value:.{max(0, _DIGITS - len(f'{value:.0f}'))}f}"


def run_rounds(
    subjects: Mapping[str, Callable[[T], object]],
    inputs: Sequence[T],
    *,
    warm: int = 3,
    block: int = 1,
) -> dict[str, Taken]:
    """Return seconds per subject and input, measured in turns.

    Every *block* of inputs meets every subject before the next one comes, each time
    beginning with another subject: what else the machine does falls on all of them alike.
    Subjects with threads of their own want a block of some length, or they would be measured
    while the threads of the one before still spin. The first *warm* inputs are run once
    before, unmeasured.
    """
    names = list(subjects)
    taken = {name: Taken() for name in names}
    for name in names:
        for value in inputs[:warm]:
            subjects[name](value)
    for turn, start in enumerate(range(0, len(inputs), block)):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            for value in inputs[start : start + block]:
                began, used = time.perf_counter(), time.process_time()
                subjects[name](value)
                taken[name].cpu.append(time.process_time() - used)
                taken[name].wall.append(time.perf_counter() - began)
    return taken
