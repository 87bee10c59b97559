"""From a folder with files of all kinds to answers: what is read, what is found, where it stands.

The folder is made: mails with attachments, texts, slides with notes, sheets, papers, scans,
photographs, pages of the web, tables, notebooks, with some ten facts among them, each in
another kind of place. Files of the shared data and this project's documentation lie beside
them where they are there. Then ``kebab ingest`` runs once, and everything else asks what it
made: what ``status`` says by kind, at which rank each fact is found by words and with meaning,
how it is cited, and what ``cite --image`` draws.

    python tools/bench/home.py ROOM             makes ROOM/home and ROOM/store, once
    python tools/bench/home.py ROOM --no-embed  by words alone
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from email.message import EmailMessage
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from machine import ROOT, describe_machine, machine_line
from startup import KEBAB, SETTINGS
from tables import render_table
from words import Words

from kb_app.testing.office_files import docx, odf, pptx, xlsx
from kb_app.testing.papers import Leaf, Said, paper, plain_page

__all__ = ["FACTS", "Fact", "main", "make_home"]

SHARED = ROOT.parent / "shared" / "data"
_SHARED = ("formats", "files", "suites/audio", "suites/images-ocr", "suites/encodings")
_LINES = 40
_FOUND = 10


class Fact(NamedTuple):
    """Something to ask for: which files say it (a pattern), and words of the passage."""

    where: str
    question: str
    path: str
    says: str


FACTS = (
    Fact("table of a PDF", "harbour dues for a ketch over 15 metres", "papers/dues.pdf", "48.50"),
    Fact("notes of a slide", "why was the heron survey postponed", "talks/herons.pptx", "flood"),
    Fact("sheet", "what did the greenhouse heating cost in February", "money/costs.xlsx", "412"),
    Fact("scanned page", "who inherits the walnut cupboard", "scans/will.pdf", "cousin Ottilie"),
    Fact("attachment of a mail", "which ferry do we take to the island on Friday",
         "mail/trip.eml!/plan.docx", "07:40"),
    Fact("voice memo", "what should my fellow Americans ask",
         "shared/*/jfk*", "ask what you can do"),
    Fact("photograph of a receipt", "price of the copper kettle", "photos/receipt.png", "64.90"),
    Fact("footnote of a text", "where is the original logbook of the lighthouse kept",
         "texts/lighthouse.docx", "Rostock"),
    Fact("chapter of a page", "how long does sourdough rest in winter", "web/bread.html",
         "eighteen hours"),
    Fact("hidden sheet", "combination of the bicycle lock", "money/costs.xlsx", "4711"),
    Fact("comment on a slide", "who doubts the number of nests", "talks/herons.pptx", "Ann"),
    Fact("table of values", "how many bottles of elderflower cordial are left",
         "tables/cellar.csv", "elderflower"),
    Fact("mail in a mailbox", "when does the chimney sweep come", "mail/club.mbox!/*", "Tuesday"),
    Fact("file within a PDF", "weight limit of the footbridge", "papers/bridge.pdf!/load.txt",
         "350"),
)  # fmt: skip


# The folder


def make_home(home: Path) -> None:
    """Write the files, those with the facts among them."""
    for path, data in (*_kept_in_files(), *_seen_and_written(), *_others()):
        file = home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data.encode() if isinstance(data, str) else data)
    for name in _SHARED:
        if (SHARED / name).is_dir():
            shutil.copytree(SHARED / name, home / "shared" / name)
    shutil.copytree(ROOT / "docs", home / "docs")


def _kept_in_files() -> Iterator[tuple[str, str | bytes]]:
    words = Words(1)
    dues = [
        ("Vessel", "Day", "Week"),
        ("Dinghy", "6.00", "30.00"),
        ("Sloop to 10 m", "17.20", "86.00"),
        ("Ketch over 15 m", "48.50", "242.00"),
        ("Trawler", "75.00", "375.00"),
    ]
    table = [Said(72 + 160 * column, 640 - 20 * row, cell)
             for row, cells in enumerate(dues) for column, cell in enumerate(cells)]  # fmt: skip
    head = [Said(72, 720, "Harbour dues of the season", 18, is_bold=True), *_lines(words, 700, 3)]
    yield "papers/dues.pdf", paper(_prose(words), Leaf([*head, *table]), _prose(words))
    yield (
        "papers/bridge.pdf",
        paper(_prose(words), files={"load.txt": b"The footbridge carries 350 kg, no horses.\n"}),
    )
    note = "The survey was postponed since the flood had taken the footpath."
    doubt = '<p:cm authorId="0"><p:text>I doubt the number of nests.</p:text></p:cm>'
    yield (
        "talks/herons.pptx",
        pptx([_slide("Herons", words), _slide("Survey", words, note, doubt)]),
    )
    costs: list[tuple[str, str, str | int]] = [
        ("Month", "Item", "Cost"),
        ("January", "greenhouse heating", 388),
        ("February", "greenhouse heating", 412),
        ("March", "seeds and soil", 96),
    ]
    lock = [("Bicycle lock", "combination", 4711)]
    yield "money/costs.xlsx", xlsx({"Costs": _cells(costs), "hidden Keys": _cells(lock)})
    plan = docx(_text("On Friday we take the ferry to the island at 07:40 from pier three."))
    yield "mail/trip.eml", _mail("Trip", words.passage(60), ("plan.docx", plan))
    sweep = "The chimney sweep comes on Tuesday at ten; leave the cellar open."
    mails = [_mail("Evening", words.passage(50)), _mail("House", sweep)]
    box = b"".join(b"From x@example.org Sat Jan  3 01:05:34 2026\n" + each + b"\n\n"
                   for each in mails)  # fmt: skip
    yield "mail/club.mbox", box


def _seen_and_written() -> Iterator[tuple[str, str | bytes]]:
    words = Words(2)
    will = ["Last will and testament", "", "My house and garden go to my sister Agathe.",
            "The walnut cupboard I leave to", "my cousin Ottilie of Bremen.",
            "", *_wrapped(words.passage(60), 52)]  # fmt: skip
    yield "scans/will.pdf", _scan(will, "PDF")
    receipt = ["KITCHEN & HEARTH", "Copper kettle 2.5 l    64.90", "Tea towel     7.50"]
    yield "photos/receipt.png", _scan(receipt, "PNG", (900, 420))
    kept = "The original logbook is kept in the archive of Rostock."
    body = _text(words.passage(80), '<w:footnoteReference w:id="2"/>')
    foot = f'<w:footnote w:id="2"><w:p><w:r><w:t>{kept}</w:t></w:r></w:p></w:footnote>'
    yield "texts/lighthouse.docx", docx(body, more=[("footnotes", foot)])
    rest = "In winter the sourdough rests for eighteen hours under a cloth."
    menu = "".join(f'<li><a href="/{n}">{words.title()}</a></li>' for n in range(12))
    yield (
        "web/bread.html",
        (
            f"<!DOCTYPE html><html><head><title>Bread</title></head><body>"
            f"<nav><ul>{menu}</ul></nav>"
            f"<article><h1>Bread</h1>\n<p>{words.passage()}</p>\n<h2>Winter</h2>\n<p>{rest}</p>\n"
            f"<p>{words.passage()}</p></article></body></html>\n"
        ),
    )
    cellar = ["drink,bottles,shelf", "pear juice,14,A", "elderflower cordial,9,B", "cider,31,C"]
    yield "tables/cellar.csv", "\n".join(cellar) + "\n"


def _others() -> Iterator[tuple[str, str | bytes]]:
    """Yield what lies around the facts: each file with a text of its own."""
    makers: dict[str, tuple[int, Callable[[Words], str | bytes]]] = {
        "notes/{}.md": (60, lambda words: words.markdown(6)),
        "notes/{}.txt": (20, lambda words: words.passage(200)),
        "mail/{}.eml": (40, lambda words: _mail(words.title(), words.passage(80))),
        "mail/papers-{}.eml": (20, lambda words: _mail(words.title(), words.passage(40),
                               ("a.pdf", paper(_prose(words))), ("b.csv", _csv(words)))),
        "texts/{}.docx": (30, lambda words: docx("".join(_text(words.passage())
                          for _ in range(5)))),
        "texts/{}.odt": (10, lambda words: odf(
                          "text", f"<text:p>{_safe(words.passage())}</text:p>")),
        "talks/{}.pptx": (20, lambda words: pptx([_slide(words.title(), words, words.passage(30))
                          for _ in range(6)])),
        "money/{}.xlsx": (25, lambda words: xlsx({f"Plan {words.query(2)}"[:30]:
                          _cells([(words.title(), n) for n in range(30)])})),
        "papers/{}.pdf": (40, lambda words: paper(*(_prose(words) for _ in range(4)))),
        "scans/{}.pdf": (12, lambda words: _scan(_wrapped(words.passage(150), 52), "PDF")),
        "photos/{}.png": (10, lambda words: _scan(_wrapped(words.passage(12), 40), "PNG",
                          (900, 420))),
        "web/{}.html": (20, lambda words: f"<html><body><h1>{words.title()}</h1>"
                        f"<p>{words.passage()}</p><p>{words.passage()}</p></body></html>"),
        "tables/{}.csv": (15, _csv),
        "notebooks/{}.ipynb": (8, _notebook),
    }  # fmt: skip
    seed = 100
    for name, (count, make) in makers.items():
        for number in range(count):
            seed += 1
            yield name.format(number), make(Words(seed))


def _wrapped(text: str, width: int) -> list[str]:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def _lines(words: Words, top: float, count: int) -> list[Said]:
    lines = _wrapped(words.passage(count * 14), 80)[:count]
    return [Said(72, top - 14 * number, line) for number, line in enumerate(lines)]


def _prose(words: Words) -> Leaf:
    return plain_page(*_wrapped(words.passage(400), 80)[:_LINES])


def _text(said: str, more: str = "") -> str:
    return f"<w:p><w:r><w:t>{_safe(said)}</w:t></w:r><w:r>{more}</w:r></w:p>"


def _safe(said: str) -> str:
    return said.replace("&", "&amp;").replace("<", "&lt;")


def _shape(said: str, kind: str = "") -> str:
    mark = f'<p:nvPr><p:ph type="{kind}"/></p:nvPr>' if kind else ""
    text = f"<p:txBody><a:p><a:r><a:t>{_safe(said)}</a:t></a:r></a:p></p:txBody>"
    return f"<p:sp>{mark}{text}</p:sp>"


def _slide(
    title: str, words: Words, note: str = "", comment: str = ""
) -> tuple[str, list[tuple[str, str]]]:
    parts = [("notesSlide", f"<p:spTree>{_shape(note)}</p:spTree>")] if note else []
    parts += [("comments", comment)] if comment else []
    return _shape(title, "title") + _shape(words.passage(30)), parts


def _cells(rows: Sequence[Sequence[str | int]]) -> str:
    def cell(value: str | int) -> str:
        if isinstance(value, int):
            return f"<c><v>{value}</v></c>"
        return f'<c t="inlineStr"><is><t>{_safe(value)}</t></is></c>'

    return "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)


def _csv(words: Words) -> str:
    rows = [f'"{words.title()}",{number}' for number in range(20)]
    return "\n".join(["name,count", *rows]) + "\n"


def _notebook(words: Words) -> str:
    cells = [{"cell_type": "markdown", "source": [words.passage()]} for _ in range(4)]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells})


def _mail(subject: str, body: str, *attached: tuple[str, str | bytes]) -> bytes:
    mail = EmailMessage()
    mail["Subject"], mail["From"], mail["To"] = subject, "ann@example.org", "ben@example.org"
    mail["Date"] = "Sat, 03 Jan 2026 10:00:00 +0100"
    mail.set_content(body)
    for name, data in attached:
        whole = data.encode() if isinstance(data, str) else data
        mail.add_attachment(whole, "application", "octet-stream", filename=name)
    return bytes(mail)


def _scan(lines: Sequence[str], kind: str, size: tuple[int, int] = (1654, 2339)) -> bytes:
    """Return a page of *lines* as a scanner at 200 dots an inch sees it."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("L", size, 250)
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(40)
    for number, line in enumerate(lines):
        draw.text((120, 90 + 62 * number), line, fill=25, font=font)
    file = io.BytesIO()
    image.save(file, kind, **({"resolution": 200} if kind == "PDF" else {}))
    return file.getvalue()


# What is asked


def _kebab(store: Path, *words: str) -> Any:  # noqa: ANN401 - JSON
    command = [str(KEBAB), "--config", str(store / "config.toml"), "--json", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return json.loads(done.stdout.splitlines()[-1]) if done.stdout else None


def _coverage(files: Sequence[dict[str, Any]]) -> str:
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    for each in files:
        ending = each["doc_path"].rpartition("/")[2].rpartition(".")[2].lower()
        counted[each.get("media") or f".{ending}"][each["state"]] += 1
        if each.get("reason"):
            counted["(reasons)"][each["reason"]] += 1
    rows = [[kind, *(str(counts[state]) for state in ("indexed", "skipped", "failed", "pending"))]
            for kind, counts in sorted(counted.items()) if kind != "(reasons)"]  # fmt: skip
    reasons = ", ".join(f"{name} {n}" for name, n in counted["(reasons)"].most_common())
    table = render_table(["kind", "indexed", "skipped", "failed", "pending"], rows)
    return f"{table}\nreasons: {reasons}"


def _answers(store: Path, mode: str) -> str:
    rows = []
    for number, fact in enumerate(FACTS):
        hits = _kebab(store, "search", fact.question, "-k", str(_FOUND), "--mode", mode)["hits"]
        rank = next(
            (n for n, hit in enumerate(hits, 1) if fnmatchcase(hit["doc_path"], fact.path)), None
        )
        uri, says = "", ""
        if rank is not None:
            uri = hits[rank - 1]["citation"]["uri"]
            says = "yes" if fact.says in str(_kebab(store, "fetch", uri)) else "no"
            _draw(store, uri, number)
        rows.append([fact.where, str(rank or "-"), says, uri])
    return render_table([mode, "rank", "says it", "cited"], rows)


def _draw(store: Path, uri: str, number: int) -> None:
    command = [str(KEBAB), "--config", str(store / "config.toml"), "cite", uri, "--image"]
    picture = store / "places" / f"{number:02}.png"
    picture.parent.mkdir(exist_ok=True)
    subprocess.run([*command, str(picture)], capture_output=True, check=False)


def main(words: Sequence[str] | None = None) -> int:
    """Make the folder, read it, and print what came of it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("room", type=Path)
    parser.add_argument("--no-embed", action="store_true")
    given = parser.parse_args(words)
    home, store = given.room / "home", given.room / "store"
    print(machine_line(describe_machine()))
    if not home.exists():
        make_home(home)
        store.mkdir(exist_ok=True)
        settings = SETTINGS.format(root=json.dumps(str(home.resolve())))
        (store / "config.toml").write_text(settings, "utf-8")
    begun = time.monotonic()
    report = _kebab(store, "ingest", "--summary-only", *(["--no-embed"] * given.no_embed))
    print(f"{time.monotonic() - begun:.0f} s of wall time:", json.dumps(report)[:400])
    print(_coverage(_kebab(store, "status")["files"]))
    for mode in ("lexical",) if given.no_embed else ("lexical", "hybrid"):
        print(_answers(store, mode))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
