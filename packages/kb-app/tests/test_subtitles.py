"""Subtitles: what is said, cited by when, whatever the cues that it is cut into."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.making.formats.sound import SoundParser
from kb_app._ingest.making.transcripts import Segment, line_of, subtitles_of
from kb_core.citations import TimeSpan
from kb_core.documents import ParsedDocument, SourceFile

SUBRIP = """\
1
00:00:01,000 --> 00:00:04,000
They dive for ninety metres,

2
00:00:04,100 --> 00:00:06,500
<i>and rest</i> on the ice. {\\an8}

3
01:00:10,000 --> 01:00:12,000
It is 1984.
"""
WEBVTT = """\
WEBVTT - A talk

STYLE
::cue { color: lime }

NOTE who made this
is told here

first
00:01.000 --> 00:04.000 align:start
<v Ann>What do walruses eat?</v>

00:04.100 --> 00:06.000
<v.loud Bob Cod>Clams &amp; <c.green>cockles</c>.
<v Bob Cod>And snails.

00:06.000 --> 00:08.000
<v Ann>Snails!
"""
ROLLING = """\
WEBVTT

00:00:00.000 --> 00:00:02.000

and so<00:00:00.400><c> the</c><00:00:00.800><c> walrus</c>

00:00:02.000 --> 00:00:02.010
and so the walrus


00:00:02.010 --> 00:00:04.000
and so the walrus
slept<00:00:02.400><c> until</c><00:00:03.000><c> noon</c>

00:00:04.000 --> 00:00:04.010
slept until noon


00:00:04.010 --> 00:00:06.000
slept until noon
on the ice
"""


def said(text: str) -> list[Segment]:
    return list(subtitles_of(text).segments)


def document_of(data: bytes, path: str = "talk.srt") -> ParsedDocument:
    file = SourceFile(source_id="s", path=path, media="audio")
    return SoundParser()(FileContent(data), file)


def test_cues_are_joined_to_sentences_with_the_times_of_all() -> None:
    assert said(SUBRIP) == [
        Segment(1000, 6500, "They dive for ninety metres, and rest on the ice."),
        Segment(3_610_000, 3_612_000, "It is 1984."),
    ]
    assert said(SUBRIP.replace("\n", "\r\n").replace("\r\n", "\n")) == said(SUBRIP)


def test_who_speaks_is_named_when_that_changes() -> None:
    assert [each.text for each in said(WEBVTT)] == [
        "Ann: What do walruses eat?",
        "Bob Cod: Clams & cockles.",
        "And snails.",
        "Ann: Snails!",
    ]


def test_what_only_rolls_is_said_once() -> None:
    assert " ".join(each.text for each in said(ROLLING)) == (
        "and so the walrus slept until noon on the ice"
    )


def test_what_is_said_twice_stays() -> None:
    lines = ("No!", "No!", "I will not.", "Please.", "Come.", "No.", "Now.")
    cues = (f"{n}\n00:00:0{n},000 --> 00:00:0{n},900\n{line}" for n, line in enumerate(lines))

    assert [each.text for each in said("\n\n".join(cues))] == list(lines)


def test_a_pause_or_a_length_ends_what_is_said_without_a_stop() -> None:
    cues = (
        f"00:00:{n:02}.000 --> 00:00:{n:02}.900\nand then {n}" for n in range(50) if n not in {5, 6}
    )
    segments = said("WEBVTT\n\n" + "\n\n".join(cues))

    assert segments[0].end_ms == 4900
    assert segments[1].start_ms == 7000
    assert max(each.end_ms - each.start_ms for each in segments) < 20_000


def test_scripts_without_spaces_are_joined_without() -> None:
    halves = (
        "00:00:01,000 --> 00:00:02,000\n海象は氷の",
        "00:00:02,000 --> 00:00:03,000\n上で眠る。",
    )

    assert said("\n\n".join(halves)) == [Segment(1000, 3000, "海象は氷の上で眠る。")]


def test_a_document_of_them_is_cited_by_time_and_waits_for_nothing() -> None:
    document = document_of(SUBRIP.encode())

    assert document.text == ("They dive for ninety metres, and rest on the ice.\n\nIt is 1984.")
    assert [place.span for place in document.places] == [
        TimeSpan(1000, 6500),
        TimeSpan(3_610_000, 3_612_000),
    ]
    assert document.waits_for is None
    assert document.refused is None
    assert document.metadata.user["duration"] == "1:00:12"


def test_older_encodings_are_read_and_said() -> None:
    cue = "1\n00:00:01,000 --> 00:00:02,000\nПривет, как твои дела сегодня вечером?\n"
    document = document_of(cue.encode("cp1251"))

    assert document.text == "Привет, как твои дела сегодня вечером?"


def test_what_is_said_at_a_time_that_is_cut_off_is_kept() -> None:
    text = "1\n00:00:01,000 --> 00:00:0\nFirst.\n\n2\n00:00:03,000 --> 00:00:04,000\nSecond.\n"

    assert subtitles_of(text).segments == [
        Segment(1000, 1000, "First."),
        Segment(3000, 4000, "Second."),
    ]


def test_without_times_it_is_a_text_with_a_warning() -> None:
    document = document_of(b"Only notes about a film.\n")

    assert document.text == "Only notes about a film."
    assert document.warnings == ("no times of subtitles are in it",)
    assert document_of(b"WEBVTT\n\n").text == "WEBVTT"
    assert document_of(b"\n").refused == ("empty", "it is empty")


@pytest.mark.parametrize(("at_ms", "line"), [(0, 1), (1000, 2), (5000, 6), (9_999_999, 10)])
def test_the_line_of_a_moment_is_that_of_its_cue(at_ms: int, line: int) -> None:
    assert line_of(SUBRIP, at_ms) == line


words = st.text("abcdefgh.", min_size=1, max_size=8).filter(lambda word: word.strip("."))
cues = st.lists(
    st.tuples(st.integers(0, 3000), st.integers(1, 9000), st.lists(words, min_size=1, max_size=6)),
    min_size=1,
    max_size=30,
)


@given(cues)
def test_nothing_that_is_said_is_lost_and_times_hold_it(
    made: list[tuple[int, int, list[str]]],
) -> None:
    at, blocks, expected, ends = 0, [], [], []
    for number, (pause, length, line) in enumerate(made):
        text = f"w{number} {' '.join(line)}"  # no two are alike: nothing rolls
        blocks.append(f"{number}\n{_moment(at + pause)} --> {_moment(at + pause + length)}\n{text}")
        expected += text.split()
        at += pause + length
        ends.append(at)
    transcript = subtitles_of("\n\n".join(blocks))

    assert " ".join(each.text for each in transcript.segments).split() == expected
    assert transcript.duration_ms == ends[-1]
    starts = [each.start_ms for each in transcript.segments]
    assert starts == sorted(starts)


def _moment(ms: int) -> str:
    return f"{ms // 3_600_000:02}:{ms // 60_000 % 60:02}:{ms // 1000 % 60:02},{ms % 1000:03}"


@given(st.text() | st.text("0123456789:,.->\n <v>WEBT"), st.sampled_from(["a.srt", "b.VTT"]))
def test_any_text_gives_a_document(text: str, path: str) -> None:
    document = document_of(text.encode("utf-8", "surrogatepass"), path)
    end = 0
    for block in document.blocks:
        assert document.text[end : block.start].strip() == ""
        end = block.end
    assert document.text[end:].strip() == ""
    assert document.text or document.refused is not None
