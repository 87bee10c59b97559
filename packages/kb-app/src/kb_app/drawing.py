"""Pictures that are shown: pixels, boxes marked on them, PNG files. The standard library alone."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

from kb_core.values import dataclass

__all__ = ["Picture", "mark", "png"]

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_DEPTH, _RGB = 8, 2
_CHANNELS = 3
_EDGE = b"\xe0\x60\x00"
_SHADE = bytes(value * 5 // 8 for value in range(256))
"""What is marked loses blue: white becomes yellow, and black stays black."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A place as it looks, as a PNG file; what is cited is marked on it, if that is known."""

    png: bytes
    width: int
    height: int
    uri: str
    marks: int
    """How many boxes are marked: none where all of the page is meant."""
    is_as_indexed: bool
    """Whether the file is the one that was indexed; else it looks as it is now."""


def mark(
    pixels: bytearray, size: tuple[int, int], box: tuple[int, int, int, int], width: int = 2
) -> None:
    """Shade a box of an RGB picture and draw an edge of *width* pixels around it.

    *box* is left, upper, right and lower side, the latter two not included.
    """
    across, down = size
    x0, y0, x1, y1 = box
    x0, x1 = max(x0, 0), min(x1, across)
    y0, y1 = max(y0, 0), min(y1, down)
    for y in range(y0, y1):
        first, end = (y * across + x0) * _CHANNELS, (y * across + x1) * _CHANNELS
        if end <= first:
            return
        pixels[first + 2 : end : _CHANNELS] = pixels[first + 2 : end : _CHANNELS].translate(_SHADE)
        if y < y0 + width or y >= y1 - width:
            pixels[first:end] = _EDGE * ((end - first) // _CHANNELS)
        else:
            edge = min(width, x1 - x0)
            pixels[first : first + _CHANNELS * edge] = _EDGE * edge
            pixels[end - _CHANNELS * edge : end] = _EDGE * edge


def png(pixels: bytes | bytearray, size: tuple[int, int]) -> bytes:
    """Return an RGB picture, rows from the top and without padding, as a PNG file."""
    head = struct.pack(">IIBBBBB", *size, _DEPTH, _RGB, 0, 0, 0)
    packed = zlib.compress(b"".join(_rows(bytes(pixels), size[0] * _CHANNELS)), 6)
    return _SIGNATURE + _part(b"IHDR", head) + _part(b"IDAT", packed) + _part(b"IEND", b"")


def _rows(pixels: bytes, length: int) -> Iterator[bytes]:
    for at in range(0, len(pixels), length):
        yield b"\0"  # no filter
        yield pixels[at : at + length]


def _part(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
