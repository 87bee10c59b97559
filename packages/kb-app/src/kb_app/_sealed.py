"""JSON on a line that carries a checksum of itself: a bit that a disk turns is not read as text.

The last member of an object is its ``crc32``, and the last element of a list an object of
just that: of the line as it would be without. Anything that reads JSON reads it. Lines of
before have none, and are taken as they stand.
"""

from __future__ import annotations

import zlib
from typing import Any

from kb_core.text import read_json
from kb_core.values import lazy_pattern

__all__ = ["sealed", "unsealed"]

_SEAL = lazy_pattern(rb',(?:"crc32":(\d+)|\{"crc32":(\d+)\}(?=\]))([}\]])\s*\Z')
_SUM = "crc32"


def sealed(body: bytes) -> bytes:
    """Return *body*, an object or a list that is not empty, with its sum; anything else as it is.

    White space behind it stays out of it.
    """
    body = body.rstrip()
    value = b"%d" % zlib.crc32(body)
    match body[-2:], body[-1:]:
        case (b"{}" | b"[]", _):
            return body
        case _, b"}":
            return b'%b,"crc32":%b}' % (body[:-1], value)
        case _, b"]":
            return b'%b,{"crc32":%b}]' % (body[:-1], value)
    return body


def unsealed(line: bytes) -> Any:  # noqa: ANN401 - any JSON value
    """Return what was sealed; ``ValueError`` where *line* is no JSON, or not what it was."""
    told = read_json(line)
    found = _SEAL.search(line)
    if found is None:
        return told
    body = line[: found.start()] + found[3]
    if zlib.crc32(body) != int(found[1] or found[2]):
        raise ValueError("it is not what was written: its sum is another one")
    if isinstance(told, list):
        return told[:-1]
    return {name: value for name, value in told.items() if name != _SUM}
