"""Opening an index, and what is read of it before anything is asked.

Apart from the schemas, which only a writer needs: a search by words loads no more than
it uses.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
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
    "control_of",
    "index_state",
    "open_index",
    "payload_of",
]

INDEX_VERSION = f"i3-{ANALYSIS_VERSION}"
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


def index_state(path: Path) -> int:
    """Number the segments that scores depend on: a merge changes BM25 without a publication."""
    segments: list[dict[str, Any]] = json.loads((path / "meta.json").read_bytes())["segments"]
    described = sorted(json.dumps([s["segment_id"], s["deletes"]]) for s in segments)
    digest = blake2b("".join(described).encode(), digest_size=6).digest()
    return int.from_bytes(digest, "big")


def payload_of(document: tantivy.Document) -> dict[str, Any]:
    """Return the JSON payload of a stored record."""
    stored: Any = document.get_first("payload")
    payload: dict[str, Any] = json.loads(bytes(stored))
    return payload


def control_of(payload: Mapping[str, Any]) -> Control:
    """Read a control record back; unknown fields of a newer version are left out."""
    known = {k: v for k, v in payload.items() if k in Control.__dataclass_fields__}
    vectors = {key: VectorFiles(**files) for key, files in payload.get("vectors", {}).items()}
    return Control(**{**known, "vectors": vectors})
