"""What the C library keeps of memory that was freed, and how to have it given back.

glibc keeps an area for each thread that allocates, and gives back what lies free at its end
alone. The engines work in threads that come and go with each commit, so what one of them has
freed is of no use to the next. Where the C library is another one, nothing is done.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache

__all__ = ["give_back", "return_large_blocks"]

_M_MMAP_THRESHOLD, _LARGE_BLOCK = -3, 128 << 10


def give_back() -> None:
    """Give the system back all pages that nothing is on; a few milliseconds."""
    import ctypes  # two milliseconds: not where little is written

    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


@cache
def return_large_blocks() -> None:
    """Have every large block given back when it is freed, from here on.

    Left alone the C library keeps larger blocks on its heap the more of them were freed, and
    what lies between those that are used again stays: a fifth of the peak while a huge document
    is stored.
    """
    import ctypes  # two milliseconds: not where nothing is large

    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE_BLOCK)
