"""Opening an index: what is read of it before anything is asked, where it cannot be written, too.

Apart from the schemas, which only a writer needs: a search by words loads no more than
it uses. This is the one place that knows tantivy's exceptions.

tantivy takes a lock file in the index folder even to read. On a read-only file system, or
in a folder of someone else, the folder is mirrored by links in a temporary one, where the
lock can be: the files themselves are mapped from where they are.
"""

from __future__ import annotations

import json
import os
import weakref
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tantivy

from kb_core.control import Control, VectorFiles
from kb_core.errors import IoError, NotIndexed, StoreBusy
from kb_core.ids import blake2b
from kb_core.values import dataclass
from kb_search.analysis import ANALYSIS_VERSION

__all__ = [
    "CONTROL",
    "INDEX_VERSION",
    "NO_INDEX_HINT",
    "SIGNPOST",
    "TERMS",
    "Mirror",
    "Segments",
    "control_of",
    "open_index",
    "payload_of",
    "read_segments",
    "translate_errors",
]

NO_INDEX_HINT = "run 'kebab add FOLDER' and 'kebab ingest'"


@contextmanager
def translate_errors(action: str) -> Generator[None]:
    """Raise a ``KbError`` for whatever tantivy or the disk raises while we *action*."""
    try:
        yield
    except ValueError as error:
        text = str(error)
        if "LockBusy" in text or "Lockfile" in text:
            raise StoreBusy(
                f"could not {action}: another process is writing to the index",
                hint="wait for the other 'kebab ingest' to end",
            ) from error
        if "does not exist" in text or "FileDoesNotExist" in text or "no such file" in text.lower():
            raise NotIndexed(f"could not {action}: {text}", hint=NO_INDEX_HINT) from error
        raise IoError(f"could not {action}: {text}") from error
    except OSError as error:
        raise IoError(f"could not {action}: {error}") from error


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


INDEX_VERSION = f"i6-{ANALYSIS_VERSION}"
"""An index of another version is rebuilt from the truth by the next writer."""

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
    records: int
    """All records, deleted ones included."""
    has_deleted: bool


def read_segments(path: Path) -> Segments:
    """Read which segments the index in *path* consists of."""
    segments: list[dict[str, Any]] = json.loads((path / "meta.json").read_bytes())["segments"]
    described = sorted(json.dumps([s["segment_id"], s["deletes"]]) for s in segments)
    digest = blake2b("".join(described).encode(), digest_size=6).digest()
    return Segments(
        state=int.from_bytes(digest, "big"),
        records=sum(segment["max_doc"] for segment in segments),
        has_deleted=any(segment["deletes"] for segment in segments),
    )


def payload_of(document: tantivy.Document) -> Any:  # noqa: ANN401 - as ``kb_search.schema`` made it
    """Return the JSON payload of a stored record: a row, or a control record."""
    stored: Any = document.get_first("payload")
    return json.loads(bytes(stored))


def control_of(payload: Mapping[str, Any]) -> Control:
    """Read a control record back; unknown fields of a newer version are left out."""
    known = {k: v for k, v in payload.items() if k in Control.__dataclass_fields__}
    vectors = {key: VectorFiles(**files) for key, files in payload.get("vectors", {}).items()}
    return Control(**{**known, "vectors": vectors})
