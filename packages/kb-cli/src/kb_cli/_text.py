"""Text set on a terminal: how wide it is, where it wraps, how it stands in tables.

Widths are in columns: a Korean syllable has two, a combining mark none. What is set here
is printable already (``kb_app.shown``); only cells of a table are made so here.
"""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kb_app.shown import flat
from kb_core.values import lazy_pattern

__all__ = ["echo", "pad", "pairs", "shorten", "style", "table", "terminal_width", "width", "wrap"]

_JOINERS = frozenset("\u200c\u200d")
_NARROWEST, _WIDEST = 40, 100
_WIDE = 2  # columns of a character of East Asia
_GAP = "  "
_COLORS = {"red": 31, "green": 32, "yellow": 33, "cyan": 36}
_STYLES = lazy_pattern(r"\x1b\[[0-?]*[ -/]*[@-~]")
_PLAIN_WORD = lazy_pattern(r" [^ ]*|[^ ]+")


def style(text: str, *, fg: str | None = None, bold: bool = False, dim: bool = False) -> str:
    """Return *text* as a terminal shows it in a colour, bold or dim."""
    codes = [_COLORS[fg]] if fg else []
    codes += [1] if bold else []
    codes += [2] if dim else []
    return "".join([*(f"\x1b[{code}m" for code in codes), text, "\x1b[0m"])


def echo(text: str = "", *, err: bool = False, nl: bool = True, color: bool | None = None) -> None:
    """Write *text* to stdout or stderr at once; styles only where a terminal shows them.

    *color* says whether one does; where it is None, the stream is asked. As ``click.echo``,
    which is used where click is loaded, or where a stream writes something else than UTF-8.
    """
    stream = sys.stderr if err else sys.stdout
    if "click" in sys.modules or getattr(stream, "encoding", "utf-8") != "utf-8":
        import click

        click.echo(text, err=err, nl=nl, color=color)
        return
    if stream is None:
        return
    if "\x1b" in text and not (stream.isatty() if color is None else color):
        text = _STYLES.sub("", text)
    stream.write(f"{text}\n" if nl else text)
    stream.flush()


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
    if len(text) <= columns and text.isascii():
        return [text.rstrip()] if text.strip() else []
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


def table(
    head: Sequence[str], rows: Iterable[Sequence[object]], *, limit: Mapping[str, int] | None = None
) -> list[str]:
    """Return aligned lines under *head*; numbers stand right.

    *limit* is the most columns that a cell under that head may take. The last column
    is not filled up.
    """
    limits = [(limit or {}).get(name) for name in head]
    values = [list(row) for row in rows]
    cells = [[_cell(v, most) for v, most in zip(row, limits, strict=True)] for row in values]
    numeric = [
        bool(values) and all(isinstance(row[at], int) or row[at] is None for row in values)
        for at in range(len(head))
    ]
    widths = [max(map(width, column)) for column in zip(head, *cells, strict=True)]
    return [_line(row, widths, numeric) for row in [list(head), *cells]]


def pairs(rows: Iterable[tuple[str, object]], *, indent: str = "") -> list[str]:
    """Return names and values, the values aligned."""
    known = [(name, _cell(value, None)) for name, value in rows]
    longest = max((width(name) for name, _ in known), default=0)
    return [f"{indent}{pad(name, longest)}{_GAP}{value}".rstrip() for name, value in known]


def _columns(character: str) -> int:
    if unicodedata.combining(character) or character in _JOINERS:
        return 0
    if unicodedata.category(character) in {"Mn", "Me"}:
        return 0
    return _WIDE if unicodedata.east_asian_width(character) in {"W", "F"} else 1


def _pieces(text: str, columns: int) -> Iterator[str]:
    """Yield parts that may stand on a line of their own: words, wide characters, bits."""
    if text.isascii():
        for word in _PLAIN_WORD.findall(text):
            yield from (word[at : at + columns] for at in range(0, len(word), columns))
        return
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


def _cell(value: object, limit: int | None) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = f"{value:,}" if isinstance(value, int) else flat(str(value))
    return shorten(text, limit) if limit else text


def _line(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    filled = [
        pad(cell, columns, right=right)
        for cell, columns, right in zip(cells, widths, numeric, strict=True)
    ]
    return _GAP.join(filled).rstrip()
