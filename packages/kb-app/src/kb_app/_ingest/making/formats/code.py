"""Code with a grammar: one block for each function, method and head of a class.

Blocks are whole lines. Comments, decorators and attributes belong to the unit they stand
before; a class is a head, its members, and gaps for what lies between them; imports and
other lines outside all units are gaps, of which those that give names their values, right below
the imports of a file, are constants, paragraph by paragraph. Lines that only close what was
opened belong to what they follow. The symbol of a member is its path, joined by dots. Tests
that are called by a sentence are units of that name. Of a component, the script is read so.

An error in the code never fails the file: what the grammar makes out is used. A line without
end is data, which no grammar is shown; a file that has little beside such lines, or takes a
grammar too long, is cut at its blank lines, with a warning.

A chunk is one unit, or small siblings together. A unit is not cut while it fits; one that
does not is cut at blank lines, then at lines, and its parts are numbered. No text is in two
chunks. Small units with one parent are merged up to the target; so are the gaps between
units, and a gap of a few tokens goes with the unit after it, as does the head of a class that
is as short with its first member. Constants are merged with each
other alone, up to a third of the target: among imports, and beside what happens to come next,
nothing would tell what they are. A resource (Kubernetes) is never merged. The symbol of a chunk
is that of its unit; of merged ones, their symbols, with commas.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby
from time import monotonic
from typing import TYPE_CHECKING

from kb_app._ingest.judging.kinds import WRITTEN_LINES
from kb_app._ingest.making.blocks import Lines, Region, flatten, paragraphs, settled
from kb_app._ingest.making.components import COMPONENTS, parts_of, scripts_of, with_parts
from kb_app._ingest.making.cutting import BLOCK, Group, Piece, Sizes, pack
from kb_app._ingest.making.grammars import CODE_ALIASES, LANGUAGES, Language
from kb_app._ingest.making.metadata import code_metadata
from kb_app._ingest.making.preprocessed import (
    blank,
    first_branches,
    is_broken,
    is_statement,
    unannotated,
    unmacroed,
)
from kb_app._ingest.making.units import find_units
from kb_app._ingest.making.versions import CODE as _PARSER, CODE_CHUNKS as _CHUNKER
from kb_core.documents import Block, ChunkDraft, ChunkLimits, ParsedDocument, SourceFile
from kb_core.ports import Content, TokenCounter
from kb_core.values import dataclass, lazy_pattern

if TYPE_CHECKING:
    import tree_sitter

__all__ = ["CodeChunker", "CodeParser"]


_LONGEST_LINE = 5_000
"""Longer lines are generated, units are whole lines, and on some of them grammars that
look far ahead take minutes and all memory without ever asking whether to go on."""
_SECONDS = 3.0
_SECONDS_PER_BYTE = 3e-6
_PIECE = 1 << 12
_PREPROCESSED = frozenset({"c", "cpp"})


class CodeParser:
    """``Parser`` of code in the languages of ``kb_app._ingest.making.grammars``."""

    version = _PARSER

    def __call__(self, content: Content, file: SourceFile, /) -> ParsedDocument:
        lines = Lines(content.text)
        name = file.code_lang or ""
        language = LANGUAGES[CODE_ALIASES.get(name, name)]
        warnings = list(content.warnings)
        tree = None
        text = _without_endless(lines)
        parts = parts_of(lines, name) if name in COMPONENTS and text is not None else []
        if parts:
            text = scripts_of(lines, parts)
        if text is None:
            warnings.append(f"code: a line of over {_LONGEST_LINE} characters, cut at blank lines")
        elif (tree := _tree(text, name, language)) is None:
            warnings.append("code: the grammar took too long, cut at blank lines")
        if tree is None:
            regions = paragraphs(lines, 0, len(lines), "gap")
        else:
            units = find_units(tree.root_node, language)
            units = with_parts(parts, units) if parts else units
            regions = settled(lines, flatten(units, len(lines), "gap"))
            regions = _with_constants(lines, regions, tree.root_node)
        return ParsedDocument(
            text=content.text,
            media=file.media,
            metadata=code_metadata(file.path),
            code_lang=file.code_lang,
            blocks=tuple(block for region in regions if (block := lines.block(region))),
            warnings=tuple(warnings),
            parser_version=_PARSER,
        )


def _without_endless(lines: Lines) -> str | None:
    """Return what a grammar reads, without endless lines; ``None`` if little else is in it."""
    sizes = list(map(len, lines.texts))
    if max(sizes) <= _LONGEST_LINE:
        return lines.text
    long = sum(size for size in sizes if size > _LONGEST_LINE)
    written = sum(0 < size <= _LONGEST_LINE for size in sizes)
    if long * 2 > len(lines.text) and written < WRITTEN_LINES:
        return None
    return "\n".join("" if len(text) > _LONGEST_LINE else text for text in lines.texts)


_CONSTANTS = "constants"
_IMPORTING = lazy_pattern(
    r"import|^use_declaration|_use_|include|using_directive|^package_|^future_"
)
_BRANCHES = frozenset({"if_statement", "try_statement"})
_DEEPEST = 3
"""How far branches within branches are looked into for imports."""
_AMONG_IMPORTS = frozenset({"comment", "line_comment", "block_comment", "expression_statement"})
_GIVES_A_VALUE = lazy_pattern(r"[ \t]*[\w$][\w$ ]*(?::[^=\n]+)?=\s*(?:[-+(\[{]\s*)?[\"'`\d]")


def _with_constants(
    lines: Lines, regions: Iterable[Region], root: tree_sitter.Node
) -> Iterator[Region]:
    """Yield the constants of what stands right below the imports, each paragraph apart."""
    last = _last_import(root)
    for region in regions:
        if region.kind != "gap" or not region.first <= last < region.end - 1:
            yield region
            continue
        rest = region
        for first, end in _statements(lines, last + 1, region.end, root):
            if any(map(_GIVES_A_VALUE.match, lines.texts[first:end])):
                if rest.first < first:
                    yield rest.within(rest.first, first)
                yield rest.within(first, end)._replace(symbol_kind=_CONSTANTS)
                rest = rest.within(end, region.end)
        if rest.first < rest.end:
            yield rest


def _statements(
    lines: Lines, first: int, end: int, root: tree_sitter.Node
) -> Iterator[tuple[int, int]]:
    """Yield the paragraphs between two rows, those that one statement holds as one."""
    nodes = (node for node in root.named_children if first <= node.start_point.row < end)
    within = {row for node in nodes for row in range(node.start_point.row, node.end_point.row)}
    start = end
    for part in paragraphs(lines, first, end, "gap"):
        if part.first - 1 not in within:
            if start < part.first:
                yield start, part.first
            start = part.first
    if start < end:
        yield start, end


def _last_import(root: tree_sitter.Node) -> int:
    """Return the last row of the imports that a file begins with; -1 where it has none."""
    last = -1
    for node in root.named_children:
        if _imports(node) or (last >= 0 and _lists_names(node)):
            last = node.end_point.row
        elif node.type not in _AMONG_IMPORTS:
            break
    return last


def _imports(node: tree_sitter.Node, depth: int = 0) -> bool:
    if node.type not in _BRANCHES:
        return _IMPORTING.search(node.type) is not None
    # As of ``if TYPE_CHECKING:``.
    body = node.child_by_field_name("consequence") or node.child_by_field_name("body")
    if body is None or depth > _DEEPEST:
        return False
    return all(_imports(child, depth + 1) for child in body.named_children)


def _lists_names(node: tree_sitter.Node) -> bool:
    return node.type == "expression_statement" and (node.text or b"").startswith(b"__all__")


_ITEMS = lazy_pattern(
    rb"\{\s*(?:///?|/\*|#!?\[|[a-z_]\w*!\s*\{|(?:pub|unsafe|async|const|static|extern|fn|struct|enum"
    rb"|union|impl|trait|mod|use|type)\b)"
)
_HOLD_ITEMS = frozenset({"declaration_list", "impl_item", "mod_item", "trait_item"})
_ROUNDS = 3
"""How deep macros may be in macros."""


def _tree(text: str, name: str, language: Language) -> tree_sitter.Tree | None:
    """Return the syntax tree; of Rust with the items that stand within macros.

    ``cfg_net! { … }`` is so many signs to the grammar, whatever is in it. Where the grammar does
    not read all of it, with what ``_better`` tries.
    """
    source = text.encode("utf-8", "replace")
    if name in _PREPROCESSED:
        source = unmacroed(source)
    tree = _parse(source, language)
    if tree is not None and tree.root_node.has_error:
        tree = _better(tree, source, name, language)
    for _ in range(_ROUNDS if name == "rust" else 0):
        if tree is None or not (around := list(_around_items(tree.root_node, source))):
            break
        opened = bytearray(source)
        for start, end in around:
            opened[start:end] = blank(source[start:end])
        source = bytes(opened)
        tree = _parse(source, language)
    return tree


def _better(
    tree: tree_sitter.Tree, source: bytes, name: str, language: Language
) -> tree_sitter.Tree:
    """Return the tree, or one in which more is made out: by other branches, or by types (Flow)."""
    grammar, other = language, source
    if name in {"javascript", "jsx"}:
        grammar = LANGUAGES["tsx"]
    elif name == "kotlin":
        other = unannotated(source)
    elif name in _PREPROCESSED or (name == "csharp" and b"\n#else" in source):
        other = first_branches(source) if is_broken(tree.root_node) else source
    if grammar is language and other == source:
        return tree  # read again, it would be the same
    again = _parse(other, grammar)
    more = again is not None and _count(again, language) > _count(tree, language)
    return again if again is not None and more else tree


def _count(tree: tree_sitter.Tree, language: Language) -> int:
    """Return how many units there are, without the statements that are taken for some."""
    units = find_units(tree.root_node, language)
    return sum(not is_statement(unit.symbol) for unit in units)


def _around_items(node: tree_sitter.Node, source: bytes) -> Iterator[tuple[int, int]]:
    """Yield from where to where macros that hold items begin and end."""
    for child in node.named_children:
        if child.type in _HOLD_ITEMS:
            yield from _around_items(child, source)
        elif child.type == "macro_invocation":
            body = child.named_children[-1]
            if _ITEMS.match(source, body.start_byte):
                yield child.start_byte, body.start_byte + 1
                yield body.end_byte - 1, child.end_byte


def _parse(source: bytes, language: Language) -> tree_sitter.Tree | None:
    """Return the syntax tree, or ``None`` if that takes longer than the size explains."""
    from tree_sitter import Parser

    parser = Parser(_grammar(language.module, language.function))
    deadline = monotonic() + _SECONDS + len(source) * _SECONDS_PER_BYTE

    # Bytes and no view of them: ``Node.text`` crashes on a tree that was read from views.
    def read(offset: int, _point: object) -> bytes:
        return source[offset : offset + _PIECE]

    def is_late(_offset: int, _has_error: bool) -> bool:  # noqa: FBT001 - the library's call
        return monotonic() > deadline

    try:
        return parser.parse(read, progress_callback=is_late)
    except ValueError:
        return None


@cache
def _grammar(module: str, function: str) -> tree_sitter.Language:
    from tree_sitter import Language as Grammar

    return Grammar(getattr(importlib.import_module(module), function)())


_SMALL = 4
"""A unit is small below this part of the target."""
_SLIGHT = 8
"""A gap is slight below this part of the target."""
_FEW = 3
"""Constants are merged up to this part of the target."""
_MOST_SYMBOLS = 8


class CodeChunker:
    """``Chunker`` of code."""

    version = _CHUNKER

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
    are_constants: bool = False
    is_head: bool = False
    """Nothing but the heads of what follows."""

    def joined(self, other: _Bundle) -> _Bundle:
        return _Bundle(
            self.pieces + other.pieces,
            other.parent if self.is_head else self.parent,
            self.tokens + other.tokens,
            self.has_units or other.has_units,
            other.is_small and (self.is_small or not self.has_units),
            is_closed=False,
            are_constants=other.are_constants,
            is_head=self.is_head and other.is_head,
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
            block.symbol_kind == _CONSTANTS,
            block.kind != "gap" and _is_head(blocks, piece.owner),
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
    tokens = current.tokens + new.tokens
    is_slight = current.tokens * _SLIGHT < limits.target_tokens
    if current.is_closed or new.is_closed:
        return False
    if current.is_head and is_slight:
        return tokens <= limits.max_tokens
    if current.parent != new.parent:
        return False
    if current.are_constants or new.are_constants:
        return current.are_constants and new.are_constants and tokens * _FEW <= limits.target_tokens
    if not current.has_units and (is_slight or not new.has_units):
        return tokens <= (limits.max_tokens if new.has_units else limits.target_tokens)
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
        is_head = _is_head(blocks, number)
        parents.append(symbol if is_head else around.get(block.level - 1, ""))
        around[block.level] = symbol
    return parents


def _is_head(blocks: Sequence[Block], number: int) -> bool:
    """Say whether a unit is the head of what follows it."""
    block = blocks[number]
    following = blocks[number + 1] if number + 1 < len(blocks) else block
    return following.level > block.level or (
        following.kind == "gap" and following.symbol == block.symbol
    )


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
    """Return what a chunk defines; of heads within heads, the innermost."""
    units = [block.symbol for block in blocks if block.symbol and block.kind != "gap"]
    symbols = list(dict.fromkeys(units or [block.symbol for block in blocks if block.symbol]))
    after = [*symbols[1:], "", ""]
    told = [
        symbol
        for at, symbol in enumerate(symbols)
        if not (after[at].startswith(f"{symbol}.") and after[at + 1].startswith(f"{after[at]}."))
    ]
    return ", ".join(told[:_MOST_SYMBOLS]) or None
