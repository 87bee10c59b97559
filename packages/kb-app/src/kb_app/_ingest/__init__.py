"""Ingest: from files to records, step by step. Private to ``kb_app``."""
