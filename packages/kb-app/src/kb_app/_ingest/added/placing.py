"""Where one file belongs: in a source, in a folder that models may add from, or in neither.

Whether a source takes a file is what its own walk says, narrowed to that file: names come from
the listing of each folder, so a rule cannot be passed by another spelling of a name.

**Invariant:** what is said of a file outside the folders that a model may add from is the
same whether there is such a file or not.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from kb_app._ingest.judging.kinds import Skip
from kb_app._ingest.seeing.files import inside, path_of
from kb_app._ingest.seeing.walk import Seen, walk
from kb_app._ingest.settings import SourceSpec
from kb_app.config import Config
from kb_core.control import ADDED_SOURCE
from kb_core.errors import InvalidInput
from kb_core.ingest import SkipReason
from kb_core.values import dataclass, replace

__all__ = ["Place", "allowed_folders", "not_allowed", "place_in"]

_SETTING = "mcp.ingest_roots"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A file in a folder: ``spec`` is narrowed to it, and ``seen`` is what a walk says of it."""

    spec: SourceSpec
    top: str
    """Where the folder really is."""
    below: str
    """Where the file really is, relative to that."""
    seen: Seen | None

    @property
    def refused(self) -> Skip | None:
        """Why a walk leaves the file alone, if it does."""
        if self.seen is None:
            return Skip(SkipReason.UNREADABLE, "it is not there any more")
        if self.seen.reason is not None:
            return Skip(self.seen.reason, self.seen.detail or "")
        return None


def allowed_folders(config: Config, real: str, shown: str) -> list[SourceSpec]:
    """Return the folders that let a model add the file at *real*, which it called *shown*.

    Raises ``InvalidInput`` where there are none. Nothing but *real* is asked for: no link is
    in it, and no ``..``.
    """
    folders = config.mcp.ingest_roots or [source.root for source in config.sources]
    found = [
        SourceSpec(source_id=ADDED_SOURCE, root=str(folder))
        for folder in folders
        if inside(real, os.path.realpath(folder)) is not None
    ]
    if not found:
        raise not_allowed(shown)
    return found


def not_allowed(shown: str) -> InvalidInput:
    """Return the refusal of a path that a model called *shown*, whatever is there."""
    return InvalidInput(
        f"{shown!r} is in no folder that a model may add files from",
        hint=f"the person can allow its folder with {_SETTING} in the configuration; "
        "without it, the folders of the sources are allowed",
        details={"field": "path", "value": shown, "setting": _SETTING},
    )


def place_in(specs: Iterable[SourceSpec], real: str) -> Place | None:
    """Return which of the folders the file at *real* lies in: the one that takes it.

    Where none does, it is the innermost one that the file lies in, if there is any.
    """
    places = [place for spec in specs if (place := _look(spec, real)) is not None]
    order = sorted(places, key=lambda place: (place.refused is not None, -len(place.top)))
    return next(iter(order), None)


def _look(spec: SourceSpec, real: str) -> Place | None:
    top = os.path.realpath(spec.root)
    below = inside(real, top)
    if not below:
        return None
    narrowed = replace(spec, narrow=(path_of(top, below),))
    seen = walk(
        narrowed.root,
        source_id=narrowed.source_id,
        include=narrowed.include,
        exclude=narrowed.exclude,
        follow_links=narrowed.follow_links,
        narrow=narrowed.narrow,
    )
    return Place(spec=narrowed, top=top, below=below, seen=next(iter(seen), None))
