"""What text tells where nothing was asked for: the lines that answer, and no more than that."""

from __future__ import annotations

import re

from kb_core.testing.documents import document
from kb_mcp.testing import knowledge_base, told

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


async def test_of_a_long_line_of_prose_the_sentences_that_tell_are_told() -> None:
    filling = "Nothing of note happened on that day. " * 25
    note = f"{filling}The otter slept. {filling}\n"
    kb = knowledge_base(document("a.md", note))

    text = await told(kb, "search", {"query": "where did the otter sleep"})

    assert re.search(r"^  .*… .*day\. The otter slept\.", text, re.MULTILINE)
    assert len(text) < len(note) / 2


async def test_later_passages_have_less_room_than_the_first_and_all_are_there() -> None:
    swims = "Otters swim on. " * 60
    notes = [document(f"n/{n}.md", f"Otters of sea {n}. {swims}\n") for n in range(10)]
    kb = knowledge_base(*notes)

    text = await told(kb, "search", {"query": "otters sea", "mode": "lexical"})

    blocks = re.split(r"^n/", text, flags=re.MULTILINE)[1:]
    sizes = [len(block) for block in blocks]
    assert len(sizes) == 10
    assert sizes[0] > sizes[1] > sizes[-1]
    assert all("Otters of sea" in block for block in blocks)


async def test_the_same_line_in_a_file_is_told_once_and_a_line_alone_beside_its_path() -> None:
    raising = document("src/a.py", "    raise Otter\n" * 3)
    kb = knowledge_base(raising, document("src/b.py", "otter = 1\n"))

    assert await told(kb, "grep", {"pattern": "otter"}) == (
        "4 lines in 2 files · case ignored\nsrc/a.py:1, 2, 3: raise Otter\nsrc/b.py:1: otter = 1"
    )


async def test_where_there_is_no_room_for_lines_around_them_the_lines_that_match_are_told() -> None:
    files = [
        document(f"src/{n}.py", "\n".join(f"before{m} = {m}\notter{m} = {m}" for m in range(9)))
        for n in range(30)
    ]

    text = await told(knowledge_base(*files), "grep", {"pattern": "otter", "context": 2})

    blocks = re.split(r"^src/", text, flags=re.MULTILINE)[1:]
    assert len(blocks) > 9
    assert all(re.search(r"^\d+: otter", block, re.MULTILINE) for block in blocks)


async def test_of_a_long_line_there_is_what_stands_around_the_match() -> None:
    kb = knowledge_base(document("a.md", "word " * 60 + "otter" + " word" * 60))

    _, said = (await told(kb, "grep", {"pattern": "otter"})).split("\n")

    assert said.startswith("a.md:1: …word")
    assert " otter " in said
    assert said.endswith("…")
    assert len(said) < 190


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
