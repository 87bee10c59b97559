"""Fetching by place: lines, citations and chunks as they are printed, several at once, outlines."""

from __future__ import annotations

from typing import Any, TypeAlias

import pytest
from hypothesis import given, strategies as st
from jsonschema import Draft202012Validator

from kb_app._outlines import Entry, entries_of, symbols_of
from kb_app.testing.facade import ScriptedKnowledgeBase
from kb_core import ids
from kb_core.citations import PageSpan, stored_span
from kb_core.errors import ChunkNotFound, DocNotFound, InvalidInput, KbError, SpanNotSupported
from kb_core.records import ChunkRecord, DocumentRecord, FileState
from kb_core.search import GrepQuery
from kb_core.testing import closed_schema
from kb_core.testing.documents import document, file_row, publication
from kb_core.testing.fakes import MemoryIndex
from kb_core.text import LineIndex

Place: TypeAlias = Any

TEXT = "".join(f"line {n}\n" for n in range(1, 31))
DOC = document("notes/a.md", TEXT)
OTHER = document("src/b.py", "def f():\n    return 1\n\n\ndef g():\n    return 2\n", media="code")


def lines(first: int, last: int) -> str:
    return "".join(f"line {n}\n" for n in range(first, last + 1))


def chunks(text: str, ranges: list[tuple[int, int]], *spans: PageSpan) -> tuple[ChunkRecord, ...]:
    index = LineIndex(text)
    made = []
    for at, (start, end) in enumerate(ranges):
        first, last = index.lines_of(start, end)
        made.append(
            ChunkRecord(
                chunk_id=ids.text_hash(f"{at} {text}"),
                ordinal=at,
                start=start,
                end=end,
                text=text[start:end],
                line_start=first,
                line_end=last,
                token_count=1,
                span=stored_span(spans[at]) if spans else None,
                context="",
                passage_hash=ids.text_hash(text[start:end]),
            )
        )
    return tuple(made)


def kb_of(*documents: DocumentRecord) -> ScriptedKnowledgeBase:
    return ScriptedKnowledgeBase(*(documents or (DOC, OTHER)))


@pytest.mark.parametrize(
    ("place", "text", "asked"),
    [
        ("notes/a.md:3", lines(3, 3), (3, 3)),
        ("a.md:3-5", lines(3, 5), (3, 5)),
        ("notes/a.md#L3-L5", lines(3, 5), (3, 5)),
        ({"citation": "notes/a.md#L3-L5"}, lines(3, 5), (3, 5)),
        ({"citation": "a.md:3-5"}, lines(3, 5), (3, 5)),
        ({"path": "notes/a.md", "lines": "3-5"}, lines(3, 5), (3, 5)),
        ({"path": "a.md", "lines": "L3-L5"}, lines(3, 5), (3, 5)),
        ({"path": "a.md", "lines": "29-"}, lines(29, 30), (29, 30)),
        ({"path": "a.md", "lines": 7}, lines(7, 7), (7, 7)),
        ({"path": "a.md", "lines": [7, 9]}, lines(7, 9), (7, 9)),
        ({"path": "a.md:20", "lines": "7"}, lines(7, 7), (7, 7)),
        ({"path": DOC.doc_id[:8], "lines": "7", "chunk": None}, lines(7, 7), (7, 7)),
        ({"path": "a.md", "lines": "40-50"}, "", (40, 50)),
    ],
)
def test_lines_are_fetched_by_whatever_says_them(
    place: Place, text: str, asked: tuple[int, int]
) -> None:
    with kb_of() as kb:
        found = kb.fetch(place)

    assert (found["kind"], found["text"]) == ("span", text)
    assert (found["line_start"], found["line_end"]) == asked


def test_a_path_alone_is_the_document() -> None:
    with kb_of() as kb:
        assert kb.fetch("src/b.py") == kb.fetch_doc(OTHER.doc_id)
        assert kb.fetch({"path": "b.py"}, max_tokens=3) == kb.fetch_doc("b.py", max_tokens=3)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ({}, "a place is one of path, citation and chunk, not none"),
        ({"path": "a", "chunk": "b"}, "a place is one of path, citation and chunk"),
        ({"paht": "a"}, "unknown parameter 'paht' of a place"),
        ({"path": "a.md", "lines": "x"}, "lines 'x' is not lines such as '40-80'"),
        ({"path": "a.md", "lines": True}, "lines true is not lines such as"),
        ({"path": "a.md", "lines": "5-3"}, "lines 5 to 3 are not a span"),
        ({"path": "a.md", "lines": "0"}, "lines 0 to 0 are not a span"),
        ("a.md:0", "lines 0 to 0 are not a span"),
        ("notes/a.md:0-3", "lines 0 to 3 are not a span"),
        ({"citation": "a.md:5-3"}, "lines 5 to 3 are not a span"),
        ({"path": "a.md", "context": 1}, "'context' goes with 'chunk', not with 'path'"),
        ({"citation": "a.md#L3", "lines": "3"}, "'lines' goes with 'path', not with 'citation'"),
        ({"chunk": "a.md:1", "context": -1}, "context -1 is not a whole number from 0"),
        ({"path": 7}, "path 7 is not a text"),
        ({"path": " "}, "the document is missing"),
        (7, "place 7 is not a text such as 'notes/a.md:12-30', or an object"),
    ],
)
def test_a_place_that_is_none_is_refused_by_name(place: Place, message: str) -> None:
    with kb_of() as kb, pytest.raises(InvalidInput, match=message.replace("(", r"\(")):
        kb.fetch(place)


def test_several_lines_of_one_place_are_refused_with_the_way_out() -> None:
    with kb_of(document("a.md", HEADED)) as kb, pytest.raises(InvalidInput) as caught:
        kb.fetch({"path": "a.md", "lines": "1-2,5-7"})

    assert "as places" in (caught.value.hint or "")


def test_lines_that_cannot_be_are_told_with_those_that_there_are() -> None:
    for place in ("a.md:0-3", {"path": "a.md", "lines": "0-3"}):
        with kb_of() as kb, pytest.raises(InvalidInput) as caught:
            kb.fetch(place)
        assert "lines count from 1" in str(caught.value.hint)
        assert str(caught.value.hint).endswith("'notes/a.md' has 30 lines")


def test_a_place_that_nothing_has_is_not_found() -> None:
    with kb_of() as kb:
        with pytest.raises(DocNotFound):
            kb.fetch("nowhere.md:3")
        with pytest.raises(DocNotFound):
            kb.fetch({"path": "nowhere.md", "lines": "3"})
        with pytest.raises(ChunkNotFound):
            kb.fetch({"chunk": "0" * 32})


def _parted(media: str, *spans: PageSpan) -> DocumentRecord:
    """Return a document of five chunks of seven lines, which overlap by one."""
    ranges = [(len(lines(1, n)), len(lines(1, min(n + 7, 30)))) for n in range(0, 30, 6)]
    return document("c", TEXT, media=media, chunks=chunks(TEXT, ranges, *spans))


@given(at=st.integers(0, 4), context=st.integers(0, 6))
def test_a_chunk_and_its_neighbours_are_one_text_that_stands_in_the_file(
    at: int, context: int
) -> None:
    doc = _parted("text")
    with kb_of(doc) as kb:
        found = kb.fetch({"chunk": doc.chunks[at].chunk_id, "context": context})
        by_id = kb.fetch_chunk(doc.chunks[at].chunk_id, context=context)
        again = kb.fetch_span(doc.doc_id, found["line_start"], found["line_end"])

    parts = [*by_id["context_before"], by_id["chunk"], *by_id["context_after"]]
    assert found["kind"] == "span"
    assert found["text"] == TEXT[parts[0]["char_start"] : parts[-1]["char_end"]]
    assert again == found


def test_neighbours_of_what_has_no_lines_are_one_text_too() -> None:
    doc = _parted("pdf", *[PageSpan(3)] * 5)
    with kb_of(doc) as kb:
        found = kb.fetch({"chunk": doc.chunks[1].chunk_id, "context": 1})
        cut = kb.fetch({"chunk": doc.chunks[1].chunk_id, "context": 1}, max_tokens=10)
        with pytest.raises(SpanNotSupported, match="has no lines"):
            kb.fetch({"path": "c", "lines": "3-4"})

    Draft202012Validator(closed_schema("fetch_result")).validate(found)
    assert (found["text"], found["context_before"]) == (lines(1, 19), [])
    assert (cut["truncated"], len(cut["text"]) <= 40) == (True, True)


def test_several_places_answer_in_their_order_and_a_failure_stays_with_its_place() -> None:
    places: list[Place] = [
        "a.md:3",
        {"path": "nowhere.md"},
        {"path": "b.py", "lines": "1-2"},
        {"x": 1},
    ]
    with kb_of() as kb:
        found = kb.fetch_many(places)
        alone = kb.fetch(places[2])

    Draft202012Validator(closed_schema("fetch_results")).validate(found)
    assert [one["place"] for one in found["results"]] == places
    codes = [one["error"] and one["error"]["code"] for one in found["results"]]
    assert codes == [None, "doc_not_found", None, "invalid_input"]
    assert found["results"][2]["result"] == alone
    assert found["truncated"] is False


def test_several_places_are_at_least_one_and_at_most_a_hundred() -> None:
    with kb_of() as kb:
        with pytest.raises(InvalidInput, match="there is no place"):
            kb.fetch_many([])
        with pytest.raises(InvalidInput, match="max 100 items"):
            kb.fetch_many(["a.md"] * 101)


@given(sizes=st.lists(st.integers(0, 400), min_size=1, max_size=6), max_tokens=st.integers(1, 300))
def test_a_shared_budget_is_never_exceeded_and_what_needs_less_is_whole(
    sizes: list[int], max_tokens: int
) -> None:
    docs = [document(f"{at}.txt", "x" * size, media="text") for at, size in enumerate(sizes)]
    with kb_of(*docs) as kb:
        found = kb.fetch_many([doc.path for doc in docs], max_tokens=max_tokens)

    lengths = [len(one["result"]["text"]) for one in found["results"] if one["result"]]
    budget = 4 * max_tokens
    assert sum(lengths) <= max(budget, 4 * len(sizes))
    for size, length in zip(sizes, lengths, strict=True):
        assert length == size or length >= min(size, budget // len(sizes) // 4 * 4)
    assert found["truncated"] == (lengths != sizes)
    if sum(sizes) <= budget:
        assert lengths == sizes


CODE = "class A:\n    x = 1\n\n    def f(self):\n        return 1\n\n\ndef g():\n    pass\n"


def _unit(
    start: str, end: str, symbol: str, level: int, kind: str = "function", code: str = CODE
) -> dict[str, Any]:
    first = code.index(start)
    last = code.index(end) + len(end)
    found = {"kind": "unit", "start": first, "end": last, "level": level}
    return found | {"symbol": symbol, "symbol_kind": kind}


PARTS = (
    _unit("class A", "x = 1", "A", 1, "class"),
    _unit("    def f", "return 1", "A.f", 2),
    _unit("def g", "pass", "g", 1),
)


def test_an_outline_says_the_lines_of_symbols_and_of_all_inside_them() -> None:
    doc = document("a.py", CODE, media="code", blocks=PARTS)
    with kb_of(doc) as kb:
        found = kb.outline("a.py")

    Draft202012Validator(closed_schema("outline")).validate(found)
    assert found["lines"] == 9
    assert found["entries"] == [
        {"level": 1, "name": "A", "kind": "class", "line_start": 1, "line_end": 5},
        {"level": 2, "name": "f", "kind": "function", "line_start": 4, "line_end": 5},
        {"level": 1, "name": "g", "kind": "function", "line_start": 8, "line_end": 9},
    ]


CONSTANTS = f"""\
import os
__all__ = ["A"]
MOST = 40
NAMES = [
    "one",
]
most == 1
const late = require("late")
{CODE}export const LAST = 3
MOST = 50
"""


def test_an_outline_names_constants_at_the_margin_once() -> None:
    unit = _unit("class A", "return 1", "A", 1, "class", CONSTANTS)
    doc = document("a.py", CONSTANTS, media="code", blocks=(unit,))
    with kb_of(doc, document("b.txt", CONSTANTS, media="text")) as kb:
        entries = kb.outline("a.py")["entries"]
        assert kb.outline("b.txt")["entries"] == []

    told = [(one["name"], one.get("kind"), one["line_start"], one["line_end"]) for one in entries]
    assert told == [
        ("MOST", "constant", 3, 3),
        ("NAMES", "constant", 4, 6),
        ("A", "class", 9, 13),
        ("f", "function", 12, 13),
        ("LAST", "constant", 18, 18),
    ]


NESTED = """\
@wraps
def serve(app):
    async def dig(n):
        def deeper():
            pass
        return n
    function swim () {
      return 1
    }
    def __repr__():
        pass


class Otter:
    @property
    def den(self):
        return 1
"""


@pytest.mark.parametrize(
    ("opens", "closes"),
    [('"""', '"""'), ("'''", "'''.strip()"), ("`", "`;"), ("<<~EOS", "EOS"), ("<<<'EOS'", "EOS;")],
)
def test_a_constant_reaches_as_far_as_its_text(opens: str, closes: str) -> None:
    """What stands in that is no constant."""
    last = "LAST = 3 << MOST  # `x\nMOST\n`\n"
    text = f"SCRIPT = {opens}\nlocal key = 2\n\nreturn key\n{closes}\n{last}"
    with kb_of(document("a.py", text, media="code")) as kb:
        names = {one["name"]: one["line_end"] for one in kb.outline("a.py")["entries"]}
        found = kb.fetch("a.py#SCRIPT")

    assert names == {"SCRIPT": 5, "LAST": 6}
    assert found["text"].startswith("SCRIPT = ")
    assert found["text"].rstrip().endswith(closes)


@pytest.mark.parametrize(
    ("opens", "closes"), [('@doc """', '"""'), ("r'''", "'''"), ("@doc ~S'''", "'''")]
)
def test_an_outline_does_not_name_what_an_example_defines(opens: str, closes: str) -> None:
    text = f"def dig do\n  {opens}\n    def den do\n  {closes}\n  def hole do\n    1\n"
    units = (_unit(text, text, "dig", 1, code=text),)
    with kb_of(document("a.ex", text, media="code", blocks=units)) as kb:
        entries = kb.outline("a.ex")["entries"]

    assert [one["name"] for one in entries] == ["dig", "hole"]


def test_an_outline_names_functions_within_functions() -> None:
    units = (
        _unit("@wraps", "def __repr__():\n        pass", "serve", 1, code=NESTED),
        _unit("class Otter:", "return 1\n", "Otter", 1, "class", NESTED),
        _unit("    @property", "(self):\n        return 1", "Otter.den", 2, code=NESTED),
    )
    with kb_of(document("a.py", NESTED, media="code", blocks=units)) as kb:
        entries = kb.outline("a.py")["entries"]
        fetched = kb.fetch("a.py#dig")

    told = [(one["level"], one["name"], one["line_start"], one["line_end"]) for one in entries]
    assert told == [
        (1, "serve", 1, 11),
        (2, "dig", 3, 6),
        (3, "deeper", 4, 5),
        (2, "swim", 7, 9),
        (1, "Otter", 14, 17),
        (2, "den", 15, 17),
    ]
    assert (fetched["line_start"], fetched["line_end"]) == (3, 6)


def test_constants_of_one_line_leave_an_outline_before_methods_do() -> None:
    names = [f"LIMIT_{n:03}" for n in range(99)]
    code = CODE + "".join(f"{name} = 1\n" for name in names)
    with kb_of(document("a.py", code, media="code", blocks=PARTS)) as kb:
        found = kb.outline("a.py")

    assert [one["name"] for one in found["entries"]][:4] == ["A", "f", "g", "LIMIT_000"]
    assert found["omitted"] > 0


@pytest.mark.parametrize(
    "place", ["a.py#A", "a.py:2-5", "a.py#L1-L4", {"path": "a.py", "lines": "1-5"}]
)
def test_an_outline_of_lines_has_what_begins_or_ends_in_them(place: Place) -> None:
    with kb_of(document("a.py", CODE, media="code", blocks=PARTS)) as kb:
        found = kb.outline(place)

    assert [one["name"] for one in found["entries"]] == ["A", "f"]


def test_a_name_with_dots_is_whole_within_what_it_stands_in() -> None:
    within = _unit("    def f", "return 1", "A.[Symbol.iterator]", 2)
    with kb_of(document("a.py", CODE, media="code", blocks=(PARTS[0], within, PARTS[2]))) as kb:
        found = kb.outline("a.py")

    assert [one["name"] for one in found["entries"]] == ["A", "[Symbol.iterator]", "g"]


def _headings(text: str) -> tuple[dict[str, Any], ...]:
    found, at = [], 0
    for line in text.splitlines(keepends=True):
        if line.startswith("#"):
            mark, _, name = line.strip().partition(" ")
            found.append(
                {
                    "kind": "heading",
                    "start": at,
                    "end": at + len(line.strip()),
                    "level": len(mark),
                    "heading_path": [name],
                }
            )
        at += len(line)
    return tuple(found)


HEADED = "# The way\n\nIn.\n\n## To *go* there\n\nOn.\n\n# Back\n\nOff.\n\n## Rest\n\n## Rest\n"


@pytest.mark.parametrize(
    ("place", "lines"),
    [
        ("a.py#A", (1, 5)),
        ("a.py#A.f", (4, 5)),
        ("a.py#f", (4, 5)),
        ("a.py#g", (8, 9)),
        ("a.md#the way", (1, 7)),
        ("a.md#to-go-there", (5, 7)),
        ("a.md#Back", (9, 15)),
        ({"path": "a.md#Back"}, (9, 15)),
        ("g", (8, 9)),
        ("A.f", (4, 5)),
        ("A", (1, 5)),
        ("A::f", (4, 5)),
        # As Ruby and Javadoc write what a class has.
        ("A#f", (4, 5)),
        ("A#f(int, String)", (4, 5)),
        ("a.py#A#f", (4, 5)),
    ],
)
def test_what_has_a_name_is_fetched_by_it(place: Place, lines: tuple[int, int]) -> None:
    code = document("a.py", CODE, media="code", blocks=PARTS)
    late = [
        document(path, CODE, media="code", blocks=PARTS) for path in ("tests/test_a.py", "a.pyi")
    ]
    with kb_of(code, *late, document("a.md", HEADED, blocks=_headings(HEADED))) as kb:
        found = kb.fetch(place)
        (several,) = kb.fetch_many([place])["results"]

    assert (found["line_start"], found["line_end"]) == lines
    assert several["result"] == found


def test_a_name_that_a_file_of_mocks_and_one_of_types_define_is_of_the_first() -> None:
    paths = ("types/mocks.d.ts", "lib/mock/mocks.js")
    with kb_of(*(document(at, CODE, media="code", blocks=PARTS) for at in paths)) as kb:
        assert kb.fetch("g")["doc_path"] == "lib/mock/mocks.js"


RUBY = """\
def sized?(at)
  total_of(at)
end

def total_of(at) = at

def grow!; end
"""
TOTAL = "def total = total_of(1)\n"
RUBY_UNITS = (
    _unit("def sized?", "of(at)\nend", "sized?", 1, code=RUBY),
    _unit("def total_of(", "= at\n", "total_of", 1, code=RUBY),
    _unit("def grow!", "; end", "grow!", 1, code=RUBY),
)


@pytest.mark.parametrize(
    ("place", "first"), [("sized?", 1), ("a.rb#sized?", 1), ("grow!", 7), ("total_of", 5)]
)
def test_a_name_may_end_with_a_sign_and_one_within_another_defines_neither(
    place: str, first: int
) -> None:
    """Where ``total_of`` is called, a line that defines ``total`` has it, too."""
    other = document(
        "b.rb", TOTAL, media="code", blocks=(_unit("def", ")", "total", 1, code=TOTAL),)
    )
    with kb_of(document("a.rb", RUBY, media="code", blocks=RUBY_UNITS), other) as kb:
        assert kb.fetch(place)["line_start"] == first


def test_a_name_is_of_what_does_it_and_not_of_its_types_or_a_test_that_is_called_so() -> None:
    code = "let dig x = x\n"
    unit = _unit("let", "x\n", "dig", 1, code=code)
    test = unit | {"symbol_kind": "test"}
    there = {"t/a.ml": test, "a.mli": unit, "a.ml": unit}
    documents = [document(at, code, media="code", blocks=(one,)) for at, one in there.items()]
    with kb_of(*documents) as kb, kb_of(*documents[:2]) as without:
        assert kb.fetch("dig")["doc_path"] == "a.ml"
        assert without.fetch("dig")["doc_path"] == "a.mli"


def test_a_constant_of_perl_is_a_key_of_a_list() -> None:
    code = "use constant {\n  MOST_ROWS => 40,\n};\nsub rows { MOST_ROWS }\n"
    with kb_of(document("a.pm", code, media="code", blocks=())) as kb:
        assert kb.fetch("MOST_ROWS")["line_start"] == 2


def test_what_a_key_in_quotation_marks_is_given_may_stand_apart() -> None:
    code = "CONFIG = {\n    'MOST_ROWS'   : 40,\n    \"LEAST_ROWS\" : 1,\n    'SOME_ROWS': 2}\n"
    with kb_of(document("a.py", code, media="code", code_lang="python")) as kb:
        lines = [kb.fetch(name)["line_start"] for name in ("MOST_ROWS", "LEAST_ROWS", "SOME_ROWS")]

    assert lines == [2, 3, 4]


def test_a_constant_of_a_file_is_itself_where_a_function_there_differs_by_its_case() -> None:
    code = "WORDS = (1, 2)\n\n\ndef words(text):\n    return text.split()\n"
    unit = _unit("def words", "split()\n", "words", 1, code=code)
    with kb_of(document("a.py", code, media="code", blocks=(unit,))) as kb:
        found = [kb.fetch(f"a.py#{name}") for name in ("WORDS", "words", "Words")]

    assert [one["line_start"] for one in found] == [1, 4, 4]


def test_a_name_of_r_has_dots_itself_and_is_given_a_value_by_an_arrow() -> None:
    code = "NO_GROUP <- -1L\notter <- function(x) x\nprint.otter <- function(x) x\ndig <- otter\n"
    units = (
        _unit("otter <-", " x\n", "otter", 1, code=code),
        _unit("print.otter", "x) x\n", "print.otter", 1, code=code) | {"end": code.index("dig")},
    )
    with kb_of(document("a.r", code, media="code", code_lang="r", blocks=units)) as kb:
        lines = [
            kb.fetch(name)["line_start"] for name in ("otter", "print.otter", "NO_GROUP", "dig")
        ]

    assert lines == [2, 3, 1, 4]


def test_a_constant_ends_before_what_closes_that_it_stands_in() -> None:
    code = "object Rows {\n  const val MOST_ROWS = 40\n}\n"
    unit = _unit("object", "}", "Rows", 1, "object", code)
    with kb_of(document("a.kt", code, media="code", blocks=(unit,))) as kb:
        found = kb.fetch("MOST_ROWS")

    assert (found["line_start"], found["line_end"]) == (2, 2)


COMMENTED = """\
#include "rows.h"

/* Rows that are kept,
 *
 * and no more. */
#define MOST_ROWS 40
#define LEAST_ROWS 1
// It begins here.
// And goes on.
static const char *NAME_OF_ROWS = "rows";
"""


@pytest.mark.parametrize(
    ("name", "lines"), [("MOST_ROWS", (3, 6)), ("LEAST_ROWS", (7, 7)), ("NAME_OF_ROWS", (8, 10))]
)
@pytest.mark.parametrize("path", ["a.c#", ""])
def test_a_constant_begins_with_the_comment_above_it(
    path: str, name: str, lines: tuple[int, int]
) -> None:
    with kb_of(document("a.c", COMMENTED, media="code", code_lang="c")) as kb:
        found = kb.fetch(f"{path}{name}")

    assert (found["line_start"], found["line_end"]) == lines


@pytest.mark.parametrize(
    ("comment", "first"),
    [
        ("# elements that are kept\n", 2),
        ("# if set, no more\n# included are all\n", 2),
        ("# defined by who asks\n# else 40\n", 2),
        ("# one more\n" * 40, 2),
        ("# of the file\n" * 41, 43),
        ("# of the file\n" * 60, 62),
    ],
)
def test_a_comment_of_a_constant_is_one_whatever_it_says_but_is_not_that_of_the_file(
    comment: str, first: int
) -> None:
    code = f"import os\n{comment}MOST_ROWS = 40\n"
    with kb_of(document("a.py", code, media="code", code_lang="python")) as kb:
        assert kb.fetch("MOST_ROWS")["line_start"] == first


@pytest.mark.parametrize(("lines", "first"), [(40, 1), (41, 42)])
def test_a_comment_that_begins_a_file_is_of_a_constant_if_it_is_short(
    lines: int, first: int
) -> None:
    code = "# one more\n" * lines + "MOST_ROWS = 40\n"
    with kb_of(document("a.py", code, media="code", code_lang="python")) as kb:
        assert kb.fetch("MOST_ROWS")["line_start"] == first


def test_what_says_what_to_compile_is_no_comment() -> None:
    code = "using Rows;\n// kept\n#nullable enable\nconst int MOST_ROWS = 40;\n"
    with kb_of(document("a.cs", code, media="code", code_lang="csharp")) as kb:
        assert kb.fetch("MOST_ROWS")["line_start"] == 4


def test_a_choice_between_constants_gives_none_a_value() -> None:
    uses = document("a.c", "  send(meets ?\n    MOST_ROWS : LEAST_ROWS);\n", media="code")
    gives = document("a.h", "#define MOST_ROWS 40\n", media="code", code_lang="c")
    with kb_of(uses, gives) as kb:
        assert kb.fetch("MOST_ROWS")["doc_path"] == "a.h"


def test_a_unit_ends_before_what_closes_those_around_it() -> None:
    """Its passage has that, too: the last method of a class ended with the ends of that."""
    code = "module Den\n  class Otter\n    def dig\n      1\n    end\n  end\nend\n"
    units = (
        _unit("module", "Den\n", "Den", 1, "module", code),
        _unit("  class", "Otter\n", "Den.Otter", 2, "class", code),
        _unit("    def", "end\nend\n", "Den.Otter.dig", 3, "method", code),
    )
    with kb_of(document("a.rb", code, media="code", blocks=units)) as kb:
        found = kb.fetch("Den.Otter.dig")
        ends = [entry["line_end"] for entry in kb.outline("a.rb")["entries"]]

    assert (found["line_start"], found["line_end"], ends) == (3, 5, [7, 6, 5])


def test_a_member_is_fetched_by_its_name_as_it_is_spelled() -> None:
    """Beside a function whose name differs in case."""
    code = "func Listen() int {\n}\nfunc (a *Address) listen() int {\n}\n"
    units = (
        _unit("func L", "{\n}\n", "Listen", 1, "function", code),
        _unit("func (a", "int {\n}\n", "Address.listen", 1, "method", code),
    )
    units = (units[0], units[1] | {"end": len(code)})
    with kb_of(document("a.go", code, media="code", blocks=units)) as kb:
        assert [kb.fetch(f"a.go#{name}")["line_start"] for name in ("listen", "Listen")] == [3, 1]


def test_each_of_several_names_of_one_declaration_is_fetched() -> None:
    code = "const (\n\tAlpha, Beta = iota, iota + 10\n)\n\nvar left, right int\n"
    units = (
        _unit("const", "10\n)", "Alpha, Beta", 1, "const", code),
        _unit("var", "int\n", "left, right", 1, "var", code),
    )
    with kb_of(document("a/g.go", code, media="code", blocks=units)) as kb:
        starts = {
            name: kb.fetch(name)["line_start"]
            for name in ("a/g.go#Beta", "a/g.go#Alpha", "Beta", "g.Beta", "right", "a/g.go#left")
        }
        (line,) = kb.grep(GrepQuery(pattern="Beta"))["files"][0]["lines"]

    assert list(starts.values()) == [1, 1, 1, 1, 5, 5]
    assert line.get("is_definition")


def test_a_type_is_found_by_the_name_behind_one_that_ends_so() -> None:
    code = "typedef struct _row {\n  int a;\n} row;\n\nint rows(row *a);\n"
    unit = _unit("typedef", "} row;", "row", 1, "type", code)
    with kb_of(document("a.h", code, media="code", blocks=(unit,))) as kb:
        found = kb.fetch("row")

    assert (found["line_start"], found["line_end"]) == (1, 3)


OVERLOADED = """\
interface $Otter {}
const $Otter = class {
  get den() { return 1 }

  set den(at) { this.at = at }

  dig() {}

  get den() { return 2 }
};
"""


@pytest.mark.parametrize(
    ("place", "lines"),
    [
        ("$Otter", (1, 10)),
        ("a.ts#$Otter", (1, 10)),
        ("a.ts#otter", (1, 10)),
        ("a.ts#den", "a.ts:3-5 ($Otter.den), a.ts:9-9 ($Otter.den)"),
        ("$Otter.den", "a.ts:3-5, a.ts:9-9"),
    ],
)
def test_what_is_called_the_same_side_by_side_is_one(
    place: str, lines: tuple[int, int] | str
) -> None:
    """Overloads, a type and its value, a getter and its setter."""
    blocks = (
        _unit("interface", "{}", "$Otter", 1, code=OVERLOADED),
        _unit("const", "};", "$Otter", 1, code=OVERLOADED),
        _unit("  get den() { return 1", "return 1 }", "$Otter.den", 2, code=OVERLOADED),
        _unit("  set den", "at }", "$Otter.den", 2, code=OVERLOADED),
        _unit("  dig", "dig() {}", "$Otter.dig", 2, code=OVERLOADED),
        _unit("  get den() { return 2", "return 2 }", "$Otter.den", 2, code=OVERLOADED),
    )
    with kb_of(document("a.ts", OVERLOADED, media="code", blocks=blocks)) as kb:
        if isinstance(lines, tuple):
            found = kb.fetch(place)
            assert (found["line_start"], found["line_end"]) == lines
        else:
            with pytest.raises(InvalidInput) as caught:
                kb.fetch(place)
            assert lines in str(caught.value.hint)


def test_a_constructor_is_part_of_the_class_that_is_called_so() -> None:
    code = "class Den {\n  Den() { dig(); }\n}\nclass Nest {\n  void Den() {}\n}\n"
    blocks = (
        _unit("class Den", "}\n}", "Den", 1, "class", code=code),
        _unit("  Den()", "(); }", "Den.Den", 2, code=code),
        _unit("  void Den", "{}", "Nest.Den", 2, code=code),
    )
    with kb_of(document("Den.java", code, media="code", blocks=blocks[:2])) as kb:
        assert kb.fetch("Den.java#den")["line_end"] == 3
    with (
        kb_of(document("Den.java", code, media="code", blocks=blocks)) as kb,
        pytest.raises(InvalidInput, match="has 2 parts called 'den'"),
    ):
        kb.fetch("Den.java#den")


@pytest.mark.parametrize("name", ["Notice", "4.2 notice", "of goods", "(a) Of goods"])
def test_a_heading_is_fetched_without_its_number_too(name: str) -> None:
    text = "# 4.2 Notice\n\n# (a) Of goods\n\n# Noticed\n"
    with kb_of(document("a.md", text, blocks=_headings(text))) as kb:
        found = kb.fetch(f"a.md#{name}")

    assert found["line_start"] == (1 if "otice" in name else 3)


def test_a_heading_is_fetched_by_what_it_alone_begins_with() -> None:
    text = "# B. Rerankers\n\n# C. Sizes on disk\n\n# C. Sizes in memory\n"
    with kb_of(document("a.md", text, blocks=_headings(text))) as kb:
        assert kb.fetch("a.md#B")["line_start"] == 1
        assert kb.fetch("a.md#c. sizes in")["line_start"] == 5
        with pytest.raises(InvalidInput):
            kb.fetch("a.md#C")


def test_a_heading_is_fetched_without_what_it_has_in_brackets_and_by_its_last_part() -> None:
    """As settings and functions are called in manuals, with their types and owners."""
    text = "# rows (integer)\n\n# rows and columns (integer)\n\n# table.cells(at, [to]) => Cell\n"
    text += "\n# plugins.otter-plugin\n"
    with kb_of(document("a.md", text, blocks=_headings(text))) as kb:
        assert kb.fetch("a.md#rows")["line_start"] == 1
        assert kb.fetch("a.md#cells")["line_start"] == 5
        assert kb.fetch("a.md#table.cells")["line_start"] == 5
        assert kb.fetch("a.md#otter-plugin")["line_start"] == 7


@pytest.mark.parametrize(
    ("place", "message", "hint"),
    [
        ("a.py#ff", "has no heading and no symbol 'ff'", "outline"),
        ("a.py#A.h", "has no heading and no symbol 'A.h'", "did you mean 'A.f'?"),
        ("a.md#rest", "has 2 parts called 'rest'", "a.md:13-13, a.md:15-15"),
        ({"citation": "a.py#g"}, "unknown fragment 'g'", "L12"),
        ("a.py#L0", "lines 0-0 are not a span", ""),
        ("g", "2 places define 'g'", "a.py:8-9, b/a.py:8-9"),
    ],
)
def test_a_name_that_names_nothing_or_several_is_refused_with_the_way_out(
    place: Place, message: str, hint: str
) -> None:
    code = [document(path, CODE, media="code", blocks=PARTS) for path in ("a.py", "b/a.py")]
    with (
        kb_of(*code, document("a.md", HEADED, blocks=_headings(HEADED))) as kb,
        pytest.raises(InvalidInput, match=message) as caught,
    ):
        kb.fetch(place)

    assert hint in (caught.value.hint or "")


BURROW = """\
class Burrow(Generic[Animal], Mammals):
    def dig(self):
        self.deep = 1
        self.deep = 2
"""
DENS = """\
from burrows import Burrow

Animal = TypeVar("Animal")

class Den(
    Burrow,
):
    wide_enough: int = 3

class _Set(Den): ...

def lodge(): ...

class Dig: ...
"""
ERRORS = """\
const codes = {
  NO_WAY: make(
    404
  ),
}
Codes.prototype.told = () => 1
"""
BURROWS = (
    document(
        "burrows.py",
        BURROW,
        media="code",
        blocks=(
            _unit("class", "= 2", "Burrow", 1, "class", BURROW),
            _unit("    def", "= 2", "Burrow.dig", 2, code=BURROW),
        ),
    ),
    document(
        "dens.py",
        DENS,
        media="code",
        blocks=(
            _unit("class Den", "= 3", "Den", 1, "class", DENS),
            _unit("class _Set", "(Den): ...", "_Set", 1, "class", DENS),
            _unit("def lodge", "(): ...", "lodge", 1, code=DENS),
            _unit("class Dig", "Dig: ...", "Dig", 1, "class", DENS),
        ),
    ),
    document(
        "lib/errors.js",
        ERRORS,
        media="code",
        blocks=(_unit("Codes", "=> 1", "Codes.prototype.told", 1, code=ERRORS),),
    ),
    document("lib/a.js", "const size = 2\nthrow new NO_WAY()\n", media="code"),
    document("more/a.js", "", media="code"),
)


@pytest.mark.parametrize(
    ("place", "hint"),
    [
        # Taken from another file, where something here is called so but for its capitals, too.
        ("burrows.py#Dig", "'Dig' is defined in dens.py:14-14"),
        ("dens.py#Burrow", "in burrows.py:1-4; line 1 has it first: from burrows import Burrow"),
        ("burrows.py#lodge", "'lodge' is defined in dens.py:12-12"),
        ("dens.py#Lodge.dig", "'dig' is defined in burrows.py:2-4 (Burrow.dig)"),
        ("burrows.py#Borrow.dig", "did you mean 'Burrow.dig'?"),
        ("Burrow#digs", "did you mean 'Burrow.dig'?"),
        ("Borrow#dig", "'dig' is defined in burrows.py:2-4 (Burrow.dig)"),
        ("lib/a.js#NO_WAY", "'NO_WAY' is defined in lib/errors.js:2-4"),
        # At another path, or nowhere here.
        ("den.py#Den", "'Den' is defined in dens.py:5-8"),
        ("burrows.py#Mammals", "line 1 has it first: class Burrow(Generic[Animal], Mammals):"),
        ("burrows.py#deep", "line 3 has it first: self.deep = 1"),
        ("burrows.py#nothing_at_all", "the outline of a file names them all"),
    ],
)
def test_what_a_file_does_not_have_is_said_with_where_it_is(place: str, hint: str) -> None:
    with kb_of(*BURROWS) as kb, pytest.raises(KbError) as caught:
        kb.fetch(place)

    assert (caught.value.hint or "").endswith(hint)


@pytest.mark.parametrize(
    ("place", "at"),
    [
        ("lib/errors.js#NO_WAY", ("lib/errors.js", 2, 4)),
        ("NO_WAY", ("lib/errors.js", 2, 4)),
        ("dens.py#wide_enough", ("dens.py", 8, 8)),
        ("dens.py#Den.wide_enough", ("dens.py", 8, 8)),
        ("Den.wide_enough", ("dens.py", 8, 8)),
        ("dens.py::Den::wide_enough", ("dens.py", 8, 8)),
        ("dens.py:lodge", ("dens.py", 12, 12)),
        ("dens.py#def lodge", ("dens.py", 12, 12)),
        ("a.js::size", ("lib/a.js", 1, 1)),
        ("wide_enough", ("dens.py", 8, 8)),
        ("_Set.wide_enough", ("dens.py", 8, 8)),
        ("dens.py#Den.dig", ("burrows.py", 2, 4)),
        ("dens.py#_Set.dig", ("burrows.py", 2, 4)),
        ("_Set.dig", ("burrows.py", 2, 4)),
        ("Codes.told", ("lib/errors.js", 6, 6)),
        ("errors.js#Codes.told", ("lib/errors.js", 6, 6)),
        ("a.js#size", ("lib/a.js", 1, 1)),
        ("dens.lodge", ("dens.py", 12, 12)),
        ("lib.NO_WAY", ("lib/errors.js", 2, 4)),
        ("lib::errors::NO_WAY", ("lib/errors.js", 2, 4)),
    ],
)
def test_keys_and_members_of_classes_are_fetched_by_name(
    place: str, at: tuple[str, int, int]
) -> None:
    with kb_of(*BURROWS) as kb:
        found = kb.fetch(place)

    assert (found["doc_path"], found["line_start"], found["line_end"]) == at


LODGE = {"kind": "unit", "level": 1, "symbol": "lodge", "symbol_kind": "function"}
WITHIN = """\
const { dig } = require('./dig')
const den = require('./den')

function lodge (from) {
  const size = 3
  function dam (
    at
  ) {
    return [

      at
    ]
  }

  return dam(size)
}

const BEASTS = [
  'otter',
]
const WALK = 1
"""


@pytest.mark.parametrize(
    ("name", "lines"), [("dam", (6, 13)), ("BEASTS", (18, 20)), ("WALK", (21, 21))]
)
@pytest.mark.parametrize("path", ["a.js#", ""])
def test_a_value_and_a_function_within_another_are_fetched_whole(
    path: str, name: str, lines: tuple[int, int]
) -> None:
    inside = {**LODGE, "start": WITHIN.index("function lodge"), "end": WITHIN.index("\n\nconst B")}
    code = document("a.js", WITHIN, media="code", blocks=(inside,))
    uses = document("b.js", f"{name} = require('./a')\n{name}()\n", media="code")
    with kb_of(code, uses) as kb:
        found = kb.fetch(f"{path}{name}")

    assert (found["doc_path"], found["line_start"], found["line_end"]) == ("a.js", *lines)


def test_what_a_file_takes_from_another_is_not_what_it_defines() -> None:
    code = document("a.js", WITHIN, media="code")
    with kb_of(code) as kb:
        for place in ("den", "a.js#den", "a.js#size"):
            with pytest.raises(KbError):
                kb.fetch(place)


def test_a_class_is_fetched_by_its_name_and_not_its_constructors() -> None:
    def of(path: str, text: str, *parts: tuple[int, int, str]) -> DocumentRecord:
        blocks = [
            {"kind": "unit", "start": start, "end": end, "symbol": symbol, "level": level,
             "symbol_kind": "class" if level == 1 else "function"}
            for level, (start, end, symbol) in enumerate(parts, start=1)
        ]  # fmt: skip
        return document(path, text, media="code", blocks=tuple(blocks))

    header = of("a.h", "class A {\n  A();\n};\n", (0, 19, "n.A"), (12, 16, "n.A.A"))
    source = of("a.cc", "A::A() {\n}\n", (0, 0, ""), (0, 9, "n.A.A"))
    with kb_of(header, source) as kb:
        found = kb.fetch("A")

    assert "class A {" in found["text"]


@pytest.mark.parametrize("place", [7, None, True, ["a.md"], 1e400])
def test_what_is_no_place_is_named_among_several(place: Place) -> None:
    with kb_of() as kb:
        found = kb.fetch_many([place, "notes/a.md:1"])

    Draft202012Validator(closed_schema("fetch_results")).validate(found)
    first, other = found["results"]
    assert first["error"] is not None
    assert other["result"] is not None
    assert first["error"]["code"] == "invalid_input"
    assert "is not a text such as" in first["error"]["message"]
    assert other["result"]["text"] == "line 1\n"


@pytest.mark.parametrize("name", ["h", "A.g", "a.rs", "return", "nothing.md"])
def test_a_name_that_nothing_defines_is_no_document(name: str) -> None:
    with (
        kb_of(document("a.py", CODE, media="code", blocks=PARTS)) as kb,
        pytest.raises(DocNotFound, match="no document at"),
    ):
        kb.fetch(name)


@pytest.mark.parametrize(
    ("name", "line"), [("-o", 1), ("--output", 1), ("--sort", 5), ("-O", 9), ("--no-sort", 13)]
)
def test_an_option_is_fetched_by_any_of_its_names(name: str, line: int) -> None:
    names = ("-o, --output FILE", "--sort[=WORD]", "-O", "--[no-]sort|--no-sort", "Output")
    text = "".join(f"# {each}\n\nx\n\n" for each in names)
    with kb_of(document("a.md", text, blocks=_headings(text))) as kb:
        assert kb.fetch(f"a.md#{name}")["line_start"] == line


def test_a_file_that_became_no_document_says_why() -> None:
    """That there is no such document led to a search for another spelling of its path."""
    row = file_row("keys/a.env", FileState.SKIPPED, reason="secret_suspected", detail="a password")
    with kb_of() as kb:
        kb.keep(files=[row])
        asks = (
            lambda: kb.fetch("keys/a.env"),
            lambda: kb.fetch({"path": "keys/a.env", "lines": "1-3"}),
            lambda: kb.fetch("keys/a.env:12"),
            lambda: kb.outline("keys/a.env"),
            lambda: kb.fetch("a.env:1-50"),
        )
        for ask in asks:
            with pytest.raises(DocNotFound, match="skipped: secret_suspected: a password"):
                ask()


levels = st.lists(st.integers(1, 4), max_size=40)


@given(levels=levels)
def test_a_heading_reaches_to_the_next_that_is_not_inside_it(levels: list[int]) -> None:
    text = "".join(f"{'#' * level} h{n}\n\nx\n\n" for n, level in enumerate(levels)) or "x\n"
    with kb_of(document("a.md", text, blocks=_headings(text))) as kb:
        found = kb.outline("a.md")

    assert found["omitted"] == 0 or len(levels) > 20
    for entry in found["entries"]:
        at = int(entry["name"][1:])
        after = next((n for n in range(at + 1, len(levels)) if levels[n] <= levels[at]), None)
        end = len(levels) if after is None else after
        assert (entry["line_start"], entry["line_end"]) == (4 * at + 1, 4 * end - 1)


def test_an_outline_is_a_twentieth_of_a_long_text_and_says_what_it_leaves_out() -> None:
    text = "".join(
        f"# part {n}\n\n" + "".join(f"## detail {n}.{m}\n\nword\n\n" for m in range(40))
        for n in range(40)
    )
    with kb_of(document("a.md", text, blocks=_headings(text))) as kb:
        found = kb.outline("a.md")

    names = [entry["name"] for entry in found["entries"]]
    assert {f"part {n}" for n in range(40)} <= set(names)
    assert found["omitted"] == 40 * 41 - len(names) > 0
    shown = sum(len(f"{e['line_start']}-{e['line_end']} {e['name']}\n") for e in found["entries"])
    assert shown <= len(text) / 20
    chapters = "".join(f"# a long chapter {n}\n\n{'word ' * 150}\n\n" for n in range(60))
    with kb_of(document("a.md", chapters, blocks=_headings(chapters))) as kb:
        assert len(kb.outline("a.md")["entries"]) == 60  # more than a short text may have


def test_an_outline_of_pages_cites_them() -> None:
    text = "# one\n\nx\n\n# two\n\ny\n"
    second = text.index("# two")
    parts = chunks(text, [(0, second), (second, len(text))], PageSpan(1), PageSpan(2))
    doc = document("a.pdf", text, media="pdf", blocks=_headings(text), chunks=parts)
    with kb_of(doc) as kb:
        found = kb.outline("a.pdf")

    assert "lines" not in found
    assert [entry["uri"] for entry in found["entries"]] == ["a.pdf#page=1", "a.pdf#page=2"]


def test_a_symbol_alone_stands_where_the_outline_has_it() -> None:
    """Among thousands, a few are looked for without working out where all the others are."""
    code = "class A:\n  def a():\n    x\n  def b():\n    y\n\n\nclass B:\n  def a():\n    z"
    at_a, at_b, b = code.index("  def a"), code.index("  def b"), code.index("class B")
    places = [("A", 1, 0, at_a), ("A.a", 2, at_a, at_b), ("A.b", 2, at_b, b), ("B", 1, b, b + 9)]
    places.append(("B.a", 2, b + 9, len(code)))
    blocks = tuple(
        {"kind": "unit", "level": level, "start": start, "end": end, "symbol": symbol}
        for symbol, level, start, end in places
    )
    made = document("a.py", code, media="code", blocks=blocks)
    index = MemoryIndex()
    index.publish(publication(made))
    snapshot = index.snapshot()
    (doc,) = snapshot.docs(None)
    every = [(one.symbol, *_ends(one)) for one in entries_of(snapshot, doc, code)]

    for wanted in ("A", "A.a", "A.b", "B", "B.a"):
        found = [(one.symbol, *_ends(one)) for one in symbols_of(doc, code, wanted.__eq__)]
        assert found == [one for one in every if one[0] == wanted]
    assert every[0] == ("A", 1, 5)


def _ends(entry: Entry) -> tuple[int, int]:
    return entry.fields["line_start"], entry.fields["line_end"]
