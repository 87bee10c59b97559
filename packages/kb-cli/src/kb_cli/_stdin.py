"""Standard input: its bytes, and what is JSON in them, with errors that say where."""

from __future__ import annotations

import io
import json
import sys
from typing import BinaryIO, NoReturn

__all__ = ["NotJson", "binary", "parsed", "stream"]


class NotJson(ValueError):
    """The text cannot be read as JSON; says why, and where."""


def stream() -> BinaryIO:
    """Return standard input as bytes; where there is none, nothing is in it."""
    return io.BytesIO() if sys.stdin is None else sys.stdin.buffer


def binary() -> bytes:
    """Return all that is on standard input."""
    return stream().read()


def parsed(data: bytes) -> object:
    """Return the JSON value that *data* is: UTF-8, finite numbers, no depth without end."""
    try:
        text = data.decode("utf-8-sig").rstrip(" \t\r\n")
    except UnicodeDecodeError:
        raise NotJson("is not UTF-8") from None
    try:
        value: object = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if "\n" in text else ""
        where = f"{line}column {error.colno}"
        said = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
        raise NotJson(f"is not JSON: {said} at {where}") from None
    except RecursionError:
        raise NotJson("is not JSON that can be read: it is nested too deeply") from None
    except ValueError as error:
        raise NotJson(f"is not JSON that can be read: {error}") from None
    return value


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if number in {float("inf"), float("-inf")}:
        raise ValueError(f"{text[:20]} is too large")
    return number
