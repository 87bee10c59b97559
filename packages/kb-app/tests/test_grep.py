"""Exact text: which lines are shown, in which order, with what around them, and what is said."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from threading import Event
from time import process_time
from typing import Any

import pytest
from hypothesis import given, strategies as st
from jsonschema import Draft202012Validator

from kb_app._search import defining
from kb_app._search.defining import Found, MostLines
from kb_app._search.grep import grep
from kb_app._search.hits import Freshness
from kb_app.testing.facade import ScriptedKnowledgeBase
from kb_core import ids
from kb_core.citations import PageSpan, stored_span
from kb_core.errors import InvalidInput
from kb_core.ports import StoredDoc
from kb_core.records import ChunkRecord, DocumentRecord
from kb_core.search import GrepQuery, SearchFilters
from kb_core.testing import closed_schema
from kb_core.testing.documents import document
from kb_core.values import replace
from kb_search.patterns import Pattern, compile_pattern

CODE = "import os\n\n\n@cache\ndef walk(root):\n    return os.walk(root)\n\n\nwalk('.')\n"
UNIT = {
    "kind": "unit",
    "start": 11,
    "end": 66,
    "level": 1,
    "symbol": "walk",
    "symbol_kind": "function",
}
DOCS = (
    document("src/a.py", CODE, media="code", blocks=(UNIT,)),
    document("src/b.py", "from a import walk\n" + "walk()\n" * 5, media="code"),
    document("notes/walks.md", "# A walk\n\nWe walk.\n", tags=("outdoors",)),
    document("notes/other.md", "Nothing here.\n"),
)


def asked(*documents: DocumentRecord, **query: Any) -> dict[str, Any]:  # noqa: ANN401
    with ScriptedKnowledgeBase(*(documents or DOCS)) as kb:
        found = kb.grep(GrepQuery(**query))
    Draft202012Validator(closed_schema("grep_response")).validate(found)
    return {**found}


def shown(found: dict[str, Any]) -> list[tuple[str, list[int]]]:
    return [(f["doc_path"], [line["line"] for line in f["lines"]]) for f in found["files"]]


def test_of_many_lines_it_is_not_asked_what_all_of_them_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(*_: object) -> bytes:
        raise AssertionError

    monkeypatch.setattr(defining, "_said", refused)
    text = CODE + "walks = swims\n" * 400
    many = document("src/many.py", text, media="code", blocks=(UNIT,))

    (file,) = asked(many, pattern=r"w\w+k\b|w\w+s\b", case="exact", max_lines=3)["files"]

    first = file["lines"][0]
    assert (first["line"], first.get("is_definition")) == (5, True)


def test_the_file_that_defines_it_comes_first_then_those_with_most_lines() -> None:
    found = asked(pattern="walk", case="exact")

    assert shown(found) == [
        ("src/a.py", [5, 6, 9]),
        ("src/b.py", [1, 2, 3, 4, 5, 6]),
        ("notes/walks.md", [1, 3]),
    ]
    assert (found["total_files"], found["total_lines"], found["searched"]) == (3, 11, 4)
    assert (found["complete"], found["truncated"]) == (True, False)
    first = found["files"][0]["lines"][0]
    assert first == {
        "line": 5,
        "text": "def walk(root):",
        "is_match": True,
        "spans": [[4, 8]],
        "uri": "src/a.py#L5",
        "is_definition": True,
        "unit_end": 9,
    }
    assert "is_definition" not in found["files"][0]["lines"][1]


def test_tests_settings_and_changelogs_come_last() -> None:
    text = "token = 1\n" * 3
    found = asked(
        document("tests/test_a.py", f"def token():\n{text}"),
        document("token.toml", text, media="code", code_lang="toml"),
        document("src/a.py", "token\n"),
        document("CHANGELOG.md", f"# token\n\n{text}"),
        pattern="token",
    )

    assert [path for path, _ in shown(found)] == [
        *("src/a.py", "tests/test_a.py", "token.toml", "CHANGELOG.md")
    ]


def test_case_counts_where_the_pattern_has_a_capital() -> None:
    assert asked(pattern="we")["case"] == "ignore"
    assert shown(asked(pattern="We")) == [("notes/walks.md", [3])]
    assert asked(pattern="WALK")["files"] == []
    assert asked(pattern="WALK", case="ignore")["total_lines"] == 11
    assert asked(pattern="nothing", case="exact")["total_lines"] == 0


@pytest.mark.parametrize(
    ("pattern", "case"),
    [
        (r"\Shing\b|\p{Greek}o", "ignore"),
        ("(?P<Name>we)", "ignore"),
        ("(?<Name>we)", "ignore"),
        (r"\x77\x{65}", "ignore"),
        (r"\x57e", "exact"),
        (r"\x{57}e", "exact"),
        (r"\u0057e", "exact"),
        (r"\\Shing", "exact"),
        (r"\x{110000}", "ignore"),
    ],
)
def test_what_stands_for_a_capital_is_one_and_what_names_something_is_not(
    pattern: str, case: str
) -> None:
    assert GrepQuery(pattern=pattern).ignores_case == (case == "ignore")


@pytest.mark.parametrize(
    "pattern",
    [
        r"\p{Lu}{2}",
        r"\b\p{Lu}+\b",
        r"\p{gc=Lu}{2}",
        r"\p{General_Category=Lu}{2}",
        "[[:upper:]]{2}",
        r"\P{Ll}{2}o",
    ],
)
def test_a_set_of_letters_of_one_case_holds_those_alone(pattern: str) -> None:
    found = asked(document("a.md", "small words\nNO WORD\n12o\n"), pattern=pattern)

    assert found["case"] == "exact"
    assert shown(found) == [("a.md", [3] if pattern.endswith("o") else [2])]


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ({"paths": ("src",)}, {"src/a.py", "src/b.py"}),
        ({"paths": ("src/",)}, {"src/a.py", "src/b.py"}),
        ({"paths": (".\\src\\a.py",)}, {"src/a.py"}),
        ({"paths": ("a.py", "notes")}, {"src/a.py", "notes/walks.md"}),
        ({"paths": (".",)}, set()),
        ({"filters": SearchFilters(media=("markdown",))}, {"notes/walks.md"}),
        ({"filters": SearchFilters(tag=("outdoors",))}, {"notes/walks.md"}),
        ({"filters": SearchFilters(path_glob=("*.py",)), "paths": ("notes",)}, set()),
    ],
)
def test_paths_and_filters_narrow_it(query: dict[str, Any], paths: set[str]) -> None:
    found = asked(pattern="walk", **query)

    assert {file["doc_path"] for file in found["files"]} == paths


def test_a_path_or_a_filter_that_nothing_has_is_told() -> None:
    found = asked(pattern="walk", paths=("nowhere",), filters=SearchFilters(lang=("xx",)))

    assert found["total_files"] == 0
    assert "lang 'xx' is unknown" in found["warnings"][0]
    assert found["warnings"][1] == "path 'nowhere' holds nothing that is indexed"


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("lib/walks", "; did you mean 'lib/deep/walks' or 'src/walks'?"),
        ("src/deep/walks/", "; did you mean 'src/walks' or 'lib/deep/walks'?"),
        ("lib\\swims", "; did you mean 'lib'?"),
        ("lib/deep/walk", "; did you mean 'lib/deep/walks'?"),
        ("src/walks/aa.py", "; did you mean 'src/walks/a.py'?"),
        ("nowhere/at/all", ""),
    ],
)
def test_folders_that_a_path_may_mean_are_named(path: str, meant: str) -> None:
    files = [document(f"{name}/walks/a.py", CODE, media="code") for name in ("src", "lib/deep")]

    (said,) = asked(*files, pattern="walk", paths=(path,))["warnings"]

    assert said == f"path {path!r} holds nothing that is indexed{meant}"


LONG = document("long.txt", "".join(f"line {n}\n" for n in range(1, 101)), media="text")


@pytest.mark.parametrize(
    ("pattern", "context", "lines"),
    [
        ("line 50$", 2, [48, 49, 50, 51, 52]),
        ("line 1$", 2, [1, 2, 3]),
        ("line 100", 2, [98, 99, 100]),
        ("line (50|53)$", 2, [48, 49, 50, 51, 52, 53, 54, 55]),
        ("line (50|60)$", 1, [49, 50, 51, 59, 60, 61]),
    ],
)
def test_lines_around_are_shown_once(pattern: str, context: int, lines: list[int]) -> None:
    found = asked(LONG, pattern=pattern, context=context)

    assert shown(found) == [("long.txt", lines)]
    for line in found["files"][0]["lines"]:
        assert line["text"] == f"line {line['line']}"
        assert line["is_match"] == ("uri" in line)


counts = st.lists(st.integers(1, 60), min_size=1, max_size=8)


@given(counts=counts, most=st.integers(1, 120))
def test_of_many_lines_every_file_shows_some_and_all_are_counted(
    counts: list[int], most: int
) -> None:
    docs = [document(f"{at}.txt", "otter\n" * n, media="text") for at, n in enumerate(counts)]
    with ScriptedKnowledgeBase(*docs) as kb:
        found = kb.grep(GrepQuery(pattern="otter", max_lines=most))

    files = found["files"]
    lines = sum(len(file["lines"]) for file in files)
    assert (found["total_files"], found["total_lines"]) == (len(counts), sum(counts))
    assert lines == min(most, sum(counts)) or lines <= most
    assert all(file["lines"] for file in files)
    assert all(file["matches"] == len(file["lines"]) + file["omitted"] for file in files)
    assert [file["matches"] for file in files] == sorted(counts, reverse=True)[: len(files)]
    assert found["truncated"] == (lines < sum(counts))
    if sum(counts) <= most:
        assert lines == sum(counts)


def test_of_all_texts_that_match_those_with_most_lines_are_kept() -> None:
    """Over 460 MB a common word left the server with 500 MB of texts that it would not show."""
    lines = {key: key % 7 for key in range(50)}
    pattern = compile_pattern("walk", word=True)

    def of(data: bytes) -> MostLines:
        made = (Found(data, "ascii", (key, 0, len(data)), [0], n) for key, n in lines.items())
        return MostLines(4, made, pattern)

    found = of(b" walk(now)\n")
    assert (found.files, found.lines) == (50, sum(lines.values()))
    assert [each.doc_key for each in found.kept] == [6, 13, 20, 27]
    for other in (b"walk(now);", b"int a(walk *b)", b"// walk on"):
        assert len(of(other).kept) == 4
    for head in (
        b"walk(int a)",
        b"struct walk {",
        b"class walk extends A {",
        b"struct walk\n{",
        b"walk = (",
    ):
        assert [each.doc_key for each in of(head).kept] == [6, 13, 20, 27, 34, 41, 48, 5]


def test_of_texts_that_are_long_fewer_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(defining, "_ROOM", 100_000)
    data = b" walk(now)\n" * 10
    pattern = compile_pattern("walk", word=True)
    made = (Found(data, "ascii", (key, 0, len(data)), [0], 10) for key in range(2_000))

    found = MostLines(2_000, made, pattern)

    assert (found.files, found.lines) == (2_000, 20_000)
    assert 200 <= len(found.kept) < 1_000


@pytest.mark.parametrize(("query", "most"), [({"max_lines": 250}, 250), ({"max_lines": 260}, 258)])
def test_as_many_files_are_shown_as_lines_are_asked_for(query: dict[str, Any], most: int) -> None:
    found = asked(*(document(f"{n}.md", "a walk\n") for n in range(258)), pattern="walk", **query)

    assert len(found["files"]) == most
    assert found["truncated"] == (most < 258)


def test_what_is_defined_where_few_lines_have_it_is_shown_however_many_files_do() -> None:
    uses = [document(f"src/{n}.c", "  walk(1);\n  walk(2);\n", media="code") for n in range(260)]
    body = "walk(int a)\n{\n  return a;\n}\n"
    unit = {**UNIT, "start": 0, "end": len(body) - 1}
    found = asked(*uses, document("src/w.c", body, media="code", blocks=(unit,)), pattern="walk")

    assert found["total_files"] == 261
    assert shown(found)[0] == ("src/w.c", [1])


def test_files_are_asked_what_they_define_until_those_that_are_shown_are_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked_of: list[str] = []

    def noted(found: Found, doc: StoredDoc, pattern: Pattern) -> Iterator[tuple[int, int]]:
        asked_of.append(doc["path"])
        yield from defining.given(found, doc, pattern)

    monkeypatch.setattr("kb_app._search.grep.given", noted)
    docs = (
        document(f"{folder}/{n}.py", "walk()\n" * (9 - n) + "walk = 1\n", media="code")
        for folder in ("src", "tests")
        for n in range(9)
    )
    found = asked(
        *docs, document("src/z.py", "walk()\n" * 20, media="code"), pattern="walk", max_lines=3
    )

    assert [path for path, _ in shown(found)] == ["src/0.py", "src/1.py", "src/2.py"]
    assert asked_of == ["src/z.py", "src/0.py", "src/1.py", "src/2.py"]


def test_only_symbols_named_in_lines_that_match_are_looked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names: list[bytes] = []

    def noted(data: bytes, name: bytes, start: int) -> int:
        names.append(name)
        return data.find(name, start)

    monkeypatch.setattr(defining, "_name_of", noted)
    text = "def other(): pass\ndef walk(): pass\n" + "walk(1)\n" * 150
    units = tuple(
        {**UNIT, "symbol": name, "start": start, "end": start + 17}
        for name, start in (("other", 0), ("walk", 18))
    )
    asked(document("a.py", text, media="code", blocks=units), pattern=r"wal\w+")

    assert names == [b"walk"]


def test_names_alone_come_with_counts() -> None:
    found = asked(pattern="walk", files_only=True)

    rows = [(f["doc_path"], f["matches"], f["lines"]) for f in found["files"]]
    assert rows == [("src/a.py", 3, []), ("src/b.py", 6, []), ("notes/walks.md", 2, [])]
    assert found["truncated"] is False


def test_a_definition_is_shown_however_late_it_stands() -> None:
    text = "walk()\n" * 50 + "def walk(): pass\n"
    unit = {**UNIT, "start": 350, "end": len(text)}
    found = asked(document("a.py", text, media="code", blocks=(unit,)), pattern="walk", max_lines=3)

    assert shown(found) == [("a.py", [1, 2, 51])]


def test_a_generator_is_defined_where_it_begins_and_not_where_it_is_called() -> None:
    """Its line was taken for one of a comment, for the star."""
    text = "class A {\n  *walk() {\n  }\n  run() {\n    this.walk();\n  }\n}\n"
    start, end = text.index("  *walk"), text.index("  run")
    unit = {"kind": "unit", "level": 2, "symbol": "A.walk", "symbol_kind": "method"}
    code = document("a.js", text, media="code", blocks=(unit | {"start": start, "end": end},))

    (found,) = asked(code, pattern="walk")["files"]

    assert [line["line"] for line in found["lines"] if line.get("is_definition")] == [2]


def test_code_that_defines_a_name_comes_before_a_page_with_a_heading_that_has_it() -> None:
    text = "# The walk\n\n" + "A walk, and a walk again.\n" * 9
    heading = {"kind": "heading", "level": 1, "heading_path": ["The walk"], "start": 0, "end": 10}
    page = document("a.md", text, blocks=(heading,))

    found = asked(page, DOCS[0], pattern="walk")

    assert found["files"][0]["doc_path"] == DOCS[0].path
    assert found["files"][1]["lines"][0].get("is_definition")


@pytest.mark.parametrize(
    ("pattern", "is_one"), [("walk", True), ("def walk", True), ("wal", False), ("def", False)]
)
def test_a_part_of_a_name_is_no_definition(pattern: str, is_one: bool) -> None:
    found = asked(DOCS[0], pattern=pattern)

    (line,) = (each for each in found["files"][0]["lines"] if each["line"] == 5)
    assert ("is_definition" in line) is is_one


@pytest.mark.parametrize(
    ("line", "is_one"),
    [
        ("WALK = 3", True),
        ("export const walk: number = 3;", True),
        ("#define WALK(x) (x)", True),
        ("#  define WALK 3", True),
        ("define( 'WALK', '3' );", True),
        ("    public static readonly int Walk = 3;", True),
        ("    const val walk = 3", True),
        ("\tprivate const int walk = 3;", True),
        ("  function walk (from) {", True),
        ("    export default async function walk() {", True),
        ("    pub fn walk(&self) {", True),
        ("call the function walk()", False),
        ("#if defined(WALK)", False),
        ("walks = 3", False),
        ("run = walk", False),
        ("walk == 3", False),
        ("    walk = 3", False),
        ("walk(speed=3)", False),
        ("    class walk(Base):", True),
        ("    class walk {", True),
        ("    class walk is no class", False),
    ],
)
def test_what_gives_a_name_a_value_or_begins_a_function_is_a_definition(
    line: str, is_one: bool
) -> None:
    (found,) = asked(document("a.ts", f"{line}\n", media="code"), pattern="walk")["files"]
    (prose,) = asked(document("a.txt", f"{line}\n", media="text"), pattern="walk")["files"]

    assert ["is_definition" in each for each in found["lines"]] == [is_one]
    assert "is_definition" not in prose["lines"][0]


@pytest.mark.parametrize(
    ("line", "is_one"),
    [
        ("  MOST_WALKS = 3", True),
        ("      MOST_WALKS = 3,", True),
        ("  most(MOST_WALKS = 3)", False),
        ("    MOST_WALKS=3,", False),
        ("    MOST_WALKS == 3", False),
    ],
)
def test_a_constant_that_is_set_in_is_a_definition(line: str, is_one: bool) -> None:
    """Of a class of Ruby or Python, of an enum of C: it came after its uses."""
    code = document("a.rb", f"class Walk\n{line}\nend\n", media="code")

    (found,) = asked(code, pattern="MOST_WALKS")["files"]

    assert ["is_definition" in each for each in found["lines"]] == [is_one]


@pytest.mark.parametrize(
    ("line", "is_one"),
    [('option(WALK "Go out." ON)', True), ("set(WALK ON)", True), ("if(WALK)", False)],
)
def test_an_option_of_cmake_is_defined_where_it_has_its_default(line: str, is_one: bool) -> None:
    doc = replace(document("CMakeLists.txt", f"{line}\n", media="code"), code_lang="cmake")
    (found,) = asked(doc, pattern="WALK")["files"]

    assert ["is_definition" in each for each in found["lines"]] == [is_one]
    uses = document("a.c", "#ifdef WALK\n#ifndef WALK\n", media="code")
    (first, *_) = asked(uses, doc, pattern="WALK")["files"]
    assert first["doc_path"] == ("CMakeLists.txt" if is_one else "a.c")


@pytest.mark.parametrize("before", ["", "# 한국어 été\n"])
def test_a_line_that_defines_says_where_that_ends(before: str) -> None:
    code = f"{before}@cache\ndef walk(root):\n    # 걷다 été\n    return root\n\n\nwalk(1)\n"
    unit = {**UNIT, "start": len(before), "end": code.index("walk(1)")}
    found = asked(document("a.py", code, media="code", blocks=(unit,)), pattern="walk")

    first, other = found["files"][0]["lines"]
    lines = code.splitlines()
    assert lines[first["unit_end"] - 1] == "    return root"
    assert "unit_end" not in other


@pytest.mark.parametrize("pattern", ["^class ", "Den", "size"])
@pytest.mark.parametrize("before", ["", "# 한국어 été\n"])
def test_a_line_of_a_class_says_where_its_last_member_ends(before: str, pattern: str) -> None:
    own = "class Den:\n    size = 1\n\n    def dig(self):\n        pass\n"
    code = f"{before}{own}\n\ndef rest(): pass\n"
    starts = [code.index(name) for name in ("class Den", "    def dig", "def rest")]
    blocks = [
        {**UNIT, "start": start, "end": end, "symbol": symbol}
        for start, end, symbol in zip(
            starts, [*starts[1:], len(code)], ("Den", "Den.dig", "rest"), strict=True
        )
    ]
    found = asked(document("a.py", code, media="code", blocks=tuple(blocks)), pattern=pattern)

    (line,) = found["files"][0]["lines"]
    assert line["unit_end"] == code[: code.index("pass")].count("\n") + 1


@pytest.mark.parametrize("before", ["", "# 한국어 été\n"])
def test_a_line_of_code_says_in_what_it_stands(before: str) -> None:
    code = (
        f"{before}def walk(root):\n    x = root\n    def step(root):\n        # 걷다\n"
        "        return root\n    return step(root)\n\n\nroot = 1\n"
    )
    inner = code.index("    def step") + 4, code.index("    return step")
    units = [
        {**UNIT, "start": len(before), "end": code.index("\n\nroot")},
        {**UNIT, "start": inner[0], "end": inner[1], "symbol": "walk.step"},
    ]
    found = asked(document("a.py", code, media="code", blocks=tuple(units)), pattern="root")

    lines = found["files"][0]["lines"]
    first = code[: len(before)].count("\n")
    told = [(one["line"] - first, one.get("unit"), one.get("unit_start", 0)) for one in lines]
    assert told == [
        (1, "walk", first + 1),
        (2, "walk", first + 1),
        (3, "walk.step", first + 3),
        (5, "walk.step", first + 3),
        (6, "walk", first + 1),
        (9, None, 0),
    ]
    assert {one["unit_end"] - first for one in lines if one.get("unit") == "walk.step"} == {5}
    prose = asked(document("a.txt", code, media="text", blocks=tuple(units)), pattern="root")
    assert not any("unit" in line for line in prose["files"][0]["lines"])


def test_each_alternative_has_a_line_of_a_file_before_one_has_its_second() -> None:
    text = "".join(f"walk{n}\n" for n in range(50)) + "swim\n" + "rest here\n" * 2
    found = asked(document("a.py", text, media="code"), pattern=r"walk\d+|rest|swim", max_lines=4)

    lines = found["files"][0]["lines"]
    assert [line["text"] for line in lines] == ["walk0", "walk1", "swim", "rest here"]
    assert [line["alternatives"] for line in lines] == [[0], [0], [2], [1]]


def test_what_a_document_defines_is_known_anew_where_it_was_read_anew() -> None:
    text = "# walk\n\ndef walk(root):\n    return root\n\nwalk('.')\n"
    units = [{**UNIT, "start": text.index("def"), "end": len(text) - 11}, None]

    told = [
        asked(document("a.x", text, media="code", blocks=(unit,) if unit else ()), pattern="walk")
        for unit in units
    ]

    lines = [
        [line.get("is_definition", False) for line in one["files"][0]["lines"]] for one in told
    ]
    assert lines == [[False, True, False], [False, False, False]]


def test_names_of_more_documents_than_there_is_room_for_are_let_go_of() -> None:
    names = defining._Names(2)
    docs: list[Any] = [
        {"source_id": "s", "doc_id": str(n), "blocks": [{"symbol": f"a.b{n}"}]} for n in range(5)
    ]

    for n, doc in [*enumerate(docs), *enumerate(docs)]:
        assert [name for _, name in names.of(doc)] == [f"b{n}"]
        assert len(names._of) <= 2


def test_each_alternative_is_told_at_least_once_however_often_others_match() -> None:
    many = [document(f"src/{n:02}.py", "walk\n" * 9, media="code") for n in range(9)]
    rest = "walk\n" * 5 + "rest\n" + "def swim():\n"
    few = document("tests/z.py", rest, media="code"), document("z.md", "walk\nfloat\nrest\n")

    found = asked(*many, *few, pattern="walk|rest|swim|float|nowhere", max_lines=6)

    first, *others = shown(found)
    assert (first, others[:2]) == (("src/00.py", [1]), [("z.md", [2, 3]), ("tests/z.py", [7])])
    assert others[2:] == [("src/01.py", [1]), ("src/02.py", [1])]
    assert (found["total_files"], found["total_lines"]) == (11, 91)
    narrow = asked(*many, *few, pattern="walk|rest|swim|float", max_lines=1)
    assert shown(narrow) == [("src/00.py", [1])]


def test_of_an_alternative_the_line_that_defines_it_is_told_before_one_before_it() -> None:
    text = "swim()\nwalk()\nwalk = swim\n" + "walk()\n" * 9

    found = asked(document("a.py", text, media="code"), pattern="walk|swim", max_lines=2)

    assert shown(found) == [("a.py", [1, 3])]


def test_files_that_are_shown_with_few_lines_take_turns_with_the_alternatives() -> None:
    many = [document(f"{n}.md", "walk\nwalk\nswim\n") for n in range(3)]

    found = asked(*many, pattern="walk|swim", max_lines=3)

    assert [lines for _, lines in shown(found)] == [[1, 3], [1]]


@pytest.mark.parametrize("path", ["src/*.py", "s?c/a.py", "./src/**", "**/a.py"])
def test_a_path_that_is_no_file_is_a_glob(path: str) -> None:
    found = asked(pattern="def walk", paths=(path,))

    assert [file["doc_path"] for file in found["files"]] == ["src/a.py"]
    assert "warnings" not in found


@pytest.mark.parametrize("path", ["größe", "größe/ä.md", "ä.md"])
def test_a_path_is_itself_in_either_of_its_spellings(path: str) -> None:
    spelled = unicodedata.normalize("NFD", path)
    found = asked(document("größe/ä.md", "we walk\n"), pattern="walk", paths=(spelled,))

    assert [file["doc_path"] for file in found["files"]] == ["größe/ä.md"]


@pytest.mark.parametrize("path", ["[id", "app/[id", "[id/", "[id/a*b.md"])
def test_a_path_with_the_characters_of_a_pattern_is_itself(path: str) -> None:
    found = asked(document("app/[id/a*b.md", "we walk\n"), pattern="walk", paths=(path,))

    assert [file["doc_path"] for file in found["files"]] == ["app/[id/a*b.md"]


def test_a_line_that_matches_several_alternatives_comes_before_one_that_matches_one() -> None:
    text = "".join(f"walk {n}\n" for n in range(9)) + "walk or swim\n"
    found = asked(document("a.py", text, media="code"), pattern="walk|swim", max_lines=2)

    (line, both) = found["files"][0]["lines"]
    assert (line["text"], both["text"], both["alternatives"]) == ("walk 0", "walk or swim", [0, 1])


@pytest.mark.parametrize(
    ("pattern", "is_said"),
    [(r"été\b.*x", True), (r"\w+\b.*x", True), (r"\bfox\b|fox\b.*x", False), (r"\bété", False)],
)
def test_an_edge_that_may_miss_letters_is_named_and_no_other(pattern: str, is_said: bool) -> None:
    found = asked(document("a.py", "été fox x\n", media="code"), pattern=pattern)

    assert ("warnings" in found) is is_said


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [(r"\bकी\b", [1]), (r"\w+ली\b", [2]), (r"বই\w*", [3]), (r"\bबक\b", []), (r"ली\B", [])],
)
def test_words_of_scripts_with_vowels_beside_letters_have_their_edges(
    pattern: str, lines: list[int]
) -> None:
    found = asked(document("a.md", "हिन्दी की\nदिल्ली।\nবইগুলো\nबकरी\n"), pattern=pattern)

    assert [line["line"] for file in found["files"] for line in file["lines"]] == lines
    assert not found.get("warnings")


def test_a_heading_is_found_as_one_and_so_is_a_symbol_after_other_letters() -> None:
    text = "한국어 été\n\n# The walk\n\nwalk\n"
    start = text.index("#")
    heading = {"kind": "heading", "start": start, "end": start + 10, "heading_path": ["The walk"]}
    found = asked(document("a.md", text, blocks=(heading,)), pattern="walk")

    assert [line.get("is_definition") for line in found["files"][0]["lines"]] == [True, None]


def test_a_line_of_pages_is_cited_by_its_page() -> None:
    text = "한국어 first\n\nsecond page\n"
    at = text.index("second")
    chunks = tuple(
        ChunkRecord(
            chunk_id=ids.text_hash(str(n)),
            ordinal=n,
            start=start,
            end=end,
            text=text[start:end],
            line_start=1,
            line_end=1,
            token_count=1,
            span=stored_span(PageSpan(n + 1)),
            context="",
            passage_hash=ids.text_hash(text[start:end]),
        )
        for n, (start, end) in enumerate(((0, at - 2), (at, len(text))))
    )
    found = asked(document("a.pdf", text, media="pdf", chunks=chunks), pattern="first|second")

    uris = [line["uri"] for line in found["files"][0]["lines"]]
    assert uris == ["a.pdf#page=1", "a.pdf#page=2"]


def test_many_headings_of_a_long_text_in_another_script_take_no_longer() -> None:
    """Each character of it is counted once, not once for each heading."""
    text = "".join(f"# 검색 {n}\n\n한국어 문장\n\n" for n in range(20_000))
    heads, at = [], 0
    for line in text.splitlines(keepends=True):
        if line.startswith("#"):
            end = at + len(line) - 1
            heads.append({"kind": "heading", "start": at, "end": end, "heading_path": [line[2:-1]]})
        at += len(line)
    doc = document("a.md", text, blocks=tuple(heads), chunks=())
    with ScriptedKnowledgeBase(doc) as kb:
        began = process_time()
        found = kb.grep(GrepQuery(pattern="검색 19"))
        spent = process_time() - began

    assert spent < 5
    lines = found["files"][0]["lines"]
    assert all(line.get("is_definition") for line in lines)


def test_of_a_long_line_the_part_around_the_match_is_shown() -> None:
    text = "x" * 5_000 + "otter" + "y" * 5_000 + "\n"
    (line,) = asked(document("a.js", text, media="code"), pattern="otter")["files"][0]["lines"]
    left, right = line["spans"][0]

    assert (line["cut"], len(line["text"])) == (True, 400)
    assert line["text"][left:right] == "otter"


@pytest.mark.parametrize(
    "text",
    ["", "\n", "\0otter\0\n", "\ufffdotter\udc80\n", "otter\r\nx\u2028otter", "e\u0301 otter"],
)
def test_damaged_texts_are_looked_through_like_others(text: str) -> None:
    found = asked(document("a.txt", text, media="text", chunks=()), pattern="otter", context=1)

    lines = text.split("\n")
    matching = [n for n, line in enumerate(lines, start=1) if "otter" in line]
    matched = [li["line"] for f in found["files"] for li in f["lines"] if li["is_match"]]
    assert matched == matching


def test_when_time_is_up_it_says_how_far_it_came() -> None:
    with ScriptedKnowledgeBase(*DOCS) as kb:
        snapshot = kb.index.snapshot()
        fresh = Freshness(snapshot, now=0, threshold_days=0)
        found = grep(snapshot, GrepQuery(pattern="walk"), fresh, seconds=-1)
        stop = Event()
        stop.set()
        stopped = grep(snapshot, GrepQuery(pattern="walk"), fresh, stop=stop)

    Draft202012Validator(closed_schema("grep_response")).validate(found)
    assert found["complete"] is False
    assert found["warnings"][0].startswith("time was up after 0 of 4 documents")
    assert stopped == found


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"pattern": "("}, "pattern"),
        ({"pattern": "a", "context": 51}, "context"),
        ({"pattern": "a", "max_lines": 0}, "max_lines"),
        ({"pattern": "a", "case": "upper"}, "case"),
        ({"pattern": "a", "paths": ("x" * 400,)}, "path"),
    ],
)
def test_bad_input_is_refused_by_name(query: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        asked(**query)

    assert caught.value.details["field"] == field


COMMENTED = {
    "c": ("/*\n * walk - visits all\n", " */\nint\nwalk(int root)\n{\n  return walk(0);\n}"),
    "go": ("const (\n\t// walk visits all.\n", "\twalk = 1\n\tother = 2\n)"),
    "python": ("# walk visits all.\n", "@cache\ndef walk(root):\n    return walk(0)"),
    "elixir": ('@doc """\nwalk/1 visits all.\n', '"""\ndef walk(root) do\n  walk(0)\nend'),
    "perl": ("=head2 walk\n", "\n=cut\n\nsub walk {\n  walk(0);\n}"),
}


@pytest.mark.parametrize("code_lang", COMMENTED)
@pytest.mark.parametrize("remark", ["", "Says what it does, at length.\n" * 100])
def test_what_defines_a_name_is_not_the_comment_on_it(code_lang: str, remark: str) -> None:
    mark = {"python": "# ", "go": "\t// "}.get(code_lang, "")
    begin, code = COMMENTED[code_lang]
    text = begin + "".join(mark + line for line in remark.splitlines(keepends=True)) + code
    unit = {**UNIT, "start": 0, "end": len(text)}

    found = asked(document("src/a", text, media="code", blocks=(unit,)), pattern="walk")

    (line,) = [line for line in found["files"][0]["lines"] if line.get("is_definition")]
    assert line["text"] in {
        *("walk(int root)", "def walk(root):", "def walk(root) do", "sub walk {", "\twalk = 1")
    }
    assert line["unit_end"] == text.count("\n") + 1
