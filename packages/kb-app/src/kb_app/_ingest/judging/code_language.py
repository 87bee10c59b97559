"""Which language a file of code is of, where its name is one of several languages."""

from __future__ import annotations

import re

from kb_core.values import lazy_pattern

__all__ = ["language_of"]

_HEADER_BYTES = 200_000
_NAMED_IN_CPP = rb"(?:[A-Z][A-Z0-9_]*(?:\([^()\n]*\))?[ \t]+)?[A-Za-z_][\w:]*"
"""A name, perhaps after a macro such as ``EXPORT``."""
_OF_CPP = lazy_pattern(
    rb"^[ \t]*(?:template[ \t]*<|class[ \t]+" + _NAMED_IN_CPP + rb"(?:[ \t]+final)?\s*[:{;]"
    rb"|(?:inline[ \t]+)?namespace[ \t\w:]*[{=]|(?:public|private|protected)[ \t]*:"
    rb"|using[ \t]+[\w:]+[ \t]*[=;]|using[ \t]+namespace\b|(?:static[ \t]+)?constexpr\b"
    rb"|enum[ \t]+class\b|#[ \t]*include[ \t]*<\w+>)"
    rb"|\bconst[ \t]+\w[\w:<>]*[ \t]*&[ \t]*\w+[ \t]*[,)]",
    re.MULTILINE,
)
"""What no header of C has; one of the standard library of C++ is named without ``.h``."""
_OF_OBJC = lazy_pattern(rb"^[ \t]*@(?:interface|protocol|class|property)\b", re.MULTILINE)
_IMPORTS = lazy_pattern(rb"^[ \t]*#[ \t]*import\b", re.MULTILINE)


_OF_MATLAB = lazy_pattern(
    rb"\A(?:\xef\xbb\xbf)?"
    rb"(?:[ \t]*(?:#(?!import|include|define|if|pragma|undef)[^\n]*)?\r?\n){0,500}[ \t]*"
    rb"(?:%|classdef\b|function\b|(?:clear|close|clc|pkg|addpath)\b|[\w.]+[ \t]*=)"
)
"""How a file of MATLAB or Octave begins, after comments of the latter, and none of Objective-C."""
_OF_CRAM = lazy_pattern(rb"^  \$ ", re.MULTILINE)
_OF_PERL = lazy_pattern(rb"^(?:#!.*\bperl\b|[ \t]*(?:use|package|sub|my|our)\b)", re.MULTILINE)


def language_of(path: str, code_lang: str | None, data: bytes) -> str | None:
    """Return the language of a file of code, where its name is one of several languages.

    Much as GitHub's linguist does: https://github.com/github-linguist/linguist, heuristics.
    """
    begins = data[:_HEADER_BYTES]
    match path[path.rfind(".") + 1 :].lower():
        case "h" if code_lang == "c":
            return _language_of_header(begins)
        case "m" if code_lang == "objc":
            return "matlab" if _OF_MATLAB.match(begins) else code_lang
        case "t" if code_lang == "perl" and _OF_CRAM.search(begins):
            return code_lang if _OF_PERL.search(begins) else None  # what a shell is told, and says
        case "ts" if (
            begins.lstrip(b"\xef\xbb\xbf").lstrip().startswith((b"<?xml", b"<!DOCTYPE TS"))
        ):
            return "gettext"  # translations, as Qt's are
        case _:
            return code_lang


def _language_of_header(begins: bytes) -> str:
    if _OF_OBJC.search(begins):
        return "objc"
    if _OF_CPP.search(begins):
        return "cpp"
    return "objc" if _IMPORTS.search(begins) else "c"
