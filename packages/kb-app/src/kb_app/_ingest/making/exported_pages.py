"""Pages that programs export, which are lists and no articles: bookmarks, and chats of Telegram.

Of bookmarks, as all browsers export them, folders are headings, and a bookmark is an item with
its address, its tags and what was noted of it. A conversation of Telegram
(``messages.html``) has a heading for each day and an item for each message, with who wrote it and
when. Each stands where the file has it. Pure, and linear in the input.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kb_app._ingest.making.blocks import Draft
from kb_app._ingest.making.markup import BLOCKS, Element, Markup, Run
from kb_core.citations import LineSpan
from kb_core.documents import Link

__all__ = ["Exported", "read_exported"]

_BOOKMARKS = re.compile(r"\s{0,200}<!DOCTYPE NETSCAPE-Bookmark-file", re.IGNORECASE)
_TELEGRAM = re.compile(r"<div\s+class=\"page_body chat_page\"")
_LOOKED_AT = 8_192
_LONGEST_ADDRESS = 500
_MOST_RUNS = 500
"""Texts between tags that one item has; more stand in a list that is never closed."""
_NO_PLACES = ("javascript:", "data:", "place:", "about:")
"""Addresses that lead to no page: programs, and searches of the browser."""
_FILE = re.compile(r"\S\.\w{2,5}$")
"""What a file is called; what else was sent is called a photo, whatever it shows."""
_WHEN = re.compile(r"(\d\d)\.(\d\d)\.(\d{4}) (\d\d:\d\d)")


class Exported(NamedTuple):
    """What is read of such a page."""

    draft: Draft
    links: Sequence[Link] = ()
    title: str = ""
    """Where another than the page's own is told."""
    days: Sequence[str] = ()
    """On which something was written, ``2024-05-31``, in their order."""


def read_exported(page: Markup, source: str) -> Exported | None:
    """Return what such a page says, which is *source*; ``None`` where it is none."""
    if _BOOKMARKS.match(source):
        return _bookmarks(page)
    if _TELEGRAM.search(source, 0, _LOOKED_AT):
        return _telegram(page)
    return None


class _Written:
    """A text of which every block stands on lines of a page."""

    def __init__(self, page: Markup) -> None:
        self.page, self.draft = page, Draft()
        self._before: tuple[str, ...] | None = None
        """The headings that the block before stands under, unless it is one."""

    def add(self, kind: str, text: str, at: Element, level: int = 0) -> int | None:
        """Add a block that stands where *at* does; return where it starts, if it says anything."""
        if runs := _runs(self.page, at):
            last = runs[-1].line + runs[-1].text.rstrip().count("\n")
            self.draft.stand_at(LineSpan(runs[0].line, max(last, runs[0].line)))
        under = self.draft.headings.path
        goes_on = kind != "heading" and self._before == under
        self._before = None if kind == "heading" else under
        return self.draft.add(kind, text, level, goes_on=goes_on)

    def said(self, element: Element) -> str:
        """Return what *element* shows, on one line."""
        page, first = self.page, element.number + 1
        within = page.elements[first : min(element.last, first + _MOST_RUNS)]
        lines = (each for each in within if each.tag == "br" or each.tag in BLOCKS)
        parted = {at for each in lines for at in (each.first, each.end)}
        runs = enumerate(_runs(page, element), element.first)
        return _line("".join(f"{' ' * (at in parted)}{_text(run)}" for at, run in runs))


def _runs(page: Markup, element: Element) -> list[Run]:
    return page.runs[element.first : min(element.end, element.first + _MOST_RUNS)]


def _text(run: Run) -> str:
    return "\n".join(said for _, said in run.lines())


def _line(text: str) -> str:
    return " ".join(text.split())


def _bookmarks(page: Markup) -> Exported:
    written, links = _Written(page), list[Link]()
    depths = [0] * len(page.elements)
    for element in page.elements:
        depth = depths[element.parent] + (element.tag == "dl")
        depths[element.number] = depth
        if element.tag in {"a", "h3"}:
            written.draft.headings.close(max(depth, 1))
        if element.tag == "h3":
            written.add("heading", written.said(element), element, max(depth, 1))
        elif element.tag == "dd":
            written.add("paragraph", _own(page, element), element)
        elif element.tag == "a" and (link := _bookmark(written, element)):
            links.append(link)
    return Exported(written.draft, links)


def _bookmark(written: _Written, element: Element) -> Link | None:
    """Write down a bookmark, and return where it leads."""
    given = element.attributes
    address = given.get("href", "").strip()[:_LONGEST_ADDRESS]
    if address.startswith("place:"):
        return None
    address = "" if address.lower().startswith(_NO_PLACES) else address
    title, tags = written.said(element), given.get("tags", "").split(",")
    labels = ", ".join(filter(None, map(str.strip, tags)))
    said = [*dict.fromkeys(filter(None, (title, address, labels)))]
    start = written.add("list_item", f"- {' · '.join(said)}" if said else "", element)
    return None if start is None or not address else Link("html", address, title, start)


def _telegram(page: Markup) -> Exported:
    written, title, who, days = _Written(page), "", "", [""]
    end = 0
    for element in page.elements:
        names = _names(element)
        if "page_header" in names and not title:
            title = next((written.said(each) for each in _called(page, element, "text")), "")
        if "message" not in names or "service" in names or element.number < end:
            continue
        end = element.last
        forwarded = next(_called(page, element, "forwarded"), None)
        who = next((_own(page, each) for each in _called(page, element, "from_name")
                    if not _is_within(each, forwarded)), who)  # fmt: skip
        date = next(_called(page, element, "date"), None)
        match = _WHEN.match(date.attributes.get("title", "")) if date else None
        today = f"{match[3]}-{match[2]}-{match[1]}" if match else ""
        said = " ".join(_said(written, element, forwarded))
        if not said:
            continue
        if today and today != days[-1]:
            written.add("heading", today, element, 2)
            days.append(today)
        written.add("list_item", f"- {who}{f' ({match[4]})' if match else ''}: {said}", element)
    return Exported(written.draft, title=title, days=days[1:])


def _said(written: _Written, message: Element, forwarded: Element | None) -> Iterator[str]:
    """Yield what is written in a message, and the names of files in it; who is forwarded first."""
    if forwarded and (first := next(_called(written.page, forwarded, "from_name"), None)):
        yield f"[{_own(written.page, first)}]"
    for name in ("text", "question", "title"):
        for each in map(written.said, _called(written.page, message, name)):
            if each and (name != "title" or _FILE.search(each)):
                yield each


def _own(page: Markup, element: Element) -> str:
    """Return what an element says itself, without those within it, on one line."""
    runs = _runs(page, element)
    return _line(" ".join(_text(run) for run in runs if run.parent == element.number))


def _is_within(element: Element, outer: Element | None) -> bool:
    return outer is not None and outer.number < element.number < outer.last


def _called(page: Markup, element: Element, name: str) -> Iterator[Element]:
    """Yield the elements of the class *name* within another, in their order."""
    return (each for each in page.within(element) if name in _names(each))


def _names(element: Element) -> list[str]:
    return element.attributes.get("class", "").split()
