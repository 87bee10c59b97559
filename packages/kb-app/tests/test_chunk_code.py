"""Chunks of code: units, siblings, parts."""

from itertools import pairwise

from kb_app._ingest.judging.decode import FileContent
from kb_app._media import chunker_for, parser_for
from kb_core.documents import ChunkDraft, ChunkLimits, ParsedDocument, SourceFile
from kb_core.testing.fakes import WordCounter

LIMITS = ChunkLimits(target_tokens=40, overlap_tokens=8, max_tokens=60)


def chunked(source: str, code_lang: str = "python") -> tuple[ParsedDocument, list[ChunkDraft]]:
    file = SourceFile(source_id="s", path="a.py", media="code", code_lang=code_lang)
    document = parser_for("code", code_lang)(FileContent(source.encode()), file)
    return document, list(chunker_for("code")(document, WordCounter(), LIMITS))


def symbols(source: str, code_lang: str = "python") -> list[str | None]:
    return [draft.symbol for draft in chunked(source, code_lang)[1]]


def function(name: str, words: int, indent: str = "") -> str:
    return f"{indent}def {name}():\n" + f"{indent}    a = 1\n" * (words // 3) + "\n\n"


def test_one_unit_is_one_chunk() -> None:
    assert symbols(function("one", 30) + function("two", 30)) == ["one", "two"]


def test_small_siblings_are_merged() -> None:
    assert symbols("".join(function(name, 3) for name in "abcd")) == ["a, b, c, d"]


def test_small_units_of_different_parents_are_not() -> None:
    source = "class A:\n" + function("f", 3, "    ") + "class B:\n" + function("g", 3, "    ")

    assert symbols(source) == ["A, A.f", "B, B.g"]


def test_a_class_is_its_head_and_its_methods() -> None:
    source = "class A:\n" + "    x = 1\n" * 12 + "\n" + function("f", 30, "    ")

    document, drafts = chunked(source)

    assert [draft.symbol for draft in drafts] == ["A", "A.f"]
    assert "def f" not in document.text[drafts[0].start : drafts[0].end]
    assert document.text[drafts[1].start :].startswith("    def f")


def test_a_slight_gap_goes_with_the_unit_after_it() -> None:
    assert symbols(function("one", 30) + "X = 1\n\n" + function("two", 30)) == ["one", "two"]


def test_imports_are_a_chunk_without_a_symbol() -> None:
    assert symbols("import a.b\n" * 15 + "\n" + function("one", 30)) == [None, "one"]


def texts(source: str, code_lang: str = "python") -> list[str]:
    document, drafts = chunked(source, code_lang)
    return [document.text[draft.start : draft.end] for draft in drafts]


def test_constants_below_imports_are_chunks_of_their_own() -> None:
    head = 'from a import b\n\n__all__ = ["one"]\n\nlog = b(__name__)'
    few, more = "# How many.\nMOST = 3\nLEAST: int = 1", 'TITLE = "otter"'
    many = "\n".join(f"OF_{n} = {n}" for n in range(4))

    told = texts(f"{head}\n\n{few}\n\n{more}\n\n{many}\n\n\n{function('one', 30)}")

    assert told[:3] == [head, f"{few}\n\n{more}", many]  # up to a third of 40 words
    assert told[3].startswith("def one")


def test_what_one_statement_holds_is_not_parted_at_a_blank_line() -> None:
    text = 'TEXT = """one\n\nMOST = 3\n\nthree\n"""'

    told = texts(f"import a\n\n{text}\n\nLEAST = 1\n\n\n{function('one', 30)}")

    assert told[:2] == ["import a", f"{text}\n\nLEAST = 1"]


def test_without_constants_or_imports_nothing_is_parted() -> None:
    assert (
        texts("import a\n\nlog = a.b()\n\n" + function("one", 30))[0] == "import a\n\nlog = a.b()"
    )
    assert symbols("MOST = 3\n\n" + function("one", 30)) == ["one"]


def test_branches_of_imports_are_imports_and_deep_ones_are_not_looked_into() -> None:
    guarded = "try:\n    import a\nexcept ImportError:\n    a = None\nif b:\n    import c"
    deep = "".join(f"{' ' * n}if b:\n" for n in range(2000)) + " " * 2000 + "import c\n"

    assert texts(f"import b\n{guarded}\n\nMOST = 3\n\n\n{function('one', 30)}")[1] == "MOST = 3"
    assert symbols(f"import b\n{deep}\nMOST = 3\n\n\n{function('one', 30)}")[-1] == "one"


def test_a_script_has_constants_too() -> None:
    source = 'import a from "a";\n\nconst MOST = 3;\n\nfunction one() {\n' + "  a();\n" * 30 + "}\n"

    assert texts(source, "javascript")[:2] == ['import a from "a";', "const MOST = 3;"]


def test_an_oversize_unit_is_cut_at_blank_lines_and_numbered() -> None:
    body = "\n\n".join(["    a = 1\n" * 8 + "    # end"] * 6)

    document, drafts = chunked(f"def big():\n{body}\n")

    assert [draft.symbol for draft in drafts] == ["big"] * len(drafts)
    assert [draft.part for draft in drafts] == list(range(1, len(drafts) + 1))
    assert all(document.text[d.start : d.end].endswith("# end") for d in drafts)
    assert all(one.end <= two.start for one, two in pairwise(drafts))


def test_what_is_not_cut_has_no_part() -> None:
    assert {draft.part for draft in chunked(function("one", 30) * 3)[1]} == {None}


def test_lines_keep_their_indentation() -> None:
    document, drafts = chunked("def big():\n" + "    if x:\n        y = 1\n" * 60)

    assert all(draft.start == 0 or document.text[draft.start - 1] == "\n" for draft in drafts)


def test_resources_are_not_merged() -> None:
    one = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {}\n---\n"

    assert symbols(one.format("a") + one.format("b"), "yaml") == ["Pod/a", "Pod/b"]


def test_no_text_is_in_two_chunks() -> None:
    """Lesson 14."""
    source = "class A:\n" + "".join(function(f"f{n}", 3 * n, "    ") for n in range(1, 30))

    document, drafts = chunked(source)

    joined = "".join(document.text[draft.start : draft.end] for draft in drafts)
    assert "".join(joined.split()) == "".join(source.split())


def test_a_short_head_goes_with_its_first_member() -> None:
    """Heads within heads, too: by itself such a line says nothing."""
    source = "module A\n  class B\n" + "    def f\n" + "      a = 1\n" * 12 + "    end\n"
    source += "    def g\n" + "      a = 1\n" * 12 + "    end\n  end\nend\n"

    assert symbols(source, "ruby") == ["A.B, A.B.f", "A.B.g"]


def test_a_head_that_says_something_is_by_itself() -> None:
    source = "class A:\n" + "    x = 1\n" * 12 + "\n" + function("f", 30, "    ")

    assert symbols(source) == ["A", "A.f"]
