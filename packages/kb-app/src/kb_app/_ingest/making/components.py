"""Components in one file (Vue, Svelte, Astro): which lines are script, style and template.

A part begins with its tag at the margin and ends with the tag that closes it. Of Astro, what
stands between the first two rows of dashes is script; of it and of Svelte, what is in no part
is the template. A grammar is shown scripts alone, each on the lines that it has in the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kb_app._ingest.making.blocks import Lines, Region
from kb_core.values import lazy_pattern

__all__ = ["COMPONENTS", "parts_of", "scripts_of", "with_parts"]

COMPONENTS = frozenset({"astro", "svelte", "vue"})
_OPENS = lazy_pattern(r"<(script|style|template)\b")
_FENCE = "---"
_NUMBERS = 1 << 30
"""Parts are numbered from here on, so that each is told from the units in it."""


def parts_of(lines: Lines, language: str) -> list[Region]:
    """Return the parts of a component, from top to bottom."""
    parts, at = [], 0
    while at < len(lines):
        name, end = _part(lines, at, language)
        if name:
            parts.append((name, at, end))
        at = end
    if language != "vue":
        parts = list(_with_rest(parts, len(lines)))
    return [
        Region(first, end, "unit", 1, name, "section", _NUMBERS + number)
        for number, (name, first, end) in enumerate(parts)
    ]


def scripts_of(lines: Lines, parts: Iterable[Region]) -> str:
    """Return the text with nothing but the lines within scripts."""
    kept = [""] * len(lines)
    for part in parts:
        if part.symbol == "script":
            kept[part.first + 1 : part.end - 1] = lines.texts[part.first + 1 : part.end - 1]
    return "\n".join(kept)


def with_parts(parts: Sequence[Region], units: Iterable[Region]) -> Iterator[Region]:
    """Yield the parts, each before the units of code in it."""
    inner = [unit._replace(level=unit.level + 1) for unit in units]
    yield from sorted((*parts, *inner), key=lambda region: (region.first, region.level))


def _part(lines: Lines, at: int, language: str) -> tuple[str, int]:
    """Return the name of the part that begins on a line, if one does, and where it ends."""
    text = lines.texts[at]
    if language == "astro" and at == 0 and text.rstrip() == _FENCE:
        name, closes = "script", _FENCE
    elif (opened := _OPENS.match(text)) is not None:
        name = opened[1]
        closes = f"</{name}>"
        if closes in text:
            return name, at + 1
    else:
        return "", at + 1
    rows = range(at + 1, len(lines))
    return name, next((row + 1 for row in rows if lines.texts[row].startswith(closes)), len(lines))


def _with_rest(parts: Iterable[tuple[str, int, int]], count: int) -> Iterator[tuple[str, int, int]]:
    after = 0
    for name, first, end in parts:
        if after < first:
            yield "template", after, first
        yield name, first, end
        after = end
    if after < count:
        yield "template", after, count
