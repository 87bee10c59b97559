r"""Characters of a PDF, as what they show: ``di\x1berent`` is *different*.

A font that does not say what its characters are has names for them, which PDFium knows one by
one and not joined (``f_f_i``); it gives their code then. Fonts of pictures, as TeX made them,
have no names either: there the codes are those of TeX's own encodings. Pure.
"""

from __future__ import annotations

import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = ["characters_of", "ligatures_in"]

_HIGH, _LOW = range(0xD800, 0xDC00), range(0xDC00, 0xE000)
"""Halves of a character beyond U+FFFF: what comes first, and what second."""
_NONE = "\ufffd"
_UNTOLD = re.compile("[\x00\x01\x03-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)")
"""Codes that are no characters; what PDFium ends a line with is two."""
_DIFFERENCES = re.compile(rb"/Differences\s{0,9}\[")
_NAMED = re.compile(rb"(\d+)|/([^\s/\[\]<>()]+)")
_LIGATURE = re.compile(r"[A-Za-z](?:_[A-Za-z]){1,3}|ff?[il]?")
_NO_NAME = re.compile(r"\.notdef|[A-Za-z]{0,2}\d+")
_PACKED = re.compile(rb"/ObjStm\b[^>]{0,200}>>\s{0,4}stream\r?\n")
_MOST_PACKED, _MOST_BYTES = 2_000, 30_000_000
_LONGEST, _LONGEST_NAMES = 1_000_000, 8_000
_PRIVATE = re.compile("[\uf020-\uf0ff\uf721-\uf7ff]")
_SIGNS = {"\uf0b7": "•", "\uf0a7": "▪", "\uf0d8": "‣", "\uf076": "◦", "\uf0fc": "✓", "\uf0e0": "→"}
"""What Word writes in its fonts of signs, before items above all."""
_OLD = {
    "\x0b": "ff", "\x0c": "fi", "\r": "fl", "\x0e": "ffi", "\x0f": "ffl", "\x10": "ı", "\x12": "`",
    "\x13": "´", "\x14": "ˇ", "\x15": "˘", "\x16": "¯", "\x17": "˚", "\x18": "¸", "\x19": "ß",
    "\x1a": "æ", "\x1b": "œ", "\x1c": "ø", "\x1d": "Æ", "\x1e": "Œ", "\x1f": "Ø",
    "\x7f": "¨",
}  # fmt: skip
"""TeX's first encoding, OT1."""
_LATER = {
    "\x10": "“", "\x11": "”", "\x12": "„", "\x13": "«", "\x14": "»", "\x15": "–", "\x16": "—",
    "\x1b": "ff", "\x1c": "fi", "\x1d": "fl", "\x1e": "ffi", "\x1f": "ffl", "\x7f": "-",
}  # fmt: skip
"""Its second one, T1."""
_LETTERS = re.compile("[^\\W\\d_]{2}|[^\\W\\d_][\x0b-\x1f]|[\x0b-\x1f][^\\W\\d_]")
_OF_OLD = re.compile("[a-z]{2}[\x0b\x0c\r\x0e\x0f](?!\n)|[\x0b\x0c\r\x0e\x0f][a-z]{2}")


def characters_of(
    codes: Sequence[int], ligatures: Callable[[], Mapping[str, str]]
) -> tuple[str, Sequence[int]]:
    """Return a text, and of each character which of PDFium's it is.

    Those beyond U+FFFF, such as emoji and the letters of formulas, are two to PDFium, and one
    that is a ligature may be several.
    """
    text = _plain_signs("".join(map(_character, codes)))
    joined = _with_ligatures(text, ligatures()) if _UNTOLD.search(text) else {}
    if _NONE not in text and not joined:
        return text, range(len(text))
    characters: list[str] = []
    where: list[int] = []
    for at, code in enumerate(codes):
        before = codes[at - 1] if at else 0
        if code in _LOW and before in _HIGH:
            pair = 0x10000 + (before - _HIGH.start << 10) + code - _LOW.start
            characters[-1] = chr(pair)
        else:
            said = joined.get(at, text[at])
            characters += said
            where += [at] * len(said)
    return "".join(characters), where


def _character(code: int) -> str:
    """Return a character; U+FFFD for what is none."""
    return _NONE if code > sys.maxunicode or code in _HIGH or code in _LOW else chr(code)


def ligatures_in(data: bytes) -> dict[str, str]:
    """Return what codes of a file stand for, as the names of its characters tell.

    Nothing for what is named and no ligature.
    """
    told: dict[str, Counter[str]] = {}
    for part in _objects(data):
        for match in _DIFFERENCES.finditer(part):
            code, end = 0, part.find(b"]", match.end(), match.end() + _LONGEST_NAMES)
            for number, name in _NAMED.findall(part, match.end(), max(end, match.end())):
                if number:
                    code = int(number[:6])
                    continue
                said = name.decode("latin-1")
                if code < ord(" ") and not _NO_NAME.fullmatch(said):
                    meant = said.replace("_", "") if _LIGATURE.fullmatch(said) else ""
                    told.setdefault(chr(code), Counter())[meant] += 1
                code += 1
    return {code: names.most_common(1)[0][0] for code, names in told.items()}


def _objects(data: bytes) -> Iterator[bytes]:
    """Yield the file, and what of it is packed, up to a size."""
    yield data
    left, whole = _MOST_BYTES, memoryview(data)
    for number, match in enumerate(_PACKED.finditer(data)):
        if left <= 0 or number >= _MOST_PACKED:
            return
        try:
            part = zlib.decompressobj().decompress(whole[match.end() :], _LONGEST)
        except zlib.error:
            continue
        left -= len(part)
        yield part


def _with_ligatures(text: str, named: Mapping[str, str]) -> dict[int, str]:
    """Return what codes of a page stand for, by where they are; *named* is told by the file."""
    usual = _OLD if _OF_OLD.search(text) else _LATER
    found = {}
    for match in _UNTOLD.finditer(text):
        code, at = match[0], match.start()
        if code in named or _is_in_word(text, at):
            found[at] = named.get(code, usual.get(code, "")) or code
    return found


def _is_in_word(text: str, at: int) -> bool:
    """Say whether a code stands at two letters or more: what else has one is a formula."""
    before, after = text[max(0, at - 2) : at], text[at + 1 : at + 3]
    if before[-1:].isalpha() and after[:1].isalpha():
        return True
    return any(_LETTERS.fullmatch(side) for side in (before, after))


def _plain_signs(text: str) -> str:
    """Return a text with characters of private areas that are known as what they show."""
    return _PRIVATE.sub(_plain, text)


def _plain(match: re.Match[str]) -> str:
    """Return old figures and small capitals as Adobe has them, and bullets."""
    sign = match[0]
    return _SIGNS.get(sign) or (chr(ord(sign) - 0xF700) if sign >= "\uf700" else sign)
