"""Where somebody may be speaking: stretches of sound that are worth listening to.

By loudness alone: what rises above the ground noise of the twenty seconds around it. So silence
and even noise give nothing, and music gives stretches that recognition refuses. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from kb_app._ingest.making.speech.resampling import RATE, Samples

__all__ = ["FRAME", "FRAME_MS", "Active", "Levels", "Stretch", "active_in", "levels_of"]
__all__ += ["stretches_of"]

Levels: TypeAlias = npt.NDArray[np.float32]
"""How loud each frame is, in decibels below the loudest that there can be."""

Active: TypeAlias = npt.NDArray[np.bool_]
"""Of each frame, whether somebody may be speaking in it."""

FRAME_MS = 20
FRAME = RATE * FRAME_MS // 1000
_SECOND = 1000 // FRAME_MS

_AROUND = 20 * _SECOND
_HOP = 5 * _SECOND
_LEAST_RANGE = 8.0
"""Decibels between ground and speech; what keeps within less is noise."""
_ABOVE_GROUND = 0.3
"""How far up from the ground noise to the loudest a frame has to be."""
_MOST_RANGE = 35.0
_FAINTEST = -65.0

_SHORTEST = 6
_BREATH = 15
"""Frames: shorter bursts are no speech, shorter pauses are part of it."""
_PAUSE = 2 * _SECOND
"""A pause of so many frames ends a stretch."""
_MARGIN = _SECOND // 4
_MOST = 30 * _SECOND - 2 * _MARGIN
_SOONEST = 12 * _SECOND


class Stretch(NamedTuple):
    """Frames from ``start`` to ``end``, 30 seconds at the most."""

    start: int
    end: int

    @property
    def start_ms(self) -> int:
        return self.start * FRAME_MS

    @property
    def end_ms(self) -> int:
        return self.end * FRAME_MS


def levels_of(blocks: Iterable[Samples]) -> Levels:
    """Return how loud each frame is; low tones, which hum, count less."""
    found: list[Levels] = []
    held = np.zeros(0, np.float32)
    for block in blocks:
        held = np.concatenate([held, block])
        whole = len(held) // FRAME * FRAME
        found.append(_levels(held[:whole]))
        held = held[whole:]
    found.append(_levels(np.pad(held, (0, -len(held) % FRAME))))
    return np.concatenate(found)


def active_in(levels: Levels) -> Active:
    """Say of each frame whether it rises above the ground noise around it."""
    if not len(levels):
        return np.zeros(0, np.bool_)
    starts = np.arange(0, max(1, len(levels) - _AROUND + _HOP), _HOP)
    around = [levels[at : at + _AROUND] for at in starts]
    ground, top = np.array([np.percentile(each, (10, 97)) for each in around]).T
    middles, frames = starts + _AROUND / 2, np.arange(len(levels))
    ground, top = np.interp(frames, middles, ground), np.interp(frames, middles, top)
    least = np.maximum(ground + _ABOVE_GROUND * (top - ground), top - _MOST_RANGE)
    is_speech = (levels > np.maximum(least, _FAINTEST)) & (top - ground >= _LEAST_RANGE)
    return _without_short(~_without_short(~_without_short(is_speech, 3), _BREATH), _SHORTEST)


def stretches_of(active: Active, levels: Levels) -> list[Stretch]:
    """Return the stretches to listen to, in order, with a margin; none overlaps another."""
    found: list[Stretch] = []
    for start, end in _joined(_runs(active)):
        for first, last in _cut(start, end, levels):
            before = found[-1].end if found else 0
            found.append(Stretch(max(before, first - _MARGIN), min(len(active), last + _MARGIN)))
    return found


def _levels(samples: Samples) -> Levels:
    if not len(samples):
        return np.zeros(0, np.float32)
    # Pre-emphasis: what it does to the first sample of a block is not heard.
    sharp = np.append(samples[:1], samples[1:] - 0.97 * samples[:-1])
    power = np.square(sharp.reshape(-1, FRAME)).mean(axis=1)
    made: Levels = (10 * np.log10(power + 1e-10)).astype(np.float32)
    return made


def _runs(active: Active) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], active, [False]]).astype(np.int8)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def _without_short(active: Active, least: int) -> Active:
    """Return *active* without runs of fewer than *least* frames."""
    kept = active.copy()
    for start, end in _runs(active):
        if end - start < least:
            kept[start:end] = False
    return kept


def _joined(runs: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Join what only a short pause divides."""
    held: tuple[int, int] | None = None
    for start, end in runs:
        if held is not None and start - held[1] < _PAUSE:
            held = held[0], end
            continue
        if held is not None:
            yield held
        held = start, end
    if held is not None:
        yield held


def _cut(start: int, end: int, levels: Levels) -> Iterator[tuple[int, int]]:
    """Cut what is too long for one stretch, each time where it is quietest for a while."""
    while end - start > _MOST:
        first, last = start + _SOONEST, start + _MOST
        width = _SECOND // 4
        quiet = np.convolve(levels[first:last], np.full(width, 1 / width), "valid")
        at = first + int(np.argmin(quiet)) + width // 2
        yield start, at
        start = at
    yield start, end
