"""Everything that can be deleted and comes back from the truth: the two search channels.

    reader, snapshot    one published state, for any number of processes
    writer              publications, in one atomic step each
    analysis            how text becomes terms
    lexical, schema     queries, filters and records as tantivy wants them
    vectors             append-only files, scanned exactly
    embed               the packaged embedding models
    fusion, snippets    pure arithmetic on rankings and texts

Importing this package imports nothing: the lexical path must not pay for numpy, nor
either of them for onnxruntime. ``kb_store`` is not known here.
"""

from __future__ import annotations

__all__: list[str] = []
