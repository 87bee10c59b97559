"""Assets are whole or not there, and only what a command named is swept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kb_app._ingest.added.assets import Added, Assets, asset_name, given_medium, given_trust
from kb_core.errors import IoError
from kb_core.ids import bytes_hash
from kb_core.media import Media, TrustLevel


def test_an_asset_is_called_by_its_bytes_and_by_a_medium_that_was_given() -> None:
    digest = bytes_hash(b"walrus")

    assert asset_name(b"walrus") == digest
    assert asset_name(b"walrus", Media.MARKDOWN) == f"{digest}.md"
    assert asset_name(b"walrus", Media.TEXT) == f"{digest}.txt"
    for medium in (None, Media.MARKDOWN, Media.TEXT):
        assert given_medium(asset_name(b"walrus", medium)) == medium


def test_an_asset_that_was_damaged_is_made_good_by_keeping_it_again(tmp_path: Path) -> None:
    assets, name = Assets(tmp_path / "assets"), asset_name(b"walrus")
    for damage in (b"", b"wal", b"WALRUS"):
        assets.keep(name, b"walrus")
        (assets.folder / name).write_bytes(damage)

        assets.keep(name, b"walrus")

        assert (assets.folder / name).read_bytes() == b"walrus"
        assert [path.name for path in assets.folder.iterdir()] == [name]


def test_an_asset_has_the_size_that_it_should_have(tmp_path: Path) -> None:
    assets, name = Assets(tmp_path / "assets"), asset_name(b"walrus")
    assert not assets.has(name, 6)

    assets.keep(name, b"walrus")

    assert assets.has(name, 6)
    assert not assets.has(name, 5)


def added(key: str, data: bytes, *, is_removed: bool = False) -> Added:
    made = Added(
        key=key, asset=asset_name(data), size=len(data), mtime_ns=5, recorded_ns=7, title="T"
    )
    return replace(made, is_removed=is_removed)


def test_only_what_a_command_replaced_or_removed_is_swept(tmp_path: Path) -> None:
    """Bytes that no record knows may exist nowhere else: they stay, and are named."""
    assets = Assets(tmp_path / "assets")
    for key, data in [("one", b"a"), ("one", b"b"), ("two", b"c"), ("two", b"c")]:
        assets.record(added(key, data))
        assets.keep(asset_name(data), data)
    assets.record(added("two", b"c", is_removed=True))
    assets.keep(asset_name(b"stranger"), b"stranger")
    (assets.folder / f"{asset_name(b'd')}.new").write_bytes(b"half of")
    (assets.folder / "README").write_bytes(b"somebody's own")

    unknown = assets.sweep(set(), now_ns=8)

    assert unknown == [asset_name(b"stranger")]
    left = {path.name for path in assets.folder.iterdir() if path.suffix != ".json"}
    assert left == {asset_name(b"b"), asset_name(b"stranger"), "README"}
    assert assets.records()["one"] == added("one", b"b")
    assert assets.records()["two"].is_removed


def test_bytes_that_two_documents_share_go_with_the_last_of_them(tmp_path: Path) -> None:
    assets, name = Assets(tmp_path / "assets"), asset_name(b"shared")
    for key in ("one", "two"):
        assets.record(added(key, b"shared"))
    assets.keep(name, b"shared")

    for key, is_left in (("one", True), ("two", False)):
        assets.record(added(key, b"shared", is_removed=True))
        assert assets.sweep(set(), now_ns=8) == []
        assert assets.has(name, 6) is is_left


def test_what_something_indexed_is_made_of_is_not_swept(tmp_path: Path) -> None:
    assets, name = Assets(tmp_path / "assets"), asset_name(b"old")
    assets.record(added("one", b"old"))
    assets.keep(name, b"old")
    assets.record(added("one", b"new"))  # and killed before its bytes were there

    assert assets.sweep({name}, now_ns=8) == []
    assert assets.has(name, 3)


def test_what_was_to_be_replaced_stays_until_the_new_bytes_are_there(tmp_path: Path) -> None:
    """Killed in between, and the store lost besides: the old bytes exist nowhere else."""
    assets, name = Assets(tmp_path / "assets"), asset_name(b"old")
    assets.record(added("one", b"old"))
    assets.keep(name, b"old")
    assets.record(added("one", b"new"))

    assert assets.sweep(set(), now_ns=8) == [name]
    assert assets.has(name, 3)

    assets.keep(asset_name(b"new"), b"new")
    assert assets.sweep(set(), now_ns=8) == []
    assert not assets.has(name, 3)


def test_that_something_was_removed_is_forgotten_after_ninety_days(tmp_path: Path) -> None:
    assets, day = Assets(tmp_path / "assets"), 86_400 * 10**9
    assets.record(added("one", b"a", is_removed=True))

    assets.sweep(set(), now_ns=89 * day)
    assert "one" in assets.records()

    assets.sweep(set(), now_ns=91 * day)
    assert assets.records() == {}


def test_a_record_that_is_damaged_is_left_alone(tmp_path: Path) -> None:
    assets = Assets(tmp_path / "assets")
    assets.record(added("one", b"a"))
    (file,) = assets.folder.iterdir()
    file.write_text("{", "utf-8")

    assert assets.records() == {}
    assert assets.sweep(set(), now_ns=8) == []
    assert file.exists()


def test_a_sweep_of_nothing_is_none(tmp_path: Path) -> None:
    assert Assets(tmp_path / "assets").sweep(set(), now_ns=8) == []
    assert not (tmp_path / "assets").exists()


def test_a_folder_that_cannot_be_written_is_an_io_error(tmp_path: Path) -> None:
    (tmp_path / "assets").write_bytes(b"in the way")

    with pytest.raises(IoError, match="cannot keep an asset"):
        Assets(tmp_path / "assets").keep(asset_name(b"a"), b"a")


def test_an_asset_remembers_how_far_it_may_be_trusted(tmp_path: Path) -> None:
    assets = Assets(tmp_path / "assets")
    for trust in TrustLevel:
        for medium in (None, Media.MARKDOWN, Media.TEXT):
            name = asset_name(b"walrus", medium, trust)
            assert (given_trust(name), given_medium(name)) == (trust, medium)
            assets.keep(name, b"walrus")

    assert asset_name(b"walrus", trust=TrustLevel.PRIMARY) == bytes_hash(b"walrus")
    assert given_trust(None) is TrustLevel.PRIMARY
    assert len(assets.sweep(set(), now_ns=8)) == 9
