"""The truth: documents, chunks, ledger and embeddings in one DuckDB file."""

from kb_store.lock import WriterLock
from kb_store.query import query
from kb_store.store import Store

__all__ = ["Store", "WriterLock", "query"]
