"""Chunks of documents with headings: the rules that Markdown and plain text share.

A section is a heading and what follows it up to the next heading; it starts a chunk. A
heading with nothing under it goes with the section after it, and so does front matter,
unless it is long: by itself it would be found for the title that it stands under, and tell
nothing. Tiny sections under one heading are merged up to the target, so that no chunk is a
lone line without need. The heading path of a chunk is what its sections have in common.

The head of a table stays with its first row. A chunk that goes on with a table that was cut
stands under the names of its columns, too: a row says little without them. Of a table that
tells of one name in each row, such as a reference of settings, few rows make a chunk: whoever
asks is after one of them.

Data for programs that stands in a text, such as pictures in links, is in no chunk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from kb_app._ingest.making.cutting import BLOCK, LINE, PART, SECTION, Group, Piece, Sizes, pack
from kb_app._ingest.making.embedded_data import without_data
from kb_core.documents import Block, ChunkDraft, ChunkLimits, ParsedDocument
from kb_core.ports import TokenCounter
from kb_core.values import lazy_pattern

__all__ = ["column_names", "section_chunks"]

_TINY = 4
"""A section is tiny below this part of the target."""
_LINE_KINDS = frozenset({"code", "table", "html", "front_matter"})
"""Kinds of blocks in which a full stop ends nothing."""
_LONGEST_NAME, _LONGEST_NAMES = 60, 80
_VALUE = lazy_pattern(r"[-+(]?[\d.,:/ %€$£¥T-]*\d[\d.,:/ %€$£¥)TZ-]*")
_RULE = lazy_pattern(r"[\s|:+=-]*-[\s|:+=-]*")
_MARKS = lazy_pattern(r"[*_`]+|\[([^\]]*)\]\([^()]*\)")
_CELLS = lazy_pattern(r"(?<!\\)\||\t")
_TAGS = lazy_pattern(r"<[^<>\n]*>")
_ADDRESS = lazy_pattern(r"\w+://\S+")
_ENTRY = 3
"""How many times its tokens a row that tells of a name counts, towards the target: questions about
settings find as many with 5, which makes a quarter more passages of it, and fewer with 2."""
_FEW, _MOSTLY, _TOLD = 4, 2 / 3, 12
"""The rows that such a table has at least, the share of them that tell of a name, and in how many
letters: figures and addresses tell nothing apart."""


def section_chunks(
    document: ParsedDocument, counter: TokenCounter, limits: ChunkLimits
) -> list[ChunkDraft]:
    """Return the chunks of a document whose blocks stand under headings, without data in it."""
    runs = without_data(document.text, document.blocks)
    return [chunk for run in runs if run for chunk in _chunks(document, run, counter, limits)]


def _chunks(
    document: ParsedDocument, blocks: Sequence[Block], counter: TokenCounter, limits: ChunkLimits
) -> Iterator[ChunkDraft]:
    sizes = Sizes(document.text, counter, limits)
    tokens = sizes.of([(block.start, block.end) for block in blocks])
    bundles = _bundled(_sections(blocks, tokens), limits.target_tokens)
    bundle_of = [number for number, (first, end) in enumerate(bundles) for _ in range(first, end)]
    pieces = [
        Piece(block.start, block.end, size, _joint(block), owner)
        for owner, (block, size) in enumerate(zip(blocks, tokens, strict=True))
    ]
    heads = _heads(document, blocks)
    fitted = sizes.fitted(
        pieces,
        lambda piece: blocks[piece.owner].kind not in _LINE_KINDS,
        {owner: head.end for owner, head in heads.items()},
    )
    references = {
        owner: head.end
        for owner, head in heads.items()
        if _is_reference(document.text, blocks[owner], head)
    }
    if references:
        fitted = _by_rows(document.text, fitted, references, sizes)
    packed: list[Sequence[Piece]] = []
    for _, bundle in groupby(fitted, lambda piece: bundle_of[piece.owner]):
        packed += _packed(list(bundle), references, limits)
    for group in sizes.checked(packed):
        yield ChunkDraft(
            start=group.start,
            end=group.end,
            heading_path=_path(blocks, group) + _columns(blocks, heads, group),
            token_count=group.tokens,
        )


def column_names(values: Sequence[str]) -> tuple[str, ...]:
    """Return the names of columns, where *values* can be names and nothing else."""
    names = tuple(" ".join(value.split()) for value in values)
    are_names = (
        len(names) > 1
        and all(0 < len(name) <= _LONGEST_NAME and not _VALUE.fullmatch(name) for name in names)
        and len(set(names)) == len(names)
    )
    return names if are_names else ()


class _Head(NamedTuple):
    """What a table begins with."""

    names: str
    end: int
    """Where its first row ends."""


def _heads(document: ParsedDocument, blocks: Sequence[Block]) -> dict[int, _Head]:
    """Return the heads of the tables that have one, by the number of their block.

    A table of Markdown has a line under it; of others, what can be names has to be.
    """
    text, heads = document.text, {}
    for number, block in enumerate(blocks):
        if block.kind != "table" or document.media == "csv":
            continue
        first = text.find("\n", block.start, block.end)
        second = text.find("\n", first + 1, block.end)
        if first < 0 or second < 0:
            continue
        line = text[block.start : first]
        cells = _CELLS.split(line.strip().strip("|") if "|" in line else line)
        if _RULE.fullmatch(text, first, second):
            plain = (" ".join(_MARKS.sub(r"\1", cell).split()) for cell in cells)
            end = text.find("\n", second + 1, block.end)
            names = ", ".join(filter(None, plain))
        else:
            end, names = second, ", ".join(column_names(cells))
        if names:
            heads[number] = _Head(names[:_LONGEST_NAMES], end if end > 0 else block.end)
    return heads


def _is_reference(text: str, block: Block, head: _Head) -> bool:
    """Say whether a table tells of one name in each row, as references of settings do."""
    rows = text[head.end : block.end].split("\n")
    rows = [row for row in rows if row.strip() and not _RULE.fullmatch(row)]
    return len(rows) >= _FEW and sum(map(_is_entry, rows)) >= _MOSTLY * len(rows)


def _is_entry(row: str) -> bool:
    cells = _CELLS.split(row.strip().strip("|"))
    name = _TAGS.sub("", cells[0]).strip()
    is_code = len(name) > 1 and name[0] == name[-1] == "`"
    is_name = is_code or len(name.replace(", ", ",").split()) == 1
    told = (_ADDRESS.sub("", cell) for cell in cells[1:])
    return is_name and any(sum(map(str.isalpha, cell)) >= _TOLD for cell in told)


def _by_rows(
    text: str, fitted: Sequence[Piece], references: Mapping[int, int], sizes: Sizes
) -> list[Piece]:
    """Return pieces, those of *references* cut at each row after the first, which ends there."""
    parts: list[Piece] = []
    for piece in (each for each in fitted if each.owner in references):
        at, joint = piece.start, piece.joint
        while at < piece.end:
            line = text.find("\n", max(at, references[piece.owner]), piece.end)
            end = line + 1 if line >= 0 else piece.end
            parts.append(Piece(at, end, 0, joint, piece.owner))
            at, joint = end, LINE
    tokens = sizes.of([(part.start, part.end) for part in parts])
    rows = [part._replace(tokens=size) for part, size in zip(parts, tokens, strict=True)]
    return sorted([*(each for each in fitted if each.owner not in references), *rows])


def _packed(
    pieces: Sequence[Piece], references: Mapping[int, int], limits: ChunkLimits
) -> list[Sequence[Piece]]:
    """Return *pieces* in groups, fewer of the rows of *references* in each."""
    if references.keys().isdisjoint(piece.owner for piece in pieces):
        return pack(pieces, limits, limits.overlap_tokens)
    counted = [
        piece._replace(tokens=max(piece.tokens, min(_ENTRY * piece.tokens, limits.target_tokens)))
        if piece.owner in references
        else piece
        for piece in pieces
    ]
    own = {piece.start: piece for piece in pieces}
    groups = pack(counted, limits, limits.overlap_tokens)
    return [[own[piece.start] for piece in group] for group in groups]


def _columns(blocks: Sequence[Block], heads: dict[int, _Head], group: Group) -> tuple[str, ...]:
    """Return the names of columns under which most of a group stands without their head."""
    owner = group.first.owner
    head = heads.get(owner)
    if head is None or group.start < head.end:
        return ()
    rows = min(group.end, blocks[owner].end) - group.start
    return (head.names,) if 2 * rows > group.end - group.start else ()


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
