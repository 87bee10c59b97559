"""The programming languages that are parsed: by a grammar, or line by line.

Adding a language with a grammar is adding a row here and the grammar to the requirements.
A row names

* ``module``: the grammar's package, found by name at run time, and its ``function``;
* ``units``: node types that are units, with the kind each is called;
* ``holders``: those of them whose members are units of their own;
* ``inside``: node types that only hold others and are looked through;
* ``wrappers``: node types that belong to the unit they hold (decorators, ``export``);
* ``leading``: node types that belong to the unit right after them (comments, attributes);
* ``constants``: node types that are units if long or if they hold a function, and what is a
  test called by a sentence;
* ``opened``: node types that are looked through where they are long: what wraps most of a file,
  such as the function of a module, and objects of functions;
* ``closures``: kinds of units that are holders, too, where they are very long: functions, in
  languages that have functions within functions.

For resources (YAML, TOML, Makefiles, …) and for languages whose grammar is not worth its
size, a pattern for the line that starts a unit, its header, is enough: the unit goes on to
the next such line. ``name`` is the group with its name, or ``title`` one with the sentence that
a test is called by; ``kind`` is one with what it is, else ``kind`` of the row says so. Patterns
are matched against one line at its start, and are linear. Where types hold functions
(``is_nested``), what is set in is a unit only right within one of the ``holders``.
"""

from __future__ import annotations

import re
from types import MappingProxyType

from kb_core.values import dataclass, field

__all__ = ["CLOSERS", "CODE_ALIASES", "HEADERS", "LANGUAGES", "PARSERS", "POD", "STRINGS"]
__all__ += ["Header", "Language"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """What one grammar's node types mean."""

    module: str
    function: str = "language"
    units: MappingProxyType[str, str]
    holders: frozenset[str] = frozenset()
    inside: frozenset[str] = frozenset()
    wrappers: frozenset[str] = frozenset()
    leading: frozenset[str] = field(default=frozenset({"comment"}))
    constants: frozenset[str] = frozenset()
    opened: frozenset[str] = frozenset()
    closures: frozenset[str] = frozenset()


def _row(module: str, units: str, **sets: str) -> Language:
    """Read ``kind: type type …`` per line of *units*; the other sets are lists of types."""
    rows = [line.split(":") for line in units.strip().splitlines()]
    kinds = {node: kind.strip() for kind, nodes in rows for node in nodes.split()}
    function = sets.pop("function", "language")
    return Language(
        module=module,
        function=function,
        units=MappingProxyType(kinds),
        **{name: frozenset(nodes.split()) for name, nodes in sets.items()},
    )


_C_UNITS = """
    function: function_definition
    struct: struct_specifier
    union: union_specifier
    enum: enum_specifier
    type: type_definition
    macro: preproc_function_def
"""
_C_INSIDE = (
    "preproc_if preproc_ifdef preproc_else preproc_elif preproc_elifdef"
    " linkage_specification declaration_list"
)
_SCRIPT_UNITS = """
    function: function_declaration generator_function_declaration function_signature
    class: class_declaration abstract_class_declaration class
    interface: interface_declaration
    type: type_alias_declaration
    enum: enum_declaration
    module: internal_module module
    method: method_definition abstract_method_signature
"""
_SCRIPT = {
    "holders": "class_declaration abstract_class_declaration class internal_module module",
    "inside": "class_body statement_block expression_statement",
    "wrappers": "export_statement ambient_declaration",
    "leading": "comment decorator",
    "constants": "lexical_declaration variable_declaration public_field_definition"
    " field_definition expression_statement pair",
    "opened": "arguments array arrow_function assignment_expression call_expression"
    " export_statement function_expression if_statement lexical_declaration member_expression"
    " new_expression object pair parenthesized_expression return_statement sequence_expression"
    " try_statement unary_expression variable_declaration variable_declarator",
    "closures": "function method",
}

LANGUAGES: dict[str, Language] = {
    "bash": _row(
        "tree_sitter_bash",
        "function: function_definition",
        inside="if_statement",
        constants="command",
    ),
    "c": _row("tree_sitter_c", _C_UNITS, inside=_C_INSIDE, constants="declaration"),
    "cpp": _row(
        "tree_sitter_cpp",
        _C_UNITS + "class: class_specifier\nnamespace: namespace_definition\n"
        "type: alias_declaration\nconcept: concept_definition",
        holders="class_specifier struct_specifier namespace_definition",
        inside=_C_INSIDE + " field_declaration_list field_declaration",
        wrappers="template_declaration",
        constants="declaration",
    ),
    "csharp": _row(
        "tree_sitter_c_sharp",
        """
        namespace: namespace_declaration
        class: class_declaration
        struct: struct_declaration
        interface: interface_declaration
        enum: enum_declaration
        record: record_declaration record_struct_declaration
        delegate: delegate_declaration
        method: method_declaration operator_declaration conversion_operator_declaration
        constructor: constructor_declaration destructor_declaration
        property: property_declaration indexer_declaration event_declaration
        """,
        holders="namespace_declaration class_declaration struct_declaration"
        " interface_declaration record_declaration record_struct_declaration",
        inside="declaration_list preproc_if preproc_else preproc_elif",
    ),
    "css": _row(
        "tree_sitter_css",
        """
        rule: rule_set
        media: media_statement supports_statement at_rule
        keyframes: keyframes_statement
        """,
    ),
    "go": _row(
        "tree_sitter_go",
        """
        function: function_declaration
        method: method_declaration
        type: type_spec type_alias
        const: const_spec
        var: var_spec
        """,
        inside="const_declaration type_declaration var_declaration var_spec_list",
    ),
    "java": _row(
        "tree_sitter_java",
        """
        class: class_declaration
        interface: interface_declaration
        enum: enum_declaration
        record: record_declaration
        annotation: annotation_type_declaration
        method: method_declaration
        constructor: constructor_declaration compact_constructor_declaration
        """,
        holders="class_declaration interface_declaration enum_declaration record_declaration",
        inside="class_body interface_body enum_body enum_body_declarations",
        leading="line_comment block_comment",
    ),
    "javascript": _row("tree_sitter_javascript", _SCRIPT_UNITS, **_SCRIPT),
    "kotlin": _row(
        "tree_sitter_kotlin",
        """
        class: class_declaration
        object: object_declaration companion_object
        function: function_declaration
        constructor: secondary_constructor
        type: type_alias
        """,
        holders="class_declaration object_declaration companion_object",
        inside="class_body enum_class_body",
        leading="line_comment block_comment",
        constants="property_declaration",
    ),
    "php": _row(
        "tree_sitter_php",
        """
        function: function_definition
        class: class_declaration
        interface: interface_declaration
        trait: trait_declaration
        enum: enum_declaration
        method: method_declaration
        namespace: namespace_definition
        """,
        function="language_php",
        holders="class_declaration interface_declaration trait_declaration enum_declaration"
        " namespace_definition",
        inside="declaration_list enum_declaration_list compound_statement colon_block if_statement"
        " else_clause",
    ),
    "python": _row(
        "tree_sitter_python",
        """
        function: function_definition
        class: class_definition
        type: type_alias_statement
        """,
        holders="class_definition",
        inside="block if_statement elif_clause else_clause try_statement except_clause"
        " finally_clause with_statement",
        wrappers="decorated_definition",
        closures="function",
    ),
    "ruby": _row(
        "tree_sitter_ruby",
        """
        module: module
        class: class singleton_class
        method: method singleton_method
        """,
        holders="module class singleton_class",
        inside="body_statement call argument_list do_block block block_body if unless then else"
        " elsif begin",
        constants="assignment call",
    ),
    "rust": _row(
        "tree_sitter_rust",
        """
        function: function_item function_signature_item
        struct: struct_item
        enum: enum_item
        union: union_item
        trait: trait_item
        impl: impl_item
        module: mod_item
        macro: macro_definition
        type: type_item
        const: const_item static_item
        """,
        holders="trait_item impl_item mod_item",
        inside="declaration_list foreign_mod_item",
        leading="line_comment block_comment attribute_item",
    ),
    "scala": _row(
        "tree_sitter_scala",
        """
        class: class_definition
        object: object_definition package_object
        trait: trait_definition
        enum: enum_definition
        function: function_definition function_declaration
        given: given_definition
        extension: extension_definition
        type: type_definition
        """,
        holders="class_definition object_definition package_object trait_definition"
        " enum_definition",
        inside="template_body enum_body package_clause",
        leading="comment block_comment",
        constants="val_definition call_expression",
    ),
    "starlark": _row(
        "tree_sitter_python",
        "function: function_definition",
        constants="expression_statement",
    ),
    "swift": _row(
        "tree_sitter_swift",
        """
        class: class_declaration
        protocol: protocol_declaration
        function: function_declaration protocol_function_declaration
        constructor: init_declaration deinit_declaration
        subscript: subscript_declaration
        type: typealias_declaration
        """,
        holders="class_declaration protocol_declaration",
        inside="class_body enum_class_body protocol_body",
        leading="comment multiline_comment",
        constants="property_declaration",
    ),
    "tsx": _row("tree_sitter_typescript", _SCRIPT_UNITS, function="language_tsx", **_SCRIPT),
    "typescript": _row(
        "tree_sitter_typescript", _SCRIPT_UNITS, function="language_typescript", **_SCRIPT
    ),
}

CODE_ALIASES = {
    "astro": "typescript",
    "cython": "python",
    "glsl": "c",
    "hlsl": "c",
    "jsx": "javascript",
    "metal": "cpp",
    "shell": "bash",
    "svelte": "typescript",
    "vue": "typescript",
}
"""Languages that another one's grammar reads well enough; of components, their scripts."""


QUOTES = '"""'
APOSTROPHES = "'''"
STRINGS = (QUOTES, APOSTROPHES)
"""What opens and closes a string of several lines."""
POD = "="
"""What a line of documentation of Perl begins with."""
CLOSERS = {
    "/*": "*/", "(*": "*)", "{-": "-}", "<#": "#>", "<!--": "-->", "--[[": "]]", "#|": "|#",
    "{": "}", POD: "=cut", QUOTES: QUOTES, APOSTROPHES: APOSTROPHES,
}  # fmt: skip
"""What closes a comment of several lines, by what opens it."""


@dataclass(frozen=True, slots=True)
class Header:
    """How a unit starts, and how a comment does that belongs to the unit after it."""

    kind: str
    pattern: str
    comment: tuple[str, ...]
    flags: re.RegexFlag
    clause: str | None = None
    """What follows the name of a function in a clause, down to its ``label``, what it is for; none
    where a function has one header, and empty where it may have several of which nothing tells."""
    continued: tuple[str, ...] = ()
    """What a line begins with that goes on with the header before it."""
    holders: tuple[str, ...] = ()
    """The kinds in whose names those of what stands in them begin."""
    is_flat: bool = False
    """Whether what stands in a holder need not stand deeper."""
    is_nested: bool = False
    """Whether what is set in is a unit only right within a holder, which reaches over it."""
    members: tuple[str, ...] = ()
    """The kinds whose names begin with that of their holder, where not all do."""
    closing: str = ""
    """What a line begins with that ends all holders, where none is deeper than its members."""
    nameless: tuple[str, ...] = ()
    """The lines that open and close a block without a name, at the margin: what stands in it is
    read as if it stood at the margin, too."""

    @property
    def closers(self) -> dict[str, str]:
        """What closes comments and strings of several lines, by what opens them."""
        return {opener: CLOSERS[opener] for opener in self.comment if opener in CLOSERS}

    @property
    def line(self) -> re.Pattern[str]:
        """The pattern, compiled when it is first asked for: forty of them take a while."""
        return re.compile(self.pattern, self.flags)


def _line(  # noqa: PLR0913 - what a row of the table says
    kind: str,
    pattern: str,
    *comment: str,
    ignore_case: bool = False,
    clause: str | None = None,
    continued: tuple[str, ...] = (),
    holders: tuple[str, ...] = (),
    is_flat: bool = False,
    is_nested: bool = False,
    members: tuple[str, ...] = (),
    closing: str = "",
    nameless: tuple[str, ...] = (),
) -> Header:
    return Header(
        kind=kind,
        pattern=pattern,
        comment=comment or ("#",),
        flags=re.IGNORECASE if ignore_case else re.NOFLAG,
        clause=clause,
        continued=continued,
        holders=holders,
        is_flat=is_flat,
        is_nested=is_nested,
        members=members,
        closing=closing,
        nameless=nameless,
    )


_SLASHES = ("//", "/*", " *")
_TITLE = r"(?P<quote>[\"'])(?P<title>(?:(?!(?P=quote))[^\n]){1,200})(?P=quote)"
"""A sentence that a test is called by."""
_EQUATION = (
    r"(?!(?:import|where|infix[lr]?)\b)"
    r"(?P<name>[\w']+)(?:\s*(?:::?\s|:*$)|.{0,200}=|.{0,200}\bwhere\b)"
)
"""A signature, a clause or what follows ``module`` and the like, of Haskell and its relatives."""
_HASKELL = (
    r"(?:(?P<kind>data|newtype|class|instance|type|module)\s+"
    r"(?:(?:\([^\n]{0,400}\)|[^(=\n]{0,100}?)\s*=>\s*)?)?" + _EQUATION
)
"""What has to hold (``Eq a =>``) may stand before the name of a class."""
_STRING = r"\"[^\"\n]{1,40}\""
_CONSTRUCTOR = rf"(?!\s*::)(?:(?![=|]).){{0,200}}?(?P<label>\b[A-Z][\w']*|{_STRING})"
_ATOM = (
    r"(?:(?!->|\bwhen\b).){0,200}?"
    rf"(?P<label>(?<![\w@])(?<!\d#)[a-z][\w@]*|'[^'\n]{{1,40}}'|{_STRING})"
)
_ATOM_OF_ELIXIR = (
    rf"(?:(?!\bwhen\b|\bdo\b).){{0,200}}?(?:%(?=[A-Z])|(?<!:):(?=\w)|(?={_STRING}))"
    rf"(?P<label>[\w.]+[?!]?|{_STRING})"
)

_SIGN = r"[!$%&*+./:<=>?@^|~-]"
"""What operators of OCaml are made of."""
_LISP = _line(
    "definition",
    r"\((?:(?:[\w./-]+/|(?:cl|ert|easy-menu|gv|iter|pcase|transient)-)?"
    r"def(?!ault|ine-key\b)[\w*!/-]*|struct|ns|module[+*]?|use-package)\s+(?:\^\S+\s+)?"
    r"(?:\(setf\s+|\({0,3})(?P<name>[^\s()]+)",
    ";",
    "#|",
)

HEADERS: dict[str, Header] = {
    "ada": _line("unit", r"\s{0,4}(?P<kind>procedure|function|package(?:\s+body)?|task|protected|"
                 r"type|subtype)\s+(?:type\s+|body\s+)?(?P<name>[\w.]+)", "--", ignore_case=True),
    "assembly": _line("label", r"(?P<name>[A-Za-z_][\w$.]{2,120}):", "#", ";", "//", "/*", " *"),
    "awk": _line("rule", r"(?:(?P<kind>function|func)\s+(?=\w)|(?=BEGIN|END))(?P<name>\w+)"),
    "batch": _line("label", r":(?P<name>[A-Za-z_][\w-]*)", "rem ", "REM ", "::"),
    "bicep": _line("resource", r"(?P<kind>resource|module|param|var|output|type|func)\s+"
                   r"(?P<name>\w+)", "//", "@"),
    "clojure": _LISP,
    "cmake": _line("function", r"(?P<kind>function|macro)\s*\(\s*(?P<name>[\w-]+)",
                   ignore_case=True),
    "coffeescript": _line("function", r"\s{0,4}(?:(?P<kind>class)\s+(?=\w)|(?=[\w.@]+\s*[=:]\s*"
                          r"(?:\([^()\n]{0,200}\)\s*)?[-=]>))(?P<name>[\w.@]+)"),
    "crystal": _line("method", r"\s{0,12}(?:(?:private|protected|abstract)\s+){0,2}(?P<kind>def|"
                     r"class|module|struct|enum|macro|lib)\s+(?P<name>[\w.:?!=]+)", "#", "@[",
                     holders=("class", "module", "struct", "enum", "lib"), is_nested=True),
    "dart": _line("method", r"\s{0,12}(?:test|testWidgets|group)\(\s*" + _TITLE +
                  r"|\s{0,12}(?:(?:abstract|base|final|sealed|interface|external|static|"
                  r"const|factory)\s+){0,4}(?:(?P<kind>class|mixin(?:\s+class)?|enum|"
                  r"extension(?:\s+type)?|typedef)\s+|(?!(?:return|await|assert|throw|new|else|if|for|"
                  r"while|switch|case|super|this|yield|import|export|part|catch)\b)"
                  r"(?:[\w.$<>?, ]{1,80}?\s)??(?=(?:get|set)\s+\w+|operator\b|[\w.$]+"
                  r"(?:<[^()\n]{1,60}>)?\((?![^\n]*\),\s*$))(?:(?:get|set|operator)\s+)?)"
                  r"(?P<name>[\w.$]+|(?<=operator )[^\s\w(]{1,3})", *_SLASHES, "@", *STRINGS,
                  holders=("class", "mixin", "mixin class", "enum", "extension", "extension type"),
                  is_nested=True),
    "diff": _line("file", r"(?:diff --git a/|Index: )(?P<name>\S{1,200})"),
    "dockerfile": _line("stage", r"FROM\s+(?:--\S+\s+){0,3}\S+(?:\s+AS\s+(?P<name>\S+))?",
                        ignore_case=True),
    "elixir": _line("function", r"\s*(?:(?P<kind>def(?:module|p|macro|macrop|protocol|impl|"
                    r"delegate|guard|guardp)?|@(?:(?:macro)?callback|spec|typep?|opaque))\s+(?P<name>[\w.?!]+)|(?:test|"
                    r"describe|property)\s+" + _TITLE + ")", "#", "@doc", "@impl", "@tag",
                    "@deprecated", QUOTES, clause=_ATOM_OF_ELIXIR,
                    holders=("defmodule", "defprotocol", "defimpl")),
    "elm": _line("function", r"(?:(?P<kind>type alias|type|port module|module|port)\s+)?"
                 + _EQUATION, "--", "{-", clause=_CONSTRUCTOR),
    "erlang": _line("function", r"(?:-(?P<kind>spec|type|opaque|record|callback|define|module)"
                    r"[\s(]{1,4}(?:\w+:)?|(?=(?:[a-z]\w*|'[^'\n]{1,99}')\s?\())"
                    r"(?P<name>\w+|'[^'\n]{1,99}')", "%", "-doc", QUOTES, clause=_ATOM),
    "fortran": _line("unit", r"\s{0,8}(?!end)(?:[a-z]\w*(?:\*\d+|\([^()\n]{0,60}\))?\s+){0,4}?"
                     r"(?P<kind>subroutine|function|module|submodule|program|interface|"
                     r"type(?=\s*(?:,[^:\n]{0,80}::|::|\s\w+\s*$)))(?:\s*\([^()\n]{0,60}\))?"
                     r"(?:\s*,[^:\n]{0,80})?(?:\s*::)?\s+(?P<name>\w+)", "!", "C ", "c ", "*",
                     ignore_case=True),
    "fsharp": _line("binding", r"\s{0,40}(?:static\s+)?(?P<kind>let|and|type|module|member|"
                    r"override|default|abstract)\s+(?:(?:rec|inline|private|internal|public|mutable|"
                    r"member)\s+){0,3}(?:\w+\.(?=\w+\s*(?:[(:=<]|with\b|\w|$)))?(?P<name>[\w.']+)",
                    "//", "[<", holders=("type", "module", "and"), is_nested=True),
    "gdscript": _line("function", r"\s{0,8}(?:static\s+)?(?P<kind>func|class|class_name|signal|"
                      r"enum)\s+(?P<name>\w+)", "#", "@", holders=("class",), is_nested=True),
    "gradle": _line("block", r"(?P<name>[A-Za-z][\w.]*)\s*(?:\([^()]{0,200}\)\s*)?\{", *_SLASHES),
    "graphql": _line("type", r"(?:extend\s+)?(?P<kind>type|interface|enum|input|union|scalar|query"
                     r"|mutation|subscription|fragment|directive|schema)\s+(?P<name>@?\w+)",
                     "#", '"', QUOTES),
    "groovy": _line("method", r"\s{0,12}(?:(?:public|private|protected|static|final|abstract|"
                    r"synchronized)\s+){0,4}(?:(?P<kind>class|trait|interface|enum|@interface)\s+|"
                    r"def\s+(?!\()|(?!(?:return|assert|throw|new|else|if|for|while|switch|case|catch|"
                    r"import|package|println)\b)(?:(?:<[^<>\n]{1,60}>\s*)?[\w.\[\]?]{1,60}"
                    r"(?:<[^()\n]{1,80}>(?:\[\])?)?\s+)?(?=\w+\s*\([^\n]*[{(,]\s*$))(?P<name>\w+)|\s{1,8}def\s+"
                    + _TITLE + r"\s*\(", *_SLASHES, "@", *STRINGS,
                    holders=("class", "trait", "interface", "enum"), is_nested=True),
    "haskell": _line("function", _HASKELL, "--", "{-", clause=_CONSTRUCTOR, continued=("=", "|")),
    "html": _line("section", r"\s{0,20}<(?P<kind>h[1-3]|section|article|main|nav|header|footer|"
                  r"template|script|style)\b[^>]{0,200}?(?:\bid=[\"'](?P<name>[\w-]+))?", "<!--"),
    "ini": _line("section", r"\[(?P<name>[^\]\n]{1,200})\]", "#", ";"),
    "julia": _line("function", r"(?:(?:@\w+\s+){0,2}(?:export\s+)?(?P<kind>function|macro|struct|"
                   r"mutable struct|module|abstract type)\s+|(?=[\w.!]+\([^\n]{0,200}\)\s*=[^=]))"
                   r"(?P<name>[\w.!]+)|\s{0,8}@testset\s+" + _TITLE, "#", '"', QUOTES),
    "lisp": _LISP,
    "lua": _line("function", r"(?:(?:local\s+)?function\s+|(?=(?:local\s+)?[\w.:]+\s*=\s*"
                 r"function\b)(?:local\s+)?)(?P<name>[\w.:]+)|\s{0,8}(?:it|test|describe|context)"
                 r"\s*\(?\s*" + _TITLE, "--", "--[[", nameless=("do", "end")),
    "makefile": _line("target", r"(?P<name>[^\s:=#][^:=#\n]{0,200}?)\s*::?(?!=)", "#", ".PHONY"),
    "matlab": _line("function", r"\s{0,4}(?P<kind>function|classdef)\s+(?:\([^()\n]{0,80}\)\s*)?"
                    r"(?:[\[\]\w,~ \t.]{1,160}=\s*)?(?P<name>[\w.]+)", "%", "#"),
    "nim": _line("type", r"(?:(?P<kind>proc|func|method|template|macro|iterator|converter|type)\s+"
                 r"|(?=\s{2}\w+\*?\s?(?:\[[^\]\n]{0,80}\])?\s?(?:\{\.[^\n]{0,99}?\.\})?\s?=\s*"
                 r"(?:ref\s+|ptr\s+)?(?:object|enum|distinct|tuple|concept|proc)\b)\s{2})"
                 r"(?P<name>\w+|`[^`\n]{1,40}`)", "#"),
    "nix": _line("attribute", r"\s{0,2}(?P<name>[\w.-]+)\s*="),
    "objc": _line("function", r"(?:(?P<kind>@interface|@implementation|@protocol(?![^\n]*;\s*$)|"
                  r"[-+](?=\s*\()|typedef)(?:(?<=[-+])\s*\([^)]*\)|(?<=typedef)\s+"
                  r"(?:NS_\w+\([\w ]+,|(?:struct|enum|union)\b)|(?<=[eln])(?=\s))|"
                  r"(?!(?:if|for|while|switch|return|typedef|else)\b|[A-Z_]+\s?\()(?:(?:[A-Za-z_]\w*"
                  r"[ \t*]+){1,5}(?=\w+[ \t]?\([^;\n]*[){(,]\s*$)|(?=\w+[ \t]?\([^;\n]*$)))\s*"
                  r"(?P<name>\w+)", *_SLASHES, "static ",
                  holders=("interface", "implementation", "protocol"), is_flat=True,
                  members=("method",), closing="@end"),
    "ocaml": _line("binding", r"\s{0,40}(?:(?P<kind>let|and|type|module|val|external|exception|"
                   r"class)\s+(?:(?:rec|type|nonrec|virtual)\s+|[+-]?(?:'\w+|_)\s+(?!=)|"
                   r"\((?=[^()\n]{0,60}['_])[^()\n]{0,60}\)\s+(?!=)){0,3}(?:\(\s?(?=" + _SIGN
                   + r"))?(?P<name>[\w']+|" + _SIGN + r"{1,12}(?=\s?\)))|let%\w+\s+" + _TITLE + ")",
                   "(*", holders=("module",), is_nested=True),
    "pascal": _line("type", r"(?:(?:class\s+)?(?P<kind>function|procedure|constructor|destructor|"
                    r"operator|program|unit|library)\s+|(?=\s{0,4}\w+(?:<[^>\n]{0,60}>)?\s*=\s*"
                    r"(?:packed\s+)?(?:class|record|object|interface)\b)\s{0,4})(?P<name>[\w.]+)",
                    "//", "{", ignore_case=True),
    "perl": _line("function", r"\s{0,4}(?:(?P<kind>sub|package)\s+(?P<name>\w[\w:]*)|subtest\s+"
                  + _TITLE + ")", "#", POD, holders=("package",), is_flat=True),
    "powershell": _line("function", r"(?P<kind>function|filter|class|enum)\s+(?P<name>[\w:-]+)",
                        "#", "<#", ignore_case=True),
    "prisma": _line("model", r"(?P<kind>model|enum|type|view|datasource|generator)\s+(?P<name>\w+)",
                    "//"),
    "proto": _line("message", r"\s{0,12}(?P<kind>message|service|enum|extend|rpc)\s+"
                   r"(?P<name>[\w.]+)(?=\s*[{(]|\s*$)", *_SLASHES,
                   holders=("message", "service", "extend"), is_nested=True),
    "purescript": _line("function", _HASKELL, "--", "{-", clause=_CONSTRUCTOR,
                        continued=("=", "|")),
    "qml": _line("function", r"\s{0,8}(?P<kind>function|signal)\s+(?P<name>\w+)", *_SLASHES),
    "r": _line("function", r"(?:(?=(?:[\w.]+|`[^`\n]{1,60}`)\s*(?:<-|=)\s*(?:function\b|\\\(|"
               r"(?:\w+::)?(?:ggproto|R6Class|setRefClass|setClass|new_class)\b))|(?P<kind>set(?:"
               r"Generic|Method|Class|RefClass|Validity))\(\s*[\"'])(?P<name>[\w.]+|`[^`\n]{1,60}`)"
               r"|test_that\(\s*" + _TITLE),
    "rego": _line("rule", r"(?:(?P<kind>package)\s+)?(?!import\b)(?P<name>[a-z_][\w.]*)"
                  r"(?:\(|\[|\s*(?::?=|\{|if\b|contains\b|$))", clause=""),
    "solidity": _line("contract", r"\s{0,8}(?:abstract\s+)?(?P<kind>contract|interface|library|"
                      r"struct|enum|function|event|modifier|error|constructor)\b\s*(?P<name>\w*)",
                      *_SLASHES, holders=("contract", "interface", "library"), is_nested=True),
    "sql": _line("statement", r"\s{0,4}(?:create|alter)\s+(?:or\s+replace\s+)?(?:(?:global|local|"
                 r"foreign|temp|temporary|unlogged|unique|materialized|definer\s*=\s*\S+)\s+){0,3}"
                 r"(?P<kind>table|view|function|procedure|index|trigger|type|schema|sequence|"
                 r"extension|database|role|user|policy|package)\s+(?:concurrently\s+)?"
                 r"(?:if\s+not\s+exists\s+|if\s+exists\s+)?(?P<name>[\w.\"`\[\]$]+)",
                 "--", "/*", ignore_case=True),
    "tcl": _line("procedure", r"\s{0,8}(?P<kind>proc|method|typemethod|oo::class create|"
                 r"(?:snit::|itcl::)?(?:type|class|widget)|test)\s+(?P<name>[^\s{}\"$\[\]]+)\s+"
                 r"[{\w]"),
    "terraform": _line("block", r"(?P<kind>[a-z_]+)(?P<name>(?:\s+\"[^\"\n]{1,100}\"){0,3})\s*\{",
                       "#", "//"),
    "thrift": _line("struct", r"(?P<kind>struct|service|enum|exception|union|typedef|const)\s+"
                    r"(?P<name>[\w.]+)", *_SLASHES, "#"),
    "toml": _line("table", r"\[\[?(?P<name>[^\[\]\n]{1,200})\]"),
    "vb": _line("procedure", r"\s{0,8}(?:(?:public|private|friend|protected|static|shared|"
                r"overrides|overridable|partial|mustinherit|notinheritable)\s+){0,4}(?P<kind>sub|function|"
                r"property(?:\s+[gls]et)?|class|module|structure|interface|enum)\s+(?P<name>\w+)",
                "'", ignore_case=True),
    "verilog": _line("module", r"\s{0,4}(?P<kind>module|interface|package|class|program|task|"
                     r"function)\s+(?:automatic\s+)?(?:\[[^\]\n]{0,40}\]\s*)?(?P<name>\w+)", "//"),
    "vhdl": _line("entity", r"\s{0,4}(?P<kind>entity|architecture|package(?:\s+body)?|component|"
                  r"configuration|function|procedure)\s+(?P<name>\w+)", "--", ignore_case=True),
    "vim": _line("function", r"\s{0,4}(?:export\s+)?(?P<kind>fu(?:n(?:c(?:tion)?)?)?|def|"
                 r"com(?:mand)?|aug(?:roup)?)!?\s+(?:-\S+\s+){0,6}(?!END\b)(?P<name>[\w:#<>.]+)",
                 '"', "#"),
    "wgsl": _line("function", r"(?:@\w+(?:\([^()\n]{0,60}\))?\s*){0,4}(?P<kind>fn|struct|const|"
                  r"var(?:<[^>\n]{0,40}>)?)\s+(?P<name>\w+)", "//", "@"),
    "yaml": _line("key", r"(?P<name>[^\s#:\-\[\]{}\"'][^:#\n]{0,100}|[\"'][^\"'\n]{1,100}[\"'])"
                  r":(?:\s|$)|-\s+(?:name|id|alias):\s+(?P<title>[^\s#][^#\n]{0,150})"),
    "zig": _line("const", r"(?!const\s+\w+\s*=\s*(?:@import\(|[A-Za-z_]\w*\.[\w.]*;))\s{0,40}"
                 r"(?:(?:pub|export|inline|noinline|extern(?:\s+\"\w+\")?)\s+){0,3}(?:(?=(?:const\s+\w+\s*=\s*(?:extern\s+|packed\s+)?|fn\s[^\n]{0,300}\)\s*)?"
                 r"(?P<kind>fn|struct|enum|union|opaque|type)\b))?(?:fn\s+|const\s+)"
                 r"(?P<name>\w+|@\"[^\"\n]{1,60}\")|\s{0,40}test\s+" + _TITLE, "//",
                 holders=("struct", "enum", "union", "opaque", "type"), is_nested=True),
}  # fmt: skip

_BY_GRAMMAR = "kb_app._ingest.making.formats.code:CodeParser"
_BY_HEADERS = "kb_app._ingest.making.formats.outline:OutlineParser"

PARSERS: dict[str, str] = {
    **dict.fromkeys((*HEADERS, "xml"), _BY_HEADERS),
    **dict.fromkeys(LANGUAGES, _BY_GRAMMAR),
    **{alias: _BY_GRAMMAR for alias, name in CODE_ALIASES.items() if name in LANGUAGES},
}
"""Which parser reads a language; one that is not here is read as text."""
