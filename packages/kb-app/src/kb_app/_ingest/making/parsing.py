"""From bytes to parsed documents: that of a file, and those of the files within it.

A file is judged before anything looks into it, as far as its bytes tell, and by what it says
once that is known. What is in it is judged and parsed as if it were a file; what is left
alone, or cannot be read, costs that document alone, and a warning of its file says why.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import NamedTuple

from kb_app._costly import Costly
from kb_app._ingest.judging.archives import is_archive
from kb_app._ingest.judging.code_language import language_of
from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.judging.feeds import is_feed
from kb_app._ingest.judging.kinds import (
    HEAD_BYTES,
    NO_TEXT,
    Caps,
    Kind,
    Skip,
    check_bytes,
    check_lines,
    check_medium,
    check_size,
    check_text,
    detect,
    detect_from_bytes,
    is_message,
    missing_extra,
    not_text,
)
from kb_app._ingest.judging.secrets import check_secret_name, find_passwords, find_secret
from kb_app._ingest.judging.templates import is_template
from kb_app._ingest.making.chats import is_chat
from kb_app._ingest.making.clippings import is_clippings
from kb_app._ingest.making.docbook import is_docbook
from kb_app._ingest.making.exported_notes import is_exported_notes, is_wiki
from kb_app._ingest.making.whatsapp import is_whatsapp
from kb_app._ingest.settings import UNKNOWN, Settings
from kb_app._media import later_of, medium_of, parser_for
from kb_core.documents import Enclosure, ParsedDocument, SourceFile
from kb_core.ids import bytes_hash, enclosed_path, enclosing_paths
from kb_core.ingest import SkipReason
from kb_core.media import Media
from kb_core.ports import Content
from kb_core.text import nfc
from kb_core.values import dataclass, field, lazy_pattern, replace

__all__ = ["Read", "Whole", "judge_bytes", "judge_text", "parse", "parse_whole"]
__all__ += ["enclosed_bytes"]

_DEPTH = 3
"""How many files deep a document may be within a file."""
_MOST_ENCLOSED = 100_000
_MOST_ENCLOSED_BYTES = 1_000_000_000
_MOST_WARNINGS = 20
_LONGEST_NAME = 120
_NO_NAME = lazy_pattern(r"[\x00-\x1f\x7f-\x9f/\\\u2028\u2029\u202a-\u202e\u2066-\u2069]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A document and what it was parsed from; ``file`` has its true medium and its path."""

    file: SourceFile
    data: bytes
    parsed: ParsedDocument
    within: str | None = None
    """Its path within the file that was read, where it is not that file."""


class Whole(NamedTuple):
    """The documents of a file, its own first, and what is within it that stays as it is."""

    documents: list[Read]
    kept: Sequence[str] = ()
    """Paths within the file."""


_NOTHING: Mapping[str, str] = {}


def judge_bytes(file: SourceFile, data: bytes, caps: Caps) -> SourceFile | Skip:
    """Return the file with its true medium, or why it is left alone."""
    if file.media == UNKNOWN:
        kind = _told_by_bytes(file.path, data, opens_archives=caps.archives)
        if kind is None:
            return not_text(data)
        file = replace(file, media=kind.media, code_lang=kind.code_lang)
    file = _as_export(file, data)
    if file.media == Media.HTML and is_template(data):
        file = replace(file, media=Media.CODE, code_lang="html")
    if file.code_lang == "xml" and is_docbook(data[:HEAD_BYTES]):
        file = replace(file, media=Media.TEXT, code_lang=None)  # a manual, and no settings
    if file.code_lang == "xml" and is_feed(data):
        file = replace(file, media=Media.OFFICE, code_lang=None)
    if (language := language_of(file.path, file.code_lang, data)) != file.code_lang:
        file = replace(file, code_lang=language)
    unfit = check_medium(file.media, file.path)
    # The file may have grown since it was seen.
    unfit = unfit or check_size(len(data), Media(file.media), caps)
    if unfit is None and medium_of(file.media).is_text:
        unfit = check_bytes(data) or check_lines(data, Media(file.media), caps)
    return unfit or file


def _as_export(file: SourceFile, data: bytes) -> SourceFile:
    """Return a file that may hold conversations or notes, by its name, as what it is."""
    extension = file.path.lower().rpartition(".")[2]
    if file.media == Media.TEXT:
        is_one = is_whatsapp(file.path, data) or is_clippings(file.path, data)
    elif file.media == Media.HTML:
        is_one = is_wiki(data)
    elif extension not in {"json", "xml"} or file.media not in {Media.MAIL, Media.CODE}:
        return file
    else:
        is_one = is_chat(file.path, data) or is_exported_notes(file.path, data)
    if is_one:
        return replace(file, media=Media.MAIL, code_lang=None)
    return (
        replace(file, media=Media.CODE, code_lang=extension) if file.media == Media.MAIL else file
    )


def _told_by_bytes(path: str, data: bytes, *, opens_archives: bool) -> Kind | None:
    """Return what a file is whose name says nothing; ``None`` if it is binary."""
    if opens_archives and is_archive(path, data):
        return Kind(Media.ARCHIVE)
    return Kind(Media.MAIL) if is_message(data) else detect_from_bytes(data[:HEAD_BYTES], path)


def judge_text(file: SourceFile, text: str, settings: Settings) -> Skip | None:
    """Say why what a file says is left alone, if it is; *file* has its true medium."""
    skip = check_text(text, file.path, Media(file.media), file.code_lang, settings.caps)
    if skip is None and not settings.allow_secrets:
        skip = find_passwords(file.path, text) or find_secret(text)
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
    told = file
    if not is_text:
        options = settings.options.get(file.media, file.options)
        told = replace(file, options=options, limits=settings.reading)
    parsed = parser_for(file.media, file.code_lang, phases)(content, told)
    if parsed.refused is not None:
        return Skip(*parsed.refused)
    if parsed.waits_for is not None:
        found = _awaited(file, parsed, phases)
        if isinstance(found, Skip):
            return found
        parsed = found
    is_bare = not parsed.text.strip()
    if is_text or (is_bare and (parsed.waits_for or parsed.enclosures)):
        return parsed  # judged, or worth keeping for what is not here
    if is_bare:
        return Skip(SkipReason.EMPTY, next(iter(parsed.warnings), NO_TEXT))
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
    file: SourceFile,
    data: bytes,
    settings: Settings,
    phases: Collection[str] = (),
    known: Mapping[str, str] = _NOTHING,
    costly: Costly | None = None,
) -> Whole | Skip:
    """Parse a file and all that is in it, or say why not.

    *known* are the hashes of what is within it, by path in there, as it is stored: what has
    these bytes still is not parsed. *costly* keeps what takes long.
    """
    parsed = parse(file, FileContent(data, costly), settings, phases)
    if isinstance(parsed, Skip):
        return parsed
    inside, warnings = _Inside(settings, phases, known, costly), _Warnings()
    found = list(inside.read(file, parsed.enclosures, None, warnings))
    if inside.refused is not None:
        return inside.refused
    is_bare = not parsed.text.strip() and parsed.waits_for is None
    if is_bare and not (found or inside.kept):
        return Skip(SkipReason.EMPTY, next(iter(warnings.all), NO_TEXT))
    own = Read(file=file, data=data, parsed=warnings.told_by(parsed))
    return Whole([own, *found], inside.kept)


@dataclass(slots=True)
class _Warnings:
    """What is not indexed of what is in one file."""

    all: list[str] = field(default_factory=list)

    def told_by(self, parsed: ParsedDocument) -> ParsedDocument:
        """Return the document of that file, with what it tells of them."""
        more = len(self.all) - _MOST_WARNINGS
        told = self.all[:_MOST_WARNINGS]
        told += [f"{more:,} more within it are not indexed"] if more > 0 else []
        return replace(parsed, enclosures=(), warnings=(*parsed.warnings, *told))


class _Inside:
    """Reads what is within one file, to a depth, and counts it."""

    def __init__(
        self,
        settings: Settings,
        phases: Collection[str],
        known: Mapping[str, str],
        costly: Costly | None,
    ) -> None:
        self.refused: Skip | None = None
        self.kept: list[str] = []
        self._settings = settings
        self._phases = phases
        self._known = known
        self._costly = costly
        self._deeper: defaultdict[str, list[str]] = defaultdict(list)
        for within in known:
            self._deeper[enclosing_paths(within)[0]].append(within)
        self._count = self._bytes = 0

    def read(
        self,
        file: SourceFile,
        enclosures: Iterable[Enclosure],
        within: str | None,
        warnings: _Warnings,
        depth: int = 1,
    ) -> Iterator[Read]:
        """Yield the documents of *enclosures*; *file* is that which holds them."""
        taken: set[str] = set()
        for number, each in enumerate(enclosures, 1):
            name = _free_name(each, number, taken)
            inner = name if within is None else enclosed_path(within, name)
            if not self._is_counted(each):
                return
            if within is None and self._known.get(name) == bytes_hash(each.data):
                self.kept += self._deeper[name]
                continue
            if depth > _DEPTH:
                what = f"it is more than {_DEPTH} files deep"
                warnings.all.append(f"{name} is not indexed: {what}")
                continue
            placed = self._placed(file, each, name)
            found = self._parsed(placed, each)
            if isinstance(found, Skip):
                warnings.all.append(f"{name} is not indexed: {found.detail or found.reason}")
                continue
            yield from self._whole(found, each, inner, depth)

    def _whole(
        self, found: tuple[SourceFile, ParsedDocument], each: Enclosure, within: str, depth: int
    ) -> Iterator[Read]:
        """Yield the document of an enclosure, and those of what is in it."""
        (file, parsed), warnings = found, _Warnings()
        inner = list(self.read(file, parsed.enclosures, within, warnings, depth + 1))
        own = warnings.told_by(parsed)
        if own.metadata.created is None and own.metadata.updated is None:
            own = replace(own, metadata=replace(own.metadata, created=each.created))
        yield Read(file=file, data=each.data, parsed=own, within=within)
        yield from inner

    def _is_counted(self, each: Enclosure) -> bool:
        self._count += 1
        self._bytes += len(each.data)
        if self._count > _MOST_ENCLOSED:
            self.refused = Skip(SkipReason.TOO_LARGE, f"more than {_MOST_ENCLOSED:,} files in it")
        elif self._bytes > _MOST_ENCLOSED_BYTES:
            megabytes = _MOST_ENCLOSED_BYTES // 1_000_000
            self.refused = Skip(SkipReason.TOO_LARGE, f"the files in it are over {megabytes:,} MB")
        return self.refused is None

    def _placed(self, outer: SourceFile, each: Enclosure, name: str) -> SourceFile:
        """Return an enclosure as a file, as far as its name tells."""
        kind = detect(name)
        media = each.media or (kind.media if kind else UNKNOWN)
        lang = kind.code_lang if kind and media == kind.media else None
        path = enclosed_path(outer.path, name)
        return replace(outer, path=path, media=media, code_lang=lang)

    def _parsed(
        self, file: SourceFile, each: Enclosure
    ) -> tuple[SourceFile, ParsedDocument] | Skip:
        settings = self._settings
        if not settings.allow_secrets and (secret := check_secret_name(file.path)):
            return secret
        judged = judge_bytes(file, each.data, settings.caps)
        if isinstance(judged, Skip):
            return judged
        try:
            content = FileContent(each.data, self._costly)
            parsed = parse(judged, content, settings, self._phases)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a parser does with hostile bytes
            return Skip(SkipReason.UNREADABLE, f"{type(error).__name__}: {error}")
        return parsed if isinstance(parsed, Skip) else (judged, parsed)


def enclosed_bytes(path: str, container: str, data: bytes) -> bytes | None:
    """Return the bytes of what is called *path*, within the file *container* of *data*.

    ``None`` where there is no such thing in it.
    """
    outer, before = container, ""
    for inner in enclosing_paths(path.removeprefix(enclosed_path(container, ""))):
        kind = detect(outer) or _told_by_bytes(outer, data, opens_archives=True)
        if kind is None:
            return None
        name, taken = inner.removeprefix(before), set[str]()
        file = SourceFile(source_id="", path=outer, media=kind.media, code_lang=kind.code_lang)
        file = _as_export(file, data)
        enclosures = parser_for(file.media)(FileContent(data), file).enclosures
        named = ((_free_name(each, n, taken), each) for n, each in enumerate(enclosures, 1))
        found = next((each.data for called, each in named if called == name), None)
        if found is None:
            return None
        outer, before, data = enclosed_path(outer, name), enclosed_path(inner, ""), found
    return data


def _free_name(each: Enclosure, number: int, taken: set[str]) -> str:
    """Return a path of its own, of its folders and its name, and take it."""
    above = [part for part in each.folder.split("/") if part.strip(". ")]
    folder = "".join(f"{_held(part)[:_LONGEST_NAME].rstrip('! ') or '_'}/" for part in above)
    name = _held(each.name)
    stem, dot, extension = name.rpartition(".")
    if not name.strip("._ "):
        name, stem, dot, extension = f"file-{number}", "", "", ""
    if not stem:
        stem, dot, extension = name, "", ""
    extension = f"{dot}{extension}"[: _LONGEST_NAME // 2]
    stem = stem[: _LONGEST_NAME - len(extension)]
    free = f"{folder}{stem}{extension}"
    for again in count(2):
        if free.casefold() not in taken:
            break
        free = f"{folder}{stem} ({again}){extension}"
    taken.add(free.casefold())
    return free


def _held(name: str) -> str:
    """Return a name with what no name in a path can have replaced."""
    return _NO_NAME.sub("_", nfc(name)).strip().encode("utf-8", "replace").decode("utf-8")
