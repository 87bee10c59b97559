"""The texts of documents: as they were indexed, and as their files are now.

A file is read only for a document whose text is the file, decoded: prose and code. It is
found the way the walk found it, and it must be a file of its source still: a link that
leads out of the root is followed where ``follow_links`` says so, nothing is read that is
larger than what ingest takes, and nothing is shown of what ingest would leave alone now.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from kb_app._citing.disk import Now, is_reachable, read_text
from kb_app._citing.unseen import Unseen, unseen_files
from kb_app._ingest.added.assets import given_medium
from kb_app._ingest.seeing.files import location
from kb_app._media import medium_of
from kb_app.config import Config
from kb_core.filters import And, OneOf
from kb_core.ports import IndexSnapshot, StoredChunk, StoredDoc

__all__ = ["Files"]

_REMEMBERED = 32
_MOST_UNSEEN_CHARACTERS = 20_000_000
"""How much is read of files that ingest has not seen."""


@dataclass(frozen=True, slots=True)
class _Texts:
    before: str
    now: Now


class Files:
    """Reads for one snapshot; the last few texts are remembered."""

    def __init__(self, snapshot: IndexSnapshot, config: Config) -> None:
        self._snapshot = snapshot
        self._config = config
        self._known: OrderedDict[str, _Texts] = OrderedDict()
        self._unseen: dict[str, Sequence[tuple[Unseen, str]]] = {}
        self._chunks = lru_cache(maxsize=_REMEMBERED)(snapshot.doc_chunks)

    def before(self, doc: StoredDoc) -> str:
        """Return the text as it was indexed."""
        return self._texts(doc).before

    def now(self, doc: StoredDoc) -> Now:
        """Return the text as it is now."""
        return self._texts(doc).now

    def chunks(self, doc: StoredDoc) -> Sequence[StoredChunk]:
        """Return the chunks that it was cut into, in order."""
        return self._chunks(doc["doc_id"])

    def path_of(self, doc: StoredDoc) -> str | None:
        """Return where the document's file is on disk, there or not.

        Of a document from outside the sources: the file it came from, else our copy of it.
        A text that was handed in came from no file, whatever it is called.
        """
        asset, path = doc.get("asset"), Path(doc["path"])
        if asset and given_medium(asset) is None and path.is_absolute() and path.is_file():
            return str(path)
        root = self._root(doc["source_id"])
        if root is None:
            return None
        where = And((OneOf("source_id", (doc["source_id"],)), OneOf("path", (doc["path"],))))
        rows = self._snapshot.files(where)
        return location(root, doc["path"], rows[0].get("raw_path") if rows else None)

    def unseen(self, source_id: str) -> Sequence[tuple[Unseen, str]]:
        """Return the files that ingest has not seen as they are now, with their texts."""
        if source_id not in self._unseen:
            there = is_reachable(self._root(source_id) or "")
            self._unseen[source_id] = list(self._read_unseen(source_id)) if there else []
        return self._unseen[source_id]

    def _read_unseen(self, source_id: str) -> Iterator[tuple[Unseen, str]]:
        from kb_app._ingest.secrets import find_secret

        room = _MOST_UNSEEN_CHARACTERS
        for file in unseen_files(self._snapshot, self._config, source_id):
            text = self._read(file.location, source_id, instead="").text or ""
            room -= len(text)
            if room < 0:
                return
            if self._config.ingest.allow_secrets or find_secret(text) is None:
                yield file, text

    def _texts(self, doc: StoredDoc) -> _Texts:
        key = doc["doc_id"]
        if key not in self._known:
            before = self._snapshot.doc_text(key) or ""
            self._known[key] = _Texts(before, self._now(doc, before))
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return self._known[key]

    def _now(self, doc: StoredDoc, before: str) -> Now:
        source_id = doc["source_id"]
        if not medium_of(doc["media"]).is_text or doc.get("asset"):
            return Now(before, is_file=False)
        if not is_reachable(self._root(source_id) or ""):
            detail = f"the folder of source {source_id!r} cannot be reached"
            return Now(before, is_file=False, detail=detail)
        path = self.path_of(doc) or ""
        now = self._read(path, source_id, instead=before)
        # What is as it was indexed shows nothing new.
        if now.text in {None, before} or not (why := self._left_alone(path, source_id, now.text)):
            return now
        return Now(None, detail=f"it is not to be indexed any more: {why}")

    def _left_alone(self, path: str, source_id: str, text: str | None) -> str | None:
        """Say why the next ingest would leave a file alone that has *text* now, if it would."""
        # Most files are as they were, and wait for none of this.
        from kb_app._ingest.added.placing import place_in
        from kb_app._ingest.secrets import find_secret
        from kb_app._ingest.settings import source_specs

        specs = [spec for spec in source_specs(self._config, ()) if spec.source_id == source_id]
        place = place_in(specs, os.path.realpath(path))
        refused = place.refused if place is not None else None
        if refused is None and not self._config.ingest.allow_secrets:
            refused = find_secret(text or "")
        return refused.detail if refused is not None else None

    def _read(self, path: str, source_id: str, *, instead: str) -> Now:
        follows = any(s.id == source_id and s.follow_links for s in self._config.sources)
        return read_text(
            path,
            within=None if follows else self._root(source_id),
            most_bytes=self._config.ingest.max_file_mb * 1_000_000,
            instead=instead,
        )

    def _root(self, source_id: str) -> str | None:
        root = self._snapshot.control.sources.get(source_id, {}).get("root")
        return str(root) if root else None
