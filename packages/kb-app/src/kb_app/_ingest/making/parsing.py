"""From bytes to parsed documents: that of a file, and those of the files within it.

A file is judged before anything looks into it, as far as its bytes tell, and by what it says
once that is known. What is in it is judged and parsed as if it were a file; what is left
alone, or cannot be read, costs that document alone, and a warning of its file says why.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count

from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.judging.kinds import (
    HEAD_BYTES,
    Caps,
    Skip,
    check_bytes,
    check_medium,
    check_size,
    check_text,
    detect,
    detect_from_bytes,
    missing_extra,
)
from kb_app._ingest.judging.secrets import check_secret_name, find_secret
from kb_app._ingest.settings import UNKNOWN, Settings
from kb_app._media import later_of, medium_of, parser_for
from kb_core.documents import Enclosure, ParsedDocument, SourceFile
from kb_core.ids import enclosed_path
from kb_core.ingest import SkipReason
from kb_core.media import Media
from kb_core.ports import Content
from kb_core.text import nfc

__all__ = ["Read", "judge_bytes", "judge_text", "parse", "parse_whole"]

_DEPTH = 3
"""How many files deep a document may be within a file."""
_MOST_ENCLOSED = 100_000
_MOST_ENCLOSED_BYTES = 1_000_000_000
_MOST_WARNINGS = 20
_LONGEST_NAME = 120
_NO_NAME = re.compile(r"[\x00-\x1f\x7f-\x9f/\\\u2028\u2029\u202a-\u202e\u2066-\u2069]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A document and what it was parsed from; ``file`` has its true medium and its path."""

    file: SourceFile
    data: bytes
    parsed: ParsedDocument
    within: str | None = None
    """Its path within the file that was read, where it is not that file."""


def judge_bytes(file: SourceFile, data: bytes, caps: Caps) -> SourceFile | Skip:
    """Return the file with its true medium, or why it is left alone."""
    if file.media == UNKNOWN:
        kind = detect_from_bytes(data[:HEAD_BYTES])
        if kind is None:
            return Skip(SkipReason.BINARY, "not text")
        file = replace(file, media=kind.media, code_lang=kind.code_lang)
    unfit = check_medium(file.media)
    # The file may have grown since it was seen.
    unfit = unfit or check_size(len(data), Media(file.media), caps)
    if unfit is None and medium_of(file.media).is_text:
        unfit = check_bytes(data)
    return unfit or file


def judge_text(file: SourceFile, text: str, settings: Settings) -> Skip | None:
    """Say why what a file says is left alone, if it is; *file* has its true medium."""
    skip = check_text(text, file.path, Media(file.media), file.code_lang, settings.caps)
    if skip is None and not settings.allow_secrets:
        skip = find_secret(text)
    return skip


def parse(
    file: SourceFile, content: Content, settings: Settings, phases: Collection[str] = ()
) -> ParsedDocument | Skip:
    """Parse what is in a file, or say why it is left alone; *file* has its true medium.

    A text is judged before anything looks into it, and what is no text once it is known
    what it says. *phases* are the later ones that may be gone through.
    """
    is_text = medium_of(file.media).is_text
    if is_text and (skip := judge_text(file, content.text, settings)):
        return skip
    parsed = parser_for(file.media, file.code_lang, phases)(content, file)
    if parsed.refused is not None:
        return Skip(*parsed.refused)
    if parsed.waits_for is not None:
        found = _awaited(file, parsed, phases)
        if isinstance(found, Skip):
            return found
        parsed = found
    if is_text or ((parsed.waits_for or parsed.enclosures) and not parsed.text.strip()):
        return parsed  # judged, or worth keeping for what is not here
    return judge_text(file, parsed.text, settings) or parsed


def _awaited(
    file: SourceFile, parsed: ParsedDocument, phases: Collection[str]
) -> ParsedDocument | Skip:
    """Return the document as it waits, or does not, since that phase cannot be gone through."""
    phase = parsed.waits_for or ""
    later = later_of(file.media, phase)
    if phase in phases or later is None:  # it had its turn, or never gets one
        return replace(parsed, waits_for=None)
    if (extra := later.missing) is None:
        return parsed
    skip = missing_extra(file.media, extra)
    if not parsed.text.strip():
        return skip
    return replace(parsed, waits_for=None, warnings=(*parsed.warnings, skip.detail))


def parse_whole(
    file: SourceFile, data: bytes, settings: Settings, phases: Collection[str] = ()
) -> list[Read] | Skip:
    """Parse a file and all that is in it, the file's own document first, or say why not."""
    parsed = parse(file, FileContent(data), settings, phases)
    if isinstance(parsed, Skip):
        return parsed
    inside = _Inside(settings, phases)
    found = list(inside.read(file, parsed.enclosures, None, 1))
    if inside.refused is not None:
        return inside.refused
    if not found and not parsed.text.strip() and parsed.waits_for is None:
        return Skip(SkipReason.EMPTY, next(iter(inside.warnings), "nothing but white space"))
    warnings = (*parsed.warnings, *inside.told())
    own = replace(parsed, enclosures=(), warnings=warnings)
    return [Read(file=file, data=data, parsed=own), *found]


@dataclass(slots=True)
class _Inside:
    """Reads what is within one file, to a depth, and counts it."""

    settings: Settings
    phases: Collection[str]
    warnings: list[str] = field(default_factory=list)
    refused: Skip | None = None
    count: int = 0
    bytes: int = 0

    def told(self) -> Iterator[str]:
        yield from self.warnings[:_MOST_WARNINGS]
        if len(self.warnings) > _MOST_WARNINGS:
            yield f"{len(self.warnings) - _MOST_WARNINGS:,} more within it are not indexed"

    def read(
        self, file: SourceFile, enclosures: Iterable[Enclosure], within: str | None, depth: int
    ) -> Iterator[Read]:
        """Yield the documents of *enclosures*; *file* is that which holds them."""
        taken: set[str] = set()
        for number, each in enumerate(enclosures, 1):
            name = _free_name(each.name, number, taken)
            inner = name if within is None else enclosed_path(within, name)
            if not self._is_counted(each):
                return
            if depth > _DEPTH:
                self.warnings.append(f"{inner} is not indexed: it is more than {_DEPTH} files deep")
                continue
            yield from self._one(file, each, enclosed_path(file.path, name), inner, depth)

    def _is_counted(self, each: Enclosure) -> bool:
        self.count += 1
        self.bytes += len(each.data)
        if self.count > _MOST_ENCLOSED:
            self.refused = Skip(SkipReason.TOO_LARGE, f"more than {_MOST_ENCLOSED:,} files in it")
        elif self.bytes > _MOST_ENCLOSED_BYTES:
            megabytes = _MOST_ENCLOSED_BYTES // 1_000_000
            self.refused = Skip(SkipReason.TOO_LARGE, f"the files in it are over {megabytes:,} MB")
        return self.refused is None

    def _one(
        self, outer: SourceFile, each: Enclosure, path: str, within: str, depth: int
    ) -> Iterator[Read]:
        kind = detect(path)
        media = each.media or (kind.media if kind else UNKNOWN)
        lang = kind.code_lang if kind and media == kind.media else None
        file = replace(outer, path=path, media=media, code_lang=lang)
        try:
            found = self._parsed(file, each)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a parser does with hostile bytes
            found = Skip(SkipReason.UNREADABLE, f"{type(error).__name__}: {error}")
        if isinstance(found, Skip):
            self.warnings.append(f"{within} is not indexed: {found.detail or found.reason}")
            return
        file, parsed = found
        inner = list(self.read(file, parsed.enclosures, within, depth + 1))
        own = replace(parsed, enclosures=())
        if own.metadata.created is None and own.metadata.updated is None:
            own = replace(own, metadata=replace(own.metadata, created=each.created))
        yield Read(file=file, data=each.data, parsed=own, within=within)
        yield from inner

    def _parsed(
        self, file: SourceFile, each: Enclosure
    ) -> tuple[SourceFile, ParsedDocument] | Skip:
        settings = self.settings
        if not settings.allow_secrets and (secret := check_secret_name(file.path)):
            return secret
        judged = judge_bytes(file, each.data, settings.caps)
        if isinstance(judged, Skip):
            return judged
        parsed = parse(judged, FileContent(each.data), settings, self.phases)
        return parsed if isinstance(parsed, Skip) else (judged, parsed)


def _free_name(given: str, number: int, taken: set[str]) -> str:
    """Return a name that a path can hold, and that nothing beside it has; it is taken now."""
    name = _NO_NAME.sub("_", nfc(given)).strip()
    name = name.encode("utf-8", "replace").decode("utf-8")
    stem, dot, extension = name.rpartition(".")
    if not name.strip("._ "):
        name, stem, dot, extension = f"file-{number}", "", "", ""
    if not stem:
        stem, dot, extension = name, "", ""
    extension = f"{dot}{extension}"[: _LONGEST_NAME // 2]
    stem = stem[: _LONGEST_NAME - len(extension)]
    free = f"{stem}{extension}"
    for again in count(2):
        if free.casefold() not in taken:
            break
        free = f"{stem} ({again}){extension}"
    taken.add(free.casefold())
    return free
