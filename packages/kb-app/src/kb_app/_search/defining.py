"""Lines that define: of those that match, which ones give what is looked for its meaning.

A function, a class, a heading, a constant: by what the parser told of a document, and by the
look of a line where the parser names nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, TypeAlias

from kb_core.media import Media
from kb_core.ports import StoredDoc
from kb_core.values import lazy_pattern
from kb_search.pattern_reading import is_word
from kb_search.patterns import Form, Pattern

__all__ = [
    "Found",
    "MostLines",
    "defined",
    "end_with_members",
    "function_begun",
    "given",
    "is_constant",
    "name_given",
    "names_of",
    "values_given",
]

_LONGEST_HEAD = 400
"""Characters of a line in which it gives a name a value, or begins a function."""
_HEAD_BYTES = 2_000
"""How far from the start of a symbol its name stands at most: decorators come before it."""
_LONGEST_LEAD, _FARTHEST = 20_000, 22_000
_LEAD = lazy_pattern(
    rb"(?:\s|//[^\n]*|/\*[\s\S]*?\*/|\(\*[\s\S]*?\*\)|\{-[\s\S]*?-\}|--\[\[[\s\S]*?\]\]"
    rb"|(?:--|;|%|!|\*(?=[\s*/])|#(?![ \t]*define\b))[^\n]*|=\w[\s\S]*?\n=cut"
    rb"|(?:@doc\s+(?:~S)?)?\"{3}[\s\S]*?\"{3})*+"
)
"""Comments and documentation that stand before what they tell of."""
_REMARK = lazy_pattern(rb"[ \t]*(?://|/?\*+(?=[\s>])|--|;|%|#(?![ \t]*define\b))")
_GIVES = (
    rb"#[ \t]*define[ \t]+(\w+)|define\([ \t]*[\"'](\w+)[\"'][ \t]*,"
    rb"|(?:option|set%b)\([ \t]*(\w+)(?=[ \t])"
    rb"|(?=[^\n]*=)"
    rb"(?:[ \t]+(?=(?:public|private|protected|internal|static|const[ \t]+val)\b"
    rb"|[A-Z][A-Z0-9]*_[A-Z0-9_]*[ \t]+=[ \t]))?"
    rb"(?:[\w<>\[\],.?]+[ \t]+){0,6}\*{0,2}(\w+)[ \t]*(?::[^=\n]*)?=(?!=)"
)
"""What a line begins with that gives a name a value, at the margin or as a member of a class, or
makes a macro or an option of CMake; there ``set(NAME value)`` gives one, too."""
_CONSTANT = lazy_pattern(r"_?[A-Z][A-Z0-9]*_[A-Z0-9_]+")
_GIVES_OF_R = rb"([A-Za-z][\w.]*)[ \t]*<-[ \t]"
_BEGINS = (
    rb"[ \t]+(?:(?:export|default|async|static|pub|public|private|protected|inline)[ \t]+){0,4}"
    rb"(?:function\*?|def|fn|func|sub)[ \t]+(?:\w+(?:\.|::|:(?=\w+[ \t]*\()))*(\w+)"
)
"""What a line begins with that begins a function, which may be within another one."""
_BEGINS_CLASS = rb"[ \t]+class[ \t]+(\w+)(?=[ \t]*[({:])"
"""What a line begins with that begins a class, which may be within a function."""
_GIVES_NO_SET = _GIVES % rb"(?=[^\n]*(?:=|define|option\())"
_BEGINS_ANY = b"%b|%b|%b" % (_GIVES_NO_SET, _BEGINS, _BEGINS_CLASS)
_GIVEN, _WITHIN, _HEAD = map(lazy_pattern, (_GIVES_NO_SET, _BEGINS, _BEGINS_ANY))
_CMAKE_HEAD = lazy_pattern(b"%b|%b" % (_GIVES % b"", _BEGINS))
_R_HEAD = lazy_pattern(b"%b|%b" % (_GIVES_OF_R, _BEGINS_ANY))
_R_GIVEN = lazy_pattern(b"%b|%b" % (_GIVES_OF_R, _GIVES_NO_SET))
_MANY_LINES = 300
"""To see whether what so many lines say holds a name takes longer than to see where that stands."""
_OPENING = frozenset(b"{():,=")
"""What a line ends with that begins something."""
_LETTER = lazy_pattern(rb"[\w\x80-\xff]")
_SPACE, _BRACE = frozenset(b" \t\n\r\f\v"), ord("{")
_ROOM, _FEW = 128 << 20, 200
"""Bytes of texts that are kept to be shown, unless these are so few."""
_BEGINS_SO = rb"\s*(?:[({:<=]|(?:extends|implements|interface|struct)\b|\Z)"
"""What follows a name where it is defined, unlike where it is a type of something else."""
_BEGUN = lazy_pattern(_BEGINS_SO)


class Found:
    """A text that matches, and where its lines begin that do: the first ones of many."""

    def __init__(
        self,
        around: bytes,
        form: Form,
        span: tuple[int, int, int],
        lines: Sequence[int],
        count: int,
    ) -> None:
        self.doc_key, self.begin, self.end = span
        self.around = around
        """The text and perhaps others, of which it is taken out when it is asked for."""
        self.form = form
        self.lines = lines
        """Where these lines begin in that."""
        self.count = count
        """How many lines match."""

    @cached_property
    def data(self) -> bytes:
        """The text."""
        return self.around[self.begin : self.end]

    @cached_property
    def text(self) -> str:
        """The text in characters, which blocks are places of; nothing where these are bytes."""
        return "" if self.form == "ascii" else self.data.decode("utf-8", "replace")

    @cached_property
    def starts(self) -> list[int]:
        """Where these lines begin in the text."""
        return [line - self.begin for line in self.lines]


class MostLines:
    """Those of many texts in which most lines match, and how many texts and lines match in all.

    With them as many of the others that may begin what the match names. The rest is let go of:
    all that hold a common word do not fit into memory.
    """

    def __init__(self, most: int, found: Iterable[Found], pattern: Pattern) -> None:
        self.files = self.lines = 0
        self.kept: list[Found] = []
        self._pattern = pattern
        self._can_begin = _begun(pattern)
        size = 0
        for each in found:
            self.files += 1
            self.lines += each.count
            self.kept.append(each)
            size += each.end - each.begin
            if size > _ROOM:
                most = min(most, max(_FEW, len(self.kept) // 3))
            if len(self.kept) > 3 * most:
                self._drop(most)
                size = sum(one.end - one.begin for one in self.kept)
        self._drop(most)

    def _drop(self, most: int) -> None:
        self.kept.sort(key=lambda each: (-each.count, each.doc_key))
        begin = (each for each in self.kept[most:] if self._may_begin(each))
        self.kept[most:] = islice(begin, most)

    def _may_begin(self, found: Found) -> bool:
        """Say whether a line at the margin looks as if it begins what the match names."""
        data, stop, form = found.around, found.end, found.form
        find, matches = data.find, self._pattern.matches
        can_begin = None if form == "other" else self._can_begin
        for start in found.lines:
            if data[start] in _SPACE:
                continue
            end = find(b"\n", start, stop)
            end = stop if end < 0 else end
            opens = data[end - 1] in _OPENING or (end + 1 < stop and data[end + 1] == _BRACE)
            if opens:
                line = data[start : min(end, start + _LONGEST_HEAD)]
                if can_begin is not None and not can_begin(line):
                    continue
                for _, right in matches(line, form):
                    if _BEGUN.match(line, right):
                        return True
        return False


def _begun(pattern: Pattern) -> Callable[[bytes], object] | None:
    """Return what finds letters in a line that stand as where what is called so is begun.

    ``None`` where matches may differ.
    """
    if not pattern.letters or pattern.ignore_case:
        return None
    return re.compile(re.escape(pattern.letters.encode()) + _BEGINS_SO).search


def defined(found: Found, doc: StoredDoc, pattern: Pattern) -> Iterator[tuple[int, int]]:
    """Yield where matching lines begin that define what the match names, or head what follows.

    With each, how many lines of what it defines follow it; of a heading, none.
    """
    data, starts, text = found.data, found.starts, found.text
    char = byte = 0
    last = starts[-1]
    for block, name in _named(doc, pattern, data, starts):
        start = block["start"]
        if text:  # blocks come in order, so each character is counted once
            char, byte = (char, byte) if char <= start else (0, 0)
            byte += len(text[char:start].encode("utf-8", "replace"))
            char, start = start, byte
        if start > last and data.find(b"\n", last, start) >= 0:
            continue  # it stands below all lines that match
        near = bisect_right(starts, start)
        is_before = near and data.find(b"\n", starts[near - 1], start) < 0
        if not is_before and (near == len(starts) or starts[near] >= start + _FARTHEST):
            continue  # most symbols stand in lines that do not match
        start = _name_of(data, name, start)
        at = bisect_right(starts, start) - 1
        if at < 0 or data.find(b"\n", starts[at], start) >= 0:
            continue
        end = data.find(b"\n", start)
        line = starts[at], len(data) if end < 0 else end
        # A part of a name is no name; a word of a heading says what it is about.
        if any(pattern.covers(data, found.form, line, part) for part in _places(data, name, line)):
            end = end_with_members(doc["blocks"], block)
            stop = byte + len(text[char:end].encode("utf-8", "replace")) if text else end
            yield starts[at], data[start:stop].rstrip().count(b"\n")


def end_with_members(blocks: Sequence[Mapping[str, Any]], block: Mapping[str, Any]) -> int:
    """Return where what a block defines ends: a class with what is defined in it.

    That is kept with blocks since they are made by outline-5 and code-8.
    """
    if "until" in block:
        return int(block["until"])
    end, within = int(block["end"]), f"{block.get('symbol')}."
    first = bisect_right(blocks, block["start"], key=lambda one: one["start"])
    for one in islice(blocks, first, None) if block.get("symbol") else ():
        symbol = str(one.get("symbol") or "")
        if symbol.startswith(within):
            end = max(end, one["end"])
        elif symbol:
            break
    return end


def _name_of(data: bytes, name: bytes, start: int) -> int:
    """Return where what begins at *start* is called so, and not where a comment on it says so."""
    lead = _LEAD.match(data, start, start + _LONGEST_LEAD) if name else None
    first = lead.end() if lead else start
    at = data.find(name, first, first + _HEAD_BYTES)
    while name and at >= 0 and _is_no_name(data, at, name):
        at = data.find(name, at + 1, first + _FARTHEST)
    return at if at >= 0 else max(start, data.find(name, start, start + _HEAD_BYTES))


def _is_no_name(data: bytes, at: int, name: bytes) -> bool:
    """Say whether *name* at a place stands in a comment, or in a longer name."""
    is_part = _goes_on(data, at - 1, name[:1]) or _goes_on(data, at + len(name), name[-1:])
    return is_part or _REMARK.match(data, data.rfind(b"\n", 0, at) + 1) is not None


def _places(data: bytes, name: bytes, line: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Yield where a name stands in a line, and not in a longer one; of none, its beginning."""
    at = data.find(name, *line)
    while at >= 0:
        if not (_goes_on(data, at - 1, name[:1]) or _goes_on(data, at + len(name), name[-1:])):
            yield at, at + len(name)
        at = data.find(name, at + 1, line[1]) if name else -1


def _goes_on(data: bytes, at: int, end: bytes) -> bool:
    """Say whether what stands at *at* belongs to a name that has *end* beside it."""
    return bool(_LETTER.match(end) and 0 <= at < len(data) and _LETTER.match(data, at))


def _said(data: bytes, starts: Sequence[int]) -> bytes:
    """Return what the lines say that begin there."""
    ends = (data.find(b"\n", start) for start in starts)
    lines = (
        data[start : None if end < 0 else end] for start, end in zip(starts, ends, strict=True)
    )
    return b"\n".join(lines)


def _named(
    doc: StoredDoc, pattern: Pattern, data: bytes, starts: Sequence[int]
) -> Iterator[tuple[Mapping[str, Any], bytes]]:
    """Yield the headings of a document, and what it defines by names that a match can hold."""
    letters, is_folded = "" if pattern.is_blank else pattern.letters, False
    if letters is None and len(starts) > _MANY_LINES:
        yield from ((block, name.encode()) for block, name in _KEPT_NAMES.of(doc))
        return
    if letters is None:
        letters = _said(data, starts).decode("utf-8", "replace")
    elif pattern.ignore_case:
        letters, is_folded = letters.casefold(), True
    for block, name in _KEPT_NAMES.of(doc):
        if (name.casefold() if is_folded else name) in letters:
            yield block, name.encode()


_Named: TypeAlias = Sequence[tuple[Mapping[str, Any], str]]


class _Names:
    """What documents define, by name, and their headings, which have none; kept if there is room.

    Of a document that is read anew they are made anew.
    """

    def __init__(self, room: int) -> None:
        self._room, self._size = room, 0
        self._of: dict[tuple[str, str], tuple[object, _Named]] = {}

    def of(self, doc: StoredDoc) -> _Named:
        """Return the blocks of *doc* that define, and those that head, with their last names."""
        key, blocks = (doc["source_id"], doc["doc_id"]), doc["blocks"]
        kept, names = self._of.get(key, (None, ()))
        if kept is not blocks:
            self._size -= len(names)
            named = ((block, str(block.get("symbol") or "")) for block in blocks)
            names = [
                (block, each.rpartition(".")[2])
                for block, symbol in named
                if symbol or block["kind"] == "heading"
                for each in names_of(symbol)
            ]
            if self._size + len(names) > self._room:
                self._of, self._size = {}, 0
            self._of[key] = blocks, names
            self._size += len(names)
        return names


_SEVERAL = lazy_pattern(r"\w+(?:, \w+)+")


def names_of(symbol: str) -> Sequence[str]:
    """Return what a unit is called: ``Alpha, Beta`` of Go has two names."""
    is_several = ", " in symbol and _SEVERAL.fullmatch(symbol)
    return symbol.split(", ") if is_several else (symbol,)


_KEPT_NAMES = _Names(100_000)
"""Some 120 bytes each; as many blocks of documents are kept."""


def given(found: Found, doc: StoredDoc, pattern: Pattern) -> Iterator[tuple[int, int]]:
    """Yield, as ``defined`` does, where lines of code give what the match names a value.

    Or begin a function within another one: what follows either is not told.
    """
    data, letters = found.data, "" if pattern.is_blank else pattern.letters
    can_name = letters is None or any(map(is_word, letters))
    begins = {"cmake": _CMAKE_HEAD, "r": _R_HEAD}.get(doc["code_lang"] or "", _HEAD).match
    for start in found.starts if can_name and doc["media"] == Media.CODE.value else ():
        if head := begins(data, start, start + _LONGEST_HEAD):
            end = data.find(b"\n", start)
            line = start, len(data) if end < 0 else end
            if pattern.covers(data, found.form, line, head.span(head.lastindex or 0)):
                yield start, 0


def name_given(line: str, language: str | None) -> str | None:
    """Return what a line at the margin gives a value to, if it does."""
    if line[:1].isspace():
        return None
    given = (_R_GIVEN if language == "r" else _GIVEN).match(line[:_LONGEST_HEAD].encode())
    return given[given.lastindex].decode() if given and given.lastindex else None


def is_constant(name: str) -> bool:
    """Say whether *name* is spelled as constants are: ``MOST_ROWS``."""
    return _CONSTANT.fullmatch(name) is not None


def values_given(text: str, names: Iterable[str], language: str | None) -> Iterator[int]:
    """Yield where in *text* lines begin that give a value to one of *names* that are constants."""
    for name in names:
        at = text.find(name) if is_constant(name) else -1
        while at >= 0:
            first, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
            line = text[first : None if end < 0 else end].lstrip()
            if name_given(line, language) == name:
                yield first
            at = text.find(name, at + len(name))


def function_begun(line: str) -> str | None:
    """Return what a function is called that a line set in begins, if it does."""
    begun = _WITHIN.match(line[:_LONGEST_HEAD].encode()) if line[:1].isspace() else None
    return begun[1].decode() if begun else None
