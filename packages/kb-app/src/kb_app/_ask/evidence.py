"""Evidence: the best passages of a question, cut into units and held against it.

What is measured of a unit and of a passage here is what both the choice of sentences
(``extract``) and the decision whether there is an answer at all (``gate``) go by.

* **Words**: which share of the weight of the question's words a unit holds; of a passage,
  what its heading and title hold, too. Where it is told whether they answer, what a question
  is asked with, as *how*, hardly counts.
* **Reading**: for each token of the question, how near the nearest token of the unit comes
  (MaxSim, as in ``kb_search.rerank``). A passage is read once, whole, and its sentences are
  told apart afterwards, so that each is read with what stands around it. Where no model can
  read, words alone decide.
* **Names and figures** of the question, and which of them no passage has.
* **Languages**: whether a passage is in another one than the question, where words tell
  nothing. Notes in several stand side by side, so that is said of each.

A row of a table says nothing without the header over it, and is held against the question
with that: the header of its table, and where a table was cut, the names of its columns, which
stand over the rest as a heading.

A passage of code is one unit, by which it is judged. Where it is long, its blocks are read each
by itself, and quoted.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import PurePosixPath
from typing import NamedTuple

from kb_app._ask.code_blocks import blocks, statement
from kb_app._ask.facts import (
    dull_stems,
    has_designation,
    in_one_word,
    particulars,
    read,
    stem_of,
    years_in,
)
from kb_app._ask.languages import TOLD, asked_in, empty_words
from kb_app._ask.sections import Section, of_others
from kb_app._search.defining import is_constant, values_given
from kb_core.dates import with_months
from kb_core.media import Media
from kb_core.ports import CloseReader, StoredChunk, never
from kb_core.search import KnownWords, PartReading
from kb_core.sentences import Unit, units
from kb_core.values import dataclass, replace
from kb_search.analysis import analyze

__all__ = [
    "DEPTH",
    "Evidence",
    "Passage",
    "Piece",
    "bare",
    "constants_of",
    "evidence_of",
    "has_name",
    "heading_in",
    "mean",
    "units_of",
]

DEPTH = 5
"""How many passages are read: on development collections, the answer stands in the first
five in 99 of 100 questions that have one."""

_KNOWN = 0.5
"""Which share of a question's words some passage holds, in a language of the documents."""
_KNOWN_OF_FEW = 0.25
"""The same where there are fewer passages than are read: few hold few of the words of any
question. Questions in another language have at most so many there, nine times in ten."""
_EMPTY = 0.1
"""Of its weight, what a word has that means nothing by itself, such as *how*."""
_TELLS = 0.05
"""Of the weight of a question's heaviest word, what a word has at least that tells anything."""
_COMPOUNDING = frozenset({"de", "nl", "sv", "da", "no", "nb", "lb"})
"""Languages that write compounds as one word, whose last part says what they are."""
_SHORT_OF, _SHORT_HEAD = 3, 4
"""How many letters are before that last part, and in it, at least: *Preis* is no *Reis*."""
_VOWEL = re.compile("[aeiouyäöüåæø]")
_NO_READING = PartReading((), 0.0)
_NO_LETTERS = re.compile(r"[\W_]+")
_LABEL = re.compile(r"([^\n:：–—]{1,40}?)\s?(?:[:：]\s|：|\s[–—]\s)")
_HEADING = re.compile(r"(#{1,6})\s+(.*?)[ \t#]*\Z")
_NAMES = re.compile(r"\w+", re.ASCII)
_LEAST_LINES = 3
"""So many lines with a label are a list of such."""
_RANGE = re.compile(r"(?<!\d)(?<!\d[:.])(\d+)(?!\d|[:.]\d)(?:[ ]?[-–][ ]?(\d+))?")


@dataclass(frozen=True, slots=True)
class Piece:
    """A unit of a passage, and how it stands to the question."""

    unit: Unit
    text: str
    held: frozenset[int]
    """Which words of the question it holds, by their number."""
    share: float
    """Of the weight of the question's words, what it holds; 0..1."""
    reading: PartReading
    """Empty where nothing read it."""
    table: str = ""
    """Of a row: what all rows of a document under one header have in common."""
    opens: float = 0.0
    """What the headings hold, of the weight of the question's words, that it is the first below."""
    gives: bool = False
    """Whether it gives a value to a constant that the question names."""
    parts: tuple[Piece, ...] = ()
    """Of long code, what it consists of, each read by itself; together they are all of it."""
    is_outdone: bool = False
    """Whether another row of its table holds more of the question: that one is meant."""
    is_beside: bool = False
    """Whether another line of its list, which comes as near, has more of the question in its
    label, as in *Nadja: 19 September*."""

    @property
    def nearness(self) -> float:
        """The mean nearness of the question's tokens; 0 where nothing read it."""
        return mean(self.reading.nearest)

    @property
    def farthest(self) -> float:
        """How near the token of the question comes that is farthest from it."""
        return min(self.reading.nearest, default=0.0)


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk of the list, in units."""

    chunk: StoredChunk
    score: float
    """What the list is ordered by."""
    pieces: tuple[Piece, ...]
    share: float
    """What it holds of the weight of the question's words, with its headings and title."""
    over: PartReading = _NO_READING
    """Of its headings and title, where they hold what of the question nothing below them does."""
    held: frozenset[int] = frozenset()
    """Which words of the question it holds, with its headings and title."""
    is_foreign: bool = False
    """Whether it is in another language than the question, or no passage knows most of its words.
    A page in several languages is told to be in one: what holds most of the words is in theirs."""

    @property
    def nearest(self) -> tuple[float, ...]:
        """For each token of the question, the nearest that comes in any of its pieces."""
        readings = (self.over, *(piece.reading for piece in self.pieces))
        read = [reading.nearest for reading in readings if reading.nearest]
        return tuple(map(max, zip(*read, strict=True))) if read else ()

    @property
    def nearness(self) -> float:
        """The mean over the tokens of the question."""
        return mean(self.nearest)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a question has, best passage first."""

    question: str
    passages: tuple[Passage, ...]
    weights: tuple[float, ...]
    """Of the question's words, by their number."""
    asking: tuple[float, ...]
    """The same, of those that mean nothing by themselves a tenth."""
    is_read: bool
    """Whether a model has read the passages; else words alone tell."""
    is_narrowed: bool = False
    """Whether the passages are of documents that the question names, of several that are
    alike."""

    unnamed: tuple[frozenset[str], ...] = ()
    """For each passage, the names and figures of the question that it does not have."""
    named: int = 0
    """How many the question has."""

    @property
    def is_foreign(self) -> bool:
        """Whether all of it is in another language than the question."""
        return all(passage.is_foreign for passage in self.passages)

    @property
    def is_told_foreign(self) -> bool:
        """Whether it is, and that is told: of a short list of names or times nothing tells it."""
        return self.is_foreign and all(one.chunk["lang"] in TOLD for one in self.passages)

    @property
    def missing(self) -> frozenset[str]:
        """The names and figures of the question that no passage has, as it writes them."""
        return self.unnamed[0].intersection(*self.unnamed[1:]) if self.unnamed else frozenset()

    @property
    def lacking(self) -> float:
        """Their share that the passage lacks which has most of them; 0..1."""
        return min(map(len, self.unnamed), default=0) / self.named if self.named else 0.0

    @property
    def in_parts(self) -> Evidence:
        """The same with the parts of long code in its place: these are what is quoted."""
        if not any(piece.parts for passage in self.passages for piece in passage.pieces):
            return self
        told = [
            replace(one, pieces=tuple(chain.from_iterable(p.parts or (p,) for p in one.pieces)))
            for one in self.passages
        ]
        return replace(self, passages=tuple(told))

    def share(self, held: frozenset[int]) -> float:
        """Return the share that the words *held* have of the weight of all; 0..1."""
        return _share(self.weights, held)

    def asked(self, held: frozenset[int]) -> float:
        """Return the same of what is asked: what it is asked with, as *how*, hardly counts."""
        return _share(self.asking, held)


def evidence_of(  # noqa: PLR0913 - what evidence is made of
    question: str,
    chunks: Sequence[StoredChunk],
    scores: Sequence[float],
    known: KnownWords,
    reader: CloseReader | None,
    *,
    rest: str | None = None,
    indexed: int | None = None,
    stop: Callable[[], bool] = never,
) -> Evidence | None:
    """Return the evidence in *chunks*, which have *scores*; ``None`` if *stop* came first.

    *rest* is what is asked of the documents that the question names, where the chunks are of
    these alone; *known* are the words of what is asked, *indexed* how many passages there are.
    """
    holding = _Holding(known)
    constants = constants_of(question)
    cut = [_cut(chunk, holding, constants, question) for chunk in chunks]
    readings: Sequence[Sequence[PartReading]]
    if reader is not None:
        read = reader.read(rest or question, [each.read for each in cut], stop=stop)
        if read is None:
            return None
        readings = read
    else:
        readings = [[_NO_READING] * len(each.read) for each in cut]
    unknown = known.share < (_KNOWN_OF_FEW if (indexed or DEPTH) < DEPTH else _KNOWN)
    foreign = _foreign(asked_in(question), chunks, unknown=unknown)
    asking = _weighed(known, question, chunks)
    passages = [
        _passage(each, score, of_parts, holding)
        for each, score, of_parts in zip(cut, scores, readings, strict=True)
    ]
    passages = [
        replace(passage, is_foreign=is_foreign and _share(asking, passage.held) < _KNOWN)
        for passage, is_foreign in zip(passages, foreign, strict=True)
    ]
    weights = tuple(word.weight for word in known.words)
    asked = [particulars(question, chunk["lang"]) for chunk in chunks]
    return Evidence(
        question,
        tuple(_of_whom_is_asked(list(_under_headers(passages, holding)), question, holding)),
        weights,
        asking,
        is_read=reader is not None,
        is_narrowed=rest is not None,
        unnamed=tuple(
            _unnamed(each, chunk, question) for each, chunk in zip(asked, chunks, strict=True)
        ),
        named=max(map(len, asked), default=0),
    )


def constants_of(question: str) -> frozenset[str]:
    """Return the names of constants in a question, ``MOST_ROWS``."""
    return frozenset(filter(is_constant, _NAMES.findall(question)))


def has_name(chunk: StoredChunk, name: str) -> bool:
    """Say whether a chunk has a name, however it is spelled: settings have ``mostRows``."""
    return bare(name) in bare(" ".join((chunk["path"], *chunk["heading_path"], chunk["text"])))


def is_called(piece: Piece, chunk: StoredChunk, name: str, number: str) -> bool:
    """Say whether *piece* of *chunk* has a name with its number, as *RE 9*, or is a row of that.

    One of both may stand over a row: the number of *Platform 3* in that column, if there is one.
    Else a row may begin with it.
    """
    if has_designation(piece.text, name, number):
        return True
    if piece.unit.kind == "item":  # of several, as *Rooms 12-14*
        said = read(f". {piece.text}", chunk["lang"]).content
        return stem_of(name, chunk["lang"]) in said and _has_number(piece.text, number)
    if not piece.table:
        return False
    if cells := _under(piece, chunk, name):
        return any(_has_number(cell, number) for cell in cells)
    header = chunk["text"][slice(*piece.unit.lead)] if piece.unit.lead else ""
    over = " ".join((chunk["title"], *chunk["heading_path"], chunk["path"], header))
    lang = chunk["lang"]
    row, above = (read(f". {text}", lang).content for text in (piece.text, over))
    called, value = stem_of(name, lang), str(int(number))
    return (
        re.match(rf"\W*0*{value}\s*[|\t;,]", piece.text) is not None
        or (called in above and value in row)
        or (called in row and value in above)
    )


def is_called_otherwise(piece: Piece, chunk: StoredChunk, name: str, number: str) -> bool:
    """Say whether *piece* has a name with a number that is another one, or has it in its column.

    What has several numbers, as *Room 12/13*, may have this one.
    """
    told = _under(piece, chunk, name) if piece.table else []
    told += re.findall(
        rf"(?<![^\W_]){re.escape(name)}[ -]?(\d+(?!\w|[ ]?[-–,/&+][ ]?\d))",
        piece.text,
        re.IGNORECASE,
    )
    return any(re.search(r"\d", one) and not _has_number(one, number) for one in told)


def _under(row: Piece, chunk: StoredChunk, name: str) -> list[str]:
    """Return the cells of a row that stand in columns called *name*."""
    text, lang = chunk["text"], chunk["lang"]
    header = text[slice(*row.unit.lead)].partition("\n")[0] if row.unit.lead else ""
    header = header or "".join(chunk["heading_path"][-1:])  # of a table that was cut
    names, cells = cells_of(header), cells_of(row.text)
    if len(names) != len(cells):
        return []
    called = stem_of(name, lang)
    return [
        row.text[start:end]
        for (start, end), (first, last) in zip(cells, names, strict=True)
        if called in read(f". {header[first:last]}", lang).content
    ]


def cells_of(line: str) -> list[tuple[int, int]]:
    """Return the ranges of the cells of a row; none of one whose commas may be within cells."""
    found: list[tuple[int, int]] = []
    mark = next((mark for mark in "|\t;" if mark in line), ",")
    if mark == "," and '"' in line:
        return found
    at = 0
    for part in line.split(mark):
        start = at + len(part) - len(part.lstrip())
        found.append((start, max(start, at + len(part.rstrip()))))
        at += len(part) + 1
    return found[1:-1] if line.startswith("|") and line.endswith("|") else found


def _has_number(text: str, number: str) -> bool:
    """Say whether *text* has a number, by itself or within a range, as *12-14* has 13."""
    wanted = int(number)
    ranges = ((int(first), int(last or first)) for first, last in _RANGE.findall(text))
    return any(first <= wanted <= last for first, last in ranges)


def units_of(chunk: StoredChunk) -> list[Unit]:
    """Return what a chunk is made of, as is known of its medium."""
    is_table = chunk["media"] == Media.CSV.value
    return units(
        chunk["text"],
        is_code=chunk["media"] == Media.CODE.value,
        columns=" ".join(chunk["heading_path"][-1:]) if is_table else None,
        suffix=PurePosixPath(chunk["path"]).suffix,
        headings=chunk["heading_path"],
        is_unbroken=chunk["media"] == Media.OFFICE.value,
    )


def _foreign(asked: frozenset[str], chunks: Sequence[StoredChunk], *, unknown: bool) -> list[bool]:
    """Return of each chunk whether it seems to be in another language than what is *asked* in.

    Where the language of either can't be told, a question whose words are *unknown* to all
    passages is in another one.
    """
    is_told = [bool(asked) and chunk["lang"] in TOLD for chunk in chunks]
    return [
        chunk["lang"] not in asked if told else unknown
        for chunk, told in zip(chunks, is_told, strict=True)
    ]


def _weighed(known: KnownWords, question: str, chunks: Sequence[StoredChunk]) -> tuple[float, ...]:
    """Return the weights of *known* words, of those that mean nothing by themselves a tenth.

    Few notes hold the words that questions are asked with, and what few hold weighs most.
    """
    words = empty_words(question)
    langs = {"en", "de", "es", "fr", None, *(chunk["lang"] for chunk in chunks)}
    empty = {form for word in words for lang in langs for form in _forms(word, lang)}
    return tuple(
        word.weight * (1.0 if empty.isdisjoint(word.forms) else _EMPTY) for word in known.words
    )


def _heads(term: str) -> Iterator[str]:
    """Yield what *term* may be a kind of, if it is a compound: *gurke* of *salatgurke*."""
    for at in range(_SHORT_OF, len(term) - _SHORT_HEAD + 1):
        if _VOWEL.search(term, 0, at):
            yield term[at:]


def _forms(text: str, lang: str | None) -> set[str]:
    streams = analyze(text, lang)
    return {*streams.stem.split(), *streams.cjk.split(), *streams.exact.split()}


def bare(text: str) -> str:
    """Return *text* as it is compared: letters and digits alone."""
    return _NO_LETTERS.sub("", unicodedata.normalize("NFKC", text).casefold())


def _unnamed(asked: Mapping[str, str], chunk: StoredChunk, question: str) -> frozenset[str]:
    """Return what of *asked* neither a chunk nor what stands over it has."""
    if not asked:
        return frozenset()
    over = " ".join((chunk["title"], *chunk["heading_path"], chunk["path"]))
    text = f"{over} {with_months(chunk['text'], question)}"
    has = read(f". {text}", chunk["lang"]).content | years_in(text)
    return frozenset(
        word for form, word in asked.items() if form not in has and not _is_apart(word, text)
    )


def _is_apart(word: str, text: str) -> bool:
    """Say whether *text* has a word such as *S1* with its number apart."""
    found = in_one_word(word)
    return found is not None and has_designation(text, *found)


def mean(values: Sequence[float], otherwise: float = 0.0) -> float:
    """Return the mean of *values*, and *otherwise* where there are none."""
    return math.fsum(values) / len(values) if values else otherwise


class _Cut(NamedTuple):
    """A chunk in units, and which words of the question each of them holds."""

    chunk: StoredChunk
    units: Sequence[Unit]
    texts: Sequence[str]
    held: Sequence[frozenset[int]]
    around: frozenset[int]
    """What the title and the headings over it hold."""
    titles: Sequence[str]
    """They, as one text, if they hold words which nothing below them does."""
    given: frozenset[Unit]
    """What gives a value to a constant that the question names."""
    blocks: Sequence[Sequence[Unit]]
    """Of each unit, what it consists of, if it is long code."""

    @property
    def read(self) -> list[str]:
        """What is read closely."""
        text = self.chunk["text"]
        parts = (
            [text[one.start : one.end] for one in blocks] if blocks else [own]
            for own, blocks in zip(self.texts, self.blocks, strict=True)
        )
        return [*self.titles, *chain.from_iterable(parts)]


def _cut(chunk: StoredChunk, holding: _Holding, constants: frozenset[str], question: str) -> _Cut:
    lang, over = chunk["lang"], dict.fromkeys((chunk["title"], *chunk["heading_path"]))
    parts = units_of(chunk)
    given: list[Unit] = []
    if constants and chunk["media"] == Media.CODE.value:
        parts, given = _by_constants(parts, chunk, constants)
    texts = [chunk["text"][unit.start : unit.end] for unit in parts]
    if chunk["media"] != Media.CODE.value:
        texts = [with_months(text, question) for text in texts]
    held = [holding.words_in(text, lang) for text in texts]
    named = " ".join(over)
    around = holding.words_in(f"{named} {analyze(named).ident}", lang)
    titles = [", ".join(over)] if around.difference(*held) else []
    inner = [
        () if unit in given else _blocks(text, unit, chunk)
        for text, unit in zip(texts, parts, strict=True)
    ]
    return _Cut(chunk, parts, texts, held, around, titles, frozenset(given), inner)


def _blocks(text: str, unit: Unit, chunk: StoredChunk) -> Sequence[Unit]:
    """Return the blocks of *text*, which a unit of code is, if it is long."""
    if chunk["media"] != Media.CODE.value:
        return ()
    found = blocks(text, chunk["code_lang"])
    return [Unit(unit.start + start, unit.start + end, "code") for start, end in found]


def _by_constants(
    parts: Sequence[Unit], chunk: StoredChunk, constants: frozenset[str]
) -> tuple[list[Unit], list[Unit]]:
    """Return units of code, cut around what gives one of *constants* a value, and these.

    With the comment over it, the brackets that it opens, and the text below that explains it.
    """
    text = chunk["text"]
    given: list[Unit] = []
    for at in sorted(set(values_given(text, constants, chunk["code_lang"]))):
        start, end = statement(text, at, chunk["code_lang"])
        if not given or start >= given[-1].end:
            given.append(Unit(start, end, "code"))
    cut: list[Unit] = []
    for unit in parts:
        start = unit.start
        for each in given:
            if unit.start <= each.start and each.end <= unit.end:
                cut += [Unit(start, each.start, "code"), each]
                start = each.end
        cut.append(replace(unit, start=start))
    return [unit for unit in cut if text[unit.start : unit.end].strip()], given


def _passage(
    cut: _Cut, score: float, readings: Sequence[PartReading], holding: _Holding
) -> Passage:
    titled = len(cut.titles)
    own = iter(readings[titled:])
    pieces = [
        _piece(unit, held, [next(own) for _ in blocks or (unit,)], blocks, cut, holding)
        for unit, held, blocks in zip(cut.units, cut.held, cut.blocks, strict=True)
    ]
    pieces = _of_the_note(_of_things(pieces, holding), cut.chunk, holding)
    pieces = _by_label(pieces, cut, holding)
    held = cut.around.union(*(piece.held for piece in pieces))
    over = readings[0] if titled else _NO_READING
    return Passage(cut.chunk, score, tuple(pieces), holding.share(held), over, held)


def _piece(
    unit: Unit,
    held: frozenset[int],
    readings: Sequence[PartReading],
    blocks: Sequence[Unit],
    cut: _Cut,
    holding: _Holding,
) -> Piece:
    """Return a unit with how it was read; of long code, as near as any of its *blocks*."""
    text, lang = cut.chunk["text"], cut.chunk["lang"]
    parts = []
    for block, reading in zip(blocks, readings, strict=False):
        said = text[block.start : block.end]
        has = holding.words_in(said, lang)
        parts.append(Piece(block, said, has, holding.share(has), reading))
    reading = readings[0]
    for other in readings[1:]:
        nearer = _as_near(reading, other)
        reading = nearer._replace(cosine=max(reading.cosine, other.cosine))
    own = text[unit.start : unit.end]
    share = holding.share(held)
    return Piece(unit, own, held, share, reading, gives=unit in cut.given, parts=tuple(parts))


def _of_things(pieces: Sequence[Piece], holding: _Holding) -> list[Piece]:
    """Return pieces held against the question with the directive that says what they describe.

    The first one below headings, or such a directive, knows how much of the question these hold.
    """
    at = {(piece.unit.start, piece.unit.end): piece for piece in pieces}
    told: list[Piece] = []
    over: frozenset[int] = frozenset()
    for piece in pieces:
        is_over = piece.unit.kind == "heading"
        opens = 0.0 if is_over else holding.share(over)
        thing = at.get(piece.unit.thing or (0, 0))
        held, reading = piece.held, piece.reading
        if thing is not None:
            held, reading = held | thing.held, _as_near(reading, thing.reading)
        share = holding.share(held)
        told.append(replace(piece, held=held, share=share, reading=reading, opens=opens))
        over = over | held if is_over else frozenset()
    return told


def _of_the_note(pieces: list[Piece], chunk: StoredChunk, holding: _Holding) -> list[Piece]:
    """Return pieces, values of front matter with what the note is called that they are of."""
    if not any(piece.unit.kind == "value" for piece in pieces):
        return pieces
    called = holding.words_in(chunk["title"], chunk["lang"])

    def told(piece: Piece) -> Piece:
        held = piece.held | called
        return replace(piece, held=held, share=holding.share(held))

    return [told(piece) if piece.unit.kind == "value" else piece for piece in pieces]


def _by_label(pieces: list[Piece], cut: _Cut, holding: _Holding) -> list[Piece]:
    """Return pieces; lines of a list know whether another has more of the question in its label.

    And comes as near: a label may have a word of the question by chance. What has all that the
    headings over it lack in its label, as *Default: 100* below the name of an option, is what is
    first said of them.
    """
    lang = cut.chunk["lang"]

    def label_of(piece: Piece) -> frozenset[int] | None:
        label = _LABEL.match(piece.text) if piece.unit.kind in {"item", "sentence"} else None
        return holding.words_in(label[1], lang) & holding.telling if label else None

    labels = [label_of(piece) for piece in pieces]
    pieces = [
        _of_its_heading(piece, cut.around, holding)
        if label and holding.telling <= label | cut.around
        else piece
        for label, piece in zip(labels, pieces, strict=True)
    ]
    told = [(label, each) for label, each in zip(labels, pieces, strict=True) if label is not None]
    if len(told) < _LEAST_LINES:
        return pieces

    def is_beside(piece: Piece, label: frozenset[int] | None) -> bool:
        return label is not None and any(
            label < other and piece.nearness <= each.nearness for other, each in told
        )

    return [
        replace(piece, is_beside=is_beside(piece, label))
        for piece, label in zip(pieces, labels, strict=True)
    ]


def _of_its_heading(piece: Piece, around: frozenset[int], holding: _Holding) -> Piece:
    held = piece.held | around
    return replace(piece, opens=1.0, held=held, share=holding.share(held))


def _as_near(one: PartReading, other: PartReading) -> PartReading:
    """Return a reading that is as near as either of two."""
    if not (one.nearest and other.nearest):
        return one
    return one._replace(nearest=tuple(map(max, one.nearest, other.nearest)))


def _under_headers(passages: Sequence[Passage], holding: _Holding) -> Iterator[Passage]:
    """Yield *passages*, their rows held against the question with what stands over them."""
    leads = [{one.unit.lead for one in each.pieces if one.unit.kind == "row"} for each in passages]
    headers = {
        _table(passage.chunk, piece.text): piece
        for passage, over in zip(passages, leads, strict=True)
        for piece in passage.pieces
        if (piece.unit.start, piece.unit.end) in over
    }
    under = [
        [
            piece
            if piece.unit.kind != "row" or (piece.unit.start, piece.unit.end) in over
            else _under_header(piece, passage.chunk, headers, holding)
            for piece in passage.pieces
        ]
        for passage, over in zip(passages, leads, strict=True)
    ]
    rows: dict[str, set[frozenset[int]]] = {}
    for piece in chain.from_iterable(under):
        if piece.table:
            rows.setdefault(piece.table, set()).add(piece.held & holding.telling)

    def is_outdone(piece: Piece) -> bool:
        told = piece.held & holding.telling
        return any(told < other for other in rows.get(piece.table, ()))

    for passage, pieces in zip(passages, under, strict=True):
        found = tuple(replace(piece, is_outdone=is_outdone(piece)) for piece in pieces)
        yield replace(passage, pieces=found)


def _under_header(
    piece: Piece, chunk: StoredChunk, headers: Mapping[str, Piece], holding: _Holding
) -> Piece:
    unit = piece.unit
    over = chunk["text"][slice(*unit.lead)] if unit.lead else " ".join(chunk["heading_path"][-1:])
    table = _table(chunk, over)
    header = headers.get(table)
    held = piece.held | (header.held if header else holding.words_in(over, chunk["lang"]))
    reading = _as_near(piece.reading, header.reading) if header else piece.reading
    return replace(piece, held=held, share=holding.share(held), reading=reading, table=table)


def _of_whom_is_asked(
    passages: Sequence[Passage], question: str, holding: _Holding
) -> Iterator[Passage]:
    """Yield *passages*; what they say of others than the question names heads what follows it."""
    asked = [particulars(question, passage.chunk["lang"]).values() for passage in passages]
    others = of_others(list(_sections(passages)), question, frozenset(chain.from_iterable(asked)))
    for number, passage in enumerate(passages):
        places = {place for at, place in others if at == number}
        yield _without(passage, places, holding) if places else passage


def _without(passage: Passage, places: Container[int], holding: _Holding) -> Passage:
    """Return a passage of which the pieces at *places* say nothing."""
    pieces = tuple(
        replace(piece, unit=replace(piece.unit, kind="heading"), reading=_NO_READING,
                held=frozenset[int](), share=0.0) if place in places else piece
        for place, piece in enumerate(passage.pieces)
    )  # fmt: skip
    over = " ".join((passage.chunk["title"], *passage.chunk["heading_path"]))
    around = holding.words_in(over, passage.chunk["lang"])
    held = passage.held & around.union(*(piece.held for piece in pieces))
    return replace(passage, pieces=pieces, held=held, share=holding.share(held))


def _sections(passages: Sequence[Passage]) -> Iterator[Section]:
    """Yield what stands below each heading of Markdown, as far as passages have it."""
    for number, passage in enumerate(passages):
        path, doc_id = passage.chunk["heading_path"], passage.chunk.get("doc_id", "")
        lines: dict[tuple[int, int], str] = {}
        is_list = True
        depth, name = len(path), "".join(path[-1:])
        for place, piece in enumerate(passage.pieces):
            if (heading := heading_in(piece)) is not None:
                yield Section(doc_id, depth, name, lines, is_list)
                (depth, name), lines, is_list = heading, {}, True
            elif piece.unit.kind != "heading":
                lines[number, place] = piece.text
                is_list &= piece.unit.kind == "item"
        yield Section(doc_id, depth, name, lines, is_list)


def heading_in(piece: Piece) -> tuple[int, str] | None:
    """Return the level and the name of a heading of Markdown; ``None`` of anything else."""
    match = _HEADING.match(piece.text) if piece.unit.kind == "heading" else None
    return None if match is None else (len(match[1]), match[2])


def _table(chunk: StoredChunk, header: str) -> str:
    return f"{chunk['doc_id']} {bare(header)}"


class _Holding:
    """Says which words of a question a text holds, and how much they weigh."""

    def __init__(self, known: KnownWords) -> None:
        self._forms = [frozenset(word.forms) for word in known.words]
        self._weights = tuple(word.weight for word in known.words)
        self._heads = frozenset[str]().union(*self._forms)
        least = _TELLS * max(self._weights, default=0.0)
        self.telling = frozenset(
            number
            for number, word in enumerate(known.words)
            if word.weight > least and dull_stems().isdisjoint(word.forms)
        )
        """The words that tell one row of a table from another, by their number."""

    def words_in(self, text: str, lang: str | None) -> frozenset[int]:
        """Return the numbers of the words that *text* holds."""
        terms = _forms(text, lang)
        if lang in _COMPOUNDING:
            terms |= {head for term in terms for head in _heads(term) if head in self._heads}
        return frozenset(i for i, forms in enumerate(self._forms) if forms & terms)

    def share(self, held: frozenset[int]) -> float:
        """Return their share of the weight of all."""
        return _share(self._weights, held)


def _share(weights: Sequence[float], held: frozenset[int]) -> float:
    total = math.fsum(weights)
    return math.fsum(weights[i] for i in held) / total if total else 0.0
