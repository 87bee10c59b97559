"""The index on Milvus keeps the promises of its ports: in process, by a server, by a cluster.

A test takes a fifth of a second there, so ``KEBAB_TEST_MILVUS`` says which of them to run
whole: ``lite``, ``server``, or both with a comma. ``KEBAB_TEST_MILVUS_URI`` names another
server. Without, a few are run in process.
"""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from kb_core.ports import IndexReader, IndexWriter
from kb_core.testing.contracts import IndexContract
from kb_search.milvus import Place

pytestmark = [
    pytest.mark.skipif(find_spec("pymilvus") is None, reason="the extra 'milvus' is not installed"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

_WANTED = os.environ.get("KEBAB_TEST_MILVUS", "").split(",")
_REMOTE = os.environ.get("KEBAB_TEST_MILVUS_URI", "")
_ALWAYS = {
    "test_a_snapshot_answers_from_its_own_state_whatever_is_published_since",
    "test_publishing_the_same_step_twice_is_publishing_it_once",
    "test_a_rebuild_replaces_everything_in_one_step",
    "test_filters_combine",
    "test_a_phrase_wants_its_words_side_by_side",
    "test_what_was_deleted_does_not_rank",
    "test_vectors_may_follow_later_and_alone",
}
_NUMBERS = itertools.count()


class MilvusContract(IndexContract):
    """Opens a collection of its own for every test."""

    _place: Place

    def make_writer(self) -> IndexWriter:
        from kb_search.milvus.writer import Writer

        return Writer(self._place)

    def make_reader(self) -> IndexReader:
        from kb_search.milvus.reader import Reader

        return Reader(self._place)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("milvus") / "milvus.db"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of one process, on loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = tmp_path_factory.mktemp("served")
    words = ["server", "--data-dir", str(folder), "--host", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen([sys.executable, "-m", "milvus_lite", *words]) as process:
        while process.poll() is None and not _answers(port):
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
        process.terminate()


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _only(names: set[str]) -> dict[str, None]:
    """Return what leaves all other promises out of a class."""
    every = {name for name in dir(IndexContract) if name.startswith("test_")}
    assert names <= every
    return dict.fromkeys(every - names)


class InProcess(MilvusContract):
    """``milvus-lite`` in this process; all tests share a directory."""

    @pytest.fixture(autouse=True)
    def _fresh(self, directory: Path) -> None:
        self._place = Place(uri=str(directory), collection=f"t{next(_NUMBERS)}")


if "lite" in _WANTED:

    class TestMilvusLite(InProcess):
        """Every promise of the contract suite."""

else:
    TestSomeOfMilvusLite = type("TestSomeOfMilvusLite", (InProcess,), _only(_ALWAYS))

if "server" in _WANTED:

    class TestMilvusServer(MilvusContract):
        """Every promise, over a server of one process."""

        @pytest.fixture(autouse=True)
        def _fresh(self, server: str) -> None:
            self._place = Place(uri=server, collection=f"t{next(_NUMBERS)}")


if _REMOTE:

    class TestMilvusRemote(MilvusContract):
        """Every promise, over the server that the environment names."""

        @pytest.fixture(autouse=True)
        def _fresh(self) -> Iterator[None]:
            token = os.environ.get("KEBAB_INDEX_TOKEN", "")
            self._place = Place(uri=_REMOTE, token=token, collection=f"kebabtest{next(_NUMBERS)}")
            self._empty()
            yield
            self._empty()

        def _empty(self) -> None:
            from kb_search.milvus.writer import Writer

            with Writer(self._place) as writer:
                writer.wipe()
