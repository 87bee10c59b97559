"""What is a feed, RSS or Atom, whatever it is called."""

from __future__ import annotations

import re

from kb_core.values import lazy_pattern

__all__ = ["is_feed"]

_BEGINS = lazy_pattern(
    rb"(?:\xef\xbb\xbf)?\s{0,200}(?:<[?!][^>]{0,2000}>\s{0,200}){0,8}"
    rb"<(?:rss\b|feed\s[^>]{0,2000}Atom|rdf:RDF\s[^>]{0,2000}purl\.org/rss/1\.0)"
)
_TEMPLATE = re.compile(rb"\{[{%]")
_LOOKED_AT = 8_192


def is_feed(data: bytes) -> bool:
    """Say whether a file is a feed, by how it begins, and no template of one."""
    return _BEGINS.match(data) is not None and not _TEMPLATE.search(data, 0, _LOOKED_AT)
