"""How much of office files is read: words by where they stand, a large sheet, damaged files.

    python tools/bench/office.py FOLDER                words found of each kind, over its files
    python tools/bench/office.py FOLDER --damage 1000  and what comes of files that are damaged
    python tools/bench/office.py --cells 500000        processor time and memory of a large sheet

Words are those of the XML, by the part that they stand in, as a program for it would show
them: without what was deleted, without the second of two ways to say the same, and without
the numbers, dates and feet that are on every slide. Of sheets, the values of cells are counted
as words. The rest of a process is part of its memory, so each figure is of a fresh one.
"""

from __future__ import annotations

import argparse
import io
import random
import re
import subprocess
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError, fromstring

from machine import describe_machine, machine_line
from tables import render_table

from kb_app._ingest.judging.decode import FileContent
from kb_app._media import parser_for
from kb_app.testing.office_files import xlsx
from kb_core.documents import ParsedDocument, SourceFile

__all__ = ["main"]

SUFFIXES = {".docx", ".pptx", ".xlsx", ".odt", ".ods", ".odp"}
_WORD = re.compile(r"\w{2,}")
_ROUNDING = re.compile(r"\d{13,}")
"""The last digits of a number are a computer's rounding, and no word."""
_WHOLE = 7
"""Of ten damaged files, so many are not cut off as well."""
_PARTS = {
    "text": re.compile(r"word/document\.xml|ppt/slides/slide\d+\.xml|content\.xml"),
    "notes": re.compile(r"word/(?:foot|end)notes\.xml|ppt/notesSlides/notesSlide\d+\.xml"),
    "comments": re.compile(r"(?:word|xl)/comments\d*\.xml|ppt/comments/comment\d+\.xml"),
    "headers": re.compile(r"word/(?:header|footer)\d+\.xml"),
    "diagrams": re.compile(r"ppt/diagrams/data\d+\.xml"),
    "charts": re.compile(r"ppt/charts/chart\d+\.xml"),
    "cells": re.compile(r"xl/sharedStrings\.xml"),
}
_UNSEEN = {"del", "moveFrom", "Fallback", "delText", "instrText", "rPh", "tracked-changes"}
_ON_EVERY_SLIDE = {"sldNum", "dt", "ftr", "hdr"}


def words_by_kind(data: bytes) -> dict[str, Counter[str]]:
    """Return the words of a file by where they stand; text boxes of texts apart."""
    found: dict[str, Counter[str]] = {}
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        for name in packed.namelist():
            kind = next((kind for kind, form in _PARTS.items() if form.fullmatch(name)), None)
            if kind is None:
                continue
            try:
                root = fromstring(packed.read(name))  # noqa: S314 - files that one has oneself
            except ParseError:
                continue
            for where, text in _said(root, kind):
                found.setdefault(where, Counter()).update(_WORD.findall(_ROUNDING.sub("", text)))
    return found


def _said(element: Element, kind: str) -> Iterator[tuple[str, str]]:
    tag = element.tag.rpartition("}")[2]
    if tag in _UNSEEN or (tag == "sp" and _placeholder(element) in _ON_EVERY_SLIDE):
        return
    if tag == "txbxContent":
        kind = "text boxes"
    is_open = "opendocument" in element.tag
    whole = tag in {"p", "h"} and is_open
    if whole or (tag in {"t", "v", "text"} and not list(element)):
        yield kind, "".join(element.itertext())
        return
    paragraph: list[str] | None = [] if tag in {"p", "si"} and not is_open else None
    for child in element:
        for where, text in _said(child, kind):
            if paragraph is None or where != kind:
                yield where, text
            else:
                paragraph.append(text)
    if paragraph:
        yield kind, "".join(paragraph)


def _placeholder(shape: Element) -> str:
    marks = (each.get("type", "") for each in shape.iter() if each.tag.endswith("}ph"))
    return next(marks, "")


def parsed(data: bytes, name: str) -> ParsedDocument:
    """Return the document of a file."""
    file = SourceFile(source_id="bench", path=name, media="office")
    return parser_for("office")(FileContent(data), file)


def count_words(folder: Path) -> None:
    """Print which share of the words of each kind was found."""
    wanted, missing = Counter[str](), Counter[str]()
    files, secs = 0, 0.0
    for path in sorted(each for each in folder.rglob("*") if each.suffix.lower() in SUFFIXES):
        data = path.read_bytes()
        began = time.process_time()
        document = parsed(data, path.name)
        secs += time.process_time() - began
        if document.refused is not None:
            print(f"{path.name}: {document.refused[0]}: {document.refused[1]}")
            continue
        files += 1
        there = set(_WORD.findall(document.text))
        for kind, words in words_by_kind(data).items():
            wanted[kind] += words.total()
            lost = {word: times for word, times in words.items() if word not in there}
            missing[kind] += sum(lost.values())
            if lost:
                print(f"{path.name}: {kind}: not found: {', '.join(list(lost)[:8])}")
    rows = [(kind, str(wanted[kind]), f"{1 - missing[kind] / wanted[kind]:.4f}") for kind in wanted]
    print(render_table(("words of", "there", "found"), rows))
    print(f"{files} files in {secs:.2f} CPU-s")


def damage(folder: Path, count: int) -> None:
    """Print what comes of *count* damaged files; anything but a document or a reason raises."""
    chance = random.Random(1)  # noqa: S311 - repeatable, nothing secret
    paths = sorted(each for each in folder.rglob("*") if each.suffix.lower() in SUFFIXES)
    outcomes, began = Counter[str](), time.process_time()
    for number in range(count):
        data = bytearray(paths[number % len(paths)].read_bytes())
        for _ in range(chance.choice((1, 4, 30))):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        cut = len(data) if chance.randrange(10) < _WHOLE else chance.randrange(1, len(data))
        document = parsed(bytes(data[:cut]), "damaged")
        outcomes[str(document.refused[0]) if document.refused else "read"] += 1
    secs = time.process_time() - began
    print(f"{count} damaged: {dict(outcomes)}; {secs:.1f} CPU-s, {_memory()} MB")


def large_sheet(cells: int) -> None:
    """Print what a sheet of so many cells takes, in a process of its own."""
    rows = (
        f'<row r="{row}">'
        + "".join(f"<c><v>{row * column}.5</v></c>" for column in range(1, 11))
        + "</row>"
        for row in range(1, cells // 10 + 1)
    )
    data = xlsx({"Large": "".join(rows)})
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); from office import tell_one;"
        "tell_one(sys.stdin.buffer.read())"
    )
    here = str(Path(__file__).parent)
    subprocess.run([sys.executable, "-c", program, here], input=data, check=True)


def tell_one(data: bytes) -> None:
    """Print what reading one file takes in this process."""
    began = time.process_time()
    document = parsed(data, "large.xlsx")
    secs = time.process_time() - began
    places = len(document.places)
    print(
        f"{len(document.text):,} characters at {places:,} places: {secs:.1f} CPU-s, {_memory()} MB"
    )


def _memory() -> int:
    """Return the most megabytes that this process had; what it was started by does not count."""
    status = Path("/proc/self/status").read_text("ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


def main() -> int:
    """Measure what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--damage", type=int, default=0, metavar="N")
    parser.add_argument("--cells", type=int, default=0, metavar="N")
    options = parser.parse_args()
    print(machine_line(describe_machine()))
    if options.folder:
        count_words(options.folder)
    if options.folder and options.damage:
        damage(options.folder, options.damage)
    if options.cells:
        large_sheet(options.cells)
    return 0


if __name__ == "__main__":
    sys.exit(main())
