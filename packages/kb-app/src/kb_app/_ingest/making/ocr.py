"""Text recognition: the picture of a page to its lines, by tesseract, with trained data.

A page is read in English first, or in the configured languages. Where that is not convincing
it is read again in the other languages there are; where letters are small, twice as large; then
turned upside down. What was read with most confidence counts. Each of these readings is a costly
result of its own, so one more language costs the pages that English did not convince, and no
others. Sideways lines tesseract finds itself.

A line that nothing speaks for is left out: below a confidence of 40 of 100, or without two
letters or digits. A page whose mean is below 50 has no readable text.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from kb_app._ingest.making.columns import Row, Word, in_reading_order, initials
from kb_app._trained import ENGLISH, SCRIPTS, Trained
from kb_core.ports import Results

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["OCR", "Box", "Line", "Page", "Recogniser"]

OCR = "ocr-2"
"""The version of how pages are read."""

Box = tuple[int, int, int, int]
"""Left, top, width and height in pixels of the picture."""

_BORDER = 50
"""Pixels of white around a page: lines at its very edge are lost without."""
_CONVINCING = 70.0
_LEAST_PAGE = 50.0
_LEAST_LINE = 40.0
_LEAST_LETTERS = 2
_LEAST_LETTER = 60
"""How sure one has to be of a large first letter."""
_LEAST_SEEN = 20
"""How many letters have to be seen before it is worth saying that they were not understood."""
_SMALL, _ZOOM = 17, 2
"""Below how many pixels of height lines are looked at larger, and by how much."""
_MOST_ZOOMED = 3_000_000
_LEAST_SECS, _AROUND_SECS = 0.5, 60.0
_BETTER = 10.0
"""By how much more confident a page turned upside down has to be read."""
_MOST_LANGUAGES = 4
_LEAST_DPI, _MOST_DPI = 70, 2400
"""What tesseract believes of a resolution."""
_SPACED = frozenset({"chi_sim", "chi_tra", "jpn", "kor", "tha"})
"""Languages in whose words tesseract sees blanks where there are none."""
_LETTER = re.compile(r"[^\W_]")


class Line(NamedTuple):
    """A line of text as it was recognised, with a confidence from 0 to 100."""

    text: str
    box: Box
    confidence: float
    opens: bool
    """It begins a paragraph."""


class Page(NamedTuple):
    """A page as it was read: lines in the order of reading, and the mean confidence."""

    lines: tuple[Line, ...]
    confidence: float
    warning: str | None = None


class TooSlowError(Exception):
    """Reading a page took longer than it may."""


class Recogniser:
    """Reads pages in the languages of *trained*; of those, *wanted* are expected."""

    def __init__(self, trained: Sequence[Trained], wanted: Sequence[str], secs: float) -> None:
        self._trained = {each.lang: each for each in trained}
        self._wanted = [lang for lang in wanted if lang in self._trained]
        self._unknown = [lang for lang in wanted if lang not in self._trained]
        self._secs = secs
        self._until = 0.0

    @property
    def maker(self) -> dict[str, object]:
        """What makes a reading, but for its languages and their data."""
        return {"engine": _engine_version(), "reader": OCR}

    @property
    def patience_secs(self) -> float:
        """How long a page may take, with what is around it."""
        return self._secs + _AROUND_SECS

    def read(self, image: Image, dpi: float | None, results: Results, part: str) -> Page:
        """Return the lines of *image*, in tones of grey; *part* is what *results* call it."""
        attempts = self._attempts()
        if not attempts:
            return Page((), 0.0, "there is no trained data to recognise text with")
        self._until = time.monotonic() + self._secs
        best = Page((), -1.0)
        try:
            for page in self._better_and_better(attempts, _Source(image, dpi, results, part)):
                best = page
        except TooSlowError:
            if best.confidence < 0:
                return Page((), 0.0, f"reading it took longer than {self._secs:g} seconds")
        return self._judged(best, image)

    def _better_and_better(
        self, attempts: Sequence[tuple[str, ...]], source: _Source
    ) -> Iterator[Page]:
        """Yield readings, each better than the one before; one more only where it may help."""
        best, by = Page((), -1.0), _Way(attempts[0])
        for langs in attempts:
            page = self._reading(source, _Way(langs))
            if page.confidence > best.confidence:
                best, by = page, _Way(langs)
                yield best
            if best.confidence >= _CONVINCING:
                break
        if _is_small(best, source.image):
            page = self._reading(source, by._replace(zoom=_ZOOM))
            if page.confidence >= best.confidence:
                best, by = page, by._replace(zoom=_ZOOM)
                yield best
        if best.lines and best.confidence < _CONVINCING:
            page = self._reading(source, by._replace(turn=180))
            if page.confidence > best.confidence + _BETTER:
                yield page

    def read_pixels(
        self, pixels: tuple[int, int, bytes], dpi: float, results: Results, part: str
    ) -> Page:
        """Return the lines of a picture that is given as width, height and tones of grey."""
        import PIL.Image

        width, height, tones = pixels
        image = PIL.Image.frombytes("L", (width, height), tones)
        return self.read(image, dpi, results, part)

    def _attempts(self) -> list[tuple[str, ...]]:
        """Return in which languages a page is read, and if need be read again."""
        english = (ENGLISH,) if ENGLISH in self._trained else ()
        if self._wanted:
            return [tuple(dict.fromkeys([*self._wanted, *english]))]
        others = [each.lang for each in self._trained.values() if each.is_language]
        others = [lang for lang in others if lang != ENGLISH and "/" not in lang]
        further = [(*others, *english)] if 0 < len(others) <= _MOST_LANGUAGES else []
        return [*([english] if english else []), *further]

    def _judged(self, page: Page, image: Image) -> Page:
        """Leave out the lines of a page that says nothing, and say what may be wanting."""
        doubt = None
        seen = sum(_letters(line.text) for line in page.lines)
        if seen >= _LEAST_SEEN and page.confidence < _CONVINCING:
            there = ", ".join(each.lang for each in self._trained.values() if each.is_language)
            looks = _script(self._trained.get(SCRIPTS), image)
            doubt = (
                f"read with a confidence of {page.confidence:.0f} of 100{looks}; there is trained "
                f"data of {there}: another language needs its own ([ocr] tessdata)"
            )
        if self._unknown:
            missing = ", ".join(self._unknown)
            doubt = f"there is no trained data of {missing}, which [ocr] languages names"
        lines = page.lines if page.confidence >= _LEAST_PAGE else ()
        kept = _kept(lines, lambda line: line.confidence >= _LEAST_LINE)
        return Page(tuple(kept), page.confidence, doubt)

    def _reading(self, source: _Source, way: _Way) -> Page:
        """Return a reading, made before or now, in pixels of the picture as it was given."""
        versions = "+".join(self._trained[lang].version for lang in way.langs)
        name = f"{source.part} {versions} {way.turn} {way.zoom}"
        known = _page_of(source.results.get(name))
        if known is None:
            api = _engine(tuple(self._trained[lang] for lang in way.langs))
            left = max(_LEAST_SECS, self._until - time.monotonic())
            dpi = source.dpi and source.dpi * way.zoom
            known = _recognised(api, way.seen(source.image), dpi, left)
            source.results.put(name, [known.confidence, [[*line] for line in known.lines]])
        w, h = source.image.size
        lines = (way.placed(line, w, h) for line in known.lines)
        return Page(tuple(lines), known.confidence)


class _Source(NamedTuple):
    """A picture to read, and what was read of it before."""

    image: Image
    dpi: float | None
    results: Results
    part: str


class _Way(NamedTuple):
    """How a picture is read: in which languages, turned by how much, and how much larger."""

    langs: tuple[str, ...]
    turn: int = 0
    zoom: int = 1

    def seen(self, image: Image) -> Image:
        """Return the picture as it is looked at."""
        import PIL.Image

        if self.zoom > 1:
            size = (image.width * self.zoom, image.height * self.zoom)
            image = image.resize(size, PIL.Image.Resampling.BICUBIC)
        return image.rotate(self.turn) if self.turn else image

    def placed(self, line: Line, width: int, height: int) -> Line:
        """Return a line that was seen so as one of the picture, which has these sides."""
        if self.zoom == 1 and not self.turn:
            return line
        x, y, w, h = (side // self.zoom for side in line.box)
        w, h = max(1, w), max(1, h)
        if self.turn:
            x, y = max(0, width - x - w), max(0, height - y - h)
        return line._replace(box=(x, y, w, h))


def _is_small(page: Page, image: Image) -> bool:
    """Say whether the letters are so small that they are read better from a larger picture."""
    from statistics import median  # with fractions and decimals: not where no picture is read

    heights = [min(line.box[2:]) for line in page.lines]
    is_affordable = image.width * image.height <= _MOST_ZOOMED
    return bool(heights) and is_affordable and median(heights) < _SMALL


def _script(osd: Trained | None, image: Image) -> str:
    """Say which script a page looks like, where there is data that tells, and it is not ours."""
    if osd is None:
        return ""
    from PIL import ImageOps

    api = _scripts(osd)
    api.SetImage(ImageOps.expand(image, _BORDER, fill=255))
    found = api.DetectOrientationScript() or {}
    name = str(found.get("script_name", "Latin"))
    return "" if name == "Latin" else f", and it looks like {name}"


@cache
def _scripts(osd: Trained) -> Any:  # noqa: ANN401 - its library has no types
    from tesserocr import PSM, PyTessBaseAPI

    return PyTessBaseAPI(path=osd.folder, lang=osd.lang, psm=PSM.OSD_ONLY)


def _page_of(value: object) -> Page | None:
    """Return the page that *value* keeps, if it keeps one."""
    if not isinstance(value, list):
        return None
    confidence, lines = value
    made = (Line(text, tuple(box), sure, opens) for text, box, sure, opens in lines)
    return Page(tuple(made), confidence)


@cache
def _engine_version() -> str:
    import tesserocr

    return " ".join(tesserocr.tesseract_version().split()[:2])


@cache
def _engine(trained: tuple[Trained, ...]) -> Any:  # noqa: ANN401 - its library has no types
    """Return what recognises text in these languages; it is loaded once in each process."""
    os.environ.setdefault("OMP_THREAD_LIMIT", "1")  # as many workers as cores, not threads
    from tesserocr import PSM, PyTessBaseAPI

    folder = trained[0].folder
    # One folder is all that tesseract takes, but a language may be the way to its file.
    langs = [
        each.lang
        if each.folder == folder
        else f"{os.path.relpath(each.folder, folder)}/{each.lang}"
        for each in trained
    ]
    api = PyTessBaseAPI(path=folder, lang="+".join(langs), psm=PSM.AUTO)
    api.SetVariable("debug_file", os.devnull)
    if not _SPACED.isdisjoint(each.lang for each in trained):
        api.SetVariable("preserve_interword_spaces", "1")
    return api


def _recognised(api: Any, image: Image, dpi: float | None, secs: float) -> Page:  # noqa: ANN401
    from PIL import ImageOps

    api.SetImage(ImageOps.expand(image, _BORDER, fill=255))
    if dpi is not None and dpi > _LEAST_DPI:  # else tesseract's own guess is better than ours
        api.SetSourceResolution(round(min(dpi, _MOST_DPI)))
    try:
        if not api.Recognize(round(secs * 1000)):
            raise TooSlowError
        rows = _kept(_rows(api), lambda row: _letters(row.text) >= _LEAST_LETTERS)
        rows = in_reading_order(_with_initials(api, rows, image))
        lines = [_line(row, image.size) for row in rows]
    finally:
        api.Clear()
    weights = [_letters(line.text) for line in lines]
    weighed = sum(n * line.confidence for n, line in zip(weights, lines, strict=True))
    mean = weighed / sum(weights) if lines else 0.0
    return Page(tuple(lines), round(mean, 1))


_Opening = TypeVar("_Opening", Row, Line)


def _kept(lines: Iterable[_Opening], is_wanted: Callable[[_Opening], bool]) -> list[_Opening]:
    """Return the lines that are wanted; what follows one that opens a paragraph opens it."""
    kept, opens = list[_Opening](), False
    for line in lines:
        opens = opens or line.opens
        if is_wanted(line):
            kept.append(line._replace(opens=opens))
            opens = False
    return kept


def _letters(text: str) -> int:
    return len(_LETTER.findall(text))


def _rows(api: Any) -> Iterator[Row]:  # noqa: ANN401 - its library has no types
    from tesserocr import RIL, iterate_level

    is_spaced = api.GetVariableAsString("preserve_interword_spaces") == "1"
    said = iter(api.GetUTF8Text().split("\n") if is_spaced else ())
    opens, words = True, list[Word]()
    for found in iterate_level(api.GetIterator(), RIL.WORD):
        opens = opens or found.IsAtBeginningOf(RIL.PARA)
        if box := found.BoundingBox(RIL.WORD):
            words.append(Word(found.GetUTF8Text(RIL.WORD) or "", box, found.Confidence(RIL.WORD)))
        if words and found.IsAtFinalElement(RIL.TEXTLINE, RIL.WORD):
            size = (found.RowAttributes() or {}).get("row_height")
            row = Row(tuple(words), opens, None, found.BoundingBox(RIL.TEXTLINE), size)
            yield row._replace(spaced=_as_said(row, said)) if is_spaced else row
            opens, words = False, []


def _with_initials(api: Any, rows: list[Row], image: Image) -> list[Row]:  # noqa: ANN401
    """Return *rows* with the large first letters of paragraphs before their words."""
    from PIL import ImageOps
    from tesserocr import PSM

    for at, edges in initials(rows):
        left, top, right, bottom = (edge - _BORDER for edge in edges)
        letter = image.crop((left, top, right, bottom))
        api.SetPageSegMode(PSM.SINGLE_CHAR)
        try:
            api.SetImage(ImageOps.expand(letter, _BORDER, fill=255))
            api.Recognize()
            said, sure = api.GetUTF8Text().strip(), api.MeanTextConf()
        finally:
            api.SetPageSegMode(PSM.AUTO)
        if len(said) == 1 and said.isupper() and sure >= _LEAST_LETTER:
            rows[at] = rows[at].behind(Word(said, edges, float(sure)))
            rows[at + 1] = rows[at + 1]._replace(opens=False)
    return rows


def _as_said(row: Row, said: Iterator[str]) -> str | None:
    """Return the line of the whole text that has these words: only there blanks are right."""
    bare = "".join(word.text for word in row.words)
    return next((line.strip() for line in said if line.replace(" ", "") == bare), None)


def _line(row: Row, size: tuple[int, int]) -> Line:
    left, top, right, bottom = (edge - _BORDER for edge in row.box)
    left, top = max(0, left), max(0, top)
    box = (left, top, max(1, min(size[0], right) - left), max(1, min(size[1], bottom) - top))
    sure = sum(word.confidence for word in row.words) / len(row.words)
    return Line(row.text, box, round(sure, 1), row.opens)
