"""Files of a source that ingest has not seen as they are now: new, renamed or changed ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from kb_app._media import medium_of
from kb_app.config import Config
from kb_core.filters import OneOf
from kb_core.ports import IndexSnapshot

__all__ = ["Unseen", "unseen_files"]

_MOST = 500
"""More are not looked at: somebody has to ingest first."""


@dataclass(frozen=True, slots=True)
class Unseen:
    """A file: its path in the source, where it is on disk, and what it is made of."""

    path: str
    location: str
    media: str
    code_lang: str | None = None


def unseen_files(snapshot: IndexSnapshot, config: Config, source_id: str) -> Iterator[Unseen]:
    """Yield the files of a source that the ledger does not know by their size and time."""
    return islice(_unseen(snapshot, config, source_id), _MOST)


def _unseen(snapshot: IndexSnapshot, config: Config, source_id: str) -> Iterator[Unseen]:
    # Needed only where a text is missing; a check of what is there does not wait for it.
    from kb_app._ingest.detect import detect
    from kb_app._ingest.secrets import check_secret_name
    from kb_app._ingest.seeing.files import location
    from kb_app._ingest.settings import source_specs
    from kb_app._ingest.walk import walk

    rows = {row["path"]: row for row in snapshot.files(OneOf("source_id", (source_id,)))}
    for spec in (spec for spec in source_specs(config, ()) if spec.source_id == source_id):
        for seen in walk(
            spec.root,
            source_id=source_id,
            include=spec.include,
            exclude=spec.exclude,
            follow_links=spec.follow_links,
        ):
            row = rows.get(seen.path, {})
            known = (row.get("size"), row.get("mtime_ns")) == (seen.size, seen.mtime_ns)
            kind = None if seen.reason or known else detect(seen.path)
            if kind is None or not medium_of(kind.media).is_text:
                continue
            if check_secret_name(seen.path) is None:
                place = location(spec.root, seen.path, seen.raw_path)
                yield Unseen(seen.path, place, str(kind.media), kind.code_lang)
