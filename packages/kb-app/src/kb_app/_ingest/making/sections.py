"""Chunks of documents with headings: the rules that Markdown and plain text share.

A section is a heading and what follows it up to the next heading; it starts a chunk. A
heading with nothing under it goes with the section after it, and so does front matter,
unless it is long: by itself it would be found for the title that it stands under, and tell
nothing. Tiny sections under one heading are merged up to the target, so that no chunk is a
lone line without need. The heading path of a chunk is what its sections have in common.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from kb_app._ingest.making.cutting import BLOCK, PART, SECTION, Group, Piece, Sizes, pack
from kb_core.documents import Block, ChunkDraft, ChunkLimits, ParsedDocument
from kb_core.ports import TokenCounter

__all__ = ["section_chunks"]

_TINY = 4
"""A section is tiny below this part of the target."""
_LINE_KINDS = frozenset({"code", "table", "html", "front_matter"})
"""Kinds of blocks in which a full stop ends nothing."""


def section_chunks(
    document: ParsedDocument, counter: TokenCounter, limits: ChunkLimits
) -> list[ChunkDraft]:
    """Return the chunks of a document whose blocks stand under headings."""
    blocks = document.blocks
    sizes = Sizes(document.text, counter, limits)
    tokens = sizes.of([(block.start, block.end) for block in blocks])
    bundles = _bundled(_sections(blocks, tokens), limits.target_tokens)
    bundle_of = [number for number, (first, end) in enumerate(bundles) for _ in range(first, end)]
    pieces = [
        Piece(block.start, block.end, size, _joint(block), owner)
        for owner, (block, size) in enumerate(zip(blocks, tokens, strict=True))
    ]
    fitted = sizes.fitted(pieces, lambda piece: blocks[piece.owner].kind not in _LINE_KINDS)
    packed: list[Sequence[Piece]] = []
    for _, bundle in groupby(fitted, lambda piece: bundle_of[piece.owner]):
        packed += pack(list(bundle), limits, limits.overlap_tokens)
    return [
        ChunkDraft(
            start=group.start,
            end=group.end,
            heading_path=_path(blocks, group),
            token_count=group.tokens,
        )
        for group in sizes.checked(packed)
    ]


class _Section(NamedTuple):
    """Blocks from ``first`` up to, not including, ``end``."""

    first: int
    end: int
    tokens: int
    path: tuple[str, ...]
    is_bare: bool
    """A heading and nothing else."""
    is_front: bool
    """Front matter."""


def _sections(blocks: Sequence[Block], tokens: Sequence[int]) -> Iterator[_Section]:
    starts = [
        number
        for number, block in enumerate(blocks)
        if not number
        or block.kind == "heading"
        or "front_matter" in {block.kind, blocks[number - 1].kind}
    ]
    for first, end in pairwise([*starts, len(blocks)]):
        head = blocks[first]
        yield _Section(
            first,
            end,
            sum(tokens[first:end]),
            head.heading_path,
            is_bare=head.kind == "heading" and end == first + 1,
            is_front=head.kind == "front_matter",
        )


def _bundled(sections: Iterable[_Section], target: int) -> list[tuple[int, int]]:
    """Return ranges of blocks: sections, where they are tiny or bare together."""
    bundles: list[tuple[int, int]] = []
    bundle: list[_Section] = []
    for section in sections:
        if bundle and not _belongs(bundle, section, target):
            bundles.append((bundle[0].first, bundle[-1].end))
            bundle = []
        bundle.append(section)
    if bundle:
        bundles.append((bundle[0].first, bundle[-1].end))
    return bundles


def _belongs(bundle: Sequence[_Section], section: _Section, target: int) -> bool:
    last = bundle[-1]
    if last.is_front:
        return last.tokens * _TINY < target
    if last.is_bare and section.path[: len(last.path)] == last.path:
        return True
    parent = next(each for each in bundle if not each.is_front).path[:-1]
    return (
        section.path[: len(parent)] == parent
        and section.tokens * _TINY < target
        and bundle[-1].tokens * _TINY < target
        and sum(each.tokens for each in bundle) + section.tokens <= target
    )


def _joint(block: Block) -> int:
    if block.kind == "heading":
        return SECTION
    return PART if block.kind == "list_item" and block.level > 1 else BLOCK


def _path(blocks: Sequence[Block], group: Group) -> tuple[str, ...]:
    """Return the headings that all of a group stands under.

    Lone headings do not count, nor does front matter, which stands under none.
    """
    held = blocks[group.first.owner : group.last.owner + 1]
    paths = [block.heading_path for block in held if block.kind not in {"heading", "front_matter"}]
    if not paths:
        return held[-1].heading_path
    shortest, longest = min(paths), max(paths)
    common = 0
    while common < min(len(shortest), len(longest)) and shortest[common] == longest[common]:
        common += 1
    return shortest[:common]
