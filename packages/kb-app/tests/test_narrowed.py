"""A folder in a source: whatever the index is asked, what is beside the folder is not told."""

from __future__ import annotations

import inspect

from kb_app._narrowed import _NarrowSnapshot
from kb_core.ports import IndexSnapshot


def test_what_takes_a_filter_or_gives_another_snapshot_is_narrowed() -> None:
    """The rest goes through to the whole: what comes new to the port has to be thought of."""
    asked = {
        name
        for name, member in inspect.getmembers(IndexSnapshot, inspect.isfunction)
        if "where" in (signature := inspect.signature(member)).parameters
        or signature.return_annotation == "IndexSnapshot"
    }

    assert {"lexical", "texts", "docs", "sampled"} <= asked
    assert asked - set(vars(_NarrowSnapshot)) == set()
