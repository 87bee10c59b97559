"""The vocabulary of a unigram tokenizer in one file, and the best way to cut a word into it.

Loading the 250,002 pieces of XLM-R into the ``tokenizers`` library takes .6 s, longer than the
whole of a cold search. This file is mapped instead: nothing is read but the pages a query's
words fall on, and a query of ten words takes well under a millisecond. Layout, little-endian:
header · slots (u32, a hash table of all beginnings of pieces, keyed by their CRC-32, linear
probing) · ends (u32, where each piece's bytes end) · scores (f32) · the pieces' bytes · the
pairs of characters that stand side by side in pieces · the normal forms of characters as
JSON. A slot holds the number + 1 of a piece that begins so, and whether it is that piece.

``Vocabulary.segment`` gives the ids that ``tokenizers`` gives, ties included: sums in
double precision, shorter pieces first, a later path wins only if it is strictly better,
neighbouring unknown characters are one unknown token. ``Vocabulary.counts`` gives the number of
them, by the same rules, for words in order: how a beginning is cut best does not depend on what
follows, so what two neighbours begin with is cut once.
"""

from __future__ import annotations

import json
import struct
from array import array
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import accumulate
from operator import add
from typing import TypeAlias
from zlib import crc32

from kb_search.embed.e5 import Words

__all__ = ["Buffer", "Vocabulary", "pack_vocabulary"]

Buffer: TypeAlias = bytes | memoryview

_HEADER = struct.Struct("<4s8Id")
_MAGIC = b"KBV2"
_N_SLOTS = 1 << 20
_IS_PIECE = 1 << 31
_NUMBER = _IS_PIECE - 1
_UNKNOWN_PENALTY = 10.0
"""How far an unknown character scores below the rarest piece; sentencepiece's constant."""
_MAX_NODES = 200_000
_NOWHERE = -1e300
_FEW = 16
"""Characters that are cut off one by one."""


def pack_vocabulary(words: Words) -> bytes:
    """Return the file for *words*."""
    pieces = [piece.decode() for piece in words.pieces]
    beginnings: dict[str, int] = {}
    for number, piece in enumerate(pieces, 1):
        for end in range(1, len(piece)):
            beginnings.setdefault(piece[:end], number)
    beginnings.update((piece, number | _IS_PIECE) for number, piece in enumerate(pieces, 1))
    slots = array("I", bytes(4 * _N_SLOTS))
    for beginning, entry in beginnings.items():
        slot = crc32(beginning.encode()) & (_N_SLOTS - 1)
        while slots[slot]:
            slot = (slot + 1) & (_N_SLOTS - 1)
        slots[slot] = entry
    ends = array("I", accumulate(map(len, words.pieces)))
    scores = array("f", words.scores)
    pairs = "".join(sorted({pair for piece in pieces for pair in map(add, piece, piece[1:])}))
    header = _HEADER.pack(
        _MAGIC,
        len(pieces),
        _N_SLOTS,
        max(map(len, pieces)),
        ends[-1],
        len(pairs.encode()),
        words.first,
        words.last,
        words.unknown,
        min(scores),
    )
    codes, forms = "".join(map(chr, words.normal)), "\0".join(words.normal.values())
    normal = json.dumps([codes, forms], ensure_ascii=False)
    parts = (slots.tobytes(), ends.tobytes(), scores.tobytes(), *words.pieces)
    return b"".join((header, *parts, pairs.encode(), normal.encode()))


class Vocabulary:
    """A packed vocabulary, over bytes or a mapped file; for any thread."""

    def __init__(self, data: Buffer) -> None:
        view = memoryview(data)
        magic, count, n_slots, longest, size, paired, *special, lowest = _HEADER.unpack_from(view)
        if magic != _MAGIC:
            raise ValueError(f"not a packed vocabulary: it begins with {magic!r}")
        self.first, self.last, self.unknown = special
        self._longest, self._unknown_score = longest, lowest - _UNKNOWN_PENALTY
        place = _HEADER.size
        self._slots = view[place : (place := place + 4 * n_slots)].cast("I")
        self._ends = view[place : (place := place + 4 * count)].cast("I")
        self._scores = view[place : (place := place + 4 * count)].cast("f")
        self._bytes: Buffer = view[place : (place := place + size)]
        self._pairs = view[place : (place := place + paired)]
        self.normal = _read_normal(view[place:])
        self._root, self._n_nodes = _Node(self, b"", 0), 0

    def pieces(self) -> Iterator[tuple[str, float]]:
        """Yield every piece with its score, in the order of their ids."""
        start, blob = 0, bytes(self._bytes)
        for end, score in zip(self._ends, self._scores, strict=True):
            yield blob[start:end].decode(), score
            start = end

    @cached_property
    def pairs(self) -> frozenset[str]:
        """The pairs of characters that stand side by side in some piece."""
        self._bytes = bytes(self._bytes)  # for much text: it is compared in half the time
        pairs = str(self._pairs, "utf-8")
        return frozenset(map(add, pairs[::2], pairs[1::2]))

    def holds(self, letter: str) -> bool:
        """Say whether a letter alone is a piece."""
        node = self._root[letter]
        return node is not None and node.piece is not None

    def segment(self, word: str) -> list[int]:
        """Return the ids of the best segmentation of *word*."""
        n, root, longest = len(word), self._root, self._longest
        scores, starts, ids = [_NOWHERE] * (n + 1), [0] * (n + 1), [self.unknown] * (n + 1)
        scores[0] = 0.0
        for start, letter in enumerate(word):
            base, first = scores[start], root[letter]
            if first is None or first.piece is None:
                score = base + self._unknown_score
                if score > scores[start + 1]:
                    scores[start + 1], starts[start + 1], ids[start + 1] = (
                        score,
                        start,
                        self.unknown,
                    )
            node, end = root, start
            for further in word[start : start + longest]:
                child = node[further]
                if child is None:
                    break
                node = child
                end += 1
                if node.piece is not None and (score := node.score + base) > scores[end]:
                    scores[end], starts[end], ids[end] = score, start, node.piece
        return self._walk_back(starts, ids)

    def _walk_back(self, starts: list[int], ids: list[int]) -> list[int]:
        path: list[int] = []
        end = len(starts) - 1
        while end:
            if not (path and path[-1] == ids[end] == self.unknown):
                path.append(ids[end])
            end = starts[end]
        return path[::-1]

    def counts(self, words: Iterable[str]) -> Iterator[int]:
        """Yield into how many tokens each of *words* is cut; quick where they are sorted."""
        root, unknown_score, before = self._root, self._unknown_score, ""
        written_out = self.text(self.unknown)
        first: _Reached = (0, 0.0, False, [(root, 0, 0.0)])
        reached = [first]
        for word in words:
            if written_out in word:  # a token that is one with unknown ones beside it
                yield len(self.segment(word))
                continue
            shared = _shared(before, word) if before else 0
            del reached[shared + 1 :]
            end = reached[-1]
            for letter in word[shared:]:
                count, alone, was_unknown, pieces = end
                best, tokens, child = _NOWHERE, 0, None
                further = []
                for node, its, base in pieces:
                    child = node[letter]
                    if child is not None:
                        further.append((child, its, base))
                        if child.piece is not None and (score := child.score + base) > best:
                            best, tokens = score, its
                # The last of them began with this letter.
                alone += unknown_score
                is_unknown = (child is None or child.piece is None) and alone > best
                if is_unknown:
                    best, tokens = alone, count - was_unknown
                tokens += 1
                further.append((root, tokens, best))
                end = (tokens, best, is_unknown, further)
                reached.append(end)
            yield end[0]
            before = word

    def child(self, key: bytes, code: int) -> _Node | None:
        """Return the node of a beginning, by its bytes and their CRC-32, if there is such."""
        self._n_nodes += 1
        if self._n_nodes > _MAX_NODES:
            # Replaced, not cleared: another thread may be walking on the old one.
            self._root, self._n_nodes = _Node(self, b"", 0), 0
        slots, ends, blob = self._slots, self._ends, self._bytes
        size, mask = len(key), len(slots) - 1
        slot = code & mask
        while entry := slots[slot]:
            number = (entry & _NUMBER) - 1
            begin = ends[number - 1] if number else 0
            if blob[begin : begin + size] == key and begin + size <= ends[number]:
                return _Node(self, key, code, number if entry & _IS_PIECE else None)
            slot = (slot + 1) & mask
        return None

    def score(self, piece: int) -> float:
        """Return the score of a piece."""
        return self._scores[piece]

    def text(self, piece: int) -> str:
        """Return the letters of a piece."""
        begin = self._ends[piece - 1] if piece else 0
        return str(self._bytes[begin : self._ends[piece]], "utf-8")


class _Node(dict[str, "_Node | None"]):
    """A beginning of pieces, and what it becomes by another character, found when asked for."""

    __slots__ = ("_code", "_key", "_vocabulary", "piece", "score")

    def __init__(
        self, vocabulary: Vocabulary, key: bytes, code: int, piece: int | None = None
    ) -> None:
        super().__init__()
        self._vocabulary, self._key, self._code, self.piece = vocabulary, key, code, piece
        self.score = 0.0 if piece is None else vocabulary.score(piece)

    def __missing__(self, letter: str) -> _Node | None:
        more = letter.encode()
        child = self._vocabulary.child(self._key + more, crc32(more, self._code))
        self[letter] = child
        return child


def _shared(one: str, other: str) -> int:
    """Return how many characters two words begin with alike; of sorted ones, most."""
    shared = min(len(one), len(other))
    if shared > _FEW:
        return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), shared)
    while one[:shared] != other[:shared]:
        shared -= 1
    return shared


_Beginning: TypeAlias = tuple[_Node, int, float]
"""The beginning of a piece, how many tokens are before it, and their score."""


_Reached: TypeAlias = tuple[int, float, bool, list[_Beginning]]
"""How many tokens the beginning of a word is cut into and their score, whether the last one is
unknown, and what may go on from there, to the last one, which begins there."""


def _read_normal(text: Buffer) -> dict[int, str]:
    codes, forms = json.loads(bytes(text))
    return dict(zip(map(ord, codes), forms.split("\0"), strict=True))
