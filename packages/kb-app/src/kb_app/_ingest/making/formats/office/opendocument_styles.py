"""What styles of OpenDocument say of a text: titles, raised letters, and numbers of paragraphs.

Marks are put on the elements of a tree before it is read, so that whoever reads one of them needs
to know nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from kb_app._ingest.making.containers import Element
from kb_app._ingest.making.counting import whole
from kb_app._ingest.making.formats.office.numbering import Counts, Level

__all__ = ["LABEL", "RAISED", "mark_styles"]

LABEL, RAISED = "label-before", "is-raised"
"""Attributes that are put on elements: what stands before a paragraph, and that it is raised."""
_TITLE = "Title"
_ABOVE = re.compile(r"super|[1-9]")
_LEVEL = re.compile(r"(?:list|outline)-level-style(?:-number)?")
_LEVELS = 9


def mark_styles(root: Element, styles: Element | None) -> None:
    """Mark what is in the content of a text, by the styles in it and in the part for these."""
    told = [part for part in (styles, root) if part is not None]
    _mark_titles(root)
    _mark_raised(root)
    lists = {
        each.get("name", ""): _levels(each) for part in told for each in part.iter("list-style")
    }
    outlines = [each for part in told for each in part.iter("outline-style")]
    _Numbers(lists, _levels(outlines[0]) if outlines else {}).mark(root)


def _mark_titles(root: Element) -> None:
    """Make headings of the paragraphs that are titles by their style."""
    names = {_TITLE}
    names.update(each.get("name", "") for each in root.iter("style")
                 if each.get("parent-style-name") == _TITLE)  # fmt: skip
    for paragraph in root.iter("p"):
        if paragraph.get("style-name", "") in names:
            paragraph.tag = "h"
            paragraph.set("is-list-header", "true")


def _mark_raised(root: Element) -> None:
    """Mark the words that stand above their line by their style."""
    told = ((each.get("name", ""), each.find("text-properties")) for each in root.iter("style"))
    names = {name for name, found in told
             if found is not None and _ABOVE.match(found.get("text-position", ""))}  # fmt: skip
    for span in root.iter("span"):
        if span.get("style-name", "") in names:
            span.set(RAISED, "true")


def _levels(style: Element) -> Mapping[int, Level]:
    """Return how the levels of a list count, or those of headings."""
    found: dict[int, Level] = {}
    for each in style:
        level = whole(each.get("level", ""), 0) - 1
        if _LEVEL.fullmatch(each.tag) and 0 <= level <= _LEVELS:
            kind = each.get("num-format", "")
            first = max(0, level + 1 - whole(each.get("display-levels", ""), 1))
            shown = [at for at in range(first, level) if found.get(at, Level()).text]
            counts = ".".join(f"%{at + 1}" for at in (*shown, level))
            text = f"{each.get('num-prefix', '')}{counts}{each.get('num-suffix', '')}"
            start = whole(each.get("start-value", ""), 1)
            found[level] = Level(start, kind or "1", text if kind else "")
    return found


class _Numbers:
    """Counts the paragraphs of a text that have numbers."""

    def __init__(
        self, lists: Mapping[str, Mapping[int, Level]], headings: Mapping[int, Level]
    ) -> None:
        self._lists = lists
        self._headings = Counts(headings)
        self._last: dict[str, Counts] = {}
        """Of each style, the list that was last."""
        self._named: dict[str, Counts] = {}

    def mark(self, element: Iterable[Element]) -> None:
        """Mark the paragraphs in *element*, in their order."""
        for child in element:
            match child.tag:
                case "list":
                    self._mark_list(child, self._counts(child), 0)
                case "h" if child.get("is-list-header") != "true":
                    level = whole(child.get("outline-level", ""), 1) - 1
                    self._label(child, self._headings, level)
                    self.mark(child)
                case "tracked-changes":
                    pass
                case _:
                    self.mark(child)

    def _counts(self, list_: Element) -> Counts:
        style = list_.get("style-name", "")
        before = self._named.get(list_.get("continue-list", ""))
        if before is None and list_.get("continue-numbering") == "true":
            before = self._last.get(style)
        counts = before or Counts(self._lists.get(style, {}))
        self._last[style] = counts
        if name := list_.get("id", ""):
            self._named[name] = counts
        return counts

    def _mark_list(self, list_: Element, counts: Counts, level: int) -> None:
        for item in _items(list_):
            is_first = item.tag == "list-item"
            for child in item:
                if child.tag == "list":
                    own = child.get("style-name", "")
                    inner = Counts(self._lists[own]) if own in self._lists else counts
                    self._mark_list(child, inner if level < _LEVELS else counts, level + 1)
                    continue
                if is_first and child.tag in {"p", "h"}:
                    start = whole(item.get("start-value", ""), -1)
                    self._label(child, counts, level, start if start >= 0 else None)
                is_first = False
                self.mark(child)

    def _label(self, to: Element, counts: Counts, level: int, start: int | None = None) -> None:
        if label := counts.label(level, restart=start):
            to.set(LABEL, label)


def _items(list_: Element) -> Iterator[Element]:
    return (each for each in list_ if each.tag in {"list-item", "list-header"})
