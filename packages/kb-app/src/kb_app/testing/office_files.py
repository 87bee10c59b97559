"""Files of office programs for tests, as small as they can be, made of what is in them."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Iterable, Mapping, Sequence

__all__ = ["archive", "docx", "flat_odf", "odf", "pptx", "relations", "xls", "xlsb", "xlsx"]

_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006"
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_SPACES = " ".join(
    f'xmlns:{prefix}="{uri}"'
    for prefix, uri in {
        "w": _WORD,
        "r": f"{_OFFICE}/relationships",
        "m": f"{_OFFICE}/math",
        "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
        "wp": "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing",
        "pic": "http://schemas.openxmlformats.org/drawingml/2006/picture",
        "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
        "p": "http://schemas.openxmlformats.org/presentationml/2006/main",
        "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
        "c": "http://schemas.openxmlformats.org/drawingml/2006/chart",
        "dgm": "http://schemas.openxmlformats.org/drawingml/2006/diagram",
        "v": "urn:schemas-microsoft-com:vml",
    }.items()
)


def archive(parts: Mapping[str, str | bytes]) -> bytes:
    """Return a zip archive of *parts*, by their names."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, part in parts.items():
            made.writestr(name, part)
    return out.getvalue()


def relations(*targets: tuple[str, str]) -> str:
    """Return relationships ``r0``, ``r1`` and on: the kind of each, and where it leads."""
    each = "".join(
        f'<Relationship Id="r{number}" Type="{_OFFICE}/relationships/{kind}" Target="{target}"'
        f"{_mode(target)}/>"
        for number, (kind, target) in enumerate(targets)
    )
    return f'{_HEAD}<Relationships xmlns="{_PACKAGE}/relationships">{each}</Relationships>'


def docx(
    body: str, *, styles: str = "", more: Sequence[tuple[str, str]] = (), core: str = ""
) -> bytes:
    """Return a text: *body* is its WordprocessingML, *styles* that of its styles.

    *more* are further parts, by what they are, such as ``footnotes`` or ``header``; ``r0`` is
    the styles, ``r1`` a link to ``https://example.org/``, and they come after these.
    """
    roots = {"header": "hdr", "footer": "ftr"}
    parts = {
        "_rels/.rels": relations(
            ("officeDocument", "/word/document.xml"), ("metadata/core-properties", "core.xml")
        ),
        "word/document.xml": _word("document", f"<w:body>{body}</w:body>"),
        "word/styles.xml": _word("styles", styles),
        "word/_rels/document.xml.rels": relations(
            ("styles", "styles.xml"),
            ("hyperlink", "https://example.org/"),
            *((kind, f"part{number}.xml") for number, (kind, _) in enumerate(more)),
        ),
        "core.xml": _core(core),
    }
    for number, (kind, part) in enumerate(more):
        parts[f"word/part{number}.xml"] = _word(roots.get(kind, kind), part)
    return archive(parts)


def pptx(slides: Sequence[tuple[str, Sequence[tuple[str, str]]]]) -> bytes:
    """Return slides: of each the shapes, and the parts that belong to it, by what they are.

    A shape that begins with ``hidden`` hides its slide. The parts of a slide are its ``r0``,
    ``r1`` and on; author ``0`` of comments is Ann.
    """
    numbers = range(len(slides))
    ids = "".join(f'<p:sldId r:id="r{number}"/>' for number in numbers)
    parts = {
        "_rels/.rels": relations(("officeDocument", "ppt/presentation.xml")),
        "ppt/presentation.xml": _show("presentation", f"<p:sldIdLst>{ids}</p:sldIdLst>"),
        "ppt/_rels/presentation.xml.rels": relations(
            *(("slide", f"s{number}.xml") for number in numbers), ("commentAuthors", "authors.xml")
        ),
        "ppt/authors.xml": _show("cmAuthorLst", '<p:cmAuthor id="0" name="Ann"/>'),
    }
    for number, (shapes, more) in enumerate(slides):
        tree = f"<p:cSld><p:spTree>{shapes.removeprefix('hidden')}</p:spTree></p:cSld>"
        mode = 'show="0"' if shapes.startswith("hidden") else ""
        parts[f"ppt/s{number}.xml"] = _show("sld", tree, mode)
        parts[f"ppt/_rels/s{number}.xml.rels"] = relations(
            *((kind, f"s{number}-{at}.xml") for at, (kind, _) in enumerate(more))
        )
        for at, (_, part) in enumerate(more):
            parts[f"ppt/s{number}-{at}.xml"] = part if part.startswith("<?") else _show("x", part)
    return archive(parts)


def xlsx(
    sheets: Mapping[str, str], *, styles: str = "", strings: str = "", book: str = ""
) -> bytes:
    """Return a book: of each sheet its rows, and which cells of them are one behind these.

    A name that begins with ``hidden`` hides its sheet.

    *styles* and *strings* are those of all sheets, *book* what the workbook says of itself.
    """
    names = "".join(
        f'<sheet name="{name}" r:id="r{number}"{_hidden(name)}/>'
        for number, name in enumerate(sheets)
    )
    targets = [("worksheet", f"sheet{number}.xml") for number in range(len(sheets))]
    parts = {
        "_rels/.rels": relations(("officeDocument", "xl/workbook.xml")),
        "xl/workbook.xml": _sheet("workbook", f"{book}<sheets>{names}</sheets>"),
        "xl/_rels/workbook.xml.rels": relations(
            *targets, ("styles", "styles.xml"), ("sharedStrings", "strings.xml")
        ),
        "xl/styles.xml": _sheet("styleSheet", styles),
        "xl/strings.xml": _sheet("sst", strings),
    }
    for number, rows in enumerate(sheets.values()):
        cells, _, merged = rows.partition("<mergeCells>")
        behind = f"<mergeCells>{merged}" if merged else ""
        inside = f"<sheetData>{cells}</sheetData>{behind}"
        parts[f"xl/sheet{number}.xml"] = _sheet("worksheet", inside)
    return archive(parts)


def odf(
    kind: str,
    inside: str,
    *,
    styles: str = "",
    margins: str = "",
    meta: str = "",
    objects: Mapping[str, str] | None = None,
) -> bytes:
    """Return an OpenDocument file: ``text``, ``spreadsheet`` or ``presentation``.

    *styles* are those of the content, *margins* its headers and footers, *meta* its metadata,
    *objects* what is within it as a file of its own: a formula, or what is in a chart.
    """
    held = {
        f"{name}/content.xml": each
        if each.startswith("<math")
        else _open(
            "document-content", f"<office:body><office:chart>{each}</office:chart></office:body>"
        )
        for name, each in (objects or {}).items()
    }
    body = f"<office:body><office:{kind}>{inside}</office:{kind}></office:body>"
    content = f"<office:automatic-styles>{styles}</office:automatic-styles>{body}"
    master = f"<office:master-styles><style:master-page>{margins}</style:master-page>"
    return archive(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{kind}",
            "content.xml": _open("document-content", content),
            "styles.xml": _open("document-styles", f"{master}</office:master-styles>"),
            "meta.xml": _open("document-meta", f"<office:meta>{meta}</office:meta>"),
            **held,
        }
    )


def flat_odf(
    kind: str,
    inside: str,
    *,
    styles: str = "",
    margins: str = "",
    meta: str = "",
) -> bytes:
    """Return an OpenDocument file that is one XML, of the same as ``odf``."""
    master = f"<office:master-styles><style:master-page>{margins}</style:master-page>"
    parts = (
        f"<office:meta>{meta}</office:meta>",
        f"<office:automatic-styles>{styles}</office:automatic-styles>",
        f"{master}</office:master-styles>",
        f"<office:body><office:{kind}>{inside}</office:{kind}></office:body>",
    )
    return _open("document", "".join(parts)).encode()


def _open(name: str, inside: str) -> str:
    spaces = " ".join(
        f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{prefix}:1.0"'
        for prefix in ("office", "style", "text", "table", "draw", "presentation", "meta", "chart")
    )
    return (
        f'{_HEAD}<office:{name} {spaces} xmlns:dc="http://purl.org/dc/elements/1.1/"'
        f' xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"'
        f' xmlns:xlink="http://www.w3.org/1999/xlink">{inside}</office:{name}>'
    )


def xls(
    sheets: Mapping[str, Sequence[Sequence[str | float]]], codes: Mapping[float, str] | None = None
) -> bytes:
    """Return a book of before 2007, as small as the format allows, by sheet and row.

    *codes* are the formats of some numbers.
    """
    codes = codes or {}
    bodies = [_old_sheet(rows, list(codes)) for rows in sheets.values()]
    styles = _old_styles(codes.values())
    at, places = len(_old_book(sheets, [0] * len(bodies), styles)), list[int]()
    for body in bodies:
        places.append(at)
        at += len(body)
    return _compound("Workbook", _old_book(sheets, places, styles) + b"".join(bodies))


def xlsb(sheets: Mapping[str, Sequence[Sequence[str | float]]]) -> bytes:
    """Return a binary book of 2007 and later ([MS-XLSB]), by sheet and row."""
    book = _part(131) + _part(143)
    for number, name in enumerate(sheets):
        head = struct.pack("<II", name.startswith("hidden"), number + 1)
        book += _part(156, head + _wide(f"r{number}") + _wide(name))
    targets = [("worksheet", f"worksheets/{number}.bin") for number in range(len(sheets))]
    parts: dict[str, str | bytes] = {
        "_rels/.rels": relations(("officeDocument", "xl/workbook.bin")),
        "xl/workbook.bin": book + _part(144) + _part(132),
        "xl/_rels/workbook.bin.rels": relations(*targets),
    }
    for number, rows in enumerate(sheets.values()):
        parts[f"xl/worksheets/{number}.bin"] = _binary_sheet(rows)
    return archive(parts)


def _part(kind: int, data: bytes = b"") -> bytes:
    """Return a record: its kind and size are numbers of seven bits a byte, the lowest first."""
    number = bytes([kind]) if kind < 128 else bytes([kind & 127 | 128, kind >> 7])
    size = bytes([len(data) & 127 | 128, len(data) >> 7]) if len(data) > 127 else bytes([len(data)])
    return number + size + data


def _wide(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def _binary_sheet(rows: Sequence[Sequence[str | float]]) -> bytes:
    widest = max(map(len, rows), default=0)
    made = _part(129) + _part(148, struct.pack("<4I", 0, len(rows), 0, widest)) + _part(145)
    for row, values in enumerate(rows):
        made += _part(0, struct.pack("<I", row) + bytes(21))
        for column, value in enumerate(values):
            where = struct.pack("<II", column, 0)
            if isinstance(value, str):
                made += _part(6, where + _wide(value))
            else:
                made += _part(5, where + struct.pack("<d", value))
    return made + _part(146) + _part(130)


def _record(kind: int, data: bytes = b"") -> bytes:
    return struct.pack("<HH", kind, len(data)) + data


def _old_styles(codes: Iterable[str]) -> bytes:
    """Return the formats of cells, and a style for each behind that of plain ones."""
    formats, styles = b"", _record(0xE0, bytes(20)) if codes else b""
    for number, code in enumerate(codes, 164):
        text = struct.pack("<HHB", number, len(code), 1) + code.encode("utf-16-le")
        formats += _record(0x41E, text)
        styles += _record(0xE0, struct.pack("<HH", 0, number) + bytes(16))
    return formats + styles


def _old_book(names: Iterable[str], places: Sequence[int], styles: bytes) -> bytes:
    made = _record(0x809, struct.pack("<HHHHII", 0x600, 5, 0, 0, 0, 0)) + styles
    for name, place in zip(names, places, strict=True):
        head = struct.pack("<IBBBB", place, name.startswith("hidden"), 0, len(name), 1)
        made += _record(0x85, head + name.encode("utf-16-le"))
    return made + _record(0x0A)


def _old_sheet(rows: Sequence[Sequence[str | float]], styled: Sequence[float]) -> bytes:
    made = _record(0x809, struct.pack("<HHHHII", 0x600, 0x10, 0, 0, 0, 0))
    for row, values in enumerate(rows):
        for column, value in enumerate(values):
            style = 0 if isinstance(value, str) or value not in styled else styled.index(value) + 1
            where = struct.pack("<HHH", row, column, style)
            if isinstance(value, str):
                text = struct.pack("<HB", len(value), 1) + value.encode("utf-16-le")
                made += _record(0x204, where + text)
            else:
                made += _record(0x203, where + struct.pack("<d", value))
    return made + _record(0x0A)


def _compound(name: str, data: bytes) -> bytes:
    """Return a compound file with one stream: a header, a table of sectors, a folder, *data*."""
    end, free, table = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD
    data = data.ljust(max(4096, -(-len(data) // 512) * 512), b"\0")
    count = len(data) // 512
    chain = [table, end, *range(3, count + 2), end]
    chain += [free] * (128 - len(chain))
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16)
    head += struct.pack("<HHHHH6x", 0x3E, 3, 0xFFFE, 9, 6)
    head += struct.pack("<9I", 0, 1, 1, 0, 4096, end, 0, end, 0) + struct.pack("<I", 0)
    folder = _entry("Root Entry", (5, 1, end, 0)) + _entry(name, (2, free, 2, len(data)))
    sectors = struct.pack("<128I", *chain) + folder.ljust(512, b"\0") + data
    return head.ljust(512, b"\xff") + sectors


def _entry(name: str, about: tuple[int, int, int, int]) -> bytes:
    """Return an entry of a folder; *about* are its kind, its child, its start and its size."""
    kind, child, start, size = about
    text = name.encode("utf-16-le") + b"\0\0"
    none = 0xFFFFFFFF
    made = text.ljust(64, b"\0") + struct.pack("<HBBIII", len(text), kind, 1, none, none, child)
    return made + bytes(36) + struct.pack("<IQ", start, size)


def _word(name: str, inside: str) -> str:
    return f"{_HEAD}<w:{name} {_SPACES}>{inside}</w:{name}>"


def _show(name: str, inside: str, mode: str = "") -> str:
    return f"{_HEAD}<p:{name} {_SPACES} {mode}>{inside}</p:{name}>"


def _sheet(name: str, inside: str) -> str:
    return f'{_HEAD}<{name} xmlns="{_SHEET}" xmlns:r="{_OFFICE}/relationships">{inside}</{name}>'


def _core(inside: str) -> str:
    return (
        f'{_HEAD}<cp:coreProperties xmlns:cp="{_PACKAGE}/metadata/core-properties"'
        ' xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/">'
        f"{inside}</cp:coreProperties>"
    )


def _hidden(name: str) -> str:
    return ' state="hidden"' if name.startswith("hidden") else ""


def _mode(target: str) -> str:
    return ' TargetMode="External"' if "://" in target else ""
