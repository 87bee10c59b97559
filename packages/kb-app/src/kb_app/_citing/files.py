"""The texts of documents: as they were indexed, and as their files are now.

A file is read only for a document whose text is the file, decoded: prose and code, and man
pages, whose lines stand where those of the file do. It is
found the way the walk found it, and it must be a file of its source still: a link that
leads out of the root is followed where ``follow_links`` says so, nothing is read that is
larger than what ingest takes, and nothing is shown of what ingest would leave alone now.
Beside them are the files that ingest has not seen as they are now: new, renamed or changed.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Literal

from kb_app._ingest.added.assets import given_medium
from kb_app._ingest.judging.decode import FileContent
from kb_app._ingest.judging.kinds import check_bytes
from kb_app._ingest.making.man_pages import as_read
from kb_app._ingest.seeing.files import LeadsOut, NotAFile, location, open_inside, open_regular
from kb_app._media import medium_of
from kb_app._search.hits import file_of
from kb_app.config import Config
from kb_core.errors import IoError
from kb_core.filters import And, OneOf
from kb_core.ids import bytes_hash
from kb_core.ports import IndexSnapshot, StoredChunk, StoredDoc
from kb_core.values import dataclass

__all__ = ["Files", "Now", "Unseen", "is_decoded", "is_reachable", "read_text", "unseen_files"]


_TOO_LARGE = "the file is larger than max_file_mb"


@dataclass(frozen=True, slots=True)
class Now:
    """A document's text now, and why it is not read from the file where it is not.

    ``None`` means that there is no such file any more, or no text in it.
    """

    text: str | None
    is_file: bool = True
    detail: str | None = None


def read_text(path: str, *, within: str | None, most_bytes: int, instead: str) -> Now:
    """Return the text of a file; *instead* where it is there and cannot be read.

    With *within*, a link must not lead out of that folder: it could have been put there
    since, and what it leads to would be shown.
    """
    try:
        with open_inside(path, within) if within is not None else open_regular(path) as file:
            if os.fstat(file.fileno()).st_size > most_bytes:
                return Now(instead, is_file=False, detail=_TOO_LARGE)
            data = file.read()
    except (LeadsOut, NotAFile) as error:
        return Now(None, detail=f"{error.strerror} now")
    except (FileNotFoundError, NotADirectoryError):
        return Now(None, detail="the file is not there any more")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        return Now(instead, is_file=False, detail=f"the file cannot be read: {reason}")
    if check_bytes(data) is not None:
        return Now(None, detail="the file is not text any more")
    return Now(as_read(FileContent(data).text))


def is_decoded(doc: StoredDoc) -> bool:
    """Say whether a document's text is its file, decoded, and not what was taken out of one."""
    return medium_of(doc["media"]).is_text and not doc.get("container")


def is_reachable(root: str) -> bool:
    """Say whether a root is there and holds anything: a mount that is away leaves nothing."""
    try:
        with os.scandir(root) as entries:
            return next(entries, None) is not None
    except OSError:
        return False


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
    from kb_app._ingest.judging.kinds import detect
    from kb_app._ingest.judging.secrets import check_secret_name
    from kb_app._ingest.seeing.files import location
    from kb_app._ingest.seeing.walk import walk
    from kb_app._ingest.settings import source_specs

    rows = {row["path"]: row for row in snapshot.files(OneOf("source_id", (source_id,)))}
    for spec in (spec for spec in source_specs(config, ()) if spec.source_id == source_id):
        for seen in walk(
            spec.root,
            source_id=source_id,
            include=spec.include,
            exclude=spec.exclude,
            follow_links=spec.follow_links,
        ):
            row = rows.get(seen.path)
            known = row is not None and (row["size"], row["mtime_ns"]) == (seen.size, seen.mtime_ns)
            kind = None if seen.reason or known else detect(seen.path)
            if kind is None or not medium_of(kind.media).is_text:
                continue
            if check_secret_name(seen.path) is None:
                place = location(spec.root, seen.path, seen.raw_path)
                yield Unseen(seen.path, place, str(kind.media), kind.code_lang)


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

    def viewer_of(self, doc: StoredDoc) -> str:
        """Return the command that the configuration names for such a file, if it names one."""
        return self.viewer_for("" if doc.get("container") else doc["media"])

    def viewer_for(self, media: str) -> str:
        """Return the command that the configuration names for files of *media*."""
        own: str = getattr(self._config.viewers, media, "") if media else ""
        return own or self._config.viewers.other

    def path_of(self, doc: StoredDoc) -> str | None:
        """Return where the document's file is on disk, there or not: perhaps one it is within.

        Of a document from outside the sources: the file it came from, else our copy of it.
        A text that was handed in came from no file, whatever it is called.
        """
        file = file_of(doc)
        asset, path = doc.get("asset"), Path(file)
        if asset and given_medium(asset) is None and path.is_absolute() and path.is_file():
            return str(path)
        root = self._root(doc["source_id"])
        if root is None:
            return None
        where = And((OneOf("source_id", (doc["source_id"],)), OneOf("path", (file,))))
        rows = self._snapshot.files(where)
        return location(root, file, rows[0].get("raw_path") if rows else None)

    def became_of(self, doc: StoredDoc) -> Literal["changed", "gone"] | None:
        """Say what became of a document's file since it was indexed.

        ``None`` of one that is as it was, of a copy of ours, and where nothing is seen of it.
        """
        root = self._root(doc["source_id"])
        if doc.get("asset") or not is_reachable(root or ""):
            return None
        where = (OneOf("source_id", (doc["source_id"],)), OneOf("path", (file_of(doc),)))
        row = next(iter(self._snapshot.files(And(where))), None)
        try:
            found = os.stat(self.path_of(doc) or "")  # noqa: PTH116 - of a name as bytes spell it
            if row is None or (found.st_size, found.st_mtime_ns) == (row["size"], row["mtime_ns"]):
                return None
            return None if bytes_hash(self.data(doc)) == row["bytes_hash"] else "changed"
        except (FileNotFoundError, NotADirectoryError):
            return "gone"
        except OSError:
            return None
        except IoError:  # too large, or to be left alone by now
            return "changed"

    def data(self, doc: StoredDoc) -> bytes:
        """Return the bytes of a document's file as it is now, or that which it is within.

        Raises ``IoError`` where it cannot be read, or is to be left alone by now.
        """
        path, source_id = self.path_of(doc) or "", doc["source_id"]
        follows = any(s.id == source_id and s.follow_links for s in self._config.sources)
        within = None if follows or doc.get("asset") else self._root(source_id)
        why = self._left_alone(path, source_id, None) if not doc.get("asset") else None
        if why is None:
            try:
                with open_inside(path, within) if within else open_regular(path) as file:
                    if os.fstat(file.fileno()).st_size <= self._most_bytes:
                        return file.read()
                    why = _TOO_LARGE
            except OSError as error:
                why = error.strerror or str(error)
        raise IoError(
            f"the file of {doc['path']!r} cannot be shown: {why}",
            hint="'kebab cite' prints the text as it was indexed",
            details={"doc_id": doc["doc_id"], "path": path},
        )

    def unseen(self, source_id: str) -> Sequence[tuple[Unseen, str]]:
        """Return the files that ingest has not seen as they are now, with their texts."""
        if source_id not in self._unseen:
            there = is_reachable(self._root(source_id) or "")
            self._unseen[source_id] = list(self._read_unseen(source_id)) if there else []
        return self._unseen[source_id]

    def _read_unseen(self, source_id: str) -> Iterator[tuple[Unseen, str]]:
        from kb_app._ingest.judging.secrets import find_secret

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
        if not is_decoded(doc) or doc.get("asset"):
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
        from kb_app._ingest.judging.secrets import find_secret
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
            most_bytes=self._most_bytes,
            instead=instead,
        )

    @property
    def _most_bytes(self) -> int:
        return self._config.ingest.max_file_mb * 1_000_000

    def _root(self, source_id: str) -> str | None:
        root = self._snapshot.control.sources.get(source_id, {}).get("root")
        return str(root) if root else None
