"""Outlines (OPML), as outliners and readers of feeds save them, and boards (JSON Canvas).

Of an outline, what has others below it is a heading as far as three levels down, and the rest a
list. Of a board, as Obsidian saves it, the cards are read group by group, each from the top, and
arrows that say something as what they lead from and to.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from kb_app._ingest.making.blocks import Draft
from kb_app._ingest.making.containers import Element, Flat, Refused
from kb_app._ingest.making.counting import objects_in, text_of
from kb_app._ingest.making.formats.office.items import Item, write_items
from kb_app._ingest.making.formats.office.properties import Properties
from kb_core.documents import Link, ReadingLimits
from kb_core.ingest import SkipReason

__all__ = ["is_board", "is_outline", "read_board", "read_outline"]

_BEGINS = re.compile(rb"(?:\xef\xbb\xbf)?\s{0,200}(?:<[?!][^>]{0,400}>\s{0,200}){0,8}<opml\b")
_PART = "the outline"
_HEADINGS = 3
_META = {"title": "title", "ownerName": "creator", "dateCreated": "created",
         "dateModified": "modified"}  # fmt: skip
_TARGETS = ("htmlUrl", "url", "xmlUrl")
_HEADING = re.compile(r"(#{1,6})[ \t]+(\S.*)")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+")
_BLANK_LINES = re.compile(r"\n\s*\n")
_LABEL, _MOST_GROUPS, _FAR = 80, 200, 1e9

_Card: TypeAlias = "Mapping[str, object]"


def is_outline(data: bytes) -> bool:
    """Say whether a file is an outline, by how it begins."""
    return _BEGINS.match(data) is not None


def is_board(path: str) -> bool:
    """Say whether a file of this name is a board."""
    return path.lower().endswith(".canvas")


def read_outline(
    data: bytes, limits: ReadingLimits, draft: Draft
) -> tuple[Properties, Sequence[Link]]:
    """Write down an outline; return what it says of itself, and its links."""
    root = Flat(data, {_PART}, limits).tree(_PART)
    body, head = root.find("body"), root.find("head")
    links = write_items(draft, _outlined(body if body is not None else ()), ())
    said = {each.tag: each.text or "" for each in (head if head is not None else ())}
    return Properties({own: said.get(name, "") for name, own in _META.items()}), links


def _outlined(elements: Iterable[Element], depth: int = 1) -> Iterator[Item]:
    for element in elements:
        if element.tag != "outline":
            continue
        text = _line(element.get("text", "") or element.get("title", ""))
        target = next(filter(None, map(element.get, _TARGETS)), "")
        has_more = element.find("outline") is not None
        links = [(0, text, target)] if target and text else []
        if has_more and depth <= _HEADINGS:
            yield Item("heading", text, depth, links)
        else:
            yield Item("list_item", text or target, depth, links)
        if note := element.get("_note", "").strip():
            yield Item("paragraph", note)
        yield from _outlined(element, depth + 1)


def read_board(data: bytes, draft: Draft) -> Sequence[Link]:
    """Write down a board; return its links."""
    try:
        board = json.loads(data.decode("utf-8-sig", "replace"))
    except ValueError as error:
        raise Refused(SkipReason.UNREADABLE, f"it is no board: {error}") from error
    board = board if isinstance(board, dict) else {}
    cards = [each for each in objects_in(board.get("nodes")) if isinstance(each.get("id"), str)]
    groups = [each for each in cards if each.get("type") == "group"]
    placed: dict[int, list[_Card]] = {number: [] for number in range(-1, len(groups))}
    for card in sorted(cards, key=_place):
        if card.get("type") != "group":
            placed[_group_of(card, groups)].append(card)
    items = [item for card in placed[-1] for item in _of_card(card)]
    for number in sorted(range(len(groups)), key=lambda at: _place(groups[at])):
        label = _line(text_of(groups[number].get("label")))
        items += [Item("heading", label, 1)] if label else []
        items += [item for card in placed[number] for item in _of_card(card)]
    items += _arrows(board, cards)
    return write_items(draft, items, ())


def _place(card: _Card) -> tuple[float, float]:
    return _number(card.get("y")), _number(card.get("x"))


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and abs(value) < _FAR else 0.0


def _group_of(card: _Card, groups: Sequence[_Card]) -> int:
    """Return which group a card lies in: of several the smallest; -1 for none."""
    y, x = _place(card)
    around = []
    for number, group in enumerate(groups[:_MOST_GROUPS]):
        top, left = _place(group)
        wide, high = _number(group.get("width")), _number(group.get("height"))
        if left <= x <= left + wide and top <= y <= top + high:
            around.append((wide * high, number))
    return min(around)[1] if around else -1


def _of_card(card: _Card) -> Iterator[Item]:
    """Yield what a card says: its text, which is Markdown, or what it shows."""
    if shown := text_of(card.get("file")) or text_of(card.get("url")):
        target = shown if "://" in shown else ""
        part = text_of(card.get("subpath"))
        yield Item("paragraph", f"{shown}{part}", links=[(0, shown, target)] if target else [])
    for paragraph in _BLANK_LINES.split(text_of(card.get("text"))):
        for line in paragraph.split("\n") if _ITEM.match(paragraph) else [paragraph]:
            match = _HEADING.match(line)
            if match is not None:
                yield Item("heading", match[2].rstrip("# "), 1 + len(match[1]))
            rest = line[match.end() :] if match else line
            yield Item("list_item" if _ITEM.match(rest) else "paragraph", rest)


def _arrows(board: Mapping[str, object], cards: Sequence[_Card]) -> Iterator[Item]:
    """Yield the arrows that say something, each with the first lines of what it joins."""
    called = {text_of(card.get("id")): _called(card) for card in cards}
    for each in objects_in(board.get("edges")):
        label = _line(text_of(each.get("label")))
        ends = [called.get(text_of(each.get(end)), "") for end in ("fromNode", "toNode")]
        if label and all(ends):
            yield Item("list_item", f"{ends[0]} – {label} → {ends[1]}", 1)


def _called(card: _Card) -> str:
    said = (card.get("label"), card.get("text"), card.get("file"), card.get("url"))
    text = next(filter(None, map(text_of, said)), "")
    return _line(text.split("\n")[0].lstrip("#"))[:_LABEL]


def _line(text: str) -> str:
    return " ".join(text.split())
