"""The text of a message of Outlook that is kept as RTF, packed, perhaps with HTML in it.

Unpacking follows [MS-OXRTFCP], and HTML is taken out of it as [MS-OXRTFEX] says; RTF of its own
is read for its words alone. Bounded by what a message may be, and linear in it. Pure.
"""

from __future__ import annotations

import re
from html import escape
from typing import NamedTuple

from kb_app._ingest.making.outlook.properties import charset_of

__all__ = ["text_of_rtf", "unpacked"]

_KNOWN = (
    rb"{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript "
    rb"\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\colortbl\red0\green0\blue0"
    b"\r\n"
    rb"\par \pard\plain\f0\fs20\b\i\u\tab\tx"
)
"""What both sides know before the first byte."""
_HEAD_BYTES, _WINDOW = 16, 4096
_PACKED, _PLAIN = b"LZFu", b"MELA"
_LONGEST = 10_000_000
_TOKEN = re.compile(
    rb"\\(?P<word>[A-Za-z]{1,32})(?P<number>-?\d{1,10})?[ ]?"
    rb"|\\'(?P<hex>[0-9A-Fa-f]{2})|\\(?P<sign>[^A-Za-z])|(?P<brace>[{}])|(?P<said>[^\\{}\r\n]+)"
    rb"|[\r\n]+|\\",
    re.DOTALL,
)
_UNSEEN = frozenset(
    b"fonttbl colortbl stylesheet info pict object header headerl headerr headerf footer footerl"
    b" footerr footerf fldinst listtable listoverridetable revtbl rsidtbl themedata mhtmltag"
    b" generator datastore xmlnstbl pntext bkmkstart bkmkend nonshppict".split()
)
_WRITTEN = {b"par": "\n", b"line": "\n", b"sect": "\n", b"page": "\n", b"row": "\n",
            b"tab": "\t", b"cell": "\t", b"emdash": "—", b"endash": "–", b"lquote": "‘",
            b"rquote": "’", b"ldblquote": "“", b"rdblquote": "”", b"bullet": "•",
            b"emspace": " ", b"enspace": " "}  # fmt: skip
_SIGNS = {b"~": "\xa0", b"_": "-", b"\\": "\\", b"{": "{", b"}": "}", b"\n": "\n", b"\r": "\n"}
_FONT_CODEPAGES = {77: 10000, 128: 932, 129: 949, 130: 1361, 134: 936, 136: 950, 161: 1253,
                   162: 1254, 163: 1258, 177: 1255, 178: 1256, 186: 1257, 204: 1251, 222: 874,
                   238: 1250}  # fmt: skip


def unpacked(data: bytes) -> bytes:
    """Return what *data* packs, as far as it goes."""
    kind, size = data[8:12], int.from_bytes(data[4:8], "little")
    size = min(size, _LONGEST)
    packed = data[_HEAD_BYTES:]
    if kind == _PLAIN:
        return packed[:size]
    return _unpacked(packed, size) if kind == _PACKED else b""


def _unpacked(packed: bytes, size: int) -> bytes:
    made = bytearray(_KNOWN)
    end, at = len(_KNOWN) + size, 0
    while at < len(packed) and len(made) < end:
        flags, at = packed[at], at + 1
        for bit in range(8):
            if not flags >> bit & 1:
                made += packed[at : at + 1]
                at += 1
                continue
            said, at = int.from_bytes(packed[at : at + 2], "big"), at + 2
            back = (len(made) - (said >> 4)) % _WINDOW
            start = len(made) - back
            if back == 0 or start < 0 or at > len(packed):
                return bytes(made[len(_KNOWN) : end])
            count = (said & 15) + 2
            piece = made[start : start + count]
            made += (piece * -(-count // len(piece)))[:count]
    return bytes(made[len(_KNOWN) : end])


class _Group(NamedTuple):
    """What holds in a group of RTF."""

    is_unseen: bool = False
    is_markup: bool = False
    """It is HTML as it stands."""
    is_for_rtf: bool = False
    """It is what a reader of RTF sees instead of the HTML."""
    is_fonts: bool = False
    font: int = 0
    spared: int = 1
    """So many characters stand behind one of Unicode, for readers that know none."""


class _Reader:
    def __init__(self, *, is_html: bool) -> None:
        self._is_html = is_html
        self._group = _Group()
        self._outer: list[_Group] = []
        self._out: list[str] = []
        self._bytes = bytearray()
        self._charset = "cp1252"
        self._fonts: dict[int, str] = {}
        self._spare = 0
        self._may_be_unseen = False

    @property
    def text(self) -> str:
        self._flush()
        text = "".join(self._out).encode("utf-16-le", "surrogatepass")
        return text.decode("utf-16-le", "replace").replace("\0", "")

    def read(self, data: bytes) -> None:
        at = 0
        while (token := _TOKEN.match(data, at)) is not None:
            at = token.end()
            match token.lastgroup:
                case "word" | "number":
                    number = int(token["number"]) if token["number"] else None
                    at += max(0, number or 0) if token["word"] == b"bin" else 0
                    self._control(token["word"], number)
                case "brace":
                    self._brace(token["brace"])
                case "sign":
                    self._may_be_unseen = token["sign"] == b"*"
                    self._write(_SIGNS.get(token["sign"], ""))
                case "hex":
                    self._say(bytes([int(token["hex"], 16)]))
                case "said":
                    self._say(token["said"])

    def _brace(self, brace: bytes) -> None:
        self._flush()
        self._spare, self._may_be_unseen = 0, False
        if brace == b"{":
            self._outer.append(self._group)
        elif self._outer:
            self._group = self._outer.pop()

    def _control(self, word: bytes, number: int | None) -> None:
        starred, self._may_be_unseen = self._may_be_unseen, False
        group = self._group
        match word:
            case b"htmltag":
                self._enter(group._replace(is_markup=True))
            case b"htmlrtf":
                self._enter(group._replace(is_for_rtf=number != 0))
            case b"u" if number is not None:
                self._write(chr(number % 0x10000))
                self._spare = group.spared
            case b"uc":
                self._group = group._replace(spared=max(0, number or 0))
            case _ if starred or word in _UNSEEN:
                self._enter(group._replace(is_unseen=True, is_fonts=word == b"fonttbl"))
            case _ if not self._names_letters(word, number or 0):
                self._write(_WRITTEN.get(word, ""))

    def _names_letters(self, word: bytes, number: int) -> bool:
        """Say whether a word tells in what letters are; take that in."""
        match word:
            case b"ansicpg":
                self._charset = charset_of(number) or self._charset
            case b"f":
                self._enter(self._group._replace(font=number))
            case b"fcharset" if self._group.is_fonts:
                known = charset_of(_FONT_CODEPAGES.get(number))
                self._fonts[self._group.font] = known or self._charset
            case _:
                return False
        return True

    def _enter(self, group: _Group) -> None:
        self._flush()
        self._group = group

    @property
    def _is_seen(self) -> bool:
        group = self._group
        return not (group.is_unseen or (self._is_html and group.is_for_rtf))

    def _say(self, said: bytes) -> None:
        spared, self._spare = said[self._spare :], max(0, self._spare - len(said))
        if self._is_seen:
            self._bytes += spared

    def _write(self, text: str) -> None:
        self._flush()
        if text and self._is_seen:
            self._out.append(text)

    def _flush(self) -> None:
        """Decode the bytes so far: a letter may take two of them."""
        if not self._bytes:
            return
        charset = self._fonts.get(self._group.font, self._charset)
        try:
            text = self._bytes.decode(charset, "replace")
        except LookupError:
            text = self._bytes.decode("cp1252", "replace")
        is_literal = self._is_html and not self._group.is_markup
        self._out.append(escape(text, quote=False) if is_literal else text)
        self._bytes.clear()


def text_of_rtf(data: bytes) -> tuple[str, bool]:
    """Return what RTF says, and whether that is HTML."""
    is_html = b"\\fromhtml" in data[:1000]
    reader = _Reader(is_html=is_html)
    reader.read(data)
    return reader.text, is_html
