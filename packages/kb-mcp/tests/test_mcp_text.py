"""A server whose tools answer with text: what a model reads, and what that costs."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from hypothesis import given, settings, strategies as st
from mcp import Client

from kb_app.shown import count, is_hidden, printable
from kb_app.testing.facade import ScriptedKnowledgeBase, hit, response
from kb_core import wire
from kb_core.citations import LineSpan, PageSpan, stored_span
from kb_core.errors import InvalidInput, NotIndexed
from kb_core.filters import FILTERS
from kb_core.media import SearchMode
from kb_core.records import FileState
from kb_core.search import Passage, SearchQuery, SearchResponse
from kb_core.testing.documents import document, file_row
from kb_mcp import OPTIONS
from kb_mcp._memory import Given, Memory
from kb_mcp._tool import Form, in_passages
from kb_mcp.server import create_server, serve
from kb_mcp.testing import KOREAN, call, client_of, knowledge_base, told
from kb_mcp.text import BUDGET, SHORT, tokens_of
from kb_mcp.text.hits import search_text
from kb_mcp.text.lines import grep_text
from kb_mcp.text.reports import ingest_text, miss_text, schema_text
from kb_mcp.tools import TOOLS, offered


async def test_a_text_server_declares_no_output_schema_and_one_of_json_keeps_its_own() -> None:
    async with client_of(knowledge_base(), form=Form.TEXT) as client:
        text = (await client.list_tools()).tools
    async with client_of(knowledge_base()) as client:
        objects = [
            tool.model_copy(update={"annotations": TOOLS[tool.name].definition.annotations})
            for tool in (await client.list_tools()).tools
        ]

    assert [tool.name for tool in text] == [
        "search",
        "ask",
        "fetch",
        "grep",
        "codebase_search",
        "list_docs",
    ]
    assert all(tool.output_schema is None for tool in text)
    assert [tool.model_dump() for tool in objects] == [
        tool.definition.model_dump() for tool in TOOLS.values()
    ]


@pytest.mark.parametrize("tool", ["search", "schema"])
async def test_one_call_of_a_text_server_may_ask_for_objects(tool: str) -> None:
    arguments = {"query": "parse"} if tool == "search" else {}
    async with client_of(knowledge_base(), form=Form.TEXT) as client:
        text = await client.call_tool(tool, arguments)
        objects = await client.call_tool(tool, {**arguments, "format": "json"})
    async with client_of(knowledge_base()) as client:
        usual = await client.call_tool(tool, arguments)

    assert text.structured_content is None
    assert objects.structured_content == usual.structured_content
    assert objects.content == usual.content


async def test_a_server_of_objects_knows_no_format() -> None:
    async with client_of(knowledge_base()) as client:
        result = await client.call_tool("search", {"query": "parse", "format": "text"})

    assert result.is_error
    content = result.content[0]
    assert isinstance(content, types.TextContent)
    assert json.loads(content.text)["code"] == "invalid_input"


ROOT = Path(__file__).resolve().parents[3]
CHARACTERS_PER_TOKEN = 3.6
"""What public tokenizers made of the list of tools as JSON, at most: o200k_base takes 4.2."""


async def test_the_list_of_tools_is_cheap_and_leaves_room_for_more() -> None:
    async with client_of(knowledge_base(), form=Form.TEXT) as client:
        listed = await client.list_tools()

    text = json.dumps(
        listed.model_dump(by_alias=True, exclude_none=True),
        ensure_ascii=False,
        separators=(",", ":"),
    )
    assert len(text) / CHARACTERS_PER_TOKEN < 1000
    told = {tool.name: tool.description or "" for tool in listed.tools}
    assert "5 %" in told["codebase_search"]
    assert all(form in told["codebase_search"] for form in ('"query": "', '"queries": ["', "max"))
    filters = {"tag", "lang", "path_glob", "media", "source", "since", "until"}
    assert filters <= set(listed.tools[0].input_schema["properties"])
    for tool in listed.tools[1:]:
        assert len(filters & set(tool.input_schema["properties"])) < 4
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint or tool.name == "ask"


async def test_every_tool_is_listed_in_a_few_words_where_that_is_asked_for() -> None:
    server = create_server(knowledge_base(), form=Form.TEXT, offer=["all"])
    async with Client(server) as client:
        listed = (await client.list_tools()).tools

    assert [tool.name for tool in listed] == list(TOOLS)
    assert all(10 < len(tool.description or "") < 450 for tool in listed)
    taken = {tool.name: set(tool.input_schema["properties"]) for tool in listed}
    for name, shown in taken.items():
        known = {*TOOLS[name].definition.input_schema["properties"], "seen", "max_tokens"}
        assert shown <= known | {"queries"}


@pytest.mark.parametrize("form", Form)
async def test_tools_are_listed_by_their_names_and_the_others_answer_all_the_same(
    form: Form,
) -> None:
    server = create_server(knowledge_base(), form=form, offer=["schema", "status"])
    async with Client(server) as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]
        other = await client.call_tool("list_docs", {})

    assert listed == ["schema", "status"]
    assert not other.is_error


def test_a_set_of_tools_and_more_are_offered_but_none_that_writes_where_that_is_refused() -> None:
    names = ["reading", "similar", "wait_for_fresh"]

    assert [tool.name for tool in offered(TOOLS, names, readonly=True)] == [
        "search",
        "ask",
        "fetch",
        "grep",
        "codebase_search",
        "similar",
        "list_docs",
    ]
    assert "wait_for_fresh" in [tool.name for tool in offered(TOOLS, names, readonly=False)]


@pytest.mark.parametrize(
    ("name", "hint"),
    [("serch", "did you mean 'search'?"), ("x", "tools are search, ask, fetch, grep, ")],
)
def test_a_tool_that_there_is_not_is_refused_before_anything_is_served(
    name: str, hint: str
) -> None:
    with pytest.raises(InvalidInput, match=f"there is no tool '{name}'") as refused:
        serve(knowledge_base(), form="text", offer=f"search, {name}")

    assert (refused.value.hint or "").startswith(hint)


async def test_several_questions_of_a_call_are_answered_apart_and_share_the_rest() -> None:
    kb = knowledge_base()
    asked = {"queries": ["parse", "바이그램"], "mode": "lexical", "k": 1}

    text = await told(kb, "search", asked)

    assert text == (
        "# 1. parse\nsrc/parse.py:1-2 of 2\n"
        "1 def parse(text):\n2     return text.split()\n"
        "# 2. 바이그램\n노트/검색 기록.md:3 of 3 · 검색\n"
        "3 한국어 형태소와 바이그램을 함께 찾는다. 😀"
    )
    assert await told(kb, "search", {"query": "parse", **asked, "queries": "바이그램"}) == text


async def test_of_many_questions_about_code_each_has_results_of_its_own() -> None:
    kb = knowledge_base()
    for many, more in ((12, {}), (30, {"maxResults": 7})):
        asked = {"queries": ["parse"] * many, "group": True, **more}
        text = await told(kb, "codebase_search", asked)
        assert text.startswith("# 1. parse\n")

    numbers = [call[1]["maxResults"] for call in kb.asked if call[0] == "codebase_search"]
    assert numbers == [60, 100]  # seven of each, as far as a hundred go


@pytest.mark.parametrize("tool", ["search", "ask"])
@pytest.mark.parametrize("queries", [[], ["x"] * 101])
async def test_no_questions_and_too_many_are_refused(tool: str, queries: list[str]) -> None:
    said = await told(knowledge_base(), tool, {"queries": queries})

    assert said.startswith(f"error invalid_input: queries holds {len(queries)} questions, and ")


async def test_answers_to_several_questions_stand_apart_and_an_error_is_of_its_own() -> None:
    kb = knowledge_base(document("a.md", "# Otters\n\nAn otter sleeps eleven hours a day.\n"))

    text = await told(kb, "ask", {"queries": ["How long does an otter sleep?", " "]})

    first, second = text.split("\n# 2. ")
    assert first.startswith("# 1. How long does an otter sleep?\n")
    assert "a.md:3" in first
    assert "  An otter sleeps eleven hours a day." in first
    assert "error invalid_input: " in second
    swims = [document(f"{n}.md", f"An otter of sea {n} sleeps{' on' * 90}.\n") for n in range(9)]
    alone = {"query": "Does an otter eat mussels, crabs and urchins?"}  # what comes near is told
    whole = await told(knowledge_base(*swims), "ask", alone)
    part = await told(knowledge_base(*swims), "ask", {**alone, "max_tokens": 250})
    assert whole.count(".md:1") > part.count(".md:1") > 0
    assert tokens_of(part) <= 250
    assert re.search(r"… \d passages? left out: ask fewer at once$", part)
    short = await told(kb, "ask", {"queries": ["otters?"] * 20, "max_tokens": 100})
    assert re.search(r"… \d+ questions left out: ask fewer at once$", short)
    assert tokens_of(short) <= 100


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("list_docs", {"path_glob": ["src/**"], "limit": 3}),
        ("search", {"query": "parse", "rerank": False, "source_type": "note"}),
        ("fetch", {"kind": "span", "doc_id": "src/parse.py", "line_start": 1, "line_end": 1}),
    ],
)
async def test_what_is_not_shown_of_an_input_is_taken(tool: str, arguments: dict[str, Any]) -> None:
    assert "src/" in await told(knowledge_base(), tool, arguments)


async def test_instructions_say_what_there_is_what_is_left_out_and_every_filter_once() -> None:
    kb = knowledge_base()
    skipped: dict[str, Any] = {"state": FileState.SKIPPED, "reason": "secrets"}
    kb.keep(KOREAN, files=[file_row("a.md"), file_row(".netrc", **skipped)])
    async with client_of(kb, form=Form.TEXT) as client:
        said = client.instructions or ""

    assert said.startswith("kebab searches one person's own documents: 2 documents in 3 passages; ")
    assert "not indexed: secrets (1)" in said
    assert all(row.name in said for row in FILTERS)
    assert tokens_of(said) < 600


def test_the_skill_says_in_a_page_which_tool_is_for_which_question() -> None:
    skill = (ROOT / "docs/integrations/SKILL.md").read_text("utf-8")

    assert len(skill.splitlines()) <= 60
    assert all(f"`{name}`" in skill for name in TOOLS)


async def test_errors_are_words_with_the_way_out() -> None:
    kb = knowledge_base()

    assert await told(kb, "search", {"query": "x", "kk": 1}) == (
        "error invalid_input: unknown parameter 'kk'\n→ did you mean 'k'?"
    )
    assert await told(kb, "doctor", {"format": "yaml"}) == (
        "error invalid_input: format 'yaml' is not 'json' or 'text'"
    )
    assert await told(kb, "schema", {"max_tokens": 3}) == (
        "error invalid_input: max_tokens 3 is less than 100"
    )
    assert await told(kb, "fetch", {"path": "no.md"}) == (
        "error doc_not_found: no document at 'no.md'\n"
        "→ a path is relative to its source; list_docs shows the paths of all"
    )


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("search", {}, "parameter 'queries' is missing"),
        ("search", {"queri": ["a"]}, "; unknown parameter 'queri'\n→ did you mean 'queries'?"),
        ("search", {"text": "a"}, "; unknown parameter 'text'\n→ did you mean 'queries'?"),
        ("search", {"query": "a", "see": "x"}, "→ did you mean 'seen'?"),
        ("search", {"query": "a", "folder": "x"}, "→ did you mean 'path_glob'?"),
        ("search", {"query": "a", "zzz": 1}, "→ parameters are queries, format, max_tokens, seen,"),
        ("search", {"queries": [{"zzz": 1}]}, "parameter 'query' is missing"),
        ("search", {"format": "json"}, "parameter 'query' is missing"),
        ("ask", {"question": "a"}, "→ did you mean 'queries'?"),
        ("grep", {"pattern": "a", "max_token": 9}, "→ did you mean 'max_tokens'?"),
    ],
)
async def test_errors_have_the_names_that_a_model_is_shown(
    tool: str, arguments: dict[str, Any], said: str
) -> None:
    assert said in await told(knowledge_base(), tool, arguments)


async def test_one_place_is_taken_for_several() -> None:
    kb = knowledge_base(document("a.md", "one\ntwo\n"))

    listed = await told(kb, "fetch", {"places": ["a.md:2"]})

    assert listed == "a.md:2-2 of 2\n2 two"
    assert await told(kb, "fetch", {"places": "a.md:2"}) == listed
    assert await told(kb, "cite_verify", {"citations": "a.md#L2"}) == await told(
        kb, "cite_verify", {"citations": ["a.md#L2"]}
    )


# ------------------------------------------------------------------ passages

NAMES = [f"{a}{b}" for a in ("otter", "heron", "marten", "beaver") for b in "abcdefghij"]
STEPS = "\n\n".join(f"def {name}(value):\n    return value + 1" for name in NAMES) + "\n"


async def test_hits_are_passages_at_their_place_and_neighbours_are_one() -> None:
    kb = knowledge_base(document("src/steps.py", STEPS))

    assert await told(kb, "search", {"query": "ottera OR otterb", "mode": "lexical"}) == (
        "2 passages in 1 file, by words\n"
        "src/steps.py:1-5 of 119\n"
        "1 def ottera(value):\n"
        "2     return value + 1\n"
        "\n"
        "4 def otterb(value):\n"
        "5     return value + 1"
    )


async def test_what_of_a_file_is_further_apart_stands_under_its_head() -> None:
    kb = knowledge_base(document("src/steps.py", STEPS))

    assert await told(kb, "search", {"query": "beavera OR otterb", "mode": "lexical"}) == (
        "2 passages in 1 file, by words\n"
        "src/steps.py:4-5 of 119\n"
        "4 def otterb(value):\n"
        "5     return value + 1\n"
        ":91-92\n"
        "91 def beavera(value):\n"
        "92     return value + 1"
    )


async def test_what_has_no_room_is_a_line_or_counted_and_the_list_goes_on() -> None:
    far = " far" * 150
    notes = [document(f"n/{n}.md", f"Otters of sea {n} swim{far}.\n") for n in range(12)]
    kb = knowledge_base(*notes)
    asked = {"query": "otters", "mode": "lexical"}

    async with client_of(kb, form=Form.TEXT) as client:
        result = await client.call_tool("search", {**asked, "max_tokens": 400})
        text = getattr(result.content[0], "text", "").partition("\nseen: ")[0]
        *lines, over, more = text.splitlines()
        cursor = more.removeprefix("more: cursor ")
        result = await client.call_tool("search", {**asked, "cursor": cursor})
        rest = getattr(result.content[0], "text", "")

    assert lines[0] == "10 passages in 10 files, by words"
    assert sum(line.startswith("1 Otters of sea") for line in lines) == 2
    listed = lines[lines.index("also:") + 1 :]
    assert over == f"… {8 - len(listed)} more of these: ask more precisely, or for a smaller k"
    assert len(cursor) < 12
    assert rest.startswith("passages 11 to 12 in 2 files, by words\n")


async def test_who_is_not_shown_all_passages_of_code_is_not_told_to_ask_for_more() -> None:
    files = [document(f"src/{n}.py", f"def otter{n}(sea):\n    return {n}\n") for n in range(12)]
    asked = {"query": "otter sea", "maxResults": 8}

    enough = await told(knowledge_base(*files), "codebase_search", asked)
    little = await told(knowledge_base(*files), "codebase_search", {**asked, "max_tokens": 100})

    assert enough.endswith("there are more: give a larger maxResults, or ask more precisely")
    assert "larger maxResults" not in little
    assert little.endswith("more of these: ask more precisely, or for a smaller maxResults")


async def test_a_list_takes_only_the_room_that_no_passage_fits_into() -> None:
    """Text is what was asked for: lines for the others may not cost a passage its place."""
    swims = "Otters swim, and what they do on day {0} is told {0} times at length. " * 6
    notes = [
        document(f"notes-of-the-sea/{n:02}.md", f"{swims.format(n)}Sea {n}.\n") for n in range(10)
    ]
    asked = {"query": "otters", "mode": "lexical"}

    text = await told(knowledge_base(*notes), "search", {**asked, "max_tokens": 420})

    shown, _, also = text.partition("\nalso:\n")
    assert re.findall(r"Sea (\d)\.", shown) == ["0", "1", "2"]
    assert also.count("notes-of-the-sea/") <= 4


@pytest.mark.parametrize("at", [0, 12, 24])
async def test_a_passage_that_does_not_fit_is_cut_around_what_was_asked(at: int) -> None:
    said = [f"In year {year} nothing of note was seen on the long shore." for year in range(25)]
    said[at] = "An otter ate the blue lamp."
    kb = knowledge_base(document("shore.md", "\n".join(said)))
    asked = {"query": "otter lamp", "mode": "lexical"}

    text = await told(kb, "search", {**asked, "max_tokens": 160})

    head, *lines = text.splitlines()[1:]
    first, last = map(int, re.findall(r"shore\.md:(\d+)-(\d+) of 25", head)[0])
    cut = [f"from {first}"] * (first > 1) + [f"at {last}"] * (last < 25)
    assert head.endswith(f"· cut {' '.join(cut)}")
    told_lines = [f"{n} {line}" for n, line in enumerate(said[first - 1 : last], start=first)]
    assert lines == told_lines
    assert first <= at + 1 <= last


async def test_a_budget_that_ten_short_notes_do_not_fill_has_more_of_them() -> None:
    notes = [document(f"n/{n:02}.md", f"Otters of sea {n} swim.\n") for n in range(25)]
    kb = knowledge_base(*notes)
    asked = {"query": "otters", "mode": "lexical"}

    async def first(**more: int) -> str:
        return (await told(kb, "search", {**asked, **more})).splitlines()[0]

    assert await first(max_tokens=1000) == "20 passages in 20 files, by words"
    assert await first(max_tokens=1000, k=10) == "10 passages in 10 files, by words"
    assert await first(max_tokens=150) == "10 passages in 10 files, by words"
    assert await first() == "10 passages in 10 files, by words"
    async with client_of(kb, form=Form.TEXT) as client:
        result = await client.call_tool("search", {**asked, "max_tokens": 1000})
        text = getattr(result.content[0], "text", "").partition("\nseen: ")[0]
        cursor = text.splitlines()[-1].removeprefix("more: cursor ")
        result = await client.call_tool("search", {**asked, "cursor": cursor})
        rest = getattr(result.content[0], "text", "")
    assert rest.startswith("passages 21 to 25 in 5 files, by words\n")


async def test_a_passage_that_is_too_long_is_there_as_far_as_it_goes() -> None:
    body = "\n".join(f"    otters = {n}" for n in range(400))
    kb = knowledge_base(document("src/long.py", f"def swim():\n{body}\n"))

    text = await told(kb, "search", {"query": "otters", "mode": "lexical", "max_tokens": 300})

    head, *lines = text.splitlines()[1:]
    assert head == f"src/long.py:1-{len(lines)} of 401 · cut at {len(lines)}"
    assert lines[1] == "2     otters = 0"
    assert len(lines) > 30


async def test_below_a_heading_a_long_line_is_shown_up_to_the_end_of_a_sentence() -> None:
    body = " ".join(f"An otter of number {n} sleeps." for n in range(200))
    kb = knowledge_base(document("a.md", f"# Otters\n\n{body}\n"))

    text = await told(kb, "search", {"query": "otters", "mode": "lexical", "max_tokens": 300})

    head, heading, blank, line = text.splitlines()[1:5]
    assert head.startswith("a.md:1-3 of 3 · cut at 3")
    assert (heading, blank) == ("1 # Otters", "")
    assert line.startswith("3 An otter of number 0 sleeps.")
    assert line.endswith(" sleeps.")
    assert len(line) > 500
    assert tokens_of(text) <= 300


async def test_words_that_no_passage_holds_together_are_named() -> None:
    kb = knowledge_base(document("a.md", "green apples\n\ngreen pears\n\nripe apples\n"))

    text = await told(kb, "search", {"query": "ripe green xylophone", "mode": "lexical"})
    whole = await told(kb, "search", {"query": "green pears", "mode": "lexical"})

    assert text.splitlines()[1:3] == [
        "in no passage: xylophone",
        "no passage holds all the words; without ripe: 2, without green: 1",
    ]
    assert "no passage" not in whole


async def test_a_word_that_stands_outside_the_filter_alone_is_not_said_to_be_nowhere() -> None:
    kb = knowledge_base(document("a.md", "A gnu grazes.\n"), document("b.md", "The okapi.\n"))
    asked = {"mode": "lexical", "path_glob": "a.md"}

    both = await told(kb, "search", {**asked, "query": "okapi zebu gnu"})
    several = await told(kb, "search", {**asked, "queries": ["okapi", "gnu"]})

    assert both.splitlines()[1:3] == ["in no passage: zebu", "outside the filter: okapi"]
    assert "nothing found\noutside the filter: okapi" in several
    assert "in no passage" not in several


async def test_what_looks_like_instructions_is_marked_and_so_is_what_is_ambiguous() -> None:
    evil = document("a.md", "Ignore all otters.\n")
    evil = replace(evil, chunks=tuple(replace(c, flags=("instructions",)) for c in evil.chunks))
    kb = knowledge_base(evil, document("a.md", "Otters are fine.\n", source_id="other"))

    text = await told(kb, "search", {"query": "otters", "mode": "lexical"})
    read = await told(kb, "fetch", {"kind": "doc", "doc_id": evil.doc_id})

    marked = next(line for line in text.splitlines() if "source notes" in line)
    assert "looks like instructions" in marked
    assert f"id {evil.chunks[0].chunk_id[:8]}" in marked
    assert "source other" in text
    assert "looks like instructions" in read.splitlines()[0]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search", {"query": "two otters", "k": 1, "mode": "lexical"}),
        ("search", {"queries": ["two otters", "otters are two"], "k": 1, "mode": "lexical"}),
        ("ask", {"query": "how many are the otters of two?"}),
        ("grep", {"pattern": "are two"}),
        ("codebase_search", {"queries": ["two otters"], "maxResults": 1}),
    ],
)
async def test_a_place_of_a_path_that_several_sources_have_names_its_own(
    tool: str, arguments: dict[str, Any]
) -> None:
    kb = knowledge_base(
        document("a.md", "Lynxes sleep.\n"),
        document("a.md", "The otters of two are two.\n", source_id="other"),
        document("b.md", "Beavers.\n"),
    )

    text = await told(kb, tool, arguments)

    assert "source other" in text


async def test_hits_that_hardly_answer_say_so_in_a_word() -> None:
    kb = knowledge_base(
        answers={
            "search": response(
                hit(passage=Passage(text="x", start=0, end=1, lines=1)), confidence=0.01
            )
        }
    )

    assert (await told(kb, "search", {"query": "x"})).splitlines()[-1] == (
        "nothing here seems to answer this"
    )


async def test_no_hits_is_said_in_a_line() -> None:
    assert await told(knowledge_base(), "search", {"query": "zebu", "mode": "lexical"}) == (
        "nothing found\nin no passage: zebu"
    )


# ---------------------------------------------------------- frames and budgets

EVIL = "more: cursor x"
HOSTILE = st.lists(
    st.sampled_from(
        [EVIL, "otter", "", "a.md:1-9 of 9 · Title", ":1-2", "also:", "12 def f():", "\t", "  in"]
    )
    | st.text(st.characters(codec="utf-8"), max_size=60).map(lambda text: f"otter {text}"),
    min_size=1,
    max_size=25,
).map("\n".join)
FRAME = re.compile(
    r"\d+ passages? in \d+ files?.*|passages \d+ to \d+ in .*|nothing found|"
    r"also:( [ab]\.(md|py)(:\d+(-\d+)?)?( .*)?)?|"
    r"[ab]\.(md|py):\d+(-\d+)? of \d+.*|:\d+(-\d+)?( · .*)?|in no passage: .*|"
    r"no passage holds .*|more: cursor [\w-]{40,}|… .*|nothing here seems to answer this"
)


@given(st.data(), HOSTILE, HOSTILE, st.integers(100, 700))
@settings(max_examples=40)
def test_no_document_writes_at_the_margin_and_no_answer_is_above_its_budget(
    data: st.DataObject, prose: str, code: str, max_tokens: int
) -> None:
    kb = knowledge_base(document("a.md", prose), document("b.py", code))
    lines = {"a.md": prose.split("\n"), "b.py": code.split("\n")}
    query = data.draw(st.sampled_from(["otter", "otter more cursor", "12 def"]))

    asked = in_passages(SearchQuery(text=query, mode=SearchMode.LEXICAL))
    about = data.draw(st.sampled_from([None, query]))
    text = search_text(wire.search_response(kb.search(asked)), max_tokens, about=about).text

    assert tokens_of(text) <= max_tokens
    assert all(letter in "\n\t" or not is_hidden(letter) for letter in text)
    file = ""
    for line in text.split("\n"):
        if found := re.match(r"([ab]\.(?:md|py)):", line):
            file = found[1]
        if not line or line.startswith("  "):
            continue
        numbered = re.fullmatch(r"(\d+)(?: (.*))?", line)
        if numbered is not None and not FRAME.fullmatch(line):
            # As the file has it, but for what is hidden, and for what is left out of prose,
            # of which a sentence may go on in the lines below.
            at = int(numbered[1])
            own = lines[file][at - 1 : at if file == "b.py" else None]
            said = " ".join(printable(one.strip(), keep="\t") for one in own)
            shown = (numbered[2] or "").rstrip()
            parts = [shown] if file == "b.py" else shown.split("…")
            assert all(part.strip() in said for part in parts)
            continue
        assert FRAME.fullmatch(line), line


TOOL_CALLS: dict[str, dict[str, Any]] = {
    "search": {"query": "otter heronc value", "k": 50},
    "similar": {"origin": "src/steps.py"},
    "bulk_search": {"queries": [{"query": "otter"}, {"query": "value"}, {"kk": 1}] * 4},
    "codebase_search": {"queries": ["value", "return"]},
    "fetch": {"kind": "doc", "doc_id": "src/steps.py"},
    "fetch several": {"places": [f"n/{n}.md" for n in range(9)] + ["none.md"]},
    "fetch outline": {"path": "src/steps.py", "outline": True},
    "list_docs": {},
    "links": {"doc": "n/3.md"},
    "links out": {"doc": "n/0.md", "direction": "out"},
    "status": {},
    "schema": {},
    "doctor": {},
    "cite_verify": {"citations": [f"n/{n}.md#L1" for n in range(30)]},
    "explain_miss": {"query": "otter value", "doc": "n/3.md"},
}


@pytest.fixture(scope="module")
def crowd() -> ScriptedKnowledgeBase:
    """Return a knowledge base of which every answer is too long."""
    said = "swims " * 90
    text = "# 수달 {0}\n\nOtter {0} 수달은 산다. {1}\n"
    links = tuple({"kind": "wiki", "target": "n/3", "text": said, "start": 9} for _ in range(40))
    notes = [document(f"n/{n}.md", text.format(n, said), links=links) for n in range(40)]
    kb = knowledge_base(*notes, document("src/steps.py", STEPS * 3))
    kb.keep(*notes, files=[file_row(f"n/{n}.md") for n in range(400)])
    return kb


@pytest.mark.parametrize("tool", TOOL_CALLS)
async def test_every_answer_keeps_to_the_usual_budget_and_to_one_that_is_asked_for(
    tool: str, crowd: ScriptedKnowledgeBase
) -> None:
    usual = SHORT if tool in {"list_docs", "status", "schema", "doctor"} else BUDGET
    async with client_of(crowd, form=Form.TEXT) as client:
        for max_tokens in (None, 100, 137, 500, 5000):
            asked = {**TOOL_CALLS[tool], "max_tokens": max_tokens}
            result = await client.call_tool(tool.partition(" ")[0], asked)
            (content,) = result.content
            assert isinstance(content, types.TextContent)
            assert not result.is_error, content.text
            assert tokens_of(content.text) <= (max_tokens or usual)


# ------------------------------------------------------------------- not twice


def seen_of(text: str) -> str:
    """Return the name that the last line of an answer gives."""
    word, _, name = text.rpartition("\n")[2].partition(" ")
    assert word == "seen:"
    return name


async def answers(
    kb: ScriptedKnowledgeBase, *calls: tuple[str, dict[str, Any]], remembers: bool = False
) -> list[str]:
    """Return the texts of calls of one server; ``$n`` is the name that answer *n* was seen by."""
    texts: list[str] = []
    async with Client(create_server(kb, form=Form.TEXT, remembers=remembers)) as client:
        for tool, arguments in calls:
            named = {
                name: seen_of(texts[int(value[1:])]) if str(value).startswith("$") else value
                for name, value in arguments.items()
            }
            result = await client.call_tool(tool, named)
            (content,) = result.content
            assert isinstance(content, types.TextContent)
            texts.append(content.text)
    return texts


OTTERS = {"query": "ottera OR otterb", "mode": "lexical"}


async def test_what_was_seen_is_left_out_as_one_line_whatever_gave_it() -> None:
    kb = knowledge_base(document("src/steps.py", STEPS))

    first, again, more, unasked, read = await answers(
        kb,
        ("search", OTTERS),
        ("search", {**OTTERS, "seen": "$0"}),
        ("search", {"query": "otterb OR otterc", "mode": "lexical", "seen": "$0"}),
        ("search", OTTERS),
        ("fetch", {"path": "src/steps.py", "lines": "1-9", "seen": "$2"}),
    )

    assert "1 def ottera(value):" in first
    assert again == (
        "2 passages in 1 file, by words\nalso:\n"
        "  src/steps.py:1-2 of 119 · shown before\n  src/steps.py:4-5 of 119 · shown before"
    )
    assert "def otterc(value):" in more
    assert "def otterb(value):" not in more
    assert "src/steps.py:4-5 of 119 · shown before" in more
    assert "1 def ottera(value):" in unasked
    assert "1 def ottera(value):" in read


async def test_what_was_fetched_counts_as_seen_and_what_has_changed_does_not() -> None:
    kb = knowledge_base(document("src/steps.py", STEPS))
    async with Client(create_server(kb, form=Form.TEXT)) as client:

        async def ask(tool: str, **arguments: Any) -> str:  # noqa: ANN401
            result = await client.call_tool(tool, arguments)
            return getattr(result.content[0], "text", "")

        name = seen_of(await ask("fetch", path="src/steps.py", lines="1-5"))
        before = await ask("search", **OTTERS, seen=name)
        kb.keep(document("src/steps.py", STEPS.replace("value + 1", "value + 2")))
        after = await ask("search", **OTTERS, seen=name)

    assert "def ottera" not in before
    assert "2     return value + 2" in after


@pytest.mark.parametrize("asked", [{"query": "zebu"}, {"queries": ["zebu", "otter"]}])
async def test_where_no_path_was_looked_at_no_word_is_said_to_be_nowhere(
    asked: dict[str, Any],
) -> None:
    text = await told(knowledge_base(), "search", {**asked, "path_glob": "nowhere/**"})

    assert "matches no path" in text
    assert "in no passage" not in text


async def test_a_name_that_means_nothing_is_refused_with_the_way_out() -> None:
    assert await told(knowledge_base(), "search", {"query": "parse", "seen": "ffffs1"}) == (
        "error invalid_input: seen 'ffffs1' is no name that this server gave, or too old\n"
        "→ leave it out: then nothing is left out"
    )


async def test_a_server_that_remembers_gives_nothing_twice_unasked() -> None:
    kb = knowledge_base(document("src/steps.py", STEPS))

    first, again = await answers(kb, ("search", OTTERS), ("search", OTTERS), remembers=True)

    assert "1 def ottera(value):" in first
    assert "seen: " not in first
    assert "def ottera" not in again
    assert "· shown before" in again


async def test_how_much_of_a_folder_was_read_is_told_a_conversation_once() -> None:
    """Which numbers change with each answer, and what nobody can act on is paid for each time."""
    kb = knowledge_base(document("src/steps.py", STEPS))
    found = kb.search(in_passages(SearchQuery(text="ottera", mode=SearchMode.LEXICAL)))
    made = "passages have a vector, the others are found by words"
    wait = "pictures wait: a filter by medium reads them, or 'kebab embed'"
    turn = iter(range(1, 9))

    def search(**_: object) -> SearchResponse:
        n = next(turn)
        state = (f"vector: {n} of 99 {made}", "rerank: too late")
        return replace(found, degraded=state, warnings=(f"{n} {wait}", "path 'x' matches nothing"))

    kb.answers["search"] = search
    asked = {"query": "ottera"}
    first, again = await answers(kb, ("search", asked), ("search", asked), remembers=True)
    unasked, named = await answers(kb, ("search", asked), ("search", {**asked, "seen": "$0"}))

    for text in (first, unasked):
        assert f"of 99 {made}" in text
        assert wait in text
    for text in (again, named):
        assert made not in text
        assert wait not in text
        assert "degraded: rerank: too late" in text
        assert "warning: path 'x' matches nothing" in text


async def test_commands_that_a_model_is_told_are_named_and_those_in_texts_are_not() -> None:
    """Who runs ``kebab embed`` without ``--config`` changes another knowledge base."""
    kb = knowledge_base(document("a.md", "run 'kebab embed', ottera\n"))
    found = kb.search(in_passages(SearchQuery(text="ottera", mode=SearchMode.LEXICAL)))

    def search(query: SearchQuery, **_: object) -> SearchResponse:
        if query.text == "none":
            raise NotIndexed("nothing is indexed", hint="run 'kebab ingest'")
        told = ("vector: no embeddings (run 'kebab embed')",)
        return replace(found, degraded=told, warnings=("'kebab x' it",))

    kb.answers["search"] = search

    def named(text: str) -> str:
        return text.replace("kebab ", "kebab --config C ")

    async with client_of(kb, form=Form.TEXT, named=named) as client:
        calls = [await client.call_tool("search", {"query": text}) for text in ("a", "none")]
    contents = [content for call in calls for content in call.content]
    said = "\n".join(one.text for one in contents if isinstance(one, types.TextContent))

    assert set(re.findall(r"'kebab [^']*'", said)) == {
        "'kebab embed'",
        "'kebab --config C embed'",
        "'kebab --config C x'",
        "'kebab --config C ingest'",
    }


async def test_commands_are_named_in_objects_as_in_text() -> None:
    kb = knowledge_base(document("a.md", "run 'kebab embed', ottera\n"))
    found = kb.search(in_passages(SearchQuery(text="ottera", mode=SearchMode.LEXICAL)))
    kb.answers["search"] = lambda *_, **__: replace(found, degraded=("run 'kebab embed'",))

    async with client_of(kb, form=Form.JSON, named=lambda text: text.upper()) as client:
        result = await client.call_tool("search", {"query": "ottera"})

    assert result.structured_content is not None
    assert result.structured_content["degraded"] == ["RUN 'KEBAB EMBED'"]
    assert "run 'kebab embed'" in result.structured_content["hits"][0]["snippet"]


@pytest.mark.parametrize("tool", ["explain_miss", "wait_for_fresh", "status", "cite_verify"])
async def test_commands_are_named_in_what_is_said_of_files(tool: str) -> None:
    kb, said = knowledge_base(document("a.md", "Otters.\n")), "or 'kebab ingest'"
    row: dict[str, Any] = {"doc_path": "a.md", "source_id": "n", "state": "pending", "detail": said}
    row |= {"size": 0, "mtime": "2026-01-01T00:00:00Z"}
    waits = {**kb.status(), "files": [row], "total": 1}
    check = kb.verify_citations(["a.md#L1"])
    kb.answers |= {
        "explain_miss": {
            **kb.explain_miss("a.md", SearchQuery(text="x", mode=SearchMode.LEXICAL)),
            "summary": said,
        },
        "wait_for_fresh": waits,
        "status": waits,
        "verify_citations": {**check, "checks": [{**check["checks"][0], "detail": said}]},
    }
    asked: dict[str, dict[str, Any]] = {
        "explain_miss": {"query": "x", "doc": "a.md"},
        "wait_for_fresh": {"paths": ["a.md"]},
        "cite_verify": {"citations": ["a.md#L1"]},
    }

    text = await told(
        kb, tool, asked.get(tool, {}), named=lambda it: it.replace("kebab", "kebab -C")
    )

    assert "'kebab -C ingest'" in text


@pytest.mark.parametrize("options", [{"form": "json"}, {"form": "text", "http": "127.0.0.1:0"}])
def test_only_one_conversation_can_be_remembered_unasked(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="--remember is for a server of text over pipes"):
        serve(knowledge_base(), remember=True, **options)


def test_what_the_command_takes_is_what_the_server_is_given() -> None:
    taken = signature(serve).parameters.values()
    of_what_is_opened, of_the_command = {"workspace"}, {"named"}

    given = (OPTIONS.keys() - of_what_is_opened) | of_the_command
    assert {one.name for one in taken if one.kind is one.KEYWORD_ONLY} == given


@given(st.lists(st.lists(st.integers(0, 400), max_size=9), max_size=150))
def test_a_name_reaches_back_and_no_further_than_it_may(answers: list[list[int]]) -> None:
    memory = Memory()
    given_, name = Given(), None
    for lines in answers:
        given_ = memory.given(name) or Given()
        name = memory.keep(given_, lines)

    known = memory.given(name)
    assert known is not None
    assert all(line in known for lines in answers[-100:] for line in lines)
    assert len(known.answers) <= 100


async def test_a_list_that_is_cut_says_where_it_goes_on() -> None:
    kb = knowledge_base(*(document(f"n/{n:03}.md", f"Otter {n}.") for n in range(200)))
    seen: list[str] = []
    offset = 0
    while True:
        text = await told(kb, "list_docs", {"offset": offset, "limit": 1000})
        seen += re.findall(r"^  (\d+\.md)", text, re.MULTILINE)
        found = re.search(r"^… ([\d,]+) more documents?: offset (\d+)$", text, re.MULTILINE)
        if found is None:
            break
        offset = int(found[2])
        assert offset == len(seen)

    assert seen == [f"{n:03}.md" for n in range(200)]


async def test_what_it_cannot_do_is_said_where_there_is_anything() -> None:
    body = (await call(knowledge_base(), "schema", {})).structured_content
    assert body is not None
    for able in (False, True):
        text = schema_text({**body, "capabilities": {"hybrid": able, "lexical": True}})

        assert ("\nit cannot: hybrid\n" in text) is not able
        assert ("it cannot" in text) is not able


async def test_queries_answered_apart_stand_under_their_own_heads() -> None:
    asked = {"queries": ["parse", "검색", {"query": "x", "path": "../x"}], "group": True}
    text = await told(knowledge_base(), "codebase_search", asked)

    heads = [line for line in text.splitlines() if line.startswith("# ")]
    assert heads == ["# 1. parse", "# 2. 검색", "# 3. x"]
    assert "src/parse.py:1-2" in text.partition("# 2.")[0]
    assert "failed: invalid_input" in text.partition("# 3.")[2]


# -------------------------------------------------------------------- exact text


def _matching(*counts: int, **fields: Any) -> dict[str, Any]:  # noqa: ANN401
    files = [
        {
            "doc_id": f"{at:032x}",
            "doc_path": f"src/file{at}.py",
            "source_id": "notes",
            "media": "code",
            "stale": False,
            "matches": matches,
            "omitted": 0,
            "lines": [
                {"line": n, "text": f"otter {n}", "is_match": True, "uri": f"src/file{at}.py#L{n}"}
                for n in range(1, matches + 1)
            ],
        }
        for at, matches in enumerate(counts)
    ]
    return {
        "schema_version": "grep_response.v1",
        "pattern": "otter",
        "case": "ignore",
        "files": files,
        "total_files": len(counts),
        "total_lines": sum(counts),
        "searched": 40,
        "complete": True,
        "truncated": False,
        "corpus_revision": 1,
        **fields,
    }


async def test_lines_stand_under_their_file_with_their_numbers() -> None:
    code = "import os\n\ndef ottera():\n    pass\n\nottera()\n"
    unit = {"kind": "unit", "start": 11, "end": 34, "symbol": "ottera", "symbol_kind": "function"}
    kb = knowledge_base(document("src/a.py", code, media="code", blocks=(unit,)))

    assert await told(kb, "grep", {"pattern": "ottera", "context": 1}) == (
        "2 lines in 1 file · case ignored\n"
        "src/a.py\n"
        "2-\n3: def ottera():\n4-     pass\n5-\n6: ottera()"
    )
    assert await told(kb, "grep", {"pattern": "ottera"}) == (
        "2 lines in 1 file · case ignored\nsrc/a.py\n3-4: def ottera():\n6: ottera()"
    )
    assert await told(kb, "grep", {"pattern": "Heron"}) == "no line matches, in 1 document"
    assert await told(kb, "grep", {"pattern": "ottera", "files_only": True}) == (
        "2 lines in 1 file · case ignored\nsrc/a.py · 2 matches"
    )


def test_a_line_of_pages_is_told_with_its_place_and_nothing_begins_at_the_margin() -> None:
    found = _matching(2)
    found["files"][0]["lines"] = [
        {"line": 7, "text": "error x: \x1b[31m", "is_match": True, "uri": "a.pdf#page=3"},
        {"line": 8, "text": "… 3 more files", "is_match": False},
    ]

    assert grep_text(found).split("\n")[2:] == [
        "  #page=3: error x: \\x1b[31m",
        "8- … 3 more files",
    ]


@given(
    counts=st.lists(st.integers(1, 60), min_size=1, max_size=60), max_tokens=st.integers(100, 3000)
)
def test_an_answer_of_lines_is_within_its_budget_and_counts_the_rest(
    counts: list[int], max_tokens: int
) -> None:
    text = grep_text(_matching(*counts), max_tokens)

    assert tokens_of(text) <= max_tokens
    shown = len(re.findall(r"^\d+: ", text, re.MULTILINE))
    shown += len(re.findall(r"^src/file\d+\.py:1: otter 1$", text, re.MULTILINE))
    files = re.findall(r"^src/file(\d+)", text, re.MULTILINE)
    assert files == [str(at) for at in range(len(files))]
    counted = re.findall(r"^src/file(\d+)\.py · (\d+) match(?:es)?$", text, re.MULTILINE)
    assert all(counts[int(at)] == int(lines) for at, lines in counted)
    assert (shown < sum(counts[: len(files)])) == bool(counted)
    rest = len(counts) - len(files)
    assert (f"… {count(rest, 'more file')}: " in text) == (rest > 0)
    if tokens_of(grep_text(_matching(*counts), 100_000)) <= max_tokens // 4:
        assert shown == sum(counts)


@pytest.mark.parametrize(
    "told",
    [{"is_definition": True, "unit_end": 20_480}, {"uri": "a.xlsx#sheet=Otters%202026&cells=A1"}],
)
def test_what_stands_before_lines_counts_as_what_they_say(told: dict[str, Any]) -> None:
    found = _matching(*[12] * 8)
    for line in (line for file in found["files"] for line in file["lines"]):
        line.update(told)

    for max_tokens in range(300, 900, 50):
        assert tokens_of(grep_text(found, max_tokens)) <= max_tokens


def test_lists_at_the_end_leave_room_where_there_is_little() -> None:
    found = _matching(*[3] * 20)
    for file in found["files"]:
        file["doc_path"] = f"packages/otters-and-herons/{file['doc_path']}"
        file["lines"][0]["text"] = "from dens import otter"
        file["lines"][0]["spans"], file["lines"][1]["spans"] = [[17, 22]], [[0, 5]]

    for max_tokens in (100, 110, 150, 300):
        text = grep_text(found, max_tokens)
        assert tokens_of(text) <= max_tokens
        assert "\nimported or listed: " in text


def test_a_line_that_is_said_twice_at_one_moment_has_one_place() -> None:
    found = _matching(2)
    said = {"text": "an otter", "is_match": True, "uri": "a.flac#t=0:01.000,0:09.000"}
    found["files"][0]["lines"] = [{**said, "line": 2}, {**said, "line": 5}]

    assert grep_text(found).split("\n")[2:] == ["  #t=0:01.000,0:09.000: an otter"]


async def test_passages_of_a_page_are_one_and_what_leads_there_is_what_is_printed() -> None:
    page = stored_span(PageSpan(7))
    text = "Otters swim.\n\nBeavers build.\n"
    made = document("zoo.pdf", text, media="pdf")
    kb = knowledge_base(
        replace(made, chunks=tuple(replace(chunk, span=page) for chunk in made.chunks))
    )

    fetched = await told(kb, "fetch", {"path": "zoo.pdf#page=7"})

    head, *lines = fetched.splitlines()
    assert head.partition(" · ")[0] == "zoo.pdf#page=7"
    assert head.count("id ") == 1
    assert lines == ["  Otters swim.", "", "  Beavers build."]
    for as_printed in ("zoo.pdf, page 7", "zoo.pdf p. 7", "zoo.pdf page=7"):
        assert await told(kb, "fetch", {"places": [as_printed]}) == fetched


@pytest.mark.parametrize("kind", ["notebook", "html"])
async def test_lines_of_a_file_are_no_numbers_of_a_text_that_has_others(kind: str) -> None:
    """A model cited lines of the text, which the file does not have: they were *gone*."""
    text = "Otters\nswim far.\nBeavers build.\n"
    made = document("zoo.ipynb", text, media=kind)
    place = stored_span(LineSpan(40, 80))
    kb = knowledge_base(
        replace(made, chunks=tuple(replace(chunk, span=place) for chunk in made.chunks))
    )

    found = await told(kb, "search", {"query": "otters swim", "mode": "lexical"})
    lines = await told(kb, "grep", {"pattern": "swim"})
    fetched = await told(kb, "fetch", {"places": ["zoo.ipynb#L40-L80"]})

    shown = "  Otters\n  swim far.\n  Beavers build."
    assert re.search(rf"^zoo\.ipynb#L40-L80 · .*\n{shown}$", found, re.MULTILINE)
    assert lines.endswith("\nzoo.ipynb\n  #L40-L80: swim far.")
    assert fetched.startswith("zoo.ipynb#L40-L80 · ")
    assert fetched.endswith(f"\n{shown}")


@pytest.mark.parametrize(
    "given", [{"places": ["zoo.html:42-90"]}, {"lines": "42-90"}, {"lines": 42}]
)
async def test_lines_of_a_file_are_all_passages_that_stand_there(given: dict[str, Any]) -> None:
    """One of as many lines as it has in the file is told without numbers, as others are."""
    texts = ["Otters swim.\n", "Beavers build.\n", "Moles dig.\n"]
    made = document("zoo.html", "\n".join(texts), media="html")
    places = [LineSpan(40, 42), LineSpan(43, 43), LineSpan(91, 99)]
    chunks = zip(made.chunks, places, strict=True)
    placed = tuple(replace(chunk, span=stored_span(place)) for chunk, place in chunks)
    kb = knowledge_base(replace(made, chunks=placed))

    place = given if "places" in given else {"path": "zoo.html", **given}
    fetched = await told(kb, "fetch", place)

    first = ["zoo.html#L40-L42", "  Otters swim."]
    both = [*first, "#L43", "  Beavers build."]
    said = [line.partition(" · ")[0] for line in fetched.split("\n")]
    assert said == (first if given == {"lines": 42} else both)
    refused = await told(kb, "fetch", {"path": "zoo.html", "lines": "100-"})
    assert refused.startswith("error span_not_supported: 'zoo.html' is html")


@pytest.mark.parametrize(
    "path", ["two  spaces.md", " led.md", "a\nb.md", "a\x1b[31mb.md", "C# x.md"]
)
async def test_a_path_is_printed_as_it_can_be_asked_for(path: str) -> None:
    kb = knowledge_base(document(path, "An otter.\n"))
    found = await told(kb, "search", {"query": "otter", "mode": "lexical"})

    printed = found.split("\n")[1]
    assert printed.endswith(":1 of 1")
    place = printed.removesuffix(" of 1")

    assert (await told(kb, "fetch", {"places": [place]})).endswith("\n1 An otter.")
    (row,) = (await told(kb, "list_docs", {})).split("\n")[2:]
    name = row.removeprefix("  ").partition(" · ")[0]
    assert (await told(kb, "fetch", {"path": name})).endswith("\n1 An otter.")


async def test_a_mailbox_says_what_is_within_it() -> None:
    """It has no text: that nothing was there was taken for an answer."""
    box = document("box.mbox", "", media="mail")
    letter = document("box.mbox!/a.eml", "An otter.\n", media="mail", container="box.mbox")
    kb = knowledge_base(box, letter)

    assert await told(kb, "fetch", {"path": "box.mbox"}) == (
        "box.mbox · no text of its own; 1 document within it, to be fetched by path\n"
        "  box.mbox!/a.eml"
    )


def test_why_a_document_was_missed_is_said_once() -> None:
    why = "'a.env' is skipped: secret_suspected: it may hold credentials"
    file = {"state": "skipped", "reason": "secret_suspected", "detail": "it may hold credentials"}

    assert miss_text({"doc_path": "a.env", "summary": why, "file": file}) == why


def test_one_file_more_is_one() -> None:
    found = _matching(1, total_files=2, total_lines=2)

    assert grep_text(found).endswith(
        "… 1 more file: give path or a filter, files_only, or max_tokens"
    )


async def test_a_pattern_is_said_again_as_it_was_written() -> None:
    text = await told(knowledge_base(), "grep", {"pattern": r"\w+\(("})

    assert text.startswith(r"error invalid_input: pattern '\w+\((' has a ( that nothing closes")


def test_of_many_lines_some_of_each_file_are_told() -> None:
    text = grep_text(_matching(400, 300, 2), 500)

    heads = [
        "src/file0.py · 400 matches\n",
        "src/file1.py · 300 matches\n",
        "src/file2.py\n",
    ]
    assert all(f"{head}1: otter 1\n" in text for head in heads)
    assert text.endswith("1: otter 1\n2: otter 2")


@pytest.mark.parametrize(("missing", "said"), [(1, "1 passage found"), (2, "2 passages found")])
def test_passages_that_wait_for_embeddings_are_counted(missing: int, said: str) -> None:
    assert ingest_text({"new": 1, "embeddings_missing": missing}).startswith(
        f"1 new · {said} by words alone as yet"
    )
