"""Sentences of any script, and the units of a passage."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from kb_core.sentences import called_before, sentence_spans, units


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


def parts(text: str) -> list[tuple[str, str, str | None]]:
    """Return each unit as its kind, its text and what leads into it."""
    return [
        (unit.kind, text[unit.start : unit.end], unit.lead and text[slice(*unit.lead)])
        for unit in units(text)
    ]


@pytest.mark.parametrize(
    "expected",
    [
        ["It rained.", "We stayed in!", "Why not?"],
        ["Mr. Keller met J. R. R. Tolkien on Jan. 4.", "They talked."],
        ["It costs 3.50 at no. 7, i.e. nothing.", "Fine."],
        ["U.S. troops left.", "So did others."],
        ['He said "No."', "Then he left."],
        ["Am 3. Oktober 1990 war es so weit.", "Alle feierten."],
        ["Sie wohnt in der Hafenstr. 3 im Hof.", "Er auch."],
        ["Release verschoben: neuer Termin 30. März.", "Der 1. ist frei."],
        ["Geboren: 2. November 1981.", "Getauft 12. Dez. 1981 von Fr. Kurz.", "Hier."],
        ["Il arrive le 3 janv. 2026 en gare.", "Elle aussi."],
        ["Он живёт на ул. Ленина, тел. 12-34.", "Она тоже."],
        ["Das gilt z.B. hier, bzw. dort.", "Mehr nicht."],
        ["Er kam um 5 Uhr.", "Sie blieb."],
        ["한국어 문장이다.", "둘째 문장은 3.5배 길다!"],
        ["هل هذا سؤال؟", "نعم."],
        ["यह पहला वाक्य है।", "यह दूसरा है।"],
        ["It is in section 4.2.1 of the paper.[3]", "It is short."],
    ],
)
def test_a_text_with_blanks_is_cut_into_its_sentences(expected: list[str]) -> None:
    assert sentences(" ".join(expected)) == expected


@pytest.mark.parametrize(
    "expected",
    [
        ["今日は晴れ。", "明日は「雨だ。」と言った。", "終わり！"],
        ["他来了。", "她说：“好。”", "我们走。"],
    ],
)
def test_a_text_without_blanks_is_cut_into_its_sentences(expected: list[str]) -> None:
    assert sentences("".join(expected)) == expected


def test_a_script_without_stops_is_cut_at_blanks() -> None:
    text = " ".join(["ภาษาไทยเขียนโดยไม่เว้นวรรคระหว่างคำ"] * 6)

    found = sentences(text)

    assert 1 < len(found) <= 6
    assert " ".join(found) == text


def test_a_line_that_begins_with_a_day_is_no_item() -> None:
    assert parts("11. April 2026 war es warm. Alle da.\n\n- Tom: 2. Mai 1981\n") == [
        ("sentence", "11. April 2026 war es warm.", None),
        ("sentence", "Alle da.", None),
        ("item", "Tom: 2. Mai 1981", None),
    ]


def test_a_passage_is_cut_into_what_can_be_read_alone() -> None:
    passage = """# Tools

There are two of them:

- A saw. It is sharp.
- A hammer

| tool | price |
|------|-------|
| saw  | 12    |

Done.

| other | table |
| x | y |

```py
x = 1. + 2

y = 3
```
"""

    assert parts(passage) == [
        ("heading", "# Tools", None),
        ("sentence", "There are two of them:", None),
        ("item", "A saw.", "There are two of them:"),
        ("item", "It is sharp.", "There are two of them:"),
        ("item", "A hammer", "There are two of them:"),
        ("row", "| tool | price |", "There are two of them:"),
        ("row", "| saw  | 12    |", "| tool | price |"),
        ("sentence", "Done.", None),
        ("row", "| other | table |", None),
        ("row", "| x | y |", "| other | table |"),
        ("code", "```py\nx = 1. + 2\n\ny = 3\n```", None),
    ]


def test_restructured_text_is_cut_without_its_titles_directives_and_code() -> None:
    passage = """.. setting:: MAX_AGE

``MAX_AGE``
~~~~~~~~~~~

Default: ``0``

Seconds. Close it::

    AGE = 1. + 2

    More. Code.

.. code-block:: python

    x = 3. * y

.. _leases:

======
Leases
======

* .. attribute:: TAKEN

    Some one has it. Wait.

.. function:: take(n=1. * 2)

    Takes.

Plain
-----
Done. Over.
"""

    assert parts(passage) == [
        ("heading", ".. setting:: MAX_AGE", None),
        ("heading", "``MAX_AGE``\n~~~~~~~~~~~", None),
        ("sentence", "Default: ``0``", None),
        ("sentence", "Seconds.", None),
        ("sentence", "Close it::", None),
        ("code", "AGE = 1. + 2\n\n    More. Code.", None),
        ("code", ".. code-block:: python\n\n    x = 3. * y", None),
        ("heading", ".. _leases:", None),
        ("heading", "======\nLeases\n======", None),
        ("heading", "* .. attribute:: TAKEN", None),
        ("sentence", "Some one has it.", None),
        ("sentence", "Wait.", None),
        ("heading", ".. function:: take(n=1. * 2)", None),
        ("sentence", "Takes.", None),
        ("heading", "Plain\n-----", None),
        ("sentence", "Done.", None),
        ("sentence", "Over.", None),
    ]


def test_what_a_directive_describes_is_known_by_it() -> None:
    text = """Before. Also.

.. class:: Pool(size)

    Keeps leases. Few.

    - One item.

    .. note::

        Look out.

    .. method:: take()

        Takes one.

    Still of the class.

After.
"""
    told = {
        text[unit.start : unit.end]: unit.thing and text[slice(*unit.thing)]
        for unit in units(text)
        if unit.kind != "heading"
    }

    of_pool = ".. class:: Pool(size)"
    assert told == {
        "Before.": None,
        "Also.": None,
        "Keeps leases.": of_pool,
        "Few.": of_pool,
        "One item.": of_pool,
        "Look out.": of_pool,
        "Takes one.": ".. method:: take()",
        "Still of the class.": of_pool,
        "After.": None,
    }


@pytest.mark.parametrize("mark", ["```", "~~~", "~~~~"])
def test_a_fence_is_no_line_under_a_title(mark: str) -> None:
    for before in ("", "Run it:\n"):
        found = parts(f"{before}{mark}\nx. Y.\n{mark}\n")
        assert found[-1] == ("code", f"{mark}\nx. Y.\n{mark}", None)


def test_lines_that_begin_with_a_label_are_read_one_by_one() -> None:
    text = (
        "Car\nLicence plate: ZH 482 113\nTyres: 205/55 R16, summer tyres\n  from April\n"
        "Last inspection: May 2025,\nnext one due May 2028\nThe spare key is with Rosa.\n"
    )

    assert [said for _, said, _ in parts(text)] == [
        "Car",
        "Licence plate: ZH 482 113",
        "Tyres: 205/55 R16, summer tyres\n  from April",
        "Last inspection: May 2025,\nnext one due May 2028",
        "The spare key is with Rosa.",
    ]
    # One label alone is part of a sentence, and no label has a full stop, or a place behind it.
    for prose in (
        "He said at last\nwhat it was: a boat\nwith two masts",
        "Note: it is at 10:00\nand http://a.example/b: says\nas much",
    ):
        assert [said for _, said, _ in parts(prose)] == [prose]
    assert [said for _, said, _ in parts("**Rent:** 940\n**Heating:** 120")] == [
        "**Rent:** 940",
        "**Heating:** 120",
    ]


@pytest.mark.parametrize(
    "entries",
    [
        ["[2023-04-01 20:01] <mira> who has it", "[2023-04-01 20:02] <otto> in the shed"],
        ["2024-01-05 09:00 call Ann", "2024-01-06 09:30 paid\n  by cheque"],
        ["(A) Renew passport +admin", "(B) Call Bo", "x 2024-01-09 Pay the licence"],
        ["[20:01] mira: hello", "[20:02] otto: hello"],
        ["We left on\n2024-01-05 and came\nback later"],
    ],
)
def test_entries_of_a_log_and_tasks_of_a_list_are_read_one_by_one(entries: list[str]) -> None:
    """One date at the margin may be where a line of prose was broken."""
    assert [said for _, said, _ in parts("\n".join(entries))] == entries


CHAT = """## 2024-01-10

- Ann (08:10): OK. How much will that be?
- Bo (08:12): About 230. Plus travel.
- Ann (08:13): Fine
- Ann (08:20): Where is the ladder?
- Cy (08:31): Behind the shed
- Bo (08:40): Good morning
- Bo (08:41): It snows
"""


def test_a_message_below_a_question_of_somebody_else_is_a_reply_to_it() -> None:
    told = [
        (CHAT[unit.start : unit.end], unit.thing and CHAT[slice(*unit.thing)])
        for unit in units(CHAT)
    ]

    assert [each for each in told if each[1]] == [
        ("Bo (08:12): About 230.", "How much will that be?"),
        ("Cy (08:31): Behind the shed", "Ann (08:20): Where is the ladder?"),
        ("Bo (08:40): Good morning", "Ann (08:20): Where is the ladder?"),
    ]


def test_the_end_of_a_message_is_told_with_who_wrote_it_and_when() -> None:
    found = called_before(CHAT, CHAT.index("Plus travel"))

    assert found is not None
    assert CHAT[slice(*found)] == "Bo (08:12):"
    assert called_before(CHAT, CHAT.index("Bo (08:12)")) is None


def test_the_fields_of_a_tiddler_that_name_and_sort_it_are_no_text() -> None:
    text = (
        "title: Attic\nmodified: 20220104120000000\nplace: upstairs\n\n! Key\nBehind the clock.\n"
    )
    kinds = {text[unit.start : unit.end]: unit.kind for unit in units(text, suffix=".tid")}

    assert [said for said, kind in kinds.items() if kind != "heading"] == [
        "place: upstairs",
        "Behind the clock.",
    ]


def test_a_line_that_says_what_a_heading_says_is_one() -> None:
    text = "9.8. Tasks: anacron\n\nIt runs daily.\n\n1. Begin\n\nTasks: anacron is one.\n"
    found = units(text, headings=("9.8. Tasks: anacron", "1. Begin"))

    assert [(unit.kind, text[unit.start : unit.end]) for unit in found] == [
        ("heading", "9.8. Tasks: anacron"),
        ("sentence", "It runs daily."),
        ("heading", "1. Begin"),
        ("sentence", "Tasks: anacron is one."),
    ]


def test_what_front_matter_calls_a_note_is_a_heading_and_each_other_value_one_unit() -> None:
    note = (
        "---\ntitle: Coffee machine\ncreated: 2026-01-02\ntags:\n  - kitchen\n  - steel\n"
        "owner: Ann\nserial: QX. 12\n---\n\nDescale it.\n"
    )

    assert [(kind, said) for kind, said, _ in parts(note)] == [
        ("heading", "title: Coffee machine"),
        ("heading", "created: 2026-01-02"),
        ("heading", "tags:\n  - kitchen\n  - steel"),
        ("value", "owner: Ann"),
        ("value", "serial: QX. 12"),
        ("sentence", "Descale it."),
    ]
    for prose in (
        "---\nThe title: x\nis no key\n---\n",
        "---\n\ntitle: x\n---\n",
        "---\ntitle: x\n",
    ):
        assert "heading" not in {kind for kind, _, _ in parts(prose)[:1]}


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".org", "#+TITLE: Shop\n#+FILETAGS: :a:\n\n* TODO Glue\n- Epoxy needs a day.\n** More\n"),
        (".adoc", "= Shop\n:toc: left\n\n== Glue\n* Epoxy needs a day.\n=== More\n"),
    ],
)
def test_headings_of_other_markup_are_none_of_its_items(suffix: str, text: str) -> None:
    found = units(text, suffix=suffix)

    assert [unit.kind for unit in found] == ["heading", "heading", "heading", "item", "heading"]
    assert text[found[3].start : found[3].end] == "Epoxy needs a day."
    assert found[3].lead is None


def test_rows_that_go_on_with_a_table_have_no_header() -> None:
    rows = "| saw | 12 |\n| axe | 30 |\n| hammer | 9 |\n"
    assert {lead for _, _, lead in parts("\n" + rows)} == {None}
    assert parts(f"{rows}\n| a | b |\n| c | d |")[-1] == ("row", "| c | d |", "| a | b |")
    assert parts("| tool | price |\n|---|---|\n| axe | 30 |\n")[1][2] == "| tool | price |"


def test_each_line_of_a_file_that_is_a_table_is_a_row_under_the_names_of_its_columns() -> None:
    rows = "Name,Phone\nIda,1. 2.\n\nOla,3\n"

    def told(text: str, columns: str) -> list[tuple[str, str | None]]:
        found = units(text, columns=columns)
        assert {unit.kind for unit in found} == {"row"}
        return [(text[u.start : u.end], text[slice(*u.lead)] if u.lead else None) for u in found]

    under = [("Ida,1. 2.", "Name,Phone"), ("Ola,3", "Name,Phone")]
    assert told(rows, "Name, Phone") == [("Name,Phone", None), *under]
    assert told("Ida,1\nOla,3\n", "Name, Phone") == [("Ida,1", None), ("Ola,3", None)]
    assert told("Name,Phone", "Name, Phone") == [("Name,Phone", None)]
    account = [("Account,7", None), ("Name,Phone", None)]
    assert told(f"Account,7\n{rows}", "Name, Phone") == [*account, *under]


def test_lines_of_text_that_has_no_broken_ones_are_apart() -> None:
    text = "Ingredients\n\n3 beetroots\n2 l beef stock\n\nGrate them. Fry them.\nServe.\n"

    def told(*, is_unbroken: bool) -> list[str]:
        found = units(text, headings=["Ingredients"], is_unbroken=is_unbroken)
        return [text[unit.start : unit.end] for unit in found if unit.kind == "sentence"]

    assert told(is_unbroken=True) == [
        *("3 beetroots", "2 l beef stock", "Grate them.", "Fry them.", "Serve."),
    ]
    assert told(is_unbroken=False)[0] == "3 beetroots\n2 l beef stock"


def test_code_is_one_unit() -> None:
    assert [unit.kind for unit in units("def f():\n    return 1. \n\n", is_code=True)] == ["code"]
    assert units(" \n", is_code=True) == []


PIECES = ("word", "Mr.", "3.", "end.", "A", "。", "」", "！", "\n", "\n\n", "- ", "| a |", "|---|",
          "```", "# ", "\n====\n", "\n~~~~~~\n", ".. _a:", ".. b:: c", ".. code::\n", "::",
          "\t", " ", "e.g.", "문장이다.", "ไทย", "---\n", "title: x\n", "\n- y\n")  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=40).map("".join))
def test_units_are_in_order_and_no_word_outside_of_them_is_lost(text: str) -> None:
    found = units(text)

    ends = [0, *(unit.end for unit in found)]
    assert all(before <= unit.start < unit.end for before, unit in zip(ends, found, strict=False))
    left = (
        "".join(text[before : unit.start] for before, unit in zip(ends, found, strict=False))
        + text[ends[-1] :]
    )
    # Between units there are blanks, marks of lists, and the rules under headers of tables.
    assert "word" not in left
    for unit in found:
        piece = text[unit.start : unit.end]
        assert piece == piece.strip()
        assert unit.lead is None or (unit.lead[1] <= unit.start and text[slice(*unit.lead)])


@pytest.mark.parametrize(
    ("line", "called"),
    [
        ("- **maxDepth** `number` - How deep. @Default: 5", "**maxDepth**"),
        ("  3. `--max-depth` How deep. @Default: 5", "`--max-depth`"),
        ("- @**maxDepth** How deep.", None),
        ("- How deep **maxDepth** is. @Default: 5", None),
        ("- **how deep it is** Well. @Default: 5", None),
        ("**maxDepth** How deep. @Default: 5", None),
    ],
)
def test_what_an_item_is_called_stands_before_what_is_further_on_in_it(
    line: str, called: str | None
) -> None:
    text = f"- **before** It.\n{line.replace('@', '')}\n"
    found = called_before(text, text.index("\n") + 1 + line.index("@"))

    assert (text[slice(*found)] if found else None) == called
