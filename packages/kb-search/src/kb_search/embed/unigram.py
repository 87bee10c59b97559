"""A unigram vocabulary as one file, and the best segmentation of a word over it.

Loading the 250,002 pieces of XLM-R into the ``tokenizers`` library takes .6 s, longer
than the whole of a cold search. This file is mapped instead: nothing is read but the
pages a query's words fall on, and a query of ten words takes well under a millisecond.

Layout, little-endian: header · slots (u32, a hash table of piece numbers + 1, keyed by
the piece's CRC-32, linear probing) · ends (u32, where each piece's bytes end) · scores
(f32) · the pieces' bytes · the normal forms of characters as JSON.

``Vocabulary.segment`` gives the ids that ``tokenizers`` gives, ties included: sums in
double precision, shorter pieces first, a later path wins only if it is strictly better,
neighbouring unknown characters are one unknown token.
"""

from __future__ import annotations

import json
import struct
from array import array
from collections.abc import Iterator
from itertools import accumulate
from typing import TypeAlias
from zlib import crc32

from kb_search.embed.e5_file import Words

__all__ = ["Buffer", "Vocabulary", "pack_vocabulary"]

Buffer: TypeAlias = bytes | memoryview

_HEADER = struct.Struct("<4s7Id")
_MAGIC = b"KBV1"
_N_SLOTS = 1 << 20
_UNKNOWN_PENALTY = 10.0
"""How far an unknown character scores below the rarest piece; sentencepiece's constant."""


def pack_vocabulary(words: Words) -> bytes:
    """Return the file for *words*."""
    slots = array("I", bytes(4 * _N_SLOTS))
    for number, piece in enumerate(words.pieces, 1):
        slot = crc32(piece) & (_N_SLOTS - 1)
        while slots[slot]:
            slot = (slot + 1) & (_N_SLOTS - 1)
        slots[slot] = number
    ends = array("I", accumulate(map(len, words.pieces)))
    scores = array("f", words.scores)
    longest = max(len(piece.decode()) for piece in words.pieces)
    header = _HEADER.pack(
        _MAGIC,
        len(words.pieces),
        _N_SLOTS,
        longest,
        ends[-1],
        words.first,
        words.last,
        words.unknown,
        min(scores),
    )
    codes, forms = "".join(map(chr, words.normal)), "\0".join(words.normal.values())
    normal = json.dumps([codes, forms], ensure_ascii=False)
    return b"".join(
        (header, slots.tobytes(), ends.tobytes(), scores.tobytes(), *words.pieces, normal.encode())
    )


class Vocabulary:
    """A packed vocabulary, over bytes or a mapped file; immutable, hence for any thread."""

    def __init__(self, data: Buffer) -> None:
        view = memoryview(data)
        magic, count, n_slots, longest, size, *special, lowest = _HEADER.unpack_from(view)
        if magic != _MAGIC:
            raise ValueError(f"not a packed vocabulary: it begins with {magic!r}")
        self.first, self.last, self.unknown = special
        self._longest, self._unknown_score = longest, lowest - _UNKNOWN_PENALTY
        place = _HEADER.size
        self._slots = view[place : (place := place + 4 * n_slots)].cast("I")
        self._ends = view[place : (place := place + 4 * count)].cast("I")
        self._scores = view[place : (place := place + 4 * count)].cast("f")
        self._bytes = view[place : (place := place + size)]
        self.normal = _read_normal(view[place:])

    def pieces(self) -> Iterator[tuple[str, float]]:
        """Yield every piece with its score, in the order of their ids."""
        start, blob = 0, bytes(self._bytes)
        for end, score in zip(self._ends, self._scores, strict=True):
            yield blob[start:end].decode(), score
            start = end

    def segment(self, word: str) -> list[int]:
        """Return the ids of the best segmentation of *word*, which begins with ``▁``."""
        letters = [letter.encode() for letter in word]
        n = len(letters)
        scores, starts, ids = [-1e300] * (n + 1), [0] * (n + 1), [0] * (n + 1)
        scores[0] = 0.0
        for start in range(n):
            base = scores[start]
            if self._extend(letters, start, (scores, starts, ids)):
                continue
            if base + self._unknown_score > scores[start + 1]:
                scores[start + 1] = base + self._unknown_score
                starts[start + 1], ids[start + 1] = start, self.unknown
        return self._walk_back(starts, ids)

    def _extend(
        self,
        letters: list[bytes],
        start: int,
        best: tuple[list[float], list[int], list[int]],
    ) -> bool:
        """Try the pieces that begin at *start*; tell whether the first letter is one."""
        scores, starts, ids = best
        slots, ends, mask = self._slots, self._ends, len(self._slots) - 1
        base, key, code, known = scores[start], b"", 0, False
        for end in range(start + 1, min(len(letters), start + self._longest) + 1):
            letter = letters[end - 1]
            key += letter
            code = crc32(letter, code)
            slot = code & mask
            while number := slots[slot]:
                begin = ends[number - 2] if number > 1 else 0
                if self._bytes[begin : ends[number - 1]] == key:
                    score = self._scores[number - 1] + base
                    if score > scores[end]:
                        scores[end], starts[end], ids[end] = score, start, number - 1
                    known = known or end == start + 1
                    break
                slot = (slot + 1) & mask
        return known

    def _walk_back(self, starts: list[int], ids: list[int]) -> list[int]:
        path: list[int] = []
        end = len(starts) - 1
        while end:
            if not (path and path[-1] == ids[end] == self.unknown):
                path.append(ids[end])
            end = starts[end]
        return path[::-1]


def _read_normal(text: Buffer) -> dict[int, str]:
    codes, forms = json.loads(bytes(text))
    return dict(zip(map(ord, codes), forms.split("\0"), strict=True))
