"""Headings of manuals in POD and Texinfo, and of help of Vim. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kb_app._ingest.making.blocks import Lines, Region

__all__ = ["is_vim_help", "pod_headings", "texinfo_headings", "texinfo_says", "vim_headings"]

_HEAD = 40_000
_POD = re.compile(r"=head([1-6])[ \t]+(\S.*)")
_POD_CODE = re.compile(r"[A-Z]<+[ \t]?([^<>]*?)[ \t]?>+")
_TEXINFO_LEVELS = {
    "chapter": 1, "unnumbered": 1, "appendix": 1, "top": 1, "majorheading": 1, "chapheading": 1,
    "section": 2, "unnumberedsec": 2, "appendixsec": 2, "appendixsection": 2, "heading": 2,
    "subsection": 3, "unnumberedsubsec": 3, "appendixsubsec": 3, "subheading": 3,
    "subsubsection": 4, "unnumberedsubsubsec": 4, "appendixsubsubsec": 4, "subsubheading": 4,
}  # fmt: skip
_TEXINFO = re.compile(r"@([a-z]+)[ \t]+(\S.*)")
_TEXINFO_COMMAND = re.compile(r"@[a-z]+\{([^{}]*)\}|@([@{}])")
_SETTITLE = re.compile(r"^@settitle[ \t]+(\S.*)", re.MULTILINE)
_DEEPEST = 3
"""Commands of Texinfo that are within each other in a name."""
_MODELINE = re.compile(r"\bvim?:[^\n]*\b(?:ft|filetype)=help\b")
_TAIL = 500
_NAMED = re.compile(r"\*[^*\s|]+\.txt\*(?:[ \t]+(.*))?")
"""The first line of help of Vim: the name of its file, and what it is about."""
_TAGGED = re.compile(r"(.*?)(?:^|[ \t]+)((?:\*[^*\s|]+\*[ \t]*)+)")
_RULE = re.compile(r"([=-])\1{29,}")
_RULED = {"=": 1, "-": 2}
_ITEM = 3
_MOST_TAGS = 2


def pod_headings(lines: Lines) -> Iterator[tuple[Region, str]]:
    """Yield the headings of POD."""
    for number, line in enumerate(lines.texts):
        if line.startswith("=head") and (match := _POD.fullmatch(line)):
            name = " ".join(_POD_CODE.sub(_inner, match[2]).split())
            yield Region(number, number + 1, "heading", int(match[1])), name or match[2].strip()


def _inner(match: re.Match[str]) -> str:
    """Return what a code of POD shows: of an index entry nothing, of a link its text."""
    return "" if match[0][0] in "XZ" else match[1].partition("|")[0]


def texinfo_headings(lines: Lines) -> Iterator[tuple[Region, str]]:
    """Yield the headings of Texinfo; a node right before one belongs to it."""
    taken = 0
    for number, line in enumerate(lines.texts):
        match = _TEXINFO.fullmatch(line) if line.startswith("@") else None
        if match is None or (level := _TEXINFO_LEVELS.get(match[1])) is None:
            continue
        first = number
        if number > taken and lines.texts[number - 1].startswith("@node "):
            first -= 1
        taken = number + 1
        name = _texinfo_name(match[2]) or match[2].strip()
        yield Region(first, number + 1, "heading", level), name


def texinfo_says(text: str) -> dict[str, str]:
    """Return the title that a text in Texinfo says of itself."""
    match = _SETTITLE.search(text, 0, _HEAD)
    return {"title": _texinfo_name(match[1])} if match else {}


def _texinfo_name(said: str) -> str:
    for _ in range(_DEEPEST):
        said = _TEXINFO_COMMAND.sub(lambda each: each[1] or each[2] or "", said)
    return " ".join(said.split())


def is_vim_help(text: str) -> bool:
    """Say whether a text calls itself help of Vim, in its first or in its last lines."""
    return _NAMED.match(text) is not None or _MODELINE.search(text[-_TAIL:]) is not None


def vim_headings(lines: Lines) -> Iterator[tuple[Region, str]]:
    """Yield what help of Vim has tags for: chapters and sections below rules, and items.

    A line of tags alone is called by the first of them. What is set in as code has none.
    """
    level, opened, in_code = _ITEM, False, False
    for number, line in enumerate(lines.texts):
        if rule := _RULE.fullmatch(line.rstrip()):
            level, in_code = _RULED[rule[1]], False
            continue
        if in_code and line[:1] and not line[0].isspace():
            in_code = False
        if in_code or not line.strip():
            continue
        named = None if opened else _NAMED.fullmatch(line.rstrip())
        tagged = _TAGGED.fullmatch(line) if line.rstrip().endswith("*") else None
        if named is not None and named[1]:
            yield Region(number, number + 1, "heading", 1), named[1].strip()
        elif tagged is not None and named is None:
            tags = [tag.strip("*") for tag in tagged[2].split()]
            first = number - 1 if number and _RULE.fullmatch(lines.texts[number - 1]) else number
            name = " ".join(tagged[1].split()) or ", ".join(tags[:_MOST_TAGS])
            yield Region(first, number + 1, "heading", level), name
        level, opened = _ITEM, True
        in_code = line == ">" or line.endswith(" >")
