"""Chunks of Markdown and of plain text."""

import random
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from textwrap import dedent

import pytest

from kb_app._ingest.judging.decode import FileContent
from kb_app._media import chunker_for, parser_for
from kb_core.documents import Block, ChunkDraft, ChunkLimits, ParsedDocument, SourceFile
from kb_core.ports import TokenCounter
from kb_core.testing.fakes import WordCounter

LIMITS = ChunkLimits(target_tokens=40, overlap_tokens=12, max_tokens=60)


def chunks(text: str, media: str = "markdown") -> list[tuple[tuple[str, ...], str]]:
    file = SourceFile(source_id="s", path="a.md", media=media)
    document = parser_for(media)(FileContent(dedent(text).lstrip("\n").encode()), file)
    drafts = chunker_for(media)(document, WordCounter(), LIMITS)
    return [(draft.heading_path, document.text[draft.start : draft.end]) for draft in drafts]


def drafts(text: str, counter: TokenCounter, limits: ChunkLimits) -> list[ChunkDraft]:
    file = SourceFile(source_id="s", path="a.md", media="markdown")
    document = parser_for("markdown")(FileContent(text.encode()), file)
    return list(chunker_for("markdown")(document, counter, limits))


def chunked(text: str, counter: TokenCounter, limits: ChunkLimits) -> list[str]:
    return [text[draft.start : draft.end] for draft in drafts(text, counter, limits)]


def words(count: int, word: str = "word") -> str:
    return " ".join([word] * count)


class LoudCounter:
    """Counts as models do: a word in capitals is three tokens."""

    adds_up = False

    def count(self, text: str, /) -> int:
        return sum(3 if word.isupper() else 1 for word in text.split())

    def count_many(self, texts: Sequence[str], /) -> list[int]:
        return [self.count(text) for text in texts]


def test_text_in_capitals_is_chunked_as_its_words_are() -> None:
    """As far as the maximum allows: what no model could read is no chunk."""
    text = "\n\n".join(f"{words(9, 'walrus')}." for _ in range(60))
    limits = ChunkLimits(target_tokens=60, overlap_tokens=0, max_tokens=120)
    loud, calm = (chunked(made, LoudCounter(), limits) for made in (text.upper(), text))
    tokens = [LoudCounter().count(chunk) for chunk in loud]

    assert max(tokens) <= limits.max_tokens
    assert sum(tokens) / len(tokens) > 100
    assert len(calm) <= len(loud) <= 1.6 * len(calm)
    assert [draft.token_count for draft in drafts(text.upper(), LoudCounter(), limits)] == tokens


def test_a_heading_starts_a_chunk_and_is_part_of_it() -> None:
    found = chunks(f"# A\n\n{words(20)}\n\n## B\n\n{words(20)}\n\n{words(10)}\n")

    assert found == [
        (("A",), f"# A\n\n{words(20)}"),
        (("A", "B"), f"## B\n\n{words(20)}\n\n{words(10)}"),
    ]


def test_a_bare_heading_goes_with_what_is_under_it() -> None:
    assert chunks(f"# A\n\n## B\n\n{words(20)}\n") == [(("A", "B"), f"# A\n\n## B\n\n{words(20)}")]


def test_tiny_sections_under_one_heading_are_merged() -> None:
    text = "# A\n\n## B\n\none\n\n## C\n\ntwo\n\n# D\n\nthree\n"

    assert chunks(text) == [((), text.strip())]
    assert chunks(text.replace("three", words(30)))[0] == (
        ("A",),
        text[: text.index("# D")].strip(),
    )


def test_short_front_matter_goes_with_the_first_section() -> None:
    front = "---\ntitle: T\n---\n"

    assert chunks(f"{front}intro\n") == [((), f"{front}intro")]
    assert chunks(f"{front}# A\n\nintro\n") == [(("A",), f"{front}# A\n\nintro")]
    assert chunks(front) == [((), front.strip())]
    first, *rest = chunks(f"{front}# A\n\n{words(40)}\n\n{words(40)}\n\n# B\n\n{words(30)}\n")
    assert first[0] == ("A",)
    assert first[1].startswith(f"{front}# A\n\nword")
    assert [path for path, _ in rest][-1] == ("B",)


def test_long_front_matter_is_a_chunk_of_its_own() -> None:
    front = f"---\nabout: {words(20)}\n---\n"

    assert [text for _, text in chunks(f"{front}# A\n\nintro\n")] == [
        front.strip(),
        "# A\n\nintro",
    ]


def test_a_code_block_is_not_cut_while_it_fits() -> None:
    code = "```\n" + "\n\n".join([words(5)] * 10) + "\n```"

    assert [text for _, text in chunks(f"{words(30)}\n\n{code}\n\n{words(30)}\n")] == [
        words(30),
        code,
        words(30),
    ]


def test_a_table_that_has_to_be_cut_is_cut_between_rows() -> None:
    rows = [f"| row {number} | {words(6)} |" for number in range(30)]
    found = chunks("| a | b |\n|---|---|\n" + "\n".join(rows))

    assert len(found) > 3
    assert all(text.startswith("| ") and text.endswith(" |") for _, text in found)


def test_a_table_that_is_cut_stands_under_the_names_of_its_columns() -> None:
    head = "| **Part** | [Torque](t.md), `Nm` | |\n|---|:-:|---|"
    rows = [f"| hinge M{number} | {words(6)} | x |" for number in range(30)]
    table = "\n".join((head, *rows))
    found = chunks(f"# Car\n\n{words(45)}\n\n{table}\n\n## Next\n\n{words(30)}\n")

    (first,) = [at for at, (_, text) in enumerate(found) if head in text]
    assert rows[0] in found[first][1]
    names = "Part, Torque, Nm"
    assert [path for path, _ in found[first:-1]] == [
        ("Car",),
        *[("Car", names)] * (len(found) - first - 2),
    ]
    assert len(found) > first + 3
    assert found[-1][0] == ("Car", "Next")


def test_of_a_table_that_tells_of_a_name_in_each_row_few_rows_make_a_chunk() -> None:
    """Their sizes are what they are: rows only count for more where a chunk is to end."""
    head = "| Key | Default | Meaning |\n|---|---|---|"
    names = ("`wait_secs`", '<a id="x">E_BUSY</a>', "--all, -a", "**sort**", "`push` URL", "theme")
    told = [f"| {name} | 1 | {words(5)} |" for name in names]
    others = {
        "longer names": [f"| a {name} b | 1 | {words(5)} |" for name in names],
        "figures": [f"| {name} | 1 | 12.5 % of 3 or 4 |" for name in names],
        "three rows": told[:3],
        "addresses": [f"| `k{n}` | https://example.org/of/otters/k{n} |" for n in range(6)],
    }
    found = drafts(f"# Keys\n\n{words(4)}\n\n{head}\n" + "\n".join(told), WordCounter(), LIMITS)
    text = f"# Keys\n\n{words(4)}\n\n{head}\n" + "\n".join(told)
    held = [text[draft.start : draft.end] for draft in found]

    assert [[row for row in told if row in one] for one in held] == [[row] for row in told]
    assert head in held[0]
    assert [draft.token_count for draft in found] == list(map(WordCounter().count, held))
    assert {draft.heading_path for draft in found[1:]} == {("Keys", "Key, Default, Meaning")}
    for rows in others.values():
        text = f"# Keys\n\n{head}\n" + "\n".join(rows)
        assert chunked(text, WordCounter(), replace(LIMITS, target_tokens=99, max_tokens=99)) == [
            text
        ]


def test_columns_without_a_line_under_them_have_names_where_nothing_else_can_stand_there() -> None:
    rows = "\n".join(f"hinge\tM{number}\t{words(6)}" for number in range(30))
    for head, names in (("part\tsize\tnote", ("part, size, note",)), ("hinge\t12\tx", ())):
        block = Block("table", 0, len(head) + 1 + len(rows))
        document = ParsedDocument(text=f"{head}\n{rows}", media="office", blocks=(block,))
        found = list(chunker_for("office")(document, WordCounter(), LIMITS))

        assert {draft.heading_path for draft in found[1:]} == {names}


def test_a_long_paragraph_is_cut_at_sentences_that_overlap() -> None:
    text = " ".join(f"This is sentence number {number}." for number in range(40))
    found = [text for _, text in chunks(text)]

    assert all(text.startswith("This is") and text.endswith(".") for text in found)
    for one, two in pairwise(found):
        assert two[: two.index(".") + 1] in one


def test_chinese_is_cut_at_its_full_stops() -> None:
    found = [text for _, text in chunks("这是一个关于搜索引擎的很长的句子。" * 60)]

    assert all(text.endswith("。") for text in found)


def test_items_of_lists_stay_whole() -> None:
    text = "\n".join(f"- {words(11)} {number}" for number in range(12))

    for _, chunk in chunks(text):
        assert all(line.startswith("- ") for line in chunk.split("\n"))


def test_an_edit_elsewhere_changes_no_other_section() -> None:
    """Ruling R7: an edit changes only the chunks whose text it changes."""
    sections = [f"## S{number}\n\n{words(25, f'w{number}')}\n\n" for number in range(6)]
    before = chunks("".join(sections))

    sections[2] = f"## S2\n\n{words(33, 'edited')}\n\n"

    after = chunks("".join(sections))
    assert [one == two for one, two in zip(before, after, strict=True)].count(False) == 1


def test_plain_text_is_merged_by_paragraphs() -> None:
    text = f"{words(15)}\n\n{words(15)}\n\n{words(15)}\n\n{words(50)}\n"

    assert [text for _, text in chunks(text, "text")] == [
        f"{words(15)}\n\n{words(15)}",
        words(15),
        words(50),
    ]


# Data for programs


def base64(letters: int, width: int = 76) -> str:
    """Return so many letters of made-up data, in lines."""
    data = b64encode(random.Random(letters).randbytes(letters)).decode()[:letters]
    return "\n".join(data[at : at + width] for at in range(0, letters, width))


PICTURE = f"data:image/png;base64,{base64(9_000, 9_000)}"


@pytest.mark.parametrize("media", ["markdown", "text"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"# Note\n\nBefore.\n\n![walrus]({PICTURE})\n\nAfter it.\n",
            ["# Note\n\nBefore.\n\n![walrus]", "After it."],
        ),
        (f"A seal ![a seal]({PICTURE}) sleeps.\n", ["A seal ![a seal]", "sleeps."]),
        (f'Text ![]({PICTURE} "named") goes on.\n', ["Text ![]", '"named") goes on.']),
        (f"See [it][1].\n\n[1]: {PICTURE}\n\nEnd.\n", ["See [it][1].", "End."]),
        (f"a\n\n![](data:image/svg+xml;utf8,{'%3Cg%3E' * 20})\n", ["a"]),
        (f"Its key:\n\n{base64(2_000)}\n\nEnd.\n", ["Its key:", "End."]),
        (f"Its key:\n\n{base64(400)}\n\nEnd.\n", [f"Its key:\n\n{base64(400)}\n\nEnd."]),
    ],
)
def test_data_in_a_text_is_in_no_chunk(text: str, expected: list[str], media: str) -> None:
    limits = ChunkLimits(target_tokens=400, overlap_tokens=0, max_tokens=9_999)
    file = SourceFile(source_id="s", path="a.md", media=media)
    document = parser_for(media)(FileContent(text.encode()), file)
    found = chunker_for(media)(document, WordCounter(), limits)

    assert document.text == text
    assert [text[each.start : each.end] for each in found] == expected


@pytest.mark.parametrize(
    "drawing",
    [
        f"```compressed-json\n{base64(4_000, 256)}\n```\n",
        '```json\n{\n  "type": "excalidraw",\n  "elements": [{"text": "seal"}]\n}\n```\n',
    ],
)
def test_of_a_drawing_within_a_note_its_texts_are_chunked(drawing: str) -> None:
    texts = "# Excalidraw Data\n\n## Text Elements\nA walrus ^abc\n\n%%\n## Drawing"

    assert chunks(f"{texts}\n{drawing}%%\n") == [(("Excalidraw Data", "Text Elements"), texts)]


_PATHS = "\n".join(f"org/example/{'gardens/' * 6}BedsOfPeas{n}Factory" for n in range(20))


@pytest.mark.parametrize("text", ["ACGTTGCA" * 200, "0f9d" * 300, _PATHS, PICTURE])
def test_long_words_and_texts_that_are_nothing_but_data_are_chunked(text: str) -> None:
    limits = ChunkLimits(target_tokens=40, overlap_tokens=0, max_tokens=60)

    said = "".join(chunked(text, WordCounter(), limits))
    assert said.replace("\n", "") == text.replace("\n", "")


_JOPLIN = """id: 0123456789abcdef0123456789abcdef
parent_id: fedcba9876543210fedcba9876543210
created_time: 2023-05-06T07:08:09.123Z
updated_time: 2023-06-07T07:08:09.123Z
source_url: https://example.org/#no-tag
user_created_time: 2023-05-05T07:08:09.123Z
latitude: 0.00000000
type_: 1"""


@pytest.mark.parametrize("end", ["", "\n"])
def test_fields_behind_a_note_of_joplin_say_what_it_is_and_are_in_no_chunk(end: str) -> None:
    text = f"Peas and beans\n\nThey climb. #garden\n\n{_JOPLIN}{end}"
    file = SourceFile(source_id="s", path="0123456789abcdef.md", media="markdown")
    document = parser_for("markdown")(FileContent(text.encode()), file)
    told = document.metadata

    assert document.text == text
    assert (told.title, told.tags) == ("Peas and beans", ("garden",))
    assert [str(told.created)[:10], str(told.updated)[:10]] == ["2023-05-05", "2023-06-07"]
    assert told.user == {"source_url": "https://example.org/#no-tag"}
    assert chunks(text) == [((), "Peas and beans\n\nThey climb. #garden")]
    assert document.blocks[-1].kind == "fields"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (_JOPLIN, []),
        (f"{_JOPLIN}\n\nEnd.", [((), f"{_JOPLIN}\n\nEnd.")]),
        ("A\n\nid: 1\ntype_: 1", [((), "A\n\nid: 1\ntype_: 1")]),
    ],
)
def test_fields_alone_are_in_no_chunk_and_others_are(
    text: str, expected: list[tuple[tuple[str, ...], str]]
) -> None:
    assert chunks(text) == expected
