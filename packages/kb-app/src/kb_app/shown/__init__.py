"""What interfaces share in showing things to a person: safe text, amounts, times.

``progress`` folds the events of long work into a value, ``trace`` sets a search's trace
in rows. All of it is pure and knows neither a terminal nor a screen: an interface draws.

Names and texts come from documents, which anyone may have written, so nothing of them
reaches a terminal that it would obey or a person would not see: a control character in
a file name must not move a cursor, nor a mark turn the line around. ``is_hidden`` is the
one rule for that; ``printable`` and ``visible`` are two ways to draw what it finds.

Terminals differ in how many cells a picture has that several characters make: a heart with the
selector of its coloured form, a hand with a colour of skin, a family of joined people. In
places of a fixed width there are the characters alone, which all of them draw alike.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

__all__ = [
    "DOUBTFUL",
    "DOUBTFUL_BY_WORDS",
    "NO_ANSWER",
    "PER_DOC",
    "as_given",
    "brief_duration",
    "bytes_text",
    "count",
    "duration",
    "first_line",
    "flat",
    "is_doubtful",
    "is_hidden",
    "local_time",
    "moment",
    "printable",
    "shell_word",
    "steady",
    "visible",
]

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Controls, formatting, halves of surrogates, private use, breaks of lines and paragraphs."""
_JOINERS = frozenset("\u200c\u200d")
"""Formatting that emoji and several scripts are written with."""
_JOINER = "\u200d"
_UNSTEADY = frozenset("\ufe0e\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff" + _JOINER)
"""What makes one picture of several characters: selectors, colours of skin, the joiner."""
_QUOTED, _NO_UTF8 = "\\'", frozenset(map(chr, range(0xDC80, 0xDD00)))
_TAB = 4
_DELETE = 0x7F
_PICTURES = 0x2400
"""Where Unicode has a picture for each of the first 32 controls."""
_MINUTE, _HOUR = 60, 3600
_TENTHS_BELOW = 10
_THOUSAND = 1000
_OF_WORDS = "bm25"


PER_DOC = 3
"""How many hits of one document a person sees, unless told otherwise."""
NO_ANSWER = "nothing here seems to answer this"
"""What a person reads above hits of which ``is_doubtful`` says so."""
DOUBTFUL, DOUBTFUL_BY_WORDS = 0.06, 0.08
"""Confidence below which it is said: of questions that have an answer, one in a hundred is below.
Words alone tell less, and seldom so little."""


def is_doubtful(confidence: float | None, score_kind: str) -> bool:
    """Say whether the best of a list is too weak to be taken for an answer.

    *score_kind* is that of its hits, which tells whether words alone found them.
    """
    line = DOUBTFUL_BY_WORDS if score_kind == _OF_WORDS else DOUBTFUL
    return confidence is not None and confidence < line


# ------------------------------------------------------------------ safe text


def is_hidden(character: str) -> bool:
    """Say whether a terminal would obey *character*, or show nothing or anything for it.

    Line feeds and tabs are hidden, too: a place that has lines says so where it shows them.
    """
    return unicodedata.category(character) in _HIDDEN and character not in _JOINERS


def printable(text: str, *, keep: str = "") -> str:
    r"""Return *text* with what is hidden as escapes, such as ``\x1b``; *keep* stays."""
    return _drawn(text, keep, _escape)


def visible(text: str, *, keep: str = "") -> str:
    """Return *text* with what is hidden as a picture of one cell, and tabs as spaces.

    For places of a fixed width; *keep* stays, and pictures are ``steady``.
    """
    return _drawn(steady(text).expandtabs(_TAB), keep, _picture)


def steady(text: str, put: str = "") -> str:
    """Return *text* with *put* for what makes one picture of several characters.

    A joiner before a letter is of a script that is written with it, and stays.
    """
    if text.isascii() or _UNSTEADY.isdisjoint(text):
        return text
    return "".join(
        put if c in _UNSTEADY and not (c == _JOINER and after.isalpha()) else c
        for c, after in zip(text, f"{text[1:]} ", strict=True)
    )


def as_given(value: object) -> str:
    """Return a value as a person or a model wrote it: ``'text'``, ``true``, ``null``, ``[1]``."""
    if isinstance(value, str):
        from kb_core.text import quoted

        return quoted(value)
    import json  # only a mistake needs it

    return json.dumps(value, ensure_ascii=False, default=str)


def shell_word(text: str) -> str:
    """Return *text* as a word that a shell reads as it is, bash and zsh also what is hidden in it.

    That is written as bytes, in ``$'…'``: a file's name may hold some that are no UTF-8.
    """
    from shlex import quote  # few are shown

    if not any(map(is_hidden, text)):
        return quote(text)
    return f"$'{''.join(_bytes_of(c) if is_hidden(c) or c in _QUOTED else c for c in text)}'"


def _bytes_of(character: str) -> str:
    how = "surrogateescape" if character in _NO_UTF8 else "surrogatepass"
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", how))


def flat(text: str) -> str:
    """Return *text* on one line, printable, every run of white space as one space."""
    return printable(" ".join(text.split()))


def _drawn(text: str, keep: str, draw: Callable[[str], str]) -> str:
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in keep or not is_hidden(c) else draw(c) for c in text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def _picture(character: str) -> str:
    if character < " ":
        return chr(_PICTURES + ord(character))
    return "\u2421" if ord(character) == _DELETE else "\ufffd"


# ----------------------------------------------------------- amounts and times


def count(number: int, noun: str, plural: str = "") -> str:
    """Return ``1 file``, ``1,204 files``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def bytes_text(size: int, *, digits: int = 1) -> str:
    """Return a size as people read it: ``12.3 kB``, with so many *digits* after the point."""
    for power, unit in ((4, "TB"), (3, "GB"), (2, "MB"), (1, "kB")):
        if size >= 1000**power:
            return f"{size / 1000**power:.{digits}f} {unit}"
    return f"{size} B"


def duration(seconds: float) -> str:
    """Return a time span in words: ``12 ms``, ``3.2 s``, ``5 min 22 s``, ``2 h 02 min``."""
    if round(seconds * 1000) < _THOUSAND:
        return f"{seconds * 1000:.0f} ms"
    if round(seconds, 1) < _MINUTE:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE:02} s"
    minutes = round(seconds / _MINUTE)
    return f"{minutes // _MINUTE} h {minutes % _MINUTE:02} min"


def brief_duration(seconds: float) -> str:
    """Return a time span for a narrow column: ``0.4 s``, ``12 s``, ``3:05 min``, ``2:40 h``."""
    if seconds < _TENTHS_BELOW:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE}:{whole % _MINUTE:02} min"
    return f"{whole // _HOUR}:{whole % _HOUR // _MINUTE:02} h"


def moment(milliseconds: int) -> str:
    """Return a time in a recording as players show it: ``0:05``, ``13:42``, ``1:02:03``."""
    minutes, seconds = divmod(milliseconds // 1000, _MINUTE)
    hours, minutes = divmod(minutes, _MINUTE)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def local_time(stamp: str | None) -> str:
    """Return a timestamp of the wire in the person's own time zone; ``-`` for none."""
    if not stamp:
        return "-"
    return datetime.fromisoformat(stamp).astimezone().strftime("%Y-%m-%d %H:%M")


def first_line(place: Mapping[str, Any], text: str) -> int | None:
    """Return the number of the first line of *text*, which is cited at *place*.

    Nothing where its lines are not those of its source: a page has none, and of a notebook or a
    page of the web those that are cited are of the file, which the text does not have.
    """
    if place["kind"] not in {"line", "code"}:
        return None
    first: int = place.get("line_start", place.get("start"))
    last: int = place.get("line_end", place.get("end", first + text.count("\n")))
    return first if last - first in {text.count("\n"), text.rstrip("\n").count("\n")} else None
