"""Pictures of the documentation: SVG that a page shows by itself, in light and in dark."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from kb_app._evals.charts import dot, safe, words_at

__all__ = ["growing", "standalone"]

_STYLE = """<style>
svg { --s0: #1f6fb2; --s1: #c4561c; --s2: #2a7f4f; --s3: #8a4fb0; --s4: #a8781a; --s5: #b0365c;
      --line: #d5d9dd; --ink: #30363c; background: #fff; font: 12px sans-serif }
@media (prefers-color-scheme: dark) {
  svg { --s0: #6cb2ee; --s1: #f0935c; --s2: #6fc796; --s3: #c59be6; --s4: #dcb35c; --s5: #ee82a4;
        --line: #34393f; --ink: #d5d9dd; background: #16191c } }
text { fill: var(--ink) } .grid { stroke: var(--line) } .line { fill: none; stroke-width: 2 }
</style>"""
_COLOURS = 6
_WIDTH, _HEIGHT = 720, 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 220, 14, 40
_MARGIN = 0.06
"""Of a decade, above the largest value."""
_APART = 15.0
"""Between the names of two lines that end near each other."""


def standalone(chart: str) -> str:
    """Return a chart of a report as a picture of its own, in light and dark."""
    start, _, rest = chart.partition(">")
    return f'{start} xmlns="http://www.w3.org/2000/svg">{_STYLE}{rest}\n'


def growing(
    title: str, x_label: str, y_label: str, curves: Mapping[str, Sequence[tuple[float, float]]]
) -> str:
    """Return a picture of *curves* over axes that are both logarithmic, named where they end.

    A line that rises as steeply as the picture's decades are wide and high grows linearly.
    """
    points = [point for curve in curves.values() for point in curve]
    xs, ys = (_decades([point[axis] for point in points]) for axis in (0, 1))
    drawn = [*_grid(xs, ys), words_at(_LEFT, _HEIGHT - 6, f"{x_label}; up: {y_label}", "start")]
    ends = {}
    for number, (name, curve) in enumerate(curves.items()):
        where = [(_across(x, xs), _up(y, ys)) for x, y in curve]
        colour = f"var(--s{number % _COLOURS})"
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in where)
        drawn.append(f'<polyline class="line" style="stroke:{colour}" points="{path}"/>')
        drawn += [
            dot(x, y, number % _COLOURS, f"{name}: {value:,.4g} at {at:,.0f}")
            for (x, y), (at, value) in zip(where, curve, strict=True)
        ]
        ends[name] = where[-1][1]
    drawn += [words_at(_WIDTH - _RIGHT + 10, y + 4, name, "start") for name, y in _parted(ends)]
    head = f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{safe(title)}">'
    return standalone(f"{head}{''.join(drawn)}</svg>")


def _decades(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of an axis: a power of ten below all values, and a little above them."""
    low = math.floor(math.log10(min(values)))
    return low, max(math.log10(max(values)) + _MARGIN, low + 1)


def _across(x: float, decades: tuple[float, float]) -> float:
    low, high = decades
    return _LEFT + (math.log10(x) - low) / (high - low) * (_WIDTH - _LEFT - _RIGHT)


def _up(y: float, decades: tuple[float, float]) -> float:
    low, high = decades
    return _HEIGHT - _BOTTOM - (math.log10(y) - low) / (high - low) * (_HEIGHT - _TOP - _BOTTOM)


def _grid(xs: tuple[float, float], ys: tuple[float, float]) -> Iterator[str]:
    for power in _powers(xs):
        x = _across(10.0**power, xs)
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}"/>'
        yield words_at(x, _HEIGHT - _BOTTOM + 16, f"{10**power:,}", "middle")
    for power in _powers(ys):
        y = _up(10.0**power, ys)
        yield f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield words_at(_LEFT - 6, y + 4, f"{10.0**power:,g}", "end")


def _powers(ends: tuple[float, float]) -> range:
    low, high = ends
    return range(math.ceil(low), math.floor(high) + 1)


def _parted(ends: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """Yield names and heights, from the top, none nearer to the one before than can be read."""
    last = -math.inf
    for name, y in sorted(ends.items(), key=lambda end: end[1]):
        last = max(y, last + _APART)
        yield name, last
