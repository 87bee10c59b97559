"""Chunkers: a document to ranges of its text; they do not know each other."""
