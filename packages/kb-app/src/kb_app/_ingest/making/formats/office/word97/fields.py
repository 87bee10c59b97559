"""What is to be read of the letters of a text of Word 97 to 2003 ([MS-DOC] 2.8.25, 2.4.4).

A field is an order, and behind it what came of that; the order is no text, but where it is a
link, or a formula. What is taken out is replaced by NUL, so that all else stays at its place. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kb_app._ingest.making.formulas import formula_of_field

__all__ = ["Link", "edited", "shown", "without_fields"]

_MARKS = re.compile("[\x13\x14\x15]")
_BEGINS, _DIVIDES = "\x13", "\x14"
_HYPERLINK = re.compile(r'\s*HYPERLINK\s+"([^"\x00-\x1f]{1,2000})"')
_BUTTON = re.compile(r"\s*MACROBUTTON\s+[^\s\x00-\x1f]{1,200} ")
_WRITTEN = dict.fromkeys(range(32)) | {9: "\t", 11: "\n", 14: "\n", 30: "-"}
_WRITTEN |= dict.fromkeys(range(0xF000, 0xF100), "•")  # letters of a font of symbols
_LONGEST = 4_000
_SURROGATE = re.compile("[\ud800-\udfff]")


class Link(NamedTuple):
    """Where a text leads elsewhere, and where to."""

    start: int
    end: int
    target: str


def shown(text: str) -> str:
    """Return what a reader sees of letters as they are kept."""
    text = text.translate(_WRITTEN)
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def edited(text: str, changed: Iterable[tuple[int, int, str]]) -> str:
    """Return *text* with other letters in places, which come in order and may overlap."""
    pieces, at = list[str](), 0
    for begins, end, instead in changed:
        start = max(begins, at)
        if start < end:
            first = instead if instead and start == begins else ""
            pieces += (text[at:start], first.ljust(end - start, "\0"))
            at = end
    return "".join([*pieces, text[at:]]) if pieces else text


def without_fields(text: str) -> tuple[str, list[Link]]:
    """Return *text* without orders, and what was a link, in the order of the text.

    A mark that has no other stands for itself.
    """
    orders, links = list[tuple[int, int, str]](), list[Link]()
    for begins, divides, ends in _fields(text):
        order = text[begins + 1 : min(ends if divides is None else divides, begins + _LONGEST)]
        if divides is not None:
            orders.append((begins, divides, ""))
            if (found := _HYPERLINK.match(order)) is not None:
                links.append(Link(divides + 1, ends, found[1]))
        elif (found := _BUTTON.match(order)) is not None:
            orders.append((begins, begins + found.end(), ""))  # what is on a button is text
        else:
            formula = formula_of_field(order) or ""
            orders.append((begins, ends, formula[: ends - begins]))
    orders.sort()
    links.sort()
    return edited(text, ((start, end + 1, said) for start, end, said in orders)), links


def _fields(text: str) -> Iterator[tuple[int, int | None, int]]:
    """Yield where fields begin, divide, if they do, and end."""
    open_: list[tuple[int, int | None]] = []
    for mark in _MARKS.finditer(text):
        at = mark.start()
        if mark[0] == _BEGINS:
            open_.append((at, None))
        elif open_ and mark[0] == _DIVIDES:
            begins, divides = open_[-1]
            open_[-1] = (begins, at if divides is None else divides)
        elif open_:
            yield (*open_.pop(), at)
