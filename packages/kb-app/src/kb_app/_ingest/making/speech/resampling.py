"""Sound of any rate at 16 kHz, block by block.

A polyphase filter, as in every textbook of signal processing: a sinc under a Kaiser window,
which lets pass what both rates can hold. All phases of one period are one matrix, so that a
block is resampled by one product. Block by block gives what the whole in one piece gives.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["RATE", "Samples", "resampled"]

Samples: TypeAlias = npt.NDArray[np.float32]
"""Sound of one channel, one number for each moment, from -1 to 1."""

RATE = 16_000
"""Samples in a second, of all that speech recognition hears."""

_CROSSINGS = 16
"""How far the filter reaches to either side, in periods of the lower rate."""
_ROLLOFF = 0.945
"""Where the filter begins to close, as a part of what the lower rate can hold."""
_BETA = 10.0
_PERIOD = 256
"""Samples that one product gives for each row, at least."""
_FINEST = 1000
"""Ratios are taken to be fractions of no larger terms; an odd one is off by a tenth of a second
in an hour at the most."""


def resampled(blocks: Iterable[Samples], rate: int) -> Iterator[Samples]:
    """Yield at 16 kHz what *blocks* are at *rate*; as long as they are, to the sample."""
    if rate == RATE:
        yield from blocks
        return
    ratio = _ratio(rate)
    times = -(-_PERIOD // ratio.numerator)
    up, down = ratio.numerator * times, ratio.denominator * times
    matrix, before = _filters(ratio, up, down)
    held = np.zeros(before, np.float32)
    taken = given = 0
    for block in blocks:
        taken += len(block)
        held = np.concatenate([held, block])
        rows = (len(held) - len(matrix)) // down + 1
        if rows > 0:
            made = _product(held, matrix, down, rows)
            held = held[rows * down :]
            given += len(made)
            yield made
    missing = round(taken * ratio) - given
    if missing > 0:
        rows = -(-missing // up)
        held = np.pad(held, (0, max(0, (rows - 1) * down + len(matrix) - len(held))))
        yield _product(held, matrix, down, rows)[:missing]


def _ratio(rate: int) -> Fraction:
    return Fraction(RATE, rate).limit_denominator(_FINEST) or Fraction(1, _FINEST)


def _product(held: Samples, matrix: Samples, down: int, rows: int) -> Samples:
    windows = np.lib.stride_tricks.sliding_window_view(held, len(matrix))[::down][:rows]
    made: Samples = (windows @ matrix).reshape(-1)
    return made


@lru_cache(maxsize=2)
def _filters(ratio: Fraction, up: int, down: int) -> tuple[Samples, int]:
    """Return a matrix from a stretch of input to *up* samples, and how far back it reaches.

    The column *n* is the filter around the moment ``n / ratio`` of the input.
    """
    cutoff = _ROLLOFF * min(1.0, float(ratio))
    reach = int(np.ceil(_CROSSINGS / min(1.0, float(ratio))))
    moments = np.arange(up) / float(ratio)
    offsets = np.arange(-reach, down + reach)[:, None] - moments[None, :]
    window = np.i0(_BETA * np.sqrt(np.maximum(0, 1 - (offsets / reach) ** 2))) / np.i0(_BETA)
    window[np.abs(offsets) > reach] = 0
    return (cutoff * np.sinc(cutoff * offsets) * window).astype(np.float32), reach
