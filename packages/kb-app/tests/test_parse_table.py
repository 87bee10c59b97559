"""Comma-separated values: what parts them, what names the columns, and records kept whole."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.making.formats import table
from kb_app._media import chunker_for, parser_for
from kb_core.documents import ChunkLimits, ParsedDocument, SourceFile
from kb_core.testing.fakes import WholeTextCounter

SAMPLES = Path(__file__).parents[4] / "shared" / "data" / "formats" / "csv"
LIMITS = ChunkLimits(target_tokens=40, overlap_tokens=0, max_tokens=4_000)


def parse(data: bytes, path: str = "table.csv") -> ParsedDocument:
    content = FileContent(data)
    document = parser_for("csv")(content, SourceFile(source_id="notes", path=path, media="csv"))
    assert document.text == content.text
    text, end = document.text, 0
    for block in document.blocks:
        assert text[end : block.start].strip() == ""
        end = block.end
    assert text[end:].strip() == ""
    return document


def columns(data: bytes, path: str = "table.csv") -> tuple[str, ...]:
    document = parse(data, path)
    paths = {block.heading_path for block in document.blocks}
    assert len(paths) == 1
    return paths.pop()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name,age\nAnn,3\n", ("name, age",)),
        ("name;price\nChair;49,90\nTable;9,90\n", ("name, price",)),
        ("name\tage\nAnn\t3\n", ("name, age",)),
        ("a|b|c\n1|2|3\n", ("a, b, c",)),
        ('"last, first",age\n"Doe, J",3\n', ("last, first, age",)),
        ("1,2\n3,4\n", ()),
        ("2026-01-01,7.5\n2026-01-02,8\n", ()),
        ("word\nalpha\nbeta, with comma\n", ()),
        ("name,name\na,b\n", ()),
        ("name,age\n", ()),
        ("name,age,,\nAnn,3,,\nTom,4,,\n", ("name, age",)),
        ("day,what,sum,\n1,Ann,3\n2,Tom,4\n", ("day, what, sum",)),
        ("sep=;\nday;what;sum\n1;Ann;3\n2;Tom;4\n", ("day, what, sum",)),
        (
            (
                "Account;Ann\nNumber;1\n;\nday;what;balance;EUR;sum;EUR\n"
                "1;Rent;3;EUR;-9;EUR\n2;Pay;4;EUR;9;EUR\n"
            ),
            ("day, what, balance, EUR, sum, EUR",),
        ),
        ("day,what,what,what\n1,a,b,c\n2,d,e,f\n", ()),
    ],
)
def test_the_first_record_names_the_columns_where_it_can(
    text: str, expected: tuple[str, ...]
) -> None:
    assert columns(text.encode()) == expected


def test_records_of_several_lines_are_not_cut_while_they_fit() -> None:
    rows = [[str(number), f"line one of {number}\nline two"] for number in range(500)]
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([["id", "text"], *rows])
    document = parse(stream.getvalue().encode())

    chunks = list(chunker_for("csv")(document, WholeTextCounter(), LIMITS))

    assert len(chunks) > 10
    for chunk in chunks:
        assert document.text[chunk.start : chunk.end].count('"') % 2 == 0
        assert chunk.heading_path == ("id, text",)


def test_a_quotation_that_nobody_closed_swallows_nothing() -> None:
    text = 'a,b\n1,"open\n' + "2,3\n" * 2_000
    document = parse(text.encode())

    assert len(document.blocks) > 5


def test_where_every_quotation_stays_open_a_line_is_a_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(table, "_MOST_OPEN", 3)
    readers, reader = [], csv.reader

    def remembered(rows: Iterable[str], delimiter: str) -> Iterator[list[str]]:
        readers.append(reader(rows, delimiter=delimiter))
        return readers[-1]

    monkeypatch.setattr(csv, "reader", remembered)
    document = parse(b'x"y,"z\n' * 2_000)

    assert len(document.blocks) > 5
    assert sum(each.line_num for each in readers) < 3 * 500 + 2_000


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from('a1,;|\t"\n\r\0é '), max_size=300))
def test_any_text_is_some_table(text: str) -> None:
    parse(text.encode())
    parse(text.encode(), "table.tsv")


@settings(deadline=None, max_examples=50)
@given(
    st.lists(
        st.lists(st.text(alphabet='ab\n", é', min_size=1, max_size=12), min_size=3, max_size=3),
        min_size=1,
        max_size=30,
    )
)
def test_no_record_is_parted_between_blocks(rows: list[list[str]]) -> None:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    document = parse(stream.getvalue().encode())

    for block in document.blocks:
        assert document.text[block.start : block.end].count('"') % 2 == 0


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples are not there")
@pytest.mark.parametrize(
    ("name", "expected", "says"),
    [
        ("cp949.csv", ("상품, 수량",), "사과,10"),
        ("no-header-pipe.csv", (), "2|2026-01-02|8.25"),
        ("one-column.csv", (), "beta, with comma"),
        ("quoted-newlines.csv", ("id, text, note",), '1,"two\nlines",a'),
        ("ragged.csv", ("a, b, c",), "3,4,5,6"),
        ("semicolon-latin1.csv", ("Name, Größe, Preis",), 'Tisch;"1,8 m; oval";199,00'),
        ("utf16-tab.tsv", ("이름, 나이",), "이서연\t29"),
    ],
)
def test_the_samples_say_what_is_known_of_them(
    name: str, expected: tuple[str, ...], says: str
) -> None:
    data = (SAMPLES / name).read_bytes()

    assert columns(data, name) == expected
    assert says in parse(data, name).text
