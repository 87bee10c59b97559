"""Transcripts: what is said in a recording, with its times; and those that subtitles are.

Subtitles are read as SubRip, which has no specification, and WebVTT (W3C, *WebVTT: The Web
Video Text Tracks Format*) have them: cues, each from one moment to another. Cues end where a
screen is full; here a segment ends with a sentence, with a pause, or when it gets long. Captions
that roll show a line twice, once below and once above; it is said once. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import unescape
from itertools import pairwise
from typing import NamedTuple

__all__ = ["PAUSE_MS", "Segment", "Transcript", "is_subtitles", "line_of", "subtitles_of"]

PAUSE_MS = 2000
"""Who is silent for so long has ended a paragraph."""

_SUFFIXES = (".srt", ".vtt")
_LONGEST_MS = 15_000
_LONGEST_CHARS = 240
_TOGETHER_MS = 200
"""Cues that follow each other so closely are shown as one text that rolls."""
_ROLLING = 3
"""One cue of so many repeats lines of the one before it where captions roll."""
_MOST_ROLLING = 4
"""Lines that a screen shows at once."""

_MOMENT = r"(?:(\d{1,4}):)?(\d{1,2}):(\d{2})[.,](\d{1,3})"
_TIMES = re.compile(rf"^[ \t]*{_MOMENT}[ \t]*-->[ \t]*(?:{_MOMENT})?[^\n]*$", re.MULTILINE)
_REMARK = re.compile(r"(?:NOTE|STYLE|REGION)(?=[ \t\n]|\Z)")
"""Begins what WebVTT holds between cues, for programs and translators."""
_VOICE = re.compile(r"<v(?:\.[^\s<>]*)?[ \t]+([^<>\n]+)>")
_MARK = re.compile(r"</?(?:[a-zA-Z]|\d)[^<>\n]*>|\{\\[^{}\n]*\}")
"""Marks of style and time; braces are those of SubStation, which SubRip took over."""
_BLANK = re.compile(r"\n[ \t]*\n")
_AT_BLANK = re.compile(r"\n[ \t]*\n\Z")
_SPACE = re.compile(r"\s+")
_ENDS = re.compile(r"[.?!…。！？؟।][\"'”’»）)\]]*\Z")
_UNSPACED = re.compile(r"[\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]")
"""Signs of scripts that put no spaces between words."""


class Segment(NamedTuple):
    """What is said from one moment to another, in milliseconds."""

    start_ms: int
    end_ms: int
    text: str


class Transcript(NamedTuple):
    """All that is said, in order; nothing, where nobody speaks."""

    segments: Sequence[Segment]
    language: str | None
    duration_ms: int


class _Cue(NamedTuple):
    start_ms: int
    end_ms: int
    lines: Sequence[tuple[str, str]]
    """Who speaks, if that is told, and what is said."""


def is_subtitles(path: str) -> bool:
    """Say whether a file of this name is a transcript of another one."""
    return path.lower().endswith(_SUFFIXES)


def subtitles_of(text: str) -> Transcript:
    """Return what subtitles say; no segments where there are no cues in *text*."""
    cues = _without_repeats(list(_cues(text)))
    segments = list(_sentences(cues))
    return Transcript(segments, None, max((each.end_ms for each in segments), default=0))


def line_of(text: str, at_ms: int) -> int:
    """Return the line, from 1, with the times of the cue that is shown at a moment."""
    starts = (times for times in _TIMES.finditer(text) if _ms(times.groups()[:4]) <= at_ms)
    last = max(starts, key=lambda times: _ms(times.groups()[:4]), default=None)
    return 1 if last is None else 1 + text.count("\n", 0, last.start())


def _cues(text: str) -> Iterator[_Cue]:
    """Yield the cues in the order of the file."""
    found = list(_TIMES.finditer(text))
    for at, times in enumerate(found):
        following = found[at + 1].start() if at + 1 < len(found) else None
        start, end = (_ms(times.groups()[first : first + 4]) for first in (0, 4))
        lines = list(_said(_body(text[times.end() : following], is_last=following is None)))
        if lines:
            yield _Cue(start, max(start, end), lines)


def _ms(parts: Sequence[str | None]) -> int:
    hours, minutes, seconds = (int(part or 0) for part in parts[:3])
    return ((hours * 60 + minutes) * 60 + seconds) * 1000 + int((parts[3] or "0").ljust(3, "0"))


def _body(between: str, *, is_last: bool) -> str:
    """Return what a cue says of all that stands until the next one's times."""
    blocks = _BLANK.split(between.strip("\n"))
    if not is_last and not _AT_BLANK.search(between):
        # The line above the times is the number or the name of the next cue.
        above, _, name = blocks[-1].rpartition("\n")
        if len(blocks) > 1 or name.strip().isdigit():
            blocks[-1] = above
    return "\n".join(block for block in blocks if not _REMARK.match(block))


def _said(body: str) -> Iterator[tuple[str, str]]:
    """Yield each line of a cue with who says it."""
    speaker = ""
    for line in body.split("\n"):
        first, *voices = _VOICE.split(line)
        for who, said in ((speaker, first), *zip(voices[::2], voices[1::2], strict=True)):
            speaker = _plain(who)
            if plain := _plain(said):
                yield speaker, plain


def _plain(text: str) -> str:
    return _SPACE.sub(" ", unescape(_MARK.sub("", text))).strip()


def _without_repeats(cues: list[_Cue]) -> list[_Cue]:
    """Return *cues* without the lines that only stay while others roll."""
    repeated = [0, *(_overlap(one, other) for one, other in pairwise(cues))]
    if sum(map(bool, repeated)) * _ROLLING < len(cues):
        return cues
    new = (
        cue._replace(lines=cue.lines[again:]) for cue, again in zip(cues, repeated, strict=False)
    )
    return [cue for cue in new if cue.lines]


def _overlap(one: _Cue, other: _Cue) -> int:
    """Return how many lines at the end of one cue the next one, at once, begins with."""
    if other.start_ms - one.end_ms > _TOGETHER_MS:
        return 0
    sizes = range(min(len(one.lines), len(other.lines), _MOST_ROLLING), 0, -1)
    return next((n for n in sizes if one.lines[-n:] == other.lines[:n]), 0)


def _sentences(cues: Iterable[_Cue]) -> Iterator[Segment]:
    """Yield what is said, cues joined up to the end of a sentence; a new speaker is named."""
    held: Segment | None = None
    last = ""
    for cue in cues:
        for speaker, line in cue.lines:
            said = f"{speaker}: {line}" if speaker and speaker != last else line
            if held is not None and (speaker != last or _is_whole(held, cue)):
                yield held
                held = None
            last = speaker
            start = cue.start_ms if held is None else held.start_ms
            end = max(cue.end_ms, 0 if held is None else held.end_ms)
            held = Segment(start, end, said if held is None else _joined(held.text, said))
    if held is not None:
        yield held


def _is_whole(held: Segment, following: _Cue) -> bool:
    is_long = held.end_ms - held.start_ms > _LONGEST_MS or len(held.text) > _LONGEST_CHARS
    return (
        is_long
        or following.start_ms - held.end_ms >= PAUSE_MS
        or following.start_ms < held.start_ms
        or _ENDS.search(held.text) is not None
    )


def _joined(one: str, other: str) -> str:
    is_unspaced = _UNSPACED.match(one[-1]) and _UNSPACED.match(other[0])
    return f"{one}{other}" if is_unspaced else f"{one} {other}"
