"""Cutting: where a text may be cut, how good each place is, and how to pack the pieces.

A piece is a range with its size in tokens and the joint before it: how good a place that is
to cut. There are blank lines, lines, ends of sentences, gaps between words, and at last
gaps between characters as people see them, never inside one. ``Sizes.fitted`` cuts what is
too large at ever weaker joints, ``pack`` groups neighbours up to the target, and
``Sizes.checked`` measures each group as it will stand, for sizes need not add up: scripts
without spaces, and tokenizers that join words.

Counting is what costs: each piece is counted once for each kind of joint it is cut at, in
few large calls, unless its length alone says that it is above the maximum; a group is counted
where its pieces do not tell its size. Whatever the text, time is linear, and no group is
above the maximum unless it is one single character.

A model cuts words in capitals into two or three times as many tokens. A text in capitals is
packed as its words in small letters would be, so far as the maximum allows it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from kb_core.documents import ChunkLimits
from kb_core.ports import TokenCounter
from kb_core.text import is_grapheme_boundary, snap_to_grapheme
from kb_core.values import lazy_pattern

__all__ = ["BLOCK", "GLUE", "INSIDE", "LINE", "PART", "SECTION", "SENTENCE", "WORD"]
__all__ += ["Group", "Piece", "Sizes", "pack", "trimmed"]

INSIDE, GLUE, WORD, LINE, SENTENCE, PART, BLOCK, SECTION = range(8)
"""Joints, from the worst place to cut to the best."""

_RUN = 120
"""Into how many characters, at most, text is cut between words."""
_APART = 32
"""How many characters lie at least between two cuts at lines or sentences."""
_LONGEST_CLUSTER = 2048
_SPACES = " \n\t"
"""What every tokenizer parts words at."""

_PARTS = lazy_pattern(r"\n(?:[^\S\n]*\n)+")
_LINES = lazy_pattern(r"\n")
_SENTENCES = lazy_pattern(
    r"""\n | [.!?…]["'”’»)\]*_]{0,3}[^\S\n]+(?=[^\sa-z])"""
    r"""| [。！？｡]["'”’」』）》】]{0,3}(?![。！？｡…"'”’」』）》】])[^\S\n]*""",
    re.VERBOSE,
)
_LEADING_SPACE = lazy_pattern(r"\s*")
_ENDS = ".!?…。！？｡"


class Piece(NamedTuple):
    """A range of the text, its size, and the joint before it; ``owner`` is the caller's."""

    start: int
    end: int
    tokens: int
    joint: int
    owner: int = 0


_Cuts: TypeAlias = Callable[[str, Piece], Iterator[tuple[int, int]]]
"""Yields places within a piece, in order, and how good each is."""


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the range without blank lines before it and white space after it.

    What begins a line keeps its indentation. An empty range means there was nothing else.
    """
    length = len(text[start:end].rstrip())
    if not length:
        return start, start
    match = _LEADING_SPACE.match(text, start)
    first = match.end() if match else start
    line = text.rfind("\n", start, first) + 1
    if line or start == 0 or text[start - 1] == "\n":
        return line or start, start + length
    return first if _may_cut(text, first) else start, start + length


def _at_parts(text: str, piece: Piece) -> Iterator[tuple[int, int]]:
    """Yield places after blank lines."""
    return _spaced(_PARTS, PART, text, piece)


def _at_lines(text: str, piece: Piece) -> Iterator[tuple[int, int]]:
    """Yield places at which a line starts."""
    return _spaced(_LINES, LINE, text, piece)


def _at_sentences(text: str, piece: Piece) -> Iterator[tuple[int, int]]:
    """Yield places at which a sentence or, a worse joint, a line starts."""
    return _spaced(_SENTENCES, SENTENCE, text, piece)


def _spaced(
    pattern: re.Pattern[str], joint: int, text: str, piece: Piece
) -> Iterator[tuple[int, int]]:
    """Yield the ends of the matches of *pattern*, not too close to each other."""
    least = piece.start + _APART
    for match in pattern.finditer(text, piece.start, piece.end):
        cut = match.end()
        if cut < least or cut >= piece.end or not _may_cut(text, cut):
            continue
        ends_line = match[0] == "\n" and text[match.start() - 1] not in _ENDS
        yield cut, min(joint, LINE) if ends_line else joint
        least = cut + _APART


def _between_words(text: str, piece: Piece) -> Iterator[tuple[int, int]]:
    """Yield places between words, or else characters, at least every ``_RUN`` characters."""
    at, end = piece.start, piece.end
    while end - at > _RUN:
        cut = max(text.rfind(space, at, at + _RUN) for space in _SPACES) + 1
        while 0 < cut < end and text[cut] in _SPACES:
            cut += 1
        joint = WORD
        if cut <= at or not _may_cut(text, cut):
            cut = at + snap_to_grapheme(text[at : min(end, at + _LONGEST_CLUSTER)], _RUN, floor=0)
            joint = WORD if text[cut - 1] in _SPACES else GLUE
        if cut >= end:
            return
        yield cut, joint
        at = cut


def _may_cut(text: str, at: int) -> bool:
    """Say whether a cut at *at* is between two characters as people see them."""
    if at >= len(text) or text[at].isascii() or text[at - 1] == "\n":
        return True
    return is_grapheme_boundary(text[max(0, at - 1) : at + 1], min(at, 1))


def _in_the_middle(text: str, piece: Piece) -> Iterator[tuple[int, int]]:
    """Yield one place near the middle; inside a character if there is nothing but one."""
    start, end = piece.start, piece.end
    if end - start == 1:
        return
    middle, quarter = (start + end) // 2, (end - start) // 4
    space = max(text.rfind(space, start + quarter, middle) for space in _SPACES)
    if space > start and _may_cut(text, space + 1):
        yield space + 1, WORD
        return
    cut = start + snap_to_grapheme(text[start:end], middle - start, floor=0)
    if cut < end:
        yield cut, GLUE
    elif start < middle:
        yield middle, INSIDE


_CHARACTERS_PER_TOKEN = 32
"""A token counts for at least so many characters: what a model calls one unknown token may
be a whole line, and white space none at all."""
_BATCH = 8192
_BATCH_CHARS = 1 << 19
"""So much is counted at once: each of its words is an object for a while."""
_CAPITALS = 0.3
"""From this share of its letters on, a text is looked at piece by piece for capitals."""
_LOOK = 1000
"""How many characters are looked at for that, at the start and in the middle."""
_MOSTLY = 0.7
_CAPITAL_LETTERS = bytes(range(ord("A"), ord("Z") + 1))
_NO_LETTERS = bytes(code for code in range(128) if not chr(code).isalpha())


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
        self._adds_up = counter.adds_up
        self._has_capitals = _capitals(_sample(text)) > _CAPITALS

    def of(self, ranges: Sequence[tuple[int, int]]) -> list[int]:
        """Return the size of each of *ranges*, as it counts for the target."""
        sizes = self._true(ranges)
        if not self._has_capitals:
            return sizes
        loud = [
            at
            for at, (a, b) in enumerate(ranges)
            if not self._is_long(a, b) and _capitals(self._text[a:b]) > _MOSTLY
        ]
        calm = self._counted([ranges[at] for at in loud], str.lower)
        for at, tokens in zip(loud, calm, strict=True):
            # As many of them as make the target are not above the maximum.
            least = -(-sizes[at] * self._target // self._most)
            sizes[at] = min(sizes[at], max(tokens, least))
        return sizes

    def _true(self, ranges: Sequence[tuple[int, int]]) -> list[int]:
        """Return how many tokens each of *ranges* is, in few calls of the counter."""
        counts = self._counted(ranges, str)
        return [
            max(tokens, (end - start) // _CHARACTERS_PER_TOKEN)
            for tokens, (start, end) in zip(counts, ranges, strict=True)
        ]

    def _counted(
        self, ranges: Sequence[tuple[int, int]], form: Callable[[str], str]
    ) -> Iterator[int]:
        """Yield the tokens of each of *ranges* in a *form*; 0 where it is long."""
        texts: list[str] = []
        size = 0
        for start, end in ranges:
            texts.append("" if self._is_long(start, end) else form(self._text[start:end]))
            size += len(texts[-1])
            if len(texts) == _BATCH or size > _BATCH_CHARS:
                yield from self._counter.count_many(texts)
                texts, size = [], 0
        if texts:
            yield from self._counter.count_many(texts)

    def _is_long(self, start: int, end: int) -> bool:
        """Say whether a range is above the maximum whatever its characters are."""
        return (end - start) // _CHARACTERS_PER_TOKEN > self._most

    def _sum(self, pieces: Sequence[Piece]) -> int:
        """Return the size of neighbours as their sizes add up to it; 0 where they may not.

        They do where white space is between each two, and each was counted, not estimated.
        """
        if not self._adds_up or self._has_capitals:
            return 0
        text, end = self._text, 0
        for number, piece in enumerate(pieces):
            if piece.tokens <= (piece.end - piece.start) // _CHARACTERS_PER_TOKEN:
                return 0
            is_apart = text[piece.start] in _SPACES or text[piece.start - 1] in _SPACES
            if number and not (piece.start >= end and is_apart):
                return 0
            end = piece.end
        tokens = sum(piece.tokens for piece in pieces)
        return tokens if tokens > (end - pieces[0].start) // _CHARACTERS_PER_TOKEN else 0

    def fitted(
        self,
        pieces: list[Piece],
        is_prose: Callable[[Piece], bool],
        together: Mapping[int, int] = MappingProxyType({}),
    ) -> list[Piece]:
        """Return *pieces* with those above the maximum cut down to the target.

        The cuts are at blank lines, at lines and, in prose, sentences, between words,
        and at last between characters; of the pieces of an owner in *together*, at no line
        before that offset.
        """
        most = self._target if self._has_capitals else self._most
        large = [piece for piece in pieces if piece.tokens > most]
        if not large:
            return pieces

        def within(text: str, piece: Piece) -> Iterator[tuple[int, int]]:
            cuts = (_at_sentences if is_prose(piece) else _at_lines)(text, piece)
            least = together.get(piece.owner, 0)
            return ((at, joint) for at, joint in cuts if at >= least)

        def halves(text: str, piece: Piece) -> Iterator[tuple[int, int]]:
            for at, joint in _in_the_middle(text, piece):
                if joint != INSIDE or piece.tokens > self._most:
                    yield at, joint

        for cuts in (_at_parts, within, _between_words):
            large = self._cut(large, cuts)
        halved: list[Piece] = []
        while len(halved) != len(large):
            halved, large = large, self._cut(large, halves)
        kept = [piece for piece in pieces if piece.tokens <= most]
        return sorted(kept + large)

    def checked(self, packed: Iterable[Sequence[Piece]]) -> list[Group]:
        """Return what was packed as groups, measured; those above the maximum in halves."""
        groups: list[Group] = []
        waiting = list(packed)
        while waiting:
            ranges = [trimmed(self._text, pieces[0].start, pieces[-1].end) for pieces in waiting]
            sums = [
                self._sum(pieces) if pieces[1:] else pieces[0].tokens * (not self._has_capitals)
                for pieces in waiting
            ]
            together = [found for found, tokens in zip(ranges, sums, strict=True) if not tokens]
            measured = iter(self._true(together))
            halves: list[Sequence[Piece]] = []
            for (start, end), pieces, known in zip(ranges, waiting, sums, strict=True):
                tokens = known or next(measured)
                if tokens <= self._most or not pieces[1:]:
                    groups.append(Group(start, end, tokens, pieces[0], pieces[-1]))
                else:
                    middle = len(pieces) // 2
                    halves += (pieces[:middle], pieces[middle:])
            waiting = halves
        return sorted(group for group in groups if group.start < group.end)

    def _cut(self, pieces: list[Piece], cuts: _Cuts) -> list[Piece]:
        """Cut those of *pieces* that are above the target, and measure what comes of it."""
        whole, parts = [], []
        for piece in pieces:
            if piece.tokens <= self._target:
                whole.append(piece)
                continue
            cut = list(_parted(piece, cuts(self._text, piece)))
            if len(cut) == 1:
                whole.append(piece)
            else:
                parts += cut
        sizes = self.of([(part.start, part.end) for part in parts])
        measured = zip(parts, sizes, strict=True)
        whole += [Piece(p.start, p.end, size, p.joint, p.owner) for p, size in measured]
        return sorted(whole)


def _parted(piece: Piece, places: Iterable[tuple[int, int]]) -> Iterator[Piece]:
    """Yield what *piece* is cut into at *places*, each with the joint before it; unmeasured."""
    start, end, tokens, joint, owner = piece
    for at, better in places:
        yield Piece(start, at, tokens, joint, owner)
        start, joint = at, better
    yield Piece(start, end, tokens, joint, owner)


def _sample(text: str) -> str:
    middle = len(text) // 2
    return text[:_LOOK] + text[middle : middle + _LOOK] if len(text) > 2 * _LOOK else text


def _capitals(text: str) -> float:
    """Return which share of the letters that have a small form are capitals."""
    if text.isascii():
        letters = text.encode().translate(None, _NO_LETTERS)
        small = len(letters.translate(None, _CAPITAL_LETTERS))
        large = len(letters) - small
    else:
        small, large = sum(map(str.islower, text)), sum(map(str.isupper, text))
    return large / (small + large) if large else 0.0


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
