"""Sheets of before 2007: read where the extra is installed, and asked for where it is not."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence

import pytest

from kb_app import _media
from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.judging.kinds import Caps
from kb_app._ingest.making.compound import read_compound
from kb_app._ingest.making.compound_writing import tree_of
from kb_app._ingest.making.formats.office.biff import formats_of_sheets
from kb_app._ingest.making.formats.office.moments import Format
from kb_app._ingest.settings import Settings, settings_hash
from kb_app._media import OFFICE, parser_for
from kb_app.testing.compound_files import compound
from kb_app.testing.office_files import archive, relations, xls, xlsb
from kb_app.testing.word_files import summary
from kb_core.citations import CellSpan
from kb_core.documents import ChunkLimits, ParsedDocument, ReadingLimits, SourceFile

needs_calamine = pytest.mark.skipif(not OFFICE.is_installed, reason="no extra `office`")


def file(path: str, cells: int = 100) -> SourceFile:
    limits = ReadingLimits(cells=cells)
    return SourceFile(source_id="notes", path=path, media="office", limits=limits)


def parse(data: bytes, path: str = "plan.xls", cells: int = 100) -> ParsedDocument:
    return parser_for("office")(FileContent(data), file(path, cells))


@needs_calamine
@pytest.mark.parametrize("make", [xls, xlsb])
def test_cells_are_read_with_their_places_and_hidden_sheets_flagged(
    make: Callable[[Mapping[str, Sequence[Sequence[str | float]]]], bytes],
) -> None:
    rows: list[list[str | float]] = [
        ["Month", "Sales", "Note"],
        ["May", 900.5, "é"],
        [],
        ["June", 7],
    ]
    document = parse(make({"Plan": rows, "hidden": [["x"]]}), f"plan.{make.__name__}")

    assert document.text.split("\n")[2:6] == [
        "Month\tSales\tNote",
        "Month: May\tSales: 900.5\tNote: é",
        "",
        "June\t7",
    ]
    assert document.places[2].span == CellSpan("Plan", "A2:C2")
    assert document.metadata.user["hidden_sheets"] == ["hidden"]
    assert document.metadata.title == "plan"


@needs_calamine
def test_money_units_shares_and_dates_are_as_the_file_shows_them() -> None:
    codes = {
        1234.5: '#,##0.00 "€";[Red]-#,##0.00 "€"',
        0.125: "0.0%",
        7.0: '0 "pcs"',
        42.0: '"K-"00000',
        45363.0: "dd/mm/yyyy",
        2.5: "#,##0.00",
    }
    data = xls({"S": [["a", "b", "c"], [1234.5, 0.125, 7.0], [42.0, 45363.0, 2.5]]}, codes)

    assert parse(data).text.split("\n")[3:] == [
        "a: 1234.5 €\tb: 12.5%\tc: 7 pcs",
        "a: K-00042\tb: 2024-03-12\tc: 2.5",
    ]


def test_numbers_that_stand_in_one_record_have_their_formats() -> None:
    def record(kind: int, *numbers: int) -> bytes:
        return struct.pack(f"<{2 + len(numbers)}H", kind, 2 * len(numbers), *numbers)

    begin, end = record(0x809, 0x600, 5), record(0x0A)
    head = begin + record(0xE0, 0, 0) + record(0xE0, 0, 9)
    row = record(0xBD, 4, 2, 1, 0, 0, 0, 0, 0, 1, 0, 0, 4)
    chart = begin + record(0xBD, 0, 0, 1, 0, 0, 0) + end
    place = len(head) + 8 + len(end)
    stream = head + record(0x85, place, 0) + end + begin + chart + row + end

    (shown,) = formats_of_sheets(compound({"Workbook": stream.ljust(4096, b"\0")}))
    assert shown == {(4, 2): Format.SHARE, (4, 4): Format.SHARE}
    for cut in range(1, len(stream)):
        formats_of_sheets(compound({"Workbook": stream[:cut]}))
    assert formats_of_sheets(b"no") == []


@needs_calamine
def test_one_says_who_wrote_it_and_when_as_texts_of_its_time_do() -> None:
    told = summary({2: "Catch of 2003", 4: "Ann"})
    data = compound({**tree_of(read_compound(xls({"S": [["a", 1.0]]}))), **told})

    document = parse(data)

    assert document.text == "S\n\na\t1"
    assert document.metadata.title == "Catch of 2003"
    assert document.metadata.user["author"] == "Ann"


@needs_calamine
def test_a_damaged_or_oversize_one_has_one_reason() -> None:
    good = xls({"S": [["a", "b", "c"]]})
    damaged = good[:1536] + b"\xff" * 600

    assert parse(good, cells=2).refused == (
        "too_large",
        "more than 2 cells; [limits] cells is 2",
    )
    refused = parse(damaged).refused
    assert refused is not None
    assert refused[0] == "unreadable"


@pytest.mark.parametrize("kind", ["xls", "xlsb"])
def test_without_the_extra_it_is_said_what_to_install(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    binary: dict[str, str | bytes] = {
        "_rels/.rels": relations(("officeDocument", "xl/workbook.bin")),
        "xl/workbook.bin": b"\0",
    }
    data = xls({"S": [["a"]]}) if kind == "xls" else archive(binary)
    monkeypatch.setattr(_media, "_is_there", lambda _: False)

    refused = parse(data, f"a.{kind}").refused

    assert refused is not None
    assert refused[0] == "missing_extra:office"
    assert refused[1].endswith("pip install 'packages/kb-cli[office]'")


def test_installing_it_makes_these_files_wanted_again_and_no_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits = ChunkLimits(target_tokens=100, overlap_tokens=10, max_tokens=200)
    made = Settings(
        model="none", cache_dir="", limits=limits, window=500, caps=Caps(), allow_secrets=False
    )
    names = ("a.xls", "a.XLSB", "a.xlsx", "a.docx")
    before = [settings_hash(file(name), made) for name in names]
    monkeypatch.setattr(_media, "_version", lambda _: "another")

    now = [settings_hash(file(name), made) for name in names]

    assert [old == new for old, new in zip(before, now, strict=True)] == [False, False, True, True]


def test_a_limit_that_is_changed_makes_files_wanted_again_that_heed_it() -> None:
    limits = ChunkLimits(target_tokens=100, overlap_tokens=10, max_tokens=200)
    hashes = [
        [
            settings_hash(SourceFile(source_id="notes", path=f"a.{media}", media=media), made)
            for media in ("office", "markdown")
        ]
        for cells in (10, 20)
        for made in [
            Settings(
                model="none",
                cache_dir="",
                limits=limits,
                window=500,
                caps=Caps(),
                allow_secrets=False,
                reading=ReadingLimits(cells=cells),
            )
        ]
    ]

    assert hashes[0][0] != hashes[1][0]
    assert hashes[0][1] == hashes[1][1]
