"""Pictures: what a file says of itself, and its frames as they are displayed, in tones of grey.

Sizes are judged by what the header says, before anything is decoded. A frame is turned as its
orientation asks, its transparent parts are white, and it is made smaller where it has more
pixels than text needs; ``scale`` leads back to the picture as it is displayed.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple, cast

from kb_app._ingest.making.metadata import parse_date
from kb_app._ingest.making.picture_texts import EXIF_TAGS, Sources, exif_bytes

if TYPE_CHECKING:
    from PIL.Image import Exif, Image

__all__ = ["Frame", "NoPictureError", "Picture", "TooManyPixelsError", "open_picture"]

_ENOUGH_PIXELS = 12_000_000
"""What a page has at 300 dots per inch; text is not read better from more."""
_MOST_FRAMES = 1_000
_LONGEST_SENT, _QUALITY_SENT = 1024, 85
"""What vision models look at; more costs, and tells them nothing."""
_PAGED = frozenset({"TIFF", "MPO"})
"""Formats whose frames are pages; of a film, the first frame is shown."""
_CLEAR = frozenset({"RGBA", "RGBa", "LA", "La", "PA"})
_SIDEWAYS = range(5, 9)
_EXIF, _GPS = 0x8769, 0x8825
_ORIENTATION, _MAKE, _MODEL, _CHANGED = 0x0112, 0x010F, 0x0110, 0x0132
_SOFTWARE, _PACKET = 0x0131, 0x02BC
_TAKEN = ((0x9003, 0x9011), (0x9004, 0x9012))
"""Tags of when a picture was taken or made digital, each with that of its zone."""
_EXIF_DATE = re.compile(r"(\d{4}):(\d\d):(\d\d) (\d\d:\d\d:\d\d)")
_UNPRINTABLE = re.compile(r"[^\x20-\x7e\xa0-\U0010ffff]+")
_LONGEST_WORD = 100


class NoPictureError(Exception):
    """The bytes are no picture that can be read here; the message says why."""


class TooManyPixelsError(Exception):
    """A frame has more pixels than are wanted; the message says how many."""


class Frame(NamedTuple):
    """One frame, and how much larger it is displayed."""

    image: Image
    scale: float
    dpi: float | None
    """Of the image as it is here, if the file says so."""

    @property
    def points(self) -> float:
        """How many points a pixel of the image measures; without a resolution, one displayed."""
        return 72 / self.dpi if self.dpi else self.scale


class Picture:
    """A picture whose header was read, with at most *megapixels* in a frame."""

    def __init__(self, image: Image, megapixels: int) -> None:
        self._image = image
        self._most = megapixels * 1_000_000
        self.frames = self._count()
        self._check()

    @property
    def taken(self) -> datetime | None:
        """When it was taken, as its camera's clock said; without a zone as if in UTC."""
        exif = self._exif()
        inner = exif.get_ifd(_EXIF)
        told = [(inner.get(date), inner.get(zone)) for date, zone in _TAKEN]
        for date, zone in (*told, (exif.get(_CHANGED), None)):
            if (match := _EXIF_DATE.match(str(date or ""))) is not None:
                year, month, day, clock = match.groups()
                offset = str(zone or "").strip("\0 ")
                if found := parse_date(f"{year}-{month}-{day}T{clock}{offset}"):
                    return found
        return None

    @property
    def camera(self) -> str:
        """What took it: make and model."""
        exif = self._exif()
        make, model = (_word(exif.get(tag)) for tag in (_MAKE, _MODEL))
        return model if model.lower().startswith(make.lower()) else f"{make} {model}".strip()

    @property
    def made_by(self) -> list[str]:
        """The names of what took and made it, which are no description where one is asked for."""
        exif = self._exif()
        return [self.camera, *(_word(exif.get(tag)) for tag in (_MAKE, _MODEL, _SOFTWARE))]

    @property
    def texts(self) -> Sources:
        """What it has of texts about itself, as far as they can be read."""
        with suppress(NoPictureError), _as_no_picture():
            exif = self._exif()
            inner = exif.get_ifd(_EXIF)
            xmp = self._image.info.get("xmp") or exif.get(_PACKET) or b""
            return Sources(
                xmp=xmp.encode() if isinstance(xmp, str) else exif_bytes(xmp),
                iptc=self._iptc(),
                exif={tag: exif.get(tag) or inner.get(tag) for tag in EXIF_TAGS},
                is_big_endian=exif.endian == ">",
                chunks=self._image.info if self._image.format == "PNG" else None,
            )
        return Sources()

    @property
    def place(self) -> str | None:
        """Where it was taken: degrees north and east, about a metre exact."""
        gps = self._exif().get_ifd(_GPS)
        with suppress(TypeError, ValueError, ZeroDivisionError):
            north, east = _degrees(gps.get(2)), _degrees(gps.get(4))
            north = -north if gps.get(1) == "S" else north
            east = -east if gps.get(3) == "W" else east
            if abs(north) <= 90 and abs(east) <= 180:  # noqa: PLR2004 - degrees of a globe
                return f"{north:.5f},{east:.5f}"
        return None

    def read(self) -> Iterator[Frame | str]:
        """Yield the frames, or why one cannot be read."""
        for number in range(self.frames):
            try:
                with _as_no_picture():
                    self._image.seek(number)
                    self._check()
                    frame = self._frame()
            except (NoPictureError, TooManyPixelsError) as error:
                yield str(error)
                continue
            yield frame

    def shown(self, number: int) -> Frame:
        """Return a frame in its colours, counted from 0; raise as ``open_picture`` does."""
        with _as_no_picture():
            self._image.seek(number)
            self._check()
            return self._frame("RGB")

    def as_jpeg(self) -> bytes:
        """Return the first frame in its colours, at most 1,024 pixels a side, as a JPEG file."""
        with _as_no_picture():
            small = self.shown(0).image.copy()
            small.thumbnail((_LONGEST_SENT, _LONGEST_SENT))
            file = BytesIO()
            small.save(file, "JPEG", quality=_QUALITY_SENT)
        return file.getvalue()

    def _count(self) -> int:
        with _as_no_picture():
            count = getattr(self._image, "n_frames", 1) if self._image.format in _PAGED else 1
        return min(count, _MOST_FRAMES)

    def _check(self) -> None:
        w, h = self._image.size
        if w * h > self._most:
            raise TooManyPixelsError(
                f"{w:,} x {h:,} pixels; [ocr] max_megapixels is {self._most // 1_000_000}"
            )

    def _exif(self) -> Exif:
        import PIL.Image

        with suppress(NoPictureError), _as_no_picture():
            return self._image.getexif()
        return PIL.Image.Exif()  # what a damaged file says of itself, it says not at all

    def _iptc(self) -> dict[tuple[int, int], bytes | list[bytes]] | None:
        from PIL.ImageFile import ImageFile
        from PIL.IptcImagePlugin import getiptcinfo

        with suppress(NoPictureError), _as_no_picture():
            return getiptcinfo(self._image) if isinstance(self._image, ImageFile) else None
        return None

    def _frame(self, mode: str = "L") -> Frame:
        from PIL import ImageOps

        w, h = self._image.size
        if w * h > _ENOUGH_PIXELS:
            ratio = (_ENOUGH_PIXELS / (w * h)) ** 0.5
            self._image.draft(mode, (round(w * ratio), round(h * ratio)))
        image = _plain(ImageOps.exif_transpose(self._image), mode)
        shown = (h, w) if self._exif().get(_ORIENTATION) in _SIDEWAYS else (w, h)
        if image.width * image.height > _ENOUGH_PIXELS:
            ratio = (_ENOUGH_PIXELS / (image.width * image.height)) ** 0.5
            image = image.resize((round(image.width * ratio), round(image.height * ratio)))
        scale = shown[0] / image.width
        dpi = _dpi(self._image)
        return Frame(image, scale, dpi / scale if dpi else None)


def open_picture(data: bytes, megapixels: int) -> Picture:
    """Read the header; raise ``NoPictureError`` or ``TooManyPixelsError``."""
    from PIL import Image

    _register_heif()
    Image.MAX_IMAGE_PIXELS = None  # what is too large is said by us, before anything is decoded
    with _as_no_picture():
        return Picture(Image.open(BytesIO(data)), megapixels)


def _register_heif() -> None:
    from pi_heif import register_heif_opener
    from PIL import Image

    if "HEIF" not in Image.OPEN:
        register_heif_opener()


@contextmanager
def _as_no_picture() -> Iterator[None]:
    """Turn whatever a decoder raises into ``NoPictureError``: damaged files raise anything."""
    try:
        yield
    except (NoPictureError, TooManyPixelsError, MemoryError):
        raise
    except Exception as error:
        why = str(error).split("<_io")[0].strip(" '") or type(error).__name__
        raise NoPictureError(f"it cannot be decoded: {why}") from error


def _plain(image: Image, mode: str) -> Image:
    """Return *image* in tones of grey (``L``) or in colour (``RGB``), on white."""
    import PIL.Image

    if image.mode.startswith("I") or image.mode == "F":
        wide = image.convert("F")
        low, high = cast("tuple[float, float]", wide.getextrema())
        by = 255 / ((high - low) or 1)
        return wide.point(lambda value: value * by - low * by).convert("L").convert(mode)
    if image.mode in _CLEAR or "transparency" in image.info:
        clear = image.convert("RGBA")
        white = PIL.Image.new("RGBA", clear.size, "white")
        return PIL.Image.alpha_composite(white, clear).convert(mode)
    return image.convert(mode)


def _dpi(image: Image) -> float | None:
    """Return the dots per inch that the file gives, where one can believe them."""
    with suppress(TypeError, ValueError, IndexError, OverflowError, struct.error):
        dpi = float(image.info.get("dpi", (0,))[0])
        return dpi if 36 < dpi < 4800 else None  # noqa: PLR2004 - less or more is a default
    return None


def _degrees(parts: object) -> float:
    degrees, minutes, seconds = (float(part) for part in parts)  # type: ignore[attr-defined]
    return degrees + minutes / 60 + seconds / 3600


def _word(value: object) -> str:
    return " ".join(_UNPRINTABLE.sub(" ", str(value or "")).split())[:_LONGEST_WORD]
