"""Questions without what their vectors say of being questions.

A model of sentences puts all questions near each other, and some passages nearer to every
question than others are, whatever it asks: *hubs* (Radovanović, Nanopoulos and Ivanović, "Hubs
in Space", JMLR 2010). What a question shares with those that ask nothing in particular, *What
is it?*, speaks for the hubs alone, and part of it is taken away: that is inverted scoring by a
bank of queries (Bogolin et al., "Cross Modal Retrieval with Querybank Normalisation", CVPR 2022)
in its linear form, for which passages, their files and the scan stay as they are. Most is gained
where question and passages are in different languages, and in talk.

Plain questions of a language are one direction, and of code each is one;
``tools/plain_questions.py`` has them, and writes what the default model makes of them.
"""

from __future__ import annotations

import struct
from functools import cache
from math import exp, sqrt
from operator import mul, truediv
from pathlib import Path
from typing import NamedTuple

from kb_search.products import Matrix, dots

__all__ = ["FILE", "without_plain"]

FILE = "plain-questions.e5-small.i8"
"""Vectors as ``kb_core.quantization`` has them, one after the other."""
_MODEL = "multilingual-e5-small."
"""The model of these vectors, whatever its quantization and revision."""
_SCALE = 4
_DIMENSIONS = 384
_SHARE = 0.33
"""Of what is shared; with .25 to .4, development collections rank as well."""
_NEARNESS = 0.01
"""By how much nearer, in cosines, a plain question counts e times as much."""
_AS_NEAR = 0.91
"""How near a passage is to plain questions, on average, measured by their own squared length."""


def without_plain(query: bytes, model_key: str) -> tuple[bytes, float]:
    """Return a question's vector without them, and what that takes from its cosines on average.

    *query* is float32, little-endian; one by a model whose plain questions are not known stays.
    """
    if not model_key.startswith(_MODEL):
        return query, 0.0
    asked = struct.unpack(f"<{_DIMENSIONS}f", query)
    plain = _plain_questions()
    near = list(map(truediv, plain.rows @ asked, plain.lengths))
    nearest = max(near)
    weights = [exp((each - nearest) / _NEARNESS) for each in near]
    total = sum(weights)
    shared = [part / total for part in plain.columns @ list(map(mul, weights, plain.scales))]
    left = [component - _SHARE * part for component, part in zip(asked, shared, strict=True)]
    above = _SHARE * _AS_NEAR * sum(map(mul, shared, shared))
    return struct.pack(f"<{_DIMENSIONS}f", *left), above


class _Plain(NamedTuple):
    rows: Matrix
    """In whole numbers, without their scales."""
    columns: Matrix
    scales: list[float]
    lengths: list[float]


@cache
def _plain_questions() -> _Plain:
    kept = Path(__file__).with_name(FILE).read_bytes()
    starts = range(0, len(kept), _SCALE + _DIMENSIONS)
    scales = [struct.unpack_from("<f", kept, at)[0] for at in starts]
    numbers = [kept[at + _SCALE : at + _SCALE + _DIMENSIONS] for at in starts]
    rows = Matrix([memoryview(each).cast("b") for each in numbers])
    lengths = [sqrt(dots(each, each, _DIMENSIONS)[0]) for each in numbers]
    return _Plain(rows, rows.transposed(), scales, lengths)
