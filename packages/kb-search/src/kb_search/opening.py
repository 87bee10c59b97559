"""Opening an index: what is read of it before anything is asked, where it cannot be written, too.

Apart from the schemas, which only a writer needs: a search by words loads no more than
it uses. This is the one place that knows tantivy's exceptions, and that it panics where the
bytes of a file make no sense to it: its threads then print a line, and the caller gets a
``BaseException``.

tantivy takes a lock file in the index folder even to read. On a read-only file system, or
in a folder of someone else, the folder is mirrored by links in a temporary one, where the
lock can be: the files themselves are mapped from where they are.
"""

from __future__ import annotations

import json
import os
import struct
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tantivy

from kb_core.control import Control, VectorFiles
from kb_core.disk import LOOK_AT_THE_DISK, disk_hint, disk_hint_of
from kb_core.errors import IndexCorrupt, IoError, KbError, StoreBusy
from kb_core.ids import blake2b
from kb_core.values import dataclass, field_names, lazy_pattern
from kb_search.analysis import ANALYSIS_VERSION

__all__ = [
    "CONTROL",
    "DAMAGED_HINT",
    "INDEX_VERSION",
    "NO_INDEX_HINT",
    "SIGNPOST",
    "TERMS",
    "Mirror",
    "Part",
    "Segments",
    "can_be_opened",
    "control_of",
    "damaged",
    "open_index",
    "payload_of",
    "read_segments",
    "remove_unlisted",
    "translate_errors",
]

# A panic prints a line by itself, whatever becomes of it here; not its calls as well.
os.environ["RUST_BACKTRACE"] = "0"

_SEGMENT_FILE = lazy_pattern(r"[0-9a-f]{32}\.")
NO_INDEX_HINT = "run 'kebab add FOLDER' and 'kebab ingest'"


DAMAGED_HINT = (
    "run 'kebab ingest': it rebuilds the index from the store, and nothing is parsed or embedded "
    "again; 'kebab reset --index-only' before it makes sure"
)

_LOCKED = ("lockbusy", "lockfile")
_FROM_DISK = ("os error", "io_error", "ioerror(os")
_GAVE_UP = "index writer was killed"
"""What the engine says once a thread of its writer has ended, which keeps the reason to itself.

Such a thread writes what is new and reads nothing: the disk refused it, and what is published
is whole.
"""


class translate_errors:  # noqa: N801 - reads as the function that it stands for
    """Raise a ``KbError`` for whatever tantivy or the disk raises while we *action*."""

    __slots__ = ("_action",)

    def __init__(self, action: str) -> None:
        self._action = action

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        action = self._action
        if error is None:
            return
        if isinstance(error, (ValueError, LookupError, struct.error, OverflowError)):
            raise _translated(action, error) from error
        if isinstance(error, OSError):
            raise IoError(f"could not {action}: {error}", hint=disk_hint(error.errno)) from error
        # The engine's panic, which is no ``Exception`` and has no type to import.
        if type(error).__name__ == "PanicException":
            raise damaged(f"could not {action}: the engine cannot read it ({error})") from error


def damaged(what: str) -> IndexCorrupt:
    """Return the error that says so, and what to do."""
    return IndexCorrupt(f"the index is damaged: {what}", hint=DAMAGED_HINT)


def _translated(action: str, error: Exception) -> KbError:
    text = str(error)
    lowered = text.lower()
    is_from_disk = any(word in lowered for word in _FROM_DISK)  # so may be that of a lock's file
    if any(word in lowered for word in _LOCKED) and not is_from_disk:
        return StoreBusy(
            f"could not {action}: another process is writing to the index",
            hint="wait for the other 'kebab ingest' to end",
        )
    if _GAVE_UP in lowered:
        return IoError(
            f"could not {action}: the disk refused what the engine wrote: {text}",
            hint="look whether the disk is full or can be written; then run 'kebab ingest' again",
        )
    hint = disk_hint_of(text)
    if (is_from_disk or hint) and "invaliddata" not in lowered:
        return IoError(f"could not {action}: {text}", hint=hint or LOOK_AT_THE_DISK)
    return damaged(f"could not {action}: {text or type(error).__name__}")


class Mirror:
    """Gives folders that tantivy can open; cleans up when it is let go."""

    def __init__(self) -> None:
        self._root: Path | None = None

    def of(self, folder: Path) -> Path:
        """Return *folder*, or an up-to-date mirror of it where it cannot be written."""
        if os.access(folder, os.W_OK) or not folder.is_dir():
            return folder
        if self._root is None:
            import shutil  # these load compressors, which hardly any search needs
            import tempfile

            self._root = Path(tempfile.mkdtemp(prefix="kebab-"))
            weakref.finalize(self, shutil.rmtree, self._root, ignore_errors=True)
        mirrored = self._root / folder.name
        mirrored.mkdir(exist_ok=True)
        for file in folder.iterdir():
            link = mirrored / file.name
            if not file.name.endswith(".lock") and not link.is_symlink():
                link.symlink_to(file)
        return mirrored


INDEX_VERSION = f"i15-{ANALYSIS_VERSION}"
"""An index of another version is rebuilt from the truth by the next writer."""

Part = tuple[tantivy.Schema, tantivy.Searcher]
"""One of the two indexes, as it was when it was opened."""

CONTROL = "control"
SIGNPOST = "signpost"
"""A second kind of chunks that only name what stands elsewhere."""
TERMS = "kebab_terms"
"""The analyser of every analysed field: terms are there already, parted by spaces."""


def open_index(path: Path, schema: tantivy.Schema | None = None) -> tantivy.Index:
    """Open the index in *path*, or make an empty one of *schema* there."""
    if schema is None:
        index = tantivy.Index.open(str(path))
    else:
        index = tantivy.Index(schema, path=str(path))
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
    index.register_tokenizer(TERMS, builder.build())
    return index


@dataclass(frozen=True, slots=True)
class Segments:
    """What an index consists of."""

    state: int
    """Numbers the set of segments: a merge changes it without a publication."""
    sizes: tuple[int, ...]
    """How many records each has, deleted ones included."""
    has_deleted: bool

    @property
    def records(self) -> int:
        """All records, deleted ones included."""
        return sum(self.sizes)


def read_segments(path: Path) -> Segments:
    """Read which segments the index in *path* consists of."""
    segments = _segments_of(path)
    described = sorted(json.dumps([s["segment_id"], s["deletes"]]) for s in segments)
    digest = blake2b("".join(described).encode(), digest_size=6).digest()
    return Segments(
        state=int.from_bytes(digest, "big"),
        sizes=tuple(segment["max_doc"] for segment in segments),
        has_deleted=any(segment["deletes"] for segment in segments),
    )


def _segments_of(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((path / "meta.json").read_bytes())["segments"]
    return found


def can_be_opened(path: Path, schema: tantivy.Schema) -> bool:
    """Say whether there is an index of *schema* in *path* that the engine can read."""
    if not (path / "meta.json").exists():
        return False
    try:
        with translate_errors("open the index"):
            open_index(path, schema).searcher()
    except IndexCorrupt:  # what the disk refuses is no reason to drop it
        return False
    return True


def remove_unlisted(path: Path) -> None:
    """Delete the files of segments that the index in *path* does not consist of.

    For whoever holds the engine's lock while no thread of a writer runs.
    """
    listed = {segment["segment_id"].replace("-", "") for segment in _segments_of(path)}
    for file in path.iterdir():
        if _SEGMENT_FILE.match(file.name) and file.name[:32] not in listed:
            file.unlink(missing_ok=True)


ROWS: Mapping[str, frozenset[str]] = {
    "chunk": frozenset(
        [
            "chunk_key",
            "chunk_id",
            "ordinal",
            "start",
            "end",
            "text",
            "line_start",
            "line_end",
            "token_count",
            "heading_path",
            "symbol",
            "part",
            "span",
            "flags",
            "doc_id",
            "source_id",
            "path",
            "title",
            "media",
            "lang",
            "code_lang",
            "repo",
            "tags",
            "source_type",
            "trust_level",
            "indexed_at",
            "doc_date",
            "size",
            "mtime_ns",
            "chunker_version",
            "asset",
            "container",
        ]
    ),
    "doc": frozenset(
        [
            "doc_key",
            "doc_id",
            "source_id",
            "path",
            "title",
            "media",
            "lang",
            "code_lang",
            "repo",
            "repo_branch",
            "repo_commit",
            "tags",
            "aliases",
            "source_type",
            "trust_level",
            "doc_date",
            "created_at",
            "updated_at",
            "indexed_at",
            "byte_len",
            "size",
            "mtime_ns",
            "bytes_hash",
            "fingerprint",
            "parser_version",
            "chunker_version",
            "metadata",
            "blocks",
            "links",
            "warnings",
            "asset",
            "container",
            "has_lines",
            "chunk_count",
            "text_chars",
        ]
    ),
    "file": frozenset(
        [
            "source_id",
            "path",
            "raw_path",
            "state",
            "reason",
            "detail",
            "media",
            "size",
            "mtime_ns",
            "bytes_hash",
            "fingerprint",
            "doc_id",
            "error_code",
            "processed_at",
            "changed_at",
        ]
    ),
    "alias": frozenset(("old", "new")),
    CONTROL: frozenset(),
}
"""What each kind of record has, as ``kb_core.stored`` says, which is dear to import."""


def payload_of(document: tantivy.Document, kind: str) -> Any:  # noqa: ANN401 - a row
    """Return the JSON payload of a stored record of a *kind*: a row, or a control record.

    ``IndexCorrupt`` where it is another one, to which damaged postings led, or lacks a field:
    the engine keeps no sums of what it stores.
    """
    # Without a look at encodings and white space, which takes as long as the rest.
    row = _decode(_stored(document, kind).decode("utf-8", "surrogatepass"))[0]
    if kind == "chunk" and isinstance(row, dict):
        row = _in_full(row)
    if not isinstance(row, dict) or not row.keys() >= ROWS[kind]:
        raise damaged(f"a record of a {kind} is another one, or lacks a field")
    return row


def text_of(document: tantivy.Document) -> tuple[str, bytes]:
    """Return the form of a stored text, and the text in UTF-8; else raise as ``payload_of``."""
    stored = _stored(document, "text")
    del document  # it holds the text, too, which may be large
    form = FORMS.get(stored[:1])
    if form is None:
        raise damaged("a record of a text is another one")
    return form, stored[1:]


FORMS = {b"a": "ascii", b"n": "nfc", b"o": "other"}
"""What stands before a stored text: its form, as ``kb_search.patterns`` tells them apart.

A text is no JSON, which takes four times as long to read.
"""


def _stored(document: tantivy.Document, kind: str) -> bytes:
    stored: Any = document.get_first("payload")
    if stored is None:
        raise damaged("a record is not the one that was looked for")
    if not isinstance(stored, bytes | list):  # a turned bit makes another type of it
        raise damaged(f"what is stored of a {kind} is no record")
    return bytes(stored)


_decode = json.JSONDecoder().raw_decode
_ABSENT = dict.fromkeys(
    ("symbol", "part", "span", "lang", "code_lang", "repo", "doc_date", "asset", "container")
)


def _in_full(row: dict[str, Any]) -> dict[str, Any]:
    """Return a chunk with what is not stored of it: what is absent, and where its text ends."""
    row = {**_ABSENT, **row}
    if isinstance(text := row.get("text"), str):
        for end, start, size in (
            ("end", "start", len(text)),
            ("line_end", "line_start", text.count("\n")),
        ):
            if end not in row and isinstance(row.get(start), int):
                row[end] = row[start] + size
    return row


def control_of(payload: Mapping[str, Any]) -> Control:
    """Read a control record back; unknown fields of a newer version are left out.

    ``IndexCorrupt`` of what is another record, or none that anybody wrote.
    """
    try:
        declared = field_names(Control)
        known = {k: v for k, v in payload.items() if k in declared}
        vectors = {key: VectorFiles(**files) for key, files in payload.get("vectors", {}).items()}
        return Control(**{**known, "vectors": vectors})
    except (AttributeError, TypeError) as error:
        raise damaged("its control record is another one") from error
