"""Words of a question that only ask: *what is the default …* is after *default*.

In prose most passages hold them, so that they hardly count by their frequency. Code holds few, and
means something else by them: a variable ``what`` is rarer than *timeout* and *default*, and was
what a question was answered by. Without their *stop structure* long queries find more (Huston and
Croft, Evaluating verbose query processing techniques, SIGIR 2010); here it counts a little.

Pure; for the languages that are asked most and write words apart.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

__all__ = ["ASKS", "asked_in", "asking_words", "written_in"]


class _Language(NamedTuple):
    """The words of a language that a question has, and its answer need not."""

    asks: frozenset[str]
    helping: frozenset[str]
    """Verbs that help, with which a question may begin."""
    beside: frozenset[str]
    """Articles and pronouns; not *I* and *you*: whoever says so wants to do something, and pages
    that tell how to say so as well."""
    measured_by: str
    """The word that comes before ``measures``: *how long*, *how to*."""
    measures: frozenset[str]


def _language(
    *, asks: str, helping: str, beside: str, measured_by: str = "", measures: str = ""
) -> _Language:
    each = (frozenset(words.split()) for words in (asks, helping, beside, measures))
    asking, verbs, small, after = each
    return _Language(asking, verbs, small, measured_by, after)


_LANGUAGES = {
    "en": _language(
        asks="what which who whom whose when where why how",
        helping="is are was were be been do does did has have had can could may might must shall "
        "should will would",
        beside="a an the this that these those there it its they them their",
        measured_by="how",
        measures="many much long often old far soon to",
    ),
    "de": _language(
        asks="was welche welcher welches welchem welchen wer wem wen wann wo warum wieso weshalb "
        "wie wozu woher wohin",
        helping="ist sind war waren wird werden wurde wurden hat haben hatte kann können darf muss "
        "müssen soll sollte würde gibt",
        beside="der die das den dem des ein eine einer einem einen eines dies diese dieser dieses "
        "diesem diesen man es sie er sich",
        measured_by="wie",
        measures="viel viele lange oft alt",
    ),
    "es": _language(
        asks="qué cuál cuáles quién quiénes cuándo dónde cómo cuánto cuánta cuántos cuántas",
        helping="es son era eran fue fueron está están ha han puede pueden debe hay",
        beside="el la los las lo un una unos unas se su sus este esta esto",
    ),
    "fr": _language(
        asks="qui que quoi quel quelle quels quelles quand où comment pourquoi combien",
        helping="est sont était étaient a ont peut peuvent doit fait",
        beside="le la les l un une des on il elle ils elles se ce cette ces y",
    ),
    "it": _language(
        asks="chi che cosa quale quali quando dove come perché quanto quanta quanti quante",
        helping="è sono era erano fu ha hanno può possono deve",
        beside="il la i gli le lo l un uno una si questo questa",
    ),
    "pt": _language(
        asks="que qual quais quem quando onde como quanto quanta quantos quantas",
        helping="é são era eram foi foram tem têm pode podem deve há",
        beside="o a os as um uma se este esta isso",
    ),
    "nl": _language(
        asks="wat welke wie wanneer waar waarom hoe",
        helping="is zijn was waren wordt worden werd heeft hebben had kan kunnen mag moet",
        beside="de het een dit dat deze die men er",
        measured_by="hoe",
        measures="veel lang vaak oud",
    ),
}
ASKS = {code: language.asks for code, language in _LANGUAGES.items()}
"""The words that ask, such as *what*, by ISO 639-1."""
_LEADING = 3
"""A question asks by one of so many first words, as *in which file is …* does."""


@lru_cache(maxsize=64)
def asking_words(text: str) -> frozenset[str]:
    """Return the words of *text*, in small letters, that only ask.

    None, where it is no question, or has no other words: one begins with a word that asks among its
    first three, or with a verb that helps, and has another word of these, or a question mark.
    """
    words = _words(text)
    found = max((_found(language, words) for language in _LANGUAGES.values()), key=len)
    is_marked = text.rstrip().endswith("?")
    is_question = len(found) > 1 or (is_marked and bool(found))
    return found if is_question and not found.issuperset(words) else frozenset()


@lru_cache(maxsize=64)
def asked_in(text: str) -> frozenset[str]:
    """Return the languages, ISO 639-1, that *text* may be in by its small words or its script.

    None, where nothing tells. Chinese characters alone are of two languages, and two may have as
    many of the small words.
    """
    if codes := written_in(text):
        return codes
    words = _words(text)
    counts = {
        code: len((one.asks | one.helping | one.beside).intersection(words))
        for code, one in _LANGUAGES.items()
    }
    most = max(counts.values())
    return frozenset(code for code, count in counts.items() if most and count == most)


_SCRIPTS = (("\u3040", "\u30ff", "ja"), ("\uac00", "\ud7a3", "ko"), ("\u3400", "\u9fff", "zh ja"))


def written_in(text: str) -> frozenset[str]:
    """Return the languages that only the script of *text* tells; none where that is of many."""
    if text.isascii():
        return frozenset()
    for first, last, codes in _SCRIPTS:
        if any(first <= sign <= last for sign in text):
            return frozenset(codes.split())
    return frozenset()


def _words(text: str) -> list[str]:
    return "".join(sign if sign.isalnum() else " " for sign in text.lower()).split()


def _found(language: _Language, words: list[str]) -> frozenset[str]:
    begins = not language.asks.isdisjoint(words[:_LEADING])
    if not begins and language.helping.isdisjoint(words[:1]):
        return frozenset()
    measured = [
        word
        for before, word in pairwise(words)
        if before == language.measured_by and word in language.measures
    ]
    known = language.asks | language.helping | language.beside | frozenset(measured)
    return known.intersection(words)
