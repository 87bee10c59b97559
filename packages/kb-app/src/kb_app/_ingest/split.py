"""The arithmetic of chunks: pieces of a text, their sizes, and how to pack them.

A piece is a range with its size in tokens and the joint before it: how good a place that is
to cut. ``Sizes.fitted`` cuts what is too large at ever weaker joints, ``pack`` groups
neighbours up to the target, and ``Sizes.checked`` measures each group as it will stand, for
sizes need not add up: scripts without spaces, and tokenizers that join words.

Counting is what costs: each piece is counted once for each kind of joint it is cut at, in
few large calls, and each group once. Whatever the text, time is linear, and no group is
above the maximum unless it is one single character.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from kb_app._ingest.making.cuts import (
    INSIDE,
    LINE,
    WORD,
    Cuts,
    Piece,
    at_lines,
    at_parts,
    at_sentences,
    between_words,
    in_the_middle,
    trimmed,
)
from kb_core.documents import ChunkLimits
from kb_core.ports import TokenCounter

__all__ = ["Group", "Sizes", "pack"]

_CHARACTERS_PER_TOKEN = 32
"""A token counts for at least so many characters: what a model calls one unknown token may
be a whole line, and white space none at all."""
_BATCH = 8192


class Group(NamedTuple):
    """Neighbouring pieces that make one chunk."""

    start: int
    end: int
    tokens: int
    first: Piece
    last: Piece


class Sizes:
    """Measures ranges of one text, and cuts pieces until each can stand in a chunk."""

    def __init__(self, text: str, counter: TokenCounter, limits: ChunkLimits) -> None:
        self._text = text
        self._counter = counter
        self._most = limits.max_tokens
        self._target = min(limits.target_tokens, limits.max_tokens)

    def of(self, ranges: Sequence[tuple[int, int]]) -> list[int]:
        """Return the size of each of *ranges*, in few calls of the counter."""
        sizes: list[int] = []
        for at in range(0, len(ranges), _BATCH):
            batch = ranges[at : at + _BATCH]
            counts = self._counter.count_many([self._text[start:end] for start, end in batch])
            sizes += [
                max(tokens, (end - start) // _CHARACTERS_PER_TOKEN)
                for tokens, (start, end) in zip(counts, batch, strict=True)
            ]
        return sizes

    def fitted(self, pieces: list[Piece], is_prose: Callable[[Piece], bool]) -> list[Piece]:
        """Return *pieces* with those above the maximum cut down to the target.

        The cuts are at blank lines, at lines and, in prose, sentences, between words,
        and at last between characters.
        """
        large = [piece for piece in pieces if piece.tokens > self._most]
        if not large:
            return pieces

        def within(text: str, piece: Piece) -> Iterator[tuple[int, int]]:
            return (at_sentences if is_prose(piece) else at_lines)(text, piece)

        def halves(text: str, piece: Piece) -> Iterator[tuple[int, int]]:
            for at, joint in in_the_middle(text, piece):
                if joint != INSIDE or piece.tokens > self._most:
                    yield at, joint

        for cuts in (at_parts, within, between_words):
            large = self._cut(large, cuts)
        halved: list[Piece] = []
        while len(halved) != len(large):
            halved, large = large, self._cut(large, halves)
        kept = [piece for piece in pieces if piece.tokens <= self._most]
        return sorted(kept + large)

    def checked(self, packed: Iterable[Sequence[Piece]]) -> list[Group]:
        """Return what was packed as groups, measured; those above the maximum in halves."""
        groups: list[Group] = []
        waiting = list(packed)
        while waiting:
            ranges = [trimmed(self._text, pieces[0].start, pieces[-1].end) for pieces in waiting]
            together = [found for found, pieces in zip(ranges, waiting, strict=True) if pieces[1:]]
            measured = iter(self.of(together))
            halves: list[Sequence[Piece]] = []
            for (start, end), pieces in zip(ranges, waiting, strict=True):
                tokens = next(measured) if pieces[1:] else pieces[0].tokens
                if tokens <= self._most or not pieces[1:]:
                    groups.append(Group(start, end, tokens, pieces[0], pieces[-1]))
                else:
                    middle = len(pieces) // 2
                    halves += (pieces[:middle], pieces[middle:])
            waiting = halves
        return sorted(group for group in groups if group.start < group.end)

    def _cut(self, pieces: list[Piece], cuts: Cuts) -> list[Piece]:
        """Cut those of *pieces* that are above the target, and measure what comes of it."""
        whole, parts = [], []
        for piece in pieces:
            if piece.tokens <= self._target:
                whole.append(piece)
                continue
            places = [(piece.start, piece.joint), *cuts(self._text, piece)]
            if len(places) == 1:
                whole.append(piece)
                continue
            ends = [*(at for at, _ in places[1:]), piece.end]
            parts += [
                piece._replace(start=at, end=end, joint=joint)
                for (at, joint), end in zip(places, ends, strict=True)
            ]
        sizes = self.of([(part.start, part.end) for part in parts])
        parts = [part._replace(tokens=size) for part, size in zip(parts, sizes, strict=True)]
        return sorted(whole + parts)


def pack(pieces: Sequence[Piece], limits: ChunkLimits, overlap: int = 0) -> list[Sequence[Piece]]:
    """Return *pieces* in groups near the target size, none above the maximum.

    A group ends at the best joint of its second half. Where that is inside a block, the
    next group begins up to *overlap* tokens earlier, at a line or a sentence.
    """
    sums = [0, *accumulate(piece.tokens for piece in pieces)]
    groups = []
    start, least = 0, 1
    while start < len(pieces):
        end = _end(pieces, sums, start, least, limits)
        groups.append(pieces[start:end])
        start, least = _next_start(pieces, sums, (start, end), overlap, limits), end + 1
    return groups


def _end(
    pieces: Sequence[Piece], sums: list[int], start: int, least: int, limits: ChunkLimits
) -> int:
    target, most, begun = limits.target_tokens, limits.max_tokens, sums[start]
    if sums[-1] - begun <= target:
        return len(pieces)
    end = max(least, bisect_right(sums, begun + target, lo=start + 1) - 1)
    if end >= len(pieces):
        return len(pieces)
    tail = sums[-1] - sums[end]
    if tail * 8 < target and sums[-1] - begun <= most:
        return len(pieces)
    half = begun + target // 2
    if sums[end] < half and sums[end + 1] - begun <= most:
        return end + 1
    first = max(least, bisect_right(sums, half, lo=start + 1))
    return max(range(first, end + 1), key=lambda at: (pieces[at].joint, at), default=end)


def _next_start(
    pieces: Sequence[Piece],
    sums: list[int],
    group: tuple[int, int],
    overlap: int,
    limits: ChunkLimits,
) -> int:
    start, end = group
    if not overlap or end == len(pieces) or pieces[end].owner != pieces[end - 1].owner:
        return end
    best, at, owner = end, end - 1, pieces[end].owner
    while at > start and sums[end] - sums[at] <= overlap and pieces[at].owner == owner:
        fits = sums[end + 1] - sums[at] <= limits.max_tokens
        good = pieces[at].joint >= LINE or (best == end and pieces[at].joint == WORD)
        if fits and good:
            best = at
        at -= 1
    return best
