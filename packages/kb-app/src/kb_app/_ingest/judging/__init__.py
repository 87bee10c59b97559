"""Judging: may a file come in, and as what: kinds, encodings, secrets."""
