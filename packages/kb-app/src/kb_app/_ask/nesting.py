"""Questions within questions: *who wrote the library that Kestrel uses* asks two things.

Such a question names something by a phrase instead of its name: a thing of something
(*the founder of Brandal Works*, *the Halcyon's captain*), or one of which something is said
(*the library that Kestrel uses*). The phrase can be asked for by itself, and what it names can
be put in its place, which leaves the rest of the question.

``nestings`` finds such phrases by the small words around them, in English, German, Spanish,
French, Japanese and Chinese; ``names_in`` finds what an answer may have named, and ``says`` whether
a text speaks of what is asked at all. Pure: nothing is searched here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kb_app._ask.facts import stem_of
from kb_app._ask.kinds import expected, fits
from kb_app._ask.languages import Language, language_of
from kb_core.values import dataclass

__all__ = ["Nesting", "has_kind", "mentions", "names_in", "nestings", "says"]

_TOKEN = re.compile(r"[^\W_]+(?:[-.][^\W_]+)*")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_KANA = re.compile(r"[\u3040-\u30ff]")
_END = " \t\n?？!.。¿¡"
_MOST_OF_HEAD = 3
_MOST_NAMES = 3
_NAMED_ONCE = 2
"""From an article over one word to what joins it."""


@dataclass(frozen=True, slots=True)
class Nesting:
    """A phrase of a question that can be asked for by itself."""

    inner: str
    """The phrase, as it is written."""
    before: str
    after: str
    """What stands around it: the rest of the question."""
    head: str
    """What kind of thing the phrase names."""

    @property
    def rest(self) -> str:
        """The question without the phrase."""
        return f"{self.before} {self.after}".strip()

    @property
    def said_of(self) -> str:
        """The phrase without its head: whose the thing is, or what is said of it."""
        return self.inner.replace(self.head, " ", 1)

    def outer(self, name: str) -> str:
        """Return the question with *name* in place of the phrase."""
        return f"{self.before}{name}{self.after}".strip()


@dataclass(frozen=True, slots=True)
class _Grammar:
    """The small words that such phrases are told by; all of them are written small."""

    the: frozenset[str]
    """Articles that open a phrase."""
    joins: frozenset[str]
    """What follows says whose it is, or what is said of it."""
    leads: frozenset[str]
    """May stand before a word that joins, such as *in* before *which*."""
    verbs: re.Pattern[str]
    """Words before a phrase after which a verb stands behind it."""
    last: re.Pattern[str]
    """Words that stand behind a phrase if they are the last ones of the question."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_GRAMMARS = {
    "the": _Grammar(
        the=_words("the"),
        joins=_words("of that which who whom whose where by"),
        leads=_words("in on at from to by with under for"),
        verbs=re.compile(
            r"(?P<do>do|does|did|can|could|will|would|should|must)|is|are|was|were|has|have|had"
        ),
        last=re.compile(
            r"born|.*(?:ed|wn|ght|ilt|ade|eld|und|ung|tten|ven|ken|sen|den|ept|aid|old)"
        ),
    ),
    "der": _Grammar(
        the=_words("der die das den dem des"),
        joins=_words("der die das dem den des deren dessen von vom welcher welche welches"),
        leads=_words("in an auf aus mit von zu bei für unter über nach"),
        verbs=re.compile(r"ist|sind|war|waren|wird|wurde|wurden|hat|haben|hatte|kann|muss"),
        last=re.compile(r"ge.*(?:t|en)|(?:be|er|ver|ent|auf|aus|an|ab|ein).*(?:t|en)|.*iert"),
    ),
    "el": _Grammar(
        the=_words("el la los las del"),
        joins=_words("de del que donde cuyo cuya cuyos cuyas quien"),
        leads=_words("en a con por el la de"),
        verbs=re.compile(r"(?!)"),
        last=re.compile(r"(?!)"),
    ),
    "le": _Grammar(
        the=_words("le la les l du"),
        joins=_words("de du des d que qu qui dont où laquelle lequel duquel auquel"),
        leads=_words("à au bord de dans sur par avec en chez"),
        verbs=re.compile(r"(?!)"),
        last=re.compile(r".*-(?:t-)?(?:il|elle)s?"),
    ),
}
"""By an article of the language."""
_CONTRACTED = {"del": ("de", "el"), "du": ("de", "le")}
_POSSESSIVE = re.compile(
    r"(?:\bthe )?(?P<owner>[A-Z]\w*(?:[ -][A-Z\d]\w*)*|\w+)['’]s (?P<head>[a-z]\w+)(?= |$)"
)
_COMMA = re.compile(r"^\s*,\s*(?:\w+ )?(?:der|die|das|dem|den|deren|dessen)\b")


def nestings(question: str) -> list[Nesting]:
    """Return the phrases of *question* that can be asked for by themselves, the longest first.

    None leaves a rest that asks nothing.
    """
    asked = question.strip().strip(_END)
    if _KANA.search(asked):
        found = list(_japanese(asked))
    elif _WIDE.search(asked):
        found = list(_chinese(asked))
    else:
        found = list(_spaced(asked))
    kept = [each for each in found if _asks(each.rest)]
    return sorted(kept, key=lambda each: -len(each.inner))


def _asks(rest: str) -> bool:
    if _WIDE.search(rest):
        return bool(_signs(rest)) or any(expected(rest)[:2])
    language = language_of(rest, "")
    own = (
        any(word.casefold() not in language.known for word in _TOKEN.findall(rest))
        if language
        else False
    )
    return own or any(expected(rest)[:2])


def _spaced(question: str) -> Iterator[Nesting]:
    language = language_of(question, "")
    grammar = next(
        (g for article, g in _GRAMMARS.items() if language and article in language.articles), None
    )
    if language is None or grammar is None:
        return
    tokens = list(_TOKEN.finditer(question))
    if "the" in grammar.the:
        yield from _possessive(question)
    for at in range(1, len(tokens)):
        if tokens[at].group() not in grammar.the:
            continue
        if parted := _parted(question, tokens, at, grammar):
            yield parted
            continue
        join = _join(tokens, at, grammar, language)
        if join is None:
            continue
        end = _end(question, tokens, at, join, grammar)
        if end > join + 1 and not _asks_within(question, tokens[join:end], grammar, language):
            yield _made(question, tokens, at, join, tokens[end - 1].end())


def _asks_within(
    question: str, phrase: Sequence[re.Match[str]], grammar: _Grammar, language: Language
) -> bool:
    """Say whether it is no phrase, since the question itself is in it, or begins behind it."""
    words = [word.group() for word in phrase]
    asks = (
        word in language.asks and (word not in grammar.joins or words[n - 1] in ("of", "de"))
        for n, word in enumerate(words)
        if n
    )
    is_english = "the" in grammar.the
    return any(asks) or (is_english and "," in question[phrase[0].start() : phrase[-1].end()])


def _made(question: str, tokens: Sequence[re.Match[str]], at: int, join: int, end: int) -> Nesting:
    start = tokens[at].start()
    if _has_verb_within(tokens, at, join):
        named, verb, said = tokens[join - 2], tokens[join - 1], question[tokens[join].start() : end]
        phrase = f"{question[start : named.end()]} {said}"
        return Nesting(phrase, question[:start], f" {verb.group()}", named.group())
    head = question[tokens[at + 1].start() : tokens[join - 1].end()].rstrip(", ")
    before, phrase = question[:start], question[start:end]
    if apart := _CONTRACTED.get(tokens[at].group()):
        before, phrase = f"{before}{apart[0]} ", f"{apart[1]}{question[tokens[at].end() : end]}"
    return Nesting(phrase, before, question[end:], head)


def _has_verb_within(tokens: Sequence[re.Match[str]], at: int, join: int) -> bool:
    """Say whether the verb stands before what is said of the thing: *did she live who wrote it*."""
    is_asked = tokens[at - 1].group().casefold() in ("did", "does", "do")
    is_last = not tokens[-1].group()[0].islower()
    is_apart = tokens[join].group() in ("who", "that") and join - at > _NAMED_ONCE
    return is_asked and is_last and is_apart


def _join(
    tokens: Sequence[re.Match[str]], at: int, grammar: _Grammar, language: Language
) -> int | None:
    """Return where the phrase goes on that an article opens: behind what it names."""
    for place in range(at + 2, min(at + 2 + _MOST_OF_HEAD, len(tokens))):
        word = tokens[place].group()
        if word in grammar.joins:
            return place
        lead = place
        while lead < len(tokens) and tokens[lead].group() in grammar.leads:
            lead += 1
        if lead > place and lead < len(tokens) and tokens[lead].group() in grammar.joins:
            return place
        if word in language.known or (place == at + 2 and tokens[at + 1].group() in language.asks):
            return None
    return None


def _end(
    question: str, tokens: Sequence[re.Match[str]], at: int, join: int, grammar: _Grammar
) -> int:
    """Return the number of the token behind a phrase."""
    count = len(tokens)
    for place in range(join + 1, count):
        if re.fullmatch(r".*-(?:t-)?(?:il|elle)s?", tokens[place].group()):
            return place
    verb = grammar.verbs.fullmatch(tokens[at - 1].group().casefold())
    if verb is None or "," in question[tokens[at].end() : tokens[join].start()]:
        return count
    if "do" in verb.re.groupindex and verb.group("do"):
        is_named = not tokens[-1].group()[0].islower()
        return _after_name(tokens, join) or (count if is_named else count - 1)
    is_last = grammar.last.fullmatch(tokens[-1].group()) and count - 1 > join + 1
    return count - 1 if is_last else count


def _after_name(tokens: Sequence[re.Match[str]], join: int) -> int | None:
    """Return where the last name behind *join* ends, if a verb in small letters follows it."""
    ends = [
        place + 1
        for place in range(join + 1, len(tokens) - 1)
        if not tokens[place].group()[0].islower() and tokens[place + 1].group()[0].islower()
    ]
    names = [end for end in ends if tokens[end].group() not in ("of", "the", "in")]
    return names[0] if names else None


def _parted(
    question: str, tokens: Sequence[re.Match[str]], at: int, grammar: _Grammar
) -> Nesting | None:
    """Return a phrase that its verb parts: *hat die Bibliothek geschrieben, die es benutzt*."""
    if "der" not in grammar.the or at + 2 >= len(tokens):
        return None
    head, verb = tokens[at + 1], tokens[at + 2]
    behind = question[verb.end() :]
    if head.group()[0].islower() or verb.group()[0].isupper() or not _COMMA.match(behind):
        return None
    said = f"{tokens[at].group()} {head.group()}"
    before = question[: tokens[at].start()]
    return Nesting(f"{said}{behind}", before, f" {verb.group()}", head.group())


def _possessive(question: str) -> Iterator[Nesting]:
    for found in _POSSESSIVE.finditer(question):
        start, end = found.span()
        yield Nesting(found.group(), question[:start], question[end:], found.group("head"))


# Scripts without spaces

_ENDS_CHINESE = r"》」』”是在曾有于位全出何哪什多几由被叫住去当谁共最高长"
_OF_CHINESE = re.compile(
    rf"(?P<inner>.{{2,}}的(?P<head>[^的{_ENDS_CHINESE}]{{1,8}}+(?![》」』”])))"
)
_OBJECT_CHINESE = re.compile(
    r"^(?P<before>(?:谁|什么人|哪\w{1,3})[^的]{1,3}?了?)(?P<inner>[^了]{2,}的(?P<head>[^的]{1,8}))$"
)


def _chinese(question: str) -> Iterator[Nesting]:
    if found := _OBJECT_CHINESE.match(question):
        yield Nesting(found["inner"], found["before"], "", found["head"])
    elif found := _OF_CHINESE.match(question):
        yield Nesting(found["inner"], "", question[found.end() :], found["head"])


_VERBAL = re.compile(r"(?P<inner>.*[のがをにで].*)を(?P<verb>[^を]+の)$")
_NOMINAL = re.compile(r"(?P<inner>.*[のがをに].*?)(?P<head>[\u30a0-\u30ff\u3400-\u9fff]+[さみ]?)$")


def _japanese(question: str) -> Iterator[Nesting]:
    topic, mark, rest = question.partition("は")
    if not mark:
        topic, mark, rest = question.partition("を")
    if not mark:
        return
    if found := _VERBAL.match(topic):
        yield Nesting(
            found["inner"], "", f"を{found['verb']}{mark}{rest}", _last_of(found["inner"])
        )
        return
    if found := _NOMINAL.match(topic):
        yield Nesting(topic, "", f"{mark}{rest}", found["head"])
        owner, of, thing = topic.rpartition("の")
        if of and re.search("[のがをに]", owner):
            yield Nesting(owner, "", f"の{thing}{mark}{rest}", _last_of(owner))


def _last_of(phrase: str) -> str:
    return next(reversed(_SIGNS.findall(phrase)), "")


# Names

_SIGNS = re.compile(r"[\u30a0-\u30ff\u3400-\u9fff]+")
_NAME = re.compile(
    r"[A-ZÀ-ÖØ-Þ][\w'’-]*(?:\s+(?:(?:of|de|von|van|la|der|da)\s+)?[A-ZÀ-ÖØ-Þ\d][\w'’-]*)*"
)
_QUOTED = re.compile(r"[「『《“](.+?)[」』》”]")
_SPLIT_CHINESE = re.compile(r"由|名为|名叫|叫做|被|在|的|是|为|于|和|，|、|在|至|从|也|把|用")
_SHORTEST_SIGNS = 2


def names_in(sentence: str, nesting: Nesting, question: str) -> list[str]:
    """Return what *sentence* may name as the answer to the phrase, the likeliest first.

    What the question names itself is no answer; what stands nearest to the kind of thing that
    is asked for is likeliest.
    """
    found = _wide_names if _WIDE.search(sentence) else _spaced_names
    spans = list(found(sentence, question))
    anchors = _anchors(sentence, nesting.head)

    def distance(span: tuple[int, int]) -> tuple[int, int]:
        near = [max(start - span[1], span[0] - end, 0) for start, end in anchors]
        return min(near, default=0), span[0]

    names = [sentence[slice(*span)] for span in sorted(spans, key=distance)]
    return list(dict.fromkeys(names))[:_MOST_NAMES]


def _anchors(sentence: str, head: str) -> list[tuple[int, int]]:
    if _WIDE.search(head):
        grams = [head[i : i + 2] for i in range(len(head) - 1)]
        return [m.span() for gram in grams for m in re.finditer(re.escape(gram), sentence)]
    stems = {stem_of(word, None)[:5] for word in _TOKEN.findall(head)}
    return [m.span() for m in _TOKEN.finditer(sentence) if stem_of(m.group(), None)[:5] in stems]


def _spaced_names(sentence: str, question: str) -> Iterator[tuple[int, int]]:
    asked = {word.casefold() for word in _TOKEN.findall(question)}
    language = language_of(sentence, question)
    known = language.known if language else frozenset()
    for found in _NAME.finditer(sentence):
        words = [
            (m.start() + found.start(), m.end() + found.start())
            for m in _TOKEN.finditer(found.group())
        ]
        while words and _is_known(sentence[slice(*words[0])], asked, known):
            words.pop(0)
        while words and _is_known(sentence[slice(*words[-1])], asked, known):
            words.pop()
        if words and words[0][0] > 0:
            yield words[0][0], words[-1][1]


def _is_known(word: str, asked: frozenset[str] | set[str], known: frozenset[str]) -> bool:
    plain = word.casefold()
    return plain in asked or plain in known or len(plain) == 1


def _wide_names(sentence: str, question: str) -> Iterator[tuple[int, int]]:
    for found in _QUOTED.finditer(sentence):
        if found.group(1) not in question:
            yield found.span(1)
    for run in _SIGNS.finditer(sentence):
        at = run.start()
        for part in _SPLIT_CHINESE.split(run.group()):
            start = sentence.index(part, at) if part else at
            at = start + len(part)
            yield from _new_signs(sentence, start, at, question)


def _new_signs(sentence: str, start: int, end: int, question: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a run that have no two signs in a row of the question."""
    known = [False] * (end - start)
    for at in range(start, end - 1):
        if sentence[at : at + 2] in question:
            known[at - start] = known[at - start + 1] = True
    begun = start
    for at in range(start, end + 1):
        if at == end or known[at - start]:
            if at - begun >= _SHORTEST_SIGNS:
                yield begun, at
            begun = at + 1


# What is said


def has_kind(text: str, rest: str) -> bool:
    """Say whether *text* has a number or a date where *rest* asks for one."""
    return not any(fits(kind, text, rest)[1] for kind in expected(rest)[:2] if kind)


_KIND_ASKED = re.compile(r"\b(?:which|what|welch\w+|qué|cuál\w*|quel\w*)\s+\w+", re.IGNORECASE)
"""*In which year*: what kind of answer is wanted is said by no answer."""


def says(text: str, rest: str, lang: str | None) -> bool:
    """Say whether *text* has all that *rest*, a question without its phrase, asks for."""
    if not has_kind(text, rest):
        return False
    if _WIDE.search(rest):
        return all(run in text or run[:2] in text for run in _signs(rest))
    language = language_of(rest, "")
    known = language.known if language else frozenset()
    own = _TOKEN.findall(_KIND_ASKED.sub(" ", rest))
    wanted = {stem_of(word, lang) for word in own if word.casefold() not in known}
    held = {stem_of(word, lang) for word in _TOKEN.findall(text)}
    return wanted <= held and (bool(wanted) or any(expected(rest)[:2]))


_ASKING_SIGNS = re.compile(
    r"何[年月日人個回歳本つ時]?|どこ|誰|いつ|いくつ|どの|哪里|哪儿|哪一?[年个位天]?|什么|多少|几[年个]?"
    r"|谁|公里|キロ|ですか|ますか|ました|です|ます"
)


def _signs(text: str) -> list[str]:
    plain = _ASKING_SIGNS.sub(" ", text)
    runs = [part for run in _SIGNS.findall(plain) for part in _SPLIT_CHINESE.split(run)]
    return [run for run in runs if run.strip("曾了都就又还")]


def mentions(text: str, name: str) -> bool:
    """Say whether *text* speaks of *name*: two thirds of its words, or of its pairs of signs."""
    if _WIDE.search(name):
        parts = [name[i : i + 2] for i in range(len(name) - 1)]
        held = sum(part in text for part in parts)
    else:
        parts = _TOKEN.findall(name.casefold())
        held = len(set(parts) & set(_TOKEN.findall(text.casefold())))
    return held * 3 >= 2 * len(parts) > 0
