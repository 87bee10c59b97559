"""Words that no passage holds, read as the one that is a typing error or a script away.

A letter that is missing, doubled, wrong, or in the place of its neighbour makes a word that an
index does not know. All that a word can become by one such error (Damerau, CACM 1964) are some
hundreds of words, and looking each up takes microseconds: so what a word is read as follows from
the word and from how many passages hold each of its neighbours, and not from where they stand.

Nothing is corrected that any passage holds; nor what is short, has a digit (a number is no
other number), is a word that people ask with (*where* is no *were*), or is among so many unknown
words that the question is in another language.

A letter that looks like one of another script (*сосна* with a Latin *c*, *CO2* in Cyrillic) is
read as that, however short the word: nobody sees that it is wrong.

A word in letters of another script, of which no passage holds anything, is looked up as it may
be spelled in Latin letters (``crossing``): names and loanwords are what two languages share.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from kb_core.search import LexicalQuery
from kb_core.values import lazy_pattern
from kb_search.analysis import Term, fold, query_terms
from kb_search.weighing import Frequencies, is_held, is_plain

__all__ = ["look_alikes", "neighbours", "read_as", "respelled"]

_LEAST_LETTERS = 5
_MOST_LETTERS = 30
_MOST_UNKNOWN = 4
_MOST_CROSSING, _NEAR = 8, 4
"""Words of another script that are looked up, and spellings of each that may be one error off."""
_ALPHABETS = tuple(
    "".join(map(chr, range(first, last + 1)))
    for first, last in ((0x61, 0x7A), (0x430, 0x44F), (0x3B1, 0x3C9))
)
"""Of the Latin, Cyrillic and Greek scripts, as words are folded."""

_LATIN, _CYRILLIC = "aeopcyxikmtbhjs", "аеорсухікмтвнјѕ"
"""Letters that look alike, in small or in capitals: *B* and *В* are *b* and *в* when folded."""
_TO_LATIN = str.maketrans(_CYRILLIC, _LATIN)
_TO_CYRILLIC = str.maketrans(_LATIN, _CYRILLIC)
_IN_LATIN, _IN_CYRILLIC = lazy_pattern("[a-z]"), lazy_pattern("[\u0400-\u04ff]")

_ASKED_WITH = {
    "en": "about after again another anyone anything before being between could cannot doesn "
    "every everything exactly please should somebody something their there these thing "
    "things those until using where whether which while whose within without would",
    "de": "bitte dabei damit diese diesem diesen dieser dieses dürfen etwas haben hatte hätte "
    "jemand kannst können könnte macht machen müssen nicht sollen sollte sollten warum "
    "wegen welche welchem welchen welcher welches werden wessen wieso wieviel wohin würde",
    "fr": "aucun avoir celle celui combien comment cette depuis doivent était fallait laquelle "
    "lequel lesquels permet peuvent pourquoi quand quelle quelles quels serait toutes",
    "es": "algún alguna cuales cuando cuanto cuantos cuáles cuándo cuánto donde dónde estaba "
    "hacer porque puede puedo quien quienes quién tiene había",
    "it": "abbiamo chiunque dobbiamo fanno perché posso qualcosa quale quali quando quanti "
    "quanto queste questo sarebbe",
    "pt": "alguém devem fazer pelos podem porquê qualquer quais quantos seria",
    "nl": "hebben hoeveel kunnen moeten waarom wanneer welke worden zouden",
    "ru": "какая какие какого каком какой когда которая которые который можно нужно откуда "
    "почему сколько чтобы",
}
"""Words that people ask with, by language: right, though no passage may hold them."""
_RIGHT = frozenset(fold(" ".join(_ASKED_WITH.values())).split())

_WORD_FIELDS = ("exact", "head", "ident")
_NAME_FIELDS = ("exact", "ident", "name")
_BETWEEN = re.compile(r"[^\W_]+")


def respelled(
    query: LexicalQuery, statistics: Frequencies, langs: Sequence[str]
) -> list[tuple[Term, Term]]:
    """Return those terms of *query* that no passage holds, each with the one that is read.

    What stands in quotes is meant as it stands, and what is to be left out, too.
    """
    plain = " ".join(clause.text for clause in query.clauses if is_plain(clause))
    found = _mistyped(plain, statistics, langs)
    read = {term.exact for term, _ in found}
    crossing = _crossing(plain, statistics, langs)
    return [*found, *(pair for pair in crossing if pair[0].exact not in read)]


def _crossing(
    text: str, statistics: Frequencies, langs: Sequence[str]
) -> Iterator[tuple[Term, Term]]:
    """Yield the words of another script that nothing is known of, with what they are read as."""
    if text.isascii():
        return
    from kb_search.crossing import crossing_words, spellings  # tables that few questions need

    for word in islice(crossing_words(text), _MOST_CROSSING):
        (term, *_) = query_terms(word, langs)
        pairs = statistics.held((f, form) for f in ("stem", "head") for form in term.forms)
        if pairs or is_held(statistics, term):
            continue
        likely = spellings(word)
        held = _held(likely, statistics) or _held(
            (other for spelled in likely[:_NEAR] for other in neighbours(spelled)), statistics
        )
        if held:
            (spelled, *_) = query_terms(held, langs)
            yield (
                term._replace(exact=fold(word)),
                term._replace(exact=held, kind="word", forms=(), stems=spelled.stems),
            )


def _held(words: Iterable[str], statistics: Frequencies) -> str | None:
    """Return the one of *words* that most passages hold, if any does."""
    known = [*words]
    held = statistics.held((field, word) for field in _WORD_FIELDS for word in known)
    return min(held, key=lambda place: (-held[place], place[1]))[1] if held else None


def _mistyped(text: str, statistics: Frequencies, langs: Sequence[str]) -> list[tuple[Term, Term]]:
    terms = query_terms(text, langs)
    spelled = (term for term in terms if term.kind in {"word", "identifier", "part"})
    words = [term for term in spelled if not term.only_asks]
    unknown = [term for term in words if not is_held(statistics, term)]
    seen = [(term, _look_alike(term, statistics, langs)) for term in unknown]
    alike = [(term, other) for term, other in seen if other is not None]
    unknown = [term for term, other in seen if other is None]
    whole = sum(term.kind != "part" for term in words)
    wrong_whole = sum(term.kind != "part" for term in unknown)
    if not unknown or wrong_whole > max(1, min(_MOST_UNKNOWN, whole // 2)):
        return alike
    wrong = {term.exact for term in unknown}
    wholes = (term for term in terms if term.kind == "whole")
    names = [name for name in wholes if wrong & {*_BETWEEN.findall(name.exact)}]
    mistyped = [term for term in [*unknown, *names] if term.exact not in _RIGHT]
    made = ((term, _read_as(term, statistics, langs)) for term in mistyped)
    return [*alike, *((term, other) for term, other in made if other is not None)]


def _look_alike(term: Term, statistics: Frequencies, langs: Sequence[str]) -> Term | None:
    for word in look_alikes(term.exact):
        (spelled, *_) = query_terms(word, langs)
        if is_held(statistics, spelled):
            return term._replace(exact=word, stems=spelled.stems)
    return None


def look_alikes(word: str) -> Iterator[str]:
    """Yield *word* in Latin or Cyrillic letters alone, where those that are not look like them."""
    cyrillic = _IN_CYRILLIC.search(word)
    if cyrillic and (latin := word.translate(_TO_LATIN)).isascii():
        yield latin
    if _IN_LATIN.search(word):
        other = word.translate(_TO_CYRILLIC)
        if not _IN_LATIN.search(other):
            yield other


def read_as(
    query: LexicalQuery, statistics: Frequencies, langs: Sequence[str]
) -> tuple[tuple[str, str], ...]:
    """Return the same as words, to be told; a name once, and not its parts."""
    told = respelled(query, statistics, langs)
    names = " ".join(term.exact for term, _ in told if term.has_parts)
    return tuple(
        (term.exact, other.exact)
        for term, other in told
        if term.has_parts or term.exact not in names
    )


def _read_as(term: Term, statistics: Frequencies, langs: Sequence[str]) -> Term | None:
    fields = _NAME_FIELDS if term.has_parts else _WORD_FIELDS
    candidates = [*neighbours(term.exact)]
    held = statistics.held((field, word) for field in fields for word in candidates)
    if not held:
        return None
    best = min(held, key=lambda place: (-held[place], place[1]))[1]
    if term.kind == "whole":
        return term._replace(exact=best)
    (spelled, *_) = query_terms(best, langs)
    return term._replace(exact=best, stems=spelled.stems)


def neighbours(word: str) -> Iterator[str]:
    """Yield what one typing error makes of *word*, or made it of; its first letter stays.

    Of five letters none is wrong or too many: *balls* are no *bills*, which some note mentions.
    """
    alphabet = next((letters for letters in _ALPHABETS if word[:1] in letters), "")
    letters = sum(map(alphabet.__contains__, word))
    others = set(word) - set(alphabet)
    if not _LEAST_LETTERS <= letters <= _MOST_LETTERS or any(map(str.isalnum, others)):
        return
    for at in range(1, len(word)):
        before, here, after = word[:at], word[at], word[at + 1 :]
        yield from (before + letter + here + after for letter in alphabet)
        if here not in alphabet:
            continue
        if letters > _LEAST_LETTERS or here in {before[-1], after[:1]}:
            yield before + after
        if after[:1] in alphabet and after[:1] not in {"", here}:
            yield before + after[0] + here + after[1:]
        if letters > _LEAST_LETTERS:
            yield from (before + letter + after for letter in alphabet if letter != here)
    yield from (word + letter for letter in alphabet)
