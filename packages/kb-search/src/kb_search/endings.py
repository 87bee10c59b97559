"""Light stemmers for languages of India: a word without the ending of a case or a number.

Hindi has the endings of Ramanathan and Rao, A lightweight stemmer for Hindi, EACL 2003 workshop on
computational linguistics for South Asian languages. For the others, too, it is nouns that count
(Dolamic and Savoy, Comparative study of indexing and search strategies for the Hindi, Marathi, and
Bengali languages, ACM TALIP 9(3), 2010): their endings and postpositions that are written
together, as grammars list them. What is left need be no word, but the same for all forms.

Pure; words come folded (``analysis.fold``): a nasal of Devanagari is its dot, and a consonant of
Malayalam without a vowel is the letter with a halant.
"""

from __future__ import annotations

import re
from functools import cache

__all__ = ["without_ending"]

_LEAST = 2
"""Characters that are left of a word at least."""

_ENDINGS = {
    "bengali": (
        # After a vowel the genitive is one letter, which many words end in as well.
        "(?:(?<=[ািীুূেো])র)?"
        "(?:(?:গুলো|গুলি|টি|টা|খানা|খানি)(?:কে|র|তে|য\u09bc)?|দের(?:কে)?|(?:য\u09bc)?েরা?|রা|কে|তে|ে)"
        "|(?<=[ািীুূেো])(?:র|য\u09bc)"
    ),
    "gujarati": "(?:[ોાીે]|ું|ા?ઓ)?(?:માં|ને|નો|ની|નું|ના|થી)|[ોાીે]|ું|ાં|ા?ઓ",
    "hindi": (
        "ाएंगी|ाएंगे|ाऊंगी|ाऊंगा|ाइयां|ाइयों|ाएगी|ाएगा|ाओगी|ाओगे|एंगी|ेंगी|एंगे|ेंगे|ूंगी|ूंगा|ातीं|नाओं|नाएं"
        "|ताओं|ताएं|ियां|ियों|ाकर|ाइए|ाईं|ाया|ेगी|ेगा|ोगी|ोगे|ाने|ाना|ाते|ाती|ाता|तीं|ाओं|ाएं|ुओं|ुएं|ुआं"
        "|कर|ाओ|िए|ाई|ाए|ने|नी|ना|ते|ीं|ती|ता|ां|ों|ें|[ोेूुीिा]"
    ),
    "kannada": ("(?:ಗಳ)?(?:[ವಯ]?ನ್ನು|[ದಯ]?(?:ಲ್ಲಿ|ಿಂದ)|ಕ್ಕೆ|ಿಗೆ|ಗೆ|ು)|ಗಳ|[ದಯ]"),
    "malayalam": (
        "(?:ങ്ങ|ക)ള(?:്|ില്|ുടെ|െ|ും|ിലെ)|ത്ത(?:ില്|ിന്റെ|ിലെ|ിനു?്?|െ|ും)|യ(?:ില്|ുടെ|െ|ും|ിലെ)|ിന്റെ|ില്|ിനെ|ും|ം"
    ),
    "marathi": (
        "(?:(?:(?:्या|[ािीुूेो])?ं?(?:मध्ये|साठी|च्या|च[ाीे]|चं|ला|ना|ने|नी|वर|तील|तून|कडे)"
        "|[ाीे]ं?त|(?<=[आईऊए])त|ून|[ािीुूेो]ं?)(?:ही|च)?|ही|ं)"
    ),
    "nepali": "(?:हर[ूु])?(?:लाई|को|का|की|ले|मा|बाट|संग|देखि|सम्म)|हर[ूु]",
    "telugu": ("(?:ం|ాల|ుల|ల)?(?:ను|కు|కి|ని|లో|తో|నుండి|కోసం)|ాన్ని|ానికి|ాలు|ులు|లు|ం"),
}


@cache
def _pattern(language: str) -> re.Pattern[str]:
    return re.compile(f"(?:{_ENDINGS[language]})$")


def without_ending(word: str, language: str) -> str:
    """Return a folded *word* without the longest of the endings that it has, if it has one.

    *language* is its English name in small letters; ``KeyError`` for one that has no endings here.
    """
    found = _pattern(language).search(word, _LEAST)
    return word[: found.start()] if found else word
