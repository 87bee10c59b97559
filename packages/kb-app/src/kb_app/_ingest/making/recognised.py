"""Recognised pages as the text of a document, and who recognises them.

Each line of text is a place. Lines of a paragraph follow each other as on the page; where a
line ends within a word, its hyphen goes and the next line follows at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kb_app._ingest.making.ocr import Line, Page, Recogniser
from kb_app._trained import find_trained
from kb_app.config import Ocr
from kb_app.paths import environment
from kb_core.citations import Span
from kb_core.documents import Block, Place, SourceFile

__all__ = ["Written", "ocr_settings", "paragraphs_of", "recogniser_for"]

_CUT_WORD = re.compile(r"[^\W\d_]-$")


def ocr_settings(file: SourceFile) -> Ocr:
    """Return what the configuration says, as far as the file was told; else the defaults."""
    given: Mapping[str, Any] = file.options
    usual = Ocr()
    return Ocr(
        languages=tuple(given.get("languages", usual.languages)),
        tessdata=tuple(map(Path, given.get("tessdata", usual.tessdata))),
        max_megapixels=given.get("max_megapixels", usual.max_megapixels),
        place=given.get("place", usual.place),
        page_timeout_secs=given.get("page_timeout_secs", usual.page_timeout_secs),
    )


def recogniser_for(file: SourceFile) -> Recogniser:
    """Return what reads pages of *file*, with all the trained data that there is."""
    settings = ocr_settings(file)
    trained = find_trained(settings.tessdata, environment())
    return Recogniser(trained, settings.languages, settings.page_timeout_secs)


def paragraphs_of(page: Page) -> list[list[Line]]:
    """Return the lines of a page, paragraph by paragraph."""
    made: list[list[Line]] = []
    for line in page.lines:
        if line.opens or not made:
            made.append([])
        made[-1].append(line)
    return made


@dataclass(slots=True)
class Written:
    """The text so far, with its blocks and the places of its lines."""

    parts: list[str] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    at: int = 0

    def add(self, page: Page, place_of: Callable[[Line], Span]) -> None:
        """Write a page."""
        for paragraph in paragraphs_of(page):
            if self.at:
                self._write("\n\n")
            start = self.at
            for line, following in zip(paragraph, [*paragraph[1:], None], strict=True):
                self.places.append(Place(self.at, place_of(line)))
                self._write(_ended(line, following))
            self.blocks.append(Block("paragraph", start, self.at))

    def add_line(self, text: str, span: Span) -> None:
        """Write a paragraph of one line that is cited by *span*."""
        if self.at:
            self._write("\n\n")
        self.places.append(Place(self.at, span))
        self.blocks.append(Block("paragraph", self.at, self.at + len(text)))
        self._write(text)

    @property
    def text(self) -> str:
        return "".join(self.parts)

    def _write(self, text: str) -> None:
        self.parts.append(text)
        self.at += len(text)


def _ended(line: Line, following: Line | None) -> str:
    """Return a line with what stands between it and the *following* one."""
    if following is None:
        return line.text
    if _CUT_WORD.search(line.text) and following.text[:1].islower():
        return line.text[:-1]
    return f"{line.text}\n"
