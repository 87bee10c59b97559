"""Where a cited text stands in a text, and what became of it. Pure.

Two texts are compared: the one *before*, which the citation was made from as far as that
is known, and the one *now*. The text is

    unchanged   if it stands within the cited lines
    moved       if it stands elsewhere, and did not stand there before as well
    changed     if other lines have taken its place; ``is_edited`` if they are much like it
    gone        if nothing has

Lines end at LF only and count from 1, both ends included (ruling R6).

Where nothing but the hash and the number of lines of a text is known, it is found by that:
a chunk begins with a line, or within one where a long line was cut, and ends before white
space. So the candidates are: so many lines anywhere, without white space after them; and,
on the cited lines, what begins and ends at a sentence or a word.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher, unified_diff
from functools import lru_cache
from hashlib import blake2b
from typing import Literal, TypeAlias

from kb_core.ids import content_hash
from kb_core.text import LineIndex
from kb_core.values import dataclass

__all__ = [
    "Lines",
    "Quote",
    "Status",
    "Verdict",
    "find_by_hash",
    "has_part",
    "judge",
    "occurrences",
    "quote_by_hash",
    "quoted_lines",
    "quoted_part",
]

Status: TypeAlias = Literal["unchanged", "moved", "changed", "gone"]
Lines: TypeAlias = tuple[int, int]
"""First and last line, from 1, both included."""

_MOST_OCCURRENCES = 1000
_MOST_LINES_COMPARED = 20_000
"""Longer differences between two texts are taken for one replacement of all of it."""
_ALIKE = 0.6
"""The share of words in common from which a text is an edit of the other."""
_HUNK = re.compile(r"^@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Quote:
    """A cited text, and its lines in the text before.

    ``begins`` and ``ends`` tell whether it begins and ends with a line, but for white space
    after it; else its edge is within one.
    """

    text: str
    lines: Lines
    begins: bool = True
    ends: bool = True


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a text; ``lines`` are where it, or what took its place, stands now."""

    status: Status
    lines: Lines | None = None
    diff: str | None = None
    is_edited: bool = False


def quoted_lines(text: str, lines: Lines) -> Quote | None:
    """Return lines of *text* as a quote, clamped at its end; ``None`` if the first is past it."""
    index = LineIndex(text)
    first, last = lines[0], min(lines[1], len(index))
    if first > last:
        return None
    start, end = index.range_of(first, last)
    return Quote(text[start:end].removesuffix("\n"), (first, last))


def quoted_part(text: str, start: int, end: int) -> Quote:
    """Return the range of *text* as a quote."""
    lines = LineIndex(text).lines_of(start, end)
    return Quote(text[start:end], lines, _begins_line(text, start), _ends_line(text, end))


def judge(quote: Quote, cited: Lines, before: str, now: str, names: tuple[str, str]) -> Verdict:
    """Say what became of *quote*, cited at lines *cited*; *names* head the diff."""
    found = occurrences(quote, now)
    if any(cited[0] <= first and last <= cited[1] for first, last in found):
        return Verdict("unchanged", cited)
    start, end = _counterpart(before, now, quote.lines)
    there = [lines for lines in found if start < lines[0] and lines[1] <= end]
    if there:
        return Verdict("moved", there[0])
    if found and len(found) >= len(occurrences(quote, before)):
        return Verdict("moved", min(found, key=lambda lines: abs(lines[0] - 1 - start)))
    old = before.split("\n")[quote.lines[0] - 1 : quote.lines[1]]
    return _replaced(old, quote, now.split("\n"), (start, end), names)


def occurrences(quote: Quote, text: str) -> list[Lines]:
    """Return the lines of every place in *text* where the quote stands, in order.

    Where it has edges within a line, they are not within a word.
    """
    if not quote.text.strip():
        return [quote.lines] if quoted_lines(text, quote.lines) == quote else []
    starts = list(_starts(quote, text))
    index, further = LineIndex(text if starts else ""), quote.text.count("\n")
    first_lines = map(index.line_at, starts)
    return [(first, first + further) for first in first_lines]


def _starts(quote: Quote, text: str) -> Iterator[int]:
    wanted, count = quote.text, 0
    at = text.find(wanted)
    while at != -1 and count < _MOST_OCCURRENCES:
        end = at + len(wanted)
        begins = _begins_line(text, at) if quote.begins else _parts_words(text, at)
        if begins and (_ends_line(text, end) if quote.ends else _parts_words(text, end)):
            count += 1
            yield at
        at = text.find(wanted, at + 1)


def _begins_line(text: str, at: int) -> bool:
    return at == 0 or text[at - 1] == "\n"


def _ends_line(text: str, at: int) -> bool:
    end = text.find("\n", at)
    return not text[at : end if end != -1 else len(text)].strip()


def _parts_words(text: str, at: int) -> bool:
    inside = 0 < at < len(text) and _in_word(text[at - 1]) and _in_word(text[at])
    return not inside


def _in_word(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character == "_")


def _replaced(
    old: Sequence[str], quote: Quote, new: Sequence[str], place: Lines, names: tuple[str, str]
) -> Verdict:
    """Judge what stands in the place of lines *old*: the lines after *place[0]*."""
    start, end = place
    stands = list(new[start:end])
    if not any(line.strip() for line in stands):
        return Verdict("gone")
    diff = _diff(old, stands, (quote.lines[0], start + 1), names)
    alike = _share(quote.text, "\n".join(stands))
    return Verdict("changed", (start + 1, end), diff, is_edited=alike >= _ALIKE)


def _share(old: str, new: str) -> float:
    """Return the share of the words of *old* that *new* has, too."""
    words = Counter(re.findall(r"\w+|[^\w\s]", old))
    kept = words & Counter(re.findall(r"\w+|[^\w\s]", new))
    return kept.total() / max(1, words.total())


def _diff(old: Sequence[str], new: Sequence[str], first: Lines, names: tuple[str, str]) -> str:
    """Return a unified diff of two excerpts whose first lines are *first* in their texts."""
    made = unified_diff(old, new, _flat(names[0]), _flat(names[1]), lineterm="")
    text = "\n".join(made)

    def shifted(match: re.Match[str]) -> str:
        # An empty range is named by the line before it, so both shift alike.
        before, now = int(match[1]) + first[0] - 1, int(match[3]) + first[1] - 1
        return f"@@ -{before}{match[2] or ''} +{now}{match[4] or ''} @@"

    return _HUNK.sub(shifted, text) + "\n"


def _flat(name: str) -> str:
    return name.replace("\n", " ").replace("\t", " ")


def _counterpart(before: str, now: str, lines: Lines) -> Lines:
    """Return which lines of *now* stand where *lines* of *before* stood.

    From 0, the end not included; an empty range if they were taken out.
    """
    wanted = lines[0] - 1, lines[1]
    found = (_overlap((a, b), (c, d), wanted) for a, b, c, d in _changes(before, now))
    parts = [part for part in found if part is not None]
    return min(start for start, _ in parts), max(end for _, end in parts)


@lru_cache(maxsize=4)
def _changes(before: str, now: str) -> tuple[tuple[int, int, int, int], ...]:
    """Return ranges of all lines *before*, with the ranges of lines *now* in their place."""
    old, new = before.split("\n"), now.split("\n")
    same = _common(old, new)
    tail = _common(old[same:][::-1], new[same:][::-1])
    ends = len(old) - tail, len(new) - tail
    blocks = [(0, same, 0, same)]
    if max(ends) - same > _MOST_LINES_COMPARED:
        blocks.append((same, ends[0], same, ends[1]))
    else:
        matcher = SequenceMatcher(None, old[same : ends[0]], new[same : ends[1]])
        for _, a, b, c, d in matcher.get_opcodes():
            blocks.append((a + same, b + same, c + same, d + same))
    return (*blocks, (ends[0], len(old), ends[1], len(new)))


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    """Return how many lines both begin with."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((n for n, (left, right) in pairs if left != right), min(len(old), len(new)))


def _overlap(old: Lines, new: Lines, wanted: Lines) -> Lines | None:
    """Return the part of *new* that belongs to the part of *old* inside *wanted*."""
    low, high = max(old[0], wanted[0]), min(old[1], wanted[1])
    if old[0] == old[1]:  # lines were put in: they belong to what is around them
        return new if wanted[0] < old[0] < wanted[1] else None
    if low >= high:
        return None
    if old[1] - old[0] == new[1] - new[0]:
        return low - old[0] + new[0], high - old[0] + new[0]
    return new


_MOST_CHARACTERS = 100_000_000
"""How much is hashed while windows of lines are tried."""
_MOST_PARTS = 500_000
"""How many parts of the cited lines are tried, at each kind of edge."""
_Edges: TypeAlias = tuple[re.Pattern[str], re.Pattern[str]]
_LINE: _Edges = (re.compile(r"(?<=\n)(?=\S)"), re.compile(r"(?<=\S)(?=\n)"))
_SENTENCE: _Edges = (
    re.compile(r"""(?<=[.!?…。！？｡"'”’」』）)\]*_\s])(?=\S)"""),
    re.compile(r"""(?<=[.!?…。！？｡"'”’」』）)\]*_])(?=\s|[^\x00-\u024f])"""),
)
_WORD: _Edges = (
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


def has_part(block: str, digest: str) -> bool:
    """Say whether some part of *block* has the hash: what was cited may be cut otherwise now."""
    return any(_found(block, edges, digest) for edges in (_LINE, _SENTENCE, _WORD))


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
    first_end, last_start = block.find("\n"), block.rstrip("\n").rfind("\n") + 1
    latest = len(block) if first_end == -1 else first_end - 1
    for edges in (_SENTENCE, _WORD):
        if part := _found(block, edges, digest, latest, last_start + 1):
            return part
    return None


def _found(
    block: str, edges: _Edges, digest: str, latest: int | None = None, earliest: int = 0
) -> tuple[int, int] | None:
    """Return the range between two *edges* that has the hash.

    It starts at *latest* or before, and ends at *earliest* or after.
    """
    begins, ends = edges
    starts = [at for at in _places(block, begins) if latest is None or at <= latest]
    stops = [at for at in _places(block, ends) if at >= earliest]
    if len(starts) * len(stops) > _MOST_PARTS:
        return None
    wanted = bytes.fromhex(digest)
    for start in starts:
        if (end := _end_of(block, start, stops, wanted)) is not None:
            return start, end
    return None


def _places(block: str, pattern: re.Pattern[str]) -> list[int]:
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
