"""Sentences: where they begin and end, in any script, and what a passage is made of.

``sentence_spans`` cuts prose. The rules are those of Unicode's sentence boundaries (UAX #29)
as far as they need no table of properties, with what that standard leaves to a tailoring: a
full stop after an abbreviation, an initial or an ordinal ends nothing. Scripts that write no
stop, such as Thai, are cut at blanks into pieces of some length.

``units`` cuts a passage of Markdown, reStructuredText or extracted text: each sentence of a
paragraph or of a list item, each line that begins with a label, each row of a table, each block
of code. A unit knows what is read before it to be understood: the header of its table, the line
that leads into its list. Directives and targets of reStructuredText count as headings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise

from kb_core.directives import DIRECTIVE, TARGET, describes, shows_code
from kb_core.flat_tables import flat_table
from kb_core.text import entry_lines
from kb_core.values import dataclass, replace

__all__ = ["Unit", "called_before", "sentence_spans", "units"]

_CLOSERS = "\"'”’»›)\\]}」』）】》〉｣*_`"
_WIDE = "。！？｡．"
_STOPS = ".!?…‽؟۔।॥։።፧។៕།༎᙮"
_BORDER = re.compile(
    rf"[{_WIDE}]+[{_CLOSERS}]*\s*|[{_STOPS}]+[{_CLOSERS}]*(?:\[\d+\])*(?:\s+|$)|\n\s*\n\s*"
)
_WORD_BEFORE = re.compile(r"[^\s([{\"'“‘«]*$")
_LONGEST_WORD = 24
_INITIALS = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]|[A-Z\u00c0-\u00de\u0391-\u03a9\u0410-\u042f]")
_ORDINAL = re.compile(r"\d{1,2}|[IVX]{1,5}")
_BEFORE_ORDINAL = re.compile(
    r"\b(?:am|vom|zum|dem|der|den|die|das|des|im|bis|seit|ab|und|beim)\s+\S*$", re.IGNORECASE
)
_MONTH = (
    r"(?:J[aä]n(?:uar|ner)?|Feb(?:ruar|er)?|März|Apr(?:il)?|Mai|Juni?|Juli?|Aug(?:ust)?"
    r"|Sept?(?:ember)?|Okt(?:ober)?|Nov(?:ember)?|Dez(?:ember)?)\b"
)
"""In German, where a day is an ordinal and a month has a capital, as a sentence begins."""
_MONTH_FOLLOWS = re.compile(_MONTH)
_ABBREVIATIONS = frozenset(
    """
    adm al approx art asst aug ave avr bijv bzw ca cap capt cf chap cit co col comp corp dec
    dept dez dhr dipl dott dr dra déc ed eds eg est et etc evtl exp ext feb ff fig figs fr févr
    geb gen ggf godz gov hon hr hrsg ibid ie inc inkl jan janv jr juil jul jun lt ltd mag max
    mevr min mio mlle mme mr mrd mrs ms mt no nov np nr núm oct okt op par pp pres prof prop pág
    págs ref rep rev sen sep sept sgt sig sog sr sra srta st std ste str tab tel tzn tzw ul univ
    usf usw vgl vol vs zb zt zzgl им тел ул
    """.split()  # noqa: SIM905 - two hundred quotes say no more
)
_BEFORE_NUMBER = frozenset(("p", "pp", "s", "nr", "no", "núm", "fig", "abb", "vol", "art", "ch"))
"""Abbreviations where a number follows, and words otherwise."""
_LONG = 80
"""From how many characters on a piece without stops is cut at blanks."""
_UNSTOPPED = re.compile(r"[\u0e00-\u0eff\u1780-\u17ff]")
_BLANKS = re.compile(r"\s+")
_FENCE = re.compile(r"\s*(```+|~~~+)")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+\S")
_UNDERLINE = re.compile(r"([=\-~^\"'*+#:._`])\1{2,}")
_A_FENCE = 3
_FRONT_MATTER = re.compile(
    r"---[ \t]*\n(?=[^\s#-])(?:[^\s:#-][^\n:]{0,60}:(?:[ \t][^\n]*)?\n|[ \t#-][^\n]*\n|\n){1,300}?"
    r"(?:---|\.\.\.)[ \t]*(?:\n|\Z)"
)
"""Values by keys between two lines, where a passage is the beginning of a note."""
_KEY = re.compile(r"([^\s:#-][^\n:]{0,60}):(?=\s)")
_NAMING = frozenset(
    ("alias", "aliases", "categories", "category", "created", "cssclass", "cssclasses", "keywords",
     "lastmod", "layout", "modified", "permalink", "slug", "tag", "tags", "title", "updated")
)  # fmt: skip
"""Keys whose values say what a note is called, how it is sorted, and when it was written."""
_SIGNS_OF_MARKDOWN = ("=", "-")
"""In Markdown, headings may be longer than the line under them."""
_HEADINGS_OF = {
    ".org": re.compile(r"\*+[ \t]+\S|#\+\w+:|[ \t]*:(?:PROPERTIES|END):"),
    ".adoc": re.compile(r"={1,6}[ \t]+\S|:[\w-]+:(?:\s|$)|//"),
}
_HEADINGS_OF[".tid"] = re.compile(
    r"!{1,6}[ \t]*\S"
    r"|(?:bag|created|creator|list|modified|modifier|revision|tags|title|type):(?:\s|$)"
)
_HEADINGS_OF |= dict.fromkeys((".asciidoc", ".asc"), _HEADINGS_OF[".adoc"])
"""Lines that head something, or tell of the file, in markup where Markdown has items or text."""
_ITEM = re.compile(rf"\s*(?:[-*+•‣▪–]|\d{{1,3}}[.)](?!\s+{_MONTH})|[a-z][.)]|\(\d{{1,3}}\))\s+")
_RULE = re.compile(r"[\s|:+=-]*-[\s|:+=-]*$")
_LETTERS = partial(re.compile(r"[\W_]+").sub, "")
"""Of the names of columns, whatever stands between them."""


_WROTE = r"(?P<who>[^:\n]{1,60}?) \(\d\d:\d\d\):"
_CALLED = re.compile(rf"\*\*[^*\s]{{2,40}}\*\*|`[^`\s]{{2,40}}`|{_WROTE}")
"""What an item begins with that says what something is called, an option, say, or who wrote it."""
_MESSAGE = re.compile(rf"[-*] {_WROTE} ")
_REPLIES = 2
"""So many messages after one that asks may answer it."""
_ASKS = ("?", "？", "؟")


@dataclass(frozen=True, slots=True)
class Unit:
    """A half-open range of a passage that can be read on its own."""

    start: int
    end: int
    kind: str
    """``sentence``, ``item``, ``row``, ``code``, ``heading`` or, in front matter, ``value``."""
    lead: tuple[int, int] | None = None
    """The range that is read before it: a table's header, or what leads into a list."""
    thing: tuple[int, int] | None = None
    """The range of the directive that describes what it is about, or of what it is a reply to."""

    @property
    def over(self) -> tuple[int, int] | None:
        """What is read before it, of whichever kind."""
        return self.lead or self.thing


def called_before(text: str, at: int) -> tuple[int, int] | None:
    """Return the range of what an item of one line is called, where *at* is further on in it.

    Of a message that is who wrote it and when.
    """
    mark = _ITEM.match(text, text.rfind("\n", 0, at) + 1, at)
    called = _CALLED.match(text, mark.end(), at) if mark else None
    return called.span() if called else None


def sentence_spans(text: str, start: int = 0, end: int | None = None) -> list[tuple[int, int]]:
    """Return the sentences of *text* within a range, in order, without blanks around them."""
    end = len(text) if end is None else end
    cuts = [start]
    for border in _BORDER.finditer(text, start, end):
        if not _goes_on(text, cuts[-1], border, end):
            cuts.append(border.end())
    spans = [_stripped(text, a, b) for a, b in pairwise([*cuts, end])]
    return [piece for a, b in spans if a < b for piece in _at_blanks(text, a, b)]


def units(
    text: str,
    *,
    is_code: bool = False,
    columns: str | None = None,
    suffix: str = "",
    headings: Sequence[str] = (),
    is_unbroken: bool = False,
) -> list[Unit]:
    """Return the units of a passage, in order; all of it is one where it is code.

    A line that says what one of *headings* says is one: text that was extracted, as from web
    pages, has no marks before these. *suffix* is that of the file's name, which tells Org and
    AsciiDoc from Markdown. With *columns*, it is of a file that is one table, and each line is a
    row: the header is the line that says as much as *columns*, the names of the columns.
    With *is_unbroken*, a line is a paragraph, or an item without a mark.
    """
    if columns is not None:
        rows = [_stripped(text, *line) for line in _lines(text)]
        rows = [row for row in rows if row[0] < row[1]]
        said = _LETTERS(columns)
        header = next((row for row in rows[:-1] if said == _LETTERS(text[slice(*row)])), None)
        return [Unit(*row, "row", header if header and row > header else None) for row in rows]
    if is_code:
        whole = _stripped(text, 0, len(text))
        return [Unit(*whole, "code")] if whole[0] < whole[1] else []
    heads = _HEADINGS_OF.get(suffix.lower(), _HEADING)
    if headings:
        said = "|".join(re.escape(heading) for heading in headings)
        heads = re.compile(rf"{heads.pattern}|\s*(?:{said})\s*\Z")
    blocks = _with_leads(text, heads, is_unbroken=is_unbroken)
    found = [unit for block in blocks for unit in _units_of(text, block)]
    found = _of_questions(text, found) if _MESSAGE.search(text) else found
    return _of_things(text, found) if "::" in text and ".. " in text else found


def _goes_on(text: str, start: int, border: re.Match[str], end: int) -> bool:
    """Say whether what looks like the end of a sentence is inside one."""
    if border.end() >= end:
        return False
    mark, follows = border.group().rstrip(), text[border.end()]
    if mark[-1] in "」』" and mark[0] in _WIDE:
        return "\u3041" <= follows <= "\u309f"  # what was said, and who said it
    if mark[0] != ".":
        return False
    if follows.islower() and text[border.end() - 1].isspace():
        return True
    return mark == "." and _is_short(text, start, border)


def _is_short(text: str, start: int, border: re.Match[str]) -> bool:
    """Say whether the full stop at *border* belongs to the word before it."""
    stop, follows = border.start(), text[border.end()]
    found = _WORD_BEFORE.search(text, max(start, stop - _LONGEST_WORD), stop)
    word = found.group() if found else ""
    if _INITIALS.fullmatch(word):
        return word != "I"
    plain = word.casefold().replace(".", "")
    if plain in _BEFORE_NUMBER:
        return follows.isdigit()
    if plain in _ABBREVIATIONS or plain.endswith("str"):  # of German streets: Hafenstr. 3
        return True
    if not _ORDINAL.fullmatch(word):
        return False
    before = text[max(start, stop - _LONGEST_WORD) : stop]
    return bool(_MONTH_FOLLOWS.match(text, border.end()) or _BEFORE_ORDINAL.search(before))


def _at_blanks(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield a range as it is, or in pieces where its script writes no stops."""
    if end - start > _LONG and _UNSTOPPED.search(text, start, end):
        begun = start
        for blank in _BLANKS.finditer(text, start, end):
            if blank.start() - begun >= _LONG // 2:
                yield begun, blank.start()
                begun = blank.end()
        start = begun
    if start < end:
        yield start, end


@dataclass(frozen=True, slots=True)
class _Block:
    """Whole lines of one kind; of rows and rules, a line each."""

    start: int
    end: int
    kind: str
    lead: tuple[int, int] | None = None


def _with_leads(text: str, heads: re.Pattern[str], *, is_unbroken: bool) -> Iterator[_Block]:
    """Yield the blocks of *text* that say something, each with what is read before it."""
    lead: tuple[int, int] | None = None
    header: tuple[int, int] | None = None
    blocks = list(_blocks(text, heads, is_unbroken=is_unbroken))
    # A passage that begins with a row goes on with a table, unless a line is under that row.
    begun = [block.kind for block in blocks if block.kind][:2]
    goes_on = begun[:1] == ["row"] and begun[1:] != ["rule"] and text.lstrip().startswith("|")
    for block in blocks:
        if block.kind == "row":
            yield _Block(block.start, block.end, "row", header or lead)
            header = header or (None if goes_on else (block.start, block.end))
        elif block.kind == "item":
            yield _Block(block.start, block.end, "item", lead)
        elif block.kind not in ("", "rule"):
            yield block
            lead = _lead_in(text, block)
        if block.kind not in ("row", "rule"):
            header = None
            goes_on = goes_on and not block.kind and block.end <= len(text) - len(text.lstrip())


def _blocks(text: str, heads: re.Pattern[str], *, is_unbroken: bool) -> Iterator[_Block]:
    """Yield paragraphs, items, rows, rules, code, headings and blank lines, as they stand."""
    lines = _lines(text)
    at = 0
    if text.startswith("---") and (front := _FRONT_MATTER.match(text)):
        while at < len(lines) and lines[at][0] < front.end():
            at += 1
        yield from _values(text, lines[:at])
    while at < len(lines):
        first = at
        at, kind = _block_at(text, lines, first, heads)
        if kind not in ("sentence", "item"):
            yield _Block(lines[first][0], lines[at - 1][1], kind)
            continue
        paragraph = lines[first:at]
        anew = frozenset(range(len(paragraph)))
        if not is_unbroken:
            anew = entry_lines([text[a:b] for a, b in paragraph])
        for begun, ended in pairwise([0, *sorted(anew - {0}), len(paragraph)]):
            span = paragraph[begun][0], paragraph[ended - 1][1]
            yield _Block(*span, kind if begun == 0 else "sentence")
        last = paragraph[-1]
        if text[slice(*last)].rstrip().endswith("::") and (after := _shown(text, lines, at, last)):
            yield _Block(lines[at][0], lines[after - 1][1], "code")
            at = after


def _values(text: str, lines: Sequence[tuple[int, int]]) -> Iterator[_Block]:
    """Yield each value of front matter; what names or sorts the document is as a heading of it."""
    begun = [at for at, line in enumerate(lines) if _KEY.match(text, *line)]
    for first, after in pairwise([*begun, len(lines) - 1]):
        key = _KEY.match(text, *lines[first])
        kind = "heading" if key and key[1].lower() in _NAMING else "value"
        yield _Block(lines[first][0], lines[after - 1][1], kind)


def _block_at(
    text: str, lines: Sequence[tuple[int, int]], at: int, heads: re.Pattern[str]
) -> tuple[int, str]:
    """Return the line after the block at the line *at*, and its kind."""
    line = lines[at]
    kind = _kind_of(text[slice(*line)], heads)
    if kind in _MAY_BE_TITLES and (titled := _titled(text, lines[at : at + 3])):
        return at + titled, "heading"
    at += 1
    if kind == "directive":
        directive = DIRECTIVE.fullmatch(text, *line)
        after = _shown(text, lines, at, line) if directive and shows_code(directive) else 0
        return (after, "code") if after else (at, "heading")
    if fence := _FENCE.match(text, *line):
        while at < len(lines) and not text.startswith(fence[1], _inset(text, *lines[at])):
            at += 1
        return min(at + 1, len(lines)), kind
    while kind in ("sentence", "item") and at < len(lines):
        if _kind_of(text[slice(*lines[at])], heads) != "sentence":
            break
        at += 1
    return at, kind


_MAY_BE_TITLES = frozenset({"sentence", "item", "code", "directive"})
"""A row of tildes, which may stand over a title, is a fence where it does not."""


def _titled(text: str, lines: Sequence[tuple[int, int]]) -> int:
    """Return how many of these lines are a title with a line under it, and perhaps over it."""
    said = [text[a:b].strip() for a, b in lines] + ["", ""]
    over, title = (1, said[1]) if _is_adornment(said[0]) else (0, said[0])
    under = said[over + 1]
    if not title or _is_adornment(title) or not _is_adornment(under):
        return 0
    if over and (said[0] != under or len(under) < len(title)):
        return 0
    is_long = under[0] in _SIGNS_OF_MARKDOWN or len(under) >= len(title)
    return over + 2 if is_long else 0


def _is_adornment(line: str) -> bool:
    return _UNDERLINE.fullmatch(line) is not None and (line[0] not in "`~" or len(line) > _A_FENCE)


def _shown(text: str, lines: Sequence[tuple[int, int]], at: int, before: tuple[int, int]) -> int:
    """Return the line after the literal block at the line *at*, 0 where there is none.

    It is what is indented more than the line *before*.
    """
    margin = _inset(text, *before) - before[0]
    after = 0
    for number in range(at, len(lines)):
        start, end = lines[number]
        if text[start:end].isspace():
            continue
        if _inset(text, start, end) - start <= margin:
            break
        after = number + 1
    return after


def _lines(text: str) -> list[tuple[int, int]]:
    ends = [found.end() for found in re.finditer(r"\n", text)]
    return [(a, b) for a, b in pairwise([0, *ends, len(text)]) if a < b]


def _inset(text: str, start: int, end: int) -> int:
    """Return where a line begins, its margin left out."""
    return _stripped(text, start, end)[0]


def _kind_of(line: str, heads: re.Pattern[str]) -> str:
    bare = line.strip()
    if not bare:
        return ""
    if _FENCE.match(line):
        return "code"
    if ".." in bare and (DIRECTIVE.fullmatch(line) or TARGET.fullmatch(line)):
        return "directive"
    if bare.startswith("|") or "\t" in bare:
        return "rule" if _RULE.match(line) else "row"
    if heads.match(line):
        return "heading"
    return "item" if _ITEM.match(line) else "sentence"


def _of_things(text: str, found: Sequence[Unit]) -> list[Unit]:
    """Return units with the things that they describe: those below a directive, as far in."""
    things: list[tuple[int, tuple[int, int]]] = []
    told = []
    for unit in found:
        line = text.rfind("\n", 0, unit.start) + 1
        margin = _inset(text, line, unit.end) - line
        while things and margin <= things[-1][0]:
            things.pop()
        told.append(replace(unit, thing=things[-1][1]) if things else unit)
        directive = DIRECTIVE.match(text, line) if unit.kind == "heading" else None
        if directive and describes(directive):
            things.append((margin, (unit.start, unit.end)))
    return told


def _of_questions(text: str, found: Sequence[Unit]) -> list[Unit]:
    """Return units, a message below one of somebody else that asks with what it asks."""
    told: list[Unit] = []
    asked: tuple[int, int] | None = None
    asker, before, left = "", -1, 0
    for unit in found:
        line = text.rfind("\n", 0, unit.start) + 1
        match = _MESSAGE.match(text, line)
        left = left - (line != before) if match else 0
        is_reply = match is not None and line != before and match["who"] != asker and left >= 0
        told.append(replace(unit, thing=asked) if asked and is_reply else unit)
        if match and text[unit.start : unit.end].endswith(_ASKS):
            asked, asker, left = (unit.start, unit.end), match["who"], _REPLIES
        before = line
    return told


def _lead_in(text: str, block: _Block) -> tuple[int, int] | None:
    """Return the last sentence of a paragraph where it leads into a list or a table."""
    said = text[block.start : block.end].rstrip()
    if block.kind != "sentence" or not said.endswith((":", "：")):
        return None
    return sentence_spans(text, block.start, block.end)[-1]


def _units_of(text: str, block: _Block) -> Iterator[Unit]:
    if block.kind in ("row", "code", "heading", "value"):
        lead = _stripped(text, *block.lead) if block.lead else None
        yield Unit(*_stripped(text, block.start, block.end), block.kind, lead)
        return
    start = block.start
    if block.kind == "item" and (mark := _ITEM.match(text, start, block.end)):
        start = mark.end()
    for a, b in sentence_spans(text, start, block.end):
        yield from _rows_within(text, a, b, block)


def _rows_within(text: str, start: int, end: int, block: _Block) -> Iterator[Unit]:
    """Yield a sentence, or what is around a table that was put into it, and its rows."""
    while end - start > _LONG and (table := flat_table(text, start, end)):
        header = table.header if table.header[0] < table.header[1] else None
        if header:
            yield Unit(*header, block.kind, block.lead)
        yield from (Unit(*row, "row", header) for row in table.rows)
        start = _stripped(text, table.rows[-1][1], end)[0]
    if start < end:
        yield Unit(start, end, block.kind, block.lead)


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())
