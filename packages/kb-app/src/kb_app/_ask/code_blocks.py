"""What of code is quoted: what gives a constant its value, and the blocks of what is long.

By the look of lines, as no grammar is at hand where questions are answered: strings and comments
are told from what brackets and signs stand in, and what goes on in the next line by these.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

from kb_app._outlines import beginning_of, is_comment
from kb_core.text import indent_of

__all__ = ["blocks", "statement"]

_STARRED = re.compile(r"[ \t]*\*")
_TOKEN = re.compile(
    r"\"{3}|'{3}|`|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
    r"|(?:^|(?<=\s))(?:#(?!\s*define\b)|//|--(?=\s)|/\*)"
)
"""A string in a line, what opens a text of several, and a comment."""
_TEXTS = frozenset({'"""', "'''", "`"})
_GOES_ON = re.compile(r"(?:[=+\-*/%&|^<>?\\(\[{]|\b(?:and|or|not|in|is))$")
_FOLLOWS = re.compile(r"\s+(?:[.+*/%&|?:-]|(?:and|or)\b)")
"""What a line begins with, further in, that goes on with the one above."""
_EXPLAINS = re.compile(r"[ \t]*\"{3}[\s\S]*?\"{3}")
_SAYS = re.compile(r"[^\W_]")
_QUOTED = '""'
"""What stands for a string."""
_LONGEST_VALUE = 20
"""Lines of a value that are quoted."""
_LONG, _LEAST = 12, 2
"""Lines of code that are quoted as a whole, and lines that say something in each of its blocks."""


def statement(text: str, at: int, language: str | None) -> tuple[int, int]:
    """Return where what gives a value in the line that begins *at* starts and ends.

    With the comment over it, and the text below that explains it; without white space around.
    """
    lines = text.split("\n")
    number = text.count("\n", 0, at)
    count = _lines_of_value(lines[number:], language)
    first = beginning_of(lines, number + 1, language) - 1
    start = at - sum(len(line) + 1 for line in lines[first:number])
    end = min(len(text), at + sum(len(line) + 1 for line in lines[number : number + count]))
    if below := _EXPLAINS.match(text, end):
        end = below.end()
    said = text[start:end]
    return start + len(said) - len(said.lstrip()), start + len(said.rstrip())


def blocks(text: str, language: str | None) -> Sequence[tuple[int, int]]:
    """Return where the blocks of code that is long start and end; none of what is short.

    One begins behind a blank line, and with a comment below a line that is none, but not within
    brackets or a text of several lines. What has few lines goes with what follows, or ends what
    stands above it. Together they are all of it but white space.
    """
    lines = text.split("\n")
    if len(lines) <= _LONG:
        return ()
    begins, said, was_remark, was_blank = [0], 0, False, False
    for number, (line, is_within) in enumerate(zip(lines, _within(lines, language), strict=True)):
        is_remark = is_comment(line, language) and (was_remark or not _STARRED.match(line))
        is_next = was_blank or (is_remark and not was_remark)
        if is_next and not is_within and said >= _LEAST and line.strip():
            begins.append(number)
            said = 0
        said += _SAYS.search(line) is not None
        was_blank, was_remark = not line.strip(), is_remark
    if said < _LEAST:
        begins = begins[:-1] or [0]
    offsets = [0, *accumulate(len(line) + 1 for line in lines)]
    found = []
    for first, end in pairwise([*(offsets[at] for at in begins), len(text)]):
        block = text[first:end]
        found.append((first + len(block) - len(block.lstrip()), first + len(block.rstrip())))
    return found if len(found) > 1 else ()


def _lines_of_value(lines: Sequence[str], language: str | None) -> int:
    """Return how many of *lines* the statement has that begins with the first."""
    depth, quote = 0, ""
    for number, line in enumerate(lines[:_LONGEST_VALUE], start=1):
        code, quote = _bare(line, quote, language)
        depth += sum(map(code.count, "([{")) - sum(map(code.count, ")]}"))
        below = lines[number] if number < len(lines) else ""
        is_over = depth <= 0 and not quote and not _GOES_ON.search(code)
        is_over &= not (code.endswith(":") and "?" in code)
        if is_over and not (
            _FOLLOWS.match(below)
            and indent_of(below) > indent_of(lines[0])
            and code[-1:] not in ",;"
        ):
            return number
    return min(len(lines), _LONGEST_VALUE)


def _within(lines: Sequence[str], language: str | None) -> Iterator[bool]:
    """Yield of each line whether it begins within round or square brackets or within a text."""
    depth, quote = 0, ""
    for line in lines:
        yield depth > 0 or quote != ""
        code, quote = _bare(line, quote, language)
        depth = max(0, depth + sum(map(code.count, "([")) - sum(map(code.count, ")]")))


def _bare(line: str, quote: str, language: str | None) -> tuple[str, str]:
    """Return a line without its strings and comments, and which text goes on below it.

    *quote* is what opened the text that the line begins in, if it does.
    """
    at, code = 0, ""
    if quote:
        at = line.find(quote) + len(quote)
        if at < len(quote):
            return "", quote
    while token := _TOKEN.search(line, at):
        code, sign = code + line[at : token.start()], token[0]
        at = token.end()
        if sign in _TEXTS or sign == "/*":
            end = line.find("*/" if sign == "/*" else sign, at)
            if end < 0:
                return code.rstrip(), "" if sign == "/*" else sign
            at = end + (2 if sign == "/*" else len(sign))
        elif sign[0] not in "\"'":
            return code.rstrip(), ""
        code += "" if sign == "/*" else _QUOTED
    code += line[at:]
    is_open = language == "shell" and '"' in code.replace(_QUOTED, "")
    return code.rstrip(), '"' if is_open else ""
