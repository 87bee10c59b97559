"""Chunks of code: one unit each, small siblings together.

A unit is not cut while it fits; one that does not is cut at blank lines, then at lines, and
its parts are numbered. No text is in two chunks. Small units with one parent are
merged up to the target; so are the gaps between units, and a gap of a few tokens goes with
the unit after it. A resource (Kubernetes) is never merged.

The symbol of a chunk is that of its unit; of merged ones, their symbols, with commas.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from kb_app._ingest.making.cuts import BLOCK, Piece
from kb_app._ingest.split import Group, Sizes, pack
from kb_core.documents import Block, ChunkDraft, ChunkLimits, ParsedDocument
from kb_core.ports import TokenCounter

__all__ = ["VERSION", "CodeChunker"]

VERSION = "code-1"

_SMALL = 4
"""A unit is small below this part of the target."""
_SLIGHT = 8
"""A gap is slight below this part of the target."""
_MOST_SYMBOLS = 8


class CodeChunker:
    """``Chunker`` of code."""

    version = VERSION

    def __call__(
        self, document: ParsedDocument, counter: TokenCounter, limits: ChunkLimits, /
    ) -> Iterable[ChunkDraft]:
        sizes = Sizes(document.text, counter, limits)
        blocks = document.blocks
        tokens = sizes.of([(block.start, block.end) for block in blocks])
        pieces = [
            Piece(block.start, block.end, size, BLOCK, owner)
            for owner, (block, size) in enumerate(zip(blocks, tokens, strict=True))
        ]
        whole: list[Sequence[Piece]] = []
        large: list[Piece] = []
        for bundle in _bundled(blocks, pieces, limits):
            if len(bundle) == 1 and bundle[0].tokens > limits.max_tokens:
                large += bundle
            else:
                whole.append(bundle)
        cut = _by_owner(sizes.fitted(large, lambda _: False))
        packed = [part for pieces in cut for part in pack(pieces, limits)]
        return _numbered(blocks, sizes.checked([*whole, *packed]))


@dataclass(frozen=True, slots=True)
class _Bundle:
    """Blocks that share a chunk, and may take in the next one."""

    pieces: tuple[Piece, ...]
    parent: str
    tokens: int
    has_units: bool
    is_small: bool
    """All of its units, or else the gap, are small."""
    is_closed: bool
    """Never merged: a resource."""

    def joined(self, other: _Bundle) -> _Bundle:
        return _Bundle(
            self.pieces + other.pieces,
            self.parent,
            self.tokens + other.tokens,
            self.has_units or other.has_units,
            other.is_small and (self.is_small or not self.has_units),
            is_closed=False,
        )


def _bundled(
    blocks: Sequence[Block], pieces: Iterable[Piece], limits: ChunkLimits
) -> Iterator[tuple[Piece, ...]]:
    """Yield the pieces that share a chunk; one that is above the maximum is alone."""
    parents = _parents(blocks)
    current: _Bundle | None = None
    for piece in pieces:
        block = blocks[piece.owner]
        new = _Bundle(
            (piece,),
            parents[piece.owner],
            piece.tokens,
            block.kind != "gap",
            piece.tokens * _SMALL < limits.target_tokens,
            block.symbol_kind == "resource",
        )
        if current is None:
            current = new
        elif _joins(current, new, limits):
            current = current.joined(new)
        else:
            yield current.pieces
            current = new
    if current is not None:
        yield current.pieces


def _joins(current: _Bundle, new: _Bundle, limits: ChunkLimits) -> bool:
    if current.parent != new.parent or current.is_closed or new.is_closed:
        return False
    tokens = current.tokens + new.tokens
    if not current.has_units and new.has_units and current.tokens * _SLIGHT < limits.target_tokens:
        return tokens <= limits.max_tokens
    if not current.has_units and not new.has_units:
        return tokens <= limits.target_tokens
    return current.is_small and new.is_small and tokens <= limits.target_tokens


def _parents(blocks: Sequence[Block]) -> list[str]:
    """Return what each block belongs to; the head of a class belongs to that class."""
    parents = []
    around: dict[int, str] = {0: ""}
    for number, block in enumerate(blocks):
        symbol = block.symbol or ""
        if block.kind == "gap":
            parents.append(symbol)
            continue
        following = blocks[number + 1] if number + 1 < len(blocks) else block
        is_head = following.level > block.level or (
            following.kind == "gap" and following.symbol == block.symbol
        )
        parents.append(symbol if is_head else around.get(block.level - 1, ""))
        around[block.level] = symbol
    return parents


def _by_owner(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    for _, owned in groupby(pieces, lambda piece: piece.owner):
        yield list(owned)


def _numbered(blocks: Sequence[Block], groups: Sequence[Group]) -> Iterator[ChunkDraft]:
    """Yield the chunks; those that one block was cut into are numbered."""
    counts = Counter(group.first.owner for group in groups)
    part_of: Counter[int] = Counter()
    for group in groups:
        owner = group.first.owner
        part_of[owner] += 1
        yield ChunkDraft(
            start=group.start,
            end=group.end,
            symbol=_symbol(blocks[owner : group.last.owner + 1]),
            part=part_of[owner] if counts[owner] > 1 else None,
            token_count=group.tokens,
        )


def _symbol(blocks: Sequence[Block]) -> str | None:
    units = [block.symbol for block in blocks if block.symbol and block.kind != "gap"]
    symbols = list(dict.fromkeys(units or [block.symbol for block in blocks if block.symbol]))
    return ", ".join(symbols[:_MOST_SYMBOLS]) or None
