"""The language of a text: an ISO 639 code, or ``und`` where it is not certain.

Scripts that one language owns decide by themselves, so that a short Korean or Japanese
note is right; for the rest ``py3langid`` is asked, and believed only if the runner-up is
clearly behind. Only the first few thousand characters are looked at.
"""

from __future__ import annotations

import math
import re

__all__ = ["UNDETERMINED", "detect_language"]

UNDETERMINED = "und"

_SAMPLE = 3000
_STATISTICS_SAMPLE = 1000
_LETTERS_MIN = 12
_MARGIN = 0.7
"""By how much, per root of the bytes, the best guess must beat the next one."""
_SHARE = 0.25
"""The share of letters from which one language's own script decides."""

_NOISE = re.compile(r"`[^`\n]{0,200}`|https?://\S{1,500}|[\d_#*|>\[\]{}()=~-]+")
_LETTER = re.compile(r"[^\W\d_]")
_KANA = re.compile(r"[\u3041-\u30ff\uff66-\uff9d]")
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]")
_OWN_SCRIPT = (
    (re.compile(r"[\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3]"), "ko"),
    (re.compile(r"[\u0e00-\u0e7f]"), "th"),
    (re.compile(r"[\u0370-\u03ff\u1f00-\u1fff]"), "el"),
    (re.compile(r"[\u0530-\u058f]"), "hy"),
    (re.compile(r"[\u10a0-\u10ff]"), "ka"),
)
_NOT_A_LANGUAGE = frozenset({"zxx", "mul", "mis", ""})


def detect_language(text: str) -> str:
    """Return the code of the language that *text* is most likely written in."""
    sample = _NOISE.sub(" ", text[:_SAMPLE])
    letters = len(_LETTER.findall(sample))
    if not letters:
        return UNDETERMINED
    if not sample.isascii() and (own := _by_script(sample, letters)):
        return own
    return _by_statistics(sample[:_STATISTICS_SAMPLE]) if letters >= _LETTERS_MIN else UNDETERMINED


def _by_script(sample: str, letters: int) -> str | None:
    for script, code in _OWN_SCRIPT:
        if len(script.findall(sample)) > letters * _SHARE:
            return code
    kana, han = len(_KANA.findall(sample)), len(_HAN.findall(sample))
    if kana + han <= letters * _SHARE:
        return None
    # Japanese is never written without kana for long; Chinese is written without any.
    return "ja" if kana > han * 0.05 else "zh"


def _by_statistics(sample: str) -> str:
    # The model takes half a second to load; most runs meet no text of this kind.
    import py3langid

    (code, best), (_, second) = py3langid.rank(sample)[:2]
    margin = (best - second) / math.sqrt(len(sample.encode("utf-8", "replace")))
    if margin < _MARGIN or code in _NOT_A_LANGUAGE:
        return UNDETERMINED
    return str(code)
