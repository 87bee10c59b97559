"""Slides of PowerPoint 97 to 2003 (ppt): as those of later versions ([MS-PPT]).

A slide is a page, its title a heading, its notes and comments follow it. Shapes come in the order
of the file; the text of a placeholder may stand in the outline of all slides instead, where it is
referred to. Numbers, dates and feet that stand on every slide are left out.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from kb_app._ingest.making.blocks import Draft
from kb_app._ingest.making.containers import Refused
from kb_app._ingest.making.formats.office.items import aligned
from kb_app._ingest.making.formats.office.powerpoint97.records import Kind, Record, Records
from kb_app._ingest.making.formats.office.slides import Slide, check_slides, write_slide
from kb_core.ingest import SkipReason

__all__ = ["read_powerpoint97"]

_OF_SLIDES, _OF_NOTES = 0, 2
_TITLES, _NOTES_TEXT, _OTHER = frozenset({0, 6}), 2, 4
"""Kinds of texts."""
_ON_EVERY_SLIDE = frozenset({0x07, 0x08, 0x09, 0x0A})
"""Kinds of placeholders: date, number, foot, head."""
_IS_HIDDEN = 4
_IS_TABLE = 0x039F
_SLACK = 24
"""So many of 576 parts of an inch may be between cells of a column."""
_DEEPEST = 40
_BREAKS = str.maketrans({"\r": "\n", "\x0b": "\n"})
_CONTROLS = re.compile(r"[\x00-\x08\x0c\x0e-\x1f]")


class _Text(NamedTuple):
    kind: int
    text: str


class _Place(NamedTuple):
    """A slide in the list of them, with its texts as the outline has them."""

    number: int
    identity: int
    texts: list[_Text]


def read_powerpoint97(records: Records, draft: Draft, most: int) -> dict[str, object]:
    """Write down slide after slide, at most *most*; return what else is known of them.

    Raise ``Refused`` where there are more, or the file is of an earlier version.
    """
    reader = _Reader(records)
    slides = reader.slides()
    if not slides and reader.is_unknown:
        detail = "slides of PowerPoint before 97; save them as .pptx"
        raise Refused(SkipReason.UNSUPPORTED, detail)
    check_slides(len(slides), most)
    notes = reader.notes()
    hidden = []
    for number, place in enumerate(slides, 1):
        slide = reader.slide(place)
        slide.blocks += (("note", text) for text in notes.pop(place.identity, ()))
        write_slide(slide, number, draft)
        if slide.is_hidden:
            hidden.append(number)
    return {"hidden_slides": hidden} if hidden else {}


class _Reader:
    """Reads the slides of one file."""

    def __init__(self, records: Records) -> None:
        self._records = records
        document, places = records.places()
        self._places = dict(places)
        self._document = self._found(document) or self._first_document()

    @property
    def is_unknown(self) -> bool:
        """Say whether there is nothing in it that a file of this kind has."""
        return self._document is None

    def _found(self, number: int) -> Record | None:
        place = self._places.get(number)
        return None if place is None else self._records.at(place)

    def _first_document(self) -> Record | None:
        return next((each for each in self._records.all() if each.kind == Kind.DOCUMENT), None)

    def listed(self, what: int) -> list[_Place]:
        """Return the slides, or their notes, in their order."""
        found: list[_Place] = []
        for each in self._records.within(self._document, Kind.LIST):
            if each.instance != what:
                continue
            for record, text in self._texts(each):
                if record.kind == Kind.SLIDE_PLACE:
                    number = self._records.number(record)
                    found.append(_Place(number, self._records.number(record, 12), []))
                elif found and text is not None:
                    found[-1].texts.append(text)
        return found

    def slides(self) -> list[_Place]:
        """Return the slides in their order; as they lie in the file, where no list is left."""
        listed = self.listed(_OF_SLIDES)
        if listed and self._places:
            return listed
        starts = [each.start - 8 for each in self._records.all() if each.kind == Kind.SLIDE]
        self._places = dict(enumerate(starts))
        found = [_Place(number, -1, []) for number in self._places]
        if len(found) != len(listed):
            return found
        return [told._replace(number=each.number) for each, told in zip(found, listed, strict=True)]

    def _texts(self, holder: Record) -> Iterator[tuple[Record, _Text | None]]:
        """Yield the records in one, and of those that are texts what they say."""
        kind = _OTHER
        for each in self._records.within(holder):
            text = None
            if each.kind == Kind.TEXT_KIND:
                kind = self._records.number(each)
            elif each.kind in {Kind.WIDE_TEXT, Kind.NARROW_TEXT}:
                text = _Text(kind, _shown(self._records.text(each)))
            yield each, text

    def notes(self) -> dict[int, list[str]]:
        """Return the notes of slides, by the identity of these."""
        found: defaultdict[int, list[str]] = defaultdict(list)
        for place in self.listed(_OF_NOTES):
            record = self._found(place.number)
            about = next(self._records.within(record, Kind.NOTES_ATOM), None)
            texts = [*self._drawn(record, []), *place.texts]
            said = [each.text for each in texts if each.kind == _NOTES_TEXT and each.text]
            found[self._records.number(about)] += said
        return dict(found)

    def slide(self, place: _Place) -> Slide:
        """Return all that a slide says."""
        record, slide = self._found(place.number), Slide()
        for text in [*self._drawn(record, place.texts), *place.texts]:
            if text.kind in _TITLES and not slide.title:
                slide.title = text.text
            elif text.text:
                slide.blocks.append(("table" if text.kind < 0 else "paragraph", text.text))
        for each in self._records.within(record, Kind.SHOWN):
            slide.is_hidden = bool(self._records.number(each, 10, 2) & _IS_HIDDEN)
        slide.blocks += (("comment", text) for text in self._comments(record))
        return slide

    def _drawn(self, record: Record | None, outline: list[_Text]) -> list[_Text]:
        """Return the texts in shapes; those of *outline* that are referred to are taken out."""
        found: list[_Text] = []
        used: set[int] = set()
        for drawing in self._records.within(record, Kind.DRAWING):
            for shapes in self._records.within(drawing, Kind.SHAPES):
                for group in self._records.within(shapes, Kind.GROUP):
                    found += self._group(group, outline, used)
        outline[:] = [each for number, each in enumerate(outline) if number not in used]
        return found

    def _group(
        self, group: Record, outline: list[_Text], used: set[int], depth: int = 0
    ) -> Iterator[_Text]:
        """Yield the texts in a group of shapes; a table is one text, of a kind below 0."""
        cells: list[tuple[int, int, str]] = []
        is_table = False
        for number, each in enumerate(self._records.within(group, Kind.SHAPE, Kind.GROUP)):
            if each.kind == Kind.GROUP:
                if depth < _DEEPEST:
                    yield from self._group(each, outline, used, depth + 1)
                continue
            is_table = is_table or (number == 0 and depth > 0 and self._is_table(each))
            for text in self._shape(each, outline, used):
                if is_table:
                    cells.append((*self._corner(each), " ".join(text.text.split())))
                else:
                    yield text
        if cells:
            yield _Text(-1, _rows(cells))

    def _is_table(self, shape: Record) -> bool:
        for each in self._records.within(shape, Kind.MORE_OPTIONS):
            for at in range(0, min(6 * each.instance, each.end - each.start), 6):
                if self._records.number(each, at, 2) & 0x3FFF == _IS_TABLE:
                    return bool(self._records.number(each, at + 2) & 1)
        return False

    def _corner(self, shape: Record) -> tuple[int, int]:
        """Return where in its group a shape is, from above and from the left."""
        for each in self._records.within(shape, Kind.WITHIN_GROUP):
            return self._records.number(each, 4), self._records.number(each, 0)
        return 0, 0

    def _shape(self, shape: Record, outline: list[_Text], used: set[int]) -> list[_Text]:
        inside = list(self._records.within(shape, Kind.TEXT_BOX, Kind.CLIENT_DATA))
        for each in inside:
            for mark in self._records.within(each, Kind.PLACEHOLDER):
                if self._records.number(mark, 4, 1) in _ON_EVERY_SLIDE:
                    return []
        found: list[_Text] = []
        for box in (each for each in inside if each.kind == Kind.TEXT_BOX):
            for record, text in self._texts(box):
                number = self._records.number(record)
                if text is not None and text.text:
                    found.append(text)
                elif record.kind == Kind.OUTLINE_TEXT and number < len(outline):
                    found += [outline[number]] if number not in used else []
                    used.add(number)
        return found

    def _comments(self, slide: Record | None) -> Iterator[str]:
        """Yield comments, which stand in tags of a program of 2000 and later."""
        for tags in self._records.within(slide, Kind.TAGS):
            for tag in self._records.within(tags, Kind.TAG):
                for data in self._records.within(tag, Kind.TAG_DATA):
                    for each in self._records.within(data, Kind.COMMENT):
                        yield self._comment(each)

    def _comment(self, record: Record) -> str:
        strings = self._records.within(record, Kind.STRING)
        told = {each.instance: _shown(self._records.text(each)) for each in strings}
        author, text = told.get(0, ""), told.get(1, "")
        return f"{author}: {text}" if author and text else text


def _shown(text: str) -> str:
    """Return a text as lines; a star alone stands for a number or a date."""
    text = _CONTROLS.sub("", text.translate(_BREAKS)).strip()
    return "" if text == "*" else text


def _rows(cells: list[tuple[int, int, str]]) -> str:
    rows: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
    for top, left, text in cells:
        rows[top].append((left, text))
    ordered = [sorted(rows[top]) for top in sorted(rows)]
    said = [[text for _, text in row] for row in ordered]
    starts = [[left for left, _ in row] for row in ordered]
    return "\n".join(map("\t".join, aligned(said, starts, _SLACK)))
