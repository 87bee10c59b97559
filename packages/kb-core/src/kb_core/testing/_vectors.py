"""Vectors as bytes and back: float32 (``f``) for queries, float16 (``e``) for passages."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Sequence

__all__ = ["dot", "floats", "normalized", "pack_floats"]


def floats(data: bytes, kind: str) -> tuple[float, ...]:
    """Read a little-endian vector."""
    return struct.unpack(f"<{len(data) // struct.calcsize(kind)}{kind}", data)


def pack_floats(vector: Sequence[float], kind: str) -> bytes:
    """Write a little-endian vector."""
    return struct.pack(f"<{len(vector)}{kind}", *vector)


def dot(left: Iterable[float], right: Iterable[float]) -> float:
    """Return the inner product."""
    return math.fsum(a * b for a, b in zip(left, right, strict=True))


def normalized(vector: Sequence[float]) -> list[float]:
    """Return *vector* with length 1; a vector of zeros points along the first axis."""
    length = math.sqrt(dot(vector, vector))
    if not length:
        return [1.0, *([0.0] * (len(vector) - 1))]
    return [value / length for value in vector]
