"""HTML to a tree of elements with their text, as browsers read it, and where each text stands.

Tags, comments and attributes are told apart as the standard says, in one pass that takes time
in proportion to the input, whatever it is: what is never closed ends with the input. Elements
whose ends are left out are ended where the standard ends them. Elements stand in the order
of the document, so what is inside one are those up to its ``last``, and its runs of text.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

__all__ = [
    "BLOCKS",
    "HEADINGS",
    "Element",
    "Markup",
    "Run",
    "described",
    "read_markup",
    "tags",
    "visible",
]


def tags(names: str) -> frozenset[str]:
    """Return the names of elements that are written in *names*."""
    return frozenset(names.split())


BLOCKS = tags(
    "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset "
    "figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html li legend main menu nav "
    "ol optgroup option p pre search section summary table tbody td tfoot th thead tr ul"
)
"""What begins on a line of its own."""
_VOID = tags("area base basefont br col embed frame hr img input link meta param source track wbr")
_NEVER = tags(
    "head script style template noscript svg math object canvas audio video iframe title textarea "
    "datalist select rt rp"
)
_PAGES = tags("html body")
"""What scripts show, where it is hidden at first."""
_RAW = tags("script style textarea title xmp iframe noembed noframes")
"""What holds no tags."""
_ENDS_P = BLOCKS - tags("body html caption option optgroup td th tr tbody thead tfoot legend")
_SCOPES = tags("table td th caption button object template html body")
_ENDS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "li": (tags("li"), tags("ul ol menu dir")),
    "dt": (tags("dt dd"), tags("dl")),
    "dd": (tags("dt dd"), tags("dl")),
    "td": (tags("td th"), tags("tr table")),
    "th": (tags("td th"), tags("tr table")),
    "tr": (tags("tr caption"), tags("table")),
    "tbody": (tags("tbody thead tfoot caption"), tags("table")),
    "thead": (tags("tbody thead tfoot caption"), tags("table")),
    "tfoot": (tags("tbody thead tfoot caption"), tags("table")),
    "option": (tags("option"), tags("select datalist optgroup")),
    "a": (tags("a"), BLOCKS),
    "body": (tags("head"), frozenset()),
}
"""By element: which open ones its start ends, unless one of the second stands between."""
HEADINGS = tags("h1 h2 h3 h4 h5 h6")
_AROUND_HEADINGS = BLOCKS - HEADINGS
_IN_HEAD = tags("base basefont link meta noscript script style template title head")
_DEEPEST, _LOOKS = 400, 60

_OPENING = re.compile(
    r"<(?:(?P<end>/?)(?P<tag>[a-zA-Z][^\s/>]*+)|(?P<comment>!--)|(?P<cdata>!\[CDATA\[)|[!?/])"
)
_INSIDE = re.compile(r"(?:[^>=]++|=\s*+(?:\"[^\"]*+\"|'[^']*+')?+)*+>")
_ATTRIBUTE = re.compile(
    r"([^\s/>=\"'][^\s/>=]*+)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>]*+)))?+"
)
_HIDDEN = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|mso-hide\s*:\s*all", re.IGNORECASE
)
_ADDED = re.compile(
    r"\s*(?:Description automatically generated|AI-generated content may be incorrect"
    r"|Automatisch generierte Beschreibung|Description générée automatiquement).*",
    re.IGNORECASE | re.DOTALL,
)
_WORD = re.compile(r"[^\W\d_]+")
_FEWEST_WORDS, _FEWEST_SIGNS, _LONGEST_SAID = 3, 6, 1_000
"""Of what a picture shows: fewer words, or characters of a script without spaces, are a name."""
_NEAR = 600
"""Characters before and after a picture in which its caption stands, which may say the same."""
_NO_ATTRIBUTES: Mapping[str, str] = {}
_ALL = ""


@dataclass(slots=True)
class Element:
    """An element: its runs are those from ``first`` to ``end``, its elements up to ``last``."""

    tag: str
    attributes: Mapping[str, str]
    number: int
    parent: int
    first: int
    end: int = 0
    last: int = 0

    @property
    def is_hidden(self) -> bool:
        """Whether it is never shown, as far as it says itself."""
        given = self.attributes
        return self.tag in _NEVER or (
            self.tag not in _PAGES
            and ("hidden" in given or ("style" in given and bool(_HIDDEN.search(given["style"]))))
        )


@dataclass(slots=True)
class Run:
    """A text between two tags, as it is written from ``at``, and the line that it begins on."""

    text: str
    at: int
    line: int
    parent: int

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield what it says on each line of the source, by the line's number from 1."""
        for number, part in enumerate(self.text.split("\n"), self.line):
            yield number, html.unescape(part) if "&" in part else part


@dataclass(slots=True)
class Markup:
    """A page: its elements and its runs of text, in their order. The first element is the root."""

    elements: list[Element] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)

    def within(self, element: Element) -> list[Element]:
        """Return the elements inside *element*."""
        return self.elements[element.number + 1 : element.last]

    def text_of(self, element: Element) -> str:
        """Return all that *element* says, on one line."""
        runs = self.runs[element.first : element.end]
        return " ".join(" ".join(part for run in runs for _, part in run.lines()).split())


def read_markup(source: str) -> Markup:
    """Return what *source* is made of; every text is some page."""
    builder = _Builder(source)
    builder.read()
    return builder.page


def visible(page: Markup) -> list[bool]:
    """Return for each element whether it is shown: neither hidden nor inside what is."""
    shown: list[bool] = []
    for element in page.elements:
        outer = shown[element.parent] if element.number else True
        shown.append(outer and not element.is_hidden)
    return shown


def described(said: str) -> str:
    """Return what somebody said that a picture shows, in brackets; nothing for a mere name.

    ``alt`` of HTML, descriptions of pictures in texts and slides: *logo*, *image1.png* and
    *Picture 3* say nothing, nor does the sentence that a program adds to what it guessed.
    """
    if not said:
        return ""
    text = " ".join(_ADDED.sub("", said[:_LONGEST_SAID]).split())
    words = _WORD.findall(text)
    signs = sum(len(word) for word in words if not word.isascii() and word == word.swapcase())
    if len(words) < _FEWEST_WORDS and signs < _FEWEST_SIGNS:
        return ""
    return "" if " " not in text and text.isascii() else f"[{text}]"


class _Builder:
    """Reads tags one after another, with a stack of what is open."""

    def __init__(self, source: str) -> None:
        self.page = Markup([Element("#page", _NO_ATTRIBUTES, 0, 0, 0)])
        self._source = source
        self._open: list[Element] = [self.page.elements[0]]
        self._counts: Counter[str] = Counter()
        self._too_deep = 0
        self._missing: set[str] = set()
        """Ends of which there are no more."""
        self._line, self._lines_to = 1, 0

    def read(self) -> None:
        source, at, text_from = self._source, 0, 0
        while (opening := _OPENING.search(source, at)) is not None:
            start = opening.start()
            name = opening["tag"]
            end = self._markup_end(opening)
            if end is None:  # no tag, or one that never ends: it is text
                at = start + 1
                if _ALL in self._missing:
                    break
                continue
            self._text(text_from, start)
            at = end
            if name:
                at = self._tag(opening, name.lower(), end)
            text_from = at
        self._text(text_from, len(source))
        while self._open:
            self._close()

    def _markup_end(self, opening: re.Match[str]) -> int | None:
        """Return where a tag, a comment or a declaration ends."""
        source, inside = self._source, opening.end()
        if opening["comment"]:
            if source.startswith((">", "->"), inside):
                return source.index(">", inside) + 1
            if (end := self._found("-->", inside)) is not None:
                return end
        elif opening["cdata"] and (end := self._found("]]>", inside)) is not None:
            return end
        elif opening["tag"] and (match := _INSIDE.match(source, inside)):
            return match.end()
        end = self._found(">", inside)
        if end is None and not opening["tag"]:
            return len(source)
        if end is None:
            self._missing.add(_ALL)
        return end

    def _found(self, mark: str, at: int) -> int | None:
        if mark in self._missing:
            return None
        end = self._source.find(mark, at)
        if end < 0:
            self._missing.add(mark)
            return None
        return end + len(mark)

    def _tag(self, opening: re.Match[str], tag: str, end: int) -> int:
        """Take in a tag; return where what follows it begins."""
        if opening["end"]:
            self._end(tag)
            return end
        source, inside = self._source, opening.end()
        body = source[inside : end - 1]
        given = _attributes(body) if body and not body.isspace() else _NO_ATTRIBUTES
        self._start(tag, given)
        if tag == "img" and "alt" in given:
            self._picture(given["alt"], opening.start(), end)
        is_closed = body.endswith("/") and body[-2:-1] in {"", " ", '"', "'", "\n", "\t"}
        if tag in _VOID or is_closed:
            self._end(tag)
            return end
        if tag in _RAW and (closing := self._raw_end(tag, end)) is not None:
            if tag in {"title", "xmp"}:
                self._text(end, closing)
            return closing
        return end

    def _raw_end(self, tag: str, at: int) -> int | None:
        """Return where the end tag of *tag* begins, which alone ends it."""
        mark = f"</{tag}"
        if mark in self._missing:
            return None
        match = re.compile(rf"{mark}(?=[\s/>])", re.IGNORECASE).search(self._source, at)
        if match is None:
            self._missing.add(mark)
            return None
        return match.start()

    def _picture(self, said: str, start: int, end: int) -> None:
        """Take in what a picture is said to show, unless that stands beside it."""
        text = described(said)
        near = self._source[max(0, start - _NEAR) : start], self._source[end : end + _NEAR]
        if text and not any(said.strip() in each for each in near):
            self._count_to(start)
            shown = f" {html.escape(text, quote=False)} "
            self.page.runs.append(Run(shown, start, self._line, self._open[-1].number))

    def _count_to(self, at: int) -> None:
        self._line += self._source.count("\n", self._lines_to, at)
        self._lines_to = at

    def _text(self, start: int, end: int) -> None:
        if start < end:
            self._count_to(start)
            text = self._source[start:end]
            parent = self._open[-1]
            if parent.tag == "head" and not text.isspace():
                self._end("head")
                parent = self._open[-1]
            self.page.runs.append(Run(text, start, self._line, parent.number))

    def _start(self, tag: str, given: Mapping[str, str]) -> None:
        if self._counts["head"] and tag not in _IN_HEAD and self._open[-1].tag == "head":
            self._end("head")
        if tag in _ENDS_P and self._counts["p"]:
            self._end_open(tags("p"), _SCOPES)
        if tag in _ENDS:
            self._end_open(*_ENDS[tag])
        elif tag in HEADINGS:
            self._end_open(HEADINGS, _AROUND_HEADINGS)
        if len(self._open) >= _DEEPEST:
            self._too_deep += tag not in _VOID
            return
        elements = self.page.elements
        parent = self._open[-1].number
        element = Element(tag, given, len(elements), parent, len(self.page.runs))
        elements.append(element)
        self._open.append(element)
        self._counts[tag] += 1

    def _end_open(self, ended: frozenset[str], kept: frozenset[str]) -> None:
        """End the innermost open element of *ended*, unless one of *kept* is inside it."""
        if not any(self._counts[tag] for tag in ended):
            return
        for depth in range(1, min(len(self._open), _LOOKS)):
            tag = self._open[-depth].tag
            if tag in ended:
                self._close_all(depth)
                return
            if tag in kept:
                return

    def _end(self, tag: str) -> None:
        if self._too_deep:
            self._too_deep -= tag not in _VOID
            return
        if not self._counts[tag]:
            return
        is_inline = tag not in BLOCKS and tag not in _SCOPES
        is_table = tag in {"table", "tr", "td", "th", "tbody", "thead", "tfoot", "body", "html"}
        for depth in range(1, min(len(self._open), _LOOKS if is_inline else _DEEPEST)):
            name = self._open[-depth].tag
            if name == tag:
                self._close_all(depth)
                return
            if (is_inline and name in BLOCKS) or (not is_table and name in {"td", "th"}):
                return  # it ends nothing outside of the block or the cell that it is in

    def _close_all(self, count: int) -> None:
        for _ in range(count):
            self._close()

    def _close(self) -> None:
        element = self._open.pop()
        element.end, element.last = len(self.page.runs), len(self.page.elements)
        self._counts[element.tag] -= 1


def _attributes(body: str) -> Mapping[str, str]:
    """Return the attributes in a tag; of several that are called the same, the first."""
    found: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(body):
        value = double or single or bare
        found.setdefault(name.lower(), html.unescape(value) if "&" in value else value)
    return found
