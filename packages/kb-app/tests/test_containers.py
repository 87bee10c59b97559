"""Archives of XML, and packed files: what is in them is counted, and nothing reaches out."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable

import pytest

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.judging.kinds import detect
from kb_app._ingest.making.containers import Events, Package, Refused
from kb_app._media import parser_for
from kb_app.testing.office_files import archive
from kb_core.documents import ParsedDocument, ReadingLimits, SourceFile
from kb_core.ingest import SkipReason

LIMITS = ReadingLimits(unpacked_mb=3, part_mb=2, members=3)
MEGABYTE = b" " * 1_000_000


def refusal(data: bytes, name: str = "a.xml", limits: ReadingLimits = LIMITS) -> Refused:
    with pytest.raises(Refused) as caught:
        Package(data, limits).tree(name)
    return caught.value


def lying(data: bytes, size: int) -> bytes:
    """Return an archive of one file whose directory says that it has *size* bytes."""
    at = data.rindex(b"PK\1\2") + 24
    return data[:at] + size.to_bytes(4, "little") + data[at + 4 :]


def test_a_tree_has_local_names_and_keeps_what_refers_to_relationships() -> None:
    xml = (
        '<p:a xmlns:p="urn:one" xmlns:r="http://purl.oclc.org/ooxml/officeDocument/relationships"'
        ' id="7" r:id="r3" p:name="x"><p:b>text</p:b></p:a>'
    )

    root = Package(archive({"Folder/A.xml": xml}), LIMITS).tree("/folder/a.XML")

    assert (root.tag, root.attrib) == ("a", {"id": "7", "r:id": "r3", "name": "x"})
    assert root.findtext("b") == "text"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize(
    "declared",
    [
        '<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/hostname">]><a>&e;</a>',
        '<!DOCTYPE a [<!ENTITY x "xx"><!ENTITY y "&x;&x;">]><a>&y;</a>',
        '<!DOCTYPE a SYSTEM "https://example.org/a.dtd"><a/>',
    ],
)
def test_a_document_type_is_refused_in_any_encoding(declared: str, encoding: str) -> None:
    data = archive(
        {"a.xml": f'<?xml version="1.0" encoding="{encoding}"?>{declared}'.encode(encoding)}
    )

    refused = refusal(data)

    assert (refused.reason, refused.is_partial) == (SkipReason.UNREADABLE, False)
    assert "document type" in refused.detail
    with pytest.raises(Refused, match="document type"):
        Package(data, LIMITS).tell("a.xml", Events())


def test_one_file_that_unpacks_to_more_than_it_may_is_refused_with_the_key_to_change() -> None:
    refused = refusal(archive({"a.xml": b"<a>" + MEGABYTE * 2 + b"</a>"}))

    assert refused.reason == SkipReason.TOO_LARGE
    assert refused.detail == "a.xml in it unpacks to more; [limits] part_mb is 2 MB"


def test_a_directory_that_lies_about_sizes_changes_nothing() -> None:
    refused = refusal(lying(archive({"a.xml": b"<a>" + MEGABYTE * 2 + b"</a>"}), 5_000_000))

    assert refused.reason == SkipReason.TOO_LARGE


def test_all_that_is_read_counts_together() -> None:
    part = b"<a>" + MEGABYTE + b"</a>"
    package = Package(archive({"a.xml": part, "b.xml": part, "c.xml": part}), LIMITS)
    package.tree("a.xml")
    package.tree("b.xml")

    with pytest.raises(Refused, match=r"\[limits\] unpacked_mb is 3 MB"):
        package.tree("c.xml")


def test_what_is_packed_too_well_is_refused_from_a_size_on() -> None:
    data = archive({"a.xml": b"<a>" + MEGABYTE * 60 + b"</a>"})

    refused = refusal(data, limits=ReadingLimits(ratio=500))

    assert refused.detail.endswith("more than 500 times its size; [limits] ratio is 500")
    assert Package(data, ReadingLimits(ratio=5_000)).tree("a.xml").tag == "a"


def test_an_archive_of_too_many_files_is_refused() -> None:
    refused = refusal(archive({f"{number}.xml": "<a/>" for number in range(4)}))

    assert refused.detail == "4 files in it; [limits] members is 3"


def test_what_is_no_archive_or_damaged_or_missing_is_said_to_be() -> None:
    good = archive({"a.xml": "<a>" + "some text " * 90 + "</a>"})
    flipped = bytearray(good)
    flipped[60] ^= 0xFF

    assert refusal(b"PK\3\4 is how it begins").detail == (
        "it is no archive: its end is missing, as of a file that was cut off"
    )
    assert refusal(b"PK\3\4 and PK\5\6").detail.startswith("it is no archive: File is not")
    assert refusal(bytes(flipped)).is_partial
    assert refusal(good, "b.xml").detail == "b.xml in it is missing"
    assert refusal(archive({"a.xml": "<a><b></a>"})).detail.startswith("a.xml in it is no XML")
    assert refusal(archive({"a.xml": ""})).is_partial


def test_a_locked_file_in_it_is_said_to_need_a_password() -> None:
    data = bytearray(archive({"a.xml": "<a/>"}))
    for mark, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        data[data.index(mark) + offset] |= 1

    assert refusal(bytes(data)).reason == SkipReason.ENCRYPTED


def test_a_method_of_packing_that_cannot_be_counted_is_refused() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_BZIP2) as made:
        made.writestr("a.xml", b" " * 100_000)

    assert "packed by method 12" in refusal(out.getvalue(), limits=ReadingLimits()).detail


def unpacked(data: bytes, path: str = "logs/ferry.log.gz") -> ParsedDocument:
    kind = detect(path)
    assert kind is not None
    file = SourceFile(source_id="s", path=path, media=kind.media, limits=LIMITS)
    return parser_for(kind.media)(FileContent(data), file)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_file_that_is_packed_holds_the_file(pack: Callable[[bytes], bytes]) -> None:
    """In whatever pieces, and whatever it is called by."""
    found = unpacked(pack(b"The walrus ") + pack(b"sleeps."))

    (each,) = found.enclosures
    assert (each.name, each.data) == ("ferry.log", b"The walrus sleeps.")
    assert (found.text, found.warnings, found.media) == ("", (), "archive")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (gzip.compress(MEGABYTE * 3), "too_large: it unpacks to more; [limits] part_mb is 2 MB"),
        (gzip.compress(bytes(99)), "binary: not text"),
        (
            gzip.compress(archive({"a": "b"})),
            "unsupported: archives are not opened: unpack it; ingest.archives opens zip and tar",
        ),
        (b"no", "unreadable: it cannot be unpacked: Not a gzipped file (b'no')"),
        (lzma.compress(b"x" * 99)[:20], "unreadable: it cannot be unpacked: Compressed file ended"),
    ],
    ids=["large", "binary", "archive", "other", "cut"],
)
def test_what_is_packed_and_cannot_be_read_says_why(data: bytes, expected: str) -> None:
    refused = unpacked(data, "notes.gz").refused

    assert refused is not None
    assert ": ".join(refused).startswith(expected)


def test_a_packed_file_that_is_cut_off_is_read_as_far_as_it_goes() -> None:
    text = "".join(f"{number} walruses\n" for number in range(100_000)).encode()

    found = unpacked(gzip.compress(text)[:-9])

    (each,) = found.enclosures
    assert text.startswith(each.data)
    assert each.data
    assert found.warnings[0].startswith("it is damaged, and read as far as it is whole: ")


def test_archives_that_are_packed_stay_unread() -> None:
    assert [detect(name) for name in ("a.tar.gz", "a.TAR.xz", "a.tgz", "a.zst")] == [None] * 4
