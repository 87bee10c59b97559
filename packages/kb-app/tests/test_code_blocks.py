"""What of code is quoted: what gives a constant its value, and blocks of what is long."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from kb_app._ask.code_blocks import blocks, statement

AFTER = "\nOTHER = 1\n"


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("python", "MOST = 4"),
        ("python", 'MOST = (  # see ")"\n    4\n)'),
        ("python", 'MOST = "("'),
        ("python", 'MOST = """\na (\n"""'),
        ("python", "MOST = 60 * \\\n    60"),
        ("python", "# The most, *args.\n@MOST: int = 4"),
        ("python", "# if unset, all are\n# included\n@MOST = 4"),
        ("python", 'MOST = 4\n"""Of rows."""'),
        ("rust", "/// How long.\n@pub const MOST: u64 =\n    5_000 + GRACE;"),
        ("rust", "const MOST: u64 = GRACE\n    .max(4);"),
        ("typescript", "export const MOST =\n  'https://a.b//c';"),
        ("javascript", "const MOST = `a\n(\n`;"),
        ("java", 'static final Pattern MOST =\n    Pattern.compile("a");'),
        ("java", "/**\n * The most.\n */\n@int MOST = a ? 1 :\n    2;"),
        ("c", "// Of rows.\n@#define MOST 4"),
        ("erlang", "%% Of rows.\n% All.\n@-define(MOST, 4)."),
        ("lua", "--\n-- Of rows.\n@MOST = 4"),
        ("c", "#define MOST \\\n    4"),
        ("shell", 'MOST="a\nb"'),
        ("ruby", "MOST = [\n  1, # [\n  2,\n]"),
    ],
)
@pytest.mark.parametrize("before", ["", "*count = 5;\n--i;\n", "x = 1;\n\n"])
def test_what_gives_a_value_is_quoted_with_its_comment_and_no_more(
    language: str, said: str, before: str
) -> None:
    first = said.find("@") if "@" in said else 0
    said = said.replace("@", "")
    text = before + said + AFTER

    start, end = statement(text, len(before) + first, language)

    assert text[start:end] == said


@pytest.mark.parametrize(
    ("language", "text", "begins"),
    [
        ("python", "a = 1\nb = 2\n\nc = 3\nd = 4\n# Why.\ne = 5\nf = 6\n" + "g = 7\n" * 6,
         ["a = 1", "c = 3", "# Why."]),
        ("python", "def f(\n    a,\n\n    *args,\n    **more,\n):\n    x = 1\n\n    y = 2\n"
         + "    w = 4\n" * 5, ["def f(", "y = 2"]),
        ("python", 'def f():\n    """Text.\n\n    More of it.\n    """\n    x = 1\n'
         + "    y = 2\n" * 8, []),
        ("c", "int f() {\n  a = 1;\n#if A\n  b = 2;\n#endif\n  // Why.\n  c = 3;\n"
         + "  d = 4;\n" * 7, ["int f() {", "// Why."]),
        ("java", "class A {\n  int a = b\n  * 5;\n  int c;\n" + "  int d;\n" * 10, []),
        ("python", "a = 1\n\n" * 6, []),
    ],
)  # fmt: skip
def test_blocks_begin_behind_blank_lines_and_with_comments_and_within_nothing(
    language: str, text: str, begins: list[str]
) -> None:
    found = blocks(text.rstrip("\n"), language)

    assert [text[start:end].partition("\n")[0] for start, end in found] == begins


@given(
    st.lists(
        st.sampled_from(
            [
                "",
                "a = 1",
                "# b",
                "// c",
                "/* d",
                " * e */",
                "f(",
                ")",
                '"""',
                "`",
                "x = '\"'",
                "{",
                "}",
            ]
        ),
        max_size=40,
    ),
    st.sampled_from(["python", "c", "shell", None]),
)
def test_blocks_are_all_of_a_text_in_order(lines: list[str], language: str | None) -> None:
    text = "\n".join(lines).strip()
    found = blocks(text, language)

    joined = "".join(text[start:end] for start, end in found)
    assert not found or "".join(joined.split()) == "".join(text.split())
    for line in range(len(text)):
        if text[line - 1 : line] in ("", "\n") and not text[line].isspace():
            start, end = statement(text, line, language)
            assert 0 <= start <= line < end <= len(text)
