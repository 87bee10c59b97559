r"""Texts in RTF: what a reader sees, and what stands beside it, as of docx.

Such a file is bytes of ASCII: groups in braces, control words, and text. A word changes what
follows it to the end of its group, or says what the whole group is. What a group is that nobody
knows is left out where it says that it may be (``\*``); pictures and objects always are. So the
page that Outlook hides in its RTF is left out, and its text is that of the RTF around it.

Bytes become letters by the code page of the font in force. What is hidden or deleted is not
there. A group that never ends, a brace too many or a length that is a lie cost nothing but what
they cover: the work is linear in the bytes, and no depth is too deep.

After Microsoft's *Rich Text Format (RTF) Specification*, version 1.9.1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar, NamedTuple

from kb_app._ingest.making.blocks import Draft
from kb_app._ingest.making.formats.office.items import Item, write_items
from kb_app._ingest.making.formats.office.properties import Properties
from kb_app._ingest.making.formats.office.rtf_flow import (
    Flow,
    Format,
    Numbers,
    Sink,
    Styles,
    Words,
)
from kb_app._ingest.making.formats.office.rtf_fonts import Fonts, page_of
from kb_app._ingest.making.formulas import formula_of_field, raised
from kb_core.documents import Link

__all__ = ["BEGINS", "Rtf"]

BEGINS = b"{\\rtf"
"""How such a file begins."""

_TOKEN = re.compile(
    rb"""
    ([^\\{}\r\n]+) | \\([A-Za-z]+)(-?[0-9]+)?[ ]? | ((?:\\'[0-9A-Fa-f]{2}){1,500})
    | \\(.) | ([{}]) | [\r\n]+
    """,
    re.DOTALL | re.VERBOSE,
)
_TEXT, _WORD, _NUMBER, _HEX, _SYMBOL, _BRACE = range(1, 7)
_INNER = re.compile(rb"\\bin([0-9]+) ?|\\.|[{}]", re.DOTALL)
_DIGITS = 10
_POINTS, _HIGH, _LOW, _PAIR = 0x10_FFFF, range(0xD800, 0xDC00), range(0xDC00, 0xE000), 0x10000
_PRIVATE = range(0xE000, 0xF900)
"""Where the letters of a font of symbols are put, by their last byte."""

_MARKS = {"emdash": "—", "endash": "–", "emspace": "\u2003", "enspace": "\u2002",
          "qmspace": "\u2005", "bullet": "•", "lquote": "‘", "rquote": "’", "ldblquote": "“",
          "rdblquote": "”", "zwj": "\u200d", "zwnj": "\u200c", "ltrmark": "\u200e",
          "rtlmark": "\u200f"}  # fmt: skip
_BREAKS = {"tab": "\t", "line": "\n", "page": "\n", "column": "\n", "lbr": "\n",
           "softline": "\n", "softpage": "\n"}  # fmt: skip
_SYMBOLS = {b"~": "\u00a0", b"_": "-", b"\\": "\\", b"{": "{", b"}": "}", b"\t": "\t"}
_SKIPPED = frozenset({
    *("pict", "nonshppict", "macpict", "objdata", "sp", "shprslt", "mmathPict"),
    *("colortbl", "filetbl", "revtbl", "listtable", "listname", "listoverridetable"),
    *("xe", "tc", "tcn", "rxe", "txe", "bkmkstart", "bkmkend", "datafield", "formfield"),
    *("ftnsep", "ftnsepc", "ftncn", "aftnsep", "aftnsepc", "aftncn", "nonesttables"),
    *("pn", "pnseclvl", "pntxta", "pntxtb", "falt", "panose", "fontemb", "keycode", "comment"),
    *("atnid", "atndate", "atntime", "atnref", "atnicn", "generator", "private", "template"),
    *("themedata", "colorschememapping", "datastore", "latentstyles", "passwordhash"),
})  # fmt: skip
"""What holds no text of the document, whether it says so or not."""
_SEEN = frozenset({"shpinst", "do", "nesttableprops", "moMath", "moMathPara", "shpgrp"})
"""What may be left out, but holds such text."""
_FLOWS = {"footnote": "note", "annotation": "comment", "shptxt": "", "dptxbxtext": ""}
_FLOWS |= {
    f"{margin}{pages}": "margin" for margin in ("header", "footer") for pages in ("", *"lrf")
}
"""What has paragraphs of its own, and what becomes of these: nothing but themselves, of a box."""
_SAYS = {"title": "title", "author": "creator", "subject": "subject", "keywords": "keywords",
         "doccomm": "description", "category": "category", "operator": "lastModifiedBy",
         "creatim": "created", "revtim": "modified"}  # fmt: skip
_REVIEWER = "atnauthor"
_ENDED = frozenset({*_FLOWS, *_SAYS, _REVIEWER, "field", "fldinst", "fldrslt", "listtext",
                    "pntext"})  # fmt: skip
_DEEPEST = 100
"""So many of these may be in each other; what is deeper is no document's."""
_FORMATS = {"s": "style", "outlinelevel": "outline", "ls": "listed", "ilvl": "depth",
            "intbl": "is_in_table", "itap": "tables"}  # fmt: skip
_HIDING = {"v": 1, "deleted": 2, "mvf": 4}
_LINK = re.compile(r'\s*HYPERLINK\s+(?:"([^"]+)"|([^\s"\\]\S*))', re.IGNORECASE)

_Do = Callable[["Rtf", str, int | None], None]


class _State(NamedTuple):
    """What holds until the end of a group."""

    sink: Sink
    format: Format = Format()
    font: int | None = None
    fallback: int = 1
    """How many characters follow a ``\\u`` for programs that do not know it."""
    hidden: int = 0
    is_raised: bool = False


def _by_word(groups: Mapping[str, _Do]) -> Mapping[str, _Do]:
    """Return what is to be done at each word of *groups*."""
    return {word: do for words, do in groups.items() for word in words.split()}


class Rtf:
    """One file; ``warnings`` says what of it could not be read."""

    def __init__(self, data: bytes) -> None:
        self.warnings: list[str] = []
        self._data = data
        self._at = 0
        self._styles, self._fonts = Styles(), Fonts()
        self._body = Flow(self._styles.levels)
        self._state = _State(self._body)
        self._stack: list[_State] = []
        self._ends: list[tuple[int, Callable[[], object]]] = []
        """At which depth a group ends what."""
        self._raw = bytearray()
        self._page, self._default = "cp1252", 0
        self._high = self._unread = 0
        """The first half of a character, and how many of the next ones are for others."""
        self._is_optional = False
        self._margins: list[str] = []
        self._targets: list[str] = []
        """Of the fields around."""
        self._said: dict[str, str] = {}

    def read(self, draft: Draft) -> list[Link]:
        """Write down all that it says, and return its links."""
        return write_items(draft, self._items(), self._margins)

    def properties(self) -> Properties:
        """Return what the file says of itself; it was read before."""
        return Properties({_SAYS[word]: text for word, text in self._said.items() if word in _SAYS})

    def _items(self) -> Iterator[Item]:
        data, match = self._data, _TOKEN.match
        while (token := match(data, self._at)) is not None:
            self._at = token.end()
            self._take(token)
            if self._body.items:
                yield from self._body.items
                self._body.items.clear()
        self._flush()
        if self._stack:
            self.warnings.append("it ends in the middle, so some of it may be missing")
        while self._stack or self._ends:
            self._close()
        yield from self._body.finish()

    def _take(self, token: re.Match[bytes]) -> None:
        kind = token.lastindex
        if kind == _TEXT:
            self._bytes(token[_TEXT])
        elif kind == _HEX:
            self._bytes(bytes.fromhex(token[_HEX].replace(b"\\'", b"").decode()))
        elif kind in {_WORD, _NUMBER}:
            number = token[_NUMBER]
            said = None if number is None else int(number[:_DIGITS])
            self._word(token[_WORD].decode(), said)
        elif kind == _SYMBOL:
            self._symbol(token[_SYMBOL])
        elif kind == _BRACE:
            self._flush()
            if token[_BRACE] == b"{":
                self._stack.append(self._state)
            else:
                self._close()
            self._unread, self._is_optional = 0, False

    def _close(self) -> None:
        """End the group that is open, and what ends with it."""
        while self._ends and self._ends[-1][0] >= len(self._stack):
            self._ends.pop()[1]()
        self._state = self._stack.pop() if self._stack else _State(self._body)

    def _skip_group(self) -> None:
        """Go on at the end of the group that is open."""
        depth, self._at, at = 1, len(self._data), self._at
        while depth and (found := _INNER.search(self._data, at)) is not None:
            at = found.end() + int((found[1] or b"0")[:_DIGITS])
            depth += {b"{": 1, b"}": -1}.get(found[0], 0)
            if not depth:
                self._at = at - 1

    def _bytes(self, raw: bytes) -> None:
        if self._unread:
            dropped = min(self._unread, len(raw))
            self._unread -= dropped
            raw = raw[dropped:]
        self._raw += raw

    def _flush(self) -> None:
        """Turn the bytes that were gathered into text."""
        if self._raw:
            raw, self._raw = bytes(self._raw), bytearray()
            self._say(self._fonts.decoded(raw, self._font, self._page))

    @property
    def _font(self) -> int:
        """The number of the font in force."""
        return self._default if self._state.font is None else self._state.font

    def _say(self, text: str) -> None:
        state = self._state
        if not state.hidden:
            text = raised(state.sink.last, text) if state.is_raised else text
            state.sink.add(text, state.format)

    def _mark(self, text: str) -> None:
        """Say a character that is written by name, unless it stands for another one."""
        self._flush()
        if self._unread:
            self._unread -= 1
        else:
            self._say(text)

    def _symbol(self, symbol: bytes) -> None:
        if symbol in b"\r\n":
            self._end("par", None)
        elif symbol == b"*":
            self._is_optional = True
        elif symbol in _SYMBOLS:
            self._mark(_SYMBOLS[symbol])

    def _word(self, word: str, number: int | None) -> None:
        if word in _MARKS:
            self._mark(_MARKS[word])
            return
        self._flush()
        is_optional, self._is_optional = self._is_optional, False
        if word in _BREAKS:
            self._unread = 0
            self._say(_BREAKS[word])
        elif word in _ENDED and len(self._ends) >= _DEEPEST:
            self._skip_group()
        elif (do := self._do.get(word)) is not None:
            do(self, word, number)
        elif word in _SKIPPED or (is_optional and word not in _SEEN) or _is_about_math(word):
            if word != "cs" or self._state.sink is self._styles:
                self._skip_group()
        else:
            self._state.sink.control(word, number, self._state.format)

    def _change(self, word: str, number: int | None) -> None:
        """Change the format of the paragraph."""
        value = int(word == "intbl") if number is None else number
        format_ = Format()
        if word in _FORMATS:
            format_ = self._state.format._replace(**{_FORMATS[word]: value})
        self._state = self._state._replace(format=format_)

    def _character(self, word: str, number: int | None) -> None:
        """Change the format of what follows: its font, and whether it is seen."""
        state = self._state
        if word == "f":
            self._fonts.begin(number or 0, is_told=state.sink is self._fonts)
            self._state = state._replace(font=number or 0)
        elif word == "plain":
            self._state = state._replace(font=None, hidden=0, is_raised=False)
        elif word in {"super", "sub", "nosupersub"}:
            self._state = state._replace(is_raised=word == "super")
        elif word == "uc":
            self._state = state._replace(fallback=max(0, 1 if number is None else number))
        else:
            bit = _HIDING[word]
            hidden = state.hidden & ~bit if number == 0 else state.hidden | bit
            self._state = state._replace(hidden=hidden)

    def _header(self, word: str, number: int | None) -> None:
        """Take in the code page and the font of what says none."""
        if word == "deff":
            self._default = number or 0
        else:
            self._page = page_of(word, number) or self._page

    def _unicode(self, _: str, number: int | None) -> None:
        point = number or 0
        point += 0x10000 if point < 0 else 0
        self._unread = self._state.fallback
        if point in _HIGH:
            self._high = point
            return
        if point in _LOW and self._high:
            point = _PAIR + (self._high - _HIGH.start << 10) + point - _LOW.start
        self._high = 0
        if point in _PRIVATE:
            self._say(self._fonts.symbol(point & 0xFF, self._font))
        elif ord(" ") <= point <= _POINTS and point not in _LOW:
            self._say(chr(point))

    def _binary(self, _: str, number: int | None) -> None:
        self._at += max(0, number or 0)

    def _end(self, word: str, _: int | None) -> None:
        """End a paragraph, a cell or a row."""
        self._flush()
        self._unread = 0
        self._state.sink.end(word, self._state.format)

    def _into(self, sink: Sink, done: Callable[[], object] | None = None) -> None:
        """Let what follows in the group go into *sink*, and *done* be called at its end."""
        self._state = self._state._replace(sink=sink)
        if done is not None:
            self._ends.append((len(self._stack), done))

    def _tables(self, word: str, _: int | None) -> None:
        """Read the fonts, the styles, or what else is none of the text."""
        match word:
            case "fonttbl":
                self._into(self._fonts)
            case "stylesheet":
                self._into(self._styles, self._styles.finish)
            case _:
                self._into(Sink())

    def _property(self, word: str, _: int | None) -> None:
        told = Numbers() if word.endswith("tim") else Words()
        self._into(told, lambda: self._said.update({word: told.text}))

    def _flow(self, word: str, _: int | None) -> None:
        """Read a note, a comment, a box, or what runs along the head or foot of the pages."""
        outer, own, kind = self._state.sink, Flow(self._styles.levels), _FLOWS[word]
        author = self._said.pop(_REVIEWER, "").strip() if kind == "comment" else ""

        def done() -> None:
            items = own.finish()
            text = "\n".join(item.text for item in items)
            if kind == "margin":
                self._margins.append(text)
            elif not kind:
                outer.put(items)
            elif text.strip():
                outer.put([Item(kind, f"{author}: {text}" if author else text)])

        self._into(own, done)
        self._state = self._state._replace(format=Format())

    def _field(self, word: str, _: int | None) -> None:
        """Read a field: what it is, and what it shows."""
        sink, told = self._state.sink, Words()
        if word == "field":
            self._targets.append("")
            self._into(sink, self._targets.pop)
        elif word == "fldinst" and self._targets:
            format_ = self._state.format
            self._into(told, lambda: self._lead(told.text, sink, format_))
        elif word == "fldinst":
            self._into(Sink())
        elif self._targets and self._targets[-1]:
            target, begun = self._targets[-1], sink.place
            self._into(sink, lambda: sink.link(begun, target))

    def _lead(self, instruction: str, sink: Sink, format_: Format) -> None:
        if formula := formula_of_field(instruction):
            sink.add(formula, format_)
        link = _LINK.match(instruction)
        self._targets[-1] = (link[1] or link[2]).strip() if link else ""

    def _marker(self, _: str, __: int | None) -> None:
        told, sink, format_ = Words(), self._state.sink, self._state.format
        self._into(told, lambda: sink.mark(told.text, format_))

    def _twice(self, word: str, _: int | None) -> None:
        """Leave out what is said for old programs, and read what is said for others."""
        if word == "upr":
            self._into(Sink())
        elif len(self._stack) > 1:
            self._into(self._stack[-2].sink)

    _do: ClassVar[Mapping[str, _Do]] = _by_word(
        {
            "u": _unicode,
            "bin": _binary,
            "par sect cell nestcell row nestrow trowd": _end,
            " ".join(("pard", *_FORMATS)): _change,
            "f plain uc v deleted mvf super sub nosupersub": _character,
            "ansi mac pc pca ansicpg deff": _header,
            "fonttbl stylesheet info": _tables,
            " ".join((*_SAYS, _REVIEWER)): _property,
            " ".join(_FLOWS): _flow,
            "field fldinst fldrslt": _field,
            "listtext pntext": _marker,
            "upr ud": _twice,
        }
    )


def _is_about_math(word: str) -> bool:
    """Say whether a group says how a formula looks."""
    return word[0] == "m" and word.endswith("Pr")
