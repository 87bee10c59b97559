"""Texts of Word 97 to 2003: read as those of later versions are, and refused for one reason."""

from __future__ import annotations

import struct
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings, strategies as st

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.making.formats.office.word97.fields import edited, without_fields
from kb_app._media import UNLOCKING, parser_for
from kb_app.testing.compound_files import Tree, compound, harmed
from kb_app.testing.word_files import L, Listed, P, Style, doc_tree, row, summary
from kb_core.documents import ParsedDocument, SourceFile

LISTED = b"\x0b\x46\1\0"
DEEPER = b"\x0a\x26\1"
DELETED = b"\0\x08\1"


def doc(*paragraphs: P | str, **told: object) -> bytes:
    return compound(doc_tree(paragraphs, **told))  # type: ignore[arg-type]


def parse(data: bytes, path: str = "a.doc", *passwords: str) -> ParsedDocument:
    file = SourceFile(source_id="s", path=path, media="office", options={"passwords": passwords})
    document = parser_for("office")(FileContent(data), file)
    end = 0
    for block in document.blocks:
        assert document.text[end : block.start].strip() == ""
        assert document.text[block.start : block.end].strip()
        end = block.end
    assert document.text[end:].strip() == ""
    return document


def kinds(document: ParsedDocument) -> list[tuple[str, int, str]]:
    return [(b.kind, b.level, document.text[b.start : b.end]) for b in document.blocks]


def test_paragraphs_are_read_in_their_order() -> None:
    document = parse(doc("The walrus sleeps.", "", "It dreams."))

    assert document.text == "The walrus sleeps.\n\nIt dreams."
    assert document.media == "office"
    assert document.has_lines


@pytest.mark.parametrize(
    "width", [lambda _: 1, lambda _: 2, lambda n: 1 + n % 2], ids=["one", "two", "both"]
)
def test_letters_of_one_byte_and_of_two_are_read_wherever_they_lie(width: object) -> None:
    paragraphs = [f"“Größe” – {number}" for number in range(40)]

    assert parse(doc(*paragraphs, width=width)).text == "\n\n".join(paragraphs)


def test_letters_beyond_the_first_65536_keep_their_places() -> None:
    document = parse(doc("안녕 😀 {f}fish", "End{f}.", beside={"footnotes": ["One.", "Two."]}))

    assert document.text == "안녕 😀 fish\n\nOne.\n\nEnd.\n\nTwo."


def test_the_second_table_is_read_where_the_head_says_so() -> None:
    assert parse(doc("Walrus", flags=0x0200)).text == "Walrus"


def test_headings_are_told_by_style_by_what_it_is_based_on_and_by_outline() -> None:
    styles = [
        Style(0),
        Style(1),
        Style(base=1),
        Style(62),
        Style(changes=b"\x40\x26\2"),
        Style(base=1, changes=b"\x40\x26\x09"),
    ]
    paragraphs = [P(f"Style {number}", style=number) for number in range(6)]
    outlined = P("Outlined", changes=b"\x40\x26\1")
    document = parse(doc(*paragraphs, outlined, styles=styles))

    assert kinds(document) == [
        ("paragraph", 0, "Style 0"),
        ("heading", 1, "Style 1"),
        ("heading", 1, "Style 2"),
        ("heading", 1, "Style 3"),
        ("heading", 3, "Style 4"),
        ("paragraph", 0, "Style 5"),
        ("heading", 2, "Outlined"),
    ]


def test_styles_that_lead_to_themselves_are_no_trouble() -> None:
    document = parse(doc(P("Walrus", style=1), styles=[Style(base=1), Style(base=0)]))

    assert kinds(document) == [("paragraph", 0, "Walrus")]


def test_items_of_lists_are_told_by_themselves_or_by_their_style() -> None:
    styles = [Style(0), Style(changes=LISTED)]
    items = [P("one", changes=LISTED), P("two", changes=LISTED + DEEPER), P("three", style=1)]
    document = parse(doc(*items, P("none", style=1, changes=b"\x0b\x46\0\0"), styles=styles))

    assert document.text == "one\ntwo\nthree\n\nnone"
    assert [kind for kind, _, _ in kinds(document)] == ["list_item"] * 3 + ["paragraph"]
    assert [level for _, level, _ in kinds(document)] == [1, 2, 1, 0]


def test_a_row_of_a_table_is_a_line() -> None:
    document = parse(doc("Before", *row("Name", "Fish"), *row("Ann", ""), *row("", "2"), "After"))

    assert document.text == "Before\n\nName\tFish\nAnn\n\t2\n\nAfter"
    assert [kind for kind, _, _ in kinds(document)] == ["paragraph", "table", "paragraph"]


def test_a_cell_as_wide_as_several_leaves_the_others_in_their_columns() -> None:
    wide = [
        *row("Name", "Born", "Place", borders=(-100, 1000, 2000, 3000)),
        *row("Ann", "Oslo", borders=(-90, 2010, 3000)),
        *row("Bo", "1955", "Rome", borders=(-100, 1000, 2000, 3000)),
    ]
    form = [*row("a", "b", borders=(0, 1000, 2000)), *row("c", "d", borders=(0, 500, 2000))]

    document = parse(doc(*wide, "between", *form))

    assert (
        document.text == "Name\tBorn\tPlace\nAnn\t\tOslo\nBo\t1955\tRome\n\nbetween\n\na\tb\nc\td"
    )


def test_rows_are_told_apart_where_no_format_tells() -> None:
    cells = [P(text, "\x07") for text in ("a", "b", "", "c", "d", "")]
    tree = doc_tree(["Before", *cells, "After"])
    stream = bytearray(bytes(tree["WordDocument"]))  # type: ignore[arg-type]
    struct.pack_into("<II", stream, 0x9A + 8 * 13, 0, 0)

    assert parse(compound({**tree, "WordDocument": bytes(stream)})).text == (
        "Before\n\na\tb\nc\td\n\nAfter"
    )


def test_a_table_within_a_cell_is_part_of_that() -> None:
    inner = b"\x16\x24\1\x49\x66\2\0\0\0"
    cells = [P("in", changes=inner + b"\x4b\x24\1"), P("ner", changes=inner + b"\x4b\x24\1")]
    cells += [P("", changes=inner + b"\x4c\x24\1")]
    outer = row("x", "y")

    assert parse(doc(*cells, *outer, "After")).text == "in ner x\ty\n\nAfter"


def test_a_format_that_is_too_large_for_its_place_is_found() -> None:
    inside = b"\x16\x24\1"
    told = inside + b"\x17\x24\1"
    tree = doc_tree([
        *(P(cell, "\x07", changes=inside) for cell in "ab"),
        P("", "\x07", changes=b"\x46\x66\4\0\0\0"),
        *row("c", "d"),
    ])  # fmt: skip
    data: Tree = {**tree, "Data": b"????" + struct.pack("<H", len(told)) + told}

    assert parse(compound(data)).text == "a\tb\nc\td"


def test_of_fields_what_came_of_them_is_read() -> None:
    document = parse(
        doc(
            'See \x13 HYPERLINK "https://example.org/a b" \x14the \x13 PAGE \x147\x15th\x15 page.',
            "\x13 TOC \\o \x14Contents",
            "One\t1\x15",
            "\x13 MACROBUTTON NoMacro [Name]\x15, \x13 XE walrus \x15an unfinished \x13 field",
        )
    )

    assert (
        document.text == "See the 7th page.\n\nContents\n\nOne\t1\n\n[Name], an unfinished  field"
    )
    (link,) = document.links
    assert (link.target, link.text) == ("https://example.org/a b", "the 7th")
    assert document.text[link.start :].startswith("the 7th")


def test_what_is_no_letter_is_left_out_or_what_it_stands_for() -> None:
    document = parse(doc("a\x01b\x0bc\x1ed\x1fe\xa0f\uf0b7", "page\x0cbreak"))

    assert document.text == "ab\nc-de\xa0f•\n\npage\n\nbreak"


def test_what_was_deleted_is_not_there_and_symbols_are() -> None:
    symbol = b"\x55\x08\1\x09\x6a\1\0" + struct.pack("<H", 0x03A9)
    dingbat = b"\x09\x6a\1\0" + struct.pack("<H", 0xF0FC)
    for width in (lambda _: 1, lambda _: 2, lambda n: 1 + n % 2):
        document = parse(
            doc(
                "The walrus never, ever sleeps.",
                "5 (",
                "6 )",
                letters=[
                    ("never, ", DELETED),
                    ("ever ", b"\0\x08\x81"),
                    ("(", symbol),
                    (")", dingbat),
                ],
                width=width,
            )
        )

        assert document.text == "The walrus sleeps.\n\n5 Ω\n\n6 •"


def test_what_stands_beside_the_text_follows_what_it_belongs_to() -> None:
    document = parse(
        doc(
            P("Ice", style=1),
            "Floes{f} melt{e}.{b}",
            *row("a{c}", "b"),
            "The end.",
            beside={
                "footnotes": ["\x02 A footnote."],
                "endnotes": ["\x02 An endnote."],
                "comments": ["\x05Really?"],
                "boxes": ["In a box.", "In another."],
                "headers": ["-"] * 6 + ["Even", "Head", "", "Head", "", ""],
                "in headers": ["In a box of a header."],
            },
        )
    )

    assert document.text.split("\n\n") == [
        *("Ice", "Floes melt.", "A footnote.", "An endnote.", "In a box.", "a\tb"),
        *("Ann: Really?", "The end.", "In another.", "Even", "Head", "In a box of a header."),
    ]
    told = {document.text[b.start : b.end]: (b.kind, b.heading_path) for b in document.blocks}
    assert told["A footnote."] == ("note", ("Ice",))
    assert told["Ann: Really?"] == ("comment", ("Ice",))
    assert told["Head"] == ("margin", ())


def test_what_a_text_says_of_itself_is_kept() -> None:
    moment = datetime(2003, 5, 6, 7, 8, 9, tzinfo=UTC)
    values: dict[int, str | datetime] = {2: "Größe", 4: "Ann Doe", 5: "ice, fish", 12: moment}
    told = parse(compound({**doc_tree(["Walrus"]), **summary(values)})).metadata
    korean = parse(compound({**doc_tree(["x"]), **summary({2: "회의"}, 949)})).metadata
    made_up = parse(compound({**doc_tree(["x"]), **summary({2: "Document1"})}), "a plan.doc")

    assert (told.title, told.tags, told.created) == ("Größe", ("ice", "fish"), moment)
    assert told.user["author"] == "Ann Doe"
    assert korean.title == "회의"
    assert made_up.metadata.title == "a plan"


def test_a_text_whose_table_is_lost_is_read_as_far_as_the_head_tells() -> None:
    tree = doc_tree(["Walrus"], width=lambda _: 1)
    stream = bytearray(bytes(tree["WordDocument"]))  # type: ignore[arg-type]
    struct.pack_into("<II", stream, 0x18, 2048, 2048 + 7)

    assert parse(compound({"WordDocument": bytes(stream)})).text == "Walrus"


def word95(*parts: bytes, flags: int = 0, language: int = 0x409, quickly: bool = False) -> bytes:
    """Return a file of Word 95 that says *parts*: text, notes, headers and so on."""
    text = b"".join(parts)
    head = bytearray(struct.pack("<HHHHHH", 0xA5DC, 104, 0, language, 0, flags | 4 * quickly))
    head += bytes(0x168 - len(head))
    struct.pack_into("<II", head, 0x18, len(head), len(head) + len(text))
    counts = [len(part) for part in parts]
    struct.pack_into(f"<{len(counts)}I", head, 0x34, *counts)
    stream = bytes(head) + text
    if quickly:  # the second half lies before the first one
        half = len(text) // 2
        stream = bytes(head) + text[half:] + text[:half]
        places = struct.pack("<3I", 0, half, len(text))
        pieces = (len(head) + len(text) - half, len(head))
        told = places + b"".join(struct.pack("<HIH", 0, place, 0) for place in pieces)
        table = b"\2" + struct.pack("<I", len(told)) + told
        head[0x160:0x168] = struct.pack("<II", len(stream), len(table))
        stream = bytes(head) + stream[len(head) :] + table
    return compound({"WordDocument": stream.ljust(4096, b"\0")})


@pytest.mark.parametrize("quickly", [False, True])
def test_a_text_of_word_95_is_read_without_its_styles(quickly: bool) -> None:
    text = (
        b"The walrus\x92s den.\rName\x07Age\x07\x07Anna\x07\x07\x07Next\x0bline, see "
        b'\x13 HYPERLINK "http://a.example/" \x14there\x15.\r\r\x13 PAGE \x14\x31\x15\r'
    )
    noted, margin = b"\x02 A note.\r", b"Page of dens\r"

    document = parse(word95(text, noted, margin, quickly=quickly))

    assert kinds(document) == [
        ("paragraph", 0, "The walrus’s den."),
        ("table", 0, "Name\tAge\nAnna"),
        ("paragraph", 0, "Next\nline, see there."),
        ("paragraph", 0, "1"),
        ("note", 0, "A note."),
        ("margin", 0, "Page of dens"),
    ]
    assert document.warnings == ()


@pytest.mark.parametrize(
    ("language", "flags", "page"),
    [(0x419, 0, "cp1251"), (0x415, 0, "cp1250"), (0x804, 0, "cp936"), (0x411, 0x1000, "utf-16-le")],
)
def test_letters_of_word_95_are_those_of_its_language(language: int, flags: int, page: str) -> None:
    said = {"cp1251": "Морж", "cp1250": "Mroź", "cp936": "海象", "utf-16-le": "セイウチ"}[page]
    data = bytearray(word95(f"{said}\r".encode(page), flags=flags, language=language))
    if flags:  # counted in letters
        at = data.index(struct.pack("<HHHHHH", 0xA5DC, 104, 0, language, 0, flags))
        struct.pack_into("<I", data, at + 0x34, len(said) + 1)

    assert parse(bytes(data)).text == said


@pytest.mark.parametrize(
    ("data", "reason", "says"),
    [
        (word95(b"x", flags=0x0100), "encrypted", "save it as .docx"),
        (compound({"WordDocument": struct.pack("<HH", 0xA5DC, 104)}), "unreadable", "damaged"),
        (compound({"WordDocument": b"?"}), "unreadable", "it is damaged"),
        (compound({"Contents": b"?"}), "unsupported", "no file of an office program"),
        (compound({"PowerPoint Document": b"?"}), "unsupported", "save them as .pptx"),
        (compound({"EncryptedPackage": b"?"}), "encrypted", "password"),
        (doc("x", flags=0x8100), "encrypted", "save it as .docx"),
        (doc("x")[:700], "unreadable", "it is damaged"),
    ],
)
def test_what_cannot_be_read_has_one_reason(data: bytes, reason: str, says: str) -> None:
    refused = parse(data).refused

    assert refused is not None
    assert refused[0] == reason
    assert says in refused[1]


def test_a_text_that_speaks_of_locks_and_sheets_is_none() -> None:
    assert parse(doc("EncryptedPackage", "Workbook")).text == "EncryptedPackage\n\nWorkbook"


def test_a_locked_text_says_where_its_password_is_named() -> None:
    refused = parse(doc("x", flags=0x0100)).refused

    assert refused is not None
    assert refused[0] == "encrypted"
    if UNLOCKING.is_installed:
        assert "password" in refused[1]


# ---------------------------------------------------------------- whatever the bytes are


def test_a_thousand_pieces_of_one_place_are_no_more_than_the_file() -> None:
    tree = doc_tree(["x" * 10_000])
    stream = bytearray(bytes(tree["WordDocument"]))  # type: ignore[arg-type]
    count = 20_000
    places = struct.pack(f"<{count + 1}I", *range(0, 10_000 * (count + 1), 10_000))
    told = places + struct.pack("<HIH", 0, 2048, 0) * count
    table = b"\2" + struct.pack("<I", len(told)) + told
    struct.pack_into("<II", stream, 0x9A + 8 * 33, 0, len(table))
    struct.pack_into("<I", stream, 0x4C, 10_000 * count)
    document = parse(compound({"WordDocument": bytes(stream), "0Table": table}))

    assert 10_000 <= len(document.text) <= len(stream)
    assert document.warnings == ("it is damaged: some of its text is missing",)


@pytest.mark.parametrize(
    "text",
    [
        "\x13" * 100_000,
        "\x13\x14" * 50_000 + "\x15" * 50_000,
        '\x13 HYPERLINK "a" \x14' * 10_000 + "x" + "\x15" * 10_000,
        '\x13 HYPERLINK "a" \x14b\x15' * 10_000,
        "\x07" * 100_000,
        "\r" * 100_000,
    ],
)
def test_a_long_text_of_one_thing_takes_no_time(text: str) -> None:
    began = time.process_time()
    parse(doc(text))

    assert time.process_time() - began < 10


@given(st.text("ab\x13\x14\x15", max_size=60))
def test_orders_of_fields_go_and_nothing_moves(text: str) -> None:
    read, links = without_fields(text)

    assert len(read) == len(text)
    assert all(new in {old, "\0"} for old, new in zip(text, read, strict=True))
    assert links == sorted(links)


@given(st.text("abc", max_size=20), st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20))))
def test_what_is_edited_keeps_its_length(text: str, places: list[tuple[int, int]]) -> None:
    told = sorted((start, min(end, len(text)), "x") for start, end in places)

    assert len(edited(text, told)) == len(text)


def _whole() -> bytes:
    return compound({
        **doc_tree(
            [P("Ice", style=1), "Floes{f} melt{c}.{b}", *row("a", "b"), *row("c", "d"),
             'A \x13 HYPERLINK "https://x" \x14link\x15.', P("item", changes=LISTED)],
            beside={"footnotes": ["Note."], "comments": ["Hm."], "boxes": ["Box."],
                    "headers": [""] * 6 + ["Head"] * 6},
            styles=[Style(0), Style(1)],
            letters=[("melt", DELETED)],
            lists=[Listed([L("\0."), L("\0.\1")], anew=3)],
            width=lambda number: 1 + number % 2,
        ),
        **summary({2: "Ice", 12: datetime(2003, 1, 1, tzinfo=UTC)}),
    })  # fmt: skip


WHOLE = _whole()


@settings(deadline=None, max_examples=400)
@given(st.integers(0, 10**9))
def test_whatever_happens_to_a_text_there_is_a_document_or_one_reason(seed: int) -> None:
    document = parse(harmed(WHOLE, seed))

    document.text.encode()
    if document.refused is not None:
        assert document.refused[1]
        assert "\n" not in document.refused[1]


@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=2_000), st.binary(max_size=500))
def test_any_streams_are_a_document_or_one_reason(stream: bytes, table: bytes) -> None:
    tree = doc_tree(["Walrus", *row("a", "b")])
    head = bytes(tree["WordDocument"])[:900]  # type: ignore[arg-type]
    for tables in ({"0Table": table}, {"0Table": bytes(tree["0Table"])[:150] + table}):  # type: ignore[arg-type]
        for data in (stream, head + stream, head[:0xA2] + stream):
            parse(compound({"WordDocument": data.ljust(200, b"\0"), **tables})).text.encode()
