"""The index on tantivy and flat vectors keeps the promises of its ports."""

from __future__ import annotations

from pathlib import Path

import pytest

from kb_core.testing.contracts import IndexContract
from kb_search.reader import Reader
from kb_search.writer import Writer


class TestTantivyIndex(IndexContract):
    """Every promise of the contract suite, on real files."""

    _data_dir: Path

    @pytest.fixture(autouse=True)
    def _fresh(self, tmp_path: Path) -> None:
        self._data_dir = tmp_path

    def make_writer(self) -> Writer:
        return Writer(self._data_dir)

    def make_reader(self) -> Reader:
        return Reader(self._data_dir)
