"""Pieces: passages of one answer, as far as they are shown, and the line above each.

A piece is a passage whole, its beginning, several that are one, or the lines of it that tell
(``telling``). Its head is ``path:start-end of how many lines · heading or symbol``; of a unit
of code that goes beyond the passage it gives the lines, so that what is fetched next is as
large as it has to be.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, TypeAlias

from kb_core.media import Media
from kb_core.search import MIN_SNIPPET_CHARS
from kb_core.sentences import units
from kb_core.text import WORD
from kb_core.values import dataclass, replace
from kb_mcp.text import (
    LONGEST_PATH,
    indented,
    joined,
    marks_of,
    named,
    numbered,
    said_by,
    short,
    weight,
)

__all__ = ["LABEL", "Page", "Piece", "bare_heading", "without_copies"]

_Json: TypeAlias = Mapping[str, Any]

LABEL = 90
"""Characters of a heading or of symbols in a head."""
_NAME = 40
"""Characters of a heading or a symbol where several places are one line."""
_SHORT_ID = 8
_BETWEEN = 2
"""Characters at most between two passages of one place, such as a page, that go on."""
_WEAK = 0.25
"""Of the best score: what is below shares little with the query, in lists where scores tell.
Of questions with an answer among the first ten, it hardly ever is so far below."""
_WORDS, _RUN = re.compile(WORD), 3
_COPIED = 0.9
"""The share of a passage's runs of three words that another has of which it is a copy."""
_COPIES = 2
"""Places of copies that are named."""
_TELLING = frozenset({"aggregated", "bm25", "fused", "rrf"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A passage, or several that are one."""

    hits: tuple[_Json, ...]
    text: str
    start: int
    end: int
    first: int | None
    """Its first line, where it has lines."""
    is_cut: bool = False
    """Whether it ends before its passage does."""
    is_late: bool = False
    """Whether it begins after its passage does."""
    told: tuple[str, ...] | None = None
    """Its lines as they are shown, where not all are."""
    values: tuple[str, ...] = ()
    """Lines from elsewhere that say what constants in it are."""
    copies: tuple[str, ...] = ()
    """Where nothing else stands than in this."""

    @classmethod
    def of(cls, hit: _Json) -> Piece:
        """Return the passage of a hit."""
        passage, place = hit["passage"], hit["citation"]
        text = passage["text"].rstrip()
        start = passage["start"]
        # Of a notebook or a page of the web, lines are those of the file, not of its text.
        has_lines = passage.get("lines") is not None
        first = place.get("line_start", place.get("start")) if has_lines else None
        return cls(hits=(hit,), text=text, start=start, end=start + len(text), first=first)

    @property
    def last(self) -> int:
        """Its last line."""
        return (self.first or 0) + self.text.count("\n")

    @property
    def key(self) -> tuple[str, int]:
        """What tells it from the other passages of an answer."""
        return self.hits[0]["chunk_id"], self.start

    @property
    def file(self) -> tuple[str, str]:
        """The source and the path of its document."""
        return self.hits[0]["source_id"], self.hits[0]["doc_path"]

    @property
    def heading(self) -> str:
        """What the section is called that it stands in."""
        return str(next(reversed(self.hits[0].get("heading_path", ())), "")).strip()

    @property
    def is_code(self) -> bool:
        """Whether it is told by lines alone, and not by sentences."""
        return bool(self.hits[0]["media"] == Media.CODE.value) and self.first is not None

    @property
    def cost(self) -> int:
        """What its lines cost, by ``weight``."""
        return sum(weight(line) + 1 for line in self.lines())

    def lines(self) -> list[str]:
        """Return the passage as it is shown."""
        if self.told is not None:
            return [*self.told, *self.values]
        if self.first is None:
            return list(indented(self.text))
        return [*numbered(self.text, self.first), *self.values]

    def places(self) -> Iterator[tuple[str, int]]:
        """Yield the path and the number of each line that is shown of it and has one."""
        for line in self.lines() if self.first is not None else ():
            number, _, _ = line.partition(" ")
            if number.isdecimal():
                yield self.hits[0]["doc_path"], int(number)

    def part(self, begin: int, end: int | None = None) -> Piece:
        """Return what of it is between two places of its text."""
        text = self.text[begin:end].rstrip()
        return replace(
            self,
            text=text,
            start=self.start + begin,
            end=self.start + begin + len(text),
            first=None if self.first is None else self.first + self.text.count("\n", 0, begin),
            is_late=self.is_late or begin > 0,
            is_cut=self.is_cut or begin + len(text) < len(self.text),
        )

    def beginning(self, most: int) -> int:
        """Return where *most* characters of its text begin that hold the place of its snippet.

        A quarter of them is what leads to that place. It is the beginning of a line of code, of
        a sentence of prose, and of all where the place is among the first of them.
        """
        words = map(re.escape, self.hits[0]["snippet"].strip("… \n").split())
        found = re.search(r"\s+".join(words), self.text)
        at = found.start() if found else 0
        if at + MIN_SNIPPET_CHARS <= most:
            return 0
        earliest = min(at - most // 4, len(self.text) - most)
        if self.is_code:
            starts = [line.end() for line in re.finditer("\n", self.text)]
        else:
            starts = [unit.start for unit in units(self.text)]
        return next((start for start in starts if earliest <= start <= at), max(0, earliest))

    def said(self) -> list[int]:
        """Return what tells its lines from all others."""
        return said_by(self.hits[0]["doc_id"], self.lines())

    def is_in(self, given: Container[int]) -> bool:
        """Say whether all of it was given already."""
        return all(line in given for line in self.said())

    def joined_with(self, other: Piece) -> Piece | None:
        """Return this and one that begins later as one, if only white space is between them."""
        gap = other.start - self.end
        if not (self.told is other.told is None):
            return None
        if gap <= 0:
            text = self.text + other.text[-gap:]
        elif self.is_cut or (self.first is None) is not (other.first is None):
            return None
        elif self.first is None or other.first is None:
            uris = {hit["citation"]["uri"] for hit in self.hits + other.hits}
            if gap > _BETWEEN or len(uris) > 1:
                return None
            text = f"{self.text}{chr(10) * gap}{other.text}"
        else:
            breaks = other.first - self.last
            if gap != max(1, breaks):
                return None
            text = f"{self.text}{chr(10) * breaks or ' '}{other.text}"
        return replace(
            self,
            hits=self.hits + other.hits,
            values=tuple(dict.fromkeys(self.values + other.values)),
            copies=tuple(dict.fromkeys(self.copies + other.copies)),
            text=text,
            end=max(self.end, other.end),
            is_cut=(other if other.end > self.end else self).is_cut,
            is_late=self.is_late,
        )


def without_copies(hits: Sequence[_Json]) -> list[Piece]:
    """Return the passages of *hits*, but for those in other places that say nothing else.

    Such as a generated file, or one that was copied in; the passage before says where they are.
    """
    kept, said = list[Piece](), list[set[tuple[str, ...]]]()
    for piece in map(Piece.of, hits):
        words = _WORDS.findall(piece.text.casefold())
        runs = set(zip(*(words[at:] for at in range(_RUN)), strict=False)) or {tuple(words)}
        copied = (len(runs & one) >= _COPIED * len(runs) for one in said)
        if (at := next((n for n, is_copied in enumerate(copied) if is_copied), None)) is None:
            kept.append(piece)
            said.append(runs)
            continue
        where = f"{named(piece.hits[0]['doc_path'])}{_place(piece)}"
        kept[at] = replace(kept[at], copies=(*kept[at].copies, where))
    return kept


@dataclass(frozen=True, slots=True)
class Page:
    """What is the same for all hits of an answer, and the heads that follow from it."""

    ambiguous: frozenset[str]
    """Paths that several sources have."""
    weak_below: float
    queries: int
    """How many found something."""
    shared: frozenset[tuple[str, str]]
    """Documents and places that several hits have, such as parts of one long line."""

    @classmethod
    def of(cls, hits: Sequence[_Json]) -> Page:
        """Return what *hits* have in common."""
        paths = Counter(path for path, _ in {(hit["doc_path"], hit["source_id"]) for hit in hits})
        places = Counter(map(_spot, {hit["chunk_id"]: hit for hit in hits}.values()))
        tells = bool(hits) and hits[0]["rank"] == 1 and hits[0]["score_kind"] in _TELLING
        best = max((hit["score"] for hit in hits), default=0.0)
        return cls(
            frozenset(path for path, times in paths.items() if times > 1)
            | {hit["doc_path"] for hit in hits if hit.get("in_several")},
            _WEAK * best if tells else float("-inf"),
            len({at for hit in hits for at in hit.get("matched_queries", ())}),
            frozenset(spot for spot, times in places.items() if times > 1),
        )

    def head(self, piece: Piece, *, goes_on: bool = False, is_whole: bool = True) -> str:
        """Return the line above a passage, or the one that stands for it."""
        hit = piece.hits[0]
        lines = hit["passage"].get("lines")
        path = "" if goes_on else named(hit["doc_path"])
        of = f" of {lines}" if lines and not goes_on else ""
        marks = dict.fromkeys(mark for one in piece.hits for mark in self._marks(one))
        # Where several are one, the first id leads there.
        others = {_id(one) for one in piece.hits[1:]} - {_id(hit)}
        marks = {mark: None for mark in marks if mark not in others}
        if self.is_weak(piece):
            marks["weak"] = None
        if piece.is_cut or piece.is_late:
            marks[_cut(piece)] = None
        if piece.copies:
            more = f", +{more}" if (more := len(piece.copies) - _COPIES) > 0 else ""
            marks[f"same text in {', '.join(piece.copies[:_COPIES])}{more}"] = None
        return joined(f"{path}{_place(piece)}{of}", _label(piece, is_whole=is_whole), *marks)

    def place(self, piece: Piece) -> str:
        """Return where a passage stands and what it is called, as one of several in a line."""
        hit = piece.hits[0]
        if hit["media"] == Media.CODE.value:
            name = (hit["section_label"] or "").rpartition(".")[2]
        else:
            name = next(reversed(hit["heading_path"]), "")
            name = "" if _says(PurePosixPath(hit["doc_path"]).stem, name) else name
        source = f" (source {short(hit['source_id'])})" if hit["doc_path"] in self.ambiguous else ""
        is_all = piece.first == 1 and piece.last == hit["passage"].get("lines")
        place = "" if is_all else _place(piece)
        return f"{named(hit['doc_path'])}{place}{source} {short(name, _NAME)}".rstrip()

    def is_weak(self, piece: Piece) -> bool:
        """Say whether a passage is far below the best."""
        return all(one["score"] < self.weak_below for one in piece.hits)

    def _marks(self, hit: _Json) -> Iterator[str]:
        has_lines = hit["passage"].get("lines") is not None
        if hit["doc_path"] in self.ambiguous:
            yield f"source {short(hit['source_id'])}"
        is_cut = len(hit["doc_path"]) > LONGEST_PATH
        if not has_lines or is_cut or hit["doc_path"] in self.ambiguous or self._is_shared(hit):
            yield _id(hit)
        if self.queries > 1 and len(hit["matched_queries"]) > 1:
            yield f"{len(hit['matched_queries'])} queries"
        if more := hit.get("more_in_doc"):
            yield f"+{more} more in it"
        yield from marks_of(hit)

    def _is_shared(self, hit: _Json) -> bool:
        return _spot(hit) in self.shared


def _id(hit: _Json) -> str:
    return f"id {hit['chunk_id'][:_SHORT_ID]}"


def _spot(hit: _Json) -> tuple[str, str]:
    return hit["doc_id"], hit["citation"]["uri"]


def _says(name: str, heading: str) -> bool:
    """Say whether the name of a file has half of the words of a heading."""
    words = _WORDS.findall(heading.casefold())
    return 2 * len({*_WORDS.findall(name.casefold())}.intersection(words)) >= len({*words})


def _cut(piece: Piece) -> str:
    """Return which part of its passage a piece is."""
    if piece.first is None:
        return "cut"
    parts = (f"from {piece.first}" * piece.is_late, f"at {piece.last}" * piece.is_cut)
    return " ".join(("cut", *filter(None, parts)))


def _place(piece: Piece) -> str:
    if piece.first is not None:
        return f":{piece.first}" + (f"-{piece.last}" if piece.last != piece.first else "")
    # As it is cited: so it can be asked for with the path before it.
    return f"#{short(piece.hits[0]['citation']['uri'].rpartition('#')[2])}"


def _label(piece: Piece, *, is_whole: bool) -> str:
    """Return what a passage is called, unless its first line or its file says that."""
    if piece.hits[0]["media"] == Media.CODE.value:
        return short(", ".join(dict.fromkeys(_symbols(piece))), LABEL)
    hit = piece.hits[0]
    headings = list(hit["heading_path"])
    if is_whole and headings and bare_heading(piece.text.split("\n", 1)[0]) == piece.heading:
        del headings[-1]
    elif not headings and hit["title"]:
        headings = [hit["title"]]
    names = (PurePosixPath(hit["doc_path"]).stem, hit["doc_path"].rpartition("/")[2])
    if headings and headings[0] in names:
        del headings[0]
    if piece.told is not None:
        del headings[:-1]
    return short(" › ".join(headings), LABEL)


def _symbols(piece: Piece) -> Iterator[str]:
    for hit in piece.hits:
        passage, name = hit["passage"], hit["section_label"] or ""
        start, end = passage.get("unit_start", piece.first), passage.get("unit_end", 0)
        if (start or 0) < (piece.first or 0) or end > piece.last:
            yield f"{name} {start}-{end}".strip()
        elif name:
            yield name


def bare_heading(line: str) -> str:
    """Return what a line says as a heading."""
    return line.strip("#=*_ \t")
