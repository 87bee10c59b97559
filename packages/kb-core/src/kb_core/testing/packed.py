"""Files as tests look at them and damage them.

What bytes hold besides themselves, packed by gzip or by zstd; and other bytes in the place of a
file that an engine has mapped.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import gzip
import zlib
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

__all__ = ["everything_in", "frames_in", "put_instead"]

_FRAME = b"\x28\xb5\x2f\xfd"
"""What a frame of zstd begins with."""
_MOST = 1 << 20


@cache
def _zstd() -> ctypes.CDLL | None:
    found = ctypes.util.find_library("zstd")
    if found is None:
        return None
    library = ctypes.CDLL(found)
    library.ZSTD_decompress.restype = ctypes.c_size_t
    library.ZSTD_findFrameCompressedSize.restype = ctypes.c_size_t
    return library


def frames_in(data: bytes) -> Iterator[bytes]:
    """Yield what the frames of zstd in *data* hold, wherever they begin; nothing without zstd."""
    zstd, at = _zstd(), data.find(_FRAME)
    if zstd is None or at == -1:
        return
    room = ctypes.create_string_buffer(_MOST)
    while at != -1:
        rest = data[at : at + _MOST]
        length = zstd.ZSTD_findFrameCompressedSize(rest, ctypes.c_size_t(len(rest)))
        if not zstd.ZSTD_isError(ctypes.c_size_t(length)):
            size = zstd.ZSTD_decompress(room, ctypes.c_size_t(_MOST), rest, ctypes.c_size_t(length))
            if not zstd.ZSTD_isError(ctypes.c_size_t(size)):
                yield room.raw[:size]
        at = data.find(_FRAME, at + 1)


def everything_in(data: bytes) -> Iterator[bytes]:
    """Yield *data*, what it holds as a file of gzip, and what the frames of zstd in it hold."""
    yield data
    with suppress(OSError, EOFError, zlib.error):
        yield gzip.decompress(data)
    yield from frames_in(data)


def put_instead(file: Path, data: bytes) -> None:
    """Put *data* in the place of *file*.

    Never into the file itself: whoever still has it mapped, such as the engine while it merges,
    would read behind its end, which ends the process.
    """
    beside = file.with_name(f"{file.name}.put")
    beside.write_bytes(data)
    beside.replace(file)
