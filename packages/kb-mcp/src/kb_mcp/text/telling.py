"""Which lines of a passage tell: those with the words of the query that few others have.

Where nobody asked for whole passages, one that is long is shown by some of its lines, in their
order: code by lines, prose by lines and, of a long one, by sentences. What is longer than a
reader needs is cut around its first match. ``…`` stands where something is left out of a line;
of lines, their numbers say that.

Names in capitals that lines of code use stand for what a reader asks next, so the line that gives
one its value is told with them, where there is one.

For reading only: which passages are found, and in which order, is decided elsewhere. Words
are compared as ``shown.marks`` compares them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from itertools import groupby, islice, pairwise
from math import log
from typing import Any, TypeAlias

from kb_app.shown import printable
from kb_app.shown.excerpts import front_lines
from kb_app.shown.marks import marks
from kb_core.media import Media
from kb_core.search import Constant
from kb_core.text import indent_of
from kb_core.values import dataclass, replace
from kb_mcp.text import INDENT, indented, named, numbered, weight
from kb_mcp.text.pieces import Piece, bare_heading

__all__ = [
    "LONGEST_LINE",
    "LookUp",
    "Telling",
    "around",
    "code_lines",
    "cut",
    "values_of",
]

LONGEST_LINE = 200
"""Characters of a line, or of a sentence, that are shown of it."""
_BEFORE = 4
"""One part in so many of a cut line is what stands before its first match."""
_GAP = "…"
_SENTENCE = re.compile(r"(?<=[.!?…])[\"')\]*_`]*\s+(?=\S)|(?<=[。！？])")
_VALUE = re.compile(
    r"[=:]\s*[-+(\[{]?(?:[\"'\d]|(?:None|[Tt]rue|[Ff]alse|null|nil)\b)"
    r"|\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\s*(?::[^=\n]*)?=(?!=)"
)
_OF_VALUES = 3.0
"""How much more a line says that gives a name a value, which is what is mostly looked for."""
_OF_OPENING = 0.01
"""What the first lines of a passage are worth without a word of the query: what room is left."""
_OF_MEANING = 0.1
"""What a line without a word is worth of the best one, in a passage that was found without any."""
_FURTHER = 0.3
"""How much less a line says for each passage above its own."""
_TERSE = 0.5
"""How much a line loses by its length: with 1, what counts were the worth of a character."""
_COMMENTS, _STRINGS = ("#", "//", "--", ";", "*/"), ('"""', "'''")
_WORDS = re.compile(r"[^\W_]")
_TAG = re.compile(r"<[^<>\n]+>|^\.\. (?:_[^\n]+:|[\w-]+::(?: [A-Za-z_]+)?)\s*$")
"""What says nothing in prose, as an anchor with the name of the heading below it."""
_SAYS_NOTHING = re.compile(
    r"\s*(?:(?:[*#]|//[/!]?|--)\s*[@\\]\w+\b.*|[\W_]*(?:begin|break|do|else|end|finally|pass|try)[\W_]*)"
)
"""A line of code that tells no more than that it is there, but for words of the query: a tag of
documentation (``@since 3.0``), and what stands between two blocks."""
_CALLED = re.compile(r"(?i)(?:title|name|tags)\s*:")
"""What of front matter says no more than how a note is called."""
_PADDING = re.compile(r" {2,}")
"""What sets the columns of a table one below the other: rows that are told stand apart."""
_FENCE = re.compile(r"\s*(?:```|~~~)")
_ENDS_OPEN = re.compile(r"[\w)\]'’\"”*`],?\s*\Z")
_GOES_ON_WITH = re.compile(r"\s*(?![\w-]+:\s)[(\[“‘\"'`*_]{0,3}([^\W\d_])")
_LEADS_TO_NAMES = re.compile(r"(?:,|\b[^\W\d_]{1,3})\s*\Z")
"""What a line of prose ends with, and the one begins with that goes on with its sentence: with a
capital where it may be a name, and no line of a log or a list of its own."""
_SAYING = re.compile(r"[^\W\d_]{3,}\W+[^\W\d_]{3,}")
_FOLLOWING, _LEADING = 0.4, 0.3
"""How much of what a sentence is worth those after and before it are."""
_TOLD_ONCE = 30
"""From so many characters on, a line that says what one of another passage says is not told again:
copies of a file, and what is made of it, would take the room of others."""
_OPENING = 2
"""So many lines that say something tell what a passage is."""
_WORD = 4
"""Characters by which two forms of a word are one, as ``excerpts`` has it."""


_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,2}[.)])\s+\S")
"""A line that is an item of a list."""
_OF_ITEMS = 0.5
"""What an item is worth of the best one of its list, which says little without the others."""
_MOST_ITEMS = 8
"""Lists that are longer are told by what tells in them."""
_OPENS = re.compile(r"[\w\])]\s*[(\[]\s*$|[=:(\[,]\s*[(\[{]\s*$")
_GOES_FURTHER = re.compile(r"\s*(?:\??\.\w|->\w|(?:&&|\|\||\?\?|[+/%|?]|and|or)\s)")
"""What a line begins with that goes on with the expression of the one before it."""
_IMPORTS = re.compile(r"\b(?:import|require|export|__all__)\b")
_IMPORTING = re.compile(
    r"\s*(?:(?:from|import|use|using)\b(?!.*[=(]\s*\w+\()|#\s*include\b|export\s[^=]*\bfrom\b"
    r"|(?:const|let|var|local)\s[^=]*=\s*require\b|require(?:_relative|_once)?\b)"
)
_OF_IMPORT = 0.2
"""What a line is worth that only says where names are from, which the lines that use them say."""
_CLOSING, _OPENING_BRACKETS = (")", "]", "}"), ("(", "[", "{")
_CONDITION = re.compile(r"\s*(?:\} *)?(?:if|elif|elsif|else if|unless|when|case|while)\b")
_GOES_ON = re.compile(r"\s*(?:[)\]}]\W*$|\}? *else\b(?! *if\b))")
_OF_CONDITION = 0.7
"""What a condition is worth of the best line under it."""
_OF_STATEMENT = 0.5
"""What a line of a statement of several is worth of its best one."""
_MOST_LINES = 10
"""Statements that have more are told by what tells in them."""
_CONSTANT = re.compile(r"\b(?:_[A-Z][A-Z0-9_]{2,}|[A-Z][A-Z0-9]*_[A-Z0-9_]+)\b")
_GIVEN = re.compile(rf"({_CONSTANT.pattern})\s*(?::[^=\n]*)?=(?!=)")
_MOST_VALUES = 3
"""Constants of a passage that are told; lines with more of them are lists."""
_LONGEST_VALUE = 120


LookUp: TypeAlias = Callable[[str, Collection[str]], Mapping[str, Constant]]
"""Finds, for the document at a path, the lines that define names, as far as that is certain."""


def _constants_used(text: str) -> list[str]:
    """Return the names in capitals that lines of code use and do not give a value, in order."""
    given = set(_GIVEN.findall(text))
    return [name for name in dict.fromkeys(_CONSTANT.findall(text)) if name not in given]


def values_of(
    piece: Piece, look_up: LookUp | None, shown: Container[tuple[str, int]] = ()
) -> list[str]:
    """Return the lines that say what constants are that the lines of a piece of code use.

    Without those *shown*: lines of documents, by path and number.
    """
    if look_up is None or not piece.is_code:
        return []
    names = _constants_used("\n".join(piece.lines()))
    if not names:
        return []
    path = piece.hits[0]["doc_path"]
    found = look_up(path, names)
    values = [found[name] for name in names if name in found]
    return [_value(one, path) for one in values if (one.path, one.line) not in shown][:_MOST_VALUES]


def code_lines(
    cited: Mapping[str, Any], question: str, most: int, look_up: LookUp | None
) -> list[str]:
    """Return what an evidence of answer.v1 quotes of code, by the lines that tell if it is long.

    Lines come to *most* characters, by ``weight``, but for values of constants.
    """
    text, first = cited["quote"], cited["citation"]["line_start"]
    hit = {"media": Media.CODE.value, "doc_path": cited["doc_path"]}
    piece = Piece(hits=(hit,), text=text, start=0, end=len(text), first=first)
    if piece.cost > most:
        piece = Telling(question, [piece]).picked({0: 0}, most).get(0, piece)
    return [*piece.lines(), *values_of(piece, look_up)]


def _value(value: Constant, path: str) -> str:
    # What stands at the margin, with a path, is what the next head goes on with.
    elsewhere = f"{INDENT}{named(value.path)}:{value.line}: "
    place = f"{value.line} " if value.path == path else elsewhere
    return f"{place}{printable(cut(value.text, 0, _LONGEST_VALUE), keep=chr(9))}"


@dataclass(frozen=True, slots=True)
class _Part:
    """A line, or a sentence of one."""

    line: int
    """Of the passage, from 0."""
    text: str
    words: frozenset[str]
    is_cut: bool
    """Whether more stands there than is shown of it."""
    is_front: bool = False
    """Whether it is a line of the front matter of a note."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A part that could be shown: of which piece, which of it, what it is worth and costs."""

    of: int
    at: int
    worth: float
    cost: int


class Telling:
    """Picks lines for one *query*: a word tells the more, the fewer lines of *pieces* have it."""

    def __init__(self, query: str, pieces: Sequence[Piece]) -> None:
        self._query = query
        self._pieces = pieces
        self._parts = [list(self._split(piece)) for piece in pieces]
        every = [part for parts in self._parts for part in parts]
        times = Counter(word for part in every for word in part.words)
        self._worth = {word: log(1 + len(every) / n) for word, n in times.items()}
        self._most = log(1 + len(every))
        said = [self._said_of(at) for at in range(len(pieces))]
        best = max((worth for of in said for worth in of), default=0.0) or 1.0
        self._lines = [
            line
            for at, of in enumerate(said)
            for line in self._worthy(at, _with_meaning(self._parts[at], of, best))
        ]

    def picked(self, heads: Mapping[int, int], room: int) -> dict[int, Piece]:
        """Return the pieces by the lines that tell most, as many as *room* holds.

        *heads* has what the line above each piece costs, by the number of the piece; what is
        not in it is left out. A line is worth its words, the less the further down its piece
        stands and the more room it takes.
        """
        left, kept = room, list[_Line]()
        open_to = [line for line in self._lines if line.of in heads]
        begun = set[int]()

        def cost(line: _Line) -> int:
            return line.cost + (0 if line.of in begun else heads[line.of])

        while fitting := [line for line in open_to if cost(line) <= left]:
            best = max(fitting, key=lambda line: line.worth / cost(line) ** _TERSE)
            left -= cost(best)
            begun.add(best.of)
            kept.append(best)
            again = self._text_of(best)
            open_to = [
                line
                for line in fitting
                if line is not best
                and (line.of == best.of or not again or self._text_of(line) != again)
            ]
        while sum(heads[at] + piece.cost for at, piece in self._told(kept).items()) > room:
            kept.pop()  # what is escaped, or left out between lines, shows only now
        return self._told(kept)

    def _text_of(self, line: _Line) -> str:
        """Return what a line says that is told once, wherever it stands; nothing of a short one."""
        text = self._parts[line.of][line.at].text.strip()
        return text if len(text) >= _TOLD_ONCE else ""

    def _said_of(self, at: int) -> list[float]:
        """Return what the parts of a piece are worth by the words that they hold."""
        parts = self._parts[at]
        worth = [self._says(part) for part in parts]
        piece = self._pieces[at]
        if not piece.is_code:
            front = _in_front(parts)
            told = _in_tables(parts[front:], worth[front:], self._worth_of(piece.heading))
            return worth[:front] + told
        lines = piece.text.split("\n")
        naming = _importing(lines)
        worth = [
            own * (_OF_IMPORT if part.line in naming else 1.0)
            for own, part in zip(worth, parts, strict=True)
        ]
        told = _in_lists(parts, _with_what_is_meant(parts, worth))
        return _in_statements(lines, parts, _with_conditions(lines, parts, told))

    def _worthy(self, at: int, worth: Sequence[float]) -> Iterator[_Line]:
        piece, parts = self._pieces[at], self._parts[at]
        opening = _opening(parts)
        for number, (part, said) in enumerate(zip(parts, worth, strict=True)):
            value = said or (_OF_OPENING if number in opening else 0)
            if value:
                above = INDENT if piece.first is None else f"{piece.first + part.line} "
                cost = weight(f"{above}{part.text}\n")
                yield _Line(at, number, value / (1 + _FURTHER * at), cost)

    def _told(self, kept: Sequence[_Line]) -> dict[int, Piece]:
        """Return the pieces that have such lines, with these alone, in order."""
        lines: dict[int, list[int]] = {}
        for line in sorted(kept, key=lambda line: (line.of, line.at)):
            lines.setdefault(line.of, []).append(line.at)
        return {of: self._with(of, at) for of, at in lines.items()}

    def _with(self, of: int, at: Sequence[int]) -> Piece:
        piece, parts = self._pieces[of], self._parts[of]
        if len(at) == len(parts) and not any(part.is_cut for part in parts):
            return piece
        return replace(piece, told=tuple(_shown(piece, parts, at)))

    def _worth_of(self, heading: str) -> float:
        """Return what a heading is worth, which stands above the lines and is none of them."""
        return sum(self._worth.get(word, self._most) for word in {*self._words(heading)})

    def _says(self, part: _Part) -> float:
        said = sum(self._worth[word] for word in part.words)
        return said * _OF_VALUES if said and _VALUE.search(part.text) else said

    def _split(self, piece: Piece) -> Iterator[_Part]:
        """Yield what of a piece could be told: nothing that its head says."""
        heading = "" if piece.is_code else piece.heading
        lines = piece.text.split("\n")
        if heading:
            lines = ["" if bare_heading(line) == heading else line for line in lines]
        plain = [_PADDING.sub(" ", line) if line.startswith("|") else line for line in lines]
        front = 0 if piece.is_code or piece.start else front_lines(piece.text)
        for number, said in enumerate(lines) if piece.is_code else _sentences(plain):
            if not _WORDS.search(said if piece.is_code else _TAG.sub("", said)):
                continue
            if number < front and _CALLED.match(said):
                continue
            words = frozenset(self._words(said))
            if piece.is_code and not words and _SAYS_NOTHING.fullmatch(said):
                continue
            whole = said.rstrip()
            text = around(whole, self._query)
            is_padded = not piece.is_code and plain[number] != lines[number]
            is_cut = text != whole or is_padded
            yield _Part(number, text, words, is_cut, is_front=number < front)

    def _words(self, text: str) -> Iterator[str]:
        for start, end in marks(text, self._query):
            yield text[start:end].casefold()[:_WORD]


def _sentences(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield what lines of prose say, each with the number of the line that it begins in.

    That is a line, of a long one its sentences, and lines that go on in the next ones together.
    """
    is_code, at = False, 0
    while at < len(lines):
        first, at = at, at + 1
        is_code ^= _FENCE.match(lines[first]) is not None
        while not is_code and at < len(lines) and _flows(lines[at - 1], lines[at], lines[first]):
            at += 1
        run = lines[first:at]
        if sum(map(len, run)) + len(run) <= LONGEST_LINE:
            yield first, " ".join([run[0].rstrip(), *(line.strip() for line in run[1:])])
            continue
        text, begins = "", list[int]()
        for line in run:
            begins.append(len(text))
            text += f"{line if line is run[0] else line.strip()} "
        end = 0
        for match in [*_SENTENCE.finditer(text.rstrip()), None]:
            start, end = end, match.end() if match else len(text)
            stop = match.start() if match else end
            yield first + bisect_right(begins, start) - 1, text[start:stop].rstrip()


def _flows(line: str, below: str, first: str) -> bool:
    """Say whether a line of prose goes on in the one below; *first* is where it began."""
    item = _ITEM.match(first)
    return (
        indent_of(below) == (item.end() - 1 if item else 0)
        and not (first.startswith("-") and item is None)
        and not first.isupper()
        and _ENDS_OPEN.search(line) is not None
        and (letter := _GOES_ON_WITH.match(below)) is not None
        and not (letter[1].isupper() and _LEADS_TO_NAMES.search(line) is None)
    )


def _in_front(parts: Sequence[_Part]) -> int:
    """Return how many of the first parts are front matter."""
    return sum(part.is_front for part in parts)


def _with_meaning(parts: Sequence[_Part], worth: Sequence[float], best: float) -> list[float]:
    """Return what lines are worth where a passage has fewer words of the query than the best one.

    Then it stands where it does for what it means, which its first lines mostly say, and not its
    front matter.
    """
    lacking = _OF_MEANING * (best - max(worth, default=0.0))
    front = _in_front(parts)
    return [
        own + (lacking / (1 + _FURTHER * (at - front)) if at >= front else 0.0)
        for at, own in enumerate(worth)
    ]


def _with_what_is_meant(parts: Sequence[_Part], worth: Sequence[float]) -> list[float]:
    """Return what lines of code are worth: one with a value as much as what is said of it.

    That is a comment before it or a string after it.
    """
    own = list(worth)
    for at, part in enumerate(parts):
        if not _VALUE.search(part.text):
            continue
        if at and parts[at - 1].text.lstrip().startswith(_COMMENTS):
            own[at] = max(own[at], worth[at - 1])
        if at + 1 < len(parts) and parts[at + 1].text.lstrip().startswith(_STRINGS):
            own[at] = max(own[at], worth[at + 1])
    return own


def _in_lists(parts: Sequence[_Part], worth: Sequence[float]) -> list[float]:
    """Return what lines of code are worth where some are a list: an order, or what there is.

    They go on with the line before them that ends with a colon.
    """
    own, at = list(worth), 0
    for is_item, run in groupby(bool(_ITEM.match(part.text)) for part in parts):
        first, at = at, at + len(list(run))
        if is_item and 1 < at - first <= _MOST_ITEMS:
            is_led = first > 0 and parts[first - 1].text.rstrip().endswith(":")
            best = max(own[first - is_led : at])
            own[first:at] = [max(one, _OF_ITEMS * best) for one in own[first:at]]
    return own


def _importing(lines: Sequence[str]) -> set[int]:
    """Return which lines of code import names, those of a list in brackets included."""
    importing, is_open = set[int](), False
    for at, line in enumerate(lines):
        if is_open or _IMPORTING.match(line):
            importing.add(at)
            closes = line.lstrip().startswith(_CLOSING)
            is_open = (is_open or line.rstrip().endswith(_OPENING_BRACKETS)) and not closes
    return importing


def _with_conditions(
    lines: Sequence[str], parts: Sequence[_Part], worth: Sequence[float]
) -> list[float]:
    """Return what lines of code are worth: a condition a part of what stands under it.

    What is done says little without when.
    """
    own = list(worth)
    numbers = {part.line: at for at, part in enumerate(parts)}
    for at, part in enumerate(parts):
        above = _line_around(lines, part.line)
        if worth[at] and above in numbers and _CONDITION.match(lines[above]):
            own[numbers[above]] = max(own[numbers[above]], _OF_CONDITION * worth[at])
    return own


def _line_around(lines: Sequence[str], line: int) -> int:
    """Return the line that one is set in below, -1 for none; of an *else* that of its *if*."""
    margin = indent_of(lines[line])
    for above in range(line - 1, -1, -1):
        text = lines[above]
        if text.strip() and indent_of(text) < margin and not _GOES_ON.match(text):
            return above
    return -1


def _in_statements(
    lines: Sequence[str], parts: Sequence[_Part], worth: Sequence[float]
) -> list[float]:
    """Return what lines of code are worth where one statement has several: a call, a list.

    Each is worth a part of the best one, such as the number below the name of an error.
    """
    own = list(worth)
    for first, last in _statements(lines):
        inside = [at for at, part in enumerate(parts) if first <= part.line <= last]
        best = max((worth[at] for at in inside), default=0.0)
        for at in inside:
            own[at] = max(own[at], _OF_STATEMENT * best)
    return own


def _statements(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last line of what opens a bracket and closes it some lines below.

    Or of an expression that goes on in lines set in below it, such as a chain of calls. No
    blocks, which say one thing after another, nor what imports names.
    """
    for first, line in enumerate(lines):
        goes_on = first + 1 < len(lines) and _goes_on(line, lines[first + 1])
        if not (goes_on or _OPENS.search(line)) or _IMPORTS.search(line):
            continue
        own = indent_of(line)
        for last in range(first + 1, min(len(lines) + goes_on, first + _MOST_LINES)):
            is_over = last == len(lines) or (lines[last].strip() and indent_of(lines[last]) <= own)
            if is_over and (goes_on or lines[last].lstrip()[:1] in _CLOSING):
                yield first, last - goes_on
            if is_over:
                break


def _goes_on(line: str, below: str) -> bool:
    """Say whether a line below goes on with what one says."""
    return bool(
        line.strip()
        and not line.lstrip().startswith(_COMMENTS)
        and indent_of(below) > indent_of(line)
        and _GOES_FURTHER.match(below)
    )


def _with_neighbours(worth: Sequence[float], above: float) -> list[float]:
    """Return what sentences are worth in prose: what stands beside one that tells does, too.

    Above all what follows, a heading worth *above* as well: an answer seldom says the words of
    its question again.
    """
    beside = [above, *worth, 0.0]
    return [
        own + _FOLLOWING * beside[at] + _LEADING * beside[at + 2] for at, own in enumerate(worth)
    ]


def _in_tables(parts: Sequence[_Part], worth: Sequence[float], above: float) -> list[float]:
    """Return what lines of prose are worth, rows of tables among them, below a heading.

    The rows of a table say nothing of each other, and all go on with what leads into it. Its
    first row is worth half as much as the best one, which it explains.
    """
    told = _with_neighbours(worth, above)
    are_rows = [part.text.lstrip().startswith("|") for part in parts]
    at = 0
    for is_row, run in groupby(are_rows):
        first, at = at, at + len(list(run))
        if not is_row:
            continue
        led = _FOLLOWING * (worth[first - 1] if first else above)
        told[first:at] = [own + led for own in worth[first:at]]
        told[first] = max(told[first], max(told[first:at]) / 2)
    return told


def _opening(parts: Sequence[_Part]) -> list[int]:
    """Return the first parts that say something, such as a signature and what is said of it."""
    saying = (
        at for at, part in enumerate(parts) if not part.is_front and _SAYING.search(part.text)
    )
    return list(islice(saying, _OPENING)) or [0]


def around(text: str, query: str) -> str:
    """Return a line as it is, or of a long one the part around the first match of *query*."""
    found = marks(text, query) if len(text) > LONGEST_LINE else ()
    return cut(text, found[0][0] if found else 0)


def cut(text: str, at: int, most: int = LONGEST_LINE) -> str:
    """Return *most* characters of a long line around a place in it, at words if there are any."""
    if len(text) <= most:
        return text
    start = max(0, min(at - most // _BEFORE, len(text) - most))
    if start and (space := text.find(" ", start, at)) >= 0:
        start = space + 1
    stop = start + most
    if stop < len(text) and (space := text.rfind(" ", stop - most // _BEFORE, stop)) > at:
        stop = space
    before, after = _GAP if start else "", _GAP if stop < len(text) else ""
    return f"{before}{text[start:stop].strip()}{after}"


def _shown(piece: Piece, parts: Sequence[_Part], kept: Sequence[int]) -> Iterator[str]:
    """Yield the lines that the kept parts make."""
    margin = 0
    if piece.is_code:
        margin = min(len(said) - len(said.lstrip()) for said in (parts[at].text for at in kept))
    last = -1
    for line, of_line in groupby(kept, key=lambda at: parts[at].line):
        here = [*of_line]
        said = parts[here[0]].text[margin:]
        for before, at in pairwise(here):
            said += f" {parts[at].text}" if at == before + 1 else f" {_GAP} {parts[at].text}"
        if piece.first is not None:
            yield from numbered(said, piece.first + line)
            continue
        if -1 < last < here[0] - 1:
            yield f"{INDENT}{_GAP}"
        yield from indented(said)
        last = here[-1]
