"""The extractive answer: the few units of the evidence that answer, verbatim.

Every unit but a heading has a score, a weighted sum of how it stands to the question, and the
softmax of these scores is about the chance of each to hold the answer. Units are taken, best
first, until that chance is nine in ten, and what beside the first has words of the question
that none of them has; a question whose answer is plain gets one sentence, and no more than four
are ever shown. The likeliest stands first, with those that it stands
beside, and the others follow in reading order: passages as the list has them, and within a
passage as it is written. What a newer document says of the same is one of them.

The weights are those of a listwise softmax regression over development collections with
known answers; ``tools/bench/answers.py`` fits and measures them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import mul

from kb_app._ask.evidence import Evidence, Passage, Piece, bare
from kb_app._ask.kinds import expected, fits, is_unlisted, lacks
from kb_core.media import Media
from kb_core.ports import StoredChunk
from kb_core.sentences import called_before
from kb_core.values import dataclass

__all__ = [
    "FEATURES",
    "Extract",
    "Scored",
    "extract_of",
    "extracts",
    "features",
    "is_lacking",
    "ranked",
    "words_in",
]

FEATURES = (
    "nearness", "nearness, less the best", "farthest", "cosine",
    "share", "share with neighbours", "share of the passage",
    "score, less the first", "passage's nearness, less the best",
    "number", "no number", "date", "no date",
)  # fmt: skip
_READ = (8.27, 8.85, 19.5, 38.5, 2.78, 3.48, 4.96, 2.57, 34.9, 0.88, -1.36, 2.29, -1.39)
_WORDS = (0, 0, 0, 0, 6.13, 3.93, 2.65, 8.9, 0, 0.86, -1.33, 2.09, -1.27)
_OPENS, _NAMED = 2.5, 0.7
"""What a unit gains that is the first below a heading, or a directive that describes something,
with so much of the question: who asks for no more than a name asks what it is, which is said
first. Of 120 such questions about things in the documentation of Django the first quote is that
sentence for 82 where it was for 66; of 100 that ask for more, it is the right one for 84 and 86."""
_GIVES, _VALUED = 12.0, 0.5
"""What a unit gains that gives a constant its value, with so much of the question: its uses say
the name as often. Where half of the question is about something else, these may be meant."""
_OF_USES = re.compile(
    r"(?i)\b(?:cuándo|dónde|où|por qué|pourquoi|quand|qui|quién|wann|warum|wer|when|where|which|who"
    r"|why|wo)\b"
)
"""What asks for them."""
_ENOUGH = 0.9
_MOST_UNITS = 4
_MOST_WORDS = 90
"""Of all units together; the first is shown whole in any case."""
_SAYS_MORE = 1.5
"""How much longer than the question a unit is that repeats it, and answers it too."""
_TELLING, _LIKELY = 0.3, 0.003
"""Of the weight of the heaviest word, what one has that is looked for beside the first unit, and
the chance of a unit that has it. Of seven collections, 40 questions each, the answer is shown
for .946 where it was for .921, in two words more."""
_SAYS_SO, _SAYS_SO_NEAR = 0.4, 0.04
"""Which share of the question's words a first quote holds that a newer one may say anew, and how
much less near that may be."""
_NANOSECONDS = 10**9
_LEADS = (":", "：")
"""What ends in one of these says what follows."""
_ASKS = ("?", "？", "؟")
_CLOSING = " |\t*_\"'”’»)」』"
_TAGS = re.compile(r"(?:\s*<[^<>]+>)+\s*")
_LEAST_WORDS = 3
"""A question of fewer words stands in code that is no example of asking it."""
_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9d]")


@dataclass(frozen=True, slots=True)
class Scored:
    """A piece of the evidence, and the chance that the answer is in it."""

    passage: int
    """The number of its passage, from 0."""
    place: int
    """Its number among the pieces of the passage."""
    piece: Piece
    chance: float


@dataclass(frozen=True, slots=True)
class Extract:
    """A verbatim part of a passage: neighbouring units that were chosen together."""

    passage: Passage
    start: int
    end: int
    """Half-open range of the passage's text."""
    lead: tuple[int, int] | None
    """The range that is read before it: a table's header, what leads into a list, the directive
    that says what it describes, or what the item is called that it ends."""
    chance: float

    @property
    def text(self) -> str:
        """The words themselves."""
        return self.passage.chunk["text"][self.start : self.end]

    @property
    def lead_text(self) -> str | None:
        """What is read before them, if anything."""
        return None if self.lead is None else self.passage.chunk["text"][slice(*self.lead)]


def extracts(evidence: Evidence) -> list[Extract]:
    """Return the answer of *evidence*, the likeliest first; empty where it says nothing."""
    whole, evidence = evidence, evidence.in_parts
    units = ranked(evidence)
    if evidence is not whole:
        units = _with_what_is_asked_first(units, evidence.question)
    chosen = list(_chosen(units))
    chosen += list(_covering(evidence, units, chosen))
    chosen += _newer(evidence, units, chosen)
    in_order = sorted(chosen, key=lambda unit: (unit.passage, unit.place))
    runs = groupby(enumerate(in_order), key=lambda pair: _run(*pair))
    told = [[unit for _, unit in run] for _, run in runs]
    told.sort(key=lambda run: chosen[0] not in run)
    return [_joined(evidence, run) for run in told]


def _with_what_is_asked_first(units: list[Scored], question: str) -> list[Scored]:
    """Return *units*, one with a number or a date first where the question asks for it.

    Of blocks of code each says something else, and the one with the words may not be that.
    """
    if not units or not lacks(units[0].piece.text, question):
        return units
    having = [unit for unit in units if not lacks(unit.piece.text, question)]
    return [*having[:1], *(unit for unit in units if unit is not having[0])] if having else units


def is_lacking(chosen: Sequence[Extract], question: str) -> bool:
    """Say whether a number, a date or an amount is asked for beyond doubt that is not *chosen*.

    One that is said of something else is none: that counts whose passage holds what the first
    one does of the question.
    """
    held = chosen[0].passage.held if chosen else frozenset()
    said = " ".join(part.text for part in chosen if part.passage.held >= held)
    is_foreign = any(part.passage.is_foreign for part in chosen)
    return lacks(said, question) or (not is_foreign and is_unlisted(said, question))


def extract_of(evidence: Evidence, unit: Scored) -> Extract:
    """Return *unit* of *evidence* by itself, as it is quoted."""
    return _joined(evidence.in_parts, [unit])


def ranked(evidence: Evidence) -> list[Scored]:
    """Return every unit that may answer, the likeliest first; chances add up to 1."""
    evidence = evidence.in_parts
    weights = _READ if evidence.is_read else _WORDS
    units = list(_candidates(evidence))
    sums = [
        math.fsum(map(mul, weights, row)) + _said_first(unit.piece, evidence)
        for unit, row in zip(units, features(evidence, units), strict=True)
    ]
    best = max(sums, default=0.0)
    raised = [math.exp(value - best) for value in sums]
    total = math.fsum(raised)
    scored = [
        Scored(unit.passage, unit.place, unit.piece, value / total)
        for unit, value in zip(units, raised, strict=True)
    ]
    return sorted(scored, key=lambda unit: (-unit.chance, unit.passage, unit.place))


def _said_first(piece: Piece, evidence: Evidence) -> float:
    """Return what a unit gains that is what is said first of what is asked for by its name."""
    if piece.gives and evidence.asked(piece.held) >= _VALUED:
        return _OPENS if _OF_USES.search(evidence.question) else _GIVES
    return _OPENS * (piece.opens >= _NAMED)


def features(evidence: Evidence, units: Sequence[Scored]) -> list[tuple[float, ...]]:
    """Return a row of ``FEATURES`` for each of *units*."""
    evidence = evidence.in_parts
    best = max((unit.piece.nearness for unit in units), default=0.0)
    nearest = [passage.nearness for passage in evidence.passages]
    first = evidence.passages[0].score if evidence.passages else 0.0
    kinds = expected(evidence.question)[:2]  # names tell nothing
    rows = []
    for unit in units:
        passage, piece = evidence.passages[unit.passage], unit.piece
        around = passage.pieces[max(0, unit.place - 1) : unit.place + 2]
        rows.append(
            (
                piece.nearness,
                piece.nearness - best,
                piece.farthest,
                piece.reading.cosine,
                piece.share,
                evidence.share(frozenset().union(*(near.held for near in around))),
                passage.share,
                passage.score - first,
                nearest[unit.passage] - max(nearest),
                *(
                    float(one)
                    for kind in kinds
                    for one in fits(kind, piece.text, evidence.question)
                ),
            )
        )
    return rows


def _candidates(evidence: Evidence) -> Iterator[Scored]:
    """Yield each unit once, however often its words occur; none that is the question again.

    Neither a heading nor the header of a table answers, nor a row where another of its table
    holds more of the question, nor a line of a list where another label does so, nor a number
    that stands alone, as that of a page, nor tags alone, as an anchor is. No more does a block of
    code in prose that is long, or has the whole question in it: that is an example of asking it.
    """
    seen: set[str] = set()
    asked = bare(evidence.question)
    is_whole = words_in(evidence.question) >= _LEAST_WORDS
    for number, passage in enumerate(evidence.passages):
        leads = {piece.unit.lead for piece in passage.pieces}
        is_code = passage.chunk["media"] == Media.CODE.value
        blocks = [piece.unit.kind == "code" and not is_code for piece in passage.pieces]
        asks = [asked in bare(piece.text) for piece in passage.pieces]
        asks_next = [is_whole and all(pair) for pair in zip(blocks[1:], asks[1:], strict=True)]
        for place, piece in enumerate(passage.pieces):
            said, unit, is_block = bare(piece.text), piece.unit, blocks[place]
            is_short = len(said) < _SAYS_MORE * len(asked)
            is_question = asks[place] and (is_short or (is_block and is_whole))
            is_question |= piece.text.rstrip().endswith(_LEADS) and any(
                asks_next[place : place + 1]
            )
            is_header = unit.kind == "row" and (unit.start, unit.end) in leads
            is_long = is_block and words_in(piece.text) > _MOST_WORDS
            is_no_text = said.isdecimal() and unit.lead is None and len(passage.pieces) > 1
            is_no_text |= unit.kind != "code" and _TAGS.fullmatch(piece.text) is not None
            if unit.kind == "heading" or is_header or is_long or is_question or is_no_text:
                continue
            if piece.is_outdone or piece.is_beside or piece.text.rstrip(_CLOSING).endswith(_ASKS):
                continue
            if said and said not in seen:
                seen.add(said)
                yield Scored(number, place, piece, 0.0)


def _chosen(units: Sequence[Scored]) -> Iterator[Scored]:
    chance, length, count = 0.0, 0.0, 0
    for unit in units:
        if count == _MOST_UNITS or chance >= _ENOUGH:
            return
        words = words_in(unit.piece.text)
        if count and length + words > _MOST_WORDS:
            continue
        yield unit
        chance, length, count = chance + unit.chance, length + words, count + 1


def _covering(
    evidence: Evidence, units: Sequence[Scored], chosen: Sequence[Scored]
) -> Iterator[Scored]:
    """Yield what has, in the passage of the first unit, more of what tells in the question.

    One sentence names whom it is about, and another says what is asked of them. Values of front
    matter have words that are those of the note's name.
    """
    if not chosen:
        return
    least = _TELLING * max(evidence.asking, default=0.0)
    telling = frozenset(i for i, weight in enumerate(evidence.asking) if weight > least)
    left = telling.difference(*(unit.piece.held for unit in chosen))
    length, count = math.fsum(words_in(unit.piece.text) for unit in chosen), len(chosen)
    taken = tuple(chosen)
    for unit in units:
        if count == _MOST_UNITS or unit.chance < _LIKELY:
            return
        words = words_in(unit.piece.text)
        is_beside = unit.passage == taken[0].passage and unit not in taken
        is_beside &= unit.piece.unit.kind != "value"
        if is_beside and left & unit.piece.held and length + words <= _MOST_WORDS:
            yield unit
            left, length, count = left - unit.piece.held, length + words, count + 1


def _newer(evidence: Evidence, units: Sequence[Scored], chosen: Sequence[Scored]) -> list[Scored]:
    """Return the unit of the newest document, if it says as much of the question as the first.

    Minutes and journals say the same thing again, and what was said last is what holds.
    """
    if not chosen or evidence.asked(chosen[0].piece.held) < _SAYS_SO:
        return []

    def said_on(unit: Scored) -> int:
        return _said_on(evidence.passages[unit.passage].chunk)

    best, newest = chosen[0].piece, max(map(said_on, chosen))
    if not said_on(chosen[0]):
        return []
    newer = [
        unit
        for unit in units
        if said_on(unit) > newest
        and unit.piece.held >= best.held
        and unit.piece.nearness >= best.nearness - _SAYS_SO_NEAR
        and not lacks(unit.piece.text, evidence.question)
    ]
    return sorted(newer, key=said_on)[-1:]


def _said_on(chunk: StoredChunk) -> int:
    """Return the date that a document has by what it says or is called; 0 for that of its file."""
    dated = chunk["doc_date"] or 0
    return 0 if dated == chunk["mtime_ns"] // _NANOSECONDS else dated


def words_in(text: str) -> float:
    """Return how many words *text* has; of what is written without spaces, two letters each."""
    wide = len(_WIDE.findall(text))
    return wide / 2 + len(_WIDE.sub(" ", text).split())


def _run(number: int, unit: Scored) -> tuple[int, int, bool]:
    """Return what neighbours that were both chosen have in common.

    Between front matter and what follows it are the lines that end it.
    """
    return unit.passage, unit.place - number, unit.piece.unit.kind == "value"


def _joined(evidence: Evidence, units: Sequence[Scored]) -> Extract:
    passage, first = evidence.passages[units[0].passage], units[0].piece.unit
    return Extract(
        passage=passage,
        start=first.start,
        end=_end(passage, units[-1].place),
        lead=first.over or called_before(passage.chunk["text"], first.start),
        chance=math.fsum(unit.chance for unit in units),
    )


def _end(passage: Passage, place: int) -> int:
    """Return where a unit ends: with what it leads into, as far as there is room for that."""
    piece, following = passage.pieces[place], passage.pieces[place + 1 :]
    end = piece.unit.end
    if not piece.text.endswith((":", "：")) or not following:
        return end
    words = words_in(piece.text)
    for after in following:
        words += words_in(after.text)
        if after.unit.kind != following[0].unit.kind or words > _MOST_WORDS:
            break
        end = after.unit.end
    return end
