r"""PDF files: pages in a second of processor time, and whether boxes hold what they say.

    python tools/bench/pdf.py FOLDER_OR_FILE… [--chunks 200] [--seed 13]
    python tools/bench/pdf.py FOLDER_OR_FILE… --ingest 300

Speed is that of our parser (characters, boxes, lines, order, headings, places) beside PDFium's
plain text of the same pages, which has no places. Boxes are judged by cutting them out of the
page and asking PDFium for the text that it finds there: which share of a chunk's words is in
its boxes, and which share of the words in the boxes is not the chunk's. Every other file is
also turned and cropped, and judged so. Files that are locked or damaged are counted by reason.

With ``--ingest``, so many papers of eight pages are made of the pages with text that there are,
each of others, and read by ``kebab ingest --no-embed``: all new, then unchanged.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import pypdfium2
from machine import describe_machine, machine_line
from startup import KEBAB, SETTINGS, run_process
from tables import render_table

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.making.glyphs import Box
from kb_app._ingest.making.pdfium import opened
from kb_app._ingest.making.places import placed_chunks
from kb_app._media import chunker_for, parser_for
from kb_core.citations import PageSpan
from kb_core.documents import ChunkLimits, ParsedDocument, SourceFile
from kb_core.testing.fakes import WordCounter

LIMITS = ChunkLimits(target_tokens=180, overlap_tokens=20, max_tokens=300)
_MARGIN = 1.0
"""Points around a box that are cut out with it: PDFium takes characters that are wholly in it."""
_WORD = re.compile(
    r"[\u2e80-\u9fff\uac00-\ud7af\uff00-\uffef]|[^\W\u2e80-\u9fff\uac00-\ud7af\uff00-\uffef]+"
)
"""A word, or a character of a script that does not part words."""
_LEAST_CHUNKS = 10
_PAGES, _LEAST_LETTERS = 8, 800
"""How many pages a paper has that is made of others, and how many letters each of them."""
_CUT_WORD = re.compile("[\x02\ufffe]\\s*|-\r?\n")


class Judged(NamedTuple):
    """A chunk: its file, how many of its words are in its boxes, and of others."""

    name: str
    words: int
    found: int
    foreign: int


def parsed(data: bytes, name: str) -> ParsedDocument:
    """Return the document of a file."""
    file = SourceFile(source_id="bench", path=name, media="pdf")
    return parser_for("pdf")(FileContent(data), file)


def plain_pages(data: bytes) -> int:
    """Read the plain text of all pages; return how many there are."""
    document = pypdfium2.PdfDocument(data)
    for index in range(len(document)):
        page = document[index]
        text = page.get_textpage()
        text.get_text_range()
        text.close()
        page.close()
    pages = len(document)
    document.close()
    return pages


def turned(data: bytes, number: int) -> bytes:
    """Return a file with its pages turned, and cropped by a few points."""
    document = pypdfium2.PdfDocument(data)
    for index in range(len(document)):
        page = document[index]
        left, bottom, right, top = page.get_mediabox()
        page.set_cropbox(left + 20, bottom + 10, right - 5, top - 15)
        page.set_rotation((90, 180, 270)[(number + index) % 3])
        page.close()
    out = BytesIO()
    document.save(out)
    document.close()
    return out.getvalue()


def judged(data: bytes, name: str, chance: random.Random, most: int) -> Iterator[Judged]:
    """Yield some chunks of a file, judged by what is in their boxes."""
    document = parsed(data, name)
    chunks = list(placed_chunks(document, chunker_for("pdf"), WordCounter(), LIMITS))
    for chunk in chance.sample(chunks, min(most, len(chunks))):
        if isinstance(chunk.span, PageSpan) and chunk.span.bbox:
            words = Counter(_words(document.text[chunk.start : chunk.end]))
            inside = Counter(_words(_text_in(data, chunk.span)))
            found = (words & inside).total()
            yield Judged(name, words.total(), found, (inside - words).total())


def _words(text: str) -> list[str]:
    return _WORD.findall(_CUT_WORD.sub("", text).casefold())


def _text_in(data: bytes, span: PageSpan) -> str:
    with opened(data) as pdf, pdf.page(span.page - 1) as page:
        view = page.view
    document = pypdfium2.PdfDocument(data)
    page = document[span.page - 1]
    text = page.get_textpage()
    found = []
    for x0, y0, x1, y1 in span.boxes or ((span.bbox,) if span.bbox else ()):
        box = view.unshown(Box(x0 - _MARGIN, y0 - _MARGIN, x1 + _MARGIN, y1 + _MARGIN))
        found.append(text.get_text_bounded(box.x0, box.y0, box.x1, box.y1))
    text.close()
    page.close()
    document.close()
    return "\n".join(found)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--chunks", type=int, default=200)
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--ingest", type=int, metavar="PAPERS")
    options = parser.parse_args(arguments)
    files = sorted({file for path in options.paths for file in
                    (path.rglob("*.pdf") if path.is_dir() else [path])})  # fmt: skip
    print(machine_line(describe_machine()))
    if options.ingest:
        print(_ingested(files, options.ingest, random.Random(options.seed)))  # noqa: S311
        return
    print(_speed(files))
    print(_truth(files, options.chunks, random.Random(options.seed)))  # noqa: S311 - repeatable


def _speed(files: Sequence[Path]) -> str:
    parsed(b"", "warm.pdf")
    pages, ours, plain = 0, 0.0, 0.0
    reasons: Counter[str] = Counter()
    for file in files:
        data = file.read_bytes()
        began = time.process_time()
        document = parsed(data, file.name)
        between = time.process_time()
        if document.refused is not None:
            reasons[document.refused[0]] += 1
            continue
        pages += plain_pages(data)
        plain += time.process_time() - between
        ours += between - began
    rows = [
        ["PDFium's plain text", f"{plain:.2f}", f"{pages / plain:.0f}"],
        ["kebab, with boxes", f"{ours:.2f}", f"{pages / ours:.0f}"],
    ]
    told = ", ".join(f"{count} {reason}" for reason, count in reasons.items()) or "none"
    head = f"\n{len(files)} files, {pages} pages; refused: {told}\n"
    return head + render_table(["", "CPU s", "pages/CPU-s"], rows)


def _truth(files: Sequence[Path], most: int, chance: random.Random) -> str:
    readable = [file for file in files if parsed(file.read_bytes(), file.name).blocks]
    each = max(_LEAST_CHUNKS, -(-most // max(1, len(readable))))
    found: list[Judged] = []
    for number, file in enumerate(readable):
        data = file.read_bytes()
        found += judged(data, file.name, chance, each)
        if number % 2:
            found += judged(turned(data, number), f"{file.name}, turned", chance, each)
    found = chance.sample(found, min(most, len(found)))
    words, inside = sum(j.words for j in found), sum(j.found for j in found)
    foreign = sum(j.foreign for j in found)
    worst = sorted(found, key=lambda j: j.found - j.words - j.foreign)[:8]
    rows = [[j.name, str(j.words), str(j.found), str(j.foreign)] for j in worst]
    head = (
        f"\n{len(found)} chunks of {len({j.name for j in found})} files: "
        f"{inside / max(1, words):.1%} of their words are in their boxes, "
        f"{foreign / max(1, inside + foreign):.1%} of the words in the boxes are of others\n\n"
    )
    return head + render_table(["the worst", "words", "in its boxes", "of others"], rows)


def papers(files: Sequence[Path], count: int, chance: random.Random) -> Iterator[bytes]:
    """Yield files of some pages each, drawn from all pages of *files* that have much text."""
    pages: list[tuple[pypdfium2.PdfDocument, int]] = []
    for file in files:
        if parsed(file.read_bytes(), file.name).refused is None:
            document = pypdfium2.PdfDocument(file)
            texts = (document[index].get_textpage() for index in range(len(document)))
            pages += [(document, index) for index, text in enumerate(texts)
                      if text.count_chars() >= _LEAST_LETTERS]  # fmt: skip
    for _ in range(count):
        made, out = pypdfium2.PdfDocument.new(), BytesIO()
        for document, index in chance.sample(pages, _PAGES):
            made.import_pages(document, [index])
        made.save(out)
        made.close()
        yield out.getvalue()


def _ingested(files: Sequence[Path], count: int, chance: random.Random) -> str:
    with tempfile.TemporaryDirectory(prefix="kebab-papers-") as folder:
        home = Path(folder)
        (home / "papers").mkdir()
        for number, data in enumerate(papers(files, count, chance)):
            (home / "papers" / f"{number:04}.pdf").write_bytes(data)
        settings = SETTINGS.format(root=json.dumps(str(home / "papers")))
        (home / "config.toml").write_text(settings, "utf-8")
        command = [str(KEBAB), "--config", str(home / "config.toml"), "ingest", "--no-embed"]
        rows = []
        for name in ("all new", "nothing changed"):
            usage = run_process([*command, "--no-ocr"])
            speed = [f"{_PAGES * count / seconds:.0f}" for seconds in (usage.wall, usage.cpu)]
            rows.append([name, f"{usage.wall:.1f}", f"{usage.cpu:.2f}", *speed])
    head = f"\n{count} papers of {_PAGES} pages\n"
    return head + render_table(["", "wall s", "CPU s", "pages/s", "pages/CPU-s"], rows)


if __name__ == "__main__":
    main()
