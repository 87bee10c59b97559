"""Media: one row for each, and nothing else decides by medium what ingest and citing do.

A row names its parser and its chunker as ``module:name``. They are loaded with the first
file that needs them, and load their libraries themselves, so importing this is cheap.
Every medium has a row; one without a parser is recognised, and not indexed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kb_core.media import Media
from kb_core.values import dataclass, field

if TYPE_CHECKING:
    from kb_app.config import Config
    from kb_core.ports import Chunker, Parser, StoredDoc

__all__ = ["AUDIO", "MEDIA", "OCR", "OFFICE", "PHASES", "UNLOCKING", "VIDEO"]
__all__ += [
    "Extra",
    "Later",
    "Medium",
    "chunker_for",
    "chunker_version",
    "extras_of",
    "has_lines",
    "has_phases",
    "later_of",
    "later_versions",
    "medium_of",
    "parser_for",
    "parser_version",
    "phases_off",
    "versions_of",
]

PHASES = ("ocr", "transcribe")
"""The later phases, in their order: what takes so long that all else is indexed first."""

_ARCHIVE = ("unpacked_mb", "part_mb", "ratio", "members")
"""The limits of what is in an archive."""
_TEXT = "kb_app._ingest.making.formats.text:TextParser"
_VERSIONS = "kb_app._ingest.making.versions:BY_NAME"


@dataclass(frozen=True, slots=True)
class Extra:
    """An optional part of kb-app, and the modules that are there where it is installed."""

    name: str
    modules: tuple[str, ...]
    distributions: tuple[str, ...] = ()
    """What they are installed by, where that is not called as they are."""
    program: str | None = None
    """A program that does for the modules, where it is on the ``PATH``."""

    @property
    def is_installed(self) -> bool:
        return self._has_modules or (self.program is not None and _is_on_path(self.program))

    @property
    def version(self) -> str:
        """What is installed of it; another version may read the same file differently."""
        if self.program is not None and not self._has_modules:
            return self.program
        names = self.distributions or self.modules
        return " ".join(f"{name}-{_version(name)}" for name in names)

    @property
    def _has_modules(self) -> bool:
        return all(map(_is_there, self.modules))

    @property
    def install(self) -> str:
        """The command that installs it, where kebab was installed from: no index has kebab."""
        return f"in kebab's folder: pip install 'packages/kb-cli[{self.name}]'"


@dataclass(frozen=True, slots=True)
class Later:
    """What reads a file of some medium in a later phase: a parser, and what it needs."""

    parser: str
    extra: Extra | None = None
    further: Extra | None = None
    """Another extra, which some files of the medium need."""

    @property
    def missing(self) -> Extra | None:
        """The extra that is not installed, if one is needed."""
        return None if self.extra is None or self.extra.is_installed else self.extra

    @property
    def version(self) -> str:
        """What reads it, as things are installed."""
        extras = [extra for extra in (self.extra, self.further) if extra and extra.is_installed]
        return " ".join([_version_of(self.parser), *(extra.version for extra in extras)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Medium:
    """How files of one medium are read, and how their documents are cited."""

    parser: str | None = None
    """Its name; ``None``: not supported."""
    by_language: str | None = None
    """The name of a table: which languages of code have a parser of their own."""
    chunker: str = "kb_app._ingest.making.formats.text:ParagraphChunker"
    has_lines: bool = True
    """Documents are addressed by lines; else chunks carry spans of their own. A parser may
    say otherwise of one document."""
    cites_file_lines: bool = False
    """Where documents have no lines: chunks are cited by those of the file, not of the text."""
    is_text: bool = False
    """A document's text is its file, decoded. Such a file is judged before it is parsed, and
    read again to see whether it still says what is cited; of any other, bytes may be
    anything, and what it says is known when it is parsed."""
    extra: Extra | None = None
    """What has to be installed to read it."""
    bare_suffixes: tuple[str, ...] = ()
    """Of the files that are read without the extra."""
    extra_of: Mapping[str, Extra] = field(default_factory=dict)
    """By extension: what has to be installed to read some of its files. Their parser says so."""
    holds_files: bool = False
    """There may be files in it, of any medium."""
    limits: tuple[str, ...] = ()
    """The names of the ``ReadingLimits`` that its parser heeds."""
    later: Mapping[str, Later] = field(default_factory=dict)
    """By phase: what reads it then, where its parser says that it ``waits_for`` that."""

    @property
    def is_supported(self) -> bool:
        return self.parser is not None

    def missing_for(self, path: str = "") -> Extra | None:
        """Return the extra that is not installed, if one is needed to read the file *path*."""
        if self.extra is None or self.extra.is_installed:
            return None
        is_bare = bool(self.bare_suffixes) and path.lower().endswith(self.bare_suffixes)
        return None if is_bare else self.extra


OFFICE = Extra("office", ("python_calamine",), ("python-calamine",))
UNLOCKING = Extra("office", ("msoffcrypto",), ("msoffcrypto-tool",))
"""What opens files of office programs that are locked with a password."""
OCR = Extra("ocr", ("tesserocr", "PIL", "pi_heif"), ("tesserocr",))
"""What reads pictures of text."""

AUDIO = Extra("audio", ("ctranslate2", "soundfile"))
"""What listens to speech."""
VIDEO = Extra("video", ("av",), program="ffmpeg")
"""What reads the sound of films."""

_SOUND = Medium(
    parser="kb_app._ingest.making.formats.sound:SoundParser",
    has_lines=False,
    later={
        "transcribe": Later(
            "kb_app._ingest.making.formats.sound:SpeechParser",
            extra=AUDIO,
            further=VIDEO,
        )
    },
)

MEDIA: dict[str, Medium] = {
    Media.MARKDOWN: Medium(
        parser="kb_app._ingest.making.formats.markdown:MarkdownParser",
        chunker="kb_app._ingest.making.formats.markdown:MarkdownChunker",
        is_text=True,
    ),
    Media.TEXT: Medium(parser=_TEXT, is_text=True),
    Media.CODE: Medium(
        parser=_TEXT,
        by_language="kb_app._ingest.making.grammars:PARSERS",
        chunker="kb_app._ingest.making.formats.code:CodeChunker",
        is_text=True,
    ),
    Media.NOTEBOOK: Medium(
        parser="kb_app._ingest.making.formats.notebook:NotebookParser",
        has_lines=False,
        cites_file_lines=True,
    ),
    Media.HTML: Medium(
        parser="kb_app._ingest.making.formats.html:HtmlParser",
        has_lines=False,
        cites_file_lines=True,
    ),
    Media.CSV: Medium(parser="kb_app._ingest.making.formats.table:TableParser", is_text=True),
    Media.PDF: Medium(
        parser="kb_app._ingest.making.formats.pdf:PdfParser",
        has_lines=False,
        holds_files=True,
        limits=("pages",),
        later={"ocr": Later("kb_app._ingest.making.formats.pdf:ScanParser", OCR)},
    ),
    Media.OFFICE: Medium(
        parser="kb_app._ingest.making.formats.office.parser:OfficeParser",
        limits=(*_ARCHIVE, "cells", "pages"),
        extra_of={"xls": OFFICE, "xlsb": OFFICE},
        holds_files=True,
    ),
    Media.MAIL: Medium(
        parser="kb_app._ingest.making.formats.mail:MailParser",
        holds_files=True,
    ),
    Media.BOOK: Medium(parser="kb_app._ingest.making.formats.epub:BookParser", limits=_ARCHIVE),
    Media.IMAGE: Medium(
        parser="kb_app._ingest.making.formats.image:ImageParser",
        has_lines=False,
        extra=OCR,
        bare_suffixes=(".svg", ".svgz"),
        later={"ocr": Later("kb_app._ingest.making.formats.image:ImageReader")},
    ),
    Media.AUDIO: _SOUND,
    Media.VIDEO: _SOUND,
    Media.ARCHIVE: Medium(
        parser="kb_app._ingest.making.formats.packed:PackedParser",
        limits=_ARCHIVE,
        holds_files=True,
    ),
}


def medium_of(media: str) -> Medium:
    """Return the row of *media*; a medium of another version is one that is not supported."""
    return MEDIA.get(media) or Medium()


def extras_of(row: Medium) -> list[Extra]:
    """Return the extras that files of a medium may need, now or in a later phase."""
    later = [extra for each in row.later.values() for extra in (each.extra, each.further)]
    locked = [UNLOCKING] if OFFICE in row.extra_of.values() else []
    extras = [row.extra, *row.extra_of.values(), *locked, *later]
    return [extra for extra in extras if extra is not None]


def has_lines(doc: StoredDoc) -> bool:
    """Say whether a stored document is addressed by lines of its text."""
    said = doc.get("has_lines")  # an index that was made without it says nothing
    return medium_of(doc["media"]).has_lines if said is None else said


def parser_for(media: str, code_lang: str | None = None, phases: Collection[str] = ()) -> Parser:
    """Return the parser of *media*: of text, where it has none; that of the last of *phases*."""
    name, row = _parser_of(media, code_lang), medium_of(media)
    for phase in PHASES if phases else ():
        if phase in phases and (later := row.later.get(phase)) and later.missing is None:
            name = later.parser
    parser: Parser = _made(name)
    return parser


def later_of(media: str, phase: str) -> Later | None:
    """Return what reads *media* in a later phase, if anything does."""
    return medium_of(media).later.get(phase)


def has_phases(media: str) -> bool:
    """Say whether files of *media* may be read in a later phase."""
    return bool(medium_of(media).later)


def phases_off(config: Config) -> list[str]:
    """Return the later phases that the configuration switches off."""
    switches = {"ocr": config.ocr.enabled, "transcribe": config.audio.enabled}
    return [phase for phase, is_on in switches.items() if is_on is False]


def parser_version(media: str, code_lang: str | None = None) -> str:
    """Return the version of the parser of *media*, which is not loaded for that."""
    return _version_of(_parser_of(media, code_lang))


def chunker_version(media: str) -> str:
    """Return the version of the chunker of *media*, which is not loaded for that."""
    return _version_of(medium_of(media).chunker)


def chunker_for(media: str) -> Chunker:
    """Return the chunker of *media*."""
    chunker: Chunker = _made(medium_of(media).chunker)
    return chunker


def later_versions(media: str) -> list[str]:
    """Return what reads *media* in later phases here, as things are installed."""
    return [later.version for later in medium_of(media).later.values() if later.missing is None]


def versions_of(media: str) -> list[str]:
    """Return all that can change how a file of *media* is read, as things are installed."""
    row = medium_of(media)
    extra, names = row.extra, {row.parser or _TEXT, *_languages(row).values()}
    installed = [extra.version] if extra is not None else []
    parsers = sorted(map(_version_of, names))
    return [*parsers, chunker_version(media), *installed, *later_versions(media)]


def _parser_of(media: str, code_lang: str | None) -> str:
    row = medium_of(media)
    return _languages(row).get(code_lang, row.parser or _TEXT)


def _version_of(name: str) -> str:
    version: str = _named(_VERSIONS).get(name) or _made(name).version
    return version


def _languages(row: Medium) -> Mapping[str | None, str]:
    return _named(row.by_language) if row.by_language else {}


@cache
def _made(name: str) -> Any:  # noqa: ANN401 - a parser or a chunker, as the row says
    return _named(name)()


@cache
def _named(name: str) -> Any:  # noqa: ANN401 - as above
    from importlib import import_module  # a search reads no file

    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


@cache
def _version(distribution: str) -> str:
    if (told := _noted_version(distribution)) is not None:
        return told
    from importlib.metadata import PackageNotFoundError, version  # half of a cold search

    try:
        return version(distribution)
    except PackageNotFoundError:
        return "unknown"


def _noted_version(distribution: str) -> str | None:
    """Return what is noted beside an installed *distribution*, ``None`` where that is not usual."""
    called = distribution.lower().replace("-", "_")
    for folder in map(Path, sys.path):
        with suppress(OSError, ValueError):
            for noted in folder.iterdir():
                name, _, rest = noted.name.lower().partition("-")
                if name == called and rest.endswith("-info"):
                    lines = (noted / "METADATA").read_text("utf-8").splitlines()
                    heads = (line.partition(": ") for line in lines)
                    return next((said for head, _, said in heads if head == "Version"), None)
    return None


def _is_on_path(program: str) -> bool:
    places = [Path(folder, program) for folder in os.get_exec_path()]
    return any(place.is_file() and os.access(place, os.X_OK) for place in places)


@cache
def _is_there(module: str) -> bool:
    from importlib.util import find_spec  # as above

    return find_spec(module) is not None
