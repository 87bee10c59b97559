"""Recordings and films: what they say of themselves, and what is said in them, and when.

At first a document has its tags and chapters alone, and waits for the phase in which speech
is recognised. Then each line is a segment of what is said, cited by its time in the
recording; a pause of two seconds begins a paragraph, a chapter is a heading, and no passage
goes across a silence of twenty. Where nobody speaks, nothing is added. Subtitles are what is
said, with its times, from the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

from kb_app._ingest.making.blocks import Headings
from kb_app._ingest.making.metadata import Hints, text_metadata
from kb_app._ingest.making.tags import Chapter, Tags, tags_of
from kb_app._ingest.making.transcripts import (
    PAUSE_MS,
    Segment,
    Transcript,
    is_subtitles,
    subtitles_of,
)
from kb_app._ingest.making.versions import SOUND as _PARSER, SPEECH, SPEECH_MAKER
from kb_app._ingest.workers.worker import say
from kb_app._media import VIDEO
from kb_app.shown import moment
from kb_core.citations import TimeSpan
from kb_core.documents import Block, Metadata, ParsedDocument, Place, SourceFile
from kb_core.ingest import SkipReason
from kb_core.ports import Content
from kb_core.values import replace

if TYPE_CHECKING:
    from kb_app._ingest.making.speech.transcribing import Engine

__all__ = ["SoundParser", "SpeechParser"]

_PHASE = "transcribe"
_MINUTE_MS = 60_000


class SoundParser:
    """``Parser`` of recordings and films: their tags."""

    version = _PARSER

    def __call__(self, content: Content, file: SourceFile, /) -> ParsedDocument:
        if is_subtitles(file.path):
            return _subtitles(content, file)
        return replace(_document(file, tags_of(content.data)), waits_for=_PHASE)


class SpeechParser:
    """``Parser`` of recordings and films in the later phase: what is said in them, too."""

    version = SPEECH

    def __call__(self, content: Content, file: SourceFile, /) -> ParsedDocument:
        from kb_app._ingest.making.speech.sounds import FilmDecoderMissing, Unplayable
        from kb_app._ingest.making.speech.transcribing import TooLong  # numpy, soundfile

        tags = tags_of(content.data)
        try:
            transcript = _transcript(content, file)
        except FilmDecoderMissing:
            detail = f"{file.media} of this kind needs PyAV or the program ffmpeg: {VIDEO.install}"
            return _without(_document(file, tags), f"{SkipReason.MISSING_EXTRA}:video", detail)
        except Unplayable as error:
            return _without(_document(file, tags), SkipReason.UNREADABLE, str(error))
        except TooLong:
            detail = f"longer than [audio] max_minutes, {_number(file.options, 'max_minutes')}"
            return _without(_document(file, tags), SkipReason.TOO_LARGE, detail)
        document = _document(file, tags, transcript)
        if document.text.strip():
            return document
        return _without(document, SkipReason.EMPTY, "nobody speaks in it")


def _subtitles(content: Content, file: SourceFile) -> ParsedDocument:
    """Return the document of a file that tells what is said in another one."""
    transcript, warnings = subtitles_of(content.text), content.warnings
    if not transcript.segments and (text := content.text.strip()):
        transcript = Transcript([Segment(0, 0, text)], None, 0)
        warnings = (*warnings, "no times of subtitles are in it")
    document = _document(file, Tags(), transcript)
    document = replace(document, parser_version=_PARSER, warnings=warnings)
    return document if transcript.segments else _without(document, SkipReason.EMPTY, "it is empty")


def _without(document: ParsedDocument, reason: str, detail: str) -> ParsedDocument:
    """Return what is known without the sound, with a warning, or why there is nothing."""
    if document.text.strip():
        return replace(document, warnings=(*document.warnings, detail))
    return replace(document, refused=(reason, detail))


def _transcript(content: Content, file: SourceFile) -> Transcript:
    from kb_app._ingest.making.speech.sounds import sound_of
    from kb_app._ingest.making.speech.transcribing import transcribe

    options = file.options
    languages = tuple(map(str, _list(options, "languages")))
    endpoint, model = _word(options, "endpoint"), _word(options, "model")
    if options.get("engine") == "local":
        endpoint = ""
    made_by = {
        "version": SPEECH_MAKER,
        "languages": languages,
        "endpoint": endpoint,
        "model": model,
    }
    if endpoint:
        engine = partial(_served, endpoint, model, languages, _word(options, "api_key_file"))
    else:
        from kb_app._ingest.making.speech.weights import DEFAULT, identity_of

        model = model or DEFAULT
        made_by["model"] = identity_of(model)
        engine = partial(_local, model, languages, _number(options, "threads"))
    return transcribe(
        partial(sound_of, content.data),
        engine,
        content.results(_PHASE, made_by),
        lambda done, whole: say(_PHASE, done / 1000, whole / 1000),
        (_number(options, "max_minutes") or 600) * _MINUTE_MS,
    )


@cache
def _local(model: str, languages: tuple[str, ...], threads: int) -> Engine:
    """Load the model, once in a process."""
    from kb_app._ingest.making.speech.transcribing import LocalEngine
    from kb_app._ingest.making.speech.weights import weights_of
    from kb_app._ingest.making.speech.whisper import Listener
    from kb_app._models import models_dir

    return LocalEngine(Listener(weights_of(model, models_dir()), max(1, threads)), languages)


def _served(endpoint: str, model: str, languages: tuple[str, ...], key_file: str) -> Engine:
    from kb_app._ingest.making.speech.served import ServedEngine

    return ServedEngine(endpoint, model or "whisper-1", languages, key_file)


def _list(options: Mapping[str, object], name: str) -> Sequence[object]:
    value = options.get(name)
    return value if isinstance(value, list | tuple) else ()


def _word(options: Mapping[str, object], name: str) -> str:
    value = options.get(name)
    return value if isinstance(value, str) else ""


def _number(options: Mapping[str, object], name: str) -> int:
    value = options.get(name)
    return value if isinstance(value, int) else 0


def _document(file: SourceFile, tags: Tags, transcript: Transcript | None = None) -> ParsedDocument:
    """Return a document of what is known; its text is empty where that is nothing."""
    page = _Page()
    for text in _opening(tags.texts):
        page.add(text, 0, 0)
    said = transcript.segments if transcript is not None else ()
    for chapter, segments in _by_chapter(tags.chapters, said):
        if chapter is not None:
            page.head(chapter)
        for segment in segments:
            page.say(segment)
    page.end()
    metadata = _metadata(file, tags, transcript)
    return ParsedDocument(
        text="\n".join(page.lines),
        media=file.media,
        metadata=metadata,
        blocks=tuple(page.blocks),
        places=tuple(page.places),
        parser_version=_PARSER if transcript is None else SPEECH,
    )


def _metadata(file: SourceFile, tags: Tags, transcript: Transcript | None) -> Metadata:
    values: dict[str, object] = {
        name: tags.texts[name]
        for name in ("title", "artist", "album", "date")
        if name in tags.texts
    }
    if transcript is not None:
        values["duration"] = moment(transcript.duration_ms)
        if transcript.language:
            values["lang"] = transcript.language
    spoken = "\n".join(each.text for each in transcript.segments) if transcript else ""
    body = spoken or "\n".join(_opening(tags.texts))
    metadata, _ = text_metadata(values, Hints(path=file.path, body=body))
    return metadata


def _opening(texts: Mapping[str, str]) -> Iterator[str]:
    """Yield what a reader sees first: title, artist and album, then what is told of it."""
    if title := texts.get("title"):
        yield title
    by = [texts[name] for name in ("artist", "album") if name in texts]
    if by:
        yield " · ".join(by)
    yield from (texts[name] for name in ("description", "comment", "lyrics") if name in texts)


def _by_chapter(
    chapters: Sequence[Chapter], segments: Sequence[Segment]
) -> Iterator[tuple[Chapter | None, Sequence[Segment]]]:
    """Yield each chapter with what is said in it, and first what is said before them all."""
    at = 0
    for number, chapter in enumerate([None, *chapters]):
        after = chapters[number].start_ms if number < len(chapters) else None
        first = at
        while at < len(segments) and (after is None or _middle(segments[at]) < after):
            at += 1
        yield chapter, segments[first:at]


def _middle(segment: Segment) -> int:
    return (segment.start_ms + segment.end_ms) // 2


class _Page:
    """The text as it grows, line by line, with the time of each."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.places: list[Place] = []
        self.blocks: list[Block] = []
        self._headings = Headings()
        self._at = 0
        """Where the next line starts."""
        self._paragraph: int | None = None
        self._said_ms = 0

    def add(self, text: str, start_ms: int, end_ms: int) -> None:
        """Add a paragraph by itself."""
        self.end()
        start = self._line(text, start_ms, end_ms)
        self.blocks.append(Block("paragraph", start, self._at - 1, self._headings.path))

    def head(self, chapter: Chapter) -> None:
        """Begin a chapter."""
        self.end()
        start = self._line(chapter.title, chapter.start_ms, chapter.start_ms)
        path = self._headings.enter(1, chapter.title)
        self.blocks.append(Block("heading", start, self._at - 1, path, level=1))

    def say(self, segment: Segment) -> None:
        """Add a segment; a pause before it begins a paragraph."""
        if self._paragraph is not None and segment.start_ms - self._said_ms >= PAUSE_MS:
            self.end()
        start = self._line(segment.text, segment.start_ms, segment.end_ms)
        self._paragraph = start if self._paragraph is None else self._paragraph
        self._said_ms = segment.end_ms

    def end(self) -> None:
        """End the paragraph that is being said."""
        if self._paragraph is not None:
            path = self._headings.path
            self.blocks.append(Block("paragraph", self._paragraph, self._at - 1, path))
            self._paragraph = None

    def _line(self, text: str, start_ms: int, end_ms: int) -> int:
        if self.lines and self._paragraph is None:
            self.lines.append("")
            self._at += 1
        start = self._at
        self.lines.append(text)
        self.places.append(Place(start, TimeSpan(start_ms, max(start_ms, end_ms))))
        self._at += len(text) + 1
        return start
