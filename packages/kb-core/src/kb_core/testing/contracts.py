"""What every implementation of a port must do, written once.

A distribution that implements the index subclasses the contract and says how to open
one; pytest collects the promises from here::

    class TestTantivyIndex(IndexContract):
        @pytest.fixture(autouse=True)
        def place(self, tmp_path: Path) -> None:
            self.folder = tmp_path

        def make_writer(self) -> IndexWriter:
            return open_writer(self.folder)

        def make_reader(self) -> IndexReader:
            return open_reader(self.folder)

Every test opens its own index or store, empty at first. Scores of different implementations are
never compared; only order, membership and the laws that bind them are.
"""

from __future__ import annotations

from kb_core.testing._contract_filters import FilterContract
from kb_core.testing._contract_lexical import LexicalContract
from kb_core.testing._contract_outbox import OutboxContract
from kb_core.testing._contract_publishing import PublishingContract
from kb_core.testing._contract_records import RecordsContract
from kb_core.testing._contract_store import CommitContract
from kb_core.testing._contract_vectors import VectorContract

__all__ = ["IndexContract", "StoreContract"]


class IndexContract(
    PublishingContract, RecordsContract, LexicalContract, FilterContract, VectorContract
):
    """The promises of ``IndexWriter``, ``IndexReader`` and ``IndexSnapshot``."""


class StoreContract(CommitContract, OutboxContract):
    """The promises of ``Store``; ``make_store`` opens the one of a test."""
