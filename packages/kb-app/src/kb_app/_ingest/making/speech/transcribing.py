"""A transcript: what is said in a recording, in segments with their times.

The sound is gone through twice. First for how loud it is, and for what Silero takes for a
voice, if it is there: that tells the stretches in which somebody may be speaking. Then each
stretch is heard, 30 seconds at the most, and what was heard of it is kept, so that a transcript
that was interrupted goes on where it stopped. What was kept is not heard again. Memory holds
a stretch, never the whole.

A segment is what is said without a pause, one sentence at the most.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np

from kb_app._ingest.making.speech.resampling import RATE, Samples
from kb_app._ingest.making.speech.silero import SileroVoices, graph_of_silero
from kb_app._ingest.making.speech.voices import (
    FRAME,
    FRAME_MS,
    Active,
    Stretch,
    active_in,
    levels_of,
    stretches_of,
)
from kb_app._ingest.making.speech.whisper import Heard, Listener, Word
from kb_app._ingest.making.transcripts import Segment, Transcript
from kb_core.ports import Results

__all__ = ["Engine", "LocalEngine", "TooLong", "transcribe"]


class TooLong(Exception):
    """There is more sound than is listened to."""


class Engine(Protocol):
    """What turns a stretch of sound into words."""

    def language(self, samples: Samples, /) -> str | None:
        """Return the language of a stretch, ISO 639-1, if the engine tells it."""
        ...

    def segments(
        self, samples: Samples, active: Active, language: str | None, /
    ) -> Iterable[Segment]:
        """Return what is said in a stretch; *active* says in which of its frames."""
        ...


def transcribe(
    sound: Callable[[], Iterator[Samples]],
    engine: Callable[[], Engine],
    results: Results,
    told: Callable[[int, int], object],
    most_ms: int,
) -> Transcript:
    """Return what is said in *sound*, which gives it from its start each time.

    *engine* is asked for with the first stretch that *results* do not know. *told* hears how
    many milliseconds are done, of how many. Raise ``TooLong`` above *most_ms*.
    """
    graph = graph_of_silero()
    voices = SileroVoices(graph) if graph is not None else None
    levels = levels_of(_gone_through(sound(), voices, told, most_ms))
    active, whole = active_in(levels), len(levels) * FRAME_MS
    stretches = stretches_of(voices.voiced(len(levels)) if voices else active, levels)
    unknown = [stretch for stretch in stretches if results.get(_part(stretch)) is None]
    language = results.get("language") or None
    for stretch, samples in _cut_out(sound(), unknown) if unknown else ():
        told(stretch.start_ms, whole)
        if results.get("language") is None:
            language = engine().language(samples)
            results.put("language", language or "")
        code = language if isinstance(language, str) else None
        heard = engine().segments(samples, active[stretch.start : stretch.end], code)
        results.put(_part(stretch), [list(segment) for segment in heard])
    told(whole, whole)
    segments = [segment for each in stretches for segment in _known(results, each)]
    return Transcript(segments, str(language) if language and segments else None, whole)


class LocalEngine:
    """Whisper in this process."""

    def __init__(self, listener: Listener, languages: Sequence[str]) -> None:
        self._listener = listener
        self._languages = languages

    def language(self, samples: Samples) -> str:
        if len(self._languages) == 1 and self._listener.is_multilingual:
            return self._languages[0]
        return self._listener.language(samples, self._languages)

    def segments(self, samples: Samples, active: Active, language: str | None) -> Iterable[Segment]:
        words = _words(self._listener, samples, active, language or "en")
        return segments_of([_trimmed(word, active) for word in words])


_REFUSED_LOG_PROB = -1.25
_NO_SPEECH = 0.6
_NO_SPEECH_LOG_PROB = -0.5
_WORTH_FRAMES = 50
_LEAST_STEP_MS = 1000
_HALVED = 10 * RATE


def _words(
    listener: Listener, samples: Samples, active: Active, language: str, *, may_halve: bool = True
) -> list[Word]:
    """Return the words of a stretch, or none where the model makes them up.

    It may stop listening early, and go round in a circle: then the rest, or each half, is
    heard by itself.
    """
    words: list[Word] = []
    at = 0
    while True:
        heard = listener.hear(samples[at * RATE // 1000 :], language)
        if heard.is_loop and may_halve and len(samples) > _HALVED:
            half = len(samples) // 2 // FRAME
            parts = ((0, half), (half, len(active)))
            return [
                Word(word.text, word.start_ms + a * FRAME_MS, word.end_ms + a * FRAME_MS)
                for a, b in parts
                for word in _words(
                    listener, samples[a * FRAME : b * FRAME], active[a:b], language, may_halve=False
                )
            ]
        if _is_made_up(heard):
            return words
        words += [Word(w.text, at + w.start_ms, at + w.end_ms) for w in heard.words]
        step = heard.ends_ms
        if step is None or step < _LEAST_STEP_MS:
            return words
        at += step
        if np.count_nonzero(active[at // FRAME_MS + 10 :]) < _WORTH_FRAMES:
            return words


def _is_made_up(heard: Heard) -> bool:
    """Say whether the model itself hardly believes what it heard, as of music or noise."""
    is_no_speech = heard.no_speech > _NO_SPEECH and heard.log_prob < _NO_SPEECH_LOG_PROB
    has_letters = any(map(str.isalnum, heard.text))
    return heard.is_loop or heard.log_prob < _REFUSED_LOG_PROB or is_no_speech or not has_letters


_LONG_PAUSE = 15
"""Frames without voice that part two words, and not two syllables."""


def _trimmed(word: Word, active: Active) -> Word:
    """Return *word* without the silence around it, which the model counts to one of its ends."""
    first, last = word.start_ms // FRAME_MS, -(-word.end_ms // FRAME_MS)
    voiced = np.flatnonzero(active[first:last])
    if not len(voiced):
        return word
    pauses = np.diff(voiced)
    if len(pauses) and pauses.max() > _LONG_PAUSE:
        # The sound of the word is on one side of the pause, and its neighbour's on the other.
        cut = int(pauses.argmax()) + 1
        voiced = max(voiced[:cut], voiced[cut:], key=len)
    start, end = (first + int(voiced[0])) * FRAME_MS, (first + int(voiced[-1]) + 1) * FRAME_MS
    return Word(word.text, max(start, word.start_ms), min(end, word.end_ms))


_TOLD = 600 * RATE
_GAP_MS = 800
_MOST_MS = 30_000
_SENTENCE_END = re.compile(
    r"(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bDr)(?<!\bSt)(?<!\b[A-Z])[.!?…。！？｡][\"'”’»)」』]{0,2}"
)


def segments_of(words: Sequence[Word]) -> list[Segment]:
    """Return segments of *words*: a pause of 0.8 seconds or the end of a sentence ends one."""
    found: list[Segment] = []
    held: list[Word] = []
    for word in words:
        if held and _is_over(held, word):
            found.append(_segment(held))
            held = []
        held.append(word)
    return [segment for segment in [*found, *([_segment(held)] if held else [])] if segment.text]


def _is_over(held: Sequence[Word], word: Word) -> bool:
    last = held[-1]
    said = "".join(each.text for each in held[-2:])
    ends = next((m for m in _SENTENCE_END.finditer(said) if m.end() == len(said)), None)
    is_long = word.end_ms - held[0].start_ms > _MOST_MS
    return word.start_ms - last.end_ms > _GAP_MS or ends is not None or is_long


def _segment(words: Sequence[Word]) -> Segment:
    text = " ".join("".join(word.text for word in words).split())
    return Segment(words[0].start_ms, max(words[0].start_ms, words[-1].end_ms), text)


def _gone_through(
    blocks: Iterable[Samples],
    voices: SileroVoices | None,
    told: Callable[[int, int], object],
    most_ms: int,
) -> Iterator[Samples]:
    """Yield *blocks*, as *voices* listen; every ten minutes of sound, tell that it goes on."""
    seen = 0
    for block in blocks:
        before, seen = seen, seen + len(block)
        if seen > most_ms * RATE // 1000:
            raise TooLong
        if before // _TOLD != seen // _TOLD:
            told(0, seen * 1000 // RATE)
        if voices is not None:
            voices.take(block)
        yield block


def _cut_out(
    blocks: Iterable[Samples], stretches: Sequence[Stretch]
) -> Iterator[tuple[Stretch, Samples]]:
    """Yield each of *stretches*, which are in order, with its samples."""
    rest, at, held = iter(blocks), 0, np.zeros(0, np.float32)
    for stretch in stretches:
        start, end = stretch.start * FRAME, stretch.end * FRAME
        while at + len(held) < end and (block := next(rest, None)) is not None:
            skipped = max(0, min(len(held), start - at))
            held, at = np.concatenate([held[skipped:], block]), at + skipped
        yield stretch, held[start - at : end - at]


def _part(stretch: Stretch) -> str:
    return f"{stretch.start_ms}-{stretch.end_ms}"


def _known(results: Results, stretch: Stretch) -> Iterator[Segment]:
    """Yield what was heard in a stretch, by the time of the whole."""
    kept = results.get(_part(stretch))
    for start, end, text in kept if isinstance(kept, list) else ():
        yield Segment(stretch.start_ms + start, stretch.start_ms + end, text)
