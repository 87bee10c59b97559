"""Assets are whole or not there, and only those that nobody wants are swept."""

from __future__ import annotations

from pathlib import Path

import pytest

from kb_app._ingest.assets import Assets, asset_name, given_medium, given_trust
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
    assets, name = Assets(tmp_path), asset_name(b"walrus")
    for damage in (b"", b"wal", b"WALRUS"):
        assets.keep(name, b"walrus")
        (assets.folder / name).write_bytes(damage)

        assets.keep(name, b"walrus")

        assert (assets.folder / name).read_bytes() == b"walrus"
        assert [path.name for path in assets.folder.iterdir()] == [name]


def test_an_asset_has_the_size_that_it_should_have(tmp_path: Path) -> None:
    assets, name = Assets(tmp_path), asset_name(b"walrus")
    assert not assets.has(name, 6)

    assets.keep(name, b"walrus")

    assert assets.has(name, 6)
    assert not assets.has(name, 5)


def test_only_what_nobody_wants_is_swept_and_what_is_not_ours_is_left(tmp_path: Path) -> None:
    assets = Assets(tmp_path)
    wanted, garbage = asset_name(b"a"), asset_name(b"b", Media.TEXT)
    assets.keep(wanted, b"a")
    assets.keep(garbage, b"b")
    (assets.folder / f"{asset_name(b'c')}.new").write_bytes(b"half of")
    (assets.folder / "README").write_bytes(b"somebody's own")

    assert assets.sweep({wanted}) == 2
    assert sorted(path.name for path in assets.folder.iterdir()) == sorted([wanted, "README"])


def test_a_sweep_of_nothing_is_none(tmp_path: Path) -> None:
    assert Assets(tmp_path).sweep(set()) == 0
    assert not (tmp_path / "assets").exists()


def test_a_folder_that_cannot_be_written_is_an_io_error(tmp_path: Path) -> None:
    (tmp_path / "assets").write_bytes(b"in the way")

    with pytest.raises(IoError, match="cannot keep an asset"):
        Assets(tmp_path).keep(asset_name(b"a"), b"a")


def test_an_asset_remembers_how_far_it_may_be_trusted(tmp_path: Path) -> None:
    assets = Assets(tmp_path)
    for trust in TrustLevel:
        for medium in (None, Media.MARKDOWN, Media.TEXT):
            name = asset_name(b"walrus", medium, trust)
            assert (given_trust(name), given_medium(name)) == (trust, medium)
            assets.keep(name, b"walrus")

    assert asset_name(b"walrus", trust=TrustLevel.PRIMARY) == bytes_hash(b"walrus")
    assert given_trust(None) is TrustLevel.PRIMARY
    assert assets.sweep(set()) == 9
