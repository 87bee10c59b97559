"""Text rules that ids, citations and chunks rely on.

A line ends at LF only; CRLF becomes LF when a file is decoded, and a lone CR,
U+2028 or a form feed is an ordinary character (ruling R6). Offsets count Unicode
code points of the decoded text, from 0, half open. Lines count from 1.
"""

from __future__ import annotations

import json
import re
import unicodedata
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from kb_core.values import lazy_pattern

__all__ = [
    "LETTERS",
    "SIGNS",
    "WORD",
    "LineIndex",
    "WordPattern",
    "cut_within",
    "entry_lines",
    "in_any_language",
    "in_word",
    "indent_of",
    "is_grapheme_boundary",
    "nfc",
    "normalize_newlines",
    "quoted",
    "read_json",
    "snap_to_grapheme",
]

SIGNS = (
    "\u0711\u0730-\u074a\u07a6-\u07b0\u07eb-\u07f3\u0900-\u0963\u0971-\u09e3\u09fe-\u0a75"
    "\u0a81-\u0ae3\u0afa-\u0b63\u0b82-\u0bd7\u0c00-\u0c63\u0c81-\u0c83\u0cbc-\u0d4d\u0d57-\u0d63"
    "\u0d81-\u0df3\u0f71-\u0f84\u0f86-\u0fbc\u1712-\u1734\u1920-\u193b\u1b00-\u1b44\u1b80-\u1bf3"
    "\u1c24-\u1c37\ua980-\ua9c0\uaa29-\uaa4d\uabe3-\uabea\uabec\uabed"
)
"""Vowels and other signs that words of scripts such as Devanagari consist of beside letters, for a
class of characters that goes on with a word: letters between them are among these.

``re`` takes none of them for a part of a word, and tears it there into single letters.
"""
_FIRST_SIGN = SIGNS[0]
_SIGN = lazy_pattern(f"[{SIGNS}]")
WORD = rf"[^\W_]+(?:[{SIGNS}]+[^\W_]*)*"
"""A regular expression for a word: letters and digits, no underscore."""
LETTERS = rf"[^\W\d_]+(?:[{SIGNS}]+[^\W\d_]*)*"
"""The same without digits."""
_PARTS = {
    "<word>": (r"[^\W_]+", WORD),
    "<letters>": (r"[^\W\d_]+", LETTERS),
    "<letter>": (r"[^\W\d_]", rf"(?:[^\W\d_]|[{SIGNS}])"),
    "<sign>": (r"[^\W_]", rf"(?:[^\W_]|[{SIGNS}])"),
    "<signs>": ("", SIGNS),
}

_SENTENCE_END = r"""[.!?…]["'”’»)\]]*(?=\s)|[。！？｡][」』）]*"""

_LABEL = lazy_pattern(r"[ \t]*(?:\*\*|__)?[^\W_][^:：.!?|\n]{0,40}(?::(?:\*\*|__)?[ \t]+|：)(?=\S)")
"""How a line begins that says of what it tells something, *Licence plate: ZH 482*."""
_STAMP = lazy_pattern(
    r"[ \t]*(?:[\[(]?\d{1,4}[-./]\d\d?[-./]\d{1,4}\b|\[\d\d?:\d\d|\d\d?:\d\d:\d\d\b"
    r"|\([A-Z]\) |x \d{4}-\d\d-\d\d )"
)
"""How an entry of a log or a journal begins, and a task of a list (todo.txt)."""
_STAMP_BEGINS = frozenset("0123456789[(x")
_FEWEST_LABELS = 2
_OF_LANGUAGE = lazy_pattern(
    r"(?<=[/._-])(af|ar|az|be|bg|bn|bs|ca|cs|cy|da|de|el|en|eo|es|et|eu|fa|fi|fil|fr|ga|gl|gu|he|hi"
    r"|hr|hu|hy|id|is|it|ja|ka|kk|km|kn|ko|lb|lt|lv|mk|mn|mr|ms|nb|ne|nl|nn|no|pl|pt|ro|ru|sk|sl|sq"
    r"|sr|sv|sw|ta|te|th|tr|uk|ur|uz|vi|zh)"
    r"(?:[-_](?:r?[A-Z]{2}|[a-z]{2}|Han[st]|Latn|Cyrl|419))?(?=[/._-])"
)
"""The code of a language in a path: ``docs/fr/a.md``, ``messages_pt_BR.properties``."""

_ZWJ = "\u200d"
_REGIONAL = range(0x1F1E6, 0x1F200)
_EXTEND_CATEGORIES = frozenset({"Mn", "Me", "Mc"})
_ALSO_EXTENDS = frozenset("\u200c\u200d\u0e33\u0eb3\uff9e\uff9f")
"""Joiners, and vowels and marks that Unicode calls letters."""
_EMOJI_MODIFIER = range(0x1F3FB, 0x1F400)
_TAG = range(0xE0020, 0xE0080)
_VIRAMAS = frozenset(
    "\u094d\u09cd\u0acd\u0b4d\u0c4d\u0d4d\u1039\u17d2\u1a60\u1b44\u1bab\ua9c0\uaaf6"
    "\U00010a3f\U00011133\U000113d0\U0001193e\U00011a47\U00011a99\U00011f42"
)
_PREPENDED = frozenset(
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\u0d4e"
    "\U000110bd\U000110cd\U000111c2\U000111c3\U000113d1\U0001193f\U00011941\U00011a3a"
    "\U00011a84\U00011a85\U00011a86\U00011a87\U00011a88\U00011a89\U00011d46\U00011f02"
)
_HANGUL_L = (range(0x1100, 0x1160), range(0xA960, 0xA97D))
_HANGUL_V = (range(0x1160, 0x11A8), range(0xD7B0, 0xD7C7))
_HANGUL_T = (range(0x11A8, 0x1200), range(0xD7CB, 0xD7FC))
_HANGUL_SYLLABLE = range(0xAC00, 0xD7A4)


def quoted(text: str) -> str:
    r"""Return *text* between quotation marks as it was written, ``'\d+'``; on one line."""
    return repr(text).replace("\\\\", "\\")


def nfc(text: str) -> str:
    """Return *text* in Unicode normal form C."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def normalize_newlines(text: str) -> str:
    """Turn CRLF into LF; leave every other character alone."""
    return text.replace("\r\n", "\n") if "\r\n" in text else text


def read_json(data: bytes | str) -> Any:  # noqa: ANN401 - any JSON value
    """Return what somebody else wrote as JSON; ``ValueError`` where it is none, or is too deep."""
    try:
        return json.loads(data)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


class WordPattern:
    r"""A regular expression in which ``<word>``, ``<letters>``, ``<letter>`` and ``<sign>`` stand.

    Those are a word, a run of its letters, one letter, and one letter or digit, of any script;
    within a class, ``<signs>`` are what ``\w`` lacks. Most texts have none of the ``SIGNS``, and
    what looks for them takes four times as long to compile: ``of`` gives what a text needs.
    """

    def __init__(self, expression: str, flags: int = 0) -> None:
        plain = signed = expression
        for part, (simple, whole) in _PARTS.items():
            plain, signed = plain.replace(part, simple), signed.replace(part, whole)
        self._plain, self._signed = lazy_pattern(plain, flags), lazy_pattern(signed, flags)

    def of(self, text: str) -> re.Pattern[str]:
        """Return the expression for *text*."""
        return self._plain if text.isascii() or max(text) < _FIRST_SIGN else self._signed


class LineIndex:
    r"""Translates between offsets and lines of one text.

    The text ``"a\nb\n"`` has two lines; a text without characters has none. A
    newline belongs to the line that it ends.
    """

    __slots__ = ("_length", "_starts")

    def __init__(self, text: str) -> None:
        starts = array("q", [0])  # of millions of lines, a list of numbers takes five times as much
        at = text.find("\n")
        while at != -1:
            starts.append(at + 1)
            at = text.find("\n", at + 1)
        if starts[-1] == len(text):
            starts.pop()  # the text ended with a newline, or was empty
        self._starts = starts
        self._length = len(text)

    def __len__(self) -> int:
        return len(self._starts)

    def line_at(self, offset: int) -> int:
        """Return the line, from 1, that holds the character at *offset*."""
        return max(1, bisect_right(self._starts, offset))

    def lines_of(self, start: int, end: int) -> tuple[int, int]:
        """Return the first and last line that the range ``start..end`` touches."""
        first = self.line_at(start)
        return first, max(first, self.line_at(max(start, end - 1)))

    def range_of(self, first: int, last: int) -> tuple[int, int]:
        """Return the offsets of lines *first* to *last*, the last newline included."""
        start = self._starts[first - 1]
        end = self._starts[last] if last < len(self._starts) else self._length
        return start, end


def entry_lines(lines: Sequence[str]) -> frozenset[int]:
    """Return which lines begin anew where several begin with a label or a date, from 0.

    Those do, and a line after such a one that does not go on with it: that is neither set in nor
    begins with a small letter.
    """
    labelled = {
        at
        for at, line in enumerate(lines)
        if ((":" in line or "：" in line) and _LABEL.match(line))
        or (line.lstrip(" \t")[:1] in _STAMP_BEGINS and _STAMP.match(line))
    }
    if len(labelled) < _FEWEST_LABELS:
        return frozenset()
    found, is_entry = set[int](), False
    for at, line in enumerate(lines):
        goes_on = line[:1].isspace() or line[:1].islower()
        if at in labelled or (is_entry and not goes_on):
            found.add(at)
            is_entry = at in labelled
    return frozenset(found)


def in_word(character: str) -> bool:
    """Say whether a character, or none, is a letter, a digit or a sign that words go on with."""
    return character.isalnum() or (not character.isascii() and bool(_SIGN.match(character)))


def indent_of(text: str) -> int:
    """Return how many blanks a text begins with."""
    return len(text) - len(text.lstrip())


def cut_within(text: str, most: int) -> int:
    """Return where to cut *text* so that at most so many characters stay, at least three fourths.

    That is after a line where this loses little, else after a sentence, else before a space,
    else between what a reader takes for two characters, where there is such a place.
    """
    if len(text) <= most:
        return len(text)
    enough = most - most // 4
    line = text.rfind("\n", 0, most) + 1
    if line >= enough:
        return line
    ends = (one.end() for one in re.compile(_SENTENCE_END).finditer(text, max(0, enough - 1)))
    sentence = max(takewhile(lambda end: end <= most, ends), default=0)
    if sentence >= enough:
        return sentence
    spaces = re.compile(r"\s").finditer(text, enough, most + 1)
    space = max((one.start() for one in spaces), default=0)
    return space or min(most, snap_to_grapheme(text, most, floor=enough))


def is_grapheme_boundary(text: str, at: int) -> bool:
    """Say whether *text* may be cut before the character at *at*.

    Extended grapheme clusters of Unicode Standard Annex 29: CR LF, combining marks,
    joined and modified emoji, flags, Hangul jamo, Indic conjuncts. Cuts that it allows
    are cuts that UAX 29 allows; it refuses a few more, after a joiner that joins nothing.
    """
    if at <= 0 or at >= len(text):
        return True
    before, after = text[at - 1], text[at]
    if before.isascii() and after.isascii():
        return not (before == "\r" and after == "\n")
    if _extends(after) or before == _ZWJ or before in _PREPENDED or _in_conjunct(text, at):
        return False
    if ord(after) in _REGIONAL and ord(before) in _REGIONAL:
        return _flags_before(text, at) % 2 == 0
    return not _jamo_joined(ord(before), ord(after))


def snap_to_grapheme(text: str, at: int, *, floor: int) -> int:
    """Return the nearest boundary at or before *at*, but after *floor*.

    Where one cluster fills everything between, the next boundary after *at* is
    returned, so a cluster of any length stays whole.
    """
    cut = at
    while cut > floor and not is_grapheme_boundary(text, cut):
        cut -= 1
    if cut > floor:
        return cut
    cut = at
    while cut < len(text) and not is_grapheme_boundary(text, cut):
        cut += 1
    return cut


def _extends(character: str) -> bool:
    code = ord(character)
    return (
        character in _ALSO_EXTENDS
        or unicodedata.category(character) in _EXTEND_CATEGORIES
        or code in _EMOJI_MODIFIER
        or code in _TAG
    )


def _flags_before(text: str, at: int) -> int:
    start = at
    while start > 0 and ord(text[start - 1]) in _REGIONAL:
        start -= 1
    return at - start


def _in_conjunct(text: str, at: int) -> bool:
    """Say whether the letter at *at* follows a virama, which joins it to the last one."""
    if unicodedata.category(text[at]) != "Lo":
        return False
    start = at - 1
    while start > 0 and text[start] not in _VIRAMAS and _extends(text[start]):
        start -= 1
    return text[start] in _VIRAMAS


def _jamo_joined(before: int, after: int) -> bool:
    if _is_in(_HANGUL_L, before):
        return any((_is_in(_HANGUL_L, after), _is_in(_HANGUL_V, after), after in _HANGUL_SYLLABLE))
    if _is_in(_HANGUL_V, before) or (
        before in _HANGUL_SYLLABLE and (before - _HANGUL_SYLLABLE.start) % 28 == 0
    ):
        return _is_in(_HANGUL_V, after) or _is_in(_HANGUL_T, after)
    joins = _is_in(_HANGUL_T, before) or before in _HANGUL_SYLLABLE
    return joins and _is_in(_HANGUL_T, after)


def _is_in(ranges: tuple[range, ...], code: int) -> bool:
    return any(code in part for part in ranges)


def in_any_language(path: str) -> tuple[str, str | None]:
    """Return what a path shares with those of its translations, and which language it names."""
    told = _OF_LANGUAGE.search(f"/{path}")
    return (path, None) if told is None else (_OF_LANGUAGE.sub("", f"/{path}")[1:], told[1])
