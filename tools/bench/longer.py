"""Collections of long documents, in BEIR layout, for ``ir.py --data``.

Test collections are made of passages, and do not tell how well a document is found that says
more than one thing. Two ways to have longer ones:

    python tools/bench/longer.py links HTML_FOLDER --out DIR/python-links
    python tools/bench/longer.py join COLLECTION --out DIR/articles --by title
    python tools/bench/ir.py --data DIR --sets python-links,python-links-bare,articles

``links`` makes documents of the pages of a documentation, and questions of sentences that
refer to just one other page, which is then the right one; the sentence is taken out of the
page that has it. The folder beside it, ``-bare``, has the same questions without the words of
the link. ``join`` puts the passages of a collection together that have the same title, or the
same id up to a mark (``--by '#'``), and judges the whole.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urldefrag

from beir import Collection, Doc, load_collection

__all__ = ["Page", "Reference", "chosen", "join", "main", "read_page", "references"]

_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_BLOCKS = _HEADINGS | {"p", "li", "dt", "dd", "pre", "td", "th", "tr", "table", "blockquote"}
_BLOCKS |= {"div", "section", "article", "body"}
_LEFT_OUT = frozenset({"script", "style", "nav", "head", "footer"})
_SENTENCE = re.compile(r"(?<=[.;:!?]) +(?=[A-Z])")
_LEAST_PAGE = 1_500
_WORDS = (7, 40)
"""Of a question, without those of its link."""
_OF_A_PAGE = 4


@dataclass(slots=True)
class Block:
    """A paragraph, a heading (``h1`` …) or code (``pre``) of a page, with links and their words."""

    kind: str
    text: str
    links: list[tuple[str, str]]


@dataclass(slots=True)
class Page:
    """What a page says, in order."""

    blocks: list[Block] = field(default_factory=list)

    def text(self, without: Iterable[str] = ()) -> str:
        """Return it as Markdown, but for some sentences."""
        parts = []
        for block in self.blocks:
            text = block.text
            for sentence in without:
                text = text.replace(sentence, "")
            if block.kind in _HEADINGS:
                text = f"{'#' * int(block.kind[1])} {text}"
            parts.append(f"```\n{text}\n```" if block.kind == "pre" else text)
        return "\n\n".join(filter(str.strip, parts))


class Reference(NamedTuple):
    """A sentence that leads from one page to another, and the words of its link."""

    to: str
    path: str
    sentence: str
    words: str


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = Page()
        self._kind = "p"
        self._text = ""
        self._links: list[tuple[str, str]] = []
        self._left_out = 0
        self._link: tuple[str, int] | None = None

    def end_block(self, kind: str = "p") -> None:
        text = self._text if self._kind == "pre" else " ".join(self._text.split())
        if text.strip():
            self.page.blocks.append(Block(self._kind, text.strip("\n"), self._links))
        self._kind, self._text, self._links = kind, "", []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._left_out += tag in _LEFT_OUT
        if tag in _BLOCKS:
            self.end_block(tag if tag in _HEADINGS or tag == "pre" else "p")
        target = dict(attrs).get("href")
        if tag == "a" and target:
            self._link = target, len(self._text)

    def handle_endtag(self, tag: str) -> None:
        if tag in _LEFT_OUT:
            self._left_out = max(0, self._left_out - 1)
        if tag == "a" and self._link:
            target, start = self._link
            self._links.append((target, " ".join(self._text[start:].split())))
            self._link = None
        if tag in _BLOCKS:
            self.end_block()

    def handle_data(self, data: str) -> None:
        if not self._left_out:
            self._text += data.replace("¶", "")


def read_page(html: str) -> Page:
    """Return what a page says."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    reader.end_block()
    return reader.page


def references(pages: Mapping[str, Page]) -> Iterator[Reference]:
    """Yield the sentences that lead to just one other of *pages*, which are named by path."""
    for path, page in pages.items():
        for block in page.blocks:
            for sentence in _SENTENCE.split(block.text) if block.kind == "p" else ():
                inside = [link for link in block.links if link[1] and link[1] in sentence]
                if len(inside) != 1:
                    continue
                target, words = inside[0]
                to = _page_of(target, path)
                bare = re.findall(r"\w+", sentence.replace(words, " "))
                if to in pages and to != path and _WORDS[0] <= len(bare) <= _WORDS[1]:
                    yield Reference(to, path, sentence, words)


def _page_of(target: str, path: str) -> str:
    name = urldefrag(target)[0]
    if not name or ":" in name:
        return path
    parts: list[str] = path.split("/")[:-1]
    for part in name.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def chosen(found: Iterable[Reference], count: int, seed: int = 1) -> list[Reference]:
    """Return *count* of them, no sentence twice and few to the same page, by *seed*."""
    rows = sorted(set(found))
    random.Random(seed).shuffle(rows)  # noqa: S311
    times: dict[str, int] = defaultdict(int)
    seen: set[str] = set()
    kept = []
    for row in rows:
        if row.sentence not in seen and times[row.to] < _OF_A_PAGE:
            times[row.to] += 1
            seen.add(row.sentence)
            kept.append(row)
    return kept[:count]


def join(collection: Collection, key: Callable[[Doc], str]) -> Collection:
    """Return *collection* with the documents of one *key* as one document, judged as a whole."""
    groups: dict[str, list[Doc]] = defaultdict(list)
    for doc in collection.docs:
        groups[key(doc)].append(doc)
    ids = {name: f"a{number}" for number, name in enumerate(groups)}
    docs = [
        Doc(ids[name], group[0].title, "\n\n".join(doc.text for doc in group))
        for name, group in groups.items()
    ]
    of: dict[str, set[str]] = defaultdict(set)
    for name, group in groups.items():
        for doc in group:
            of[collection.judged_as(doc.doc_id)].add(ids[name])
    qrels = {
        query: {whole: 1 for doc, score in judged.items() if score > 0 for whole in of[doc]}
        for query, judged in collection.qrels.items()
    }
    return Collection(collection.name, tuple(docs), collection.queries, qrels)


def write(collection: Collection, folder: Path) -> None:
    """Write *collection* in BEIR layout."""
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    docs = ({"_id": d.doc_id, "title": d.title, "text": d.text} for d in collection.docs)
    queries = ({"_id": name, "text": text} for name, text in collection.queries.items())
    for name, rows in (("corpus", docs), ("queries", queries)):
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text("".join(lines), "utf-8")
    judged = (f"{q}\t{d}\t{n}\n" for q, row in collection.qrels.items() for d, n in row.items())
    head = "query-id\tcorpus-id\tscore\n"
    (folder / "qrels" / "test.tsv").write_text(head + "".join(judged), "utf-8")


def _linked(folder: Path, name: str, count: int) -> tuple[Collection, Collection]:
    files = sorted(folder.rglob("*.html"))
    every = {
        file.relative_to(folder).as_posix(): read_page(file.read_text("utf-8", "replace"))
        for file in files
    }
    pages = {path: page for path, page in every.items() if len(page.text()) > _LEAST_PAGE}
    asked = chosen(references(pages), count)
    gone = defaultdict(list)
    for row in asked:
        gone[row.path].append(row.sentence)
    docs = tuple(Doc(path, "", page.text(gone[path])) for path, page in pages.items())
    qrels = {f"q{number}": {row.to: 1} for number, row in enumerate(asked)}
    whole = {f"q{number}": row.sentence for number, row in enumerate(asked)}
    rests = (row.sentence.replace(row.words, " ") for row in asked)
    bare = {f"q{number}": " ".join(rest.split()) for number, rest in enumerate(rests)}
    return Collection(name, docs, whole, qrels), Collection(f"{name}-bare", docs, bare, qrels)


def main(words: Sequence[str] | None = None) -> int:
    """Make the collections and say how large they are."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("how", choices=("links", "join"))
    parser.add_argument("folder", type=Path, help="of pages, or of a collection")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--by", default="title", help="title, or what ends the id of a whole")
    parser.add_argument("--queries", type=int, default=250)
    options = parser.parse_args(words)
    made: Sequence[Collection]
    if options.how == "links":
        made = _linked(options.folder, options.out.name, options.queries)
    else:
        by, mark = options.by == "title", options.by
        whole = load_collection(options.folder, sample=options.queries)
        made = [join(whole, lambda doc: doc.title if by else doc.doc_id.rpartition(mark)[0])]
    for collection, suffix in zip(made, ("", "-bare"), strict=False):
        write(collection, options.out.with_name(f"{options.out.name}{suffix}"))
    size = sum(len(doc.text) for doc in made[0].docs) // max(1, len(made[0].docs))
    print(f"{len(made[0].docs)} documents of {size:,} characters, {len(made[0].queries)} questions")
    return 0


if __name__ == "__main__":
    sys.exit(main())
