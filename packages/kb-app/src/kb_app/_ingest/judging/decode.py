"""Decoding: bytes to text, whatever the encoding, and never no text.

In order: a byte order mark; UTF-8 without a flaw; UTF-16, UTF-32 and ISO-2022 by their
look; what XML or a source says of itself, if it can be; UTF-8 with a few flaws, which are
replaced; of a few words the encoding in which they make sense; else the one that
``charset_normalizer`` finds in a bounded sample, for the whole file. The mark is removed and
CRLF becomes LF (ruling R6); every other character stays, NUL included. Where bytes had to
be replaced by U+FFFD, ``warnings`` says how many. What is text at all is told here, too.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from kb_core.text import normalize_newlines
from kb_core.values import dataclass, lazy_pattern, replace

if TYPE_CHECKING:
    from kb_app._costly import Costly
    from kb_core.ports import Results

__all__ = [
    "DECODING_VERSION",
    "XML_ENCODING",
    "Decoded",
    "FileContent",
    "decode",
    "decode_as",
    "looks_binary",
    "said_encoding",
]

DECODING_VERSION = "d2"
"""Which encoding is found for what bytes."""

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_KOREAN_ISO_2022 = lazy_pattern(rb"\x1b\$\)C")
"""Whose letters stand between two controls, SO and SI."""
_ISO_2022 = (
    (lazy_pattern(rb"\x1b\$(?:[@B]|\([@BD])|\x1b\([IJ]"), "iso2022_jp_2"),
    (_KOREAN_ISO_2022, "iso2022_kr"),
)
_HEAD = 4_096
XML_ENCODING = lazy_pattern(rb"\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]{2,40})")
_COMMENTED = lazy_pattern(rb"(?:[^\n]*\n)?[ \t\f]*#[^\n]*?coding[:=][ \t]*([\w.-]{2,40})")
"""How a source says its encoding, in a comment on one of its first two lines: PEP 263."""
_CHARSETS = {"euc-kr": "cp949", "ks_c_5601-1987": "cp949", "iso-8859-1": "cp1252",
            "latin1": "cp1252", "us-ascii": "cp1252", "ascii": "cp1252", "gb2312": "gb18030",
            "gbk": "gb18030", "shift_jis": "cp932", "shift-jis": "cp932", "x-sjis": "cp932",
            "iso-8859-9": "cp1254", "tis-620": "cp874", "windows-31j": "cp932"}  # fmt: skip
"""What browsers read these as."""
_UNICODE = ("utf", "unicode", "raw", "idna", "punycode")
"""Names of what the bytes tell by themselves, or of what no text is written in."""
_FLAWS_MAX = 0.1
"""Flaws per well-formed sequence of UTF-8 up to which a text is UTF-8 that was damaged."""

_SAMPLE = 32_768
_NOT_ASCII_LINE = lazy_pattern(rb"[^\n]*[\x80-\xff][^\n]*\n?")

_ANY_LANGUAGE = frozenset("«»“”‘’„‚–—…•€§°©®±×÷µ·½²\xa0\xad")
_WESTERN = tuple(
    frozenset(letters)
    for letters in (
        "àâæçéèêëîïôœùûüÿ",  # French
        "äöüßé",  # German
        "áéíóúüñçàèòï¿¡ºª",  # Spanish, Catalan
        "àáâãçéêíóôõúüºª",  # Portuguese
        "àèéìíòóùúî",  # Italian
        "åäöæøéèêóôüà",  # Nordic
        "áéëèêïíóöüúàç",  # Dutch
        "áðéíóúýþæö",  # Icelandic
    )
)
_KANA_MIN = 6
_HIGH_BYTES = bytes(range(128, 256))
_EAST_ASIAN_DENSITY = 0.15
_EAST_ASIAN = [
    "big5", "big5hkscs", "cp932", "cp949", "cp950", "euc_jis_2004", "euc_jisx0213", "euc_jp",
    "euc_kr", "gb18030", "gb2312", "gbk", "hz", "johab", "shift_jis", "shift_jis_2004",
    "shift_jisx0213",
]  # fmt: skip

_TOLD_ELSEWHERE = [
    "utf_16", "utf_16_be", "utf_16_le", "utf_32", "utf_32_be", "utf_32_le", "utf_7",
    "cp1006",
]  # fmt: skip
"""What was recognised by its NUL or its mark, is all ASCII, or is what nobody writes in."""

_WHITE_OR_USUAL = frozenset(b"\t\n\r\f\v\b\x1b")
_CONTROLS = bytes(b for b in range(32) if b not in _WHITE_OR_USUAL) + b"\x7f"
_MAX_CONTROLS, _MAX_IN_UTF8 = 0.02, 0.1
"""Of the bytes of a text, at most; of few, one is many."""
_LOOK = 4096
_MARKS = tuple(mark for mark, _ in _BOMS)

_WIDE = range(0x2E80, 0xD7B0)
_MAX_BLOCKS = 8


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text, and how it came about."""

    text: str
    encoding: str
    warnings: tuple[str, ...] = ()


class FileContent:
    """``Content`` of a file that was read; it is decoded when its text is first asked for.

    Costly results are kept in *costly*; nowhere, if need be.
    """

    def __init__(self, data: bytes, costly: Costly | None = None) -> None:
        self.data = data
        self.costly = costly

    @property
    def text(self) -> str:
        return self._decoded.text

    @property
    def warnings(self) -> tuple[str, ...]:
        return self._decoded.warnings

    def results(self, kind: str, maker: Mapping[str, object]) -> Results:
        if self.costly is None:
            from kb_app._costly import UnkeptResults  # what is quick asks for none

            return UnkeptResults()
        return self.costly.results(self.data, kind, maker)

    @cached_property
    def _decoded(self) -> Decoded:
        decoded = decode(self.data)
        if decoded.text.isascii():
            return decoded
        # Half a surrogate pair cannot be stored.
        return replace(decoded, text=decoded.text.encode("utf-8", "replace").decode())


def decode(data: bytes) -> Decoded:
    """Return the text of *data*."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return decode_as(data[len(mark) :], encoding)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        told = _utf16_or_32(data) or _declared(data) or _damaged_utf8(data)
        return decode_as(data, told or _guess(data))
    if "\0" in text and (wide := _utf16_or_32(data)):
        return decode_as(data, wide)
    if "\x1b" in text:
        for escape, encoding in _ISO_2022:
            if escape.search(data):
                return decode_as(data, encoding)
    return Decoded(normalize_newlines(text), "utf-8")


def decode_as(data: bytes, encoding: str) -> Decoded:
    """Return *data* in *encoding*, with what is not of it replaced, and counted."""
    try:
        return Decoded(normalize_newlines(data.decode(encoding)), encoding)
    except UnicodeDecodeError:
        text = data.decode(encoding, "replace")
    replaced = max(1, text.count("\ufffd"))
    warning = f"encoding: {replaced} places were not {encoding} and were replaced"
    return Decoded(normalize_newlines(text), encoding, (warning,))


def said_encoding(said: re.Match[bytes] | None) -> str | None:
    """Return the encoding that the group of a match names, as browsers read it.

    ``None`` where nothing is said, or a form of Unicode, which the bytes tell by themselves.
    """
    if said is None:
        return None
    label = said[1].decode("ascii").lower()
    name = _CHARSETS.get(label, label)
    return None if name.startswith(_UNICODE) else name


def _declared(data: bytes) -> str | None:
    """Return the encoding that *data* says it is in, where it is, as XML and sources say it."""
    said = XML_ENCODING.match(data[:_HEAD]) or _COMMENTED.match(data[:_HEAD])
    if (name := said_encoding(said)) is None:
        return None
    try:
        data.decode(name)
    except (LookupError, ValueError):
        return None
    return name


def _damaged_utf8(data: bytes) -> str | None:
    """Return ``utf-8`` if *data* is that but for a few flaws."""
    text = data.decode("utf-8", "replace")
    flaws = text.count("\ufffd")
    well_formed = sum(map(len, re.findall(r"[^\x00-\x7f\ufffd]+", text)))
    return "utf-8" if flaws <= well_formed * _FLAWS_MAX else None


def _guess(data: bytes) -> str:
    """Return the likeliest encoding of what is not Unicode."""
    from kb_app._ingest.judging.few_words import LATIN, likeliest  # most files are UTF-8

    sample = _sample(data)
    few = likeliest(sample)
    if few not in {None, LATIN}:
        return few
    if _is_western(sample):
        return "cp1252"
    for encoding in ("euc_jp", "cp932"):
        if _has_kana(sample, encoding):
            return encoding
    from charset_normalizer import from_bytes  # takes 50 ms

    is_east_asian = few is None and _is_dense(sample)
    excluded = _TOLD_ELSEWHERE if is_east_asian else _TOLD_ELSEWHERE + _EAST_ASIAN
    best = from_bytes(sample, cp_exclusion=excluded).best()
    return "cp1252" if best is None or best.encoding == "ascii" else best.encoding


def _is_western(sample: bytes) -> bool:
    """Say whether *sample*, taken for Windows-1252, uses the letters of one language only.

    On the short runs of accents that such texts have, statistics err more than this does.
    """
    used = set(sample.decode("cp1252", "replace").lower()) - _ANY_LANGUAGE
    used = {character for character in used if not character.isascii()}
    return any(used <= letters for letters in _WESTERN)


def _has_kana(sample: bytes, encoding: str) -> bool:
    """Say whether *sample*, taken for *encoding*, is as full of kana as only Japanese is."""
    wide = [c for c in sample.decode(encoding, "replace") if not c.isascii()]
    kana = sum("\u3041" <= c <= "\u30ff" for c in wide)
    return len(wide) >= _KANA_MIN and kana > 0.3 * len(wide) and wide.count("\ufffd") <= 1


def _is_dense(sample: bytes) -> bool:
    """Say whether so many bytes are not ASCII that it may be a script without an alphabet."""
    high = len(sample) - len(sample.translate(None, _HIGH_BYTES))
    return high > len(sample) * _EAST_ASIAN_DENSITY


def _sample(data: bytes) -> bytes:
    """Return lines of *data* that are not ASCII: the others say nothing of its encoding."""
    lines, size = [], 0
    for match in _NOT_ASCII_LINE.finditer(data):
        lines.append(match[0][:_SAMPLE])
        size += len(lines[-1])
        if size >= _SAMPLE:
            break
    return b"".join(lines)[:_SAMPLE]


def looks_binary(data: bytes) -> bool:
    """Say whether *data*, the start of a file, is not text in any encoding.

    Text has hardly any control characters; NUL is one. UTF-16 and UTF-32 are full of
    them and are recognised, with or without a byte order mark.
    """
    if not data or data.startswith(_MARKS):
        return False
    controls = len(data) - len(data.translate(None, _CONTROLS))
    if not controls:
        return False
    if _KOREAN_ISO_2022.search(data):
        controls -= data.count(b"\x0e") + data.count(b"\x0f")
    if b"\0" in data and _utf16_or_32(data) is not None:
        return False
    is_utf8 = _is_utf8(data)
    most = _MAX_IN_UTF8 if is_utf8 and b"\0" not in data else _MAX_CONTROLS
    return controls > len(data) * most or (b"\0" in data and not is_utf8)


def _utf16_or_32(data: bytes) -> str | None:
    """Return the encoding of *data* if it looks like UTF-16 or UTF-32 without a mark."""
    sample = data[: min(len(data), _LOOK) // 4 * 4]
    if b"\0" not in sample:
        return None  # the blanks of such text have a NUL in them
    for encoding in ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be"):
        # A cut through a surrogate pair is no fault of the text's.
        for end in (len(sample), len(sample) - 2):
            try:
                text = sample[:end].decode(encoding)
            except UnicodeDecodeError:
                continue
            if _is_plausible(text):
                return encoding
            break
    return None


def _is_plausible(text: str) -> bool:
    """Say whether *text* is printable, and has the spaces and letters that text has."""
    usual = sum(c.isprintable() or c in "\n\r\t\f" for c in text)
    blanks = sum(c in " \n\r\t\u3000" for c in text)
    return usual >= 0.98 * len(text) and (blanks > 0 or text.isascii()) and _few_scripts(text)


def _few_scripts(text: str) -> bool:
    # Bytes taken for UTF-16 the wrong way round fall all over the planes; text keeps to a few
    # blocks of 256 characters, but for the ideographs and Hangul, which fill a range of them.
    return len({ord(c) >> 8 for c in text if ord(c) not in _WIDE}) <= _MAX_BLOCKS


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start >= len(data) - 3 and "end of data" in error.reason
    return True
