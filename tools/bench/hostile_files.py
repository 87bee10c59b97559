"""Files that are made to hurt a reader: bombs, nesting, endless lines, wrong sizes.

Each is made by a function that writes it, the same bytes every time, and is named by what is
hostile in it. Nothing here is dangerous to whoever copies or reads it as bytes.
"""

# ruff: noqa: PLW0108 - what a file is made of is made anew whenever it is written

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Callable, Iterator
from itertools import chain, repeat
from pathlib import Path
from struct import pack
from typing import cast

from kb_app.testing.compound_files import compound
from kb_app.testing.outlook_files import Values, message_tree, msg, packed_rtf
from kb_app.testing.word_files import doc_tree

__all__ = ["FILES", "Hostile"]

Hostile = tuple[str, Callable[[Path], object]]
"""The name of the file, and what writes it."""

_MB = 1_000_000
_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_WORDS = "the quick brown walrus counts oysters by moonlight and forgets them again "


def _text(parts: Iterator[str] | str) -> Callable[[Path], object]:
    """Return what writes a text, part by part: it may be larger than memory."""

    def write(path: Path) -> None:
        with path.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(parts if not isinstance(parts, str) else [parts])

    return write


def _repeated(part: str, size: int) -> Callable[[Path], object]:
    return lambda path: _text(repeat(part, max(1, size // len(part))))(path)


def _numbered(template: str, count: int) -> Callable[[Path], object]:
    return lambda path: _text(template.format(n) for n in range(count))(path)


def _headings(levels: int, count: int) -> Callable[[Path], object]:
    """Write *count* headings one below the other, down to *levels* and from the top again."""
    return lambda path: _text(
        f"{'#' * (1 + n % levels)} Heading {n} of many\n\nline\n\n" for n in range(count)
    )(path)


def _zipped(*members: tuple[str, bytes | Iterator[bytes]]) -> Callable[[Path], object]:
    """Write an archive; a member that comes in parts is packed part by part."""

    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in members:
                with archive.open(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), "w") as member:
                    for part in [data] if isinstance(data, bytes) else data:
                        member.write(part)

    return write


def _zeros(size: int) -> Iterator[bytes]:
    return repeat(bytes(_MB), size // _MB)


def _deflated(name: str, before: bytes, filling: bytes, times: int, after: bytes) -> bytes:
    """Return an archive of one member; what repeats is packed a megabyte at a time."""
    raw, crc, size = [], 0, 0
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    for part in chain([before], repeat(filling, times), [after]):
        crc, size = zlib.crc32(part, crc), size + len(part)
        raw.append(packer.compress(part))
    data = b"".join(raw) + packer.flush()
    called = name.encode()
    common = pack("<HHHHHIIIHH", 20, 0, 8, 0, 33, crc, len(data), size, len(called), 0)
    local = b"PK\3\4" + common + called + data
    central = b"PK\1\2" + pack("<H", 20) + common + pack("<HHHII", 0, 0, 0, 0, 0) + called
    end = b"PK\5\6" + pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local), 0)
    return local + central + end


def _types(part: str, kind: str) -> bytes:
    return (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        f'<Override PartName="/{part}" ContentType="application/vnd.openxmlformats-officedocument.'
        f'{kind}.main+xml"/></Types>'
    ).encode()


def _relations(*targets: tuple[str, str]) -> bytes:
    rows = "".join(
        f'<Relationship Id="r{n}" Type="{_R}/{kind}" Target="{target}"/>'
        for n, (kind, target) in enumerate(targets, 1)
    )
    home = "http://schemas.openxmlformats.org/package/2006/relationships"
    return f'<Relationships xmlns="{home}">{rows}</Relationships>'.encode()


def _docx(*parts: bytes | Iterator[bytes]) -> Callable[[Path], object]:
    body = chain.from_iterable([part] if isinstance(part, bytes) else part for part in parts)
    kind = "wordprocessingml.document"
    return _zipped(
        ("[Content_Types].xml", _types("word/document.xml", kind)),
        ("_rels/.rels", _relations(("officeDocument", "word/document.xml"))),
        ("word/document.xml", body),
    )


def _rtf(part: str, size: int, before: str = "") -> Callable[[Path], object]:
    """Write a text in RTF that never ends, of one part again and again."""
    return lambda path: _text(chain(["{\\rtf1 ", before], repeat(part, size // len(part))))(path)


def _laughs() -> bytes:
    """Return a document whose entities stand for a billion words."""
    rows = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
    head = f'<?xml version="1.0"?><!DOCTYPE w [<!ENTITY e0 "ha">{rows}]>'
    return f'{head}<w:document xmlns:w="{_W}"><w:body><w:p><w:r><w:t>&e9;</w:t></w:r></w:p></w:body></w:document>'.encode()  # noqa: E501


def _word(*inner: bytes | Iterator[bytes]) -> Callable[[Path], object]:
    return _docx(f'<w:document xmlns:w="{_W}"><w:body>'.encode(), *inner, b"</w:body></w:document>")


_PARAGRAPH = f"<w:p><w:r><w:t>{_WORDS}</w:t></w:r></w:p>".encode()


def _sheet() -> Callable[[Path], object]:
    """Write a sheet of one row whose only cell says that it is the last there can be."""
    kind = "spreadsheetml.sheet"
    book = f'<workbook xmlns="{_S}" xmlns:r="{_R}"><sheets><sheet name="a" sheetId="1" r:id="r1"/></sheets></workbook>'  # noqa: E501
    cells = f'<worksheet xmlns="{_S}"><dimension ref="A1:XFD1048576"/><sheetData><row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData></worksheet>'  # noqa: E501
    return _zipped(
        ("[Content_Types].xml", _types("xl/workbook.xml", kind)),
        ("_rels/.rels", _relations(("officeDocument", "xl/workbook.xml"))),
        ("xl/workbook.xml", book.encode()),
        ("xl/_rels/workbook.xml.rels", _relations(("worksheet", "worksheets/sheet1.xml"))),
        ("xl/worksheets/sheet1.xml", cells.encode()),
    )


def _epub(chapters: int, chapter: bytes, *, repeated: int = 1) -> Callable[[Path], object]:
    """Write a book whose spine names each chapter *repeated* times, and whose links loop."""
    items = "".join(
        f'<item id="c{n}" href="c{n}.xhtml" media-type="application/xhtml+xml"/>'
        for n in range(chapters)
    )
    refs = "".join(f'<itemref idref="c{n}"/>' for n in range(chapters)) * repeated
    opf = f'<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata/><manifest>{items}</manifest><spine>{refs}</spine></package>'  # noqa: E501
    container = '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="a.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'  # noqa: E501
    return _zipped(
        ("mimetype", b"application/epub+zip"),
        ("META-INF/container.xml", container.encode()),
        ("a.opf", opf.encode()),
        *((f"c{n}.xhtml", chapter) for n in range(chapters)),
    )


def _mail(parts: int, *, nested: bool) -> Callable[[Path], object]:
    """Write a message of *parts* parts, beside each other or each within the one before."""

    def beside() -> Iterator[str]:
        yield "From: a@example.org\nSubject: parts\nMIME-Version: 1.0\n"
        yield 'Content-Type: multipart/mixed; boundary="b"\n\n'
        for n in range(parts):
            yield f"--b\nContent-Type: text/plain; name=p{n}.txt\n"
            yield f"Content-Disposition: attachment; filename=p{n}.txt\n\n{_WORDS}{n}\n"
        yield "--b--\n"

    def within() -> Iterator[str]:
        yield "From: a@example.org\nSubject: parts\nMIME-Version: 1.0\n"
        for n in range(parts):
            yield f'Content-Type: multipart/mixed; boundary="b{n}"\n\n--b{n}\n'
        yield "Content-Type: text/plain\n\ndeep\n"

    return lambda path: _text(within() if nested else beside())(path)


def _notebook(source: str, output: str, cells: int) -> Callable[[Path], object]:
    cell = {
        "cell_type": "code", "execution_count": 1, "metadata": {}, "source": source,
        "outputs": [{"output_type": "stream", "name": "stdout", "text": output}],
    }  # fmt: skip
    whole = {"cells": [cell] * cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return lambda path: path.write_text(json.dumps(whole), "utf-8")


def _aliases(*, merged: bool) -> str:
    """Return front matter in which each of thirty values is the one before, many times."""
    if merged:
        rows = [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 30)]
        return "---\na0: &a0 {x: 1}\n" + "\n".join(rows) + "\n---\n\nText.\n"
    rows = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    return "---\na0: &a0 [x]\n" + "\n".join(rows) + "\ntags: *a29\n---\n\nText.\n"


def _pdf(pages: int, content: bytes) -> Callable[[Path], object]:
    """Write a PDF whose pages all show one stream, packed; there is no table of its objects."""
    packed = zlib.compress(content, 9)
    kids = " ".join(f"{n} 0 R" for n in range(10, 10 + pages))
    objects = [
        b"1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj",
        f"2 0 obj<</Type/Pages/Count {pages}/Kids[{kids}]>>endobj".encode(),
        b"3 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj",
        f"4 0 obj<</Length {len(packed)}/Filter/FlateDecode>>stream\n".encode() + packed
        + b"\nendstream endobj",
        *(
            f"{n} 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R"
            "/Resources<</Font<</F 3 0 R>>>>>>endobj".encode()
            for n in range(10, 10 + pages)
        ),
    ]  # fmt: skip
    whole = b"%PDF-1.4\n" + b"\n".join(objects) + b"\ntrailer<</Root 1 0 R>>\n%%EOF\n"
    return lambda path: path.write_bytes(whole)


def _table(columns: int, rows: int) -> Callable[[Path], object]:
    row = "|" + "|".join([" cell "] * columns) + "|\n"
    head = row + "|" + "|".join(["---"] * columns) + "|\n"
    return lambda path: _text(chain([head], repeat(row, rows)))(path)


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(150 * _MB)


def _old_word(words: str, paragraphs: int, *, pieces: int = 0) -> Callable[[Path], object]:
    """Write a text of Word 97; with *pieces*, it says that its text is there so many times."""

    def write(path: Path) -> None:
        tree = doc_tree([words] * paragraphs)
        if pieces:
            stream = bytearray(cast("bytes", tree["WordDocument"]))
            told = pack(f"<{pieces + 1}I", *range(0, len(words) * (pieces + 1), len(words)))
            told += pack("<HIH", 0, 2048, 0) * pieces
            table = b"\2" + pack("<I", len(told)) + told
            stream[0x4C:0x50] = pack("<I", len(words) * pieces)
            stream[0x1A2:0x1AA] = pack("<II", 0, len(table))
            tree = {"WordDocument": bytes(stream), "0Table": table}
        path.write_bytes(compound(tree))

    return write


def _attached(count: int) -> Callable[[Path], object]:
    """Write a message of Outlook to which so many are attached, and as many files."""
    inner: Values = {0x3701: message_tree({0x0037: "Within", 0x1000: _WORDS})}
    note: Values = {0x3701: _WORDS.encode(), 0x3707: "note.txt"}
    return lambda path: path.write_bytes(msg({0x0037: "Many"}, attached=[inner, note] * count))


FILES: dict[str, Hostile] = {
    "headings, 2.4 MB": ("a.md", _headings(1, 80_000)),
    "headings without text, 2.4 MB": ("a.md", _numbered("# A heading {}\n\n", 120_000)),
    "nested headings, 3 MB": ("a.md", _headings(6, 95_000)),
    "a million headings": ("a.md", _numbered("# Heading {}\n", 1_000_000)),
    "wikilinks, 12 MB": ("a.md", _numbered("[[page {0}|name {0}]] ", 500_000)),
    "open brackets, 5 MB": ("a.md", _repeated("[", 5 * _MB)),
    "brackets of links, 5 MB": ("a.md", _repeated("[a](", 5 * _MB)),
    "emphasis, 5 MB": ("a.md", _repeated("*a _b ", 5 * _MB)),
    "backticks, 5 MB": ("a.md", _numbered("`` ` ``` {}", 400_000)),
    "nested quotes": ("a.md", _text(">" * 100_000 + " a\n")),
    "nested lists": ("a.md", lambda p: _text("  " * n + "- a\n" for n in range(1500))(p)),
    "definitions, 5 MB": ("a.md", _numbered("[label {0}]: target{0}\n", 180_000)),
    "a table of 11 MB": ("a.md", _table(10, 150_000)),
    "a table of 10,000 columns": ("a.md", _table(10_000, 100)),
    "comments that never end": ("a.md", _repeated("<!-- <a ", 3 * _MB)),
    "tags, 5 MB": ("a.md", _numbered("#tag{} ", 450_000)),
    "aliases of YAML": ("a.md", _text(_aliases(merged=False))),
    "merge keys of YAML": ("a.md", _text(_aliases(merged=True))),
    "a title of digits": ("a.md", _text(f"---\ntitle: 0x{'f' * 5000}\n---\n\nText.\n")),
    "keys like secrets": ("a.md", _repeated("sk-", 3 * _MB)),
    "a line of 50 MB": ("a.txt", _repeated("a", 50 * _MB)),
    "a line of words, 195 MB": ("a.txt", _repeated(_WORDS, 195 * _MB)),
    "a line of 1 GB": ("a.txt", _repeated("a", 1000 * _MB)),
    "Markdown in a line of 50 MB": ("a.md", _repeated(_WORDS, 50 * _MB)),
    "blank lines, 20 MB": ("a.txt", _text("a" + "\n" * 20 * _MB + "b\n")),
    "short lines, 20 MB": ("a.txt", _repeated("a\n", 20 * _MB)),
    "one character of 5 MB": ("a.txt", _text("a" + "\u0301" * 2_500_000)),
    "capitals, 20 MB": ("a.txt", _repeated(_WORDS.upper(), 20 * _MB)),
    "Chinese, 20 MB": ("a.txt", _repeated("海象在月光下数牡蛎", 7 * _MB)),
    "JSON nested 100,000 deep": ("a.json", _text("[" * 100_000 + "]" * 100_000)),
    "brackets of Python": ("a.py", _text("x = " + "(" * 100_000 + ")" * 100_000 + "\n")),
    "functions in functions": (
        "a.py",
        lambda p: _text(" " * n + f"def f{n}():\n" for n in range(1000))(p),
    ),
    "CSV of 100,000 columns": ("a.csv", _repeated("cell," * 99_999 + "cell\n", 5 * _MB)),
    "CSV of one open quote, 20 MB": ("a.csv", _repeated('"a,b\n', 20 * _MB)),
    "CSV rows, 20 MB": ("a.csv", _numbered("{0},name {0},value\n", 900_000)),
    "HTML nested 100,000 deep": ("a.html", _text("<div>" * 100_000 + "deep" + "</div>" * 100_000)),
    "HTML tables in tables": ("a.html", _repeated("<table><tr><td>a", 2 * _MB)),
    "HTML attributes, 5 MB": ("a.html", lambda p: p.write_text("<p " + "a=b " * 1_250_000 + ">x")),
    "HTML entities, 5 MB": ("a.html", _repeated("&amp&lt;&#x1F600;", 5 * _MB)),
    "open tags of HTML, 5 MB": ("a.html", _repeated("<a<b<!--", 5 * _MB)),
    "a notebook of huge outputs": ("a.ipynb", _notebook("x = 1", "out\n" * 100_000, 100)),
    "a notebook of many cells": ("a.ipynb", _notebook("x = 1\n", "", 30_000)),
    "a notebook nested": ("a.ipynb", _text('{"cells": ' + "[" * 100_000)),
    "mail of 10,000 parts": ("a.eml", _mail(10_000, nested=False)),
    "mail nested 2,000 deep": ("a.eml", _mail(2_000, nested=True)),
    "headers of mail, 5 MB": ("a.eml", _numbered("X-{}: a\n", 500_000)),
    "subtitles of open marks, 5 MB": (
        "a.vtt",
        _text("WEBVTT\n\n00:01.000 --> 00:02.000\n" + "<v a" * 1_250_000),
    ),
    "subtitles, 20 MB": ("a.srt", _numbered("{0}\n00:00:01,000 --> 00:00:02,000\na\n\n", 450_000)),
    "an event of parameters, 5 MB": ("a.ics", _repeated("BEGIN:VEVENT\nSUMMARY;A=a", 5 * _MB)),
    "contacts that never end, 5 MB": ("a.vcf", _repeated("BEGIN:VCARD\nN:a;b=\n", 5 * _MB)),
    "notes nested, 5 MB": ("a.enex", _repeated("<note><content>", 5 * _MB)),
    "a message of Outlook with 4,000 attachments": ("a.msg", _attached(2_000)),
    "a message of Outlook in RTF, 9 MB": (
        "a.msg",
        lambda p: p.write_bytes(
            msg({0x0037: "x", 0x1009: packed_rtf(b"{\\rtf1 " + b"{\\b \\u9?a" * (_MB - 10))})
        ),
    ),
    "a text of Word 97 of 20 MB": ("a.doc", _old_word(_WORDS * 1_000, 140)),
    "a text of Word 97 whose pieces are one": (
        "a.doc",
        _old_word(_WORDS * 1_000, 1, pieces=50_000),
    ),
    "a text of Word 97 of fields, 10 MB": (
        "a.doc",
        _old_word('\x13 HYPERLINK "https://a" \x14b\x15' * 190_000, 1),
    ),
    "a text of Word 97 of cells, 4 MB": ("a.doc", _old_word("a\x07" * _MB, 1)),
    "a document of 1 GB of zeros": ("a.docx", lambda p: _docx(_zeros(1000 * _MB))(p)),
    "a document of 300 MB of words": (
        "a.docx",
        lambda p: _word(repeat(_PARAGRAPH, 300 * _MB // len(_PARAGRAPH)))(p),
    ),
    "a document of 20 MB of words": (
        "a.docx",
        lambda p: _word(repeat(_PARAGRAPH, 20 * _MB // len(_PARAGRAPH)))(p),
    ),
    "a document of a billion laughs": ("a.docx", _docx(_laughs())),
    "a document nested": ("a.docx", _word(b"<w:p>" * 100_000, b"</w:p>" * 100_000)),
    "RTF nested 100,000 deep": (
        "a.rtf",
        _text("{\\rtf1 " + "{" * 100_000 + "deep" + "}" * 100_000),
    ),
    "RTF of notes in notes, 5 MB": ("a.rtf", _rtf("{\\footnote a", 5 * _MB)),
    "RTF of links in links, 5 MB": (
        "a.rtf",
        _rtf('{\\field{\\*\\fldinst HYPERLINK "x"}{\\fldrslt a', 5 * _MB),
    ),
    "RTF of links, 5 MB": (
        "a.rtf",
        _rtf('{\\field{\\*\\fldinst HYPERLINK "x"}{\\fldrslt a}} ', 5 * _MB),
    ),
    "RTF of a picture, 50 MB": ("a.rtf", _rtf("0a", 50 * _MB, "a{\\pict ")),
    "RTF letter by letter, 20 MB": ("a.rtf", _rtf("\\u8226?", 20 * _MB)),
    "RTF of paragraphs, 5 MB": ("a.rtf", _rtf(f"{_WORDS}\\par\n", 5 * _MB)),
    "a sheet whose last cell is set": ("a.xlsx", _sheet()),
    "an archive of 100,000 names": (
        "a.epub",
        lambda p: _zipped(*((f"f{n}", b"") for n in range(100_000)))(p),
    ),
    "an archive that is no book": (
        "a.epub",
        lambda p: p.write_bytes(_deflated("a", b"", bytes(_MB), 3000, b"")),
    ),
    "a book whose spine repeats": (
        "a.epub",
        _epub(1, b"<html><body><p>" + _WORDS.encode() * 100 + b"</p></body></html>", repeated=9999),
    ),
    "a PDF of 20,001 pages": ("a.pdf", _pdf(20_001, b"BT /F 12 Tf (walrus) Tj ET")),
    "a PDF page of 100 MB": ("a.pdf", _pdf(1, b"BT /F 12 Tf (walrus) Tj ET\n" * 3_700_000)),
    "a PDF page of 5 MB": ("a.pdf", _pdf(1, b"BT /F 12 Tf (walrus) Tj ET\n" * 185_000)),
    "a sparse text": ("a.txt", _sparse),
}
