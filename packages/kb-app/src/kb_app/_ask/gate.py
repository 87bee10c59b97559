"""The gate: whether the evidence answers the question at all, as a chance from 0 to 1.

It goes by the best passage and the best unit of ``evidence``, not by scores of the list, so
that it says the same whichever way they were found. The constants are those of a logistic
regression over development collections: each question asked as it is, and with every
document taken out that answers it, its near neighbours left; each collection weighs the same.

What the same figure means depends on the kind of what is read. Where every report of a series
says nearly the same, nearness tells nothing and the names and dates of the question tell which
one is meant; talk comes near a question with every other sentence; of code there is mostly
another piece that does the same. So for each kind the odds are bent: stretched or flattened,
and lowered by the share of the names and figures asked about that no passage has.

Rows of a table, too, come near what is asked of any of them. Unless one holds more of the
question than all others do, a name or figure that no passage has is the one that was meant.

A passage may be about the very thing of the question and not say what is asked of it: then
it leads over all others, and all the more the fewer there are. So prose has to pass a second
measure, too, which looks at no other passage: how near the word comes that is farthest from it,
and which share of the question's words it holds. The chance is the lesser of both.

Where there is one passage alone, or one unit, it leads over nothing, which says nothing. Then it
is taken to lead as far as the nearest does where nothing answers.

Passages in another language than the question hold few of its words, whatever they say, and
come less near than those in its own. So they are judged apart, by a gate of their own that goes by
nearness alone, and where that alone is sure of them, they are what answers.

Below a first line there is no answer; below a second, it is given as weak.
``tools/bench/answers.py`` fits and measures all of it, by collection, language and model.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, compress
from operator import mul
from typing import Literal, TypeAlias
from unicodedata import category

from kb_app._ask.evidence import (
    Evidence,
    Passage,
    Piece,
    constants_of,
    has_name,
    is_called,
    is_called_otherwise,
    mean,
)
from kb_app._ask.facts import designations, has_designation, numbered, years_in
from kb_core.answers import WEAK_EVIDENCE
from kb_core.media import Media
from kb_core.ports import StoredChunk
from kb_core.text import SIGNS
from kb_core.values import dataclass, replace

__all__ = [
    "FEATURES",
    "Gate",
    "Kind",
    "any_alike",
    "chance_of",
    "doubts",
    "features",
    "gate_of",
    "is_measured",
    "judged",
    "kind_among",
    "kind_of",
    "odds_of",
]

Kind: TypeAlias = Literal["prose", "series", "talk", "code"]
"""What is read: ``series`` are passages that repeat each other, as reports and versions do."""

FEATURES = (
    "nearness of the best unit", "its farthest token", "its share of the words",
    "its lead over the next five", "nearness of the nearest passage", "its farthest token",
    "its lead over the others", "its share of the words", "the best share of the words",
)  # fmt: skip


_ALIKE = 0.4
"""The share of their words that two passages of a series have in common."""
_WORD = re.compile(rf"[\w{SIGNS}]+")
_TURN = re.compile(r"[^\W\d_a-z][\w.'’-]*(?: [^\W\d_a-z][\w.'’-]*){0,2}:\s")
"""Whose turn it is to speak, at the start of a line."""


@dataclass(frozen=True, slots=True)
class Gate:
    """The constants of one way to read one kind of passages."""

    weights: tuple[float, ...]
    """The constant, then one for each of ``FEATURES``."""
    threshold: float
    """Below it, there is no answer."""
    sure: float
    """Below it, there is one, and it is weak."""
    bend: tuple[float, float, float] = (0.0, 1.0, 0.0)
    """How the odds are bent: a constant, what they are multiplied with, and what is added for
    names and figures of which no passage has any."""
    says: tuple[float, float, float] | None = None
    """How the odds that a passage says what is asked follow from its farthest token and its
    share of the words: a constant and two factors."""
    leads: tuple[float, float] = (0.0, 0.0)
    """What a unit and a passage are taken to lead by where there is no other."""


_GATES: dict[str, Gate] = {
    "multilingual-e5-small": Gate(
        (-23.1, 13.8, 2.3, 1.07, 48.6, -3.94, 11, 24.5, 7.11, -1.82),
        0.35,
        0.6,
        says=(-36.6, 43.3, 10.6),
        leads=(0.016, 0.025),
    ),
    "multilingual-e5-small, foreign": Gate(
        (-26.3, 0, 0, 0, 34, 32, 0, 30.5, 0, 0), 0.55, 0.77, leads=(0.016, 0.03)
    ),
    "all-MiniLM-L6-v2": Gate(
        (-6.73, 4.51, 0.0205, 0.614, 10.6, 3.19, -4.04, 5.5, 2, 2.67), 0.35, 0.6
    ),
    "": Gate((-2.47, 0, 0, 2.71, 0, 0, 0, 0, 5.81, -1.46), 0.52, 0.52),
}
"""By the name of the model that reads, and for passages in another language than the question;
``""``: words alone."""

_BENDS: dict[str, dict[Kind, tuple[float, float, float]]] = {
    "multilingual-e5-small": {
        "series": (0.69, 0.0, -3.3),
        "talk": (0.05, 0.418, -1.47),
        "code": (-0.2, 0.2, 0.0),
    },
    "all-MiniLM-L6-v2": {
        "series": (0.69, 0.0, -3.3),
        "talk": (-0.06, 0.56, -1.61),
        "code": (-0.2, 0.2, 0.0),
    },
}
_BENT_LINES = 0.35, 0.6
_OF_A_ROW = 0.0, 1.0, -5.0
"""How the odds are bent where a row of a table is the best unit."""
_MOMENTS = tuple(
    re.compile(rf"(?<![\d:.-]){moment}(?![\d:]|[.-]\d)")
    for moment in (r"\d\d?:\d\d", r"\d{4}-\d\d-\d\d", r"\d\d?\.\d\d?\.\d{4}")
)
"""A time, and a day as it is written in either way."""
_ABOUT = re.compile(
    r"\b(?:after|before|until|till|since|from|between|around|about|by|near\w*|next|clos\w+|first"
    r"|last|nach|vor|bis|ab|seit|zwischen|gegen|nächst\w*|après|avant|jusqu\w*|depuis|entre|vers"
    r"|después|antes|hasta|desde|hacia|dopo|prima|fino|tra|na|voor|tot|tussen|rond)\b",
    re.IGNORECASE,
)
"""Words by which a question asks for another time than the one that it names."""
_ELSEWHERE = -5.0
"""Odds below which the evidence is about something else, of whatever kind it is: of questions
with an answer one in twenty lies there, of those made for other documents three in four."""


def is_measured(model: str) -> bool:
    """Say whether there is a gate for what *model* reads."""
    return model in _GATES


def gate_of(model: str, evidence: Evidence) -> Gate | None:
    """Return the gate for what *model* read; ``None`` for a model that nobody measured."""
    if not evidence.is_read:
        return _GATES[""]
    plain = _GATES.get(f"{model}, foreign" if evidence.is_foreign else model)
    bend = None if evidence.is_foreign else _BENDS.get(model, {}).get(kind_of(evidence))
    if plain is not None and bend is not None:
        return Gate(plain.weights, *_BENT_LINES, bend)
    is_row = any(piece.table for piece in _best_of(evidence)[:1])
    return replace(plain, bend=_OF_A_ROW) if plain is not None and is_row else plain


def judged(model: str, evidence: Evidence) -> tuple[Evidence, Gate | None]:
    """Return what of *evidence* is to answer, and the gate for that.

    It is all, or that in another language than the question, where only this is sure to and
    lacks no name that others have. Where all would answer, though weakly, it has to come
    nearest.
    """
    gate = gate_of(model, evidence)
    kept = [passage.is_foreign for passage in evidence.passages]
    if gate is None or not any(kept) or all(kept):
        return evidence, gate
    passages = tuple(compress(evidence.passages, kept))
    unnamed = tuple(compress(evidence.unnamed, kept))
    abroad = replace(evidence, passages=passages, unnamed=unnamed)
    near, nearest = (max(map(_near, each.passages)) for each in (abroad, evidence))
    least = gate.threshold if near < nearest else gate.sure
    if chance_of(evidence, gate) >= least or not abroad.missing <= evidence.missing:
        return evidence, gate
    across = gate_of(model, abroad)
    is_sure = across is not None and chance_of(abroad, across) >= across.sure
    return (abroad, across) if is_sure else (evidence, gate)


def _near(passage: Passage) -> float:
    return passage.nearness


def kind_of(evidence: Evidence) -> Kind:
    """Return what is read; where a series was narrowed, it is one."""
    if evidence.is_narrowed:
        return "series"
    return kind_among([passage.chunk for passage in evidence.passages])


def kind_among(chunks: Sequence[StoredChunk]) -> Kind:
    """Return what most of *chunks* are, or that some of them repeat each other."""
    if sum(chunk["media"] == Media.CODE.value for chunk in chunks) * 2 > len(chunks):
        return "code"
    lines = [
        line
        for chunk in chunks
        for line in chunk["text"].splitlines()
        if line.strip() and not line.startswith("#")
    ]
    if sum(bool(_TURN.match(line)) for line in lines) * 2 > len(lines):
        return "talk"
    return "series" if any_alike([chunk["text"] for chunk in chunks]) else "prose"


def any_alike(texts: Sequence[str]) -> bool:
    """Say whether two of *texts* repeat each other."""
    words = [frozenset(_WORD.findall(text.casefold())) for text in texts]
    pairs = combinations(words, 2)
    return any(len(one & two) > _ALIKE * len(one | two) for one, two in pairs)


def chance_of(evidence: Evidence, gate: Gate) -> float:
    """Return about how likely *evidence* answers its question."""
    has_pieces = any(passage.pieces for passage in evidence.passages)
    if not has_pieces or not _asks(evidence) or not _names_any(evidence) or not _has_row(evidence):
        return 0.0
    if _is_of_none(evidence):
        return 0.0
    constant, slope, lacking = gate.bend
    odds = odds_of(evidence, gate)
    if odds >= _ELSEWHERE:
        odds = constant + slope * odds + lacking * _lacking(evidence)
    if gate.says is not None:
        odds = min(odds, _odds_of_saying(evidence, gate.says))
    return round(1 / (1 + math.exp(-odds)), 3)


def _asks(evidence: Evidence) -> bool:
    """Say whether the question has a word, or a symbol that some passage has: ``?!`` asks nothing.

    A model comes near anything with it.
    """
    if any(map(str.isalnum, evidence.question)):
        return True
    symbols = {each for each in evidence.question if category(each).startswith("S")}
    return any(not symbols.isdisjoint(passage.chunk["text"]) for passage in evidence.passages)


def _names_any(evidence: Evidence) -> bool:
    """Say whether some passage has one of the constants that the question names, if it names any.

    A name that no passage has is not what another one with half of its words is.
    """
    named = constants_of(evidence.question)
    return not named or _constants_lacking(evidence) != named


def _constants_lacking(evidence: Evidence) -> frozenset[str]:
    """Return the constants of the question that no passage has."""
    chunks = [passage.chunk for passage in evidence.passages]
    return frozenset(
        name
        for name in constants_of(evidence.question)
        if not any(has_name(chunk, name) for chunk in chunks)
    )


def _has_row(evidence: Evidence) -> bool:
    """Say whether a row, or an item, that comes nearest can be what the question calls by number.

    *RE 7* is not *RE 9*, whatever else has a 9. Where rows of the table or items of the list have
    a word with other numbers, as *room 12*, what is asked of *room 13* needs one that has this.
    """
    best = _best_of(evidence)[0]
    if not best.table and best.unit.kind != "item":
        return True
    told = [(piece, one.chunk) for one in evidence.passages for piece in one.pieces]
    beside = [
        (piece, chunk)
        for piece, chunk in told
        if piece.table == best.table and piece.unit.kind == best.unit.kind
    ]
    asked = designations(evidence.question) if best.table else []
    others = [
        one
        for one in numbered(evidence.question)
        if any(is_called_otherwise(*each, *one) for each in beside)
    ]
    has_asked = any(is_called(*each, *one) for each in told for one in asked)
    has_others = any(
        any(is_called(*each, *one) for each in beside)
        or any(has_designation(piece.text, *one) for piece, _ in told)
        for one in others
    )
    return (has_asked or not asked) and (has_others or not others)


def _is_of_none(evidence: Evidence) -> bool:
    """Say whether what comes nearest is one of a list or a table, and what is asked of none.

    Its items tell of a flight to Oslo, to Bergen and to Rome, of 09:10 and of 11:40; a question
    for the flight to Paris, or for that at 12:40, names what stands nowhere. No item is told from
    the others by its words then, and no time or day that is asked for is one of theirs.
    """
    missing = evidence.missing
    if not missing or evidence.is_told_foreign:
        return False
    best = _best_of(evidence)[0]
    is_item = best.unit.kind == "item"
    if not (best.table or is_item):
        return False
    beside = next(one.pieces for one in evidence.passages if best in one.pieces)
    others = [
        piece
        for piece in beside
        if piece is not best and (piece.unit.kind, piece.table) == (best.unit.kind, best.table)
    ]
    if not others:
        return False
    is_told = all(piece.share < best.share for piece in others)
    has_name = any(word[0].isalpha() for word in missing)
    if is_item and has_name and evidence.lacking == 1.0 and not is_told:
        return True
    if _ABOUT.search(evidence.question):
        return False
    return any(
        sum(kind.search(each.text) is not None for each in (best, *others)) > 1
        for kind in _MOMENTS
        if any(map(kind.fullmatch, missing))
    )


def _lacking(evidence: Evidence) -> float:
    """Return the share of names and figures that are lacking: all, if a row is to be told by one.

    Where one row of a table holds more of the question than all others, it is told. A year that a
    table with others lacks is lacking, whatever it stands for elsewhere.
    """
    best, *rest = _best_of(evidence)
    if best.table and _is_of_other_years(evidence, best):
        return 1.0
    is_told = not best.table or all(piece.table != best.table for piece in rest)
    return evidence.lacking if is_told else math.ceil(evidence.lacking)


def _is_of_other_years(evidence: Evidence, row: Piece) -> bool:
    """Say whether the table of *row* has years, and none of those that the question names."""
    asked = years_in(evidence.question)
    chunk = next(one.chunk for one in evidence.passages if row in one.pieces)
    over = years_in(" ".join((chunk["title"], chunk["path"], *chunk["heading_path"])))
    told = years_in(chunk["text"])
    return bool(asked and told) and asked.isdisjoint(told | over)


def _odds_of_saying(evidence: Evidence, says: tuple[float, float, float]) -> float:
    constant, farthest, share = says
    return constant + max(
        farthest * min(passage.nearest, default=0.0) + share * evidence.asked(passage.held)
        for passage in evidence.passages
    )


def doubts(
    evidence: Evidence, gate: Gate | None, chance: float | None, known: Iterable[str] = ()
) -> Iterator[str]:
    """Yield what a reader of the answer has to know of its evidence.

    Names that are *known* are those that its documents were found by.
    """
    if gate is not None and chance is not None and gate.threshold <= chance < gate.sure:
        yield f"{WEAK_EVIDENCE}: confidence {chance:.2f}"
    lacking = _constants_lacking(evidence)
    parts = {part for name in constants_of(evidence.question) for part in name.split("_")}
    missing = (evidence.missing - parts | lacking).difference(known)
    if missing and not evidence.is_told_foreign:
        names = ", ".join(sorted(missing, key=evidence.question.find))
        yield f"not mentioned by the evidence: {names}"


def odds_of(evidence: Evidence, gate: Gate) -> float:
    """Return the odds before they are bent; *evidence* has a unit at least."""
    return gate.weights[0] + math.fsum(map(mul, gate.weights[1:], features(evidence, gate.leads)))


def features(evidence: Evidence, leads: tuple[float, float] = (0.0, 0.0)) -> tuple[float, ...]:
    """Return ``FEATURES`` of the evidence, which has a unit at least.

    *leads* stand for those over other units and passages where there is none.
    """
    best, *rest = _best_of(evidence)
    first, *others = sorted(evidence.passages, key=lambda passage: -passage.nearness)
    return (
        best.nearness,
        best.farthest,
        evidence.asked(best.held),
        best.nearness - mean([piece.nearness for piece in rest[:5]], best.nearness - leads[0]),
        first.nearness,
        min(first.nearest, default=0.0),
        first.nearness - mean([one.nearness for one in others], first.nearness - leads[1]),
        evidence.asked(first.held),
        max(evidence.asked(passage.held) for passage in evidence.passages),
    )


def _best_of(evidence: Evidence) -> list[Piece]:
    """Return the units that may answer, best first; headings only where there is nothing else."""
    pieces = [
        piece for passage in evidence.passages for piece in passage.pieces if not piece.is_outdone
    ]
    said = [piece for piece in pieces if piece.unit.kind != "heading"] or pieces
    return sorted(said, key=lambda piece: (-piece.nearness, -piece.share))
