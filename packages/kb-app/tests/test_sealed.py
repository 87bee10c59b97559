"""Sums on lines of JSON: whatever is sealed comes back, and no turned bit is read as text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kb_app._sealed import sealed, unsealed

_PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
_VALUES = st.recursive(
    _PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
).map(lambda value: json.loads(json.dumps(value)))


@given(_VALUES, st.booleans())
def test_what_was_sealed_comes_back_and_so_does_what_never_was(
    value: Any,  # noqa: ANN401 - any JSON value
    compact: bool,
) -> None:
    body = json.dumps(value, separators=(",", ":") if compact else None).encode()

    assert unsealed(sealed(body)) == unsealed(sealed(body) + b"\n") == value
    assert unsealed(body) == value


def test_what_is_nested_too_deeply_is_not_what_was_written() -> None:
    """A line of an archive that somebody gave away may be so."""
    with pytest.raises(ValueError, match="too deeply"):
        unsealed(b"[" * 100_000)


def test_every_turned_bit_is_an_error_or_changes_nothing() -> None:
    for value in ({"text": "a walrus, 1.5", "at": [1, 2]}, ["p1", {"text": "a walrus"}]):
        line = sealed(json.dumps(value).encode())
        unseen = 0
        for at in range(8 * len(line)):
            turned = bytearray(line)
            turned[at // 8] ^= 1 << at % 8
            try:
                told = unsealed(bytes(turned))
            except ValueError:
                continue
            unseen += 1
            kept = told[: len(value)] if isinstance(value, list) else {k: told[k] for k in value}
            assert kept == value, "only the name of the sum can be another one"
        assert unseen <= 8 * len('"crc32":')
