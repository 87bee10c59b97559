"""What a sentence says that can be compared with what another one says, without a model.

A sentence is read as

* **words**: stems of what is neither a number nor a name, as the index stems them,
* **figures**: numbers with their unit, and months; one value however it is written,
* **names**: words with a capital inside a sentence, and words with digits or several capitals,
* **signs**: pairs of letters of what is written without spaces; its names are not told apart
  from its words, so what is new in it stands for both,
* **denials**: for each negation, the words next to it, which it turns round.

Languages are those of the stemmers, and Chinese, Japanese and Korean. Of others, words,
figures and names are read all the same, and no negation is known. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import pairwise

from kb_app._ask.languages import asked_in
from kb_core.text import LETTERS
from kb_core.values import dataclass
from kb_search.analysis import analyze, fold

__all__ = [
    "Reading",
    "designations",
    "dull_stems",
    "has_designation",
    "in_one_word",
    "numbered",
    "particulars",
    "read",
    "stem_of",
    "years_in",
]

_SIGNS = "·\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uff66-\uff9d"
_SIGN_RUN = re.compile(rf"[{_SIGNS}]+")
_HIRAGANA = re.compile(r"[\u3040-\u309f]")
_TOKEN = re.compile(
    rf"\d+(?:[.,:/’'\u00a0-]\d+)*|{LETTERS}(?:['’]{LETTERS})*\d*[^\W_]*|[%‰°€$£¥₩]", re.UNICODE
)
_YEAR = re.compile(r"(?<![\d.,])(?:19|20)\d\d(?![.,]?\d)")
_WITH_CAPITALS: frozenset[str | None] = frozenset(("de", "lb"))
_TITLE = re.compile(
    r"(?:^|[^\w.])(?:Dr|Mr|Mrs|Ms|Prof|St|Sr|Sra|Hr|Fr|Mme|Mlle|Dra|Ing|Mag|Dott|Sig)\.\Z"
)
"""A title before a name, whose dot ends no sentence, and which is none."""
_TIED = re.compile(r"\d+-[^\W\d_]+")
_FAR = 12
"""How far before a negation the sign may stand that it turns round, behind its ending."""
_REACH = 3
"""How many words a negation reaches, those that tell nothing aside."""


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _table(rows: str) -> dict[str, str]:
    """Return what each word of a row means: the first word of it."""
    table: dict[str, str] = {}
    for row in rows.strip().splitlines():
        first, *others = row.split()
        table |= dict.fromkeys((first, *others), first)
    return table


_MONTHS = _table("""
m1 january jan januar enero janvier januari
m2 february feb februar febrero février februari
m3 march mar märz marzo mars maart
m4 april apr abril avril
m5 may mai mayo mei
m6 june jun juni junio juin
m7 july jul juli julio juillet
m8 august aug agosto août augustus
m9 september sep sept septiembre septembre setiembre
m10 october oct oktober octubre octobre okt
m11 november nov noviembre novembre
m12 december dec dezember diciembre décembre dez
""")
_AS_WORDS = _set("may march mar mars mai")
"""Months that are words, too: only beside a number, or behind what leads to a date."""
_BEFORE_MONTHS = _set("in im en em since seit until bis last next of ende anfang mitte")
_UNITS = _table("""
% percent prozent ciento pourcent パーセント 퍼센트 프로
$ dollar dollars dólares ドル 달러 美元
€ euro euros ユーロ 유로 欧元
£ pound pounds pfund libras
km kilometre kilometer kilometres kilometers kilómetros キロ 킬로미터 公里 千米
m metre meter metres meters metern metros メートル 미터 米
cm centimetre centimeter centimetres centimeters zentimeter
mile miles mi meilen millas
ft foot feet fuß pies
kg kilogram kilograms kilogramm kilogramos キログラム 킬로그램 公斤
t tonne tonnes ton tons tonnen toneladas トン 톤 吨
million millions millionen millones mio
billion billions milliarden mrd
thousand thousands tausend mil
hundred hundreds hundert cien cientos
second seconds sekunden segundos 秒 초
minute minutes minuten minutos 分 分钟 분
hour hours stunden horas 時間 小时 시간
day days tage tagen días 日 天 일
week weeks wochen semanas 週 周 주
month months monate monaten meses
year years jahre jahren años 年 년
century centuries jahrhundert jahrhunderts siglo siglos 世紀 世纪 세기
""")
_SIGN_UNITS = re.compile(
    "|".join(sorted((u for u in _UNITS if _SIGN_RUN.match(u)), key=len, reverse=True))
)
_COUNTS = _table("""
0 zero
2 two zwei dos
3 three drei tres
4 four vier cuatro
5 five fünf cinco
6 six sechs seis
7 seven sieben siete
8 eight acht ocho
9 nine neun nueve
10 ten zehn diez
11 eleven elf
12 twelve zwölf doce
""")
"""Without one, which is an article in many languages."""
_NEGATIONS = _set(
    "not no never neither nor none nobody nothing without cannot nicht kein keine keinen keinem"
    " keiner keines nie niemals weder ohne nichts niemand nunca ni ningún ninguna ninguno jamás"
    " nada nadie sin tampoco ne pas jamais aucun aucune sans rien non mai senza niet geen nooit"
    " zonder não nunca sem inte aldrig ikke aldri не ни нет никогда без"
)
_CONTRACTED = re.compile(r"n['’]t$")
_DENIAL_SIGNS = re.compile(
    r"(?P<after>不(?![同仅仅过但断久错])|没有?|沒有?|未(?!来|来|來)|無い?|无(?!论|論)|非(?!常|洲)|并非"
    r"|(?<![가-힣])(?:안|못)(?=\s))"
    r"|(?P<before>な(?:い|かった|く(?!な))|ません|ず(?=[、にと。])|ぬ(?=[。、])|지\s?(?:않|못)|없|아니)"
)
_FUNCTION_SIGNS = frozenset(
    "的了是在和与及為为被把并並而且也都就又还還但因此所以其这那這有之于於以从從到对對等着著过過吗呢吧啊"
    "由向给給让讓使得地个個位名种種些该該它他她们們我你您者将將会會可能自己已经很更最"
    "後后前中上下内外時时年月日人"
)
_ENDINGS = re.compile(
    r"(?:입니다|습니다|합니다|했습니다|되었습니다|하였습니다|이었습니다|였습니다|하였다|되었다|이었다"
    r"|했다|된다|한다|였다|이다|있다|있습니다|았다|었다|하고|하며|에서는|에서|에게|으로|부터|까지|이라고|라고"
    r"|에는|와의|과의|으로서|로서|은|는|이|가|을|를|의|에|로|와|과|도|만|인|한|된|할|하는|되는|들)$"
)
_JOINING_WORDS = _set("그리고 그러나 하지만 또한 따라서 그래서 즉 및 등 또는 혹은 그런데")
_NUMBERED = re.compile(r"([^\W\d_]{1,3})(\d{1,4})")
_DULL = _set(
    "the and for that with this from was were are has have had which who its his her their been"
    " also than then there these those into about over after before during while when where what"
    " der die das den dem des und von mit für auf ist war sind waren wird wurde wurden als auch ein"
    " eine einen einem einer eines bei nach aus sich nicht oder aber zum zur im am um durch sowie"
    " los las una uno del que con por para como más fue son era eran han está esta este sus entre"
    " sobre también les des une est dans par sur qui été avec pour il elle se sa son el la le de en"
    " es al un su lo it is in of to by on at as an be he she they did does do so or but if we you"
    " er sie es zu ihr ihre seine dass"
)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a sentence says, in parts that can be compared."""

    words: tuple[str, ...]
    figures: frozenset[tuple[str, str]]
    """Value and unit; without a unit, ``""``."""
    names: frozenset[str]
    signs: tuple[str, ...]
    """Runs of what is written without spaces, without what only joins it."""
    denials: tuple[frozenset[str], ...]

    @property
    def content(self) -> frozenset[str]:
        """All that can be found again in another sentence."""
        return frozenset(self.words) | self.names | {value for value, _ in self.figures}


@lru_cache(maxsize=4096)
def read(text: str, lang: str | None = None) -> Reading:
    """Return what *text*, a sentence or several, says; *lang* (ISO 639-1) stems its words."""
    text = unicodedata.normalize("NFKC", text)
    tokens = list(_TOKEN.finditer(_SIGN_RUN.sub(" ", text)))
    words: list[str] = []
    names: set[str] = set()
    figures = set(_sign_figures(text))
    with_unit = {value.removeprefix("m") for value, _ in figures}
    for at, token in enumerate(tokens):
        word = token.group()
        if figure := _figure(tokens, at):
            if figure[1] or figure[0] not in with_unit:
                figures.add(figure)
        elif _is_name(text, token) and not _is_dull(word):
            names.add(stem_of(word, lang))
        elif _is_word(word):
            words.append(stem_of(word, lang))
    return Reading(
        words=tuple(words),
        figures=frozenset(figures),
        names=frozenset(names),
        signs=tuple(_runs(text)),
        denials=tuple(_denials(tokens, text, lang)),
    )


def years_in(text: str) -> frozenset[str]:
    """Return the years that *text* names, also in dates such as ``2024-05-31``."""
    return frozenset(_YEAR.findall(text))


def particulars(text: str, lang: str | None = None) -> Mapping[str, str]:
    """Return what *text* names that is one of its kind: names, dates and numbers.

    Each as ``read`` has it, with the word as it is written. What is tied to a number, as the
    letter of ``10-Q`` is, tells nothing by itself, nor does the number. Where all nouns have a
    capital, names are those with a digit or several capitals. *lang* stems its words; what it is
    in itself, where that is told to be another language, says which words have capitals.
    """
    text = unicodedata.normalize("NFKC", text)
    spoken = asked_in(text)
    has_capitals = bool(_WITH_CAPITALS & ({lang} if lang in spoken or not spoken else spoken))
    for tied in (_SIGN_RUN, _TIED):
        text = tied.sub(lambda found: " " * len(found.group()), text)
    tokens = list(_TOKEN.finditer(text))
    found = {}
    for at, token in enumerate(tokens):
        word = token.group()
        if figure := _figure(tokens, at):
            found[figure[0]] = word
        elif (
            _is_name(text, token)
            and not _is_dull(word)
            and _is_telling(word, has_capitals=has_capitals)
        ):
            found[stem_of(word, lang)] = word
    return found


def designations(text: str) -> list[tuple[str, str]]:
    """Return what *text* calls by a name and the number behind it: ``RE`` and ``9`` of *RE 9*.

    Neither is one by itself. Months, years and numbers with a unit are none.
    """
    text = unicodedata.normalize("NFKC", text)
    return [
        (name.group(), number.group())
        for name, number in _with_numbers(text)
        if _is_name(text, name)
    ]


def numbered(text: str) -> list[tuple[str, str]]:
    """Return what *text* may call by a word and a number: *platform 5*, and *M9* as ``M``, ``9``.

    Whether it does, what is read tells: it has the word with other numbers.
    """
    text = unicodedata.normalize("NFKC", text)
    apart = [(name.group(), number.group()) for name, number in _with_numbers(text)]
    together = map(in_one_word, (token.group() for token in _TOKEN.finditer(text)))
    return [*apart, *filter(None, together)]


def in_one_word(word: str) -> tuple[str, str] | None:
    """Return the letters and the number of a word such as *M9*; ``None`` if it is none."""
    found = _NUMBERED.fullmatch(word)
    return (found[1], found[2]) if found and found[1].isupper() else None


def _with_numbers(text: str) -> Iterator[tuple[re.Match[str], re.Match[str]]]:
    """Yield each word that tells something and the plain number behind it."""
    tokens = list(_TOKEN.finditer(text))
    for at, (name, number) in enumerate(pairwise(tokens)):
        if (
            number.group().isdecimal()
            and not _YEAR.fullmatch(number.group())
            and text[name.end() : number.start()] in {" ", "-"}
            and name.group().isalpha()
            and not _is_dull(name.group())
            and not any(_is_month(tokens, n) for n in (at, at + 2))
            and _figure(tokens, at + 1) == (_value(number.group()), "")
        ):
            yield name, number


def has_designation(text: str, name: str, number: str) -> bool:
    """Say whether *text* has a name and behind it a number, with no more than signs between."""
    return bool(
        re.search(rf"(?<![^\W_]){re.escape(name)}[\W_]*0*{int(number)}(?!\d)", text, re.IGNORECASE)
    )


@cache
def dull_stems() -> frozenset[str]:
    """Return the stems of words that tell nothing, in each of their languages."""
    return frozenset(stem_of(word, lang) for word in _DULL for lang in ("en", "de", "es", "fr"))


def _is_telling(name: str, *, has_capitals: bool) -> bool:
    return len(name) > 1 and not (has_capitals and name[1:].islower())


def stem_of(word: str, lang: str | None) -> str:
    """Return the stem of one word, as the index has it."""
    return analyze(_CONTRACTED.sub("", word), lang).stem or fold(word)


def _is_dull(word: str) -> bool:
    plain = word.casefold()
    return plain in _DULL or plain in _NEGATIONS or bool(_CONTRACTED.search(plain))


def _is_word(word: str) -> bool:
    return word[0].isalpha() and len(word) > 1 and not _is_dull(word)


def _is_name(text: str, token: re.Match[str]) -> bool:
    word = token.group()
    if not word[0].isalpha() or _TITLE.search(text[: token.end() + 1]):
        return False
    if any(c.isdigit() for c in word) or sum(c.isupper() for c in word) > 1:
        return True
    before = text[: token.start()].rstrip(" \"'“„«»(‘[*_¿¡")
    ends = before[-1:] in ".!?:;\n…。！？" and _TITLE.search(before) is None
    return word[0].isupper() and not ends


# Figures


def _figure(tokens: Sequence[re.Match[str]], at: int) -> tuple[str, str] | None:
    """Return the figure that a token is, with the unit beside it; ``None`` if it is none."""
    word = tokens[at].group().casefold()
    beside = [tokens[n].group() for n in (at - 1, at + 1) if 0 <= n < len(tokens)]
    if word in _MONTHS:
        is_led = at > 0 and tokens[at - 1].group().casefold() in _BEFORE_MONTHS
        is_date = word not in _AS_WORDS or is_led or any(other[0].isdigit() for other in beside)
        return (_MONTHS[word], "") if is_date else None
    if not word[0].isdigit() and word not in _COUNTS:
        return None
    after = tokens[at + 1].group().casefold() if at + 1 < len(tokens) else ""
    before = tokens[at - 1].group() if at else ""
    unit = _UNITS.get(after) or (_UNITS.get(before) if before in "$€£" and before else None)
    return _value(word), unit or ""


def _is_month(tokens: Sequence[re.Match[str]], at: int) -> bool:
    return at < len(tokens) and tokens[at].group().casefold() in _MONTHS


def _value(word: str) -> str:
    """Return a number as one value, however its thousands and decimals are parted."""
    if word in _COUNTS:
        return _COUNTS[word]
    plain = re.sub(r"[’'\u00a0]", "", word)
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", plain):
        plain = plain.replace(",", "")
    elif re.fullmatch(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?", plain):
        plain = plain.replace(".", "").replace(",", ".")
    else:
        plain = plain.replace(",", ".")
    return plain.lstrip("0") or "0" if plain.isdigit() else plain


_SIGN_FIGURE = re.compile(r"\d+(?:[.,]\d+)*(?=\s?([" + _SIGNS + r"]+))")


def _sign_figures(text: str) -> Iterator[tuple[str, str]]:
    """Yield numbers whose unit is written in signs behind them, such as ``5月``."""
    for match in _SIGN_FIGURE.finditer(text):
        if match.group(1)[0] in "月월":
            yield f"m{_value(match.group())}", ""
        elif unit := _SIGN_UNITS.match(match.group(1)):
            yield _value(match.group()), _UNITS[unit.group()]


# Signs


def _runs(text: str) -> Iterator[str]:
    for run in _runs_of(text):
        if "\uac00" <= run[0] <= "\ud7a3":
            if run not in _JOINING_WORDS:
                yield _ENDINGS.sub("", run) or run
        else:
            yield run


def _runs_of(text: str) -> Iterator[str]:
    for run in _SIGN_RUN.findall(text):
        yield from (part for part in _HIRAGANA.split(run) if part)


# Denials


def _denials(
    tokens: Sequence[re.Match[str]], text: str, lang: str | None
) -> Iterator[frozenset[str]]:
    words = [token.group() for token in tokens]
    for at, word in enumerate(words):
        is_contracted = bool(_CONTRACTED.search(word))
        if is_contracted or word.casefold() in _NEGATIONS:
            after = [stem_of(w, lang) for w in words[at + 1 :] if _is_word(w)][:_REACH]
            before = [stem_of(w, lang) for w in reversed(words[:at]) if _is_word(w)][:2]
            yield frozenset((*after, *before))
    for match in _DENIAL_SIGNS.finditer(text):
        if match.lastgroup == "after":
            reached = text[match.end() : match.end() + _REACH]
        else:
            said = text[max(0, match.start() - _FAR) : match.start()]
            reached = "".join(_runs_of(said))[-_REACH:]
        yield frozenset(c for c in reached if _SIGN_RUN.match(c))


def is_joining(sign: str) -> bool:
    """Say whether a sign only joins others, so that it says nothing by itself."""
    return sign in _FUNCTION_SIGNS
