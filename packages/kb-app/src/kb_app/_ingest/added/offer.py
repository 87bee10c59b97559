"""An offer: one document from outside the sources, checked and read, before anything is kept.

It is called by its source URI, else by the file's path, else by a slug of its title
(ruling R9); the same key replaces. It is judged as a walk judges a file, once: settings
that change later do not take it away again.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from kb_app._ingest.added.assets import asset_name
from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.judging.kinds import Kind, Skip, detect
from kb_app._ingest.making.parsing import judge_bytes, judge_text, parse_whole
from kb_app._ingest.plan import judge_unread
from kb_app._ingest.seeing.files import open_regular, spell
from kb_app._ingest.settings import UNKNOWN, Settings
from kb_app._media import medium_of
from kb_core.clock import clamp_ns
from kb_core.control import ADDED_SOURCE
from kb_core.documents import SourceFile
from kb_core.errors import InvalidInput, IoError
from kb_core.execution import Executors
from kb_core.ids import text_hash
from kb_core.ingest import SkipReason
from kb_core.media import Media, TrustLevel
from kb_core.text import nfc
from kb_core.values import dataclass, lazy_pattern, replace

__all__ = [
    "HandedText",
    "Offer",
    "check_file",
    "check_text",
    "checked_title",
    "from_file",
    "from_text",
    "key_of_file",
    "key_of_text",
    "refusal",
    "slug",
]

_URI_MAX = 2_000
_TITLE_MAX = 500
_GIVEN = (Media.MARKDOWN, Media.TEXT)
_BETWEEN_WORDS = lazy_pattern(r"[\W_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A document to add; ``file.path`` is its key. Refused, it is without its bytes."""

    file: SourceFile
    data: bytes = b""
    asset: str = ""
    title: str | None = None
    refused: Skip | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedText:
    """A text that somebody hands in, as it was handed in; ``media`` is markdown or text.

    ``trust`` is the most that it is trusted, whatever it says of itself.
    """

    text: str
    title: str
    source_uri: str | None = None
    media: str = "markdown"
    trust: str = TrustLevel.PRIMARY
    written_by: str | None = None
    """Who wrote it, where that was not the person: a model, as it calls itself."""
    based_on: tuple[str, ...] = ()
    """What it was made from: citations or paths."""


def key_of_file(path: Path) -> str:
    """Return the key of the file at an absolute *path*: its path, as valid Unicode."""
    return spell([os.fspath(path)])[0]


def from_file(
    path: Path,
    settings: Settings,
    executors: Executors,
    opened: Callable[[str], BinaryIO] = open_regular,
) -> Offer:
    """Read the file at an absolute *path*; *opened* opens it.

    What is no text is looked into by one of *executors*, as a run would: whatever a parser
    does with it, the file is refused at the worst.

    Raises ``InvalidInput`` if there is no such file, and ``IoError`` if it cannot be read.
    """
    check_file(path)
    key = key_of_file(path)
    kind = detect(key)
    try:
        with opened(os.fspath(path)) as stream:
            found = os.fstat(stream.fileno())
            file = _source_file(key, kind, found.st_size, clamp_ns(found.st_mtime_ns))
            # A file without a byte is refused as one, and one that is too large is not read.
            if refused := judge_unread(key, found.st_size, kind, settings):
                return Offer(file=file, refused=refused)
            data = stream.read()
    except OSError as error:
        raise IoError(f"{key!r} cannot be read: {error.strerror or error}") from error
    file = replace(file, size=len(data))
    verdict = judge_bytes(file, data, settings.caps)
    if isinstance(verdict, Skip):
        return Offer(file=file, refused=verdict)
    if medium_of(verdict.media).is_text:
        return _judged(file, verdict, data, settings)
    refused = _looked_into(_Content(verdict, data, settings), executors)
    return Offer(file=file, refused=refused) if refused else _kept(file, data)


def refusal(path: Path, why: Skip) -> Offer:
    """Return the offer of a file that is left alone unread."""
    key = key_of_file(path)
    return Offer(file=_source_file(key, detect(key), 0, 0), refused=why)


def from_text(given: HandedText, settings: Settings, now_ns: int) -> Offer:
    """Take a text, as of *now_ns*; raise ``InvalidInput`` for what makes no document."""
    title, key = checked_title(given), key_of_text(given)
    if given.media not in _GIVEN:
        known = ", ".join(_GIVEN)
        raise _invalid("media", given.media, f"media {given.media!r} is not one of {known}")
    check_text(given)
    kind = Kind(Media(given.media))
    data = _utf8(given.text, "text")
    file = _source_file(key, kind, len(data), now_ns)
    verdict = judge_bytes(file, data, settings.caps)
    if not isinstance(verdict, Skip):
        verdict = judge_text(verdict, FileContent(data).text, settings) or verdict
    if isinstance(verdict, Skip):
        return Offer(file=file, refused=verdict)
    asset = asset_name(data, kind.media, TrustLevel(given.trust))
    return Offer(file=file, data=data, asset=asset, title=nfc(title))


def key_of_text(given: HandedText) -> str:
    """Return the path of a text; raise ``InvalidInput`` for what can be none."""
    uri = given.source_uri
    key = slug(checked_title(given)) if uri is None else _checked(uri, "source_uri", _URI_MAX)
    return nfc(key)


def check_text(given: HandedText) -> None:
    """Raise ``InvalidInput`` where there is nothing to keep."""
    if not given.text or given.text.isspace():
        raise _invalid("text", "", "the text is empty", hint="hand in the text of the document")


def checked_title(given: HandedText) -> str:
    """Return the title; raise ``InvalidInput`` for one that is no line, and such provenance."""
    for name, text in (
        ("written_by", given.written_by),
        *(("based_on", s) for s in given.based_on),
    ):
        if text is not None:
            _checked(text, name, _URI_MAX)
    return _checked(given.title, "title", _TITLE_MAX).strip()


def _judged(file: SourceFile, verdict: SourceFile, data: bytes, settings: Settings) -> Offer:
    refused = judge_text(verdict, FileContent(data).text, settings)
    return Offer(file=file, refused=refused) if refused else _kept(file, data)


def _kept(file: SourceFile, data: bytes) -> Offer:
    return Offer(file=file, data=data, asset=asset_name(data))


@dataclass(frozen=True, slots=True)
class _Content:
    """What to look into; ``file`` has its true medium."""

    file: SourceFile
    data: bytes
    settings: Settings


def _look_into(content: _Content) -> Skip | None:
    judged = parse_whole(content.file, content.data, content.settings)
    return judged if isinstance(judged, Skip) else None


def _looked_into(content: _Content, executors: Executors) -> Skip | None:
    """Return why what a parser finds in it is left alone, or what became of the parser."""
    executor = executors(_look_into, 1)
    try:
        (outcome,) = executor.run([content])
    finally:
        executor.close()
    if outcome.error is None:
        return outcome.value
    return Skip(SkipReason.UNREADABLE, str(outcome.error["message"]))


def _source_file(key: str, kind: Kind | None, size: int, mtime_ns: int) -> SourceFile:
    return SourceFile(
        source_id=ADDED_SOURCE,
        path=key,
        media=kind.media if kind else UNKNOWN,
        code_lang=kind.code_lang if kind else None,
        size=size,
        mtime_ns=mtime_ns,
    )


def check_file(path: Path) -> None:
    """Raise ``InvalidInput`` if at *path* is nothing, a folder, a pipe or the like."""
    shown = key_of_file(path)
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise _invalid("path", shown, f"there is no file {shown!r}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise IoError(f"{shown!r} cannot be read: {reason}") from error
    if stat.S_ISDIR(found.st_mode):
        hint = "'kebab add' makes a folder a source"
        raise _invalid("path", shown, f"{shown!r} is a folder, not a file", hint=hint)
    if not stat.S_ISREG(found.st_mode):
        hint = "'kebab ingest-stdin' takes what a pipe gives"
        raise _invalid("path", shown, f"{shown!r} is not a regular file", hint=hint)


def _checked(text: str, field: str, most: int) -> str:
    """Return *text*, which is to be one line of at most *most* characters, and not blank."""
    if not text.strip():
        raise _invalid(field, text, f"{field} is blank")
    if len(text) > most:
        raise _invalid(field, text[:80], f"{field} has {len(text):,} characters, of {most:,}")
    if any(unicodedata.category(character) == "Cc" for character in text):
        raise _invalid(field, text, f"{field} {text[:80]!r} has a control character in it")
    _utf8(text, field)
    return text


def _utf8(text: str, field: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise _invalid(field, None, f"{field} is not valid Unicode") from None


def slug(title: str) -> str:
    """Return the words of *title*, of whatever script, in small letters with hyphens between."""
    slug = _BETWEEN_WORDS.sub("-", nfc(title).casefold()).strip("-")
    return slug or f"untitled-{text_hash(title)[:8]}"


def _invalid(field: str, value: str | None, message: str, hint: str | None = None) -> InvalidInput:
    return InvalidInput(message, hint=hint, details={"field": field, "value": value})
