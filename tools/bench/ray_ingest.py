"""Reading with a Ray cluster of two nodes on this machine, one of which is killed on the way.

The same vault is read in this process, by the process pool, and by Ray; then documents,
chunks and vectors are compared, byte for byte, but for the time of indexing. Seconds of Ray
are without the start of the cluster, which is told beside them; both nodes share the
cores of one machine, so this says what Ray costs, not what a second machine gives.

    python tools/bench/ray_ingest.py                    5,000 notes
    python tools/bench/ray_ingest.py --notes 500
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from machine import describe_machine, machine_line
from small_ingest import make_vault
from tables import render_table

from kb_app._ingest.workers.cluster.joining import environment_of, joined
from kb_app._ingest.workers.executor import InlineExecutor
from kb_app._wiring import parts_of
from kb_app.config import Config, Embedding, Source
from kb_app.knowledge_base import KnowledgeBase
from kb_core.ingest import IngestOptions
from kb_core.records import DocumentRecord
from kb_core.testing.documents import NOW
from kb_core.testing.fakes import HashEmbedder
from kb_store import Store

__all__ = ["Nodes", "content_of", "ingest", "main"]

State = dict[str, tuple[DocumentRecord, tuple[bytes, ...]]]


class Nodes:
    """A cluster on loopback: a head node that this process has joined, and others."""

    def __init__(self, cluster: Any) -> None:  # noqa: ANN401 - a class of Ray
        self._cluster = cluster
        self.address: str = cluster.address

    @classmethod
    @contextmanager
    def started(cls, slots: int) -> Generator[Nodes]:
        """Start a head node with *slots* processors, and join it."""
        with environment_of(""), tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp") as logs:
            os.environ["RAY_TMPDIR"] = logs  # a short path, since sockets lie below it
            from ray.cluster_utils import Cluster

            head = {"num_cpus": slots, "node_ip_address": "127.0.0.1", "include_dashboard": False}
            cluster = Cluster(initialize_head=True, head_node_args=head)
            try:
                with joined(cluster.address, slots):
                    yield cls(cluster)
            finally:
                cluster.shutdown()
                del os.environ["RAY_TMPDIR"]

    def add(self, slots: int) -> Any:  # noqa: ANN401 - a class of Ray
        """Add a node, and return it."""
        return self._cluster.add_node(num_cpus=slots, node_ip_address="127.0.0.1")

    def kill(self, node: Any) -> None:  # noqa: ANN401 - a class of Ray
        """End a node as a power cut does."""
        self._cluster.remove_node(node, allow_graceful=False)


def config_of(vault: Path, room: Path, **ingest: Any) -> Config:  # noqa: ANN401
    """Return a configuration that reads *vault* into *room*."""
    made = Config.inside(room, Source(id="notes", root=vault))
    return replace(made, embedding=Embedding(model="none"), ingest=replace(made.ingest, **ingest))


def ingest(
    config: Config, *, is_inline: bool = False, at: Callable[[int], None] = lambda _: None
) -> float:
    """Read all of it, and return the seconds; *at* hears how many files are done."""
    embedder = HashEmbedder()
    parts = replace(parts_of(config), model=lambda: embedder.model, embedder=lambda: embedder)
    if is_inline:
        parts = replace(parts, executor=lambda task, _: InlineExecutor(task))
    done, started = 0, time.perf_counter()
    with KnowledgeBase(config, parts) as kb:
        for event in kb.ingest(IngestOptions()):
            if event.kind == "asset_finished":
                done += 1
                at(done)
    return time.perf_counter() - started


def content_of(config: Config) -> State:
    """Return what is stored: by path, the document as it was made, and its vectors in order."""
    vectors: dict[int, bytes] = {}
    documents: list[DocumentRecord] = []
    with Store.open(config.storage.data_dir / "kebab.duckdb") as store:
        for publication in store.rebuild_publications():
            documents += publication.documents
            for records in publication.vectors.values():
                vectors |= {record.chunk_key: record.vector for record in records}
    return {document.path: _as_made(document, vectors) for document in documents}


def _as_made(
    document: DocumentRecord, vectors: dict[int, bytes]
) -> tuple[DocumentRecord, tuple[bytes, ...]]:
    """Return a document without keys and the time of indexing, which are those of a run."""
    chunks = tuple(replace(chunk, chunk_key=0) for chunk in document.chunks)
    bare = replace(document, doc_key=0, indexed_at=NOW, chunks=chunks)
    return bare, tuple(vectors[chunk.chunk_key] for chunk in document.chunks)


def _rows(vault: Path, room: Path, count: int) -> Iterator[list[str]]:
    inline = config_of(vault, room / "inline")
    yield ["in this process", f"{ingest(inline, is_inline=True):.1f}", ""]
    pool = config_of(vault, room / "pool", workers=2)
    yield ["two processes", f"{ingest(pool):.1f}", _same(inline, pool)]
    begun = time.perf_counter()
    with Nodes.started(1) as nodes:
        second = nodes.add(1)
        start = f"start {time.perf_counter() - begun:.1f}"
        ray = config_of(vault, room / "ray", executor="ray", ray_address=nodes.address)
        yield ["Ray, two nodes", f"{ingest(ray):.1f}", f"{_same(inline, ray)}, {start}"]
        killed = config_of(vault, room / "killed", executor="ray", ray_address=nodes.address)
        seconds = ingest(killed, at=lambda done: nodes.kill(second) if done == count // 4 else None)
        yield ["Ray, one of them killed", f"{seconds:.1f}", _same(inline, killed)]


def _same(one: Config, other: Config) -> str:
    return "the same" if content_of(one) == content_of(other) else "DIFFERENT"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--notes", type=int, default=5000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        vault = Path(name, "vault")
        make_vault(vault, options.notes)
        rows = list(_rows(vault, Path(name), options.notes))
    print(machine_line(describe_machine()))
    print(f"{options.notes:,} notes, load {os.getloadavg()[0]:.1f}\n")
    print(render_table(["by", "seconds", "content"], rows))
    return int(any("DIFFERENT" in row[2] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
