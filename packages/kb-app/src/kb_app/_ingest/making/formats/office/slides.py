"""Slides (pptx): a slide is a page, its title a heading, and its notes and comments follow it.

Shapes come in the order that the program itself reads them aloud in. Numbers, dates and feet
that stand on every slide are left out. A hidden slide is there like any other, and is said to
be hidden: in the section of its place, and in the metadata.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from kb_app._ingest.making.blocks import Draft
from kb_app._ingest.making.containers import Element, Refused
from kb_app._ingest.making.formats.office.drawings import (
    chart_text,
    choice,
    diagram_text,
    paragraphs,
)
from kb_app._ingest.making.formats.office.opc import Parts, Relation
from kb_app._ingest.making.markup import described
from kb_core.citations import PageSpan
from kb_core.ingest import SkipReason

__all__ = ["Slide", "check_slides", "read_slides", "write_slide"]

_TITLES = frozenset({"title", "ctrTitle"})
_ON_EVERY_SLIDE = frozenset({"sldNum", "dt", "ftr", "hdr"})


@dataclass(slots=True)
class Slide:
    """What one slide says: blocks as kind and text."""

    title: str = ""
    blocks: list[tuple[str, str]] = field(default_factory=list)
    is_hidden: bool = False


def read_slides(parts: Parts, draft: Draft, most: int) -> dict[str, object]:
    """Write down slide after slide, at most *most*; return what else is known of them."""
    root = parts.root
    relations = parts.relations(parts.main)
    authors = _authors(parts)
    names = [
        relation.target
        for each in root.iter("sldId")
        if (relation := relations.get(each.get("r:id", ""))) is not None
    ]
    check_slides(len(names), most)
    hidden = []
    for number, name in enumerate(names, 1):
        tree = parts.tree(name)
        if tree is None:
            continue
        slide = _Reader(parts, name, authors).slide(tree)
        write_slide(slide, number, draft)
        if slide.is_hidden:
            hidden.append(number)
    return {"hidden_slides": hidden} if hidden else {}


def check_slides(count: int, most: int) -> None:
    """Raise ``Refused`` where there are more slides than *most*."""
    if count > most:
        detail = f"{count:,} slides; [limits] pages is {most:,}"
        raise Refused(SkipReason.TOO_LARGE, detail)


def write_slide(slide: Slide, number: int, draft: Draft) -> None:
    """Write down a slide as a page."""
    title = " ".join(slide.title.split())
    section = f"{title} (hidden)".strip() if slide.is_hidden else title
    draft.headings.leave()
    draft.stand_at(PageSpan(number, section=section or None))
    if title:
        draft.add("heading", title, 1)
    for kind, text in slide.blocks:
        draft.add(kind, text)


def _authors(parts: Parts) -> dict[str, str]:
    roots = parts.of_kind(parts.main, "commentAuthors", "authors")
    return {each.get("id", ""): each.get("name", "") for _, root in roots for each in root}


class _Reader:
    """Reads one slide and what belongs to it."""

    def __init__(self, parts: Parts, name: str, authors: dict[str, str]) -> None:
        self._parts = parts
        self._name = name
        self._authors = authors
        self._relations = parts.relations(name)

    def slide(self, root: Element) -> Slide:
        """Return all that it says."""
        slide = Slide(is_hidden=root.get("show") in {"0", "false"})
        self._shapes(_tree(root), slide)
        for kind, belonging in self._parts.of_kind(self._name, "notesSlide", "comments"):
            if kind == "comments":
                slide.blocks += self._comments(belonging)
            else:
                slide.blocks += (("note", text) for text in _notes(_tree(belonging)))
        return slide

    def _shapes(self, shapes: Iterable[Element], slide: Slide) -> None:
        for shape in shapes:
            match shape.tag:
                case "sp" | "cxnSp":
                    self._shape(shape, slide)
                case "pic":
                    said = (described(each.get("descr") or "") for each in shape.iter("cNvPr"))
                    slide.blocks += (("paragraph", text) for text in said if text)
                case "grpSp":
                    self._shapes(shape, slide)
                case "graphicFrame":
                    self._graphic(shape, slide)
                case "AlternateContent":
                    self._alternatives(shape, slide)

    def _alternatives(self, element: Element, slide: Slide) -> None:
        """Take in the first way to say it, or the last one where that says nothing here."""
        before = len(slide.blocks)
        for each in choice(element):
            self._shapes(each, slide)
        if len(slide.blocks) == before:
            for each in element.findall("Fallback"):
                self._shapes(each, slide)

    def _shape(self, shape: Element, slide: Slide) -> None:
        kind = _placeholder(shape)
        body = shape.find("txBody")
        lines = paragraphs(body) if body is not None and kind not in _ON_EVERY_SLIDE else []
        if lines and kind in _TITLES and not slide.title:
            slide.title = " ".join(lines)
        elif lines:
            slide.blocks.append(("paragraph", "\n".join(lines)))

    def _graphic(self, frame: Element, slide: Slide) -> None:
        for element in frame.iter():
            match element.tag:
                case "tbl":
                    slide.blocks.append(("table", "\n".join(_rows(element))))
                case "relIds":
                    slide.blocks.append(("paragraph", self._drawn(element.get("r:dm", ""))))
                case "chart":
                    slide.blocks.append(("table", self._drawn(element.get("r:id", ""))))

    def _drawn(self, number: str) -> str:
        """Return what is drawn by another part: a chart or a diagram."""
        relation = self._relations.get(number, Relation("", ""))
        root = self._parts.tree(relation.target, is_expected=False)
        if root is None:
            return ""
        return diagram_text(root) if relation.kind == "diagramData" else chart_text(root)

    def _comments(self, root: Element) -> Iterator[tuple[str, str]]:
        for each in root.iter():
            if each.tag in {"cm", "reply"}:
                body = each.find("txBody")
                lines = [each.findtext("text") or ""] if body is None else paragraphs(body)
                author = self._authors.get(each.get("authorId", ""), "")
                text = "\n".join(lines).strip()
                yield "comment", f"{author}: {text}" if author and text else text


def _tree(root: Element) -> Iterable[Element]:
    return next(root.iter("spTree"), ())


def _placeholder(shape: Element) -> str:
    found = next(shape.iter("ph"), None)
    return "" if found is None else found.get("type", "")


def _notes(shapes: Iterable[Element]) -> Iterator[str]:
    for shape in shapes:
        body = shape.find("txBody")
        if body is not None and _placeholder(shape) not in _ON_EVERY_SLIDE:
            yield "\n".join(paragraphs(body))


def _rows(table: Element) -> Iterator[str]:
    for row in table.findall("tr"):
        line = "\t".join(" ".join(" ".join(paragraphs(cell)).split()) for cell in row.findall("tc"))
        if line.strip():
            yield line.rstrip()
