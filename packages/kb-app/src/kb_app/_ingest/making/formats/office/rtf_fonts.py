"""How bytes of an RTF file become letters: by the code page, or the font in force."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kb_app._ingest.making.formats.office.rtf_flow import LONGEST_NAME, Format, Sink

__all__ = ["Fonts", "page_of"]

_PAGES = {"ansi": "cp1252", "mac": "mac_roman", "pc": "cp437", "pca": "cp850"}
_NUMBERED = {936: "gb18030", 1361: "johab", 10000: "mac_roman", 10001: "cp932", 10006: "mac_greek",
             10007: "mac_cyrillic", 10029: "mac_latin2", 10081: "mac_turkish", 20866: "koi8_r",
             21866: "koi8_u", 54936: "gb18030", 65001: "utf-8"}  # fmt: skip
_NUMBERED |= {
    number: f"cp{number}"
    for number in (437, 720, 737, 775, 850, 852, 855, 857, 858, *range(860, 867), 869, 874)
}
_NUMBERED |= {number: f"cp{number}" for number in (932, 949, 950, *range(1250, 1259))}
_NUMBERED |= {28590 + number: f"iso8859_{number}" for number in (*range(1, 12), *range(13, 17))}
_CHARSETS = {0: "cp1252", 77: "mac_roman", 78: "cp932", 79: "cp949", 80: "gb18030", 81: "cp950",
             85: "mac_greek", 86: "mac_turkish", 88: "mac_latin2", 89: "mac_cyrillic",
             128: "cp932", 129: "cp949", 130: "johab", 134: "gb18030", 136: "cp950", 161: "cp1253",
             162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257",
             204: "cp1251", 222: "cp874", 238: "cp1250", 254: "cp437", 255: "cp850"}  # fmt: skip
_ANY, _OF_SYMBOLS = 1, 2
_BULLET = "•"
"""For what only a font of symbols says."""
_DRAWN = re.compile(r"\s*(?:symbol\b|\w*\s*(?:wingdings|webdings|dingbats)|monotype sorts|marlett)",
                    re.IGNORECASE)  # fmt: skip
_GREEK = str.maketrans(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz\xa3\xa5\xae\xb0\xb1\xb3\xb4\xb9\xbb",
    "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖαβχδεφγηιϕκλμνοπθρστυϖωξψζ≤∞→°±≥×≠≈",
)
_CONTROLS = dict.fromkeys((*range(9), *range(11, 32), 127))
"""What no text has, as it is left out of one."""


def page_of(word: str, number: int | None) -> str | None:
    """Return the encoding that a control word of the head names; ``None`` for an unknown one."""
    return _PAGES.get(word) or _NUMBERED.get(number or 0)


@dataclass(slots=True)
class _Font:
    name: str = ""
    charset: int = -1
    page: int = 0


class Fonts(Sink):
    """The fonts of a file, by number, and what bytes are in each."""

    def __init__(self) -> None:
        self._fonts: dict[int, _Font] = {}
        self._current = _Font()

    def begin(self, number: int, *, is_told: bool) -> None:
        """Font *number* is told of from now on, if *is_told*."""
        if is_told:
            self._current = self._fonts.setdefault(number, _Font())

    def add(self, text: str, _: Format, /) -> None:
        if len(self._current.name) < LONGEST_NAME:
            self._current.name += text[:LONGEST_NAME]

    def control(self, word: str, number: int | None, _: Format, /) -> None:
        if word == "fcharset":
            self._current.charset = number or 0
        elif word == "cpg":
            self._current.page = number or 0

    def decoded(self, raw: bytes, number: int, page: str) -> str:
        """Return the text of *raw* in font *number*; *page* is the file's encoding."""
        font = self._fonts.get(number)
        if font is None:
            return _decoded(raw, page)
        if _is_drawn(font):
            return "".join(_symbol(font, byte) for byte in raw)
        own = _NUMBERED.get(font.page) or _CHARSETS.get(font.charset)
        return _decoded(raw, own or page)

    def symbol(self, code: int, number: int) -> str:
        """Return what a font of symbols shows for *code*, or a bullet."""
        font = self._fonts.get(number)
        return (font is not None and _symbol(font, code)) or _BULLET


def _decoded(raw: bytes, page: str) -> str:
    return raw.decode(page, "replace").translate(_CONTROLS)


def _is_drawn(font: _Font) -> bool:
    is_told = font.charset in {-1, _ANY, _OF_SYMBOLS}
    return is_told and _DRAWN.match(font.name) is not None


def _symbol(font: _Font, code: int) -> str:
    letter = chr(code).translate(_CONTROLS)
    if not letter.strip():
        return letter
    said = letter.translate(_GREEK) if font.name.strip().lower().startswith("symbol") else ""
    return said if said and (said != letter or letter.isascii()) else _BULLET
