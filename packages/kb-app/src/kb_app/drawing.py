"""Pictures that are shown: pixels, boxes marked on them, PNG files. The standard library alone."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

from kb_core.values import dataclass

__all__ = ["Picture", "first_mark", "mark", "pixels_of", "png", "shrunk"]

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


def pixels_of(picture: Picture) -> bytes:
    """Return what ``png`` was given: RGB, rows from the top and without padding."""
    at, packed = len(_SIGNATURE), b""
    while at < len(picture.png):
        (size,) = struct.unpack_from(">I", picture.png, at)
        if picture.png[at + 4 : at + 8] == b"IDAT":
            packed += picture.png[at + 8 : at + 8 + size]
        at += size + 12
    rows, length = zlib.decompress(packed), 1 + picture.width * _CHANNELS
    return b"".join(rows[at + 1 : at + length] for at in range(0, len(rows), length))


def shrunk(pixels: bytes, size: tuple[int, int], width: int) -> tuple[bytes, tuple[int, int]]:
    """Return an RGB picture of at most *width* pixels across, each the mean of those it is of."""
    across, down = size
    if across <= width:
        return pixels, size
    height = max(1, round(down * width / across))
    columns = [(x * across // width, max((x + 1) * across // width, 1)) for x in range(width)]
    made = bytearray()
    for y in range(height):
        first, last = y * down // height, max((y + 1) * down // height, 1)
        rows = [
            pixels[row * across * _CHANNELS :][: across * _CHANNELS] for row in range(first, last)
        ]
        for x0, x1 in columns:
            for channel in range(_CHANNELS):
                part = slice(x0 * _CHANNELS + channel, x1 * _CHANNELS, _CHANNELS)
                made.append(sum(sum(row[part]) for row in rows) // (len(rows) * (x1 - x0)))
    return bytes(made), (width, height)


def first_mark(pixels: bytes, width: int) -> int:
    """Return the first row of an RGB picture that the edge of a mark is in; 0 without one."""
    at = pixels.find(_EDGE)
    while at % _CHANNELS and at >= 0:
        at = pixels.find(_EDGE, at + 1)
    return max(0, at) // (_CHANNELS * width)


def _rows(pixels: bytes, length: int) -> Iterator[bytes]:
    for at in range(0, len(pixels), length):
        yield b"\0"  # no filter
        yield pixels[at : at + length]


def _part(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
