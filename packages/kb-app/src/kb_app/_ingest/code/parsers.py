"""Which parser reads a language of code: of a language that is not here, that of text."""

from __future__ import annotations

from kb_app._ingest.code.languages import CODE_ALIASES, LANGUAGES
from kb_app._ingest.code.rules import RULES

__all__ = ["PARSERS"]

_BY_GRAMMAR = "kb_app._ingest.parse.code:CodeParser"
_BY_RULES = "kb_app._ingest.parse.outline:OutlineParser"

PARSERS: dict[str, str] = {
    **dict.fromkeys(RULES, _BY_RULES),
    **dict.fromkeys(LANGUAGES, _BY_GRAMMAR),
    **{alias: _BY_GRAMMAR for alias, name in CODE_ALIASES.items() if name in LANGUAGES},
}
