"""How lists count: ``3``, ``c``, ``C``, ``iii`` and ``III``; and values that a file says.

A file may say anything where a number, a text or a list should be.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from kb_core.values import lazy_pattern

__all__ = ["counted", "json_objects", "objects_in", "text_of", "whole"]

_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"),
          (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip
_MOST_ROMAN, _LETTERS, _MOST_LETTERS = 4_000, 26, 30


def counted(number: int, kind: str = "1") -> str:
    """Return a number as a list of *kind* shows it: ``1``, ``a``, ``A``, ``i`` or ``I``."""
    if kind in {"i", "I"} and 0 < number < _MOST_ROMAN:
        said = _roman(number)
    elif kind in {"a", "A"} and 0 < number <= _LETTERS * _MOST_LETTERS:
        said = chr(ord("a") + (number - 1) % _LETTERS) * ((number - 1) // _LETTERS + 1)
    else:
        return str(number)
    return said.upper() if kind.isupper() else said


def _roman(number: int) -> str:
    said = ""
    for value, letters in _ROMAN:
        said += letters * (number // value)
        number %= value
    return said


def whole(said: str, usual: int, *, digits: int = 6) -> int:
    """Return the number that is *said*, in so many *digits* at most, else what is *usual*."""
    return int(said) if said.isdecimal() and len(said) <= digits else usual


def text_of(value: object) -> str:
    """Return a text of JSON without blanks around it; of anything else nothing."""
    return value.strip() if isinstance(value, str) else ""


def objects_in(value: object) -> Iterator[Mapping[str, object]]:
    """Yield the objects of a list of JSON; of anything else none."""
    for each in value if isinstance(value, list) else ():
        if isinstance(each, dict):
            yield each


def json_objects(text: str) -> Iterator[Mapping[str, object]]:
    """Yield what a file holds: the members of its list one by one, or the whole."""
    decode, at = json.JSONDecoder().raw_decode, _skipped(text, 0)
    if text[at : at + 1] != "[":
        yield from objects_in([json.loads(text)])
        return
    at = _skipped(text, at + 1)
    while text[at : at + 1] != "]":
        found, at = decode(text, at)
        yield from objects_in([found])
        at = _skipped(text, at)
        if text[at : at + 1] == ",":
            at = _skipped(text, at + 1)
        elif text[at : at + 1] != "]":
            raise ValueError(f"it ends in the middle, at character {at:,}")


_BLANKS = lazy_pattern(r"[ \t\r\n]*")


def _skipped(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    return match.end() if match else at
