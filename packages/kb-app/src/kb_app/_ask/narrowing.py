"""Narrowing: of documents that say nearly the same, those that the question names.

Where every report of a series says nearly the same, the company and the quarter of a question
tell which report is meant, and they stand on its first page, in its title or its name, and in
hardly a table of it. As words among others they lead away: to the passages that say the name
most often, which are not those with the figures. So such a question is searched again, without
what names the documents, and among these alone.

That is done where two of the first passages repeat each other, and one of the first is of a
document that goes by what the question names; and where documents begin alike, as reports with
the same cover do, if a row of their tables then answers (``rows``). Elsewhere a question stays
as it was asked. ``named`` is pure; ``narrow`` searches.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kb_app._ask.evidence import DEPTH
from kb_app._ask.facts import particulars, read
from kb_app._ask.gate import any_alike, kind_among
from kb_app._search.ranking import page_of
from kb_core.filters import OneOf, Or, Range, all_of
from kb_core.values import dataclass, replace

if TYPE_CHECKING:
    from kb_app._search.engine import Engine, RankedList
    from kb_core.ports import StoredChunk

__all__ = ["Named", "Narrowed", "Titled", "named", "narrow"]

_OPENING = 800
"""Characters from the beginning of a document that say what it is: a cover, a letterhead."""
_LONGEST_SECS = 31 * 24 * 3600
_COVERS = 10
"""How many times longer a document is than its cover."""
_MOST_DOCUMENTS = 60
_QUARTER = re.compile(
    r"\b(?:(?P<one>first|erste[nrms]*|premier|primer)|(?P<two>second|zweite[nrms]*|deuxième|segundo)"
    r"|(?P<three>third|dritte[nrms]*|troisième|tercer)"
    r"|(?P<four>fourth|vierte[nrms]*|quatrième|cuarto)|(?P<digit>[1-4])\.)"
    r" (?:quarter|quartals?|trimestre)\b",
    re.IGNORECASE,
)
_LATEST = re.compile(
    r"\b(?:latest|newest|(?:most |)recent|neueste[nrms]?|letzte[nrms]?|jüngste[nrms]?|últim[oa]s?"
    r"|derni(?:er|ère)s?|plus récente?s?)\b",
    re.IGNORECASE,
)
_OF_DOCUMENTS = re.compile(
    r"\b(?:report(?:s|ed|ing)?|filings?|documents?|quarter(?:s|ly)?|periods?|\d+-[A-Z]s?"
    r"|berichte?s?|quartale?s?|zeitra(?:um|ums)|informes?|rapports?|trimestres?|per[ií]odos?"
    r"|périodes?)\b",
    re.IGNORECASE,
)
"""Words for what is named, which lead to passages that speak of reports."""
_DIGITS = re.compile(r"\d+")
_OWNER = re.compile(r"['’]s?$")


@dataclass(frozen=True, slots=True)
class Titled:
    """A document, and what it goes by."""

    doc_id: str
    path: str
    over: str
    """Its title, its path and how it begins."""
    lang: str | None
    length: int = 0
    """In characters."""


@dataclass(frozen=True, slots=True)
class Named:
    """Documents that a question names."""

    doc_ids: tuple[str, ...]
    by: tuple[str, ...]
    """What names them, as the question writes it."""
    rest: str
    """What is asked of them."""

    @property
    def written(self) -> frozenset[str]:
        """What names them, and the same as an owner."""
        return frozenset(f"{word}{owns}" for word in self.by for owns in ("", "'s", "’s", "'", "’"))


@dataclass(frozen=True, slots=True)
class Narrowed:
    """What a question finds in the documents that it names."""

    ranking: RankedList
    named: Named
    is_sure: bool
    """Whether passages tell a series; else it is one only if a row of a table answers."""


def named(question: str, documents: Sequence[Titled]) -> Named | None:
    """Return which of *documents* the *question* names best, if it names any.

    Names tell before figures, and both together before either; of those that are named alike,
    the latest where that is asked for, as far as their paths count them.
    """
    asked = _QUARTER.sub(lambda found: f"{found.group()} {_quarter_of(found)}", question)
    told: dict[tuple[int, int], list[tuple[Titled, frozenset[str]]]] = {}
    for document in documents:
        given = particulars(asked, document.lang)
        forms = {form: word for form, word in given.items() if len(form) > 1}  # *two* names none
        reading = read(f". {document.over}", document.lang)
        has = {*reading.names, *reading.words, *(value for value, _ in reading.figures)}
        found = {form for form in forms if form in has}
        held = frozenset(_OWNER.sub("", forms[form]) for form in found)
        names = sum(not any(map(str.isdigit, form)) for form in found)
        told.setdefault((names, len(held)), []).append((document, held))
    best = max(told, default=(0, 0))
    if best == (0, 0):
        return None
    chosen = [document for document, _ in told[best]]
    if _LATEST.search(question):
        chosen = _latest(chosen)
    by = sorted(told[best][0][1], key=asked.find)
    rest = _without(question, by)
    if not read(rest).content:
        return None
    return Named(tuple(document.doc_id for document in chosen), tuple(by), rest)


def narrow(engine: Engine, ranking: RankedList) -> Narrowed | None:
    """Return what the question of *ranking* finds in the documents that it names.

    ``None`` where it names none, or where what it found does not repeat itself.
    """
    question = ranking.run.parsed.text
    if not particulars(question):
        return None
    rows = page_of(ranking.rows, 0, len(ranking.rows), engine.renderer.places)
    by_key = engine.renderer.chunks([row.chunk_key for row in rows])
    chunks = [by_key[row.chunk_key] for row in rows if row.chunk_key in by_key]
    documents = _documents(engine, chunks)
    repeats = kind_among(chunks[:DEPTH]) == "series"
    with_covers = [each.over for each in documents if each.length > _COVERS * _OPENING]
    if not repeats and not any_alike(with_covers):
        return None
    found = named(question, documents)
    if found is None:
        return None
    first = {chunk["doc_id"] for chunk in chunks[:DEPTH]}
    is_sure = repeats and not first.isdisjoint(found.doc_ids)
    if not is_sure and not any_alike(with_covers):
        return None
    where = all_of([ranking.run.where, OneOf("doc_id", found.doc_ids)])
    query = replace(ranking.run.query, text=found.rest)
    return Narrowed(engine.ranking(query, where), found, is_sure=is_sure)


def of_the_date(engine: Engine, ranking: RankedList, *, in_series: bool) -> Narrowed | None:
    """Return what the question of *ranking* finds in documents of the date that it names.

    Reports of a series tell of a year in the next one, too: there, a year is no such date.
    """
    run = ranking.run
    if not run.dates or run.parsed.meant == run.parsed.text:
        return None
    if in_series and any(date.until - date.since > _LONGEST_SECS for date in run.dates):
        return None
    dates = Or(tuple(Range("doc_date", date.since, date.until) for date in run.dates))
    query = replace(run.query, text=run.parsed.meant)
    found = engine.ranking(query, all_of([run.where, dates]))
    chunks = engine.renderer.chunks([row.chunk_key for row in found.rows]).values()
    documents = tuple(dict.fromkeys(chunk["doc_id"] for chunk in chunks))
    words = tuple(word for date in run.dates for word in re.findall(r"\w+", date.text))
    named = Named(documents, words, run.parsed.meant)
    return Narrowed(found, named, is_sure=True) if documents else None


def _documents(engine: Engine, chunks: Iterable[StoredChunk]) -> list[Titled]:
    """Return the documents of *chunks*, the first ones first."""
    first: dict[str, StoredChunk] = {}
    for chunk in chunks:
        first.setdefault(chunk["doc_id"], chunk)
    return [_titled(engine, chunk) for chunk in list(first.values())[:_MOST_DOCUMENTS]]


def _titled(engine: Engine, chunk: StoredChunk) -> Titled:
    text = engine.snapshot.doc_text(chunk["doc_id"]) or ""
    path = re.sub(r"[/_.-]", " ", chunk["path"])
    over = " ".join((chunk["title"], path, text[:_OPENING]))
    return Titled(chunk["doc_id"], chunk["path"], over, chunk["lang"], len(text))


def _quarter_of(found: re.Match[str]) -> str:
    numbers = {"one": 1, "two": 2, "three": 3, "four": 4}
    return f"Q{found['digit'] or numbers.get(found.lastgroup or '', 0)}"


def _latest(documents: Sequence[Titled]) -> list[Titled]:
    """Return the last of *documents* by the numbers of its path, where these alone differ."""
    if len({_DIGITS.sub("#", document.path) for document in documents}) != 1:
        return list(documents)
    return [max(documents, key=lambda document: list(map(int, _DIGITS.findall(document.path))))]


def _without(question: str, words: Sequence[str]) -> str:
    """Return *question* without *words*, and without what says which report is meant."""
    for word in words:
        question = re.sub(rf"\b{re.escape(word)}\b(?:['’]s?(?=\W|$))?", " ", question)
    for pattern in (_QUARTER, _LATEST, _OF_DOCUMENTS):
        question = pattern.sub(" ", question)
    return " ".join(question.split())
