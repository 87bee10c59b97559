"""Follow-ups: a question that only makes sense after those before it, made to stand alone.

Such a question refers back (*when was it painted*), leaves out what was asked (*and in 2020?*),
or has next to no words of its own (*why?*). What it lacks is carried over from the questions
before, and nothing is made up:

* what begins with a preposition, or is a number, takes the place of what was asked with the
  same one: *how many were sold in 2019* and then *and in 2020?* asks how many were sold in 2020,
* another thing (*what about films?*) takes the place of what was named before, and a name (*and
  Tom?*) that of a name,
* in English, Japanese and Korean, the topic takes the place of the pronoun,
* else the topic, or all words that tell something, are put behind the question in brackets,
  and with *he* or *she* the name that was answered.

The topic is what the last question named that did not refer back itself, so that it stays
for as long as questions go on about it. A language is told by the words of a question that
mean nothing by themselves. Where none is known, a question stands alone. Pure; for the
languages that are asked most.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from kb_app._ask.languages import (
    CJK,
    HANGUL,
    JAPANESE,
    LANGUAGES,
    WORD,
    Language,
    language_of,
)

__all__ = ["standalone"]

_MOST_CARRIED = 6
_MOST_CHARS = 400
"""Of what is made here: a question that was carried on for long begins to forget."""
_FEW = 1
"""A question with so many words of its own, or fewer, asks about what was asked before."""
_NUMBER = re.compile(r"\b\d[\d.,:/]*\b")
_END = " \t\n?？!.。¿¡"


_ENGLISH = LANGUAGES[0]
_OF_JAPANESE = re.compile(
    r"(?:それ|これ|あれ|そこ|ここ|彼女|彼|その人)(?=は|が|を|に|の|で|から|も)"
    r"|(?:その|この)(?=[\u4e00-\u9fff\u30a0-\u30ff])"
)
_OF_CHINESE = re.compile(r"它们?|他们?|她们?|这个?|那个?|其(?!他|它|实|中)")
_ALSO_CHINESE = re.compile(r"^(?:那么?|还有|那)?(.+?)呢[?？]?$")
_TOPIC_JAPANESE = re.compile(r"^(.{1,30}?)(?:は(?!じ)|について)")
_TOPIC_KOREAN = re.compile(r"^\s*(\S(?:[^?？]{0,30}?\S)?)(?:은|는|이|가)\s")
_PRONOUN_KOREAN = re.compile(r"(?:그것|그건|그게|이것|이건|그녀|그)(?=[은는이가을를의]?\s)")
_SHORT_JAPANESE = 6

_PRONOUN = re.compile(r"\b(?:it|they|them|he|she|him|(?:one|ones)(?=\s*\W*$))\b", re.IGNORECASE)
_OWNER = re.compile(r"\b(?:its|their|his|her)\b(?=\s+\w)", re.IGNORECASE)
_SAYS_NOTHING = re.compile(
    r"\b(?:is|was|does|did|would|will|can|has) it (?:\w+ ){1,2}(?:to|that|if|when|for)\b",
    re.IGNORECASE,
)
"""*Is it possible to* and the like, where *it* stands for nothing."""
_ALL_OF_IT = re.compile(r"\b(?:that|this)\W*$", re.IGNORECASE)
"""*What happens after that*, which refers to all that was asked."""
_INVERTED = frozenset(
    ("do", "does", "did", "has", "have", "can", "could", "may", "might", "must", "shall")
) | {"should", "will", "would"}
_BEING = frozenset(["is", "are", "was", "were"])
_COPIED = frozenset(["what", "who", "which"])
_JOINS = frozenset({"of"})
_ELIDED = re.compile("l['’]", re.IGNORECASE)
_BEFORE_NAMES = re.compile(
    "ist|sind|waren?|wird|werden|wurden?|hat|haben|hatte|kann|können|darf|muss|soll"
)
"""Where nouns have capitals: the verbs that a subject stands behind in a question."""
_TITLES = frozenset(["frau", "herr", "herrn", "familie", "onkel", "tante", "oma", "opa"])


def standalone(
    question: str,
    before: Sequence[tuple[str, str]],
    weight: Callable[[str], float],
    name: str | None = None,
) -> str | None:
    """Return *question* with what it leaves to those *before* it.

    *before* are questions in order, each as it was asked and as what it meant. ``None`` where
    the question stands alone. *weight* says how telling a word is, and *name* is the name that
    was answered, if one was.
    """
    asked, last = question.strip(), before[-1][1].strip(_END) if before else ""
    if not asked or not last:
        return None
    made: str | None
    if HANGUL.search(asked):
        made = _korean(asked, last)
        if made in {None, asked}:
            made = _spaced(asked, before, weight, name)
    elif not CJK.search(asked):
        made = _spaced(asked, before, weight, name)
    elif JAPANESE.search(asked):
        made = _japanese(asked, last)
    else:
        made = _chinese(asked, last)
    return None if made is None or made == asked else made[:_MOST_CHARS]


def _spaced(
    question: str,
    turns: Sequence[tuple[str, str]],
    weight: Callable[[str], float],
    name: str | None,
) -> str | None:
    before = turns[-1][1].strip(_END)
    language = language_of(question, before)
    if language is None:
        return None
    opening = language.opens.match(question)
    rest = question[opening.end() :] if opening else question
    own = _telling(rest, language)
    words = {word.casefold() for word in WORD.findall(_SAYS_NOTHING.sub("", rest))}
    people = words & language.persons
    is_back = bool(people or words & language.refers or _is_one(rest, language))
    if not (opening or is_back or len(own) <= _FEW):
        return None
    spoken = language_of(before, "") or language
    about = _topic_of(turns)
    is_asking = not language.asks.isdisjoint(words)
    if is_asking and not is_back and _is_whole(rest, language):
        return None
    is_thing = opening and own and not is_back and not is_asking
    if is_thing and (made := _in_its_place(rest.strip(_END), before, spoken, about, weight)):
        return made
    known_name = name if people and name and name not in question else None
    if is_back and about and language is _ENGLISH and not known_name:
        named = _with_topic(rest, about)
        if named != rest:
            return named
    carried = _carried(before, spoken, weight, own)
    if about and own and not _ALL_OF_IT.search(rest):
        # What is asked again names its topic itself.
        carried = [about] if _carried(about, spoken, weight, own) else []
    carried += [known_name] if known_name else []
    return f"{rest.strip() or question} ({' '.join(carried)})" if carried else None


def _is_whole(question: str, language: Language) -> bool:
    """Say whether a question names a thing with its article, and says more of it than a place."""
    words = [word.casefold() for word in WORD.findall(question)]
    end = next((n for n, word in enumerate(words) if n and word in language.places), len(words))
    own = [n for n in range(end) if words[n] not in language.known]
    return len(own) > _FEW and any(n and words[n - 1] in language.articles for n in own)


def _is_one(question: str, language: Language) -> bool:
    match = _PRONOUN.search(question) if language is _ENGLISH else None
    return match is not None and match.group().casefold().startswith("one")


def _with_topic(question: str, topic: str) -> str:
    """Return *question* with the topic in place of the first word that stands for it."""
    of_it = topic if topic.endswith(("'s", "’s")) else f"{topic}'s"
    owned, count = _OWNER.subn(lambda _: of_it, question, count=1)
    return owned if count else _PRONOUN.sub(lambda _: topic, question, count=1)


def _topic_of(turns: Sequence[tuple[str, str]]) -> str | None:
    """Return what is talked about: what the last question named that did not refer back."""
    topic: str | None = None
    for asked, meant in turns:
        bare = topic.partition(" ")[2] or topic if topic else None
        if bare and asked != meant and bare in meant and bare not in asked:
            continue
        language = language_of(meant, "")
        topic = _topic(meant.strip(_END), language) if language else None
    return topic


def _topic(question: str, language: Language) -> str | None:
    """Return the first thing that a question names, with its article."""
    if language is not _ENGLISH:
        return _phrase(question, language)
    words = WORD.findall(question)
    low = [word.casefold() for word in words]
    things = [n for n, word in enumerate(low) if word not in language.known]
    if not things:
        return None
    named = (n for n in things if n and low[n - 1] in language.articles)
    at = next(named, things[0])
    start = at - 1 if at and low[at - 1] in language.articles else at
    end = at
    while end < len(low) and (low[end] not in language.known or _goes_on(low, end, language)):
        end += 1
    is_verb_last = _has_verb_behind(low[:start]) and low[end : end + 1] != ["do"]
    is_owned = words[end - 2].endswith(("'s", "’s"))
    if end - at > 1 and is_verb_last and low[end - 2] not in _JOINS and not is_owned:
        end -= 1
    return " ".join(words[start:end])


def _goes_on(low: Sequence[str], at: int, language: Language) -> bool:
    """Say whether a thing goes on here: *the default number of hits*."""
    return low[at] in _JOINS and at + 1 < len(low) and low[at + 1] not in language.known


def _has_verb_behind(before: Sequence[str]) -> bool:
    """Say whether a thing stands between the parts of the verb: *when was the tower built*."""
    *asks, auxiliary = before or ("",)
    is_being = auxiliary in _BEING and not (asks and asks[-1] in _COPIED)
    return auxiliary in _INVERTED or is_being


def _phrase(question: str, language: Language) -> str | None:
    """Return an article with the word behind it, where a language puts nouns first."""
    named = [pair for pair in _named(question, language) if pair[0]]
    return "".join(named[0]) if named else None


def _telling(text: str, language: Language) -> list[str]:
    return [word for word in WORD.findall(text) if word.casefold() not in language.known]


def _carried(
    before: str, language: Language, weight: Callable[[str], float], own: Sequence[str]
) -> list[str]:
    """Return the words of *before* that tell most, in their order, but for *own*."""
    there = {word.casefold() for word in own}
    words = [word for word in _telling(before, language) if word.casefold() not in there]
    words = list(dict.fromkeys(words))
    best = sorted(words, key=lambda word: -weight(word))[:_MOST_CARRIED]
    return [word for word in words if word in best]


def _in_its_place(
    other: str, before: str, language: Language, about: str | None, weight: Callable[[str], float]
) -> str | None:
    """Return *before*, asked of *other*: a number, a phrase with a preposition, or a thing."""
    numbers = _NUMBER.findall(before)
    if _NUMBER.fullmatch(other) and len(numbers) == 1:
        return before.replace(numbers[0], other) + _mark(before)
    first, _, phrase = other.partition(" ")
    if first.casefold() in language.places and phrase:
        found = list(re.finditer(rf"\b{re.escape(first)}\b", before, re.IGNORECASE))
        end = found[-1].start() if found else len(before)
        return f"{before[:end].rstrip()} {other}?"
    has_own = first.casefold() in language.articles or bool(_ELIDED.match(first))
    if not has_own and (name := _name_in(before, other, language)):
        put = other.removesuffix("'s")
        return re.sub(rf"\b{re.escape(name)}\b", lambda _: put, before, count=1) + _mark(before)
    if about and before.count(about) == 1:
        article, _, thing = about.partition(" ")
        is_with = bool(thing) and article.casefold() in language.articles
        return before.replace(thing if is_with and not has_own else about, other) + _mark(before)
    place = max(_named(before, language), key=lambda found: weight(found[1]), default=None)
    if place is None:
        return None
    article, thing = place
    taken = f"{article}{thing}" if has_own else thing
    return re.sub(rf"\b{re.escape(taken)}\b", lambda _: other, before, count=1) + _mark(before)


def _name_in(before: str, other: str, language: Language) -> str | None:
    """Return the name in a question whose place another one takes, as in *and Tom*.

    It has capitals, as the other has. Where all nouns have these, it stands behind the verb or
    a preposition, without an article.
    """
    if not other[:1].isupper():
        return None
    names = _names(before, language, other.count(" ") + 1)
    first = other.split(maxsplit=1)[0]
    return next((name for name in names if name.startswith(f"{first} ")), (*names, None)[0])


def _names(before: str, language: Language, most: int) -> list[str]:
    """Return the names in a question; where all nouns have capitals, of *most* words at most.

    A title and the name behind it are one there in any case.
    """
    has_capitals = language.code == "de"
    names: list[str] = []
    last, end = "", -1
    for match in WORD.finditer(before):
        word = match.group().removesuffix("'s")
        is_name = match.start() > 0 and word[0].isupper()
        is_next = is_name and end == match.start() - 1
        if is_next and (not has_capitals or last in _TITLES or names[-1].count(" ") + 1 < most):
            names[-1] += f" {word}"
        elif is_name and (not has_capitals or _leads_to_a_name(last, language)):
            names.append(word)
        else:
            is_name = False
        end = match.end() if is_name else -1
        last = word.casefold()
    return names


def _leads_to_a_name(word: str, language: Language) -> bool:
    return bool(_BEFORE_NAMES.fullmatch(word)) or word in language.places


def _mark(question: str) -> str:
    return "" if question.endswith(")") else "?"


def _named(before: str, language: Language) -> list[tuple[str, str]]:
    """Return what a question names, each with its article: words behind one, or else any."""
    found, last = [], ""
    for match in WORD.finditer(before):
        word = match.group().removesuffix("'s")
        if word.casefold() not in language.known:
            found.append((last if last.strip().casefold() in language.articles else "", word))
        last = f"{word} "
    return [named for named in found if named[0]] or found


def _korean(question: str, before: str) -> str | None:
    topic = _TOPIC_KOREAN.match(f"{before} ")
    return _PRONOUN_KOREAN.sub(topic.group(1), question) if topic else None


def _japanese(question: str, before: str) -> str | None:
    topic = _TOPIC_JAPANESE.match(before)
    if not _OF_JAPANESE.search(question):
        return None if len(question.strip(_END)) > _SHORT_JAPANESE else f"{question} ({before})"
    if topic is None:
        return f"{question} ({before})"
    return _OF_JAPANESE.sub(lambda match: _standing(match, topic.group(1)), question)


def _standing(match: re.Match[str], topic: str) -> str:
    return f"{topic}の" if match.group() in {"その", "この"} else topic


def _chinese(question: str, before: str) -> str | None:
    also = _ALSO_CHINESE.match(question)
    if also and not _OF_CHINESE.search(also.group(1)):
        return f"{also.group(1)} ({before})"
    return f"{question} ({before})" if _OF_CHINESE.search(question) else None
