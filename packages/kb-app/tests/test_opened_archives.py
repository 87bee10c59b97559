"""Archives that are opened: what is in one is documents, whatever the archive says of itself."""

from __future__ import annotations

import gzip
import io
import json
import stat
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from kb_app import Config, KnowledgeBase
from kb_app._ingest.judging.kinds import Caps, Skip, detect
from kb_app._ingest.making.parsing import Read, Whole, enclosed_bytes, judge_bytes, parse_whole
from kb_app._ingest.settings import UNKNOWN, settings_hash
from kb_app.config import Embedding, Ingest, Source
from kb_app.testing.parts import SETTINGS
from kb_core.documents import ReadingLimits, SourceFile
from kb_core.ingest import IngestOptions
from kb_core.media import SearchMode
from kb_core.search import SearchQuery

OPENING = replace(SETTINGS, caps=Caps(archives=True))
FILES = {"Takeout/plan.md": b"# Plan\n\nPeas climb.\n", "b.txt": b"Beans, too.\n"}


def zipped(files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2024, 5, 6, 7, 8, 10)), data, method)
    return out.getvalue()


def tarred(files: Mapping[str, bytes], mode: str = "w") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]  # one of several
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(data), 1_714_979_290
            archive.addfile(member, io.BytesIO(data))
        link = tarfile.TarInfo("link.md")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return out.getvalue()


def opened(data: bytes, path: str = "a.zip", limits: ReadingLimits | None = None) -> Whole | Skip:
    file = SourceFile(source_id="s", path=path, media=UNKNOWN)
    judged = judge_bytes(file, data, OPENING.caps)
    if isinstance(judged, Skip):
        return judged
    return parse_whole(judged, data, replace(OPENING, reading=limits or ReadingLimits()))


def read(data: bytes, path: str = "a.zip") -> tuple[Read, dict[str, Read]]:
    """Return what is read of an archive: its own document, and those in it, by their paths."""
    whole = opened(data, path)
    assert isinstance(whole, Whole)
    own, *inner = whole.documents
    return own, {each.within or "": each for each in inner}


@pytest.mark.parametrize(
    ("pack", "path"),
    [
        (zipped, "a.zip"),
        (tarred, "a.tar"),
        (lambda files: tarred(files, "w:gz"), "a.tar.gz"),
        (lambda files: tarred(files, "w:gz"), "A.TGZ"),
        (lambda files: tarred(files, "w:bz2"), "a.tar.bz2"),
        (lambda files: tarred(files, "w:xz"), "a.txz"),
    ],
)
def test_each_file_of_an_archive_is_a_document(
    pack: Callable[[Mapping[str, bytes]], bytes], path: str
) -> None:
    data = pack(FILES)

    own, found = read(data, path)

    assert (own.parsed.text, own.file.media) == ("", "archive")
    assert {name: each.data for name, each in found.items()} == FILES
    plan = found["Takeout/plan.md"]
    assert plan.file.path == f"{path}!/Takeout/plan.md"
    assert (plan.file.media, plan.parsed.metadata.title) == ("markdown", "Plan")
    assert str(plan.parsed.metadata.created) == "2024-05-06 07:08:10+00:00"
    assert enclosed_bytes(plan.file.path, path, data) == FILES["Takeout/plan.md"]


def test_unless_they_are_asked_for_archives_stay_closed() -> None:
    file = SourceFile(source_id="s", path="a.zip", media=UNKNOWN)
    skip = judge_bytes(file, zipped(FILES), Caps())

    assert skip == Skip(
        "unsupported", "archives are not opened: unpack it; ingest.archives opens zip and tar"
    )
    assert settings_hash(file, OPENING) != settings_hash(file, SETTINGS)
    plain = replace(file, path="a.bin")
    assert settings_hash(file, SETTINGS) == settings_hash(plain, SETTINGS)


@pytest.mark.parametrize("path", ["a.jar", "a.whl", "a.bin", "a"])
def test_what_is_zip_inside_and_called_otherwise_stays_closed(path: str) -> None:
    found = opened(zipped(FILES), path)

    assert isinstance(found, Skip)
    assert detect("a.zip") is None


def test_names_lead_nowhere_but_below_their_archive_and_are_all_different() -> None:
    names = ["../../up.md", "/etc/top.md", "win\\dir\\x.md", "wow!/in.md", "!/odd.md", "a/./b.md",
             "a/b.md", "A/B.MD", "n\0ull/x.md", "x" * 300 + "/y.md"]  # fmt: skip
    data = zipped({name: f"Text of {n}.".encode() for n, name in enumerate(names)})

    _, found = read(data)

    assert [*found][:8] == [
        "up.md", "etc/top.md", "win/dir/x.md", "wow/in.md", "_/odd.md", "a/b.md", "a/b (2).md",
        "A/B (3).MD",
    ]  # fmt: skip
    assert len(found) == len(names)
    assert all(enclosed_bytes(f"a.zip!/{name}", "a.zip", data) for name in found)


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO])
def test_links_and_devices_in_a_zip_are_left_alone(kind: int) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, mode in (("a.md", 0), ("b.md", stat.S_IFREG), ("c.md", 0xFFFF), ("d.md", kind)):
            member = zipfile.ZipInfo(name)
            member.external_attr = mode << 16
            archive.writestr(member, f"/home/ann/{name}")

    assert [*read(out.getvalue())[1]] == ["a.md", "b.md", "c.md"]


def test_a_file_without_a_name_has_one() -> None:
    data = zipped({"?": b"Text.", "b.md": b"Text."}).replace(b"?", b"\0")

    assert [*read(data)[1]] == ["file-1", "b.md"]


def test_what_a_walk_leaves_alone_is_left_alone() -> None:
    names = ["node_modules/x/a.md", "p/.git/a.md", "__MACOSX/._a.md", ".DS_Store", "a.md~", "b.md"]
    data = zipped(dict.fromkeys(names, b"Text."))

    _, found = read(data)

    assert [*found] == ["b.md"]


def test_names_in_another_encoding_are_read() -> None:
    name = "여행 계획.md"
    said = name.encode("cp949")
    packed = zipped({"?" * len(said): b"Text."}).replace(b"?" * len(said), said)
    out = io.BytesIO()
    with tarfile.open(
        fileobj=out, mode="w", format=tarfile.GNU_FORMAT, encoding="cp949"
    ) as archive:
        member = tarfile.TarInfo(name)
        member.size = 5
        archive.addfile(member, io.BytesIO(b"Text."))

    assert [*read(packed)[1]] == [name]
    assert [*read(out.getvalue(), "a.tar")[1]] == [name]


def locked(data: bytes) -> bytes:
    """Return an archive whose files say that they need a password."""
    found = bytearray(data)
    for begins, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(begins)
        while at >= 0:
            found[at + flags] |= 1
            at = data.find(begins, at + 1)
    return bytes(found)


def test_locked_files_and_damaged_ones_cost_themselves() -> None:
    damaged = zipped({"a.md": b"First text.", "b.md": b"Other text."}, zipfile.ZIP_STORED)
    damaged = damaged.replace(b"First text.", b"First lies.", 1)
    odd = zipped({"a.md": b"Text."}, zipfile.ZIP_LZMA)

    assert opened(locked(zipped(FILES))) == Skip("encrypted", "it is locked with a password")
    own, found = read(damaged)
    assert [*found] == ["b.md"]
    assert own.parsed.warnings[0].startswith("a.md is not indexed: it is damaged")
    skip = opened(odd)
    assert isinstance(skip, Skip)
    assert skip.detail == "a.md is not indexed: it is packed by method 14"


_CUT = "its end is missing, as of a file that was cut off"


@pytest.mark.parametrize("inner", [zipped(FILES), zipped({"only.md": b"Text."})])
@pytest.mark.parametrize("cut", [30, 60, 150])
def test_a_zip_that_is_cut_off_has_not_the_files_of_one_within_it(inner: bytes, cut: int) -> None:
    held = {"plan.md": b"Outer plan.", "more.md": b"Outer, too."}
    data = zipped({**held, "in.zip": inner}, zipfile.ZIP_STORED)
    junk = data + b"\0" * 40

    assert opened(data[:-cut]) == Skip("unreadable", f"it cannot be unpacked: {_CUT}")
    assert {"in.zip", *held} <= {*read(junk)[1]} == {*read(data)[1]}


@pytest.mark.parametrize("mode", ["w", "w:gz"])
@pytest.mark.parametrize("left", [1024, 1524, 2048, 2500])
def test_a_tar_that_is_cut_off_says_so(mode: str, left: int) -> None:
    whole = tarred({f"{name}.md": b"Text." for name in "abc"})
    cut = whole[:left] if mode == "w" else gzip.compress(whole[:left])

    own, found = read(cut, "a.tar" if mode == "w" else "a.tgz")

    assert [*found] == ["a.md", "b.md"][: left // 1024]
    assert own.parsed.warnings == (f"it is damaged, and read as far as it is whole: {_CUT}",)
    assert not read(tarred(FILES), "a.tar")[0].parsed.warnings


def test_an_archive_within_an_archive_is_opened_to_a_depth_of_three() -> None:
    data = zipped({"a.md": b"Deepest."})
    for _ in range(3):
        data = zipped({"in.zip": data, "b.md": b"Text."})

    _, found = read(data)

    third = "in.zip!/in.zip!/"
    assert [*found] == [
        "in.zip", "in.zip!/in.zip", f"{third}in.zip", f"{third}b.md", "in.zip!/b.md", "b.md"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("data", "limits", "told"),
    [
        (zipped({"a.txt": b" " * 3_000_000}), {"part_mb": 2}, "part_mb"),
        (zipped({str(n): b" " * 600_000 for n in range(4)}), {"unpacked_mb": 2}, "unpacked_mb"),
        (zipped({"a.txt": b" " * 60_000_000}), {"ratio": 10}, "ratio"),
        (zipped({f"{n}.md": b"x" for n in range(9)}), {"members": 8}, "members"),
        (tarred({"a": b" " * 3_000_000}, "w:gz"), {"part_mb": 2}, "part_mb"),
        (tarred({".git/a": b" " * 3_000_000}, "w:gz"), {"unpacked_mb": 2}, "unpacked_mb"),
    ],
)
def test_what_unpacks_to_too_much_is_refused(
    data: bytes, limits: dict[str, int], told: str
) -> None:
    path = "a.zip" if data.startswith(b"PK") else "a.tgz"
    skip = opened(data, path, ReadingLimits(**limits))

    assert isinstance(skip, Skip)
    assert skip.reason == "too_large"
    assert f"[limits] {told}" in skip.detail


@settings(max_examples=60, deadline=None)
@given(data=st.data(), path=st.sampled_from(["a.zip", "a.tar", "a.tgz"]))
def test_whatever_is_damaged_there_are_documents_or_one_reason(
    data: st.DataObject, path: str
) -> None:
    packed = zipped(FILES) if path == "a.zip" else tarred(FILES, "w:gz" if "g" in path else "w")
    whole = bytearray(packed)
    for at in data.draw(st.lists(st.integers(0, len(whole) - 1), max_size=4)):
        whole[at] ^= data.draw(st.integers(1, 255))
    found = opened(bytes(whole[: data.draw(st.integers(0, len(whole)))]), path)

    assert (found.detail or found.reason) if isinstance(found, Skip) else found.documents


def test_what_is_in_an_archive_is_found_and_cited_while_it_is_there(tmp_path: Path) -> None:
    root = tmp_path / "notes"
    root.mkdir()
    note = json.dumps(
        {
            "color": "DEFAULT",
            "isTrashed": False,
            "isPinned": False,
            "isArchived": False,
            "title": "Beans",
            "textContent": "Sow the beans.",
            "userEditedTimestampUsec": 1_700_000_000_000_000,
        }
    )
    files = {**FILES, "Keep/a.json": note.encode()}
    (root / "a.zip").write_bytes(zipped(files))
    config = Config.inside(tmp_path, Source(id="notes", root=root))
    plain = replace(config, embedding=Embedding(model="none"))

    def uris(kb: KnowledgeBase, text: str) -> list[str]:
        list(kb.ingest(IngestOptions()))
        hits = kb.search(SearchQuery(text=text, mode=SearchMode.LEXICAL)).hits
        return [each.citation.uri for each in hits]

    with KnowledgeBase.open(replace(plain, ingest=Ingest(workers=1))) as kb:
        assert uris(kb, "peas") == []
    with KnowledgeBase.open(replace(plain, ingest=Ingest(workers=1, archives=True))) as kb:
        (uri,) = uris(kb, "peas")
        assert uri == "a.zip!/Takeout/plan.md#L1-L3"
        assert kb.cite(uri)["text"].strip() == "# Plan\n\nPeas climb."
        assert uris(kb, "sow")[0].startswith("a.zip!/Keep/a.json!/Beans.md#")
        (root / "a.zip").write_bytes(
            zipped({**files, "Takeout/plan.md": b"# Plan\n\nRather kale."})
        )
        assert uris(kb, "peas") == []
        assert [kb.cite(uri)["text"].strip() for uri in uris(kb, "kale")] == [
            "# Plan\n\nRather kale."
        ]
        assert len(uris(kb, "sow")) == 1
        (root / "a.zip").unlink()
        list(kb.ingest(IngestOptions(allow_empty=True)))
        assert uris(kb, "kale") == []
