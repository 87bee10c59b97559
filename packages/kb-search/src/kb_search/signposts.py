"""Passages that only name what stands elsewhere: lists of links, contents, headings, imports.

Such a passage holds the words of everything that it leads to, in few words altogether, so it
matches nearly every question better than the passage that answers it. It is told by its text
alone: what can be read in it beside headings, links and lines of a table of contents is next
to nothing; of code, it has imports or a licence and nothing else. Ranking counts it as longer
by words, and as farther away by meaning; what it leads to comes first, and it is still found
where nothing else is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kb_core.text import WORD
from kb_core.values import lazy_pattern

__all__ = ["is_signpost"]

_POINTERS = 3
"""Fewer links are no list: one may be the answer."""
_PROSE = 1 / 3
"""Letters beside links, as a share of those of links, that still make no text."""

_MARKER = lazy_pattern(r"[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+")
_FENCE = lazy_pattern(r"\s{0,3}(?:```|~~~)")
_HEADING = lazy_pattern(r"\s{0,3}#{1,6}(?:\s|$)")
_UNDERLINE = lazy_pattern(r"\s{0,3}(?:=+|-{2,})\s*$")
_IMAGE = lazy_pattern(r"!\[([^\[\]]*)\]\([^()\n]*\)")
_LINK = lazy_pattern(
    r"\[\[([^\[\]\n]*)\]\]"  # of a wiki
    r"|\[([^\[\]\n]*)\](?:\([^()\n]*\)|\[[^\[\]\n]*\])"
    r"|<a\s[^<>]*>([^<>]*)</a>"
    r"|<?(https?://[^\s<>]*)>?",
    re.IGNORECASE,
)
_OF_LINKS = ("](", "][", "[[", "://", "<a", "<A")
"""Without one of these a line has no link, which takes much longer to find out."""
_DEFINITION = lazy_pattern(r"\s{0,3}\[[^\[\]\n]+\]:\s")
_TAG = lazy_pattern(r"<[^<>\n]*>")
_LETTERS = lazy_pattern(WORD)
_NO_LETTERS = bytes(code for code in range(128) if not chr(code).isalnum())
_LEADERS = lazy_pattern(r"(?:\.[ \t]?){4}|…{2}|·{4}|_{4}")
_NUMBERED = lazy_pattern(r"[ \t]*\d+(?:\.\d+)*\.?[ \t]")
_ROMAN = frozenset("ivxlc")
_NUMBER = rf"\s(?:\d{{1,4}}|[{''.join(sorted(_ROMAN))}]{{1,7}})[ \t]*"
_PAGE = lazy_pattern(rf"{_NUMBER}$")
_PAGES = lazy_pattern(rf"{_NUMBER}(?=[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]|\Z)")


_IMPORT = lazy_pattern(
    r"""(?:
        (?:from\s+\S+\s+)?import\b.* | export\s.*\bfrom\b.* | (?:pub\s+)?use\s.* | using\s.*
        | \#\s*include\b.* | package\s.* | require\b.* | (?:const|let|var)\s.*\brequire\(.*
        | local\s.*\brequire\b.* | (?:pub\s+)?const\s+\w+\s*=\s*@import\(.* | (?:pub\s+)?mod\s+\w+;
        | (?:module\.)?exports\s*=\s*\{ | get\s+\w+\(\)\s*(?::\s*\S+\s*)?\{
        | return\s+require\(.* | \.\w+;? | const | var | ["']use\s(?:strict|client|server)["'];?
        | (?:\w+|\{?[\w\s,:]*\})\s*=\s*require\(.*
        | if\s+TYPE_CHECKING: | __all__\b.* | ["'][\w.*/-]+["'],? | [\w.]+(?:\s+as\s+\w+)?,
        | [()\[\]{};,]*
        | \#(?:if|ifdef|ifndef|else|elif|endif|undef|pragma)\b.* | \#\s*define\s+\w+
        | (?:inline\s+)?namespace\b[^;{}]*\{ | extern\s+"C"\s*\{ | \}+\s*;?\s*(?://|/\*).*
    )\s*""",
    re.VERBOSE,
)
"""Lines that import, or stand around that: guards of headers of C, and what they open and close."""
_COMMENTS = ("#", "//", "/*", "*", "--", ";")
_TELLS_HEAD = lazy_pattern(
    r"(?im)^[^\S\n]*(?:(?:from\s.*)?import\b|(?:pub\s+)?(?:us(?:e|ing)|mod)\s|package\s)"
    r"|#\s*include|\brequire\b|@import\(|licen[cs]e|copyright"
)
_LICENCE = lazy_pattern(r"(?i)licen[cs]e|copyright")


def is_signpost(text: str, media: str = "markdown") -> bool:
    """Say whether a passage has hardly any text of its own."""
    if media == "code":
        # Most code is done with at its first line; what tells a head is looked for in all.
        return _is_head(text) and _TELLS_HEAD.search(text) is not None
    if not _may_be(text, is_markdown=media == "markdown"):
        return False
    headings, pointers, linked, prose = 0, 0, 0, 0
    # No more letters can be linked than there are; most text is done with after a few lines.
    enough = len(text) * _PROSE / (1 + _PROSE)
    for line in _lines(text.splitlines(), is_markdown=media == "markdown"):
        if line is None:
            headings += 1
            continue
        names, own = _parts(line)
        linked += names
        prose += own
        if prose > enough:
            return False
        pointers += names > 0 and own <= _PROSE * names
    if pointers >= _POINTERS:
        return prose <= _PROSE * linked
    return headings > 0 and linked == prose == 0


def _is_head(text: str) -> bool:
    """Say whether code only imports, or tells a licence; remarks beside that say something."""
    named, told = 0, 0
    for each in text.splitlines():
        line = each.lstrip()
        if _IMPORT.fullmatch(line):
            named += _letters(line)
        elif line.startswith(_COMMENTS):
            told += _letters(line)
        else:
            return False
    return told <= _PROSE * named or _LICENCE.search(text) is not None


def _may_be(text: str, *, is_markdown: bool) -> bool:
    """Say, at a glance, whether there is any heading, any link, or enough lines of contents."""
    if any(mark in text for mark in ("[", "<", "://", *(("#", "=", "--") if is_markdown else ()))):
        return True
    return len(text.splitlines()) >= _POINTERS and len(_PAGES.findall(text)) >= _POINTERS


def _lines(lines: Iterable[str], *, is_markdown: bool) -> Iterator[str | None]:
    """Yield the lines of a passage, headings as ``None``; those of code count as text."""
    waiting: list[str | None] = []  # the last one: what follows may make it a heading
    fenced = False
    for line in lines:
        if _FENCE.match(line):
            fenced = not fenced
            continue
        if is_markdown and not fenced and waiting and waiting[0] and _UNDERLINE.match(line):
            waiting = [None]
            continue
        if not fenced and _DEFINITION.match(line):
            continue
        yield from waiting
        if fenced:
            waiting = [_LINK.sub(" code ", line)]
        else:
            waiting = [None if is_markdown and _HEADING.match(line) else line]
    yield from waiting


def _parts(line: str) -> tuple[int, int]:
    """Return how many letters of a line lead elsewhere, and how many are its own."""
    line = line[marker.end() :] if (marker := _MARKER.match(line)) else line
    if "[" in line or "<" in line or "://" in line:
        if not any(sign in line for sign in _OF_LINKS):
            return 0, _letters(_TAG.sub(" ", line))
        shown = _IMAGE.sub(r"\1", line)
        names = sum(map(_letters, map(_named, _LINK.finditer(shown))))
        return names, _letters(_TAG.sub(" ", _LINK.sub(" ", shown)))
    letters = _letters(line)
    return (letters, 0) if _is_contents(line) else (0, letters)


def _named(link: re.Match[str]) -> str:
    return next((name for name in link.groups() if name), "") or "link"


def _letters(text: str) -> int:
    if text.isascii():
        return len(text.encode().translate(None, _NO_LETTERS))
    return sum(map(len, _LETTERS.findall(text)))


def _is_contents(line: str) -> bool:
    """Say whether a line is one of a table of contents: a name, then the number of a page."""
    last = line.rstrip(" \t")[-1:]
    if not (last.isdecimal() or last in _ROMAN) or not _PAGE.search(line):
        return False
    if _LEADERS.search(line):
        return True
    number = _NUMBERED.match(line)
    return number is not None and any(map(str.isalpha, line[number.end() :]))
