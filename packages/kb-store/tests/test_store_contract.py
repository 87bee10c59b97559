"""The store keeps the promises of its port."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from kb_core.testing.contracts import StoreContract
from kb_core.testing.fakes import fixed_clock
from kb_store import Store


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store of nothing: making one costs more than what most of these do with it."""
    path = tmp_path_factory.mktemp("empty") / "kebab.duckdb"
    Store.open(path, fixed_clock()).close()
    return path


class TestDuckStore(StoreContract):
    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path, empty: Path) -> Iterator[None]:
        path = Path(shutil.copy(empty, tmp_path))
        with Store.open(path, fixed_clock()) as self.store:
            yield
            assert self.store.deep_check() == []

    def make_store(self) -> Store:
        return self.store
