"""Fusion: two rankings of the same chunks become one. Pure arithmetic on what they say.

``rrf``, reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009), looks at ranks
only, so a BM25 score and a cosine need no common scale. It also trusts both channels
alike, whatever the question, and falls behind the better one where they are far apart.

``auto``, the default, adds up normalised scores, each channel weighted by how clearly it
decides this very question:

    score = weight * words + (1 - weight) * meaning        all within 0..1

A channel that knows the answer sets a few chunks far apart from its other candidates; one
that only found what most chunks have to say scores them all alike. Both are read off the
scores by one formula, ``clarity``, and the weight of the words is their share of the sum.
What the words say counts only as far as they match: where a question is in another language
than the passages, a name or a number found by accident stands out, and says nothing. And a
chunk that has no vector yet is given the meaning that its words let expect.

This is a convex combination (Bruch, Gai and Ingber, "An Analysis of Fusion Functions for
Hybrid Retrieval", TOIS 2023) whose weight is not tuned, but found for each query, in the
manner of predicting a query's performance from the deviation of its scores (Shtok, Kurland,
Carmel, Raiber and Markovits, "Predicting Query Performance by Query-Drift Estimation",
TOIS 2012). Neither the scale of BM25 nor the scale and offset of cosines changes a thing,
so another model needs no other constants.

A query that is no question but a look-up, of an identifier, of quoted words, of a title or a
heading, or of a sentence that stands in a passage word for word, is left to the words almost
alone: the vector channel has close neighbours for anything and cannot tell that they are not
the thing.
``docs/decisions/0011-fusion.md`` has the measurements.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence, Set as AbstractSet
from itertools import chain
from operator import itemgetter, neg
from typing import NamedTuple

from kb_core.search import KnownWords, Parent, Scored
from kb_core.values import dataclass, lazy_pattern, tuples

__all__ = [
    "FUSIONS",
    "Basis",
    "Fused",
    "alone",
    "convex_combination",
    "corroborated",
    "from_negated",
    "fuse",
    "is_lookup",
    "reciprocal_rank_fusion",
    "rounded",
    "score_kind",
    "weight_of_words",
]

FUSIONS = ("auto", "rrf")
"""The methods of ``fuse``; the first is the default."""

_DEPTH = 100
"""How many of a list's best set its scale; every pool holds as many, whatever the page.

Scores of the hundredth candidate are those of chunks that have nothing to do with the
question. A scale taken from all of a deeper pool would let the size of a page reorder its
first hits, and ranks worse: with pools of 500 two collections of nineteen fell behind
their better channel. Any depth from 50 to 100 does as well.
"""

_TAIL = 0.01
"""What is left for candidates beyond ``_DEPTH``, so that they keep their order."""

_ALIKE = 1e-9
_CLEARLY, _EXACT = 0.4999, 1e12
"""How near to a whole number one lies that is no matter of rounding, and how far that is sure."""
_WHOLE = 1.5 * 2**52
"""Where floats are whole numbers: what is added to it is rounded, quicker than by ``int``."""

_MATCH_POWER = 1.5
"""How steeply the clarity of words falls with the share of the question that they match.

With 1 and 1.25, hybrid falls behind meaning on two collections whose passages are in another
language than the question; with 2, behind words on one where a match of half the words is
all there can be.
"""

_SUPPOSED = 30
"""How many candidates, beside those found, are taken to be without words and meaning, and how
many to be best in both, when meaning is estimated from words.

With none, a few embedded candidates tell too much of all others; from 10 to 30 questions
whose answer has no vector yet lose less, and the others nothing.
"""

_ELSEWHERE = 0.3
"""What a chunk in another language than the best by words is taken to score by words, of what it
scores by meaning: a share of the way from nothing, which its words say, to as much.

More of it finds more of what is in another language than the question (over five mixtures of
two to four, .830 nDCG@10 with .3, .838 with .4), and costs questions in the language of the
answer (.0010 and .0018; with .2, nothing and .820).
"""

_LOOKUP_WEIGHT = 0.95
"""Of the words in a look-up; meaning is left to order what the words find equal.

On 496 look-ups of identifiers and quoted phrases, words alone reach an nDCG@10 of .973;
0.95 keeps .971 of that, 0.9 .969, 0.7 .942; the weight that is found for questions .884.
"""

_BORNE_OUT = (0.15, 0.15)
"""What the second and the third best of a document's passages count for the best one."""

_SUPPOSED_SHARE = 0.7
"""What a passage that a short document does not have is taken to score, of the one it has."""

_OF_ONE = Parent(0, 1)
_DOC_OF, _COUNT_OF = itemgetter(0), itemgetter(1)
_NONE_MORE, _NOTHING_SAID = [(0.0, -1), (0.0, -1)], (-1, -1, 0.0, 0.0, 0.0)
_ROOM = 1 + len(_BORNE_OUT)
"""The passages of a document that has room to say all that counts."""

_QUOTED = lazy_pattern(r'"[^"]*[^"\s][^"]*"')
_INNER = lazy_pattern(r"\w(?:[._#]|::|->)\w|[a-z][A-Z]|\d")
_EDGES = "`'*()[]{}<>,;:.!?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What the two rankings rest on, as far as they do not say it themselves."""

    lookup: bool = False
    """What ``is_lookup`` says of the query, or that a passage is called so or quotes it."""
    known: KnownWords | None = None
    """What the index knows of the query's words, if that was looked up."""
    coverage: float = 1.0
    """The share of all chunks that have a vector."""
    without_vector: AbstractSet[int] = frozenset()
    """Those chunks of the lexical ranking that have none."""
    elsewhere: AbstractSet[int] | None = None
    """Where chunks are in several languages, which meaning compares alike: those of the nearest
    that are in another one than the best by words."""
    parents: Mapping[int, Parent] | None = None
    """The documents of the chunks of both, where a chunk is to count with its document."""


class Fused(NamedTuple):
    """A chunk of the union, with what each channel said of it."""

    chunk_key: int
    score: float
    lexical_rank: int | None = None
    lexical_score: float | None = None
    vector_rank: int | None = None
    vector_score: float | None = None


def fuse(
    method: str,
    lexical: Sequence[Scored],
    vector: Sequence[Scored],
    *,
    rrf_k: int = 60,
    basis: Basis = Basis(),
) -> list[Fused]:
    """Fuse two rankings by a method of ``FUSIONS``, best first; ties by chunk key.

    Both lists are best first, without repetition; *lexical* has BM25 scores (not negative),
    *vector* cosines. Either may be empty: then the order is that of the other. Scores lie
    in 0..1, and 1 means best in both. *rrf_k* is of ``rrf`` alone, *basis* of ``auto``.

    Raises ``ValueError`` for another method.
    """
    if method == "auto":
        weight = weight_of_words(lexical, vector, basis)
        elsewhere = frozenset() if basis.lookup else basis.elsewhere or frozenset()
        return convex_combination(
            lexical, vector, weight, basis.without_vector, basis.parents, elsewhere
        )
    if method == "rrf":
        return reciprocal_rank_fusion(lexical, vector, k=rrf_k)
    msg = f"fusion {method!r} is none of {', '.join(FUSIONS)}"
    raise ValueError(msg)


def corroborated(rows: Sequence[Scored], parents: Mapping[int, Parent]) -> list[Scored]:
    """Return a ranking by words with what the rest of each document says to a passage.

    A document that speaks of the matter throughout is more likely to be about it than one
    with a lucky passage: to a passage's own score comes .15 of each of the two best of its
    document's others, a weighted mean of passages (Bendersky and Kurland, "Utilizing
    Passage-Based Language Models for Document Retrieval", ECIR 2008). What a document of one
    or two passages has no room to say is taken to be .7 of what the passage says. All is
    divided by what that comes to for a document of one passage, which keeps its score. A
    passage whose parent is not known is one of those.

    *rows* are best first, their scores not negative; ties of the result are by chunk key.
    """
    if all(parent.chunk_count == 1 for parent in parents.values()):
        return list(rows)
    scores = {key: score for key, score in rows}  # noqa: C416 - twice as quick as dict()
    others = scores if len(rows) <= _DEPTH else dict(rows[:_DEPTH])
    told = _borne_out(scores, others, parents)
    return from_negated(_best_first(told.values(), told))


def from_negated(best: Sequence[tuple[float, int]]) -> list[Scored]:
    """Return chunks of which *best* has the negative score and the key, in the same order."""
    return tuples(Scored, [(key, -below) for below, key in best])


def _best_first(scores: Collection[float], keys: Iterable[int]) -> list[tuple[float, int]]:
    """Return rounded scores, negative, with their keys, in the order of these."""
    return sorted(zip(map(neg, rounded(scores)), keys, strict=True))


def _borne_out(
    scores: Mapping[int, float], others: Mapping[int, float], parents: Mapping[int, Parent]
) -> dict[int, float]:
    """Return *scores* with what the *others* of the same document say to each.

    Others are what the first candidates score: how far a list goes on must not reorder its
    first rows.
    """
    alone = 1 + _SUPPOSED_SHARE * sum(_BORNE_OUT)
    told = {key: score / alone for key, score in scores.items()}
    known = parents.values()
    # Most documents have one passage among many, which nothing else speaks for.
    held = Counter(map(_DOC_OF, known))
    is_all = parents.keys() >= scores.keys()
    if is_all and len(held) == len(known) and min(map(_COUNT_OF, known), default=0) >= _ROOM:
        return told
    best = _best_of(held, others, parents)
    for key, score in scores.items():
        doc, count, _ = parents.get(key, _OF_ONE)
        if count >= _ROOM and doc not in best:
            continue
        first, second, scored, next_one, last = best.get(doc, _NOTHING_SAID)
        one = next_one if key == first else scored
        two = last if key in (first, second) else next_one
        if count < _ROOM:
            two = _SUPPOSED_SHARE * score
            one = two if count < _ROOM - 1 else one
        told[key] = (score + (_BORNE_OUT[0] * one + _BORNE_OUT[1] * two)) / alone
    return told


_Best = tuple[int, int, float, float, float]
"""The keys of the best two passages of a document, and what its best three score."""


def _best_of(
    held: Mapping[int, int], others: Mapping[int, float], parents: Mapping[int, Parent]
) -> dict[int, _Best]:
    """Return the best of those documents of which several passages are *held*."""
    rows: dict[int, list[tuple[float, int]]] = {}
    for key, score in others.items():
        if key in parents and held[doc := parents[key][0]] > 1:
            rows.setdefault(doc, []).append((-score, key))
    best: dict[int, _Best] = {}
    for doc, found in rows.items():
        (first, one), (second, two), (third, _) = sorted([*found, *_NONE_MORE])[:3]
        best[doc] = (one, two, -first, -second, -third)
    return best


def alone(method: str, rows: Sequence[Scored], at: int, *, rrf_k: int = 60) -> Fused:
    """Return what ``fuse`` makes of one row of a ranking by words where the other is empty."""
    key, score = rows[at]
    if method == "rrf":
        share = (rrf_k + 1) / 2 / (rrf_k + at + 1)
    else:
        top = rows[0].score
        share = 0.5 * (score / top if top > 0 else 1.0)
    return Fused(key, round(share, 6), at + 1, score)


def rounded(scores: Collection[float]) -> list[float]:
    """Return *scores* rounded to the sixth digit, as ``round`` does it (ruling R14).

    A quotient of whole numbers is the same double, in half the time, wherever it is clear
    which whole number is meant.
    """
    return [
        whole / 1e6
        if 0.0 < (many := score * 1e6) < _EXACT
        and -_CLEARLY < many - (whole := many + _WHOLE - _WHOLE) < _CLEARLY
        else round(score, 6)
        for score in scores
    ]


def is_lookup(text: str) -> bool:
    """Say whether a query is nothing but identifiers and quoted phrases.

    An identifier is a word in ASCII with something inside that words of prose lack: a digit,
    an underscore, a dot, ``::``, ``->``, ``#`` or a capital after a small letter. A hyphen
    or a slash alone is not enough, and a question that mentions an identifier is a question.
    """
    words = [word.strip(_EDGES) for word in _QUOTED.sub(" ", text).split()]
    named = all(word.isascii() and _INNER.search(word) for word in words)
    return named and bool(words or _QUOTED.search(text))


def score_kind(method: str) -> str:
    """Return what hits call their score when *method* has fused it."""
    return "rrf" if method == "rrf" else "fused"


def reciprocal_rank_fusion(
    lexical: Sequence[Scored], vector: Sequence[Scored], *, k: int = 60
) -> list[Fused]:
    """Fuse two rankings, best first; ties by chunk key.

    The score is ``sum(1 / (k + rank))`` over the channels, divided by its largest value
    ``2 / (k + 1)``, so it lies in 0..1 and 1 means first in both.
    """
    half = (k + 1) / 2
    scores: dict[int, float] = {}
    for found in (lexical, vector):
        for rank, (key, _) in enumerate(found, 1):
            scores[key] = scores.get(key, 0.0) + half / (k + rank)
    return _merged(lexical, vector, scores)


def convex_combination(
    lexical: Sequence[Scored],
    vector: Sequence[Scored],
    weight: float,
    without_vector: AbstractSet[int] = frozenset(),
    parents: Mapping[int, Parent] | None = None,
    elsewhere: AbstractSet[int] = frozenset(),
) -> list[Fused]:
    """Fuse two rankings by ``weight * words + (1 - weight) * meaning``; ties by chunk key.

    Words and meaning are scores between 0, for a chunk that the channel does not propose,
    and 1 for its best. BM25 has a zero of its own, so words keep their proportions; cosines
    of any two texts are far from 0, so meaning starts at the last of the first hundred.
    A chunk *without_vector* counts with the meaning that its words let expect. One of those
    *elsewhere*, whose language has other words, has .3 of its meaning by words, beside what it
    shares with the question. With *parents*, chunks count with their documents, as
    ``corroborated`` has it.
    """
    words = {row.chunk_key: share for row, share in zip(lexical, _words(lexical), strict=True)}
    meaning = {row.chunk_key: share for row, share in zip(vector, _meaning(vector), strict=True)}
    if vector:
        meaning |= _expected(words, meaning, without_vector)
    for key in meaning.keys() & elsewhere:
        words[key] = words.get(key, 0.0) + _ELSEWHERE * meaning[key]
    parts = (
        {key: weight * share for key, share in words.items()},
        {key: (1 - weight) * share for key, share in meaning.items()},
    )
    found = dict.fromkeys(row.chunk_key for row in chain(lexical, vector))
    words, meaning = parts
    scores = {key: words.get(key, 0.0) + meaning.get(key, 0.0) for key in found}
    if parents is not None and any(parent.chunk_count != 1 for parent in parents.values()):
        others = _others(lexical, vector, parts, without_vector)
        # Rounded before, too: what the list is without its documents decides among equals.
        scores = _borne_out(
            dict(zip(found, rounded(scores.values()), strict=True)), others, parents
        )
    if (most := max(scores.values(), default=0.0)) > 1:
        scores = {key: score / most for key, score in scores.items()}
    return _merged(lexical, vector, scores)


def _others(
    lexical: Sequence[Scored],
    vector: Sequence[Scored],
    parts: tuple[Mapping[int, float], Mapping[int, float]],
    without_vector: AbstractSet[int],
) -> dict[int, float]:
    """Return what the first candidates of each channel score by it, added up."""
    first = [{row.chunk_key for row in found[:_DEPTH]} for found in (lexical, vector)]
    first[1] |= first[0] & without_vector
    others: dict[int, float] = {}
    for part, among in zip(parts, first, strict=True):
        for key in part.keys() & among:
            others[key] = others.get(key, 0.0) + part[key]
    return others


def weight_of_words(
    lexical: Sequence[Scored], vector: Sequence[Scored], basis: Basis = Basis()
) -> float:
    """Return how far to trust *lexical* rather than *vector* for this query, within 0..1.

    A half if there is nothing to compare. Where only a share of the chunks has a vector, the
    nearest of all is among the others with the rest of the probability, and so is what it has
    to stand out from: meaning counts by the square of that share.
    """
    if not lexical or not vector:
        return 0.5
    if basis.lookup:
        return _LOOKUP_WEIGHT
    of_languages = basis.elsewhere is not None
    matched = _matched(lexical[0].score, basis.known, of_languages=of_languages)
    # A chunk without any of the words is one that the words tell apart from those they found,
    # as far as they could have been found in it. A chunk without a vector is only one not
    # embedded yet.
    others = min(_DEPTH, len(vector) / max(basis.coverage, _ALIKE)) - len(lexical)
    zeros = max(0.0, others) * matched
    words = _clarity(_words(lexical)[:_DEPTH], zeros=zeros) * matched**_MATCH_POWER
    meaning = _clarity(_meaning(vector)[:_DEPTH]) * basis.coverage**2
    return words / (words + meaning) if words + meaning > 0 else 0.5


def _matched(top: float, known: KnownWords | None, *, of_languages: bool) -> float:
    """Return which share of the question its best match by words makes up.

    That a passage holds few of many words is nothing to doubt: questions are wordy. Where
    nothing in the index holds some of them, or its passages are in several languages, the
    question may be in another one than the answer, and what matches may be an accident.
    """
    is_doubtful = known is not None and (known.share < 1 or of_languages)
    if known is None or not is_doubtful or known.full_match <= 0:
        return 1.0
    return min(1.0, top / known.asked)


def _clarity(shares: Sequence[float], *, zeros: float = 0.0) -> float:
    """Return how far the best of the candidates, whose share is 1, stands out; 0: not at all.

    It is the distance from the mean, times that distance in standard deviations. Either
    alone is worse: the first is small wherever a question has many common words, the second
    takes the noise among equals for a decision. *zeros* are so many candidates more, with a
    share of 0.
    """
    size = len(shares) + zeros
    mean = math.fsum(shares) / size
    squares = math.fsum((share - mean) ** 2 for share in shares) + zeros * mean**2
    deviation = math.sqrt(squares / size)
    # Where all are alike, the deviation is nothing but rounding.
    return (1 - mean) ** 2 / deviation if deviation > _ALIKE else 0.0


def _words(lexical: Sequence[Scored]) -> list[float]:
    top = lexical[0].score if lexical else 0.0
    return [row.score / top if top > 0 else 1.0 for row in lexical]


def _meaning(vector: Sequence[Scored]) -> list[float]:
    if not vector:
        return []
    top, floor = vector[0].score, vector[:_DEPTH][-1].score
    span = top - floor
    return [_above(row.score - floor, span) for row in vector]


def _expected(
    words: Mapping[int, float], meaning: Mapping[int, float], without_vector: AbstractSet[int]
) -> dict[int, float]:
    """Return the meaning to expect of those chunks *without_vector* that *words* found.

    It is read off a straight line through what the other chunks have of both. Where there
    are few of them, it is the line on which meaning equals words, so that with no vectors at
    all the order is that of words.
    """
    unknown = [key for key in words if key in without_vector]
    if not unknown:
        return {}
    seen = [
        (share, meaning.get(key, 0.0)) for key, share in words.items() if key not in without_vector
    ]
    size = len(seen) + 2 * _SUPPOSED
    across = (math.fsum(x for x, _ in seen) + _SUPPOSED) / size
    up = (math.fsum(y for _, y in seen) + _SUPPOSED) / size
    rise = math.fsum((x - across) * (y - up) for x, y in seen)
    run = math.fsum((x - across) ** 2 for x, _ in seen)
    for end in (0.0, 1.0):
        rise += _SUPPOSED * (end - across) * (end - up)
        run += _SUPPOSED * (end - across) ** 2
    slope = max(0.0, rise / run)
    return {key: min(1.0, max(0.0, up + slope * (words[key] - across))) for key in unknown}


def _above(height: float, span: float) -> float:
    """Return the share of a score *height* above the floor, or below it where that is negative."""
    if height < 0:
        return _TAIL / (1 - height / span) if span > 0 else _TAIL / (2 - height)
    return _TAIL + (1 - _TAIL) * height / span if span > 0 else 1.0


def _merged(
    lexical: Sequence[Scored], vector: Sequence[Scored], scores: Mapping[int, float]
) -> list[Fused]:
    """Return the union by its *scores*, which are rounded as R14 wants it."""
    by_words = {key: (rank, score) for rank, (key, score) in enumerate(lexical, 1)}
    by_meaning = {key: (rank, score) for rank, (key, score) in enumerate(vector, 1)}
    nowhere = (None, None)
    rows = (
        (key, -below, *by_words.get(key, nowhere), *by_meaning.get(key, nowhere))
        for below, key in _best_first(scores.values(), scores)
    )
    return tuples(Fused, rows)
