"""Without its extra, Milvus is an error that says what to install."""

from __future__ import annotations

import sys

import pytest

from kb_core.errors import MissingExtra
from kb_search.milvus import Place
from kb_search.milvus.reader import Reader
from kb_search.milvus.writer import Writer


@pytest.mark.parametrize("make", [lambda place: Reader(place).snapshot(), Writer])
def test_what_is_not_installed_is_named(
    make: type[Writer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pymilvus", None)

    with pytest.raises(MissingExtra, match="milvus") as raised:
        make(Place(uri="http://127.0.0.1:19530"))

    assert "pip install" in str(raised.value.hint)
