"""Languages: which one a text is written in.

An ISO 639 code, or ``und`` where it is not certain. Scripts that one language owns decide by
themselves, so that a short Korean or Japanese note is right, and so do words that a common
language is full of; for the rest ``py3langid`` is asked, and believed only if the runner-up is
clearly behind. Only the first few thousand characters are looked at.

The model of ``py3langid`` is packed as small as it gets, and unpacking takes half a second. It
is unpacked once on a machine, 68 MB beside the other prepared models, and mapped from then on,
so that a process loads what it looks at.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from kb_app._models import models_dir
from kb_core.ids import blake2b
from kb_core.values import lazy_pattern

__all__ = ["detect_language"]

_UNDETERMINED = "und"

_SAMPLE = 3000
_STATISTICS_SAMPLE = 1000
_LETTERS_MIN = 12
_MARGIN = 0.7
"""By how much, per root of the bytes, the best guess must beat the next one."""
_SHARE = 0.25
"""The share of letters from which one language's own script decides."""

_NOISE = lazy_pattern(r"`[^`\n]{0,200}`|https?://\S{1,500}|[\d_#*|>\[\]{}()=~-]+")
_NO_LETTERS = lazy_pattern(r"[\W\d_]+")
_NO_LETTER_BYTES = bytes(code for code in range(128) if not chr(code).isalpha())
_KANA = lazy_pattern(r"[\u3041-\u30ff\uff66-\uff9d]")
_HAN = lazy_pattern(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]")
_OWN_SCRIPT = (
    (lazy_pattern(r"[\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3]"), "ko"),
    (lazy_pattern(r"[\u0e00-\u0e7f]"), "th"),
    (lazy_pattern(r"[\u0370-\u03ff\u1f00-\u1fff]"), "el"),
    (lazy_pattern(r"[\u0530-\u058f]"), "hy"),
    (lazy_pattern(r"[\u10a0-\u10ff]"), "ka"),
)
_FIRST_OF_INDIA = 0x0A00
_OF_INDIA = lazy_pattern(r"[\u0a00-\u0dff]")
_BY_BLOCK = ("pa", "gu", "or", "ta", "te", "kn", "ml", "si")
"""Languages of India and Sri Lanka with a script of their own, which has 128 places each."""
_NOT_A_LANGUAGE = frozenset({"zxx", "mul", "mis", ""})
_WORD = lazy_pattern(r"[^\W\d_]+")
_COMMON = {
    "de": "auch auf der eine für ist mit nicht oder sich sind und werden wird zu",
    "en": "and are be by can from has if is its not of or than that the they this to when which "
    "will with you",
    "es": "el está las los más pero porque una y",
    "fr": "avec aux cette dans est les nous pour sont une vous",
    "it": "anche che della delle di gli il nel più sono è",
    "nl": "een het maar naar niet ook van voor wordt zijn",
    "pt": "com dos em mais não são também uma você é",
}
"""Words of which a text of one of these languages is full, and one of another is not."""
_LANGUAGE_OF = {word: code for code, words in _COMMON.items() for word in words.split()}
_SHARED = frozenset(["by", "der", "dos", "el", "is", "las", "los", "of", "una", "é"])
"""Those of them that languages which are not listed have, too: Afrikaans, Catalan, Danish …"""
_WORDS_MIN, _DISTINCT_MIN = 40, 4
_COMMON_SHARE, _OTHERS_SHARE = 0.1, 0.15


def detect_language(text: str) -> str:
    """Return the code of the language that *text* is most likely written in."""
    sample = _NOISE.sub(" ", text[:_SAMPLE])
    letters = _letters(sample)
    if not letters:
        return _UNDETERMINED
    if not sample.isascii() and (own := _by_script(sample, letters)):
        return own
    if letters < _LETTERS_MIN:
        return _UNDETERMINED
    sample = sample[:_STATISTICS_SAMPLE]
    return _by_common_words(sample) or _by_statistics(sample)


def _letters(text: str) -> int:
    if text.isascii():
        return len(text.encode().translate(None, _NO_LETTER_BYTES))
    return len(_NO_LETTERS.sub("", text))


def _by_script(sample: str, letters: int) -> str | None:
    for script, code in _OWN_SCRIPT:
        if len(script.findall(sample)) > letters * _SHARE:
            return code
    if len(found := _OF_INDIA.findall(sample)) > letters * _SHARE:
        ((block, _),) = Counter((ord(sign) - _FIRST_OF_INDIA) >> 7 for sign in found).most_common(1)
        return _BY_BLOCK[block]
    kana, han = len(_KANA.findall(sample)), len(_HAN.findall(sample))
    if kana + han <= letters * _SHARE:
        return None
    # Japanese is never written without kana for long; Chinese is written without any.
    return "ja" if kana > han * 0.05 else "zh"


def _by_common_words(sample: str) -> str | None:
    """Return the language whose common words the text is full of, with hardly one of another.

    A short text needs two that its language has alone, and none of another. One of which that
    is not plain is left to the statistics, which cost a hundred times as much, and a
    tenth of a second before the first. Of 4,300 sentences of up to 39 words, in English,
    German and Spanish, this decides 2,200, one of them wrongly; the statistics take 13 wrongly.
    """
    words = _WORD.findall(sample.lower())
    known = [word for word in words if word in _LANGUAGE_OF]
    if len(words) < _WORDS_MIN:
        codes = {_LANGUAGE_OF[word] for word in known}
        return codes.pop() if len(codes) == 1 and len({*known} - _SHARED) > 1 else None
    if len(known) < len(words) * _COMMON_SHARE:
        return None
    (code, count), *_ = Counter(map(_LANGUAGE_OF.__getitem__, known)).most_common(1)
    distinct = {word for word in known if _LANGUAGE_OF[word] == code}
    if len(distinct) < _DISTINCT_MIN or len(known) - count > count * _OTHERS_SHARE:
        return None
    return code if count >= len(words) * _COMMON_SHARE else None


def _by_statistics(sample: str) -> str:
    (code, best), (_, second) = _ranking()(sample)[:2]
    margin = (best - second) / math.sqrt(len(sample.encode("utf-8", "replace")))
    if margin < _MARGIN or code in _NOT_A_LANGUAGE:
        return _UNDETERMINED
    return str(code)


_TABLES = {"weights": "nb_ptc", "shares": "nb_pc", "next": "tk_nextmove", "rows": "tk_row"}
_TABLES |= {"features": "tk_output"}
"""The files of the unpacked model, and what they are called there."""


@cache
def _ranking() -> Callable[[str], list[tuple[str, float]]]:
    """Return the function that gives the languages of a text, likeliest first."""
    import py3langid  # with numpy a tenth of a second; most runs meet no text of this kind

    try:
        return _mapped_ranking()
    except (ImportError, AttributeError, TypeError, ValueError):
        ranking: Callable[[str], list[tuple[str, float]]] = py3langid.rank
        return ranking  # of a version that keeps its model in another form


def _mapped_ranking() -> Callable[[str], list[tuple[str, float]]]:
    import numpy as np
    from py3langid import langid

    from kb_search.embed.prepare import load_artefact

    packed = Path(langid.MODEL_DIR, langid.MODEL_FILE)
    digest = blake2b(packed.read_bytes(), digest_size=6).hexdigest()
    made = load_artefact(models_dir(), f"languages-{digest}", _unpacked)
    told = json.loads(bytes(made.read("about.json")))
    tables = {name: np.frombuffer(made.read(name), told["types"][name]) for name in _TABLES}
    by_step = {name: tables[name].data for name in ("next", "rows", "features")}
    identifier = langid.LanguageIdentifier(
        tables["weights"].reshape(-1, len(told["classes"])),
        tables["shares"],
        told["classes"],
        by_step["next"],
        by_step["features"],
        tk_row=by_step["rows"],
    )
    ranking: Callable[[str], list[tuple[str, float]]] = identifier.rank
    return ranking


def _unpacked() -> Mapping[str, bytes]:
    import numpy as np
    from py3langid import langid

    model = langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE)
    tables = {name: np.asarray(getattr(model, theirs)) for name, theirs in _TABLES.items()}
    types = {name: table.dtype.str for name, table in tables.items()}
    about = json.dumps({"classes": model.nb_classes, "types": types}).encode()
    return {"about.json": about, **{name: table.tobytes() for name, table in tables.items()}}
