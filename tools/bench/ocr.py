"""How well pages are read, and how quickly: errors by character, seconds of processor a page.

Two figures for each picture. *As read*: the edits that make of the text what the picture says,
for each character of it, in the order in which it was read. *By line*: the same, but each line
of the truth beside the line that is most like it, since people differ in where titles,
captions and credits stand. Blanks count once; typographic quotation marks and dashes count as
plain ones, which is what typists of such truths wrote.

    python tools/bench/ocr.py FOLDER            pictures with ``NAME.txt``, or a manifest.tsv
    python tools/bench/ocr.py --made 3          made-up pages at 300 dots an inch, and small ones
    python tools/bench/ocr.py --tessdata DIR …  with trained data of other languages
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from machine import describe_machine, machine_line
from tables import render_table
from words import Words

from kb_app._costly import UnkeptResults
from kb_app._ingest.making.ocr import Recogniser
from kb_app._ingest.making.pictures import open_picture
from kb_app._trained import find_trained
from kb_app.paths import environment

__all__ = ["errors", "errors_by_line", "main"]

_PLAIN = str.maketrans("“”„‘’—–", '"""\'\'--')
_MEGAPIXELS = 100


class Case(NamedTuple):
    """A picture, and what it says."""

    name: str
    data: bytes
    truth: str


def errors(said: str, truth: str) -> float:
    """Return the edits that make one of the other, for each character of the truth."""
    return _edits(_even(said), _even(truth)) / max(1, len(_even(truth)))


def errors_by_line(said: str, truth: str) -> float:
    """Return the same of each line of the truth and the line that is most like it."""
    lines = [_even(line) for line in truth.split("\n") if _even(line)]
    read = [_even(line) for line in said.split("\n") if _even(line)] or [""]
    total = sum(min(_edits(each, line) for each in read) for line in lines)
    return total / max(1, sum(map(len, lines)))


def _even(text: str) -> str:
    return " ".join(text.translate(_PLAIN).split())


def _edits(one: str, other: str) -> int:
    row = list(range(len(other) + 1))
    for n, left in enumerate(one, 1):
        last, row[0] = row[0], n
        for m, right in enumerate(other, 1):
            last, row[m] = row[m], min(row[m] + 1, row[m - 1] + 1, last + (left != right))
    return row[-1]


def _cases(folder: Path) -> Iterator[Case]:
    manifest = folder / "manifest.tsv"
    if manifest.exists():
        rows = [line.split("\t") for line in manifest.read_text("utf-8").splitlines()[1:]]
        pairs = [(folder / name, folder / truth) for name, truth in rows]
    else:
        texts = sorted(folder.glob("*.txt"))
        pairs = [(picture, text) for text in texts for picture in folder.glob(f"{text.stem}.[!t]*")]
    for picture, text in pairs:
        yield Case(picture.name, picture.read_bytes(), text.read_text("utf-8"))


def _made(pages: int) -> Iterator[Case]:
    """Yield pages of made-up prose as a scanner at 300 dots sees them, and small pictures."""
    for number in range(pages):
        words = Words(number).passage(400).split()
        yield _drawn(f"made page {number + 1}", words, (2480, 3508), 46)
        yield _drawn(f"made small {number + 1}", words[:30], (640, 240), 22)


def _drawn(name: str, words: Sequence[str], size: tuple[int, int], height: int) -> Case:
    from PIL import Image, ImageDraw, ImageFont

    image, font = Image.new("L", size, 245), ImageFont.load_default(height)
    draw, lines, line = ImageDraw.Draw(image), list[str](), ""
    margin, leading = 3 * height, round(1.5 * height)
    for word in words:
        longer = f"{line} {word}".strip()
        if draw.textlength(longer, font) > size[0] - 2 * margin:
            lines.append(line)
            longer = word
        line = longer
    lines = [*lines, line][: (size[1] - 2 * margin) // leading + 1]
    for row, text in enumerate(lines):
        draw.text((margin, margin + row * leading), text, fill=20, font=font)
    file = BytesIO()
    image.save(file, "PNG", dpi=(300, 300) if height > 30 else None)  # noqa: PLR2004
    return Case(name, file.getvalue(), "\n".join(lines))


def _row(case: Case, recogniser: Recogniser) -> list[str]:
    begun, said, sure = time.process_time(), list[str](), list[float]()
    for number, frame in enumerate(open_picture(case.data, _MEGAPIXELS).read()):
        if isinstance(frame, str):
            continue
        page = recogniser.read(frame.image, frame.dpi, UnkeptResults(), str(number))
        said += [line.text for line in page.lines]
        sure.append(page.confidence)
    seconds = time.process_time() - begun
    text = "\n".join(said)
    return [
        case.name,
        f"{errors(text, case.truth):.3f}",
        f"{errors_by_line(text, case.truth):.3f}",
        f"{sum(sure) / max(1, len(sure)):.0f}",
        f"{seconds:.2f}",
    ]


def main(words: Sequence[str] | None = None) -> int:
    """Read pictures, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_Plain)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--made", type=int, default=0, metavar="N")
    parser.add_argument("--tessdata", type=Path, action="append", default=[])
    given = parser.parse_args(words)
    trained = find_trained(given.tessdata, environment())
    recogniser = Recogniser(trained, (), secs=600)
    cases = [*(case for folder in given.folders for case in _cases(folder)), *_made(given.made)]
    print(machine_line(describe_machine()))
    print("languages:", ", ".join(each.version for each in trained if each.is_language))
    head = ["picture", "as read", "by line", "confidence", "CPU-s"]
    print(render_table(head, [_row(case, recogniser) for case in cases]))
    return 0


class _Plain(argparse.RawDescriptionHelpFormatter):
    """Keeps the lines of the description."""


if __name__ == "__main__":
    raise SystemExit(main())
