r"""Headings of manuals: man pages, in either set of macros, POD and Texinfo.

A man page is known by how it is named in it (``.TH``, ``.Dt``), whatever it is called. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kb_app._ingest.making.blocks import Lines, Region

__all__ = ["is_man_page", "man_headings", "man_says", "pod_headings"]
__all__ += ["texinfo_headings", "texinfo_says"]

_HEAD = 40_000
_SECTION = re.compile(r"[.'][ \t]*(SH|SS|Sh|Ss)(?:[ \t]+(\S.*))?")
_NAMED = re.compile(
    r"^\.(?:TH|Dt)[ \t]+(\"[^\"\n]*\"|\S+)[ \t]+(\"[^\"\n]*\"|\S+)(.*)", re.MULTILINE
)
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_ESCAPES = re.compile(r"\\(?:f(?:\[\w*\]|\(..|.)|s[-+]?\d|[&|^%c]|\*\[[^\]]*\])")
_SIGNS = {"\\-": "-", "\\(aq": "'", "\\(dq": '"', "\\(en": "–", "\\(em": "—", "\\ ": " ",
          "\\e": "\\", "\\(bu": "•", "\\(co": "©"}  # fmt: skip
_SIGN = re.compile("|".join(map(re.escape, _SIGNS)))
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
_QUOTED = re.compile(r'"((?:[^"]|"")*)"?')


def is_man_page(text: str) -> bool:
    """Say whether a text is the source of a man page."""
    return text[:1] in {".", "'"} and _NAMED.search(text, 0, _HEAD) is not None


def man_headings(lines: Lines) -> Iterator[tuple[Region, str]]:
    """Yield the headings of a man page; a name may stand on the line below."""
    for number, line in enumerate(lines.texts):
        if line[:1] not in {".", "'"} or (match := _SECTION.fullmatch(line)) is None:
            continue
        said, end = match[2], number + 1
        if said is None and end < len(lines) and lines.texts[end][:1] not in {".", "'", ""}:
            said, end = lines.texts[end], end + 1
        if name := _plain(said or ""):
            yield Region(number, end, "heading", 1 if match[1].lower() == "sh" else 2), name


def man_says(text: str) -> dict[str, str]:
    """Return what a man page says of itself: its name with its section, and a date."""
    match = _NAMED.search(text, 0, _HEAD)
    if match is None:
        return {}
    name, section = _plain(match[1]), _plain(match[2])
    day = _DAY.search(match[3])
    return {"title": f"{name}({section})", **({"date": day[0]} if day else {})}


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


def _plain(said: str) -> str:
    """Return an argument of a macro as it is shown."""
    said = said.strip()
    if said.startswith('"'):
        said = " ".join(match[1].replace('""', '"') for match in _QUOTED.finditer(said))
    said = _ESCAPES.sub("", said)
    return " ".join(_SIGN.sub(lambda each: _SIGNS[each[0]], said).split())
