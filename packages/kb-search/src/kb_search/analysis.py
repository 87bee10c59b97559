"""Analysis: how text becomes terms, for indexing and for asking alike.

One configuration serves every language. A text gives four streams of terms, each a
string of terms joined by spaces, for a field of its own that splits at white space:

    exact   words, case-folded and without diacritics         phrases, exactness
    stem    the same words, stemmed by the document's         ranking of prose
            language (English where that is not known)
    ident   parts of camelCase words, and compounds kept      identifiers, versions,
            whole: ``snake_case``, ``dotted.name``,            ticket numbers
            ``dec-0054``, ``c++``
    cjk     bigrams of runs in scripts written without        a two-character word is
            spaces (Han, Kana, Hangul, Thai …); a lone         found inside a longer one
            character stays as it is

Words are runs of letters and digits, with the vowels that stand as signs beside letters in the
scripts of India and others; an underscore, like a hyphen, parts them. What may be left out in
writing is no part of a word: accents, vowels of Arabic and Hebrew, the *l* of *l'avion*. The
stemmers are Snowball's, as tantivy ships them, and ``endings``. Nothing here is ever shown to
anyone: snippets come from the text itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import NamedTuple, TypeAlias, TypeVar

import tantivy

from kb_core.text import WordPattern
from kb_core.values import dataclass, lazy_pattern
from kb_search.asking import asking_words

__all__ = [
    "ANALYSIS_VERSION",
    "HALANT",
    "NASAL",
    "NASALS",
    "STEMMED",
    "Streams",
    "Term",
    "analyze",
    "cjk_runs",
    "fold",
    "languages_of",
    "query_terms",
    "spelled_otherwise",
    "spelled_stems",
    "unescaped",
]

ANALYSIS_VERSION = "a4"
"""Part of the index version: a change of terms is a rebuild of the index."""

_OF_INDIA = {
    "bn": "bengali",
    "gu": "gujarati",
    "hi": "hindi",
    "kn": "kannada",
    "ml": "malayalam",
    "mr": "marathi",
    "ne": "nepali",
    "te": "telugu",
}
"""Languages with a stemmer of ours (``endings``)."""
STEMMED = _OF_INDIA | {
    "ar": "arabic",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}
"""Languages with a stemmer, by ISO 639-1 code."""

_LANGUAGE_SHARE = 0.01
_MOST_LANGUAGES = 6

_MAX_TERM_BYTES = 255
"""Longer runs (base64, minified code) are cut; tantivy drops terms over 65,530 bytes."""
_LONGEST_NUMBER = _MAX_TERM_BYTES // 4

_OF_ASKING = 0.05
"""What a word that only asks counts, so that a passage with nothing else is still found."""

_REMEMBERED_LENGTH = 40
_REMEMBERED_TOKENS = 100_000
_REMEMBERED_QUERIES = 64
_REMEMBERED_SPELLINGS = 1000

# Scripts that are written without spaces between words.
_CJK = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029"
    "\u3040-\u30ff\u3100-\u318f\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003134f"
)
_TOKEN = WordPattern(r"<word>(?:(?:[._\-'’\u200c]|::)+<word>)*")
"""A word, or words joined by what identifiers are joined by; one pass over the text."""
_WORD = WordPattern("<word>")
_ELIDED = lazy_pattern(
    r"\A(?:[cdjlmnst]|qu|(?:jus|lors|puis|quoi|quel|pres)qu|un|gl|(?:d|n|s|c)?[aeou]ll|quest)['’]"
    "(?=[aeiouyh\u00e0-\u00f6\u00f8-\u00ff\u0153])",
    re.IGNORECASE,
)
"""What words of French, Italian and Catalan are joined to before a vowel."""
_SHORTEST_JOINED = 4
"""Letters of such a word that is asked for with what it is joined to, too, as a name may be
written: *Loreal*. Of shorter ones that is mostly another word: *l'une* is no *lune*."""
_ESCAPES = lazy_pattern(r"((?:\\u[0-9A-Fa-f]{4})+)|\\.", re.DOTALL)
_APOSTROPHE = lazy_pattern(r"['’](?:[sS]\b)?")
_SYMBOLIC = lazy_pattern(r"\b[A-Za-z](?:\+\+|#)")
_JOINING = "._-'"
"""What may stand within a token, beside letters, digits and pairs of colons."""


def _parting(kept: str) -> bytes:
    """Return a table that makes white space of every sign of ASCII that is not among *kept*."""
    signs = (code if chr(code).isalnum() or chr(code) in kept else 32 for code in range(128))
    return bytes(signs) + bytes(range(128, 256))


_AT_SIGNS, _AT_SIGNS_BUT_COLONS = _parting(_JOINING), _parting(f"{_JOINING}:")
_CAMEL = WordPattern(r"<letter>[0-9]|[0-9]<letter>|[a-z][A-Z]|[A-Z]{2}[a-z]")
_CAMEL_OF_LETTERS = lazy_pattern(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_CAMEL_PART = WordPattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|<letters>")
_MARKS = lazy_pattern(
    "[\u00ad\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640"
    "\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u093c\u0a3c\u200d]+"
    "|(?<=[\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca])\u200c"
)
"""What one may write or leave out: accents, vowels of Arabic and Hebrew, the dot of Hindi that
makes another sound of a letter, what only says how letters join or where a word may be broken.

What keeps letters apart (U+200C) stands between parts of words in Persian, which may be written as
one, too; after a halant it parts nothing."""
NASALS = (
    "\u0901|\u0919\u094d(?=[\u0915-\u0918])|\u091e\u094d(?=[\u091a-\u091d])"
    "|\u0923\u094d(?=[\u091f-\u0922])|\u0928\u094d(?=[\u0924-\u0927])|\u092e\u094d(?=[\u092a-\u092d])"
)
"""What people write for the nasal before a consonant, or on a vowel, of Devanagari, as two letters
or another sign: *हिन्दी* for *हिंदी*, *गाँव* for *गांव*."""
NASAL = "\u0902"
_NASALS = lazy_pattern(NASALS)
HALANT, _CANDRABINDU = "\u094d", "\u0901"
_ZEROS = (0x660, 0x6F0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xF20)
_STROKES = str.maketrans(
    {"\u0131": "i", "\u00f8": "o", "\u0142": "l", "\u0111": "d", "\u0127": "h", "\u0167": "t"}
    | {"\u00e6": "ae", "\u0153": "oe"}
    | {"\u0d7a": "\u0d23\u0d4d", "\u0d7b": "\u0d28\u0d4d", "\u0d7c": "\u0d30\u0d4d"}
    | {"\u0649": "\u064a", "\u06cc": "\u064a", "\u06d2": "\u064a", "\u06a9": "\u0643"}
    | {"\u0629": "\u0647", "\u06be": "\u0647", "\u06c1": "\u0647", "\u06d5": "\u0647"}
    | {"\u200c": None}
    | {chr(zero + n): str(n) for zero in _ZEROS for n in range(10)}
    | {"\u0d7d": "\u0d32\u0d4d", "\u0d7e": "\u0d33\u0d4d", "\u0d7f": "\u0d15\u0d4d"}
)
"""Letters that people write without what Unicode takes for a part of the letter; those of Malayalam
without a vowel, which have been written as a letter with a halant and a joiner; the *y*, *k* and
*h* of Arabic as Persian and Urdu write them, or a keyboard for Arabic does; and digits."""


@dataclass(frozen=True, slots=True)
class Streams:
    """The terms of a text, one string per field."""

    exact: str
    stem: str
    ident: str
    cjk: str


class Term(NamedTuple):
    """One word of a query and every form under which a document may hold it.

    ``kind`` is ``word``, ``identifier`` (a camelCase word), ``part`` (of one, or of letters
    and digits: ``utf8`` is a word), ``whole`` (a compound, a word with its article) or ``cjk``
    (a run; its bigrams are in ``forms``, in order).
    """

    kind: str
    exact: str
    stems: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    count: float = 1  # type: ignore[assignment] # nobody counts the parts of a term
    """How often the query holds it; a twentieth of that, where it only asks."""

    @property
    def only_asks(self) -> bool:
        """Whether it says that something is asked, and nothing of what (``asking``)."""
        return self.count < 1

    @property
    def has_parts(self) -> bool:
        """Whether there are terms of what it consists of: a compound, ``takeLease``, ``utf8``."""
        is_mixed = not self.exact.isdigit() and any(map(str.isdigit, self.exact))
        return self.kind in {"whole", "identifier"} or (self.kind == "word" and is_mixed)

    @property
    def is_symbolic(self) -> bool:
        """Whether it is a name with a sign, such as ``c++``, that its letter does not stand for."""
        return self.kind == "whole" and self.exact.endswith(("+", "#"))


def languages_of(counts: Mapping[str, int]) -> tuple[str, ...]:
    """Return the languages to stem a question by, given how many documents each has.

    English is always among them; what hardly any document is in, is not.
    """
    known = sorted((-n, lang) for lang, n in counts.items() if lang in STEMMED and lang != "en")
    enough = _LANGUAGE_SHARE * sum(counts.values())
    often = [lang for n, lang in known if -n >= enough]
    return ("en", *often[: _MOST_LANGUAGES - 1])


def fold(text: str) -> str:
    """Case-fold and drop the diacritics of alphabetic scripts; width forms become plain."""
    if text.isascii():
        return text.lower()
    decomposed = _MARKS.sub("", unicodedata.normalize("NFKD", text).casefold())
    if HALANT in decomposed or _CANDRABINDU in decomposed:
        decomposed = _NASALS.sub(NASAL, decomposed)
    return unicodedata.normalize("NFC", decomposed).translate(_STROKES)


@cache
def _cjk() -> re.Pattern[str]:
    # As many ranges take longer to compile than most searches, which hold none of them.
    return re.compile(f"[{_CJK}]+")


def cjk_runs(text: str) -> list[str]:
    """Return the runs of *text* in scripts that are written without spaces."""
    return [] if text.isascii() else _cjk().findall(text)


def analyze(text: str, lang: str | None = None) -> Streams:
    """Return the four streams of *text*, stemmed as *lang* (ISO 639-1)."""
    spoken, grams = _part(text)
    known = _forms_of(STEMMED.get(lang or "en", "english"))
    exact, stem, ident = _columns(filter(None, map(known, _pieces(spoken))))
    names = list(filter(None, ident))
    if _may_be_symbolic(spoken):
        names += [fold(name) for name in _SYMBOLIC.findall(spoken)]
    return Streams(" ".join(exact), " ".join(stem), " ".join(names), " ".join(grams))


def unescaped(text: str) -> str:
    r"""Return a text of JSON with the letters that its escapes stand for, other signs as blanks.

    Else neither word of ``"last\nGr\u00fc\u00dfe"`` stands in it.
    """
    return _ESCAPES.sub(_said_by_escapes, text) if "\\" in text else text


def _said_by_escapes(match: re.Match[str]) -> str:
    if not (codes := match[1]):
        return " "
    units = "".join(chr(int(code, 16)) for code in codes.split("\\u")[1:])
    return units.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _pieces(text: str) -> list[str]:
    """Return what stands between white space and signs that no token holds.

    Most pieces are tokens, and come again. Looking for tokens takes several times as long.
    """
    table = _AT_SIGNS_BUT_COLONS if "::" in text else _AT_SIGNS
    # Of letters beyond ASCII no byte is changed.
    parted = text.encode("utf-8", "surrogatepass").translate(table)
    return parted.decode("utf-8", "surrogatepass").split()


def _columns(forms: Iterable[_Forms]) -> tuple[tuple[str, ...], ...]:
    return tuple(zip(*forms, strict=True)) or ((), (), ())


def _may_be_symbolic(text: str) -> bool:
    """Say, at a glance, whether there is a name such as ``c++`` or ``c#``."""
    return "++" in text or any(before[-1:].isalpha() for before in text.split("#")[:-1])


def query_terms(text: str, langs: Iterable[str]) -> list[Term]:
    """Return the terms of a query, each once, in order.

    *langs* are the languages that documents are stemmed by; a word has the stems of
    all of them, since a question is too short to tell its language.
    """
    return list(_query_terms(text, tuple(langs)))


_OF_NAMES = ("word", "part")
"""Kinds of terms that the words of a name have, beside the name itself."""


@lru_cache(maxsize=_REMEMBERED_QUERIES)
def _query_terms(text: str, langs: tuple[str, ...]) -> tuple[Term, ...]:
    """Return the terms of a query; one search asks for those of the same text four times.

    What names consist of counts once, however many of them have it: who asks for three locks by
    their names asks for these, and not three times for any lock.
    """
    plain = _plain(text)
    asking = {fold(word) for word in asking_words(plain)}
    seen: Counter[Term] = Counter()
    spoken = _unmarked(_part(plain)[0])
    for token in _TOKEN.of(spoken).findall(spoken):
        terms = list(_token_terms(token, langs))
        for term in terms:
            seen[term] += len(terms) == 1 or term.kind not in _OF_NAMES
        unelided = _unelided(token)
        if unelided != token and len(unelided) >= _SHORTEST_JOINED:
            seen[Term("whole", _cut(fold(_bare(token))))] += 1
    seen.update(Term("whole", fold(name)) for name in _SYMBOLIC.findall(plain))
    seen.update(Term("cjk", run, forms=tuple(_bigrams(run))) for run in cjk_runs(plain))
    return tuple(_counted(term, max(n, 1), asking) for term, n in seen.items())


def _counted(term: Term, n: int, asking: Container[str]) -> Term:
    if term.kind == "word" and term.exact in asking:
        return term._replace(count=n * _OF_ASKING)
    return term._replace(count=n) if n > 1 else term


def _token_terms(token: str, langs: tuple[str, ...]) -> Iterator[Term]:
    bare = _bare(_unelided(token))
    words = _WORD.of(bare).findall(bare)
    for word in words:
        parts = _parts(word)
        is_camel = bool(parts) and _CAMEL_OF_LETTERS.search(word) is not None
        yield _word_term("identifier" if is_camel else "word", word, langs)
        for part in parts:
            yield _word_term("part", part, langs)
    if len(words) > 1:
        yield Term("whole", _cut(fold(bare)))


def _word_term(kind: str, word: str, langs: tuple[str, ...]) -> Term:
    exact = _cut(fold(word))
    forms = [_forms_of(STEMMED[lang])(word) for lang in langs]
    if "en" in langs and (other := spelled_otherwise(exact)):
        forms.append(_forms_of(STEMMED["en"])(other))
    return Term(kind, exact, tuple(dict.fromkeys(each[1] for each in forms if each)))


_DOUBLED = (
    "cancel|channel|dial|equal|fuel|label|level|marshal|model|panel|signal|total|travel|tunnel"
)
_SPELLINGS = tuple(
    (needed, lazy_pattern(found), other)
    for needed, found, other in (
        ("is", r"(?<=...)is(e[ds]?|ers?|ing|able|ations?)$", r"iz\1"),
        ("iz", r"(?<=...)iz(e[ds]?|ers?|ing|able|ations?)$", r"is\1"),
        ("ys", r"(?<=..)ys(e[ds]?|ers?|ing)$", r"yz\1"),
        ("yz", r"(?<=..)yz(e[ds]?|ers?|ing)$", r"ys\1"),
        ("our", r"(?<=..)our(s|ed|ing|able|ful|less|ites?|ly)?$", r"or\1"),
        ("or", r"(?<=..)or(s|ed|ing|able|ful|less|ites?|ly)?$", r"our\1"),
        ("tre", r"(?<=..)tre(s?)$", r"ter\1"),
        ("ter", r"(?<=..)ter(s?)$", r"tre\1"),
        ("tred", r"(?<=..)tred$", "tered"),
        ("ogue", r"(?<=..)ogue(s?)$", r"og\1"),
        ("og", r"(?<=..)og(s?)$", r"ogue\1"),
        ("ll", rf"^({_DOUBLED})l(ed|ing|ers?)$", r"\1\2"),
        ("l", rf"^({_DOUBLED})(ed|ing|ers?)$", r"\1l\2"),
        ("ence", r"^(def|off|lic|pret)ence(s?)$", r"\1ense\2"),
        ("ense", r"^(def|off|lic|pret)ense(s?)$", r"\1ence\2"),
        ("grey", r"^grey(s|er|ing)?$", r"gray\1"),
        ("gray", r"^gray(s|er|ing)?$", r"grey\1"),
        ("programme", r"^programme(s?)$", r"program\1"),
        ("artefact", r"^artefact(s?)$", r"artifact\1"),
        ("artifact", r"^artifact(s?)$", r"artefact\1"),
        ("gement", r"^(acknowledg|judg)ement(s?)$", r"\1ment\2"),
        ("gment", r"^(acknowledg|judg)ment(s?)$", r"\1ement\2"),
    )
)
"""How a word of English ends on this and on the other side of the Atlantic. What is no word, such
as the *sise* of *size*, stands in no passage, and is not asked for. First what such a word has in
it, so that few of the patterns are tried, and compiled."""


@lru_cache(maxsize=_REMEMBERED_SPELLINGS)
def spelled_otherwise(word: str) -> str | None:
    """Return the British spelling of an American word, or the other way round, if it has one."""
    if not (word.isascii() and word.isalpha()):
        return None
    for needed, found, other in _SPELLINGS:
        if needed in word and (match := found.search(word)):
            return word[: match.start()] + match.expand(other)
    return None


def spelled_stems(word: str) -> tuple[str, ...]:
    """Return the stems of an English word in both its spellings; nothing where it has one."""
    other = spelled_otherwise(word)
    forms = [_forms_of(STEMMED["en"])(each) for each in ((word, other) if other else ())]
    return tuple(each[1] for each in forms if each)


def _plain(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def _unmarked(text: str) -> str:
    """Return *text* without the marks that letters may do without, as far as they are apart."""
    return text if text.isascii() else _MARKS.sub("", text)


def _part(text: str) -> tuple[str, list[str]]:
    """Return the text without its CJK runs, and the bigrams of those runs."""
    text = _plain(text)
    if text.isascii():
        return text, []
    grams: list[str] = []
    for run in _cjk().findall(text):
        grams += _bigrams(run)
    return (_cjk().sub(" ", text) if grams else text), grams


def _bigrams(run: str) -> list[str]:
    return [run] if len(run) == 1 else [run[i : i + 2] for i in range(len(run) - 1)]


_Forms: TypeAlias = tuple[str, str, str]
"""What a piece of a text is in the fields ``exact``, ``stem`` and ``ident``.

Nothing but a tuple, and equal texts are one object: what takes long is to fetch from memory
what was made of 50,000 pieces.
"""


_Stemmer: TypeAlias = Callable[[str], list[str]]

_T = TypeVar("_T")


class _Remembered(dict[str, _T]):
    """What was made of words: of the last ones, and of those that came since as many before."""

    def __init__(self, make: Callable[[str], _T]) -> None:
        super().__init__()
        self._make = make
        self._before: dict[str, _T] = {}

    def __missing__(self, word: str) -> _T:
        before = self._before
        found = before[word] if word in before else self._make(word)
        if len(word) <= _REMEMBERED_LENGTH:
            if len(self) >= _REMEMBERED_TOKENS:
                self._before = dict(self)
                self.clear()
            self[word] = found
        return found


@cache
def _forms_of(language: str) -> Callable[[str], _Forms | None]:
    """Return the function that analyses a piece of a text for a stemmer; ``None``: no token."""
    stemmer = _stemmer_of(language)
    known: _Remembered[_Forms | None] = _Remembered(
        lambda piece: _piece_forms(piece, known.__getitem__, stemmer)
    )
    return known.__getitem__


def _stemmer_of(language: str) -> _Stemmer:
    """Return the function that makes stems, mostly one, of a word in small letters."""
    if language in _OF_INDIA.values():
        from kb_search.endings import without_ending  # of languages that few texts are in

        return lambda word: [without_ending(fold(word), language)]
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
    return builder.filter(tantivy.Filter.stemmer(language)).build().analyze


def _piece_forms(
    piece: str, known: Callable[[str], _Forms | None], stemmer: _Stemmer
) -> _Forms | None:
    piece = _unmarked(piece)
    if piece.isalnum():
        return _word_forms(piece, stemmer)
    tokens = _TOKEN.of(piece).findall(piece)
    if not tokens:
        return None
    if tokens == [piece]:
        is_word = _WORD.of(piece).fullmatch(piece) is not None
        return _word_forms(piece, stemmer) if is_word else _joined_forms(piece, known)
    if len(tokens) == 1:  # with a dot after it, or signs before
        return _token_forms(tokens[0], known)
    exact, stem, ident = _columns(filter(None, (_token_forms(token, known) for token in tokens)))
    return (" ".join(exact), " ".join(stem), " ".join(filter(None, ident)))


def _token_forms(token: str, known: Callable[[str], _Forms | None]) -> _Forms | None:
    # Numbers hardly come again, so that remembering each would cost more than making it.
    if token.isdigit() and token.isascii() and len(token) <= _LONGEST_NUMBER:
        return (token, token, "")
    return known(token)


def _word_forms(word: str, stemmer: _Stemmer) -> _Forms:
    if word.isascii() and len(word) * 4 <= _MAX_TERM_BYTES:
        if word.isdigit():
            return (word, word, "")
        lowered = word.lower()
        is_plain = word.isalpha() and word[1:] == lowered[1:]
        parts = "" if is_plain else " ".join(_parts(word)).lower()
        stem = fold(" ".join(stemmer(lowered)))
        return (lowered, lowered if stem == lowered else stem, parts)
    stems = stemmer(word.lower())
    return (
        _cut(fold(word)),
        " ".join(_cut(fold(stem)) for stem in stems),
        " ".join(_cut(fold(part)) for part in _parts(word)),
    )


def _joined_forms(token: str, known: Callable[[str], _Forms | None]) -> _Forms:
    """Return the forms of words that are joined to one token, and of the token as a whole."""
    unelided = _unelided(token)
    bare = _bare(unelided)
    words = _WORD.of(bare).findall(bare)
    exact, stem, ident = _columns(filter(None, map(known, words)))
    parts = [*filter(None, ident)]
    if len(words) > 1:
        parts.append(_cut(fold(bare)))
    if unelided != token:  # as it is looked for by who leaves out the apostrophe: loreal
        parts.append(_cut(fold(_bare(token))))
    whole = " ".join(exact)
    return (whole, whole if stem == exact else " ".join(stem), " ".join(parts))


def _bare(token: str) -> str:
    return _APOSTROPHE.sub("", token) if "'" in token or "’" in token else token


def _unelided(token: str) -> str:
    """Return a token without an article or the like that is joined to it."""
    return _ELIDED.sub("", token) if "'" in token or "’" in token else token


def _parts(word: str) -> list[str]:
    if not _CAMEL.of(word).search(word):
        return []
    parts = _CAMEL_PART.of(word).findall(word)
    return parts if len(parts) > 1 else []


def _cut(term: str) -> str:
    if len(term) * 4 <= _MAX_TERM_BYTES or len(term.encode()) <= _MAX_TERM_BYTES:
        return term
    return term.encode()[:_MAX_TERM_BYTES].decode("utf-8", "ignore")
