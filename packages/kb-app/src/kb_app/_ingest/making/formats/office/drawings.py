"""What is drawn: text in shapes, charts and diagrams, wherever a program puts them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest

from kb_app._ingest.making.containers import Element
from kb_app._ingest.making.counting import whole
from kb_app._ingest.making.formulas import office_math

__all__ = ["chart_text", "choice", "diagram_text", "number", "paragraphs"]

_WRITTEN = {"br": "\n", "tab": "\t"}
_MOST_POINTS = 5_000
"""A chart with more is a picture of a table that is elsewhere."""


def choice(element: Element) -> list[Element]:
    """Return the first of several ways to say the same, for what an ``AlternateContent`` is."""
    choices = [each for each in element if each.tag == "Choice"] or list(element)
    return choices[:1]


def paragraphs(element: Element) -> list[str]:
    """Return the paragraphs in a shape, a cell or a note that say anything."""
    texts = ("".join(_written(each)) for each in element.iter("p"))
    return [text.strip() for text in texts if text.strip()]


def _written(element: Iterable[Element]) -> Iterator[str]:
    for child in element:
        if child.tag == "t":
            yield (child.text or "").replace("\xad", "")
        elif child.tag == "oMath":
            yield office_math(child)
        elif child.tag in _WRITTEN:
            yield _WRITTEN[child.tag]
        else:
            yield from _written(choice(child) if child.tag == "AlternateContent" else child)


def diagram_text(root: Element) -> str:
    """Return what a diagram (SmartArt) says, a line for each of its points."""
    return "\n".join(line for point in root.iter("pt") for line in paragraphs(point))


def chart_text(root: Element) -> str:
    """Return the title of a chart, and its values as the rows of a table.

    The first column is what the values are of; the names of the others are the first row.
    """
    titles = [line for title in root.iter("title") for line in paragraphs(title)]
    series = list(root.iter("ser"))
    columns = [_points(_first(each, "cat", "xVal")) for each in series][:1]
    columns += [_points(_first(each, "val", "yVal")) for each in series]
    names = ["", *(" ".join(_points(each.find("tx"))) for each in series)]
    rows = [list(row) for row in zip_longest(*columns, fillvalue="")]
    if any(names):
        rows.insert(0, names)
    if not series:  # a newer kind of chart
        rows = [[each.text or ""] for each in root.iter("pt")][:_MOST_POINTS]
    return "\n".join([*titles, *("\t".join(row).rstrip() for row in rows if any(row))])


def _first(element: Element, *tags: str) -> Element | None:
    found = (element.find(tag) for tag in tags)
    return next((each for each in found if each is not None), None)


def _points(element: Element | None) -> list[str]:
    """Return the values that a chart remembers, by their place."""
    if element is None:
        return []
    found: dict[int, str] = {}
    for point in element.iter("pt"):
        place = whole(point.get("idx", ""), _MOST_POINTS)
        if place < _MOST_POINTS:
            found[place] = number(point.findtext("v") or "")
    if not found:
        return [each.text or "" for each in element.iter("v")]
    return [found.get(place, "") for place in range(max(found) + 1)]


def number(written: str) -> str:
    """Return a number as a person reads it, without what is only the rounding of a computer."""
    if len(written) < 10:  # noqa: PLR2004 - shorter ones have no such digits
        return written
    try:
        value = float(written)
    except ValueError:
        return written
    return f"{value:.15g}" if abs(value) < 1e15 else written  # noqa: PLR2004 - exact below
