"""Whether a file of HTML is a page to read, or a template that a program makes pages of.

A template is code: what it says is put in by a program, and what people look for in it is how
it is made. So is a page that says nothing before its scripts run. Marks of template languages
count outside of scripts, comments and examples of code, since pages are written about them,
and where the text around them is not long: a saved page may have a few that nobody filled in.
Linear in what is looked at, which is the beginning.
"""

from __future__ import annotations

import re

from kb_core.values import lazy_pattern

__all__ = ["is_template"]

_LOOKED_AT = 131_072
_APART = lazy_pattern(
    rb"<(/?)(script|style|pre|code|textarea|xmp|samp|kbd|svg)\b[^>]{0,4000}>|<!--|-->",
    re.IGNORECASE,
)
_MARKS = lazy_pattern(
    rb"\{%-?\s{0,9}[a-zA-Z]|\{\{[^{}\n]{1,200}\}\}|<%[=@#!\s-]|<\?(?:php|=)|<#(?:if|list|macro)\b"
    rb"|\s(?:v-(?:if|for|bind|model|on|else|show|slot|html|text)\b|\*ng\w{2,9}=|ng-[a-z]{2,20}="
    rb"|\[\(?ng\w{2,12}\)?\]=|th:[a-z]{2,12}=|x-(?:data|text|show|for)=|\(click\)=|@click[=.])",
)
_TAG = lazy_pattern(rb"<[^<>]{0,4000}>")
_WORDS = lazy_pattern(rb"[A-Za-z\x80-\xff]{2,}")
_WORDS_A_MARK = 25
_FEWEST_WORDS = 3


def is_template(data: bytes) -> bool:
    """Say whether *data*, a file of HTML, is made to be filled in, or says nothing itself."""
    head = data[:_LOOKED_AT]
    if b"\0" in head:
        return False  # UTF-16; templates are not written in it
    shown = _shown(head)
    rest, marks = _MARKS.subn(b" ", shown)
    if not marks and (len(data) > _LOOKED_AT or b"<script" not in head.lower()):
        return False
    words = len(_WORDS.findall(_TAG.sub(b" ", rest)))
    return words < (_WORDS_A_MARK * marks or _FEWEST_WORDS)


def _shown(head: bytes) -> bytes:
    """Return what is neither a script nor a comment nor an example of code."""
    parts, at, open_ = [], 0, b""
    for match in _APART.finditer(head):
        mark = match[2].lower() if match[2] else b"!"
        is_end = match[0] == b"-->" or match[1] == b"/"
        if not open_ and not is_end:
            parts.append(head[at : match.start()])
            open_ = mark
        elif open_ == mark and is_end:
            open_, at = b"", match.end()
    return b" ".join([*parts, b"" if open_ else head[at:]])
