"""Recordings and films: tags and chapters at first, then what is said, cited by time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.making.formats import sound
from kb_app._ingest.making.formats.sound import SoundParser, SpeechParser
from kb_app._ingest.making.places import placed_chunks
from kb_app._ingest.making.tags import Chapter, Tags
from kb_app._media import MEDIA, Extra, chunker_for
from kb_core.citations import TimeSpan
from kb_core.documents import ChunkLimits, ParsedDocument, SourceFile
from kb_core.testing.fakes import WholeTextCounter

soundfile = pytest.importorskip("soundfile")
pytest.importorskip("ctranslate2")

from kb_app._ingest.making.transcripts import Segment, Transcript  # noqa: E402

SAMPLES = Path(__file__).parents[4] / "shared" / "data" / "formats" / "audio"
LIMITS = ChunkLimits(target_tokens=20, overlap_tokens=2, max_tokens=30)


def comments(*texts: str) -> bytes:
    entries = b"".join(len(t.encode()).to_bytes(4, "little") + t.encode() for t in texts)
    body = bytes(4) + len(texts).to_bytes(4, "little") + entries
    return b"fLaC\x84" + len(body).to_bytes(3, "big") + body


TAGGED = comments(
    "TITLE=Of whales", "ARTIST=Ahab", "ALBUM=Sea", "DATE=1851-10-18", "COMMENT=Long.",
    "CHAPTER001=00:00:00", "CHAPTER001NAME=Loomings",
    "CHAPTER002=00:01:00", "CHAPTER002NAME=The Chase",
)  # fmt: skip


def file_called(path: str, **options: object) -> SourceFile:
    return SourceFile(source_id="s", path=path, media="audio", options=options)


def checked(document: ParsedDocument) -> ParsedDocument:
    """Return *document*; its blocks hold all of its text, and its places are in order."""
    end = 0
    for block in document.blocks:
        assert document.text[end : block.start].strip() == ""
        assert document.text[block.start : block.end].strip() != ""
        end = block.end
    assert document.text[end:].strip() == ""
    starts = [place.start for place in document.places]
    assert starts == sorted(set(starts))
    return document


def heard(
    monkeypatch: pytest.MonkeyPatch, *segments: Segment, data: bytes = TAGGED
) -> ParsedDocument:
    """Return the document of a recording in which *segments* are said."""
    transcript = Transcript(segments, "en" if segments else None, 125_000)
    monkeypatch.setattr(sound, "_transcript", lambda _content, _file: transcript)
    return checked(SpeechParser()(FileContent(data), file_called("talk.flac")))


def test_at_first_a_recording_is_its_tags_and_chapters() -> None:
    document = checked(SoundParser()(FileContent(TAGGED), file_called("talk.flac")))

    assert document.text == "Of whales\n\nAhab · Sea\n\nLong.\n\nLoomings\n\nThe Chase"
    assert document.waits_for == "transcribe"
    assert document.metadata.title == "Of whales"
    assert document.metadata.created is not None
    assert document.metadata.created.year == 1851
    assert document.metadata.user == {"artist": "Ahab", "album": "Sea"}
    assert document.places[-1].span == TimeSpan(60_000, 60_000)


def test_what_is_said_stands_under_its_chapter_with_its_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    document = heard(
        monkeypatch,
        Segment(1000, 3000, "Call me Ishmael."),
        Segment(3100, 4000, "Some years ago."),
        Segment(6000, 9000, "Never mind how long."),
        Segment(59_000, 63_000, "There she blows!"),
    )

    assert document.text.endswith(
        "Loomings\n\nCall me Ishmael.\nSome years ago.\n\nNever mind how long.\n\n"
        "The Chase\n\nThere she blows!"
    )
    told = [(block.kind, block.heading_path) for block in document.blocks[3:]]
    assert told == [
        ("heading", ("Loomings",)),
        ("paragraph", ("Loomings",)),
        ("paragraph", ("Loomings",)),
        ("heading", ("The Chase",)),
        ("paragraph", ("The Chase",)),
    ]
    assert document.metadata.lang == "en"
    assert document.metadata.user["duration"] == "2:05"
    assert document.waits_for is None


@given(
    st.lists(
        st.tuples(st.integers(0, 5000), st.integers(1, 20_000), st.integers(1, 40)), max_size=20
    )
)
def test_a_chunk_is_cited_by_the_time_of_what_it_says(parts: list[tuple[int, int, int]]) -> None:
    segments, at = [], 0
    for number, (pause, length, words) in enumerate(parts):
        text = " ".join(f"w{number}x{n}" for n in range(words))
        segments.append(Segment(at + pause, at + pause + length, text))
        at += pause + length
    file = file_called("talk.flac")
    document = checked(sound._document(file, Tags(), Transcript(segments, None, at)))
    chunks = list(placed_chunks(document, chunker_for("audio"), WholeTextCounter(), LIMITS))

    for chunk in chunks:
        said = document.text[chunk.start : chunk.end]
        inside = [s for s in segments if s.text.split()[0] in said.split()]
        assert isinstance(chunk.span, TimeSpan)
        for segment in inside:
            assert chunk.span.start_ms <= segment.start_ms
            assert segment.end_ms <= chunk.span.end_ms
        if inside and said.startswith(inside[0].text) and said.endswith(inside[-1].text):
            assert chunk.span == TimeSpan(inside[0].start_ms, inside[-1].end_ms)
    assert sum(len(document.text[c.start : c.end].split()) for c in chunks) >= sum(
        len(segment.text.split()) for segment in segments
    )


def test_no_passage_goes_across_a_long_silence() -> None:
    segments = [Segment(at, at + 1000, f"Word {at}.") for at in (0, 15_000, 40_000, 41_500)]
    tags = Tags(chapters=[Chapter(17_000, "The chase")])
    document = checked(sound._document(file_called("a.flac"), tags, Transcript(segments, None, 1)))
    chunks = placed_chunks(document, chunker_for("audio"), WholeTextCounter(), LIMITS)

    assert [chunk.span for chunk in chunks] == [TimeSpan(0, 16_000), TimeSpan(17_000, 42_500)]


def test_where_nobody_speaks_and_nothing_is_told_a_file_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert heard(monkeypatch, data=b"").refused == ("empty", "nobody speaks in it")
    assert heard(monkeypatch).refused is None  # its tags are worth keeping


def wav(secs: float) -> bytes:
    from io import BytesIO

    made = BytesIO()
    soundfile.write(made, np.zeros(round(secs * 16000)), 16000, format="WAV")
    return made.getvalue()


@pytest.mark.parametrize(
    ("data", "options", "reason"),
    [
        (wav(90), {"max_minutes": 1}, "too_large"),
        (b"RIFF....WAVEnonsense", {}, "unreadable"),
        (b"\0\0\0\x10ftypM4A " + bytes(99), {}, "missing_extra:video"),
        (wav(2), {"max_minutes": 1}, "empty"),
    ],
    ids=["too long", "no sound", "a film", "silence"],
)
def test_why_a_recording_is_left_alone_is_one_reason(
    monkeypatch: pytest.MonkeyPatch, data: bytes, options: dict[str, object], reason: str
) -> None:
    monkeypatch.setenv("PATH", "")
    if reason.startswith("missing") and Extra("video", ("av",)).is_installed:
        pytest.skip("PyAV is installed")
    document = SpeechParser()(FileContent(data), file_called("a.wav", **options))

    assert document.refused is not None
    assert document.refused[0] == reason
    assert document.refused[1]


def test_a_film_whose_sound_cannot_be_read_keeps_what_its_tags_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if Extra("video", ("av",)).is_installed:
        pytest.skip("PyAV is installed")
    monkeypatch.setenv("PATH", "")
    name = b"\0\0\0\x1c\xa9nam\0\0\0\x14data\0\0\0\1\0\0\0\0Wale"
    moov = b"ilst".join([(len(name) + 8).to_bytes(4, "big"), name])
    for kind in (b"udta", b"moov"):
        moov = (len(moov) + 8).to_bytes(4, "big") + kind + moov
    document = SpeechParser()(
        FileContent(b"\0\0\0\x10ftypM4A " + bytes(4) + moov), file_called("a.m4a")
    )

    assert (document.text, document.refused) == ("Wale", None)
    assert "pip install 'packages/kb-cli[video]'" in document.warnings[0]


def test_a_decoder_of_films_that_was_installed_since_has_them_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = MEDIA["audio"].later["transcribe"]
    monkeypatch.setenv("PATH", "")
    before = later.version
    program = tmp_path / "ffmpeg"
    program.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    if not Extra("video", ("av",)).is_installed:
        assert later.version == f"{before} ffmpeg"
    assert later.missing is None


@pytest.mark.parametrize("model", ["tiny.en", "base"])
def test_a_voice_memo_is_read_and_cited(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not (SAMPLES / "librivox-0870.wav").is_file():
        pytest.skip("the samples are not here")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    data = (SAMPLES / "librivox-0870.wav").read_bytes()
    file = file_called("memo.wav", model=model, max_minutes=1, threads=1)
    document = checked(SpeechParser()(FileContent(data), file))
    span = document.places[0].span

    assert document.refused is None
    assert "John Dashwood had then leisure to consider" in document.text
    assert isinstance(span, TimeSpan)
    assert (span.start_ms, span.end_ms) == pytest.approx((0, 6800), abs=300)
    assert document.metadata.lang == "en"
    sound._local.cache_clear()
