"""The archive as bytes: what was written comes back, and nothing else is taken for it."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kb_app._keep.archive import ArchiveReader, ArchiveWriter, Member, measured
from kb_core import wire
from kb_core.errors import InvalidInput, IoError

DESCRIBED = {
    "store_id": "5" * 32,
    "schema": 2,
    "corpus_revision": 1,
    "stats": {"doc_count": 1, "chunk_count": 1, "embedded": {}, "source_breakdown": {}},
}
FILES = {"data/kebab.duckdb": b"truth" * 400, "data/assets/a.md": b"", "sources/n/a.md": b"otter\n"}

parts = st.text(st.characters(exclude_characters="/\0", codec="utf-8"), min_size=1, max_size=90)
names = st.lists(parts.filter(lambda p: p not in {".", ".."}), min_size=2, max_size=4).map("/".join)
files = st.dictionaries(names, st.binary(max_size=2000), max_size=6).filter(
    lambda found: not any(a != b and b.startswith(f"{a}/") for a in found for b in found)
)


def manifest_of(files: Mapping[str, bytes], **other: object) -> dict[str, Any]:
    rows = []
    for name, data in files.items():
        size, digest = measured(io.BytesIO(data))
        rows.append({"name": name, "bytes": size, "sha256": digest, "mtime_ns": 1})
    return {**wire.archive_manifest(DESCRIBED, rows, "2026-01-02T03:04:05Z"), **other}


def archive_of(files: Mapping[str, bytes], **other: object) -> bytes:
    out = io.BytesIO()
    writer = ArchiveWriter(out)
    manifest = manifest_of(files, **other)
    writer.begin(manifest)
    for row, data in zip(manifest["members"], files.values(), strict=True):
        writer.add(Member(**row), io.BytesIO(data))
    writer.end()
    return out.getvalue()


def read(archive: bytes) -> dict[str, bytes]:
    reader = ArchiveReader(io.BytesIO(archive))
    return {member.name: b"".join(blocks) for member, blocks in reader.walk()}


def refused(archive: bytes) -> InvalidInput:
    with pytest.raises(InvalidInput) as error:
        read(archive)
    return error.value


@given(files)
def test_whatever_is_written_is_read_again_under_its_name(files: dict[str, bytes]) -> None:
    assert read(archive_of(files)) == files


def test_any_tar_can_read_it() -> None:
    with tarfile.open(fileobj=io.BytesIO(archive_of(FILES)), mode="r:gz") as tar:
        assert tar.getnames() == ["manifest.json", *FILES]
        assert all(member.isreg() and member.mode == 0o600 for member in tar)


def test_a_size_that_posix_headers_cannot_count_has_a_header_all_the_same() -> None:
    from kb_app._keep.archive import _header

    info = tarfile.TarInfo.frombuf(_header("data/kebab.duckdb", 8**11, 0), "utf-8", "strict")

    assert (info.name, info.size) == ("data/kebab.duckdb", 8**11)


def test_a_file_that_changes_while_it_is_written_is_an_error() -> None:
    writer = ArchiveWriter(io.BytesIO())

    with pytest.raises(IoError, match="'data/a' changed while it was exported"):
        writer.add(Member("data/a", 3, hashlib.sha256(b"old").hexdigest()), io.BytesIO(b"new"))


def plain(files: Mapping[str, bytes]) -> bytearray:
    return bytearray(gzip.decompress(archive_of(files)))


@given(st.data())
def test_every_changed_byte_is_refused_and_the_member_is_named(data: st.DataObject) -> None:
    tar = plain(FILES)
    at = data.draw(st.integers(0, len(tar) - 1))
    tar[at] ^= data.draw(st.integers(1, 255))

    text = tar.find(b"truth" * 20)

    def blamed() -> str | None:
        try:
            found = read(gzip.compress(bytes(tar), 0))
        except InvalidInput as refusal:
            return str(refusal.details.get("member"))
        assert found == FILES  # a time, an owner, or padding
        return None

    is_truth = 0 <= at - text < len(FILES["data/kebab.duckdb"])
    assert blamed() == "data/kebab.duckdb" if is_truth else blamed() != ""


@given(st.integers(0, 10_000))
def test_what_is_cut_off_is_refused(length: int) -> None:
    whole = archive_of(FILES)
    if length < len(whole):
        refused(whole[:length])


def test_what_follows_the_end_is_refused() -> None:
    tar = plain(FILES)

    assert "'the end'" in str(refused(gzip.compress(bytes(tar) + b"more" * 200)))
    assert "'the end'" in str(refused(gzip.compress(bytes(tar) + bytes(1 << 17))))


@pytest.mark.parametrize(
    "name",
    ["../x", "/etc/passwd", "data/../../x", "data//x", "data/./x", "data/\0x", "data/", "data"],
)
def test_a_name_that_leads_elsewhere_is_refused_before_anything_is_read(name: str) -> None:
    assert repr(name) in str(refused(archive_of({name: b"x"})))


def test_a_name_that_is_a_file_and_a_folder_is_refused() -> None:
    assert "a file and a folder" in str(refused(archive_of({"data/a": b"", "data/a/b": b""})))


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE]
)
def test_links_devices_and_folders_are_refused(kind: bytes) -> None:
    rows = manifest_of({"data/a": b""})
    text = json.dumps(rows).encode()
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.USTAR_FORMAT) as tar:
        head = tarfile.TarInfo("manifest.json")
        head.size = len(text)
        tar.addfile(head, io.BytesIO(text))
        entry = tarfile.TarInfo("data/a")
        entry.type, entry.linkname = kind, "/etc/passwd"
        tar.addfile(entry)

    assert "which is no plain file" in str(refused(out.getvalue()))


def test_extended_headers_are_refused_however_large_they_say_to_be() -> None:
    info = tarfile.TarInfo("././@PaxHeader")
    info.type, info.size = tarfile.XHDTYPE, 8**11 - 1

    refused(gzip.compress(info.tobuf(tarfile.USTAR_FORMAT) + bytes(1024)))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"hello",
        b"\x1f\x8b",
        gzip.compress(b"x" * 5000, mtime=0),
        gzip.compress(bytes(5000), mtime=0),
        b"SQLite format 3\0" + bytes(100),
    ],
)
def test_what_is_no_archive_is_said_to_be_none(data: bytes) -> None:
    assert refused(data).hint is not None


@pytest.mark.parametrize(
    "wrong",
    [
        {"members": "many"},
        {"members": [{"name": "data/a"}]},
        {"members": [{"name": "data/a", "bytes": -1, "sha256": ""}]},
        {"members": [{"name": "data/a", "bytes": 10**30, "sha256": ""}]},
        {"members": [{"name": "data/a", "bytes": 0, "sha256": "", "mtime_ns": 10**30}]},
        {"doc_count": "2"},
        {"created_at": None},
    ],
)
def test_a_list_of_members_that_is_none_is_refused(wrong: dict[str, Any]) -> None:
    manifest = json.dumps({**manifest_of({}), **wrong}).encode()
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        head = tarfile.TarInfo("manifest.json")
        head.size = len(manifest)
        tar.addfile(head, io.BytesIO(manifest))

    assert "list of members" in str(refused(out.getvalue()))


def test_the_archive_of_a_later_version_is_refused_and_says_so() -> None:
    error = refused(archive_of({}, schema_version="archive_manifest.v2"))

    assert "archive_manifest.v2" in str(error)
    assert error.hint == "upgrade kebab"
