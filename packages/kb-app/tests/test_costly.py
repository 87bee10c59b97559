"""What took long to make is made once, whoever is killed, and goes when nothing needs it."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Collection
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from kb_app._costly import Costly, KeptResults, damaged_in, kept_in, sweep
from kb_app._ingest.judging.decode import FileContent
from kb_core.errors import IoError
from kb_core.ids import bytes_hash

SCAN, OTHER = b"a scan", b"another"
MAIL = bytes_hash(b"a mail")
ENGINE = {"engine": "reader-1", "languages": ["eng"]}

JSON_VALUES = st.recursive(
    st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


def costly(folder: Path, data: bytes = SCAN) -> Costly:
    return Costly(folder / "costly", bytes_hash(data))


def test_what_was_made_is_there_in_another_process_of_the_same_content_and_maker(
    tmp_path: Path,
) -> None:
    costly(tmp_path).results(SCAN, "ocr", ENGINE).put("1", {"lines": ["gnu"]})

    again = costly(tmp_path).results(SCAN, "ocr", ENGINE)

    assert again.get("1") == {"lines": ["gnu"]}
    assert again.get("2") is None
    assert costly(tmp_path).results(SCAN, "ocr", {**ENGINE, "engine": "2"}).get("1") is None
    assert costly(tmp_path).results(SCAN, "transcribe", ENGINE).get("1") is None
    assert costly(tmp_path).results(OTHER, "ocr", ENGINE).get("1") is None


def test_what_is_kept_nobody_else_can_read(tmp_path: Path) -> None:
    costly(tmp_path).results(SCAN, "ocr", ENGINE).put("1", "secret")

    made = [tmp_path / "costly", *(tmp_path / "costly").rglob("*")]
    assert len(made) == 3
    assert all(path.stat().st_mode & 0o077 == 0 for path in made)


def test_a_content_that_nobody_keeps_anything_of_forgets() -> None:
    results = FileContent(SCAN).results("ocr", ENGINE)
    results.put("1", "gnu")

    assert results.get("1") == "gnu"
    assert FileContent(SCAN).results("ocr", ENGINE).get("1") is None


@settings(max_examples=40, deadline=None)
@given(
    parts=st.dictionaries(st.text(max_size=5), JSON_VALUES, min_size=1, max_size=5), data=st.data()
)
def test_wherever_a_kill_tears_the_file_what_was_kept_before_is_there_and_it_goes_on(
    parts: dict[str, object], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "x", "ocr.0.jsonl")
        first = KeptResults(file)
        for part, value in parts.items():
            first.put(part, value)
        whole = file.read_bytes()
        cut = data.draw(st.integers(0, len(whole)))
        file.write_bytes(whole[:cut])

        after, kept = KeptResults(file), whole[:cut].count(b"\n")
        found = {part: after.get(part) for part in parts}
        assert list(found.items())[:kept] == list(parts.items())[:kept]
        for part, value in parts.items():
            after.put(part, value)

        assert {part: KeptResults(file).get(part) for part in parts} == parts


def test_bytes_that_are_no_results_count_as_none(tmp_path: Path) -> None:
    results = KeptResults(tmp_path / "ocr.0.jsonl")
    (tmp_path / "ocr.0.jsonl").write_bytes(b'\0\0\0\n"1"\n[1]\n{}\n["1","gnu"]\n\xff')

    assert results.get("1") == "gnu"


def test_a_disk_that_refuses_is_said(tmp_path: Path) -> None:
    (tmp_path / "costly").write_text("in the way")

    with pytest.raises(IoError, match="cannot keep a costly result"):
        costly(tmp_path).results(SCAN, "ocr", ENGINE).put("1", "gnu")


def known(*contents: bytes | str) -> Collection[str]:
    return [each if isinstance(each, str) else bytes_hash(each) for each in contents]


def test_what_no_file_needs_goes_and_nothing_else(tmp_path: Path) -> None:
    for content in (SCAN, OTHER):
        costly(tmp_path, content).results(content, "ocr", ENGINE).put("1", "gnu")
    asked: list[str] = []

    def of(hashes: Collection[str]) -> Collection[str]:
        asked.extend(hashes)
        return known(SCAN)

    sweep(tmp_path / "costly", of)

    assert sorted(asked) == sorted(known(SCAN, OTHER))
    assert costly(tmp_path).results(SCAN, "ocr", ENGINE).get("1") == "gnu"
    assert kept_in(tmp_path / "costly").contents == 1


def test_what_is_within_a_file_is_needed_by_each_file_that_it_is_in(tmp_path: Path) -> None:
    folder = tmp_path / "costly"
    Costly(folder, MAIL).results(SCAN, "ocr", ENGINE).put("1", "gnu")
    other = Costly(folder, bytes_hash(OTHER)).results(SCAN, "ocr", ENGINE)
    assert other.get("1") == "gnu"

    sweep(folder, lambda _: known(OTHER))
    assert kept_in(folder).contents == 1
    sweep(folder, lambda _: [])
    assert kept_in(folder) == (0, 0)


def test_of_one_kind_what_was_made_last_stays(tmp_path: Path) -> None:
    folder = tmp_path / "costly"
    makers = [{"engine": "1"}, {"engine": "2"}]
    for maker in makers:
        costly(tmp_path).results(SCAN, "ocr", maker).put("1", "gnu")
    costly(tmp_path).results(SCAN, "transcribe", makers[0]).put("1", "gnu")
    for number, file in enumerate(sorted(folder.rglob("ocr.*"))):
        os.utime(file, (number, number))

    sweep(folder, lambda _: known(SCAN))

    left = [costly(tmp_path).results(SCAN, "ocr", maker).get("1") for maker in makers]
    assert sorted(left, key=str) == [None, "gnu"]
    assert costly(tmp_path).results(SCAN, "transcribe", makers[0]).get("1") == "gnu"


def test_there_may_be_nothing_at_all(tmp_path: Path) -> None:
    def nobody_asks(_: object) -> Collection[str]:
        raise AssertionError

    sweep(tmp_path / "costly", nobody_asks)

    assert kept_in(tmp_path / "costly") == (0, 0)


def test_a_line_is_json_that_others_can_read(tmp_path: Path) -> None:
    costly(tmp_path).results(SCAN, "ocr", ENGINE).put("p1", {"text": "한글 \ud800"})

    (file,) = (tmp_path / "costly").rglob("*.jsonl")
    assert json.loads(file.read_text("ascii"))[:2] == ["p1", {"text": "한글 \ud800"}]


def test_a_part_whose_bits_were_turned_is_made_again_and_told(tmp_path: Path) -> None:
    costly(tmp_path).results(SCAN, "ocr", ENGINE).put("p1", {"text": "a walrus"})
    (file,) = (tmp_path / "costly").rglob("*.jsonl")
    file.write_bytes(file.read_bytes().replace(b"walrus", b"walsus"))

    assert damaged_in(tmp_path / "costly") == [
        f"{file.relative_to(tmp_path / 'costly')} has parts that cannot be read"
    ]
    results = costly(tmp_path).results(SCAN, "ocr", ENGINE)
    assert results.get("p1") is None
    results.put("p1", {"text": "a walrus"})
    assert costly(tmp_path).results(SCAN, "ocr", ENGINE).get("p1") == {"text": "a walrus"}
