"""What the parser of code promises beside the units of each language."""

from textwrap import dedent

import pytest

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.making.grammars import LANGUAGES
from kb_app._media import parser_for
from kb_core.documents import ParsedDocument, SourceFile


def parse(source: str, code_lang: str = "python", path: str = "src/a.py") -> ParsedDocument:
    file = SourceFile(source_id="s", path=path, media="code", code_lang=code_lang)
    return parser_for("code", code_lang)(FileContent(dedent(source).lstrip("\n").encode()), file)


def texts(document: ParsedDocument) -> dict[str | None, str]:
    return {block.symbol: document.text[block.start : block.end] for block in document.blocks}


def test_code_is_called_by_its_file_and_has_no_language() -> None:
    document = parse("x = 1\n", path="src/2026-05-10 tool.py")

    assert document.metadata.title == "2026-05-10 tool.py"
    assert document.metadata.lang is None
    assert document.code_lang == "python"
    assert document.parser_version == "code-10"


def test_comments_and_decorators_belong_to_the_unit_after_them() -> None:
    source = """
        x = 1  # about x
        def first(): pass

        # far away

        # near
        # nearer
        @decorated(
            1,
        )
        def second(): pass
    """

    found = texts(parse(source))

    assert found["first"] == "def first(): pass"
    assert found["second"].startswith("# near\n# nearer\n@decorated(")


def test_offsets_are_characters_whatever_stands_before() -> None:
    """tree-sitter counts bytes."""
    found = texts(parse("# 안녕 👩‍👩‍👧\ndef 함수():\n    return 'ü'\n\n\ndef after(): pass\n"))

    assert found["함수"].endswith("return 'ü'")
    assert found["after"] == "def after(): pass"


def test_a_class_does_not_repeat_its_methods() -> None:
    """Lesson 14: class bodies and their methods were both emitted, and ranked twice."""
    found = texts(parse("class A:\n    x = 1\n\n    def f(self):\n        return 2\n"))

    assert found == {"A": "class A:\n    x = 1", "A.f": "    def f(self):\n        return 2"}


LONG = {
    "python": (
        "def app():\n    size = 1\n{rest}    def inner(x):\n        return x\n    return 2\n"
    ),
    "javascript": (
        "const app = (function () {\n  let size = 1\n{rest}"
        "  function inner(x) {\n    return x\n  }\n  return { inner }\n})\n"
    ),
    "typescript": (
        "function app() {\n  const size = [\n    1,\n    2,\n    3,\n  ]\n{rest}"
        "  const inner = (x) => {\n    return x\n  }\n  return { inner }\n}\n"
    ),
}


@pytest.mark.parametrize("code_lang", LONG)
def test_of_a_very_long_function_those_within_it_are_units(code_lang: str) -> None:
    """Such as the application that a factory makes: what is looked for stands deep in it."""
    long = LONG[code_lang].replace("{rest}", "    work()\n" * 100)
    short = LONG[code_lang].replace("{rest}", "")

    assert {block.symbol for block in parse(short, code_lang).blocks} == {"app"}
    document = parse(long, code_lang)
    blocks = [(block.symbol, block.kind) for block in document.blocks]
    assert blocks == [("app", "unit"), ("app.inner", "unit"), ("app", "gap")]
    assert texts(document)["app.inner"].count("return") == 1


def test_a_line_that_two_units_share_stays_with_the_first() -> None:
    source = "class A { m() { return 1 } }\nfunction f() {} function g() {\n  x\n}\n"

    assert texts(parse(source, "jsx")) == {
        "A": "class A { m() { return 1 } }",
        "f": "function f() {} function g() {",
        "g": "  x\n}",
    }


@pytest.mark.parametrize("code_lang", sorted(LANGUAGES))
@pytest.mark.parametrize(
    "source", ["", "\n\n", "}}}} ((( '", "\0\0\0", "def f(:\n  class\n", "한국어 テスト\n", "#"]
)
def test_broken_code_is_kept_whole(code_lang: str, source: str) -> None:
    file = SourceFile(source_id="s", path="a", media="code", code_lang=code_lang)
    document = parser_for("code", code_lang)(FileContent(source.encode()), file)

    held = "".join(document.text[block.start : block.end] for block in document.blocks)
    assert "".join(held.split()) == "".join(source.split())


def test_an_error_in_one_function_leaves_the_others_alone() -> None:
    found = texts(
        parse("def a():\n    return 1\n\ndef b(:\n    return\n\ndef c():\n    return 3\n")
    )

    assert found["a"] == "def a():\n    return 1"
    assert found["c"] == "def c():\n    return 3"


def test_deep_nesting_does_not_exhaust_the_stack() -> None:
    source = "".join(f"{' ' * depth}class C{depth}:\n" for depth in range(300)) + " " * 300 + "x"

    document = parse(source)

    assert document.blocks[-1].end == len(source)


def test_a_file_with_an_endless_line_has_units_where_enough_else_is_in_it() -> None:
    """A module with two lists of words on a line each had no functions."""
    others = "".join(f"function f{n}() {{}}\n" for n in range(120))

    document = parse("let x = [" + "1," * 5000 + "];\n" + others, "javascript")

    assert [block.symbol for block in document.blocks if block.kind == "unit"][:2] == ["f0", "f1"]
    assert document.warnings == ()


def test_endless_lines_are_not_given_to_a_grammar() -> None:
    document = parse("let x = [" + "1," * 5000 + "];\nfunction f() {}\n", "javascript")

    assert [block.kind for block in document.blocks] == ["gap"]
    assert document.warnings == ("code: a line of over 5000 characters, cut at blank lines",)


def test_an_endless_line_among_others_costs_no_names() -> None:
    """It is data: the grammar is shown the rest."""
    body = "  call();\n" * 1_000
    document = parse(f"let x = [{'1,' * 2500}];\nfunction f() {{\n{body}}}\n", "javascript")

    assert [block.symbol for block in document.blocks] == [None, "f"]
    assert document.warnings == ()


def test_code_in_an_unknown_language_is_cut_at_blank_lines() -> None:
    document = parse("a\nb\n\nc\n", "unheard-of")

    assert [(block.kind, document.text[block.start : block.end]) for block in document.blocks] == [
        ("gap", "a\nb"),
        ("gap", "c"),
    ]
    assert document.code_lang == "unheard-of"


def test_bytes_that_are_no_text_lose_nothing_else() -> None:
    file = SourceFile(source_id="s", path="a.py", media="code", code_lang="python")
    document = parser_for("code", "python")(FileContent(b"def f():\n    return '\xff\xfe'\n"), file)

    assert document.blocks[0].symbol == "f"
