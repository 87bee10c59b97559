"""The store keeps the promises of its port."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kb_core.testing.contracts import StoreContract
from kb_core.testing.fakes import fixed_clock
from kb_store import Store


class TestDuckStore(StoreContract):
    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path) -> Iterator[None]:
        with Store.open(tmp_path / "kebab.duckdb", fixed_clock()) as self.store:
            yield
            assert self.store.deep_check() == []

    def make_store(self) -> Store:
        return self.store
