r"""roff: what lines of it show, without what only sets type.

Of conditions, what holds for a terminal is read; macros that a text defines are not followed.
Escapes become the signs that they stand for, or nothing. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

__all__ = ["Row", "arguments", "rows", "shown"]

_MOST = 50
"""Lines that one goes on in, and conditions within each other."""
_REQUEST = re.compile(r"[.'][ \t]*([^\s\\]+)[ \t]*(.*)", re.DOTALL)
_BRANCH = re.compile(
    r"[.'][ \t]*(?:el|(?P<name>if|ie)[ \t]+(?P<condition>!?(?:[nt](?![\w(])|\S+)))(?![\w])[ \t]*"
    r"(?P<then>.*)",
    re.DOTALL,
)
_HOLDS = frozenset({"n", "!t", r"\n(.g", r"\n[.g]"})
_GOES_ON = re.compile(r"(?<!\\)\\$")
_DEFINES = {"de": 1, "de1": 1, "am": 1, "ig": 0}
"""Requests that are followed by what is no text, and which of their words is what ends it."""
_COMMENT = re.compile(r"(?<!\\)\\[\"#].*", re.DOTALL)
_ARGUMENT = re.compile(r'"((?:[^"]|"")*)"?|((?:\\.|[^\s\\])+)', re.DOTALL)
_ESCAPE = re.compile(
    r"\\(?:(?P<sign>\((?P<two>..)|\[(?P<long>[^\]\s]*)\])"
    r"|\*(?P<string>\(..|\[[^\]]*\]|.)"
    r"|[fFmMgnVYk](?:\(..|\[[^\]]*\]|[+-]?.)|s[-+]?(?:'[^']*'|\[[^\]]*\]|\(..|\d)"
    r"|[hvwlLDRSXbCZoxAH](?P<quote>['\"])(?P<given>.*?)(?P=quote)|N'(?P<code>\d{1,6})'"
    r"|(?P<other>.))",
    re.DOTALL,
)
_OTHERS = {"-": "-", "e": "\\", "\\": "\\", "~": " ", "0": " ", " ": " ", ".": ".", "'": "'",
           "`": "`", "t": "\t", "_": "_"}  # fmt: skip
"""What an escape of one letter shows; of any other nothing."""
_SIGNS = {
    "aq": "'", "dq": '"', "en": "–", "em": "—", "bu": "•", "co": "©", "rg": "®", "tm": "™",
    "cq": "’", "oq": "‘", "lq": "“", "rq": "”", "hy": "-", "mi": "−", "pl": "+", "eq": "=",
    "ga": "`", "ha": "^", "ti": "~", "sl": "/", "rs": "\\", "ul": "_", "ba": "|", "or": "|",
    "br": "│", "at": "@", "sh": "#", "Do": "$", "eu": "€", "Eu": "€", "Po": "£", "Ye": "¥",
    "ct": "¢", "sc": "§", "ps": "¶", "dg": "†", "dd": "‡", "de": "°", "mc": "µ", "->": "→",
    "<-": "←", "ua": "↑", "da": "↓", ">=": "≥", "<=": "≤", "!=": "≠", "==": "≡", "+-": "±",
    "mu": "×", "di": "÷", "if": "∞", "fm": "′", "sd": "″", "la": "⟨", "ra": "⟩", "Fo": "«",
    "Fc": "»", "ss": "ß", "ae": "æ", "AE": "Æ", "o/": "ø", "O/": "Ø", "lB": "[", "rB": "]",
    "lC": "{", "rC": "}", "sq": "□", "12": "½", "14": "¼", "34": "¾", "no": "¬", "~~": "≈",
}  # fmt: skip
_ACCENTS = {"'": "\u0301", "`": "\u0300", "^": "\u0302", "~": "\u0303", ":": "\u0308",
            ",": "\u0327", "o": "\u030a", "v": "\u030c"}  # fmt: skip
_STRINGS = {"Aq": "'", "C`": '"', "C'": '"', "L\"": '"', "R\"": '"', "lq": "“", "rq": "”",
            "R": "®", "Tm": "™", "PI": "π", "--": "—", "Gt": ">", "Lt": "<", "Ge": "≥", "Le": "≤",
            "Am": "&", "Ba": "|", "lp": "(", "rp": ")", "q": '"', "-": "-"}  # fmt: skip


class Row(NamedTuple):
    """What some lines say, from ``first``, up to, not including, ``end``, both from 0."""

    first: int
    end: int
    macro: str
    """Empty where they are text."""
    rest: str
    """What follows the macro, or the text, as it is written."""


def rows(lines: Sequence[str]) -> Iterator[Row]:
    """Yield what is said in lines: text and macros, without definitions and what does not hold."""
    conditions, until = _Conditions(), ""
    for first, end, whole in _whole(lines):
        if until:
            until = "" if whole.rstrip() == until else until
            continue
        line = conditions.passed(whole)
        request = _REQUEST.match(_COMMENT.sub("", line))
        name, rest = request.groups() if request else ("", "")
        if name in _DEFINES:
            words = rest.split()[_DEFINES[name] :]
            until = f".{words[0] if words else '.'}"
        elif name:
            yield Row(first, end, name, rest)
        else:
            yield Row(first, end, "", "" if line[:1] in {".", "'"} else _COMMENT.sub("", line))


def _whole(lines: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Yield lines with those that they go on in: the first, the one after the last, the text."""
    at = 0
    while at < len(lines):
        first, parts = at, [lines[at]]
        at += 1
        while _GOES_ON.search(parts[-1]) and at < min(len(lines), first + _MOST):
            parts[-1] = parts[-1][:-1]
            parts.append(lines[at])
            at += 1
        yield first, at, "".join(parts)


class _Conditions:
    """What holds of a text so far."""

    def __init__(self) -> None:
        self._skipped = 0
        """Blocks that are open and do not hold."""
        self._held = True
        """Whether the last condition did that may have another branch."""

    def passed(self, line: str) -> str:
        """Return what of a line holds; nothing, where it does not."""
        if self._skipped:
            self._skipped = max(0, self._skipped + line.count(r"\{") - line.count(r"\}"))
            return ""
        for _ in range(_MOST):
            if (branch := _BRANCH.match(line)) is None:
                break
            holds = branch["condition"] in _HOLDS if branch["condition"] else not self._held
            self._held = holds if branch["name"] == "ie" else self._held
            line = branch["then"]
            if not holds:
                self._skipped = max(0, line.count(r"\{") - line.count(r"\}"))
                line = ""
            line = line.replace(r"\{", "").replace(r"\}", "").strip()
        return line


def arguments(rest: str) -> list[str]:
    """Return the arguments of a macro, as they are written."""
    found = _ARGUMENT.finditer(rest)
    return [match[2] or (match[1] or "").replace('""', '"') for match in found]


def shown(text: str) -> str:
    """Return what a text shows."""
    if "\\" not in text:
        return text

    def stands_for(match: re.Match[str]) -> str:
        if match["sign"]:
            return _sign(match["two"] or match["long"])
        if match["string"]:
            return _STRINGS.get(match["string"].strip("([]"), "")
        if match["code"]:
            return chr(int(match["code"])) if int(match["code"]) in range(32, 0xD800) else ""
        return _OTHERS.get(match["other"] or "", "")

    return _ESCAPE.sub(stands_for, text)


def _sign(name: str) -> str:
    """Return the sign of a name; of an unknown one nothing."""
    if name in _SIGNS:
        return _SIGNS[name]
    if re.fullmatch(r"u[0-9A-F]{4,5}", name):
        return chr(int(name[1:], 16)).encode("utf-8", "ignore").decode()
    if len(name) == 2 and name[0] in _ACCENTS and name[1].isalpha():  # noqa: PLR2004 - its letter
        return unicodedata.normalize("NFC", name[1] + _ACCENTS[name[0]])
    return ""
