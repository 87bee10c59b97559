"""When a document has to be made again: its bytes, or anything that shapes its output.

A fingerprint is two hashes: of every setting and version that can change what comes of
a file of its kind, and of the file's bytes. The first can be compared without reading
the file. The embedding model is not part of it: another model embeds the same chunks
again. Its window is, through the limits.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import lru_cache

from kb_app._ingest.judging.kinds import TOLD_BY_BYTES, Caps, check_medium
from kb_app._ingest.settings import Settings
from kb_app._media import chunker_for, parser_for
from kb_core.documents import ChunkLimits, SourceFile
from kb_core.ids import fingerprint
from kb_core.media import Media, TrustLevel

__all__ = ["RECORD_VERSION", "UNKNOWN", "fingerprint_of", "settings_hash"]

UNKNOWN = "unknown"
"""The medium of a file whose name says nothing, until its bytes are looked at."""

_NO_CODE = Caps()

RECORD_VERSION = "r1"
"""How records are made of what parsers and chunkers give: context, flags, dates."""


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
    caps = (
        settings.caps
        if file.media == Media.CODE
        else replace(_NO_CODE, max_file_mb=settings.caps.max_file_mb)
    )
    return _hash(
        file.media,
        file.code_lang,
        (file.source_type, file.trust_level),
        settings.limits,
        caps,
        allow_secrets=settings.allow_secrets,
    )


@lru_cache(maxsize=4096)
def _hash(
    media: str,
    code_lang: str | None,
    provenance: tuple[str, str],
    limits: ChunkLimits,
    caps: Caps,
    *,
    allow_secrets: bool,
) -> str:
    # What a name that says nothing may turn out to be, as things are installed.
    told = [kind for kind in TOLD_BY_BYTES if check_medium(kind) is None]
    kinds = told if media == UNKNOWN else [media]
    return fingerprint(
        {
            "allow_secrets": allow_secrets,
            "caps": asdict(caps),
            "chunkers": [chunker_for(kind).version for kind in kinds],
            "lang": code_lang,
            "limits": asdict(limits),
            "media": media,
            "parsers": [parser_for(kind, code_lang).version for kind in kinds],
            "provenance": list(provenance),
            "record": RECORD_VERSION,
        }
    )
