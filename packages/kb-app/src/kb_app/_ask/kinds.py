"""What a question asks for, where its words tell: a number, a date, or somebody's name.

The question words of the languages that are asked most. Where none is known, nothing is
expected and nothing is preferred. A number has to be of the measure that is asked for: a price
is no age.
"""

from __future__ import annotations

import re

from kb_app._ask.languages import LANGUAGES
from kb_app._ask.measures import SPELLED, asked_measure, asked_measures, measured
from kb_search.analysis import fold

__all__ = ["KINDS", "expected", "fits", "is_unlisted", "lacks", "marked"]

KINDS = ("number", "date", "name")

_ASKED = {
    "number": re.compile(
        r"\bhow (?:many|much|old|long|far|tall|high|often|large|big|deep|fast)\b"
        r"|\b(?:what|which) (?:percent\w*|number|amount|population|age|score|proportion)\b"
        r"|\bwie\s?viele?\b|\bwie (?:hoch|alt|lang|groß|oft|weit|tief|schnell)\b"
        r"|\bcuánt\w+|\bqué (?:porcentaje|número|cantidad|edad)\b|\bcombien\b|\bquant[oiae]\b"
        r"|\bhoeveel\b|\bсколько\b|\bile\b|몇|얼마|いくつ|いくら|ど(?:れ|の)くらい"
        r"|何(?:人|個|回|歳|本|つ|%|％|番|名|位|度|km|キロ|メートル|種類|枚|曲|台|分|円|ドル)"
        r"|多少|几|幾|कितन|كم",
        re.IGNORECASE,
    ),
    "date": re.compile(
        r"\bwhen\b|\b(?:what|which) (?:year|date|day|month|decade|century)\b"
        r"|\bwann\b|\bwelche[mnrs]? (?:jahr|datum|tag|monat|jahrhundert)\b"
        r"|\bcuándo\b|\bqué (?:año|fecha|mes|siglo)\b|\bquand\b|\bquando\b|\bwanneer\b|\bкогда\b"
        r"|언제|몇\s?년|년도|연도|날짜|いつ|何(?:年|月|日|世紀)"
        r"|什么时候|何时|哪一?年|几年|कब|متى",
        re.IGNORECASE,
    ),
    "name": re.compile(
        r"\bwho(?:m|se)?\b|\bwer\b|\bwe[mn]\b|\bwessen\b|\bquién\w*\b|\bquem\b|\bкто\b|\bwie is\b"
        r"|^\W*(?:(?:à|avec|chez|de|par|pour)\s)?qui\b|\bchi\b"
        r"|누구|누가|誰|だれ|谁|किस",
        re.IGNORECASE,
    ),
}
_SURELY = {
    "number": re.compile(
        r"\bhow many\b|\bhow much (?:do|does|did|is|was)\b"
        r"|\bhow (?:old|high|tall|deep|far|wide|heavy|long) (?:is|was|are|were)\b"
        r"|\bwie\s?viele\b|\bwie (?:alt|hoch|lang|tief|breit|schwer|weit) (?:ist|war|sind|waren)\b"
        r"|\bcuánt[oa]s\b|\bqué edad\b|\bcombien d['’e]|\bquel âge\b|\bhoeveel\b"
        r"|何(?:人|個|歳|本|匹|枚)|多少(?:人|个|公里|米)|几个|몇\s?(?:명|개|살)",
        re.IGNORECASE,
    ),
    "date": re.compile(
        r"\bwhen (?:did|was|were)\b|\b(?:what|which) year\b"
        r"|\bwann (?:wurden?|starb|war|hat|ist)\b|\bwelche[mns]? jahr\b"
        r"|\bcuándo (?:fue|fueron|se \w+ó|\w+ó)\b|\bqué año\b"
        r"|\bquand (?:est|a|ont|sont|fut)\b|\bquelle année\b"
        r"|何年|いつ.*(?:ました|でした|った)|哪一?年|언제.*[았었였]|몇\s?년",
        re.IGNORECASE,
    ),
}
"""Where nothing else can be meant: *when is it called* asks for no date."""
_MONTH = (
    r"jan(?:uary?|uar)?|feb(?:ruary?|ruar)?|march|märz|apr(?:il)?|may|mai|june?|juni|july?|juli"
    r"|aug(?:ust)?|sept?(?:ember)?|o[ck]t(?:ober)?|nov(?:ember)?|de[cz](?:ember)?|enero|febrero"
    r"|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre"
    r"|janvier|février|mars|avril|juin|juillet|août|septembre|octobre|novembre|décembre|gennaio"
    r"|febbraio|aprile|maggio|giugno|luglio|settembre|ottobre|dicembre|janeiro|fevereiro|março|maio"
    r"|junho|julho|setembro|outubro|novembro|dezembro|januari|februari|maart|mei|augustus"
    r"|января|февраля|марта|апреля|мая|июня|июля|августа|сентября|октября|ноября|декабря"
)
_NUMBER = re.compile(
    r"(?<![A-Za-z\d])\d++(?:[.,:/]\d++)*+(?!(?:st|nd|rd|th|ème)\b|[ºª])(?:\s?%)?"
    rf"|[一二三四五六七八九十百千万億兆两兩]+|\b(?:{SPELLED}|none|keine[rs]|ningun[oa]|aucune?)\b",
    re.IGNORECASE,
)
_DATE = re.compile(
    r"\b\d{4}\s(?:год\w*|г\.)|"
    rf"\b(?:(?:\d{{1,2}}\.?\s?(?:[-–]|au|al?|bis|to|and|und|et|y)\s?(?:el |le |den |dem )?)?"
    rf"\d{{1,2}}(?:st|nd|rd|th|er|\.|º)?\s+(?:de )?(?:{_MONTH})\b\.?(?:,?\s+(?:de )?\d{{4}})?"
    rf"|(?:{_MONTH})\.?\s+\d{{1,2}}(?:,?\s+\d{{4}})?\b|(?:{_MONTH})\s+\d{{4}}\b"
    rf"|(?:in|im|en|em|since|until|seit|bis|ab|ende|anfang|mitte|depuis|desde|hasta)"
    rf" (?:{_MONTH})\b(?: \d{{4}}\b)?"
    r"|\d{4}-\d\d-\d\d|(?:1\d|20)\d\d(?:s|er[ns]?)?\b)"
    r"|\d{1,4}\s?[年년]\s?(?:\d{1,2}\s?[月월]\s?(?:\d{1,2}\s?[日일])?)?|\d{1,2}\s?(?:世紀|世纪|세기)"
    r"|\d{1,2}\s?[月월]\s?\d{1,2}\s?[日일]",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"\b[A-ZÄÖÜÉÁÍÓÚÑÀ-Þ][\w'’-]+(?:\s+(?:(?:of|de|von|van|la|der|da)\s+)?[A-ZÄÖÜÉÁÀ-Þ][\w'’-]+)*"
)
_TIME = re.compile(
    rf"\b(?:{_MONTH}|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|spring|summer|autumn|winter"
    r"|century|decade|ago|during|after|before|since|until|when|while|today|yesterday"
    r"|während|nach|nachdem|vor|bevor|seit|bis|als|frühling|sommer|herbst|jahrhundert"
    r"|(?:end|beginning) of|(?:ende|anfang) de[rs]|finale?s? de|fin d[eu]|principios de"
    r"|durante|después|antes|desde|hasta|cuando|siglo|primavera|verano|otoño|invierno"
    r"|pendant|après|avant|depuis|lorsque|quand|siècle|printemps|été|automne|hiver)\b"
    r"|[春夏秋冬前後]|期间|之[前后]|曜日|봄|여름|가을|겨울|전에|후에",
    re.IGNORECASE,
)
"""What may say when something was without a date."""
_FOUND = {"date": _DATE, "name": _NAME}
_PHONE = r"(?<!\d)(?!(?:19|20)\d\d-\d\d-\d\d)\d(?:[\s/().-]*\d){5,13}(?!\d)"
"""No more than 14 digits, and no date."""
_FORMED = {
    _PHONE: r"\b(?:phone|telephone) number\b|\b(?:telefon|handy)nummer\b"
    r"|\bnúmero de teléfono\b|\bnuméro de téléphone\b|\bномер телефона\b"
    r"|電話番号|电话号码|전화번호",
    "@": r"\be-?mail[ -]address\b|\b(?:e-?)?mail-?adresse\b|\bcorreo electrónico\b"
    r"|\badresse (?:e-?mail|électronique)\b|メールアドレス|邮箱地址",
    r"\b[A-Z]{2}\d\d(?:\s?[A-Z\d]{2,4}){3}": r"\biban\b",
}
"""What something looks like that is asked for by these words."""
_FORMS = [(re.compile(asked, re.IGNORECASE), re.compile(form)) for form, asked in _FORMED.items()]
_COUNTED = re.compile(
    rf"(?:\d+(?:[.,]\d+)*|(?i:{SPELLED}))"
    r" (?!mill|pounds|crowns|bucks|rupees|marks|shillings|livres)"
    rf"[a-zà-ÿ]{{3,}}s\b|(?i:{SPELLED}) (?!Pfund|Mark|Kronen)[A-ZÄÖÜ][a-zäöüß]"
)
_COUNTED_NOUN = re.compile(
    r"\d+(?:[.,]\d+)* (?!Mark|Kron|Pfund|Pound|Rubel|Rupi|Lir)[A-ZÄÖÜ][a-zäöüß]"
)
_WORD = re.compile(r"[^\W\d]")
_NO_MEASURE = {
    "money": (_COUNTED, _COUNTED_NOUN),
    "clock": (_COUNTED, _COUNTED_NOUN),
    "years": (_COUNTED, re.compile("[一二三四五六七八九十百千万]")),
    "height": (_COUNTED, _COUNTED_NOUN, _WORD),
}
"""What a number without a unit is that is none of the measure: the number of something, as in
*two sets* and *38 Leute*, and of what is high, any word."""
_AMOUNT_OF = re.compile(
    r"\b(?:how (?:many|much)|wie ?viele?(?=\s+(?-i:[A-ZÄÖÜ]))|cuánt(?:a|[ao]s)|quant[aei]|hoeveel"
    r"|combien d(?:e\s|['’]))\s*(?P<word>(?P<thing>[^\W\d_]{3,}?)(?:es|en|s|n|e)?)\b",
    re.IGNORECASE,
)
_AMOUNTS = re.compile(
    rf"(?:^|[,;:\n])[ -]*(?:\d+(?:[.,/]\d+)?|[½¼¾]|{SPELLED}) [^,;:\n]*[^\W\d_]{{3}}"
)
_LIST = 3
_ANY_AMOUNT = frozenset(["money", "time", "geld", "zeit", "dinero", "argent", "temps"])
_SAID = {
    "money": re.compile(
        r"\b(?:free|nothing|gratis|kostenlos|kostenfrei|umsonst|nichts|gratuit\w*|rien|nada"
        r"|бесплатно)\b|無料|免费|무료",
        re.IGNORECASE,
    ),
    "clock": re.compile(
        r"\b(?:(?:mid)?night|(?:mid|after)?noon|mornings?|evenings?|dawn|dusk|sun(?:rise|set)|lunch"
        r"|breakfast|dinner|school|work|morgens?|früh\w*|(?:\w*mit)?tags?|\w*abends?|\w*nachts?"
        r"|mat+in|mi(?:di|nuit)|soir|nuit|après-midi|mañana|mediodía|tarde|noche|утр\w+|вечер\w*"
        r"|полд\w+|after|before|until|nach|vor|bis|après|avant|después|antes)\b"
        r"|[朝昼夕夜晩早晚]|正午|아침|저녁|밤|오전|오후",
        re.IGNORECASE,
    ),
}
"""What answers, too, where there is no number."""
_FIGURE = re.compile(r"\d+")
_YEAR = re.compile(r"\d{4}")
_BORN = re.compile(
    r"\bborn\b|\bgeb(?:oren|\.)|\bnaci\w+|\bnée?s?\b|\bnat[oa]\b|\bnascid[oa]\b|\bрод\w+"
    r"|生まれ|出生|年生",
    re.IGNORECASE,
)
"""What makes a year alone say how old somebody is."""
_LED = re.compile(r"[a-zà-ÿ] $")
"""Before the date of something that is told, as in *met on 3 May*; in *Kai: 3 May 1990* none is."""


def expected(question: str) -> tuple[str | None, ...]:
    """Return each of ``KINDS``, or ``None`` in its place where it is not asked for."""
    asked = {kind for kind in KINDS if _ASKED[kind].search(question)}
    if asked_measures(question):
        asked.add("number")
    return tuple(kind if kind in asked else None for kind in KINDS)


def fits(kind: str | None, text: str, question: str) -> tuple[bool, bool]:
    """Return whether *text* has what is asked for, and whether it lacks it.

    Neither, where nothing of the kind is asked for. What the question says itself is no answer.
    """
    if kind is None:
        return False, False
    has = bool(_new(kind, text, question))
    return has, not has


def lacks(text: str, question: str) -> bool:
    """Say whether *question* asks for a number or a date beyond doubt, and *text* has none.

    Nor has it where all of its numbers are of another measure than the one that is asked for.
    So it is with a phone number, an address of mail and an account.
    """
    if any(asked.search(question) and not form.search(text) for asked, form in _FORMS):
        return True
    if any(_NUMBER.finditer(text)) and not _measuring(text, question):
        return True
    if says_so := _SAID.get(asked_measure(question) or ""):
        return not any(_NUMBER.finditer(text)) and not says_so.search(text)
    kinds = [kind for kind, asked in _SURELY.items() if asked.search(question)]
    if "date" in kinds and _TIME.search(text):
        return False
    return bool(kinds) and not any(_new(kind, text, question) for kind in kinds)


def is_unlisted(text: str, question: str) -> bool:
    """Say whether *question* asks how much there is of something, and *text* lists other amounts.

    A list of amounts says of what each is, perhaps by a compound: *300 g Tellerlinsen*.
    """
    asked = _AMOUNT_OF.search(question)
    if asked is None or len(_AMOUNTS.findall(text)) < _LIST:
        return False
    word = asked["word"].casefold()
    if word in _ANY_AMOUNT or any(word in language.known for language in LANGUAGES):
        return False
    return fold(asked["thing"]) not in fold(text)


def marked(text: str, question: str) -> tuple[int, int] | None:
    """Return the range of *text* that is the answer itself, where that is clear.

    It is where one thing of a kind is asked for, and the text has one such thing that the
    question does not have.
    """
    kinds = [kind for kind in expected(question) if kind is not None]
    if "date" in kinds:  # how many years, and in which year, are asked by the same words
        kinds = ["date"]
    if len(kinds) != 1:
        return None
    found = _new(kinds[0], text, question)
    if len(found) != 1:
        return None
    start, end = found[0]
    told = (span[:2] for span in measured(text) if span[0] <= start < span[1] and span[2])
    wide, last = next(told, (start, end)) if kinds[0] == "number" else (start, end)
    return last - len(text[wide:last].lstrip()), wide + len(text[wide:last].rstrip())


def _measuring(text: str, question: str) -> list[tuple[int, int]]:
    """Return the numbers of *text* that may be of the measure which *question* asks for."""
    found = [match.span() for match in _NUMBER.finditer(text)]
    wanted = asked_measures(question)
    if not wanted:
        return found
    dates = [match.span() for match in _DATE.finditer(text) if not match.group().isdecimal()]
    known = [(start, end, measure) for start, end, measure in measured(text) if measure]
    others = _NO_MEASURE.get(asked_measure(question) or "", ())

    def answers(start: int) -> bool:
        for a, b in dates:
            if a <= start < b and "date" in wanted:
                is_day = len(_FIGURE.findall(text, a, b)) > 1 and not _LED.search(text, 0, a)
                is_told = is_day or "years" not in wanted or bool(_BORN.search(text))
                return is_told and _YEAR.search(text, a, b) is not None
            if a <= start < b:
                return False
        within = [measure for a, b, measure in known if a <= start < b]
        if within:
            return within[0] in wanted
        return not any(each.match(text, start) for each in others)

    return [span for span in found if answers(span[0])]


def _new(kind: str, text: str, question: str) -> list[tuple[int, int]]:
    asked = question.casefold()
    if kind == "number":
        found = _measuring(text, question)
    else:
        found = [match.span() for match in _FOUND[kind].finditer(text)]
    if kind == "name":  # any word that opens a sentence has a capital
        found = [span for span in found if span[0] > 0 or " " in text[slice(*span)]]
    return [span for span in found if text[slice(*span)].casefold() not in asked]
