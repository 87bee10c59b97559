"""Code and resources without a grammar: a unit from each header line to its end or the next one.

What the header lines look like is in ``kb_app._ingest.making.grammars``. Comments right before a
header belong to its unit, those of several lines as a whole; nothing within such a comment, or
within documentation that is a string of several lines, is a header. A unit ends with a line that
only closes, as far left as its header, if one comes before anything else as far left. Lines before
the first header, and after the end of a unit, are gaps. A signature and the clauses of a function
(Erlang, Haskell) are one, and what stands in a module of Elixir or a package of Perl begins with
its name. Of languages whose types hold functions (Dart, Zig), what stands right within a type is a
unit of it, and no local of a function is.

YAML is cut at its document markers first: a document that says what ``kind`` of resource it is
and what its name is (Kubernetes) is one unit, ``Kind/namespace/name``. A long key is cut at those
within it (``jobs.build``), and a list of what has names, as the tasks of a playbook, at these;
so is what is long within those. Settings that are commented out are gaps.
Of XML, elements are units (``elements``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from kb_app._ingest.making.blocks import Lines, Region, flatten, paragraphs, settled
from kb_app._ingest.making.elements import elements
from kb_app._ingest.making.grammars import CLOSERS, HEADERS, POD, STRINGS, Header
from kb_app._ingest.making.metadata import code_metadata
from kb_app._ingest.making.versions import OUTLINE as _PARSER
from kb_core.documents import ParsedDocument, SourceFile
from kb_core.ports import Content
from kb_core.text import indent_of

__all__ = ["OutlineParser"]


_LONGEST_LINE = 1000
_SYMBOL_MAX = 120
_RESOURCE = re.compile(r"(apiVersion|kind|metadata):[ \t]*(.{0,200})")
_CLOSES = re.compile(
    r"\s*(?:[)\]}]+[;,)]*\s*(?:$|[#/;-])|end(?:function|macro|module|class|package|interface|task"
    r"|program|func|def|fu|f)?(?![\w.:=]))",
    re.IGNORECASE,
)
"""What a line at the margin of a unit's header is that ends the unit."""
_OF_METHODS = ("-", "+")
"""What a method of Objective-C begins with."""
_SIGNATURES = ("spec", "callback", "macrocallback")
_OPENS = ("{", "(", "begin", "do")
_OPENS_AGAIN = ("= struct", "= sig", "{", "(")
"""What a line at the margin of a unit's header ends with that goes on with it."""
_NAMED = re.compile(r"[ \t]+(name|namespace):[ \t]*(.{1,200})")


class OutlineParser:
    """``Parser`` of the languages in ``kb_app._ingest.making.grammars``."""

    version = _PARSER

    def __call__(self, content: Content, file: SourceFile, /) -> ParsedDocument:
        lines = Lines(content.text)
        regions = _regions(lines, file.code_lang or "")
        return ParsedDocument(
            text=content.text,
            media=file.media,
            metadata=code_metadata(file.path),
            code_lang=file.code_lang,
            blocks=tuple(block for region in regions if (block := lines.block(region))),
            warnings=content.warnings,
            parser_version=_PARSER,
        )


def _regions(lines: Lines, language: str) -> Iterator[Region]:
    if language == "yaml":
        return _yaml(lines, HEADERS[language], 0, len(lines))
    if language == "xml":
        return settled(lines, flatten(elements(lines), len(lines), "gap"))
    if HEADERS[language].is_nested:
        units = _Nesting(lines, HEADERS[language]).units()
        return settled(lines, flatten(units, len(lines), "gap"))
    return settled(lines, _units(lines, HEADERS[language], 0, len(lines)))


class _Open(NamedTuple):
    """A unit whose end is not found yet: which of those found, and how far its header is set in."""

    at: int
    margin: int
    head: int
    holds: bool


class _Nesting:
    """The units of a language whose types hold others.

    What is set in is one only right within a holder, so that no local of a function is; a test is
    one wherever it stands.
    """

    def __init__(self, lines: Lines, header: Header) -> None:
        self._lines, self._header = lines, header
        self._blocks = _blocks(lines, header, 0, len(lines))
        inside = {line for last, at in self._blocks.items() for line in range(at + 1, last + 1)}
        heads = {line: lines.texts[line].lstrip() for line in self._blocks.values()}
        inside |= {line for line, text in heads.items() if text.startswith(header.comment)}
        self._inside = inside
        self._found: list[Region] = []
        self._open: list[_Open] = []
        self._ends: dict[int, int] = {}

    def units(self) -> list[Region]:
        """Return them outer before inner, numbered."""
        match_line = _matcher(self._lines, self._header)
        for line in range(len(self._lines)):
            match = match_line(line)
            if match is not None and line not in self._inside:
                self._take(match, line)
        self._close(0, len(self._lines))
        return self._found

    def _take(self, match: re.Match[str], line: int) -> None:
        margin = indent_of(self._lines.texts[line])
        whole = self._header.line.match(_headed(self._lines, line, margin))
        kind, name = _called(whole or match, self._header)
        while self._open and not self._open[-1].holds and self._is_over(self._open[-1], line):
            self._close(self._open[-1].margin, line)
        around = next((one for one in reversed(self._open) if one.margin < margin), None)
        is_member = around.holds if around else margin == 0
        if not is_member and kind != "test":
            return
        after = self._found[-1].end if self._found else 0
        first = _lead(self._lines, self._header, self._blocks, after, line)
        self._close(margin, first)
        if around and kind != "test":
            name = f"{self._found[around.at].symbol}.{name}"[:_SYMBOL_MAX]
        number, holds = len(self._found), kind in self._header.holders
        self._open.append(_Open(number, margin, line, holds))
        level = len(self._open)
        self._found.append(Region(first, line + 1, "unit", level, name, kind, number))

    def _close(self, margin: int, limit: int) -> None:
        """End what is open and as far set in as *margin*, at line *limit* at the latest."""
        while self._open and self._open[-1].margin >= margin:
            one = self._open.pop()
            end = self._ends.get(one.at, limit)
            end = end if end < limit else _end_within(self._lines, one, self._inside, limit)
            unit = self._found[one.at]
            self._found[one.at] = unit.within(unit.first, end)

    def _is_over(self, one: _Open, line: int) -> bool:
        """Say whether what holds nothing ended before *line*, however that is set in."""
        if one.at not in self._ends:
            self._ends[one.at] = _end_within(self._lines, one, self._inside, len(self._lines))
        return self._ends[one.at] <= line


_LONGEST_HEADER = 40
"""Lines of the parameters of a function, each on its own, at most."""


def _headed(lines: Lines, line: int, margin: int) -> str:
    """Return a header; where its parameters have lines of their own, without these."""
    text = lines.texts[line][:_LONGEST_LINE]
    if not text.rstrip().endswith("("):
        return text
    for after in range(line + 1, min(len(lines), line + _LONGEST_HEADER)):
        if indent_of(lines.texts[after]) <= margin and not lines.is_blank(after):
            return text.rstrip() + lines.texts[after].strip()[:_LONGEST_LINE]
    return text


def _end_within(lines: Lines, unit: _Open, inside: Collection[int], limit: int) -> int:
    """Return the line after the last one of a unit, *limit* where nothing says where it ends."""
    before = unit.head
    for line in range(unit.head + 1, limit):
        if lines.is_blank(line):
            continue
        margin = unit.margin + 1 if line in inside else indent_of(lines.texts[line])
        if margin < unit.margin:
            return before + 1
        if margin == unit.margin and not _goes_on(lines.texts[line].strip()):
            if _CLOSES.match(lines.texts[line]):
                return line + 1
            is_ended = lines.texts[before].rstrip().endswith((";", "}"))
            return before + 1 if is_ended else limit
        before = line
    return limit


def _goes_on(text: str) -> bool:
    """Say whether a line as far left as a header goes on with what that begins."""
    if text in _OPENS or text.startswith("[@") or text.endswith(_OPENS_AGAIN):
        return True
    return text.startswith((")", "]", "}")) and _CLOSES.match(text) is None


def _units(lines: Lines, header: Header, first: int, end: int) -> Iterator[Region]:
    match_line = _matcher(lines, header)
    blocks = _blocks(lines, header, first, end)
    inside = {line for last, at in blocks.items() for line in range(at, last + 1)}
    at, symbol, kind, level = first, None, None, 1
    heads = [first]
    around: list[tuple[int, str]] = []
    for line in range(first, end):
        match = match_line(line)
        if header.closing and lines.texts[line].startswith(header.closing):
            around.clear()
        if match is None or line in inside:
            continue
        sort, called = _called(match, header)
        if header.holders and sort != "test":
            called = _within(around, header, sort, called, indent_of(lines.texts[line]))
        if header.clause is not None and called == symbol:
            heads.append(line)
            continue
        start = _lead(lines, header, blocks, at, line)
        for unit in _unit(lines, Region(at, start, "unit", level, symbol, kind), heads[-1]):
            yield from _clauses(lines, header, blocks, unit, heads)
        at, heads, symbol, kind = start, [line], called, sort
        level = len(around) + (sort not in header.holders)
    for unit in _unit(lines, Region(at, end, "unit", level, symbol, kind), heads[-1]):
        yield from _clauses(lines, header, blocks, unit, heads)


_LONG_FUNCTION, _LEAST_CLAUSE = 100, 3
"""From so many lines on, the clauses of a function are units, if they have so many by the mean:
what is in shorter ones is a table."""


def _clauses(
    lines: Lines, header: Header, blocks: Mapping[int, int], unit: Region, heads: Sequence[int]
) -> Iterator[Region]:
    """Yield a function, and apart where it is long its clauses: ``handle_call(get)``.

    They are called by what is first told of what they are for; neighbours may share that. The
    first one stands with the name of all.
    """
    length = unit.end - unit.first
    if not header.clause or unit.symbol is None or length < _LONG_FUNCTION:
        yield unit
        return
    parts, label = [unit], None
    for head in heads:
        told = _label(lines, header, head)
        if told in (None, label):
            continue
        if label is not None:
            start = _lead(lines, header, blocks, parts[-1].first + 1, head)
            parts[-1] = parts[-1]._replace(end=start)
            name = f"{unit.symbol}({told})"[:_SYMBOL_MAX]
            parts.append(unit._replace(first=start, symbol=name, level=unit.level + 1))
        label = told
    yield from parts if length >= _LEAST_CLAUSE * len(parts) else [unit]


def _label(lines: Lines, header: Header, line: int) -> str | None:
    """Return what a clause is for; none of a signature, and ``_`` of one for all that is left."""
    match = _matcher(lines, header)(line)
    if match is None or (match["kind"] or "").lstrip("@") in _SIGNATURES:
        return None
    after = match.end("name")
    if match.string.startswith("::", after + indent_of(match.string[after:])):
        return None
    told = re.compile(header.clause or "").match(match.string, after, _LONGEST_LINE)
    return "_" if told is None else told["label"].strip("\"'")


def _matcher(lines: Lines, header: Header) -> Callable[[int], re.Match[str] | None]:
    """Return what says whether a line is a header; of one that goes on, with the next line."""
    texts, match_header, continued = lines.texts, header.line.match, header.continued
    margins = _margins(texts, *header.nameless) if header.nameless else {}

    def match(line: int) -> re.Match[str] | None:
        text = texts[line].removeprefix(margins.get(line, ""))
        if continued and not text[:1].isspace() and line + 1 < len(lines):
            following = texts[line + 1].lstrip()
            if following.startswith(continued):
                text = f"{text.rstrip()} {following}"
        return match_header(text, 0, _LONGEST_LINE)

    return match


def _margins(texts: Sequence[str], opening: str, closing: str) -> dict[int, str]:
    """Return how far lines are set in within blocks without a name, by their numbers."""
    margins: dict[int, str] = {}
    margin: str | None = None
    for line, text in enumerate(texts):
        if text.rstrip() in (opening, closing):
            margin = "" if text.startswith(opening) else None
        elif margin == "" and text.strip():
            margin = text[: indent_of(text)]
        if margin:
            margins[line] = margin
    return margins


def _called(match: re.Match[str], header: Header) -> tuple[str, str]:
    """Return what kind of unit a header starts, and what it is called."""
    groups = match.groupdict()
    sort = (groups.get("kind") or header.kind).lower().lstrip("@")
    sort = "method" if sort in _OF_METHODS else sort
    if title := groups.get("title"):  # a sentence, as tests are called by
        kind = "item" if header.kind == "key" else "test"
        return kind, " ".join(title.split()).strip("\"'")[:_SYMBOL_MAX]
    return sort, _clean(groups.get("name") or "", sort) or sort


def _within(
    around: list[tuple[int, str]], header: Header, kind: str, name: str, margin: int
) -> str:
    """Return *name* after those of the holders that it stands in, which *around* keeps."""
    is_beside = header.is_flat and kind not in header.holders
    while around and around[-1][0] >= margin + is_beside:
        around.pop()
    if not header.members or kind in (*header.members, *header.holders):
        name = ".".join([*(each for _, each in around[-1:]), name])[:_SYMBOL_MAX]
    if kind in header.holders:
        around.append((margin, name))
    return name


def _lead(lines: Lines, header: Header, blocks: Mapping[int, int], first: int, line: int) -> int:
    """Return where the unit begins that *line* heads: with the comments right before it."""
    margin = lines.texts[line][: indent_of(lines.texts[line])]
    if line - 2 in blocks and lines.is_blank(line - 1) and _is_pod(lines.texts[blocks[line - 2]]):
        line -= 1
    while line > first:
        opened = max(first, blocks.get(line - 1, line - 1))
        above = lines.texts[opened]
        stripped = above.lstrip() if opened < line - 1 else above.removeprefix(margin)
        # A string of several lines that is a value is no comment.
        if not (above.startswith(header.comment) or stripped.startswith(header.comment)):
            break
        line = opened
    return line


def _blocks(lines: Lines, header: Header, first: int, end: int) -> dict[int, int]:
    """Return where comments and strings of several lines begin, by their last lines."""
    found: dict[int, int] = {}
    closers, after = header.closers, first
    within = [
        (line, opener)
        for opener in closers
        if opener in lines.text
        for line in range(first, end)
        if opener in lines.texts[line]
    ]
    for line, opener in sorted(within):
        if line < after or opener not in closers or not _opens(lines.texts[line], opener):
            continue
        last = _closed(lines, closers[opener], line + 1, end)
        if last == end and opener != POD:
            del closers[opener]  # what is never closed opens nothing
            continue
        found[min(last, end - 1)] = line
        after = last + 1
    return found


def _opens(text: str, opener: str) -> bool:
    """Say whether a line opens a comment or string that goes on below it."""
    if opener == POD:
        return _is_pod(text)
    if opener in STRINGS:
        at = text.find(opener)
        before, after = text[max(0, at - 1) : at], text[at + len(opener) : at + len(opener) + 1]
        is_quoted = before == "\\" or (before != "" and before == after and before in "\"'`")
        return text.count(opener) == 1 and not is_quoted
    return opener in text and text.lstrip().startswith(opener) and CLOSERS[opener] not in text


def _is_pod(text: str) -> bool:
    return text.startswith(POD) and text[1:2].isalpha() and not text.startswith(CLOSERS[POD])


def _closed(lines: Lines, closer: str, first: int, end: int) -> int:
    """Return the line from *first* on that has *closer*; *end* where none has."""
    return next((line for line in range(first, end) if closer in lines.texts[line]), end)


def _unit(lines: Lines, unit: Region, head: int) -> Iterator[Region]:
    """Yield what goes to the next unit, the last header of its own at *head*."""
    last = unit.first if unit.symbol is None else _last(lines, head, unit.end)
    if unit.first < last:
        yield unit.within(unit.first, last)
    yield from paragraphs(lines, last, unit.end, "gap")


def _last(lines: Lines, head: int, end: int) -> int:
    """Return the line after the one that closes what begins at *head*; *end* where none does."""
    margin = indent_of(lines.texts[head])
    for line in range(head + 1, end):
        text = lines.texts[line]
        if lines.is_blank(line) or indent_of(text) > margin or text.strip() in _OPENS:
            continue
        return line + 1 if _CLOSES.match(text) else end
    return end


def _clean(name: str, kind: str) -> str:
    parts = name.removeprefix("::").replace("::", ".").replace(":", ".").split()
    named = [part.strip("\"'`[]") for part in parts]
    # The labels of a block of Terraform are told apart by what they label.
    labels = [kind, *named] if name.lstrip().startswith('"') else named
    return ".".join(filter(None, labels)).strip(".")[:_SYMBOL_MAX]


def _yaml(lines: Lines, header: Header, first: int, end: int) -> Iterator[Region]:
    markers = [line for line in range(first + 1, end) if lines.texts[line].startswith("---")]
    # A marker with nothing after it belongs to the document before.
    last = end - 1
    while last > first and (lines.is_blank(last) or lines.texts[last].startswith("---")):
        last -= 1
    starts = [first, *(marker for marker in markers if marker < last)]
    for number, at in enumerate(starts):
        stop = starts[number + 1] if number + 1 < len(starts) else end
        resource = _resource(lines, at, stop)
        if resource is not None:
            yield Region(at, stop, "unit", 1, resource, "resource")
        else:
            keys = _units(lines, header, at, stop)
            for unit in (item for key in keys for item in _items(lines, key)):
                own = _end_of_key(lines, unit)
                yield from _keys_within(lines, header, unit._replace(end=own))
                yield from paragraphs(lines, own, unit.end, "gap")


_ITEM = re.compile(r"-(?:\s|\Z)")


def _items(lines: Lines, unit: Region) -> Iterator[Region]:
    """Yield a unit; where it is an item of a list, those without a name after it apart."""
    if unit.symbol_kind == "item":
        starts = (row for row in range(unit.first, unit.end) if _ITEM.match(lines.texts[row]))
        for start in islice(starts, 1, None):
            first = _lead(lines, HEADERS["yaml"], {}, unit.first + 1, start)
            yield unit._replace(end=first)
            unit = unit._replace(first=first, symbol=None)
    yield unit


def _end_of_key(lines: Lines, unit: Region) -> int:
    """Return where a key ends: before a blank line with nothing but comments after it.

    Settings that are commented out are none of the key above them; comments of a script are.
    """
    last = _last_said(lines, unit)
    if unit.symbol_kind is None or last is None:
        return unit.end
    end = last + 1
    while end < unit.end and not lines.is_blank(end):
        end += 1
    return end if any(not lines.is_blank(row) for row in range(end, unit.end)) else unit.end


def _last_said(lines: Lines, unit: Region) -> int | None:
    """Return the last line of a key that is no comment, or is in a value that is text."""
    last, margin, opened = None, 0, False
    for row in range(unit.first, unit.end):
        text = lines.texts[row]
        if lines.is_blank(row):
            continue
        if opened:  # the first line of the value says how far all of it is set in
            before, margin, opened = margin, indent_of(text), False
            margin = margin if margin > before else 0
        if margin and indent_of(text) >= margin:
            last = row
        elif _says(lines, row):
            last, opened = row, _OPENS_TEXT.search(text) is not None
            margin = indent_of(text) if opened else 0
        else:
            margin = 0
    return last


_LONG_KEY = 30
"""From so many lines on, a key is cut at those within it."""
_DEEPEST_KEY = 3
_OPENS_TEXT = re.compile(r"[|>][-+\d]*\s*(?:#.*)?\Z")
"""What a key ends with whose value is text: a script has lines that look like keys."""


def _keys_within(lines: Lines, header: Header, unit: Region, depth: int = 0) -> Iterator[Region]:
    """Yield a key, and apart what stands right within it where it is long, and so on.

    That is keys, and of a list what has a name: tasks of a block, steps of a job. An item without
    one that comes after these is of the list alone.
    """
    is_long = unit.end - unit.first > _LONG_KEY and depth <= _DEEPEST_KEY
    rows = (row for row in range(unit.first, unit.end if is_long else 0) if _says(lines, row))
    head = next(rows, unit.first)
    own = indent_of(lines.texts[head])
    margin = next((indent_of(lines.texts[row]) for row in rows), 0)
    inner = range(head + 1, unit.end)
    if unit.symbol_kind is None or margin <= own or _OPENS_TEXT.search(lines.texts[head]):
        yield unit
        return
    part, is_own, is_item = unit, True, False
    for line in inner:
        text = lines.texts[line]
        match = header.line.match(text[margin:], 0, _LONGEST_LINE) if len(text) > margin else None
        starts_item = _ITEM.match(text, margin) is not None
        if indent_of(text) != margin or (match is None and not (is_item and starts_item)):
            continue
        start = max(part.first + 1, _lead(lines, header, {}, part.first + 1, line))
        done = part._replace(end=start)
        yield from (done,) if is_own else _keys_within(lines, header, done, depth + 1)
        symbol, level = unit.symbol, unit.level
        if match is not None:
            name = _clean(match["name"], "") if match["name"] else _scalar(match["title"])
            symbol = ".".join(filter(None, (symbol, name)))[:_SYMBOL_MAX]
            level += 1
        part = part._replace(first=start, symbol=symbol, level=level)
        is_own, is_item = False, starts_item
    yield from (part,) if is_own else _keys_within(lines, header, part, depth + 1)


def _says(lines: Lines, row: int) -> bool:
    """Say whether a line of YAML is more than a comment."""
    return not lines.is_blank(row) and not lines.texts[row].lstrip().startswith("#")


def _resource(lines: Lines, first: int, end: int) -> str | None:
    """Return ``Kind/namespace/name`` of the document, if it is a resource."""
    found: dict[str, str] = {}
    in_metadata = False
    for line in range(first, end):
        text = lines.texts[line]
        if match := _RESOURCE.match(text):
            found.setdefault(match[1], _scalar(match[2]))
            in_metadata = match[1] == "metadata"
        elif text[:1] not in {"", " ", "\t", "#"}:
            in_metadata = False
        elif in_metadata and (match := _NAMED.match(text)):
            found.setdefault(match[1], _scalar(match[2]))
    if "apiVersion" not in found or not found.get("kind"):
        return None
    parts = (found["kind"], found.get("namespace", ""), found.get("name", ""))
    return "/".join(part for part in parts if part)[:_SYMBOL_MAX]


def _scalar(value: str) -> str:
    return value.partition(" #")[0].strip().strip("\"'")
