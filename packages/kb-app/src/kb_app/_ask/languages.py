"""Languages that questions are asked in, told by the words of each that mean nothing by themselves.

What those words are there for says, too, what a follow-up refers to (``followups``) and what a
phrase is put together of (``nesting``). Pure; for the languages that are asked most.
"""

from __future__ import annotations

import re

from kb_core.text import WORD as SINGLE_WORD
from kb_core.values import dataclass
from kb_search.asking import ASKS, written_in

__all__ = [
    "CJK", "HANGUL", "JAPANESE", "LANGUAGES", "TOLD", "WORD", "Language", "asked_in",
    "empty_words", "is_courtesy", "language_of",
]  # fmt: skip

WORD = re.compile(rf"{SINGLE_WORD}(?:[-_.'’]{SINGLE_WORD})*")
CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
HANGUL = re.compile(r"[\uac00-\ud7a3]")
JAPANESE = re.compile(r"[\u3040-\u30ff]")


@dataclass(frozen=True, slots=True)
class Language:
    """The words of a language that tell nothing by themselves, by what they do."""

    code: str
    """ISO 639-1."""
    refers: frozenset[str]
    """Stand for something that was named before."""
    persons: frozenset[str]
    """Stand for somebody."""
    opens: re.Pattern[str]
    """How a question begins that leaves out what was asked."""
    places: frozenset[str]
    """Say how what follows belongs to the question: prepositions."""
    asks: frozenset[str]
    articles: frozenset[str]
    known: frozenset[str]
    """All of these, and other words that tell nothing."""


def _language(  # noqa: PLR0913 - a row of a table
    code: str,
    *,
    refers: str,
    persons: str,
    opens: str,
    places: str,
    asks: str = "",
    articles: str,
    empty: str,
) -> Language:
    """Return a language; what *asks* is known of those that a search tells questions of."""
    sets = [frozenset(words.split()) for words in (refers, persons, places, asks, articles, empty)]
    sets[3] |= ASKS.get(code, frozenset())
    beginning = re.compile(rf"[\s¿]*(?:{opens})(?:\s*,)?(?=[\s?,]|$)\s*", re.IGNORECASE)
    back, people, before, asking, short, _ = sets
    known = frozenset[str]().union(*sets)
    return Language(code, back, people, beginning, before, asking, short, known)


LANGUAGES = (
    _language(
        "en",
        refers="it its itself they them their theirs these those this",
        persons="he him his she her hers",
        opens="(?:and |but )?(?:what|how) about|and|but|or",
        places="in on at for of with from to by after before during under over about between "
        "without into",
        articles="a an the",
        empty="is are was were be been do does did has have had can could may might must shall "
        "should will would many much long old often there that than then so and or but not i you "
        "we me my your our us one please exactly else also again if",
    ),
    _language(
        "de",
        refers="es sie ihm ihn ihr ihre ihrer ihrem ihren deren dessen dies dieser diese dieses "
        "diesem diesen davon dafür damit dazu daran darauf darin darüber dabei dort",
        persons="er seine seiner seinem seinen",
        opens="(?:und )?(?:was ist|wie ist es|wie steht es) mit|und|aber|oder",
        places="in im am an auf für von vom mit aus zu zum zur bei nach vor während unter über "
        "zwischen ohne seit ab bis um durch gegen",
        articles="der die das den dem des ein eine einer einem einen eines",
        empty="ist sind war waren wird werden wurde wurden hat haben hatte kann können darf muss "
        "soll sollte viel viele lange oft alt hoch und oder aber nicht auch man ich du wir noch "
        "denn genau bitte sich dann sein",
    ),
    _language(
        "es",
        refers="ello eso esto esa ese este esta estos estas aquello lo su sus les",
        persons="él ella ellos ellas",
        opens="(?:y )?qué (?:hay de|pasa con|tal)|y|pero|o",
        places="en a de del al con por para sin sobre entre desde hasta durante tras según",
        articles="el la los las un una unos unas",
        empty="es son era eran fue fueron ser está están ha han había puede pueden debe hay que "
        "se y o no también más me te nos",
    ),
    _language(
        "fr",
        refers="cela ça ceci celui celle ceux celles ce cet cette ces leur leurs y en son sa ses",
        persons="il elle ils elles lui",
        opens="(?:et )?qu[’']en est-il de|et|mais|ou",
        places="à au aux de du des avec pour par sans sur sous entre dans en depuis pendant avant "
        "après vers chez",
        articles="le la les l un une",
        empty="est sont était étaient a ont avait peut peuvent doit se et ou ne pas aussi on je tu "
        "nous vous est-ce qu'est-ce t",
    ),
    _language(
        "it",
        refers="esso essa essi questo questa questi queste quello quella ciò lo suo sua suoi sue",
        persons="lui lei loro",
        opens="(?:e )?che dire di|e|ma|o",
        places="in a di da con su per tra fra del della dei delle al alla nel nella dal dalla sul "
        "sulla",
        articles="il la i gli le l un uno una",
        empty="è sono era erano fu ha hanno può deve si e o non anche",
    ),
    _language(
        "pt",
        refers="isso isto aquilo este esta esse essa estes estas seu sua seus suas",
        persons="ele ela eles elas dele dela",
        opens="(?:e )?(?:quanto a|que tal)|e|mas|ou",
        places="em de do da dos das no na nos nas com por para sem sobre entre desde até ao à",
        articles="o a os as um uma",
        empty="é são era eram foi foram tem têm pode deve se e ou não também",
    ),
    _language(
        "nl",
        refers="dit dat deze die hun ervan ermee daarvan daarmee daar",
        persons="hij zij ze hem haar zijn",
        opens="(?:en )?hoe zit het met|en|maar|of",
        places="in op aan voor van met uit naar bij na onder over tussen zonder sinds door",
        articles="de het een",
        empty="is was waren wordt worden werd heeft hebben had kan mag moet veel lang vaak en of "
        "niet ook er men ik je we",
    ),
    _language(
        "ru",
        refers="это этого этому этом этот эта эти их них там",
        persons="он она они его её ее ему ей им неё нее ней",
        opens="(?:а )?что (?:насчёт|насчет)|а|и|но",
        places="в на с из для от до по о об при после перед под над между без у к за",
        asks="что какой какая какое какие кто когда где почему зачем как сколько",
        articles="",
        empty="был была было были есть ли и или не же бы можно",
    ),
    _language(
        "pl",
        refers="to ten ta te tego tym jego ich nim nich tam",
        persons="on ona oni jej jemu",
        opens="(?:a )?co z|a|i|ale",
        places="w we na z ze do dla od po o przy przed pod nad między bez u za",
        asks="co jaki jaka jakie który która które kto kiedy gdzie dlaczego jak ile",
        articles="",
        empty="jest są był była było były czy i lub nie się może",
    ),
    _language(
        "ko",
        refers="그것은 그것이 그것을 그건 그게 이것은 이것이 이건 그곳은 거기 그때",
        persons="그는 그가 그녀는 그녀가",
        opens="그럼|그러면|그리고",
        places="",
        asks="무엇 무엇을 무엇이 누가 누구 언제 어디 어디에 어디서 왜 어떻게 몇 얼마나",
        articles="",
        empty="",
    ),
)
_POLITE = (
    r"(?:thanks?|thx|cheers|ok(?:ay)?|great|perfect|got it|i see|hello|hi|bye"
    r"|danke\w*|dank|super|prima|perfekt|alles klar|verstanden|hallo|tschüss|bedankt|gracias|vale"
    r"|perfecto|hola|adiós|merci|d['’]accord|parfait|bonjour|grazie|ciao|obrigad[oa]|спасибо"
    r"|понятно|dziękuję|dzięki|ありがとう(?:ございま(?:す|した))?|了解(?:です)?|谢谢|謝謝|多谢|好的"
    r"|(?:감사|고마)\w*)"
)
_BESIDE = (
    r"(?:you|very|much|so|a|lot|many|for|the|your|help|vielen|vielmals|schön|sehr"
    r"|je|wel|muchas|por|tu|ayuda|beaucoup|bien|mille|molte|muito|большое|bardzo|どうも|本当に|你|您"
    r"|了)(?![^\W\d_\u3040-\u9fff])"
)
_COURTESY = re.compile(rf"(?:[\W_]|{_POLITE}|{_BESIDE})++", re.IGNORECASE)
_SAID = re.compile(_POLITE, re.IGNORECASE)
_MEASURING = frozenset(["long", "old", "often", "lange", "oft", "alt", "hoch", "lang", "vaak"])
TOLD = frozenset({*(language.code for language in LANGUAGES), "ja", "zh"})
"""The languages that a question may be told to be in."""


def language_of(question: str, before: str) -> Language | None:
    """Return the language of a question; what was asked before it tells, too, if less."""

    def known(language: Language) -> tuple[int, int]:
        counts = [
            sum(word.casefold() in language.known for word in WORD.findall(text))
            + 2 * bool(language.opens.match(text))
            for text in (question, before)
        ]
        return 2 * counts[0] + counts[1], counts[0]

    best = max(LANGUAGES, key=known)
    return best if known(best)[0] else None


def asked_in(question: str) -> frozenset[str]:
    """Return which of ``TOLD`` a question may be in; none where nothing tells.

    Signs of Japanese and Korean decide, and Chinese characters alone are of two languages; else
    the words that mean nothing by themselves, of which two languages may have as many.
    """
    if codes := written_in(question):
        return codes
    words = [word.casefold() for word in WORD.findall(question)]
    counts = [sum(word in language.known for word in words) for language in LANGUAGES]
    most = max(counts)
    pairs = zip(LANGUAGES, counts, strict=True)
    return frozenset(language.code for language, count in pairs if most and count == most)


def is_courtesy(text: str) -> bool:
    """Say whether *text* thanks, greets or agrees, and asks nothing."""
    return _COURTESY.fullmatch(text) is not None and _SAID.search(text) is not None


def empty_words(question: str) -> list[str]:
    """Return the words of a question that mean nothing by themselves in the language it is in.

    A capital within it makes a word mean something (*in May*), and so does what it measures (*how
    long*).
    """
    codes = asked_in(question)
    empty = [language.known for language in LANGUAGES if language.code in codes]
    return [
        word
        for word in WORD.findall(question)
        if any(word.casefold() in words for words in empty)
        and word.casefold() not in _MEASURING
        and (word.islower() or question.lstrip(" ¿¡\"'").startswith(word))
    ]
