"""Headings of DocBook, in XML and in SGML, and what a text in it is called.

A section stands under its title, a page of a manual under its name, and an entry of a list of
settings or options under the first term that it describes; lists within such entries are part
of them. A section ends where it is closed. Pure, and whatever is not closed or closed twice
costs no text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from html import unescape

from kb_app._ingest.making.blocks import Lines, Region
from kb_core.values import lazy_pattern

__all__ = ["docbook_headings", "docbook_says", "is_docbook"]

_SECTIONS = (
    "set|book|part|reference|chapter|preface|appendix|article|glossary|bibliography|section"
    "|simplesect|sect(?:ion)?[1-5]?|refsect(?:ion|[1-3])|refsynopsisdiv"
)
_TAG = lazy_pattern(
    rf"<!--[\s\S]{{0,20000}}?-->|<(?P<close>/?)(?:(?P<section>{_SECTIONS}|refentry)"
    r"|(?P<entry>varlistentry)|(?P<title>title|term|refentrytitle|refname))\b[^<>]{0,400}>"
)
_ENTRY, _PAGE, _SYNOPSIS = "varlistentry", "refentry", "refsynopsisdiv"
_MARKUP = lazy_pattern(r"<indexterm\b[\s\S]{0,2000}?</indexterm>|<[^<>]{0,400}>")
_LONGEST = 2_000
_HEAD = 20_000
_DEEPEST = 40
_IS_DOCBOOK = lazy_pattern(
    rb"<!DOCTYPE\s+\w+\s[^<>\[]{0,200}DocBook|xmlns=[\"']http://docbook\.org/ns/docbook"
    rb"|\A(?:\xef\xbb\xbf)?(?:\s|<\?[^<>]{0,200}\?>|<!--[^<>]{0,1000}-->){0,20}"
    rb"<(?:refentry|refsect1|sect1|sect2)\b"
)


def is_docbook(head: bytes) -> bool:
    """Say whether a file of XML that begins with *head* is a text in DocBook."""
    return _IS_DOCBOOK.search(head) is not None


def docbook_says(text: str) -> dict[str, str]:
    """Return what a text is called by the first title in it, if it has one."""
    found = _Sections(Lines(text[:_HEAD])).read()
    title = next((name for region, name in found if region.kind == "heading"), "")
    return {"title": title} if title else {}


def docbook_headings(lines: Lines) -> Iterator[tuple[Region, str]]:
    """Yield the headings of a text, each with its name, and where sections end."""
    return _Sections(lines).read()


class _Open:
    """An element that is open: where it begins, and its level once it has a name."""

    __slots__ = ("level", "line", "tag")

    def __init__(self, tag: str, line: int) -> None:
        self.tag = tag
        self.line = line
        self.level = 0


class _Sections:
    """The sections and entries of a text, read from top to bottom."""

    def __init__(self, lines: Lines) -> None:
        self._text = lines.text
        self._starts = [lines.start(number) for number in range(len(lines))]
        self._open: list[_Open] = []
        self._title: int | None = None
        """Where the text begins of a title that is open."""
        self._taken = 0
        """What is above this line is part of what was yielded."""

    def read(self) -> Iterator[tuple[Region, str]]:
        for match in _TAG.finditer(self._text):
            tag = match["section"] or match["entry"] or match["title"]
            if match["title"]:
                yield from self._titled(tag, match)
            elif tag and match["close"]:
                yield from self._close(tag, self._line(match.end()))
            elif tag and not match[0].endswith("/>") and len(self._open) < _DEEPEST:
                self._open.append(_Open(tag, self._line(match.start())))
                if tag == _SYNOPSIS:
                    yield self._enter(self._line(match.start()) + 1, "Synopsis")

    def _line(self, at: int) -> int:
        return bisect_right(self._starts, at) - 1

    def _titled(self, tag: str, match: re.Match[str]) -> Iterator[tuple[Region, str]]:
        if not match["close"]:
            self._title = match.end()
            return
        start, self._title = self._title, None
        if start is None or not self._open or self._open[-1].level or not self._names(tag):
            return
        said = unescape(_MARKUP.sub("", self._text[start : match.start()][:_LONGEST]))
        if name := " ".join(said.split()):
            yield self._enter(self._line(match.end()) + 1, name)

    def _names(self, tag: str) -> bool:
        """Say whether *tag* names what is open, and that is told apart."""
        within = self._open[-1].tag
        if within == _ENTRY:
            return tag == "term" and sum(each.tag == _ENTRY for each in self._open) == 1
        return tag == "title" or (within == _PAGE and tag != "term")

    def _enter(self, end: int, name: str) -> tuple[Region, str]:
        level = 1 + sum(each.level > 0 for each in self._open)
        self._open[-1].level = level
        first = max(self._open[-1].line, self._taken)
        self._taken = max(first, end)
        return Region(first, self._taken, "heading", level), name

    def _close(self, tag: str, line: int) -> Iterator[tuple[Region, str]]:
        """Close the innermost *tag*, and what was left open in it."""
        at = next((n for n in range(len(self._open), 0, -1) if self._open[n - 1].tag == tag), 0)
        levels = [each.level for each in self._open[at - 1 :] if each.level] if at else []
        if at:
            del self._open[at - 1 :]
        if levels:
            self._taken = max(line + 1, self._taken)
            yield Region(self._taken, self._taken, "leave", min(levels)), ""
