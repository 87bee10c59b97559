"""Outlines: what a document has headings for, or defines by a name, and where each stands.

What its blocks say, and of code what stands beside its units: constants at the margin and
functions within others. An outline is a small part of the text's length: what says least is left
out, and counted.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any

from kb_app._media import has_lines
from kb_app._search.defining import function_begun, name_given
from kb_core import wire
from kb_core.citations import citation_of
from kb_core.media import Media
from kb_core.ports import IndexSnapshot, StoredDoc
from kb_core.text import LineIndex, indent_of
from kb_core.values import dataclass, replace

if TYPE_CHECKING:
    from kb_core.wire import types

__all__ = ["Entry", "beginning_of", "comes_from_elsewhere", "end_of", "entries_of", "joined"]
__all__ += ["is_comment", "outline_of", "symbols_of"]

_OUTLINE_SHARE = 20
_LEAST_OUTLINE = 1_000
"""Characters that an outline may have, however short its document."""
_ENTRY_COST = 12
"""What a line of an outline has beside its name: the lines it stands for."""
_LAST = 99
"""Deeper than anything: what has room after all else."""
_DEEPEST = 20
"""Functions within functions, beyond which nobody reads on and each costs all lines after it."""
_BESIDE = 2
"""Lines between the end of a unit and the beginning of one that stands next to it, at most."""
_FROM_ELSEWHERE = re.compile(r"=\s*(?:await\s+)?(?:require|@?import)\b")
_CLOSES = re.compile(r"\s*(?:[)\]}]|end\b)")
_OPENS = ("{", "(", "[", ":")
_QUOTED = re.compile(r"[=(\[{,:+]\s*(?:[A-Za-z]\w{0,9}\.?\w{0,9})?(\"{3}|'{3}|`)")
"""What opens a text that may have several lines, where a value stands."""
_DOCUMENTED = re.compile(r"\s*(?:@\w+\s+(?:~[sS])?|[bfruBFRU]{0,2})(\"{3}|'{3})")
"""What opens documentation of several lines: of Python, Elixir, Julia."""
_HERE = re.compile(r"(?<![<\w])<<[-~<]?[\"']?([A-Z_]\w*)[\"']?[^<>]*$")
"""What opens a text that ends before a line of that name: of shells, Ruby, Perl and PHP."""
_COMMENT = re.compile(
    r"\s*(?://|/\*|\*(?=[\s/]|$)|--(?=[\s-]|$)|;;|;(?=\s|$)|%+(?=\s|$)|(#)(?![!\[]))"
)
_PREPROCESSED = frozenset(
    ("c", "cpp", "csharp", "fortran", "fsharp", "glsl", "haskell", "hlsl", "metal", "objc", "swift")
)
"""Languages in which lines with a hash say what to compile; in others, they are comments."""
_LONGEST_COMMENT = 40
"""Lines above what it is about; more are of a file."""
_LONGEST_TEXT = 2_000
"""Lines of a text that a constant has, at most."""


def outline_of(
    snapshot: IndexSnapshot, doc: StoredDoc, within: range | None, *, stale: bool
) -> types.Outline:
    """Return outline.v1 of a document, or of what begins or ends in lines *within* it."""
    text = snapshot.doc_text(doc["doc_id"]) or ""
    entries = [*entries_of(snapshot, doc, text)]
    if has_lines(doc):
        entries += _beside(doc, text, entries)
        entries = sorted((one for one in entries if one.is_in(within)), key=Entry.first_line)
    kept = _fitting(entries, max(_LEAST_OUTLINE, len(text) // _OUTLINE_SHARE))
    return wire.outline(
        doc,
        [entry.fields for entry in kept],
        lines=len(LineIndex(text)) if has_lines(doc) else None,
        omitted=len(entries) - len(kept),
        stale=stale,
    )


@dataclass(frozen=True, slots=True)
class Entry:
    """A heading or a symbol: as outlines have it, and what decides whether there is room."""

    level: int
    """What is deeper is left out before what is not."""
    size: int
    """In characters, or of what stands beside units, in lines after the first."""
    fields: types.OutlineEntries
    symbol: str
    """With those that it stands in."""

    @property
    def cost(self) -> int:
        """The characters that it takes in an outline, about."""
        return _ENTRY_COST + 2 * self.fields["level"] + len(self.fields["name"])

    def first_line(self) -> int:
        """Return the line that it begins in, of a document that has lines."""
        return self.fields["line_start"]

    def is_around(self, line: int) -> bool:
        """Say whether a line of a document that has lines stands in this."""
        return self.fields["line_start"] <= line <= self.fields["line_end"]

    def is_in(self, lines: range | None) -> bool:
        """Say whether this begins or ends in *lines*, if there are such."""
        ends = self.fields["line_start"], self.fields["line_end"]
        return lines is None or any(line in lines for line in ends)


def joined(entries: Iterable[Entry]) -> list[Entry]:
    """Return entries, those of one symbol that stand next to each other as one.

    Such are overloads, clauses, a getter and its setter, a type and the value of its name.
    """
    found: list[Entry] = []
    for entry in entries:
        before = found[-1] if found else None
        is_same = before is not None and entry.symbol and entry.symbol == before.symbol
        if before and is_same and "line_start" in entry.fields:
            last = before.fields["line_end"]
            if entry.first_line() <= last + _BESIDE:
                last = max(last, entry.fields["line_end"])
                found[-1] = replace(before, fields={**before.fields, "line_end": last})
                continue
        found.append(entry)
    return found


def beginning_of(lines: Sequence[str], first: int, lang: str | None) -> int:
    """Return the line, from 1, with which the comment begins right above line *first*, or that."""
    own = indent_of(lines[first - 1])
    for number in range(first - 1, max(0, first - 2 - _LONGEST_COMMENT), -1):
        line = lines[number - 1]
        # Lines of ``/* … */`` are set in by one more.
        if not is_comment(line, lang) or not own <= indent_of(line) <= own + 1:
            return number + 1
    return first if first > 1 + _LONGEST_COMMENT else 1


def is_comment(line: str, lang: str | None) -> bool:
    """Say whether a line of code begins with a comment, or as lines of ``/* … */`` do."""
    comment = _COMMENT.match(line)
    return comment is not None and not (comment[1] and lang in _PREPROCESSED)


def end_of(lines: Sequence[str], first: int) -> int:
    """Return the last line, from 1, of what begins with line *first* and is indented below it.

    Where that line opens a text of several lines, it is the one that closes it.
    """
    if (closing := _closing_of_text(lines, first)) is not None:
        return closing
    last, own = first, indent_of(lines[first - 1])
    for number in range(first + 1, len(lines) + 1):
        line = lines[number - 1]
        if not line.strip():
            continue
        if indent_of(line) <= own:
            if indent_of(line) < own or not _CLOSES.match(line):
                return last
            if not line.rstrip().endswith(_OPENS):
                return number
        last = number
    return last


def _closing_of_text(lines: Sequence[str], first: int) -> int | None:
    """Return the line, from 1, that closes a text that line *first* opens and leaves open."""
    opening = lines[first - 1]
    quoted, here = _QUOTED.search(opening), _HERE.search(opening)
    quote = quoted[1] if quoted and opening.count(quoted[1]) % 2 else ""
    if not quote and here is None:
        return None
    for number in range(first + 1, min(len(lines), first + _LONGEST_TEXT) + 1):
        line = lines[number - 1]
        if quote in line if quote else here and line.strip().rstrip(";,)") == here[1]:
            return number
    return None


def _within_documentation(lines: Sequence[str]) -> Iterator[int]:
    """Yield the lines, from 1, of documentation of several lines, after its first one."""
    numbers = iter(range(1, len(lines) + 1))
    for number in numbers:
        opened = _DOCUMENTED.match(lines[number - 1])
        if opened is None or opened[1] in lines[number - 1][opened.end() :]:
            continue
        following = range(number + 1, min(len(lines), number + _LONGEST_TEXT) + 1)
        last = next((one for one in following if opened[1] in lines[one - 1]), number)
        yield from islice(numbers, last - number)


def comes_from_elsewhere(line: str) -> bool:
    """Say whether a line gives a name what another file defines."""
    return _FROM_ELSEWHERE.search(line) is not None


def _beside(doc: StoredDoc, text: str, entries: Sequence[Entry]) -> Iterator[Entry]:
    """Yield what code names beside its units: constants at the margin, functions within others.

    A constant is named once. Functions, and what takes one line, are left out first where there
    is no room for all.
    """
    if doc["media"] != Media.CODE.value or doc["code_lang"] == "xml":
        return  # an attribute is no constant
    lines, known = text.split("\n"), set()
    examples = set(_within_documentation(lines))
    around: list[Entry] = []
    units = [*reversed(entries)]
    for number, line in enumerate(lines, start=1):
        around = [one for one in around if one.fields["line_end"] >= number]
        is_unit = False
        while units and units[-1].first_line() <= number:
            around.append(units.pop())
            is_unit = True
        kind, level, name = "constant", 1, None
        if 0 < len(around) < _DEEPEST and not is_unit:
            kind, level, name = "function", 1 + around[-1].fields["level"], function_begun(line)
        elif not around and not comes_from_elsewhere(line):
            name = name_given(line, doc["code_lang"])
        is_own = bool(around) and around[-1].fields["name"] == name  # below its decorators
        is_said = is_own or number in examples
        if name is None or is_said or name in known or name.startswith("__"):
            continue
        last = end_of(lines, number)
        fields: types.OutlineEntries = {"level": level, "name": name, "kind": kind}
        fields["line_start"], fields["line_end"] = number, last
        is_large = kind == "constant" and last > number
        around.append(Entry(level if is_large else _LAST, last - number, fields, name))
        if kind == "constant":
            known.add(name)
        yield around[-1]


def entries_of(snapshot: IndexSnapshot, doc: StoredDoc, text: str) -> Iterator[Entry]:
    """Yield headings and symbols in order; each reaches as far as what is inside it."""
    heads = _heads(doc)
    by_lines = has_lines(doc)
    if not heads and not by_lines:
        yield from _entries_by_passages(snapshot, doc)
    places = [] if by_lines else _places(snapshot, doc)
    starts = [place for place, _ in places]
    lines = LineIndex(text)
    around: dict[int, str] = {}
    for head, after in zip(heads, _closing(heads), strict=True):
        start, end = head["start"], max(_end(head), _end(heads[after - 1]))
        if head["kind"] == "heading":
            end = heads[after]["start"] if after < len(heads) else len(text)
        around = {level: symbol for level, symbol in around.items() if level < _level(head)}
        name = " ".join(_name(head, next(reversed(around.values()), "")).split())
        around[_level(head)] = head.get("symbol") or ""
        if not name:
            continue
        fields: types.OutlineEntries = {"level": _level(head), "name": name}
        if kind := head.get("symbol_kind"):
            fields["kind"] = kind
        if by_lines:
            last = start + _own_length(text, start, end)
            fields["line_start"], fields["line_end"] = lines.lines_of(start, last)
        elif before := bisect_right(starts, start):
            fields["uri"] = places[before - 1][1]
        yield Entry(_level(head), end - start, fields, head.get("symbol") or "")


def symbols_of(doc: StoredDoc, text: str, wanted: Callable[[str], bool]) -> Iterator[Entry]:
    """Yield of a document that has lines the symbols that are *wanted*, which are few, in order."""
    heads = _heads(doc)
    for at, head in enumerate(heads):
        if not (symbol := head.get("symbol")) or not wanted(symbol):
            continue
        start, level = head["start"], _level(head)
        after = at + 1
        while after < len(heads) and _level(heads[after]) > level:
            after += 1
        end = max(_end(head), _end(heads[after - 1]))
        last = start + _own_length(text, start, end) - 1
        fields: types.OutlineEntries = {"level": level, "name": symbol}
        if kind := head.get("symbol_kind"):
            fields["kind"] = kind
        fields["line_start"] = text.count("\n", 0, start) + 1
        fields["line_end"] = fields["line_start"] + text.count("\n", start, max(start, last))
        yield Entry(level, end - start, fields, symbol)


def _own_length(text: str, start: int, end: int) -> int:
    """Return how long a unit is without what closes those around it, which its block has, too."""
    body = text[start:end].rstrip()
    own = indent_of(body.partition("\n")[0])
    while own and (at := body.rfind("\n")) > 0:
        if not _CLOSES.match(body, at + 1) or indent_of(body[at + 1 :]) >= own:
            break
        body = body[:at].rstrip()
    return len(body)


def _heads(doc: StoredDoc) -> list[Mapping[str, Any]]:
    return [one for one in doc["blocks"] if one["kind"] == "heading" or one.get("symbol")]


def _entries_by_passages(snapshot: IndexSnapshot, doc: StoredDoc) -> Iterator[Entry]:
    """Yield the headings that passages stand under, where none of them is in the text itself.

    A bookmark of a PDF need not be called as anything on its page.
    """
    before: tuple[str, ...] = ()
    for chunk in snapshot.doc_chunks(doc["doc_id"]):
        path = tuple(chunk["heading_path"])
        shared = takewhile(lambda pair: pair[0] == pair[1], zip(before, path, strict=False))
        same = len(list(shared))
        for level, name in enumerate(path[same:], start=same + 1):
            fields: types.OutlineEntries = {"level": level, "name": name}
            fields["uri"] = citation_of(chunk).uri
            yield Entry(level, chunk["end"] - chunk["start"], fields, "")
        before = path


def _closing(heads: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return for each head which is the first after it that is not inside it."""
    closing = [len(heads)] * len(heads)
    open_heads: list[int] = []
    for at, head in enumerate(heads):
        while open_heads and _level(heads[open_heads[-1]]) >= _level(head):
            closing[open_heads.pop()] = at
        open_heads.append(at)
    return closing


def _end(head: Mapping[str, Any]) -> int:
    return int(head.get("until", head["end"]))


def _level(head: Mapping[str, Any]) -> int:
    return int(head.get("level") or 1)


def _name(head: Mapping[str, Any], around: str) -> str:
    """Return what a heading or a symbol is called *around* which another one stands, or none."""
    if symbol := head.get("symbol"):
        own = symbol.removeprefix(f"{around}.")  # it may have dots itself: [Symbol.iterator]
        return str(own if own != symbol or _level(head) == 1 else symbol.rpartition(".")[2])
    return str((head.get("heading_path") or ("",))[-1])


def _places(snapshot: IndexSnapshot, doc: StoredDoc) -> list[tuple[int, str]]:
    chunks = snapshot.doc_chunks(doc["doc_id"])
    return [(chunk["start"], citation_of(chunk).uri) for chunk in chunks]


def _fitting(entries: Sequence[Entry], budget: int) -> Sequence[Entry]:
    """Return what fits: outer entries before inner ones, among those the longer first."""
    kept = set()
    for at in sorted(range(len(entries)), key=lambda at: (entries[at].level, -entries[at].size)):
        budget -= entries[at].cost
        if budget < 0:
            break
        kept.add(at)
    return [entry for at, entry in enumerate(entries) if at in kept]
