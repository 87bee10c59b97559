"""Charts as SVG, plain enough to be written by hand: lines, bars, means with their intervals.

A chart takes its colours from the page (``--s0`` … ``--s7``), so that it is light or dark with
it, and says as text what it shows, for those who cannot see it. All that comes in is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from kb_app.shown import flat, visible
from kb_core.values import dataclass

__all__ = ["Series", "bars", "dot", "intervals", "lines", "safe", "words_at"]

_WIDTH, _HEIGHT = 640, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 26, 10, 34
_ROW, _LABELS = 20, 150
_PLOT_W, _PLOT_H = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
_STEPS = (0.0, 0.25, 0.5, 0.75, 1.0)
_MOST_TICKS = 10
_ROUND = (0.1, *(first * 10.0**power for power in range(18) for first in (1, 2, 5)), math.inf)
"""Steps of an axis, of which the first is taken that gives few enough ticks."""
_DASHED = ("", "7 5", "2 4", "10 4 2 4")
"""How lines differ beside their colour, so that one on top of another is seen."""


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one colour: x is in the unit of the axis, y a share of one."""

    label: str
    colour: int
    points: Sequence[tuple[float, float]]


def lines(title: str, x_label: str, series: Sequence[Series]) -> str:
    """Return a chart of a line for each series, over a common axis from 0."""
    most = max((x for one in series for x, _ in one.points), default=1.0) or 1.0
    drawn = [*_grid(), *_ticks(most), _axis_label(x_label)]
    for one in series:
        where = [(_LEFT + x / most * _PLOT_W, _y(y)) for x, y in one.points]
        dashes = f"stroke-dasharray:{_DASHED[one.colour % len(_DASHED)] or 'none'}"
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in where)
        drawn.append(
            f'<polyline class="line" style="stroke:var(--s{one.colour});{dashes}" points="{path}"/>'
        )
        drawn += [
            dot(x, y, one.colour, f"{one.label}: {value:.3f} at {_number(at)}")
            for (x, y), (at, value) in zip(where, one.points, strict=True)
        ]
    return _svg(title, _HEIGHT, drawn)


def bars(title: str, labels: Sequence[str], series: Sequence[Series]) -> str:
    """Return a chart of shares side by side: point *n* of each series stands over label *n*."""
    step = _PLOT_W / max(1, len(labels))
    wide = step * 0.8 / max(1, len(series))
    drawn = list(_grid())
    for at, label in enumerate(labels):
        middle = _LEFT + (at + 0.5) * step
        drawn.append(words_at(middle, _HEIGHT - _BOTTOM + 16, label, "middle"))
    for number, one in enumerate(series):
        for x, share in one.points:
            left, top = _LEFT + (x + 0.1) * step + number * wide, _y(share)
            said = safe(f"{one.label}, {labels[int(x)]}: {share:.1%}")
            drawn.append(
                f'<rect x="{left:.1f}" y="{top:.1f}" width="{max(1.0, wide - 1):.1f}" '
                f'height="{_y(0) - top:.1f}" style="fill:var(--s{one.colour})">'
                f"<title>{said}</title></rect>"
            )
    return _svg(title, _HEIGHT, drawn)


def intervals(title: str, rows: Sequence[tuple[str, int, float, float, float]]) -> str:
    """Return a row for each label, colour, mean and bounds: a dot on the line between them.

    What several rows in a row are called stands before the first of them.
    """
    height = _TOP + _ROW * len(rows) + _BOTTOM
    wide = _WIDTH - _LABELS - _RIGHT
    drawn = []
    for share in _STEPS:
        x = _LABELS + share * wide
        drawn.append(f'<line class="grid" x1="{x}" x2="{x}" y1="{_TOP}" y2="{height - _BOTTOM}"/>')
        drawn.append(words_at(x, height - _BOTTOM + 16, f"{share:g}", "middle"))
    above = None
    for number, (label, colour, mean, low, high) in enumerate(rows):
        y = _TOP + (number + 0.5) * _ROW
        left, right = (_LABELS + share * wide for share in (low, high))
        if label != above:
            drawn.append(words_at(_LABELS - 8, y + 4, label, "end"))
        above = label
        drawn.append(
            f'<line class="line" style="stroke:var(--s{colour})" x1="{left:.1f}" '
            f'x2="{right:.1f}" y1="{y}" y2="{y}"/>'
        )
        said = f"{label}: {mean:.3f}, between {low:.3f} and {high:.3f}"
        drawn.append(dot(_LABELS + mean * wide, y, colour, said))
    return _svg(title, height, drawn)


def safe(text: object) -> str:
    """Return *text* for a page: no markup, and nothing that cannot be seen."""
    return escape(visible(flat(str(text))))


def _svg(title: str, height: int, drawn: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{safe(title)}">'
        f"{''.join(drawn)}</svg>"
    )


def _grid() -> Iterator[str]:
    for share in _STEPS:
        y = _y(share)
        yield f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y}" y2="{y}"/>'
        yield words_at(_LEFT - 6, y + 4, f"{share:g}", "end")


def _ticks(most: float) -> Iterator[str]:
    step = next(one for one in _ROUND if most / one <= _MOST_TICKS)
    for number in range(1, int(most / step) + 1):
        x = _LEFT + number * step / most * _PLOT_W
        yield words_at(x, _HEIGHT - _BOTTOM + 16, _number(number * step), "middle")


def _axis_label(label: str) -> str:
    return words_at(_LEFT + _PLOT_W / 2, _HEIGHT - 3, label, "middle")


def dot(x: float, y: float, colour: int, said: str) -> str:
    """Return a dot that says what it is when it is pointed at."""
    shown = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" style="fill:var(--s{colour})">'
    return f"{shown}<title>{safe(said)}</title></circle>"


def words_at(x: float, y: float, text: str, anchor: str) -> str:
    """Return a text at a place; *anchor* says which end of it that is, as SVG does."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{safe(text)}</text>'


def _y(share: float) -> float:
    return round(_TOP + (1 - share) * _PLOT_H, 1)


def _number(value: float) -> str:
    return f"{value:,.4g}"
