"""Answering a search: read the query, ask both channels, fuse, show."""
