"""Forgetting: documents, sources and queries, and all that tells of them, out of the files."""
