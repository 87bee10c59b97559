"""Tags of recordings and films: what their makers wrote, from any bytes whatever."""

from __future__ import annotations

import base64
import struct

import pytest
from hypothesis import given, settings, strategies as st

from kb_app._ingest.making.tags import Chapter, Tags, tags_of

WHALES = {"title": "Wale", "artist": "Änne", "album": "Meer"}


def synchsafe(number: int) -> bytes:
    return bytes(number >> shift & 0x7F for shift in (21, 14, 7, 0))


def frame(name: bytes, body: bytes, version: int = 4) -> bytes:
    if version == 2:
        return name + len(body).to_bytes(3, "big") + body
    size = synchsafe(len(body)) if version == 4 else len(body).to_bytes(4, "big")
    return name + size + b"\0\0" + body


def id3(*frames: bytes, version: int = 4) -> bytes:
    body = b"".join(frames) + bytes(20)
    return b"ID3" + bytes([version, 0, 0]) + synchsafe(len(body)) + body + b"\xff\xfb"


def chap(start: int, title: str) -> bytes:
    times = struct.pack(">IIII", start, start + 1, 0, 0)
    return frame(b"CHAP", b"c1\0" + times + frame(b"TIT2", b"\3" + title.encode()))


def comments(*texts: str) -> bytes:
    entries = b"".join(struct.pack("<I", len(t.encode())) + t.encode() for t in texts)
    return struct.pack("<I", 5) + b"maker" + struct.pack("<I", len(texts)) + entries


def flac(*texts: str) -> bytes:
    body = comments(*texts)
    info = b"\0" + (34).to_bytes(3, "big") + bytes(34)
    return b"fLaC" + info + b"\x84" + len(body).to_bytes(3, "big") + body


def page(serial: int, *packets: bytes) -> bytes:
    lacing = b"".join(bytes([255] * (len(p) // 255) + [len(p) % 255]) for p in packets)
    head = b"OggS" + bytes(10) + struct.pack("<I", serial) + bytes(8)
    return head + bytes([len(lacing)]) + lacing + b"".join(packets)


def opus(*texts: str) -> bytes:
    return page(7, b"OpusHead" + bytes(11)) + page(7, b"OpusTags" + comments(*texts))


def box(kind: bytes, *inner: bytes) -> bytes:
    body = b"".join(inner)
    return struct.pack(">I", len(body) + 8) + kind + body


def mp4(tags: dict[bytes, str], *chapters: tuple[int, str]) -> bytes:
    items = [
        box(kind, box(b"data", struct.pack(">II", 1, 0), text.encode()))
        for kind, text in tags.items()
    ]
    told = b"".join(
        struct.pack(">Q", start * 10_000) + bytes([len(title)]) + title.encode()
        for start, title in chapters
    )
    chpl = box(b"chpl", bytes(8) + bytes([len(chapters)]) + told)
    meta = box(b"meta", bytes(4), box(b"ilst", *items))
    moov = box(b"moov", box(b"mvhd", bytes(100)), box(b"udta", meta, chpl))
    return box(b"ftyp", b"M4A ") + box(b"mdat", bytes(50)) + moov


def element(kind: bytes, *inner: bytes) -> bytes:
    body = b"".join(inner)
    return kind + (0x10000000 | len(body)).to_bytes(4, "big") + body


def matroska() -> bytes:
    chapter = element(
        b"\xb6",
        element(b"\x91", (90_000 * 1_000_000).to_bytes(8, "big")),
        element(b"\x80", element(b"\x85", b"Descent")),
    )
    artist = element(
        b"\x67\xc8", element(b"\x45\xa3", b"ARTIST"), element(b"\x44\x87", "Änne".encode())
    )
    return element(b"\x1a\x45\xdf\xa3", b"x") + element(
        b"\x18\x53\x80\x67",
        element(b"\x15\x49\xa9\x66", element(b"\x7b\xa9", b"Wale")),
        element(b"\x1f\x43\xb6\x75", bytes(300)),
        element(b"\x10\x43\xa7\x70", element(b"\x45\xb9", chapter)),
        element(b"\x12\x54\xc3\x67", element(b"\x73\x73", artist)),
    )


def riff(**texts: str) -> bytes:
    info = b"INFO"
    for name, text in texts.items():
        body = text.encode() + b"\0" * (1 + len(text.encode()) % 2 ^ 1)
        info += name.encode() + struct.pack("<I", len(body)) + body + b"\0" * (len(body) % 2)
    chunks = b"fmt " + struct.pack("<I", 16) + bytes(16) + b"LIST" + struct.pack("<I", len(info))
    return b"RIFF" + struct.pack("<I", len(chunks + info) + 4) + b"WAVE" + chunks + info


UTF16 = "Änne".encode("utf-16")
SAMPLES = {
    "id3v2.4": id3(
        frame(b"TIT2", b"\3Wale"),
        frame(b"TPE1", b"\1" + UTF16),
        frame(b"TALB", b"\0Meer\0"),
    ),
    "id3v2.3": id3(
        frame(b"TIT2", b"\0Wale", 3),
        frame(b"TPE1", b"\0\xc4nne", 3),
        frame(b"TALB", b"\0" + b"Meer", 3),
        version=3,
    ),
    "id3v2.2": id3(
        frame(b"TT2", b"\0Wale", 2),
        frame(b"TP1", b"\0\xc4nne", 2),
        frame(b"TAL", b"\0Meer", 2),
        version=2,
    ),
    "flac": flac("TITLE=Wale", "Artist=Änne", "album=Meer", "nonsense", "x=y"),
    "opus": opus("TITLE=Wale", "ARTIST=Änne", "ALBUM=Meer"),
    "mp4": mp4({b"\xa9nam": "Wale", b"\xa9ART": "Änne", b"\xa9alb": "Meer"}),
    "riff": riff(INAM="Wale", IART="Änne", IPRD="Meer"),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_title_artist_and_album_are_read(name: str) -> None:
    assert tags_of(SAMPLES[name]).texts == WHALES


def test_a_film_says_its_title_its_artist_and_its_chapters() -> None:
    found = tags_of(matroska())

    assert found.texts == {"title": "Wale", "artist": "Änne"}
    assert found.chapters == (Chapter(90_000, "Descent"),)


@pytest.mark.parametrize(
    "data",
    [
        id3(chap(5_000, "Zwei"), chap(0, "Eins")),
        flac("CHAPTER002=00:00:05.000", "CHAPTER002NAME=Zwei", "CHAPTER001=00:00:00",
             "CHAPTER001NAME=Eins", "CHAPTER003=never", "CHAPTER003NAME=Drei"),
        mp4({}, (0, "Eins"), (5_000, "Zwei")),
    ],
    ids=["id3", "vorbis", "mp4"],
)  # fmt: skip
def test_chapters_come_in_the_order_of_their_times(data: bytes) -> None:
    assert tags_of(data).chapters == (Chapter(0, "Eins"), Chapter(5_000, "Zwei"))


def test_a_comment_and_words_of_a_song_are_read_without_what_describes_them() -> None:
    said = frame(b"COMM", b"\1eng" + "about".encode("utf-16") + b"\0\0" + "Krill".encode("utf-16"))
    sung = frame(b"USLT", b"\3eng\0Row, row\nyour boat")

    assert tags_of(id3(said, sung)).texts == {"comment": "Krill", "lyrics": "Row, row\nyour boat"}


def test_tags_that_are_longer_than_a_page_of_ogg_are_read() -> None:
    cover = "METADATA_BLOCK_PICTURE=" + base64.b64encode(bytes(60_000)).decode()
    data = b"OpusTags" + comments(cover, "TITLE=Wale")
    first, rest = data[: 255 * 255], data[255 * 255 :]
    lacing = b"\xff" * 255
    goes_on = b"OggS" + bytes(10) + struct.pack("<I", 7) + bytes(8) + b"\xff" + lacing + first

    found = tags_of(page(7, b"OpusHead" + bytes(11)) + goes_on + page(7, rest))

    assert found.texts == {"title": "Wale"}


def test_what_says_nothing_has_no_tags() -> None:
    assert tags_of(b"") == tags_of(b"just a text") == Tags()


@settings(max_examples=150)
@given(data=st.data())
def test_any_bytes_whatever_are_read_without_an_error(data: st.DataObject) -> None:
    sample = bytearray(data.draw(st.sampled_from([*SAMPLES.values(), matroska()])))
    for at in data.draw(st.lists(st.integers(0, len(sample) - 1), max_size=6)):
        sample[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(sample)))
    found = tags_of(bytes(sample[:cut]) + data.draw(st.binary(max_size=20)))

    for text in (*found.texts.values(), *(chapter.title for chapter in found.chapters)):
        assert text == text.strip() != ""
    assert list(found.chapters) == sorted(found.chapters)
