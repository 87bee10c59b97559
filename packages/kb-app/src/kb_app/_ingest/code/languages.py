"""The programming languages that are parsed: grammars, and which nodes are units.

Adding a language is adding a row here and its grammar to the requirements. A row names

* ``module``: the grammar's package, found by name at run time, and its ``function``;
* ``units``: node types that are units, with the kind each is called;
* ``holders``: those of them whose members are units of their own;
* ``inside``: node types that only hold others and are looked through;
* ``wrappers``: node types that belong to the unit they hold (decorators, ``export``);
* ``leading``: node types that belong to the unit right after them (comments, attributes);
* ``constants``: node types that are units if long or if they hold a function.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType

__all__ = ["CODE_ALIASES", "LANGUAGES", "Language"]


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
    method: method_definition
"""
_SCRIPT = {
    "holders": "class_declaration abstract_class_declaration class internal_module module",
    "inside": "class_body statement_block expression_statement",
    "wrappers": "export_statement ambient_declaration",
    "leading": "comment decorator",
    "constants": "lexical_declaration variable_declaration public_field_definition"
    " field_definition expression_statement",
}

LANGUAGES: dict[str, Language] = {
    "bash": _row("tree_sitter_bash", "function: function_definition", inside="if_statement"),
    "c": _row("tree_sitter_c", _C_UNITS, inside=_C_INSIDE),
    "cpp": _row(
        "tree_sitter_cpp",
        _C_UNITS + "class: class_specifier\nnamespace: namespace_definition\n"
        "type: alias_declaration\nconcept: concept_definition",
        holders="class_specifier struct_specifier namespace_definition",
        inside=_C_INSIDE + " field_declaration_list",
        wrappers="template_declaration",
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
        type: type_declaration
        const: const_declaration
        var: var_declaration
        """,
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
        inside="declaration_list enum_declaration_list compound_statement if_statement",
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
    ),
    "ruby": _row(
        "tree_sitter_ruby",
        """
        module: module
        class: class singleton_class
        method: method singleton_method
        """,
        holders="module class singleton_class",
        inside="body_statement",
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
        inside="template_body enum_body",
        leading="comment block_comment",
        constants="val_definition",
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

CODE_ALIASES = {"jsx": "javascript", "shell": "bash", "starlark": "python", "cython": "python"}
"""Languages that another one's grammar reads well enough."""
