"""Appending a few vectors, and what says that others are of no chunk any more, without numpy.

Importing numpy takes as long as all else that the index is told after an edit; the bytes that
are appended are the same as those of ``kb_search.vectors``.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path

from kb_core.control import VectorFiles
from kb_core.records import VectorRecord
from kb_core.values import replace
from kb_search.vector_files import FEW, SCALE_BYTES, Layout, is_mostly_dead, map_files, write_synced

__all__ = ["append", "append_few"]


def append(
    root: Path, files: VectorFiles, vectors: Sequence[VectorRecord], dead_chunks: Iterable[int]
) -> VectorFiles:
    """Append rows and tombstones, and rewrite what is mostly dead then; return the new lengths.

    numpy is loaded where it is worth it.
    """
    if sys.byteorder == "little" and files.rows <= FEW and "numpy" not in sys.modules:
        files = append_few(root, files, vectors, dead_chunks)
        if not is_mostly_dead(files):
            return files
        vectors = dead_chunks = ()
    from kb_search import vectors as arrays

    files = arrays.append(root, files, vectors, dead_chunks)
    return arrays.rewrite(root, files) or files


def append_few(
    root: Path, files: VectorFiles, vectors: Sequence[VectorRecord], dead_chunks: Iterable[int]
) -> VectorFiles:
    """Do as ``kb_search.vectors.append``; on a machine whose numbers end with their head."""
    layout, dead_chunks = Layout.of(root, files), list(dict.fromkeys(dead_chunks))
    wanted = {*dead_chunks, *(vector.chunk_key for vector in vectors)}
    live = _live_rows(root, files, wanted)
    fresh = list({v.chunk_key: v for v in vectors if v.chunk_key not in live}.values())
    if fresh:
        write_synced(layout.path("i8"), b"".join(v.vector[SCALE_BYTES:] for v in fresh))
        write_synced(layout.path("scale"), b"".join(v.vector[:SCALE_BYTES] for v in fresh))
        write_synced(layout.path("keys"), array("q", [v.chunk_key for v in fresh]).tobytes())
    dead_rows = [live[key] for key in dead_chunks if key in live]
    if dead_rows:
        write_synced(layout.path("dead"), array("I", dead_rows).tobytes())
    return replace(files, rows=files.rows + len(fresh), dead=files.dead + len(dead_rows))


def _live_rows(root: Path, files: VectorFiles, wanted: set[int]) -> dict[int, int]:
    maps = map_files(root, files)
    gone = set(memoryview(maps["dead"]).cast("I"))
    keys = memoryview(maps["keys"]).cast("q")
    return {key: row for row, key in enumerate(keys) if key in wanted and row not in gone}
