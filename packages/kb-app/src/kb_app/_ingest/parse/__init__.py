"""Parsers: bytes to a document, one module a family of media; they do not know each other."""
