"""Pictures: what is read in them, where it stands, and what they say of themselves."""

from __future__ import annotations

import gzip
import os
import random
import struct
import tracemalloc
import zlib
from base64 import b64decode
from collections.abc import Sequence
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from socket import create_server, socket
from threading import Thread

import pytest
from hypothesis import given, settings, strategies as st

pytest.importorskip("tesserocr")
pytest.importorskip("pi_heif")

from PIL import Image, ImageDraw, ImageFont
from PIL.Image import Transpose
from PIL.PngImagePlugin import PngInfo

from kb_app._costly import UnkeptResults
from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.making import ocr
from kb_app._ingest.making.pictures import open_picture
from kb_app._media import MEDIA, parser_for
from kb_app._trained import SCRIPTS, find_trained
from kb_app.testing.model_server import ModelServer, Reply
from kb_core.citations import CaptionSpan, LineSpan, PageSpan, RegionSpan
from kb_core.documents import ParsedDocument, SourceFile
from kb_core.errors import ModelUnreachable
from kb_core.ingest import SkipReason
from kb_core.media import Media

ROOT = Path(__file__).resolve().parents[3]
SHARED = ROOT.parent / "shared" / "data"
KOREAN = ROOT / ".cache" / "trained-data"
RECEIPT = ["Kebab shop receipt", "Total: 12.50 EUR"]


def picture(
    lines: Sequence[str], size: tuple[int, int] = (640, 200), ink: str = "black"
) -> Image.Image:
    """Return a picture with *lines* of text in it."""
    image = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(image)
    for number, line in enumerate(lines):
        draw.text((40, 30 + 60 * number), line, fill="black", font=ImageFont.load_default(36))
    return image


def saved(image: Image.Image, kind: str = "PNG", **how: object) -> bytes:
    file = BytesIO()
    image.save(file, kind, **how)
    return file.getvalue()


def parsed(data: bytes, *phases: str, path: str = "a.png", **options: object) -> ParsedDocument:
    file = SourceFile(source_id="s", path=path, media=Media.IMAGE, options=options)
    return parser_for(Media.IMAGE, None, phases)(FileContent(data), file)


def read(data: bytes, path: str = "a.png", **options: object) -> ParsedDocument:
    return parsed(data, "ocr", path=path, **options)


def regions(document: ParsedDocument) -> list[RegionSpan]:
    return [place.span for place in document.places if isinstance(place.span, RegionSpan)]


def test_a_picture_waits_for_what_is_in_it_and_says_what_it_knows() -> None:
    exif = Image.Exif()
    exif[0x010F], exif[0x0110] = "KebabCam", "KebabCam One"
    exif.get_ifd(0x8769)[0x9003] = "2026:11:21 12:34:56"
    exif.get_ifd(0x8769)[0x9011] = "+09:00"
    document = parsed(saved(picture(RECEIPT), "JPEG", exif=exif), path="shots/a.jpg")

    assert (document.text, document.waits_for) == ("", "ocr")
    assert document.metadata.created == datetime(2026, 11, 21, 3, 34, 56, tzinfo=UTC)
    assert document.metadata.user == {"camera": "KebabCam One"}
    assert document.metadata.title == "a"


def test_each_line_is_cited_by_its_rectangle_in_the_picture() -> None:
    document = read(saved(picture(RECEIPT)))

    assert document.text.split("\n") == RECEIPT
    first, second = regions(document)
    assert 30 <= first.x <= 50
    assert 30 <= first.y <= 45
    assert 90 <= second.y <= 105
    assert abs(first.x + first.w - 350) < 40
    assert document.waits_for is None
    (block,) = document.blocks
    assert document.text[block.start : block.end] == document.text


@pytest.mark.parametrize(
    "turn", [None, Transpose.ROTATE_90, Transpose.ROTATE_180, Transpose.ROTATE_270]
)
def test_a_page_that_lies_on_its_side_or_head_is_read(turn: Transpose | None) -> None:
    lines = ["The quick brown dog jumped", "over the lazy fox again."]
    image = picture(lines)
    shown = image.transpose(turn) if turn is not None else image
    document = read(saved(shown))

    assert " ".join(document.text.split()) == " ".join(lines)
    for region in regions(document):
        cut = shown.crop((region.x, region.y, region.x + region.w, region.y + region.h))
        assert cut.convert("1").getextrema() == (0, 255), "there is ink in the rectangle"
        assert region.x + region.w <= shown.width
        assert region.y + region.h <= shown.height


def test_a_picture_that_its_file_turns_is_cited_as_it_is_displayed() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    upright = picture(RECEIPT)
    stored = upright.transpose(Transpose.ROTATE_90)
    document = read(saved(stored, "PNG", exif=exif))

    assert document.text.split("\n") == RECEIPT
    assert regions(document) == regions(read(saved(upright)))


@pytest.mark.parametrize("kind", ["GIF", "BMP", "WEBP", "TIFF", "JPEG", "JPEG2000"])
def test_every_usual_kind_of_picture_is_read(kind: str) -> None:
    assert read(saved(picture(RECEIPT), kind)).text.split("\n") == RECEIPT


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "CMYK", "I;16"])
def test_every_mode_of_colour_is_read(mode: str) -> None:
    image, kind = picture(RECEIPT), "TIFF" if mode == "CMYK" else "PNG"
    if mode == "RGBA":
        image = image.convert("RGBA")
        image.putalpha(image.convert("L").point(lambda value: 255 - value))
    elif mode == "I;16":
        grey = image.convert("L").tobytes()
        image = Image.frombytes("I;16", image.size, b"".join(b"\0" + bytes([v // 2]) for v in grey))
    else:
        image = image.convert(mode, dither=Image.Dither.NONE)

    assert read(saved(image, kind)).text.split("\n") == RECEIPT


def test_of_a_picture_with_pages_the_page_is_cited_and_its_rectangle_in_points() -> None:
    pages = [picture(["The first page here"]), picture([]), picture(["The second text here"])]
    file = BytesIO()
    pages[0].save(file, "TIFF", save_all=True, append_images=pages[1:], dpi=(144, 144))
    document = read(file.getvalue())

    assert document.text == "The first page here\n\nThe second text here"
    first, last = (place.span for place in document.places)
    assert isinstance(first, PageSpan)
    assert isinstance(last, PageSpan)
    assert (first.page, last.page) == (1, 3)
    assert first.bbox is not None
    assert 15 <= first.bbox[0] <= 25
    assert document.warnings == ("page 2: no readable text",)


def test_of_a_film_the_first_frame_is_read() -> None:
    frames = [picture(["The first frame here"]), picture(["Another frame here"])]
    data = saved(frames[0], "GIF", save_all=True, append_images=frames[1:])

    assert read(data).text == "The first frame here"


def test_what_a_lines_end_cut_is_one_word_again() -> None:
    document = read(saved(picture(["He said that mar-", "malade is made of fruit"], (640, 160))))

    assert "marmalade is made" in document.text


def test_a_picture_without_text_makes_no_document() -> None:
    noise = Image.frombytes("L", (300, 200), random.Random(7).randbytes(60_000))
    for image in (Image.new("RGB", (300, 200), "white"), noise):
        document = read(saved(image))
        assert document.refused is not None
        reason, detail = document.refused
        assert reason == SkipReason.EMPTY
        assert "no readable text in the picture" in detail


def test_pixels_are_counted_before_anything_is_decoded() -> None:
    small = saved(Image.new("1", (8, 8)))
    header = small[12:16] + (35_000).to_bytes(4, "big") * 2 + small[24:29]
    bomb = small[:12] + header + zlib.crc32(header).to_bytes(4, "big") + small[33:]
    document = parsed(bomb, max_megapixels=50)

    assert document.refused == (
        SkipReason.TOO_LARGE,
        "35,000 x 35,000 pixels; [ocr] max_megapixels is 50",
    )


def test_a_large_picture_is_read_smaller_and_cited_as_it_is() -> None:
    image = picture(RECEIPT).resize((6400, 2000))
    document = read(saved(image))

    assert document.text.split("\n") == RECEIPT
    assert 300 <= regions(document)[0].x <= 500


def test_small_letters_are_looked_at_larger_and_cited_where_they_are() -> None:
    image = Image.new("L", (400, 60), 245)
    said = ["Letters on screens are twelve pixels high", "and are read better twice as large"]
    for number, line in enumerate(said):
        font = ImageFont.load_default(12)
        ImageDraw.Draw(image).text((20, 10 + 20 * number), line, fill=20, font=font)
    document = read(saved(image))

    assert document.text.split("\n") == said
    for number, region in enumerate(regions(document)):
        assert abs(region.x - 20) <= 2
        assert abs(region.y - (10 + 20 * number)) <= 4
        assert 7 <= region.h <= 14


def test_where_it_was_taken_is_kept_only_if_that_is_asked_for() -> None:
    exif = Image.Exif()
    exif.get_ifd(0x8825).update({1: "S", 2: (33.0, 51.0, 24.5), 3: "E", 4: (151.0, 12.0, 36.0)})
    data = saved(picture(RECEIPT), "JPEG", exif=exif)

    assert "place" not in parsed(data).metadata.user
    assert parsed(data, place=True).metadata.user == {"place": "-33.85681,151.21000"}


@settings(max_examples=40, deadline=None)
@given(data=st.data(), kind=st.sampled_from(["PNG", "TIFF", "JPEG", "GIF", "WEBP"]))
def test_whatever_is_damaged_there_is_a_document_or_one_reason(
    data: st.DataObject, kind: str
) -> None:
    whole = bytearray(saved(picture(["x"], (60, 40)), kind))
    for at in data.draw(st.lists(st.integers(0, len(whole) - 1), max_size=4)):
        whole[at] ^= data.draw(st.integers(1, 255))
    cut = bytes(whole[: data.draw(st.integers(0, len(whole)))])
    document = read(cut, max_megapixels=1)

    assert document.refused or document.text
    if document.refused:
        reason, detail = document.refused
        assert reason in {SkipReason.UNREADABLE, SkipReason.TOO_LARGE, SkipReason.EMPTY}
        assert detail


def test_what_was_read_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    data, kept = saved(picture(RECEIPT)), UnkeptResults()
    content = FileContent(data)
    monkeypatch.setattr(FileContent, "results", lambda *_: kept)
    file = SourceFile(source_id="s", path="a.png", media=Media.IMAGE)
    reader = parser_for(Media.IMAGE, None, ("ocr",))
    first = reader(content, file)
    monkeypatch.delattr(ocr, "_recognised")

    assert reader(content, file) == first


# What is written about it

_PACKET = """<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description xmlns:dc="http://purl.org/dc/elements/1.1/"
 xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/"
 xmlns:ext="http://iptc.org/std/Iptc4xmpExt/2008-02-29/"
 xmlns:mwg="http://www.metadataworkinggroup.com/schemas/regions/"
 photoshop:Headline="The ferry is late" photoshop:City="Busan">
<dc:title><rdf:Alt><rdf:li xml:lang="x-default">Waiting at the pier</rdf:li></rdf:Alt></dc:title>
<dc:description><rdf:Alt><rdf:li xml:lang="x-default">We waited\nfor two hours.</rdf:li></rdf:Alt>
</dc:description>
<dc:subject><rdf:Bag><rdf:li>harbour</rdf:li><rdf:li>Black Sea</rdf:li></rdf:Bag></dc:subject>
<ext:PersonInImage><rdf:Bag><rdf:li>Ann Lee</rdf:li></rdf:Bag></ext:PersonInImage>
<mwg:Regions rdf:parseType="Resource"><mwg:RegionList><rdf:Bag>
<rdf:li><rdf:Description mwg:Name="ann lee" mwg:Type="Face"/></rdf:li>
<rdf:li rdf:parseType="Resource"><mwg:Name>Rex</mwg:Name></rdf:li>
</rdf:Bag></mwg:RegionList></mwg:Regions>
</rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>"""
_TOLD = (
    "Waiting at the pier\nThe ferry is late\nWe waited\nfor two hours.\nShows: Ann Lee, Rex\n"
    "Keywords: harbour, Black Sea"
)
BLANK = Image.new("RGB", (60, 40), "white")


def with_iptc(*datasets: tuple[int, bytes]) -> bytes:
    """Return a JPEG file with data sets of the second record of IPTC."""
    told = b"".join(
        b"\x1c\x02" + bytes([number]) + len(value).to_bytes(2, "big") + value
        for number, value in datasets
    )
    block = b"8BIM\x04\x04\0\0" + len(told).to_bytes(4, "big") + told + b"\0" * (len(told) % 2)
    segment = b"Photoshop 3.0\0" + block
    data = saved(BLANK, "JPEG")
    return data[:2] + b"\xff\xed" + (len(segment) + 2).to_bytes(2, "big") + segment + data[2:]


def with_exif(kind: str = "JPEG", **tags: object) -> bytes:
    exif = Image.Exif()
    for tag, value in tags.items():
        number = int(tag.removeprefix("t"), 16)
        (exif.get_ifd(0x8769) if number == 0x9286 else exif)[number] = value
    return saved(BLANK, kind, exif=exif)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_what_people_wrote_into_a_picture_is_its_text_and_cited_as_its_caption(kind: str) -> None:
    packet = _PACKET.encode()
    how: dict[str, object] = {"xmp": packet}
    if kind == "PNG":
        chunks = PngInfo()
        chunks.add_itxt("XML:com.adobe.xmp", _PACKET)
        how = {"pnginfo": chunks}
    elif kind == "TIFF":
        how = {"tiffinfo": {700: packet}}

    document = parsed(saved(BLANK, kind, **how), path="IMG_1.x")

    assert document.text == _TOLD
    assert [place.span for place in document.places] == [CaptionSpan()]
    assert document.metadata.title == "Waiting at the pier"
    assert document.metadata.tags == ("harbour", "Black Sea")
    assert document.waits_for == "ocr"


def test_what_is_written_about_a_picture_comes_before_what_is_seen_in_it() -> None:
    document = read(saved(picture(RECEIPT), "JPEG", xmp=_PACKET.encode()), place=True)

    told = _TOLD.replace("\nKeywords", "\nPlace: Busan\nKeywords")
    assert document.text == "\n".join([told, "", *RECEIPT])
    assert document.places[0].span == CaptionSpan()
    assert len(regions(document)) == 2
    assert document.waits_for is None


def test_a_picture_that_only_its_texts_say_anything_of_is_a_document() -> None:
    data = saved(BLANK, "JPEG", xmp=_PACKET.encode())

    document = read(data)
    broken = read(data[:-10])

    assert (document.text, document.refused) == (_TOLD, None)
    assert broken.text == _TOLD
    assert broken.warnings[0].startswith("it cannot be decoded")


@pytest.mark.parametrize(
    ("data", "text", "title", "tags"),
    [
        (
            with_iptc((5, b"Harvest"), (25, b"corn"), (25, b"field"), (120, "Grüße".encode())),
            "Harvest\nGrüße\nKeywords: corn, field",
            "Harvest",
            ("corn", "field"),
        ),
        (with_iptc((120, "제주도 바다에서".encode("cp949"))), "제주도 바다에서", "a", ()),
        (
            with_exif(t9C9B="Der Garten\0".encode("utf-16-le"), t9C9E="a; b".encode("utf-16-le")),
            "Der Garten\nKeywords: a, b",
            "Der Garten",
            ("a", "b"),
        ),
        (with_exif(t010E="The red door"), "The red door", "a", ()),
        (with_exif(t010E="Die Tür".encode()), "Die Tür", "a", ()),
        (with_exif(t9286=b"ASCII\0\0\0By the lake"), "By the lake", "a", ()),
        (with_exif(t9286=b"UNICODE\0" + "Am See".encode("utf-16-be")), "Am See", "a", ()),
        (with_exif(t9286=b"UNICODE\0" + "Am See".encode("utf-16-le")), "Am See", "a", ()),
        (with_exif("TIFF", t010E="The red door"), "The red door", "a", ()),
    ],
)
def test_other_ways_to_keep_texts_are_read(
    data: bytes, text: str, title: str, tags: tuple[str, ...]
) -> None:
    document = parsed(data)

    assert document.text == text
    assert (document.metadata.title, document.metadata.tags) == (title, tags)


def test_texts_in_chunks_of_a_png_are_read() -> None:
    chunks = PngInfo()
    for key, value in (("Title", "Plan"), ("Description", "Two rooms"), ("Software", "Paint 1")):
        chunks.add_text(key, value)

    document = parsed(saved(BLANK, pnginfo=chunks))

    assert (document.text, document.metadata.title) == ("Plan\nTwo rooms", "Plan")


def test_of_several_descriptions_the_first_that_somebody_wrote_counts() -> None:
    packet = _PACKET.replace("We waited\nfor two hours.", "OLYMPUS DIGITAL CAMERA")
    exif = Image.Exif()
    exif[0x010E], exif[0x9C9B] = "We waited long.", "Another title".encode("utf-16-le")

    document = parsed(saved(BLANK, "JPEG", xmp=packet.encode(), exif=exif))

    assert document.text == _TOLD.replace("We waited\nfor two hours.", "We waited long.")


@pytest.mark.parametrize(
    "text",
    [
        "OLYMPUS DIGITAL CAMERA         ",
        "KODAK Digital Still Camera",
        "SONY DSC",
        "KONICA MINOLTA DIGITAL CAMERA",
        "Exif_JPEG_PICTURE",
        "Created with The GIMP",
        "Processed with VSCO with a6 preset",
        "KebabCam One",
        "DSC00012.JPG",
        "DCIM\\100MEDIA\\DJI_0001.JPG",
        "my holiday.jpg",
        "My Holiday",
        "cof_hdr",
        "Screenshot",
        '{"source": "editor"}',
        "7d0c1a2f" * 8,
        "- - -",
    ],
)
def test_what_nobody_wrote_is_no_text(text: str) -> None:
    data = with_exif(t010E=text, t0110="KebabCam One")

    assert parsed(data, path="trip/my holiday.jpg").text == ""


@pytest.mark.parametrize(
    "text", ["Ann", "My old digital camera", "Mai2023", "[Ann] and [Bob]", "A screenshot"]
)
def test_short_texts_that_somebody_wrote_are_texts(text: str) -> None:
    assert parsed(with_exif(t010E=text)).text == text


def test_texts_that_are_made_to_hurt_cost_nothing_else() -> None:
    entity = '<!DOCTYPE x [<!ENTITY a "aaaa">]>'
    packets = [entity + _PACKET.partition("?>")[2], "<a>" * 100_000, _PACKET[:900], "\0\xff"]
    for packet in packets:
        xmp = packet.encode()[:60_000]
        document = parsed(saved(BLANK, "JPEG", xmp=xmp))
        assert document.refused is None
        assert "aaaa" not in document.text
    assert parsed(with_exif(t010E="1" * 19_000 + "x ")).text == ""


@pytest.mark.parametrize("tag", [0x010E, 0x02BC, 0x9C9B])
def test_a_number_where_a_text_belongs_is_none_and_takes_no_memory(tag: int) -> None:
    """As many zeros were made as it says, up to four gigabytes of them."""
    exif = b"Exif\0\0MM\0*" + struct.pack(">IHHHIII", 8, 1, tag, 4, 1, 30_000_000, 0)
    data = saved(BLANK, "JPEG", exif=exif)
    parsed(data)  # what it loads is loaded

    tracemalloc.start()
    document = parsed(data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert (document.text, document.refused) == ("", None)
    assert peak < 10_000_000


# The order of reading

VILLAGE = (
    "he people of the village had never seen a stranger before the winter when the railway came "
    "over the hills and brought them letters, coal, sugar and a great many questions that nobody "
    "could answer for years."
)


def test_a_large_first_letter_begins_the_first_word_of_its_paragraph() -> None:
    image = Image.new("L", (960, 420), 255)
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(40)
    draw.text((60, 40), "T", fill=0, font=ImageFont.load_default(110))
    line, number = "", 0
    for word in [*VILLAGE.split(), ""]:
        indent = 145 if number < 2 else 60
        longer = f"{line} {word}".strip()
        if not word or draw.textlength(longer, font) > 880 - indent:
            draw.text((indent, 60 + 54 * number), line, fill=0, font=font)
            longer, number = word, number + 1
        line = longer
    document = read(saved(image))

    assert " ".join(document.text.split()) == f"T{VILLAGE}"
    first = regions(document)[0]
    assert first.x <= 65
    assert first.h >= 80


# Languages


def test_trained_data_is_looked_for_in_every_folder_and_the_first_has_it(tmp_path: Path) -> None:
    own, prefix = tmp_path / "own", tmp_path / "prefix"
    for folder, langs in ((own, ("kor", "eng")), (prefix / "tessdata", ("kor", "deu", "osd"))):
        folder.mkdir(parents=True)
        for lang in langs:
            (folder / f"{lang}.traineddata").write_bytes(folder.name.encode())

    found = {each.lang: each for each in find_trained([own], {"TESSDATA_PREFIX": str(prefix)})}

    assert Path(found["kor"].folder) == Path(found["eng"].folder) == own
    assert Path(found["deu"].folder) == prefix / "tessdata"
    assert (found["kor"].version, found["osd"].is_language) == ("kor-3", False)


def test_a_language_without_data_is_named_in_a_warning() -> None:
    document = read(saved(picture(RECEIPT)), languages=["xyz"])

    assert document.text.split("\n") == RECEIPT
    assert document.warnings == ("there is no trained data of xyz, which [ocr] languages names",)


def character_errors(said: str, truth: str) -> float:
    """Return the edits that make one text of the other, for each character of the truth."""
    said, truth = " ".join(said.split()), " ".join(truth.split())
    row = list(range(len(truth) + 1))
    for n, one in enumerate(said, 1):
        last, row[0] = row[0], n
        for m, other in enumerate(truth, 1):
            last, row[m] = row[m], min(row[m] + 1, row[m - 1] + 1, last + (one != other))
    return row[-1] / len(truth)


@pytest.mark.parametrize("name", ["ko_mixed28", "ko_myeongjo24"])
def test_korean_is_read_where_there_is_trained_data_of_it(name: str) -> None:
    file = SHARED / "formats" / "image" / f"{name}.png"
    if not file.exists() or not KOREAN.is_dir():
        pytest.skip("no pictures, or no trained data: run 'tools/dev trained-data'")
    document = read(file.read_bytes(), tessdata=[str(KOREAN)])

    truth = file.with_suffix(".txt").read_text("utf-8")
    assert character_errors(document.text, truth) <= 0.10
    assert document.metadata.lang == "ko"


def test_korean_without_its_data_is_doubted() -> None:
    file = SHARED / "formats" / "image" / "ko_myeongjo24.png"
    if not file.exists():
        pytest.skip("no pictures")
    document = read(file.read_bytes())

    told = " ".join(document.warnings) + str(document.refused)
    assert "another language needs its own ([ocr] tessdata)" in told
    if any(each.lang == SCRIPTS for each in find_trained([], os.environ)):
        assert "it looks like Korean" in told


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("receipt.heic", "Total: 12.50 EUR"),
        ("receipt-palette.png", "Kebab shop receipt 2026-11-21"),
        ("receipt-1bit.tif", "Total: 12.50 EUR"),
        ("receipt-exif-orientation6.jpg", "Kebab shop receipt 2026-11-21"),
        ("two-pages.tif", "Second page of the scan"),
        ("phototest-rotated-R.png", "This is a lot of 12 point text to test the"),
        ("eurotext.tif", "The (quick) [brown] {fox} jumps!"),
        ("two-columns.png", "until the left column ends.\n\nThe right column begins now"),
    ],
)
def test_the_samples_say_what_they_should(name: str, expected: str) -> None:
    file = SHARED / "formats" / "image" / name
    if not file.exists():
        pytest.skip("no samples")

    assert expected in read(file.read_bytes(), path=name).text


# Drawings

DRAWING = """<?xml version="1.0"?>
<svg xmlns="http://www.w3.org/2000/svg">
  <title>How a chunk is cut</title>
  <defs><text>not shown</text></defs>
  <style>text { fill: red }</style>
  <g><text x="1" y="2">Parser <tspan>to</tspan><tspan>chunker</tspan></text>
  <text>한국어
  라벨</text></g>
</svg>
"""


@pytest.mark.parametrize("pack", [str.encode, lambda text: gzip.compress(text.encode())])
def test_a_drawing_has_its_texts_in_it_and_needs_no_extra(
    pack: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert callable(pack)
    document = parsed(pack(DRAWING), path="a.svg")

    assert document.text == "How a chunk is cut\nParser to chunker\n한국어 라벨"
    lines = [place.span for place in document.places]
    assert lines == [LineSpan(3, 3), LineSpan(6, 6), LineSpan(7, 8)]
    assert document.waits_for is None
    row = MEDIA[Media.IMAGE]
    assert row.extra is not None
    monkeypatch.setattr(type(row.extra), "is_installed", False)
    assert row.missing_for("a.svg") is row.missing_for("B.SVGZ") is None
    assert row.missing_for("a.png") == row.extra


@pytest.mark.parametrize(
    ("drawing", "reason", "expected"),
    [
        (b"<svg><path d='M0 0'/></svg>", SkipReason.EMPTY, "no text in the drawing"),
        (b"<svg><text>cut off", SkipReason.UNREADABLE, "it is no SVG"),
        (
            b"<!DOCTYPE svg [<!ENTITY a 'aaaa'>]><svg><text>&a;</text></svg>",
            SkipReason.UNREADABLE,
            "it declares entities",
        ),
        (gzip.compress(b"<svg>" + b" " * 51_000_000), SkipReason.UNREADABLE, "more than 50 MB"),
    ],
)
def test_a_drawing_that_says_nothing_or_is_hostile(
    drawing: bytes, reason: SkipReason, expected: str
) -> None:
    document = parsed(drawing, path="a.svg")

    assert document.refused is not None
    assert document.refused[0] == reason
    assert expected in document.refused[1]


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_a_picture_that_is_cut_off_is_unreadable(kind: str) -> None:
    whole = saved(picture(RECEIPT), kind)
    document = read(whole[: len(whole) // 3])

    assert document.refused is not None
    reason, detail = document.refused
    assert reason == SkipReason.UNREADABLE
    assert detail.startswith("it cannot be decoded: ")


def test_a_picture_that_cannot_be_opened_says_why() -> None:
    document = parsed(b"\x89PNG\r\n\x1a\n")

    assert document.refused is not None
    assert document.refused[0] == SkipReason.UNREADABLE
    assert document.refused[1].startswith("it cannot be decoded: ")
    assert open_picture(saved(picture([])), 1).frames == 1


# Captions


def captioned(body: bytes, status: int = 200) -> ModelServer:
    return ModelServer(Reply(body=body, status=status, media="application/json"))


SAID = b'{"choices": [{"message": {"content": "A red barn\\n in the snow. "}}]}'


def asking(server: ModelServer) -> dict[str, str]:
    return {"caption_endpoint": f"{server.url}/v1", "caption_model": server.model}


def test_what_a_model_says_of_a_picture_stands_behind_its_text_and_says_who_wrote_it() -> None:
    with captioned(SAID) as server:
        document = read(saved(picture(RECEIPT)), **asking(server))
        (request,) = server.requests

    *_, text, caption = document.text.split("\n\n")
    assert "Total: 12.50 EUR" in text
    assert caption == "A red barn in the snow."
    assert document.places[-1].span == CaptionSpan("m")
    assert document.text[document.places[-1].start :] == caption
    assert request.path == "/v1/chat/completions"
    (image,) = [part for part in request.body["messages"][0]["content"] if "image_url" in part]
    sent = b64decode(image["image_url"]["url"].partition("base64,")[2])
    assert Image.open(BytesIO(sent)).size == (640, 200)


def test_a_picture_without_text_has_its_caption_alone() -> None:
    with captioned(SAID) as server:
        document = read(saved(picture([])), **asking(server))

    assert document.refused is None
    assert document.text == "A red barn in the snow."


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{}", 500),
        (b"no JSON", 200),
        (b"[]", 200),
        (b"[" * 100_000, 200),
        (b'{"choices": [{"message": {}}]}', 200),
    ],
)
def test_a_server_that_says_nothing_is_a_warning_and_an_error_where_there_is_nothing_else(
    body: bytes, status: int
) -> None:
    with captioned(body, status) as server:
        document = read(saved(picture(RECEIPT)), **asking(server))
        with pytest.raises(ModelUnreachable, match="gives no caption"):
            read(saved(picture([])), **asking(server))

    assert "Total: 12.50 EUR" in document.text
    assert any("gives no caption" in warning for warning in document.warnings)


@pytest.mark.parametrize(
    "answer",
    [
        b"\0\xff is no HTTP\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: " + b"x" * 70_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
    ],
    ids=["no HTTP", "a long header", "no chunks", "cut off"],
)
def test_a_server_that_does_not_speak_http_gives_no_caption(answer: bytes) -> None:
    with create_server(("127.0.0.1", 0)) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        server = Thread(target=answered_once, args=(listener, answer))
        server.start()
        with pytest.raises(ModelUnreachable, match=r"gives no caption: \S"):
            read(saved(picture([])), caption_endpoint=address, caption_model="m")
        server.join()


def answered_once(listener: socket, answer: bytes) -> None:
    connection, _ = listener.accept()
    asked = b""
    with connection:
        while not asked.endswith(b'"temperature": 0}'):
            asked += connection.recv(1 << 16)
        connection.sendall(answer)


@pytest.mark.parametrize("address", ["file:///etc/hostname", "localhost:8000", "http://a@b/v1"])
def test_what_is_no_address_of_a_server_is_asked_nothing(address: str) -> None:
    with pytest.raises(ModelUnreachable, match="no address"):
        read(saved(picture([])), caption_endpoint=address, caption_model="m")
