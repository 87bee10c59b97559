"""Compound files: what is in them, however they lie, and what damage can do."""

from __future__ import annotations

import random
import struct
import time
from contextlib import suppress

import pytest
from hypothesis import example, given, settings, strategies as st

from kb_app._ingest.making.compound import NoCompoundError, read_compound
from kb_app._ingest.making.compound_writing import tree_of, write_compound
from kb_app.testing.compound_files import Tree, compound

CHANCE = random.Random(1)
TREE: Tree = {
    "empty": b"",
    "short": b"The walrus.",
    "border": b"x" * 4096,
    "below": b"y" * 4095,
    "folder": {"inner": {"deep": b"Marmalade."}, "long": CHANCE.randbytes(20_000)},
}


@pytest.mark.parametrize("sector", [512, 4096])
@pytest.mark.parametrize("seed", [None, 1, 2])
def test_what_is_in_it_is_found_wherever_its_sectors_lie(sector: int, seed: int | None) -> None:
    assert tree_of(read_compound(compound(TREE, sector=sector, seed=seed))) == TREE


def test_a_table_too_large_for_the_header_is_read_whole() -> None:
    large: Tree = {"large": CHANCE.randbytes(7_500_000)}

    assert tree_of(read_compound(compound(large, seed=3))) == large


def test_names_are_found_whatever_their_case_and_what_is_missing_is_nothing() -> None:
    root = read_compound(compound(TREE))

    assert "SHORT" in root
    assert root.stream("Short") == b"The walrus."
    assert root.stream("other") == b""
    assert root.storage("short") is None
    folder = root.storage("FOLDER")
    assert folder is not None
    assert [each.name for each in folder.storages()] == ["inner"]


def test_a_stream_that_is_asked_for_twice_is_there_twice() -> None:
    root = read_compound(compound(TREE))

    assert root.stream("border") == root.stream("border") == b"x" * 4096


@pytest.mark.parametrize("size", [0, 63, 64, 4095, 4096, 60_000, 8_000_000])
def test_what_is_written_is_what_is_read(size: int) -> None:
    tree: Tree = {
        **TREE,
        "more": CHANCE.randbytes(size),
        "names": {f"{n}": b"1" for n in range(99)},
    }

    assert tree_of(read_compound(write_compound(tree))) == tree


def test_a_file_that_is_cut_off_gives_what_is_left() -> None:
    files = (compound({"long": b"x" * 5_120}, seed=seed) for seed in range(100))
    data = next(each for each in files if each.endswith(b"x" * 512))

    assert read_compound(data[:-300]).stream("long") == b"x" * 4_820


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "no compound file"),
        (b"PK\3\4" * 200, "no compound file"),
        (compound(TREE)[:300], "its header is cut off"),
        (compound(TREE)[:512], "no directory"),
        (compound(TREE)[:30] + b"\x50" + compound(TREE)[31:], "size of sectors"),
    ],
)
def test_what_is_none_says_so(data: bytes, says: str) -> None:
    with pytest.raises(NoCompoundError, match=says):
        read_compound(data)


def _entries(data: bytes) -> int:
    """Return where the directory of a file of ``compound`` begins."""
    return 512 + int(struct.unpack_from("<I", data, 48)[0]) * 512


def _with(data: bytes, at: int, *numbers: int) -> bytes:
    return data[:at] + struct.pack(f"<{len(numbers)}I", *numbers) + data[at + 4 * len(numbers) :]


def test_a_tree_that_leads_back_to_itself_ends() -> None:
    data = compound({"a": b"1", "b": {"c": b"2"}})
    first = _entries(data)
    for number in range(1, 4):  # every name has every other beside, before and below it
        data = _with(data, first + number * 128 + 68, 1, 2, 2)

    assert read_compound(data).stream("a") == b"1"


def test_a_chain_that_leads_back_to_itself_ends() -> None:
    data = compound({"long": b"x" * 5_000})
    table = 512 + int(struct.unpack_from("<I", data, 76)[0]) * 512
    data = _with(data, table, 1, 2, 0)

    assert read_compound(data).stream("long") == b"x" * 1_536


def test_a_size_that_lies_gives_no_more_than_there_is() -> None:
    data = compound({"long": b"x" * 5_000, "short": b"y"})
    at = _entries(data) + 128 + 120

    assert read_compound(_with(data, at, 0xFFFFFFFF)).stream("long").startswith(b"x" * 5_000)
    assert len(read_compound(_with(data, at, 0xFFFFFFFF, 7)).stream("long")) <= len(data)
    assert read_compound(_with(data, at, 5_000, 0xFFFFFFFF)).stream("long") == b"x" * 5_000


def test_a_thousand_names_of_one_stream_give_it_once() -> None:
    data = compound({"a": b"x" * 100_000, **{f"n{n}": b"y" * 4_096 for n in range(1_000)}})
    first = _entries(data)
    start = struct.unpack_from("<I", data, first + 128 + 116)[0]
    for number in range(2, 1_002):
        data = _with(data, first + number * 128 + 116, start, 100_000)
    found = tree_of(read_compound(data))

    assert sum(len(each) for each in found.values() if isinstance(each, bytes)) == 100_000


def test_folders_within_folders_without_end_are_no_trouble() -> None:
    data = compound({str(number): {"x": b"1"} for number in range(3_000)})
    first = _entries(data)
    for number in range(1, 6_000):  # each is a storage with the next one in it
        at = first + number * 128
        data = data[: at + 66] + b"\1" + data[at + 67 :]
        data = _with(data, at + 68, 0xFFFFFFFF, 0xFFFFFFFF, number + 1)

    assert len(write_compound(tree_of(read_compound(data)))) > 0


def test_a_large_file_of_nothing_but_names_takes_no_time() -> None:
    data = compound(TREE, sector=4096)
    hostile = data[:4096] + random.Random(1).randbytes(3_000_000)
    began = time.process_time()
    with suppress(NoCompoundError):
        tree_of(read_compound(_with(hostile, 48, 0)))

    assert time.process_time() - began < 5


@settings(deadline=None, max_examples=300)
@given(st.integers(0, 10**9), st.sampled_from([512, 4096]))
@example(7, 512)
def test_whatever_happens_to_one_it_is_read_or_refused(seed: int, sector: int) -> None:
    chance = random.Random(seed)
    data = bytearray(compound(TREE, sector=sector, seed=seed))
    for _ in range(chance.randint(1, 40)):
        at = chance.randrange(min(len(data), 4_096) if chance.random() < 0.5 else len(data))
        match chance.randrange(3):
            case 0:
                data[at] = chance.randrange(256)
            case 1:
                data[at : at + 4] = struct.pack("<I", chance.choice([0, 1, 2, 0xFFFFFFFE, 2**31]))
            case _:
                del data[at : at + chance.randrange(600)]
        data = data or bytearray(b"\0")
    with suppress(NoCompoundError):
        assert _size(tree_of(read_compound(bytes(data)))) <= 2 * len(data)


def _size(tree: Tree) -> int:
    return sum(len(each) if isinstance(each, bytes) else _size(each) for each in tree.values())


@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=3_000))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for head in (b"", compound({"a": b"1"})[:512]):
        with suppress(NoCompoundError):
            tree_of(read_compound(head + data))
