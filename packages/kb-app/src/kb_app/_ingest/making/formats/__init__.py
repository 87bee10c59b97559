"""Formats: a parser, and a chunker if it has its own, for each; they do not know each other."""
