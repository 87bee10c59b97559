"""Opening an index, and what is read of it before anything is asked.

Apart from the schemas, which only a writer needs: a search by words loads no more than
it uses.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import tantivy

from kb_core.control import Control, VectorFiles
from kb_search.analysis import ANALYSIS_VERSION

__all__ = [
    "CONTROL",
    "INDEX_VERSION",
    "TERMS",
    "Segments",
    "control_of",
    "open_index",
    "payload_of",
    "read_segments",
]

INDEX_VERSION = f"i4-{ANALYSIS_VERSION}"
"""An index of another version is rebuilt from the truth by the next writer."""

CONTROL = "control"
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
