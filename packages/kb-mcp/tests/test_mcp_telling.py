"""What text tells where nothing was asked for: the lines that answer, and no more than that."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from kb_app import KnowledgeBase
from kb_app._search.grep import grep
from kb_app.shown import NO_ANSWER
from kb_core import wire
from kb_core.ids import text_hash
from kb_core.media import SearchMode
from kb_core.records import ChunkRecord, DocumentRecord
from kb_core.search import SearchQuery
from kb_core.testing.documents import document
from kb_mcp._tool import in_passages
from kb_mcp.testing import call, knowledge_base, told
from kb_mcp.text import tokens_of
from kb_mcp.text.hits import bulk_text, search_text
from kb_mcp.text.lines import grep_text
from kb_mcp.text.pieces import Piece
from kb_mcp.text.reports import PLACES
from kb_mcp.text.telling import Telling

SWIMS = "\n".join(f"    step({n})" for n in range(60))
LONG = f"def paddle():\n{SWIMS}\n    return otter_depth * 3\n"


async def test_of_a_long_passage_the_lines_with_the_words_of_the_query_are_told() -> None:
    kb = knowledge_base(document("src/swim.py", LONG))

    text = await told(kb, "search", {"query": "depth of an otter"})
    whole = await told(kb, "search", {"query": "depth of an otter", "max_tokens": 2000})

    head, *lines = text.splitlines()[1:]
    assert head.startswith("src/swim.py:1-62 of 62")
    assert lines[-1] == "62     return otter_depth * 3"
    assert len(lines) < 45
    assert all(f"{n}     step({n - 2})" in whole for n in range(2, 62))


async def test_a_passage_of_one_long_line_is_told_around_what_was_asked() -> None:
    """As of a file whose text is a single line: it was named, without a word of it."""
    kb = knowledge_base(document("log.md", f"{'lorem ipsum ' * 200}otter {'dolor sit ' * 200}\n"))

    head, line, *_ = (await told(kb, "search", {"query": "otter"})).splitlines()[1:]

    assert head.startswith("log.md:1 of 1")
    assert line.startswith("1 …")
    assert " otter " in line
    assert line.endswith("…")


def _in_parts(text: str, size: int) -> tuple[ChunkRecord, ...]:
    """Return chunks of a text of one line."""
    return tuple(
        ChunkRecord(
            chunk_id=text_hash(f"{start} {text}"),
            ordinal=start // size,
            start=start,
            end=start + size,
            text=text[start : start + size],
            line_start=1,
            line_end=1,
            token_count=size,
            span=None,
            context="",
            passage_hash=text_hash(text[start : start + size]),
        )
        for start in range(0, len(text), size)
    )


async def test_parts_of_one_line_have_ids_and_are_fetched_by_them() -> None:
    text = "".join(f"{f'otter {n}':<40}" for n in range(400))
    kb = knowledge_base(document("log.md", text, chunks=_in_parts(text, 400)))
    found = await told(kb, "search", {"query": '"otter 217"'})
    (name,) = re.findall(r"^log\.md:1 of 1 · id ([0-9a-f]{8})$", found, re.MULTILINE)[:1]

    by_id = await told(kb, "fetch", {"chunk": name})
    by_line = await told(kb, "fetch", {"path": "log.md", "lines": "1", "max_tokens": 120})

    assert by_id.startswith("log.md:1\n  otter 210 ")
    assert "otter 217 " in by_id
    assert "otter 220 " not in by_id
    assert by_line.startswith("log.md:1-1 of 1\n1 otter 0 ")
    assert by_line.splitlines()[-1].startswith("… this line goes on: give max_tokens")


def test_a_passage_without_a_word_has_no_line_that_tells() -> None:
    """A row of signs may be near to a query by its vector."""
    hit = {"media": "markdown", "doc_path": "a.md"}
    signs, says = ("*** --- ***\n\n" * 20, "An otter swims.\n")
    pieces = [
        Piece(hits=(hit,), text=text, start=0, end=len(text), first=1) for text in (signs, says)
    ]

    picked = Telling("otter", pieces).picked({0: 1, 1: 1}, 1000)

    assert [*picked] == [1]


@pytest.mark.parametrize(
    ("line", "is_told"),
    [
        (" * @since 3.0", False),
        ("    // @access private", False),
        ("} else {", False),
        (" * @param seconds how long an otter dives", True),
        ("@app.route('/dens')", True),
        ("return False", True),
    ],
)
def test_a_line_that_only_says_that_it_is_there_tells_nothing(line: str, is_told: bool) -> None:
    hit = {"media": "code", "doc_path": "a.js"}
    text = f"how far\n{line}\nan otter dives\n{'x ' * 400}\n"
    piece = Piece(hits=(hit,), text=text, start=0, end=len(text), first=1)

    picked = Telling("otter", [piece]).picked({0: 1}, 200)[0]

    assert (f"2 {line}" in picked.lines()) is is_told


def test_a_line_that_says_what_another_said_is_not_told_again() -> None:
    """Such as that of a copy of the file, or of what was made of it."""
    said, short = "An otter holds its breath for eight minutes at most.", "An otter swims."
    texts = [f"{said}\n{short}\n{own}\n{'x ' * 400}\n" for own in ("Otter one.", "Otter two.")]
    hit = {"media": "markdown", "doc_path": "a.md"}
    pieces = [Piece(hits=(hit,), text=text, start=0, end=len(text), first=1) for text in texts]

    picked = Telling("otter breath", pieces).picked({0: 1, 1: 1}, 400)
    first, second = ("\n".join(picked[at].lines()) for at in (0, 1))

    assert said in first
    assert said not in second
    assert short in first
    assert short in second
    assert "Otter two." in second


async def test_what_gives_a_name_a_value_tells_more_and_what_says_nothing_is_not_told() -> None:
    uses = "\n".join(f"    dive(otter_depth, {n})\n    )" for n in range(40))
    kb = knowledge_base(document("src/swim.py", f"def paddle():\n{uses}\n    otter_depth = 30\n"))

    text = await told(kb, "search", {"query": "otter depth"})

    head, *lines = text.splitlines()[1:]
    assert head.startswith("src/swim.py:1-82 of 82")
    assert lines[-1] == "82     otter_depth = 30"
    assert not [line for line in lines if line.endswith(" )")]


async def test_a_value_is_told_with_what_is_said_of_it_before_or_after() -> None:
    uses = "\n".join(f"    step({n}, otter)" for n in range(60))
    said = '_A = 7\n"""How deep an otter dives."""\n# How deep an otter swims.\n_B = 8\n'
    kb = knowledge_base(document("src/swim.py", f"def paddle():\n{uses}\n{said}"))

    text = await told(kb, "search", {"query": "how deep an otter dives or swims"})

    assert "_A = 7\n" in text
    assert text.endswith("_B = 8")


@pytest.mark.parametrize("given", ["MOST_AGES: Final = ages(of)", "    lost = None"])
async def test_a_value_of_any_kind_is_told_with_what_is_said_of_it(given: str) -> None:
    code = f"class Otter:\n    #: How old an otter may be.\n{given}\n{SWIMS}\n{SWIMS}\n"

    text = await told(knowledge_base(document("o.py", code)), "search", {"query": "how old otter"})

    assert given.strip() in text


async def test_lines_of_code_that_tell_have_no_margin_that_all_of_them_have() -> None:
    inner = "\n".join(f"        step({n})" for n in range(90))
    code = f"class A:\n\n    def swim(of, otter):\n{inner}\n        return otter\n"
    kb = knowledge_base(document("src/a.py", code))

    text = await told(kb, "search", {"query": "otter"})

    assert "\n3 def swim(of, otter):\n" in text
    assert text.endswith("\n94     return otter")


async def test_in_prose_what_follows_a_sentence_that_tells_is_told_with_it() -> None:
    filling = "Nothing of note happened on that day. " * 40
    kb = knowledge_base(
        document("a.md", f"{filling}Where did the otter sleep? By the old weir. {filling}\n")
    )

    text = await told(kb, "search", {"query": "where did the otter sleep"})

    assert "Where did the otter sleep? By the old weir." in text


def test_of_a_table_the_rows_that_tell_are_told_with_its_head_and_not_their_neighbours() -> None:
    otter = "| otter | 3.5 | seen by the weir at dusk, and at the mill in the morning |"
    rows = ("| mink | 1.5 |", "| heron | 0 |", otter, "| vole | 2 |", "| coot | 4 |")
    text = "\n".join(("| animal | depth | remarks |", "|---|---|---|", *rows))
    piece = Piece(hits=({"media": "markdown"},), text=text, start=0, end=len(text), first=1)

    picked = Telling("do otter or mink dive", [piece]).picked({0: 10}, 170)

    assert picked[0].told is not None
    assert picked[0].told == ("1 | animal | depth | remarks |", f"3 {rows[0]}", f"5 {otter}")


def test_a_row_is_told_whole_and_without_what_sets_its_columns() -> None:
    """Of a table with wide columns a row was a sentence of its last cell, without its name."""
    rows = [f"| {name:^40} | {'1':^90} | {said:90} |" for name, said in (
        ("otter", "Swims by the weir. Seen at dusk."), ("mink", "Swims by the mill. Rare."),
    )]  # fmt: skip
    text = "\n".join(rows)
    piece = Piece(hits=({"media": "markdown"},), text=text, start=0, end=len(text), first=1)

    picked = Telling("where does an otter swim", [piece]).picked({0: 10}, 130)

    assert picked[0].told == (
        "1 | otter | 1 | Swims by the weir. Seen at dusk. |",
        "2 | mink | 1 | Swims by the mill. Rare. |",
    )


def test_lines_of_the_first_passages_compete_and_of_the_next_where_those_were_given() -> None:
    notes = [document(f"n/{n}.md", f"Otter {n} swims by.\n" + "x\n" * 600) for n in range(20)]
    query = in_passages(SearchQuery(text="otter swims", mode=SearchMode.LEXICAL, k=20))
    found = wire.search_response(knowledge_base(*notes).search(query))

    first = search_text(found, about="otter swims")
    again = search_text(found, given=set(first.lines), about="otter swims")

    shown, new = (re.findall(r"Otter \d+ swims", one.text) for one in (first, again))
    assert 1 < len(shown) <= 7
    assert len(new) > 1
    assert not set(new) & set(shown)


def test_a_sentence_over_several_lines_is_told_whole_from_where_it_begins() -> None:
    dug = "Nobody knows why\n(so far).\nOtters dig dens\nby the WEIR\nat dusk. They\nswim.\n"
    listed = "- otter dens\n  of old\n- weirs\n\nOTTERS\nswim.\n\n"
    listed += "```\notter dens\nweirs\n```\nDens: otters\nAge: 3\n"
    listed += "May 1 10:00 otter dens shut\nMay 2 11:00 otter dens open\n2 otters\n"
    text = f"{dug}\n{listed}{'x ' * 400}\n"
    hit = {"media": "markdown", "doc_path": "a.md"}
    piece = Piece(hits=(hit,), text=text, start=0, end=len(text), first=1)

    shown = Telling("otter dens", [piece]).picked({0: 1}, 600)[0].lines()

    assert [line for line in shown if "ens" in line or "OTT" in line] == [
        "3 Otters dig dens by the WEIR at dusk. They swim.",
        "8 - otter dens of old",
        "12 OTTERS",
        "16 otter dens",
        "19 Dens: otters",
        "21 May 1 10:00 otter dens shut",
        "22 May 2 11:00 otter dens open",
    ]


async def test_of_a_long_line_of_prose_the_sentences_that_tell_are_told() -> None:
    filling = "Nothing of note happened on that day. " * 25
    note = f"{filling}The otter slept. {filling}\n"
    kb = knowledge_base(document("a.md", note))

    text = await told(kb, "search", {"query": "where did the otter sleep"})

    assert re.search(r"^1 .*… .*day\. The otter slept\.", text, re.MULTILINE)
    assert len(text) < len(note) / 2


@pytest.mark.parametrize("asked", [{}, {"max_tokens": 2000}], ids=["lines", "whole"])
async def test_of_copies_there_is_one_which_says_where_the_others_are(
    asked: dict[str, Any],
) -> None:
    said = "\n".join(f"Otters dig den number {n} by the old weir." for n in range(9))
    copies = [document(f"v{n}/otter.md", f"**Copy**\n\n{said}\n") for n in range(4)]
    kb = knowledge_base(
        document("otter.md", f"{said}\nCopy.\n"), *copies, document("b.md", "Weir.")
    )

    text = await told(kb, "search", {"query": "otters den weir", "mode": "lexical", **asked})

    head = text.splitlines()[1]
    assert head == ("otter.md:1-10 of 10 · same text in v0/otter.md:3-11, v1/otter.md:3-11, +2")
    assert text.count("otter.md") == 3
    assert "b.md:1" in text


async def test_the_best_passages_are_told_and_of_the_others_there_is_a_line_or_their_number() -> (
    None
):
    swims = "Otters swim on. " * 60
    notes = [document(f"n/{n}.md", f"Otters of sea {n}. {swims}\n") for n in range(30)]
    kb = knowledge_base(*notes)

    text = await told(kb, "search", {"query": "otters sea", "mode": "lexical", "k": 30})

    shown, _, also = text.partition("\nalso:\n")
    blocks = re.split(r"^n/", shown, flags=re.MULTILINE)[1:]
    assert len(blocks[0]) > len(blocks[-1])
    assert all("Otters of sea" in block for block in blocks)
    named = re.findall(r"\bn/\d+\.md", also)
    (rest,) = re.findall(r"^… (\d+) more of these", also, re.MULTILINE)
    assert len(blocks) + len({*named}) + int(rest) == 30
    assert len(text) < 1400


async def test_places_without_a_line_of_their_own_are_named_below_one_answer() -> None:
    """Whole notes by their paths; what a path says of a heading is not said again."""
    swims = "Otters swim on. " * 60
    notes = [document(f"{n}.md", f"Otters of sea {n}. {swims}\n") for n in range(20)]
    notes += [document(f"sea {n}.md", f"# Sea {n}\n\nOtters. {n} {swims}\n") for n in range(9)]
    kb = knowledge_base(*notes)

    asked = {"mode": "lexical", "k": 29}
    seas = await told(kb, "search", {"query": "otters", **asked})
    numbers = await told(kb, "search", {"query": "otters of sea", **asked})

    *_, named = re.findall(r"^(?:also:|  )(.*\.md.*)", seas, re.MULTILINE)
    assert len(re.findall(r"\.md(?::3)?(?:, |$)", named)) >= 3
    assert "Sea" not in named
    *_, named = re.findall(r"^(?:also:|  )(.*\.md.*)", numbers, re.MULTILINE)
    assert re.fullmatch(r" ?\d+\.md(?:, \d+\.md){3,4}", named)


async def test_of_front_matter_there_are_lines_with_words_of_the_query_alone() -> None:
    front = "---\ntitle: Holts\ntags: [river, notes]\nupdated: 2026-01-02\nrating: 4\n---\n"
    kb = knowledge_base(
        document("a.md", f"{front}\n# Holts\n\nBanks that are dug.\n\nRoots above water.\n"),
        document("b.md", "Otters.\n" * 2),
    )

    plain = await told(kb, "search", {"query": "dug banks", "mode": "lexical"})
    rated = await told(kb, "search", {"query": "banks by rating", "mode": "lexical"})

    assert "7" not in plain
    assert "tags" not in plain
    assert "2026" not in plain
    assert "Banks that are dug." in plain
    assert "5 rating: 4" in rated


def test_a_heading_with_words_of_the_query_tells_of_the_rows_below_it() -> None:
    """*Cheapest quote*: under *Quotes*, rows say firms and prices, and not that they are quotes."""
    rows = "| firm | price |\n|---|---|\n| Otter | 14,380 |\n| Holt | 12,960 |\n"
    text = f"## Quotes\n\n{rows}\n{'Fitted in August, all is well. ' * 9}\n"
    passage = {"text": text, "start": 40, "lines": 60}
    hit = {
        "media": "markdown", "doc_path": "windows.md", "heading_path": ["Windows", "Quotes"],
        "passage": passage, "citation": {"line_start": 27},
    }  # fmt: skip

    told = Telling("cheapest quotes", [Piece.of(hit)]).picked({0: 30}, 120)[0]

    assert "31 | Otter | 14,380 |" in told.lines()


async def test_a_line_of_a_later_passage_that_tells_more_goes_before_one_of_the_first() -> None:
    said = "\n".join(f"An otter was seen at weir {n}." for n in range(40))
    kb = knowledge_base(
        document("a.md", f"# Otters\n\n{said}\n"),
        document("b.py", "SEEN = 3\nOTTER_BURROW = 7\n" + "x = 1\n" * 40),
    )

    text = await told(kb, "search", {"query": "otter seen burrow", "mode": "lexical"})

    assert "\n2 OTTER_BURROW = 7" in text
    assert "x = 1" not in text


async def test_what_all_of_several_answers_are_without_is_said_once_and_their_rest_is_counted() -> (
    None
):
    swims = "Otters swim on past the old weir at dusk, and nobody minds them. " * 12
    notes = [document(f"n/{n}.md", f"Otters of sea {n}. {swims}\n") for n in range(10)]
    asked = [SearchQuery(text=text, mode=SearchMode.LEXICAL) for text in ("otters sea", "weir")]
    found = [knowledge_base(*notes).search(in_passages(query)) for query in asked]
    bare = [replace(one, degraded=("no vectors",)) for one in found]

    text = bulk_text(wire.bulk_search_response([{"query": q.text} for q in asked], bare)).text

    assert text.count("degraded: no vectors") == 1
    assert re.search(r"^… \d+ more found$", text, re.MULTILINE)
    assert len(text) < 1500


async def test_below_each_of_several_answers_stand_places_that_it_does_not_show() -> None:
    parts = "\n\n".join(
        f"## Part {n}\n\nOtters dig dens, {n}. {'And more. ' * 60}" for n in range(9)
    )
    kb = knowledge_base(
        document("a.md", f"# Notes\n\n{parts}\n"),
        document(
            "b/den.py", "class Den:\n    def dig(self, otters):\n        return otters, 'dens'\n"
        ),
    )

    text = await told(kb, "search", {"queries": ["otters dig dens", "parts"], "mode": "lexical"})

    first, second = text.split("# 2. ")
    (also,) = re.findall(r"^also: (.*)$", first, re.MULTILINE)
    shown = set(re.findall(r"^(?:a\.md)?:(\d+)", first, re.MULTILINE))
    places = re.findall(r"(\S+?):(\d+)-?\d* (Part \d|dig|Den)", also)
    assert len(places) == 2
    assert places[0][0] == "b/den.py" or "b/den.py" in first.split("also:")[0]
    assert shown.isdisjoint(line for path, line, _ in places if path == "a.md")
    assert second


async def test_that_nothing_seems_to_answer_one_of_several_stands_under_its_head() -> None:
    """Below its passages it would read as a line of them."""
    kb = knowledge_base(document("a.md", "# Otters\n\nOtters dig dens at the weir.\n"))
    response = wire.search_response(
        kb.search(in_passages(SearchQuery(text="otters weir", mode=SearchMode.LEXICAL)))
    )
    doubtful = {**response, "confidence": 0.01}
    results = [{"query": {"query": "q"}, "response": doubtful, "error": None}] * 2

    lines = bulk_text({"results": results}).text.split("\n")

    assert lines[1] == NO_ANSWER


async def test_a_line_of_tags_alone_tells_nothing() -> None:
    said = "\n".join(f"Sentence {n} about beasts of the river." for n in range(40))
    text = f'## dig\n\n<a id="dig-otter-dens"></a>\n{said}\nOtters dig <b>dens</b> there.\n'

    shown = await told(
        knowledge_base(document("a.md", text)),
        "search",
        {"query": "otter dig dens", "mode": "lexical"},
    )

    assert "<a id=" not in shown
    assert "Otters dig <b>dens</b> there." in shown


async def test_what_is_named_in_a_line_of_its_own_is_not_named_again() -> None:
    swims = "Otters swim on past the old weir at dusk, and nobody minds them. " * 12
    kb = knowledge_base(*(document(f"n/{n}.md", f"Otters of sea {n}. {swims}\n") for n in range(9)))

    text = await told(kb, "search", {"queries": ["otters sea", "weir"], "max_tokens": 700})

    assert all(part.count("also:") <= 1 for part in text.split("# 2. "))


async def test_grouped_code_has_so_many_results_for_each_query() -> None:
    files = [document(f"m{n}.py", f"def dig_{n}(otter):\n    return {n}\n") for n in range(8)]
    files += [document(f"s{n}.py", f"def swim_{n}(seal):\n    return {n}\n") for n in range(8)]
    asked = {"queries": ["dig otter", "swim seal"], "group": True, "max_tokens": 1000}

    text = await told(knowledge_base(*files), "codebase_search", {**asked, "maxResults": 3})

    assert [len(re.findall(rf"^{name}\d\.py:", text, re.MULTILINE)) for name in "ms"] == [3, 3]


async def test_a_passage_without_a_word_of_the_query_is_told_by_its_first_lines() -> None:
    """It was found by what it means."""
    said = "\n".join(f"Sentence number {n} about a beast in the river." for n in range(60))
    hit = wire.search_response(
        knowledge_base(document("a.md", f"Beasts.\n{said}\n")).search(
            in_passages(SearchQuery(text="beast", mode=SearchMode.LEXICAL))
        )
    )

    text = search_text(hit, about="수달은 어디에 사는가").text

    assert "number 0" in text
    assert "number 3" in text
    assert "number 59" not in text


async def test_one_question_in_a_list_is_answered_as_one() -> None:
    kb = knowledge_base(document("a.md", "Otters sleep by the weir.\n"))

    alone = await told(kb, "search", {"query": "otters", "mode": "lexical"})

    assert await told(kb, "search", {"queries": ["otters"], "mode": "lexical"}) == alone


async def test_the_same_line_in_a_file_is_told_once_and_a_line_alone_beside_its_path() -> None:
    raising = document("src/a.py", "    raise Otter\n" * 3)
    kb = knowledge_base(raising, document("src/b.py", "otter = 1\n"))

    assert await told(kb, "grep", {"pattern": "otter"}) == (
        "4 lines in 2 files · case ignored\nsrc/b.py:1: otter = 1\nsrc/a.py:1, 2, 3: raise Otter"
    )


async def test_each_text_that_matches_has_a_line_before_one_that_is_everywhere_has_two() -> None:
    deep = "as deep as the river goes and then some more " * 2
    often = ["\n".join(f"dive(otter, {at}.{n}, '{deep}')" for n in range(9)) for at in range(10)]
    files = [document(f"src/{n}.py", f"{often[n]}\n") for n in range(9)]
    files.append(document("src/rare.py", f"{often[9]}\nBURROW = 7\n"))

    text = await told(knowledge_base(*files), "grep", {"pattern": "otter|BURROW"})

    assert "\n10: BURROW = 7" in text
    assert text.count("dive(otter") > 9
    assert len(text) < 5200


async def test_of_lines_with_one_text_what_gives_a_value_goes_before_what_only_lists_names() -> (
    None
):
    uses = "".join(f"wait(MOST_SECS, {n})\n" for n in range(60))
    text = f'__all__ = ["MOST_SECS"]\nwait(MOST_SECS)\nMOST_SECS = 30.0\n{uses}'
    kb = knowledge_base(*(document(f"{n}.py", f"# {n}\n{text}") for n in range(9)))

    told_of = await told(kb, "grep", {"pattern": "MOST_", "max_tokens": 400})

    assert told_of.count("4: MOST_SECS = 30.0") > 3
    assert "__all__ =" not in told_of


async def test_where_there_is_no_room_for_lines_around_them_the_lines_that_match_are_told() -> None:
    files = [
        document(f"src/{n}.py", "\n".join(f"before{m} = {m}\notter{m} = {m}" for m in range(9)))
        for n in range(30)
    ]

    text = await told(knowledge_base(*files), "grep", {"pattern": "otter", "context": 2})

    blocks = re.split(r"^src/", text, flags=re.MULTILINE)[1:]
    assert len(blocks) > 9
    assert all(re.search(r"^\d+: otter", block, re.MULTILINE) for block in blocks)


@pytest.mark.parametrize(("many", "most"), [(1, 400), (5, 400), (9, 240), (20, 160)])
async def test_of_a_long_line_there_is_what_stands_around_the_match(many: int, most: int) -> None:
    words = "word " * 150 + "otter{}" + " word" * 150
    kb = knowledge_base(*(document(f"{n:02}.md", words.format(n)) for n in range(many)))

    _, *said = (await told(kb, "grep", {"pattern": "otter"})).split("\n")

    shown = [line.partition(": ")[2] for line in said if "otter" in line]
    assert len(shown) == many
    for line in shown:
        assert re.fullmatch(r"…?(word )+otter\d+( wo?r?d?)+…", line)
        assert most - 40 < len(line) <= most + 2


@pytest.mark.parametrize(
    ("said", "is_first"),
    [
        ("this[kDepth] = otterDepth != null ? otterDepth : 300e3", True),
        ("dive(otterDepth=30)", True),
        ("if otterDepth == 30:", False),
        ("at = dive(otterDepth, 0)", False),
    ],
)
async def test_of_many_lines_one_that_gives_a_number_is_told_before_others(
    said: str, *, is_first: bool
) -> None:
    """It may be the default that was looked for, below twenty checks of it."""
    checks = "".join(f"check{'ing' * (n + 1)}(otterDepth)\n" for n in range(30))
    kb = knowledge_base(document("a.js", f"{checks}{said}\n", media="code"))

    shown = await told(kb, "grep", {"pattern": "otterDepth", "max_tokens": 200})

    assert "checking(otterDepth)" in shown
    assert (said in shown) is is_first


async def test_places_that_are_fetched_at_once_are_whole_or_named() -> None:
    text = "".join(f"step({n})  # and so on, as far as it goes\n" for n in range(900))
    kb = knowledge_base(document("a.py", text), document("b.py", text))
    ranges = ["1-60", "101-130", "201-349", "450-598", "850-900"]

    places = [f"a.py:{one}" for one in ranges]
    told_of = await told(kb, "fetch", {"places": places})
    more = await told(kb, "fetch", {"places": ["a.py:201-800", "b.py:1-9"], "max_tokens": 9000})

    assert re.findall(r"^a\.py:\d+-\d+ of 900$", told_of, re.MULTILINE) == [
        f"a.py:{ranges[at]} of 900" for at in (0, 1, 2, 4)
    ]
    assert "cut" not in told_of
    last = told_of.rpartition("\n")[2]
    said = "… left out: a.py:450-598: fetch them apart, or all with max_tokens "
    assert last.startswith(said)
    tokens = int(last.removeprefix(said))
    all_of_it = await told(kb, "fetch", {"places": places, "max_tokens": tokens})
    assert "left out" not in all_of_it
    assert tokens_of(all_of_it) > tokens - 160
    assert "800 step(799)" in more


async def test_of_several_places_a_file_that_no_answer_holds_is_told_in_outline() -> None:
    part = f"{'said and done. ' * 40}\n\n"
    text = "".join(f"# Part {n:02}\n\n{part}" for n in range(60))
    size = len(text) // 60
    blocks = tuple(
        {"kind": "heading", "start": size * n, "end": size * n + 9, "level": 1,
         "heading_path": [f"Part {n:02}"]}
        for n in range(60)
    )  # fmt: skip
    kb = knowledge_base(document("a.md", text, blocks=blocks), document("b.md", "b\n"))

    told_of = await told(kb, "fetch", {"places": ["a.md", {"path": "b.md"}, "a.md:3-3"]})
    whole = await told(kb, "fetch", {"places": ["a.md", "b.md"], "max_tokens": 20_000})

    assert "Part 07" in told_of
    assert len(re.findall(r"^\d+ said and done", told_of, re.MULTILINE)) == 1
    assert "left out" not in told_of
    assert "# Part 59" in whole


def _classes() -> DocumentRecord:
    """Return code of ten classes of 61 lines, each with a method at its end."""
    code = "".join(f"class Otter{n}:\n{SWIMS}\n" for n in range(10))
    starts = [code.index(f"class Otter{n}") for n in range(10)]
    blocks = []
    for n, (at, end) in enumerate(zip(starts, [*starts[1:], len(code)], strict=True)):
        blocks.append({"kind": "unit", "start": at, "end": end, "symbol": f"Otter{n}", "level": 1})
        last = code.index("    step(59)", at)
        blocks.append(
            {"kind": "unit", "start": last, "end": end, "symbol": f"Otter{n}.swim", "level": 2}
        )
    return document("a.py", code, media="code", blocks=tuple(blocks))


async def test_of_several_places_the_longest_is_told_in_outline_until_all_have_room() -> None:
    """It was left out, so that readers gave max_tokens for all that they had guessed."""
    kb = knowledge_base(_classes())
    places = ["a.py", "a.py:1-61", "a.py:100-404"]

    shown = await told(kb, "fetch", {"places": places})
    alone = await told(kb, "fetch", {"places": places[1:]})
    limited = await told(kb, "fetch", {"places": places, "max_tokens": 4_000})

    head, *rows = shown.splitlines()[:21]
    assert head.startswith("a.py of 610 lines · its outline")
    assert rows[:2] == ["  1-61 Otter0", "    61 swim"]
    assert rows[-1] == "    610 swim"
    assert shown.endswith(alone)
    assert "left out" not in shown
    assert "left out: a.py:1-610" in limited


async def test_lines_that_are_asked_for_are_no_outline_unless_many_have_little_room() -> None:
    body = "".join(f"    step({n}, 'with both hands at the same time')\n" for n in range(40))
    parts = [f"def swim{n}():\n{body}" for n in range(12)]
    starts = [sum(map(len, parts[:n])) for n in range(13)]
    blocks = tuple(
        {"kind": "unit", "start": at, "end": end, "symbol": f"swim{n}", "level": 1}
        for n, (at, end) in enumerate(pairwise(starts))
    )
    kb = knowledge_base(document("a.py", "".join(parts), media="code", blocks=blocks))

    few = await told(kb, "fetch", {"places": ["a.py:1-123", "a.py:124-246", "a.py:247-369"]})
    many = await told(kb, "fetch", {"places": ["a.py:1-205", "a.py:206-328", "a.py:329-451"]})
    room = await told(kb, "fetch", {"places": ["a.py:1-246", "a.py:247-287"]})

    assert few.startswith("a.py:1-123 of 492\n")
    assert "its outline" not in few
    assert many.startswith("a.py:1-205 of 492 · its outline")
    begun, _, rest = room.partition("\na.py:247-287 of 492\n")
    assert begun.startswith("a.py:1-246 of 492\n1 def swim0():\n")
    cut = re.search(r"\n(\d+) .*\n… cut: lines (\d+)-246 are there, too$", begun)
    assert cut is not None
    assert int(cut[2]) == int(cut[1]) + 1 > 150
    assert rest.count("\n") == 40
    assert tokens_of(room) <= PLACES


async def test_a_class_that_no_answer_holds_is_told_in_outline_by_its_name() -> None:
    code = "class Otter:\n" + "".join(f"    def swim{n}(self):\n{SWIMS}\n" for n in range(20))
    starts = [code.index(f"    def swim{n}(") for n in range(20)]
    blocks = [{"kind": "unit", "start": 0, "end": 12, "symbol": "Otter", "level": 1}]
    for n, (at, end) in enumerate(zip(starts, [*starts[1:], len(code)], strict=True)):
        blocks.append(
            {"kind": "unit", "start": at, "end": end, "symbol": f"Otter.swim{n}", "level": 2}
        )
    kb = knowledge_base(document("a.py", code, media="code", blocks=tuple(blocks)))

    head, *rows = (await told(kb, "fetch", {"path": "a.py#Otter"})).splitlines()
    by_lines = await told(kb, "fetch", {"path": "a.py", "lines": "1-1221"})
    in_a_list = [await told(kb, "fetch", {"places": [at]}) for at in ("a.py#Otter", "a.py:1-1221")]

    assert head.startswith("a.py:1-1221 of 1221 · its outline")
    assert rows[0] == "  1-1221 Otter"
    assert rows[-1] == "    1161-1221 swim19"
    assert "2     def swim0(self):" in by_lines
    assert ["its outline" in text for text in in_a_list] == [True, False]


async def test_a_function_with_little_within_it_is_no_outline() -> None:
    code = f"def main():\n{SWIMS}\n    def stop():\n        pass\n\n    def wait():\n{SWIMS}\n"
    code = code.replace("step(", "carefully_step_over_every_otter_and_beaver_that_sleeps_here(")
    block = {"kind": "unit", "start": 0, "end": len(code), "symbol": "main", "level": 1}
    kb = knowledge_base(document("a.py", code * 3, media="code", blocks=(block,)))

    shown = await told(kb, "fetch", {"path": "a.py#main"})

    assert shown.startswith("a.py:1-125 of 375\n1 def main():")
    assert "cut: lines " in shown


async def test_of_places_without_room_for_all_the_first_ones_are_told() -> None:
    text = "".join(f"step({n})  # and so on, as far as it goes\n" for n in range(900))
    kb = knowledge_base(document("a.py", text))
    places = ["a.py:1-60", "a.py:101-140", "a.py:201-300", "a.py:401-420"]

    shown = await told(kb, "fetch", {"places": places, "max_tokens": 1_500})

    assert re.findall(r"^a\.py:(\d+)-", shown, re.MULTILINE) == ["1", "101"]
    assert "left out: a.py:201-300, a.py:401-420:" in shown


async def test_a_place_that_comes_twice_is_told_once() -> None:
    kb = knowledge_base(document("a.py", "".join(f"step({n})\n" for n in range(90))))

    text = await told(kb, "fetch", {"places": ["a.py:3-9", "a.py#L3-L9", "a.py:3-8"]})

    assert text.count("9 step(8)") == 1
    assert "\na.py:3-9 of 90 · as above\na.py:3-8 of 90\n3 step(2)" in text


async def test_a_document_that_is_too_long_is_told_in_outline_unless_tokens_were_given() -> None:
    code = "\n\n".join(f"def otter{n}():\n{SWIMS}" for n in range(9))
    starts = [code.index(f"def otter{n}()") for n in range(9)]
    units = tuple(
        {"kind": "unit", "start": at, "end": at + 900, "symbol": f"otter{n}"}
        for n, at in enumerate(starts)
    )
    kb = knowledge_base(document("src/long.py", code, media="code", blocks=units))

    outline = await told(kb, "fetch", {"path": "src/long.py"})
    text = await told(kb, "fetch", {"path": "src/long.py", "max_tokens": 500})

    first, *rows = outline.splitlines()
    assert "its outline, since it is long" in first
    assert rows[0].endswith(" otter0")
    assert len(rows) == 9
    assert "1 def otter0():" in text


async def test_several_places_have_an_outline_each() -> None:
    code = "def ottera():\n    pass\n\n\ndef otterb():\n    pass\n"
    units = tuple(
        {"kind": "unit", "start": code.index(f"def {name}"), "end": end, "symbol": name}
        for name, end in (("ottera", 22), ("otterb", len(code)))
    )
    kb = knowledge_base(
        document("a.py", code, media="code", blocks=units),
        document("b.py", code, media="code", blocks=units),
    )

    asked = {"places": ["a.py", {"path": "b.py"}, "c.py"], "outline": True}
    text = await told(kb, "fetch", asked)
    refused = await call(kb, "fetch", asked)

    told_of = [text.count(name) for name in ("a.py of", "b.py of", "ottera", "otterb")]
    assert told_of == [1, 1, 2, 2]
    assert "pass" not in text
    assert "doc_not_found" in text
    assert "do not go together" in str(refused.content)


CODE = """from limits import MOST_OTTERS

_BURROW_DEPTH: int = 7
_MANY_BURROWS = (
    1, 2, 3,
)


def dig(otters):
    if otters > MOST_OTTERS:
        raise TooMany
    return [_BURROW_DEPTH, _MANY_BURROWS]
"""


def _unit(code: str, name: str) -> dict[str, Any]:
    start = code.index(f"def {name}")
    found = {"start": start, "end": len(code), "symbol": name, "symbol_kind": "function"}
    return {"kind": "unit", **found}


def _digging(*others: DocumentRecord) -> KnowledgeBase:
    units = (_unit(CODE, "dig"),)
    return knowledge_base(document("dig.py", CODE, media="code", blocks=units), *others)


def _limits(path: str, value: int) -> DocumentRecord:
    return document(path, f"MOST_OTTERS = {value}\nx = MOST_OTTERS == 9\n", media="code")


@pytest.mark.parametrize("tool", ["search", "codebase_search", "ask"])
async def test_lines_of_code_come_with_the_values_of_their_constants(tool: str) -> None:
    kb = _digging(_limits("limits.py", 4))

    text = await told(kb, tool, {"query": "what does dig otters return"})

    assert "otters > MOST_OTTERS" in text
    assert "\n3 _BURROW_DEPTH: int = 7" in text
    assert "\n  limits.py:1: MOST_OTTERS = 4" in text or "\n1 MOST_OTTERS = 4" in text


async def test_a_head_goes_on_with_the_file_above_it_whatever_the_values_are_of() -> None:
    """`:9-12` below a value of another file reads as lines of that one."""
    code = f"{CODE}\n\ndef swim(otters):\n{SWIMS}\n    return otters\n"
    start = code.index("def swim")
    swim = {"kind": "unit", "start": start, "end": len(code), "symbol": "swim", "level": 1}
    dig = {**_unit(CODE, "dig"), "level": 1}
    kb = knowledge_base(
        document("dig.py", code, media="code", blocks=(dig, swim)), _limits("limits.py", 4)
    )

    text = await told(kb, "search", {"query": "otters", "path_glob": "dig.py"})

    at_the_margin = re.findall(r"^(\S+\.py|):\d+", text, re.MULTILINE)
    assert "  limits.py:1: MOST_OTTERS = 4" in text
    assert {*at_the_margin} == {"dig.py", ""}


async def test_a_value_is_told_with_its_tabs_as_any_line() -> None:
    limits = document("limits.py", "MOST_OTTERS\t=\t4\nx = MOST_OTTERS == 9\n", media="code")

    text = await told(_digging(limits), "search", {"query": "what does dig otters return"})

    assert "MOST_OTTERS\t=\t4" in text


async def test_a_line_that_is_shown_anyway_is_not_told_as_a_value() -> None:
    kb = knowledge_base(_limits("limits.py", 4))

    text = await told(kb, "search", {"query": "most otters"})

    assert text.count("MOST_OTTERS = 4") == 1


async def test_a_value_that_another_passage_of_the_file_shows_is_not_told_again() -> None:
    code = f"class Holt:\n    _OTTER_BEAT = 5\n\n\ndef rest():\n{SWIMS}\n    beat(_OTTER_BEAT)\n"
    kb = knowledge_base(document("holt.py", code, media="code"))

    text = await told(kb, "search", {"query": "beat of a rest in a holt", "mode": "lexical"})

    assert "beat(_OTTER_BEAT)" in text
    assert text.count("_OTTER_BEAT = 5") == 1


def _looked_through(monkeypatch: pytest.MonkeyPatch, module: str) -> list[int]:
    """Return what gets how many documents each ``grep`` of a module is about, as it is asked."""
    looked: list[int] = []

    def counted(*given: Any, **more: Any) -> Any:  # noqa: ANN401 - of a wire object
        found = grep(*given, **more)
        looked.append(found["searched"])
        return found

    monkeypatch.setattr(f"{module}.grep", counted)
    return looked


async def test_constants_are_looked_for_where_code_spells_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All code was looked through for each answer, six of which took 1.7 seconds for 330 MB."""
    looked = _looked_through(monkeypatch, "kb_app._search.constants")
    others = [document(f"{n}.py", f"x = otters({n})\n", media="code") for n in range(30)]
    kb = _digging(_limits("limits.py", 4), *others)

    text = await told(kb, "search", {"query": "dig otters", "path_glob": "dig.py"})

    assert "limits.py:1: MOST_OTTERS = 4" in text
    assert looked == [2]


async def test_a_name_that_much_code_has_is_looked_for_where_it_is_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked = _looked_through(monkeypatch, "kb_app._by_name")
    monkeypatch.setattr("kb_app._by_name._MOST_PASSAGES", 3)
    code = "class Holt:\n    def dig(self, depth):\n        return depth\n"
    holt = document("holt.py", code, media="code", blocks=(_unit(code, "dig"),))
    kb = knowledge_base(
        holt, *(document(f"{n}.py", f"holt{n}.dig({n})\n", media="code") for n in range(9))
    )

    text = await told(kb, "fetch", {"path": "3.py#dig"})

    assert "'dig' is defined in holt.py:2-3" in text
    assert set(looked) == {1}


async def test_a_name_that_much_code_has_is_looked_for_first_where_a_passage_is_called_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In most languages no word stands before it that only definitions have."""
    looked = _looked_through(monkeypatch, "kb_app._by_name")
    monkeypatch.setattr("kb_app._by_name._MOST_PASSAGES", 3)
    code = "int dig(int depth)\n{\n    return depth;\n}\n"
    unit = {"kind": "unit", "start": 0, "end": len(code), "symbol": "dig"}
    holt = document("holt.c", code, media="code", blocks=(unit,))
    holt = replace(holt, chunks=tuple(replace(one, symbol="dig") for one in holt.chunks))
    others = [document(f"{n}.c", f"int x{n} = dig({n});\n", media="code") for n in range(9)]
    kb = knowledge_base(holt, *others)

    text = await told(kb, "fetch", {"path": "dig"})

    assert "holt.c:1-4" in text
    assert looked == [1]


async def test_a_name_with_its_owner_is_had_by_the_line_that_has_both() -> None:
    code = "dive(1)\n\nx = Otter.dive(2)\n"
    kb = knowledge_base(document("a.py", code, media="code"))

    text = await told(kb, "fetch", {"path": "a.py#Otter.dive"})

    assert "line 3 has it first: x = Otter.dive(2)" in text


RUST = f"""fn serve(args: Args) {{
{SWIMS}
    // otters at work: one for each burrow
    let otters = burrows()
        .unwrap_or(four)
        .max(four);
{SWIMS}
}}
"""


async def test_a_chain_of_calls_is_told_to_its_end() -> None:
    """`with a maximum of 4`, said the comment, and the code that it took at least as many."""
    kb = knowledge_base(document("lib.rs", RUST, media="code"))

    text = await told(kb, "search", {"query": "how many otters are at work"})

    assert "let otters = burrows()" in text
    assert ".max(four);" in text


@pytest.mark.parametrize(
    "imports",
    [
        ["from holt import otter_depth, otter_dive"],
        ["from holt import (", "    otter_depth,", "    otter_dive,", ")"],
        ["import {", "  otter_depth,", "  otter_dive", "} from './otter_dive.js';"],
        ["const { otter_depth } = require('./otter_dive')"],
        ["#include <otter/depth_dive.h>"],
        ["use otter::{depth, dive};"],
    ],
)
def test_what_uses_a_name_is_told_before_what_only_imports_it(imports: list[str]) -> None:
    code = "\n".join([*imports, *["filling = 1"] * 9, "if (full) swim(depth)"])
    hit = {"media": "code", "doc_path": "a"}
    piece = Piece(hits=(hit,), text=code, start=0, end=len(code), first=1)

    lines = Telling("otter depth dive", [piece]).picked({0: 1}, 34)[0].lines()

    assert lines == [f"{len(imports) + 10} if (full) swim(depth)"]


def test_lines_that_say_what_the_head_does_are_not_told() -> None:
    """Three of ten lines that were told of a page of settings said how one is called."""
    said = "How deep an otter dives: ``7``."
    marks = ".. _otter-depth:\n\n.. setting:: OTTER_DEPTH\n\nOTTER_DEPTH\n-----------\n\n"
    text = f"{marks}{said}\n\n.. versionchanged:: 2.1\n    Otters.\n{'So it is.  ' * 200}\n"
    hit = {"media": "text", "doc_path": "a.rst", "heading_path": ["Settings", "OTTER_DEPTH"]}
    piece = Piece(hits=(hit,), text=text, start=0, end=len(text), first=1)

    lines = Telling("otter depth", [piece]).picked({0: 1}, 120)[0].lines()

    assert lines[:3] == [f"8 {said}", "10 .. versionchanged:: 2.1", "11     Otters."]


async def test_several_queries_say_once_how_to_see_more() -> None:
    kb = _digging(_limits("a/limits.py", 4), _limits("b/limits.py", 5))
    queries = ["dig otters", "most otters"]

    text = await told(kb, "search", {"queries": queries, "max_tokens": 120})

    assert text.count("# ") == len(queries)
    assert "cursor" not in text
    assert len(re.findall(r"^… \d+ more found$", text, re.MULTILINE)) == 1


async def test_a_constant_that_two_files_define_is_not_guessed() -> None:
    kb = _digging(_limits("a/limits.py", 4), _limits("b/limits.py", 5))

    text = await told(kb, "search", {"query": "dig otters", "path_glob": "dig.py"})

    assert "otters > MOST_OTTERS" in text
    assert "limits.py" not in text


async def test_whole_passages_are_told_without_values() -> None:
    kb = _digging(_limits("limits.py", 4))

    text = await told(kb, "search", {"query": "dig", "path_glob": "dig.py", "max_tokens": 900})

    assert "otters > MOST_OTTERS" in text
    assert "limits.py:" not in text


async def test_a_long_function_that_answers_is_told_by_its_lines() -> None:
    filling = "".join(f"    step_{n}(river, weir, dusk)\n" for n in range(60))
    code = f"def settle(otter):\n{filling}    otter.holt_age = 4\n    return otter\n"
    kb = knowledge_base(document("a.py", code, media="code", blocks=(_unit(code, "settle"),)))
    question = "what holt age does an otter settle with"

    alone = await told(kb, "ask", {"query": question})
    several = await told(kb, "ask", {"queries": [question, "who is an otter"]})

    assert re.search(r"^62 +otter.holt_age = 4$", alone, re.MULTILINE)
    assert re.search(r"^62 +otter.holt_age = 4$", several, re.MULTILINE)
    assert len(several) < 500


def test_lines_that_only_import_or_list_a_name_are_places_at_the_end() -> None:
    rows = {
        "a.py": [(1, "from limits import MOST"), (9, "if otters > MOST:")],
        "b.py": [(2, '    "MOST",'), (3, "import limits, MOST")],
        "limits.py": [(7, "MOST = 4")],
    }
    files: list[dict[str, Any]] = [
        {
            "doc_id": path,
            "doc_path": path,
            "source_id": "notes",
            "media": "code",
            "stale": False,
            "matches": len(lines),
            "omitted": 0,
            "lines": [
                {
                    "line": number,
                    "text": text,
                    "is_match": True,
                    "spans": [[text.index("MOST"), text.index("MOST") + 4]],
                    "uri": f"{path}#L{number}",
                }
                for number, text in lines
            ],
        }
        for path, lines in rows.items()
    ]
    found = {"total_lines": 5, "total_files": 3, "case": "exact", "searched": 3, "files": files}

    assert grep_text(found) == (
        "5 lines in 3 files\n"
        "a.py:9: if otters > MOST:\n"
        "limits.py:7: MOST = 4\n"
        "imported or listed: a.py:1, b.py:2,3"
    )
    only = {**found, "total_lines": 2, "total_files": 1, "files": files[1:2]}
    assert "imported" not in grep_text(only)
    told = grep_text({**found, "files": files[:2], "total_files": 2})
    assert told.endswith("\nnot defined here: MOST")
    assert "not defined" not in grep_text({**found, "files": files[:2]})  # of three
    assert "not defined" not in grep_text(
        {**found, "files": files[:2], "total_files": 2}, is_all=False
    )
    longer = [
        {**line, "text": line["text"].replace("MOST", "MOST_OF")} for line in files[0]["lines"]
    ]
    assert "not defined" not in grep_text(
        {**found, "files": [{**files[0], "lines": longer}], "total_files": 1}
    )
    many = [{**files[0], "doc_path": f"{'deep/' * 9}{n}.py"} for n in range(20)]
    listed = grep_text({**found, "files": [*many, *files[1:]], "total_files": 22})
    assert re.search(r"^imported or listed: deep/.{200,300}, 1\d more$", listed, re.MULTILINE)


@pytest.mark.parametrize(
    "line",
    ["  MOST: Symbol('most'),", "  function MOST (of) {", '"MOST": 4,', "class MOST:", "  MOST"],
)
async def test_a_key_and_a_function_within_another_are_defined_here(line: str) -> None:
    kb = knowledge_base(
        document("a.js", "import { MOST } from './b'\n", media="code"),
        document("b.js", f"{line}\n", media="code"),
    )

    assert "not defined" not in await told(kb, "grep", {"pattern": "MOST"})


async def test_names_are_not_said_to_be_nowhere_where_a_part_was_looked_through() -> None:
    kb = knowledge_base(
        document("t/a.js", "import { MOST } from './b'\nuse(MOST)\n", media="code"),
        document("b.js", "MOST = 4\n", media="code"),
    )

    assert "not defined" not in await told(kb, "grep", {"pattern": "MOST", "path": "t"})
    assert "not defined" not in await told(kb, "grep", {"pattern": "MOST", "path_glob": "t/**"})


async def test_the_first_line_of_several_in_a_function_says_where_that_is() -> None:
    inner = "".join(f"    dig({n}, otter)\n" for n in range(3))
    code = f"def dig(n):\n    return n\n\n\ndef den(otter):\n{inner}\n\notter = 4\n"
    units = [
        ("dig", 0, code.index("\n\n\ndef den")),
        ("den", code.index("def den"), len(code) - 12),
    ]
    blocks = tuple(
        {
            "kind": "unit",
            "start": a,
            "end": b,
            "level": 1,
            "symbol": name,
            "symbol_kind": "function",
        }
        for name, a, b in units
    )
    kb = knowledge_base(document("a.py", code, media="code", blocks=blocks))

    around = await told(kb, "grep", {"pattern": "den\\(", "context": 1})
    assert "5: def den(otter): · to 8\n" in around
    around = await told(kb, "grep", {"pattern": "dig\\(1", "context": 1})
    assert "7:     dig(1, otter) · in den 5-8\n8- " in around
    text = await told(kb, "grep", {"pattern": "dig|otter"})

    assert text.split("\n")[1:] == [
        "a.py",
        "1-2: def dig(n):",
        "5-8: def den(otter):",
        *(f"{6 + n}: dig({n}, otter)" for n in range(3)),
        "11: otter = 4",
    ]
    alone = await told(kb, "grep", {"pattern": r"dig\(1"})
    assert alone.endswith("a.py:7: dig(1, otter) · in den 5-8")
    both = await told(kb, "grep", {"pattern": r"dig\([12]"})
    assert both.endswith("a.py\n7: dig(1, otter) · in den 5-8\n8: dig(2, otter)")
    places = ["a.py:7-8", "a.py:5-6", "a.py:11", "a.py:3-7", "a.py:2-11", "a.py:1-8"]
    fetched = await told(kb, "fetch", {"places": places})
    heads = [line for line in fetched.split("\n") if line.startswith("a.py")]
    in_den = " of 11 · in den 5-8"
    assert heads[:4] == [
        f"a.py:7-8{in_den}",
        f"a.py:5-6{in_den}",
        "a.py:11-11 of 11",
        f"a.py:3-7{in_den}",
    ]
    assert heads[4:] == ["a.py:2-11 of 11", "a.py:1-8 of 11"]  # more than that, or all of it


async def test_a_long_line_that_several_files_have_is_told_once_with_where_else_it_stands() -> None:
    said = "The number of dens that an otter may dig in the bank at once."
    pages = [document(f"m{n}.md", f"{said}\n\nAn otter digs.\n") for n in range(5)]
    own = f"# {said}\ndef dig_a_den_in_the_bank(otter, river, weir):\n    pass\n"
    unit = {
        "kind": "unit",
        "start": own.index("def"),
        "end": len(own),
        "level": 1,
        "symbol": "dig_a_den_in_the_bank",
    }
    code = [document(f"{name}.py", own, media="code", blocks=(unit,)) for name in ("a", "b")]

    text = await told(knowledge_base(*pages, *code), "grep", {"pattern": "otter"})

    assert text.split("\n")[0] == "14 lines in 7 files · case ignored"
    assert text.count(f"{said} · also in 4 files") == 1
    assert re.search(rf"^1: # {said} · also b.py:1$", text, re.MULTILINE)
    assert text.count(said) == 2
    assert text.count("An otter digs.") == 5  # short lines stand in each, and what defines
    defined = await told(knowledge_base(*code), "grep", {"pattern": "dig_a_den_in_the_bank"})
    assert defined.count("def dig_a_den") == 2
    around = await told(knowledge_base(*pages), "grep", {"pattern": "otter", "context": 1})
    assert around.count(said) == 5


async def test_a_message_in_several_languages_is_told_in_one() -> None:
    def messages(lang: str, said: str) -> DocumentRecord:
        return document(f"lang/{lang}.yml", f"{lang}:\n  den_full: {said}\n", media="code")

    three = [messages("ar", "Too many otters"), messages("de", "Zu voll"), messages("en", "Full")]
    code = document("den.rb", "raise l(:den_full)\n", media="code")

    text = await told(knowledge_base(*three, code), "grep", {"pattern": "den_full"})

    assert text.split("\n")[0] == "4 lines in 4 files · case ignored"
    assert "lang/en.yml:2: den_full: Full · also in 2 other languages" in text
    assert "otters" not in text
    assert "den.rb:1: raise" in text
    two = await told(knowledge_base(*three[1:]), "grep", {"pattern": "den_full"})
    assert "Zu voll" in two
    around = await told(knowledge_base(*three), "grep", {"pattern": "den_full", "context": 1})
    assert around.count("den_full") == 3


async def test_files_of_which_no_line_has_room_are_named_in_one_line() -> None:
    many = [
        document(f"m{n}.py", f"def den_{n}(otter_in_its_burrow):\n" * 3, media="code")
        for n in range(30)
    ]

    text = await told(knowledge_base(*many), "grep", {"pattern": "otter", "max_tokens": 300})

    (line,) = re.findall(r"^also in: (.*)$", text, re.MULTILINE)
    heads = re.findall(r"^(\w+\.py)(?::\d+| · )", text, re.MULTILINE)
    assert heads
    assert set(heads).isdisjoint(re.findall(r"(\w+\.py)", line))
    assert tokens_of(text) <= 300


async def test_of_each_alternative_one_line_is_told_before_all_that_define_another() -> None:
    lines = "".join(f"otter_{n} = {n}\n" for n in range(90))
    kb = knowledge_base(
        document("a.py", lines, media="code"),
        document("z.py", f"heron('{'w' * 60}')\n" * 3, media="code"),
    )

    text = await told(kb, "grep", {"pattern": "otter_\\d+|heron|nowhere", "max_tokens": 200})

    assert re.search(r"^z\.py( · .*)?\n.*1.*: heron\('w+'\)$", text, re.MULTILINE)


async def test_a_file_of_which_only_lines_that_import_were_found_is_named_with_others() -> None:
    tells = document("a.py", "otter()\n" * 12, media="code")
    names = [document(f"m{n}.py", "import otter\n" + "otter()\n" * 9) for n in range(2)]
    names = [replace(one, media="code") for one in names]

    text = await told(knowledge_base(tells, *names), "grep", {"pattern": "otter", "max_lines": 3})

    assert "\nalso in: m0.py · 9 matches, m1.py · 9 matches\nimported or listed: m0.py:1" in text


async def test_lines_around_that_have_no_room_are_said_to_be_left_out() -> None:
    long = document("a.py", "".join(f"line {n} of {'many ' * 30}\n" for n in range(60)))
    kb = knowledge_base(long, document("b.py", "x\nline 7 of\ny\n"))

    text = await told(kb, "grep", {"pattern": "line \\d*7 of", "context": 8, "max_tokens": 400})

    assert "1- x\n2: line 7 of\n3- y" in text
    assert text.endswith(
        "… more lines around in 1 file: give path or a filter, or a larger max_tokens"
    )
    narrow = {"pattern": "line \\d*7 of", "context": 8, "max_tokens": 400, "path": ["a.py", "b.py"]}
    assert (await told(kb, "grep", narrow)).endswith("in 1 file: give a larger max_tokens")


async def test_where_all_lines_around_have_no_room_there_are_fewer() -> None:
    lines = "".join(f"{'otter' if n % 30 == 9 else 'river'} {n}\n" for n in range(99))
    kb = knowledge_base(document("a.md", lines), document("b.md", "an otter\n"))

    text = await told(kb, "grep", {"pattern": "otter", "context": 9, "max_tokens": 200})

    numbers = [int(line) for line in re.findall(r"^(\d+)[-:]", text, re.MULTILINE)]
    assert numbers == [n + d for n in (10, 40, 70) for d in (-2, -1, 0, 1, 2)]
    assert "b.md:1: an otter" in text
    assert tokens_of(text) <= 200


LISTED = '''def choose(otters):
    """Choose a burrow.

{told}
    The first of these that is free:
    - the bank of the river
    - a hollow below roots
    - the old lodge upstream

{told}
    """
{rest}
'''


async def test_a_list_is_told_as_a_whole_for_an_order_with_gaps_misleads() -> None:
    filler = "\n".join(f"    Otters swim and dive, {n} at a time." for n in range(12))
    code = LISTED.format(told=filler, rest="    otters.pop()\n" * 20)
    unit = {"kind": "unit", "start": 0, "end": len(code), "symbol": "choose"}
    kb = knowledge_base(document("dig.py", code, media="code", blocks=(unit,)))

    text = await told(kb, "search", {"query": "which is the first burrow that is free"})

    assert "The first of these that is free:" in text
    items = ("bank of the river", "hollow below roots", "old lodge upstream")
    assert [item in text for item in items] == [True] * len(items)


async def test_a_statement_of_several_lines_is_told_as_a_whole() -> None:
    """The number stood below the name that was asked for, and was left out."""
    made = [
        f"  {name}: make(\n    '{name}',\n    {413 + at},\n    Stoat{at}\n  ),\n"
        for at, name in enumerate(["ERR_WEIR", *(f"OTTER_{n}" for n in range(40))])
    ]
    imports = "import {\n  ERR_WEIR,\n  rest\n} from 'err'\n"
    block = "if (ERR_WEIR) {\n  swim_on\n}\n"
    code = f"{imports}const codes = {{\n{''.join(made)}}}\n{block}"
    unit = {"kind": "unit", "start": 0, "end": len(code), "symbol": "codes"}
    kb = knowledge_base(document("err.js", code, media="code", blocks=(unit,)))

    text = await told(kb, "search", {"query": "which status has ERR_WEIR"})

    assert re.search(r"ERR_WEIR',\n8 +413,\n9 +Stoat0\n", text)
    assert not re.search("swim_on|rest|Stoat[1-9]", text)


@pytest.mark.parametrize(
    ("above", "below"),
    [
        ("    if river.is_high:\n", ""),
        ("    if (\n        river.is_high\n    ):\n", ""),
        ("    if (river.is_high) {\n", "    }\n"),
        ("    if river.is_high:\n        wait()\n    else:\n", ""),
    ],
)
async def test_a_line_that_tells_is_told_with_its_condition(above: str, below: str) -> None:
    steps = "".join(f"    step({n})\n" for n in range(60))
    code = f"def swim(of):\n{steps}{above}        otter.dives(deep)\n{below}{steps}"
    kb = knowledge_base(document("a.py", code))

    one = await told(kb, "search", {"query": "when otter dives deep"})
    several = await told(kb, "search", {"queries": ["when otter dives deep", "river"]})

    for text in (one, several.partition("# 2.")[0]):
        assert "river.is_high" in text
        assert text.count("step(") <= 1


async def test_a_folder_is_named_once_unless_the_list_is_cut() -> None:
    paths = ["a/b.md", "a/c/d.md", "a/e.md", "a/f/g.md", "a/h.md"]
    kb = knowledge_base(*(document(path, "Otters.\n") for path in paths))

    listed = (await told(kb, "list_docs", {})).splitlines()

    assert [line for line in listed if line.endswith("/")] == ["a/", "a/c/", "a/f/"]
    many = [document(f"a/{n:03}{'/x' * (n % 2)}.md", "Otters.\n") for n in range(400)]
    part = await told(knowledge_base(*many), "list_docs", {"limit": 400})
    cut = re.findall(r"offset (\d+)$", part)
    assert part.count("  ") == int(cut[0])
    assert f"  {int(cut[0]) - 1:03}.md" in part or f"/{int(cut[0]) - 1:03}/" in part


@pytest.mark.parametrize(
    "asked",
    [
        {"path": "said.md"},
        {"path": "said.md", "lines": "1-2"},
        {"path": "said.md", "outline": True},
        {"places": ["said.md:1"]},
        {"places": ["said.md"], "outline": True},
        {"kind": "chunk"},
    ],
)
async def test_what_a_model_wrote_is_fetched_as_that(asked: dict[str, Any]) -> None:
    text = "# Otters\n\nOtters dig.\n"
    for trust in ("generated", "primary"):
        note = document("said.md", text, trust_level=trust)
        kb = knowledge_base(note)
        chunk = {"chunk_id": note.chunks[0].chunk_id} if asked.get("kind") else {}
        head = (await told(kb, "fetch", {**asked, **chunk})).split("\n")[0]

        assert head.startswith("said.md")
        assert (" · generated" in head) is (trust == "generated")
