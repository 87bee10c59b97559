"""PDF files, opened: the characters of a page and their boxes, its look, and what is around it.

The home of pypdfium2. PDFium is not safe for threads, so one file is open at a time in a
process: ``opened`` waits for it. Boxes of characters are in the page's own space, in points,
with *y* up; ``Page.shown`` says where they are on the page as a viewer shows it, rotated and
cropped, from its upper left corner.
"""

from __future__ import annotations

import ctypes
import re
import unicodedata
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from itertools import islice, repeat
from math import isfinite, pi, sqrt
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from kb_app._ingest.making.accents import with_accents
from kb_app._ingest.making.characters import characters_of, ligatures_in
from kb_app._ingest.making.glyphs import Box, Glyphs, Run
from kb_app._ingest.making.pdf_notes import TICKED, Note, plain

if TYPE_CHECKING:
    import pypdfium2

__all__ = ["Bookmark", "Locked", "NotReadable", "Page", "PageImage", "Pdf", "View", "opened"]

_LOCK = Lock()
_WRONG_PASSWORD = 4
_BOLD = 600
_INVISIBLE = 3
_MOST_BOOKMARKS = 20_000
_MOST_OBJECTS = 5_000
_DEEPEST_FORM = 4
_LINE = re.compile("[^\r\n\x02\ufffe]+[\x02\ufffe]?")
_FINE = 1_000
"""Parts of a point that the place of a point on the shown page is told in."""
_LINK, _WIDGET, _LAST_NOTE = 2, 20, 15
"""Kinds of what lies over a page; those up to the last but links are what readers wrote."""
_BUTTONS, _TEXTS = frozenset({2, 3}), frozenset({4, 5, 6})
"""Kinds of fields: what is ticked or chosen, and what is written."""
_IS_PASSWORD = 1 << 13
_MOST_NOTES, _LONGEST_NOTE, _MOST_CHARS = 2_000, 200_000, 200_000
_MOST_PIXELS = 12_000_000
_DPI = 300


class NotReadable(Exception):
    """It is no PDF, or too much of it is missing; the message says what."""


class Locked(Exception):
    """It needs a password, and none of those that are known opens it."""


class Bookmark(NamedTuple):
    """An entry of the outline; ``page`` is counted from 0, ``y`` is in the page's own space."""

    level: int
    title: str
    page: int | None
    y: float | None


class View(NamedTuple):
    """A page as a viewer shows it: its size in points, and the affine map to it."""

    width: float
    height: float
    a: float = 1.0
    b: float = 0.0
    c: float = 0.0
    d: float = -1.0
    e: float = 0.0
    f: float = 0.0

    def shown(self, box: Box) -> tuple[float, float, float, float]:
        """Return a box of the page's own space as it is shown: *y* down, cut to the page."""
        x0, x1 = sorted(self.a * x + self.c * y + self.e for x, y in (box[:2], box[2:]))
        y0, y1 = sorted(self.b * x + self.d * y + self.f for x, y in (box[:2], box[2:]))
        width, height = self.width, self.height
        return (
            round(min(max(x0, 0), width), 1),
            round(min(max(y0, 0), height), 1),
            round(min(max(x1, 0), width), 1),
            round(min(max(y1, 0), height), 1),
        )

    def unshown(self, box: Box) -> Box:
        """Return a box of the shown page, *y* down, in the page's own space."""
        # Quarter turns only: either a and d are there, or b and c.
        if abs(self.a) > abs(self.b):
            xs = sorted((x - self.e) / self.a for x in (box.x0, box.x1))
            ys = sorted((y - self.f) / self.d for y in (box.y0, box.y1))
        else:
            xs = sorted((y - self.f) / self.b for y in (box.y0, box.y1))
            ys = sorted((x - self.e) / self.c for x in (box.x0, box.x1))
        return Box(xs[0], ys[0], xs[1], ys[1])


class Picture(NamedTuple):
    """What is drawn on a page beside its text."""

    covered: float
    """Which share of the page images cover, at most 1."""
    images: int
    paths: int


class PageImage(NamedTuple):
    """A page as a viewer shows it: rows of pixels from the top, without padding."""

    width: int
    height: int
    pixels: bytes
    scale: float
    """Pixels for each point."""
    channels: int = 1
    """1: shades of grey; 3: red, green and blue."""


@contextmanager
def opened(data: bytes, passwords: Sequence[str] = ()) -> Iterator[Pdf]:
    """Open a file, with the first of *passwords* that fits where it needs one.

    Raise ``Locked`` or ``NotReadable``. Nothing of it may be used afterwards.
    """
    with _LOCK:
        document = _document(data, passwords)
        try:
            yield Pdf(document, data)
        finally:
            document.close()


def _document(data: bytes, passwords: Sequence[str]) -> pypdfium2.PdfDocument:
    import pypdfium2  # 8 MB of library: not where no PDF is read

    for password in (None, *_spellings(passwords)):
        try:
            return pypdfium2.PdfDocument(data, password=password)
        except pypdfium2.PdfiumError as error:
            if error.err_code != _WRONG_PASSWORD:
                raise NotReadable(_why(error)) from error
    raise Locked


def _spellings(passwords: Sequence[str]) -> Iterator[str]:
    """Yield each password as it is, and as the program that locked the file may have taken it."""
    for password in passwords:
        yield password
        plain = unicodedata.normalize("NFKC", password).replace("\xad", "")
        if plain != password:
            yield plain


def _why(error: Exception) -> str:
    """Return what PDFium says, as it says it of a file."""
    return str(error).removeprefix("Failed to load document ").strip("() .") or "unknown error"


class Pdf:
    """A file that is open."""

    def __init__(self, document: pypdfium2.PdfDocument, data: bytes) -> None:
        self._document = document
        self._data = data
        self._named: Mapping[str, str] | None = None
        if document.get_formtype():
            document.init_forms()

    def __len__(self) -> int:
        return len(self._document)

    @contextmanager
    def page(self, index: int) -> Iterator[Page]:
        """Open a page, counted from 0; raise ``NotReadable`` where it is damaged.

        So does whatever is done with it and finds that it is.
        """
        import pypdfium2

        try:
            page = self._document[index]
            try:
                forms = self._document.formenv
                yield Page(page, forms.raw if forms is not None else None, self._ligatures)
            finally:
                page.close()
        except pypdfium2.PdfiumError as error:
            raise NotReadable(str(error)) from error

    def _ligatures(self) -> Mapping[str, str]:
        """Return what codes stand for that are no characters; looked for once, when needed."""
        if self._named is None:
            self._named = ligatures_in(self._data)
        return self._named

    @property
    def information(self) -> dict[str, str]:
        """What the file says of itself: ``Title``, ``Author``, ``CreationDate`` and others."""
        document = self._document
        read = {key: _said(document.get_metadata_value, key) for key in document.METADATA_KEYS}
        return {key: value for key, value in read.items() if value}

    def label(self, index: int) -> str:
        """Return what a page calls itself, such as ``iv``; empty where it does not."""
        label = _said(self._document.get_page_label, index)
        return label.replace("\0", "").strip()

    def outline(self) -> Iterator[Bookmark]:
        """Yield the entries of the outline, in order."""
        for entry in islice(self._document.get_toc(), _MOST_BOOKMARKS):
            target = entry.get_dest()
            page = target.get_index() if target is not None else None
            view: Sequence[float] = target.get_view()[1] if target is not None else ()
            y = view[len(view) // 2] if len(view) in {1, 3} else None
            title = " ".join(_said(entry.get_title).replace("\0", "").split())
            yield Bookmark(entry.level, title, page, y)

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Yield the names and bytes of the files that it holds; those that are damaged, not."""
        import pypdfium2

        for index in range(self._document.count_attachments()):
            try:
                held = self._document.get_attachment(index)
                yield _said(held.get_name) or f"attachment {index + 1}", bytes(held.get_data())
            except pypdfium2.PdfiumError:
                continue


def _said(read: Callable[..., str], *about: object) -> str:
    """Return a text that PDFium gives; nothing for one that is no UTF-16, such as half a pair."""
    try:
        return read(*about)
    except UnicodeDecodeError:
        return ""


class Page:
    """A page that is open."""

    def __init__(
        self,
        page: pypdfium2.PdfPage,
        forms: object | None = None,
        ligatures: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        self._page = page
        self._forms = forms
        self._ligatures = ligatures

    @cached_property
    def view(self) -> View:
        """Where things of the page are as a viewer shows it, as PDFium maps three points."""
        e, f = self._device(0, 0)
        a, b = self._device(_FINE, 0)
        c, d = self._device(0, _FINE)
        width, height = self._page.get_size()
        by = ((a - e) / _FINE, (b - f) / _FINE, (c - e) / _FINE, (d - f) / _FINE)
        return View(width, height, *by, e, f)

    def _device(self, x: float, y: float) -> tuple[float, float]:
        from pypdfium2 import raw

        across, down = ctypes.c_int(), ctypes.c_int()
        sides = self._page.get_size()
        if not all(map(isfinite, sides)):
            raise NotReadable("a page without a size")
        width, height = (round(side * _FINE) for side in sides)
        raw.FPDF_PageToDevice(self._page, 0, 0, width, height, 0, x, y, across, down)
        return across.value / _FINE, down.value / _FINE

    def glyphs(self) -> Glyphs:
        """Return the characters of the page, in the order in which they were written to it."""
        page = self._page.get_textpage()
        try:
            return with_accents(_glyphs(page, self._ligatures))
        finally:
            page.close()

    def words(self) -> str:
        """Return what is written on the page and over it, as PDFium orders it."""
        page = self._page.get_textpage()
        try:
            said = page.get_text_range()
        finally:
            page.close()
        over = (note.text for note in self.notes())
        return unicodedata.normalize("NFKC", "\n".join((said, *over)))

    def notes(self) -> list[Note]:
        """Return values of forms, and what readers wrote, that lie over the page."""
        return list(_notes_on(self._page, self._forms))

    def picture(self) -> Picture:
        """Return what is drawn, as far as the first few thousand objects tell."""
        from pypdfium2 import raw

        left, bottom, right, top = self._page.get_bbox()
        area = max((right - left) * (top - bottom), 1)
        covered, images, paths = 0.0, 0, 0
        for drawn in islice(self._page.get_objects(max_depth=1), _MOST_OBJECTS):
            kind = drawn.type
            if kind == raw.FPDF_PAGEOBJ_PATH:
                paths += 1
            elif kind == raw.FPDF_PAGEOBJ_IMAGE or (
                kind == raw.FPDF_PAGEOBJ_FORM and _holds_image(drawn.raw)
            ):
                a, b, c, d = drawn.get_bounds()
                sides = min(c, right) - max(a, left), min(d, top) - max(b, bottom)
                covered += max(sides[0], 0) * max(sides[1], 0)
                images += 1
        return Picture(min(covered / area, 1), images, paths)

    def image(self, *, dpi: float = _DPI, is_grey: bool = True) -> PageImage:
        """Draw the page with *dpi* pixels an inch; with fewer where it is very large."""
        width, height = self._page.get_size()
        scale = min(dpi / 72, sqrt(_MOST_PIXELS / max(width * height, 1)))
        drawn = self._page.render(scale=scale, grayscale=is_grey, rev_byteorder=True)
        channels = drawn.n_channels
        rows = bytes(drawn.buffer)
        used = drawn.width * channels
        pixels = b"".join(
            rows[at : at + used] for at in range(0, drawn.stride * drawn.height, drawn.stride)
        )
        made = PageImage(drawn.width, drawn.height, pixels, scale, channels)
        drawn.close()
        return made


def _notes_on(page: pypdfium2.PdfPage, forms: object | None) -> Iterator[Note]:
    """Yield what lies over a page, in the order of the file; *forms* is what knows of fields."""
    from pypdfium2 import raw

    left = _MOST_CHARS
    for index in range(min(raw.FPDFPage_GetAnnotCount(page), _MOST_NOTES)):
        annotation = raw.FPDFPage_GetAnnot(page, index)
        if not annotation:
            continue
        try:
            kind = raw.FPDFAnnot_GetSubtype(annotation)
            if kind == _WIDGET and forms is not None:
                found = _field(annotation, forms)
            elif kind <= _LAST_NOTE and kind != _LINK:
                found = _comment(annotation)
            else:
                found = None
        finally:
            raw.FPDFPage_CloseAnnot(annotation)
        if found is not None and left > 0:
            left -= len(found.text)
            yield found


def _comment(annotation: object) -> Note | None:
    from pypdfium2 import raw

    said = plain(_string(raw.FPDFAnnot_GetStringValue, annotation, b"Contents"))
    author = plain(_string(raw.FPDFAnnot_GetStringValue, annotation, b"T"))
    if not said:
        return None
    return Note(_rectangle(annotation), f"{author}: {said}" if author else said, name=said)


def _field(annotation: object, forms: object) -> Note | None:
    from pypdfium2 import raw

    kind = raw.FPDFAnnot_GetFormFieldType(forms, annotation)
    is_ticked = kind in _BUTTONS and bool(raw.FPDFAnnot_IsChecked(forms, annotation))
    if kind not in _TEXTS and not is_ticked:
        return None
    if raw.FPDFAnnot_GetFormFieldFlags(forms, annotation) & _IS_PASSWORD:
        return None
    read = raw.FPDFAnnot_GetFormFieldExportValue if is_ticked else raw.FPDFAnnot_GetFormFieldValue
    value = plain(_string(read, forms, annotation))
    if is_ticked and value.casefold() in TICKED:
        value = "yes"
    label = plain(_string(raw.FPDFAnnot_GetFormFieldAlternateName, forms, annotation))
    name = plain(_string(raw.FPDFAnnot_GetFormFieldName, forms, annotation))
    if not value:
        return None
    return Note(_rectangle(annotation), value, label, name, is_field=True, is_ticked=is_ticked)


def _string(read: object, *about: object) -> str:
    """Return a text that PDFium gives, of UTF-16, behind its length."""
    assert callable(read)  # noqa: S101 - a function of the library
    size = read(*about, None, 0)
    if not 0 < size <= 2 * _LONGEST_NOTE:
        return ""
    buffer = ctypes.create_string_buffer(size)
    read(*about, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), size)
    return buffer.raw.decode("utf-16-le", "replace").partition("\0")[0]


def _rectangle(annotation: object) -> Box:
    from pypdfium2 import raw

    rectangle = raw.FS_RECTF()
    raw.FPDFAnnot_GetRect(annotation, rectangle)
    x0, x1 = sorted((rectangle.left, rectangle.right))
    y0, y1 = sorted((rectangle.bottom, rectangle.top))
    box = Box(x0, y0, x1, y1)
    return box if all(map(isfinite, box)) else Box(0, 0, 0, 0)


def _glyphs(page: pypdfium2.PdfTextPage, ligatures: Callable[[], Mapping[str, str]]) -> Glyphs:
    from pypdfium2 import raw

    count = page.count_chars()
    handle = ctypes.cast(page.raw, ctypes.c_void_p).value
    unicode, box = _bulk()
    text, where = characters_of(list(map(unicode, repeat(handle), range(count))), ligatures)
    sides = (ctypes.c_float * (4 * count))()
    first = ctypes.addressof(sides)
    deque(map(box, repeat(handle), range(count), range(first, first + 16 * count, 16)), 0)
    all_sides = list(sides)
    # PDFium's own order: left, top, right, bottom.
    boxes = [all_sides[0::4], all_sides[3::4], all_sides[2::4], all_sides[1::4]]
    if not isinstance(where, range):
        boxes = [[side[at] for at in where] for side in boxes]
    runs = []
    for match in _LINE.finditer(text):
        start, end = match.span()
        at = where[next((n for n in range(start, end) if not text[n].isspace()), start)]
        turn = round(max(raw.FPDFText_GetCharAngle(page, at), 0) / (pi / 2)) % 4
        is_bold = raw.FPDFText_GetFontWeight(page, at) >= _BOLD
        is_cut = text[end - 1] in "\x02\ufffe"
        runs.append(Run(start, end - is_cut, turn, is_bold, is_cut))
    left, bottom, right, top = boxes
    return Glyphs(text, left, bottom, right, top, runs, _is_layer(page, text, where))


def _is_layer(page: pypdfium2.PdfTextPage, text: str, where: Sequence[int]) -> bool:
    """Say whether the text cannot be seen, as that which OCR puts under a scan."""
    from pypdfium2 import raw

    ink = [at for at, character in zip(where, text, strict=True) if not character.isspace()]
    if not ink:
        return False
    for at in {ink[0], ink[len(ink) // 2], ink[-1]}:
        drawn = raw.FPDFText_GetTextObject(page, at)
        if not drawn or raw.FPDFTextObj_GetTextRenderMode(drawn) != _INVISIBLE:
            return False
    return True


_Unicode = ctypes.CFUNCTYPE(ctypes.c_uint, ctypes.c_void_p, ctypes.c_int)
_LooseBox = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)


@cache
def _bulk():  # type: ignore[no-untyped-def]  # noqa: ANN202 - ctypes has no names for these
    """Return PDFium's functions for one character, with arguments that cost nothing to pass."""
    from pypdfium2 import raw

    def address(function: object) -> int:
        return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]

    return _Unicode(address(raw.FPDFText_GetUnicode)), _LooseBox(
        address(raw.FPDFText_GetLooseCharBox)
    )


def _holds_image(form: object, depth: int = 0) -> bool:
    """Say whether there is an image among the first things that a form draws."""
    from pypdfium2 import raw

    for index in range(min(raw.FPDFFormObj_CountObjects(form), 100)):
        held = raw.FPDFFormObj_GetObject(form, index)
        kind = raw.FPDFPageObj_GetType(held)
        if kind == raw.FPDF_PAGEOBJ_IMAGE:
            return True
        is_form = kind == raw.FPDF_PAGEOBJ_FORM and depth < _DEEPEST_FORM
        if is_form and _holds_image(held, depth + 1):
            return True
    return False
