"""Rows: of the tables in documents that a question names, those whose label is what is asked.

A row of a table says nothing but a label and its figures, so little of it is like a question,
and a sentence about the same thing is always nearer. Where a question names its documents, and
asks for *total net sales* of them, the row of that name answers, and in a series of documents
the row of that name in each.

A row is as good as its label agrees with what is asked: the harmonic mean of which share of
the question's weight the label has, and which share of the label's the question. A word weighs
by how few labels have it, and nothing where none does: what is asked *about* a figure is in no
label. Pure, but for ``asked_rows``, which reads documents.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, takewhile
from typing import TYPE_CHECKING

from kb_app._ask.evidence import Passage, Piece, cells_of, units_of
from kb_app._ask.extract import Extract
from kb_app._ask.facts import particulars, read
from kb_core.filters import OneOf, all_of
from kb_core.search import PartReading
from kb_core.sentences import Unit
from kb_core.values import dataclass, replace

if TYPE_CHECKING:
    from kb_app._ask.narrowing import Named, Narrowed
    from kb_app._search.engine import Engine
    from kb_core.ports import StoredChunk
    from kb_core.search import Hit

__all__ = [
    "Row",
    "Told",
    "asked_cell",
    "asked_rows",
    "best_rows",
    "label_of",
    "rows_in",
    "with_rows",
]

_MOST_ROWS = 4
_MOST_LABELS = 3
"""Of one document: a question may ask how two of its figures compare."""
_MOST_OF_A_LABEL = 2
"""A table of a quarter has the row, and one of the months since the year began."""
_MOST_CHUNKS = 2500
_AGREES = 0.45
"""Of 53 development questions about filings, 29 of the 46 that have such a row are answered by
one, 17 of the 24 whose best agrees by .7."""
_PLAIN = 0.7
"""Labels that agree so far leave nothing to be said by passages."""
_SAME_LABEL = 0.05
"""How much better another label has to be than the one that most documents have."""
_CHANCE = 0.75
"""Of rows whose label is what is asked, so many answered."""
_TOKEN = re.compile(r"[^\s|]+")
_CELL = re.compile(
    r"[$€£¥₩(−–—%-]*\d[\d.,’']*[)%]*|[$€£¥₩(—–)%-]+|[^\W\d_]{1,3}(?:/[^\W\d_]{1,3})?"
)
"""What a row ends in: figures, dashes, and what is as short as *pts* or *n/m*."""
_DATE = re.compile(r"\b[^\W\d_]{3,9}\.? \d{1,2}, (?:19|20)\d\d\b|\b(?:19|20)\d\d\b")
_TELLING_FIGURE = re.compile(r"\d{3}|\d[.,’']\d|\d\s?%|\d\D+\d")
"""Where no line tells a table: not the number of a page or a note, which is short and alone."""
_IN_TABLE = re.compile(r"[|\t]")
_DIGIT = re.compile(r"\d")
_AROUND = " |\t:$€£¥₩(—–"
_WORD = re.compile(r"[^\W\d_]+")
_INITIALS = re.compile(r"\b[A-Z](?:&?[A-Z])+\b")
_JOINS_ONLY = 3
"""Letters of a word that an abbreviation may leave out, as *R&D* does."""
_NUMBERS = re.compile(r"\d+|\D+")


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table that has a label and figures."""

    chunk: StoredChunk
    unit: Unit
    label: str
    words: frozenset[str]
    """Of the label, as they are compared."""

    @property
    def figures(self) -> str:
        """What stands behind the label."""
        return self.chunk["text"][self.unit.start : self.unit.end].partition(self.label)[2]


@dataclass(frozen=True, slots=True)
class Told:
    """What rows say to a question."""

    extracts: tuple[Extract, ...]
    """By document, in the order of their paths."""
    hits: tuple[Hit, ...]
    """Their chunks, as a search has them."""
    chance: float
    """About how likely one of them is what is asked; 0 where a name of the question is in
    none of them."""

    @property
    def chunks(self) -> list[StoredChunk]:
        """The chunks they stand in."""
        return [extract.passage.chunk for extract in self.extracts]


def label_of(row: str) -> str:
    """Return what names the figures of a row; empty where it is no row of figures."""
    row = row.strip("|\t ")
    plain = _DATE.sub(lambda found: "x" * len(found.group()), row)
    tokens = list(_TOKEN.finditer(plain))
    cells = takewhile(lambda token: _CELL.fullmatch(token.group()), reversed(tokens))
    starts = [token.start() for token in cells if _DIGIT.search(token.group())]
    at = starts[-1] if starts else len(row)
    label = row[:at].strip(_AROUND)
    is_told = _IN_TABLE.search(row) or _TELLING_FIGURE.search(plain, at)
    return label if starts and is_told and any(map(str.isalpha, label)) else ""


def asked_cell(extract: Extract, question: str) -> tuple[int, int] | None:
    """Return the range of a row that stands in the column which *question* names.

    Nothing where it names none or several, or where the cell is empty or in the question.
    """
    chunk, row, header = extract.passage.chunk, extract.text, extract.lead_text
    if header is None and any(
        p.table and p.unit.start == extract.start for p in extract.passage.pieces
    ):
        header = "".join(chunk["heading_path"][-1:])  # of a table that was cut
    if not header or "\n" in row:
        return None
    cells, names, lang = cells_of(row), cells_of(header), chunk["lang"]
    if len(cells) != len(names):
        return None
    asked, plain = _words(question, lang), question.casefold()
    found = [
        (start, end)
        for (start, end), (first, last) in zip(cells, names, strict=True)
        if asked & _words(header[first:last], lang)
        and start < end
        and row[start:end].casefold() not in plain
    ]
    return found[0] if len(found) == 1 else None


def rows_in(chunks: Iterable[StoredChunk]) -> Iterator[Row]:
    """Yield the rows of tables in *chunks*."""
    for chunk in chunks:
        text = chunk["text"]
        for unit in units_of(chunk):
            label = label_of(text[unit.start : unit.end]) if unit.kind == "row" else ""
            is_cut = unit.start == 0 and label[:1].islower()
            if label and not is_cut:
                yield Row(chunk, unit, label, _words(label, chunk["lang"]))


def best_rows(question: str, groups: Sequence[Sequence[Row]]) -> list[tuple[float, Row]]:
    """Return the rows that answer *question*, with how well their labels agree with it; 0..1.

    Of several *groups*, the documents of a series, each gives one; of one, it may be several,
    the second for what the first leaves of the question.
    """
    rows = [row for group in groups for row in group]
    agree = _Agreement(question, rows)
    if len(groups) > 1:
        return _one_of_each(agree, groups)
    found: list[tuple[float, Row]] = []
    for _ in range(_MOST_LABELS):
        at, best = max(((agree(row), row) for row in rows), key=_first, default=(0.0, None))
        if best is None or at < _AGREES:
            break
        found += [(at, row) for row in _of_label(best, rows)]
        agree.forget(best.words)
        rows = [row for row in rows if row.words != best.words]
    return found[:_MOST_ROWS]


def asked_rows(engine: Engine, narrowed: Narrowed, question: str) -> Told:
    """Return what rows of the documents that *question* was narrowed to say to it."""
    found = best_rows(narrowed.named.rest, list(_groups(engine, narrowed.named.doc_ids)))
    found.sort(key=lambda pair: _counted(pair[1].chunk["path"]))
    hits = {hit.chunk_id: hit for hit in _hits(engine, narrowed, [row for _, row in found])}
    found = [(at, row) for at, row in found if row.chunk["chunk_id"] in hits]
    best = max((at for at, _ in found), default=0.0)
    has_all = not _missing(question, narrowed.named, [row for _, row in found])
    return Told(
        tuple(_extract(at, row) for at, row in found),
        tuple(hits.values()),
        round(_CHANCE * best, 3) if has_all else 0.0,
    )


def with_rows(told: Told | None, chosen: Sequence[Extract]) -> list[Extract]:
    """Return the rows, and what was *chosen* from passages, as far as there is room for both."""
    rows = list(told.extracts) if told is not None else []
    if any(row.chance >= _PLAIN for row in rows):
        return rows
    stand = {(each.passage.chunk["chunk_id"], each.start) for each in rows}
    others = [each for each in chosen if (each.passage.chunk["chunk_id"], each.start) not in stand]
    return rows + others[: max(0, _MOST_ROWS - len(rows))]


class _Agreement:
    """How well a label agrees with a question, of which parts can be forgotten."""

    def __init__(self, question: str, rows: Sequence[Row]) -> None:
        counted = Counter(word for row in rows for word in row.words)
        self._weights = {
            word: math.log1p((len(rows) + 1) / (count + 0.5)) for word, count in counted.items()
        }
        langs = {row.chunk["lang"] for row in rows}
        self._asked = frozenset[str]().union(*(_words(question, lang) for lang in langs))
        meant = {short.replace("&", "").casefold() for short in _INITIALS.findall(question)}
        labels = {row.label: row.words for row in rows} if meant else {}
        for label, words in labels.items():
            if meant & _initials(label):
                self._asked |= words

    def __call__(self, row: Row) -> float:
        both = self._weight(self._asked & row.words)
        return 2 * both / (self._weight(self._asked) + self._weight(row.words)) if both else 0.0

    def forget(self, words: frozenset[str]) -> None:
        """Take *words* out of what is asked."""
        self._asked -= words

    def _weight(self, words: Iterable[str]) -> float:
        return math.fsum(self._weights.get(word, 0.0) for word in words)


def _one_of_each(agree: _Agreement, groups: Sequence[Sequence[Row]]) -> list[tuple[float, Row]]:
    """Return the best row of each group; of labels that agree alike, the one that is best of all.

    Nothing where none is good; of more groups than are shown, the best, and of these the last.
    """
    scored = [[(agree(row), row) for row in group] for group in groups]
    best = max((pair for group in scored for pair in group), key=_first, default=None)
    if best is None:
        return []
    label = best[1].words

    def worth(pair: tuple[float, Row]) -> float:
        return pair[0] + (_SAME_LABEL if pair[1].words == label else 0.0)

    firsts = [max(group, key=worth) for group in scored if group]
    good = [pair for pair in firsts if pair[0] >= _AGREES]
    good.sort(key=lambda pair: (pair[0], _counted(pair[1].chunk["path"])))
    return good[-_MOST_ROWS:]


def _of_label(best: Row, rows: Sequence[Row]) -> list[Row]:
    """Return the rows of one label whose figures begin with another one each, *best* first."""
    alike = sorted((row for row in rows if row.words == best.words), key=lambda row: row != best)
    by_figure = {row.figures.strip(_AROUND).split(" ")[0]: row for row in reversed(alike)}
    kept = {id(row) for row in by_figure.values()}
    return [row for row in alike if id(row) in kept][:_MOST_OF_A_LABEL]


def _groups(engine: Engine, doc_ids: Sequence[str]) -> Iterator[list[Row]]:
    """Yield the rows of each document; of documents that one title parts into several, together.

    So pages that are files of their own are one where their titles tell what they are pages of.
    """
    chunks: list[StoredChunk] = []
    for doc_id in doc_ids:
        if len(chunks) < _MOST_CHUNKS:
            chunks += engine.snapshot.doc_chunks(doc_id)
    parts = len({chunk["title"] for chunk in chunks}) > 1

    def whole(chunk: StoredChunk) -> str:
        return chunk["title"] if parts else chunk["doc_id"]

    for _, group in groupby(sorted(chunks, key=whole), key=whole):
        yield list(rows_in(group))


def _hits(engine: Engine, narrowed: Narrowed, rows: Sequence[Row]) -> Iterator[Hit]:
    """Yield the chunks of *rows* as a search for their labels has them."""
    run = narrowed.ranking.run
    for label in dict.fromkeys(row.label for row in rows):
        ids = dict.fromkeys(row.chunk["chunk_id"] for row in rows if row.label == label)
        where = all_of([run.where, OneOf("chunk_id", tuple(ids))])
        query = replace(run.query, text=label)
        yield from engine.answer(engine.ranking(query, where)).hits


def _extract(at: float, row: Row) -> Extract:
    piece = Piece(row.unit, row.label, frozenset(), at, PartReading((), 0.0))
    passage = Passage(row.chunk, at, (piece,), at)
    return Extract(passage, row.unit.start, row.unit.end, row.unit.lead, at)


def _missing(question: str, named: Named, rows: Sequence[Row]) -> set[str]:
    """Return names and figures of *question* that neither name documents nor stand by *rows*."""
    lang = rows[0].chunk["lang"] if rows else None
    reading = read(". " + " ".join(_around(row.chunk) for row in rows), lang)
    has = {*reading.names, *reading.words, *(value for value, _ in reading.figures)}
    asked = particulars(question, lang)
    return {word for form, word in asked.items() if form not in has} - named.written


def _around(chunk: StoredChunk) -> str:
    return " ".join((chunk["path"], chunk["title"], *chunk["heading_path"], chunk["text"]))


def _words(text: str, lang: str | None) -> frozenset[str]:
    """Return what *text* says but for its figures."""
    reading = read(f". {text}", lang)
    return frozenset((*reading.words, *reading.names, *reading.signs))


def _initials(label: str) -> set[str]:
    """Return what *label* may be abbreviated to."""
    words = _WORD.findall(label.casefold())
    return {
        "".join(word[0] for word in words),
        "".join(word[0] for word in words if len(word) > _JOINS_ONLY),
    }


def _counted(path: str) -> list[tuple[int, str]]:
    """Return *path* as it is ordered: its numbers by their value."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in _NUMBERS.findall(path)]


def _first(pair: tuple[float, Row]) -> float:
    return pair[0]
