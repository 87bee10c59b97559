"""Text on a terminal: what is printable, how wide it is, where it wraps.

Names and texts come from documents, so they are escaped before they are shown: a
control character in a file name must not move a cursor or set a title. Widths are in
columns: a Korean syllable has two, a combining mark none.
"""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterator
from datetime import datetime

__all__ = [
    "bytes_text",
    "count",
    "duration",
    "flat",
    "local_time",
    "pad",
    "printable",
    "shorten",
    "terminal_width",
    "width",
    "wrap",
]

_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_JOINERS = frozenset("\u200c\u200d")  # kept: emoji and several scripts are written with them
_NARROWEST, _WIDEST = 40, 100
_MINUTE, _HOUR = 60, 3600
_WIDE = 2  # columns of a character of East Asia


def printable(text: str, *, keep: str = "") -> str:
    """Return *text* with what a terminal would obey, or hide, as escapes; *keep* stays."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in keep or not _is_hidden(c) else _escape(c) for c in text)


def flat(text: str) -> str:
    """Return *text* on one line, printable, every run of white space as one space."""
    return printable(" ".join(text.split()))


def width(text: str) -> int:
    """Return how many columns *text* takes."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def pad(text: str, columns: int, *, right: bool = False) -> str:
    """Fill *text* up with spaces; on its left if it is to stand *right*."""
    space = " " * (columns - width(text))
    return space + text if right else text + space


def shorten(text: str, columns: int, *, front: bool = False) -> str:
    """Cut *text* to *columns*, with ``…`` where it was cut; *front* keeps its end."""
    if width(text) <= columns:
        return text
    kept, used = [], 1
    for character in reversed(text) if front else text:
        used += _columns(character)
        if used > columns:
            break
        kept.append(character)
    return "…" + "".join(reversed(kept)) if front else "".join(kept) + "…"


def wrap(text: str, columns: int) -> list[str]:
    """Break one line into lines of at most *columns*, at spaces where there are any."""
    lines, current, used = list[str](), "", 0
    for piece in _pieces(text, columns):
        if used + width(piece) > columns and current.strip():
            lines.append(current.rstrip())
            current, used = "", 0
        word = piece if lines == [] or current else piece.lstrip()
        current, used = current + word, used + width(word)
    return [*lines, current.rstrip()] if current.strip() else lines


def terminal_width() -> int:
    """Return how wide text is set: the terminal's width within reason, 80 off a terminal."""
    try:
        columns = os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError, AttributeError):
        return 80
    return max(_NARROWEST, min(columns, _WIDEST)) if columns else 80


def count(number: int, noun: str, plural: str = "") -> str:
    """Return ``1 file``, ``1,204 files``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def bytes_text(size: int) -> str:
    """Return a size as people read it."""
    for power, unit in ((4, "TB"), (3, "GB"), (2, "MB"), (1, "kB")):
        if size >= 1000**power:
            return f"{size / 1000**power:.1f} {unit}"
    return f"{size} B"


def duration(seconds: float) -> str:
    """Return a time span as people read it."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE:.0f} min {seconds % _MINUTE:02.0f} s"
    return f"{seconds // _HOUR:.0f} h {seconds % _HOUR // _MINUTE:02.0f} min"


def local_time(stamp: str | None) -> str:
    """Return a timestamp of the wire in the person's own time zone."""
    if not stamp:
        return "-"
    return datetime.fromisoformat(stamp).astimezone().strftime("%Y-%m-%d %H:%M")


def _is_hidden(character: str) -> bool:
    return unicodedata.category(character) in _INVISIBLE and character not in _JOINERS


def _escape(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def _columns(character: str) -> int:
    if unicodedata.combining(character) or character in _JOINERS:
        return 0
    if unicodedata.category(character) in {"Mn", "Me"}:
        return 0
    return _WIDE if unicodedata.east_asian_width(character) in {"W", "F"} else 1


def _pieces(text: str, columns: int) -> Iterator[str]:
    """Yield parts that may stand on a line of their own: words, wide characters, bits."""
    piece = ""
    for character in text:
        # Scripts without spaces may break before any wide character.
        starts = character == " " or _columns(character) == _WIDE
        joins = _columns(character) == 0
        if piece and not joins and (starts or width(piece) + 1 > columns):
            yield piece
            piece = ""
        piece += character
    if piece:
        yield piece
