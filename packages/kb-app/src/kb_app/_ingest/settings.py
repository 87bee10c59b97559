"""What shapes the output of an ingest: settings as plain values, and their fingerprint.

A configuration becomes ``Settings``, which any process can be handed, and a ``SourceSpec`` for
each source.

A fingerprint says when a document has to be made again. It is two hashes: of every setting
and version that can change what comes of a file of its kind, and of the file's bytes. The
first can be compared without reading the file. The embedding model is not part of it:
another model embeds the same chunks again. Its window is, through the limits.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from kb_app._data_dir import DataDir
from kb_app._forgotten import NOTHING_FORGOTTEN, Forgotten, read_forgotten
from kb_app._ingest.judging.archives import is_archive_name
from kb_app._ingest.judging.decode import DECODING_VERSION
from kb_app._ingest.judging.kinds import (
    EXPORTS,
    LINED,
    PAGES_OR_CODE,
    TOLD_BY_BYTES,
    WHATSAPP,
    Caps,
    check_medium,
)
from kb_app._ingest.judging.secrets import SECRETS_VERSION
from kb_app._ingest.seeing.files import inside, path_of
from kb_app._media import (
    MEDIA,
    OCR,
    UNLOCKING,
    chunker_version,
    later_versions,
    medium_of,
    parser_version,
    versions_of,
)
from kb_app._models import model_of, models_dir
from kb_app._trained import find_trained
from kb_app.paths import environment
from kb_core.documents import ChunkLimits, ReadingLimits, SourceFile
from kb_core.errors import InvalidInput
from kb_core.ids import enclosing_paths, fingerprint
from kb_core.media import Media, TrustLevel
from kb_core.values import as_dict, dataclass, field, replace

if TYPE_CHECKING:
    from kb_app.config import Config, Ocr

__all__ = [
    "RECORD_VERSION",
    "UNKNOWN",
    "Settings",
    "SourceSpec",
    "chunk_limits",
    "fingerprint_of",
    "ingest_settings",
    "locked_hash",
    "passage_window",
    "remembering_hashes",
    "settings_hash",
    "source_specs",
    "told_apart",
    "unjudging",
]

UNKNOWN = "unknown"
"""The medium of a file whose name says nothing, until its bytes are looked at."""

_NO_CODE = Caps()
_MAY_BE: Mapping[str, Sequence[str]] = {Media.HTML: PAGES_OR_CODE}
"""What files of a medium may turn out to be, by what is in them."""

RECORD_VERSION = "r1"
"""How records are made of what parsers and chunkers give: context, flags, dates."""

_SHAPELESS = frozenset(
    {"caption_api_key_file", "page_timeout_secs", "passwords", "tessdata", "threads"}
)
"""Options of parsers that change nothing but how long they take, or what stays locked."""
_CHECK_DIGITS = 4

_NO_CAPS = Caps(
    max_file_mb=10**9,
    max_code_kb=10**9,
    max_code_lines=10**9,
    skip_generated=False,
    line_mb=10**9,
)
_UNTOLD_LINES = frozenset({_NO_CODE.line_mb, _NO_CAPS.line_mb})
"""What changes no fingerprint: with these, what was made before the limit stays as it is."""
_SPECIAL_TOKENS = 2
_PREFIX_TOKENS = 4
"""Tokens that the prefix of a passage takes, at most."""
_NO_MODEL_WINDOW = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a worker has to know. ``window`` is how many tokens a passage may have."""

    model: str
    cache_dir: str
    limits: ChunkLimits
    window: int
    caps: Caps
    allow_secrets: bool
    reading: ReadingLimits = ReadingLimits()
    options: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """By medium, what its parsers are told: ``SourceFile.options``, of which JSON can be made."""


def unjudging(settings: Settings) -> Settings:
    """Return *settings* for what was judged when it was added, and is not judged again.

    So a cap that is lowered later takes nothing away that exists nowhere else, and does not
    change its fingerprint either.
    """
    caps = replace(_NO_CAPS, archives=settings.caps.archives)
    return replace(settings, caps=caps, allow_secrets=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSpec:
    """A source as a run sees it. ``narrow`` limits the run to paths at or below these."""

    source_id: str
    root: str
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    trust_level: str = "primary"
    source_type: str = "note"
    follow_links: bool = False
    narrow: tuple[str, ...] = ()
    forgotten: Forgotten = NOTHING_FORGOTTEN
    """Files that are left alone since a person had them forgotten."""


def passage_window(config: Config) -> int:
    """Return how many tokens a passage, context included, may have."""
    model = model_of(config)
    window = model.max_tokens if model else _NO_MODEL_WINDOW
    return window - _SPECIAL_TOKENS - _PREFIX_TOKENS


def chunk_limits(config: Config) -> ChunkLimits:
    """Return the sizes of chunks; the configured maximum, or the window if that is less."""
    window = passage_window(config)
    maximum = min(config.chunking.max_tokens, window)
    target = min(config.chunking.target_tokens, maximum)
    return ChunkLimits(
        target_tokens=target,
        overlap_tokens=min(config.chunking.overlap_tokens, (target - 1) // 2),
        max_tokens=maximum,
    )


def ingest_settings(config: Config) -> Settings:
    """Return what shapes the output of an ingest."""
    return Settings(
        model="none" if config.estimates_tokens else config.embedding.model,
        cache_dir=str(models_dir()),
        limits=chunk_limits(config),
        window=passage_window(config),
        caps=Caps(
            max_file_mb=config.ingest.max_file_mb,
            max_code_kb=config.code.max_file_kb,
            max_code_lines=config.code.max_file_lines,
            skip_generated=config.code.skip_generated,
            line_mb=config.limits.line_mb,
            archives=config.ingest.archives,
        ),
        allow_secrets=config.ingest.allow_secrets,
        options=_options(config),
        reading=_reading_limits(config),
    )


def _reading_limits(config: Config) -> ReadingLimits:
    """Return how much one file may hold that is no text."""
    limits = config.limits
    return ReadingLimits(
        unpacked_mb=limits.unpacked_mb,
        part_mb=limits.part_mb,
        ratio=limits.ratio,
        members=limits.members,
        pages=limits.pages,
        cells=limits.cells,
    )


def _options(config: Config) -> Mapping[str, Mapping[str, object]]:
    """Return what parsers are told, by medium."""
    from kb_app.config import passwords_of  # a worker, which comes by here too, reads none

    ocr, speech = _ocr_options(config), _speech_options(config)
    passwords = passwords_of(config.passwords, config.passwords_file)
    locked = {"passwords": passwords} if passwords else {}
    return {
        Media.IMAGE: ocr,
        Media.PDF: {**ocr, **locked},
        Media.OFFICE: locked,
        Media.AUDIO: speech,
        Media.VIDEO: speech,
    }


def _ocr_options(config: Config) -> dict[str, object]:
    """Return what those are told who read pictures of text, and what there is to read it by."""
    ocr = config.ocr
    trained = find_trained(ocr.tessdata, environment()) if OCR.is_installed else ()
    return {
        "languages": list(ocr.languages),
        "max_megapixels": ocr.max_megapixels,
        "page_timeout_secs": ocr.page_timeout_secs,
        "place": ocr.place,
        "tessdata": [str(folder) for folder in ocr.tessdata],
        "trained": [each.version for each in trained],
        **_caption_options(ocr),
    }


def _caption_options(ocr: Ocr) -> dict[str, object]:
    """Return who is asked what pictures show; nothing where nobody is."""
    if not ocr.caption_endpoint:
        return {}
    return {
        "caption_endpoint": ocr.caption_endpoint,
        "caption_model": ocr.caption_model,
        "caption_api_key_file": ocr.caption_api_key_file,
    }


def _speech_options(config: Config) -> dict[str, object]:
    """Return what those are told who listen to recordings."""
    speech = as_dict(config.audio)
    del speech["enabled"]  # whether a run goes through that phase
    return speech


def source_specs(config: Config, paths: Sequence[str]) -> list[SourceSpec]:
    """Return the sources of a run; *paths* narrow it to absolute files or folders inside them."""
    narrow = _narrowed(config, paths)
    forgotten = read_forgotten(DataDir(config.storage.data_dir))
    return [
        SourceSpec(
            source_id=source.id,
            root=str(source.root),
            include=source.include,
            exclude=source.exclude,
            trust_level=source.trust_level,
            source_type=source.source_type,
            follow_links=source.follow_links,
            narrow=narrow.get(source.id, ()),
            forgotten=forgotten,
        )
        for source in config.sources
        if not paths or source.id in narrow
    ]


def _narrowed(config: Config, paths: Sequence[str]) -> dict[str, tuple[str, ...]]:
    narrow: dict[str, tuple[str, ...]] = {}
    whole: set[str] = set()
    tops = {source.id: os.path.realpath(source.root) for source in config.sources}
    for path in paths:
        real = _real_file(path)
        below = {id_: inside(real, top) for id_, top in tops.items()}
        if all(relative is None for relative in below.values()):
            command = "ingest-file" if Path(real).is_file() else "add"
            raise InvalidInput(
                f"path {path!r} is in none of the configured sources",
                hint=f"kebab {command} {shlex.quote(str(path))}",
                details={"field": "path", "value": str(path)},
            )
        for id_, relative in below.items():
            if relative is not None:
                narrow[id_] = (*narrow.get(id_, ()), path_of(tops[id_], relative))
                whole |= set() if relative else {id_}
    return narrow | dict.fromkeys(whole, ())


def _real_file(path: str) -> str:
    """Return the real path of what is at *path*; of a document in a file, that of the file."""
    real = os.path.realpath(path)
    if os.path.lexists(real):
        return real
    # A path that is too long is that of no file, where ``Path`` would raise.
    return next(filter(os.path.isfile, enclosing_paths(real)[::-1]), real)


def fingerprint_of(
    bytes_hash: str,
    hash_of_settings: str,
    title: str | None = None,
    trust: TrustLevel = TrustLevel.PRIMARY,
) -> str:
    """Return the fingerprint of a file; *title* and *trust* are what was given with its bytes."""
    given = {"title": title, "trust": None if trust is TrustLevel.PRIMARY else trust.value}
    said = {name: value for name, value in given.items() if value is not None}
    content = fingerprint({"bytes": bytes_hash, **said}) if said else bytes_hash
    return f"{hash_of_settings[:16]}{content[:16]}"


def settings_hash(file: SourceFile, settings: Settings) -> str:
    """Return the hash of what shapes the output for files of this kind.

    *file* is as its name tells: what its bytes tell is a matter of its bytes.
    """
    if file.media == UNKNOWN and settings.caps.archives and is_archive_name(file.path):
        file = replace(file, media=Media.ARCHIVE)
    is_lined = file.media == UNKNOWN or file.media in LINED
    caps = (
        settings.caps
        if Media.CODE in _MAY_BE.get(file.media, (file.media,)) or medium_of(file.media).holds_files
        else replace(
            _NO_CODE,
            max_file_mb=settings.caps.max_file_mb,
            line_mb=settings.caps.line_mb if is_lined else _NO_CODE.line_mb,
        )
    )
    return _hash(
        file.media,
        file.code_lang,
        (file.source_type, file.trust_level),
        (settings.limits, settings.reading),
        caps,
        allow_secrets=settings.allow_secrets,
        options=_told(file.media, settings.options) + _extra_of(file),
    )


def remembering_hashes() -> Callable[[SourceFile, Settings], str]:
    """Return ``settings_hash`` for one run with one set of settings: each kind is hashed once.

    For each of a hundred thousand files, to look it up by value costs more than the walk.
    """
    known: dict[tuple[str | None, ...], str] = {}

    def hash_of(file: SourceFile, settings: Settings) -> str:
        kind = (file.media, file.code_lang, file.source_type, file.trust_level, _suffix_of(file))
        found = known.get(kind)
        if found is None:
            found = known[kind] = settings_hash(file, settings)
        return found

    return hash_of


def _suffix_of(file: SourceFile) -> str:
    return file.path.rpartition(".")[2].lower()


def _extra_of(file: SourceFile) -> str:
    """Return what only some files of a medium need or may turn out to be, as this one does."""
    if file.media == Media.MAIL and _suffix_of(file) in {"json", "xml"}:  # no export: it is code
        return parser_version(Media.CODE, _suffix_of(file))
    if file.media == Media.TEXT and _suffix_of(file) == "txt":  # it may be a conversation
        return " ".join([WHATSAPP, EXPORTS, *versions_of(Media.MARKDOWN)])
    if file.media == Media.HTML or (file.media == Media.CODE and file.code_lang in {"json", "xml"}):
        held = [Media.MAIL, Media.MARKDOWN, Media.TEXT]  # it may be an export
        held += [Media.OFFICE] if file.code_lang == "xml" else []  # or a feed
        return " ".join([EXPORTS, *(version for kind in held for version in versions_of(kind))])
    extra = medium_of(file.media).extra_of.get(_suffix_of(file))
    return extra.version if extra is not None else ""


def locked_hash(file: SourceFile, settings: Settings) -> str:
    """Return the hash of what shapes the output for a file that none of the passwords opens.

    Of these it takes in 16 bits: they tell that others are known now, and too little to tell
    which. What could open it is a part of it, too.
    """
    digits = _check_digits(settings)
    by = UNLOCKING.version if file.media == Media.OFFICE and UNLOCKING.is_installed else ""
    told = {"settings": settings_hash(file, settings), "locked": digits, "by": by}
    return fingerprint(told)


def _check_digits(settings: Settings) -> str:
    known = [told["passwords"] for told in settings.options.values() if "passwords" in told]
    return fingerprint({"passwords": known})[:_CHECK_DIGITS]


def told_apart(settings: Settings) -> str:
    """Return what tells *settings* from others, as text; of passwords so little as above."""
    options = {
        media: {name: value for name, value in told.items() if name != "passwords"}
        for media, told in settings.options.items()
    }
    return f"{replace(settings, options=options)!r} {_check_digits(settings)}"


def _told(media: str, options: Mapping[str, Mapping[str, object]]) -> str:
    """Return what parsers of *media* may be told, those of what is within a file as well."""
    is_any = media == UNKNOWN or medium_of(media).holds_files
    media_told = options if is_any else {media} & options.keys()
    told = {
        each: {name: value for name, value in options[each].items() if name not in _SHAPELESS}
        for each in media_told
    }
    told = {each: options for each, options in told.items() if options}
    return json.dumps(told, sort_keys=True) if told else ""


@lru_cache(maxsize=4096)
def _hash(  # noqa: PLR0913 - each shapes the output
    media: str,
    code_lang: str | None,
    provenance: tuple[str, str],
    limits: tuple[ChunkLimits, ReadingLimits],
    caps: Caps,
    *,
    allow_secrets: bool,
    options: str,
) -> str:
    # What a name that says nothing may turn out to be, as things are installed.
    told = [kind for kind in TOLD_BY_BYTES if check_medium(kind) is None]
    kinds = told if media == UNKNOWN else list(_MAY_BE.get(media, (media,)))
    extras = [extra.version for kind in kinds if (extra := medium_of(kind).extra)]
    return fingerprint(
        {
            "caps": _told_caps(caps),
            "chunkers": [chunker_version(kind) for kind in kinds],
            "lang": code_lang,
            "limits": as_dict(limits[0]),
            "media": media,
            "parsers": [parser_version(kind, code_lang) for kind in kinds],
            "provenance": list(provenance),
            "record": RECORD_VERSION,
            **({"extras": extras} if extras else {}),
            **({"options": options} if options else {}),
            "secrets": None if allow_secrets else SECRETS_VERSION,
            **({"decoding": DECODING_VERSION} if any(map(_is_text, kinds)) else {}),
            **_further(kinds, limits[1]),
        }
    )


def _is_text(media: str) -> bool:
    return medium_of(media).is_text


def _told_caps(caps: Caps) -> Mapping[str, object]:
    told = as_dict(caps)
    if caps.line_mb in _UNTOLD_LINES:
        del told["line_mb"]
    if not caps.archives:
        del told["archives"]
    return told


def _further(kinds: Sequence[str], reading: ReadingLimits) -> dict[str, object]:
    """Return what else may shape the output: later phases, files within a file, limits."""
    later = [version for kind in kinds for version in later_versions(kind)]
    inside: list[object] = []
    if any(medium_of(kind).holds_files for kind in kinds):
        kinds = [kind for kind in MEDIA if check_medium(kind) is None]
        inside = [[kind, *versions_of(kind)] for kind in kinds]
    names = sorted({name for kind in kinds for name in medium_of(kind).limits})
    limits = {name: getattr(reading, name) for name in names}
    further = {"later": later, "inside": inside, "reading": limits}
    return {name: value for name, value in further.items() if value}
