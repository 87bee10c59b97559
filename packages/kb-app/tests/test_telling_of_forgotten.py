"""What tells of something that is to be forgotten: by name, by quotation, by its words."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from kb_app._forgetting.mentions import Telling, read_line

ID = "5669ef1867462f246ba69791918ea713"
TEXT = "The contract ends on the last day of June, and nobody has to give notice before."
KOREAN = "계약은 유월 마지막 날에 끝나며 미리 알릴 필요는 아무에게도 없습니다."
JAPANESE = "契約は六月末に終わり事前の通知は誰にも必要ありません。"

WORDS = st.lists(st.text("abcdeé", min_size=1, max_size=6), max_size=30)


def telling(*texts: str, said: tuple[str, ...] = ()) -> Telling:
    made = Telling([ID], ["notes/old contract.md", "a.md"], [])
    made.look_for_quotes(texts, said)
    return made


@pytest.mark.parametrize(
    "value",
    [
        {"citation": {"uri": "notes/old%20contract.md#L3-L4"}},
        {"path": "a.md"},
        ["found", {"doc_id": ID}],
        "2026-01-01 WARNING kb_app: /home/p/notes/old contract.md: not read",
        "parsed /home/p/a.md.",
        {ID: 1},
    ],
)
def test_what_names_it_tells_of_it(value: object) -> None:
    assert telling().is_told_by(value)


@pytest.mark.parametrize(
    "value",
    [
        "data.md",
        "a.mdx",
        "a.mdि",
        "notes/contract.md",
        ID[:-1] + "4",
        {"n": 7},
        {"none": None},
        "",
        [],
    ],
)
def test_what_names_something_else_does_not(value: object) -> None:
    assert not telling().is_told_by(value)


@pytest.mark.parametrize("text", [TEXT, KOREAN, JAPANESE])
def test_eight_words_in_a_row_are_a_quotation_whatever_stands_between(text: str) -> None:
    spaced = text.replace(",", " —").replace(" ", "\n> ").upper()
    said = json.dumps({"answer": f"It says: {spaced}"}, ensure_ascii=False)

    assert telling(text, said=(spaced,)).is_told_by(read_line(said.encode()))
    assert not telling(text, said=(spaced,)).is_told_by("the contract ends soon, 契約 계약은")


@given(WORDS, WORDS, st.integers(0, 30))
def test_a_quotation_is_found_wherever_it_stands(
    before: list[str], text: list[str], at: int
) -> None:
    quoted = text[at : at + 8]
    said = " ".join([*before, *quoted])
    found = telling(" ".join(text), said=(said,)).is_told_by(said)

    assert found or len(quoted) < 8


@given(st.lists(WORDS), WORDS)
def test_a_query_is_told_by_what_holds_its_words_in_a_row(
    parts: list[list[str]], query: list[str]
) -> None:
    made = Telling(queries=[" ".join(query)])

    for part in parts:
        assert made.is_told_by(" ".join([*part, *query, *part])) == bool(query)


def test_a_line_that_is_no_json_is_looked_at_as_it_stands() -> None:
    torn = b'{"answer": "see notes/old contract.md and th'

    assert telling().is_told_by(read_line(torn))
    assert not telling().is_told_by(read_line(b"\xff{"))
