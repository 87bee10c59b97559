"""Which measure a number has, and of which one a question asks for a number.

*780 €* is nobody's age, and *5 hours* no price: a number answers where it has the measure that
is asked for, or none that is written beside it. The words of the languages that are asked
most; what is not known is of no measure, and answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["SPELLED", "asked_measure", "asked_measures", "measured"]

SPELLED = (
    r"one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven"
    r"|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|hundred|thousand|million"
    r"|billion|half|third|dozen|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|dos|tres|cuatro"
    r"|cinco|seis|siete|ocho|nueve|diez|elf|zwölf|hundert|tausend|once|doce|quince|veinte|cien|mil"
    r"|hälfte|drittel|dutzend|mitad|moitié"
    r"|deux|trois|quatre|cinq|six|sept|huit|neuf|dix|onze|douze|quinze|vingt|trente|cent|mille"
    r"|due|tre|quattro|cinque|sette|otto|nove|dieci|dois|duas|três|quatro|sete|oito|dez"
    r"|twee|drie|vijf|zes|zeven|acht|negen|tien|дв[ае]|дву[мх]|тр[иё]х?|четыр\w+|пят[ьи]|шест[ьи]"
    r"|сем[ьи]|восем[ьи]|девят[ьи]|десят[ьи]|одиннадцат[ьи]|двенадцат[ьи]|двадцат[ьи]|ст[ао]"
    r"|тысяч\w*"
)
_AFTER = {
    "money": r"[€$£¥₩₽円元원]|euros?|eur|usd|chf|gbp|dollars?|dólar(?:es)?|ct|cents?|centimes"
    r"|céntimos|franken|rappen|francs?|рубл\w+|руб|yen|ドル|ユーロ|달러|złot\w+|zł|pesos?",
    "percent": r"[%‰％]|percent|per cent|prozent|por ciento|pour cent|процент\w*",
    "length": r"(?:km|cm|mm|m)(?![²³/])|met(?:er|re)s?|metern?|metros?|mètres?|kilomet(?:er|re)n?s?"
    r"|kilómetros?|kilomètres?|miles?|meilen?|feet|foot|ft|inch(?:es)?|zoll|км|метр\w*"
    r"|キロメートル|メートル|公里|米|미터",
    "weight": r"(?:kg|g|mg|µg|t)(?!/)|grams?|gramm|gramos?|grammes?|kilos?|kilogram\w*|tonn\w+"
    r"|toneladas?|lbs?|oz|кг|キログラム|公斤|킬로그램",
    "size": r"[kc]?m[²³]|ml|cl|l|lit(?:er|re)n?s?|litros?|ha|qm|[kmgt]b|kwh?p?|bar|m?hz|ghz|°",
    "years": r"years?|jahren?|jahre?|años?|ans|années?|anni|anos|jaar|лет|год\w*|歳|才|岁|살",
    "hours": r"(?:h|std)(?![/²³])|hours?|stunden?|horas?|heures?|ore|uur|час\w*|時間|小时|시간",
    "time": r"(?:min|sek)(?![/²³])|seconds?|sekunden?|segundos?|secondes?|minut\w+|days?|tagen?"
    r"|tage?|días?|jours?|weeks?|wochen?|semanas?|semaines?|months?|monaten?|monate?|mes(?:es)?"
    r"|mois|минут\w*|дн\w+|недел\w+|месяц\w*|分|秒|日間|週間|[かヶ]月|分钟|天|周|분|주",
    "clock": r"uhr|[ap]\.?m\b\.?|o['’]clock|時(?!間)|[点點시](?![가-힣])",
    "degrees": r"°\s?[cf]?|degrees?|grad|grados?|degrés?|градус\w*|度|도",
    "count": r"人|個|枚|本|台|匹|頭|冊|杯|軒|世帯|[かヶ]所|回|名|个|张|只|次|명|개|마리|번",
}
"""By the measure, how it is written behind a number."""
_WIDE = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
_ENDS = rf"(?![^\W\d_{_WIDE}])"
_GROUP = r"[ \u00a0\u202f.,'’]"
_FIGURE = rf"(?:\d{{1,3}}(?:{_GROUP}\d{{3}})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,:]\d+)*)"
_CODE = r"(?P<code>(?:\+\d|0\d)\d*(?:[ /-]\d+)+|0\d{4,})"
_TIME = r"\d{1,2}\s?[:h]\s?\d\d(?!\d)"
_TIMES = (
    r"(?:(?:millones|million\w*|mio\.?|milliarden?|mrd\.?|billion\w*|thousand|tausend|тыс\.?"
    r"|млн\.?)\s(?:de\s|d['’])?)?"
)
_NUMBER = re.compile(
    rf"(?P<before>[$€£¥₩]|\b(?:EUR|USD|CHF|GBP)|S/)?\s?(?<![a-zA-Z0-9_.,:])"
    rf"(?:{_CODE}|{_TIME}|(?:{_FIGURE}\s?(?:[-–]|bis|to|or|oder|à|a|o)\s?)?{_FIGURE}"
    rf"|\b(?:{SPELLED})\b|[一二三四五六七八九十百千万两兩]+)"
    rf"(?:[\s-]?{_TIMES}(?:"
    + "|".join(rf"(?P<{measure}>(?:{words}){_ENDS})" for measure, words in _AFTER.items())
    + rf"))?(?!\d){_ENDS}",
    re.IGNORECASE,
)
_CLOCK = re.compile(_TIME)
_BEFORE_CODES = re.compile(
    r"(?:[§#№]|\b(?:[Nn][or]\.|[Nn][º°]|Art\.))\s?$"
    r"|\b(?:[Nn]umber|[Nn]ummer|[Nn]úmero|[Nn]uméro|[Pp]age|[Ss]eite|[Rr]oom|[Zz]immer|[Cc]hapter"
    r"|[Kk]apitel|[Dd]ay|[Tt]ag|[Dd]ía|[Cc]abin|[Kk]abine)\s$"
    r"|\b(?!CHF|GBP)(?P<capitals>[A-Z]{2,4})[ -](?:\d+[ -])*$"
)
_BEFORE, _LONG = 12, 3
"""How far before it that is looked for, and how many digits a code has behind some capitals, at
least: *VR 2214*."""
_UNIT = {
    measure: re.compile(rf"(?:{words}){_ENDS}", re.IGNORECASE) for measure, words in _AFTER.items()
}

_ASKED = {
    "money": r"\bhow much (?:do|does|did|is|was|would|will|has|have)\b.*"
    r"\b(?:costs?|pay|paid|spend|spent)\b|\bwhat (?:do|does|did|will|would)\b.*\bcost\b"
    r"|\b(?:what|how (?:much|high)) (?:is|was) the (?:\w+ )?"
    r"(?:price|rent|fee|premium|fare|salary)\b"
    r"|\bwie hoch (?:ist|war|sind|waren) (?:die|der|das)? ?"
    r"(?:miete|kaution|preis|kosten|gebühr(?:en)?|prämie|gehalt|lohn)\b"
    r"|\bwas (?:kosten|kostet)\b|\b(?:was|wie ?viel)\b.*\b(?:gekostet|kosten|kostete)\b"
    r"|\bwie teuer\b|\bcuánto (?:cuesta|costó)n?|\bcombien\b.*\bco[uû]t\w+"
    r"|\bquels? (?:est|était|sont) les? (?:prix|coûts?|loyers?|salaires?|tarifs?)\b"
    r"|\bcu(?:ál|ánto) (?:es|era|fue) el (?:precio|costo|coste|alquiler|sueldo|salario)\b"
    r"|\bсколько сто\w+|いくら(?!か)|値段|多少钱|얼마예요",
    "years": r"\bhow old\b|\bwie alt\b|\bqué edad\b|\bcuántos años tiene\b|\bquel âge\b"
    r"|\bсколько .*\bлет\b|何[歳才]|몇 살|多大年纪|几岁",
    "weight": r"\bhow heavy\b|\bhow much (?:do|does|did)\b.*\bweigh\b|\bwie schwer\b"
    r"|\bwie ?viel wiegt\b|\bcuánto pesa|\bcombien pès|\bсколько вес",
    "height": r"\bhow (?:tall|deep|wide)\b|\bwie (?:tief|breit)\b",
    "length": r"\bhow far\b|\bwie weit\b",
    "clock": r"\bwhat time\b(?! (?:of|period|frame|span|zone))|\bum wie ?viel uhr\b"
    r"|\bà quelle heure\b|\ba qué hora\b|\ba che ora\b|\bhoe laat\b"
    r"|\bво сколько\b(?! (?:раз|обо))|何時(?![間頃ご])|几点|몇\s?시(?!간)",
    "time": r"\bhow long (?:do|does|did|will)\b.*\b(?:take|last)\b|\bwie lange\b|\bcuánto tiempo\b"
    r"|\bcuánto (?:dura|duró|tarda|tardó)\b|\bcombien de temps\b"
    r"|\bсколько времени\b|何時間|何分|多长时间",
    "amount": r"\bhow much (?:is|was|are|were)\b|\bwie hoch (?:ist|war|sind|waren)\b"
    r"|\bcuánto (?:es|era|fue)\b",
}
_ASKED_OF = {measure: re.compile(words, re.IGNORECASE) for measure, words in _ASKED.items()}
_COUNTED = re.compile(
    r"\b(?:how many|wie ?viele|cuánt[oa]s|quant[ie])\s+(?P<thing>[^\W\d_]+)"
    r"|\bcombien d(?:e\s|['’])\s*(?P<chose>[^\W\d_]+[sx])\b",
    re.IGNORECASE,
)
_ALSO = {
    "years": frozenset({"date"}),
    "time": frozenset({"hours", "years", "date", "clock", "length"}),
    "hours": frozenset({"time", "clock"}),
    "clock": frozenset({"hours"}),
    "length": frozenset({"hours", "time", "size"}),
    "count": frozenset({"percent", "weight", "size"}),
    "degrees": frozenset({"size"}),
    "size": frozenset({"degrees", "length"}),
    "height": frozenset({"length"}),
    "amount": frozenset({*_AFTER, "count"}) - {"hours", "time", "years", "clock"},
}
"""What answers, too: how far it is may be said in hours, how old somebody is by a date, and how
many potatoes it takes by their weight."""


def asked_measure(question: str) -> str | None:
    """Return the measure that the words of a question ask for, if any, but for what is counted."""
    return next((m for m, asked in _ASKED_OF.items() if asked.search(question)), None)


def asked_measures(question: str) -> frozenset[str]:
    """Return the measures that a number may have which answers; none where any may."""
    found = asked_measure(question)
    if found is None and (counted := _COUNTED.search(question)):
        units = (
            m for m, unit in _UNIT.items() if unit.fullmatch(counted["thing"] or counted["chose"])
        )
        found = next(units, "count")
        return _ALSO.get(found, frozenset()) | {found, "count"}
    return frozenset() if found is None else _ALSO.get(found, frozenset()) | {found}


def measured(text: str) -> Iterator[tuple[int, int, str | None]]:
    """Yield the range of each number, and its measure, if one is written beside it.

    What is no number but a code, such as that of a phone, has a measure that no question asks for.
    """
    for found in _NUMBER.finditer(text):
        measure = next((m for m in _AFTER if found[m] is not None), None)
        if found["before"]:
            measure = "money"
        elif found["code"] or (measure is None and _is_code(text, *found.span())):
            measure = "code"
        elif measure is None and _CLOCK.fullmatch(found.group().strip()):
            measure = "clock"
        yield *found.span(), measure


def _is_code(text: str, start: int, end: int) -> bool:
    """Say whether what stands before a number makes it one of its kind, as *§ 4* is."""
    said = text[start:end].lstrip()
    before = _BEFORE_CODES.search(text, max(0, start - _BEFORE), end - len(said))
    if before is None:
        return False
    return before["capitals"] is None or end - before.end("capitals") > _LONG
