"""Languages that are read line by line: what the first line of a unit looks like.

For resources (YAML, TOML, Makefiles, …) and for languages whose grammar is not worth its
size, a pattern for the line that starts a unit is enough: the unit goes on to the next such
line. ``name`` is the group with its name, ``kind`` one with what it is; else ``kind`` of the
rule. Patterns are matched against one line at its start, and are linear.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["RULES", "Rule"]


@dataclass(frozen=True, slots=True)
class Rule:
    """How a unit starts, and how a comment does that belongs to the unit after it."""

    kind: str
    header: re.Pattern[str]
    comment: tuple[str, ...] = ("#",)


def _rule(kind: str, header: str, *comment: str, ignore_case: bool = False) -> Rule:
    flags = re.IGNORECASE if ignore_case else re.NOFLAG
    return Rule(kind, re.compile(header, flags), comment or ("#",))


_LISP = _rule("definition", r"\((?:[\w./-]+/)?def[\w*!-]*\s+(?:\^\S+\s+)?(?P<name>[^\s()]+)", ";")
_SLASHES = ("//", "/*", " *")

RULES: dict[str, Rule] = {
    "clojure": _LISP,
    "cmake": _rule("function", r"(?P<kind>function|macro)\s*\(\s*(?P<name>[\w-]+)",
                   ignore_case=True),
    "dart": _rule("class", r"(?:(?:abstract|base|final|sealed|interface|mixin)\s+){0,3}"
                  r"(?P<kind>class|mixin|enum|extension|typedef)\s+(?P<name>\w+)", *_SLASHES, "@"),
    "dockerfile": _rule("stage", r"FROM\s+(?:--\S+\s+){0,3}\S+(?:\s+AS\s+(?P<name>\S+))?",
                        ignore_case=True),
    "elixir": _rule("function", r"\s*(?P<kind>def(?:module|p|macro|macrop|protocol|impl|delegate)?)"
                    r"\s+(?P<name>[\w.?!]+)", "#", "  @doc", "  @spec"),
    "erlang": _rule("function", r"-(?P<kind>record|type|callback)\(?(?P<name>\w+)", "%"),
    "fsharp": _rule("binding", r"(?P<kind>let|type|module)\s+(?:rec\s+|inline\s+){0,2}"
                    r"(?P<name>[\w.']+)", "//", "[<"),
    "gradle": _rule("block", r"(?P<name>[A-Za-z][\w.]*)\s*(?:\([^()]{0,200}\)\s*)?\{", *_SLASHES),
    "graphql": _rule("type", r"(?:extend\s+)?(?P<kind>type|interface|enum|input|union|scalar|query"
                     r"|mutation|subscription|fragment|directive|schema)\s+(?P<name>@?\w+)",
                     "#", '"'),
    "groovy": _rule("function", r"(?:(?:public|private|static|final|abstract)\s+){0,4}"
                    r"(?P<kind>class|def|trait|interface|enum)\s+(?P<name>\w+)", *_SLASHES, "@"),
    "haskell": _rule("function", r"(?:(?P<kind>data|newtype|class|instance|type|module)\s+)?"
                     r"(?P<name>[\w']+)(?:\s*::|.{0,200}=|.{0,200}\bwhere\b)", "--", "{-"),
    "html": _rule("section", r"\s{0,20}<(?P<kind>h[1-3]|section|article|main|nav|header|footer|"
                  r"template|script|style)\b[^>]{0,200}?(?:\bid=[\"'](?P<name>[\w-]+))?", "<!--"),
    "ini": _rule("section", r"\[(?P<name>[^\]\n]{1,200})\]", "#", ";"),
    "julia": _rule("function", r"(?:export\s+)?(?P<kind>function|macro|struct|mutable struct|module"
                   r"|abstract type)\s+(?P<name>[\w.!]+)", "#", '"'),
    "lisp": _LISP,
    "lua": _rule("function", r"(?:local\s+)?function\s+(?P<name>[\w.:]+)", "--"),
    "makefile": _rule("target", r"(?P<name>[^\s:=#][^:=#\n]{0,200}?)\s*::?(?!=)", "#", ".PHONY"),
    "nim": _rule("function", r"(?P<kind>proc|func|method|template|macro|iterator|type)\s+"
                 r"(?P<name>\w+)", "#"),
    "nix": _rule("attribute", r"\s{0,2}(?P<name>[\w.-]+)\s*="),
    "objc": _rule("method", r"(?:(?P<kind>@interface|@implementation|@protocol)|[-+]\s*\([^)]*\))"
                  r"\s*(?P<name>\w+)", *_SLASHES),
    "ocaml": _rule("binding", r"(?P<kind>let|type|module|val|exception|class)\s+"
                   r"(?:rec\s+|type\s+){0,2}(?P<name>[\w']+)", "(*"),
    "pascal": _rule("function", r"(?P<kind>function|procedure|constructor|destructor)\s+"
                    r"(?P<name>[\w.]+)", "//", "{", ignore_case=True),
    "perl": _rule("function", r"\s{0,4}(?P<kind>sub|package)\s+(?P<name>[\w:]+)"),
    "powershell": _rule("function", r"(?P<kind>function|filter|class|enum)\s+(?P<name>[\w:-]+)",
                        "#", "<#", ignore_case=True),
    "proto": _rule("message", r"(?P<kind>message|service|enum|extend)\s+(?P<name>[\w.]+)",
                   *_SLASHES),
    "r": _rule("function", r"(?P<name>[\w.]+)\s*(?:<-|=)\s*function\b"),
    "solidity": _rule("contract", r"(?:abstract\s+)?(?P<kind>contract|interface|library|struct|enum"
                      r"|function|event)\s+(?P<name>\w+)", *_SLASHES),
    "sql": _rule("statement", r"\s{0,4}(?:create|alter)\s+(?:or\s+replace\s+)?(?:(?:global|local|"
                 r"temp|temporary|unlogged|unique|materialized|definer\s*=\s*\S+)\s+){0,3}"
                 r"(?P<kind>table|view|function|procedure|index|trigger|type|schema|sequence|"
                 r"extension|database|role|user|policy|package)\s+(?:concurrently\s+)?"
                 r"(?:if\s+not\s+exists\s+|if\s+exists\s+)?(?P<name>[\w.\"`\[\]$]+)",
                 "--", "/*", ignore_case=True),
    "svelte": _rule("section", r"<(?P<name>script|style|template)\b", "<!--"),
    "terraform": _rule("block", r"(?P<kind>[a-z_]+)(?P<name>(?:\s+\"[^\"\n]{1,100}\"){0,3})\s*\{",
                       "#", "//"),
    "toml": _rule("table", r"\[\[?(?P<name>[^\[\]\n]{1,200})\]"),
    "verilog": _rule("module", r"(?P<kind>module|interface|package|class|program)\s+(?P<name>\w+)",
                     "//"),
    "vim": _rule("function", r"\s{0,4}(?P<kind>function|command|augroup)!?\s+(?P<name>[\w:#<>]+)",
                 '"'),
    "vue": _rule("section", r"<(?P<name>script|style|template)\b", "<!--"),
    "yaml": _rule("key", r"(?P<name>[^\s#:\-\[\]{}\"'][^:#\n]{0,100}|\"[^\"\n]{1,100}\"):(?:\s|$)"),
    "zig": _rule("function", r"(?:pub\s+|export\s+|inline\s+){0,3}(?:(?P<kind>fn)\s+|const\s+)"
                 r"(?P<name>\w+)", "//"),
}  # fmt: skip
