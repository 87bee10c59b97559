"""Finding a text of which nothing but the hash and the number of its lines is known. Pure.

A chunk begins with a line, or within one where a long line was cut, and ends before white
space. So the candidates are: so many lines anywhere, without white space after them; and,
on the cited lines, what begins and ends at a sentence or a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b

from kb_app._citing.matching import Lines, Quote, quoted_part
from kb_core.ids import content_hash
from kb_core.text import LineIndex

__all__ = ["find_by_hash", "quote_by_hash"]

_MOST_CHARACTERS = 100_000_000
"""How much is hashed while windows of lines are tried."""
_MOST_PARTS = 500_000
"""How many parts of the cited lines are tried, at each kind of edge."""
_SENTENCE = (
    re.compile(r"""(?<=[.!?…。！？｡"'”’」』）)\]*_\s])(?=\S)"""),
    re.compile(r"""(?<=[.!?…。！？｡"'”’」』）)\]*_])(?=\s|[^\x00-\u024f])"""),
)
_WORD = (
    re.compile(r"(?<=\s)(?=\S)|(?<=[^\x00-\u024f])(?=\S)"),
    re.compile(r"(?<=\S)(?=\s)|(?<=[^\x00-\u024f])"),
)
"""Where a part may start, and where it may end: chunks are cut at sentences, else at words."""


def quote_by_hash(text: str, cited: Lines, digest: str) -> Quote | None:
    """Return what is at the *cited* lines of *text* and has the hash *digest*."""
    lines = LineIndex(text)
    if cited[1] > len(lines):
        return None
    start, end = lines.range_of(*cited)
    block = text[start:end]
    for shown in (block.rstrip(), block.removesuffix("\n"), block):
        if content_hash(shown) == digest:
            return Quote(block.removesuffix("\n"), cited)
    part = _part(block, digest)
    return None if part is None else quoted_part(text, start + part[0], start + part[1])


def find_by_hash(text: str, cited: Lines, digest: str) -> Quote | None:
    """Return as many whole lines of *text* as are *cited* that have the hash *digest*.

    Those that are nearest to the cited lines, if there are several.
    """
    lines = text.split("\n")
    count = cited[1] - cited[0] + 1
    spent = 0
    for first in _outwards(cited[0], len(lines) - count + 1):
        window = "\n".join(lines[first - 1 : first - 1 + count]).rstrip()
        spent += len(window)
        if spent > _MOST_CHARACTERS:
            return None
        if content_hash(window) == digest:
            return Quote(window, (first, first + count - 1))
    return None


def _outwards(middle: int, last: int) -> Iterator[int]:
    """Yield the numbers from 1 to *last*, those nearest to *middle* first."""
    for distance in range(max(middle, last) + 1):
        for number in dict.fromkeys((middle - distance, middle + distance)):
            if 1 <= number <= last:
                yield number


def _part(block: str, digest: str) -> tuple[int, int] | None:
    """Return the range of *block* that has the hash, and leaves out none of its lines."""
    wanted = bytes.fromhex(digest)
    for begins, ends in (_SENTENCE, _WORD):
        starts, stops = _edges(block, begins), _edges(block, ends)
        first_end, last_start = block.find("\n"), block.rstrip("\n").rfind("\n") + 1
        starts = [at for at in starts if first_end == -1 or at < first_end]
        stops = [at for at in stops if at > last_start]
        if len(starts) * len(stops) > _MOST_PARTS:
            continue
        for start in starts:
            if (end := _end_of(block, start, stops, wanted)) is not None:
                return start, end
    return None


def _edges(block: str, pattern: re.Pattern[str]) -> list[int]:
    return sorted({0, *(match.start() for match in pattern.finditer(block)), len(block)})


def _end_of(block: str, start: int, ends: Sequence[int], wanted: bytes) -> int | None:
    running, at = blake2b(digest_size=16), start
    for end in ends:
        if end <= start:
            continue
        running.update(block[at:end].encode("utf-8", "surrogatepass"))
        at = end
        if running.copy().digest()[: len(wanted)] == wanted:
            return end
    return None
